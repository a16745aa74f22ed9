/* sort_slots.cuh: moves keys to their buckets without having counted them, if they are uniform: the first attempt of sort_split.cuh.
 *
 * Every bucket has a slot, somewhat larger than chance lets a bucket of uniform keys become. So its place need not be known, and what the
 * keys add to the cursors of the slots are, in the end, the sizes of the buckets, from which the places in the output follow.
 *
 *     one partition       in -> slots                                 -> buckets -> out
 *     two                 in -> coarse buckets in `out`, rest aside -> slots -> buckets -> out
 *
 * Slots lie in the scratch, since they need more room than the output has. Coarse buckets are so large that chance hardly changes them:
 * each has its part of the output, and room aside for what goes beyond that.
 *
 * A key that finds its slot full gives the attempt up. That happens the sooner the more uneven the keys are; the input is still where it
 * was, and the kernels queued behind count it and go on from there, which they else do not. Cost: keys read and written once a partition,
 * and nothing for a histogram.  Source: Stehle and Jacobsen, as sort_split.cuh; slots as in src/cpu/sort_slots_tmpl.h. */
#ifndef UPSWEEP_CUDA_SORT_SLOTS_CUH
#define UPSWEEP_CUDA_SORT_SLOTS_CUH

#include "sort_partition.cuh"

/* What a tile is moved by. The only partition has as many digits as one can: large tiles make its runs longer. */
template <enum slots_step STEP, int ROWS_, uint32_t DIGITS_> struct slots_step_shape {
    static constexpr int THREADS = STEP == SLOTS_ONLY ? SLOTS_THREADS : SPLIT_THREADS, ROWS = ROWS_;
    static constexpr int CTAS_PER_SM = STEP == SLOTS_ONLY ? 1 : SPLIT_CTAS_PER_SM;
    static constexpr uint32_t ITEMS = THREADS * ROWS, DIGITS = DIGITS_, PER_THREAD = (DIGITS + THREADS - 1) / THREADS;
};

static constexpr int slots_rows(size_t key_nbytes, enum slots_step step) {
    if (key_nbytes == 8) return step == SLOTS_ONLY ? SLOTS_ROWS_ONLY_WIDE : SLOTS_ROWS_WIDE;
    return step == SLOTS_ONLY ? SLOTS_ROWS_ONLY : step == SLOTS_COARSE ? SLOTS_ROWS_FIRST : SLOTS_ROWS_SECOND;
}

template <typename KEY, enum slots_step STEP>
struct slots_shape
    : slots_step_shape<STEP, slots_rows(sizeof(KEY), STEP), STEP == SLOTS_ONLY ? 1u << slots_single_bits(sizeof(KEY)) : SORT_DIGITS>{};

/* The place of a coarse bucket's key: in the output, or aside. */
template <typename KEY> static __device__ __forceinline__ KEY *coarse_place(const struct split_job &job, uint32_t coarse, uint32_t i) {
    const uint32_t part = job.slots.coarse_items;
    if (i < part) return (KEY *)job.out + (coarse * part + i);
    return (KEY *)job.slots.aside + (coarse * job.slots.aside_items + i - part);
}

/* A tile: `count` keys from the `first` on, of the input or of a coarse bucket. */
struct slots_tile {
    uint32_t coarse, first, count;
};

