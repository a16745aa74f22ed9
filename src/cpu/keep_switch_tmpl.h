/* keep_switch_tmpl.h: the mask and filter kernels of one type: a switch on the comparison into copies of the loops mask_items and
 * filter_items, inlined, each with its comparison as a constant. Included by each_type.h after a file that defines those loops. */

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
}

static size_t NAME(filter)(const upsweep_predicate *keep, void *out, const void *in, size_t n) {
    const T value = NAME(value_of)(keep);
    switch (keep->cmp) {
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
