/* utf8_quads.cuh: from where characters end to code units: the second half of decoding.
 *
 *   window     41  C3  A9  E2  82  AC           characters end at bytes 0, 2 and 5
 *   quads      ......41   41C3A9   A9E282AC     at each end, the four bytes up to it as they lie in memory, side by side in shared memory
 *   units      0041       00E9     20AC         four quads at a time become four units, and one aligned vector of the output
 *
 * Where no sequence is longer than two bytes, the later *half* of each quad will do. What comes before a shorter sequence is not looked at.
 * Ill-formed sequences get the quad of U+FFFD. To UTF-16, a sequence of four bytes has two: its third byte's becomes the high surrogate,
 * its last one's the low one.
 *
 * The integer unit is what limits decoding, and the multiply-add unit beside it idles. So what can be is a multiply-add: two bytes are put
 * together with weights of 64 and 1, and lose what marks them as lead and continuation, in one instruction (dp2a); the place of the next
 * quad is one; even a constant is moved by one. The compiler must not know that, or it would do better in its own eyes: hence `one`.
 * Cost: about 2 operations of the integer unit a byte, 3 of the other. */
#ifndef UPSWEEP_CUDA_UTF8_QUADS_CUH
#define UPSWEEP_CUDA_UTF8_QUADS_CUH

#include "async.cuh"
#include "utf8_rules.cuh"

#define QUAD_FFFD 0xBDBFEF00u /* EF BF BD */

/* How long the sequences of some quads are at most: decides how they are decoded. */
enum { QUADS_UP_TO_3, QUADS_UP_TO_4 };

/* ---- quads to units ---------------------------------------------------------------------------------------------------------- */

#define SIX_BITS   (64u | 1u << 16)     /* weights of two bytes that give six bits each, */
#define SIX_HIGHER (64u * 64 << 16)     /* and of the one before these two */
#define MARKS_OF_2 (0xC0u << 6 | 0x80u) /* what bytes say about themselves, with these weights */
#define MARKS_OF_3 (0xE0u << 12 | 0x80u << 6 | 0x80u)
#define MARKS_OF_4 (0xF0u << 18 | 0x80u << 12 | 0x80u << 6 | 0x80u)

/* In PTX, so that there is no branch. p: the last byte is ASCII. */
static __device__ __forceinline__ uint32_t code_up_to_2(uint32_t quad) {
    uint32_t code;
    asm("{\n.reg .pred p;\n"
        "setp.ge.s32 p, %1, 0;\n"
        "dp2a.hi.u32.u32 %0, %2, %1, %3;\n"
        "@p shr.u32 %0, %1, 24;\n}"
        : "=&r"(code)
        : "r"(quad), "r"(SIX_BITS), "r"(0 - MARKS_OF_2));
    return code;
}

/* q: the byte before the last one is no lead, so there are three. The sum for two bytes has lost MARKS_OF_2 already. */
static __device__ __forceinline__ uint32_t code_up_to_3(uint32_t quad, uint32_t one) {
    uint32_t code;
    asm("{\n.reg .pred p, q;\n.reg .u32 t;\n"
        "setp.ge.s32 p, %1, 0;\n"
        "and.b32 t, %1, 0x400000;\n"
        "setp.eq.u32 q, t, 0;\n"
        "dp2a.hi.u32.u32 %0, %2, %1, %3;\n"
        "dp2a.lo.u32.u32 t, %4, %1, %0;\n"
        "@q mad.lo.u32 %0, t, %6, %5;\n"
        "@p shr.u32 %0, %1, 24;\n}"
        : "=&r"(code)
        : "r"(quad), "r"(SIX_BITS), "r"(0 - MARKS_OF_2), "r"(SIX_HIGHER), "n"(MARKS_OF_2 - MARKS_OF_3), "r"(one));
    return code;
}

/* Up to four bytes. All predicates are single bits, so that none waits for a sum: whether the byte before the last one is a lead, so that
 * there are two, and whether the one before that is none, so that there are four. The sums have lost MARKS_OF_3. */
