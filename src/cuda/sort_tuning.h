/* sort_tuning.h: the shapes of the radix sort's kernels. Every figure here was measured: NVIDIA H200, CUDA 13.0, November 2026. */
#ifndef UPSWEEP_CUDA_SORT_TUNING_H
#define UPSWEEP_CUDA_SORT_TUNING_H

#include <stddef.h>
#include <stdint.h>

#define SORT_DIGIT_BITS 8
#define SORT_DIGITS     256 /* 1 << SORT_DIGIT_BITS */
#define SORT_MAX_PASSES 8   /* 64-bit keys */

/* A tile of a stable partition: threads a CTA, CTAs a multiprocessor, rows (keys a thread) by the bytes of a key and of the word that
 * stands for its value. Registers bound the rows, and with a word of 8 bytes shared memory does. Two CTAs of 20 rows beat three of 12 by a
 * sixth, because runs are longer. The launcher takes fewer rows where shared memory (older GPUs) or parallelism (small n) calls for it. */
#define SORT_THREADS     512
#define SORT_CTAS_PER_SM 2
static constexpr __host__ __device__ int sort_rows(int key_nbytes, int word_nbytes) {
    if (word_nbytes == 16) return key_nbytes == 8 ? 8 : 10;
    if (key_nbytes == 8) return word_nbytes == 0 ? 16 : 12;
    return word_nbytes == 0 ? 24 : word_nbytes == 4 ? 20 : 16;
}
/* Rows of a smaller tile that has code of its own, as the largest has, in which no row is asked whether it is there; 0: there is none. With
 * a word, 2^21 and 2^22 keys of 32 bits are one and two full rounds of these, and 2^21 of 64 two. Of the smallest such tile: 1.6 and 3.2
 * million of 32 bits; 3 million pairs take 154 us so, and 165 in one round of the largest and a tenth of another. */
static constexpr __host__ __device__ int sort_fewer_rows(int key_nbytes, int word_nbytes) {
    if (key_nbytes == 4) return word_nbytes == 4 ? 16 : 0;
    return key_nbytes == 8 && (word_nbytes == 4 || word_nbytes == 8) ? 8 : 0;
}
static constexpr __host__ __device__ int sort_fewest_rows(int key_nbytes, int word_nbytes) {
    return key_nbytes == 4 && word_nbytes == 4 ? 12 : 0;
}
#define SORT_MIN_ROWS    2
#define SORT_FULL_ROUNDS 2 /* of tiles, at most: 2^22 pairs of 32 bits take 175 us so, 195 in one and a half rounds */

/* Passes by low digits that need not be (sort_mend.cuh): keys alone, of which fewer go to slots by a sample; keys of a sample; keys of
 * which it tells enough; keys that may occur often for each that it has three times; over the number of keys, how many it is found to have
 * just twice if each is there MEND_MOST / 2 times; passes that are left, at least, and left out; keys of a run that agree in what is left,
 * at most, if each is compared with each. Where runs are longer (sort_mend_long.cuh): passes left out, at least; runs of which the sample
 * has two keys or more, at most, so that keys which all are in groups must be in such of n / 2^21 or fewer; keys in each, beside one; the
 * part of all keys that a run may have, as one CTA sorts it; runs that can begin in a tile. */
#define MEND_ALONE_MIN    (1u << 24)
#define MEND_SAMPLE       4096
#define MEND_SURE         (1u << 25)
#define MEND_REPEATS      16u
#define MEND_TWICE        (3u << 29)
#define MEND_LEAST_PASSES 4
#define MEND_LEAST_SAVED  2
#define MEND_MOST         512
#define MEND_LONG_SAVED   3
#define MEND_ALIKE_RUNS   4
#define MEND_ALIKE        8
#define MEND_LONG_PART    128
#define MEND_LONG_RUNS    16

/* Tile states are 32-bit words of which two bits are the state: a look-back never spans more keys than this. */
#define SORT_PORTION_ITEMS (1u << 29)
/* A digit that more lanes of a warp than this share in a row is ranked by ballot in the rows that follow. */
#define SORT_CROWD 8
/* States loaded at once when looking back: more, and most of them were not needed. */
#define SORT_LOOK_AT 4

