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
    typedef RingTile<RingElements> Tile;
    static constexpr unsigned ROOM_NBYTES = Base::LEAD_NBYTES;
    using Base::ROWS, Base::VEC;

    /* before: kept ones of the tile before this chunk. */
    static __device__ __forceinline__ void stage(const Args &args, unsigned char *slot, const Tile &tile, RingPlace place,
                                                 const uint32_t *note, const Local &local, unsigned before, int lane) {
        const Counts counts(note, lane);
        const Runs runs(args, tile, place.input_first);
        T *const staged = (T *)slot;
        const unsigned first = (unsigned)(place.first - tile.first) / (unsigned)sizeof(T) + (unsigned)lane * VEC; /* of the tile */
        unsigned kept = runs.kept_at / (unsigned)sizeof(T) + before;
        unsigned rejected = SPLIT ? runs.rejected_from(first, before) / (unsigned)sizeof(T) : 0;
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            const Vector<T, VEC> v = unpack<T, VEC>(local.data[r]);
            const uint32_t mine = counts.kept_of_row(r);
            const unsigned rank = counts.before_vector(r);
            if constexpr (SPLIT)
                stage_both(staged, kept + rank, rejected - rank, v, mine);
            else
                stage_kept(staged + kept + rank, v, mine);
            kept += counts.in_row(r);
            rejected += 32 * VEC - counts.in_row(r);
        }
    }

    static __device__ __forceinline__ void stage_kept(T *s_kept, const Vector<T, VEC> &v, uint32_t mine) {
#pragma unroll
        for (unsigned i = 0; i < VEC; i++)
            if (mine >> i & 1) *s_kept++ = v.item[i];
    }

    static __device__ __forceinline__ void stage_both(T *staged, unsigned kept, unsigned rejected, const Vector<T, VEC> &v, uint32_t mine) {
#pragma unroll
        for (unsigned i = 0; i < VEC; i++) {
            const unsigned is_kept = mine >> i & 1;
            staged[is_kept ? kept : rejected] = v.item[i];
            kept += is_kept;
            rejected += 1 - is_kept;
        }
    }

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

    /* first: the index of the chunk's first element. */
    static __device__ __forceinline__ void store(Index *dst, const uint16_t *staged, unsigned n, uint64_t first, int lane) {
        const int skew = (int)((uintptr_t)dst / sizeof(Index) % 32);
        for (int i = lane - skew; i < (int)n; i += 32)
            if (i >= 0) __stcs(dst + i, (Index)(first + staged[i]));
    }
};

/* ---- launch ------------------------------------------------------------------------------------------------------------------ */

static inline bool ring_compact_suits(const struct cuda_queue *queue, const struct compact_args *a, size_t unit_nbytes) {
    const bool split = a->output == COMPACT_SPLIT && a->elem_nbytes == unit_nbytes;
    const uint64_t split_min = ring_split_min_nbytes(unit_nbytes, a->rest == nullptr);
    const uint64_t kept_min = ring_compact_min_nbytes(unit_nbytes, a->elem_nbytes, a->flags != nullptr);
    return should_run_ring(queue, a->n * a->elem_nbytes, split ? split_min : kept_min);
}

/* Records of odd sizes or addresses would be moved byte by byte, and of long ones the look-back pass fetches only those that are kept. */
static inline bool ring_flags_suit(const struct cuda_queue *queue, const struct compact_args *a, size_t unit_nbytes) {
    static_assert(RING_MAX_RECORD_NBYTES / 4 <= DecideByRecord<uint32_t>::MAX_UNITS, "");
    const bool fits = unit_nbytes >= 4 && a->elem_nbytes <= RING_MAX_RECORD_NBYTES;
    return (unit_nbytes == a->elem_nbytes || fits) && ring_compact_suits(queue, a, unit_nbytes);
}

