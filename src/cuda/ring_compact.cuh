/* ring_compact.cuh: compaction and partition as policies of the ring pass.
 *
 *   a row of a chunk      x x x x | x x x x | ...      a lane's vector each; one bit an element: kept or not (ring_decide.cuh)
 *   counts a lane         2        1         ...       several rows packed into one register, scanned over the lanes by shuffles
 *   staged and sent       ring_staged.cuh
 *
 * Aggregates are counts of kept elements; the carry has 64 bits. For indices, positions within the chunk (16 bits) are staged in the
 * chunk's own place and become indices on their way out, by the finisher. Cost: every element once in, every kept one once out; a partition
 * whose rejected ones go behind the kept ones reads what decides, where it is not held, once more. */
#ifndef UPSWEEP_RING_COMPACT_CUH
#define UPSWEEP_RING_COMPACT_CUH

#include "ring_compact_bytes.cuh"

/* ---- elements ----------------------------------------------------------------------------------------------------------------- */

/* SPLIT: partition. */
template <class T, class D, bool SPLIT, class S = RingCompactShape<sizeof(T), D::FLAGS>>
struct RingElements : RingStaged<T, D, SPLIT, S, false> {
    typedef RingStaged<T, D, SPLIT, S, false> Base;
    typedef typename Base::Args Args;
    typedef typename Base::Counts Counts;
    typedef typename Base::Runs Runs;
    typedef typename Base::Local Local;
    static constexpr unsigned ROOM_NBYTES = Base::LEAD_NBYTES;
    using Base::ROWS, Base::VEC;

    /* before: kept ones of the tile before this chunk. */
    template <class Tile>
    static __device__ __forceinline__ void stage(const Args &args, unsigned char *slot, const Tile &tile, RingPlace place,
                                                 const uint32_t *note, const Local &local, unsigned before, int lane) {
        const Runs runs(args, tile, place.input_first);
        const unsigned first = (unsigned)(place.first - tile.first) / (unsigned)sizeof(T) + (unsigned)lane * VEC; /* of the tile */
        const unsigned kept = runs.kept_at / (unsigned)sizeof(T) + before;
        const unsigned rejected = SPLIT ? runs.rejected_from(first, before) / (unsigned)sizeof(T) : 0;
        stage_at<1, 1>((T *)slot, kept, rejected, Counts(note, lane), local);
    }

    /* From the places of the chunk's first kept one and of this lane's first element, if that is rejected. A STEP is 1, or ~0: back from
     * there. */
    template <unsigned KEPT_STEP, unsigned REJECTED_STEP>
    static __device__ __forceinline__ void stage_at(T *staged, unsigned kept, unsigned rejected, const Counts &counts, const Local &local) {
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            const Vector<T, VEC> v = unpack<T, VEC>(local.data[r]);
            const uint32_t mine = counts.kept_of_row(r);
            const unsigned rank = counts.before_vector(r);
            if constexpr (SPLIT)
                stage_both<KEPT_STEP, REJECTED_STEP>(staged, kept + KEPT_STEP * rank, rejected - REJECTED_STEP * rank, v, mine);
            else
                stage_kept(staged + kept + rank, v, mine);
            kept += KEPT_STEP * counts.in_row(r);
            rejected += REJECTED_STEP * (32 * VEC - counts.in_row(r));
        }
    }

    static __device__ __forceinline__ void stage_kept(T *s_kept, const Vector<T, VEC> &v, uint32_t mine) {
#pragma unroll
        for (unsigned i = 0; i < VEC; i++)
            if (mine >> i & 1) *s_kept++ = v.item[i];
    }

    template <unsigned KEPT_STEP, unsigned REJECTED_STEP>
    static __device__ __forceinline__ void stage_both(T *staged, unsigned kept, unsigned rejected, const Vector<T, VEC> &v, uint32_t mine) {
#pragma unroll
        for (unsigned i = 0; i < VEC; i++) {
            const unsigned is_kept = mine >> i & 1;
            staged[is_kept ? kept : rejected] = v.item[i];
            kept += KEPT_STEP * is_kept;
            rejected += REJECTED_STEP * (1 - is_kept);
        }
    }

    template <class Tile>
    static __device__ __forceinline__ void send(const Args &args, const unsigned char *slot, const Tile &tile, uint64_t input_first,
                                                uint64_t input_end, int lane) {
        Base::send_runs(Runs(args, tile, input_first), slot, tile, input_end, lane);
    }
};

/* ---- indices ------------------------------------------------------------------------------------------------------------------ */

/* Positions within the chunk (16 bits) are staged, and become indices on their way out. */
template <class T, class D, class Index> struct RingIndices : RingKept<T, D> {
    typedef RingKept<T, D> Base;
    typedef typename Base::Args Args;
    typedef typename Base::Counts Counts;
    static constexpr unsigned ROUNDS = sizeof(uint16_t) > sizeof(T) ? 2 : 1; /* what is staged must fit the chunk */
    using Base::ROWS, Base::VEC;
    static_assert(ROWS % ROUNDS == 0, "");

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
