/* sort_kernels.h: what the files of the radix sort share: the image of a key, one splitting pass, one leaf, and the table of kernels.
 *
 * sort.c decides (which bits, which bucket, which thread); kernels do (read keys, move keys). A kernel knows the width of a key and of a
 * value, never a type: type, direction and bit range are three numbers in its arguments. */
#ifndef UPSWEEP_SORT_KERNELS_H
#define UPSWEEP_SORT_KERNELS_H

#include "cpu.h"

/* ---- tuning ------------------------------------------------------------------------------------------------------------------ */

/* Half of a 1 MiB L2: the area in which a thread spreads a leaf or a tile; the other half is for what streams past. */
#define SORT_AREA_NBYTES (512u << 10)
/* Digits of a split: wider ones make runs shorter than a few lines, narrower ones cost more passes. 8 bits at least, but for the last
 * digit of a key, so that eight levels of splits exhaust 64 bits. */
#define SORT_SPLIT_MIN_BITS 8u
#define SORT_SPLIT_MAX_BITS 10u
#define SORT_SPLIT_LEVELS   8u
/* Digits of a leaf: its 2^11 open lines are in L2, its table of 8 KiB in L1. */
#define SORT_LEAF_BITS 11u
/* Room for the counts of one digit; both rooms together serve the 2^13 columns of vector code. */
#define SORT_LEAF_BUCKETS (4u << 10)
/* Columns of a leaf by vector code: keys for each, and the most on average, of which a Poisson distribution leaves one key in 200 without
 * a slot. Twice as many show that the keys are not spread like that, and the leaf is done in the other way. */
#define SORT_COLUMN_ITEMS   16u
#define SORT_COLUMN_MEAN    10u
#define SORT_LATE_SHARE     64u
#define SORT_NETWORK_NBYTES 256u
/* A split is shared by threads down to this many items each: below, waking a thread costs more than it does. */
#define SORT_TASK_ITEMS (32u << 10)
/* At most this many items are sorted by insertion: beyond it, clearing and summing a table of counts is cheaper. */
#define SORT_INSERTION_MAX 24u
#define SORT_LINE_NBYTES   64u
/* Arrays of this size and more are written past the caches. */
#define SORT_STREAM_NBYTES (16u << 20)

/* ---- the image of a key ------------------------------------------------------------------------------------------------------ */

/* A key's image is an unsigned integer that sorts as the key should: image = raw ^ flip ^ (raw is negative ? when_negative : 0).
 *
 *             unsigned      signed        float
 *   ascending   0, 0      sign bit, 0   sign bit, all others     descending: every bit of flip inverted
 *
 * The way back is the same expression, since raw ^ flip ^ ... leaves the sign of raw where (image ^ flip) has it. Kernels keep raw keys in
 * every array of n elements and images only within their area of L2, so that no conversion ever costs a pass over memory. */
struct sort_image {
    uint64_t flip, when_negative;
};

/* ---- arrays and passes ------------------------------------------------------------------------------------------------------- */

/* Keys, and the values that move with them. A kernel with values that reads values == NULL reads each item's own index instead. */
struct sort_arrays {
    unsigned char *keys, *values;
};

/* The private memory of one task, in the context's scratch. */
struct sort_bench {
    uint32_t ends[2 * SORT_LEAF_BUCKETS + 1]; /* leaf: counts of its two digits (or of its columns), then where buckets end */
    _Alignas(SORT_LINE_NBYTES) unsigned char late[SORT_AREA_NBYTES / SORT_LATE_SHARE]; /* leaf: keys too many for their columns */
    uint64_t varying;                                                    /* split: the bits in which this task's keys differ */
    uint64_t next[1u << SORT_SPLIT_MAX_BITS];                            /* split: where this task's next item of each digit goes */
    uint64_t bounds[SORT_SPLIT_LEVELS][(1u << SORT_SPLIT_MAX_BITS) + 1]; /* split: the buckets of each level of recursion */
    _Alignas(SORT_LINE_NBYTES) unsigned char area[];                     /* SORT_AREA_NBYTES; less if n is small */
};

