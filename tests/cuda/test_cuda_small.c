/* test_cuda_small.c: every kind of kernel on a few small inputs, quick enough to be run under compute-sanitizer. */
#include <stdio.h>

#include "harness.h"
#include "oracle.h"
#include "paths.h"
#include "utf8_oracle.h"

enum { MAX_N = 40000, MAX_NBYTES = 8 * MAX_N };

static upsweep_context *ctx;
static uint64_t n;
static unsigned char *in, *out, *rest, *flags, *count, *map;                                  /* context memory */
static unsigned char h_in[MAX_NBYTES], h_out[MAX_NBYTES], h_want[MAX_NBYTES], h_flags[MAX_N]; /* host memory */

/* out and count hold `nwant` elements as in h_want. */
static void check_out(uint64_t nwant, size_t elem_nbytes, bool counted, uint64_t want_count) {
    CHECK_OK(upsweep_download(ctx, h_out, out, nwant * elem_nbytes));
    CHECK_SAME(h_out, h_want, nwant, elem_nbytes);
    uint64_t got = want_count;
    if (counted) CHECK_OK(upsweep_read_count(ctx, &got, (const uint64_t *)(const void *)count));
    CHECK(got == want_count);
}

/* rest holds, `offset` bytes from its start, what h_want has behind the nkept first of its elements. */
static void check_rest(size_t offset, uint64_t nkept, uint64_t nelements, size_t elem_nbytes) {
    CHECK_OK(upsweep_download(ctx, h_out, rest + offset, (nelements - nkept) * elem_nbytes));
    CHECK_SAME(h_out, h_want + nkept * elem_nbytes, nelements - nkept, elem_nbytes);
}

static void test_scan(upsweep_type type, upsweep_op op, uint32_t how) {
    const size_t nbytes = upsweep_type_nbytes(type);
    case_begin("scan %s %s %u, n %llu", upsweep_type_name(type), upsweep_op_name(op), how, (unsigned long long)n);
    oracle_scan(h_want, h_in, n, type, op, how, NULL);
    CHECK_OK(upsweep_scan(ctx, out, in, n, type, op, how));
    check_out(n, nbytes, false, 0);
}

/* Minimum and maximum of bytes that rise and fall so slowly that every result matters. */
static void test_bytes(void) {
    static const upsweep_type types[] = {UPSWEEP_U8, UPSWEEP_I8};
    for (int falls = 0; falls < 2; falls++) {
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t level = i * 246 / n + 4 - h_in[i] % 5u;
            h_flags[i] = (unsigned char)(falls != 0 ? 127 - level : level + 128);
        }
        memcpy(h_in, h_flags, n);
        CHECK_OK(upsweep_upload(ctx, in, h_in, n));
        for (int t = 0; t < 2; t++) {
            test_scan(types[t], UPSWEEP_MIN, UPSWEEP_EXCLUSIVE);
            test_scan(types[t], UPSWEEP_MAX, UPSWEEP_EXCLUSIVE);
            test_scan(types[t], UPSWEEP_MIN, UPSWEEP_INCLUSIVE);
            test_scan(types[t], UPSWEEP_MAX, UPSWEEP_INCLUSIVE);
        }
    }
}

static void test_where(upsweep_type type, upsweep_predicate keep) {
    const size_t nbytes = upsweep_type_nbytes(type);
    uint64_t *d_count = (uint64_t *)(void *)count;
    case_begin("compact %s %s, n %llu", upsweep_type_name(type), upsweep_cmp_name(keep.cmp), (unsigned long long)n);
    oracle_flags(h_flags, h_in, n, type, &keep);
    const uint64_t kept = oracle_compact(h_want, h_in, h_flags, n, nbytes, false);
    CHECK_OK(upsweep_compact(ctx, out, d_count, in, n, type, &keep));
    check_out(kept, nbytes, true, kept);
    oracle_compact(h_want, h_in, h_flags, n, nbytes, true);
    CHECK_OK(upsweep_partition(ctx, out, NULL, d_count, in, n, type, &keep));
    check_out(n, nbytes, true, kept);
    CHECK_OK(upsweep_partition(ctx, out, rest, d_count, in, n, type, &keep));
    check_out(kept, nbytes, true, kept);
    check_rest(0, kept, n, nbytes);
    oracle_indices(h_want, h_flags, n, UPSWEEP_U32, 7);
    CHECK_OK(upsweep_compact_indices(ctx, out, d_count, in, n, type, &keep, UPSWEEP_U32, 7));
    check_out(kept, 4, true, kept);
}

