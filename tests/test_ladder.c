/* test_ladder.c: every rung of the ladder, by the table: literals by hand, then every size and parameter against the reference, which the
 * literals have checked first. A rung that is added to the table is tested without a line here. */
#include <inttypes.h>

#include "harness.h"
#include "ladder.h"

enum { CANARY = 0x5CA1AB1E };

/* True if the rung can be tested here. */
static bool wanted(const struct ladder_rung *rung) {
    if (!backend_wanted(rung->backend == LADDER_CUDA ? "cuda" : "cpu")) return false;
    return ladder_missing(rung->backend) == NULL;
}

/* Runs a rung and compares all that it leaves behind; one element past the end of out must survive. */
static void check_rung(const struct ladder_rung *rung, struct ladder_job job, const int32_t *expected, uint64_t expected_count) {
    int32_t *out = must_malloc((size_t)(job.n + 1) * sizeof *out);
    double samples_ms[3] = {-1, -1, -1};
    memset(out, 0xAB, (size_t)job.n * sizeof *out);
    out[job.n] = CANARY;
    job.out = out;
    job.samples_ms = samples_ms;

    const bool ran = ladder_run(rung, &job);
    case_begin("%s n %" PRIu64 " block %" PRIu32 " threads %" PRIu32 " bits %" PRIu32 " repeats %" PRIu32 " %s", rung->name, job.n,
               job.block_size, job.nthreads, job.num_bits, job.repeats, job.error);
    CHECK(ran);
    if (CHECK(job.count == expected_count)) CHECK_SAME(out, expected, expected_count, sizeof *out);
    CHECK(out[job.n] == CANARY);
    CHECK(job.nsamples == (job.n == 0 ? 0 : job.repeats));
    for (uint32_t i = 0; i < job.nsamples; i++) CHECK(samples_ms[i] >= job.times.total_ms);
    free(out);
}

/* ---- literals ---------------------------------------------------------------------------------------------------------------- */

static const int32_t in8[] = {3, 0, -7, INT32_MAX, 8, 0, INT32_MIN, 3};
static const int32_t scanned8[] = {0, 3, 3, -4, INT32_MAX - 4, INT32_MIN + 3, INT32_MIN + 3, 3}; /* wraps up, then down */
static const int32_t compacted6[] = {3, -7, INT32_MAX, 8, INT32_MIN, 3};
static const int32_t sorted8[] = {INT32_MIN, -7, 0, 0, 3, 3, 8, INT32_MAX};
static const int32_t sorted8_by_2_bits[] = {0, 8, 0, INT32_MIN, -7, 3, INT32_MAX, 3};

/* A, the euro sign, a grinning face, a stray byte, an e acute that is cut off. */
static const char text10[] = "A\xE2\x82\xAC\xF0\x9F\x98\x80\x80\xC3";
static const int32_t decoded5[] = {0x41, 0x20AC, 0x1F600, 0xFFFD, 0xFFFD};
static const int32_t codes4[] = {0x41, 0x20AC, 0xD800, 0x1F600};
static const unsigned char encoded12[] = {0x41, 0xE2, 0x82, 0xAC, 0xEF, 0xBF, 0xBD, 0xF0, 0x9F, 0x98, 0x80, 0x00};

static void check_text_literal(const struct ladder_rung *rung) {
    int32_t text[10] = {0}, encoded[3];
    memcpy(text, text10, sizeof text10 - 1);
    memcpy(encoded, encoded12, sizeof encoded12);
    const struct ladder_job decode = {.in = text, .n = 10, .repeats = 1}, encode = {.in = codes4, .n = 4, .repeats = 1};
    int32_t got[10];
    if (rung->primitive == LADDER_UTF8_DECODE) {
        check_rung(rung, decode, decoded5, 5);
        CHECK(ladder_reference(LADDER_UTF8_DECODE, &decode, got) == 5);
        CHECK_SAME(got, decoded5, 5, sizeof *got);
    }
    if (rung->primitive == LADDER_UTF8_ENCODE) {
        check_rung(rung, encode, encoded, 3);
        CHECK(ladder_reference(LADDER_UTF8_ENCODE, &encode, got) == 3);
        CHECK_SAME(got, encoded, 3, sizeof *got);
    }
}

static void check_literal(const struct ladder_rung *rung) {
    check_text_literal(rung);
    const struct ladder_job job = {.in = in8, .n = 8, .repeats = 1};
    const struct ladder_job by_2_bits = {.in = in8, .n = 8, .repeats = 2, .num_bits = 2};
    if (rung->primitive == LADDER_SCAN) check_rung(rung, job, scanned8, 8);
    if (rung->primitive == LADDER_COMPACT) check_rung(rung, job, compacted6, 6);
    if (rung->primitive == LADDER_SORT) check_rung(rung, job, sorted8, 8);
    if (rung->params & LADDER_NUM_BITS) check_rung(rung, by_2_bits, sorted8_by_2_bits, 8);
}

