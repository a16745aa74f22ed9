/* sort_network_tmpl.h: the sorting network of sort_network.c for one width of key; that file names the instructions. WIDE: keys of 4 or 8
 * bytes, for which there is more than networks. */

/* Compares each lane with lane ^ x; those that have `bit`, the highest one of x, keep the larger key. Constants. */
TARGET ALWAYS_INLINE __m512i FN(stage)(__m512i v, uint32_t x, uint32_t bit) {
    const __m512i partner = PERMUTE(_mm512_xor_si512(LANE_NUMBERS, SPLAT(x)), v);
    return MASK_MAX(MIN(v, partner), (MASK)(UINT64_MAX / ((UINT64_C(1) << bit) + 1) << bit), v, partner);
}

/* The first n lanes; none of the others is less. */
TARGET static inline __m512i FN(sort1)(__m512i v, uint32_t n) {
    v = FN(stage)(v, 1, 1);
    v = FN(stage)(v, 3, 2);
    v = FN(stage)(v, 1, 1);
    if (n <= 4) return v;
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

TARGET static inline void FN(order)(__m512i *a, __m512i *b) {
    const __m512i low = MIN(*a, *b);
    *b = MAX(*a, *b);
    *a = low;
}

/* Registers `apart` from one another, in 2k of them. Constants. */
TARGET ALWAYS_INLINE void FN(order_apart)(__m512i *v, uint32_t k, uint32_t apart) {
    UNROLL for (uint32_t i = 0; i < k; i++) {
        const uint32_t low = i / apart * 2 * apart + i % apart;
        FN(order)(&v[low], &v[low + apart]);
    }
}

/* Sorts the 16 keys of every lane: 60 comparators in 10 layers. */
TARGET ALWAYS_INLINE void FN(sort_columns)(__m512i v[16]) {
#define X(a, b) FN(order)(&v[a], &v[b]);
    SORT_COMPARATORS(X)
#undef X
}

enum { FN(nregisters) = 16 / LANES }; /* that hold a column of 16 keys as a row */

/* Sorts the keys of every lane. */
TARGET ALWAYS_INLINE void FN(sort_lanes)(__m512i *v, uint32_t nregisters) {
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

/* Brings keys that lie nbytes apart in the same register, of two, to the same lane of both, and orders them. Others than the lowest
 * of them move, too: see order_lanes(). */
TARGET ALWAYS_INLINE void FN(order_within)(__m512i *a, __m512i *b, uint32_t nbytes) {
    const __m512i x = *a, y = *b;
    *a = nbytes == 32   ? _mm512_shuffle_i64x2(x, y, 0x44)
         : nbytes == 16 ? _mm512_shuffle_i64x2(x, y, 0x88)
         : nbytes == 8  ? _mm512_unpacklo_epi64(x, y)
         : nbytes == 4  ? SHUFFLE_WORDS(x, y, 0x88)
         : nbytes == 2  ? _mm512_mask_mov_epi16(x, 0xaaaaaaaa, y)
                        : _mm512_mask_mov_epi8(x, 0xaaaaaaaaaaaaaaaa, y);
    *b = nbytes == 32   ? _mm512_shuffle_i64x2(x, y, 0xee)
         : nbytes == 16 ? _mm512_shuffle_i64x2(x, y, 0xdd)
         : nbytes == 8  ? _mm512_unpackhi_epi64(x, y)
         : nbytes == 4  ? SHUFFLE_WORDS(x, y, 0xdd)
         : nbytes == 2  ? _mm512_shrdi_epi32(x, y, 16)
                        : _mm512_shrdi_epi16(x, y, 8);
    FN(order)(a, b);
}

/* All stages for keys up to nbytes apart in two registers, and every key back to its lane. Where it is by then, the shuffles say: lane i
 * of the first register at places[i], that of the second at places[i] ^ other. Two shuffles and two comparisons a stage and four
 * instructions in the end; each register compared with itself, shuffled, would be six a stage. */
TARGET ALWAYS_INLINE void FN(order_lanes)(__m512i *a, __m512i *b, uint32_t nbytes, __m512i places) {
    const uint32_t other = nbytes >= 8 ? 16 : nbytes >= 2 ? 4 : nbytes == 1 ? 2 : sizeof(KEY); /* bytes */
    UNROLL for (; nbytes >= sizeof(KEY); nbytes /= 2) FN(order_within)(a, b, nbytes);
    const __m512i low = *a;
    *a = PERMUTE2(low, places, *b);
    *b = PERMUTE2(low, _mm512_xor_si512(places, SPLAT(other / sizeof(KEY))), *b);
}

/* Columns are sorted in groups of half as many lanes, a group one column after the other; now in groups of `lanes`. The first key of a
 * group is compared with its last one, the second with the last but one: in opposite registers, in opposite lanes. That leaves two bitonic
 * halves. */
TARGET ALWAYS_INLINE void FN(merge_columns)(__m512i *v, uint32_t nregisters, uint32_t lanes) {
    const __m512i opposite = _mm512_xor_si512(LANE_NUMBERS, SPLAT(lanes - 1));
    UNROLL for (uint32_t r = 0; r < nregisters / 2; r++) {
        __m512i *const a = &v[r], *const b = &v[nregisters - 1 - r];
        *b = PERMUTE(opposite, *b);
        FN(order)(a, b);
        FN(order_lanes)(a, b, lanes / 4 * (uint32_t)sizeof(KEY), MERGED(lanes));
    }
    UNROLL for (uint32_t apart = nregisters / 2; apart > 0; apart /= 2) FN(order_apart)(v, nregisters / 2, apart);
}

/* Columns, one after the other, to rows: each round deals the lanes of two registers alternately. */
TARGET ALWAYS_INLINE void FN(deal_columns)(__m512i *v, uint32_t nregisters) {
    const __m512i low = ALTERNATE, high = _mm512_add_epi32(low, SPLAT(LANES / 2));
    UNROLL for (uint32_t round = nregisters; round > 1; round /= 2) {
        __m512i dealt[16];
        UNROLL for (uint32_t r = 0; r < nregisters / 2; r++) {
            dealt[2 * r] = PERMUTE2(v[r], low, v[r + nregisters / 2]);
            dealt[2 * r + 1] = PERMUTE2(v[r], high, v[r + nregisters / 2]);
        }
        UNROLL for (uint32_t r = 0; r < nregisters; r++) v[r] = dealt[r];
    }
}

/* Columns are merged where they stand, where most comparisons are of two registers, and need no shuffle; and turned round in the end. */
TARGET ALWAYS_INLINE void FN(sort_registers)(__m512i *v, uint32_t nregisters) {
    FN(sort_lanes)(v, nregisters);
    UNROLL for (uint32_t lanes = 2; lanes <= LANES; lanes *= 2) FN(merge_columns)(v, nregisters, lanes);
#ifdef WIDE /* transposed with fewer instructions, or quicker ones */
    if (nregisters == 16) {
        __m512i rows[16];
        FN(rows)(rows, v);
        UNROLL for (uint32_t r = 0; r < 16; r++) v[r] = rows[r];
        return;
    }
#endif
    FN(deal_columns)(v, nregisters);
}

/* The same expression both ways, but for where the sign is looked up (see struct sort_image). */
TARGET static inline __m512i FN(convert)(__m512i raw, const struct sort_image *image) {
    const __m512i negative = _mm512_and_si512(SIGNS(raw), SPLAT(image->when_negative));
    return _mm512_xor_si512(_mm512_xor_si512(raw, SPLAT(image->flip)), negative);
}

TARGET static inline __m512i FN(unconvert)(__m512i key, const struct sort_image *image) {
    const __m512i flipped = _mm512_xor_si512(key, SPLAT(image->flip));
    return _mm512_xor_si512(flipped, _mm512_and_si512(SIGNS(flipped), SPLAT(image->when_negative)));
}

/* The lanes of register r that hold some of n keys. */
TARGET static inline MASK FN(lanes_of)(uint32_t n, uint32_t r) { return LANES_BELOW(n, r * LANES); }

TARGET static inline void FN(store)(KEY *to, uint32_t n, uint32_t r, __m512i v, const struct sort_image *image) {
    STORE(to + r * LANES, FN(lanes_of)(n, r), FN(unconvert)(v, image));
}

/* Unsigned keys are their own images: a branch past all conversions costs less than these. */
static inline bool FN(are_own_images)(const struct sort_image *image) { return (image->flip | image->when_negative) == 0; }

/* n keys in nregisters registers, a constant; what is not there sorts last. */
TARGET ALWAYS_INLINE void FN(load_in)(__m512i *v, const KEY *from, uint32_t n, const struct sort_image *image, bool are_images,
                                      uint32_t nregisters) {
    UNROLL for (uint32_t r = 0; r < nregisters; r++) v[r] = LOAD(SPLAT(-1), FN(lanes_of)(n, r), from + r * LANES);
    if (are_images || FN(are_own_images)(image)) return;
    UNROLL for (uint32_t r = 0; r < nregisters; r++) v[r] = SELECT(SPLAT(-1), FN(lanes_of)(n, r), FN(convert)(v[r], image));
}

/* To where the n keys go, those from register `first` on. */
TARGET ALWAYS_INLINE void FN(store_out)(KEY *to, uint32_t n, uint32_t first, __m512i *v, const struct sort_image *image,
                                        uint32_t nregisters) {
    if (!FN(are_own_images)(image)) {
        UNROLL for (uint32_t r = 0; r < nregisters; r++) v[r] = FN(unconvert)(v[r], image);
    }
    UNROLL for (uint32_t r = 0; r < nregisters; r++) STORE(to + (first + r) * LANES, FN(lanes_of)(n, first + r), v[r]);
}

TARGET ALWAYS_INLINE void FN(sort_in)(KEY *to, const KEY *from, uint32_t n, const struct sort_image *image, bool are_images,
                                      uint32_t nregisters) {
    __m512i v[16];
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
    FN(sort_few)(to, from, n, image, false);
}

#ifdef WIDE

TARGET static void FN(sort_images)(KEY *to, const KEY *from, uint32_t n, const struct sort_image *image) {
    FN(sort_few)(to, from, n, image, true);
}

#include "sort_buckets_tmpl.h"

#include "sort_part_tmpl.h"

#include "sort_few_tmpl.h"

#include "sort_splitters_tmpl.h"

static const struct sort_vector FN(vector) = {FN(sort_group), FN(sort_slots), FN(part), FN(sort_few_values), FN(take_splitters)};

#endif

#undef KEY
#undef WIDE
#undef FN
#undef MASK
#undef LANES
#undef SPLAT
#undef LOAD
#undef STORE
#undef SELECT
#undef MIN
#undef MASK_MAX
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
#undef GROUP_OF
#undef STORE_GROUP
#undef PERMUTE_GROUP
