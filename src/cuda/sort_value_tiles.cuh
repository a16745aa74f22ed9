/* sort_value_tiles.cuh: the partitions of sort_value_slots.cuh: those of sort_slots.cuh, but for how keys are told apart.
 *
 * A key's number is x * scale + shift, rounded down. A fused multiplication and addition rounds once, and rounding never turns an order
 * round. The sum is from [2^23, 2^24), where a float's last bit is worth one (of 64 bits, 2^20, and the upper half's last bit): so its
 * lowest bits are the number, and digits are cut out of them. A key that has no number is given the last one; numbers that there are
 * not have slots that are full from the start, so that it gives the attempt up.
 * Cost: two or three operations for a digit, about as by bits; keys read and written once a partition. */
#ifndef UPSWEEP_CUDA_SORT_VALUE_TILES_CUH
#define UPSWEEP_CUDA_SORT_VALUE_TILES_CUH

#include "sort_slots.cuh"

#define VALUE_SLOTS_NOWHERE   0x7fff0000 /* the size of a slot that is not there */
#define VALUE_SLOTS_SPIKE     64         /* a part of a number's width in which most of its keys are if some repeat; */
#define VALUE_SLOTS_SPIKE_MIN 12u        /* of so many at least */

/* ---- numbers ----------------------------------------------------------------------------------------------------------------- */

/* The float that an image stands for, and how a sum of one is read. */
template <typename KEY> struct summed;
template <> struct summed<uint32_t> {
    typedef float value;
    static constexpr double ONE = 0x1p23;
    static constexpr uint32_t BITS = 0x4b000000;
    static __device__ __forceinline__ float key_value(uint32_t key) { return __uint_as_float(key); }
    static __device__ __forceinline__ uint32_t top(float sum) { return __float_as_uint(sum); }
    static __device__ __forceinline__ float multiply_add(float x, float scale, float shift) { return __fmaf_rd(x, scale, shift); }
    static __device__ __forceinline__ float above(double x) { return __double2float_ru(x); }
    static __device__ __forceinline__ void hold(float &x) { asm volatile("" : "+f"(x)); }
};
template <> struct summed<uint64_t> {
    typedef double value;
    static constexpr double ONE = 0x1p20;
    static constexpr uint32_t BITS = 0x41300000;
    static __device__ __forceinline__ double key_value(uint64_t key) { return __longlong_as_double((long long)key); }
    static __device__ __forceinline__ uint32_t top(double sum) { return (uint32_t)__double2hiint(sum); }
    static __device__ __forceinline__ double multiply_add(double x, double scale, double shift) { return __fma_rd(x, scale, shift); }
    static __device__ __forceinline__ double above(double x) { return x; }
    static __device__ __forceinline__ void hold(double &x) { asm volatile("" : "+d"(x)); }
};

/* min(value + more, most), which Hopper does in one. */
static __device__ __forceinline__ uint32_t add_min(uint32_t value, uint32_t more, uint32_t most) {
#if __CUDA_ARCH__ >= 900
    return __viaddmin_u32(value, more, most);
#else
    return min(value + more, most);
#endif
}

/* A digit of the number. That of a key without a number is the last one: also of what stands in a thread's registers where a tile has no
 * key, whose digit is cut out, too. The second partition has keys with a number only, and cuts from what it is given. */
template <typename KEY, slots_step STEP> struct summed_digits {
    typename summed<KEY>::value scale, shift;
    uint32_t fine_bits, last; /* number */

    __device__ __forceinline__ summed_digits(const struct value_slots &plan, uint32_t fine_bits_, uint32_t last_)
        : scale((typename summed<KEY>::value)plan.scale), shift((typename summed<KEY>::value)plan.shift), fine_bits(fine_bits_),
          last(last_) {}
    __device__ __forceinline__ void forget() { summed<KEY>::hold(scale); } /* digits are cut out anew: there are no registers for them */
    __device__ __forceinline__ uint32_t of(KEY key) const {
        const uint32_t top = summed<KEY>::top(summed<KEY>::multiply_add(summed<KEY>::key_value(key), scale, shift));
        const uint32_t number = STEP != SLOTS_FINE ? add_min(top, 0 - summed<KEY>::BITS, last) : top - summed<KEY>::BITS;
        if (STEP == SLOTS_ONLY) return number;
        return STEP == SLOTS_COARSE ? number >> fine_bits : number & ((1u << fine_bits) - 1);
    }
};

