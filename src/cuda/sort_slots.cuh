/* sort_slots.cuh: moves keys to their buckets without having counted them, if they are uniform: the first attempt of sort_split.cuh.
 *
 * Every bucket has a slot, somewhat larger than chance lets a bucket of uniform keys become. So its place need not be known, and what the
 * keys add to the cursors of the slots are, in the end, the sizes of the buckets, from which the places in the output follow.
 *
 *     one partition       in -> slots                                 -> buckets -> out
 *     two                 in -> coarse buckets in `out`, rest aside -> slots -> buckets -> out
 *
 * What is moved are keys, or, for an argsort of keys of 32 bits, items of 64 with an index, which the first step makes of them
 * (sort_item.cuh); or keys of 32 bits with their values (sort_slots_pairs.cuh). Slots lie in the scratch, since they need more room than
 * the output has. Coarse buckets are so large that chance hardly changes them: each has its part of the output, and room aside for what
 * goes beyond that.
 *
 * A key that finds its slot full gives the attempt up. That happens the sooner the more uneven the keys are; the input is still where it
 * was, and the kernels queued behind count it and go on from there, which they else do not. Cost: keys read and written once a partition,
 * and nothing for a histogram.  Source: Stehle and Jacobsen, as sort_split.cuh; slots as in src/cpu/sort_slots_tmpl.h. */
#ifndef UPSWEEP_CUDA_SORT_SLOTS_CUH
#define UPSWEEP_CUDA_SORT_SLOTS_CUH

#include <type_traits>

#include "sort_slots_look.cuh"

/* Of two partitions the first and the second, or the only one; of pairs there is only one (sort_slots_pairs.cuh). */
enum slots_step { SLOTS_COARSE, SLOTS_FINE, SLOTS_ONLY, SLOTS_PAIRS };
static constexpr __host__ __device__ bool is_single(enum slots_step step) { return step == SLOTS_ONLY || step == SLOTS_PAIRS; }

/* What a tile is moved by. The only partition has as many digits as one can: large tiles make its runs longer. */
template <enum slots_step STEP, int ROWS_, uint32_t DIGITS_> struct slots_step_shape {
    static constexpr int THREADS = is_single(STEP) ? SLOTS_THREADS : SPLIT_THREADS, ROWS = ROWS_;
    static constexpr int CTAS_PER_SM = is_single(STEP) ? 1 : SPLIT_CTAS_PER_SM;
    static constexpr uint32_t ITEMS = THREADS * ROWS, DIGITS = DIGITS_, PER_THREAD = (DIGITS + THREADS - 1) / THREADS;
};

/* nbytes: of what the step reads. */
static constexpr int slots_rows(size_t nbytes, enum slots_step step) {
    if (nbytes == 8) return is_single(step) ? SLOTS_ROWS_ONLY_WIDE : SLOTS_ROWS_WIDE;
    return step == SLOTS_ONLY ? SLOTS_ROWS_ONLY : step == SLOTS_COARSE ? SLOTS_ROWS_FIRST : SLOTS_ROWS_SECOND;
}

template <typename KEY, typename ITEM, enum slots_step STEP>
struct slots_shape : slots_step_shape<STEP, slots_rows(STEP == SLOTS_FINE || STEP == SLOTS_PAIRS ? sizeof(ITEM) : sizeof(KEY), STEP),
                                      is_single(STEP) ? 1u << slots_single_bits(sizeof(KEY)) : SORT_DIGITS> {
    static constexpr bool PAIRS = STEP == SLOTS_PAIRS;
    typedef typename std::conditional<STEP == SLOTS_FINE || PAIRS, ITEM, KEY>::type SOURCE;             /* what it reads */
    static constexpr uint32_t LOOKERS = STEP == SLOTS_FINE ? 0 : sizeof(ITEM) > sizeof(SOURCE) ? 2 : 1; /* CTAs that look ahead */
};

