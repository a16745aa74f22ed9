/* main.c: upsweep-bench: walks the grids that were asked for, measures each subject on each point, and reports.
 *
 * A subject whose call would take too long at a size, judged by its time at the size before, is left out there: qsort of 2^28 keys would
 * take a minute. Exit status: 0 all good, 1 a result was wrong, 2 an error. */
#include "bench.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_GOOD = 0, EXIT_NO = 1, EXIT_ERROR = 2 };
enum { MAX_SUBJECTS = 128 };

struct bench {
    const char *axis[AXIS_COUNT]; /* from the command line, or NULL */
    const char *groups;           /* NULL: all */
    const char *json_path, *csv_path, *old_path;
    bool full;
    struct limits limits;

    const struct grid *grid; /* the current one, with the command line's axes */
    struct report *report;
    struct data data;
    double ms_per_item[MAX_SUBJECTS]; /* of the size before, by subject */
    uint64_t done, total;             /* points */
    uint64_t nrows, nwrong;
};

/* ---- the command line -------------------------------------------------------------------------------------------------------- */

#define AXIS_HELP(e, option, argument, help) "  --" option " " argument "\n        " help "\n"
static const char help_text[] =
    "Usage: upsweep-bench [options]\n"
    "\n"
    "Measures the rungs of the ladder, the library and its peers, side by side, in groups: a group for each figure of "
    "docs/performance.md.\n"
    "\n"
    "  --full           all sizes (the whole takes minutes on a GPU machine); without it, small ones only\n"
    "  --only LIST      only these groups (--list names them)\n"
    "  --list           list the groups and what can be measured, and stop\n"
    "  --json FILE      write the rows as lines of JSON\n"
    "  --csv FILE       write the rows as comma-separated values\n"
    "  --compare FILE   say what got faster or slower, beyond the noise, since an earlier run (its JSON lines)\n"
    "  --row-seconds S  time for the samples of a row (default 0.05)\n"
    "  --call-ms MS     leave out what takes longer for one call (default 200, with --full 400)\n"
    "\n"
    "These replace an axis in every group (source, algorithm and backend select within it):\n" AXIS_TABLE(
        AXIS_HELP) "\n"
                   "Exit status: 0 good, 1 a result was wrong, 2 an error.\n";
#undef AXIS_HELP

enum {
    OPTION_FULL = 256,
    OPTION_ONLY,
    OPTION_LIST,
    OPTION_JSON,
    OPTION_CSV,
    OPTION_COMPARE,
    OPTION_ROW_SECONDS,
    OPTION_CALL_MS,
    OPTION_AXIS
};

static int print_list(void) {
    const struct grid *grid;
    const struct subject *subject;
    for (size_t i = 0; (grid = grid_at(i)) != NULL; i++) printf("%-14s %s\n", grid->name, grid->what);
    printf("\n");
    for (size_t i = 0; (subject = subject_at(i)) != NULL; i++) {
        printf("%-6s %-4s %-13s %-22s %s\n", subject->rung != NULL ? "ladder" : "calls", subject->backend == LADDER_CPU ? "cpu" : "cuda",
               primitive_name(subject->primitive), subject->algorithm, subject->peer != NULL ? subject->peer() : "");
    }
    return EXIT_GOOD;
}

static bool positive(const char *text, double *value) {
    char *end = NULL;
    *value = strtod(text, &end);
    if (*end == '\0' && end != text && *value > 0) return true;
    fprintf(stderr, "upsweep-bench: '%s' is no positive number\n", text);
    return false;
}

/* -1: go on; else the exit status. */
static int take_option(struct bench *bench, int option) {
    switch (option) {
    case 'h':
        fputs(help_text, stdout);
        return EXIT_GOOD;
    case OPTION_LIST:
        return print_list();
    case OPTION_FULL:
        bench->full = true;
        return -1;
    case OPTION_ONLY:
        bench->groups = optarg;
        return -1;
    case OPTION_JSON:
        bench->json_path = optarg;
        return -1;
    case OPTION_CSV:
        bench->csv_path = optarg;
        return -1;
    case OPTION_COMPARE:
        bench->old_path = optarg;
        return -1;
    case OPTION_ROW_SECONDS:
        return positive(optarg, &bench->limits.row_s) ? -1 : EXIT_ERROR;
    case OPTION_CALL_MS:
        return positive(optarg, &bench->limits.call_ms) ? -1 : EXIT_ERROR;
    default:
        if (option < OPTION_AXIS) return EXIT_ERROR; /* getopt_long() has said why */
        bench->axis[option - OPTION_AXIS] = optarg;
        return -1;
    }
}

static int parse_options(struct bench *bench, int argc, char **argv) {
#define AXIS_OPTION(e, option, ...) {option, required_argument, NULL, OPTION_AXIS + e},
    static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                            {"full", no_argument, NULL, OPTION_FULL},
                                            {"only", required_argument, NULL, OPTION_ONLY},
                                            {"list", no_argument, NULL, OPTION_LIST},
                                            {"json", required_argument, NULL, OPTION_JSON},
                                            {"csv", required_argument, NULL, OPTION_CSV},
                                            {"compare", required_argument, NULL, OPTION_COMPARE},
                                            {"row-seconds", required_argument, NULL, OPTION_ROW_SECONDS},
                                            {"call-ms", required_argument, NULL, OPTION_CALL_MS},
                                            AXIS_TABLE(AXIS_OPTION){0}};
