/* utf8_avx2_encode.c: UTF-32 and UTF-16 to UTF-8 for AVX2: eight units at a time, four bytes for each, of which shuffles from a table keep
 * the used ones. A high surrogate takes in the low one behind it, which then has no bytes of its own. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "set_bits.h"
#include "utf8_kernels.h"

#include "target_avx2.h"

#include "avx2_few.h" /* for these instruction sets */

static inline __m256i load(const void *p) { return _mm256_loadu_si256(p); }
ALWAYS_INLINE __m128i load_8(const uint8_t *p) { return _mm_loadl_epi64((const __m128i *)p); }

/* Code points above `last`, for last < 2^31 - 1 and code points below 2^31. */
static inline __m256i is_above(__m256i codes, int last) { return _mm256_cmpgt_epi32(codes, _mm256_set1_epi32(last)); }

/* The used ones of four times four bytes, by a mask of sixteen bits. */
ALWAYS_INLINE uint8_t *store_used(uint8_t *out, __m128i bytes, uint64_t used) {
    for (int half = 0; half < 2; half++, used >>= 8) {
        const __m128i from = load_8((const uint8_t *)&set_bits[used & 0xFF]);
        _mm_storel_epi64((__m128i *)out, _mm_shuffle_epi8(bytes, from));
        out += _mm_popcnt_u64(used & 0xFF);
        bytes = _mm_srli_si128(bytes, 8);
    }
    return out;
}

/* Eight code points, of which those with all bits of `wanted` set are written. */
ALWAYS_INLINE uint8_t *encode_8(uint8_t *out, __m256i codes, __m256i wanted) {
    const __m256i over_1 = is_above(codes, 0x7F), over_2 = is_above(codes, 0x7FF), over_3 = is_above(codes, 0xFFFF);
    const __m256i six = _mm256_set1_epi32(0x3F);
    const __m256i byte_3 = _mm256_blendv_epi8(codes, _mm256_and_si256(codes, six), over_1);
    const __m256i byte_2 = _mm256_and_si256(_mm256_srli_epi32(codes, 6), six), byte_1 = _mm256_and_si256(_mm256_srli_epi32(codes, 12), six);
    __m256i bytes = _mm256_or_si256(_mm256_slli_epi32(byte_3, 24), _mm256_slli_epi32(byte_2, 16));
    bytes = _mm256_or_si256(bytes, _mm256_or_si256(_mm256_slli_epi32(byte_1, 8), _mm256_srli_epi32(codes, 18)));
    __m256i tags = _mm256_and_si256(over_1, _mm256_set1_epi32((int)0x80C00000));
    tags = _mm256_blendv_epi8(tags, _mm256_set1_epi32((int)0x8080E000), over_2);
    tags = _mm256_blendv_epi8(tags, _mm256_set1_epi32((int)0x808080F0), over_3);
    __m256i used = _mm256_or_si256(_mm256_set1_epi32((int)0xFF000000), _mm256_and_si256(over_1, _mm256_set1_epi32(0x00FF0000)));
    used = _mm256_or_si256(used, _mm256_and_si256(over_2, _mm256_set1_epi32(0x0000FF00)));
    used = _mm256_or_si256(used, _mm256_and_si256(over_3, _mm256_set1_epi32(0x000000FF)));
    const uint32_t mask = (uint32_t)_mm256_movemask_epi8(_mm256_and_si256(used, wanted));
    bytes = _mm256_or_si256(bytes, tags);
    out = store_used(out, _mm256_castsi256_si128(bytes), mask & 0xFFFF);
    return store_used(out, _mm256_extracti128_si256(bytes, 1), mask >> 16);
}

static inline void take_bad_codes(struct utf8_bad *bad, uint32_t ill_formed, size_t at) {
    const uint64_t nfound = (uint64_t)__builtin_popcount(ill_formed);
    bad->sequences += nfound;
    bad->units += nfound;
    if (ill_formed != 0 && bad->first == SIZE_MAX) bad->first = at + (size_t)__builtin_ctz(ill_formed);
}

/* Eight code points below 800, in 16 bits each. */
ALWAYS_INLINE uint8_t *encode_8_short(uint8_t *out, __m128i codes) {
    const __m128i of_2 = _mm_cmpgt_epi16(codes, _mm_set1_epi16(0x7F));
    const __m128i last = _mm_and_si128(_mm_slli_epi16(codes, 8), _mm_set1_epi16(0x3F00));
    const __m128i both = _mm_or_si128(_mm_or_si128(last, _mm_srli_epi16(codes, 6)), _mm_set1_epi16((short)0x80C0));
    const __m128i used = _mm_or_si128(of_2, _mm_set1_epi16(0x00FF));
    return store_used(out, _mm_blendv_epi8(codes, both, of_2), (uint32_t)_mm_movemask_epi8(used));
}

