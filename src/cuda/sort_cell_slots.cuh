/* sort_cell_slots.cuh: sort_slots.cuh for floats: moves keys to their buckets without having counted all of them.
 *
 * What a slot has room for is what the sample of sort_cells.cuh lets expect of its number, and some standard deviations more. So slots are
 * of many sizes, and the plan has a table of where they begin. All else is as for integers: of two partitions the first writes to the
 * output, where each coarse bucket has a part in proportion to its slots, and what is beyond goes aside, behind the slots.
 *
 * A coarse bucket is mostly within one cell. Then its tiles need not look numbers up, since these are one multiplication there.
 * Cost: keys read and written once a partition, and the sample.  Source: as sort_slots.cuh. */
#ifndef UPSWEEP_CUDA_SORT_CELL_SLOTS_CUH
#define UPSWEEP_CUDA_SORT_CELL_SLOTS_CUH

#include "sort_cells.cuh"
#include "sort_slots.cuh"

/* What a tile is moved by, and the numbers that a step tells apart. */
template <typename KEY, enum slots_step STEP>
struct cell_slots_shape : slots_step_shape<STEP,
                                           sizeof(KEY) == 8     ? CELL_SLOTS_ROWS_WIDE
                                           : STEP == SLOTS_ONLY ? CELL_SLOTS_ROWS_ONLY
                                                                : CELL_SLOTS_ROWS_NARROW,
                                           STEP == SLOTS_ONLY ? CELL_SLOTS_SINGLE : SORT_DIGITS>{};

/* Shared memory. */
template <uint32_t DIGITS> struct cell_slots_desk {
    struct digit_table<cell_digits<uint32_t>> table;
    struct digit_partition<DIGITS> partition;
    uint32_t coarse, before; /* tiles before those of the coarse bucket */
};

/* The room of a coarse bucket: a part of the output, and some aside. */
struct cell_room {
    uint32_t start, items, aside, aside_items;
};

static __device__ __forceinline__ struct cell_room room_of_cells(const struct split_job &job, uint32_t coarse) {
    const struct cell_plan *plan = &job.header->cells;
    const uint32_t start = plan->coarse[coarse].start, end = plan->coarse[coarse + 1].start;
    const uint32_t aside = start / CELL_SLOTS_ASIDE_PART, aside_end = end / CELL_SLOTS_ASIDE_PART;
    return {start, end - start, job.cell_slot[plan->nnumbers] + aside, aside_end - aside};
}

/* The place of a coarse bucket's key number i. */
template <typename KEY>
static __device__ __forceinline__ KEY *place_in_coarse(const struct split_job &job, const struct cell_room &room, uint32_t i) {
    return i < room.items ? (KEY *)job.out + (room.start + i) : (KEY *)job.slots.area + (room.aside + i - room.items);
}

/* Warp 0 finds which coarse bucket a tile of the second partition belongs to: s.coarse, and s.before; or there is none, past the last. A
 * barrier must follow. */
template <typename DESK> static __device__ __forceinline__ void find_coarse(const struct split_job &job, uint32_t tile, DESK &s) {
    constexpr uint32_t PER_LANE = SORT_DIGITS / 32;
    const uint32_t first = threadIdx.x * PER_LANE, tile_items = job.slots.tile_items;
    uint32_t ntiles[PER_LANE], sum = 0;
    if (threadIdx.x == 0) s.coarse = SORT_DIGITS;
    __syncwarp(); /* before some lane says better */
#pragma unroll
    for (uint32_t i = 0; i < PER_LANE; i++) sum += ntiles[i] = (job.header->coarse_size[first + i] + tile_items - 1) / tile_items;
    const uint32_t inclusive = sum_up_to_lane(sum);
    uint32_t before = inclusive - sum;
#pragma unroll
    for (uint32_t i = 0; i < PER_LANE; i++) {
        if (tile - before < ntiles[i]) {
            s.coarse = first + i;
            s.before = before;
        }
        before += ntiles[i];
    }
}

/* Its keys. */
template <enum slots_step STEP, int ROWS, typename KEY>
static __device__ __forceinline__ void load_cell_tile(KEY (&keys)[ROWS], const struct slots_tile &tile, struct warp_items items,
                                                      uint32_t start, const struct split_job &job) {
    const KEY *src = (const KEY *)job.in + tile.first + start;
    if (STEP == SLOTS_FINE) {
        const struct cell_room room = room_of_cells(job, tile.coarse);
        if (tile.first + tile.count > room.items) { /* some of them lie aside */
#pragma unroll
            for (int row = 0; row < ROWS; row++)
                keys[row] = items.has(row) ? *place_in_coarse<KEY>(job, room, tile.first + start + row * 32) : (KEY)0;
            return;
        }
        src = (const KEY *)job.out + (room.start + tile.first + start);
    }
#pragma unroll
    for (int row = 0; row < ROWS; row++) keys[row] = items.has(row) ? src[row * 32] : (KEY)0;
}

