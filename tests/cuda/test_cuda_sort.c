/* test_cuda_sort.c: sorts on the GPU against the CPU backend: every distribution, and what leads to each of the plans.
 *
 * Which way a sort goes depends on n and on what the first kernel finds in the keys, so sizes are around the borders of the plans, and many
 * distributions leave the highest, the middle or the lowest bits to a few values. Random ones: test_cuda_sort_random.c; large ones:
 * test_cuda_sort_large.c and test_cuda_sort_slots.c.
 */
#include "oracle.h"
#include "sort_case.h"

static uint64_t row; /* keys, if each thread of all multiprocessors takes one */

/* Keys of 1 and 2 bytes: from the first size on that is counted without a cluster; and with more equal keys to a CTA than a counter of 16
 * bits can count. */
static void test_counting(upsweep_type type, uint64_t min_n) {
    static const enum distribution distributions[] = {EQUAL, RANDOM};
    test_every_distribution(type, min_n, true);
    test_every_distribution(type, 70001, true);
    for (int i = 0; i < (quick() ? 0 : 2); i++) {
        const struct sort_case c = {.form = KEYS, .type = type, .n = (9 << 20) + 3, .key_nbytes = elem_size(type), .shift = 5};
        test_case(c, distributions[i]);
    }
}

/* Floats are split by value, or by cells: sizes of one partition and of two, of a sample and of more; distributions that take the one, the
 * other, or neither. */
static void test_floats(upsweep_type type) {
    static const enum distribution distributions[] = {PROPORTION, BELL, STRAYS, CLOSE, ZEROES, RANDOM, SKEWED};
    static const uint64_t sizes[] = {16500,         33000,         200000,        (1 << 19) + 1, (1 << 20) + 7,
                                     (1 << 21) - 5, (1 << 22) + 1, (1 << 23) - 3, (9 << 21) + 3};
    for (size_t s = 0; s < (quick() ? 5 : sizeof sizes / sizeof *sizes); s++) {
        for (size_t d = 0; d < sizeof distributions / sizeof *distributions; d++) {
            struct sort_case c = {.form = KEYS, .type = type, .n = sizes[s], .key_nbytes = elem_size(type), .keys_in_place = d % 2};
            c.order.descending = (uint32_t)(s + d) % 2;
            test_case(c, distributions[d]);
            if (type == UPSWEEP_F32) {
                c = (struct sort_case){
                    .form = ARGSORT32, .type = type, .n = sizes[s], .key_nbytes = 4, .value_nbytes = 4, .order = c.order};
                test_case(c, distributions[d]);
            }
        }
    }
}

/* Floats of which one value, what is next to zero, or a narrow range is too much for a bucket by cells, which a sample tells: in one
 * launch, by a sample or by splitters, and in more. */
static void test_crowded_floats(void) {
    static const enum distribution distributions[] = {HEAP, RANDOM, BANKS};
    static const uint64_t sizes[] = {(1 << 20) - 7, (1 << 22) + 1, 33000, 1 << 18, (1 << 21) + 3, (1 << 23) - 3};
    for (unsigned i = 0; i < (quick() ? 2 : sizeof sizes / sizeof *sizes) * 9; i++) {
        const upsweep_type type = i % 3 ? UPSWEEP_F32 : UPSWEEP_F64;
        struct sort_case c = {.form = i % 3 == 2 ? ARGSORT32 : KEYS, .type = type, .n = sizes[i / 9], .key_nbytes = elem_size(type)};
        c.value_nbytes = c.form == KEYS ? 0 : 4;
        c.order.descending = i / 9 % 2;
        c.keys_in_place = c.form == KEYS && i % 2;
        test_case(c, distributions[i / 3 % 3]);
    }
}

/* Keys of narrow ranges, whose bins are deep until the bits are left out that all keys of a bucket share: in one launch, by value, by
 * cells, by a sample or by splitters, and in more; as the ranges are, so are the deep bins at equal distances. */
static void test_narrow_ranges(void) {
    static const uint64_t sizes[] = {(1 << 20) - 9, (1 << 22) + 1, 70001, 1 << 18, (1 << 21) + 3, (1 << 23) - 3};
    static const upsweep_type types[] = {UPSWEEP_F32, UPSWEEP_U32, UPSWEEP_F64, UPSWEEP_I32};
    for (unsigned i = 0; i < (quick() ? 2 : sizeof sizes / sizeof *sizes) * 4; i++) {
        struct sort_case c = {.form = KEYS, .type = types[i % 4], .n = sizes[i / 4], .key_nbytes = elem_size(types[i % 4])};
        c.order.descending = i / 2 % 2;
        c.keys_in_place = i % 3 == 0;
        test_case(c, i % 2 ? BLOCKS : TURNS);
    }
}

