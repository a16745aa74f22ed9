/* sort_bytes.cuh: keys of one byte alone, any number of them, in one launch: they are counted, and the output is written from the counts.
 *
 * All CTAs of the grid are resident (cooperative launch). Each counts its share of the keys, adds its counts to those of all, waits for
 * the others, and writes its share of the output (sort_fill.cuh). No plan depends on the keys and no counter can overflow, so nothing need
 * be queued behind. The counts of all live in control memory, twice: a launch adds to one set, zero when it begins, and zeroes the other
 * one for the next launch.
 * Cost: keys read once and written once; the order of the input is never looked at. A launch, a grid barrier and a shared-memory atomic a
 * key. */
#ifndef UPSWEEP_CUDA_SORT_BYTES_CUH
#define UPSWEEP_CUDA_SORT_BYTES_CUH

#include <cooperative_groups.h>

#include "sort_fill.cuh"
#include "sort_read.cuh"
#include "sort_sums.cuh"

enum { BYTE_VALUES = 256, BYTE_COPIES = 32 /* of each counter */ };

/* In control memory, zero before the first launch. */
struct byte_counts {
    uint32_t current; /* which set the next launch adds to */
    unsigned long long of[2][BYTE_VALUES];
};
static_assert(sizeof(struct byte_counts) <= CUDA_CONTROL_BYTES_NBYTES, "the control memory must have room for it");

struct bytes_job {
    const uint8_t *in;
    uint8_t *out;
    uint64_t n;
    uint64_t flip, float_mask; /* of image() */
    struct byte_counts *counts;
};

/* Every lane has counters of its own, in a bank of its own: no two lanes ever wait for each other, whatever the keys. A counter has 32
 * bits: a CTA's share of the keys is below 2^32 while a multiprocessor comes with less than 4 GB of memory. */
template <uint32_t COPIES> struct byte_counter {
    const struct key_order<uint8_t> order;
    uint32_t *const mine; /* [BYTE_VALUES][COPIES], the lane's column */

    template <int N> __device__ __forceinline__ void add(const uint8_t (&keys)[N]) const {
#pragma unroll
        for (int i = 0; i < N; i++) atomicAdd(&mine[order.image(keys[i]) * COPIES], 1);
    }
};

/* The sum of a value's copies, by the four threads of each value. */
static __device__ __forceinline__ uint32_t sum_of_copies(const uint32_t *s_counts) {
    const uint32_t value = threadIdx.x / 4, part = threadIdx.x % 4;
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < BYTE_COPIES / 4; i++) {
        sum += s_counts[value * BYTE_COPIES + part * (BYTE_COPIES / 4) + (value + i) % (BYTE_COPIES / 4)]; /* each lane another bank */
    }
    sum += __shfl_xor_sync(~0u, sum, 1);
    return sum + __shfl_xor_sync(~0u, sum, 2);
}

static __global__ void __launch_bounds__(BYTES_THREADS, 1) sort_bytes(const __grid_constant__ struct bytes_job job) {
    __shared__ __align__(16) uint32_t s_counts[BYTE_VALUES * BYTE_COPIES];
    __shared__ uint64_t s_start[BYTE_VALUES], s_sums[BYTES_THREADS / 32];
    const uint32_t t = threadIdx.x;
    const struct key_order<uint8_t> order(job);
    const uint32_t current = __ldcg(&job.counts->current);
    for (uint32_t i = t; i < BYTE_VALUES * BYTE_COPIES / 4; i += BYTES_THREADS) ((uint4 *)s_counts)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads(); /* zeroes before counts */
    const struct byte_counter<BYTE_COPIES> counter = { order, s_counts + t % BYTE_COPIES };
    read_keys(job.in, job.n, counter);
    __syncthreads(); /* all counts of the CTA */
    const uint32_t sum = sum_of_copies(s_counts);
    if (t % 4 == 0 && sum > 0) atomicAdd(&job.counts->of[current][t / 4], (unsigned long long)sum);
    cooperative_groups::this_grid().sync(); /* all counts; and everybody has read `current`, and keys that are going to be overwritten */
    if (blockIdx.x == 0) {
        if (t < BYTE_VALUES) job.counts->of[current ^ 1][t] = 0;
        if (t == 0) job.counts->current = current ^ 1;
    }
    const uint64_t count = t < BYTE_VALUES ? __ldcg(&job.counts->of[current][t]) : 0; /* from L2, where the atomics took place */
    const uint64_t start = scan_threads(count, s_sums);
    if (t < BYTE_VALUES) s_start[t] = start;
    __syncthreads(); /* all starts */
    const uint64_t share = (job.n + gridDim.x - 1) / gridDim.x, begin = min(blockIdx.x * share, job.n), end = min(begin + share, job.n);
    if (begin == end) return;
    const uint64_t *starts = s_start;
    const struct stretch_values values = find_values(starts, BYTE_VALUES, begin, end);
    fill_stretch<BYTES_THREADS>(job.out, begin, end, starts, values, key_of_value<uint8_t>{order});
}

static cudaError_t launch_many_bytes(const struct cuda_queue *queue, const struct bytes_job *bytes) {
    struct bytes_job job = *bytes;
    job.counts = (struct byte_counts *)((char *)queue->control + CUDA_CONTROL_BYTES);
    const uint32_t nctas = (uint32_t)min_u64((job.n + BYTES_PER_CTA - 1) / BYTES_PER_CTA, (uint64_t)queue->nsms);
    return launch_resident(queue, sort_bytes, nctas, BYTES_THREADS, 0, job);
}

#endif
