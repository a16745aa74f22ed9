/* test_cuda_cluster.c: short inputs around every size at which a CTA, a cluster of CTAs or the look-back pass takes over: each multiple of
 * 4 KiB up to 528, one element less and one more. Scans in place and not, with carry-in and carry-out in one word or in two; all forms of
 * compaction, by value and by flags; arrays at any offset, with canaries on both sides. And chains of calls that read what the one before
 * has written, on one stream and on two that meet: kernels may be set up early, but must not start early. */
#include <cuda_runtime_api.h>

#include "device.h"
#include "harness.h"
#include "oracle.h"
#include "paths.h"

enum { STEP_NBYTES = 4096, STEPS = 132, ROOM = 64, MAX_NBYTES = STEP_NBYTES * STEPS + 2 * ROOM };

static upsweep_context *ctx;
static unsigned char *d_in, *d_out, *d_rest, *d_flags;
static uint64_t *d_words; /* carry-in, carry-out, count */
static unsigned char *h_in, *h_flags, *got, *want;

/* All of an array must be as in `want`, canaries included. */
static void check_array(const unsigned char *d_array, size_t nbytes) {
    CHECK_OK(upsweep_download(ctx, got, d_array, nbytes));
    CHECK_SAME(got, want, nbytes, 1);
}

/* The i-th combination of places and carries. Every 3rd case is in place. */
static void check_scan(upsweep_type type, upsweep_op op, uint64_t n, unsigned i) {
    const size_t one = elem_size(type), in_at = i % 5 * one, out_at = i % 3 == 0 ? in_at : i % 7 * one;
    unsigned char *const out = i % 3 == 0 ? d_in : d_out;
    const bool one_word = i % 4 == 1, with_init = i % 2 == 1;
    uint64_t words[2] = {0, 0}, init = elem_load(h_in + ROOM, n / 2, type), want_total[1] = {0};
    case_begin("scan %s %s, n %llu, variant %u", upsweep_type_name(type), upsweep_op_name(op), (unsigned long long)n, i);
    elem_store(words, 0, type, init);
    CHECK_OK(upsweep_upload(ctx, d_in, h_in, MAX_NBYTES));
    CHECK_OK(upsweep_upload(ctx, d_out, h_in, MAX_NBYTES));
    CHECK_OK(upsweep_upload(ctx, d_words, words, sizeof words));
    memcpy(want, h_in, MAX_NBYTES);
    elem_store(want_total, 0, type, oracle_scan(want + out_at, h_in + in_at, n, type, op, i & 1, with_init ? &init : NULL));
    CHECK_OK(
        upsweep_scan_ex(ctx, out + out_at, d_in + in_at, n, type, op, i & 1, with_init ? d_words : NULL, one_word ? d_words : d_words + 1));
    check_array(out, MAX_NBYTES);
    CHECK_OK(upsweep_download(ctx, words, d_words, sizeof words));
    CHECK_SAME(&words[one_word ? 0 : 1], want_total, 1, one);
}

enum form { KEPT, KEPT_IN_PLACE, SPLIT, SPLIT_IN_TWO, INDICES, FLAGS, FLAGS_SPLIT, FORMS };

/* What is written lies in out at `out_at`: wanted [nwant] of size `one`. */
static void check_kept(unsigned char *out, size_t out_at, const unsigned char *wanted, uint64_t nwant, size_t one) {
    CHECK_OK(upsweep_download(ctx, got, out, MAX_NBYTES));
    CHECK_SAME(got, h_in, out_at, 1);
    CHECK_SAME(got + out_at, wanted, nwant, one);
    const size_t end = out_at + nwant * one;
    if (out != d_in) CHECK_SAME(got + end, h_in + end, MAX_NBYTES - end, 1);
}

/* The arrays of one call. */
struct arrays {
    unsigned char *from, *to, *rest, *flags;
};

