/* sort_run.c: a radix sort in progress: which bits are split by, and which thread takes which bucket. sort.c has the picture.
 *
 * A split is one pass by one task or, a chunk each, by all; buckets that are leaves then go to whoever is free; those that are not are
 * sorted by one task each, or by all again if one is larger than a fair share. */
#include <stdatomic.h>
#include <string.h>

#include "sort_kernels.h"

/* A range that is yet to be sorted by bits [lo, hi), as the level-th split of its items. */
struct bucket {
    uint64_t begin, end;
    uint32_t lo, hi, level;
    uint32_t share;                         /* as in struct sort_leaf */
    struct sort_spreads spreads;            /* once it has been looked at */
    const struct sort_splitters *splitters; /* its place is between two of these; or NULL */
};

static struct sort_bench *bench_of(const struct sorter *s, uint32_t task) { return (void *)(s->benches + task * s->bench_nbytes); }

static const struct sort_arrays *source_of(const struct sorter *s, const struct bucket *b) { return b->level == 0 ? &s->in : &s->out; }

static void sort_leaf(const struct sorter *s, const struct bucket *b, const struct sort_source *source, uint32_t task) {
    struct sort_bench *bench = bench_of(s, task);
    const struct sort_leaf leaf = {.source = *source,
                                   .to = s->out,
                                   .begin = b->begin,
                                   .image = s->image,
                                   .bench = bench,
                                   .area = bench->area,
                                   .area_nbytes = s->bench_nbytes - sizeof *bench,
                                   .table = (uint32_t *)(void *)(s->tables + task * s->table_nbytes),
                                   .table_items = s->table_nbytes / sizeof(uint32_t),
                                   .share = b->share,
                                   .by_line = b->spreads.by_line != SORT_SKEWED,
                                   .vector = s->vector,
                                   .pair_buckets = s->pair_buckets,
                                   .sorter = s};
    s->kernel->leaf(&leaf, b->lo, b->hi);
}

/* ---- one split, by one task or by all ---------------------------------------------------------------------------------------- */

/* Task i of ntasks has the chunk [begin + i * chunk, ...) and bench first_bench + i. */
struct split_job {
    const struct sorter *s;
    struct sort_split split;
    uint64_t begin, end, chunk, mask;
    uint32_t first_bench, ntasks;
    atomic_uint orders; /* bit 1 << o: a chunk is in enum sort_order o */
};

/* Only the input: what is too large then goes by digits, each of which leaves fewer bits. */
static bool goes_by_splitters(const struct sorter *s, const struct bucket *b) { return b->level == 0 && s->sampler != NULL; }

static void run_tasks(struct split_job *job, void (*task)(void *, uint32_t)) {
    if (job->ntasks == 1)
        task(job, 0);
    else
        cpu_run(job->s->ctx, task, job, job->ntasks);
}

static uint64_t chunk_begin(const struct split_job *job, uint32_t i) { return min_u64(job->end, job->begin + i * job->chunk); }

static void vary_task(void *arg, uint32_t i) {
    struct split_job *job = arg;
    const uint64_t begin = chunk_begin(job, i), end = chunk_begin(job, i + 1);
    struct sort_bench *bench = bench_of(job->s, job->first_bench + i);
    bench->varying = begin < end ? job->s->kernel->varying(&job->split.from, &job->split.image, begin, end, 1) : 0;
}

static void split_task(void *arg, uint32_t i) {
    struct split_job *job = arg;
    const uint64_t begin = chunk_begin(job, i), end = chunk_begin(job, i + 1);
    struct sort_bench *bench = bench_of(job->s, job->first_bench + i);
    bench->varying = job->s->kernel->split(&job->split, begin, end, bench);
}

static void copy_task(void *arg, uint32_t i) {
    const struct split_job *job = arg;
    const uint64_t begin = chunk_begin(job, i), end = chunk_begin(job, i + 1);
    if (begin < end) job->s->kernel->copy(&job->s->out, &job->split.from, begin, end);
}

static void reverse_task(void *arg, uint32_t i) {
    const struct split_job *job = arg;
    const uint64_t half = (job->end + 1) / 2, begin = min_u64(half, chunk_begin(job, i)), end = min_u64(half, chunk_begin(job, i + 1));
    job->s->kernel->reverse(&job->s->out, &job->split.from, job->end, begin, end);
}

