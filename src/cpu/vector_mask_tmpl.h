/* vector_mask_tmpl.h: the loops of the mask and filter kernels of one type on vectors: 64 items a word of bits, from
 * vec_keeps(cmp, x, value) of the instruction set, which returns a bit an item. Included by each_type.h. */

ALWAYS_INLINE uint64_t NAME(mask_word)(upsweep_cmp cmp, const T *in, NAME(vec) values) {
    uint64_t word = 0;
    for (int i = 0; i < 64; i += NAME(VEC_ITEMS)) word |= NAME(vec_keeps)(cmp, (NAME(vec))load_vec(in + i), values) << i;
    return word;
}

/* With masks n items, else the whole words of them. */
ALWAYS_INLINE void NAME(mask_items)(upsweep_cmp cmp, const T *in, T value, size_t n, uint64_t *bits) {
    const NAME(vec) values = NAME(vec_fill)(value);
    for (; n >= 64; n -= 64, in += 64) *bits++ = NAME(mask_word)(cmp, in, values);
#ifdef VEC_HAS_MASKS
    if (n == 0) return;
    uint64_t word = 0;
    for (size_t i = 0; i < n; i += NAME(VEC_ITEMS)) {
        const size_t here = n - i < NAME(VEC_ITEMS) ? n - i : NAME(VEC_ITEMS);
        const NAME(vec) x = (NAME(vec))load_first((raw_vec)values, in + i, here * NBYTES);
        word |= ((uint64_t)NAME(vec_keeps)(cmp, x, values) & first_bytes(here)) << i;
    }
    *bits = word;
#endif
}

#ifndef VEC_HAS_MASKS
static uint64_t NAME(mask_rest)(const upsweep_predicate *keep, const T *in, size_t n) {
    uint64_t word;
    kernels_portable.mask[NAME(TYPE)](keep, in, n, &word);
    return word;
}
#endif

/* With masks n items, else the whole words of them. */
ALWAYS_INLINE size_t NAME(filter_items)(upsweep_cmp cmp, T *out, const T *in, T value, size_t n) {
    const NAME(vec) values = NAME(vec_fill)(value);
    unsigned char *end = (unsigned char *)out;
    for (; n >= 64; n -= 64, in += 64) compress_word(NBYTES, &end, (const unsigned char *)in, NAME(mask_word)(cmp, in, values));
#ifdef VEC_HAS_MASKS
    for (size_t i = 0; i < n; i += NAME(VEC_ITEMS)) {
        const size_t here = n - i < NAME(VEC_ITEMS) ? n - i : NAME(VEC_ITEMS);
        const raw_vec x = load_first((raw_vec)values, in + i, here * NBYTES);
        const uint64_t mask = NAME(vec_keeps)(cmp, (NAME(vec))x, values) & (first_bytes(here));
        const size_t nbytes = NBYTES * (size_t)popcount_64(mask);
        store_first(end, compress_vec(NBYTES, x, mask), nbytes);
        end += nbytes;
    }
#endif
    return (size_t)(end - (unsigned char *)out) / NBYTES;
}

/* What filter_items has left of in [n]. */
ALWAYS_INLINE size_t NAME(filter_rest)(const upsweep_predicate *keep, T *out, const T *in, size_t n) {
#ifdef VEC_HAS_MASKS
    (void)keep, (void)out, (void)in, (void)n;
    return 0;
#else
    return n % 64 == 0 ? 0 : kernels_portable.filter[NAME(TYPE)](keep, out, in + n / 64 * 64, n % 64);
#endif
}
