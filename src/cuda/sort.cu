/* sort.cu: stable radix sort of keys, of pairs, and of indices. Four ways; read in this order:
 *
 *     sort_job.cuh        what a sort is: buffers, plan, and how a key becomes a digit
 *     sort_rank.cuh       where in its tile does a key go
 *     sort_lookback.cuh   how many keys went before the tile
 *     sort_tile.cuh       a stable partition of one tile
 *
 *     1. onesweep         from the lowest digit up, for any keys: sort_histogram.cuh, then sort_pass.cuh; without bits that all keys
 *                         share, sort_gaps.cuh; pairs of 64-bit keys mostly by their highest digits only, sort_mend.cuh
 *        sort_rounds.cuh  the same in one launch, of as many keys as fit the multiprocessors
 *     2. splits           from the highest bits down: buckets first, then each by itself (sort_window.cuh)
 *        sort_split.cuh   of keys alone, and for an argsort of 32-bit keys: sort_partition.cuh, sort_bucket.cuh, sort_repeats.cuh
 *        sort_fused.cuh   with two of its steps in one launch, of as many keys as fit the multiprocessors; also for pairs of 32-bit keys,
 *                         and for these keys by some of their bits: sort_item.cuh, sort_values.cuh
 *        sort_fused_gaps.cuh     of those that have bits in common; passes leave these out, too: sort_gaps.cuh
 *        sort_fused_sample.cuh   of those that are skewed: sort_sample.cuh; with something beside them, sort_fused_repeats.cuh
 *        sort_fused_splitters.cuh  of more of these, alone: sort_fused_drawn.cuh
 *        sort_cells.cuh   of floats, whose highest bits are never spread: sort_digits.cuh; in one launch, sort_fused_cells.cuh
 *        sort_by_value.cuh   of some of them by their values, if these are spread evenly
 *        sort_slots.cuh   of many uniform integers alone, whose buckets are not even counted before; of floats, sort_value_slots.cuh if
 *                         their values are uniform, and sort_cell_slots.cuh; of others, and skewed keys of 64 bits, sort_sample_slots.cuh
 *        sort_levels.cuh  what is too big of many keys alone is split further: sort_deep.cuh
 *        sort_stable.cuh  of keys with values: sort_placed.cuh; of uniform ones of 32 bits with 4 bytes before that, sort_slots_pairs.cuh
 *     3. counting         of keys of 1 and 2 bytes alone, which are not moved but written anew: sort_bytes.cuh, sort_shorts.cuh
 *        sort_shorts_fused.cuh   of fewer
 *        sort_few.cuh     of others of few values, by the kernels of onesweep; with something beside them, one pass: sort_ranked_values.cuh
 *     4. ranking          of some thousand: each key's place by itself, sort_ranks.cuh
 *
 * What is decided on the host depends on sizes and alignment only; what depends on the keys is decided by the first kernel: onesweep, the
 * kernel that splits further, or both are queued with every split, for keys that the split is not for. Nothing waits for the device.
 *
 * Values of up to 8 bytes move with their keys; for larger ones indices are sorted and one gather follows (sort_gather.cuh).
 * Cost: as the files say. Source: Adinets and Merrill, Onesweep, 2022; Stehle and Jacobsen, A memory bandwidth-efficient hybrid radix sort
 * on GPUs, 2017. */
#include <cuda_runtime.h>
#include <stddef.h>

#include "sort_bytes.cuh"
#include "sort_gather.cuh"
#include "sort_histogram.cuh"
#include "sort_pass.cuh"
#include "sort_ranks.cuh"
#include "sort_rounds.cuh"
#include "sort_shorts_fused.cuh"
#include "sort_split_launch.cuh"
#include "sort_stable_launch.cuh"