template <typename KEY, slots_step STEP>
struct value_slots_shape
    : slots_step_shape<STEP, slots_rows(sizeof(KEY), STEP), STEP == SLOTS_ONLY ? value_slots_single(sizeof(KEY)) : SORT_DIGITS> {};

/* Numbers that are told apart; the last one is of keys that have none, or so are all of the last coarse bucket. */
template <typename KEY> static __host__ __device__ __forceinline__ uint32_t value_numbers(const struct slots_plan &slots) {
    return slots.coarse_bits ? SORT_DIGITS << slots.fine_bits : value_slots_single(sizeof(KEY));
}

/* ---- tiles ------------------------------------------------------------------------------------------------------------------- */

/* Where coarse buckets are: each has its part of the output, the last as far as that goes, and some room aside. */
template <typename KEY> struct value_room {
    KEY *out, *beside;
    uint32_t items, aside_items, n;

    __device__ __forceinline__ value_room(const struct split_job &job, const struct value_slots &plan)
        : out((KEY *)job.out), beside((KEY *)job.slots.area + plan.aside), items(plan.coarse_items), aside_items(plan.aside_items),
          n(job.n) {}
    __device__ __forceinline__ uint32_t start(uint32_t coarse) const { return coarse * items; }
    __device__ __forceinline__ uint32_t part(uint32_t coarse) const { return min(items, n - coarse * items); }
    __device__ __forceinline__ KEY *place(uint32_t coarse, uint32_t i) const {
        return i < part(coarse) ? out + (start(coarse) + i) : beside + (coarse * aside_items + i - part(coarse));
    }
};

/* The tile with this number; false: there is none, or nothing in it. */
template <typename KEY, slots_step STEP>
static __device__ __forceinline__ bool find_value_tile(struct slots_tile *tile, uint32_t number, const struct split_job &job,
                                                       const struct value_slots &plan) {
    constexpr uint32_t TILE_ITEMS = value_slots_shape<KEY, STEP>::ITEMS;
    uint32_t end = job.n;
    tile->coarse = 0;
    if (STEP == SLOTS_FINE) {
        tile->coarse = number / plan.coarse_tiles;
        if (tile->coarse >= plan.ncoarse) return false;
        number -= tile->coarse * plan.coarse_tiles;
        const value_room<KEY> room(job, plan);
        end = min(job.header->coarse_size[tile->coarse], room.part(tile->coarse) + room.aside_items); /* no more if it has been given up */
    }
    tile->first = number * TILE_ITEMS;
    tile->count = tile->first < end ? min(end - tile->first, TILE_ITEMS) : 0;
    return tile->count > 0;
}

/* Its keys. */
template <slots_step STEP, int ROWS, typename KEY>
static __device__ __forceinline__ void load_value_tile(KEY (&keys)[ROWS], const struct slots_tile &tile, const struct warp_items &items,
                                                       uint32_t start, const struct split_job &job, const value_room<KEY> &room) {
    const uint32_t first = tile.first + start;
    if (STEP == SLOTS_FINE && tile.first + tile.count > room.part(tile.coarse)) { /* some of them lie aside */
#pragma unroll
        for (int row = 0; row < ROWS; row++) keys[row] = items.has(row) ? *room.place(tile.coarse, first + row * 32) : (KEY)0;
        return;
    }
    const KEY *src = (STEP == SLOTS_FINE ? (const KEY *)job.out + room.start(tile.coarse) : (const KEY *)job.in) + first;
#pragma unroll
    for (int row = 0; row < ROWS; row++) keys[row] = items.has(row) ? src[row * 32] : (KEY)0;
}