/* Eight code points from 800 to FFFF. Writes a full vector from the twelfth byte on. */
ALWAYS_INLINE uint8_t *encode_8_long(uint8_t *out, __m256i codes) {
    const __m256i first_3_of_4 = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m256i middle = _mm256_and_si256(_mm256_slli_epi32(codes, 2), _mm256_set1_epi32(0x3F00));
    const __m256i last = _mm256_and_si256(_mm256_slli_epi32(codes, 16), _mm256_set1_epi32(0x3F0000));
    __m256i bytes = _mm256_or_si256(_mm256_srli_epi32(codes, 12), _mm256_set1_epi32(0x8080E0));
    bytes = _mm256_shuffle_epi8(_mm256_or_si256(bytes, _mm256_or_si256(middle, last)), first_3_of_4);
    _mm_storeu_si128((__m128i *)out, _mm256_castsi256_si128(bytes));
    _mm_storeu_si128((__m128i *)(out + 12), _mm256_extracti128_si256(bytes, 1));
    return out + 24;
}

/* Are all of eight units 800 or more, and none of them a surrogate? */
ALWAYS_INLINE bool are_long(__m128i units) {
    const __m128i rows = _mm_and_si128(units, _mm_set1_epi16((short)0xF800));
    const __m128i others = _mm_or_si128(_mm_cmpeq_epi16(rows, _mm_setzero_si128()), _mm_cmpeq_epi16(rows, _mm_set1_epi16((short)0xD800)));
    return _mm_testz_si128(others, others);
}

/* Eight code points, of which those with all bits of `ill_formed` set become U+FFFD, or nothing, and those of `own` are there. */
ALWAYS_INLINE uint8_t *encode_any_8(uint8_t *out, __m256i codes, __m256i ill_formed, __m256i own, bool replace) {
    codes = _mm256_blendv_epi8(codes, _mm256_set1_epi32(0xFFFD), ill_formed);
    return encode_8(out, codes, replace ? own : _mm256_andnot_si256(ill_formed, own));
}

static inline __m256i first_lanes(size_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n < 8 ? (int)n : 8), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* Where full vectors would go past what the units can become. */
enum { STAGED_NBYTES = 8 * 4 + 8 };

/* ---- from UTF-32 ------------------------------------------------------------------------------------------------------------- */

ALWAYS_INLINE uint8_t *encode_codes_8(uint8_t *out, __m256i codes, __m256i own, bool replace, struct utf8_bad *bad, size_t at) {
    /* unsigned codes > 10FFFF, as max(codes, 110000) == codes */
    const __m256i too_large = _mm256_cmpeq_epi32(_mm256_max_epu32(codes, _mm256_set1_epi32(0x110000)), codes);
    const __m256i surrogate = _mm256_cmpeq_epi32(_mm256_srli_epi32(codes, 11), _mm256_set1_epi32(0xD800 >> 11));
    const __m256i ill_formed = _mm256_or_si256(too_large, surrogate);
    take_bad_codes(bad, (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(ill_formed)), at);
    return encode_any_8(out, codes, ill_formed, own, replace);
}

size_t utf32_encode_avx2(uint8_t *out, const void *units, size_t n, bool replace, struct utf8_bad *bad) {
    const uint32_t *in = units;
    uint8_t *end = out;
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        const __m256i codes = load(in + i);
        const __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(codes, codes), 0x08);
        if (_mm256_testz_si256(codes, _mm256_set1_epi32(~0x7F))) {
            const __m128i low = _mm256_castsi256_si128(words);
            _mm_storel_epi64((__m128i *)end, _mm_packus_epi16(low, low));
            end += 8;
        } else if (_mm256_testz_si256(codes, _mm256_set1_epi32(~0x7FF))) {
            end = encode_8_short(end, _mm256_castsi256_si128(words));
        } else if (_mm256_testz_si256(codes, _mm256_set1_epi32(~0xFFFF)) && are_long(_mm256_castsi256_si128(words))) {
            end = encode_8_long(end, codes);
        } else {
            end = encode_codes_8(end, codes, _mm256_set1_epi32(-1), replace, bad, i);
        }
    }
    if (i < n) {
        uint8_t staged[STAGED_NBYTES];
        const __m256i own = first_lanes(n - i), codes = _mm256_maskload_epi32((const int *)(in + i), own);
        const size_t k = (size_t)(encode_codes_8(staged, codes, own, replace, bad, i) - staged);
        copy_few(end, staged, k);
        end += k;
    }
    return (size_t)(end - out);
}

/* ---- from UTF-16 ------------------------------------------------------------------------------------------------------------- */

ALWAYS_INLINE __m128i in_order(__m128i units, bool swap) {
    return swap ? _mm_or_si128(_mm_slli_epi16(units, 8), _mm_srli_epi16(units, 8)) : units;
}

ALWAYS_INLINE __m256i has_prefix(__m256i units, int prefix) {
    return _mm256_cmpeq_epi32(_mm256_and_si256(units, _mm256_set1_epi32(0xFC00)), _mm256_set1_epi32(prefix));
}

