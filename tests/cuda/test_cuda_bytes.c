/* test_cuda_bytes.c: compaction and partition of elements of one byte, by value and by flags, where words of four bytes are filled by
 * several lanes, warps and tiles: stretches in which nothing, few, half, nearly all or all is kept, of every length from some bytes to
 * several tiles.
 *
 * On the path that the library chooses and on both passes; inputs and outputs at any address; nothing beside the output is written. And all
 * comparisons of elements of one and two bytes, which are made by words. */
#include "device.h"
#include "harness.h"
#include "oracle.h"
#include "paths.h"

enum { MAX_N = 9 << 20, ROOM = 64, LIMIT = 128, FILL = 0xa7 };
enum form { COMPACT, TO_ONE_ARRAY, TO_TWO_ARRAYS, FORMS };
static const char *const form_names[FORMS] = {"compaction", "partition to one array", "partition to two"};

static upsweep_context *ctx[PATHS];
static unsigned char *in[PATHS], *out[PATHS], *rest[PATHS], *flags[PATHS], *count[PATHS]; /* context memory */
static unsigned char *h_in, *h_flags, *got, *want;

/* Values of which those below LIMIT are kept; at most `longest` in a row with the same share, in 256ths. */
static void fill(uint64_t n, uint64_t longest, uint64_t seed) {
    static const unsigned shares[] = {0, 1, 26, 128, 230, 255, 256};
    struct rng rng = {seed};
    for (uint64_t i = 0, end = 0, share = 0; i < n; i++) {
        if (i == end) end += 1 + rng_below(&rng, longest), share = shares[rng_below(&rng, sizeof shares / sizeof *shares)];
        const uint64_t x = rng_next(&rng) >> 20;
        h_in[i] = (unsigned char)((x >> 8 & 127) + ((x & 255) < share ? 0 : LIMIT));
        h_flags[i] = h_in[i] < LIMIT ? (unsigned char)(1 + (x >> 16) % 255) : 0;
    }
}

/* Prepares array [n] with `at` bytes before it, for check_array(). */
static void clear_array(int path, unsigned char *array, uint64_t at, uint64_t n) {
    memset(got, FILL, at + n + ROOM);
    CHECK_OK(upsweep_upload(ctx[path], array, got, at + n + ROOM));
}

/* It is now as in `wanted`, and the bytes around it as they were. */
static void check_array(int path, const unsigned char *array, uint64_t at, const unsigned char *wanted, uint64_t n) {
    CHECK_OK(upsweep_download(ctx[path], got, array, at + n + ROOM));
    bool around = true;
    for (uint64_t i = 0; i < at; i++) around &= got[i] == FILL;
    for (uint64_t i = 0; i < ROOM; i++) around &= got[at + n + i] == FILL;
    CHECK(around);
    CHECK_SAME(got + at, wanted, n, 1);
}

static upsweep_status run(enum form form, bool by_flags, int path, uint64_t n, uint64_t in_at, uint64_t out_at, uint64_t rest_at) {
    const upsweep_predicate keep = {UPSWEEP_LT, {.u = LIMIT}};
    uint64_t *const d_count = (uint64_t *)(void *)count[path];
    const unsigned char *const from = in[path] + in_at, *const set = flags[path] + out_at;
    unsigned char *const to = out[path] + out_at, *const others = form == TO_TWO_ARRAYS ? rest[path] + rest_at : NULL;
    if (form == COMPACT) {
        if (by_flags) return upsweep_compact_flags(ctx[path], to, d_count, from, set, n, 1);
        return upsweep_compact(ctx[path], to, d_count, from, n, UPSWEEP_U8, &keep);
    }
    if (by_flags) return upsweep_partition_flags(ctx[path], to, others, d_count, from, set, n, 1);
    return upsweep_partition(ctx[path], to, others, d_count, from, n, UPSWEEP_U8, &keep);
}

static void test(uint64_t n, uint64_t longest, uint64_t in_at, uint64_t out_at) {
    const uint64_t rest_at = (in_at + 2 * out_at) % 43;
    fill(n, longest, 31 * n + longest);
    const uint64_t nkept = oracle_compact(want, h_in, h_flags, n, 1, true);
    for (int path = 0; path < PATHS; path++) {
        CHECK_OK(upsweep_upload(ctx[path], in[path] + in_at, h_in, n));
        CHECK_OK(upsweep_upload(ctx[path], flags[path] + out_at, h_flags, n));
        for (int i = 0; i < 2 * FORMS; i++) {
            const enum form form = (enum form)(i / 2);
            const bool by_flags = i % 2 == 1;
            uint64_t found = 0;
            case_begin("%s of %llu bytes at %llu to %llu, %llu, stretches of up to %llu, by %s, path '%s'", form_names[form],
                       (unsigned long long)n, (unsigned long long)in_at, (unsigned long long)out_at, (unsigned long long)rest_at,
                       (unsigned long long)longest, by_flags ? "flags" : "value", path_names[path]);
            clear_array(path, out[path], out_at, n);
            clear_array(path, rest[path], rest_at, n);
            CHECK_OK(run(form, by_flags, path, n, in_at, out_at, rest_at));
            CHECK_OK(upsweep_read_count(ctx[path], &found, (const uint64_t *)(const void *)count[path]));
            CHECK(found == nkept);
            check_array(path, out[path], out_at, want, form == TO_ONE_ARRAY ? n : nkept);
            if (form == TO_TWO_ARRAYS) check_array(path, rest[path], rest_at, want + nkept, n - nkept);
        }
    }
}