/* Chunks overlap by an item. */
static void order_task(void *arg, uint32_t i) {
    struct split_job *job = arg;
    const uint64_t begin = chunk_begin(job, i), end = min_u64(job->end, chunk_begin(job, i + 1) + 1);
    const enum sort_order order = job->s->kernel->order(&job->split.from, &job->split.image, begin, end, job->mask);
    if (end - begin > 1) atomic_fetch_or_explicit(&job->orders, 1u << order, memory_order_relaxed); /* cpu_run orders the rest */
}

static struct split_job job_of(const struct sorter *s, const struct bucket *b, uint32_t task, uint32_t ntasks) {
    const uint64_t n = b->end - b->begin;
    return (struct split_job){
        .s = s,
        .split = {.from = *source_of(s, b), .image = s->image, .stream = n >= SORT_STREAM_NBYTES / s->kernel->item_nbytes},
        .begin = b->begin,
        .end = b->end,
        .chunk = (n + ntasks - 1) / ntasks,
        .mask = sort_low_bits(b->hi) & ~sort_low_bits(b->lo),
        .first_bench = task,
        .ntasks = ntasks};
}

/* The bits in which the keys differ, after a task on each chunk has found those of its own. */
static uint64_t join_varying(const struct split_job *job) {
    uint64_t varying = job->s->kernel->varying(&job->split.from, &job->split.image, job->begin, job->end, job->chunk);
    for (uint32_t i = 0; i < job->ntasks; i++) varying |= bench_of(job->s, job->first_bench + i)->varying;
    return varying & job->mask;
}

static uint64_t find_varying(struct split_job *job) {
    run_tasks(job, vary_task);
    return join_varying(job);
}

/* Whole lines, as many as the area has for each bucket beside the one between blocks, but no more than an eighth of the bucket. */
static void size_blocks(const struct split_job *job) {
    const uint64_t nbuckets = UINT64_C(1) << job->split.bits, line_items = SORT_LINE_NBYTES / job->s->kernel->item_nbytes;
    const uint64_t room = SORT_AREA_NBYTES / SORT_LINE_NBYTES / nbuckets - 1, least = SORT_BLOCK_MIN_NBYTES / SORT_LINE_NBYTES;
    const uint64_t wanted = max_u64(least, (job->end - job->begin) / job->ntasks / nbuckets / 8 / line_items);
    for (uint32_t i = 0; i < job->ntasks; i++) {
        struct sort_log *log = &bench_of(job->s, job->first_bench + i)->log;
        log->block_items = (uint32_t)(min_u64(room, wanted) * line_items);
        log->nblocks = 0;
    }
}

/* Enough for leaves in L2, but no more than a split does best, if larger leaves are possible. If these would need ten bits, two splits are
 * quicker than one, the first by as few as can be (2^28 u32 keys, Zen 4: 1.16 s for 1.64). */
static uint32_t split_bits(const struct sorter *s, uint64_t n) {
    uint32_t bits = sort_bit_top(n / (s->kernel->leaf_items / 2) | 1);
    if (bits > SORT_SPLIT_BEST_BITS) bits = sort_bit_top(n / (s->leaf_items / 4 * 3) | 1);
    if (bits >= SORT_SPLIT_MAX_BITS && s->leaf_items > s->kernel->leaf_items) return SORT_SPLIT_MIN_BITS;
    if (bits < SORT_SPLIT_BEST_BITS && n >> SORT_SPLIT_BEST_BITS > s->kernel->leaf_items / 2) bits = SORT_SPLIT_BEST_BITS;
    return bits < SORT_SPLIT_MIN_BITS ? SORT_SPLIT_MIN_BITS : bits > SORT_SPLIT_MAX_BITS ? SORT_SPLIT_MAX_BITS : bits;
}

