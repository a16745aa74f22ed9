/* sort_tags.c: some pairs, or indices, by tags: a tag is a key and its place in one number. No two are equal, so that networks, which are
 * not stable (sort_network.c), sort them stably; sorted, they say where each key and value comes from.
 *
 *     keys  7 3 9 3    tags  7.0 3.1 9.2 3.3  ->  3.1 3.3 7.0 9.2    places  1 3 0 2
 *
 * A tag has 64 bits, of which the place takes the lowest eight, or 32 and nine of a key of one or two bytes. In one of a key of 8 bytes
 * there is room for it when the highest bits, in which all keys agree, are shifted out. Where that is not enough, their order may be wrong;
 * then they are sorted by their lower halves, and by their upper ones. That is rare.
 *
 * Cost: that of a network of n keys of 8 bytes, an instruction for each 8 keys six times over, and three for each item that is moved; keys
 * in order are copied. No other branch depends on a key but those two, and nothing needs scratch. 64 pairs of i32 take 154 ns, where their
 * ranks took 253; 256 take 644, where a digit and networks of tags within its buckets (sort_pairs_tmpl.h) took 846, and those of f64 2090.
 * (Zen 4, 2026-11.) */
#include "sort_places.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "target_avx512.h"

/* More wide keys go by digits, u32 as quickly. (Zen 4, 2026-11.) */
enum { LANES = 8, PLACE_BITS = 8, MOST_WIDE = 1 << PLACE_BITS, NARROW_PLACE_BITS = 9 };
_Static_assert(SORT_PLACES == 1 << NARROW_PLACE_BITS, "a place fits");

/* With room for whole vectors. Images are in their old order. */
struct tagged {
    _Alignas(SORT_LINE_NBYTES) uint64_t images[SORT_PLACES];
    uint16_t places[SORT_PLACES];                          /* of the sorted images */
    _Alignas(SORT_LINE_NBYTES) uint64_t tags[SORT_PLACES]; /* or half as wide ones */
};

static __mmask8 lanes_of(uint32_t n) { return n < LANES ? (__mmask8)((1u << n) - 1) : (__mmask8)-1; }

ALWAYS_INLINE __m512i load_keys(size_t nbytes, __mmask8 lanes, const void *keys) {
    return nbytes == 1   ? _mm512_cvtepu8_epi64(_mm_maskz_loadu_epi8(lanes, keys))
           : nbytes == 2 ? _mm512_cvtepu16_epi64(_mm_maskz_loadu_epi16(lanes, keys))
           : nbytes == 4 ? _mm512_cvtepu32_epi64(_mm256_maskz_loadu_epi32(lanes, keys))
                         : _mm512_maskz_loadu_epi64(lanes, keys);
}

/* Of n keys; returns the bits in which they differ, or, of narrow ones, for which there is room in any case, all. */
ALWAYS_INLINE uint64_t find_images(size_t nbytes, uint64_t *images, const void *keys, uint32_t n, const struct sort_image *image,
                                   uint64_t bits) {
    const __m512i sign = _mm512_set1_epi64((long long)(UINT64_C(1) << (8 * nbytes - 1)));
    const __m512i flip = _mm512_set1_epi64((long long)image->flip), negative = _mm512_set1_epi64((long long)image->when_negative);
    __m512i any = _mm512_setzero_si512(), all = _mm512_set1_epi64(-1);
    for (uint32_t i = 0; i < n; i += LANES) {
        const __mmask8 lanes = lanes_of(n - i);
        const __m512i raw = load_keys(nbytes, lanes, (const char *)keys + i * nbytes), flipped = _mm512_xor_si512(raw, flip);
        const __m512i turned = _mm512_mask_xor_epi64(flipped, _mm512_test_epi64_mask(raw, sign), flipped, negative);
        const __m512i v = _mm512_and_si512(turned, _mm512_set1_epi64((long long)bits));
        any = _mm512_mask_or_epi64(any, lanes, any, v);
        all = _mm512_mask_and_epi64(all, lanes, all, v);
        _mm512_store_si512(images + i, v);
    }
    if (nbytes < sizeof *images) return sort_low_bits(8 * (uint32_t)nbytes);
    return (uint64_t)_mm512_reduce_or_epi64(any) ^ (uint64_t)_mm512_reduce_and_epi64(all);
}

static uint64_t find_images_of(uint64_t *images, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    const uint64_t bits = sort_low_bits(args->hi_bit) & ~sort_low_bits(args->lo_bit);
    const uint32_t n = (uint32_t)args->n;
    if (key_nbytes == 1) return find_images(1, images, args->keys_in, n, image, bits);
    if (key_nbytes == 2) return find_images(2, images, args->keys_in, n, image, bits);
    if (key_nbytes == 4) return find_images(4, images, args->keys_in, n, image, bits);
    return find_images(8, images, args->keys_in, n, image, bits);
}

/* By what is left of the images when they have been shifted and have no more their lowest bits, where places are; by the upper half of that
 * alone if tags have but 4 bytes. */
