/* cpu_4_compact_with_scan.c: rung 4 on the CPU: stream compaction as three steps, each of which a parallel machine can do: map, scan,
 * scatter.
 *
 *     in        3   0   7   0   4   1   0   3
 *     map       1   0   1   0   1   1   0   1      flag: is the element kept?
 *     scan      0   1   1   2   2   3   4   4      exclusive sum of the flags: where it goes, if it is
 *     scatter   3   7   4   1   3                  out[scan[i]] = in[i] where the flag is set
 *
 * Work O(n), depth that of the scan (n here, as this scan is the serial loop of rung 1; log n on the GPU), bytes 28n + 4 kept: in and
 * flags, flags and places, all three again and out. On one thread that is 4 to 7 times the traffic of rung 3 for nothing. It is the price
 * of parallelism; the library's own compaction pays it only in registers and shared memory.
 * Source: Horn, Stream Reduction Operations for GPGPU Applications, GPU Gems 2, chapter 36, 2005; Harris, Sengupta and Owens, GPU Gems 3,
 * section 39.3.1, 2007. */
#include "rungs.h"

#include <stdlib.h>

static void map_to_flags(int32_t *flags, const int32_t *in, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) flags[i] = in[i] != 0;
}

/* Returns how many were kept. places count modulo 2^32, which is enough for n < 2^32. */
static uint64_t scatter(int32_t *out, const int32_t *in, const int32_t *flags, const int32_t *places, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        if (flags[i]) out[(uint32_t)places[i]] = in[i];
    }
    return (uint64_t)(uint32_t)places[n - 1] + (uint64_t)flags[n - 1];
}

static void compact_once(struct ladder_job *job, int32_t *flags, int32_t *places) {
    const double start = ladder_now_ms();
    map_to_flags(flags, job->in, job->n);
    const double mapped = ladder_now_ms();
    ladder_scan_serially(places, flags, job->n);
    const double scanned = ladder_now_ms();
    job->count = scatter(job->out, job->in, flags, places, job->n);
    const double scattered = ladder_now_ms();
    ladder_record(
        job, (struct ladder_times){
                 .total_ms = scattered - start, .map_ms = mapped - start, .scan_ms = scanned - mapped, .scatter_ms = scattered - scanned});
}

bool ladder_compact_with_scan(const struct ladder_rung *rung, struct ladder_job *job) {
    (void)rung;
    if (!ladder_counts_fit(job)) return false;
    int32_t *flags = ladder_alloc(job, job->n), *places = ladder_alloc(job, job->n);
    const bool ok = flags != NULL && places != NULL;
    for (uint32_t repeat = 0; ok && repeat < job->repeats; repeat++) compact_once(job, flags, places);
    free(flags);
    free(places);
    return ok;
}
