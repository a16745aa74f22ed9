/* sort_stable_launch.cuh: the launches of stable splits of keys with values (sort_stable.cuh), and of pairs in slots. */
#ifndef UPSWEEP_CUDA_SORT_STABLE_LAUNCH_CUH
#define UPSWEEP_CUDA_SORT_STABLE_LAUNCH_CUH

#include "sort_slots_pairs.cuh"
#include "sort_split_launch.cuh"
#include "sort_stable.cuh"

template <typename SHAPE> static cudaError_t launch_pair_buckets(const struct split_job *job, const struct cuda_queue *queue) {
    return launch_next(queue, sort_slots_pairs<SHAPE>, job->nnumbers, SHAPE::THREADS, SHAPE::SHARED_NBYTES, *job);
}

static cudaError_t launch_pair_slots(struct split_job *job, const struct cuda_queue *queue) {
    typedef split_shapes<uint64_t> SHAPES;
    job->slots.nfirst = (uint32_t)queue->nsms - 1;
    job->slots.tile_ties = (uint32_t)ties_of_tile(job->n);
    job->slots.most_ties = job->slots.tile_ties * 3 / 10; /* of the ties, so many are seen to repeat, and some more by chance */
    const uint64_t npairs = (uint64_t)PAIR_SLOTS_TILE * PAIR_SLOTS_TILE / 2;
    job->slots.vain_ties = max_u32(job->slots.most_ties, (uint32_t)(npairs * PAIR_SLOTS_DRAWN / job->n * 3 / 4)); /* so many meet */
    cudaError_t error = launch_slots_step<uint32_t, uint64_t, SLOTS_PAIRS>(job, queue);
    if (error != cudaSuccess) return error;
    const bool middle = job->bucket_max == SHAPES::MIDDLE::ITEMS;
    error = middle ? launch_pair_buckets<SHAPES::MIDDLE>(job, queue) : launch_pair_buckets<SHAPES::BIG>(job, queue);
    return error == cudaSuccess ? launch_next(queue, order_tied_pairs, (uint32_t)queue->nsms * TIES_CTAS_PER_SM, TIES_THREADS, 0, *job)
                                : error;
}

template <typename KEY, int WORD>
static cudaError_t launch_stable_partition(const struct sort_job *job, const struct split_job *split, const struct cuda_queue *queue,
                                           bool second) {
    const uint32_t ntiles = job->ntiles + (second ? 1u << split->coarse_bits : 0), shared = tile_nbytes<KEY, WORD>(job);
    if constexpr (sizeof(KEY) == 4 && WORD == 4) {
        const uint32_t some = (uint32_t)min_u64(ntiles, (uint64_t)queue->nsms * SORT_CTAS_PER_SM);
        if (split->slots.area)
            return launch_next(queue, stable_partition<KEY, WORD, true>, some, SORT_THREADS, shared, *job, *split, second);
    }
    return launch_next(queue, stable_partition<KEY, WORD, false>, ntiles, SORT_THREADS, shared, *job, *split, second);
}

template <typename KEY, typename SHAPE, bool SOME = false>
static cudaError_t launch_stable_shape(const struct sort_job *job, const struct split_job *split, const struct cuda_queue *queue) {
    const uint32_t nbuckets = 1u << (split->coarse_bits + split->fine_bits),
                   shared = SHAPE::SHARED_NBYTES + SHAPE::ITEMS * job->value_nbytes;
    if constexpr (SOME) {
        const uint32_t nctas = (uint32_t)min_u64(nbuckets, (uint64_t)queue->nsms * (SHAPE::CTAS_PER_SM - 1));
        return launch_next(queue, stable_buckets<KEY, SHAPE, true>, nctas, SHAPE::THREADS, shared, *job, *split);
    }
    return launch_next(queue, stable_buckets<KEY, SHAPE, false>, nbuckets, SHAPE::THREADS, shared, *job, *split);
}

template <typename KEY>
static cudaError_t launch_stable_buckets(const struct sort_job *job, const struct split_job *split, const struct cuda_queue *queue) {
    typedef stable_shapes<KEY> SHAPES;
    if constexpr (sizeof(KEY) == 8) {
        if (split->bucket_max == SHAPES::LEAST::ITEMS) return launch_stable_shape<KEY, typename SHAPES::LEAST>(job, split, queue);
    }
    if constexpr (sizeof(KEY) == 4) {
        if (split->slots.area && split->bucket_max == SHAPES::LITTLE::ITEMS)
            return launch_stable_shape<KEY, typename SHAPES::LITTLE, true>(job, split, queue);
    }
    if (split->bucket_max == SHAPES::LITTLE::ITEMS) return launch_stable_shape<KEY, typename SHAPES::LITTLE>(job, split, queue);
    if (split->bucket_max == SHAPES::MIDDLE::ITEMS) return launch_stable_shape<KEY, typename SHAPES::MIDDLE>(job, split, queue);
    return launch_stable_shape<KEY, typename SHAPES::BIG>(job, split, queue);
}

/* first, word: what the first partition moves; for the rest, second: the same, or 4 bytes if that is 16. If it is more than 4, what follows
 * the first partition does not start beneath the end of what is before it: 2^28 pairs with 8 bytes take 6.85 ms so, and else 7.18. */
template <typename KEY>
static cudaError_t launch_stable(const struct sort_job *first, const struct sort_job *second, struct split_job *split,
                                 const struct sort_job *passes, const struct cuda_queue *queue, uint32_t word) {
    split->tile_items = second->rows * SORT_THREADS;
    split->states[0] = first->states[0];
    split->states[1] = second->states[1];
    split->state_words[0] = first->ntiles * SORT_DIGITS;
    split->state_words[1] = (second->ntiles + (1u << split->coarse_bits)) * SORT_DIGITS;
    cudaError_t error = launch_split_histogram<KEY, bit_digits>(split, passes, queue);
    if (error == cudaSuccess) {
        error = word == 16  ? launch_stable_partition<KEY, 16>(first, split, queue, false)
                : word == 8 ? launch_stable_partition<KEY, 8>(first, split, queue, false)
                            : launch_stable_partition<KEY, 4>(first, split, queue, false);
    }
    struct cuda_queue then = *queue;
    if (word > 4) then.overlap = 0;
    if (error == cudaSuccess) {
        error = word == 8 ? launch_stable_partition<KEY, 8>(second, split, &then, true)
                          : launch_stable_partition<KEY, 4>(second, split, &then, true);
    }
    return error == cudaSuccess ? launch_stable_buckets<KEY>(second, split, &then) : error;
}

#endif
