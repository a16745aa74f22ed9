/* utf8_avx2_window.h: windows of 64 bytes for the AVX2 kernels: what classes their bytes are of. Included where the compiler has
 * been told of the instruction sets. */
#ifndef UPSWEEP_UTF8_AVX2_WINDOW_H
#define UPSWEEP_UTF8_AVX2_WINDOW_H

#include <immintrin.h>

#include "utf8_edge.h"

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

#endif
