/* sort_slots_pairs.cuh: sorts pairs of uniform 32-bit keys and 4 bytes by slots (sort_slots.cuh): one partition in no order, then buckets.
 *
 *     item     | key, without the bits that its bucket shares | number of the tile it was in | value |
 *
 * The bits that a bucket shares make room for the number of the tile that a pair was in. So once items are sorted, equal keys of different
 * tiles are in the order in which they came. Equal keys of one tile are a *tie*: where they are in the output is known, but not which of
 * them comes first. So for each tile a list is kept of the places of its ties, and at the end each tile that has some is read again, to see
 * in which order its tied keys stand. So whatever order atomics bring pairs in, the sort is stable. Of 2^24 uniform keys some 64 are tied.
 *
 * If keys repeat so often that a tile's list would be full, the attempt is given up: the input, which must not be sorted in place, is
 * still where it was, and the stable split queued behind does all (sort_stable.cuh). Most often that is seen in the first tiles, before
 * anything is written. Cost: keys and values read twice and written twice. */
#ifndef UPSWEEP_CUDA_SORT_SLOTS_PAIRS_CUH
#define UPSWEEP_CUDA_SORT_SLOTS_PAIRS_CUH

#include "sort_bucket.cuh"
#include "sort_slots.cuh"

typedef slots_shape<uint32_t, uint64_t, SLOTS_PAIRS> pair_slots_shape;
static_assert(PAIR_SLOTS_TILE == pair_slots_shape::ITEMS, "as the header has it");

/* ---- buckets ----------------------------------------------------------------------------------------------------------------- */

/* What a bucket's items are once they are sorted. */
struct pair_order {
    const struct key_order<uint32_t> order;
    const uint32_t number, number_bits;

    /* head: the upper half of an item. */
    __device__ __forceinline__ uint32_t key_of(uint32_t head) const {
        return order.key_of_image(head >> number_bits | number << (32 - number_bits));
    }
    __device__ __forceinline__ uint32_t tile_of(uint32_t head) const { return head & ((1u << number_bits) - 1); }
};

/* Shared memory: a bucket's ties; each the number of its tile, and above that its place in the bucket. */
struct bucket_ties {
    uint32_t n, ties[PAIR_SLOTS_BUCKET_TIES];

    __device__ __forceinline__ void add(uint32_t tile, uint32_t place) {
        const uint32_t i = atomicAdd(&n, 1);
        if (i < PAIR_SLOTS_BUCKET_TIES) ties[i] = place * PAIR_SLOTS_TILES + tile;
    }
    /* Puts them on the lists of their tiles. start: where the bucket is in the output. All threads call it. */
    __device__ __forceinline__ void hand_over(const struct split_job &job, uint32_t start) const {
        __syncthreads(); /* all are there */
        for (uint32_t i = threadIdx.x; i < min(n, PAIR_SLOTS_BUCKET_TIES); i += blockDim.x) {
            const uint32_t tile = ties[i] % PAIR_SLOTS_TILES, k = atomicAdd(&job.header->nties[tile], 1), most = job.slots.tile_ties;
            if (k < most) job.ties[tile * most + k] = start + ties[i] / PAIR_SLOTS_TILES;
            if (k == most) job.header->slots_full = SLOTS_FULL;
        }
        if (threadIdx.x == 0 && n > PAIR_SLOTS_BUCKET_TIES) job.header->slots_full = SLOTS_FULL;
    }
};

/* Notes those items of a sorted window that are the same, but for their values, as their neighbours. */
static __device__ __forceinline__ void note_ties(struct bucket_ties &s, const struct pair_order &order,
                                                 const uint64_t (&items)[WINDOW_LANE_KEYS], struct bucket_slots slots,
                                                 uint32_t window_slot) {
    const uint32_t slot = window_slot + threadIdx.x % 32 * WINDOW_LANE_KEYS;
    const uint32_t above = __shfl_up_sync(~0u, (uint32_t)(items[WINDOW_LANE_KEYS - 1] >> 32), 1);
    const uint32_t below = __shfl_down_sync(~0u, (uint32_t)(items[0] >> 32), 1);
    if (!lane_is_written()) return;
#pragma unroll
    for (int i = 0; i < WINDOW_LANE_KEYS; i++) {
        const uint32_t head = (uint32_t)(items[i] >> 32);
        const bool before = head == (i > 0 ? (uint32_t)(items[i - 1] >> 32) : above);
        const bool behind = head == (i < WINDOW_LANE_KEYS - 1 ? (uint32_t)(items[i + 1] >> 32) : below);
        if ((before || behind) && slot + i >= slots.first && slot + i < slots.end) s.add(order.tile_of(head), slot + i - slots.first);
    }
}

