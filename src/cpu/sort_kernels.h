/* sort_kernels.h: what the files of the radix sort share: the image of a key, one splitting pass, one leaf, and the table of kernels.
 *
 * sort.c decides (which bits, which bucket, which thread); kernels do (read keys, move keys). A kernel knows the width of a key and of a
 * value, never a type: type, direction and bit range are three numbers in its arguments. */
#ifndef UPSWEEP_SORT_KERNELS_H
#define UPSWEEP_SORT_KERNELS_H

#include "kernels.h"

/* ---- tuning ------------------------------------------------------------------------------------------------------------------ */

/* A little more than half of a 1 MiB L2: the area in which a thread spreads a leaf or collects the blocks of a split; the rest is for what
 * streams past. 2^17 u32 keys and some: 1024 buckets of 2^27 keys are then leaves. (Zen 5, 2026-11.) */
#define SORT_AREA_NBYTES (544u << 10)
/* Digits of a split: its open lines, one a bucket, are to stay in L1 (best up to 8 bits); of fewer than 64, each waits for others. */
#define SORT_SPLIT_MIN_BITS  6u
#define SORT_SPLIT_BEST_BITS 8u
#define SORT_SPLIT_MAX_BITS  10u
#define SORT_SPLIT_LEVELS    12u
/* Buckets of a split by splitters: 16 rows of 16. */
#define SORT_SPLITTERS 256u
/* Keys of the largest sample. */
#define SORT_SAMPLE_MAX 1024u
/* A block of a log: whole lines, enough of them that the end of one is seldom met. */
#define SORT_BLOCK_MIN_NBYTES 256u
/* Digits of a leaf: its open lines are in L2, its tables in L1. */
#define SORT_LEAF_BITS 12u
/* A leaf by networks may have this much, and twice that in slots, in L3: it is dearer than in L2, but a second split, or the only one,
 * would be dearer still. Twice as large it is quicker only as long as nothing else uses L3. (Zen 5, 2026-11.) */
#define SORT_NETWORK_AREA_NBYTES (3u << 19)
/* Digit of a leaf by networks, and what it leaves to a bucket: 5 to 11 keys, of which a column of the network has room for 16. */
#define SORT_NETWORK_BITS     17u
#define SORT_NETWORK_MIN_BITS 4u
#define SORT_NETWORK_KEYS     16u
#define SORT_NETWORK_MEAN     11u
/* Of the keys of a leaf in slots, one in so many may be spilled; with more, it goes by halves. And keys are even enough for slots if no
 * half of a sample is within so many sixteenths of the range. */
#define SORT_SPILLED_SHARE 32u
#define SORT_EVEN_HALF     5u
/* Where stores to L2 wait for one another, the place of so many keys ahead is asked for: three tenths of a leaf's time on an Intel Xeon
 * with 2 MiB of L2; on the Zen 5 it would cost a fifth more. (2026-11.) */
#define SORT_SLOTS_AHEAD 16u
/* A leaf of items with values that are spread, from this size on, likewise: a quarter of its time. */
#define SORT_SPREAD_AHEAD_NBYTES (128u << 10)
/* What 16 registers hold with AVX-512, with AVX2 half as much; what is sorted at once, in pieces of what they hold, which are merged. (Zen
 * 5, 2026-11.) */
#define SORT_REGISTERS_NBYTES 1024u
#define SORT_GROUP_NBYTES     8192u
/* Fewer pairs go by digits. (Zen 5, 2026-11; so are the next ones.) */
#define SORT_PAIRS_MIN 64u
/* The longest bucket of pairs that is sorted by tags of 64 bits: a place in it takes so many of these. */
#define SORT_PAIRS_PLACE_BITS 10u
#define SORT_PAIRS_MAX        (1u << SORT_PAIRS_PLACE_BITS)
/* A leaf of pairs by networks: a larger one is no quicker than a split and smaller ones. */
#define SORT_PAIRS_AREA_NBYTES (2u << 20)
/* Fewer pairs are not worth a sample, which takes a quarter of a microsecond. */
#define SORT_PAIRS_SAMPLED (2u << 10)
/* Keys alone, with vector code: up to so many, halves are exchanged; above, a digit is cheaper than so many halvings. 2^14 keys of 32 bits
 * take as long either way, but slots a fifth longer while other programs use the caches. */
