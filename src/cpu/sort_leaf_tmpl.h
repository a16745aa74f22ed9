/* sort_leaf_tmpl.h: the leaves of the radix sort, a part of sort_tmpl.h.
 *
 * A leaf fits L2. It is spread by the highest one or two digits in which its keys differ, enough of them that keys which still agree are
 * rare; then those few groups are finished by insertion, or as leaves of their own. Keys sorted whole and alone, on a machine with vector
 * code: by one digit into columns of slots, without counting first, and the columns by a network (sort_network.c). */

static void FN(insertion)(const struct sort_leaf *leaf, uint64_t begin, uint64_t end, uint64_t mask) {
    FN(item) sorted[SORT_INSERTION_MAX];
    const uint32_t n = (uint32_t)(end - begin);
    for (uint32_t i = 0; i < n; i++) {
        const FN(item) item = FN(load)(&leaf->from, &leaf->image, begin + i);
        uint32_t j = i;
        for (; j > 0 && (sorted[j - 1].key & (KEY)mask) > (item.key & (KEY)mask); j--) sorted[j] = sorted[j - 1];
        sorted[j] = item;
    }
    for (uint32_t i = 0; i < n; i++) FN(store)(&leaf->to, &leaf->image, begin + i, sorted[i]);
}

/* Counts the two digits of every key: [shift, shift + bits) into the second half of ends, and the `low_bits` below into the first. */
static void FN(count_leaf)(const struct sort_leaf *leaf, uint64_t begin, uint64_t end, const struct sort_digits *digits) {
    const struct sort_arrays from = leaf->from;
    const struct sort_image image = leaf->image;
    uint32_t *high = leaf->bench->ends + SORT_LEAF_BUCKETS, *low = leaf->bench->ends;
    const uint32_t high_mask = (1u << digits->high_bits) - 1, low_mask = (1u << digits->low_bits) - 1;
    const uint32_t high_shift = digits->high_shift, low_shift = digits->low_shift;
    memset(high, 0, sizeof *high << digits->high_bits);
    memset(low, 0, sizeof *low << digits->low_bits);
    if (digits->low_bits == 0) {
        for (uint64_t i = begin; i < end; i++) high[FN(digit)(FN(key_at)(&from, &image, i), high_shift, high_mask)]++;
        return;
    }
    for (uint64_t i = begin; i < end; i++) {
        const KEY key = FN(key_at)(&from, &image, i);
        high[FN(digit)(key, high_shift, high_mask)]++;
        low[FN(digit)(key, low_shift, low_mask)]++;
    }
}

/* Spreads the range by one digit into the area. `next` [digit] turns from starts into ends. */
static void FN(spread_in)(const struct sort_leaf *leaf, uint64_t begin, uint64_t end, uint32_t shift, uint32_t bits, uint32_t *next) {
    const struct sort_arrays from = leaf->from;
    const struct sort_image image = leaf->image;
    FN(item) *area = (FN(item) *)(void *)leaf->bench->area;
    const uint32_t mask = (1u << bits) - 1;
    for (uint64_t i = begin; i < end; i++) {
        const FN(item) item = FN(load)(&from, &image, i);
        area[next[FN(digit)(item.key, shift, mask)]++] = item;
    }
}

/* Back from the area: spread by another digit, or as it is. */
static void FN(spread_out)(const struct sort_leaf *leaf, uint64_t begin, uint32_t n, uint32_t shift, uint32_t bits, uint32_t *next) {
    const struct sort_arrays to = leaf->to;
    const struct sort_image image = leaf->image;
    const FN(item) *area = (const FN(item) *)(const void *)leaf->bench->area;
    const uint32_t mask = (1u << bits) - 1;
    for (uint32_t i = 0; i < n; i++) FN(store)(&to, &image, begin + next[FN(digit)(area[i].key, shift, mask)]++, area[i]);
}

