/* sort_value_slots_launch.cuh: the host's part in slots of floats by value (sort_value_slots.cuh): how many, and the launches. */
#ifndef UPSWEEP_CUDA_SORT_VALUE_SLOTS_LAUNCH_CUH
#define UPSWEEP_CUDA_SORT_VALUE_SLOTS_LAUNCH_CUH

#include <math.h>

#include "sort_split_shapes.cuh"
#include "sort_value_slots.cuh"

/* Chooses bits and shape for slots by value, an attempt of its own; numbers to spare, so that their width may be a power of two. First one
 * partition to some thousand numbers, then to as many as one can, then two. */
template <typename KEY> static bool choose_value_slots(struct split_job *job, uint64_t n, bool in_place) {
    typedef split_shapes<KEY> SHAPES;
    const uint32_t limits[] = {SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    const uint32_t single[] = {value_slots_numbers(SPLIT_SINGLE_BITS), value_slots_single(sizeof(KEY))};
    if (n * sizeof(KEY) < SLOTS_MIN_NBYTES || n >= SPLIT_MAX) return false;
    for (int i = 0; i < (in_place ? 4 : 6); i++) {
        const bool one = i < 4;
        const uint32_t limit = limits[i % 2], mean = limit - (uint32_t)(7 * sqrt((double)limit)) - 32;
        const uint64_t least = n / mean + n / mean / (VALUE_SLOTS_BEYOND / 2) + 4;
        uint32_t bits = 1;
        while (1u << bits < least) bits++;
        job->slots.fine_bits = one ? 16 : (bits + 1) / 2;
        job->slots.coarse_bits = one ? 0 : bits / 2;
        const uint64_t most = one ? single[i / 2] - 1 : value_numbers<KEY>(job->slots) - (1u << job->slots.fine_bits);
        if (bits > SPLIT_MAX_BITS || least > most || (i == 4 && least + least / 4 > most)) continue;
        job->nnumbers = (uint32_t)min_u64(least + least / 4, most); /* if twice as many, any width could be a power of two */
        job->bucket_max = limit;
        job->value_keys = mean;
        job->slots.float_items = (uint32_t)room_of_slots(n, sizeof(KEY), false);
        return true;
    }
    return false;
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
    job->slots.area = job->value_area;
    job->slots.size = job->value_size;
    job->slots.coarse_tiles = ntiles + ntiles / 16 + 2 * SORT_DIGITS;
    cudaError_t error = launch_next(queue, split_values<KEY>, (uint32_t)queue->nsms, VALUE_SAMPLE, 0, *job);
    if (error == cudaSuccess && !job->slots.coarse_bits) error = launch_value_step<KEY, SLOTS_ONLY>(job, queue);
    if (error == cudaSuccess && job->slots.coarse_bits) error = launch_value_step<KEY, SLOTS_COARSE>(job, queue);
    if (error == cudaSuccess && job->slots.coarse_bits) error = launch_value_step<KEY, SLOTS_FINE>(job, queue);
    if (error != cudaSuccess) return error;
    if (job->bucket_max == SHAPES::MIDDLE::ITEMS) return launch_value_buckets<KEY, typename SHAPES::MIDDLE>(job, queue);
    return launch_value_buckets<KEY, typename SHAPES::BIG>(job, queue);
}

#endif
