/* sort_pairs_tmpl.h: stable sorting of small buckets of pairs by the network of sort_network.c, for one width of key and of value:
 *
 *   KEY, VALUE     uint32_t or uint64_t
 *   LANES          16 or 8, of KEY in a register
 *   FN(name)       name with a suffix for the two
 *   OF_KEY(name)   what sort_network_tmpl.h has for KEY
 *
 * What the network sorts are tags: a key, shifted left by four bits, and below it its place in the bucket. Tags differ, so that any order
 * of them is the stable one; the bits shifted out are no loss, since a bucket is what a digit of four bits or more has left together.
 * Sorted tags then say which key and which value goes where, within registers:
 *
 *        keys  7 2 7 4    tags  70 21 72 43  ->  21 43 70 72    keys  2 4 7 7
 *      values  a b c d                                         values b d a c
 *
 * Longer buckets, up to 1024 items, are sorted the same way with places of as many bits as there are items, and tags of 32 bits where they
 * have room, or 64. If they are all equal they are only copied. */

typedef struct FN(item) {
    KEY key;
    VALUE value;
} FN(item);

static inline KEY FN(raw_of)(KEY key, struct sort_image image) {
    const KEY flipped = (KEY)(key ^ (KEY)image.flip), negative = (KEY)(0u - (flipped >> (sizeof(KEY) * 8 - 1)));
    return (KEY)(flipped ^ (negative & (KEY)image.when_negative));
}

/* Items of a bucket, up to 16: of 8 bytes: keys, values; of 16 bytes, 64 bits each: keys, keys, values, values. */
typedef struct FN(bucket) {
    __m512i part[4];
} FN(bucket);

enum { FN(is_narrow) = sizeof(FN(item)) == 8, FN(nregisters) = 16 / LANES };

TARGET ALWAYS_INLINE void FN(load)(FN(bucket) * b, const FN(item) * from, uint32_t n) {
    const uint32_t mask = (uint32_t)((UINT64_C(1) << n * (sizeof *from / 8)) - 1);
    const uint64_t *const qwords = (const uint64_t *)(const void *)from;
    const __m512i v0 = _mm512_maskz_loadu_epi64((__mmask8)mask, qwords), v1 = _mm512_maskz_loadu_epi64((__mmask8)(mask >> 8), qwords + 8);
    if (FN(is_narrow)) {
        const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        b->part[0] = _mm512_permutex2var_epi32(v0, even, v1);
        b->part[1] = _mm512_permutex2var_epi32(v0, _mm512_add_epi32(even, _mm512_set1_epi32(1)), v1);
        return;
    }
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    const __m512i v2 = _mm512_maskz_loadu_epi64((__mmask8)(mask >> 16), qwords + 16);
    const __m512i v3 = _mm512_maskz_loadu_epi64((__mmask8)(mask >> 24), qwords + 24);
    b->part[0] = _mm512_permutex2var_epi64(v0, even, v1);
    b->part[1] = _mm512_permutex2var_epi64(v2, even, v3);
    b->part[2] = _mm512_permutex2var_epi64(v0, odd, v1);
    b->part[3] = _mm512_permutex2var_epi64(v2, odd, v3);
}

/* The tags of n items; what is not there sorts last. */
TARGET ALWAYS_INLINE void FN(make_tags)(__m512i *tags, const FN(bucket) * b, uint32_t n) {
    const uint32_t lanes = (1u << n) - 1;
    const __m512i none = _mm512_set1_epi32(-1);
    if (sizeof(KEY) == 4) {
        const __m512i keys = FN(is_narrow) ? b->part[0] : narrowed(b->part[0], b->part[1]);
        const __m512i places = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        tags[0] = _mm512_mask_or_epi32(none, (__mmask16)lanes, _mm512_slli_epi32(keys, 4), places);
        return;
    }
    const __m512i places = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    tags[0] = _mm512_mask_or_epi64(none, (__mmask8)lanes, _mm512_slli_epi64(b->part[0], 4), places);
    tags[1] = _mm512_mask_or_epi64(none, (__mmask8)(lanes >> 8), _mm512_slli_epi64(b->part[1], 4),
                                   _mm512_add_epi64(places, _mm512_set1_epi64(8)));
}

