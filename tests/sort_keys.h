/* sort_keys.h: the keys that test_sort.c sorts: one distribution for each way that a radix sort can be surprised. */
#ifndef SORT_KEYS_H
#define SORT_KEYS_H

#include "upsweep.h"

enum distribution {
    RANDOM,
    SORTED,
    REVERSED,
    ALL_EQUAL,
    FEW_DISTINCT,
    SHARED_DIGITS,
    SPECIAL,
    SKEWED,
    OUTLIER,
    EVEN,
    EVEN_WITH_NAN,
    REPEATS,
    FALLING_REPEATS,
    HEAVY,
    DISTRIBUTIONS
};

extern const char *const distribution_names[DISTRIBUTIONS];

/* keys [n], the same on every machine; the caller frees them. */
void *make_keys(upsweep_type type, enum distribution distribution, uint64_t n);

#endif
