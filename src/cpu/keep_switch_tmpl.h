/* keep_switch_tmpl.h: the mask and filter kernels of one type: a switch on the comparison into copies of the loops mask_items and
 * filter_items, inlined, each with its comparison as a constant. Included by each_type.h after a file that defines those loops, and
 * mask_rest and filter_rest for what they leave. */

static void NAME(mask)(const upsweep_predicate *keep, const void *in, size_t n, uint64_t *bits) {
    const T *items = in, value = NAME(value_of)(keep);
    switch (keep->cmp) {
    case UPSWEEP_EQ:
        NAME(mask_items)(UPSWEEP_EQ, items, value, n, bits);
        break;
    case UPSWEEP_LT:
        NAME(mask_items)(UPSWEEP_LT, items, value, n, bits);
        break;
    case UPSWEEP_LE:
        NAME(mask_items)(UPSWEEP_LE, items, value, n, bits);
        break;
    case UPSWEEP_GT:
        NAME(mask_items)(UPSWEEP_GT, items, value, n, bits);
        break;
    case UPSWEEP_GE:
        NAME(mask_items)(UPSWEEP_GE, items, value, n, bits);
        break;
    case UPSWEEP_NOT_NAN:
        NAME(mask_items)(UPSWEEP_NOT_NAN, items, value, n, bits);
        break;
    default:
        NAME(mask_items)(UPSWEEP_NE, items, value, n, bits);
        break;
    }
#ifndef VEC_HAS_MASKS
    if (n % 64 != 0) bits[n / 64] = NAME(mask_rest)(keep, items + n / 64 * 64, n % 64);
#endif
}

ALWAYS_INLINE size_t NAME(filter_switch)(upsweep_cmp cmp, T *out, const T *in, T value, size_t n) {
    switch (cmp) {
    case UPSWEEP_EQ:
        return NAME(filter_items)(UPSWEEP_EQ, out, in, value, n);
    case UPSWEEP_LT:
        return NAME(filter_items)(UPSWEEP_LT, out, in, value, n);
    case UPSWEEP_LE:
        return NAME(filter_items)(UPSWEEP_LE, out, in, value, n);
    case UPSWEEP_GT:
        return NAME(filter_items)(UPSWEEP_GT, out, in, value, n);
    case UPSWEEP_GE:
        return NAME(filter_items)(UPSWEEP_GE, out, in, value, n);
    case UPSWEEP_NOT_NAN:
        return NAME(filter_items)(UPSWEEP_NOT_NAN, out, in, value, n);
    default:
        return NAME(filter_items)(UPSWEEP_NE, out, in, value, n);
    }
}

static size_t NAME(filter)(const upsweep_predicate *keep, void *out, const void *in, size_t n) {
    const size_t kept = NAME(filter_switch)(keep->cmp, out, in, NAME(value_of)(keep), n);
    return kept + NAME(filter_rest)(keep, (T *)out + kept, in, n);
}
