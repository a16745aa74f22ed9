/* gpu_scan.cu: runs any scan of device.cuh on a job: memory and upload first, then the timed part, then the download.
 *
 * Cost outside the timed part: 4n bytes over the bus each way, and the room that the scan asks for. */
#include "device.cuh"

static cudaError_t scan_on_device(const struct device_scan *scan, struct ladder_job *job, struct device_run *run) {
    const size_t nbytes = job->n * sizeof(int32_t);
    int32_t *d_in = NULL, *d_out = NULL, *d_scratch = NULL;
    CUDA_TRY(device_run_open(run));
    CUDA_TRY(device_alloc(run, &d_in, job->n));
    CUDA_TRY(device_alloc(run, &d_out, scan->out_items(job->n)));
    CUDA_TRY(device_alloc(run, &d_scratch, scan->scratch_items(job->n, job->block_size)));
    CUDA_TRY(cudaMemcpy(d_in, job->in, nbytes, cudaMemcpyHostToDevice));

    for (uint32_t repeat = 0; repeat < job->repeats; repeat++) {
        struct ladder_times times = {};
        CUDA_TRY(device_steps_begin(job));
        CUDA_TRY(device_mark(run, 0));
        CUDA_TRY(scan->launch(d_out, d_in, job->n, d_scratch, job->block_size));
        CUDA_TRY(device_mark(run, 1));
        CUDA_TRY(device_steps_end(job));
        CUDA_TRY(device_elapsed(run, 0, 1, &times.total_ms));
        ladder_record(job, times);
    }
    return cudaMemcpy(job->out, d_out, nbytes, cudaMemcpyDeviceToHost);
}

bool ladder_device_scan(const struct ladder_rung *rung, struct ladder_job *job) {
    struct device_run run = {};
    const cudaError_t error = scan_on_device(rung->scan, job, &run);
    device_run_close(&run);
    return device_result(job, error);
}
