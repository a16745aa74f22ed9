/* keep_switch_tmpl.h: the kernels of one type that test a predicate: one switch on the comparison into copies of the loops mask_items,
 * filter_items and split_items, inlined, each with its comparison as a constant. Included by each_type.h after a file that defines those
 * loops. */
#ifndef UPSWEEP_KEEP_SWITCH_TMPL_H
#define UPSWEEP_KEEP_SWITCH_TMPL_H
enum keep_how { KEEP_MASK, KEEP_FILTER, KEEP_SPLIT };
#endif

/* out: bits, if those are wanted. */
ALWAYS_INLINE size_t NAME(keep_by)(upsweep_cmp cmp, enum keep_how how, T value, void *out, void *rest, const void *in, size_t n) {
    if (how == KEEP_FILTER) return NAME(filter_items)(cmp, out, in, value, n);
    if (how == KEEP_SPLIT) return NAME(split_items)(cmp, out, rest, in, value, n);
    NAME(mask_items)(cmp, in, value, n, out);
    return 0;
}

ALWAYS_INLINE size_t NAME(keep)(const upsweep_predicate *keep, enum keep_how how, void *out, void *rest, const void *in, size_t n) {
    const T value = NAME(value_of)(keep);
    switch (keep->cmp) {
    case UPSWEEP_EQ:
        return NAME(keep_by)(UPSWEEP_EQ, how, value, out, rest, in, n);
    case UPSWEEP_LT:
        return NAME(keep_by)(UPSWEEP_LT, how, value, out, rest, in, n);
    case UPSWEEP_LE:
        return NAME(keep_by)(UPSWEEP_LE, how, value, out, rest, in, n);
    case UPSWEEP_GT:
        return NAME(keep_by)(UPSWEEP_GT, how, value, out, rest, in, n);
    case UPSWEEP_GE:
        return NAME(keep_by)(UPSWEEP_GE, how, value, out, rest, in, n);
    case UPSWEEP_NOT_NAN:
        return NAME(keep_by)(UPSWEEP_NOT_NAN, how, value, out, rest, in, n);
    default:
        return NAME(keep_by)(UPSWEEP_NE, how, value, out, rest, in, n);
    }
}

static void NAME(mask)(const upsweep_predicate *keep, const void *in, size_t n, uint64_t *bits) {
    NAME(keep)(keep, KEEP_MASK, bits, NULL, in, n);
}

static size_t NAME(filter)(const upsweep_predicate *keep, void *out, const void *in, size_t n) {
    return NAME(keep)(keep, KEEP_FILTER, out, NULL, in, n);
}

static size_t NAME(split)(const upsweep_predicate *keep, void *out, void *rest, const void *in, size_t n) {
    return NAME(keep)(keep, KEEP_SPLIT, out, rest, in, n);
}
