/* sort_repeats.cuh: bins deeper than a window can do with (sort_window.cuh): what keys that repeat make.
 *
 * A warp takes such a bin. Equal items cannot be told apart, so it is enough to know how many there are of each: the warp looks for the
 * least item, then for the least above that, and so on, counts each, and writes the bin anew. A bin of many distinct items is sorted by a
 * network if each lane has one at most, and if there are few such bins; else it is given up, mostly at once, as one item a lane tells.
 *
 * Cost: a bin is read once if its items are equal, as most are, else once for each distinct one and once more, and written once; 15 steps
 * of a network. */
#ifndef UPSWEEP_CUDA_SORT_REPEATS_CUH
#define UPSWEEP_CUDA_SORT_REPEATS_CUH

#include "sort_sample.cuh"
#include "sort_window.cuh"

#define REPEATS_MAX_VALUES 8     /* of a bin, */
#define REPEATS_MAX_ITEMS  512   /* unless there is one; */
#define REPEATS_MAX_LOOKED 4096  /* or, if a sample is looked at first, items times values; */
#define REPEATS_MAX_SURE   32768 /* the same where it is known that keys repeat; */
#define REPEATS_SAMPLE_MIN 128   /* it is, of more items */
#define DEEP_FEW_ITEMS     32    /* so many are sorted whatever they are, */
#define DEEP_FEW_BINS      4     /* in so many bins of a warp: if more were, merging the bucket would be quicker */

/* The least value of a warp's, in every lane. */
static __device__ __forceinline__ uint32_t least_of_warp(uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(~0u, value);
#else
    for (uint32_t distance = 16; distance > 0; distance /= 2) value = min(value, __shfl_xor_sync(~0u, value, distance));
    return value;
#endif
}

static __device__ __forceinline__ uint64_t least_of_warp(uint64_t value) {
    const uint32_t high = least_of_warp((uint32_t)(value >> 32));
    return (uint64_t)high << 32 | least_of_warp((uint32_t)(value >> 32) == high ? (uint32_t)value : ~0u);
}

/* A warp looks for its bin's least item that is not less than `from`, and counts it. */
template <typename T>
static __device__ __forceinline__ T find_least(const T *s_slots, uint32_t start, uint32_t n, T from, uint32_t *count) {
    T least = (T) ~(T)0;
    uint32_t mine = 0; /* items that are this lane's least */
    for (uint32_t i = threadIdx.x % 32; i < n; i += 32) {
        const T item = s_slots[slot_at<T>(start + i)];
        if (item < from || item > least) continue;
        mine = item < least ? 1 : mine + 1;
        least = item;
    }
    const T found = least_of_warp(least);
    *count = sum_warp(least == found ? mine : 0);
    return found;
}

/* How many distinct items are there among 32 of a bin's? A warp calls it. */
template <typename T> static __device__ __forceinline__ uint32_t distinct_in_sample(const T *s_slots, uint32_t start, uint32_t n) {
    const uint32_t lane = threadIdx.x % 32;
    const T item = s_slots[slot_at<T>(start + lane * n / 32)];
    return __popc(__ballot_sync(~0u, __ffs((int)__match_any_sync(~0u, item)) - 1 == (int)lane));
}

/* Sorts a bin; false if there are too many distinct items, or more than one and more than so many in all; SAMPLED: so many times the items,
 * and of many a sample is looked at first. A warp calls it. */
