/* sort_network_tmpl.h: the sorting network of sort_network.c for one width of key; the file that includes it names the instructions. WIDE:
 * keys of 4 or 8 bytes, for which there is more than networks. */

#define OF_IMAGES(v) (SIGN_BIT == 0 ? (v) : XOR(v, SPLAT(SIGN_BIT))) /* unsigned ones */
#define GREATEST     SPLAT(~SIGN_BIT)

/* Compares each lane with lane ^ x; those that have `bit`, the highest one of x, keep the larger key. Constants. */
TARGET ALWAYS_INLINE VEC FN(stage)(VEC v, uint32_t x, uint32_t bit) {
    const VEC partner = EXCHANGE(v, x);
    return MAX_WHERE(MIN(v, partner), bit, v, partner);
}

/* The first n lanes; none of the others is less. */
TARGET static inline VEC FN(sort1)(VEC v, uint32_t n) {
    v = FN(stage)(v, 1, 1);
    v = FN(stage)(v, 3, 2);
    v = FN(stage)(v, 1, 1);
    if (LANES == 4 || n <= 4) return v;
    v = FN(stage)(v, 7, 4);
    v = FN(stage)(v, 2, 2);
    v = FN(stage)(v, 1, 1);
    if (LANES == 8 || n <= 8) return v;
    v = FN(stage)(v, 15, 8);
    v = FN(stage)(v, 4, 4);
    v = FN(stage)(v, 2, 2);
    v = FN(stage)(v, 1, 1);
    if (LANES == 16 || n <= 16) return v;
    v = FN(stage)(v, 31, 16);
    v = FN(stage)(v, 8, 8);
    v = FN(stage)(v, 4, 4);
    v = FN(stage)(v, 2, 2);
    v = FN(stage)(v, 1, 1);
    if (LANES == 32 || n <= 32) return v;
    v = FN(stage)(v, 63, 32);
    v = FN(stage)(v, 16, 16);
    v = FN(stage)(v, 8, 8);
    v = FN(stage)(v, 4, 4);
    v = FN(stage)(v, 2, 2);
    return FN(stage)(v, 1, 1);
}

TARGET static inline void FN(order)(VEC *a, VEC *b) {
    const VEC low = MIN(*a, *b);
    *b = MAX(*a, *b);
    *a = low;
}

/* Registers `apart` from one another, in 2k of them. Constants. */
TARGET ALWAYS_INLINE void FN(order_apart)(VEC *v, uint32_t k, uint32_t apart) {
    UNROLL for (uint32_t i = 0; i < k; i++) {
        const uint32_t low = i / apart * 2 * apart + i % apart;
        FN(order)(&v[low], &v[low + apart]);
    }
}

/* Sorts the 16 keys of every lane: 60 comparators in 10 layers. */
TARGET ALWAYS_INLINE void FN(sort_columns)(VEC v[16]) {
#define X(a, b) FN(order)(&v[a], &v[b]);
    SORT_COMPARATORS(X)
#undef X
}

enum { FN(nregisters) = 16 / LANES }; /* that hold a column of 16 keys as a row */

/* Sorts the keys of every lane. */
TARGET ALWAYS_INLINE void FN(sort_lanes)(VEC *v, uint32_t nregisters) {
#define X(a, b) FN(order)(&v[a], &v[b]);
    if (nregisters == 2) X(0, 1)
    if (nregisters == 4) {
        SORT_COMPARATORS_4(X)
    }
    if (nregisters == 8) {
        SORT_COMPARATORS_8(X)
    }
#undef X
    if (nregisters == 16) FN(sort_columns)(v);
}

/* After pair_lanes() at all distances from a quarter of `lanes` down: every key to its lane. The lower keys of a group of lanes, which the
 * first register has, are the first half of either register's; of `lanes` twice a register, as they were. */
TARGET ALWAYS_INLINE void FN(put_back)(VEC *a, VEC *b, uint32_t lanes) {
#ifdef PERMUTE2 /* where they are by then: lane i of the first register at places[i], that of the second at places[i] ^ other */
    const uint32_t most = lanes / 4 * (uint32_t)sizeof(KEY);
    const uint32_t other = most >= 8 ? 16 : most >= 2 ? 4 : most == 1 ? 2 : sizeof(KEY); /* bytes */
    const VEC low = *a, places = lanes > LANES ? ORDERED : MERGED(lanes);
    *a = PERMUTE2(low, places, *b);
    *b = PERMUTE2(low, XOR(places, SPLAT(other / sizeof(KEY))), *b);
#else
    UNROLL for (uint32_t nbytes = sizeof(KEY); nbytes <= lanes / 4 * sizeof(KEY); nbytes *= 2) unpair_lanes(a, b, nbytes);
    if (lanes > LANES) return;
    const VEC low = *a;
    const uint32_t half = lanes / 2 * (uint32_t)sizeof(KEY);
    *a = upper_from(low, *b, half);
    *b = exchange_bytes(upper_from(*b, low, half), half);
#endif
}