/* All of a tile. False: the attempt has been given up. FULL: it has all the keys that a tile can have. */
template <bool FULL, typename KEY, slots_step STEP>
static __device__ __forceinline__ bool move_value_tile(const struct slots_tile &tile, const struct split_job &job,
                                                       const struct value_slots &plan, KEY *s_tile,
                                                       struct digit_partition<value_slots_shape<KEY, STEP>::DIGITS> &s) {
    typedef value_slots_shape<KEY, STEP> SHAPE;
    constexpr int ROWS = SHAPE::ROWS, THREADS = SHAPE::THREADS;
    constexpr bool COARSE = STEP == SLOTS_COARSE;
    const uint32_t fine_bits = job.slots.fine_bits, last = STEP == SLOTS_ONLY ? plan.nnumbers : value_numbers<KEY>(job.slots) - 1;
    const uint32_t ndigits = STEP == SLOTS_FINE ? 1u << fine_bits : COARSE ? SHAPE::DIGITS : last + 1;
    summed_digits<KEY, STEP> digits = {plan, fine_bits, last};
    const uint32_t warp = threadIdx.x / 32, start = warp * 32 * ROWS + threadIdx.x % 32, count = FULL ? SHAPE::ITEMS : tile.count;
    const struct warp_items items = FULL ? warp_items{32 * ROWS, 32 * ROWS} : items_of_warp(warp, ROWS, count);
    const value_room<KEY> room(job, plan);
    const bool given_up = has_turned(&job.header->by_value.state, VALUES_OPEN); /* asked before keys, or it would wait for them */
    KEY keys[ROWS];
    load_value_tile<STEP>(keys, tile, items, start, job, room);
    for (uint32_t digit = threadIdx.x; digit < ndigits; digit += THREADS) s.counts[digit] = 0;
    if (STEP != SLOTS_ONLY && threadIdx.x == 0) s.uneven = 0;
    if (__syncthreads_or(given_up)) return false; /* else: zeroes before counts */
    struct packed_ranks<ROWS> ranks = {};
    constexpr bool SKEWED = FULL && STEP == SLOTS_FINE; /* where sorted keys are, whose warps may have two digits */
    count_warp<SKEWED, false, FULL || STEP == SLOTS_ONLY>(ranks, keys, items, s.counts, digits);
    __syncthreads(); /* all counts */
    if (STEP == SLOTS_ONLY) prefetch_slots_tile<KEY>(job, tile.first + (gridDim.x - 1) * SHAPE::ITEMS, SHAPE::ITEMS);

    const uint32_t slot = tile.coarse << fine_bits;
    uint32_t *cursors = COARSE ? job.header->coarse_size : job.slots.size + slot;
    const auto start_of = [&](uint32_t digit) { return COARSE ? room.start(digit) : (slot + digit) * plan.items; };
    const uint32_t reach = reserve_digits<THREADS>(s, cursors, ndigits, start_of), part = COARSE ? room.part(threadIdx.x) : 0;
    static_assert(!COARSE || SHAPE::DIGITS <= THREADS, "a thread a coarse bucket");
    if (__syncthreads_or(reach > (COARSE ? part + room.aside_items : plan.items))) { /* else: all places */
        const bool nowhere = __syncthreads_or(reach >= VALUE_SLOTS_NOWHERE);
        if (threadIdx.x == 0) job.header->by_value.state = nowhere ? VALUES_UNEVEN : VALUES_FULL;
        return false;
    }
    digits.forget();
    scatter_items(keys, items, ranks, s.places, digits, [&](int row, uint32_t place) { s_tile[place] = keys[row]; });
    if (SHAPE::DIGITS > THREADS) settle_digits<THREADS>(s, ndigits);
    const bool aside = __syncthreads_or(COARSE && reach > part); /* also: the tile is in runs, and each run has its place */
    KEY *area = COARSE ? (KEY *)job.out : (KEY *)job.slots.area;
    if (COARSE && aside) {
        for (uint32_t i = threadIdx.x; i < count; i += THREADS) {
            const KEY key = s_tile[i];
            const uint32_t digit = digits.of(key);
            *room.place(digit, s.base[digit] + i - room.start(digit)) = key;
        }
        return true;
    }
    const uint32_t nruns = COARSE ? plan.ncoarse : ndigits;
    if (STEP != SLOTS_ONLY && are_long_runs(SHAPE::ITEMS * sizeof(KEY), nruns) && !s.uneven) {
        write_runs<THREADS>(
            s, nruns, [&](int32_t i) { return s_tile[i]; }, [&](uint32_t place, int32_t i, KEY key) { (area + place)[i] = key; });
        return true;
    }
#pragma unroll 8
    for (uint32_t i = threadIdx.x; i < count; i += THREADS) {
        const KEY key = s_tile[i];
        area[s.base[digits.of(key)] + i] = key;
    }
    return true;
}

