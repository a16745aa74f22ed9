/* utf8_rules.cuh: what is well-formed UTF-8, for 32 bytes at a time; and single characters of UTF-8, UTF-16 and UTF-32.
 *
 *     bytes of a window    41   C3   A9   E2   82   AC  ...      byte i
 *     plane 7 (80)          0    1    1    1    1    1           bit i of plane j is bit j of byte i
 *     plane 6 (40)          1    1    0    1    0    0
 *     plane 5 (20)          0    0    1    1    0    1
 *     ...
 *     ends of sequences     1    0    1    0    0    1           logic on the planes, for all 32 bytes at once
 *
 * The rules are those of src/cpu/utf8_rules.h: which sequence a byte belongs to shows in the three bytes before it and the one after it, so
 * a window of 32 bytes tells the ends of sequences at its bits 3 to 30, and nothing is carried. Cost: 64 operations to turn bytes into
 * planes (16 byte permutes, then three rounds of swaps), 25 to see that all is well and where sequences end, 20 more if it is not;
 * comparing bytes four at a time inside 32-bit words takes more, and one byte a lane many times that. Freestanding. Source: Unicode
 * Standard, table 3-7; the transposition: Warren, Hacker's Delight, 7-3. */
#ifndef UPSWEEP_CUDA_UTF8_RULES_CUH
#define UPSWEEP_CUDA_UTF8_RULES_CUH

#include <stdint.h>

enum { UTF8_WINDOW_NBYTES = 32, UTF8_WINDOW_WORDS = 8 };

/* Of a window a lane owns those bytes that have three before them and one after them: so it can tell which of them end sequences. */
enum { WINDOW_BEFORE = 3, WINDOW_OWNED = 28 };
#define WINDOW_OWNED_BITS 0x7FFFFFF8u

/* 1, which the compiler does not know: CTAs are one-dimensional. */
static __device__ __forceinline__ uint32_t opaque_one() {
    uint32_t one;
    asm volatile("mov.u32 %0, %%ntid.y;" : "=r"(one));
    return one;
}

/* By the multiply-add unit, which idles where the integer unit is what limits: a sum, if `by` is opaque_one(). */
static __device__ __forceinline__ uint32_t multiply_add(uint32_t x, uint32_t by, uint32_t added) {
    uint32_t r;
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(by), "r"(added));
    return r;
}

/* ---- planes ------------------------------------------------------------------------------------------------------------------ */

struct BitPlanes {
    uint32_t plane[8];
};

/* (x & mask) | (y & ~mask), in one operation, which the compiler would make more of where it sees a constant in common. */
static __device__ __forceinline__ uint32_t choose(uint32_t mask, uint32_t x, uint32_t y) {
    uint32_t r;
    asm("lop3.b32 %0, %1, %2, %3, 0xCA;" : "=r"(r) : "r"(mask), "r"(x), "r"(y));
    return r;
}

/* Byte k of x[j] becomes byte j of x[k]. */
static __device__ __forceinline__ void transpose_bytes(uint32_t (&x)[4]) {
    const uint32_t a = __byte_perm(x[0], x[1], 0x5140), b = __byte_perm(x[2], x[3], 0x5140);
    const uint32_t c = __byte_perm(x[0], x[1], 0x7362), d = __byte_perm(x[2], x[3], 0x7362);
    x[0] = __byte_perm(a, b, 0x5410);
    x[1] = __byte_perm(a, b, 0x7632);
    x[2] = __byte_perm(c, d, 0x5410);
    x[3] = __byte_perm(c, d, 0x7632);
}

/* The bits of a that are not in mask change places with those of b, k bits lower, that are. */
static __device__ __forceinline__ void swap_bits(uint32_t &a, uint32_t &b, int k, uint32_t mask) {
    const uint32_t new_a = choose(mask, a, b << k);
    b = choose(mask, a >> k, b);
    a = new_a;
}

/* Four squares of 8 x 8 bits: bit j of byte 8 * b + k, which is byte b of x.plane[k], becomes bit 8 * b + k of plane j. */
static __device__ __forceinline__ void transpose_bits(BitPlanes &x) {
#pragma unroll
    for (int k = 0; k < 4; k++) swap_bits(x.plane[k], x.plane[k + 4], 4, 0x0F0F0F0Fu);
#pragma unroll
    for (int k = 0; k < 8; k += k % 4 == 1 ? 3 : 1) swap_bits(x.plane[k], x.plane[k + 2], 2, 0x33333333u);
#pragma unroll
    for (int k = 0; k < 8; k += 2) swap_bits(x.plane[k], x.plane[k + 1], 1, 0x55555555u);
}

static __device__ __forceinline__ BitPlanes planes_of(const uint32_t (&word)[UTF8_WINDOW_WORDS]) {
    uint32_t even[4] = {word[0], word[2], word[4], word[6]}, odd[4] = {word[1], word[3], word[5], word[7]};
    transpose_bytes(even);
    transpose_bytes(odd);
    BitPlanes x;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        x.plane[k] = even[k];
        x.plane[k + 4] = odd[k];
    }
    transpose_bits(x);
    return x;
}

/* ---- ends of sequences ------------------------------------------------------------------------------------------------------- */

