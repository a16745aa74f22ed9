/* utf8_avx2_units.h: code points of UTF-8 put together where they end, and code units of them, for the AVX2 kernels: utf8_avx512_units.h by
 * other means. Low and high bytes are apart, in memory; eight at a time, those that a mask keeps are brought together by a shuffle from a
 * table (set_bits.h). What depends on the length of a sequence is told by the bytes before its end (if the last but one is a continuation,
 * there are three or more), as AVX2 has no masked operations. Included where the compiler has been told of the instruction sets. */
#ifndef UPSWEEP_UTF8_AVX2_UNITS_H
#define UPSWEEP_UTF8_AVX2_UNITS_H

#include "set_bits.h"
#include "utf8_avx2_wrong.h"

/* Code units of a window by byte: low, high, and for UTF-32 what is above 16 bits. */
struct planes {
    uint8_t low[64], high[64], top[64];
};

/* Puts together the code point that ends at each byte of a row, wherever one does. */
ALWAYS_INLINE void assemble_32(uint8_t *low, uint8_t *high, struct row r) {
    const __m256i ascii = _mm256_cmpgt_epi8(r.b, bytes_of(-1));
    const __m256i b1 = _mm256_andnot_si256(ascii, r.b1), b2 = _mm256_and_si256(is_continuation(b1), r.b2);
    const __m256i units_low = _mm256_or_si256(_mm256_and_si256(r.b, bytes_of(0x7F)), left(b1, 6, 0xC0));
    const __m256i units_high = _mm256_or_si256(right(b1, 2, 0x0F), left(b2, 4, 0xF0));
    _mm256_storeu_si256((__m256i *)low, units_low);
    _mm256_storeu_si256((__m256i *)high, units_high);
}

/* What is above 16 bits. Three continuations in a row end a sequence of four, if they end a well-formed one at all. */
ALWAYS_INLINE void assemble_top_32(uint8_t *top, struct row r) {
    const __m256i of_4 = _mm256_and_si256(_mm256_and_si256(is_continuation(r.b), is_continuation(r.b1)), is_continuation(r.b2));
    const __m256i bits = _mm256_or_si256(right(r.b2, 4, 0x03), left(r.b3, 2, 0x1C));
    _mm256_storeu_si256((__m256i *)top, _mm256_and_si256(of_4, bits));
}

/* Makes surrogate pairs of the four-byte sequences: the low one where the sequence ends, the high one at the byte before.
 * high = D800 + (code >> 10) - 40, where code >> 10 is three bits of the first byte, six of the second, two of the third. */
ALWAYS_INLINE void assemble_surrogates_32(uint8_t *low, uint8_t *high, struct row r) {
    const __m256i b = r.b, b1 = r.b1, b2 = r.b2;
    const __m256i both = _mm256_and_si256(is_continuation(b), is_continuation(b1));
    const __m256i of_4 = _mm256_and_si256(both, is_continuation(b2)), third = _mm256_and_si256(both, is_at_least(b2, 0xF0));
    const __m256i bits = _mm256_or_si256(left(b1, 2, 0xFC), right(b, 4, 0x03)), forty = bytes_of(0x40);
    const __m256i borrow = _mm256_cmpeq_epi8(_mm256_min_epu8(bits, bytes_of(0x3F)), bits); /* -1 where bits < 40 */
    const __m256i prefix = _mm256_add_epi8(_mm256_add_epi8(_mm256_and_si256(b2, bytes_of(0x07)), bytes_of(0xD8)), borrow);
    const __m256i low_high = _mm256_or_si256(right(b1, 2, 0x03), bytes_of(0xDC));
    const __m256i units_high = _mm256_blendv_epi8(load(high), prefix, third);
    _mm256_storeu_si256((__m256i *)low, _mm256_blendv_epi8(load(low), _mm256_sub_epi8(bits, forty), third));
    _mm256_storeu_si256((__m256i *)high, _mm256_blendv_epi8(units_high, low_high, of_4));
}

