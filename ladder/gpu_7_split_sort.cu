/* gpu_7_split_sort.cu: radix sort by scan, one bit a pass: each pass is a split: zeros to the front, ones behind them, both in order.
 *
 *     in              100 111 010 110 011 101 001 000     by bit 0
 *     map: is it 0?     1   0   1   1   0   0   0   1
 *     scan: zeros f     0   1   1   2   3   3   3   3     and the number of all zeros: 4
 *     scatter to        0   4   1   2   5   6   7   3     a zero to f[i], a one to i - f[i] + zeros
 *     out             100 010 110 000 111 011 101 001
 *
 * Passes from the lowest bit to the highest, each stable, sort the whole: num_bits of them. The sign bit goes the other way round, as
 * negative numbers come first. Nothing is read back between passes: the scatter takes the number of zeros from device memory.
 * Work and depth: num_bits times those of the scan. Bytes: num_bits times (8n map + the scan's + 16n scatter), with 32 bits on rung 3
 * some 1,900n, where a sort by digits of 8 bits gets by with 36n. What it teaches: a sort is a row of compactions, and a bigger digit
 * means fewer of them.
 * Source: Blelloch, Prefix Sums and Their Applications, section 1.3, 1990; Harris, Sengupta and Owens, GPU Gems 3, section 39.3.3, 2007. */
#include "device.cuh"

static __global__ void map_to_zeros(int32_t *zeros, const int32_t *in, uint64_t n, uint32_t bit) {
    const uint64_t i = thread_index();
    if (i >= n) return;
    const uint32_t key = (uint32_t)in[i] ^ UINT32_C(0x80000000); /* negative numbers first */
    zeros[i] = (key >> bit & 1) == 0;
}

/* zeros_before count modulo 2^32, which is enough for n < 2^32. */
static __global__ void scatter(int32_t *out, const int32_t *in, const int32_t *zeros, const int32_t *zeros_before, uint64_t n) {
    const uint64_t i = thread_index();
    if (i >= n) return;
    const uint32_t nzeros = (uint32_t)zeros_before[n - 1] + (uint32_t)zeros[n - 1];
    const uint32_t before = (uint32_t)zeros_before[i];
    const uint32_t place = zeros[i] ? before : (uint32_t)i - before + nzeros;
    out[place] = in[i];
}

struct split_sort {
    int32_t *d_in;
    int32_t *d_keys[2]; /* passes go from one to the other */
    int32_t *d_zeros, *d_zeros_before, *d_scratch;
};

static cudaError_t prepare(struct split_sort *s, const struct device_scan *scan, const struct ladder_job *job, struct device_run *run) {
    CUDA_TRY(device_run_open(run));
    CUDA_TRY(device_alloc(run, &s->d_in, job->n));
    CUDA_TRY(device_alloc(run, &s->d_keys[0], job->n));
    CUDA_TRY(device_alloc(run, &s->d_keys[1], job->n));
    CUDA_TRY(device_alloc(run, &s->d_zeros, job->n));
    CUDA_TRY(device_alloc(run, &s->d_zeros_before, scan->out_items(job->n)));
    CUDA_TRY(device_alloc(run, &s->d_scratch, scan->scratch_items(job->n, job->block_size)));
    return cudaMemcpy(s->d_in, job->in, job->n * sizeof(int32_t), cudaMemcpyHostToDevice);
}

/* One pass: from d_from to d_to by one bit. */
static cudaError_t split(const struct split_sort *s, const struct device_scan *scan, const struct ladder_job *job, int32_t *d_to,
                         const int32_t *d_from, uint32_t bit) {
    const uint32_t nblocks = blocks_for(job->n, job->block_size);
    const uint64_t nthreads = (uint64_t)nblocks * job->block_size, nbytes = job->n * sizeof(int32_t);
    map_to_zeros<<<nblocks, job->block_size>>>(s->d_zeros, d_from, job->n, bit);
    CUDA_TRY(device_step({nthreads, job->n, 2 * nbytes, 2 * nbytes}, "map_to_zeros, bit %u", (unsigned)bit));
    CUDA_TRY(scan->launch(s->d_zeros_before, s->d_zeros, job->n, s->d_scratch, job->block_size));
    scatter<<<nblocks, job->block_size>>>(d_to, d_from, s->d_zeros, s->d_zeros_before, job->n);
    return device_step({nthreads, job->n, 4 * nbytes, 4 * nbytes}, "scatter, bit %u", (unsigned)bit);
}

static cudaError_t sort_on_device(const struct device_scan *scan, struct ladder_job *job, struct device_run *run) {
    struct split_sort s = {};
    CUDA_TRY(prepare(&s, scan, job, run));
    for (uint32_t repeat = 0; repeat < job->repeats; repeat++) {
        struct ladder_times times = {};
        const int32_t *d_from = s.d_in;
        CUDA_TRY(device_steps_begin(job));
        CUDA_TRY(device_mark(run, 0));
        for (uint32_t bit = 0; bit < job->num_bits; bit++) {
            CUDA_TRY(split(&s, scan, job, s.d_keys[bit % 2], d_from, bit));
            d_from = s.d_keys[bit % 2];
        }
        CUDA_TRY(device_mark(run, 1));
        CUDA_TRY(device_steps_end(job));
        CUDA_TRY(device_elapsed(run, 0, 1, &times.total_ms));
        ladder_record(job, times);
    }
    return cudaMemcpy(job->out, s.d_keys[(job->num_bits - 1) % 2], job->n * sizeof(int32_t), cudaMemcpyDeviceToHost);
}

bool ladder_device_split_sort(const struct ladder_rung *rung, struct ladder_job *job) {
    if (!ladder_counts_fit(job)) return false;
    struct device_run run = {};
    const cudaError_t error = sort_on_device(rung->scan, job, &run);
    device_run_close(&run);
    return device_result(job, error);
}
