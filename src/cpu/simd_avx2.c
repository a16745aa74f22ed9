/* simd_avx2.c: the table of kernels for AVX2 (with BMI and POPCNT: Haswell, Zen 1 and newer).
 *
 * Scans: shift and combine within 128-bit lanes, then across (avx2_tmpl.h). Compactions: groups of up to eight items are moved to the front
 * by one shuffle, whose indices are a row of set_bits.h; the store that follows overwrites what is too much.
 * Functions are compiled for the instruction set by a pragma, so the build needs no flags for this file. */
#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "../op.h"
#include "kernels.h"
#include "set_bits.h"

#include "target_avx2.h"

#include "avx2_few.h"

#define VEC_NBYTES 32
typedef __m256i raw_vec;

/* How a scan's vectors are stored. 16: as two halves, which write combining puts together again; malloc() aligns no better. */
enum store_kind { STORE_PLAIN, STORE_STREAM_16, STORE_STREAM_32 };

static inline enum store_kind store_kind_for(const void *out, bool stream) {
    if (!stream || (uintptr_t)out % 16 != 0) return STORE_PLAIN;
    return (uintptr_t)out % 32 == 0 ? STORE_STREAM_32 : STORE_STREAM_16;
}

static inline __m256i load_vec(const void *p) { return _mm256_loadu_si256(p); }

ALWAYS_INLINE void store_vec(void *p, __m256i x, enum store_kind kind) {
    __m128i *half = p;
    if (kind == STORE_PLAIN) {
        _mm256_storeu_si256(p, x);
    } else if (kind == STORE_STREAM_32) {
        _mm256_stream_si256(p, x);
    } else {
        _mm_stream_si128(half, _mm256_castsi256_si128(x));
        _mm_stream_si128(half + 1, _mm256_extracti128_si256(x, 1));
    }
}

static inline void end_stores(enum store_kind kind) {
    if (kind != STORE_PLAIN) _mm_sfence(); /* streaming stores are weakly ordered: before whatever tells others that the output is there */
}

/* One group: the items at `in` whose bits are set in mask go to *end, which moves on behind them. */

ALWAYS_INLINE void compress_1(unsigned char **end, const unsigned char *in, uint64_t mask) {
    const __m128i from = _mm_loadl_epi64((const __m128i *)&set_bits[mask]);
    _mm_storel_epi64((__m128i *)*end, _mm_shuffle_epi8(_mm_loadl_epi64((const __m128i *)in), from));
    *end += _mm_popcnt_u64(mask);
}

ALWAYS_INLINE void compress_2(unsigned char **end, const unsigned char *in, uint64_t mask) {
    const __m128i item = _mm_loadl_epi64((const __m128i *)&set_bits[mask]), low_byte = _mm_add_epi8(item, item);
    const __m128i from = _mm_unpacklo_epi8(low_byte, _mm_add_epi8(low_byte, _mm_set1_epi8(1)));
    _mm_storeu_si128((__m128i *)*end, _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)in), from));
    *end += 2 * _mm_popcnt_u64(mask);
}

ALWAYS_INLINE void compress_4(unsigned char **end, const unsigned char *in, uint64_t mask) {
    const __m256i from = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)&set_bits[mask]));
    _mm256_storeu_si256((__m256i *)*end, _mm256_permutevar8x32_epi32(load_vec(in), from));
    *end += 4 * _mm_popcnt_u64(mask);
}

ALWAYS_INLINE void compress_8(unsigned char **end, const unsigned char *in, uint64_t mask) {
    static const unsigned char twice[16] = {0x00, 0x03, 0x0c, 0x0f, 0x30, 0x33, 0x3c, 0x3f, 0xc0, 0xc3, 0xcc, 0xcf, 0xf0, 0xf3, 0xfc, 0xff};
    compress_4(end, in, twice[mask]); /* an item is two 4-byte ones */
}

ALWAYS_INLINE void compress_16(unsigned char **end, const unsigned char *in, uint64_t mask) {
    _mm_storeu_si128((__m128i *)*end, _mm_loadu_si128((const __m128i *)in));
    *end += 16 * mask;
}