static void run_form(enum form form, struct arrays a, uint64_t n, upsweep_type type, const upsweep_predicate *keep, unsigned base) {
    switch (form) {
    case KEPT:
        CHECK_OK(upsweep_compact(ctx, a.to, d_words + 2, a.from, n, type, keep));
        break;
    case KEPT_IN_PLACE:
        CHECK_OK(upsweep_compact(ctx, a.from, d_words + 2, a.from, n, type, keep));
        break;
    case SPLIT:
        CHECK_OK(upsweep_partition(ctx, a.to, NULL, d_words + 2, a.from, n, type, keep));
        break;
    case SPLIT_IN_TWO:
        CHECK_OK(upsweep_partition(ctx, a.to, a.rest, d_words + 2, a.from, n, type, keep));
        break;
    case INDICES:
        CHECK_OK(upsweep_compact_indices(ctx, a.to, d_words + 2, a.from, n, type, keep, UPSWEEP_U32, base));
        break;
    case FLAGS:
        CHECK_OK(upsweep_compact_flags(ctx, a.to, d_words + 2, a.from, a.flags, n, elem_size(type)));
        break;
    default:
        CHECK_OK(upsweep_partition_flags(ctx, a.to, NULL, d_words + 2, a.from, a.flags, n, elem_size(type)));
    }
}

static void check_compact(upsweep_type type, enum form form, uint64_t n, unsigned i) {
    const size_t one = elem_size(type), in_at = i % 5 * one, out_at = form == INDICES ? i % 4 * 4 : i % 7 * one, flags_at = i % 9,
                 rest_at = i % 3 * one;
    const upsweep_predicate keep = {UPSWEEP_LT, {.u = i % 11 == 0 ? 0 : ~UINT64_C(0) >> (64 - 8 * one) >> i % 3}};
    case_begin("form %d, %s, n %llu, variant %u", (int)form, upsweep_type_name(type), (unsigned long long)n, i);
    CHECK_OK(upsweep_upload(ctx, d_in, h_in, MAX_NBYTES));
    CHECK_OK(upsweep_upload(ctx, d_out, h_in, MAX_NBYTES));
    oracle_flags(h_flags + flags_at, h_in + in_at, n, type, &keep);
    CHECK_OK(upsweep_upload(ctx, d_flags, h_flags, flags_at + n));
    if (form == SPLIT_IN_TWO) CHECK_OK(upsweep_upload(ctx, d_rest, h_in, MAX_NBYTES));
    if (form == INDICES && n * 4 + out_at > MAX_NBYTES) return; /* there must be room for all, and bytes have too many */
    const bool both = form == SPLIT || form == SPLIT_IN_TWO || form == FLAGS_SPLIT;
    const uint64_t kept = form == INDICES ? oracle_indices(want, h_flags + flags_at, n, UPSWEEP_U32, i)
                                          : oracle_compact(want, h_in + in_at, h_flags + flags_at, n, one, both);
    run_form(form, (struct arrays){d_in + in_at, d_out + out_at, d_rest + rest_at, d_flags + flags_at}, n, type, &keep, i);
    uint64_t count = 0;
    CHECK_OK(upsweep_read_count(ctx, &count, d_words + 2));
    CHECK(count == kept);
    if (form == KEPT_IN_PLACE)
        check_kept(d_in, in_at, want, kept, one);
    else
        check_kept(d_out, out_at, want, both && form != SPLIT_IN_TWO ? n : kept, form == INDICES ? 4 : one);
    if (form == SPLIT_IN_TWO) check_kept(d_rest, rest_at, want + kept * one, n - kept, one);
}

static void test_borders(void) {
    static const upsweep_type types[] = {UPSWEEP_U8, UPSWEEP_U16, UPSWEEP_U32, UPSWEEP_U64};
    static const upsweep_op ops[] = {UPSWEEP_ADD, UPSWEEP_MAX, UPSWEEP_XOR, UPSWEEP_MIN, UPSWEEP_MUL};
    unsigned i = 0;
    for (uint64_t step = 1; step <= STEPS; step++) {
        if (quick() && step % 16 > 1 && step % 7 != 0) continue;
        for (int t = 0; t < 4; t++) {
            for (uint64_t around = 0; around < 3; around++, i++) {
                const uint64_t n = step * STEP_NBYTES / elem_size(types[t]) - 1 + around;
                check_scan(types[t], ops[(i / 2 + step) % 5], n, i);
                check_compact(types[t], (enum form)((i + step) % FORMS), n, i / 2);
                check_compact(types[t], (enum form)((i + step + 3) % FORMS), n, i / 3);
            }
        }
    }
}

/* ---- chains ------------------------------------------------------------------------------------------------------------------ */

enum { LINKS = 40, CHAIN_N = STEP_NBYTES * STEPS / 4 };

/* Keys in order, as the kernels of a sort are set up early too. */
static void want_sorted(unsigned char *keys, uint64_t n, upsweep_type type) {
    uint64_t *const order = must_malloc(n * sizeof *order);
    oracle_argsort(order, keys, n, type, NULL);
    oracle_gather(got, keys, order, n, elem_size(type));
    memcpy(keys, got, n * elem_size(type));
    free(order);
}

