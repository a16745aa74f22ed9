/* test_cuda_values.c: sorts of many keys of few values, which the GPU counts instead of moving, or moves by the ranks of their values if
 * something is with them, and where that ends: more values than a table holds, those that a sample misses, those that only some blocks
 * meet. Against the CPU backend. */
#include <stdio.h>

#include "harness.h"
#include "oracle.h"
#include "paths.h"

enum { GUARD = 64, STRETCH = 40000, MANY = (5 << 20) + 3 };

static upsweep_context *cpu, *cuda;
static struct rng rng = {11};

/* Which keys: those of `nvalues` values, but for some that are others. */
enum odd { NONE, FIRST, LAST, MIDDLE, MISSED, MANY_MISSED, IN_A_STRETCH, RARE, OFTEN, IN_RUNS, ODDS };
static const char *const odd_names[ODDS] = {"none",        "the first",    "the last",          "one",       "some missed",
                                            "many missed", "in a stretch", "one in a thousand", "one in 30", "none, in order"};

struct values_case {
    upsweep_type type;
    uint64_t n, nvalues;
    enum odd odd;
    bool in_place;
    size_t shift; /* of both arrays, in keys */
    uint32_t descending;
};

/* The least and the greatest key are among the values. */
static uint64_t make_value(uint64_t i) {
    if (i < 2) return i == 0 ? 0 : UINT64_MAX;
    i *= UINT64_C(0x9e3779b97f4a7c15);
    return (i ^ i >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* A sample looks at keys whose numbers are rounded multiples of n / 1024, and so seldom at the second of each 64. */
static uint64_t make_key(const struct values_case *c, uint64_t i) {
    const uint64_t usual = make_value(rng_below(&rng, c->nvalues)), other = 1000000 + i / 64;
    switch (c->odd) {
    case FIRST:
        return i == 0 ? make_value(other) : usual;
    case LAST:
        return i == c->n - 1 ? make_value(other) : usual;
    case MIDDLE:
        return i == c->n / 3 ? make_value(other) : usual;
    case MISSED:
        return i % 64 == 1 ? make_value(1000000 + i / 64 % 500) : usual;
    case MANY_MISSED:
        return i % 64 == 1 ? make_value(other) : usual;
    case IN_A_STRETCH:
        return i - c->n / 3 < STRETCH ? rng_next(&rng) : usual;
    case RARE:
        return i % 1000 == 7 ? rng_next(&rng) >> i / 1000 % 64 : usual;
    case IN_RUNS:
        return make_value(i * c->nvalues / c->n);
    case OFTEN:
        return i % 30 == 7 ? rng_next(&rng) : usual;
    default:
        return usual;
    }
}

/* Memory of a context with room for the keys between guards, all filled. */
static unsigned char *make_array(upsweep_context *ctx, const unsigned char *host, size_t nbytes) {
    void *p = NULL;
    CHECK_OK(upsweep_alloc(ctx, &p, nbytes));
    CHECK_OK(upsweep_upload(ctx, p, host, nbytes));
    return p;
}

static void test_case(const struct values_case c) {
    const size_t key_nbytes = elem_size(c.type), keys_nbytes = c.n * key_nbytes, before = GUARD + c.shift * key_nbytes;
    const size_t nbytes = before + keys_nbytes + GUARD;
    case_begin("%s, n %llu, %llu values, others: %s, in place %d, shift %zu, descending %u", upsweep_type_name(c.type),
               (unsigned long long)c.n, (unsigned long long)c.nvalues, odd_names[c.odd], (int)c.in_place, c.shift, c.descending);
    const upsweep_order order = {.descending = c.descending};
    unsigned char *host = must_malloc(nbytes), *want = must_malloc(nbytes), *got = must_malloc(nbytes);
    memset(host, 0xA7, nbytes);
    for (uint64_t i = 0; i < c.n; i++) elem_store(host + before, i, c.type, make_key(&c, i));
    memcpy(want, host, nbytes);
    CHECK_OK(upsweep_sort(cpu, want + before, host + before, c.n, c.type, &order));
    unsigned char *in = make_array(cuda, host, nbytes), *out = c.in_place ? in : make_array(cuda, host, nbytes);
    CHECK_OK(upsweep_sort(cuda, out + before, in + before, c.n, c.type, &order));
    CHECK_OK(upsweep_download(cuda, got, out, nbytes));
    CHECK_SAME(got + before, want + before, c.n, key_nbytes);
    CHECK(memcmp(got, want, before) == 0 && memcmp(got + nbytes - GUARD, want + nbytes - GUARD, GUARD) == 0);
    if (!c.in_place) upsweep_free(cuda, out);
    upsweep_free(cuda, in);
    free(host);
    free(want);
    free(got);
}

/* Pairs of such keys, and indices if value_nbytes is 0. In place: both. */
static void test_pairs(const struct values_case c, size_t value_nbytes) {
    const size_t key_nbytes = elem_size(c.type), keys_nbytes = c.n * key_nbytes, nbytes = c.n * (value_nbytes ? value_nbytes : 4);
    case_begin("%s, n %llu, %llu values, others: %s, in place %d, descending %u, with %zu bytes", upsweep_type_name(c.type),
               (unsigned long long)c.n, (unsigned long long)c.nvalues, odd_names[c.odd], (int)c.in_place, c.descending, value_nbytes);
    const upsweep_order order = {.descending = c.descending};
    unsigned char *keys = must_malloc(keys_nbytes), *values = must_malloc(nbytes), *got[2][2];
    for (uint64_t i = 0; i < c.n; i++) elem_store(keys, i, c.type, make_key(&c, i));
    rng_fill(&rng, values, nbytes);
    for (int b = 0; b < 2; b++) {
        upsweep_context *ctx = b ? cuda : cpu;
        unsigned char *in = make_array(ctx, keys, keys_nbytes), *out = c.in_place ? in : make_array(ctx, keys, keys_nbytes);
        unsigned char *values_in = make_array(ctx, values, nbytes), *values_out = c.in_place ? values_in : make_array(ctx, values, nbytes);
        if (value_nbytes)
            CHECK_OK(upsweep_sort_pairs(ctx, out, in, values_out, values_in, c.n, c.type, value_nbytes, &order));
        else
            CHECK_OK(upsweep_argsort(ctx, values_out, in, c.n, c.type, UPSWEEP_U32, &order));
        got[b][0] = must_malloc(keys_nbytes);
        got[b][1] = must_malloc(nbytes);
        CHECK_OK(upsweep_download(ctx, got[b][0], out, keys_nbytes));
        CHECK_OK(upsweep_download(ctx, got[b][1], values_out, nbytes));
        upsweep_free(ctx, in);
        upsweep_free(ctx, values_in);
        if (!c.in_place) upsweep_free(ctx, out);
        if (!c.in_place) upsweep_free(ctx, values_out);
    }
    CHECK_SAME(got[1][0], got[0][0], c.n, key_nbytes);
    CHECK_SAME(got[1][1], got[0][1], nbytes / 4, 4);
    for (int i = 0; i < 4; i++) free(got[i / 2][i % 2]);
    free(keys);
    free(values);
}

/* Numbers of values around a digit's; of fewer keys, those that are too frequent for a bucket. */
static void test_with_values(upsweep_type type, uint64_t n) {
    static const uint64_t numbers[] = {1, 2, 5, 40, 255, 256, 257, 340};
    static const size_t sizes[] = {4, 8, 0, 12, 4, 0};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const struct values_case c = {.type = type, .n = n, .nvalues = numbers[i], .in_place = i % 3 == 1, .descending = i % 2};
        test_pairs(c, c.in_place && sizes[i % 6] == 0 ? 4 : sizes[i % 6]);
    }
    for (int odd = FIRST; odd < ODDS; odd++) {
        const struct values_case c = {.type = type, .n = n, .nvalues = odd % 2 ? 1 : 50, .odd = (enum odd)odd, .in_place = odd % 3 == 0};
        test_pairs(c, odd % 2 ? 4 : 8);
    }
}

/* Values that are sorted in networks of all sizes; about as many as a table can hold, and more. */
static void test_numbers(upsweep_type type, uint64_t n) {
    static const uint64_t numbers[] = {1, 2, 3, 5, 50, 256, 257, 2048, 3000, 4096, 4500, 10000};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        test_case(
            (struct values_case){.type = type, .n = n, .nvalues = numbers[i], .in_place = i % 3 == 1, .shift = i % 4, .descending = i % 2});
    }
}

