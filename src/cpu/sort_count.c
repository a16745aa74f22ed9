/* sort_count.c: counting sort of 1- and 2-byte keys that are sorted whole and alone: equal keys are then identical, so that their number
 * says all there is to know and the output is written without looking at the input again.
 *
 *   keys 2 0 1 2 1 1  -> counts: 1 of 0, 3 of 1, 2 of 2 -> 0 1 1 1 2 2
 *
 * Cost: one read and one write; scratch: a table of counts for each task, whatever n. Source: Knuth, TAOCP 3, 5.2 (distribution counting).
 */
#include <string.h>

#include "sort_narrow.h"

/* Counters are 32 bits wide, so that the table of 2-byte keys is 256 KiB and stays in L2. */
static const uint64_t chunk_max = UINT64_C(1) << 31;

/* Below, clearing and summing 65536 counters costs more than two passes of a leaf (measured: Zen 4, 2026). */
static const uint64_t wide_table_min = UINT64_C(13) << 12;

enum { BLOCK = 256 }; /* images that differ in their last byte only; keys of one byte are one block */

static uint64_t counting_tasks(upsweep_context *ctx, uint64_t n, size_t key_nbytes) {
    const uint64_t most = n >> (key_nbytes == 1 ? 16 : 19), nthreads = cpu_impl(ctx)->nthreads;
    const uint64_t least = n / chunk_max + 1;
    const uint64_t ntasks = most < nthreads ? most : nthreads;
    return ntasks > least ? ntasks : least;
}

/* Scratch: counts [ntasks][nkeys] of uint32_t, then starts [nkeys / BLOCK + 1] of uint64_t. */
uint64_t sort_by_counting_scratch(upsweep_context *ctx, uint64_t n, size_t key_nbytes) {
    if (!sort_by_counting_pays(n, key_nbytes)) return 0;
    const uint64_t nkeys = UINT64_C(1) << (8 * key_nbytes);
    return counting_tasks(ctx, n, key_nbytes) * nkeys * sizeof(uint32_t) + (nkeys / BLOCK + 1) * sizeof(uint64_t);
}

bool sort_by_counting_pays(uint64_t n, size_t key_nbytes) { return key_nbytes == 1 ? n > 64 : key_nbytes == 2 && n >= wide_table_min; }

struct counting_job {
    const unsigned char *in;
    unsigned char *out;
    uint64_t n, chunk;
    uint32_t *counts;
    uint64_t *starts; /* by block of images */
    struct sort_image image;
    size_t key_nbytes;
    uint32_t ntasks, nblocks;
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

/* A block of images is a block of keys, perhaps in another order: where that begins. */
static uint32_t first_of_block(const struct counting_job *job, uint32_t block) { return raw_of(job, block * BLOCK) / BLOCK * BLOCK; }

/* How often all tasks have each key of a block. */
static void add_counts(const struct counting_job *job, uint32_t block, uint64_t counts[BLOCK]) {
    const uint32_t *of_task = job->counts + first_of_block(job, block);
    memset(counts, 0, BLOCK * sizeof *counts);
    for (uint32_t i = 0; i < job->ntasks; i++, of_task += (uint64_t)job->nblocks * BLOCK) {
        for (uint32_t key = 0; key < BLOCK; key++) counts[key] += of_task[key];
    }
}

static void find_starts(const struct counting_job *job) {
    uint64_t counts[BLOCK], start = 0;
    for (uint32_t block = 0; block < job->nblocks; block++) {
        job->starts[block] = start;
        add_counts(job, block, counts);
        for (uint32_t key = 0; key < BLOCK; key++) start += counts[key];
    }
    job->starts[job->nblocks] = start;
}

static void fill(const struct counting_job *job, uint64_t begin, uint64_t end, uint32_t raw) {
    uint16_t *halves = (uint16_t *)(void *)job->out;
    if (begin >= end) return;
    if (job->key_nbytes == 1)
        memset(job->out + begin, (int)raw, (size_t)(end - begin));
    else
        for (uint64_t i = begin; i < end; i++) halves[i] = (uint16_t)raw;
}

/* Most keys of two bytes are there a few times at most, and how often cannot be foreseen. So COPIES are always written: what is too many
 * the next keys overwrite, or, behind the last one, other blocks. */
enum { COPIES = 8 };

static void fill_halves(uint16_t *out, uint32_t first_raw, const uint64_t counts[BLOCK]) {
    for (uint32_t key = 0; key < BLOCK; key++) {
        const uint32_t raw = first_raw ^ key;
        const uint64_t copies[2] = {raw * UINT64_C(0x0001000100010001), raw * UINT64_C(0x0001000100010001)};
        const uint64_t count = counts[raw % BLOCK];
        memcpy(out, copies, sizeof copies);
        for (uint64_t i = COPIES; i < count; i += COPIES) memcpy(out + i, copies, sizeof copies);
        out += count;
    }
}

/* What of the block is in [begin, end). */
static void fill_block(const struct counting_job *job, uint32_t block, uint64_t begin, uint64_t end) {
    uint64_t counts[BLOCK], at = job->starts[block];
    add_counts(job, block, counts);
    if (job->key_nbytes == 2 && at >= begin && job->starts[block + 1] + COPIES <= end) {
        fill_halves((uint16_t *)(void *)job->out + at, raw_of(job, block * BLOCK), counts);
        return;
    }
    for (uint32_t key = 0; key < BLOCK && at < end; key++) {
        const uint32_t raw = raw_of(job, block * BLOCK + key);
        const uint64_t next = at + counts[raw % BLOCK];
        fill(job, at > begin ? at : begin, next < end ? next : end, raw);
        at = next;
    }
}

static void fill_task(void *arg, uint32_t i) {
    const struct counting_job *job = arg;
    const uint64_t begin = chunk_begin(job, i), end = chunk_begin(job, i + 1);
    uint32_t block = job->nblocks - 1;
    while (job->starts[block] > begin) block--;
    for (; block < job->nblocks && job->starts[block] < end; block++) fill_block(job, block, begin, end);
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
                               .key_nbytes = key_nbytes,
                               .ntasks = ntasks,
                               .nblocks = (1u << (8 * key_nbytes)) / BLOCK};
    cpu_run(ctx, count_task, &job, ntasks);
    find_starts(&job);
    cpu_run(ctx, fill_task, &job, ntasks);
}
