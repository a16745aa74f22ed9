/* portable_tmpl.h: the loops of one type in plain C. Exact scans are the serial loop; rounded ones follow the shape of kernels.h.
 * Included by each_type.h. */

/* ---- carries ----------------------------------------------------------------------------------------------------------------- */

static scan_carry NAME(carry_identity)(upsweep_op op) {
    return NAME(is_rounded)(op) ? pack_f64((double)NAME(identity)(op)) : NAME(pack)(NAME(identity)(op));
}

static scan_carry NAME(carry_load)(upsweep_op op, const void *item) {
    T x;
    memcpy(&x, item, sizeof x);
    return NAME(is_rounded)(op) ? pack_f64((double)x) : NAME(pack)(x);
}

static scan_carry NAME(carry_combine)(upsweep_op op, scan_carry a, scan_carry b) {
    if (NAME(is_rounded)(op)) return pack_f64(NAME(apply_rounded)(op, unpack_f64(a), unpack_f64(b)));
    return NAME(pack)(NAME(apply)(op, NAME(unpack)(a), NAME(unpack)(b)));
}

static void NAME(carry_store)(upsweep_op op, void *item, scan_carry carry) {
    const T x = NAME(is_rounded)(op) ? (T)unpack_f64(carry) : NAME(unpack)(carry);
    memcpy(item, &x, sizeof x);
}

/* ---- exact scans ------------------------------------------------------------------------------------------------------------- */

ALWAYS_INLINE scan_carry NAME(scan_exact)(upsweep_op op, bool inclusive, bool stream, T *out, const T *in, size_t n, scan_carry carry) {
    T running = NAME(unpack)(carry);
    (void)stream;
    if (inclusive) {
        for (size_t i = 0; i < n; i++) out[i] = running = NAME(apply)(op, running, in[i]);
    } else {
        for (size_t i = 0; i < n; i++) {
            const T x = in[i]; /* before it is overwritten, if in place */
            out[i] = running;
            running = NAME(apply)(op, running, x);
        }
    }
    return NAME(pack)(running);
}

ALWAYS_INLINE scan_carry NAME(reduce_exact)(upsweep_op op, const T *in, size_t n) {
    T sum = in[0];
    for (size_t i = 1; i < n; i++) sum = NAME(apply)(op, sum, in[i]);
    return NAME(pack)(sum);
}

/* ---- rounded scans ----------------------------------------------------------------------------------------------------------- */

#if FLOATING
enum { NAME(LANE) = 16 / NBYTES, NAME(TILE) = 4 * NAME(LANE) };

/* The prefixes of a tile: p [TILE] in place, from the items. */
ALWAYS_INLINE void NAME(tile_prefix)(upsweep_op op, T *p) {
    for (int step = 1; step < NAME(LANE); step *= 2)
        for (int i = NAME(TILE) - 1; i >= step; i--) /* downwards: p[i - step] is still of the step before */
            if (i % NAME(LANE) >= step) p[i] = NAME(apply)(op, p[i - step], p[i]);
    for (int i = 0; i < NAME(LANE); i++) {
        p[NAME(LANE) + i] = NAME(apply)(op, p[NAME(LANE) - 1], p[NAME(LANE) + i]);
        p[3 * NAME(LANE) + i] = NAME(apply)(op, p[3 * NAME(LANE) - 1], p[3 * NAME(LANE) + i]);
    }
    for (int i = 2 * NAME(LANE); i < NAME(TILE); i++) p[i] = NAME(apply)(op, p[2 * NAME(LANE) - 1], p[i]);
}

/* n <= TILE items, filled up with the neutral element. */
ALWAYS_INLINE void NAME(tile_load)(upsweep_op op, T *p, const T *in, size_t n) {
    for (size_t i = n; i < NAME(TILE); i++) p[i] = NAME(neutral)(op);
    memcpy(p, in, n * sizeof *p);
}

