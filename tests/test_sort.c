/* test_sort.c: sort, sort of pairs and argsort against literals and the oracle, on every setup.
 *
 * Stability shows because many distributions have few distinct keys (sort_keys.h), whose values differ (sort_check.c). */
#include <math.h>

#include "harness.h"
#include "oracle.h"
#include "sort_check.h"
#include "sort_keys.h"

static const struct place at_end = {AT_END, 0};

/* ---- cases -------------------------------------------------------------------------------------------------------------------- */

static void check_made(const struct sort_case *c, enum distribution distribution) {
    void *keys = make_keys(c->type, distribution, c->n);
    check_sort(c, keys, distribution_names[distribution]);
    free(keys);
}

static const size_t value_sizes[] = {4, 8, 1, 2, 16, 3, 12, 48};
enum { VALUE_SIZES = sizeof value_sizes / sizeof *value_sizes };

/* The i-th combination of value size, direction and places; keys alone in every second one with little memory. */
static struct sort_case variant(enum form form, upsweep_type type, uint64_t n, unsigned i) {
    struct sort_case c = {.form = form, .type = type, .n = n, .order = {.descending = i & 1}};
    if (has_values(form)) c.value_nbytes = value_sizes[i / 2 % VALUE_SIZES];
    c.order.low_memory = form < PAIRS && (i / 2 & 1);
    c.keys_at = (struct place){i & 2 ? AT_START : AT_END, i / 4 % 3 * elem_size(type)};
    c.out_at = (struct place){i & 4 ? AT_START : AT_END, i / 8 % 3 * elem_size(type)};
    c.values_at = (struct place){i & 8 ? AT_START : AT_END, i % 3};
    return c;
}

/* ---- literals ---------------------------------------------------------------------------------------------------------------- */

static void literal(enum form form, upsweep_type type, upsweep_order order, uint64_t n, const void *keys, const void *values,
                    size_t value_nbytes, struct answer want) {
    const struct sort_case c = {form, type, n, value_nbytes, order, at_end, at_end, at_end};
    case_begin("literal %s, %s, descending %u", form_names[form], upsweep_type_name(type), order.descending);
    FOR_EACH_SETUP(s) run_sort(s, &c, keys, values, &want);
}

static void test_literals(void) {
    const upsweep_order up = {0}, down = {.descending = 1}, low_nibble = {.lo_bit = 0, .hi_bit = 4};
    int32_t keys[] = {3, -1, 7, 0, -8, 3}, sorted[] = {-8, -1, 0, 3, 3, 7}, falling[] = {7, 3, 3, 0, -1, -8};
    uint32_t order[] = {4, 1, 3, 0, 5, 2};
    uint64_t falling_order[] = {2, 0, 5, 3, 1, 4};
    char *values = "abcdef", *sorted_values = "ebdafc", *falling_values = "cafdbe";
    literal(KEYS, UPSWEEP_I32, up, 6, keys, NULL, 0, (struct answer){.keys = sorted});
    literal(KEYS_IN_PLACE, UPSWEEP_I32, down, 6, keys, NULL, 0, (struct answer){.keys = falling});
    literal(PAIRS, UPSWEEP_I32, up, 6, keys, values, 1, (struct answer){.keys = sorted, .values = sorted_values});
    literal(PAIRS_IN_PLACE, UPSWEEP_I32, down, 6, keys, values, 1, (struct answer){.keys = falling, .values = falling_values});
    literal(ARGSORT32, UPSWEEP_I32, up, 6, keys, NULL, 0, (struct answer){.indices = order});
    literal(ARGSORT64, UPSWEEP_I32, down, 6, keys, NULL, 0, (struct answer){.indices = falling_order});

    uint8_t nibbles[] = {0x21, 0x10, 0xf1, 0x00}, by_low_nibble[] = {0x10, 0x00, 0x21, 0xf1};
    literal(KEYS, UPSWEEP_U8, low_nibble, 4, nibbles, NULL, 0, (struct answer){.keys = by_low_nibble});
    const float nan = (float)NAN, inf = (float)INFINITY;
    float floats[] = {0.0f, nan, -1, inf, -0.0f, 1, -inf, -nan}, total_order[] = {-nan, -inf, -1, -0.0f, 0.0f, 1, inf, nan};
    literal(KEYS, UPSWEEP_F32, up, 8, floats, NULL, 0, (struct answer){.keys = total_order});
}

