/* sort_split_launch.cuh: the host's part in sorting keys alone (sort_split.cuh): how many buckets, and the launches.
 *
 * Buckets must fit a CTA: of three sizes of CTA the smallest that does with one partition is taken, else two partitions. The choice depends
 * on n alone and assumes keys whose top bits are spread at random; whether that holds is for the device to find out. */
#ifndef UPSWEEP_CUDA_SORT_SPLIT_LAUNCH_CUH
#define UPSWEEP_CUDA_SORT_SPLIT_LAUNCH_CUH

#include "sort_bucket.cuh"
#include "sort_fused.cuh"
#include "sort_levels.cuh"
#include "sort_scratch.cuh"

/* Does a bucket of this many keys on average keep below the limit, if the keys are spread at random? Six standard deviations are allowed
 * for. */
static bool mean_fits(uint64_t mean, uint64_t limit) { return mean < limit && (limit - mean) * (limit - mean) >= 36 * mean; }

/* The fewest bits, at least SPLIT_MIN_BITS, that make buckets fit. */
static uint32_t split_bits(uint64_t n, uint64_t bucket_max) {
    uint32_t bits = SPLIT_MIN_BITS;
    while (bits < 64 && !mean_fits(n >> bits, bucket_max)) bits++;
    return bits;
}

template <typename KEY, typename ITEM, typename SHAPE>
static cudaError_t launch_buckets(const struct split_job *job, const struct cuda_queue *queue) {
    return launch_next(queue, split_buckets<KEY, ITEM, SHAPE>, 1u << (job->coarse_bits + job->fine_bits), SHAPE::THREADS,
                       SHAPE::SHARED_NBYTES, *job);
}

template <typename KEY, typename ITEM, bool SECOND>
static cudaError_t launch_partition(const struct split_job *job, const struct cuda_queue *queue) {
    const uint32_t nctas = (job->n + job->tile_items - 1) / job->tile_items + (SECOND ? 1u << job->coarse_bits : 0);
    return launch_next(queue, split_partition<KEY, ITEM, SECOND>, nctas, SPLIT_THREADS, (uint32_t)(job->tile_items * sizeof(ITEM)), *job);
}

template <typename KEY> static cudaError_t launch_levels(const struct split_job *job, const struct cuda_queue *queue) {
    const uint32_t ntiles = (job->n + job->tile_items - 1) / job->tile_items;
    const uint32_t nctas = (uint32_t)min_u64(ntiles, (uint64_t)queue->nsms * SPLIT_CTAS_PER_SM);
    const uint32_t tile = (uint32_t)(job->tile_items * sizeof(KEY)), counters = SORT_DIGITS * LEVELS_COPIES * sizeof(uint32_t);
    return launch_next(queue, split_levels<KEY>, nctas, SPLIT_THREADS, max_u32(tile, counters), *job);
}

template <typename KEY> static cudaError_t launch_split_histogram(const struct split_job *job, const struct cuda_queue *queue) {
    const uint32_t nwords = 1u << (job->coarse_bits + job->fine_bits - 1);
    struct split_job counted = *job;
    counted.copies = counter_copies(queue, job->n, nwords);
    const uint64_t per_cta = SPLIT_HISTOGRAM_THREADS * (16 / sizeof(KEY));
    const uint32_t nctas = (uint32_t)min_u64((job->n + per_cta - 1) / per_cta, (uint64_t)queue->nsms);
    return launch_next(queue, split_histogram<KEY>, nctas, SPLIT_HISTOGRAM_THREADS, nwords * counted.copies * 4, counted);
}

/* Shapes of the last step, by the size of buckets: threads, items a thread, bits of a bin, CTAs a multiprocessor. Those of the middle keep
 * a thousand threads busy on a multiprocessor: the step is a chain of short phases, each as long as its latencies. */
template <typename ITEM> struct split_shapes {
    typedef bucket_shape<ITEM, 256, 18, 11> LITTLE;
    typedef bucket_shape<ITEM, 512, 18, 12, 3> MIDDLE;
    typedef bucket_shape<ITEM, 512, 35, 13> BIG;
};
template <> struct split_shapes<uint64_t> {
    typedef bucket_shape<uint64_t, 256, 18, 11, 3> LITTLE;
    typedef bucket_shape<uint64_t, 512, 18, 12, 2> MIDDLE;
    typedef bucket_shape<uint64_t, 1024, 18, 13, 1> BIG;
};

/* The same where histogram and partition are one launch: few and large buckets rather than many, and of 512 threads, two CTAs a
 * multiprocessor, so that each phase of a bucket is short. */
