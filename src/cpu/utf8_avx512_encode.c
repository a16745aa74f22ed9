/* utf8_avx512_encode.c: UTF-32 and UTF-16 to UTF-8 for AVX-512; the other half of utf8_avx512.c.
 *
 *     code points    20AC                  41                 sixteen at a time, 32 bits each
 *     spread         00 02 82 AC           00 00 01 41        vpmultishiftqb: the bits from 18, 12, 6 and 0 up, in the order of the bytes
 *     used, tagged   00 E2 82 AC           00 00 00 41        by the number of leading zeros: vpermt2d looks up a mask and tags
 *     compressed     E2 82 AC 41                              vpcompressb keeps what is not zero
 *
 * Rows of 32 with an easier way: all ASCII; all below 800, which is done in 16 bits; all of three bytes, where a fixed permutation takes
 * the place of the compression. In UTF-16 each high surrogate takes in the low one behind it, which then has no bytes of its own.
 *
 * Source: Clausecker and Lemire, Transcoding Unicode characters with AVX-512 instructions, 2023. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "utf8_kernels.h"

#include "target_avx512.h"

static inline __m512i load(const void *p) { return _mm512_loadu_si512(p); }

/* ---- encode ------------------------------------------------------------------------------------------------------------------ */

/* By the leading zeros of a code point, 0 to 31: 25 or more for one byte, 21 for two, 16 for three, 11 for four. */
#define FIVE(x)                         x, x, x, x, x
#define BY_ZEROS(four, three, two, one) 0, FIVE(0), FIVE(0), FIVE(four), FIVE(three), two, two, two, two, one, one, one, one, one, one, one

/* Which bits of the spread code point are used, and what is added to them; the lowest byte comes first. */
static const uint32_t used_bits[32] __attribute__((aligned(64))) = {BY_ZEROS(0x3F3F3F07, 0x3F3F0F00, 0x3F1F0000, 0x7F000000)};
static const uint32_t tag_bits[32] __attribute__((aligned(64))) = {BY_ZEROS(0x808080F0, 0x8080E000, 0x80C00000, 0)};

/* 16 even numbers from 2 * i on. */
#define FOUR_EVEN(i)   2 * (i), 2 * (i) + 2, 2 * (i) + 4, 2 * (i) + 6
#define EVERY_OTHER(i) FOUR_EVEN(i), FOUR_EVEN((i) + 4), FOUR_EVEN((i) + 8), FOUR_EVEN((i) + 12)

/* The lower halves of 32 code points. */
static const uint16_t even_words[32] __attribute__((aligned(64))) = {EVERY_OTHER(0), EVERY_OTHER(16)};

#define ALL (~(__mmask32)0) /* of a row of 32 */

/* Writes the first k bytes of a vector. exact: nothing past them, else all. */
ALWAYS_INLINE void store(uint8_t *out, __m512i bytes, unsigned k, bool exact) {
    if (exact)
        _mm512_mask_storeu_epi8(out, _bzhi_u64(~(uint64_t)0, k), bytes);
    else
        _mm512_storeu_si512(out, bytes);
}

/* Writes the `wanted` ones of sixteen code points, all well-formed. exact: as store() says. */
ALWAYS_INLINE uint8_t *encode_16(uint8_t *out, __m512i codes, __mmask16 wanted, bool exact) {
    /* bytes code >> 18, code >> 12, code >> 6, code of each; the other half of the 64 bits is 32 bits further up */
    const __m512i spread = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x20262C3200060C12), codes);
    const __m512i zeros = _mm512_lzcnt_epi32(_mm512_or_si512(codes, _mm512_set1_epi32(1)));
    const __m512i used = _mm512_permutex2var_epi32(load(used_bits), zeros, load(used_bits + 16));
    const __m512i tags = _mm512_permutex2var_epi32(load(tag_bits), zeros, load(tag_bits + 16));
    const __m512i bytes = _mm512_or_si512(_mm512_and_si512(spread, used), tags);
    /* used bytes are not zero, but for U+0000 */
    const __m512i marks = _mm512_maskz_or_epi32(wanted, bytes, _mm512_set1_epi32((int)0x80000000));
    const uint64_t kept = _mm512_test_epi8_mask(marks, marks);
    const unsigned k = (unsigned)_mm_popcnt_u64(kept);
    store(out, _mm512_maskz_compress_epi8(kept, bytes), k, exact);
    return out + k;
}

