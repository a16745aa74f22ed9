/* sort_cells_launch.cuh: the launches of what splitting floats has beside that of other keys: cells, and slots. */
#ifndef UPSWEEP_CUDA_SORT_CELLS_LAUNCH_CUH
#define UPSWEEP_CUDA_SORT_CELLS_LAUNCH_CUH

#include "sort_cell_slots.cuh"

/* Every CTA takes a row of its own. */
template <typename KEY> static cudaError_t launch_cells(const struct split_job *job, const struct cuda_queue *queue) {
    const uint64_t rows = (min_u64(job->n, job->cell_sample) + CELL_THREADS - 1) / CELL_THREADS;
    return launch_next(queue, split_cells<KEY>, (uint32_t)min_u64(rows, (uint64_t)queue->nsms), CELL_THREADS,
                       VALUE_SLOTS * sizeof(uint32_t), *job);
}

/* Tiles as large as can be, or a little smaller, so that the last ones of all multiprocessors end together. */
template <typename KEY, enum slots_step STEP>
static cudaError_t launch_cell_slots_step(struct split_job *job, const struct cuda_queue *queue) {
    typedef cell_slots_shape<KEY, STEP> SHAPE;
    const uint64_t row = (uint64_t)queue->nsms * SHAPE::CTAS_PER_SM * SHAPE::THREADS, rows = (job->n + row - 1) / row;
    const uint64_t rounds = (rows + SHAPE::ROWS - 1) / SHAPE::ROWS;
    job->slots.tile_items = SHAPE::THREADS * (uint32_t)((rows + rounds - 1) / rounds);
    const uint32_t ntiles = (job->n + job->slots.tile_items - 1) / job->slots.tile_items;
    const uint64_t nctas = min_u64(ntiles + (STEP == SLOTS_FINE ? 1u << job->slots.coarse_bits : 0),
                                   (uint64_t)queue->nsms * SHAPE::CTAS_PER_SM * SPLIT_ROUNDS);
    return launch_next(queue, split_into_cell_slots<KEY, STEP>, (uint32_t)nctas, SHAPE::THREADS,
                       job->slots.tile_items * (uint32_t)sizeof(KEY), *job);
}

template <typename KEY> static cudaError_t launch_cell_slots(struct split_job *job, const struct cuda_queue *queue) {
    if (!job->slots.coarse_bits) return launch_cell_slots_step<KEY, SLOTS_ONLY>(job, queue);
    const cudaError_t error = launch_cell_slots_step<KEY, SLOTS_COARSE>(job, queue);
    return error == cudaSuccess ? launch_cell_slots_step<KEY, SLOTS_FINE>(job, queue) : error;
}

#endif
