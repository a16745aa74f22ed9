/* api.c: the primitives, start to end: check, fill an args struct, call the backend. Read this first.
 *
 *     upsweep_scan() -> struct scan_args -> ctx->backend->scan() -> src/cpu/scan.c or src/cuda/scan.cu
 *
 * The args structs (backend.h) travel unchanged from here to the kernels. Of most calls this is the long way, call_any(): on few elements
 * a backend may know a shorter one, which is asked first.
 * Contexts and memory are in context.c. */
#include <inttypes.h>

#include "backend.h"
#include "check.h"

/* Before every call: is there a context, and does its device still work? */
static upsweep_status begin(upsweep_context *ctx) {
    if (ctx == NULL) return UPSWEEP_ERR_NULL;
    return ctx->backend->healthy(ctx);
}

/* The backend's short cuts for few elements, or NULL. */
static inline const struct short_cuts *short_cuts_of(const upsweep_context *ctx) { return ctx != NULL ? ctx->backend->short_cuts : NULL; }

/* The way that a call begins with: the short cut, if the backend has one. */
#define WAY(ctx, call) (short_cuts_of(ctx) != NULL ? short_cuts_of(ctx)->call : call##_any)

/* ---- scan -------------------------------------------------------------------------------------------------------------------- */

upsweep_status scan_any(upsweep_context *ctx, void *out, const void *in, uint64_t n, upsweep_type type, upsweep_op op, uint32_t flags) {
    return upsweep_scan_ex(ctx, out, in, n, type, op, flags, NULL, NULL);
}

upsweep_status upsweep_scan(upsweep_context *ctx, void *out, const void *in, uint64_t n, upsweep_type type, upsweep_op op, uint32_t flags) {
    return WAY(ctx, scan)(ctx, out, in, n, type, op, flags);
}

static upsweep_status check_scan(upsweep_context *ctx, const struct scan_args *a) {
    const size_t nbytes = upsweep_type_nbytes(a->type);
    const struct array out = {"out", a->out, a->n, nbytes, nbytes}, in = {"in", a->in, a->n, nbytes, nbytes};
    const struct array init = {"init", a->init, a->init != NULL, nbytes, nbytes};
    const struct array total = {"total", a->total, a->total != NULL, nbytes, nbytes};
    TRY(check_array(ctx, out));
    TRY(check_array(ctx, in));
    if (a->init == NULL && a->total == NULL) return check_apart(ctx, out, in, true);
    TRY(check_array(ctx, init));
    TRY(check_array(ctx, total)); /* aligned as they are, these two can be one, but not overlap in part */
    TRY(check_apart(ctx, out, in, true));
    TRY(check_apart(ctx, init, in, false));
    TRY(check_apart(ctx, init, out, false));
    TRY(check_apart(ctx, total, in, false));
    return check_apart(ctx, total, out, false);
}

upsweep_status upsweep_scan_ex(upsweep_context *ctx, void *out, const void *in, uint64_t n, upsweep_type type, upsweep_op op,
                               uint32_t flags, const void *init, void *total) {
    TRY(begin(ctx));
    TRY(check_type(ctx, type));
    if (!upsweep_type_has_op(type, op))
        return upsweep_op_name(op) == NULL
                   ? context_fail(ctx, UPSWEEP_ERR_OP, "op %d is not in the table of operators", (int)op)
                   : context_fail(ctx, UPSWEEP_ERR_OP, "type %s has no operator %s", upsweep_type_name(type), upsweep_op_name(op));
    if (flags > UPSWEEP_INCLUSIVE) return context_fail(ctx, UPSWEEP_ERR_FLAGS, "flags 0x%x: only UPSWEEP_INCLUSIVE is known", flags);
    const struct scan_args args = {out, in, n, type, op, flags == UPSWEEP_INCLUSIVE, init, total};
    TRY(check_scan(ctx, &args));
    if (n == 0 && total == NULL) return UPSWEEP_OK;
    TRY(context_need_scratch(ctx, ctx->backend->scan_scratch(ctx, n, upsweep_type_nbytes(type))));
    return ctx->backend->scan(ctx, &args);
}

/* ---- compact and partition --------------------------------------------------------------------------------------------------- */

