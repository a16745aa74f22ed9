/* sort_split_launch.cuh: the host's part in sorting keys alone (sort_split.cuh): how many buckets, and the launches.
 *
 * Buckets must fit a CTA: of three sizes of CTA the smallest that does with one partition is taken, else two partitions. The choice depends
 * on n alone and assumes keys whose top bits are spread at random; whether that holds is for the device to find out. */
#ifndef UPSWEEP_CUDA_SORT_SPLIT_LAUNCH_CUH
#define UPSWEEP_CUDA_SORT_SPLIT_LAUNCH_CUH

#include <math.h>

#include "sort_buckets.cuh"
#include "sort_cells_launch.cuh"
#include "sort_fused_cells.cuh"
#include "sort_sample_slots.cuh"
#include "sort_scratch.cuh"
#include "sort_value_slots_launch.cuh"

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
    const uint32_t nnumbers = job->slots.items ? 1u << job->slots.number_bits() : job->nnumbers;
    const uint32_t nbuckets = job->value_area ? (uint32_t)min_u64(nnumbers, rounds_of(queue, SHAPE::CTAS_PER_SM)) : nnumbers;
    return launch_next(queue, split_buckets<KEY, ITEM, SHAPE>, nbuckets, SHAPE::THREADS, SHAPE::SHARED_NBYTES, *job);
}

template <typename KEY, typename ITEM, typename SHAPE>
static cudaError_t launch_left(const struct split_job *job, const struct split_job *by_value, const struct cuda_queue *queue) {
    const uint32_t nctas = (uint32_t)queue->nsms * SHAPE::STABLE_CTAS_PER_SM;
    return launch_next(queue, split_buckets_left<KEY, ITEM, SHAPE>, nctas, SHAPE::THREADS, SHAPE::STABLE_NBYTES, *job, *by_value);
}

template <typename KEY, typename ITEM, bool SECOND, typename DIGITS>
static cudaError_t launch_partition(const struct split_job *job, const struct cuda_queue *queue) {
    const uint32_t tile_items = SECOND ? job->tile_items : job->first_items;
    const uint32_t ntiles = (job->n + tile_items - 1) / tile_items + (SECOND ? 1u << job->coarse_bits : 0);
    /* Behind slots it is nearly always in vain: then each CTA takes some tiles, as CTAs that return at once take their time, too. */
    const uint32_t nctas = job->slots.area || job->value_area ? (uint32_t)min_u64(ntiles, rounds_of(queue, SPLIT_CTAS_PER_SM)) : ntiles;
    return launch_next(queue, split_partition<KEY, ITEM, SECOND, DIGITS>, nctas, SPLIT_THREADS, (uint32_t)(tile_items * sizeof(ITEM)),
                       *job);
}

template <typename KEY, typename DIGITS>
static cudaError_t launch_split_histogram(const struct split_job *job, const struct sort_job *passes, const struct cuda_queue *queue) {
    const uint32_t nwords = 1u << (job->coarse_bits + job->fine_bits - 1);
    struct split_job counted = *job;
    counted.copies = counter_copies(queue, job->n, nwords);
    counted.uneven_limit = job->values_out && !job->cell_keys ? nwords / SPLIT_UNEVEN_PART : UINT32_MAX;
    const uint64_t per_cta = SPLIT_HISTOGRAM_THREADS * (16 / sizeof(KEY));
    const uint32_t nctas = (uint32_t)min_u64((job->n + per_cta - 1) / per_cta, (uint64_t)queue->nsms);
    const uint32_t words =
        max_u32(max_u32(nwords * counted.copies, VALUE_SLOTS), passes->header ? passes->histogram_copies * counters_of<KEY>(passes) : 0);
    return launch_next(queue, split_histogram<KEY, DIGITS>, nctas, SPLIT_HISTOGRAM_THREADS, words * (uint32_t)sizeof(uint32_t), counted,
                       *passes);
}

