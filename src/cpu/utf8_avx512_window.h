/* utf8_avx512_window.h: windows of 64 bytes for the AVX-512 kernels: how they are loaded, also where the text begins or ends, and what
 * classes their bytes are of. Included where the compiler has been told of the instruction sets. */
#ifndef UPSWEEP_UTF8_AVX512_WINDOW_H
#define UPSWEEP_UTF8_AVX512_WINDOW_H

#include <immintrin.h>

#include "utf8_avx512_bytes.h"
#include "utf8_kernels.h"

static inline __m512i load(const void *p) { return _mm512_loadu_si512(p); }
static inline __m512i bytes_of(int byte) { return _mm512_set1_epi32((int)utf8_four_times[byte]); }
/* mask ? a : b, bit by bit */
static inline __m512i select_bits(__m512i mask, __m512i a, __m512i b) { return _mm512_ternarylogic_epi64(mask, a, b, 0xCA); }

/* ---- windows ----------------------------------------------------------------------------------------------------------------- */

/* A window, and the bytes one to three places to the left of each of its own. */
struct window {
    __m512i b, b1, b2, b3;
};

ALWAYS_INLINE struct window load_window(const uint8_t *p) { return (struct window){load(p), load(p - 1), load(p - 2), load(p - 3)}; }

/* Bytes [at, at + 64) of in [n], zeros for those that it has not; nothing beside it is read. */
ALWAYS_INLINE __m512i load_within(const uint8_t *in, size_t n, ptrdiff_t at) {
    const size_t end = n - (size_t)at; /* from `at` on */
    const uint64_t after = end < 64 ? ((uint64_t)1 << end) - 1 : ~(uint64_t)0, before = at < 0 ? ~(uint64_t)0 << -at : ~(uint64_t)0;
    return _mm512_maskz_loadu_epi8(before & after, (const void *)((uintptr_t)in + (uintptr_t)at));
}

ALWAYS_INLINE struct window load_window_within(const uint8_t *in, size_t n, ptrdiff_t at) {
    return (struct window){load_within(in, n, at), load_within(in, n, at - 1), load_within(in, n, at - 2), load_within(in, n, at - 3)};
}

/* The bits of the first n of 64. */
ALWAYS_INLINE uint64_t first_bits(size_t n) { return _bzhi_u64(~(uint64_t)0, n < 64 ? (unsigned)n : 64); }

/* The same at 0, from one load: zeros are shifted in from the left. */
ALWAYS_INLINE struct window first_window(const uint8_t *in, size_t n) {
    const __m512i b = _mm512_maskz_loadu_epi8(first_bits(n), in);
    const __m512i left = _mm512_alignr_epi32(b, _mm512_setzero_si512(), 12); /* by 16 bytes */
    return (struct window){b, _mm512_alignr_epi8(b, left, 15), _mm512_alignr_epi8(b, left, 14), _mm512_alignr_epi8(b, left, 13)};
}

/* The last 64 bytes of a text of more. Loads that a mask keeps from what is behind the text would do, too, but take a hundred times as long
 * where that is a page that is not there (Zen 5, 2026-11). */
ALWAYS_INLINE struct window last_window(const uint8_t *in, size_t n) {
    return n >= 64 + 3 ? load_window(in + n - 64) : load_window_within(in, n, (ptrdiff_t)n - 64);
}

/* The bytes behind those of a vector; zero is behind the last. */
ALWAYS_INLINE __m512i shifted_left(__m512i b) { return _mm512_alignr_epi8(_mm512_alignr_epi32(_mm512_setzero_si512(), b, 4), b, 1); }

ALWAYS_INLINE bool is_ascii_64(__m512i b) { return _mm512_movepi8_mask(b) == 0; }

ALWAYS_INLINE bool is_ascii_256(const uint8_t *p) {
    return is_ascii_64(_mm512_or_si512(_mm512_or_si512(load(p), load(p + 64)), _mm512_or_si512(load(p + 128), load(p + 192))));
}

/* ---- classes ----------------------------------------------------------------------------------------------------------------- */

/* Ranges of second bytes, a bit each: 80..8F, 90..9F, A0..BF. */
enum { LOW = 1, MIDDLE = 2, UPPER = 4, ANY = LOW | MIDDLE | UPPER };

/* By the lower six bits of C0..FF: the ranges that the second byte may be in. */
/* clang-format off */
#define FOUR(x) x, x, x, x
#define TWELVE(x) FOUR(x), FOUR(x), FOUR(x)
static const uint8_t second_ranges[64] __attribute__((aligned(64))) = {
    0, 0, ANY, ANY, TWELVE(ANY), TWELVE(ANY), FOUR(ANY),                   /* C0, C1 | C2..DF */
    UPPER, TWELVE(ANY), LOW | MIDDLE, ANY, ANY,                            /* E0 | E1..EC | ED | EE, EF */
    MIDDLE | UPPER, ANY, ANY, ANY, LOW, 0, 0, 0, FOUR(0), FOUR(0),         /* F0 | F1..F3 | F4 | F5..FF */
};
/* clang-format on */

/* Of the bytes b, and those that follow each of them. */
ALWAYS_INLINE struct utf8_classes classify(__m512i b, __m512i next) {
    const __m512i ranges = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, LOW, MIDDLE, UPPER, UPPER, 0, 0, 0, 0));
    const uint64_t lead = _mm512_cmpge_epu8_mask(b, bytes_of(0xC0));
    const __m512i may = _mm512_maskz_permutexvar_epi8(lead, b, load(second_ranges));
    const __m512i high_nibble = _mm512_and_si512(_mm512_srli_epi16(next, 4), bytes_of(0x0F));
    return (struct utf8_classes){
        .high = _mm512_movepi8_mask(b),
        .lead = lead,
        .from_e0 = _mm512_cmpge_epu8_mask(b, bytes_of(0xE0)),
        .from_f0 = _mm512_cmpge_epu8_mask(b, bytes_of(0xF0)),
        .second = _mm512_test_epi8_mask(may, _mm512_shuffle_epi8(ranges, high_nibble)),
    };
}

#endif
