/* short_cuts.c: calls on few elements: all arguments are looked at in one function, with nothing but comparisons, and the kernel is
 * called from it.
 *
 * The long way (api.c, check.c, scan.c ...) takes ten calls from the argument to the kernel, which know nothing of one another: 25 ns, in
 * which a compiler's loop has dealt with a hundred elements. Whatever is not plainly well here is left to it: it knows what to say. What
 * the kernels are given is what the long way gives them for one block on one thread, so the results are the same, bit by bit. */
#include "../check.h"
#include "kernels.h"
#include "utf8_kernels.h"

enum {
    FEW_ITEMS = 4096, /* less than a block (chain.h) of any type, and than what threads share */
    FEW_UNITS = 16384 /* of text */
};

/* By type: bytes of an element; the last operator that it has. */
#define SIZE_ROW(e, v, name, ctype, kind) [e] = sizeof(ctype),
#define LAST_OP_FLOAT                     UPSWEEP_MAX
#define LAST_OP_SIGNED                    UPSWEEP_XOR
#define LAST_OP_UNSIGNED                  UPSWEEP_XOR
#define OP_ROW(e, v, name, ctype, kind)   [e] = LAST_OP_##kind,
static const uint8_t sizes[UPSWEEP_TYPE_COUNT] = {UPSWEEP_TYPE_TABLE(SIZE_ROW)};
static const uint8_t last_ops[UPSWEEP_TYPE_COUNT] = {UPSWEEP_TYPE_TABLE(OP_ROW)};
_Static_assert(UPSWEEP_ADD == 0 && UPSWEEP_MUL < UPSWEEP_MAX && UPSWEEP_MIN < UPSWEEP_MAX && UPSWEEP_MAX + 1 == UPSWEEP_AND &&
                   UPSWEEP_XOR + 1 == UPSWEEP_OP_COUNT,
               "operators of all types come first");

/* Memory of nbytes > 0, aligned, that does not reach around the end of the address space. */
ALWAYS_INLINE bool is_array(const void *p, uint64_t nbytes, size_t alignment) {
    return (uintptr_t)p - 1 < UINTPTR_MAX - nbytes && ((uintptr_t)p & (alignment - 1)) == 0;
}

/* ---- elements ---------------------------------------------------------------------------------------------------------------- */

/* The same array, or two that share nothing, of a call on few elements; the caller's own scratch is left to the long way. */
ALWAYS_INLINE bool are_good(const upsweep_context *ctx, const void *out, const void *in, uint64_t n, upsweep_type type) {
    if ((uint32_t)type >= UPSWEEP_TYPE_COUNT || n - 1 >= FEW_ITEMS || ctx->scratch_is_callers) return false;
    const size_t size = sizes[type];
    const uint64_t nbytes = n * size;
    return is_array(out, nbytes, size) && is_array(in, nbytes, size) && (out == in || is_apart(out, nbytes, in, nbytes));
}

static bool scan_few(upsweep_context *ctx, void *out, const void *in, uint64_t n, upsweep_type type, upsweep_op op, uint32_t flags) {
    if (!are_good(ctx, out, in, n, type) || (uint32_t)op > last_ops[type] || flags > UPSWEEP_INCLUSIVE) return false;
    cpu_kernels(ctx)->scan[type](op, flags == UPSWEEP_INCLUSIVE, false, out, in, (size_t)n, carry_rules[type].identity(op));
    return true;
}

static bool compact_few(upsweep_context *ctx, void *out, uint64_t *count, const void *in, uint64_t n, upsweep_type type,
                        const upsweep_predicate *keep) {
    if (!are_good(ctx, out, in, n, type) || !is_array(count, sizeof *count, sizeof *count)) return false;
    const uint64_t nbytes = n * sizes[type];
    if (!is_apart(count, sizeof *count, out, nbytes) || !is_apart(count, sizeof *count, in, nbytes)) return false;
    *count = cpu_kernels(ctx)->filter[type](keep, out, in, (size_t)n);
    return true;
}

