/* sort_fused.cuh: the histogram and the partition of a split (sort_split.cuh) in one launch, of as many keys as fit the multiprocessors.
 *
 *     each CTA       loads its tile, counts it by digit, adds its counts to the totals
 *                    brings the tile into runs in shared memory
 *     waits          until the totals add up to n: then all CTAs have added theirs
 *     each CTA       scans the totals, by itself, and copies its runs to their buckets
 *
 * What an addition to a total returns is the CTA's place in that bucket, as with the cursors of a partition. The totals themselves say when
 * they are complete, so there is no other word to wait for, and no fence: nothing but them is exchanged. All CTAs decide alike, from the
 * same totals, whether the buckets fit; if not, they leave the input where it is, and clear what the stable passes, queued behind, must
 * find zeroed.
 *
 * CTAs that wait for one another must all be resident: one CTA a multiprocessor, launched cooperatively. Two sets of totals, in the
 * context's control memory, take turns: each launch zeroes the set of the next, and a graph replay finds them as the last launch left them.
 * So nothing is cleared before. Cost: keys read once and written once; 6 us for 2^20 keys, where clearing, histogram and partition took 19.
 */
#ifndef UPSWEEP_CUDA_SORT_FUSED_CUH
#define UPSWEEP_CUDA_SORT_FUSED_CUH

#include "sort_bucket.cuh"
#include "sort_lookback.cuh"
#include "sort_partition.cuh"

/* ---- the totals -------------------------------------------------------------------------------------------------------------- */

/* Eight totals to a cache line, since a line serves one warp's additions after the other's. */
struct line_of_totals {
    uint32_t total[8], apart[24];
};

/* In control memory, zeroed before the first launch. */
struct fused_totals {
    uint32_t turn;      /* the set that the next launch adds to: all of it is zero */
    uint32_t apart[31]; /* nobody polls the turn's cache line */
    struct line_of_totals set[2][FUSED_DIGITS / 8];

    __device__ __forceinline__ uint32_t *of(uint32_t turn_, uint32_t digit) { return &set[turn_][digit / 8].total[digit % 8]; }
};

static_assert(sizeof(struct fused_totals) <= CUDA_CONTROL_FUSED_NBYTES, "the totals have a place in control memory");

struct fused_job {
    struct split_job split; /* one partition; tile_items: some rows of FUSED_THREADS */
    struct fused_totals *totals;
    struct sort_header *stable; /* of the passes queued behind */
};

struct fused_desk {
    uint32_t places[FUSED_DIGITS], base[FUSED_DIGITS], sums[2][32];
    uint32_t turn;
};

/* Waits until the totals of all digits add up to n. Thread t owns digit t: *total is its total; returns where it starts. All threads call
 * it. */
static __device__ __forceinline__ uint32_t await_totals(uint32_t *total, const uint32_t *my_total, bool mine, uint32_t n,
                                                        uint32_t (&s_sums)[2][32]) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (uint32_t round = 0;; round ^= 1) { /* the sums of two rounds, so that one barrier a round is enough */
        *total = mine ? load_relaxed(my_total) : 0;
        const uint32_t warp_sum = sum_warp(*total);
        if (lane == 0) s_sums[round][warp] = warp_sum;
        __syncthreads(); /* the sums of this round */
        const uint32_t of_lane = s_sums[round][lane];
        if (sum_warp(of_lane) != n) continue;
        uint32_t inclusive = *total;
#pragma unroll
        for (uint32_t distance = 1; distance < 32; distance *= 2) {
            const uint32_t other = __shfl_up_sync(~0u, inclusive, distance);
            if (lane >= distance) inclusive += other;
        }
        return inclusive - *total + sum_warp(lane < warp ? of_lane : 0);
    }
}

/* One CTA calls it: tells the kernels behind how it went, and hands the turn over. Nothing fits: all buckets are empty. end: of thread t's
 * bucket. */
static __device__ __forceinline__ void announce_split(const struct fused_job &job, uint32_t turn, uint32_t ndigits, bool fits,
                                                      uint32_t end) {
    const uint32_t digit = threadIdx.x;
    struct split_header *header = job.split.header;
    if (digit == 0) {
        header->too_big = fits ? ALL_FIT : NOT_SPLIT;
        header->start[0] = 0;
        job.totals->turn = 1 - turn;
    }
    if (digit < ndigits) header->start[digit + 1] = fits ? end : 0;
    if (digit < FUSED_DIGITS) *job.totals->of(1 - turn, digit) = 0;
}

