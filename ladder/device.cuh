/* device.cuh: what the CUDA rungs share: checked calls, the memory and the events of a run, the shape of a launch, and what a scan is.
 *
 * Everything is queued on the default stream. Every call is checked and errors travel up as cudaError_t; device_result() turns the last
 * one into a sentence in the job. */
#ifndef UPSWEEP_LADDER_DEVICE_CUH
#define UPSWEEP_LADDER_DEVICE_CUH

#include <cuda_runtime.h>

#include "rungs.h"

/* Returns from the calling function if a CUDA call fails. */
#define CUDA_TRY(call)                                \
    do {                                              \
        const cudaError_t cuda_try = (call);          \
        if (cuda_try != cudaSuccess) return cuda_try; \
    } while (0)

/* ---- a scan ------------------------------------------------------------------------------------------------------------------ */

/* An exclusive sum of d_in [n] into d_out [n], n > 0, as queued by one of the rungs. d_in stays as it is. */
struct device_scan {
    uint64_t (*out_items)(uint64_t n);                          /* room that d_out must have, n or more: some pad it */
    uint64_t (*scratch_items)(uint64_t n, uint32_t block_size); /* room that d_scratch must have */
    cudaError_t (*launch)(int32_t *d_out, const int32_t *d_in, uint64_t n, int32_t *d_scratch, uint32_t block_size);
};

/* ---- a run ------------------------------------------------------------------------------------------------------------------- */

/* What a run owns: arrays in device memory, and events to mark points in time with. Starts as zeros. */
struct device_run {
    void *arrays[8];
    uint32_t narrays;
    cudaEvent_t marks[4];
};

cudaError_t device_run_open(struct device_run *run);
void device_run_close(struct device_run *run); /* frees all; also after a failed or partial open */

/* n more elements. */
cudaError_t device_alloc(struct device_run *run, int32_t **d_items, uint64_t n);
cudaError_t device_alloc_bytes(struct device_run *run, void **d_bytes, uint64_t nbytes);

cudaError_t device_mark(struct device_run *run, int mark);                                     /* queues it */
cudaError_t device_elapsed(struct device_run *run, int first_mark, int last_mark, double *ms); /* waits for last_mark */

/* true if error is cudaSuccess, else false with a sentence in the job, and the runtime's memory of it cleared. */
bool device_result(struct ladder_job *job, cudaError_t error);

/* ---- steps ------------------------------------------------------------------------------------------------------------------- */

/* Comes after each launch, copy and fill of a rung: looks whether it was accepted and, between device_steps_begin() and device_steps_end()
 * of a job that asks for steps, marks its end on the stream. format: its name. */
struct device_work {
    uint64_t nthreads, nactive, used_nbytes, moved_nbytes; /* as in struct ladder_step */
};
cudaError_t device_step(struct device_work work, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Around the timed part. begin also keeps the device busy for a while, so that the host's launches stay ahead of it. */
cudaError_t device_steps_begin(struct ladder_job *job);
cudaError_t device_steps_end(struct ladder_job *job);

/* ---- the shape of a launch --------------------------------------------------------------------------------------------------- */

static inline uint32_t blocks_for(uint64_t nthreads, uint32_t block_size) { return (uint32_t)((nthreads + block_size - 1) / block_size); }

static __device__ inline uint64_t thread_index(void) { return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; }

/* ---- trees ------------------------------------------------------------------------------------------------------------------- */

/* The least power of two that is not below n. */
static inline uint64_t padded_size(uint64_t n) {
    uint64_t padded = 1;
    while (padded < n) padded *= 2;
    return padded;
}

/* The leaves of a balanced tree: d_in [n], then zeros up to the power of two. */
cudaError_t device_load_leaves(int32_t *d_tree, const int32_t *d_in, uint64_t n);

/* What a level of a tree costs. Each of nworkers reads two elements, stride apart, and writes nwritten (1 up, 2 down). Up to stride 4 the
 * pairs share sectors with their neighbours, so that all of the tree is moved; beyond it each element has a sector to itself. */
struct device_work device_tree_work(uint64_t nthreads, uint64_t nworkers, uint64_t stride, uint32_t nwritten);

#endif
