/* test_utf8.c: every conversion, mode and setup against the state machine of the WHATWG standard (utf8_oracle.c): literals by hand, random
 * and mutated text of many sizes at guard pages, every capacity, every way to cut a text into two chunks, all code points there and back.
 */
#include <inttypes.h>
#include <stdio.h>

#include "harness.h"
#include "utf8_oracle.h"
#include "utf8_texts.h"

static const upsweep_on_error modes[] = {UPSWEEP_REPLACE, UPSWEEP_REMOVE, UPSWEEP_STRICT};

/* All pairs of encodings that there are. */
static const struct conversion conversions[] = {
    {.from = UPSWEEP_UTF8, .to = UPSWEEP_UTF32},   {.from = UPSWEEP_UTF8, .to = UPSWEEP_UTF16LE},
    {.from = UPSWEEP_UTF8, .to = UPSWEEP_UTF16BE}, {.from = UPSWEEP_UTF8, .to = UPSWEEP_UTF8},
    {.from = UPSWEEP_UTF32, .to = UPSWEEP_UTF8},   {.from = UPSWEEP_UTF16LE, .to = UPSWEEP_UTF8},
    {.from = UPSWEEP_UTF16BE, .to = UPSWEEP_UTF8},
};
enum { CONVERSIONS = sizeof conversions / sizeof *conversions, MODES = sizeof modes / sizeof *modes };

static const char *name_of(struct conversion c) {
    static char name[80];
    snprintf(name, sizeof name, "%s to %s, %s%s%s", upsweep_encoding_name(c.from), upsweep_encoding_name(c.to),
             upsweep_on_error_name(c.options.on_error), c.options.more ? ", more" : "", c.options.skip_bom ? ", skip bom" : "");
    return name;
}

/* ---- one conversion ---------------------------------------------------------------------------------------------------------- */

static void same_report(const upsweep_utf8_report *got, const upsweep_utf8_report *want) {
    CHECK(got->needed == want->needed);
    CHECK(got->written == want->written);
    CHECK(got->consumed == want->consumed);
    CHECK(got->bad_sequences == want->bad_sequences);
    CHECK(got->bad_units == want->bad_units);
    CHECK(got->error_at == want->error_at);
    CHECK(got->error == want->error);
    CHECK(got->status == want->status);
}

/* Where the arrays lie: the input and the output touch a page that must not be touched. */
static void check_call(struct setup *s, const void *in, uint64_t n, struct conversion c, uint64_t capacity, bool measure, enum side side,
                       const struct expected *e) {
    const size_t in_nbytes = upsweep_encoding_nbytes(c.from), out_nbytes = upsweep_encoding_nbytes(c.to);
    const bool mapped = c.from == UPSWEEP_UTF8 && c.to == UPSWEEP_UTF32 && !measure && n % 2 == 0;
    const struct place place = {side, 0};
    void *d_in = put(s, SLOT_IN, place, in, (size_t)n * in_nbytes);
    void *d_out = put(s, SLOT_OUT, place, NULL, (size_t)capacity * out_nbytes);
    upsweep_utf8_report report, *d_report = put(s, SLOT_COUNT, place, NULL, sizeof report);
    c.options.encoding = c.from == UPSWEEP_UTF8 ? c.to : c.from;
    c.options.map = mapped ? put(s, SLOT_VALUES_OUT, place, NULL, (size_t)capacity * 8) : NULL;

    CHECK_OK((c.from == UPSWEEP_UTF8 ? upsweep_utf8_decode : upsweep_utf8_encode)(s->ctx, measure ? NULL : d_out, measure ? 0 : capacity,
                                                                                  d_report, d_in, n, &c.options));
    upsweep_utf8_report want = e->report;
    if (measure) want.written = 0;
    if (!measure && want.needed > capacity) {
        want.written = want.consumed = 0;
        want.status = UPSWEEP_ERR_CAPACITY;
    }
    CHECK_STATUS(upsweep_utf8_read_report(s->ctx, &report, d_report), (upsweep_status)want.status);
    same_report(&report, &want);
    CHECK(untouched(s, SLOT_IN));
    CHECK(take(s, SLOT_COUNT, NULL));
    unsigned char *out = must_malloc((size_t)capacity * out_nbytes);
    uint64_t *map = must_malloc((size_t)capacity * 8);
    CHECK(measure ? untouched(s, SLOT_OUT) : take(s, SLOT_OUT, out));
    if (mapped) CHECK(take(s, SLOT_VALUES_OUT, map));
    if (!measure && report.written == want.written) CHECK_SAME(out, e->out, want.written, out_nbytes);
    if (mapped && report.written == want.written) CHECK_SAME(map, e->map, want.written, 8);
    free(out);
    free(map);
}