/* Records at `offset` bytes past an aligned address. */
static void test_records(size_t elem_nbytes, uint64_t nrecords, size_t offset) {
    uint64_t *d_count = (uint64_t *)(void *)count;
    case_begin("flags, %zu bytes, n %llu", elem_nbytes, (unsigned long long)nrecords);
    for (uint64_t i = 0; i < nrecords; i++) h_flags[i] = (unsigned char)(h_in[i] & 4);
    CHECK_OK(upsweep_upload(ctx, flags, h_flags, nrecords));
    const uint64_t kept = oracle_compact(h_want, h_in + offset, h_flags, nrecords, elem_nbytes, false);
    CHECK_OK(upsweep_compact_flags(ctx, out, d_count, in + offset, flags, nrecords, elem_nbytes));
    check_out(kept, elem_nbytes, true, kept);
    oracle_compact(h_want, h_in + offset, h_flags, nrecords, elem_nbytes, true);
    CHECK_OK(upsweep_partition_flags(ctx, out, NULL, d_count, in + offset, flags, nrecords, elem_nbytes));
    check_out(nrecords, elem_nbytes, true, kept);
    CHECK_OK(upsweep_partition_flags(ctx, out, rest + offset, d_count, in + offset, flags, nrecords, elem_nbytes));
    check_out(kept, elem_nbytes, true, kept);
    check_rest(offset, kept, nrecords, elem_nbytes);
}

static void test_sort(upsweep_type type) {
    const size_t nbytes = upsweep_type_nbytes(type);
    uint64_t *order = must_malloc(MAX_N * sizeof *order);
    case_begin("sort %s, n %llu", upsweep_type_name(type), (unsigned long long)n);
    oracle_argsort(order, h_in, n, type, NULL);
    oracle_gather(h_want, h_in, order, n, nbytes);
    CHECK_OK(upsweep_sort(ctx, out, in, n, type, NULL));
    check_out(n, nbytes, false, 0);
    for (uint64_t i = 0; i < n; i++) ((uint32_t *)(void *)h_want)[i] = (uint32_t)order[i];
    CHECK_OK(upsweep_argsort(ctx, out, in, n, type, UPSWEEP_U32, NULL));
    check_out(n, 4, false, 0);
    free(order);
}

/* Pairs whose values are numbers, sorted where they are, from bit lo_bit of the keys up. */
static void test_sort_pairs(upsweep_type type, uint32_t lo_bit) {
    const size_t nbytes = upsweep_type_nbytes(type);
    const upsweep_order by = {.lo_bit = lo_bit};
    uint64_t *order = must_malloc(MAX_N * sizeof *order);
    case_begin("sort pairs %s, from bit %u, n %llu", upsweep_type_name(type), (unsigned)lo_bit, (unsigned long long)n);
    oracle_argsort(order, h_in, n, type, &by);
    for (uint32_t i = 0; i < n; i++) ((uint32_t *)(void *)h_want)[i] = i;
    CHECK_OK(upsweep_upload(ctx, map, h_want, n * 4));
    CHECK_OK(upsweep_sort_pairs(ctx, out, in, map, map, n, type, 4, &by));
    oracle_gather(h_want, h_in, order, n, nbytes);
    check_out(n, nbytes, false, 0);
    for (uint64_t i = 0; i < n; i++) ((uint32_t *)(void *)h_want)[i] = (uint32_t)order[i];
    CHECK_OK(upsweep_download(ctx, h_out, map, n * 4));
    CHECK_SAME(h_out, h_want, n, 4);
    free(order);
}

/* The first units of the input, in replacement, removal or strict, with output and without. */
static void test_text(upsweep_encoding from, upsweep_encoding to, uint64_t nunits, upsweep_on_error on_error) {
    struct conversion c = {.from = from, .to = to, .options = {.on_error = on_error, .more = 1, .skip_bom = 1}};
    upsweep_utf8_report got, *report = (upsweep_utf8_report *)(void *)count;
    case_begin("%s to %s, mode %d, n %llu", upsweep_encoding_name(from), upsweep_encoding_name(to), (int)on_error,
               (unsigned long long)nunits);
    const struct expected e = oracle_utf8(h_in, nunits, c);
    c.options.encoding = from == UPSWEEP_UTF8 ? to : from;
    if (from == UPSWEEP_UTF8 && to == UPSWEEP_UTF32) c.options.map = (uint64_t *)(void *)map;
    for (int measure = 0; measure < 2; measure++) {
        CHECK_OK((from == UPSWEEP_UTF8 ? upsweep_utf8_decode : upsweep_utf8_encode)(
            ctx, measure ? NULL : out, measure ? 0 : e.report.needed, report, in, nunits, &c.options));
        CHECK_OK(upsweep_download(ctx, &got, report, sizeof got));
        CHECK(got.needed == e.report.needed && got.bad_units == e.report.bad_units && got.error_at == e.report.error_at);
        c.options.map = NULL;
    }
    memcpy(h_want, e.out, (size_t)e.report.needed * upsweep_encoding_nbytes(to));
    check_out(e.report.needed, upsweep_encoding_nbytes(to), false, 0);
    oracle_free(&e);
}

