/* test_cuda.c: streams, graphs, offsets and repeated float scans, on both paths. */
#include <cuda_runtime_api.h>
#include <stdio.h>

#include "device.h"
#include "harness.h"
#include "oracle.h"
#include "paths.h"

static int path; /* of the tests that follow */

/* ---- every offset ------------------------------------------------------------------------------------------------------------ */

enum { OFFSET_N = 21000, OFFSET_NBYTES = 4 * OFFSET_N + 256 };

static void test_offset(upsweep_context *ctx, unsigned char *d_in, unsigned char *d_out, uint64_t *d_count, size_t offset,
                        upsweep_type type) {
    static unsigned char h_in[OFFSET_NBYTES], h_out[OFFSET_NBYTES], want[OFFSET_NBYTES], kept[OFFSET_N], poison[OFFSET_NBYTES];
    const size_t nbytes = upsweep_type_nbytes(type), out_offset = 63 / nbytes * nbytes - offset + 64;
    struct rng rng = {offset};
    case_begin("%s at offset %zu", upsweep_type_name(type), offset);
    rng_fill(&rng, h_in, sizeof h_in);
    rng_fill(&rng, poison, sizeof poison);
    CHECK_OK(upsweep_upload(ctx, d_in, h_in, sizeof h_in));
    CHECK_OK(upsweep_upload(ctx, d_out, poison, sizeof poison));
    memcpy(want, poison, sizeof want);
    oracle_scan(want + out_offset, h_in + offset, OFFSET_N, type, UPSWEEP_ADD, UPSWEEP_INCLUSIVE, NULL);
    CHECK_OK(upsweep_scan(ctx, d_out + out_offset, d_in + offset, OFFSET_N, type, UPSWEEP_ADD, UPSWEEP_INCLUSIVE));
    CHECK_OK(upsweep_download(ctx, h_out, d_out, sizeof h_out));
    CHECK_SAME(h_out, want, sizeof want, 1); /* the canaries on both sides too */

    const upsweep_predicate keep = {UPSWEEP_NE, {.u = 0}};
    oracle_flags(kept, h_in + offset, OFFSET_N, type, &keep);
    const uint64_t nkept = oracle_compact(want + out_offset, h_in + offset, kept, OFFSET_N, nbytes, true);
    CHECK_OK(upsweep_partition(ctx, d_out + out_offset, NULL, d_count, d_in + offset, OFFSET_N, type, &keep));
    uint64_t got = 0;
    CHECK_OK(upsweep_read_count(ctx, &got, d_count));
    CHECK(got == nkept);
    CHECK_OK(upsweep_download(ctx, h_out, d_out, sizeof h_out));
    CHECK_SAME(h_out, want, sizeof want, 1);

    oracle_compact(want + out_offset, h_in + offset, kept, OFFSET_N, nbytes, false);
    CHECK_OK(upsweep_compact(ctx, d_in + offset, d_count, d_in + offset, OFFSET_N, type, &keep)); /* in place */
    CHECK_OK(upsweep_download(ctx, h_out, d_in, sizeof h_out));
    CHECK_SAME(h_out + offset, want + out_offset, nkept, nbytes);
    CHECK_SAME(h_out, h_in, offset, 1);
    CHECK_SAME(h_out + offset + OFFSET_N * nbytes, h_in + offset + OFFSET_N * nbytes, sizeof h_out - offset - OFFSET_N * nbytes, 1);
}

static void test_offsets(void) {
    upsweep_context *ctx = open_path(path, NULL);
    if (!CHECK(ctx != NULL)) return;
    unsigned char *in = device_alloc(ctx, OFFSET_NBYTES), *out = device_alloc(ctx, OFFSET_NBYTES), *count = device_alloc(ctx, 8);
    static const upsweep_type types[] = {UPSWEEP_U8, UPSWEEP_U16, UPSWEEP_I32};
    for (int t = 0; t < 3; t++)
        for (size_t offset = 0; offset < 64; offset += upsweep_type_nbytes(types[t]))
            test_offset(ctx, in, out, (uint64_t *)(void *)count, offset, types[t]);
    upsweep_free(ctx, in);
    upsweep_free(ctx, out);
    upsweep_free(ctx, count);
    upsweep_close(ctx);
}

