/* test_scratch.c: scratch of exactly the announced size is enough, nothing beyond it is touched, one byte less is refused with a sentence
 * that says what is needed, and the size never shrinks as n grows. */
#include <inttypes.h>
#include <stdio.h>

#include "harness.h"

static const struct place at_end = {AT_END, 0}, at_start = {AT_START, 0};

/* What the calls work on, in context memory. */
static struct arguments {
    void *in, *out, *values_in, *values_out;
    uint8_t *flags;
    uint64_t *count;
} a;

struct scratch_case {
    const char *name;
    upsweep_primitive primitive;
    size_t item_nbytes, value_nbytes;
};

static const struct scratch_case scratch_cases[] = {
    {"scan i32", UPSWEEP_PRIM_SCAN, 4, 0},
    {"scan f64", UPSWEEP_PRIM_SCAN, 8, 0},
    {"compact i32", UPSWEEP_PRIM_COMPACT, 4, 0},
    {"compact f64", UPSWEEP_PRIM_COMPACT, 8, 0},
    {"compact records", UPSWEEP_PRIM_COMPACT, 100, 0},
    {"partition i32", UPSWEEP_PRIM_PARTITION, 4, 0},
    {"partition f64", UPSWEEP_PRIM_PARTITION, 8, 0},
    {"partition records", UPSWEEP_PRIM_PARTITION, 100, 0},
    {"sort i32", UPSWEEP_PRIM_SORT, 4, 0},
    {"sort f64", UPSWEEP_PRIM_SORT, 8, 0},
    {"sort u8", UPSWEEP_PRIM_SORT, 1, 0},
    {"sort u16", UPSWEEP_PRIM_SORT, 2, 0},
    {"low-memory sort i32", UPSWEEP_PRIM_SORT_LOW_MEMORY, 4, 0},
    {"low-memory sort f64", UPSWEEP_PRIM_SORT_LOW_MEMORY, 8, 0},
    {"low-memory sort u16", UPSWEEP_PRIM_SORT_LOW_MEMORY, 2, 0},
    {"pairs i32, 4", UPSWEEP_PRIM_SORT, 4, 4},
    {"pairs i32, 8", UPSWEEP_PRIM_SORT, 4, 8},
    {"pairs i32, 100", UPSWEEP_PRIM_SORT, 4, 100},
    {"argsort i32 u32", UPSWEEP_PRIM_ARGSORT, 4, 4},
    {"argsort f64 u64", UPSWEEP_PRIM_ARGSORT, 8, 8},
};
enum { SCRATCH_CASES = sizeof scratch_cases / sizeof *scratch_cases };

/* To one array, then to two. */
static upsweep_status call_partition(upsweep_context *c, const struct scratch_case *k, uint64_t n, upsweep_type type) {
    const upsweep_predicate keep = {UPSWEEP_NONZERO, {0}};
    void *const rests[] = {NULL, a.values_out};
    upsweep_status status = UPSWEEP_OK;
    for (int i = 0; i < 2 && status == UPSWEEP_OK; i++) {
        if (k->item_nbytes > 8)
            status = upsweep_partition_flags(c, a.out, rests[i], a.count, a.in, a.flags, n, k->item_nbytes);
        else
            status = upsweep_partition(c, a.out, rests[i], a.count, a.in, n, type, &keep);
    }
    return status;
}

