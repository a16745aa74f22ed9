/* utf8_avx512_measure.c: what is in UTF-8, for AVX-512: validation, counting, and the lengths of conversions.
 *
 *     by the byte before, its higher six bits    short?  long?  C0-C3, F4+  E0-E3  EC-EF  F0-F3  F4-F7  continuation
 *     by the byte before, its lower six bits       1       1    C0 C1 F5+    E0     ED     F0     F4        1
 *     by the byte, its higher six bits             no  continuation  any   80-9F  A0-BF  80-8F  90-BF  continuation
 *
 * Three lookups tell by a bit each what is wrong with two bytes in a row; the `and` of them is what is. The last bit, two continuations in
 * a row, is right exactly behind E0..FF two bytes or F0..FF three bytes before. Eleven operations for 64 bytes, and none of them for masks;
 * a question for 256. Text that is not all well-formed goes through the windows that decoding uses.
 *
 * Source: Keiser and Lemire, Validating UTF-8 in less than one instruction per byte, 2021; there with nibbles, and a lookup of 16. */
#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "utf8_kernels.h"

#include "target_avx512.h"

#include "utf8_avx512_window.h" /* for these instruction sets */

/* ---- well-formed text -------------------------------------------------------------------------------------------------------- */

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

/* Not zero where something is wrong with the bytes b that follow b1, b2 and b3. */
ALWAYS_INLINE __m512i wrong_bytes(__m512i b, __m512i b1, __m512i b2, __m512i b3) {
    const __m512i behind = _mm512_permutexvar_epi8(_mm512_srli_epi16(b1, 2), load(wrong_behind));
    const __m512i behind_low = _mm512_permutexvar_epi8(b1, load(wrong_behind_low));
    const __m512i here = _mm512_permutexvar_epi8(_mm512_srli_epi16(b, 2), load(wrong_here));
    /* bit 7 of these: E0 or F0 and more */
    const __m512i third = _mm512_subs_epu8(b2, bytes_of(0xE0 - 0x80)), fourth = _mm512_subs_epu8(b3, bytes_of(0xF0 - 0x80));
    const __m512i pairs = _mm512_ternarylogic_epi64(behind, behind_low, here, 0x80);        /* a & b & c */
    const __m512i wanted = _mm512_ternarylogic_epi64(third, fourth, bytes_of(TWICE), 0xA8); /* (a | b) & c */
    return _mm512_xor_si512(pairs, wanted);
}

enum { SHORT_NBYTES = 1024 }; /* to look at them twice, if something is wrong, takes little time */

/* What is found goes into here: wrong bytes, and well-formed sequences that begin and those of four bytes that end, if none is wrong. */
struct stretch {
    __m512i wrong;
    struct utf8_good good;
};

/* mine: the bytes that are counted. */
ALWAYS_INLINE void look_at(struct stretch *s, __m512i b, __m512i b1, __m512i b2, __m512i b3, uint64_t mine) {
    s->wrong = _mm512_or_si512(s->wrong, wrong_bytes(b, b1, b2, b3));
    s->good.sequences += 64 - (uint64_t)_mm_popcnt_u64(_mm512_cmplt_epi8_mask(b, bytes_of(0xC0)) | ~mine);
    s->good.of_4 += (uint64_t)_mm_popcnt_u64(_mm512_cmpge_epu8_mask(b3, bytes_of(0xF0)) & mine);
}

/* Counts what is in the nbytes at p, a multiple of 64, unless something is wrong. Three bytes before p are there. */
ALWAYS_INLINE bool measure_well(const uint8_t *p, size_t nbytes, struct utf8_good *good) {
    struct stretch s = {_mm512_setzero_si512(), *good};
    for (size_t i = 0; i < nbytes; i += 64) look_at(&s, load(p + i), load(p + i - 1), load(p + i - 2), load(p + i - 3), ~(uint64_t)0);
    if (_mm512_test_epi8_mask(s.wrong, s.wrong) != 0) return false;
    *good = s.good;
    return true;
}

