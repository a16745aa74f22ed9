/* sort_count.c: counting sort of 1- and 2-byte keys that are sorted whole and alone: equal keys are then identical, so that their number
 * says all there is to know and the output is written without looking at the input again.
 *
 *   keys 2 0 1 2 1 1  -> counts: 1 of 0, 3 of 1, 2 of 2 -> 0 1 1 1 2 2
 *
 * Cost: one read and one write; scratch: a table of counts for each task, whatever n. Source: Knuth, TAOCP 3, 5.2 (distribution counting).
 */
#include <string.h>

#include "sort_kernels.h"

/* Counters are 32 bits wide, so that the table of 2-byte keys is 256 KiB and stays in L2. */
static const uint64_t chunk_max = UINT64_C(1) << 31;

/* Below, clearing and summing 65536 counters costs more than two passes of a leaf (measured: Zen 5, 2026). */
static const uint64_t wide_table_min = UINT64_C(1) << 15;

static uint64_t counting_tasks(upsweep_context *ctx, uint64_t n, size_t key_nbytes) {
    const uint64_t most = n >> (key_nbytes == 1 ? 16 : 19), nthreads = cpu_impl(ctx)->nthreads;
    const uint64_t least = n / chunk_max + 1;
    const uint64_t ntasks = most < nthreads ? most : nthreads;
    return ntasks > least ? ntasks : least;
}

/* Scratch: counts [ntasks][nkeys] of uint32_t, then starts [nkeys + 1] of uint64_t. */
uint64_t sort_by_counting_scratch(upsweep_context *ctx, uint64_t n, size_t key_nbytes) {
    if (!sort_by_counting_pays(n, key_nbytes)) return 0;
    const uint64_t nkeys = UINT64_C(1) << (8 * key_nbytes);
    return counting_tasks(ctx, n, key_nbytes) * nkeys * sizeof(uint32_t) + (nkeys + 1) * sizeof(uint64_t);
}

bool sort_by_counting_pays(uint64_t n, size_t key_nbytes) { return key_nbytes == 1 ? n > 64 : key_nbytes == 2 && n >= wide_table_min; }

struct counting_job {
    const unsigned char *in;
    unsigned char *out;
    uint64_t n, chunk;
    uint32_t *counts;
    uint64_t *starts; /* by image */
    struct sort_image image;
    size_t key_nbytes;
};

static uint64_t chunk_begin(const struct counting_job *job, uint32_t i) { return i * job->chunk < job->n ? i * job->chunk : job->n; }

/* Four tables by turns: equal keys would wait for the increment before. */
static void count_bytes(const unsigned char *in, uint64_t n, uint32_t *counts) {
    uint32_t turn[4][256] = {{0}};
    uint64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (uint64_t k = 0; k < 4; k++) turn[k][in[i + k]]++;
    }
    for (; i < n; i++) turn[0][in[i]]++;
    for (uint32_t key = 0; key < 256; key++) counts[key] = turn[0][key] + turn[1][key] + turn[2][key] + turn[3][key];
}

/* Runs of four equal keys at once, for the same reason: four tables would not fit the cache here. */
static void count_halves(const uint16_t *in, uint64_t n, uint32_t *counts) {
    memset(counts, 0, sizeof *counts << 16);
    uint64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const uint16_t a = in[i], b = in[i + 1], c = in[i + 2], d = in[i + 3];
        if (((a ^ b) | (b ^ c) | (c ^ d)) == 0) {
            counts[a] += 4;
            continue;
        }
        counts[a]++, counts[b]++, counts[c]++, counts[d]++;
    }
    for (; i < n; i++) counts[in[i]]++;
}

static void count_task(void *arg, uint32_t i) {
    const struct counting_job *job = arg;
    const uint64_t begin = chunk_begin(job, i), n = chunk_begin(job, i + 1) - begin;
    if (job->key_nbytes == 1)
        count_bytes(job->in + begin, n, job->counts + i * UINT64_C(256));
    else
        count_halves((const uint16_t *)(const void *)job->in + begin, n, job->counts + i * UINT64_C(65536));
}

static uint32_t raw_of(const struct counting_job *job, uint32_t key) {
    const uint32_t nbits = 8 * (uint32_t)job->key_nbytes; /* no floats this narrow: nothing happens when negative */
    return (key ^ (uint32_t)job->image.flip) & (uint32_t)sort_low_bits(nbits);
}

/* Sums the tables of all tasks, in the order of the images. */
static void sum_counts(const struct counting_job *job, uint32_t ntasks) {
    const uint32_t nkeys = 1u << (8 * job->key_nbytes);
    uint64_t start = 0;
    for (uint32_t key = 0; key < nkeys; key++) {
        job->starts[key] = start;
        for (uint32_t i = 0; i < ntasks; i++) start += job->counts[i * (uint64_t)nkeys + raw_of(job, key)];
    }
    job->starts[nkeys] = start;
}

static void fill(const struct counting_job *job, uint64_t begin, uint64_t end, uint32_t raw) {
    if (job->key_nbytes == 1) {
        memset(job->out + begin, (int)raw, (size_t)(end - begin));
    } else {
        uint16_t *out = (uint16_t *)(void *)job->out;
        for (uint64_t i = begin; i < end; i++) out[i] = (uint16_t)raw;
    }
}

/* The last image that starts at or before `at`. */
static uint32_t image_at(const struct counting_job *job, uint64_t at) {
    uint32_t low = 0, high = 1u << (8 * job->key_nbytes);
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (job->starts[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void fill_task(void *arg, uint32_t i) {
    const struct counting_job *job = arg;
    const uint64_t end = chunk_begin(job, i + 1);
    uint64_t at = chunk_begin(job, i);
    for (uint32_t key = image_at(job, at); at < end; key++) {
        const uint64_t until = job->starts[key + 1] < end ? job->starts[key + 1] : end;
        if (at < until) fill(job, at, until, raw_of(job, key));
        at = until > at ? until : at;
    }
}

void sort_by_counting(upsweep_context *ctx, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    const uint32_t ntasks = (uint32_t)counting_tasks(ctx, args->n, key_nbytes);
    uint32_t *counts = ctx->scratch;
    struct counting_job job = {.in = args->keys_in,
                               .out = args->keys_out,
                               .n = args->n,
                               .chunk = (args->n + ntasks - 1) / ntasks,
                               .counts = counts,
                               .starts = (uint64_t *)(void *)(counts + ((uint64_t)ntasks << (8 * key_nbytes))),
                               .image = *image,
                               .key_nbytes = key_nbytes};
    cpu_run(ctx, count_task, &job, ntasks);
    sum_counts(&job, ntasks);
    cpu_run(ctx, fill_task, &job, ntasks);
}