/* ---- types, forms, sizes, distributions, bit ranges -------------------------------------------------------------------------- */

static void test_every_small_n(void) {
    static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_F64, UPSWEEP_I16, UPSWEEP_I32, UPSWEEP_U8, UPSWEEP_U64};
    for (unsigned n = 0; n <= 1100; n++) {
        for (unsigned k = 0; k < 6; k++) {
            if (n > 130 && (n + k) % (quick() ? 12 : 3)) continue;
            const struct sort_case c = variant((enum form)((n + k * 3) % FORMS), types[k], n, n * 7 + k);
            check_made(&c, n % 5 ? RANDOM : (enum distribution)((n / 5 + k) % DISTRIBUTIONS));
        }
    }
}

/* Up to two registers of keys alone, of which a network of narrow ones has most. */
static void test_every_small_n_of_narrow_keys(void) {
    static const upsweep_type types[] = {UPSWEEP_U8, UPSWEEP_I8, UPSWEEP_U16, UPSWEEP_I16};
    for (unsigned n = 0; n <= 130; n++) {
        for (unsigned k = 0; k < 4; k++) {
            const struct sort_case c = variant((n + k) % 2 ? KEYS : KEYS_IN_PLACE, types[k], n, n * 7 + k);
            check_made(&c, RANDOM);
        }
    }
}

/* Few enough for networks, whose sorted blocks are merged, and not: twice as many narrow keys as wide ones. */
static void test_merged_sizes(void) {
    static const upsweep_type wide[] = {UPSWEEP_U32, UPSWEEP_F64, UPSWEEP_I32, UPSWEEP_U64, UPSWEEP_F32};
    static const upsweep_type narrow[] = {UPSWEEP_U16, UPSWEEP_I8, UPSWEEP_I16, UPSWEEP_U8, UPSWEEP_I16};
    for (unsigned n = 1100, i = 0; n <= 2300; n += quick() ? 43 : 11, i++) {
        const enum distribution distribution = i % 7 ? RANDOM : (enum distribution)(i / 7 % DISTRIBUTIONS);
        const struct sort_case c = variant(i % 2 ? KEYS : KEYS_IN_PLACE, wide[i % 5], n, i);
        check_made(&c, distribution);
        const struct sort_case d = variant(i % 2 ? KEYS : KEYS_IN_PLACE, narrow[i % 5], i % 3 ? 2 * n - i % 2 : n, i);
        check_made(&d, distribution);
    }
}

/* Pairs of wide keys that differ in all their bits, or but for one key in few, more than have room beside a place; such that only the
 * greatest two agree where there is room, and are not in order; and such of which only the last is not. */
static void test_tagged_pairs(void) {
    static const upsweep_type types[] = {UPSWEEP_U64, UPSWEEP_F64, UPSWEEP_I64};
    static const enum distribution distributions[] = {SKEWED, OUTLIER, FEW_DISTINCT, REPEATS};
    for (unsigned n = 25, i = 0; n <= 258; n += quick() ? 5 : 1, i++) {
        const struct sort_case c = variant((enum form)(PAIRS + i % (FORMS - PAIRS)), types[i % 3], n, i);
        check_made(&c, distributions[i / 3 % 4]);
        uint64_t *keys = make_keys(UPSWEEP_U64, RANDOM, n);
        keys[n / 3] = INT64_MAX;
        keys[n / 2] = INT64_MAX - 1;
        check_sort(&c, keys, "two alike");
        free(keys);
        keys = make_keys(c.type, SORTED, n);
        keys[n - 1] = keys[n / 2];
        check_sort(&c, keys, "in order but for the last");
        free(keys);
        const struct sort_case d = variant(c.form, i % 2 ? UPSWEEP_I16 : UPSWEEP_U8, 2 * n, i);
        check_made(&d, i % 3 ? RANDOM : distributions[i / 3 % 4]);
    }
}