/* What the stable passes, which now have to do the work, must find zeroed. */
static __device__ __forceinline__ void clear_stable(struct sort_header *stable) {
    uint4 *vectors = (uint4 *)stable;
    static_assert(sizeof *stable % sizeof *vectors == 0, "whole vectors");
    for (uint32_t i = blockIdx.x * FUSED_THREADS + threadIdx.x; i < sizeof *stable / sizeof *vectors; i += gridDim.x * FUSED_THREADS)
        vectors[i] = make_uint4(0, 0, 0, 0);
}

/* ---- the kernels ------------------------------------------------------------------------------------------------------------- */

/* ROWS: at least tile_items / FUSED_THREADS; few leave registers for a CTA that sorts a bucket, so that it can start up early. Dynamic
 * shared memory: a tile of items. */
template <typename KEY, typename ITEM, int ROWS>
__global__ void __launch_bounds__(FUSED_THREADS, ROWS * sizeof(ITEM) <= 32 ? 2 : 1)
    split_fused(const __grid_constant__ struct fused_job job) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct fused_desk s;
    wait_for_predecessor();
    const struct split_job &split = job.split;
    const uint32_t first = blockIdx.x * split.tile_items, count = min(split.n - first, split.tile_items);
    const uint32_t rows = split.tile_items / FUSED_THREADS, warp = threadIdx.x / 32, start = warp * 32 * rows + threadIdx.x % 32;
    const struct warp_items items = items_of_warp(warp, rows, count);
    const KEY *src = (const KEY *)split.in + first + start;
    KEY images[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++) images[row] = items.has(row) ? src[row * 32] : (KEY)0;
    const uint32_t ndigits = 1u << split.fine_bits, shift = sizeof(KEY) * 8 - split.fine_bits, digit = threadIdx.x;
    if (digit < ndigits) s.places[digit] = 0;
    if (threadIdx.x == 0) s.turn = job.totals->turn;
    const struct key_order<KEY> order(split);
#pragma unroll
    for (int row = 0; row < ROWS; row++) images[row] = order.image(images[row]);
    __syncthreads(); /* zeroes before counts; and whoever adds to the totals has read the turn */
    struct packed_ranks<ROWS> ranks = {};
    count_warp<true>(ranks, images, items, s.places, bit_digits{shift, ndigits - 1});
    __syncthreads(); /* all counts */

    uint32_t *my_total = job.totals->of(s.turn, digit % FUSED_DIGITS);
    const uint32_t here = digit < ndigits ? s.places[digit] : 0, before = here ? atomicAdd(my_total, here) : 0;
    const uint32_t place = scan_threads(here, s.sums[0]);
    if (digit < ndigits) s.places[digit] = place;
    __syncthreads(); /* all places */
    ITEM *s_tile = (ITEM *)s_memory;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (!items.has(row)) continue;
        const uint32_t to = s.places[digit_of(images[row], shift, ndigits - 1)] + ranks.get(row);
        s_tile[to] = make_item<ITEM>(images[row], first + start + row * 32, split.index_shift);
    }

    uint32_t total;
    const uint32_t bucket_start = await_totals(&total, my_total, digit < ndigits, split.n, s.sums);
    if (digit < ndigits) s.base[digit] = bucket_start + before - place;
    const bool fits = !__syncthreads_or(total > split.bucket_max); /* also: the tile is in runs, and each run has its place */
    if (blockIdx.x == 0) announce_split(job, s.turn, ndigits, fits, bucket_start + total);
    if (!fits) return clear_stable(job.stable);
    ITEM *dst = (ITEM *)split.tmp;
    const uint32_t item_shift = sizeof(ITEM) * 8 - split.fine_bits;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < count; i += FUSED_THREADS) {
        const ITEM item = s_tile[i];
        dst[s.base[digit_of(item, item_shift, ndigits - 1)] + i] = item;
    }
}

/* One CTA a bucket. */
template <typename KEY, typename ITEM, typename SHAPE>
__global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::CTAS_PER_SM) fused_buckets(const __grid_constant__ struct split_job job) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct bucket_desk<ITEM> s_desk;
    wait_for_predecessor();
    const uint32_t start = job.header->start[blockIdx.x], end = job.header->start[blockIdx.x + 1];
    if (start == end) return;
    struct found_bucket<ITEM> found = {
        (const ITEM *)job.tmp, start, end - start, job.fine_bits, false, 0
    };
    if (job.cell_keys) bound_items(&found, job.header->cells.bound + blockIdx.x);
    if (!sort_bucket<KEY, ITEM, SHAPE>(job, found, s_memory, s_desk)) sort_bucket_stably<KEY, ITEM, SHAPE>(job, found, s_memory, s_desk);
}

#endif