/* A call of that kind on n elements in the slots. */
static upsweep_status call_primitive(upsweep_context *c, const struct scratch_case *k, uint64_t n) {
    const upsweep_type types[] = {[1] = UPSWEEP_U8, [2] = UPSWEEP_U16, [4] = UPSWEEP_I32, [8] = UPSWEEP_F64};
    const upsweep_type type = k->item_nbytes <= 8 ? types[k->item_nbytes] : UPSWEEP_U8;
    const upsweep_predicate keep = {UPSWEEP_NONZERO, {0}};
    switch (k->primitive) {
    case UPSWEEP_PRIM_SCAN:
        return upsweep_scan(c, a.out, a.in, n, type, UPSWEEP_ADD, UPSWEEP_INCLUSIVE);
    case UPSWEEP_PRIM_COMPACT:
        if (k->item_nbytes > 8) return upsweep_compact_flags(c, a.out, a.count, a.in, a.flags, n, k->item_nbytes);
        return upsweep_compact(c, a.out, a.count, a.in, n, type, &keep);
    case UPSWEEP_PRIM_PARTITION:
        return call_partition(c, k, n, type);
    case UPSWEEP_PRIM_SORT:
        if (k->value_nbytes == 0) return upsweep_sort(c, a.out, a.in, n, type, NULL);
        return upsweep_sort_pairs(c, a.out, a.in, a.values_out, a.values_in, n, type, k->value_nbytes, NULL);
    case UPSWEEP_PRIM_SORT_LOW_MEMORY:
        return upsweep_sort(c, a.out, a.in, n, type, &(upsweep_order){.low_memory = 1});
    default:
        return upsweep_argsort(c, a.values_out, a.in, n, type, k->value_nbytes == 4 ? UPSWEEP_U32 : UPSWEEP_U64, NULL);
    }
}

static void lay_out(struct setup *s, uint64_t n, size_t each) {
    struct rng rng = {n};
    unsigned char *bytes = must_malloc(each * n);
    rng_fill(&rng, bytes, each * n);
    a.in = put(s, SLOT_IN, at_end, bytes, each * n);
    a.out = put(s, SLOT_OUT, at_end, NULL, each * n);
    a.values_in = put(s, SLOT_VALUES_IN, at_end, bytes, each * n);
    a.values_out = put(s, SLOT_VALUES_OUT, at_end, NULL, each * n);
    a.flags = put(s, SLOT_FLAGS, at_end, bytes, n);
    a.count = put(s, SLOT_COUNT, at_end, NULL, sizeof *a.count);
    free(bytes);
}

enum {
    SHARED_N = 300001, /* on several threads: of 8 bytes on four */
    SLOTS_N = 3670017  /* 28 MiB of 8 bytes: on a GPU, sorts by slots, which need the most beside the keys */
};

/* What a thread has that was not counted lies further behind the scratch than canaries or a guard page reach. */
static size_t margin_of(uint64_t n) { return n >= SHARED_N ? 1 << 20 : 0; }

/* The announced size suffices and nothing beyond it is touched; one byte less is refused, and the sentence says what is needed. */
static void check_scratch(struct setup *s, const struct scratch_case *k, uint64_t n, struct place place) {
    uint64_t nbytes = 0;
    case_begin("scratch of %s, n %" PRIu64 ", side %d", k->name, n, (int)place.side);
    setup_enter(s);
    CHECK_OK(upsweep_scratch_size(s->ctx, &nbytes, k->primitive, n, k->item_nbytes, k->value_nbytes));
    const size_t laid = place.side == AT_END ? (nbytes + 255) / 256 * 256 : nbytes + margin_of(n); /* so that the start is aligned */
    void *scratch = put(s, SLOT_SCRATCH, place, NULL, laid);
    unsigned char *before = must_malloc(laid), *after = must_malloc(laid);
    CHECK(take(s, SLOT_SCRATCH, before));
    CHECK_OK(upsweep_set_scratch(s->ctx, nbytes ? scratch : NULL, nbytes));
    CHECK_OK(call_primitive(s->ctx, k, n));
    CHECK(take(s, SLOT_SCRATCH, after));
    CHECK(memcmp(before + nbytes, after + nbytes, laid - nbytes) == 0);
    free(before);
    free(after);
    if (nbytes > 0) {
        char needed[32];
        snprintf(needed, sizeof needed, "%" PRIu64, nbytes);
        CHECK_OK(upsweep_set_scratch(s->ctx, scratch, nbytes - 1));
        const upsweep_status status = call_primitive(s->ctx, k, n);
        CHECK(status == UPSWEEP_ERR_SCRATCH);
        CHECK(strstr(upsweep_error(s->ctx), needed) != NULL);
    }
    CHECK_OK(upsweep_set_scratch(s->ctx, NULL, 0));
    CHECK_OK(call_primitive(s->ctx, k, n));
}

