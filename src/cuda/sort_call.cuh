/* sort_call.cuh: what the host knows of one sort: its jobs, where in the scratch what is, and the steps that it takes (sort_plan.cuh).
 *
 * What kernels must find zeroed lies in the scratch, and is cleared by a launch before them, but for tile states, which histogram kernels
 * and passes clear; or, of steps that are one launch, in the control memory, where each launch clears what the next one needs. */
#ifndef UPSWEEP_CUDA_SORT_CALL_CUH
#define UPSWEEP_CUDA_SORT_CALL_CUH

#include "sort_few.cuh"
#include "sort_gather.cuh"
#include "sort_mend.cuh"
#include "sort_partition.cuh"
#include "sort_ranks.cuh"
#include "sort_scratch.cuh"

/* The steps of a sort: a launch each, or some (sort_keys.cuh). Attempts first: a step does nothing if one before it has done the sort. */
enum sort_step : uint8_t {
    STEP_COUNT,        /* keys of 1 and 2 bytes alone: sort_bytes_few.cuh, sort_bytes.cuh, sort_shorts_fused.cuh, sort_shorts.cuh */
    STEP_RANKS,        /* some thousand keys: sort_ranks.cuh */
    STEP_FUSED,        /* an attempt: as many as fit the multiprocessors, and their buckets: sort_fused.cuh, sort_fused_cells.cuh; of keys
                          alone that fit a few rows more than that: it sorts any */
    STEP_CLEAR,        /* zeroes for those that follow */
    STEP_VALUE_SLOTS,  /* an attempt: floats by value, to slots, and their buckets: sort_value_slots.cuh */
    STEP_SLOTS,        /* integers to slots: sort_slots.cuh */
    STEP_CELLS,        /* floats: their cells, and by these to slots: sort_cells.cuh, sort_cell_slots.cuh */
    STEP_SPLIT,        /* by a histogram to where they belong: sort_split.cuh, sort_partition.cuh; or, */
    STEP_SAMPLE_SLOTS, /* of integers of 32 bits behind that, by a sample to slots: sort_sample_slots.cuh; */
    STEP_BUCKETS,      /* the buckets of whichever of these went well: sort_buckets.cuh */
    STEP_PAIR_SLOTS,   /* an attempt: pairs to slots, and their buckets: sort_slots_pairs.cuh */
    STEP_STABLE,       /* an attempt: keys with values, and their buckets: sort_stable.cuh */
    STEP_ROUNDS,       /* any keys, as many as fit the multiprocessors: sort_rounds.cuh */
    STEP_ONESWEEP,     /* any keys: sort_histogram.cuh, sort_pass.cuh */
    STEP_GATHER,       /* values by the sorted indices: sort_gather.cuh */
};
enum { SORT_MOST_STEPS = 8 };

struct sort_call {
    const struct cuda_queue *queue;
    const struct sort_args *args;
    struct sort_scratch layout;
    char *scratch;
    bool gathered;       /* indices are sorted in the place of values */
    bool counts_passes;  /* a split's histogram may count the digits of onesweep */
    uint32_t word;       /* bytes that stand for a value in stable passes */
    struct sort_job job; /* of all that is stable */
    struct split_job split;
    bool indexed;           /* what is split has indices */
    bool ends_beneath;      /* the first step sorts keys itself, if it cannot split them: nothing is queued behind */
    struct split_job slots; /* of slots by value, and of pairs in slots */
    enum sort_step steps[SORT_MOST_STEPS];
    uint32_t nsteps;
};

/* Always true. */
static bool add_step(struct sort_call *call, enum sort_step step) {
    call->steps[call->nsteps++] = step;
    return true;
}

/* ---- the jobs ---------------------------------------------------------------------------------------------------------------- */

static uint64_t sign_bit(size_t key_nbytes) { return UINT64_C(1) << (key_nbytes * 8 - 1); }

static void set_order(struct sort_job *job, const struct sort_args *args, size_t key_nbytes) {
    const bool is_float = args->type == UPSWEEP_F32 || args->type == UPSWEEP_F64;
    const bool is_signed = args->type == UPSWEEP_I8 || args->type == UPSWEEP_I16 || args->type == UPSWEEP_I32 || args->type == UPSWEEP_I64;
    job->flip = is_float || is_signed ? sign_bit(key_nbytes) : 0;
    job->float_mask = is_float ? sign_bit(key_nbytes) - 1 : 0;
    if (args->descending) job->flip = ~job->flip;
}