/* Keys of which buckets have deep bins: as they lie in many narrow ranges, whatever the bits; as one is far below all others, or one value;
 * or if a bucket has keys on both sides of a gap. */
static void test_deep_bins(void) {
    static const uint64_t sizes[] = {1 << 19, (1 << 20) - 5, (1 << 21) + 3, (1 << 22) - 9, 70001, 1 << 18};
    static const upsweep_type types[] = {UPSWEEP_U64, UPSWEEP_U32, UPSWEEP_I64, UPSWEEP_I32};
    for (unsigned i = 0; i < (quick() ? 4 : sizeof sizes / sizeof *sizes) * 4; i++) {
        struct sort_case c = {.form = KEYS, .type = types[i % 4], .n = sizes[i / 4], .key_nbytes = elem_size(types[i % 4])};
        c.order.descending = i / 2 % 2;
        c.keys_in_place = i % 3 == 0;
        test_case(c, TIERS);
        test_case(c, GROUND);
        test_case(c, DEPTHS);
        test_case(c, SHORES);
    }
}

/* Sizes around those from which on a row more is needed if each multiprocessor takes a tile, up to where that way ends; keys that are
 * spread take it, skewed ones are found not to. */
static void test_rows(void) {
    static const uint64_t rows[] = {1, 4, 8, 12, 16, 24, 32};
    static const upsweep_type types[] = {UPSWEEP_I32, UPSWEEP_U64};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (uint64_t past = 0; past < 2; past++) {
            const uint64_t n = rows[i] * row + past;
            struct sort_case c = {.form = KEYS, .type = types[past], .n = n, .key_nbytes = elem_size(types[past]), .keys_in_place = i % 2};
            test_case(c, RANDOM);
            test_case(c, i % 2 ? HOT : SKEWED);
            c = (struct sort_case){.form = ARGSORT32, .type = UPSWEEP_U32, .n = n, .key_nbytes = 4, .value_nbytes = 4};
            test_case(c, RANDOM);
        }
    }
}

/* Skewed keys of sizes from which and up to which they are split by a sample, those of 32 bits alone or others, and of one more; and equal
 * keys that the sample sees too seldom. Keys of two bytes: up to where all are counted at once. */
static void test_samples(void) {
    static const enum distribution distributions[] = {EQUAL, FEW, SKEWED, HOT, OUTLIER, REPEATED, LUMP, SPARSE, PROPORTION};
    static const uint64_t sizes[] = {8193, 16385, 33000, 1 << 18, (1 << 20) - 1, 1 << 20, 1 << 21, 1 << 22};
    for (size_t s = 0; s < (quick() ? 3 : sizeof sizes / sizeof *sizes); s++) {
        for (size_t d = 0; d < sizeof distributions / sizeof *distributions; d++) {
            for (uint64_t past = 0; past < 2; past++) {
                const upsweep_type types[] = {d % 2 ? UPSWEEP_I32 : UPSWEEP_U32, UPSWEEP_U64, UPSWEEP_U16};
                for (int i = 0; i < 3; i++) {
                    struct sort_case c = {.form = KEYS, .type = types[i], .n = sizes[s] + past, .key_nbytes = elem_size(types[i])};
                    c.order.descending = (uint32_t)(s + d) % 2;
                    c.keys_in_place = (s + d) % 2;
                    test_case(c, distributions[d]);
                }
                const struct sort_case c = {
                    .form = ARGSORT32, .type = UPSWEEP_U32, .n = sizes[s] + past, .key_nbytes = 4, .value_nbytes = 4};
                test_case(c, distributions[d]);
            }
        }
    }
}

/* Skewed keys with their indices, or values, of more rows than rounds are for, up to where they do not fit the multiprocessors any more: by
 * passes, whose tiles are of full rows, or less. */
