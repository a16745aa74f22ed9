/* keep.cuh: every predicate as one interval: x is kept if inside(x), lo <= x <= hi, differs from `negate`. So a kernel needs no switch in
 * its inner loop and no variant a comparison; negation is one operation on a mask of many elements. launch code on the host turns an
 * upsweep_predicate into it (keep_interval).
 *
 *     == c  [c, c]     != c  not [c, c]     < c  [lowest, just below c]     >= c  not (< c) for integers; [c, inf] for floats
 *
 * Integers of either sign are compared as unsigned offsets from lo, one subtraction and one comparison. A NaN is in no interval, so it is
 * kept exactly by the negated ones, != and nonzero: what IEEE comparisons say. */
#ifndef UPSWEEP_KEEP_CUH
#define UPSWEEP_KEEP_CUH

/* T: an unsigned type, or float or double. */
template <class T> struct Keep {
    T lo, span; /* kept: x - lo <= span, in wrapping arithmetic */
    bool negate;
    __device__ __forceinline__ bool inside(T x) const { return (T)(x - lo) <= span; }
};

template <> struct Keep<float> {
    float lo, hi;
    bool negate;
    __device__ __forceinline__ bool inside(float x) const { return lo <= x && x <= hi; }
};

template <> struct Keep<double> {
    double lo, hi;
    bool negate;
    __device__ __forceinline__ bool inside(double x) const { return lo <= x && x <= hi; }
};

#endif
