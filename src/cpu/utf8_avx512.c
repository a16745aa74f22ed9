/* utf8_avx512.c: the table of UTF-8 kernels for AVX-512 with byte permutation and compression (VBMI, VBMI2: Ice Lake, Zen 4 and newer).
 *
 * Decoding, 64 bytes at a time: code points are put together at the bytes where they end (utf8_avx512_units.h). In well-formed text those
 * are
 *
 *     not C0..FF, and not behind E0..FF            that is all for UTF-16, where four-byte sequences end twice: a pair of surrogates
 *     and not two behind F0..FF                    for UTF-32
 *
 * so the bytes one to three places to the left, loaded from there, tell by comparisons alone, and windows do not depend on one another.
 * Whether the text is well-formed is found out beside it, and asked once in GROUP bytes; if not, they are done again, by windows good for
 * 60 bytes in which the rules for whatever text tell the ends (utf8_rules.h), until 16 in a row have been well-formed. Branches are for
 * ASCII, windows below U+0800, and four-byte sequences.
 *
 * Where a text begins, zeros are shifted in; the last window ends where the text does and leaves out what has been written; stores are
 * masked where the room may end: nothing beside text and room is touched. A text of up to 256 bytes is a few such windows. Encoding is
 * in utf8_avx512_encode.c, counting in utf8_avx512_measure.c.
 *
 * Source: Keiser and Lemire, Validating UTF-8 in less than one instruction per byte, 2021, and see utf8_avx512_units.h. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "utf8_kernels.h"

#include "target_avx512.h"

#include "utf8_avx512_units.h" /* for these instruction sets */
#include "utf8_avx512_wrong.h"

enum { GROUP = 256 };

/* ---- well-formed text -------------------------------------------------------------------------------------------------------- */

/* Writes what ends at the bytes `mine` of a window of well-formed text and returns the number of code units. In any other, *wrong gets
 * bits; what is then written, no more units than bytes, means nothing. Masks come from comparisons, not from other masks: what goes to an
 * integer register and back takes 17 cycles (Zen 5, 2026-11). */
ALWAYS_INLINE unsigned decode_well(void *out, const struct window *w, __mmask64 mine, upsweep_encoding to, bool exact, __m512i *wrong) {
    const __m512i c0 = bytes_of(0xC0), e0 = bytes_of(0xE0), f0 = bytes_of(0xF0), most = _mm512_max_epu8(w->b, w->b3);
    const __mmask64 high = _mm512_movepi8_mask(w->b), from_e0 = _mm512_cmpge_epu8_mask(most, e0);
    __mmask64 emit = _mm512_mask_cmplt_epu8_mask(mine, w->b, c0);
    if (_kortestz_mask64_u8(from_e0, from_e0)) { /* neither here nor in the three bytes before: all is below U+0800 */
        *wrong = _mm512_or_si512(*wrong, wrong_pairs(w->b, w->b1));
        return store_planes(out, assemble(w, high, 0), emit, false, to, exact);
    }
    const __mmask64 from_f0 = _mm512_cmpge_epu8_mask(most, f0);
    const bool has_4 = !_kortestz_mask64_u8(from_f0, from_f0);
    emit = _mm512_mask_cmplt_epu8_mask(emit, w->b1, e0);
    if (to == UPSWEEP_UTF32) emit = _mm512_mask_cmplt_epu8_mask(emit, w->b2, f0);
    *wrong = add_wrong_bytes(*wrong, w->b, w->b1, w->b2, w->b3);
    struct planes planes = assemble(w, high, _mm512_mask_cmplt_epi8_mask(high, w->b1, c0));
    if (has_4) {
        const __mmask64 of_4 = _mm512_cmpge_epu8_mask(w->b3, f0);
        if (to == UPSWEEP_UTF32)
            planes.top = assemble_top(w, of_4);
        else
            assemble_surrogates(&planes, w, of_4, _mm512_cmpge_epu8_mask(w->b2, f0));
    }
    return store_planes(out, planes, emit, has_4, to, exact);
}

