/* test_open.c: opening a context: what is rejected, options, environment, and every allocation failing in its turn. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "harness.h"

/* ---- rejections -------------------------------------------------------------------------------------------------------------- */

static void *some_alloc(void *user, size_t nbytes) { return (void)user, malloc(nbytes); }
static void some_free(void *user, void *p) { (void)user, free(p); }

static void rejects_open(upsweep_status want, const char *backend, const upsweep_options *options, const char *word) {
    upsweep_context *ctx = (upsweep_context *)(void *)&ctx;
    case_begin("open \"%s\"", backend ? backend : "(NULL)");
    if (CHECK_STATUS(upsweep_open_ex(&ctx, backend, options), want)) {
        CHECK(ctx == NULL);
        if (!CHECK(names(upsweep_error(NULL), word))) printf("    should name %s: \"%s\"\n", word, upsweep_error(NULL));
    }
}

static void test_rejections(void) {
    static const char *const bad_names[] = {"",
                                            "gpu",
                                            "CPU",
                                            "cpux",
                                            "cpu ",
                                            "cpu:",
                                            "cpu:x",
                                            "cpu:2x",
                                            "cpu:-1",
                                            "cpu:+1",
                                            "cpu: 1",
                                            "cpu:0",
                                            "cpu:99999999999",
                                            "cpu:18446744073709551617",
                                            "auto:1"};
    for (size_t i = 0; i < sizeof bad_names / sizeof *bad_names; i++) {
        upsweep_context *ctx = (upsweep_context *)(void *)&ctx;
        case_begin("open \"%s\"", bad_names[i]);
        CHECK_STATUS(upsweep_open(&ctx, bad_names[i]), UPSWEEP_ERR_BACKEND);
        CHECK(ctx == NULL);
        CHECK(strlen(upsweep_error(NULL)) > 10);
    }
    case_begin("open with nowhere to put the context");
    CHECK_STATUS(upsweep_open(NULL, "cpu"), UPSWEEP_ERR_NULL);
    CHECK(names(upsweep_error(NULL), "ctx"));
    const upsweep_status options = UPSWEEP_ERR_OPTIONS;
    rejects_open(UPSWEEP_ERR_NULL, NULL, NULL, "backend");
    rejects_open(options, "cpu", &(upsweep_options){.size = 0}, "size");
    rejects_open(options, "cpu", &(upsweep_options){.size = sizeof(size_t) - 1}, "size");
    rejects_open(options, "cpu", &(upsweep_options){.size = sizeof(upsweep_options), .host_alloc = some_alloc}, "host_free");
    rejects_open(options, "cpu", &(upsweep_options){.size = sizeof(upsweep_options), .host_free = some_free}, "host_free");
    rejects_open(options, "cpu", &(upsweep_options){.size = sizeof(upsweep_options), .nthreads = 1000000}, "threads");
    rejects_open(options, "cpu:2", &(upsweep_options){.size = sizeof(upsweep_options), .nthreads = 3}, "threads");
    rejects_open(options, "cpu:3", &(upsweep_options){.size = sizeof(upsweep_options), .nthreads = 2}, "threads");
    struct {
        upsweep_options known;
        uint64_t unknown;
    } newer = {.known = {.size = sizeof newer}, .unknown = 1};
    rejects_open(options, "cpu", &newer.known, "options");
}

/* ---- options ----------------------------------------------------------------------------------------------------------------- */

static void check_works(upsweep_context *ctx) {
    const int32_t in[] = {3, 1, 7, 0}, want[] = {0, 3, 4, 11};
    int32_t out[4];
    CHECK_OK(upsweep_scan(ctx, out, in, 4, UPSWEEP_I32, UPSWEEP_ADD, UPSWEEP_EXCLUSIVE));
    CHECK_SAME(out, want, 4, sizeof *out);
}

