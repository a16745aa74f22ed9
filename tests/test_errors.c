/* test_errors.c: every documented rejection: its status, a sentence that names the argument, and not a byte written.
 *
 * Each call below is a good call with one thing wrong. N elements of 4 bytes (or their like) lie in every slot. */
#include <stdio.h>

#include "harness.h"
#include "oracle.h"

enum { N = 100, FEW = 12 };

static const struct place at_end = {AT_END, 0};

/* The arguments of good calls, all in context memory. */
static struct arguments {
    int32_t *in, *out, *rest;
    uint8_t *values_in, *values_out, *flags; /* values of 8 bytes */
    int32_t *init, *total;
    uint64_t *count;
} a;

static void lay_out(struct setup *s) {
    struct rng rng = {1};
    unsigned char bytes[8 * N];
    rng_fill(&rng, bytes, sizeof bytes);
    a.in = put(s, SLOT_IN, at_end, bytes, 4 * N);
    a.out = put(s, SLOT_OUT, at_end, NULL, 4 * N);
    a.rest = put(s, SLOT_REST, at_end, NULL, 4 * N);
    a.values_in = put(s, SLOT_VALUES_IN, at_end, bytes, 8 * N);
    a.values_out = put(s, SLOT_VALUES_OUT, at_end, NULL, 8 * N);
    a.flags = put(s, SLOT_FLAGS, at_end, bytes, N);
    a.init = put(s, SLOT_INIT, at_end, bytes, 8);
    a.total = put(s, SLOT_TOTAL, at_end, NULL, 8);
    a.count = put(s, SLOT_COUNT, at_end, NULL, 16);
}

static void rejects(struct setup *s, upsweep_status got, upsweep_status want, const char *word, const char *call, int line) {
    check_status(got, want, call, __FILE__, line);
    const char *sentence = upsweep_error(s->ctx);
    if (!check(names(sentence, word), call, __FILE__, line)) printf("    the sentence should name %s: \"%s\"\n", word, sentence);
    for (enum slot slot = 0; slot < SLOT_SCRATCH; slot++) check(untouched(s, slot), call, __FILE__, line);
}
#define REJECTS(want, word, call) rejects(s, (call), UPSWEEP_ERR_##want, (word), #call, __LINE__)

static void *shifted(void *p, ptrdiff_t nbytes) { return (char *)p + nbytes; }

/* ---- scan -------------------------------------------------------------------------------------------------------------------- */

static void test_scan_arguments(struct setup *s) {
    upsweep_context *c = s->ctx;
    const upsweep_type i32 = UPSWEEP_I32;
    const upsweep_op add = UPSWEEP_ADD;
    REJECTS(NULL, "out", upsweep_scan(c, NULL, a.in, N, i32, add, 0));
    REJECTS(NULL, "in", upsweep_scan(c, a.out, NULL, N, i32, add, 0));
    REJECTS(TYPE, "type", upsweep_scan(c, a.out, a.in, N, UPSWEEP_TYPE_COUNT, add, 0));
    REJECTS(TYPE, "type", upsweep_scan(c, a.out, a.in, N, (upsweep_type)-1, add, 0));
    REJECTS(TYPE, "type", upsweep_scan(c, a.out, a.in, 0, (upsweep_type)1000, add, 0));
    REJECTS(OP, "op", upsweep_scan(c, a.out, a.in, N, i32, UPSWEEP_OP_COUNT, 0));
    REJECTS(OP, "op", upsweep_scan(c, a.out, a.in, N, i32, (upsweep_op)-1, 0));
    REJECTS(OP, "operator", upsweep_scan(c, a.out, a.in, N, UPSWEEP_F32, UPSWEEP_XOR, 0));
    REJECTS(OP, "f32", upsweep_scan(c, a.out, a.in, N, UPSWEEP_F32, UPSWEEP_AND, 0));
    REJECTS(FLAGS, "flags", upsweep_scan(c, a.out, a.in, N, i32, add, 2));
    REJECTS(FLAGS, "flags", upsweep_scan(c, a.out, a.in, N, i32, add, UINT32_MAX));
    static const uint64_t too_many[] = {UINT64_C(1) << 61, UINT64_C(1) << 62, (UINT64_C(1) << 62) + 1, UINT64_C(1) << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof too_many / sizeof *too_many; i++) {
        REJECTS(SIZE, "out", upsweep_scan(c, a.out, a.in, too_many[i], i32, add, 0));
    }
    REJECTS(ALIGN, "out", upsweep_scan(c, shifted(a.out, 1), a.in, N - 1, i32, add, 0));
    REJECTS(ALIGN, "in", upsweep_scan(c, a.out, shifted(a.in, 2), N - 1, i32, add, 0));
    REJECTS(ALIGN, "in", upsweep_scan(c, a.values_out, shifted(a.values_in, 4), 9, UPSWEEP_F64, add, 0));
    REJECTS(ALIGN, "init", upsweep_scan_ex(c, a.out, a.in, N, i32, add, 0, shifted(a.init, 1), NULL));
    REJECTS(ALIGN, "total", upsweep_scan_ex(c, a.out, a.in, N, i32, add, 0, NULL, shifted(a.total, 3)));
    REJECTS(ALIAS, "in", upsweep_scan(c, a.out + 1, a.out, N - 1, i32, add, 0));
    REJECTS(ALIAS, "out", upsweep_scan(c, a.out, a.out + 1, N - 1, i32, add, 0));
    REJECTS(ALIAS, "out", upsweep_scan(c, a.out, a.out + 49, 50, i32, add, 0));
    REJECTS(ALIAS, "init", upsweep_scan_ex(c, a.out, a.in, N, i32, add, 0, a.out + N - 1, NULL));
    REJECTS(ALIAS, "init", upsweep_scan_ex(c, a.out, a.in, N, i32, add, 0, a.in, NULL));
    REJECTS(ALIAS, "total", upsweep_scan_ex(c, a.out, a.in, N, i32, add, 0, NULL, a.out));
    REJECTS(ALIAS, "total", upsweep_scan_ex(c, a.out, a.in, N, i32, add, 0, NULL, a.in + N - 1));
}