/* A tile in runs, in shared memory. Items with an index are made when they leave it: till then they are images, and behind all of these,
 * beside each, its place in the tile. */
template <typename SHAPE, typename ITEM> struct slots_runs {
    typedef typename SHAPE::SOURCE SOURCE;
    static constexpr bool MADE = sizeof(ITEM) > sizeof(SOURCE);
    static constexpr uint32_t NBYTES = SHAPE::ITEMS * (sizeof(SOURCE) + (MADE ? sizeof(uint16_t) : 0));
    static_assert(SHAPE::ITEMS <= 1 << 16, "places in the tile have 16 bits");
    SOURCE *const s_images;

    __device__ __forceinline__ uint16_t *s_from() const { return (uint16_t *)(s_images + SHAPE::ITEMS); }
    __device__ __forceinline__ void put(uint32_t place, SOURCE image, uint32_t from) const {
        s_images[place] = image;
        if (MADE) s_from()[place] = (uint16_t)from;
    }
    /* first: the index of the tile's first key. Of a pair, the bits that its bucket shares make room for the tile's number. */
    __device__ __forceinline__ ITEM item(int32_t place, SOURCE image, uint32_t first, const struct split_job &job) const {
        if constexpr (MADE)
            return make_item<ITEM>(image, first + s_from()[place], job.bits.index_shift);
        else if constexpr (SHAPE::PAIRS)
            return (ITEM)((uint32_t)(image >> 32) << job.slots.fine_bits | first / SHAPE::ITEMS) << 32 | (uint32_t)image;
        else
            return image;
    }
};

/* Where coarse buckets have their parts: keys alone in the output; items with an index in halves, one in the output and one in the scratch.
 */
template <typename KEY, typename ITEM> struct coarse_parts {
    const struct split_job &job;

    __device__ __forceinline__ ITEM get(uint32_t place) const {
        if constexpr (sizeof(ITEM) > sizeof(KEY))
            return (ITEM)job.high[place] << 32 | job.low[place];
        else
            return ((const ITEM *)job.out)[place];
    }
    /* i-th from there on. */
    __device__ __forceinline__ void put(uint32_t place, int32_t i, ITEM item) const {
        if constexpr (sizeof(ITEM) > sizeof(KEY)) {
            (job.high + place)[i] = (uint32_t)(item >> 32);
            (job.low + place)[i] = (uint32_t)item;
        } else {
            ((ITEM *)job.out + place)[i] = item;
        }
    }
    /* The place of an item for which its bucket's part has no room. */
    __device__ __forceinline__ ITEM *aside(uint32_t coarse, uint32_t i) const {
        return (ITEM *)job.slots.aside + (coarse * job.slots.aside_items + i - job.slots.coarse_items);
    }
};

/* A tile: `count` keys from the `first` on, of the input or of a coarse bucket. */
struct slots_tile {
    uint32_t coarse, first, count;
};

/* The tile with this number; false: there is none, or nothing in it. */
template <enum slots_step STEP, uint32_t TILE_ITEMS>
static __device__ __forceinline__ bool find_slots_tile(struct slots_tile *tile, uint32_t number, const struct split_job &job) {
    const struct slots_plan &slots = job.slots;
    uint32_t end = job.n;
    tile->coarse = 0;
    if (STEP == SLOTS_FINE) {
        tile->coarse = number / slots.coarse_tiles;
        number -= tile->coarse * slots.coarse_tiles;
        end = min(job.header->coarse_size[tile->coarse], slots.coarse_items + slots.aside_items); /* no more if it has been given up */
    }
    tile->first = number * TILE_ITEMS;
    tile->count = tile->first < end ? min(end - tile->first, TILE_ITEMS) : 0;
    return tile->count > 0;
}

