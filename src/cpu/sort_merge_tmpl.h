/* sort_merge_tmpl.h: groups of more keys than 16 registers hold, for one width of key: sorted in blocks by the network of
 * sort_network_tmpl.h, which includes this file, and merged by comparators that no key can steer (Batcher, 1968), in a room of the stack.
 *
 *     a  1 4 6 8        1 4 5 2     each key of one run with its opposite of the other: the lower half below the upper one,
 *     b  2 5 9 -   ->   8 6 9 -     both bitonic; then in each half keys half of it apart, and so on
 *
 * Keys that are missing at the end count as the greatest: all comparators point the same way, so that these never move, and registers of
 * nothing else are left out. Cost of a merge: 19 instructions a register, half of them for lanes of the same register; that is less than
 * an exchange of halves takes, whose parts would not be of a size that fills the network. */

enum { FN(block) = 16 * LANES }; /* keys */

TARGET static inline VEC FN(at)(const KEY *room, uint32_t r) { return LOAD_ALL(room + r * LANES); }
TARGET static inline void FN(put_at)(KEY *room, uint32_t r, VEC v) { STORE_ALL(room + r * LANES, v); }

/* The first stage for two runs of `run` registers, of which the first `end` have keys. */
TARGET ALWAYS_INLINE void FN(order_opposite)(KEY *room, uint32_t run, uint32_t end) {
    for (uint32_t r = run; r < end; r++) {
        const uint32_t s = 2 * run - 1 - r;
        const VEC a = FN(at)(room, s), b = EXCHANGE(FN(at)(room, r), LANES - 1);
        FN(put_at)(room, s, MIN(a, b));
        FN(put_at)(room, r, EXCHANGE(MAX(a, b), LANES - 1));
    }
}

/* Stages of whole blocks. */
TARGET ALWAYS_INLINE void FN(order_blocks)(KEY *room, uint32_t run, uint32_t end) {
    for (uint32_t apart = run / 2; apart >= 16; apart /= 2) {
        for (uint32_t i = 0; i + apart < end; i += i % apart == apart - 1 ? apart + 1 : 1) {
            const VEC a = FN(at)(room, i), b = FN(at)(room, i + apart);
            FN(put_at)(room, i, MIN(a, b));
            FN(put_at)(room, i + apart, MAX(a, b));
        }
    }
}

/* The other stages, within a block. */
TARGET ALWAYS_INLINE void FN(order_block)(VEC v[16], const KEY *room) {
    UNROLL for (uint32_t r = 0; r < 16; r++) v[r] = FN(at)(room, r);
    UNROLL for (uint32_t apart = 8; apart > 0; apart /= 2) FN(order_apart)(v, 8, apart);
    UNROLL for (uint32_t r = 0; r < 16; r += 2) FN(order_lanes)(&v[r], &v[r + 1], 2 * LANES);
}

/* Merges two runs in place. */
TARGET static void FN(merge)(KEY *room, uint32_t run, uint32_t end) {
    FN(order_opposite)(room, run, end);
    FN(order_blocks)(room, run, end);
    for (uint32_t first = 0; first < end; first += 16) {
        VEC v[16];
        FN(order_block)(v, room + first * LANES);
        UNROLL for (uint32_t r = 0; r < 16; r++) FN(put_at)(room, first + r, v[r]);
    }
}

/* The same, with the n keys, raw, to where they belong. */
TARGET static void FN(merge_out)(KEY *to, uint32_t n, KEY *room, uint32_t run, uint32_t end, const struct sort_image *image) {
    FN(order_opposite)(room, run, end);
    FN(order_blocks)(room, run, end);
    for (uint32_t first = 0; first < end; first += 16) {
        VEC v[16];
        FN(order_block)(v, room + first * LANES);
        FN(store_out)(to, n, first, v, image, 16);
    }
}

/* n keys, at most a block, and behind them the greatest there is. */
TARGET static void FN(sort_block)(KEY *room, const KEY *from, uint32_t n, const struct sort_image *image, bool are_images) {
    VEC v[16];
    FN(load_in)(v, from, n, image, are_images, 16);
    FN(sort_registers)(v, 16);
    UNROLL for (uint32_t r = 0; r < 16; r++) FN(put_at)(room, r, v[r]);
}

/* Sorts more keys than a block has. */
TARGET static void FN(sort_blocks)(KEY *to, const KEY *from, uint32_t n, const struct sort_image *image, bool are_images) {
    _Alignas(SORT_LINE_NBYTES) KEY room[SORT_GROUP_NBYTES / sizeof(KEY)];
    const uint32_t end = (n + LANES - 1) / LANES;
    for (uint32_t at = 0; at < n; at += FN(block)) {
        const uint32_t here = n - at < FN(block) ? n - at : FN(block);
        FN(sort_block)(room + at, from + at, here, image, are_images);
    }
    uint32_t run = 16;
    for (; 2 * run < end; run *= 2) {
        for (uint32_t r = 0; r + run < end; r += 2 * run) FN(merge)(room + r * LANES, run, end - r < 2 * run ? end - r : 2 * run);
    }
    FN(merge_out)(to, n, room, run, end, image);
}
