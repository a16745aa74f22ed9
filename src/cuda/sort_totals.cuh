/* sort_totals.cuh: counts that all CTAs of a launch add up and wait for, where histogram and partition are one launch (sort_fused.cuh).
 *
 * What an addition to a total returns is the CTA's place in that bucket, as with the cursors of a partition. The totals themselves say when
 * they are complete: when they add up to n. So there is no other word to wait for, and no fence: nothing but them is exchanged.
 *
 * CTAs that wait for one another must all be resident: one CTA a multiprocessor, launched cooperatively. Two sets of totals, in the
 * context's control memory, take turns: each launch zeroes the set of the next, and a graph replay finds them as the last launch left them.
 * So nothing is cleared before. */
#ifndef UPSWEEP_CUDA_SORT_TOTALS_CUH
#define UPSWEEP_CUDA_SORT_TOTALS_CUH

#include "sort_lookback.cuh"
#include "sort_split.cuh"

/* Eight totals to a cache line, since a line serves one warp's additions after the other's. */
struct line_of_totals {
    uint32_t total[8], apart[24];
};

/* In control memory, zeroed before the first launch. */
template <uint32_t N> struct two_sets_of_totals {
    uint32_t turn;      /* the set that the next launch adds to: all of it is zero */
    uint32_t apart[31]; /* nobody polls the turn's cache line */
    struct line_of_totals set[2][N / 8];

    __device__ __forceinline__ uint32_t *of(uint32_t turn_, uint32_t i) { return &set[turn_][i / 8].total[i % 8]; }

    /* One CTA calls it, when all have added: hands the turn over. */
    __device__ __forceinline__ void hand_over(uint32_t turn_) {
        if (threadIdx.x == 0) turn = 1 - turn_;
        for (uint32_t i = threadIdx.x; i < N; i += blockDim.x) *of(1 - turn_, i) = 0;
    }
};

/* By digits (sort_fused.cuh); by cells, and then by what these are divided in (sort_fused_cells.cuh, sort_fused_sample.cuh). */
typedef struct two_sets_of_totals<FUSED_DIGITS> fused_totals;
typedef struct two_sets_of_totals<2 * FUSED_THREADS> cell_totals;

/* By cells, then by buckets, and how many CTAs have arrived where all wait, three times (sort_fused_splitters.cuh). */
#define SPLITTER_MEET (SPLITTER_CELLS + SPLITTER_BUCKETS)
typedef struct two_sets_of_totals<SPLITTER_MEET + 3 * 8> splitter_totals;

/* Of what does not fit that way: by the bits that vary (sort_fused_gaps.cuh), and by samples. */
struct skewed_totals {
    struct two_sets_of_totals<FUSED_THREADS> closed;
    cell_totals sampled;
    splitter_totals drawn;
};

static_assert(sizeof(fused_totals) <= CUDA_CONTROL_FUSED_NBYTES && sizeof(cell_totals) <= CUDA_CONTROL_CELLS_NBYTES &&
                  sizeof(struct skewed_totals) <= CUDA_CONTROL_SKEWED_NBYTES,
              "the totals have a place in control memory");

/* Is this the CTA that tells the kernels behind how it went? The last one, whose tile is the smallest, or which has none. */
static __device__ __forceinline__ bool announces() { return blockIdx.x == gridDim.x - 1; }

/* Waits until the totals of all digits add up to n. Thread t owns digit t: *total is its total, of which these bits count; returns where it
 * starts. All threads call it. */
static __device__ __forceinline__ uint32_t await_totals(uint32_t *total, const uint32_t *my_total, bool mine, uint32_t n,
                                                        uint32_t (&s_sums)[2][32], uint32_t bits = ~0u) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (uint32_t round = 0;; round ^= 1) { /* the sums of two rounds, so that one barrier a round is enough */
        *total = mine ? load_relaxed(my_total) : 0;
        const uint32_t count = *total & bits, warp_sum = sum_warp(count);
        if (lane == 0) s_sums[round][warp] = warp_sum;
        __syncthreads(); /* the sums of this round */
        const uint32_t of_lane = s_sums[round][lane];
        if (sum_warp(of_lane) != n) continue;
        const uint32_t inclusive = sum_up_to_lane(count);
        return inclusive - count + sum_warp(lane < warp ? of_lane : 0);
    }
}

/* What becomes of a split that does not fit, if nothing else does: are there so few totals of more than 0 that there may be few values? All
 * threads of a CTA call it. */
static __device__ __forceinline__ enum split_outcome how_not_to_split(const struct split_job &split, uint32_t my_total) {
    return (uint32_t)__syncthreads_count(my_total > 0) <= split.most_values ? PERHAPS_FEW : NOT_SPLIT;
}

/* What the stable passes, which now have to do the work, must find zeroed. */
static __device__ __forceinline__ void clear_stable(struct sort_header *stable) {
    uint4 *vectors = (uint4 *)stable;
    static_assert(sizeof *stable % sizeof *vectors == 0, "whole vectors");
    for (uint32_t i = blockIdx.x * FUSED_THREADS + threadIdx.x; i < sizeof *stable / sizeof *vectors; i += gridDim.x * FUSED_THREADS)
        vectors[i] = make_uint4(0, 0, 0, 0);
}

#endif
