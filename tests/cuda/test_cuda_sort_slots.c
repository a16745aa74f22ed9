/* test_cuda_sort_slots.c: sorts on the GPU of so many keys that they go to slots of their bucket, without being counted, against the CPU
 * backend: alone, with their indices, and with values. Floats: test_cuda_sort_floats.c. */
#include "oracle.h"
#include "sort_case.h"

/* Keys that go to slots without being counted, if they are uniform: two partitions, and one from the first size on up to where one is
 * enough. What is not uniform is seen at once, or when keys are on their way, or when a slot gets ahead of all others, or is full, in the
 * first partition or the second. Shifts: alignments of the input. */
static void test_slots(void) {
    static const enum distribution distributions[] = {RANDOM, TWINS, HALVED, HEDGE, SORTED, SKEWED, LUMP, LOW_SHARED, EQUAL, CLOT, WAVES};
    static const uint64_t sizes[] = {35000001, (7 << 20) + 1, 7 << 20, (7 << 20) - 1, (1 << 23) + 7, 34700000};
    for (size_t s = 0; s < (quick() ? 2 : sizeof sizes / sizeof *sizes); s++) {
        for (size_t d = 0; d < (quick() && s == 0 ? 3 : sizeof distributions / sizeof *distributions); d++) {
            struct sort_case c = {.form = KEYS, .type = UPSWEEP_U32, .n = sizes[s], .key_nbytes = 4, .shift = s + d};
            c.order.descending = (uint32_t)(s + d) % 2;
            test_case(c, distributions[d]);
            c = (struct sort_case){.form = KEYS, .type = UPSWEEP_I64, .n = sizes[s] / 2, .key_nbytes = 8, .order = c.order, .shift = d};
            if (s > 0 || !quick()) test_case(c, distributions[d]);
            c = (struct sort_case){.form = KEYS, .type = UPSWEEP_I32, .n = sizes[s], .key_nbytes = 4, .keys_in_place = true};
            if (d == 0) test_case(c, distributions[d]);
        }
    }
}

/* The same of 64 bits, of which that is from fewer on: into 2^7 slots, 2^8, and 2^9. */
static void test_few_wide_slots(void) {
    static const enum distribution distributions[] = {RANDOM, HEDGE, SORTED, SKEWED, LUMP, EQUAL, CLOT};
    static const uint64_t sizes[] = {(17 << 20) / 8, (17 << 20) / 8 - 1, 2500001, 3000001};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t d = 0; d < (quick() && s > 0 ? 2 : sizeof distributions / sizeof *distributions); d++) {
            struct sort_case c = {.form = KEYS, .type = d % 2 ? UPSWEEP_U64 : UPSWEEP_I64, .n = sizes[s], .key_nbytes = 8, .shift = d};
            c.order.descending = (uint32_t)(s + d) % 2;
            c.keys_in_place = (s + d) % 3 == 0;
            test_case(c, distributions[d]);
        }
    }
}

/* Keys of four sizes, in each of which there are so many distributions, of one type and the other by turns. */
static void test_sampled(const uint64_t *sizes, const enum distribution *distributions, size_t n, upsweep_type one, upsweep_type other) {
    for (size_t s = 0; s < (quick() ? 1 : 4); s++) {
        for (size_t d = 0; d < n; d++) {
            struct sort_case c = {.form = KEYS, .type = d % 2 ? other : one, .n = sizes[s], .key_nbytes = elem_size(one), .shift = d};
            c.order.descending = (uint32_t)(s + d) % 2;
            c.keys_in_place = d % 3 == 0;
            test_case(c, distributions[d]);
        }
    }
}

/* Keys of 64 bits that do not fit such slots, of which a sample says where buckets are to begin: up to where one partition is enough, which
 * two shapes of buckets are for, and one more. Frequent keys are not moved. Integers of 32 bits come to that behind a histogram, which
 * finds a bucket too big, or knows so before; but those of few bits, those of which some values stand alone, and those in many ranges are
 * left to the passes, as are those whose bins in slots would be deep. */
