/* utf8_avx512.c: the table of UTF-8 kernels for AVX-512 with byte permutation and compression (VBMI, VBMI2: Ice Lake, Zen 4 and newer).
 *
 * Decoding, 60 bytes at a time, whatever the lengths of the sequences; the branches are for ASCII, ill-formed text, and four-byte
 * sequences:
 *
 *     text        E2 82 AC | 41 | C3 A9            EUR sign, A, e acute
 *     ends         .  .  1    1    .  1            by masks in 64-bit registers (utf8_rules.h), also where a sequence is ill-formed
 *     low bytes    .  .  AC   41   .  E9           of the code point that ends here, if one does: this byte, and the one before
 *     high bytes   .  .  20   00   .  00           the one before and the one before that, loaded from one and two bytes further left
 *     compressed   AC 41 E9 | 20 00 00             vpcompressb, twice (thrice if there are four-byte sequences)
 *     woven        20AC 0041 00E9                  vpermt2b to 16 or 32 bits, in either byte order
 *
 * Assembling code points where they stand costs a few operations a window; to gather their bytes behind the compression, 16 at a time, took
 * seven operations for each 16. A surrogate pair is two code units that end one byte apart, so UTF-16 needs no second expansion.
 * Where a text begins, what is before it is shifted in; the last window ends where the text does and leaves out what has been written;
 * stores are masked where the room may end: nothing beside text and room is touched.
 * Encoding is in utf8_avx512_encode.c, counting in utf8_avx512_measure.c.
 *
 * Source: Keiser and Lemire, Validating UTF-8 in less than one instruction per byte, 2021; Clausecker and Lemire, Transcoding Unicode
 * characters with AVX-512 instructions, 2023 (compression; here without a dependence from one window to the next). */
#if defined(__x86_64__)

#include <immintrin.h>

#include "utf8_kernels.h"

#include "target_avx512.h"

#include "utf8_avx512_window.h" /* for these instruction sets */

/* ---- decode ------------------------------------------------------------------------------------------------------------------ */

/* Code units by byte: low, high, and for UTF-32 what is above 16 bits. */
struct planes {
    __m512i low, high, top;
};

/* The code point that ends at each byte of a window, wherever one does. */
ALWAYS_INLINE struct planes assemble(const struct window *w, const struct utf8_ends *ends) {
    const __m512i b1 = _mm512_maskz_mov_epi8(~ends->ascii, w->b1), b2 = _mm512_maskz_mov_epi8(ends->of_3 | ends->of_4, w->b2);
    const __m512i from_b1 = _mm512_and_si512(_mm512_slli_epi16(b1, 6), bytes_of(0xC0));
    return (struct planes){
        .low = _mm512_or_si512(_mm512_and_si512(w->b, bytes_of(0x7F)), from_b1),
        .high = select_bits(bytes_of(0x0F), _mm512_srli_epi16(b1, 2), _mm512_slli_epi16(b2, 4)),
        .top = _mm512_setzero_si512(),
    };
}

ALWAYS_INLINE __m512i assemble_top(const struct window *w, uint64_t of_4) {
    const __m512i b2 = _mm512_maskz_mov_epi8(of_4, w->b2), b3 = _mm512_maskz_mov_epi8(of_4, w->b3);
    const __m512i low = _mm512_and_si512(_mm512_srli_epi16(b2, 4), bytes_of(0x03));
    return _mm512_or_si512(low, _mm512_and_si512(_mm512_slli_epi16(b3, 2), bytes_of(0x1C)));
}

/* Makes surrogate pairs of the four-byte sequences: the low one where the sequence ends, the high one at the byte before.
 * high = D800 + (code >> 10) - 40, where code >> 10 is three bits of the first byte, six of the second, two of the third. */
