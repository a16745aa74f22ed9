/* sort_check.c: one sort on every setup, against the oracle.
 *
 * Stability shows since values are random bytes, so that two equal keys in the wrong order carry different values. */
#include "sort_check.h"

#include <inttypes.h>

#include "oracle.h"

const char *const form_names[FORMS] = {
    "keys",           "keys in place",  "pairs",         "pairs, keys in place", "pairs, values in place",
    "pairs in place", "argsort to u32", "argsort to u64"};

static bool is_argsort(enum form form) { return form >= ARGSORT32; }

static void run_argsort(struct setup *s, const struct sort_case *c, const void *keys, const void *want) {
    const size_t index_nbytes = c->form == ARGSORT32 ? 4 : 8;
    void *got = must_malloc(c->n * index_nbytes);
    const void *d_keys = put(s, SLOT_IN, c->keys_at, keys, c->n * elem_size(c->type));
    void *d_indices = put(s, SLOT_OUT, (struct place){c->out_at.side, 0}, NULL, c->n * index_nbytes);
    if (CHECK_OK(upsweep_argsort(s->ctx, d_indices, d_keys, c->n, c->type, c->form == ARGSORT32 ? UPSWEEP_U32 : UPSWEEP_U64, &c->order))) {
        CHECK(take(s, SLOT_OUT, got));
        CHECK(untouched(s, SLOT_IN));
        CHECK_SAME(got, want, c->n, index_nbytes);
    }
    free(got);
}

static void run_keys(struct setup *s, const struct sort_case *c, const void *keys, const void *want) {
    const size_t nbytes = c->n * elem_size(c->type);
    const bool in_place = c->form == KEYS_IN_PLACE;
    void *got = must_malloc(nbytes);
    void *d_out = put(s, SLOT_OUT, c->out_at, in_place ? keys : NULL, nbytes);
    const void *d_keys = in_place ? d_out : put(s, SLOT_IN, c->keys_at, keys, nbytes);
    if (CHECK_OK(upsweep_sort(s->ctx, d_out, d_keys, c->n, c->type, &c->order))) {
        CHECK(take(s, SLOT_OUT, got));
        CHECK_SAME(got, want, c->n, elem_size(c->type));
        if (!in_place) CHECK(untouched(s, SLOT_IN));
    }
    free(got);
}

static void run_pairs(struct setup *s, const struct sort_case *c, const void *keys, const void *values, const struct answer *want) {
    const size_t nbytes = c->n * elem_size(c->type), values_nbytes = c->n * c->value_nbytes;
    const bool keys_in_place = c->form == PAIRS_KEYS_IN_PLACE || c->form == PAIRS_IN_PLACE;
    const bool values_in_place = c->form == PAIRS_VALUES_IN_PLACE || c->form == PAIRS_IN_PLACE;
    void *got_keys = must_malloc(nbytes), *got_values = must_malloc(values_nbytes);
    void *d_keys_out = put(s, SLOT_OUT, c->out_at, keys_in_place ? keys : NULL, nbytes);
    const void *d_keys = keys_in_place ? d_keys_out : put(s, SLOT_IN, c->keys_at, keys, nbytes);
    void *d_values_out = put(s, SLOT_VALUES_OUT, c->values_at, values_in_place ? values : NULL, values_nbytes);
    const void *d_values = values_in_place ? d_values_out : put(s, SLOT_VALUES_IN, c->values_at, values, values_nbytes);
    if (CHECK_OK(upsweep_sort_pairs(s->ctx, d_keys_out, d_keys, d_values_out, d_values, c->n, c->type, c->value_nbytes, &c->order))) {
        CHECK(take(s, SLOT_OUT, got_keys));
        CHECK(take(s, SLOT_VALUES_OUT, got_values));
        CHECK_SAME(got_keys, want->keys, c->n, elem_size(c->type));
        CHECK_SAME(got_values, want->values, c->n, c->value_nbytes);
        if (!keys_in_place) CHECK(untouched(s, SLOT_IN));
        if (!values_in_place) CHECK(untouched(s, SLOT_VALUES_IN));
    }
    free(got_keys);
    free(got_values);
}

void run_sort(struct setup *s, const struct sort_case *c, const void *keys, const void *values, const struct answer *want) {
    if (is_argsort(c->form))
        run_argsort(s, c, keys, want->indices);
    else if (has_values(c->form))
        run_pairs(s, c, keys, values, want);
    else
        run_keys(s, c, keys, want->keys);
}

static struct answer make_answer(const struct sort_case *c, const void *keys, const void *values) {
    uint64_t *indices = must_malloc(c->n * sizeof *indices);
    oracle_argsort(indices, keys, c->n, c->type, &c->order);
    struct answer want = {must_malloc(c->n * elem_size(c->type)), must_malloc(c->n * c->value_nbytes), must_malloc(8 * c->n)};
    oracle_gather(want.keys, keys, indices, c->n, elem_size(c->type));
    if (has_values(c->form)) oracle_gather(want.values, values, indices, c->n, c->value_nbytes);
    for (uint64_t i = 0; i < c->n; i++) elem_store(want.indices, i, c->form == ARGSORT32 ? UPSWEEP_U32 : UPSWEEP_U64, indices[i]);
    free(indices);
    return want;
}

void check_sort(const struct sort_case *c, const void *keys, const char *distribution) {
    struct rng rng = {c->n};
    void *values = must_malloc(c->n * c->value_nbytes);
    if (has_values(c->form)) rng_fill(&rng, values, c->n * c->value_nbytes);
    struct answer want = make_answer(c, keys, values);
    case_begin("sort %s, %s, %s, n %" PRIu64 ", values of %zu bytes, descending %u, bits %u to %u, low memory %u", form_names[c->form],
               upsweep_type_name(c->type), distribution, c->n, c->value_nbytes, c->order.descending, c->order.lo_bit, c->order.hi_bit,
               c->order.low_memory);
    FOR_EACH_SETUP(s) run_sort(s, c, keys, values, &want);
    free(values);
    free(want.keys);
    free(want.values);
    free(want.indices);
}
