/* sort_network_tmpl.h: the sorting network of sort_network.c for one width of key; that file names the instructions. */

/* Compares each lane with lane ^ x; `upper` has the lanes that keep the larger key: those with the highest bit of x. */
TARGET static inline __m512i FN(stage)(__m512i v, unsigned x, unsigned upper) {
    const __m512i partner = PERMUTE(_mm512_xor_si512(LANE_NUMBERS, SPLAT(x)), v);
    return MASK_MAX(MIN(v, partner), (MASK)upper, v, partner);
}

/* Sorts a bitonic register. */
TARGET static inline __m512i FN(clean)(__m512i v) {
    if (LANES == 16) v = FN(stage)(v, 8, 0xff00);
    v = FN(stage)(v, 4, 0xf0f0);
    v = FN(stage)(v, 2, 0xcccc);
    return FN(stage)(v, 1, 0xaaaa);
}

TARGET static inline __m512i FN(sort1)(__m512i v) {
    v = FN(stage)(v, 1, 0xaaaa);
    v = FN(stage)(v, 3, 0xcccc);
    v = FN(stage)(v, 1, 0xaaaa);
    v = FN(stage)(v, 7, 0xf0f0);
    v = FN(stage)(v, 2, 0xcccc);
    v = FN(stage)(v, 1, 0xaaaa);
    if (LANES == 8) return v;
    v = FN(stage)(v, 15, 0xff00);
    v = FN(stage)(v, 4, 0xf0f0);
    v = FN(stage)(v, 2, 0xcccc);
    return FN(stage)(v, 1, 0xaaaa);
}

TARGET static inline __m512i FN(reverse)(__m512i v) { return PERMUTE(_mm512_xor_si512(LANE_NUMBERS, SPLAT(LANES - 1)), v); }

TARGET static inline void FN(sort2)(__m512i v[2]) {
    const __m512i a = FN(sort1)(v[0]), b = FN(reverse)(FN(sort1)(v[1]));
    v[0] = FN(clean)(MIN(a, b));
    v[1] = FN(clean)(MAX(a, b));
}

TARGET static inline void FN(sort4)(__m512i v[4]) {
    FN(sort2)(v);
    FN(sort2)(v + 2);
    const __m512i d = FN(reverse)(v[3]), c = FN(reverse)(v[2]);
    const __m512i low0 = MIN(v[0], d), low1 = MIN(v[1], c), high0 = MAX(v[0], d), high1 = MAX(v[1], c);
    v[0] = FN(clean)(MIN(low0, low1));
    v[1] = FN(clean)(MAX(low0, low1));
    v[2] = FN(clean)(MIN(high0, high1));
    v[3] = FN(clean)(MAX(high0, high1));
}

/* The same expression both ways, but for where the sign is looked up (see struct sort_image). */
TARGET static inline __m512i FN(convert)(__m512i raw, const struct sort_image *image) {
    const __m512i negative = _mm512_and_si512(SIGNS(raw), SPLAT(image->when_negative));
    return _mm512_xor_si512(_mm512_xor_si512(raw, SPLAT(image->flip)), negative);
}

TARGET static inline __m512i FN(unconvert)(__m512i key, const struct sort_image *image) {
    const __m512i flipped = _mm512_xor_si512(key, SPLAT(image->flip));
    return _mm512_xor_si512(flipped, _mm512_and_si512(SIGNS(flipped), SPLAT(image->when_negative)));
}

/* The lanes of register r that hold some of n keys. */
TARGET static inline MASK FN(lanes_of)(uint32_t n, uint32_t r) { return LESS(LANE_NUMBERS, SPLAT((int32_t)(n - r * LANES))); }

/* What is not there sorts last. */
TARGET static inline __m512i FN(load)(const KEY *from, uint32_t n, uint32_t r) {
    return LOAD(SPLAT(-1), FN(lanes_of)(n, r), from + r * LANES);
}

TARGET static inline __m512i FN(load_raw)(const KEY *from, uint32_t n, uint32_t r, const struct sort_image *image) {
    const MASK lanes = FN(lanes_of)(n, r);
    return SELECT(SPLAT(-1), lanes, FN(convert)(LOAD(SPLAT(0), lanes, from + r * LANES), image));
}

TARGET static inline void FN(store)(KEY *to, uint32_t n, uint32_t r, __m512i v, const struct sort_image *image) {
    STORE(to + r * LANES, FN(lanes_of)(n, r), FN(unconvert)(v, image));
}

/* `from` has images, n of them. */
TARGET static void FN(sort_images)(KEY *to, const KEY *from, uint32_t n, const struct sort_image *image) {
    __m512i v[4] = {FN(load)(from, n, 0), FN(load)(from, n, 1), FN(load)(from, n, 2), FN(load)(from, n, 3)};
    FN(sort4)(v);
    for (uint32_t r = 0; r < 4; r++) FN(store)(to, n, r, v[r], image);
}