/* ---- compact and partition --------------------------------------------------------------------------------------------------- */

static void test_predicates(struct setup *s) {
    upsweep_context *c = s->ctx;
    static const struct {
        upsweep_type type;
        upsweep_predicate keep;
        upsweep_status want;
    } bad[] = {
        {UPSWEEP_I32, {UPSWEEP_CMP_COUNT, {0}}, UPSWEEP_ERR_PREDICATE},
        {UPSWEEP_I32, {(upsweep_cmp)-1, {0}}, UPSWEEP_ERR_PREDICATE},
        {UPSWEEP_U8, {UPSWEEP_NOT_NAN, {0}}, UPSWEEP_ERR_PREDICATE},
        {UPSWEEP_I8, {UPSWEEP_EQ, {.i = 128}}, UPSWEEP_ERR_VALUE},
        {UPSWEEP_I8, {UPSWEEP_LT, {.i = -129}}, UPSWEEP_ERR_VALUE},
        {UPSWEEP_U8, {UPSWEEP_GE, {.u = 256}}, UPSWEEP_ERR_VALUE},
        {UPSWEEP_U8, {UPSWEEP_GE, {.i = -1}}, UPSWEEP_ERR_VALUE},
        {UPSWEEP_I16, {UPSWEEP_NE, {.i = -32769}}, UPSWEEP_ERR_VALUE},
        {UPSWEEP_U16, {UPSWEEP_LE, {.u = 65536}}, UPSWEEP_ERR_VALUE},
        {UPSWEEP_I32, {UPSWEEP_GT, {.i = INT64_C(1) << 31}}, UPSWEEP_ERR_VALUE},
        {UPSWEEP_U32, {UPSWEEP_GT, {.u = UINT64_C(1) << 32}}, UPSWEEP_ERR_VALUE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *word = bad[i].want == UPSWEEP_ERR_VALUE ? "constant" : "keep";
        const upsweep_predicate *keep = &bad[i].keep;
        case_begin("predicate %zu of the bad ones", i);
        setup_enter(s);
        rejects(s, upsweep_compact(c, a.out, a.count, a.in, N, bad[i].type, keep), bad[i].want, word, "compact", __LINE__);
        rejects(s, upsweep_partition(c, a.out, NULL, a.count, a.in, N, bad[i].type, keep), bad[i].want, word, "partition", __LINE__);
        rejects(s, upsweep_compact_indices(c, a.values_out, a.count, a.in, N, bad[i].type, keep, UPSWEEP_U32, 0), bad[i].want, word,
                "indices", __LINE__);
    }
}

static void test_compact_arguments(struct setup *s) {
    upsweep_context *c = s->ctx;
    const upsweep_type i32 = UPSWEEP_I32;
    const upsweep_predicate nonzero = {UPSWEEP_NONZERO, {0}}, *keep = &nonzero;
    REJECTS(NULL, "out", upsweep_compact(c, NULL, a.count, a.in, N, i32, keep));
    REJECTS(NULL, "count", upsweep_compact(c, a.out, NULL, a.in, N, i32, keep));
    REJECTS(NULL, "count", upsweep_compact(c, a.out, NULL, a.in, 0, i32, keep));
    REJECTS(NULL, "in", upsweep_compact(c, a.out, a.count, NULL, N, i32, keep));
    REJECTS(NULL, "keep", upsweep_compact(c, a.out, a.count, a.in, N, i32, NULL));
    REJECTS(TYPE, "type", upsweep_compact(c, a.out, a.count, a.in, N, (upsweep_type)10, keep));
    REJECTS(SIZE, "out", upsweep_compact(c, a.out, a.count, a.in, (UINT64_C(1) << 62) + 1, i32, keep));
    REJECTS(ALIGN, "out", upsweep_compact(c, shifted(a.out, 2), a.count, a.in, N - 1, i32, keep));
    REJECTS(ALIGN, "in", upsweep_compact(c, a.out, a.count, shifted(a.in, 1), N - 1, i32, keep));
    REJECTS(ALIGN, "count", upsweep_compact(c, a.out, shifted(a.count, 4), a.in, N, i32, keep));
    REJECTS(ALIAS, "in", upsweep_compact(c, a.out, a.count, a.out + 1, N - 1, i32, keep));
    REJECTS(ALIAS, "in", upsweep_compact(c, a.out + 1, a.count, a.out, N - 1, i32, keep));
    REJECTS(ALIAS, "count", upsweep_compact(c, a.values_out, (uint64_t *)(void *)a.values_out + 3, a.in, N, i32, keep));
    REJECTS(ALIAS, "count", upsweep_compact(c, a.out, (uint64_t *)(void *)a.values_in + 3, a.values_in, N, i32, keep));

    REJECTS(NULL, "out", upsweep_partition(c, NULL, NULL, a.count, a.in, N, i32, keep));
    REJECTS(NULL, "count", upsweep_partition(c, a.out, NULL, NULL, a.in, N, i32, keep));
    REJECTS(ALIAS, "in", upsweep_partition(c, a.out, NULL, a.count, a.out, N, i32, keep));
    REJECTS(NULL, "out", upsweep_partition(c, NULL, a.rest, a.count, a.in, N, i32, keep));
    REJECTS(ALIGN, "rest", upsweep_partition(c, a.out, shifted(a.rest, 2), a.count, a.in, N - 1, i32, keep));
    REJECTS(ALIAS, "rest", upsweep_partition(c, a.out, a.out, a.count, a.in, N, i32, keep));
    REJECTS(ALIAS, "rest", upsweep_partition(c, a.out, a.out + N - 1, a.count, a.in, N, i32, keep));
    REJECTS(ALIAS, "rest", upsweep_partition(c, a.out, a.out, a.count, a.out, N, i32, keep));
    REJECTS(ALIAS, "in", upsweep_partition(c, a.out, a.rest, a.count, a.out + 1, N - 1, i32, keep));
    REJECTS(ALIAS, "in", upsweep_partition(c, a.out, a.rest, a.count, a.rest + 1, N - 1, i32, keep));
    REJECTS(ALIAS, "count", upsweep_partition(c, a.out, a.values_out, (uint64_t *)(void *)a.values_out + 3, a.in, N, i32, keep));
    REJECTS(TYPE, "type", upsweep_partition(c, a.out, NULL, a.count, a.in, N, (upsweep_type)-1, keep));

    REJECTS(TYPE, "index_type", upsweep_compact_indices(c, a.out, a.count, a.in, N, i32, keep, UPSWEEP_I32, 0));
    REJECTS(TYPE, "type", upsweep_compact_indices(c, a.out, a.count, a.in, N, UPSWEEP_TYPE_COUNT, keep, UPSWEEP_U32, 0));
    REJECTS(SIZE, "index_type", upsweep_compact_indices(c, a.out, a.count, a.in, N, i32, keep, UPSWEEP_U32, UINT32_MAX - N + 2));
    REJECTS(SIZE, "index_type", upsweep_compact_indices(c, a.values_out, a.count, a.in, 2, i32, keep, UPSWEEP_U64, UINT64_MAX));
    REJECTS(ALIAS, "in", upsweep_compact_indices(c, a.out, a.count, a.out, N, i32, keep, UPSWEEP_U32, 0));
    REJECTS(ALIGN, "out", upsweep_compact_indices(c, shifted(a.values_out, 4), a.count, a.in, 9, i32, keep, UPSWEEP_U64, 0));
}

static void test_flags_arguments(struct setup *s) {
    upsweep_context *c = s->ctx;
    REJECTS(NULL, "out", upsweep_compact_flags(c, NULL, a.count, a.in, a.flags, N, 4));
    REJECTS(NULL, "in", upsweep_compact_flags(c, a.out, a.count, NULL, a.flags, N, 4));
    REJECTS(NULL, "flags", upsweep_compact_flags(c, a.out, a.count, a.in, NULL, N, 4));
    REJECTS(NULL, "count", upsweep_compact_flags(c, a.out, NULL, a.in, a.flags, N, 4));
    REJECTS(SIZE, "elem_nbytes", upsweep_compact_flags(c, a.out, a.count, a.in, a.flags, N, 0));
    REJECTS(SIZE, "elem_nbytes", upsweep_compact_flags(c, a.out, a.count, a.in, a.flags, N, 4097));
    REJECTS(SIZE, "out", upsweep_compact_flags(c, a.out, a.count, a.in, a.flags, UINT64_C(1) << 52, 4096));
    REJECTS(ALIAS, "in", upsweep_compact_flags(c, a.out, a.count, a.out, a.flags, N, 4));
    REJECTS(ALIAS, "flags", upsweep_compact_flags(c, a.out, a.count, a.in, (uint8_t *)a.out + 3 * N, N, 4));
    REJECTS(ALIAS, "count", upsweep_compact_flags(c, a.values_out, (uint64_t *)(void *)a.values_out, a.in, a.flags, N, 4));
    REJECTS(ALIAS, "count", upsweep_compact_flags(c, a.out, a.count, a.in, (uint8_t *)a.count + 7, 2, 4));
    REJECTS(NULL, "flags", upsweep_partition_flags(c, a.out, NULL, a.count, a.in, NULL, N, 4));
    REJECTS(ALIAS, "in", upsweep_partition_flags(c, a.out, NULL, a.count, a.out, a.flags, N, 4));
    REJECTS(ALIAS, "in", upsweep_partition_flags(c, a.out, a.rest, a.count, a.out, a.flags, N, 4));
    REJECTS(ALIAS, "in", upsweep_partition_flags(c, a.out, a.rest, a.count, a.rest, a.flags, N, 4));
    REJECTS(ALIAS, "rest", upsweep_partition_flags(c, a.out, a.out + 1, a.count, a.in, a.flags, N - 1, 4));
    REJECTS(ALIAS, "flags", upsweep_partition_flags(c, a.out, a.rest, a.count, a.in, (uint8_t *)a.rest + 3 * N, N, 4));
    REJECTS(SIZE, "elem_nbytes", upsweep_partition_flags(c, a.out, NULL, a.count, a.in, a.flags, N, SIZE_MAX));
}

/* ---- sort -------------------------------------------------------------------------------------------------------------------- */

static void test_sort_arguments(struct setup *s) {
    upsweep_context *c = s->ctx;
    const upsweep_type i32 = UPSWEEP_I32;
    REJECTS(NULL, "out", upsweep_sort(c, NULL, a.in, N, i32, NULL));
    REJECTS(NULL, "in", upsweep_sort(c, a.out, NULL, N, i32, NULL));
    REJECTS(TYPE, "type", upsweep_sort(c, a.out, a.in, N, (upsweep_type)-5, NULL));
    REJECTS(OPTIONS, "descending", upsweep_sort(c, a.out, a.in, N, i32, &(upsweep_order){.descending = 2}));
    REJECTS(BITS, "bits", upsweep_sort(c, a.out, a.in, N, i32, &(upsweep_order){.hi_bit = 33}));
    REJECTS(BITS, "bits", upsweep_sort(c, a.out, a.in, N, i32, &(upsweep_order){.lo_bit = 9, .hi_bit = 8}));
    REJECTS(BITS, "bits", upsweep_sort(c, a.out, a.in, N, i32, &(upsweep_order){.lo_bit = 33}));
    REJECTS(BITS, "bits", upsweep_sort(c, a.out, a.in, N, UPSWEEP_U8, &(upsweep_order){.lo_bit = UINT32_MAX, .hi_bit = UINT32_MAX}));
    REJECTS(OPTIONS, "low_memory", upsweep_sort(c, a.out, a.in, N, i32, &(upsweep_order){.low_memory = 2}));
    REJECTS(OPTIONS, "low_memory", upsweep_sort(c, a.out, a.in, N, i32, &(upsweep_order){.lo_bit = 1, .low_memory = 1}));
    REJECTS(OPTIONS, "low_memory", upsweep_sort(c, a.out, a.in, N, i32, &(upsweep_order){.hi_bit = 31, .low_memory = 1}));
    REJECTS(SIZE, "out", upsweep_sort(c, a.out, a.in, UINT64_MAX, i32, NULL));
    REJECTS(ALIGN, "out", upsweep_sort(c, shifted(a.out, 1), a.in, N - 1, i32, NULL));
    REJECTS(ALIGN, "in", upsweep_sort(c, a.out, shifted(a.in, 3), N - 1, i32, NULL));
    REJECTS(ALIAS, "in", upsweep_sort(c, a.out, a.out + 1, N - 1, i32, NULL));
    REJECTS(ALIAS, "out", upsweep_sort(c, a.out + 1, a.out, N - 1, i32, NULL));
}

/* n: many, or so few that a CPU takes the short cut. */
static void test_pairs_arguments(struct setup *s, uint64_t n) {
    upsweep_context *c = s->ctx;
    const upsweep_type i32 = UPSWEEP_I32;
    REJECTS(NULL, "keys_out", upsweep_sort_pairs(c, NULL, a.in, a.values_out, a.values_in, n, i32, 8, NULL));
    REJECTS(NULL, "keys_in", upsweep_sort_pairs(c, a.out, NULL, a.values_out, a.values_in, n, i32, 8, NULL));
    REJECTS(NULL, "values_out", upsweep_sort_pairs(c, a.out, a.in, NULL, a.values_in, n, i32, 8, NULL));
    REJECTS(NULL, "values_in", upsweep_sort_pairs(c, a.out, a.in, a.values_out, NULL, n, i32, 8, NULL));
    REJECTS(TYPE, "type", upsweep_sort_pairs(c, a.out, a.in, a.values_out, a.values_in, n, UPSWEEP_TYPE_COUNT, 8, NULL));
    REJECTS(SIZE, "value_nbytes", upsweep_sort_pairs(c, a.out, a.in, a.values_out, a.values_in, n, i32, 0, NULL));
    REJECTS(SIZE, "value_nbytes", upsweep_sort_pairs(c, a.out, a.in, a.values_out, a.values_in, n, i32, 4097, NULL));
    REJECTS(SIZE, "values_out", upsweep_sort_pairs(c, a.out, a.in, a.values_out, a.values_in, UINT64_C(1) << 52, i32, 4096, NULL));
    REJECTS(ALIGN, "keys_out", upsweep_sort_pairs(c, shifted(a.out, 1), a.in, a.values_out, a.values_in, n - 1, i32, 8, NULL));
    REJECTS(ALIGN, "keys_in", upsweep_sort_pairs(c, a.out, shifted(a.in, 2), a.values_out, a.values_in, n - 1, i32, 8, NULL));
    REJECTS(ALIAS, "values_out", upsweep_sort_pairs(c, a.out, a.in, a.out, a.values_in, n, i32, 4, NULL));
    REJECTS(ALIAS, "keys_out", upsweep_sort_pairs(c, a.values_in, a.in, a.values_out, a.values_in, n, i32, 8, NULL));
    REJECTS(ALIAS, "values_out", upsweep_sort_pairs(c, a.out, a.in, a.in, a.values_in, n, i32, 4, NULL));
    REJECTS(ALIAS, "values_in", upsweep_sort_pairs(c, a.out, a.in, a.values_out, shifted(a.values_out, 1), n - 1, i32, 8, NULL));
    REJECTS(ALIAS, "keys_in", upsweep_sort_pairs(c, a.out, a.out + 2, a.values_out, a.values_in, n - 2, i32, 8, NULL));
    REJECTS(BITS, "bits", upsweep_sort_pairs(c, a.out, a.in, a.values_out, a.values_in, n, i32, 8, &(upsweep_order){.hi_bit = 64}));
    REJECTS(BITS, "bits",
            upsweep_sort_pairs(c, a.out, a.in, a.values_out, a.values_in, n, i32, 8, &(upsweep_order){.lo_bit = 9, .hi_bit = 8}));
    REJECTS(OPTIONS, "low_memory",
            upsweep_sort_pairs(c, a.out, a.in, a.values_out, a.values_in, n, i32, 8, &(upsweep_order){.low_memory = 1}));
}

static void test_argsort_arguments(struct setup *s, uint64_t n) {
    upsweep_context *c = s->ctx;
    const upsweep_type i32 = UPSWEEP_I32;
    REJECTS(NULL, "indices", upsweep_argsort(c, NULL, a.in, n, i32, UPSWEEP_U32, NULL));
    REJECTS(NULL, "keys", upsweep_argsort(c, a.out, NULL, n, i32, UPSWEEP_U32, NULL));
    REJECTS(TYPE, "index_type", upsweep_argsort(c, a.out, a.in, n, i32, UPSWEEP_I32, NULL));
    REJECTS(TYPE, "type", upsweep_argsort(c, a.out, a.in, n, UPSWEEP_TYPE_COUNT, UPSWEEP_U32, NULL));
    REJECTS(SIZE, "index_type", upsweep_argsort(c, a.out, a.in, (UINT64_C(1) << 32) + 1, i32, UPSWEEP_U32, NULL));
    REJECTS(ALIGN, "indices", upsweep_argsort(c, shifted(a.values_out, 4), a.in, n - 1, i32, UPSWEEP_U64, NULL));
    REJECTS(ALIGN, "keys", upsweep_argsort(c, a.out, shifted(a.in, 1), n - 1, i32, UPSWEEP_U32, NULL));
    REJECTS(ALIAS, "keys", upsweep_argsort(c, a.out, a.out, n, i32, UPSWEEP_U32, NULL));
    REJECTS(OPTIONS, "descending", upsweep_argsort(c, a.out, a.in, n, i32, UPSWEEP_U32, &(upsweep_order){.descending = 7}));
    REJECTS(OPTIONS, "low_memory", upsweep_argsort(c, a.out, a.in, n, i32, UPSWEEP_U32, &(upsweep_order){.low_memory = 1}));
}

/* ---- text -------------------------------------------------------------------------------------------------------------------- */

static void test_utf8_options(struct setup *s) {
    static const struct {
        upsweep_utf8_options options;
        const char *word;
        bool decode;
    } bad[] = {{{.encoding = (upsweep_encoding)9}, "encoding", true},
               {{.encoding = (upsweep_encoding)-1}, "encoding", false},
               {{.encoding = UPSWEEP_UTF8}, "encoding", false},
               {{.on_error = (upsweep_on_error)3}, "on_error", true},
               {{.on_error = (upsweep_on_error)-1}, "on_error", true},
               {{.more = 2}, "more", true},
               {{.skip_bom = 5}, "skip_bom", false}};
    upsweep_context *c = s->ctx;
    upsweep_utf8_report *const r = (void *)a.rest;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const upsweep_status got = bad[i].decode ? upsweep_utf8_decode(c, a.out, 16, r, a.in, 3, &bad[i].options)
                                                 : upsweep_utf8_encode(c, a.out, 16, r, a.in, 3, &bad[i].options);
        rejects(s, got, UPSWEEP_ERR_OPTIONS, bad[i].word, "options of text", __LINE__);
    }
    const upsweep_utf8_options to_utf16 = {.encoding = UPSWEEP_UTF16LE, .map = (void *)a.values_out}, from_utf32 = {.map = to_utf16.map};
    REJECTS(OPTIONS, "map", upsweep_utf8_decode(c, a.out, 16, r, a.in, 3, &to_utf16));
    REJECTS(OPTIONS, "map", upsweep_utf8_encode(c, a.out, 16, r, a.in, 3, &from_utf32));
}

