/* compact.cu: chooses the kernel of a compaction or partition by what decides, what is written, and the size of an element.
 *
 * The type matters only for what a predicate means, and that has become an interval (keep.cuh) when a kernel runs: signed and unsigned
 * share kernels, and no comparison has one of its own. Byte flags are a predicate (non-zero) on bytes, whose sink moves the records. */
#include "launch.h"

#include "keep_interval.cuh"
#include "lookback_compact.cuh"
#include "ring_compact_launch.cuh"
#include "short.cuh"

static const Keep<uint8_t> NONZERO_BYTE = {0, 0, true};

/* A large partition to one array counts first: where the rejected ones begin depends on all elements. */
template <class T> static cudaError_t count_first(const struct cuda_queue *queue, const CompactArgs<T> &args) {
    if (args.flags != nullptr)
        return launch_count<uint8_t>(queue, NONZERO_BYTE, args.flags, args.n, (uintptr_t)args.flags % 16 == 0, args.count);
    if constexpr (sizeof(T) <= 8) return launch_count<T>(queue, args.keep, args.in, args.n, args.in_aligned, args.count);
    return cudaErrorInvalidValue; /* only flags decide about 16 bytes */
}

/* With a tile a multiprocessor the exchange that finds the total is the faster one, wanted or not. */
template <class P, class T> static cudaError_t lookback(const struct cuda_queue *queue, CompactArgs<T> args) {
    const bool few_tiles = args.rejected != nullptr && tiles_of<P>(args.n) <= (uint64_t)queue->nsms;
    if ((args.goes_behind() || few_tiles) && can_know_total<P>(queue, args.n)) return launch_with_total<P>(queue, args, args.n);
    if (!args.goes_behind()) return launch_lookback<P>(queue, args, args.n);
    const cudaError_t error = count_first(queue, args);
    args.counted = true;
    return error != cudaSuccess ? error : launch_lookback<P>(queue, args, args.n);
}

/* All tiles at once, each as small as there are multiprocessors for: it waits for all the others. */
template <class T, bool FLAGGED> static cudaError_t lookback_at_once(const struct cuda_queue *queue, const CompactArgs<T> &args) {
    enum { VEC = 16 / sizeof(T) };
    typedef StageElements<T> Sink;
    const uint64_t nbytes = args.n * sizeof(T);
    if constexpr (sizeof(T) == 1) {
        if (has_sm_each<SplitByteShape>(nbytes, queue->nsms))
            return lookback<LookbackCompact<T, Sink, SplitByteShape, VEC, FLAGGED>>(queue, args);
    }
    if (has_sm_each<SplitShape>(nbytes, queue->nsms)) return lookback<LookbackCompact<T, Sink, SplitShape, VEC, FLAGGED>>(queue, args);
    if (has_sm_each<MidShape>(nbytes, queue->nsms)) return lookback<LookbackCompact<T, Sink, MidShape, VEC, FLAGGED>>(queue, args);
    return lookback<LookbackCompact<T, Sink, SplitLargeShape, VEC, FLAGGED>>(queue, args);
}

/* By shape. */
template <class T, class Sink, bool FLAGGED> struct CompactBy {
    template <class Shape> using Policy = LookbackCompact<T, Sink, Shape, 16 / sizeof(T), FLAGGED>;
};

template <class T, class Sink, bool FLAGGED>
static cudaError_t lookback_or_short(const struct cuda_queue *queue, const CompactArgs<T> &args) {
    typedef CompactBy<T, Sink, FLAGGED> By;
    typedef typename By::template Policy<MidShape> Mid;
    typedef typename By::template Policy<LargeShape> Large;
    const uint64_t nbytes = args.n * sizeof(T);
    cudaError_t error;
    const bool large = sizeof(T) > 1 && args.rejected == nullptr; /* much to do a byte: rather more CTAs */
    if (launch_short<By>(queue, args, large, &error)) return error;
    if constexpr (Sink::MOVES) {
        const bool few_bytes = sizeof(T) == 1 && has_sm_each<SplitShape>(nbytes, queue->nsms); /* much to do a byte: small tiles too */
        const bool few = args.rejected != nullptr && has_sm_each<SplitLargeShape>(nbytes, queue->nsms);
        if (args.goes_behind() || few || few_bytes) return lookback_at_once<T, FLAGGED>(queue, args);
    }
    if constexpr (sizeof(typename Large::Shared) <= MAX_STATIC_NBYTES) {
        if (!runs_at_once<MidShape>(nbytes, queue->nsms)) return lookback<Large>(queue, args);
    }
    return lookback<Mid>(queue, args);
}

