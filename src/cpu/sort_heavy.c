/* sort_heavy.c: keys alone of which some are there very often: these are counted, and only the others are sorted.
 *
 *     7 1 7 7 9 1 7 3 7    heavy: 7, five times    others  1 9 1 3  ->  sorted  1 1 3 9  ->  1 1 3 7 7 7 7 7 9
 *
 * Heavy is what a sample of 32 has four times, if such keys are nearly half of it; of many keys of two bytes less is enough. Vectors
 * compare all keys with these, and leave the others together, as compaction does; sorted by whichever way there is for so many, they are
 * moved apart again to let the heavy ones between them. Cost: a read and a write, two instructions a vector and heavy key; that saves the
 * sorting, or the counting, of all of them. A division in three parts (Bentley and McIlroy, Engineering a sort function, 1993) takes one
 * heavy key at a time. */
#include "sort_narrow.h"

#include <string.h>

#if defined(__x86_64__)

#include <immintrin.h>

enum { SAMPLE = 32, TURN = 4 }; /* vectors at a time */

/* A key of the first so many of a sample is heavy if it is there `least` times, and all such keys `enough`. */
struct heaviness {
    uint32_t first, least, enough;
};

/* Keys of two bytes that are not sorted at once gain most: others cost each of them half the time, and there is no other way for few
 * values. (Zen 4, 2026-11.) */
static const struct heaviness usual = {16, 4, 14}, of_many_halves = {32, 3, 10};
_Static_assert(SAMPLE / 3 <= SORT_HEAVY_MOST, "room for all that a sample can have");

#include "target_avx512.h"

#define KEY            uint16_t
#define FN(name)       name##_u16
#define MASK           __mmask32
#define LANES          32u
#define SPLAT(x)       _mm512_set1_epi16((short)(x))
#define LOAD(mask, at) _mm512_maskz_loadu_epi16(mask, at)
#define STORE          _mm512_mask_storeu_epi16
#define EQUAL(a, b)    _mm512_cmpeq_epi16_mask(a, b)
#define COMPRESS       _mm512_maskz_compress_epi16
#include "sort_heavy_tmpl.h"

#define KEY            uint32_t
#define FN(name)       name##_u32
#define MASK           __mmask16
#define LANES          16u
#define SPLAT(x)       _mm512_set1_epi32((int)(x))
#define LOAD(mask, at) _mm512_maskz_loadu_epi32(mask, at)
#define STORE          _mm512_mask_storeu_epi32
#define EQUAL(a, b)    _mm512_cmpeq_epi32_mask(a, b)
#define COMPRESS       _mm512_maskz_compress_epi32
#include "sort_heavy_tmpl.h"

#define KEY            uint64_t
#define FN(name)       name##_u64
#define MASK           __mmask8
#define LANES          8u
#define SPLAT(x)       _mm512_set1_epi64((long long)(x))
#define LOAD(mask, at) _mm512_maskz_loadu_epi64(mask, at)
#define STORE          _mm512_mask_storeu_epi64
#define EQUAL(a, b)    _mm512_cmpeq_epi64_mask(a, b)
#define COMPRESS       _mm512_maskz_compress_epi64
#include "sort_heavy_tmpl.h"

#include "target_end.h"

bool sort_take_heavy(enum cpu_isa isa, struct sort_heavy *heavy, void *to, const void *from, uint64_t n, size_t key_nbytes) {
    if (isa < CPU_AVX512 || key_nbytes == 1) return false;
    const bool many = n > SORT_GROUP_NBYTES / key_nbytes;
    if (key_nbytes == 2) find_u16(heavy, from, n, many ? of_many_halves : usual);
    if (key_nbytes == 4) find_u32(heavy, from, n, usual);
    if (key_nbytes == 8) find_u64(heavy, from, n, usual);
    if (heavy->n == 0) return false;
    heavy->nrest = key_nbytes == 2   ? take_u16(heavy, to, from, n)
                   : key_nbytes == 4 ? take_u32(heavy, to, from, n)
                                     : take_u64(heavy, to, from, n);
    return true;
}

void sort_put_heavy(struct sort_heavy *heavy, void *to, uint64_t n, const struct sort_image *image, size_t key_nbytes) {
    if (key_nbytes == 2) put_u16(heavy, to, heavy->nrest, n, image);
    if (key_nbytes == 4) put_u32(heavy, to, heavy->nrest, n, image);
    if (key_nbytes == 8) put_u64(heavy, to, heavy->nrest, n, image);
}

#else

bool sort_take_heavy(enum cpu_isa isa, struct sort_heavy *heavy, void *to, const void *from, uint64_t n, size_t key_nbytes) {
    (void)isa, (void)heavy, (void)to, (void)from, (void)n, (void)key_nbytes;
    return false;
}

void sort_put_heavy(struct sort_heavy *heavy, void *to, uint64_t n, const struct sort_image *image, size_t key_nbytes) {
    (void)heavy, (void)to, (void)n, (void)image, (void)key_nbytes;
}

#endif