/* Eight units, and those one place before and behind. */
ALWAYS_INLINE uint8_t *encode_units_8(uint8_t *out, __m128i before, __m128i here, __m128i behind, __m256i own, bool replace,
                                      struct utf8_bad *bad, size_t at) {
    const __m256i units = _mm256_cvtepu16_epi32(here), next = _mm256_cvtepu16_epi32(behind);
    const __m256i high = has_prefix(units, 0xD800), low = has_prefix(units, 0xDC00);
    const __m256i pair = _mm256_and_si256(high, has_prefix(next, 0xDC00));
    const __m256i second = _mm256_and_si256(low, has_prefix(_mm256_cvtepu16_epi32(before), 0xD800));
    const __m256i ill_formed = _mm256_and_si256(own, _mm256_andnot_si256(_mm256_or_si256(pair, second), _mm256_or_si256(high, low)));
    const __m256i joined = _mm256_sub_epi32(_mm256_add_epi32(_mm256_slli_epi32(units, 10), next), _mm256_set1_epi32(0x35FDC00));
    take_bad_codes(bad, (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(ill_formed)), at);
    return encode_any_8(out, _mm256_blendv_epi8(units, joined, pair), ill_formed, _mm256_andnot_si256(second, own), replace);
}

ALWAYS_INLINE __m128i load_units(const uint16_t *in, bool swap) { return in_order(_mm_loadu_si128((const __m128i *)in), swap); }

/* The units from i on, at most eight, which may be the first or the last. Those that end the text are the last of a row, in which those
 * before i, if there are any, are left out. */
static uint8_t *encode_edge(uint8_t *out, const uint16_t *in, size_t i, size_t n, bool replace, struct utf8_bad *bad, bool swap) {
    const bool ends = n - i < 9;
    uint8_t staged[STAGED_NBYTES];
    const __m128i here = n < 8 ? in_order(load_last_of_16((const uint8_t *)in, 2 * n), swap) : load_units(ends ? in + n - 8 : in + i, swap);
    const __m128i before = ends && n >= 9 ? load_units(in + n - 9, swap) : _mm_slli_si128(here, sizeof *in);
    const __m128i behind = ends ? _mm_srli_si128(here, sizeof *in) : load_units(in + i + 1, swap);
    const __m256i own = ends ? _mm256_xor_si256(first_lanes(8 - (n - i)), _mm256_set1_epi32(-1)) : _mm256_set1_epi32(-1);
    const size_t k = (size_t)(encode_units_8(staged, before, here, behind, own, replace, bad, ends ? n - 8 : i) - staged);
    copy_few(out, staged, k);
    return out + k;
}

ALWAYS_INLINE bool are_ascii_16(const uint16_t *in, bool swap) {
    return _mm256_testz_si256(load(in), _mm256_set1_epi16(swap ? (short)0x80FF : (short)0xFF80));
}
ALWAYS_INLINE void store_ascii_16(uint8_t *out, const uint16_t *in, bool swap) {
    const __m256i units = swap ? _mm256_srli_epi16(load(in), 8) : load(in);
    _mm_storeu_si128((__m128i *)out, _mm_packus_epi16(_mm256_castsi256_si128(units), _mm256_extracti128_si256(units, 1)));
}

ALWAYS_INLINE size_t encode_utf16(uint8_t *out, const uint16_t *in, size_t n, bool replace, struct utf8_bad *bad, bool swap) {
    uint8_t *end = out;
    for (size_t i = 0; i < n; i += 8) {
        const size_t left = n - i;
        const __m128i units = left >= 8 ? load_units(in + i, swap) : _mm_setzero_si128();
        if (left >= 8 && _mm_testz_si128(units, _mm_set1_epi16((short)0xFF80))) {
            _mm_storel_epi64((__m128i *)end, _mm_packus_epi16(units, units));
            end += 8;
            for (; n - i >= 24 && are_ascii_16(in + i + 8, swap); i += 16, end += 16) store_ascii_16(end, in + i + 8, swap);
        } else if (left >= 8 && _mm_testz_si128(units, _mm_set1_epi16((short)0xF800))) {
            end = encode_8_short(end, units);
        } else if (left >= 10 && are_long(units)) { /* 30 bytes of room for the 28 that are stored */
            end = encode_8_long(end, _mm256_cvtepu16_epi32(units));
        } else if (left >= 9 && i > 0) {
            end = encode_units_8(end, load_units(in + i - 1, swap), units, load_units(in + i + 1, swap), _mm256_set1_epi32(-1), replace,
                                 bad, i);
        } else {
            end = encode_edge(end, in, i, n, replace, bad, swap);
        }
    }
    return (size_t)(end - out);
}

size_t utf16le_encode_avx2(uint8_t *out, const void *in, size_t n, bool replace, struct utf8_bad *bad) {
    return encode_utf16(out, in, n, replace, bad, utf16_is_swapped(UPSWEEP_UTF16LE));
}

size_t utf16be_encode_avx2(uint8_t *out, const void *in, size_t n, bool replace, struct utf8_bad *bad) {
    return encode_utf16(out, in, n, replace, bad, utf16_is_swapped(UPSWEEP_UTF16BE));
}

#include "target_end.h"

#else
typedef int utf8_avx2_encode_is_for_x86; /* ISO C wants a declaration in every file */
#endif
