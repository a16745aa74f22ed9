/* sort_plan.cuh: which way a sort takes: its steps (enum sort_step), in the order in which they are queued.
 *
 * What is decided here depends on sizes, alignment and the GPU only. What depends on the keys is decided on the device: an attempt that is
 * not for them leaves the input as it is, and says so (enum split_outcome); then the next one does the sort, or the last one, which is for
 * any keys. Each choose_...() fills struct split_job for its step, and says false if the step is not for this sort. */
#ifndef UPSWEEP_CUDA_SORT_PLAN_CUH
#define UPSWEEP_CUDA_SORT_PLAN_CUH

#include "sort_bytes_few.cuh"
#include "sort_call.cuh"
#include "sort_rounds.cuh"
#include "sort_shorts_fused.cuh"
#include "sort_split_choose.cuh"

static bool has_all_bits(const struct sort_args *args) { return args->hi_bit - args->lo_bit == upsweep_type_nbytes(args->type) * 8; }

/* ---- splits ------------------------------------------------------------------------------------------------------------------ */

/* Slots by value come before all else of a split, and must only know what is behind them: they have a job of their own. */
template <typename KEY> static bool plan_value_slots(struct sort_call *call) {
    call->slots = call->split;
    if (!choose_value_slots<KEY>(&call->slots, call->args->n, call->split.in == call->split.out)) return false;
    call->slots.by_value = call->split.by_value = true;
    call->slots.slots.area = call->scratch + call->layout.slots;
    call->slots.slots.size = (uint32_t *)(call->scratch + call->layout.value_size);
    return true;
}

/* So have pairs in slots. */
static bool plan_pair_slots(struct sort_call *call) {
    call->slots = call->split;
    if (!choose_pair_slots(&call->slots, call->args, &call->job)) return false;
    call->slots.slots.area = call->scratch + call->layout.slots;
    call->split.slots = call->slots.slots;
    return true;
}

/* Values of 16 bytes, which are gathered, move once (launch_stable_step()), if they are aligned, and not in place. */
static bool moves_values_once(const struct sort_args *args) {
    return args->values_in && args->value_nbytes == 16 && args->values_in != args->values_out &&
           common_unit(args->values_in, args->values_out, 16) == 16;
}

/* Attempts that split items: keys alone, by all their bits; or keys with an index: an argsort, or, if that fits the multiprocessors, keys
 * with values, or by some of their bits. */
template <typename KEY, typename ITEM> static bool plan_split(struct sort_call *call) {
    const struct cuda_queue *queue = call->queue;
    const struct sort_args *args = call->args;
    struct split_job *split = &call->split;
    const uint64_t n = args->n;
    const bool alone = sizeof(ITEM) == sizeof(KEY), fused_only = !alone && (args->keys_out || !has_all_bits(args));
    const bool floats = (args->type == UPSWEEP_F32 || args->type == UPSWEEP_F64) && has_all_bits(args);
    begin_split<KEY, ITEM>(call);
    if (floats && choose_fused_cells<KEY, ITEM>(split, queue, n)) return add_step(call, STEP_FUSED);
    const bool cells = floats && !fused_only && (choose_cell_slots<KEY, ITEM>(split, args) || choose_cells<ITEM>(split, n));
    if (!cells && choose_fused<KEY, ITEM>(split, queue, n)) return add_step(call, STEP_FUSED);
    const bool slots = !floats && !fused_only && choose_slots<KEY, ITEM>(split, args);
    if (fused_only || (!cells && !slots && !choose_bits<ITEM>(split, n))) return false;
    if (slots || split->slots.float_items) place_slots<ITEM>(split, call->scratch + call->layout.slots);

    const bool sampled = alone && choose_sample_slots<KEY>(split);
    if (alone && !sampled) choose_large<KEY>(split);
    add_step(call, STEP_CLEAR);
    if (alone && floats && plan_value_slots<KEY>(call)) add_step(call, STEP_VALUE_SLOTS);
    if (slots) add_step(call, STEP_SLOTS);
    if (cells) add_step(call, STEP_CELLS);
    if (!sampled || (sizeof(KEY) == 4 && slots)) add_step(call, STEP_SPLIT);
    if (sampled) add_step(call, STEP_SAMPLE_SLOTS);
    return add_step(call, STEP_BUCKETS);
}