static __device__ __forceinline__ uint32_t code_up_to_4(uint32_t quad, uint32_t one) {
    uint32_t code;
    asm("{\n.reg .pred ascii, two, four;\n.reg .u32 t, sum, higher;\n"
        "setp.ge.s32 ascii, %1, 0;\n"
        "and.b32 t, %1, 0x400000;\nsetp.ne.u32 two, t, 0;\n"
        "and.b32 t, %1, 0x4000;\nsetp.eq.u32 four, t, 0;\n"
        "dp2a.hi.u32.u32 sum, %2, %1, %3;\n"
        "dp2a.lo.u32.u32 %0, %4, %1, sum;\n"
        "dp2a.lo.u32.u32 higher, %2, %1, %5;\n"
        "@four mad.lo.u32 %0, higher, 4096, sum;\n"
        "@two mad.lo.u32 %0, sum, %7, %6;\n"
        "@ascii shr.u32 %0, %1, 24;\n}"
        : "=&r"(code)
        : "r"(quad), "r"(SIX_BITS), "r"(0 - MARKS_OF_3), "r"(SIX_HIGHER), "r"(0 - (MARKS_OF_4 - MARKS_OF_3) / 4096),
          "n"(MARKS_OF_3 - MARKS_OF_2), "r"(one));
    return code;
}

/* The same to UTF-16. A sequence of four taken for one of three: if the quad ends with its last byte, no lead being in it, the lowest ten
 * bits of the sum are the low surrogate's; if with its third one, the lead has the bit 10, and the sum is 10000 + (code >> 6). */
static __device__ __forceinline__ uint32_t unit_up_to_4(uint32_t quad, uint32_t one) {
    uint32_t unit;
    asm("{\n.reg .pred ascii, two, low, high;\n.reg .u32 t, sum, of_low, of_high;\n"
        "setp.ge.s32 ascii, %1, 0;\n"
        "and.b32 t, %1, 0x400000;\nsetp.ne.u32 two, t, 0;\n"
        "and.b32 t, %1, 0x4000;\nsetp.eq.u32 low, t, 0;\n"
        "and.b32 t, %1, 0x1000;\nsetp.ne.u32 high, t, 0;\n"
        "dp2a.hi.u32.u32 sum, %2, %1, %3;\n"
        "dp2a.lo.u32.u32 %0, %4, %1, sum;\n"
        "shr.u32 of_high, %0, 4;\n"
        "lop3.b32 of_low, %0, 0x3FF, %5, 0xEA;\n"
        "@high mad.lo.u32 %0, of_high, %8, %7;\n"
        "@low mad.lo.u32 %0, of_low, %8, 0;\n"
        "@two mad.lo.u32 %0, sum, %8, %6;\n"
        "@ascii shr.u32 %0, %1, 24;\n}"
        : "=&r"(unit)
        : "r"(quad), "r"(SIX_BITS), "r"(0 - MARKS_OF_3), "r"(SIX_HIGHER), "r"(0xDC00), "n"(MARKS_OF_3 - MARKS_OF_2),
          "n"(0xD800 - (0x10000 >> 4) - (0x10000 >> 10)), "r"(one));
    return unit;
}

/* ---- four units, a vector ---------------------------------------------------------------------------------------------------- */

struct Utf32Units {
    typedef uint32_t Unit;
    typedef uint4 Vector4;
    template <int LONGEST> static __device__ __forceinline__ uint32_t of(uint32_t quad, uint32_t one) {
        return LONGEST == QUADS_UP_TO_3 ? code_up_to_3(quad, one) : code_up_to_4(quad, one);
    }
    static __device__ __forceinline__ Vector4 pack(uint32_t a, uint32_t b, uint32_t c, uint32_t d, bool) { return {a, b, c, d}; }
    static __device__ __forceinline__ Vector4 widen(uint32_t ascii, bool) {
        return {ascii & 0xFF, __byte_perm(ascii, 0, 0x4441), __byte_perm(ascii, 0, 0x4442), ascii >> 24};
    }
    static __device__ __forceinline__ uint32_t get(const Vector4 &v, unsigned i) { return i < 2 ? i < 1 ? v.x : v.y : i < 3 ? v.z : v.w; }
};

