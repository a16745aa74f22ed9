/* sort_fused_parts.cuh: parts by which keys are divided where their top bits are not for it (sort_fused_gaps.cuh, sort_fused_sample.cuh):
 * the sample that says which, where a CTA keeps what it knows of them, and how neighbours are put together to buckets. */
#ifndef UPSWEEP_CUDA_SORT_FUSED_PARTS_CUH
#define UPSWEEP_CUDA_SORT_FUSED_PARTS_CUH

#include "sort_item.cuh"
#include "sort_partition.cuh"
#include "sort_sample.cuh"
#include "sort_totals.cuh"

#define PARTS        FUSED_THREADS /* a thread each, as of the cells */
#define PART_BITS    10
#define CLOSED_GAP   2       /* parts of closed images without keys, side by side in a bucket, at most: its bins there would have none */
#define RANGE_BREAK  9       /* bits by which parts of a bucket do not differ in width: with 5, some keys have twice as many buckets */
#define RANGE_BEGINS 0x8000u /* beside a part's range: a bucket must begin with it */

/* Shared memory, behind the tile; behind it each item's number. */
template <typename ITEM> struct sample_desk {
    struct splitter_tree<ITEM, FUSED_THREADS> tree;
    uint32_t count[PARTS], place[PARTS], base[PARTS];
    struct cell_parts cells[FUSED_THREADS];
    uint32_t heads[PARTS / 32], sums[2][32], turn, closed_bits, ndone, nmoved;
    uint16_t done_parts[PARTS / 2], done_cells[PARTS / 2];
    uint16_t range[PARTS]; /* range_of() a part: those of a bucket hardly differ (is_break()) */
    bool done[PARTS];
    uint64_t seen[2][32]; /* this and what follows: sort_fused_gaps.cuh */
    struct bit_gaps gaps;
};

/* Of a launch with ROWS rows: items of the sample a thread; shared memory for a tile of so many items. The
 * more keys, the smaller the part of them that makes a frequent key too frequent for a bucket. */
template <typename KEY, typename ITEM, int ROWS> struct sample_shape {
    static constexpr bool ALONE = sizeof(ITEM) == sizeof(KEY);
    static constexpr int PER = ROWS * sizeof(ITEM) > 32 && ALONE ? 2 : 1;

    static __host__ __device__ __forceinline__ uint32_t tile_nbytes(uint32_t tile_items) { return tile_items * (uint32_t)sizeof(ITEM); }
    static __host__ __device__ __forceinline__ uint32_t shared_nbytes(uint32_t tile_items) {
        const uint32_t sample = FUSED_THREADS * PER * (uint32_t)sizeof(ITEM), numbers = tile_items * (uint32_t)sizeof(uint16_t);
        return tile_nbytes(tile_items) + (uint32_t)sizeof(struct sample_desk<ITEM>) + (sample > numbers ? sample : numbers);
    }
};

/* What all CTAs draw alike: an item from each of equal stretches of the input; a warp's are from all over it. */
template <typename KEY, typename ITEM, int PER>
static __device__ __forceinline__ void draw_sample(ITEM (&items)[PER], const struct split_job &split) {
    const struct item_order<KEY, ITEM> order(split);
    const float stretch = (float)split.n / (float)(FUSED_THREADS * PER);
#pragma unroll
    for (int k = 0; k < PER; k++) {
        const uint32_t i = k * FUSED_THREADS + threadIdx.x % 32 * (FUSED_THREADS / 32) + threadIdx.x / 32;
        const uint32_t random = mixed(i + split.seed) >> 8;
        const uint32_t at = min((uint32_t)(((float)i + (float)random * 0x1p-24f) * stretch), split.n - 1);
        KEY image[1] = {((const KEY *)split.in)[at]}, head[1];
        order.make_heads(head, image, at);
        items[k] = order.item_of(head[0], image[0], at);
    }
}

/* The top bits of a part's least item, and how many bits its width has; or whether there are strays, and nothing. */
static __device__ __forceinline__ uint16_t range_of(uint32_t top, uint32_t nbits) { return (uint16_t)(top << 8 | nbits); }

