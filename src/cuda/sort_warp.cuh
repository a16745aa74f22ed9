/* sort_warp.cuh: what the threads of a warp, or of a CTA, know together. */
#ifndef UPSWEEP_CUDA_SORT_WARP_CUH
#define UPSWEEP_CUDA_SORT_WARP_CUH

#include <stdint.h>

/* The sum over a warp, in every lane. */
static __device__ __forceinline__ uint32_t sum_warp(uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(~0u, value);
#else
    for (uint32_t distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(~0u, value, distance);
    return value;
#endif
}

/* Exclusive sum over all threads of a CTA, in thread order; s_sums [32]. */
static __device__ __forceinline__ uint32_t scan_threads(uint32_t value, uint32_t *s_sums) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t inclusive = value;
#pragma unroll
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
        const uint32_t other = __shfl_up_sync(~0u, inclusive, distance);
        if (lane >= distance) inclusive += other;
    }
    if (lane == 31) s_sums[warp] = inclusive;
    __syncthreads(); /* the sums before their use */
    return inclusive - value + sum_warp(lane < warp ? s_sums[lane] : 0);
}

/* The bits that are set in any value of a warp's, in every lane. */
static __device__ __forceinline__ uint32_t or_of_warp(uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(~0u, value);
#else
    for (uint32_t distance = 16; distance > 0; distance /= 2) value |= __shfl_xor_sync(~0u, value, distance);
    return value;
#endif
}

/* The same of a CTA of 1024 threads. All threads call it; s_words may be used again after a barrier. */
static __device__ __forceinline__ uint64_t or_of_threads(uint64_t value, uint64_t (&s_words)[32]) {
    const uint64_t of_warp = (uint64_t)or_of_warp((uint32_t)(value >> 32)) << 32 | or_of_warp((uint32_t)value);
    if (threadIdx.x % 32 == 0) s_words[threadIdx.x / 32] = of_warp;
    __syncthreads(); /* all words */
    const uint64_t word = s_words[threadIdx.x % 32];
    return (uint64_t)or_of_warp((uint32_t)(word >> 32)) << 32 | or_of_warp((uint32_t)word);
}

#endif