static void test_others(upsweep_type type, uint64_t n) {
    for (int odd = FIRST; odd < ODDS; odd++) {
        test_case((struct values_case){.type = type,
                                       .n = n,
                                       .nvalues = odd % 2 ? 1 : 50,
                                       .odd = (enum odd)odd,
                                       .in_place = odd % 3 == 0,
                                       .shift = (size_t)odd % 3,
                                       .descending = (uint32_t)odd / 2 % 2});
    }
}

/* So many keys alone that each block has time to know the usual values, and puts the others aside: too many for a table; few enough; some
 * that one block knows and another one does not; and so many that all is given up. */
static void test_aside(upsweep_type type) {
    static const struct {
        uint64_t nvalues;
        enum odd odd;
    } kinds[] = {{50, RARE},   {2048, RARE},       {1, RARE},    {1000, MIDDLE}, {3000, MISSED},
                 {50, MISSED}, {300, MANY_MISSED}, {300, OFTEN}, {30, IN_RUNS}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        test_case((struct values_case){.type = type,
                                       .n = MANY,
                                       .nvalues = kinds[i].nvalues,
                                       .odd = kinds[i].odd,
                                       .in_place = i % 3 == 1,
                                       .shift = i % 4,
                                       .descending = (uint32_t)i / 2 % 2});
    }
}

