/* peers_cub.cu: peers on the GPU: CUB's DeviceScan, DeviceSelect, DevicePartition and DeviceRadixSort, for comparison.
 *
 * CUB gets its temporary memory beforehand, 64-bit sizes as the library has them, and the same stream and arrays. It has no argsort: it
 * sorts pairs with 0, 1, 2, ..., which lie ready and are not timed, as a program that sorts often would keep them. Its partition leaves the
 * rejected elements in reverse order, which is less than the library promises. Floats are summed in an order of CUB's own, which may differ
 * from run to run. (Thrust, which is CUB plus an allocation and a synchronisation a call, is among the rungs of the ladder.)
 * Built only where the headers are found. Source: Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016;
 * Adinets and Merrill, Onesweep, 2022. */
#include <cub/device/device_partition.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <cub/version.cuh>

#include <stdio.h>

#include "bench.h"

/* The state of a call. d_temp NULL: CUB sets nbytes and does nothing else. */
struct temporary {
    void *d_temp;
    size_t nbytes;
};

struct is_kept {
    template <class T> __host__ __device__ bool operator()(T x) const { return x != T(0); }
};

static cudaStream_t stream_of(const struct call *call) { return static_cast<cudaStream_t>(call->place->stream()); }
static int64_t size_of(const struct call *call) { return static_cast<int64_t>(call->point.n); }

/* ---- the calls: each queues one, or asks for the temporary memory ------------------------------------------------------------------ */

template <class T> static cudaError_t scan(struct call *call, struct temporary *t) {
    return cub::DeviceScan::ExclusiveSum(t->d_temp, t->nbytes, static_cast<const T *>(call->in), static_cast<T *>(call->out), size_of(call),
                                         stream_of(call));
}

template <class T> static cudaError_t compact(struct call *call, struct temporary *t) {
    return cub::DeviceSelect::If(t->d_temp, t->nbytes, static_cast<const T *>(call->in), static_cast<T *>(call->out), call->count,
                                 size_of(call), is_kept(), stream_of(call));
}

template <class T> static cudaError_t compact_flags(struct call *call, struct temporary *t) {
    return cub::DeviceSelect::Flagged(t->d_temp, t->nbytes, static_cast<const T *>(call->in), call->flags, static_cast<T *>(call->out),
                                      call->count, size_of(call), stream_of(call));
}

template <class T> static cudaError_t partition(struct call *call, struct temporary *t) {
    return cub::DevicePartition::If(t->d_temp, t->nbytes, static_cast<const T *>(call->in), static_cast<T *>(call->out), call->count,
                                    size_of(call), is_kept(), stream_of(call));
}

static int bits_of(const struct call *call, size_t key_nbytes) {
    return static_cast<int>(call->point.num_bits != 0 ? call->point.num_bits : 8 * key_nbytes);
}

template <class T> static cudaError_t sort(struct call *call, struct temporary *t) {
    return cub::DeviceRadixSort::SortKeys(t->d_temp, t->nbytes, static_cast<const T *>(call->in), static_cast<T *>(call->out),
                                          size_of(call), 0, bits_of(call, sizeof(T)), stream_of(call));
}

template <class T, class Value> static cudaError_t sort_with(struct call *call, struct temporary *t) {
    const Value *values = reinterpret_cast<const Value *>(call->values);
    return cub::DeviceRadixSort::SortPairs(t->d_temp, t->nbytes, static_cast<const T *>(call->in), static_cast<T *>(call->out), values,
                                           reinterpret_cast<Value *>(call->values_out), size_of(call), 0, bits_of(call, sizeof(T)),
                                           stream_of(call));
}

template <class T> static cudaError_t sort_pairs(struct call *call, struct temporary *t) {
    if (call->point.value_nbytes == 16) return sort_with<T, uint4>(call, t);
    return call->point.value_nbytes == 8 ? sort_with<T, uint64_t>(call, t) : sort_with<T, uint32_t>(call, t);
}

template <class T> static cudaError_t argsort(struct call *call, struct temporary *t) { return sort_with<T, uint32_t>(call, t); }

/* ---- which types ------------------------------------------------------------------------------------------------------------- */

typedef cudaError_t queue_function(struct call *call, struct temporary *t);

