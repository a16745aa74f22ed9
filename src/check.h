/* check.h: the checks that every primitive shares. Each returns OK, or puts a sentence that names the argument into the context. */
#ifndef UPSWEEP_CHECK_H
#define UPSWEEP_CHECK_H

#include "backend.h"

/* An array of a call: n elements of elem_nbytes, under the name that the docstring uses. */
struct array {
    const char *name;
    const void *data;
    uint64_t n;
    size_t elem_nbytes;
    size_t alignment; /* a power of two; 1 for bytes and records */
};

/* Says what is wrong with an array (status: NULL, SIZE, ALIGN, or ALIAS with the caller's scratch), and which two overlap. */
upsweep_status refuse_array(upsweep_context *ctx, const struct array *a, upsweep_status status);
upsweep_status refuse_overlap(upsweep_context *ctx, const struct array *a, const struct array *b, bool may_be_equal);

/* The checks of arrays are inlined, and divide nothing, because a call on a few elements consists of little else: as functions they cost a
 * scan 25 ns, most of it for copying these structs (Zen 5, 2026-11). */
#define CHECK_INLINE static inline __attribute__((always_inline))

CHECK_INLINE bool is_apart(const void *a, uint64_t a_nbytes, const void *b, uint64_t b_nbytes) {
    const uintptr_t a_start = (uintptr_t)a, a_end = a_start + (uintptr_t)a_nbytes;
    const uintptr_t b_start = (uintptr_t)b, b_end = b_start + (uintptr_t)b_nbytes;
    return a_end <= b_start || b_end <= a_start;
}

/* NULL with n > 0, n * elem_nbytes beyond what a pointer can span, alignment, apart from the caller's scratch, and whether the backend may
 * touch it. */
CHECK_INLINE upsweep_status check_array(upsweep_context *ctx, struct array a) {
    uint64_t nbytes;
    if (a.n == 0) return UPSWEEP_OK;
    if (a.data == NULL) return refuse_array(ctx, &a, UPSWEEP_ERR_NULL);
    if (__builtin_mul_overflow(a.n, a.elem_nbytes, &nbytes) || nbytes > PTRDIFF_MAX) return refuse_array(ctx, &a, UPSWEEP_ERR_SIZE);
    if ((uintptr_t)a.data > UINTPTR_MAX - (uintptr_t)nbytes) return refuse_array(ctx, &a, UPSWEEP_ERR_SIZE);
    if (((uintptr_t)a.data & (a.alignment - 1)) != 0) return refuse_array(ctx, &a, UPSWEEP_ERR_ALIGN);
    if (ctx->scratch_is_callers && !is_apart(a.data, nbytes, ctx->scratch, ctx->scratch_nbytes))
        return refuse_array(ctx, &a, UPSWEEP_ERR_ALIAS);
    return ctx->backend->check_memory(ctx, a.data, a.name);
}

/* Two arrays share no byte; if may_be_equal, they may also be the very same. */
CHECK_INLINE upsweep_status check_apart(upsweep_context *ctx, struct array a, struct array b, bool may_be_equal) {
    if (a.n == 0 || b.n == 0 || a.data == NULL || b.data == NULL) return UPSWEEP_OK;
    if (a.data == b.data && may_be_equal) return UPSWEEP_OK;
    if (is_apart(a.data, a.n * a.elem_nbytes, b.data, b.n * b.elem_nbytes)) return UPSWEEP_OK;
    return refuse_overlap(ctx, &a, &b, may_be_equal);
}

upsweep_status check_type(upsweep_context *ctx, upsweep_type type);
upsweep_status check_index_type(upsweep_context *ctx, upsweep_type index_type, uint64_t base, uint64_t n);
upsweep_status check_elem_nbytes(upsweep_context *ctx, size_t nbytes, const char *name);

/* The predicate fits the type; *out is it with its constant as the type holds it. */
upsweep_status check_predicate(upsweep_context *ctx, upsweep_type type, const upsweep_predicate *keep, upsweep_predicate *out);

/* The order fits the type; *args gets it with hi_bit resolved. */
upsweep_status check_order(upsweep_context *ctx, upsweep_type type, const upsweep_order *order, struct sort_args *args);

/* The options fit a conversion from or to UTF-8; *args gets them. */
upsweep_status check_utf8_options(upsweep_context *ctx, const upsweep_utf8_options *options, bool decode, struct utf8_args *args);

#endif
