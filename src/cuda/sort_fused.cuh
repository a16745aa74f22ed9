/* sort_fused.cuh: the histogram and the partition of a split (sort_split.cuh) in one launch, of as many keys as fit the multiprocessors.
 *
 *     each CTA       loads its tile, counts it by digit, adds its counts to the totals
 *                    brings the tile into runs in shared memory
 *     waits          until the totals add up to n: then all CTAs have added theirs
 *     each CTA       scans the totals, by itself, and copies its runs to their buckets
 *
 * The totals (sort_totals.cuh) say when they are complete, and where each CTA's keys go. All CTAs decide alike, from the same totals,
 * whether the buckets fit; if not, they leave out bits that all keys share (sort_fused_gaps.cuh), or, of keys alone, divide
 * those of their tiles by a sample (sort_fused_sample.cuh; if there are many, sort_fused_splitters.cuh); and if that fails too, they sort
 * keys alone of a few rows by rounds at once (sort_rounds.cuh), or leave the input where it is, and clear what the stable passes or rounds,
 * queued behind, must find zeroed.
 *
 * Cost: keys read once and written once; 6 us for 2^20 keys, where clearing, histogram and partition took 19.
 */
#ifndef UPSWEEP_CUDA_SORT_FUSED_CUH
#define UPSWEEP_CUDA_SORT_FUSED_CUH

#include "sort_bucket_slow.cuh"
#include "sort_by_value.cuh"
#include "sort_fused_sample.cuh"
#include "sort_fused_splitters.cuh"
#include "sort_rounds.cuh"

struct fused_job {
    struct split_job split; /* one partition; tile_items: some rows of FUSED_THREADS */
    fused_totals *totals;
    struct skewed_totals *more;       /* of further attempts */
    struct rounds_exchange *exchange; /* of keys alone that fit a few rows: of the last of these; else NULL: */
    struct sort_header *stable;       /* of the passes queued behind */
};

struct fused_desk {
    uint32_t places[FUSED_DIGITS], base[FUSED_DIGITS], sums[2][32];
    uint32_t turn;
};

/* One CTA calls it: tells the kernels behind how it went, and hands the turn over. Nothing fits: all buckets are empty. start, total: of
 * thread t's bucket. */
static __device__ __forceinline__ void announce_split(const struct fused_job &job, uint32_t turn, uint32_t ndigits, bool fits,
                                                      uint32_t start, uint32_t total) {
    const uint32_t digit = threadIdx.x, end = start + total;
    const enum split_outcome how = fits ? ALL_FIT : how_not_to_split(job.split, total);
    struct split_header *header = job.split.header;
    if (digit == 0) {
        header->outcome = how;
        job.split.start[0] = 0;
        header->sampled.nbuckets = 0;
    }
    if (digit < ndigits) job.split.start[digit + 1] = fits ? end : 0;
    job.totals->hand_over(turn);
}

/* Copies the values of a tile to where they are later read from, if the output takes their place. */
static __device__ __forceinline__ void copy_values(const struct split_job &split, uint32_t first, uint32_t count) {
    if (!split.copied) return;
    const uint32_t units = split.value_nbytes / split.value_unit;
    const uint64_t begin = (uint64_t)first * units, end = begin + (uint64_t)count * units;
    for (uint64_t i = begin + threadIdx.x; i < end; i += FUSED_THREADS) {
        const uint64_t at = i * split.value_unit;
        copy_value((char *)split.values + at, (const char *)split.copied + at, split.value_unit, split.value_unit);
    }
}

/* Copies the runs of a tile to their buckets. HALVES: known to be in halves, else whole. */
template <bool HALVES, typename ITEM>
static __device__ __forceinline__ void copy_runs(const struct split_job &split, const ITEM *s_tile, const uint32_t *s_base,
                                                 uint32_t count) {
    ITEM *dst = HALVES ? NULL : (ITEM *)split.tmp;
    const uint32_t shift = sizeof(ITEM) * 8 - split.fine_bits, mask = (1u << split.fine_bits) - 1;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < count; i += FUSED_THREADS) {
        const ITEM item = s_tile[i];
        put_item<HALVES>(split, dst, s_base[digit_of(item, shift, mask)] + i, item);
    }
}

/* Keys alone that do not fit: divides them by a sample; or sorts them; or leaves them to what is queued behind. All threads of all CTAs
 * call it: one call, so that what it needs does not burden the kernel. */
template <typename KEY, int ROWS>
static __device__ __noinline__ void split_or_sort(const struct split_job &split, struct skewed_totals *more,
                                                  struct rounds_exchange *exchange, struct sort_header *stable, uint32_t count,
                                                  unsigned char *s_memory) {
    static_assert(ROWS * FUSED_THREADS <= ROUNDS_SMALL * ROUNDS_SMALL_ROWS, "a tile is one of rounds, too");
    if (split_by_sample<KEY, ROWS>(split, more, count, s_memory)) return;
    if (exchange)
        sort_beneath<KEY>(split, exchange, s_memory);
    else
        clear_stable(stable);
}

