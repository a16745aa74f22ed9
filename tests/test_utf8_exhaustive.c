/* test_utf8_exhaustive.c: all sequences of up to five bytes over one byte of each class, in all modes, wherever they lie in a vector.
 *
 * A byte's fate depends on three bytes before it and one after, so five bytes show every case. The classes differ in what may stand beside
 * them (Unicode Standard, table 3-7). Sequences stand side by side in one text, ASCII between them: 7 bytes each, which is prime to the
 * 60 and 64 bytes that a vector kernel advances by, so each meets another place; and the text is shifted by 0 to 63 bytes, so that each
 * meets every place. (A GPU's windows advance by 28 or 24 bytes: 7 shifts are enough, and of the longest sequences each batch has one.)
 * Compared with the state machine of the WHATWG standard. Those of up to three bytes are also texts of their own. */
#include <inttypes.h>
#include <stdio.h>

#include "harness.h"
#include "utf8_oracle.h"

static const uint8_t classes[] = {0x01, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0,
                                  0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF8, 0xFF};
enum { CLASSES = sizeof classes, STRIDE = 7, SHIFTS = 64 };

static const upsweep_encoding encodings[] = {UPSWEEP_UTF32, UPSWEEP_UTF16LE, UPSWEEP_UTF16BE, UPSWEEP_UTF8};

/* The length bytes of sequence `index`, and ASCII up to STRIDE. */
static void write_sequence(uint8_t out[STRIDE], uint64_t index, int length) {
    memset(out, '_', STRIDE);
    for (int i = 0; i < length; i++, index /= CLASSES) out[i] = classes[index % CLASSES];
}

static uint64_t power(uint64_t base, int exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }

/* ---- machines ---------------------------------------------------------------------------------------------------------------- */

enum { BATCH = CLASSES * CLASSES * CLASSES * CLASSES, TEXT_NBYTES = SHIFTS + BATCH * STRIDE, ALONE_NBYTES = SHIFTS + STRIDE };

/* A context for each instruction set, with one thread, and for each pass on CUDA. */
struct machine {
    const char *backend, *variable, *path;
    upsweep_context *ctx;
    bool host;
    unsigned char *in, *out; /* [TEXT_NBYTES], [4 * TEXT_NBYTES], in context memory */
    upsweep_utf8_report *report;
};
static struct machine machines[] = {{.backend = "cpu:1", .variable = "UPSWEEP_CPU", .path = "portable"},
                                    {.backend = "cpu:1", .variable = "UPSWEEP_CPU", .path = "avx2"},
                                    {.backend = "cpu:1", .variable = "UPSWEEP_CPU", .path = "avx512"},
                                    {.backend = "cuda", .variable = "UPSWEEP_CUDA", .path = "lookback"},
                                    {.backend = "cuda", .variable = "UPSWEEP_CUDA", .path = "ring"}};
enum { MACHINES = sizeof machines / sizeof *machines };

static void *alloc(const struct machine *m, size_t nbytes) {
    void *p = NULL;
    CHECK_OK(upsweep_alloc(m->ctx, &p, nbytes));
    return p;
}

static void open_machine(struct machine *m) {
    upsweep_device device = {.size = sizeof device};
    m->host = m->backend[1] == 'p';
    if (!backend_wanted(m->host ? "cpu" : "cuda")) return;
    setenv(m->variable, m->path, 1);
    CHECK_OK(upsweep_open(&m->ctx, m->backend));
    unsetenv(m->variable);
    CHECK_OK(upsweep_context_device(m->ctx, &device));
    if (m->host && strcmp(device.detail, m->path) != 0) {
        skip(m->path);
        upsweep_close(m->ctx);
        m->ctx = NULL;
        return;
    }
    m->in = alloc(m, TEXT_NBYTES);
    m->out = alloc(m, 4 * (size_t)TEXT_NBYTES);
    m->report = alloc(m, sizeof *m->report);
}

static void close_machine(struct machine *m) {
    if (!m->ctx) return;
    upsweep_free(m->ctx, m->in);
    upsweep_free(m->ctx, m->out);
    upsweep_free(m->ctx, m->report);
    upsweep_close(m->ctx);
}

/* Decodes in [first .. first + n) of context memory; out NULL: only the report. */
static void decode(const struct machine *m, void *out, uint64_t capacity, size_t first, uint64_t n, const upsweep_utf8_options *options,
                   upsweep_utf8_report *r) {
    CHECK_OK(upsweep_utf8_decode(m->ctx, out, capacity, m->report, m->in + first, n, options));
    CHECK_OK(upsweep_download(m->ctx, r, m->report, sizeof *r));
}

/* The output holds nbytes as in want, from `first` on. */
static bool out_is(const struct machine *m, size_t first, const void *want, size_t nbytes) {
    static unsigned char got[4 * (size_t)TEXT_NBYTES];
    if (m->host) return memcmp(m->out + first, want, nbytes) == 0;
    return nbytes == 0 || (CHECK_OK(upsweep_download(m->ctx, got, m->out + first, nbytes)) && memcmp(got, want, nbytes) == 0);
}

/* ---- texts ------------------------------------------------------------------------------------------------------------------- */