/* Splits floats by value, on the line of a sample of them: false if they are not all numbers. */
static bool split_by_line(struct split_job *job, const struct bucket *b) {
    const uint64_t n = b->end - b->begin;
    const struct sorter *s = job->s;
    job->split.bits = split_bits(s, n);
    job->split.shift = b->hi;
    if (!s->kernel->line(&job->split.line, &s->in, &s->image, b->begin, b->end, n / 1024 + 1, job->split.bits)) return false;
    job->split.by_line = true;
    size_blocks(job);
    run_tasks(job, split_task);
    job->split.by_line = false;
    uint64_t any_nan = 0;
    for (uint32_t i = 0; i < job->ntasks; i++) any_nan |= bench_of(s, job->first_bench + i)->varying;
    return any_nan == 0;
}

/* Splits skewed pairs evenly, between splitters: false if that is not to be. */
static bool split_by_splitters(struct split_job *job, const struct bucket *b) {
    if (!goes_by_splitters(job->s, b)) return false;
    struct sort_splitters *const splitters = &bench_of(job->s, job->first_bench)->splitters;
    sort_find_splitters(job->s->sampler, job->s->in.keys, b->end, splitters);
    job->split.splitters = splitters;
    job->split.bits = splitters->index_bits;
    job->split.shift = b->hi;
    size_blocks(job);
    run_tasks(job, split_task);
    return true;
}

/* Splits into the logs by the digit below the common prefix: false if the keys do not differ at all. The highest bit that differs is known
 * for certain only when all keys have been read; a sample of them guesses it well enough that they are seldom read again. */
static bool split_by_digit(struct split_job *job, const struct bucket *b) {
    const uint32_t bits = split_bits(job->s, b->end - b->begin);
    uint64_t guess =
        job->s->kernel->varying(&job->split.from, &job->split.image, b->begin, b->end, (b->end - b->begin) / 256 + 1) & job->mask;
    if (guess == 0) guess = find_varying(job);
    if (guess == 0) return false;
    for (;;) {
        const uint32_t top = sort_bit_top(guess), left = top - b->lo;
        job->split.bits = left <= SORT_SPLIT_BEST_BITS || left < bits ? left : bits; /* all, if that leaves nothing to do */
        job->split.shift = top - job->split.bits;
        size_blocks(job);
        run_tasks(job, split_task);
        if (sort_bit_top(join_varying(job)) <= top) return true;
        guess = find_varying(job);
    }
}

/* Splits a bucket; `sub` becomes the common part of its sub-buckets, whose bounds are bounds[level]. Returns their number, 0 if the bucket
 * was sorted instead. */
static uint32_t split_bucket(const struct sorter *s, const struct bucket *b, uint32_t task, uint32_t ntasks, struct bucket *sub) {
    struct split_job job = job_of(s, b, task, ntasks);
    const bool by_line = b->level == 0 && b->spreads.by_line != SORT_SKEWED && split_by_line(&job, b);
    if (!by_line && !split_by_splitters(&job, b) && (b->lo == b->hi || !split_by_digit(&job, b))) {
        run_tasks(&job, copy_task);
        return 0;
    }
    const bool floats = s->vector != NULL && s->kernel->line != NULL && s->image.when_negative != 0;
    *sub = (struct bucket){.lo = b->lo,
                           .hi = job.split.shift,
                           .level = b->level + 1,
                           .splitters = job.split.splitters,
                           .spreads = {SORT_EVEN, floats ? SORT_EVEN : SORT_SKEWED}}; /* what lies together now is even enough */
    uint64_t *bounds = bench_of(s, task)->bounds[b->level];
    bounds[0] = b->begin;
    for (uint32_t d = 0; d < 1u << job.split.bits; d++) {
        bounds[d + 1] = bounds[d];
        for (uint32_t i = 0; i < ntasks; i++) bounds[d + 1] += bench_of(s, task + i)->log.counts[d];
    }
    return 1u << job.split.bits;
}

/* The whole input, if it is in order or in the opposite one, in one pass; false if it is in neither. */
static bool sort_ordered(const struct sorter *s, const struct bucket *b) {
    struct split_job job = job_of(s, b, 0, s->ntasks);
    const uint64_t sample = min_u64(b->end, SORT_ORDER_SAMPLE);
    if (s->kernel->order(&s->in, &s->image, 0, sample, job.mask) == SORT_MIXED) return false;
    atomic_init(&job.orders, 0);
    run_tasks(&job, order_task);
    const uint32_t orders = atomic_load_explicit(&job.orders, memory_order_relaxed);
    const bool falls = (orders & ~(1u << SORT_DESCENDING | 1u << SORT_DESCENDING_TIES)) == 0;
    if (!falls && orders != 1u << SORT_ASCENDING) return false;
    run_tasks(&job, falls ? reverse_task : copy_task);
    if (falls && orders != 1u << SORT_DESCENDING) s->kernel->reverse_ties(&s->out, &s->image, b->end, job.mask); /* back in their order */
    return true;
}

