/* cpu_5_qsort.c: a peer on the CPU: the C library's qsort.
 *
 *     in    3   1   7   0   4   1   6   3
 *     out   0   1   1   3   3   4   6   7
 *
 * Work O(n log n) comparisons, each a call through a pointer; depth O(n log n), as it runs on one thread; bytes 8n log n at most, most of
 * it in caches. A radix sort of 32-bit keys does 4 passes whatever n is: the comparison sort's log n and its calls are what it saves.
 * Source: ISO C17, section 7.22.5.2; Hoare, Quicksort, 1962 (glibc's is in fact a merge sort, as long as there is memory for it). */
#include "rungs.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_OF(x)  #x
#define VALUE_OF(x) TEXT_OF(x)

static int compare(const void *left, const void *right) {
    const int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

bool ladder_qsort(const struct ladder_rung *rung, struct ladder_job *job) {
    (void)rung;
    for (uint32_t repeat = 0; repeat < job->repeats; repeat++) {
        memcpy(job->out, job->in, (size_t)job->n * sizeof *job->out);
        const double start = ladder_now_ms();
        qsort(job->out, (size_t)job->n, sizeof *job->out, compare);
        ladder_record(job, (struct ladder_times){.total_ms = ladder_now_ms() - start});
    }
    return true;
}

const char *ladder_qsort_version(void) {
#ifdef __GLIBC__
    return "glibc " VALUE_OF(__GLIBC__) "." VALUE_OF(__GLIBC_MINOR__);
#else
    return "the C library";
#endif
}