ALWAYS_INLINE void assemble_surrogates(struct planes *planes, const struct window *w, uint64_t of_4) {
    const uint64_t third = of_4 >> 1;
    const __m512i b = w->b, b1 = w->b1, b2 = w->b2;
    const __m512i low_high = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi16(b1, 2), bytes_of(0x03)), bytes_of(0xDC));
    planes->high = _mm512_mask_mov_epi8(planes->high, of_4, low_high);

    const __m512i bits = select_bits(bytes_of(0x03), _mm512_srli_epi16(b, 4), _mm512_and_si512(_mm512_slli_epi16(b1, 2), bytes_of(0xFC)));
    const uint64_t borrow = _mm512_cmplt_epu8_mask(bits, bytes_of(0x40));
    const __m512i prefix = _mm512_add_epi8(_mm512_and_si512(b2, bytes_of(0x07)), bytes_of(0xD8));
    planes->low = _mm512_mask_sub_epi8(planes->low, third, bits, bytes_of(0x40));
    planes->high = _mm512_mask_mov_epi8(planes->high, third, _mm512_mask_sub_epi8(prefix, borrow, prefix, bytes_of(1)));
}

/* Weaves the first k bytes of compressed planes into code units. */

/* Indices for vpermt2b: byte i of the first operand is i, of the second 64 + i. */
#define PAIR_LE(i)    (char)(i), (char)(64 + (i))
#define PAIR_BE(i)    (char)(64 + (i)), (char)(i)
#define QUAD(i)       (char)(i), (char)(64 + (i)), (char)(i), 0
#define EIGHT(X, i)   X(i), X((i) + 1), X((i) + 2), X((i) + 3), X((i) + 4), X((i) + 5), X((i) + 6), X((i) + 7)
#define SIXTEEN(X, i) EIGHT(X, i), EIGHT(X, (i) + 8)

static const char weave_le[64] __attribute__((aligned(64))) = {SIXTEEN(PAIR_LE, 0), SIXTEEN(PAIR_LE, 16)};
static const char weave_be[64] __attribute__((aligned(64))) = {SIXTEEN(PAIR_BE, 0), SIXTEEN(PAIR_BE, 16)};
static const char weave_quads[64] __attribute__((aligned(64))) = {SIXTEEN(QUAD, 0)};

/* Writes a half or a quarter of 64 code units of which the first k are there. exact: nothing past those, else a full vector. */
ALWAYS_INLINE void store_units(uint16_t *out, __m512i units, unsigned half, size_t k, bool exact) {
    if (exact)
        _mm512_mask_storeu_epi16(out + 32 * half, (__mmask32)(first_bits(k) >> 32 * half), units);
    else
        _mm512_storeu_si512(out + 32 * half, units);
}

ALWAYS_INLINE void store_codes(uint32_t *out, __m512i codes, unsigned quarter, size_t k, bool exact) {
    if (exact)
        _mm512_mask_storeu_epi32(out + 16 * quarter, (__mmask16)(first_bits(k) >> 16 * quarter), codes);
    else
        _mm512_storeu_si512(out + 16 * quarter, codes);
}

ALWAYS_INLINE void store_utf16(uint16_t *out, __m512i low, __m512i high, unsigned k, bool big_endian, bool exact) {
    const __m512i at = load(big_endian ? weave_be : weave_le);
    for (unsigned half = 0; half < (k > 32 ? 2 : 1); half++)
        store_units(out, _mm512_permutex2var_epi8(low, _mm512_add_epi8(at, bytes_of((int)(32 * half))), high), half, k, exact);
}

ALWAYS_INLINE __m512i weave_utf32(struct planes planes, unsigned quarter, bool has_top) {
    const __m512i at = _mm512_add_epi8(load(weave_quads), bytes_of((int)(16 * quarter)));
    const __m512i codes = _mm512_maskz_permutex2var_epi8(0x3333333333333333, planes.low, at, planes.high);
    return has_top ? _mm512_mask_permutexvar_epi8(codes, 0x4444444444444444, at, planes.top) : codes;
}

