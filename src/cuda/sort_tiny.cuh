/* sort_tiny.cuh: a whole sort in one launch of one CTA: some thousand keys, by all of their bits at once (sort_placed.cuh).
 *
 * First the highest bits that all keys share are found, by which the keys would not be told apart, so that small numbers are sorted as
 * quickly as large ones. Cost: keys and values read once and written once; the time is that of a launch and a dozen barriers. */
#ifndef UPSWEEP_CUDA_SORT_TINY_CUH
#define UPSWEEP_CUDA_SORT_TINY_CUH

#include "sort_placed.cuh"

template <typename ITEM> using tiny_shape = bucket_shape<ITEM, TINY_THREADS, TINY_ROWS, TINY_BIN_BITS>;

/* How many bits at the top all images share; one less than all if the keys are equal. All threads call it. */
template <typename KEY> static __device__ __forceinline__ uint32_t count_common_bits(KEY varying, unsigned long long *s_varying) {
    if (threadIdx.x == 0) *s_varying = 1;
    __syncthreads(); /* the first bit before the others */
#pragma unroll
    for (uint32_t distance = 16; distance > 0; distance /= 2) varying |= (KEY)__shfl_xor_sync(~0u, varying, distance);
    if (threadIdx.x % 32 == 0 && varying) atomicOr(s_varying, (unsigned long long)varying);
    __syncthreads(); /* all bits */
    return (uint32_t)__clzll((long long)*s_varying) - (64 - (uint32_t)sizeof(KEY) * 8);
}

/* ITEM: of 64 bits; or, of keys alone, of their own width; or, of keys of 16 bits, of 32. */
template <typename KEY, typename ITEM>
__global__ void __launch_bounds__(TINY_THREADS, 1) sort_tiny(const __grid_constant__ struct sort_job job) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ uint32_t s_sums[32];
    __shared__ unsigned long long s_varying;
    wait_for_predecessor();
    const uint32_t n = (uint32_t)job.n;
    const struct placed_bucket<KEY> bucket = {
        (const KEY *)job.keys_in, (const char *)job.values_in, n, (KEY *)job.keys_out, (char *)job.values_out
    };
    const struct key_order<KEY> order(job);
    const KEY some_image = order.image(bucket.keys[0]);
    KEY keys[TINY_ROWS], varying = 0;
#pragma unroll
    for (int row = 0; row < TINY_ROWS; row++) {
        const uint32_t place = row * TINY_THREADS + threadIdx.x;
        keys[row] = place < n ? bucket.keys[place] : (KEY)0;
        if (place < n) varying |= order.image(keys[row]) ^ some_image;
    }
    const uint32_t ncommon = count_common_bits(varying, &s_varying);
    const struct placed_items<KEY, ITEM> placed(job, some_image, ncommon, place_bits(n));
    sort_placed<tiny_shape<ITEM>, true>(job, bucket, placed, keys, s_memory, s_sums);
}

#endif
