/* sort_bucket.cuh: the last step of sorting keys alone: a CTA a bucket, by all bits that the items of a bucket do not share
 * (sort_window.cuh). Buckets with deep bins of many distinct items are left as they are, and a second kernel sorts them by stable passes.
 *
 * Cost: items read once, keys or indices written once; a bucket may be sorted where it is. */
#ifndef UPSWEEP_CUDA_SORT_BUCKET_CUH
#define UPSWEEP_CUDA_SORT_BUCKET_CUH

#include "sort_gaps.cuh"
#include "sort_item.cuh"
#include "sort_repeats.cuh"
#include "sort_values.cuh"

#define BUCKET_MIN_GAPS  3 /* bits that a bucket's keys share, below others, so that it is worth while to leave them out; */
#define BUCKET_MORE_BITS 3 /* and bits that are left, at most, beyond those that tell bins apart */

/* Within a bucket the top bits are known; an item is kept without them, shifted up. */
template <typename ITEM> struct bucket_items {
    uint32_t bits; /* that all items share, once `least` is taken off */
    bool bounded;
    ITEM least; /* if bounded, the least item; else the bits that all share: they need not be taken off, as shifting loses them */

    __device__ __forceinline__ ITEM item_of(ITEM shifted) const { return (ITEM)((shifted >> bits) + least); }
};

/* Writes the keys that the window's items stand for, and the values or indices. The pointers: of slot 0. */
template <typename KEY, typename ITEM>
static __device__ __forceinline__ void put_results(const struct split_job &job, KEY *out, char *values_out, struct bucket_slots slots,
                                                   uint32_t window_slot, ITEM (&items)[WINDOW_LANE_KEYS],
                                                   const struct bucket_items<ITEM> &bucket, const struct item_order<KEY, ITEM> &order) {
    if constexpr (item_order<KEY, ITEM>::INDEXED) {
#pragma unroll
        for (int i = 0; i < WINDOW_LANE_KEYS; i++) items[i] = bucket.item_of(items[i]);
        if (job.values_out) {
            uint32_t indices[WINDOW_LANE_KEYS];
#pragma unroll
            for (int i = 0; i < WINDOW_LANE_KEYS; i++) indices[i] = order.index_of(items[i]);
            put_values(job, values_out, slots, window_slot, indices, (const char *)job.values, job.n - 1);
        }
        if (!job.out) return;
    }
    KEY keys[WINDOW_LANE_KEYS];
    /* Asked once: asked for each item, all ways would be computed, and one of them chosen. */
    if (item_order<KEY, ITEM>::INDEXED || order.order.float_mask || (bucket.bounded && order.order.flip)) {
#pragma unroll
        for (int i = 0; i < WINDOW_LANE_KEYS; i++)
            keys[i] = order.key_of(item_order<KEY, ITEM>::INDEXED ? items[i] : bucket.item_of(items[i]));
    } else if (bucket.bounded) {
#pragma unroll
        for (int i = 0; i < WINDOW_LANE_KEYS; i++) keys[i] = (KEY)bucket.item_of(items[i]);
    } else {
        const KEY shared = (KEY)bucket.least ^ order.order.flip;
#pragma unroll
        for (int i = 0; i < WINDOW_LANE_KEYS; i++) keys[i] = (KEY)(items[i] >> bucket.bits) ^ shared;
    }
    put_window(out, slots, window_slot, keys);
}

/* The items of a bucket. Mostly all rows are there: then nothing is asked for each item, which is a third of the instructions. */
template <typename SHAPE> struct bucket_rows : item_rows<SHAPE::THREADS> {
    __device__ __forceinline__ explicit bucket_rows(uint32_t n) : item_rows<SHAPE::THREADS>{n, (int32_t)(n - threadIdx.x)} {}

    /* act(row, ask(row)) for each row that there is; some together. */
    template <int TOGETHER = SHAPE::TOGETHER, typename ASK, typename ACT>
    __device__ __forceinline__ void for_each(const ASK &ask, const ACT &act) const {
        item_rows<SHAPE::THREADS>::template for_each<SHAPE::ROWS, TOGETHER>(ask, act);
    }
};

