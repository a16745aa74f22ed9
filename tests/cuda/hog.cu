/* hog.cu: see hog.h. One CTA with nearly all shared memory fits a multiprocessor, and nothing that needs much fits beside it. */
#include <cuda_runtime.h>

#include "hog.h"

static __global__ void hog(unsigned long long nanoseconds) {
    extern __shared__ unsigned char s_taken[];
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        s_taken[threadIdx.x] = (unsigned char)now;
    } while (now - begin < nanoseconds);
}

extern "C" int hog_launch(void *stream, int nfree, unsigned microseconds) {
    int device, nsms, nbytes;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&nsms, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&nbytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (error == cudaSuccess) error = cudaFuncSetAttribute(hog, cudaFuncAttributeMaxDynamicSharedMemorySize, nbytes);
    if (error != cudaSuccess) return error;
    if (nsms > nfree) hog<<<nsms - nfree, 32, nbytes, (cudaStream_t)stream>>>(microseconds * 1000ull);
    return cudaGetLastError();
}
