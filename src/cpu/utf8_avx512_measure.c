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

/* What is found goes into here: wrong bytes, and well-formed sequences that begin and those of four bytes that end, if none is wrong. */
struct stretch {
    __m512i wrong;
    struct utf8_good good;
};

ALWAYS_INLINE void look_at(struct stretch *s, __m512i b, __m512i b1, __m512i b2, __m512i b3) {
    s->wrong = _mm512_or_si512(s->wrong, wrong_bytes(b, b1, b2, b3));
    s->good.sequences += 64 - (uint64_t)_mm_popcnt_u64(_mm512_cmplt_epi8_mask(b, bytes_of(0xC0)));
    s->good.of_4 += (uint64_t)_mm_popcnt_u64(_mm512_cmpge_epu8_mask(b3, bytes_of(0xF0)));
}

/* Counts what is in the nbytes at p, a multiple of 64, unless something is wrong. Three bytes before p are there. */
ALWAYS_INLINE bool measure_well(const uint8_t *p, size_t nbytes, struct utf8_good *good) {
    struct stretch s = {_mm512_setzero_si512(), *good};
    for (size_t i = 0; i < nbytes; i += 64) look_at(&s, load(p + i), load(p + i - 1), load(p + i - 2), load(p + i - 3));
    if (_mm512_test_epi8_mask(s.wrong, s.wrong) != 0) return false;
    *good = s.good;
    return true;
}

/* The same for at most 64 bytes at in[i]; sees to it that nothing is read beside in [n]. */
static bool measure_well_within(const uint8_t *in, size_t i, size_t n, struct utf8_good *good) {
    const struct window w = load_window_within(in, n, (ptrdiff_t)i);
    struct stretch s = {_mm512_setzero_si512(), *good};
    look_at(&s, w.b, w.b1, w.b2, w.b3);
    const uint64_t there = n - i < 64 ? ((uint64_t)1 << (n - i)) - 1 : ~(uint64_t)0;
    if ((_mm512_test_epi8_mask(s.wrong, s.wrong) & there) != 0) return false;
    *good = s.good;
    good->sequences -= (uint64_t)_mm_popcnt_u64(~there);
    good->of_4 -= (uint64_t)_mm_popcnt_u64(_mm512_cmpge_epu8_mask(w.b3, bytes_of(0xF0)) & ~there); /* ends behind the text */
    return true;
}

static inline bool is_ascii_256(const uint8_t *p) {
    const __m512i first = _mm512_or_si512(load(p), load(p + 64)), second = _mm512_or_si512(load(p + 128), load(p + 192));
    return _mm512_movepi8_mask(_mm512_or_si512(first, second)) == 0;
}

/* ---- all text ---------------------------------------------------------------------------------------------------------------- */

static struct utf8_ends window_ends(const uint8_t *in, size_t i, size_t n) {
    const bool inside = i >= 6 && n - i >= 64;
    const struct window w = inside ? load_window(in + i - UTF8_BEFORE) : load_window_within(in, n, (ptrdiff_t)i - UTF8_BEFORE);
    return utf8_find_ends(classify(&w));
}

#include "utf8_measure_tmpl.h"

struct utf8_good utf8_measure_avx512(const uint8_t *in, size_t n, struct utf8_bad *bad) {
    return measure(in, n, bad);
}

#include "target_end.h"

#else
typedef int utf8_avx512_measure_is_for_x86; /* ISO C wants a declaration in every file */
#endif
