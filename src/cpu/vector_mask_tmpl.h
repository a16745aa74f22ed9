/* vector_mask_tmpl.h: the loops of the mask and filter kernels of one type on vectors: 64 items a word of bits. Before it, the instruction
 * set's own template has defined for the type
 *
 *     vec_keeps(cmp, x, value)       a bit an item of a vector
 *     few_keep(cmp, in, n, value)    the same of in [n], less than a vector; bits from n on are 0
 *
 * and once compact_1 ... compact_8 or, if it has masks (VEC_HAS_MASKS), compress_first. Included by each_type.h. */

ALWAYS_INLINE uint64_t NAME(mask_word)(upsweep_cmp cmp, const T *in, NAME(vec) values) {
    uint64_t word = 0;
    for (int i = 0; i < 64; i += NAME(VEC_ITEMS)) word |= NAME(vec_keeps)(cmp, (NAME(vec))load_vec(in + i), values) << i;
    return word;
}

/* n < 64 items. */
ALWAYS_INLINE uint64_t NAME(mask_rest)(upsweep_cmp cmp, const T *in, NAME(vec) values, size_t n) {
    uint64_t word = 0;
    size_t i = 0;
    for (; i + NAME(VEC_ITEMS) <= n; i += NAME(VEC_ITEMS)) word |= NAME(vec_keeps)(cmp, (NAME(vec))load_vec(in + i), values) << i;
    return i == n ? word : word | NAME(few_keep)(cmp, in + i, n - i, values) << i;
}

ALWAYS_INLINE void NAME(mask_items)(upsweep_cmp cmp, const T *in, T value, size_t n, uint64_t *bits) {
    const NAME(vec) values = NAME(vec_fill)(value);
    for (; n >= 64; n -= 64, in += 64) *bits++ = NAME(mask_word)(cmp, in, values);
    if (n > 0) *bits = NAME(mask_rest)(cmp, in, values, n);
}

ALWAYS_INLINE size_t NAME(filter_items)(upsweep_cmp cmp, T *out, const T *in, T value, size_t n) {
    const NAME(vec) values = NAME(vec_fill)(value);
    unsigned char *end = (unsigned char *)out;
    for (; n >= 64; n -= 64, in += 64) compress_word(NBYTES, &end, (const unsigned char *)in, NAME(mask_word)(cmp, in, values));
#ifdef VEC_HAS_MASKS
    for (size_t i = 0; i < n; i += NAME(VEC_ITEMS)) {
        const size_t here = n - i < NAME(VEC_ITEMS) ? n - i : NAME(VEC_ITEMS);
        const raw_vec x = load_first((raw_vec)values, in + i, here * NBYTES);
        compress_first(NBYTES, &end, x, NAME(vec_keeps)(cmp, (NAME(vec))x, values) & first_bytes(here));
    }
#else
    if (n > 0) {
        const uint64_t word = NAME(mask_rest)(cmp, in, values, n);
        end += NBYTES * EACH_TYPE_PASTE(compact_, NBYTES)(end, n, in, &word, n);
    }
#endif
    return (size_t)(end - (unsigned char *)out) / NBYTES;
}
