/* ring_indices.cuh: indices of the elements that a compaction keeps, as a policy of the ring pass.
 *
 *   a row of a chunk      x x x x | x x x x | ...      a lane's vector each; one bit an element: kept or not (ring_decide.cuh)
 *   counts a lane         2        1         ...       several rows packed into one register, scanned over the lanes by shuffles
 *
 * The bits are the reducer's notes for the finisher of the same chunk. That stages positions within the chunk (16 bits) in the chunk's own
 * place, and they become indices on their way out. */
#ifndef UPSWEEP_RING_INDICES_CUH
#define UPSWEEP_RING_INDICES_CUH

#include "ring_kept.cuh"

template <class T, class D, class Index> struct RingIndices : RingKept<T, D, RingIndicesShape<sizeof(T)>, false> {
    typedef RingKept<T, D, RingIndicesShape<sizeof(T)>, false> Base;
    typedef typename Base::Args Args;
    typedef typename Base::Value Value;
    typedef typename Base::Op Op;
    static constexpr unsigned ROUNDS = sizeof(uint16_t) > sizeof(T) ? 2 : 1; /* what is staged must fit the chunk */
    static constexpr bool KEEPS_SLOT = true;
    using Base::ROWS, Base::VEC, Base::ROWS_A_WORD;
    static constexpr unsigned NOTE_WORDS = Base::KEPT_WORDS;
    static constexpr unsigned PACKED = VEC <= 4 ? 4 : 2, BITS = 32 / PACKED; /* counts of a row: at most 32 * VEC */
    static constexpr unsigned WORDS = (ROWS + PACKED - 1) / PACKED;
    static_assert(ROWS % ROUNDS == 0, "");

    /* Leaves the decisions for the finisher. */
    static __device__ __forceinline__ Value reduce(const Args &args, const uint4 *chunk, RingPlace place, uint32_t *note, int lane) {
        uint32_t kept[NOTE_WORDS];
        const unsigned count = Base::decide(kept, args, chunk, place, lane);
#pragma unroll
        for (unsigned j = 0; j < NOTE_WORDS; j++) note[32 * j + lane] = kept[j];
        return __reduce_add_sync(ALL_LANES, count);
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
            return kept[r / ROWS_A_WORD] >> (r % ROWS_A_WORD * VEC) & (uint32_t)((1ull << VEC) - 1);
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

    struct Local {};
    static __device__ __forceinline__ void prepare(const Args &, const uint4 *, RingPlace, Local &, int) {}

    static __device__ __forceinline__ void finish(const Args &args, uint4 *chunk, RingPlace place, const uint32_t *note, Local &,
                                                  uint64_t prefix, int lane) {
        uint16_t *const staged = (uint16_t *)chunk;
        const Counts counts(note, lane);
#pragma unroll
        for (unsigned q = 0; q < ROUNDS; q++) {
            unsigned run = 0;
            __syncwarp(); /* the round before has been stored, by all lanes */
#pragma unroll
            for (unsigned r = q * (ROWS / ROUNDS); r < (q + 1) * (ROWS / ROUNDS); r++) {
                const uint32_t mine = counts.kept_of_row(r);
                unsigned rank = run + counts.before_vector(r);
#pragma unroll
                for (unsigned i = 0; i < VEC; i++)
                    if (mine >> i & 1) staged[rank++] = (uint16_t)((r * 32 + (unsigned)lane) * VEC + i);
                run += counts.in_row(r);
            }
            __syncwarp();
            store((Index *)args.out + prefix, staged, run, args.base + place.first / sizeof(T), lane);
            prefix += run;
        }
    }

    /* first: the index of the chunk's first element. Some at a time, all of which are asked for before the first is there. */
    static __device__ __forceinline__ void store(Index *dst, const uint16_t *staged, unsigned n, uint64_t first, int lane) {
        constexpr int AHEAD = VEC < 4 ? (int)VEC : 4;
        const int skew = (int)((uintptr_t)dst / sizeof(Index) % 32);
        for (int i = lane - skew; i < (int)n; i += 32 * AHEAD) {
            uint32_t at[AHEAD];
#pragma unroll
            for (int j = 0; j < AHEAD; j++) at[j] = i + 32 * j >= 0 && i + 32 * j < (int)n ? staged[i + 32 * j] : 0;
#pragma unroll
            for (int j = 0; j < AHEAD; j++)
                if (i + 32 * j >= 0 && i + 32 * j < (int)n) __stcs(dst + i + 32 * j, (Index)(first + at[j]));
        }
    }
};

#endif