/* The same for at most 64 bytes at in[i]; sees to it that nothing is read beside in [n]. */
static bool measure_well_within(const uint8_t *in, size_t i, size_t n, struct utf8_good *good) {
    const bool is_last = n - i < 64 && n >= 64 + UTF8_BEFORE; /* with bytes before, of which all is known */
    const uint64_t there = is_last ? ~first_bits(64 - (n - i)) : first_bits(n - i);
    const struct window w = i == 0 ? first_window(in, n) : is_last ? last_window(in, n) : load_window_within(in, n, (ptrdiff_t)i);
    struct stretch s = {_mm512_setzero_si512(), *good};
    look_at(&s, w.b, w.b1, w.b2, w.b3, there);
    if ((_mm512_test_epi8_mask(s.wrong, s.wrong) & there) != 0) return false;
    *good = s.good;
    return true;
}

/* How many rows of 64 bytes does the text begin with that are ASCII? All of it, if the last 64 bytes are, too. */
ALWAYS_INLINE size_t ascii_rows(const uint8_t *in, size_t n) {
    size_t i = 0;
    while (n - i >= 256 && is_ascii_256(in + i)) i += 256;
    while (n - i >= 64 && is_ascii_64(load(in + i))) i += 64;
    return n >= 64 && n - i < 64 && is_ascii_64(load(in + n - 64)) ? n : i;
}

/* Is nothing wrong, also not at the end, of which w are the last 64 bytes? */
ALWAYS_INLINE bool is_whole(const struct stretch *s, const struct window *w) {
    const __m512i wrong = _mm512_or_si512(s->wrong, _mm512_subs_epu8(w->b, load(last_whole)));
    return _mm512_test_epi8_mask(wrong, wrong) == 0;
}

/* All of a text of at most 64 bytes, unless something is wrong. What is cut off shows in the zero behind it, if there is one. */
ALWAYS_INLINE bool measure_window_whole(const uint8_t *in, size_t n, struct utf8_good *good) {
    const struct window w = first_window(in, n);
    struct stretch s = {_mm512_setzero_si512(), {0, 0}};
    *good = (struct utf8_good){n, 0};
    if (is_ascii_64(w.b)) return true;
    look_at(&s, w.b, w.b1, w.b2, w.b3, first_bits(n));
    *good = s.good;
    return is_whole(&s, &w);
}

/* The same for more. */
ALWAYS_INLINE bool measure_rows_whole(const uint8_t *in, size_t n, struct utf8_good *good) {
    size_t i = ascii_rows(in, n);
    struct stretch s = {_mm512_setzero_si512(), {i, 0}};
    *good = s.good;
    if (i == n) return true;
    if (i == 0) {
        const struct window first = first_window(in, 64);
        look_at(&s, first.b, first.b1, first.b2, first.b3, ~(uint64_t)0);
        i = 64;
    }
    for (; n - i > 64; i += 64) look_at(&s, load(in + i), load(in + i - 1), load(in + i - 2), load(in + i - 3), ~(uint64_t)0);
    const struct window w = n >= 64 + UTF8_BEFORE ? last_window(in, n) : load_window_within(in, n, (ptrdiff_t)n - 64);
    look_at(&s, w.b, w.b1, w.b2, w.b3, ~first_bits(64 - (n - i)));
    *good = s.good;
    return is_whole(&s, &w);
}

/* ---- all text ---------------------------------------------------------------------------------------------------------------- */

static struct utf8_ends window_ends(const uint8_t *in, size_t i, size_t n) {
    const bool inside = i >= 6 && n - i >= 64;
    const struct window w = inside ? load_window(in + i - UTF8_BEFORE) : load_window_within(in, n, (ptrdiff_t)i - UTF8_BEFORE);
    return utf8_find_ends(classify(&w), (struct utf8_place){false, false});
}

#include "utf8_measure_tmpl.h"

NOT_INLINE struct utf8_good measure_any(const uint8_t *in, size_t n, struct utf8_bad *bad) { return measure(in, n, bad); }

NOT_INLINE struct utf8_good measure_rows(const uint8_t *in, size_t n, struct utf8_bad *bad) {
    struct utf8_good good;
    return n <= SHORT_NBYTES && measure_rows_whole(in, n, &good) ? good : measure_any(in, n, bad);
}

struct utf8_good utf8_measure_avx512(const uint8_t *in, size_t n, struct utf8_bad *bad) {
    struct utf8_good good;
    if (n > 64) return measure_rows(in, n, bad);
    return measure_window_whole(in, n, &good) ? good : measure_any(in, n, bad);
}

#include "target_end.h"

#else
typedef int utf8_avx512_measure_is_for_x86; /* ISO C wants a declaration in every file */
#endif
