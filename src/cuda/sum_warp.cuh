/* sum_warp.cuh: sums of integers over the lanes of a warp: of all, for which there is an instruction, of 32 bits (sm_80 and newer); and of
 * those up to each. */
#ifndef UPSWEEP_CUDA_SUM_WARP_CUH
#define UPSWEEP_CUDA_SUM_WARP_CUH

#include <stdint.h>

/* The sum over a warp, in every lane. Of 64 bits 27 at a time, as 32 numbers of 27 bits add up to one of 32: some 40 cycles, where shuffles
 * take five times as long. */
template <typename T> static __device__ __forceinline__ T sum_warp(T value) {
#if __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) <= sizeof(uint32_t)) {
        return (T)__reduce_add_sync(~0u, (uint32_t)value);
    } else {
        const uint32_t part = (1u << 27) - 1;
        const uint64_t low = __reduce_add_sync(~0u, (uint32_t)value & part);
        const uint64_t middle = __reduce_add_sync(~0u, (uint32_t)(value >> 27) & part);
        const uint64_t high = __reduce_add_sync(~0u, (uint32_t)(value >> 54));
        return (T)(low + (middle << 27) + (high << 54));
    }
#else
    for (uint32_t distance = 16; distance > 0; distance /= 2) value = (T)(value + __shfl_xor_sync(~0u, value, distance));
    return value;
#endif
}

/* The sum over the lanes up to this one. */
template <typename T> static __device__ __forceinline__ T sum_up_to_lane(T value) {
#pragma unroll
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
        const T other = __shfl_up_sync(~0u, value, distance);
        if (threadIdx.x % 32 >= distance) value += other;
    }
    return value;
}

#endif
