/* apply_tmpl.h: the operators and predicates of one type on single values, from op.h, as functions of a constant `op` or `cmp`:
 * once inlined, only the chosen case is left. Included by each_type.h. */

/* Rounded scans: those whose order of combination shows in the result. */
static inline bool NAME(is_rounded)(upsweep_op op) { return FLOATING && (op == UPSWEEP_ADD || op == UPSWEEP_MUL); }

static inline T NAME(apply)(upsweep_op op, T a, T b) {
    switch (op) {
    case UPSWEEP_ADD:
        return (T)APPLY_ADD(U, (U)a, (U)b);
    case UPSWEEP_MUL:
        return (T)APPLY_MUL(U, (U)a, (U)b);
    case UPSWEEP_MIN:
        return APPLY_MIN(T, a, b);
#if !FLOATING
    case UPSWEEP_AND:
        return (T)APPLY_AND(U, (U)a, (U)b);
    case UPSWEEP_OR:
        return (T)APPLY_OR(U, (U)a, (U)b);
    case UPSWEEP_XOR:
        return (T)APPLY_XOR(U, (U)a, (U)b);
#endif
    default:
        return APPLY_MAX(T, a, b);
    }
}

static inline T NAME(identity)(upsweep_op op) {
    switch (op) {
    case UPSWEEP_MUL:
        return IDENTITY_MUL(T, LOWEST, HIGHEST);
    case UPSWEEP_MIN:
        return IDENTITY_MIN(T, LOWEST, HIGHEST);
    case UPSWEEP_MAX:
        return IDENTITY_MAX(T, LOWEST, HIGHEST);
#if !FLOATING
    case UPSWEEP_AND:
        return (T)~IDENTITY_OR(U, 0, 0);
#endif
    default:
        return IDENTITY_ADD(T, LOWEST, HIGHEST);
    }
}

/* The identity where a scan starts is +0, as a serial sum's; but only -0 leaves every x as it is, and so fills up tiles. */
static inline T NAME(neutral)(upsweep_op op) { return FLOATING && op == UPSWEEP_ADD ? (T) - (T)0 : NAME(identity)(op); }

static inline double NAME(apply_rounded)(upsweep_op op, double a, double b) { return op == UPSWEEP_ADD ? a + b : a * b; }

/* ---- carries ----------------------------------------------------------------------------------------------------------------- */

static inline scan_carry NAME(pack)(T x) {
    scan_carry carry = 0;
    memcpy(&carry, &x, sizeof x);
    return carry;
}

static inline T NAME(unpack)(scan_carry carry) {
    T x;
    memcpy(&x, &carry, sizeof x);
    return x;
}

/* ---- predicates -------------------------------------------------------------------------------------------------------------- */

static inline bool NAME(keeps)(upsweep_cmp cmp, T x, T value) {
    switch (cmp) {
    case UPSWEEP_EQ:
        return x == value;
    case UPSWEEP_LT:
        return x < value;
    case UPSWEEP_LE:
        return x <= value;
    case UPSWEEP_GT:
        return x > value;
    case UPSWEEP_GE:
        return x >= value;
    case UPSWEEP_NOT_NAN:
        return !IS_NAN(x);
    default:
        return x != value; /* NE, NONZERO with the value 0 */
    }
}

static inline T NAME(value_of)(const upsweep_predicate *keep) { return keep->cmp == UPSWEEP_NONZERO ? (T)0 : (T)keep->value.VALUE; }