static void test_scratch(struct setup *s) {
    static const uint64_t sizes[] = {1, 63, 1000, 4097, 20001, SHARED_N, SLOTS_N}; /* the last two without the large records */
    const size_t nsizes = sizeof sizes / sizeof *sizes;
    for (size_t i = 0; i < (s->host ? nsizes - 1 : nsizes); i++) {
        const size_t each = sizes[i] < SHARED_N ? 104 : 8;
        lay_out(s, sizes[i], each);
        for (size_t k = 0; k < SCRATCH_CASES; k++) {
            const struct scratch_case *c = &scratch_cases[k];
            if (c->item_nbytes <= each && c->value_nbytes <= each)
                check_scratch(s, c, sizes[i], (k & 1) != 0 || sizes[i] >= SHARED_N ? at_start : at_end);
        }
    }
}

/* Never less for a larger n, up to sizes whose scratch no memory has: there it fails, and goes on failing. */
static void test_growth(struct setup *s) {
    for (size_t k = 0; k < SCRATCH_CASES; k++) {
        const struct scratch_case *x = &scratch_cases[k];
        case_begin("scratch of %s grows with n", x->name);
        setup_enter(s);
        uint64_t before = 0;
        bool failed = false;
        for (uint64_t n = 0; n < UINT64_MAX / 9 * 8; n += n / 8 + 1) {
            uint64_t nbytes = 0;
            const upsweep_status status = upsweep_scratch_size(s->ctx, &nbytes, x->primitive, n, x->item_nbytes, x->value_nbytes);
            if (!CHECK(status == UPSWEEP_ERR_SIZE || (status == UPSWEEP_OK && !failed && nbytes >= before))) break;
            failed = status != UPSWEEP_OK;
            before = nbytes;
        }
    }
}

/* What the header promises of a GPU: keys and 15 % more, or pairs and a tenth more; with up to two MiB for few. Indices of large values
 * take four bytes. */
static void test_sort_bounds(struct setup *s) {
    static const size_t key_sizes[] = {1, 2, 4, 8}, value_sizes[] = {0, 1, 4, 8, 16, 100};
    const uint64_t few_nbytes = UINT64_C(28) << 20, more_nbytes = UINT64_C(2) << 20;
    if (s->host) return;
    for (size_t i = 0; i < sizeof key_sizes / sizeof *key_sizes * (sizeof value_sizes / sizeof *value_sizes); i++) {
        const size_t key = key_sizes[i % 4], value = value_sizes[i / 4];
        case_begin("scratch of keys of %zu bytes, values of %zu, is no more than promised", key, value);
        setup_enter(s);
        for (uint64_t n = 1; n <= UINT32_MAX; n += n / 64 + 1) {
            uint64_t nbytes = 0, all = n * ((value > 8 && key < 4 ? 4 : key) + value);
            CHECK_OK(upsweep_scratch_size(s->ctx, &nbytes, UPSWEEP_PRIM_SORT, n, key, value));
            if (!CHECK(nbytes <= all + all / 100 * (value ? 10 : 15) + (all < few_nbytes ? more_nbytes : 100))) break;
        }
    }
}