template <class T, class D> static RingCompactArgs<D> ring_compact_args(const struct compact_args *a, const D &decide) {
    void *const rejected = a->rest != nullptr ? a->rest : a->out;
    return {decide, (unsigned char *)a->out, (unsigned char *)rejected, a->count, a->base - ring_head(a->in) / sizeof(T), nullptr, 0,
            false};
}

template <class P, class T, class D>
static cudaError_t queue_ring_compact(const struct cuda_queue *queue, const struct compact_args *a, const D &decide) {
    return launch_ring<P>(queue, ring_compact_args<T>(a, decide), a->in, a->n * a->elem_nbytes);
}

/* By what elements are moved. */
template <class T, class D, bool SPLIT> struct RingMoves { typedef RingElements<T, D, SPLIT> Policy; };
template <class D, bool SPLIT> struct RingMoves<uint8_t, D, SPLIT> { typedef RingBytes<D, SPLIT> Policy; };

/* Where rejected ones behind the kept ones begin depends on all elements. The first tiles can wait in shared memory until all are known;
 * what comes after them is counted first, by all CTAs, while their first tiles arrive. */
template <class T, class D>
static cudaError_t launch_ring_partition(const struct cuda_queue *queue, const struct compact_args *a, const D &decide) {
    typedef typename RingMoves<T, D, true>::Policy P;
    const uint64_t nbytes = a->n * a->elem_nbytes, held = (uint64_t)queue->nsms * P::STAGES * Ring<P>::TILE_NBYTES - ring_head(a->in);
    RingCompactArgs<D> args = ring_compact_args<T>(a, decide);
    if (a->rest == nullptr && nbytes > held) {
        args.rest_is_all = a->elem_nbytes != sizeof(T); /* a record may be held in part */
        const uint64_t first = args.rest_is_all ? 0 : held / sizeof(T);
        args.rest = (const typename D::Counted *)(D::FLAGS ? a->flags : a->in) + first;
        args.nrest = a->n - first;
    }
    return launch_ring<P>(queue, args, a->in, nbytes);
}

template <class T, class D>
static cudaError_t launch_ring_elements(const struct cuda_queue *queue, const struct compact_args *a, const D &decide) {
    if (a->output == COMPACT_SPLIT) return launch_ring_partition<T>(queue, a, decide);
    return queue_ring_compact<typename RingMoves<T, D, false>::Policy, T>(queue, a, decide);
}

template <class T> static cudaError_t launch_ring_where(const struct cuda_queue *queue, const struct compact_args *a, Keep<T> keep) {
    const DecideByValue<T> decide = {keep};
    if (a->output == COMPACT_INDICES32) return queue_ring_compact<RingIndices<T, DecideByValue<T>, uint32_t>, T>(queue, a, decide);
    if (a->output == COMPACT_INDICES64) return queue_ring_compact<RingIndices<T, DecideByValue<T>, uint64_t>, T>(queue, a, decide);
    return launch_ring_elements<T>(queue, a, decide);
}

/* A record is at least one T, and a multiple of it, as are both addresses. */
template <class T> static cudaError_t launch_ring_flagged(const struct cuda_queue *queue, const struct compact_args *a) {
    const uint64_t nunits = a->elem_nbytes / sizeof(T);
    const unsigned char *const flags = a->flags, *const end = flags + a->n;
    if (nunits == 1) {
        const DecideByFlag<T> decide = {flags, end, flags - ring_head(a->in) / sizeof(T)};
        return launch_ring_elements<T>(queue, a, decide);
    }
    if constexpr (sizeof(T) >= 4) {
        const uint32_t reciprocal = (uint32_t)((((uint64_t)1 << 32) + nunits - 1) / nunits);
        const DecideByRecord<T> decide = {flags, end, (uint32_t)nunits, reciprocal, UINT64_MAX / nunits, ring_head(a->in)};
        return launch_ring_elements<T>(queue, a, decide);
    }
    return cudaErrorInvalidValue; /* ring_flags_suit() lets no such record through */
}

#endif
