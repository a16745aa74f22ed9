/* sort_splitters_tmpl.h: the bucket of a key between splitters, for one width of key; a part of sort_network_tmpl.h.
 *
 * Of 256 buckets, every 16th one's greatest image is in registers: the row of 16 in which a key belongs is searched for in halves, all
 * lanes at once, by permutations of these. Then the key is compared with its row, and as that is in order, the number of those below it
 * says the rest. */

enum { FN(row) = SORT_SPLITTERS / 16 };

/* lasts: the greatest image of each row. */
TARGET ALWAYS_INLINE __m512i FN(find_rows)(const __m512i lasts[FN(nregisters)], __m512i keys) {
    __m512i row = SPLAT(0);
    UNROLL for (uint32_t half = FN(row) / 2; half > 0; half /= 2) {
        const __m512i before = _mm512_or_si512(row, SPLAT(half - 1));
        const __m512i last = FN(nregisters) == 1 ? PERMUTE(before, lasts[0]) : PERMUTE2(lasts[0], before, lasts[FN(nregisters) - 1]);
        row = SELECT(row, BELOW(last, keys), _mm512_or_si512(row, SPLAT(half)));
    }
    return row;
}

/* How many of a row are below the key. */
TARGET ALWAYS_INLINE uint32_t FN(count_below)(const KEY *row, KEY key) {
    uint32_t n = 0;
    UNROLL for (uint32_t r = 0; r < FN(nregisters); r++) n +=
        (uint32_t)__builtin_popcount(BELOW(_mm512_load_si512(row + r * LANES), SPLAT(key)));
    return n;
}

TARGET static void FN(find_buckets)(int32_t *buckets, const void *keys, uint32_t n, const struct sort_image *image,
                                    const struct sort_splitters *splitters) {
    const KEY *const all = (const KEY *)(const void *)splitters->greatest, *const from = keys;
    __m512i lasts[FN(nregisters)];
    KEY images[FN(turn)], rows[FN(turn)];
    UNROLL for (uint32_t r = 0; r < FN(nregisters); r++) lasts[r] =
        _mm512_loadu_si512((const KEY *)(const void *)splitters->lasts + r * LANES);
    for (uint32_t at = 0; at < n; at += FN(turn)) {
        UNROLL for (uint32_t r = 0; r < 4; r++) {
            const __m512i v = FN(convert)(FN(load)(SPLAT(0), from + at, n - at, r), image);
            _mm512_storeu_si512(images + r * LANES, v);
            _mm512_storeu_si512(rows + r * LANES, FN(find_rows)(lasts, v));
        }
        UNROLLED for (uint32_t i = 0; i < FN(turn); i++) {
            const uint32_t begin = (uint32_t)rows[i] * FN(row);
            buckets[at + i] = (int32_t)(begin + FN(count_below)(all + begin, images[i]));
        }
    }
}

TARGET static void FN(take_splitters)(struct sort_splitters *splitters, const uint64_t greatest[SORT_SPLITTERS]) {
    KEY *const all = (KEY *)(void *)splitters->greatest, *const lasts = (KEY *)(void *)splitters->lasts;
    for (uint32_t d = 0; d < SORT_SPLITTERS; d++) all[d] = (KEY)greatest[d];
    for (uint32_t r = 0; r < SORT_SPLITTERS / FN(row); r++) lasts[r] = all[r * FN(row) + FN(row) - 1];
    splitters->find = FN(find_buckets);
}
