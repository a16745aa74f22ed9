/* utf8_avx2.c: the table of UTF-8 kernels for AVX2: those of utf8_avx512.c by other means.
 *
 *     windows      of 64 bytes in two registers, so that the masks and their rules are the same (utf8_rules.h)
 *     code points  put together where they stand, low and high bytes apart, as there
 *     compressed   eight at a time: the masks of eight bits look up a shuffle (set_bits.h)
 *     encode       eight code points at a time: four bytes each, of which a shuffle for each four keeps the used ones
 *
 * What depends on the length of a sequence is told by the bytes before its end (if the last but one is a continuation, there are three or
 * more), as AVX2 has no masked operations. Windows with ill-formed text are patched byte by byte. */
#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "set_bits.h"
#include "utf8_kernels.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif

static inline __m256i load(const void *p) { return _mm256_loadu_si256(p); }
static inline __m256i bytes_of(int byte) { return _mm256_set1_epi8((char)byte); }
static inline __m256i is_at_least(__m256i b, int byte) { return _mm256_cmpeq_epi8(_mm256_max_epu8(b, bytes_of(byte)), b); }
/* Signed bytes: continuations, 80..BF, are those below C0. */
static inline __m256i is_continuation(__m256i b) { return _mm256_cmpgt_epi8(bytes_of(0xC0), b); }
static inline __m256i left(__m256i b, int bits, int kept) { return _mm256_and_si256(_mm256_slli_epi16(b, bits), bytes_of(kept)); }
static inline __m256i right(__m256i b, int bits, int kept) { return _mm256_and_si256(_mm256_srli_epi16(b, bits), bytes_of(kept)); }

/* ---- classes ----------------------------------------------------------------------------------------------------------------- */

/* One bit for each way in which a lead byte and its second byte may go together; `and` of both tables' entries is not zero if they do.
 *   1 C2..DF, E1..EC, EE, EF, F1..F3 with 80..BF   2 E0 with A0..BF   4 ED with 80..9F   8 F0 with 90..BF   16 F4 with 80..8F */
