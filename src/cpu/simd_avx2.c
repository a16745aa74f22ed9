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

/* 64 items, by a word of bits. */
ALWAYS_INLINE void compress_word(size_t nbytes, unsigned char **end, const unsigned char *in, uint64_t word) {
    const size_t group = nbytes == 8 ? 4 : 8;
    for (size_t i = 0; i < 64; i += group, in += group * nbytes) {
        const uint64_t mask = word >> i & (((uint64_t)1 << group) - 1);
        switch (nbytes) {
        case 1:
            compress_1(end, in, mask);
            break;
        case 2:
            compress_2(end, in, mask);
            break;
        case 4:
            compress_4(end, in, mask);
            break;
        default:
            compress_8(end, in, mask);
            break;
        }
    }
}

#define INTRINSIC(name) EACH_TYPE_PASTE(_mm256_##name##_, X86)

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

/* ---- compaction -------------------------------------------------------------------------------------------------------------- */

/* All whole words of bits, and the rest with the portable kernel. */
ALWAYS_INLINE size_t compact_words(size_t nbytes, compact_kernel *portable, void *out, const void *in, const uint64_t *bits, size_t n) {
    const unsigned char *items = in;
    unsigned char *end = out;
    const size_t nwords = n / 64;
    for (size_t w = 0; w < nwords; w++, items += 64 * nbytes) compress_word(nbytes, &end, items, bits[w]);
    const size_t kept = (size_t)(end - (unsigned char *)out) / nbytes;
    return n % 64 == 0 ? kept : kept + portable(end, items, bits + nwords, n % 64);
}

static size_t compact_1(void *out, const void *in, const uint64_t *bits, size_t n) {
    return compact_words(1, compact_portable_1, out, in, bits, n);
}
static size_t compact_2(void *out, const void *in, const uint64_t *bits, size_t n) {
    return compact_words(2, compact_portable_2, out, in, bits, n);
}
static size_t compact_4(void *out, const void *in, const uint64_t *bits, size_t n) {
    return compact_words(4, compact_portable_4, out, in, bits, n);
}
static size_t compact_8(void *out, const void *in, const uint64_t *bits, size_t n) {
    return compact_words(8, compact_portable_8, out, in, bits, n);
}

/* A row of set_bits.h, widened and added to the number of the group's first item, is the indices. */

static size_t indices32(void *out, uint64_t base, const uint64_t *bits, size_t n) {
    uint32_t *end = out;
    const size_t nwords = n / 64;
    for (size_t w = 0; w < nwords; w++)
        for (size_t i = 0; i < 64; i += 8) {
            const uint64_t mask = bits[w] >> i & 0xff;
            const __m256i first = _mm256_set1_epi32((int)(uint32_t)(base + 64 * w + i));
            const __m256i place = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)&set_bits[mask]));
            _mm256_storeu_si256((__m256i *)end, _mm256_add_epi32(first, place));
            end += _mm_popcnt_u64(mask);
        }
    const size_t kept = (size_t)(end - (uint32_t *)out);
    return n % 64 == 0 ? kept : kept + indices32_portable(end, base + 64 * nwords, bits + nwords, n % 64);
}

static size_t indices64(void *out, uint64_t base, const uint64_t *bits, size_t n) {
    uint64_t *end = out;
    const size_t nwords = n / 64;
    for (size_t w = 0; w < nwords; w++)
        for (size_t i = 0; i < 64; i += 4) {
            const uint64_t mask = bits[w] >> i & 0xf;
            const __m256i first = _mm256_set1_epi64x((long long)(base + 64 * w + i));
            const __m256i place = _mm256_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)&set_bits[mask]));
            _mm256_storeu_si256((__m256i *)end, _mm256_add_epi64(first, place));
            end += _mm_popcnt_u64(mask);
        }
    const size_t kept = (size_t)(end - (uint64_t *)out);
    return n % 64 == 0 ? kept : kept + indices64_portable(end, base + 64 * nwords, bits + nwords, n % 64);
}

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
const struct kernels kernels_avx2 = {
    .scan = {UPSWEEP_TYPE_TABLE(SCAN_ROW)},
    .reduce = {UPSWEEP_TYPE_TABLE(REDUCE_ROW)},
    .mask = {UPSWEEP_TYPE_TABLE(MASK_ROW)},
    .filter = {UPSWEEP_TYPE_TABLE(FILTER_ROW)},
    .compact = {compact_1, compact_2, compact_4, compact_8, compact_portable_16},
    .indices32 = indices32,
    .indices64 = indices64,
    .stream_copy = stream_copy,
};

#include "target_end.h"

#else
typedef int simd_avx2_is_for_x86; /* ISO C wants a declaration in every file */
#endif
