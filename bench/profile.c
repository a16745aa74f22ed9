/* profile.c: `upsweep profile RUNG`: one run of a rung, kernel by kernel: why naive wastes bandwidth, why the up-sweep starves at depth,
 * and what a single pass saves.
 *
 * Bytes are counted from the algorithm, times are measured: by events on the GPU, behind some milliseconds of other work, so that the
 * host's launches are not what is timed; by the clock on the CPU. GB/s is of moved bytes. Rungs that are a single call to a library show as
 * one step, with the bytes that any algorithm must move. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cli/cli.h"
#include "bench.h"

enum { MAX_STEPS = 4096, MAX_LINES = 80 };

static const struct usage usage = {
    .command = "profile",
    .bit = IN_PROFILE,
    .operands = "[RUNG]",
    .intro =
        "Runs one rung of the ladder and shows each kernel of one run: threads launched and with work to do, bytes used and moved\n"
        "(counted from the algorithm: memory comes in sectors of 32 bytes), time (measured), GB/s of moved bytes, and that as a share\n"
        "of a large copy's speed on the same device. Without RUNG, a name in quotes, lists the rungs.",
    .examples = "  upsweep profile\n"
                "  upsweep profile 'naive scan'\n"
                "  upsweep profile --size 65536 'split sort'",
};

struct profile {
    const char *name;
    uint64_t n;
    uint32_t block_size;
    const struct ladder_rung *rung;
    double copy_gb_per_s;
    struct ladder_step *steps; /* [MAX_STEPS] */
    uint32_t nsteps;
};

/* ---- the run ----------------------------------------------------------------------------------------------------------------- */

static void add_step(struct profile *profile, const char *name, double nbytes, double ms) {
    struct ladder_step *step = &profile->steps[profile->nsteps++];
    *step = (struct ladder_step){.used_nbytes = (uint64_t)nbytes, .moved_nbytes = (uint64_t)nbytes, .ms = ms};
    snprintf(step->name, sizeof step->name, "%s", name);
}

/* For rungs that tell no steps: their parts, or the whole. */
static void steps_of_times(struct profile *profile, const struct ladder_job *job, const struct data *data) {
    const struct point *point = &data->point;
    const double item = 4.0 * (double)job->n;
    if (profile->rung->params & LADDER_PARTS) {
        add_step(profile, "map", 2 * item, job->times.map_ms);
        add_step(profile, "scan", 2 * item, job->times.scan_ms);
        add_step(profile, "scatter", 3 * item + 4.0 * (double)job->count, job->times.scatter_ms);
    } else {
        add_step(profile, "the whole call", necessary_nbytes(data, point, job->count), job->times.total_ms);
    }
}

/* Two repeats: the first loads code. */
static bool run(struct profile *profile) {
    static const enum primitive primitives[] = {[LADDER_SCAN] = SCAN, [LADDER_COMPACT] = COMPACT, [LADDER_SORT] = SORT};
    const struct point point = {.primitive = primitives[profile->rung->primitive], .type = UPSWEEP_I32, .n = profile->n, .keep = 50};
    struct data data = {0};
    if (!data_make(&data, &point)) return complain("profile", "out of memory for %ju elements", (uintmax_t)profile->n);
    struct ladder_job job = {.in = data.in,
                             .out = data.out,
                             .n = profile->n,
                             .block_size = profile->block_size,
                             .repeats = 2,
                             .steps = profile->steps,
                             .max_steps = MAX_STEPS};
    const bool ok = ladder_run(profile->rung, &job) || complain("profile", "%s: %s", profile->name, job.error);
    profile->nsteps = job.nsteps < MAX_STEPS ? job.nsteps : MAX_STEPS;
    if (ok && profile->nsteps == 0) steps_of_times(profile, &job, &data);
    data_free(&data);
    return ok;
}

static bool measure_copy(struct profile *profile) {
    const bool on_cpu = profile->rung->backend == LADDER_CPU;
    const struct place *place = place_of(profile->rung->backend);
    const double nbytes = on_cpu ? (double)(1 << 28) : (double)(1 << 30);
    const double ms = copy_ms(place, nbytes, on_cpu ? hardware_threads() : 1, on_cpu ? BY_CLOCK : BY_EVENTS, HOT);
    profile->copy_gb_per_s = 1e-6 * nbytes / ms;
    return ms > 0 || complain("profile", "the copy failed");
}

/* ---- the table --------------------------------------------------------------------------------------------------------------- */

static void print_count(uint64_t count) {
    if (count == 0) {
        printf(" %12s", "-");
    } else {
        printf(" %12" PRIu64, count);
    }
}

static void print_step(const struct profile *profile, const struct ladder_step *step, uint32_t nlaunches) {
    const double gb_per_s = step->ms > 0 ? 1e-6 * (double)step->moved_nbytes / step->ms : 0;
    printf("%-36s %6" PRIu32, step->name, nlaunches);
    print_count(step->nthreads);
    print_count(step->nactive);
    printf(" %11.3f %11.3f %10.4f %9.1f %6.1f%%\n", 1e-6 * (double)step->used_nbytes, 1e-6 * (double)step->moved_nbytes, step->ms, gb_per_s,
           100 * gb_per_s / profile->copy_gb_per_s);
}