/* The lower half of all numbers has two keys, in the one order or the other: the smallest part that there is to sort. */
static void test_part_of_two(void) {
    const struct sort_case c = variant(KEYS, UPSWEEP_U32, 6000, 0);
    uint32_t *keys = make_keys(c.type, RANDOM, c.n);
    for (uint64_t i = 0; i < c.n; i++) keys[i] |= UINT32_C(1) << 31;
    for (uint32_t least = 1; least <= 2; least++) {
        keys[c.n / 3] = least;
        keys[c.n / 2] = 3 - least;
        check_sort(&c, keys, "two low keys");
    }
    free(keys);
}

/* In the opposite order, but for a few that are equal, at the ends, and where the library begins a stretch. */
static void test_falling_ties(void) {
    static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_F64, UPSWEEP_I32, UPSWEEP_U64};
    static const uint32_t ties[] = {1, 2, 256, 257, 512, 701, 702, 703, 1025, 1100}; /* from the end */
    for (unsigned i = 0; i < 16; i++) {
        const struct sort_case c = variant((enum form)(PAIRS + i % (FORMS - PAIRS)), types[i % 4], 1101 + i % 2 * 400, i & ~1u);
        void *keys = make_keys(c.type, REVERSED, c.n);
        for (unsigned k = 0; k < sizeof ties / sizeof *ties; k++) {
            const uint64_t at = c.n - 1 - ties[k];
            elem_store(keys, at, c.type, elem_load(keys, at + 1, c.type));
        }
        check_sort(&c, keys, "falling, with ties");
        free(keys);
    }
}

/* Evenly spread keys, but for some that lie close together where a sample, which takes every 18 m-th key, does not look: more in a bucket
 * than it has room for, than can be counted in a byte, than may be without a place, and that in one part of several. */
static void test_crowds(void) {
    static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_F32, UPSWEEP_U64, UPSWEEP_F64};
    static const struct {
        uint64_t nkeys, nplaces, n;
    } crowds[] = {{20, 1, 30000}, {240, 1, 30000}, {300, 1, 30000}, {1600, 20, 30000}, {9000, 20, 221190}};
    for (unsigned i = 0; i < 20; i++) {
        const struct sort_case c = {KEYS, types[i % 4], crowds[i / 4].n, 0, {.descending = i & 1}, at_end, at_end, at_end};
        void *keys = make_keys(c.type, EVEN, c.n);
        for (uint64_t k = 0; k < crowds[i / 4].nkeys; k++) {
            const uint64_t nth = k / crowds[i / 4].nplaces, at = k % crowds[i / 4].nplaces * 18 + 1;
            elem_store(keys, k * 18 + 1, c.type, elem_load(keys, at, c.type) ^ (nth * 7 & 255));
        }
        check_sort(&c, keys, "crowds");
        free(keys);
    }
}

/* As many different keys as are counted, and one more, which may be the last of all; and keys of which only the last is different. */
static void test_few_values(void) {
    static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_F32, UPSWEEP_I64, UPSWEEP_F64};
    static const uint32_t nvalues[] = {2, 3, 5, 15, 16, 17, 18};
    for (unsigned i = 0; i < 56; i++) {
        struct sort_case c = variant(i & 4 ? KEYS : KEYS_IN_PLACE, types[i % 4], 8200 + i % 3 * 7 + (i & 16 ? 60000 : 0), i);
        uint64_t values[18];
        struct rng rng = {i};
        for (uint32_t k = 0; k < nvalues[i / 8]; k++) values[k] = rng_next(&rng);
        void *keys = must_malloc(c.n * elem_size(c.type));
        for (uint64_t k = 0; k < c.n; k++) {
            const uint32_t known = nvalues[i / 8] - 1, pick = k == c.n - 1         ? known
                                                              : rng_below(&rng, 3) ? 0
                                                                                   : (uint32_t)rng_below(&rng, known);
            elem_store(keys, k, c.type, values[pick]);
        }
        check_sort(&c, keys, "few values");
        free(keys);
    }
}

