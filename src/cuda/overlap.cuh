/* overlap.cuh: kernels that are set up while the one before them on the stream still runs (sm_90 and newer).
 *
 *   kernel k     |start|  reads, computes, writes  |end|
 *   kernel k+1          |start| waits              |   reads, computes, writes  |end|
 *
 * Starting a grid and ending one take about half a microsecond together, a third of a short call. A kernel that is launched with
 * launch_overlapping() may start as soon as all CTAs of the one before it have said let_next_start(), or have ended; it must touch no
 * global memory before wait_for_previous(), which returns when the one before has ended and all that it wrote is visible. As each kernel
 * of such a chain waits, "before" means all that was queued before: the order of a stream stays what it always is, for the caller's own
 * kernels too. No deadlock can come of it: who waits here keeps out nobody that is waited for, as those CTAs have all started.
 * Source: CUDA programming guide, "Programmatic dependent launch", 2022. */
#ifndef UPSWEEP_CUDA_OVERLAP_CUH
#define UPSWEEP_CUDA_OVERLAP_CUH

#include "launch.h"

/* Some of what each line of a kernel's parameter has. */
template <class T> static __device__ __forceinline__ uint32_t look_at_parameter(const T &parameter) {
    enum { LINE_NBYTES = 32 };
    static_assert(sizeof(T) >= sizeof(uint32_t), "it is read by words");
    uint32_t any = 0, word;
#pragma unroll
    for (size_t i = 0; i < sizeof(T); i += LINE_NBYTES) {
        memcpy(&word, (const char *)&parameter + i, sizeof word);
        any |= word;
    }
    memcpy(&word, (const char *)&parameter + sizeof(T) - sizeof word, sizeof word);
    return any | word;
}

/* By every thread, before its first access to global memory, with all parameters of the kernel: each launch has its own, and who reads them
 * first waits for the L2 cache. So they are read while there is nothing else to do, and to keep them from being read later, a sleep
 * depends on what they are, which it takes one chance in 2^32 to fall into. */
template <class... Parameters> static __device__ __forceinline__ void wait_for_previous(const Parameters &...parameters) {
#if __CUDA_ARCH__ >= 900
    const uint32_t any = (look_at_parameter(parameters) | ...);
    asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, %0, 1;\n@p nanosleep.u32 20;\n}" ::"r"(any) : "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* By every CTA, once, after wait_for_previous(): the next kernel may be set up, if it was launched to overlap. */
static __device__ __forceinline__ void let_next_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Queues a kernel that waits for the previous one, in clusters of so many CTAs (1: none). */
static inline cudaError_t launch_overlapping(const struct cuda_queue *queue, const void *kernel, uint32_t nctas, uint32_t nthreads,
                                             uint32_t cluster_ctas, void **parameters) {
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(nctas);
    config.blockDim = dim3(nthreads);
    config.stream = (cudaStream_t)queue->stream;
    config.attrs = attributes;
    if (queue->overlap) {
        attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (cluster_ctas > 1) {
        attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
        attributes[config.numAttrs++].val.clusterDim = {cluster_ctas, 1, 1};
    }
    return cudaLaunchKernelExC(&config, kernel, parameters);
}

#endif