/* By a sample, if there is vector code that has the choice. */
static struct sort_spreads spreads_of(const struct sorter *s, const struct bucket *b) {
    const uint64_t n = b->end - b->begin;
    if (s->vector == NULL || n <= sort_group_items(s->vector, s->kernel->item_nbytes))
        return (struct sort_spreads){SORT_UNEVEN, SORT_SKEWED};
    const struct sort_spreads spreads = sort_spreads_of(s, source_of(s, b), b->begin, n);
    return b->level == 0 ? spreads : (struct sort_spreads){spreads.by_digit, b->spreads.by_line};
}

/* Do vectors exchange such keys quicker? Floats that are skewed by digit may be spread by value. A single leaf has to be even, or it takes
 * up to a third longer. */
static bool is_skewed(const struct sorter *s, const struct bucket *b) {
    if (s->vector == NULL) return false;
    const bool by_line = b->level == 0 && b->spreads.by_line != SORT_SKEWED, leaf = b->level == 0 && b->end <= s->leaf_items;
    return (by_line ? b->spreads.by_line : b->spreads.by_digit) < (leaf ? SORT_EVEN : SORT_UNEVEN);
}

/* Skewed keys that vectors can exchange: by that; a digit would leave most of them together, one waiting for the other. */
static void sort_skewed(const struct sorter *s, const struct bucket *b, uint32_t ntasks) {
    const uint64_t n = b->end - b->begin;
    const bool by_sample = b->spreads.by_digit == SORT_FEW;
    if (ntasks > 1)
        sort_exchange_together(s, source_of(s, b), b->begin, n, by_sample, s->logs); /* logs are larger, and not in use */
    else
        sort_exchange(s, source_of(s, b), b->begin, n, by_sample);
}

/* ---- buckets to threads ------------------------------------------------------------------------------------------------------ */

/* Bucket d of a split that tasks [first_bench, first_bench + nlogs) have made: a leaf, or, if it is too large, brought together. */
static void finish_bucket(const struct sorter *s, struct bucket *sub, const uint64_t *bounds, uint32_t d, uint32_t first_bench,
                          uint32_t nlogs, uint32_t task) {
    const uint64_t n = bounds[d + 1] - bounds[d];
    const struct sort_source source = {
        .n = (uint32_t)n, .nlogs = nlogs, .bucket = d, .benches = (void *)bench_of(s, first_bench), .bench_nbytes = s->bench_nbytes};
    sub->begin = bounds[d];
    sub->end = bounds[d + 1];
    if (sub->splitters != NULL) {
        sub->hi = sub->splitters->bits[d];
        sub->share = sub->splitters->share[d];
    }
    if (n > s->leaf_items)
        s->kernel->unload(&s->out, sub->begin, &source);
    else if (n > 0)
        sort_leaf(s, sub, &source, task);
}

/* Is the input a leaf though it does not fit the area, which one digit to another place does not need? */
static bool one_digit_does(const struct sorter *s, const struct bucket *b) {
    const uint64_t most = SORT_PLACED_NBYTES / s->kernel->item_nbytes;
    return b->level == 0 && b->hi - b->lo <= SORT_SPLIT_BEST_BITS && b->end <= most && sort_are_apart(&s->in, &s->out);
}