/* A bucket that has a bin too deep for a warp's lanes: stable passes, as in sort_bucket_stably(). start: where it goes. All threads call
 * it. */
template <typename SHAPE>
static __device__ __noinline__ void sort_pairs_stably(const struct split_job &job, uint32_t number, uint32_t start, unsigned char *s_memory,
                                                      uint32_t *s_sums, struct bucket_ties &s_ties) {
    const uint32_t n = job.slots.size[number], rows = (n + SHAPE::THREADS - 1) / SHAPE::THREADS, mine = first_of_thread(rows);
    const struct team_items<false> which = items_of_team<false>(rows, n);
    uint64_t *s_items = (uint64_t *)s_memory, items[SHAPE::ROWS];
    const struct cta_memory<uint64_t> memory = { (uint32_t *)s_memory, s_sums, s_items };
    const uint64_t *src = (const uint64_t *)job.slots.area + (size_t)number * job.slots.items + mine;
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) items[row] = which.has(row) ? src[row * SORT_TEAM] : 0;
    for (uint32_t shift = 32; shift < 64; shift += SORT_DIGIT_BITS)
        reorder_by_digit<SHAPE::THREADS / SORT_TEAM>(items, which, mine, n, memory, shift, SORT_DIGITS - 1);
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) {
        if (which.has(row)) s_items[mine + row * SORT_TEAM] = items[row];
    }
    __syncthreads(); /* all items are in order, but for values */
    const struct pair_order order = {key_order<uint32_t>(job), number, job.slots.fine_bits};
    for (uint32_t i = threadIdx.x; i < n; i += SHAPE::THREADS) {
        const uint32_t head = (uint32_t)(s_items[i] >> 32);
        ((uint32_t *)job.out)[start + i] = order.key_of(head);
        ((uint32_t *)job.values_out)[start + i] = (uint32_t)s_items[i];
        const bool before = i > 0 && (uint32_t)(s_items[i - 1] >> 32) == head;
        if (before || (i + 1 < n && (uint32_t)(s_items[i + 1] >> 32) == head)) s_ties.add(order.tile_of(head), i);
    }
    s_ties.hand_over(job, start);
}

