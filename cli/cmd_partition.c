/* cmd_partition.c: `upsweep partition`: the kept elements of every chunk go to OUT at once. So do the others to --rest FILE; without that,
 * they wait in a spool until the last chunk, and follow then. So the input may be larger than the memory, and is read once. */
#include <stdio.h>

#include "select.h"

static const struct usage usage = {
    .command = "partition",
    .bit = IN_PARTITION,
    .operands = "[IN [OUT]]",
    .intro =
        "Writes the elements of IN that satisfy a condition, then those that do not, each side in its old order. The input may be larger\n"
        "than the memory; the second side waits in a temporary file in $TMPDIR (else /tmp), or goes to a file of its own.",
    .examples = "  upsweep partition --where '< 0' --type i32 in.i32 out.i32\n"
                "  upsweep partition --where not-nan --count measured.npy out.npy    # prints where the second side begins\n"
                "  upsweep partition --where not-nan --rest bad.npy measured.npy good.npy",
};

/* Where the elements go that are not kept. */
struct others {
    const char *path; /* --rest, or NULL: to the spool */
    struct sink sink;
    struct spool spool;
};

static bool check_paths(const struct job *job, const char *rest) {
    const char *out = job->args.out;
    const bool count = job->args.option[OPT_COUNT_FIRST] != NULL;
    if (count && is_standard(out)) return complain(NULL, "--count: needs OUT, for the number goes to standard output");
    if (!rest) return true;
    if (count && is_standard(rest)) return complain(NULL, "--count: --rest is standard output already");
    if (is_standard(out) && is_standard(rest)) return complain(NULL, "--rest: OUT is standard output already");
    if (is_standard(out) || is_standard(rest) || !outfile_same(rest, out)) return true;
    return complain(NULL, "--rest: is the same file as OUT");
}

static bool open_outputs(const struct select *select, struct job *job, struct others *others) {
    const upsweep_type type = select->out_type;
    if (!others->path) return spool_open(&others->spool) && job_open_out(job, type, select->out_nbytes, job->in.n);
    return job_open_sink(job, &others->sink, others->path, type, select->out_nbytes, N_UNKNOWN) &&
           job_open_out(job, type, select->out_nbytes, N_UNKNOWN);
}

static bool write_chunk(const struct select *select, struct job *job, struct others *others) {
    const size_t elem_nbytes = select->out_nbytes;
    const char *rejected = (const char *)select->items + (size_t)select->n_kept * elem_nbytes;
    const uint64_t n_rejected = select->n - select->n_kept;
    if (!sink_write(&job->out, select->items, select->n_kept)) return false;
    return others->path ? sink_write(&others->sink, rejected, n_rejected)
                        : spool_write(&others->spool, rejected, (size_t)n_rejected * elem_nbytes);
}

static bool write_chunks(struct select *select, struct job *job, struct others *others, uint64_t *n_kept) {
    *n_kept = 0;
    for (;;) {
        if (!select_next(select, job)) return false;
        if (select->n == 0) return true;
        *n_kept += select->n_kept;
        if (!write_chunk(select, job, others)) return false;
    }
}

static bool write_spooled(struct select *select, struct job *job, struct spool *spool) {
    const size_t room = (size_t)job->chunk_n * select->out_nbytes;
    size_t got;
    if (!spool_rewind(spool)) return false;
    do {
        if (!spool_read(spool, select->items, room, &got)) return false;
        if (!sink_write(&job->out, select->items, got / select->out_nbytes)) return false;
    } while (got > 0);
    return true;
}

/* Both outputs are complete before either gets its name. */
static bool deliver(struct select *select, struct job *job, struct others *others) {
    if (!others->path) return write_spooled(select, job, &others->spool) && job_deliver(job);
    return sink_settle(&others->sink) && sink_settle(&job->out) && sink_publish(&others->sink) && sink_publish(&job->out);
}

static bool partition(struct select *select, struct job *job, struct others *others) {
    uint64_t n_kept;
    others->path = job->args.option[OPT_REST];
    if (!check_paths(job, others->path)) return false;
    if (!select_open(select, job, SELECT_SPLIT) || !open_outputs(select, job, others)) return false;
    if (!write_chunks(select, job, others, &n_kept) || !deliver(select, job, others)) return false;
    if (!job->args.option[OPT_COUNT_FIRST]) return true;
    printf("%llu\n", (unsigned long long)n_kept);
    return close_stdout(EXIT_GOOD) == EXIT_GOOD;
}

int cmd_partition(int argc, char **argv) {
    struct job job;
    struct select select = {.flags.fd = -1};
    struct others others = {.sink = {.file.fd = -1, .spool.fd = -1}, .spool.fd = -1};
    int status;
    if (!job_open(&job, &usage, argc, argv, &status)) {
        job_close(&job, false);
        return status;
    }
    const bool good = partition(&select, &job, &others);
    sink_discard(&others.sink);
    spool_close(&others.spool);
    select_close(&select);
    return job_close(&job, good);
}
