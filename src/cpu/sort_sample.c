/* sort_sample.c: what a few of the keys tell about all: a divider for a part, and which way the keys are sorted most quickly.
 *
 *     keys at equal distances, in order    1 1 2 | 3 5 9 30    median 3; 1 repeats; half of them within a fifteenth of the range
 *
 * A sample only decides how, never what comes out. Cost: 15 keys take some 60 ns, 1024 two microseconds; one key in 32 is looked at, at the
 * most. Source: Frazer and McKellar, Samplesort, 1970. */
#include <string.h>

#include "sort_kernels.h"

/* Of a part: FEW different ones of MEDIAN_KEYS, or so many that SORT_FEW_VALUES values could show, seem few. More keys, where they are less
 * than a hundredth of the work, divide it more evenly: 2 % of the time of a sort. */
enum { MEDIAN_KEYS = 15, MEDIAN_MORE_KEYS = 63, MEDIAN_MORE_ITEMS = 8192, MEDIAN_FEW = 12 };
/* Of all: the keys whose places are looked at, out of those that are searched for equal ones. */
enum { SPREAD_KEYS = 128, SPREAD_MAX_KEYS = SORT_SAMPLE_MAX, SPREAD_EQUAL = 3, SPREAD_BITS = 8, SPREAD_RUN = 6, LINE_RUN = 12 };
/* Pairs: as many if each key is there 16 times. Fewer pairs are not worth more than SPREAD_KEYS. */
enum { SPREAD_PAIRS_EQUAL = 24, SPREAD_PAIRS_RUN = 12, SPREAD_PAIRS_FEW = 1 << 14 };

/* ---- keys at equal distances ------------------------------------------------------------------------------------------------- */

/* nkeys of nbytes, a constant where it may be: as a number it makes each key a call. */
ALWAYS_INLINE void copy_keys_of(unsigned char *to, const unsigned char *from, uint64_t apart, uint32_t nkeys, uint32_t nbytes) {
    for (uint32_t i = 0; i < nkeys; i++) memcpy(to + i * nbytes, from + apart * i * nbytes, nbytes);
}

static void copy_keys_apart(unsigned char *to, const unsigned char *from, uint64_t apart, uint32_t nkeys, uint32_t nbytes) {
    if (nbytes == sizeof(uint32_t))
        copy_keys_of(to, from, apart, nkeys, sizeof(uint32_t));
    else if (nbytes == sizeof(uint64_t))
        copy_keys_of(to, from, apart, nkeys, sizeof(uint64_t));
    else
        copy_keys_of(to, from, apart, nkeys, nbytes);
}

/* Some of n keys, in order; without vector code at most SORT_INSERTION_MAX. */
static void take_sample(const struct sorter *s, unsigned char *room, const unsigned char *keys, uint64_t n, uint32_t nkeys) {
    const struct sort_leaf leaf = {
        .source = {.arrays = {room, NULL}, .n = nkeys}, .to = {room, NULL}, .image = s->image, .vector = s->vector};
    copy_keys_apart(room, keys, n / nkeys, nkeys, s->kernel->item_nbytes);
    s->kernel->leaf(&leaf, 0, 8 * s->kernel->item_nbytes);
}

/* As sort_kernel's image_at(), which is a call for each, for keys of 4 or 8 bytes. */
ALWAYS_INLINE void images_of(uint64_t *images, const unsigned char *keys, uint32_t nkeys, uint32_t nbytes, const struct sort_image *image) {
    for (uint32_t i = 0; i < nkeys; i++) {
        uint32_t half;
        uint64_t raw;
        memcpy(&half, keys + i * sizeof half, sizeof half);
        if (nbytes == sizeof raw)
            memcpy(&raw, keys + i * sizeof raw, sizeof raw);
        else
            raw = half;
        images[i] = raw ^ image->flip ^ (image->when_negative & (0 - (raw >> (8 * nbytes - 1))));
    }
}

/* ---- the median of a part ---------------------------------------------------------------------------------------------------- */

