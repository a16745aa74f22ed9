/* sort_ranks.c: few pairs by the ranks of their keys: a key's place is the number of keys that come before it, and a comparison of it with
 * a register counts 64 bytes of them.
 *
 *     keys     7   3   9   3
 *     before   2   0   3   1      smaller ones, and equal ones to the left: stable
 *     out      3   3   7   9
 *
 * Keys, values and indices all move by the same ranks, whatever their sizes. No branch depends on a key, where insertion has a
 * misprediction a key, and nothing needs scratch: 16 pairs in 50 ns, not 200. But the work is n^2, and soon tags are quicker
 * (sort_tags.c). Keys alone have networks, which are quicker (sort_network.c), but in plain C they go this way, too.
 *
 * Cost: n / 16 comparisons (32-bit keys) for each key, two or three instructions each; without AVX-512, n / 2. Source: Knuth, TAOCP 3, 5.2
 * (comparison counting). */
#include "sort_places.h"

/* Of more keys, of one byte or of more, or more than three registers hold, tags are quicker (sort_tags.c); in plain C, insertion is from 22
 * pairs on. (Zen 4, 2026-11.) */
enum { MOST_KEYS = 64, MOST_KEYS_WIDE = 32, MOST_REGISTERS = 3, MOST_KEYS_PORTABLE = 16 };

/* ---- ranks ------------------------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)

#include <immintrin.h>

#include "target_avx512.h"

ALWAYS_INLINE __m512i splat(size_t nbytes, uint64_t x) {
    return nbytes == 1   ? _mm512_set1_epi8((char)x)
           : nbytes == 2 ? _mm512_set1_epi16((short)x)
           : nbytes == 4 ? _mm512_set1_epi32((int)x)
                         : _mm512_set1_epi64((long long)x);
}

ALWAYS_INLINE uint64_t below(size_t nbytes, __m512i a, __m512i b) {
    return nbytes == 1   ? _mm512_cmplt_epu8_mask(a, b)
           : nbytes == 2 ? _mm512_cmplt_epu16_mask(a, b)
           : nbytes == 4 ? _mm512_cmplt_epu32_mask(a, b)
                         : _mm512_cmplt_epu64_mask(a, b);
}

ALWAYS_INLINE uint64_t up_to(size_t nbytes, __m512i a, __m512i b) {
    return nbytes == 1   ? _mm512_cmple_epu8_mask(a, b)
           : nbytes == 2 ? _mm512_cmple_epu16_mask(a, b)
           : nbytes == 4 ? _mm512_cmple_epu32_mask(a, b)
                         : _mm512_cmple_epu64_mask(a, b);
}

/* Only floats, of 4 or 8 bytes, have bits that a sign flips. */
ALWAYS_INLINE __m512i images_of(size_t nbytes, __m512i raw, const struct sort_image *image) {
    const __m512i signs = nbytes == 8 ? _mm512_srai_epi64(raw, 63) : _mm512_srai_epi32(raw, 31);
    const __m512i flipped = _mm512_xor_si512(raw, splat(nbytes, image->flip));
    return nbytes < 4 ? flipped : _mm512_xor_si512(flipped, _mm512_and_si512(signs, splat(nbytes, image->when_negative)));
}

/* The images to a vector of registers; what is not there is above all or equal to it, and to the right. */
ALWAYS_INLINE void load_images(size_t nbytes, __m512i *v, const void *keys, uint32_t n, const struct sort_image *image, uint64_t bits) {
    for (size_t at = 0; at < n * nbytes; at += 64) {
        const size_t here = n * nbytes - at < 64 ? n * nbytes - at : 64;
        const __mmask64 there = _bzhi_u64(UINT64_MAX, (uint32_t)here);
        const __m512i raw = _mm512_maskz_loadu_epi8(there, (const char *)keys + at);
        const __m512i images = _mm512_and_si512(images_of(nbytes, raw, image), splat(nbytes, bits));
        *v++ = _mm512_mask_mov_epi8(_mm512_set1_epi64(-1), there, images);
    }
}

