/* sort_tags.c: some pairs, or indices, by tags: a tag is a key and its place in one number. No two are equal, so that networks, which are
 * not stable (sort_network.c), sort them stably; sorted, they say where each key and value comes from.
 *
 *     keys  7 3 9 3    tags  7.0 3.1 9.2 3.3  ->  3.1 3.3 7.0 9.2    places  1 3 0 2
 *
 * A tag has 32 bits, of which the place takes as many as it needs, 5 to 10; the others are the highest ones in which the keys differ. Keys
 * that agree in these are tied, and may be in the wrong order. A few of them are brought into theirs by insertion. If there are more, all
 * are looked at: keys of few values are equal, and in order. If not, they are sorted again, by the number of their tie and the next bits.
 *
 * Cost: that of a network of n keys of 4 bytes, an instruction for each 16 keys four times over, and three for each item that is moved;
 * items of 4 bytes, up to 128, are permuted in registers. Keys in order are copied. Nothing needs scratch. 64 pairs of i32 take 120 ns,
 * 256 take 390 (by tags of 64 bits, which have room for more of a key: 154 and 644; by a digit, and by tags within its buckets as in
 * sort_pairs_tmpl.h: 846). What is bad for it are keys whose highest set bits are anywhere, as random ones shifted by random numbers: up
 * to 256 they take twice as long as others. (Zen 4, 2026-11.) */
#include "sort_places.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "target_avx512.h"

/* To insert more ties takes longer than to sort them again, to permute more words in registers longer than to move them by places in
 * memory. (Zen 4, 2026-11.) */
enum { TAG_BITS = 32, LANES = 16, FEW_TIES = 24, MOST_WORDS = 128 };

/* So that vectors, also from the second item on, are loaded whole. */
enum { ROOM = SORT_PLACES + LANES };

/* Images are in their old order, those of keys of one or two bytes as wide as of four. */
struct tagged {
    _Alignas(SORT_LINE_NBYTES) uint64_t images[ROOM];
    _Alignas(SORT_LINE_NBYTES) uint32_t tags[ROOM];
    uint16_t places[SORT_PLACES]; /* of the sorted images */
    size_t image_nbytes;          /* 4 or 8 */
    uint64_t differ;              /* the bits in which images do */
    uint32_t place_bits;          /* of a tag, the lowest ones */
};

ALWAYS_INLINE __m512i splat(size_t nbytes, uint64_t x) {
    return nbytes == 8 ? _mm512_set1_epi64((long long)x) : _mm512_set1_epi32((int)(uint32_t)x);
}

/* Of keys or images of so many bytes, as many as a register holds of images: those that are there of the next n. */
ALWAYS_INLINE __mmask16 lanes_of(size_t nbytes, uint32_t n) {
    return (__mmask16)_bzhi_u32(nbytes == 8 ? 0xff : 0xffff, n < LANES ? n : LANES);
}

ALWAYS_INLINE __m512i load_keys(size_t nbytes, __mmask16 lanes, const void *keys) {
    return nbytes == 1   ? _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes, keys))
           : nbytes == 2 ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, keys))
           : nbytes == 4 ? _mm512_maskz_loadu_epi32(lanes, keys)
                         : _mm512_maskz_loadu_epi64((__mmask8)lanes, keys);
}

/* Only floats, of 4 or 8 bytes, have bits that a sign flips. */
ALWAYS_INLINE __m512i image_of(size_t nbytes, __m512i raw, const struct sort_image *image) {
    const __m512i flipped = _mm512_xor_si512(raw, splat(nbytes, image->flip));
    const __m512i signs = nbytes == 8 ? _mm512_srai_epi64(raw, 63) : _mm512_srai_epi32(raw, 31);
    return nbytes < 4 ? flipped : _mm512_xor_si512(flipped, _mm512_and_si512(signs, splat(nbytes, image->when_negative)));
}