/* Under a sanitizer a call of a million keys takes seconds: one that is counted, and one that is counted in part. */
static bool few_cases(void) {
    if (!scale_is("sanitizer")) return false;
    test_case((struct values_case){.type = UPSWEEP_U32, .n = (1 << 20) + 1, .nvalues = 300});
    test_case((struct values_case){.type = UPSWEEP_I64, .n = (1 << 20) + 1, .nvalues = 5, .odd = MANY_MISSED});
    test_case((struct values_case){.type = UPSWEEP_U32, .n = (1 << 20) + 1, .nvalues = 50, .odd = IN_A_STRETCH});
    test_case((struct values_case){.type = UPSWEEP_U32, .n = MANY, .nvalues = 300, .odd = RARE});
    test_pairs((struct values_case){.type = UPSWEEP_U32, .n = (1 << 20) + 1, .nvalues = 200}, 4);
    test_pairs((struct values_case){.type = UPSWEEP_I32, .n = 20001, .nvalues = 5, .odd = MISSED}, 4);
    return true;
}

int main(void) {
    static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_I64, UPSWEEP_F32, UPSWEEP_F64};
    static const uint64_t sizes[] = {1 << 20, (1 << 20) + 1, (1 << 23) - 5, (9 << 21) + 3};
    harness_begin(false);
    if (!backend_wanted("cuda")) {
        skip("cuda");
        return harness_end();
    }
    CHECK_OK(upsweep_open(&cpu, "cpu"));
    for (int path = 0; path < 2; path++) { /* the second: without anything for which blocks must be resident together */
        cuda = open_path(path, NULL);
        if (!CHECK(cuda != NULL)) break;
        for (int t = 0; t < 4 && !few_cases(); t++) {
            const size_t nsizes = quick() || t >= 2 || path > 0 ? 2 : sizeof sizes / sizeof *sizes;
            for (size_t s = (size_t)t % 2; s < nsizes; s++) {
                test_numbers(types[t], sizes[s]);
                test_others(types[t], sizes[s]);
                test_with_values(types[t], sizes[s]);
            }
            if (path == 0) test_aside(types[t]);
            for (uint64_t n = 16385; n < 1 << 20; n = 3 * n + 1) test_with_values(types[t], n);
        }
        upsweep_close(cuda);
    }
    upsweep_close(cpu);
    return harness_end();
}