static void test_indexed_rows(void) {
    static const enum distribution distributions[] = {HOT,    SKEWED,  OUTLIER,    LUMP,   HUMP,  TUFTS, SORTED, REPEATED, HEAP,
                                                      HALVED, SCATTER, PROPORTION, SPARSE, EQUAL, FEW,   BANKS,  KNOTS,    RIVALS};
    static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_F32, UPSWEEP_I32};
    static const size_t widths[] = {4, 8, 4, 2};
    const uint64_t sizes[] = {8 * row + 1, 16 * row - 4097, 1500001, 16 * row};
    enum { MANY = sizeof distributions / sizeof *distributions };
    for (unsigned i = 0; i < (quick() ? 1 : 4) * MANY * 2; i++) {
        const bool pairs = (i / MANY + i) % 2;
        struct sort_case c = {.form = pairs ? PAIRS : i % 3 ? ARGSORT32 : ARGSORT64, .type = types[i / 2 % 3], .n = sizes[i / MANY / 2]};
        c.key_nbytes = 4;
        c.value_nbytes = pairs ? widths[i / 2 % 4] : c.form == ARGSORT32 ? 4 : 8;
        c.order.descending = i / 3 % 2;
        c.order.hi_bit = i % 11 == 5 ? 31 : 0;
        c.keys_in_place = pairs && i % 5 == 2;
        c.values_in_place = pairs && i % 7 == 3;
        c.shift = i % 4;
        test_case(c, distributions[i % MANY]);
    }
}

/* Keys that no split is for, though they fit the multiprocessors: sorted by the launch that has found that, up to 2^20 of them. */
static void test_buried(void) {
    static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_I64, UPSWEEP_F32, UPSWEEP_F64, UPSWEEP_I32, UPSWEEP_U64};
    const uint64_t sizes[] = {20000, row + 1, 1 << 17, 4 * row, 4 * row + 1, (1 << 20) - 77, 1 << 20, (1 << 20) + 1};
    for (unsigned i = 0; i < (quick() ? 18 : 6 * sizeof sizes / sizeof *sizes * 2); i++) {
        struct sort_case c = {.form = KEYS, .type = types[i % 6], .n = sizes[i / 6 % 8], .key_nbytes = elem_size(types[i % 6])};
        c.order.descending = i / 3 % 2;
        c.keys_in_place = i / 48 == (i / 2 % 2);
        test_case(c, BURIED);
    }
}

/* Keys of one byte: up to how many they are ranked, one CTA's, and those of a cluster, by words and by more; and one more. Inputs
 * and outputs that are aligned to nothing, and all distributions in turn. */
static void test_bytes(void) {
    static const uint64_t sizes[] = {255, 300, 4096, 8192, 20000, 65536, 131087, 1 << 18, 3 << 17};
    for (unsigned i = 0; i < (quick() ? 4 : 24) * 9 * 2; i++) {
        struct sort_case c = {.form = KEYS, .type = i / 18 % 2 ? UPSWEEP_I8 : UPSWEEP_U8, .n = sizes[i % 9] + i / 9 % 2, .key_nbytes = 1};
        c.order.descending = i / 36 % 2;
        c.keys_in_place = i / 18 % 3 == 0;
        c.shift = i / 9 + i % 9;
        test_case(c, (enum distribution)((i / 18 + i % 9) % DISTRIBUTIONS));
    }
}

/* Keys of which some bits do not vary: what fits the multiprocessors and what does not, and more than that; and if a sample misses bits.
 */
static void test_gaps(void) {
    static const enum distribution distributions[] = {SPARSE, MISFIT, MISFITS, HIGH_SHARED, MIDDLE_SHARED, HALVED};
    static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_I64, UPSWEEP_I32, UPSWEEP_F64, UPSWEEP_U64, UPSWEEP_F32};
    static const uint64_t sizes[] = {16385, 70001, (1 << 20) + 1, (1 << 21) + 77, (1 << 22) + 9, 9 << 20};
    for (unsigned i = 0; i < (quick() ? 2 : 6) * 6 * 3; i++) {
        for (unsigned t = i % 2; t < 6; t += 2) {
            struct sort_case c = {.form = (enum form)(i % 3), .type = types[t], .n = sizes[i / 18], .key_nbytes = elem_size(types[t])};
            c.value_nbytes = c.form == KEYS ? 0 : c.form == PAIRS && i % 2 ? 8 : 4;
            c.order.descending = i / 3 % 2;
            c.keys_in_place = c.form <= PAIRS && (i + t) % 3 == 0;
            c.values_in_place = c.form == PAIRS && (i + t) % 4 == 0;
            c.shift = i % 5;
            test_case(c, distributions[i / 3 % 6]);
        }
    }
}

/* Skewed keys, and such with gaps, of sizes around those that say how many neighbouring parts are a bucket, and at which these are as large
 * as may be; years of dates are a bucket each, in one part or two, or too large for one. */