struct sort_median sort_median_of(const struct sorter *s, const unsigned char *keys, uint64_t n) {
    const bool more = s->vector != NULL && n > MEDIAN_MORE_ITEMS;
    const uint32_t nkeys = more ? MEDIAN_MORE_KEYS : MEDIAN_KEYS, middle = nkeys / 2, near = nkeys / MEDIAN_KEYS;
    unsigned char room[MEDIAN_MORE_KEYS * sizeof(uint64_t)];
    uint64_t images[MEDIAN_MORE_KEYS];
    const struct sort_arrays sample = {room, NULL};
    take_sample(s, room, keys, n, nkeys);
    if (s->vector != NULL)
        images_of(images, room, nkeys, s->kernel->item_nbytes, &s->image);
    else
        for (uint32_t i = 0; i < nkeys; i++) images[i] = s->kernel->image_at(&sample, &s->image, i);
    uint32_t nvalues = 1;
    bool heavy = false;
    for (uint32_t i = 1; i < nkeys; i++) nvalues += images[i] != images[i - 1];
    for (uint32_t i = near + 1; i < nkeys; i++) heavy |= images[i] == images[i - (near + 1)];
    const uint64_t median = images[middle];
    return (struct sort_median){.image = median,
                                .repeats = images[middle - near] == median || images[middle + near] == median,
                                .few = nvalues <= (more ? SORT_FEW_VALUES : MEDIAN_FEW),
                                .heavy = heavy};
}

/* Five of n keys; nbytes a constant where it may be, as above. */
ALWAYS_INLINE bool five_are_equal(const unsigned char *keys, uint64_t n, size_t nbytes) {
    bool equal = true;
    for (uint64_t i = 1; i <= 4 && equal; i++) equal = memcmp(keys, keys + (n - 1) * i / 4 * nbytes, nbytes) == 0;
    return equal;
}

bool sort_seem_equal(const void *keys, uint64_t n, size_t key_nbytes) {
    if (key_nbytes == sizeof(uint32_t)) return five_are_equal(keys, n, sizeof(uint32_t));
    if (key_nbytes == sizeof(uint64_t)) return five_are_equal(keys, n, sizeof(uint64_t));
    return five_are_equal(keys, n, key_nbytes);
}

/* A key as a number, without a store that a load would have to wait for. */
ALWAYS_INLINE uint64_t raw_at(const unsigned char *keys, uint64_t i, size_t nbytes) {
    uint16_t half;
    uint32_t word;
    uint64_t all;
    memcpy(&half, keys + i * nbytes, sizeof half);
    if (nbytes == sizeof half) return half;
    memcpy(&word, keys + i * nbytes, sizeof word);
    if (nbytes == sizeof word) return word;
    memcpy(&all, keys + i * nbytes, sizeof all);
    return all;
}

/* Of six keys: are two pairs of the 15 equal? */
ALWAYS_INLINE bool pairs_are_equal(const unsigned char *keys, uint64_t n, size_t nbytes) {
    enum { KEYS = 6, PAIRS = 2 };
    uint64_t some[KEYS];
    uint32_t npairs = 0;
    UNROLLED for (uint64_t i = 0; i < KEYS; i++) some[i] = raw_at(keys, n / KEYS * i, nbytes);
    UNROLLED for (uint32_t i = 1; i < KEYS; i++) { UNROLLED for (uint32_t j = 0; j < i; j++) npairs += some[i] == some[j]; }
    return npairs >= PAIRS;
}

bool sort_seem_to_repeat(const void *keys, uint64_t n, size_t key_nbytes) {
    if (key_nbytes == sizeof(uint16_t)) return pairs_are_equal(keys, n, sizeof(uint16_t));
    if (key_nbytes == sizeof(uint32_t)) return pairs_are_equal(keys, n, sizeof(uint32_t));
    return pairs_are_equal(keys, n, sizeof(uint64_t));
}

/* Equal ones spare the sample, which takes as long as some 2000 keys that are all equal. */
bool sort_seem_few(const struct sorter *s, const unsigned char *keys, uint64_t n, bool *heavy) {
    *heavy = false;
    if (sort_seem_equal(keys, n, s->kernel->item_nbytes)) return true;
    const struct sort_median sample = sort_median_of(s, keys, n);
    *heavy = sample.heavy;
    return sample.few;
}

/* ---- how all keys are spread ------------------------------------------------------------------------------------------------- */

/* Of images, in order. Skewed if one of 2^8 buckets has six: floats with some twenty exponents wait for one another in a split by eight
 * bits. */
