/* test_scan.c: upsweep_scan and upsweep_scan_ex against literals and the oracle, on every setup.
 *
 * Float inputs of add are small whole numbers and those of mul powers of two that keep cancelling, so that every order of combination
 * gives the same bits (test_scan_floats.c has those where it does not). Integer inputs of mul are odd, so that products stay alive. */
#include <inttypes.h>
#include <math.h>

#include "harness.h"
#include "oracle.h"

enum total_kind { NO_TOTAL, TOTAL, TOTAL_IS_INIT, TOTAL_KINDS };

struct scan_case {
    upsweep_type type;
    upsweep_op op;
    uint32_t flags;
    uint64_t n;
    bool with_init, in_place;
    enum total_kind total;
    struct place in_at, out_at;
};

static const struct place at_end = {AT_END, 0}, at_start = {AT_START, 0};

/* ---- inputs ------------------------------------------------------------------------------------------------------------------ */

static uint64_t element(struct rng *rng, upsweep_type type, upsweep_op op, uint64_t i) {
    if (!is_float(type)) return rng_next(rng) | (op == UPSWEEP_MUL ? 1 : 0);
    if (op == UPSWEEP_ADD) return elem_of_float(type, (double)rng_below(rng, 17) - 8);
    if (op == UPSWEEP_MUL) return elem_of_float(type, (i % 2 ? 0.5 : 2) * (rng_below(rng, 2) ? 1 : -1));
    return elem_of_float(type, ((double)rng_below(rng, 2000001) - 1000000) / 1024);
}

/* Such inputs for min and max change the running value all along: it drifts away from zero, of 64 bits slowly, so that both halves matter.
 */
static uint64_t drifting_element(struct rng *rng, upsweep_type type, upsweep_op op, uint64_t i, uint64_t n) {
    const double reach = is_float(type) ? 1e6 : ldexp(1, elem_size(type) == 8 ? 40 : (int)(8 * elem_size(type)) - 2);
    const double x = reach * (double)i / (double)n - (double)rng_below(rng, 16);
    const double y = op == UPSWEEP_MIN ? -x : x;
    if (is_float(type)) return elem_of_float(type, y);
    return is_signed(type) ? (uint64_t)(int64_t)y : (uint64_t)(int64_t)(reach + y);
}

/* n elements that suit the operator; the caller frees them. */
static void *make_input(upsweep_type type, upsweep_op op, uint64_t n, uint64_t seed) {
    struct rng rng = {seed};
    void *in = must_malloc(n * elem_size(type));
    const bool drift = (op == UPSWEEP_MIN || op == UPSWEEP_MAX) && n > 16;
    for (uint64_t i = 0; i < n; i++) {
        elem_store(in, i, type, drift ? drifting_element(&rng, type, op, i, n) : element(&rng, type, op, i));
    }
    return in;
}

static uint64_t make_init(upsweep_type type, upsweep_op op) {
    if (is_float(type)) return elem_of_float(type, op == UPSWEEP_MUL ? -2 : op == UPSWEEP_ADD ? 3 : -1.5);
    return op == UPSWEEP_AND ? 0x7f : op == UPSWEEP_MIN || op == UPSWEEP_MAX ? 29 : 5;
}

/* ---- one case on every setup ------------------------------------------------------------------------------------------------- */

static upsweep_status call_scan(struct setup *s, const struct scan_case *c, void *out, const void *in, const void *init, void *total) {
    if (!init && !total) return upsweep_scan(s->ctx, out, in, c->n, c->type, c->op, c->flags);
    return upsweep_scan_ex(s->ctx, out, in, c->n, c->type, c->op, c->flags, init, total);
}