static void test_parts(void) {
    static const enum distribution distributions[] = {DATES, RECORDS, TIERS, MISFITS, SPARSE, SKEWED, HOT, HUMP, LUMP, TUFTS, PROPORTION};
    static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_I64, UPSWEEP_I32, UPSWEEP_U64, UPSWEEP_F32, UPSWEEP_F64};
    static const uint64_t sizes[] = {98304,  98305,  27554,  1 << 18, (1 << 18) + 1, 110000, 131072,
                                     185364, 400000, 460000, 530000,  740000,        1200000};
    enum { MANY = sizeof distributions / sizeof *distributions };
    for (unsigned i = 0; i < (quick() ? 3 : sizeof sizes / sizeof *sizes) * MANY * 3; i++) {
        const unsigned size = i / 3 / MANY, which = i / 3 % MANY;
        const upsweep_type type = types[(which + size) % (which < 5 ? 4 : 6)]; /* floats have no gaps */
        struct sort_case c = {.form = (enum form)(i % 3), .type = type, .n = sizes[size], .key_nbytes = elem_size(type)};
        c.value_nbytes = c.form == KEYS ? 0 : c.form == PAIRS && i % 2 ? 8 : 4;
        c.order.descending = i / 7 % 2;
        c.keys_in_place = c.form <= PAIRS && i % 5 == 0;
        c.values_in_place = c.form == PAIRS && i % 4 == 0;
        test_case(c, distributions[which]);
    }
}

/* Keys that are ranked: sizes around those from which on a multiprocessor takes twice as many, and up to which it is done; all forms, some
 * of the bits or none, and in place, for which all wait. */
static void test_ranks(void) {
    static const uint64_t own[] = {1, 16, 32, 64, 128};
    for (uint64_t i = 0; i < 7 * 3 * FORMS; i++) {
        const uint64_t which = i / 3 % 7, n = (which < 5 ? own[which] * (row / 1024) : UINT64_C(1) << (which + 8)) - 1 + i % 3;
        for (int t = 0; t < UPSWEEP_TYPE_COUNT; t += quick() ? 3 : 1) {
            const upsweep_type type = (upsweep_type)(((uint64_t)t + i) % UPSWEEP_TYPE_COUNT);
            struct sort_case c = {.form = (enum form)(i / 21), .type = type, .n = n, .key_nbytes = elem_size(type), .shift = i % 2 * 4};
            c.value_nbytes = c.form == PAIRS ? (i % 2 ? 16 : 4) : c.form == KEYS ? 0 : c.form == ARGSORT32 ? 4 : 8;
            c.order.descending = (uint32_t)(i / 2 % 2);
            if (t % 2) c.order.hi_bit = (uint32_t)(1 + rng_below(&rng, 8 * c.key_nbytes));
            c.keys_in_place = c.form <= PAIRS && i % 4 == 1;
            c.values_in_place = c.form == PAIRS && i % 4 == 3;
            test_case(c, (enum distribution)rng_below(&rng, DISTRIBUTIONS));
        }
    }
}

/* Keys of 32 bits that go with their indices: pairs, and by some of their bits, and by so few that it takes one pass. Sizes around the
 * first and the last that do, and beyond powers of two by little and by much. */
static void test_indexed(void) {
    static const uint32_t bits[][2] = {{0, 0}, {0, 1}, {31, 32}, {3, 11}, {5, 14}, {0, 31}, {16, 32}};
    static const size_t value_sizes[] = {4, 8, 1, 16, 3, MAX_VALUE_NBYTES};
    const uint64_t last = 16 * row, sizes[] = {16385, 33000, 70001, 110000, 150000, (1 << 18) + 1, last, last + 1};
    for (unsigned i = 0; i < (quick() ? 5 : 8) * 7 * 7 * 3; i++) {
        const upsweep_type type = i / 3 % 3 == 0 ? UPSWEEP_U32 : i / 3 % 3 == 1 ? UPSWEEP_I32 : UPSWEEP_F32;
        struct sort_case c = {.form = (enum form)(i % 3), .type = type, .n = sizes[i / 147], .key_nbytes = 4, .shift = i % 5};
        c.value_nbytes = c.form == PAIRS ? value_sizes[i / 3 % (c.n < 200000 ? 6 : 2)] : c.form == ARGSORT32 ? 4 : 0;
        c.order = (upsweep_order){i / 2 % 2, bits[i / 7 % 7][0], bits[i / 7 % 7][1], 0};
        c.keys_in_place = c.form <= PAIRS && i / 6 % 2;
        c.values_in_place = c.form == PAIRS && i / 12 % 2;
        test_case(c, (enum distribution)(i % 7 * 3));
    }
}