ALWAYS_INLINE enum sort_spread digit_spread(const uint64_t images[SPREAD_KEYS]) {
    const uint64_t differ = images[0] ^ images[SPREAD_KEYS - 1];
    const uint32_t top = differ == 0 ? 0 : sort_bit_top(differ), shift = top > SPREAD_BITS ? top - SPREAD_BITS : 0;
    uint32_t nruns = 0;
    for (uint32_t i = SPREAD_RUN; i < SPREAD_KEYS; i++) nruns += images[i] >> shift == images[i - SPREAD_RUN] >> shift;
    if (nruns > 0) return SORT_SKEWED;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = SPREAD_KEYS / 2; i < SPREAD_KEYS; i++) least = min_u64(least, images[i] - images[i - SPREAD_KEYS / 2]);
    return least < sort_low_bits(top) / 16 * SORT_EVEN_HALF ? SORT_UNEVEN : SORT_EVEN;
}

/* So many that of n keys, each of which is there four times, six pairs are expected among them. */
static uint32_t spread_keys(uint64_t n) {
    uint32_t nkeys = 2 * SPREAD_KEYS;
    while (nkeys < SPREAD_MAX_KEYS && (uint64_t)nkeys * nkeys < 3 * n) nkeys *= 2;
    return nkeys;
}

/* Neighbours that are the same. */
ALWAYS_INLINE uint32_t count_equal(const unsigned char *keys, uint32_t nkeys, uint32_t nbytes) {
    uint32_t nequal = 0;
    for (uint32_t i = 1; i < nkeys; i++) nequal += memcmp(keys + i * nbytes, keys + (i - 1) * nbytes, nbytes) == 0;
    return nequal;
}

ALWAYS_INLINE uint32_t count_equal_keys(const unsigned char *keys, uint32_t nkeys, uint32_t nbytes) {
    return nbytes == sizeof(uint32_t) ? count_equal(keys, nkeys, sizeof(uint32_t)) : count_equal(keys, nkeys, sizeof(uint64_t));
}

/* With more of them each key of 32 bits is there some 96 times or more, one of 64 half as often: a divider from a sample then leaves parts
 * that are all equal, and these are done. */
static uint64_t few_equal(uint64_t n, uint64_t nkeys, uint32_t nbytes) { return min_u64(nkeys / 2, 192 * nkeys * nkeys / (n * nbytes)); }

struct sort_spreads sort_spreads_of(const struct sorter *s, const struct sort_arrays *from, uint64_t begin, uint64_t n) {
    const uint32_t nbytes = s->kernel->item_nbytes, nkeys = spread_keys(n);
    unsigned char room[SPREAD_MAX_KEYS * sizeof(uint64_t)];
    uint64_t images[SPREAD_KEYS];
    take_sample(s, room, from->keys + begin * nbytes, n, nkeys);
    const uint32_t nequal = count_equal_keys(room, nkeys, nbytes);
    if (nequal >= SPREAD_EQUAL) return (struct sort_spreads){nequal > few_equal(n, nkeys, nbytes) ? SORT_FEW : SORT_SKEWED, SORT_SKEWED};
    copy_keys_apart(room, room, nkeys / SPREAD_KEYS, SPREAD_KEYS, nbytes);
    images_of(images, room, SPREAD_KEYS, nbytes, &s->image);
    const struct sort_arrays sample = {room, NULL};
    const bool floats = s->kernel->line_spread != NULL && s->image.when_negative != 0;
    return (struct sort_spreads){digit_spread(images), floats ? s->kernel->line_spread(&sample, SPREAD_KEYS, LINE_RUN) : SORT_SKEWED};
}

/* For some thousand keys, for which that would take too long. 16 of them lie in six eighths of all images or more, and are different; 64
 * lie about where even ones would, and nearly all are different. */
