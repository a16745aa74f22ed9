/* few.c: calls on few elements: all arguments are looked at in one function, with nothing but comparisons, and the kernel is called from
 * it.
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
    if (order == NULL) return cpu_sort_few(ctx, out, in, n, type, false);
    const bool whole = order->lo_bit == 0 && (order->hi_bit == 0 || order->hi_bit == 8u * sizes[type]);
    return whole && order->descending <= 1 && order->low_memory <= 1 && cpu_sort_few(ctx, out, in, n, type, order->descending == 1);
}

/* ---- text -------------------------------------------------------------------------------------------------------------------- */

/* A conversion with plain options, whose output has room for all that the text can become. */
struct conversion {
    upsweep_encoding from, to;
    upsweep_on_error on_error;
};

ALWAYS_INLINE bool read_options(struct conversion *c, const upsweep_utf8_options *o, bool decode) {
    upsweep_encoding other = UPSWEEP_UTF32;
    c->on_error = UPSWEEP_REPLACE;
    if (o != NULL) {
        other = o->encoding;
        c->on_error = o->on_error;
        if ((uint32_t)other >= UPSWEEP_UTF8 || (uint32_t)c->on_error > UPSWEEP_STRICT || (o->more | o->skip_bom) != 0 || o->map != NULL)
            return false;
    }
    c->from = decode ? UPSWEEP_UTF8 : other;
    c->to = decode ? other : UPSWEEP_UTF8;
    return true;
}

ALWAYS_INLINE bool text_is_good(const upsweep_context *ctx, const struct conversion *c, const void *out, uint64_t capacity,
                                const upsweep_utf8_report *report, const void *in, uint64_t n) {
    if (n - 1 >= FEW_UNITS || ctx->scratch_is_callers) return false;
    const uint64_t in_nbytes = n * encoding_nbytes(c->from), out_nbytes = capacity * encoding_nbytes(c->to);
    if (!is_array(in, in_nbytes, encoding_nbytes(c->from)) || !is_array(report, sizeof *report, sizeof(uint64_t))) return false;
    if (!is_apart(in, in_nbytes, report, sizeof *report)) return false;
    if (out == NULL) return capacity == 0 && c->from == UPSWEEP_UTF8;
    const uint64_t most = c->from == UPSWEEP_UTF8 ? n : c->from == UPSWEEP_UTF32 ? 4 * n : 3 * n;
    return capacity >= most && capacity <= UINT32_MAX && is_array(out, out_nbytes, encoding_nbytes(c->to)) &&
           is_apart(out, out_nbytes, in, in_nbytes) && is_apart(out, out_nbytes, report, sizeof *report);
}

/* The code units that the text becomes, with or without output. */
ALWAYS_INLINE uint64_t run_kernel(const upsweep_context *ctx, const struct conversion *c, void *out, const void *in, size_t n,
                                  struct utf8_bad *bad) {
    const struct utf8_kernels *kernels = cpu_utf8_kernels(ctx);
    const bool replace = c->on_error == UPSWEEP_REPLACE;
    if (c->from != UPSWEEP_UTF8) return kernels->encode[c->from](out, in, n, replace, bad);
    if (out != NULL) return kernels->decode[c->to](out, in, n, replace, bad);
    const struct utf8_good good = kernels->measure(in, n, bad);
    return good.sequences + (c->to == UPSWEEP_UTF32 ? 0 : good.of_4) + (replace ? bad->sequences : 0);
}

static bool utf8_few(upsweep_context *ctx, void *out, uint64_t capacity, upsweep_utf8_report *report, const void *in, uint64_t n,
                     const upsweep_utf8_options *options, bool decode) {
    struct conversion c;
    if (!read_options(&c, options, decode) || !text_is_good(ctx, &c, out, capacity, report, in, n)) return false;
    struct utf8_bad bad = UTF8_NONE_BAD;
    const uint64_t units = run_kernel(ctx, &c, out, in, (size_t)n, &bad);
    const bool is_bad = bad.first != SIZE_MAX;
    if (is_bad && c.on_error == UPSWEEP_STRICT) return false; /* what comes before the error is to be converted alone */
    report->needed = units;
    report->written = out != NULL ? units : 0;
    report->consumed = n;
    report->bad_sequences = bad.sequences;
    report->bad_units = bad.units;
    report->error_at = is_bad ? bad.first : UINT64_MAX;
    report->error = is_bad ? (uint32_t)cpu_utf8_error(in, n, c.from, bad.first) : UPSWEEP_TEXT_GOOD;
    report->status = UPSWEEP_OK;
    return true;
}

const struct short_cuts cpu_short_cuts = {.scan = scan_few, .compact = compact_few, .sort = sort_few, .utf8 = utf8_few};