/* Keys and values as sorted tags say, keys raw, each in one register, or two. (A permutation heeds the lowest four bits.) */
TARGET ALWAYS_INLINE void FN(arrange)(__m512i keys[2], __m512i values[2], const FN(bucket) * b, const __m512i *tags,
                                      const struct sort_image *image) {
    if (FN(is_narrow)) {
        keys[0] = OF_KEY(unconvert)(_mm512_permutexvar_epi32(tags[0], b->part[0]), image);
        values[0] = _mm512_permutexvar_epi32(tags[0], b->part[1]);
        return;
    }
    const __m512i low = sizeof(KEY) == 8 ? tags[0] : _mm512_cvtepu32_epi64(_mm512_castsi512_si256(tags[0]));
    const __m512i high = sizeof(KEY) == 8 ? tags[FN(nregisters) - 1] : _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(tags[0], 1));
    keys[0] = _mm512_permutex2var_epi64(b->part[0], low, b->part[1]);
    keys[1] = _mm512_permutex2var_epi64(b->part[0], high, b->part[1]);
    values[0] = _mm512_permutex2var_epi64(b->part[2], low, b->part[3]);
    values[1] = _mm512_permutex2var_epi64(b->part[2], high, b->part[3]);
    if (sizeof(KEY) == 4) keys[0] = narrowed(keys[0], keys[1]);
    if (sizeof(VALUE) == 4) values[0] = narrowed(values[0], values[1]);
    keys[0] = OF_KEY(unconvert)(keys[0], image);
    if (sizeof(KEY) == 8) keys[1] = OF_KEY(unconvert)(keys[1], image);
}

/* Sorts n items that differ in the lowest `shift` bits of their keys by tags of 64 bits if they are `wide`, else of 32. A sorted tag also
 * has the key again, but for what all share. */
TARGET ALWAYS_INLINE void FN(sort_by_tags)(unsigned char *keys_to, unsigned char *values_to, const FN(item) * bucket, uint32_t n,
                                           uint32_t shift, struct sort_image image, bool wide) {
    const struct sort_image none = {0, 0};
    const uint32_t place_bits = 32 - (uint32_t)__builtin_clz(n - 1);
    const KEY low = (KEY)sort_low_bits(shift), high = (KEY)(bucket->key & ~low);
    union {
        uint32_t narrow[SORT_PAIRS_MAX];
        uint64_t wide[SORT_PAIRS_MAX];
    } tags;
    for (size_t i = 0; i < n; i++) {
        if (wide)
            tags.wide[i] = (uint64_t)bucket[i].key << place_bits | i;
        else
            tags.narrow[i] = (uint32_t)bucket[i].key << place_bits | (uint32_t)i;
    }
    if (wide)
        sort_images_u64(tags.wide, tags.wide, n, &none);
    else
        sort_images_u32(tags.narrow, tags.narrow, n, &none);
    for (size_t i = 0; i < n; i++) {
        const KEY raw = FN(raw_of)(high | ((KEY)((wide ? tags.wide[i] : tags.narrow[i]) >> place_bits) & low), image);
        memcpy(keys_to + i * sizeof raw, &raw, sizeof raw);
    }
    for (size_t i = 0; i < n; i++) {
        const VALUE value = bucket[(wide ? tags.wide[i] : tags.narrow[i]) & sort_low_bits(place_bits)].value;
        memcpy(values_to + i * sizeof value, &value, sizeof value);
    }
}

/* Equal keys. */
TARGET ALWAYS_INLINE void FN(copy_items)(unsigned char *keys_to, unsigned char *values_to, const FN(item) * bucket, uint32_t n,
                                         struct sort_image image) {
    const KEY raw = FN(raw_of)(bucket->key, image);
    for (size_t i = 0; i < n; i++) {
        memcpy(keys_to + i * sizeof raw, &raw, sizeof raw);
        memcpy(values_to + i * sizeof bucket[i].value, &bucket[i].value, sizeof bucket[i].value);
    }
}

/* Sorts those of LANES buckets that are longer than the network. Is one longer than sort_pairs_most(shift)? It stays as it is. */
TARGET NOT_INLINE bool FN(sort_long)(const struct sort_arrays *to, uint64_t begin, const FN(item) * from, const uint32_t *bounds,
                                     uint32_t are_long, uint32_t shift, const struct sort_image *image) {
    const uint32_t longest = sort_pairs_most(shift), narrow = shift < 32 ? sort_pairs_most(shift + 32) : 0;
    bool any_longer = false;
    for (; are_long != 0; are_long &= are_long - 1) {
        const uint32_t d = (uint32_t)__builtin_ctz(are_long), n = bounds[d + 1] - bounds[d];
        const FN(item) *const bucket = from + bounds[d];
        unsigned char *const keys_to = to->keys + (begin + bounds[d]) * sizeof(KEY);
        unsigned char *const values_to = to->values + (begin + bounds[d]) * sizeof(VALUE);
        KEY varying = 0;
        for (size_t i = 0; i < n; i++) varying |= bucket[i].key ^ bucket->key;
        any_longer |= varying != 0 && n > longest;
        if (varying == 0)
            FN(copy_items)(keys_to, values_to, bucket, n, *image);
        else if (n <= narrow)
            FN(sort_by_tags)(keys_to, values_to, bucket, n, shift, *image, false);
        else if (n <= longest)
            FN(sort_by_tags)(keys_to, values_to, bucket, n, shift, *image, true);
    }
    return any_longer;
}

/* Writes a row of 16 items. */
TARGET ALWAYS_INLINE void FN(store_row)(unsigned char *keys_to, unsigned char *values_to, const __m512i *keys, const __m512i *values) {
    _mm512_storeu_si512(keys_to, keys[0]);
    if (sizeof(KEY) == 8) _mm512_storeu_si512(keys_to + SORT_LINE_NBYTES, keys[1]);
    _mm512_storeu_si512(values_to, values[0]);
    if (sizeof(VALUE) == 8) _mm512_storeu_si512(values_to + SORT_LINE_NBYTES, values[1]);
}

