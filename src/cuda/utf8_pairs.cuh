/* utf8_pairs.cuh: two code units of up to FFFF, in the halves of a word, to UTF-8 at once; and code points of up to 10FFFF one by one.
 *
 *     word           0041 20AC                    unit a in the lower half, unit b in the upper one
 *     marks          00 00 FF FF                  a byte each: a has 2 bytes or more, 3; b has 2 or more, 3: as numbers, 0 or -1
 *     leads          41 and E2                    the first bytes: units less six or twelve bits, plus C0 or E0
 *     rest           .. .. | AC 82                the last ones, and those before them, if they have so many
 *     strings        41; E2 82 AC                 by byte permutations, whose selectors depend on the lengths
 *
 * What can be is an operation on both halves, or a sum of marks with weights (dp4a, dp2a), which the multiply-add unit does: by how much a
 * unit is shifted for its lead, what is added to that, and a selector are such sums, so that nothing is chosen by masks. Halves of a pair
 * of surrogates have two bytes each: a *code* of fourteen bits is put in place of the unit, for which the rule of two bytes gives just what
 * a surrogate's half of the four bytes is. Where units of up to two bytes are alone, both go into one string. Cost, in operations of the
 * integer unit a unit: 3 for two bytes at most, 3 for three, 6 more with surrogates, 8 for code points; as many of the multiply-add unit
 * for two and three bytes, and half as many for the others; and to append them (utf8_append.cuh). */
#ifndef UPSWEEP_CUDA_UTF8_PAIRS_CUH
#define UPSWEEP_CUDA_UTF8_PAIRS_CUH

#include "utf8_append.cuh"

/* As __byte_perm(), but 8 added to the number of a byte is for its sign: 00 or FF. And without the operation that rules that out. */
static __device__ __forceinline__ uint32_t permute(uint32_t x, uint32_t y, uint32_t selector) {
    uint32_t r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(selector));
    return r;
}

/* One operation, which the compiler would make more of where it sees a constant in common. */
static __device__ __forceinline__ uint32_t and_or(uint32_t x, uint32_t mask, uint32_t bits) {
    uint32_t r;
    asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(r) : "r"(x), "r"(mask), "r"(bits));
    return r;
}

/* `sum`, less the four marks of a word. */
static __device__ __forceinline__ unsigned less_marks(uint32_t marks, unsigned sum) {
    return (unsigned)__dp4a((int)marks, (int)0xFFFFFFFF, (int)sum);
}

/* ---- units of one or two bytes ---------------------------------------------------------------------------------------------- */

/* Of units below 800. The second and the fourth byte are -1: each unit has a byte at least. So the sum of all four is minus the length. */
static __device__ __forceinline__ uint32_t marks_up_to_2(uint32_t word, uint32_t one) {
    return permute(multiply_add(word, one, 0x7F807F80), ~0u, 0x4B49);
}

static __device__ __forceinline__ unsigned nbits_up_to_2(uint32_t marks) { return (unsigned)__dp4a((int)marks, (int)0xF8F8F8F8, 0); }

/* The sum of a lead carries only in a low surrogate's code, which has zeros above to take that. */
static __device__ __forceinline__ uint32_t string_up_to_2(uint32_t word, uint32_t marks) {
    const uint32_t lead = choose(marks, (word >> 6) + 0x00C000C0, word), last = and_or(word, 0x3F3F3F3F, 0x80808080);
    const uint32_t selector = (uint32_t)__dp2a_lo(0x03E0, (int)marks, 0x6620); /* 6240 if a has two bytes */
    return permute(lead, last, selector);
}

/* ---- units of any length ----------------------------------------------------------------------------------------------------- */

/* Bits 15 and 31 tell whether units that are no more than 7FFF are at least n. */
static __device__ __forceinline__ uint32_t at_least(uint32_t word, uint32_t n, uint32_t one) {
    return multiply_add(word, one, (0x8000 - n) * 0x10001);
}
static __device__ __forceinline__ uint32_t up_to_7fff(uint32_t word) { return __vminu2(word, 0x7FFF7FFF); }

/* The sum of all four is minus what the units' lengths exceed two. */
static __device__ __forceinline__ uint32_t marks_up_to_3(uint32_t is_2, uint32_t is_3) { return permute(is_2, is_3, 0xFBD9); }

/* Of units that are left out: as if they had no byte. */
#define MARKS_OF_NONE 0x01000100u

/* Of halves of surrogate pairs. */
#define MARKS_OF_SURROGATES 0x00FF00FFu

/* Of unit a alone, and of unit b, in bits: weights of minus 8. */
static __device__ __forceinline__ unsigned nbits_of_a(uint32_t marks) { return (unsigned)__dp4a((int)marks, 0x0000F8F8, 8); }
static __device__ __forceinline__ unsigned nbits_of_b(uint32_t marks) { return (unsigned)__dp4a((int)marks, (int)0xF8F80000, 8); }

/* As if they were marks_up_to_2(), if no unit has three. */
static __device__ __forceinline__ uint32_t marks_without_3(uint32_t marks) { return marks | 0xFF00FF00; }

struct Utf8Strings {
    uint32_t a, b;
};