/* Must a bucket end between neighbouring parts of these ranges? Else hardly any of its bins would have the keys of one of them. */
static __device__ __forceinline__ bool is_break(uint32_t range, uint32_t next) {
    return next & RANGE_BEGINS || ((range ^ next) & ~RANGE_BEGINS) >> 8 != 0 ||
           __sad((int)(range & 255), (int)(next & 255), 0u) >= RANGE_BREAK;
}

/* How many keys may neighbouring parts have together? As many as fit, or, if keys are few, as make buckets for less than half of the
 * multiprocessors; else for three quarters, as not all are full. Of many keys two buckets share a multiprocessor, and are quicker if there
 * are twice as many; but not those of closed images, if three quarters are enough. */
static __device__ __forceinline__ uint32_t most_together(const struct split_job &split, bool closed) {
    const uint32_t few = split.n <= BUCKETS_FEW_MAX ? 9 * split.n / (4 * split.nsms) : 4 * split.n / (3 * split.nsms);
    const bool many = split.n > BUCKETS_MANY_MIN && !(closed && few <= split.bucket_max);
    return min(split.bucket_max, many ? few / 2 : few);
}

/* With which parts of a warp, one a lane, do buckets begin? A bit for each: of those with keys the first one; each behind a break, or
 * behind more than so many without keys; and others, so that no bucket has more keys than `most`, unless it is one part. */
static __device__ __forceinline__ uint32_t heads_of_warp(uint32_t nkeys, bool breaks, uint32_t gap, uint32_t most) {
    const uint32_t lane = threadIdx.x % 32, broken = __ballot_sync(~0u, breaks);
    const uint32_t below = __ballot_sync(~0u, nkeys > 0) & ((1u << lane) - 1), before = 31 - (uint32_t)__clz((int)below);
    const bool must = nkeys > 0 && (below == 0 || lane - before > gap + 1 || (broken & ((2u << lane) - (2u << before))) != 0);
    const uint32_t forced = __ballot_sync(~0u, must), upto = sum_up_to_lane(nkeys);
    uint32_t heads = forced;
    for (uint32_t next = forced; next != 0;) {
        const uint32_t head = (uint32_t)__ffs((int)next) - 1, start = __shfl_sync(~0u, upto - nkeys, (int)head);
        const uint32_t full = __ballot_sync(~0u, nkeys > 0 && upto - start > most);
        next = (forced | full) & ~((2u << head) - 1);
        heads |= next & (0 - next);
    }
    return heads;
}

/* One CTA calls it: which parts a CTA sorts together: neighbours, as many as may be, of 32. Thread t knows part t. gaps: NULL, or how the
 * images are closed up. */
template <typename ITEM>
static __device__ void list_buckets(const struct split_job &split, uint32_t start, uint32_t total, struct sample_desk<ITEM> &s,
                                    const struct bit_gaps *gaps) {
    const uint32_t t = threadIdx.x, lane = t % 32, warp = t / 32, above = ~((2u << lane) - 1);
    const bool done = s.done[t], breaks = done || (t > 0 && is_break(s.range[t - 1], s.range[t]));
    const uint32_t nkeys = done ? 0 : total;
    const uint32_t heads = heads_of_warp(nkeys, breaks, gaps ? CLOSED_GAP : 32, most_together(split, gaps != NULL));
    if (lane == 0) s.heads[warp] = heads;
    __syncthreads(); /* all heads */
    const uint32_t before = sum_warp(lane < warp ? __popc(s.heads[lane]) : 0), number = before + __popc(heads & ~above) - 1;
    const uint32_t next = __ballot_sync(~0u, nkeys > 0) & above; /* with keys: is the first of these a head, if there is one? */
    struct sampled_buckets *list = &split.header->sampled;
    if (heads >> lane & 1) list->start[number] = start;
    if (nkeys > 0 && (next & (0 - next) & ~heads) == 0)
        list->end[number] = (start + total) | (gaps && s.range[t] == 0 ? BUCKET_IS_CLOSED : 0);
    if (t == PARTS - 1) {
        list->nbuckets = number + 1;
        list->closed = gaps != NULL;
        if (gaps) list->gaps = *gaps;
        split.header->outcome = ALL_FIT;
    }
}

#endif
