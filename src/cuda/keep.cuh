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

#include "block.cuh"

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

/* The lowest bit of each byte of a word, side by side: of {a, b, c, d} in {0, 1} the number dcba. */
static __device__ __forceinline__ uint32_t gather_bytes(uint32_t x) { return x * 0x01020408u >> 24; }

/* A bit for each element of a vector: inside. Small elements are compared several at a time, within 32-bit words. */
template <class T> static __device__ __forceinline__ uint32_t inside_bits(const Keep<T> &keep, uint4 data) {
    const Vector<T, 16 / sizeof(T)> v = unpack<T, 16 / sizeof(T)>(data);
    uint32_t bits = 0;
#pragma unroll
    for (unsigned i = 0; i < 16 / sizeof(T); i++) bits |= (uint32_t)keep.inside(v.item[i]) << i;
    return bits;
}

template <> __device__ __forceinline__ uint32_t inside_bits<uint16_t>(const Keep<uint16_t> &keep, uint4 data) {
    const uint32_t words[4] = {data.x, data.y, data.z, data.w}, lo = keep.lo * 0x10001u, span = keep.span * 0x10001u;
    uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t two = __vsetleu2(__vsub2(words[i], lo), span);
        bits |= ((two | two >> 15) & 3) << 2 * i;
    }
    return bits;
}

template <> __device__ __forceinline__ uint32_t inside_bits<uint8_t>(const Keep<uint8_t> &keep, uint4 data) {
    const uint32_t words[4] = {data.x, data.y, data.z, data.w}, lo = keep.lo * 0x1010101u, span = keep.span * 0x1010101u;
    uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) bits |= (gather_bytes(__vsetleu4(__vsub4(words[i], lo), span)) & 0xf) << 4 * i;
    return bits;
}

#endif
