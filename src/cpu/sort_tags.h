/* sort_tags.h: some pairs, or indices, by tags: a tag is a key and its place in one number. No two are equal, so that networks, which are
 * not stable (sort_network.c, of which this is a part), sort them stably; sorted, they say where each key and value comes from.
 *
 *     keys  7 3 9 3    tags  7.0 3.1 9.2 3.3  ->  3.1 3.3 7.0 9.2    places  1 3 0 2
 *
 * A tag has 32 bits, of which the place takes as many as it needs, 4 to 10; the others are the highest ones in which the keys differ. Keys
 * that agree in these are tied, and may be in the wrong order: keys of few values are equal, and are not. If some are, all are sorted
 * again, by where their tie begins and the next bits; a few among many are brought into order by insertion.
 *
 * Up to 64 keys all this is in registers, from the keys to items of 1, 2, 4 or 8 bytes, which are permuted as words of 4. More are in
 * arrays, but up to 128 items of 4 bytes are permuted in registers, too. Keys that rise are copied, those that fall are turned round: up to
 * 16 are sorted as quickly. Nothing needs scratch.
 *
 * Cost: that of a network of n keys of 4 bytes, an instruction for each 16 keys four times over, and one for 4 items that are permuted in
 * registers, or three for each other item that is moved. Pairs of i32: 16 take 31 ns, 32 39, 64 76, 256 400; of f64 with values of 4
 * bytes 35, 52, 92 and 450. What is bad for it are keys of 8 bytes whose highest set bits are anywhere, as random ones shifted by random
 * numbers: they are sorted three times. (Zen 4, 2026-11.) */
#include "target_avx512.h"

#include "sort_tag_items.h"

/* To insert more ties takes longer than to sort them again. (Zen 4, 2026-11.) */
enum { TAG_BITS = 32, FEW_TIES = 24 };

/* ---- images ------------------------------------------------------------------------------------------------------------------ */

/* Keys, and which of their bits make an image. */
struct tag_keys {
    const unsigned char *at;
    size_t nbytes;
    struct sort_image image;
    uint64_t bits;
};

ALWAYS_INLINE __m512i splat(size_t nbytes, uint64_t x) {
    return nbytes == 8 ? _mm512_set1_epi64((long long)x) : _mm512_set1_epi32((int)(uint32_t)x);
}

/* Only floats, of 4 or 8 bytes, have bits that a sign flips. */
ALWAYS_INLINE __m512i image_of(size_t nbytes, __m512i raw, const struct tag_keys *keys) {
    const __m512i flipped = _mm512_xor_si512(raw, splat(nbytes, keys->image.flip));
    const __m512i signs = nbytes == 8 ? _mm512_srai_epi64(raw, 63) : _mm512_srai_epi32(raw, 31);
    const __m512i negative = _mm512_and_si512(signs, splat(nbytes, keys->image.when_negative));
    return _mm512_and_si512(nbytes < 4 ? flipped : _mm512_xor_si512(flipped, negative), splat(nbytes, keys->bits));
}

/* Returns the bits in which images differ. */
ALWAYS_INLINE uint64_t find_images(size_t nbytes, struct tagged *t, struct tag_keys keys) {
    const uint32_t nregisters = nbytes == 8 ? 2 * t->nregisters : t->nregisters, lanes = nbytes == 8 ? 8 : 16;
    __m512i differ = _mm512_setzero_si512(), first = differ;
    UNROLL_8 for (uint32_t r = 0; r < nregisters; r++) {
        const __mmask16 there = lanes_of(t, nbytes, t->n, r);
        const __m512i v = image_of(nbytes, load_items(nbytes, there, keys.at + r * lanes * nbytes), &keys);
        if (r == 0)
            first = nbytes == 8 ? _mm512_broadcastq_epi64(_mm512_castsi512_si128(v)) : _mm512_broadcastd_epi32(_mm512_castsi512_si128(v));
        const __m512i apart = nbytes == 8 ? _mm512_maskz_xor_epi64((__mmask8)there, v, first) : _mm512_maskz_xor_epi32(there, v, first);
        differ = _mm512_or_si512(differ, apart);
        t->images[r] = v;
    }
    return nbytes == 8 ? (uint64_t)_mm512_reduce_or_epi64(differ) : (uint32_t)_mm512_reduce_or_epi32(differ);
}