template <typename SHAPE, typename ITEM>
static __device__ __forceinline__ void get_items(ITEM (&items)[SHAPE::ROWS], const struct bucket_rows<SHAPE> &rows,
                                                 const struct split_job &job, const ITEM *src, uint32_t start) {
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) items[row] = 0;
    const auto set = [&](int row, ITEM item) { items[row] = item; };
    const ITEM *mine = src + start + threadIdx.x;
    if (sizeof(ITEM) == 8 && !src) /* in halves */
        rows.template for_each<1>([&](int row) { return get_item(job, src, start + row * SHAPE::THREADS + threadIdx.x); }, set);
    else
        rows.for_each([&](int row) { return mine[row * SHAPE::THREADS]; }, set);
}

/* Takes from each item what all share, and shifts it up. */
template <int ROWS, typename ITEM>
static __device__ __forceinline__ void shift_items(ITEM (&items)[ROWS], const struct bucket_items<ITEM> &bucket) {
    if (bucket.bounded) {
#pragma unroll
        for (int row = 0; row < ROWS; row++) items[row] -= bucket.least;
    }
#pragma unroll
    for (int row = 0; row < ROWS; row++) items[row] = (ITEM)(items[row] << bucket.bits);
}

/* Counts each item in its bin. What an addition returns would be the item's rank there, but to wait for that takes nearly twice as long; so
 * items get their places by such additions only when bins have theirs. */
template <typename SHAPE, typename ITEM>
static __device__ __forceinline__ void count_in_bins(const ITEM (&items)[SHAPE::ROWS], const struct bucket_rows<SHAPE> &rows,
                                                     uint32_t *s_bins, uint32_t bin_shift) {
    rows.for_each([&](int row) { return items[row] >> bin_shift; }, [&](int, ITEM bin) { atomicAdd(&s_bins[bin], 1); });
}

/* Puts each item in its bin, whose end s_bins says: afterwards they say where bins start. */
template <typename SHAPE, typename ITEM>
static __device__ __forceinline__ void put_in_bins(ITEM *s_slots, const ITEM (&items)[SHAPE::ROWS], const struct bucket_rows<SHAPE> &rows,
                                                   uint32_t first_slot, uint32_t *s_bins, uint32_t bin_shift) {
    rows.for_each([&](int row) { return first_slot + last_place(&s_bins[items[row] >> bin_shift]); },
                  [&](int row, uint32_t slot) { s_slots[slot_at<ITEM>(slot)] = items[row]; });
}

/* A bucket: n items from src + from, of which all share some top bits. */
template <typename ITEM> struct found_bucket {
    const ITEM *src;
    uint32_t from, n;
    uint32_t start; /* where it goes in the output; or, in a slot, the bucket's number */
    bool in_slot;
    uint32_t bits;
    bool bounded; /* no item is below `least`, and what is above it leaves so many bits; else they share them */
    ITEM least;
    bool keys;      /* not yet images */
    uint32_t ahead; /* items from here to a bucket of about as many that will be next when this one has been sorted; 0: not known */
    bool asks;      /* whether keys repeat, if bins are crowded; else such a bucket is left at once */
    bool unknown;   /* what they share is found by looking at them */
};

/* Where a bucket goes in the output is the sum of this over all threads; in a slot, of the sizes of those before it: of other coarse
 * buckets, and of its own. */
template <typename ITEM>
static __device__ __forceinline__ uint32_t items_before(const struct split_job &job, const struct found_bucket<ITEM> &found) {
    if (!found.in_slot) return threadIdx.x == 0 ? found.start : 0;
    const uint32_t coarse = found.start >> job.slots.fine_bits;
    uint32_t sum = 0;
    for (uint32_t i = threadIdx.x; i < coarse; i += blockDim.x) sum += job.header->coarse_size[i];
    for (uint32_t i = (coarse << job.slots.fine_bits) + threadIdx.x; i < found.start; i += blockDim.x) sum += job.slots.size[i];
    return sum;
}