/* The `own` ones of 32 code points below 800, in 16 bits each, of which `of_2` are 80 or more. */
ALWAYS_INLINE uint8_t *encode_32_short(uint8_t *out, __m512i codes, __mmask32 own, __mmask32 of_2, bool exact) {
    const __m512i last = _mm512_slli_epi16(codes, 8), first = _mm512_srli_epi16(codes, 6);
    const __m512i both = _mm512_ternarylogic_epi64(last, _mm512_set1_epi16(0x3F00), first, 0xEA); /* a & b | c */
    const __m512i tagged = _mm512_or_si512(both, _mm512_set1_epi16((short)0x80C0));
    const uint64_t kept = _pdep_u64(of_2, 0xAAAAAAAAAAAAAAAA) | _pdep_u64(own, 0x5555555555555555);
    const unsigned k = (unsigned)_mm_popcnt_u64(kept);
    store(out, _mm512_maskz_compress_epi8(kept, _mm512_mask_mov_epi16(codes, of_2, tagged)), k, exact);
    return out + k;
}

/* Places of the last three of four bytes. */
#define LAST_3(i) 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3
static const uint8_t last_3_of_4[64]
    __attribute__((aligned(64))) = {LAST_3(0), LAST_3(1), LAST_3(2),  LAST_3(3),  LAST_3(4),  LAST_3(5),  LAST_3(6),  LAST_3(7),
                                    LAST_3(8), LAST_3(9), LAST_3(10), LAST_3(11), LAST_3(12), LAST_3(13), LAST_3(14), LAST_3(15)};

/* Sixteen code points from 800 to FFFF. */
ALWAYS_INLINE uint8_t *encode_16_long(uint8_t *out, __m512i codes) {
    const __m512i spread = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x20262C3200060C12), codes);
    const __m512i bytes = _mm512_ternarylogic_epi64(spread, _mm512_set1_epi32(0x3F3F0F00), _mm512_set1_epi32((int)0x8080E000), 0xEA);
    _mm512_storeu_si512(out, _mm512_permutexvar_epi8(load(last_3_of_4), bytes));
    return out + 48;
}

ALWAYS_INLINE bool has_surrogates(__m512i units) {
    const __m512i rows = _mm512_and_si512(units, _mm512_set1_epi16((short)0xF800));
    return _mm512_cmpeq_epi16_mask(rows, _mm512_set1_epi16((short)0xD800)) != 0;
}

/* The `own` ones of 32 code points of which none is a surrogate, in 16 bits each. */
ALWAYS_INLINE uint8_t *encode_32(uint8_t *out, __m512i codes, __mmask32 own, bool all_from_800, bool exact) {
    const __m512i first = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(codes));
    const __m512i second = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(codes, 1));
    if (all_from_800) return encode_16_long(encode_16_long(out, first), second);
    out = encode_16(out, first, (__mmask16)own, exact);
    return encode_16(out, second, (__mmask16)(own >> 16), exact);
}

static inline void take_bad(struct utf8_bad *bad, uint32_t ill_formed, size_t at) {
    const uint64_t nfound = (uint64_t)_mm_popcnt_u32(ill_formed);
    bad->sequences += nfound;
    bad->units += nfound;
    if (bad->first == SIZE_MAX) bad->first = at + (size_t)__builtin_ctz(ill_formed);
}

/* ---- from UTF-32 ------------------------------------------------------------------------------------------------------------- */

