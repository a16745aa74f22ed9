/* test_compact.c: compaction and partition, by predicate, by flags and as indices, against literals and the oracle, on every setup.
 *
 * Inputs are chosen from a few values around the constant (and the extremes of the type), so that every comparison keeps some and
 * drops some; the share that is kept is set by flags made for it. */
#include <inttypes.h>
#include <math.h>

#include "harness.h"
#include "oracle.h"

static const struct place at_end = {AT_END, 0}, at_start = {AT_START, 0};

enum form { KEPT, KEPT_IN_PLACE, SPLIT, SPLIT_IN_TWO, SPLIT_OUT_IN_PLACE, SPLIT_REST_IN_PLACE, INDICES32, INDICES64, FORMS };
static const char *const form_names[FORMS] = {"compact",
                                              "compact in place",
                                              "partition",
                                              "partition in two",
                                              "partition in two, kept in place",
                                              "partition in two, rest in place",
                                              "indices u32",
                                              "indices u64"};

static bool splits(enum form form) { return form >= SPLIT && form <= SPLIT_REST_IN_PLACE; }
static bool splits_in_two(enum form form) { return form > SPLIT && form <= SPLIT_REST_IN_PLACE; }

/* ---- by predicate: one case on every setup ----------------------------------------------------------------------------------- */

struct where_case {
    enum form form;
    upsweep_type type;
    upsweep_predicate keep;
    uint64_t n, base;
    struct place in_at, out_at, rest_at;
};

static size_t out_size(const struct where_case *c) { return c->form == INDICES32 ? 4 : c->form == INDICES64 ? 8 : elem_size(c->type); }

static upsweep_status call_where(struct setup *s, const struct where_case *c, void *out, void *rest, uint64_t *count, const void *in) {
    if (splits(c->form)) return upsweep_partition(s->ctx, out, rest, count, in, c->n, c->type, &c->keep);
    switch (c->form) {
    case INDICES32:
        return upsweep_compact_indices(s->ctx, out, count, in, c->n, c->type, &c->keep, UPSWEEP_U32, c->base);
    case INDICES64:
        return upsweep_compact_indices(s->ctx, out, count, in, c->n, c->type, &c->keep, UPSWEEP_U64, c->base);
    default:
        return upsweep_compact(s->ctx, out, count, in, c->n, c->type, &c->keep);
    }
}

/* want [want_n], and the first want_count of them are the kept ones. */
static void run_where(struct setup *s, const struct where_case *c, const void *in, const void *want, uint64_t want_n, uint64_t want_count) {
    const size_t in_nbytes = c->n * elem_size(c->type), out_nbytes = c->n * out_size(c);
    const bool two = splits_in_two(c->form), out_is_in = c->form == KEPT_IN_PLACE || c->form == SPLIT_OUT_IN_PLACE;
    const bool rest_is_in = c->form == SPLIT_REST_IN_PLACE;
    void *got = must_malloc(out_nbytes);
    void *d_out = put(s, SLOT_OUT, c->out_at, out_is_in ? in : NULL, out_nbytes);
    void *d_rest = two ? put(s, SLOT_REST, c->rest_at, rest_is_in ? in : NULL, out_nbytes) : NULL;
    const void *d_in = out_is_in ? d_out : rest_is_in ? d_rest : put(s, SLOT_IN, c->in_at, in, in_nbytes);
    uint64_t *d_count = put(s, SLOT_COUNT, at_end, NULL, sizeof *d_count), count = 0;
    if (CHECK_OK(call_where(s, c, d_out, d_rest, d_count, d_in))) {
        CHECK_OK(upsweep_read_count(s->ctx, &count, d_count));
        CHECK(take(s, SLOT_COUNT, NULL));
        CHECK(take(s, SLOT_OUT, got));
        if (CHECK_SAME(&count, &want_count, 1, sizeof count)) CHECK_SAME(got, want, two ? want_count : want_n, out_size(c));
        if (two) {
            CHECK(take(s, SLOT_REST, got));
            CHECK_SAME(got, (const char *)want + want_count * out_size(c), want_n - want_count, out_size(c));
        }
        if (!out_is_in && !rest_is_in) CHECK(untouched(s, SLOT_IN));
    }
    free(got);
}

