/* cpu_3_compact_without_scan.c: rung 3 on the CPU: stream compaction as everybody first writes it: one loop, one write position.
 *
 *     in   3   0   7   0   4   1   0   3
 *          |       |       |   |       |
 *     out  3   7   4   1   3                  count = 5
 *
 * Work n, depth n (where an element goes depends on how many were kept before it), bytes 4 (n + kept): no parallel way moves less.
 * The write position is a running sum of keep flags, that is, a scan in disguise; the next rung lifts the mask.
 * Source: folklore; Billeter, Olsson and Assarsson, Efficient Stream Compaction on Wide SIMD Many-Core Architectures, section 1, 2009. */
#include "rungs.h"

bool ladder_compact_without_scan(const struct ladder_rung *rung, struct ladder_job *job) {
    (void)rung;
    for (uint32_t repeat = 0; repeat < job->repeats; repeat++) {
        const double start = ladder_now_ms();
        uint64_t kept = 0;
        for (uint64_t i = 0; i < job->n; i++) {
            if (job->in[i] != 0) job->out[kept++] = job->in[i];
        }
        job->count = kept;
        ladder_record(job, (struct ladder_times){.total_ms = ladder_now_ms() - start});
    }
    return true;
}
