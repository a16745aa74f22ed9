/* test_utf8_exhaustive.c: all sequences of up to five bytes over one byte of each class, in all modes, wherever they lie in a vector.
 *
 * A byte's fate depends on three bytes before it and one after, so five bytes show every case. The classes differ in what may stand beside
 * them (Unicode Standard, table 3-7). Sequences stand side by side in one text, ASCII between them: 7 bytes each, which is prime to the
 * 60 bytes that a vector kernel advances by, so each meets another place; and the text is shifted by 0 to 59 bytes, so that each meets
 * every place. Compared with the state machine of the WHATWG standard. Those of up to three bytes are also texts of their own. */
#include <inttypes.h>
#include <stdio.h>

#include "harness.h"
#include "utf8_oracle.h"

static const uint8_t classes[] = {0x01, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0,
                                  0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF8, 0xFF};
enum { CLASSES = sizeof classes, STRIDE = 7, SHIFTS = 60 };

static const upsweep_encoding encodings[] = {UPSWEEP_UTF32, UPSWEEP_UTF16LE, UPSWEEP_UTF16BE, UPSWEEP_UTF8};

/* The length bytes of sequence `index`, and ASCII up to STRIDE. */
static void write_sequence(uint8_t out[STRIDE], uint64_t index, int length) {
    memset(out, '_', STRIDE);
    for (int i = 0; i < length; i++, index /= CLASSES) out[i] = classes[index % CLASSES];
}

static uint64_t power(uint64_t base, int exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }

/* A context for each instruction set, with one thread. */
struct machine {
    const char *isa;
    upsweep_context *ctx;
};
static struct machine machines[] = {{.isa = "portable"}, {.isa = "avx2"}, {.isa = "avx512"}};
enum { MACHINES = sizeof machines / sizeof *machines };

static void open_machines(void) {
    for (int i = 0; i < MACHINES; i++) {
        upsweep_device device = {.size = sizeof device};
        setenv("UPSWEEP_CPU", machines[i].isa, 1);
        CHECK_OK(upsweep_open(&machines[i].ctx, "cpu:1"));
        CHECK_OK(upsweep_context_device(machines[i].ctx, &device));
        if (strcmp(device.detail, machines[i].isa) == 0) continue;
        skip(machines[i].isa);
        upsweep_close(machines[i].ctx);
        machines[i].ctx = NULL;
    }
    unsetenv("UPSWEEP_CPU");
}

/* One text in one encoding and mode, shifted by each of the shifts; `in` has SHIFTS bytes of room before it, of ASCII. */
static void check_text(const uint8_t *in, uint64_t n, struct conversion c, int shift_step) {
    const struct expected e = oracle_utf8(in, n, c);
    const size_t unit_nbytes = upsweep_encoding_nbytes(c.to);
    const uint64_t capacity = e.report.needed + SHIFTS;
    unsigned char *out = must_malloc((size_t)capacity * unit_nbytes);
    c.options.encoding = c.to;
    for (int m = 0; m < MACHINES; m++) {
        if (!machines[m].ctx) continue;
        for (int shift = 0; shift < SHIFTS; shift += m == 0 ? SHIFTS : shift_step) { /* the portable kernels know no places */
            upsweep_utf8_report r;
            CHECK_OK(upsweep_utf8_decode(machines[m].ctx, out, capacity, &r, in - shift, n + (uint64_t)shift, &c.options));
            const bool good = r.written == e.report.needed + (uint64_t)shift && r.bad_sequences == e.report.bad_sequences &&
                              r.bad_units == e.report.bad_units && r.error == e.report.error &&
                              memcmp(out + (size_t)shift * unit_nbytes, e.out, (size_t)e.report.needed * unit_nbytes) == 0;
            if (!good) case_begin("%s, shift %d, encoding %d, mode %d", machines[m].isa, shift, (int)c.to, (int)c.options.on_error);
            CHECK(good);
            CHECK_OK(upsweep_utf8_decode(machines[m].ctx, NULL, 0, &r, in - shift, n + (uint64_t)shift, &c.options));
            CHECK(r.needed == e.report.needed + (uint64_t)shift && r.bad_units == e.report.bad_units);
        }
    }
    free(out);
    oracle_free(&e);
}

/* Sequences [first, first + count) of a length, side by side. UTF-32 at all places; the other encodings at some. */
static void check_side_by_side(int length, uint64_t first, uint64_t count, int shift_step) {
    uint8_t *room = must_malloc(SHIFTS + (size_t)count * STRIDE);
    memset(room, '_', SHIFTS);
    for (uint64_t i = 0; i < count; i++) write_sequence(room + SHIFTS + i * STRIDE, first + i, length);
    for (size_t k = 0; k < sizeof encodings / sizeof *encodings; k++)
        for (int mode = UPSWEEP_REPLACE; mode <= UPSWEEP_REMOVE; mode++) {
            const struct conversion c = {.from = UPSWEEP_UTF8, .to = encodings[k], .options.on_error = (upsweep_on_error)mode};
            case_begin("sequences of %d from %" PRIu64 ", to %s", length, first, upsweep_encoding_name(c.to));
            check_text(room + SHIFTS, count * STRIDE, c, k == 0 ? shift_step : 20);
        }
    free(room);
}

/* Alone: each is a text, which it ends; strict too, and as the first of two chunks. `before` bytes of ASCII come first. */
static void check_alone(int length, uint64_t index, int before, upsweep_context *ctx) {
    uint8_t in[SHIFTS + STRIDE];
    unsigned char out[4 * sizeof in];
    memset(in, '_', sizeof in);
    write_sequence(in + before, index, length);
    for (int mode = UPSWEEP_REPLACE; mode <= UPSWEEP_STRICT; mode++)
        for (uint32_t more = 0; more < 2; more++) {
            const upsweep_utf8_options options = {.on_error = (upsweep_on_error)mode, .more = more};
            const struct conversion c = {.from = UPSWEEP_UTF8, .to = UPSWEEP_UTF32, .options = options};
            const struct expected e = oracle_utf8(in, (uint64_t)(before + length), c);
            upsweep_utf8_report r;
            CHECK_OK(upsweep_utf8_decode(ctx, out, sizeof in, &r, in, (uint64_t)(before + length), &options));
            CHECK_SAME(&r, &e.report, 1, sizeof r);
            CHECK_SAME(out, e.out, e.report.needed, 4);
            oracle_free(&e);
        }
}

static void check_all_alone(int length) {
    const uint64_t step = quick() && length == 3 ? 7 : 1;
    for (int m = 0; m < MACHINES; m++)
        for (uint64_t i = 0; machines[m].ctx && i < power(CLASSES, length); i += step) {
            case_begin("%s: sequence %" PRIu64 " of %d alone", machines[m].isa, i, length);
            check_alone(length, i, (int)(i % 5 * 14), machines[m].ctx);
        }
}

int main(void) {
    harness_begin(false);
    open_machines();
    for (int length = 1; length <= 3; length++) check_all_alone(length);
    for (int length = 1; length <= 4; length++) check_side_by_side(length, 0, power(CLASSES, length), quick() && length == 4 ? 17 : 1);
    const uint64_t batch = power(CLASSES, 4);
    for (uint64_t i = 0; i < CLASSES; i += quick() ? 11 : 1) check_side_by_side(5, i * batch, batch, quick() ? 31 : 1);
    for (int m = 0; m < MACHINES; m++) upsweep_close(machines[m].ctx);
    return harness_end();
}
