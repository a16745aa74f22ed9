/* sort_ranks.c: few keys or pairs in plain C by the ranks of their keys: a key's place is the number of keys that come before it.
 *
 *     keys     7   3   9   3
 *     before   2   0   3   1      smaller ones, and equal ones to the left: stable
 *     out      3   3   7   9
 *
 * Keys, values and indices all move by the same ranks, whatever their sizes. No branch depends on a key, where insertion has a
 * misprediction a key, and nothing needs scratch. But the work is n^2. With AVX-512 or AVX2 there are networks (sort_network.c,
 * sort_tags.h, sort_tags_avx2.c), which are quicker from the first key on, but with AVX2 for pairs and indices from 12 on.
 *
 * Cost: n / 2 comparisons for each key. Source: Knuth, TAOCP 3, 5.2 (comparison counting). */
#include "sort_places.h"

/* From 22 pairs on insertion is quicker. (Zen 4, 2026-11.) */
enum { MOST_KEYS = 16 };

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
static void find_ranks(uint16_t *ranks, const void *keys, uint32_t n, const struct sort_image *image, size_t key_nbytes, uint64_t bits) {
    uint64_t images[MOST_KEYS];
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

bool sort_by_ranks(const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    uint16_t ranks[MOST_KEYS];
    if (args->n > MOST_KEYS || args->value_nbytes > SORT_PLACED_VALUE_NBYTES) return false;
    const uint64_t bits = sort_low_bits(args->hi_bit) & ~sort_low_bits(args->lo_bit);
    find_ranks(ranks, args->keys_in, (uint32_t)args->n, image, key_nbytes, bits);
    const uint32_t n = (uint32_t)args->n;
    sort_place_pairs(args, ranks, n, key_nbytes, SORT_TO);
    return true;
}