ALWAYS_INLINE __m256i is_good_pair(__m256i lead, __m256i second) {
    const __m256i by_second =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1 | 4 | 16, 1 | 4 | 8, 1 | 2 | 8, 1 | 2 | 8, 0, 0, 0, 0));
    const __m256i by_e_nibble = _mm256_broadcastsi128_si256(_mm_setr_epi8(2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 1, 1));
    const __m256i by_f_nibble = _mm256_broadcastsi128_si256(_mm_setr_epi8(8, 1, 1, 1, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i nibble = _mm256_and_si256(lead, bytes_of(0x0F));
    const __m256i from_c2 = _mm256_and_si256(is_at_least(lead, 0xC2), bytes_of(1));
    __m256i may = _mm256_blendv_epi8(from_c2, _mm256_shuffle_epi8(by_e_nibble, nibble), is_at_least(lead, 0xE0));
    may = _mm256_blendv_epi8(may, _mm256_shuffle_epi8(by_f_nibble, nibble), is_at_least(lead, 0xF0));
    const __m256i with = _mm256_and_si256(may, _mm256_shuffle_epi8(by_second, right(second, 4, 0x0F)));
    return _mm256_cmpgt_epi8(with, _mm256_setzero_si256());
}

ALWAYS_INLINE uint64_t mask_of(__m256i first, __m256i second) {
    return (uint32_t)_mm256_movemask_epi8(first) | (uint64_t)(uint32_t)_mm256_movemask_epi8(second) << 32;
}

/* The window of 64 bytes at p; byte p[64] is looked at too. */
ALWAYS_INLINE struct utf8_classes classify(const uint8_t *p) {
    const __m256i a = load(p), b = load(p + 32);
    return (struct utf8_classes){
        .high = mask_of(a, b),
        .lead = mask_of(is_at_least(a, 0xC0), is_at_least(b, 0xC0)),
        .from_e0 = mask_of(is_at_least(a, 0xE0), is_at_least(b, 0xE0)),
        .from_f0 = mask_of(is_at_least(a, 0xF0), is_at_least(b, 0xF0)),
        .second = mask_of(is_good_pair(a, load(p + 1)), is_good_pair(b, load(p + 33))),
    };
}

static inline bool is_ascii_64(const uint8_t *p) { return _mm256_movemask_epi8(_mm256_or_si256(load(p), load(p + 32))) == 0; }

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

/* Makes surrogate pairs of the four-byte sequences: the low one where the sequence ends, the high one at the byte before. */
static void patch_surrogates(struct planes *planes, const uint8_t *p, uint64_t of_4) {
    for (; of_4 != 0; of_4 &= of_4 - 1) {
        const size_t end = (size_t)__builtin_ctzll(of_4);
        if (end < UTF8_BEFORE) continue;
        const uint32_t code = utf8_code_point(p + end - 3, 4), high = 0xD7C0 + (code >> 10);
        planes->high[end] = (uint8_t)(0xDC | (code >> 8 & 3));
        planes->low[end - 1] = (uint8_t)high;
        planes->high[end - 1] = (uint8_t)(high >> 8);
    }
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

/* The window at p, of which the bits `owned` count; returns the number of code units. */
ALWAYS_INLINE size_t decode_window(unsigned char *out, const uint8_t *p, uint64_t owned, bool replace, struct utf8_bad *bad, size_t at,
                                   upsweep_encoding to) {
    const struct utf8_ends ends = utf8_find_ends(classify(p), false);
    const bool has_top = to == UPSWEEP_UTF32 && ends.of_4 != 0;
    struct planes planes;
    uint64_t emit = ends.ascii | ends.of_2 | ends.of_3 | ends.of_4;
    for (size_t i = 0; i < 64; i += 32) assemble_32(planes.low + i, planes.high + i, p + i);
    if (has_top)
        for (size_t i = 0; i < 64; i += 32) assemble_top_32(planes.top + i, p + i);
    if (to != UPSWEEP_UTF32 && ends.of_4 != 0) {
        patch_surrogates(&planes, p, ends.of_4);
        emit |= ends.of_4 >> 1;
    }
    utf8_take_bad(bad, &ends, owned, at, false);
    if (replace) {
        patch_bad(&planes, ends.bad & owned);
        emit |= ends.bad;
    }
    emit &= owned;
    return has_top ? store_planes(out, &planes, emit, true, to) : store_planes(out, &planes, emit, false, to);
}

ALWAYS_INLINE size_t decode(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad, upsweep_encoding to) {
    const size_t unit_nbytes = to == UPSWEEP_UTF32 ? 4 : 2;
    unsigned char *end = out;
    for (size_t i = 0; i < n;) {
        if (n - i >= 64 && is_ascii_64(in + i)) { /* what began before i has ended there, and been written */
            store_ascii(end, in + i, to);
            end += 64 * unit_nbytes;
            i += 64;
            continue;
        }
        end += unit_nbytes * decode_window(end, in + i - UTF8_BEFORE, utf8_owned(n - i), replace, bad, i, to);
        i += UTF8_OWNED;
    }
    return (size_t)(end - (unsigned char *)out) / unit_nbytes;
}

static size_t decode_utf32(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad) {
    return replace ? decode(out, in, n, true, bad, UPSWEEP_UTF32) : decode(out, in, n, false, bad, UPSWEEP_UTF32);
}
static size_t decode_utf16le(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad) {
    return replace ? decode(out, in, n, true, bad, UPSWEEP_UTF16LE) : decode(out, in, n, false, bad, UPSWEEP_UTF16LE);
}
static size_t decode_utf16be(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad) {
    return replace ? decode(out, in, n, true, bad, UPSWEEP_UTF16BE) : decode(out, in, n, false, bad, UPSWEEP_UTF16BE);
}

static struct utf8_good measure(const uint8_t *in, size_t n, struct utf8_bad *bad) {
    struct utf8_good good = {0, 0};
    for (size_t i = 0; i < n;) {
        if (n - i >= 64 && is_ascii_64(in + i)) {
            good.sequences += 64;
            i += 64;
            continue;
        }
        const uint64_t owned = utf8_owned(n - i);
        const struct utf8_ends ends = utf8_find_ends(classify(in + i - UTF8_BEFORE), false);
        good.sequences += (uint64_t)_mm_popcnt_u64((ends.ascii | ends.of_2 | ends.of_3 | ends.of_4) & owned);
        good.of_4 += (uint64_t)_mm_popcnt_u64(ends.of_4 & owned);
        utf8_take_bad(bad, &ends, owned, i, false);
        i += UTF8_OWNED;
    }
    return good;
}

/* ---- encode ------------------------------------------------------------------------------------------------------------------ */

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

static size_t encode(uint8_t *out, const uint32_t *in, size_t n, bool replace, struct utf8_bad *bad) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    uint8_t *end = out;
    for (size_t i = 0; i < n; i += 8) {
        __m256i own = _mm256_set1_epi32(-1), codes = load(in + i);
        if (n - i < 8) {
            own = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n - i)), lanes);
            codes = _mm256_and_si256(codes, own);
        } else if (_mm256_testz_si256(codes, _mm256_set1_epi32(~0x7F))) {
            const __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(codes, codes), 0x08);
            const __m128i words_low = _mm256_castsi256_si128(words);
            _mm_storel_epi64((__m128i *)end, _mm_packus_epi16(words_low, words_low));
            end += 8;
            continue;
        }
        /* unsigned codes > 10FFFF, as max(codes, 110000) == codes */
        const __m256i limit = _mm256_set1_epi32(0x110000), too_large = _mm256_cmpeq_epi32(_mm256_max_epu32(codes, limit), codes);
        const __m256i surrogate = _mm256_cmpeq_epi32(_mm256_srli_epi32(codes, 11), _mm256_set1_epi32(0xD800 >> 11));
        const __m256i ill_formed = _mm256_or_si256(too_large, surrogate);
        take_bad_codes(bad, (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(ill_formed)), i);
        codes = _mm256_blendv_epi8(codes, _mm256_set1_epi32(0xFFFD), ill_formed);
        end = encode_8(end, codes, replace ? own : _mm256_andnot_si256(ill_formed, own));
    }
    return (size_t)(end - out);
}

