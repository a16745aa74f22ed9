/* settings.c: the command line of upsweep-bench. What cannot be meant (a group that is not there, an algorithm that nobody has) is an
 * error: a long run that measures nothing would be a poor answer to a slip. */
#include "bench.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PLAN "figures"
enum { EXIT_GOOD = 0, EXIT_ERROR = 2 };

#define AXIS_HELP(e, option, help) "  --" option " LIST\n        " help "\n"
static const char help_text[] =
    "Usage: upsweep-bench [options]\n"
    "\n"
    "Measures the rungs of the ladder, the library and its peers, side by side, in groups: a group for each figure or table of\n"
    "docs/performance.md, the most important first.\n"
    "\n"
    "  --full           all sizes (the whole takes minutes on a GPU machine); without it, small ones only\n"
    "  --plan NAME      figures (the default); sweep: scan and compaction at many sizes; or kinds: sorts of many kinds of keys\n"
    "  --only LIST      only these groups, of any plan (--list names them)\n"
    "  --list           list the groups and what can be measured, and stop\n"
    "  --json FILE      write the rows as lines of JSON, each as soon as it is measured\n"
    "  --csv FILE       write the rows as comma-separated values, likewise\n"
    "  --compare FILE   say what got faster or slower, beyond the noise, since an earlier run (its JSON lines)\n"
    "  --row-seconds S  time for the samples of a row (default 0.05)\n"
    "  --call-ms MS     leave out what takes longer for one call (default 200, with --full 400)\n"
    "  --max-seconds S  stop after so long; what has been measured is kept\n"
    "\n"
    "These replace an axis in every group (source, algorithm and backend select within it):\n" AXIS_TABLE(
        AXIS_HELP) "\n"
                   "Exit status: 0 good, 1 a result was wrong, 2 an error.\n"
                   "\n"
                   "Distributions:\n";
#undef AXIS_HELP

enum {
    OPTION_FULL = 256,
    OPTION_PLAN,
    OPTION_ONLY,
    OPTION_LIST,
    OPTION_JSON,
    OPTION_CSV,
    OPTION_COMPARE,
    OPTION_ROW_SECONDS,
    OPTION_CALL_MS,
    OPTION_MAX_SECONDS,
    OPTION_AXIS
};

static const char *plan_of(const struct grid *grid) { return grid->plan != NULL ? grid->plan : DEFAULT_PLAN; }
static const char *source_of(const struct subject *subject) { return subject->rung != NULL ? "ladder" : "calls"; }
static const char *backend_of(const struct subject *subject) { return subject->backend == LADDER_CPU ? "cpu" : "cuda"; }

static int print_list(void) {
    const struct grid *grid;
    const struct subject *subject;
    for (size_t i = 0; (grid = grid_at(i)) != NULL; i++) printf("%-8s %-14s %s\n", plan_of(grid), grid->name, grid->what);
    printf("\n");
    for (size_t i = 0; (subject = subject_at(i)) != NULL; i++) {
        printf("%-8s %-4s %-13s %-22s %s\n", source_of(subject), backend_of(subject), primitive_name(subject->primitive),
               subject->algorithm, subject->peer != NULL ? subject->peer() : "");
    }
    return EXIT_GOOD;
}

static int print_help(void) {
    fputs(help_text, stdout);
    for (int d = 0; d < DISTRIBUTION_COUNT; d++)
        printf("  %-15s %s\n", distribution_name((enum distribution)d), distribution_what((enum distribution)d));
    return EXIT_GOOD;
}

/* ---- words that must mean something ---------------------------------------------------------------------------------------------- */

static bool is_group(const char *word) {
    for (size_t i = 0; grid_at(i) != NULL; i++) {
        if (strcmp(grid_at(i)->name, word) == 0) return true;
    }
    return false;
}

static bool is_plan(const char *word) {
    for (size_t i = 0; grid_at(i) != NULL; i++) {
        if (strcmp(plan_of(grid_at(i)), word) == 0) return true;
    }
    return false;
}

static bool is_algorithm(const char *word) {
    for (size_t i = 0; subject_at(i) != NULL; i++) {
        if (strcmp(subject_at(i)->algorithm, word) == 0) return true;
    }
    return false;
}

static bool is_source(const char *word) { return strcmp(word, "ladder") == 0 || strcmp(word, "calls") == 0; }
static bool is_backend(const char *word) { return strcmp(word, "cpu") == 0 || strcmp(word, "cuda") == 0; }

