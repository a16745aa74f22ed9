/* sort_tile.cuh: a stable partition of one tile of keys and values by one digit: what all passes of all stable sorts are made of.
 *
 *     tile of keys, in registers         3 1 2 1 | 0 3 1 2 | ...     each CTA takes the next tile
 *     rank in the tile (sort_rank.cuh)   and announce the tile's count of each digit
 *     scatter to shared memory           0 1 1 1 2 2 3 3             runs of equal digits
 *     look back (sort_lookback.cuh)      keys of each digit in earlier tiles
 *     copy each run to its place         out[start of the digit + those in earlier tiles + place in the run]
 *
 * Between the counting and the looking back lies the scatter, so that predecessors have had time to answer. Writing from runs in shared
 * memory makes neighbouring threads write neighbouring keys.
 * Cost: keys and values read once, written once, and a kilobyte of tile states.
 * Source: Adinets and Merrill, Onesweep: a faster least significant digit radix sort for GPUs, 2022. */
#ifndef UPSWEEP_CUDA_SORT_TILE_CUH
#define UPSWEEP_CUDA_SORT_TILE_CUH

#include "sort_lookback.cuh"
#include "sort_rank.cuh"
#include "sort_sums.cuh"

/* ---- values ------------------------------------------------------------------------------------------------------------------ */

/* A value in registers: nothing, or a word of 4, 8 or 16 bytes: the value itself, the index of its key, or its place in the tile. */
struct no_value {};
template <int NBYTES> struct value_word;
template <> struct value_word<0> { typedef struct no_value type; };
template <> struct value_word<4> { typedef uint32_t type; };
template <> struct value_word<8> { typedef uint64_t type; };
template <> struct value_word<16> { typedef uint4 type; };

template <typename UNIT> static __device__ __forceinline__ void copy_units(char *dst, const char *src, uint32_t nbytes) {
    for (uint32_t i = 0; i < nbytes; i += sizeof(UNIT)) *(UNIT *)(dst + i) = *(const UNIT *)(src + i);
}

/* unit: divides nbytes and both addresses. */
static __device__ __forceinline__ void copy_value(char *dst, const char *src, uint32_t nbytes, uint32_t unit) {
    switch (unit) {
    case 16:
        return copy_units<uint4>(dst, src, nbytes);
    case 8:
        return copy_units<uint64_t>(dst, src, nbytes);
    case 4:
        return copy_units<uint32_t>(dst, src, nbytes);
    case 2:
        return copy_units<uint16_t>(dst, src, nbytes);
    default:
        return copy_units<uint8_t>(dst, src, nbytes);
    }
}

/* ---- the tile at hand -------------------------------------------------------------------------------------------------------- */

/* Where this CTA's tile comes from and goes to. */
template <typename KEY> struct sort_tile {
    const KEY *keys_src; /* of its first key */
    KEY *keys_dst;       /* of the whole output; NULL: keys are not wanted any more */
    const char *values_src;
    char *values_dst;
    uint64_t first; /* index of its first key in the source */
    uint32_t count;
    bool numbered;   /* values are not read but numbers: the indices, or the places in the tile by which values are fetched */
    uint64_t number; /* the first */
};

/* The word that stands for value i of the tile. */
template <typename WORD, typename KEY> static __device__ __forceinline__ WORD value_at(const struct sort_tile<KEY> &tile, uint32_t i) {
    if constexpr (sizeof(WORD) <= sizeof(uint64_t)) {
        if (tile.numbered) return (WORD)(tile.number + i);
    }
    return ((const WORD *)tile.values_src)[i];
}

/* Writes value i of the output, which `word` stands for. */
template <typename WORD, typename KEY>
static __device__ __forceinline__ void put_value(const struct sort_job &job, const struct sort_tile<KEY> &tile, uint64_t i, WORD word) {
    if constexpr (sizeof(WORD) <= sizeof(uint64_t)) {
        const uint32_t nbytes = job.value_nbytes;
        if (job.by_place)
            return copy_value(tile.values_dst + i * nbytes, tile.values_src + (uint64_t)word * nbytes, nbytes, job.value_unit);
    }
    ((WORD *)tile.values_dst)[i] = word;
}

