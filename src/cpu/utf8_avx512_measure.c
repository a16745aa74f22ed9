/* utf8_avx512_measure.c: what is in UTF-8, for AVX-512: validation, counting, and the lengths of conversions.
 *
 * Three lookups tell what is wrong (utf8_avx512_wrong.h); that is asked once in 256 bytes. Text that is not all well-formed goes through
 * windows as decoding does. */
#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "utf8_kernels.h"

#include "target_avx512.h"

#include "utf8_avx512_wrong.h" /* for these instruction sets */

/* ---- well-formed text -------------------------------------------------------------------------------------------------------- */

enum { SHORT_NBYTES = 1024 }; /* to look at them twice, if something is wrong, takes little time */

/* What is found goes into here: wrong bytes, and well-formed sequences that begin and those of four bytes that end, if none is wrong. */
struct stretch {
    __m512i wrong;
    struct utf8_good good;
};

/* mine: the bytes that are counted. */
ALWAYS_INLINE void look_at(struct stretch *s, __m512i b, __m512i b1, __m512i b2, __m512i b3, uint64_t mine) {
    s->wrong = add_wrong_bytes(s->wrong, b, b1, b2, b3);
    s->good.sequences += 64 - (uint64_t)_mm_popcnt_u64(_mm512_cmplt_epi8_mask(b, bytes_of(0xC0)) | ~mine);
    s->good.of_4 += (uint64_t)_mm_popcnt_u64(_mm512_cmpge_epu8_mask(b3, bytes_of(0xF0)) & mine);
}

/* Counts what is in the nbytes at p, a multiple of 64, unless something is wrong. Three bytes before p are there. */
ALWAYS_INLINE bool measure_well(const uint8_t *p, size_t nbytes, struct utf8_good *good) {
    struct stretch s = {_mm512_setzero_si512(), *good};
    for (size_t i = 0; i < nbytes; i += 64) look_at(&s, load(p + i), load(p + i - 1), load(p + i - 2), load(p + i - 3), ~(uint64_t)0);
    if (is_any(s.wrong)) return false;
    *good = s.good;
    return true;
}

/* The same for at most 64 bytes at in[i]; sees to it that nothing is read beside in [n]. */
static bool measure_well_within(const uint8_t *in, size_t i, size_t n, struct utf8_good *good) {
    const bool is_last = n - i < 64 && n > 64; /* with bytes before, of which all is known */
    const uint64_t there = is_last ? ~first_bits(64 - (n - i)) : first_bits(n - i);
    const struct window w = i == 0 ? first_window(in, n) : is_last ? last_window(in, n) : load_window_within(in, n, (ptrdiff_t)i);
    struct stretch s = {_mm512_setzero_si512(), *good};
    look_at(&s, w.b, w.b1, w.b2, w.b3, there);
    if ((_mm512_test_epi8_mask(s.wrong, s.wrong) & there) != 0) return false;
    *good = s.good;
    return true;
}

/* Is nothing wrong, also not at the end, of which w are the last 64 bytes? */
ALWAYS_INLINE bool is_whole(const struct stretch *s, const struct window *w) {
    return !is_any(_mm512_or_si512(s->wrong, begun_at_end(w->b)));
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

/* The 64 bytes at in[i], if there is text before. */
ALWAYS_INLINE void look_at_row(struct stretch *s, const uint8_t *in, size_t i) {
    const __m512i b = load(in + i);
    if (is_ascii_64(b) && in[i - 1] < 0x80)
        s->good.sequences += 64;
    else
        look_at(s, b, load(in + i - 1), load(in + i - 2), load(in + i - 3), ~(uint64_t)0);
}

/* How many rows of 64 bytes does the text begin with that are ASCII? All of it, if the last 64 bytes are, too. */
ALWAYS_INLINE size_t ascii_rows(const uint8_t *in, size_t n) {
    size_t i = 0;
    while (n - i >= 256 && is_ascii_256(in + i)) i += 256;
    while (n - i >= 64 && is_ascii_64(load(in + i))) i += 64;
    return n - i < 64 && is_ascii_64(load(in + n - 64)) ? n : i;
}

/* The same for more. */
ALWAYS_INLINE bool measure_rows_whole(const uint8_t *in, size_t n, struct utf8_good *good) {
    const struct window first = first_window(in, 64);
    size_t i = is_ascii_64(first.b) ? ascii_rows(in, n) : 0;
    struct stretch s = {_mm512_setzero_si512(), {i, 0}};
    *good = s.good;
    if (i == n) return true;
    if (i == 0) {
        look_at(&s, first.b, first.b1, first.b2, first.b3, ~(uint64_t)0);
        i = 64;
    }
    for (; n - i > 64; i += 64) look_at_row(&s, in, i);
    const struct window w = last_window(in, n);
    look_at(&s, w.b, w.b1, w.b2, w.b3, ~first_bits(64 - (n - i)));
    *good = s.good;
    return is_whole(&s, &w);
}

/* ---- all text ---------------------------------------------------------------------------------------------------------------- */

static struct utf8_ends window_ends(const uint8_t *in, size_t i, size_t n) {
    const ptrdiff_t at = (ptrdiff_t)i - UTF8_BEFORE;
    const bool inside = i >= UTF8_BEFORE && n - i >= 64;
    const __m512i b = inside ? load(in + at) : load_within(in, n, at), next = inside ? load(in + at + 1) : load_within(in, n, at + 1);
    return utf8_find_ends(classify(b, next));
}

#include "utf8_measure_tmpl.h"

struct utf8_good utf8_measure_avx512(const uint8_t *in, size_t n, struct utf8_bad *bad) {
    return measure(in, n, bad);
}

NOT_INLINE upsweep_status measure_few_rows(upsweep_context *ctx, upsweep_utf8_report *report, const void *in, uint64_t n,
                                           upsweep_on_error on_error) {
    struct utf8_good good;
    if (n > SHORT_NBYTES || !measure_rows_whole(in, (size_t)n, &good)) return cpu_utf8_measure_few(ctx, report, in, n, on_error);
    utf8_report_good(report, good.sequences, 0, n);
    return UPSWEEP_OK;
}

upsweep_status utf8_measure_few_avx512(upsweep_context *ctx, upsweep_utf8_report *report, const void *in, uint64_t n,
                                       upsweep_on_error on_error) {
    struct utf8_good good;
    if (n > 64) return measure_few_rows(ctx, report, in, n, on_error);
    if (!measure_window_whole(in, (size_t)n, &good)) return cpu_utf8_measure_few(ctx, report, in, n, on_error);
    utf8_report_good(report, good.sequences, 0, n);
    return UPSWEEP_OK;
}

#include "target_end.h"

#else
typedef int utf8_avx512_measure_is_for_x86; /* ISO C wants a declaration in every file */
#endif