/* Those of n keys, and the bits in which they differ. */
ALWAYS_INLINE void find_images(size_t nbytes, struct tagged *t, const void *keys, uint32_t n, const struct sort_image *image,
                               uint64_t bits) {
    const size_t image_nbytes = nbytes == 8 ? 8 : 4;
    const uint32_t lanes = 64 / (uint32_t)image_nbytes;
    unsigned char *const images = (unsigned char *)t->images;
    __m512i differ = _mm512_setzero_si512(), first = differ;
    for (uint32_t i = 0; i < n; i += lanes) {
        const __mmask16 there = lanes_of(nbytes, n - i);
        const __m512i raw = load_keys(nbytes, there, (const char *)keys + i * nbytes);
        const __m512i v = _mm512_and_si512(image_of(nbytes, raw, image), splat(nbytes, bits));
        if (i == 0)
            first = nbytes == 8 ? _mm512_broadcastq_epi64(_mm512_castsi512_si128(v)) : _mm512_broadcastd_epi32(_mm512_castsi512_si128(v));
        const __m512i apart = nbytes == 8 ? _mm512_maskz_xor_epi64((__mmask8)there, v, first) : _mm512_maskz_xor_epi32(there, v, first);
        differ = _mm512_or_si512(differ, apart);
        _mm512_store_si512(images + i * image_nbytes, v);
    }
    t->image_nbytes = image_nbytes;
    t->differ = nbytes == 8 ? (uint64_t)_mm512_reduce_or_epi64(differ) : (uint32_t)_mm512_reduce_or_epi32(differ);
}

static void find_images_of(struct tagged *t, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    const uint64_t bits = sort_low_bits(args->hi_bit) & ~sort_low_bits(args->lo_bit);
    const uint32_t n = (uint32_t)args->n;
    if (key_nbytes == 1)
        find_images(1, t, args->keys_in, n, image, bits);
    else if (key_nbytes == 2)
        find_images(2, t, args->keys_in, n, image, bits);
    else if (key_nbytes == 4)
        find_images(4, t, args->keys_in, n, image, bits);
    else
        find_images(8, t, args->keys_in, n, image, bits);
}

/* Is each image at least, or falling, less than the one before it? If they are in no order the first vector tells. */
ALWAYS_INLINE bool is_run(size_t nbytes, const uint64_t *images, uint32_t n, bool falling) {
    const unsigned char *at = (const unsigned char *)images;
    for (uint32_t i = 0; i + 1 < n; i += 64 / (uint32_t)nbytes, at += 64) {
        const __m512i v = _mm512_load_si512(at), next = _mm512_loadu_si512(at + nbytes);
        const __mmask16 falls = nbytes == 8 ? _mm512_cmpgt_epu64_mask(v, next) : _mm512_cmpgt_epu32_mask(v, next);
        if (((falling ? ~falls : falls) & lanes_of(nbytes, n - 1 - i)) != 0) return false;
    }
    return true;
}

static bool are_run(const struct tagged *t, const uint64_t *images, uint32_t n, bool falling) {
    return t->image_nbytes == 8 ? is_run(8, images, n, falling) : is_run(4, images, n, falling);
}

static void sort_tags(struct tagged *t, uint32_t n) {
    const struct sort_image none = {0, 0};
    sort_group_of(CPU_AVX512, sizeof *t->tags)(t->tags, t->tags, n, &none);
}

/* By the highest bits in which images differ: these, brought to the top of 32 bits, with the place below. */
ALWAYS_INLINE void sort_by_highest(size_t image_nbytes, struct tagged *t, uint32_t n) {
    const __m512i place = _mm512_set1_epi32((1 << t->place_bits) - 1);
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    const __m128i shift = _mm_cvtsi32_si128(8 * (int)image_nbytes - (int)sort_bit_top(t->differ));
    __m512i places = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (uint32_t i = 0; i < n; i += LANES) {
        const unsigned char *const images = (const unsigned char *)t->images + i * image_nbytes;
        __m512i v = _mm512_load_si512(images);
        if (image_nbytes == 8)
            v = _mm512_permutex2var_epi32(_mm512_sll_epi64(v, shift), odd, _mm512_sll_epi64(_mm512_load_si512(images + 64), shift));
        else
            v = _mm512_sll_epi32(v, shift);
        _mm512_store_si512(t->tags + i, _mm512_ternarylogic_epi32(place, places, v, 0xca)); /* place ? places : v */
        places = _mm512_add_epi32(places, _mm512_set1_epi32(LANES));
    }
    sort_tags(t, n);
    for (uint32_t i = 0; i < n; i += LANES)
        _mm256_storeu_si256((__m256i *)(void *)(t->places + i),
                            _mm512_cvtepi32_epi16(_mm512_and_si512(_mm512_load_si512(t->tags + i), place)));
}