/* A pass that moves everything and reorders nothing. */
template <typename KEY, int VALUE_NBYTES>
static __device__ __forceinline__ void copy_tile(const struct sort_job &job, const struct sort_tile<KEY> &tile) {
    typedef typename value_word<VALUE_NBYTES>::type WORD;
    for (uint32_t i = threadIdx.x; i < tile.count; i += SORT_THREADS) {
        if (tile.keys_dst) tile.keys_dst[tile.first + i] = tile.keys_src[i];
        if constexpr (VALUE_NBYTES > 0) put_value(job, tile, tile.first + i, value_at<WORD>(tile, i));
    }
}

/* Asks for the values that a warp will move, a row of 32 a lane, to be brought nearer while the keys are ranked: a hint. */
template <typename WORD, typename KEY>
static __device__ __forceinline__ void prefetch_values(const struct sort_tile<KEY> &tile, uint32_t warp_first, uint32_t rows) {
    constexpr uint32_t LINES = sizeof(WORD) == 16 ? 4 : 1; /* of a row */
    if (tile.numbered) return;
    for (uint32_t line = threadIdx.x % 32; line < rows * LINES; line += 32) {
        const uint32_t i = warp_first + line * (32 / LINES);
        if (i < tile.count) asm volatile("prefetch.global.L2 [%0];" ::"l"((const WORD *)tile.values_src + i));
    }
}

/* Brings a thread's words, of which the first is number `start` of the tile, to their places in shared memory. */
template <int ROWS, typename WORD, typename KEY, typename ITEMS>
static __device__ __forceinline__ void scatter_words(WORD *s_words, const struct packed_ranks<ROWS> &ranks,
                                                     const struct sort_tile<KEY> &tile, ITEMS items, uint32_t start) {
    constexpr int LOADS = sizeof(WORD) == 16 ? 4 : 40 / sizeof(WORD);
#pragma unroll
    for (int first = 0; first < ROWS; first += LOADS) { /* as many loads in flight as there are registers for */
        WORD words[LOADS];
#pragma unroll
        for (int row = first; row < first + LOADS && row < ROWS; row++) {
            if (items.has(row)) words[row - first] = value_at<WORD>(tile, start + row * SORT_TEAM);
        }
#pragma unroll
        for (int row = first; row < first + LOADS && row < ROWS; row++) {
            if (items.has(row)) s_words[ranks.get(row)] = words[row - first];
        }
    }
}

/* ---- sorting it -------------------------------------------------------------------------------------------------------------- */

/* What the digits' threads tell the others. */
struct digit_sums {
    uint64_t base[SORT_DIGITS]; /* where a key of the digit goes, less its place in the tile */
    uint32_t sums[SORT_THREADS / 32];
};

/* The digit, and the tile's place among those that are partitioned together. */
struct tile_place {
    uint32_t shift, mask;
    uint32_t *states; /* [tiles][SORT_DIGITS], of all of them */
    uint32_t tile;    /* this one's number */
};

/* Calls put() with what makes images keys again: the order, unless it knows better (sort_gaps.cuh). */
template <typename ORDER, typename PUT> static __device__ __forceinline__ void undo_order(const ORDER &order, const PUT &put) {
    put(order);
}

/* Sorts one tile (sort_one_tile() below). FULL: it has all the items that ROWS can have, which leaves nothing to be asked for each.
 * STARTS: with ALONE if no tiles are sorted beside it, so that nobody looks back. ORDER: a key_order, or what stands for it. */
