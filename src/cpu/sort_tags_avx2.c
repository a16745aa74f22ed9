/* sort_tags_avx2.c: some pairs, or indices, by tags, with AVX2: the idea of sort_tags.h in arrays, with the networks for keys alone.
 *
 *     keys  7 3 9 3    tags  7.0 3.1 9.2 3.3  ->  3.1 3.3 7.0 9.2    places  1 3 0 2
 *
 * A tag has the highest bits in which keys differ, and its place. Keys that agree in these bits are tied, and brought into order by
 * insertion; if that is too much, tags of 64 bits are sorted instead of 32; if it still is, there are other ways. Nothing needs scratch.
 *
 * Cost: that of a network of n keys of 4 bytes, and three moves an item. */
#include "sort_network.h"
#include "sort_places.h"

#if defined(__x86_64__)

#include "target_avx2.h"

/* Ranks of fewer keys take no longer, nor do digits of more, but for uniform ones of 8 bytes; to insert more ties takes longer than to sort
 * wider tags, and to find that out takes long, too. (Zen 3, 2026-11.) */
enum { LEAST_TAGS = 12, MOST_TAGS = 256, MOST_INSERTED = 4 /* one key in so many */, MOST_SAME = 16, ORDER_KEYS = 16 };

/* The images of keys of a type, which are copied first, so that they are taken several at a time. Returns the bits in which they differ. */
#define FIND_IMAGES(name, KEY)                                                                                     \
    static uint64_t name(uint64_t *images, const void *keys, uint32_t n, struct sort_image image, uint64_t bits) { \
        KEY raw[MOST_TAGS];                                                                                        \
        uint64_t differ = 0;                                                                                       \
        memcpy(raw, keys, n * sizeof *raw);                                                                        \
        for (uint32_t i = 0; i < n; i++) {                                                                         \
            const uint64_t sign = 0 - (uint64_t)(raw[i] >> (8 * sizeof *raw - 1));                                 \
            images[i] = (raw[i] ^ image.flip ^ (image.when_negative & sign)) & bits;                               \
        }                                                                                                          \
        for (uint32_t i = 0; i < n; i++) differ |= images[i] ^ images[0];                                          \
        return differ;                                                                                             \
    }
FIND_IMAGES(find_images_u8, uint8_t)
FIND_IMAGES(find_images_u16, uint16_t)
FIND_IMAGES(find_images_u32, uint32_t)
FIND_IMAGES(find_images_u64, uint64_t)

static uint64_t images_of(uint64_t *images, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    const uint64_t bits = sort_low_bits(args->hi_bit) & ~sort_low_bits(args->lo_bit);
    const uint32_t n = (uint32_t)args->n;
    if (key_nbytes == 1) return find_images_u8(images, args->keys_in, n, *image, bits);
    if (key_nbytes == 2) return find_images_u16(images, args->keys_in, n, *image, bits);
    if (key_nbytes == 4) return find_images_u32(images, args->keys_in, n, *image, bits);
    return find_images_u64(images, args->keys_in, n, *image, bits);
}

/* Brings the item at i among those from `first` on, which are in order: how many it passes. */
static uint32_t insert_tie(uint16_t *places, const uint64_t *images, uint32_t first, uint32_t i) {
    const uint16_t place = places[i];
    uint32_t to = i;
    for (; to > first && images[places[to - 1]] > images[place]; to--) places[to] = places[to - 1];
    places[to] = place;
    return i - to;
}

/* Places by tags, which agree in the bits from place_bits up where keys are tied. False if many of these are in the wrong order, or would
 * be: too many keys are like zero, or like the first, in a tag's bits. */
