/* test_cuda_partition.c: partitions of all sizes where one way of doing them gives way to the next: one CTA; tiles of four shapes that all
 * run at once; all tiles held in shared memory; the first ones held, and the rest counted before; or nothing held, and the shorter side
 * turned round. And with an output for either side, of which one may be the input.
 *
 * By value, by flags, and of records that may lie half in the part that is held. Where each way ends depends on the GPU: the sizes are
 * spread so that an H200 takes every one of them, on the path that the library chooses and on both passes. */
#include "device.h"
#include "harness.h"
#include "oracle.h"
#include "paths.h"

enum { MAX_NBYTES = 38 << 20, ROOM = 64 };

static upsweep_context *ctx[PATHS];
static unsigned char *in[PATHS], *out[PATHS], *rest[PATHS], *flags[PATHS], *count[PATHS]; /* context memory */
static unsigned char *h_in, *h_flags, *got, *want;

struct shape {
    size_t elem_nbytes;
    upsweep_type type; /* by value, */
    bool by_value;     /* or else by flags */
    size_t offset;     /* bytes past an aligned address */
};

/* Where the sides go. */
enum way { TO_ONE, TO_TWO, KEPT_TO_IN, REST_TO_IN, WAYS };
static const char *const way_names[WAYS] = {"to one array", "to two", "kept in place", "rest in place"};

static void check_bytes(int path, const unsigned char *d_got, const unsigned char *wanted, uint64_t n, size_t elem_nbytes) {
    CHECK_OK(upsweep_download(ctx[path], got, d_got, n * elem_nbytes));
    CHECK_SAME(got, wanted, n, elem_nbytes);
}

/* The n records at h_in + offset, of which those are kept that h_flags says: want_count, in want before the others. */
static void check_way(const struct shape *s, uint64_t n, const upsweep_predicate *keep, uint64_t want_count, int path, enum way way) {
    case_begin("partition of %llu records of %zu bytes by %s, %s, path '%s', %llu kept", (unsigned long long)n, s->elem_nbytes,
               s->by_value ? "value" : "flags", way_names[way], path_names[path], (unsigned long long)want_count);
    unsigned char *const from = in[path] + s->offset;
    unsigned char *const to = way == KEPT_TO_IN ? from : out[path] + s->offset + (s->by_value ? n % 3 * s->elem_nbytes : 0);
    unsigned char *const others = way == TO_ONE ? NULL : way == REST_TO_IN ? from : rest[path] + s->offset + s->elem_nbytes;
    uint64_t *const d_count = (uint64_t *)(void *)count[path], n_kept = 0;
    CHECK_OK(upsweep_upload(ctx[path], in[path], h_in, s->offset + n * s->elem_nbytes));
    CHECK_OK(upsweep_upload(ctx[path], flags[path], h_flags, n));
    if (s->by_value)
        CHECK_OK(upsweep_partition(ctx[path], to, others, d_count, from, n, s->type, keep));
    else
        CHECK_OK(upsweep_partition_flags(ctx[path], to, others, d_count, from, flags[path], n, s->elem_nbytes));
    CHECK_OK(upsweep_read_count(ctx[path], &n_kept, d_count));
    CHECK(n_kept == want_count);
    check_bytes(path, to, want, others != NULL ? want_count : n, s->elem_nbytes);
    if (others != NULL) check_bytes(path, others, want + want_count * s->elem_nbytes, n - want_count, s->elem_nbytes);
}

static void check_partition(const struct shape *s, uint64_t n, const upsweep_predicate *keep) {
    const uint64_t want_count = oracle_compact(want, h_in + s->offset, h_flags, n, s->elem_nbytes, true);
    for (int path = 0; path < PATHS; path++) {
        check_way(s, n, keep, want_count, path, TO_ONE);
        check_way(s, n, keep, want_count, path, TO_TWO);
        if (s->by_value) check_way(s, n, keep, want_count, path, (n / 1000 + (unsigned)path) % 2 == 0 ? KEPT_TO_IN : REST_TO_IN);
    }
}

/* Bytes of input: in the middle of each way, and beside the ends of what an H200 holds, by flags of four widths and by value. */
static const uint64_t sizes[] = {30000,    400000,   800000,   1500000,          4000000,  8600000,  9000001,  14598144,         14598145,
                                 18923520, 21626880, 27033600, 27033600 + 24576, 30277632, 30302209, 34000000, MAX_NBYTES - 1024};