ALWAYS_INLINE void sort_tags_of(size_t nbytes, struct tagged *t, uint32_t n, uint32_t shift, uint32_t lowest) {
    const struct sort_image none = {0, 0};
    const __m512i kept = _mm512_set1_epi64((long long)~sort_low_bits(lowest));
    const __m128i by = _mm_cvtsi32_si128((int)shift), place = _mm_set1_epi16((nbytes == 4 ? SORT_PLACES : MOST_WIDE) - 1);
    __m512i places = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i *const halves = (__m256i *)(void *)t->tags;
    for (uint32_t i = 0; i < n; i += LANES) {
        const __m512i v = _mm512_sll_epi64(_mm512_load_si512(t->images + i), by);
        const __m512i tags = _mm512_or_si512(_mm512_and_si512(nbytes == 4 ? _mm512_srli_epi64(v, 32) : v, kept), places);
        if (nbytes == 4)
            _mm256_store_si256(halves + i / LANES, _mm512_cvtepi64_epi32(tags));
        else
            _mm512_store_si512(t->tags + i, tags);
        places = _mm512_add_epi64(places, _mm512_set1_epi64(LANES));
    }
    sort_group_of(CPU_AVX512, nbytes)(t->tags, t->tags, n, &none);
    for (uint32_t i = 0; i < n; i += LANES) {
        const __m128i tags = nbytes == 4 ? _mm256_cvtepi32_epi16(halves[i / LANES]) : _mm512_cvtepi64_epi16(_mm512_load_si512(t->tags + i));
        _mm_storeu_si128((__m128i *)(void *)(t->places + i), _mm_and_si128(tags, place));
    }
}

static void sort_tags(struct tagged *t, uint32_t n, uint32_t shift, uint32_t lowest) { sort_tags_of(8, t, n, shift, lowest); }
static void sort_half_tags(struct tagged *t, uint32_t n, uint32_t shift) { sort_tags_of(4, t, n, shift, NARROW_PLACE_BITS); }

/* Images that agree in what their tags have of them. */
static bool are_ties_in_order(const struct tagged *t, uint32_t n) {
    const __m512i apart = _mm512_set1_epi64(1 << PLACE_BITS);
    for (uint32_t i = 0; i < n - 1; i += LANES) {
        const __mmask8 lanes = lanes_of(n - 1 - i);
        const __m512i v = _mm512_maskz_loadu_epi64(lanes, t->tags + i), next = _mm512_maskz_loadu_epi64(lanes, t->tags + i + 1);
        for (uint32_t ties = _mm512_mask_cmplt_epu64_mask(lanes, _mm512_xor_si512(v, next), apart); ties != 0; ties &= ties - 1) {
            const uint32_t k = i + (uint32_t)__builtin_ctz(ties);
            if (t->images[t->places[k]] > t->images[t->places[k + 1]]) return false;
        }
    }
    return true;
}

/* Of keys in no order this ends at once. */
static bool are_in_order(const uint64_t *images, uint32_t n) {
    for (uint32_t i = 0; i + 1 < n; i += LANES) {
        const __mmask8 lanes = lanes_of(n - 1 - i);
        const __m512i v = _mm512_load_si512(images + i), next = _mm512_maskz_loadu_epi64(lanes, images + i + 1);
        if (_mm512_mask_cmpgt_epu64_mask(lanes, v, next) != 0) return false;
    }
    return true;
}

static void sort_by_both_halves(struct tagged *t, uint32_t n) {
    uint64_t images[SORT_PLACES];
    uint16_t places[SORT_PLACES];
    sort_tags(t, n, 32, 32);
    memcpy(images, t->images, n * sizeof *images);
    memcpy(places, t->places, n * sizeof *places);
    for (uint32_t i = 0; i < n; i++) t->images[i] = images[places[i]];
    sort_tags(t, n, 0, 32);
    for (uint32_t i = 0; i < n; i++) t->places[i] = places[t->places[i]];
}

/* What is in order as it is. places: room. */
static void copy_all(const struct sort_args *args, size_t key_nbytes, uint16_t *places) {
    const uint32_t n = (uint32_t)args->n;
    if (args->values_in == NULL) {
        for (uint32_t i = 0; i < n; i++) places[i] = (uint16_t)i;
        sort_place_all(args, key_nbytes, places, SORT_FROM);
        return;
    }
    if (args->keys_out != args->keys_in) memcpy(args->keys_out, args->keys_in, n * key_nbytes);
    if (args->values_out != args->values_in) memcpy(args->values_out, args->values_in, n * args->value_nbytes);
}

bool sort_by_tags(enum cpu_isa isa, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    const uint32_t n = (uint32_t)args->n;
    struct tagged t;
    const uint64_t most = key_nbytes <= 2 ? SORT_PLACES : MOST_WIDE;
    if (isa < CPU_AVX512 || args->n < 2 || args->n > most || args->value_nbytes > SORT_PLACED_VALUE_NBYTES) return false;
    const uint64_t differ = find_images_of(t.images, args, image, key_nbytes);
    const uint32_t shift = differ == 0 ? 0 : 64 - sort_bit_top(differ);
    if (are_in_order(t.images, n)) {
        copy_all(args, key_nbytes, t.places);
        return true;
    }
    if (key_nbytes <= 2) {
        sort_half_tags(&t, n, shift);
    } else {
        sort_tags(&t, n, shift, PLACE_BITS);
        if (differ << shift << (64 - PLACE_BITS) != 0 && !are_ties_in_order(&t, n)) sort_by_both_halves(&t, n);
    }
    sort_place_all(args, key_nbytes, t.places, SORT_FROM);
    return true;
}

#include "target_end.h"

#else

bool sort_by_tags(enum cpu_isa isa, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    (void)isa, (void)args, (void)image, (void)key_nbytes;
    return false;
}

#endif