ALWAYS_INLINE double NAME(scan_tile)(upsweep_op op, bool inclusive, T *out, const T *in, size_t n, double carry, double local) {
    const T base = (T)NAME(apply_rounded)(op, carry, local);
    T p[NAME(TILE)];
    NAME(tile_load)(op, p, in, n);
    NAME(tile_prefix)(op, p);
    if (!inclusive) out[0] = base;
    for (size_t i = inclusive ? 0 : 1; i < n; i++) out[i] = NAME(apply)(op, base, p[inclusive ? i : i - 1]);
    return NAME(apply_rounded)(op, local, p[NAME(TILE) - 1]);
}

ALWAYS_INLINE scan_carry NAME(scan_rounded)(upsweep_op op, bool inclusive, bool stream, T *out, const T *in, size_t n, scan_carry bits) {
    const double carry = unpack_f64(bits);
    double local = (double)NAME(neutral)(op);
    size_t i = 0;
    (void)stream;
    for (; i + NAME(TILE) <= n; i += NAME(TILE)) local = NAME(scan_tile)(op, inclusive, out + i, in + i, NAME(TILE), carry, local);
    if (i < n) local = NAME(scan_tile)(op, inclusive, out + i, in + i, n - i, carry, local);
    return pack_f64(NAME(apply_rounded)(op, carry, local));
}

ALWAYS_INLINE scan_carry NAME(reduce_rounded)(upsweep_op op, const T *in, size_t n) {
    double local = (double)NAME(neutral)(op);
    for (size_t i = 0; i < n; i += NAME(TILE)) {
        T p[NAME(TILE)];
        NAME(tile_load)(op, p, in + i, n - i < NAME(TILE) ? n - i : NAME(TILE));
        NAME(tile_prefix)(op, p);
        local = NAME(apply_rounded)(op, local, p[NAME(TILE) - 1]);
    }
    return pack_f64(local);
}
#endif

/* ---- predicates -------------------------------------------------------------------------------------------------------------- */

/* n < 64 items, bit by bit. Apart from whole words, whose loops gcc vectorises worse beside another. */
NOT_INLINE uint64_t NAME(mask_rest)(upsweep_cmp cmp, const T *in, T value, size_t n) {
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) word |= (uint64_t)NAME(keeps)(cmp, in[i], value) << i;
    return word;
}

/* 64 comparisons to bytes of 0 or 1, which compilers vectorise; then 8 bytes to 8 bits at a time by a multiplication that moves bit 0 of
 * byte k to bit 56 + k. */
ALWAYS_INLINE void NAME(mask_items)(upsweep_cmp cmp, const T *in, T value, size_t n, uint64_t *bits) {
    const size_t nwords = n / 64;
    for (size_t w = 0; w < nwords; w++, in += 64) {
        unsigned char kept[64];
        for (int i = 0; i < 64; i++) kept[i] = NAME(keeps)(cmp, in[i], value);
        bits[w] = 0;
        for (int k = 0; k < 8; k++) bits[w] |= (load_le64(kept + 8 * k) * 0x0102040810204080u >> 56) << (8 * k);
    }
    if (n % 64 != 0) bits[nwords] = NAME(mask_rest)(cmp, in, value, n % 64);
}

/* The next free place takes every item, and moves on if the item is kept: no branch to mispredict. */
ALWAYS_INLINE size_t NAME(filter_items)(upsweep_cmp cmp, T *out, const T *in, T value, size_t n) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const T x = in[i];
        out[kept] = x;
        kept += NAME(keeps)(cmp, x, value);
    }
    return kept;
}

ALWAYS_INLINE size_t NAME(split_items)(upsweep_cmp cmp, T *out, T *rest, const T *in, T value, size_t n) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const T x = in[i];
        out[kept] = x;
        rest[i - kept] = x;
        kept += NAME(keeps)(cmp, x, value);
    }
    return kept;
}
