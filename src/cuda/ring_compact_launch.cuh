/* ring_compact_launch.cuh: which of the ring's compactions and partitions runs, by what decides, what is written and the size of an
 * element. */
#ifndef UPSWEEP_RING_COMPACT_LAUNCH_CUH
#define UPSWEEP_RING_COMPACT_LAUNCH_CUH

#include "ring_indices.cuh"
#include "ring_turned.cuh"

static inline bool ring_compact_suits(const struct cuda_queue *queue, const struct compact_args *a, size_t unit_nbytes) {
    const bool split = a->output == COMPACT_SPLIT && a->elem_nbytes == unit_nbytes, flagged = a->flags != nullptr;
    const bool indices = a->output == COMPACT_INDICES32 || a->output == COMPACT_INDICES64;
    const uint64_t split_min = ring_split_min_nbytes(unit_nbytes, flagged, a->rest == nullptr);
    const uint64_t kept_min = ring_compact_min_nbytes(unit_nbytes, a->elem_nbytes, flagged, indices);
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
    return {decide, (unsigned char *)a->out, (unsigned char *)rejected, a->count, a->base - ring_head(a->in) / sizeof(T), nullptr, 0, 0,
            false};
}

template <class P, class T, class D>
static cudaError_t queue_ring_compact(const struct cuda_queue *queue, const struct compact_args *a, const D &decide) {
    return launch_ring<P>(queue, ring_compact_args<T>(a, decide), a->in, a->n * a->elem_nbytes);
}

/* Where rejected ones behind the kept ones begin depends on all elements. The first tiles can wait in shared memory until all are known;
 * what comes after them is counted first, by all CTAs, while their first tiles arrive. Or one side is turned round: not by flags, which are
 * soon counted, nor of bytes, which are short of instructions. */
template <class T, class D>
static cudaError_t launch_ring_partition(const struct cuda_queue *queue, const struct compact_args *a, const D &decide) {
    typedef RingCompact<T, D, true> P;
    const uint64_t nbytes = a->n * a->elem_nbytes, held = (uint64_t)queue->nsms * P::STAGES * Ring<P>::TILE_NBYTES - ring_head(a->in);
    RingCompactArgs<D> args = ring_compact_args<T>(a, decide);
    if (a->rest == nullptr && nbytes > held) {
        args.rest_is_all = a->elem_nbytes != sizeof(T); /* a record may be held in part */
        const uint64_t first = args.rest_is_all ? 0 : held / sizeof(T);
        args.rest = (const typename D::Counted *)(D::FLAGS ? a->flags : a->in) + first;
        args.nrest = a->n - first;
        args.nagain = 2 * held / a->elem_nbytes - first;
        if constexpr (!D::FLAGS && sizeof(T) > 1) {
            if (queue->only_ring || nbytes >= RING_TURN_MIN_NBYTES) return launch_ring<RingTurned<T, D>>(queue, args, a->in, nbytes);
        }
    }
    return launch_ring<P>(queue, args, a->in, nbytes);
}

template <class T, class D>
static cudaError_t launch_ring_elements(const struct cuda_queue *queue, const struct compact_args *a, const D &decide) {
    if (a->output == COMPACT_SPLIT) return launch_ring_partition<T>(queue, a, decide);
    return queue_ring_compact<RingCompact<T, D, false>, T>(queue, a, decide);
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