/* Kept by value: those whose upper byte is below a limit. All, none, few, half and nearly all. */
static void test_sizes(const struct shape *s) {
    static const unsigned limits[] = {128, 8, 249, 0, 256};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (quick() && i % 3 != 1) continue;
        const unsigned limit = limits[(i + s->elem_nbytes) % 5];
        const uint64_t n = sizes[i] / s->elem_nbytes, bound = s->elem_nbytes > 8 ? 0 : (uint64_t)limit << (8 * s->elem_nbytes - 8);
        const upsweep_predicate keep = {limit == 256 ? UPSWEEP_GE : UPSWEEP_LT, {.u = limit == 256 ? 0 : bound}};
        if (s->by_value)
            oracle_flags(h_flags, h_in + s->offset, n, s->type, &keep);
        else
            for (uint64_t j = 0; j < n; j++) h_flags[j] = (h_in[j] ^ 0x5a) < limit ? (unsigned char)(h_in[j] | 1) : 0;
        check_partition(s, n, &keep);
    }
}

/* More than is held, to one array: by the ring the shorter side is written from its end, and turned round when all is written, unless the
 * sides are about as long; so does the path that the library chooses, from 36 MiB on. Which one it is, is guessed by a look at 256
 * elements: last, these are kept, and hardly any others. */
static void test_turned(const struct shape *s) {
    static const unsigned limits[] = {8, 249, 77, 179, 0, 128, 256, 1};
    for (unsigned i = 0; i < 8; i++) {
        if (quick() && i % 3 != 0 && i != 7) continue;
        const uint64_t n = ((i % 2 == 0 ? 31000000 : 38000000) + 4096 * i) / s->elem_nbytes + i;
        const unsigned bits = 8 * (unsigned)s->elem_nbytes;
        const uint64_t bound = limits[i] == 256 ? ~UINT64_C(0) >> (64 - bits) : (uint64_t)limits[i] << (bits - 8);
        const upsweep_predicate keep = {UPSWEEP_LT, {.u = bound}};
        unsigned char *const upper = h_in + s->offset + s->elem_nbytes - 1; /* bytes of the elements */
        for (uint64_t j = 0; i == 7 && j < n; j++) upper[j * s->elem_nbytes] = j % (n / 256) != 0;
        oracle_flags(h_flags, h_in + s->offset, n, s->type, &keep);
        const uint64_t want_count = oracle_compact(want, h_in + s->offset, h_flags, n, s->elem_nbytes, true);
        for (int path = 0; path < PATHS; path++) check_way(s, n, &keep, want_count, path, TO_ONE);
    }
}

static bool open_all(void) {
    for (int path = 0; path < PATHS; path++) {
        ctx[path] = open_path(path, NULL);
        if (!CHECK(ctx[path] != NULL)) return false;
        in[path] = device_alloc(ctx[path], MAX_NBYTES + ROOM);
        out[path] = device_alloc(ctx[path], MAX_NBYTES + ROOM);
        rest[path] = device_alloc(ctx[path], MAX_NBYTES + ROOM);
        flags[path] = device_alloc(ctx[path], MAX_NBYTES);
        count[path] = device_alloc(ctx[path], sizeof(uint64_t));
    }
    return true;
}

int main(void) {
    static const struct shape shapes[] = {{1, UPSWEEP_U8, true, 3},   {2, UPSWEEP_U16, true, 2},  {4, UPSWEEP_U32, true, 0},
                                          {8, UPSWEEP_U64, true, 8},  {1, UPSWEEP_U8, false, 0},  {4, UPSWEEP_U8, false, 4},
                                          {8, UPSWEEP_U8, false, 0},  {16, UPSWEEP_U8, false, 0}, {8, UPSWEEP_U8, false, 4},
                                          {12, UPSWEEP_U8, false, 4}, {24, UPSWEEP_U8, false, 8}, {48, UPSWEEP_U8, false, 0},
                                          {20, UPSWEEP_U8, false, 0}};
    struct rng rng = {20261121};
    harness_begin(false);
    if (!backend_wanted("cuda")) {
        skip("cuda");
        return harness_end();
    }
    h_in = must_malloc(MAX_NBYTES + ROOM), h_flags = must_malloc(MAX_NBYTES), got = must_malloc(MAX_NBYTES), want = must_malloc(MAX_NBYTES);
    rng_fill(&rng, h_in, MAX_NBYTES + ROOM);
    if (open_all()) {
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) test_sizes(&shapes[i]);
        for (size_t i = 1; i < 4; i++) test_turned(&shapes[i]);
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
