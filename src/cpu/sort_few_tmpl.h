/* sort_few_tmpl.h: keys of few different values are counted instead of moved, for one width of key; a part of sort_network_tmpl.h.
 *
 *     5 7 7 5 2 7  ->  5: 2, 7: 3, 2: 1  ->  2 5 5 7 7 7        equal keys are the same in all their bits
 *
 * A key that equals none of the values so far is the next one; when there are too many, the keys are still as they were. Of each value the
 * vectors count how many keys neither it nor any before it equals: a comparison and an addition, where a division of the keys in two halves
 * would store them twice. Cost: one read, 0.7 instructions a key and four values, and one write.
 *
 * As long as all keys are the same they are copied while they are compared: if there is no other, that was all. */

struct FN(few) {
    KEY values[SORT_FEW_VALUES];
    VEC others[SORT_FEW_VALUES]; /* a sum in each lane: keys that equal none of values[0] ... values[i] */
    uint32_t nvalues;
};

/* A key of four vectors in the lanes of `left`, of which there are some. */
TARGET ALWAYS_INLINE KEY FN(first_of)(const KEY *keys, const LANE_MASK left[4]) {
    const uint64_t low = BITS(left[0]) | (uint64_t)BITS(left[1]) << LANES, high = BITS(left[2]) | (uint64_t)BITS(left[3]) << LANES;
    KEY key;
    memcpy(&key, keys + __builtin_ctzll(low | high << 2 * LANES), sizeof key); /* it may be a float */
    return key;
}

/* The first n keys of four vectors. False if there are too many values. */
TARGET ALWAYS_INLINE bool FN(count_turn)(struct FN(few) * few, const KEY *keys, uint32_t n) {
    VEC v[4];
    LANE_MASK left[4];
    UNROLL for (uint32_t r = 0; r < 4; r++) {
        left[r] = n == 4 * LANES ? ALL_LANES : FN(lanes_of)(n, r);
        v[r] = FN(load)(SPLAT(0), keys, n, r);
    }
    for (uint32_t i = 0;; i++) {
        if (i == few->nvalues) {
            if (i == SORT_FEW_VALUES) return false;
            few->values[i] = FN(first_of)(keys, left);
            few->others[i] = SPLAT(0);
            few->nvalues++;
        }
        const VEC value = SPLAT(few->values[i]);
        UNROLL for (uint32_t r = 0; r < 4; r++) left[r] = UNEQUAL(left[r], v[r], value);
        if (NO_LANES(EITHER(EITHER(left[0], left[1]), EITHER(left[2], left[3])))) return true;
        UNROLL for (uint32_t r = 0; r < 4; r++) few->others[i] = ADD_ONE(few->others[i], left[r]);
    }
}

enum { FN(few_turn) = 4 * LANES };

/* Copies keys that equal the first one: how many there are before a turn that has others. From the second turn on whole lines are stored.
 */
TARGET static uint64_t FN(copy_equal)(KEY *to, const KEY *keys, KEY first, uint64_t n) {
    uint64_t at = 0, again = (uintptr_t)to % SORT_LINE_NBYTES / sizeof(KEY);
    for (; at + FN(few_turn) <= n; at += FN(few_turn) - again, again = 0) {
        LANE_MASK others[4];
        UNROLL for (uint32_t r = 0; r < 4; r++) others[r] = UNEQUAL(ALL_LANES, LOAD_ALL(keys + at + r * LANES), SPLAT(first));
        if (!NO_LANES(EITHER(EITHER(others[0], others[1]), EITHER(others[2], others[3])))) break;
        if (to == keys) continue;
        UNROLL for (uint32_t r = 0; r < 4; r++) STORE_ALL(to + at + r * LANES, SPLAT(first));
    }
    return at;
}

/* at: so many keys are known to equal values[0]. */
TARGET static bool FN(count_few)(struct FN(few) * few, const KEY *keys, uint64_t at, uint64_t n) {
    for (; at + FN(few_turn) <= n; at += FN(few_turn)) {
        for (uint32_t i = 0; i < FN(few_turn); i += SORT_LINE_NBYTES / sizeof(KEY))
            __builtin_prefetch(keys + at + i + SORT_EXCHANGE_AHEAD_NBYTES / sizeof(KEY));
        if (!FN(count_turn)(few, keys + at, FN(few_turn))) return false;
    }
    return at == n || FN(count_turn)(few, keys + at, (uint32_t)(n - at));
}

static uint64_t FN(sum_of)(const VEC *v) {
    KEY lanes[LANES];
    memcpy(lanes, v, sizeof lanes);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < LANES; i++) sum += lanes[i];
    return sum;
}

TARGET static void FN(fill)(KEY *to, uint64_t n, KEY value) {
    uint64_t i = 0;
    for (; i + LANES <= n; i += LANES) STORE_ALL(to + i, SPLAT(value));
    if (i < n) FN(store)(to + i, (uint32_t)(n - i), 0, SPLAT(value));
}

static KEY FN(image_of)(KEY raw, const struct sort_image *image) {
    const KEY negative = (KEY)(0 - (raw >> (8 * sizeof raw - 1)));
    return raw ^ (KEY)image->flip ^ (negative & (KEY)image->when_negative);
}

/* The values in order, and how often each occurs among n keys. */
static void FN(order_values)(KEY *values, uint64_t *counts, const struct FN(few) * few, uint64_t n, const struct sort_image *image) {
    uint64_t left = n;
    for (uint32_t i = 0; i < few->nvalues; i++) {
        const uint64_t others = i + 1 < few->nvalues ? FN(sum_of)(&few->others[i]) : 0;
        uint32_t j = i;
        for (; j > 0 && FN(image_of)(values[j - 1], image) > FN(image_of)(few->values[i], image); j--) {
            values[j] = values[j - 1];
            counts[j] = counts[j - 1];
        }
        values[j] = few->values[i];
        counts[j] = left - others;
        left = others;
    }
}

TARGET static bool FN(sort_few_values)(void *to, const void *from, uint64_t n, const struct sort_image *image) {
    struct FN(few) few = {.nvalues = 1};
    if (n > UINT32_MAX) return false; /* lanes may have 32 bits */
    memcpy(few.values, from, sizeof *few.values);
    const uint64_t nequal = FN(copy_equal)(to, from, few.values[0], n);
    if (!FN(count_few)(&few, from, nequal, n)) return false;
    KEY values[SORT_FEW_VALUES], *end = to;
    if (few.nvalues == 1) {
        FN(fill)(end + nequal, n - nequal, few.values[0]);
        return true;
    }
    uint64_t counts[SORT_FEW_VALUES];
    FN(order_values)(values, counts, &few, n, image);
    for (uint32_t i = 0; i < few.nvalues; end += counts[i++]) FN(fill)(end, counts[i], values[i]);
    return true;
}