/* Scans, partitions and sorts in turn, each of what the one before has written, of sizes that take every kind of kernel. */
static void queue_chain(cudaStream_t stream) {
    static const uint64_t sizes[] = {500, 4000, 9000, 60000, CHAIN_N};
    const upsweep_predicate keep = {UPSWEEP_LT, {.u = 1u << 31}};
    for (unsigned i = 0; i < LINKS; i++) {
        const uint64_t n = sizes[i * 3 % 5];
        CHECK_OK(upsweep_scan(ctx, d_in, d_in, n, UPSWEEP_U32, UPSWEEP_ADD, i % 2));
        if (i % 8 == 5) CUDA_OK(cudaMemsetAsync(d_in + 400, 0x11, 400, stream));
        CHECK_OK(upsweep_partition(ctx, d_out, NULL, d_words + 2, d_in, n, UPSWEEP_U32, &keep));
        if (i % 8 == 3) CUDA_OK(cudaMemcpyAsync(d_in, d_out, 4 * n, cudaMemcpyDeviceToDevice, stream));
        CHECK_OK(upsweep_scan(ctx, d_in, d_out, n, UPSWEEP_U32, UPSWEEP_XOR, UPSWEEP_INCLUSIVE));
        if (i % 8 == 1) CHECK_OK(upsweep_sort(ctx, d_in, d_in, n, UPSWEEP_U32, NULL));
        if (i % 8 == 7) CHECK_OK(upsweep_sort(ctx, d_in, d_in, n, UPSWEEP_U8, NULL));
    }
}

static void want_chain(void) {
    static const uint64_t sizes[] = {500, 4000, 9000, 60000, CHAIN_N};
    const upsweep_predicate keep = {UPSWEEP_LT, {.u = 1u << 31}};
    for (unsigned i = 0; i < LINKS; i++) {
        const uint64_t n = sizes[i * 3 % 5];
        oracle_scan(want, want, n, UPSWEEP_U32, UPSWEEP_ADD, i % 2, NULL);
        if (i % 8 == 5) memset(want + 400, 0x11, 400);
        oracle_flags(h_flags, want, n, UPSWEEP_U32, &keep);
        oracle_compact(got, want, h_flags, n, 4, true);
        if (i % 8 == 3) memcpy(want, got, 4 * n);
        oracle_scan(want, got, n, UPSWEEP_U32, UPSWEEP_XOR, UPSWEEP_INCLUSIVE, NULL);
        if (i % 8 == 1) want_sorted(want, n, UPSWEEP_U32);
        if (i % 8 == 7) want_sorted(want, n, UPSWEEP_U8);
    }
}

static void test_chain(cudaStream_t stream) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    memcpy(want, h_in, MAX_NBYTES);
    for (int run = 0; run < 4; run++) { /* the last two by a graph */
        case_begin("chain of %d calls, run %d", 3 * LINKS + LINKS / 4, run);
        if (run == 0) CHECK_OK(upsweep_upload(ctx, d_in, h_in, MAX_NBYTES));
        if (run == 2) {
            CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
            queue_chain(stream);
            CUDA_OK(cudaStreamEndCapture(stream, &graph));
            CUDA_OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
        }
        if (run < 2)
            queue_chain(stream);
        else
            CUDA_OK(cudaGraphLaunch(exec, stream));
        want_chain();
        CHECK_OK(upsweep_sync(ctx));
        check_array(d_in, 4 * CHAIN_N);
    }
    CUDA_OK(cudaGraphExecDestroy(exec));
    CUDA_OK(cudaGraphDestroy(graph));
}

/* Elements scanned on one stream and flags on another, then both read by one call, which has two to wait for. */
enum { JOIN_N = 60000 };
static void queue_joins(cudaStream_t streams[2], upsweep_context *other, cudaEvent_t forked, cudaEvent_t joined) {
    for (unsigned i = 0; i < LINKS; i++) {
        CUDA_OK(cudaEventRecord(forked, streams[0]));
        CUDA_OK(cudaStreamWaitEvent(streams[1], forked, 0));
        CHECK_OK(upsweep_scan(ctx, d_in, d_in, JOIN_N / (1 + i % 3), UPSWEEP_U32, UPSWEEP_ADD, UPSWEEP_INCLUSIVE));
        CHECK_OK(upsweep_scan(other, d_flags, d_flags, JOIN_N / (1 + i % 5), UPSWEEP_U8, UPSWEEP_XOR, UPSWEEP_INCLUSIVE));
        CUDA_OK(cudaEventRecord(joined, streams[1]));
        CUDA_OK(cudaStreamWaitEvent(streams[0], joined, 0));
        CHECK_OK(upsweep_partition_flags(ctx, d_out, NULL, d_words + 2, d_in, d_flags, JOIN_N, 4));
        CHECK_OK(upsweep_scan(ctx, d_in, d_out, JOIN_N, UPSWEEP_U32, UPSWEEP_XOR, UPSWEEP_INCLUSIVE));
    }
}

