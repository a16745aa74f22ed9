/* sort_partition.cuh: moves keys to their buckets, in no order within a bucket.
 *
 *     count the digits of a tile of keys            atomics in shared memory
 *     reserve room for them in each bucket          an atomic a tile and digit on the bucket's cursor: starts are exact, so it is there
 *     scatter the keys to runs in shared memory     each takes the next place of its digit, again by an atomic
 *     copy the runs to their buckets                as they come, or whole lines, a warp a run
 *
 * Two partitions in a row split further than one can: more digits would mean runs shorter than a line of memory. The first splits the input
 * by the top bits; the second splits each coarse bucket, whose tiles it finds in a table. Cost: keys read once and written once.  Source:
 * as sort_split.cuh. */
#ifndef UPSWEEP_CUDA_SORT_PARTITION_CUH
#define UPSWEEP_CUDA_SORT_PARTITION_CUH

#include "sort_item.cuh"

#define ROWS_TOGETHER 4 /* rows, together, of tiles that may have fewer than there is code for */

/* FIRST: of the input. */
template <typename ITEM, bool FIRST> struct partition_shape {
    static constexpr int ROWS = sizeof(ITEM) == 8 ? SPLIT_ROWS_WIDE : FIRST ? SPLIT_ROWS_FIRST : SPLIT_ROWS_NARROW;
};

/* The coarse bucket that tile number `tile` of the second partition belongs to. */
static __device__ __forceinline__ uint32_t coarse_of_tile(const struct split_job &job, uint32_t tile) {
    uint32_t low = 0, high = 1u << job.coarse_bits; /* coarse_tile[low] <= tile < coarse_tile[high] */
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (job.header->coarse_tile[middle] <= tile)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The same if many lanes of a row have the favourite digit, and would wait for each other: they find each other by ballot, and all of the
 * warp's are counted at once. */
template <int ROWS, typename KEY, typename DIGITS>
static __device__ __forceinline__ void count_favoured(struct packed_ranks<ROWS> &ranks, const KEY (&images)[ROWS],
                                                      const struct warp_items &items, uint32_t *s_counts, const DIGITS &digits,
                                                      uint32_t favourite) {
    uint32_t lower_lanes, nfavoured = 0;
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lower_lanes));
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t digit = digits.of(images[row]);
        const bool valid = items.has(row), favoured = valid && digit == favourite;
        const uint32_t lanes = __ballot_sync(~0u, favoured);
        if (favoured)
            ranks.set(row, nfavoured + __popc(lanes & lower_lanes));
        else if (valid)
            ranks.set(row, atomicAdd(&s_counts[digit], 1));
        nfavoured += __popc(lanes);
    }
    uint32_t before = threadIdx.x % 32 == 0 ? atomicAdd(&s_counts[favourite], nfavoured) : 0;
    before = __shfl_sync(~0u, before, 0);
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (digits.of(images[row]) == favourite) ranks.add(row, before);
    }
}

/* Counts the digits of a warp's keys; a key's rank is how many of its digit were counted before it. SKEWED: made for frequent digits; FEW:
 * for tiles that may have fewer rows; TOGETHER: some rows are under way at once, or, unless FEW, all, those that are not there, too, and
 * add nothing. */
template <bool SKEWED, bool FEW, bool TOGETHER = false, int ROWS, typename KEY, typename DIGITS>
static __device__ __forceinline__ void count_warp(struct packed_ranks<ROWS> &ranks, const KEY (&images)[ROWS],
                                                  const struct warp_items &items, uint32_t *s_counts, const DIGITS &digits) {
    uint32_t nlanes;
    const uint32_t digit = sample_digit(digits.of(images[0]), items.has(0), &nlanes);
    if (nlanes == 32 && all_have(digits, digit, images, items)) { /* at once, instead of one after the other */
        const uint32_t before = threadIdx.x % 32 == 0 ? atomicAdd(&s_counts[digit], items.n) : 0;
        return rank_uniform_warp(ranks, __shfl_sync(~0u, before, 0));
    }
    if (SKEWED && nlanes > SORT_CROWD) return count_favoured(ranks, images, items, s_counts, digits, digit);
    const auto count = [&](int row) { return atomicAdd(&s_counts[digits.of(images[row])], 1); };
    if constexpr (FEW) {
        items.template for_each<ROWS, TOGETHER ? ROWS_TOGETHER : 1>(count, [&](int row, uint32_t rank) { ranks.set(row, rank); });
    } else {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            if (TOGETHER)
                ranks.set(row, atomicAdd(&s_counts[digits.of(images[row])], items.has(row) ? 1 : 0));
            else if (items.has(row))
                ranks.set(row, count(row));
        }
    }
}