#define SORT_EXCHANGE_ITEMS(key_nbytes) ((key_nbytes) == 4 ? 1u << 14 : 1900u)
/* More than so many are sampled first, for which fewer are too few; but see sort_seem_even(). (Zen 4, 2026-11.) */
#define SORT_EXCHANGE_SAMPLED(key_nbytes) ((key_nbytes) == 4 ? 1u << 13 : 3u << 10)
/* So many, if they lie evenly, go in slots: with more, these would not fit L2. More are halved first; until there are so many that a split
 * is cheaper than the halvings that it saves, which on several threads wait for one another. (Zen 4, Xeon, 2026-11.) */
#define SORT_SLOTS_ITEMS(key_nbytes) ((768u << 10) / (key_nbytes))
#define SORT_HALVES_NBYTES           (12u << 20)
#define SORT_ITEMS_LEAST             (1u << 15) /* keys of 4 bytes whose indices are asked for: fewer are as quick by digits (Zen 3, 2026-11) */
#define SORT_HALVES_TASKS            2u
/* Keys of so many different values are counted. (Zen 5, 2026-11.) */
#define SORT_FEW_VALUES 16u
/* So few are not asked first whether they are in order. */
#define SORT_EXCHANGE_UNASKED_NBYTES (8u << 10)
/* Which end is read next, no hardware can foresee: both are asked for, so far ahead. */
#define SORT_EXCHANGE_AHEAD_NBYTES 4096u
/* So much, not in place, by a digit that would be a split's, goes at once to where it belongs. (Zen 4, 2026-11.) */
#define SORT_PLACED_NBYTES (4u << 20)
/* A split is shared by threads down to this many items each: below, waking a thread costs more than it does. */
#define SORT_TASK_ITEMS (32u << 10)
/* At most this many items are sorted by insertion: beyond it, clearing and summing a table of counts is cheaper. */
#define SORT_INSERTION_MAX 24u
#define SORT_LINE_NBYTES   64u
/* Keys that are looked at before the whole input is, to see whether it is in order. */
#define SORT_ORDER_SAMPLE 256u
/* A log is read in pieces of some lines; those of as many pieces ahead as memory is late are asked for. */
#define SORT_PIECE_NBYTES 512u
#define SORT_PIECES_AHEAD 8u
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
struct sort_image sort_image_of(upsweep_type type, bool descending);

/* ---- arrays, logs, passes ---------------------------------------------------------------------------------------------------- */

/* Keys, and the values that move with them. A kernel with values that reads values == NULL reads each item's own index instead. */
struct sort_arrays {
    unsigned char *keys, *values;
};

static inline bool sort_are_apart(const struct sort_arrays *a, const struct sort_arrays *b) {
    return a->keys != b->keys && (a->values == NULL || a->values != b->values);
}

/* Where a task's splits put items: blocks of block_items items, each of one bucket, in the order in which they were filled. The blocks of
 * a bucket are a list; all are full but its last. Keys are raw. */
struct sort_log {
    unsigned char *blocks;
    uint32_t *next; /* [blocks] the block that continues a block's bucket */
    uint32_t block_items, nblocks;
    uint32_t first[1u << SORT_SPLIT_MAX_BITS], last[1u << SORT_SPLIT_MAX_BITS]; /* [buckets] blocks, undefined if there is none */
    uint64_t counts[1u << SORT_SPLIT_MAX_BITS];                                 /* [buckets] items */
};