/* Cuts the bits into digits of equal width, give or take one; in place adds passes over no bits until their number is even and not 0. */
static void set_passes(struct sort_job *job, uint32_t lo_bit, uint32_t hi_bit) {
    const uint32_t nbits = hi_bit - lo_bit, ndigits = (nbits + SORT_DIGIT_BITS - 1) / SORT_DIGIT_BITS;
    for (uint32_t pass = 0; pass < ndigits; pass++) {
        const uint32_t lo = nbits * pass / ndigits, hi = nbits * (pass + 1) / ndigits;
        job->shift[pass] = lo_bit + lo;
        job->mask[pass] = (1u << (hi - lo)) - 1;
    }
    job->npasses = job->in_place ? ndigits + ndigits % 2 : ndigits;
    if (job->npasses == 0) job->npasses = job->in_place ? 2 : 1;
}

static void set_buffers(struct sort_job *job, const struct sort_args *args, bool gathered, size_t key_nbytes) {
    job->keys_in = args->keys_in;
    job->keys_out = args->keys_out;
    job->values_in = args->values_in;
    job->values_out = args->values_out;
    job->n = args->n;
    job->has_values = args->values_out;
    job->drop_keys = !args->keys_out;
    job->value_nbytes = (uint32_t)args->value_nbytes;
    job->value_unit = common_unit(args->values_in, args->values_out, args->value_nbytes);
    job->by_place = args->values_in && !((args->value_nbytes == 4 || args->value_nbytes == 8) && job->value_unit == args->value_nbytes);
    job->in_place = is_in_place(args, gathered);
    job->all_in_place = args->keys_in == args->keys_out && (!args->values_out || (args->values_in == args->values_out && !gathered));
    set_order(job, args, key_nbytes);
    set_passes(job, args->lo_bit, args->hi_bit);
}

/* Cuts the scratch up. */
static void set_scratch(struct sort_job *job, const struct sort_args *args, const struct sort_scratch *layout, bool gathered, char *base) {
    job->header = (struct sort_header *)(base + layout->header);
    for (int i = 0; i < 2; i++) job->states[i] = (uint32_t *)(base + layout->states[i]);
    job->keys_tmp = base + layout->keys[0];
    if (job->drop_keys) job->keys_out = base + layout->keys[1];
    job->values_tmp = base + layout->values;
    if (!gathered) return;
    job->values_in = NULL;
    job->values_out = base + layout->indices;
    job->value_nbytes = job->value_unit = word_nbytes(args->n, args->value_nbytes);
    job->by_place = false;
}

static void set_tiles(struct sort_job *job, uint32_t rows, size_t key_nbytes) {
    job->rows = rows;
    const uint64_t tile_items = (uint64_t)SORT_THREADS * job->rows;
    job->ntiles = (uint32_t)((job->n + tile_items - 1) / tile_items);
    job->portion_tiles = (uint32_t)min_u64(job->ntiles, portion_items(job->n, key_nbytes) / tile_items);
    job->nportions = (job->ntiles + job->portion_tiles - 1) / job->portion_tiles;
    job->state_rows = job->portion_tiles;
}

/* How many values are few; 0 if it is not worth while to look. Keys are what they are when all their bits are known. What is with them is
 * moved by the ranks of their values: in one pass. */
template <typename KEY> static uint32_t few_values(const struct cuda_queue *queue, const struct sort_args *args) {
    if (sizeof(KEY) < 4 || args->hi_bit - args->lo_bit != sizeof(KEY) * 8 || args->n < VALUES_MIN) return 0;
    if ((uint32_t)queue->shared_nbytes < value_table_nbytes(sizeof(KEY)) + 4096) return 0;
    if (!args->values_out) return VALUES_MAX;
    return queue->arch >= 90 && queue->arch < 120 ? SORT_DIGITS : 0; /* where a table has room beside a tile, twice a multiprocessor */
}

