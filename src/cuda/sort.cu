/* sort.cu: stable radix sort of keys, of pairs, and of indices. Four ways; read in this order:
 *
 *     sort_call.cuh       the steps that there are; what is known of a sort on the host
 *     sort_plan.cuh       which of the ways below a sort takes, and in which order; sort_split_choose.cuh: by how many buckets
 *     sort_job.cuh        what a sort is: buffers, plan, and how a key becomes a digit
 *     sort_rank.cuh       where in its tile does a key go
 *     sort_lookback.cuh   how many keys went before the tile
 *     sort_tile.cuh       a stable partition of one tile
 *
 *     1. onesweep         from the lowest digit up, for any keys: sort_histogram.cuh, then sort_pass.cuh; without bits that all keys
 *                         share, sort_gaps.cuh, or nearly all, sort_strays.cuh; 64-bit keys mostly by their highest digits only,
 *                         sort_mend.cuh, sort_mend_long.cuh; of keys alone the first pass is not stable, sort_unordered.cuh
 *        sort_rounds.cuh  the same in one launch, of as many keys as fit the multiprocessors
 *     2. splits           from the highest bits down: buckets first, then each by itself (sort_window.cuh)
 *        sort_split.cuh   of keys alone, and for an argsort of 32-bit keys: sort_partition.cuh, sort_bucket.cuh, sort_repeats.cuh,
 *                         sort_bucket_large.cuh
 *        sort_fused.cuh   with two of its steps in one launch, of as many keys as fit the multiprocessors; also for pairs of 32-bit keys,
 *                         and for these keys by some of their bits: sort_item.cuh, sort_values.cuh
 *        sort_fused_gaps.cuh     of those that have bits in common; passes leave these out, too: sort_gaps.cuh
 *        sort_fused_sample.cuh   of those alone that are skewed: sort_sample.cuh
 *        sort_fused_splitters.cuh  of more of these, alone: sort_fused_drawn.cuh
 *        sort_cells.cuh   of floats, whose highest bits are never spread: sort_digits.cuh; in one launch, sort_fused_cells.cuh
 *        sort_by_value.cuh   of some of them by their values, if these are spread evenly
 *        sort_slots.cuh   of many uniform integers alone, whose buckets are not even counted before; of floats, sort_value_slots.cuh if
 *                         their values are uniform, and sort_cell_slots.cuh; of others, and skewed keys of 64 bits, sort_sample_slots.cuh
 *        sort_stable.cuh  of keys with values: sort_placed.cuh; of uniform ones of 32 bits with 4 bytes before that, sort_slots_pairs.cuh
 *     3. counting         of keys of 1 and 2 bytes alone, which are not moved but written anew: sort_bytes.cuh, sort_shorts.cuh
 *        sort_bytes_few.cuh, sort_shorts_fused.cuh   of fewer
 *        sort_few.cuh     of others of few values, by the kernels of onesweep, sort_few_fill.cuh; with something beside them, one pass:
 *                         sort_ranked_values.cuh
 *     4. ranking          of some thousand: each key's place by itself, sort_ranks.cuh
 *
 * What is decided on the host depends on sizes and alignment only (sort_plan.cuh); what depends on the keys is decided by the first kernel:
 * onesweep, or rounds, are queued with every split, for keys that the split is not for; of keys alone that fit a few rows of a thread the
 * launch that splits them goes on by rounds itself. Nothing waits for the device. This file launches the steps of the plan, one after the
 * other.
 *
 * Values of up to 8 bytes move with their keys; for larger ones indices are sorted and one gather follows (sort_gather.cuh).
 * Cost: as the files say. Source: Adinets and Merrill, Onesweep, 2022; Stehle and Jacobsen, A memory bandwidth-efficient hybrid radix sort
 * on GPUs, 2017. */
#include <cuda_runtime.h>
#include <stddef.h>

#include "sort_pass.cuh"
#include "sort_plan.cuh"
#include "sort_split_launch.cuh"
#include "sort_stable_launch.cuh"

uint64_t cuda_sort_scratch(const struct cuda_queue *queue, uint64_t n, size_t key_nbytes, size_t value_nbytes, bool argsort) {
    const uint64_t total = layout_scratch(queue, n, key_nbytes, value_nbytes, argsort).total;
    return key_nbytes == 2 && value_nbytes == 0 && !argsort ? max_u64(total, layout_shorts(queue, n).total) : total;
}

/* Of the kernel whose CTAs have most threads, and as much shared memory as any. */
int cuda_largest_cluster(void) { return largest_cluster((const void *)sort_few_bytes<uint4, BYTE_COPIES>, BYTES_THREADS); }

/* ---- onesweep ---------------------------------------------------------------------------------------------------------------- */

