/* sort_tag_items.h: keys, values and indices go where sorted tags (sort_tags.h) say: few, in registers; more, by their places in memory.
 *
 * Items of 1, 2 and 4 bytes are words of 4 in registers, those of 8 bytes two words each. A permutation of two registers takes the words
 * that the lowest five bits of 16 tags name, whatever is above these; the next bits choose between pairs of registers. */
#include "sort_places.h"

/* To permute more words in registers takes longer than to move them by places in memory. (Zen 4, 2026-11.) */
enum { TAG_LANES = 16, FEW_TAGS = 64, MOST_WORDS = 128 };

#define LANE_NUMBERS_U32 ((__m512i)(vector_of_u32){BITS_4(0, 1, 2, 4, 8)})

/* n keys: images in their old order, of 4 or 8 bytes, at least as wide as keys. What is not there is 0, and its tag sorts last. If the
 * number of registers is a constant, as it is for few, arrays are none, but registers. */
struct tagged {
    __m512i *images, *tags;
    size_t image_nbytes;
    uint32_t n, nregisters; /* of tags */
    uint32_t place_bits;    /* of a tag, the lowest ones */
    bool few;
};

ALWAYS_INLINE __m512i place_mask(const struct tagged *t) { return _mm512_set1_epi32((1 << t->place_bits) - 1); }

/* The lanes of register r, as many as an item of so many bytes has there, or one of 4 bytes, that hold some of n items. */
ALWAYS_INLINE __mmask16 lanes_of(const struct tagged *t, size_t nbytes, uint32_t n, uint32_t r) {
    const uint32_t lanes = nbytes == 8 ? 8 : 16, all = (1u << lanes) - 1, first = r * lanes;
    if (t->few) return (__mmask16)(_bzhi_u64(UINT64_MAX, n) >> first & all);
    return n <= first ? 0 : (__mmask16)_bzhi_u32(all, n - first < lanes ? n - first : lanes);
}

/* Items of up to 4 bytes become words. */
ALWAYS_INLINE __m512i load_items(size_t nbytes, __mmask16 lanes, const void *from) {
    return nbytes == 1   ? _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes, from))
           : nbytes == 2 ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, from))
           : nbytes == 4 ? _mm512_maskz_loadu_epi32(lanes, from)
                         : _mm512_maskz_loadu_epi64((__mmask8)lanes, from);
}

/* Places as sort_place() has them. */
ALWAYS_INLINE void find_places(uint16_t *places, const struct tagged *t) {
    uint32_t r = 0;
    do {
        const __m512i v = _mm512_and_si512(t->tags[r], place_mask(t));
        _mm256_storeu_si256((__m256i *)(void *)(places + r * TAG_LANES), _mm512_cvtepi32_epi16(v));
    } while (++r < t->nregisters);
}

/* Of words in nregisters, a constant, those that tags of register r name: each pair of registers gives those that it has. */
ALWAYS_INLINE __m512i take_words(const __m512i *words, const struct tagged *t, uint32_t r, uint32_t nregisters) {
    const __m512i tags = t->tags[r], pair = _mm512_and_si512(tags, _mm512_set1_epi32((1 << t->place_bits) - 32));
    if (nregisters == 1) return _mm512_permutexvar_epi32(tags, words[0]);
    __m512i taken = _mm512_permutex2var_epi32(words[0], tags, words[1]);
    UNROLL_8 for (uint32_t p = 2; p < nregisters; p += 2) taken = _mm512_mask_mov_epi32(
        taken, _mm512_cmpeq_epi32_mask(pair, _mm512_set1_epi32((int)p * 16)), _mm512_permutex2var_epi32(words[p], tags, words[p + 1]));
    return taken;
}

/* Items of 8 bytes, of which few are in twice as many registers, as words of which each has two. */
ALWAYS_INLINE void take_wide(__m512i *taken, const __m512i *items, const struct tagged *t) {
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i pairs = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    __m512i low[FEW_TAGS / TAG_LANES], high[FEW_TAGS / TAG_LANES];
    UNROLL_8 for (uint32_t r = 0; r < t->nregisters; r++) {
        low[r] = _mm512_permutex2var_epi32(items[2 * r], even, items[2 * r + 1]);
        high[r] = _mm512_permutex2var_epi32(items[2 * r], _mm512_or_si512(even, _mm512_set1_epi32(1)), items[2 * r + 1]);
    }
    UNROLL_8 for (uint32_t r = 0; r < t->nregisters; r++) {
        const __m512i a = take_words(low, t, r, t->nregisters), b = take_words(high, t, r, t->nregisters);
        taken[2 * r] = _mm512_permutex2var_epi32(a, pairs, b);
        taken[2 * r + 1] = _mm512_permutex2var_epi32(a, _mm512_or_si512(pairs, _mm512_set1_epi32(8)), b);
    }
}

