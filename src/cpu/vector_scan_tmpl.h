/* vector_scan_tmpl.h: the scan loops of one type on vectors of VEC_NBYTES, for any instruction set. Before it, the set's own template has
 * defined for the type
 *
 *     vec                        a vector of its items
 *     vec_apply(op, a, b)        item by item
 *     vec_fill(x)                x in every item
 *     vec_prefix(op, x)          inclusive prefixes of the items of one vector, combined in the shape of kernels.h
 *     vec_last(x)                its last item in every item
 *     vec_push(first, x)         { first, x[0], x[1], ... }: x moved up by one; first is filled with one value
 *
 * and once load_vec, store_vec, end_stores, and, if it has masks (VEC_HAS_MASKS), load_first and store_first. Only the running value passes
 * from one vector to the next, through one vec_apply: the prefixes of the following vectors are under way meanwhile. */

enum { NAME(VEC_ITEMS) = VEC_NBYTES / NBYTES };

/* ---- exact scans ------------------------------------------------------------------------------------------------------------- */

ALWAYS_INLINE scan_carry NAME(scan_exact)(upsweep_op op, bool inclusive, bool stream, T *out, const T *in, size_t n, scan_carry carry) {
    const enum store_kind kind = store_kind_for(out, stream);
    const NAME(vec) neutral = NAME(vec_fill)(NAME(neutral)(op));
    NAME(vec) running = NAME(vec_fill)(NAME(unpack)(carry));
    size_t i = 0;
    for (; i + NAME(VEC_ITEMS) <= n; i += NAME(VEC_ITEMS)) {
        const NAME(vec) prefix = NAME(vec_prefix)(op, (NAME(vec))load_vec(in + i));
        const NAME(vec) local = inclusive ? prefix : NAME(vec_push)(neutral, prefix);
        store_vec(out + i, (raw_vec)NAME(vec_apply)(op, running, local), kind);
        running = NAME(vec_apply)(op, running, NAME(vec_last)(prefix));
    }
    end_stores(kind);
#ifdef VEC_HAS_MASKS
    if (i == n) return NAME(pack)(running[0]);
    const NAME(vec) prefix = NAME(vec_prefix)(op, (NAME(vec))load_first((raw_vec)neutral, in + i, (n - i) * NBYTES));
    const NAME(vec) local = inclusive ? prefix : NAME(vec_push)(neutral, prefix);
    store_first(out + i, (raw_vec)NAME(vec_apply)(op, running, local), (n - i) * NBYTES);
    return NAME(pack)(NAME(vec_apply)(op, running, NAME(vec_last)(prefix))[0]);
#else
    carry = NAME(pack)(running[0]);
    return i == n ? carry : kernels_portable.scan[NAME(TYPE)](op, inclusive, false, out + i, in + i, n - i, carry);
#endif
}

/* In order, since min and max of floats tell equal zeros apart by their places. Integers combine item by item first. */
ALWAYS_INLINE scan_carry NAME(reduce_exact)(upsweep_op op, const T *in, size_t n) {
    NAME(vec) sum = NAME(vec_fill)(NAME(neutral)(op));
    size_t i = 0;
    for (; i + NAME(VEC_ITEMS) <= n; i += NAME(VEC_ITEMS)) {
        const NAME(vec) x = (NAME(vec))load_vec(in + i);
        sum = NAME(vec_apply)(op, sum, FLOATING ? NAME(vec_last)(NAME(vec_prefix)(op, x)) : x);
    }
    T total = FLOATING ? sum[0] : NAME(vec_last)(NAME(vec_prefix)(op, sum))[0];
    for (; i < n; i++) total = NAME(apply)(op, total, in[i]);
    return NAME(pack)(total);
}

/* ---- rounded scans ----------------------------------------------------------------------------------------------------------- */

#if FLOATING
enum { NAME(TILE) = 64 / NBYTES, NAME(TILE_VECS) = 64 / VEC_NBYTES };

/* Loads a tile and makes prefixes of it; returns the last. */
ALWAYS_INLINE double NAME(tile_prefix)(upsweep_op op, const T *in, NAME(vec) * prefix) {
    prefix[0] = NAME(vec_prefix)(op, (NAME(vec))load_vec(in));
    if (NAME(TILE_VECS) == 2) {
        const NAME(vec) upper = NAME(vec_prefix)(op, (NAME(vec))load_vec(in + NAME(VEC_ITEMS)));
        prefix[NAME(TILE_VECS) - 1] = NAME(vec_apply)(op, NAME(vec_last)(prefix[0]), upper);
    }
    return (double)prefix[NAME(TILE_VECS) - 1][NAME(VEC_ITEMS) - 1];
}

