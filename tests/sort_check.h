/* sort_check.h: one sort on every setup, against the oracle: sort, sort of pairs and argsort. For test_sort.c. */
#ifndef SORT_CHECK_H
#define SORT_CHECK_H

#include "harness.h"

enum form { KEYS, KEYS_IN_PLACE, PAIRS, PAIRS_KEYS_IN_PLACE, PAIRS_VALUES_IN_PLACE, PAIRS_IN_PLACE, ARGSORT32, ARGSORT64, FORMS };
extern const char *const form_names[FORMS];

struct sort_case {
    enum form form;
    upsweep_type type;
    uint64_t n;
    size_t value_nbytes; /* of pairs */
    upsweep_order order;
    struct place keys_at, out_at, values_at;
};

static inline bool has_values(enum form form) { return form >= PAIRS && form <= PAIRS_IN_PLACE; }

/* What must come out, where the form has it. */
struct answer {
    void *keys, *values, *indices;
};

/* The case on one setup. values [n] where the form has them. */
void run_sort(struct setup *s, const struct sort_case *c, const void *keys, const void *values, const struct answer *want);

/* The case on all of them; values are random bytes. distribution: what a failure says of the keys. */
void check_sort(const struct sort_case *c, const void *keys, const char *distribution);

#endif
