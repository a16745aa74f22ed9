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

/* 32 bytes, and those one to three places to the left of them. */
struct row {
    __m256i b, b1, b2, b3;
};

ALWAYS_INLINE struct row row_at(const uint8_t *p) { return (struct row){load(p), load(p - 1), load(p - 2), load(p - 3)}; }

/* With nothing before them. */
ALWAYS_INLINE struct row first_row(const uint8_t *p) {
    const __m256i b = load(p), before = _mm256_permute2x128_si256(b, b, 0x08); /* none, the first half */
    return (struct row){b, _mm256_alignr_epi8(b, before, 15), _mm256_alignr_epi8(b, before, 14), _mm256_alignr_epi8(b, before, 13)};
}

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

/* What is found goes into here: wrong bytes, and well-formed sequences that begin and those of four bytes that end, if none is wrong. */
struct stretch {
    __m256i wrong;
    struct utf8_good good;
};

/* mine: the bytes that are counted. */
ALWAYS_INLINE void look_at(struct stretch *s, struct row r, uint32_t mine) {
    s->wrong = _mm256_or_si256(s->wrong, wrong_bytes(r));
    s->good.sequences += (uint64_t)_mm_popcnt_u32(~(uint32_t)_mm256_movemask_epi8(is_continuation(r.b)) & mine);
    s->good.of_4 += (uint64_t)_mm_popcnt_u32((uint32_t)_mm256_movemask_epi8(is_at_least(r.b3, 0xF0)) & mine);
}

/* As utf8_measure_tmpl.h says. Unrolled, it has more constants than there are registers, and takes a third longer. */
ALWAYS_INLINE bool measure_well(const uint8_t *p, size_t nbytes, struct utf8_good *good) {
    struct stretch s = {_mm256_setzero_si256(), *good};
    NOT_UNROLLED
    for (size_t i = 0; i < nbytes; i += 32) look_at(&s, row_at(p + i), UINT32_MAX);
    if (!_mm256_testz_si256(s.wrong, s.wrong)) return false;
    *good = s.good;
    return true;
}

static inline bool is_ascii_256(const uint8_t *p) {
    __m256i any = load(p);
    for (size_t i = 32; i < 256; i += 32) any = _mm256_or_si256(any, load(p + i));
    return _mm256_movemask_epi8(any) == 0;
}

/* ---- all text ---------------------------------------------------------------------------------------------------------------- */

static inline struct utf8_ends ends_at(const uint8_t *p) { return utf8_find_ends(classify(p)); }

#include "utf8_measure_edge_tmpl.h"

#include "utf8_measure_tmpl.h"

/* ---- short text -------------------------------------------------------------------------------------------------------------- */

enum { ROW = 32, SHORT_NBYTES = 1024 /* to look at them twice, if something is wrong, takes little time */ };

/* Is nothing wrong, also not at the end, where r is the last row? What is cut off there shows only in that it has not gone on. */
ALWAYS_INLINE bool is_whole(const struct stretch *s, struct row r) {
    const __m256i last_whole = _mm256_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                -1, -1, -1, -1, -1, -1, (char)0xEF, (char)0xDF, (char)0xBF);
    const __m256i wrong = _mm256_or_si256(s->wrong, _mm256_subs_epu8(r.b, last_whole));
    return _mm256_testz_si256(wrong, wrong) != 0;
}

/* All of a text that fills a row at most, unless something is wrong. */
ALWAYS_INLINE bool measure_row_whole(const uint8_t *in, size_t n, struct utf8_good *good) {
    uint8_t filled[ROW] = {0};
    struct stretch s = {_mm256_setzero_si256(), {0, 0}};
    *good = (struct utf8_good){n, 0};
    if (is_ascii(in, n)) return true;
    memcpy(filled, in, n);
    const struct row r = first_row(filled);
    look_at(&s, r, (uint32_t)(((uint64_t)1 << n) - 1));
    *good = s.good;
    return is_whole(&s, r);
}

/* The same for more than a row and what is before a row. The last one ends where the text does: what it has in common with the one before
 * is not counted. */
ALWAYS_INLINE bool measure_rows_whole(const uint8_t *in, size_t n, struct utf8_good *good) {
    struct stretch s = {_mm256_setzero_si256(), {0, 0}};
    size_t i = 0;
    while (n - i >= 256 && is_ascii_256(in + i)) i += 256;
    while (n - i >= 64 && is_ascii_64(in + i)) i += 64;
    s.good.sequences = i;
    if (i == 0) {
        look_at(&s, first_row(in), UINT32_MAX);
        i = ROW;
    }
    for (; n - i > ROW; i += ROW) look_at(&s, row_at(in + i), UINT32_MAX);
    const struct row last = row_at(in + n - ROW);
    look_at(&s, last, (uint32_t)(UINT64_MAX << (ROW - (n - i))));
    *good = s.good;
    return is_whole(&s, last);
}

NOT_INLINE struct utf8_good measure_any(const uint8_t *in, size_t n, struct utf8_bad *bad) { return measure(in, n, bad); }

struct utf8_good utf8_measure_avx2(const uint8_t *in, size_t n, struct utf8_bad *bad) {
    struct utf8_good good;
    if (n <= ROW && measure_row_whole(in, n, &good)) return good;
    if (n > ROW + UTF8_BEFORE && n <= SHORT_NBYTES && measure_rows_whole(in, n, &good)) return good;
    return measure_any(in, n, bad);
}

#include "target_end.h"

#else
typedef int utf8_avx2_measure_is_for_x86; /* ISO C wants a declaration in every file */
#endif