ALWAYS_INLINE void store_utf32(uint32_t *out, struct planes planes, unsigned k, bool has_top, bool exact) {
    /* Two quarters suffice for 32; but that is what a window of Russian comes to, now more, now less. */
    for (unsigned quarter = 0; quarter < (k > 27 ? 4 : 2); quarter++)
        store_codes(out, weave_utf32(planes, quarter, has_top), quarter, k, exact);
}

/* ---- windows ----------------------------------------------------------------------------------------------------------------- */

/* The first n of 64 bytes of ASCII; exact: nothing past them, else all. */
ALWAYS_INLINE void store_ascii(void *out, __m512i b, size_t n, upsweep_encoding to, bool exact) {
    if (to != UPSWEEP_UTF32) {
        const __m512i first = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(b)), last = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(b, 1));
        store_units(out, to == UPSWEEP_UTF16BE ? _mm512_slli_epi16(first, 8) : first, 0, n, exact);
        if (n > 32) store_units(out, to == UPSWEEP_UTF16BE ? _mm512_slli_epi16(last, 8) : last, 1, n, exact);
        return;
    }
    store_codes(out, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(b)), 0, n, exact);
    if (n > 16) store_codes(out, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(b, 1)), 1, n, exact);
    if (n > 32) store_codes(out, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(b, 2)), 2, n, exact);
    if (n > 48) store_codes(out, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(b, 3)), 3, n, exact);
}

/* Of a text: all, its beginning, what lies within, that after an ill-formed sequence, its end. Where it ends, so may the room in `out`. */
enum part { WHOLE, FIRST, INNER, WARY, LAST };

/* A window at place at - UTF8_BEFORE, of which the bits `owned` count; returns the number of code units. */
ALWAYS_INLINE size_t decode_window(void *out, struct window w, uint64_t owned, bool replace, struct utf8_bad *bad, size_t at,
                                   upsweep_encoding to, enum part part, bool *is_bad) {
    const struct utf8_place place = {part == WHOLE || part == FIRST, part == WHOLE || part == LAST};
    const bool exact = place.ends, wary = part == WARY;
    const struct utf8_ends ends = wary ? utf8_find_any_ends(classify(&w)) : utf8_find_ends(classify(&w), place);
    struct planes planes = assemble(&w, &ends);
    *is_bad = wary ? utf8_take_any_bad(bad, &ends, owned, at) : utf8_take_bad(bad, &ends, owned, at);
    uint64_t emit = ends.ascii | ends.of_2 | ends.of_3 | ends.of_4;
    if (to == UPSWEEP_UTF32 && ends.of_4 != 0) planes.top = assemble_top(&w, ends.of_4);
    if (to != UPSWEEP_UTF32 && ends.of_4 != 0) {
        assemble_surrogates(&planes, &w, ends.of_4);
        emit |= ends.of_4 >> 1;
    }
    if (replace && (wary || ends.bad != 0)) {
        planes.low = _mm512_mask_mov_epi8(planes.low, ends.bad, bytes_of(0xFD));
        planes.high = _mm512_mask_mov_epi8(planes.high, ends.bad, bytes_of(0xFF));
        emit |= ends.bad;
    }
    emit &= owned;
    const unsigned k = (unsigned)_mm_popcnt_u64(emit);
    planes.low = _mm512_maskz_compress_epi8(emit, planes.low);
    planes.high = _mm512_maskz_compress_epi8(emit, planes.high);
    if (to != UPSWEEP_UTF32) {
        store_utf16(out, planes.low, planes.high, k, to == UPSWEEP_UTF16BE, exact);
    } else if (ends.of_4 == 0) {
        store_utf32(out, planes, k, false, exact);
    } else {
        planes.top = _mm512_maskz_compress_epi8(emit, planes.top);
        store_utf32(out, planes, k, true, exact);
    }
    return k;
}

