/* sort_placed.cuh: sorts keys with their values in the shared memory of one CTA, stably: a bucket of a split, or all that there is.
 *
 *     item     | key, without the bits that all keys share | place in the bucket | 0 |
 *
 * No two items are equal, so any way of sorting them is stable: the one of sort_window.cuh. Values wait in shared memory and are fetched by
 * their places. Cost: keys and values read once and written once; they may be sorted where they are. */
#ifndef UPSWEEP_CUDA_SORT_PLACED_CUH
#define UPSWEEP_CUDA_SORT_PLACED_CUH

#include "async.cuh"
#include "sort_repeats.cuh"
#include "sort_values.cuh"

/* Bits that tell n places apart. */
static constexpr __host__ __device__ uint32_t place_bits(uint32_t n) {
    uint32_t bits = 0;
    while (1u << bits < n) bits++;
    return bits;
}

/* How items are made of keys. */
template <typename KEY, typename ITEM> struct placed_items {
    const struct key_order<KEY> order;
    KEY common;     /* the bits that all images share, at the top */
    uint32_t shift; /* of an image in an item */
    uint32_t place_shift, place_mask;

    /* ncommon: bits of common. A key of ITEM's width has no room for places unless ncommon bits make some; without values, none is needed.
     */
    __device__ __forceinline__ placed_items(const struct sort_job &job, KEY image, uint32_t ncommon, uint32_t nplace_bits)
        : order(job), common(ncommon ? (KEY)(image & ~((KEY) ~(KEY)0 >> ncommon)) : (KEY)0),
          shift((uint32_t)(sizeof(ITEM) - sizeof(KEY)) * 8 + ncommon), place_shift(shift - min(shift, nplace_bits)),
          place_mask(shift < nplace_bits ? 0 : (1u << nplace_bits) - 1) {}

    __device__ __forceinline__ ITEM item_of(KEY key, uint32_t place) const {
        return (ITEM)((ITEM)order.image(key) << shift | (ITEM)(place & place_mask) << place_shift);
    }
    __device__ __forceinline__ KEY key_of(ITEM item) const { return order.key_of_image((KEY)((KEY)(item >> shift) | common)); }
    __device__ __forceinline__ uint32_t place_of(ITEM item) const { return (uint32_t)(item >> place_shift) & place_mask; }
};

/* What is to be sorted, and where to. */
template <typename KEY> struct placed_bucket {
    const KEY *keys;
    const char *values; /* NULL: the places themselves are wanted */
    uint32_t n;
    KEY *keys_out;
    char *values_out;
};

/* Writes everything: window by window. s_slots: the items in their bins. */
template <typename SHAPE, typename KEY, typename ITEM>
static __device__ __forceinline__ void put_bucket(const struct sort_job &job, const struct placed_bucket<KEY> &bucket,
                                                  const struct placed_items<KEY, ITEM> &placed, const ITEM *s_slots, const char *s_values,
                                                  struct bucket_slots slots, uint32_t nwindows) {
    KEY *keys_out = bucket.keys_out - slots.first;
    char *values_out = bucket.values_out - (uint64_t)slots.first * job.value_nbytes;
    for (uint32_t window = threadIdx.x / 32; window < nwindows; window += SHAPE::WARPS) {
        ITEM items[WINDOW_LANE_KEYS];
        get_window(items, s_slots, window * WINDOW_STEP);
        sort_window(items);
        if (!job.drop_keys) {
            KEY keys[WINDOW_LANE_KEYS];
#pragma unroll
            for (int i = 0; i < WINDOW_LANE_KEYS; i++) keys[i] = placed.key_of(items[i]);
            put_window(keys_out, slots, window * WINDOW_STEP, keys);
        }
        if (!job.has_values) continue;
        uint32_t places[WINDOW_LANE_KEYS];
#pragma unroll
        for (int i = 0; i < WINDOW_LANE_KEYS; i++) places[i] = placed.place_of(items[i]);
        put_values(job, values_out, slots, window * WINDOW_STEP, places, s_values, bucket.n - 1);
    }
}

/* Copies nbytes to shared memory, by all threads of a CTA, several loads in flight a thread. */
template <int THREADS, typename UNIT>
static __device__ __forceinline__ void stage_units(UNIT *s_values, const UNIT *values, uint32_t nunits) {
    constexpr uint32_t LOADS = 8;
    for (uint32_t first = threadIdx.x; first < nunits; first += LOADS * THREADS) {
        UNIT got[LOADS];
#pragma unroll
        for (uint32_t k = 0; k < LOADS; k++) {
            if (first + k * THREADS < nunits) got[k] = values[first + k * THREADS];
        }
#pragma unroll
        for (uint32_t k = 0; k < LOADS; k++) {
            if (first + k * THREADS < nunits) s_values[first + k * THREADS] = got[k];
        }
    }
}

