/* utf8_pairs.cuh: two code units of up to FFFF, in the halves of a word, to UTF-8 at once.
 *
 *     word           0041 20AC                    unit a in the lower half, unit b in the upper one
 *     marks          00 00 FF FF                  a byte each: a has 2 bytes or more, 3; b has 2 or more, 3: as numbers, 0 or -1
 *     leads          41 .. | E2 82                the first two bytes of both
 *     last           .. | AC                      the third one, if there are three
 *     string         41 E2 82 AC                  by a byte permutation, whose selector depends on a's length alone
 *
 * All of it are operations on both halves, and sums of marks with weights (dp4a, dp2a), which the multiply-add unit does: a selector, too,
 * is such a sum. Halves of a pair of surrogates have two bytes each: a *code* of twelve bits is put in place of the unit, for which the
 * rule of two bytes gives just what a surrogate's half of the four bytes is. Cost, in operations a unit: 5 for two bytes at most, 11 for
 * three, 8 more with surrogates; and as many again to append them (utf8_append.cuh). */
#ifndef UPSWEEP_CUDA_UTF8_PAIRS_CUH
#define UPSWEEP_CUDA_UTF8_PAIRS_CUH

#include "utf8_append.cuh"

/* As __byte_perm(), but 8 added to the number of a byte is for its sign: 00 or FF. */
static __device__ __forceinline__ uint32_t permute(uint32_t x, uint32_t y, uint32_t selector) {
    uint32_t r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(selector));
    return r;
}

/* One operation each, which the compiler would make more of where it sees a constant in common. */
static __device__ __forceinline__ uint32_t and_or(uint32_t x, uint32_t mask, uint32_t bits) {
    uint32_t r;
    asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(r) : "r"(x), "r"(mask), "r"(bits));
    return r;
}
static __device__ __forceinline__ uint32_t and_xor(uint32_t x, uint32_t mask, uint32_t bits) {
    uint32_t r;
    asm("lop3.b32 %0, %1, %2, %3, 0x6A;" : "=r"(r) : "r"(x), "r"(mask), "r"(bits));
    return r;
}
static __device__ __forceinline__ uint32_t choose(uint32_t mask, uint32_t x, uint32_t y) {
    uint32_t r;
    asm("lop3.b32 %0, %1, %2, %3, 0xCA;" : "=r"(r) : "r"(mask), "r"(x), "r"(y)); /* (x & mask) | (y & ~mask) */
    return r;
}

#define MARK_WEIGHT(n) ((uint32_t)(uint8_t)(-(n)) * 0x01010101u)

/* ---- units of one or two bytes ---------------------------------------------------------------------------------------------------------
 */

/* Of units below 800. The second and the fourth byte are -1: each unit has a byte at least. So the sum of all four is minus the length. */
static __device__ __forceinline__ uint32_t marks_up_to_2(uint32_t word) { return permute(word + 0x7F807F80, ~0u, 0x4B49); }

static __device__ __forceinline__ unsigned length_up_to_2(uint32_t marks, unsigned sum) {
    return (unsigned)__dp4a((int)marks, (int)MARK_WEIGHT(1), (int)sum);
}

static __device__ __forceinline__ uint32_t string_up_to_2(uint32_t word, uint32_t marks) {
    const uint32_t lead = choose(marks, word >> 6 ^ 0x00C000C0, word), last = and_or(word, 0x3F3F3F3F, 0x80808080);
    const uint32_t selector = (uint32_t)__dp2a_lo(0x03E0, (int)marks, 0x6620); /* 6240 if a has two bytes */
    return __byte_perm(lead, last, selector);
}

/* ---- units of any length ----------------------------------------------------------------------------------------------------- */

/* Units with their lowest bit lost, so that sums stay in their halves: one is at least 2 * n if bit 15 of its half of at_least(, n) is set.
 */
static __device__ __forceinline__ uint32_t halved(uint32_t word) { return word >> 1 & 0x7FFF7FFF; }
static __device__ __forceinline__ uint32_t at_least(uint32_t halved, uint32_t n) { return halved + (0x8000 - n) * 0x10001; }

/* The sum of all four is minus what the units' lengths exceed two. */
static __device__ __forceinline__ uint32_t marks_up_to_3(uint32_t is_2, uint32_t is_3) { return permute(is_2, is_3, 0xFBD9); }

static __device__ __forceinline__ unsigned length_up_to_3(uint32_t marks, unsigned sum) {
    return (unsigned)__dp4a((int)marks, (int)MARK_WEIGHT(1), (int)sum);
}

/* As if they were marks_up_to_2(), if no unit has three. */
static __device__ __forceinline__ uint32_t marks_without_3(uint32_t marks) { return marks | 0xFF00FF00; }

struct Utf8Strings {
    uint32_t first, second; /* bytes 0..3, 4..5 */
};

static __device__ __forceinline__ Utf8Strings string_up_to_3(uint32_t word, uint32_t marks) {
    const uint32_t is_2 = permute(marks, marks, 0x2200), is_3 = permute(marks, marks, 0x3311);
    const uint32_t of_2 = and_xor(word >> 6, 0x00FF00FF, and_or(word << 8, 0x3F003F00, 0x80C080C0));
    const uint32_t of_3 = and_or(word >> 12, 0x000F000F, and_or(word << 2, 0x3F003F00, 0x80E080E0));
    const uint32_t leads = choose(is_3, of_3, choose(is_2, of_2, word)), last = and_or(word, 0x3F3F3F3F, 0x80808080);
    const uint32_t first = (uint32_t)__dp2a_lo(0x0E003110, (int)marks, 0x6320);     /* 6320, 3210, 2410 for one, two, three bytes of a */
    const uint32_t second = (uint32_t)__dp2a_lo((int)0xFFA30000, (int)marks, 0x06); /* 06, 06, 63 */
    return {__byte_perm(leads, last, first), __byte_perm(leads, last, second)};
}

/* ---- surrogates -------------------------------------------------------------------------------------------------------------- */

/* Bits 15 and 31 tell of both units; the other bits mean nothing. */
static __device__ __forceinline__ uint32_t surrogates_of(uint32_t halved) {
    return at_least(halved, 0xD800 / 2) & ~at_least(halved, 0xE000 / 2);
}
static __device__ __forceinline__ uint32_t highs_of(uint32_t word, uint32_t surrogates) { return surrogates & ~(word << 5); }

/* In each half: what the unit before it has. */
static __device__ __forceinline__ uint32_t shifted_by_a_unit(uint32_t before, uint32_t word) { return __funnelshift_l(before, word, 16); }

/* Codes for the surrogates of a word, all in pairs. before: the word before it; highs: where highs are, lows: where lows. */
static __device__ __forceinline__ uint32_t codes_of_surrogates(uint32_t before, uint32_t word, uint32_t highs, uint32_t lows) {
    const uint32_t of_high = (word >> 2 & 0x00FF00FF) + 0x0C100C10;
    const uint32_t of_low = and_or(shifted_by_a_unit(before, word) << 10, 0x0C000C00, and_or(word, 0x03FF03FF, 0x10001000));
    return choose(permute(highs, highs, 0xBB99), of_high, choose(permute(lows, lows, 0xBB99), of_low, word));
}

#endif