template <bool SAMPLED, typename T>
static __device__ __forceinline__ bool sort_repeats(T *s_slots, uint32_t start, uint32_t n, uint32_t most) {
    const uint32_t lane = threadIdx.x % 32;
    T from = 0, my_value = 0;
    uint32_t my_end = 0, before = 0; /* lane i knows value i, and where it ends */
    if (SAMPLED && n > REPEATS_SAMPLE_MIN) {
        const uint32_t nsampled = distinct_in_sample(s_slots, start, n);
        if (nsampled > REPEATS_MAX_VALUES || (nsampled > 1 && nsampled * n > most)) return false;
    }
    for (uint32_t value = 0; before < n; value++) {
        uint32_t count;
        if (value == REPEATS_MAX_VALUES || (SAMPLED ? value > 0 && (value + 1) * n > most : value == 1 && n > most)) return false;
        const T least = find_least(s_slots, start, n, from, &count);
        before += count;
        if (lane == value) my_end = before;
        if (lane == value) my_value = least;
        from = (T)(least + 1);
    }
    if (__shfl_sync(~0u, my_end, 0) == n) return true; /* all are equal */
    __syncwarp();                                      /* all have read the bin */
    uint32_t at = 0;
    for (int value = 0; value < REPEATS_MAX_VALUES; value++) {
        const uint32_t end = __shfl_sync(~0u, my_end, value);
        const T item = __shfl_sync(~0u, my_value, value);
        for (uint32_t i = at + lane; i < end; i += 32) s_slots[slot_at<T>(start + i)] = item;
        at = max(at, end);
    }
    return true;
}

/* Sorts a bin of up to 32 items, one a lane. A warp calls it. */
template <typename T> static __device__ __forceinline__ void sort_few_items(T *s_slots, uint32_t start, uint32_t n) {
    const uint32_t lane = threadIdx.x % 32;
    T items[1] = {lane < n ? s_slots[slot_at<T>(start + lane)] : (T) ~(T)0};
    sort_rows_of_warp(items);
    if (lane < n) s_slots[slot_at<T>(start + lane)] = items[0];
}

/* Sorts the deep bins of this warp's share, of a bucket of n items from slot `first` on; false if some bin is not for this. EQUAL: items
 * may be. SAMPLED, most: of sort_repeats(). Neighbouring bins are of different warps, and so are bins at distances of a power of two, since
 * deep ones may lie so; of a warp's 32 at a time each is in another bank. */
template <typename SHAPE, bool EQUAL, bool SAMPLED = false, typename T>
static __device__ __forceinline__ bool sort_each_deep_bin(T *s_slots, uint32_t first, uint32_t n, const uint32_t *s_bins,
                                                          uint32_t most = REPEATS_MAX_ITEMS) {
    constexpr uint32_t WARPS = SHAPE::WARPS;
    const uint32_t lane_bins = threadIdx.x % 32 * WARPS;
    uint32_t nfew = 0;
#pragma unroll 1
    for (uint32_t step = 0; step < SHAPE::BINS / (32 * WARPS); step++) {
        const uint32_t bin = step * 32 * WARPS + lane_bins + (threadIdx.x / 32 + lane_bins / 32 + step) % WARPS;
        const uint32_t start = s_bins[bin], count = (bin + 1 < SHAPE::BINS ? s_bins[bin + 1] : n) - start;
        uint32_t deep = __ballot_sync(~0u, count > WINDOW_HALO);
        for (; deep; deep &= deep - 1) {
            const int lane = __ffs((int)deep) - 1;
            const uint32_t bin_start = first + __shfl_sync(~0u, start, lane), bin_count = __shfl_sync(~0u, count, lane);
            if (EQUAL && sort_repeats<SAMPLED>(s_slots, bin_start, bin_count, most)) continue;
            if (bin_count > DEEP_FEW_ITEMS || (EQUAL && ++nfew > DEEP_FEW_BINS)) return false;
            sort_few_items(s_slots, bin_start, bin_count);
        }
    }
    return true;
}

/* The same, as a call: kernels that hardly ever run it are slower or quicker for having it among their code. */
template <typename SHAPE, bool EQUAL, bool SAMPLED, typename T>
static __device__ __noinline__ bool call_each_deep_bin(T *s_slots, uint32_t first, uint32_t n, const uint32_t *s_bins, uint32_t most) {
    return sort_each_deep_bin<SHAPE, EQUAL, SAMPLED>(s_slots, first, n, s_bins, most);
}

#endif