/* A text of at most 64 bytes: the number of code units, or UTF8_NOT_WELL. */
ALWAYS_INLINE size_t decode_one(void *out, const uint8_t *in, size_t n, upsweep_encoding to) {
    const struct window w = first_window(in, n);
    if (is_ascii_64(w.b)) {
        store_ascii(out, w.b, n, to, true);
        return n;
    }
    __m512i wrong = begun_at_end(w.b);
    const size_t k = decode_well(out, &w, first_bits(n), to, true, &wrong);
    return is_any(wrong) ? UTF8_NOT_WELL : k;
}

/* 64 bytes, and the byte before them if there is one; returns where the output ends. That byte is asked about last: of text that is not
 * ASCII, nobody can guess. */
ALWAYS_INLINE unsigned char *decode_row(unsigned char *end, const struct window *w, const uint8_t *before, upsweep_encoding to,
                                        __m512i *wrong) {
    if (is_ascii_64(w->b) && (before == NULL || *before < 0x80)) {
        store_ascii(end, w->b, 64, to, false);
        return end + 64 * encoding_nbytes(to);
    }
    return end + decode_well(end, w, ~(uint64_t)0, to, false, wrong) * encoding_nbytes(to);
}

/* The same at in[i], where there is text before. */
ALWAYS_INLINE unsigned char *decode_row_at(unsigned char *end, const uint8_t *in, size_t i, upsweep_encoding to, __m512i *wrong) {
    const struct window w = load_window(in + i);
    return decode_row(end, &w, in + i - 1, to, wrong);
}

/* in [i, n), at most 64 bytes at the end of a text of more. */
ALWAYS_INLINE unsigned char *decode_last(unsigned char *end, const uint8_t *in, size_t i, size_t n, upsweep_encoding to, __m512i *wrong) {
    const struct window w = last_window(in, n);
    const uint64_t owned = ~first_bits(64 - (n - i));
    if ((_mm512_movepi8_mask(w.b) & owned) == 0 && in[i - 1] < 0x80) {
        store_ascii(end, _mm512_maskz_compress_epi8(owned, w.b), n - i, to, true);
        return end + (n - i) * encoding_nbytes(to);
    }
    *wrong = _mm512_or_si512(*wrong, begun_at_end(w.b));
    return end + decode_well(end, &w, owned, to, true, wrong) * encoding_nbytes(to);
}

/* A text of more than 64 bytes, as far as it is ASCII. All if the last 64 are: what is stored twice is the same. */
ALWAYS_INLINE size_t decode_ascii(void *out, const uint8_t *in, size_t n, upsweep_encoding to) {
    const size_t unit_nbytes = encoding_nbytes(to);
    unsigned char *end = out;
    size_t i = 0;
    for (; n - i >= 256 && is_ascii_256(in + i); i += 256)
        for (size_t row = 0; row < 256; row += 64) store_ascii_row(end + (i + row) * unit_nbytes, in + i + row, to);
    for (; n - i >= 64 && is_ascii_64(load(in + i)); i += 64) store_ascii_row(end + i * unit_nbytes, in + i, to);
    if (i == n || n - i >= 64 || !is_ascii_64(load(in + n - 64))) return i;
    store_ascii_row(end + (n - 64) * unit_nbytes, in + n - 64, to);
    return n;
}

/* A text of more than 64 bytes from in[*at] on, all of which is well-formed before that, until a group is not: moves *at there, or to n.
 * Returns where the output ends. */
