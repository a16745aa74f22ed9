/* sort_fused_cells.cuh: sort_fused.cuh for floats: by their values, if a sample says that these are spread about evenly
 * (sort_by_value.cuh):
 *
 *     each CTA       looks at a sample, the same in all, while its tile is on its way
 *                    counts the tile by digit, adds its counts to the totals, brings the tile into runs in shared memory
 *     waits          until the totals add up to n, and copies its runs to the digits' places; a digit or some neighbours are a bucket
 *
 * or else, unless keys crowd in what must be one bucket, by cells, histogram and partition in one launch:
 *
 *     each CTA       loads its tile, counts it by cell (sort_digits.cuh), adds its counts to the totals
 *     waits          until the totals add up to n
 *     each CTA       numbers the buckets, all alike (sort_cells.cuh); counts its tile by number, adds these counts to other totals
 *                    brings the tile into runs in shared memory
 *     waits          until those add up to n, and copies its runs to their buckets
 *
 * Cost: keys read once and written once; half a microsecond for the sample, and one or two for a second wait. */
#ifndef UPSWEEP_CUDA_SORT_FUSED_CELLS_CUH
#define UPSWEEP_CUDA_SORT_FUSED_CELLS_CUH

#include "sort_cells.cuh"
#include "sort_fused.cuh"

#define FUSED_NUMBERS FUSED_THREADS /* a thread a number, and a cell */

static_assert(FUSED_THREADS == CELL_THREADS, "a thread a cell");

struct fused_cells_job {
    struct split_job split; /* one partition; tile_items: some rows of FUSED_THREADS */
    cell_totals *totals;
    struct skewed_totals *more; /* what follows: as in struct fused_job */
    struct rounds_exchange *exchange;
    struct sort_header *stable;
};

/* How keys are divided by value. */
template <typename KEY> struct value_plan {
    struct value_digits<KEY> digits;
    uint32_t ndigits, most; /* keys of a digit, at most */
    uint32_t bucket_keys;   /* 0: a digit is a bucket; else as many as a bucket has on average: half a digit may be beyond at either end */
};

template <typename KEY> struct fused_cells_desk {
    uint32_t places[FUSED_NUMBERS], base[FUSED_NUMBERS], entries[CELLS], sums[2][32];
    __align__(8) uint32_t coarse[VALUE_COARSE];
    uint32_t turn;
    KEY ends[2][32];
    struct cell_desk plan;
    bool by_value;
    struct value_plan<KEY> value;
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

/* Are there registers for the digits of a tile beside its images? Then they are at hand when its runs are copied, too. */
template <typename KEY, typename ITEM, int ROWS>
static constexpr bool KEEPS_DIGITS = sizeof(ITEM) == sizeof(KEY) && (sizeof(KEY) + sizeof(uint32_t)) * ROWS <= 160;

/* They lie behind the tile, where further attempts have their desk. */
template <typename ITEM> static __device__ __forceinline__ uint16_t *digits_of_tile(const struct split_job &split, ITEM *s_tile) {
    return (uint16_t *)(s_tile + split.tile_items);
}

/* Counts a tile by so many digits, adds its counts to totals, thread t for digit t, and brings the tile into runs. Returns where digit t
 * starts; *total: how many keys it has. s.places are zero before; a barrier must follow, and then s.base says where the runs go. */
template <typename ITEM, typename KEY, int ROWS, typename DIGITS>
static __device__ __forceinline__ uint32_t bring_into_runs(uint32_t *total, const struct split_job &split,
                                                           const struct fused_tile<KEY, ROWS> &tile, uint32_t *my_total, uint32_t ndigits,
                                                           const DIGITS &digits, ITEM *s_tile, struct fused_cells_desk<KEY> &s) {
    const uint32_t t = threadIdx.x;
    constexpr bool KEPT = KEEPS_DIGITS<KEY, ITEM, ROWS>;
    uint16_t *s_digits = digits_of_tile(split, s_tile);
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
    const auto put = [&](int row, uint32_t place) {
        s_tile[place] = make_item<ITEM>(tile.images[row], tile.first + tile.start + row * 32, split.bits.index_shift);
        if constexpr (KEPT) s_digits[place] = (uint16_t)(ranked[row] >> 16);
    };
    if constexpr (KEPT)
        tile.items.for_each<ROWS, ROWS_TOGETHER>([&](int row) { return s.places[ranked[row] >> 16] + (ranked[row] & 0xffff); }, put);
    else
        tile.items.for_each<ROWS, ROWS_TOGETHER>([&](int row) { return s.places[digits.of(tile.images[row])] + ranks.get(row); }, put);
    const uint32_t start = await_totals(total, my_total, t < ndigits, split.n, s.sums);
    s.base[t] = start + before - place;
    return start;
}

template <bool KEPT, typename ITEM, typename DIGITS>
static __device__ __forceinline__ void copy_runs_by(const DIGITS &digits, const struct split_job &split, ITEM *s_tile,
                                                    const uint32_t *s_base, uint32_t count) {
    constexpr bool HALVES = sizeof(ITEM) > sizeof(typename DIGITS::image_type);
    const uint16_t *s_digits = digits_of_tile(split, s_tile);
    ITEM *dst = (ITEM *)split.tmp;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < count; i += FUSED_THREADS) {
        const ITEM item = s_tile[i];
        put_item<HALVES>(split, dst, s_base[KEPT ? s_digits[i] : digits.of(item)] + i, item);
    }
}