/* All threads call it. */
template <typename SHAPE>
static __device__ __forceinline__ void sort_pair_bucket(const struct split_job &job, uint32_t number, unsigned char *s_memory,
                                                        struct bucket_desk<uint64_t> &s, struct bucket_ties &s_ties) {
    constexpr int THREADS = SHAPE::THREADS, ROWS = SHAPE::ROWS;
    constexpr uint32_t BIN_SHIFT = 64 - SHAPE::BIN_BITS;
    uint32_t *s_bins = (uint32_t *)s_memory;
    uint64_t *s_slots = (uint64_t *)(s_memory + SHAPE::BINS_NBYTES);
    const uint32_t n = job.slots.size[number];
    uint64_t items[ROWS];
    const struct bucket_rows<SHAPE> rows(n);
    get_items(items, rows, job, (const uint64_t *)job.slots.area, number * job.slots.items);
    uint32_t before = 0;
    for (uint32_t i = threadIdx.x; i < number; i += THREADS) before += job.slots.size[i];
    s.add_before(before); /* after the items have been asked for */
    for (uint32_t i = threadIdx.x; i < SHAPE::BINS / 4; i += THREADS) ((uint4 *)s_bins)[i] = make_uint4(0, 0, 0, 0);
    if (threadIdx.x == 0) s_ties.n = 0;
    __syncthreads(); /* zeroes before counts */
    count_in_bins(items, rows, s_bins, BIN_SHIFT);
    __syncthreads();                                              /* all counts */
    const uint32_t next = number + job.nsms * SHAPE::CTAS_PER_SM; /* will be sorted when this one has been */
    if (threadIdx.x == 0 && next < job.nnumbers) prefetch_items((const uint64_t *)job.slots.area + (size_t)next * job.slots.items, n);
    const uint32_t deepest = scan_bins<SHAPE::BINS, SHAPE::WARPS>(s_bins, s.sums);
    const bool deep = __syncthreads_or(deepest > WINDOW_HALO); /* also: all ends */
    const uint32_t start = s.start(SHAPE::WARPS);
    if (deep && __syncthreads_or(deepest > DEEP_FEW_ITEMS)) return sort_pairs_stably<SHAPE>(job, number, start, s_memory, s.sums, s_ties);
    uint32_t *keys_out = (uint32_t *)job.out + start, *values_out = (uint32_t *)job.values_out + start;
    const uint32_t skew = (uint32_t)((uintptr_t)keys_out / sizeof(uint32_t)) % WINDOW_LANE_KEYS, first = WINDOW_HALO + skew;
    const struct bucket_slots slots = {first, first + n};
    const uint32_t nwindows = (skew + n + WINDOW_STEP - 1) / WINDOW_STEP;
    fill_around<THREADS>(s_slots, first, n, nwindows);
    put_in_bins(s_slots, items, rows, first, s_bins, BIN_SHIFT);
    __syncthreads(); /* all items are in their bins */
    if (deep) {
        sort_each_deep_bin<SHAPE, false>(s_slots, first, n, s_bins);
        __syncthreads(); /* all deep bins are in order */
    }

    const struct pair_order order = {key_order<uint32_t>(job), number, job.slots.fine_bits};
    for (uint32_t window = threadIdx.x / 32; window < nwindows; window += SHAPE::WARPS) {
        uint64_t sorted[WINDOW_LANE_KEYS];
        get_window(sorted, s_slots, window * WINDOW_STEP);
        sort_window(sorted);
        note_ties(s_ties, order, sorted, slots, window * WINDOW_STEP);
        uint32_t keys[WINDOW_LANE_KEYS], values[WINDOW_LANE_KEYS];
#pragma unroll
        for (int i = 0; i < WINDOW_LANE_KEYS; i++) {
            keys[i] = order.key_of((uint32_t)(sorted[i] >> 32));
            values[i] = (uint32_t)sorted[i];
        }
        put_window(keys_out - first, slots, window * WINDOW_STEP, keys);
        put_window(values_out - first, slots, window * WINDOW_STEP, values);
    }
    s_ties.hand_over(job, start);
}

/* A CTA a bucket. */
template <typename SHAPE>
__global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::CTAS_PER_SM) sort_slots_pairs(const __grid_constant__ struct split_job job) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct bucket_desk<uint64_t> s_desk;
    __shared__ struct bucket_ties s_ties;
    wait_for_predecessor();
    if (!was_given_up(job)) sort_pair_bucket<SHAPE>(job, blockIdx.x, s_memory, s_desk, s_ties);
}

/* ---- ties -------------------------------------------------------------------------------------------------------------------- */

#define TIES_THREADS     1024
#define TIES_CTAS_PER_SM 2
#define TIES_FOUND       2048 /* keys of a tile that may be tied: those that are, and one in 64 of the others at most */
#define TIES_FILTER_BITS 16

/* Shared memory: the ties of a tile, each with its key, where it is in the output, and which of those with this key it is; the same of the
 * tile's keys, with where they are in the input; and what tells quickly that a key is not tied. */
struct tied_pair {
    uint32_t key, place;
};
struct tied_tile {
    uint32_t nfound;
    struct tied_pair ties[TIES_THREADS], found[TIES_FOUND];
    uint32_t rank[TIES_THREADS];
    uint32_t filter[1 << TIES_FILTER_BITS >> 5];
};

static __device__ __forceinline__ uint32_t filter_bit(uint32_t key) { return key * 0x9e3779b1u >> (32 - TIES_FILTER_BITS); }

