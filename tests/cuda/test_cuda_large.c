/* test_cuda_large.c: more elements than 32 bits can count: 2^32 + 12,345 bytes and 2^31 + 1 words, on both paths; and a sort of several
 * portions.
 *
 * The input is one block of random bytes, repeated; so the host can tell every output element without holding the input. The block's
 * length has no factor in common with any tile. Outputs are fetched and compared a chunk at a time; of text, some blocks. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "paths.h"
#include "utf8_oracle.h"

enum { BLOCK = 999983, CHUNK = 1 << 26 };
static const uint64_t N_BYTES = (1ull << 32) + 12345, N_WORDS = (1ull << 31) + 1, INDEX_BASE = 1000000000000;

static upsweep_context *ctx;
static unsigned char *in, *out;
static uint64_t *count;
static unsigned char *got, *want; /* [CHUNK] on the host */
static uint32_t block[BLOCK];     /* as words, or its first quarter as bytes */

/* in [nbytes]: the first `period` bytes of block, again and again. */
static bool fill_input(uint64_t nbytes, size_t period) {
    if (!CHECK_OK(upsweep_upload(ctx, in, block, period))) return false;
    uint64_t filled = period;
    while (filled < nbytes) { /* what is there already, a whole number of periods, doubles */
        const uint64_t more = filled < nbytes - filled ? filled : nbytes - filled;
        if (!CHECK(cudaMemcpy(in + filled, in, more, cudaMemcpyDeviceToDevice) == cudaSuccess)) return false;
        filled += more;
    }
    return CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

/* ---- the answers, one chunk after the other ---------------------------------------------------------------------------------- */

/* Walks through the input; each step writes one chunk of the answer to want [CHUNK] and returns its bytes, 0 at the end. */
struct walk {
    uint64_t i, n;  /* next input element, of n */
    uint32_t place; /* i % BLOCK */
    uint32_t sum;
    int class;
};

static void next(struct walk *w) {
    w->i++;
    w->place = w->place + 1 == BLOCK ? 0 : w->place + 1;
}

static size_t sums_of_bytes(struct walk *w) {
    const unsigned char *bytes = (const unsigned char *)block;
    size_t k = 0;
    for (; w->i < w->n && k < CHUNK; next(w)) want[k++] = (unsigned char)(w->sum += bytes[w->place]);
    return k;
}

static size_t indices_of_bytes(struct walk *w) {
    const unsigned char *bytes = (const unsigned char *)block;
    uint64_t *indices = (uint64_t *)(void *)want;
    size_t k = 0;
    for (; w->i < w->n && k < CHUNK / 8; next(w))
        if (bytes[w->place] < 4) indices[k++] = INDEX_BASE + w->i;
    return 8 * k;
}

static size_t sums_of_words(struct walk *w) {
    uint32_t *sums = (uint32_t *)(void *)want;
    size_t k = 0;
    for (; w->i < w->n && k < CHUNK / 4; next(w)) {
        sums[k++] = w->sum;
        w->sum += block[w->place];
    }
    return 4 * k;
}

static size_t large_words(struct walk *w) {
    uint32_t *words = (uint32_t *)(void *)want;
    size_t k = 0;
    for (; w->i < w->n && k < CHUNK / 4; next(w))
        if (block[w->place] >> 31) words[k++] = block[w->place];
    return 4 * k;
}

/* The block's bytes by class, in their old order within each: what a partition and a stable sort make of them. Class c is
 * [class_start[c], class_start[c + 1]), and class_tail[c] of it lie in the beginning of the block with which the input ends. */
enum { CLASSES = 128 };
static unsigned char by_class[BLOCK];
static uint32_t class_start[CLASSES + 1], class_tail[CLASSES];

static int upper_bits(unsigned char byte) { return byte / 2; }
static int rejected(unsigned char byte) { return byte == 0; }

static void classify(int (*class_of)(unsigned char), uint64_t n) {
    const unsigned char *bytes = (const unsigned char *)block;
    uint32_t next_of[CLASSES];
    memset(class_start, 0, sizeof class_start);
    memset(class_tail, 0, sizeof class_tail);
    for (uint32_t i = 0; i < BLOCK; i++) class_start[class_of(bytes[i]) + 1]++;
    for (uint32_t i = 0; i < n % BLOCK; i++) class_tail[class_of(bytes[i])]++;
    for (int c = 0; c < CLASSES; c++) class_start[c + 1] += class_start[c];
    memcpy(next_of, class_start, sizeof next_of);
    for (uint32_t i = 0; i < BLOCK; i++) by_class[next_of[class_of(bytes[i])]++] = bytes[i];
}

/* How many of the first n bytes are in class c. */
static uint64_t class_size(int c, uint64_t n) { return n / BLOCK * (class_start[c + 1] - class_start[c]) + class_tail[c]; }

static size_t bytes_by_class(struct walk *w) {
    size_t k = 0;
    for (; w->class < CLASSES; *w = (struct walk){.n = w->n, .class = w->class + 1}) {
        const uint32_t first = class_start[w->class], size = class_start[w->class + 1] - first;
        for (const uint64_t end = class_size(w->class, w->n); w->i < end && k < CHUNK;) {
            uint64_t run = size - w->place; /* to the block's end, the class's end or the chunk's, whichever comes first */
            if (run > end - w->i) run = end - w->i;
            if (run > CHUNK - k) run = CHUNK - k;
            memcpy(want + k, by_class + first + w->place, run);
            k += run;
            w->i += run;
            w->place = w->place + run == size ? 0 : w->place + (uint32_t)run;
        }
        if (k == CHUNK) break;
    }
    return k;
}

/* Compares the output with the answer; returns the answer's bytes. */
static uint64_t check_output(size_t (*step)(struct walk *), uint64_t n) {
    struct walk walk = {.n = n};
    uint64_t done = 0;
    bool same = true;
    for (size_t nbytes = step(&walk); nbytes > 0 && same; nbytes = step(&walk)) {
        same = CHECK_OK(upsweep_download(ctx, got, out + done, nbytes)) && memcmp(got, want, nbytes) == 0;
        done += nbytes;
    }
    CHECK(same);
    return done;
}

static void check_count(uint64_t expected) {
    uint64_t n = 0;
    CHECK_OK(upsweep_read_count(ctx, &n, count));
    CHECK(n == expected);
}

/* ---- the cases --------------------------------------------------------------------------------------------------------------- */

static void test_bytes(void) {
    const upsweep_predicate keep = {UPSWEEP_LT, {.u = 4}};
    case_begin("inclusive sum of 2^32 + 12345 u8");
    CHECK_OK(upsweep_scan(ctx, out, in, N_BYTES, UPSWEEP_U8, UPSWEEP_ADD, UPSWEEP_INCLUSIVE));
    check_output(sums_of_bytes, N_BYTES);

    case_begin("indices of 2^32 + 12345 u8");
    CHECK_OK(upsweep_compact_indices(ctx, out, count, in, N_BYTES, UPSWEEP_U8, &keep, UPSWEEP_U64, INDEX_BASE));
    check_count(check_output(indices_of_bytes, N_BYTES) / 8);

    case_begin("partition of 2^32 + 12345 records of a byte, which are their own flags");
    classify(rejected, N_BYTES);
    CHECK_OK(upsweep_partition_flags(ctx, out, NULL, count, in, in, N_BYTES, 1));
    CHECK(check_output(bytes_by_class, N_BYTES) == N_BYTES);
    check_count(class_size(0, N_BYTES));
}

static void test_words(void) {
    const upsweep_predicate keep = {UPSWEEP_GE, {.u = 1u << 31}};
    case_begin("exclusive sum of 2^31 + 1 u32");
    CHECK_OK(upsweep_scan(ctx, out, in, N_WORDS, UPSWEEP_U32, UPSWEEP_ADD, UPSWEEP_EXCLUSIVE));
    check_output(sums_of_words, N_WORDS);

    case_begin("compaction of 2^31 + 1 u32");
    CHECK_OK(upsweep_compact(ctx, out, count, in, N_WORDS, UPSWEEP_U32, &keep));
    check_count(check_output(large_words, N_WORDS) / 4);
}

/* n code units of text: what a block becomes, again and again, as no sequence crosses its ends. */
static void test_text(struct conversion c, uint64_t n) {
    const struct expected e = oracle_utf8(block, BLOCK, c), tail = oracle_utf8(block, n % BLOCK, c);
    const uint64_t nblocks = n / BLOCK, units = e.report.needed, looked_at[] = {0, 1, nblocks / 2, nblocks - 1, nblocks};
    const size_t unit_nbytes = upsweep_encoding_nbytes(c.to);
    upsweep_utf8_report r, *report = (upsweep_utf8_report *)(void *)count;
    case_begin("%s to %s of more than 2^31 units", upsweep_encoding_name(c.from), upsweep_encoding_name(c.to));
    c.options.encoding = c.from == UPSWEEP_UTF8 ? c.to : c.from;
    for (int measure = 1; measure >= 0; measure--) {
        CHECK_OK((c.from == UPSWEEP_UTF8 ? upsweep_utf8_decode : upsweep_utf8_encode)(
            ctx, measure ? NULL : out, measure ? 0 : 8 * N_BYTES / unit_nbytes, report, in, n, &c.options));
        CHECK_OK(upsweep_utf8_read_report(ctx, &r, report));
        CHECK(r.needed == nblocks * units + tail.report.needed && r.consumed == n && r.written == (measure ? 0 : r.needed));
        CHECK(r.bad_sequences == nblocks * e.report.bad_sequences + tail.report.bad_sequences);
        CHECK(r.bad_units == nblocks * e.report.bad_units + tail.report.bad_units && r.error_at == e.report.error_at);
    }
    for (size_t i = 0; i < sizeof looked_at / sizeof *looked_at; i++) {
        const struct expected *expected = looked_at[i] == nblocks ? &tail : &e;
        CHECK_OK(upsweep_download(ctx, got, out + looked_at[i] * units * unit_nbytes, (size_t)expected->report.needed * unit_nbytes));
        CHECK_SAME(got, expected->out, expected->report.needed, unit_nbytes);
    }
    oracle_free(&e);
    oracle_free(&tail);
}

/* A fault that showed once in some twenty calls: where memory is busiest, a tile that lands too early in shared memory. The sum of all
 * units tells. */
static void test_text_again(void) {
    const uint64_t n = 4 * (uint64_t)CHUNK;
    const upsweep_utf8_options options = {.encoding = UPSWEEP_UTF32};
    uint32_t sum = 0, total = 0;
    bool same = true;
    case_begin("2^28 bytes of ASCII to utf-32, again and again");
    for (uint32_t i = 0; i < CHUNK; i++) sum += want[i] = ((const unsigned char *)block)[i % BLOCK] & 0x7F;
    for (int i = 0; i < 4; i++) CHECK_OK(upsweep_upload(ctx, in + (uint64_t)i * CHUNK, want, CHUNK));
    for (int call = 0; call < 200 && same; call++) {
        same = CHECK_OK(upsweep_utf8_decode(ctx, out, n, (upsweep_utf8_report *)(void *)count, in, n, &options)) &&
               CHECK_OK(upsweep_scan_ex(ctx, out, out, n, UPSWEEP_U32, UPSWEEP_ADD, UPSWEEP_INCLUSIVE, NULL, count)) &&
               CHECK_OK(upsweep_download(ctx, &total, count, sizeof total)) && CHECK(total == 4 * sum);
    }
}

/* A stable sort goes portion by portion, and this one's last portion is a single tile, fewer than there are CTAs. */
static void test_sort(void) {
    const uint64_t n = (1ull << 29) + 1000;
    const upsweep_order order = {.lo_bit = 1};
    case_begin("sort of 2^29 + 1000 u8 by their upper bits");
    classify(upper_bits, n);
    CHECK_OK(upsweep_sort(ctx, out, in, n, UPSWEEP_U8, &order));
    CHECK(check_output(bytes_by_class, n) == n);
}

static void test_path(int path) {
    ctx = open_path(path, NULL);
    if (!CHECK(ctx != NULL)) return;
    void *p[3] = {NULL, NULL, NULL};
    const size_t nbytes[3] = {(size_t)(4 * N_WORDS), (size_t)(8 * N_BYTES), sizeof(upsweep_utf8_report)}; /* out: an index an element */
    bool enough = true;
    for (int i = 0; i < 3; i++) enough = enough && upsweep_alloc(ctx, &p[i], nbytes[i]) == UPSWEEP_OK;
    in = p[0];
    out = p[1];
    count = p[2];
    if (!enough) skip("large arrays: they take 43 GB of device memory");
    if (enough && fill_input(N_BYTES, BLOCK)) {
        test_bytes();
        test_sort();
        test_text((struct conversion){.from = UPSWEEP_UTF8, .to = UPSWEEP_UTF32}, N_BYTES);
        test_text((struct conversion){.from = UPSWEEP_UTF8, .to = UPSWEEP_UTF16LE}, N_BYTES);
    }
    if (enough && fill_input(4 * N_WORDS, sizeof block)) {
        test_words();
        test_text((struct conversion){.from = UPSWEEP_UTF32, .to = UPSWEEP_UTF8}, N_WORDS);
    }
    if (enough) test_text_again();
    for (int i = 0; i < 3; i++) upsweep_free(ctx, p[i]);
    upsweep_close(ctx);
}

int main(void) {
    harness_begin(false);
    if (!backend_wanted("cuda") || quick()) {
        skip("large arrays on cuda");
        return harness_end();
    }
    struct rng rng = {32};
    rng_fill(&rng, block, sizeof block);
    ((unsigned char *)block)[0] = ((unsigned char *)block)[BLOCK - 1] = 'x'; /* no sequence of UTF-8 goes on from one block to the next */
    got = must_malloc(CHUNK);
    want = must_malloc(CHUNK);
    for (int path = 0; path < PATHS; path++) test_path(path);
    free(got);
    free(want);
    return harness_end();
}