static void test_utf8_arguments(struct setup *s) {
    upsweep_context *c = s->ctx;
    upsweep_utf8_report *const r = (void *)a.rest;
    const upsweep_utf8_options mapped = {.map = (void *)a.values_out}, on_out = {.map = (void *)a.out},
                               on_in = {.map = (void *)a.values_in}, on_report = {.map = (void *)r},
                               askew = {.map = shifted(a.values_out, 4)};
    REJECTS(NULL, "out", upsweep_utf8_decode(c, NULL, 16, r, a.in, 3, NULL));
    REJECTS(NULL, "report", upsweep_utf8_decode(c, a.out, 16, NULL, a.in, 3, NULL));
    REJECTS(NULL, "in", upsweep_utf8_decode(c, a.out, 16, r, NULL, 3, NULL));
    REJECTS(NULL, "report", upsweep_utf8_validate(c, NULL, a.in, 3));
    REJECTS(NULL, "in", upsweep_utf8_count(c, r, NULL, 3));
    REJECTS(NULL, "host_report", upsweep_utf8_read_report(c, NULL, r));
    REJECTS(NULL, "report", upsweep_utf8_read_report(c, &(upsweep_utf8_report){0}, NULL));
    REJECTS(SIZE, "in", upsweep_utf8_decode(c, a.out, 16, r, a.in, UINT64_MAX, NULL));
    REJECTS(SIZE, "out", upsweep_utf8_decode(c, a.out, UINT64_C(1) << 62, r, a.in, 3, NULL));
    REJECTS(SIZE, "in", upsweep_utf8_encode(c, a.out, 16, r, a.in, UINT64_C(1) << 61, NULL));
    REJECTS(ALIGN, "out", upsweep_utf8_decode(c, shifted(a.out, 2), 16, r, a.in, 3, NULL));
    REJECTS(ALIGN, "in", upsweep_utf8_encode(c, a.out, 16, r, shifted(a.in, 1), 3, NULL));
    REJECTS(ALIGN, "report", upsweep_utf8_decode(c, a.out, 16, shifted(r, 4), a.in, 3, NULL));
    REJECTS(ALIGN, "map", upsweep_utf8_decode(c, a.out, 16, r, a.in, 3, &askew));
    REJECTS(ALIAS, "in", upsweep_utf8_decode(c, a.out, 16, r, (uint8_t *)a.out + 63, 3, &mapped));
    REJECTS(ALIAS, "out", upsweep_utf8_decode(c, a.rest + 13, 16, r, a.in, 3, NULL));
    REJECTS(ALIAS, "report", upsweep_utf8_decode(c, a.out, 16, r, (uint8_t *)r + 55, 3, NULL));
    REJECTS(ALIAS, "map", upsweep_utf8_decode(c, a.out, 16, r, a.in, 3, &on_out));
    REJECTS(ALIAS, "map", upsweep_utf8_decode(c, a.out, 16, r, a.values_in + 127, 3, &on_in));
    REJECTS(ALIAS, "map", upsweep_utf8_decode(c, a.out, 16, r, a.in, 3, &on_report));
}

