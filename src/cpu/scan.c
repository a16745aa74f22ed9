/* scan.c: prefix scans on the CPU: the chained pass of chain.h, with the carries and kernels of kernels.h.
 *
 * Cost: n elements read and written once; scratch none. Blocks are of a fixed number of elements, so float results do not depend on
 * the number of threads. */
#include "chain.h"
#include "kernels.h"

/* From this many bytes of input and output together stores bypass the caches: a cached store first reads the line it is about to overwrite,
 * a third of the traffic, but below the size of L3 that read is cheap and whoever reads the output next finds it there.
 * In place there is nothing to save: the lines are read anyway. */
#define STREAM_NBYTES (32u << 20)

struct scan_run {
    const struct scan_args *args;
    const struct carry_rules *rules;
    scan_kernel *scan;
    reduce_kernel *reduce;
    size_t elem_nbytes;
    bool stream;
};

static uint64_t pass_block(const void *arg, uint64_t first, size_t n, uint64_t carry) {
    const struct scan_run *run = arg;
    const size_t offset = (size_t)first * run->elem_nbytes;
    return run->scan(run->args->op, run->args->inclusive, run->stream, (char *)run->args->out + offset,
                     (const char *)run->args->in + offset, n, carry);
}

static uint64_t reduce_block(const void *arg, uint32_t task, uint64_t first, size_t n) {
    const struct scan_run *run = arg;
    (void)task;
    return run->reduce(run->args->op, (const char *)run->args->in + (size_t)first * run->elem_nbytes, n);
}

static uint64_t combine_carries(const void *arg, uint64_t carry, uint64_t aggregate) {
    const struct scan_run *run = arg;
    return run->rules->combine(run->args->op, carry, aggregate);
}

static void finish_block(const void *arg, uint32_t task, uint64_t first, size_t n, uint64_t carry, uint64_t aggregate) {
    (void)task, (void)aggregate;
    pass_block(arg, first, n, carry);
}

static const struct chain_policy scan_policy = {reduce_block, combine_carries, finish_block, pass_block};

upsweep_status cpu_scan(upsweep_context *ctx, const struct scan_args *args) {
    const struct kernels *kernels = cpu_kernels(ctx);
    const size_t elem_nbytes = upsweep_type_nbytes(args->type);
    const struct scan_run run = {
        .args = args,
        .rules = &carry_rules[args->type],
        .scan = kernels->scan[args->type],
        .reduce = kernels->reduce[args->type],
        .elem_nbytes = elem_nbytes,
        .stream = args->n >= STREAM_NBYTES / 2 / elem_nbytes && args->out != args->in,
    };
    scan_carry carry = args->init == NULL ? run.rules->identity(args->op) : run.rules->load(args->op, args->init);
    carry = chain_run(ctx, &scan_policy, &run, args->n, CHAIN_BLOCK_NBYTES / elem_nbytes, carry, chain_ntasks(ctx, args->n, elem_nbytes));
    if (args->total != NULL) run.rules->store(args->op, args->total, carry);
    return UPSWEEP_OK;
}

uint64_t cpu_scan_scratch(upsweep_context *ctx, uint64_t n, size_t elem_nbytes) {
    (void)ctx, (void)n, (void)elem_nbytes;
    return 0;
}
