/* utf8_avx2_wrong.h: is anything wrong with 32 bytes of UTF-8? utf8_avx512_wrong.h with lookups of 16, by the halves of a byte. Also rows
 * of 32 bytes, loaded so that nothing beside a text is read. Included where the compiler has been told of the instruction sets.
 *
 * Source: Keiser and Lemire, Validating UTF-8 in less than one instruction per byte, 2021. */
#ifndef UPSWEEP_UTF8_AVX2_WRONG_H
#define UPSWEEP_UTF8_AVX2_WRONG_H

#include "avx2_few.h"
#include "utf8_avx2_window.h"

/* ---- rows -------------------------------------------------------------------------------------------------------------------- */

enum { ROW = 32 };

/* 32 bytes, and those one to three places to the left of them. */
struct row {
    __m256i b, b1, b2, b3;
};

ALWAYS_INLINE struct row row_at(const uint8_t *p) { return (struct row){load(p), load(p - 1), load(p - 2), load(p - 3)}; }

/* With nothing before them. */
ALWAYS_INLINE struct row first_row(__m256i b) {
    const __m256i before = _mm256_permute2x128_si256(b, b, 0x08); /* none, the first half */
    return (struct row){b, _mm256_alignr_epi8(b, before, 15), _mm256_alignr_epi8(b, before, 14), _mm256_alignr_epi8(b, before, 13)};
}

/* The bits of the last n of a row. */
ALWAYS_INLINE uint32_t last_bits(size_t n) { return (uint32_t)(UINT64_C(0xFFFFFFFF) << (ROW - n)); }

/* ---- what is wrong ----------------------------------------------------------------------------------------------------------- */

/* What can be wrong with two bytes in a row; of a byte before alone, by its halves, F5..FF are not told from F4. */
enum {
    SHORT = 1,   /* a lead byte, and no continuation */
    LONG = 2,    /* ASCII and a continuation */
    OVER_2 = 4,  /* C0, C1 and a continuation */
    OVER_3 = 8,  /* E0 80..9F */
    HALF = 16,   /* ED A0..BF */
    OVER_4 = 32, /* F0 80..8F; F5..FF 80..8F */
    LARGE = 64,  /* F4..FF 90..BF */
    TWICE = 128, /* two continuations */
    ALWAYS = SHORT | LONG | TWICE,
    ABOVE_F4 = ALWAYS | LARGE | OVER_4,
};

/* Not zero where something is wrong with the bytes of a row. */
ALWAYS_INLINE __m256i wrong_bytes(struct row r) {
    const __m256i high_behind =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, (char)TWICE, (char)TWICE, (char)TWICE,
                                                  (char)TWICE, SHORT | OVER_2, SHORT, SHORT | OVER_3 | HALF, SHORT | OVER_4 | LARGE));
    const __m256i low_behind = _mm256_broadcastsi128_si256(
        _mm_setr_epi8((char)(ALWAYS | OVER_2 | OVER_3 | OVER_4), (char)(ALWAYS | OVER_2), (char)ALWAYS, (char)ALWAYS,
                      (char)(ALWAYS | LARGE), (char)ABOVE_F4, (char)ABOVE_F4, (char)ABOVE_F4, (char)ABOVE_F4, (char)ABOVE_F4,
                      (char)ABOVE_F4, (char)ABOVE_F4, (char)ABOVE_F4, (char)(ABOVE_F4 | HALF), (char)ABOVE_F4, (char)ABOVE_F4));
    const __m256i high_here = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, (char)(LONG | OVER_2 | TWICE | OVER_3 | OVER_4),
                      (char)(LONG | OVER_2 | TWICE | OVER_3 | LARGE), (char)(LONG | OVER_2 | TWICE | HALF | LARGE),
                      (char)(LONG | OVER_2 | TWICE | HALF | LARGE), SHORT, SHORT, SHORT, SHORT));
    __m256i pairs = _mm256_shuffle_epi8(high_behind, right(r.b1, 4, 0x0F));
    pairs = _mm256_and_si256(pairs, _mm256_shuffle_epi8(low_behind, _mm256_and_si256(r.b1, bytes_of(0x0F))));
    pairs = _mm256_and_si256(pairs, _mm256_shuffle_epi8(high_here, right(r.b, 4, 0x0F)));
    /* bit 7 of these: E0 or F0 and more */
    const __m256i third = _mm256_subs_epu8(r.b2, bytes_of(0xE0 - 0x80)), fourth = _mm256_subs_epu8(r.b3, bytes_of(0xF0 - 0x80));
    return _mm256_xor_si256(pairs, _mm256_and_si256(_mm256_or_si256(third, fourth), bytes_of(TWICE)));
}

/* Not zero where a sequence begins that the text, whose last row this is, does not end: such a one shows only in that it has not gone on.
 */
ALWAYS_INLINE __m256i begun_at_end(__m256i b) {
    const __m256i last_whole = _mm256_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                -1, -1, -1, -1, -1, -1, (char)0xEF, (char)0xDF, (char)0xBF);
    return _mm256_subs_epu8(b, last_whole);
}

#endif
