/* sort_fused_cells.cuh: sort_fused.cuh for floats: by their values, if a sample says that these are spread about evenly
 * (sort_by_value.cuh):
 *
 *     each CTA       loads its tile, counts it by digit, adds its counts to the totals, brings the tile into runs in shared memory
 *     waits          until the totals add up to n, and copies its runs to the digits' places; some neighbouring digits are a bucket
 *
 * or else, unless keys crowd in what must be one bucket, by cells, histogram and partition in one launch:
 *
 *     each CTA       loads its tile, counts it by cell (sort_digits.cuh), adds its counts to the totals
 *     waits          until the totals add up to n
 *     each CTA       numbers the buckets, all alike (sort_cells.cuh); counts its tile by number, adds these counts to other totals
 *                    brings the tile into runs in shared memory
 *     waits          until those add up to n, and copies its runs to their buckets
 *
 * Cost: keys read once and written once; a microsecond for the sample, and another or two for the second wait. */
#ifndef UPSWEEP_CUDA_SORT_FUSED_CELLS_CUH
#define UPSWEEP_CUDA_SORT_FUSED_CELLS_CUH

#include "sort_cells.cuh"
#include "sort_fused.cuh"

#define FUSED_NUMBERS FUSED_THREADS /* a thread a number, and a cell */

static_assert(FUSED_THREADS == CELL_THREADS, "a thread a cell");

struct fused_cells_job {
    struct split_job split; /* one partition; tile_items: some rows of FUSED_THREADS */
    cell_totals *totals;
    struct skewed_totals *more; /* of further attempts */
    struct sort_header *stable; /* of the passes queued behind */
};

template <typename KEY> struct fused_cells_desk {
    uint32_t places[FUSED_NUMBERS], base[FUSED_NUMBERS], entries[CELLS], sums[2][32];
    uint32_t coarse[VALUE_COARSE], turn;
    KEY ends[2][32];
    struct cell_desk plan;
};

/* A tile of which the images are in registers. */
template <typename KEY, int ROWS> struct fused_tile {
    KEY images[ROWS];
    uint32_t rows, first, start, count; /* of the input: its first key; of it: this thread's first */
    struct warp_items items;
};

/* One CTA calls it: tells the kernels behind how it went, and hands the turn over. end: of thread t's bucket. */
static __device__ __forceinline__ void announce_cells(const struct fused_cells_job &job, uint32_t turn, bool fits, uint32_t end) {
    const uint32_t t = threadIdx.x;
    struct split_header *header = job.split.header;
    if (t == 0) {
        header->outcome = fits ? ALL_FIT : PERHAPS_FEW;
        job.split.start[0] = 0;
        header->sampled.nbuckets = header->cells.by_value.nbuckets = 0;
    }
    job.split.start[t + 1] = fits ? end : 0;
    job.totals->hand_over(turn);
}

/* ---- moving ------------------------------------------------------------------------------------------------------------------ */

/* Counts a tile by digits, adds its counts to totals, thread t for digit t, and brings the tile into runs. Returns where digit t starts;
 * *total: how many keys it has. s.places are zero before; a barrier must follow, and then s.base says where the runs go. */
template <typename ITEM, typename KEY, int ROWS, typename DIGITS>
static __device__ __forceinline__ uint32_t bring_into_runs(uint32_t *total, const struct split_job &split,
                                                           const struct fused_tile<KEY, ROWS> &tile, uint32_t *my_total,
                                                           const DIGITS &digits, ITEM *s_tile, struct fused_cells_desk<KEY> &s) {
    const uint32_t t = threadIdx.x;
    constexpr bool KEPT = sizeof(ITEM) == sizeof(KEY) && ROWS * (sizeof(KEY) + sizeof(uint32_t)) <= 160; /* registers for digits, too */
    uint32_t ranked[KEPT ? ROWS : 1];
    struct packed_ranks<KEPT ? 1 : ROWS> ranks = {};
    if constexpr (KEPT)
        count_ranked<true>(ranked, tile.images, tile.items, s.places, digits);
    else
        count_warp<true, true>(ranks, tile.images, tile.items, s.places, digits);
    __syncthreads(); /* all counts */
    const uint32_t here = s.places[t], before = here ? atomicAdd(my_total, here) : 0, place = scan_threads(here, s.plan.sums);
    s.places[t] = place;
    __syncthreads(); /* all places */
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (row >= (int)tile.rows) break;
        if (!tile.items.has(row)) continue;
        uint32_t to;
        if constexpr (KEPT)
            to = s.places[ranked[row] >> 16] + (ranked[row] & 0xffff);
        else
            to = s.places[digits.of(tile.images[row])] + ranks.get(row);
        s_tile[to] = make_item<ITEM>(tile.images[row], tile.first + tile.start + row * 32, split.bits.index_shift);
    }
    const uint32_t start = await_totals(total, my_total, true, split.n, s.sums);
    s.base[t] = start + before - place;
    return start;
}

