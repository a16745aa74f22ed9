/* ladder.c: the table of rungs, and what every run of a rung has in common: parameters checked, times kept, errors as sentences.
 *
 * To add a rung: one file with a function of this signature, its declaration in rungs.h, one row here. */
#include "rungs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* No device and no host of today holds so many elements; with them even blocks of 16 threads are fewer than the 2^31 - 1 that a grid may
 * have, after the padding to a power of two. */
#define MAX_N (UINT64_C(1) << 34)

/* ---- the table --------------------------------------------------------------------------------------------------------------- */

/* clang-format off */
enum { NONE = 0, BLOCK = LADDER_BLOCK_SIZE, THREADS = LADDER_THREADS, BITS = LADDER_NUM_BITS, PARTS = LADDER_PARTS };

static const struct ladder_rung rungs[] = {
    /* name, primitive, backend, params, peer, run, scan */
    {"cpu scan", LADDER_SCAN, LADDER_CPU, NONE, NULL, ladder_serial_scan, NULL},
    {"cpu threaded naive scan", LADDER_SCAN, LADDER_CPU, THREADS, NULL, ladder_threaded_scan, NULL},
#ifdef LADDER_HAVE_STD
    {"std::exclusive_scan", LADDER_SCAN, LADDER_CPU, NONE, ladder_std_version, ladder_std_scan, NULL},
#endif
    {"cpu upsweep scan", LADDER_SCAN, LADDER_CPU, THREADS, NULL, ladder_upsweep, NULL},
#ifdef UPSWEEP_HAVE_CUDA
    {"naive scan", LADDER_SCAN, LADDER_CUDA, BLOCK, NULL, ladder_device_scan, &ladder_naive_scan},
    {"work-efficient scan", LADDER_SCAN, LADDER_CUDA, BLOCK, NULL, ladder_device_scan, &ladder_work_efficient_scan},
    {"packed-threads scan", LADDER_SCAN, LADDER_CUDA, BLOCK, NULL, ladder_device_scan, &ladder_packed_threads_scan},
    {"working-threads scan", LADDER_SCAN, LADDER_CUDA, BLOCK, NULL, ladder_device_scan, &ladder_working_threads_scan},
    {"shared-memory scan", LADDER_SCAN, LADDER_CUDA, BLOCK, NULL, ladder_device_scan, &ladder_shared_memory_scan},
#ifdef LADDER_HAVE_CUB
    {"thrust scan", LADDER_SCAN, LADDER_CUDA, NONE, ladder_thrust_version, ladder_thrust_scan, NULL},
    {"cub scan", LADDER_SCAN, LADDER_CUDA, NONE, ladder_cub_version, ladder_cub_scan, NULL},
#endif
    {"cuda upsweep scan", LADDER_SCAN, LADDER_CUDA, NONE, NULL, ladder_upsweep, NULL},
#endif

    {"cpu compact without scan", LADDER_COMPACT, LADDER_CPU, NONE, NULL, ladder_compact_without_scan, NULL},
    {"cpu compact with scan", LADDER_COMPACT, LADDER_CPU, PARTS, NULL, ladder_compact_with_scan, NULL},
    {"cpu upsweep compact", LADDER_COMPACT, LADDER_CPU, THREADS, NULL, ladder_upsweep, NULL},
#ifdef UPSWEEP_HAVE_CUDA
    {"naive compact", LADDER_COMPACT, LADDER_CUDA, BLOCK | PARTS, NULL, ladder_device_compact, &ladder_naive_scan},
    {"work-efficient compact", LADDER_COMPACT, LADDER_CUDA, BLOCK | PARTS, NULL, ladder_device_compact, &ladder_work_efficient_scan},
    {"packed-threads compact", LADDER_COMPACT, LADDER_CUDA, BLOCK | PARTS, NULL, ladder_device_compact, &ladder_packed_threads_scan},
    {"working-threads compact", LADDER_COMPACT, LADDER_CUDA, BLOCK | PARTS, NULL, ladder_device_compact, &ladder_working_threads_scan},
    {"shared-memory compact", LADDER_COMPACT, LADDER_CUDA, BLOCK | PARTS, NULL, ladder_device_compact, &ladder_shared_memory_scan},
#ifdef LADDER_HAVE_CUB
    {"thrust compact", LADDER_COMPACT, LADDER_CUDA, NONE, ladder_thrust_version, ladder_thrust_compact, NULL},
    {"cub compact", LADDER_COMPACT, LADDER_CUDA, NONE, ladder_cub_version, ladder_cub_compact, NULL},
#endif
    {"cuda upsweep compact", LADDER_COMPACT, LADDER_CUDA, NONE, NULL, ladder_upsweep, NULL},
#endif

    {"qsort", LADDER_SORT, LADDER_CPU, NONE, ladder_qsort_version, ladder_qsort, NULL},
#ifdef LADDER_HAVE_STD
    {"std::sort", LADDER_SORT, LADDER_CPU, NONE, ladder_std_version, ladder_std_sort, NULL},
#endif
    {"cpu upsweep sort", LADDER_SORT, LADDER_CPU, THREADS | BITS, NULL, ladder_upsweep, NULL},
#ifdef UPSWEEP_HAVE_CUDA
    {"split sort", LADDER_SORT, LADDER_CUDA, BLOCK | BITS, NULL, ladder_device_split_sort, &ladder_working_threads_scan},
#ifdef LADDER_HAVE_CUB
    {"thrust sort", LADDER_SORT, LADDER_CUDA, NONE, ladder_thrust_version, ladder_thrust_sort, NULL},
    {"cub sort", LADDER_SORT, LADDER_CUDA, BITS, ladder_cub_version, ladder_cub_sort, NULL},
#endif
    {"cuda upsweep sort", LADDER_SORT, LADDER_CUDA, BITS, NULL, ladder_upsweep, NULL},
#endif

    {"utf8 decode in steps", LADDER_UTF8_DECODE, LADDER_CPU, PARTS, NULL, ladder_utf8_decode_steps, NULL},
    {"cpu upsweep utf8 decode", LADDER_UTF8_DECODE, LADDER_CPU, THREADS, NULL, ladder_upsweep, NULL},
#ifdef UPSWEEP_HAVE_CUDA
    {"cuda utf8 decode in steps", LADDER_UTF8_DECODE, LADDER_CUDA, BLOCK | PARTS, NULL, ladder_device_utf8, &ladder_working_threads_scan},
    {"cuda upsweep utf8 decode", LADDER_UTF8_DECODE, LADDER_CUDA, NONE, NULL, ladder_upsweep, NULL},
#endif
    {"utf8 encode in steps", LADDER_UTF8_ENCODE, LADDER_CPU, PARTS, NULL, ladder_utf8_encode_steps, NULL},
    {"cpu upsweep utf8 encode", LADDER_UTF8_ENCODE, LADDER_CPU, THREADS, NULL, ladder_upsweep, NULL},
#ifdef UPSWEEP_HAVE_CUDA
    {"cuda utf8 encode in steps", LADDER_UTF8_ENCODE, LADDER_CUDA, BLOCK | PARTS, NULL, ladder_device_utf8, &ladder_working_threads_scan},
    {"cuda upsweep utf8 encode", LADDER_UTF8_ENCODE, LADDER_CUDA, NONE, NULL, ladder_upsweep, NULL},
#endif
};
/* clang-format on */