static void test_sampled_slots(void) {
    static const enum distribution wide[] = {SKEWED, HOT, LUMP, PROPORTION, MISFITS, HUMP, SMALL};
    static const enum distribution narrow[] = {HALVED,     HUMP, SCATTER, SKEWED, TUFTS,       HOT,        LUMP,
                                               PROPORTION, BELL, BLOCKS,  SMALL,  HIGH_SHARED, LOW_SHARED, RIVALS};
    static const uint64_t wide_sizes[] = {(17 << 20) / 8, (1 << 23) + 7, 22119599, 22119600};
    static const uint64_t narrow_sizes[] = {(28 << 20) / 4, (1 << 23) + 7, 21505199, 21505200};
    test_sampled(wide_sizes, wide, sizeof wide / sizeof *wide, UPSWEEP_U64, UPSWEEP_I64);
    test_sampled(narrow_sizes, narrow, sizeof narrow / sizeof *narrow, UPSWEEP_U32, UPSWEEP_I32);
}

/* Uniform keys with their indices, whose values must not repeat either: two partitions, one into larger buckets, one of more bits; and one
 * into no more than 2^8. */
static void test_indexed_slots(void) {
    static const enum distribution distributions[] = {RANDOM, HALVED, HEDGE, SORTED, KNOT, REPEATED, LUMP, LOW_SHARED, CLOT, WAVES};
    static const uint64_t sizes[] = {(28 << 20) / 8 - 1, (28 << 20) / 8, 4400001, (1 << 23) + 7, (9 << 21) + 5, 35700003};
    for (size_t s = 0; s < (quick() ? 3 : sizeof sizes / sizeof *sizes); s++) {
        for (size_t d = 0; d < (quick() ? 3 : sizeof distributions / sizeof *distributions); d++) {
            struct sort_case c = {.form = d % 3 == 1 ? ARGSORT64 : ARGSORT32, .n = sizes[s], .key_nbytes = 4, .shift = s + d};
            c.type = d % 2 ? UPSWEEP_U32 : UPSWEEP_I32;
            c.value_nbytes = c.form == ARGSORT64 ? 8 : 4;
            c.order.descending = (uint32_t)(s + d) % 2;
            test_case(c, distributions[d]);
        }
    }
}

/* The same of pairs, up to so many as one partition does for. Shifts: values that do not lie as their keys do go another way, as do pairs
 * that are sorted in place. Equal keys near each other are put in order at the end, if they are not too many; else that is seen at once, or
 * when much is written. */
static void test_pair_slots(void) {
    static const enum distribution distributions[] = {RANDOM, ECHO,  SUNK, LATE_ECHO, SORTED, LOW_SHARED,
                                                      LUMP,   HEDGE, KNOT, CLOT,      KNOTS,  WAVES};
    static const uint64_t sizes[] = {(20 << 20) / 8, (20 << 20) / 8 - 1, (9 << 21) + 5, (1 << 23) + 7, 1 << 25, (1 << 25) + 1};
    for (size_t s = 0; s < (quick() ? 3 : sizeof sizes / sizeof *sizes); s++) {
        for (size_t d = 0; d < (quick() && s > 0 ? 4 : sizeof distributions / sizeof *distributions); d++) {
            struct sort_case c = {.form = PAIRS, .n = sizes[s], .key_nbytes = 4, .value_nbytes = 4, .shift = d == 4 ? 4 : d % 2 * 16};
            c.type = d % 2 ? UPSWEEP_U32 : UPSWEEP_I32;
            c.order.descending = (uint32_t)(s + d) % 2;
            test_case(c, distributions[d]);
            c.keys_in_place = s % 2;
            c.values_in_place = !c.keys_in_place;
            if (d == 0) test_case(c, distributions[d]);
        }
    }
}

int main(void) {
    upsweep_device device;
    if (begin_sorts(&device)) {
        test_slots();
        test_few_wide_slots();
        test_sampled_slots();
        test_indexed_slots();
        test_pair_slots();
    }
    return end_sorts();
}