/* Takes room for `count` keys of a digit in its slot, or coarse bucket; *base: where they go. False if it is full. */
template <typename KEY, enum slots_step STEP>
static __device__ __forceinline__ bool take_cell_room(uint32_t *base, const struct split_job &job, uint32_t coarse, uint32_t digit,
                                                      uint32_t count) {
    if (STEP == SLOTS_COARSE) {
        const struct cell_room room = room_of_cells(job, digit);
        *base = atomicAdd(&job.header->coarse_size[digit], count);
        return *base + count <= room.items + room.aside_items;
    }
    const uint32_t number = (coarse << job.slots.fine_bits) + digit;
    const uint32_t *slot = job.cell_slot + number, start = slot[0] & ~31u, room = min((slot[1] & ~31u) - start, job.bucket_max);
    const uint32_t before = atomicAdd(&job.slots.size[number], count);
    *base = start + before;
    return before + count <= room;
}

/* All of a tile, of which the keys are loaded. */
template <typename KEY, enum slots_step STEP, typename DIGITS>
static __device__ __forceinline__ void move_cell_tile(KEY (&images)[cell_slots_shape<KEY, STEP>::ROWS], const struct slots_tile &tile,
                                                      struct warp_items items, const struct split_job &job, const DIGITS &digits,
                                                      KEY *s_tile, struct digit_partition<cell_slots_shape<KEY, STEP>::DIGITS> &s) {
    typedef cell_slots_shape<KEY, STEP> SHAPE;
    constexpr int ROWS = SHAPE::ROWS, THREADS = SHAPE::THREADS;
    uint32_t ranked[ROWS] = {};
    count_ranked<false>(ranked, images, items, s.counts, digits);
    __syncthreads(); /* all counts */
    if (STEP == SLOTS_ONLY) prefetch_slots_tile<KEY>(job, tile.first + gridDim.x * job.slots.tile_items, job.slots.tile_items);

    bool full = false, aside = false;
#pragma unroll
    for (uint32_t digit = threadIdx.x; digit < SHAPE::DIGITS; digit += THREADS) {
        const uint32_t count = s.counts[digit];
        uint32_t base = 0;
        if (count) full |= !take_cell_room<KEY, STEP>(&base, job, tile.coarse, digit, count);
        if (STEP == SLOTS_COARSE && count) {
            const struct cell_room room = room_of_cells(job, digit);
            aside |= base + count > room.items;
            base += room.start;
        }
        s.base[digit] = base;
    }
    place_digits<THREADS>(s, SHAPE::DIGITS);
    if (__syncthreads_or(full)) { /* else: all places */
        if (threadIdx.x == 0) job.header->slots_full = SLOTS_FULL;
        return;
    }
    items.for_each<ROWS, ROWS_TOGETHER>([&](int row) { return s.places[ranked[row] >> 16] + (ranked[row] & 0xffff); },
                                        [&](int row, uint32_t place) { s_tile[place] = images[row]; });
    settle_digits<THREADS>(s, SHAPE::DIGITS);
    if (__syncthreads_or(aside)) { /* also: the tile is in runs, and each run has its place */
        for (uint32_t i = threadIdx.x; i < tile.count; i += THREADS) {
            const KEY item = s_tile[i];
            const uint32_t digit = digits.of(item);
            const struct cell_room room = room_of_cells(job, digit);
            *place_in_coarse<KEY>(job, room, s.base[digit] + i - room.start) = item;
        }
        return;
    }
    KEY *area = (KEY *)(STEP == SLOTS_COARSE ? job.out : job.slots.area);
#pragma unroll 8
    for (uint32_t i = threadIdx.x; i < tile.count; i += THREADS) {
        const KEY item = s_tile[i];
        area[s.base[digits.of(item)] + i] = item;
    }
}