static void check_where(const struct where_case *c, const void *in) {
    uint8_t *kept = must_malloc(c->n);
    void *want = must_malloc(c->n * out_size(c));
    oracle_flags(kept, in, c->n, c->type, &c->keep);
    uint64_t want_count;
    if (c->form == INDICES32 || c->form == INDICES64) {
        want_count = oracle_indices(want, kept, c->n, c->form == INDICES32 ? UPSWEEP_U32 : UPSWEEP_U64, c->base);
    } else {
        want_count = oracle_compact(want, in, kept, c->n, elem_size(c->type), splits(c->form));
    }
    case_begin("%s, %s %s 0x%" PRIx64 ", n %" PRIu64 ", base %" PRIu64 ", shifts %zu %zu %zu", form_names[c->form],
               upsweep_type_name(c->type), upsweep_cmp_name(c->keep.cmp), c->keep.value.u, c->n, c->base, c->in_at.shift, c->out_at.shift,
               c->rest_at.shift);
    FOR_EACH_SETUP(s) run_where(s, c, in, want, splits(c->form) ? c->n : want_count, want_count);
    free(kept);
    free(want);
}

/* ---- inputs ------------------------------------------------------------------------------------------------------------------ */

enum { CONSTANTS = 6 };

/* Constants worth comparing with, as bits: zero, one, all ones, the extremes. */
static uint64_t interesting(upsweep_type type, unsigned i) {
    const uint64_t sign = UINT64_C(1) << (8 * elem_size(type) - 1);
    if (is_float(type)) {
        const double values[CONSTANTS] = {0.0, 1.5, -1.5, (double)INFINITY, (double)-INFINITY, (double)NAN};
        return elem_of_float(type, values[i]);
    }
    const uint64_t values[CONSTANTS] = {0, 1, sign - 1, sign, sign | (sign - 1), 42};
    return values[i];
}

static upsweep_predicate predicate(upsweep_type type, upsweep_cmp cmp, unsigned constant) {
    upsweep_predicate keep = {.cmp = cmp, .value = {.u = interesting(type, constant)}};
    if (is_float(type))
        keep.value.f = elem_to_double(type, keep.value.u);
    else if (is_signed(type) && elem_size(type) < 8)
        keep.value.i = (int64_t)elem_to_double(type, keep.value.u);
    return keep;
}

/* Half of the elements are interesting constants or zeros of either sign, half random bits (NaNs among the floats). */
static void *make_input(upsweep_type type, uint64_t n, uint64_t seed) {
    struct rng rng = {seed};
    void *in = must_malloc(n * elem_size(type));
    for (uint64_t i = 0; i < n; i++) {
        uint64_t x = rng_next(&rng);
        const uint64_t kind = rng_below(&rng, 4);
        if (kind < 2) x = interesting(type, (unsigned)rng_below(&rng, CONSTANTS));
        if (kind == 2 && is_float(type)) x = elem_of_float(type, (double)rng_below(&rng, 9) / 2 - 2);
        if (kind == 3 && is_float(type) && rng_below(&rng, 4) == 0) x = elem_of_float(type, -0.0);
        elem_store(in, i, type, x);
    }
    return in;
}

static struct where_case make_case(enum form form, upsweep_type type, upsweep_predicate keep, uint64_t n, unsigned i) {
    struct where_case c = {.form = form, .type = type, .keep = keep, .n = n, .in_at = i & 1 ? at_start : at_end};
    c.out_at = i & 2 ? at_start : at_end;
    c.rest_at = i & 4 ? at_start : at_end;
    if (form == INDICES32) c.base = i & 4 ? UINT32_MAX - (n ? n - 1 : 0) : 0;
    if (form == INDICES64) c.base = i & 4 ? UINT64_MAX - (n ? n - 1 : 0) : i & 8 ? UINT64_C(1) << 33 : 7;
    return c;
}

/* ---- literals ---------------------------------------------------------------------------------------------------------------- */

