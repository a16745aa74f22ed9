/* sort_leaf_tmpl.h: the leaves of the radix sort, a part of sort_tmpl.h.
 *
 * A leaf fits L2. It is spread by the highest one or two digits in which its keys differ, enough of them that keys which still agree are
 * rare; then those few groups are finished by insertion, or as leaves of their own. Keys sorted whole, on a machine with vector code:
 * by one digit into buckets of some 8 keys, and these by a network, 16 buckets at once (sort_network.c): in slots (sort_slots_tmpl.h) or,
 * with values, counted first, by a network of tags (sort_pairs_tmpl.h). */

/* ---- one read of a piece ----------------------------------------------------------------------------------------------------- */

/* The key of item i of a piece. `in_log` is piece->in_log where it matters, as a constant. */
static inline KEY FN(piece_key)(const struct sort_piece *piece, const struct sort_image *image, uint32_t i, bool in_log) {
    return FN(convert)(FN(item_at)(piece, i, in_log).key, image);
}

/* Blocks of keys alone are arrays like any other. */
static inline bool FN(is_packed)(const struct sort_piece *piece) { return VALUE_NBYTES > 0 && piece->in_log; }

ALWAYS_INLINE void FN(vary_piece)(struct sort_piece piece, struct sort_image image, KEY first, KEY *varying, bool in_log) {
    KEY bits = 0;
    if (in_log) {
        for (uint32_t i = 0; i < piece.n; i++) bits = (KEY)(bits | (FN(piece_key)(&piece, &image, i, true) ^ first));
    } else { /* in vectors, from which an index of 32 bits would keep GCC */
        for (uint64_t i = 0; i < piece.n; i++) bits = (KEY)(bits | (FN(key_at)(&piece.from, &image, piece.begin + i) ^ first));
    }
    *varying = (KEY)(*varying | bits);
}

ALWAYS_INLINE void FN(count_digit)(struct sort_piece piece, struct sort_image image, uint32_t shift, uint32_t mask, uint32_t *counts,
                                   bool in_log) {
    UNROLLED for (uint32_t i = 0; i < piece.n; i++) counts[FN(digit)(FN(piece_key)(&piece, &image, i, in_log), shift, mask)]++;
}

ALWAYS_INLINE void FN(count_digits)(struct sort_piece piece, struct sort_image image, struct sort_digits digits, uint32_t *low,
                                    uint32_t *high, bool in_log) {
    const uint32_t high_mask = (1u << digits.high_bits) - 1, low_mask = (1u << digits.low_bits) - 1;
    UNROLLED for (uint32_t i = 0; i < piece.n; i++) {
        const KEY key = FN(piece_key)(&piece, &image, i, in_log);
        high[FN(digit)(key, digits.high_shift, high_mask)]++;
        low[FN(digit)(key, digits.low_shift, low_mask)]++;
    }
}

static inline void FN(spread_item)(const struct sort_piece *piece, const struct sort_image *image, uint32_t i, uint32_t shift,
                                   uint32_t mask, uint32_t *next, FN(item) * area, bool in_log) {
    FN(item) item = FN(item_at)(piece, i, in_log);
    item.key = FN(convert)(item.key, image);
    area[next[FN(digit)(item.key, shift, mask)]++] = item;
}

/* ahead: asks for the places of later items. */
ALWAYS_INLINE void FN(spread_piece)(struct sort_piece piece, struct sort_image image, uint32_t shift, uint32_t mask, uint32_t *next,
                                    FN(item) * area, bool ahead, bool in_log) {
    const uint32_t nasking = ahead && piece.n > SORT_SLOTS_AHEAD ? piece.n - SORT_SLOTS_AHEAD : 0;
    for (uint32_t i = 0; i < nasking; i++) {
        const KEY later = FN(piece_key)(&piece, &image, i + SORT_SLOTS_AHEAD, in_log);
        __builtin_prefetch(&area[next[FN(digit)(later, shift, mask)]], 1);
        FN(spread_item)(&piece, &image, i, shift, mask, next, area, in_log);
    }
    UNROLLED for (uint32_t i = nasking; i < piece.n; i++) FN(spread_item)(&piece, &image, i, shift, mask, next, area, in_log);
}

/* Straight to the output. */
ALWAYS_INLINE void FN(place_piece)(struct sort_piece piece, struct sort_image image, const struct sort_leaf *leaf, uint32_t shift,
                                   uint32_t mask, uint32_t *next, bool in_log) {
    const struct sort_arrays to = leaf->to;
    const uint64_t begin = leaf->begin;
    UNROLLED for (uint32_t i = 0; i < piece.n; i++) {
        const FN(item) item = FN(item_at)(&piece, i, in_log);
        FN(store_raw)(&to, begin + next[FN(digit)(FN(convert)(item.key, &image), shift, mask)]++, item);
    }
}

