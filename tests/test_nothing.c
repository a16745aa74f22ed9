/* test_nothing.c: n = 0 on every setup: data pointers may be NULL, and counts, totals and reports are written all the same. */
#include "harness.h"
#include "oracle.h"

static const struct place at_end = {AT_END, 0};
static const upsweep_predicate nonzero = {UPSWEEP_NONZERO, {0}}, *const keep = &nonzero;

static void test_no_output(struct setup *s) {
    upsweep_context *c = s->ctx;
    case_begin("n = 0, nothing to write");
    setup_enter(s);
    const void *init = put(s, SLOT_INIT, at_end, NULL, 4);
    CHECK_OK(upsweep_scan(c, NULL, NULL, 0, UPSWEEP_I32, UPSWEEP_ADD, 0));
    CHECK_OK(upsweep_scan_ex(c, NULL, NULL, 0, UPSWEEP_I32, UPSWEEP_ADD, 0, init, NULL));
    CHECK_OK(upsweep_sort(c, NULL, NULL, 0, UPSWEEP_F64, NULL));
    CHECK_OK(upsweep_sort_pairs(c, NULL, NULL, NULL, NULL, 0, UPSWEEP_U8, 7, NULL));
    CHECK_OK(upsweep_argsort(c, NULL, NULL, 0, UPSWEEP_I64, UPSWEEP_U32, NULL));
}

static uint64_t *put_count(struct setup *s) { return put(s, SLOT_COUNT, at_end, NULL, sizeof(uint64_t)); }

static void check_count_is_zero(struct setup *s) {
    uint64_t count = 1;
    CHECK(take(s, SLOT_COUNT, &count));
    CHECK(count == 0);
}

static void test_counts(struct setup *s) {
    upsweep_context *c = s->ctx;
    case_begin("n = 0, counts");
    setup_enter(s);
    void *rest = put(s, SLOT_REST, at_end, NULL, 8);
    CHECK_OK(upsweep_compact(c, NULL, put_count(s), NULL, 0, UPSWEEP_I32, keep));
    check_count_is_zero(s);
    CHECK_OK(upsweep_compact_flags(c, NULL, put_count(s), NULL, NULL, 0, 4096));
    check_count_is_zero(s);
    CHECK_OK(upsweep_compact_indices(c, NULL, put_count(s), NULL, 0, UPSWEEP_U16, keep, UPSWEEP_U32, UINT32_MAX));
    check_count_is_zero(s);
    CHECK_OK(upsweep_partition(c, NULL, NULL, put_count(s), NULL, 0, UPSWEEP_F32, keep));
    check_count_is_zero(s);
    CHECK_OK(upsweep_partition_flags(c, NULL, NULL, put_count(s), NULL, NULL, 0, 1));
    check_count_is_zero(s);
    CHECK_OK(upsweep_partition(c, NULL, rest, put_count(s), NULL, 0, UPSWEEP_U64, keep));
    check_count_is_zero(s);
    CHECK_OK(upsweep_partition_flags(c, NULL, rest, put_count(s), NULL, NULL, 0, 8));
    check_count_is_zero(s);
    CHECK(untouched(s, SLOT_REST));
}

/* The carry-in, or the operator's identity. */
static void test_total(struct setup *s, upsweep_type type, upsweep_op op) {
    const uint64_t init = 0x4142434445464748; /* a number of every type, and no identity */
    const size_t nbytes = elem_size(type);
    uint64_t want, got;
    case_begin("n = 0, total of %s %s", upsweep_type_name(type), upsweep_op_name(op));
    setup_enter(s);
    elem_store(&want, 0, type, oracle_scan(NULL, NULL, 0, type, op, 0, NULL));
    CHECK_OK(upsweep_scan_ex(s->ctx, NULL, NULL, 0, type, op, 0, NULL, put(s, SLOT_TOTAL, at_end, NULL, nbytes)));
    CHECK(take(s, SLOT_TOTAL, &got));
    CHECK_SAME(&got, &want, 1, nbytes);
    const void *d_init = put(s, SLOT_INIT, at_end, &init, nbytes);
    CHECK_OK(upsweep_scan_ex(s->ctx, NULL, NULL, 0, type, op, 0, d_init, put(s, SLOT_TOTAL, at_end, NULL, nbytes)));
    CHECK(take(s, SLOT_TOTAL, &got));
    CHECK_SAME(&got, &init, 1, nbytes);
}

static void test_totals(struct setup *s) {
    for (upsweep_type type = 0; type < UPSWEEP_TYPE_COUNT; type++)
        for (upsweep_op op = 0; op < UPSWEEP_OP_COUNT; op++)
            if (upsweep_type_has_op(type, op)) test_total(s, type, op);
}

static void test_report(struct setup *s) {
    case_begin("n = 0, report");
    setup_enter(s);
    upsweep_utf8_report *const d_report = put(s, SLOT_REST, at_end, NULL, sizeof *d_report), report;
    CHECK_OK(upsweep_utf8_decode(s->ctx, NULL, 0, d_report, NULL, 0, NULL));
    CHECK_OK(upsweep_utf8_read_report(s->ctx, &report, d_report));
    CHECK(report.needed == 0 && report.consumed == 0 && report.error_at == UINT64_MAX && report.status == UPSWEEP_OK);
}

int main(void) {
    harness_begin(true);
    FOR_EACH_SETUP(s) {
        test_no_output(s);
        test_counts(s);
        test_totals(s);
        test_report(s);
    }
    return harness_end();
}