ALWAYS_INLINE unsigned char *decode_rows(unsigned char *end, const uint8_t *in, size_t *at, size_t n, upsweep_encoding to) {
    unsigned char *start = end;
    __m512i wrong = _mm512_setzero_si512();
    size_t i = *at;
    if (i == 0) {
        const struct window w = first_window(in, 64); /* not ASCII */
        end += decode_well(end, &w, ~(uint64_t)0, to, false, &wrong) * encoding_nbytes(to);
        i = 64;
    }
    for (;;) {
        for (const size_t stop = n - i > GROUP + 64 ? i + GROUP : n - 64; i < stop; i += 64) end = decode_row_at(end, in, i, to, &wrong);
        const bool is_last = n - i <= 64;
        if (is_last) end = decode_last(end, in, i, n, to, &wrong);
        if (is_any(wrong)) return start;
        *at = is_last ? n : i;
        if (is_last) return end;
        start = end;
    }
}

/* All of a text of 65 to 256 bytes that begins with 64 of ASCII, if there is nothing else. What windows share is stored twice. */
ALWAYS_INLINE bool decode_ascii_rows(void *out, const uint8_t *in, size_t n, upsweep_encoding to) {
    const size_t unit_nbytes = encoding_nbytes(to), last = n - 64;
    unsigned char *end = out;
    __m512i rest = load(in + last);
    if (n > 128) rest = _mm512_or_si512(rest, load(in + 64));
    if (n > 192) rest = _mm512_or_si512(rest, load(in + 128));
    if (!is_ascii_64(rest)) return false;
    store_ascii_row(end, in, to);
    if (n > 128) store_ascii_row(end + 64 * unit_nbytes, in + 64, to);
    if (n > 192) store_ascii_row(end + 128 * unit_nbytes, in + 128, to);
    store_ascii_row(end + last * unit_nbytes, in + last, to);
    return true;
}

/* A text of 65 to 256 bytes: the number of code units, or UTF8_NOT_WELL. Without a loop, for which compilers set up all that it might need:
 * 256 bytes take 15 ns instead of 22 (Zen 5, 2026-11). */
ALWAYS_INLINE size_t decode_few_rows(void *out, const uint8_t *in, size_t n, upsweep_encoding to) {
    const struct window first = first_window(in, 64);
    if (is_ascii_64(first.b) && decode_ascii_rows(out, in, n, to)) return n;
    __m512i wrong = _mm512_setzero_si512();
    unsigned char *end = decode_row(out, &first, NULL, to, &wrong);
    if (n > 128) end = decode_row_at(end, in, 64, to, &wrong);
    if (n > 192) end = decode_row_at(end, in, 128, to, &wrong);
    end = decode_last(end, in, (n - 1) / 64 * 64, n, to, &wrong);
    return is_any(wrong) ? UTF8_NOT_WELL : (size_t)(end - (unsigned char *)out) / encoding_nbytes(to);
}

/* ---- whatever text ----------------------------------------------------------------------------------------------------------- */

/* Writes what ends at the bytes `owned` of a window; bit UTF8_BEFORE is byte `at` of the text. Returns the number of code units. */
ALWAYS_INLINE size_t decode_any(void *out, const struct window *w, __m512i next, uint64_t owned, bool exact, bool replace,
                                struct utf8_bad *bad, size_t at, upsweep_encoding to, bool *is_bad) {
    const struct utf8_ends ends = utf8_find_any_ends(classify(w->b, next));
    uint64_t emit = ends.ascii | ends.of_2 | ends.of_3 | ends.of_4;
    struct planes planes = assemble(w, ~ends.ascii, ends.of_3 | ends.of_4);
    *is_bad = utf8_take_any_bad(bad, &ends, owned, at);
    if (to == UPSWEEP_UTF32 && ends.of_4 != 0) planes.top = assemble_top(w, ends.of_4);
    if (to != UPSWEEP_UTF32 && ends.of_4 != 0) {
        assemble_surrogates(&planes, w, ends.of_4, ends.of_4 >> 1);
        emit |= ends.of_4 >> 1;
    }
    if (replace) {
        planes.low = _mm512_mask_mov_epi8(planes.low, ends.bad, bytes_of(0xFD));
        planes.high = _mm512_mask_mov_epi8(planes.high, ends.bad, bytes_of(0xFF));
        emit |= ends.bad;
    }
    return store_planes(out, planes, emit & owned, ends.of_4 != 0, to, exact);
}