/* All but the steps, and what they choose. */
template <typename KEY>
static void begin_call(struct sort_call *call, const struct cuda_queue *queue, const struct sort_args *args, void *scratch) {
    struct sort_job *job = &call->job;
    call->queue = queue;
    call->args = args;
    call->scratch = (char *)scratch;
    call->layout = layout_scratch(queue, args->n, sizeof(KEY), args->value_nbytes, !args->keys_out);
    call->gathered = args->values_in && args->value_nbytes > (is_ranked(queue, args) ? RANKS_VALUE_MAX : MOVED_VALUE_MAX);
    set_buffers(job, args, call->gathered, sizeof(KEY));
    set_scratch(job, args, &call->layout, call->gathered, call->scratch);
    job->seed = queue->seed;
    call->word = !job->has_values ? 0 : !job->by_place && job->value_nbytes == 8 ? 8 : 4;
    set_tiles(job, rows_of_tiles(queue, args->n, sizeof(KEY), call->word), sizeof(KEY));
    job->most_values = few_values<KEY>(queue, args);
    job->histogram_copies = counter_copies(queue, job->n, counters_of<KEY>(job));
    job->may_mend = may_mend<KEY>(queue, args, job);
    job->least_saved = job->has_values && !job->drop_keys ? 2 : 1;
    job->unordered = !job->has_values && args->hi_bit - args->lo_bit == sizeof(KEY) * 8;
    job->most_strays = job->has_values && !job->by_place && job->n <= UINT32_MAX ? STRAYS_MAX : 0;
}

/* ---- the split --------------------------------------------------------------------------------------------------------------- */

/* The items of keys of 32 bits with their indices. For an argsort there is scratch enough for whole ones; but its indices, of 4 bytes,
 * leave room for half an item each, so after a second partition the other halves lie in the scratch. Pairs have scratch for whole items,
 * unless the values are to be copied there, or are small; then, and of keys without values, the upper halves lie where the keys will be. */
static void set_indexed(struct split_job *split, const struct sort_job *job, const struct sort_args *args) {
    const uint32_t nbits = args->hi_bit - args->lo_bit, index_bits = 32 - (uint32_t)__builtin_clz(split->n - 1);
    split->bits = {32 - args->hi_bit, ~0u << (32 - nbits), 64 - nbits - index_bits, UINT32_MAX >> (32 - index_bits)};
    split->values_out = job->values_out;
    split->values = job->values_in;
    split->value_nbytes = job->value_nbytes;
    split->value_unit = job->value_unit;
    if (job->drop_keys) {
        split->out = NULL;
        split->high = (uint32_t *)job->values_tmp;
        split->low = (uint32_t *)job->values_out;
        return;
    }
    const bool copied = job->values_in && job->values_in == job->values_out;
    if (copied) {
        split->copied = job->values_in;
        split->values = job->values_tmp;
    }
    if (copied || args->value_nbytes < sizeof(uint32_t)) split->tmp = NULL;
    split->high = (uint32_t *)job->keys_out;
    split->low = (uint32_t *)job->keys_tmp;
}

/* All of a split but what choose_...() chooses. */
template <typename KEY, typename ITEM> static void begin_split(struct sort_call *call) {
    const struct sort_job *job = &call->job;
    struct split_job *split = &call->split;
    *split = {};
    split->in = job->keys_in;
    split->out = job->keys_out;
    split->tmp = job->keys_tmp;
    split->n = (uint32_t)job->n;
    split->seed = job->seed;
    split->nsms = (uint32_t)call->queue->nsms;
    split->flip = job->flip;
    split->float_mask = job->float_mask;
    split->most_values = job->most_values;
    split->least_saved = job->least_saved;
    split->most_strays = job->most_strays;
    split->first_items =
        SPLIT_THREADS * rows_at_once(call->queue, job->n, SPLIT_THREADS, SPLIT_CTAS_PER_SM, partition_shape<ITEM, true>::ROWS);
    split->tile_items =
        SPLIT_THREADS * rows_at_once(call->queue, job->n, SPLIT_THREADS, SPLIT_CTAS_PER_SM, partition_shape<ITEM, false>::ROWS);
    place_headers(split, &call->layout, call->scratch);
    call->indexed = sizeof(ITEM) > sizeof(KEY);
    if (call->indexed) set_indexed(split, job, call->args);
    split->second = split->value_nbytes == 4 ? NULL : job->drop_keys ? split->values_out : split->out;
}

/* Where the slots are, and what belongs to coarse buckets but does not fit the output. */
template <typename ITEM> static void place_slots(struct split_job *split, char *area) {
    split->slots.area = area;
    split->slots.aside = (ITEM *)area + ((size_t)split->slots.items << split->slots.number_bits()); /* of floats: as the plan has it */
    split->slots.size = split->cursor + ((size_t)1 << (split->coarse_bits + split->fine_bits));
}

#endif
