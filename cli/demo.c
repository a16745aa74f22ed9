/* demo.c: `upsweep demo`: every rung of the ladder, on N elements and on N - 3, against the reference, timed and printed.
 *
 * A section for each kind of work. Each makes its input, computes the two references once, then walks the table of rungs. Outputs are
 * poisoned before each run, so that an element that a rung forgets to write is seen. Nothing here knows a single rung by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "ladder.h"

/* At sizes above this one, the CPU rungs, of which qsort takes ten seconds and more, run once instead of twice. */
#define SLOW_N (UINT64_C(1) << 24)

struct demo {
    uint64_t n, seed;
    uint32_t block_size;
    bool use[2];       /* by ladder_backend */
    uint64_t sizes[2]; /* n and n - 3 */
    int32_t *in;       /* [n] */
    int32_t *out;      /* [n] */
    int32_t *expected[2];
    uint64_t expected_count[2];
    uint64_t npassed, nfailed;
};

static const struct usage usage = {
    .command = "demo",
    .bit = IN_DEMO,
    .operands = "",
    .intro =
        "Runs the teaching ladder, from the plainest way to scan, compact, sort and convert text to the library's own, on N elements and\n"
        "on N - 3, compares every result with a serial reference, and says how long each took. Times are of the work alone: no\n"
        "allocation, no transfer. Each rung runs twice and the faster run counts, as the first loads code.",
    .no = "something failed",
    .examples = "  upsweep demo\n"
                "  upsweep demo --size 134217728 --backend all",
};

/* ---- options ----------------------------------------------------------------------------------------------------------------- */

static bool choose_rungs(struct demo *demo, const char *text) {
    const bool all = strcmp(text, "all") == 0, cuda = all || strcmp(text, "cuda") == 0;
    const bool cpu = all || strcmp(text, "cpu") == 0, automatic = strcmp(text, "auto") == 0;
    if (!cpu && !cuda && !automatic) return complain(NULL, "--backend: '%s' is none of auto, cpu, cuda, all", text);
    const char *missing = ladder_missing(LADDER_CUDA);
    if (cuda && missing != NULL) return complain(NULL, "--backend %s: %s", text, missing);
    demo->use[LADDER_CPU] = cpu || automatic;
    demo->use[LADDER_CUDA] = cuda || (automatic && missing == NULL);
    return true;
}

static bool take_options(struct demo *demo, const char *const option[OPTION_COUNT]) {
    if (option[OPT_SIZE] && !parse_count("size", option[OPT_SIZE], 1, UINT32_MAX, &demo->n)) return false;
    if (option[OPT_SEED] && !parse_count("seed", option[OPT_SEED], 0, UINT64_MAX, &demo->seed)) return false;
    if (option[OPT_BLOCK_SIZE] && !parse_block_size(option[OPT_BLOCK_SIZE], &demo->block_size)) return false;
    return choose_rungs(demo, option[OPT_RUNGS_OF] ? option[OPT_RUNGS_OF] : "auto");
}

/* ---- input ------------------------------------------------------------------------------------------------------------------- */

/* Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014. */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Fills n bytes with text of sequences of all lengths, one in 64 of which is then damaged; the last may be cut off. */
static void make_text(uint8_t *text, uint64_t n, uint64_t *state) {
    static const char *const samples[] = {"Upsweep ", "\xC3\xA9t\xC3\xA9 ", "\xE2\x82\xAC", "\xE6\xBC\xA2\xE5\xAD\x97", "\xF0\x9F\x98\x80"};
    for (uint64_t k = 0; k < n;) {
        const uint64_t random = next_random(state);
        for (const char *c = samples[random % 5]; *c && k < n; c++) text[k++] = (uint8_t)*c;
        if (random >> 32 & 63) continue;
        text[k - 1] = (uint8_t)(random >> 40);
    }
}

static void make_codes(int32_t *codes, uint64_t n, uint64_t *state) {
    static const uint32_t limits[] = {0x80, 0x800, 0x10000, 0x110000}; /* surrogates are among the third */
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t random = next_random(state);
        codes[i] = (int32_t)((random >> 2) % limits[random & 3]);
    }
}

