/* select.c: one chunk of IN (and of the flags, if they decide) through a compaction or a partition. */
#include "select.h"

static bool open_flags(struct select *select, struct job *job) {
    const char *path = job->args.option[OPT_FLAGS];
    if (job->args.option[OPT_WHERE]) return complain(NULL, "--flags and --where: only one of them can decide");
    if (is_standard(path) && is_standard(job->args.in)) return complain(NULL, "--flags: IN is standard input already");
    const bool npy = format_of_name(path) == FORMAT_NPY;
    if (!source_open(&select->flags, path, FORMAT_UNKNOWN, npy ? TYPE_NONE : UPSWEEP_U8, npy ? 0 : 1)) return false;
    if (select->flags.elem_nbytes != 1) return complain(path, "holds %s, and flags are bytes", upsweep_type_name(select->flags.type));
    const uint64_t n = job->in.n, n_flags = select->flags.n;
    if (n == N_UNKNOWN || n_flags == N_UNKNOWN || n == n_flags) return true;
    return complain(path, "has %llu flags for %llu elements", (unsigned long long)n_flags, (unsigned long long)n);
}

static bool open_condition(struct select *select, struct job *job) {
    if (job->args.option[OPT_FLAGS]) return open_flags(select, job);
    const char *where = job->args.option[OPT_WHERE];
    return parse_where(where ? where : "nonzero", job->in.type, &select->keep);
}

static bool allocate(struct select *select, struct job *job) {
    const uint64_t n = job->chunk_n;
    const size_t in_nbytes = job->in.elem_nbytes, most = in_nbytes > select->out_nbytes ? in_nbytes : select->out_nbytes;
    if (!(select->items = job_host(job, n, most))) return false;
    if (!(select->d_items = job_device(job, n, in_nbytes))) return false;
    if (!(select->d_out = job_device(job, n, select->out_nbytes))) return false;
    if (!(select->d_count = job_device(job, 1, sizeof(uint64_t)))) return false;
    if (select->flags.fd < 0) return true;
    return (select->flag_items = job_host(job, n, 1)) && (select->d_flags = job_device(job, n, 1));
}

bool select_open(struct select *select, struct job *job, enum selection what) {
    *select = (struct select){.what = what, .flags.fd = -1, .out_type = job->in.type, .out_nbytes = job->in.elem_nbytes};
    const char *index_type = job->args.option[OPT_INDEX_TYPE];
    if (index_type && what != SELECT_INDICES) return complain(NULL, "--index-type: needs --indices");
    if (what == SELECT_INDICES) {
        if (!parse_index_type(index_type, &select->out_type)) return false;
        select->out_nbytes = upsweep_type_nbytes(select->out_type);
    }
    return open_condition(select, job) && allocate(select, job);
}

void select_close(struct select *select) { source_close(&select->flags); }

/* The flags of this chunk: as many as it has elements, and no more at the end. */
static bool read_flags(struct select *select, const struct job *job) {
    uint64_t n, expected = select->n;
    if (select->flags.fd < 0) return true;
    if (!source_read(&select->flags, select->flag_items, expected ? expected : 1, &n)) return false;
    if (n == expected) return true;
    return complain(job->args.option[OPT_FLAGS], "has %s flags than there are elements", n < expected ? "fewer" : "more");
}

static upsweep_status run(struct select *s, struct job *job) {
    static const upsweep_predicate nonzero = {.cmp = UPSWEEP_NONZERO};
    upsweep_context *ctx = job->ctx;
    const upsweep_type type = job->in.type;
    const size_t elem_nbytes = job->in.elem_nbytes;
    const bool by_flags = s->d_flags != NULL;
    switch (s->what) {
    case SELECT_INDICES:
        if (by_flags)
            return upsweep_compact_indices(ctx, s->d_out, s->d_count, s->d_flags, s->n, UPSWEEP_U8, &nonzero, s->out_type, s->base);
        return upsweep_compact_indices(ctx, s->d_out, s->d_count, s->d_items, s->n, type, &s->keep, s->out_type, s->base);
    case SELECT_SPLIT:
        if (by_flags) return upsweep_partition_flags(ctx, s->d_out, NULL, s->d_count, s->d_items, s->d_flags, s->n, elem_nbytes);
        return upsweep_partition(ctx, s->d_out, NULL, s->d_count, s->d_items, s->n, type, &s->keep);
    default:
        if (by_flags) return upsweep_compact_flags(ctx, s->d_out, s->d_count, s->d_items, s->d_flags, s->n, elem_nbytes);
        return upsweep_compact(ctx, s->d_out, s->d_count, s->d_items, s->n, type, &s->keep);
    }
}

bool select_next(struct select *select, struct job *job) {
    upsweep_context *ctx = job->ctx;
    if (!job_read(job, select->items, &select->n) || !read_flags(select, job)) return false;
    if (select->n == 0) return true;
    if (!job_ok(job, upsweep_upload(ctx, select->d_items, select->items, (size_t)select->n * job->in.elem_nbytes))) return false;
    if (select->d_flags && !job_ok(job, upsweep_upload(ctx, select->d_flags, select->flag_items, (size_t)select->n))) return false;
    if (!job_ok(job, run(select, job)) || !job_ok(job, upsweep_read_count(ctx, &select->n_kept, select->d_count))) return false;
    const uint64_t n_results = select->what == SELECT_SPLIT ? select->n : select->n_kept;
    select->base += select->n;
    return job_ok(job, upsweep_download(ctx, select->items, select->d_out, (size_t)n_results * select->out_nbytes));
}