/* ---- two contexts at once ---------------------------------------------------------------------------------------------------- */

enum { CALLS = 1000, BUSY_MAX = 300000 };

struct busy {
    upsweep_context *ctx;
    uint32_t *in, *out, *totals; /* totals [CALLS] */
    uint64_t *counts;            /* [CALLS] */
};

static uint64_t busy_n(int call, int which) {
    static const uint64_t sizes[] = {1, 5000, 300000, 70000, 31, 8192, 100001, 8193};
    return sizes[(call * 5 + which * 3 + call / 8) % 8];
}

/* Alternate kinds and sizes, so that the words of one call are met by all others. */
static void busy_call(struct busy *b, int call, int which) {
    const uint64_t n = busy_n(call, which);
    const upsweep_predicate keep = {UPSWEEP_LT, {.u = 1000}};
    CHECK_OK(upsweep_scan_ex(b->ctx, b->out, b->in, n, UPSWEEP_U32, UPSWEEP_ADD, UPSWEEP_EXCLUSIVE, NULL, b->totals + call));
    if (call % 2)
        CHECK_OK(upsweep_compact(b->ctx, b->out, b->counts + call, b->in, n, UPSWEEP_U32, &keep));
    else
        CHECK_OK(upsweep_partition(b->ctx, b->out, NULL, b->counts + call, b->in, n, UPSWEEP_U32, &keep));
}

static void test_two_contexts(void) {
    static uint32_t h_in[BUSY_MAX], totals[CALLS], sums[BUSY_MAX + 1];
    static uint64_t counts[CALLS];
    static uint32_t kept[BUSY_MAX + 1];
    struct busy busy[2] = {{0}, {0}};
    case_begin("two contexts, %d calls each", CALLS);
    struct rng rng = {2};
    for (int i = 0; i < BUSY_MAX; i++) {
        h_in[i] = (uint32_t)rng_below(&rng, 2000);
        sums[i + 1] = sums[i] + h_in[i];
        kept[i + 1] = kept[i] + (h_in[i] < 1000);
    }
    for (int w = 0; w < 2; w++) {
        busy[w].ctx = open_path(path, NULL);
        if (!CHECK(busy[w].ctx != NULL)) return;
        busy[w].in = device_alloc(busy[w].ctx, sizeof h_in);
        busy[w].out = device_alloc(busy[w].ctx, sizeof h_in);
        busy[w].totals = device_alloc(busy[w].ctx, sizeof totals);
        busy[w].counts = device_alloc(busy[w].ctx, sizeof counts);
        CHECK_OK(upsweep_upload(busy[w].ctx, busy[w].in, h_in, sizeof h_in));
    }
    for (int call = 0; call < CALLS; call++)
        for (int w = 0; w < 2; w++) busy_call(&busy[w], call, w);
    for (int w = 0; w < 2; w++) {
        int nbad = 0;
        CHECK_OK(upsweep_download(busy[w].ctx, totals, busy[w].totals, sizeof totals));
        CHECK_OK(upsweep_download(busy[w].ctx, counts, busy[w].counts, sizeof counts));
        for (int call = 0; call < CALLS; call++) nbad += totals[call] != sums[busy_n(call, w)] || counts[call] != kept[busy_n(call, w)];
        CHECK(nbad == 0);
        upsweep_free(busy[w].ctx, busy[w].in);
        upsweep_free(busy[w].ctx, busy[w].out);
        upsweep_free(busy[w].ctx, busy[w].totals);
        upsweep_free(busy[w].ctx, busy[w].counts);
        upsweep_close(busy[w].ctx);
    }
}

/* ---- graphs ------------------------------------------------------------------------------------------------------------------ */

enum { GRAPH_N = 300001, REPLAYS = 100, NPRIMITIVES = 6 };

struct graph_case {
    upsweep_context *ctx;
    cudaStream_t stream;
    int32_t *in;
    void *out;
    uint64_t *count;
    uint8_t *flags;
};

static const upsweep_predicate graph_keep = {UPSWEEP_GT, {.i = 77}};