/* Of the tags from i on in a register, those that have the same bits of an image as the next one. */
ALWAYS_INLINE __mmask16 ties_from(const struct tagged *t, uint32_t i, uint32_t n) {
    const __mmask16 there = lanes_of(4, n - 1 - i);
    const __m512i apart = _mm512_xor_si512(_mm512_load_si512(t->tags + i), _mm512_loadu_si512(t->tags + i + 1));
    return _mm512_mask_cmplt_epu32_mask(there, apart, _mm512_set1_epi32(1 << t->place_bits));
}

static uint32_t count_ties(const struct tagged *t, uint32_t n) {
    uint32_t nties = 0;
    for (uint32_t i = 0; i + 1 < n; i += LANES) nties += (uint32_t)_mm_popcnt_u32(ties_from(t, i, n));
    return nties;
}

static uint64_t image_at(const struct tagged *t, uint32_t place) {
    uint32_t narrow;
    if (t->image_nbytes == 8) return t->images[place];
    memcpy(&narrow, (const unsigned char *)t->images + place * sizeof narrow, sizeof narrow);
    return narrow;
}

/* Each goes before those whose images are greater, which are of the same tie. */
static void insert_ties(struct tagged *t, uint32_t n) {
    for (uint32_t i = 0; i + 1 < n; i += LANES)
        for (uint32_t ties = ties_from(t, i, n); ties != 0; ties &= ties - 1) {
            uint32_t to = i + (uint32_t)__builtin_ctz(ties) + 1;
            const uint16_t place = t->places[to];
            for (; to > 0 && image_at(t, t->places[to - 1]) > image_at(t, place); to--) t->places[to] = t->places[to - 1];
            t->places[to] = place;
        }
}

/* In the order of their places. */
static bool are_sorted(const struct tagged *t, uint32_t n) {
    _Alignas(SORT_LINE_NBYTES) uint64_t sorted[ROOM];
    if (t->image_nbytes == 8)
        sort_place_items((unsigned char *)sorted, (const unsigned char *)t->images, t->places, n, 8, SORT_FROM);
    else
        sort_place_items((unsigned char *)sorted, (const unsigned char *)t->images, t->places, n, 4, SORT_FROM);
    return are_run(t, sorted, n, false);
}

/* By the bits [low, top) of the images, those that are tied: a tag is the number of its tie, these bits, and where it lies now. */
static void sort_ties(struct tagged *t, uint32_t n, uint32_t low, uint32_t top) {
    uint16_t places[SORT_PLACES];
    uint32_t before = t->tags[0], tie = 0;
    memcpy(places, t->places, n * sizeof *places);
    for (uint32_t i = 0; i < n; i++) {
        tie += (before ^ t->tags[i]) >> t->place_bits != 0;
        before = t->tags[i];
        const uint64_t piece = (image_at(t, places[i]) & sort_low_bits(top)) >> low;
        t->tags[i] = tie << (TAG_BITS - t->place_bits) | (uint32_t)piece << t->place_bits | i;
    }
    sort_tags(t, n);
    for (uint32_t i = 0; i < n; i++) t->places[i] = places[t->tags[i] & ((1u << t->place_bits) - 1)];
}

/* Until no order is wrong: tags have had the bits of images from top on. */
static void sort_all_ties(struct tagged *t, uint32_t n, uint32_t top) {
    const uint32_t bits = TAG_BITS - 2 * t->place_bits;
    for (uint32_t nties; top > 0 && (nties = count_ties(t, n)) > 0;) {
        if (nties <= FEW_TIES) {
            insert_ties(t, n);
            return;
        }
        if (are_sorted(t, n)) return;
        const uint32_t low = top > bits ? top - bits : 0;
        sort_ties(t, n, low, top);
        top = low;
    }
}