/* One pass that splits a range of `from` by the digit (image >> shift) % 2^bits into buckets of `to`. */
struct sort_split {
    struct sort_arrays from, to;
    struct sort_image image;
    uint32_t shift, bits;
    bool stream; /* too large for the caches: write past them */
};

/* Vector code for keys that are sorted whole and alone, so that stability is of no matter. `image` is that of the raw keys. */
struct sort_vector {
    /* Sorts at most SORT_NETWORK_NBYTES of raw keys; from may be to. */
    void (*group)(void *to, const void *from, uint32_t n, const struct sort_image *image);
    /* Sorts buckets from columns of images, slots [nbuckets / lanes][SORT_COLUMN_ITEMS][lanes], a column a bucket, and writes them, raw, to
     * [starts[d], starts[d + 1]) of `to`; of a longer bucket what is in its column. */
    void (*columns)(void *to, const void *slots, const uint32_t *starts, uint32_t nbuckets, const struct sort_image *image);
};

/* Sorts a range of `from` that fits the area into the same range of `to` (from may be to). */
struct sort_leaf {
    struct sort_arrays from, to;
    struct sort_image image;
    struct sort_bench *bench;
    const struct sort_vector *vector; /* or NULL */
};

/* ---- kernels ----------------------------------------------------------------------------------------------------------------- */

struct sort_kernel {
    uint32_t leaf_items;     /* the most that a leaf can take */
    uint32_t item_nbytes;    /* a key and its value */
    uint32_t area_nbytes;    /* that a leaf takes of the area for each item, up to all of it */
    uint32_t split_max_bits; /* with more, the area could not hold the open groups of all buckets */

    /* The bits in which the images of items begin, begin + step, ... < end differ (for one sign; a superset of them if floats mix). */
    uint64_t (*varying)(const struct sort_arrays *from, const struct sort_image *image, uint64_t begin, uint64_t end, uint64_t step);
    /* Adds the digits of [begin, end) to counts [2^bits]; returns the bits in which the images differ. */
    uint64_t (*count)(const struct sort_split *split, uint64_t begin, uint64_t end, uint64_t *counts);
    /* Moves [begin, end) to where bench->next says, in order. */
    void (*scatter)(const struct sort_split *split, uint64_t begin, uint64_t end, struct sort_bench *bench);
    void (*copy)(const struct sort_arrays *to, const struct sort_arrays *from, uint64_t begin, uint64_t end);
    /* Stable by bits [lo, hi) of the image. */
    void (*leaf)(const struct sort_leaf *leaf, uint64_t begin, uint64_t end, uint32_t lo, uint32_t hi);
};

/* key_nbytes: 1, 2, 4 or 8; value_nbytes: 0, 4 or 8. */
const struct sort_kernel *sort_kernel_of(size_t key_nbytes, size_t value_nbytes);

/* The vector code for this machine and width, NULL if there is none (sort_network.c). */
const struct sort_vector *sort_vector_of(enum cpu_isa isa, size_t key_nbytes);

/* Counting sort of whole 1- and 2-byte keys without values (sort_count.c), and the scratch it needs. */
void sort_by_counting(upsweep_context *ctx, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes);
uint64_t sort_by_counting_scratch(upsweep_context *ctx, uint64_t n, size_t key_nbytes);
bool sort_by_counting_pays(uint64_t n, size_t key_nbytes);

static inline uint64_t sort_low_bits(uint32_t nbits) { return nbits >= 64 ? UINT64_MAX : (UINT64_C(1) << nbits) - 1; }

/* Bits from the lowest to the highest set one are [sort_bit_low, sort_bit_top); x is not 0. */
static inline uint32_t sort_bit_low(uint64_t x) { return (uint32_t)__builtin_ctzll(x); }
static inline uint32_t sort_bit_top(uint64_t x) { return 64u - (uint32_t)__builtin_clzll(x); }

#endif