static upsweep_status graph_call(struct graph_case *g, int primitive) {
    switch (primitive) {
    case 0:
        return upsweep_scan(g->ctx, g->out, g->in, GRAPH_N, UPSWEEP_I32, UPSWEEP_ADD, UPSWEEP_INCLUSIVE);
    case 1:
        return upsweep_compact(g->ctx, g->out, g->count, g->in, GRAPH_N, UPSWEEP_I32, &graph_keep);
    case 2:
        return upsweep_partition(g->ctx, g->out, NULL, g->count, g->in, GRAPH_N, UPSWEEP_I32, &graph_keep);
    case 3:
        return upsweep_compact_flags(g->ctx, g->out, g->count, g->in, g->flags, GRAPH_N, 4);
    case 4:
        return upsweep_compact_indices(g->ctx, g->out, g->count, g->in, GRAPH_N, UPSWEEP_I32, &graph_keep, UPSWEEP_U32, 0);
    default:
        return upsweep_sort(g->ctx, g->out, g->in, GRAPH_N, UPSWEEP_I32, NULL);
    }
}

static int by_value(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The host's answer: returns how many elements of want to compare. */
static uint64_t graph_answer(int primitive, const int32_t *in, const uint8_t *flags, int32_t *want) {
    static uint8_t kept[GRAPH_N];
    const bool flagged = primitive == 3;
    for (int i = 0; i < GRAPH_N; i++) kept[i] = flagged ? flags[i] != 0 : in[i] > graph_keep.value.i;
    switch (primitive) {
    case 0:
        oracle_scan(want, in, GRAPH_N, UPSWEEP_I32, UPSWEEP_ADD, UPSWEEP_INCLUSIVE, NULL);
        return GRAPH_N;
    case 2:
        oracle_compact(want, in, kept, GRAPH_N, 4, true);
        return GRAPH_N;
    case 4:
        return oracle_indices(want, kept, GRAPH_N, UPSWEEP_U32, 0);
    case 5:
        memcpy(want, in, 4 * (size_t)GRAPH_N);
        qsort(want, GRAPH_N, 4, by_value);
        return GRAPH_N;
    default:
        return oracle_compact(want, in, kept, GRAPH_N, 4, false);
    }
}

static void test_graph(struct graph_case *g, int primitive) {
    static int32_t in[GRAPH_N], got[GRAPH_N], want[GRAPH_N];
    static uint8_t flags[GRAPH_N];
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    struct rng rng = {(uint64_t)primitive};
    case_begin("graph of primitive %d", primitive);
    CUDA_OK(cudaStreamBeginCapture(g->stream, cudaStreamCaptureModeGlobal));
    CHECK_OK(graph_call(g, primitive)); /* the first call of its kind, so that loading a kernel is captured too */
    CHECK_STATUS(upsweep_sync(g->ctx), UPSWEEP_ERR_CUDA);
    CHECK_STATUS(upsweep_upload(g->ctx, g->in, in, 4), UPSWEEP_ERR_CUDA);
    CHECK_STATUS(upsweep_reserve(g->ctx, (size_t)1 << 30), UPSWEEP_ERR_SCRATCH);
    upsweep_free(g->ctx, device_alloc(g->ctx, 1000)); /* no part of the capture, and allowed */
    CUDA_OK(cudaStreamEndCapture(g->stream, &graph)); /* none of these has spoiled it */
    CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int replay = 0; replay < REPLAYS && exec; replay++) {
        rng_fill(&rng, in, sizeof in);
        const bool wide = primitive == 5 && replay % 20 >= 10; /* keys that are spread are sorted in another way */
        for (int i = 0; i < GRAPH_N; i++) in[i] = wide ? in[i] : in[i] % 1000, flags[i] = (uint8_t)(in[i] & 1);
        CHECK_OK(upsweep_upload(g->ctx, g->in, in, sizeof in));
        CHECK_OK(upsweep_upload(g->ctx, g->flags, flags, sizeof flags));
        CUDA_OK(cudaGraphLaunch(exec, g->stream));
        CHECK_OK(upsweep_download(g->ctx, got, g->out, sizeof got));
        if (replay % 5 == 0) { /* compare a few whole, and go on changing the data for all */
            const uint64_t nwant = graph_answer(primitive, in, flags, want);
            CHECK_SAME(got, want, nwant, 4);
        }
        if (replay % 7 == 0) CHECK_OK(graph_call(g, primitive)); /* plain calls in between */
    }
    CUDA_OK(cudaGraphExecDestroy(exec));
    CUDA_OK(cudaGraphDestroy(graph));
}

