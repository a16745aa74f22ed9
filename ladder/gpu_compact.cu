/* gpu_compact.cu: stream compaction as map, scan, scatter, with any scan of device.cuh, the three timed apart.
 *
 *     in        3   0   7   0   4   1   0   3
 *     map       1   0   1   0   1   1   0   1      flag: is the element kept?
 *     scan      0   1   1   2   2   3   4   4      exclusive sum of the flags: where it goes, if it is
 *     scatter   3   7   4   1   3                  out[scan[i]] = in[i] where the flag is set
 *
 * Work and depth: those of the scan, plus O(n) and O(1). Bytes 8n for the map, those of the scan, 12n + 4 kept for the scatter. Kept
 * elements keep their order, so the writes of a warp fall next to one another. What it teaches: a scan turns "where does mine go?", which
 * looks serial, into something that every thread can answer at once; and the passes between the steps cost more than the steps.
 * Source: Horn, Stream Reduction Operations for GPGPU Applications, GPU Gems 2, chapter 36, 2005; Harris, Sengupta and Owens, GPU Gems 3,
 * section 39.3.1, 2007. */
#include "device.cuh"

static __global__ void map_to_flags(int32_t *flags, const int32_t *in, uint64_t n) {
    const uint64_t i = thread_index();
    if (i < n) flags[i] = in[i] != 0;
}

/* places count modulo 2^32, which is enough for n < 2^32. */
static __global__ void scatter(int32_t *out, uint64_t *count, const int32_t *in, const int32_t *flags, const int32_t *places, uint64_t n) {
    const uint64_t i = thread_index();
    if (i >= n) return;
    const uint32_t place = (uint32_t)places[i];
    if (flags[i]) out[place] = in[i];
    if (i == n - 1) *count = (uint64_t)place + (uint64_t)flags[i];
}

struct compaction {
    int32_t *d_in, *d_out;
    int32_t *d_flags, *d_places, *d_scratch;
    uint64_t *d_count;
};

static cudaError_t prepare(struct compaction *c, const struct device_scan *scan, const struct ladder_job *job, struct device_run *run) {
    void *d_count = NULL;
    CUDA_TRY(device_run_open(run));
    CUDA_TRY(device_alloc(run, &c->d_in, job->n));
    CUDA_TRY(device_alloc(run, &c->d_out, job->n));
    CUDA_TRY(device_alloc(run, &c->d_flags, job->n));
    CUDA_TRY(device_alloc(run, &c->d_places, scan->out_items(job->n)));
    CUDA_TRY(device_alloc(run, &c->d_scratch, scan->scratch_items(job->n, job->block_size)));
    CUDA_TRY(device_alloc_bytes(run, &d_count, sizeof *c->d_count));
    c->d_count = (uint64_t *)d_count;
    return cudaMemcpy(c->d_in, job->in, job->n * sizeof(int32_t), cudaMemcpyHostToDevice);
}

/* The timed part: queues the three steps with marks around them, and waits. */
static cudaError_t compact_once(const struct compaction *c, const struct device_scan *scan, struct ladder_job *job,
                                struct device_run *run) {
    const uint32_t nblocks = blocks_for(job->n, job->block_size);
    const uint64_t nthreads = (uint64_t)nblocks * job->block_size, nbytes = job->n * sizeof(int32_t);
    struct ladder_times times = {};
    CUDA_TRY(device_steps_begin(job));
    CUDA_TRY(device_mark(run, 0));
    map_to_flags<<<nblocks, job->block_size>>>(c->d_flags, c->d_in, job->n);
    CUDA_TRY(device_step({nthreads, job->n, 2 * nbytes, 2 * nbytes}, "map_to_flags"));
    CUDA_TRY(device_mark(run, 1));
    CUDA_TRY(scan->launch(c->d_places, c->d_flags, job->n, c->d_scratch, job->block_size));
    CUDA_TRY(device_mark(run, 2));
    scatter<<<nblocks, job->block_size>>>(c->d_out, c->d_count, c->d_in, c->d_flags, c->d_places, job->n);
    CUDA_TRY(device_step({nthreads, job->n, 4 * nbytes, 4 * nbytes}, "scatter, if all are kept"));
    CUDA_TRY(device_mark(run, 3));
    CUDA_TRY(device_steps_end(job));

    CUDA_TRY(device_elapsed(run, 0, 3, &times.total_ms));
    CUDA_TRY(device_elapsed(run, 0, 1, &times.map_ms));
    CUDA_TRY(device_elapsed(run, 1, 2, &times.scan_ms));
    CUDA_TRY(device_elapsed(run, 2, 3, &times.scatter_ms));
    ladder_record(job, times);
    return cudaSuccess;
}

static cudaError_t compact_on_device(const struct device_scan *scan, struct ladder_job *job, struct device_run *run) {
    struct compaction c = {};
    CUDA_TRY(prepare(&c, scan, job, run));
    for (uint32_t repeat = 0; repeat < job->repeats; repeat++) CUDA_TRY(compact_once(&c, scan, job, run));
    CUDA_TRY(cudaMemcpy(&job->count, c.d_count, sizeof job->count, cudaMemcpyDeviceToHost));
    if (job->count > job->n) job->count = job->n; /* a wrong count must not become a wild copy */
    return cudaMemcpy(job->out, c.d_out, job->count * sizeof(int32_t), cudaMemcpyDeviceToHost);
}

bool ladder_device_compact(const struct ladder_rung *rung, struct ladder_job *job) {
    if (!ladder_counts_fit(job)) return false;
    struct device_run run = {};
    const cudaError_t error = compact_on_device(rung->scan, job, &run);
    device_run_close(&run);
    return device_result(job, error);
}