uint64_t cuda_sort_scratch(const struct cuda_queue *queue, uint64_t n, size_t key_nbytes, size_t value_nbytes, bool argsort) {
    const uint64_t total = layout_scratch(queue, n, key_nbytes, value_nbytes, argsort).total;
    return key_nbytes == 2 && value_nbytes == 0 && !argsort ? max_u64(total, layout_shorts(queue, n).total) : total;
}

/* ---- the job ----------------------------------------------------------------------------------------------------------------- */

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

/* Are the values too big to move with their keys? */
static bool is_gathered(const struct sort_args *args) { return args->values_in && args->value_nbytes > MOVED_VALUE_MAX; }

static void set_buffers(struct sort_job *job, const struct sort_args *args, size_t key_nbytes) {
    const bool argsort = !args->keys_out;
    job->keys_in = args->keys_in;
    job->keys_out = args->keys_out;
    job->values_in = args->values_in;
    job->values_out = args->values_out;
    job->n = args->n;
    job->has_values = args->values_out;
    job->drop_keys = argsort;
    job->value_nbytes = (uint32_t)args->value_nbytes;
    job->value_unit = common_unit(args->values_in, args->values_out, args->value_nbytes);
    job->by_place = args->values_in && !((args->value_nbytes == 4 || args->value_nbytes == 8) && job->value_unit == args->value_nbytes);
    const bool keys_in_place = args->keys_in == args->keys_out, values_in_place = args->values_in && args->values_in == args->values_out;
    job->in_place = keys_in_place || (values_in_place && !is_gathered(args));
    job->all_in_place = keys_in_place && (!args->values_out || (values_in_place && !is_gathered(args)));
    set_order(job, args, key_nbytes);
    set_passes(job, args->lo_bit, args->hi_bit);
}

