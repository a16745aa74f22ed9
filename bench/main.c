/* main.c: upsweep-bench: walks the grids that were asked for, measures each subject on each point, and reports.
 *
 * A subject whose call would take too long at a size, judged by its time at the size before, is left out there: qsort of 2^28 keys would
 * take a minute. So is a point for which there is too little memory. Exit status: 0 all good, 1 a result was wrong, 2 an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report.h"

enum { EXIT_GOOD = 0, EXIT_NO = 1, EXIT_ERROR = 2 };
enum { MAX_SUBJECTS = 128 };

struct bench {
    struct settings settings;
    const struct grid *grid; /* the current one, with the command line's axes */
    struct report *report;
    struct data data;
    double ms_per_item[MAX_SUBJECTS]; /* of the size before, by subject */
    double start_s;
    uint64_t done, total; /* points */
    uint64_t nrows, nwrong;
    bool late; /* the time is up */
};

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- one point --------------------------------------------------------------------------------------------------------------- */

/* What selects subjects must please both the grid and the command line. */
static bool selected(const struct bench *bench, const struct subject *subject) {
    const char *source = subject->rung != NULL ? "ladder" : "calls", *backend = subject->backend == LADDER_CPU ? "cpu" : "cuda";
    const char *const *axes[] = {bench->grid->axis, bench->settings.axis};
    for (int i = 0; i < 2; i++) {
        if (!list_has(axes[i][AXIS_SOURCE], source) || !list_has(axes[i][AXIS_ALGORITHM], subject->algorithm)) return false;
        if (!list_has(axes[i][AXIS_BACKEND], backend)) return false;
    }
    return true;
}

static bool wanted(const struct bench *bench, const struct subject *subject, const struct point *point) {
    const struct place *place = place_of(subject->backend);
    return selected(bench, subject) && subject_takes(subject, point) && place != NULL && place->missing() == NULL;
}

/* Elements and results lie here and in the place; some subjects need as much again. */
static bool fits_memory(const struct point *point) {
    const double item = point_is_text(point) ? 5.0 : 2.0 * (double)(point_item_nbytes(point) + point->value_nbytes);
    return 3 * item * (double)point->n < free_memory_nbytes();
}

static uint32_t copy_threads(const struct subject *subject, const struct point *point) {
    if (subject->backend == LADDER_CUDA || !(subject->params & LADDER_THREADS)) return 1;
    return point->nthreads != 0 ? point->nthreads : hardware_threads();
}

static bool report_wrong(struct bench *bench, const struct subject *subject, const struct point *point, const struct result *result) {
    progress_clear();
    printf("%-22s %-4s %-13s %-7s %12ju FAILED: %s\n", subject->algorithm, subject->backend == LADDER_CPU ? "cpu" : "cuda",
           primitive_name(point->primitive), upsweep_type_name(point->type), (uintmax_t)point->n, result->error);
    fflush(stdout);
    bench->nwrong++;
    return true;
}

/* False: the report could not be written. */
static bool measure(struct bench *bench, const struct subject *subject, const struct point *point, double *ms_per_item) {
    static struct result result;
    const struct limits *limits = &bench->settings.limits;
    struct row row;
    memset(&result, 0, sizeof result);
    const bool ok = subject->rung != NULL ? measure_rung(subject, &bench->data, point, limits, &result)
                                          : measure_call(subject, &bench->data, point, limits, &result);
    if (!ok) return report_wrong(bench, subject, point, &result);
    result.nbytes = necessary_nbytes(&bench->data, point, result.count);
    result.text_nbytes = point->primitive == UTF8_ENCODE ? (double)result.count : (double)point->n;
    result.copy_ms = copy_ms(place_of(subject->backend), result.nbytes, copy_threads(subject, point), result.method, point->cache);
    *ms_per_item = point->n >= 1024 ? result.median_ms / (double)point->n : 0; /* of small sizes it says nothing about large ones */
    row_fill(&row, bench->grid->name, subject, point, &result);
    bench->nrows++;
    return report_row(bench->report, &row);
}