/* Pairs: a key above its value. All keys come first, since these are counted, and looked at, while the values are on their way. */
template <int ROWS>
static __device__ __forceinline__ void load_pairs(uint64_t (&loaded)[ROWS], bool values, const struct warp_items &items, uint32_t first,
                                                  const struct split_job &job) {
    const uint32_t *words = (const uint32_t *)(values ? job.values : job.in) + first;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t word = items.has(row) ? words[row * 32] : 0;
        loaded[row] = values ? loaded[row] | word : (uint64_t)word << 32;
    }
}

/* The keys of rows FROM to TO, or the items of a coarse bucket. */
template <typename KEY, typename ITEM, enum slots_step STEP, int FROM, int TO, int ROWS, typename SOURCE>
static __device__ __forceinline__ void load_slots_rows(SOURCE (&loaded)[ROWS], const struct slots_tile &tile,
                                                       const struct warp_items &items, uint32_t start, const struct split_job &job) {
    if constexpr (STEP == SLOTS_PAIRS) return load_pairs(loaded, FROM > 0, items, tile.first + start, job);
    const struct coarse_parts<KEY, ITEM> parts = { job };
    const uint32_t part = job.slots.coarse_items, first = tile.first + start, place = tile.coarse * part + first;
    if (STEP == SLOTS_FINE && tile.first + tile.count > part) { /* some of them lie aside */
#pragma unroll
        for (int row = FROM; row < TO; row++) {
            const uint32_t i = first + row * 32;
            loaded[row] = !items.has(row) ? 0 : (SOURCE)(i < part ? parts.get(place + row * 32) : *parts.aside(tile.coarse, i));
        }
        return;
    }
#pragma unroll
    for (int row = FROM; row < TO; row++) {
        if constexpr (STEP == SLOTS_FINE)
            loaded[row] = items.has(row) ? parts.get(place + row * 32) : (ITEM)0;
        else
            loaded[row] = items.has(row) ? ((const KEY *)job.in)[first + row * 32] : (KEY)0;
    }
}

/* Asks for the keys, and the values of pairs, of the tile that this CTA takes next, once the keys of the tile at hand are counted. In the
 * only partition all CTAs are in step, so that memory is idle now, and all wait for it when they load. */
template <typename KEY, bool PAIRS = false>
static __device__ __forceinline__ void prefetch_slots_tile(const struct split_job &job, uint32_t first, uint32_t tile_items) {
    if (threadIdx.x > 0 || first >= job.n) return;
    prefetch_items((const KEY *)job.in + first, min(job.n - first, tile_items));
    if (PAIRS) prefetch_items((const uint32_t *)job.values + first, min(job.n - first, tile_items));
}

/* How many threads of a tile of pairs have a key that repeats? All threads call it. */
template <int ROWS, typename SOURCE>
static __device__ __forceinline__ uint32_t count_ties(const SOURCE (&images)[ROWS], const struct warp_items &items,
                                                      const struct looked_keys &looked) {
    bool tied = false;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (items.has(row) && looked.meets_itself((uint32_t)((uint64_t)images[row] >> 32))) tied = true;
    }
    return (uint32_t)__syncthreads_count(tied);
}

/* Is one that repeats in so many of the tile's warps, so not just in one place, that a slot most likely has no room for it? Then the
 * attempt is given up, perhaps with the histogram behind it. looked: with the keys counted; s_image: a word. All threads call it. */
template <int ROWS, typename SOURCE>
static __device__ __forceinline__ bool fills_its_slot(const SOURCE (&images)[ROWS], const struct warp_items &items,
                                                      const struct looked_keys &looked, const struct split_job &job, uint32_t *s_image) {
    bool has = false;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t image = (uint32_t)((uint64_t)images[row] >> 32);
        if (items.has(row) && looked.meets_again(image)) atomicExch(s_image, image); /* any of those; or it is a sampled one */
    }
    __syncthreads(); /* the image */
    const uint32_t image = *s_image;
