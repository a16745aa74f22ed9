/* utf8_avx512_encode.c: code points to UTF-8, and UTF-16 to code points, for AVX-512; the other half of utf8_avx512.c.
 *
 *     code points    20AC                  41                 sixteen at a time, 32 bits each
 *     spread         00 02 82 AC           00 00 01 41        vpmultishiftqb: the bits from 18, 12, 6 and 0 up, in the order of the bytes
 *     used, tagged   00 E2 82 AC           00 00 00 41        by the number of leading zeros: vpermt2d looks up a mask and tags
 *     compressed     E2 82 AC 41                              vpcompressb keeps what is not zero
 *
 * Below 800 it is done in 16 bits, 32 code points at a time. UTF-16 goes to code points first: each high surrogate takes in the low one
 * behind it, in place, and vpcompressd drops that.
 *
 * Source: Clausecker and Lemire, Transcoding Unicode characters with AVX-512 instructions, 2023. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "utf8_kernels.h"

#if defined(__clang__)
#pragma clang attribute push(                                                                                           \
    __attribute__((target("avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vbmi,avx512vbmi2"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vbmi,avx512vbmi2")
#endif

static inline __m512i load(const void *p) { return _mm512_loadu_si512(p); }

/* ---- encode ------------------------------------------------------------------------------------------------------------------ */

/* By the leading zeros of a code point, 0 to 31: 25 or more for one byte, 21 for two, 16 for three, 11 for four. */
#define FIVE(x)                         x, x, x, x, x
#define BY_ZEROS(four, three, two, one) 0, FIVE(0), FIVE(0), FIVE(four), FIVE(three), two, two, two, two, one, one, one, one, one, one, one

/* Which bits of the spread code point are used, and what is added to them; the lowest byte comes first. */
static const uint32_t used_bits[32] __attribute__((aligned(64))) = {BY_ZEROS(0x3F3F3F07, 0x3F3F0F00, 0x3F1F0000, 0x7F000000)};
static const uint32_t tag_bits[32] __attribute__((aligned(64))) = {BY_ZEROS(0x808080F0, 0x8080E000, 0x80C00000, 0)};

/* The lower halves of 32 code points. */
static const uint16_t even_words[32] __attribute__((aligned(64))) = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                                                     32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62};

/* Writes the `wanted` ones of sixteen code points, all well-formed. */
ALWAYS_INLINE uint8_t *encode_16(uint8_t *out, __m512i codes, __mmask16 wanted) {
    /* bytes code >> 18, code >> 12, code >> 6, code of each; the other half of the 64 bits is 32 bits further up */
    const __m512i spread = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x20262C3200060C12), codes);
    const __m512i zeros = _mm512_lzcnt_epi32(_mm512_or_si512(codes, _mm512_set1_epi32(1)));
    const __m512i used = _mm512_permutex2var_epi32(load(used_bits), zeros, load(used_bits + 16));
    const __m512i tags = _mm512_permutex2var_epi32(load(tag_bits), zeros, load(tag_bits + 16));
    const __m512i bytes = _mm512_or_si512(_mm512_and_si512(spread, used), tags);
    /* used bytes are not zero, but for U+0000 */
    const __m512i marks = _mm512_maskz_or_epi32(wanted, bytes, _mm512_set1_epi32((int)0x80000000));
    const uint64_t kept = _mm512_test_epi8_mask(marks, marks);
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(kept, bytes));
    return out + _mm_popcnt_u64(kept);
}

/* 32 code points below 800, in 16 bits each. */
ALWAYS_INLINE uint8_t *encode_32_short(uint8_t *out, __m512i codes) {
    const __mmask32 of_2 = _mm512_cmpgt_epu16_mask(codes, _mm512_set1_epi16(0x7F));
    const __m512i last = _mm512_and_si512(_mm512_slli_epi16(codes, 8), _mm512_set1_epi16(0x3F00));
    const __m512i both = _mm512_ternarylogic_epi64(last, _mm512_srli_epi16(codes, 6), _mm512_set1_epi16((short)0x80C0), 0xFE);
    const __m512i bytes = _mm512_mask_mov_epi16(codes, of_2, both);
    const __m512i marks = _mm512_or_si512(bytes, _mm512_set1_epi16(0x00FF));
    const uint64_t kept = _mm512_test_epi8_mask(marks, marks);
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(kept, bytes));
    return out + _mm_popcnt_u64(kept);
}

/* Replaces the ill-formed ones of sixteen code points by U+FFFD and counts them. */
static __attribute__((noinline)) __m512i replace_bad(__m512i codes, __mmask16 ill_formed, struct utf8_bad *bad, size_t at) {
    const uint64_t nfound = (uint64_t)_mm_popcnt_u32(ill_formed);
    bad->sequences += nfound;
    bad->units += nfound;
    if (bad->first == SIZE_MAX) bad->first = at + (size_t)__builtin_ctz(ill_formed);
    return _mm512_mask_set1_epi32(codes, ill_formed, 0xFFFD);
}

