/* test_cuda_utf8.c: text in CUDA graphs that are replayed on changing data, with plain calls in between: what a call leaves in control
 * memory must be as the next one wants it, whether it found ill-formed text or none. And surrogates, in pairs and alone, at the edges of
 * what lanes, warps and CTAs take on. */
#include <cuda_runtime_api.h>

#include "device.h"
#include "harness.h"
#include "paths.h"
#include "utf8_oracle.h"

enum { TEXT_N = 120011, REPLAYS = 24 };

/* By one CTA, by a cluster, by the look-back pass: unless a path is asked for. */
static const uint64_t lengths[] = {1003, 20011, TEXT_N};

static const struct conversion conversions[] = {
    {.from = UPSWEEP_UTF8, .to = UPSWEEP_UTF32, .options.skip_bom = 1},
    {.from = UPSWEEP_UTF8, .to = UPSWEEP_UTF16BE, .options = {.on_error = UPSWEEP_STRICT, .more = 1}},
    {.from = UPSWEEP_UTF8, .to = UPSWEEP_UTF8, .options = {.skip_bom = 1, .more = 1}},
    {.from = UPSWEEP_UTF8, .to = UPSWEEP_UTF8, .options.on_error = UPSWEEP_REMOVE},
    {.from = UPSWEEP_UTF8, .to = UPSWEEP_UTF8, .options.on_error = UPSWEEP_STRICT},
    {.from = UPSWEEP_UTF16LE, .to = UPSWEEP_UTF8, .options.more = 1},
    {.from = UPSWEEP_UTF32, .to = UPSWEEP_UTF8, .options.on_error = UPSWEEP_STRICT},
};
enum { CONVERSIONS = sizeof conversions / sizeof *conversions };

struct text_case {
    upsweep_context *ctx;
    cudaStream_t stream;
    struct conversion c;
    uint64_t n;                   /* up to TEXT_N */
    unsigned char *in, *out;      /* 4 * TEXT_N bytes each */
    upsweep_utf8_report *reports; /* [2]: of the conversion, and of the same without output */
};

static void convert(struct text_case *t) {
    upsweep_utf8_options options = t->c.options;
    const uint64_t capacity = 4 * TEXT_N / upsweep_encoding_nbytes(t->c.to);
    options.encoding = t->c.from == UPSWEEP_UTF8 ? t->c.to : t->c.from;
    for (int i = 0; i < 2; i++)
        CHECK_OK((t->c.from == UPSWEEP_UTF8 ? upsweep_utf8_decode : upsweep_utf8_encode)(
            t->ctx, i == 0 ? t->out : NULL, i == 0 ? capacity : 0, t->reports + i, t->in, t->n, &options));
}

/* Text of all code points, of which one in 2^damage is then overwritten at random; 0: none is. */
static void make_text(unsigned char *in, upsweep_encoding encoding, unsigned damage, struct rng *rng) {
    const size_t nbytes = upsweep_encoding_nbytes(encoding);
    unsigned char one[8];
    memset(in, 0, TEXT_N * nbytes);
    for (uint64_t k = 0; k + 4 <= TEXT_N;) k += oracle_put(in + k * nbytes, (uint32_t)rng_below(rng, 0xD800), encoding);
    for (uint64_t hits = damage == 0 ? 0 : TEXT_N >> damage; hits > 0; hits--) {
        rng_fill(rng, one, sizeof one);
        memcpy(in + rng_below(rng, TEXT_N) * nbytes, one, nbytes);
    }
}

static void check_results(struct text_case *t, const unsigned char *in) {
    static unsigned char got[4 * TEXT_N];
    upsweep_utf8_report reports[2];
    const struct expected e = oracle_utf8(in, t->n, t->c);
    CHECK_OK(upsweep_download(t->ctx, reports, t->reports, sizeof reports));
    CHECK_OK(upsweep_download(t->ctx, got, t->out, sizeof got));
    CHECK_SAME(reports, &e.report, 1, sizeof *reports);
    CHECK_SAME(got, e.out, e.report.written, upsweep_encoding_nbytes(t->c.to));
    CHECK(reports[1].needed == e.report.needed && reports[1].written == 0 && reports[1].error_at == e.report.error_at);
    oracle_free(&e);
}

