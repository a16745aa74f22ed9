/* sort_keys.cuh: a sort of keys of one width: launches the steps of its plan (sort_plan.cuh), one after the other. Host code. */
#ifndef UPSWEEP_CUDA_SORT_KEYS_CUH
#define UPSWEEP_CUDA_SORT_KEYS_CUH

#include <cuda_runtime.h>
#include <stddef.h>

#include "sort_pass.cuh"
#include "sort_plan.cuh"
#include "sort_split_launch.cuh"
#include "sort_stable_launch.cuh"

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

/* The same of 64 bits: sort_wide.cu. */
cudaError_t sort_wide_keys(const struct cuda_queue *queue, const struct sort_args *args, void *scratch);

#endif
