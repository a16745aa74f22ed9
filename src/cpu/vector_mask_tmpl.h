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
    for (; n >= NAME(VEC_ITEMS); n -= NAME(VEC_ITEMS), in += NAME(VEC_ITEMS)) {
        const raw_vec x = load_vec(in);
        compress_whole(NBYTES, &end, x, NAME(vec_keeps)(cmp, (NAME(vec))x, values));
    }
    if (n > 0) {
        const raw_vec x = load_first((raw_vec)values, in, n * NBYTES);
        compress_first(NBYTES, &end, x, NAME(vec_keeps)(cmp, (NAME(vec))x, values) & first_bytes(n));
    }
#else
    const uint64_t word = NAME(mask_rest)(cmp, in, values, n);
    end += NBYTES * EACH_TYPE_PASTE(compact_, NBYTES)(end, n, in, &word, n);
#endif
    return (size_t)(end - (unsigned char *)out) / NBYTES;
}

/* With masks each word of bits twice, for one side after the other; else some words, as loops of one side are quicker there (by 5 to 20 %,
 * AVX2 on Zen 4, 2026-11). The side that the items lie in is the last to be written. */
ALWAYS_INLINE size_t NAME(split_items)(upsweep_cmp cmp, T *out, T *rest, const T *in, T value, size_t n) {
    const bool kept_last = (uintptr_t)in - (uintptr_t)out < n * NBYTES;
    unsigned char *const start = (unsigned char *)(kept_last ? rest : out), *first = start,
                         *last = (unsigned char *)(kept_last ? out : rest);
#ifdef VEC_HAS_MASKS
    const NAME(vec) values = NAME(vec_fill)(value);
    const uint64_t inverted = kept_last ? ~UINT64_C(0) : 0, lanes = first_bytes(NAME(VEC_ITEMS));
    size_t left = n;
    for (; left >= 64; left -= 64, in += 64) {
        const uint64_t word = NAME(mask_word)(cmp, in, values) ^ inverted;
        compress_word(NBYTES, &first, (const unsigned char *)in, word);
        compress_word(NBYTES, &last, (const unsigned char *)in, ~word);
    }
    for (; left >= NAME(VEC_ITEMS); left -= NAME(VEC_ITEMS), in += NAME(VEC_ITEMS)) {
        const raw_vec x = load_vec(in);
        const uint64_t mask = (NAME(vec_keeps)(cmp, (NAME(vec))x, values) ^ inverted) & lanes;
        compress_whole(NBYTES, &first, x, mask);
        compress_whole(NBYTES, &last, x, mask ^ lanes);
    }
    if (left > 0) {
        const raw_vec x = load_first((raw_vec)values, in, left * NBYTES);
        const uint64_t mask = (NAME(vec_keeps)(cmp, (NAME(vec))x, values) ^ inverted) & first_bytes(left);
        compress_first(NBYTES, &first, x, mask);
        compress_first(NBYTES, &last, x, mask ^ first_bytes(left));
    }
#else
    _Static_assert(SPLIT_ITEMS % 64 == 0, "whole words of bits");
    uint64_t bits[SPLIT_ITEMS / 64];
    for (size_t i = 0; i < n; i += SPLIT_ITEMS) {
        const size_t here = n - i < SPLIT_ITEMS ? n - i : SPLIT_ITEMS;
        NAME(mask_items)(cmp, in + i, value, here, bits);
        if (kept_last) invert_bits(bits, here);
        first += NBYTES * EACH_TYPE_PASTE(compact_, NBYTES)(first, here, in + i, bits, here);
        invert_bits(bits, here);
        last += NBYTES * EACH_TYPE_PASTE(compact_, NBYTES)(last, here, in + i, bits, here);
    }
#endif
    const size_t nfirst = (size_t)(first - start) / NBYTES;
    return kept_last ? n - nfirst : nfirst;
}