TARGET static void FN(sort_group)(void *to, const void *from, uint32_t n, const struct sort_image *image) {
    if (n <= 2 * LANES) {
        __m512i v[2] = {FN(load_raw)(from, n, 0, image), FN(load_raw)(from, n, 1, image)};
        FN(sort2)(v);
        FN(store)(to, n, 0, v[0], image);
        FN(store)(to, n, 1, v[1], image);
        return;
    }
    __m512i v[4] = {FN(load_raw)(from, n, 0, image), FN(load_raw)(from, n, 1, image), FN(load_raw)(from, n, 2, image),
                    FN(load_raw)(from, n, 3, image)};
    FN(sort4)(v);
    FN(store)(to, n, 0, v[0], image);
    FN(store)(to, n, 1, v[1], image);
    FN(store)(to, n, 2, v[2], image);
    FN(store)(to, n, 3, v[3], image);
}

/* ---- buckets ------------------------------------------------------------------------------------------------------------------ */

TARGET static inline void FN(order)(__m512i *a, __m512i *b) {
    const __m512i low = MIN(*a, *b);
    *b = MAX(*a, *b);
    *a = low;
}

/* Sorts the 16 keys of every lane: 60 comparators in 10 layers. */
TARGET static inline void FN(sort_columns)(__m512i v[16]) {
#define X(a, b) FN(order)(&v[a], &v[b]);
    SORT_COMPARATORS(X)
#undef X
}

enum { FN(nregisters) = 16 / LANES }; /* of a row */

/* Of LANES buckets that begin at bounds[0], bounds[1], ... */
TARGET static inline __m512i FN(lengths_of)(const uint32_t *bounds) { return SUBTRACT(LOAD_U32(bounds + 1), LOAD_U32(bounds)); }

/* Writes rows of 16 keys to where their buckets begin, in turn: what is too much of one is overwritten by the next. */
TARGET static inline void FN(store_rows)(KEY *to, const uint32_t *bounds, const __m512i rows[16], const struct sort_image *image) {
    UNROLL for (uint32_t i = 0; i < 16; i++)
        _mm512_storeu_si512(to + bounds[i / FN(nregisters)] + i % FN(nregisters) * LANES, FN(unconvert)(rows[i], image));
}

/* The same without a key too much, for the end of the array. (An empty store there may touch a page that is not ours, which costs an AMD
 * processor some hundred cycles.) */
TARGET static void FN(store_last_rows)(KEY *to, const uint32_t *bounds, const __m512i rows[16], const struct sort_image *image) {
    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t d = i / FN(nregisters), r = i % FN(nregisters), length = bounds[d + 1] - bounds[d];
        if (length > r * LANES) FN(store)(to + bounds[d], length, r, rows[i], image);
    }
}

/* Sorts those of LANES buckets that are longer than a row, in groups. */
TARGET static void FN(sort_long_buckets)(KEY *to, const KEY *from, const uint32_t *bounds, const struct sort_image *image) {
    for (uint32_t i = 0; i < LANES; i++) {
        const uint32_t length = bounds[i + 1] - bounds[i];
        if (length > SORT_NETWORK_KEYS && length <= 4 * LANES) FN(sort_images)(to + bounds[i], from + bounds[i], length, image);
    }
}

/* image: of which the compiler may know that there are no floats. */
TARGET ALWAYS_INLINE void FN(sort_buckets_as)(KEY *to, const KEY *from, const uint32_t *bounds, uint32_t nbuckets,
                                              const struct sort_image *image) {
    const uint32_t *const end = bounds + nbuckets, n = *end;
    for (; bounds < end; bounds += LANES) {
        if (bounds[LANES] == bounds[0]) continue;
        __m512i columns[16], rows[16];
        KEY lengths[LANES];
        _mm512_storeu_si512(lengths, FN(lengths_of)(bounds));
        UNROLL for (uint32_t i = 0; i < 16; i++) {
            const uint32_t d = i / FN(nregisters), r = i % FN(nregisters);
            const MASK lanes = LESS(LANE_NUMBERS, SPLAT(lengths[d] - r * LANES));
            rows[i] = LOAD(SPLAT(-1), lanes, from + bounds[d] + r * LANES);
        }
        const bool any_long = LESS(SPLAT(SORT_NETWORK_KEYS), FN(lengths_of)(bounds)) != 0;
        FN(columns)(columns, rows);
        FN(sort_columns)(columns);
        FN(rows)(rows, columns);
        if (bounds[LANES] + SORT_NETWORK_KEYS <= n)
            FN(store_rows)(to, bounds, rows, image);
        else
            FN(store_last_rows)(to, bounds, rows, image);
        if (any_long) FN(sort_long_buckets)(to, from, bounds, image);
    }
}

TARGET static void FN(sort_buckets)(void *to, const void *area, const uint32_t *bounds, uint32_t nbuckets, const struct sort_image *image) {
    const struct sort_image no_float = {image->flip, 0};
    if (image->when_negative == 0)
        FN(sort_buckets_as)(to, area, bounds, nbuckets, &no_float);
    else
        FN(sort_buckets_as)(to, area, bounds, nbuckets, image);
}

static const struct sort_vector FN(vector) = {FN(sort_group), FN(sort_buckets)};

#undef KEY
#undef FN
#undef MASK
#undef LANES
#undef SPLAT
#undef LOAD
#undef STORE
#undef SELECT
#undef MIN
#undef MASK_MAX
#undef MAX
#undef PERMUTE
#undef LANE_NUMBERS
#undef SIGNS
#undef LESS
#undef LOAD_U32
#undef SUBTRACT
