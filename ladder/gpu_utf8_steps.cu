/* gpu_utf8_steps.cu: UTF-8 as a pipeline of kernels, with any scan of device.cuh: cpu_7_utf8_steps.c with a thread for each byte.
 *
 *     bytes        41   E2   82   AC   C3   A9
 *     map           0    0    1    2    0    1      offset of each byte in its sequence
 *                   1    1    0    0    1    0      flag: does it begin one?
 *     scan          0    1    2    2    2    3      exclusive sum of the flags; with the flag, the number of its sequence
 *     scatter      41 . . .  E2 82 AC .  C3 A9 . .  to the sequence's group of four bytes, which has been cleared
 *     decode       41        20AC        E9         a thread for each group
 *
 *     code points  41        20AC        E9
 *     expand       41 . . .  E2 82 AC .  C3 A9 . .  four bytes each, and flags for those that are used
 *     scan         exclusive sum of the flags: where the bytes go
 *     scatter      41   E2   82   AC   C3   A9
 *
 * Work and depth: those of the scan, plus O(n) and O(1). Bytes for one of text: 6 for the map, those of the scan, 4 to clear, 11 to
 * scatter, up to 8 to decode; the library's single pass moves one and what it becomes. What it teaches: threads side by side read the same
 * bytes again and again, and it costs nothing, as they lie in one line; but whatever is written between two kernels goes to memory and
 * back. Source: as cpu_7_utf8_steps.c. */
#include "device.cuh"
#include "utf8_steps.h"

/* ---- decode ------------------------------------------------------------------------------------------------------------------ */

static __global__ void map_to_offsets(uint8_t *offsets, int32_t *begins, const uint8_t *in, uint64_t n) {
    const uint64_t i = thread_index();
    if (i >= n) return;
    const int32_t offset = offset_of(in, i);
    offsets[i] = (uint8_t)offset;
    begins[i] = offset == 0;
}

static __global__ void scatter_to_groups(uint8_t *groups, uint64_t *count, const uint8_t *in, const uint8_t *offsets, const int32_t *begins,
                                         const int32_t *before, uint64_t n) {
    const uint64_t i = thread_index();
    if (i >= n) return;
    const uint64_t number = (uint64_t)(uint32_t)before[i] + (uint64_t)begins[i]; /* from 1: the first byte begins a sequence */
    groups[4 * (number - 1) + offsets[i]] = in[i];
    if (i == n - 1) *count = number;
}

static __global__ void decode_groups(int32_t *out, const uint8_t *groups, const uint64_t *count) {
    const uint64_t i = thread_index();
    if (i < *count) out[i] = decode_group(groups + 4 * i);
}

/* ---- encode ------------------------------------------------------------------------------------------------------------------ */

static __global__ void expand(uint8_t *groups, int32_t *used, const int32_t *in, uint64_t n) {
    const uint64_t i = thread_index();
    if (i >= n) return;
    const int length = encode_group(groups + 4 * i, (uint32_t)in[i]);
    for (int k = 0; k < 4; k++) used[4 * i + (uint64_t)k] = k < length;
}

/* The last thread also fills up the last element of the output with zeros. */
static __global__ void scatter_bytes(uint8_t *out, uint64_t *count, const uint8_t *groups, const int32_t *used, const int32_t *places,
                                     uint64_t nbytes) {
    const uint64_t i = thread_index();
    if (i >= nbytes) return;
    const uint64_t place = (uint32_t)places[i];
    if (used[i]) out[place] = groups[i];
    if (i != nbytes - 1) return;
    const uint64_t end = place + (uint64_t)used[i];
    *count = (end + 3) / 4;
    for (uint64_t k = end; k < 4 * *count; k++) out[k] = 0;
}

/* ---- runs -------------------------------------------------------------------------------------------------------------------- */

struct steps {
    const struct device_scan *scan;
    uint64_t nflags;          /* that are scanned */
    int32_t *d_in, *d_out;    /* [n] */
    int32_t *d_groups;        /* [n], of four bytes */
    int32_t *d_flags, *d_sum; /* [nflags] */
    int32_t *d_scratch;
    uint8_t *d_offsets; /* [n] */
    uint64_t *d_count;
};