/* A text of at most 64 bytes, or the first 63 of more. */
ALWAYS_INLINE size_t decode_any_first(void *out, const uint8_t *in, size_t n, bool exact, bool replace, struct utf8_bad *bad,
                                      upsweep_encoding to) {
    const struct window w = first_window(in, n);
    bool is_bad;
    return decode_any(out, &w, shifted_left(w.b), first_bits(exact ? n : 63), exact, replace, bad, UTF8_BEFORE, to, &is_bad);
}

/* in [i, i + UTF8_OWNED), with six bytes before and two behind. */
ALWAYS_INLINE size_t decode_any_inner(void *out, const uint8_t *in, size_t i, bool exact, bool replace, struct utf8_bad *bad,
                                      upsweep_encoding to, bool *is_bad) {
    const uint8_t *p = in + i - UTF8_BEFORE;
    const struct window w = load_window(p);
    return decode_any(out, &w, load(p + 1), UTF8_OWNED_BITS << UTF8_BEFORE, exact, replace, bad, i, to, is_bad);
}

/* in [i, n), at most 64 - UTF8_BEFORE bytes at the end of a text of more than 64. */
ALWAYS_INLINE size_t decode_any_last(void *out, const uint8_t *in, size_t i, size_t n, bool replace, struct utf8_bad *bad,
                                     upsweep_encoding to) {
    const struct window w = last_window(in, n);
    bool is_bad;
    return decode_any(out, &w, shifted_left(w.b), ~first_bits(64 - (n - i)), true, replace, bad, n - 64 + UTF8_BEFORE, to, &is_bad);
}

/* Where something is wrong in the GROUP bytes at in[*at] and not before, in a text of more than 64: windows without a branch on whether
 * they are good, until some in a row have been. What has begun before *at without an end may be ill-formed: it is gone back to, and its
 * high surrogate, if it has been written, is written again. Returns where the output ends. */
ALWAYS_INLINE unsigned char *decode_warily_to(unsigned char *end, const uint8_t *in, size_t *at, size_t n, bool replace,
                                              struct utf8_bad *bad, upsweep_encoding to) {
    const size_t nopen = utf8_open(in, *at);
    size_t i = *at - nopen;
    if (to != UPSWEEP_UTF32 && nopen == 3) end -= encoding_nbytes(to);
    if (i == 0) {
        end += decode_any_first(end, in, 64, false, replace, bad, to) * encoding_nbytes(to);
        i = 63;
    }
    uint32_t recent = UTF8_WARY;
    bool is_bad;
    for (; recent != 0 && n - i >= 64; i += UTF8_OWNED) {
        end += decode_any_inner(end, in, i, false, replace, bad, to, &is_bad) * encoding_nbytes(to);
        recent = recent >> 1 | (is_bad ? UTF8_WARY : 0);
    }
    *at = i;
    if (recent == 0) return end;
    if (n - i > 64 - UTF8_BEFORE) { /* more than the last window can see */
        end += decode_any_inner(end, in, i, true, replace, bad, to, &is_bad) * encoding_nbytes(to);
        i += UTF8_OWNED;
    }
    *at = n;
    return end + decode_any_last(end, in, i, n, replace, bad, to) * encoding_nbytes(to);
}

/* Apart from decode(), whose loop does without its registers. */
NOT_INLINE unsigned char *decode_warily(unsigned char *end, const uint8_t *in, size_t *at, size_t n, bool replace, struct utf8_bad *bad,
                                        upsweep_encoding to) {
    if (to == UPSWEEP_UTF16LE) return decode_warily_to(end, in, at, n, replace, bad, UPSWEEP_UTF16LE);
    if (to == UPSWEEP_UTF16BE) return decode_warily_to(end, in, at, n, replace, bad, UPSWEEP_UTF16BE);
    return decode_warily_to(end, in, at, n, replace, bad, UPSWEEP_UTF32);
}

/* ---- the kernels ------------------------------------------------------------------------------------------------------------- */