struct Utf16Units {
    typedef uint16_t Unit;
    typedef uint2 Vector4;
    template <int LONGEST> static __device__ __forceinline__ uint32_t of(uint32_t quad, uint32_t one) {
        return LONGEST == QUADS_UP_TO_3 ? code_up_to_3(quad, one) : unit_up_to_4(quad, one);
    }
    static __device__ __forceinline__ Vector4 pack(uint32_t a, uint32_t b, uint32_t c, uint32_t d, bool swap) {
        const uint32_t order = swap ? 0x4501 : 0x5410;
        return {__byte_perm(a, b, order), __byte_perm(c, d, order)};
    }
    static __device__ __forceinline__ Vector4 widen(uint32_t ascii, bool swap) {
        return {__byte_perm(ascii, 0, swap ? 0x1404 : 0x4140), __byte_perm(ascii, 0, swap ? 0x3424 : 0x4342)};
    }
    static __device__ __forceinline__ uint16_t get(const Vector4 &v, unsigned i) { return (uint16_t)((i < 2 ? v.x : v.y) >> (i & 1) * 16); }
};

/* ---- by a warp --------------------------------------------------------------------------------------------------------------- */

/* The quad that ends with byte i of a window, i a constant after unrolling. */
static __device__ __forceinline__ uint32_t window_quad(const uint32_t (&w)[8], int i) {
    const int k = i / 4, o = i % 4;
    return o == 3 ? w[k] : __byte_perm(w[k - 1], w[k], (unsigned)(o + 1) * 0x1111u + 0x3210u);
}

/* Puts the quads of a window's ends where they belong, from `to` on; U+FFFD's at those that are bad. Seven bytes at a time: that many bits
 * become predicates in one operation. */
template <bool ANY_BAD>
static __device__ __forceinline__ void stage_quads(uint32_t *to, const uint32_t (&w)[8], uint32_t ends, uint32_t bad) {
    const uint32_t one = opaque_one();
    unsigned at = shared_address(to);
#pragma unroll
    for (int i = WINDOW_BEFORE; i < WINDOW_BEFORE + WINDOW_OWNED; i += 7) {
        uint32_t quad[7];
#pragma unroll
        for (int j = 0; j < 7; j++) quad[j] = window_quad(w, i + j);
#pragma unroll
        for (int j = 0; j < 7; j++)
            if (ANY_BAD && (bad & 1u << (i + j))) asm volatile("mad.lo.u32 %0, %1, %2, 0;" : "=r"(quad[j]) : "r"(one), "n"(QUAD_FFFD));
#pragma unroll
        for (int j = 0; j < 7; j++) {
            if (!(ends & 1u << (i + j))) continue;
            asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(quad[j]) : "memory");
            asm volatile("mad.lo.u32 %0, %1, 4, %0;" : "+r"(at) : "r"(one));
        }
    }
}

/* The same with halves, if no sequence is longer than two bytes. */
static __device__ __forceinline__ void stage_halves(uint16_t *to, const uint32_t (&w)[8], uint32_t ends) {
    const uint32_t one = opaque_one();
    unsigned at = shared_address(to);
#pragma unroll
    for (int i = WINDOW_BEFORE; i < WINDOW_BEFORE + WINDOW_OWNED; i++) {
        const int k = i / 4, o = i % 4;
        const uint32_t half = o == 0 ? __byte_perm(w[k - 1], w[k], 0x4443) : w[k] >> 8 * (o - 1);
        if (!(ends & 1u << i)) continue;
        asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"((uint16_t)half) : "memory");
        asm volatile("mad.lo.u32 %0, %1, 2, %0;" : "+r"(at) : "r"(one));
    }
}

/* Of places [begin, end) in an aligned line: which vectors of four are wholly inside? The others' places are at most three at either end.
 */
struct Fours {
    unsigned first, end;
    __device__ __forceinline__ Fours(unsigned from, unsigned to) : first((from + 3) / 4), end(to / 4) {}
    /* A place at an end for each of the first lanes, or `to`. */
    static __device__ __forceinline__ unsigned odd_place(unsigned from, unsigned to, int lane) {
        const unsigned i = lane < 4 ? from / 4 * 4 + (unsigned)lane : to / 4 * 4 + (unsigned)lane - 4;
        return lane < 8 && i >= from && i < to ? i : to;
    }
};