/* ---- by value ---------------------------------------------------------------------------------------------------------------- */

/* This thread's key of a sample drawn at random. */
template <typename KEY> static __device__ __forceinline__ KEY drawn_key(const struct split_job &split) {
    return sampled_key((const KEY *)split.in, split);
}

/* What is not finite counts as 0. */
template <typename KEY> static __device__ __forceinline__ KEY finite_image(KEY image) {
    return isfinite(value_of(image)) ? image : (KEY)((KEY)1 << (sizeof(KEY) * 8 - 1));
}

/* The ends of a sample, of which each thread has a key. */
template <typename KEY>
static __device__ __forceinline__ void find_ends(KEY *least, KEY *most, KEY sampled, struct fused_cells_desk<KEY> &s) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const KEY finite = finite_image(sampled);
    const KEY least_here = least_of_warp(finite), most_here = (KEY)~least_of_warp((KEY)~finite);
    if (lane == 0) {
        s.ends[0][warp] = least_here;
        s.ends[1][warp] = most_here;
    }
    __syncthreads(); /* the ends of all warps */
    *least = least_of_warp(s.ends[0][lane]);
    *most = (KEY)~least_of_warp((KEY)~s.ends[1][lane]);
}

static_assert(SAMPLERS * SAMPLER_KEYS == FUSED_THREADS, "a sample of as many keys as one drawn by all threads");

/* A sampler's keys: neighbours, since those of one sector are read at once; at one of as many places at equal distances as there are
 * samplers, so that the input may be sorted. Keys that come by turns then seem to be of few ranges, and are not divided by value, as their
 * bins would be deep. */
template <typename KEY> static __device__ __forceinline__ void get_spaced_keys(KEY (&keys)[SAMPLER_KEYS], const struct split_job &split) {
    union {
        uint4 vectors[sizeof keys / sizeof(uint4)];
        KEY keys[SAMPLER_KEYS];
    } sector;
    const uint64_t place = threadIdx.x % 32 * (SAMPLERS / 32) + threadIdx.x / 32; /* those of a warp are from all over the input */
    const uint32_t stretch = split.n / SAMPLERS, inset = draw_below(stretch - min(stretch, 2u * SAMPLER_KEYS), 0, split.seed);
    const KEY *near = (const KEY *)split.in + place * split.n / SAMPLERS + inset;
    const uint4 *from = (const uint4 *)(((uintptr_t)near + sizeof sector - 1) / sizeof sector * sizeof sector);
#pragma unroll
    for (uint32_t i = 0; i < sizeof sector / sizeof(uint4); i++) sector.vectors[i] = from[i];
#pragma unroll
    for (int i = 0; i < SAMPLER_KEYS; i++) keys[i] = sector.keys[i];
}

/* The keys of the densest part of a sample, or of the densest four neighbouring ones, on average, if no part alone has far more: a part has
 * so few that the one with most is half as full again by chance. Lane i has parts 2 i and 2 i + 1. A warp calls it. */
static __device__ __forceinline__ float densest_part(const uint32_t *s_coarse) {
    const uint2 two = ((const uint2 *)s_coarse)[threadIdx.x % 32];
    const uint32_t pair = two.x + two.y, next = __shfl_down_sync(~0u, pair, 1), four = threadIdx.x % 32 < 31 ? pair + next : pair;
    const float alone = (float)~least_of_warp(~max(two.x, two.y)), mean = (float)~least_of_warp(~four) / 4;
    return alone > mean + 5 * sqrtf(mean) ? alone : mean;
}

/* A digit a bucket, and as many as all run at once, if so few are small enough where the sample is densest; else the fewest that are, and
 * buckets of some of them that all run at once, or more if these are too big. False if there are none, since keys lie too unevenly. */