ALWAYS_INLINE uint8_t *encode_any_16(uint8_t *out, __m512i codes, __mmask16 own, bool replace, struct utf8_bad *bad, size_t at,
                                     bool exact) {
    const __m512i plane_row = _mm512_and_si512(codes, _mm512_set1_epi32((int)0xFFFFF800));
    const __mmask16 too_large = _mm512_cmpgt_epu32_mask(codes, _mm512_set1_epi32(0x10FFFF));
    const __mmask16 ill_formed = _kor_mask16(too_large, _mm512_cmpeq_epi32_mask(plane_row, _mm512_set1_epi32(0xD800)));
    if (__builtin_expect(ill_formed != 0, 0)) {
        take_bad(bad, ill_formed, at);
        codes = _mm512_mask_set1_epi32(codes, ill_formed, 0xFFFD);
        if (!replace) own = _kandn_mask16(ill_formed, own);
    }
    return encode_16(out, codes, own, exact);
}

size_t utf32_encode_avx512(uint8_t *out, const void *units, size_t n, bool replace, struct utf8_bad *bad) {
    const uint32_t *in = units;
    const __m512i even_halves = load(even_words);
    uint8_t *end = out;
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m512i first = load(in + i), second = load(in + i + 16), either = _mm512_or_si512(first, second);
        const __m512i halves = _mm512_permutex2var_epi16(first, even_halves, second);
        if (_mm512_test_epi32_mask(either, _mm512_set1_epi32(~0x7F)) == 0) {
            _mm256_storeu_si256((__m256i *)end, _mm512_cvtepi16_epi8(halves));
            end += 32;
        } else if (_mm512_test_epi32_mask(either, _mm512_set1_epi32(~0x7FF)) == 0) {
            end = encode_32_short(end, halves, ALL, _mm512_cmpgt_epu16_mask(halves, _mm512_set1_epi16(0x7F)), false);
        } else if (_mm512_test_epi32_mask(either, _mm512_set1_epi32(~0xFFFF)) == 0 && !has_surrogates(halves)) {
            end = encode_32(end, halves, ALL, _mm512_cmpgt_epu16_mask(halves, _mm512_set1_epi16(0x7FF)) == ALL, false);
        } else {
            end = encode_any_16(end, first, 0xFFFF, replace, bad, i, false);
            end = encode_any_16(end, second, 0xFFFF, replace, bad, i + 16, false);
        }
    }
    for (; i < n; i += 16) {
        const __mmask16 own = (__mmask16)(n - i >= 16 ? 0xFFFFu : (1u << (n - i)) - 1);
        end = encode_any_16(end, _mm512_maskz_loadu_epi32(own, in + i), own, replace, bad, i, true);
    }
    return (size_t)(end - out);
}

/* ---- from UTF-16 ------------------------------------------------------------------------------------------------------------- */

ALWAYS_INLINE __m512i in_order(__m512i units, bool swap) {
    return swap ? _mm512_or_si512(_mm512_slli_epi16(units, 8), _mm512_srli_epi16(units, 8)) : units;
}

ALWAYS_INLINE __mmask32 has_prefix(__m512i units, int prefix) {
    return _mm512_cmpeq_epi16_mask(_mm512_and_si512(units, _mm512_set1_epi16((short)0xFC00)), _mm512_set1_epi16((short)prefix));
}

/* Units of a row of 32, a bit each. */
struct surrogates {
    __mmask32 pair, second; /* high ones that a low one follows, and those low ones */
    __mmask32 lone;
};

/* `units` and those one place further on; after_high: the unit before them is a high surrogate. */
ALWAYS_INLINE struct surrogates find_surrogates(__m512i units, __m512i next, bool after_high) {
    const __mmask32 high = has_prefix(units, 0xD800), low = has_prefix(units, 0xDC00);
    const __mmask32 pair = high & has_prefix(next, 0xDC00), second = low & (high << 1 | after_high);
    return (struct surrogates){pair, second, (high | low) & ~(pair | second)};
}

