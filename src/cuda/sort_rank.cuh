/* sort_rank.cuh: the place of every key in its tile, ordered by one digit: the heart of a stable radix sort.
 *
 * A team of 16 lanes, half a warp, owns consecutive keys and takes them in rows of 16, one a lane, so "before" means: an earlier team, or
 * an earlier row, or a lower lane. Each team has a word for each digit in shared memory: in its high half `count`, the keys of this row and
 * of earlier ones that have the digit; in its low half `lanes`, a bit for each lane whose key of this row has it. A row is then
 *
 *     every lane     word[digit] += 1 << 16 | 1 << lane        (atomic: lanes with equal digits meet in one word)
 *     every lane     rank = count - bits of lanes from my own up
 *     highest lane   lanes = 0
 *
 * Which lane's atomic is served first does not matter: the bits say who is lower, so the ranks are stable by construction. What this costs
 * is shared memory's time. So a team is half a warp: a word that holds all of it is read and written in half the time of a pair of words.
 * Taking the value that atomicAdd returns as the rank would need neither reading nor writing, but relies on an order that nothing promises,
 * and checking it costs more than it saves; eight ballots a key, or __match_any_sync(), are slower. Many lanes that meet in one word wait
 * for each other; so the lanes of a digit that was crowded in an earlier row find each other by one ballot, and a warp whose keys all share
 * the digit has nothing to rank.
 *
 * Then thread d adds up digit d over the teams, the 256 totals are scanned, and the words become the places in the tile where each team's
 * keys of each digit start.
 * Source: Adinets and Merrill, Onesweep, 2022, section 4; Ashkiani et al., GPU Multisplit, 2016, for the masks. */
#ifndef UPSWEEP_CUDA_SORT_RANK_CUH
#define UPSWEEP_CUDA_SORT_RANK_CUH

#include <stdint.h>

#include "sort_job.cuh"
#include "sort_rows.cuh"

#define SORT_TEAM  16                 /* lanes */
#define TEAM_WORDS (SORT_DIGITS + 16) /* a warp's teams often have the same digits: so they have them in different banks */
#define RANK_ONE   (1u << SORT_TEAM)
#define RANK_LANES (RANK_ONE - 1)

/* The same address in shared memory, held in a register: from sm_90 on the compiler would else ask the hardware, in each branch anew, where
 * shared memory begins. */
template <typename T> static __device__ __forceinline__ T *hold_address(T *s_pointer) {
    uint32_t address = (uint32_t)__cvta_generic_to_shared(s_pointer);
    asm volatile("" : "+r"(address));
    return (T *)__cvta_shared_to_generic(address);
}

/* The items of a warp. Item (row, lane) is number row * 32 + lane. */
struct warp_items : item_rows<32> {};

/* The warp with this number, of a tile with `count` items of which every warp takes `rows` rows: its items. */
static __device__ __forceinline__ struct warp_items items_of_warp(uint32_t warp, uint32_t rows, uint32_t count) {
    const uint32_t start = warp * 32 * rows, n = count <= start ? 0 : min(count - start, 32 * rows);
    return {n, (int32_t)(n - threadIdx.x % 32)};
}

/* A team's items in a tile: `rows` rows, of which the last may be short. Item (row, lane) is number row * SORT_TEAM + lane. FULL: known to
 * have every row that there can be, so that nothing need be asked. */
template <bool FULL> struct team_items {
    uint32_t rows;
    int32_t left; /* of the items, from this lane's first on */
    __device__ __forceinline__ bool has(int32_t row) const { return FULL || row * SORT_TEAM < left; }
};

/* Where this thread's first item is, in a tile of which every team takes `rows` rows. */
static __device__ __forceinline__ uint32_t first_of_thread(uint32_t rows) {
    return threadIdx.x / SORT_TEAM * SORT_TEAM * rows + threadIdx.x % SORT_TEAM;
}

/* Of a tile with `count` items. */
template <bool FULL> static __device__ __forceinline__ struct team_items<FULL> items_of_team(uint32_t rows, uint32_t count) {
    const int32_t all = (int32_t)(SORT_TEAM * rows), from_team_on = (int32_t)count - (int32_t)(threadIdx.x / SORT_TEAM) * all;
    return {rows, min(from_team_on, all) - (int32_t)(threadIdx.x % SORT_TEAM)};
}

/* Two 16-bit ranks a word. Indexed by constants only (unrolled loops), so that they stay in registers. Those of rows that a tile does not
 * have are never set, and never used. */
template <int ROWS>
struct packed_ranks {
    uint32_t word[(ROWS + 1) / 2];
    /* An even row's is set before that of the odd row behind it, if there is one. */
    __device__ __forceinline__ void set(int row, uint32_t rank) { word[row / 2] = row % 2 ? word[row / 2] | rank << 16 : rank; }
    __device__ __forceinline__ void add(int row, uint32_t start) { word[row / 2] += row % 2 ? start << 16 : start; }
    __device__ __forceinline__ uint32_t get(int row) const { return row % 2 ? word[row / 2] >> 16 : word[row / 2] & 0xffff; }
};

