/* measure.c: one subject on one point: the result checked, then samples until their median is steady, then what they say.
 *
 * Steady: at least ten samples and a fifth of the time, and the medians of the first and the second half within one percent of each other.
 * The median and the quartiles are reported because times have a floor and a long tail: means and deviations mislead. */
#include "bench.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MIN_SAMPLES = 3, FIRST_SAMPLES = 5, STEADY_SAMPLES = 10 };

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool fail(struct result *result, const char *why) {
    snprintf(result->error, sizeof result->error, "%s", why);
    return false;
}

/* ---- statistics -------------------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between the two nearest of sorted samples. */
static double quantile(const double *sorted, uint32_t n, double q) {
    const double at = q * (n - 1);
    const uint32_t below = (uint32_t)at;
    const double above = below + 1 < n ? sorted[below + 1] : sorted[below];
    return sorted[below] + (at - below) * (above - sorted[below]);
}

static double median_of(const double *samples, uint32_t n) {
    double sorted[MAX_SAMPLES];
    memcpy(sorted, samples, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, ascending);
    return quantile(sorted, n, 0.5);
}

static bool steady(const struct result *result) {
    const uint32_t half = result->nsamples / 2;
    if (result->nsamples < STEADY_SAMPLES) return false;
    const double first = median_of(result->samples_ms, half), second = median_of(result->samples_ms + half, result->nsamples - half);
    return fabs(first - second) <= 0.01 * first;
}

static void summarise(struct result *result) {
    const uint32_t n = result->nsamples;
    if (n == 0) return;
    qsort(result->samples_ms, n, sizeof *result->samples_ms, ascending);
    result->median_ms = quantile(result->samples_ms, n, 0.5);
    result->min_ms = result->samples_ms[0];
    result->max_ms = result->samples_ms[n - 1];
    result->spread =
        result->median_ms > 0 ? (quantile(result->samples_ms, n, 0.75) - quantile(result->samples_ms, n, 0.25)) / result->median_ms : 0;
}

bool take_samples(const struct place *place, struct watch *watch, double limit_s, struct result *result) {
    const double start = now_s();
    result->method = watch->method;
    result->nsamples = 0;
    while (result->nsamples < MAX_SAMPLES) {
        if (!place->watch_sample(watch, &result->samples_ms[result->nsamples++])) return false;
        const double elapsed = now_s() - start;
        if (result->nsamples >= MIN_SAMPLES && elapsed > limit_s) break;
        if (elapsed > 0.2 * limit_s && result->nsamples % STEADY_SAMPLES == 0 && steady(result)) break;
    }
    summarise(result);
    return true;
}

/* ---- calls ------------------------------------------------------------------------------------------------------------------- */

/* What lies in the memory of a place: the input of the last point, uploaded once for all subjects. */
static struct {
    const struct place *place;
    struct point point;
    uint64_t made; /* as of the data in `in` */
    void *in, *out;
    uint8_t *flags;
    uint32_t *values, *values_out;
    uint64_t *count;
    upsweep_utf8_report *report;
} arrays;

void release_arrays(void) {
    if (arrays.place == NULL) return;
    void *const all[] = {arrays.in, arrays.out, arrays.flags, arrays.values, arrays.values_out, arrays.count, arrays.report};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i] != NULL) arrays.place->free(all[i]);
    }
    memset(&arrays, 0, sizeof arrays);
}

static void *load(const struct place *place, const void *src, size_t nbytes, bool *ok) {
    void *p = place->alloc(nbytes);
    *ok = p != NULL && *ok && (src == NULL || place->upload(p, src, nbytes));
    return p;
}

static bool load_arrays(const struct place *place, const struct data *data) {
    const size_t n = (size_t)data->point.n, values_nbytes = point_values_nbytes(&data->point);
    if (arrays.place == place && memcmp(&arrays.point, &data->point, sizeof data->point) == 0) return true;
    void *in = arrays.place == place && arrays.made == data->made ? arrays.in : NULL; /* keys that are there from the call before */
    if (in != NULL) arrays.in = NULL;
    release_arrays();
    bool ok = true;
    arrays.place = place;
    arrays.point = data->point;
    arrays.made = data->made;
    arrays.in = in != NULL ? in : load(place, data->in, data->in_nbytes, &ok);
    arrays.out = load(place, NULL, data->out_nbytes, &ok);
    arrays.count = load(place, NULL, sizeof *arrays.count, &ok);
    if (point_is_text(&data->point)) arrays.report = load(place, NULL, sizeof *arrays.report, &ok);
    if (data->flags != NULL) arrays.flags = load(place, data->flags, n, &ok);
    if (data->values != NULL) arrays.values = load(place, data->values, values_nbytes, &ok);
    if (data->values != NULL) arrays.values_out = load(place, NULL, values_nbytes, &ok);
    if (!ok) release_arrays();
    return ok;
}

static bool poison_outputs(const struct call *call) {
    const struct place *place = call->place;
    const bool ok = place->poison(call->out, call->out_nbytes) && place->poison(call->count, sizeof *call->count);
    return ok && (call->report == NULL || place->poison(call->report, sizeof *call->report)) &&
           (call->values_out == NULL || place->poison(call->values_out, point_values_nbytes(&call->point)));
}

