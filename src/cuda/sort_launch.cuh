/* sort_launch.cuh: launching kernels one after the other, the next one's start-up beneath the last one's end; and what fits a
 * multiprocessor.
 *
 * A sort is a chain of short kernels. From sm_90 on, a kernel may be launched while its predecessor still runs (programmatic dependent
 * launch); it then waits, on the device, until all that its predecessor wrote can be seen. Every kernel of a chain must wait, also one that
 * has nothing to do: else its successor would not be waiting for the kernels before it. Source: CUDA C++ Programming Guide, Programmatic
 * dependent launch and synchronization. */
#ifndef UPSWEEP_CUDA_SORT_LAUNCH_CUH
#define UPSWEEP_CUDA_SORT_LAUNCH_CUH

#include <cuda_runtime.h>

#include "launch.h"
#include "sort_tuning.h"

/* First statement of every kernel launched by launch_next(). */
static __device__ __forceinline__ void wait_for_predecessor() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;"); /* the next kernel may start up (and wait) once all CTAs of this one have begun */
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Shared memory that each of `nctas` on a multiprocessor can have beside its static part and the kilobyte that the system keeps, for which
 * there are four (CUDA C++ Programming Guide, table of compute capabilities). Turing has room for one CTA only. */
#define SHARED_STATIC_NBYTES (3u << 10)
static uint32_t shared_nbytes_per_cta(int arch, int nctas) {
    const uint32_t sm_kbytes = arch < 80 ? 64 * (uint32_t)nctas : arch == 86 || arch == 89 || arch >= 120 ? 100 : arch < 90 ? 164 : 228;
    return (sm_kbytes / (uint32_t)nctas - 4) * 1024;
}

/* As much shared memory as one CTA more on a multiprocessor would not leave: CTAs that start while the kernel before them still runs would
 * pile up where there happens to be room first. */
static uint32_t spread_nbytes(const struct cuda_queue *queue, uint32_t nctas) {
    const uint32_t per_sm = (nctas + (uint32_t)queue->nsms - 1) / (uint32_t)queue->nsms;
    return shared_nbytes_per_cta(queue->arch, (int)per_sm + 1) + 4096;
}

/* How many copies to have of each of a CTA's 32-bit counters: lanes that would meet in a counter then meet less. */
static uint32_t counter_copies(const struct cuda_queue *queue, uint64_t n, uint32_t ncounters) {
    const uint64_t room = shared_nbytes_per_cta(queue->arch, 1) / sizeof(uint32_t);
    const uint64_t pay = n / (uint32_t)queue->nsms / SORT_HISTOGRAM_COUNTER_PAY;
    uint32_t copies = SORT_HISTOGRAM_MAX_COPIES;
    while (copies > 1 && (uint64_t)ncounters * copies > (copies > SORT_HISTOGRAM_MIN_COPIES && pay < room ? pay : room)) copies /= 2;
    return copies;
}

/* Lets a kernel have all the dynamic shared memory that there is. The attribute belongs to the process, so it must not depend on the call:
 * another thread, with a smaller sort, would lower it just before our launch. */
static cudaError_t allow_shared(const struct cuda_queue *queue, const void *kernel) {
    cudaFuncAttributes has;
    const cudaError_t error = cudaFuncGetAttributes(&has, kernel);
    if (error != cudaSuccess) return error;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, queue->shared_nbytes - (int)has.sharedSizeBytes);
}

template <typename... PARAMETERS, typename... ARGUMENTS>
static cudaError_t launch_with(const struct cuda_queue *queue, cudaLaunchAttribute *attribute, void (*kernel)(PARAMETERS...),
                               uint32_t nctas, uint32_t nthreads, uint32_t shared_nbytes, const ARGUMENTS &...arguments) {
    const cudaError_t error = shared_nbytes > 0 ? allow_shared(queue, (const void *)kernel) : cudaSuccess;
    if (error != cudaSuccess) return error;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(nctas);
    config.blockDim = dim3(nthreads);
    config.dynamicSmemBytes = shared_nbytes;
    config.stream = (cudaStream_t)queue->stream;
    config.attrs = attribute;
    config.numAttrs = attribute != NULL;
    return cudaLaunchKernelEx(&config, kernel, (PARAMETERS)arguments...);
}

template <typename... PARAMETERS, typename... ARGUMENTS>
static cudaError_t launch_next(const struct cuda_queue *queue, void (*kernel)(PARAMETERS...), uint32_t nctas, uint32_t nthreads,
                               uint32_t shared_nbytes, const ARGUMENTS &...arguments) {
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    return launch_with(queue, queue->overlap ? &overlap : NULL, kernel, nctas, nthreads, shared_nbytes, arguments...);
}

#define SORT_CLEAR_THREADS 512
static __global__ void __launch_bounds__(SORT_CLEAR_THREADS) sort_clear(uint32_t *words, uint32_t nwords) {
    wait_for_predecessor();
    for (uint32_t i = blockIdx.x * SORT_CLEAR_THREADS + threadIdx.x; i < nwords; i += gridDim.x * SORT_CLEAR_THREADS) words[i] = 0;
}

/* Clears whole words of device memory. A kernel of the chain is 1 us quicker than a memset, which overlaps with none of its neighbours
 * (H200, 2026-11-22). */
static cudaError_t launch_clear(const struct cuda_queue *queue, void *begin, const void *end) {
    const uint32_t nwords = (uint32_t)(((const char *)end - (const char *)begin) / sizeof(uint32_t));
    const uint32_t nctas = (nwords + 4 * SORT_CLEAR_THREADS - 1) / (4 * SORT_CLEAR_THREADS), nsms = (uint32_t)queue->nsms;
    return launch_next(queue, sort_clear, nctas < nsms ? nctas : nsms, SORT_CLEAR_THREADS, 0, (uint32_t *)begin, nwords);
}

/* All CTAs at once, so that they may wait for one another. */
template <typename... PARAMETERS, typename... ARGUMENTS>
static cudaError_t launch_resident(const struct cuda_queue *queue, void (*kernel)(PARAMETERS...), uint32_t nctas, uint32_t nthreads,
                                   uint32_t shared_nbytes, const ARGUMENTS &...arguments) {
    cudaLaunchAttribute together = {};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    return launch_with(queue, &together, kernel, nctas, nthreads, shared_nbytes, arguments...);
}

#endif
