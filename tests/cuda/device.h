/* device.h: device memory and CUDA calls, checked as the tests check everything. */
#ifndef DEVICE_H
#define DEVICE_H

#include <cuda_runtime_api.h>
#include <stdio.h>

#include "harness.h"

static inline void *device_alloc(upsweep_context *ctx, size_t nbytes) {
    void *p = NULL;
    CHECK_OK(upsweep_alloc(ctx, &p, nbytes));
    return p;
}

static inline void cuda_ok(cudaError_t error, const char *call, const char *file, int line) {
    if (!check(error == cudaSuccess, call, file, line)) printf("    %s\n", cudaGetErrorString(error));
}
#define CUDA_OK(call) cuda_ok((call), #call, __FILE__, __LINE__)

#endif
