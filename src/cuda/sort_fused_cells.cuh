/* sort_fused_cells.cuh: sort_fused.cuh for floats: cells, histogram and partition in one launch.
 *
 *     each CTA       loads its tile, counts it by cell (sort_digits.cuh), adds its counts to the totals
 *     waits          until the totals add up to n
 *     each CTA       numbers the buckets, all alike (sort_cells.cuh); counts its tile by number, adds these counts to other totals
 *                    brings the tile into runs in shared memory
 *     waits          until those add up to n, and copies its runs to their buckets
 *
 * Cost: keys read once and written once; a microsecond or two for the second wait. */
#ifndef UPSWEEP_CUDA_SORT_FUSED_CELLS_CUH
#define UPSWEEP_CUDA_SORT_FUSED_CELLS_CUH

#include "sort_cells.cuh"
#include "sort_fused.cuh"

#define FUSED_NUMBERS FUSED_THREADS /* a thread a number, and a cell */

static_assert(FUSED_THREADS == CELL_THREADS, "a thread a cell");

struct fused_cells_job {
    struct split_job split;     /* one partition; tile_items: some rows of FUSED_THREADS */
    cell_totals *totals, *more; /* more: of a second attempt */
    struct sort_header *stable; /* of the passes queued behind */
};

struct fused_cells_desk {
    uint32_t places[FUSED_NUMBERS], base[FUSED_NUMBERS], entries[CELLS], sums[2][32];
    uint32_t turn, largest;
    struct cell_desk plan;
};

/* One CTA calls it: tells the kernels behind how it went, and hands the turn over. end: of thread t's bucket. */
static __device__ __forceinline__ void announce_cells(const struct fused_cells_job &job, uint32_t turn, bool fits, uint32_t end) {
    const uint32_t t = threadIdx.x;
    struct split_header *header = job.split.header;
    if (t == 0) {
        header->too_big = fits ? ALL_FIT : PERHAPS_FEW;
        header->start[0] = 0;
        header->sampled.nbuckets = 0;
    }
    header->start[t + 1] = fits ? end : 0;
    job.totals->hand_over(turn);
}

/* ROWS, dynamic shared memory, and what happens if buckets do not fit: as split_fused(). */
template <typename KEY, typename ITEM, int ROWS>
__global__ void __launch_bounds__(FUSED_THREADS, 1) split_fused_cells(const __grid_constant__ struct fused_cells_job job) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct fused_cells_desk s;
    wait_for_predecessor();
    const struct split_job &split = job.split;
    const uint32_t t = threadIdx.x, first = blockIdx.x * split.tile_items, count = min(split.n - first, split.tile_items);
    const uint32_t rows = split.tile_items / FUSED_THREADS, warp = t / 32, start = warp * 32 * rows + t % 32;
    const struct warp_items items = items_of_warp(warp, rows, count);
    const KEY *src = (const KEY *)split.in + first + start;
    KEY images[ROWS] = {};
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (row >= (int)rows) break;
        if (items.has(row)) images[row] = src[row * 32];
    }
    if constexpr (sizeof(ITEM) > sizeof(KEY)) copy_values(split, first, count);
    s.places[t] = s.base[t] = 0;
    if (t == 0) {
        s.turn = job.totals->turn;
        s.largest = s.plan.ndivided = 0;
    }
    __syncthreads(); /* zeroes before counts; and whoever adds to the totals has read the turn */
    const struct float_cells<KEY> cells(lowest_cell<KEY>(split, &s.largest));
    const struct key_order<KEY> order(split);
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (row >= (int)rows) break;
        images[row] = order.image(images[row]);
        if (items.has(row)) atomicAdd(&s.base[cells.cell_of(images[row])], 1);
    }
    __syncthreads(); /* all counts by cells */

    uint32_t *my_total = job.totals->of(s.turn, t), total;
    if (s.base[t]) atomicAdd(my_total, s.base[t]);
    const uint32_t before_cell = await_totals(&total, my_total, true, split.n, s.sums);
    const struct cell_numbers numbers = number_cell(total, before_cell, split.cell_keys, s.plan);
    s.entries[t] = numbers.entry();
    const bool enough = !__syncthreads_or(numbers.first >= split.nnumbers); /* also: all entries */
    bool fits = enough;
    uint32_t end = 0;
    ITEM *s_tile = (ITEM *)s_memory;
    const struct cell_digits<KEY> digits = { s.entries, cells, 0, ~0u };
    if (fits) {
        struct packed_ranks<ROWS> ranks = {};
        count_warp<true, true>(ranks, images, items, s.places, digits);
        __syncthreads(); /* all counts by numbers */
        my_total = job.totals->of(s.turn, CELLS + t);
        const uint32_t here = s.places[t], before = here ? atomicAdd(my_total, here) : 0, place = scan_threads(here, s.plan.sums);
        s.places[t] = place;
        __syncthreads(); /* all places */
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            if (row >= (int)rows) break;
            if (!items.has(row)) continue;
            const uint32_t to = s.places[digits.of(images[row])] + ranks.get(row);
            s_tile[to] = make_item<ITEM>(images[row], first + start + row * 32, split.bits.index_shift);
        }
        const uint32_t bucket_start = await_totals(&total, my_total, true, split.n, s.sums);
        s.base[t] = bucket_start + before - place;
        end = bucket_start + total;
        fits = !__syncthreads_or(total > split.bucket_max); /* also: the tile is in runs, and each run has its place */
    }
    if (blockIdx.x == 0) announce_cells(job, s.turn, fits, end);
    if (!fits) {
        if constexpr (sample_shape<KEY, ITEM, ROWS>::EVER) {
            if (split.n <= SAMPLED_MAX) {
#pragma unroll
                for (int row = 0; row < ROWS; row++) {
                    if (!enough && items.has(row))
                        s_tile[start + row * 32] = make_item<ITEM>(images[row], first + start + row * 32, split.bits.index_shift);
                }
                __syncthreads(); /* the tile, if it was not yet in runs */
                if (split_by_sample<KEY, ITEM, ROWS>(split, job.more, count, s_memory)) return;
            }
        }
        return clear_stable(job.stable);
    }
    ITEM *dst = (ITEM *)split.tmp;
#pragma unroll 4
    for (uint32_t i = t; i < count; i += FUSED_THREADS) {
        const ITEM item = s_tile[i];
        put_item<(sizeof(ITEM) > sizeof(KEY))>(split, dst, s.base[digits.of(item)] + i, item);
    }
    if (blockIdx.x == 0) write_bounds(&split.header->cells, cells, numbers, s.plan);
}

#endif