static void test_options(void) {
    case_begin("options");
    upsweep_context *ctx = NULL;
    upsweep_options older = {.size = offsetof(upsweep_options, parallel_for), .nthreads = 2};
    memset(&older.parallel_for, 0x55, sizeof older - offsetof(upsweep_options, parallel_for)); /* the caller's struct ends before this */
    if (CHECK_OK(upsweep_open_ex(&ctx, "cpu", &older))) check_works(ctx);
    upsweep_close(ctx);
    struct {
        upsweep_options known;
        uint64_t unknown;
    } newer = {.known = {.size = sizeof newer, .nthreads = 3}};
    if (CHECK_OK(upsweep_open_ex(&ctx, "cpu", &newer.known))) check_works(ctx);
    upsweep_close(ctx);
    upsweep_device device = {.size = sizeof device};
    if (CHECK_OK(upsweep_open(&ctx, "cpu:5"))) {
        check_works(ctx);
        CHECK_OK(upsweep_context_device(ctx, &device));
        CHECK(device.units == 5);
    }
    upsweep_close(ctx);
    CHECK_OK(upsweep_open(&ctx, "auto"));
    upsweep_close(ctx);
}

/* ---- environment ------------------------------------------------------------------------------------------------------------- */

/* A name that is none is an error, which says so; the list of devices has none. */
static void check_misspelt(const char *backend, const char *variable) {
    upsweep_context *ctx = NULL;
    setenv(variable, "avx-512", 1);
    CHECK_STATUS(upsweep_open(&ctx, backend), UPSWEEP_ERR_OPTIONS);
    CHECK(ctx == NULL && strstr(upsweep_error(NULL), variable) != NULL && strstr(upsweep_error(NULL), "avx-512") != NULL);
    upsweep_device device = {.size = sizeof device};
    CHECK_OK(upsweep_device_at(0, &device));
    unsetenv(variable);
}

static void test_environment(void) {
    case_begin("environment");
    upsweep_context *ctx = NULL;
    check_misspelt("cpu", "UPSWEEP_CPU");
    setenv("UPSWEEP_CPU", "", 1);
    if (CHECK_OK(upsweep_open(&ctx, "cpu"))) check_works(ctx);
    upsweep_close(ctx);
    setenv("UPSWEEP_CPU", "portable", 1);
    upsweep_device device = {.size = sizeof device};
    if (CHECK_OK(upsweep_open(&ctx, "cpu"))) CHECK_OK(upsweep_context_device(ctx, &device));
    CHECK(strcmp(device.detail, "portable") == 0);
    upsweep_close(ctx);
    unsetenv("UPSWEEP_CPU");
#ifdef UPSWEEP_HAVE_CUDA
    check_misspelt("cuda", "UPSWEEP_CUDA");
    check_misspelt("cuda", "UPSWEEP_CUDA_SEED");
    static const char *const no_seeds[] = {"4294967296", "99999999999999999999", "-1", " 7", "7 "};
    for (size_t i = 0; i < sizeof no_seeds / sizeof *no_seeds; i++) {
        setenv("UPSWEEP_CUDA_SEED", no_seeds[i], 1);
        CHECK_STATUS(upsweep_open(&ctx, "cuda"), UPSWEEP_ERR_OPTIONS);
    }
    unsetenv("UPSWEEP_CUDA_SEED");
#endif
}

/* ---- threads that do not start -------------------------------------------------------------------------------------------------- */

static void test_no_threads(void) {
    case_begin("threads that do not start");
    upsweep_context *ctx = NULL;
    pthread_attr_t before, huge;
    CHECK(pthread_getattr_default_np(&before) == 0 && pthread_attr_init(&huge) == 0);
    CHECK(pthread_attr_setstacksize(&huge, (size_t)1 << 47) == 0); /* more than there are addresses */
    CHECK(pthread_setattr_default_np(&huge) == 0);
    rejects_open(UPSWEEP_ERR_THREADS, "cpu:3", NULL, "threads");
    if (CHECK_OK(upsweep_open(&ctx, "cpu:1"))) check_works(ctx); /* which needs none */
    upsweep_close(ctx);
    CHECK(pthread_setattr_default_np(&before) == 0);
    pthread_attr_destroy(&huge);
    pthread_attr_destroy(&before);
}

/* ---- every allocation fails once --------------------------------------------------------------------------------------------- */

/* An allocator that fails at its fail_at-th call, keeps count of what is out, aligns to 16 bytes and no more, and hands out dirt. */
struct failing_allocator {
    uint64_t calls, fail_at;
    int64_t out;
    bool damaged;
};
enum { HEADER_NBYTES = 16, DIRT = 0xdd };