ALWAYS_INLINE uint64_t find_images_of(struct tagged *t, struct tag_keys keys) {
    return t->image_nbytes == 8 ? find_images(8, t, keys)
           : keys.nbytes == 1   ? find_images(1, t, keys)
           : keys.nbytes == 2   ? find_images(2, t, keys)
                                : find_images(4, t, keys);
}

/* Register r of images, or of tags, from the second one on. */
ALWAYS_INLINE __m512i next_of(const struct tagged *t, size_t nbytes, const __m512i *v, uint32_t r, uint32_t nregisters) {
    if (!t->few) return _mm512_loadu_si512((const unsigned char *)&v[r] + nbytes);
    const __m512i after = r + 1 < nregisters ? v[r + 1] : v[r];
    return nbytes == 8 ? _mm512_alignr_epi64(after, v[r], 1) : _mm512_alignr_epi32(after, v[r], 1);
}

/* Is no image less than the one before it, or is each? If they are in no order the first vector tells. */
ALWAYS_INLINE enum sort_order order_of(const struct tagged *t, const __m512i *images) {
    const bool wide = t->image_nbytes == 8;
    const uint32_t nregisters = wide ? 2 * t->nregisters : t->nregisters;
    uint32_t all = 0; /* lanes fall, or none */
    UNROLL_8 for (uint32_t r = 0; r < nregisters; r++) {
        const __m512i v = images[r], next = next_of(t, t->image_nbytes, images, r, nregisters);
        const uint32_t there = lanes_of(t, t->image_nbytes, t->n - 1, r);
        const uint32_t falls = there & (wide ? _mm512_cmpgt_epu64_mask(v, next) : _mm512_cmpgt_epu32_mask(v, next));
        if (r == 0 && falls != 0) all = UINT32_MAX;
        if (falls != (there & all)) return SORT_MIXED;
    }
    return all == 0 ? SORT_ASCENDING : SORT_DESCENDING;
}

/* ---- tags -------------------------------------------------------------------------------------------------------------------- */

/* The bits below `top` of images, as many as have room, and the place below. */
ALWAYS_INLINE void make_tags(struct tagged *t, uint32_t top) {
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    const __m128i by = _mm_cvtsi32_si128(8 * (int)t->image_nbytes - (int)top);
    const __m512i *const v = t->images;
    UNROLL_8 for (uint32_t r = 0; r < t->nregisters; r++) {
        const __m512i high = t->image_nbytes == 4
                                 ? _mm512_sll_epi32(v[r], by)
                                 : _mm512_permutex2var_epi32(_mm512_sll_epi64(v[2 * r], by), odd, _mm512_sll_epi64(v[2 * r + 1], by));
        const __m512i places = _mm512_add_epi32(LANE_NUMBERS_U32, _mm512_set1_epi32((int)(r * TAG_LANES)));
        const __m512i tags = _mm512_ternarylogic_epi32(place_mask(t), places, high, 0xca); /* place_mask ? places : high */
        t->tags[r] = _mm512_mask_mov_epi32(_mm512_set1_epi32(-1), lanes_of(t, 4, t->n, r), tags);
    }
}

ALWAYS_INLINE void sort_tags(struct tagged *t) {
    const struct sort_image none = {0, 0};
    if (!t->few)
        sort_group_u32(t->tags, t->tags, TAG_LANES * t->nregisters, &none);
    else if (t->nregisters == 1)
        t->tags[0] = sort1_u32(t->tags[0], t->n);
    else
        sort_registers_u32(t->tags, t->nregisters);
}

/* Of the tags in register r, those that have the same bits of an image as the next one. */
ALWAYS_INLINE uint32_t ties_in(const struct tagged *t, uint32_t r) {
    const __m512i apart = _mm512_xor_si512(t->tags[r], next_of(t, 4, t->tags, r, t->nregisters));
    return _mm512_mask_cmple_epu32_mask(lanes_of(t, 4, t->n - 1, r), apart, place_mask(t));
}