/* ---- the same for a source --------------------------------------------------------------------------------------------------- */

/* Calls f with what is known of the source as constants: is it packed, and are its keys floats? Most are not, and need less conversion. */
#define FOR_PIECE(f, piece, image, ...)                       \
    do {                                                      \
        const struct sort_image no_float = {(image).flip, 0}; \
        if (FN(is_packed)(&(piece))) {                        \
            if ((image).when_negative == 0)                   \
                f(piece, no_float, __VA_ARGS__, true);        \
            else                                              \
                f(piece, image, __VA_ARGS__, true);           \
        } else {                                              \
            if ((image).when_negative == 0)                   \
                f(piece, no_float, __VA_ARGS__, false);       \
            else                                              \
                f(piece, image, __VA_ARGS__, false);          \
        }                                                     \
    } while (0)

/* The bits in which the keys differ. */
static uint64_t FN(source_varying)(const struct sort_leaf *leaf) {
    struct sort_reader reader = {.source = &leaf->source};
    struct sort_piece piece;
    KEY varying = 0, first = 0;
    for (bool any = false; sort_next_piece(&reader, sizeof(FN(item)), &piece); any = true) {
        if (!any) first = FN(piece_key)(&piece, &leaf->image, 0, FN(is_packed)(&piece));
        FOR_PIECE(FN(vary_piece), piece, leaf->image, first, &varying);
    }
    return varying;
}

/* Counts the digits of every key in low, if there are two, and high. */
static void FN(count_source)(const struct sort_leaf *leaf, const struct sort_digits *digits, uint32_t *low, uint32_t *high) {
    struct sort_reader reader = {.source = &leaf->source};
    struct sort_piece piece;
    memset(high, 0, sizeof *high << digits->high_bits);
    if (digits->low_bits > 0) memset(low, 0, sizeof *low << digits->low_bits);
    while (sort_next_piece(&reader, sizeof(FN(item)), &piece)) {
        if (digits->low_bits > 0)
            FOR_PIECE(FN(count_digits), piece, leaf->image, *digits, low, high);
        else
            FOR_PIECE(FN(count_digit), piece, leaf->image, digits->high_shift, (1u << digits->high_bits) - 1, high);
    }
}

/* Spreads the source by one digit into the area, as images. `next` [digit] turns from starts into ends. */
static void FN(spread_in)(const struct sort_leaf *leaf, uint32_t shift, uint32_t bits, uint32_t *next) {
    struct sort_reader reader = {.source = &leaf->source};
    struct sort_piece piece;
    FN(item) *area = (FN(item) *)(void *)leaf->area;
    const bool ahead = leaf->source.n >= SORT_SPREAD_AHEAD_NBYTES / sizeof(FN(item)) && cpu_stores_wait();
    while (sort_next_piece(&reader, sizeof(FN(item)), &piece))
        FOR_PIECE(FN(spread_piece), piece, leaf->image, shift, (1u << bits) - 1, next, area, ahead);
}

static void FN(copy_out)(const struct sort_leaf *leaf, uint32_t from, uint32_t until) {
    const struct sort_arrays to = leaf->to;
    const struct sort_image image = leaf->image;
    const FN(item) *area = (const FN(item) *)(const void *)leaf->area;
    const uint64_t begin = leaf->begin;
    for (uint32_t i = from; i < until; i++) FN(store)(&to, &image, begin + i, area[i]);
}

/* By a digit that has all bits in which the keys differ: at once to where they go, if that is elsewhere; but from a log, when the output is
 * no longer in the caches, or by so many bits that its open lines are not in L1, by way of the area. */
static void FN(place)(const struct sort_leaf *leaf, uint32_t shift, uint32_t bits, uint32_t *next) {
    const struct sort_source *source = &leaf->source;
    const struct sort_piece all = {source->arrays, source->begin, source->n, false};
    if (bits <= SORT_SPLIT_BEST_BITS && source->nlogs == 0 && sort_are_apart(&leaf->to, &source->arrays)) {
        FOR_PIECE(FN(place_piece), all, leaf->image, leaf, shift, (1u << bits) - 1, next);
    } else {
        FN(spread_in)(leaf, shift, bits, next);
        FN(copy_out)(leaf, 0, source->n);
    }
}
#undef FOR_PIECE