/* How many of the pairs have this key and are before this place? */
static __device__ __forceinline__ uint32_t rank_tied(const struct tied_pair *s_pairs, uint32_t n, struct tied_pair pair) {
    uint32_t before = 0;
#pragma unroll 8
    for (uint32_t i = 0; i < n; i++) before += (s_pairs[i].key == pair.key) & (s_pairs[i].place < pair.place);
    return before;
}

/* Writes the values of a tile's ties anew, in the order in which their keys stand in the tile. All threads call it. */
static __device__ __forceinline__ void order_ties(struct tied_tile &s, const struct split_job &job, uint32_t tile, uint32_t nties) {
    constexpr uint32_t ROWS = pair_slots_shape::ITEMS / TIES_THREADS;
    const uint32_t first = tile * pair_slots_shape::ITEMS + threadIdx.x, t = threadIdx.x;
    uint32_t keys[ROWS];
#pragma unroll
    for (uint32_t row = 0; row < ROWS; row++)
        keys[row] = first + row * TIES_THREADS < job.n ? ((const uint32_t *)job.in)[first + row * TIES_THREADS] : 0;
    for (uint32_t i = t; i < sizeof s.filter / sizeof *s.filter; i += TIES_THREADS) s.filter[i] = 0;
    if (t == 0) s.nfound = 0;
    __syncthreads(); /* zeroes before bits and counts */
    if (t < nties) {
        const uint32_t place = job.ties[tile * job.slots.tile_ties + t], key = ((const uint32_t *)job.out)[place];
        s.ties[t] = {key, place};
        atomicOr(&s.filter[filter_bit(key) / 32], 1u << filter_bit(key) % 32);
    }
    __syncthreads(); /* all ties */
#pragma unroll
    for (uint32_t row = 0; row < ROWS; row++) {
        const uint32_t place = first + row * TIES_THREADS, bit = filter_bit(keys[row]);
        if (place >= job.n || !(s.filter[bit / 32] >> bit % 32 & 1)) continue;
        const uint32_t i = atomicAdd(&s.nfound, 1);
        if (i < TIES_FOUND) s.found[i] = {keys[row], place};
    }
    if (t < nties) s.rank[t] = rank_tied(s.ties, nties, s.ties[t]);
    __syncthreads(); /* all ranks, and all that is found */
    if (t == 0 && s.nfound > TIES_FOUND) job.header->slots_full = SLOTS_FULL;
    const uint32_t nfound = min(s.nfound, (uint32_t)TIES_FOUND);
    for (uint32_t i = t; i < nfound; i += TIES_THREADS) {
        const struct tied_pair found = s.found[i];
        const uint32_t rank = rank_tied(s.found, nfound, found);
        uint32_t tie = nties; /* none, if only the filter took it for one */
#pragma unroll 8
        for (uint32_t k = 0; k < nties; k++) tie = (s.ties[k].key == found.key) & (s.rank[k] == rank) ? k : tie;
        if (tie < nties) ((uint32_t *)job.values_out)[s.ties[tie].place] = ((const uint32_t *)job.values)[found.place];
    }
    __syncthreads(); /* nobody needs the shared memory any more */
}

/* A CTA takes one tile after the other; it looks at 32 of them at once, as most have no ties. */
static __global__ void __launch_bounds__(TIES_THREADS, TIES_CTAS_PER_SM) order_tied_pairs(const __grid_constant__ struct split_job job) {
    __shared__ struct tied_tile s_tied;
    wait_for_predecessor();
    if (was_given_up(job)) return;
    const uint32_t ntiles = (job.n + pair_slots_shape::ITEMS - 1) / pair_slots_shape::ITEMS;
    for (uint32_t first = blockIdx.x; first < ntiles; first += 32 * gridDim.x) {
        const uint32_t mine = first + threadIdx.x % 32 * gridDim.x, nties = mine < ntiles ? job.header->nties[mine] : 0;
        for (uint32_t left = __ballot_sync(~0u, nties > 0); left; left &= left - 1) {
            const int lane = __ffs((int)left) - 1;
            order_ties(s_tied, job, __shfl_sync(~0u, mine, lane), __shfl_sync(~0u, nties, lane));
        }
    }
}

#endif
