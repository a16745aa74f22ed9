/* utf8_avx512_units.h: code points of a window of UTF-8, put together where they end, and code units of them for the AVX-512 kernels.
 *
 *     text        E2 82 AC | 41 | C3 A9            EUR sign, A, e acute
 *     low bytes    .  .  AC   41   .  E9           of the code point that ends here, if one does: this byte, and the one before
 *     high bytes   .  .  20   00   .  00           the one before and the one before that, loaded from one and two bytes further left
 *     compressed   AC 41 E9 | 20 00 00             vpcompressb, twice (thrice if there are four-byte sequences)
 *     woven        20AC 0041 00E9                  vpermt2b to 16 or 32 bits, in either byte order
 *
 * Assembling code points where they stand takes five operations a window, three of them lookups; to gather their bytes behind the
 * compression, 16 at a time, took seven operations for each 16. A surrogate pair is two code units that end one byte apart, so UTF-16 needs
 * no second expansion. Included where the compiler has been told of the instruction sets.
 *
 * Source: Clausecker and Lemire, Transcoding Unicode characters with AVX-512 instructions, 2023 (compression; here without a dependence
 * from one window to the next). */
#ifndef UPSWEEP_UTF8_AVX512_UNITS_H
#define UPSWEEP_UTF8_AVX512_UNITS_H

#include "utf8_avx512_window.h"

/* ---- code points ------------------------------------------------------------------------------------------------------------- */

/* Code units by byte: low, high, and for UTF-32 what is above 16 bits. */
struct planes {
    __m512i low, high, top;
};

/* By the lower six bits of the byte before one that is not ASCII: what is added to this one for the low byte (the two bits that are its,
 * and 80, for the mark that has to go), and the lower half of the high byte; by those of the byte before that, the upper half. */
/* clang-format off */
#define FOUR_TIMES(...)  __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__
#define UP_TO_15(X)      X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7), X(8), X(9), X(10), X(11), X(12), X(13), X(14), X(15)
#define LOW_BITS         0x80, 0xC0, 0x00, 0x40
#define SIXTEENTH(i)     16 * (i)
static const uint8_t low_by_b1[64] __attribute__((aligned(64))) = {FOUR_TIMES(LOW_BITS), FOUR_TIMES(LOW_BITS), FOUR_TIMES(LOW_BITS), FOUR_TIMES(LOW_BITS)};
static const uint8_t high_by_b1[64] __attribute__((aligned(64))) = {UP_TO_15(FOUR_TIMES)};
static const uint8_t high_by_b2[64] __attribute__((aligned(64))) = {FOUR_TIMES(UP_TO_15(SIXTEENTH))};
/* clang-format on */

/* The code point that ends at each byte of a window, wherever one does. high: bytes that are not ASCII; third: those behind two others of
 * their sequence. */
ALWAYS_INLINE struct planes assemble(const struct window *w, __mmask64 high, __mmask64 third) {
    const __m512i lower = _mm512_maskz_permutexvar_epi8(high, w->b1, load(high_by_b1));
    return (struct planes){
        .low = _mm512_mask_add_epi8(w->b, high, w->b, _mm512_permutexvar_epi8(w->b1, load(low_by_b1))),
        .high = _mm512_or_si512(lower, _mm512_maskz_permutexvar_epi8(third, w->b2, load(high_by_b2))),
        .top = _mm512_setzero_si512(),
    };
}

ALWAYS_INLINE __m512i assemble_top(const struct window *w, uint64_t of_4) {
    const __m512i b2 = _mm512_maskz_mov_epi8(of_4, w->b2), b3 = _mm512_maskz_mov_epi8(of_4, w->b3);
    const __m512i low = _mm512_and_si512(_mm512_srli_epi16(b2, 4), bytes_of(0x03));
    return _mm512_or_si512(low, _mm512_and_si512(_mm512_slli_epi16(b3, 2), bytes_of(0x1C)));
}

/* Makes surrogate pairs of four-byte sequences: the low one where the sequence ends (of_4), the high one at the byte before (third).
 * high = D800 + (code >> 10) - 40, where code >> 10 is three bits of the first byte, six of the second, two of the third. */