/* Some thousand keys each find their place by themselves (sort_ranks.cuh): threads of a CTA, one a multiprocessor, half of them for few
 * keys; keys that it ranks, a power of two; up to how many keys it is best. That many are a little slower than by a split, if they are
 * even; if they are skewed, twice as quick. */
#define RANKS_THREADS 1024
#define RANKS_FEW     2048
#define RANKS_OWN_MIN 16
#define RANKS_OWN_MAX 128
static constexpr uint64_t ranks_max(size_t key_nbytes, bool alone) { return key_nbytes == 8 && alone ? 1 << 13 : 1 << 14; }

/* The histogram kernel: threads a CTA, one a multiprocessor; 16-byte loads in flight a thread. A counter has as many copies as shared
 * memory has room for, but no more than pay: this many keys of a CTA to a counter. */
#define SORT_HISTOGRAM_THREADS     1024
#define SORT_HISTOGRAM_LOADS       4
#define SORT_HISTOGRAM_MIN_COPIES  2
#define SORT_HISTOGRAM_MAX_COPIES  32
#define SORT_HISTOGRAM_COUNTER_PAY 4

/* Keys are counted by value if there are few (sort_few.cuh), of so many keys or more. */
#define VALUES_MIN ((1u << 20) + 1)

/* Values that are gathered (sort_gather.cuh): threads of a CTA; values that each group of them has under way together, by the bytes that a
 * thread copies at a time. */
#define SORT_GATHER_THREADS 256
static constexpr __host__ __device__ uint32_t sort_gather_rows(size_t unit_nbytes) {
    return unit_nbytes == 16 ? 1 : unit_nbytes >= 4 ? 2 : 4;
}

/* Splitting keys (sort_split.cuh): bits of one partition alone, and of two together. */
#define SPLIT_MIN_BITS          7
#define SPLIT_SINGLE_BITS       10
#define SPLIT_MAX_BITS          16
#define SPLIT_TWO_MIN           (1u << 24) /* fewer floats alone are always split by one partition, */
#define SPLIT_MAX               (1u << 31) /* so many keys by none; */
#define SPLIT_NUMBERS_MIN       (1u << 12) /* of buckets, for which there is scratch; and the keys of each, beyond, at least; */
#define SPLIT_MEAN_MIN          2048
#define STABLE_MEAN_MIN         1024 /* with values or indices */
#define SPLIT_HISTOGRAM_THREADS 1024
#define SPLIT_UNEVEN_PART       5 /* if more than one pair in five of neighbours are uneven, stable passes do an argsort quicker */
/* Buckets too large for the shared memory of a CTA that are sorted all the same (sort_bucket_large.cuh), if there are more keys than
 * LARGE_MIN. All of them together have one key in LARGE_PART at most. One of them has one in LARGE_ANY_PART; or, if it has frequent values,
 * of which FREQUENT_VALUES are known, one in LARGE_ONE_PART of all but LARGE_MIN, and of 64 bits four times as many. But a CTA stops
 * counting keys of a bucket at LARGE_COUNTED, since its counters have 16 bits: so one has some four million at most. */
#define LARGE_MIN       (1u << 24)
#define LARGE_PART      16
#define LARGE_ANY_PART  1024
#define LARGE_ONE_PART  128
#define LARGE_COUNTED   (1u << 15)
#define FREQUENT_VALUES 64

/* Cells of floats (sort_cells.cuh): keys that are counted by them, at most; a power of two, as to find each of them by a division took
 * longer than to count it. */
#define CELL_THREADS 1024
#define CELL_SAMPLE  (1u << 22)

/* Rounds of exchanges before a window is looked at whether it is in order (sort_window.cuh). */
#define WINDOW_BLIND_ROUNDS 3

/* Histogram and partition in one launch (sort_fused.cuh), of up to as many keys as fit: threads of a CTA, one a multiprocessor; keys a
 * thread; digits. */