static void literal(enum form form, upsweep_type type, upsweep_predicate keep, uint64_t n, const void *in, const void *want,
                    uint64_t want_n, uint64_t want_count) {
    const struct where_case c = make_case(form, type, keep, n, 0);
    case_begin("literal %s, %s %s", form_names[form], upsweep_type_name(type), upsweep_cmp_name(keep.cmp));
    FOR_EACH_SETUP(s) run_where(s, &c, in, want, want_n, want_count);
}

static void test_literals(void) {
    const int32_t in[] = {5, 0, -3, 0, 12, 7, 0}, kept[] = {5, -3, 12, 7}, split[] = {5, 12, 7, 0, -3, 0, 0}, at[] = {0, 2, 4, 5};
    const upsweep_predicate nonzero = {UPSWEEP_NONZERO, {0}}, positive = {UPSWEEP_GT, {.i = 0}}, negative = {UPSWEEP_LE, {.i = -3}};
    literal(KEPT, UPSWEEP_I32, nonzero, 7, in, kept, 4, 4);
    literal(KEPT_IN_PLACE, UPSWEEP_I32, nonzero, 7, in, kept, 4, 4);
    for (enum form form = SPLIT; splits(form); form++) literal(form, UPSWEEP_I32, positive, 7, in, split, 7, 3);
    literal(INDICES32, UPSWEEP_I32, nonzero, 7, in, at, 4, 4);
    literal(KEPT, UPSWEEP_I32, negative, 7, in, (const int32_t[]){-3}, 1, 1);
    const uint64_t at_64[] = {7, 9, 11, 12};
    literal(INDICES64, UPSWEEP_I32, nonzero, 7, in, at_64, 4, 4);

    const uint8_t bytes[] = {0, 255, 128, 127, 1};
    literal(KEPT, UPSWEEP_U8, (upsweep_predicate){UPSWEEP_GE, {.u = 128}}, 5, bytes, (const uint8_t[]){255, 128}, 2, 2);
    literal(KEPT, UPSWEEP_I8, (upsweep_predicate){UPSWEEP_LT, {.i = 0}}, 5, bytes, (const uint8_t[]){255, 128}, 2, 2);
    const double x[] = {1.5, (double)NAN, -0.0, 0.0, (double)INFINITY}, numbers[] = {1.5, -0.0, 0.0, (double)INFINITY};
    literal(KEPT, UPSWEEP_F64, (upsweep_predicate){UPSWEEP_NOT_NAN, {0}}, 5, x, numbers, 4, 4);
    literal(KEPT, UPSWEEP_F64, (upsweep_predicate){UPSWEEP_EQ, {.f = 0}}, 5, x, x + 2, 2, 2);
    literal(KEPT, UPSWEEP_F64, (upsweep_predicate){UPSWEEP_NONZERO, {0}}, 5, x, (const double[]){x[0], x[1], x[4]}, 3, 3);
    literal(KEPT, UPSWEEP_F64, (upsweep_predicate){UPSWEEP_NE, {.f = 1.5}}, 5, x, x + 1, 4, 4);
    literal(KEPT, UPSWEEP_F64, (upsweep_predicate){UPSWEEP_GE, {.f = (double)NAN}}, 5, x, x, 0, 0);
    /* 0.1 is not an f32: the constant is rounded to one first. */
    literal(KEPT, UPSWEEP_F32, (upsweep_predicate){UPSWEEP_EQ, {.f = 0.1}}, 2, (const float[]){0.1f, 0.2f}, (const float[]){0.1f}, 1, 1);
}

/* ---- predicates over types, sizes and offsets -------------------------------------------------------------------------------- */

static void test_every_type_cmp_and_form(void) {
    unsigned i = 0;
    for (upsweep_type type = 0; type < UPSWEEP_TYPE_COUNT; type++) {
        void *in = make_input(type, 1100, type + 1u);
        for (upsweep_cmp cmp = 0; cmp < UPSWEEP_CMP_COUNT; cmp++) {
            if (!upsweep_type_has_cmp(type, cmp)) continue;
            for (unsigned constant = 0; constant < CONSTANTS; constant++) {
                for (enum form form = 0; form < FORMS; form++, i++) {
                    const struct where_case c = make_case(form, type, predicate(type, cmp, constant), i % 4 ? 100 + i % 1000 : i % 32, i);
                    check_where(&c, in);
                }
            }
        }
        free(in);
    }
}