ALWAYS_INLINE uint32_t count_ties(const struct tagged *t) {
    uint32_t nties = 0;
    UNROLL_8 for (uint32_t r = 0; r < t->nregisters; r++) nties += (uint32_t)_mm_popcnt_u32(ties_in(t, r));
    return nties;
}

/* ---- ties -------------------------------------------------------------------------------------------------------------------- */

static uint64_t image_at(const struct tagged *t, uint32_t place) {
    uint32_t narrow;
    uint64_t wide;
    if (t->image_nbytes == 8) return memcpy(&wide, (const unsigned char *)t->images + place * sizeof wide, sizeof wide), wide;
    return memcpy(&narrow, (const unsigned char *)t->images + place * sizeof narrow, sizeof narrow), narrow;
}

/* Each goes before those whose images are greater, which are of the same tie. */
NOT_INLINE void insert_ties(struct tagged t) {
    uint32_t *const tags = (uint32_t *)t.tags, place = (1u << t.place_bits) - 1;
    for (uint32_t r = 0; r < t.nregisters; r++)
        for (uint32_t ties = ties_in(&t, r); ties != 0; ties &= ties - 1) {
            uint32_t to = r * TAG_LANES + (uint32_t)__builtin_ctz(ties) + 1;
            const uint32_t tag = tags[to];
            const uint64_t image = image_at(&t, tag & place);
            for (; to > 0 && image_at(&t, tags[to - 1] & place) > image; to--) tags[to] = tags[to - 1];
            tags[to] = tag;
        }
}

/* Images in the order of tags. */
ALWAYS_INLINE void take_images(__m512i *sorted, const struct tagged *t) {
    if (t->few && t->image_nbytes == 8) {
        take_wide(sorted, t->images, t);
    } else if (t->few) {
        UNROLL_8 for (uint32_t r = 0; r < t->nregisters; r++) sorted[r] = take_words(t->images, t, r, t->nregisters);
    } else if (t->image_nbytes == 4 && t->n <= MOST_WORDS) {
        place_words(4, (unsigned char *)sorted, (const unsigned char *)t->images, t, MOST_WORDS / TAG_LANES);
    } else {
        uint16_t places[SORT_PLACES];
        find_places(places, t);
        place_items(sorted, t->images, places, t->n, t->image_nbytes);
    }
}

/* A tag becomes where its tie begins, the bits [low, top) of its image, and the place. */
ALWAYS_INLINE void make_tie_tags(struct tagged *t, const __m512i *sorted, uint32_t low, uint32_t top) {
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i up_to = _mm512_setr_epi32(1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 2047, 4095, 8191, 16383, 32767, 65535);
    const __m512i bits = _mm512_set1_epi32((int)(uint32_t)sort_low_bits(top - low));
    const __m128i by = _mm_cvtsi32_si128((int)low), above_place = _mm_cvtsi32_si128((int)t->place_bits);
    const __m128i above_image = _mm_cvtsi32_si128((int)(TAG_BITS - t->place_bits));
    __m512i before = _mm512_setzero_si512(), tie = before;
    UNROLL_8 for (uint32_t r = 0; r < t->nregisters; r++) {
        const __m512i tags = t->tags[r], apart = _mm512_xor_si512(tags, _mm512_alignr_epi32(tags, before, 15));
        const uint32_t begins = _mm512_cmpgt_epu32_mask(apart, place_mask(t)) | (r == 0);
        const __m512i begun = _mm512_and_si512(_mm512_set1_epi32((int)begins), up_to); /* of this register, the last bit counts */
        const __m512i here = _mm512_sub_epi32(_mm512_set1_epi32((int)(r * TAG_LANES + 31)), _mm512_lzcnt_epi32(begun));
        tie = _mm512_permutexvar_epi32(_mm512_set1_epi32(15), tie);
        tie = _mm512_mask_mov_epi32(tie, _mm512_test_epi32_mask(begun, begun), here);
        const __m512i words = t->image_nbytes == 4 ? _mm512_srl_epi32(sorted[r], by)
                                                   : _mm512_permutex2var_epi32(_mm512_srl_epi64(sorted[2 * r], by), even,
                                                                               _mm512_srl_epi64(sorted[2 * r + 1], by));
        const __m512i image =
            _mm512_or_si512(_mm512_sll_epi32(_mm512_and_si512(words, bits), above_place), _mm512_sll_epi32(tie, above_image));
        const __m512i made = _mm512_or_si512(image, _mm512_and_si512(tags, place_mask(t)));
        t->tags[r] = _mm512_mask_mov_epi32(_mm512_set1_epi32(-1), lanes_of(t, 4, t->n, r), made);
        before = tags;
    }
}