ALWAYS_INLINE __m128i load_8(const uint8_t *p) { return _mm_loadl_epi64((const __m128i *)p); }

/* The code units of eight bytes that `mask` keeps. */
ALWAYS_INLINE __m128i weave_16(const struct planes *planes, size_t at, __m128i from, bool big_endian) {
    const __m128i low = _mm_shuffle_epi8(load_8(planes->low + at), from), high = _mm_shuffle_epi8(load_8(planes->high + at), from);
    return big_endian ? _mm_unpacklo_epi8(high, low) : _mm_unpacklo_epi8(low, high);
}

/* Writes those of the first `nbytes` code units that `emit` keeps, eight at a time, of which what is too much is overwritten by the next.
 * Returns where they end. */
ALWAYS_INLINE unsigned char *store_planes(unsigned char *end, const struct planes *planes, size_t nbytes, uint64_t emit, bool has_top,
                                          upsweep_encoding to) {
    for (size_t at = 0; at < nbytes; at += 8) {
        const uint64_t mask = emit >> at & 0xFF;
        const __m128i from = load_8((const uint8_t *)&set_bits[mask]);
        const __m128i units = weave_16(planes, at, from, to == UPSWEEP_UTF16BE);
        if (to == UPSWEEP_UTF32) {
            __m256i codes = _mm256_cvtepu16_epi32(units);
            if (has_top) {
                const __m256i top = _mm256_cvtepu8_epi32(_mm_shuffle_epi8(load_8(planes->top + at), from));
                codes = _mm256_or_si256(codes, _mm256_slli_epi32(top, 16));
            }
            _mm256_storeu_si256((__m256i *)end, codes);
        } else {
            _mm_storeu_si128((__m128i *)end, units);
        }
        end += encoding_nbytes(to) * (size_t)_mm_popcnt_u64(mask);
    }
    return end;
}

/* 16 bytes of ASCII. */
ALWAYS_INLINE void store_ascii_16(unsigned char *out, __m128i b, upsweep_encoding to) {
    const __m256i units = _mm256_cvtepu8_epi16(b);
    if (to != UPSWEEP_UTF32) {
        _mm256_storeu_si256((__m256i *)out, to == UPSWEEP_UTF16BE ? _mm256_slli_epi16(units, 8) : units);
        return;
    }
    _mm256_storeu_si256((__m256i *)out, _mm256_cvtepu8_epi32(b));
    _mm256_storeu_si256((__m256i *)(out + 32), _mm256_cvtepu8_epi32(_mm_srli_si128(b, 8)));
}

/* 64 bytes of ASCII. */
ALWAYS_INLINE void store_ascii(unsigned char *out, const uint8_t *in, upsweep_encoding to) {
    for (size_t i = 0; i < 64; i += 16) store_ascii_16(out + i * encoding_nbytes(to), _mm_loadu_si128((const __m128i *)(in + i)), to);
}

/* Fewer than 64 bytes, as long as they are ASCII, by eight and by one; returns their number. */
ALWAYS_INLINE size_t store_some_ascii(unsigned char *out, const uint8_t *in, size_t n, upsweep_encoding to) {
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        const __m128i bytes = load_8(in + i);
        if (_mm_movemask_epi8(bytes) != 0) return i;
        const __m128i units = _mm_cvtepu8_epi16(bytes);
        if (to == UPSWEEP_UTF32)
            _mm256_storeu_si256((__m256i *)(out + 4 * i), _mm256_cvtepu8_epi32(bytes));
        else
            _mm_storeu_si128((__m128i *)(out + 2 * i), to == UPSWEEP_UTF16BE ? _mm_slli_epi16(units, 8) : units);
    }
    for (; i < n && in[i] < 0x80; i++) {
        if (to == UPSWEEP_UTF32)
            ((uint32_t *)(void *)out)[i] = in[i];
        else
            ((uint16_t *)(void *)out)[i] = (uint16_t)(to == UPSWEEP_UTF16BE ? in[i] << 8 : in[i]);
    }
    return i;
}

#endif