/* An array that reaches into the scratch that was given is refused, at either end of it; one that lies beside it is not. */
static void test_overlap(struct setup *s) {
    enum { NBYTES = 4096 };
    static const upsweep_predicate keep = {.cmp = UPSWEEP_NONZERO};
    static const unsigned char zeros[3 * NBYTES];
    void *memory;
    case_begin("arrays in the scratch");
    setup_enter(s);
    CHECK_OK(upsweep_alloc(s->ctx, &memory, sizeof zeros));
    CHECK_OK(upsweep_upload(s->ctx, memory, zeros, sizeof zeros));
    uint32_t *const before = memory, *const scratch = before + NBYTES / 4, *const after = scratch + NBYTES / 4;
    const uint64_t n = NBYTES / 4;
    CHECK_OK(upsweep_set_scratch(s->ctx, scratch, NBYTES));
    CHECK_STATUS(upsweep_scan(s->ctx, before, after - 1, n, UPSWEEP_U32, UPSWEEP_ADD, 0), UPSWEEP_ERR_ALIAS);
    CHECK(strstr(upsweep_error(s->ctx), "in overlaps the scratch") != NULL);
    CHECK_STATUS(upsweep_scan(s->ctx, before + 1, after, n, UPSWEEP_U32, UPSWEEP_ADD, 0), UPSWEEP_ERR_ALIAS);
    CHECK(strstr(upsweep_error(s->ctx), "out overlaps the scratch") != NULL);
    CHECK_STATUS(upsweep_argsort(s->ctx, before, scratch + 1, 1, UPSWEEP_U32, UPSWEEP_U32, NULL), UPSWEEP_ERR_ALIAS);
    CHECK_STATUS(upsweep_sort(s->ctx, scratch, before, 1, UPSWEEP_U32, NULL), UPSWEEP_ERR_ALIAS);
    CHECK_STATUS(upsweep_compact(s->ctx, before, (uint64_t *)memory + 2, scratch + 1, 1, UPSWEEP_U32, &keep), UPSWEEP_ERR_ALIAS);
    CHECK(upsweep_scan(s->ctx, before, after, n, UPSWEEP_U32, UPSWEEP_ADD, 0) != UPSWEEP_ERR_ALIAS);
    CHECK_OK(upsweep_set_scratch(s->ctx, NULL, 0));
    upsweep_free(s->ctx, memory);
}

/* What low memory is for: on a CPU, a billion keys need no more than eight million: less than a MiB a thread. */
static void test_low_memory(struct setup *s) {
    static const size_t key_sizes[] = {1, 2, 4, 8};
    if (!s->host) return;
    for (size_t k = 0; k < sizeof key_sizes / sizeof *key_sizes; k++) {
        uint64_t some, many;
        case_begin("scratch of a low-memory sort, keys of %zu bytes", key_sizes[k]);
        setup_enter(s);
        CHECK_OK(upsweep_scratch_size(s->ctx, &some, UPSWEEP_PRIM_SORT_LOW_MEMORY, 1u << 23, key_sizes[k], 0));
        CHECK_OK(upsweep_scratch_size(s->ctx, &many, UPSWEEP_PRIM_SORT_LOW_MEMORY, 1u << 30, key_sizes[k], 0));
        CHECK(many == some);
        CHECK(many < 8 * (UINT64_C(1) << 20)); /* no setup has more threads */
    }
    uint64_t nbytes;
    case_begin("scratch of sorts of keys that no type has");
    CHECK(upsweep_scratch_size(s->ctx, &nbytes, UPSWEEP_PRIM_SORT, 1000, 3, 0) == UPSWEEP_ERR_SIZE);
    CHECK(upsweep_scratch_size(s->ctx, &nbytes, UPSWEEP_PRIM_ARGSORT, 1000, 16, 4) == UPSWEEP_ERR_SIZE);
    CHECK(upsweep_scratch_size(s->ctx, &nbytes, UPSWEEP_PRIM_SORT_LOW_MEMORY, 1000, 0, 0) == UPSWEEP_ERR_SIZE);
}

int main(void) {
    harness_begin(true);
    FOR_EACH_SETUP(s) {
        test_scratch(s);
        test_growth(s);
        test_sort_bounds(s);
        test_overlap(s);
        test_low_memory(s);
    }
    return harness_end();
}