/* Of floats: from where to where. An item's top 32 bits are between the bounds, the last included, or not if that is known. */
template <typename ITEM>
static __device__ __forceinline__ void bound_items(struct found_bucket<ITEM> *found, const uint32_t *bounds, uint32_t not_last) {
    constexpr uint32_t BELOW = sizeof(ITEM) * 8 - 32;
    found->bounded = true;
    found->least = (ITEM)bounds[0] << BELOW;
    found->bits = min((uint32_t)__clz((int)(bounds[1] - bounds[0] - not_last)), (uint32_t)sizeof(ITEM) * 8 - 1);
}

/* Shared memory. */
template <typename ITEM> struct bucket_desk {
    uint32_t sums[32];
    uint32_t before[32]; /* of each warp */
    ITEM some_item;

    /* By all threads. A barrier must follow, and then any number of calls of start(). */
    __device__ __forceinline__ void add_before(uint32_t mine) {
        const uint32_t of_warp = sum_warp(mine);
        if (threadIdx.x % 32 == 0) before[threadIdx.x / 32] = of_warp;
    }
    __device__ __forceinline__ uint32_t start(uint32_t nwarps) const {
        const uint32_t lane = threadIdx.x % 32;
        return sum_warp(lane < nwarps ? before[lane] : 0);
    }
};

/* May the deep bins of a bucket be sorted, though they are crowded? None is too deep; or items repeat, so that most likely these
 * have few values: by an item of each thread, is one in so many equal to another one of its warp? All threads call it. */
template <typename ITEM> static __device__ __forceinline__ bool deep_bins_pay(ITEM item, uint32_t n, uint32_t deepest) {
    constexpr uint32_t ONE_IN = 128;
    if (!__syncthreads_or(deepest > DEEP_FEW_ITEMS)) return true;
    const bool repeats = __popc(__match_any_sync(~0u, item)) > 1;
    return (uint32_t)__syncthreads_count(repeats && threadIdx.x < n) >= min(blockDim.x, n) / ONE_IN;
}

/* The least and the greatest item of each warp. Shared memory, where the bucket's slots will be. */
template <typename ITEM> struct bucket_ends { ITEM least[32], most[32]; };

/* All threads call it; a barrier must follow. */
template <typename SHAPE, typename ITEM>
static __device__ __forceinline__ void note_ends(struct bucket_ends<ITEM> &s, const ITEM (&items)[SHAPE::ROWS],
                                                 const struct bucket_rows<SHAPE> &rows) {
    ITEM least = (ITEM) ~(ITEM)0, most = 0;
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) {
        least = rows.has(row) ? min(least, items[row]) : least;
        most = rows.has(row) ? max(most, items[row]) : most;
    }
    least = least_of_warp(least);
    most = (ITEM)~least_of_warp((ITEM)~most);
    if (threadIdx.x % 32 > 0) return;
    s.least[threadIdx.x / 32] = least;
    s.most[threadIdx.x / 32] = most;
}

/* What the items of a bucket have in common, when all ends are noted. All threads call it. */
template <typename SHAPE, typename ITEM>
static __device__ __forceinline__ void bound_by_ends(struct found_bucket<ITEM> *found, const struct split_job &job,
                                                     const struct bucket_ends<ITEM> &s) {
    const uint32_t warp = threadIdx.x % SHAPE::WARPS;
    const ITEM most = (ITEM)~least_of_warp((ITEM)~s.most[warp]);
    found->least = least_of_warp(s.least[warp]) & (ITEM) ~(ITEM)0 << job.bits.index_shift; /* what is below an index is not looked at */
    const uint32_t zeros = (uint32_t)__clzll((long long)(most - found->least)) - (64 - (uint32_t)sizeof(ITEM) * 8);
    found->bounded = true;
    found->bits = min(zeros, (uint32_t)sizeof(ITEM) * 8 - 1);
}

/* Closes up the images of a bucket, by the bits in which they differ; false if hardly any bits beneath the first of these are shared. All
 * threads call it. */