static void check_reference(void) {
    struct ladder_job job = {.in = in8, .n = 8};
    int32_t got[8];
    case_begin("the reference itself");
    CHECK(ladder_reference(LADDER_SCAN, &job, got) == 8);
    CHECK_SAME(got, scanned8, 8, sizeof *got);
    CHECK(ladder_reference(LADDER_COMPACT, &job, got) == 6);
    CHECK_SAME(got, compacted6, 6, sizeof *got);
    CHECK(ladder_reference(LADDER_SORT, &job, got) == 8);
    CHECK_SAME(got, sorted8, 8, sizeof *got);
    job.num_bits = 2;
    CHECK(ladder_reference(LADDER_SORT, &job, got) == 8);
    CHECK_SAME(got, sorted8_by_2_bits, 8, sizeof *got);
}

/* ---- every size, every parameter --------------------------------------------------------------------------------------------- */

/* A rung on in [n], with all the parameters it has. */
static void check_parameters(const struct ladder_rung *rung, const int32_t *in, uint64_t n, int32_t *expected) {
    static const uint32_t blocks[] = {256, 16, 32, 1024}, threads[] = {0, 1, 2, 3, 8}, bits[] = {32, 1, 5, 31};
    const uint32_t nblocks = rung->params & LADDER_BLOCK_SIZE ? 4 : 1, nthreads = rung->params & LADDER_THREADS ? 5 : 1;
    const uint32_t nbits = rung->params & LADDER_NUM_BITS ? 4 : 1;
    for (uint32_t i = 0; i < nblocks * nthreads * nbits; i++) {
        struct ladder_job job = {.in = in, .n = n, .repeats = 1 + i % 2};
        job.block_size = blocks[i % nblocks];
        job.nthreads = threads[i / nblocks % nthreads];
        job.num_bits = bits[i / nblocks / nthreads];
        const uint64_t count = ladder_reference(rung->primitive, &job, expected);
        check_rung(rung, job, expected, count);
    }
}

static void check_sizes(const struct ladder_rung *rung) {
    /* edges of warps, blocks and pieces, powers of two and their neighbours, and enough for three levels of recursion at 32 threads */
    static const uint64_t sizes[] = {0,   1,   2,   3,   4,   5,   7,    8,    9,    31,   32,   33,   63,    64,    65,    100,
                                     127, 128, 129, 511, 512, 513, 1000, 2047, 2048, 2049, 4096, 4097, 65533, 65536, 270001};
    const size_t nsizes = sizeof sizes / sizeof sizes[0] - (quick() ? 3 : 0);
    struct rng rng = {7};
    for (size_t s = 0; s < nsizes; s++) {
        const uint64_t n = sizes[s];
        int32_t *in = must_malloc((size_t)n * sizeof *in), *expected = must_malloc((size_t)n * sizeof *expected);
        for (uint64_t i = 0; i < n; i++) in[i] = rng_below(&rng, 3) == 0 ? 0 : (int32_t)(uint32_t)rng_next(&rng);
        check_parameters(rung, in, n, expected);
        free(in);
        free(expected);
    }
}

/* ---- parameters that will not do --------------------------------------------------------------------------------------------- */

static void check_rejected(const struct ladder_rung *rung) {
    int32_t out[8] = {CANARY};
    const struct ladder_job wrong[] = {{.block_size = 8}, {.block_size = 48}, {.block_size = 2048}, {.num_bits = 33}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct ladder_job job = wrong[i];
        job.in = in8;
        job.out = out;
        job.n = 8;
        case_begin("%s, wrong parameters %zu", rung->name, i);
        CHECK(!ladder_run(rung, &job));
        CHECK(job.error[0] != '\0');
        CHECK(out[0] == CANARY);
    }
}

static void check_table(void) {
    case_begin("the table");
    for (size_t i = 0; ladder_at(i) != NULL; i++) {
        CHECK(ladder_at(i)->peer == NULL || ladder_at(i)->peer()[0] != '\0');
        for (size_t j = 0; j < i; j++) CHECK(strcmp(ladder_at(i)->name, ladder_at(j)->name) != 0);
    }
}

int main(void) {
    harness_begin(false);
    check_table();
    check_reference();
    const struct ladder_rung *rung;
    for (size_t i = 0; (rung = ladder_at(i)) != NULL; i++) {
        if (!wanted(rung)) continue;
        check_literal(rung);
        check_sizes(rung);
        check_rejected(rung);
    }
    return harness_end();
}
