/* ring_utf8_windows.cuh: what decoding and cleaning of UTF-8 by the ring pass have in common: how a chunk is divided into windows, and what
 * its reducer takes down for the report.
 *
 *   row        896 bytes: each lane looks at 32, and owns 28 of them; the next lane's window begins 28 bytes further on
 *
 * The owned bytes of a window begin 3 bytes after it does, and it begins at a multiple of 4: so a tile owns the bytes from one before
 * its first to the one before its last. It needs 4 bytes before it and none after it. Zeros in the place of what
 * is not text are ASCII that nobody owns. */
#ifndef UPSWEEP_CUDA_RING_UTF8_WINDOWS_CUH
#define UPSWEEP_CUDA_RING_UTF8_WINDOWS_CUH

#include "ring_utf8.cuh"
#include "utf8_stage.cuh"

template <class Shape> struct RingUtf8Windows : RingUtf8, Shape {
    typedef Add<uint32_t> Op;
    static constexpr unsigned ROWS = Shape::ROWS, SLOTS = Shape::SLOTS, NOTE_WORDS = 2 * ROWS;
    static constexpr unsigned ROW_NBYTES = 32 * WINDOW_OWNED, CHUNK_NBYTES = ROWS * ROW_NBYTES;
    static constexpr unsigned HALO_NBYTES = 128; /* 4 are needed; a line leaves all lines where they are */
    static constexpr unsigned LATE_NBYTES = 1;

    static __device__ Carry carry_add(Carry carry, Value v) { return carry + v; }
    static __device__ void end(const Args &args, Carry carry) { args.tally->needed = carry; }

    static __device__ __forceinline__ bool is_all_text(RingPlace place) {
        const TextSpan &span = ring_utf8_found().span;
        return place.first > span.first && place.first + CHUNK_NBYTES <= span.end + 1;
    }

    static __device__ __forceinline__ uint64_t window_at(RingPlace place, unsigned r, int lane) {
        return place.first + r * ROW_NBYTES + (unsigned)lane * WINDOW_OWNED - 4;
    }

    /* The owned bits of a window that lie within the text. */
    static __device__ __noinline__ uint32_t text_bits(uint64_t at) { return WINDOW_OWNED_BITS & window_bits(at, ring_utf8_found().span); }

    static __device__ __forceinline__ void load_window(uint32_t (&w)[8], const unsigned char *chunk, unsigned r, int lane) {
        const uint32_t *const from = (const uint32_t *)(chunk + r * ROW_NBYTES + (unsigned)lane * WINDOW_OWNED - 4);
#pragma unroll
        for (int i = 0; i < 8; i++) w[i] = from[i];
    }

    /* A window's bytes together: has one of them its highest bit? */
    static __device__ __forceinline__ uint32_t any_of(const uint32_t (&w)[8]) {
        return (w[0] | w[1] | w[2]) | (w[3] | w[4] | w[5]) | (w[6] | w[7]);
    }

    /* Where the first ill-formed sequence of a row begins. Not asked once one has been found in an earlier chunk. */
    static __device__ __noinline__ void find_first(uint32_t bad, uint32_t bad_2, uint32_t bad_3, uint64_t at) {
        const uint32_t first = bad & (0 - bad);
        const uint64_t begins = at + (uint64_t)__ffs((int)bad) - 1 - ((first & bad_2) != 0) - ((first & bad_3) != 0);
        if (bad != 0) atomicMin(&ring_utf8_found().error_at, begins);
    }

    /* Takes down the ill-formed sequences of a chunk for the report. */
    static __device__ __forceinline__ void find_bad(const Utf8Ends (&ends)[ROWS], const uint32_t (&bad)[ROWS], RingPlace place, int lane) {
        RingUtf8Found &found = ring_utf8_found();
        uint32_t sums = 0; /* sequences and, 16 bits higher, their bytes after the first */
        const bool first = *(volatile unsigned long long *)&found.error_at >= place.first;
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            sums += (uint32_t)__popc(bad[r]) + ((uint32_t)(__popc(bad[r] & ends[r].bad_2) + __popc(bad[r] & ends[r].bad_3)) << 16);
            if (first) find_first(bad[r], ends[r].bad_2, ends[r].bad_3, window_at(place, r, lane));
        }
        sums = __reduce_add_sync(ALL_LANES, sums);
        if (lane != 0) return;
        atomicAdd(&found.bad_sequences, sums & 0xFFFF);
        atomicAdd(&found.bad_units, (sums & 0xFFFF) + (sums >> 16));
    }
};

#endif
