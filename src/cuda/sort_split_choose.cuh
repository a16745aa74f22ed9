/* sort_split_choose.cuh: is a split for a sort, and if so, how many buckets has it, of which size? For each way of splitting that
 * sort_plan.cuh knows. Host code.
 *
 * Buckets must fit a CTA: of three sizes of CTA the smallest that does with one partition is taken, else two partitions. The choice depends
 * on sizes alone and assumes keys whose top bits are spread at random; whether that holds is for the device to find out. */
#ifndef UPSWEEP_CUDA_SORT_SPLIT_CHOOSE_CUH
#define UPSWEEP_CUDA_SORT_SPLIT_CHOOSE_CUH

#include <math.h>

#include "sort_fused_cells.cuh"
#include "sort_placed.cuh"
#include "sort_slots_pairs.cuh"
#include "sort_split_shapes.cuh"
#include "sort_value_slots.cuh"

/* ---- numbers of buckets ------------------------------------------------------------------------------------------------------ */

/* Does a bucket of this many keys on average keep below the limit, if the keys are spread at random? Six standard deviations are allowed
 * for. */
static bool mean_fits(uint64_t mean, uint64_t limit) { return mean < limit && (limit - mean) * (limit - mean) >= 36 * mean; }

/* The fewest bits, at least SPLIT_MIN_BITS, that make buckets fit. */
static uint32_t split_bits(uint64_t n, uint64_t bucket_max) {
    uint32_t bits = SPLIT_MIN_BITS;
    while (bits < 64 && !mean_fits(n >> bits, bucket_max)) bits++;
    return bits;
}

/* The same for so many numbers. */
static uint32_t bits_of(uint32_t nnumbers) {
    uint32_t bits = SPLIT_MIN_BITS;
    while (bits < 31 && 1u << bits < nnumbers) bits++;
    return bits;
}

/* How many pairs of a sample's keys may share a bucket, on average, if no bucket is too big? And twice that and some, since a sample is
 * one: of keys that are spread at random it is beyond eight standard deviations. */
static uint32_t sample_limit(const struct split_job *job, uint64_t n) {
    const uint64_t npairs = SPLIT_HISTOGRAM_THREADS * (SPLIT_HISTOGRAM_THREADS - 1) / 2, limit = 2 * npairs * job->bucket_max / n + 40;
    return limit < npairs ? (uint32_t)limit : 0;
}

/* Of keys that are spread at random no more do, but for eight standard deviations: what slots of one size need, though no bucket be too big
 * for a CTA. */
static uint32_t even_limit(uint32_t bits) {
    const float chance = (float)(SPLIT_HISTOGRAM_THREADS * (SPLIT_HISTOGRAM_THREADS - 1) / 2) / (float)(1u << bits);
    return (uint32_t)(chance + 8 * sqrtf(chance)) + 8;
}

/* Sets bits and shape, with a coarse partition before the last one or without. */
static void set_bits(struct split_job *job, uint64_t n, uint32_t bits, bool two, uint32_t limit) {
    job->coarse_bits = two ? bits / 2 : 0;
    job->fine_bits = bits - job->coarse_bits;
    job->nnumbers = 1u << bits;
    job->bucket_max = limit;
    job->sample_limit = sample_limit(job, n);
}

