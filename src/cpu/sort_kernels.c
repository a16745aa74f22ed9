/* sort_kernels.c: the kernels of the radix sort for every width of key (1, 2, 4, 8 bytes) and of value (none, 4, 8): the template of
 * sort_tmpl.h, twelve times, and the few parts of it that no width enters.
 *
 * Width, not type: 10 types, 2 directions and any bit range share one kernel through three numbers (see struct sort_image). */
#include "sort_kernels.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* ---- writing runs ------------------------------------------------------------------------------------------------------------ */

#ifdef __SSE2__
/* Past the caches: a line that is written whole need not be read first, and pushes nothing out. */
static void stream_lines(unsigned char *to, const unsigned char *from, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i += SORT_LINE_NBYTES) {
        for (size_t k = 0; k < SORT_LINE_NBYTES; k += sizeof(__m128i)) {
            _mm_stream_si128((__m128i *)(void *)(to + i + k), _mm_loadu_si128((const __m128i *)(const void *)(from + i + k)));
        }
    }
}
/* Streamed stores are ordered by nothing else: they must be visible before this task is seen to have returned. */
static void sort_write_fence(void) { _mm_sfence(); }
#else
static void stream_lines(unsigned char *to, const unsigned char *from, size_t nbytes) { memcpy(to, from, nbytes); }
static void sort_write_fence(void) {}
#endif

/* Copies a run out of the area; its whole lines are streamed if asked. */
static void sort_write(unsigned char *to, const void *run, uint64_t run_nbytes, bool stream) {
    const unsigned char *from = run;
    size_t nbytes = (size_t)run_nbytes;
    if (stream) {
        size_t head = -(uintptr_t)to % SORT_LINE_NBYTES;
        if (head > nbytes) head = nbytes;
        const size_t whole = (nbytes - head) / SORT_LINE_NBYTES * SORT_LINE_NBYTES;
        memcpy(to, from, head);
        stream_lines(to + head, from + head, whole);
        to += head + whole;
        from += head + whole;
        nbytes -= head + whole;
    }
    memcpy(to, from, nbytes);
}

/* ---- digits of a leaf -------------------------------------------------------------------------------------------------------- */

/* The bits by which a leaf is spread: [high_shift, + high_bits) and, unless low_bits is 0, [low_shift, + low_bits) just below. */
struct sort_digits {
    uint32_t high_shift, high_bits, low_shift, low_bits;
};

static uint32_t min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Two digits take log2(n) + 6 bits below the common prefix: of random keys, one in 64 then still agrees with another. */
static struct sort_digits sort_leaf_digits(uint64_t varying, uint32_t n) {
    const uint32_t top = sort_bit_top(varying), nvarying = top - sort_bit_low(varying), log2_n = sort_bit_top(n - 1);
    const uint32_t nbits = min_u32(nvarying, min_u32(2 * SORT_LEAF_BITS, log2_n + 6));
    struct sort_digits digits = {0};
    digits.high_bits = nbits <= min_u32(SORT_LEAF_BITS, log2_n) ? nbits : (nbits + 1) / 2;
    digits.low_bits = nbits - digits.high_bits;
    digits.high_shift = top - digits.high_bits;
    digits.low_shift = digits.high_shift - digits.low_bits;
    return digits;
}

/* Counts of each digit -> where its bucket starts. */
static void sort_sum_counts(uint32_t *counts, uint32_t nbuckets) {
    uint32_t start = 0;
    for (uint32_t d = 0; d < nbuckets; d++) {
        const uint32_t count = counts[d];
        counts[d] = start;
        start += count;
    }
}

static uint32_t sort_longest(const uint32_t *counts, uint32_t nbuckets) {
    uint32_t longest = 0;
    for (uint32_t d = 0; d < nbuckets; d++) longest = counts[d] > longest ? counts[d] : longest;
    return longest;
}

/* ---- twelve pairs of widths -------------------------------------------------------------------------------------------------- */

#define KEY      uint8_t
#define FN(name) name##_k1
#include "sort_tmpl.h"
#undef FN
#define VALUE    uint32_t
#define FN(name) name##_k1v4
#include "sort_tmpl.h"
#undef FN
#undef VALUE
#define VALUE    uint64_t
#define FN(name) name##_k1v8
#include "sort_tmpl.h"
#undef FN
#undef VALUE
#undef KEY

#define KEY      uint16_t
#define FN(name) name##_k2
#include "sort_tmpl.h"
#undef FN
#define VALUE    uint32_t
#define FN(name) name##_k2v4
#include "sort_tmpl.h"
#undef FN
#undef VALUE
#define VALUE    uint64_t
#define FN(name) name##_k2v8
#include "sort_tmpl.h"
#undef FN
#undef VALUE
#undef KEY

#define KEY      uint32_t
#define FN(name) name##_k4
#include "sort_tmpl.h"
#undef FN
#define VALUE    uint32_t
#define FN(name) name##_k4v4
#include "sort_tmpl.h"
#undef FN
#undef VALUE
#define VALUE    uint64_t
#define FN(name) name##_k4v8
#include "sort_tmpl.h"
#undef FN
#undef VALUE
#undef KEY

#define KEY      uint64_t
#define FN(name) name##_k8
#include "sort_tmpl.h"
#undef FN
#define VALUE    uint32_t
#define FN(name) name##_k8v4
#include "sort_tmpl.h"
#undef FN
#undef VALUE
#define VALUE    uint64_t
#define FN(name) name##_k8v8
#include "sort_tmpl.h"
#undef FN
#undef VALUE
#undef KEY

const struct sort_kernel *sort_kernel_of(size_t key_nbytes, size_t value_nbytes) {
    static const struct sort_kernel *const table[4][3] = {
        {&kernel_k1, &kernel_k1v4, &kernel_k1v8},
        {&kernel_k2, &kernel_k2v4, &kernel_k2v8},
        {&kernel_k4, &kernel_k4v4, &kernel_k4v8},
        {&kernel_k8, &kernel_k8v4, &kernel_k8v8},
    };
    return table[__builtin_ctzll(key_nbytes)][value_nbytes / 4];
}