static void run_scan(struct setup *s, const struct scan_case *c, const void *in, const void *init, const void *want,
                     const void *want_total) {
    const size_t nbytes = c->n * elem_size(c->type), one = elem_size(c->type);
    void *got = must_malloc(nbytes);
    void *d_out = c->in_place ? put(s, SLOT_OUT, c->out_at, in, nbytes) : put(s, SLOT_OUT, c->out_at, NULL, nbytes);
    const void *d_in = c->in_place ? d_out : put(s, SLOT_IN, c->in_at, in, nbytes);
    void *d_init = c->with_init ? put(s, SLOT_INIT, at_end, init, one) : NULL;
    void *d_total = c->total == TOTAL ? put(s, SLOT_TOTAL, at_end, NULL, one) : c->total == TOTAL_IS_INIT ? d_init : NULL;

    if (CHECK_OK(call_scan(s, c, d_out, d_in, d_init, d_total))) {
        CHECK(take(s, SLOT_OUT, got));
        CHECK_SAME(got, want, c->n, one);
        if (!c->in_place) CHECK(untouched(s, SLOT_IN));
        if (d_init && d_total != d_init) CHECK(untouched(s, SLOT_INIT));
        uint64_t total = 0;
        if (d_total) {
            CHECK(take(s, d_total == d_init ? SLOT_INIT : SLOT_TOTAL, &total));
            CHECK_SAME(&total, want_total, 1, one);
        }
    }
    free(got);
}

static void check_scan_of(const struct scan_case *c, const void *in) {
    void *want = must_malloc(c->n * elem_size(c->type));
    uint64_t init[1], init_bits = make_init(c->type, c->op), want_total[1];
    elem_store(init, 0, c->type, init_bits);
    elem_store(want_total, 0, c->type, oracle_scan(want, in, c->n, c->type, c->op, c->flags, c->with_init ? &init_bits : NULL));
    case_begin("scan %s %s, n %" PRIu64 ", flags %u, init %d, total %d, in place %d, shifts %zu %zu", upsweep_type_name(c->type),
               upsweep_op_name(c->op), c->n, c->flags, c->with_init, (int)c->total, c->in_place, c->in_at.shift, c->out_at.shift);
    FOR_EACH_SETUP(s) run_scan(s, c, in, init, want, want_total);
    free(want);
}

static void check_scan(const struct scan_case *c) {
    void *in = make_input(c->type, c->op, c->n, c->n + 1000 * (uint64_t)c->type + (uint64_t)c->op);
    check_scan_of(c, in);
    free(in);
}

/* The i-th combination of everything but type, operator and n. */
static struct scan_case variant(upsweep_type type, upsweep_op op, uint64_t n, unsigned i) {
    struct scan_case c = {.type = type, .op = op, .n = n, .flags = i & 1, .with_init = i >> 1 & 1, .in_place = i >> 2 & 1};
    c.total = (enum total_kind)(i / 8 % TOTAL_KINDS);
    if (c.total == TOTAL_IS_INIT && !c.with_init) c.total = TOTAL;
    c.in_at = i / 24 & 1 ? at_start : at_end;
    c.out_at = i / 48 & 1 ? at_start : at_end;
    return c;
}
enum { VARIANTS = 96 };

/* ---- literals ---------------------------------------------------------------------------------------------------------------- */

static void literal(upsweep_type type, upsweep_op op, uint32_t flags, uint64_t n, const void *in, const void *want, const void *init,
                    const void *want_total) {
    struct scan_case c = {.type = type, .op = op, .n = n, .flags = flags, .with_init = init != NULL, .total = TOTAL};
    case_begin("literal %s %s, flags %u", upsweep_type_name(type), upsweep_op_name(op), flags);
    FOR_EACH_SETUP(s) {
        c.in_place = false;
        run_scan(s, &c, in, init, want, want_total);
        c.in_place = true;
        run_scan(s, &c, in, init, want, want_total);
    }
}

