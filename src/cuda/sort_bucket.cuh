/* sort_bucket.cuh: the last step of sorting keys alone: a CTA a bucket, by all bits that the items of a bucket do not share
 * (sort_window.cuh).
 *
 * Cost: items read once, keys or indices written once; a bucket may be sorted where it is. */
#ifndef UPSWEEP_CUDA_SORT_BUCKET_CUH
#define UPSWEEP_CUDA_SORT_BUCKET_CUH

#include "sort_window.cuh"

/* Within a bucket the top bits are known; an item is kept without them, shifted up, so that there is room for a rank below. */
template <typename ITEM> struct bucket_items {
    uint32_t bits; /* that all items share, once `least` is taken off */
    ITEM least;    /* the bucket's number, where it belongs in an item; or its least item */

    __device__ __forceinline__ ITEM rank_mask() const { return (ITEM)(((ITEM)1 << bits) - 1); }
    __device__ __forceinline__ ITEM item_of(ITEM shifted) const { return (ITEM)((shifted >> bits) + least); }
};

/* Writes the keys, or the indices, that the window's items stand for. out: of slot 0. */
template <typename T, typename KEY, typename ITEM>
static __device__ __forceinline__ void put_results(void *out, struct bucket_slots slots, uint32_t window_slot,
                                                   const ITEM (&items)[WINDOW_LANE_KEYS], const struct bucket_items<ITEM> &bucket,
                                                   const struct key_order<KEY> &order, uint32_t index_shift) {
    T results[WINDOW_LANE_KEYS];
#pragma unroll
    for (int i = 0; i < WINDOW_LANE_KEYS; i++) {
        if constexpr (sizeof(KEY) == sizeof(ITEM))
            results[i] = order.key_of_image(bucket.item_of(items[i]));
        else
            results[i] = (uint32_t)bucket.item_of(items[i]) >> index_shift;
    }
    put_window((T *)out, slots, window_slot, results);
}

/* An item of the bucket, from where the last partition has put it. */
template <typename ITEM> static __device__ __forceinline__ ITEM get_item(const struct split_job &job, const ITEM *src, uint32_t place) {
    if (sizeof(ITEM) == 8 && !src) return (ITEM)((uint64_t)job.high[place] << 32 | job.low[place]);
    return src[place];
}

/* Is some bin deep, and its items not all equal? All items lie in their bins; a deep bin's, one over the other if the bits have no room for
 * their ranks. Each thread looks at its own. */
template <typename SHAPE, typename ITEM>
static __device__ __forceinline__ bool has_deep_bin(const ITEM (&items)[SHAPE::ROWS], uint32_t n, const ITEM *s_slots, uint32_t first,
                                                    const uint32_t *s_bins, uint32_t bin_shift, ITEM rank_mask) {
    bool deep = false;
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) {
        if (row * SHAPE::THREADS + threadIdx.x >= n) continue;
        const uint32_t bin = (uint32_t)(items[row] >> bin_shift), start = s_bins[bin];
        const uint32_t count = (bin + 1 < SHAPE::BINS ? s_bins[bin + 1] : n) - start;
        if (count <= WINDOW_HALO) continue;
        deep = deep || count - 1 > rank_mask || ((s_slots[slot_at<ITEM>(first + start)] ^ items[row]) & ~rank_mask) != 0;
    }
    return deep;
}

/* Is there a bin of more items than that? Each thread looks at its own. */
template <typename SHAPE, typename ITEM>
static __device__ __forceinline__ bool has_crowded_bin(const ITEM (&items)[SHAPE::ROWS], uint32_t n, const uint32_t *s_bins,
                                                       uint32_t bin_shift, uint32_t most) {
    bool crowded = false;
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) {
        if (row * SHAPE::THREADS + threadIdx.x >= n) continue;
        const uint32_t bin = (uint32_t)(items[row] >> bin_shift);
        crowded = crowded || (bin + 1 < SHAPE::BINS ? s_bins[bin + 1] : n) - s_bins[bin] > most;
    }
    return crowded;
}