/* The tile with this number. False: there is none, or the attempt has been given up. */
template <typename KEY, enum slots_step STEP>
static __device__ __forceinline__ bool move_cell_tile_at(const struct split_job &job, uint32_t number, KEY *s_tile,
                                                         struct cell_slots_desk<cell_slots_shape<KEY, STEP>::DIGITS> &s) {
    typedef cell_slots_shape<KEY, STEP> SHAPE;
    const uint32_t tile_items = job.slots.tile_items;
    struct slots_tile tile = {0, number * tile_items, 0};
    if (STEP == SLOTS_FINE) {
        if (threadIdx.x < 32) find_coarse(job, number, s);
        __syncthreads(); /* the coarse bucket */
        if (s.coarse == SORT_DIGITS) return false;
        tile.coarse = s.coarse;
        tile.first = (number - s.before) * tile_items;
    } else if (tile.first >= job.n) {
        return false;
    }
    tile.count = min((STEP == SLOTS_FINE ? job.header->coarse_size[tile.coarse] : job.n) - tile.first, tile_items);
    const uint32_t warp = threadIdx.x / 32, rows = tile_items / SHAPE::THREADS, start = warp * 32 * rows + threadIdx.x % 32;
    const struct warp_items items = items_of_warp(warp, rows, tile.count);
    KEY images[SHAPE::ROWS];
    load_cell_tile<STEP>(images, tile, items, start, job);
    for (uint32_t digit = threadIdx.x; digit < SHAPE::DIGITS; digit += SHAPE::THREADS) s.partition.counts[digit] = 0;
    struct coarse_bucket coarse = {};
    if (STEP == SLOTS_FINE) coarse = job.header->cells.coarse[tile.coarse];
    if (coarse.count == 0) load_entries(s.table, job);
    const bool given_up = has_turned(&job.header->slots_full, SLOTS_OPEN); /* in the meantime */
    if (__syncthreads_or(given_up)) return false;                          /* else: zeroes and table before counts */
    const struct float_cells<KEY> cells(job.header->cells.lowest);
    if (STEP == SLOTS_FINE) {
        const struct linear_digits<KEY> digits = { coarse.count, coarse.before };
        if (coarse.count > 0) return move_cell_tile<KEY, STEP>(images, tile, items, job, digits, s_tile, s.partition), true;
    } else {
        const struct key_order<KEY> order(job);
#pragma unroll
        for (int row = 0; row < SHAPE::ROWS; row++) images[row] = order.image(images[row]);
    }
    const uint32_t shift = STEP == SLOTS_COARSE ? job.slots.fine_bits : 0;
    const uint32_t mask = STEP == SLOTS_FINE ? (1u << job.slots.fine_bits) - 1 : ~0u;
    const struct cell_digits<KEY> digits = { s.table.entries, cells, shift, mask };
    move_cell_tile<KEY, STEP>(images, tile, items, job, digits, s_tile, s.partition);
    return true;
}

/* ---- the kernels ------------------------------------------------------------------------------------------------------------- */

/* This CTA's tiles, every so many, until there is none, or the attempt has been given up. */
template <typename KEY, enum slots_step STEP>
static __device__ __forceinline__ void move_cell_tiles(const struct split_job &job, KEY *s_tile,
                                                       struct cell_slots_desk<cell_slots_shape<KEY, STEP>::DIGITS> &s) {
    if (__syncthreads_or(has_turned(&job.header->slots_full, SLOTS_OPEN))) return;
    for (uint32_t number = blockIdx.x; move_cell_tile_at<KEY, STEP>(job, number, s_tile, s); number += gridDim.x)
        __syncthreads(); /* nobody needs the shared memory any more */
}

/* Numbers the cells, and, if there are slots and one partition is enough, moves the keys: in one launch, since mostly neither is needed.
 * Dynamic shared memory: cells_memory; or a tile. */
template <typename KEY> __global__ void __launch_bounds__(CELL_THREADS, 1) split_cells(const __grid_constant__ struct split_job job) {
    typedef cell_slots_shape<KEY, SLOTS_ONLY> SHAPE;
    static_assert(SHAPE::THREADS == CELL_THREADS, "both are by the same threads");
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct cell_slots_desk<SHAPE::DIGITS> s;
    wait_for_predecessor();
    if (is_by_value(job)) return;
    if (is_not_for_cells<KEY>(job)) {
        if (blockIdx.x == 0) give_cells_up(job);
        return;
    }
    number_cells<KEY>(job, *(struct cells_memory *)s_memory);
    if (!job.slots.area || job.slots.coarse_bits) return;
    wait_for_cells(job);
    move_cell_tiles<KEY, SLOTS_ONLY>(job, (KEY *)s_memory, s);
}

/* A partition of two. A CTA some tiles: it takes time to start CTAs that return at once, if the keys are in slots by value. Dynamic shared
 * memory: a tile. */
template <typename KEY, enum slots_step STEP>
__global__ void __launch_bounds__(cell_slots_shape<KEY, STEP>::THREADS, cell_slots_shape<KEY, STEP>::CTAS_PER_SM)
    split_into_cell_slots(const __grid_constant__ struct split_job job) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct cell_slots_desk<cell_slots_shape<KEY, STEP>::DIGITS> s;
    wait_for_predecessor();
    if (is_by_value(job)) return;
    move_cell_tiles<KEY, STEP>(job, (KEY *)s_memory, s);
}

#endif
