/* sort_rank.cuh: the place of every key in its tile, ordered by one digit: the heart of a stable radix sort.
 *
 * A warp owns consecutive keys and takes them in rows of 32, one a lane, so "before" means: an earlier warp, or an earlier row, or a lower
 * lane. Each warp has a pair of words for each digit in shared memory: `lanes`, a bit for each lane whose key of this row has the digit,
 * and `count`, the keys of earlier rows that have it. A row is then
 *
 *     every lane    lanes[digit] |= 1 << lane        (atomic: lanes with equal digits meet in one word)
 *     every lane    rank = count[digit] + bits of lanes[digit] below my own
 *     lowest lane   count[digit] += bits of lanes[digit];  lanes[digit] = 0
 *
 * Which lane's atomic is served first does not matter: the bits say who is lower, so the ranks are stable by construction. Taking the value
 * that atomicAdd returns as the rank would be quicker still, but relies on an order that nothing promises; eight ballots a key, or
 * __match_any_sync(), give the same masks at a half and a fifth of the speed; but
 * when many lanes meet in one word the atomics wait for each other, and then the ballots win: rows that follow a crowded row use them.
 *
 * Then thread d adds up digit d over the warps, the 256 totals are scanned, and the `count` words become the places in the tile where each
 * warp's keys of each digit start.
 * Source: Adinets and Merrill, Onesweep, 2022, section 4; Ashkiani et al., GPU Multisplit, 2016, for the warp-wide masks. */
#ifndef UPSWEEP_CUDA_SORT_RANK_CUH
#define UPSWEEP_CUDA_SORT_RANK_CUH

#include <stdint.h>

#include "sort_job.cuh"

struct __align__(8) digit_counter {
    uint32_t lanes, count;
};

/* The 32 * ROWS keys of a warp: which of them exist. Item (row, lane) is number row * 32 + lane. */
struct warp_items {
    uint32_t n;
    __device__ __forceinline__ bool has(uint32_t row) const { return row * 32 + threadIdx.x % 32 < n; }
};

/* The warp with this number, of a tile with `count` items of which every warp takes `rows` rows: its items. */
static __device__ __forceinline__ struct warp_items items_of_warp(uint32_t warp, uint32_t rows, uint32_t count) {
    const uint32_t start = warp * 32 * rows;
    return {count <= start ? 0 : min(count - start, 32 * rows)};
}

/* Two 16-bit ranks a word. Indexed by constants only (unrolled loops), so that they stay in registers. */
template <int ROWS> struct packed_ranks {
    uint32_t word[(ROWS + 1) / 2];
    __device__ __forceinline__ void set(int row, uint32_t rank) {
        word[row / 2] = row % 2 ? (word[row / 2] & 0xffff) | rank << 16 : (word[row / 2] & 0xffff0000) | rank;
    }
    __device__ __forceinline__ uint32_t get(int row) const { return row % 2 ? word[row / 2] >> 16 : word[row / 2] & 0xffff; }
};

/* Zeroes the warp's own counters. */
static __device__ __forceinline__ void clear_counters(struct digit_counter *warp_counters) {
    uint4 *words = (uint4 *)warp_counters;
    for (uint32_t i = threadIdx.x % 32; i < SORT_DIGITS / 2; i += 32) words[i] = make_uint4(0, 0, 0, 0);
    __syncwarp(); /* zeroes before the first atomic */
}

/* Where a digit's counter lies: neighbours and multiples of 16 alike are spread over the banks. */
static __device__ __forceinline__ uint32_t counter_of(uint32_t digit) { return digit ^ digit >> 4; }

/* The lanes whose digit is mine, by eight ballots: slower than meeting in a counter, unless many lanes meet. */
static __device__ __forceinline__ uint32_t lanes_by_ballot(uint32_t digit, bool valid) {
    uint32_t lanes = __ballot_sync(~0u, valid);
#pragma unroll
    for (int bit = 0; bit < SORT_DIGIT_BITS; bit++) {
        const bool mine = digit >> bit & 1;
        const uint32_t set = __ballot_sync(~0u, mine);
        lanes &= mine ? set : ~set;
    }
    return lanes;
}