/* A few keys that make most of all, the least and the greatest there is among them, and others between, or none: above and below the sizes
 * from which these are taken apart, and ends of vectors. */
static void test_heavy_keys(void) {
    static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_F32, UPSWEEP_I64, UPSWEEP_F64, UPSWEEP_U16, UPSWEEP_I16};
    static const uint64_t sizes[] = {257, 520, 777, 1025, 2050, 4200, 9001, 70000};
    for (unsigned i = 0; i < 96; i++) {
        struct sort_case c = variant(i & 8 ? KEYS : KEYS_IN_PLACE, types[i % 6], sizes[i / 6 % 8] + i % 5, i);
        const uint32_t nheavy = i % 7 + 1, others = i % 3;
        struct rng rng = {i};
        uint64_t heavy[8] = {0, UINT64_MAX};
        for (uint32_t k = 2; k < 8; k++) heavy[k] = rng_next(&rng);
        void *keys = must_malloc(c.n * elem_size(c.type));
        for (uint64_t k = 0; k < c.n; k++)
            elem_store(keys, k, c.type, rng_below(&rng, 6) < others ? rng_next(&rng) : heavy[rng_below(&rng, nheavy)]);
        check_sort(&c, keys, "heavy keys");
        free(keys);
    }
}

/* Keys of two bytes that are there as often as they fit places, counters, or do not; side by side, and far apart. */
static void test_counts_of_two_bytes(void) {
    static const uint32_t counts[] = {1, 2, 3, 4, 5, 15, 16, 17, 254, 255, 256, 510, 511};
    enum { KINDS = sizeof counts / sizeof *counts, MOST = 30000 };
    for (unsigned i = 0; i < 36; i++) {
        struct rng rng = {i};
        const uint32_t kinds = i % 3 == 0 ? KINDS : i % 3 == 1 ? 5 : 2, apart = i & 1 ? 1 : 9;
        uint16_t *keys = must_malloc(MOST * sizeof *keys);
        uint64_t n = 0;
        for (uint32_t key = 60000; n + 511 <= 4500 + i * 700; key = (key + apart) % 65536) {
            for (uint32_t times = counts[rng_below(&rng, kinds)]; times > 0; times--) keys[n++] = (uint16_t)key;
        }
        for (uint64_t k = n - 1; k > 0; k--) {
            const uint64_t with = rng_below(&rng, k + 1);
            const uint16_t key = keys[k];
            keys[k] = keys[with];
            keys[with] = key;
        }
        const struct sort_case c = variant(i & 4 ? KEYS : KEYS_IN_PLACE, i & 2 ? UPSWEEP_U16 : UPSWEEP_I16, n, i + i / 4);
        check_sort(&c, keys, "counts");
        free(keys);
    }
}

static void test_every_type_form_and_distribution(void) {
    static const uint64_t sizes[] = {300, 2100, 5000, 20000};
    unsigned i = 0;
    for (upsweep_type type = 0; type < UPSWEEP_TYPE_COUNT; type++) {
        for (enum form form = 0; form < FORMS; form++) {
            for (enum distribution distribution = 0; distribution < DISTRIBUTIONS; distribution++, i++) {
                const struct sort_case c = variant(form, type, sizes[(i + form + type) % (quick() ? 3 : 4)] + i % 7, i * 5 + i / 8);
                check_made(&c, distribution);
            }
        }
    }
}

