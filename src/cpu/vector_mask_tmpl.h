/* vector_mask_tmpl.h: the mask and filter kernels of one type on vectors: 64 items a word of bits, from vec_keeps(cmp, x, value) of
 * the instruction set, which returns a bit an item. Included by each_type.h. */

ALWAYS_INLINE uint64_t NAME(mask_word)(upsweep_cmp cmp, const T *in, NAME(vec) values) {
    uint64_t word = 0;
    for (int i = 0; i < 64; i += NAME(VEC_ITEMS)) word |= NAME(vec_keeps)(cmp, (NAME(vec))load_vec(in + i), values) << i;
    return word;
}

ALWAYS_INLINE void NAME(mask_words)(upsweep_cmp cmp, const T *in, T value, size_t nwords, uint64_t *bits) {
    const NAME(vec) values = NAME(vec_fill)(value);
    for (size_t w = 0; w < nwords; w++, in += 64) {
        uint64_t word = 0;
        for (int i = 0; i < 64; i += NAME(VEC_ITEMS)) word |= NAME(vec_keeps)(cmp, (NAME(vec))load_vec(in + i), values) << i;
        bits[w] = word;
    }
}

static void NAME(mask)(const upsweep_predicate *keep, const void *in, size_t n, uint64_t *bits) {
    const T *items = in, value = NAME(value_of)(keep);
    const size_t nwords = n / 64;
    switch (keep->cmp) {
    case UPSWEEP_EQ:
        NAME(mask_words)(UPSWEEP_EQ, items, value, nwords, bits);
        break;
    case UPSWEEP_LT:
        NAME(mask_words)(UPSWEEP_LT, items, value, nwords, bits);
        break;
    case UPSWEEP_LE:
        NAME(mask_words)(UPSWEEP_LE, items, value, nwords, bits);
        break;
    case UPSWEEP_GT:
        NAME(mask_words)(UPSWEEP_GT, items, value, nwords, bits);
        break;
    case UPSWEEP_GE:
        NAME(mask_words)(UPSWEEP_GE, items, value, nwords, bits);
        break;
    case UPSWEEP_NOT_NAN:
        NAME(mask_words)(UPSWEEP_NOT_NAN, items, value, nwords, bits);
        break;
    default:
        NAME(mask_words)(UPSWEEP_NE, items, value, nwords, bits);
        break;
    }
    if (n % 64 != 0) kernels_portable.mask[NAME(TYPE)](keep, items + 64 * nwords, n % 64, bits + nwords);
}

/* With masks n items, else the whole words of them. */
ALWAYS_INLINE size_t NAME(filter_words)(upsweep_cmp cmp, T *out, const T *in, T value, size_t n) {
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

ALWAYS_INLINE size_t NAME(filter_switch)(upsweep_cmp cmp, T *out, const T *in, T value, size_t n) {
    switch (cmp) {
    case UPSWEEP_EQ:
        return NAME(filter_words)(UPSWEEP_EQ, out, in, value, n);
    case UPSWEEP_LT:
        return NAME(filter_words)(UPSWEEP_LT, out, in, value, n);
    case UPSWEEP_LE:
        return NAME(filter_words)(UPSWEEP_LE, out, in, value, n);
    case UPSWEEP_GT:
        return NAME(filter_words)(UPSWEEP_GT, out, in, value, n);
    case UPSWEEP_GE:
        return NAME(filter_words)(UPSWEEP_GE, out, in, value, n);
    case UPSWEEP_NOT_NAN:
        return NAME(filter_words)(UPSWEEP_NOT_NAN, out, in, value, n);
    default:
        return NAME(filter_words)(UPSWEEP_NE, out, in, value, n);
    }
}

static size_t NAME(filter)(const upsweep_predicate *keep, void *out, const void *in, size_t n) {
    const size_t kept = NAME(filter_switch)(keep->cmp, out, in, NAME(value_of)(keep), n);
#ifdef VEC_HAS_MASKS
    return kept;
#else
    const size_t whole = n / 64 * 64;
    const T *items = in;
    T *kept_items = out;
    return n == whole ? kept : kept + kernels_portable.filter[NAME(TYPE)](keep, kept_items + kept, items + whole, n - whole);
#endif
}