/* Items of 4 bytes, of which registers hold all: each pair of them gives those that it has. */
ALWAYS_INLINE void place_words(unsigned char *out, const unsigned char *in, const uint16_t *places, uint32_t n, uint32_t nregisters) {
    __m512i v[MOST_WORDS / LANES];
    UNROLLED for (uint32_t r = 0; r < nregisters; r++) v[r] =
        r * LANES < n ? _mm512_maskz_loadu_epi32(lanes_of(4, n - r * LANES), in + r * 64) : _mm512_setzero_si512();
    for (uint32_t i = 0; i < n; i += LANES) {
        const __m512i place = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(places + i)));
        const __m512i pair = _mm512_srli_epi32(place, 5);
        __m512i items = _mm512_permutex2var_epi32(v[0], place, v[1]);
        UNROLLED for (uint32_t r = 2; r < nregisters; r += 2) items = _mm512_mask_mov_epi32(
            items, _mm512_cmpeq_epi32_mask(pair, _mm512_set1_epi32((int)r / 2)), _mm512_permutex2var_epi32(v[r], place, v[r + 1]));
        _mm512_mask_storeu_epi32(out + 4 * i, lanes_of(4, n - i), items);
    }
}

NOT_INLINE void place_items(void *out, const void *in, const uint16_t *places, uint32_t n, size_t nbytes) {
    if (nbytes == sizeof(uint32_t) && n <= MOST_WORDS / 2)
        place_words(out, in, places, n, MOST_WORDS / LANES / 2);
    else if (nbytes == sizeof(uint32_t) && n <= MOST_WORDS)
        place_words(out, in, places, n, MOST_WORDS / LANES);
    else
        sort_place(out, in, places, n, nbytes, SORT_FROM);
}

static void place_all(const struct sort_args *args, size_t key_nbytes, const uint16_t *places) {
    const uint32_t n = (uint32_t)args->n;
    if (args->keys_out != NULL) place_items(args->keys_out, args->keys_in, places, n, key_nbytes);
    if (args->values_in != NULL)
        place_items(args->values_out, args->values_in, places, n, args->value_nbytes);
    else
        sort_place_numbers(args->values_out, places, n, args->value_nbytes, SORT_FROM);
}

static void find_places(struct tagged *t, uint32_t n) {
    if (t->image_nbytes == 8)
        sort_by_highest(8, t, n);
    else
        sort_by_highest(4, t, n);
    const uint32_t top = sort_bit_top(t->differ), had = TAG_BITS - t->place_bits;
    if (had < top) sort_all_ties(t, n, top - had);
}

bool sort_by_tags(enum cpu_isa isa, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    const uint32_t n = (uint32_t)args->n;
    struct tagged t;
    if (isa < CPU_AVX512 || args->n < 2 || args->n > SORT_PLACES || args->value_nbytes > SORT_PLACED_VALUE_NBYTES) return false;
    find_images_of(&t, args, image, key_nbytes);
    t.place_bits = sort_bit_top(n - 1);
    if (are_run(&t, t.images, n, false)) {
        if (args->keys_out != NULL) {
            if (args->keys_out != args->keys_in) memcpy(args->keys_out, args->keys_in, n * key_nbytes);
            if (args->values_out != args->values_in) memcpy(args->values_out, args->values_in, n * args->value_nbytes);
            return true;
        }
        for (uint32_t i = 0; i < n; i++) t.places[i] = (uint16_t)i;
    } else if (are_run(&t, t.images, n, true)) {
        for (uint32_t i = 0; i < n; i++) t.places[i] = (uint16_t)(n - 1 - i);
    } else
        find_places(&t, n);
    place_all(args, key_nbytes, t.places);
    return true;
}

#include "target_end.h"

#else

bool sort_by_tags(enum cpu_isa isa, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    (void)isa, (void)args, (void)image, (void)key_nbytes;
    return false;
}

#endif