static bool sort_few(upsweep_context *ctx, void *out, const void *in, uint64_t n, upsweep_type type, const upsweep_order *order) {
    if (!are_good(ctx, out, in, n, type)) return false;
    if (order == NULL) return cpu_sort_at_once(ctx, out, in, n, type, false);
    const bool whole = order->lo_bit == 0 && (order->hi_bit == 0 || order->hi_bit == 8u * sizes[type]);
    return whole && order->descending <= 1 && order->low_memory <= 1 && cpu_sort_at_once(ctx, out, in, n, type, order->descending == 1);
}

/* ---- text -------------------------------------------------------------------------------------------------------------------- */

ALWAYS_INLINE bool is_report(const upsweep_utf8_report *report) { return is_array(report, sizeof *report, sizeof(uint64_t)); }

/* An array that the report is no part of. */
ALWAYS_INLINE bool is_text(const void *p, uint64_t nbytes, size_t unit_nbytes, const upsweep_utf8_report *report) {
    return is_array(p, nbytes, unit_nbytes) && is_apart(p, nbytes, report, sizeof *report);
}

ALWAYS_INLINE bool are_plain(const upsweep_utf8_options *o) {
    return (uint32_t)o->encoding < UPSWEEP_UTF8 && (uint32_t)o->on_error <= UPSWEEP_STRICT &&
           (o->more | o->skip_bom | (uintptr_t)o->map) == 0;
}

/* Few code units, and room for all that they can become. */
ALWAYS_INLINE bool are_texts(const upsweep_context *ctx, const void *out, uint64_t capacity, const upsweep_utf8_report *report,
                             const void *in, uint64_t n, upsweep_encoding other, bool decode) {
    const unsigned shift = other == UPSWEEP_UTF32 ? 2 : 1, in_shift = decode ? 0 : shift, out_shift = decode ? shift : 0;
    const uint64_t most = decode ? n : other == UPSWEEP_UTF32 ? 4 * n : 3 * n;
    const uint64_t in_nbytes = n << in_shift, out_nbytes = capacity << out_shift;
    if (n - 1 >= FEW_UNITS || capacity - most > UINT32_MAX || ctx->scratch_is_callers || !is_report(report)) return false;
    return is_text(in, in_nbytes, (size_t)1 << in_shift, report) && is_text(out, out_nbytes, (size_t)1 << out_shift, report) &&
           is_apart(out, out_nbytes, in, in_nbytes);
}

/* Writes the report of all of in [n], which has become `units` code units. */
ALWAYS_INLINE void write_report(upsweep_utf8_report *report, uint64_t units, uint64_t written, const void *in, uint64_t n,
                                upsweep_encoding from, const struct utf8_bad *bad) {
    utf8_report_good(report, units, written, n);
    if (__builtin_expect(bad->first == SIZE_MAX, 1)) return;
    report->bad_sequences = bad->sequences;
    report->bad_units = bad->units;
    report->error_at = bad->first;
    report->error = (uint32_t)cpu_utf8_error(in, n, from, bad->first);
}

/* Strict, and there is an error: what comes before it is to be converted alone. */
ALWAYS_INLINE bool stops(upsweep_on_error on_error, const struct utf8_bad *bad) {
    return __builtin_expect(on_error == UPSWEEP_STRICT && bad->first != SIZE_MAX, 0);
}

upsweep_status cpu_utf8_decode_few(upsweep_context *ctx, void *out, upsweep_utf8_report *report, const void *in, uint64_t n,
                                   const upsweep_utf8_options *o) {
    struct utf8_bad bad = UTF8_NONE_BAD;
    const uint64_t units = cpu_impl(ctx)->utf8->decode[o->encoding](out, in, (size_t)n, o->on_error == UPSWEEP_REPLACE, &bad);
    if (stops(o->on_error, &bad)) return utf8_decode_any(ctx, out, n, report, in, n, o);
    write_report(report, units, units, in, n, UPSWEEP_UTF8, &bad);
    return UPSWEEP_OK;
}

static upsweep_status encode_few(upsweep_context *ctx, void *out, uint64_t capacity, upsweep_utf8_report *report, const void *in,
                                 uint64_t n, const upsweep_utf8_options *o) {
    struct utf8_bad bad = UTF8_NONE_BAD;
    const uint64_t units = cpu_impl(ctx)->utf8->encode[o->encoding](out, in, (size_t)n, o->on_error == UPSWEEP_REPLACE, &bad);
    if (stops(o->on_error, &bad)) return utf8_encode_any(ctx, out, capacity, report, in, n, o);
    write_report(report, units, units, in, n, o->encoding, &bad);
    return UPSWEEP_OK;
}

