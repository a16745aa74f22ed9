/* check.c: argument checks (see check.h). Nothing here touches data: a rejected call has cost nothing and written nothing. */
#include "check.h"

#include <inttypes.h>

enum { MAX_RECORD_NBYTES = 4096 };

/* ---- arrays ------------------------------------------------------------------------------------------------------------------ */

upsweep_status refuse_array(upsweep_context *ctx, const struct array *a, upsweep_status status) {
    if (status == UPSWEEP_ERR_NULL) return context_fail(ctx, status, "%s is NULL", a->name);
    if (status == UPSWEEP_ERR_ALIAS) return context_fail(ctx, status, "%s overlaps the scratch that was given", a->name);
    if (status == UPSWEEP_ERR_ALIGN)
        return context_fail(ctx, status, "%s is not aligned to its element type (%zu bytes)", a->name, a->alignment);
    return context_fail(ctx, status, "%s: %" PRIu64 " elements of %zu bytes are more than memory can address", a->name, a->n,
                        a->elem_nbytes);
}

upsweep_status refuse_overlap(upsweep_context *ctx, const struct array *a, const struct array *b, bool may_be_equal) {
    return context_fail(ctx, UPSWEEP_ERR_ALIAS, may_be_equal ? "%s and %s overlap without being the same array" : "%s and %s overlap",
                        a->name, b->name);
}

/* ---- types ------------------------------------------------------------------------------------------------------------------- */

upsweep_status check_type(upsweep_context *ctx, upsweep_type type) {
    if (upsweep_type_name(type) != NULL) return UPSWEEP_OK;
    return context_fail(ctx, UPSWEEP_ERR_TYPE, "type %d is not in the table of types", (int)type);
}

upsweep_status check_index_type(upsweep_context *ctx, upsweep_type index_type, uint64_t base, uint64_t n) {
    if (index_type != UPSWEEP_U32 && index_type != UPSWEEP_U64)
        return context_fail(ctx, UPSWEEP_ERR_TYPE, "index_type must be UPSWEEP_U32 or UPSWEEP_U64, not %d", (int)index_type);
    const uint64_t highest = index_type == UPSWEEP_U32 ? UINT32_MAX : UINT64_MAX;
    if (n > 0 && (base > highest || n - 1 > highest - base))
        return context_fail(ctx, UPSWEEP_ERR_SIZE, "index %" PRIu64 " + %" PRIu64 " does not fit index_type %s", base, n - 1,
                            upsweep_type_name(index_type));
    return UPSWEEP_OK;
}

upsweep_status check_elem_nbytes(upsweep_context *ctx, size_t nbytes, const char *name) {
    if (nbytes >= 1 && nbytes <= MAX_RECORD_NBYTES) return UPSWEEP_OK;
    return context_fail(ctx, UPSWEEP_ERR_SIZE, "%s is %zu; it must be 1 to %d", name, nbytes, MAX_RECORD_NBYTES);
}

/* ---- predicates -------------------------------------------------------------------------------------------------------------- */

static bool is_signed(upsweep_type type) { return type == UPSWEEP_I8 || type == UPSWEEP_I16 || type == UPSWEEP_I32 || type == UPSWEEP_I64; }

static bool is_float(upsweep_type type) { return type == UPSWEEP_F32 || type == UPSWEEP_F64; }

static upsweep_status check_signed_value(upsweep_context *ctx, upsweep_type type, int64_t value) {
    const int64_t highest = INT64_MAX >> (64 - 8 * upsweep_type_nbytes(type));
    if (value <= highest && value >= -highest - 1) return UPSWEEP_OK;
    return context_fail(ctx, UPSWEEP_ERR_VALUE, "the predicate's constant %" PRId64 " does not fit type %s", value,
                        upsweep_type_name(type));
}

static upsweep_status check_unsigned_value(upsweep_context *ctx, upsweep_type type, uint64_t value) {
    if (value <= UINT64_MAX >> (64 - 8 * upsweep_type_nbytes(type))) return UPSWEEP_OK;
    return context_fail(ctx, UPSWEEP_ERR_VALUE, "the predicate's constant %" PRIu64 " does not fit type %s", value,
                        upsweep_type_name(type));
}