/* What is kept of h_in [n] on the way to out at an odd place. */
static void test_predicate(upsweep_type type, upsweep_predicate keep, uint64_t n) {
    const size_t one = elem_size(type);
    oracle_flags(h_flags, h_in, n, type, &keep);
    const uint64_t nkept = oracle_compact(want, h_in, h_flags, n, one, false);
    for (int path = 0; path < PATHS; path++) {
        uint64_t *const d_count = (uint64_t *)(void *)count[path], found = 0;
        case_begin("%s %s %lld, path '%s'", upsweep_type_name(type), upsweep_cmp_name(keep.cmp), (long long)keep.value.i, path_names[path]);
        clear_array(path, out[path], one, nkept * one);
        CHECK_OK(upsweep_compact(ctx[path], out[path] + one, d_count, in[path], n, type, &keep));
        CHECK_OK(upsweep_read_count(ctx[path], &found, d_count));
        CHECK(found == nkept);
        check_array(path, out[path], one, want, nkept * one);
    }
}

/* Elements of one and two bytes are compared by words: every comparison with constants around the ends of either half of a type. */
static void test_predicates(upsweep_type type) {
    const int64_t half = INT64_C(1) << (8 * elem_size(type) - 1), low = type == UPSWEEP_I8 || type == UPSWEEP_I16 ? -half : 0;
    const int64_t constants[] = {low,        low + 1,        low + half / 2,     low + half - 1,
                                 low + half, low + half + 1, low + 2 * half - 2, low + 2 * half - 1};
    const uint64_t n = 9001;
    struct rng rng = {20261121};
    rng_fill(&rng, h_in, n * elem_size(type));
    for (uint64_t i = 0; i < 3000; i++) elem_store(h_in, 3 * i, type, (uint64_t)(constants[i % 8] + (int64_t)(i / 8 % 3) - 1));
    for (int path = 0; path < PATHS; path++) CHECK_OK(upsweep_upload(ctx[path], in[path], h_in, n * elem_size(type)));
    for (upsweep_cmp cmp = UPSWEEP_NONZERO; cmp <= UPSWEEP_GE; cmp++)
        for (int i = 0; i < 8; i++) test_predicate(type, (upsweep_predicate){cmp, {.i = constants[i]}}, n);
}

static bool open_all(void) {
    for (int path = 0; path < PATHS; path++) {
        ctx[path] = open_path(path, NULL);
        if (!CHECK(ctx[path] != NULL)) return false;
        in[path] = device_alloc(ctx[path], MAX_N + 2 * ROOM);
        out[path] = device_alloc(ctx[path], MAX_N + 2 * ROOM);
        rest[path] = device_alloc(ctx[path], MAX_N + 2 * ROOM);
        flags[path] = device_alloc(ctx[path], MAX_N + 2 * ROOM);
        count[path] = device_alloc(ctx[path], sizeof(uint64_t));
    }
    return true;
}

static void test_all(void) {
    static const uint64_t sizes[] = {1, 100, 3583, 28672, 28673, 200001, 3784704, MAX_N - 5};
    static const uint64_t longest[] = {40, 700, 9000, 200000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof longest / sizeof *longest; k++) {
            if (quick() && (i + k) % 2 != 0) continue;
            test(sizes[i], longest[k], (i * 5 + k) % 19, (i + k * 3) % 37);
        }
}

int main(void) {
    harness_begin(false);
    if (!backend_wanted("cuda")) {
        skip("cuda");
        return harness_end();
    }
    h_in = must_malloc(MAX_N), h_flags = must_malloc(MAX_N), want = must_malloc(MAX_N), got = must_malloc(MAX_N + 2 * ROOM);
    if (open_all()) {
        test_all();
        for (int i = 0; i < 4; i++) test_predicates((upsweep_type[]){UPSWEEP_U8, UPSWEEP_I8, UPSWEEP_U16, UPSWEEP_I16}[i]);
    }
    for (int path = 0; path < PATHS && ctx[path] != NULL; path++) {
        upsweep_free(ctx[path], in[path]);
        upsweep_free(ctx[path], out[path]);
        upsweep_free(ctx[path], rest[path]);
        upsweep_free(ctx[path], flags[path]);
        upsweep_free(ctx[path], count[path]);
        upsweep_close(ctx[path]);
    }
    free(h_in), free(h_flags), free(got), free(want);
    return harness_end();
}
