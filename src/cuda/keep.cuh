/* keep.cuh: every predicate as one interval: x is kept if inside(x), lo <= x <= hi, differs from `negate`. So a kernel needs no switch in
 * its inner loop and no variant a comparison; negation is one operation on a mask of many elements. The host turns an upsweep_predicate
 * into it (keep_interval.cuh).
 *
 *     == c  [c, c]     != c  not [c, c]     < c  [lowest, just below c]     >= c  not (< c) for integers; [c, inf] for floats
 *
 * Integers of either sign are compared as unsigned offsets from lo, one subtraction and one comparison. A NaN is in no interval, so it is
 * kept exactly by the negated ones, != and nonzero: what IEEE comparisons say. */
#ifndef UPSWEEP_KEEP_CUH
#define UPSWEEP_KEEP_CUH

#include "vector.cuh"

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

/* Which elements of a word are inside: the answer is each element's highest bit. No predicate needs both ends of an interval: it has one
 * value, or it begins or ends where the type's order does. So one multiplication does, for which a multiprocessor has other units than for
 * logic, of which it is short:
 *
 *     (x ^ differ, without the highest bits) * sign + add       the lower bits' answer: no element borrows from its neighbour, or carries
 *     and x's own highest bit, or its opposite                  x >= c needs both where that of c is set; where it is clear, x < c does
 *
 * That says which are kept, or, if `flips`, which are not. */
template <class T> struct KeepWords {
    static constexpr uint32_t ONES = sizeof(T) == 1 ? 0x01010101u : 0x10001u, MOST = (T) ~(T)0, HALF = MOST / 2 + 1, TOP = ONES * HALF;
    T lo, span;
    bool negate, set /* x's own highest bit, not its opposite */, flips;
    uint32_t differ, sign, add;

    KeepWords() = default;
    __host__ __device__ __forceinline__ KeepWords(T first, T width, bool negated) : lo(first), span(width), negate(negated) {
        if (span == 0) {
            is(lo);
        } else if (lo % HALF == 0) {
            at_least((uint32_t)span + 1, lo != 0);
            flips = !flips;
        } else {
            at_least(MOST - span, (T)(lo + span) != MOST);
        }
    }
    __host__ __device__ __forceinline__ void is(uint32_t c) {
        differ = c % HALF * ONES, sign = ~0u, add = TOP;
        set = c >= HALF, flips = negate;
    }
    /* c > 0. is_signed: the order begins with the highest bit set. */
    __host__ __device__ __forceinline__ void at_least(uint32_t c, bool is_signed) {
        const bool high = c >= HALF;
        differ = 0, sign = high ? 1 : ~0u, add = (high ? HALF - c % HALF : HALF - 1 + c) * ONES;
        set = high != is_signed, flips = high == negate;
        if (c > MOST) sign = add = 0, flips = negate; /* none */
    }

    __device__ __forceinline__ bool inside(T x) const { return (T)(x - lo) <= span; }

    /* SET: `set`, for those who can afford to be compiled for both. */
    template <bool SET> __device__ __forceinline__ uint32_t word(uint32_t x) const {
        const uint32_t low = ((x ^ differ) & ~TOP) * sign + add;
        return (SET ? x : ~x) & low & TOP;
    }
};

template <> struct Keep<uint8_t> : KeepWords<uint8_t> { using KeepWords::KeepWords; };
template <> struct Keep<uint16_t> : KeepWords<uint16_t> { using KeepWords::KeepWords; };

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

/* A bit for each element of a vector: kept, or, if flips(keep), not. For Keep<T>s of which SET says `set`, if T has one or two bytes. */
template <bool SET, class T> static __device__ __forceinline__ uint32_t keep_bits_if(const Keep<T> &keep, uint4 data) {
    if constexpr (sizeof(T) <= 2) {
        const uint32_t words[4] = {keep.template word<SET>(data.x), keep.template word<SET>(data.y), keep.template word<SET>(data.z),
                                   keep.template word<SET>(data.w)};
        return sizeof(T) == 1 ? gather_bytes(words) : gather_halves(words);
    } else {
        const Vector<T, 16 / sizeof(T)> v = unpack<T, 16 / sizeof(T)>(data);
        uint32_t bits = 0;
#pragma unroll
        for (unsigned i = 0; i < 16 / sizeof(T); i++) bits |= (uint32_t)keep.inside(v.item[i]) << i;
        return bits;
    }
}

template <class T> static __device__ __forceinline__ bool flips(const Keep<T> &keep) {
    if constexpr (sizeof(T) <= 2) return keep.flips;
    return keep.negate;
}

template <class T> static __device__ __forceinline__ bool is_set(const Keep<T> &keep) {
    if constexpr (sizeof(T) <= 2) return keep.set;
    return true;
}

/* A bit for each element of a vector, or of its first VEC, that is kept. */
template <class T, int VEC> static __device__ __forceinline__ uint32_t kept_bits(const Keep<T> &keep, uint4 data) {
    if constexpr (sizeof(T) <= 2) {
        const uint32_t flip = keep.set ? 0 : keep.TOP;
        data = {data.x ^ flip, data.y ^ flip, data.z ^ flip, data.w ^ flip};
    }
    const uint32_t bits = keep_bits_if<true>(keep, data);
    return (flips(keep) ? ~bits : bits) & ((1u << VEC) - 1);
}

#endif
