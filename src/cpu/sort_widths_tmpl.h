/* sort_widths_tmpl.h: the kernels of the radix sort for every width of key (1, 2, 4, 8 bytes) and of value (none, 4, 8): the template of
 * sort_tmpl.h, twelve times, and the few parts of it that no width enters. sort_kernels.c and sort_kernels_avx2.c compile it, each for its
 * instructions: the inner loops are scalar, but a shift by a variable count without flags (BMI2) is a fifth of them.
 *
 * Width, not type: 10 types, 2 directions and any bit range share one kernel through three numbers (see struct sort_image). */

/* ---- logs -------------------------------------------------------------------------------------------------------------------- */

#ifdef __SSE2__
/* Past the caches: a line that is written whole need not be read first, and pushes nothing out. */
static void stream_lines(unsigned char *to, const unsigned char *from, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i += sizeof(__m128i))
        _mm_stream_si128((__m128i *)(void *)(to + i), _mm_load_si128((const __m128i *)(const void *)(from + i)));
}
/* Streamed stores are ordered by nothing else: they must be visible before this task is seen to have returned. */
static void sort_write_fence(void) { _mm_sfence(); }
#else
static void stream_lines(unsigned char *to, const unsigned char *from, size_t nbytes) { memcpy(to, from, nbytes); }
static void sort_write_fence(void) {}
#endif

/* Copies a block, whole lines on either side. */
static void sort_write_block(unsigned char *to, const void *from, size_t nbytes, bool stream) {
    if (stream)
        stream_lines(to, from, nbytes);
    else
        memcpy(to, from, nbytes);
}

/* A place in the list of blocks that a source is. */
struct sort_cursor {
    const struct sort_log *log;
    uint64_t left;             /* items of this log that are still to come */
    uint32_t nlogs, block, at; /* logs that have been begun; the block, and the item in it, that come next */
};

/* Goes through the pieces of a source. Begins with everything but the source zero. */
struct sort_reader {
    const struct sort_source *source;
    struct sort_cursor here, ahead; /* what is ahead is prefetched: blocks come from memory, and no hardware knows the next */
    bool begun;
};

static const struct sort_log *log_of(const struct sort_source *source, uint32_t i) {
    return &((const struct sort_bench *)(const void *)(source->benches + i * source->bench_nbytes))->log;
}

/* The next items of a bucket, at most some lines of them: their number, 0 at the end. */
static uint32_t cursor_next(struct sort_cursor *c, const struct sort_source *source, uint32_t item_nbytes, const unsigned char **items) {
    while (c->left == 0) {
        if (c->nlogs == source->nlogs) return 0;
        c->log = log_of(source, c->nlogs++);
        c->left = c->log->counts[source->bucket];
        c->block = c->log->first[source->bucket];
        c->at = 0;
    }
    if (c->at == c->log->block_items) {
        c->block = c->log->next[c->block];
        c->at = 0;
    }
    const uint32_t in_block = c->log->block_items - c->at, most = SORT_PIECE_NBYTES / item_nbytes;
    uint32_t n = in_block < most ? in_block : most;
    if (n > c->left) n = (uint32_t)c->left;
    *items = c->log->blocks + ((uint64_t)c->block * c->log->block_items + c->at) * item_nbytes;
    c->at += n;
    c->left -= n;
    return n;
}

static void prefetch_piece(struct sort_reader *reader, uint32_t item_nbytes) {
    const unsigned char *items;
    const uint32_t n = cursor_next(&reader->ahead, reader->source, item_nbytes, &items);
    for (uint32_t at = 0; at < n * item_nbytes; at += SORT_LINE_NBYTES) __builtin_prefetch(items + at);
}

/* The next piece of a source; false after the last. */
static bool sort_next_piece(struct sort_reader *reader, uint32_t item_nbytes, struct sort_piece *piece) {
    const struct sort_source *source = reader->source;
    const bool begun = reader->begun;
    reader->begun = true;
    if (source->nlogs == 0) {
        *piece = (struct sort_piece){source->arrays, source->begin, source->n, false};
        return !begun;
    }
    for (uint32_t i = 0; i < (begun ? 1 : SORT_PIECES_AHEAD); i++) prefetch_piece(reader, item_nbytes);
    const unsigned char *items;
    const uint32_t n = cursor_next(&reader->here, source, item_nbytes, &items);
    *piece = (struct sort_piece){{(unsigned char *)items, NULL}, 0, n, true};
    return n > 0;
}

/* ---- digits of a leaf -------------------------------------------------------------------------------------------------------- */

/* The bits by which a leaf is spread: [high_shift, + high_bits) and, unless low_bits is 0, [low_shift, + low_bits) just below. */
struct sort_digits {
    uint32_t high_shift, high_bits, low_shift, low_bits;
};

static uint32_t min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }

static struct sort_digits sort_leaf_digits(uint64_t varying, uint32_t n) {
    const uint32_t top = sort_bit_top(varying), nvarying = top - sort_bit_low(varying), log2_n = sort_bit_top(n - 1);
    const uint32_t nbits = min_u32(nvarying, sort_leaf_bits(n));
    struct sort_digits digits = {0};
    digits.high_bits = nbits <= min_u32(SORT_LEAF_BITS, log2_n) ? nbits : (nbits + 1) / 2;
    digits.low_bits = nbits - digits.high_bits;
    digits.high_shift = top - digits.high_bits;
    digits.low_shift = digits.high_shift - digits.low_bits;
    return digits;
}

static bool sort_two_digits_do(uint64_t varying, uint32_t n) {
    return (varying & sort_low_bits(sort_leaf_digits(varying, n).low_shift)) == 0;
}

/* For networks: one digit that leaves buckets of 6 to 11 keys, if they are evenly spread. */
static struct sort_digits sort_network_digits(uint64_t varying, uint64_t n) {
    const uint32_t top = sort_bit_top(varying), nbits = min_u32(sort_network_bits(n), top);
    if (nbits < SORT_NETWORK_MIN_BITS) return (struct sort_digits){.high_shift = 0, .high_bits = SORT_NETWORK_MIN_BITS};
    return (struct sort_digits){.high_shift = top - nbits, .high_bits = nbits};
}

/* Counts of each digit -> where its bucket starts. Returns how many items are in buckets of more than `most`. */
static uint32_t sort_sum_counts(uint32_t *counts, uint32_t nbuckets, uint32_t most) {
    uint32_t start = 0, nbig = 0;
    for (uint32_t d = 0; d < nbuckets; d++) {
        const uint32_t count = counts[d];
        counts[d] = start;
        start += count;
        nbig += count > most ? count : 0;
    }
    return nbig;
}

/* Are all n items in one bucket? */
static bool sort_is_one_bucket(const uint32_t *starts, uint32_t nbuckets, uint32_t n) {
    uint32_t d = 0;
    while (d < nbuckets && (starts[d] == 0 || starts[d] == n)) d++;
    return d == nbuckets;
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
#define REAL     float
#define FN(name) name##_k4
#include "sort_tmpl.h"
#undef FN
#undef REAL
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
#define REAL     double
#define FN(name) name##_k8
#include "sort_tmpl.h"
#undef FN
#undef REAL
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

static const struct sort_kernel *const all_kernels[4][3] = {
    {&kernel_k1, &kernel_k1v4, &kernel_k1v8},
    {&kernel_k2, &kernel_k2v4, &kernel_k2v8},
    {&kernel_k4, &kernel_k4v4, &kernel_k4v8},
    {&kernel_k8, &kernel_k8v4, &kernel_k8v8},
};
