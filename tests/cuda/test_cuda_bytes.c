/* test_cuda_bytes.c: compaction of elements of one byte, by value and by flags, where words of four bytes are filled by several lanes,
 * warps and tiles: stretches in which nothing, few, half, nearly all or all is kept, of every length from some bytes to several tiles.
 *
 * On the path that the library chooses and on both passes; inputs and outputs at any address; nothing beside the output is written. */
#include "device.h"
#include "harness.h"
#include "oracle.h"
#include "paths.h"

enum { MAX_N = 9 << 20, ROOM = 64, LIMIT = 128, FILL = 0xa7 };

static upsweep_context *ctx[PATHS];
static unsigned char *in[PATHS], *out[PATHS], *flags[PATHS], *count[PATHS]; /* context memory */
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

/* out [n] with `at` bytes before it: as in want, and the bytes around it as they were. */
static void check_out(int path, uint64_t at, uint64_t nkept) {
    uint64_t n = 0;
    CHECK_OK(upsweep_read_count(ctx[path], &n, (const uint64_t *)(const void *)count[path]));
    CHECK(n == nkept);
    CHECK_OK(upsweep_download(ctx[path], got, out[path], at + nkept + ROOM));
    bool around = true;
    for (uint64_t i = 0; i < at; i++) around &= got[i] == FILL;
    for (uint64_t i = 0; i < ROOM; i++) around &= got[at + nkept + i] == FILL;
    CHECK(around);
    CHECK_SAME(got + at, want, nkept, 1);
}

static void test(uint64_t n, uint64_t longest, uint64_t in_at, uint64_t out_at) {
    const upsweep_predicate keep = {UPSWEEP_LT, {.u = LIMIT}};
    fill(n, longest, 31 * n + longest);
    const uint64_t nkept = oracle_compact(want, h_in, h_flags, n, 1, false);
    for (int path = 0; path < PATHS; path++) {
        uint64_t *const d_count = (uint64_t *)(void *)count[path];
        CHECK_OK(upsweep_upload(ctx[path], in[path] + in_at, h_in, n));
        CHECK_OK(upsweep_upload(ctx[path], flags[path] + out_at, h_flags, n));
        for (int by_flags = 0; by_flags < 2; by_flags++) {
            case_begin("%llu bytes at %llu to %llu, stretches of up to %llu, by %s, path '%s'", (unsigned long long)n,
                       (unsigned long long)in_at, (unsigned long long)out_at, (unsigned long long)longest, by_flags ? "flags" : "value",
                       path_names[path]);
            memset(got, FILL, out_at + n + ROOM);
            CHECK_OK(upsweep_upload(ctx[path], out[path], got, out_at + n + ROOM));
            if (by_flags)
                CHECK_OK(upsweep_compact_flags(ctx[path], out[path] + out_at, d_count, in[path] + in_at, flags[path] + out_at, n, 1));
            else
                CHECK_OK(upsweep_compact(ctx[path], out[path] + out_at, d_count, in[path] + in_at, n, UPSWEEP_U8, &keep));
            check_out(path, out_at, nkept);
        }
    }
}

static bool open_all(void) {
    for (int path = 0; path < PATHS; path++) {
        ctx[path] = open_path(path, NULL);
        if (!CHECK(ctx[path] != NULL)) return false;
        in[path] = device_alloc(ctx[path], MAX_N + 2 * ROOM);
        out[path] = device_alloc(ctx[path], MAX_N + 2 * ROOM);
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
    if (open_all()) test_all();
    for (int path = 0; path < PATHS && ctx[path] != NULL; path++) {
        upsweep_free(ctx[path], in[path]);
        upsweep_free(ctx[path], out[path]);
        upsweep_free(ctx[path], flags[path]);
        upsweep_free(ctx[path], count[path]);
        upsweep_close(ctx[path]);
    }
    free(h_in), free(h_flags), free(got), free(want);
    return harness_end();
}