/* Back from the area: spread by another digit, or as it is. */
static void FN(spread_out)(const struct sort_leaf *leaf, uint32_t shift, uint32_t bits, uint32_t *next) {
    const struct sort_arrays to = leaf->to;
    const struct sort_image image = leaf->image;
    const FN(item) *area = (const FN(item) *)(const void *)leaf->area;
    const uint32_t mask = (1u << bits) - 1, n = leaf->source.n;
    const uint64_t begin = leaf->begin;
    UNROLLED for (uint32_t i = 0; i < n; i++) FN(store)(&to, &image, begin + next[FN(digit)(area[i].key, shift, mask)]++, area[i]);
}

/* The source as it is, to `to`, which may be where it lies. */
static void FN(copy_source)(const struct sort_leaf *leaf) {
    if (leaf->source.nlogs > 0) {
        FN(unload)(&leaf->to, leaf->begin, &leaf->source);
        return;
    }
    const struct sort_arrays *from = &leaf->source.arrays;
    FN(copy)(&leaf->to, from, leaf->begin, leaf->begin + leaf->source.n);
}

/* ---- leaves ------------------------------------------------------------------------------------------------------------------ */

static void FN(leaf)(const struct sort_leaf *leaf, uint32_t lo, uint32_t hi);

/* Items [begin, end) of the range in `to` that a leaf has sorted by the bits from hi up: sorts them by [lo, hi). */
static void FN(leaf_again)(const struct sort_leaf *leaf, uint32_t begin, uint32_t end, uint32_t lo, uint32_t hi) {
    struct sort_leaf again = *leaf;
    again.begin = leaf->begin + begin;
    again.source = (struct sort_source){.arrays = leaf->to, .begin = again.begin, .n = end - begin};
    FN(leaf)(&again, lo, hi);
}

/* The leaf is sorted in `to` by the bits `above` bit hi: sorts each run that agrees in them by bits [lo, hi). */
static void FN(finish_runs)(const struct sort_leaf *leaf, uint32_t lo, uint32_t hi, uint64_t above) {
    uint32_t run = 0;
    KEY run_key = (KEY)(FN(key_at)(&leaf->to, &leaf->image, leaf->begin) & above);
    for (uint32_t i = 1; i < leaf->source.n; i++) {
        const KEY key = (KEY)(FN(key_at)(&leaf->to, &leaf->image, leaf->begin + i) & above);
        if (key == run_key) continue;
        if (i - run > 1) FN(leaf_again)(leaf, run, i, lo, hi);
        run = i;
        run_key = key;
    }
    if (leaf->source.n - run > 1) FN(leaf_again)(leaf, run, leaf->source.n, lo, hi);
}

static void FN(insertion)(const struct sort_leaf *leaf, uint64_t mask) {
    FN(item) sorted[SORT_INSERTION_MAX];
    const uint32_t n = leaf->source.n;
    for (uint32_t i = 0; i < n; i++) {
        const FN(item) item = FN(load)(&leaf->source.arrays, &leaf->image, leaf->source.begin + i);
        uint32_t j = i;
        for (; j > 0 && (sorted[j - 1].key & (KEY)mask) > (item.key & (KEY)mask); j--) sorted[j] = sorted[j - 1];
        sorted[j] = item;
    }
    for (uint32_t i = 0; i < n; i++) FN(store)(&leaf->to, &leaf->image, leaf->begin + i, sorted[i]);
}

static void FN(leaf_by_digits)(const struct sort_leaf *leaf, uint64_t varying, uint32_t lo, uint64_t mask) {
    const uint32_t n = leaf->source.n;
    const struct sort_digits digits = sort_leaf_digits(varying, n);
    uint32_t *low = leaf->bench->low, *high = leaf->bench->high;
    FN(count_source)(leaf, &digits, low, high);
    sort_sum_counts(high, 1u << digits.high_bits, n);
    if (digits.low_bits > 0) {
        sort_sum_counts(low, 1u << digits.low_bits, n);
        FN(spread_in)(leaf, digits.low_shift, digits.low_bits, low);
        FN(spread_out)(leaf, digits.high_shift, digits.high_bits, high);
    } else {
        FN(place)(leaf, digits.high_shift, digits.high_bits, high);
    }
    if ((varying & sort_low_bits(digits.low_shift)) == 0) return;
    FN(finish_runs)(leaf, lo, digits.low_shift, mask & ~sort_low_bits(digits.low_shift));
}

#ifdef REAL
#include "sort_slots_tmpl.h"
#endif

#ifdef VALUE
/* The buckets of a leaf by networks have been spread in the area, by the digit from bit `shift` up: sorts them, those too long for tags by
 * further digits. */