static void test_texts(void) {
    test_text(UPSWEEP_UTF8, UPSWEEP_UTF32, n, UPSWEEP_REPLACE);
    test_text(UPSWEEP_UTF8, UPSWEEP_UTF16BE, n, UPSWEEP_REMOVE);
    test_text(UPSWEEP_UTF8, UPSWEEP_UTF8, n, UPSWEEP_REPLACE);
    test_text(UPSWEEP_UTF32, UPSWEEP_UTF8, n, UPSWEEP_REPLACE);
    test_text(UPSWEEP_UTF16LE, UPSWEEP_UTF8, n, UPSWEEP_STRICT);
    test_text(UPSWEEP_UTF16LE, UPSWEEP_UTF8, n, UPSWEEP_REPLACE);
    test_text(UPSWEEP_UTF16LE, UPSWEEP_UTF8, n, UPSWEEP_REMOVE);
}

static void test_all(void) {
    struct rng rng = {n};
    rng_fill(&rng, h_in, sizeof h_in);
    CHECK_OK(upsweep_upload(ctx, in, h_in, sizeof h_in));
    test_scan(UPSWEEP_U8, UPSWEEP_ADD, UPSWEEP_EXCLUSIVE);
    test_scan(UPSWEEP_I32, UPSWEEP_ADD, UPSWEEP_INCLUSIVE);
    test_scan(UPSWEEP_I64, UPSWEEP_MIN, UPSWEEP_EXCLUSIVE);
    test_scan(UPSWEEP_F32, UPSWEEP_MAX, UPSWEEP_INCLUSIVE);
    test_where(UPSWEEP_U8, (upsweep_predicate){UPSWEEP_GE, {.u = 200}});
    test_where(UPSWEEP_I32, (upsweep_predicate){UPSWEEP_LT, {.i = 12345678}});
    test_where(UPSWEEP_F64, (upsweep_predicate){UPSWEEP_GT, {.f = 0.0}});
    test_records(1, n, 1);
    test_records(3, n, 1);
    test_records(4, n, 4);
    test_records(16, n / 4, 16);
    test_records(40, n / 8, 1);
    test_records(48, n / 8, 0);
    test_sort(UPSWEEP_U8);
    test_sort(UPSWEEP_U16);
    test_sort(UPSWEEP_F32);
    test_sort_pairs(UPSWEEP_U8, 0);
    test_sort_pairs(UPSWEEP_F32, 0);
    test_sort_pairs(UPSWEEP_U32, 9);
    test_sort_pairs(UPSWEEP_I64, 0);
    test_texts();
    test_bytes();
}

static void alloc(unsigned char **p, size_t nbytes) {
    void *got = NULL;
    CHECK_OK(upsweep_alloc(ctx, &got, nbytes));
    CHECK_OK(upsweep_upload(ctx, got, h_in, nbytes)); /* so that nothing is read that was never written */
    *p = got;
}

/* A pass that is asked for by name has the same kernels for any n: under a sanitizer, where each call takes seconds, a few will do. */
static bool repeats(int path, uint64_t nelements) { return path > 0 && (nelements == 1 || nelements == 1000) && scale_is("sanitizer"); }

int main(void) {
    static const uint64_t sizes[] = {0, 1, 33, 1000, 9001, MAX_N};
    const char *const only = getenv("UPSWEEP_TEST_PATH"); /* one of the paths alone, by its place in path_names */
    harness_begin(false);
    if (!backend_wanted("cuda")) skip("cuda");
    for (int path = 0; path < PATHS && backend_wanted("cuda"); path++) {
        if (only != NULL && atoi(only) != path) continue;
        ctx = open_path(path, NULL);
        if (!CHECK(ctx != NULL)) break;
        alloc(&in, sizeof h_in);
        alloc(&out, sizeof h_in);
        alloc(&rest, sizeof h_in);
        alloc(&flags, MAX_N);
        alloc(&count, sizeof(upsweep_utf8_report));
        alloc(&map, sizeof h_in);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            n = sizes[i];
            if (!repeats(path, n)) test_all();
        }
        upsweep_free(ctx, in);
        upsweep_free(ctx, out);
        upsweep_free(ctx, rest);
        upsweep_free(ctx, flags);
        upsweep_free(ctx, count);
        upsweep_free(ctx, map);
        upsweep_close(ctx);
    }
    return harness_end();
}