template <typename ITEM, typename DIGITS>
static __device__ __forceinline__ void copy_runs_by(const DIGITS &digits, const struct split_job &split, const ITEM *s_tile,
                                                    const uint32_t *s_base, uint32_t count) {
    constexpr bool HALVES = sizeof(ITEM) > sizeof(typename DIGITS::image_type);
    ITEM *dst = (ITEM *)split.tmp;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < count; i += FUSED_THREADS) {
        const ITEM item = s_tile[i];
        put_item<HALVES>(split, dst, s_base[digits.of(item)] + i, item);
    }
}

/* ---- by value ---------------------------------------------------------------------------------------------------------------- */

/* This thread's key of a sample at equal distances: those of a warp are from all over the input, which may be sorted. Keys that come by
 * turns then seem to be of few ranges, and are not divided by value, as their bins would be deep. */
template <typename KEY> static __device__ __forceinline__ KEY spaced_key(const struct split_job &split) {
    const uint32_t stretch = threadIdx.x % 32 * (FUSED_THREADS / 32) + threadIdx.x / 32;
    return ((const KEY *)split.in)[(uint64_t)stretch * split.n / FUSED_THREADS];
}

/* This thread's key of a sample drawn at random. */
template <typename KEY> static __device__ __forceinline__ KEY drawn_key(const struct split_job &split) {
    return sampled_key((const KEY *)split.in, split.n);
}

/* How keys are divided by value. */
template <typename KEY> struct value_plan {
    struct value_digits<KEY> digits;
    uint32_t ndigits, bucket_keys, most; /* keys of a bucket, on average; of a digit, at most: half of one may be beyond at either end */
};

/* The ends of the sample, if that is finite; what is not counts as 0. */
template <typename KEY>
static __device__ __forceinline__ void find_ends(KEY *least, KEY *most, KEY sampled, struct fused_cells_desk<KEY> &s) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const KEY finite = isfinite(value_of(sampled)) ? sampled : (KEY)((KEY)1 << (sizeof(KEY) * 8 - 1));
    const KEY least_here = least_of_warp(finite), most_here = (KEY)~least_of_warp((KEY)~finite);
    if (lane == 0) {
        s.ends[0][warp] = least_here;
        s.ends[1][warp] = most_here;
    }
    __syncthreads(); /* the ends of all warps */
    *least = least_of_warp(s.ends[0][lane]);
    *most = (KEY)~least_of_warp((KEY)~s.ends[1][lane]);
}

/* The fewest digits that are small enough for the densest part of a sample, and buckets that all run at once, or more if these are too big;
 * false if there are none, since keys lie too unevenly. s.coarse are zero before. */
template <typename KEY>
static __device__ __forceinline__ bool plan_by_value(struct value_plan<KEY> *plan, const struct split_job &split, KEY sampled,
                                                     const struct value_range<KEY> &range, struct fused_cells_desk<KEY> &s) {
    const uint32_t lane = threadIdx.x % 32, part = range.part_of(sampled);
    uint32_t nlanes;
    sample_digit(part, true, &nlanes);
    if (nlanes <= VALUE_CROWD)
        atomicAdd(&s.coarse[part], 1);
    else if (lane == 0) /* in vain; and many lanes would wait for each other */
        atomicAdd(&s.coarse[0], FUSED_THREADS);
    __syncthreads(); /* all counts */
    const uint32_t counted = max(s.coarse[lane], s.coarse[lane + 32]), dense = (uint32_t)~least_of_warp((uint32_t)~counted);
    const float keys = (float)dense * (float)split.n * ((float)VALUE_COARSE / FUSED_THREADS); /* if all parts were so dense */
    plan->bucket_keys = split.value_keys;
    for (int more = 0; more < 2; more++, plan->bucket_keys = plan->bucket_keys / 2 + 1) {
        plan->most = split.bucket_max - plan->bucket_keys;
        const float ndigits = keys / (float)min(plan->most, 2 * plan->bucket_keys); /* not too large, so that buckets are even */
        if (ndigits > VALUE_DIGITS) continue;
        plan->ndigits = ndigits <= VALUE_DIGITS / 4 ? VALUE_DIGITS / 4 : ndigits <= VALUE_DIGITS / 2 ? VALUE_DIGITS / 2 : VALUE_DIGITS;
        plan->digits = range.digits(plan->ndigits);
        return plan->digits.is_good(plan->ndigits);
    }
    return false;
}