static void FN(finish_pairs)(const struct sort_leaf *leaf, const uint32_t *bounds, uint32_t nbuckets, uint32_t shift) {
    const uint32_t longest = sort_pairs_most(shift);
    if (!leaf->pair_buckets(&leaf->to, leaf->begin, leaf->area, bounds, nbuckets, shift, &leaf->image)) return;
    for (uint32_t d = 0; d < nbuckets; d++) {
        if (bounds[d + 1] - bounds[d] > longest) FN(copy_out)(leaf, bounds[d], bounds[d + 1]);
    }
    struct sort_leaf by_digits = *leaf; /* not by networks: the table is in use */
    by_digits.pair_buckets = NULL;
    for (uint32_t d = 0; d < nbuckets; d++) {
        if (bounds[d + 1] - bounds[d] > longest) FN(leaf_again)(&by_digits, bounds[d], bounds[d + 1], 0, shift);
    }
}

/* Pairs sorted whole, whose keys differ in bits `varying` at most, and have so many 256ths of what these can be. False, with nothing
 * written, if there is no room for the counts, or if most buckets would be long where two digits take all bits: these are quicker then. */
static bool FN(leaf_by_networks)(const struct sort_leaf *leaf, uint64_t varying, uint32_t share) {
    const struct sort_digits digits = sort_network_digits(varying, leaf->source.n * UINT64_C(256) / share);
    const uint32_t nbuckets = 1u << digits.high_bits;
    uint32_t *bounds = leaf->table;
    const bool digits_do = digits.high_shift > 0 && sort_two_digits_do(varying, leaf->source.n);
    if (leaf->table_items < nbuckets + 1 || (digits_do && leaf->sorter->pairs_lie_together && leaf->share == 0)) return false;
    bounds[0] = 0;
    FN(count_source)(leaf, &digits, NULL, bounds + 1);
    const uint32_t nlong = sort_sum_counts(bounds + 1, nbuckets, SORT_NETWORK_KEYS);
    if (nlong > leaf->source.n / 2 && digits_do) return false;
    if (nlong == leaf->source.n && sort_is_one_bucket(bounds + 1, nbuckets, nlong)) return false; /* they differ in lower bits, if at all */
    if (digits.high_shift == 0) {                                                                 /* no bits are left */
        FN(place)(leaf, 0, digits.high_bits, bounds + 1);
        return true;
    }
    FN(spread_in)(leaf, digits.high_shift, digits.high_bits, bounds + 1);
    FN(finish_pairs)(leaf, bounds, nbuckets, digits.high_shift);
    return true;
}
#endif

/* A leaf of a few items, which lie together. */
static void FN(tiny_leaf)(const struct sort_leaf *leaf, uint64_t mask) {
    const struct sort_source *source = &leaf->source;
    if (leaf->vector)
        leaf->vector->group(leaf->to.keys + leaf->begin * sizeof(KEY), source->arrays.keys + source->begin * sizeof(KEY), source->n,
                            &leaf->image);
    else
        FN(insertion)(leaf, mask);
}

static void FN(leaf)(const struct sort_leaf *leaf, uint32_t lo, uint32_t hi) {
    const uint32_t n = leaf->source.n;
    const uint64_t mask = sort_low_bits(hi) & ~sort_low_bits(lo);
    const bool in_log = leaf->source.nlogs > 0;
    if (n <= sort_group_items(leaf->vector, sizeof(KEY))) {
        if (in_log) FN(unload)(&leaf->to, leaf->begin, &leaf->source);
        if (in_log)
            FN(leaf_again)(leaf, 0, n, lo, hi);
        else
            FN(tiny_leaf)(leaf, mask);
        return;
    }
#ifdef REAL
    if (leaf->vector != NULL) {
        FN(leaf_by_vectors)(leaf, mask);
        return;
    }
#endif
#ifdef VALUE
    const bool networks = leaf->pair_buckets != NULL && n >= SORT_PAIRS_MIN;
    const uint32_t share = leaf->share > 0 ? leaf->share : 256;
    /* The keys of a bucket are seldom alike in more than its digit: that they are not is seen soon enough. */
    if (networks && in_log && mask != 0 && FN(leaf_by_networks)(leaf, mask, share)) return;
#endif
    const uint64_t varying = mask == 0 ? 0 : FN(source_varying)(leaf) & mask;
    if (varying == 0) {
        FN(copy_source)(leaf);
        return;
    }
#ifdef VALUE
    if (networks && !(in_log && sort_bit_top(varying) == hi) && FN(leaf_by_networks)(leaf, varying, 256)) return;
#endif
    FN(leaf_by_digits)(leaf, varying, lo, mask);
}