/* The same with digits of floats. */
template <bool SKEWED, bool FEW, int ROWS, typename KEY, typename IMAGE, template <typename> class DIGITS>
static __device__ __forceinline__ void count_warp(struct packed_ranks<ROWS> &ranks, const KEY (&images)[ROWS], struct warp_items items,
                                                  uint32_t *s_counts, const DIGITS<IMAGE> &digits) {
    const uint32_t digit = digits.of(images[0]), first = __shfl_sync(~0u, digit, 0);
    if (items.n >= 32 && __all_sync(~0u, digit == first) && all_have(digits, first, images, items)) { /* as in nearly sorted input */
        const uint32_t before = threadIdx.x % 32 == 0 ? atomicAdd(&s_counts[first], items.n) : 0;
        return rank_uniform_warp(ranks, __shfl_sync(~0u, before, 0));
    }
    const auto count = [&](int row) { return atomicAdd(&s_counts[digits.of(images[row])], 1); };
    if constexpr (FEW) {
        items.for_each<ROWS, ROWS_TOGETHER>(count, [&](int row, uint32_t rank) { ranks.set(row, rank); });
    } else {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            if (items.has(row)) ranks.set(row, count(row));
        }
    }
}

/* The same, if there are registers for it. ranked[]: each key's digit, and below it its rank: cheaper kept than found out again. */
template <bool FEW, int ROWS, typename KEY, typename DIGITS>
static __device__ __forceinline__ void count_ranked(uint32_t (&ranked)[ROWS], const KEY (&images)[ROWS], struct warp_items items,
                                                    uint32_t *s_counts, const DIGITS &digits) {
    const uint32_t digit = digits.of(images[0]), first = __shfl_sync(~0u, digit, 0);
    if (items.n >= 32 && __all_sync(~0u, digit == first) && all_have(digits, first, images, items)) { /* as in nearly sorted input */
        uint32_t before = threadIdx.x % 32 == 0 ? atomicAdd(&s_counts[first], items.n) : 0;
        before = __shfl_sync(~0u, before, 0) + threadIdx.x % 32;
#pragma unroll
        for (int row = 0; row < ROWS; row++) ranked[row] = first << 16 | (before + row * 32);
        return;
    }
    const auto rank = [&](int row) {
        const uint32_t other = digits.of(images[row]);
        return other << 16 | atomicAdd(&s_counts[other], 1);
    };
    if constexpr (FEW) {
        items.for_each<ROWS, ROWS_TOGETHER>(rank, [&](int row, uint32_t both) { ranked[row] = both; });
    } else {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            if (items.has(row)) ranked[row] = rank(row);
        }
    }
}

/* Shared memory. */
template <uint32_t NDIGITS> struct digit_partition {
    uint32_t counts[NDIGITS]; /* of each digit in the tile */
    uint32_t base[NDIGITS];   /* where a digit's items go, less their place in the tile */
    uint32_t sums[32];
    uint32_t uneven;          /* not 0: some digit has more than RUN_MOST items; zeroed, and asked, by those who write long runs */
    uint16_t places[NDIGITS]; /* in the tile; of 16 bits, since packed words meet less in a bank */
};

/* Turns the counts of a tile's digits into places in it. Of several digits a thread has neighbours. Counts are read twice, as there are no
 * registers to keep them. */
template <uint32_t THREADS, uint32_t NDIGITS>
static __device__ __forceinline__ void place_digits(struct digit_partition<NDIGITS> &s, uint32_t ndigits) {
    constexpr uint32_t PER_THREAD = (NDIGITS + THREADS - 1) / THREADS;
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < PER_THREAD; i++) {
        const uint32_t digit = threadIdx.x * PER_THREAD + i;
        sum += digit < ndigits ? s.counts[digit] : 0;
    }
    uint32_t place = scan_threads(sum, s.sums);
#pragma unroll
    for (uint32_t i = 0; i < PER_THREAD; i++) {
        const uint32_t digit = threadIdx.x * PER_THREAD + i;
        if (digit >= ndigits) break;
        s.places[digit] = (uint16_t)place;
        place += s.counts[digit];
    }
}

/* The same, and reserves room for them by the cursors; returns how far that goes at most. start(digit): where the digit's items go at all.
 * Of several digits a thread has here those that are THREADS apart, so that the cursors of a warp are neighbours. */