/* nregisters: 1 as a constant, or more. */
ALWAYS_INLINE void find_own_ranks(size_t nbytes, uint16_t *ranks, const __m512i *v, uint32_t n, uint32_t nregisters) {
    const uint32_t lanes = 64 / (uint32_t)nbytes;
    for (uint32_t own = 0; own < nregisters; own++) {
        const uint32_t here = n - own * lanes < lanes ? n - own * lanes : lanes;
        const unsigned char *key = (const unsigned char *)&v[own];
        for (uint32_t i = 0; i < here; i++, key += nbytes) {
            uint64_t x = 0;
            memcpy(&x, key, nbytes);
            const __m512i k = splat(nbytes, x);
            const uint64_t less = below(nbytes, v[own], k), left = _bzhi_u64(up_to(nbytes, v[own], k), i);
            int64_t rank = _mm_popcnt_u64(less | left);
            for (uint32_t r = 0; r < own; r++) rank += _mm_popcnt_u64(up_to(nbytes, v[r], k));
            for (uint32_t r = own + 1; r < nregisters; r++) rank += _mm_popcnt_u64(below(nbytes, v[r], k));
            *ranks++ = (uint16_t)rank;
        }
    }
}

ALWAYS_INLINE void rank_keys(size_t nbytes, uint16_t *ranks, const void *keys, uint32_t n, const struct sort_image *image, uint64_t bits) {
    __m512i v[MOST_REGISTERS];
    load_images(nbytes, v, keys, n, image, bits);
    if (n <= 64 / nbytes)
        find_own_ranks(nbytes, ranks, v, n, 1);
    else
        find_own_ranks(nbytes, ranks, v, n, (n * (uint32_t)nbytes + 63) / 64);
}

static void find_ranks_avx512(uint16_t *ranks, const void *keys, uint32_t n, const struct sort_image *image, size_t key_nbytes,
                              uint64_t bits) {
    if (key_nbytes == 1)
        rank_keys(1, ranks, keys, n, image, bits);
    else if (key_nbytes == 2)
        rank_keys(2, ranks, keys, n, image, bits);
    else if (key_nbytes == 4)
        rank_keys(4, ranks, keys, n, image, bits);
    else
        rank_keys(8, ranks, keys, n, image, bits);
}

#include "target_end.h"

#endif

static uint64_t key_at(const void *keys, uint32_t i, size_t nbytes) {
    const unsigned char *key = (const unsigned char *)keys + i * nbytes;
    uint16_t of_2;
    uint32_t of_4;
    uint64_t of_8;
    if (nbytes == 1) return *key;
    if (nbytes == 2) return memcpy(&of_2, key, sizeof of_2), of_2;
    if (nbytes == 4) return memcpy(&of_4, key, sizeof of_4), of_4;
    return memcpy(&of_8, key, sizeof of_8), of_8;
}

/* Of any two keys, one goes before the other. */
static void find_ranks_portable(uint16_t *ranks, const void *keys, uint32_t n, const struct sort_image *image, size_t key_nbytes,
                                uint64_t bits) {
    uint64_t images[MOST_KEYS_PORTABLE];
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t raw = key_at(keys, i, key_nbytes), sign = raw >> (8 * key_nbytes - 1);
        images[i] = (raw ^ image->flip ^ (image->when_negative & (0 - sign))) & bits;
        ranks[i] = 0;
        for (uint32_t j = 0; j < i; j++) {
            const bool before = images[i] < images[j];
            ranks[j] = (uint16_t)(ranks[j] + before);
            ranks[i] = (uint16_t)(ranks[i] + !before);
        }
    }
}

static bool find_ranks(enum cpu_isa isa, uint16_t *ranks, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    const uint64_t bits = sort_low_bits(args->hi_bit) & ~sort_low_bits(args->lo_bit);
#if defined(__x86_64__)
    if (isa == CPU_AVX512 && args->n <= (key_nbytes == 1 ? MOST_KEYS : MOST_KEYS_WIDE) && args->n * key_nbytes <= MOST_REGISTERS * 64) {
        find_ranks_avx512(ranks, args->keys_in, (uint32_t)args->n, image, key_nbytes, bits);
        return true;
    }
#endif
    (void)isa;
    if (args->n > MOST_KEYS_PORTABLE) return false;
    find_ranks_portable(ranks, args->keys_in, (uint32_t)args->n, image, key_nbytes, bits);
    return true;
}

bool sort_by_ranks(enum cpu_isa isa, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    uint16_t ranks[MOST_KEYS];
    if (args->value_nbytes > SORT_PLACED_VALUE_NBYTES || !find_ranks(isa, ranks, args, image, key_nbytes)) return false;
    const uint32_t n = (uint32_t)args->n;
    if (args->keys_out != NULL) sort_place(args->keys_out, args->keys_in, ranks, n, key_nbytes, SORT_TO);
    if (args->values_in != NULL)
        sort_place(args->values_out, args->values_in, ranks, n, args->value_nbytes, SORT_TO);
    else
        sort_place_numbers(args->values_out, ranks, n, args->value_nbytes, SORT_TO);
    return true;
}