ALWAYS_INLINE double NAME(scan_tile)(upsweep_op op, bool inclusive, enum store_kind kind, T *out, const T *in, double carry, double local) {
    NAME(vec) prefix[NAME(TILE_VECS)];
    const NAME(vec) base = NAME(vec_fill)((T)NAME(apply_rounded)(op, carry, local));
    const double aggregate = NAME(tile_prefix)(op, in, prefix);
    NAME(vec) before = NAME(vec_fill)(NAME(neutral)(op));
    for (int v = 0; v < NAME(TILE_VECS); v++) {
        const NAME(vec) x = inclusive ? prefix[v] : NAME(vec_push)(before, prefix[v]);
        store_vec(out + v * NAME(VEC_ITEMS), (raw_vec)NAME(vec_apply)(op, base, x), kind);
        if (NAME(TILE_VECS) == 2) before = NAME(vec_last)(prefix[v]);
    }
    return NAME(apply_rounded)(op, local, aggregate);
}

#ifdef VEC_HAS_MASKS
/* n < TILE items. */
ALWAYS_INLINE double NAME(scan_last_tile)(upsweep_op op, bool inclusive, T *out, const T *in, size_t n, double carry, double local) {
    const NAME(vec) neutral = NAME(vec_fill)(NAME(neutral)(op)), base = NAME(vec_fill)((T)NAME(apply_rounded)(op, carry, local));
    const NAME(vec) prefix = NAME(vec_prefix)(op, (NAME(vec))load_first((raw_vec)neutral, in, n * NBYTES));
    const NAME(vec) x = inclusive ? prefix : NAME(vec_push)(neutral, prefix);
    store_first(out, (raw_vec)NAME(vec_apply)(op, base, x), n * NBYTES);
    return NAME(apply_rounded)(op, local, (double)prefix[NAME(VEC_ITEMS) - 1]);
}
#endif

/* n <= TILE items, filled up with the neutral element. */
ALWAYS_INLINE void NAME(fill_tile)(upsweep_op op, T *tile, const T *in, size_t n) {
    for (size_t i = 0; i < NAME(TILE); i++) tile[i] = NAME(neutral)(op);
    memcpy(tile, in, n * sizeof *tile);
}

ALWAYS_INLINE scan_carry NAME(scan_rounded)(upsweep_op op, bool inclusive, bool stream, T *out, const T *in, size_t n, scan_carry bits) {
    const enum store_kind kind = store_kind_for(out, stream);
    const double carry = unpack_f64(bits);
    double local = (double)NAME(neutral)(op);
    size_t i = 0;
    for (; i + NAME(TILE) <= n; i += NAME(TILE)) local = NAME(scan_tile)(op, inclusive, kind, out + i, in + i, carry, local);
    end_stores(kind);
    if (i < n) {
#ifdef VEC_HAS_MASKS
        local = NAME(scan_last_tile)(op, inclusive, out + i, in + i, n - i, carry, local);
#else
        T tile[NAME(TILE)];
        NAME(fill_tile)(op, tile, in + i, n - i);
        local = NAME(scan_tile)(op, inclusive, STORE_PLAIN, tile, tile, carry, local);
        memcpy(out + i, tile, (n - i) * sizeof *out);
#endif
    }
    return pack_f64(NAME(apply_rounded)(op, carry, local));
}

ALWAYS_INLINE scan_carry NAME(reduce_rounded)(upsweep_op op, const T *in, size_t n) {
    NAME(vec) prefix[NAME(TILE_VECS)];
    double local = (double)NAME(neutral)(op);
    size_t i = 0;
    for (; i + NAME(TILE) <= n; i += NAME(TILE)) local = NAME(apply_rounded)(op, local, NAME(tile_prefix)(op, in + i, prefix));
    if (i < n) {
        T tile[NAME(TILE)];
        NAME(fill_tile)(op, tile, in + i, n - i);
        local = NAME(apply_rounded)(op, local, NAME(tile_prefix)(op, tile, prefix));
    }
    return pack_f64(local);
}
#endif