template <typename SHAPE, typename KEY>
static __device__ __forceinline__ bool close_bucket(struct found_bucket<KEY> *found, KEY (&images)[SHAPE::ROWS],
                                                    const struct bucket_rows<SHAPE> &rows, KEY some, uint64_t (&s_words)[32],
                                                    struct bit_gaps &s_gaps) {
    KEY varying = 0;
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) varying |= rows.has(row) ? images[row] ^ some : (KEY)0;
    const KEY seen = (KEY)or_of_threads(varying, s_words);
    __syncthreads(); /* all words have been read */
    const uint32_t nbits = count_bits(seen), ngaps = 64 - (uint32_t)__clzll((long long)seen) - nbits;
    if (ngaps < BUCKET_MIN_GAPS || nbits > SHAPE::BIN_BITS + BUCKET_MORE_BITS) return false;
    if (threadIdx.x == 0) plan_closing<KEY>(s_gaps, seen, some);
    __syncthreads(); /* the plan */
    close_images(s_gaps, images);
    found->bounded = true;
    found->least = 0;
    found->bits = (uint32_t)sizeof(KEY) * 8 - nbits;
    return true;
}

/* False: its bins are not for this; it lies as it was, and nothing is written. KEYS: what lies there is keys yet, all of one sign, so that
 * an image is one operation. FUSED: what its items share may be unknown. CLOSED: keys alone, without the
 * bits that all of them share, wherever these are. All threads call it. */