/* As long as tags are tied, and any of them in the wrong order, they are sorted by more bits of images: they have had those from top on. */
ALWAYS_INLINE void sort_ties(struct tagged *t, uint32_t nties, uint32_t top) {
    const uint32_t bits = TAG_BITS - 2 * t->place_bits;
    __m512i sorted[SORT_PLACES / 8 + 1];
    while (nties > 0) {
        if (!t->few && nties <= FEW_TIES) {
            insert_ties(*t);
            return;
        }
        take_images(sorted, t);
        if (order_of(t, sorted) == SORT_ASCENDING) return;
        const uint32_t low = top > bits ? top - bits : 0;
        make_tie_tags(t, sorted, low, top);
        sort_tags(t);
        top = low;
        nties = top > 0 ? count_ties(t) : 0;
    }
}

NOT_INLINE void sort_many_ties(struct tagged t, uint32_t nties, uint32_t top) { sort_ties(&t, nties, top); }

ALWAYS_INLINE void sort_ties_of(size_t image_nbytes, uint32_t nregisters, struct tagged *t, struct tag_keys keys, uint32_t top) {
    __m512i images[FEW_TAGS / 8], tags[FEW_TAGS / TAG_LANES];
    struct tagged own = {images, tags, image_nbytes, t->n, nregisters, t->place_bits, true};
    find_images_of(&own, keys);
    UNROLL_8 for (uint32_t r = 0; r < nregisters; r++) tags[r] = t->tags[r];
    sort_ties(&own, 1, top);
    UNROLL_8 for (uint32_t r = 0; r < nregisters; r++) t->tags[r] = tags[r];
}

/* Finds the images again, so that they are not kept in registers for the rare tie. */
NOT_INLINE void sort_few_ties(struct tagged t, struct tag_keys keys, uint32_t top) {
    if (t.image_nbytes == 8 && t.nregisters == 2)
        sort_ties_of(8, 2, &t, keys, top);
    else if (t.image_nbytes == 8)
        sort_ties_of(8, 4, &t, keys, top);
    else if (t.nregisters == 2)
        sort_ties_of(4, 2, &t, keys, top);
    else
        sort_ties_of(4, 4, &t, keys, top);
}

/* ---- sorts ------------------------------------------------------------------------------------------------------------------- */

NOT_INLINE void copy_run(const struct sort_args *args, size_t key_nbytes, bool falls) {
    const uint32_t n = (uint32_t)args->n;
    uint16_t places[SORT_PLACES];
    if (!falls && args->keys_out != NULL) {
        if (args->keys_out != args->keys_in) memcpy(args->keys_out, args->keys_in, n * key_nbytes);
        if (args->values_out != args->values_in) memcpy(args->values_out, args->values_in, n * args->value_nbytes);
        return;
    }
    for (uint32_t i = 0; i < n; i++) places[i] = (uint16_t)(falls ? n - 1 - i : i);
    if (args->keys_out != NULL) place_items(args->keys_out, args->keys_in, places, n, key_nbytes);
    if (args->values_in != NULL)
        place_items(args->values_out, args->values_in, places, n, args->value_nbytes);
    else
        sort_place_numbers(args->values_out, places, n, args->value_nbytes, SORT_FROM);
}