template <uint32_t THREADS, uint32_t NDIGITS, typename START>
static __device__ __forceinline__ uint32_t reserve_digits(struct digit_partition<NDIGITS> &s, uint32_t *cursors, uint32_t ndigits,
                                                          const START &start) {
    constexpr uint32_t PER_THREAD = (NDIGITS + THREADS - 1) / THREADS;
    uint32_t base[PER_THREAD], reach = 0;
#pragma unroll
    for (uint32_t i = 0; i < PER_THREAD; i++) {
        const uint32_t digit = threadIdx.x + i * THREADS, count = digit < ndigits ? s.counts[digit] : 0;
        base[i] = count ? atomicAdd(&cursors[digit], count) : 0;
        if (count > RUN_MOST) s.uneven = 1;
    }
    place_digits<THREADS>(s, ndigits); /* while the cursors are on their way */
#pragma unroll
    for (uint32_t i = 0; i < PER_THREAD; i++) {
        const uint32_t digit = threadIdx.x + i * THREADS;
        if (digit >= ndigits) break;
        reach = max(reach, base[i] + s.counts[digit]);
        s.base[digit] = base[i] + start(digit) - (PER_THREAD == 1 ? s.places[digit] : 0);
    }
    return reach;
}

/* Takes from where the digits' items go their places in the tile, once all threads have found these. A barrier must follow. */
template <uint32_t THREADS, uint32_t NDIGITS>
static __device__ __forceinline__ void settle_digits(struct digit_partition<NDIGITS> &s, uint32_t ndigits) {
#pragma unroll
    for (uint32_t digit = threadIdx.x; digit < NDIGITS; digit += THREADS) {
        if (digit < ndigits) s.base[digit] -= s.places[digit];
    }
}

/* Puts a thread's items into runs: put(row, place). */
template <int ROWS, typename ITEM, typename DIGITS, typename PUT>
static __device__ __forceinline__ void scatter_items(const ITEM (&images)[ROWS], const struct warp_items &items,
                                                     const struct packed_ranks<ROWS> &ranks, const uint16_t *s_places, const DIGITS &digits,
                                                     const PUT &put) {
    items.for_each<ROWS, ROWS_TOGETHER>([&](int row) { return s_places[digits.of(images[row])] + ranks.get(row); }, put);
}

/* Are a tile's runs, on average, so long that it is worth while to write them in whole lines? */
static __device__ __forceinline__ bool are_long_runs(uint32_t tile_nbytes, uint32_t ndigits) { return tile_nbytes >= ndigits * RUN_NBYTES; }

/* Writes them, each by a warp, in whole lines: a fifth fewer requests for the L2 cache than if each warp wrote what comes next. get(i): the
 * item in place i of the tile; put(at, k, item): writes it k places from `at` on. */
template <uint32_t THREADS, uint32_t NDIGITS, typename GET, typename PUT>
static __device__ __forceinline__ void write_runs(const struct digit_partition<NDIGITS> &s, uint32_t ndigits, const GET &get,
                                                  const PUT &put) {
    typedef decltype(get(0)) item;
    constexpr int TOGETHER = sizeof(item) == 8 ? RUN_ROWS_WIDE : RUN_ROWS;
    const int32_t lane = (int32_t)(threadIdx.x % 32);
    for (uint32_t digit = threadIdx.x / 32; digit < ndigits; digit += THREADS / 32) {
        const int32_t place = s.places[digit], end = place + (int32_t)s.counts[digit];
        const uint32_t base = s.base[digit];
        for (int32_t first = place - (int32_t)((base + (uint32_t)place) % 32); first < end; first += 32 * TOGETHER) {
            const int32_t i = first + lane;
            item items[TOGETHER];
#pragma unroll
            for (int row = 0; row < TOGETHER; row++) {
                if (i + row * 32 < end && (row > 0 || i >= place)) items[row] = get(i + row * 32);
            }
#pragma unroll
            for (int row = 0; row < TOGETHER; row++) {
                if (i + row * 32 < end && (row > 0 || i >= place)) put(base + (uint32_t)i, row * 32, items[row]);
            }
        }
    }
}

/* A tile: its keys, the index of the first, their number; where the next key of each digit goes. */
template <typename KEY> struct tile_of_partition {
    const KEY *src;
    uint32_t first, count, rows;
    uint32_t *cursors;
};

