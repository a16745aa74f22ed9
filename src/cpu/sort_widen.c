/* sort_widen.c: keys of one and two bytes as keys of four, for which there are networks (sort_network.c): of those sorted whole and alone,
 * as many as would not be worth the counting of sort_count.c.
 *
 *     keys  07 fe 31  ->  07000000 fe000000 31000000  ->  sorted  ->  07 31 fe
 *
 * Their images come to lie in the highest bits, where halves look for the first that differs. Cost: two passes that vectors make in a
 * fraction of a sort. Up to 8 KiB of wide keys need no scratch. */
#include "sort_narrow.h"

/* With more, counting is quicker. (Zen 4, 2026-11.) */
enum { MOST_BYTES = 512, MOST_HALVES = 4 << 10 };

#if defined(__x86_64__)

#include <immintrin.h>

#include "target_avx512.h"

enum { LANES = 16 };

static __mmask16 lanes_of(uint64_t n) { return n < LANES ? (__mmask16)((1u << n) - 1) : (__mmask16)-1; }

void sort_widen(uint32_t *to, const void *keys, uint64_t n, const struct sort_image *image, size_t key_nbytes) {
    const __m512i flips = _mm512_set1_epi32((int)image->flip);
    const __m128i shift = _mm_cvtsi32_si128(32 - 8 * (int)key_nbytes);
    const unsigned char *const from = keys;
    for (uint64_t i = 0; i < n; i += LANES) {
        const __mmask16 lanes = lanes_of(n - i);
        const __m512i raw = key_nbytes == 1 ? _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes, from + i))
                                            : _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, from + i * sizeof(uint16_t)));
        _mm512_mask_storeu_epi32(to + i, lanes, _mm512_sll_epi32(_mm512_xor_si512(raw, flips), shift));
    }
}

void sort_narrow(void *keys, const uint32_t *from, uint64_t n, const struct sort_image *image, size_t key_nbytes) {
    const __m512i flips = _mm512_set1_epi32((int)image->flip);
    const __m128i shift = _mm_cvtsi32_si128(32 - 8 * (int)key_nbytes);
    unsigned char *const to = keys;
    for (uint64_t i = 0; i < n; i += LANES) {
        const __mmask16 lanes = lanes_of(n - i);
        const __m512i raw = _mm512_xor_si512(_mm512_srl_epi32(_mm512_maskz_loadu_epi32(lanes, from + i), shift), flips);
        if (key_nbytes == 1)
            _mm_mask_storeu_epi8(to + i, lanes, _mm512_cvtepi32_epi8(raw));
        else
            _mm256_mask_storeu_epi16(to + i * sizeof(uint16_t), lanes, _mm512_cvtepi32_epi16(raw));
    }
}

#include "target_end.h"

#else

void sort_widen(uint32_t *to, const void *keys, uint64_t n, const struct sort_image *image, size_t key_nbytes) {
    (void)to, (void)keys, (void)n, (void)image, (void)key_nbytes; /* no vectors, no call */
}

void sort_narrow(void *keys, const uint32_t *from, uint64_t n, const struct sort_image *image, size_t key_nbytes) {
    (void)keys, (void)from, (void)n, (void)image, (void)key_nbytes;
}

#endif

uint64_t sort_widened_most(enum cpu_isa isa, size_t key_nbytes) {
    const bool networks = sort_vector_of(isa, sizeof(uint32_t)) != NULL;
    return !networks ? 0 : key_nbytes == 1 ? MOST_BYTES : key_nbytes == 2 ? MOST_HALVES : 0;
}

uint64_t sort_few_widened_most(enum cpu_isa isa, size_t key_nbytes) {
    return min_u64(sort_widened_most(isa, key_nbytes), SORT_GROUP_NBYTES / sizeof(uint32_t));
}

void sort_few_widened(enum cpu_isa isa, void *out, const void *in, uint32_t n, const struct sort_image *image, size_t key_nbytes) {
    const struct sort_image none = {0, 0};
    if (n <= SORT_NETWORK_KEYS) {
        sort_row_narrow(out, in, n, image, key_nbytes);
        return;
    }
    _Alignas(SORT_LINE_NBYTES) uint32_t wide[SORT_GROUP_NBYTES / sizeof(uint32_t)];
    sort_widen(wide, in, n, image, key_nbytes);
    sort_vector_of(isa, sizeof *wide)->group(wide, wide, n, &none);
    sort_narrow(out, wide, n, image, key_nbytes);
}