static void test_literals(void) {
    const int32_t in[] = {3, 1, 7, 0, 4, 1, 6, 3}, exclusive[] = {0, 3, 4, 11, 11, 15, 16, 22}, sum = 25;
    const int32_t inclusive[] = {3, 4, 11, 11, 15, 16, 22, 25};
    literal(UPSWEEP_I32, UPSWEEP_ADD, UPSWEEP_EXCLUSIVE, 8, in, exclusive, NULL, &sum);
    literal(UPSWEEP_I32, UPSWEEP_ADD, UPSWEEP_INCLUSIVE, 8, in, inclusive, NULL, &sum);
    const int32_t init = 100, exclusive_100[] = {100, 103, 104, 111, 111, 115, 116, 122}, sum_100 = 125;
    literal(UPSWEEP_I32, UPSWEEP_ADD, UPSWEEP_EXCLUSIVE, 8, in, exclusive_100, &init, &sum_100);
    const int32_t max[] = {INT32_MIN, 3, 3, 7, 7, 7, 7, 7}, most = 7, min[] = {3, 1, 1, 0, 0, 0, 0, 0}, least = 0;
    literal(UPSWEEP_I32, UPSWEEP_MAX, UPSWEEP_EXCLUSIVE, 8, in, max, NULL, &most);
    literal(UPSWEEP_I32, UPSWEEP_MIN, UPSWEEP_INCLUSIVE, 8, in, min, NULL, &least);

    const uint8_t bytes[] = {200, 100, 255, 1}, byte_sums[] = {200, 44, 43, 44}, byte_sum = 44;
    literal(UPSWEEP_U8, UPSWEEP_ADD, UPSWEEP_INCLUSIVE, 4, bytes, byte_sums, NULL, &byte_sum);
    const int8_t near_top[] = {127, 1, -128, -1}, wrapped[] = {127, -128, 0, -1}, wrapped_sum = -1;
    literal(UPSWEEP_I8, UPSWEEP_ADD, UPSWEEP_INCLUSIVE, 4, near_top, wrapped, NULL, &wrapped_sum);
    const uint16_t big[] = {65535, 65535, 2}, products[] = {1, 65535, 1}, product = 2;
    literal(UPSWEEP_U16, UPSWEEP_MUL, UPSWEEP_EXCLUSIVE, 3, big, products, NULL, &product);
    const int64_t top[] = {INT64_MAX, 1, 5}, top_sums[] = {INT64_MAX, INT64_MIN, INT64_MIN + 5}, top_sum = INT64_MIN + 5;
    literal(UPSWEEP_I64, UPSWEEP_ADD, UPSWEEP_INCLUSIVE, 3, top, top_sums, NULL, &top_sum);

    const uint32_t bits[] = {6, 5, 12}, ands[] = {UINT32_MAX, 6, 4}, all = 4, ors[] = {6, 7, 15}, any = 15, xors[] = {0, 6, 3}, odd = 15;
    literal(UPSWEEP_U32, UPSWEEP_AND, UPSWEEP_EXCLUSIVE, 3, bits, ands, NULL, &all);
    literal(UPSWEEP_U32, UPSWEEP_OR, UPSWEEP_INCLUSIVE, 3, bits, ors, NULL, &any);
    literal(UPSWEEP_U32, UPSWEEP_XOR, UPSWEEP_EXCLUSIVE, 3, bits, xors, NULL, &odd);
    const int16_t ones = -1, minus[] = {-2, 3}, signed_ands[] = {-1, -2}, signed_and = 2;
    literal(UPSWEEP_I16, UPSWEEP_AND, UPSWEEP_EXCLUSIVE, 2, minus, signed_ands, &ones, &signed_and);

    const float halves[] = {0.5f, 0.25f, -1.0f}, f_sums[] = {0.5f, 0.75f, -0.25f}, f_sum = -0.25f;
    literal(UPSWEEP_F32, UPSWEEP_ADD, UPSWEEP_INCLUSIVE, 3, halves, f_sums, NULL, &f_sum);
    const double doubles[] = {-4, 0.5, 8}, d_products[] = {1, -4, -2}, d_product = -16, d_mins[] = {(double)INFINITY, -4, -4}, d_min = -4;
    literal(UPSWEEP_F64, UPSWEEP_MUL, UPSWEEP_EXCLUSIVE, 3, doubles, d_products, NULL, &d_product);
    literal(UPSWEEP_F64, UPSWEEP_MIN, UPSWEEP_EXCLUSIVE, 3, doubles, d_mins, NULL, &d_min);
}

/* ---- sizes, types, operators, offsets ---------------------------------------------------------------------------------------- */

