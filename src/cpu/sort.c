/* sort.c: stable radix sort on the CPU: what it is made of, and where its scratch goes. Read sort_run.c next: which bits, which bucket,
 * which thread; then sort_tmpl.h: the moving of keys.
 *
 *   n keys ──split by 6 to 10 of the highest bits in which they differ──> buckets ──each within L2 (a leaf)──> sorted
 *
 *     in    [ 3 9 4 1 7 0 8 2 6 5 ]            one thread a chunk: moves it, in one pass, through L2 to the blocks of its log
 *     logs  [ 3 4 | 1 0 | 9 7 ][ 2 | 8 6 | 5 ]   buckets, a list of blocks in each log, are handed to threads by a counter
 *     out   [ 0 1 2 | 3 4 5 | 6 7 8 9 ]        leaf: one or two more digits within L2, then groups of a few keys
 *
 * Pairs whose keys a sample shows to be skewed or to repeat are split between splitters instead, with AVX-512 (sort_splitters.c).
 *
 * A bucket too large for L2 is brought together in the output, and when all leaves are done it is split again from there, through the same
 * logs: by all threads if it would keep the others waiting, else by one. Splits and leaves keep the order of equal keys, so the result
 * is one and the same however the work is cut; that a sort is in place makes no difference.
 *
 * Cost: memory is read twice and written twice (split, leaf), where a sort by 8-bit digits from the least significant one reads and writes
 * u64 keys eight times: keys in a bucket that fits L2 need its bandwidth only. The price is the case of skewed keys, hence the search for
 * the highest bit that differs before each split: prefixes that all keys share cost nothing. What is already in order, or in the opposite
 * one, is found by a look at its first keys, and copied.
 *
 * With AVX2 or AVX-512, keys alone go by halves (sort_exchange.c) if they fit the caches, and then in slots (sort_slots_tmpl.h); up to 8
 * KiB of them at once, by networks (sort_at_once.c, sort_network.c). So go, by halves only, keys that a sample shows to be skewed or to
 * repeat (sort_sample.c), and any keys alone if the caller would rather save memory; a handful of different ones are counted
 * (sort_few_tmpl.h), and so are, with AVX-512, those that are there very often (sort_heavy.c). Indices with AVX2 go as keys alone do, as
 * items of twice the width (sort_items.c). Keys of one and two bytes have ways of their own (sort_narrow.h), and so has a handful of pairs
 * (sort_tags.h, sort_tags_avx2.c), or of keys in plain C (sort_ranks.c). Values of 4 and 8 bytes move with their keys; others stay, an
 * index moves for them, and they are gathered at the end (sort_gather.c). Sources: Knuth, TAOCP 3, 5.2.5; McIlroy, Bostic, McIlroy,
 * Engineering radix sort, 1993; Satish et al., Fast sort on CPUs and GPUs, 2010; Axtmann et al., In-place parallel super scalar samplesort,
 * 2017 (blocks instead of counts).
 */
#include <string.h>

#include "sort_narrow.h"

/* ---- plan: where the scratch goes -------------------------------------------------------------------------------------------- */

enum { SCRATCH_ALIGN = 256 };

/* Offsets into the scratch; `total` is what it must hold. */
struct scratch_plan {
    uint32_t ntasks;
    uint64_t leaf_items;                 /* what is more is split */
    uint64_t bench_nbytes, benches;      /* [ntasks] struct sort_bench */
    uint64_t table_nbytes, tables;       /* [ntasks] of a leaf's higher digit */
    uint64_t log_nbytes, logs;           /* [ntasks] blocks */
    uint64_t log_next_nbytes, logs_next; /* [ntasks] their links */
    uint64_t argsort_keys;               /* [n] stands in for keys_out */
    uint64_t indices;                    /* [n] of values that are gathered */
    uint64_t gathered;                   /* [n] values that are gathered in place */
    uint64_t shared;                     /* of a sort by exchange */
    uint64_t total;
};