/* Chooses bits and shape for any items: one partition, or two. */
template <typename ITEM> static bool choose_bits(struct split_job *job, uint64_t n) {
    typedef split_shapes<ITEM> SHAPES;
    const uint32_t limits[] = {SHAPES::LITTLE::ITEMS, SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    const uint32_t most[] = {SPLIT_SINGLE_BITS, SPLIT_MAX_BITS};
    for (int partitions = 1; partitions <= 2; partitions++) {
        for (int shape = partitions - 1; shape < 3; shape++) {
            const uint32_t bits = split_bits(n, limits[shape]);
            if (bits > most[partitions - 1]) continue;
            set_bits(job, n, bits, partitions == 2, limits[shape]);
            return true;
        }
    }
    return false;
}

/* ---- in one launch ----------------------------------------------------------------------------------------------------------- */

/* Rows of a tile, if there is one tile a multiprocessor. */
static uint32_t fused_rows(const struct cuda_queue *queue, uint64_t n) {
    const uint64_t row = (uint64_t)queue->nsms * FUSED_THREADS;
    return (uint32_t)min_u64((n + row - 1) / row, UINT32_MAX);
}

/* Do the keys fit the multiprocessors, and may CTAs wait for one another? */
template <typename KEY, typename ITEM> static bool may_fuse(const struct cuda_queue *queue, uint64_t n) {
    return queue->cooperative && !queue->only_lookback && fused_rows(queue, n) <= (uint32_t)fused_max_rows(sizeof(KEY), sizeof(ITEM));
}

/* Chooses bits and shape for the way with a launch less; false if it is not to be had. */
template <typename KEY, typename ITEM> static bool choose_fused(struct split_job *job, const struct cuda_queue *queue, uint64_t n) {
    typedef fused_shapes<ITEM> SHAPES;
    if (!may_fuse<KEY, ITEM>(queue, n)) return false;
    const uint32_t limits[] = {SHAPES::LITTLE::ITEMS, SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    const uint32_t most[] = {SPLIT_MIN_BITS, SPLIT_MIN_BITS, FUSED_MAX_BITS};
    for (int shape = 0; shape < 3; shape++) {
        job->fine_bits = split_bits(n, limits[shape]);
        job->bucket_max = limits[shape];
        job->nnumbers = 1u << job->fine_bits;
        if (job->fine_bits <= most[shape]) return true;
    }
    return false;
}

/* ---- floats, by cells -------------------------------------------------------------------------------------------------------- */

/* The most keys that buckets may have on average, if they are as even as in mean_fits(). */
static uint32_t largest_mean(uint32_t limit) {
    uint32_t mean = limit;
    while (!mean_fits(mean, limit)) mean--;
    return mean;
}

/* Chooses bits and shape for floats: buckets smaller by a sixth, since keys are not quite uniform in a cell, or, close, by little, since
 * the sample says how uniform they are, and full bins hold equal keys; numbers to spare, since a group of small cells may be half a bucket.
 */
static void set_cells(struct split_job *job, uint64_t n, uint32_t limit, bool close) {
    const uint32_t mean = close ? largest_mean(limit) * 31 / 32 : largest_mean(limit) * 5 / 6;
    job->nnumbers = (uint32_t)min_u64(n * 4 / 3 / mean + CELLS / 8, UINT32_MAX);
    job->bucket_max = limit;
    job->sample_limit = sample_limit(job, n);
    job->cell_keys = mean;
}

/* The same for the way with fewer launches, and of few keys alone by value. */
template <typename KEY, typename ITEM> static bool choose_fused_cells(struct split_job *job, const struct cuda_queue *queue, uint64_t n) {
    typedef fused_shapes<ITEM> SHAPES;
    if (!may_fuse<KEY, ITEM>(queue, n)) return false;
    const uint32_t limits[] = {SHAPES::LITTLE::ITEMS, SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    const uint32_t at_once = 2 * (uint32_t)queue->nsms, most[] = {at_once, at_once, FUSED_NUMBERS};
    static_assert(FUSED_THREADS * VALUE_ROWS_NBYTES / sizeof(KEY) / 2 < SHAPES::LARGEST::ITEMS || sizeof(ITEM) > sizeof(KEY),
                  "room to spare");
    for (int shape = 0; shape < 3; shape++) {
        set_cells(job, n, limits[shape], false);
        if (job->nnumbers > most[shape]) continue;
        if (sizeof(ITEM) > sizeof(KEY) || fused_rows(queue, n) * sizeof(KEY) > VALUE_ROWS_NBYTES) return true;
        job->value_keys = (uint32_t)n / at_once + 1;
        job->nnumbers = max_u32(job->nnumbers, at_once + VALUE_SPARSE + 2);
        if (shape == 2) job->bucket_max = SHAPES::LARGEST::ITEMS; /* cells stay as small as they are */
        return true;
    }
    return false;
}

template <typename ITEM> static bool choose_cells(struct split_job *job, uint64_t n) {
    typedef split_shapes<ITEM> SHAPES;
    const uint32_t limits[] = {SHAPES::LITTLE::ITEMS, SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    for (int shape = 0; shape < 3; shape++) {
        set_cells(job, n, limits[shape], sizeof(ITEM) == 4 && n > CELL_SAMPLE);
        const uint32_t bits = bits_of(job->nnumbers);
        const bool single = bits <= SPLIT_SINGLE_BITS;
        if (!single && (shape == 0 || n < SPLIT_TWO_MIN || bits > SPLIT_MAX_BITS)) continue;
        job->coarse_bits = single ? 0 : bits / 2;
        job->fine_bits = bits - job->coarse_bits;
        return true;
    }
    job->cell_keys = 0;
    return false;
}

/* The same for slots: of one partition, if it tells as many numbers apart. Two write to the output first, which must not be the input. */
template <typename KEY, typename ITEM> static bool choose_cell_slots(struct split_job *job, const struct sort_args *args) {
    typedef split_shapes<KEY> SHAPES;
    if (sizeof(ITEM) > sizeof(KEY) || args->n * sizeof(KEY) < SLOTS_MIN_NBYTES) return false;
    const uint32_t limits[] = {SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    for (int i = 0; i < (args->keys_in == args->keys_out ? 2 : 4); i++) {
        const bool one = i < 2;
        if (i == 0 && args->n > CELL_SLOTS_SMALL_MAX) continue;
        if (!one && args->n < CELL_SLOTS_BIG_MAX && (i == 2 || sizeof(KEY) == 8)) continue;
        set_cells(job, args->n, limits[i % 2], sizeof(KEY) == 4);
        const uint32_t bits = bits_of(job->nnumbers);
        if (one ? job->nnumbers > CELL_SLOTS_SINGLE : bits > SPLIT_MAX_BITS) continue;
        job->coarse_bits = bits <= SPLIT_SINGLE_BITS ? 0 : bits / 2;
        job->fine_bits = bits - job->coarse_bits;
        job->slots.coarse_bits = one ? 0 : job->coarse_bits;
        job->slots.fine_bits = bits - job->slots.coarse_bits;
        job->slots.float_items = (uint32_t)room_of_slots(args->n, sizeof(KEY), false);
        return true;
    }
    return false;
}

/* ---- slots ------------------------------------------------------------------------------------------------------------------- */

/* Keys that a slot must hold for so many on average, so many standard deviations more, in whole lines; 0 if that does not fit the limit. */
static uint32_t slot_items(uint64_t mean, uint32_t limit, uint32_t deviations) {
    const uint64_t items = (mean + (uint64_t)(deviations * sqrt((double)mean)) + 32) / 32 * 32;
    return items <= limit ? (uint32_t)items : 0;
}

/* Else smaller buckets are. With larger ones two partitions have fewer digits, and so longer runs. */
template <typename ITEM> static bool are_big_quicker(uint64_t n) { return sizeof(ITEM) == 4 && n > SLOTS_BIG_MIN; }

/* The plan of slots for n keys and so many bits, with room for so many items; false if they need more. */
static bool plan_slots(struct split_job *job, uint64_t n, uint64_t room, uint32_t deviations, bool one, uint32_t bits, uint32_t limit) {
    struct slots_plan *slots = &job->slots;
    slots->coarse_bits = one ? 0 : bits / 2;
    slots->fine_bits = bits - slots->coarse_bits;
    slots->items = slot_items((n >> bits) + 1, limit, deviations);
    if (slots->items == 0) return false;
    if (!one) {
        const uint64_t mean = n >> slots->coarse_bits;
        slots->coarse_items = (uint32_t)(mean / 32 * 32);
        slots->aside_items = slot_items(mean + 32, UINT32_MAX, deviations) + 64 - slots->coarse_items;
    }
    const uint64_t aside = one ? 0 : (uint64_t)slots->aside_items << slots->coarse_bits;
    const uint32_t items = (uint32_t)min_u64((room - aside) >> bits, limit) / 32 * 32;
    const bool enough = items >= slots->items;
    slots->items = enough ? items : 0;
    return enough;
}

/* From how many keys of a slot on is a histogram in vain, which has more buckets, but with less room? If all around is as dense, and some
 * more; or if they are close together. */
static void set_vain(struct slots_plan *slots, uint64_t n, const struct split_job *behind) {
    const uint32_t bits = slots->number_bits(), more_bits = behind->coarse_bits + behind->fine_bits - bits;
    const uint64_t mean = n >> bits, dense = (uint64_t)behind->bucket_max << more_bits;
    slots->vain_items = (uint32_t)min_u64(dense + dense / 4, UINT32_MAX);
    slots->vain_alone = (uint32_t)(mean - (mean >> more_bits)) + behind->bucket_max;
}

/* Chooses bits and shape for buckets in slots, and for what is behind them. That has twice as many buckets, if keys are alone: keys that
 * repeat, and so fail in slots, have buckets that vary more in size. Two partitions write to the output first, which must not be the
 * input. */
template <typename KEY, typename ITEM> static bool choose_slots(struct split_job *job, const struct sort_args *args) {
    typedef split_shapes<ITEM> SHAPES;
    const uint64_t least = sizeof(ITEM) > sizeof(KEY) ? SLOTS_MIN_NBYTES : slots_min_alone(sizeof(KEY));
    if (args->n * sizeof(ITEM) < least || args->n >= SPLIT_MAX) return false;
    const uint32_t limits[] = {SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    const uint32_t most[] = {SPLIT_SINGLE_BITS, slots_single_bits(sizeof(KEY)), SPLIT_MAX_BITS};
    const uint64_t tenth = args->n + args->n / SLOTS_MORE_PART;
    const uint64_t room = sizeof(ITEM) > sizeof(KEY) ? tenth : min_u64(tenth, room_of_slots(args->n, sizeof(KEY), false));
    for (int i = 0; i < (args->keys_in == args->keys_out ? 2 : 3); i++) {
        const bool big_first = i == 2 && are_big_quicker<ITEM>(args->n);
        for (int choice = 0; choice < 4; choice++) { /* of both sizes, and one bit more only if they do not fit else */
            const uint32_t shape = (choice + big_first) % 2, bits = split_bits(args->n, limits[shape]) + choice / 2;
            if (bits > most[i] || !plan_slots(job, args->n, room, SLOTS_DEVIATIONS, i < 2, bits, limits[shape])) continue;
            job->may_be_two = sizeof(ITEM) == sizeof(KEY) && bits < SPLIT_MAX_BITS;
            const uint32_t behind = bits + job->may_be_two;
            set_bits(job, args->n, behind, behind > SPLIT_SINGLE_BITS, limits[shape]);
            set_vain(&job->slots, args->n, job);
            return true;
        }
    }
    return false;
}

/* Chooses bits and shape for slots by value, an attempt of its own; numbers to spare, so that their width may be a power of two. First one
 * partition to some thousand numbers, then to as many as one can, then two. */
template <typename KEY> static bool choose_value_slots(struct split_job *job, uint64_t n, bool in_place) {
    typedef split_shapes<KEY> SHAPES;
    const uint32_t limits[] = {SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    const uint32_t single[] = {value_slots_numbers(SPLIT_SINGLE_BITS), value_slots_single(sizeof(KEY))};
    if (n * sizeof(KEY) < SLOTS_MIN_NBYTES || n >= SPLIT_MAX) return false;
    for (int i = 0; i < (in_place ? 4 : 6); i++) {
        const bool one = i < 4;
        const bool big_first = !one && are_big_quicker<KEY>(n);
        const uint32_t limit = limits[(i + big_first) % 2], mean = limit - (uint32_t)(7 * sqrt((double)limit)) - 32;
        const uint64_t least = n / mean + n / mean / (VALUE_SLOTS_BEYOND / 2) + 4;
        uint32_t bits = 1;
        while (1u << bits < least) bits++;
        job->slots.fine_bits = one ? 16 : (bits + 1) / 2;
        job->slots.coarse_bits = one ? 0 : bits / 2;
        const uint64_t most = one ? single[i / 2] - 1 : value_numbers<KEY>(job->slots) - (1u << job->slots.fine_bits);
        if (bits > SPLIT_MAX_BITS || least > most || (i == 4 && !big_first && least + least / 4 > most)) continue;
        job->nnumbers = (uint32_t)min_u64(least + least / 4, most); /* if twice as many, any width could be a power of two */
        job->bucket_max = limit;
        job->value_keys = mean;
        job->slots.float_items = (uint32_t)room_of_slots(n, sizeof(KEY), false);
        return true;
    }
    return false;
}

/* Is it for these keys? One partition must be enough, and a bucket as large as a cell, of which the largest have some 12 times as many keys
 * as the mean. */
template <typename KEY> static bool choose_sample_slots(struct split_job *job) {
    if (!job->slots.area || job->n / SAMPLE_SLOTS_PART > job->bucket_max) return false;
    job->slots.sample_items = (uint32_t)room_of_slots(job->n, sizeof(KEY), false);
    return true;
}

/* Chooses how large the buckets may be that CTAs sort though they do not fit shared memory: where nothing but stable passes would else do
 * it, as long as these take longer. Of 64 bits they take four times as long, while counting keys that repeat takes little more. */
template <typename KEY> static void choose_large(struct split_job *job) {
    if (job->n <= LARGE_MIN) return;
    job->large_max = (job->n - LARGE_MIN) / LARGE_ONE_PART * (sizeof(KEY) == 8 ? 4 : 1);
    job->large_any = max_u32(job->n / LARGE_ANY_PART, job->bucket_max);
    job->slots.vain_items = job->slots.vain_alone = UINT32_MAX;
}

/* ---- keys with values -------------------------------------------------------------------------------------------------------- */

/* By two partitions, since only the second takes enough bits off a key to leave room for a place. */
template <typename SHAPE>
static bool try_shape(struct split_job *split, const struct cuda_queue *queue, const struct sort_job *job, uint32_t most_bits) {
    const uint32_t shared = SHAPE::SHARED_NBYTES + SHAPE::ITEMS * job->value_nbytes;
    if (shared > shared_nbytes_per_cta(queue->arch, 1)) return false;
    const uint32_t bits = max_u32(split_bits(job->n, SHAPE::ITEMS), place_bits(SHAPE::ITEMS));
    if (bits > most_bits) return false;
    set_bits(split, job->n, bits, true, SHAPE::ITEMS);
    return true;
}

/* Chooses bits and shape; false if a split is not for this sort: some of the bits of the keys, too few or too many. */
template <typename KEY>
static bool choose_stable(struct split_job *split, const struct cuda_queue *queue, const struct sort_args *args,
                          const struct sort_job *job) {
    if (args->hi_bit - args->lo_bit != sizeof(KEY) * 8 || !job->has_values) return false;
    if (queue->arch < 90 || queue->arch >= 120 || job->n > SORT_PORTION_ITEMS || job->n < stable_min(sizeof(KEY))) return false;
    constexpr uint32_t MOST = 2 * SORT_DIGIT_BITS;
    if constexpr (sizeof(KEY) == 8) {
        if (try_shape<stable_shapes<uint64_t>::LEAST>(split, queue, job, STABLE_LEAST_BITS)) return true;
    }
    return try_shape<typename stable_shapes<KEY>::LITTLE>(split, queue, job, MOST) ||
           try_shape<typename stable_shapes<KEY>::MIDDLE>(split, queue, job, MOST) ||
           try_shape<typename stable_shapes<KEY>::BIG>(split, queue, job, MOST);
}

/* Chooses bits and shape for pairs in slots, if there is a stable split as well; false if these are not for this sort. */
static bool choose_pair_slots(struct split_job *slots, const struct sort_args *args, const struct sort_job *job) {
    typedef split_shapes<uint64_t> SHAPES;
    if (args->keys_in == args->keys_out || args->values_in == args->values_out || args->type == UPSWEEP_F32) return false;
    if (args->value_nbytes != 4 || job->by_place || ((uintptr_t)args->keys_out ^ (uintptr_t)args->values_out) % 16 != 0) return false;
    if (args->n > PAIR_SLOTS_MAX || args->n * sizeof(uint64_t) < SLOTS_MIN_NBYTES_PAIRS) return false;
    const uint32_t limits[] = {SHAPES::MIDDLE::ITEMS, SHAPES::BIG::ITEMS};
    const uint64_t room = room_of_slots(args->n, sizeof(uint64_t), true);
    for (int shape = 0; shape < 2; shape++) {
        const uint32_t bits = split_bits(args->n, limits[shape]);
        if (bits > slots_single_bits(4) || args->n > (uint64_t)PAIR_SLOTS_TILE << bits) continue;
        if (!plan_slots(slots, args->n, room, PAIR_SLOTS_DEVIATIONS, true, bits, limits[shape])) continue;
        slots->slots.size = slots->cursor + slots->nnumbers; /* beyond the histogram of the split, whose buckets are smaller */
        set_vain(&slots->slots, args->n, slots);
        set_bits(slots, args->n, bits, false, limits[shape]);
        slots->sample_limit = even_limit(bits);
        slots->values = args->values_in;
        slots->values_out = args->values_out;
        return true;
    }
    return false;
}

#endif
