/* test_cuda_hog.c: CTAs of a pass wait for one another, so a pass that can be started in part can hang. Two contexts on two streams make
 * 15,000 calls while a third stream keeps all multiprocessors but 1, 2 or 16 busy: every call must end, and with the right result. */
#include <cuda_runtime_api.h>
#include <stdio.h>

#include "harness.h"
#include "hog.h"
#include "oracle.h"
#include "paths.h"

enum { N = 50021, CONTEXTS = 2, ROUNDS = 28, CALLS = 30, HOG_MICROSECONDS = 300 };

static uint32_t input[N], scanned[N], kept[N], parted[N], result[N];
static uint64_t nkept;
static const upsweep_predicate keep = {UPSWEEP_LT, {.u = 1u << 31}};

static void make_answers(void) {
    static uint8_t flags[N];
    struct rng rng = {7};
    rng_fill(&rng, input, sizeof input);
    oracle_scan(scanned, input, N, UPSWEEP_U32, UPSWEEP_ADD, UPSWEEP_EXCLUSIVE, NULL);
    oracle_flags(flags, input, N, UPSWEEP_U32, &keep);
    nkept = oracle_compact(kept, input, flags, N, sizeof kept[0], false);
    oracle_compact(parted, input, flags, N, sizeof parted[0], true);
}

struct client {
    upsweep_context *ctx;
    void *in, *out_scan, *out_kept, *out_parted, *count;
};

static bool client_open(struct client *c, int path) {
    c->ctx = open_path(path, NULL);
    if (!CHECK(c->ctx != NULL)) return false;
    bool good = CHECK_OK(upsweep_alloc(c->ctx, &c->in, sizeof input)) && CHECK_OK(upsweep_alloc(c->ctx, &c->out_scan, sizeof input)) &&
                CHECK_OK(upsweep_alloc(c->ctx, &c->out_kept, sizeof input)) &&
                CHECK_OK(upsweep_alloc(c->ctx, &c->out_parted, sizeof input)) &&
                CHECK_OK(upsweep_alloc(c->ctx, &c->count, sizeof(uint64_t)));
    return good && CHECK_OK(upsweep_upload(c->ctx, c->in, input, sizeof input));
}

static void client_call(struct client *c, int i) {
    if (i % 3 == 0)
        CHECK_OK(upsweep_scan(c->ctx, c->out_scan, c->in, N, UPSWEEP_U32, UPSWEEP_ADD, UPSWEEP_EXCLUSIVE));
    else if (i % 3 == 1)
        CHECK_OK(upsweep_partition(c->ctx, c->out_parted, NULL, c->count, c->in, N, UPSWEEP_U32, &keep));
    else
        CHECK_OK(upsweep_compact(c->ctx, c->out_kept, c->count, c->in, N, UPSWEEP_U32, &keep));
}

static void client_check(struct client *c) {
    uint64_t count = 0;
    CHECK_OK(upsweep_download(c->ctx, result, c->out_scan, sizeof result));
    CHECK_SAME(result, scanned, N, sizeof result[0]);
    CHECK_OK(upsweep_read_count(c->ctx, &count, c->count));
    CHECK(count == nkept);
    CHECK_OK(upsweep_download(c->ctx, result, c->out_kept, nkept * sizeof result[0]));
    CHECK_SAME(result, kept, nkept, sizeof result[0]);
    CHECK_OK(upsweep_download(c->ctx, result, c->out_parted, sizeof result));
    CHECK_SAME(result, parted, N, sizeof result[0]);
}

static void client_close(struct client *c) {
    void *const owned[] = {c->in, c->out_scan, c->out_kept, c->out_parted, c->count};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) upsweep_free(c->ctx, owned[i]);
    upsweep_close(c->ctx);
}

static void run_beside_hogs(int path, int nfree) {
    struct client clients[CONTEXTS] = {{0}};
    cudaStream_t hogs;
    case_begin("path '%s' with %d multiprocessors free", path_names[path], nfree);
    bool good = true;
    for (int c = 0; c < CONTEXTS; c++) good = client_open(&clients[c], path) && good;
    if (good && CHECK(cudaStreamCreateWithFlags(&hogs, cudaStreamNonBlocking) == cudaSuccess)) {
        for (int round = 0; round < ROUNDS; round++) {
            CHECK(hog_launch(hogs, nfree, HOG_MICROSECONDS) == 0);
            for (int i = 0; i < CALLS; i++)
                for (int c = 0; c < CONTEXTS; c++) client_call(&clients[c], i);
            CHECK(hog_launch(hogs, nfree, HOG_MICROSECONDS) == 0);
            for (int c = 0; c < CONTEXTS; c++) client_check(&clients[c]);
        }
        CHECK(cudaStreamDestroy(hogs) == cudaSuccess);
    }
    for (int c = 0; c < CONTEXTS; c++) client_close(&clients[c]);
}

int main(void) {
    harness_begin(false);
    if (!backend_wanted("cuda")) {
        skip("cuda");
        return harness_end();
    }
    make_answers();
    for (int path = 0; path < PATHS; path++) { /* a cluster and 2 passes x 3 x 28 rounds x 30 x 2 contexts: 15,120 calls */
        run_beside_hogs(path, 1);
        run_beside_hogs(path, 2);
        run_beside_hogs(path, 16);
    }
    return harness_end();
}