/* Buckets of images, each from where the one before ends, or 0, to its greatest one. */
struct sort_splitters {
    /* buckets[i]: of key i of n raw keys; there is room for n rounded up to a multiple of 64. */
    void (*find)(int32_t *buckets, const void *keys, uint32_t n, const struct sort_image *image, const struct sort_splitters *splitters);
    _Alignas(SORT_LINE_NBYTES) unsigned char greatest[SORT_SPLITTERS * sizeof(uint64_t)]; /* as keys; behind the last: of all that may be */
    unsigned char lasts[SORT_SPLITTERS / 16 * sizeof(uint64_t)];                          /* every 16th of these */
    uint32_t index_bits;                                                                  /* of a bucket's number */
    uint8_t bits[SORT_SPLITTERS];   /* of the images in a bucket the lowest so many may differ */
    uint16_t share[SORT_SPLITTERS]; /* of all that agree in the others, it can have so many 256ths, side by side */
};

/* The private memory of one task, in the context's scratch. */
struct sort_bench {
    uint32_t low[1u << SORT_LEAF_BITS], high[1u << SORT_LEAF_BITS]; /* leaf: counts of its digits, then where their buckets end */
    uint32_t nleaves, nvain;                                        /* leaves that were tried in slots, and those that had to be given up */
    uint64_t varying;                                               /* split: the bits in which this task's keys differ */
    uint64_t bounds[SORT_SPLIT_LEVELS][(1u << SORT_SPLIT_MAX_BITS) + 1]; /* split: the buckets of each level of recursion */
    struct sort_log log;
    struct sort_splitters splitters;
    _Alignas(SORT_LINE_NBYTES) unsigned char area[]; /* of the largest leaf; if there are splits, SORT_AREA_NBYTES */
};

/* A digit for floats, whose bits are unevenly spread where their values are not: (value - from) * scale, between 0 and `last`. scale is
 * negative if the order is descending. Rounding keeps the order; a NaN has no digit. */
struct sort_line {
    double from, scale, last;
};

/* One pass that splits a range of `from` by the digit (image >> shift) % 2^bits, by line, or by splitters, into the log. */
struct sort_split {
    struct sort_arrays from;
    struct sort_image image;
    uint32_t shift, bits;
    bool by_line;
    struct sort_line line;
    const struct sort_splitters *splitters; /* or NULL */
    bool stream;                            /* too large for the caches: write past them */
};

/* What a leaf reads: items [begin, begin + n) of arrays, or, if nlogs > 0, bucket `bucket` of the logs of that many benches. */
struct sort_source {
    struct sort_arrays arrays;
    uint64_t begin;
    uint32_t n;
    uint32_t nlogs, bucket;
    const unsigned char *benches;
    uint64_t bench_nbytes;
};

/* A part of a source that lies together: items [begin, begin + n) of arrays; in_log: n items of a block, at arrays.keys. */
struct sort_piece {
    struct sort_arrays from;
    uint64_t begin;
    uint32_t n;
    bool in_log;
};

/* Vector code for keys that are sorted whole and alone, so that stability is of no matter. `image` is that of the raw keys. */
typedef void sort_group(void *to, const void *from, uint32_t n, const struct sort_image *image);
struct sort_vector {
    sort_group *group; /* sorts at most SORT_GROUP_NBYTES of raw keys; from may be to */
    /* Sorts n images in slots, SORT_NETWORK_KEYS places for each of nbuckets, a multiple of 16, and writes them, raw. counts [nbuckets]:
     * the keys of a bucket, the spilled ones included; spilled: what had no place, sorted. */
    void (*slots)(void *to, uint32_t n, const void *places, const uint8_t *counts, uint32_t nbuckets, const void *spilled,
                  const struct sort_image *image);
    /* The same as `part` of struct sort_kernel, for more than SORT_REGISTERS_NBYTES. */
    uint64_t (*part)(void *to, const void *from, uint64_t n, const struct sort_image *image, uint64_t divider);
    /* Sorts n raw keys if they have few different values; false if they have more: of `to`, if it is not `from`, a part may have been
     * written then. */
    bool (*few)(void *to, const void *from, uint64_t n, const struct sort_image *image);
    /* Sets what `find` of struct sort_splitters needs, and that. */
    void (*take_splitters)(struct sort_splitters *splitters, const uint64_t greatest[SORT_SPLITTERS]);
};