/* A group: eight items, four, or one. */
ALWAYS_INLINE size_t group_of(size_t nbytes) { return nbytes == 16 ? 1 : nbytes == 8 ? 4 : 8; }

ALWAYS_INLINE void compress_group(size_t nbytes, unsigned char **end, const unsigned char *in, uint64_t word) {
    const uint64_t mask = word & ((1u << group_of(nbytes)) - 1);
    if (nbytes == 1) compress_1(end, in, mask);
    if (nbytes == 2) compress_2(end, in, mask);
    if (nbytes == 4) compress_4(end, in, mask);
    if (nbytes == 8) compress_8(end, in, mask);
    if (nbytes == 16) compress_16(end, in, mask);
}

/* 64 items, by a word of bits. */
ALWAYS_INLINE void compress_word(size_t nbytes, unsigned char **end, const unsigned char *in, uint64_t word) {
    for (size_t i = 0; i < 64; i += group_of(nbytes)) compress_group(nbytes, end, in + i * nbytes, word >> i);
}

/* ---- compaction -------------------------------------------------------------------------------------------------------------- */

/* Whole words of bits while there is room for all items, then groups while there is room for one, and the rest one by one. */
ALWAYS_INLINE size_t compact_words(size_t nbytes, void *out, size_t room, const void *in, const uint64_t *bits, size_t n) {
    const unsigned char *items = in;
    unsigned char *end = out, *const limit = end + room * nbytes;
    const size_t group = group_of(nbytes), sure = words_with_room(n, room);
    size_t w = 0;
    for (; w < sure || (w < n / 64 && (size_t)(limit - end) >= 64 * nbytes); w++)
        compress_word(nbytes, &end, items + w * 64 * nbytes, bits[w]);
    size_t i = 64 * w;
    for (; n - i >= group && (size_t)(limit - end) >= group * nbytes; i += group)
        compress_group(nbytes, &end, items + i * nbytes, bits[i / 64] >> i % 64);
    compact_one_by_one(nbytes, &end, items, bits, i, n);
    return (size_t)(end - (unsigned char *)out) / nbytes;
}

#include "compact_widths_tmpl.h"

/* A row of set_bits.h, widened and added to the number of the group's first item, is the indices. */

ALWAYS_INLINE void number_32(uint32_t **end, uint64_t first, uint64_t mask) {
    const __m256i place = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)&set_bits[mask]));
    _mm256_storeu_si256((__m256i *)*end, _mm256_add_epi32(_mm256_set1_epi32((int)(uint32_t)first), place));
    *end += _mm_popcnt_u64(mask);
}

static size_t indices32(void *out, uint64_t base, const uint64_t *bits, size_t n) {
    uint32_t *end = out;
    size_t first = 0;
    for (; n - first >= 64; first += 64)
        for (size_t i = 0; i < 64; i += 8) number_32(&end, base + first + i, bits[first / 64] >> i & 0xff);
    for (; n - first >= 8; first += 8) number_32(&end, base + first, bits[first / 64] >> first % 64 & 0xff);
    if (first < n)
        for (uint64_t word = bits[first / 64] >> first % 64; word != 0; word &= word - 1)
            *end++ = (uint32_t)(base + first + _tzcnt_u64(word));
    return (size_t)(end - (uint32_t *)out);
}

ALWAYS_INLINE void number_64(uint64_t **end, uint64_t first, uint64_t mask) {
    const __m256i place = _mm256_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)&set_bits[mask]));
    _mm256_storeu_si256((__m256i *)*end, _mm256_add_epi64(_mm256_set1_epi64x((long long)first), place));
    *end += _mm_popcnt_u64(mask);
}

static size_t indices64(void *out, uint64_t base, const uint64_t *bits, size_t n) {
    uint64_t *end = out;
    size_t first = 0;
    for (; n - first >= 64; first += 64)
        for (size_t i = 0; i < 64; i += 4) number_64(&end, base + first + i, bits[first / 64] >> i & 0xf);
    for (; n - first >= 4; first += 4) number_64(&end, base + first, bits[first / 64] >> first % 64 & 0xf);
    if (first < n)
        for (uint64_t word = bits[first / 64] >> first % 64; word != 0; word &= word - 1)
            *end++ = (uint64_t)(base + first + _tzcnt_u64(word));
    return (size_t)(end - (uint64_t *)out);
}

