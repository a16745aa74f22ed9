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
 * __match_any_sync(), give the same masks at a half and a fifth of the speed. Many lanes that meet in one word wait for each
 * other; so the lanes of a digit that was crowded in an earlier row find each other by one ballot, and a warp whose keys all share the
 * digit has nothing to rank.
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

/* The digit that most lanes have in the first row, of three that are asked; *nlanes: how many. A sample, so that keys still on their way
 * from memory need not be waited for. */
static __device__ __forceinline__ uint32_t sample_digit(uint32_t digit, bool valid, uint32_t *nlanes) {
    uint32_t favourite = ~0u;
    *nlanes = 0;
#pragma unroll
    for (int lane = 0; lane < 32; lane += 15) {
        const uint32_t candidate = __shfl_sync(~0u, digit, lane), count = __popc(__ballot_sync(~0u, valid && digit == candidate));
        if (count <= *nlanes) continue;
        *nlanes = count;
        favourite = candidate;
    }
    return favourite;
}

/* Do all keys of a warp have this digit, as they mostly do in nearly sorted input? */
template <int ROWS, typename KEY>
static __device__ __forceinline__ bool all_have_digit(const KEY (&images)[ROWS], struct warp_items items, uint32_t shift, uint32_t mask) {
    const KEY first = (KEY)__shfl_sync(~0u, images[0], 0);
    KEY differs = 0;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (items.has(row)) differs |= images[row] ^ first;
    }
    return !__any_sync(~0u, digit_of(differs, shift, mask) != 0);
}

/* The ranks of a warp's keys if they all have the same digit: their order, after `before` others. */
template <int ROWS> static __device__ __forceinline__ void rank_uniform_warp(struct packed_ranks<ROWS> &ranks, uint32_t before) {
#pragma unroll
    for (int row = 0; row < ROWS; row++) ranks.set(row, before + row * 32 + threadIdx.x % 32);
}

/* Ranks row by row, as above. FAVOURED: the lanes that have the favourite digit find each other by ballot. */
template <bool FAVOURED, int ROWS, typename KEY>
static __device__ __forceinline__ void rank_rows(struct packed_ranks<ROWS> &ranks, const KEY (&images)[ROWS], struct warp_items items,
                                                 struct digit_counter *warp_counters, uint32_t shift, uint32_t mask, uint32_t favourite) {
    uint32_t lower_lanes; /* asked of the hardware, since the compiler would compute it from threadIdx and spill that */
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lower_lanes));
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (row * 32u >= items.n) break;
        const uint32_t digit = digit_of(images[row], shift, mask);
        struct digit_counter *mine = &warp_counters[counter_of(digit)];
        const bool valid = items.has(row), favoured = FAVOURED && valid && digit == favourite;
        const uint32_t favoured_lanes = FAVOURED ? __ballot_sync(~0u, favoured) : 0;
        if (valid && !favoured) atomicOr(&mine->lanes, lower_lanes + 1);
        __syncwarp(); /* all bits of the row before any look at them */
        struct digit_counter seen = *mine;
        __syncwarp(); /* all have looked before one changes it */
        if (favoured) seen.lanes = favoured_lanes;
        const uint32_t lower = __popc(seen.lanes & lower_lanes);
        ranks.set(row, seen.count + lower);
        if (valid && lower == 0) *mine = {0, seen.count + __popc(seen.lanes)};
        __syncwarp(); /* the change before the next row's atomics */
    }
}

/* Ranks each key among the warp's keys of the same digit; the counters end as the warp's histogram. */
template <int ROWS, typename KEY>
static __device__ __forceinline__ void rank_in_warp(struct packed_ranks<ROWS> &ranks, const KEY (&images)[ROWS], struct warp_items items,
                                                    struct digit_counter *warp_counters, uint32_t shift, uint32_t mask) {
    uint32_t nlanes;
    const uint32_t favourite = sample_digit(digit_of(images[0], shift, mask), items.has(0), &nlanes);
    if (nlanes <= SORT_CROWD) {
        rank_rows<false>(ranks, images, items, warp_counters, shift, mask, favourite);
    } else if (nlanes == 32 && all_have_digit(images, items, shift, mask)) {
        rank_uniform_warp(ranks, 0);
        if (threadIdx.x % 32 == 0) warp_counters[counter_of(favourite)].count = items.n;
    } else {
        rank_rows<true>(ranks, images, items, warp_counters, shift, mask, favourite);
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
