/* sort_bucket.cuh: sorts every bucket of a split in shared memory, by all bits that the keys of a bucket do not share, nearly in one go.
 *
 *     count keys in bins by the next 11 to 13 bits          about two keys a bin, if those bits are well spread
 *     scan, scatter by bin                                  every key is now within a bin, some places, of where it belongs
 *     odd-even exchanges in registers until in order        few rounds, because few places
 *
 * For the last step a warp takes a window of 256 keys, 8 a lane, and writes only the middle 224: no bin has more than 16 keys, so 16 on
 * each side are enough to know what belongs in the middle, and windows need not wait for each other.
 *
 *     window c       ................oooooooooooooooooooooooooooo................
 *     window c + 1                               ................oooooooooooooooooooooooooooo................
 *
 * Deeper bins (keys that share their middle bits) would break that: such a bucket is sorted by stable passes of eight bits (sort_cta.cuh).
 * Cost: keys read once and written once; a bucket may be sorted where it is. */
#ifndef UPSWEEP_CUDA_SORT_BUCKET_CUH
#define UPSWEEP_CUDA_SORT_BUCKET_CUH

#include "sort_cta.cuh"
#include "sort_split.cuh"

/* ---- shape ------------------------------------------------------------------------------------------------------------------- */

#define WINDOW_LANE_KEYS 8
#define WINDOW_KEYS      (32 * WINDOW_LANE_KEYS)
#define WINDOW_HALO      16 /* on each side; no bin may be deeper */
#define WINDOW_STEP      (WINDOW_KEYS - 2 * WINDOW_HALO)

template <typename KEY, int THREADS_, int ROWS_, int BIN_BITS_> struct bucket_shape {
    static constexpr int THREADS = THREADS_, ROWS = ROWS_, BIN_BITS = BIN_BITS_, WARPS = THREADS / 32;
    static constexpr uint32_t ITEMS = THREADS * ROWS, BINS = 1 << BIN_BITS;
    static constexpr int CTAS_PER_SM = (sizeof(KEY) == 8 ? 512 : 1024) / THREADS; /* by registers */
    /* Bins, or the counters of a stable pass; then the keys, with room around them for windows. */
    static constexpr uint32_t COUNTERS_NBYTES = WARPS * SORT_DIGITS * sizeof(struct digit_counter);
    static constexpr uint32_t BINS_NBYTES = BINS * 4 > COUNTERS_NBYTES ? BINS * 4 : COUNTERS_NBYTES;
    static constexpr uint32_t SHARED_NBYTES = BINS_NBYTES + (ITEMS + WINDOW_KEYS + WINDOW_HALO + WINDOW_LANE_KEYS) * sizeof(KEY);
};

/* ---- bins -------------------------------------------------------------------------------------------------------------------- */

/* Turns counts into starts; each warp owns a stretch of BINS / WARPS. Returns whether one of this thread's bins is too deep. */
template <int BINS, int WARPS> static __device__ __forceinline__ bool scan_bins(uint32_t *s_bins, uint32_t *s_sums) {
    constexpr int STEPS = BINS / WARPS / 128; /* of four bins a lane */
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint4 *bins = (uint4 *)s_bins + warp * STEPS * 32 + lane, counts[STEPS];
    uint32_t inclusive[STEPS], largest = 0, warp_sum = 0;
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
        counts[step] = bins[step * 32];
        largest = max(largest, max4(counts[step]));
        inclusive[step] = sum4(counts[step]);
    }
#pragma unroll
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
            const uint32_t other = __shfl_up_sync(~0u, inclusive[step], distance);
            if (lane >= distance) inclusive[step] += other;
        }
    }
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
        const uint32_t step_sum = __shfl_sync(~0u, inclusive[step], 31);
        inclusive[step] += warp_sum;
        warp_sum += step_sum;
    }
    const uint32_t before = __shfl_sync(~0u, scan_threads(lane == 0 ? warp_sum : 0, s_sums), 0);
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
        uint4 starts;
        starts.x = before + inclusive[step] - sum4(counts[step]);
        starts.y = starts.x + counts[step].x;
        starts.z = starts.y + counts[step].y;
        starts.w = starts.z + counts[step].z;
        bins[step * 32] = starts;
    }
    return largest > WINDOW_HALO;
}

/* ---- windows ----------------------------------------------------------------------------------------------------------------- */

template <typename KEY> static __device__ __forceinline__ void exchange(KEY &low, KEY &high) {
    const KEY smaller = min(low, high), larger = max(low, high);
    low = smaller;
    high = larger;
}