static size_t kernel_length(const char *name) { return strcspn(name, ","); }

static bool same_kernel(const struct ladder_step *a, const struct ladder_step *b) {
    return kernel_length(a->name) == kernel_length(b->name) && strncmp(a->name, b->name, kernel_length(a->name)) == 0;
}

/* The steps from `first` on that are the same kernel, added up; -1 launches if an earlier step is of it already. */
static int32_t add_up(const struct profile *profile, uint32_t first, struct ladder_step *sum) {
    int32_t nlaunches = 0;
    for (uint32_t i = 0; i < first; i++) {
        if (same_kernel(&profile->steps[i], &profile->steps[first])) return -1;
    }
    *sum = (struct ladder_step){0};
    snprintf(sum->name, sizeof sum->name, "%.*s", (int)kernel_length(profile->steps[first].name), profile->steps[first].name);
    for (uint32_t i = first; i < profile->nsteps; i++) {
        const struct ladder_step *step = &profile->steps[i];
        if (!same_kernel(step, &profile->steps[first])) continue;
        nlaunches++;
        sum->nthreads += step->nthreads;
        sum->nactive += step->nactive;
        sum->used_nbytes += step->used_nbytes;
        sum->moved_nbytes += step->moved_nbytes;
        sum->ms += step->ms;
    }
    return nlaunches;
}

static void print_table(const struct profile *profile) {
    struct ladder_step all = {.name = "all"};
    printf("%s, %" PRIu64 " elements, on %s; a large copy moves %.0f GB/s\n\n", profile->name, profile->n,
           device_name(profile->rung->backend), profile->copy_gb_per_s);
    printf("%-36s %6s %12s %12s %11s %11s %10s %9s %7s\n", "", "times", "threads", "with work", "MB used", "MB moved", "ms", "GB/s",
           "of copy");
    for (uint32_t i = 0; i < profile->nsteps && profile->nsteps <= MAX_LINES; i++) print_step(profile, &profile->steps[i], 1);
    if (profile->nsteps > 1 && profile->nsteps <= MAX_LINES) printf("\n");
    for (uint32_t i = 0; i < profile->nsteps; i++) {
        struct ladder_step sum;
        const int32_t nlaunches = add_up(profile, i, &sum);
        if (nlaunches > 0 && profile->nsteps > 1) print_step(profile, &sum, (uint32_t)nlaunches);
        all.nthreads += profile->steps[i].nthreads;
        all.nactive += profile->steps[i].nactive;
        all.used_nbytes += profile->steps[i].used_nbytes;
        all.moved_nbytes += profile->steps[i].moved_nbytes;
        all.ms += profile->steps[i].ms;
    }
    if (profile->nsteps > 1) print_step(profile, &all, profile->nsteps);
    printf("\nCounted from the algorithm: threads, bytes. Measured: ms, by %s.\n",
           profile->rung->backend == LADDER_CUDA ? "CUDA events" : "the clock");
}

/* ---- the command ------------------------------------------------------------------------------------------------------------- */

static int list_rungs(void) {
    const struct ladder_rung *rung;
    for (size_t i = 0; (rung = ladder_at(i)) != NULL; i++) {
        const char *missing = ladder_missing(rung->backend);
        if (rung->primitive > LADDER_SORT) continue; /* text has no profile */
        printf("%-26s %s%s\n", rung->name, rung->backend == LADDER_CPU ? "cpu" : "cuda", missing != NULL ? ", which is missing here" : "");
    }
    return close_stdout(EXIT_GOOD);
}

static bool take_options(struct profile *profile, const char *const option[OPTION_COUNT]) {
    if (option[OPT_SIZE] && !parse_count("size", option[OPT_SIZE], 1, UINT32_MAX, &profile->n)) return false;
    return !option[OPT_BLOCK_SIZE] || parse_block_size(option[OPT_BLOCK_SIZE], &profile->block_size);
}

int cmd_profile(int argc, char **argv) {
    struct profile profile = {.n = UINT64_C(1) << 24, .block_size = 256};
    struct arguments args;
    int status;
    if (!arguments_parse(&args, &usage, argc, argv, &status)) return status;
    if (!take_options(&profile, args.option)) return EXIT_ERROR;
    if (args.in == NULL) return list_rungs();
    profile.name = args.in;
    for (size_t i = 0; (profile.rung = ladder_at(i)) != NULL && strcmp(profile.rung->name, profile.name) != 0;) i++;
    if (profile.rung == NULL || profile.rung->primitive > LADDER_SORT) {
        complain("profile", "there is no rung named '%s' (upsweep profile lists them)", profile.name);
        return EXIT_ERROR;
    }
    const char *missing = ladder_missing(profile.rung->backend);
    if (missing != NULL) {
        complain("profile", "%s: %s", profile.name, missing);
        return EXIT_ERROR;
    }
    profile.steps = calloc(MAX_STEPS, sizeof *profile.steps);
    const bool ok = profile.steps != NULL && run(&profile) && measure_copy(&profile);
    if (ok) print_table(&profile);
    free(profile.steps);
    return close_stdout(ok ? EXIT_GOOD : EXIT_ERROR);
}
