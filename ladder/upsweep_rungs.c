/* upsweep_rungs.c: the top rung of either side: the library itself, called as any program calls it.
 *
 *     in                3   0   7   0   4   1   0   3
 *     upsweep_scan      0   3   3  10  10  14  15  15
 *     upsweep_compact   3   7   4   1   3
 *     upsweep_sort      0   0   0   1   3   3   4   7
 *     upsweep_utf8_decode, _encode: text to code points and back, in the bytes that are read and written
 *
 * Scan: work O(n), depth O(log n) in a tile and a short chain of tiles, bytes 8n: one read, one write. Compact: bytes 4 (n + kept).
 * Sort: if the highest bits are spread, two or three rounds of reading and writing, instead of the 32 passes of the split sort
 * (docs/sort.md). Text: its bytes once, and what they become once.
 * Source: Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016; Adinets and Merrill, Onesweep, 2022;
 * Stehle and Jacobsen, A memory bandwidth-efficient hybrid radix sort on GPUs, 2017. */
#include "rungs.h"
#include "upsweep.h"

struct own {
    upsweep_context *ctx;
    void *in, *out; /* [n], in context memory */
    void *count;    /* [1], uint64_t or upsweep_utf8_report, likewise */
};

/* ---- the clocks -------------------------------------------------------------------------------------------------------------- */

/* Events on CUDA, where calls return before the work is done; the monotonic clock on the CPU, where they return after. */
struct stopwatch {
    double start_ms;
    struct ladder_device_clock *events; /* NULL: the monotonic clock */
};

static bool stopwatch_open(struct stopwatch *watch, enum ladder_backend backend) {
    if (backend == LADDER_CUDA) watch->events = ladder_device_clock_open();
    return backend == LADDER_CPU || watch->events != NULL;
}

static void stopwatch_close(struct stopwatch *watch) { ladder_device_clock_close(watch->events); }

static bool stopwatch_start(struct stopwatch *watch) {
    watch->start_ms = ladder_now_ms();
    return watch->events == NULL || ladder_device_clock_start(watch->events);
}

static bool stopwatch_stop(struct stopwatch *watch, double *ms) {
    *ms = ladder_now_ms() - watch->start_ms;
    return watch->events == NULL || ladder_device_clock_stop(watch->events, ms);
}

/* ---- the calls --------------------------------------------------------------------------------------------------------------- */

/* All that a call needs, so that the timed part allocates nothing. */
static upsweep_status prepare(struct own *own, const struct ladder_rung *rung, const struct ladder_job *job) {
    static const upsweep_primitive primitives[] = {[LADDER_SCAN] = UPSWEEP_PRIM_SCAN,
                                                   [LADDER_COMPACT] = UPSWEEP_PRIM_COMPACT,
                                                   [LADDER_SORT] = UPSWEEP_PRIM_SORT,
                                                   [LADDER_UTF8_DECODE] = UPSWEEP_PRIM_UTF8,
                                                   [LADDER_UTF8_ENCODE] = UPSWEEP_PRIM_UTF8};
    const size_t item_nbytes = rung->primitive == LADDER_UTF8_DECODE ? 1 : sizeof(int32_t);
    const size_t nbytes = (size_t)job->n * sizeof(int32_t);
    const upsweep_options options = {.size = sizeof options,
                                     .nthreads = rung->backend == LADDER_CPU ? job->nthreads : 0,
                                     .stream = rung->backend == LADDER_CUDA ? ladder_device_stream() : NULL};
    uint64_t scratch_nbytes = 0;

    upsweep_status status = upsweep_open_ex(&own->ctx, rung->backend == LADDER_CPU ? "cpu" : "cuda", &options);
    if (status == UPSWEEP_OK) status = upsweep_alloc(own->ctx, &own->in, nbytes);
    if (status == UPSWEEP_OK) status = upsweep_alloc(own->ctx, &own->out, nbytes);
    if (status == UPSWEEP_OK) status = upsweep_alloc(own->ctx, &own->count, sizeof(upsweep_utf8_report));
    if (status == UPSWEEP_OK) status = upsweep_upload(own->ctx, own->in, job->in, nbytes);
    if (status == UPSWEEP_OK) status = upsweep_upload(own->ctx, own->out, job->in, nbytes); /* touches its pages */
    if (status == UPSWEEP_OK) status = upsweep_scratch_size(own->ctx, &scratch_nbytes, primitives[rung->primitive], job->n, item_nbytes, 0);
    if (status == UPSWEEP_OK) status = upsweep_reserve(own->ctx, (size_t)scratch_nbytes);
    return status;
}