template <typename ITEM> struct fused_shapes {
    typedef bucket_shape<ITEM, 512, 2, 11, 2> LITTLE;
    typedef bucket_shape<ITEM, 512, 9, 12, 2, 4> MIDDLE;
    typedef bucket_shape<ITEM, 512, 18, 12, 2, 4> BIG;
};
template <> struct fused_shapes<uint64_t> {
    typedef bucket_shape<uint64_t, 512, 2, 11, 2> LITTLE;
    typedef bucket_shape<uint64_t, 512, 9, 12, 2, 4> MIDDLE, BIG;
};

/* How many of a sample's keys may share their highest 8 bits before some bucket must be too big, even if they are spread evenly over the
 * buckets of that digit. Some of keys that are spread at random do; 0 if even half of them may. */
static uint32_t sample_limit(const struct split_job *job, uint64_t n) {
    const uint32_t bits = job->coarse_bits + job->fine_bits, spread = bits > SORT_DIGIT_BITS ? bits - SORT_DIGIT_BITS : 0;
    const uint64_t too_many = (uint64_t)job->bucket_max * 3 / 2 << spread, limit = too_many * SPLIT_HISTOGRAM_THREADS / n + 1;
    return limit > SPLIT_HISTOGRAM_THREADS / 2 ? 0 : max_u32((uint32_t)limit, SPLIT_SAMPLE_MIN_LIMIT);
}

static_assert(split_shapes<uint32_t>::MIDDLE::ITEMS == SPLIT_BUCKET && split_shapes<uint64_t>::MIDDLE::ITEMS == SPLIT_BUCKET &&
                  split_shapes<uint32_t>::BIG::ITEMS << SPLIT_SINGLE_BITS > SPLIT_TWO_MIN &&
                  split_shapes<uint64_t>::BIG::ITEMS < SPLIT_MAX >> SPLIT_MAX_BITS,
              "the scratch depends on it");

/* Rows of a tile, if there is one tile a multiprocessor. */
static uint32_t fused_rows(const struct cuda_queue *queue, uint64_t n) {
    const uint64_t row = (uint64_t)queue->nsms * FUSED_THREADS;
    return (uint32_t)min_u64((n + row - 1) / row, UINT32_MAX);
}

/* Chooses bits and shape for the way with a launch less; false if the keys do not fit the multiprocessors, or CTAs may not wait for one
 * another. */