/* What a call on text says of its work, as check_result() wants it; and the bytes of out that it has written. */
static bool fetch_report(const struct call *call, uint64_t *count, size_t *out_nbytes) {
    const struct point *point = &call->point;
    const size_t unit_nbytes = point->primitive == UTF8_DECODE ? upsweep_encoding_nbytes(point->encoding) : 1;
    upsweep_utf8_report report;
    if (!call->place->download(&report, call->report, sizeof report)) return false;
    *count = report.written;
    if (point->primitive == UTF8_COUNT) *count = report.needed;
    if (point->primitive == UTF8_VALIDATE) *count = report.error_at == UINT64_MAX;
    *out_nbytes = point_converts(point) && report.written <= call->out_nbytes / unit_nbytes ? (size_t)report.written * unit_nbytes : 0;
    return true;
}

static bool fetch(const struct call *call, struct data *data, uint64_t *count) {
    const struct place *place = call->place;
    size_t out_nbytes = call->point.primitive == ARGSORT ? 0 : call->out_nbytes; /* keys, if any, are a by-product */
    bool ok = place->sync();
    if (ok && call->report != NULL) ok = fetch_report(call, count, &out_nbytes);
    if (ok && point_selects(&call->point)) ok = place->download(count, call->count, sizeof *count);
    ok = ok && place->download(data->out, call->out, out_nbytes);
    return ok && (call->values_out == NULL || place->download(data->values_out, call->values_out, point_values_nbytes(&call->point)));
}

/* One run on poisoned outputs, fetched and checked. */
static bool run_and_check(struct call *call, struct data *data, struct result *result) {
    uint64_t count = call->point.n;
    if (!poison_outputs(call)) return fail(result, "cannot be poisoned");
    if (!call->subject->run(call)) return fail(result, call->error);
    if (!fetch(call, data, &count)) return fail(result, "the place failed");
    result->count = count;
    return check_result(data, &call->point, count, call->subject->reversed_rest, result->error);
}

static bool run_call(void *arg) {
    struct call *call = arg;
    return call->subject->run(call);
}

static bool sample_call(struct call *call, struct data *data, const struct limits *limits, struct result *result) {
    const struct place *place = call->place;
    const bool by_graph = place->backend == LADDER_CUDA && call->point.cache == HOT;
    struct watch watch = {.work = {run_call, call}, .method = by_graph ? BY_GRAPH : BY_EVENTS, .cache = call->point.cache};
    if (!run_and_check(call, data, result)) return false;
    const bool ok = place->watch_open(&watch) && take_samples(place, &watch, limits->row_s, result);
    place->watch_close(&watch);
    return ok || fail(result, call->error[0] != '\0' ? call->error : "cannot be timed");
}

bool measure_call(const struct subject *subject, struct data *data, const struct point *point, const struct limits *limits,
                  struct result *result) {
    const struct place *place = place_of(subject->backend);
    if (!load_arrays(place, data)) return fail(result, "out of memory");
    struct call call = {.subject = subject,
                        .place = place,
                        .point = *point,
                        .nitems = data->nitems,
                        .in = arrays.in,
                        .out = arrays.out,
                        .out_nbytes = data->out_nbytes,
                        .flags = arrays.flags,
                        .values = arrays.values,
                        .values_out = arrays.values_out,
                        .count = arrays.count,
                        .report = arrays.report};
    const bool ok = subject->open(&call) ? sample_call(&call, data, limits, result) : fail(result, call.error);
    subject->close(&call);
    return ok;
}

/* ---- rungs ------------------------------------------------------------------------------------------------------------------- */

/* A rung that encodes fills the last element up with zeros, which are no part of a text. */
static uint64_t bytes_of(const struct ladder_job *job) {
    const uint8_t *bytes = (const uint8_t *)job->out;
    uint64_t n = 4 * job->count;
    while (n > 0 && bytes[n - 1] == 0) n--;
    return n;
}

/* A rung keeps its own time: a few repeats tell how long it takes, then as many as fit, unless they agree already. The first of each run is
 * a warm-up. */
static bool run_rung(const struct subject *subject, struct data *data, const struct point *point, uint32_t repeats, struct result *result) {
    double samples_ms[MAX_SAMPLES];
    struct ladder_job job = {.in = data->in,
                             .out = data->out,
                             .n = data->nitems,
                             .block_size = point->block_size,
                             .nthreads = point->nthreads,
                             .num_bits = point->num_bits,
                             .repeats = repeats + 1,
                             .samples_ms = samples_ms};
    memset(data->out, 0xAB, data->out_nbytes);
    if (!ladder_run(subject->rung, &job)) return fail(result, job.error);
    result->nsamples = job.nsamples - 1;
    memcpy(result->samples_ms, samples_ms + 1, result->nsamples * sizeof *samples_ms);
    result->parts = job.times;
    result->count = point->primitive == UTF8_ENCODE ? bytes_of(&job) : job.count;
    return check_result(data, point, result->count, false, result->error);
}

bool measure_rung(const struct subject *subject, struct data *data, const struct point *point, const struct limits *limits,
                  struct result *result) {
    result->method = subject->backend == LADDER_CUDA ? BY_EVENTS : BY_CLOCK;
    if (!run_rung(subject, data, point, FIRST_SAMPLES, result)) return false;
    summarise(result);
    const double repeats = 1e3 * limits->row_s / (result->median_ms + 1e-6);
    const double long_ms = 0.1; /* far above what the clocks and the gaps between launches blur */
    if (repeats < 2 * FIRST_SAMPLES || (result->median_ms > long_ms && result->spread < 0.01)) return true;
    if (!run_rung(subject, data, point, repeats < MAX_SAMPLES / 2 ? (uint32_t)repeats : MAX_SAMPLES / 2, result)) return false;
    summarise(result);
    return true;
}