/* How many pairs of a sample's keys may share a bucket, on average, if no bucket is too big? And twice that and some, since a sample is
 * one: of keys that are spread at random it is beyond eight standard deviations. */
static uint32_t sample_limit(const struct split_job *job, uint64_t n) {
    const uint64_t npairs = SPLIT_HISTOGRAM_THREADS * (SPLIT_HISTOGRAM_THREADS - 1) / 2, limit = 2 * npairs * job->bucket_max / n + 40;
    return limit < npairs ? (uint32_t)limit : 0;
}

/* Rows of a tile, if there is one tile a multiprocessor. */
static uint32_t fused_rows(const struct cuda_queue *queue, uint64_t n) {
    const uint64_t row = (uint64_t)queue->nsms * FUSED_THREADS;
    return (uint32_t)min_u64((n + row - 1) / row, UINT32_MAX);
}

/* Does who leaves keys to the passes look which of their bits vary? Of those that fit the multiprocessors, if it is worth while. */
template <typename KEY>
static bool looks_for_gaps(const struct split_job *split, const struct cuda_queue *queue, const struct sort_args *args, bool alone) {
    if (queue->nsms > SORT_HISTOGRAM_THREADS || args->hi_bit - args->lo_bit != sizeof(KEY) * 8) return false;
    if (!split->fused) return alone || split->n > GAPS_VALUES_MIN;
    return (sizeof(KEY) == 8 || !alone) && !split->cell_keys && fused_rows(queue, split->n) > SAMPLED_MAX_ROWS;
}

/* Do the keys fit the multiprocessors, and may CTAs wait for one another? */
template <typename KEY, typename ITEM> static bool may_fuse(const struct cuda_queue *queue, uint64_t n) {
    return queue->cooperative && !queue->only_lookback && fused_rows(queue, n) <= (uint32_t)fused_max_rows(sizeof(KEY), sizeof(ITEM));
}