/* Cuts the scratch up; the passes sort indices in the place of values that are gathered. */
static void set_scratch(struct sort_job *job, const struct sort_args *args, const struct sort_scratch *layout, void *scratch) {
    char *base = (char *)scratch;
    job->header = (struct sort_header *)(base + layout->header);
    for (int i = 0; i < 2; i++) job->states[i] = (uint32_t *)(base + layout->states[i]);
    job->keys_tmp = base + layout->keys[0];
    if (job->drop_keys) job->keys_out = base + layout->keys[1];
    job->values_tmp = base + layout->values;
    if (!is_gathered(args)) return;
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

/* ---- launches: one sort of keys of one width --------------------------------------------------------------------------------- */

/* The header's first bytes are for keys that are counted by value. */
static char *cleared_from(const struct sort_job *job) { return job->most_values ? (char *)job->header : (char *)&job->header->base; }

template <typename KEY> static cudaError_t launch_histogram(const struct sort_job *job, const struct cuda_queue *queue) {
    if (!job->only_if) { /* else try_split() has done it */
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
    if constexpr (sizeof(KEY) == 8 && WORD > 0) {
        if (error == cudaSuccess && job->may_mend)
            return launch_next(queue, sort_passes<KEY, WORD, true>, nctas, SORT_THREADS, tile_nbytes<KEY, WORD>(job), passes);
    }
    return error;
}

template <typename KEY> static cudaError_t launch_onesweep(const struct sort_job *job, const struct cuda_queue *queue, uint32_t word) {
    const cudaError_t error = launch_histogram<KEY>(job, queue);
    if (error != cudaSuccess) return error;
    if (word == 0) return launch_passes<KEY, 0>(job, queue);
    return word == 4 ? launch_passes<KEY, 4>(job, queue) : launch_passes<KEY, 8>(job, queue);
}

/* What a split moves for an argsort: 32-bit keys with their indices; for other keys there is none. */
template <typename KEY> struct indexed_item { typedef KEY type; };
template <> struct indexed_item<uint32_t> { typedef uint64_t type; };

/* In place, the values are first copied to where the second buffers of keys and indices were, one behind the other. */
static cudaError_t launch_gather(const struct sort_job *job, const struct sort_args *args, const void *indices,
                                 const struct cuda_queue *queue) {
    const void *src = args->values_in;
    const uint32_t nbytes = (uint32_t)args->value_nbytes;
    if (src == args->values_out) {
        const cudaError_t error =
            cudaMemcpyAsync(job->keys_tmp, src, args->n * nbytes, cudaMemcpyDeviceToDevice, (cudaStream_t)queue->stream);
        if (error != cudaSuccess) return error;
        src = job->keys_tmp;
    }
    if (job->value_nbytes == 4) return launch_gather_by<uint32_t>(args->values_out, src, indices, job, nbytes, queue);
    return launch_gather_by<uint64_t>(args->values_out, src, indices, job, nbytes, queue);
}

/* ---- launches: keys alone, and indices --------------------------------------------------------------------------------------- */

/* Clears the headers, the histogram, and the sizes of slots: all that the split's kernels must find zeroed. */
static cudaError_t clear_headers(const struct sort_job *job, const struct split_job *split, const struct cuda_queue *queue) {
    const size_t histogram = sizeof(uint32_t) << (split->coarse_bits + split->fine_bits + (split->slots.area != NULL));
    return launch_clear(queue, cleared_from(job), (char *)split->cursor + histogram);
}

/* Where the slots are, and what belongs to coarse buckets but does not fit the output. */
template <typename ITEM> static void place_slots(struct split_job *split, char *area) {
    const uint32_t nbuckets = 1u << (split->coarse_bits + split->fine_bits);
    split->slots.area = area;
    split->slots.aside = (ITEM *)area + (size_t)nbuckets * split->slots.items; /* of floats: as the plan has it */
    split->slots.size = split->cursor + nbuckets;
}

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
    split->states[0] = job->states[0]; /* sort_fused_repeats.cuh */
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

/* Are slots by value tried first? If there are any (sort_split_launch.cuh). */
template <typename KEY, typename ITEM> static bool has_value_slots(const struct sort_args *args) {
    const bool floats = args->type == UPSWEEP_F32 || args->type == UPSWEEP_F64;
    return floats && sizeof(ITEM) == sizeof(KEY) && args->n * sizeof(KEY) >= SLOTS_MIN_NBYTES && args->n < SPLIT_MAX;
}

template <typename KEY, typename ITEM>
static cudaError_t launch_split_of(const struct sort_job *job, struct sort_job passes, struct split_job *split,
                                   const struct sort_scratch *layout, char *scratch, const struct cuda_queue *queue,
                                   const struct sort_args *args) {
    constexpr int FIRST_ROWS = partition_shape<ITEM, true>::ROWS, ROWS = partition_shape<ITEM, false>::ROWS;
    split->first_items = SPLIT_THREADS * rows_at_once(queue, job->n, SPLIT_THREADS, SPLIT_CTAS_PER_SM, FIRST_ROWS);
    split->tile_items = SPLIT_THREADS * rows_at_once(queue, job->n, SPLIT_THREADS, SPLIT_CTAS_PER_SM, ROWS);
    if (sizeof(ITEM) > sizeof(KEY)) {
        set_indexed(split, job, args);
    } else if (split->n >= SPLIT_TWO_MIN) {
        split->deep = deep_lists_at(&layout->deep, scratch, split);
        split->levels_first = split->n >= levels_first_min(sizeof(KEY));
        passes.header = NULL; /* it is not known before they are counted whether keys are left to these */
    }
    if (split->fused) return launch_fused<KEY, ITEM>(split, job->header, queue);
    if (split->slots.items || split->slots.float_items) place_slots<ITEM>(split, scratch + layout->slots);
    if (sizeof(ITEM) == sizeof(KEY) && split->slots.area) choose_sample_slots<KEY>(split, job->n);
    if (has_value_slots<KEY, ITEM>(args)) split->value_area = scratch + layout->slots;
    split->second = split->value_nbytes == 4 ? NULL : job->drop_keys ? split->values_out : split->out;
    const cudaError_t error = clear_headers(job, split, queue);
    return error == cudaSuccess ? launch_split<KEY, ITEM>(split, &passes, queue) : error;
}

/* Queues a stable split, and before it an attempt by slots, if that is for this sort. Values of 16 bytes move once, to where they would be
 * copied if they were sorted in place; the keys go with them to where the values will be. */
template <typename KEY>
static cudaError_t launch_stable_of(struct sort_job *job, const struct sort_job *passes, struct split_job *split,
                                    const struct cuda_queue *queue, const struct sort_args *args, char *area, uint32_t word) {
    struct split_job slots = *split;
    const bool in_slots = sizeof(KEY) == 4 && choose_pair_slots(&slots, args, job);
    if (in_slots) split->slots.area = slots.slots.area = area;
    cudaError_t error = clear_headers(job, split, queue);
    if (error == cudaSuccess && in_slots) error = launch_pair_slots(&slots, queue);
    if (error != cudaSuccess) return error;
    if (args->value_nbytes != 16 || args->values_in == args->values_out || common_unit(args->values_in, args->values_out, 16) != 16 ||
        !is_gathered(args))
        return launch_stable<KEY>(job, job, split, passes, queue, word);
    job->values_moved = job->keys_tmp;
    struct sort_job first = *job, second = *job;
    first.values_in = args->values_in;
    first.values_tmp = job->keys_tmp;
    first.value_nbytes = first.value_unit = 16;
    first.keys_tmp = second.keys_tmp = args->values_out;
    second.values_tmp = NULL; /* indices */
    set_tiles(&first, rows_for(queue, job->n, max_rows(queue, sizeof(KEY), 16)), sizeof(KEY));
    return launch_stable<KEY>(&first, &second, split, passes, queue, 16);
}

/* Queues the split, if there is one for this sort; the stable passes that follow, or rounds, then run only if it has given up. passes: what
 * these are planned by, without a header if there are none. */
template <typename KEY>
static cudaError_t try_split(struct sort_job *job, const struct sort_job *passes, const struct cuda_queue *queue,
                             const struct sort_args *args, const struct sort_scratch *layout, char *scratch, uint32_t word) {
    typedef typename indexed_item<KEY>::type INDEXED;
    struct split_job split = {};
    split.in = job->keys_in;
    split.out = job->keys_out;
    split.tmp = job->keys_tmp;
    split.n = (uint32_t)job->n;
    split.nsms = (uint32_t)queue->nsms;
    split.flip = job->flip;
    split.float_mask = job->float_mask;
    split.most_values = job->most_values;
    split.least_saved = job->least_saved = job->has_values && !job->drop_keys ? 2 : 1;
    place_headers(&split, layout, scratch);
    if constexpr (sizeof(KEY) >= 4) {
        const bool alone = choose_split<KEY, KEY>(&split, queue, args), indexed = !alone && choose_split<KEY, INDEXED>(&split, queue, args);
        if (!alone && !indexed && !choose_stable<KEY>(&split, queue, args, job)) return cudaSuccess;
        job->only_if = &split.header->too_big;
        if (looks_for_gaps<KEY>(&split, queue, args, alone)) job->seen = split.seen = &split.header->seen;
        if (alone) return launch_split_of<KEY, KEY>(job, *passes, &split, layout, scratch, queue, args);
        if (indexed) return launch_split_of<KEY, INDEXED>(job, *passes, &split, layout, scratch, queue, args);
        return launch_stable_of<KEY>(job, passes, &split, queue, args, scratch + layout->slots, word);
    }
    return cudaSuccess;
}

/* Can keys of 1 or 2 bytes be counted, and is that best? All CTAs must be resident. */
template <typename KEY> static bool is_counted(const struct cuda_queue *queue, const struct sort_args *args) {
    if (!queue->cooperative || queue->only_lookback) return false;
    if (!args->keys_out || args->values_out || args->hi_bit - args->lo_bit != sizeof(KEY) * 8) return false;
    if (sizeof(KEY) == 1) return args->n >= BYTES_MIN;
    return args->n >= SHORTS_MIN && args->n <= UINT32_MAX && queue->shared_nbytes >= SHORTS_SHARED_NBYTES;
}

/* How many values are few; 0 if it is not worth while to look. Keys are what they are when all their bits are known. What is with them is
 * moved by the ranks of their values: in one pass. */
template <typename KEY> static uint32_t few_values(const struct cuda_queue *queue, const struct sort_args *args) {
    if (sizeof(KEY) < 4 || args->hi_bit - args->lo_bit != sizeof(KEY) * 8 || args->n < VALUES_MIN) return 0;
    if ((uint32_t)queue->shared_nbytes < value_table_nbytes(sizeof(KEY)) + 4096) return 0;
    if (!args->values_out) return VALUES_MAX;
    return queue->arch >= 90 && queue->arch < 120 ? SORT_DIGITS : 0; /* where a table has room beside a tile, twice a multiprocessor */
}

/* ---- the call ---------------------------------------------------------------------------------------------------------------- */

template <typename KEY> static cudaError_t sort_keys(const struct cuda_queue *queue, const struct sort_args *args, void *scratch) {
    struct sort_job job = {};
    set_buffers(&job, args, sizeof(KEY));
    if constexpr (sizeof(KEY) == 1) {
        if (is_counted<KEY>(queue, args)) return launch_bytes(queue, &job);
    }
    if constexpr (sizeof(KEY) == 2) {
        const bool fused = args->n <= fused_shorts_max(queue);
        if (is_counted<KEY>(queue, args)) return fused ? launch_fused_shorts(queue, &job) : launch_shorts(queue, &job, (char *)scratch);
    }
    const struct sort_scratch layout = layout_scratch(queue, args->n, sizeof(KEY), args->value_nbytes, job.drop_keys);
    const bool ranked = is_ranked(queue, args);
    if (ranked && !is_ranked_by_indices(args)) return launch_ranks<KEY>(&job, queue, args);
    set_scratch(&job, args, &layout, scratch);
    if (ranked) {
        const cudaError_t error = launch_ranks<KEY>(&job, queue, args);
        return error == cudaSuccess ? launch_gather(&job, args, (char *)scratch + layout.indices, queue) : error;
    }
    const uint32_t word = !job.has_values ? 0 : !job.by_place && job.value_nbytes == 8 ? 8 : 4;
    const uint32_t most_rows = max_rows(queue, sizeof(KEY), word);
    set_tiles(&job, rows_for(queue, args->n, most_rows), sizeof(KEY));
    job.most_values = few_values<KEY>(queue, args);
    job.histogram_copies = counter_copies(queue, job.n, counters_of<KEY>(&job));
    job.may_mend = may_mend<KEY>(args, &job);
    struct sort_job passes = job;
    set_tiles(&passes, rows_of_passes(queue, args->n, most_rows), sizeof(KEY));

    const bool rounds = fits_rounds(queue, args, sizeof(KEY), word);
    if (rounds) passes.header = NULL;
    cudaError_t error = cudaSuccess;
    if (!rounds || !is_by_few_rounds(args, sizeof(KEY))) error = try_split<KEY>(&job, &passes, queue, args, &layout, (char *)scratch, word);
    set_tiles(&job, passes.rows, sizeof(KEY));
    if (error == cudaSuccess) {
        error = rounds && !job.most_values ? launch_rounds<KEY>(&job, args, queue, word) : launch_onesweep<KEY>(&job, queue, word);
    }
    if (error != cudaSuccess || !is_gathered(args)) return error;
    return launch_gather(&job, args, (char *)scratch + layout.indices, queue);
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