/* ---- the kernel -------------------------------------------------------------------------------------------------------------- */

/* Keys by number, as looked_counts has them by their bits. fullest: of a thread, the number that it has met most others in, below how many.
 */
template <typename KEY> struct looked_values {
    static constexpr uint32_t VECTORS = 1, NUMBER_BITS = 24;
    const summed_digits<KEY, SLOTS_ONLY> digits;
    uint32_t *const s_words;
    uint32_t &fullest;

    __device__ __forceinline__ void clear() const {
        for (uint32_t i = threadIdx.x; i <= digits.last / 4; i += blockDim.x) s_words[i] = 0;
    }
    template <int N> __device__ __forceinline__ uint32_t add_neighbours(const KEY (&keys)[N]) const {
        uint32_t npairs = 0, number[N];
#pragma unroll
        for (int i = 0; i < N; i++) {
            number[i] = digits.of(keys[i]);
            const uint32_t before = atomicAdd(&s_words[number[i] / 4], 1u << number[i] % 4 * 8) >> number[i] % 4 * 8 & 0xff;
            fullest = max(fullest, before << NUMBER_BITS | number[i]);
            npairs += before;
#pragma unroll
            for (int j = 0; j < i; j++) npairs -= number[i] == number[j];
        }
        return npairs;
    }
};

/* Some keys with one number; how many of those that are added have it. */
template <typename KEY> struct keys_of_number {
    static constexpr uint32_t VECTORS = 1, MOST = 128;
    const summed_digits<KEY, SLOTS_ONLY> digits;
    const uint32_t number;
    KEY *const s_keys; /* [MOST] */
    uint32_t *const s_nkeys;

    __device__ __forceinline__ void clear() const {
        if (threadIdx.x == 0) *s_nkeys = 0;
    }
    template <int N> __device__ __forceinline__ uint32_t add_neighbours(const KEY (&keys)[N]) const {
        uint32_t nfound = 0;
#pragma unroll
        for (int i = 0; i < N; i++) {
            if (digits.of(keys[i]) != number) continue;
            const uint32_t at = atomicAdd(s_nkeys, 1);
            if (at < MOST) s_keys[at] = keys[i];
            nfound++;
        }
        return nfound;
    }
};

/* Are most keys of the fullest number close together, or equal? Then cells that are as narrow do not divide them either. s_sums: three
 * words. All threads call it, when nobody needs the shared memory; a call, as it is rarely needed. */
