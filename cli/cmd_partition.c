/* cmd_partition.c: `upsweep partition`: the kept elements of every chunk go to OUT at once; the others wait in a spool until the last
 * chunk, and follow then. So the input may be larger than the memory, and is read once. */
#include <stdio.h>

#include "select.h"

static const struct usage usage = {
    .command = "partition",
    .bit = IN_PARTITION,
    .operands = "[IN [OUT]]",
    .intro =
        "Writes the elements of IN that satisfy a condition, then those that do not, each side in its old order. The input may be larger\n"
        "than the memory; the second side waits in a temporary file in $TMPDIR (else /tmp).",
    .examples = "  upsweep partition --where '< 0' --type i32 in.i32 out.i32\n"
                "  upsweep partition --where not-nan --count measured.npy out.npy    # prints where the second side begins",
};

static bool write_kept(struct select *select, struct job *job, struct spool *others, uint64_t *n_kept) {
    const size_t elem_nbytes = select->out_nbytes;
    *n_kept = 0;
    for (;;) {
        if (!select_next(select, job)) return false;
        if (select->n == 0) return true;
        *n_kept += select->n_kept;
        const char *rejected = (const char *)select->items + (size_t)select->n_kept * elem_nbytes;
        if (!sink_write(&job->out, select->items, select->n_kept)) return false;
        if (!spool_write(others, rejected, (size_t)(select->n - select->n_kept) * elem_nbytes)) return false;
    }
}

static bool write_others(struct select *select, struct job *job, struct spool *others) {
    const size_t room = (size_t)job->chunk_n * select->out_nbytes;
    size_t got;
    if (!spool_rewind(others)) return false;
    do {
        if (!spool_read(others, select->items, room, &got)) return false;
        if (!sink_write(&job->out, select->items, got / select->out_nbytes)) return false;
    } while (got > 0);
    return true;
}

static bool partition(struct select *select, struct job *job, struct spool *others) {
    const bool count = job->args.option[OPT_COUNT] != NULL;
    uint64_t n_kept;
    if (count && is_standard(job->args.out)) return complain(NULL, "--count: needs OUT, for the number goes to standard output");
    if (!select_open(select, job, SELECT_SPLIT) || !spool_open(others)) return false;
    if (!job_open_out(job, select->out_type, select->out_nbytes, job->in.n)) return false;
    if (!write_kept(select, job, others, &n_kept) || !write_others(select, job, others) || !job_deliver(job)) return false;
    if (!count) return true;
    printf("%llu\n", (unsigned long long)n_kept);
    return close_stdout(EXIT_GOOD) == EXIT_GOOD;
}

int cmd_partition(int argc, char **argv) {
    struct job job;
    struct select select = {.flags.fd = -1};
    struct spool others = {.fd = -1};
    int status;
    if (!job_open(&job, &usage, argc, argv, &status)) {
        job_close(&job, false);
        return status;
    }
    const bool good = partition(&select, &job, &others);
    spool_close(&others);
    select_close(&select);
    return job_close(&job, good);
}
