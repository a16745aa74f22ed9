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
    FEW_NBYTES = 16,  /* of a record */
    FEW_BESIDE = 512, /* bytes that a partition to one array may keep beside it: to copy more takes longer than to test them, then to read
                         them twice by bits (Zen 4, 2026-11) */
    FEW_UNITS = 16384 /* of text */
};

/* By type: bytes of an element, the last operator and the last comparison that it has, and the constants that fit: value + offset <= most,
 * in 64 bits that wrap. */
#define LAST_OP_FLOAT      UPSWEEP_MAX
#define LAST_OP_SIGNED     UPSWEEP_XOR
#define LAST_OP_UNSIGNED   UPSWEEP_XOR
#define LAST_CMP_FLOAT     UPSWEEP_NOT_NAN
#define LAST_CMP_SIGNED    UPSWEEP_GE
#define LAST_CMP_UNSIGNED  UPSWEEP_GE
#define MOST(nbytes)       (UINT64_MAX >> (64 - 8 * (nbytes)))
#define MOST_FLOAT(n)      UINT64_MAX
#define MOST_SIGNED(n)     MOST(n)
#define MOST_UNSIGNED(n)   MOST(n)
#define OFFSET_FLOAT(n)    0
#define OFFSET_SIGNED(n)   (MOST(n) / 2 + 1)
#define OFFSET_UNSIGNED(n) 0
#define TYPE_ROW(e, v, name, ctype, kind) \
    [e] = {sizeof(ctype), LAST_OP_##kind, LAST_CMP_##kind, MOST_##kind(sizeof(ctype)), OFFSET_##kind(sizeof(ctype))},
static const struct {
    uint8_t nbytes, last_op, last_cmp;
    uint64_t most, offset;
} types[UPSWEEP_TYPE_COUNT] = {UPSWEEP_TYPE_TABLE(TYPE_ROW)};
_Static_assert(UPSWEEP_ADD == 0 && UPSWEEP_MUL < UPSWEEP_MAX && UPSWEEP_MIN < UPSWEEP_MAX && UPSWEEP_MAX + 1 == UPSWEEP_AND &&
                   UPSWEEP_XOR + 1 == UPSWEEP_OP_COUNT,
               "operators of all types come first");
_Static_assert(UPSWEEP_GE + 1 == UPSWEEP_NOT_NAN && UPSWEEP_NOT_NAN + 1 == UPSWEEP_CMP_COUNT, "comparisons of all types come first");

/* Memory, not NULL, aligned, that does not reach around the end of the address space. */
ALWAYS_INLINE bool is_array(const void *p, uint64_t nbytes, size_t alignment) {
    return (uintptr_t)p - 1 < UINTPTR_MAX - nbytes && ((uintptr_t)p & (alignment - 1)) == 0;
}

static const upsweep_predicate is_set = {.cmp = UPSWEEP_NONZERO};

/* ---- elements ---------------------------------------------------------------------------------------------------------------- */

/* The same array, or two that share nothing, of a call on few elements; the caller's own scratch is left to the long way. */
ALWAYS_INLINE bool are_good(const upsweep_context *ctx, const void *out, const void *in, uint64_t n, upsweep_type type) {
    if ((uint32_t)type >= UPSWEEP_TYPE_COUNT || n > FEW_ITEMS || ctx->scratch_is_callers) return false;
    const size_t size = types[type].nbytes;
    const uint64_t nbytes = n * size;
    return is_array(out, nbytes, size) && is_array(in, nbytes, size) && (out == in || is_apart(out, nbytes, in, nbytes));
}

static upsweep_status scan_few(upsweep_context *ctx, void *out, const void *in, uint64_t n, upsweep_type type, upsweep_op op,
                               uint32_t flags) {
    if (!are_good(ctx, out, in, n, type) || (uint32_t)op > types[type].last_op || flags > UPSWEEP_INCLUSIVE)
        return scan_any(ctx, out, in, n, type, op, flags);
    const scan_carry identity = op == UPSWEEP_ADD ? 0 : carry_rules[type].identity(op); /* a sum of nothing is 0 in all types' bits */
    cpu_kernels(ctx)->scan[type](op, flags == UPSWEEP_INCLUSIVE, false, out, in, (size_t)n, identity);
    return UPSWEEP_OK;
}

/* Fits the type; *to is then as the long way has it, but that a constant of f32 is not yet rounded: the kernels do that in any case. */
ALWAYS_INLINE bool is_predicate(upsweep_type type, const upsweep_predicate *keep, upsweep_predicate *to) {
    if (keep == NULL || (uint32_t)type >= UPSWEEP_TYPE_COUNT || (uint32_t)keep->cmp > types[type].last_cmp) return false;
    const bool has_value = keep->cmp != UPSWEEP_NONZERO && keep->cmp != UPSWEEP_NOT_NAN;
    *to = (upsweep_predicate){keep->cmp, {.u = has_value ? keep->value.u : 0}};
    return to->value.u + types[type].offset <= types[type].most;
}

/* The arrays of a compaction but for its output: n items of so many bytes, flags if it goes by them, and a count. */
struct sources {
    const void *in;
    const uint8_t *flags; /* NULL: by a predicate */
    const uint64_t *count;
    uint64_t n;
    size_t nbytes;
};

ALWAYS_INLINE bool are_sources(const upsweep_context *ctx, struct sources a) {
    if (a.n > FEW_ITEMS || a.nbytes - 1 >= FEW_NBYTES || ctx->scratch_is_callers) return false;
    if (!is_array(a.count, sizeof *a.count, sizeof *a.count) || !is_array(a.in, a.n * a.nbytes, a.flags == NULL ? a.nbytes : 1))
        return false;
    return is_apart(a.count, sizeof *a.count, a.in, a.n * a.nbytes) &&
           (a.flags == NULL || (is_array(a.flags, a.n, 1) && is_apart(a.count, sizeof *a.count, a.flags, a.n)));
}

/* An output of n items of so many bytes that is apart from the rest, or the input if it may be. */
ALWAYS_INLINE bool is_output(const void *p, size_t nbytes, struct sources a, bool in_place) {
    const uint64_t all = a.n * nbytes;
    return is_array(p, all, a.flags == NULL ? nbytes : 1) && ((in_place && p == a.in) || is_apart(p, all, a.in, a.n * a.nbytes)) &&
           (a.flags == NULL || is_apart(p, all, a.flags, a.n)) && is_apart(p, all, a.count, sizeof *a.count);
}

/* The same of both sides of a partition; rest NULL: there is but one output. */
ALWAYS_INLINE bool are_outputs(const void *out, const void *rest, struct sources a, bool in_place) {
    const uint64_t all = a.n * a.nbytes;
    return is_output(out, a.nbytes, a, in_place) &&
           (rest == NULL || (is_output(rest, a.nbytes, a, in_place) && is_apart(out, all, rest, all)));
}

static upsweep_status compact_few(upsweep_context *ctx, void *out, uint64_t *count, const void *in, uint64_t n, upsweep_type type,
                                  const upsweep_predicate *keep) {
    upsweep_predicate test;
    if (!is_predicate(type, keep, &test)) return compact_any(ctx, out, count, in, n, type, keep);
    const struct sources a = {in, NULL, count, n, types[type].nbytes};
    if (!are_sources(ctx, a) || !is_output(out, a.nbytes, a, true)) return compact_any(ctx, out, count, in, n, type, keep);
    *count = cpu_kernels(ctx)->filter[type](&test, out, in, (size_t)n);
    return UPSWEEP_OK;
}

/* Those whose flag is set to out, and the others to rest, unless that is NULL: records of a size for which there are no kernels. */
NOT_INLINE size_t sift_records(const struct kernels *kernels, void *out, void *rest, struct sources a) {
    uint64_t bits[FEW_ITEMS / 64];
    kernels->mask[UPSWEEP_U8](&is_set, a.flags, (size_t)a.n, bits);
    const size_t kept = compact_records(out, a.in, bits, (size_t)a.n, a.nbytes);
    if (rest == NULL) return kept;
    invert_bits(bits, (size_t)a.n);
    compact_records(rest, a.in, bits, (size_t)a.n, a.nbytes);
    return kept;
}

ALWAYS_INLINE size_t sift_by_flags(const struct kernels *kernels, void *out, void *rest, struct sources a) {
    if (!is_vector_width(a.nbytes)) return sift_records(kernels, out, rest, a);
    return kernels->flags[__builtin_ctzll(a.nbytes)](out, rest, a.in, a.flags, (size_t)a.n);
}

static upsweep_status compact_flags_few(upsweep_context *ctx, void *out, uint64_t *count, const void *in, const uint8_t *flags, uint64_t n,
                                        size_t elem_nbytes) {
    const struct sources a = {in, flags, count, n, elem_nbytes};
    if (flags == NULL || !are_sources(ctx, a) || !is_output(out, elem_nbytes, a, false))
        return compact_flags_any(ctx, out, count, in, flags, n, elem_nbytes);
    *count = sift_by_flags(cpu_kernels(ctx), out, NULL, a);
    return UPSWEEP_OK;
}

static upsweep_status compact_indices_few(upsweep_context *ctx, void *out, uint64_t *count, const void *in, uint64_t n, upsweep_type type,
                                          const upsweep_predicate *keep, upsweep_type index_type, uint64_t base) {
    const uint64_t highest = index_type == UPSWEEP_U32 ? UINT32_MAX : UINT64_MAX;
    upsweep_predicate test;
    uint64_t bits[FEW_ITEMS / 64];
    if (!is_predicate(type, keep, &test) || (index_type != UPSWEEP_U32 && index_type != UPSWEEP_U64) || base > highest - FEW_ITEMS)
        return compact_indices_any(ctx, out, count, in, n, type, keep, index_type, base);
    const struct sources a = {in, NULL, count, n, types[type].nbytes};
    if (!are_sources(ctx, a) || !is_output(out, types[index_type].nbytes, a, false))
        return compact_indices_any(ctx, out, count, in, n, type, keep, index_type, base);
    const struct kernels *kernels = cpu_kernels(ctx);
    kernels->mask[type](&test, in, (size_t)n, bits);
    *count = (index_type == UPSWEEP_U32 ? kernels->indices32 : kernels->indices64)(out, base, bits, (size_t)n);
    return UPSWEEP_OK;
}

/* To both sides, by flags or by a predicate of the type. */
ALWAYS_INLINE size_t split(const struct kernels *kernels, void *out, void *rest, struct sources a, upsweep_type type,
                           const upsweep_predicate *test) {
    return a.flags != NULL ? sift_by_flags(kernels, out, rest, a) : kernels->split[type](test, out, rest, a.in, (size_t)a.n);
}

/* The rejected ones behind the kept ones. */
ALWAYS_INLINE size_t split_to_one(const struct kernels *kernels, void *out, struct sources a, upsweep_type type,
                                  const upsweep_predicate *test) {
    const size_t n = (size_t)a.n;
    if (n * a.nbytes <= FEW_BESIDE) {
        _Alignas(uint64_t) unsigned char rejected[FEW_BESIDE];
        const size_t kept = split(kernels, out, rejected, a, type, test);
        memcpy((unsigned char *)out + kept * a.nbytes, rejected, (n - kept) * a.nbytes);
        return kept;
    }
    uint64_t bits[FEW_ITEMS / 64];
    kernels->mask[type](test, a.flags != NULL ? a.flags : a.in, n, bits);
    const size_t kept = compact_items(kernels, a.nbytes, out, n, a.in, bits, n);
    invert_bits(bits, n);
    compact_items(kernels, a.nbytes, (unsigned char *)out + kept * a.nbytes, n - kept, a.in, bits, n);
    return kept;
}

static upsweep_status partition_few(upsweep_context *ctx, void *out, void *rest, uint64_t *count, const void *in, uint64_t n,
                                    upsweep_type type, const upsweep_predicate *keep) {
    const struct kernels *kernels = cpu_kernels(ctx);
    upsweep_predicate test;
    if (!is_predicate(type, keep, &test)) return partition_any(ctx, out, rest, count, in, n, type, keep);
    const struct sources a = {in, NULL, count, n, types[type].nbytes};
    if (!are_sources(ctx, a) || !are_outputs(out, rest, a, rest != NULL)) return partition_any(ctx, out, rest, count, in, n, type, keep);
    *count = rest != NULL ? split(kernels, out, rest, a, type, &test) : split_to_one(kernels, out, a, type, &test);
    return UPSWEEP_OK;
}

static upsweep_status partition_flags_few(upsweep_context *ctx, void *out, void *rest, uint64_t *count, const void *in,
                                          const uint8_t *flags, uint64_t n, size_t elem_nbytes) {
    const struct kernels *kernels = cpu_kernels(ctx);
    const struct sources a = {in, flags, count, n, elem_nbytes};
    if (flags == NULL || !are_sources(ctx, a) || !are_outputs(out, rest, a, false))
        return partition_flags_any(ctx, out, rest, count, in, flags, n, elem_nbytes);
    *count = rest != NULL ? sift_by_flags(kernels, out, rest, a) : split_to_one(kernels, out, a, UPSWEEP_U8, &is_set);
    return UPSWEEP_OK;
}

/* Fits the type; *a gets it as the long way has it. */
ALWAYS_INLINE bool is_order(upsweep_type type, const upsweep_order *order, struct sort_args *a) {
    const uint32_t width = 8u * types[type].nbytes;
    a->descending = order != NULL && order->descending == 1;
    a->low_memory = order != NULL && order->low_memory == 1;
    a->lo_bit = order != NULL ? order->lo_bit : 0;
    a->hi_bit = order != NULL && order->hi_bit != 0 ? order->hi_bit : width;
    return order == NULL || (order->descending <= 1 && order->low_memory <= 1 && a->lo_bit <= a->hi_bit && a->hi_bit <= width);
}

static upsweep_status sort_few(upsweep_context *ctx, void *out, const void *in, uint64_t n, upsweep_type type, const upsweep_order *order) {
    struct sort_args a;
    if (are_good(ctx, out, in, n, type) && is_order(type, order, &a) && a.lo_bit == 0 && a.hi_bit == 8u * types[type].nbytes &&
        cpu_sort_at_once(ctx, out, in, n, type, types[type].nbytes, a.descending))
        return UPSWEEP_OK;
    return sort_any(ctx, out, in, n, type, order);
}

/* Pairs, or the indices of keys. */
static bool sort_values_few(upsweep_context *ctx, struct sort_args *a, const upsweep_order *order) {
    if ((uint32_t)a->type >= UPSWEEP_TYPE_COUNT || a->n > FEW_ITEMS || ctx->scratch_is_callers) return false;
    if (a->value_nbytes - 1 >= FEW_NBYTES || !is_order(a->type, order, a) || a->low_memory) return false;
    const size_t key_nbytes = types[a->type].nbytes;
    const uint64_t keys = a->n * key_nbytes, values = a->n * a->value_nbytes;
    if (!is_array(a->keys_in, keys, key_nbytes) || !is_apart(a->values_out, values, a->keys_in, keys)) return false;
    if (a->keys_out == NULL) return is_array(a->values_out, values, a->value_nbytes) && cpu_sort_values_at_once(ctx, a, key_nbytes);
    if (!is_array(a->keys_out, keys, key_nbytes) || !is_array(a->values_out, values, 1) || !is_array(a->values_in, values, 1)) return false;
    if (a->keys_out != a->keys_in && !is_apart(a->keys_out, keys, a->keys_in, keys)) return false;
    if (a->values_out != a->values_in && !is_apart(a->values_out, values, a->values_in, values)) return false;
    return is_apart(a->keys_out, keys, a->values_out, values) && is_apart(a->keys_out, keys, a->values_in, values) &&
           cpu_sort_values_at_once(ctx, a, key_nbytes);
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

#define SHORT_CUT_ROW(call) .call = call##_few,
const struct short_cuts cpu_short_cuts = {
    CALLS_WITH_SHORT_CUTS(SHORT_CUT_ROW).utf8_measure = utf8_measure_few,
    .sort_values = sort_values_few,
};