template <class T> static CompactArgs<T> common_args(const struct compact_args *a, const void *decides) {
    CompactArgs<T> args = {};
    args.in = (const T *)decides;
    args.n = a->n;
    args.count = a->count;
    args.out = (unsigned char *)a->out;
    if (a->output == COMPACT_SPLIT) args.rejected = (unsigned char *)(a->rest != NULL ? a->rest : a->out);
    args.in_aligned = (uintptr_t)decides % 16 == 0;
    return args;
}

/* Flags beside elements. */
template <class T> static CompactArgs<T> flagged_args(const struct compact_args *a) {
    CompactArgs<T> args = common_args<T>(a, a->in);
    args.flags = a->flags;
    args.flags_aligned = (uintptr_t)a->flags % (16 / sizeof(T)) == 0;
    return args;
}

template <class T> static cudaError_t compact_where(const struct cuda_queue *queue, const struct compact_args *a) {
    CompactArgs<T> args = common_args<T>(a, a->in);
    args.keep = keep_interval<T>(a->type, &a->keep);
    if (ring_compact_suits(queue, a, sizeof(T))) return launch_ring_where(queue, a, args.keep);
    args.base = a->base;
    args.wide = a->output == COMPACT_INDICES64;
    if (a->output == COMPACT_KEPT || a->output == COMPACT_SPLIT) return lookback_or_short<T, StageElements<T>, false>(queue, args);
    return lookback_or_short<T, StageIndices<T>, false>(queue, args);
}

/* The widest access that divides the size of a record and suits all arrays. */
static uint32_t access_unit(const struct compact_args *a) {
    const uintptr_t bits = (uintptr_t)a->elem_nbytes | (uintptr_t)a->in | (uintptr_t)a->out | (uintptr_t)a->rest;
    uint32_t unit = 16;
    while (bits % unit != 0) unit /= 2;
    return unit;
}

static cudaError_t compact_records(const struct cuda_queue *queue, const struct compact_args *a, uint32_t unit) {
    typedef LookbackCompact<uint8_t, StageRecords, RecordShape, 2> Few;
    CompactArgs<uint8_t> args = common_args<uint8_t>(a, a->flags);
    args.keep = NONZERO_BYTE;
    args.records = (const unsigned char *)a->in;
    args.record_nbytes = (uint32_t)a->elem_nbytes;
    args.unit = unit;
    if (should_run_small<Few>(queue, a->n) && a->n * a->elem_nbytes <= RECORDS_SMALL_NBYTES) return launch_small<Few>(queue, args);
    if (a->n <= Few::TILE_ITEMS * RECORD_SPREAD_TILES || a->elem_nbytes > RECORD_MEDIUM_NBYTES) return lookback<Few>(queue, args);
    return lookback<LookbackCompact<uint8_t, StageRecords, RecordShape, 16>>(queue, args);
}

/* T is what a record is moved by. On the ring, several T may share a flag. */
template <class T> static cudaError_t compact_flagged_by(const struct cuda_queue *queue, const struct compact_args *a) {
    if (ring_flags_suit(queue, a, sizeof(T))) return launch_ring_flagged<T>(queue, a);
    if constexpr (sizeof(T) <= 8) {
        if (a->elem_nbytes == sizeof(T)) return lookback_or_short<T, StageElements<T>, true>(queue, flagged_args<T>(a));
    }
    return compact_records(queue, a, sizeof(T));
}

static cudaError_t compact_flagged(const struct cuda_queue *queue, const struct compact_args *a) {
    switch (access_unit(a)) {
    case 1:
        return compact_flagged_by<uint8_t>(queue, a);
    case 2:
        return compact_flagged_by<uint16_t>(queue, a);
    case 4:
        return compact_flagged_by<uint32_t>(queue, a);
    case 8:
        return compact_flagged_by<uint64_t>(queue, a);
    default:
        return compact_flagged_by<uint4>(queue, a);
    }
}

extern "C" int cuda_launch_compact(const struct cuda_queue *queue, const struct compact_args *a, void *) {
    if (a->flags != NULL) return compact_flagged(queue, a);
    if (a->type == UPSWEEP_F32) return compact_where<float>(queue, a);
    if (a->type == UPSWEEP_F64) return compact_where<double>(queue, a);
    switch (a->elem_nbytes) {
    case 1:
        return compact_where<uint8_t>(queue, a);
    case 2:
        return compact_where<uint16_t>(queue, a);
    case 4:
        return compact_where<uint32_t>(queue, a);
    default:
        return compact_where<uint64_t>(queue, a);
    }
}