template <bool FULL, typename KEY, int VALUE_NBYTES, int ROWS, typename STARTS, typename ORDER>
static __device__ __forceinline__ void sort_rows_of_tile(const struct sort_job &job, struct sort_tile<KEY> tile,
                                                         const struct tile_place &at, const STARTS &starts, unsigned char *s_memory,
                                                         struct digit_sums &s, const ORDER &order) {
    typedef typename value_word<VALUE_NBYTES>::type WORD;
    constexpr int TEAMS = SORT_THREADS / SORT_TEAM;
    if (FULL) tile.count = ROWS * SORT_THREADS;
    const uint32_t rows = FULL ? ROWS : job.rows, start = first_of_thread(rows);
    const struct team_items<FULL> items = items_of_team<FULL>(rows, tile.count);
    KEY images[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++) images[row] = items.has(row) ? tile.keys_src[start + row * SORT_TEAM] : (KEY)0;
    if constexpr (VALUE_NBYTES > 0) prefetch_values<WORD>(tile, threadIdx.x / 32 * 32 * rows, rows);
    order.make_images(images);

    uint32_t *counters = (uint32_t *)s_memory, *team_counters = counters + threadIdx.x / SORT_TEAM * TEAM_WORDS;
    struct packed_ranks<ROWS> ranks;
    clear_counters(counters + threadIdx.x / 32 * (32 / SORT_TEAM) * TEAM_WORDS);
    rank_in_team(ranks, images, items, team_counters, at.shift, at.mask);
    __syncthreads(); /* all histograms are complete */

    uint32_t count = 0, *states = at.states + (uint64_t)at.tile * SORT_DIGITS;
    if (threadIdx.x < SORT_DIGITS) {
        count = sum_team_counts<TEAMS>(counters, threadIdx.x);
        if (!STARTS::ALONE) store_relaxed(states + threadIdx.x, (at.tile == 0 ? TILE_UPTO : TILE_OWN) | count);
    }
    const uint32_t digit_start = scan_threads(count, s.sums);
    if (threadIdx.x < SORT_DIGITS) store_team_starts<TEAMS>(counters, threadIdx.x, digit_start);
    __syncthreads(); /* the starts are there */
    rank_in_tile(ranks, images, team_counters, at.shift, at.mask);
    __syncthreads(); /* nobody needs the counters any more */

    KEY *s_images = (KEY *)s_memory;
    WORD *s_words = (WORD *)(s_images + rows * SORT_THREADS);
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (items.has(row)) s_images[ranks.get(row)] = images[row];
    }
    if constexpr (VALUE_NBYTES > 0) scatter_words(s_words, ranks, tile, items, start);
    if (threadIdx.x < SORT_DIGITS) {
        const uint32_t before = STARTS::ALONE ? 0 : look_back(at.states, at.tile, threadIdx.x);
        if (!STARTS::ALONE && at.tile > 0) store_relaxed(states + threadIdx.x, TILE_UPTO | (before + count));
        s.base[threadIdx.x] = starts.of(threadIdx.x, before, count) - digit_start;
    }
    __syncthreads(); /* the tile is in order, and each digit has its place */

    const uint32_t shift = at.shift, mask = at.mask;
    if constexpr (VALUE_NBYTES == 0) {
        undo_order(order, [&](const auto &undo) {
#pragma unroll 4
            for (uint32_t i = threadIdx.x; i < tile.count; i += SORT_THREADS) {
                const KEY image = s_images[i];
                tile.keys_dst[s.base[digit_of(image, shift, mask)] + i] = undo.key_of_image(image);
            }
        });
    } else {
#pragma unroll 4
        for (uint32_t i = threadIdx.x; i < tile.count; i += SORT_THREADS) {
            const KEY image = s_images[i];
            const uint64_t place = s.base[digit_of(image, shift, mask)] + i;
            if (tile.keys_dst) tile.keys_dst[place] = order.key_of_image(image);
            put_value(job, tile, place, s_words[i]);
        }
    }
}

/* Sorts one tile. Thread d < 256 calls starts.of(d, before, count) when it knows how many keys of digit d lie before the tile and in it:
 * where do the tile's go? s_memory: first the digit counters, then, when every key knows its place, the tile itself: keys, then values.
 * What is known of the tile is copied to registers: were it read from shared memory again and again, it would have to be after every key
 * that is written, since the compiler cannot tell that this changes nothing there. */
template <typename KEY, int VALUE_NBYTES, int ROWS, typename STARTS, typename ORDER>
static __device__ __forceinline__ void sort_one_tile(const struct sort_job &job, const struct sort_tile<KEY> &tile,
                                                     const struct tile_place &at, const STARTS &starts, unsigned char *s_memory,
                                                     struct digit_sums &s, const ORDER &order) {
    constexpr int FEWER = sort_fewer_rows(sizeof(KEY), VALUE_NBYTES), FEWEST = sort_fewest_rows(sizeof(KEY), VALUE_NBYTES);
    if (tile.count == ROWS * SORT_THREADS)
        return sort_rows_of_tile<true, KEY, VALUE_NBYTES, ROWS>(job, tile, at, starts, s_memory, s, order);
    if constexpr (FEWER > 0) {
        if (tile.count == FEWER * SORT_THREADS)
            return sort_rows_of_tile<true, KEY, VALUE_NBYTES, FEWER>(job, tile, at, starts, s_memory, s, order);
    }
    if constexpr (FEWEST > 0) {
        if (tile.count == FEWEST * SORT_THREADS)
            return sort_rows_of_tile<true, KEY, VALUE_NBYTES, FEWEST>(job, tile, at, starts, s_memory, s, order);
    }
    sort_rows_of_tile<false, KEY, VALUE_NBYTES, ROWS>(job, tile, at, starts, s_memory, s, order);
}

#endif
