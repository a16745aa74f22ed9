/* test_scan_floats.c: scans of floats whose sums and products depend on the order of combination: the order is fixed, so that the bits are
 * the same on every setup of a backend and at every call, and it is a tree, so that errors stay small. */
#include <inttypes.h>
#include <math.h>

#include "harness.h"
#include "oracle.h"

static const struct place at_end = {AT_END, 0};

/* Same bits for every number of threads, instruction set and executor of a backend, and from call to call. */
static void check_same_bits(upsweep_type type, upsweep_op op, uint64_t n, uint32_t flags) {
    struct rng rng = {n};
    const size_t one = elem_size(type), nbytes = n * one;
    void *in = must_malloc(nbytes), *got = must_malloc(nbytes), *want[2] = {NULL, NULL};
    uint64_t total = 0, want_total[2] = {0, 0};
    for (uint64_t i = 0; i < n; i++) {
        const double uniform = (double)(rng_next(&rng) >> 11) * 0x1p-53;
        elem_store(in, i, type, elem_of_float(type, op == UPSWEEP_MUL ? 0.999 + uniform / 500 : uniform - 0.25));
    }
    case_begin("same bits %s %s, n %" PRIu64 ", flags %u", upsweep_type_name(type), upsweep_op_name(op), n, flags);
    FOR_EACH_SETUP(s) {
        for (size_t run = 0; run < 2; run++) {
            if (!s->host && run == 0) free(want[0]), want[0] = NULL;      /* each pass of a GPU has an order of its own */
            const struct place place = {AT_END, s->host ? run * one : 0}; /* on the CPU the address does not matter either */
            const void *d_in = put(s, SLOT_IN, place, in, nbytes);
            void *d_out = put(s, SLOT_OUT, place, NULL, nbytes), *d_total = put(s, SLOT_TOTAL, at_end, NULL, one);
            CHECK_OK(upsweep_scan_ex(s->ctx, d_out, d_in, n, type, op, flags, NULL, d_total));
            CHECK(take(s, SLOT_OUT, got));
            CHECK(take(s, SLOT_TOTAL, &total));
            if (want[s->host]) {
                CHECK_SAME(got, want[s->host], n, one);
                CHECK_SAME(&total, &want_total[s->host], 1, one);
            } else {
                want[s->host] = memcpy(must_malloc(nbytes), got, nbytes);
                want_total[s->host] = total;
            }
        }
    }
    free(in);
    free(got);
    free(want[0]);
    free(want[1]);
}

static void test_same_bits(void) {
    static const uint64_t sizes[] = {1, 7, 16, 17, 100, 1000, 4097, 20000, 66000, 150001, 400009};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (unsigned kind = 0; kind < 8; kind++) {
            check_same_bits(kind & 1 ? UPSWEEP_F64 : UPSWEEP_F32, kind & 2 ? UPSWEEP_MUL : UPSWEEP_ADD, sizes[i], kind >> 2);
        }
    }
}

/* Sums of n uniform numbers in [0, 1): the worst relative error of any element of the scan. */
static double worst_error(struct setup *s, upsweep_type type, uint64_t n, const void *in, void *got) {
    const size_t nbytes = n * elem_size(type);
    const void *d_in = put(s, SLOT_IN, at_end, in, nbytes);
    void *d_out = put(s, SLOT_OUT, at_end, NULL, nbytes);
    CHECK_OK(upsweep_scan(s->ctx, d_out, d_in, n, type, UPSWEEP_ADD, UPSWEEP_INCLUSIVE));
    CHECK(take(s, SLOT_OUT, got));
    long double exact = 0, worst = 0;
    for (uint64_t i = 0; i < n; i++) {
        exact += (long double)elem_to_double(type, elem_load(in, i, type));
        const long double error = fabsl((long double)elem_to_double(type, elem_load(got, i, type)) - exact);
        worst = fmaxl(worst, error / (exact > 0 ? exact : 1));
    }
    return (double)worst;
}

/* A running f32 sum would stop growing at 2^24; here every element has six right digits, and of f64 thirteen. */
static void check_error_bound(upsweep_type type, uint64_t n, double bound) {
    struct rng rng = {9};
    void *in = must_malloc(n * elem_size(type)), *got = must_malloc(n * elem_size(type));
    for (uint64_t i = 0; i < n; i++) elem_store(in, i, type, elem_of_float(type, (double)(rng_next(&rng) >> 40) * 0x1p-24));
    bool done[2] = {false, false};
    case_begin("error of %s sums, n %" PRIu64, upsweep_type_name(type), n);
    FOR_EACH_SETUP(s) {
        if (done[s->host]) continue; /* the other setups of this backend give the same bits: see above */
        done[s->host] = true;
        CHECK(worst_error(s, type, n, in, got) < bound);
    }
    free(in);
    free(got);
}

static void test_error_bounds(void) {
    check_error_bound(UPSWEEP_F32, UINT64_C(1) << (quick() ? 22 : 24), 1e-6);
    check_error_bound(UPSWEEP_F64, UINT64_C(1) << 20, 1e-13);
}

int main(void) {
    harness_begin(true);
    test_same_bits();
    test_error_bounds();
    return harness_end();
}