/* The same for pairs, stably: sorts nbuckets buckets of items in area, images as keys, and writes them, raw, to [begin, ...) of `to`. The
 * images in a bucket agree in the bits from `shift` up, which are four at least. Has a bucket more than sort_pairs_most(shift)? What is in
 * it stays in disorder. */
typedef bool sort_pair_buckets(const struct sort_arrays *to, uint64_t begin, const void *area, const uint32_t *bounds, uint32_t nbuckets,
                               uint32_t shift, const struct sort_image *image);

/* As many as have places, in bits, above which a tag of 64 has room for what may differ. */
static inline uint32_t sort_pairs_most(uint32_t shift) {
    return 1u << (64 - shift < SORT_PAIRS_PLACE_BITS ? 64 - shift : SORT_PAIRS_PLACE_BITS);
}

struct sorter;

/* Sorts a source that fits the area into [begin, begin + source.n) of `to`, which may be what it reads. */
struct sort_leaf {
    struct sort_source source;
    struct sort_arrays to;
    uint64_t begin;
    struct sort_image image;
    struct sort_bench *bench;
    unsigned char *area;
    uint64_t area_nbytes;
    uint32_t *table; /* [table_items] for counts, with vector code */
    uint64_t table_items;
    uint32_t share;                   /* as in struct sort_splitters; 0: the leaf is not between splitters */
    bool by_line;                     /* keys are floats that may be spread by value */
    const struct sort_vector *vector; /* keys alone; or NULL */
    sort_pair_buckets *pair_buckets;  /* keys with values; or NULL */
    const struct sorter *sorter;      /* for what is skewed; NULL if the leaf is too small to be */
};

/* ---- kernels ----------------------------------------------------------------------------------------------------------------- */

/* With ties: some neighbours are equal, and can be told apart. */
enum sort_order { SORT_MIXED, SORT_ASCENDING, SORT_DESCENDING, SORT_DESCENDING_TIES };

/* How the keys are spread over the buckets of a digit, or of a line: SORT_EVEN, so that buckets seldom have twice the keys of the mean one;
 * SORT_FEW: there are few different ones. */
enum sort_spread { SORT_FEW, SORT_SKEWED, SORT_UNEVEN, SORT_EVEN };

/* by_line: SORT_SKEWED also if the keys are no floats, or not all numbers. */
struct sort_spreads {
    enum sort_spread by_digit, by_line;
};

struct sort_kernel {
    uint32_t leaf_items;  /* the most that an area of SORT_AREA_NBYTES can take */
    uint32_t item_nbytes; /* a key and its value, in the area and in a log */

