/* fuzz_utf8.c: a libFuzzer target: any bytes, in any conversion, against the oracle, on every instruction set, whole and in two chunks.
 *
 *     cmake -B build-fuzz -DCMAKE_C_COMPILER=clang -DUPSWEEP_FUZZ=ON -DUPSWEEP_SANITIZE=address,undefined -DUPSWEEP_CUDA=OFF
 *     cmake --build build-fuzz --target fuzz_utf8 && build-fuzz/bin/fuzz_utf8 -max_total_time=60
 *
 * The first four bytes choose the conversion, the mode, the capacity and the cut; the rest is the text. Buffers are of the exact size, so
 * that AddressSanitizer sees a byte too many. */
#include "harness.h"
#include "utf8_oracle.h"

enum { CHOICES = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

static void must(bool good) {
    if (!good) __builtin_trap();
}

static upsweep_context *context_of(unsigned which) {
    static const char *const isas[] = {"portable", "avx2", "avx512"};
    static upsweep_context *contexts[3];
    if (contexts[which] == NULL) {
        setenv("UPSWEEP_CPU", isas[which], 1);
        must(upsweep_open(&contexts[which], "cpu:1") == UPSWEEP_OK);
    }
    return contexts[which];
}

static upsweep_utf8_report convert(upsweep_context *ctx, void *out, uint64_t capacity, const void *in, uint64_t n, struct conversion c) {
    upsweep_utf8_report report;
    c.options.encoding = c.from == UPSWEEP_UTF8 ? c.to : c.from;
    must((c.from == UPSWEEP_UTF8 ? upsweep_utf8_decode : upsweep_utf8_encode)(ctx, out, capacity, &report, in, n, &c.options) ==
         UPSWEEP_OK);
    return report;
}

static void check_whole(upsweep_context *ctx, const void *in, uint64_t n, struct conversion c, uint64_t room) {
    const struct expected e = oracle_utf8(in, n, c);
    const size_t out_nbytes = upsweep_encoding_nbytes(c.to);
    const uint64_t capacity = e.report.needed > room ? e.report.needed - room : 0;
    void *out = must_malloc((size_t)capacity * out_nbytes);
    const upsweep_utf8_report r = convert(ctx, out, capacity, in, n, c);
    must(r.needed == e.report.needed && r.error_at == e.report.error_at && r.error == e.report.error);
    must(r.bad_sequences == e.report.bad_sequences && r.bad_units == e.report.bad_units);
    must(capacity < r.needed ? r.status == UPSWEEP_ERR_CAPACITY && r.written == 0 : r.written == r.needed && r.status == e.report.status);
    must(memcmp(out, e.out, (size_t)(r.written * out_nbytes)) == 0);
    free(out);
    oracle_free(&e);
}

/* The first `cut` code units, then the others behind what the first call left: the same as all at once. */
static void check_chunks(upsweep_context *ctx, const uint8_t *in, uint64_t n, struct conversion c, uint64_t cut) {
    const size_t in_nbytes = upsweep_encoding_nbytes(c.from), out_nbytes = upsweep_encoding_nbytes(c.to);
    unsigned char *whole = must_malloc((size_t)(4 * n) * out_nbytes), *parts = must_malloc((size_t)(4 * n) * out_nbytes);
    c.options.more = 0;
    c.options.skip_bom = 0;
    if (c.options.on_error == UPSWEEP_STRICT) c.options.on_error = UPSWEEP_REPLACE;
    const upsweep_utf8_report all = convert(ctx, whole, 4 * n, in, n, c);
    c.options.more = 1;
    const upsweep_utf8_report first = convert(ctx, parts, 4 * n, in, cut, c);
    must(cut - first.consumed <= 3);
    c.options.more = 0;
    const upsweep_utf8_report second =
        convert(ctx, parts + first.written * out_nbytes, 4 * n - first.written, in + first.consumed * in_nbytes, n - first.consumed, c);
    must(first.written + second.written == all.written && first.bad_units + second.bad_units == all.bad_units);
    must(memcmp(whole, parts, (size_t)all.written * out_nbytes) == 0);
    free(whole);
    free(parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes) {
    if (nbytes < CHOICES) return 0;
    struct conversion c = {
        .options = {.on_error = (upsweep_on_error)(data[1] % 3), .more = data[1] >> 2 & 1, .skip_bom = data[1] >> 3 & 1}};
    const upsweep_encoding other = (upsweep_encoding)(data[0] & 3);
    const bool decode = (data[0] & 4) != 0 || other == UPSWEEP_UTF8;
    c.from = decode ? UPSWEEP_UTF8 : other;
    c.to = decode ? other : UPSWEEP_UTF8;
    const size_t unit_nbytes = upsweep_encoding_nbytes(c.from), n = (nbytes - CHOICES) / unit_nbytes;
    uint8_t *in = must_malloc(n * unit_nbytes);
    memcpy(in, data + CHOICES, n * unit_nbytes);
    for (unsigned isa = 0; isa < 3; isa++) {
        check_whole(context_of(isa), in, n, c, data[2] % 8);
        check_chunks(context_of(isa), in, n, c, n * data[3] / 255);
    }
    free(in);
    return 0;
}