/* Every n, on the element sizes that have kernels of their own. */
static void test_every_small_n(void) {
    static const upsweep_type types[] = {UPSWEEP_I32, UPSWEEP_U8, UPSWEEP_I64, UPSWEEP_F32, UPSWEEP_U16, UPSWEEP_F64};
    const unsigned ntypes = sizeof types / sizeof *types;
    void *in[6];
    for (unsigned k = 0; k < ntypes; k++) in[k] = make_input(types[k], 1100, 100 + k);
    for (unsigned n = 0; n <= 1100; n++) {
        for (unsigned k = 0; k < ntypes; k++) {
            if (k > 2 && n % 3 != k % 3) continue;
            if (quick() && n > 300 && n % 5 != k % 5) continue;
            const upsweep_cmp cmp = (upsweep_cmp)((n + k) % 7); /* all but not_nan */
            const struct where_case c =
                make_case((enum form)((n + n / 64 + k) % FORMS), types[k], predicate(types[k], cmp, n % 3), n, n / 5);
            check_where(&c, in[k]);
        }
    }
    for (unsigned k = 0; k < ntypes; k++) free(in[k]);
}

/* Around sizes in bytes at which a block, a chunk of work or a number of threads may change: the last ones keep several threads busy. */
static const size_t edge_nbytes[] = {4096, 16384, 65536, 131072, 262144, 1u << 20, (1u << 20) + (3u << 17)};
enum { EDGES = sizeof edge_nbytes / sizeof *edge_nbytes };

static void test_block_edges(void) {
    unsigned i = 0;
    for (upsweep_type type = 0; type < UPSWEEP_TYPE_COUNT; type++) {
        void *in = make_input(type, edge_nbytes[EDGES - 1] / elem_size(type) + 1, type + 50u);
        for (size_t e = 0; e < EDGES; e++) {
            for (enum form form = 0; form < FORMS; form++) {
                if (quick() && (e + form + type) % 4) continue;
                i = i * 5 + 3;
                const uint64_t n = edge_nbytes[e] / elem_size(type) - 1 + (e + i / 4) % 3;
                const struct where_case c = make_case(form, type, predicate(type, (upsweep_cmp)(i / 8 % 7), 1), n, i / 2);
                check_where(&c, in);
            }
        }
        free(in);
    }
}

static void test_offsets(void) {
    for (upsweep_type type = 0; type < UPSWEEP_TYPE_COUNT; type++) {
        void *in = make_input(type, 1500, type + 70u);
        for (size_t shift = 1; shift < 34; shift++) {
            for (enum form form = 0; form < FORMS; form++) {
                if ((shift + form) % 2) continue;
                struct where_case c = make_case(form, type, predicate(type, UPSWEEP_LE, 1), 1031 + 13 * shift, (unsigned)shift);
                c.in_at.shift = shift * elem_size(type);
                c.out_at.shift = shift * 5 % 34 * out_size(&c);
                c.rest_at.shift = shift * 7 % 34 * out_size(&c);
                check_where(&c, in);
            }
        }
        free(in);
    }
}