/* Chooses bits and shape for the way with a launch less; false if it is not to be had. */
template <typename KEY, typename ITEM> static bool choose_fused(struct split_job *job, const struct cuda_queue *queue, uint64_t n) {
    typedef fused_shapes<ITEM> SHAPES;
    if (!may_fuse<KEY, ITEM>(queue, n)) return false;
    const uint32_t limits[] = {SHAPES::LITTLE::ITEMS, SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    const uint32_t most[] = {SPLIT_MIN_BITS, SPLIT_MIN_BITS, FUSED_MAX_BITS};
    for (int shape = 0; shape < 3; shape++) {
        job->fine_bits = split_bits(n, limits[shape]);
        job->bucket_max = limits[shape];
        job->nnumbers = 1u << job->fine_bits;
        job->fused = job->fine_bits <= most[shape];
        if (job->fused) return true;
    }
    return false;
}

/* The most keys that buckets may have on average, if they are as even as in mean_fits(). */
static uint32_t largest_mean(uint32_t limit) {
    uint32_t mean = limit;
    while (!mean_fits(mean, limit)) mean--;
    return mean;
}

/* Chooses bits and shape for floats: buckets smaller by a sixth, since keys are not quite uniform in a cell, or, close, by little, since
 * the sample says how uniform they are, and full bins hold equal keys; numbers to spare, since a group of small cells may be half a bucket.
 */
static void set_cells(struct split_job *job, uint64_t n, uint32_t limit, bool close) {
    const uint32_t mean = close ? largest_mean(limit) * 31 / 32 : largest_mean(limit) * 5 / 6;
    job->nnumbers = (uint32_t)min_u64(n * 4 / 3 / mean + CELLS / 8, UINT32_MAX);
    job->bucket_max = limit;
    job->cell_keys = mean;
}

template <typename ITEM> static bool choose_cells(struct split_job *job, uint64_t n) {
    typedef split_shapes<ITEM> SHAPES;
    const uint32_t limits[] = {SHAPES::LITTLE::ITEMS, SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    for (int shape = 0; shape < 3; shape++) {
        set_cells(job, n, limits[shape], sizeof(ITEM) == 4 && n > CELL_SAMPLE);
        uint32_t bits = SPLIT_MIN_BITS;
        while (bits < 31 && 1u << bits < job->nnumbers) bits++;
        const bool single = bits <= SPLIT_SINGLE_BITS;
        if (!single && (shape == 0 || n < SPLIT_TWO_MIN || bits > SPLIT_MAX_BITS)) continue;
        job->coarse_bits = single ? 0 : bits / 2;
        job->fine_bits = bits - job->coarse_bits;
        return true;
    }
    job->cell_keys = 0;
    return false;
}

/* The same for slots: of one partition, if it tells as many numbers apart. Two write to the output first, which must not be the input. */
template <typename KEY, typename ITEM> static bool choose_cell_slots(struct split_job *job, const struct sort_args *args) {
    typedef split_shapes<KEY> SHAPES;
    if (sizeof(ITEM) > sizeof(KEY) || args->n * sizeof(KEY) < SLOTS_MIN_NBYTES) return false;
    const uint32_t limits[] = {SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    for (int i = 0; i < (args->keys_in == args->keys_out ? 2 : 4); i++) {
        const bool one = i < 2;
        if (!one && args->n < CELL_SLOTS_BIG_MAX && (i == 2 || sizeof(KEY) == 8)) continue;
        set_cells(job, args->n, limits[i % 2], sizeof(KEY) == 4);
        uint32_t bits = SPLIT_MIN_BITS;
        while (bits < 31 && 1u << bits < job->nnumbers) bits++;
        if (one ? job->nnumbers > CELL_SLOTS_SINGLE : bits > SPLIT_MAX_BITS) continue;
        job->coarse_bits = bits <= SPLIT_SINGLE_BITS ? 0 : bits / 2;
        job->fine_bits = bits - job->coarse_bits;
        job->slots.coarse_bits = one ? 0 : job->coarse_bits;
        job->slots.fine_bits = bits - job->slots.coarse_bits;
        job->slots.float_items = (uint32_t)room_of_slots(args->n, sizeof(KEY), false);
        return true;
    }
    return false;
}

/* The same for the way with fewer launches. */
template <typename KEY, typename ITEM> static bool choose_fused_cells(struct split_job *job, const struct cuda_queue *queue, uint64_t n) {
    typedef fused_shapes<ITEM> SHAPES;
    if (!may_fuse<KEY, ITEM>(queue, n)) return false;
    const uint32_t limits[] = {SHAPES::LITTLE::ITEMS, SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    const uint32_t at_once = 2 * (uint32_t)queue->nsms, most[] = {at_once, at_once, FUSED_NUMBERS};
    static_assert(FUSED_THREADS * VALUE_ROWS_NBYTES / sizeof(KEY) / 2 < SHAPES::BIG::ITEMS || sizeof(ITEM) > sizeof(KEY), "room to spare");
    for (int shape = 0; shape < 3; shape++) {
        set_cells(job, n, limits[shape], false);
        job->fused = job->nnumbers <= most[shape];
        if (!job->fused) continue;
        if (sizeof(ITEM) > sizeof(KEY) || fused_rows(queue, n) * sizeof(KEY) > VALUE_ROWS_NBYTES) return true;
        job->value_keys = (uint32_t)n / at_once + 1;
        job->nnumbers = max_u32(job->nnumbers, at_once + VALUE_SPARSE + 2);
        return true;
    }
    return false;
}

/* Keys that a slot must hold for so many on average, so many standard deviations more, in whole lines; 0 if that does not fit the limit. */
static uint32_t slot_items(uint64_t mean, uint32_t limit, uint32_t deviations) {
    const uint64_t items = (mean + (uint64_t)(deviations * sqrt((double)mean)) + 32) / 32 * 32;
    return items <= limit ? (uint32_t)items : 0;
}

/* Sets bits and shape, with a coarse partition before the last one or without. */
static void set_bits(struct split_job *job, uint64_t n, uint32_t bits, bool two, uint32_t limit) {
    job->coarse_bits = two ? bits / 2 : 0;
    job->fine_bits = bits - job->coarse_bits;
    job->nnumbers = 1u << bits;
    job->bucket_max = limit;
    job->sample_limit = sample_limit(job, n);
}

/* The plan of slots for n keys and so many bits, with room for so many items; false if they need more. */
static bool plan_slots(struct split_job *job, uint64_t n, uint64_t room, uint32_t deviations, bool one, uint32_t bits, uint32_t limit) {
    struct slots_plan *slots = &job->slots;
    slots->coarse_bits = one ? 0 : bits / 2;
    slots->fine_bits = bits - slots->coarse_bits;
    slots->items = slot_items((n >> bits) + 1, limit, deviations);
    if (slots->items == 0) return false;
    if (!one) {
        const uint64_t mean = n >> slots->coarse_bits;
        slots->coarse_items = (uint32_t)(mean / 32 * 32);
        slots->aside_items = slot_items(mean + 32, UINT32_MAX, deviations) + 64 - slots->coarse_items;
    }
    const uint64_t aside = one ? 0 : (uint64_t)slots->aside_items << slots->coarse_bits;
    const uint32_t items = (uint32_t)min_u64((room - aside) >> bits, limit) / 32 * 32;
    const bool enough = items >= slots->items;
    slots->items = enough ? items : 0;
    return enough;
}

/* Chooses bits and shape for buckets in slots, and for what is behind them. That has twice as many buckets, if keys are alone: keys that
 * repeat, and so fail in slots, have buckets that vary more in size. Two partitions write to the output first, which must not be the
 * input. */
template <typename KEY, typename ITEM> static bool choose_slots(struct split_job *job, const struct sort_args *args) {
    typedef split_shapes<ITEM> SHAPES;
    if (args->n * sizeof(ITEM) < SLOTS_MIN_NBYTES || args->n >= SPLIT_MAX) return false;
    const uint32_t limits[] = {SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    const uint32_t most[] = {SPLIT_SINGLE_BITS, slots_single_bits(sizeof(KEY)), SPLIT_MAX_BITS};
    const uint64_t tenth = args->n + args->n / SLOTS_MORE_PART;
    const uint64_t room = sizeof(ITEM) > sizeof(KEY) ? tenth : min_u64(tenth, room_of_slots(args->n, sizeof(KEY), false));
    for (int i = 0; i < (args->keys_in == args->keys_out ? 2 : 3); i++) {
        for (int shape = 0; shape < 2; shape++) {
            const uint32_t bits = split_bits(args->n, limits[shape]);
            if (bits > most[i] || !plan_slots(job, args->n, room, SLOTS_DEVIATIONS, i < 2, bits, limits[shape])) continue;
            job->may_be_two = sizeof(ITEM) == sizeof(KEY) && bits < SPLIT_MAX_BITS;
            const uint32_t behind = bits + job->may_be_two;
            set_bits(job, args->n, behind, behind > SPLIT_SINGLE_BITS, limits[shape]);
            return true;
        }
    }
    return false;
}

/* Chooses bits and shape for any items: one partition, or two. */
template <typename ITEM> static bool choose_bits(struct split_job *job, uint64_t n) {
    typedef split_shapes<ITEM> SHAPES;
    const uint32_t limits[] = {SHAPES::LITTLE::ITEMS, SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    const uint32_t most[] = {SPLIT_SINGLE_BITS, SPLIT_MAX_BITS};
    for (int partitions = 1; partitions <= 2; partitions++) {
        for (int shape = partitions - 1; shape < 3; shape++) {
            const uint32_t bits = split_bits(n, limits[shape]);
            if (bits > most[partitions - 1]) continue;
            set_bits(job, n, bits, partitions == 2, limits[shape]);
            return true;
        }
    }
    return false;
}

/* The CTAs that look ahead have counters where the others have a tile. */
template <typename KEY, typename ITEM, enum slots_step STEP>
static cudaError_t launch_slots_step(const struct split_job *job, const struct cuda_queue *queue) {
    typedef slots_shape<KEY, ITEM, STEP> SHAPE;
    const uint32_t tile = slots_runs<SHAPE, ITEM>::NBYTES;
    if (STEP == SLOTS_FINE)
        return launch_next(queue, split_into_slots<KEY, ITEM, STEP>, job->slots.coarse_tiles << job->slots.coarse_bits, SHAPE::THREADS,
                           tile, *job);
    const uint32_t ntiles = (job->n + SHAPE::ITEMS - 1) / SHAPE::ITEMS;
    const uint32_t most = is_single(STEP) ? (uint32_t)queue->nsms : UINT32_MAX, nctas = (uint32_t)min_u64(ntiles + SHAPE::LOOKERS, most);
    return launch_next(queue, split_into_slots<KEY, ITEM, STEP>, nctas, SHAPE::THREADS, max_u32(tile, job->nnumbers), *job);
}

template <typename KEY, typename ITEM> static cudaError_t launch_slots(struct split_job *job, const struct cuda_queue *queue) {
    struct slots_plan *slots = &job->slots;
    slots->nfirst = (uint32_t)queue->nsms * (slots->coarse_bits ? SPLIT_CTAS_PER_SM : 1) - 1;
    if (!slots->coarse_bits) return launch_slots_step<KEY, ITEM, SLOTS_ONLY>(job, queue);
    constexpr uint32_t TILE_ITEMS = slots_shape<KEY, ITEM, SLOTS_FINE>::ITEMS;
    slots->coarse_tiles = (slots->coarse_items + slots->aside_items + TILE_ITEMS - 1) / TILE_ITEMS;
    const cudaError_t error = launch_slots_step<KEY, ITEM, SLOTS_COARSE>(job, queue);
    return error == cudaSuccess ? launch_slots_step<KEY, ITEM, SLOTS_FINE>(job, queue) : error;
}

/* by_value: the job of slots by value, or the same. */
template <typename KEY, typename ITEM>
static cudaError_t launch_all_buckets(const struct split_job *job, const struct split_job *by_value, const struct cuda_queue *queue) {
    typedef split_shapes<ITEM> SHAPES;
    const uint32_t most = job->bucket_max, left = max_u32(most, by_value->bucket_max);
    const cudaError_t error = most == SHAPES::LITTLE::ITEMS   ? launch_buckets<KEY, ITEM, typename SHAPES::LITTLE>(job, queue)
                              : most == SHAPES::MIDDLE::ITEMS ? launch_buckets<KEY, ITEM, typename SHAPES::MIDDLE>(job, queue)
                                                              : launch_buckets<KEY, ITEM, typename SHAPES::BIG>(job, queue);
    if (error != cudaSuccess) return error;
    if (left == SHAPES::LITTLE::ITEMS) return launch_left<KEY, ITEM, typename SHAPES::LITTLE>(job, by_value, queue);
    if (left == SHAPES::MIDDLE::ITEMS) return launch_left<KEY, ITEM, typename SHAPES::MIDDLE>(job, by_value, queue);
    return launch_left<KEY, ITEM, typename SHAPES::BIG>(job, by_value, queue);
}

/* As far as the buckets. */
template <typename KEY, typename ITEM, typename DIGITS>
static cudaError_t launch_split(const struct split_job *job, const struct sort_job *passes, const struct cuda_queue *queue) {
    cudaError_t error = launch_split_histogram<KEY, DIGITS>(job, passes, queue);
    if (error == cudaSuccess) error = launch_partition<KEY, ITEM, false, DIGITS>(job, queue);
    if (error == cudaSuccess && job->coarse_bits) error = launch_partition<ITEM, ITEM, true, DIGITS>(job, queue);
    return error;
}

/* ---- histogram and partition in one ------------------------------------------------------------------------------------------ */

template <typename KEY, typename ITEM, typename SHAPE>
static cudaError_t launch_fused_buckets(const struct split_job *job, const struct cuda_queue *queue) {
    const uint32_t shared = max_u32(SHAPE::SHARED_NBYTES, spread_nbytes(queue, job->nnumbers));
    if constexpr (sizeof(ITEM) == sizeof(KEY)) {
        if (job->value_keys) return launch_next(queue, fused_buckets<KEY, ITEM, SHAPE, true>, job->nnumbers, SHAPE::THREADS, shared, *job);
    }
    return launch_next(queue, fused_buckets<KEY, ITEM, SHAPE, false>, job->nnumbers, SHAPE::THREADS, shared, *job);
}

template <typename KEY, typename ITEM, int ROWS>
static cudaError_t launch_fused_rows(const struct split_job *split, struct sort_header *stable, const struct cuda_queue *queue) {
    const uint32_t nctas = (split->n + split->tile_items - 1) / split->tile_items;
    const uint32_t tile = (uint32_t)(split->tile_items * sizeof(ITEM));
    fused_totals *totals = (fused_totals *)((char *)queue->control + CUDA_CONTROL_FUSED);
    cell_totals *of_cells = (cell_totals *)((char *)queue->control + CUDA_CONTROL_CELLS);
    struct skewed_totals *more = (struct skewed_totals *)((char *)queue->control + CUDA_CONTROL_SKEWED);
    uint32_t shared = tile;
    if (ROWS <= SAMPLED_MAX_ROWS)
        shared = sample_shape<KEY, ITEM, ROWS>::shared_nbytes(split->tile_items);
    else if (sizeof(ITEM) == sizeof(KEY))
        shared = splitter_shape<KEY, ROWS>::shared_nbytes(split->tile_items, split->cell_keys > 0);
    if (split->cell_keys) {
        const struct fused_cells_job job = {*split, of_cells, more, stable};
        return launch_resident(queue, split_fused_cells<KEY, ITEM, ROWS>, nctas, FUSED_THREADS, shared, job);
    }
    const struct fused_job job = {*split, totals, more, stable};
    return launch_resident(queue, split_fused<KEY, ITEM, ROWS>, nctas, FUSED_THREADS, shared, job);
}

/* Nothing need be cleared before. */
template <typename KEY, typename ITEM>
static cudaError_t launch_fused(struct split_job *split, struct sort_header *stable, const struct cuda_queue *queue) {
    typedef fused_shapes<ITEM> SHAPES;
    constexpr int MOST = fused_max_rows(sizeof(KEY), sizeof(ITEM)), STEP = 32 / sizeof(KEY), MORE = 3 * STEP > MOST ? MOST : 3 * STEP;
    const int rows = (int)fused_rows(queue, split->n);
    split->tile_items = FUSED_THREADS * (uint32_t)rows;
    cudaError_t error;
    if (rows <= STEP)
        error = launch_fused_rows<KEY, ITEM, STEP>(split, stable, queue);
    else if (rows <= 2 * STEP)
        error = launch_fused_rows<KEY, ITEM, 2 * STEP>(split, stable, queue);
    else if (rows <= MORE)
        error = launch_fused_rows<KEY, ITEM, MORE>(split, stable, queue);
    else
        error = launch_fused_rows<KEY, ITEM, MOST>(split, stable, queue);
    if (error != cudaSuccess) return error;
    if (split->bucket_max == SHAPES::LITTLE::ITEMS) return launch_fused_buckets<KEY, ITEM, typename SHAPES::LITTLE>(split, queue);
    if (split->bucket_max == SHAPES::MIDDLE::ITEMS) return launch_fused_buckets<KEY, ITEM, typename SHAPES::MIDDLE>(split, queue);
    return launch_fused_buckets<KEY, ITEM, typename SHAPES::BIG>(split, queue);
}

#endif
