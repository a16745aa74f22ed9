/* sort_unordered.cuh: the first pass of onesweep over keys alone: a partition of a tile that keeps no order.
 *
 * Equal keys are the same key, and those that differ are put in order by the stable passes behind. So it ranks by plain atomics, and takes
 * places from cursors instead of looking back (as sort_partition.cuh). Cost: keys read once and written once. */
#ifndef UPSWEEP_CUDA_SORT_UNORDERED_CUH
#define UPSWEEP_CUDA_SORT_UNORDERED_CUH

#include "sort_gaps.cuh"
#include "sort_partition.cuh"
#include "sort_tile.cuh"

/* Moves a tile. starts: where the keys of each digit go, `low` as in a pass_plan; moved: how many of them have been, zero before. s_memory:
 * first the counters of digits, then the tile. All threads call it. */
template <int ROWS, typename KEY, typename ORDER>
static __device__ __forceinline__ void
move_unordered_tile(const struct sort_job &job, const struct sort_tile<KEY> tile, const struct bit_digits digits, const uint64_t *starts,
                    uint32_t low, uint64_t *moved, unsigned char *s_memory, struct digit_sums &s, const ORDER &order) {
    uint32_t *s_counts = hold_address((uint32_t *)s_memory);
    const uint32_t warp = threadIdx.x / 32, start = warp * 32 * job.rows + threadIdx.x % 32;
    const struct warp_items items = items_of_warp(warp, job.rows, tile.count);
    KEY images[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++) images[row] = items.has(row) ? tile.keys_src[start + row * 32] : (KEY)0;
    if (threadIdx.x < SORT_DIGITS) s_counts[threadIdx.x] = 0;
    __syncthreads(); /* zeroes before counts */
    order.make_images(images);
    struct packed_ranks<ROWS> ranks = {};
    count_warp<true, false, true>(ranks, images, items, s_counts, digits);
    __syncthreads(); /* all counts */

    const uint32_t count = threadIdx.x < SORT_DIGITS ? s_counts[threadIdx.x] : 0;
    const uint64_t to =
        count ? starts[threadIdx.x << low] + atomicAdd((unsigned long long *)&moved[threadIdx.x], (unsigned long long)count) : 0;
    const uint32_t place = scan_threads(count, s.sums);
    if (threadIdx.x < SORT_DIGITS) {
        s_counts[threadIdx.x] = place;
        s.base[threadIdx.x] = to - place;
    }
    __syncthreads(); /* all places */
    rank_in_tile(ranks, images, s_counts, digits.shift, digits.mask);
    __syncthreads(); /* nobody needs the counters any more */
    KEY *s_tile = hold_address((KEY *)s_memory);
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (items.has(row)) s_tile[ranks.get(row)] = images[row];
    }
    __syncthreads(); /* the tile is in runs */
    undo_order(order, [&](const auto &undo) {
#pragma unroll 4
        for (uint32_t i = threadIdx.x; i < tile.count; i += SORT_THREADS) {
            const KEY image = s_tile[i];
            tile.keys_dst[s.base[digits.of(image)] + i] = undo.key_of_image(image);
        }
    });
}

#endif
