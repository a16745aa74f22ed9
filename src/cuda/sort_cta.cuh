/* sort_cta.cuh: one stable pass over keys that all lie in the registers of one CTA.
 *
 * The step that is repeated for buckets that are not for sort_window.cuh: rank by a digit (sort_rank.cuh), exchange through shared memory.
 */
#ifndef UPSWEEP_CUDA_SORT_CTA_CUH
#define UPSWEEP_CUDA_SORT_CTA_CUH

#include "sort_rank.cuh"
#include "sort_sums.cuh"

/* Shared memory. images may lie where counters does. */
template <typename KEY> struct cta_memory {
    uint32_t *counters; /* [teams][TEAM_WORDS] */
    uint32_t *sums;     /* [32] */
    KEY *images;        /* [n] */
};

/* start: this thread's first item (sort_rank.cuh). Costs the counting only if all n keys share the digit. */
template <int TEAMS, int ROWS, typename KEY>
static __device__ __forceinline__ void reorder_by_digit(KEY (&images)[ROWS], struct team_items<false> items, uint32_t start, uint32_t n,
                                                        const struct cta_memory<KEY> &memory, uint32_t shift, uint32_t mask) {
    uint32_t *team_counters = memory.counters + threadIdx.x / SORT_TEAM * TEAM_WORDS;
    struct packed_ranks<ROWS> ranks;
    clear_counters(memory.counters + threadIdx.x / 32 * (32 / SORT_TEAM) * TEAM_WORDS);
    rank_in_team(ranks, images, items, team_counters, shift, mask);
    __syncthreads(); /* all histograms are complete */
    const uint32_t count = threadIdx.x < SORT_DIGITS ? sum_team_counts<TEAMS>(memory.counters, threadIdx.x) : 0;
    if (__syncthreads_or(count == n)) return;
    const uint32_t digit_start = scan_threads(count, memory.sums);
    if (threadIdx.x < SORT_DIGITS) store_team_starts<TEAMS>(memory.counters, threadIdx.x, digit_start);
    __syncthreads(); /* the starts are there */
    rank_in_tile(ranks, images, team_counters, shift, mask);
    __syncthreads(); /* nobody needs the counters any more */
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (items.has(row)) memory.images[ranks.get(row)] = images[row];
    }
    __syncthreads(); /* all keys are in their new order */
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (items.has(row)) images[row] = memory.images[start + row * SORT_TEAM];
    }
    __syncthreads(); /* all keys are in registers before counters take their room */
}

#endif
