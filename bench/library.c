/* library.c: the library's own calls as subjects, on either backend: the same few lines that any program would write. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

static bool explain(struct call *call, upsweep_context *ctx, upsweep_status status) {
    if (status != UPSWEEP_OK) snprintf(call->error, sizeof call->error, "%s", upsweep_error(ctx));
    return status == UPSWEEP_OK;
}

static bool library_open(struct call *call) {
    const bool on_cpu = call->place->backend == LADDER_CPU;
    const upsweep_options options = {
        .size = sizeof options, .nthreads = on_cpu ? call->point.nthreads : 0, .stream = call->place->stream()};
    upsweep_context *ctx = NULL;
    const upsweep_status status = upsweep_open_ex(&ctx, on_cpu ? "cpu" : "cuda", &options);
    call->state = ctx;
    return explain(call, NULL, status);
}

static upsweep_status run_on_text(struct call *call, upsweep_context *ctx) {
    const struct point *p = &call->point;
    const upsweep_utf8_options options = {.encoding = p->encoding, .on_error = p->mode};
    const uint64_t capacity = call->out_nbytes / (p->primitive == UTF8_DECODE ? upsweep_encoding_nbytes(p->encoding) : 1);
    switch (p->primitive) {
    case UTF8_DECODE:
        return upsweep_utf8_decode(ctx, call->out, capacity, call->report, call->in, call->nitems, &options);
    case UTF8_ENCODE:
        return upsweep_utf8_encode(ctx, call->out, capacity, call->report, call->in, call->nitems, &options);
    case UTF8_VALIDATE:
        return upsweep_utf8_validate(ctx, call->report, call->in, call->nitems);
    default:
        return upsweep_utf8_count(ctx, call->report, call->in, call->nitems);
    }
}

static upsweep_status run_on_elements(struct call *call, upsweep_context *ctx) {
    static const upsweep_predicate nonzero = {.cmp = UPSWEEP_NONZERO};
    const struct point *p = &call->point;
    const upsweep_order order = {.hi_bit = p->num_bits};
    switch (p->primitive) {
    case SCAN:
        return upsweep_scan(ctx, call->out, call->in, p->n, p->type, UPSWEEP_ADD, UPSWEEP_EXCLUSIVE);
    case COMPACT:
        return upsweep_compact(ctx, call->out, call->count, call->in, p->n, p->type, &nonzero);
    case COMPACT_FLAGS:
        return upsweep_compact_flags(ctx, call->out, call->count, call->in, call->flags, p->n, point_item_nbytes(p));
    case PARTITION:
        return upsweep_partition(ctx, call->out, NULL, call->count, call->in, p->n, p->type, &nonzero);
    case PARTITION_COPY:
        return upsweep_partition(ctx, call->out, (char *)call->out + call->out_nbytes / 2, call->count, call->in, p->n, p->type, &nonzero);
    case SORT:
        return upsweep_sort(ctx, call->out, call->in, p->n, p->type, &order);
    case SORT_PAIRS:
        return upsweep_sort_pairs(ctx, call->out, call->in, call->values_out, call->values, p->n, p->type, p->value_nbytes, &order);
    default:
        return upsweep_argsort(ctx, call->values_out, call->in, p->n, p->type, UPSWEEP_U32, &order);
    }
}

static bool library_run(struct call *call) {
    upsweep_context *ctx = call->state;
    return explain(call, ctx, point_is_text(&call->point) ? run_on_text(call, ctx) : run_on_elements(call, ctx));
}

static void library_close(struct call *call) { upsweep_close(call->state); }

#define ALL_TYPES ((1u << UPSWEEP_TYPE_COUNT) - 1)
#define LIBRARY_ROW(primitive, backend, params) \
    { "upsweep", primitive, backend, ALL_TYPES, params, false, NULL, library_open, library_run, library_close, NULL }
#define LIBRARY_ROWS(backend, params)                                                                                         \
    LIBRARY_ROW(SCAN, backend, params), LIBRARY_ROW(COMPACT, backend, params), LIBRARY_ROW(COMPACT_FLAGS, backend, params),   \
        LIBRARY_ROW(PARTITION, backend, params), LIBRARY_ROW(PARTITION_COPY, backend, params),                                \
        LIBRARY_ROW(SORT, backend, (params) | LADDER_NUM_BITS), LIBRARY_ROW(SORT_PAIRS, backend, (params) | LADDER_NUM_BITS), \
        LIBRARY_ROW(ARGSORT, backend, (params) | LADDER_NUM_BITS), LIBRARY_ROW(UTF8_DECODE, backend, params),                 \
        LIBRARY_ROW(UTF8_ENCODE, backend, params), LIBRARY_ROW(UTF8_VALIDATE, backend, params), LIBRARY_ROW(UTF8_COUNT, backend, params)

static const struct subject subjects[] = {
    LIBRARY_ROWS(LADDER_CPU, LADDER_THREADS),
#ifdef UPSWEEP_HAVE_CUDA
    LIBRARY_ROWS(LADDER_CUDA, 0),
#endif
};

const struct subject *library_at(size_t index) { return index < sizeof subjects / sizeof subjects[0] ? &subjects[index] : NULL; }