ALWAYS_INLINE unsigned char *decode_warily_to(unsigned char *end, const uint8_t *in, size_t *at, size_t n, bool replace,
                                              struct utf8_bad *bad, upsweep_encoding to) {
    const uint64_t owned = UTF8_OWNED_BITS << UTF8_BEFORE;
    size_t i = *at;
    bool is_bad;
    for (uint32_t recent = UTF8_WARY; recent != 0 && i + 64 <= n; i += UTF8_OWNED) {
        const size_t k = decode_window(end, load_window(in + i - UTF8_BEFORE), owned, replace, bad, i, to, WARY, &is_bad);
        end += k * (to == UPSWEEP_UTF32 ? 4 : 2);
        recent = recent >> 1 | (is_bad ? UTF8_WARY : 0);
    }
    *at = i;
    return end;
}

/* Behind an ill-formed sequence at *at: without a branch on whether a window is good, until some in a row have been. Apart from decode(),
 * whose loop is a tenth slower with this in it. Returns where the output ends. */
NOT_INLINE unsigned char *decode_warily(unsigned char *end, const uint8_t *in, size_t *at, size_t n, bool replace, struct utf8_bad *bad,
                                        upsweep_encoding to) {
    if (to == UPSWEEP_UTF16LE) return decode_warily_to(end, in, at, n, replace, bad, UPSWEEP_UTF16LE);
    if (to == UPSWEEP_UTF16BE) return decode_warily_to(end, in, at, n, replace, bad, UPSWEEP_UTF16BE);
    return decode_warily_to(end, in, at, n, replace, bad, UPSWEEP_UTF32);
}

/* in [i, n), at most 64 - UTF8_BEFORE bytes at the end of a text of more than 64. */
ALWAYS_INLINE size_t decode_last(void *out, const uint8_t *in, size_t i, size_t n, bool replace, struct utf8_bad *bad,
                                 upsweep_encoding to) {
    const struct window w = n >= 64 + UTF8_BEFORE ? last_window(in, n) : load_window_within(in, n, (ptrdiff_t)n - 64);
    const uint64_t owned = ~first_bits(64 - (n - i));
    bool is_bad;
    if ((_mm512_movepi8_mask(w.b) & owned) != 0) return decode_window(out, w, owned, replace, bad, n - 64 + UTF8_BEFORE, to, LAST, &is_bad);
    store_ascii(out, _mm512_maskz_compress_epi8(owned, w.b), n - i, to, true);
    return n - i;
}

/* A text of more than 64 bytes. */
ALWAYS_INLINE size_t decode_long(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad, upsweep_encoding to) {
    enum { FIRST_OWNED = 63 };
    const size_t unit_nbytes = to == UPSWEEP_UTF32 ? 4 : 2;
    const uint64_t owned = UTF8_OWNED_BITS << UTF8_BEFORE;
    unsigned char *end = out;
    bool is_bad;
    size_t i = FIRST_OWNED;
    end += unit_nbytes * decode_window(end, first_window(in, 64), first_bits(i), replace, bad, UTF8_BEFORE, to, FIRST, &is_bad);
    while (n - i >= 64) {
        if (is_ascii_64(load(in + i))) { /* what began before i has ended there, and been written */
            store_ascii(end, load(in + i), 64, to, false);
            end += 64 * unit_nbytes;
            i += 64;
            continue;
        }
        const struct window w = load_window(in + i - UTF8_BEFORE);
        end += unit_nbytes * decode_window(end, w, owned, replace, bad, i, to, INNER, &is_bad);
        i += UTF8_OWNED;
        if (is_bad) end = decode_warily(end, in, &i, n, replace, bad, to);
    }
    if (n - i > 64 - UTF8_BEFORE) { /* more than the last window can see */
        end += unit_nbytes * decode_window(end, load_window(in + i - UTF8_BEFORE), owned, replace, bad, i, to, LAST, &is_bad);
        i += UTF8_OWNED;
    }
    if (i < n) end += unit_nbytes * decode_last(end, in, i, n, replace, bad, to);
    return (size_t)(end - (unsigned char *)out) / unit_nbytes;
}

