/* device.cu: the part of device.cuh that need not be inline: is there a device, memory and events of a run, the clock for C files. */
#include "device.cuh"

#include <stdlib.h>

const char *ladder_device_missing(void) {
    int driver = 0, ndevices = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) return "there is no NVIDIA driver on this machine";
    const cudaError_t error = cudaGetDeviceCount(&ndevices);
    if (error == cudaSuccess && ndevices > 0) return NULL;
    cudaGetLastError(); /* forget it: the next check after a launch would find it */
    return cudaGetErrorString(error == cudaSuccess ? cudaErrorNoDevice : error);
}

/* ---- a run ------------------------------------------------------------------------------------------------------------------- */

cudaError_t device_run_open(struct device_run *run) {
    for (cudaEvent_t &mark : run->marks) CUDA_TRY(cudaEventCreate(&mark));
    return cudaSuccess;
}

void device_run_close(struct device_run *run) {
    for (uint32_t i = 0; i < run->narrays; i++) cudaFree(run->arrays[i]);
    for (cudaEvent_t mark : run->marks) {
        if (mark != NULL) cudaEventDestroy(mark);
    }
}

cudaError_t device_alloc_bytes(struct device_run *run, void **d_bytes, uint64_t nbytes) {
    *d_bytes = NULL;
    if (nbytes == 0) return cudaSuccess;
    if (run->narrays == sizeof run->arrays / sizeof run->arrays[0]) return cudaErrorInvalidValue;
    CUDA_TRY(cudaMalloc(d_bytes, nbytes));
    run->arrays[run->narrays++] = *d_bytes;
    return cudaSuccess;
}

cudaError_t device_alloc(struct device_run *run, int32_t **d_items, uint64_t n) {
    void *d_bytes;
    const cudaError_t error = device_alloc_bytes(run, &d_bytes, n * sizeof(int32_t));
    *d_items = (int32_t *)d_bytes;
    return error;
}

cudaError_t device_mark(struct device_run *run, int mark) { return cudaEventRecord(run->marks[mark], 0); }

cudaError_t device_elapsed(struct device_run *run, int first_mark, int last_mark, double *ms) {
    float elapsed = 0;
    CUDA_TRY(cudaEventSynchronize(run->marks[last_mark]));
    CUDA_TRY(cudaEventElapsedTime(&elapsed, run->marks[first_mark], run->marks[last_mark]));
    *ms = elapsed;
    return cudaSuccess;
}

bool device_result(struct ladder_job *job, cudaError_t error) {
    if (error == cudaSuccess) return true;
    cudaGetLastError();
    return ladder_fail(job, "CUDA: %s", cudaGetErrorString(error));
}

cudaError_t device_load_leaves(int32_t *d_tree, const int32_t *d_in, uint64_t n) {
    CUDA_TRY(cudaMemcpyAsync(d_tree, d_in, n * sizeof(int32_t), cudaMemcpyDeviceToDevice, 0));
    const uint64_t npadding = padded_size(n) - n;
    return npadding == 0 ? cudaSuccess : cudaMemsetAsync(d_tree + n, 0, npadding * sizeof(int32_t), 0);
}

/* ---- the clock for C files --------------------------------------------------------------------------------------------------- */

struct ladder_device_clock {
    struct device_run run;
};

struct ladder_device_clock *ladder_device_clock_open(void) {
    struct ladder_device_clock *clock = (struct ladder_device_clock *)calloc(1, sizeof *clock);
    if (clock != NULL && device_run_open(&clock->run) != cudaSuccess) {
        cudaGetLastError();
        ladder_device_clock_close(clock);
        clock = NULL;
    }
    return clock;
}

void ladder_device_clock_close(struct ladder_device_clock *clock) {
    if (clock != NULL) device_run_close(&clock->run);
    free(clock);
}

bool ladder_device_clock_start(struct ladder_device_clock *clock) { return device_mark(&clock->run, 0) == cudaSuccess; }

bool ladder_device_clock_stop(struct ladder_device_clock *clock, double *ms) {
    return device_mark(&clock->run, 1) == cudaSuccess && device_elapsed(&clock->run, 0, 1, ms) == cudaSuccess;
}

void *ladder_device_stream(void) { return cudaStreamLegacy; }