enum { LARGE_N = 1 << 20 };

/* Counting and validation are conversions to UTF-32 without output, replacing and strict. */
static void check_measure(struct setup *s, const void *in, uint64_t n, struct conversion c, enum side side, const struct expected *e) {
    if (c.from != UPSWEEP_UTF8 || c.to != UPSWEEP_UTF32 || c.options.on_error == UPSWEEP_REMOVE || c.options.more || c.options.skip_bom)
        return;
    const struct place place = {side, 0};
    void *d_in = put(s, SLOT_IN, place, in, (size_t)n);
    upsweep_utf8_report report, want = e->report, *d_report = put(s, SLOT_COUNT, place, NULL, sizeof report);
    CHECK_OK((c.options.on_error == UPSWEEP_STRICT ? upsweep_utf8_validate : upsweep_utf8_count)(s->ctx, d_report, d_in, n));
    CHECK_STATUS(upsweep_utf8_read_report(s->ctx, &report, d_report), (upsweep_status)want.status);
    want.written = 0;
    same_report(&report, &want);
    CHECK(untouched(s, SLOT_IN));
    CHECK(take(s, SLOT_COUNT, NULL));
}

/* The outputs to try: exact, roomy, one short, none. */
static void check_conversion(struct setup *s, const void *in, uint64_t n, struct conversion c, enum side side, const struct expected *e) {
    check_call(s, in, n, c, e->report.needed, false, side, e);
    if (n < LARGE_N) check_call(s, in, n, c, e->report.needed + 100, false, side, e);
    if (e->report.needed > 0 && n < LARGE_N) check_call(s, in, n, c, e->report.needed - 1, false, side, e);
    check_call(s, in, n, c, 7, true, side, e);
    check_measure(s, in, n, c, side, e);
}

/* ---- texts ------------------------------------------------------------------------------------------------------------------- */

/* Every call on a GPU waits for a dozen copies: of the small sizes it sees those where its windows end, and one in five of the others. */
static bool is_wanted(const struct setup *s, uint64_t n) { return s->host || n < 70 || n % 5 == 0 || n > 1000; }

static void check_random(uint64_t n, unsigned kind, uint64_t damage, struct rng *rng) {
    unsigned char *in = must_malloc((size_t)n * 4);
    for (int i = 0; i < CONVERSIONS * MODES; i++) {
        struct conversion c = conversions[i / MODES];
        c.options.on_error = modes[i % MODES];
        c.options.more = (uint32_t)rng_below(rng, 2);
        c.options.skip_bom = (uint32_t)rng_below(rng, 2);
        c.options.map_base = rng_next(rng);
        make_text(rng, in, n, c.from, kind, damage);
        if (rng_below(rng, 4) == 0 && n >= 4) oracle_put(in, 0xFEFF, c.from);
        case_begin("%s, n %" PRIu64 ", kind %u, damage %" PRIu64, name_of(c), n, kind, damage);
        const struct expected e = oracle_utf8(in, n, c);
        const enum side side = rng_below(rng, 2) ? AT_END : AT_START;
        FOR_EACH_SETUP(s) {
            if (is_wanted(s, n)) check_conversion(s, in, n, c, side, &e);
        }
        oracle_free(&e);
    }
    free(in);
}