/* A text of at most 64 bytes. */
ALWAYS_INLINE size_t decode_short(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad, upsweep_encoding to) {
    const struct window w = first_window(in, n);
    bool is_bad;
    if (is_ascii_64(w.b)) {
        store_ascii(out, w.b, n, to, true);
        return n;
    }
    return decode_window(out, w, first_bits(n), replace, bad, UTF8_BEFORE, to, WHOLE, &is_bad);
}

/* A text of more than 64 bytes, as far as it is ASCII. All if the last 64 are: what is stored twice is the same. */
ALWAYS_INLINE size_t decode_ascii(void *out, const uint8_t *in, size_t n, upsweep_encoding to) {
    const size_t unit_nbytes = to == UPSWEEP_UTF32 ? 4 : 2;
    unsigned char *end = out;
    size_t i = 0;
    for (; n - i >= 256 && is_ascii_256(in + i); i += 256)
        for (size_t row = 0; row < 256; row += 64) store_ascii(end + (i + row) * unit_nbytes, load(in + i + row), 64, to, false);
    for (; n - i >= 64 && is_ascii_64(load(in + i)); i += 64) store_ascii(end + i * unit_nbytes, load(in + i), 64, to, false);
    if (i == n || n - i >= 64 || !is_ascii_64(load(in + n - 64))) return i;
    store_ascii(end + (n - 64) * unit_nbytes, load(in + n - 64), 64, to, false);
    return n;
}

/* Another one. What follows ASCII is a text of its own: of more than 64 bytes, or of at most so many. */
ALWAYS_INLINE size_t decode_rows(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad, upsweep_encoding to,
                                 utf8_decode_kernel *decode_more, utf8_decode_kernel *decode_few) {
    const size_t first = bad->first, at = decode_ascii(out, in, n, to), left = n - at;
    if (left == 0) return n;
    unsigned char *const end = (unsigned char *)out + at * (to == UPSWEEP_UTF32 ? 4 : 2);
    const size_t k = (left > 64 ? decode_more : decode_few)(end, in + at, left, replace, bad);
    if (bad->first != first) bad->first += at;
    return at + k;
}

/* ---- the kernels ------------------------------------------------------------------------------------------------------------- */

/* Decoding to one encoding, which the compiler knows. What longer texts need to have set up and saved, short ones do not wait for. */
#define DECODE_TO(NAME, ENCODING)                                                                                    \
    NOT_INLINE size_t long_to_##NAME(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad) {   \
        return decode_long(out, in, n, replace, bad, ENCODING);                                                      \
    }                                                                                                                \
    NOT_INLINE size_t short_to_##NAME(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad) {  \
        return decode_short(out, in, n, replace, bad, ENCODING);                                                     \
    }                                                                                                                \
    NOT_INLINE size_t rows_to_##NAME(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad) {   \
        return decode_rows(out, in, n, replace, bad, ENCODING, long_to_##NAME, short_to_##NAME);                     \
    }                                                                                                                \
    static size_t decode_##NAME(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad) {        \
        return n > 64 ? rows_to_##NAME(out, in, n, replace, bad) : decode_short(out, in, n, replace, bad, ENCODING); \
    }

DECODE_TO(utf32, UPSWEEP_UTF32)
DECODE_TO(utf16le, UPSWEEP_UTF16LE)
DECODE_TO(utf16be, UPSWEEP_UTF16BE)

const struct utf8_kernels utf8_kernels_avx512 = {
    .decode = {decode_utf32, decode_utf16le, decode_utf16be},
    .measure = utf8_measure_avx512,
    .encode = {utf32_encode_avx512, utf16le_encode_avx512, utf16be_encode_avx512},
};

#include "target_end.h"

#else
typedef int utf8_avx512_is_for_x86; /* ISO C wants a declaration in every file */
#endif