/* All stages for keys up to a quarter of `lanes` apart in two registers, and every key back to its lane. Keys that are to be compared are
 * brought to the same lane of both, which moves others, too. Two shuffles and two comparisons a stage and a few instructions in the end;
 * each register compared with itself, shuffled, would be six a stage. */
TARGET ALWAYS_INLINE void FN(order_lanes)(VEC *a, VEC *b, uint32_t lanes) {
    const uint32_t most = lanes / 4 * (uint32_t)sizeof(KEY);
    UNROLL for (uint32_t nbytes = most; nbytes >= sizeof(KEY); nbytes /= 2) {
        pair_lanes(a, b, nbytes);
        FN(order)(a, b);
    }
    FN(put_back)(a, b, lanes);
}

/* Columns are sorted in groups of half as many lanes, a group one column after the other; now in groups of `lanes`. The first key of a
 * group is compared with its last one, the second with the last but one: in opposite registers, in opposite lanes. That leaves two bitonic
 * halves. */
TARGET ALWAYS_INLINE void FN(merge_columns)(VEC *v, uint32_t nregisters, uint32_t lanes) {
    UNROLL for (uint32_t r = 0; r < nregisters / 2; r++) {
        VEC *const a = &v[r], *const b = &v[nregisters - 1 - r];
        *b = EXCHANGE(*b, lanes - 1);
        FN(order)(a, b);
        FN(order_lanes)(a, b, lanes);
    }
    UNROLL for (uint32_t apart = nregisters / 2; apart > 0; apart /= 2) FN(order_apart)(v, nregisters / 2, apart);
}

/* Columns, one after the other, to rows: each round deals the lanes of two registers alternately. */
TARGET ALWAYS_INLINE void FN(deal_columns)(VEC *v, uint32_t nregisters) {
    UNROLL for (uint32_t round = nregisters; round > 1; round /= 2) {
        VEC dealt[16];
        UNROLL for (uint32_t r = 0; r < nregisters / 2; r++) {
            dealt[2 * r] = DEAL_LOW(v[r], v[r + nregisters / 2]);
            dealt[2 * r + 1] = DEAL_HIGH(v[r], v[r + nregisters / 2]);
        }
        UNROLL for (uint32_t r = 0; r < nregisters; r++) v[r] = dealt[r];
    }
}

/* Columns are merged where they stand, where most comparisons are of two registers, and need no shuffle; and turned round in the end. */
TARGET ALWAYS_INLINE void FN(sort_registers)(VEC *v, uint32_t nregisters) {
    FN(sort_lanes)(v, nregisters);
    UNROLL for (uint32_t lanes = 2; lanes <= LANES; lanes *= 2) FN(merge_columns)(v, nregisters, lanes);
#ifdef WIDE /* transposed with fewer instructions, or quicker ones */
    if (nregisters == 16) {
        VEC rows[16];
        FN(rows)(rows, v);
        UNROLL for (uint32_t r = 0; r < 16; r++) v[r] = rows[r];
        return;
    }
#endif
    FN(deal_columns)(v, nregisters);
}

/* The same expression both ways, but for where the sign is looked up (see struct sort_image). */
TARGET static inline VEC FN(convert)(VEC raw, const struct sort_image *image) {
    const VEC negative = AND(SIGNS(raw), SPLAT(image->when_negative));
    return XOR(XOR(raw, SPLAT(image->flip)), negative);
}

TARGET static inline VEC FN(unconvert)(VEC key, const struct sort_image *image) {
    const VEC flipped = XOR(key, SPLAT(image->flip));
    return XOR(flipped, AND(SIGNS(flipped), SPLAT(image->when_negative)));
}

/* The lanes of register r that hold some of n keys. */
TARGET static inline LANE_MASK FN(lanes_of)(uint32_t n, uint32_t r) { return LANES_BELOW(n, r * LANES); }

/* Register r of n keys, `rest` in the lanes that have none; and the other way. A branch where the processor is slow to mask stores. */
TARGET ALWAYS_INLINE VEC FN(load)(VEC rest, const KEY *from, uint32_t n, uint32_t r) {
#ifndef STORE
    if (n >= (r + 1) * LANES) return LOAD_ALL(from + r * LANES);
#endif
#ifdef LOAD
    return LOAD(rest, FN(lanes_of)(n, r), from + r * LANES);
#else
    if (n <= r * LANES) return rest;
    KEY keys[LANES];
    STORE_ALL(keys, rest);
    copy_few((uint8_t *)keys, (const uint8_t *)(from + r * LANES), (n - r * LANES) * sizeof(KEY));
    return LOAD_ALL(keys);
#endif
}

TARGET ALWAYS_INLINE void FN(store)(KEY *to, uint32_t n, uint32_t r, VEC v) {
#ifdef STORE
    STORE(to + r * LANES, FN(lanes_of)(n, r), v);
#else
    if (n >= (r + 1) * LANES)
        STORE_ALL(to + r * LANES, v);
    else if (n > r * LANES) {
        KEY keys[LANES];
        STORE_ALL(keys, v);
        copy_few((uint8_t *)(to + r * LANES), (const uint8_t *)keys, (n - r * LANES) * sizeof(KEY));
    }
#endif
}