static void check_sizes(void) {
    struct rng rng = {11};
    const uint64_t last = quick() ? 40 : 330;
    for (uint64_t n = 0; n <= last; n++) check_random(n, (unsigned)(n % 7), n % 3 * 20, &rng);
    const uint64_t edges[] = {4093,  4096,  4099,  4160,  6144,  6145,  7167,  7168,  8191,   8195,
                              12289, 14335, 14336, 28671, 32767, 32770, 70001, 98305, 114687, 114688};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i += quick() ? 5 : 1)
        for (unsigned kind = 0; kind < 7; kind += quick() ? 2 : 1) check_random(edges[i], kind, kind % 2 * 1000, &rng);
}

/* Large enough for two threads to share; quick: for eight. */
static void check_large(void) {
    struct rng rng = {12};
    check_random((quick() ? LARGE_N : 4 * LARGE_N) + 12345, 4, 100000, &rng);
    if (!quick()) check_random(LARGE_N + 54321, 6, 0, &rng);
}

/* One bad byte, good text, and from 200 to 263 bytes on a byte that may want more than comes, then a lead byte and one to three
 * continuations, of which it takes some or none: kernels that take good text in long strides, and go slowly where something is bad, must
 * not begin to stride in the middle of it, or believe what a bad byte before it wants. */
static void check_relapses(void) {
    static const uint8_t before[] = {'a', 0xC3, 0xE2, 0xF1}, seconds[] = {0x80, 0x8F, 0x9F, 0xBF};
    static const uint8_t leads[] = {0x80, 0xC1, 0xC2, 0xE0, 0xE1, 0xED, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF};
    static const struct conversion units[] = {{.from = UPSWEEP_UTF8, .to = UPSWEEP_UTF32}, {.from = UPSWEEP_UTF8, .to = UPSWEEP_UTF16LE}};
    enum { N = 400, PLACES = 64, LENGTHS = 3, CASES = sizeof leads * sizeof seconds * sizeof before * LENGTHS * PLACES };
    for (size_t i = 0; i < CASES; i += quick() ? 7 : 1) {
        unsigned char in[N];
        const size_t at = 200 + i % PLACES, k = i / PLACES, length = 3 + k % LENGTHS, kind = k / LENGTHS;
        const uint8_t sequence[] = {before[kind % sizeof before], leads[kind / sizeof before / sizeof seconds],
                                    seconds[kind / sizeof before % sizeof seconds], 0xAA, 0x81};
        memset(in, 'a', N);
        in[0] = 0xFF;
        memcpy(in + at, sequence, length);
        const struct conversion c = units[(i + k) % 2];
        case_begin("%s, %zu bytes of %02X %02X %02X at %zu", name_of(c), length, sequence[0], sequence[1], sequence[2], at);
        const struct expected e = oracle_utf8(in, N, c);
        FOR_EACH_SETUP(s) {
            if (s->host) check_call(s, in, N, c, 0, true, AT_END, &e);
        }
        oracle_free(&e);
    }
}

/* One character again and again, of one to four bytes or each in turn, and one byte of it overwritten, or none: wherever kernels
 * change from good text to bad, between two groups of windows too, and by all units of output, with room for as many as there are bytes. */
static void check_one_bad(void) {
    static const char *const repeated[] = {"a", "\xC3\xA9", "\xE6\xBC\xA2", "\xF0\x9F\x98\x80", "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"};
    static const uint8_t damage[] = {'a', 0x80, 0xC3, 0xE2, 0xF1, 0xFF};
    static const uint64_t sizes[] = {37, 64, 65, 67, 126, 129, 200, 700};
    enum { N = 700, SIZES = sizeof sizes / sizeof *sizes, KINDS = 5 * sizeof damage };
    const bool few = quick();
    for (size_t i = 0; i < (size_t)N * SIZES * KINDS; i++) {
        unsigned char in[N];
        const uint64_t at = i / KINDS % N, n = sizes[i / KINDS / N];
        if (few && i % 31 != 0 && (n < N || at % 64 < 61))
            continue; /* but what may be cut off by the end of a window, or of a group, all */
        const char *const text = repeated[i % 5];
        for (size_t k = 0; k < n; k++) in[k] = (unsigned char)text[k % strlen(text)];
        if (at > n) continue;
        if (at < n) in[at] = damage[i / 5 % sizeof damage];
        struct conversion c = conversions[i / 7 % 3];
        c.options.on_error = modes[i % MODES];
        case_begin("%s, %" PRIu64 " bytes, %02X at %" PRIu64, name_of(c), n, in[at < n ? at : 0], at);
        const struct expected e = oracle_utf8(in, n, c);
        FOR_EACH_SETUP(s) {
            const enum side side = i / KINDS % 2 == 0 ? AT_END : AT_START;
            if (!s->host) continue;
            check_call(s, in, n, c, n, false, side, &e);
            check_measure(s, in, n, c, side, &e);
        }
        oracle_free(&e);
    }
}