/* What looks like an overlap and is none: arrays that touch, the very same array where that is allowed. */
static void test_near_misses(struct setup *s) {
    upsweep_context *c = s->ctx;
    const upsweep_predicate nonzero = {UPSWEEP_NONZERO, {0}}, *keep = &nonzero;
    case_begin("near misses");
    setup_enter(s);
    lay_out(s);
    int32_t *const left = a.out, *const right = a.out + N / 2;
    CHECK_OK(upsweep_scan(c, left, right, N / 2, UPSWEEP_I32, UPSWEEP_ADD, 0));
    CHECK_OK(upsweep_scan(c, right, left, N / 2, UPSWEEP_I32, UPSWEEP_ADD, 0));
    CHECK_OK(upsweep_scan_ex(c, left, right, N / 2 - 1, UPSWEEP_I32, UPSWEEP_ADD, 0, right - 1, right + N / 2 - 1));
    CHECK_OK(upsweep_compact(c, left, a.count, right, N / 2, UPSWEEP_I32, keep));
    CHECK_OK(upsweep_partition(c, right, NULL, a.count, left, N / 2, UPSWEEP_I32, keep));
    CHECK_OK(upsweep_partition(c, right, left, a.count, a.in, N / 2, UPSWEEP_I32, keep));
    CHECK_OK(upsweep_partition(c, right, left, a.count, left, N / 2, UPSWEEP_I32, keep));
    CHECK_OK(upsweep_partition(c, right, left, a.count, right, N / 2, UPSWEEP_I32, keep));
    CHECK_OK(upsweep_sort(c, left, right, N / 2, UPSWEEP_I32, NULL));
    CHECK_OK(upsweep_sort_pairs(c, left, left, right, right, N / 2, UPSWEEP_I32, 4, NULL));
    CHECK_OK(upsweep_argsort(c, left, right, N / 2, UPSWEEP_I32, UPSWEEP_U32, NULL));
    CHECK(take(s, SLOT_OUT, NULL));
}

