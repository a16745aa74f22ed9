/* sort_case.h: one sort on the GPU against the same on the CPU backend, which test_sort.c tests. */
#ifndef SORT_CASE_H
#define SORT_CASE_H

#include "harness.h"
#include "sort_draws.h"

enum { MAX_VALUE_NBYTES = 48 };

extern upsweep_context *cpu, *cuda; /* what test_case() compares; open between begin_sorts() and end_sorts() */

enum form { KEYS, PAIRS, ARGSORT32, ARGSORT64, FORMS };

struct sort_case {
    enum form form;
    upsweep_type type;
    uint64_t n;
    size_t key_nbytes, value_nbytes;
    upsweep_order order;
    bool keys_in_place, values_in_place;
    size_t shift; /* of the values, in bytes, behind an aligned address */
};

/* Begins the program and opens both contexts; false if there is no GPU or none is wanted. *device is what the GPU is. With
 * UPSWEEP_TEST_SEED in the environment, a number, all keys are drawn anew: each case with twenty of them is twenty runs. The library's
 * samples are those of UPSWEEP_CUDA_SEED, or of 0. */
bool begin_sorts(upsweep_device *device);

/* Closes them, and the program: its exit status. */
int end_sorts(void);

/* Sorts the same keys of the distribution on both; what they write must be the same, and nothing beside it written. */
void test_case(struct sort_case c, enum distribution distribution);

/* Every distribution by every way that a sort can go: by ranks; one partition; with any values; two partitions, of keys alone. */
void test_every_distribution(upsweep_type type, uint64_t n, bool keys_alone);

#endif