/* Sorts the warp's 256 keys, eight consecutive ones a lane, by odd-even exchanges: one round a place that some key is away from its own. */
template <typename KEY> static __device__ __forceinline__ void sort_window(KEY (&keys)[WINDOW_LANE_KEYS]) {
    const uint32_t lane = threadIdx.x % 32;
    bool ordered;
    do {
#pragma unroll
        for (int i = 0; i < 8; i += 2) exchange(keys[i], keys[i + 1]);
        const KEY next = __shfl_down_sync(~0u, keys[0], 1), last = __shfl_up_sync(~0u, keys[7], 1);
#pragma unroll
        for (int i = 1; i < 7; i += 2) exchange(keys[i], keys[i + 1]);
        if (lane < 31) keys[7] = min(keys[7], next);
        if (lane > 0) keys[0] = max(keys[0], last);
        const KEY after = __shfl_down_sync(~0u, keys[0], 1);
        ordered = lane == 31 || keys[7] <= after;
#pragma unroll
        for (int i = 0; i < 7; i++) ordered = ordered && keys[i] <= keys[i + 1];
    } while (!__all_sync(~0u, ordered));
}

/* Within a bucket the top bits are known; a key is kept as its image without them, shifted up, so that there is room for a rank below. */
template <typename KEY> struct bucket_keys {
    const struct key_order<KEY> order;
    const uint32_t bits; /* of the bucket */
    const KEY bucket;    /* its number, where it belongs in an image */

    __device__ __forceinline__ KEY rank_mask() const { return (KEY)(((KEY)1 << bits) - 1); }
    __device__ __forceinline__ KEY key_of(KEY shifted) const { return order.key_of_image((KEY)(shifted >> bits | bucket)); }
};

/* Where a bucket lies in the output. Slot i of a window's memory is out[i]; [first, end) of it are keys. */
template <typename KEY> struct bucket_slots {
    KEY *out;
    uint32_t first, end;
};

template <typename KEY> union key_piece {
    uint4 word;
    KEY key[16 / sizeof(KEY)];
};

/* Writes 16 bytes, whole if they are all keys. */
template <typename KEY>
static __device__ __forceinline__ void put_piece(const struct bucket_slots<KEY> &slots, uint32_t slot, key_piece<KEY> piece,
                                                 const struct bucket_keys<KEY> &bucket) {
    constexpr uint32_t N = 16 / sizeof(KEY);
#pragma unroll
    for (uint32_t i = 0; i < N; i++) piece.key[i] = bucket.key_of(piece.key[i]);
    if (slot >= slots.first && slot + N <= slots.end) {
        *(uint4 *)(slots.out + slot) = piece.word;
        return;
    }
#pragma unroll
    for (uint32_t i = 0; i < N; i++) {
        if (slot + i >= slots.first && slot + i < slots.end) slots.out[slot + i] = piece.key[i];
    }
}

/* Writes the window's middle. Neighbouring lanes first swap half of their pieces, so that each store fills whole 32-byte sectors. */
template <typename KEY>
static __device__ __forceinline__ void put_window(const struct bucket_slots<KEY> &slots, uint32_t window_slot,
                                                  const KEY (&keys)[WINDOW_LANE_KEYS], const struct bucket_keys<KEY> &bucket) {
    constexpr int N = 16 / sizeof(KEY), PIECES = WINDOW_LANE_KEYS / N;
    const uint32_t lane = threadIdx.x % 32, odd = lane % 2;
    const uint32_t pair_slot = window_slot + (lane - odd) * WINDOW_LANE_KEYS;
    const bool middle = lane >= WINDOW_HALO / WINDOW_LANE_KEYS && lane < 32 - WINDOW_HALO / WINDOW_LANE_KEYS;
#pragma unroll
    for (int q = 0; q < PIECES / 2; q++) {
        key_piece<KEY> mine, got; /* the even lane keeps pieces 0, 2, .. of its own and gets those of the odd lane, and so on */
#pragma unroll
        for (int i = 0; i < N; i++) {
            const KEY even_piece = keys[2 * q * N + i], odd_piece = keys[(2 * q + 1) * N + i];
            mine.key[i] = odd ? odd_piece : even_piece;
            got.key[i] = __shfl_xor_sync(~0u, odd ? even_piece : odd_piece, 1);
        }
        if (!middle) continue;
        const uint32_t slot = pair_slot + (2 * q + odd) * N; /* in the even lane's keys */
        put_piece(slots, slot, odd ? got : mine, bucket);
        put_piece(slots, slot + WINDOW_LANE_KEYS, odd ? mine : got, bucket);
    }
}

/* ---- a bucket ---------------------------------------------------------------------------------------------------------------- */