static void sort_serially(const struct sorter *s, struct bucket *b, uint32_t task) {
    const uint64_t leaf_items = s->leaf_items;
    b->spreads = spreads_of(s, b);
    if (is_skewed(s, b)) {
        sort_skewed(s, b, 1);
        return;
    }
    if ((b->end - b->begin <= leaf_items || one_digit_does(s, b)) && !goes_by_splitters(s, b)) {
        const struct sort_source source = {.arrays = *source_of(s, b), .begin = b->begin, .n = (uint32_t)(b->end - b->begin)};
        sort_leaf(s, b, &source, task);
        return;
    }
    struct bucket sub;
    const uint32_t nbuckets = split_bucket(s, b, task, 1, &sub);
    const uint64_t *bounds = bench_of(s, task)->bounds[b->level];
    for (uint32_t d = 0; d < nbuckets; d++) finish_bucket(s, &sub, bounds, d, task, 1, task);
    for (uint32_t d = 0; d < nbuckets; d++) {
        sub.begin = bounds[d];
        sub.end = bounds[d + 1];
        if (sub.splitters != NULL) sub.hi = b->hi; /* as it is for parallel ones: finish_bucket() had its own */
        if (sub.end - sub.begin > leaf_items) sort_serially(s, &sub, task);
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

static void leaf_task(void *arg, uint32_t task) {
    struct bucket_job *job = arg;
    for (;;) {
        const uint32_t d = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed); /* cpu_run orders the rest */
        if (d >= job->nbuckets) return;
        struct bucket sub = job->sub;
        finish_bucket(job->s, &sub, job->bounds, d, 0, job->s->ntasks, task);
    }
}

static void bucket_task(void *arg, uint32_t task) {
    struct bucket_job *job = arg;
    for (;;) {
        const uint32_t d = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (d >= job->nbuckets) return;
        struct bucket sub = job->sub;
        sub.begin = job->bounds[d];
        sub.end = job->bounds[d + 1];
        const uint64_t n = sub.end - sub.begin;
        if (n > job->s->leaf_items && n <= job->large) sort_serially(job->s, &sub, task);
    }
}

static void sort_in_parallel(const struct sorter *s, struct bucket *b) {
    struct bucket_job job = {.s = s, .bounds = bench_of(s, 0)->bounds[b->level]};
    b->spreads = spreads_of(s, b);
    if (is_skewed(s, b)) {
        sort_skewed(s, b, s->ntasks);
        return;
    }
    job.nbuckets = split_bucket(s, b, 0, s->ntasks, &job.sub);
    if (job.nbuckets == 0) return;
    cpu_run(s->ctx, leaf_task, &job, s->ntasks);
    uint64_t largest = 0;
    for (uint32_t d = 0; d < job.nbuckets; d++) largest = max_u64(largest, job.bounds[d + 1] - job.bounds[d]);
    if (largest <= s->leaf_items) return;
    job.large = max_u64((b->end - b->begin) / (2 * (uint64_t)s->ntasks), s->leaf_items);
    atomic_store_explicit(&job.next, 0, memory_order_relaxed);
    cpu_run(s->ctx, bucket_task, &job, s->ntasks);
    for (uint32_t d = 0; d < job.nbuckets; d++) {
        struct bucket sub = job.sub;
        sub.begin = job.bounds[d];
        sub.end = job.bounds[d + 1];
        if (sub.end - sub.begin > job.large) sort_in_parallel(s, &sub);
    }
}

static void open_benches(const struct sorter *s) {
    for (uint32_t i = 0; i < s->ntasks; i++) {
        struct sort_bench *const bench = bench_of(s, i);
        bench->nleaves = bench->nvain = 0;
        bench->log.blocks = s->logs + i * s->log_nbytes;
        bench->log.next = (uint32_t *)(void *)(s->logs_next + i * s->log_next_nbytes);
    }
}

bool sort_if_in_order(const struct sorter *s, uint64_t n, uint32_t lo, uint32_t hi) {
    const struct bucket whole = {.end = n, .lo = lo, .hi = hi};
    return n >= SORT_ORDER_SAMPLE && sort_ordered(s, &whole);
}

void sort_run(const struct sorter *s, uint64_t n, uint32_t lo, uint32_t hi) {
    struct bucket whole = {.end = n, .lo = lo, .hi = hi};
    bool heavy;
    if (s->ntasks == 1 && sort_if_few(s, n, &heavy)) return;
    if (sort_if_in_order(s, n, lo, hi)) return;
    open_benches(s);
    if (s->ntasks > 1)
        sort_in_parallel(s, &whole);
    else
        sort_serially(s, &whole, 0);
}