#pragma unroll
    for (int row = 0; row < ROWS; row++) has = has || (items.has(row) && (uint32_t)((uint64_t)images[row] >> 32) == image);
    const bool of_warp = __any_sync(~0u, has);
    const uint32_t nwarps = (uint32_t)__syncthreads_count(of_warp && threadIdx.x % 32 == 0);
    const uint32_t mean = job.n >> job.slots.fine_bits, likely = (uint32_t)((uint64_t)nwarps * job.n / PAIR_SLOTS_TILE);
    if (nwarps < PAIR_SLOTS_TILE_REPEATS || likely < 2 * (job.slots.items - mean)) return false;
    if (threadIdx.x == 0) give_up_slots(job, mean + likely > job.slots.vain_alone ? SLOTS_IN_VAIN : SLOTS_FULL);
    return true;
}

/* ---- tiles -------------------------------------------------------------------------------------------------------------------- */

/* All of a tile. False: the attempt has been given up. FULL: it has all the keys that a tile can have. looks: at the sample, too, while the
 * keys are on their way. */
template <bool FULL, typename KEY, typename ITEM, enum slots_step STEP>
static __device__ __forceinline__ bool move_slots_tile(const struct slots_tile &tile, bool looks, const struct split_job &job,
                                                       const struct slots_runs<slots_shape<KEY, ITEM, STEP>, ITEM> &runs,
                                                       struct digit_partition<slots_shape<KEY, ITEM, STEP>::DIGITS> &s) {
    typedef slots_shape<KEY, ITEM, STEP> SHAPE;
    typedef typename SHAPE::SOURCE SOURCE;
    constexpr int ROWS = SHAPE::ROWS, THREADS = SHAPE::THREADS;
    const struct slots_plan &slots = job.slots;
    const uint32_t room = STEP == SLOTS_COARSE ? slots.coarse_items + slots.aside_items : slots.items;
    const uint32_t nbits = STEP == SLOTS_COARSE ? slots.coarse_bits : slots.fine_bits;
    struct bit_digits digits = {(uint32_t)sizeof(SOURCE) * 8 - nbits - (STEP == SLOTS_FINE ? slots.coarse_bits : 0), (1u << nbits) - 1};
    const struct key_order<KEY> order(job);
    const uint32_t warp = threadIdx.x / 32, start = warp * 32 * ROWS + threadIdx.x % 32, count = FULL ? SHAPE::ITEMS : tile.count;
    const struct warp_items items = FULL ? warp_items{32 * ROWS, 32 * ROWS} : items_of_warp(warp, ROWS, count);
    SOURCE images[ROWS];
    struct slots_sample<KEY, THREADS> sample;
    bool given_up = false;
    if (STEP != SLOTS_FINE && looks)
        sample.load(job);
    else
        given_up = has_turned(&job.header->slots_full, SLOTS_OPEN);                 /* asked before keys, or it would wait for them */
    load_slots_rows<KEY, ITEM, STEP, 0, ROWS / 2>(images, tile, items, start, job); /* on their way while the sample is looked at */
    if (STEP != SLOTS_FINE && looks && sample.is_skewed(job, (uint32_t *)runs.s_images, s.sums)) {
        if (threadIdx.x == 0) give_up_slots(job, SLOTS_IN_VAIN);
        return false;
    }
    const struct looked_keys looked = {(uint32_t *)runs.s_images};
    if constexpr (SHAPE::PAIRS) {
        const enum slots_state state = looks ? sample_repeats(job, sample.keys[0], looked, s.sums) : SLOTS_OPEN;
        if (state != SLOTS_OPEN) {
            if (threadIdx.x == 0) give_up_slots(job, state);
            return false;
        }
    }
    load_slots_rows<KEY, ITEM, STEP, ROWS / 2, ROWS>(images, tile, items, start, job);
    for (uint32_t digit = threadIdx.x; digit <= digits.mask; digit += THREADS) s.counts[digit] = 0;
    if (!is_single(STEP) && threadIdx.x == 0) s.uneven = 0;
    if (__syncthreads_or(given_up)) return false; /* else: zeroes before counts */
    if (STEP != SLOTS_FINE) {
#pragma unroll
        for (int row = 0; row < ROWS; row++)
            images[row] = SHAPE::PAIRS ? (SOURCE)((uint64_t)order.image((KEY)((uint64_t)images[row] >> 32)) << 32 | (uint32_t)images[row])
                                       : (SOURCE)order.image((KEY)images[row]);
    }
    struct packed_ranks<ROWS> ranks = {};
    constexpr bool SKEWED = FULL && STEP == SLOTS_FINE; /* where sorted keys are, whose warps may have two digits */
    count_warp<SKEWED, false, FULL || is_single(STEP)>(ranks, images, items, s.counts, digits);
    if (SHAPE::PAIRS && looks) {
        const uint32_t nties = count_ties(images, items, looked);
        if (nties > slots.most_ties && threadIdx.x == 0) give_up_slots(job, nties > slots.vain_ties ? SLOTS_IN_VAIN : SLOTS_FULL);
        if (nties > slots.most_ties) return false;
        if (nties >= PAIR_SLOTS_TILE_REPEATS && fills_its_slot(images, items, looked, job, s.sums)) return false;
    }
    __syncthreads(); /* all counts */
    if (is_single(STEP)) prefetch_slots_tile<KEY, SHAPE::PAIRS>(job, tile.first + slots.nmovers * SHAPE::ITEMS, SHAPE::ITEMS);

    const uint32_t slot = tile.coarse << slots.fine_bits;
    uint32_t *cursors = STEP == SLOTS_COARSE ? job.header->coarse_size : slots.size + slot;
    bool in_vain = false; /* a variable of its own: the one above would have to be kept */
    if (SHAPE::LOOKERS > 1 || SHAPE::PAIRS)
        in_vain = *(volatile uint32_t *)&job.header->slots_full != SLOTS_OPEN; /* those who look had time to */
    const auto start_of = [&](uint32_t digit) { return STEP == SLOTS_COARSE ? digit * slots.coarse_items : (slot + digit) * slots.items; };
    if (is_single(STEP)) {
        for (uint32_t digit = threadIdx.x; digit <= digits.mask; digit += THREADS)
            if (s.counts[digit] > RUN_MOST) job.header->slots_uneven = 1; /* before they have their places */
    }
    const uint32_t reach = reserve_digits<THREADS>(s, cursors, digits.mask + 1, start_of);
    if (reach > room && !in_vain) give_up_slots(job, SLOTS_FULL);
    if (__syncthreads_or(reach > room || in_vain)) return false; /* else: all places */
    asm volatile("" : "+r"(digits.shift));                       /* digits are cut out anew, since there are no registers to keep them */
    scatter_items(images, items, ranks, s.places, digits, [&](int row, uint32_t place) { runs.put(place, images[row], start + row * 32); });
    if (SHAPE::DIGITS > THREADS) settle_digits<THREADS>(s, digits.mask + 1);
    const bool aside =
        __syncthreads_or(STEP == SLOTS_COARSE && reach > slots.coarse_items); /* also: the tile is in runs, and each run has its place */
    const struct coarse_parts<KEY, ITEM> parts = { job };
    if (STEP == SLOTS_COARSE && aside) {
        for (uint32_t i = threadIdx.x; i < count; i += THREADS) {
            const SOURCE image = runs.s_images[i];
            const ITEM item = runs.item(i, image, tile.first, job);
            const uint32_t digit = digits.of(image), place = s.base[digit] + i, in_bucket = place - digit * slots.coarse_items;
            if (in_bucket < slots.coarse_items)
                parts.put(place, 0, item);
            else
                *parts.aside(digit, in_bucket) = item;
        }
        return true;
    }
    const auto put = [&](uint32_t place, int32_t i, ITEM item) {
        if (STEP == SLOTS_COARSE)
            parts.put(place, i, item);
        else
            ((ITEM *)slots.area + place)[i] = item;
    };
    if (!is_single(STEP) && are_long_runs(SHAPE::ITEMS * sizeof(SOURCE), digits.mask + 1) && !s.uneven) {
        write_runs<THREADS>(
            s, digits.mask + 1, [&](int32_t i) { return runs.item(i, runs.s_images[i], tile.first, job); }, put);
        return true;
    }
#pragma unroll 8
    for (uint32_t i = threadIdx.x; i < count; i += THREADS) {
        const SOURCE image = runs.s_images[i];
        put(s.base[digits.of(image)] + i, 0, runs.item(i, image, tile.first, job));
    }
    return true;
}

