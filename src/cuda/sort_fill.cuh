/* sort_fill.cuh: keys of 1 and 2 bytes alone are not moved at all: they are counted, and the output is written from the counts.
 *
 * start[] says where each value's run begins (sort_split.cuh, with every value a bucket of its own). A CTA writes a stretch of the output:
 * it finds the first and the last value of the stretch together, then each thread finds the value at each 16 bytes that it writes, between
 * these two. Cost: keys read once and written once; the order of the input is never looked at. */
#ifndef UPSWEEP_CUDA_SORT_FILL_CUH
#define UPSWEEP_CUDA_SORT_FILL_CUH

#include "sort_split.cuh"

/* The value at a place of the output, the last whose run starts there or before; 256 threads try a step each, all call it. Of fewer than
 * 256 values it is not looked for, but known not to be below 0. */
static __device__ __forceinline__ uint32_t find_value(const uint32_t *start, uint32_t nvalues, uint32_t place) {
    uint32_t low = 0;
    for (uint32_t step = nvalues / 256; step > 0; step /= 256) {
        const bool before = threadIdx.x < 256 && start[low + threadIdx.x * step] <= place;
        low += (uint32_t)(__syncthreads_count(before) - 1) * step;
    }
    return low;
}

/* The same by one thread, knowing that it is in [low, high]. */
static __device__ __forceinline__ uint32_t find_value_between(const uint32_t *start, uint32_t low, uint32_t high, uint32_t place) {
    while (low < high) {
        const uint32_t middle = (low + high + 1) / 2;
        if (start[middle] <= place)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Writes out[begin, end), by all THREADS threads of a CTA: value v, in an image above `shift` bits and beside the prefix, from start[v] on.
 */
template <int THREADS, typename KEY>
static __device__ __forceinline__ void fill_stretch(KEY *out, uint32_t begin, uint32_t end, const uint32_t *start, uint32_t nvalues,
                                                    const struct key_order<KEY> &order, KEY prefix, uint32_t shift) {
    constexpr uint32_t PER_VECTOR = 16 / sizeof(KEY);
    const uint32_t skew = (uint32_t)((uintptr_t)(out + begin) % 16 / sizeof(KEY)); /* vectors are aligned: the first may begin before */
    const uint32_t first = find_value(start, nvalues, begin);
    const uint32_t last = nvalues < 256 ? nvalues - 1 : find_value(start, nvalues, end - 1);
    for (uint32_t i = threadIdx.x * PER_VECTOR; i < end - begin + skew; i += THREADS * PER_VECTOR) {
        const uint32_t vector_begin = begin + max(i, skew) - skew, vector_end = min(begin + i + PER_VECTOR - skew, end);
        uint32_t value = find_value_between(start, first, last, vector_begin), next = value < last ? start[value + 1] : end;
        union {
            uint4 word;
            KEY key[PER_VECTOR];
        } vector;
#pragma unroll
        for (uint32_t k = 0; k < PER_VECTOR; k++) {
            const uint32_t place = vector_begin + k;
            while (next <= place && value < last) {
                value++;
                next = value < last ? start[value + 1] : end;
            }
            vector.key[k] = order.key_of_image((KEY)(prefix | (KEY)((KEY)value << shift)));
        }
        if (vector_end - vector_begin == PER_VECTOR) {
            *(uint4 *)(out + vector_begin) = vector.word;
            continue;
        }
#pragma unroll
        for (uint32_t k = 0; k < PER_VECTOR; k++) {
            if (vector_begin + k < vector_end) out[vector_begin + k] = vector.key[k];
        }
    }
}

template <typename KEY> __global__ void __launch_bounds__(FILL_THREADS) split_fill(const __grid_constant__ struct split_job job) {
    constexpr uint32_t PER_CTA = FILL_THREADS * FILL_VECTORS * (16 / sizeof(KEY));
    wait_for_predecessor();
    if (job.header->too_big) return;
    KEY *out = (KEY *)job.out;
    const uint32_t skew = (uint32_t)((uintptr_t)out % 16 / sizeof(KEY)), slot = blockIdx.x * PER_CTA; /* place + skew */
    if (slot >= job.n + skew) return;
    const uint32_t begin = slot > skew ? slot - skew : 0, end = min(slot + PER_CTA - skew, job.n);
    fill_stretch<FILL_THREADS>(out, begin, end, job.header->start, 1u << job.fine_bits, key_order<KEY>(job), (KEY)0, 0);
}

#endif
