/* peers_hwy.cpp: vqsort of Highway, the vectorised quicksort: one thread, unstable, in place; so a sample takes in the copy of the keys to
 * the output, as one of std::sort does. It chooses its instructions itself. Built only where the library is found. */
#include "bench.h"

#include <algorithm>

#include <hwy/contrib/sort/vqsort.h>
#include <hwy/highway.h>

#define TEXT_OF(x)  #x
#define VALUE_OF(x) TEXT_OF(x)

template <class T> static bool run_typed(struct call *call) {
    const T *in = static_cast<const T *>(call->in);
    T *out = static_cast<T *>(call->out);
    std::copy(in, in + call->point.n, out);
    static const hwy::Sorter sorter;
    sorter(out, static_cast<size_t>(call->point.n), hwy::SortAscending());
    return true;
}

static bool run_vqsort(struct call *call) {
    switch (call->point.type) {
    case UPSWEEP_I32:
        return run_typed<int32_t>(call);
    case UPSWEEP_U32:
        return run_typed<uint32_t>(call);
    case UPSWEEP_U64:
        return run_typed<uint64_t>(call);
    case UPSWEEP_F32:
        return run_typed<float>(call);
    default:
        return false;
    }
}

static bool open_nothing(struct call *) { return true; }
static void close_nothing(struct call *) {}
static const char *hwy_version(void) { return "Highway " VALUE_OF(HWY_MAJOR) "." VALUE_OF(HWY_MINOR) "." VALUE_OF(HWY_PATCH); }

static const uint32_t sorted = 1u << UPSWEEP_I32 | 1u << UPSWEEP_U32 | 1u << UPSWEEP_U64 | 1u << UPSWEEP_F32;

static const struct subject subjects[] = {
    {"vqsort", SORT, LADDER_CPU, sorted, 0, false, hwy_version, open_nothing, run_vqsort, close_nothing, nullptr},
};

const struct subject *hwy_peer_at(size_t index) { return index < sizeof subjects / sizeof subjects[0] ? &subjects[index] : nullptr; }