/* ---- widen ------------------------------------------------------------------------------------------------------------------- */

ALWAYS_INLINE __m128i load_units(const uint16_t *in, bool swap) {
    const __m128i units = _mm_loadu_si128((const __m128i *)in);
    return swap ? _mm_or_si128(_mm_slli_epi16(units, 8), _mm_srli_epi16(units, 8)) : units;
}

ALWAYS_INLINE size_t widen_any(uint32_t *out, const uint16_t *in, size_t n, bool swap) {
    const __m128i prefix = _mm_set1_epi16((short)0xF800), surrogate = _mm_set1_epi16((short)0xD800);
    uint32_t *end = out;
    for (size_t i = 0; i < n;) {
        const __m128i units = load_units(in + i, swap);
        if (n - i >= 8 && _mm_movemask_epi8(_mm_cmpeq_epi16(_mm_and_si128(units, prefix), surrogate)) == 0) {
            _mm256_storeu_si256((__m256i *)end, _mm256_cvtepu16_epi32(units));
            end += 8;
            i += 8;
            continue;
        }
        /* up to the end of a pair that may begin at the eighth */
        const size_t stop = n - i < 8 ? n : i + 8;
        while (i < stop) {
            const uint32_t unit = swap ? __builtin_bswap16(in[i]) : in[i], next = swap ? __builtin_bswap16(in[i + 1]) : in[i + 1];
            const bool pair = unit >> 10 == 0xD800 >> 10 && next >> 10 == 0xDC00 >> 10 && i + 1 < n;
            *end++ = pair ? (unit << 10) + next - 0x35FDC00 : unit;
            i += pair ? 2 : 1;
        }
    }
    return (size_t)(end - out);
}

static size_t widen(uint32_t *out, const uint16_t *in, size_t n, bool swap) {
    return swap ? widen_any(out, in, n, true) : widen_any(out, in, n, false);
}

const struct utf8_kernels utf8_kernels_avx2 = {
    .decode = {decode_utf32, decode_utf16le, decode_utf16be},
    .measure = measure,
    .encode = encode,
    .widen = widen,
};

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#else
typedef int utf8_avx2_is_for_x86; /* ISO C wants a declaration in every file */
#endif
