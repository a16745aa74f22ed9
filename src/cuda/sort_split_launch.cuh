/* sort_split_launch.cuh: the launches of splits of keys alone, and of items with an index (sort_split.cuh). */
#ifndef UPSWEEP_CUDA_SORT_SPLIT_LAUNCH_CUH
#define UPSWEEP_CUDA_SORT_SPLIT_LAUNCH_CUH

#include "sort_buckets.cuh"
#include "sort_cell_slots.cuh"
#include "sort_fused_cells.cuh"
#include "sort_sample_slots.cuh"
#include "sort_split_choose.cuh"

template <typename KEY, typename ITEM, typename SHAPE>
static cudaError_t launch_buckets(const struct split_job *job, const struct cuda_queue *queue) {
    const uint32_t nnumbers = job->slots.items ? 1u << job->slots.number_bits() : job->nnumbers;
    const uint32_t nbuckets = job->by_value ? (uint32_t)min_u64(nnumbers, rounds_of(queue, SHAPE::CTAS_PER_SM)) : nnumbers;
    return launch_next(queue, split_buckets<KEY, ITEM, SHAPE>, nbuckets, SHAPE::THREADS, SHAPE::SHARED_NBYTES, *job);
}

/* Some of those by a sample are tried again by bins, which take more shared memory than what else is done to a bucket. */
template <typename KEY, typename ITEM, typename SHAPE>
static cudaError_t launch_left(const struct split_job *job, const struct split_job *by_value, const struct cuda_queue *queue) {
    static_assert(SHAPE::SHARED_NBYTES >= SHAPE::STABLE_NBYTES, "room for either");
    const bool bins = CLOSES<KEY, ITEM> && job->slots.sample_items > 0;
    const uint32_t nctas = (uint32_t)queue->nsms * SHAPE::STABLE_CTAS_PER_SM, shared = bins ? SHAPE::SHARED_NBYTES : SHAPE::STABLE_NBYTES;
    return launch_next(queue, split_buckets_left<KEY, ITEM, SHAPE>, nctas, SHAPE::THREADS, shared, *job, *by_value);
}

template <typename KEY, typename ITEM, bool SECOND, typename DIGITS>
static cudaError_t launch_partition(const struct split_job *job, const struct cuda_queue *queue) {
    const uint32_t tile_items = SECOND ? job->tile_items : job->first_items;
    const uint32_t ntiles = (job->n + tile_items - 1) / tile_items + (SECOND ? 1u << job->coarse_bits : 0);
    /* Behind slots it is nearly always in vain: then each CTA takes some tiles, as CTAs that return at once take their time, too. */
    const uint32_t nctas = job->slots.area || job->by_value ? (uint32_t)min_u64(ntiles, rounds_of(queue, SPLIT_CTAS_PER_SM)) : ntiles;
    return launch_next(queue, split_partition<KEY, ITEM, SECOND, DIGITS>, nctas, SPLIT_THREADS, (uint32_t)(tile_items * sizeof(ITEM)),
                       *job);
}

template <typename KEY, typename DIGITS>
static cudaError_t launch_split_histogram(const struct split_job *job, const struct sort_job *passes, const struct cuda_queue *queue) {
    const uint32_t nwords = 1u << (job->coarse_bits + job->fine_bits - 1);
    struct split_job counted = *job;
    counted.copies = counter_copies(queue, job->n, nwords);
    counted.uneven_limit = job->values_out && !job->cell_keys ? nwords / SPLIT_UNEVEN_PART : UINT32_MAX;
    counted.most_counted = job->large_max ? LARGE_COUNTED : job->bucket_max;
    const uint64_t per_cta = SPLIT_HISTOGRAM_THREADS * (16 / sizeof(KEY));
    const uint32_t nctas = (uint32_t)min_u64((job->n + per_cta - 1) / per_cta, (uint64_t)queue->nsms);
    const uint32_t words =
        max_u32(max_u32(nwords * counted.copies, VALUE_SLOTS), passes->header ? passes->histogram_copies * counters_of<KEY>(passes) : 0);
    return launch_next(queue, split_histogram<KEY, DIGITS>, nctas, SPLIT_HISTOGRAM_THREADS, words * (uint32_t)sizeof(uint32_t), counted,
                       *passes);
}