static upsweep_status call(struct own *own, enum ladder_primitive primitive, const struct ladder_job *job) {
    const upsweep_predicate nonzero = {.cmp = UPSWEEP_NONZERO};
    /* fewer than all bits are compared as unsigned ones: the ladder's rule, and the library's too, as the flipped sign bit is above them */
    const upsweep_order order = {.hi_bit = job->num_bits};
    if (primitive == LADDER_SCAN) return upsweep_scan(own->ctx, own->out, own->in, job->n, UPSWEEP_I32, UPSWEEP_ADD, UPSWEEP_EXCLUSIVE);
    if (primitive == LADDER_COMPACT) return upsweep_compact(own->ctx, own->out, own->count, own->in, job->n, UPSWEEP_I32, &nonzero);
    if (primitive == LADDER_UTF8_DECODE) return upsweep_utf8_decode(own->ctx, own->out, job->n, own->count, own->in, job->n, NULL);
    if (primitive == LADDER_UTF8_ENCODE) return upsweep_utf8_encode(own->ctx, own->out, 4 * job->n, own->count, own->in, job->n, NULL);
    return upsweep_sort(own->ctx, own->out, own->in, job->n, UPSWEEP_I32, &order);
}

/* The elements that a conversion has written; bytes are filled up to a whole one, as the ladder wants it. */
static upsweep_status fetch_text(struct own *own, enum ladder_primitive primitive, struct ladder_job *job) {
    upsweep_utf8_report report;
    const upsweep_status status = upsweep_utf8_read_report(own->ctx, &report, own->count);
    if (status != UPSWEEP_OK) return status;
    const size_t unit_nbytes = primitive == LADDER_UTF8_DECODE ? sizeof(int32_t) : 1, nbytes = (size_t)report.written * unit_nbytes;
    job->count = (nbytes + 3) / 4;
    if (job->count > 0) job->out[job->count - 1] = 0;
    return upsweep_download(own->ctx, job->out, own->out, nbytes);
}

static upsweep_status fetch(struct own *own, enum ladder_primitive primitive, struct ladder_job *job) {
    upsweep_status status = UPSWEEP_OK;
    if (primitive == LADDER_UTF8_DECODE || primitive == LADDER_UTF8_ENCODE) return fetch_text(own, primitive, job);
    if (primitive == LADDER_COMPACT) status = upsweep_read_count(own->ctx, &job->count, own->count);
    if (status == UPSWEEP_OK && job->count > job->n) job->count = job->n; /* a wrong count must not become a wild copy */
    if (status == UPSWEEP_OK) status = upsweep_download(own->ctx, job->out, own->out, (size_t)job->count * sizeof(int32_t));
    return status;
}

static bool repeat_call(struct own *own, enum ladder_primitive primitive, struct ladder_job *job, struct stopwatch *watch) {
    for (uint32_t repeat = 0; repeat < job->repeats; repeat++) {
        struct ladder_times times = {0};
        if (!stopwatch_start(watch)) return ladder_fail(job, "the clock of the device fails");
        if (call(own, primitive, job) != UPSWEEP_OK) return ladder_fail(job, "%s", upsweep_error(own->ctx));
        if (!stopwatch_stop(watch, &times.total_ms)) return ladder_fail(job, "the device failed during the call");
        ladder_record(job, times);
    }
    return true;
}

bool ladder_upsweep(const struct ladder_rung *rung, struct ladder_job *job) {
    struct own own = {0};
    struct stopwatch watch = {0};
    bool ok = false;

    if (prepare(&own, rung, job) != UPSWEEP_OK) {
        ladder_fail(job, "%s", upsweep_error(own.ctx));
    } else if (!stopwatch_open(&watch, rung->backend)) {
        ladder_fail(job, "no clock on the device");
    } else if (repeat_call(&own, rung->primitive, job, &watch)) {
        ok = fetch(&own, rung->primitive, job) == UPSWEEP_OK || ladder_fail(job, "%s", upsweep_error(own.ctx));
    }

    stopwatch_close(&watch);
    upsweep_free(own.ctx, own.in);
    upsweep_free(own.ctx, own.out);
    upsweep_free(own.ctx, own.count);
    upsweep_close(own.ctx);
    return ok;
}
