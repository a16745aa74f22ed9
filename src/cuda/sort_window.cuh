/* sort_window.cuh: sorts what lies in the shared memory of one CTA by all of its bits nearly in one go: the last step of both splits.
 *
 *     count items in bins by their top 10 to 13 bits        about two items a bin, if those bits are well spread
 *     scan, scatter by bin                                  every item is now within a bin, some places, of where it belongs
 *     odd-even exchanges in registers until in order        few rounds, because few places
 *
 * For the last step a warp takes a window of 256 items, 8 a lane, and writes only the middle 224: no bin has more than 16 items, so 16 on
 * each side are enough to know what belongs in the middle, and windows need not wait for each other.
 *
 *     window c       ................oooooooooooooooooooooooooooo................
 *     window c + 1                               ................oooooooooooooooooooooooooooo................
 *
 * Deeper bins (items that share their top bits) would break that. They are put in order one by one, if few or of few values
 * (sort_repeats.cuh); else the CTA sorts by stable passes of eight bits (sort_cta.cuh), or by merging (sort_merge.cuh). */
#ifndef UPSWEEP_CUDA_SORT_WINDOW_CUH
#define UPSWEEP_CUDA_SORT_WINDOW_CUH

#include "sort_cta.cuh"
#include "sort_split.cuh"

/* ---- shape ------------------------------------------------------------------------------------------------------------------- */

#define WINDOW_LANE_KEYS 8
#define WINDOW_KEYS      (32 * WINDOW_LANE_KEYS)
#define WINDOW_HALO      16 /* on each side; no bin may be deeper */
#define WINDOW_STEP      (WINDOW_KEYS - 2 * WINDOW_HALO)

/* CTAs a multiprocessor: as registers allow, if it is not said. TOGETHER: rows whose accesses to bins are under way together; what is done
 * to the items that exist is a branch, and the compiler lets each row's branch wait for the answer to the row before. */
template <typename KEY, int THREADS_, int ROWS_, int BIN_BITS_, int CTAS_ = (sizeof(KEY) == 8 ? 512 : 1024) / THREADS_, int TOGETHER_ = 1>
struct bucket_shape {
    static constexpr int THREADS = THREADS_, ROWS = ROWS_, BIN_BITS = BIN_BITS_, CTAS_PER_SM = CTAS_, WARPS = THREADS / 32;
    static constexpr int TOGETHER = TOGETHER_;
    static constexpr uint32_t ITEMS = THREADS * ROWS, BINS = 1 << BIN_BITS;
    /* Bins, then the items, with room around them for windows; or the counters of a stable pass. */
    static constexpr uint32_t BINS_NBYTES = BINS * 4;
    static constexpr uint32_t SLOTS_NBYTES = (ITEMS + WINDOW_KEYS + WINDOW_HALO + WINDOW_LANE_KEYS) * sizeof(KEY);
    static constexpr uint32_t COUNTERS_NBYTES = THREADS / SORT_TEAM * TEAM_WORDS * sizeof(uint32_t);
    static constexpr uint32_t SHARED_NBYTES = BINS_NBYTES + SLOTS_NBYTES > COUNTERS_NBYTES ? BINS_NBYTES + SLOTS_NBYTES : COUNTERS_NBYTES;
    /* Stable passes alone: counters, then the items; or merging, with an item more. */
    static constexpr uint32_t MERGED_NBYTES = (ITEMS + 1) * sizeof(KEY);
    static constexpr uint32_t STABLE_NBYTES = MERGED_NBYTES > COUNTERS_NBYTES ? MERGED_NBYTES : COUNTERS_NBYTES;
    static constexpr int STABLE_CTAS_PER_SM = ROWS > 18 || THREADS > 512 ? 1 : 1024 / THREADS;
};

/* ---- bins -------------------------------------------------------------------------------------------------------------------- */

/* Turns counts into ends; each warp owns a stretch of BINS / WARPS. Returns how many items the deepest of this thread's bins has. */
template <int BINS, int WARPS> static __device__ __forceinline__ uint32_t scan_bins(uint32_t *s_bins, uint32_t *s_sums) {
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
        uint4 ends;
        ends.w = before + inclusive[step];
        ends.z = ends.w - counts[step].w;
        ends.y = ends.z - counts[step].z;
        ends.x = ends.y - counts[step].y;
        bins[step * 32] = ends;
    }
    return largest;
}