enum { FEW_NBYTES = 256 };

/* A text of more than 64 bytes, of which the first i are ASCII and have been decoded. */
ALWAYS_INLINE size_t decode_rest(void *out, const uint8_t *in, size_t i, size_t n, bool replace, struct utf8_bad *bad,
                                 upsweep_encoding to) {
    unsigned char *end = (unsigned char *)out + i * encoding_nbytes(to);
    while (i < n) {
        if (n > FEW_NBYTES) end = decode_rows(end, in, &i, n, to);
        if (i < n) end = decode_warily(end, in, &i, n, replace, bad, to);
    }
    return (size_t)(end - (unsigned char *)out) / encoding_nbytes(to);
}

/* Apart from decode(), so that text which is all ASCII does not wait for what other text needs to have set up and saved. */
#define REST_TO(NAME, ENCODING)                                                                                              \
    NOT_INLINE size_t rest_to_##NAME(void *out, const uint8_t *in, size_t i, size_t n, bool replace, struct utf8_bad *bad) { \
        return decode_rest(out, in, i, n, replace, bad, ENCODING);                                                           \
    }

REST_TO(utf32, UPSWEEP_UTF32)
REST_TO(utf16le, UPSWEEP_UTF16LE)
REST_TO(utf16be, UPSWEEP_UTF16BE)

/* Any text. What is short has mostly been tried as well-formed before it comes here. */
ALWAYS_INLINE size_t decode(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad, upsweep_encoding to) {
    if (n <= 64) return decode_any_first(out, in, n, true, replace, bad, to);
    const size_t i = n > FEW_NBYTES ? decode_ascii(out, in, n, to) : 0;
    if (i == n) return n;
    if (to == UPSWEEP_UTF32) return rest_to_utf32(out, in, i, n, replace, bad);
    return (to == UPSWEEP_UTF16LE ? rest_to_utf16le : rest_to_utf16be)(out, in, i, n, replace, bad);
}

#include "utf8_decode_tmpl.h"

/* Whole calls. A text that is short and well-formed is decoded and reported without another call; and what several windows need to have
 * set up and saved, one does not wait for. */
#define FEW_TO(NAME, ENCODING)                                                                                                         \
    NOT_INLINE upsweep_status rows_to_##NAME(upsweep_context *ctx, void *out, upsweep_utf8_report *report, const void *in, uint64_t n, \
                                             const upsweep_utf8_options *options) {                                                    \
        return utf8_end_few(ctx, out, report, in, n, options, decode_few_rows(out, in, (size_t)n, ENCODING));                          \
    }                                                                                                                                  \
    static upsweep_status few_to_##NAME(upsweep_context *ctx, void *out, upsweep_utf8_report *report, const void *in, uint64_t n,      \
                                        const upsweep_utf8_options *options) {                                                         \
        if (n > 64 && n <= FEW_NBYTES) return rows_to_##NAME(ctx, out, report, in, n, options);                                        \
        const size_t k = n <= 64 ? decode_one(out, in, (size_t)n, ENCODING) : UTF8_NOT_WELL;                                           \
        return utf8_end_few(ctx, out, report, in, n, options, k);                                                                      \
    }

FEW_TO(utf32, UPSWEEP_UTF32)
FEW_TO(utf16le, UPSWEEP_UTF16LE)
FEW_TO(utf16be, UPSWEEP_UTF16BE)

const struct utf8_kernels utf8_kernels_avx512 = {
    .decode = {decode_utf32, decode_utf16le, decode_utf16be},
    .measure = utf8_measure_avx512,
    .encode = {utf32_encode_avx512, utf16le_encode_avx512, utf16be_encode_avx512},
    .decode_few = {few_to_utf32, few_to_utf16le, few_to_utf16be},
    .measure_few = utf8_measure_few_avx512,
};

#include "target_end.h"

#else
typedef int utf8_avx512_is_for_x86; /* ISO C wants a declaration in every file */
#endif