static void test_block_edges(void) {
    static const uint64_t edges[] = {4096, 8192, 16384, 32768, 65536, 131072, 262144};
    unsigned i = 0;
    for (size_t e = 0; e < sizeof edges / sizeof *edges; e++) {
        for (upsweep_type type = 0; type < UPSWEEP_TYPE_COUNT; type++, i++) {
            if ((i + e) % (quick() ? 7 : 3)) continue;
            const struct sort_case c = variant((enum form)(i * 5 % FORMS), type, edges[e] - 1 + i % 3, i * 3);
            check_made(&c, i % 2 ? RANDOM : (enum distribution)(i / 2 % DISTRIBUTIONS));
        }
    }
}

static void test_bit_ranges(void) {
    static const struct {
        uint32_t lo, hi;
    } ranges[] = {{0, 1},   {1, 2},  {0, 8},   {3, 8},   {7, 8}, {0, 11}, {8, 16}, {5, 16}, {1, 30}, {12, 32},
                  {31, 32}, {0, 33}, {20, 64}, {63, 64}, {4, 0}, {7, 0},  {5, 5},  {8, 8},  {32, 0}, {64, 0}};
    unsigned i = 0;
    for (upsweep_type type = 0; type < UPSWEEP_TYPE_COUNT; type++) {
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
            if (ranges[r].hi > 8 * elem_size(type) || ranges[r].lo > 8 * elem_size(type)) continue;
            for (unsigned k = 0; k < 3; k++, i++) {
                struct sort_case c = variant((enum form)(i % FORMS), type, (const uint64_t[]){77, 1500, 9000}[k], i * 3 + k);
                c.order.low_memory = 0;
                c.order.lo_bit = ranges[r].lo;
                c.order.hi_bit = ranges[r].hi;
                check_made(&c, i % 4 ? RANDOM : SPECIAL);
            }
        }
    }
}

static void test_value_sizes(void) {
    static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 64, 100, 255, 1000, 4096};
    unsigned i = 0;
    for (size_t v = 0; v < sizeof sizes / sizeof *sizes; v++) {
        for (upsweep_type type = 0; type < UPSWEEP_TYPE_COUNT; type += (upsweep_type)(1 + v % 3), i++) {
            struct sort_case c = variant((enum form)(PAIRS + i % 4), type, sizes[v] > 100 ? 120 + i : i % 2 ? 3000 : 700, i);
            c.value_nbytes = sizes[v];
            check_made(&c, i % 3 ? RANDOM : FEW_DISTINCT);
        }
    }
}

/* Sizes that split several times, on several threads. */
static void test_big(void) {
    const uint64_t n = quick() ? 300001 : 700001;
    static const struct {
        enum form form;
        upsweep_type type;
        enum distribution distribution;
    } kinds[] = {{KEYS, UPSWEEP_U32, RANDOM},
                 {KEYS_IN_PLACE, UPSWEEP_F64, RANDOM},
                 {PAIRS, UPSWEEP_U32, RANDOM},
                 {ARGSORT32, UPSWEEP_I64, SKEWED},
                 {PAIRS_IN_PLACE, UPSWEEP_F32, SHARED_DIGITS},
                 {KEYS, UPSWEEP_F32, EVEN},
                 {KEYS_IN_PLACE, UPSWEEP_F32, EVEN_WITH_NAN},
                 {KEYS, UPSWEEP_F64, EVEN_WITH_NAN}, /* descending: a NaN taken for a number would be in the wrong bucket */
                 {KEYS, UPSWEEP_F64, EVEN},
                 {KEYS, UPSWEEP_U16, RANDOM},
                 {KEYS, UPSWEEP_U64, SKEWED},
                 {KEYS, UPSWEEP_U64, OUTLIER},
                 {ARGSORT64, UPSWEEP_I32, OUTLIER},
                 {PAIRS, UPSWEEP_I64, FEW_DISTINCT},
                 {KEYS, UPSWEEP_U8, RANDOM},
                 {KEYS_IN_PLACE, UPSWEEP_U64, ALL_EQUAL},
                 {KEYS, UPSWEEP_U32, REPEATS},
                 {KEYS, UPSWEEP_F64, REPEATS},
                 {KEYS_IN_PLACE, UPSWEEP_F32, FALLING_REPEATS},
                 {PAIRS_VALUES_IN_PLACE, UPSWEEP_I16, REVERSED}};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct sort_case c = variant(kinds[i].form, kinds[i].type, n, i);
        c.order.low_memory = 0;
        check_made(&c, kinds[i].distribution);
    }
}

