/* sort_fill.cuh: keys of 1 and 2 bytes alone are not moved at all: they are counted, and the output is written from the counts.
 *
 *     start[]       where each value's run begins in the output (sort_split.cuh, with every value a bucket of its own)
 *     marks         each CTA takes a stretch of the output and marks in shared memory where a run begins, by the run's value
 *     running max   fills the places between the marks
 *
 * Cost: keys read once and written once; the order of the input is never looked at. */
#ifndef UPSWEEP_CUDA_SORT_FILL_CUH
#define UPSWEEP_CUDA_SORT_FILL_CUH

#include "sort_split.cuh"

/* The value at a place of the output: the last whose run starts there or before. */
static __device__ __forceinline__ uint32_t value_at_place(const struct split_job &job, uint32_t nvalues, uint32_t place) {
    uint32_t low = 0, high = nvalues; /* start[low] <= place < start[high] */
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (job.header->start[middle] <= place)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Largest value of all threads before this one, or `first`; s_largest [32]. */
static __device__ __forceinline__ uint32_t scan_largest(uint32_t value, uint32_t first, uint32_t *s_largest) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t inclusive = value;
#pragma unroll
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
        const uint32_t other = __shfl_up_sync(~0u, inclusive, distance);
        if (lane >= distance) inclusive = max(inclusive, other);
    }
    if (lane == 31) s_largest[warp] = inclusive;
    __syncthreads(); /* the warps' largest before their use */
    const uint32_t before = __shfl_up_sync(~0u, inclusive, 1);
    return max(max(first, lane > 0 ? before : 0), __reduce_max_sync(~0u, lane < warp ? s_largest[lane] : 0));
}

template <typename KEY> __global__ void __launch_bounds__(FILL_THREADS) split_fill(const __grid_constant__ struct split_job job) {
    constexpr uint32_t PER_THREAD = FILL_KEYS / FILL_THREADS;
    __shared__ __align__(16) KEY s_images[FILL_KEYS];
    __shared__ uint32_t s_largest[32];
    wait_for_predecessor();
    if (job.header->too_big) return;
    const uint32_t nvalues = 1u << job.fine_bits, begin = blockIdx.x * FILL_KEYS, count = min(job.n - begin, FILL_KEYS);
    for (uint32_t i = threadIdx.x; i < FILL_KEYS * sizeof(KEY) / 16; i += FILL_THREADS) ((uint4 *)s_images)[i] = make_uint4(0, 0, 0, 0);
    const uint32_t first = value_at_place(job, nvalues, begin);
    __syncthreads(); /* zeroes before marks */
    for (uint32_t value = first + 1 + threadIdx.x; value < nvalues; value += FILL_THREADS) {
        const uint32_t place = job.header->start[value];
        if (place >= begin + count) break;
        if (job.header->start[value + 1] > place) s_images[place - begin] = (KEY)value;
    }
    __syncthreads(); /* all marks */

    KEY *mine = s_images + threadIdx.x * PER_THREAD;
    uint32_t largest = 0;
#pragma unroll
    for (uint32_t i = 0; i < PER_THREAD; i++) largest = max(largest, (uint32_t)mine[i]);
    uint32_t value = scan_largest(largest, first, s_largest);
    const struct key_order<KEY> order(job);
#pragma unroll
    for (uint32_t i = 0; i < PER_THREAD; i++) {
        value = max(value, (uint32_t)mine[i]);
        mine[i] = order.key_of_image((KEY)value);
    }
    __syncthreads(); /* all keys */

    KEY *out = (KEY *)job.out + begin;
    if (count == FILL_KEYS && (uintptr_t)out % 16 == 0) {
        for (uint32_t i = threadIdx.x; i < FILL_KEYS * sizeof(KEY) / 16; i += FILL_THREADS)
            ((uint4 *)out)[i] = ((const uint4 *)s_images)[i];
    } else {
        for (uint32_t i = threadIdx.x; i < count; i += FILL_THREADS) out[i] = s_images[i];
    }
}

#endif