/* The last place that is left in a bin, of which this is the end of what is left. */
static __device__ __forceinline__ uint32_t last_place(uint32_t *s_end) { return atomicSub(s_end, 1) - 1; }

/* ---- windows ----------------------------------------------------------------------------------------------------------------- */

template <typename KEY> static __device__ __forceinline__ void exchange(KEY &low, KEY &high) {
    const KEY smaller = min(low, high), larger = max(low, high);
    low = smaller;
    high = larger;
}

/* Sorts the warp's 256 items, eight consecutive ones a lane, by odd-even exchanges: one round for every two places that some item is away
 * from its own. Bins of two items on average make that three or four rounds, so the first are not followed by a look whether they were
 * enough. */
template <typename T> static __device__ __forceinline__ void sort_window(T (&items)[WINDOW_LANE_KEYS]) {
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll 1
    for (int round = 1;; round++) {
#pragma unroll
        for (int i = 0; i < 8; i += 2) exchange(items[i], items[i + 1]);
        const T next = __shfl_down_sync(~0u, items[0], 1), last = __shfl_up_sync(~0u, items[7], 1);
#pragma unroll
        for (int i = 1; i < 7; i += 2) exchange(items[i], items[i + 1]);
        if (lane < 31) items[7] = min(items[7], next);
        if (lane > 0) items[0] = max(items[0], last);
        if (round < WINDOW_BLIND_ROUNDS) continue;
        const T after = __shfl_down_sync(~0u, items[0], 1);
        bool ordered = lane == 31 || items[7] <= after;
#pragma unroll
        for (int i = 0; i < 7; i++) ordered = ordered && items[i] <= items[i + 1];
        if (__all_sync(~0u, ordered)) return;
    }
}

template <typename T> union vector_piece {
    uint4 word;
    T item[16 / sizeof(T)];
};

/* Where slot i lies in shared memory. Lanes that read eight items each, 16 bytes at a time, would all meet in a few banks; so pieces of 16
 * bytes are swapped with their neighbours, in another way in each line of 128 bytes. */
template <typename T> static __device__ __forceinline__ uint32_t slot_at(uint32_t i) { return i ^ (i >> 3 & (sizeof(T) == 8 ? 6 : 4)); }

/* The window's items, eight consecutive ones a lane. */
template <typename T>
static __device__ __forceinline__ void get_window(T (&items)[WINDOW_LANE_KEYS], const T *s_slots, uint32_t window_slot) {
    const uint32_t slot = window_slot + threadIdx.x % 32 * WINDOW_LANE_KEYS;
#pragma unroll
    for (uint32_t i = 0; i < WINDOW_LANE_KEYS * sizeof(T) / 16; i++) {
        vector_piece<T> piece;
        piece.word = *(const uint4 *)&s_slots[slot_at<T>(slot + i * (16 / sizeof(T)))];
#pragma unroll
        for (uint32_t k = 0; k < 16 / sizeof(T); k++) items[i * (16 / sizeof(T)) + k] = piece.item[k];
    }
}

/* ---- writing ----------------------------------------------------------------------------------------------------------------- */

/* Where a bucket lies in the output. Slot i of a window's memory is slot i of the output; [first, end) of them belong to the bucket. */
struct bucket_slots {
    uint32_t first, end;
};

/* Writes 16 bytes, whole if all of them belong to the bucket. */
template <typename T>
static __device__ __forceinline__ void put_piece(T *out, struct bucket_slots slots, uint32_t slot, vector_piece<T> piece) {
    constexpr uint32_t N = 16 / sizeof(T);
    if (slot >= slots.first && slot + N <= slots.end) {
        *(uint4 *)(out + slot) = piece.word;
        return;
    }
#pragma unroll
    for (uint32_t i = 0; i < N; i++) {
        if (slot + i >= slots.first && slot + i < slots.end) out[slot + i] = piece.item[i];
    }
}

/* Writes the window's middle. Neighbouring lanes first swap half of their pieces, so that each store fills whole 32-byte sectors.
 * out: of slot 0, aligned to eight items. */