/* Is one of those that move the tiles of the only partition to watch the others instead? Some must have more than one tile, none may get
 * one more, and there must be something to be found. */
static bool are_slots_watched(const struct split_job *job, uint32_t ntiles, uint32_t nmovers) {
    if (nmovers >= ntiles || nmovers <= SLOTS_WATCHED_MIN || job->slots.vain_alone >= job->n) return false;
    return (ntiles + nmovers - 1) / nmovers == (ntiles + nmovers - 2) / (nmovers - 1);
}

/* The CTAs that look ahead have counters where the others have a tile. */
template <typename KEY, typename ITEM, enum slots_step STEP>
static cudaError_t launch_slots_step(struct split_job *job, const struct cuda_queue *queue) {
    typedef slots_shape<KEY, ITEM, STEP> SHAPE;
    const uint32_t tile = slots_runs<SHAPE, ITEM>::NBYTES;
    if (STEP == SLOTS_FINE)
        return launch_next(queue, split_into_slots<KEY, ITEM, STEP>, job->slots.coarse_tiles << job->slots.coarse_bits, SHAPE::THREADS,
                           tile, *job);
    const uint32_t ntiles = (job->n + SHAPE::ITEMS - 1) / SHAPE::ITEMS;
    const uint32_t most = is_single(STEP) ? (uint32_t)queue->nsms : UINT32_MAX, nctas = (uint32_t)min_u64(ntiles + SHAPE::LOOKERS, most);
    job->slots.nmovers = nctas - SHAPE::LOOKERS;
    if (is_single(STEP) && are_slots_watched(job, ntiles, job->slots.nmovers)) job->slots.nmovers--;
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

/* ---- floats ------------------------------------------------------------------------------------------------------------------ */

/* Items of a tile: as many as can be, or a little fewer, so that the last ones of all multiprocessors end together. */
template <typename SHAPE> static uint32_t cell_tile_items(const struct split_job *job, const struct cuda_queue *queue) {
    const uint64_t row = (uint64_t)queue->nsms * SHAPE::CTAS_PER_SM * SHAPE::THREADS, rows = (job->n + row - 1) / row;
    const uint64_t rounds = (rows + SHAPE::ROWS - 1) / SHAPE::ROWS;
    return SHAPE::THREADS * (uint32_t)((rows + rounds - 1) / rounds);
}

/* A partition of two. */
template <typename KEY, enum slots_step STEP> static cudaError_t launch_cell_slots(struct split_job *job, const struct cuda_queue *queue) {
    typedef cell_slots_shape<KEY, STEP> SHAPE;
    job->slots.tile_items = cell_tile_items<SHAPE>(job, queue);
    const uint32_t ntiles = (job->n + job->slots.tile_items - 1) / job->slots.tile_items;
    const uint64_t nctas = min_u64(ntiles + (STEP == SLOTS_FINE ? 1u << job->slots.coarse_bits : 0),
                                   (uint64_t)queue->nsms * SHAPE::CTAS_PER_SM * SPLIT_ROUNDS);
    return launch_next(queue, split_into_cell_slots<KEY, STEP>, (uint32_t)nctas, SHAPE::THREADS,
                       job->slots.tile_items * (uint32_t)sizeof(KEY), *job);
}

/* The numbers of cells, and slots by them, if there are any. */
template <typename KEY> static cudaError_t launch_cells(struct split_job *job, const struct cuda_queue *queue) {
    typedef cell_slots_shape<KEY, SLOTS_ONLY> SHAPE;
    const bool two = job->slots.area && job->slots.coarse_bits;
    uint64_t shared = sizeof(struct cells_memory);
    if (job->slots.area && !two) {
        job->slots.tile_items = cell_tile_items<SHAPE>(job, queue);
        shared = max_u64(shared, job->slots.tile_items * sizeof(KEY));
    }
    cudaError_t error = launch_next(queue, split_cells<KEY>, max_u32((uint32_t)queue->nsms, 2), CELL_THREADS, (uint32_t)shared, *job);
    if (error == cudaSuccess && two) error = launch_cell_slots<KEY, SLOTS_COARSE>(job, queue);
    return error == cudaSuccess && two ? launch_cell_slots<KEY, SLOTS_FINE>(job, queue) : error;
}

/* The CTA that looks ahead has counters where the others have a tile. */
template <typename KEY, slots_step STEP> static cudaError_t launch_value_step(const struct split_job *job, const struct cuda_queue *queue) {
    typedef value_slots_shape<KEY, STEP> SHAPE;
    const uint32_t tile = SHAPE::ITEMS * sizeof(KEY), shared = max_u32(tile, value_numbers<KEY>(job->slots));
    if (STEP == SLOTS_FINE) return launch_next(queue, split_by_value<KEY, STEP>, job->slots.coarse_tiles, SHAPE::THREADS, tile, *job);
    const uint32_t ntiles = (job->n + SHAPE::ITEMS - 1) / SHAPE::ITEMS, most = STEP == SLOTS_ONLY ? (uint32_t)queue->nsms : UINT32_MAX;
    return launch_next(queue, split_by_value<KEY, STEP>, (uint32_t)min_u64(ntiles + 1, most), SHAPE::THREADS, shared, *job);
}

/* As many CTAs as there are buckets, if these are as large as can be, and some to spare. */
template <typename KEY, typename SHAPE>
static cudaError_t launch_value_buckets(const struct split_job *job, const struct cuda_queue *queue) {
    const uint32_t most = job->n / job->value_keys, nctas = most + most / 16 + 5;
    return launch_next(queue, sort_value_buckets<KEY, SHAPE>, nctas, SHAPE::THREADS, SHAPE::SHARED_NBYTES, *job);
}

/* Tiles of the second partition: those of all keys, some more where a range has none, and, of each coarse bucket, the last. */
template <typename KEY> static cudaError_t launch_value_slots(struct split_job *job, const struct cuda_queue *queue) {
    typedef split_shapes<KEY> SHAPES;
    const uint32_t ntiles = job->n / value_slots_shape<KEY, SLOTS_FINE>::ITEMS;
    job->slots.coarse_tiles = ntiles + ntiles / 16 + 2 * SORT_DIGITS;
    cudaError_t error = launch_next(queue, split_values<KEY>, max_u32((uint32_t)queue->nsms, 2), VALUE_SAMPLE, 0, *job);
    if (error == cudaSuccess && !job->slots.coarse_bits) error = launch_value_step<KEY, SLOTS_ONLY>(job, queue);
    if (error == cudaSuccess && job->slots.coarse_bits) error = launch_value_step<KEY, SLOTS_COARSE>(job, queue);
    if (error == cudaSuccess && job->slots.coarse_bits) error = launch_value_step<KEY, SLOTS_FINE>(job, queue);
    if (error != cudaSuccess) return error;
    if (job->bucket_max == SHAPES::MIDDLE::ITEMS) return launch_value_buckets<KEY, typename SHAPES::MIDDLE_BY_VALUE>(job, queue);
    return launch_value_buckets<KEY, typename SHAPES::BIG_BY_VALUE>(job, queue);
}

/* ---- histogram and partition in one ------------------------------------------------------------------------------------------ */

static struct fused_control *fused_control_of(const struct cuda_queue *queue) {
    return (struct fused_control *)((char *)queue->control + CUDA_CONTROL_FUSED);
}

/* If there are more CTAs than numbers, they draw theirs, so that those which have one are spread. */
template <typename KEY, typename ITEM, typename SHAPE>
static cudaError_t launch_fused_buckets(const struct split_job *job, const struct cuda_queue *queue) {
    const uint32_t nctas = job->nctas, shared = max_u32(SHAPE::SHARED_NBYTES, spread_nbytes(queue, nctas));
    struct cta_numbers *numbers = nctas > job->nnumbers ? &fused_control_of(queue)->numbers : NULL;
    if constexpr (sizeof(ITEM) == sizeof(KEY)) {
        if (job->value_keys) return launch_next(queue, fused_buckets<KEY, ITEM, SHAPE, true>, nctas, SHAPE::THREADS, shared, *job, numbers);
    }
    return launch_next(queue, fused_buckets<KEY, ITEM, SHAPE, false>, nctas, SHAPE::THREADS, shared, *job, numbers);
}

/* May there be a CTA without a tile, which tells the next kernel how it went while the others copy theirs? Nobody waits for it, as it adds
 * to no total; so nobody may overwrite what it draws its sample from, or what others leave for all. */
template <int ROWS> static bool may_have_announcer(const struct split_job *split) {
    return ROWS <= SAMPLED_MAX_ROWS && split->in != split->out;
}

template <typename KEY, typename ITEM, int ROWS>
static cudaError_t launch_fused_rows(const struct split_job *split, struct sort_header *stable, const struct cuda_queue *queue) {
    constexpr bool FEW = ROWS <= SAMPLED_MAX_ROWS;
    const uint32_t ntiles = (split->n + split->tile_items - 1) / split->tile_items;
    const uint32_t nctas = may_have_announcer<ROWS>(split) ? min_u32(ntiles + 1, (uint32_t)queue->nsms) : ntiles;
    const uint32_t tile = (uint32_t)(split->tile_items * sizeof(ITEM));
    fused_totals *totals = &fused_control_of(queue)->totals;
    cell_totals *of_cells = (cell_totals *)((char *)queue->control + CUDA_CONTROL_CELLS);
    struct skewed_totals *more = (struct skewed_totals *)((char *)queue->control + CUDA_CONTROL_SKEWED);
    struct rounds_exchange *exchange = stable ? NULL : rounds_exchange_of(queue);
    uint32_t shared = tile;
    if (FEW) shared = sample_shape<KEY, ITEM, ROWS>::shared_nbytes(split->tile_items);
    if constexpr (FEW && sizeof(ITEM) == sizeof(KEY))
        shared = max_u32(shared, rounds_beneath_nbytes<KEY>());
    else if (!FEW && sizeof(ITEM) == sizeof(KEY))
        shared = splitter_shape<KEY, ROWS>::shared_nbytes(split->tile_items, split->cell_keys > 0);
    if (split->cell_keys) {
        const struct fused_cells_job job = {*split, of_cells, more, exchange, stable};
        return launch_resident(queue, split_fused_cells<KEY, ITEM, ROWS>, nctas, FUSED_THREADS, shared, job);
    }
    const struct fused_job job = {*split, totals, more, exchange, stable};
    return launch_resident(queue, split_fused<KEY, ITEM, ROWS>, nctas, FUSED_THREADS, shared, job);
}

/* Nothing need be cleared before. stable: of the passes queued behind, or NULL if there are none: then this launch sorts any keys. */
template <typename KEY, typename ITEM>
static cudaError_t launch_fused(struct split_job *split, struct sort_header *stable, const struct cuda_queue *queue) {
    typedef fused_shapes<ITEM> SHAPES;
    constexpr int MOST = fused_max_rows(sizeof(KEY), sizeof(ITEM)), STEP = 32 / sizeof(KEY), MORE = 3 * STEP > MOST ? MOST : 3 * STEP;
    const int rows = (int)fused_rows(queue, split->n);
    split->tile_items = FUSED_THREADS * (uint32_t)rows;
    /* If there is one CTA a multiprocessor, as there are so few numbers, two are started all the same where a sample may make more. */
    const bool drawn = split->nnumbers <= (uint32_t)queue->nsms && split->n > BUCKETS_FEW_MAX;
    split->nctas = drawn ? (uint32_t)queue->nsms * SHAPES::BIG::CTAS_PER_SM : split->nnumbers;
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
    if constexpr (sizeof(ITEM) == sizeof(KEY) && SHAPES::LARGEST::ITEMS > SHAPES::BIG::ITEMS) {
        if (split->bucket_max == SHAPES::LARGEST::ITEMS) return launch_fused_buckets<KEY, ITEM, typename SHAPES::LARGEST>(split, queue);
    }
    return launch_fused_buckets<KEY, ITEM, typename SHAPES::BIG>(split, queue);
}

#endif