    /* The bits in which the images of items begin, begin + step, ... < end differ (for one sign; a superset of them if floats mix). */
    uint64_t (*varying)(const struct sort_arrays *from, const struct sort_image *image, uint64_t begin, uint64_t end, uint64_t step);
    /* Of item i. */
    uint64_t (*image_at)(const struct sort_arrays *from, const struct sort_image *image, uint64_t i);
    /* Are items [begin, end) already in order by the bits of mask, or in the opposite one? */
    enum sort_order (*order)(const struct sort_arrays *from, const struct sort_image *image, uint64_t begin, uint64_t end, uint64_t mask);
    /* The line on which items begin, begin + step, ... lie, for 2^bits buckets: false if they are no numbers or all the same. NULL: keys
     * are never floats here. */
    bool (*line)(struct sort_line *line, const struct sort_arrays *from, const struct sort_image *image, uint64_t begin, uint64_t end,
                 uint64_t step, uint32_t bits);
    /* How n floats, which are in order, are spread: skewed if a stretch of `run` is much shorter than the mean one. NULL likewise. */
    enum sort_spread (*line_spread)(const struct sort_arrays *sample, uint32_t n, uint32_t run);
    /* Moves [begin, end) to the bench's log; returns the bits in which the images differ; by line, whether there are NaNs. */
    uint64_t (*split)(const struct sort_split *split, uint64_t begin, uint64_t end, struct sort_bench *bench);
    /* A bucket, as it is, to [begin, ...) of `to`. */
    void (*unload)(const struct sort_arrays *to, uint64_t begin, const struct sort_source *source);
    void (*copy)(const struct sort_arrays *to, const struct sort_arrays *from, uint64_t begin, uint64_t end);
    /* Items i and n - 1 - i of `from` to n - 1 - i and i of `to`, for i in [begin, end) of the first half. */
    void (*reverse)(const struct sort_arrays *to, const struct sort_arrays *from, uint64_t n, uint64_t begin, uint64_t end);
    /* Of n items that are in order by the bits of mask, turns round those that agree in these. */
    void (*reverse_ties)(const struct sort_arrays *to, const struct sort_image *image, uint64_t n, uint64_t mask);
    /* Keys [n] to `to`, which may be `from`, those whose images are below the divider before the others: how many they are. NULL: there are
     * values. */
    uint64_t (*part)(void *to, const void *from, uint64_t n, const struct sort_image *image, uint64_t divider);
    /* Stable by bits [lo, hi) of the image. */
    void (*leaf)(const struct sort_leaf *leaf, uint32_t lo, uint32_t hi);
};

/* key_nbytes: 1, 2, 4 or 8; value_nbytes: 0, 4 or 8. */
const struct sort_kernel *sort_kernel_of(enum cpu_isa isa, size_t key_nbytes, size_t value_nbytes);
const struct sort_kernel *sort_kernel_of_avx2(size_t key_nbytes, size_t value_nbytes);

/* The vector code for this machine and width, NULL if there is none (sort_network.c): networks for any keys, the rest for wide ones. */
sort_group *sort_group_of(enum cpu_isa isa, size_t key_nbytes);
const struct sort_vector *sort_vector_of(enum cpu_isa isa, size_t key_nbytes);
sort_pair_buckets *sort_pair_buckets_of(enum cpu_isa isa, size_t key_nbytes, size_t value_nbytes);

/* ---- one sort ---------------------------------------------------------------------------------------------------------------- */

/* Everything that stays the same from the first split to the last leaf. */
struct sorter {
    upsweep_context *ctx;
    const struct sort_kernel *kernel;
    const struct sort_vector *vector; /* keys alone; or NULL */
    sort_pair_buckets *pair_buckets;  /* keys with values; or NULL */
    struct sort_image image;
    struct sort_arrays in, out;
    uint64_t leaf_items;                                /* what is more is split */
    unsigned char *benches, *tables, *logs, *logs_next; /* [ntasks] each, at these distances: */
    uint64_t bench_nbytes, table_nbytes, log_nbytes, log_next_nbytes;
    uint32_t ntasks;
    bool pairs_lie_together;      /* the networks would count them in vain where two digits do */
    const struct sorter *sampler; /* skewed pairs, which are split by splitters: what sorts a sample of their keys; else NULL */
    uint64_t slots_items;         /* by halves, if the keys are even: parts of up to so many are sorted in slots; else 0 */
    bool by_line;                 /* there: they are floats that lie evenly by value */
};

/* Sorts in [n] by bits [lo, hi) into out (sort_run.c). */
void sort_run(const struct sorter *s, uint64_t n, uint32_t lo, uint32_t hi);
/* Copies in [n] to out if it is in order by these bits, or turns it round if it is in the opposite one; false if it is in neither. */
bool sort_if_in_order(const struct sorter *s, uint64_t n, uint32_t lo, uint32_t hi);

