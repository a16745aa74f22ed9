/* compact.c: stream compaction, indices and partition on the CPU: the chained pass of chain.h, whose carry is the number kept so far.
 *
 *     items       7  0  3  0  0  9  4  0          in chunks that stay in L1:
 *     bits        1  0  1  0  0  1  1  0          mask kernel of the type, or of the byte flags
 *     kept        7  3  9  4                      compact kernel of the item's size (or indices)
 *
 * Splitting the work at the bits leaves types x comparisons + sizes kernels to write, not their product. The commonest calls, to keep
 * elements by a predicate and to part them into two arrays by one, have kernels that go without the bits.
 *
 * One thread compacts straight to the output, whose end never passes the reading position: right in place too. Several threads could
 * overwrite what another has yet to read, or has already written: a full vector reaches past the last kept item. So each compacts its
 * block into a stage of its own in L2, which is also what counts it, and copies exactly the kept items once its carry is known. When
 * a block learns its carry, all blocks before it have been read.
 * Partition to two arrays is that twice, with a stage for either side. To one array, it needs the number kept before it can place the first
 * rejected item: a first pass over the flags or items counts. The other way, to write the rejected ones backwards from the end and to turn
 * them round afterwards, moves more bytes as soon as a record is larger than its flag. With all counts known both sides are written in
 * place; kernels are told how much room there is. (Few elements need no first pass: short_cuts.c.)
 * Records of other sizes than 1, 2, 4, 8, 16 bytes need no stage: they are copied exactly.
 *
 * Cost: n items or flags read, count written (partition: n written; to one array, n read twice). Scratch: a block a thread, for either side
 * of a partition; none for one thread.
 * Source: Billeter, Olsson, Assarsson, Efficient stream compaction on wide SIMD many-core architectures, 2009. */
#include <string.h>

#include "chain.h"
#include "kernels.h"

/* Items whose bits are computed at a time: with 8-byte items 16 KiB, a third of L1. */
#define CHUNK_ITEMS 2048

/* From this many bytes of input on the stages are flushed past the caches (as in scan.c). */
#define STREAM_NBYTES (32u << 20)

struct compact_run {
    const struct compact_args *args;
    const struct kernels *kernels;
    size_t out_nbytes;     /* of one item of output */
    unsigned char *stages; /* task t has [t * stage_nbytes, (t + 1) * stage_nbytes) */
    size_t stage_nbytes;
    unsigned char *rejected; /* where the first of them goes; NULL: nowhere */
    uint64_t total_kept;     /* partition to one array */
    bool stream;
};

/* ---- one block --------------------------------------------------------------------------------------------------------------- */

static void mask_items(const struct compact_run *run, uint64_t first, size_t n, uint64_t *bits) {
    static const upsweep_predicate nonzero = {.cmp = UPSWEEP_NONZERO};
    const struct compact_args *args = run->args;
    if (args->flags != NULL)
        run->kernels->mask[UPSWEEP_U8](&nonzero, args->flags + first, n, bits);
    else
        run->kernels->mask[args->type](&args->keep, (const char *)args->in + (size_t)first * args->elem_nbytes, n, bits);
}

static size_t count_bits(const uint64_t *bits, size_t n) {
    size_t count = 0;
    for (size_t w = 0; w < (n + 63) / 64; w++) count += (size_t)popcount_64(bits[w]);
    return count;
}

static size_t emit_items(const struct compact_run *run, void *out, size_t room, uint64_t first, size_t n, const uint64_t *bits) {
    const struct compact_args *args = run->args;
    const char *in = (const char *)args->in + (size_t)first * args->elem_nbytes;
    if (args->output == COMPACT_INDICES32) return run->kernels->indices32(out, args->base + first, bits, n);
    if (args->output == COMPACT_INDICES64) return run->kernels->indices64(out, args->base + first, bits, n);
    return compact_items(run->kernels, args->elem_nbytes, out, room, in, bits, n);
}

/* One side of the output: where its next item goes, and how many items may be written from there. */
struct side {
    unsigned char *next;
    uint64_t room;
};

static size_t emit_to_side(const struct compact_run *run, struct side *side, uint64_t first, size_t n, const uint64_t *bits) {
    const size_t kept = emit_items(run, side->next, (size_t)side->room, first, n, bits);
    side->next += kept * run->out_nbytes;
    side->room -= kept;
    return kept;
}

