/* ring_producer.cuh: the role of the ring pass (ring.cuh) that brings tiles in: as soon as a slot is free, the copy engine fills it,
 * without touching a byte outside the array.
 *
 *   the array              . . . . F x x x x x x x|x x x x x x x x|x x x x L . . .       | every 16 bytes; F first, L last byte
 *   wanted                             [- - - - - - - - - -)                             anything inside
 *   by the copy engine                            [===============)                      whole 16-byte units
 *   by hand                        [hand)                         [hand)                 only where the array itself begins or ends
 *
 * The engine takes whole 16-byte units at 16-byte addresses. Inside the array it simply takes a few neighbours along, which costs nothing;
 * only at the array's own ends are there bytes that it cannot fetch, at most 15 on a side. */
#ifndef UPSWEEP_RING_PRODUCER_CUH
#define UPSWEEP_RING_PRODUCER_CUH

#include "async.cuh"
#include "ring_cta.cuh"

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

template <class P> struct RingProducer : Ring<P> {
    typedef Ring<P> Base;
    static constexpr unsigned LOAD_NBYTES = Base::LOAD_NBYTES, SLOTS = Base::SLOTS, TILE_NBYTES = Base::TILE_NBYTES;
    using Base::args, Base::input, Base::s, Base::lane, Base::tile_of, Base::first_of, Base::slot_of, Base::parity_of, Base::side_slot_of,
        Base::side_base_of, Base::address_of;

    __device__ RingSpan side_span_of(uint64_t byte, uintptr_t first) const {
        return RingSpan::of(first, P::side_of(args, byte + TILE_NBYTES - 1) + 1, P::side_first(args), P::side_end(args));
    }

    /* The first and the last tile: what the copy engine cannot fetch, and what is not input. base: address of what stands first in the
     * slot, the halo's first byte. */
    __device__ void load_ends(unsigned k, uintptr_t base, RingSpan span, uintptr_t side_first, RingSpan side) const {
        unsigned char *const slot = slot_of(k) - P::HALO_NBYTES;
        span.load_by_hand(slot, base, lane);
        if constexpr (P::SIDE_NBYTES > 0) side.load_by_hand(side_slot_of(k), side_base_of(side_first), lane);
        P::pad(args, slot, 0, (unsigned)(span.from - base), lane);
        P::pad(args, slot, (unsigned)(span.to - base), LOAD_NBYTES, lane);
        fence_async_proxy(); /* the bytes by hand, before the engine fills this slot for a later tile */
    }

    /* Should loads wait for earlier ones? RING_LOADS tiles a CTA keep the memory busy. With more on their way, they come in whatever order
     * the memory likes, and every CTA waits for the one whose tile of the wave comes last. Not if there is a slot for every tile. */
    __device__ bool paced() const { return input.nwaves > SLOTS; }

    __device__ void produce() {
        for (unsigned k = 0; tile_of(k) < input.ntiles; k++) {
            uint64_t *full = &s.full[k % P::STAGES];
            const uint64_t first = first_of(k);
            const uintptr_t base = address_of(first) - P::HALO_NBYTES;
            const RingSpan span = RingSpan::of(base, base + LOAD_NBYTES, address_of(input.head), address_of(input.end));
            uintptr_t side_first = 0;
            RingSpan side = {0, 0, 0, 0};
            if constexpr (P::SIDE_NBYTES > 0) side_first = P::side_of(args, first), side = side_span_of(first, side_first);
            if (k >= SLOTS) barrier_wait(&s.empty[(k - SLOTS) % P::STAGES], parity_of(k - SLOTS));
            if (paced() && k >= RING_LOADS) barrier_wait(&s.full[(k - RING_LOADS) % P::STAGES], parity_of(k - RING_LOADS));
            if (span.engine_nbytes() != LOAD_NBYTES || side.needs_hands()) load_ends(k, base, span, side_first, side);
            if (lane != 0) {
                barrier_arrive(full);
                continue;
            }
            if constexpr (P::SIDE_NBYTES > 0) s.side_first[k % P::STAGES] = side_first;
            barrier_arrive_expect(full, span.engine_nbytes() + side.engine_nbytes());
            span.start(slot_of(k) - P::HALO_NBYTES, base, full, Base::passes(k) ? Evict::FIRST : Evict::AS_ALWAYS);
            if constexpr (P::SIDE_NBYTES > 0) side.start(side_slot_of(k), side_base_of(side_first), full);
        }
    }
};

#endif