/* scan: 0 to 49, and a 0 at the end, so that the last sum is that of all elements. compact: 0 to 3, so that 3 of 4 are kept.
 * sort: all 32 bits, negative numbers too. */
static void make_input(struct demo *demo, enum ladder_primitive primitive) {
    uint64_t state = demo->seed + (uint64_t)primitive;
    if (primitive == LADDER_UTF8_DECODE) make_text((uint8_t *)demo->in, demo->n, &state);
    if (primitive == LADDER_UTF8_ENCODE) make_codes(demo->in, demo->n, &state);
    if (primitive > LADDER_SORT) return;
    for (uint64_t i = 0; i < demo->n; i++) {
        const uint32_t random = (uint32_t)(next_random(&state) >> 32);
        demo->in[i] = primitive == LADDER_SORT ? (int32_t)random : (int32_t)(random % (primitive == LADDER_SCAN ? 50 : 4));
    }
    if (primitive == LADDER_SCAN) demo->in[demo->n - 1] = 0;
}

/* ---- output ------------------------------------------------------------------------------------------------------------------ */

/* An element as a number, or a byte of text. */
static int print_item(const int32_t *items, uint64_t i, bool is_text) {
    return is_text ? printf(" %02X", ((const uint8_t *)items)[i]) : printf(" %3d", items[i]);
}

/* The first and the last of n, in one line of a terminal. */
static void print_array(const int32_t *items, uint64_t n, bool is_text) {
    enum { WIDTH = 80, TAIL = 2 };
    int width = printf("    [");
    for (uint64_t i = 0; i < n; i++) {
        if (width > WIDTH && i + TAIL < n) {
            printf(" ...");
            i = n - TAIL;
            width = 0;
        }
        width += print_item(items, i, is_text);
    }
    printf(" ]\n");
}

static void print_banner(const char *name) {
    char stars[40] = {0};
    memset(stars, '*', strlen(name) + strlen("**  TESTS **"));
    printf("\n%s\n** %s TESTS **\n%s\n", stars, name, stars);
}

static void print_heading(const struct ladder_rung *rung, uint64_t n) {
    const bool power_of_two = n != 0 && (n & (n - 1)) == 0;
    printf("==== %s, %s ====\n", rung->name, power_of_two ? "power-of-two" : "non-power-of-two");
    if (rung->peer != NULL) printf("   peer: %s\n", rung->peer());
    fflush(stdout);
}

static void print_times(const struct ladder_rung *rung, const struct ladder_times *times) {
    printf("   elapsed time: %.4fms    (%s measured)\n", times->total_ms, rung->backend == LADDER_CUDA ? "CUDA" : "clock");
    if (rung->params & LADDER_PARTS)
        printf("      map %.4fms, scan %.4fms, scatter %.4fms\n", times->map_ms, times->scan_ms, times->scatter_ms);
}

static void print_devices(const struct demo *demo) {
    upsweep_device device = {.size = sizeof device};
    for (size_t i = 0; upsweep_device_at(i, &device) == UPSWEEP_OK; i++) printf("%s: %s, %s\n", device.spec, device.name, device.detail);
    const char *missing = ladder_missing(LADDER_CUDA);
    if (missing != NULL) printf("cuda: %s\n", missing);
    printf("%ju and %ju elements, seed %ju, block size %u\n", (uintmax_t)demo->sizes[0], (uintmax_t)demo->sizes[1], (uintmax_t)demo->seed,
           (unsigned)demo->block_size);
}

/* ---- runs -------------------------------------------------------------------------------------------------------------------- */

static bool compare(const int32_t *expected, uint64_t expected_count, const int32_t *got, uint64_t count) {
    if (count != expected_count) {
        printf("    FAILED: expected %ju elements, got %ju\n", (uintmax_t)expected_count, (uintmax_t)count);
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (got[i] == expected[i]) continue;
        printf("    FAILED at index %ju: expected %d, got %d\n", (uintmax_t)i, expected[i], got[i]);
        return false;
    }
    printf("    passed\n");
    return true;
}

