/* ring_kept.cuh: what all compactions by the ring pass have in common: reducers that decide which elements are kept, and count them.
 *
 *   a row of a chunk      x x x x | x x x x | ...      a lane's vector each; one bit an element: kept or not (ring_decide.cuh)
 *   counts a lane         2        1         ...       several rows packed into one register, scanned over the lanes by shuffles
 *
 * The bits are the reducer's notes for the finisher of the same chunk. Aggregates are counts of kept elements; the carry has 64 bits. */
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
template <class T, class D, class S = RingCompactShape<sizeof(T), D::FLAGS>, bool BY_LANE = false> struct RingKept : RingPlain, S {
    typedef S Shape;
    typedef RingCompactArgs<D> Args;
    typedef uint32_t Value; /* kept in a tile, or a wave */
    typedef Add<uint32_t> Op;
    typedef uint64_t Carry;
    static constexpr unsigned ROWS = Shape::ROWS, VEC = 16 / sizeof(T);
    static constexpr unsigned SIDE_NBYTES = D::side_nbytes(Shape::FINISHERS * ROWS * 512);
    static constexpr bool KEEPS_SLOT = true;
    static constexpr unsigned PACKED = VEC <= 4 ? 4 : 2, BITS = 32 / PACKED; /* counts of a row: at most 32 * VEC */
    static constexpr unsigned WORDS = (ROWS + PACKED - 1) / PACKED;
    static constexpr unsigned ROWS_A_NOTE = 32 / VEC, NOTE_WORDS = (ROWS + ROWS_A_NOTE - 1) / ROWS_A_NOTE; /* a bit an element of a lane */

    static __device__ Carry carry_in(const Args &) { return 0; }
    static __device__ Carry carry_add(Carry carry, Value v) { return carry + v; }
    static __device__ void end(const Args &args, Carry carry) { *args.count = args.decide.records(carry); }
    static __device__ void pad(const Args &, unsigned char *, unsigned, unsigned, int) {} /* reduce() looks at the place */
    static __device__ uintptr_t side_of(const Args &args, uint64_t byte) { return args.decide.flag_of(byte); }
    static __device__ uintptr_t side_first(const Args &args) { return (uintptr_t)args.decide.flags; }
    static __device__ uintptr_t side_end(const Args &args) { return (uintptr_t)args.decide.end; }

    static_assert(!BY_LANE || ROWS % 2 == 1, "");
    static __device__ __forceinline__ unsigned vector_of(unsigned r, int lane) {
        return BY_LANE ? (unsigned)lane * ROWS + r : 32 * r + (unsigned)lane;
    }

    /* Bits of the elements of a vector that lie within the input. */
    static __device__ __noinline__ uint32_t input_mask(RingPlace place, uint64_t byte) {
        uint32_t mask = 0;
        for (unsigned i = 0; i < VEC; i++, byte += sizeof(T)) mask |= (byte >= place.input_first && byte < place.input_end ? 1u : 0u) << i;
        return mask;
    }

    static __device__ __forceinline__ uint32_t input_mask_of_row(RingPlace place, unsigned r, int lane) {
        return input_mask(place, place.first + vector_of(r, lane) * 16);
    }

    template <bool COMMON>
    static __device__ __forceinline__ void ask(uint32_t (&kept)[NOTE_WORDS], const typename D::Chunk &decider, int lane) {
#pragma unroll
        for (unsigned j = 0; j < NOTE_WORDS; j++) {
            const unsigned rows = min(ROWS_A_NOTE, ROWS - j * ROWS_A_NOTE);
            uint32_t set = 0;
#pragma unroll
            for (unsigned r = 0; r < rows; r++) set |= decider.template bits<COMMON>(vector_of(j * ROWS_A_NOTE + r, lane)) << r * VEC;
            kept[j] = decider.kept(set) & (uint32_t)((1ull << rows * VEC) - 1);
        }
    }

    /* Decides every element of a chunk, once. Returns how many this lane keeps. */
    static __device__ __forceinline__ unsigned decide(uint32_t (&kept)[NOTE_WORDS], const Args &args, const uint4 *chunk, RingPlace place,
                                                      int lane) {
        const typename D::Chunk decider(args.decide, chunk, place);
        unsigned count = 0;
        if (decider.common())
            ask<true>(kept, decider, lane);
        else
            ask<false>(kept, decider, lane);
        if (!place.whole) mask_input(kept, place, lane);
#pragma unroll
        for (unsigned j = 0; j < NOTE_WORDS; j++) count += (unsigned)__popc(kept[j]);
        return count;
    }

    /* And leaves the decisions for the finisher. */
    static __device__ __forceinline__ Value reduce(const Args &args, const uint4 *chunk, RingPlace place, uint32_t *note, int lane) {
        uint32_t kept[NOTE_WORDS];
        const unsigned count = decide(kept, args, chunk, place, lane);
#pragma unroll
        for (unsigned j = 0; j < NOTE_WORDS; j++) note[32 * j + lane] = kept[j];
        return __reduce_add_sync(ALL_LANES, count);
    }

    static __device__ __forceinline__ void mask_input(uint32_t (&kept)[NOTE_WORDS], RingPlace place, int lane) {
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++)
            kept[r / ROWS_A_NOTE] &= ~((~input_mask_of_row(place, r, lane) & (uint32_t)((1ull << VEC) - 1)) << r % ROWS_A_NOTE * VEC);
    }

    static __device__ __forceinline__ void read_chunk(uint4 (&data)[ROWS], const uint4 *chunk, int lane) {
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) data[r] = chunk[vector_of(r, lane)];
    }

    /* A finisher's counts, from the reducer's notes. */
    struct Counts {
        uint32_t kept[NOTE_WORDS], inclusive[WORDS], row_total[WORDS];

        __device__ __forceinline__ Counts(const uint32_t *note, int lane) {
#pragma unroll
            for (unsigned j = 0; j < NOTE_WORDS; j++) kept[j] = note[32 * j + lane];
#pragma unroll
            for (unsigned j = 0; j < WORDS; j++) inclusive[j] = 0;
#pragma unroll
            for (unsigned r = 0; r < ROWS; r++) inclusive[r / PACKED] |= (uint32_t)__popc(kept_of_row(r)) << (BITS * (r % PACKED));
            warp_scan_rows<Op>(inclusive, lane);
#pragma unroll
            for (unsigned j = 0; j < WORDS; j++) row_total[j] = __shfl_sync(ALL_LANES, inclusive[j], 31);
        }

        /* A bit for each element of the lane's vector of row r. */
        __device__ __forceinline__ uint32_t kept_of_row(unsigned r) const {
            return kept[r / ROWS_A_NOTE] >> (r % ROWS_A_NOTE * VEC) & (uint32_t)((1ull << VEC) - 1);
        }
        static __device__ __forceinline__ unsigned unpack_count(const uint32_t *packed, unsigned r) {
            return packed[r / PACKED] >> (BITS * (r % PACKED)) & ((1u << BITS) - 1);
        }
        /* Kept ones of row r before the lane's vector, and in the whole row. */
        __device__ __forceinline__ unsigned before_vector(unsigned r) const {
            return unpack_count(inclusive, r) - (unsigned)__popc(kept_of_row(r));
        }
        __device__ __forceinline__ unsigned in_row(unsigned r) const { return unpack_count(row_total, r); }
    };
};

#endif