/* Leads: bits from 8 on mean nothing, so that 40 taken away is C0 added, and room for what that sum carries. */
static __device__ __forceinline__ Utf8Strings strings_up_to_3(uint32_t word, uint32_t marks) {
    const unsigned less_a = (unsigned)__dp4a((int)marks, 0x0000FAFA, 16), less_b = (unsigned)__dp4a((int)marks, (int)0xFAFA0000, 16);
    const uint32_t lead_a = (uint32_t)__dp4a((int)marks, 0x0000E040, (int)((word << 16) >> less_a));
    const uint32_t lead_b = (uint32_t)__dp4a((int)marks, (int)0xE0400000, (int)(word >> less_b));
    const uint32_t rest = and_or(choose(0x00FF00FF, word, word << 2), 0x3F3F3F3F, 0x80808080);
    const uint32_t selector_a = (uint32_t)__dp4a((int)marks, 0x0000F000, 0x440);      /* 440, or 450 for three bytes */
    const uint32_t selector_b = (uint32_t)__dp4a((int)marks, (int)0xF0000000, 0x660); /* 660, or 670 */
    return {permute(lead_a, rest, selector_a), permute(lead_b, rest, selector_b)};
}

/* One of two constants of an instruction that takes only one: the compiler would move it to a register anew each time. */
static __device__ __forceinline__ uint32_t in_a_register(uint32_t constant, uint32_t one) { return multiply_add(constant, one, 0); }

/* ---- surrogates -------------------------------------------------------------------------------------------------------------- */

/* Units less D800, and no more than `most`, 7FFF: less than 400 of high surrogates, less than 800 of any. */
static __device__ __forceinline__ uint32_t from_d800(uint32_t word, uint32_t most) { return __viaddmin_u16x2(word, 0x28002800, most); }

/* In bits 15 and 31. */
static __device__ __forceinline__ uint32_t no_highs(uint32_t from_d800, uint32_t one) { return at_least(from_d800, 0x400, one); }
static __device__ __forceinline__ uint32_t no_surrogates(uint32_t from_d800, uint32_t one) { return at_least(from_d800, 0x800, one); }

/* Masks of whole halves from these bits. */
static __device__ __forceinline__ uint32_t spread(uint32_t bits) { return permute(bits, bits, 0xBB99); }

/* In each half: what the unit before it has. */
static __device__ __forceinline__ uint32_t of_units_before(uint32_t before, uint32_t word) { return __funnelshift_l(before, word, 16); }

/* Codes: F0 80, and the highest 11 bits of the code point, 10000 included; 80 80, and the lowest twelve. Both from units less D800, a low
 * surrogate's with the high one's before it. Bits 14 and 15 mean nothing. */
static __device__ __forceinline__ uint32_t codes_of_highs(uint32_t from_d800) { return (from_d800 >> 2) + 0x0C100C10; }
static __device__ __forceinline__ uint32_t codes_of_lows(uint32_t from_d800, uint32_t units_before, uint32_t one) {
    return multiply_add(units_before & 0x00030003, 0x400, multiply_add(from_d800, one, 0x2C002C00));
}

/* Masks of halves. The same comparison of numbers of half precision, of which 7FFF is none, is one instruction. */
static __device__ __forceinline__ uint32_t highs_of(uint32_t from_d800) {
    uint32_t highs;
    asm("set.lt.u32.f16x2 %0, %1, %2;" : "=r"(highs) : "r"(from_d800), "r"(0x04000400));
    return highs;
}

/* Where all surrogates are in pairs: what a high one gives to the unit behind it: 8, and 3 less its lowest two bits; others nothing. Taken
 * away from a low surrogate 400 times, it leaves that one's code, and takes all other units as they are. */
static __device__ __forceinline__ uint32_t gifts_of(uint32_t from_d800, uint32_t highs) {
    uint32_t gifts;
    asm("lop3.b32 %0, %1, 0x00030003, %2, 0xAE;" : "=r"(gifts) : "r"(from_d800), "r"(0x00080008)); /* (~x & 3) | 8 */
    return gifts & highs;
}

/* ---- code points of up to 10FFFF --------------------------------------------------------------------------------------------- */

/* Three marks, of the bytes that a code point below 80000000 has beyond the first one; the fourth byte means nothing. */
static __device__ __forceinline__ uint32_t marks_up_to_4(uint32_t code, uint32_t one) {
    const uint32_t is_2 = multiply_add(code, one, 0x80000000u - 0x80), is_3 = multiply_add(code, one, 0x80000000u - 0x800);
    return permute(permute(is_2, is_3, 0xFB), multiply_add(code, one, 0x80000000u - 0x10000), 0xF10);
}

#define MARKS_OF_NONE_UP_TO_4 1u

static __device__ __forceinline__ unsigned length_up_to_4(uint32_t marks, unsigned sum) {
    return (unsigned)__dp4a((int)marks, 0x00FFFFFF, (int)sum);
}

static __device__ __forceinline__ unsigned nbits_up_to_4(uint32_t marks) { return (unsigned)__dp4a((int)marks, 0x00F8F8F8, 8); }

/* Six bits a byte, from which all leads and continuations are made: the selector is 4, 5, 16 or 127. */
static __device__ __forceinline__ uint32_t string_up_to_4(uint32_t code, uint32_t marks) {
    const uint32_t fields = choose(0x003FFFFF, choose(0x00003FFF, choose(0x0000007F, code, code << 2), code << 4), code << 6);
    const uint32_t leads = and_or(fields, 0x3F3F3F7F, 0xF0E0C000), others = and_or(fields, 0x3F3F3F3F, 0x80808080);
    const uint32_t selector = (uint32_t)__dp2a_hi((int)0x0000FEEF, (int)marks, __dp2a_lo((int)0xFFEFFFFF, (int)marks, 4));
    return permute(others, leads, selector);
}

#endif