/* ---- memory, scratch --------------------------------------------------------------------------------------------------------- */

static void test_memory_arguments(struct setup *s) {
    upsweep_context *c = s->ctx;
    unsigned char host[8] = {0};
    REJECTS(NULL, "ptr", upsweep_alloc(c, NULL, 8));
    REJECTS(NULL, "dst", upsweep_upload(c, NULL, host, 8));
    REJECTS(NULL, "host_src", upsweep_upload(c, a.out, NULL, 8));
    REJECTS(NULL, "host_dst", upsweep_download(c, NULL, a.in, 8));
    REJECTS(NULL, "src", upsweep_download(c, host, NULL, 8));
    REJECTS(NULL, "host_count", upsweep_read_count(c, NULL, a.count));
    REJECTS(NULL, "count", upsweep_read_count(c, &(uint64_t){0}, NULL));
    REJECTS(NULL, "nbytes", upsweep_scratch_size(c, NULL, UPSWEEP_PRIM_SCAN, 1, 4, 0));
    REJECTS(OPTIONS, "primitive", upsweep_scratch_size(c, &(uint64_t){0}, (upsweep_primitive)99, 1, 4, 0));
    REJECTS(SIZE, "item_nbytes", upsweep_scratch_size(c, &(uint64_t){0}, UPSWEEP_PRIM_SCAN, 1, 0, 0));
    REJECTS(SIZE, "value_nbytes", upsweep_scratch_size(c, &(uint64_t){0}, UPSWEEP_PRIM_SORT, 1, 4, 4097));
    REJECTS(SIZE, "value_nbytes", upsweep_scratch_size(c, &(uint64_t){0}, UPSWEEP_PRIM_ARGSORT, 1, 4, 0));
    REJECTS(NULL, "scratch", upsweep_set_scratch(c, NULL, 8));
    REJECTS(ALIGN, "scratch", upsweep_set_scratch(c, shifted(a.values_out, 1), 8));
    REJECTS(SIZE, "scratch", upsweep_set_scratch(c, (void *)((uintptr_t)a.values_out / 256 * 256), SIZE_MAX));
    REJECTS(SIZE, "scratch", upsweep_set_scratch(c, (void *)((uintptr_t)a.values_out / 256 * 256), (size_t)PTRDIFF_MAX + 1));
    REJECTS(OPTIONS, "size", upsweep_context_device(c, &(upsweep_device){.size = 0}));
    REJECTS(NULL, "device", upsweep_context_device(c, NULL));
    void *p = host;
    static const size_t huge[] = {SIZE_MAX, SIZE_MAX - 255, SIZE_MAX / 2};
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        const upsweep_status status = upsweep_alloc(c, &p, huge[i]);
        CHECK(status == UPSWEEP_ERR_MEMORY || status == UPSWEEP_ERR_DEVICE_MEMORY);
        CHECK(p == NULL);
        const upsweep_status reserved = upsweep_reserve(c, huge[i]);
        CHECK(reserved == UPSWEEP_ERR_MEMORY || reserved == UPSWEEP_ERR_DEVICE_MEMORY);
    }
    CHECK_OK(upsweep_scan(c, a.out, a.in, N, UPSWEEP_I32, UPSWEEP_ADD, 0)); /* and the context still works */
}

int main(void) {
    harness_begin(true);
    FOR_EACH_SETUP(s) {
        case_begin("bad arguments");
        setup_enter(s);
        lay_out(s);
        test_scan_arguments(s);
        test_compact_arguments(s);
        test_predicates(s);
        case_begin("bad arguments");
        setup_enter(s);
        test_flags_arguments(s);
        test_sort_arguments(s);
        test_pairs_arguments(s, N);
        test_pairs_arguments(s, FEW);
        test_argsort_arguments(s, N);
        test_argsort_arguments(s, FEW);
        test_utf8_options(s);
        test_utf8_arguments(s);
        test_memory_arguments(s);
        test_near_misses(s);
    }
    return harness_end();
}
