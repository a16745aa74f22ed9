/* simd_avx512.c: the table of kernels for AVX-512 (F, BW, DQ, VL, VBMI2: Ice Lake, Zen 4 and newer).
 *
 * Scans: shift and combine within a 512-bit register (avx512_tmpl.h). Compactions: `vpcompress` to a register, then a full store, of which
 * the next one overwrites what is too much: to memory the instruction is microcoded on Zen 4 and 5 to 27 times slower. Functions are
 * compiled for the instruction set by a pragma, so the build needs no flags for this file. */
#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "../op.h"
#include "kernels.h"

#include "target_avx512.h"

#define VEC_NBYTES 64
typedef __m512i raw_vec;

/* How a scan's vectors are stored. 16: as four quarters, which write combining puts together again; malloc() aligns no better. */
enum store_kind { STORE_PLAIN, STORE_STREAM_16, STORE_STREAM_64 };

static inline enum store_kind store_kind_for(const void *out, bool stream) {
    if (!stream || (uintptr_t)out % 16 != 0) return STORE_PLAIN;
    return (uintptr_t)out % 64 == 0 ? STORE_STREAM_64 : STORE_STREAM_16;
}

static inline __m512i load_vec(const void *p) { return _mm512_loadu_si512(p); }

ALWAYS_INLINE void store_vec(void *p, __m512i x, enum store_kind kind) {
    __m128i *quarter = p;
    if (kind == STORE_PLAIN) {
        _mm512_storeu_si512(p, x);
    } else if (kind == STORE_STREAM_64) {
        _mm512_stream_si512(p, x);
    } else {
        _mm_stream_si128(quarter, _mm512_castsi512_si128(x));
        _mm_stream_si128(quarter + 1, _mm512_extracti32x4_epi32(x, 1));
        _mm_stream_si128(quarter + 2, _mm512_extracti32x4_epi32(x, 2));
        _mm_stream_si128(quarter + 3, _mm512_extracti32x4_epi32(x, 3));
    }
}

/* The first items of a vector, so many bytes of them. */
#define VEC_HAS_MASKS 1
static inline __mmask64 first_bytes(size_t nbytes) { return _bzhi_u64(~UINT64_C(0), (uint32_t)nbytes); }
ALWAYS_INLINE __m512i load_first(__m512i others, const void *p, size_t nbytes) {
    return _mm512_mask_loadu_epi8(others, first_bytes(nbytes), p);
}
ALWAYS_INLINE void store_first(void *p, __m512i x, size_t nbytes) { _mm512_mask_storeu_epi8(p, first_bytes(nbytes), x); }

static inline void end_stores(enum store_kind kind) {
    if (kind != STORE_PLAIN) _mm_sfence(); /* streaming stores are weakly ordered: before whatever tells others that the output is there */
}

/* The items of a vector whose bits are set to the front; how many bits, the caller knows. */
ALWAYS_INLINE __m512i compress_vec(size_t nbytes, __m512i x, uint64_t mask) {
    if (nbytes == 1) return _mm512_maskz_compress_epi8(mask, x);
    if (nbytes == 2) return _mm512_maskz_compress_epi16((__mmask32)mask, x);
    if (nbytes == 4) return _mm512_maskz_compress_epi32((__mmask16)mask, x);
    if (nbytes == 8) return _mm512_maskz_compress_epi64((__mmask8)mask, x);
    return _mm512_maskz_compress_epi64((__mmask8)(_pdep_u64(mask, 0x55) * 3), x); /* an item is two words */
}

/* The items of a vector whose bits are set go to *end, which moves on behind them: a full store, of which the next one overwrites what is
 * too much. */
ALWAYS_INLINE void compress_whole(size_t nbytes, unsigned char **end, __m512i x, uint64_t mask) {
    _mm512_storeu_si512(*end, compress_vec(nbytes, x, mask));
    *end += nbytes * (size_t)_mm_popcnt_u64(mask);
}

/* 64 items, by a word of bits. */
ALWAYS_INLINE void compress_word(size_t nbytes, unsigned char **end, const unsigned char *in, uint64_t word) {
    for (size_t i = 0; i < 64; i += 64 / nbytes, in += 64) compress_whole(nbytes, end, load_vec(in), word >> i & first_bytes(64 / nbytes));
}

/* The first n items of a vector, of which the rest is not read, nor anything else written. */
ALWAYS_INLINE void compress_first(size_t nbytes, unsigned char **end, __m512i x, uint64_t mask) {
    const size_t kept_nbytes = nbytes * (size_t)_mm_popcnt_u64(mask);
    store_first(*end, compress_vec(nbytes, x, mask), kept_nbytes);
    *end += kept_nbytes;
}

#define INTRINSIC(name)             EACH_TYPE_PASTE(_mm512_##name##_, X86)
#define COMPARE_FLOATS(a, b, how)   EACH_TYPE_PASTE(INTRINSIC(cmp), _mask)(a, b, _CMP_##how)
#define COMPARE_INTEGERS(a, b, how) EACH_TYPE_PASTE(INTRINSIC(cmp), _mask)((__m512i)(a), (__m512i)(b), _MM_CMPINT_##how)

#define EACH_TYPE "cpu/apply_tmpl.h"
#include "../each_type.h"
#define EACH_TYPE "cpu/avx512_tmpl.h"
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

/* Whole words of bits while there is room for all items, and the rest by masks: until there is no more room, as a masked store of nothing
 * takes 150 ns where no page is. */