/* n items in bytes, in whole steps of SCRATCH_ALIGN. Saturates. */
static uint64_t aligned_nbytes(uint64_t n, uint64_t item_nbytes) {
    uint64_t nbytes;
    if (__builtin_mul_overflow(n, item_nbytes, &nbytes) || nbytes > UINT64_MAX - SCRATCH_ALIGN) return UINT64_MAX;
    return (nbytes + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
}

/* Room for n items: its offset. The total saturates. */
static uint64_t take(struct scratch_plan *plan, uint64_t n, uint64_t item_nbytes) {
    const uint64_t at = plan->total;
    if (__builtin_add_overflow(at, aligned_nbytes(n, item_nbytes), &plan->total)) plan->total = UINT64_MAX;
    return at;
}

static bool moves_with_key(size_t value_nbytes) { return value_nbytes == 0 || value_nbytes == 4 || value_nbytes == 8; }

static size_t index_nbytes(uint64_t n) { return n > UINT64_C(1) << 32 ? 8 : 4; }

static uint32_t tasks_for(upsweep_context *ctx, uint64_t n) {
    const uint64_t most = n / SORT_TASK_ITEMS, nthreads = cpu_impl(ctx)->nthreads;
    return (uint32_t)(most < 1 ? 1 : most < nthreads ? most : nthreads);
}

/* Room for the log of a task that splits n items: the open blocks of all buckets, which are an area at most, add to them. */
static uint64_t log_nbytes_of(uint64_t n, uint32_t item_nbytes) {
    const uint64_t nbytes = aligned_nbytes(n, item_nbytes);
    return nbytes > UINT64_MAX - SORT_AREA_NBYTES ? UINT64_MAX : nbytes + SORT_AREA_NBYTES;
}

/* With an area for n items. */
static uint64_t bench_nbytes_of(uint64_t n, size_t item_nbytes) {
    return aligned_nbytes(1, sizeof(struct sort_bench) + aligned_nbytes(n, item_nbytes));
}

static struct scratch_plan plan_scratch(upsweep_context *ctx, uint64_t n, size_t key_nbytes, size_t value_nbytes, bool argsort) {
    struct scratch_plan plan = {.ntasks = 1};
    const size_t moved_nbytes = moves_with_key(value_nbytes) ? value_nbytes : index_nbytes(n);
    const struct sort_kernel *kernel = sort_kernel_of(cpu_impl(ctx)->isa, key_nbytes, moved_nbytes);
    const enum cpu_isa isa = cpu_impl(ctx)->isa;
    const bool networks =
        moved_nbytes == 0 ? sort_vector_of(isa, key_nbytes) != NULL : sort_pair_buckets_of(isa, key_nbytes, moved_nbytes) != NULL;
    const uint32_t ntasks = tasks_for(ctx, n);
    const uint32_t area_nbytes = moved_nbytes == 0 ? SORT_NETWORK_AREA_NBYTES : SORT_PAIRS_AREA_NBYTES;
    uint64_t network_items = networks ? area_nbytes / kernel->item_nbytes : 0;
    if (ntasks > 1) network_items = min_u64(network_items, n / (4 * (uint64_t)ntasks)); /* or areas would outgrow the input */
    plan.leaf_items = max_u64(network_items, kernel->leaf_items);
    const bool splits = n > (moved_nbytes == 0 ? plan.leaf_items : kernel->leaf_items); /* pairs without networks are split sooner */
    if (splits) plan.ntasks = ntasks;
    const uint64_t largest = min_u64(n, plan.leaf_items);
    plan.bench_nbytes = bench_nbytes_of(largest, kernel->item_nbytes);
    if (networks && moved_nbytes == 0) {
        const uint64_t slots_nbytes = sort_slots_nbytes(splits ? network_items : n, key_nbytes);
        plan.bench_nbytes = max_u64(plan.bench_nbytes, bench_nbytes_of(slots_nbytes, 1));
    }
    plan.table_nbytes = networks ? aligned_nbytes(sort_table_items(largest), sizeof(uint32_t)) : 0;
    plan.benches = take(&plan, plan.ntasks, plan.bench_nbytes);
    plan.tables = take(&plan, plan.ntasks, plan.table_nbytes);
    if (splits) {
        plan.log_nbytes = log_nbytes_of((n - 1) / plan.ntasks + 1, kernel->item_nbytes);
        plan.log_next_nbytes = aligned_nbytes(plan.log_nbytes / SORT_BLOCK_MIN_NBYTES, sizeof(uint32_t));
        plan.logs = take(&plan, plan.ntasks, plan.log_nbytes);
        plan.logs_next = take(&plan, plan.ntasks, plan.log_next_nbytes);
    }
    plan.argsort_keys = take(&plan, argsort ? n : 0, key_nbytes);
    plan.indices = take(&plan, moved_nbytes != value_nbytes ? n : 0, moved_nbytes);
    plan.gathered = take(&plan, moved_nbytes != value_nbytes ? n : 0, value_nbytes);
    return plan;
}

/* The benches first, for slots, or for code without vectors; then what the threads share. */
static struct scratch_plan plan_exchange(upsweep_context *ctx, uint64_t n, size_t key_nbytes, bool low_memory) {
    struct scratch_plan plan = {.ntasks = tasks_for(ctx, n)};
    const struct sort_kernel *kernel = sort_kernel_of(cpu_impl(ctx)->isa, key_nbytes, 0);
    if (sort_vector_of(cpu_impl(ctx)->isa, key_nbytes) == NULL) {
        plan.bench_nbytes = bench_nbytes_of(min_u64(n, kernel->leaf_items), key_nbytes);
    } else if (!low_memory && n > SORT_EXCHANGE_ITEMS(key_nbytes)) {
        plan.leaf_items = min_u64(plan.ntasks > 1 ? sort_share_items(n, plan.ntasks) : n, SORT_SLOTS_ITEMS(key_nbytes));
        plan.bench_nbytes = bench_nbytes_of(sort_slots_nbytes(plan.leaf_items, key_nbytes), 1);
        plan.table_nbytes = aligned_nbytes(sort_table_items(plan.leaf_items), sizeof(uint32_t));
    }
    plan.benches = take(&plan, plan.ntasks, plan.bench_nbytes);
    plan.tables = take(&plan, plan.ntasks, plan.table_nbytes);
    plan.shared = take(&plan, 1, sort_exchange_scratch(plan.ntasks));
    return plan;
}

/* For up to n keys of one or two bytes. */
static uint64_t narrow_scratch(upsweep_context *ctx, uint64_t n, size_t key_nbytes) {
    const uint64_t two_bytes =
        key_nbytes == 2 && sort_two_bytes_most(cpu_impl(ctx)->isa) > 0 && n > SORT_GROUP_NBYTES / 2 ? sort_two_bytes_scratch() : 0;
    return max_u64(two_bytes, sort_by_counting_scratch(ctx, n, key_nbytes));
}

/* Keys alone and whole, with vector code: those that are not split. */
static bool goes_by_halves(upsweep_context *ctx, uint64_t n, size_t key_nbytes) {
    if (n <= sort_kernel_of(cpu_impl(ctx)->isa, key_nbytes, 0)->leaf_items) return true;
    return n <= SORT_HALVES_NBYTES / key_nbytes && tasks_for(ctx, n) <= SORT_HALVES_TASKS;
}

/* For up to n of these. As n grows there is a task more, each with less to do, and all may need less. */
static uint64_t halves_scratch(upsweep_context *ctx, uint64_t n, size_t key_nbytes) {
    enum { MOST_TASKS = SORT_AREA_NBYTES / sizeof(uint32_t) / SORT_TASK_ITEMS };
    const uint64_t most = min_u64(n, SORT_HALVES_NBYTES / key_nbytes);
    uint64_t nbytes = goes_by_halves(ctx, most, key_nbytes) ? plan_exchange(ctx, most, key_nbytes, false).total : 0;
    for (uint64_t ntasks = 1; ntasks <= MOST_TASKS; ntasks++) {
        const uint64_t last = min_u64(most, (ntasks + 1) * SORT_TASK_ITEMS - 1);
        if (goes_by_halves(ctx, last, key_nbytes)) nbytes = max_u64(nbytes, plan_exchange(ctx, last, key_nbytes, false).total);
    }
    return nbytes;
}

/* For up to n items of 8 bytes: of what sorts them, and behind that for themselves. */
static uint64_t items_scratch(upsweep_context *ctx, uint64_t n) {
    return halves_scratch(ctx, n, sizeof(uint64_t)) + aligned_nbytes(min_u64(n, SORT_HALVES_NBYTES / sizeof(uint64_t)), sizeof(uint64_t));
}

uint64_t cpu_sort_scratch(upsweep_context *ctx, uint64_t n, size_t key_nbytes, size_t value_nbytes, bool argsort) {
    if (sort_needs_no_scratch(n, value_nbytes)) return 0;
    const uint64_t nbytes = plan_scratch(ctx, n, key_nbytes, value_nbytes, argsort).total;
    const bool items = argsort && sort_pays_as_items(cpu_impl(ctx)->isa, n, key_nbytes, value_nbytes);
    if (value_nbytes != 0) return items ? max_u64(nbytes, items_scratch(ctx, n)) : nbytes;
    const uint64_t halves = sort_vector_of(cpu_impl(ctx)->isa, key_nbytes) != NULL ? halves_scratch(ctx, n, key_nbytes) : 0;
    return max_u64(max_u64(nbytes, halves), narrow_scratch(ctx, n, key_nbytes));
}

uint64_t cpu_sort_low_memory_scratch(upsweep_context *ctx, uint64_t n, size_t key_nbytes) {
    if (sort_needs_no_scratch(n, 0)) return 0;
    return max_u64(plan_exchange(ctx, n, key_nbytes, true).total, narrow_scratch(ctx, n, key_nbytes));
}

/* ---- entry ------------------------------------------------------------------------------------------------------------------- */

static void gather_values(upsweep_context *ctx, const struct sort_args *args, const struct scratch_plan *plan) {
    unsigned char *scratch = ctx->scratch;
    struct sort_gather gather = {.to = args->values_out,
                                 .from = args->values_in,
                                 .indices = scratch + plan->indices,
                                 .n = args->n,
                                 .index_nbytes = index_nbytes(args->n),
                                 .value_nbytes = args->value_nbytes};
    if (args->values_out == args->values_in) {
        memcpy(scratch + plan->gathered, args->values_in, (size_t)(args->n * args->value_nbytes));
        gather.from = scratch + plan->gathered;
    }
    sort_gather_values(ctx, &gather, tasks_for(ctx, args->n));
}

/* What sorts a sample of the keys of pairs. */
static struct sorter sampler_for(upsweep_context *ctx, const struct sort_image *image, size_t key_nbytes) {
    const enum cpu_isa isa = cpu_impl(ctx)->isa;
    return (struct sorter){.kernel = sort_kernel_of(isa, key_nbytes, 0), .vector = sort_vector_of(isa, key_nbytes), .image = *image};
}

/* The networks for pairs, by all bits of their keys; NULL if there are none. */
static sort_pair_buckets *pair_buckets_for(upsweep_context *ctx, const struct sort_args *args, size_t key_nbytes, size_t moved_nbytes) {
    const bool whole_keys = args->lo_bit == 0 && args->hi_bit == 8 * key_nbytes;
    return whole_keys ? sort_pair_buckets_of(cpu_impl(ctx)->isa, key_nbytes, moved_nbytes) : NULL;
}

/* More pairs are split by splitters: if keys just repeat, or are not quite uneven, a single large leaf is quicker. */
static uint64_t most_without_splitters(const struct scratch_plan *plan, const struct sort_kernel *kernel, enum sort_spread spread) {
    const uint64_t large = spread == SORT_UNEVEN ? 2 * kernel->leaf_items : plan->leaf_items;
    return spread == SORT_EVEN ? UINT64_MAX : spread == SORT_SKEWED ? kernel->leaf_items : min_u64(plan->leaf_items, large);
}

static void sort_by_radix(upsweep_context *ctx, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes,
                          bool vectors) {
    const bool argsort = args->keys_out == NULL, gathers = !moves_with_key(args->value_nbytes);
    const struct scratch_plan plan = plan_scratch(ctx, args->n, key_nbytes, args->value_nbytes, argsort);
    unsigned char *scratch = ctx->scratch;
    const size_t moved_nbytes = gathers ? index_nbytes(args->n) : args->value_nbytes;
    const struct sort_kernel *kernel = sort_kernel_of(cpu_impl(ctx)->isa, key_nbytes, moved_nbytes);
    sort_pair_buckets *const pair_buckets = pair_buckets_for(ctx, args, key_nbytes, moved_nbytes);
    const struct sorter sampler = sampler_for(ctx, image, key_nbytes);
    const bool sampled = pair_buckets != NULL && args->n >= SORT_PAIRS_SAMPLED;
    const enum sort_spread spread = sampled ? sort_pairs_spread(&sampler, args->keys_in, args->n) : SORT_EVEN;
    const bool by_splitters = args->n > most_without_splitters(&plan, kernel, spread);
    const struct sorter s = {
        .ctx = ctx,
        .kernel = kernel,
        .vector = vectors ? sort_vector_of(cpu_impl(ctx)->isa, key_nbytes) : NULL,
        .pair_buckets = pair_buckets,
        .image = *image,
        .in = {(unsigned char *)args->keys_in, gathers ? NULL : (unsigned char *)args->values_in},
        .out = {argsort ? scratch + plan.argsort_keys : args->keys_out, gathers ? scratch + plan.indices : args->values_out},
        .leaf_items = moved_nbytes == 0 || pair_buckets != NULL ? plan.leaf_items : kernel->leaf_items,
        .pairs_lie_together = spread == SORT_UNEVEN || spread == SORT_SKEWED,
        .sampler = by_splitters ? &sampler : NULL,
        .benches = scratch + plan.benches,
        .bench_nbytes = plan.bench_nbytes,
        .tables = scratch + plan.tables,
        .logs = scratch + plan.logs,
        .logs_next = scratch + plan.logs_next,
        .table_nbytes = plan.table_nbytes,
        .log_nbytes = plan.log_nbytes,
        .log_next_nbytes = plan.log_next_nbytes,
        .ntasks = plan.ntasks,
    };
    sort_run(&s, args->n, args->lo_bit, args->hi_bit);
    if (gathers) gather_values(ctx, args, &plan);
}

/* Slots, if the keys are even. */
static void open_slots(struct sorter *s, const struct scratch_plan *plan, struct sort_spreads spreads) {
    s->by_line = spreads.by_line != SORT_SKEWED;
    if ((s->by_line ? spreads.by_line : spreads.by_digit) != SORT_EVEN) return;
    s->slots_items = plan->leaf_items;
    for (uint32_t i = 0; i < s->ntasks; i++) {
        struct sort_bench *const bench = (void *)(s->benches + i * s->bench_nbytes);
        bench->nleaves = bench->nvain = 0;
    }
}

/* Keys of 8 bytes that fit a leaf: with AVX2, halving those that are not even enough for slots can take longer than two digits do, up to
 * 1.7 times. (Zen 3, 2026-11.) */
static bool digits_may_part(const struct sorter *s, const struct scratch_plan *plan, uint64_t n) {
    const bool avx2 = cpu_impl(s->ctx)->isa == CPU_AVX2, room = plan->bench_nbytes >= bench_nbytes_of(n, s->kernel->item_nbytes);
    return avx2 && s->kernel->item_nbytes == sizeof(uint64_t) && n <= s->kernel->leaf_items && s->ntasks == 1 && room;
}

/* By halves: down to slots or networks, or by two digits. skewed: the keys are known to be. */
static void sort_by_halves(struct sorter *s, const struct scratch_plan *plan, uint64_t n, bool skewed, void *shared) {
    const bool sampled = s->vector != NULL && n > SORT_EXCHANGE_SAMPLED(s->kernel->item_nbytes);
    struct sort_spreads spreads = sampled ? sort_spreads_of(s, &s->in, 0, n) : (struct sort_spreads){SORT_UNEVEN, SORT_SKEWED};
    if (!sampled && !skewed && plan->leaf_items > 0 && sort_seem_even(s, s->in.keys, n)) spreads.by_digit = SORT_EVEN;
    const bool by_sample = skewed || spreads.by_digit == SORT_FEW;
    if (plan->leaf_items > 0) open_slots(s, plan, spreads);
    if (!skewed && s->slots_items == 0 && digits_may_part(s, plan, n) && sort_digits_part(s, s->in.keys, n)) s->vector = NULL;
    if (s->ntasks > 1)
        sort_exchange_together(s, &s->in, 0, n, by_sample, shared);
    else
        sort_exchange(s, &s->in, 0, n, by_sample);
}

/* By halves, but for what is in order, has few values, or is there very often. */
static void sort_by_exchange(upsweep_context *ctx, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    const struct scratch_plan plan = plan_exchange(ctx, args->n, key_nbytes, args->low_memory);
    const enum cpu_isa isa = cpu_impl(ctx)->isa;
    unsigned char *scratch = ctx->scratch;
    struct sorter s = {.ctx = ctx,
                       .kernel = sort_kernel_of(isa, key_nbytes, 0),
                       .vector = sort_vector_of(isa, key_nbytes),
                       .image = *image,
                       .in = {(unsigned char *)args->keys_in, NULL},
                       .out = {args->keys_out, NULL},
                       .benches = plan.bench_nbytes > 0 ? scratch + plan.benches : NULL,
                       .tables = scratch + plan.tables,
                       .bench_nbytes = plan.bench_nbytes,
                       .table_nbytes = plan.table_nbytes,
                       .ntasks = plan.ntasks};
    bool seem_heavy = false;
    if (s.ntasks == 1 && sort_if_few(&s, args->n, &seem_heavy)) return;
    const bool asks = !args->low_memory && args->n > SORT_EXCHANGE_UNASKED_NBYTES / key_nbytes;
    if (asks && sort_if_in_order(&s, args->n, args->lo_bit, args->hi_bit)) return;
    struct sort_heavy heavy;
    if (!seem_heavy || !sort_take_heavy(isa, &heavy, args->keys_out, args->keys_in, args->n, key_nbytes)) {
        sort_by_halves(&s, &plan, args->n, false, scratch + plan.shared);
        return;
    }
    s.in = s.out;
    if (!sort_at_once(isa, args->keys_out, args->keys_out, heavy.nrest, image, key_nbytes))
        sort_by_halves(&s, &plan, heavy.nrest, true, scratch + plan.shared);
    sort_put_heavy(&heavy, args->keys_out, args->n, image, key_nbytes);
}

/* Keys of two bytes, with vector code: the heavy ones apart from the others, of which some may be heavy then. */
static void sort_narrow_keys(upsweep_context *ctx, const struct sort_args *args, const struct sort_image *image, bool asks) {
    const enum cpu_isa isa = cpu_impl(ctx)->isa;
    struct sort_heavy heavy;
    if (sort_at_once(isa, args->keys_out, args->keys_in, args->n, image, sizeof(uint16_t))) return;
    if (asks && sort_take_heavy(isa, &heavy, args->keys_out, args->keys_in, args->n, sizeof(uint16_t))) {
        struct sort_args rest = *args;
        rest.keys_in = args->keys_out;
        rest.n = heavy.nrest;
        sort_narrow_keys(ctx, &rest, image, rest.n <= args->n / 4 * 3);
        sort_put_heavy(&heavy, args->keys_out, args->n, image, sizeof(uint16_t));
    } else if (args->n <= sort_two_bytes_most(isa))
        sort_two_bytes(args->keys_out, args->keys_in, args->n, image, ctx->scratch);
    else
        sort_by_counting(ctx, args, image, sizeof(uint16_t));
}

static bool sort_narrow_if_in_order(upsweep_context *ctx, const struct sort_args *args, const struct sort_image *image) {
    const struct sorter s = {.ctx = ctx,
                             .kernel = sort_kernel_of(cpu_impl(ctx)->isa, sizeof(uint16_t), 0),
                             .image = *image,
                             .in = {(unsigned char *)args->keys_in, NULL},
                             .out = {args->keys_out, NULL},
                             .ntasks = 1};
    return sort_if_in_order(&s, args->n, args->lo_bit, args->hi_bit);
}

/* Of keys alone and whole that fit a leaf: do they differ in so few bits that two digits are quicker than what vectors do? With AVX2 these
 * take a quarter to four fifths of the time, but more if there may be so few values that halves end soon; with AVX-512 more. (Zen 3, Zen 5,
 * 2026-11.) */
static bool goes_by_two_digits(enum cpu_isa isa, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    enum { SAMPLE = 64, FEW_LEAST = 1 << 13 };
    const struct sort_kernel *kernel = sort_kernel_of(isa, key_nbytes, 0);
    const struct sort_arrays in = {(unsigned char *)args->keys_in, NULL};
    const uint32_t least = key_nbytes == 4 && args->n > FEW_LEAST ? SORT_SPLIT_BEST_BITS + 1 : 1;
    if (isa >= CPU_AVX512 || args->n > kernel->leaf_items || args->low_memory) return false;
    for (uint64_t step = args->n / SAMPLE + 1;; step = 1) {
        const uint64_t varying = kernel->varying(&in, image, 0, args->n, step);
        const uint32_t nbits = varying == 0 ? 0 : sort_bit_top(varying) - sort_bit_low(varying);
        if (nbits < least || nbits > sort_leaf_bits(args->n)) return false;
        if (step == 1) return true;
    }
}

static bool sort_as_items(upsweep_context *ctx, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    if (args->keys_out != NULL || !sort_pays_as_items(cpu_impl(ctx)->isa, args->n, key_nbytes, args->value_nbytes)) return false;
    if (!goes_by_halves(ctx, args->n, sizeof(uint64_t))) return false;
    struct sorter s = sampler_for(ctx, image, key_nbytes);
    s.in.keys = (unsigned char *)args->keys_in;
    s.ntasks = tasks_for(ctx, args->n);
    return sort_by_items(ctx, args, &s, (void *)((unsigned char *)ctx->scratch + halves_scratch(ctx, args->n, sizeof(uint64_t))));
}

upsweep_status cpu_sort(upsweep_context *ctx, const struct sort_args *args) {
    const enum cpu_isa isa = cpu_impl(ctx)->isa;
    const size_t key_nbytes = upsweep_type_nbytes(args->type);
    const struct sort_image image = sort_image_of(args->type, args->descending);
    const bool whole_keys = args->lo_bit == 0 && args->hi_bit == 8 * key_nbytes && args->value_nbytes == 0;
    if (args->value_nbytes != 0 && cpu_sort_values_at_once(ctx, args, key_nbytes)) return UPSWEEP_OK;
    if (whole_keys && sort_at_once(isa, args->keys_out, args->keys_in, args->n, &image, key_nbytes)) return UPSWEEP_OK;
    const bool vectors = whole_keys && sort_vector_of(isa, key_nbytes) != NULL && !goes_by_two_digits(isa, args, &image, key_nbytes);
    if (sort_needs_no_scratch(args->n, args->value_nbytes))
        sort_by_insertion(isa, args->keys_out, args->keys_in, (uint32_t)args->n, &image, key_nbytes, args->lo_bit, args->hi_bit);
    else if (whole_keys && key_nbytes == sizeof(uint16_t) && sort_two_bytes_most(isa) > 0) {
        if (!sort_narrow_if_in_order(ctx, args, &image)) sort_narrow_keys(ctx, args, &image, true);
    } else if (whole_keys && sort_by_counting_pays(args->n, key_nbytes))
        sort_by_counting(ctx, args, &image, key_nbytes);
    else if (args->low_memory || (vectors && goes_by_halves(ctx, args->n, key_nbytes)))
        sort_by_exchange(ctx, args, &image, key_nbytes);
    else if (!sort_as_items(ctx, args, &image, key_nbytes))
        sort_by_radix(ctx, args, &image, key_nbytes, vectors);
    return UPSWEEP_OK;
}