/* ---- literals ---------------------------------------------------------------------------------------------------------------- */

struct literal {
    const char *in;
    uint64_t n;
    uint32_t out[8];
    uint64_t nout, bad_sequences, bad_units, error_at;
    upsweep_text_error error;
};

/* The replacement examples of the Unicode Standard (tables 3-8 to 3-11), and an error of each kind. */
static const struct literal literals[] = {
    {"A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 10, {0x41, 0xE9, 0x20AC, 0x1F600}, 4, 0, 0, UINT64_MAX, UPSWEEP_TEXT_GOOD},
    {"\xC0\xAF\xE0\x80\xBF\xF0", 6, {0xFFFD, 0xFFFD, 0xFFFD, 0xFFFD, 0xFFFD, 0xFFFD}, 6, 6, 6, 0, UPSWEEP_TEXT_OVERLONG},
    {"\xED\xA0\x80 ", 4, {0xFFFD, 0xFFFD, 0xFFFD, 0x20}, 4, 3, 3, 0, UPSWEEP_TEXT_SURROGATE},
    {"A\xF4\x91\x92", 4, {0x41, 0xFFFD, 0xFFFD, 0xFFFD}, 4, 3, 3, 1, UPSWEEP_TEXT_TOO_LARGE},
    {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF", 8, {0xFFFD, 0xFFFD, 0xFFFD, 0xFFFD}, 4, 4, 8, 0, UPSWEEP_TEXT_TOO_SHORT},
    {"AB\xBF", 3, {0x41, 0x42, 0xFFFD}, 3, 1, 1, 2, UPSWEEP_TEXT_STRAY},
    {"\xEF\xBF\xBE", 3, {0xFFFE}, 1, 0, 0, UINT64_MAX, UPSWEEP_TEXT_GOOD},
};

static void check_literals(void) {
    for (size_t i = 0; i < sizeof literals / sizeof *literals; i++) {
        const struct literal *l = &literals[i];
        const struct conversion c = {.from = UPSWEEP_UTF8, .to = UPSWEEP_UTF32};
        const upsweep_utf8_report want = {l->nout, l->nout, l->n, l->bad_sequences, l->bad_units, l->error_at, (uint32_t)l->error, 0};
        case_begin("literal %zu", i);
        const struct expected e = oracle_utf8(l->in, l->n, c); /* the oracle itself first */
        same_report(&e.report, &want);
        CHECK_SAME((uint32_t *)(void *)e.out, l->out, l->nout, 4);
        FOR_EACH_SETUP(s) check_call(s, l->in, l->n, c, l->nout, false, AT_END, &e);
        oracle_free(&e);
    }
}

static void check_validate_and_count(void) {
    static const char text[] = "na\xC3\xAFve \xF0\x9F\x98\x80\x80.";
    FOR_EACH_SETUP(s) {
        case_begin("validate and count");
        upsweep_utf8_report r, *d_report = put(s, SLOT_COUNT, (struct place){AT_END, 0}, NULL, sizeof r);
        const void *in = put(s, SLOT_IN, (struct place){AT_END, 0}, text, sizeof text - 1);
        CHECK_OK(upsweep_utf8_validate(s->ctx, d_report, in, sizeof text - 1));
        CHECK_STATUS(upsweep_utf8_read_report(s->ctx, &r, d_report), UPSWEEP_ERR_ENCODING);
        CHECK(strcmp(upsweep_error(s->ctx), "ill-formed text at 11: stray continuation byte") == 0);
        CHECK(r.error_at == 11 && r.consumed == 11 && r.needed == 7 && r.written == 0);
        CHECK_OK(upsweep_utf8_validate(s->ctx, d_report, in, 11));
        CHECK_OK(upsweep_utf8_read_report(s->ctx, &r, d_report));
        CHECK_OK(upsweep_utf8_count(s->ctx, d_report, in, sizeof text - 1));
        CHECK_OK(upsweep_utf8_read_report(s->ctx, &r, d_report));
        CHECK(r.needed == 9 && r.bad_sequences == 1 && r.bad_units == 1);
    }
}

/* ---- neighbours --------------------------------------------------------------------------------------------------------------- */

/* What lies before and behind the text is none of its business, however the text lies: a slice of surrogate pairs begins and ends within
 * some. */
static void check_neighbours(void) {
    enum { UNITS = 64 };
    static const struct conversion c = {.from = UPSWEEP_UTF16LE, .to = UPSWEEP_UTF8, .options.encoding = UPSWEEP_UTF16LE};
    uint16_t text[UNITS];
    for (int i = 0; i < UNITS; i++) text[i] = i % 2 == 0 ? 0xD83D : 0xDE00;
    for (uint64_t from = 0; from < 16; from++) {
        for (uint64_t n = 1; n <= UNITS - from; n += n < 4 ? 1 : 13) {
            const struct expected e = oracle_utf8(text + from, n, c);
            FOR_EACH_SETUP(s) {
                case_begin("units %d to %d of surrogate pairs", (int)from, (int)(from + n));
                const uint16_t *in = put(s, SLOT_IN, (struct place){AT_END, 0}, text, sizeof text);
                void *out = put(s, SLOT_OUT, (struct place){AT_END, 0}, NULL, 3 * UNITS);
                upsweep_utf8_report r, *report = put(s, SLOT_COUNT, (struct place){AT_END, 0}, NULL, sizeof r);
                unsigned char got[3 * UNITS];
                CHECK_OK(upsweep_utf8_encode(s->ctx, out, 3 * UNITS, report, in + from, n, &c.options));
                CHECK_OK(upsweep_utf8_read_report(s->ctx, &r, report));
                same_report(&r, &e.report);
                CHECK(take(s, SLOT_OUT, got));
                CHECK_SAME(got, e.out, e.report.needed, 1);
                CHECK_OK(upsweep_utf8_encode(s->ctx, NULL, 0, report, in + from, n, &c.options));
                CHECK_OK(upsweep_utf8_read_report(s->ctx, &r, report));
                CHECK(r.needed == e.report.needed && r.bad_units == e.report.bad_units);
            }
            oracle_free(&e);
        }
    }
}

/* ---- chunks ------------------------------------------------------------------------------------------------------------------ */

/* Converts in two calls, cut at `at`; the second begins with what the first did not consume. */
static void check_cut(struct setup *s, const unsigned char *in, uint64_t n, uint64_t at, struct conversion c,
                      const struct expected *whole) {
    const size_t in_nbytes = upsweep_encoding_nbytes(c.from), out_nbytes = upsweep_encoding_nbytes(c.to);
    const uint64_t starts[2] = {0, at}, ends[2] = {at, n};
    unsigned char out[1024];
    uint64_t written = 0, bad = 0, begin = 0;
    for (int chunk = 0; chunk < 2; chunk++) {
        upsweep_utf8_report r, *d_report = put(s, SLOT_COUNT, (struct place){AT_END, 0}, NULL, sizeof r);
        const uint64_t length = ends[chunk] - begin;
        const void *d_in = put(s, SLOT_IN, (struct place){AT_END, 0}, in + begin * in_nbytes, (size_t)length * in_nbytes);
        void *d_out = put(s, SLOT_OUT, (struct place){AT_END, 0}, NULL, 4 * (size_t)length * out_nbytes);
        c.options.encoding = c.from == UPSWEEP_UTF8 ? c.to : c.from;
        c.options.more = chunk == 0;
        CHECK_OK((c.from == UPSWEEP_UTF8 ? upsweep_utf8_decode : upsweep_utf8_encode)(s->ctx, d_out, 4 * length, d_report, d_in, length,
                                                                                      &c.options));
        if (!CHECK_OK(upsweep_utf8_read_report(s->ctx, &r, d_report))) return;
        CHECK(starts[1] - (chunk == 0 ? r.consumed : at) <= 3);
        CHECK_OK(upsweep_download(s->ctx, out + written * out_nbytes, d_out, (size_t)r.written * out_nbytes));
        written += r.written;
        bad += r.bad_sequences;
        begin += r.consumed;
    }
    CHECK(begin == n && bad == whole->report.bad_sequences);
    if (CHECK(written == whole->report.needed)) CHECK_SAME(out, whole->out, written, out_nbytes);
}

static void check_chunks(void) {
    enum { UNITS = 60 };
    struct rng rng = {13};
    unsigned char in[4 * UNITS];
    for (int round = 0; round < (quick() ? 2 : 30); round++)
        for (int i = 0; i < CONVERSIONS * 2; i++) {
            struct conversion c = conversions[i / 2];
            c.options.on_error = modes[i % 2];
            make_text(&rng, in, UNITS, c.from, round % 2 ? 4 : 3, 6);
            const struct expected whole = oracle_utf8(in, UNITS, c);
            case_begin("two chunks of %s, round %d", name_of(c), round);
            FOR_EACH_SETUP(s) {
                for (uint64_t at = 0; at <= UNITS && (s->host || round < 2); at++) check_cut(s, in, UNITS, at, c, &whole);
            }
            oracle_free(&whole);
        }
}

/* ---- all code points --------------------------------------------------------------------------------------------------------- */

/* Every scalar value, encoded and decoded again, through each encoding; and surrogates and too large values between them. */
static void check_all_code_points(void) {
    enum { COUNT = 0x110400 };
    uint32_t *codes = must_malloc(COUNT * sizeof *codes);
    for (uint32_t i = 0; i < COUNT; i++) codes[i] = i;
    case_begin("all code points");
    for (int i = 0; i < (quick() ? 1 : MODES); i++) {
        const struct conversion encode = {.from = UPSWEEP_UTF32, .to = UPSWEEP_UTF8, .options.on_error = modes[i]};
        const struct expected e = oracle_utf8(codes, COUNT, encode);
        FOR_EACH_SETUP(s) check_call(s, codes, COUNT, encode, e.report.needed, false, AT_END, &e);
        for (int to = UPSWEEP_UTF32; to <= UPSWEEP_UTF8; to++) {
            const struct conversion decode = {.from = UPSWEEP_UTF8, .to = (upsweep_encoding)to};
            const struct expected d = oracle_utf8(e.out, e.report.needed, decode);
            CHECK(d.report.bad_sequences == 0);
            FOR_EACH_SETUP(s) check_call(s, e.out, e.report.needed, decode, d.report.needed, false, AT_START, &d);
            if (to == UPSWEEP_UTF16LE || to == UPSWEEP_UTF16BE) {
                const struct conversion back = {.from = (upsweep_encoding)to, .to = UPSWEEP_UTF8};
                FOR_EACH_SETUP(s) {
                    struct expected b = {.out = e.out,
                                         .report = {e.report.needed, e.report.needed, d.report.needed, 0, 0, UINT64_MAX, 0, 0}};
                    check_call(s, d.out, d.report.needed, back, e.report.needed, false, AT_END, &b);
                }
            }
            oracle_free(&d);
        }
        oracle_free(&e);
    }
    free(codes);
}

int main(void) {
    harness_begin(true);
    check_literals();
    check_validate_and_count();
    check_neighbours();
    check_sizes();
    check_relapses();
    check_one_bad();
    check_chunks();
    check_large();
    check_all_code_points();
    return harness_end();
}