#define FUSED_THREADS  1024
#define FUSED_MAX_BITS 9
#define FUSED_DIGITS   (1 << FUSED_MAX_BITS)
/* Of no more keys than this a sample makes as few buckets as it can; of more there are two CTAs a multiprocessor to sort them, where for
 * those by the top bits there is one: then uniform keys take up to 3 % longer. */
#define BUCKETS_FEW_MAX (3u << 15)
/* Of more than this, more buckets than there are multiprocessors. */
#define BUCKETS_MANY_MIN (1u << 18)
static constexpr __host__ __device__ int fused_max_rows(int key_nbytes, int item_nbytes) {
    return key_nbytes == 8 ? 16 : item_nbytes == 8 ? 16 : 32;
}

/* Skewed keys are divided by a sample (sort_fused_sample.cuh) in launches with so many rows at most; in those with more, of keys alone, by
 * a larger one (sort_fused_splitters.cuh): so many levels of a tree of splitters, and as many buckets, at most. */
#define SAMPLED_MAX_ROWS 8
/* Of 64 bits: a key of the sample is near the one before it if that is so many times closer than some on both sides are, so far off. If of
 * N drawn keys so many times N * N / n are, rounds are quicker: then a range has some 50 keys of all n. */
#define SAMPLED_AROUND   4
#define SAMPLED_NEAR     4096
#define SAMPLED_DEEP     24
#define SPLITTER_LEVELS  12
#define SPLITTER_CELLS   (1u << SPLITTER_LEVELS)
#define SPLITTER_BUCKETS 1536u

/* Of more keys with something beside them that do not fit the multiprocessors, it is worth while to ask which bits vary. */
#define GAPS_VALUES_MIN (1u << 20)

/* Keys that may have other bits than nearly all (sort_strays.cuh): of a sample's 32 parts, so many at most have some; in all, as many at
 * most as there are places for values; and passes that leaving these bits out must save. */
#define STRAY_PARTS  8
#define STRAYS_MAX   8192u
#define STRAYS_SAVED 2
#define SPARSE_BITS  6 /* a top digit with one key in 2^so many of the mean has none, or strays */

/* Of more 32-bit keys with values that fit the multiprocessors, rounds (sort_rounds.cuh) are quicker than buckets by the bits that vary. */
#define GAPS_ROUNDS_MIN (1u << 19)

/* By rounds (sort_rounds.cuh): threads of a CTA, one a multiprocessor, fewer for few keys; keys a thread, at most; and digits, at
 * most, where nothing else is tried. Of 32-bit keys fewer, and argsorts, are quicker split. */
#define ROUNDS_THREADS    1024
#define ROUNDS_SMALL      512 /* threads */
#define ROUNDS_SMALL_ROWS 16
static constexpr int rounds_most_rows(size_t key_nbytes) { return key_nbytes == 8 ? 16 : 32; }
static constexpr uint32_t rounds_most_digits(size_t key_nbytes, uint64_t n, bool argsort) {
    return key_nbytes == 4 && (argsort || n <= 1 << 19) ? 1 : 2;
}

/* Keys with values are split (sort_stable.cuh) from this many on. */
static constexpr uint64_t stable_min(size_t key_nbytes) { return key_nbytes == 8 ? 1 << 13 : 1 << 12; }
#define STABLE_LEAST_BITS 12 /* up to this many bits, the least buckets are best */

/* Keys of one byte are counted and written anew in one launch (sort_bytes.cuh), from this many on where there are no clusters; so many at
 * least to a CTA. From how many on they are one CTA's, or one cluster's (sort_bytes_few.cuh), and so many at most to each of its CTAs; up
 * to how many of them go by words of 4 bytes. */
#define BYTES_THREADS    1024
#define BYTES_MIN        8193
#define BYTES_PER_CTA    4096
#define BYTES_FEW_MIN    256
#define BYTES_OF_FEW_CTA (3u << 13)
#define BYTES_BY_WORDS   8192