/* The slow way, whatever the keys: stable passes over all bits from lo_bit up. In and out: s_keys [n]. */
template <typename SHAPE, typename KEY>
static __device__ __noinline__ void sort_by_passes(KEY *s_keys, struct digit_counter *counters, uint32_t *s_sums, uint32_t n,
                                                   uint32_t lo_bit) {
    const struct cta_memory<KEY> memory = { counters, s_sums, s_keys, NULL };
    const uint32_t warp = threadIdx.x / 32, rows = (n + SHAPE::THREADS - 1) / SHAPE::THREADS, start = warp * 32 * rows + threadIdx.x % 32;
    const struct warp_items items = items_of_warp(warp, rows, n);
    KEY images[SHAPE::ROWS];
    struct packed_ranks<SHAPE::ROWS> no_places = {};
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) images[row] = items.has(row) ? s_keys[start + row * 32] : (KEY)0;
    __syncthreads(); /* all keys are in registers before the first exchange */
    for (uint32_t shift = lo_bit; shift < sizeof(KEY) * 8; shift += SORT_DIGIT_BITS) {
        reorder_by_digit<SHAPE::WARPS>(images, no_places, items, start, n, memory, shift, SORT_DIGITS - 1);
    }
}

/* One CTA a bucket. Reads from tmp after one partition, from out after two. */
template <typename KEY, typename SHAPE>
__global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::CTAS_PER_SM) split_buckets(const __grid_constant__ struct split_job job) {
    constexpr int THREADS = SHAPE::THREADS, ROWS = SHAPE::ROWS;
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ uint32_t s_sums[32];
    uint32_t *s_bins = (uint32_t *)s_memory;
    KEY *s_slots = (KEY *)(s_memory + SHAPE::BINS_NBYTES);
    wait_for_predecessor();
    if (job.header->too_big) return;

    const uint32_t start = job.header->start[blockIdx.x], n = job.header->start[blockIdx.x + 1] - start;
    if (n == 0) return;
    const uint32_t bits = job.coarse_bits + job.fine_bits, bin_shift = sizeof(KEY) * 8 - SHAPE::BIN_BITS;
    const struct bucket_keys<KEY> bucket = { key_order<KEY>(job), bits, (KEY)((KEY)blockIdx.x << bucket_shift<KEY>(job)) };
    const KEY *src = (const KEY *)(job.coarse_bits ? job.out : job.tmp) + start + threadIdx.x;
    KEY images[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++) images[row] = row * THREADS + threadIdx.x < n ? src[row * THREADS] : (KEY)0;
    for (uint32_t i = threadIdx.x; i < SHAPE::BINS / 4; i += THREADS) ((uint4 *)s_bins)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads(); /* zeroes before counts; and all keys are in registers, so that the bucket may be overwritten */
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        images[row] <<= bits;
        if (row * THREADS + threadIdx.x < n) images[row] |= atomicAdd(&s_bins[images[row] >> bin_shift], 1) & bucket.rank_mask();
    }
    __syncthreads();                                                                          /* all counts */
    const bool deep = __syncthreads_or(scan_bins<SHAPE::BINS, SHAPE::WARPS>(s_bins, s_sums)); /* also: all starts */

    /* Slots: a halo, then as many as make out + slot aligned to eight keys, then the keys, then what the last window looks at. */
    KEY *out = (KEY *)job.out + start;
    const uint32_t skew = (uint32_t)((uintptr_t)out / sizeof(KEY) % WINDOW_LANE_KEYS);
    const struct bucket_slots<KEY> slots = { out - skew - WINDOW_HALO, WINDOW_HALO + skew, WINDOW_HALO + skew + n };
    const uint32_t nwindows = (skew + n + WINDOW_STEP - 1) / WINDOW_STEP;
    for (uint32_t i = threadIdx.x; i < slots.first; i += THREADS) s_slots[i] = 0;
    for (uint32_t i = slots.end + threadIdx.x; i < nwindows * WINDOW_STEP + 2 * WINDOW_HALO; i += THREADS) s_slots[i] = (KEY) ~(KEY)0;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t rank = (uint32_t)(images[row] & bucket.rank_mask()), item = row * THREADS + threadIdx.x;
        const uint32_t place = deep ? item : s_bins[images[row] >> bin_shift] + rank;
        if (item < n) s_slots[slots.first + place] = (KEY)(images[row] - rank);
    }
    __syncthreads(); /* all keys are in their bins; or, if some bin is deep, just there */
    if (deep) sort_by_passes<SHAPE>(s_slots + slots.first, (struct digit_counter *)s_memory, s_sums, n, bits);

    for (uint32_t window = threadIdx.x / 32; window < nwindows; window += SHAPE::WARPS) {
        KEY keys[WINDOW_LANE_KEYS];
        const uint4 *words = (const uint4 *)(s_slots + window * WINDOW_STEP) + threadIdx.x % 32 * (WINDOW_LANE_KEYS * sizeof(KEY) / 16);
#pragma unroll
        for (uint32_t i = 0; i < WINDOW_LANE_KEYS * sizeof(KEY) / 16; i++) {
            key_piece<KEY> piece;
            piece.word = words[i];
#pragma unroll
            for (uint32_t k = 0; k < 16 / sizeof(KEY); k++) keys[i * (16 / sizeof(KEY)) + k] = piece.key[k];
        }
        sort_window(keys);
        put_window(slots, window * WINDOW_STEP, keys, bucket);
    }
}

#endif