/* Kept: none, few, half, nearly all, all. */
static void test_kept_shares_and_big_n(void) {
    static const double shares[] = {0, 0.01, 0.5, 0.99, 1};
    const uint64_t n = quick() ? 300007 : 1500013;
    struct rng rng = {11};
    double *f64 = must_malloc(n * sizeof *f64);
    int32_t *i32 = must_malloc(n * sizeof *i32);
    uint8_t *u8 = must_malloc(n);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t x = rng_below(&rng, 200);
        f64[i] = (double)x - 100 + (double)(i & 1) / 2;
        i32[i] = (int32_t)x - 100;
        u8[i] = (uint8_t)x;
    }
    for (unsigned i = 0; i < 5; i++) {
        const int64_t below = (int64_t)(200 * shares[i]);
        const struct where_case cases[] = {
            make_case((enum form)(i % FORMS), UPSWEEP_F64, (upsweep_predicate){UPSWEEP_LT, {.f = (double)below - 100}}, n, i),
            make_case((enum form)((i + 1) % FORMS), UPSWEEP_I32, (upsweep_predicate){UPSWEEP_LT, {.i = below - 100}}, n, i),
            make_case((enum form)((i + 2) % FORMS), UPSWEEP_I32, (upsweep_predicate){UPSWEEP_GE, {.i = below - 100}}, n, i),
            make_case((enum form)((i + 4) % FORMS), UPSWEEP_U8, (upsweep_predicate){UPSWEEP_LT, {.u = (uint64_t)below}}, n, i),
            make_case((enum form)(SPLIT_IN_TWO + i % 3), UPSWEEP_I32, (upsweep_predicate){UPSWEEP_LT, {.i = below - 100}}, n, i)};
        check_where(&cases[0], f64);
        check_where(&cases[1], i32);
        check_where(&cases[2], i32);
        check_where(&cases[3], u8);
        check_where(&cases[4], i32);
    }
    free(f64);
    free(i32);
    free(u8);
}

/* Arrays too large for the caches, which may be written past them. */
static void test_beyond_caches(void) {
    static const struct {
        enum form form;
        upsweep_type type;
    } kinds[] = {{SPLIT_IN_TWO, UPSWEEP_I64}, {SPLIT, UPSWEEP_F32}, {KEPT, UPSWEEP_U8}, {KEPT, UPSWEEP_I64}};
    for (unsigned i = 0; i < (quick() ? 1 : sizeof kinds / sizeof *kinds); i++) {
        const uint64_t n = 34000000 / elem_size(kinds[i].type) + i;
        void *in = make_input(kinds[i].type, n, n);
        struct where_case c = make_case(kinds[i].form, kinds[i].type, predicate(kinds[i].type, UPSWEEP_GT, 0), n, 0);
        c.out_at.shift = elem_size(c.type);
        check_where(&c, in);
        free(in);
    }
}

/* ---- by flags: records of any size ------------------------------------------------------------------------------------------- */

struct flags_case {
    bool split, in_two;
    size_t elem_nbytes;
    uint64_t n;
    double share;
    struct place in_at, out_at, rest_at, flags_at;
};

static void run_flags(struct setup *s, const struct flags_case *c, const void *in, const uint8_t *flags, const void *want,
                      uint64_t want_count) {
    const size_t nbytes = c->n * c->elem_nbytes;
    void *got = must_malloc(nbytes);
    const void *d_in = put(s, SLOT_IN, c->in_at, in, nbytes);
    const uint8_t *d_flags = put(s, SLOT_FLAGS, c->flags_at, flags, c->n);
    void *d_out = put(s, SLOT_OUT, c->out_at, NULL, nbytes), *d_rest = c->in_two ? put(s, SLOT_REST, c->rest_at, NULL, nbytes) : NULL;
    uint64_t *d_count = put(s, SLOT_COUNT, at_end, NULL, sizeof *d_count), count = 0;
    if (c->split)
        CHECK_OK(upsweep_partition_flags(s->ctx, d_out, d_rest, d_count, d_in, d_flags, c->n, c->elem_nbytes));
    else
        CHECK_OK(upsweep_compact_flags(s->ctx, d_out, d_count, d_in, d_flags, c->n, c->elem_nbytes));
    CHECK_OK(upsweep_read_count(s->ctx, &count, d_count));
    CHECK(take(s, SLOT_OUT, got));
    CHECK(untouched(s, SLOT_IN));
    CHECK(untouched(s, SLOT_FLAGS));
    const uint64_t out_n = c->split && !c->in_two ? c->n : want_count;
    if (CHECK_SAME(&count, &want_count, 1, sizeof count)) CHECK_SAME(got, want, out_n, c->elem_nbytes);
    if (c->in_two) {
        CHECK(take(s, SLOT_REST, got));
        CHECK_SAME(got, (const char *)want + want_count * c->elem_nbytes, c->n - want_count, c->elem_nbytes);
    }
    free(got);
}

