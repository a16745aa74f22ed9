/* device.cu: the part of device.cuh that need not be inline: is there a device, memory and events of a run, its steps, the clock for C
 * files. */
#include "device.cuh"

#include <stdarg.h>
#include <stdio.h>
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

/* ---- steps ------------------------------------------------------------------------------------------------------------------- */

enum { MAX_STEPS = 8192 };

/* The job whose steps are being marked, one at a time: rungs queue on one stream from one thread. */
static struct {
    struct ladder_job *job;
    void *d_block; /* to keep the device busy with */
    cudaEvent_t begin;
    cudaEvent_t ends[MAX_STEPS];
} profile;

cudaError_t device_step(struct device_work work, const char *format, ...) {
    struct ladder_job *job = profile.job;
    CUDA_TRY(cudaGetLastError());
    if (job == NULL) return cudaSuccess;
    const uint32_t index = job->nsteps++;
    if (index >= job->max_steps || index >= MAX_STEPS) return cudaSuccess;

    struct ladder_step *step = &job->steps[index];
    va_list args;
    va_start(args, format);
    vsnprintf(step->name, sizeof step->name, format, args);
    va_end(args);
    step->nthreads = work.nthreads;
    step->nactive = work.nactive;
    step->used_nbytes = work.used_nbytes;
    step->moved_nbytes = work.moved_nbytes;
    CUDA_TRY(cudaEventCreate(&profile.ends[index]));
    return cudaEventRecord(profile.ends[index], 0);
}

cudaError_t device_steps_begin(struct ladder_job *job) {
    enum { FILLS = 64, FILL_NBYTES = 1 << 28 }; /* some 4 ms on a GPU of 4 TB/s */
    profile.job = NULL;                         /* if the job before failed between begin and end */
    if (job->steps == NULL) return cudaSuccess;
    job->nsteps = 0;
    CUDA_TRY(cudaMalloc(&profile.d_block, FILL_NBYTES));
    CUDA_TRY(cudaEventCreate(&profile.begin));
    for (int i = 0; i < FILLS; i++) CUDA_TRY(cudaMemsetAsync(profile.d_block, i, FILL_NBYTES, 0));
    CUDA_TRY(cudaEventRecord(profile.begin, 0));
    profile.job = job;
    return cudaSuccess;
}

cudaError_t device_steps_end(struct ladder_job *job) {
    if (profile.job != job) return cudaSuccess;
    const uint32_t limit = job->max_steps < MAX_STEPS ? job->max_steps : MAX_STEPS;
    const uint32_t nsteps = job->nsteps < limit ? job->nsteps : limit;
    profile.job = NULL;
    CUDA_TRY(cudaDeviceSynchronize());
    for (uint32_t i = 0; i < nsteps; i++) {
        float ms = 0;
        CUDA_TRY(cudaEventElapsedTime(&ms, i == 0 ? profile.begin : profile.ends[i - 1], profile.ends[i]));
        job->steps[i].ms = ms;
    }
    for (uint32_t i = 0; i < nsteps; i++) CUDA_TRY(cudaEventDestroy(profile.ends[i]));
    CUDA_TRY(cudaEventDestroy(profile.begin));
    return cudaFree(profile.d_block);
}

/* ---- trees ------------------------------------------------------------------------------------------------------------------- */

cudaError_t device_load_leaves(int32_t *d_tree, const int32_t *d_in, uint64_t n) {
    const uint64_t nbytes = n * sizeof(int32_t), padding_nbytes = padded_size(n) * sizeof(int32_t) - nbytes;
    CUDA_TRY(cudaMemcpyAsync(d_tree, d_in, nbytes, cudaMemcpyDeviceToDevice, 0));
    CUDA_TRY(device_step({0, 0, 2 * nbytes, 2 * nbytes}, "copy into the tree"));
    if (padding_nbytes == 0) return cudaSuccess;
    CUDA_TRY(cudaMemsetAsync(d_tree + n, 0, padding_nbytes, 0));
    return device_step({0, 0, padding_nbytes, padding_nbytes}, "fill the rest");
}

struct device_work device_tree_work(uint64_t nthreads, uint64_t nworkers, uint64_t stride, uint32_t nwritten) {
    const uint64_t sector_nbytes = 32, tree_nbytes = nworkers * 2 * stride * sizeof(int32_t);
    const uint64_t used_nbytes = nworkers * (2 + nwritten) * sizeof(int32_t);
    const uint64_t moved_nbytes = stride <= 4 ? 2 * tree_nbytes : nworkers * (2 + nwritten) * sector_nbytes;
    return {nthreads, nworkers, used_nbytes, moved_nbytes};
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