/* Sorts keys alone and whole, [begin, begin + n) of `from`, to the same place in the output, where they may be already (sort_exchange.c),
 * by one thread or by all, with scratch of that size. by_sample: the keys are known to be skewed. Without vectors there are benches. */
void sort_exchange(const struct sorter *s, const struct sort_arrays *from, uint64_t begin, uint64_t n, bool by_sample);
void sort_exchange_together(const struct sorter *s, const struct sort_arrays *from, uint64_t begin, uint64_t n, bool by_sample,
                            void *scratch);
uint64_t sort_exchange_scratch(uint32_t ntasks);
/* Sorts in [n] into out if the keys have few different values, by counting these; false if there are more, or no vector code. Keys alone
 * and whole. heavy: some of them seem to be there very often. */
bool sort_if_few(const struct sorter *s, uint64_t n, bool *heavy);
/* What a sample says of n keys (sort_sample.c). */
struct sort_median {
    uint64_t image;
    bool repeats; /* it is there twice, or a little more often in a large sample */
    bool few;     /* there seem to be so few values that they can be counted */
    bool heavy;   /* some key is there three times, or more often in a large sample */
};
struct sort_median sort_median_of(const struct sorter *s, const unsigned char *keys, uint64_t n);
bool sort_seem_few(const struct sorter *s, const unsigned char *keys, uint64_t n, bool *heavy);
bool sort_seem_equal(const void *keys, uint64_t n, size_t key_nbytes);                /* five of them */
bool sort_seem_even(const struct sorter *s, const unsigned char *keys, uint64_t n);   /* 64 */
bool sort_seem_to_repeat(const void *keys, uint64_t n, size_t key_nbytes);            /* two pairs of six */
bool sort_digits_part(const struct sorter *s, const unsigned char *keys, uint64_t n); /* two leave few together, of keys of a leaf */
/* By the highest bits in which they differ and, if they are floats, by a line; with vector code. */
struct sort_spreads sort_spreads_of(const struct sorter *s, const struct sort_arrays *from, uint64_t begin, uint64_t n);
/* Of n pairs: SORT_SKEWED if a quarter of the keys lies together, in more bits than two digits take; SORT_UNEVEN if a sixteenth does;
 * SORT_FEW if many are equal, in more bits than a digit takes. s: of keys alone, here and below. */
enum sort_spread sort_pairs_spread(const struct sorter *s, const unsigned char *keys, uint64_t n);
/* The images of up to SORT_SAMPLE_MAX of n keys, in order. */
void sort_sample_of(const struct sorter *s, const unsigned char *keys, uint64_t n, uint64_t *images, uint32_t nkeys);
/* Splitters between which n keys are evenly spread, however they lie (sort_splitters.c). */
void sort_find_splitters(const struct sorter *s, const unsigned char *keys, uint64_t n, struct sort_splitters *splitters);

/* to[i] = from[indices[i]] for values of any size (sort_gather.c). */
struct sort_gather {
    unsigned char *to;
    const unsigned char *from, *indices;
    uint64_t n;
    size_t index_nbytes, value_nbytes;
    uint64_t chunk; /* of a task */
};
void sort_gather_values(upsweep_context *ctx, struct sort_gather *gather, uint32_t ntasks);

/* Keys alone and whole that are there very often (sort_heavy.c), with vector code. Of n keys, at least 32, all others go to `to`, which may
 * be `from`; false, with nothing written, if none seems heavy. When the others are sorted there, all are put together. */
#define SORT_HEAVY_MOST 10u
struct sort_heavy {
    uint64_t keys[SORT_HEAVY_MOST], times[SORT_HEAVY_MOST], nrest;
    uint32_t n;
};
bool sort_take_heavy(enum cpu_isa isa, struct sort_heavy *heavy, void *to, const void *from, uint64_t n, size_t key_nbytes);
void sort_put_heavy(struct sort_heavy *heavy, void *to, uint64_t n, const struct sort_image *image, size_t key_nbytes);

