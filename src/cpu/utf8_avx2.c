/* utf8_avx2.c: the table of UTF-8 kernels for AVX2: those of utf8_avx512.c by other means.
 *
 *     windows      of 64 bytes in two registers, so that the masks and their rules are the same (utf8_rules.h)
 *     code points  put together where they stand, low and high bytes apart, as there
 *     compressed   eight at a time: the masks of eight bits look up a shuffle (set_bits.h)
 *
 * What depends on the length of a sequence is told by the bytes before its end (if the last but one is a continuation, there are three or
 * more), as AVX2 has no masked operations. Windows with ill-formed text are patched byte by byte.
 * Those where the text begins or ends are copied, with zeros around them. Encoding is in utf8_avx2_encode.c, counting in
 * utf8_avx2_measure.c. */
#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "set_bits.h"
#include "utf8_kernels.h"

#include "target_avx2.h"

#include "utf8_avx2_window.h" /* for these instruction sets */

/* ---- decode ------------------------------------------------------------------------------------------------------------------ */

/* Code units of a window by byte: low, high, and for UTF-32 what is above 16 bits. */
struct planes {
    uint8_t low[64], high[64], top[64];
};

/* Puts together the code point that ends at each of the 32 bytes at p, wherever one does. */
ALWAYS_INLINE void assemble_32(uint8_t *low, uint8_t *high, const uint8_t *p) {
    const __m256i b = load(p), ascii = _mm256_cmpgt_epi8(b, bytes_of(-1));
    const __m256i b1 = _mm256_andnot_si256(ascii, load(p - 1)), b2 = _mm256_and_si256(is_continuation(b1), load(p - 2));
    const __m256i units_low = _mm256_or_si256(_mm256_and_si256(b, bytes_of(0x7F)), left(b1, 6, 0xC0));
    const __m256i units_high = _mm256_or_si256(right(b1, 2, 0x0F), left(b2, 4, 0xF0));
    _mm256_storeu_si256((__m256i *)low, units_low);
    _mm256_storeu_si256((__m256i *)high, units_high);
}

/* What is above 16 bits. Three continuations in a row end a sequence of four, if they end a well-formed one at all. */
ALWAYS_INLINE void assemble_top_32(uint8_t *top, const uint8_t *p) {
    const __m256i b2 = load(p - 2), b3 = load(p - 3);
    const __m256i of_4 = _mm256_and_si256(_mm256_and_si256(is_continuation(load(p)), is_continuation(load(p - 1))), is_continuation(b2));
    const __m256i bits = _mm256_or_si256(right(b2, 4, 0x03), left(b3, 2, 0x1C));
    _mm256_storeu_si256((__m256i *)top, _mm256_and_si256(of_4, bits));
}

/* Makes surrogate pairs of the four-byte sequences: the low one where the sequence ends, the high one at the byte before.
 * high = D800 + (code >> 10) - 40, where code >> 10 is three bits of the first byte, six of the second, two of the third. */
ALWAYS_INLINE void assemble_surrogates_32(uint8_t *low, uint8_t *high, const uint8_t *p) {
    const __m256i b = load(p), b1 = load(p - 1), b2 = load(p - 2);
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

static void patch_bad(struct planes *planes, uint64_t bad) {
    for (; bad != 0; bad &= bad - 1) {
        const size_t end = (size_t)__builtin_ctzll(bad);
        planes->low[end] = 0xFD;
        planes->high[end] = 0xFF;
        planes->top[end] = 0;
    }
}

ALWAYS_INLINE __m128i load_8(const uint8_t *p) { return _mm_loadl_epi64((const __m128i *)p); }

/* The code units of eight bytes that `mask` keeps. */
ALWAYS_INLINE __m128i weave_16(const struct planes *planes, size_t at, __m128i from, bool big_endian) {
    const __m128i low = _mm_shuffle_epi8(load_8(planes->low + at), from), high = _mm_shuffle_epi8(load_8(planes->high + at), from);
    return big_endian ? _mm_unpacklo_epi8(high, low) : _mm_unpacklo_epi8(low, high);
}

ALWAYS_INLINE size_t store_planes(unsigned char *out, const struct planes *planes, uint64_t emit, bool has_top, upsweep_encoding to) {
    const size_t unit_nbytes = to == UPSWEEP_UTF32 ? 4 : 2;
    unsigned char *end = out;
    for (size_t at = 0; at < 64; at += 8) {
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
        end += unit_nbytes * (size_t)_mm_popcnt_u64(mask);
    }
    return (size_t)(end - out) / unit_nbytes;
}

/* 64 bytes of ASCII. */
ALWAYS_INLINE void store_ascii(unsigned char *out, const uint8_t *in, upsweep_encoding to) {
    if (to == UPSWEEP_UTF32) {
        for (size_t i = 0; i < 64; i += 8) _mm256_storeu_si256((__m256i *)(out + 4 * i), _mm256_cvtepu8_epi32(load_8(in + i)));
        return;
    }
    for (size_t i = 0; i < 64; i += 16) {
        const __m256i units = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(in + i)));
        _mm256_storeu_si256((__m256i *)(out + 2 * i), to == UPSWEEP_UTF16BE ? _mm256_slli_epi16(units, 8) : units);
    }
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

/* ---- windows ----------------------------------------------------------------------------------------------------------------- */

/* Ends of sequences of three bytes and nothing else, from the first one that a window may own. */
#define ALL_OF_3 UINT64_C(0x1249249249249248)

/* Four sequences of three bytes, as bits 0 to 23 of 32, the last byte lowest; put together. */
ALWAYS_INLINE __m256i join_threes(__m256i x) {
    const __m256i last = _mm256_and_si256(x, _mm256_set1_epi32(0x3F)),
                  middle = _mm256_and_si256(_mm256_srli_epi32(x, 2), _mm256_set1_epi32(0xFC0)),
                  first = _mm256_and_si256(_mm256_srli_epi32(x, 4), _mm256_set1_epi32(0xF000));
    return _mm256_or_si256(_mm256_or_si256(last, middle), first);
}