static_assert(VALUE_COARSE == 64, "two a lane");

/* One CTA calls it: a digit, of which thread t knows the t-th, belongs to the bucket that its middle is in. But what is beyond the range is
 * apart, and else keys would not lie evenly in a bucket: where they begin or end, another one begins; and where they are sparse, another
 * after so many digits. */
template <typename KEY>
static __device__ __forceinline__ void announce_by_value(const struct fused_cells_job &job, const struct value_plan<KEY> &value,
                                                         uint32_t start, uint32_t total, struct fused_cells_desk<KEY> &s) {
    const uint32_t t = threadIdx.x, bucket = (start + total / 2) / value.bucket_keys, width = value.ndigits / VALUE_SPARSE;
    struct split_header *header = job.split.header;
    struct value_buckets *plan = &header->cells.by_value;
    s.entries[t] = bucket;
    s.places[t] = total; /* nobody needs the places any more */
    __syncthreads();     /* all buckets, and totals */
    const uint32_t below = t > 0 ? s.places[t - 1] : 0, more = max(total, below), less = min(total, below);
    const bool edge = more > VALUE_EDGE * less && more > value.bucket_keys / VALUE_EDGE;
    const bool sparse = t % width == 0 && total * width < value.bucket_keys, beyond = t <= 1 || t == value.ndigits - 1;
    const bool begins = t < value.ndigits && (beyond || edge || sparse || s.entries[t - 1] != bucket);
    const uint32_t number = scan_threads(begins, s.plan.sums);
    if (begins) {
        job.split.start[number] = start;
        plan->first[number] = t;
    }
    if (t == FUSED_THREADS - 1) {
        const uint32_t nbuckets = number + begins;
        job.split.start[nbuckets] = job.split.n;
        plan->first[nbuckets] = value.ndigits;
        header->outcome = ALL_FIT;
        header->sampled.nbuckets = 0;
        plan->nbuckets = nbuckets;
        plan->ndigits = value.ndigits;
        plan->scale = value.digits.scale;
        plan->shift = value.digits.shift;
    }
    job.totals->hand_over(s.turn);
}

/* False: they do not fit; the tile is in runs. */
template <typename KEY, int ROWS>
static __device__ __forceinline__ bool move_by_value(const struct fused_cells_job &job, const struct fused_tile<KEY, ROWS> &tile,
                                                     const struct value_plan<KEY> &plan, KEY *s_tile, struct fused_cells_desk<KEY> &s) {
    uint32_t total;
    const uint32_t start = bring_into_runs(&total, job.split, tile, job.totals->of(s.turn, threadIdx.x), plan.digits, s_tile, s);
    const bool fits = !__syncthreads_or(total > plan.most); /* also: the tile is in runs, and each run has its place */
    if (blockIdx.x == 0) {
        if (fits)
            announce_by_value(job, plan, start, total, s);
        else
            announce_cells(job, s.turn, false, 0);
    }
    if (fits) copy_runs_by(plan.digits, job.split, s_tile, s.base, tile.count);
    return fits;
}

/* ---- by cells ---------------------------------------------------------------------------------------------------------------- */

/* False: they do not fit; *in_runs: the tile is in runs. */
template <typename ITEM, typename KEY, int ROWS>
static __device__ __forceinline__ bool move_by_cells(bool *in_runs, const struct fused_cells_job &job,
                                                     const struct fused_tile<KEY, ROWS> &tile, const struct float_cells<KEY> &cells,
                                                     ITEM *s_tile, struct fused_cells_desk<KEY> &s) {
    const struct split_job &split = job.split;
    const uint32_t t = threadIdx.x;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (row >= (int)tile.rows) break;
        if (tile.items.has(row)) atomicAdd(&s.base[cells.cell_of(tile.images[row])], 1);
    }
    __syncthreads(); /* all counts by cells */
    uint32_t *my_total = job.totals->of(s.turn, t), total;
    if (s.base[t]) atomicAdd(my_total, s.base[t]);
    const uint32_t before_cell = await_totals(&total, my_total, true, split.n, s.sums);
    const struct cell_numbers numbers = number_cell(total, before_cell, split.cell_keys, s.plan);
    s.entries[t] = numbers.entry();
    bool fits = !__syncthreads_or(numbers.first >= split.nnumbers); /* also: all entries */
    uint32_t end = 0;
    const struct cell_digits<KEY> digits = { s.entries, cells, 0, ~0u };
    *in_runs = fits;
    if (fits) {
        end = bring_into_runs(&total, split, tile, job.totals->of(s.turn, CELLS + t), digits, s_tile, s) + total;
        fits = !__syncthreads_or(total > split.bucket_max); /* also: the tile is in runs, and each run has its place */
    }
    if (blockIdx.x == 0) announce_cells(job, s.turn, fits, end);
    if (!fits) return false;
    copy_runs_by(digits, split, s_tile, s.base, tile.count);
    if (blockIdx.x == 0) write_bounds(split.bound, cells, numbers, s.plan);
    return true;
}

