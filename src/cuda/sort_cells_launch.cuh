/* sort_cells_launch.cuh: the launches of what splitting floats has beside that of other keys: cells, and slots. */
#ifndef UPSWEEP_CUDA_SORT_CELLS_LAUNCH_CUH
#define UPSWEEP_CUDA_SORT_CELLS_LAUNCH_CUH

#include "sort_cell_slots.cuh"

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

#endif