/* The image of keys where they are compared with their signs. */
static inline struct sort_image FN(own_image)(const struct sort_image *image) {
    return (struct sort_image){image->flip ^ SIGN_BIT, image->when_negative};
}

/* Unsigned keys are their own images: a branch past all conversions costs less than these. */
static inline bool FN(are_own_images)(const struct sort_image *image) { return (image->flip | image->when_negative) == 0; }

/* n keys in nregisters registers, a constant; what is not there sorts last. */
TARGET ALWAYS_INLINE void FN(load_in)(VEC *v, const KEY *from, uint32_t n, const struct sort_image *image, bool are_images,
                                      uint32_t nregisters) {
    UNROLL for (uint32_t r = 0; r < nregisters; r++) v[r] = FN(load)(are_images ? SPLAT(-1) : GREATEST, from, n, r);
    if (are_images) {
        UNROLL for (uint32_t r = 0; r < nregisters; r++) v[r] = OF_IMAGES(v[r]);
    }
    if (are_images || FN(are_own_images)(image)) return;
    UNROLL for (uint32_t r = 0; r < nregisters; r++) v[r] = SELECT(GREATEST, FN(lanes_of)(n, r), FN(convert)(v[r], image));
}

/* To where the n keys go, those from register `first` on. */
TARGET ALWAYS_INLINE void FN(store_out)(KEY *to, uint32_t n, uint32_t first, VEC *v, const struct sort_image *image, uint32_t nregisters) {
    if (!FN(are_own_images)(image)) {
        UNROLL for (uint32_t r = 0; r < nregisters; r++) v[r] = FN(unconvert)(v[r], image);
    }
    UNROLL for (uint32_t r = 0; r < nregisters; r++) FN(store)(to, n, first + r, v[r]);
}

TARGET ALWAYS_INLINE void FN(sort_in)(KEY *to, const KEY *from, uint32_t n, const struct sort_image *image, bool are_images,
                                      uint32_t nregisters) {
    VEC v[16];
    FN(load_in)(v, from, n, image, are_images, nregisters);
    if (nregisters == 1)
        v[0] = FN(sort1)(v[0], n);
    else
        FN(sort_registers)(v, nregisters);
    FN(store_out)(to, n, 0, v, image, nregisters);
}

#include "sort_merge_tmpl.h"

TARGET ALWAYS_INLINE void FN(sort_few)(KEY *to, const KEY *from, uint32_t n, const struct sort_image *image, bool are_images) {
    if (n <= LANES)
        FN(sort_in)(to, from, n, image, are_images, 1);
    else if (n <= 2 * LANES)
        FN(sort_in)(to, from, n, image, are_images, 2);
    else if (n <= 4 * LANES)
        FN(sort_in)(to, from, n, image, are_images, 4);
    else if (n <= 8 * LANES)
        FN(sort_in)(to, from, n, image, are_images, 8);
    else if (n <= 16 * LANES)
        FN(sort_in)(to, from, n, image, are_images, 16);
    else
        FN(sort_blocks)(to, from, n, image, are_images);
}

TARGET static void FN(sort_group)(void *to, const void *from, uint32_t n, const struct sort_image *image) {
    const struct sort_image own = FN(own_image)(image);
    FN(sort_few)(to, from, n, &own, false);
}

#ifdef WIDE

TARGET static void FN(sort_images)(KEY *to, const KEY *from, uint32_t n, const struct sort_image *image) {
    FN(sort_few)(to, from, n, image, true);
}

#include "sort_buckets_tmpl.h"

#include "sort_part_tmpl.h"

#include "sort_few_tmpl.h"

#ifdef PERMUTE2
#include "sort_splitters_tmpl.h"
#endif

static const struct sort_vector FN(vector) = {
    .group = FN(sort_group),
    .slots = FN(sort_slots),
    .part = FN(part),
    .few = FN(sort_few_values),
#ifdef PERMUTE2
    .take_splitters = FN(take_splitters),
#endif
};

#endif

#undef KEY
#undef WIDE
#undef FN
#undef MASK
#undef LANE_MASK
#undef BITS
#undef GREATEST
#undef OF_IMAGES
#undef SIGN_BIT
#undef UNPACK_LOW
#undef UNPACK_HIGH
#undef MASK_MAX
#undef LANES
#undef SPLAT
#undef LOAD
#undef STORE
#undef SELECT
#undef MIN
#undef MAX
#undef PERMUTE
#undef PERMUTE2
#undef VECTOR
#undef SIGNS
#undef LANES_BELOW
#undef LESS
#undef LOAD_U8
#undef BELOW
#undef UNEQUAL
#undef LANE_NUMBERS
#undef ALTERNATE
#undef ORDERED
#undef MERGED
#undef ADD_ONE
#undef GROUP
#undef GROUP_KEYS
#undef GROUP_OF
#undef STORE_GROUP
#undef PERMUTE_GROUP
