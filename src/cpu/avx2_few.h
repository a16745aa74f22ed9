/* avx2_few.h: a few bytes to a register, or to their place, by two moves that overlap. memcpy() of so many as nobody knows before is a
 * call, and what it has put together has to be waited for when it is loaded: 20 ns. Nothing beside the bytes is touched. Included where the
 * compiler has been told of the instruction sets. */
#ifndef UPSWEEP_AVX2_FEW_H
#define UPSWEEP_AVX2_FEW_H

#include <immintrin.h>
#include <string.h>

#include "kernels.h"

/* At most eight bytes, as the last ones of eight, behind zeros. From two loads that overlap: a copy of n bytes would be a call, and would
 * have to be waited for. */
ALWAYS_INLINE uint64_t load_last_of_8(const uint8_t *p, size_t n) {
    uint32_t first, last;
    if (n == 0) return 0;
    if (n < sizeof first)
        return ((uint64_t)p[n - 1] << 16 | (uint64_t)p[n / 2] << (8 * (n / 2) + 24 - 8 * n) | (uint64_t)p[0] << (24 - 8 * n)) << 40;
    memcpy(&first, p, sizeof first);
    memcpy(&last, p + n - sizeof last, sizeof last);
    return (uint64_t)last << 32 | (uint64_t)first << 8 * (8 - n);
}

/* The same for 16. */
ALWAYS_INLINE __m128i load_last_of_16(const uint8_t *p, size_t n) {
    uint64_t first, last;
    if (n <= sizeof first) return _mm_set_epi64x((int64_t)load_last_of_8(p, n), 0);
    memcpy(&first, p, sizeof first);
    memcpy(&last, p + n - sizeof last, sizeof last);
    return _mm_set_epi64x((int64_t)last, (int64_t)(first << 8 * (16 - n)));
}

/* And for a row. */
ALWAYS_INLINE __m256i load_last_of_row(const uint8_t *p, size_t n) {
    if (n <= 16) return _mm256_set_m128i(load_last_of_16(p, n), _mm_setzero_si128());
    return _mm256_set_m128i(_mm_loadu_si128((const __m128i *)(p + n - 16)), load_last_of_16(p, n - 16));
}

/* nbytes, 8 to 16, or 4 to 8, and so on. */
ALWAYS_INLINE void copy_both_ends(uint8_t *to, const uint8_t *from, size_t n, size_t nbytes) {
    uint8_t first[16], last[16];
    memcpy(first, from, nbytes);
    memcpy(last, from + n - nbytes, nbytes);
    memcpy(to, first, nbytes);
    memcpy(to + n - nbytes, last, nbytes);
}

/* Up to 32 bytes. */
ALWAYS_INLINE void copy_few(uint8_t *to, const uint8_t *from, size_t n) {
    if (n >= 16)
        copy_both_ends(to, from, n, 16);
    else if (n >= 8)
        copy_both_ends(to, from, n, 8);
    else if (n >= 4)
        copy_both_ends(to, from, n, 4);
    else if (n >= 2)
        copy_both_ends(to, from, n, 2);
    else if (n == 1)
        *to = *from;
}

#endif