static void check_flags(const struct flags_case *c) {
    struct rng rng = {c->n * 4099 + c->elem_nbytes};
    const size_t nbytes = c->n * c->elem_nbytes;
    unsigned char *in = must_malloc(nbytes), *want = must_malloc(nbytes);
    uint8_t *flags = must_malloc(c->n);
    rng_fill(&rng, in, nbytes);
    const uint64_t bound = (uint64_t)(c->share * 1000);
    for (uint64_t i = 0; i < c->n; i++) flags[i] = rng_below(&rng, 1000) < bound ? (uint8_t)(1 + rng_below(&rng, 255)) : 0;
    const uint64_t count = oracle_compact(want, in, flags, c->n, c->elem_nbytes, c->split);
    case_begin("%s by flags, records of %zu bytes, n %" PRIu64 ", share %.2f, shifts %zu %zu %zu %zu",
               c->in_two  ? "partition in two"
               : c->split ? "partition"
                          : "compact",
               c->elem_nbytes, c->n, c->share, c->in_at.shift, c->out_at.shift, c->rest_at.shift, c->flags_at.shift);
    FOR_EACH_SETUP(s) run_flags(s, c, in, flags, want, count);
    free(in);
    free(want);
    free(flags);
}

static void test_flags(void) {
    static const double shares[] = {0, 0.01, 0.5, 0.99, 1};
    static const size_t large[] = {72, 96, 100, 127, 128, 255, 256, 1000, 4095, 4096};
    unsigned i = 0;
    for (size_t k = 0; k < 64 + sizeof large / sizeof *large; k++) {
        const size_t elem_nbytes = k < 64 ? k + 1 : large[k - 64];
        for (unsigned r = 0; r < 10; r++, i++) {
            struct flags_case c = {.split = r & 1, .in_two = r & i / 10 & 1, .elem_nbytes = elem_nbytes, .share = shares[r / 2]};
            c.n = r < 8 ? 20 + i * 7 % 300 : 600;
            if (elem_nbytes <= 16 && r == 4) c.n = 70001;
            if (elem_nbytes <= 16 && (r == 3 || r == 5)) c.n = 2000 + i * 37 % 2100; /* to the largest number that is few, and beyond */
            c.in_at = (struct place){i & 1 ? AT_START : AT_END, i % 3};
            c.out_at = (struct place){i & 2 ? AT_START : AT_END, i % 5};
            c.rest_at = (struct place){i & 8 ? AT_START : AT_END, i % 7};
            c.flags_at = (struct place){i & 4 ? AT_START : AT_END, i % 67};
            check_flags(&c);
        }
    }
    for (unsigned n = 0; n <= 1100; n++) {
        static const size_t sizes[] = {1, 2, 4, 8, 16, 12, 3};
        check_flags(&(struct flags_case){
            .split = n & 1, .in_two = n & n / 64 & 1, .elem_nbytes = sizes[n % 7], .n = n, .share = shares[1 + n % 3]});
    }
    static const size_t big_sizes[] = {1, 2, 4, 8, 16, 3, 12, 100};
    for (size_t k = 0; k < 8; k++) { /* about 1.5 MiB: work for several threads */
        const uint64_t n = 1500000 / big_sizes[k] + k;
        for (unsigned form = 0; form < 3; form++) {
            if (quick() && form != k % 3) continue;
            const struct flags_case c = {
                .split = form > 0, .in_two = form > 1, .elem_nbytes = big_sizes[k], .n = n, .share = shares[1 + k % 3]};
            check_flags(&c);
        }
    }
}

int main(void) {
    harness_begin(true);
    test_literals();
    test_every_type_cmp_and_form();
    test_every_small_n();
    test_block_edges();
    test_offsets();
    test_flags();
    test_kept_shares_and_big_n();
    test_beyond_caches();
    return harness_end();
}