/* One text in one encoding and mode, with `shift` bytes of ASCII before it. */
static void check_shifted(const struct machine *m, uint64_t n, struct conversion c, const struct expected *e, uint64_t shift) {
    const size_t unit_nbytes = upsweep_encoding_nbytes(c.to), start = SHIFTS - (size_t)shift;
    upsweep_utf8_report r;
    decode(m, m->out, e->report.needed + SHIFTS, start, n + shift, &c.options, &r);
    const bool good = r.written == e->report.needed + shift && r.bad_sequences == e->report.bad_sequences &&
                      r.bad_units == e->report.bad_units && r.error == e->report.error &&
                      out_is(m, (size_t)shift * unit_nbytes, e->out, (size_t)e->report.needed * unit_nbytes);
    if (!good) case_begin("%s, shift %" PRIu64 ", encoding %d, mode %d", m->path, shift, (int)c.to, (int)c.options.on_error);
    CHECK(good);
    decode(m, NULL, 0, start, n + shift, &c.options, &r);
    CHECK(r.needed == e->report.needed + shift && r.bad_units == e->report.bad_units);
}

/* The same by each of the shifts; `in` has SHIFTS bytes of room before it, of ASCII. `turn`: the one shift of a GPU; -1: all of them. */
static void check_text(const uint8_t *in, uint64_t n, struct conversion c, uint64_t shift_step, int turn) {
    const struct expected e = oracle_utf8(in, n, c);
    c.options.encoding = c.to;
    for (struct machine *m = machines; m < machines + MACHINES; m++) {
        if (!m->ctx) continue;
        const bool is_portable = m == machines; /* its kernels know no places */
        const uint64_t first = m->host || turn < 0 ? 0 : (uint64_t)turn % STRIDE;
        const uint64_t last = m->host ? SHIFTS : turn < 0 ? STRIDE : first + 1, step = is_portable ? SHIFTS : m->host ? shift_step : 1;
        CHECK_OK(upsweep_upload(m->ctx, m->in, in - SHIFTS, SHIFTS + (size_t)n));
        for (uint64_t shift = first; shift < last; shift += step) check_shifted(m, n, c, &e, shift);
    }
    oracle_free(&e);
}

/* Sequences [first, first + count) of a length, side by side. UTF-32 at all places; the other encodings at some. */
static void check_side_by_side(int length, uint64_t first, uint64_t count, uint64_t shift_step, int turn) {
    uint8_t *room = must_malloc(SHIFTS + (size_t)count * STRIDE);
    memset(room, '_', SHIFTS);
    for (uint64_t i = 0; i < count; i++) write_sequence(room + SHIFTS + i * STRIDE, first + i, length);
    for (size_t k = 0; k < sizeof encodings / sizeof *encodings; k++)
        for (int mode = UPSWEEP_REPLACE; mode <= UPSWEEP_REMOVE; mode++) {
            const struct conversion c = {.from = UPSWEEP_UTF8, .to = encodings[k], .options.on_error = (upsweep_on_error)mode};
            case_begin("sequences of %d from %" PRIu64 ", to %s", length, first, upsweep_encoding_name(c.to));
            check_text(room + SHIFTS, count * STRIDE, c, k == 0 ? shift_step : 20, turn);
        }
    free(room);
}

/* Alone: each is a text, which it ends; strict too, and as the first of two chunks. `before` bytes of ASCII come first. */
static void check_alone(const struct machine *m, int length, uint64_t index, int before) {
    uint8_t in[ALONE_NBYTES];
    memset(in, '_', sizeof in);
    write_sequence(in + before, index, length);
    CHECK_OK(upsweep_upload(m->ctx, m->in, in, sizeof in));
    for (int mode = UPSWEEP_REPLACE; mode <= UPSWEEP_STRICT; mode++)
        for (uint32_t more = 0; more < 2; more++) {
            const upsweep_utf8_options options = {.on_error = (upsweep_on_error)mode, .more = more};
            const struct conversion c = {.from = UPSWEEP_UTF8, .to = UPSWEEP_UTF32, .options = options};
            const struct expected e = oracle_utf8(in, (uint64_t)(before + length), c);
            upsweep_utf8_report r;
            decode(m, m->out, sizeof in, 0, (uint64_t)(before + length), &options, &r);
            CHECK_SAME(&r, &e.report, 1, sizeof r);
            CHECK(out_is(m, 0, e.out, 4 * (size_t)e.report.needed));
            oracle_free(&e);
        }
}

static void check_all_alone(int length) {
    for (struct machine *m = machines; m < machines + MACHINES; m++) {
        const uint64_t step = length < 3 ? 1 : !m->host ? 17 : quick() ? 7 : 1;
        for (uint64_t i = 0; m->ctx && i < power(CLASSES, length); i += step) {
            case_begin("%s: sequence %" PRIu64 " of %d alone", m->path, i, length);
            check_alone(m, length, i, (int)(i % 5 * 14));
        }
    }
}

int main(void) {
    harness_begin(false);
    for (int m = 0; m < MACHINES; m++) open_machine(&machines[m]);
    for (int length = 1; length <= 3; length++) check_all_alone(length);
    for (int length = 1; length <= 4; length++) check_side_by_side(length, 0, power(CLASSES, length), quick() && length == 4 ? 17 : 1, -1);
    for (int i = 0; i < CLASSES; i += quick() ? 11 : 1) check_side_by_side(5, (uint64_t)i * BATCH, BATCH, quick() ? 31 : 1, i);
    for (int m = 0; m < MACHINES; m++) close_machine(&machines[m]);
    return harness_end();
}