/* What has been staged, and how four of it become a vector of units. */
template <class U, int LONGEST> struct StagedQuads {
    typedef uint32_t Item;
    typedef uint4 Four;
    static __device__ __forceinline__ uint32_t decode(Item quad, uint32_t one) { return U::template of<LONGEST>(quad, one); }
    static __device__ __forceinline__ typename U::Vector4 decode_four(Four t, bool swap, uint32_t one) {
        return U::pack(decode(t.x, one), decode(t.y, one), decode(t.z, one), decode(t.w, one), swap);
    }
};

template <class U> struct StagedHalves {
    typedef uint16_t Item;
    typedef uint2 Four;
    static __device__ __forceinline__ uint32_t decode(uint32_t half, uint32_t) { return code_up_to_2(half << 16); }
    static __device__ __forceinline__ typename U::Vector4 decode_four(Four t, bool swap, uint32_t) {
        return U::pack(code_up_to_2(t.x << 16), code_up_to_2(t.x), code_up_to_2(t.y << 16), code_up_to_2(t.y), swap);
    }
};

/* What is staged at [begin, end) to units [begin, end) of `line`, which is aligned as `staged` is. Lanes go round together: if those with
 * no second vector left took its first one by themselves, the warp would do the last round twice. */
template <class U, class Staged>
static __device__ __forceinline__ void store_units(typename U::Unit *line, const typename Staged::Item *staged, unsigned begin,
                                                   unsigned end, bool swap, uint32_t one, int lane) {
    typedef typename Staged::Four Four;
    typedef typename U::Vector4 Vector;
    const Fours fours(begin, end);
    const unsigned q = (unsigned)lane + ((unsigned)lane < fours.first ? 32 : 0);
    const Four *from = (const Four *)staged + q;
    Vector *to = (Vector *)line + q;
    int all_left = (int)fours.end - (int)fours.first, left = (int)fours.end - (int)q;
#pragma unroll 1
    for (; all_left > 32; all_left -= 64, left -= 64, from += 64, to += 64) {
        const bool two = left > 32;
        const Four a = from[0], b = from[two ? 32 : 0];
        __stcs(to, Staged::decode_four(a, swap, one));
        const Vector second = Staged::decode_four(b, swap, one);
        if (two) __stcs(to + 32, second);
    }
    if (left > 0) __stcs(to, Staged::decode_four(from[0], swap, one));
    const unsigned odd = Fours::odd_place(begin, end, lane);
    if (odd < end) line[odd] = U::get(U::pack(Staged::decode(staged[odd], one), 0, 0, 0, swap), 0);
}

/* N bytes of ASCII, the first of which goes to place `begin` of an aligned line, in the registers of a warp: a lane has every 32nd word, as
 * the line is aligned. */
template <unsigned N> struct AsciiRun {
    static constexpr unsigned WORDS = N / 128 + 1;
    uint32_t word[WORDS];
    uint32_t odd; /* one byte of what is no whole word, at either end */

    __device__ __forceinline__ void load(const unsigned char *s_text, unsigned begin, int lane) {
        const unsigned char *const bytes = s_text - begin;
        const unsigned shift = (unsigned)((uintptr_t)bytes % 4) * 8;
        const uint32_t *const from = (const uint32_t *)((uintptr_t)bytes & ~(uintptr_t)3) + lane;
#pragma unroll
        for (unsigned i = 0; i < WORDS; i++) word[i] = __funnelshift_r(from[32 * i], from[32 * i + 1], shift);
        odd = bytes[Fours::odd_place(begin, begin + N, lane)];
    }

    template <class U>
    __device__ __forceinline__ void store(typename U::Unit *line, unsigned begin, unsigned end, bool swap, int lane) const {
        const Fours fours(begin, end);
        typename U::Vector4 *const to = (typename U::Vector4 *)line + lane;
#pragma unroll
        for (unsigned i = 0; i < WORDS; i++) {
            const unsigned q = 32 * i + (unsigned)lane;
            if ((i > 0 || q >= fours.first) && q < fours.end) __stcs(to + 32 * i, U::widen(word[i], swap));
        }
        const unsigned place = Fours::odd_place(begin, begin + N, lane);
        if (place < end) line[place] = U::get(U::widen(odd, swap), 0);
    }
};

#endif