/* Runs one rung on one of the two sizes and prints what came of it: true if it passed. */
static bool run_rung(struct demo *demo, const struct ladder_rung *rung, int which) {
    const uint64_t n = demo->sizes[which];
    const uint32_t repeats = rung->backend == LADDER_CPU && n > SLOW_N ? 1 : 2;
    struct ladder_job job = {.in = demo->in, .out = demo->out, .n = n, .block_size = demo->block_size, .repeats = repeats};

    print_heading(rung, n);
    memset(demo->out, 0xAB, (size_t)demo->n * sizeof *demo->out);
    if (!ladder_run(rung, &job)) {
        printf("    FAILED: %s\n", job.error);
        return false;
    }
    print_times(rung, &job.times);
    const bool is_text = rung->primitive == LADDER_UTF8_ENCODE;
    print_array(job.out, is_text ? job.count * sizeof *job.out : job.count, is_text);
    return compare(demo->expected[which], demo->expected_count[which], job.out, job.count);
}

static bool make_references(struct demo *demo, enum ladder_primitive primitive) {
    for (int which = 0; which < 2; which++) {
        const struct ladder_job job = {.in = demo->in, .n = demo->sizes[which]};
        demo->expected_count[which] = ladder_reference(primitive, &job, demo->expected[which]);
        if (demo->expected_count[which] == UINT64_MAX) return false;
    }
    return true;
}

static bool run_section(struct demo *demo, enum ladder_primitive primitive) {
    static const char *const names[] = {
        [LADDER_SCAN] = "SCAN", [LADDER_COMPACT] = "STREAM COMPACTION", [LADDER_SORT] = "SORT", [LADDER_UTF8_DECODE] = "UTF-8"};
    if (primitive != LADDER_UTF8_ENCODE) print_banner(names[primitive]); /* one section for both ways */
    make_input(demo, primitive);
    print_array(demo->in, demo->n, primitive == LADDER_UTF8_DECODE);
    if (!make_references(demo, primitive)) return false;
    const struct ladder_rung *rung;
    for (size_t i = 0; (rung = ladder_at(i)) != NULL; i++) {
        if (rung->primitive != primitive || !demo->use[rung->backend]) continue;
        for (int which = 0; which < 2; which++) {
            const bool passed = run_rung(demo, rung, which);
            demo->npassed += passed;
            demo->nfailed += !passed;
        }
    }
    return true;
}

/* False: out of memory. */
static bool run_sections(struct demo *demo) {
    const size_t nbytes = (size_t)demo->n * sizeof(int32_t);
    demo->in = malloc(nbytes);
    demo->out = malloc(nbytes);
    demo->expected[0] = malloc(nbytes);
    demo->expected[1] = malloc(nbytes);
    bool ok = demo->in != NULL && demo->out != NULL && demo->expected[0] != NULL && demo->expected[1] != NULL;
    for (int primitive = LADDER_SCAN; ok && primitive <= LADDER_UTF8_ENCODE; primitive++)
        ok = run_section(demo, (enum ladder_primitive)primitive);
    free(demo->in);
    free(demo->out);
    free(demo->expected[0]);
    free(demo->expected[1]);
    return ok;
}

int cmd_demo(int argc, char **argv) {
    struct demo demo = {.n = 65536, .seed = 1, .block_size = 256};
    struct arguments args;
    int status;
    if (!arguments_parse(&args, &usage, argc, argv, &status)) return status;
    if (!take_options(&demo, args.option)) return EXIT_ERROR;
    demo.sizes[0] = demo.n;
    demo.sizes[1] = demo.n > 3 ? demo.n - 3 : 0;

    print_devices(&demo);
    if (!run_sections(&demo)) {
        complain("demo", "out of memory for %ju elements", (uintmax_t)demo.n);
        return close_stdout(EXIT_ERROR);
    }
    printf("\n%ju passed, %ju failed\n", (uintmax_t)demo.npassed, (uintmax_t)demo.nfailed);
    return close_stdout(demo.nfailed == 0 ? EXIT_GOOD : EXIT_NO);
}