/* What the five calls share: arrays, scratch, backend. Outputs and count overlap nothing, but out == in or rest == in where in_place. */
static upsweep_status run_compact(upsweep_context *ctx, const struct compact_args *a, bool in_place) {
    const bool records = a->flags != NULL;
    const size_t in_align = records ? 1 : a->elem_nbytes;
    size_t out_nbytes = a->elem_nbytes, out_align = in_align;
    if (a->output == COMPACT_INDICES32) out_nbytes = out_align = sizeof(uint32_t);
    if (a->output == COMPACT_INDICES64) out_nbytes = out_align = sizeof(uint64_t);
    const struct array out = {"out", a->out, a->n, out_nbytes, out_align}, in = {"in", a->in, a->n, a->elem_nbytes, in_align};
    const struct array rest = {"rest", a->rest, a->rest != NULL ? a->n : 0, out_nbytes, out_align};
    const struct array flags = {"flags", a->flags, records ? a->n : 0, 1, 1};
    const struct array count = {"count", a->count, 1, sizeof(uint64_t), sizeof(uint64_t)};
    TRY(check_array(ctx, count));
    TRY(check_array(ctx, out));
    TRY(check_array(ctx, rest));
    TRY(check_array(ctx, in));
    TRY(check_array(ctx, flags));
    TRY(check_apart(ctx, out, in, in_place));
    TRY(check_apart(ctx, out, rest, false));
    TRY(check_apart(ctx, out, flags, false));
    TRY(check_apart(ctx, rest, in, in_place));
    TRY(check_apart(ctx, rest, flags, false));
    TRY(check_apart(ctx, count, out, false));
    TRY(check_apart(ctx, count, rest, false));
    TRY(check_apart(ctx, count, in, false));
    TRY(check_apart(ctx, count, flags, false));
    TRY(context_need_scratch(ctx, ctx->backend->compact_scratch(ctx, a->n, a->elem_nbytes, a->output == COMPACT_SPLIT)));
    return ctx->backend->compact(ctx, a);
}

/* By predicate: checks the type and the predicate, then the rest. */
static upsweep_status compact_where(upsweep_context *ctx, struct compact_args *a, const upsweep_predicate *keep, bool in_place) {
    TRY(begin(ctx));
    TRY(check_type(ctx, a->type));
    TRY(check_predicate(ctx, a->type, keep, &a->keep));
    a->elem_nbytes = upsweep_type_nbytes(a->type);
    return run_compact(ctx, a, in_place);
}

/* By byte flags: elements are records of any size. */
static upsweep_status compact_flagged(upsweep_context *ctx, struct compact_args *a) {
    static const uint8_t no_flags; /* n = 0 may come with flags NULL, but NULL means "by predicate" to a backend */
    TRY(begin(ctx));
    TRY(check_elem_nbytes(ctx, a->elem_nbytes, "elem_nbytes"));
    if (a->flags == NULL && a->n > 0) return context_fail(ctx, UPSWEEP_ERR_NULL, "flags is NULL");
    if (a->flags == NULL) a->flags = &no_flags;
    return run_compact(ctx, a, false);
}

upsweep_status compact_any(upsweep_context *ctx, void *out, uint64_t *count, const void *in, uint64_t n, upsweep_type type,
                           const upsweep_predicate *keep) {
    struct compact_args args = {.out = out, .count = count, .in = in, .n = n, .type = type, .output = COMPACT_KEPT};
    return compact_where(ctx, &args, keep, true);
}

upsweep_status upsweep_compact(upsweep_context *ctx, void *out, uint64_t *count, const void *in, uint64_t n, upsweep_type type,
                               const upsweep_predicate *keep) {
    return WAY(ctx, compact)(ctx, out, count, in, n, type, keep);
}

upsweep_status compact_flags_any(upsweep_context *ctx, void *out, uint64_t *count, const void *in, const uint8_t *flags, uint64_t n,
                                 size_t elem_nbytes) {
    struct compact_args args = {
        .out = out, .count = count, .in = in, .flags = flags, .n = n, .elem_nbytes = elem_nbytes, .output = COMPACT_KEPT};
    return compact_flagged(ctx, &args);
}