const struct ladder_rung *ladder_at(size_t index) { return index < sizeof rungs / sizeof rungs[0] ? &rungs[index] : NULL; }

const char *ladder_missing(enum ladder_backend backend) {
    if (backend == LADDER_CPU) return NULL;
#ifdef UPSWEEP_HAVE_CUDA
    return ladder_device_missing();
#else
    return "this build has no CUDA";
#endif
}

/* ---- a run ------------------------------------------------------------------------------------------------------------------- */

static bool check(const struct ladder_rung *rung, struct ladder_job *job) {
    const uint32_t block = job->block_size;
    if (job->n > MAX_N) return ladder_fail(job, "%ju elements are too many", (uintmax_t)job->n);
    if (block < 16 || block > 1024 || (block & (block - 1)) != 0)
        return ladder_fail(job, "the block size is a power of two from 16 to 1024, not %u", (unsigned)block);
    if (job->num_bits > 32) return ladder_fail(job, "an element has no %u bits", (unsigned)job->num_bits);
    if (job->num_bits < 32 && rung->primitive == LADDER_SORT && !(rung->params & LADDER_NUM_BITS))
        return ladder_fail(job, "%s sorts by all bits only", rung->name);
    return true;
}

bool ladder_run(const struct ladder_rung *rung, struct ladder_job *job) {
    if (job->block_size == 0) job->block_size = 256;
    if (job->num_bits == 0) job->num_bits = 32;
    if (job->repeats == 0) job->repeats = 1;
    job->count = job->n; /* a compaction says otherwise */
    job->nsamples = 0;
    job->nsteps = 0;
    job->times = (struct ladder_times){0};
    job->error[0] = '\0';
    if (!check(rung, job)) return false;
    return job->n == 0 || rung->run(rung, job);
}

/* ---- helpers of the rungs ---------------------------------------------------------------------------------------------------- */

double ladder_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

void ladder_record(struct ladder_job *job, struct ladder_times times) {
    if (job->samples_ms != NULL) job->samples_ms[job->nsamples] = times.total_ms;
    if (job->nsamples == 0 || times.total_ms < job->times.total_ms) job->times = times;
    job->nsamples++;
}

bool ladder_fail(struct ladder_job *job, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(job->error, sizeof job->error, format, args);
    va_end(args);
    return false;
}

int32_t *ladder_alloc(struct ladder_job *job, uint64_t n) {
    int32_t *items = n <= SIZE_MAX / sizeof *items ? malloc((size_t)n * sizeof *items) : NULL;
    if (items == NULL) {
        ladder_fail(job, "out of memory for %ju more elements", (uintmax_t)n);
        return NULL;
    }
    memset(items, 0xAB, (size_t)n * sizeof *items);
    return items;
}

bool ladder_counts_fit(struct ladder_job *job) {
    return job->n <= UINT32_MAX || ladder_fail(job, "flags are counted in 32 bits: fewer than 2^32 elements, please");
}