/* What the first partition, or those CTAs that look at the sample, have left: from the L1 cache, but for the first that asks. Later news
 * are asked for with a tile's keys. */
static __device__ __forceinline__ bool was_given_up(const struct split_job &job) {
    return __syncthreads_or(job.header->slots_full != SLOTS_OPEN);
}

/* ---- the kernel -------------------------------------------------------------------------------------------------------------- */

/* A CTA a tile; in the only partition, where one fills a multiprocessor, as many as run at once, each taking one tile after the other. Of
 * the first partition, and of the only one, the first CTAs look ahead, and of the only one the last may watch. Dynamic shared memory: a
 * tile, or the counters. */
template <typename KEY, typename ITEM, enum slots_step STEP>
__global__ void __launch_bounds__(slots_shape<KEY, ITEM, STEP>::THREADS, slots_shape<KEY, ITEM, STEP>::CTAS_PER_SM)
    split_into_slots(const __grid_constant__ struct split_job job) {
    typedef slots_shape<KEY, ITEM, STEP> SHAPE;
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct digit_partition<SHAPE::DIGITS> s_partition;
    wait_for_predecessor();
    constexpr bool LOOKS = SHAPE::LOOKERS > 0;
    if ((!LOOKS || blockIdx.x > job.slots.nfirst) && was_given_up(job)) return;
    if (LOOKS && blockIdx.x < SHAPE::LOOKERS &&
        sample_says_in_vain<KEY, SHAPE::THREADS, SHAPE::PAIRS>(job, (uint32_t *)s_memory, s_partition.sums))
        return;
    if (LOOKS && blockIdx.x == 0) return look_for_skew<KEY>(job, (uint32_t *)s_memory, s_partition.sums);
    if constexpr (SHAPE::LOOKERS > 1) {
        if (blockIdx.x == 1) return look_for_repeats<KEY>(job, (uint32_t *)s_memory, s_partition.sums);
    }
    if constexpr (is_single(STEP)) {
        if (blockIdx.x == SHAPE::LOOKERS + job.slots.nmovers) return watch_slots<SHAPE::DIGITS>(job, s_partition.sums);
    }
    const struct slots_runs<SHAPE, ITEM> runs = { hold_address((typename SHAPE::SOURCE *)s_memory) };
    struct digit_partition<SHAPE::DIGITS> &s = *hold_address(&s_partition);
    struct slots_tile tile;
    bool looks = LOOKS && blockIdx.x <= job.slots.nfirst;
    for (uint32_t number = blockIdx.x - SHAPE::LOOKERS; find_slots_tile<STEP, SHAPE::ITEMS>(&tile, number, job);
         number += job.slots.nmovers) {
        const bool full = !is_single(STEP) && tile.count == SHAPE::ITEMS; /* the only partition would spill registers */
        const bool moved = full ? move_slots_tile<true, KEY, ITEM, STEP>(tile, looks, job, runs, s)
                                : move_slots_tile<false, KEY, ITEM, STEP>(tile, looks, job, runs, s);
        if (!moved || !is_single(STEP)) return;
        looks = false;
    }
}

#endif