/* By a few bits or by many, of every type, anywhere in the key: around what gives each thread a key more, and what is too much for one
 * launch.
 */
static void test_rounds(void) {
    static const size_t value_sizes[] = {4, 8, 1, 16, 3, MAX_VALUE_NBYTES};
    const uint64_t sizes[] = {16385,       70001,    row,      row + 1,      5 * row - 7, 8 * row,
                              8 * row + 1, 14 * row, 16 * row, 24 * row + 1, 32 * row + 1};
    for (unsigned i = 0; i < (quick() ? 80 : 400); i++) {
        struct sort_case c = {.form = (enum form)(i % FORMS), .type = (upsweep_type)rng_below(&rng, UPSWEEP_TYPE_COUNT), .shift = i % 5};
        c.n = sizes[rng_below(&rng, rng_below(&rng, 4) ? 5 : 11)]; /* large ones take the CPU long */
        c.key_nbytes = elem_size(c.type);
        c.value_nbytes = c.form == PAIRS       ? value_sizes[rng_below(&rng, c.n < 200000 ? 6 : 4)]
                         : c.form == ARGSORT32 ? 4
                         : c.form == ARGSORT64 ? 8
                                               : 0;
        const uint32_t all = (uint32_t)(8 * c.key_nbytes), mosts[] = {8, 8, 16, 64}, most = mosts[rng_below(&rng, 4)];
        const uint32_t nbits = rng_below(&rng, 8) ? 1 + (uint32_t)rng_below(&rng, all < most ? all : most) : all;
        const uint32_t lo = (uint32_t)rng_below(&rng, all - nbits + 1);
        c.order = (upsweep_order){(uint32_t)rng_below(&rng, 2), lo, lo + nbits, 0};
        c.keys_in_place = c.form <= PAIRS && rng_below(&rng, 2);
        c.values_in_place = c.form == PAIRS && rng_below(&rng, 2);
        test_case(c, (enum distribution)rng_below(&rng, DISTRIBUTIONS));
    }
}

/* Keys with something, of sizes that the smaller tiles of passes and of stable partitions take in one full round or in two; and less, so
 * that the last tile is short, or that there are fewer. Some kinds have strays. */
static void test_full_rounds(void) {
    static const enum distribution distributions[] = {SKEWED, RANDOM, FLOCK, MISFIT, HOT, MISFITS, NIBBLE};
    static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_U64, UPSWEEP_I32};
    const uint64_t sizes[] = {16 * row, 32 * row, 14 * row + 1, 16 * row - 4097, 32 * row - 8192, 28 * row + 1};
    for (unsigned i = 0; i < (quick() ? 2 : 6) * 7 * 6; i++) {
        struct sort_case c = {.form = i % 2 ? ARGSORT32 : PAIRS, .type = types[i % 3], .n = sizes[i / 42]};
        c.key_nbytes = elem_size(c.type);
        c.value_nbytes = c.form == PAIRS && i % 4 ? 8 : 4;
        c.order.descending = (i / 12 + i / 42) % 2;
        c.keys_in_place = c.form == PAIRS && (i / 6 + i / 42) % 2;
        test_case(c, distributions[i / 6 % 7]);
    }
}

int main(void) {
    upsweep_device device;
    if (begin_sorts(&device)) {
        row = device.units * UINT64_C(1024);
        static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_I64, UPSWEEP_F32};
        for (int i = 0; i < 3; i++) {
            test_every_distribution(types[i], 4000, false);
            test_every_distribution(types[i], 70001, false);
            if (!quick()) test_every_distribution(types[i], (1 << 21) + 5, false);
        }
        test_counting(UPSWEEP_I8, 8193);
        test_bytes();
        test_counting(UPSWEEP_U16, 8193);
        test_floats(UPSWEEP_F32);
        test_floats(UPSWEEP_F64);
        test_crowded_floats();
        test_narrow_ranges();
        test_deep_bins();
        test_ranks();
        test_samples();
        test_indexed_rows();
        test_buried();
        test_gaps();
        test_parts();
        test_rows();
        test_indexed();
        test_rounds();
        test_full_rounds();
    }
    return end_sorts();
}
