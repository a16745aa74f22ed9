/* sort_bucket.cuh: the last step of sorting keys alone: a CTA a bucket, by all bits that the items of a bucket do not share
 * (sort_window.cuh).
 *
 * Cost: items read once, keys or indices written once; a bucket may be sorted where it is. */
#ifndef UPSWEEP_CUDA_SORT_BUCKET_CUH
#define UPSWEEP_CUDA_SORT_BUCKET_CUH

#include "sort_window.cuh"

/* Within a bucket the top bits are known; an item is kept without them, shifted up, so that there is room for a rank below. */
template <typename ITEM> struct bucket_items {
    const uint32_t bits; /* of the bucket */
    const ITEM bucket;   /* its number, where it belongs in an item */

    __device__ __forceinline__ ITEM rank_mask() const { return (ITEM)(((ITEM)1 << bits) - 1); }
    __device__ __forceinline__ ITEM item_of(ITEM shifted) const { return (ITEM)(shifted >> bits | bucket); }
};

/* Writes the keys, or the indices, that the window's items stand for. out: of slot 0. */
template <typename T, typename KEY, typename ITEM>
static __device__ __forceinline__ void put_results(void *out, struct bucket_slots slots, uint32_t window_slot,
                                                   const ITEM (&items)[WINDOW_LANE_KEYS], const struct bucket_items<ITEM> &bucket,
                                                   const struct key_order<KEY> &order) {
    T results[WINDOW_LANE_KEYS];
#pragma unroll
    for (int i = 0; i < WINDOW_LANE_KEYS; i++) {
        if constexpr (sizeof(KEY) == sizeof(ITEM))
            results[i] = order.key_of_image(bucket.item_of(items[i]));
        else
            results[i] = (uint32_t)(items[i] >> bucket.bits);
    }
    put_window((T *)out, slots, window_slot, results);
}

/* An item of the bucket, from where the last partition has put it. */
template <typename ITEM> static __device__ __forceinline__ ITEM get_item(const struct split_job &job, const ITEM *src, uint32_t place) {
    if (sizeof(ITEM) == 8 && !src) return (ITEM)((uint64_t)job.high[place] << 32 | job.low[place]);
    return src[place];
}

/* One CTA a bucket. */
template <typename KEY, typename ITEM, typename SHAPE>
__global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::CTAS_PER_SM) split_buckets(const __grid_constant__ struct split_job job) {
    constexpr int THREADS = SHAPE::THREADS, ROWS = SHAPE::ROWS;
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ uint32_t s_sums[32];
    uint32_t *s_bins = (uint32_t *)s_memory;
    ITEM *s_slots = (ITEM *)(s_memory + SHAPE::BINS_NBYTES);
    wait_for_predecessor();
    if (job.header->too_big) return;

    const uint32_t start = job.header->start[blockIdx.x], n = job.header->start[blockIdx.x + 1] - start;
    if (n == 0) return;
    const uint32_t bits = job.coarse_bits + job.fine_bits, bin_shift = sizeof(ITEM) * 8 - SHAPE::BIN_BITS;
    const struct bucket_items<ITEM> bucket = { bits, (ITEM)((ITEM)blockIdx.x << bucket_shift<ITEM>(job)) };
    const ITEM *src = (const ITEM *)(job.coarse_bits ? job.second : job.tmp);
    ITEM items[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t item = row * THREADS + threadIdx.x;
        items[row] = item < n ? get_item(job, src, start + item) : (ITEM)0;
    }
    for (uint32_t i = threadIdx.x; i < SHAPE::BINS / 4; i += THREADS) ((uint4 *)s_bins)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads(); /* zeroes before counts; and all items are in registers, so that the bucket may be overwritten */
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        items[row] <<= bits;
        if (row * THREADS + threadIdx.x < n) items[row] |= atomicAdd(&s_bins[items[row] >> bin_shift], 1) & bucket.rank_mask();
    }
    __syncthreads();                                                                          /* all counts */
    const bool deep = __syncthreads_or(scan_bins<SHAPE::BINS, SHAPE::WARPS>(s_bins, s_sums)); /* also: all starts */

    /* Slots: a halo, then as many as make out + slot aligned to eight items, then the items, then what the last window looks at. */
    const uint32_t out_nbytes = job.index_nbytes ? job.index_nbytes : (uint32_t)sizeof(KEY);
    char *out = (char *)job.out + (uint64_t)start * out_nbytes;
    const uint32_t skew = (uint32_t)((uintptr_t)out / out_nbytes % WINDOW_LANE_KEYS), first = WINDOW_HALO + skew;
    const struct bucket_slots slots = {first, first + n};
    const uint32_t nwindows = (skew + n + WINDOW_STEP - 1) / WINDOW_STEP;
    if (!deep) fill_around<THREADS>(s_slots, first, n, nwindows);
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t rank = (uint32_t)(items[row] & bucket.rank_mask()), item = row * THREADS + threadIdx.x;
        const uint32_t slot = first + (deep ? item : s_bins[items[row] >> bin_shift] + rank);
        if (item < n) s_slots[deep ? slot : slot_at<ITEM>(slot)] = (ITEM)(items[row] - rank);
    }
    __syncthreads(); /* all items are in their bins; or, if some bin is deep, just there */
    if (deep) sort_deep_bins<SHAPE>(s_slots, first, n, nwindows, s_memory, s_sums, bits);

    const struct key_order<KEY> order(job);
    out -= (uint64_t)first * out_nbytes;
    for (uint32_t window = threadIdx.x / 32; window < nwindows; window += SHAPE::WARPS) {
        ITEM sorted[WINDOW_LANE_KEYS];
        get_window(sorted, s_slots, window * WINDOW_STEP);
        sort_window(sorted);
        if (sizeof(KEY) == sizeof(ITEM))
            put_results<KEY>(out, slots, window * WINDOW_STEP, sorted, bucket, order);
        else if (job.index_nbytes == 4)
            put_results<uint32_t>(out, slots, window * WINDOW_STEP, sorted, bucket, order);
        else
            put_results<uint64_t>(out, slots, window * WINDOW_STEP, sorted, bucket, order);
    }
}

#endif