/* False: the report could not be written, or the time is up. */
static bool visit(void *arg, const struct point *point) {
    struct bench *bench = arg;
    const struct subject *subject;
    progress_show(bench->done++, bench->total, bench->grid->name);
    for (size_t i = 0; (subject = subject_at(i)) != NULL; i++) {
        if (!wanted(bench, subject, point)) continue;
        if (bench->ms_per_item[i] * (double)point->n > bench->settings.limits.call_ms) continue;
        bench->late = bench->settings.max_s > 0 && now_s() - bench->start_s > bench->settings.max_s;
        if (bench->late) return false;
        if (!fits_memory(point) || !data_make(&bench->data, point)) {
            progress_clear();
            fprintf(stderr, "upsweep-bench: too little memory for %ju elements\n", (uintmax_t)point->n);
            return true; /* the larger points will not fit either, but smaller ones may come */
        }
        if (!measure(bench, subject, point, &bench->ms_per_item[i])) return false;
    }
    return true;
}

/* ---- all of them ------------------------------------------------------------------------------------------------------------- */

static bool count_point(void *arg, const struct point *point) {
    (void)point;
    ++*(uint64_t *)arg;
    return true;
}

static bool count_points(struct bench *bench, char error[256]) {
    struct grid grid;
    for (size_t i = 0; grid_at(i) != NULL; i++) {
        if (settings_grid(&bench->settings, i, &grid) && !grid_walk(&grid, count_point, &bench->total, error)) return false;
    }
    return true;
}

static bool run_grids(struct bench *bench, char error[256]) {
    struct grid grid;
    for (size_t i = 0; grid_at(i) != NULL; i++) {
        if (!settings_grid(&bench->settings, i, &grid)) continue;
        const double start_s = now_s();
        bench->grid = &grid;
        memset(bench->ms_per_item, 0, sizeof bench->ms_per_item);
        report_group(bench->report, &grid);
        const bool whole = grid_walk(&grid, visit, bench, error);
        report_group_end(bench->report, now_s() - start_s);
        if (!whole) return bench->late;
    }
    return true;
}

/* Why a run has no rows, in a sentence. */
static const char *explain_nothing(const struct settings *settings) {
    const char *backends = settings->axis[AXIS_BACKEND];
    const bool gpu_only = backends != NULL && list_has(backends, "cuda") && !list_has(backends, "cpu");
    if (gpu_only && ladder_missing(LADDER_CUDA) != NULL) return ladder_missing(LADDER_CUDA);
    return "nothing in these groups is what was asked for (see --list)";
}

static int summarise_run(const struct bench *bench, bool ok, const char *error) {
    printf("\n%ju rows, %ju failed, %.0f s\n", (uintmax_t)bench->nrows, (uintmax_t)bench->nwrong, now_s() - bench->start_s);
    if (bench->late)
        printf("stopped after %g s, at point %ju of %ju\n", bench->settings.max_s, (uintmax_t)bench->done, (uintmax_t)bench->total);
    if (!ok) {
        fprintf(stderr, "upsweep-bench: %s\n", error[0] != '\0' ? error : "the results could not be written");
        return EXIT_ERROR;
    }
    if (bench->nrows + bench->nwrong == 0) {
        fprintf(stderr, "upsweep-bench: nothing was measured: %s\n", explain_nothing(&bench->settings));
        return EXIT_ERROR;
    }
    return bench->nwrong > 0 ? EXIT_NO : EXIT_GOOD;
}

int main(int argc, char **argv) {
    static struct bench bench;
    char error[256] = "";
    const int status = settings_parse(&bench.settings, argc, argv);
    if (status >= 0) return status;
    bench.start_s = now_s();
    if (!count_points(&bench, error)) {
        fprintf(stderr, "upsweep-bench: %s\n", error);
        return EXIT_ERROR;
    }
    const struct settings *settings = &bench.settings;
    bench.report = report_open(settings->json_path, settings->csv_path, settings->old_path);
    if (bench.report == NULL) return EXIT_ERROR;
    printf("%s\n", machine_json());
    bool ok = run_grids(&bench, error);
    progress_clear();
    release_arrays();
    data_free(&bench.data);
    ok = report_close(bench.report) && ok;
    return summarise_run(&bench, ok, error);
}