static void want_joins(void) {
    for (unsigned i = 0; i < LINKS; i++) {
        oracle_scan(want, want, JOIN_N / (1 + i % 3), UPSWEEP_U32, UPSWEEP_ADD, UPSWEEP_INCLUSIVE, NULL);
        oracle_scan(h_flags, h_flags, JOIN_N / (1 + i % 5), UPSWEEP_U8, UPSWEEP_XOR, UPSWEEP_INCLUSIVE, NULL);
        oracle_compact(got, want, h_flags, JOIN_N, 4, true);
        oracle_scan(want, got, JOIN_N, UPSWEEP_U32, UPSWEEP_XOR, UPSWEEP_INCLUSIVE, NULL);
    }
}

static void test_joins(int path, cudaStream_t stream) {
    cudaStream_t streams[2] = {stream, NULL};
    cudaEvent_t events[2];
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    for (int i = 0; i < 2; i++) CUDA_OK(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
    CUDA_OK(cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking));
    upsweep_context *other = open_path(path, &(upsweep_options){.size = sizeof(upsweep_options), .stream = streams[1]});
    if (!CHECK(other != NULL)) return;
    memcpy(want, h_in, MAX_NBYTES);
    memcpy(h_flags, h_in, JOIN_N);
    CHECK_OK(upsweep_upload(ctx, d_in, want, MAX_NBYTES));
    CHECK_OK(upsweep_upload(ctx, d_flags, h_flags, JOIN_N));
    for (int run = 0; run < 2; run++) { /* the second by a graph */
        case_begin("two streams that meet %d times, run %d", LINKS, run);
        if (run == 1) CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        queue_joins(streams, other, events[0], events[1]);
        if (run == 1) {
            CUDA_OK(cudaStreamEndCapture(stream, &graph));
            CUDA_OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
            CUDA_OK(cudaGraphLaunch(exec, stream));
        }
        want_joins();
        CHECK_OK(upsweep_sync(ctx));
        check_array(d_in, 4 * JOIN_N);
    }
    CUDA_OK(cudaGraphExecDestroy(exec));
    CUDA_OK(cudaGraphDestroy(graph));
    for (int i = 0; i < 2; i++) CUDA_OK(cudaEventDestroy(events[i]));
    upsweep_close(other);
    CUDA_OK(cudaStreamDestroy(streams[1]));
}

static void test_path(int path) {
    cudaStream_t stream;
    CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const upsweep_options options = {.size = sizeof options, .stream = stream};
    ctx = open_path(path, &options);
    if (!CHECK(ctx != NULL)) return;
    d_in = device_alloc(ctx, MAX_NBYTES), d_out = device_alloc(ctx, MAX_NBYTES), d_rest = device_alloc(ctx, MAX_NBYTES),
    d_flags = device_alloc(ctx, MAX_NBYTES);
    d_words = (uint64_t *)(void *)device_alloc(ctx, 3 * sizeof *d_words);
    if (path == 0) test_borders();
    test_chain(stream);
    test_joins(path, stream);
    upsweep_free(ctx, d_in);
    upsweep_free(ctx, d_out);
    upsweep_free(ctx, d_rest);
    upsweep_free(ctx, d_flags);
    upsweep_free(ctx, d_words);
    upsweep_close(ctx);
    CUDA_OK(cudaStreamDestroy(stream));
}

int main(void) {
    struct rng rng = {20261121};
    harness_begin(false);
    if (!backend_wanted("cuda")) {
        skip("cuda");
        return harness_end();
    }
    h_in = must_malloc(MAX_NBYTES), h_flags = must_malloc(MAX_NBYTES), got = must_malloc(MAX_NBYTES), want = must_malloc(4 * MAX_NBYTES);
    rng_fill(&rng, h_in, MAX_NBYTES);
    for (int path = 0; path < PATHS; path++) test_path(path);
    free(h_in), free(h_flags), free(got), free(want);
    return harness_end();
}