static void test_graph(struct text_case *t) {
    static unsigned char in[4 * TEXT_N];
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    struct rng rng = {(uint64_t)t->c.from};
    CUDA_OK(cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeGlobal));
    convert(t);
    CUDA_OK(cudaStreamEndCapture(t->stream, &graph));
    CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int replay = 0; replay < REPLAYS && exec; replay++) {
        make_text(in, t->c.from, replay % 3 == 0 ? 0 : (unsigned)replay % 16 + 1, &rng);
        CHECK_OK(upsweep_upload(t->ctx, t->in, in, sizeof in));
        CUDA_OK(cudaGraphLaunch(exec, t->stream));
        check_results(t, in);
        if (replay % 7 == 0) convert(t);
    }
    CUDA_OK(cudaGraphExecDestroy(exec));
    CUDA_OK(cudaGraphDestroy(graph));
}

/* Surrogate pairs across every edge of vectors, rows, chunks and tiles, of 1024 units and more; and some edges that have one half only. */
static void test_pairs_at_edges(struct text_case *t) {
    enum { CHUNK = 1024, WAYS = 3 };
    static const char *const ways[WAYS] = {"whole", "without low ones", "without high ones"};
    static unsigned char in[4 * TEXT_N];
    for (int i = 0; i < 3 * WAYS; i++) {
        const int way = i % WAYS;
        t->c.options.on_error = (upsweep_on_error)(i / WAYS);
        case_begin("pairs at edges %s, mode %d", ways[way], i / WAYS);
        oracle_put(in, 'a', t->c.from);
        for (int k = 1; k + 1 < TEXT_N; k += 2) oracle_put(in + 2 * k, 0x10000 + (uint32_t)k, t->c.from);
        for (int edge = 5 * CHUNK; way > 0 && edge < TEXT_N; edge += 5 * CHUNK) oracle_put(in + 2 * (edge - way + 1), 'b', t->c.from);
        CHECK_OK(upsweep_upload(t->ctx, t->in, in, sizeof in));
        convert(t);
        check_results(t, in);
    }
}

/* A code point of a kind of text: below 80, 800, 10000, any; or of four bytes and below 80. */
enum { KINDS = 5 };
static uint32_t code_of_kind(int kind, struct rng *rng) {
    static const uint32_t ends[] = {0x80, 0x800, 0x10000, 0x110000};
    if (kind == 4) return rng_below(rng, 3) == 0 ? (uint32_t)rng_below(rng, 0x80) : 0x10000 + (uint32_t)rng_below(rng, 0x100000);
    const uint32_t code = (uint32_t)rng_below(rng, ends[kind == 3 ? (int)rng_below(rng, 4) : kind]);
    return code >> 11 == 0xD800 >> 11 ? 'x' : code;
}

/* Encoding: text of each kind, with units that stand alone on either side of the edges of what lanes, warps and CTAs take on, and sometimes
 * a pair across one. Lengths vary, so that what lanes write begins and ends anywhere in a word. */