/* Without output, from UTF-8: false if the long way is to be gone. */
ALWAYS_INLINE bool measure_few(const upsweep_context *ctx, upsweep_utf8_report *report, const void *in, uint64_t n, upsweep_encoding to,
                               upsweep_on_error on_error) {
    struct utf8_bad bad = UTF8_NONE_BAD;
    const struct utf8_good good = cpu_impl(ctx)->utf8->measure(in, (size_t)n, &bad);
    if (stops(on_error, &bad)) return false;
    const uint64_t nreplaced = on_error == UPSWEEP_REPLACE ? bad.sequences : 0;
    write_report(report, good.sequences + (to == UPSWEEP_UTF32 ? 0 : good.of_4) + nreplaced, 0, in, n, UPSWEEP_UTF8, &bad);
    return true;
}

upsweep_status cpu_utf8_measure_few(upsweep_context *ctx, upsweep_utf8_report *report, const void *in, uint64_t n,
                                    upsweep_on_error on_error) {
    return measure_few(ctx, report, in, n, UPSWEEP_UTF32, on_error) ? UPSWEEP_OK : utf8_measure_any(ctx, report, in, n, on_error);
}

/* ---- text: is all plainly well? ---------------------------------------------------------------------------------------------- */

static const upsweep_utf8_options default_options;

ALWAYS_INLINE bool is_measurable(const upsweep_context *ctx, const upsweep_utf8_report *report, const void *in, uint64_t n) {
    return n - 1 < FEW_UNITS && !ctx->scratch_is_callers && is_report(report) && is_text(in, n, 1, report);
}

static upsweep_status utf8_measure_few(upsweep_context *ctx, upsweep_utf8_report *report, const void *in, uint64_t n,
                                       upsweep_on_error on_error) {
    if (!is_measurable(ctx, report, in, n)) return utf8_measure_any(ctx, report, in, n, on_error);
    return cpu_impl(ctx)->utf8->measure_few(ctx, report, in, n, on_error);
}

NOT_INLINE upsweep_status decode_to_none(upsweep_context *ctx, void *out, uint64_t capacity, upsweep_utf8_report *report, const void *in,
                                         uint64_t n, const upsweep_utf8_options *o) {
    if (capacity == 0 && are_plain(o) && is_measurable(ctx, report, in, n) && measure_few(ctx, report, in, n, o->encoding, o->on_error))
        return UPSWEEP_OK;
    return utf8_decode_any(ctx, out, capacity, report, in, n, o);
}

static upsweep_status utf8_decode_few(upsweep_context *ctx, void *out, uint64_t capacity, upsweep_utf8_report *report, const void *in,
                                      uint64_t n, const upsweep_utf8_options *o) {
    if (o == NULL) o = &default_options;
    if (out == NULL) return decode_to_none(ctx, out, capacity, report, in, n, o);
    if (!are_plain(o) || !are_texts(ctx, out, capacity, report, in, n, o->encoding, true))
        return utf8_decode_any(ctx, out, capacity, report, in, n, o);
    return cpu_impl(ctx)->utf8->decode_few[o->encoding](ctx, out, report, in, n, o);
}

static upsweep_status utf8_encode_few(upsweep_context *ctx, void *out, uint64_t capacity, upsweep_utf8_report *report, const void *in,
                                      uint64_t n, const upsweep_utf8_options *o) {
    if (o == NULL) o = &default_options;
    if (!are_plain(o) || !are_texts(ctx, out, capacity, report, in, n, o->encoding, false))
        return utf8_encode_any(ctx, out, capacity, report, in, n, o);
    return encode_few(ctx, out, capacity, report, in, n, o);
}

const struct short_cuts cpu_short_cuts = {.scan = scan_few,
                                          .compact = compact_few,
                                          .sort = sort_few,
                                          .utf8_decode = utf8_decode_few,
                                          .utf8_encode = utf8_encode_few,
                                          .utf8_measure = utf8_measure_few};