/* Items of up to 4 bytes, of which nregisters, a constant, hold all as words. */
ALWAYS_INLINE void place_words(size_t nbytes, unsigned char *out, const unsigned char *in, const struct tagged *t, uint32_t nregisters) {
    __m512i words[MOST_WORDS / TAG_LANES];
    UNROLL_8 for (uint32_t r = 0; r < nregisters; r++) words[r] = load_items(nbytes, lanes_of(t, 4, t->n, r), in + r * TAG_LANES * nbytes);
    UNROLL_8 for (uint32_t r = 0; r < t->nregisters; r++) {
        const __m512i taken = take_words(words, t, r, nregisters);
        const __mmask16 there = lanes_of(t, 4, t->n, r);
        unsigned char *const at = out + r * TAG_LANES * nbytes;
        if (nbytes == 1) _mm_mask_storeu_epi8(at, there, _mm512_cvtepi32_epi8(taken));
        if (nbytes == 2) _mm256_mask_storeu_epi16(at, there, _mm512_cvtepi32_epi16(taken));
        if (nbytes == 4) _mm512_mask_storeu_epi32(at, there, taken);
    }
}

ALWAYS_INLINE void place_wide(unsigned char *out, const unsigned char *in, const struct tagged *t) {
    __m512i items[FEW_TAGS / 8];
    UNROLL_8 for (uint32_t r = 0; r < 2 * t->nregisters; r++) items[r] = load_items(8, lanes_of(t, 8, t->n, r), in + r * 64);
    take_wide(items, items, t);
    UNROLL_8 for (uint32_t r = 0; r < 2 * t->nregisters; r++)
        _mm512_mask_storeu_epi64(out + r * 64, (__mmask8)lanes_of(t, 8, t->n, r), items[r]);
}

/* Places as numbers of 4 or 8 bytes. */
ALWAYS_INLINE void put_places(unsigned char *out, size_t nbytes, const struct tagged *t) {
    UNROLLED for (uint32_t r = 0; r < t->nregisters; r++) {
        const __m512i places = _mm512_and_si512(t->tags[r], place_mask(t));
        if (nbytes == sizeof(uint32_t)) {
            _mm512_mask_storeu_epi32(out + r * 64, lanes_of(t, 4, t->n, r), places);
        } else {
            _mm512_mask_storeu_epi64(out + r * 128, (__mmask8)lanes_of(t, 8, t->n, 2 * r),
                                     _mm512_cvtepu32_epi64(_mm512_castsi512_si256(places)));
            _mm512_mask_storeu_epi64(out + r * 128 + 64, (__mmask8)lanes_of(t, 8, t->n, 2 * r + 1),
                                     _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(places, 1)));
        }
    }
}

NOT_INLINE void place_items(void *out, const void *in, const uint16_t *places, uint32_t n, size_t nbytes) {
    sort_place(out, in, places, n, nbytes, SORT_FROM);
}

/* Few items of 1, 2, 4 or 8 bytes. */
ALWAYS_INLINE void place_in_registers(void *out, const void *in, size_t nbytes, const struct tagged *t) {
    if (nbytes == 1)
        place_words(1, out, in, t, t->nregisters);
    else if (nbytes == 2)
        place_words(2, out, in, t, t->nregisters);
    else if (nbytes == 4)
        place_words(4, out, in, t, t->nregisters);
    else
        place_wide(out, in, t);
}

/* Here the number of registers is a constant again. */
NOT_INLINE void place_few(void *out, const void *in, size_t nbytes, struct tagged t) {
    if (t.nregisters == 2)
        t.nregisters = 2, place_in_registers(out, in, nbytes, &t);
    else
        t.nregisters = 4, place_in_registers(out, in, nbytes, &t);
}

ALWAYS_INLINE bool are_words(size_t nbytes) { return nbytes <= 8 && (nbytes & (nbytes - 1)) == 0; }

ALWAYS_INLINE void place_by_tags(void *out, const void *in, size_t nbytes, const struct tagged *t, const uint16_t *places) {
    if (nbytes == 4 && !t->few && t->n <= MOST_WORDS)
        place_words(4, out, in, t, MOST_WORDS / TAG_LANES);
    else if (!t->few || !are_words(nbytes))
        place_items(out, in, places, t->n, nbytes);
    else if (nbytes == 4 || nbytes == t->image_nbytes || t->nregisters == 1)
        place_in_registers(out, in, nbytes, t);
    else {
        __m512i tags[FEW_TAGS / TAG_LANES];
        UNROLL_8 for (uint32_t r = 0; r < t->nregisters; r++) tags[r] = t->tags[r];
        place_few(out, in, nbytes, (struct tagged){NULL, tags, 0, t->n, t->nregisters, t->place_bits, true});
    }
}

ALWAYS_INLINE void place_all(const struct sort_args *args, size_t key_nbytes, const struct tagged *t) {
    uint16_t room[SORT_PLACES], *places = NULL;
    if (t->few ? !are_words(args->value_nbytes) : t->n > MOST_WORDS || key_nbytes != 4 || args->value_nbytes != 4)
        find_places(places = room, t);
    if (args->keys_out != NULL) place_by_tags(args->keys_out, args->keys_in, key_nbytes, t, places);
    if (args->values_in != NULL)
        place_by_tags(args->values_out, args->values_in, args->value_nbytes, t, places);
    else
        put_places(args->values_out, args->value_nbytes, t);
}