ALWAYS_INLINE void sort_tagged(struct tagged t, const struct sort_args *args, struct tag_keys keys) {
    const uint64_t differ = find_images_of(&t, keys);
    const enum sort_order order = t.nregisters == 1 ? SORT_MIXED : order_of(&t, t.images);
    if (order != SORT_MIXED) {
        copy_run(args, keys.nbytes, order == SORT_DESCENDING);
        return;
    }
    const uint32_t top = sort_bit_top(differ | 1), had = TAG_BITS - t.place_bits;
    make_tags(&t, top);
    sort_tags(&t);
    const uint32_t nties = top > had ? count_ties(&t) : 0;
    if (nties > 0) {
        if (!t.few) {
            sort_many_ties(t, nties, top - had);
        } else if (t.nregisters == 1) {
            sort_ties(&t, nties, top - had);
        } else {
            __m512i tags[FEW_TAGS / TAG_LANES]; /* so that t.tags may be registers */
            UNROLL_8 for (uint32_t r = 0; r < t.nregisters; r++) tags[r] = t.tags[r];
            sort_few_ties((struct tagged){NULL, tags, t.image_nbytes, t.n, t.nregisters, t.place_bits, true}, keys, top - had);
            UNROLL_8 for (uint32_t r = 0; r < t.nregisters; r++) t.tags[r] = tags[r];
        }
    }
    place_all(args, keys.nbytes, &t);
}

ALWAYS_INLINE struct tag_keys keys_of_call(const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    const uint64_t bits = sort_low_bits(args->hi_bit) & ~sort_low_bits(args->lo_bit);
    return (struct tag_keys){args->keys_in, key_nbytes, *image, bits};
}

ALWAYS_INLINE void sort_in(size_t image_nbytes, uint32_t nregisters, const struct sort_args *args, struct tag_keys keys) {
    __m512i images[FEW_TAGS / 8], tags[FEW_TAGS / TAG_LANES];
    const uint32_t place_bits = nregisters == 1 ? 4 : nregisters == 2 ? 5 : 6;
    sort_tagged((struct tagged){images, tags, image_nbytes, (uint32_t)args->n, nregisters, place_bits, true}, args, keys);
}

ALWAYS_INLINE void sort_few(size_t image_nbytes, const struct sort_args *args, struct tag_keys keys) {
    if (args->n <= TAG_LANES)
        sort_in(image_nbytes, 1, args, keys);
    else if (args->n <= 2 * TAG_LANES)
        sort_in(image_nbytes, 2, args, keys);
    else
        sort_in(image_nbytes, 4, args, keys);
}

ALWAYS_INLINE void sort_many(size_t image_nbytes, const struct sort_args *args, struct tag_keys keys) {
    __m512i images[SORT_PLACES / 8 + 1], tags[SORT_PLACES / TAG_LANES + 1]; /* one more: see next_of() */
    const uint32_t n = (uint32_t)args->n, nregisters = (n + TAG_LANES - 1) / TAG_LANES;
    sort_tagged((struct tagged){images, tags, image_nbytes, n, nregisters, sort_bit_top(n - 1), false}, args, keys);
}

NOT_INLINE bool sort_few_4(const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    return sort_few(4, args, keys_of_call(args, image, key_nbytes)), true;
}

NOT_INLINE bool sort_few_8(const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    return sort_few(8, args, keys_of_call(args, image, key_nbytes)), true;
}

NOT_INLINE bool sort_many_4(const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    return sort_many(4, args, keys_of_call(args, image, key_nbytes)), true;
}

NOT_INLINE bool sort_many_8(const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    return sort_many(8, args, keys_of_call(args, image, key_nbytes)), true;
}

#include "target_end.h"

/* Itself for any processor. */
bool sort_by_tags(enum cpu_isa isa, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    if (isa == CPU_AVX2) return sort_by_tags_avx2(args, image, key_nbytes);
    if (isa < CPU_AVX512 || args->n < 2 || args->n > SORT_PLACES || args->value_nbytes > SORT_PLACED_VALUE_NBYTES) return false;
    if (key_nbytes == 8) return args->n <= FEW_TAGS ? sort_few_8(args, image, 8) : sort_many_8(args, image, 8);
    return args->n <= FEW_TAGS ? sort_few_4(args, image, key_nbytes) : sort_many_4(args, image, key_nbytes);
}