upsweep_status upsweep_compact_flags(upsweep_context *ctx, void *out, uint64_t *count, const void *in, const uint8_t *flags, uint64_t n,
                                     size_t elem_nbytes) {
    return WAY(ctx, compact_flags)(ctx, out, count, in, flags, n, elem_nbytes);
}

upsweep_status compact_indices_any(upsweep_context *ctx, void *out, uint64_t *count, const void *in, uint64_t n, upsweep_type type,
                                   const upsweep_predicate *keep, upsweep_type index_type, uint64_t base) {
    TRY(begin(ctx));
    TRY(check_index_type(ctx, index_type, base, n));
    const enum compact_output output = index_type == UPSWEEP_U32 ? COMPACT_INDICES32 : COMPACT_INDICES64;
    struct compact_args args = {.out = out, .count = count, .in = in, .n = n, .type = type, .output = output, .base = base};
    return compact_where(ctx, &args, keep, false);
}

upsweep_status upsweep_compact_indices(upsweep_context *ctx, void *out, uint64_t *count, const void *in, uint64_t n, upsweep_type type,
                                       const upsweep_predicate *keep, upsweep_type index_type, uint64_t base) {
    return WAY(ctx, compact_indices)(ctx, out, count, in, n, type, keep, index_type, base);
}

upsweep_status partition_any(upsweep_context *ctx, void *out, void *rest, uint64_t *count, const void *in, uint64_t n, upsweep_type type,
                             const upsweep_predicate *keep) {
    struct compact_args args = {.out = out, .rest = rest, .count = count, .in = in, .n = n, .type = type, .output = COMPACT_SPLIT};
    return compact_where(ctx, &args, keep, rest != NULL);
}

upsweep_status upsweep_partition(upsweep_context *ctx, void *out, void *rest, uint64_t *count, const void *in, uint64_t n,
                                 upsweep_type type, const upsweep_predicate *keep) {
    return WAY(ctx, partition)(ctx, out, rest, count, in, n, type, keep);
}

upsweep_status partition_flags_any(upsweep_context *ctx, void *out, void *rest, uint64_t *count, const void *in, const uint8_t *flags,
                                   uint64_t n, size_t elem_nbytes) {
    struct compact_args args = {
        .out = out, .rest = rest, .count = count, .in = in, .flags = flags, .n = n, .elem_nbytes = elem_nbytes, .output = COMPACT_SPLIT};
    return compact_flagged(ctx, &args);
}

upsweep_status upsweep_partition_flags(upsweep_context *ctx, void *out, void *rest, uint64_t *count, const void *in, const uint8_t *flags,
                                       uint64_t n, size_t elem_nbytes) {
    return WAY(ctx, partition_flags)(ctx, out, rest, count, in, flags, n, elem_nbytes);
}

/* ---- sort -------------------------------------------------------------------------------------------------------------------- */

/* What the three calls share once their arrays are checked. */
static upsweep_status run_sort(upsweep_context *ctx, const struct sort_args *a) {
    if (a->n == 0) return UPSWEEP_OK;
    const struct backend *b = ctx->backend;
    const size_t key_nbytes = upsweep_type_nbytes(a->type);
    const uint64_t nbytes = a->low_memory && b->sort_low_memory_scratch != NULL
                                ? b->sort_low_memory_scratch(ctx, a->n, key_nbytes)
                                : b->sort_scratch(ctx, a->n, key_nbytes, a->value_nbytes, a->keys_out == NULL);
    TRY(context_need_scratch(ctx, nbytes));
    return b->sort(ctx, a);
}

upsweep_status sort_any(upsweep_context *ctx, void *out, const void *in, uint64_t n, upsweep_type type, const upsweep_order *order) {
    TRY(begin(ctx));
    TRY(check_type(ctx, type));
    struct sort_args args = {.keys_out = out, .keys_in = in, .n = n, .type = type};
    TRY(check_order(ctx, type, order, &args));
    const size_t nbytes = upsweep_type_nbytes(type);
    const struct array a_out = {"out", out, n, nbytes, nbytes}, a_in = {"in", in, n, nbytes, nbytes};
    TRY(check_array(ctx, a_out));
    TRY(check_array(ctx, a_in));
    TRY(check_apart(ctx, a_out, a_in, true));
    return run_sort(ctx, &args);
}

