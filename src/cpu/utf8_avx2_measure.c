/* utf8_avx2_measure.c: what is in UTF-8, for AVX2: as utf8_avx512_measure.c. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "utf8_kernels.h"

#include "target_avx2.h"

#include "utf8_avx2_wrong.h" /* for these instruction sets */

/* ---- well-formed text ------------------------------------------------------------------------------------------------------ */

/* What is found goes into here: wrong bytes, and well-formed sequences that begin and those of four bytes that end, if none is wrong. */
struct stretch {
    __m256i wrong;
    struct utf8_good good;
};

/* mine: the bytes that are counted. */
ALWAYS_INLINE void look_at(struct stretch *s, struct row r, uint32_t mine) {
    s->wrong = _mm256_or_si256(s->wrong, wrong_bytes(r));
    s->good.sequences += (uint64_t)_mm_popcnt_u32(~(uint32_t)_mm256_movemask_epi8(is_continuation(r.b)) & mine);
    s->good.of_4 += (uint64_t)_mm_popcnt_u32((uint32_t)_mm256_movemask_epi8(is_at_least(r.b3, 0xF0)) & mine);
}

/* As utf8_measure_tmpl.h says. Unrolled, it has more constants than there are registers, and takes a third longer. */
ALWAYS_INLINE bool measure_well(const uint8_t *p, size_t nbytes, struct utf8_good *good) {
    struct stretch s = {_mm256_setzero_si256(), *good};
    NOT_UNROLLED
    for (size_t i = 0; i < nbytes; i += 32) look_at(&s, row_at(p + i), UINT32_MAX);
    if (!_mm256_testz_si256(s.wrong, s.wrong)) return false;
    *good = s.good;
    return true;
}

static inline bool is_ascii_256(const uint8_t *p) {
    __m256i any = load(p);
    for (size_t i = 32; i < 256; i += 32) any = _mm256_or_si256(any, load(p + i));
    return _mm256_movemask_epi8(any) == 0;
}

/* ---- all text ---------------------------------------------------------------------------------------------------------------- */

static inline struct utf8_ends ends_at(const uint8_t *p) { return utf8_find_ends(classify(p)); }

#include "utf8_measure_edge_tmpl.h"

#include "utf8_measure_tmpl.h"

/* ---- short text -------------------------------------------------------------------------------------------------------------- */

enum { SHORT_NBYTES = 1024 /* to look at them twice, if something is wrong, takes little time */ };

/* Is nothing wrong, also not at the end, where r is the last row? */
ALWAYS_INLINE bool is_whole(const struct stretch *s, struct row r) {
    const __m256i wrong = _mm256_or_si256(s->wrong, begun_at_end(r.b));
    return _mm256_testz_si256(wrong, wrong) != 0;
}

/* All of a text that fills a row at most, unless something is wrong. */
ALWAYS_INLINE bool measure_row_whole(const uint8_t *in, size_t n, struct utf8_good *good) {
    const struct row r = first_row(load_last_of_row(in, n));
    struct stretch s = {_mm256_setzero_si256(), {0, 0}};
    *good = (struct utf8_good){n, 0};
    if (_mm256_movemask_epi8(r.b) == 0) return true;
    look_at(&s, r, last_bits(n));
    *good = s.good;
    return is_whole(&s, r);
}

/* The same for more than a row and what is before a row. The last one ends where the text does: what it has in common with the one before
 * is not counted. */
ALWAYS_INLINE bool measure_rows_whole(const uint8_t *in, size_t n, struct utf8_good *good) {
    struct stretch s = {_mm256_setzero_si256(), {0, 0}};
    size_t i = 0;
    while (n - i >= 256 && is_ascii_256(in + i)) i += 256;
    while (n - i >= 64 && is_ascii_64(in + i)) i += 64;
    s.good.sequences = i;
    if (i == 0) {
        look_at(&s, first_row(load(in)), UINT32_MAX);
        i = ROW;
    }
    for (; n - i > ROW; i += ROW) look_at(&s, row_at(in + i), UINT32_MAX);
    const struct row last = row_at(in + n - ROW);
    look_at(&s, last, last_bits(n - i));
    *good = s.good;
    return is_whole(&s, last);
}

NOT_INLINE struct utf8_good measure_any(const uint8_t *in, size_t n, struct utf8_bad *bad) { return measure(in, n, bad); }

struct utf8_good utf8_measure_avx2(const uint8_t *in, size_t n, struct utf8_bad *bad) {
    struct utf8_good good;
    if (n <= ROW && measure_row_whole(in, n, &good)) return good;
    if (n > ROW + UTF8_BEFORE && n <= SHORT_NBYTES && measure_rows_whole(in, n, &good)) return good;
    return measure_any(in, n, bad);
}

#include "target_end.h"

#else
typedef int utf8_avx2_measure_is_for_x86; /* ISO C wants a declaration in every file */
#endif
