/* sort_buckets_tmpl.h: buckets sorted by the network of sort_network.c, one in each lane of 16 registers, for one width of key; a part of
 * sort_network_tmpl.h. Each is in a slot of 16 places (sort_slots_tmpl.h); those with spilled keys are sorted as groups. */

/* Writes rows of 16 keys to where their buckets begin, in turn: what is too much of one is overwritten by the next. */
TARGET static inline void FN(store_rows)(KEY *to, const uint32_t *bounds, const VEC rows[16], const struct sort_image *image) {
    UNROLL for (uint32_t i = 0; i < 16; i++)
        STORE_ALL(to + bounds[i / FN(nregisters)] + i % FN(nregisters) * LANES, FN(unconvert)(rows[i], image));
}

/* The same without a key too much, for the end of the array. (An empty store there may touch a page that is not ours, which costs an AMD
 * processor some hundred cycles.) */
TARGET static void FN(store_last_rows)(KEY *to, const uint32_t *bounds, const VEC rows[16], const struct sort_image *image) {
    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t d = i / FN(nregisters), r = i % FN(nregisters), length = bounds[d + 1] - bounds[d];
        if (length > r * LANES) FN(store)(to + bounds[d], length, r, FN(unconvert)(rows[i], image));
    }
}

/* Sorts the first 16 keys of LANES buckets, the i-th of which has row i, or as many rows as it takes, and writes them; to [n]. */
TARGET ALWAYS_INLINE void FN(sort_rows)(KEY *to, uint32_t n, const uint32_t *bounds, VEC rows[16], const struct sort_image *image) {
    VEC columns[16];
    FN(columns)(columns, rows);
    FN(sort_columns)(columns);
    FN(rows)(rows, columns);
    if (bounds[LANES] + SORT_NETWORK_KEYS <= n)
        FN(store_rows)(to, bounds, rows, image);
    else
        FN(store_last_rows)(to, bounds, rows, image);
}

/* Sorts those of LANES buckets that have more keys than places: where the spilled keys of later buckets begin. */
TARGET static const KEY *FN(sort_spilled)(KEY *to, const KEY *places, const KEY *counts, const KEY *spilled,
                                          const struct sort_image *image) {
    KEY all[UINT8_MAX];
    for (uint32_t i = 0; i < LANES; to += counts[i++]) {
        if (counts[i] <= SORT_NETWORK_KEYS) continue;
        const uint32_t n = (uint32_t)counts[i], nspilled = n - SORT_NETWORK_KEYS;
        memcpy(all, places + i * SORT_NETWORK_KEYS, SORT_NETWORK_KEYS * sizeof *all);
        memcpy(all + SORT_NETWORK_KEYS, spilled, nspilled * sizeof *all);
        FN(sort_images)(to, all, n, image);
        spilled += nspilled;
    }
    return spilled;
}

TARGET ALWAYS_INLINE void FN(sort_slots_as)(KEY *to, uint32_t n, const KEY *places, const uint8_t *counts, uint32_t nbuckets,
                                            const KEY *spilled, const struct sort_image *image) {
    uint32_t begin = 0;
    for (uint32_t b = 0; b < nbuckets; b += LANES, places += LANES * SORT_NETWORK_KEYS) {
        const VEC length = LOAD_U8(counts + b);
        if (LESS(SPLAT(0), length) == 0) continue; /* its page may never have been written: empty loads from there take long, too */
        VEC rows[16];
        KEY lengths[LANES];
        uint32_t bounds[LANES + 1];
        STORE_ALL(lengths, length);
        UNROLL for (uint32_t i = 0; i < 16; i++) {
            const uint32_t d = i / FN(nregisters), r = i % FN(nregisters);
            rows[i] = OF_IMAGES(LOAD(SPLAT(-1), LANES_BELOW(lengths[d], r * LANES), places + i * LANES));
        }
        const bool any_long = LESS(SPLAT(SORT_NETWORK_KEYS), length) != 0;
        bounds[0] = begin;
        UNROLL for (uint32_t i = 0; i < LANES; i++) bounds[i + 1] = begin += (uint32_t)lengths[i];
        FN(sort_rows)(to, n, bounds, rows, image);
        if (any_long) spilled = FN(sort_spilled)(to + bounds[0], places, lengths, spilled, image);
    }
}

TARGET static void FN(sort_slots)(void *to, uint32_t n, const void *places, const uint8_t *counts, uint32_t nbuckets, const void *spilled,
                                  const struct sort_image *image) {
    const struct sort_image own = FN(own_image)(image), no_float = {own.flip, 0};
    if (image->when_negative == 0)
        FN(sort_slots_as)(to, n, places, counts, nbuckets, spilled, &no_float);
    else
        FN(sort_slots_as)(to, n, places, counts, nbuckets, spilled, &own);
}