#undef AXIS_OPTION
    int status = -1, option;
    while (status < 0 && (option = getopt_long(argc, argv, "h", options, NULL)) != -1) status = take_option(bench, option);
    if (status < 0 && optind < argc) {
        fprintf(stderr, "upsweep-bench: takes no arguments, but got '%s' (see --help)\n", argv[optind]);
        status = EXIT_ERROR;
    }
    if (bench->limits.row_s <= 0) bench->limits.row_s = 0.05;
    if (bench->limits.call_ms <= 0) bench->limits.call_ms = bench->full ? 400 : 200;
    return status;
}

/* ---- one point --------------------------------------------------------------------------------------------------------------- */

static bool wanted(const struct bench *bench, const struct subject *subject, const struct point *point) {
    const char *source = subject->rung != NULL ? "ladder" : "calls", *backend = subject->backend == LADDER_CPU ? "cpu" : "cuda";
    const struct place *place = place_of(subject->backend);
    if (!subject_takes(subject, point) || place == NULL) return false;
    const char *const *axes[] = {bench->grid->axis, bench->axis}; /* what selects subjects must please both */
    for (int i = 0; i < 2; i++) {
        if (!list_has(axes[i][AXIS_SOURCE], source) || !list_has(axes[i][AXIS_ALGORITHM], subject->algorithm)) return false;
        if (!list_has(axes[i][AXIS_BACKEND], backend)) return false;
    }
    return place->missing() == NULL;
}

static uint32_t copy_threads(const struct subject *subject, const struct point *point) {
    if (subject->backend == LADDER_CUDA || !(subject->params & LADDER_THREADS)) return 1;
    return point->nthreads != 0 ? point->nthreads : hardware_threads();
}

/* False: the report could not be written. */
static bool measure(struct bench *bench, const struct subject *subject, const struct point *point, double *ms_per_item) {
    static struct result result;
    struct row row;
    memset(&result, 0, sizeof result);
    const bool ok = subject->rung != NULL ? measure_rung(subject, &bench->data, point, &bench->limits, &result)
                                          : measure_call(subject, &bench->data, point, &bench->limits, &result);
    if (!ok) {
        progress_clear();
        printf("%-22s %-4s %-13s %-4s %12ju FAILED: %s\n", subject->algorithm, subject->backend == LADDER_CPU ? "cpu" : "cuda",
               primitive_name(point->primitive), upsweep_type_name(point->type), (uintmax_t)point->n, result.error);
        bench->nwrong++;
        return true;
    }
    result.copy_ms =
        copy_ms(place_of(subject->backend), point_nbytes(point, result.kept), copy_threads(subject, point), result.method, point->cache);
    *ms_per_item = point->n >= 1024 ? result.median_ms / (double)point->n : 0; /* of small sizes it says nothing about large ones */
    row_fill(&row, bench->grid->name, subject, point, &result);
    bench->nrows++;
    return report_row(bench->report, &row);
}

static bool visit(void *arg, const struct point *point) {
    struct bench *bench = arg;
    const struct subject *subject;
    progress_show(bench->done++, bench->total, bench->grid->name);
    for (size_t i = 0; (subject = subject_at(i)) != NULL; i++) {
        if (!wanted(bench, subject, point)) continue;
        if (bench->ms_per_item[i] * (double)point->n > bench->limits.call_ms) continue;
        if (!data_make(&bench->data, point)) {
            fprintf(stderr, "upsweep-bench: out of memory for %ju elements\n", (uintmax_t)point->n);
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

/* The grid as this run wants it; false if not at all. */
static bool prepare_grid(const struct bench *bench, size_t index, struct grid *grid) {
    *grid = *grid_at(index);
    if (!list_has(bench->groups, grid->name)) return false;
    if (bench->full && grid->full_size != NULL) grid->axis[AXIS_SIZE] = grid->full_size;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool selects = axis == AXIS_SOURCE || axis == AXIS_ALGORITHM || axis == AXIS_BACKEND; /* wanted() sees to these */
        if (bench->axis[axis] != NULL && !selects) grid->axis[axis] = bench->axis[axis];
    }
    return true;
}

static bool count_points(struct bench *bench, char error[256]) {
    struct grid grid;
    for (size_t i = 0; grid_at(i) != NULL; i++) {
        if (prepare_grid(bench, i, &grid) && !grid_walk(&grid, count_point, &bench->total, error)) return false;
    }
    return true;
}

static bool run_grids(struct bench *bench, char error[256]) {
    struct grid grid;
    for (size_t i = 0; grid_at(i) != NULL; i++) {
        if (!prepare_grid(bench, i, &grid)) continue;
        bench->grid = &grid;
        memset(bench->ms_per_item, 0, sizeof bench->ms_per_item);
        report_group(bench->report, &grid);
        if (!grid_walk(&grid, visit, bench, error)) return false;
    }
    progress_clear();
    return true;
}

int main(int argc, char **argv) {
    static struct bench bench;
    char error[256] = "";
    const int status = parse_options(&bench, argc, argv);
    if (status >= 0) return status;
    if (!count_points(&bench, error)) {
        fprintf(stderr, "upsweep-bench: %s\n", error);
        return EXIT_ERROR;
    }
    bench.report = report_open(bench.json_path, bench.csv_path, bench.old_path);
    if (bench.report == NULL) return EXIT_ERROR;
    printf("%s\n", machine_json());
    bool ok = run_grids(&bench, error);
    release_arrays();
    data_free(&bench.data);
    printf("\n%ju rows, %ju failed\n", (uintmax_t)bench.nrows, (uintmax_t)bench.nwrong);
    ok = report_close(bench.report) && ok;
    if (!ok) fprintf(stderr, "upsweep-bench: %s\n", error[0] != '\0' ? error : "the results could not be written");
    return !ok ? EXIT_ERROR : bench.nwrong > 0 ? EXIT_NO : EXIT_GOOD;
}
