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

/* ---- elements of one and two bytes, compared side by side in words of 32 bits ---- */

/* x >= c for all elements of a word, each of them c; the answer is each element's highest bit, the bits below it mean nothing. TOP: those
 * highest bits. (x | TOP) - (c without its top) borrows from no neighbour, and its top says which has the larger rest; the tops themselves
 * come before that: the majority of x, not c and the rest's answer. */
template <uint32_t TOP> struct AtLeast {
    uint32_t low, not_c;
    __device__ __forceinline__ AtLeast(uint32_t c) : low(c & ~TOP), not_c(~c) {}
    __device__ __forceinline__ uint32_t operator()(uint32_t x) const {
        const uint32_t rest = (x | TOP) - low;
        return (x & not_c) | (x & rest) | (not_c & rest);
    }
};

/* lo <= x <= lo + span is x >= lo and not x >= lo + span + 1; if that wraps around, it is the opposite of either. */
template <class T> struct InsideWords {
    static constexpr uint32_t ONES = sizeof(T) == 1 ? 0x01010101u : 0x10001u, TOP = ONES << (8 * sizeof(T) - 1);
    AtLeast<TOP> lo, end;
    bool wraps;
    __device__ __forceinline__ InsideWords(const Keep<T> &keep)
        : lo(keep.lo * ONES), end((T)(keep.lo + keep.span + 1) * ONES), wraps((uint32_t)keep.lo + keep.span + 1 > (T) ~(T)0) {}
    __device__ __forceinline__ uint32_t operator()(uint32_t x) const { return (lo(x) ^ end(x)) & TOP; }
};

/* The highest bit of each byte that is not 0. */
static __device__ __forceinline__ uint32_t nonzero_bytes(uint32_t x) { return (((x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | x) & 0x80808080u; }

/* Words of which at most the highest bits of the bytes are set: those bits side by side. */
static __device__ __forceinline__ uint32_t gather_bytes(uint32_t word) { return __dp4a(word, 0x08040201u, 0u) >> 7; }

static __device__ __forceinline__ uint32_t gather_bytes(const uint32_t (&word)[4]) {
    const uint32_t low = __dp4a(word[1], 0x80402010u, __dp4a(word[0], 0x08040201u, 0u));
    const uint32_t high = __dp4a(word[3], 0x80402010u, __dp4a(word[2], 0x08040201u, 0u));
    return (low + (high << 8)) >> 7;
}

/* The same of half-words. */
static __device__ __forceinline__ uint32_t gather_halves(const uint32_t (&word)[4]) {
    const uint32_t low = __dp2a_hi(word[1], 0x08040201u, __dp2a_lo(word[0], 0x08040201u, 0u));
    return __dp2a_hi(word[3], 0x80402010u, __dp2a_lo(word[2], 0x80402010u, low)) >> 15;
}

/* ---- vectors ---- */

/* A bit for each element of a vector: inside. */
template <class T> static __device__ __forceinline__ uint32_t inside_bits(const Keep<T> &keep, uint4 data) {
    const Vector<T, 16 / sizeof(T)> v = unpack<T, 16 / sizeof(T)>(data);
    uint32_t bits = 0;
#pragma unroll
    for (unsigned i = 0; i < 16 / sizeof(T); i++) bits |= (uint32_t)keep.inside(v.item[i]) << i;
    return bits;
}

template <> __device__ __forceinline__ uint32_t inside_bits<uint16_t>(const Keep<uint16_t> &keep, uint4 data) {
    const InsideWords<uint16_t> inside(keep);
    const uint32_t words[4] = {inside(data.x), inside(data.y), inside(data.z), inside(data.w)};
    return gather_halves(words) ^ (inside.wraps ? 0xffu : 0u);
}

template <> __device__ __forceinline__ uint32_t inside_bits<uint8_t>(const Keep<uint8_t> &keep, uint4 data) {
    const InsideWords<uint8_t> inside(keep);
    const uint32_t words[4] = {inside(data.x), inside(data.y), inside(data.z), inside(data.w)};
    return gather_bytes(words) ^ (inside.wraps ? 0xffffu : 0u);
}

#endif
