/* sort_pass.cuh: one pass of onesweep: a stable partition of all keys by one digit, each key read once and written once.
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
#ifndef UPSWEEP_CUDA_SORT_PASS_CUH
#define UPSWEEP_CUDA_SORT_PASS_CUH

#include "sort_lookback.cuh"
#include "sort_rank.cuh"

/* ---- values ------------------------------------------------------------------------------------------------------------------ */

/* A value in registers: nothing, or a word of 4 or 8 bytes: the value itself, the index of its key, or its place in the tile. */
struct no_value {};
template <int NBYTES> struct value_word;
template <> struct value_word<0> { typedef struct no_value type; };
template <> struct value_word<4> { typedef uint32_t type; };
template <> struct value_word<8> { typedef uint64_t type; };

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
    bool make_indices; /* values do not exist yet: they are the indices */
};

template <typename KEY>
static __device__ __forceinline__ struct sort_tile<KEY> tile_at(const struct sort_job &job, const struct pass_plan &plan, uint32_t tile) {
    struct sort_tile<KEY> t;
    const uint32_t tile_items = job.rows * SORT_THREADS;
    t.first = (uint64_t)tile * tile_items;
    t.count = (uint32_t)min((uint64_t)tile_items, job.n - t.first);
    t.keys_src = (const KEY *)buffer_at(plan.src, job.keys_in, job.keys_out, job.keys_tmp) + t.first;
    t.keys_dst = job.drop_keys && plan.last ? NULL : (KEY *)buffer_at(plan.dst, NULL, job.keys_out, job.keys_tmp);
    t.make_indices = plan.first && !job.values_in;
    t.values_src = (const char *)buffer_at(plan.src, job.values_in, job.values_out, job.values_tmp) + t.first * job.value_nbytes;
    t.values_dst = (char *)buffer_at(plan.dst, NULL, job.values_out, job.values_tmp);
    return t;
}

/* The word that stands for value i of the tile. */
template <typename WORD, typename KEY>
static __device__ __forceinline__ WORD value_at(const struct sort_job &job, const struct sort_tile<KEY> &tile, uint32_t i) {
    if (tile.make_indices) return (WORD)(tile.first + i);
    if (job.by_place) return (WORD)i;
    return ((const WORD *)tile.values_src)[i];
}

/* Writes value i of the output, which `word` stands for. */
template <typename WORD, typename KEY>
static __device__ __forceinline__ void put_value(const struct sort_job &job, const struct sort_tile<KEY> &tile, uint64_t i, WORD word) {
    if (!job.by_place) {
        ((WORD *)tile.values_dst)[i] = word;
    } else {
        copy_value(tile.values_dst + i * job.value_nbytes, tile.values_src + (uint64_t)word * job.value_nbytes, job.value_nbytes,
                   job.value_unit);
    }
}

/* A pass that moves everything and reorders nothing. */
template <typename KEY, int VALUE_NBYTES>
static __device__ __forceinline__ void copy_tile(const struct sort_job &job, const struct sort_tile<KEY> &tile) {
    typedef typename value_word<VALUE_NBYTES>::type WORD;
    for (uint32_t i = threadIdx.x; i < tile.count; i += SORT_THREADS) {
        if (tile.keys_dst) tile.keys_dst[tile.first + i] = tile.keys_src[i];
        if constexpr (VALUE_NBYTES > 0) put_value(job, tile, tile.first + i, value_at<WORD>(job, tile, i));
    }
}

/* ---- the kernel -------------------------------------------------------------------------------------------------------------- */

/* What the digits' threads tell the others. */
struct pass_sums {
    uint64_t base[SORT_DIGITS]; /* where a key of the digit goes, less its place in the tile */
    uint32_t sums[SORT_DIGITS / 32];
};

static __host__ __device__ __forceinline__ uint32_t tiles_of_portion(const struct sort_job &job, uint32_t portion) {
    const uint32_t left = job.ntiles - portion * job.portion_tiles;
    return left < job.portion_tiles ? left : job.portion_tiles;
}

/* Zeroes this tile's share of the states that the next launch will look at. */
static __device__ __forceinline__ void clear_states(uint32_t *states, uint32_t nrows, uint32_t tile, uint32_t ntiles) {
    for (uint32_t row = tile; row < nrows; row += ntiles) {
        if (threadIdx.x < SORT_DIGITS) states[(uint64_t)row * SORT_DIGITS + threadIdx.x] = 0;
    }
}

/* Thread d < 256: where the tile's keys of digit d go, as an index of the output; `count` of them. Completes the tile's states. */
static __device__ __forceinline__ uint64_t place_digit(const struct sort_job &job, uint32_t pass, uint32_t portion, uint32_t tile,
                                                       uint32_t *states, uint32_t count) {
    const uint32_t digit = threadIdx.x;
    const uint32_t before = look_back(states, tile, digit);
    if (tile > 0) store_relaxed(states + (uint64_t)tile * SORT_DIGITS + digit, TILE_UPTO | (before + count));
    const uint64_t start = job.header->base[portion % 2][pass][digit] + before;
    /* the next portion's look-back begins anew, from here */
    if (tile == job.portion_tiles - 1) job.header->base[(portion + 1) % 2][pass][digit] = start + count;
    return start;
}