/* ---- the kernel -------------------------------------------------------------------------------------------------------------- */

/* ROWS, dynamic shared memory, and what happens if buckets do not fit: as split_fused(). */
template <typename KEY, typename ITEM, int ROWS>
__global__ void __launch_bounds__(FUSED_THREADS, 1) split_fused_cells(const __grid_constant__ struct fused_cells_job job) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct fused_cells_desk<KEY> s;
    wait_for_predecessor();
    const struct split_job &split = job.split;
    const uint32_t t = threadIdx.x, warp = t / 32, rows = split.tile_items / FUSED_THREADS, first = blockIdx.x * split.tile_items;
    const uint32_t count = min(split.n - first, split.tile_items), start = warp * 32 * rows + t % 32;
    constexpr bool VALUES = sizeof(ITEM) == sizeof(KEY) && ROWS * sizeof(KEY) <= VALUE_ROWS_NBYTES;
    KEY sampled = VALUES ? spaced_key<KEY>(split) : drawn_key<KEY>(split); /* before the tile, which is on its way meanwhile */
    struct fused_tile<KEY, ROWS> tile = {
        {}, rows, first, start, count, items_of_warp(warp, rows, count)
    };
    const KEY *src = (const KEY *)split.in + first + start;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (row >= (int)rows) break;
        if (tile.items.has(row)) tile.images[row] = src[row * 32];
    }
    if constexpr (sizeof(ITEM) > sizeof(KEY)) copy_values(split, first, count);
    s.places[t] = s.base[t] = s.entries[t] = 0;
    if (t < VALUE_COARSE) s.coarse[t] = 0;
    if (t == 0) {
        s.turn = job.totals->turn;
        s.plan.ndivided = 0;
    }
    __syncthreads(); /* zeroes before counts; and whoever adds to the totals has read the turn */
    const struct key_order<KEY> order(split);
    ITEM *s_tile = (ITEM *)s_memory;
    bool by_value = false, in_runs = true;
    struct value_plan<KEY> plan;
    KEY least, most;
    find_ends(&least, &most, order.image(sampled), s);
    if constexpr (VALUES) {
        by_value = plan_by_value(&plan, split, order.image(sampled), value_range<KEY>(least, most, FUSED_THREADS), s);
        if (!by_value) { /* only now, as all CTAs ask for the same keys, which takes 1 us */
            sampled = drawn_key<KEY>(split);
            find_ends(&least, &most, order.image(sampled), s);
        }
    }
    const struct float_cells<KEY> cells(lowest_cell_below(max(magnitude_of(least), magnitude_of(most))));
    const bool crowded = !by_value && is_crowded(split, cells, order.image(sampled), FUSED_NUMBERS, s.entries);
    order.make_images(tile.images);
    if constexpr (VALUES) {
        if (by_value && move_by_value(job, tile, plan, s_tile, s)) return;
    }
    if (crowded) {
        in_runs = false;
        if (blockIdx.x == 0) announce_cells(job, s.turn, false, 0); /* nobody adds to the totals: the turn may be read later than this */
    } else if (!by_value && move_by_cells(&in_runs, job, tile, cells, s_tile, s)) {
        return;
    }
    if constexpr (sizeof(ITEM) > sizeof(KEY)) {
        /* what goes with skewed keys is moved by rounds */
    } else if constexpr (ROWS <= SAMPLED_MAX_ROWS) {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            if (!in_runs && tile.items.has(row)) s_tile[start + row * 32] = tile.images[row];
        }
        __syncthreads(); /* the tile, if it was not yet in runs */
        if (split_by_sample<KEY, ROWS>(split, job.more, count, s_memory)) return;
    } else {
        static_assert(sizeof s >= SPLITTER_CELLS * sizeof(uint32_t), "nobody needs it any more");
        __syncthreads();
        if (split_by_splitters<KEY, ROWS, false>(split, job.more, count, s_memory, (uint32_t *)&s)) return;
    }
    clear_stable(job.stable);
}

#endif
