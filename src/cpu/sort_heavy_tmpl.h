/* sort_heavy_tmpl.h: keys that are there very often, apart from the others, for one width of key: a part of sort_heavy.c, which names the
 * instructions. */

/* Heavy keys of a sample, in no order; none if they are too few of it. A key that is there often is among the first. */
static void FN(find)(struct sort_heavy *heavy, const KEY *keys, uint64_t n, struct heaviness heaviness) {
    KEY sample[SAMPLE];
    uint32_t ntimes = 0;
    heavy->n = 0;
    for (uint32_t i = 0; i < SAMPLE; i++) sample[i] = keys[n / SAMPLE * i];
    for (uint32_t i = 0; i < heaviness.first; i++) {
        uint32_t equal = 0;
        for (uint32_t r = 0; r < SAMPLE / LANES; r++)
            equal |= (uint32_t)EQUAL(_mm512_loadu_si512(sample + r * LANES), SPLAT(sample[i])) << r * LANES % SAMPLE;
        const uint32_t times = (uint32_t)__builtin_popcount(equal);
        if (times < heaviness.least || (equal & ((1u << i) - 1)) != 0) continue; /* or it was met before */
        heavy->keys[heavy->n] = sample[i];
        heavy->times[heavy->n++] = 0;
        ntimes += times;
    }
    if (ntimes < heaviness.enough) heavy->n = 0;
}

/* Of `vectors` vectors at `from`, of which only `lanes` are of interest, all keys but the heavy ones to `to`: their end. exact: no more may
 * be written. */
ALWAYS_INLINE KEY *FN(take_turn)(struct sort_heavy *heavy, const __m512i *keys, KEY *to, const KEY *from, uint32_t vectors, MASK lanes,
                                 bool exact) {
    __m512i v[TURN];
    MASK any[TURN] = {0};
    for (uint32_t r = 0; r < vectors; r++) v[r] = exact ? LOAD(lanes, from) : _mm512_loadu_si512(from + r * LANES);
    for (uint32_t k = 0; k < heavy->n; k++) {
        uint32_t times = 0;
        for (uint32_t r = 0; r < vectors; r++) {
            const MASK equal = EQUAL(v[r], keys[k]) & lanes;
            times += (uint32_t)__builtin_popcount(equal);
            any[r] |= equal;
        }
        heavy->times[k] += times;
    }
    for (uint32_t r = 0; r < vectors; r++) {
        const MASK rest = (MASK)(lanes & ~any[r]);
        const uint32_t nrest = (uint32_t)__builtin_popcount(rest);
        if (exact)
            STORE(to, (MASK)((UINT64_C(1) << nrest) - 1), COMPRESS(rest, v[r]));
        else
            _mm512_storeu_si512(to, COMPRESS(rest, v[r])); /* no further than what has been read */
        to += nrest;
    }
    return to;
}

/* Keys [n] but the heavy ones to `to`, which may be `from`: how many they are. */
static uint64_t FN(take)(struct sort_heavy *heavy, KEY *to, const KEY *from, uint64_t n) {
    __m512i keys[SORT_HEAVY_MOST];
    KEY *end = to;
    uint64_t i = 0;
    for (uint32_t k = 0; k < heavy->n; k++) keys[k] = SPLAT(heavy->keys[k]);
    for (; i + TURN * LANES <= n; i += TURN * LANES) end = FN(take_turn)(heavy, keys, end, from + i, TURN, (MASK)-1, false);
    for (; i < n; i += LANES) {
        const MASK lanes = (MASK)(n - i < LANES ? (UINT64_C(1) << (n - i)) - 1 : UINT64_MAX);
        end = FN(take_turn)(heavy, keys, end, from + i, 1, lanes, true);
    }
    return (uint64_t)(end - to);
}

static KEY FN(image_of)(KEY raw, const struct sort_image *image) {
    const KEY negative = (KEY)(0 - (raw >> (8 * sizeof raw - 1)));
    return (KEY)(raw ^ image->flip ^ (negative & image->when_negative));
}

/* How many of the n keys, which are in order, are below an image. */
static uint64_t FN(count_below)(const KEY *keys, uint64_t n, KEY below, const struct sort_image *image) {
    const KEY *from = keys;
    for (; n > 0; n -= (n + 1) / 2) from += FN(image_of)(from[n / 2], image) < below ? (n + 1) / 2 : 0;
    return (uint64_t)(from - keys);
}

static void FN(fill)(KEY *to, uint64_t n, KEY key) {
    uint64_t i = 0;
    for (; i + LANES <= n; i += LANES) _mm512_storeu_si512(to + i, SPLAT(key));
    if (i < n) STORE(to + i, (MASK)((UINT64_C(1) << (n - i)) - 1), SPLAT(key));
}

/* Processors tell loads from stores by the lowest 12 bits of an address: a load a little above a store, but for a multiple of 4 KiB, waits
 * for it, which takes three times as long. So from the end, or, if that were a little below, as memmove() does. */
static void FN(move_up)(KEY *keys, uint64_t n, uint64_t by) {
    if (by * sizeof *keys % 4096 >= 2048) {
        memmove(keys + by, keys, (size_t)n * sizeof *keys);
        return;
    }
    for (; n >= LANES; n -= LANES) _mm512_storeu_si512(keys + by + n - LANES, _mm512_loadu_si512(keys + n - LANES));
    const MASK left = (MASK)((UINT64_C(1) << n) - 1);
    STORE(keys + by, left, LOAD(left, keys));
}

/* The others, in order, to their places among the heavy keys, which are put there. From the greatest down, as these make room. */
static void FN(put)(struct sort_heavy *heavy, KEY *to, uint64_t nrest, uint64_t n, const struct sort_image *image) {
    uint64_t end = n;
    for (uint32_t left = heavy->n; left > 0; left--) {
        uint32_t greatest = 0;
        for (uint32_t k = 1; k < left; k++) {
            if (FN(image_of)((KEY)heavy->keys[k], image) > FN(image_of)((KEY)heavy->keys[greatest], image)) greatest = k;
        }
        const KEY key = (KEY)heavy->keys[greatest];
        const uint64_t times = heavy->times[greatest], nbelow = FN(count_below)(to, nrest, FN(image_of)(key, image), image);
        heavy->keys[greatest] = heavy->keys[left - 1];
        heavy->times[greatest] = heavy->times[left - 1];
        end -= nrest - nbelow;
        FN(move_up)(to + nbelow, nrest - nbelow, end - nbelow);
        nrest = nbelow;
        end -= times;
        FN(fill)(to + end, times, key);
    }
}

#undef KEY
#undef FN
#undef MASK
#undef LANES
#undef SPLAT
#undef LOAD
#undef STORE
#undef EQUAL
#undef COMPRESS