template <typename KEY, typename ITEM, typename SHAPE, bool KEYS = false, bool FUSED = false, bool CLOSED = false>
static __device__ __forceinline__ bool sort_bucket(const struct split_job &job, struct found_bucket<ITEM> found, unsigned char *s_memory,
                                                   struct bucket_desk<ITEM> &s) {
    constexpr int THREADS = SHAPE::THREADS, ROWS = SHAPE::ROWS;
    const uint32_t n = found.n;
    uint32_t *s_bins = (uint32_t *)s_memory;
    ITEM *s_slots = (ITEM *)(s_memory + SHAPE::BINS_NBYTES);
    ITEM items[ROWS];
    const struct bucket_rows<SHAPE> rows(n);
    get_items(items, rows, job, found.src, found.from);
    s.add_before(items_before(job, found)); /* after the items have been asked for */
    __shared__ struct bit_gaps s_gaps;      /* if CLOSED */
    if constexpr (CLOSED) {
        if (!close_bucket<SHAPE>(&found, items, rows, found.src[found.from], *(uint64_t(*)[32])s_slots, s_gaps)) return false;
    }
    struct item_order<KEY, ITEM> order(job);
    if constexpr (KEYS) {
        constexpr KEY TOP = (KEY)1 << (sizeof(KEY) * 8 - 1);
        order.order = order.order.of_sign(found.least);
        if (order.order.flip == TOP) { /* taking the least off flips it, too */
            order.order.flip = 0;
            found.least ^= TOP;
        } else {
#pragma unroll
            for (int row = 0; row < ROWS; row++) items[row] = order.order.image(items[row]);
        }
    }
    if (threadIdx.x == 0) s.some_item = items[0];
    if (FUSED && found.unknown) note_ends<SHAPE>(*(struct bucket_ends<ITEM> *)s_slots, items, rows);
    static_assert(SHAPE::BINS / 4 % THREADS == 0, "as many vectors of bins for each thread");
#pragma unroll
    for (uint32_t i = 0; i < SHAPE::BINS / 4; i += THREADS) ((uint4 *)s_bins)[i + threadIdx.x] = make_uint4(0, 0, 0, 0);
    __syncthreads(); /* zeroes before counts; and all items are in registers, so that the bucket may be overwritten */
    if (FUSED && found.unknown) bound_by_ends<SHAPE>(&found, job, *(struct bucket_ends<ITEM> *)s_slots);
    const struct bucket_items<ITEM> bucket = {
        found.bits, found.bounded, found.bounded ? found.least : (ITEM)(s.some_item & ~((ITEM) ~(ITEM)0 >> found.bits))
    };
    const uint32_t bin_shift = max((uint32_t)sizeof(ITEM) * 8 - SHAPE::BIN_BITS, bucket.bits);
    shift_items(items, bucket);
    count_in_bins(items, rows, s_bins, bin_shift);
    __syncthreads(); /* all counts */
    if (threadIdx.x == 0 && found.ahead > 0) prefetch_items(found.src + found.from + found.ahead, n);
    const uint32_t deepest = scan_bins<SHAPE::BINS, SHAPE::WARPS>(s_bins, s.sums);
    bool deep = __syncthreads_or(deepest > WINDOW_HALO); /* also: all ends */
    constexpr bool EQUAL = sizeof(KEY) == sizeof(ITEM);  /* items with an index never are */
    constexpr bool ASKS = FUSED && EQUAL, SAMPLED = ASKS || CLOSED;
    const bool crowded = deepest > UINT64_C(1) << bucket.bits; /* in a wide bucket: its items lie far closer together than they might */
    const bool asks = deep && __syncthreads_or(crowded || (!EQUAL && deepest > DEEP_FEW_ITEMS));
    if (asks && !(ASKS && found.asks && deep_bins_pay(items[0], n, deepest))) return false;

    const uint32_t start = s.start(SHAPE::WARPS);
    /* Slots: a halo, then as many as make out + slot aligned to eight keys or indices, then the items, then what the last window looks at.
     */
    KEY *out = (KEY *)job.out + start;
    char *values_out = (char *)job.values_out + (uint64_t)start * job.value_nbytes;
    const bool by_indices = item_order<KEY, ITEM>::INDEXED && !job.out;
    const uintptr_t place = by_indices ? (uintptr_t)values_out >> (job.value_nbytes == 4 ? 2 : 3) : (uintptr_t)out / sizeof(KEY);
    const uint32_t skew = (uint32_t)place % WINDOW_LANE_KEYS, first = WINDOW_HALO + skew;
    const struct bucket_slots slots = {first, first + n};
    const uint32_t nwindows = (skew + n + WINDOW_STEP - 1) / WINDOW_STEP;
    fill_around<THREADS>(s_slots, first, n, nwindows);
    put_in_bins(s_slots, items, rows, first, s_bins, bin_shift);
    __syncthreads();                            /* all items are in their bins */
    if (bin_shift == bucket.bits) deep = false; /* all items of a bin are equal */
    if (deep) {
        constexpr bool CALL = sizeof(KEY) == 4; /* then uniform keys are up to 6 % quicker; those of 64 bits, 3 % slower */
        const uint32_t most = ASKS && asks ? REPEATS_MAX_SURE : SAMPLED ? REPEATS_MAX_LOOKED : REPEATS_MAX_ITEMS;
        const bool right = CALL ? call_each_deep_bin<SHAPE, EQUAL, SAMPLED>(s_slots, first, n, s_bins, most)
                                : sort_each_deep_bin<SHAPE, EQUAL, SAMPLED>(s_slots, first, n, s_bins, most);
        if (__syncthreads_or(!right)) return false; /* else: all deep bins are in order */
    }

    out -= first;
    values_out -= (uint64_t)first * job.value_nbytes;
    for (uint32_t window = threadIdx.x / 32; window < nwindows; window += SHAPE::WARPS) {
        ITEM sorted[WINDOW_LANE_KEYS];
        get_window(sorted, s_slots, window * WINDOW_STEP);
        sort_window(sorted);
        if constexpr (CLOSED) {
            KEY keys[WINDOW_LANE_KEYS];
#pragma unroll
            for (int i = 0; i < WINDOW_LANE_KEYS; i++) keys[i] = order.key_of(open_image(s_gaps, bucket.item_of(sorted[i])));
            put_window(out, slots, window * WINDOW_STEP, keys);
            continue;
        }
        put_results(job, out, values_out, slots, window * WINDOW_STEP, sorted, bucket, order);
    }
    return true;
}

#endif