ALWAYS_INLINE size_t compact_words(size_t nbytes, void *out, size_t room, const void *in, const uint64_t *bits, size_t n) {
    const unsigned char *items = in;
    unsigned char *end = out, *const limit = end + room * nbytes;
    const size_t lanes = 64 / nbytes, sure = words_with_room(n, room);
    size_t w = 0;
    for (; w < sure || (w < n / 64 && (size_t)(limit - end) >= 64 * nbytes); w++)
        compress_word(nbytes, &end, items + w * 64 * nbytes, bits[w]);
    for (size_t i = 64 * w; i < n && end < limit; i += lanes) {
        const size_t here = n - i < lanes ? n - i : lanes;
        const __m512i x = load_first(_mm512_setzero_si512(), items + i * nbytes, here * nbytes);
        compress_first(nbytes, &end, x, bits[i / 64] >> i % 64 & first_bytes(lanes));
    }
    return (size_t)(end - (unsigned char *)out) / nbytes;
}

#include "compact_widths_tmpl.h"

/* By flags, of which a vector is a word of bits. */
ALWAYS_INLINE size_t sift_flagged(size_t nbytes, void *out, void *rest, const void *in, const uint8_t *flags, size_t n) {
    const vec_u8 zero = {0};
    const unsigned char *items = in;
    unsigned char *kept = out, *rejected = rest;
    for (; n >= 64; n -= 64, flags += 64, items += 64 * nbytes) {
        const uint64_t word = mask_word_u8(UPSWEEP_NE, flags, zero);
        compress_word(nbytes, &kept, items, word);
        if (rest != NULL) compress_word(nbytes, &rejected, items, ~word);
    }
    if (n == 0) return (size_t)(kept - (unsigned char *)out) / nbytes; /* a masked load of nothing takes 130 ns where there is no page */
    const uint64_t word = few_keep_u8(UPSWEEP_NE, flags, n, zero);
    const size_t lanes = 64 / nbytes;
    for (size_t i = 0; i < n; i += lanes) {
        const size_t here = n - i < lanes ? n - i : lanes;
        const uint64_t there = first_bytes(here), mask = word >> i & there;
        const __m512i x = load_first(_mm512_setzero_si512(), items + i * nbytes, here * nbytes);
        compress_first(nbytes, &kept, x, mask);
        if (rest != NULL) compress_first(nbytes, &rejected, x, mask ^ there);
    }
    return (size_t)(kept - (unsigned char *)out) / nbytes;
}

#include "flags_widths_tmpl.h"

/* Numbers as items of so many bytes: a vector of them, and the next ones. */
ALWAYS_INLINE __m512i numbers_from(size_t nbytes, uint64_t base) {
    if (nbytes == 8) return _mm512_add_epi64(_mm512_set1_epi64((long long)base), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
    const __m512i first = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_add_epi32(_mm512_set1_epi32((int)(uint32_t)base), first);
}

ALWAYS_INLINE __m512i next_numbers(size_t nbytes, __m512i x) {
    return nbytes == 8 ? _mm512_add_epi64(x, _mm512_set1_epi64(8)) : _mm512_add_epi32(x, _mm512_set1_epi32(16));
}

ALWAYS_INLINE size_t compact_numbers(size_t nbytes, void *out, uint64_t base, const uint64_t *bits, size_t n) {
    const size_t lanes = 64 / nbytes;
    __m512i index = numbers_from(nbytes, base);
    unsigned char *end = out;
    size_t i = 0;
    for (; i < n / 64 * 64; i += lanes, index = next_numbers(nbytes, index))
        compress_whole(nbytes, &end, index, bits[i / 64] >> i % 64 & first_bytes(lanes));
    for (; i < n; i += lanes, index = next_numbers(nbytes, index))
        compress_first(nbytes, &end, index, bits[i / 64] >> i % 64 & first_bytes(lanes));
    return (size_t)(end - (unsigned char *)out) / nbytes;
}

static size_t indices32(void *out, uint64_t base, const uint64_t *bits, size_t n) { return compact_numbers(4, out, base, bits, n); }
static size_t indices64(void *out, uint64_t base, const uint64_t *bits, size_t n) { return compact_numbers(8, out, base, bits, n); }

/* ---- copy -------------------------------------------------------------------------------------------------------------------- */

static void stream_copy(void *out, const void *in, size_t nbytes) {
    const size_t to_line = (0 - (uintptr_t)out) % 64, head = to_line < nbytes ? to_line : nbytes;
    memcpy(out, in, head);
    size_t i = head;
    for (; i + 64 <= nbytes; i += 64) store_vec((char *)out + i, load_vec((const char *)in + i), STORE_STREAM_64);
    end_stores(STORE_STREAM_64);
    memcpy((char *)out + i, (const char *)in + i, nbytes - i);
}

/* ---- table ------------------------------------------------------------------------------------------------------------------- */

#define SCAN_ROW(e, v, name, ...)   [e] = scan_##name,
#define REDUCE_ROW(e, v, name, ...) [e] = reduce_##name,
#define MASK_ROW(e, v, name, ...)   [e] = mask_##name,
#define FILTER_ROW(e, v, name, ...) [e] = filter_##name,
#define SPLIT_ROW(e, v, name, ...)  [e] = split_##name,
const struct kernels kernels_avx512 = {
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
typedef int simd_avx512_is_for_x86; /* ISO C wants a declaration in every file */
#endif