/* Zeroes the counters of the warp's teams, [TEAM_WORDS] each. */
static __device__ __forceinline__ void clear_counters(uint32_t *warp_counters) {
    uint4 *words = (uint4 *)warp_counters;
    for (uint32_t i = threadIdx.x % 32; i < 32 / SORT_TEAM * TEAM_WORDS / 4; i += 32) words[i] = make_uint4(0, 0, 0, 0);
    __syncwarp(); /* zeroes before the first atomic */
}

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
template <int ROWS, typename KEY, typename ITEMS>
static __device__ __forceinline__ bool all_have_digit(const KEY (&images)[ROWS], ITEMS items, uint32_t shift, uint32_t mask) {
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
template <bool FAVOURED, bool FULL, int ROWS, typename KEY>
static __device__ __forceinline__ void rank_rows(struct packed_ranks<ROWS> &ranks, const KEY (&images)[ROWS], struct team_items<FULL> items,
                                                 uint32_t *counters, uint32_t shift, uint32_t mask, uint32_t favourite) {
    uint32_t lane; /* asked of the hardware, since the compiler would compute it from threadIdx and spill that */
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    const uint32_t mine = 1u << lane % SORT_TEAM, from_mine_up = (1u << SORT_TEAM) - mine;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (!FULL && row >= (int)items.rows) break;
        const uint32_t digit = digit_of(images[row], shift, mask);
        uint32_t *counter = &counters[digit];
        const bool valid = items.has(row), favoured = FAVOURED && valid && digit == favourite;
        const uint32_t favoured_lanes = FAVOURED ? __ballot_sync(~0u, favoured) >> lane / SORT_TEAM * SORT_TEAM & RANK_LANES : 0;
        if (!favoured) atomicAdd(counter, valid ? RANK_ONE + mine : 0); /* or else a branch around it */
        __syncwarp();                                                   /* all bits of the row before any look at them */
        uint32_t seen = *counter;
        __syncwarp(); /* all have looked before one changes it */
        if (favoured) seen += __popc(favoured_lanes) * RANK_ONE + favoured_lanes;
        const uint32_t from_me_on = __popc(seen & from_mine_up);
        ranks.set(row, seen / RANK_ONE - from_me_on);
        if (valid && from_me_on == 1) *counter = seen & ~RANK_LANES;
        __syncwarp(); /* the change before the next row's atomics */
    }
}

/* Ranks each key among the team's keys of the same digit; the counters end as the team's histogram, in units of RANK_ONE. */
template <bool FULL, int ROWS, typename KEY>
static __device__ __forceinline__ void rank_in_team(struct packed_ranks<ROWS> &ranks, const KEY (&images)[ROWS],
                                                    struct team_items<FULL> items, uint32_t *counters, uint32_t shift, uint32_t mask) {
    uint32_t nlanes;
    const uint32_t favourite = sample_digit(digit_of(images[0], shift, mask), items.has(0), &nlanes);
    if (nlanes <= SORT_CROWD) {
        rank_rows<false>(ranks, images, items, counters, shift, mask, favourite);
    } else if (nlanes == 32 && all_have_digit(images, items, shift, mask)) {
#pragma unroll
        for (int row = 0; row < ROWS; row++) ranks.set(row, row * SORT_TEAM + threadIdx.x % SORT_TEAM);
        if (threadIdx.x % SORT_TEAM == 0) counters[favourite] = (uint32_t)max(items.left, 0) * RANK_ONE;
    } else {
        rank_rows<true>(ranks, images, items, counters, shift, mask, favourite);
    }
}

/* Thread d < 256: the tile's keys of digit d. counters [TEAMS][TEAM_WORDS]. */
template <int TEAMS> static __device__ __forceinline__ uint32_t sum_team_counts(const uint32_t *counters, uint32_t digit) {
    uint32_t total = 0;
#pragma unroll
    for (int team = 0; team < TEAMS; team++) total += counters[team * TEAM_WORDS + digit] / RANK_ONE;
    return total;
}

/* Thread d < 256: turns the counts of digit d into the places where each team's keys of it start. Some are read before any is written: one
 * by one, each would wait for the one before it, and no thread has anything else to do meanwhile. */
template <int TEAMS> static __device__ __forceinline__ void store_team_starts(uint32_t *counters, uint32_t digit, uint32_t digit_start) {
    constexpr int TOGETHER = 8;
    static_assert(TEAMS % TOGETHER == 0, "groups of teams");
    volatile uint32_t *counter = counters + digit; /* else the compiler would not keep to that */
#pragma unroll
    for (int first = 0; first < TEAMS; first += TOGETHER) {
        uint32_t counts[TOGETHER];
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) counts[i] = counter[(first + i) * TEAM_WORDS] / RANK_ONE;
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
            counter[(first + i) * TEAM_WORDS] = digit_start;
            digit_start += counts[i];
        }
    }
}

/* Adds the team's starts to the ranks: from places among the team's keys of a digit to places in the tile. */
template <int ROWS, typename KEY>
static __device__ __forceinline__ void rank_in_tile(struct packed_ranks<ROWS> &ranks, const KEY (&images)[ROWS], const uint32_t *starts,
                                                    uint32_t shift, uint32_t mask) {
#pragma unroll
    for (int row = 0; row < ROWS; row++) ranks.add(row, starts[digit_of(images[row], shift, mask)]);
}

#endif