#define PLACES_BY_TAGS(name, TAG)                                                                                         \
    static bool name(uint16_t *places, const uint64_t *images, uint32_t n, uint64_t differ, uint64_t zero) {              \
        const struct sort_image unsigned_image = {0, 0};                                                                  \
        const uint32_t place_bits = sort_bit_top(n - 1), room = 8 * sizeof(TAG) - place_bits, top = sort_bit_top(differ); \
        const uint32_t low = sort_bit_low(differ), shift = top - low > room ? top - room : low;                           \
        const uint64_t bits = sort_low_bits(top), none = (zero & bits) >> shift, one = (images[0] & bits) >> shift;       \
        uint32_t nsame = 0, nmoved = 0, first = 0; /* of a tie */                                                         \
        TAG tags[MOST_TAGS];                                                                                              \
        for (uint32_t i = 0; i < n; i++) {                                                                                \
            const uint64_t above = (images[i] & bits) >> shift;                                                           \
            nsame += above == none || above == one;                                                                       \
            tags[i] = (TAG)above << place_bits | i;                                                                       \
        }                                                                                                                 \
        if (shift > low && nsame > 1 + n / MOST_SAME) return false;                                                       \
        sort_group_of_avx2(sizeof(TAG))(tags, tags, n, &unsigned_image);                                                  \
        for (uint32_t i = 0; i < n; i++) places[i] = (uint16_t)(tags[i] & ((1u << place_bits) - 1));                      \
        for (uint32_t i = 1; i < n && shift > low; i++) {                                                                 \
            if (tags[i] >> place_bits != tags[i - 1] >> place_bits) continue; /* most: no store to wait for */            \
            first = tags[i - 1] >> place_bits == tags[first] >> place_bits ? first : i - 1;                               \
            nmoved += insert_tie(places, images, first, i);                                                               \
            if (nmoved > n / MOST_INSERTED) return false;                                                                 \
        }                                                                                                                 \
        return true;                                                                                                      \
    }
PLACES_BY_TAGS(places_by_32, uint32_t)
PLACES_BY_TAGS(places_by_64, uint64_t)

/* Do images rise, or fall? If they are in no order at all the first few tell; else some are compared at a time. */
static enum sort_order order_of(const uint64_t *images, uint32_t n) {
    const bool falls = images[1] < images[0];
    for (uint32_t i = 1; i < n;) {
        uint32_t nother = 0;
        for (const uint32_t end = n - i < ORDER_KEYS ? n : i + ORDER_KEYS; i < end; i++) nother += (images[i] < images[i - 1]) != falls;
        if (nother > 0) return SORT_MIXED;
    }
    return falls ? SORT_DESCENDING : SORT_ASCENDING;
}

static bool find_places(uint16_t *places, const uint64_t *images, uint32_t n, uint64_t differ, uint64_t zero, enum sort_order order) {
    if (order != SORT_MIXED) {
        for (uint32_t i = 0; i < n; i++) places[i] = (uint16_t)(order == SORT_DESCENDING ? n - 1 - i : i);
        return true;
    }
    return places_by_32(places, images, n, differ, zero) || places_by_64(places, images, n, differ, zero);
}

static void copy_unless_same(void *out, const void *in, size_t nbytes) {
    if (out != in) memcpy(out, in, nbytes);
}

bool sort_by_tags_avx2(const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    uint64_t images[MOST_TAGS];
    uint16_t places[MOST_TAGS];
    const uint32_t n = (uint32_t)args->n;
    if (args->n < LEAST_TAGS || args->n > MOST_TAGS || args->value_nbytes > SORT_PLACED_VALUE_NBYTES) return false;
    const uint64_t differ = images_of(images, args, image, key_nbytes);
    const enum sort_order order = order_of(images, n);
    if (order == SORT_ASCENDING && args->keys_out != NULL && args->values_in != NULL) {
        copy_unless_same(args->keys_out, args->keys_in, n * key_nbytes);
        copy_unless_same(args->values_out, args->values_in, n * args->value_nbytes);
        return true;
    }
    if (!find_places(places, images, n, differ, image->flip, order)) return false;
    sort_place_pairs(args, places, n, key_nbytes, SORT_FROM);
    return true;
}

#include "target_end.h"

#endif
