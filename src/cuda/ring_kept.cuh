/* ring_kept.cuh: what all compactions by the ring pass have in common: who decides which elements of a chunk are kept, and counts them.
 *
 *   a lane's vectors      x x x x   x x x x   ...      one bit an element: kept or not (ring_decide.cuh)
 *
 * Aggregates are counts of kept elements; the carry has 64 bits. */
#ifndef UPSWEEP_RING_KEPT_CUH
#define UPSWEEP_RING_KEPT_CUH

#include "ring_decide.cuh"

template <class D> struct RingCompactArgs {
    D decide;
    unsigned char *out;
    unsigned char *rejected; /* partition: the array they go to, which may be out, behind all kept ones */
    uint64_t *count;
    uint64_t base; /* index of the element at byte 0 of tile 0 */
    /* If they go behind: the array of what decides, as far as it must be counted before anything is written. It is what comes after the
     * tiles that all CTAs together hold, and may be nothing; or all there is. */
    const void *rest;
    uint64_t nrest, nagain; /* and how much of that is read again so soon that it is to stay in the L2 cache */
    bool rest_is_all;
};

/* What the policies have in common: who is kept, and how many are. D: of ring_decide.cuh, S: of tuning.h. A lane has a vector of each row
 * of the chunk, or, if BY_LANE, ROWS vectors side by side, an odd number, so that eight lanes' vectors lie in different banks. */
template <class T, class D, class S, bool BY_LANE> struct RingKept : RingPlain, S {
    typedef S Shape;
    typedef RingCompactArgs<D> Args;
    typedef uint32_t Value; /* kept in a tile, or a wave */
    typedef Add<uint32_t> Op;
    typedef uint64_t Carry;
    static constexpr unsigned ROWS = Shape::ROWS, VEC = 16 / sizeof(T);
    static constexpr unsigned SIDE_NBYTES = D::side_nbytes(Shape::FINISHERS * ROWS * 512);
    static constexpr unsigned ROWS_A_WORD = 32 / VEC, KEPT_WORDS = (ROWS + ROWS_A_WORD - 1) / ROWS_A_WORD; /* a bit an element of a lane */

    static __device__ Carry carry_in(const Args &) { return 0; }
    static __device__ Carry carry_add(Carry carry, Value v) { return carry + v; }
    static __device__ void end(const Args &args, Carry carry) { *args.count = args.decide.records(carry); }
    static __device__ void pad(const Args &, unsigned char *, unsigned, unsigned, int) {} /* decide() looks at the place */
    static __device__ uintptr_t side_of(const Args &args, uint64_t byte) { return args.decide.flag_of(byte); }
    static __device__ uintptr_t side_first(const Args &args) { return (uintptr_t)args.decide.flags; }
    static __device__ uintptr_t side_end(const Args &args) { return (uintptr_t)args.decide.end; }

    static_assert(!BY_LANE || ROWS % 2 == 1, "");
    static __device__ __forceinline__ unsigned vector_of(unsigned r, int lane) {
        return BY_LANE ? (unsigned)lane * ROWS + r : 32 * r + (unsigned)lane;
    }

    /* Of a chunk, the element before which the input begins, or ends, at that byte. */
    static __device__ __forceinline__ int element_at(RingPlace place, uint64_t byte) {
        return byte <= place.first ? 0 : (int)min((byte - place.first) / sizeof(T), (uint64_t)ROWS * 32 * VEC);
    }

    /* A bit for each element of a vector outside the input, which begins and ends before those ones. */
    static __device__ __noinline__ uint32_t bits_outside(int first, int end) {
        return bits_before(first) | (bits_before(VEC) & ~bits_before(end));
    }
    static __device__ __forceinline__ uint32_t bits_before(int element) { return (1u << min(max(element, 0), (int)VEC)) - 1; }

    template <bool COMMON>
    static __device__ __forceinline__ void ask(uint32_t (&kept)[KEPT_WORDS], const typename D::Chunk &decider, int lane) {
#pragma unroll
        for (unsigned j = 0; j < KEPT_WORDS; j++) {
            const unsigned rows = min(ROWS_A_WORD, ROWS - j * ROWS_A_WORD);
            uint32_t set = 0;
#pragma unroll
            for (unsigned r = 0; r < rows; r++) set |= decider.template bits<COMMON>(vector_of(j * ROWS_A_WORD + r, lane)) << r * VEC;
            kept[j] = decider.kept(set) & (uint32_t)((1ull << rows * VEC) - 1);
        }
    }

    /* Decides every element of a chunk, once. Returns how many this lane keeps. */
    static __device__ __forceinline__ unsigned decide(uint32_t (&kept)[KEPT_WORDS], const Args &args, const uint4 *chunk, RingPlace place,
                                                      int lane) {
        const typename D::Chunk decider(args.decide, chunk, place);
        unsigned count = 0;
        if (decider.common())
            ask<true>(kept, decider, lane);
        else
            ask<false>(kept, decider, lane);
        if (!place.whole) mask_input(kept, place, lane);
#pragma unroll
        for (unsigned j = 0; j < KEPT_WORDS; j++) count += (unsigned)__popc(kept[j]);
        return count;
    }

    static __device__ __forceinline__ void mask_input(uint32_t (&kept)[KEPT_WORDS], RingPlace place, int lane) {
        const int first = element_at(place, place.input_first), end = element_at(place, place.input_end);
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            const int at = (int)(vector_of(r, lane) * VEC);
            kept[r / ROWS_A_WORD] &= ~(bits_outside(first - at, end - at) << r % ROWS_A_WORD * VEC);
        }
    }

    static __device__ __forceinline__ void read_chunk(uint4 (&data)[ROWS], const uint4 *chunk, int lane) {
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) data[r] = chunk[vector_of(r, lane)];
    }
};

#endif