/* Says for the passes which bits vary. sparse: half of the digits have no keys, but for strays, or more, as is so if a top bit does not
 * vary; else nobody looks. All threads of all CTAs call it, when nobody needs the shared memory any more. A call, so that what it needs
 * does not burden the kernel. */
template <typename KEY>
static __device__ __noinline__ void say_what_varies(const struct split_job &split, bool sparse, unsigned char *s_memory) {
    if (sparse)
        look_for_gaps<KEY>(split, *(uint64_t(*)[32])s_memory);
    else if (blockIdx.x == 0 && threadIdx.x == 0)
        split.seen->nctas = 0;
}

/* Numbers of the CTAs of a launch: the lowest have those that are the first on their multiprocessor. So a few CTAs that have something to
 * do are spread over all multiprocessors, though there is room for more on each. In control memory; zero before a launch, and behind it. */
struct cta_numbers {
    uint32_t drawn;      /* by those that are first, and above these by others */
    uint32_t on_sm[191]; /* if there are more multiprocessors, two may be taken for one, which does no harm */

    /* A thread of each CTA calls it, before it waits for the kernel before this one. */
    __device__ __forceinline__ uint32_t draw() {
        uint32_t sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        const bool first = atomicAdd(&on_sm[sm % 191], 1) == 0;
        const uint32_t before = atomicAdd(&drawn, first ? 1 : 1 << 16), nfirst = before & 0xffff, nothers = before >> 16;
        if (nfirst + nothers == gridDim.x - 1) *this = {}; /* all have drawn */
        return first ? nfirst : gridDim.x - 1 - nothers;
    }
};
struct fused_control {
    fused_totals totals;
    struct cta_numbers numbers;
};
static_assert(sizeof(struct fused_control) <= CUDA_CONTROL_FUSED_NBYTES, "it has a place in control memory");

/* ---- the kernels ------------------------------------------------------------------------------------------------------------- */

/* ROWS: at least tile_items / FUSED_THREADS. Dynamic shared memory: a tile of items, and what further attempts ask for. */
template <typename KEY, typename ITEM, int ROWS>
__global__ void __launch_bounds__(FUSED_THREADS, 1) split_fused(const __grid_constant__ struct fused_job job) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct fused_desk s;
    wait_for_predecessor();
    const struct split_job &split = job.split;
    const uint32_t first = blockIdx.x * split.tile_items, count = first < split.n ? min(split.n - first, split.tile_items) : 0;
    const uint32_t rows = split.tile_items / FUSED_THREADS, warp = threadIdx.x / 32, start = warp * 32 * rows + threadIdx.x % 32;
    const struct warp_items items = items_of_warp(warp, rows, count);
    const KEY *src = (const KEY *)split.in + first + start;
    KEY images[ROWS] = {};
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (row >= (int)rows) break; /* here and below: of few keys, rows that no tile has would take most of the time */
        if (items.has(row)) images[row] = src[row * 32];
    }
    if constexpr (sizeof(ITEM) > sizeof(KEY)) copy_values(split, first, count);
    const uint32_t ndigits = 1u << split.fine_bits, shift = sizeof(KEY) * 8 - split.fine_bits, digit = threadIdx.x;
    if (digit < ndigits) s.places[digit] = 0;
    if (threadIdx.x == 0) s.turn = job.totals->turn;
    const struct item_order<KEY, ITEM> order(split);
    KEY heads[ROWS];
    order.make_heads(heads, images, first + start);
    __syncthreads(); /* zeroes before counts; and whoever adds to the totals has read the turn */
    struct packed_ranks<ROWS> ranks = {};
    const struct bit_digits digits = {shift, ndigits - 1};
    constexpr bool TOGETHER = sizeof(ITEM) == sizeof(KEY); /* of items with an index it is no quicker, and of few slower */
    count_warp<true, true, TOGETHER>(ranks, heads, items, s.places, digits);
    __syncthreads(); /* all counts */

    uint32_t *my_total = job.totals->of(s.turn, digit % FUSED_DIGITS);
    const uint32_t here = digit < ndigits ? s.places[digit] : 0, before = here ? atomicAdd(my_total, here) : 0;
    const uint32_t place = scan_threads(here, s.sums[0]);
    if (digit < ndigits) s.places[digit] = place;
    __syncthreads(); /* all places */
    ITEM *s_tile = (ITEM *)s_memory;
    items.for_each<ROWS, TOGETHER ? ROWS_TOGETHER : 1>(
        [&](int row) { return s.places[digits.of(heads[row])] + ranks.get(row); },
        [&](int row, uint32_t place) { s_tile[place] = order.item_of(heads[row], images[row], first + start + row * 32); });

    uint32_t total;
    const uint32_t bucket_start = await_totals(&total, my_total, digit < ndigits, split.n, s.sums);
    if (digit < ndigits) s.base[digit] = bucket_start + before - place;
    const bool fits = !__syncthreads_or(total > split.bucket_max); /* also: the tile is in runs, and each run has its place */
    if (announces()) announce_split(job, s.turn, ndigits, fits, bucket_start, total);
    if (!fits) {
        if constexpr (ROWS <= SAMPLED_MAX_ROWS && sizeof(ITEM) > sizeof(KEY)) {
            if (split_by_gaps<KEY, ITEM, ROWS>(split, job.more, count, s_memory)) return;
        } else if constexpr (ROWS <= SAMPLED_MAX_ROWS) {
            return split_or_sort<KEY, ROWS>(split, job.more, job.exchange, job.stable, count, s_memory);
        } else if constexpr (sizeof(ITEM) == sizeof(KEY)) {
            typedef struct splitter_shape<KEY, ROWS> SHAPE;
            if (split_by_splitters<KEY, ROWS, true>(split, job.more, count, s_memory, SHAPE::counts(s_memory, split.tile_items))) return;
        }
        clear_stable(job.stable);
        if constexpr (sizeof(ITEM) == 8 && ROWS > SAMPLED_MAX_ROWS) {
            const uint32_t nused = (uint32_t)__syncthreads_count(digit < ndigits && total > split.n >> (split.fine_bits + SPARSE_BITS));
            if (split.seen) say_what_varies<KEY>(split, nused <= ndigits / 2, s_memory);
        }
        return;
    }
    if (sizeof(ITEM) > sizeof(KEY) && !split.tmp)
        copy_runs<true>(split, s_tile, s.base, count);
    else
        copy_runs<false>(split, s_tile, s.base, count);
}

