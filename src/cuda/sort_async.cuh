/* sort_async.cuh: values copied to shared memory, each on its own, while their keys are being sorted.
 *
 * A copy is one instruction, which takes no registers on its way, and which nobody waits for until all values are needed. Before sm_80 it
 * is a load and a store.
 * Source: PTX ISA, "Non-bulk copy" (cp.async). */
#ifndef UPSWEEP_CUDA_SORT_ASYNC_CUH
#define UPSWEEP_CUDA_SORT_ASYNC_CUH

#include <stdint.h>

/* T: of 4 or 8 bytes. */
template <typename T> static __device__ __forceinline__ void copy_async(T *s_dst, const T *src) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "sizes that cp.async has");
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((uint32_t)__cvta_generic_to_shared(s_dst)), "l"(src), "n"(sizeof(T))
                 : "memory");
#else
    *s_dst = *src;
#endif
}

/* Waits for all copies of this thread; what others have copied is there after the next barrier. */
static __device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

#endif
