/* peers_std.cpp: peers on the CPU: the C++ standard library's algorithms on one thread, and in parallel where oneTBB is found.
 *
 * libstdc++ runs std::execution::par on oneTBB. Sorts work in place, so a sample of one takes in the copy of its keys to the output, as
 * the library's sort out of place does. Sums are of unsigned numbers, so that they wrap. Built only where a C++ compiler is found. */
#include "bench.h"

#include <algorithm>
#include <numeric>
#ifdef BENCH_HAVE_TBB
#include <execution>
#include <tbb/global_control.h>
#include <tbb/version.h>
#endif

#define TEXT_OF(x)  #x
#define VALUE_OF(x) TEXT_OF(x)

/* ---- one way to run all: a policy and a type ------------------------------------------------------------------------------------ */

struct serially {
    template <class T> static void scan(const T *in, T *out, uint64_t n) { std::exclusive_scan(in, in + n, out, T(0)); }
    template <class T> static T *copy_if(const T *in, T *out, uint64_t n) {
        return std::copy_if(in, in + n, out, [](T x) { return x != T(0); });
    }
    template <class T> static T *partition_copy(const T *in, T *out, T *rest, uint64_t n) {
        return std::partition_copy(in, in + n, out, rest, [](T x) { return x != T(0); }).first;
    }
    template <class T> static void sort(T *out, uint64_t n) { std::sort(out, out + n); }
};

#ifdef BENCH_HAVE_TBB
struct in_parallel {
    template <class T> static void scan(const T *in, T *out, uint64_t n) {
        std::exclusive_scan(std::execution::par_unseq, in, in + n, out, T(0));
    }
    template <class T> static T *copy_if(const T *in, T *out, uint64_t n) {
        return std::copy_if(std::execution::par_unseq, in, in + n, out, [](T x) { return x != T(0); });
    }
    template <class T> static T *partition_copy(const T *in, T *out, T *rest, uint64_t n) {
        return std::partition_copy(std::execution::par_unseq, in, in + n, out, rest, [](T x) { return x != T(0); }).first;
    }
    template <class T> static void sort(T *out, uint64_t n) { std::sort(std::execution::par_unseq, out, out + n); }
};
#endif

template <class Policy, class T> static bool run_typed(struct call *call) {
    const T *in = static_cast<const T *>(call->in);
    T *out = static_cast<T *>(call->out);
    const uint64_t n = call->point.n;
    if (call->point.primitive == SCAN) Policy::scan(in, out, n);
    if (call->point.primitive == COMPACT) *call->count = static_cast<uint64_t>(Policy::copy_if(in, out, n) - out);
    if (call->point.primitive == PARTITION_COPY) *call->count = static_cast<uint64_t>(Policy::partition_copy(in, out, out + n, n) - out);
    if (call->point.primitive == SORT) {
        std::copy(in, in + n, out);
        Policy::sort(out, n);
    }
    return true;
}

template <class Policy> static bool run_policy(struct call *call) {
    const bool is_signed = call->point.primitive == SORT;
    switch (call->point.type) {
    case UPSWEEP_I8:
    case UPSWEEP_U8:
        return run_typed<Policy, uint8_t>(call);
    case UPSWEEP_I16:
    case UPSWEEP_U16:
        return run_typed<Policy, uint16_t>(call);
    case UPSWEEP_I32:
        return is_signed ? run_typed<Policy, int32_t>(call) : run_typed<Policy, uint32_t>(call);
    case UPSWEEP_U32:
        return run_typed<Policy, uint32_t>(call);
    case UPSWEEP_I64:
    case UPSWEEP_U64:
        return run_typed<Policy, uint64_t>(call);
    case UPSWEEP_F32:
        return run_typed<Policy, float>(call);
    default:
        return run_typed<Policy, double>(call);
    }
}

static bool run_serially(struct call *call) { return run_policy<serially>(call); }

static bool open_nothing(struct call *) { return true; }
static void close_nothing(struct call *) {}

#ifdef BENCH_HAVE_TBB
static bool run_in_parallel(struct call *call) {
    try {
        return run_policy<in_parallel>(call);
    } catch (...) { /* out of memory */
        return false;
    }
}

/* The number of threads is a setting of the whole process, for as long as the object lives. */
static bool open_tbb(struct call *call) {
    const uint32_t nthreads = call->point.nthreads != 0 ? call->point.nthreads : hardware_threads();
    call->state = new tbb::global_control(tbb::global_control::max_allowed_parallelism, nthreads);
    return true;
}

static void close_tbb(struct call *call) { delete static_cast<tbb::global_control *>(call->state); }

static const char *tbb_version(void) { return "oneTBB " VALUE_OF(TBB_VERSION_MAJOR) "." VALUE_OF(TBB_VERSION_MINOR); }
#endif

static const char *std_version(void) {
#if defined(_GLIBCXX_RELEASE)
    return "libstdc++ " VALUE_OF(_GLIBCXX_RELEASE);
#elif defined(_LIBCPP_VERSION)
    return "libc++ " VALUE_OF(_LIBCPP_VERSION);
#else
    return "the C++ standard library";
#endif
}

/* ---- the table --------------------------------------------------------------------------------------------------------------- */

#define BIT(type) (1u << (type))
static const uint32_t scanned =
    BIT(UPSWEEP_I8) | BIT(UPSWEEP_I16) | BIT(UPSWEEP_I32) | BIT(UPSWEEP_I64) | BIT(UPSWEEP_F32) | BIT(UPSWEEP_F64);
static const uint32_t sorted =
    BIT(UPSWEEP_U8) | BIT(UPSWEEP_U16) | BIT(UPSWEEP_I32) | BIT(UPSWEEP_U32) | BIT(UPSWEEP_U64) | BIT(UPSWEEP_F32) | BIT(UPSWEEP_F64);

/* algorithm, primitive, backend, types, params, reversed_rest, peer, open, run, close, rung */
static const struct subject subjects[] = {
    {"std::exclusive_scan", SCAN, LADDER_CPU, scanned, 0, false, std_version, open_nothing, run_serially, close_nothing, nullptr},
    {"std::copy_if", COMPACT, LADDER_CPU, scanned, 0, false, std_version, open_nothing, run_serially, close_nothing, nullptr},
    {"std::partition_copy", PARTITION_COPY, LADDER_CPU, scanned, 0, false, std_version, open_nothing, run_serially, close_nothing, nullptr},
    {"std::sort", SORT, LADDER_CPU, sorted, 0, false, std_version, open_nothing, run_serially, close_nothing, nullptr},
#ifdef BENCH_HAVE_TBB
    {"tbb-exclusive_scan", SCAN, LADDER_CPU, scanned, LADDER_THREADS, false, tbb_version, open_tbb, run_in_parallel, close_tbb, nullptr},
    {"tbb-copy_if", COMPACT, LADDER_CPU, scanned, LADDER_THREADS, false, tbb_version, open_tbb, run_in_parallel, close_tbb, nullptr},
    {"tbb-partition_copy", PARTITION_COPY, LADDER_CPU, scanned, LADDER_THREADS, false, tbb_version, open_tbb, run_in_parallel, close_tbb,
     nullptr},
    {"tbb-sort", SORT, LADDER_CPU, sorted, LADDER_THREADS, false, tbb_version, open_tbb, run_in_parallel, close_tbb, nullptr},
#endif
};

const struct subject *std_peer_at(size_t index) { return index < sizeof subjects / sizeof subjects[0] ? &subjects[index] : nullptr; }