/* Takes from each item what all share, shifts it up, and adds its rank in its bin below. */
template <typename SHAPE, typename ITEM>
static __device__ __forceinline__ void count_in_bins(ITEM (&items)[SHAPE::ROWS], uint32_t n, uint32_t *s_bins,
                                                     const struct bucket_items<ITEM> &bucket, uint32_t bin_shift) {
    constexpr int TOGETHER = SHAPE::TOGETHER;
    const ITEM rank_mask = bucket.rank_mask();
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) items[row] = (ITEM)((items[row] - bucket.least) << bucket.bits);
#pragma unroll
    for (int first = 0; first < SHAPE::ROWS; first += TOGETHER) {
        if (TOGETHER > 1 && first + TOGETHER <= SHAPE::ROWS && (first + TOGETHER) * SHAPE::THREADS <= n) { /* all of them exist */
            uint32_t rank[TOGETHER];
#pragma unroll
            for (int i = 0; i < TOGETHER; i++) rank[i] = atomicAdd(&s_bins[items[first + i] >> bin_shift], 1);
#pragma unroll
            for (int i = 0; i < TOGETHER; i++) items[first + i] |= rank[i] & rank_mask;
        } else {
#pragma unroll
            for (int row = first; row < first + TOGETHER && row < SHAPE::ROWS; row++)
                if (row * SHAPE::THREADS + threadIdx.x < n) items[row] |= atomicAdd(&s_bins[items[row] >> bin_shift], 1) & rank_mask;
        }
    }
}

/* Puts each item in its bin, without its rank. */
template <typename SHAPE, typename ITEM>
static __device__ __forceinline__ void put_in_bins(ITEM *s_slots, const ITEM (&items)[SHAPE::ROWS], uint32_t n, uint32_t first_slot,
                                                   const uint32_t *s_bins, uint32_t bin_shift, ITEM rank_mask) {
    constexpr int TOGETHER = SHAPE::TOGETHER;
#pragma unroll
    for (int first = 0; first < SHAPE::ROWS; first += TOGETHER) {
        uint32_t start[TOGETHER];
#pragma unroll
        for (int i = 0; i < TOGETHER && first + i < SHAPE::ROWS; i++) start[i] = first_slot + s_bins[items[first + i] >> bin_shift];
#pragma unroll
        for (int i = 0; i < TOGETHER && first + i < SHAPE::ROWS; i++) {
            const ITEM item = items[first + i];
            const uint32_t rank = (uint32_t)(item & rank_mask);
            if ((first + i) * SHAPE::THREADS + threadIdx.x < n) s_slots[slot_at<ITEM>(start[i] + rank)] = (ITEM)(item - rank);
        }
    }
}

/* A bucket: n items from src, of which all share some top bits; it goes to the same places of the output. */
template <typename ITEM> struct found_bucket {
    const ITEM *src;
    uint32_t start, n, bits;
    bool bounded; /* no item is below `least`, and what is above it leaves so many bits; else they share them */
    ITEM least;
};

/* Of floats: from where to where. An item's top 32 bits are between the bounds, both included. */
template <typename ITEM> static __device__ __forceinline__ void bound_items(struct found_bucket<ITEM> *found, const uint32_t *bounds) {
    constexpr uint32_t BELOW = sizeof(ITEM) * 8 - 32;
    found->bounded = true;
    found->least = (ITEM)bounds[0] << BELOW;
    found->bits = min((uint32_t)__clz((int)(bounds[1] - bounds[0])), (uint32_t)sizeof(ITEM) * 8 - 1);
}

/* Shared memory. */
template <typename ITEM> struct bucket_desk {
    uint32_t sums[32];
    ITEM some_item;
};

