/* utf8_avx512_wrong.h: is anything wrong with 64 bytes of UTF-8?
 *
 *     by the byte before, its higher six bits    short?  long?  C0-C3, F4+  E0-E3  EC-EF  F0-F3  F4-F7  continuation
 *     by the byte before, its lower six bits       1       1    C0 C1 F5+    E0     ED     F0     F4        1
 *     by the byte, its higher six bits             no  continuation  any   80-9F  A0-BF  80-8F  90-BF  continuation
 *
 * Three lookups tell by a bit each what is wrong with two bytes in a row; the `and` of them is what is. The last bit, two continuations in
 * a row, is right exactly behind E0..FF two bytes or F0..FF three bytes before. Eleven operations for 64 bytes, and none of them for masks.
 * Included where the compiler has been told of the instruction sets.
 *
 * Source: Keiser and Lemire, Validating UTF-8 in less than one instruction per byte, 2021; there with nibbles, and a lookup of 16. */
#ifndef UPSWEEP_UTF8_AVX512_WRONG_H
#define UPSWEEP_UTF8_AVX512_WRONG_H

#include "utf8_avx512_window.h"

/* What can be wrong with two bytes in a row. */
enum {
    SHORT = 1,   /* a lead byte, and no continuation */
    LONG = 2,    /* ASCII and a continuation */
    NEVER = 4,   /* C0, C1, F5..FF and a continuation */
    OVER_3 = 8,  /* E0 80..9F */
    HALF = 16,   /* ED A0..BF */
    OVER_4 = 32, /* F0 80..8F */
    LARGE = 64,  /* F4 90..BF */
    TWICE = 128, /* two continuations */
    ALWAYS = SHORT | LONG | TWICE,
    TAKEN = LONG | NEVER | TWICE, /* what may be wrong with any continuation */
};

/* clang-format off */
#define EIGHT_TIMES(x) FOUR(x), FOUR(x)
#define SIXTEEN_TIMES(x) EIGHT_TIMES(x), EIGHT_TIMES(x)
/* by a byte >> 2 */
static const uint8_t wrong_behind[64] __attribute__((aligned(64))) = {
    SIXTEEN_TIMES(LONG), SIXTEEN_TIMES(LONG), SIXTEEN_TIMES(TWICE),                           /* 00..7F, 80..BF */
    SHORT | NEVER, SHORT, SHORT, SHORT, FOUR(SHORT),                                          /* C0..DF */
    SHORT | OVER_3, SHORT, SHORT, SHORT | HALF,                                               /* E0..EF */
    SHORT | OVER_4, SHORT | LARGE | NEVER, SHORT | NEVER, SHORT | NEVER,                      /* F0..FF */
};
/* by the lower six bits */
static const uint8_t wrong_behind_low[64] __attribute__((aligned(64))) = {
    ALWAYS | NEVER, ALWAYS | NEVER, ALWAYS, ALWAYS, TWELVE(ALWAYS), SIXTEEN_TIMES(ALWAYS),    /* C0..DF */
    ALWAYS | OVER_3, TWELVE(ALWAYS), ALWAYS | HALF, ALWAYS, ALWAYS,                           /* E0..EF */
    ALWAYS | OVER_4, ALWAYS, ALWAYS, ALWAYS, ALWAYS | LARGE,                                  /* F0..F4 */
    ALWAYS | NEVER, ALWAYS | NEVER, ALWAYS | NEVER, EIGHT_TIMES(ALWAYS | NEVER),              /* F5..FF */
};
/* by a byte >> 2 */
static const uint8_t wrong_here[64] __attribute__((aligned(64))) = {
    SIXTEEN_TIMES(SHORT), SIXTEEN_TIMES(SHORT),
    FOUR(TAKEN | OVER_3 | OVER_4), FOUR(TAKEN | OVER_3 | LARGE), EIGHT_TIMES(TAKEN | HALF | LARGE),
    SIXTEEN_TIMES(SHORT),
};
/* the greatest bytes that do not begin what a window of 64 cannot hold */
static const uint8_t last_whole[64] __attribute__((aligned(64))) = {
    SIXTEEN_TIMES(0xFF), SIXTEEN_TIMES(0xFF), SIXTEEN_TIMES(0xFF), TWELVE(0xFF), 0xFF, 0xEF, 0xDF, 0xBF,
};
/* clang-format on */

/* What is wrong with the bytes b that follow b1; TWICE may be right. */
ALWAYS_INLINE __m512i wrong_pairs(__m512i b, __m512i b1) {
    const __m512i behind = _mm512_permutexvar_epi8(_mm512_srli_epi16(b1, 2), load(wrong_behind));
    const __m512i behind_low = _mm512_permutexvar_epi8(b1, load(wrong_behind_low));
    const __m512i here = _mm512_permutexvar_epi8(_mm512_srli_epi16(b, 2), load(wrong_here));
    return _mm512_ternarylogic_epi64(behind, behind_low, here, 0x80); /* a & b & c */
}

/* Adds to `wrong` where something is wrong with the bytes b that follow b1, b2 and b3. */
ALWAYS_INLINE __m512i add_wrong_bytes(__m512i wrong, __m512i b, __m512i b1, __m512i b2, __m512i b3) {
    /* bit 7 of these: E0 or F0 and more */
    const __m512i third = _mm512_subs_epu8(b2, bytes_of(0xE0 - 0x80)), fourth = _mm512_subs_epu8(b3, bytes_of(0xF0 - 0x80));
    const __m512i wanted = _mm512_ternarylogic_epi64(third, fourth, bytes_of(TWICE), 0xA8); /* (a | b) & c */
    return _mm512_ternarylogic_epi64(wrong, wrong_pairs(b, b1), wanted, 0xF6);              /* a | (b ^ c) */
}

ALWAYS_INLINE bool is_any(__m512i bits) { return _mm512_test_epi8_mask(bits, bits) != 0; }

/* Not zero if the last bytes of a text, b, begin a sequence without ending it. Where b ends with zeros, they show it. */
ALWAYS_INLINE __m512i begun_at_end(__m512i b) { return _mm512_subs_epu8(b, load(last_whole)); }

#endif