/* Items [first, first + n): the kept ones to one side, the others to the other, unless that is NULL. Returns how many were kept. */
static uint64_t sift(const struct compact_run *run, uint64_t first, size_t n, struct side kept, struct side *rejected) {
    const struct compact_args *args = run->args;
    const char *in = (const char *)args->in + (size_t)first * args->elem_nbytes;
    if (args->flags == NULL && args->output == COMPACT_KEPT) return run->kernels->filter[args->type](&args->keep, kept.next, in, n);
    if (args->flags == NULL && args->rest != NULL) return run->kernels->split[args->type](&args->keep, kept.next, rejected->next, in, n);

    uint64_t bits[CHUNK_ITEMS / 64], nkept = 0;
    for (size_t done = 0; done < n; done += CHUNK_ITEMS) {
        const size_t chunk = n - done < CHUNK_ITEMS ? n - done : CHUNK_ITEMS;
        mask_items(run, first + done, chunk, bits);
        nkept += emit_to_side(run, &kept, first + done, chunk, bits);
        if (rejected == NULL) continue;
        invert_bits(bits, chunk);
        emit_to_side(run, rejected, first + done, chunk, bits);
    }
    return nkept;
}

static uint64_t count_block(const void *arg, uint32_t task, uint64_t first, size_t n) {
    uint64_t bits[CHUNK_ITEMS / 64], count = 0;
    (void)task;
    for (size_t done = 0; done < n; done += CHUNK_ITEMS) {
        const size_t chunk = n - done < CHUNK_ITEMS ? n - done : CHUNK_ITEMS;
        mask_items(arg, first + done, chunk, bits);
        count += count_bits(bits, chunk);
    }
    return count;
}

static uint64_t add_counts(const void *arg, uint64_t carry, uint64_t aggregate) {
    (void)arg;
    return carry + aggregate;
}

static unsigned char *place_of(const struct compact_run *run, uint64_t item) {
    return (unsigned char *)run->args->out + (size_t)item * run->out_nbytes;
}

static unsigned char *rejected_place_of(const struct compact_run *run, uint64_t item) {
    return run->rejected + (size_t)item * run->out_nbytes;
}

static unsigned char *stage_of(const struct compact_run *run, uint32_t task) { return run->stages + task * run->stage_nbytes; }

/* ---- policies ---------------------------------------------------------------------------------------------------------------- */

/* Straight to the output: one thread, whose items of either side never run past the reading position, or records. */

static uint64_t sift_direct(const struct compact_run *run, uint64_t first, size_t n, uint64_t carry) {
    const struct side kept = {place_of(run, carry), run->args->n - carry};
    if (run->rejected == NULL) return sift(run, first, n, kept, NULL);
    struct side rejected = {rejected_place_of(run, first - carry), run->args->n - (first - carry)};
    return sift(run, first, n, kept, &rejected);
}

static void finish_direct(const void *arg, uint32_t task, uint64_t first, size_t n, uint64_t carry, uint64_t aggregate) {
    (void)task, (void)aggregate;
    sift_direct(arg, first, n, carry);
}

static uint64_t pass_direct(const void *arg, uint64_t first, size_t n, uint64_t carry) { return carry + sift_direct(arg, first, n, carry); }

static const struct chain_policy direct_policy = {count_block, add_counts, finish_direct, pass_direct};

/* Through a stage, in which the rejected items lie a block behind the kept ones. */

static uint64_t reduce_staged(const void *arg, uint32_t task, uint64_t first, size_t n) {
    const struct compact_run *run = arg;
    const struct side kept = {stage_of(run, task), n};
    struct side rejected = {stage_of(run, task) + CHAIN_BLOCK_NBYTES, n};
    return sift(run, first, n, kept, run->rejected != NULL ? &rejected : NULL);
}

static void copy_staged(const struct compact_run *run, unsigned char *out, const unsigned char *stage, uint64_t n) {
    const size_t nbytes = (size_t)n * run->out_nbytes;
    if (run->stream)
        run->kernels->stream_copy(out, stage, nbytes);
    else
        memcpy(out, stage, nbytes);
}

static void finish_staged(const void *arg, uint32_t task, uint64_t first, size_t n, uint64_t carry, uint64_t aggregate) {
    const struct compact_run *run = arg;
    const unsigned char *const stage = stage_of(run, task);
    copy_staged(run, place_of(run, carry), stage, aggregate);
    if (run->rejected != NULL) copy_staged(run, rejected_place_of(run, first - carry), stage + CHAIN_BLOCK_NBYTES, n - aggregate);
}