/* Bucket number `number` of those by value. False: it is not for this. */
template <typename KEY, typename SHAPE>
static __device__ __forceinline__ bool sort_value_bucket(const struct split_job &job, uint32_t number,
                                                         const struct found_bucket<KEY> &found, unsigned char *s_memory,
                                                         struct bucket_desk<KEY> &s) {
    typedef typename whole_bits<KEY>::value value;
    const struct value_buckets &plan = job.header->cells.by_value;
    const uint32_t first = plan.first[number], last = plan.first[number + 1] - 1;
    if (first == 0 || last == plan.ndigits - 1) return false;
    const struct value_digits<KEY> digits = { 0, 0, (value)plan.scale, (value)plan.shift };
    return sort_bucket_by_value<KEY, SHAPE>(
        job, found, [&] { return value_bins<KEY>(digits, first, last + 1, SHAPE::BINS); }, s_memory, s);
}

/* One CTA a bucket; those that a sample has made may be more, so that a CTA goes on to others. numbers: NULL, or where CTAs draw theirs.
 * VALUES: buckets may be by value. */
template <typename KEY, typename ITEM, typename SHAPE, bool VALUES>
__global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::CTAS_PER_SM)
    fused_buckets(const __grid_constant__ struct split_job job, struct cta_numbers *numbers) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct bucket_desk<ITEM> s_desk;
    __shared__ uint32_t s_number;
    if (numbers && threadIdx.x == 0) s_number = numbers->draw();
    wait_for_predecessor();
    if (numbers) __syncthreads(); /* the number */
    const uint32_t nsampled = job.header->sampled.nbuckets, nby_value = VALUES ? job.header->cells.by_value.nbuckets : 0;
    const uint32_t nbuckets = nsampled ? nsampled : nby_value, end_number = nbuckets ? nbuckets : job.nnumbers;
    for (uint32_t number = numbers ? s_number : blockIdx.x; number < end_number; number += gridDim.x) {
        const uint32_t start = nsampled ? job.header->sampled.start[number] : job.start[number];
        const uint32_t end = nsampled ? job.header->sampled.end[number] & ~BUCKET_IS_CLOSED : job.start[number + 1];
        struct found_bucket<ITEM> found = {
            (const ITEM *)job.tmp, start, end - start, start, false, job.fine_bits, false, 0
        };
        bool sorted = start >= end;
        if constexpr (VALUES) {
            if (!sorted && nby_value) sorted = sort_value_bucket<KEY, SHAPE>(job, number, found, s_memory, s_desk);
        }
        if (!sorted) {
            found.asks = nsampled && !job.header->sampled.closed;
            found.unknown = nbuckets > 0;
            if (!nbuckets && job.cell_keys) bound_items(&found, job.bound + number, 0);
            sorted = sort_bucket<KEY, ITEM, SHAPE, false, true>(job, found, s_memory, s_desk);
            if constexpr (sizeof(ITEM) == 4 && SHAPE::ROWS > 2) { /* for those of 64 bits there are no registers */
                if (!sorted)
                    sorted = sort_closed_bucket<KEY, SHAPE>(job, (const KEY *)job.tmp + start, end - start, start, s_memory, s_desk);
            }
            if (!sorted) merge_bucket<KEY, ITEM, SHAPE>(job, start, end - start);
        }
        if (!nbuckets) return;
        if (nsampled && job.header->sampled.end[number] & BUCKET_IS_CLOSED) open_bucket<KEY>(job, number);
        __syncthreads(); /* nobody needs the shared memory any more */
    }
}

#endif