ALWAYS_INLINE uint8_t *encode_any_16(uint8_t *out, __m512i codes, __mmask16 own, bool replace, struct utf8_bad *bad, size_t at) {
    const __m512i plane_row = _mm512_and_si512(codes, _mm512_set1_epi32((int)0xFFFFF800));
    const __mmask16 ill_formed =
        _mm512_cmpgt_epu32_mask(codes, _mm512_set1_epi32(0x10FFFF)) | _mm512_cmpeq_epi32_mask(plane_row, _mm512_set1_epi32(0xD800));
    if (__builtin_expect(ill_formed == 0, 1)) return encode_16(out, codes, own);
    return encode_16(out, replace_bad(codes, ill_formed, bad, at), replace ? own : own & (__mmask16)~ill_formed);
}

size_t utf8_encode_avx512(uint8_t *out, const uint32_t *in, size_t n, bool replace, struct utf8_bad *bad) {
    const __m512i even_halves = load(even_words);
    uint8_t *end = out;
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m512i first = load(in + i), second = load(in + i + 16), either = _mm512_or_si512(first, second);
        if (_mm512_test_epi32_mask(either, _mm512_set1_epi32(~0x7F)) == 0) {
            _mm_storeu_si128((__m128i *)end, _mm512_cvtepi32_epi8(first));
            _mm_storeu_si128((__m128i *)end + 1, _mm512_cvtepi32_epi8(second));
            end += 32;
        } else if (_mm512_test_epi32_mask(either, _mm512_set1_epi32(~0x7FF)) == 0) {
            end = encode_32_short(end, _mm512_permutex2var_epi16(first, even_halves, second));
        } else {
            end = encode_any_16(end, first, 0xFFFF, replace, bad, i);
            end = encode_any_16(end, second, 0xFFFF, replace, bad, i + 16);
        }
    }
    for (; i < n; i += 16) {
        const __mmask16 own = n - i >= 16 ? 0xFFFF : (__mmask16)((1u << (n - i)) - 1);
        end = encode_any_16(end, _mm512_maskz_loadu_epi32(own, in + i), own, replace, bad, i);
    }
    return (size_t)(end - out);
}

/* ---- widen ------------------------------------------------------------------------------------------------------------------- */

ALWAYS_INLINE __m512i load_units(const uint16_t *in, bool swap) {
    const __m256i units = _mm256_loadu_si256((const __m256i *)in);
    const __m256i swapped = _mm256_or_si256(_mm256_slli_epi16(units, 8), _mm256_srli_epi16(units, 8));
    return _mm512_cvtepu16_epi32(swap ? swapped : units);
}

ALWAYS_INLINE __mmask16 has_prefix(__m512i units, int prefix) {
    return _mm512_cmpeq_epi32_mask(_mm512_and_si512(units, _mm512_set1_epi32(0xFC00)), _mm512_set1_epi32(prefix));
}

/* 16 units: each high surrogate takes in the low one that follows it, which is dropped. */
ALWAYS_INLINE size_t widen_16(uint32_t *out, const uint16_t *in, __mmask16 own, bool swap) {
    const __m512i units = load_units(in, swap), next = load_units(in + 1, swap), before = load_units(in - 1, swap);
    const __mmask16 low = has_prefix(units, 0xDC00);
    const __mmask16 pair = has_prefix(units, 0xD800) & has_prefix(next, 0xDC00), second = low & has_prefix(before, 0xD800);
    const __m512i joined = _mm512_sub_epi32(_mm512_add_epi32(_mm512_slli_epi32(units, 10), next), _mm512_set1_epi32(0x35FDC00));
    const __mmask16 kept = own & (__mmask16)~second;
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(kept, _mm512_mask_mov_epi32(units, pair, joined)));
    return (size_t)_mm_popcnt_u32(kept);
}

ALWAYS_INLINE size_t widen_any(uint32_t *out, const uint16_t *in, size_t n, bool swap) {
    const __m512i prefix = _mm512_set1_epi16(swap ? 0x00F8 : (short)0xF800), surrogate = _mm512_set1_epi16(swap ? 0x00D8 : (short)0xD800);
    uint32_t *end = out;
    for (size_t i = 0; i < n;) {
        if (n - i >= 32 && _mm512_cmpeq_epi16_mask(_mm512_and_si512(load(in + i), prefix), surrogate) == 0) {
            _mm512_storeu_si512(end, load_units(in + i, swap));
            _mm512_storeu_si512(end + 16, load_units(in + i + 16, swap));
            end += 32;
            i += 32;
            continue;
        }
        const __mmask16 own = n - i >= 16 ? 0xFFFF : (__mmask16)((1u << (n - i)) - 1);
        end += widen_16(end, in + i, own, swap);
        i += 16;
    }
    return (size_t)(end - out);
}

size_t utf16_widen_avx512(uint32_t *out, const uint16_t *in, size_t n, bool swap) {
    return swap ? widen_any(out, in, n, true) : widen_any(out, in, n, false);
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#else
typedef int utf8_avx512_encode_is_for_x86; /* ISO C wants a declaration in every file */
#endif