ALWAYS_INLINE void assemble_surrogates(struct planes *planes, const struct window *w, __mmask64 of_4, __mmask64 third) {
    const __m512i b = w->b, b1 = w->b1, b2 = w->b2;
    const __m512i low_high = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi16(b1, 2), bytes_of(0x03)), bytes_of(0xDC));
    planes->high = _mm512_mask_mov_epi8(planes->high, of_4, low_high);

    const __m512i bits = select_bits(bytes_of(0x03), _mm512_srli_epi16(b, 4), _mm512_and_si512(_mm512_slli_epi16(b1, 2), bytes_of(0xFC)));
    const uint64_t borrow = _mm512_cmplt_epu8_mask(bits, bytes_of(0x40));
    const __m512i prefix = _mm512_add_epi8(_mm512_and_si512(b2, bytes_of(0x07)), bytes_of(0xD8));
    planes->low = _mm512_mask_sub_epi8(planes->low, third, bits, bytes_of(0x40));
    planes->high = _mm512_mask_mov_epi8(planes->high, third, _mm512_mask_sub_epi8(prefix, borrow, prefix, bytes_of(0x01)));
}

/* ---- to code units ----------------------------------------------------------------------------------------------------------- */

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

/* Weave the first k bytes of compressed planes. */
ALWAYS_INLINE void store_utf16(uint16_t *out, struct planes planes, unsigned k, bool big_endian, bool exact) {
    const __m512i at = load(big_endian ? weave_be : weave_le);
    for (unsigned half = 0; half < (k > 32 ? 2 : 1); half++)
        store_units(out, _mm512_permutex2var_epi8(planes.low, _mm512_add_epi8(at, bytes_of((int)(32 * half))), planes.high), half, k,
                    exact);
}

ALWAYS_INLINE __m512i weave_utf32(struct planes planes, unsigned quarter, bool has_top) {
    const __m512i at = _mm512_add_epi8(load(weave_quads), bytes_of((int)(16 * quarter)));
    const __m512i codes = _mm512_maskz_permutex2var_epi8(utf8_lower_halves, planes.low, at, planes.high);
    return has_top ? _mm512_mask_permutexvar_epi8(codes, 0x4444444444444444, at, planes.top) : codes;
}

ALWAYS_INLINE void store_utf32(uint32_t *out, struct planes planes, unsigned k, bool has_top, bool exact) {
    /* Two quarters suffice for 32; but that is what a window of Russian comes to, now more, now less. */
    for (unsigned quarter = 0; quarter < (k > 27 ? 4 : 2); quarter++)
        store_codes(out, weave_utf32(planes, quarter, has_top), quarter, k, exact);
}

/* Writes those of a window's code points, or halves of pairs, that `emit` keeps; returns their number. */
ALWAYS_INLINE unsigned store_planes(void *out, struct planes planes, __mmask64 emit, bool has_top, upsweep_encoding to, bool exact) {
    const unsigned k = (unsigned)_mm_popcnt_u64(emit);
    planes.low = _mm512_maskz_compress_epi8(emit, planes.low);
    planes.high = _mm512_maskz_compress_epi8(emit, planes.high);
    if (to != UPSWEEP_UTF32) {
        store_utf16(out, planes, k, to == UPSWEEP_UTF16BE, exact);
    } else if (has_top) {
        planes.top = _mm512_maskz_compress_epi8(emit, planes.top);
        store_utf32(out, planes, k, true, exact);
    } else {
        store_utf32(out, planes, k, false, exact);
    }
    return k;
}

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

/* All of the 64 at p, widened as they are loaded. */
ALWAYS_INLINE void store_ascii_row(void *out, const uint8_t *p, upsweep_encoding to) {
    unsigned char *end = out;
    if (to == UPSWEEP_UTF32) {
        for (size_t i = 0; i < 64; i += 16) _mm512_storeu_si512(end + 4 * i, _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(p + i))));
        return;
    }
    for (size_t i = 0; i < 64; i += 32) {
        const __m512i units = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)(p + i)));
        _mm512_storeu_si512(end + 2 * i, to == UPSWEEP_UTF16BE ? _mm512_slli_epi16(units, 8) : units);
    }
}

#endif