static cudaError_t prepare(struct steps *s, const struct ladder_job *job, struct device_run *run) {
    void *d_count = NULL, *d_offsets = NULL;
    CUDA_TRY(device_run_open(run));
    CUDA_TRY(device_alloc(run, &s->d_in, job->n));
    CUDA_TRY(device_alloc(run, &s->d_out, job->n));
    CUDA_TRY(device_alloc(run, &s->d_groups, job->n));
    CUDA_TRY(device_alloc(run, &s->d_flags, s->nflags));
    CUDA_TRY(device_alloc(run, &s->d_sum, s->scan->out_items(s->nflags)));
    CUDA_TRY(device_alloc(run, &s->d_scratch, s->scan->scratch_items(s->nflags, job->block_size)));
    CUDA_TRY(device_alloc_bytes(run, &d_offsets, job->n));
    CUDA_TRY(device_alloc_bytes(run, &d_count, sizeof *s->d_count));
    s->d_offsets = (uint8_t *)d_offsets;
    s->d_count = (uint64_t *)d_count;
    return cudaMemcpy(s->d_in, job->in, job->n * sizeof(int32_t), cudaMemcpyHostToDevice);
}

/* Queues the map and the scan; marks 0 to 2. */
static cudaError_t map_and_scan(const struct steps *s, const struct ladder_job *job, struct device_run *run) {
    const uint32_t nblocks = blocks_for(job->n, job->block_size);
    CUDA_TRY(device_mark(run, 0));
    if (s->nflags == job->n)
        map_to_offsets<<<nblocks, job->block_size>>>(s->d_offsets, s->d_flags, (const uint8_t *)s->d_in, job->n);
    else
        expand<<<nblocks, job->block_size>>>((uint8_t *)s->d_groups, s->d_flags, s->d_in, job->n);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(device_mark(run, 1));
    CUDA_TRY(s->scan->launch(s->d_sum, s->d_flags, s->nflags, s->d_scratch, job->block_size));
    return device_mark(run, 2);
}

/* Queues what is left; mark 3. */
static cudaError_t scatter(const struct steps *s, const struct ladder_job *job, struct device_run *run) {
    const uint32_t nblocks = blocks_for(s->nflags, job->block_size);
    if (s->nflags == job->n) {
        CUDA_TRY(cudaMemsetAsync(s->d_groups, 0, job->n * sizeof(int32_t)));
        scatter_to_groups<<<nblocks, job->block_size>>>((uint8_t *)s->d_groups, s->d_count, (const uint8_t *)s->d_in, s->d_offsets,
                                                        s->d_flags, s->d_sum, job->n);
        CUDA_TRY(cudaGetLastError());
        decode_groups<<<nblocks, job->block_size>>>(s->d_out, (const uint8_t *)s->d_groups, s->d_count);
    } else {
        scatter_bytes<<<nblocks, job->block_size>>>((uint8_t *)s->d_out, s->d_count, (const uint8_t *)s->d_groups, s->d_flags, s->d_sum,
                                                    s->nflags);
    }
    CUDA_TRY(cudaGetLastError());
    return device_mark(run, 3);
}

static cudaError_t run_on_device(const struct device_scan *scan, uint64_t nflags, struct ladder_job *job, struct device_run *run) {
    struct steps s = {};
    s.scan = scan;
    s.nflags = nflags;
    CUDA_TRY(prepare(&s, job, run));
    for (uint32_t repeat = 0; repeat < job->repeats; repeat++) {
        struct ladder_times times = {};
        CUDA_TRY(map_and_scan(&s, job, run));
        CUDA_TRY(scatter(&s, job, run));
        CUDA_TRY(device_elapsed(run, 0, 3, &times.total_ms));
        CUDA_TRY(device_elapsed(run, 0, 1, &times.map_ms));
        CUDA_TRY(device_elapsed(run, 1, 2, &times.scan_ms));
        CUDA_TRY(device_elapsed(run, 2, 3, &times.scatter_ms));
        ladder_record(job, times);
    }
    CUDA_TRY(cudaMemcpy(&job->count, s.d_count, sizeof job->count, cudaMemcpyDeviceToHost));
    if (job->count > job->n) job->count = job->n; /* a wrong count must not become a wild copy */
    return cudaMemcpy(job->out, s.d_out, job->count * sizeof(int32_t), cudaMemcpyDeviceToHost);
}

bool ladder_device_utf8(const struct ladder_rung *rung, struct ladder_job *job) {
    const bool encodes = rung->primitive == LADDER_UTF8_ENCODE;
    if (encodes && job->n > UINT32_MAX / 4) return ladder_fail(job, "bytes are counted in 32 bits: fewer than 2^30 code points, please");
    if (!ladder_counts_fit(job)) return false;
    struct device_run run = {};
    const cudaError_t error = run_on_device(rung->scan, encodes ? 4 * job->n : job->n, job, &run);
    device_run_close(&run);
    return device_result(job, error);
}