static void FN(copy_out)(const struct sort_leaf *leaf, uint64_t begin, uint32_t n) {
    const struct sort_arrays to = leaf->to;
    const struct sort_image image = leaf->image;
    const FN(item) *area = (const FN(item) *)(const void *)leaf->bench->area;
    for (uint32_t i = 0; i < n; i++) FN(store)(&to, &image, begin + i, area[i]);
}

static void FN(leaf)(const struct sort_leaf *leaf, uint64_t begin, uint64_t end, uint32_t lo, uint32_t hi);

/* The range is sorted in place by the bits `above` bit hi: sorts each run that agrees in them by bits [lo, hi). */
static void FN(finish_runs)(const struct sort_leaf *leaf, uint64_t begin, uint64_t end, uint32_t lo, uint32_t hi, uint64_t above) {
    uint64_t run = begin;
    KEY run_key = (KEY)(FN(key_at)(&leaf->from, &leaf->image, begin) & above);
    for (uint64_t i = begin + 1; i < end; i++) {
        const KEY key = (KEY)(FN(key_at)(&leaf->from, &leaf->image, i) & above);
        if (key == run_key) continue;
        if (i - run > 1) FN(leaf)(leaf, run, i, lo, hi);
        run = i;
        run_key = key;
    }
    if (end - run > 1) FN(leaf)(leaf, run, end, lo, hi);
}

#ifndef VALUE
/* Spreads the range by one digit into columns of slots: key j of bucket d is slot [d / lanes][j][d % lanes], what is not there sorts last.
 * counts [nbuckets] become those of the buckets; keys too many for a column go to `late`. False if those are more than a few. */
static bool FN(fill_columns)(const struct sort_leaf *leaf, uint64_t begin, uint64_t end, uint32_t shift, uint32_t nbuckets,
                             uint32_t *nlate) {
    const struct sort_arrays from = leaf->from;
    const struct sort_image image = leaf->image;
    enum { lanes = SORT_LINE_NBYTES / sizeof(KEY) };
    KEY *slots = (KEY *)(void *)leaf->bench->area, *late = (KEY *)(void *)leaf->bench->late;
    uint32_t *counts = leaf->bench->ends;
    const uint64_t late_max = (end - begin) / SORT_LATE_SHARE;
    memset(counts, 0, nbuckets * sizeof *counts);
    memset(slots, 0xff, (size_t)nbuckets * SORT_COLUMN_ITEMS * sizeof(KEY));
    uint32_t n = 0;
    for (uint64_t i = begin; i < end; i++) {
        const KEY key = FN(key_at)(&from, &image, i);
        const uint32_t d = FN(digit)(key, shift, nbuckets - 1), j = counts[d]++;
        if (j < SORT_COLUMN_ITEMS) {
            slots[(d / lanes * SORT_COLUMN_ITEMS + j) * lanes + d % lanes] = key;
        } else {
            if (n == late_max) return false;
            late[n++] = key;
        }
    }
    *nlate = n;
    return true;
}

/* Adds the late keys to the ends of their buckets, which are sorted anew. `extra`: their number so far, where the columns were. */
static void FN(add_late)(const struct sort_leaf *leaf, uint64_t begin, uint32_t shift, uint32_t nbuckets, uint32_t nlate) {
    const KEY *late = (const KEY *)(const void *)leaf->bench->late;
    uint32_t *starts = leaf->bench->ends, *extra = (uint32_t *)(void *)leaf->bench->area;
    for (uint32_t i = 0; i < nlate; i++) extra[FN(digit)(late[i], shift, nbuckets - 1)] = 0;
    for (uint32_t i = 0; i < nlate; i++) {
        const uint32_t d = FN(digit)(late[i], shift, nbuckets - 1);
        const FN(item) item = {late[i]};
        FN(store)(&leaf->to, &leaf->image, begin + starts[d] + SORT_COLUMN_ITEMS + extra[d]++, item);
    }
    for (uint32_t i = 0; i < nlate; i++) {
        const uint32_t d = FN(digit)(late[i], shift, nbuckets - 1);
        unsigned char *bucket = leaf->to.keys + (begin + starts[d]) * sizeof(KEY);
        if (extra[d] > 0) leaf->vector->group(bucket, bucket, starts[d + 1] - starts[d], &leaf->image);
        extra[d] = 0;
    }
}

