/* sort.c: stable radix sort on the CPU: which bits, which bucket, which thread. The moving of keys is in sort_tmpl.h; read that next.
 *
 *   n keys ──split by the 8 to 10 highest bits in which they differ──> buckets ──each within L2 (a leaf)──> sorted
 *
 *     in   [ 3 9 4 1 7 0 8 2 6 5 ]     one thread a chunk: count digits; sum the counts; move the chunk through L2, in whole lines
 *     to   [ 1 0 2 | 3 4 5 | 7 8 6 ... ]    buckets are handed to threads by a counter
 *     out  [ 0 1 2 | 3 4 5 | 6 7 8 ... ]    leaf: one or two more digits within L2, then groups of a few keys
 *
 * A bucket too large for L2 is split again: by all threads if it would keep the others waiting, else by the thread that took it. `to` is
 * the output itself unless the sort is in place; from there a bucket is split into the other of output and scratch, and so on in turn,
 * while leaves always end in the output. Splits and leaves keep the order of equal keys, so the result is one and the same however the
 * work is cut.
 *
 * Cost: memory is read three times and written twice (count, split, leaf), where a sort by 8-bit digits from the least significant one
 * reads and writes u64 keys eight times: keys in a bucket that fits L2 need its bandwidth only. The price is the case of skewed keys,
 * hence the search for the highest bit that differs before each split: prefixes that all keys share cost nothing.
 *
 * Values of 4 and 8 bytes move with their keys; others stay, an index moves for them, and they are gathered at the end.
 * Sources: Knuth, TAOCP 3, 5.2.5; McIlroy, Bostic, McIlroy, Engineering radix sort, 1993; Satish et al., Fast sort on CPUs and GPUs, 2010.
 */
#include <stdatomic.h>
#include <string.h>

#include "sort_kernels.h"

/* ---- plan: where the scratch goes -------------------------------------------------------------------------------------------- */

enum { SCRATCH_ALIGN = 256 };

/* Offsets into the scratch; `total` is what it must hold. */
struct scratch_plan {
    uint32_t ntasks;
    uint64_t bench_nbytes, benches;    /* [ntasks] struct sort_bench */
    uint64_t spare_keys, spare_values; /* [n] the other arrays, to split into */
    uint64_t argsort_keys;             /* [n] stands in for keys_out */
    uint64_t indices;                  /* [n] of values that are gathered */
    uint64_t gathered;                 /* [n] values that are gathered in place */
    uint64_t total;
};

static uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Room for n items: its offset. The total saturates. */
static uint64_t take(struct scratch_plan *plan, uint64_t n, uint64_t item_nbytes) {
    const uint64_t at = plan->total;
    uint64_t nbytes;
    if (__builtin_mul_overflow(n, item_nbytes, &nbytes) || nbytes > UINT64_MAX - SCRATCH_ALIGN)
        nbytes = UINT64_MAX;
    else
        nbytes = (nbytes + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
    if (__builtin_add_overflow(at, nbytes, &plan->total)) plan->total = UINT64_MAX;
    return at;
}

static bool moves_with_key(size_t value_nbytes) { return value_nbytes == 0 || value_nbytes == 4 || value_nbytes == 8; }

static size_t index_nbytes(uint64_t n) { return n > UINT64_C(1) << 32 ? 8 : 4; }

static uint32_t tasks_for(upsweep_context *ctx, uint64_t n) {
    const uint64_t most = n / SORT_TASK_ITEMS, nthreads = cpu_impl(ctx)->nthreads;
    return (uint32_t)(most < 1 ? 1 : most < nthreads ? most : nthreads);
}

static struct scratch_plan plan_scratch(upsweep_context *ctx, uint64_t n, size_t key_nbytes, size_t value_nbytes, bool argsort) {
    struct scratch_plan plan = {.ntasks = 1};
    const size_t moved_nbytes = moves_with_key(value_nbytes) ? value_nbytes : index_nbytes(n);
    const struct sort_kernel *kernel = sort_kernel_of(key_nbytes, moved_nbytes);
    const bool splits = n > kernel->leaf_items;
    if (splits) plan.ntasks = tasks_for(ctx, n);
    plan.bench_nbytes = sizeof(struct sort_bench) + (splits ? SORT_AREA_NBYTES : min_u64(SORT_AREA_NBYTES, n * kernel->area_nbytes));
    plan.bench_nbytes = (plan.bench_nbytes + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
    plan.benches = take(&plan, plan.ntasks, plan.bench_nbytes);
    plan.spare_keys = take(&plan, splits ? n : 0, key_nbytes);
    plan.spare_values = take(&plan, splits ? n : 0, moved_nbytes);
    plan.argsort_keys = take(&plan, argsort ? n : 0, key_nbytes);
    plan.indices = take(&plan, moved_nbytes != value_nbytes ? n : 0, moved_nbytes);
    plan.gathered = take(&plan, moved_nbytes != value_nbytes ? n : 0, value_nbytes);
    return plan;
}

uint64_t cpu_sort_scratch(upsweep_context *ctx, uint64_t n, size_t key_nbytes, size_t value_nbytes, bool argsort) {
    const uint64_t counting = value_nbytes == 0 ? sort_by_counting_scratch(ctx, n, key_nbytes) : 0;
    const uint64_t radix = plan_scratch(ctx, n, key_nbytes, value_nbytes, argsort).total;
    return counting > radix ? counting : radix;
}

/* ---- a sort in progress ------------------------------------------------------------------------------------------------------ */

enum place { IN, OUT, SPARE };

struct sorter {
    upsweep_context *ctx;
    const struct sort_kernel *kernel;
    const struct sort_vector *vector; /* or NULL */
    struct sort_image image;
    struct sort_arrays at[3]; /* by enum place */
    enum place first_target;  /* of the split that reads the input: OUT, or SPARE if that would overwrite it */
    unsigned char *benches;
    uint64_t bench_nbytes;
    uint32_t ntasks;
};

/* A range that is yet to be sorted by bits [lo, hi). */
struct bucket {
    uint64_t begin, end;
    enum place from;
    uint32_t lo, hi;
    uint32_t level; /* of recursion: which bounds[] a split of it may write */
};

static struct sort_bench *bench_of(const struct sorter *s, uint32_t task) { return (void *)(s->benches + task * s->bench_nbytes); }

static void sort_leaf(const struct sorter *s, const struct bucket *b, uint32_t task) {
    const struct sort_leaf leaf = {s->at[b->from], s->at[OUT], s->image, bench_of(s, task), s->vector};
    s->kernel->leaf(&leaf, b->begin, b->end, b->lo, b->hi);
}

/* ---- one split, by one task or by all ---------------------------------------------------------------------------------------- */

/* Task i of ntasks has the chunk [begin + i * chunk, ...) and bench first_bench + i. */
struct split_job {
    const struct sorter *s;
    struct sort_split split;
    uint64_t begin, end, chunk;
    uint32_t first_bench, ntasks;
};

static void run_tasks(const struct split_job *job, void (*task)(void *, uint32_t)) {
    if (job->ntasks == 1)
        task((void *)job, 0);
    else
        cpu_run(job->s->ctx, task, (void *)job, job->ntasks);
}

static void count_task(void *arg, uint32_t i) {
    const struct split_job *job = arg;
    struct sort_bench *bench = bench_of(job->s, job->first_bench + i);
    const uint64_t begin = min_u64(job->end, job->begin + i * job->chunk), end = min_u64(job->end, begin + job->chunk);
    memset(bench->next, 0, sizeof bench->next[0] << job->split.bits);
    bench->varying = begin < end ? job->s->kernel->count(&job->split, begin, end, bench->next) : 0;
}

static void scatter_task(void *arg, uint32_t i) {
    const struct split_job *job = arg;
    const uint64_t begin = min_u64(job->end, job->begin + i * job->chunk), end = min_u64(job->end, begin + job->chunk);
    if (begin < end) job->s->kernel->scatter(&job->split, begin, end, bench_of(job->s, job->first_bench + i));
}

static void copy_task(void *arg, uint32_t i) {
    const struct split_job *job = arg;
    const uint64_t begin = min_u64(job->end, job->begin + i * job->chunk), end = min_u64(job->end, begin + job->chunk);
    if (begin < end) job->s->kernel->copy(&job->split.to, &job->split.from, begin, end);
}

/* The bits among [lo, hi) in which the keys differ; counts their digits on the way. */
static uint64_t count_digits(const struct split_job *job, uint32_t lo, uint32_t hi) {
    run_tasks(job, count_task);
    uint64_t varying = job->s->kernel->varying(&job->split.from, &job->split.image, job->begin, job->end, job->chunk);
    for (uint32_t i = 0; i < job->ntasks; i++) varying |= bench_of(job->s, job->first_bench + i)->varying;
    return varying & sort_low_bits(hi) & ~sort_low_bits(lo);
}

/* Finds the digit below the common prefix and counts it: false if the keys do not differ at all. The highest bit that differs is known
 * for certain only when all keys have been read; a sample of them guesses it well enough that they are seldom read again. */
static bool choose_digit(struct split_job *job, const struct bucket *b) {
    const uint64_t n = b->end - b->begin, in_range = sort_low_bits(b->hi) & ~sort_low_bits(b->lo);
    const uint32_t nleaves_bits = sort_bit_top(n / (job->s->kernel->leaf_items / 2));
    uint32_t bits = nleaves_bits < SORT_SPLIT_MIN_BITS ? SORT_SPLIT_MIN_BITS : nleaves_bits;
    if (bits > job->s->kernel->split_max_bits) bits = job->s->kernel->split_max_bits;
    uint64_t guess = job->s->kernel->varying(&job->split.from, &job->split.image, b->begin, b->end, n / 256 + 1) & in_range;
    for (;;) {
        const uint32_t top = guess ? sort_bit_top(guess) : b->lo + 1;
        job->split.bits = top - b->lo < bits ? top - b->lo : bits;
        job->split.shift = top - job->split.bits;
        const uint64_t varying = count_digits(job, b->lo, b->hi);
        if (varying == 0) return false;
        if (sort_bit_top(varying) <= top) return true;
        guess = varying;
    }
}

/* Counts of every task and digit -> where each task's items of each digit go, and the bounds of the buckets. */
static void sum_counts(const struct split_job *job, uint64_t *bounds) {
    const uint32_t nbuckets = 1u << job->split.bits;
    uint64_t at = job->begin;
    for (uint32_t d = 0; d < nbuckets; d++) {
        bounds[d] = at;
        for (uint32_t i = 0; i < job->ntasks; i++) {
            uint64_t *next = &bench_of(job->s, job->first_bench + i)->next[d];
            const uint64_t count = *next;
            *next = at;
            at += count;
        }
    }
    bounds[nbuckets] = at;
}

/* Splits a bucket; `sub` becomes the common part of its sub-buckets. Returns their number, 0 if the bucket was sorted instead. */
static uint32_t split_bucket(const struct sorter *s, const struct bucket *b, uint32_t task, uint32_t ntasks, struct bucket *sub) {
    const uint64_t n = b->end - b->begin;
    const enum place to = b->from == IN ? s->first_target : b->from == OUT ? SPARE : OUT;
    struct split_job job = {s, {.from = s->at[b->from], .to = s->at[to], .image = s->image}, b->begin, b->end, 0, task, ntasks};
    job.chunk = (n + ntasks - 1) / ntasks;
    job.split.stream = n >= SORT_STREAM_NBYTES / s->kernel->item_nbytes;
    if (b->lo == b->hi || !choose_digit(&job, b)) {
        job.split.to = s->at[OUT];
        run_tasks(&job, copy_task);
        return 0;
    }
    sum_counts(&job, bench_of(s, task)->bounds[b->level]);
    run_tasks(&job, scatter_task);
    *sub = (struct bucket){.from = to, .lo = b->lo, .hi = job.split.shift, .level = b->level + 1};
    return 1u << job.split.bits;
}

/* ---- buckets to threads ------------------------------------------------------------------------------------------------------ */

static void sort_serially(const struct sorter *s, const struct bucket *b, uint32_t task) {
    if (b->begin == b->end) return;
    if (b->end - b->begin <= s->kernel->leaf_items) {
        sort_leaf(s, b, task);
        return;
    }
    struct bucket sub;
    const uint32_t nbuckets = split_bucket(s, b, task, 1, &sub);
    const uint64_t *bounds = bench_of(s, task)->bounds[b->level];
    for (uint32_t d = 0; d < nbuckets; d++) {
        sub.begin = bounds[d];
        sub.end = bounds[d + 1];
        sort_serially(s, &sub, task);
    }
}

struct bucket_job {
    const struct sorter *s;
    struct bucket sub;
    const uint64_t *bounds;
    uint32_t nbuckets;
    uint64_t large; /* buckets of more items are left for all threads together */
    atomic_uint next;
};

static void bucket_task(void *arg, uint32_t task) {
    struct bucket_job *job = arg;
    for (;;) {
        const uint32_t d = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed); /* cpu_run orders the rest */
        if (d >= job->nbuckets) return;
        struct bucket sub = job->sub;
        sub.begin = job->bounds[d];
        sub.end = job->bounds[d + 1];
        if (sub.end - sub.begin <= job->large) sort_serially(job->s, &sub, task);
    }
}

static void sort_in_parallel(const struct sorter *s, const struct bucket *b) {
    struct bucket_job job = {.s = s, .bounds = bench_of(s, 0)->bounds[b->level]};
    job.nbuckets = split_bucket(s, b, 0, s->ntasks, &job.sub);
    if (job.nbuckets == 0) return;
    job.large = (b->end - b->begin) / (2 * (uint64_t)s->ntasks);
    if (job.large < s->kernel->leaf_items) job.large = s->kernel->leaf_items;
    cpu_run(s->ctx, bucket_task, &job, s->ntasks);
    for (uint32_t d = 0; d < job.nbuckets; d++) {
        struct bucket sub = job.sub;
        sub.begin = job.bounds[d];
        sub.end = job.bounds[d + 1];
        if (sub.end - sub.begin > job.large) sort_in_parallel(s, &sub);
    }
}

/* ---- values that do not move with their keys --------------------------------------------------------------------------------- */

struct gather_job {
    unsigned char *to;
    const unsigned char *from, *indices;
    uint64_t n, chunk;
    size_t index_nbytes, value_nbytes;
};

static uint64_t index_at(const struct gather_job *job, uint64_t i) {
    return job->index_nbytes == 4 ? ((const uint32_t *)(const void *)job->indices)[i] : ((const uint64_t *)(const void *)job->indices)[i];
}

/* Inlined with a constant size, memcpy is a load and a store. */
static inline void gather_range(const struct gather_job *job, uint64_t begin, uint64_t end, size_t nbytes) {
    for (uint64_t i = begin; i < end; i++) memcpy(job->to + i * nbytes, job->from + index_at(job, i) * nbytes, nbytes);
}

static void gather_task(void *arg, uint32_t i) {
    const struct gather_job *job = arg;
    const uint64_t begin = min_u64(job->n, i * job->chunk), end = min_u64(job->n, begin + job->chunk);
    switch (job->value_nbytes) {
    case 1:
        gather_range(job, begin, end, 1);
        break;
    case 2:
        gather_range(job, begin, end, 2);
        break;
    case 16:
        gather_range(job, begin, end, 16);
        break;
    default:
        gather_range(job, begin, end, job->value_nbytes);
    }
}

static void gather_values(upsweep_context *ctx, const struct sort_args *args, const struct scratch_plan *plan) {
    unsigned char *scratch = ctx->scratch;
    struct gather_job job = {.to = args->values_out,
                             .from = args->values_in,
                             .indices = scratch + plan->indices,
                             .n = args->n,
                             .index_nbytes = index_nbytes(args->n),
                             .value_nbytes = args->value_nbytes};
    if (args->values_out == args->values_in) {
        memcpy(scratch + plan->gathered, args->values_in, (size_t)(args->n * args->value_nbytes));
        job.from = scratch + plan->gathered;
    }
    const uint32_t ntasks = tasks_for(ctx, args->n);
    job.chunk = (args->n + ntasks - 1) / ntasks;
    cpu_run(ctx, gather_task, &job, ntasks);
}

/* ---- entry ------------------------------------------------------------------------------------------------------------------- */

static struct sort_image image_of(upsweep_type type, size_t key_nbytes, bool descending) {
    const uint64_t all = sort_low_bits((uint32_t)key_nbytes * 8), sign = (all >> 1) + 1;
    struct sort_image image = {0, 0};
    switch (type) {
    case UPSWEEP_I8:
    case UPSWEEP_I16:
    case UPSWEEP_I32:
    case UPSWEEP_I64:
        image.flip = sign;
        break;
    case UPSWEEP_F32:
    case UPSWEEP_F64:
        image.flip = sign;
        image.when_negative = all ^ sign;
        break;
    default:
        break; /* unsigned: the key itself */
    }
    if (descending) image.flip ^= all;
    return image;
}

static void sort_by_radix(upsweep_context *ctx, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    const bool argsort = args->keys_out == NULL, gathers = !moves_with_key(args->value_nbytes);
    const struct scratch_plan plan = plan_scratch(ctx, args->n, key_nbytes, args->value_nbytes, argsort);
    unsigned char *scratch = ctx->scratch;
    const size_t moved_nbytes = gathers ? index_nbytes(args->n) : args->value_nbytes;
    const bool whole_keys = args->lo_bit == 0 && args->hi_bit == 8 * key_nbytes && moved_nbytes == 0;
    const struct sorter s = {
        .ctx = ctx,
        .kernel = sort_kernel_of(key_nbytes, moved_nbytes),
        .vector = whole_keys ? sort_vector_of(cpu_impl(ctx)->isa, key_nbytes) : NULL,
        .image = *image,
        .at = {[IN] = {(unsigned char *)args->keys_in, gathers ? NULL : (unsigned char *)args->values_in},
               [OUT] = {argsort ? scratch + plan.argsort_keys : args->keys_out, gathers ? scratch + plan.indices : args->values_out},
               [SPARE] = {scratch + plan.spare_keys, scratch + plan.spare_values}},
        .first_target = args->keys_in == args->keys_out || (!gathers && args->values_in == args->values_out) ? SPARE : OUT,
        .benches = scratch + plan.benches,
        .bench_nbytes = plan.bench_nbytes,
        .ntasks = plan.ntasks,
    };
    const struct bucket whole = {0, args->n, IN, args->lo_bit, args->hi_bit, 0};
    if (plan.ntasks > 1)
        sort_in_parallel(&s, &whole);
    else
        sort_serially(&s, &whole, 0);
    if (gathers) gather_values(ctx, args, &plan);
}

upsweep_status cpu_sort(upsweep_context *ctx, const struct sort_args *args) {
    const size_t key_nbytes = upsweep_type_nbytes(args->type);
    const struct sort_image image = image_of(args->type, key_nbytes, args->descending);
    const bool whole_keys = args->lo_bit == 0 && args->hi_bit == 8 * key_nbytes && args->value_nbytes == 0;
    if (whole_keys && sort_by_counting_pays(args->n, key_nbytes))
        sort_by_counting(ctx, args, &image, key_nbytes);
    else
        sort_by_radix(ctx, args, &image, key_nbytes);
    return UPSWEEP_OK;
}