/* The same with little memory, where all threads divide what one then sorts. */
static void test_big_low_memory(void) {
    static const struct {
        enum form form;
        upsweep_type type;
        enum distribution distribution;
    } kinds[] = {{KEYS, UPSWEEP_U32, RANDOM},          {KEYS_IN_PLACE, UPSWEEP_F64, SKEWED}, {KEYS, UPSWEEP_I64, FEW_DISTINCT},
                 {KEYS_IN_PLACE, UPSWEEP_F32, SORTED}, {KEYS, UPSWEEP_I32, ALL_EQUAL},       {KEYS_IN_PLACE, UPSWEEP_U64, OUTLIER}};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct sort_case c = variant(kinds[i].form, kinds[i].type, 300001, i);
        c.order.low_memory = 1;
        check_made(&c, kinds[i].distribution);
    }
}

/* Pairs that are split between splitters: more than fit L2. */
static void test_skewed_pairs(void) {
    static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_F64, UPSWEEP_I32, UPSWEEP_U64, UPSWEEP_F32, UPSWEEP_I64};
    static const enum distribution distributions[] = {HEAVY, SKEWED, SPECIAL, FEW_DISTINCT, OUTLIER};
    for (unsigned i = 0; i < (quick() ? 10 : 30); i++) {
        struct sort_case c = variant((enum form)(PAIRS + i % 4), types[i % 6], i % 3 ? 71000 + i : 260000 + i, i);
        c.value_nbytes = i / 6 % 2 ? 8 : 4;
        check_made(&c, distributions[i % 5]);
    }
}

/* Indices of many even keys, of which some are equal, far apart. */
static void test_indices_of_even_keys(void) {
    static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_F32, UPSWEEP_I32};
    static const uint64_t sizes[] = {1 << 15, 40001, 90001};
    for (unsigned i = 0; i < 9; i++) {
        struct sort_case c = variant(i / 3 == 2 ? ARGSORT64 : ARGSORT32, types[i % 3], sizes[i / 3], i);
        uint32_t *keys = make_keys(c.type, RANDOM, c.n);
        for (uint64_t k = 0; k < c.n; k += 701) keys[k] = keys[k / 2];
        check_sort(&c, keys, "even, with ties");
        if (i / 3 == 2) {
            c.form = ARGSORT32;
            check_sort(&c, keys, "even, with ties");
        }
        free(keys);
    }
}

/* Arrays too large for the caches, which may be written past them. */
static void test_beyond_caches(void) {
    struct sort_case c = variant(KEYS, UPSWEEP_U32, 4400001, 4);
    check_made(&c, RANDOM);
    if (quick()) return;
    c = variant(PAIRS, UPSWEEP_U64, 2200001, 2);
    check_made(&c, SKEWED);
}

int main(void) {
    harness_begin(true);
    test_literals();
    test_every_small_n();
    test_every_small_n_of_narrow_keys();
    test_merged_sizes();
    test_tagged_pairs();
    test_part_of_two();
    test_falling_ties();
    test_crowds();
    test_few_values();
    test_heavy_keys();
    test_counts_of_two_bytes();
    test_every_type_form_and_distribution();
    test_block_edges();
    test_bit_ranges();
    test_value_sizes();
    test_big();
    test_skewed_pairs();
    test_big_low_memory();
    test_indices_of_even_keys();
    test_beyond_caches();
    return harness_end();
}
