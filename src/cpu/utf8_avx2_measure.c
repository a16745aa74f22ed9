/* utf8_avx2_measure.c: what is in UTF-8, for AVX2: utf8_avx512_measure.c with lookups of 16, by the halves of a byte.
 *
 * Source: Keiser and Lemire, Validating UTF-8 in less than one instruction per byte, 2021. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "utf8_kernels.h"

#include "target_avx2.h"

#include "utf8_avx2_window.h" /* for these instruction sets */

/* ---- well-formed text -------------------------------------------------------------------------------------------------------- */

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

/* Not zero where something is wrong with the 32 bytes at p, given the three before it. */
ALWAYS_INLINE __m256i wrong_bytes(const uint8_t *p) {
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
    const __m256i b1 = load(p - 1);
    __m256i pairs = _mm256_shuffle_epi8(high_behind, right(b1, 4, 0x0F));
    pairs = _mm256_and_si256(pairs, _mm256_shuffle_epi8(low_behind, _mm256_and_si256(b1, bytes_of(0x0F))));
    pairs = _mm256_and_si256(pairs, _mm256_shuffle_epi8(high_here, right(load(p), 4, 0x0F)));
    /* bit 7 of these: E0 or F0 and more */
    const __m256i third = _mm256_subs_epu8(load(p - 2), bytes_of(0xE0 - 0x80)),
                  fourth = _mm256_subs_epu8(load(p - 3), bytes_of(0xF0 - 0x80));
    return _mm256_xor_si256(pairs, _mm256_and_si256(_mm256_or_si256(third, fourth), bytes_of(TWICE)));
}

/* The sum of 32 counts. */
static inline uint64_t sum_of(__m256i bytes) {
    const __m256i sums = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
    const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    return (uint64_t)_mm_cvtsi128_si64(half) + (uint64_t)_mm_extract_epi64(half, 1);
}

/* As utf8_measure_tmpl.h says. */
ALWAYS_INLINE bool measure_well(const uint8_t *p, size_t nbytes, struct utf8_good *good) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i wrong = zero, continuations = zero, of_4 = zero;
    for (size_t i = 0; i < nbytes; i += 32) {
        wrong = _mm256_or_si256(wrong, wrong_bytes(p + i));
        continuations = _mm256_sub_epi8(continuations, is_continuation(load(p + i)));
        of_4 = _mm256_sub_epi8(of_4, is_at_least(load(p + i - 3), 0xF0));
    }
    if (!_mm256_testz_si256(wrong, wrong)) return false;
    good->sequences += nbytes - sum_of(continuations);
    good->of_4 += sum_of(of_4);
    return true;
}

static inline bool is_ascii_256(const uint8_t *p) {
    __m256i any = load(p);
    for (size_t i = 32; i < 256; i += 32) any = _mm256_or_si256(any, load(p + i));
    return _mm256_movemask_epi8(any) == 0;
}

/* ---- all text ---------------------------------------------------------------------------------------------------------------- */

static inline struct utf8_ends ends_at(const uint8_t *p) { return utf8_find_ends(classify(p), (struct utf8_place){false, false}); }

#include "utf8_measure_edge_tmpl.h"

#include "utf8_measure_tmpl.h"

struct utf8_good utf8_measure_avx2(const uint8_t *in, size_t n, struct utf8_bad *bad) {
    return measure(in, n, bad);
}

#include "target_end.h"

#else
typedef int utf8_avx2_measure_is_for_x86; /* ISO C wants a declaration in every file */
#endif
