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

static bool library_run(struct call *call) {
    static const upsweep_predicate nonzero = {.cmp = UPSWEEP_NONZERO};
    const struct point *p = &call->point;
    const upsweep_order order = {.hi_bit = p->num_bits};
    upsweep_context *ctx = call->state;
    switch (p->primitive) {
    case SCAN:
        return explain(call, ctx, upsweep_scan(ctx, call->out, call->in, p->n, p->type, UPSWEEP_ADD, UPSWEEP_EXCLUSIVE));
    case COMPACT:
        return explain(call, ctx, upsweep_compact(ctx, call->out, call->count, call->in, p->n, p->type, &nonzero));
    case COMPACT_FLAGS:
        return explain(call, ctx, upsweep_compact_flags(ctx, call->out, call->count, call->in, call->flags, p->n, point_item_nbytes(p)));
    case PARTITION:
        return explain(call, ctx, upsweep_partition(ctx, call->out, call->count, call->in, p->n, p->type, &nonzero));
    case SORT:
        return explain(call, ctx, upsweep_sort(ctx, call->out, call->in, p->n, p->type, &order));
    default:
        return explain(call, ctx, upsweep_sort_pairs(ctx, call->out, call->in, call->values_out, call->values, p->n, p->type, 4, &order));
    }
}

static void library_close(struct call *call) { upsweep_close(call->state); }

#define ALL_TYPES ((1u << UPSWEEP_TYPE_COUNT) - 1)
#define LIBRARY_ROW(primitive, backend, params) \
    { "upsweep", primitive, backend, ALL_TYPES, params, false, NULL, library_open, library_run, library_close, NULL }
#define LIBRARY_ROWS(backend, params)                                                                                       \
    LIBRARY_ROW(SCAN, backend, params), LIBRARY_ROW(COMPACT, backend, params), LIBRARY_ROW(COMPACT_FLAGS, backend, params), \
        LIBRARY_ROW(PARTITION, backend, params), LIBRARY_ROW(SORT, backend, (params) | LADDER_NUM_BITS),                    \
        LIBRARY_ROW(SORT_PAIRS, backend, (params) | LADDER_NUM_BITS)

static const struct subject subjects[] = {
    LIBRARY_ROWS(LADDER_CPU, LADDER_THREADS),
#ifdef UPSWEEP_HAVE_CUDA
    LIBRARY_ROWS(LADDER_CUDA, 0),
#endif
};

const struct subject *library_at(size_t index) { return index < sizeof subjects / sizeof subjects[0] ? &subjects[index] : NULL; }