/* The header's first bytes are for keys that are counted by value. */
static char *cleared_from(const struct sort_job *job) { return job->most_values ? (char *)job->header : (char *)&job->header->base; }

template <typename KEY> static cudaError_t launch_histogram(const struct sort_job *job, const struct cuda_queue *queue) {
    if (!job->only_if) { /* else the attempt before it has */
        const cudaError_t error = launch_clear(queue, cleared_from(job), job->header + 1);
        if (error != cudaSuccess) return error;
    }
    const uint64_t per_cta = SORT_HISTOGRAM_THREADS * (16 / sizeof(KEY));
    const uint32_t nctas = (uint32_t)min_u64((job->n + per_cta - 1) / per_cta, (uint64_t)queue->nsms);
    const uint32_t counters = counters_of<KEY>(job) * job->histogram_copies * (uint32_t)sizeof(uint32_t);
    const uint32_t table = job->most_values ? value_table_nbytes(sizeof(KEY)) : job->may_mend ? MEND_SAMPLE * (uint32_t)sizeof(KEY) : 0;
    const uint32_t shared = max_u32(counters, table);
    return launch_next(queue, sort_histogram<KEY>, nctas, SORT_HISTOGRAM_THREADS, shared, *job);
}

template <typename KEY, int WORD> static cudaError_t launch_passes(const struct sort_job *job, const struct cuda_queue *queue) {
    const uint32_t nctas = (uint32_t)min_u64(job->ntiles, (uint64_t)queue->nsms * SORT_CTAS_PER_SM);
    const uint32_t table = WORD > 0 && job->most_values ? ranked_values_nbytes(sizeof(KEY)) : 0;
    struct sort_job passes = *job;
    if (is_one_round(job->n, sizeof(KEY))) passes.state_rows = 0; /* to be cleared for the next */
    const cudaError_t error =
        launch_next(queue, sort_passes<KEY, WORD, false>, nctas, SORT_THREADS, table + tile_nbytes<KEY, WORD>(job), passes);
    if constexpr (sizeof(KEY) == 8) {
        const uint32_t shared = max_u32(tile_nbytes<KEY, WORD>(job), mend_nbytes(job));
        if (error == cudaSuccess && job->may_mend)
            return launch_next(queue, sort_passes<KEY, WORD, true>, nctas, SORT_THREADS, shared, passes);
    }
    return error;
}

template <typename KEY> static cudaError_t launch_onesweep(const struct sort_call *call) {
    const struct sort_job *job = &call->job;
    const cudaError_t error = launch_histogram<KEY>(job, call->queue);
    if (error != cudaSuccess) return error;
    if (call->word == 0) return launch_passes<KEY, 0>(job, call->queue);
    return call->word == 4 ? launch_passes<KEY, 4>(job, call->queue) : launch_passes<KEY, 8>(job, call->queue);
}

/* ---- the other steps --------------------------------------------------------------------------------------------------------- */

template <typename KEY> static cudaError_t launch_count(const struct sort_call *call) {
    if constexpr (sizeof(KEY) == 1) return launch_bytes(call->queue, &call->job);
    if constexpr (sizeof(KEY) == 2) {
        if (call->args->n <= fused_shorts_max(call->queue)) return launch_fused_shorts(call->queue, &call->job);
        return launch_shorts(call->queue, &call->job, call->scratch);
    }
    return cudaErrorInvalidValue;
}

/* All that the kernels of a split must find zeroed: the headers, the histogram, and the sizes of slots. */
static cudaError_t launch_clear_headers(const struct sort_call *call) {
    const struct split_job *split = &call->split;
    const size_t histogram = sizeof(uint32_t) << (split->coarse_bits + split->fine_bits + (split->slots.area != NULL));
    return launch_clear(call->queue, cleared_from(&call->job), (char *)split->cursor + histogram);
}

/* In place, the values are first copied to where the second buffers of keys and indices were, one behind the other. */
static cudaError_t launch_gather(const struct sort_call *call) {
    const struct sort_job *job = &call->job;
    const struct sort_args *args = call->args;
    const void *src = args->values_in, *indices = call->scratch + call->layout.indices;
    const uint32_t nbytes = (uint32_t)args->value_nbytes;
    if (src == args->values_out) {
        const cudaError_t error =
            cudaMemcpyAsync(job->keys_tmp, src, args->n * nbytes, cudaMemcpyDeviceToDevice, (cudaStream_t)call->queue->stream);
        if (error != cudaSuccess) return error;
        src = job->keys_tmp;
    }
    if (job->value_nbytes == 4) return launch_gather_by<uint32_t>(args->values_out, src, indices, job, nbytes, call->queue);
    return launch_gather_by<uint64_t>(args->values_out, src, indices, job, nbytes, call->queue);
}