/* And of two bytes (sort_shorts.cuh), from this many on; shared memory wanted; keys written at a time; scratch beside that of n keys. */
#define SHORTS_THREADS        1024
#define SHORTS_SHARED_NBYTES  (132 << 10)
#define SHORTS_MIN            8193
#define SHORTS_FUSED_MAX      (1u << 20) /* up to so many, if they fit the multiprocessors, by sort_shorts_fused.cuh; */
#define SHORTS_FUSED_LEAST    1024       /* keys to a CTA, at least */
#define SHORTS_STRETCH        (1u << 18)
#define SHORTS_SCRATCH_NBYTES (1u << 20)

/* A partition: threads a CTA, CTAs a multiprocessor, and multiprocessors at least; keys a thread. */
#define SPLIT_THREADS     512
#define SPLIT_CTAS_PER_SM 2
#define SPLIT_MIN_SMS     8
#define SPLIT_ROWS_FIRST  28 /* of two partitions, the first, or the only one: more rows, longer runs; in the second they spill */
#define SPLIT_ROWS_NARROW 24
#define SPLIT_ROWS_WIDE   16
#define SPLIT_ROUNDS      8 /* of CTAs as many as run at once, where most often all return at once */
/* Runs that are written in whole lines (write_runs()): so many bytes on average at least, and items of one at most, beyond which a tile is
 * uneven; rows that are read before they are written, and of 64 bits. */
#define RUN_NBYTES    384
#define RUN_MOST      1024
#define RUN_ROWS      6
#define RUN_ROWS_WIDE 4

/* Keys that are moved to slots without being counted first (sort_slots.cuh), from so many bytes of them on, in room for a tenth more at
 * most; the threads of a CTA where there is only one partition, and its bits; keys a thread. Integers of 64 bits alone sooner, from where
 * they do not fit the multiprocessors of an H200: 3 million take 61 us for 75, and 168 for 267 if nine in ten share their top byte. So do
 * pairs: 75 for 109; but of 2.4 million, those with a few frequent values, which a stable split sorts in 98, would take 142, as the attempt
 * is in vain, and says that the split would be. */
#define SLOTS_MIN_NBYTES       (28u << 20)
#define SLOTS_MIN_NBYTES_WIDE  (17u << 20)
#define SLOTS_MIN_NBYTES_PAIRS (20u << 20)
static constexpr uint64_t slots_min_alone(size_t key_nbytes) { return key_nbytes == 8 ? SLOTS_MIN_NBYTES_WIDE : SLOTS_MIN_NBYTES; }
#define SLOTS_MORE_PART  10
#define SLOTS_DEVIATIONS 7          /* standard ones, for which there is room */
#define SLOTS_BIG_MIN    (1u << 27) /* of more keys of 32 bits, two partitions make large buckets */
#define SLOTS_DEEP       64u        /* keys of 32 bits of a bin: beyond, passes are quicker */
#define SLOTS_THREADS    1024
static constexpr __host__ __device__ uint32_t slots_single_bits(size_t key_nbytes) { return key_nbytes == 8 ? 10 : 11; }
/* Of floats by value (sort_value_slots.cuh), with some to spare for a range that is not known. */
#define VALUE_SLOTS_SPARE 64
static constexpr __host__ __device__ uint32_t value_slots_numbers(uint32_t bits) { return (1u << bits) + VALUE_SLOTS_SPARE; }
static constexpr __host__ __device__ uint32_t value_slots_single(size_t key_nbytes) {
    return value_slots_numbers(slots_single_bits(key_nbytes));
}
#define SLOTS_ROWS_ONLY      32
#define SLOTS_ROWS_FIRST     31
#define SLOTS_ROWS_SECOND    30
#define SLOTS_ROWS_ONLY_WIDE 16
#define SLOTS_ROWS_WIDE      21
/* Pairs in slots (sort_slots_pairs.cuh): as many as the number of a tile has bits for; of a tile; tiles; room for ties, which tiles share;
 * ties of a tile, and of a bucket, at most; keys of a sample that may repeat; how many of one value, of these, may be more than fit a
 * bucket; and warps of a tile that must have a value, if there is to be no room for it. */