upsweep_status upsweep_sort(upsweep_context *ctx, void *out, const void *in, uint64_t n, upsweep_type type, const upsweep_order *order) {
    return WAY(ctx, sort)(ctx, out, in, n, type, order);
}

upsweep_status upsweep_sort_pairs(upsweep_context *ctx, void *keys_out, const void *keys_in, void *values_out, const void *values_in,
                                  uint64_t n, upsweep_type type, size_t value_nbytes, const upsweep_order *order) {
    const struct short_cuts *few = short_cuts_of(ctx);
    struct sort_args args = {.keys_out = keys_out,
                             .keys_in = keys_in,
                             .values_out = values_out,
                             .values_in = values_in,
                             .n = n,
                             .type = type,
                             .value_nbytes = value_nbytes};
    if (few != NULL && keys_out != NULL && few->sort_values(ctx, &args, order)) return UPSWEEP_OK;
    TRY(begin(ctx));
    TRY(check_type(ctx, type));
    TRY(check_elem_nbytes(ctx, value_nbytes, "value_nbytes"));
    TRY(check_order(ctx, type, order, &args));
    const size_t nbytes = upsweep_type_nbytes(type);
    const struct array arrays[4] = {{"keys_out", keys_out, n, nbytes, nbytes},
                                    {"keys_in", keys_in, n, nbytes, nbytes},
                                    {"values_out", values_out, n, value_nbytes, 1},
                                    {"values_in", values_in, n, value_nbytes, 1}};
    for (int i = 0; i < 4; i++) TRY(check_array(ctx, arrays[i]));
    for (int i = 0; i < 4; i += 2) /* each output: may be its own input, and overlaps nothing else */
        for (int j = 0; j < 4; j++)
            if (i != j) TRY(check_apart(ctx, arrays[i], arrays[j], j == i + 1));
    return run_sort(ctx, &args);
}

upsweep_status upsweep_argsort(upsweep_context *ctx, void *indices, const void *keys, uint64_t n, upsweep_type type,
                               upsweep_type index_type, const upsweep_order *order) {
    const struct short_cuts *few = short_cuts_of(ctx);
    const size_t index_nbytes = index_type == UPSWEEP_U32 ? sizeof(uint32_t) : sizeof(uint64_t);
    struct sort_args args = {.keys_in = keys, .values_out = indices, .n = n, .type = type, .value_nbytes = index_nbytes};
    const bool is_index = index_type == UPSWEEP_U32 || index_type == UPSWEEP_U64;
    if (few != NULL && is_index && few->sort_values(ctx, &args, order)) return UPSWEEP_OK;
    TRY(begin(ctx));
    TRY(check_type(ctx, type));
    TRY(check_index_type(ctx, index_type, 0, n));
    TRY(check_order(ctx, type, order, &args));
    const size_t nbytes = upsweep_type_nbytes(type);
    const struct array a_indices = {"indices", indices, n, index_nbytes, index_nbytes}, a_keys = {"keys", keys, n, nbytes, nbytes};
    TRY(check_array(ctx, a_indices));
    TRY(check_array(ctx, a_keys));
    TRY(check_apart(ctx, a_indices, a_keys, false));
    return run_sort(ctx, &args);
}

/* ---- UTF-8 ------------------------------------------------------------------------------------------------------------------- */

static upsweep_status check_utf8_arrays(upsweep_context *ctx, const struct utf8_args *a) {
    const size_t in_nbytes = encoding_nbytes(a->from), out_nbytes = encoding_nbytes(a->to);
    const struct array report = {"report", a->report, 1, sizeof *a->report, sizeof(uint64_t)};
    const struct array out = {"out", a->out, a->capacity, out_nbytes, out_nbytes}, in = {"in", a->in, a->n, in_nbytes, in_nbytes};
    TRY(check_array(ctx, report));
    TRY(check_array(ctx, out));
    TRY(check_array(ctx, in));
    TRY(check_apart(ctx, out, report, false));
    TRY(check_apart(ctx, in, report, false));
    TRY(check_apart(ctx, in, out, false));
    if (a->map == NULL) return UPSWEEP_OK;
    const struct array map = {"map", a->map, a->capacity, sizeof(uint64_t), sizeof(uint64_t)};
    TRY(check_array(ctx, map));
    TRY(check_apart(ctx, map, report, false));
    TRY(check_apart(ctx, map, out, false));
    return check_apart(ctx, map, in, false);
}

