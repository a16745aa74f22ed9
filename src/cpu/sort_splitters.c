/* sort_splitters.c: where to cut the range of skewed keys so that each bucket gets few of them: at every so-manieth key of a sample. For
 * pairs: keys alone go by halves.
 *
 *     sample, in order   1 1 1 1 1 1 1 2 2 3 3 5 8 40 900 7000      buckets   0-1 | 2 | 3-4 | 5-39 | 40-
 *
 * A key that the sample has twice is also cut off from those below it and above it: alone in its bucket it needs no further work.
 *
 * A leaf skips the highest bits that its keys share, and keys on both sides of a power of two share fewer than the width of their bucket
 * would let them: such a bucket is cut there. Cost: a sample of 1024 keys, two microseconds; the search for the bucket of each key is in
 * sort_splitters_tmpl.h. Sources: Frazer and McKellar, Samplesort, 1970; Sanders and Winkel, Super scalar sample sort, 2004 (equal keys:
 * Axtmann et al., In-place parallel super scalar samplesort, 2017). */
#include "sort_kernels.h"

/* As many buckets as leave a leaf some KEYS_A_BUCKET keys, but no more than are searched, with room for cuts. */
enum { KEYS_A_BUCKET = 1024, QUANTILES_MAX = SORT_SPLITTERS / 16 * 15, SHARE_BITS = 8 };

/* Of the buckets so far, and of all keys that there may be. */
struct cuts {
    uint64_t greatest[SORT_SPLITTERS];
    uint32_t n;
    uint64_t all;
};

static uint64_t least_of(const struct cuts *cuts, uint32_t d) { return d == 0 ? 0 : cuts->greatest[d - 1] + 1; }

/* Ends a bucket with this image, and one before it at a power of two, if that is well within: false if there is no room. */
static bool cut_after(struct cuts *cuts, uint64_t greatest) {
    const uint64_t least = least_of(cuts, cuts->n);
    if (cuts->n > 0 && greatest <= cuts->greatest[cuts->n - 1]) return true;
    if (cuts->n + 2 > SORT_SPLITTERS) return false;
    if (greatest > least && sort_bit_top(greatest ^ least) > sort_bit_top(greatest - least) + 1)
        cuts->greatest[cuts->n++] = (greatest & ~sort_low_bits(sort_bit_top(greatest ^ least) - 1)) - 1;
    cuts->greatest[cuts->n++] = greatest;
    return true;
}

/* At every so-manieth of nkeys images, in order: false if there is no room for all. */
static bool cut(struct cuts *cuts, const uint64_t *images, uint32_t nkeys, uint32_t nquantiles) {
    cuts->n = 0;
    for (uint32_t i = 1; i < nquantiles; i++) {
        const uint32_t at = i * nkeys / nquantiles;
        const bool repeats = images[at - 1] == images[at] || (at + 1 < nkeys && images[at + 1] == images[at]);
        if (repeats && images[at] > 0 && !cut_after(cuts, images[at] - 1)) return false;
        if (!cut_after(cuts, images[at])) return false;
    }
    return cut_after(cuts, cuts->all);
}

/* Bucket d has the images from least to greatest. */
static void describe(struct sort_splitters *splitters, uint32_t d, uint64_t least, uint64_t greatest) {
    const uint32_t bits = least == greatest ? 0 : sort_bit_top(least ^ greatest);
    const uint64_t width = greatest - least;
    splitters->bits[d] = (uint8_t)bits;
    splitters->share[d] = (uint16_t)(bits > SHARE_BITS ? (width >> (bits - SHARE_BITS)) + 1 : (width + 1) << (SHARE_BITS - bits));
}

void sort_find_splitters(const struct sorter *s, const unsigned char *keys, uint64_t n, struct sort_splitters *splitters) {
    uint64_t images[SORT_SAMPLE_MAX];
    struct cuts cuts = {.all = sort_low_bits(8 * s->kernel->item_nbytes)};
    sort_sample_of(s, keys, n, images, SORT_SAMPLE_MAX);
    uint32_t nquantiles = (uint32_t)min_u64(n / KEYS_A_BUCKET, QUANTILES_MAX);
    while (!cut(&cuts, images, SORT_SAMPLE_MAX, nquantiles)) nquantiles /= 2;
    for (uint32_t d = 0; d < cuts.n; d++) describe(splitters, d, least_of(&cuts, d), cuts.greatest[d]);
    for (uint32_t d = cuts.n; d < SORT_SPLITTERS; d++) cuts.greatest[d] = cuts.all; /* never below a key */
    splitters->index_bits = cuts.n == 1 ? 0 : sort_bit_top(cuts.n - 1);
    s->vector->take_splitters(splitters, cuts.greatest);
}
