/* ring_load.cuh: part of an array into shared memory, by the copy engine, without touching a byte outside the array.
 *
 *   the array              . . . . F x x x x x x x|x x x x x x x x|x x x x L . . .       | every 16 bytes; F first, L last byte
 *   wanted                             [- - - - - - - - - -)                             anything inside
 *   by the copy engine                            [===============)                      whole 16-byte units
 *   by hand                        [hand)                         [hand)                 only where the array itself begins or ends
 *
 * The engine takes whole 16-byte units at 16-byte addresses. Inside the array it simply takes a few neighbours along, which costs nothing;
 * only at the array's own ends are there bytes that it cannot fetch, at most 15 on a side. */
#ifndef UPSWEEP_RING_LOAD_CUH
#define UPSWEEP_RING_LOAD_CUH

#include "async.cuh"

/* Addresses: what to load lies in [from, to), and the engine's part of it in [from16, to16). */
struct RingSpan {
    uintptr_t from, to, from16, to16;

    /* [from, to) as far as it lies within the array [first, end). */
    static __device__ __forceinline__ RingSpan of(uintptr_t from, uintptr_t to, uintptr_t first, uintptr_t end) {
        const uintptr_t unit = 15;
        RingSpan s = {max(from, first), min(to, end), 0, 0};
        s.from16 = (s.from & ~unit) >= first ? s.from & ~unit : (s.from + unit) & ~unit;
        s.to16 = ((s.to + unit) & ~unit) <= end ? (s.to + unit) & ~unit : s.to & ~unit;
        if (s.from16 >= s.to16) s.from16 = s.to16 = s.to; /* nothing for the engine */
        return s;
    }
    __device__ __forceinline__ unsigned engine_nbytes() const { return (unsigned)(to16 - from16); }
    __device__ __forceinline__ bool needs_hands() const { return from < from16 || to16 < to; }

    /* By a warp. s_base: where in shared memory the byte at address `base` (a multiple of 16) goes. */
    __device__ void load_by_hand(unsigned char *s_base, uintptr_t base, int lane) const {
        for (uintptr_t i = from + (unsigned)lane; i < from16 && i < to; i += 32) s_base[i - base] = *(const unsigned char *)i;
        for (uintptr_t i = to16 + (unsigned)lane; i < to; i += 32) s_base[i - base] = *(const unsigned char *)i;
    }

    /* By one lane, which has announced the bytes to the barrier. */
    __device__ __forceinline__ void start(unsigned char *s_base, uintptr_t base, uint64_t *barrier, Evict when = Evict::AS_ALWAYS) const {
        if (to16 > from16) bulk_load(s_base + (from16 - base), (const void *)from16, engine_nbytes(), barrier, when);
    }
};

#endif