/* Sorts one tile. s_memory: first the digit counters, then, when every key knows its place, the tile itself: keys, then values. */
template <typename KEY, int VALUE_NBYTES, int ROWS>
static __device__ __forceinline__ void sort_one_tile(const struct sort_job &job, const struct pass_plan &plan, uint32_t pass,
                                                     uint32_t portion, const struct sort_tile<KEY> &tile, uint32_t portion_tile,
                                                     unsigned char *s_memory, struct pass_sums &s) {
    typedef typename value_word<VALUE_NBYTES>::type WORD;
    constexpr int WARPS = SORT_THREADS / 32;
    const uint32_t launch = plan.live * job.nportions + portion;
    uint32_t *states = job.states[launch % 2];
    clear_states(job.states[(launch + 1) % 2], job.state_rows, portion_tile, tiles_of_portion(job, portion));

    /* the keys of this warp, a row at a time */
    const uint32_t warp = threadIdx.x / 32, warp_start = warp * 32 * job.rows + threadIdx.x % 32;
    const uint32_t shift = job.shift[pass], mask = job.mask[pass];
    const struct warp_items items = items_of_warp(warp, job.rows, tile.count);
    const struct key_order<KEY> order(job);
    KEY images[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++) images[row] = items.has(row) ? tile.keys_src[warp_start + row * 32] : (KEY)0;
#pragma unroll
    for (int row = 0; row < ROWS; row++) images[row] = order.image(images[row]);

    struct digit_counter *counters = (struct digit_counter *)s_memory, *warp_counters = counters + warp * SORT_DIGITS;
    struct packed_ranks<ROWS> ranks = {};
    clear_counters(warp_counters);
    rank_in_warp(ranks, images, items, warp_counters, shift, mask);
    __syncthreads(); /* all histograms are complete */

    uint32_t count = 0;
    if (threadIdx.x < SORT_DIGITS) {
        count = sum_warp_counts<WARPS>(counters, threadIdx.x);
        store_relaxed(states + (uint64_t)portion_tile * SORT_DIGITS + threadIdx.x, (portion_tile == 0 ? TILE_UPTO : TILE_OWN) | count);
    }
    const uint32_t digit_start = scan_digits(count, s.sums);
    if (threadIdx.x < SORT_DIGITS) store_warp_starts<WARPS>(counters, threadIdx.x, digit_start);
    __syncthreads(); /* the starts are there */
    rank_in_tile(ranks, images, warp_counters, shift, mask);
    __syncthreads(); /* nobody needs the counters any more */

    KEY *s_images = (KEY *)s_memory;
    WORD *s_words = (WORD *)(s_images + job.rows * SORT_THREADS);
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (!items.has(row)) continue;
        s_images[ranks.get(row)] = images[row];
        if constexpr (VALUE_NBYTES > 0) s_words[ranks.get(row)] = value_at<WORD>(job, tile, warp_start + row * 32);
    }
    if (threadIdx.x < SORT_DIGITS) s.base[threadIdx.x] = place_digit(job, pass, portion, portion_tile, states, count) - digit_start;
    __syncthreads(); /* the tile is in order, and each digit has its place */

#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < tile.count; i += SORT_THREADS) {
        const KEY image = s_images[i];
        const uint64_t place = s.base[digit_of(image, shift, mask)] + i;
        if (tile.keys_dst) tile.keys_dst[place] = order.key_of_image(image);
        if constexpr (VALUE_NBYTES > 0) put_value(job, tile, place, s_words[i]);
    }
}

/* Does a CTA take tile after tile, or one? The former makes skipped passes cheap, but costs registers that values need; and it will not do
 * if there are several portions, because each is a launch of its own and must take its own tiles only. */
static __host__ __device__ __forceinline__ bool takes_many_tiles(const struct sort_job &job, int value_nbytes) {
    return value_nbytes == 0 && job.nportions == 1;
}

template <typename KEY, int VALUE_NBYTES>
__global__ void __launch_bounds__(SORT_THREADS, sort_ctas_per_sm(sizeof(KEY), VALUE_NBYTES))
    sort_pass(const __grid_constant__ struct sort_job job, const uint32_t pass, const uint32_t portion) {
    wait_for_predecessor();
    const struct pass_plan plan = job.header->plan[pass];
    if (plan.mode == PASS_SKIP) return;

    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct pass_sums s_sums;
    __shared__ uint32_t s_ticket;
    do {
        if (threadIdx.x == 0) s_ticket = atomicAdd(&job.header->ticket[pass], 1);
        __syncthreads(); /* the ticket is there */
        const uint32_t ticket = s_ticket, portion_tile = ticket - portion * job.portion_tiles;
        if (ticket >= job.ntiles) return;
        const struct sort_tile<KEY> tile = tile_at<KEY>(job, plan, ticket);
        if (plan.mode == PASS_COPY) {
            copy_tile<KEY, VALUE_NBYTES>(job, tile);
        } else {
            sort_one_tile<KEY, VALUE_NBYTES, sort_rows(sizeof(KEY), VALUE_NBYTES)>(job, plan, pass, portion, tile, portion_tile, s_memory,
                                                                                   s_sums);
        }
        __syncthreads(); /* nobody needs the shared memory any more */
    } while (takes_many_tiles(job, VALUE_NBYTES));
}

#endif
