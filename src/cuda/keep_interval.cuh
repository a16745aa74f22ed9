/* keep_interval.cuh: from a predicate to the interval of what it keeps (keep.cuh), on the host. */
#ifndef UPSWEEP_CUDA_KEEP_INTERVAL_CUH
#define UPSWEEP_CUDA_KEEP_INTERVAL_CUH

#include <math.h>

#include "keep.cuh"
#include "launch.h"
#include "operator.cuh"

/* U: the unsigned type of an integer's width. Bounds are computed on the ordered image (a signed value with its sign bit flipped) and
 * moved back by subtracting what the flip adds. */
template <class U> static Keep<U> keep_integer(upsweep_type type, const upsweep_predicate *p) {
    const bool is_signed = type == UPSWEEP_I8 || type == UPSWEEP_I16 || type == UPSWEEP_I32 || type == UPSWEEP_I64;
    const U most = (U) ~(U)0, flip = is_signed ? (U)((U)1 << (sizeof(U) * 8 - 1)) : (U)0;
    const U value = p->cmp == UPSWEEP_NONZERO ? flip : (U)((is_signed ? (U)p->value.i : (U)p->value.u) + flip);
    U lo = 0, span = most; /* everything */
    bool negate = false;
    switch (p->cmp) {
    case UPSWEEP_EQ:
        lo = value, span = 0;
        break;
    case UPSWEEP_NE:
    case UPSWEEP_NONZERO:
        lo = value, span = 0, negate = true;
        break;
    case UPSWEEP_LE:
        span = value;
        break;
    case UPSWEEP_GT:
        span = value, negate = true;
        break;
    case UPSWEEP_GE:
        lo = value, span = (U)(most - value);
        break;
    case UPSWEEP_LT:
        lo = value, span = (U)(most - value), negate = true;
        break;
    default:
        break;
    }
    return {(U)(lo - flip), span, negate};
}

static float next_after(float x, float to) { return nextafterf(x, to); }
static double next_after(double x, double to) { return nextafter(x, to); }

/* An interval with a NaN for a bound is empty, as it should be. */
template <class T> static Keep<T> keep_float(const upsweep_predicate *p) {
    const T infinity = (T)INFINITY, value = p->cmp == UPSWEEP_NONZERO ? (T)0 : (T)p->value.f;
    const Keep<T> none = {infinity, -infinity, false};
    switch (p->cmp) {
    case UPSWEEP_EQ:
        return {value, value, false};
    case UPSWEEP_NE:
    case UPSWEEP_NONZERO:
        return {value, value, true};
    case UPSWEEP_LE:
        return {-infinity, value, false};
    case UPSWEEP_GE:
        return {value, infinity, false};
    case UPSWEEP_LT:
        return value == -infinity ? none : Keep<T>{-infinity, next_after(value, -infinity), false};
    case UPSWEEP_GT:
        return value == infinity ? none : Keep<T>{next_after(value, infinity), infinity, false};
    default:
        return {-infinity, infinity, false}; /* not NaN */
    }
}

template <class T> static Keep<T> keep_interval(upsweep_type type, const upsweep_predicate *p) {
    if constexpr (IsInteger<T>::value)
        return keep_integer<T>(type, p);
    else
        return keep_float<T>(p);
}

#endif