static const struct chain_policy staged_policy = {reduce_staged, add_counts, finish_staged, pass_direct};

/* To both sides of one array. A block of several tasks has the room that its counts say; a block of one has all that is left. */

static void finish_split(const void *arg, uint32_t task, uint64_t first, size_t n, uint64_t carry, uint64_t aggregate) {
    const struct compact_run *run = arg;
    struct side kept = {place_of(run, carry), aggregate};
    struct side rejected = {rejected_place_of(run, first - carry), n - aggregate};
    (void)task;
    sift(run, first, n, kept, &rejected);
}

static uint64_t pass_split(const void *arg, uint64_t first, size_t n, uint64_t carry) {
    const struct compact_run *run = arg;
    const uint64_t total_rejected = run->args->n - run->total_kept;
    struct side kept = {place_of(run, carry), run->total_kept - carry};
    struct side rejected = {rejected_place_of(run, first - carry), total_rejected - (first - carry)};
    return carry + sift(run, first, n, kept, &rejected);
}

static const struct chain_policy split_policy = {count_block, add_counts, finish_split, pass_split};

/* Counting alone: the first pass of a partition to one array. */

static void finish_nothing(const void *arg, uint32_t task, uint64_t first, size_t n, uint64_t carry, uint64_t aggregate) {
    (void)arg, (void)task, (void)first, (void)n, (void)carry, (void)aggregate;
}

static uint64_t pass_count(const void *arg, uint64_t first, size_t n, uint64_t carry) { return carry + count_block(arg, 0, first, n); }

static const struct chain_policy count_policy = {count_block, add_counts, finish_nothing, pass_count};

/* ---- the call ---------------------------------------------------------------------------------------------------------------- */

/* Of a task: blocks of so many sides. 0: no stage is needed. */
static size_t stage_nbytes(size_t elem_nbytes, size_t nsides, uint32_t ntasks) {
    return is_vector_width(elem_nbytes) && ntasks > 1 ? nsides * CHAIN_BLOCK_NBYTES : 0;
}

uint64_t cpu_compact_scratch(upsweep_context *ctx, uint64_t n, size_t elem_nbytes, bool split) {
    const uint32_t ntasks = chain_ntasks(ctx, n, elem_nbytes);
    return (uint64_t)stage_nbytes(elem_nbytes, split ? 2 : 1, ntasks) * ntasks; /* indices are of typed elements, and need no more */
}

/* A block's items, so that neither its input nor its output is larger than CHAIN_BLOCK_NBYTES; for large records at least 64. */
static size_t block_items(size_t elem_nbytes, size_t out_nbytes) {
    const size_t items = CHAIN_BLOCK_NBYTES / (elem_nbytes > out_nbytes ? elem_nbytes : out_nbytes) / 64 * 64;
    return items < 64 ? 64 : items;
}

static size_t out_nbytes_of(const struct compact_args *args) {
    if (args->output == COMPACT_INDICES32) return sizeof(uint32_t);
    if (args->output == COMPACT_INDICES64) return sizeof(uint64_t);
    return args->elem_nbytes;
}

upsweep_status cpu_compact(upsweep_context *ctx, const struct compact_args *args) {
    const bool split = args->output == COMPACT_SPLIT, to_one = split && args->rest == NULL;
    const size_t out_nbytes = out_nbytes_of(args), items = block_items(args->elem_nbytes, out_nbytes);
    const uint32_t ntasks = chain_ntasks(ctx, args->n, args->elem_nbytes);
    struct compact_run run = {
        .args = args,
        .kernels = cpu_kernels(ctx),
        .out_nbytes = out_nbytes,
        .stages = ctx->scratch,
        .stage_nbytes = to_one ? 0 : stage_nbytes(out_nbytes, split ? 2 : 1, ntasks),
        .rejected = args->rest,
        .stream = args->n >= STREAM_NBYTES / args->elem_nbytes,
    };
    const struct chain_policy *policy = run.stage_nbytes > 0 ? &staged_policy : &direct_policy;
    if (to_one) {
        run.total_kept = chain_run(ctx, &count_policy, &run, args->n, items, 0, ntasks);
        if (args->n > 0) run.rejected = place_of(&run, run.total_kept); /* else out may be NULL */
        policy = &split_policy;
    }
    *args->count = chain_run(ctx, policy, &run, args->n, items, 0, ntasks);
    return UPSWEEP_OK;
}
