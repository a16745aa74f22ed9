/* cmd_scan.c: `upsweep scan`: chunk after chunk, in place, each starting from the total of the one before. */
#include "job.h"
#include "number.h"

static const struct usage usage = {
    .command = "scan",
    .bit = IN_SCAN,
    .operands = "[IN [OUT]]",
    .intro = "Writes the prefix sums of IN: element i of the result is the sum (or the product, ...) of the elements before element i.\n"
             "Integers wrap. The input may be larger than the memory.",
    .examples = "  upsweep scan --type i32 in.i32 out.i32\n"
                "  upsweep scan --op max --inclusive prices.npy highest-so-far.npy\n"
                "  seq 5 | upsweep scan --format text        # 0 1 3 6 10",
};

struct scan {
    upsweep_op op;
    uint32_t flags;
    void *items, *d_items;
    const void *d_init; /* NULL: the identity */
    void *d_carry;
};

static bool parse_op(const char *text, upsweep_type type, upsweep_op *op) {
    *op = UPSWEEP_ADD;
    if (text && !upsweep_op_from_name(text, op)) return complain(NULL, "--op: '%s' is none of add mul min max and or xor", text);
    return upsweep_type_has_op(type, *op) ||
           complain(NULL, "--op: %s is for integers, and the elements are %s", text, upsweep_type_name(type));
}

static bool parse_init(struct scan *scan, struct job *job) {
    const char *text = job->args.option[OPT_INIT];
    union number number;
    uint64_t element; /* any type fits */
    if (!text) return true;
    const char *wrong = number_parse(text, job->in.type, &number);
    if (wrong) return complain(NULL, "--init: '%s' %s", text, wrong);
    number_store(&element, job->in.type, number);
    scan->d_init = scan->d_carry;
    return job_ok(job, upsweep_upload(job->ctx, scan->d_carry, &element, job->in.elem_nbytes));
}

static bool scan_open(struct scan *scan, struct job *job) {
    const struct source *in = &job->in;
    if (!parse_op(job->args.option[OPT_OP], in->type, &scan->op)) return false;
    scan->flags = job->args.option[OPT_INCLUSIVE] ? UPSWEEP_INCLUSIVE : UPSWEEP_EXCLUSIVE;
    scan->d_init = NULL;
    if (!(scan->items = job_host(job, job->chunk_n, in->elem_nbytes))) return false;
    if (!(scan->d_items = job_device(job, job->chunk_n, in->elem_nbytes))) return false;
    if (!(scan->d_carry = job_device(job, 1, sizeof(uint64_t)))) return false;
    return parse_init(scan, job) && job_open_out(job, in->type, in->elem_nbytes, in->n);
}

static bool scan_chunk(struct scan *scan, struct job *job, uint64_t n) {
    const size_t nbytes = (size_t)n * job->in.elem_nbytes;
    upsweep_context *ctx = job->ctx;
    if (!job_ok(job, upsweep_upload(ctx, scan->d_items, scan->items, nbytes))) return false;
    if (!job_ok(job,
                upsweep_scan_ex(ctx, scan->d_items, scan->d_items, n, job->in.type, scan->op, scan->flags, scan->d_init, scan->d_carry))) {
        return false;
    }
    scan->d_init = scan->d_carry;
    return job_ok(job, upsweep_download(ctx, scan->items, scan->d_items, nbytes)) && sink_write(&job->out, scan->items, n);
}

static bool scan_all(struct scan *scan, struct job *job) {
    for (;;) {
        uint64_t n;
        if (!job_read(job, scan->items, &n)) return false;
        if (n == 0) return true;
        if (!scan_chunk(scan, job, n)) return false;
    }
}

int cmd_scan(int argc, char **argv) {
    struct job job;
    struct scan scan;
    int status;
    if (!job_open(&job, &usage, argc, argv, &status)) {
        job_close(&job, false);
        return status;
    }
    return job_close(&job, scan_open(&scan, &job) && scan_all(&scan, &job) && job_deliver(&job));
}