/* The tile with this number; false: there is none, or nothing in it. */
template <typename KEY, enum slots_step STEP>
static __device__ __forceinline__ bool find_slots_tile(struct slots_tile *tile, uint32_t number, const struct split_job &job) {
    const struct slots_plan &slots = job.slots;
    constexpr uint32_t TILE_ITEMS = slots_shape<KEY, STEP>::ITEMS;
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

/* A warp's items. FULL: known to have every row, so that nothing need be asked. */
template <bool FULL> struct slots_items : warp_items {
    __device__ __forceinline__ bool has(int32_t row) const { return FULL || warp_items::has(row); }
};

/* Its keys, of rows FROM to TO. */
template <enum slots_step STEP, int FROM, int TO, int ROWS, typename KEY, typename ITEMS>
static __device__ __forceinline__ void load_slots_rows(KEY (&keys)[ROWS], const struct slots_tile &tile, const ITEMS &items, uint32_t start,
                                                       const struct split_job &job) {
    const uint32_t first = tile.first + start;
    if (STEP == SLOTS_FINE && tile.first + tile.count > job.slots.coarse_items) { /* some of them lie aside */
#pragma unroll
        for (int row = FROM; row < TO; row++) keys[row] = items.has(row) ? *coarse_place<KEY>(job, tile.coarse, first + row * 32) : (KEY)0;
        return;
    }
    const KEY *src = (STEP == SLOTS_FINE ? (const KEY *)job.out + tile.coarse * job.slots.coarse_items : (const KEY *)job.in) + first;
#pragma unroll
    for (int row = FROM; row < TO; row++) keys[row] = items.has(row) ? src[row * 32] : (KEY)0;
}

/* ---- looking ahead ----------------------------------------------------------------------------------------------------------- */

/* Keys by bucket, in counters of eight bits. What does not fit one goes to the next, which does no harm: by then keys are far from uniform.
 */
template <typename KEY> struct looked_counts {
    const struct key_order<KEY> order;
    const uint32_t number_bits;
    uint32_t *const s_words;

    __device__ __forceinline__ looked_counts(const struct split_job &job, uint32_t *s_words_)
        : order(job), number_bits(job.slots.coarse_bits + job.slots.fine_bits), s_words(s_words_) {}

    /* By all threads; a barrier must follow. */
    __device__ __forceinline__ void clear() const {
        for (uint32_t i = threadIdx.x; i < 1u << number_bits >> 2; i += blockDim.x) s_words[i] = 0;
    }
    __device__ __forceinline__ uint32_t number_of(KEY key) const { return (uint32_t)(order.image(key) >> (sizeof(KEY) * 8 - number_bits)); }
    /* Returns how many have been counted there before. */
    __device__ __forceinline__ uint32_t add(KEY key) const {
        const uint32_t number = number_of(key), at = number % 4 * 8;
        return atomicAdd(&s_words[number / 4], 1u << at) >> at & 0xff;
    }
};

/* The sample which the histogram would look at, the same in all CTAs: some of the keys each thread's. */
template <typename KEY, int THREADS> struct slots_sample {
    static constexpr int OF_THREAD = SPLIT_HISTOGRAM_THREADS / THREADS;
    KEY keys[OF_THREAD];

    __device__ __forceinline__ void load(const struct split_job &job) {
#pragma unroll
        for (int i = 0; i < OF_THREAD; i++)
            keys[i] = ((const KEY *)job.in)[(uint64_t)(threadIdx.x + i * THREADS) * job.n / SPLIT_HISTOGRAM_THREADS];
    }
    /* Must some bucket be too big? All threads call it. */
    __device__ __forceinline__ bool is_skewed(const struct split_job &job, uint32_t *s_counts, uint32_t *s_npairs) const {
        const struct looked_counts<KEY> counts(job, s_counts);
        counts.clear();
        if (threadIdx.x == 0) *s_npairs = 0;
        __syncthreads(); /* zeroes before counts */
        uint32_t npairs = 0;
#pragma unroll
        for (int i = 0; i < OF_THREAD; i++) npairs += counts.add(keys[i]);
        npairs = sum_warp(npairs);
        if (threadIdx.x % 32 == 0) atomicAdd(s_npairs, npairs);
        __syncthreads(); /* all pairs */
        return *s_npairs >= job.sample_limit;
    }
};

/* The pairs of keys in a bucket among many keys, of which those of this thread are counted; 16 bytes of neighbours at a time, which are no
 * pairs, as sorted keys are welcome. nloads: a power of two, in all, and at least as many as threads load together. */
template <typename KEY>
static __device__ __forceinline__ uint32_t look_at_keys(const struct split_job &job, uint32_t nloads,
                                                        const struct looked_counts<KEY> &counts) {
    constexpr uint32_t N = 16 / sizeof(KEY), TOGETHER = 8;
    const uint32_t skipped = (16 - (uint32_t)(uintptr_t)job.in % 16) % 16 / (uint32_t)sizeof(KEY), nvectors = (job.n - skipped) / N;
    const uint4 *vectors = (const uint4 *)((const KEY *)job.in + skipped);
    uint32_t npairs = 0;
    for (uint32_t first = threadIdx.x; first < nloads; first += TOGETHER * blockDim.x) {
        if (*(volatile uint32_t *)&job.header->slots_full != SLOTS_OPEN) return 0; /* others have found out */
        union {
            uint4 vector[TOGETHER];
            KEY key[TOGETHER][N];
        } got;
#pragma unroll
        for (uint32_t k = 0; k < TOGETHER; k++)
            got.vector[k] = vectors[(uint64_t)((first + k * blockDim.x) % nloads) * nvectors >> (31 - __clz((int)nloads))];
#pragma unroll
        for (uint32_t k = 0; k < TOGETHER; k++) {
#pragma unroll
            for (uint32_t i = 0; i < N; i++) {
                npairs += counts.add(got.key[k][i]);
#pragma unroll
                for (uint32_t j = 0; j < i; j++) npairs -= counts.number_of(got.key[k][i]) == counts.number_of(got.key[k][j]);
            }
        }
    }
    return npairs;
}

/* One CTA, while the others are at work: will some bucket become too big? If more pairs of keys share a bucket than chance has it; so equal
 * keys show, too. */
template <typename KEY>
static __device__ __forceinline__ void look_ahead(const struct split_job &job, uint32_t *s_counts, uint32_t *s_npairs) {
    const struct looked_counts<KEY> counts(job, s_counts);
    const uint32_t nkeys = min((uint32_t)SLOTS_LOOKED, (uint32_t)SLOTS_LOOKED_PER_BUCKET << counts.number_bits);
    counts.clear();
    if (threadIdx.x == 0) *s_npairs = 0;
    __syncthreads(); /* zeroes before counts */
    const uint32_t npairs = sum_warp(look_at_keys<KEY>(job, nkeys / (16 / sizeof(KEY)), counts));
    if (threadIdx.x % 32 == 0) atomicAdd(s_npairs, npairs);
    __syncthreads(); /* all pairs */
    const float chance = (float)nkeys * (float)nkeys / (float)(2u << counts.number_bits);
    if (threadIdx.x == 0 && (float)*s_npairs > chance + 4 * sqrtf(chance)) job.header->slots_full = SLOTS_FULL;
}

/* ---- tiles -------------------------------------------------------------------------------------------------------------------- */

/* All of a tile. False: the attempt has been given up. FULL: it has all the keys that a tile can have. looks: at the sample, too, while the
 * keys are on their way. */
template <bool FULL, typename KEY, enum slots_step STEP>
static __device__ __forceinline__ bool move_slots_tile(const struct slots_tile &tile, bool looks, const struct split_job &job, KEY *s_tile,
                                                       struct digit_partition<slots_shape<KEY, STEP>::DIGITS> &s) {
    typedef slots_shape<KEY, STEP> SHAPE;
    constexpr int ROWS = SHAPE::ROWS, THREADS = SHAPE::THREADS;
    const struct slots_plan &slots = job.slots;
    const uint32_t room = STEP == SLOTS_COARSE ? slots.coarse_items + slots.aside_items : slots.items;
    const uint32_t nbits = STEP == SLOTS_COARSE ? slots.coarse_bits : slots.fine_bits;
    struct bit_digits digits = {(uint32_t)sizeof(KEY) * 8 - nbits - (STEP == SLOTS_FINE ? slots.coarse_bits : 0), (1u << nbits) - 1};
    const struct key_order<KEY> order(job);
    const uint32_t warp = threadIdx.x / 32, start = warp * 32 * ROWS + threadIdx.x % 32, count = FULL ? SHAPE::ITEMS : tile.count;
    const struct slots_items<FULL> items = { FULL ? warp_items{32 * ROWS, 32 * ROWS} : items_of_warp(warp, ROWS, count) };
    KEY images[ROWS];
    struct slots_sample<KEY, THREADS> sample;
    bool given_up = false;
    if (STEP != SLOTS_FINE && looks)
        sample.load(job);
    else
        given_up = *(volatile uint32_t *)&job.header->slots_full != SLOTS_OPEN; /* asked before keys, or it would wait for them */
    load_slots_rows<STEP, 0, ROWS / 2>(images, tile, items, start, job);        /* on their way while the sample is looked at */
    if (STEP != SLOTS_FINE && looks && sample.is_skewed(job, (uint32_t *)s_tile, s.sums)) {
        if (threadIdx.x == 0) job.header->slots_full = SLOTS_IN_VAIN;
        return false;
    }
    load_slots_rows<STEP, ROWS / 2, ROWS>(images, tile, items, start, job);
    for (uint32_t digit = threadIdx.x; digit <= digits.mask; digit += THREADS) s.counts[digit] = 0;
    if (__syncthreads_or(given_up)) return false; /* else: zeroes before counts */
    if (STEP != SLOTS_FINE) {
#pragma unroll
        for (int row = 0; row < ROWS; row++) images[row] = order.image(images[row]);
    }
    struct packed_ranks<ROWS> ranks = {};
    constexpr bool SKEWED = FULL && STEP == SLOTS_FINE; /* where sorted keys are, whose warps may have two digits */
    count_warp<SKEWED, false, FULL || STEP == SLOTS_ONLY>(ranks, images, items, s.counts, digits);
    __syncthreads(); /* all counts */

    const uint32_t slot = tile.coarse << slots.fine_bits;
    uint32_t base[SHAPE::PER_THREAD];
    uint32_t *cursors = STEP == SLOTS_COARSE ? job.header->coarse_size : slots.size + slot;
    const uint32_t reach = reserve_digits(base, s, cursors, digits.mask + 1);
    if (__syncthreads_or(reach > room)) { /* else: all places */
        if (threadIdx.x == 0) job.header->slots_full = SLOTS_FULL;
        return false;
    }
    asm volatile("" : "+r"(digits.shift)); /* digits are cut out anew, since there are no registers to keep them */
    scatter_items(s_tile, images, items, ranks, s.places(), digits);
#pragma unroll
    for (uint32_t i = 0; i < SHAPE::PER_THREAD; i++) {
        const uint32_t digit = threadIdx.x * SHAPE::PER_THREAD + i;
        if (digit <= digits.mask)
            s.base[digit] = base[i] + (STEP == SLOTS_COARSE ? digit * slots.coarse_items : (slot + digit) * slots.items);
    }
    const bool aside =
        __syncthreads_or(STEP == SLOTS_COARSE && reach > slots.coarse_items); /* also: the tile is in runs, and each run has its place */
    KEY *area = STEP == SLOTS_COARSE ? (KEY *)job.out : (KEY *)slots.area;
    if (STEP == SLOTS_COARSE && aside) {
        for (uint32_t i = threadIdx.x; i < count; i += THREADS) {
            const KEY item = s_tile[i];
            const uint32_t digit = digits.of(item);
            *coarse_place<KEY>(job, digit, s.base[digit] + i - digit * slots.coarse_items) = item;
        }
    } else {
#pragma unroll 8
        for (uint32_t i = threadIdx.x; i < count; i += THREADS) {
            const KEY item = s_tile[i];
            area[s.base[digits.of(item)] + i] = item;
        }
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
 * the first partition, and of the only one, the first CTA looks ahead. Dynamic shared memory: a tile, or the counters. */
template <typename KEY, enum slots_step STEP>
__global__ void __launch_bounds__(slots_shape<KEY, STEP>::THREADS, slots_shape<KEY, STEP>::CTAS_PER_SM)
    split_into_slots(const __grid_constant__ struct split_job job) {
    typedef slots_shape<KEY, STEP> SHAPE;
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct digit_partition<SHAPE::DIGITS> s_partition;
    wait_for_predecessor();
    constexpr bool LOOKS = STEP != SLOTS_FINE;
    if ((!LOOKS || blockIdx.x > job.slots.nfirst) && was_given_up(job)) return;
    if (LOOKS && blockIdx.x == 0) return look_ahead<KEY>(job, (uint32_t *)s_memory, s_partition.sums);
    KEY *s_tile = hold_address((KEY *)s_memory);
    struct digit_partition<SHAPE::DIGITS> &s = *hold_address(&s_partition);
    struct slots_tile tile;
    bool looks = LOOKS && blockIdx.x <= job.slots.nfirst;
    for (uint32_t number = blockIdx.x - LOOKS; find_slots_tile<KEY, STEP>(&tile, number, job); number += gridDim.x - LOOKS) {
        const bool full = STEP != SLOTS_ONLY && tile.count == SHAPE::ITEMS; /* the only partition would spill registers */
        const bool moved = full ? move_slots_tile<true, KEY, STEP>(tile, looks, job, s_tile, s)
                                : move_slots_tile<false, KEY, STEP>(tile, looks, job, s_tile, s);
        if (!moved || STEP != SLOTS_ONLY) return;
        looks = false;
    }
}

#endif