template <typename KEY>
static __device__ __noinline__ bool is_fullest_a_spike(const struct split_job &job, uint32_t nkeys, uint32_t last, uint32_t fullest,
                                                       KEY *s_keys, uint32_t *s_sums) {
    const struct value_slots &plan = job.header->by_value;
    if (threadIdx.x == 0) s_sums[1] = 0;
    __syncthreads(); /* zero before the greatest */
    atomicMax(&s_sums[1], fullest);
    __syncthreads(); /* the greatest */
    const uint32_t number = s_sums[1] & ((1u << looked_values<KEY>::NUMBER_BITS) - 1);
    const keys_of_number<KEY> found = {{plan, job.slots.fine_bits, last}, number, s_keys, &s_sums[2]};
    look_at_keys<KEY>(job, nkeys, found, found.MOST - 1, s_sums);
    __syncthreads(); /* all that are found */
    const uint32_t n = min(s_sums[2], found.MOST);
    const double mine = (double)summed<KEY>::key_value(s_keys[threadIdx.x % found.MOST]), width = 1 / fabs(plan.scale);
    uint32_t nnear = 0;
    for (uint32_t i = 0; i < n && threadIdx.x < n; i++)
        nnear += fabs((double)summed<KEY>::key_value(s_keys[i]) - mine) < width / VALUE_SLOTS_SPIKE;
    return __syncthreads_or(2 * nnear > max(n, VALUE_SLOTS_SPIKE_MIN));
}

/* One CTA, while the others are at work: do more pairs of keys share a number than chance has it? And if so, as some are close together? */
template <typename KEY>
static __device__ __forceinline__ void look_at_values(const struct split_job &job, const struct value_slots &plan, uint32_t *s_words,
                                                      uint32_t *s_sums) {
    const uint32_t last = value_numbers<KEY>(job.slots) - 1;
    uint32_t fullest = 0;
    const looked_values<KEY> counts = {{plan, job.slots.fine_bits, last}, s_words, fullest};
    const uint32_t nkeys = min((uint32_t)SLOTS_LOOKED, (uint32_t)SLOTS_LOOKED_PER_BUCKET << (31 - __clz((int)plan.nnumbers)));
    const float chance = (float)nkeys * (float)nkeys * plan.share / 2;
    const bool uneven = look_at_keys<KEY>(job, nkeys, counts, (uint32_t)(chance + 4 * sqrtf(chance)), s_sums);
    if (uneven) job.header->by_value.state = VALUES_UNEVEN;
    if (!__syncthreads_or(uneven)) return;
    const bool spike = is_fullest_a_spike<KEY>(job, nkeys, last, fullest, (KEY *)s_words, s_sums);
    if (spike && threadIdx.x == 0) job.header->by_value.state = VALUES_FULL;
}

/* As split_into_slots(). */
template <typename KEY, slots_step STEP>
__global__ void __launch_bounds__(value_slots_shape<KEY, STEP>::THREADS, value_slots_shape<KEY, STEP>::CTAS_PER_SM)
    split_by_value(const __grid_constant__ struct split_job job) {
    typedef value_slots_shape<KEY, STEP> SHAPE;
    constexpr bool LOOKS = STEP != SLOTS_FINE;
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct digit_partition<SHAPE::DIGITS> s_partition;
    wait_for_predecessor();
    if (__syncthreads_or(job.header->by_value.state != VALUES_OPEN)) return; /* later news are asked for with a tile's keys */
    typedef typename std::conditional<STEP == SLOTS_ONLY, const struct value_slots &, const struct value_slots>::type read_plan;
    read_plan plan = job.header->by_value; /* by the only partition again and again: it has no registers to keep it */
    if (LOOKS && blockIdx.x == 0) return look_at_values<KEY>(job, plan, (uint32_t *)s_memory, s_partition.sums);
    KEY *s_tile = hold_address((KEY *)s_memory);
    struct digit_partition<SHAPE::DIGITS> &s = *hold_address(&s_partition);
    struct slots_tile tile;
    for (uint32_t number = blockIdx.x - LOOKS; find_value_tile<KEY, STEP>(&tile, number, job, plan); number += gridDim.x - LOOKS) {
        const bool full = STEP != SLOTS_ONLY && tile.count == SHAPE::ITEMS; /* the only partition would spill registers */
        const bool moved = full ? move_value_tile<true, KEY, STEP>(tile, job, plan, s_tile, s)
                                : move_value_tile<false, KEY, STEP>(tile, job, plan, s_tile, s);
        if (!moved || STEP != SLOTS_ONLY) return;
    }
}

#endif