#define PAIR_SLOTS_MAX            (1u << 25)
#define PAIR_SLOTS_TILE           (SLOTS_THREADS * SLOTS_ROWS_ONLY_WIDE)
#define PAIR_SLOTS_TILES          (PAIR_SLOTS_MAX / PAIR_SLOTS_TILE)
#define PAIR_SLOTS_TIES           (1u << 17)
#define PAIR_SLOTS_TILE_TIES      256u
#define PAIR_SLOTS_DEVIATIONS     6
#define PAIR_SLOTS_BUCKET_TIES    1024u
#define PAIR_SLOTS_SAMPLE_REPEATS 3
#define PAIR_SLOTS_FREQUENT       4u
#define PAIR_SLOTS_TILE_REPEATS   8u
#define PAIR_SLOTS_DRAWN          12u /* if values are drawn more often, bins of the stable split are too deep for a warp */
/* Keys that are looked at, to see whether they are uniform; and for each bucket, at most. */
#define SLOTS_LOOKED            (1u << 17)
#define SLOTS_LOOKED_PER_BUCKET 64
/* Threads that watch slots of which one is fuller, or emptier, than chance has it, at most, if some are for a value, or a row; such a part
 * of the keys must have been moved before a histogram asks for that; how often a CTA looks, at most, which takes a microsecond; and CTAs
 * that it watches, at least. */
#define SLOTS_FEW_AHEAD   7
#define SLOTS_MOVED_PART  8
#define SLOTS_POLLS       4096
#define SLOTS_WATCHED_MIN 32
#define SLOTS_LOOKED_MANY \
    (1u << 23) /* of no more items than this fewer are looked at for repeats: it must be known before they are moved */
/* The same of floats (sort_cell_slots.cuh): in room of which one key in 25 is for coarse buckets; numbers that one partition tells apart;
 * keys a thread. */
#define CELL_SLOTS_ASIDE_PART  25
#define CELL_SLOTS_DEVIATIONS  4.75f      /* standard ones, for which there is room: one bucket in a million has more keys */
#define CELL_SLOTS_BIG_MAX     (1u << 26) /* fewer keys of 32 bits have large buckets, which need less room to spare; of 64 bits no slots */
#define CELL_SLOTS_SMALL_MAX   9200000u   /* of more keys, one partition has large buckets, with which slots by a sample are quicker */
#define CELL_SLOTS_SINGLE      2048
#define CELL_SLOTS_ROWS_ONLY   25
#define CELL_SLOTS_ROWS_NARROW 24
#define CELL_SLOTS_ROWS_WIDE   16
/* Slots by a sample (sort_sample_slots.cuh): a bucket holds one key in so many of all, at least; cells between the keys of the sample;
 * slots, at most, which are fewer than 2^levels; keys a thread. */
#define SAMPLE_SLOTS_PART      1200
#define DRAWN_CELL_BITS        14
#define DRAWN_CELLS            (1u << DRAWN_CELL_BITS)
#define DRAWN_GROUP            1024u
#define DRAWN_DEVIATIONS       4.75f /* as CELL_SLOTS_DEVIATIONS */
#define DRAWN_NEAR             8     /* splitters on each side that say how dense keys are there, */
#define DRAWN_JUMP             4     /* and so many times their distance to the next one: a bucket begins; */
#define DRAWN_CROWD            1024  /* such a part of the reach of both: the next one is crowded; */
#define DRAWN_MOST_CROWDED     6144u /* of more of these it is given up, */
#define DRAWN_MOST_ODD         640u  /* of more of these, and of values that repeat and stand alone, it is given up */
#define SAMPLE_SLOTS_MAX       2048u
#define SAMPLE_SLOTS_LEVELS    11
#define SAMPLE_SLOTS_ROWS      24
#define SAMPLE_SLOTS_ROWS_WIDE 16
/* Integers of 32 bits are not for that if of a sample of 1,024 so many keys have one value, of which the next ones on both sides do not
 * occur, and there are so many such values. */
#define ALONE_KEYS   4
#define ALONE_VALUES 6

#endif