template <typename KEY>
static __device__ __forceinline__ bool choose_digits(struct value_plan<KEY> *plan, const struct split_job &split,
                                                     const struct value_range<KEY> &range, float densest) {
    const float keys = densest * (float)split.n * ((float)VALUE_COARSE / FUSED_THREADS); /* if all parts were so dense */
    const uint32_t at_once = split.n / split.value_keys;
    plan->ndigits = at_once;
    plan->most = split.bucket_max;
    plan->bucket_keys = 0;
    bool good = at_once <= VALUE_DIGITS && keys * VALUE_SPARE < (float)at_once * (float)split.bucket_max;
    uint32_t bucket_keys = split.value_keys;
    for (int more = 0; more < 2 && !good; more++, bucket_keys = bucket_keys / 2 + 1) {
        plan->most = split.bucket_max - bucket_keys;
        plan->bucket_keys = bucket_keys;
        const float ndigits = keys * VALUE_SPARE / (float)min(plan->most, 2 * bucket_keys); /* not too large, so that buckets are even */
        good = ndigits <= VALUE_DIGITS;
        plan->ndigits = ndigits <= VALUE_DIGITS / 4 ? VALUE_DIGITS / 4 : ndigits <= VALUE_DIGITS / 2 ? VALUE_DIGITS / 2 : VALUE_DIGITS;
    }
    plan->digits = range.digits(plan->ndigits);
    return good && plan->digits.is_good(plan->ndigits);
}

/* The range of a sample: the least and the greatest key of each of its warps, in turn in all lanes. If it is less than half as wide without
 * the warp that has the least, and that with the greatest, these are far from all others, and count as what is beyond. A warp calls it. */
template <typename KEY> static __device__ __forceinline__ void set_range(struct value_range<KEY> *range, KEY least_here, KEY most_here) {
    constexpr KEY NONE = (KEY) ~(KEY)0;
    const KEY least = least_of_warp(least_here), most = (KEY)~least_of_warp((KEY)~most_here);
    const KEY next_least = least_of_warp(least_here == least ? NONE : least_here);
    const KEY next_most = (KEY)~least_of_warp(most_here == most ? NONE : (KEY)~most_here);
    const bool far =
        2 * (value_of(next_most) - value_of(next_least)) < value_of(most) - value_of(least); /* false of what is not a number */
    const bool alone = far && next_least < next_most;
    range->set(alone ? next_least : least, alone ? next_most : most, SAMPLERS * SAMPLER_KEYS);
}

/* Are keys to be divided by value, and how? To s.by_value and s.value. sampled: of the samplers. All threads call it, though the others do
 * nothing but wait, so that the loads of their tiles come first; a barrier must follow. */
template <typename KEY>
static __device__ __forceinline__ void plan_by_value(const struct split_job &split, KEY (&sampled)[SAMPLER_KEYS],
                                                     struct fused_cells_desk<KEY> &s) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool samples = threadIdx.x < SAMPLERS;
    if (threadIdx.x < VALUE_COARSE) s.coarse[threadIdx.x] = 0;
    if (samples) {
        key_order<KEY>(split).make_images(sampled);
        KEY least = (KEY) ~(KEY)0, most = 0;
#pragma unroll
        for (int i = 0; i < SAMPLER_KEYS; i++) {
            const KEY finite = finite_image(sampled[i]);
            least = min(least, finite);
            most = max(most, finite);
        }
        least = least_of_warp(least);
        most = (KEY)~least_of_warp((KEY)~most);
        if (lane == 0) {
            s.ends[0][warp] = least;
            s.ends[1][warp] = most;
        }
    }
    __syncthreads(); /* the ends of all warps; zeroes before counts */
    const uint32_t sampler = lane % (SAMPLERS / 32);
    value_range<KEY> range;
    if (samples) {
        set_range(&range, s.ends[0][sampler], s.ends[1][sampler]);
#pragma unroll
        for (int i = 0; i < SAMPLER_KEYS; i++) {
            const uint32_t part = range.part_of(sampled[i]);
            uint32_t nlanes;
            sample_digit(part, true, &nlanes);
            if (nlanes <= VALUE_CROWD)
                atomicAdd(&s.coarse[part], 1);
            else if (lane == 0) /* in vain; and many lanes would wait for each other */
                atomicAdd(&s.coarse[0], FUSED_THREADS);
        }
    }
    __syncthreads(); /* all counts */
    if (warp > 0) return;
    struct value_plan<KEY> plan;
    const bool good = choose_digits(&plan, split, range, densest_part(s.coarse));
    if (lane > 0) return;
    s.by_value = good;
    s.value = plan;
}