/* ---- scans and predicates ---------------------------------------------------------------------------------------------------- */

#define INTRINSIC(name) EACH_TYPE_PASTE(_mm256_##name##_, X86)
#define SPLIT_ITEMS     2048 /* of a split, whose bits are computed at a time */

#define EACH_TYPE "cpu/apply_tmpl.h"
#include "../each_type.h"
#define EACH_TYPE "cpu/avx2_tmpl.h"
#include "../each_type.h"
#define EACH_TYPE "cpu/vector_scan_tmpl.h"
#include "../each_type.h"
#define EACH_TYPE "cpu/scan_switch_tmpl.h"
#include "../each_type.h"
#define EACH_TYPE "cpu/vector_mask_tmpl.h"
#include "../each_type.h"
#define EACH_TYPE "cpu/keep_switch_tmpl.h"
#include "../each_type.h"

/* By flags, some words of bits at a time. */
ALWAYS_INLINE size_t sift_flagged(size_t nbytes, void *out, void *rest, const void *in, const uint8_t *flags, size_t n) {
    unsigned char *kept = out, *rejected = rest;
    uint64_t bits[SPLIT_ITEMS / 64];
    for (size_t i = 0; i < n; i += SPLIT_ITEMS) {
        const size_t here = n - i < SPLIT_ITEMS ? n - i : SPLIT_ITEMS;
        const unsigned char *items = (const unsigned char *)in + i * nbytes;
        mask_items_u8(UPSWEEP_NE, flags + i, 0, here, bits);
        kept += nbytes * compact_words(nbytes, kept, here, items, bits, here);
        if (rest == NULL) continue;
        invert_bits(bits, here);
        rejected += nbytes * compact_words(nbytes, rejected, here, items, bits, here);
    }
    return (size_t)(kept - (unsigned char *)out) / nbytes;
}

#include "flags_widths_tmpl.h"

/* ---- copy -------------------------------------------------------------------------------------------------------------------- */

static void stream_copy(void *out, const void *in, size_t nbytes) {
    const size_t to_vector = (0 - (uintptr_t)out) % 32, head = to_vector < nbytes ? to_vector : nbytes;
    memcpy(out, in, head);
    size_t i = head;
    for (; i + 32 <= nbytes; i += 32) store_vec((char *)out + i, load_vec((const char *)in + i), STORE_STREAM_32);
    end_stores(STORE_STREAM_32);
    memcpy((char *)out + i, (const char *)in + i, nbytes - i);
}

/* ---- table ------------------------------------------------------------------------------------------------------------------- */

#define SCAN_ROW(e, v, name, ...)   [e] = scan_##name,
#define REDUCE_ROW(e, v, name, ...) [e] = reduce_##name,
#define MASK_ROW(e, v, name, ...)   [e] = mask_##name,
#define FILTER_ROW(e, v, name, ...) [e] = filter_##name,
#define SPLIT_ROW(e, v, name, ...)  [e] = split_##name,
const struct kernels kernels_avx2 = {
    .scan = {UPSWEEP_TYPE_TABLE(SCAN_ROW)},
    .reduce = {UPSWEEP_TYPE_TABLE(REDUCE_ROW)},
    .mask = {UPSWEEP_TYPE_TABLE(MASK_ROW)},
    .filter = {UPSWEEP_TYPE_TABLE(FILTER_ROW)},
    .split = {UPSWEEP_TYPE_TABLE(SPLIT_ROW)},
    .flags = {flags_1, flags_2, flags_4, flags_8, flags_16},
    .compact = {compact_1, compact_2, compact_4, compact_8, compact_16},
    .indices32 = indices32,
    .indices64 = indices64,
    .stream_copy = stream_copy,
};

#include "target_end.h"

#else
typedef int simd_avx2_is_for_x86; /* ISO C wants a declaration in every file */
#endif