/* Moves a tile's items to dst. All threads call it. s_memory: room for a tile. */
template <typename KEY, typename ITEM, bool SECOND, int ROWS, typename DIGITS, uint32_t NDIGITS>
static __device__ __forceinline__ void partition_tile(const struct split_job &job, const struct tile_of_partition<KEY> &tile,
                                                      const DIGITS &digits, const struct key_order<KEY> &order, ITEM *dst,
                                                      unsigned char *s_memory, struct digit_partition<NDIGITS> &s_partition) {
    ITEM *s_tile = hold_address((ITEM *)s_memory);
    struct digit_partition<NDIGITS> &s = *hold_address(&s_partition);
    for (uint32_t digit = threadIdx.x; digit <= digits.mask; digit += SPLIT_THREADS) s.counts[digit] = 0;

    const uint32_t warp = threadIdx.x / 32, rows = tile.rows, start = warp * 32 * rows + threadIdx.x % 32;
    const struct warp_items items = items_of_warp(warp, rows, tile.count);
    const KEY *src = tile.src + start;
    KEY keys[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++) keys[row] = items.has(row) ? src[row * 32] : (KEY)0;
    struct packed_ranks<ROWS> ranks = {};
    __syncthreads(); /* zeroes before counts */
    ITEM images[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++)
        images[row] =
            SECOND ? (ITEM)keys[row] : make_item<ITEM>(order.image(keys[row]), tile.first + start + row * 32, job.bits.index_shift);
    count_warp<false, false>(ranks, images, items, s.counts, digits);
    __syncthreads(); /* all counts */

    reserve_digits<SPLIT_THREADS>(s, tile.cursors, digits.mask + 1, [](uint32_t) { return 0u; });
    __syncthreads(); /* all places */
    scatter_items(images, items, ranks, s.places, digits, [&](int row, uint32_t place) { s_tile[place] = images[row]; });
    if (NDIGITS > SPLIT_THREADS) settle_digits<SPLIT_THREADS>(s, digits.mask + 1);
    __syncthreads(); /* the tile is in runs, and each run has its place */
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < tile.count; i += SPLIT_THREADS) {
        const ITEM item = s_tile[i];
        put_item<SECOND>(job, dst, s.base[digits.of(item)] + i, item);
    }
}

/* SECOND: of two partitions, which moves items; the first makes them of keys. A CTA a tile, or one after the other: where an attempt comes
 * before, that mostly succeeds, as it takes time to start CTAs that return at once. Dynamic shared memory: a tile. */
template <typename KEY, typename ITEM, bool SECOND, typename DIGITS>
__global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_CTAS_PER_SM) split_partition(const __grid_constant__ struct split_job job) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct digit_table<DIGITS> s_table;
    __shared__ struct digit_partition<SECOND ? SORT_DIGITS : 1 << SPLIT_SINGLE_BITS> s_partition;
    wait_for_predecessor();
    if (job.header->outcome != ALL_FIT) return;

    const bool two = job.coarse_bits > 0, coarse_digit = two && !SECOND;
    const uint32_t left_out = job.header->put_together, fine_bits = job.fine_bits - left_out;
    load_entries(s_table, job);
    if (DIGITS::BY_CELLS) __syncthreads(); /* the table */
    const DIGITS digits =
        cut_number<DIGITS, ITEM>(job, coarse_digit ? job.fine_bits : left_out, coarse_digit ? job.coarse_bits : fine_bits, s_table.entries);
    const uint32_t tile_items = SECOND ? job.tile_items : job.first_items;
    const uint32_t ntiles = SECOND ? job.header->coarse_tile[1u << job.coarse_bits] : (job.n + tile_items - 1) / tile_items;
    for (uint32_t number = blockIdx.x; number < ntiles; number += gridDim.x) {
        uint32_t first = number * tile_items, end = job.n, *cursors = two ? job.header->coarse_cursor : job.cursor;
        if (SECOND) {
            const uint32_t coarse = coarse_of_tile(job, number);
            first = job.start[coarse << job.fine_bits] + (number - job.header->coarse_tile[coarse]) * tile_items;
            end = job.start[(coarse + 1) << job.fine_bits];
            cursors = job.cursor + (coarse << fine_bits);
        }
        const KEY *src = (SECOND ? (const KEY *)job.tmp : (const KEY *)job.in) + first;
        const struct tile_of_partition<KEY> tile = { src, first, min(end - first, tile_items), tile_items / SPLIT_THREADS, cursors };
        partition_tile<KEY, ITEM, SECOND, partition_shape<ITEM, !SECOND>::ROWS>(
            job, tile, digits, key_order<KEY>(job), (ITEM *)(SECOND ? job.second : job.tmp), s_memory, s_partition);
        __syncthreads(); /* nobody needs the tile any more */
    }
}

#endif
