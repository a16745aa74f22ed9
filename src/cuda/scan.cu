/* scan.cu: chooses the kernel of a scan by type and operator, and launches it.
 *
 * Signed add, mul and the bit operators are those of the unsigned type, so 44 operators serve 58 pairs. Inclusive or exclusive, init and
 * total are arguments. */
#include <type_traits>

#include "launch.h"

#include "lookback_scan.cuh"
#include "ring_scan.cuh"
#include "short.cuh"

/* By shape. */
template <class T, class Operator> struct ScanBy { template <class Shape> using Policy = LookbackScan<T, Operator, Shape>; };

template <int ELEM_NBYTES> struct ScanMid { typedef MidShape Shape; };
template <> struct ScanMid<1> { typedef ByteShape Shape; };

template <class T, template <class> class Op> static cudaError_t scan_by(const struct cuda_queue *queue, const struct scan_args *a) {
    if (ring_scan_suits(queue, a, sizeof(T))) return launch_ring_scan<T, Op<T>>(queue, a);
    const ScanArgs<T> args = {(T *)a->out,
                              (const T *)a->in,
                              a->n,
                              (const T *)a->init,
                              (T *)a->total,
                              a->inclusive,
                              (uintptr_t)a->in % 16 == 0,
                              (uintptr_t)a->out % 16 == 0};
    typedef typename ScanMid<sizeof(T)>::Shape Mid;
    const uint64_t nbytes = a->n * sizeof(T);
    cudaError_t error;
    if (launch_short<ScanBy<T, Op<T>>>(queue, args, true, &error)) return error;
    if constexpr (sizeof(T) >= 4) { /* two tiles a multiprocessor leave room for the next call's, three do not */
        if (!has_sm_each<Mid, 2>(nbytes, queue->nsms) && has_sm_each<WideShape, 2>(nbytes, queue->nsms))
            return launch_lookback<LookbackScan<T, Op<T>, WideShape>>(queue, args, a->n);
    }
    if (runs_at_once<Mid>(nbytes, queue->nsms)) return launch_lookback<LookbackScan<T, Op<T>, Mid>>(queue, args, a->n);
    return launch_lookback<LookbackScan<T, Op<T>, LargeShape>>(queue, args, a->n);
}

/* What sums run on: unsigned of the same width, or the float itself. */
template <class T, bool IS_INTEGER = IsInteger<T>::value> struct SumOf { typedef T type; };
template <class T> struct SumOf<T, true> { typedef std::make_unsigned_t<T> type; };

template <class T> static cudaError_t scan_type(const struct cuda_queue *queue, const struct scan_args *a) {
    typedef typename SumOf<T>::type U;
    if (a->op == UPSWEEP_ADD) return scan_by<U, Add>(queue, a);
    if (a->op == UPSWEEP_MUL) return scan_by<U, Mul>(queue, a);
    if (a->op == UPSWEEP_MIN) return scan_by<T, Min>(queue, a);
    if (a->op == UPSWEEP_MAX) return scan_by<T, Max>(queue, a);
    if constexpr (IsInteger<T>::value) {
        if (a->op == UPSWEEP_AND) return scan_by<U, And>(queue, a);
        if (a->op == UPSWEEP_OR) return scan_by<U, Or>(queue, a);
        if (a->op == UPSWEEP_XOR) return scan_by<U, Xor>(queue, a);
    }
    return cudaErrorInvalidValue;
}

extern "C" int cuda_launch_scan(const struct cuda_queue *queue, const struct scan_args *a, void *) {
    switch (a->type) {
#define SCAN_TYPE(enumerator, value, name, T, kind) \
    case enumerator:                                \
        return scan_type<T>(queue, a);
        UPSWEEP_TYPE_TABLE(SCAN_TYPE)
#undef SCAN_TYPE
    default:
        return cudaErrorInvalidValue;
    }
}

extern "C" int cuda_probe(int *arch) {
    cudaFuncAttributes attributes = {};
    const void *kernel = (const void *)lookback_kernel<LookbackScan<uint32_t, Add<uint32_t>, MidShape>>;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
    *arch = attributes.ptxVersion;
    return error;
}