upsweep_status check_predicate(upsweep_context *ctx, upsweep_type type, const upsweep_predicate *keep, upsweep_predicate *out) {
    if (keep == NULL) return context_fail(ctx, UPSWEEP_ERR_NULL, "keep is NULL");
    if (upsweep_cmp_name(keep->cmp) == NULL)
        return context_fail(ctx, UPSWEEP_ERR_PREDICATE, "keep: comparison %d is not in the table", (int)keep->cmp);
    if (!upsweep_type_has_cmp(type, keep->cmp))
        return context_fail(ctx, UPSWEEP_ERR_PREDICATE, "keep: type %s has no %s", upsweep_type_name(type), upsweep_cmp_name(keep->cmp));
    *out = *keep;
    if (keep->cmp == UPSWEEP_NONZERO || keep->cmp == UPSWEEP_NOT_NAN) {
        out->value.u = 0; /* was not to be looked at; also the bits of 0.0 */
        return UPSWEEP_OK;
    }
    if (is_signed(type)) return check_signed_value(ctx, type, keep->value.i);
    if (!is_float(type)) return check_unsigned_value(ctx, type, keep->value.u);
    if (type == UPSWEEP_F32) out->value.f = (double)(float)keep->value.f;
    return UPSWEEP_OK;
}

/* ---- order ------------------------------------------------------------------------------------------------------------------- */

upsweep_status check_order(upsweep_context *ctx, upsweep_type type, const upsweep_order *order, struct sort_args *args) {
    const uint32_t width = (uint32_t)(8 * upsweep_type_nbytes(type));
    const upsweep_order o = order != NULL ? *order : (upsweep_order){0};
    const uint32_t hi_bit = o.hi_bit != 0 ? o.hi_bit : width;
    if (o.descending > 1)
        return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "order: descending is %" PRIu32 "; it must be 0 or 1", o.descending);
    if (o.lo_bit > hi_bit || hi_bit > width)
        return context_fail(ctx, UPSWEEP_ERR_BITS, "order: bits [%" PRIu32 ", %" PRIu32 ") are not within the %" PRIu32 " bits of %s",
                            o.lo_bit, hi_bit, width, upsweep_type_name(type));
    if (o.low_memory > 1)
        return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "order: low_memory is %" PRIu32 "; it must be 0 or 1", o.low_memory);
    if (o.low_memory == 1 && (args->value_nbytes != 0 || o.lo_bit != 0 || hi_bit != width))
        return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "order: low_memory is for keys alone that are sorted by all their bits");
    args->low_memory = o.low_memory == 1;
    args->descending = o.descending == 1;
    args->lo_bit = o.lo_bit;
    args->hi_bit = hi_bit;
    return UPSWEEP_OK;
}

/* ---- text -------------------------------------------------------------------------------------------------------------------- */

upsweep_status check_utf8_options(upsweep_context *ctx, const upsweep_utf8_options *options, bool decode, struct utf8_args *args) {
    const upsweep_utf8_options o = options != NULL ? *options : (upsweep_utf8_options){.encoding = UPSWEEP_UTF32};
    if ((unsigned)o.encoding >= UPSWEEP_ENCODING_COUNT)
        return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "options: encoding %d is not in the table", (int)o.encoding);
    if (!decode && o.encoding == UPSWEEP_UTF8)
        return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "options: encoding from UTF-8 is what upsweep_utf8_decode() to UTF-8 does");
    if ((unsigned)o.on_error >= UPSWEEP_ON_ERROR_COUNT)
        return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "options: on_error %d is not in the table", (int)o.on_error);
    if (o.more > 1 || o.skip_bom > 1)
        return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "options: %s must be 0 or 1", o.more > 1 ? "more" : "skip_bom");
    if (o.map != NULL && (!decode || o.encoding != UPSWEEP_UTF32))
        return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "options: there is a map only when decoding to UTF-32");
    args->from = decode ? UPSWEEP_UTF8 : o.encoding;
    args->to = decode ? o.encoding : UPSWEEP_UTF8;
    args->on_error = o.on_error;
    args->more = o.more == 1;
    args->skip_bom = o.skip_bom == 1;
    args->map = o.map;
    args->map_base = o.map_base;
    return UPSWEEP_OK;
}
