/* sort_part_tmpl.h: keys below a divider before the others, where they lie, for one width of key: `part` of sort_network.c.
 *
 *     5 1 7 0 3 6 2 8, divider 4  ->  1 0 3 2 5 7 6 8, which is stored whole, low keys first, at both ends:
 *
 *     done|1 0 3 2 . . . .   to be read   . . . . 5 7 6 8|done        . stored too, but in the gap: written over by the next group
 *
 * A turn is read from the end where writing has less room left, and written a turn later: so both ends have room for a whole group
 * whatever is in it, and the processor knows where to read the next turn from before it has divided this one. gcc 12 makes a branch of that
 * choice, which beats arithmetic by up to a fifth, mispredicted as it often is.
 *
 * The permutation of a group is a row of set_bits.h. Cost: two stores and one permutation for 8 keys. Keys compressed to two registers,
 * as here before, take two instructions of three cycles each on the Zen 5. Source: Bramas, A novel hybrid quicksort algorithm vectorized
 * using AVX-512, 2017. */

enum { FN(group_mask) = (1 << GROUP_KEYS) - 1, FN(all_lanes) = (1 << LANES) - 1 };

/* Low keys are yet to be written from `low` on, high ones before low + apart. Of a group the lanes of `below` go to the one end, those of
 * `above` to the other: the new low end. What else is stored lies in the gaps. */
TARGET ALWAYS_INLINE KEY *FN(put_group)(KEY *low, uint64_t apart, GROUP v, uint32_t below, uint32_t above) {
    STORE_GROUP(low, PERMUTE_GROUP(below, v));
    STORE_GROUP(low + apart - GROUP_KEYS, PERMUTE_GROUP(above ^ FN(group_mask), v));
    return low + (uint32_t)__builtin_popcount(below);
}

/* Four vectors. If all their keys go to one side, nothing is stored at the other: its end stands still then, and where it lies across two
 * pages, each store there takes some 20 cycles. */
TARGET ALWAYS_INLINE KEY *FN(put)(KEY *low, uint64_t apart, const VEC v[4], const struct sort_image *image, VEC divider) {
    MASK below[4], all = FN(all_lanes), any = 0;
    UNROLL for (uint32_t r = 0; r < 4; r++) {
        below[r] = BELOW(FN(convert)(v[r], image), divider);
        all &= below[r];
        any |= below[r];
    }
    if (any == 0 || all == FN(all_lanes)) {
        KEY *const to = any == 0 ? low + apart - 4 * LANES : low;
        UNROLL for (uint32_t r = 0; r < 4; r++) STORE_ALL(to + r * LANES, v[r]);
        return any == 0 ? low : low + 4 * LANES;
    }
    UNROLL for (uint32_t i = 0; i < 4 * LANES; i += GROUP_KEYS) {
        const uint32_t here = (uint32_t)below[i / LANES] >> i % LANES & FN(group_mask);
        low = FN(put_group)(low, apart - i, GROUP_OF(v[i / LANES], i % LANES), here, here ^ FN(group_mask));
    }
    return low;
}

/* The first n of the keys of v. */
TARGET ALWAYS_INLINE KEY *FN(put_some)(KEY *low, uint64_t apart, VEC v, uint32_t n, const struct sort_image *image, VEC divider) {
    const uint32_t lanes = BITS(FN(lanes_of)(n, 0)), below = BELOW(FN(convert)(v, image), divider) & lanes;
    const uint32_t above = lanes ^ below; /* for lanes & ~below gcc 12.2, at -O1 with sanitizers, takes bits from beside a byte */
    UNROLL for (uint32_t i = 0; i < LANES; i += GROUP_KEYS) {
        low = FN(put_group)(low, apart - (i < n ? i : n), GROUP_OF(v, i), below >> i & FN(group_mask), above >> i & FN(group_mask));
    }
    return low;
}

enum { FN(turn) = 4 * LANES }; /* keys that are read at a time */