static bool check_words(const char *list, bool (*is_one)(const char *word), const char *what) {
    char word[64];
    while (list != NULL && list_next(&list, word)) {
        if (is_one(word)) continue;
        fprintf(stderr, "upsweep-bench: there is no %s '%s' in this build (see --list)\n", what, word);
        return false;
    }
    return true;
}

static bool check_settings(const struct settings *settings) {
    return check_words(settings->groups, is_group, "group") && check_words(settings->plan, is_plan, "plan") &&
           check_words(settings->axis[AXIS_ALGORITHM], is_algorithm, "algorithm") &&
           check_words(settings->axis[AXIS_SOURCE], is_source, "source") &&
           check_words(settings->axis[AXIS_BACKEND], is_backend, "backend");
}

/* ---- options --------------------------------------------------------------------------------------------------------------------- */

static bool positive(const char *text, double *value) {
    char *end = NULL;
    *value = strtod(text, &end);
    if (*end == '\0' && end != text && *value > 0) return true;
    fprintf(stderr, "upsweep-bench: '%s' is no positive number\n", text);
    return false;
}

static int take_number(const char *text, double *value) { return positive(text, value) ? -1 : EXIT_ERROR; }

static int take_text(const char **text) {
    *text = optarg;
    return -1;
}

/* -1: go on; else the exit status. */
static int take_option(struct settings *settings, int option) {
    switch (option) {
    case 'h':
        return print_help();
    case OPTION_LIST:
        return print_list();
    case OPTION_FULL:
        settings->full = true;
        return -1;
    case OPTION_PLAN:
        return take_text(&settings->plan);
    case OPTION_ONLY:
        return take_text(&settings->groups);
    case OPTION_JSON:
        return take_text(&settings->json_path);
    case OPTION_CSV:
        return take_text(&settings->csv_path);
    case OPTION_COMPARE:
        return take_text(&settings->old_path);
    case OPTION_ROW_SECONDS:
        return take_number(optarg, &settings->limits.row_s);
    case OPTION_CALL_MS:
        return take_number(optarg, &settings->limits.call_ms);
    case OPTION_MAX_SECONDS:
        return take_number(optarg, &settings->max_s);
    default:
        if (option < OPTION_AXIS) return EXIT_ERROR; /* getopt_long() has said why */
        return take_text(&settings->axis[option - OPTION_AXIS]);
    }
}

int settings_parse(struct settings *settings, int argc, char **argv) {
#define AXIS_OPTION(e, option, ...) {option, required_argument, NULL, OPTION_AXIS + e},
    static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                            {"full", no_argument, NULL, OPTION_FULL},
                                            {"plan", required_argument, NULL, OPTION_PLAN},
                                            {"only", required_argument, NULL, OPTION_ONLY},
                                            {"list", no_argument, NULL, OPTION_LIST},
                                            {"json", required_argument, NULL, OPTION_JSON},
                                            {"csv", required_argument, NULL, OPTION_CSV},
                                            {"compare", required_argument, NULL, OPTION_COMPARE},
                                            {"row-seconds", required_argument, NULL, OPTION_ROW_SECONDS},
                                            {"call-ms", required_argument, NULL, OPTION_CALL_MS},
                                            {"max-seconds", required_argument, NULL, OPTION_MAX_SECONDS},
                                            AXIS_TABLE(AXIS_OPTION){0}};
#undef AXIS_OPTION
    int status = -1, option;
    while (status < 0 && (option = getopt_long(argc, argv, "h", options, NULL)) != -1) status = take_option(settings, option);
    if (status < 0 && optind < argc) {
        fprintf(stderr, "upsweep-bench: takes no arguments, but got '%s' (see --help)\n", argv[optind]);
        status = EXIT_ERROR;
    }
    if (status < 0 && !check_settings(settings)) status = EXIT_ERROR;
    if (settings->plan == NULL) settings->plan = DEFAULT_PLAN;
    if (settings->limits.row_s <= 0) settings->limits.row_s = 0.05;
    if (settings->limits.call_ms <= 0) settings->limits.call_ms = settings->full ? 400 : 200;
    return status;
}

bool settings_grid(const struct settings *settings, size_t index, struct grid *grid) {
    *grid = *grid_at(index);
    if (settings->groups != NULL ? !list_has(settings->groups, grid->name) : strcmp(settings->plan, plan_of(grid)) != 0) return false;
    if (settings->full && grid->full_size != NULL) grid->axis[AXIS_SIZE] = grid->full_size;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool selects = axis == AXIS_SOURCE || axis == AXIS_ALGORITHM || axis == AXIS_BACKEND; /* main.c sees to these */
        if (settings->axis[axis] != NULL && !selects) grid->axis[axis] = settings->axis[axis];
    }
    return true;
}