template <typename T>
static __device__ __forceinline__ void put_window(T *out, struct bucket_slots slots, uint32_t window_slot,
                                                  const T (&items)[WINDOW_LANE_KEYS]) {
    constexpr int N = 16 / sizeof(T), PIECES = WINDOW_LANE_KEYS / N;
    const uint32_t lane = threadIdx.x % 32, odd = lane % 2;
    if constexpr (PIECES == 1) {
        vector_piece<T> piece;
#pragma unroll
        for (int i = 0; i < N; i++) piece.item[i] = items[i];
        if (lane >= WINDOW_HALO / WINDOW_LANE_KEYS && lane < 32 - WINDOW_HALO / WINDOW_LANE_KEYS)
            put_piece(out, slots, window_slot + lane * WINDOW_LANE_KEYS, piece);
        return;
    }
    const uint32_t pair_slot = window_slot + (lane - odd) * WINDOW_LANE_KEYS;
    const bool middle = lane >= WINDOW_HALO / WINDOW_LANE_KEYS && lane < 32 - WINDOW_HALO / WINDOW_LANE_KEYS;
#pragma unroll
    for (int q = 0; q < PIECES / 2; q++) {
        vector_piece<T> mine, got; /* the even lane keeps pieces 0, 2, .. of its own and gets those of the odd lane, and so on */
#pragma unroll
        for (int i = 0; i < N; i++) {
            const T even_piece = items[2 * q * N + i], odd_piece = items[(2 * q + 1) * N + i];
            mine.item[i] = odd ? odd_piece : even_piece;
            got.item[i] = __shfl_xor_sync(~0u, odd ? even_piece : odd_piece, 1);
        }
        if (!middle) continue;
        const uint32_t slot = pair_slot + (2 * q + odd) * N; /* in the even lane's items */
        put_piece(out, slots, slot, odd ? got : mine);
        put_piece(out, slots, slot + WINDOW_LANE_KEYS, odd ? mine : got);
    }
}

/* ---- deep bins --------------------------------------------------------------------------------------------------------------- */

/* Fills what windows look at around the items, which are in [first, first + n): it sorts before and after them. */
template <int THREADS, typename T>
static __device__ __forceinline__ void fill_around(T *s_slots, uint32_t first, uint32_t n, uint32_t nwindows) {
    for (uint32_t i = threadIdx.x; i < first; i += THREADS) s_slots[slot_at<T>(i)] = 0;
    for (uint32_t i = first + n + threadIdx.x; i < nwindows * WINDOW_STEP + 2 * WINDOW_HALO; i += THREADS)
        s_slots[slot_at<T>(i)] = (T) ~(T)0;
}

/* The slow way, whatever the items: stable passes over all bits from lo_bit up. In: s_slots [first .. first + n), one after the
 * other; out: s_slots, each where slot_at() says. s_memory: the shape's. */
template <typename SHAPE, typename T>
static __device__ __noinline__ void sort_deep_bins(T *s_slots, uint32_t first, uint32_t n, uint32_t nwindows, unsigned char *s_memory,
                                                   uint32_t *s_sums, uint32_t lo_bit) {
    T *s_items = s_slots + first;
    const struct cta_memory<T> memory = { (uint32_t *)s_memory, s_sums, s_items };
    const uint32_t rows = (n + SHAPE::THREADS - 1) / SHAPE::THREADS, start = first_of_thread(rows);
    const struct team_items<false> items = items_of_team<false>(rows, n);
    T images[SHAPE::ROWS];
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) images[row] = items.has(row) ? s_items[start + row * SORT_TEAM] : (T)0;
    T varying = 0;
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) varying |= items.has(row) ? images[row] ^ s_items[0] : (T)0;
    __syncthreads(); /* all items are in registers before counters take their room */
    for (uint32_t shift = lo_bit; shift < sizeof(T) * 8; shift += SORT_DIGIT_BITS) {
        if (!__syncthreads_or(digit_of(varying, shift, SORT_DIGITS - 1) != 0)) continue;
        reorder_by_digit<SHAPE::THREADS / SORT_TEAM>(images, items, start, n, memory, shift, SORT_DIGITS - 1);
    }
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) {
        if (items.has(row)) s_slots[slot_at<T>(first + start + row * SORT_TEAM)] = images[row];
    }
    fill_around<SHAPE::THREADS>(s_slots, first, n, nwindows);
    __syncthreads(); /* all is in its place */
}

#endif