bool sort_seem_even(const struct sorter *s, const unsigned char *keys, uint64_t n) {
    enum { FEW = 16, MANY = 64, EIGHTHS = 8, LEAST = 6, MOST_EQUAL = 6 };
    const uint32_t nbytes = s->kernel->item_nbytes, shift = 8 * nbytes - 3;
    unsigned char room[MANY * sizeof(uint64_t)];
    uint64_t images[MANY];
    uint32_t eighths = 0;
    copy_keys_apart(room, keys, n / FEW, FEW, nbytes);
    images_of(images, room, FEW, nbytes, &s->image);
    for (uint32_t i = 0; i < FEW; i++) eighths |= 1u << (images[i] >> shift);
    if (__builtin_popcount(eighths) < LEAST) return false;
    s->vector->group(room, room, FEW, &s->image);
    if (count_equal_keys(room, FEW, nbytes) > 0) return false;
    copy_keys_apart(room, keys, n / MANY, MANY, nbytes);
    s->vector->group(room, room, MANY, &s->image);
    images_of(images, room, MANY, nbytes, &s->image);
    bool even = count_equal_keys(room, MANY, nbytes) <= MOST_EQUAL;
    for (uint32_t i = 0; i < EIGHTHS; i++) {
        const uint64_t eighth = images[i * MANY / EIGHTHS + MANY / EIGHTHS / 2] >> shift;
        even &= eighth + 1 >= i && eighth <= i + 1;
    }
    return even;
}

void sort_sample_of(const struct sorter *s, const unsigned char *keys, uint64_t n, uint64_t *images, uint32_t nkeys) {
    unsigned char room[SORT_SAMPLE_MAX * sizeof(uint64_t)];
    take_sample(s, room, keys, n, nkeys);
    images_of(images, room, nkeys, s->kernel->item_nbytes, &s->image);
}

/* By a sample: as many neighbours that differ agree in the bits of two digits as if these had a value for every two keys. */
bool sort_digits_part(const struct sorter *s, const unsigned char *keys, uint64_t n) {
    const uint32_t nkeys = spread_keys(n);
    uint64_t images[SPREAD_MAX_KEYS];
    sort_sample_of(s, keys, n, images, nkeys);
    const uint64_t differ = images[0] ^ images[nkeys - 1];
    const uint32_t top = differ == 0 ? 0 : sort_bit_top(differ), nbits = sort_leaf_bits(n), shift = top > nbits ? top - nbits : 0;
    uint32_t nalike = 0;
    for (uint32_t i = 1; i < nkeys; i++) nalike += images[i] != images[i - 1] && images[i] >> shift == images[i - 1] >> shift;
    return nalike * 4 * n <= (uint64_t)nkeys * nkeys;
}

/* Is one in so many of the sample, which is in order, but not just a few, in one of 64 buckets? */
static bool lie_together(const uint64_t *images, uint32_t nkeys, uint32_t one_in) {
    const uint64_t differ = images[0] ^ images[nkeys - 1];
    const uint32_t top = differ == 0 ? 0 : sort_bit_top(differ), shift = top > SORT_SPLIT_MIN_BITS ? top - SORT_SPLIT_MIN_BITS : 0;
    const uint32_t run = nkeys / one_in > SPREAD_PAIRS_RUN ? nkeys / one_in : SPREAD_PAIRS_RUN;
    uint32_t nruns = 0;
    for (uint32_t i = run; i < nkeys; i++) nruns += images[i] >> shift == images[i - run] >> shift;
    return shift > 0 && nruns > 0;
}

enum sort_spread sort_pairs_spread(const struct sorter *s, const unsigned char *keys, uint64_t n) {
    uint64_t images[SPREAD_MAX_KEYS];
    const uint32_t nkeys = n <= SPREAD_PAIRS_FEW ? SPREAD_KEYS : spread_keys(n);
    sort_sample_of(s, keys, n, images, nkeys);
    uint32_t nequal = 0;
    for (uint32_t i = 1; i < nkeys; i++) nequal += images[i] == images[i - 1];
    const uint64_t differ = images[0] ^ images[nkeys - 1];
    const bool digit_does = differ < UINT64_C(1) << SORT_LEAF_BITS, digits_do = differ < UINT64_C(1) << (2 * SORT_LEAF_BITS - 2);
    if (nkeys - nequal > SORT_FEW_VALUES && lie_together(images, nkeys, 16))
        return lie_together(images, nkeys, 4) && !digits_do ? SORT_SKEWED : SORT_UNEVEN;
    const bool digits_part_them = digit_does || nkeys - nequal <= SORT_FEW_VALUES;
    return nequal >= SPREAD_PAIRS_EQUAL && !digits_part_them ? SORT_FEW : SORT_EVEN;
}