/* What can be seen of each byte and of the one after it. */
struct Utf8Classes {
    uint32_t high, continuation;     /* 80..FF, 80..BF */
    uint32_t lead, from_e0, from_f0; /* C0..FF, E0..FF, F0..FF */
    uint32_t never;                  /* leads that begin nothing, or not with this continuation: C0, C1, E0 80, ED A0, F0 80, F4 90, F5.. */
};

static __device__ __forceinline__ Utf8Classes classes_of(const BitPlanes &x) {
    const uint32_t p0 = x.plane[0], p1 = x.plane[1], p2 = x.plane[2], p3 = x.plane[3], p4 = x.plane[4], p5 = x.plane[5];
    const uint32_t low_123 = p3 | p2 | p1; /* one of these bits is set */
    const uint32_t is_x0 = ~(low_123 | p0), is_xd = p3 & p2 & ~p1 & p0;
    const uint32_t from_a0 = p5 >> 1, from_90 = (p5 | p4) >> 1; /* if the next byte is a continuation: is it A0.., 90.. or more? */
    const uint32_t never_3 = (is_x0 & ~from_a0) | (is_xd & from_a0), never_4 = p3 | (p2 & (p1 | p0 | from_90)) | (is_x0 & ~from_90);
    Utf8Classes c;
    c.high = x.plane[7];
    c.continuation = c.high & ~x.plane[6];
    c.lead = c.high & x.plane[6];
    c.from_e0 = c.lead & p5;
    c.from_f0 = c.from_e0 & p4;
    c.never = (c.from_e0 & choose(p4, never_4, never_3)) | (c.lead & ~(p5 | p4 | low_123));
    return c;
}

/* Right at bits 3 to 30 of a window. */
struct Utf8Ends {
    uint32_t all;                     /* of any sequence */
    uint32_t ascii, of_2, of_3, of_4; /* of well-formed ones, by their length */
    uint32_t bad;                     /* of ill-formed ones, */
    uint32_t bad_2, bad_3;            /* of two or three bytes, of three */
};

/* A byte is covered if it goes on with a sequence that a byte before it has begun; sequences end before the bytes that are not. */
static __device__ __forceinline__ Utf8Ends find_ends(const Utf8Classes &c) {
    const uint32_t next = c.continuation >> 1;
    const uint32_t second = c.lead & next & ~c.never, second_34 = second & c.from_e0,
                   second_4 = second & c.from_f0; /* leads with a good second */
    const uint32_t third_34 = second_34 & c.continuation >> 2, third_4 = third_34 & second_4, fourth = third_4 & c.continuation >> 3;
    const uint32_t covered = second << 1 | third_34 << 2 | fourth << 3;
    Utf8Ends e;
    e.all = ~(covered >> 1);
    e.ascii = ~c.high;
    e.of_2 = (second & ~second_34) << 1;
    e.of_3 = (third_34 & ~third_4) << 2;
    e.of_4 = fourth << 3;
    e.bad = e.all & c.high & ~(e.of_2 | e.of_3 | e.of_4);
    e.bad_3 = (third_4 & ~fourth) << 2;
    e.bad_2 = (second_34 & ~third_34) << 1 | e.bad_3;
    return e;
}

/* Some places where a window is not well-formed, as far as it shows; none if it is. Every byte that a lead wants must be a continuation,
 * and from byte 3 on nothing else may be. Asks about byte 31 too: whether byte 30 ends its sequence depends on it. */
static __device__ __forceinline__ uint32_t what_is_wrong(const Utf8Classes &c) {
    const uint32_t wanted = c.lead << 1 | c.from_e0 << 2 | c.from_f0 << 3;
    return (wanted & ~c.continuation) | (c.continuation & ~wanted & ~7u) | (c.never & ~(1u << 31));
}

static __device__ __forceinline__ bool is_good(const Utf8Classes &c) { return what_is_wrong(c) == 0; }

/* The ends in such a window: half of the operations. */
static __device__ __forceinline__ Utf8Ends find_good_ends(const Utf8Classes &c) {
    Utf8Ends e = {~(c.continuation >> 1), ~c.high, 0, 0, c.from_f0 << 3, 0, 0, 0};
    e.of_2 = (c.lead & ~c.from_e0) << 1;
    e.of_3 = (c.from_e0 & ~c.from_f0) << 2;
    return e;
}

/* ---- one character ----------------------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ bool is_scalar(uint32_t code) { return code <= 0x10FFFF && code >> 11 != 0xD800 >> 11; }
static __device__ __forceinline__ bool is_high_surrogate(uint32_t unit) { return unit >> 10 == 0xD800 >> 10; }
static __device__ __forceinline__ bool is_low_surrogate(uint32_t unit) { return unit >> 10 == 0xDC00 >> 10; }

static __device__ __forceinline__ uint32_t utf8_length(uint32_t code) { return 1u + (code >= 0x80) + (code >= 0x800) + (code >= 0x10000); }

/* The bytes of a code point, the first one lowest. */
static __device__ __forceinline__ uint32_t utf8_of(uint32_t code) {
    const uint32_t last = 0x80 | (code & 0x3F), third = 0x80 | (code >> 6 & 0x3F), second = 0x80 | (code >> 12 & 0x3F);
    if (code < 0x80) return code;
    if (code < 0x800) return (0xC0 | code >> 6) | last << 8;
    if (code < 0x10000) return (0xE0 | code >> 12) | third << 8 | last << 16;
    return (0xF0 | code >> 18) | second << 8 | third << 16 | last << 24;
}

#endif