static upsweep_status run_utf8(upsweep_context *ctx, struct utf8_args *a, const upsweep_utf8_options *options, bool decode) {
    TRY(begin(ctx));
    TRY(check_utf8_options(ctx, options, decode, a));
    if (a->out == NULL && a->capacity == 0) a->map = NULL;
    TRY(check_utf8_arrays(ctx, a));
    TRY(context_need_scratch(ctx, ctx->backend->utf8_scratch(ctx, a->n, encoding_nbytes(a->from))));
    return ctx->backend->utf8(ctx, a);
}

upsweep_status utf8_decode_any(upsweep_context *ctx, void *out, uint64_t capacity, upsweep_utf8_report *report, const void *in, uint64_t n,
                               const upsweep_utf8_options *options) {
    struct utf8_args args = {.out = out, .capacity = capacity, .report = report, .in = in, .n = n};
    return run_utf8(ctx, &args, options, true);
}

upsweep_status utf8_encode_any(upsweep_context *ctx, void *out, uint64_t capacity, upsweep_utf8_report *report, const void *in, uint64_t n,
                               const upsweep_utf8_options *options) {
    struct utf8_args args = {.out = out, .capacity = capacity, .report = report, .in = in, .n = n};
    return run_utf8(ctx, &args, options, false);
}

upsweep_status utf8_measure_any(upsweep_context *ctx, upsweep_utf8_report *report, const void *in, uint64_t n, upsweep_on_error on_error) {
    const upsweep_utf8_options options = {.on_error = on_error};
    return utf8_decode_any(ctx, NULL, 0, report, in, n, &options);
}

upsweep_status upsweep_utf8_decode(upsweep_context *ctx, void *out, uint64_t capacity, upsweep_utf8_report *report, const void *in,
                                   uint64_t n, const upsweep_utf8_options *options) {
    return WAY(ctx, utf8_decode)(ctx, out, capacity, report, in, n, options);
}

upsweep_status upsweep_utf8_encode(upsweep_context *ctx, void *out, uint64_t capacity, upsweep_utf8_report *report, const void *in,
                                   uint64_t n, const upsweep_utf8_options *options) {
    return WAY(ctx, utf8_encode)(ctx, out, capacity, report, in, n, options);
}

static upsweep_status measure(upsweep_context *ctx, upsweep_utf8_report *report, const void *in, uint64_t n, upsweep_on_error on_error) {
    return WAY(ctx, utf8_measure)(ctx, report, in, n, on_error);
}

upsweep_status upsweep_utf8_validate(upsweep_context *ctx, upsweep_utf8_report *report, const void *in, uint64_t n) {
    return measure(ctx, report, in, n, UPSWEEP_STRICT);
}

upsweep_status upsweep_utf8_count(upsweep_context *ctx, upsweep_utf8_report *report, const void *in, uint64_t n) {
    return measure(ctx, report, in, n, UPSWEEP_REPLACE);
}

upsweep_status upsweep_utf8_read_report(upsweep_context *ctx, upsweep_utf8_report *host_report, const upsweep_utf8_report *report) {
    if (ctx == NULL) return UPSWEEP_ERR_NULL;
    if (host_report == NULL || report == NULL)
        return context_fail(ctx, UPSWEEP_ERR_NULL, "%s is NULL", report == NULL ? "report" : "host_report");
    TRY(upsweep_download(ctx, host_report, report, sizeof *report));
    const upsweep_utf8_report *r = host_report;
    if (r->status == UPSWEEP_ERR_CAPACITY)
        return context_fail(ctx, UPSWEEP_ERR_CAPACITY, "out has too little room: %" PRIu64 " code units are needed", r->needed);
    if (r->status == UPSWEEP_ERR_ENCODING)
        return context_fail(ctx, UPSWEEP_ERR_ENCODING, "ill-formed text at %" PRIu64 ": %s", r->error_at,
                            upsweep_text_error_text((upsweep_text_error)r->error));
    return UPSWEEP_OK;
}
