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

/* By every thread, before its first access to global memory. */
static __device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
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