static void test_lone_at_edges(struct text_case *t) {
    static const uint64_t edges[] = {4, 8, 16, 256, 512, 1024, 17 * 1024, 21 * 512};
    enum { EDGES = sizeof edges / sizeof *edges };
    static unsigned char in[4 * TEXT_N + 16];
    const size_t nbytes = upsweep_encoding_nbytes(t->c.from);
    struct rng rng = {7};
    for (int i = 0; i < 3 * KINDS * EDGES; i++) {
        const int kind = i % KINDS;
        const uint64_t edge = edges[i / KINDS % EDGES], count = TEXT_N / edge - 1;
        t->c.options.on_error = (upsweep_on_error)(i / KINDS / EDGES);
        case_begin("lone at edges of %llu units, kind %d, mode %d", (unsigned long long)edge, kind, i / KINDS / EDGES);
        for (uint64_t k = 0; k < TEXT_N;) k += oracle_put(in + k * nbytes, code_of_kind(kind, &rng), t->c.from);
        for (int lone = 0; lone < i % 4; lone++) {
            const uint64_t place = (1 + rng_below(&rng, count)) * edge - 2 + rng_below(&rng, 4);
            oracle_put(in + place * nbytes, 0xD800 + (uint32_t)rng_below(&rng, 0x800), t->c.from);
        }
        if (i % 8 > 4) oracle_put(in + ((1 + rng_below(&rng, count)) * edge - 1) * nbytes, 0x10000 + (uint32_t)i, t->c.from);
        CHECK_OK(upsweep_upload(t->ctx, t->in, in, 4 * TEXT_N));
        convert(t);
        check_results(t, in);
    }
}

/* Encoding: of every 2^rare units one is well-formed, so that when the others are removed lanes have little left to write, or nothing. */
static void test_little_left(struct text_case *t) {
    enum { MOST_RARE = 7 };
    static unsigned char in[4 * TEXT_N + 16];
    const size_t nbytes = upsweep_encoding_nbytes(t->c.from);
    struct rng rng = {8};
    for (int i = 0; i < 3 * MOST_RARE; i++) {
        const int rare = 1 + i % MOST_RARE, mode = i / MOST_RARE;
        t->c.options.on_error = (upsweep_on_error)mode;
        case_begin("one of %d units left, mode %d", 1 << rare, mode);
        for (uint64_t k = 0; k < TEXT_N;) {
            const bool good = rng_below(&rng, 1u << rare) == 0;
            k += oracle_put(in + k * nbytes, good ? code_of_kind((int)k % KINDS, &rng) : 0xDC00 + (uint32_t)rng_below(&rng, 0x400),
                            t->c.from);
        }
        CHECK_OK(upsweep_upload(t->ctx, t->in, in, 4 * TEXT_N));
        convert(t);
        check_results(t, in);
    }
}

static void test_path(int path) {
    struct text_case t = {.ctx = NULL};
    CUDA_OK(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking));
    const upsweep_options options = {.size = sizeof options, .stream = t.stream};
    t.ctx = open_path(path, &options);
    if (!CHECK(t.ctx != NULL)) return;
    t.in = device_alloc(t.ctx, 4 * TEXT_N);
    t.out = device_alloc(t.ctx, 4 * TEXT_N);
    t.reports = device_alloc(t.ctx, 2 * sizeof *t.reports);
    for (int i = 0; i < CONVERSIONS; i++) {
        t.c = conversions[i];
        case_begin("graph of %s to %s on path '%s'", upsweep_encoding_name(t.c.from), upsweep_encoding_name(t.c.to), path_names[path]);
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            t.n = lengths[k];
            test_graph(&t);
        }
        if (t.c.from == UPSWEEP_UTF16LE) test_pairs_at_edges(&t);
        if (t.c.from != UPSWEEP_UTF8) test_lone_at_edges(&t);
        if (t.c.from != UPSWEEP_UTF8) test_little_left(&t);
    }
    upsweep_free(t.ctx, t.in);
    upsweep_free(t.ctx, t.out);
    upsweep_free(t.ctx, t.reports);
    upsweep_close(t.ctx);
    CUDA_OK(cudaStreamDestroy(t.stream));
}

int main(void) {
    harness_begin(false);
    if (!backend_wanted("cuda")) skip("cuda");
    for (int path = 0; path < PATHS && backend_wanted("cuda"); path++) test_path(path);
    return harness_end();
}