/* Sixteen units, and those one place further on: each high surrogate takes in the low one behind it, which is not wanted then. */
ALWAYS_INLINE uint8_t *encode_units_16(uint8_t *out, __m256i units, __m256i next, __mmask16 pair, __mmask16 bad, __mmask16 wanted,
                                       bool exact) {
    const __m512i codes = _mm512_cvtepu16_epi32(units), low = _mm512_cvtepu16_epi32(next);
    const __m512i joined = _mm512_sub_epi32(_mm512_add_epi32(_mm512_slli_epi32(codes, 10), low), _mm512_set1_epi32(0x35FDC00));
    return encode_16(out, _mm512_mask_set1_epi32(_mm512_mask_mov_epi32(codes, pair, joined), bad, 0xFFFD), wanted, exact);
}

/* A row of 32 units, of which `own` are there. */
ALWAYS_INLINE uint8_t *encode_row(uint8_t *out, __m512i units, __m512i next, struct surrogates s, __mmask32 own, bool replace,
                                  struct utf8_bad *bad, size_t at, bool exact) {
    const __mmask32 wanted = own & ~s.second & (replace ? ~(__mmask32)0 : ~s.lone);
    if (__builtin_expect(s.lone != 0, 0)) take_bad(bad, s.lone, at);
    out = encode_units_16(out, _mm512_castsi512_si256(units), _mm512_castsi512_si256(next), (__mmask16)s.pair, (__mmask16)s.lone,
                          (__mmask16)wanted, exact);
    return encode_units_16(out, _mm512_extracti64x4_epi64(units, 1), _mm512_extracti64x4_epi64(next, 1), (__mmask16)(s.pair >> 16),
                           (__mmask16)(s.lone >> 16), (__mmask16)(wanted >> 16), exact);
}

ALWAYS_INLINE __mmask32 first_units(size_t n) { return n < 32 ? ((__mmask32)1 << n) - 1 : ~(__mmask32)0; }

/* The row at i, which may reach beyond the end of in [n]. */
ALWAYS_INLINE uint8_t *encode_edge(uint8_t *out, const uint16_t *in, size_t i, size_t n, bool replace, struct utf8_bad *bad, bool swap,
                                   bool after_high) {
    const __mmask32 own = first_units(n - i);
    const __m512i units = in_order(_mm512_maskz_loadu_epi16(own, in + i), swap);
    const __mmask32 from_80 = _mm512_cmpgt_epu16_mask(units, _mm512_set1_epi16(0x7F));
    if (from_80 == 0) {
        _mm256_mask_storeu_epi8(out, own, _mm512_cvtepi16_epi8(units));
        return out + (n - i < 32 ? n - i : 32);
    }
    if (_mm512_cmpgt_epu16_mask(units, _mm512_set1_epi16(0x7FF)) == 0) return encode_32_short(out, units, own, from_80, true);
    if (!has_surrogates(units)) return encode_32(out, units, own, false, true);
    const __m512i next = in_order(_mm512_maskz_loadu_epi16(first_units(n - i - 1), in + i + 1), swap);
    return encode_row(out, units, next, find_surrogates(units, next, after_high), own, replace, bad, i, true);
}

/* The first byte of each of 64 units in two vectors, and the second. */
static const uint8_t first_bytes[64] __attribute__((aligned(64))) = {EVERY_OTHER(0), EVERY_OTHER(16), EVERY_OTHER(32), EVERY_OTHER(48)};

