/* test_cuda_sort_floats.c: sorts on the GPU of so many floats that they go to slots of their bucket, or have their cells counted, against
 * the CPU backend: alone, and with their indices. */
#include "oracle.h"
#include "sort_case.h"

/* Floats by value or, if they are not even, in slots of many sizes: two partitions, and one. What is nearly even is given up on the
 * way, but if it is so in one bucket only, as the settled keys are. In place there is one partition or none. */
static void test_float_slots(upsweep_type type) {
    static const enum distribution distributions[] = {PROPORTION, CLOSE, BELL,   ZEROES,  REPEATED, RANDOM, EQUAL,
                                                      SPREAD,     LONE,  TILTED, SETTLED, WHOLE,    PEAK,   TURNS};
    static const uint64_t nbytes[] = {160000008, (28 << 20) + 8, (32 << 20) - 16, 64 << 20, (64 << 20) + 8, 320000008};
    const size_t ndistributions = sizeof distributions / sizeof *distributions;
    for (size_t s = 0; s < (quick() ? 2 : sizeof nbytes / sizeof *nbytes); s++) {
        for (size_t d = 0; d < (quick() && s == 0 ? 3 : s < 2 ? ndistributions : 7); d++) {
            const size_t size = elem_size(type);
            struct sort_case c = {.form = KEYS, .type = type, .n = nbytes[s] / size, .key_nbytes = size, .shift = s + d};
            c.order.descending = (uint32_t)(s + d) % 2;
            c.keys_in_place = (s + d) % 3 == 2;
            test_case(c, distributions[d]);
        }
    }
}

/* Floats in slots by a sample: whose bits are random, or which are in other ways not even. Sizes up to which buckets are small, up to which
 * there is a sample, and one more. */
static void test_sampled_float_slots(void) {
    static const enum distribution distributions[] = {RANDOM, SORTED, TURNS, HOT, PROPORTION, LUMP};
    static const struct {
        upsweep_type type;
        uint64_t n;
    } sizes[] = {
        {UPSWEEP_F32, (28 << 20) / 4}, {UPSWEEP_F64, 9200001},  {UPSWEEP_F32, 9200000},  {UPSWEEP_F32, 9200001},
        {UPSWEEP_F32, 21505199},       {UPSWEEP_F32, 21505200}, {UPSWEEP_F64, 21171821},
    };
    for (size_t s = 0; s < (quick() ? 1 : sizeof sizes / sizeof *sizes); s++) {
        for (size_t d = 0; d < (quick() ? 3 : sizeof distributions / sizeof *distributions); d++) {
            struct sort_case c = {.form = KEYS, .type = sizes[s].type, .n = sizes[s].n, .key_nbytes = elem_size(sizes[s].type)};
            c.shift = d;
            c.order.descending = (uint32_t)(s + d) % 2;
            c.keys_in_place = d % 2 == 1;
            test_case(c, distributions[d]);
        }
    }
}

/* Floats with their indices, by cells, which are counted in full or not, and of which one may be filled in part; or by stable passes, if a
 * look at them shows that values repeat. */
static void test_indexed_floats(void) {
    static const enum distribution distributions[] = {TILTED, WHOLE, BELL, ZEROES, SORTED};
    static const uint64_t sizes[] = {3000001, (5 << 20) + 3, (9 << 21) + 5};
    for (size_t s = 0; s < (quick() ? 2 : sizeof sizes / sizeof *sizes); s++) {
        for (size_t d = 0; d < (quick() ? 2 : sizeof distributions / sizeof *distributions); d++) {
            struct sort_case c = {
                .form = ARGSORT32, .type = UPSWEEP_F32, .n = sizes[s], .key_nbytes = 4, .value_nbytes = 4, .shift = s + d};
            c.order.descending = (uint32_t)(s + d) % 2;
            test_case(c, distributions[d]);
        }
    }
}

/* Floats whose values all repeat, so that neither slots by value nor by cells are large enough, and no value is frequent: they are counted.
 * Of sorted ones it seems that some are. */
static void test_repeating_floats(void) {
    static const struct {
        upsweep_type type;
        enum distribution distribution;
        uint64_t n;
    } cases[] = {
        {UPSWEEP_F32, PRICED, 25000000}, {UPSWEEP_F32, RISING_PRICES, 25000000}, {UPSWEEP_F64, PRICED, 22500003},
        {UPSWEEP_F32, PRICED, 15000003}, {UPSWEEP_F32, RISING_PRICES, 8000003},  {UPSWEEP_F64, RISING_PRICES, 22500003},
    };
    for (size_t i = 0; i < (quick() ? 2 : sizeof cases / sizeof *cases); i++) {
        struct sort_case c = {.form = KEYS, .type = cases[i].type, .n = cases[i].n, .key_nbytes = elem_size(cases[i].type), .shift = i};
        c.order.descending = (uint32_t)i % 2;
        c.keys_in_place = i % 4 == 3;
        test_case(c, cases[i].distribution);
    }
}

/* So many that 64 blocks look whether they repeat. */
static void test_many_indexed_floats(void) {
    struct sort_case c = {.form = ARGSORT32, .type = UPSWEEP_F32, .n = (1 << 26) + 5, .key_nbytes = 4, .value_nbytes = 4};
    test_case(c, PROPORTION);
    test_case(c, PRICED);
}

int main(void) {
    upsweep_device device;
    if (begin_sorts(&device)) {
        test_float_slots(UPSWEEP_F32);
        test_float_slots(UPSWEEP_F64);
        test_sampled_float_slots();
        test_indexed_floats();
        test_repeating_floats();
        if (!quick()) test_many_indexed_floats();
    }
    return end_sorts();
}