/* X(primitive, function, enumerator, C++ type): sums of integers are of unsigned ones, so that they wrap. */
#define CALL_TABLE(X)                                     \
    X(SCAN, scan, UPSWEEP_I8, uint8_t)                    \
    X(SCAN, scan, UPSWEEP_I16, uint16_t)                  \
    X(SCAN, scan, UPSWEEP_I32, uint32_t)                  \
    X(SCAN, scan, UPSWEEP_I64, uint64_t)                  \
    X(SCAN, scan, UPSWEEP_F32, float)                     \
    X(SCAN, scan, UPSWEEP_F64, double)                    \
    X(COMPACT, compact, UPSWEEP_I32, int32_t)             \
    X(COMPACT_FLAGS, compact_flags, UPSWEEP_I32, int32_t) \
    X(PARTITION, partition, UPSWEEP_I32, int32_t)         \
    X(PARTITION_COPY, partition, UPSWEEP_I32, int32_t)    \
    X(SORT, sort, UPSWEEP_U8, uint8_t)                    \
    X(SORT, sort, UPSWEEP_U16, uint16_t)                  \
    X(SORT, sort, UPSWEEP_U32, uint32_t)                  \
    X(SORT, sort, UPSWEEP_U64, uint64_t)                  \
    X(SORT, sort, UPSWEEP_F32, float)                     \
    X(SORT, sort, UPSWEEP_F64, double)                    \
    X(SORT_PAIRS, sort_pairs, UPSWEEP_U32, uint32_t)      \
    X(SORT_PAIRS, sort_pairs, UPSWEEP_U64, uint64_t)      \
    X(ARGSORT, argsort, UPSWEEP_U32, uint32_t)            \
    X(ARGSORT, argsort, UPSWEEP_U64, uint64_t)            \
    X(ARGSORT, argsort, UPSWEEP_F32, float)

static const struct {
    enum primitive primitive;
    upsweep_type type;
    queue_function *queue;
} calls[] = {
#define CALL_ROW(primitive, function, type, c_type) {primitive, type, function<c_type>},
    CALL_TABLE(CALL_ROW)
#undef CALL_ROW
};

static cudaError_t queue(struct call *call, struct temporary *t) {
    for (const auto &row : calls) {
        if (row.primitive == call->point.primitive && row.type == call->point.type) return row.queue(call, t);
    }
    return cudaErrorInvalidValue;
}

/* ---- the subject ------------------------------------------------------------------------------------------------------------- */

static bool explain(struct call *call, cudaError_t error) {
    if (error == cudaSuccess) return true;
    cudaGetLastError();
    snprintf(call->error, sizeof call->error, "CUDA: %s", cudaGetErrorString(error));
    return false;
}

static bool run_cub(struct call *call) { return explain(call, queue(call, static_cast<struct temporary *>(call->state))); }

static bool open_cub(struct call *call) {
    struct temporary *t = new temporary();
    call->state = t;
    return run_cub(call) && explain(call, cudaMalloc(&t->d_temp, t->nbytes + 1)); /* + 1: never NULL */
}

static void close_cub(struct call *call) {
    struct temporary *t = static_cast<struct temporary *>(call->state);
    cudaFree(t->d_temp);
    delete t;
}

static const char *cub_version(void) {
    static char text[32];
    snprintf(text, sizeof text, "CUB %d.%d.%d", CUB_VERSION / 100000, CUB_VERSION / 100 % 1000, CUB_VERSION % 100);
    return text;
}

static uint32_t types_of(enum primitive primitive) {
    uint32_t types = 0;
    for (const auto &row : calls) types |= row.primitive == primitive ? 1u << row.type : 0;
    return types;
}

const struct subject *cuda_peer_at(size_t index) {
    static struct subject subjects[UTF8_DECODE]; /* one for each primitive before it: CUB has no text */
    if (index >= UTF8_DECODE) return NULL;
    const enum primitive primitive = static_cast<enum primitive>(index);
    const uint32_t params = primitive >= SORT && primitive <= ARGSORT ? LADDER_NUM_BITS : 0;
    /* algorithm, primitive, backend, types, params, reversed_rest, peer, open, run, close, rung */
    subjects[index] = {
        "cub",       primitive, LADDER_CUDA, types_of(primitive), params, primitive == PARTITION || primitive == PARTITION_COPY,
        cub_version, open_cub,  run_cub,     close_cub,           NULL};
    return &subjects[index];
}