static void test_every_small_n(void) {
    static const struct {
        upsweep_type type;
        upsweep_op op;
    } kinds[] = {{UPSWEEP_I32, UPSWEEP_ADD}, {UPSWEEP_F32, UPSWEEP_ADD}, {UPSWEEP_I64, UPSWEEP_ADD}, {UPSWEEP_U8, UPSWEEP_ADD},
                 {UPSWEEP_F64, UPSWEEP_ADD}, {UPSWEEP_I16, UPSWEEP_MAX}, {UPSWEEP_U64, UPSWEEP_MUL}, {UPSWEEP_F32, UPSWEEP_MIN}};
    const unsigned nkinds = sizeof kinds / sizeof *kinds;
    for (unsigned n = 0; n <= 1100; n++) {
        for (unsigned k = 0; k < nkinds; k++) {
            const struct scan_case c = variant(kinds[k].type, kinds[k].op, n, (n * 5 + k * 11) % VARIANTS);
            if (k < 3 ? !quick() || n < 300 || n % 5 == k : n % 4 == k % 4) check_scan(&c);
        }
    }
}

static void test_every_type_op_and_option(void) {
    for (upsweep_type type = 0; type < UPSWEEP_TYPE_COUNT; type++) {
        for (upsweep_op op = 0; op < UPSWEEP_OP_COUNT; op++) {
            if (!upsweep_type_has_op(type, op)) continue;
            for (unsigned i = 0; i < VARIANTS; i++) {
                const struct scan_case c = variant(type, op, i % 3 ? 1000 + i : i / 3 + 1, i);
                check_scan(&c);
            }
        }
    }
}

/* Around sizes in bytes at which a block, a chunk of work or a number of threads may change: the last ones keep several threads busy. */
static const size_t edge_nbytes[] = {64, 256, 4096, 16384, 65536, 131072, 262144, 1u << 20, (1u << 20) + (3u << 17)};
enum { EDGES = sizeof edge_nbytes / sizeof *edge_nbytes };

static void check_edge(upsweep_type type, upsweep_op op, size_t e, unsigned *i) {
    const bool all_three = e < 4 && (op == UPSWEEP_ADD || !quick());
    for (uint64_t around = 0; around < 3; around++, ++*i) {
        const uint64_t n = edge_nbytes[e] / elem_size(type) - 1 + around;
        const struct scan_case c = variant(type, op, n, *i * 7 % VARIANTS);
        if (all_three || (around + e + op) % 3 == 0) check_scan(&c);
    }
}

static void test_block_edges(void) {
    unsigned i = 0;
    for (upsweep_type type = 0; type < UPSWEEP_TYPE_COUNT; type++) {
        for (upsweep_op op = 0; op < UPSWEEP_OP_COUNT; op++) {
            if (!upsweep_type_has_op(type, op)) continue;
            for (size_t e = 0; e < EDGES; e++) {
                if (!quick() || e < 4 || (e + op + type) % 4 == 0) check_edge(type, op, e, &i);
            }
        }
    }
}

static void test_offsets(void) {
    for (upsweep_type type = 0; type < UPSWEEP_TYPE_COUNT; type++) {
        for (size_t shift = 0; shift < 34; shift++) {
            struct scan_case c = variant(type, UPSWEEP_ADD, 1027, (unsigned)shift);
            c.in_place = false;
            c.in_at.shift = shift * elem_size(type);
            c.out_at.shift = shift * 7 % 34 * elem_size(type);
            check_scan(&c);
            c.in_place = true;
            check_scan(&c);
        }
    }
}

/* Arrays too large for the caches, which may be written past them; not aligned to a vector. */
static void test_beyond_caches(void) {
    static const struct {
        upsweep_type type;
        upsweep_op op;
    } kinds[] = {{UPSWEEP_I32, UPSWEEP_ADD},
                 {UPSWEEP_F64, UPSWEEP_ADD},
                 {UPSWEEP_F32, UPSWEEP_MIN},
                 {UPSWEEP_I64, UPSWEEP_MAX},
                 {UPSWEEP_U8, UPSWEEP_ADD}};
    for (unsigned i = 0; i < (quick() ? 2 : sizeof kinds / sizeof *kinds); i++) {
        const size_t one = elem_size(kinds[i].type);
        struct scan_case c = variant(kinds[i].type, kinds[i].op, 17000000 / one + i, i * 9);
        c.in_place = false;
        c.out_at.shift = one;
        check_scan(&c);
    }
}

/* ---- chunks ------------------------------------------------------------------------------------------------------------------ */