static void test_graphs(void) {
    struct graph_case g = {0};
    CUDA_OK(cudaStreamCreateWithFlags(&g.stream, cudaStreamNonBlocking));
    const upsweep_options options = {.size = sizeof options, .stream = g.stream};
    g.ctx = open_path(path, &options);
    if (!CHECK(g.ctx != NULL)) return;
    g.in = device_alloc(g.ctx, 4 * GRAPH_N);
    g.out = device_alloc(g.ctx, 8 * GRAPH_N);
    g.count = device_alloc(g.ctx, 8);
    g.flags = device_alloc(g.ctx, GRAPH_N);
    uint64_t scratch = 0;
    CHECK_OK(upsweep_scratch_size(g.ctx, &scratch, UPSWEEP_PRIM_SORT, GRAPH_N, 4, 0));
    CHECK_OK(upsweep_reserve(g.ctx, (size_t)scratch));
    for (int primitive = 0; primitive < NPRIMITIVES; primitive++) test_graph(&g, primitive);
    upsweep_free(g.ctx, g.in);
    upsweep_free(g.ctx, g.out);
    upsweep_free(g.ctx, g.count);
    upsweep_free(g.ctx, g.flags);
    upsweep_close(g.ctx);
    CUDA_OK(cudaStreamDestroy(g.stream));
}

/* ---- floats ------------------------------------------------------------------------------------------------------------------ */

static void test_float_bits(upsweep_type type, upsweep_op op) {
    enum { N = (1 << 21) + 77, REPEATS = 100 };
    const size_t nbytes = N * upsweep_type_nbytes(type);
    upsweep_context *ctx = open_path(path, NULL), *other = open_path(path, NULL);
    if (!CHECK(ctx != NULL) || !CHECK(other != NULL)) return;
    unsigned char *first = must_malloc(nbytes), *again = must_malloc(nbytes);
    struct rng rng = {7};
    for (int i = 0; i < N; i++) {
        const double x =
            op == UPSWEEP_MUL ? 1 + ((double)rng_below(&rng, 2001) - 1000) * 1e-5 : ((double)rng_below(&rng, 2000001) - 1e6) * 1e-6;
        elem_store(first, (uint64_t)i, type, elem_of_float(type, x));
    }
    void *in = device_alloc(ctx, nbytes), *out = device_alloc(ctx, nbytes), *load = device_alloc(other, nbytes);
    case_begin("%d times %s %s", REPEATS, upsweep_type_name(type), upsweep_op_name(op));
    CHECK_OK(upsweep_upload(ctx, in, first, nbytes));
    for (int i = 0; i < REPEATS; i++) {
        if (i % 2) CHECK_OK(upsweep_scan(other, load, in, N, type, op, UPSWEEP_EXCLUSIVE)); /* other work, so that CTAs meet differently */
        CHECK_OK(upsweep_scan(ctx, out, in, N, type, op, UPSWEEP_EXCLUSIVE));
        CHECK_OK(upsweep_download(ctx, i == 0 ? first : again, out, nbytes));
        if (i > 0) CHECK(memcmp(first, again, nbytes) == 0);
    }
    CHECK_OK(upsweep_sync(other));
    upsweep_free(ctx, in);
    upsweep_free(ctx, out);
    upsweep_free(other, load);
    upsweep_close(ctx);
    upsweep_close(other);
    free(first);
    free(again);
}

int main(void) {
    harness_begin(false);
    if (!backend_wanted("cuda")) {
        skip("cuda");
        return harness_end();
    }
    for (path = 0; path < PATHS; path++) {
        test_offsets();
        test_two_contexts();
        test_graphs();
        test_float_bits(UPSWEEP_F32, UPSWEEP_ADD);
        test_float_bits(UPSWEEP_F64, UPSWEEP_ADD);
        test_float_bits(UPSWEEP_F32, UPSWEEP_MUL);
    }
    return harness_end();
}
