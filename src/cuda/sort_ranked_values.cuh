/* sort_ranked_values.cuh: keys of few values that have something with them: once the values are counted (sort_few.cuh), the keys are sorted
 * by the ranks of these, which takes one pass of onesweep, however wide the keys are.
 *
 *     values     3 7 9 20 ...      as the histogram's last CTA has sorted them
 *     ranks      0 1 2 3 ...       the images of this sort: looked up for each key that is read, and back for each that is written
 *
 * The table is a search tree, level after level: the first levels of a sorted array would all be in one bank of shared memory. Its node 0,
 * which a tree does not have, is the last value's.
 * Cost: keys read twice and written once, what is with them once, and a load from shared memory a level and key. */
#ifndef UPSWEEP_CUDA_SORT_RANKED_VALUES_CUH
#define UPSWEEP_CUDA_SORT_RANKED_VALUES_CUH

#include <stdint.h>

#include "sort_job.cuh"

/* Shared memory of the table. */
static constexpr __host__ __device__ uint32_t ranked_values_nbytes(size_t key_nbytes) { return SORT_DIGITS * (uint32_t)key_nbytes; }

/* The order of keys by the ranks of their values: in place of a key_order. */
template <typename KEY> struct value_order {
    const struct key_order<KEY> order;
    KEY *const s_nodes;
    uint32_t levels; /* 2^levels values, or fewer */

    __device__ __forceinline__ uint32_t node_of(uint32_t rank) const {
        const uint32_t height = (uint32_t)__ffs((int)(rank + 1)) - 1;
        return height == levels ? 0 : (1u << (levels - 1 - height)) + ((rank + 1) >> (height + 1));
    }

    /* s_memory: room for the table. All threads call it; a barrier must follow. */
    __device__ __forceinline__ value_order(const struct sort_job &job, unsigned char *s_memory)
        : order(job), s_nodes((KEY *)s_memory), levels(0) {
        const struct value_table &values = job.header->values;
        while (1u << levels < values.nvalues) levels++;
        const uint32_t rank = threadIdx.x;
        if (rank < 1u << levels) s_nodes[node_of(rank)] = rank < values.nvalues ? order.image((KEY)values.key[rank]) : (KEY) ~(KEY)0;
    }

    /* Of keys that there are; of others any rank. */
    template <int N> __device__ __forceinline__ void make_images(KEY (&keys)[N]) const {
        uint32_t node[N];
#pragma unroll
        for (int i = 0; i < N; i++) {
            keys[i] = order.image(keys[i]);
            node[i] = 1;
        }
#pragma unroll 1
        for (uint32_t level = 0; level < levels; level++) {
#pragma unroll
            for (int i = 0; i < N; i++) node[i] = 2 * node[i] + (s_nodes[node[i]] < keys[i]);
        }
#pragma unroll
        for (int i = 0; i < N; i++) keys[i] = (KEY)(node[i] - (1u << levels));
    }

    __device__ __forceinline__ KEY key_of_image(KEY rank) const { return order.key_of_image(s_nodes[node_of((uint32_t)rank)]); }
};

#endif