/* Chunks of odd sizes, the total of each being the init of the next, in one word: the answer is that of one scan. */
static void check_chunks(upsweep_type type, upsweep_op op, uint32_t flags, uint64_t n) {
    const size_t one = elem_size(type);
    unsigned char *in = make_input(type, op, n, 77), *want = must_malloc(n * one), *got = must_malloc(n * one);
    uint64_t carry[1], total[1] = {0}, init = make_init(type, op), want_total[1];
    elem_store(want_total, 0, type, oracle_scan(want, in, n, type, op, flags, &init));
    case_begin("chunks %s %s, n %" PRIu64 ", flags %u", upsweep_type_name(type), upsweep_op_name(op), n, flags);
    FOR_EACH_SETUP(s) {
        elem_store(carry, 0, type, init);
        void *d_carry = put(s, SLOT_INIT, at_start, carry, one);
        for (uint64_t at = 0, length = 1; at < n; at += length, length = length * 3 + 1) {
            if (length > n - at) length = n - at;
            const void *d_in = put(s, SLOT_IN, at_end, in + at * one, length * one);
            void *d_out = put(s, SLOT_OUT, at_end, NULL, length * one);
            CHECK_OK(upsweep_scan_ex(s->ctx, d_out, d_in, length, type, op, flags, d_carry, d_carry));
            CHECK(take(s, SLOT_OUT, got + at * one));
        }
        CHECK_SAME(got, want, n, one);
        CHECK(take(s, SLOT_INIT, total));
        CHECK_SAME(total, want_total, 1, one);
    }
    free(in);
    free(want);
    free(got);
}

static void test_chunks(void) {
    check_chunks(UPSWEEP_I32, UPSWEEP_ADD, UPSWEEP_EXCLUSIVE, 100000);
    check_chunks(UPSWEEP_F64, UPSWEEP_ADD, UPSWEEP_INCLUSIVE, 70001);
    check_chunks(UPSWEEP_I8, UPSWEEP_MUL, UPSWEEP_EXCLUSIVE, 50000);
    check_chunks(UPSWEEP_F32, UPSWEEP_MAX, UPSWEEP_INCLUSIVE, 50000);
    check_chunks(UPSWEEP_U64, UPSWEEP_AND, UPSWEEP_EXCLUSIVE, 3000);
}

/* ---- floats where the order matters ------------------------------------------------------------------------------------------ */

/* min and max return one of their operands unchanged, so the bits of zeros and NaNs are settled. Rare NaNs leave a longer start without. */
static void test_special_floats(void) {
    static const uint64_t special[2][8] = {{0x80000000, 0, 0x7f800000, 0xff800000, 0x3f800000, 0xbf800000, 0x7fc00001, 0xffc12345},
                                           {UINT64_C(1) << 63, 0, UINT64_C(0x7ff0000000000000), UINT64_C(0xfff0000000000000),
                                            UINT64_C(0x3ff0000000000000), UINT64_C(0xbff0000000000000), UINT64_C(0x7ff8000000000001),
                                            UINT64_C(0xfff8000012345678)}};
    static const uint64_t sizes[] = {1, 2, 3, 5, 8, 16, 31, 33, 64, 100, 257, 1000, 4099, 330000 /* more than 32 tiles of a GPU */};
    struct rng rng = {5};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes * 48; i++) {
        const upsweep_type type = i & 1 ? UPSWEEP_F64 : UPSWEEP_F32;
        struct scan_case c = variant(type, i & 2 ? UPSWEEP_MAX : UPSWEEP_MIN, sizes[i / 48], i / 4);
        const unsigned kinds[] = {2, 6, 8}; /* zeros; no NaN; all */
        const unsigned nkinds = kinds[i / 4 % 3];
        void *in = must_malloc(c.n * elem_size(type));
        for (uint64_t k = 0; k < c.n; k++) {
            uint64_t pick = rng_below(&rng, nkinds);
            if (pick >= 2 && rng_below(&rng, c.n) > 8) pick %= 2; /* mostly zeros */
            elem_store(in, k, type, special[i & 1][pick]);
        }
        check_scan_of(&c, in);
        free(in);
    }
}

int main(void) {
    harness_begin(true);
    test_literals();
    test_every_small_n();
    test_every_type_op_and_option();
    test_block_edges();
    test_offsets();
    test_special_floats();
    test_chunks();
    test_beyond_caches();
    return harness_end();
}