/* The same, with all under way at once: there after wait_for_copies(). */
template <int THREADS, typename UNIT>
static __device__ __forceinline__ void fetch_units(UNIT *s_values, const UNIT *values, uint32_t nunits) {
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < nunits; i += THREADS) copy_async(s_values + i, values + i);
}

/* unit: divides nbytes and both addresses. */
template <int THREADS>
static __device__ __forceinline__ void fetch_values(char *s_values, const char *values, uint32_t nbytes, uint32_t unit) {
    if (unit >= 8)
        fetch_units<THREADS>((uint64_t *)s_values, (const uint64_t *)values, nbytes / 8);
    else if (unit == 4)
        fetch_units<THREADS>((uint32_t *)s_values, (const uint32_t *)values, nbytes / 4);
    else if (unit == 2)
        stage_units<THREADS>((uint16_t *)s_values, (const uint16_t *)values, nbytes / 2);
    else
        stage_units<THREADS>((uint8_t *)s_values, (const uint8_t *)values, nbytes);
}

/* By all threads of a CTA, each with every SHAPE::THREADS'th key. s_memory: the shape's, then the values. */
template <typename SHAPE, typename KEY, typename ITEM>
static __device__ __forceinline__ void sort_placed(const struct sort_job &job, const struct placed_bucket<KEY> &bucket,
                                                   const struct placed_items<KEY, ITEM> &placed, const KEY (&keys)[SHAPE::ROWS],
                                                   unsigned char *s_memory, uint32_t *s_sums) {
    constexpr int THREADS = SHAPE::THREADS, ROWS = SHAPE::ROWS;
    constexpr uint32_t BIN_SHIFT = sizeof(ITEM) * 8 - SHAPE::BIN_BITS;
    uint32_t *s_bins = (uint32_t *)s_memory;
    ITEM *s_slots = (ITEM *)(s_memory + SHAPE::BINS_NBYTES);
    char *s_values = bucket.values ? (char *)s_memory + SHAPE::SHARED_NBYTES : NULL;
    const uint32_t n = bucket.n;
    if (bucket.values) fetch_values<THREADS>(s_values, bucket.values, n * job.value_nbytes, job.value_unit);
    for (uint32_t i = threadIdx.x; i < SHAPE::BINS / 4; i += THREADS) ((uint4 *)s_bins)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads(); /* zeroes before counts */
    ITEM items[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t place = row * THREADS + threadIdx.x;
        items[row] = placed.item_of(keys[row], place);
        if (place < n) atomicAdd(&s_bins[items[row] >> BIN_SHIFT], 1);
    }
    __syncthreads(); /* all counts */
    const uint32_t deepest = scan_bins<SHAPE::BINS, SHAPE::WARPS>(s_bins, s_sums);
    const bool some_deep = __syncthreads_or(deepest > WINDOW_HALO); /* also: all ends */
    const bool deep = some_deep && __syncthreads_or(deepest > DEEP_FEW_ITEMS);

    /* Slots: a halo, then as many as make out + slot aligned to eight keys or indices, then the items, then what the last window looks at.
     */
    const uint64_t align_place = job.drop_keys ? (uintptr_t)bucket.values_out / job.value_nbytes : (uintptr_t)bucket.keys_out / sizeof(KEY);
    const uint32_t skew = (uint32_t)(align_place % WINDOW_LANE_KEYS), first = WINDOW_HALO + skew;
    const uint32_t nwindows = (skew + n + WINDOW_STEP - 1) / WINDOW_STEP;
    if (!deep) fill_around<THREADS>(s_slots, first, n, nwindows);
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t place = row * THREADS + threadIdx.x;
        if (place >= n) break;
        s_slots[deep ? first + place : slot_at<ITEM>(first + last_place(&s_bins[items[row] >> BIN_SHIFT]))] = items[row];
    }
    wait_for_copies();
    __syncthreads(); /* all items are in their bins, or, if some bin is too deep, in their old order; and all values have been read */
    if (deep) {
        sort_deep_bins<SHAPE>(s_slots, first, n, nwindows, s_memory, s_sums, placed.shift);
    } else if (some_deep) {
        sort_each_deep_bin<SHAPE, false>(s_slots, first, n, s_bins);
        __syncthreads(); /* all deep bins are in order */
    }
    put_bucket<SHAPE>(job, bucket, placed, s_slots, s_values, {first, first + n}, nwindows);
}

#endif
