/* cpu_6_std.cpp: peers on the CPU: std::exclusive_scan and std::sort of the C++ standard library, on one thread.
 *
 *     in                   3   1   7   0   4   1   6   3
 *     std::exclusive_scan  0   3   4  11  11  15  16  22
 *     std::sort            0   1   1   3   3   4   6   7
 *
 * Scan: work n, depth n, bytes 8n: rung 1 in another language. Sort: an introspective quicksort, work O(n log n), depth the same, with the
 * comparison inlined where qsort calls through a pointer: that alone is worth a factor of about two.
 * Built only where a C++ compiler is found. Source: ISO C++17, [exclusive.scan] and [sort]; Musser, Introspective Sorting, 1997. */
#include "rungs.h"

#include <algorithm>
#include <numeric>

#define TEXT_OF(x)  #x
#define VALUE_OF(x) TEXT_OF(x)

bool ladder_std_scan(const struct ladder_rung *, struct ladder_job *job) {
    const uint32_t *in = reinterpret_cast<const uint32_t *>(job->in); /* unsigned: sums wrap */
    uint32_t *out = reinterpret_cast<uint32_t *>(job->out);
    for (uint32_t repeat = 0; repeat < job->repeats; repeat++) {
        const double start = ladder_now_ms();
        std::exclusive_scan(in, in + job->n, out, uint32_t{0});
        ladder_record(job, {ladder_now_ms() - start, 0, 0, 0});
    }
    return true;
}

bool ladder_std_sort(const struct ladder_rung *, struct ladder_job *job) {
    for (uint32_t repeat = 0; repeat < job->repeats; repeat++) {
        std::copy(job->in, job->in + job->n, job->out);
        const double start = ladder_now_ms();
        std::sort(job->out, job->out + job->n);
        ladder_record(job, {ladder_now_ms() - start, 0, 0, 0});
    }
    return true;
}

const char *ladder_std_version(void) {
#if defined(_GLIBCXX_RELEASE)
    return "libstdc++ " VALUE_OF(_GLIBCXX_RELEASE);
#elif defined(_LIBCPP_VERSION)
    return "libc++ " VALUE_OF(_LIBCPP_VERSION);
#else
    return "the C++ standard library";
#endif
}