/* Pairs, or the indices of keys, if there are few (sort_ranks.c, and with vector code sort_tags.h; the first also sorts keys alone); else
 * false. */
bool sort_by_ranks(const struct sort_args *args, const struct sort_image *image, size_t key_nbytes);
bool sort_by_tags(enum cpu_isa isa, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes);

/* Indices of keys of 4 bytes by items of 8 (sort_items.c), n of them at `items`: does that pay? Then the scratch before is that of as many
 * keys of 8 bytes. s: for keys alone, of which samples are taken. False: they are not even, or in order, or differ in few bits. */
bool sort_pays_as_items(enum cpu_isa isa, uint64_t n, size_t key_nbytes, size_t index_nbytes);
bool sort_by_items(upsweep_context *ctx, const struct sort_args *args, const struct sorter *s, uint64_t *items);

/* Keys alone and whole, if they are few; false if there are more (sort_at_once.c). The fewest, by any of their bits, without scratch. */
bool sort_at_once(enum cpu_isa isa, void *out, const void *in, uint64_t n, const struct sort_image *image, size_t key_nbytes);
void sort_by_insertion(enum cpu_isa isa, void *out, const void *in, uint32_t n, const struct sort_image *image, size_t key_nbytes,
                       uint32_t lo_bit, uint32_t hi_bit);
static inline bool sort_needs_no_scratch(uint64_t n, size_t value_nbytes) { return value_nbytes == 0 && n <= SORT_INSERTION_MAX; }

/* The most keys that are sorted at once, without any digit. */
static inline uint32_t sort_group_items(const struct sort_vector *vector, size_t key_nbytes) {
    return vector != NULL ? SORT_GROUP_NBYTES / (uint32_t)key_nbytes : SORT_INSERTION_MAX;
}

/* Bits of the digit by which n keys are spread for the networks. */
static inline uint32_t sort_network_bits(uint64_t n) {
    const uint32_t bits = n < SORT_NETWORK_MEAN ? 0 : 64u - (uint32_t)__builtin_clzll(n / SORT_NETWORK_MEAN);
    return bits < SORT_NETWORK_MIN_BITS ? SORT_NETWORK_MIN_BITS : bits < SORT_NETWORK_BITS ? bits : SORT_NETWORK_BITS;
}

/* The area of a leaf of n keys in slots. */
static inline uint64_t sort_slots_nbytes(uint64_t n, size_t key_nbytes) {
    return (((uint64_t)SORT_NETWORK_KEYS << sort_network_bits(n)) + n / SORT_SPILLED_SHARE) * key_nbytes;
}

/* Counters for a leaf of n keys by networks. */
static inline uint64_t sort_table_items(uint64_t n) { return (UINT64_C(1) << sort_network_bits(n)) + 1; }

static inline uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* What a part of n keys divided in nparts may have: halves are seldom quite even. */
static inline uint64_t sort_share_items(uint64_t n, uint64_t nparts) { return n / nparts / 4 * 5; }

static inline uint64_t sort_low_bits(uint32_t nbits) { return nbits >= 64 ? UINT64_MAX : (UINT64_C(1) << nbits) - 1; }

/* Bits from the lowest to the highest set one are [sort_bit_low, sort_bit_top); x is not 0. */
static inline uint32_t sort_bit_low(uint64_t x) { return (uint32_t)__builtin_ctzll(x); }
static inline uint32_t sort_bit_top(uint64_t x) { return 64u - (uint32_t)__builtin_clzll(x); }

/* How many bits two digits of a leaf take: all that differ if they can, at a table's price; else log2(n) + 6 below the common prefix: of
 * random keys, one in 64 then still agrees with another. */
static inline uint32_t sort_leaf_bits(uint64_t n) {
    const uint32_t log2_n = sort_bit_top((n - 1) | 1);
    return log2_n > SORT_LEAF_BITS ? 2 * SORT_LEAF_BITS : log2_n + 6;
}

#endif