/* The same of keys with values, or indices, whatever their width. */
template <typename KEY> static bool plan_stable(struct sort_call *call) {
    begin_split<KEY, KEY>(call);
    if (!choose_stable<KEY>(&call->split, call->queue, call->args, &call->job)) return false;
    add_step(call, STEP_CLEAR);
    if (sizeof(KEY) == 4 && plan_pair_slots(call)) add_step(call, STEP_PAIR_SLOTS);
    if (moves_values_once(call->args)) call->job.values_moved = call->job.keys_tmp;
    return add_step(call, STEP_STABLE);
}

/* Does who leaves keys to the passes look which of their bits vary? Of those that fit the multiprocessors, if it is worth while. */
template <typename KEY> static bool looks_for_gaps(const struct sort_call *call, bool alone) {
    if (call->queue->nsms > SORT_HISTOGRAM_THREADS || !has_all_bits(call->args)) return false;
    if (call->steps[0] != STEP_FUSED) return alone || call->args->n > GAPS_VALUES_MIN;
    return (sizeof(KEY) == 8 || !alone) && !call->split.cell_keys && fused_rows(call->queue, call->args->n) > SAMPLED_MAX_ROWS;
}

/* With an index: 32-bit keys; 64-bit ones are never. */
template <typename KEY> struct indexed_item { typedef KEY type; };
template <> struct indexed_item<uint32_t> { typedef uint64_t type; };

/* All attempts by buckets. Their shapes need the shared memory of these GPUs, and blocks that look ahead multiprocessors beside others.
 * Keys of so few bits are for rounds, or one pass. */
template <typename KEY> static void plan_attempts(struct sort_call *call) {
    const struct sort_args *args = call->args;
    if (args->n > UINT32_MAX) return;
    if (call->queue->arch < 90 || call->queue->arch >= 120 || args->hi_bit - args->lo_bit <= SORT_DIGIT_BITS) return;
    if (call->queue->nsms < SPLIT_MIN_SMS) return;
    const bool alone = !args->values_out && has_all_bits(args);
    bool planned = false;
    if (alone)
        planned = plan_split<KEY, KEY>(call);
    else if (sizeof(KEY) == 4)
        planned = plan_split<KEY, typename indexed_item<KEY>::type>(call);
    if (!planned && !plan_stable<KEY>(call)) return;
    call->job.only_if = &call->split.header->outcome;
    if (looks_for_gaps<KEY>(call, alone)) call->job.seen = call->split.seen = &call->split.header->seen;
}

/* ---- the sort ------------------------------------------------------------------------------------------------------------------ */

/* Can keys of 1 or 2 bytes be counted, and is that best? All CTAs must be resident then, where they are many. */
template <typename KEY> static bool is_counted(const struct cuda_queue *queue, const struct sort_args *args) {
    if (sizeof(KEY) > 2 || !args->keys_out || args->values_out || !has_all_bits(args)) return false;
    if (sizeof(KEY) == 1 && few_bytes_ctas(queue, args->n) > 0) return true;
    if (!queue->cooperative || queue->only_lookback) return false;
    if (sizeof(KEY) == 1) return args->n >= BYTES_MIN;
    return args->n >= SHORTS_MIN && args->n <= UINT32_MAX && queue->shared_nbytes >= SHORTS_SHARED_NBYTES;
}

/* Does a launch that splits keys sort them by rounds, if it cannot? Then no launch need follow. Few values are left to passes. */
static bool may_end_beneath(const struct sort_call *call) {
    const struct cuda_queue *queue = call->queue;
    if (call->nsteps == 0 || call->steps[0] != STEP_FUSED || call->indexed || call->job.most_values) return false;
    return fused_rows(queue, call->args->n) <= SAMPLED_MAX_ROWS && queue->nsms <= ROUNDS_CTAS;
}

/* The whole sort. */
template <typename KEY> static void plan_sort(struct sort_call *call) {
    const struct cuda_queue *queue = call->queue;
    const struct sort_args *args = call->args;
    if (is_counted<KEY>(queue, args)) {
        add_step(call, STEP_COUNT);
    } else if (is_ranked(queue, args)) {
        add_step(call, STEP_RANKS);
    } else {
        const bool rounds = fits_rounds(queue, args, sizeof(KEY), call->word);
        call->counts_passes = !rounds;
        if constexpr (sizeof(KEY) >= 4) {
            if (!rounds || !is_by_few_rounds(args, sizeof(KEY))) plan_attempts<KEY>(call);
        }
        call->ends_beneath = may_end_beneath(call);
        if (!call->ends_beneath) add_step(call, rounds && !call->job.most_values ? STEP_ROUNDS : STEP_ONESWEEP);
    }
    if (call->gathered) add_step(call, STEP_GATHER);
}

#endif