/* Writes in [n] as far as rows of 128 are ASCII; returns how many units that are. */
ALWAYS_INLINE size_t encode_ascii(uint8_t *out, const uint16_t *in, size_t n, bool swap) {
    const __m512i beyond = _mm512_set1_epi16((short)(swap ? 0x80FF : 0xFF80)); /* bits that ASCII does not have */
    const __m512i at = _mm512_or_si512(load(first_bytes), _mm512_set1_epi8(swap));
    size_t i = 0;
    for (; n - i >= 128; i += 128) {
        const __m512i a = load(in + i), b = load(in + i + 32), c = load(in + i + 64), d = load(in + i + 96);
        if (_mm512_test_epi16_mask(_mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d)), beyond) != 0) break;
        _mm512_storeu_si512(out + i, _mm512_permutex2var_epi8(a, at, b));
        _mm512_storeu_si512(out + i + 64, _mm512_permutex2var_epi8(c, at, d));
    }
    return i;
}

/* All of in [n]. */
ALWAYS_INLINE size_t encode_rows(uint8_t *out, const uint16_t *in, size_t n, bool replace, struct utf8_bad *bad, bool swap) {
    enum {
        ROOM = 40
    }; /* units that are left while three bytes each hold the full vectors that are stored, and one behind a row is there */
    size_t i = encode_ascii(out, in, n, swap);
    uint8_t *end = out + i;
    bool after_high = false;
    for (; n - i >= ROOM; i += 32) {
        const __m512i units = in_order(load(in + i), swap);
        const __mmask32 from_80 = _mm512_cmpgt_epu16_mask(units, _mm512_set1_epi16(0x7F));
        const __mmask32 from_800 = _mm512_cmpgt_epu16_mask(units, _mm512_set1_epi16(0x7FF));
        if (from_80 == 0) {
            _mm256_storeu_si256((__m256i *)end, _mm512_cvtepi16_epi8(units));
            end += 32;
            after_high = false;
        } else if (from_800 == 0) {
            end = encode_32_short(end, units, ALL, from_80, false);
            after_high = false;
        } else if (!has_surrogates(units)) {
            end = encode_32(end, units, ALL, from_800 == ALL, false);
            after_high = false;
        } else {
            const __m512i next = in_order(load(in + i + 1), swap);
            const struct surrogates s = find_surrogates(units, next, after_high);
            end = encode_row(end, units, next, s, ALL, replace, bad, i, false);
            after_high = s.pair >> 31;
        }
    }
    for (; i < n; i += 32) {
        end = encode_edge(end, in, i, n, replace, bad, swap, after_high);
        after_high = n - i > 32 && (swap ? __builtin_bswap16(in[i + 31]) : in[i + 31]) >> 10 == 0xD800 >> 10;
    }
    return (size_t)(end - out);
}

NOT_INLINE size_t rows_of_utf16(uint8_t *out, const uint16_t *in, size_t n, bool replace, struct utf8_bad *bad) {
    return encode_rows(out, in, n, replace, bad, false);
}
NOT_INLINE size_t rows_of_swapped(uint8_t *out, const uint16_t *in, size_t n, bool replace, struct utf8_bad *bad) {
    return encode_rows(out, in, n, replace, bad, true);
}

ALWAYS_INLINE size_t encode_utf16(uint8_t *out, const uint16_t *in, size_t n, bool replace, struct utf8_bad *bad, bool swap) {
    if (n > 32) return swap ? rows_of_swapped(out, in, n, replace, bad) : rows_of_utf16(out, in, n, replace, bad);
    return n == 0 ? 0 : (size_t)(encode_edge(out, in, 0, n, replace, bad, swap, false) - out);
}

size_t utf16le_encode_avx512(uint8_t *out, const void *in, size_t n, bool replace, struct utf8_bad *bad) {
    return encode_utf16(out, in, n, replace, bad, utf16_is_swapped(UPSWEEP_UTF16LE));
}

size_t utf16be_encode_avx512(uint8_t *out, const void *in, size_t n, bool replace, struct utf8_bad *bad) {
    return encode_utf16(out, in, n, replace, bad, utf16_is_swapped(UPSWEEP_UTF16BE));
}

#include "target_end.h"

#else
typedef int utf8_avx512_encode_is_for_x86; /* ISO C wants a declaration in every file */
#endif