/* Ranks each key among the warp's keys of the same digit; the counters end as the warp's histogram. */
template <int ROWS, typename KEY>
static __device__ __forceinline__ void rank_in_warp(struct packed_ranks<ROWS> &ranks, const KEY (&images)[ROWS], struct warp_items items,
                                                    struct digit_counter *warp_counters, uint32_t shift, uint32_t mask) {
    const uint32_t lane = threadIdx.x % 32, lower_lanes = (1u << lane) - 1;
    bool crowded = false; /* did many lanes meet in the last row? Then they will in this one. */
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (row * 32u >= items.n) break;
        const uint32_t digit = digit_of(images[row], shift, mask);
        struct digit_counter *mine = &warp_counters[counter_of(digit)];
        const bool valid = items.has(row);
        if (valid && !crowded) atomicOr(&mine->lanes, 1u << lane);
        __syncwarp(); /* all bits of the row before any look at them */
        struct digit_counter seen = *mine;
        __syncwarp(); /* all have looked before one changes it */
        if (crowded) seen.lanes = lanes_by_ballot(digit, valid);
        const uint32_t lower = __popc(seen.lanes & lower_lanes), all = __popc(seen.lanes);
        ranks.set(row, seen.count + lower);
        if (valid && lower == 0) *mine = {0, seen.count + all};
        crowded = __any_sync(~0u, all > SORT_CROWD);
        __syncwarp(); /* the change before the next row's atomics */
    }
}

/* Thread d < 256: the tile's keys of digit d. */
template <int WARPS> static __device__ __forceinline__ uint32_t sum_warp_counts(const struct digit_counter *counters, uint32_t digit) {
    uint32_t total = 0;
#pragma unroll
    for (int warp = 0; warp < WARPS; warp++) total += counters[warp * SORT_DIGITS + counter_of(digit)].count;
    return total;
}

/* Thread d < 256: turns the counts of digit d into the places where each warp's keys of it start. */
template <int WARPS>
static __device__ __forceinline__ void store_warp_starts(struct digit_counter *counters, uint32_t digit, uint32_t digit_start) {
#pragma unroll
    for (int warp = 0; warp < WARPS; warp++) {
        uint32_t *count = &counters[warp * SORT_DIGITS + counter_of(digit)].count;
        const uint32_t next = digit_start + *count;
        *count = digit_start;
        digit_start = next;
    }
}

/* Exclusive sum over the values of the first 256 threads, in thread order; all threads of the CTA call it. s_sums [8]. */
template <typename T> static __device__ __forceinline__ T scan_digits(T value, T *s_sums) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    T inclusive = value;
#pragma unroll
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
        const T other = __shfl_up_sync(~0u, inclusive, distance);
        if (lane >= distance) inclusive += other;
    }
    if (lane == 31 && warp < SORT_DIGITS / 32) s_sums[warp] = inclusive;
    __syncthreads(); /* the eight sums before their use */
    T start = inclusive - value;
#pragma unroll
    for (uint32_t w = 0; w < SORT_DIGITS / 32; w++) start += w < warp ? s_sums[w] : 0;
    return start;
}

/* Adds the warp's starts to the ranks: from places among the warp's keys of a digit to places in the tile. */
template <int ROWS, typename KEY>
static __device__ __forceinline__ void rank_in_tile(struct packed_ranks<ROWS> &ranks, const KEY (&images)[ROWS],
                                                    const struct digit_counter *warp_counters, uint32_t shift, uint32_t mask) {
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        ranks.set(row, ranks.get(row) + warp_counters[counter_of(digit_of(images[row], shift, mask))].count);
    }
}

#endif