/* All threads call it. */
template <typename KEY, typename ITEM, typename SHAPE>
static __device__ __forceinline__ void sort_bucket(const struct split_job &job, const struct found_bucket<ITEM> &found,
                                                   unsigned char *s_memory, struct bucket_desk<ITEM> &s) {
    constexpr int THREADS = SHAPE::THREADS, ROWS = SHAPE::ROWS;
    const uint32_t start = found.start, n = found.n;
    uint32_t *s_bins = (uint32_t *)s_memory;
    ITEM *s_slots = (ITEM *)(s_memory + SHAPE::BINS_NBYTES);
    ITEM items[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t item = row * THREADS + threadIdx.x;
        items[row] = item < n ? get_item(job, found.src, start + item) : (ITEM)0;
    }
    if (threadIdx.x == 0) s.some_item = items[0];
    for (uint32_t i = threadIdx.x; i < SHAPE::BINS / 4; i += THREADS) ((uint4 *)s_bins)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads(); /* zeroes before counts; and all items are in registers, so that the bucket may be overwritten */
    const struct bucket_items<ITEM> bucket = {
        found.bits, found.bounded ? found.least : (ITEM)(s.some_item & ~((ITEM) ~(ITEM)0 >> found.bits))
    };
    const uint32_t bin_shift = max((uint32_t)sizeof(ITEM) * 8 - SHAPE::BIN_BITS, bucket.bits);
    count_in_bins<SHAPE>(items, n, s_bins, bucket, bin_shift);
    __syncthreads();                                                                    /* all counts */
    bool deep = __syncthreads_or(scan_bins<SHAPE::BINS, SHAPE::WARPS>(s_bins, s.sums)); /* also: all starts */

    /* Slots: a halo, then as many as make out + slot aligned to eight items, then the items, then what the last window looks at. */
    const uint32_t out_nbytes = job.index_nbytes ? job.index_nbytes : (uint32_t)sizeof(KEY);
    char *out = (char *)job.out + (uint64_t)start * out_nbytes;
    const uint32_t skew = (uint32_t)((uintptr_t)out / out_nbytes % WINDOW_LANE_KEYS), first = WINDOW_HALO + skew;
    const struct bucket_slots slots = {first, first + n};
    const uint32_t nwindows = (skew + n + WINDOW_STEP - 1) / WINDOW_STEP;
    fill_around<THREADS>(s_slots, first, n, nwindows);
    put_in_bins<SHAPE>(s_slots, items, n, first, s_bins, bin_shift, bucket.rank_mask());
    __syncthreads();                            /* all items are in their bins */
    if (bin_shift == bucket.bits) deep = false; /* all items of a bin are equal */
    if (deep) deep = __syncthreads_or(has_deep_bin<SHAPE>(items, n, s_slots, first, s_bins, bin_shift, bucket.rank_mask()));
    if (bucket.rank_mask() < WINDOW_HALO - 1) { /* no room for ranks: items may have overwritten each other */
        deep = __syncthreads_or(has_crowded_bin<SHAPE>(items, n, s_bins, bin_shift, (uint32_t)bucket.rank_mask() + 1));
    }
    if (deep) {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const uint32_t item = row * THREADS + threadIdx.x;
            if (item < n) s_slots[first + item] = (ITEM)(items[row] & ~bucket.rank_mask());
        }
        __syncthreads(); /* all items are one after the other */
        sort_deep_bins<SHAPE>(s_slots, first, n, nwindows, s_memory, s.sums, bucket.bits);
    }

    const struct key_order<KEY> order(job);
    out -= (uint64_t)first * out_nbytes;
    for (uint32_t window = threadIdx.x / 32; window < nwindows; window += SHAPE::WARPS) {
        ITEM sorted[WINDOW_LANE_KEYS];
        get_window(sorted, s_slots, window * WINDOW_STEP);
        sort_window(sorted);
        if (sizeof(KEY) == sizeof(ITEM))
            put_results<KEY>(out, slots, window * WINDOW_STEP, sorted, bucket, order, 0);
        else if (job.index_nbytes == 4)
            put_results<uint32_t>(out, slots, window * WINDOW_STEP, sorted, bucket, order, job.index_shift);
        else
            put_results<uint64_t>(out, slots, window * WINDOW_STEP, sorted, bucket, order, job.index_shift);
    }
}

/* One CTA a bucket of the split; or, if some were too big, all buckets that are on the list. */
template <typename KEY, typename ITEM, typename SHAPE>
__global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::CTAS_PER_SM) split_buckets(const __grid_constant__ struct split_job job) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct bucket_desk<ITEM> s_desk;
    wait_for_predecessor();
    const bool listed = job.header->too_big != ALL_FIT;
    const uint32_t nlisted = job.header->deep.nbuckets, nbuckets = listed ? nlisted : gridDim.x;
    for (uint32_t number = blockIdx.x; number < nbuckets; number += gridDim.x) {
        struct found_bucket<ITEM> found = {
            (const ITEM *)(job.coarse_bits ? job.second : job.tmp), 0, 0, job.coarse_bits + job.fine_bits, false, 0
        };
        if (listed) {
            const struct deep_bucket bucket = job.deep.buckets[number];
            found = {(const ITEM *)(bucket.place == BUFFER_OUT ? job.out : job.tmp), bucket.start, bucket.n, bucket.depth, false, 0};
        } else {
            found.start = job.header->start[number];
            found.n = job.header->start[number + 1] - found.start;
            if (job.cell_keys) bound_items(&found, job.header->cells.bound + number);
        }
        if (found.n > 0) sort_bucket<KEY, ITEM, SHAPE>(job, found, s_memory, s_desk);
        if (!listed) return;
        __syncthreads(); /* nobody needs the shared memory any more */
    }
}

#endif