static_assert(VALUE_COARSE == 64, "two a lane");

/* One CTA calls it: a digit, of which thread t knows the t-th, is a bucket, or belongs to the one that its middle is in. But what is beyond
 * the range is apart, and else keys would not lie evenly in a bucket: where they begin or end, another one begins; and where they are
 * sparse, another after so many digits. */
template <typename KEY>
static __device__ __forceinline__ void announce_by_value(const struct fused_cells_job &job, const struct value_plan<KEY> &value,
                                                         uint32_t start, uint32_t total, struct fused_cells_desk<KEY> &s) {
    const uint32_t t = threadIdx.x, bucket = value.bucket_keys ? (start + total / 2) / value.bucket_keys : t;
    const uint32_t width = max(value.ndigits / VALUE_SPARSE, 1u);
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
    const uint32_t start =
        bring_into_runs(&total, job.split, tile, job.totals->of(s.turn, threadIdx.x), plan.ndigits, plan.digits, s_tile, s);
    const bool fits = !__syncthreads_or(total > plan.most); /* also: the tile is in runs, and each run has its place */
    if (announces()) {
        if (fits)
            announce_by_value(job, plan, start, total, s);
        else
            announce_cells(job, s.turn, false, 0);
    }
    if (fits) copy_runs_by<KEEPS_DIGITS<KEY, KEY, ROWS>>(plan.digits, job.split, s_tile, s.base, tile.count);
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
        end = bring_into_runs(&total, split, tile, job.totals->of(s.turn, CELLS + t), FUSED_NUMBERS, digits, s_tile, s) + total;
        fits = !__syncthreads_or(total > split.bucket_max); /* also: the tile is in runs, and each run has its place */
    }
    if (announces()) announce_cells(job, s.turn, fits, end);
    if (!fits) return false;
    copy_runs_by<KEEPS_DIGITS<KEY, ITEM, ROWS>>(digits, split, s_tile, s.base, tile.count);
    if (announces()) write_bounds(split.bound, cells, numbers, s.plan);
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
    const uint32_t count = first < split.n ? min(split.n - first, split.tile_items) : 0, start = warp * 32 * rows + t % 32;
    constexpr bool VALUES = sizeof(ITEM) == sizeof(KEY) && ROWS * sizeof(KEY) <= VALUE_ROWS_NBYTES;
    KEY sampled = 0, spaced[SAMPLER_KEYS]; /* before the tile, which is on its way meanwhile */
    if constexpr (!VALUES) sampled = drawn_key<KEY>(split);
    if (VALUES && t < SAMPLERS) get_spaced_keys(spaced, split);
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
    if (t == 0) {
        s.turn = job.totals->turn;
        s.plan.ndivided = 0;
    }
    if constexpr (VALUES) plan_by_value(split, spaced, s);
    __syncthreads(); /* zeroes before counts; whoever adds to the totals has read the turn; the plan by value */
    const struct key_order<KEY> order(split);
    ITEM *s_tile = (ITEM *)s_memory;
    bool by_value = false, in_runs = true;
    KEY least = 0, most = 0;
    if constexpr (VALUES) by_value = s.by_value;
    if (!by_value) {
        if constexpr (VALUES) sampled = drawn_key<KEY>(split); /* only now, as all CTAs ask for the same keys, which takes 1 us */
        find_ends(&least, &most, order.image(sampled), s);
    }
    const struct float_cells<KEY> cells(lowest_cell_below(max(magnitude_of(least), magnitude_of(most))));
    const bool crowded = !by_value && is_crowded(split, cells, order.image(sampled), FUSED_NUMBERS, s.entries);
    order.make_images(tile.images);
    if constexpr (VALUES) {
        if (by_value && move_by_value(job, tile, s.value, s_tile, s)) return;
    }
    if (crowded) {
        in_runs = false;
        if (announces()) announce_cells(job, s.turn, false, 0); /* nobody adds to the totals: the turn may be read later than this */
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
        return split_or_sort<KEY, ROWS>(split, job.more, job.exchange, job.stable, count, s_memory);
    } else {
        static_assert(sizeof s >= SPLITTER_CELLS * sizeof(uint32_t), "nobody needs it any more");
        static_assert(!KEEPS_DIGITS<KEY, ITEM, ROWS> || sizeof(struct splitter_desk<KEY>) >= ROWS * FUSED_THREADS * sizeof(uint16_t),
                      "behind the tile there is room for digits");
        __syncthreads();
        if (split_by_splitters<KEY, ROWS, false>(split, job.more, count, s_memory, (uint32_t *)&s)) return;
    }
    clear_stable(job.stable);
}

#endif