template <typename KEY, typename ITEM> static bool choose_fused(struct split_job *job, const struct cuda_queue *queue, uint64_t n) {
    typedef fused_shapes<ITEM> SHAPES;
    if (!queue->cooperative || queue->only_lookback || fused_rows(queue, n) > (uint32_t)fused_max_rows(sizeof(KEY), sizeof(ITEM)))
        return false;
    const uint32_t limits[] = {SHAPES::LITTLE::ITEMS, SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    const uint32_t most[] = {SPLIT_MIN_BITS, SPLIT_MIN_BITS, FUSED_MAX_BITS};
    for (int shape = 0; shape < 3; shape++) {
        job->fine_bits = split_bits(n, limits[shape]);
        job->bucket_max = limits[shape];
        job->fused = job->fine_bits <= most[shape];
        if (job->fused) return true;
    }
    return false;
}

/* Chooses bits and shape by n; false if a split is not for this sort: keys with company, some of their bits, too few or too many. Items of
 * KEY's width are keys alone, wider ones keys with their indices. */
template <typename KEY, typename ITEM>
static bool choose_split(struct split_job *job, const struct cuda_queue *queue, const struct sort_args *args) {
    typedef split_shapes<ITEM> SHAPES;
    const bool argsort = !args->keys_out;
    if (argsort ? sizeof(ITEM) == sizeof(KEY) : args->values_out || sizeof(ITEM) > sizeof(KEY)) return false;
    if (args->hi_bit - args->lo_bit != sizeof(KEY) * 8) return false;
    if (queue->arch < 90 || queue->arch >= 120) return false; /* the big shape needs the shared memory of these */
    if (choose_fused<KEY, ITEM>(job, queue, args->n)) return true;
    const uint32_t limits[] = {SHAPES::LITTLE::ITEMS, SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    const uint32_t most[] = {SPLIT_SINGLE_BITS, SPLIT_MAX_BITS};
    for (int partitions = 1; partitions <= 2; partitions++) {
        for (int shape = partitions - 1; shape < 3; shape++) {
            const uint32_t bits = split_bits(args->n, limits[shape]);
            if (bits > most[partitions - 1]) continue;
            job->coarse_bits = partitions == 1 ? 0 : bits / 2;
            job->fine_bits = bits - job->coarse_bits;
            job->bucket_max = limits[shape];
            job->sample_limit = sample_limit(job, args->n);
            return true;
        }
    }
    return false;
}

template <typename KEY, typename ITEM> static cudaError_t launch_split(const struct split_job *job, const struct cuda_queue *queue) {
    typedef split_shapes<ITEM> SHAPES;
    cudaError_t error = launch_split_histogram<KEY>(job, queue);
    if (error == cudaSuccess) error = launch_partition<KEY, ITEM, false>(job, queue);
    if (error == cudaSuccess && job->coarse_bits) error = launch_partition<ITEM, ITEM, true>(job, queue);
    if constexpr (sizeof(ITEM) == sizeof(KEY)) {
        if (error == cudaSuccess && job->deep.buckets) error = launch_levels<KEY>(job, queue);
    }
    if (error != cudaSuccess) return error;
    if (job->bucket_max == SHAPES::LITTLE::ITEMS) return launch_buckets<KEY, ITEM, typename SHAPES::LITTLE>(job, queue);
    if (job->bucket_max == SHAPES::MIDDLE::ITEMS) return launch_buckets<KEY, ITEM, typename SHAPES::MIDDLE>(job, queue);
    return launch_buckets<KEY, ITEM, typename SHAPES::BIG>(job, queue);
}

/* ---- histogram and partition in one ------------------------------------------------------------------------------------------ */

/* As much shared memory as one CTA more on a multiprocessor would not leave: CTAs that start while the kernel before them still runs would
 * pile up where there happens to be room first. */
static uint32_t spread_nbytes(const struct cuda_queue *queue, uint32_t nctas) {
    const uint32_t per_sm = (nctas + (uint32_t)queue->nsms - 1) / (uint32_t)queue->nsms;
    return shared_nbytes_per_cta(queue->arch, (int)per_sm + 1) + 4096;
}

template <typename KEY, typename ITEM, typename SHAPE>
static cudaError_t launch_fused_buckets(const struct split_job *job, const struct cuda_queue *queue) {
    const uint32_t nbuckets = 1u << job->fine_bits, spread = spread_nbytes(queue, nbuckets);
    return launch_next(queue, fused_buckets<KEY, ITEM, SHAPE>, nbuckets, SHAPE::THREADS, max_u32(SHAPE::SHARED_NBYTES, spread), *job);
}

template <typename KEY, typename ITEM, int ROWS>
static cudaError_t launch_fused_rows(const struct fused_job *job, const struct cuda_queue *queue) {
    const uint32_t tile_items = job->split.tile_items, nctas = (job->split.n + tile_items - 1) / tile_items;
    return launch_resident(queue, split_fused<KEY, ITEM, ROWS>, nctas, FUSED_THREADS, (uint32_t)(tile_items * sizeof(ITEM)), *job);
}

/* Nothing need be cleared before. */
template <typename KEY, typename ITEM>
static cudaError_t launch_fused(const struct split_job *split, struct sort_header *stable, const struct cuda_queue *queue) {
    typedef fused_shapes<ITEM> SHAPES;
    constexpr int MOST = fused_max_rows(sizeof(KEY), sizeof(ITEM)), STEP = 32 / sizeof(KEY), MORE = 3 * STEP > MOST ? MOST : 3 * STEP;
    const int rows = (int)fused_rows(queue, split->n);
    struct fused_job job = {*split, (struct fused_totals *)((char *)queue->control + CUDA_CONTROL_FUSED), stable};
    job.split.tile_items = FUSED_THREADS * (uint32_t)rows;
    cudaError_t error;
    if (rows <= STEP)
        error = launch_fused_rows<KEY, ITEM, STEP>(&job, queue);
    else if (rows <= 2 * STEP)
        error = launch_fused_rows<KEY, ITEM, 2 * STEP>(&job, queue);
    else if (rows <= MORE)
        error = launch_fused_rows<KEY, ITEM, MORE>(&job, queue);
    else
        error = launch_fused_rows<KEY, ITEM, MOST>(&job, queue);
    if (error != cudaSuccess) return error;
    if (split->bucket_max == SHAPES::LITTLE::ITEMS) return launch_fused_buckets<KEY, ITEM, typename SHAPES::LITTLE>(&job.split, queue);
    if (split->bucket_max == SHAPES::MIDDLE::ITEMS) return launch_fused_buckets<KEY, ITEM, typename SHAPES::MIDDLE>(&job.split, queue);
    return launch_fused_buckets<KEY, ITEM, typename SHAPES::BIG>(&job.split, queue);
}

#endif
