/* cmd_compact.c: `upsweep compact`: chunk after chunk, the kept elements (or their positions) of each follow those of the one before. */
#include <stdio.h>

#include "select.h"

static const struct usage usage = {
    .command = "compact",
    .bit = IN_COMPACT,
    .operands = "[IN [OUT]]",
    .intro = "Keeps the elements of IN that satisfy a condition, in their order. The input may be larger than the memory.",
    .examples = "  upsweep compact --where '>= 10' --type f32 in.f32 out.f32\n"
                "  upsweep compact --where not-nan --indices measured.npy positions.npy\n"
                "  upsweep compact --flags alive.u8 --record-size 24 particles.bin living.bin\n"
                "  upsweep compact --where '< 0' --count --type i64 in.i64",
};

/* Writes what is kept, or only counts it. */
static bool compact_all(struct select *select, struct job *job, bool only_count, uint64_t *n_kept) {
    *n_kept = 0;
    for (;;) {
        if (!select_next(select, job)) return false;
        if (select->n == 0) return true;
        *n_kept += select->n_kept;
        if (!only_count && !sink_write(&job->out, select->items, select->n_kept)) return false;
    }
}

static bool compact(struct select *select, struct job *job) {
    const bool only_count = job->args.option[OPT_COUNT] != NULL;
    uint64_t n_kept;
    if (only_count && job->args.out) return complain(NULL, "--count: prints the number and nothing else, so there is no OUT");
    if (!select_open(select, job, job->args.option[OPT_INDICES] ? SELECT_INDICES : SELECT_KEPT)) return false;
    if (!only_count && !job_open_out(job, select->out_type, select->out_nbytes, N_UNKNOWN)) return false;
    if (!compact_all(select, job, only_count, &n_kept)) return false;
    if (!only_count) return job_deliver(job);
    printf("%llu\n", (unsigned long long)n_kept);
    return close_stdout(EXIT_GOOD) == EXIT_GOOD;
}

int cmd_compact(int argc, char **argv) {
    struct job job;
    struct select select = {.flags.fd = -1};
    int status;
    if (!job_open(&job, &usage, argc, argv, &status)) {
        job_close(&job, false);
        return status;
    }
    const bool good = compact(&select, &job);
    select_close(&select);
    return job_close(&job, good);
}