/* Writes n of 16 things of item_nbytes, at the end of an array. */
TARGET ALWAYS_INLINE void FN(store_some)(unsigned char *to, const __m512i v[2], size_t item_nbytes, uint32_t n) {
    const uint32_t lanes = (1u << n) - 1;
    if (item_nbytes == 4) {
        _mm512_mask_storeu_epi32(to, (__mmask16)lanes, v[0]);
    } else {
        _mm512_mask_storeu_epi64(to, (__mmask8)lanes, v[0]);
        if (n > 8) _mm512_mask_storeu_epi64(to + SORT_LINE_NBYTES, (__mmask8)(lanes >> 8), v[1]);
    }
}

/* How many of a bucket's items the network sorts. */
static inline uint32_t FN(length_of)(const uint32_t *bounds, uint32_t d) {
    const uint32_t n = bounds[d + 1] - bounds[d];
    return n < SORT_NETWORK_KEYS ? n : SORT_NETWORK_KEYS;
}

/* Writes the buckets as their sorted tags say: a row of 16 items each, of which what is too much is overwritten by the next; at the end of
 * the leaf, not an item too much. */
TARGET ALWAYS_INLINE void FN(store_buckets)(const struct sort_arrays *to, uint64_t begin, const uint32_t *bounds,
                                            const FN(bucket) * buckets, const __m512i *tags, const struct sort_image *image, bool at_end) {
    UNROLL for (uint32_t d = 0; d < LANES; d++) {
        unsigned char *const keys_to = to->keys + (begin + bounds[d]) * sizeof(KEY);
        unsigned char *const values_to = to->values + (begin + bounds[d]) * sizeof(VALUE);
        const uint32_t n = FN(length_of)(bounds, d);
        __m512i keys[2], values[2];
        FN(arrange)(keys, values, &buckets[d], tags + d * FN(nregisters), image);
        if (!at_end) {
            FN(store_row)(keys_to, values_to, keys, values);
        } else if (n > 0) {
            FN(store_some)(keys_to, keys, sizeof(KEY), n);
            FN(store_some)(values_to, values, sizeof(VALUE), n);
        }
    }
}

/* image: of which the compiler may know that there are no floats. */
TARGET ALWAYS_INLINE bool FN(sort_buckets_as)(const struct sort_arrays *to, uint64_t begin, const FN(item) * from, const uint32_t *bounds,
                                              uint32_t nbuckets, uint32_t shift, const struct sort_image *image) {
    const uint32_t *const end = bounds + nbuckets, n = *end;
    const __mmask16 all = (__mmask16)((1u << LANES) - 1);
    bool any_longer = false;
    for (; bounds < end; bounds += LANES) {
        if (bounds[LANES] == bounds[0]) continue;
        FN(bucket) buckets[LANES];
        __m512i columns[16], rows[16];
        const __m512i begins = _mm512_maskz_loadu_epi32(all, bounds), ends = _mm512_maskz_loadu_epi32(all, bounds + 1);
        const __m512i length = _mm512_sub_epi32(ends, begins);
        const __mmask16 are_long = _mm512_cmpgt_epu32_mask(length, _mm512_set1_epi32(SORT_NETWORK_KEYS));
        if (are_long != _mm512_test_epi32_mask(length, length)) {
            UNROLL for (uint32_t d = 0; d < LANES; d++) {
                FN(load)(&buckets[d], from + bounds[d], FN(length_of)(bounds, d));
                FN(make_tags)(rows + d * FN(nregisters), &buckets[d], FN(length_of)(bounds, d));
            }
            OF_KEY(columns)(columns, rows);
            OF_KEY(sort_columns)(columns);
            OF_KEY(rows)(rows, columns);
            if (bounds[LANES] + SORT_NETWORK_KEYS <= n)
                FN(store_buckets)(to, begin, bounds, buckets, rows, image, false);
            else
                FN(store_buckets)(to, begin, bounds, buckets, rows, image, true);
        }
        if (are_long != 0) any_longer |= FN(sort_long)(to, begin, from, bounds, are_long, shift, image);
    }
    return any_longer;
}

TARGET static bool FN(sort_buckets)(const struct sort_arrays *to, uint64_t begin, const void *area, const uint32_t *bounds,
                                    uint32_t nbuckets, uint32_t shift, const struct sort_image *image) {
    const struct sort_image no_float = {image->flip, 0};
    const FN(item) *const from = area;
    return image->when_negative == 0 ? FN(sort_buckets_as)(to, begin, from, bounds, nbuckets, shift, &no_float)
                                     : FN(sort_buckets_as)(to, begin, from, bounds, nbuckets, shift, image);
}

#undef KEY
#undef VALUE
#undef LANES
#undef FN
#undef OF_KEY
