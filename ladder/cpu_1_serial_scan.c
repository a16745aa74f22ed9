/* cpu_1_serial_scan.c: rung 1 on the CPU: one running sum.
 *
 *     in    3   1   7   0   4   1   6   3
 *     sum  0-> 3-> 4->11->11->15->16->22->     each arrow adds one element
 *     out   0   3   4  11  11  15  16  22
 *
 * Work n - 1 additions, depth n - 1, bytes 8n (each element read once and written once): nothing does less work, and nothing is less
 * parallel, as every sum waits for the one before it. All other rungs buy depth with work or bytes.
 * Source: the definition; Blelloch, Prefix Sums and Their Applications, section 1.1, 1990. */
#include "rungs.h"

void ladder_scan_serially(int32_t *out, const int32_t *in, uint64_t n) {
    int32_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        const int32_t x = in[i];
        out[i] = sum;
        sum = wrap_add(sum, x);
    }
}

bool ladder_serial_scan(const struct ladder_rung *rung, struct ladder_job *job) {
    (void)rung;
    for (uint32_t repeat = 0; repeat < job->repeats; repeat++) {
        const double start = ladder_now_ms();
        ladder_scan_serially(job->out, job->in, job->n);
        ladder_record(job, (struct ladder_times){.total_ms = ladder_now_ms() - start});
    }
    return true;
}