/* The 20 sequences of three bytes from p on, of 64 bytes that may be read. */
ALWAYS_INLINE size_t store_threes(unsigned char *out, const uint8_t *p, upsweep_encoding to) {
    const __m256i turned = _mm256_broadcastsi128_si256(_mm_setr_epi8(2, 1, 0, -1, 5, 4, 3, -1, 8, 7, 6, -1, 11, 10, 9, -1));
    for (size_t i = 0; i < 60; i += 24) {
        const __m128i first = _mm_loadu_si128((const __m128i *)(p + i));
        const __m128i second = i < 48 ? _mm_loadu_si128((const __m128i *)(p + i + 12)) : first; /* there are four in the last step */
        const __m256i codes = join_threes(_mm256_shuffle_epi8(_mm256_set_m128i(second, first), turned));
        if (to == UPSWEEP_UTF32) {
            _mm256_storeu_si256((__m256i *)(out + 4 * (i / 3)), codes);
        } else {
            const __m128i units = _mm_packus_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1));
            const __m128i swapped = _mm_or_si128(_mm_slli_epi16(units, 8), _mm_srli_epi16(units, 8));
            _mm_storeu_si128((__m128i *)(out + 2 * (i / 3)), to == UPSWEEP_UTF16BE ? swapped : units);
        }
    }
    return 20;
}

/* The window at p, of which the bits `owned` count; whole: that is all of them, and the bytes up to p[75] may be read. Returns the number
 * of code units. */
ALWAYS_INLINE size_t decode_window(unsigned char *out, const uint8_t *p, uint64_t owned, bool whole, bool replace, struct utf8_bad *bad,
                                   size_t at, upsweep_encoding to) {
    const struct utf8_ends ends = utf8_find_ends(classify(p));
    const bool has_top = to == UPSWEEP_UTF32 && ends.of_4 != 0;
    uint64_t emit = ends.ascii | ends.of_2 | ends.of_3 | ends.of_4;
    const uint64_t threes = ends.of_3 & owned, phase = threes != 0 ? (uint64_t)__builtin_ctzll(threes) - UTF8_BEFORE : 0;
    if (whole && threes == ALL_OF_3 << phase && threes == ((emit | ends.bad) & owned))
        return store_threes(out, p + UTF8_BEFORE + phase - 2, to);
    struct planes planes;
    for (size_t i = 0; i < 64; i += 32) assemble_32(planes.low + i, planes.high + i, p + i);
    if (has_top)
        for (size_t i = 0; i < 64; i += 32) assemble_top_32(planes.top + i, p + i);
    if (to != UPSWEEP_UTF32 && ends.of_4 != 0) {
        for (size_t i = 0; i < 64; i += 32) assemble_surrogates_32(planes.low + i, planes.high + i, p + i);
        emit |= ends.of_4 >> 1;
    }
    utf8_take_bad(bad, &ends, owned, at);
    if (replace) {
        patch_bad(&planes, ends.bad & owned);
        emit |= ends.bad;
    }
    emit &= owned;
    return has_top ? store_planes(out, &planes, emit, true, to) : store_planes(out, &planes, emit, false, to);
}

/* The window at i, which may reach beyond either end of in [n]. */
static size_t decode_edge(unsigned char *out, const uint8_t *in, size_t i, size_t n, bool replace, struct utf8_bad *bad,
                          upsweep_encoding to) {
    const struct edge edge = edge_at(in, i, n);
    unsigned char staged[(64 + 8) * 4];
    const size_t k = decode_window(staged, edge.bytes + EDGE_BEFORE - UTF8_BEFORE, utf8_owned(n - i), false, replace, bad, i, to);
    memcpy(out, staged, k * (to == UPSWEEP_UTF32 ? 4 : 2));
    return k;
}

ALWAYS_INLINE size_t decode(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad, upsweep_encoding to) {
    const size_t unit_nbytes = to == UPSWEEP_UTF32 ? 4 : 2;
    unsigned char *end = out;
    for (size_t i = 0; i < n;) {
        for (; n - i >= 64 && is_ascii_64(in + i); i += 64, end += 64 * unit_nbytes)
            store_ascii(end, in + i, to); /* what began before i has ended there, and been written */
        if (n - i < 64) {
            const size_t nascii = store_some_ascii(end, in + i, n - i, to);
            end += nascii * unit_nbytes;
            i += nascii;
        }
        if (i == n) break;
        const size_t k = n - i >= 72 && i > 0
                             ? decode_window(end, in + i - UTF8_BEFORE, UTF8_OWNED_BITS << UTF8_BEFORE, true, replace, bad, i, to)
                             : decode_edge(end, in, i, n, replace, bad, to);
        end += unit_nbytes * k;
        i += UTF8_OWNED;
    }
    return (size_t)(end - (unsigned char *)out) / unit_nbytes;
}

#include "utf8_decode_tmpl.h"

const struct utf8_kernels utf8_kernels_avx2 = {
    .decode = {decode_utf32, decode_utf16le, decode_utf16be},
    .measure = utf8_measure_avx2,
    .encode = {utf32_encode_avx2, utf16le_encode_avx2, utf16be_encode_avx2},
    .decode_few = {cpu_utf8_decode_few, cpu_utf8_decode_few, cpu_utf8_decode_few},
    .measure_few = cpu_utf8_measure_few,
};

#include "target_end.h"

#else
typedef int utf8_avx2_is_for_x86; /* ISO C wants a declaration in every file */
#endif
