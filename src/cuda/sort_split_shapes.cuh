/* sort_split_shapes.cuh: what sorts the buckets of a split: the shapes of the last step. Host code. */
#ifndef UPSWEEP_CUDA_SORT_SPLIT_SHAPES_CUH
#define UPSWEEP_CUDA_SORT_SPLIT_SHAPES_CUH

#include "sort_bucket.cuh"
#include "sort_scratch.cuh"

/* Shapes of the last step, by the size of buckets: threads, items a thread, bits of a bin, CTAs a multiprocessor. Those of the middle keep
 * a thousand threads busy on a multiprocessor: the step is a chain of short phases, each as long as its latencies. */
template <typename ITEM> struct split_shapes {
    typedef bucket_shape<ITEM, 256, 18, 11, 4, 3> LITTLE;
    typedef bucket_shape<ITEM, 512, 18, 12, 3, 2> MIDDLE;
    typedef bucket_shape<ITEM, 512, 35, 13, 2, 3> BIG;
    typedef bucket_shape<ITEM, 512, 18, 12, 3, 3> MIDDLE_BY_VALUE;
    typedef bucket_shape<ITEM, 512, 35, 13, 2, 7> BIG_BY_VALUE;
};
template <> struct split_shapes<uint64_t> {
    typedef bucket_shape<uint64_t, 256, 18, 11, 3, 3> LITTLE;
    typedef bucket_shape<uint64_t, 512, 18, 12, 2, 5> MIDDLE, MIDDLE_BY_VALUE;
    typedef bucket_shape<uint64_t, 1024, 18, 13, 1, 3> BIG, BIG_BY_VALUE;
};

/* The same where histogram and partition are one launch: few and large buckets rather than many, and of 512 threads, two CTAs a
 * multiprocessor, so that each phase of a bucket is short. */
template <typename ITEM> struct fused_shapes {
    typedef bucket_shape<ITEM, 512, 2, 11, 2> LITTLE;
    typedef bucket_shape<ITEM, 512, 9, 12, 2, 4> MIDDLE;
    typedef bucket_shape<ITEM, 512, 18, 12, 2, 4> BIG, LARGEST;
};
template <> struct fused_shapes<uint64_t> {
    typedef bucket_shape<uint64_t, 512, 2, 11, 2> LITTLE;
    typedef bucket_shape<uint64_t, 512, 9, 12, 2, 4> MIDDLE, BIG;
    typedef bucket_shape<uint64_t, 512, 14, 12, 2, 4> LARGEST; /* by value: these buckets vary more in size */
};

/* The same of stable splits (sort_stable.cuh). */
template <typename ITEM> struct stable_shapes {
    typedef bucket_shape<ITEM, 256, 10, 10, 6> LITTLE;
    typedef bucket_shape<ITEM, 256, 18, 11, 4> MIDDLE;
    typedef bucket_shape<ITEM, 512, 18, 12, 2> BIG;
};
template <> struct stable_shapes<uint64_t> {
    typedef bucket_shape<uint64_t, 256, 2, 10, 5> LEAST;
    typedef bucket_shape<uint64_t, 256, 10, 10, 4> LITTLE;
    typedef bucket_shape<uint64_t, 512, 9, 11, 2> MIDDLE;
    typedef bucket_shape<uint64_t, 512, 18, 12, 2> BIG;
};

/* Behind slots, buckets are on average filled to 4/17 at least. */
static_assert(split_shapes<uint32_t>::MIDDLE::ITEMS > 17 * SPLIT_MEAN_MIN / 4 &&
                  split_shapes<uint64_t>::MIDDLE::ITEMS > 17 * SPLIT_MEAN_MIN / 4 &&
                  split_shapes<uint32_t>::BIG::ITEMS << SPLIT_SINGLE_BITS > SPLIT_TWO_MIN &&
                  split_shapes<uint64_t>::BIG::ITEMS < SPLIT_MAX >> SPLIT_MAX_BITS,
              "the scratch depends on it");

/* CTAs, each for some of the work, of a kernel that mostly has none: it takes time to start those that return at once. */
static uint32_t rounds_of(const struct cuda_queue *queue, uint32_t ctas_per_sm) {
    return (uint32_t)queue->nsms * ctas_per_sm * SPLIT_ROUNDS;
}

#endif