/* Keys sorted whole and alone: one digit spreads them into columns of a few keys, without counting first, and all columns of a block are
 * sorted at once, a lane each. False, with nothing written to `to`, if the keys are too unevenly spread. */
static bool FN(leaf_by_columns)(const struct sort_leaf *leaf, uint64_t begin, uint64_t end, uint32_t top) {
    enum { lanes = SORT_LINE_NBYTES / sizeof(KEY), most = SORT_AREA_NBYTES / (SORT_COLUMN_ITEMS * sizeof(KEY)) };
    const uint32_t n = (uint32_t)(end - begin), wanted = 1u << sort_bit_top(n / SORT_COLUMN_MEAN);
    const uint32_t nbuckets = wanted < lanes ? lanes : wanted, bits = sort_bit_low(nbuckets);
    if (nbuckets > most || top <= SORT_LEAF_BITS || top < bits) return false;
    const uint32_t shift = top - bits;
    uint32_t *counts = leaf->bench->ends, nlate;
    if (!FN(fill_columns)(leaf, begin, end, shift, nbuckets, &nlate)) return false;
    if (sort_longest(counts, nbuckets) > SORT_NETWORK_NBYTES / sizeof(KEY)) return false;
    sort_sum_counts(counts, nbuckets);
    counts[nbuckets] = n;
    leaf->vector->columns(leaf->to.keys + begin * sizeof(KEY), leaf->bench->area, counts, nbuckets, &leaf->image);
    FN(add_late)(leaf, begin, shift, nbuckets, nlate);
    return true;
}
#endif

static void FN(leaf)(const struct sort_leaf *leaf, uint64_t begin, uint64_t end, uint32_t lo, uint32_t hi) {
    const uint32_t n = (uint32_t)(end - begin);
    const uint64_t mask = sort_low_bits(hi) & ~sort_low_bits(lo);
    if (leaf->vector && n <= SORT_NETWORK_NBYTES / sizeof(KEY)) {
        leaf->vector->group(leaf->to.keys + begin * sizeof(KEY), leaf->from.keys + begin * sizeof(KEY), n, &leaf->image);
        return;
    }
    if (n <= SORT_INSERTION_MAX) {
        FN(insertion)(leaf, begin, end, mask);
        return;
    }
    const uint64_t varying = FN(varying)(&leaf->from, &leaf->image, begin, end, 1) & mask;
    if (varying == 0) {
        FN(copy)(&leaf->to, &leaf->from, begin, end);
        return;
    }
#ifndef VALUE
    if (leaf->vector && FN(leaf_by_columns)(leaf, begin, end, sort_bit_top(varying))) return;
#endif
    const struct sort_digits digits = sort_leaf_digits(varying, n);
    uint32_t *high_ends = leaf->bench->ends + SORT_LEAF_BUCKETS, *low_ends = leaf->bench->ends;
    FN(count_leaf)(leaf, begin, end, &digits);
    sort_sum_counts(high_ends, 1u << digits.high_bits);
    if (digits.low_bits > 0) {
        sort_sum_counts(low_ends, 1u << digits.low_bits);
        FN(spread_in)(leaf, begin, end, digits.low_shift, digits.low_bits, low_ends);
        FN(spread_out)(leaf, begin, n, digits.high_shift, digits.high_bits, high_ends);
    } else {
        FN(spread_in)(leaf, begin, end, digits.high_shift, digits.high_bits, high_ends);
        FN(copy_out)(leaf, begin, n);
    }
    if ((varying & sort_low_bits(digits.low_shift)) == 0) return;
    const struct sort_leaf again = {leaf->to, leaf->to, leaf->image, leaf->bench, leaf->vector};
    FN(finish_runs)(&again, begin, end, lo, digits.low_shift, mask & ~sort_low_bits(digits.low_shift));
}