TARGET ALWAYS_INLINE uint64_t FN(part_in_place)(KEY *keys, uint64_t n, const struct sort_image *image, KEY divider_image) {
    const VEC divider = SPLAT(divider_image);
    const uint32_t nrest = (uint32_t)(n % FN(turn));
    KEY *to = keys, *low = keys + FN(turn), *high = keys + n - nrest - FN(turn);
    VEC first[4], v[4], rest[4];
    UNROLL for (uint32_t i = 0; i < 4; i++) {
        first[i] = LOAD_ALL(keys + i * LANES);
        v[i] = LOAD_ALL(high + i * LANES);
        rest[i] = FN(load)(SPLAT(0), keys + n - nrest, nrest, i);
    }
    UNROLL for (uint32_t i = 0; i < 4; i++) {
        const uint32_t before = i * LANES < nrest ? i * LANES : nrest, left = nrest - before;
        to = FN(put_some)(to, (uint64_t)(high - low) + 2 * FN(turn) + left, rest[i], left < LANES ? left : LANES, image, divider);
    }
    while (low < high) {
        const bool from_low = low - to <= FN(turn); /* where there is less room */
        KEY *const from = from_low ? low : high - FN(turn);
        low = from_low ? low + FN(turn) : low;
        high = from_low ? high : from;
        for (uint32_t i = 0; i < FN(turn) && n > SORT_EXCHANGE_ITEMS(sizeof(KEY)); i += SORT_LINE_NBYTES / sizeof(KEY)) {
            __builtin_prefetch(low + SORT_EXCHANGE_AHEAD_NBYTES / sizeof(KEY) + i, 1);
            __builtin_prefetch(high - SORT_EXCHANGE_AHEAD_NBYTES / sizeof(KEY) - i, 1);
        }
        VEC next[4];
        UNROLL for (uint32_t i = 0; i < 4; i++) next[i] = LOAD_ALL(from + i * LANES);
        const uint64_t apart = (uint64_t)(high - low) + 3 * FN(turn);
        to = FN(put)(to, apart, v, image, divider);
        UNROLL for (uint32_t i = 0; i < 4; i++) v[i] = next[i];
    }
    to = FN(put)(to, 2 * FN(turn), v, image, divider);
    to = FN(put)(to, FN(turn), first, image, divider);
    return (uint64_t)(to - keys);
}

/* From elsewhere: read from end to end, and written at once, as both ends have room for a group while there are as many keys to come. */
TARGET ALWAYS_INLINE uint64_t FN(part_from)(KEY *to, const KEY *from, uint64_t n, const struct sort_image *image, KEY divider_image) {
    const VEC divider = SPLAT(divider_image);
    const uint32_t nrest = (uint32_t)(n % FN(turn));
    KEY *low = to;
    uint64_t apart = n;
    for (uint32_t i = 0; i < nrest; i += LANES) {
        const uint32_t here = nrest - i < LANES ? nrest - i : LANES;
        low = FN(put_some)(low, apart, FN(load)(SPLAT(0), from + n - nrest + i, here, 0), here, image, divider);
        apart -= here;
    }
    for (; apart > 0; apart -= FN(turn), from += FN(turn)) {
        VEC v[4];
        UNROLL for (uint32_t i = 0; i < 4; i++) v[i] = LOAD_ALL(from + i * LANES);
        for (uint32_t i = 0; i < FN(turn) && n > SORT_EXCHANGE_ITEMS(sizeof(KEY)); i += SORT_LINE_NBYTES / sizeof(KEY)) {
            __builtin_prefetch(from + SORT_EXCHANGE_AHEAD_NBYTES / sizeof(KEY) + i);
            __builtin_prefetch(low + SORT_EXCHANGE_AHEAD_NBYTES / sizeof(KEY) + i, 1);
            __builtin_prefetch(low + apart - SORT_EXCHANGE_AHEAD_NBYTES / sizeof(KEY) - i, 1);
        }
        low = FN(put)(low, apart, v, image, divider);
    }
    return (uint64_t)(low - to);
}

TARGET ALWAYS_INLINE uint64_t FN(part_of)(KEY *to, const KEY *from, uint64_t n, const struct sort_image *image, KEY divider) {
    return to == from ? FN(part_in_place)(to, n, image, divider) : FN(part_from)(to, from, n, image, divider);
}

TARGET static uint64_t FN(part)(void *to, const void *from, uint64_t n, const struct sort_image *image, uint64_t divider) {
    const struct sort_image own = FN(own_image)(image), no_float = {own.flip, 0};
    const KEY own_divider = (KEY)(divider ^ SIGN_BIT);
    return own.when_negative == 0 ? FN(part_of)(to, from, n, &no_float, own_divider) : FN(part_of)(to, from, n, &own, own_divider);
}