/* What a split's histogram counts the digits of, too: without a header, of nothing. */
static struct sort_job counted_passes(const struct sort_call *call) {
    struct sort_job passes = call->job;
    if (!call->counts_passes) passes.header = NULL;
    return passes;
}

/* Values of 16 bytes move once, to where they would be copied if they were sorted in place; the keys go with them to where the values will
 * be. */
template <typename KEY> static cudaError_t launch_stable_step(struct sort_call *call) {
    const struct cuda_queue *queue = call->queue;
    const struct sort_job *job = &call->job, passes = counted_passes(call);
    if (!call->job.values_moved) return launch_stable<KEY>(job, job, &call->split, &passes, queue, call->word);
    struct sort_job first = *job, second = *job;
    first.values_in = call->args->values_in;
    first.values_tmp = job->keys_tmp;
    first.value_nbytes = first.value_unit = 16;
    first.keys_tmp = second.keys_tmp = call->args->values_out;
    second.values_tmp = NULL; /* indices */
    set_tiles(&first, rows_of_tiles(queue, job->n, sizeof(KEY), 16), sizeof(KEY));
    return launch_stable<KEY>(&first, &second, &call->split, &passes, queue, 16);
}

/* A step of a split of ITEMs. */
template <typename KEY, typename ITEM> static cudaError_t launch_split_step(struct sort_call *call, enum sort_step step) {
    struct split_job *split = &call->split;
    const struct sort_job passes = counted_passes(call);
    const struct cuda_queue *queue = call->queue;
    if constexpr (sizeof(ITEM) == sizeof(KEY)) {
        if (step == STEP_VALUE_SLOTS) return launch_value_slots<KEY>(&call->slots, queue);
        if (step == STEP_SAMPLE_SLOTS) return launch_sample_slots<KEY>(split, queue);
    }
    switch (step) {
    case STEP_FUSED:
        return launch_fused<KEY, ITEM>(split, call->ends_beneath ? NULL : call->job.header, queue);
    case STEP_SLOTS:
        return launch_slots<KEY, ITEM>(split, queue);
    case STEP_CELLS:
        return launch_cells<KEY>(split, queue);
    case STEP_SPLIT:
        return split->cell_keys ? launch_split<KEY, ITEM, cell_digits<KEY>>(split, &passes, queue)
                                : launch_split<KEY, ITEM, bit_digits>(split, &passes, queue);
    default: /* STEP_BUCKETS */
        return launch_all_buckets<KEY, ITEM>(split, split->by_value ? &call->slots : split, queue);
    }
}

template <typename KEY> static cudaError_t launch_step(struct sort_call *call, enum sort_step step) {
    switch (step) {
    case STEP_COUNT:
        return launch_count<KEY>(call);
    case STEP_RANKS:
        return launch_ranks<KEY>(&call->job, call->queue, call->args);
    case STEP_CLEAR:
        return launch_clear_headers(call);
    case STEP_ROUNDS:
        return launch_rounds<KEY>(&call->job, call->args, call->queue, call->word);
    case STEP_ONESWEEP:
        return launch_onesweep<KEY>(call);
    case STEP_GATHER:
        return launch_gather(call);
    default:
        break;
    }
    if constexpr (sizeof(KEY) >= 4) {
        if (step == STEP_PAIR_SLOTS) return launch_pair_slots(&call->slots, call->queue);
        if (step == STEP_STABLE) return launch_stable_step<KEY>(call);
        if (call->indexed) return launch_split_step<KEY, typename indexed_item<KEY>::type>(call, step);
        return launch_split_step<KEY, KEY>(call, step);
    }
    return cudaErrorInvalidValue;
}

/* ---- the call ---------------------------------------------------------------------------------------------------------------- */

template <typename KEY> static cudaError_t sort_keys(const struct cuda_queue *queue, const struct sort_args *args, void *scratch) {
    struct sort_call call = {};
    begin_call<KEY>(&call, queue, args, scratch);
    plan_sort<KEY>(&call);
    cudaError_t error = cudaSuccess;
    for (uint32_t i = 0; i < call.nsteps && error == cudaSuccess; i++) error = launch_step<KEY>(&call, call.steps[i]);
    return error;
}

int cuda_launch_sort(const struct cuda_queue *queue, const struct sort_args *args, void *scratch) {
    switch (upsweep_type_nbytes(args->type)) {
    case 1:
        return sort_keys<uint8_t>(queue, args, scratch);
    case 2:
        return sort_keys<uint16_t>(queue, args, scratch);
    case 4:
        return sort_keys<uint32_t>(queue, args, scratch);
    default:
        return sort_keys<uint64_t>(queue, args, scratch);
    }
}
