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

#endif
