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

/* NULL with n > 0, n * elem_nbytes beyond what a pointer can span, alignment, apart from the caller's scratch, and whether the backend may
 * touch it. */
upsweep_status check_array(upsweep_context *ctx, struct array a);

/* Two arrays share no byte; if may_be_equal, they may also be the very same. */
upsweep_status check_apart(upsweep_context *ctx, struct array a, struct array b, bool may_be_equal);

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
