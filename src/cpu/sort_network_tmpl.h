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
static inline MASK FN(lanes_of)(uint32_t n, uint32_t r) {
    if (n <= r * LANES) return 0;
    return n >= (r + 1) * LANES ? (MASK)0xffff : (MASK)((1u << (n - r * LANES)) - 1);
}

/* What is not there sorts last. */
TARGET static inline __m512i FN(load)(const KEY *from, uint32_t n, uint32_t r, const struct sort_image *image) {
    const MASK lanes = FN(lanes_of)(n, r);
    return SELECT(SPLAT(-1), lanes, FN(convert)(LOAD(lanes, from + r * LANES), image));
}

TARGET static inline void FN(store)(KEY *to, uint32_t n, uint32_t r, __m512i v, const struct sort_image *image) {
    STORE(to + r * LANES, FN(lanes_of)(n, r), FN(unconvert)(v, image));
}

TARGET static void FN(sort_group)(void *to, const void *from, uint32_t n, const struct sort_image *image) {
    if (n <= 2 * LANES) {
        __m512i v[2] = {FN(load)(from, n, 0, image), FN(load)(from, n, 1, image)};
        FN(sort2)(v);
        FN(store)(to, n, 0, v[0], image);
        FN(store)(to, n, 1, v[1], image);
        return;
    }
    __m512i v[4] = {FN(load)(from, n, 0, image), FN(load)(from, n, 1, image), FN(load)(from, n, 2, image), FN(load)(from, n, 3, image)};
    FN(sort4)(v);
    FN(store)(to, n, 0, v[0], image);
    FN(store)(to, n, 1, v[1], image);
    FN(store)(to, n, 2, v[2], image);
    FN(store)(to, n, 3, v[3], image);
}

/* ---- columns ----------------------------------------------------------------------------------------------------------------- */

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

/* Writes the first keys of a bucket, as many as it has and at most 16; v[r] has those from r * LANES. */
TARGET static inline void FN(store_bucket)(KEY *to, const uint32_t *starts, uint32_t d, const __m512i *v, const struct sort_image *image) {
    const uint32_t n = starts[d + 1] - starts[d];
    FN(store)(to + starts[d], n, 0, v[0], image);
    if (LANES == 8 && n > LANES) FN(store)(to + starts[d], n, 1, v[1], image);
}

TARGET static void FN(sort_buckets)(void *to, const void *slots, const uint32_t *starts, uint32_t nbuckets,
                                    const struct sort_image *image) {
    for (uint32_t d = 0; d < nbuckets; d += LANES) {
        const KEY *block = (const KEY *)slots + d * 16;
        __m512i v[16], rows[16];
        UNROLL for (uint32_t i = 0; i < 16; i++) v[i] = _mm512_load_si512(block + i * LANES);
        FN(sort_columns)(v);
        FN(transpose)(rows, v);
        UNROLL for (uint32_t i = 0; i < LANES; i++) FN(store_bucket)(to, starts, d + i, rows + i * 16 / LANES, image);
    }
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
