/* scan_switch_tmpl.h: the scan and reduce kernels of one type: one switch on the operator into copies of the loops scan_exact,
 * reduce_exact, scan_rounded and reduce_rounded, inlined, each with its operator as a constant. Included by each_type.h after a file that
 * defines those loops. */
#if !FLOATING
#define scan_rounded   scan_exact /* integers round nothing */
#define reduce_rounded reduce_exact
#endif

static scan_carry NAME(scan)(upsweep_op op, bool inclusive, bool stream, void *out, const void *in, size_t n, scan_carry carry) {
    switch (op) {
    case UPSWEEP_ADD:
        return NAME(scan_rounded)(UPSWEEP_ADD, inclusive, stream, out, in, n, carry);
    case UPSWEEP_MUL:
        return NAME(scan_rounded)(UPSWEEP_MUL, inclusive, stream, out, in, n, carry);
    case UPSWEEP_MIN:
        return NAME(scan_exact)(UPSWEEP_MIN, inclusive, stream, out, in, n, carry);
#if !FLOATING
    case UPSWEEP_AND:
        return NAME(scan_exact)(UPSWEEP_AND, inclusive, stream, out, in, n, carry);
    case UPSWEEP_OR:
        return NAME(scan_exact)(UPSWEEP_OR, inclusive, stream, out, in, n, carry);
    case UPSWEEP_XOR:
        return NAME(scan_exact)(UPSWEEP_XOR, inclusive, stream, out, in, n, carry);
#endif
    default:
        return NAME(scan_exact)(UPSWEEP_MAX, inclusive, stream, out, in, n, carry);
    }
}

static scan_carry NAME(reduce)(upsweep_op op, const void *in, size_t n) {
    switch (op) {
    case UPSWEEP_ADD:
        return NAME(reduce_rounded)(UPSWEEP_ADD, in, n);
    case UPSWEEP_MUL:
        return NAME(reduce_rounded)(UPSWEEP_MUL, in, n);
    case UPSWEEP_MIN:
        return NAME(reduce_exact)(UPSWEEP_MIN, in, n);
#if !FLOATING
    case UPSWEEP_AND:
        return NAME(reduce_exact)(UPSWEEP_AND, in, n);
    case UPSWEEP_OR:
        return NAME(reduce_exact)(UPSWEEP_OR, in, n);
    case UPSWEEP_XOR:
        return NAME(reduce_exact)(UPSWEEP_XOR, in, n);
#endif
    default:
        return NAME(reduce_exact)(UPSWEEP_MAX, in, n);
    }
}

#if !FLOATING
#undef scan_rounded
#undef reduce_rounded
#endif
