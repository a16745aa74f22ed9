/* sort_sums.cuh: sums over the threads before one in a CTA. */
#ifndef UPSWEEP_CUDA_SORT_SUMS_CUH
#define UPSWEEP_CUDA_SORT_SUMS_CUH

#include "sum_warp.cuh"

/* Exclusive sum over the threads of a CTA, in thread order, from a warp on, which is not behind this thread's. All threads call it.
 * s_sums [32]. */
template <typename T, typename VALUE> static __device__ __forceinline__ T scan_threads(VALUE mine, T *s_sums, uint32_t first_warp = 0) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const T value = mine;
    const T inclusive = sum_up_to_lane(value);
    if (lane == 31) s_sums[warp] = inclusive;
    __syncthreads(); /* the sums before their use */
    return inclusive - value + sum_warp(lane >= first_warp && lane < warp ? s_sums[lane] : (T)0);
}

#endif