static void *failing_alloc(void *user, size_t nbytes) {
    struct failing_allocator *allocator = user;
    if (allocator->calls++ == allocator->fail_at || nbytes > SIZE_MAX - 64) return NULL;
    unsigned char *base = aligned_alloc(32, (nbytes + 64) / 32 * 32 + 32);
    if (!base) return NULL;
    memset(base, DIRT, nbytes + 48);
    memcpy(base, &nbytes, sizeof nbytes);
    allocator->out++;
    return base + HEADER_NBYTES;
}

static void failing_free(void *user, void *ptr) {
    struct failing_allocator *allocator = user;
    if (!ptr) {
        allocator->damaged = true;
        return;
    }
    unsigned char *base = (unsigned char *)ptr - HEADER_NBYTES;
    size_t nbytes;
    memcpy(&nbytes, base, sizeof nbytes);
    for (size_t i = HEADER_NBYTES + nbytes; i < nbytes + 48; i++) allocator->damaged |= base[i] != DIRT;
    allocator->out--;
    free(base);
}

/* open, alloc, each primitive, close; the first status that is not OK, after which only closing remains. */
static upsweep_status whole_run(const upsweep_options *options) {
    enum { N = 60000 };
    static uint32_t keys[N], out[N], values[N], values_out[N];
    uint64_t count = 0;
    const upsweep_predicate keep = {UPSWEEP_GT, {.u = 50000}};
    for (uint32_t i = 0; i < N; i++) keys[i] = i * 2654435761u;
    upsweep_context *ctx = NULL;
    void *p = NULL;
    upsweep_status status = upsweep_open_ex(&ctx, "cpu", options);
    if (status != UPSWEEP_OK) {
        CHECK(ctx == NULL && upsweep_error(NULL)[0] != 0);
        return status;
    }
    if (!status) status = upsweep_alloc(ctx, &p, 1000);
    if (!status) status = upsweep_scan(ctx, out, keys, N, UPSWEEP_U32, UPSWEEP_ADD, UPSWEEP_EXCLUSIVE);
    if (!status) status = upsweep_compact(ctx, out, &count, keys, N, UPSWEEP_U32, &keep);
    if (!status) status = upsweep_partition(ctx, out, NULL, &count, keys, N, UPSWEEP_U32, &keep);
    if (!status) status = upsweep_partition(ctx, out, values_out, &count, keys, N, UPSWEEP_U32, &keep);
    if (!status) status = upsweep_sort(ctx, out, keys, N, UPSWEEP_U32, NULL);
    if (!status) status = upsweep_sort_pairs(ctx, out, keys, values_out, values, N, UPSWEEP_U32, 4, NULL);
    if (!status) status = upsweep_argsort(ctx, out, keys, N, UPSWEEP_U32, UPSWEEP_U32, NULL);
    if (!status) status = upsweep_reserve(ctx, 10 << 20);
    if (status) {
        CHECK(upsweep_error(ctx)[0] != 0);
        check_works(ctx); /* a context that could not get memory for one call still does others */
    }
    upsweep_free(ctx, p);
    upsweep_close(ctx);
    return status;
}

static void test_failing_allocations(uint32_t nthreads) {
    for (uint64_t k = 0;; k++) {
        struct failing_allocator allocator = {.fail_at = k};
        const upsweep_options options = {
            .size = sizeof options, .nthreads = nthreads, .host_alloc = failing_alloc, .host_free = failing_free, .host_user = &allocator};
        case_begin("allocation %" PRIu64 " fails, %u threads", k, nthreads);
        const upsweep_status status = whole_run(&options);
        CHECK(allocator.out == 0);
        CHECK(!allocator.damaged);
        if (allocator.calls <= k) {
            CHECK_STATUS(status, UPSWEEP_OK); /* none was left to fail */
            CHECK(k >= 3);                    /* a context, its state, scratch: all go through the hook */
            return;
        }
        if (!CHECK_STATUS(status, UPSWEEP_ERR_MEMORY) || !CHECK(k < 1000)) return;
    }
}
int main(void) {
    harness_begin(false);
    test_rejections();
    if (backend_wanted("cpu")) {
        test_options();
        test_environment();
        test_no_threads();
        test_failing_allocations(1);
        test_failing_allocations(4);
    }
    return harness_end();
}
