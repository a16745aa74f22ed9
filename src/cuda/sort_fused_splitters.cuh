/* sort_fused_splitters.cuh: keys alone whose top bits make buckets too big for sort_fused.cuh, of more rows than sort_fused_sample.cuh is
 * for: buckets by a larger sample, in the same launch.
 *
 *     all CTAs       draw 8,192 keys and sort them together (sort_fused_drawn.cuh)
 *     each CTA       counts its tile by the 4,096 cells between the splitters, and notes each key's rank; adds its counts to the totals
 *     waits          until these add up to n
 *     each CTA       puts neighbouring cells together to buckets, all alike, and takes room for its keys in each
 *                    brings the tile into runs in shared memory, and copies these to the buckets
 *
 * A cell has one key in 4,096, give or take. That some cell has nine times as many, too many for a bucket, is less likely than one in a
 * thousand, whatever the keys. A value that is drawn often has a cell to itself, and if it is frequent, its keys are not moved: their
 * places in the output are filled at once. If a bucket is too big all the same, or there are too many, nothing is moved, and the stable
 * passes do the work. So they do if keys look like few values, and of 64-bit keys if few bits vary.
 *
 * There are registers for the ranks of a tile or for its keys, not for both: so keys are read twice more, from L2.
 * Cost: as sort_fused.cuh, and 35 us for 2^21 keys of 32 bits, 55 for 2^22, of which a third is the search of twelve steps for each key. */
#ifndef UPSWEEP_CUDA_SORT_FUSED_SPLITTERS_CUH
#define UPSWEEP_CUDA_SORT_FUSED_SPLITTERS_CUH

#include "sort_fused_drawn.cuh"
#include "sort_fused_gaps.cuh"

#define SPLITTER_TOGETHER 4 /* keys of a thread that are searched for at a time */

/* Beside a cell's total: it is one value, not moved; a bucket must begin with it. */
#define CELL_APART (1u << 31)
#define CELL_HEAD  (1u << 30)

/* The cells of a thread's keys, in the upper half, and their ranks in these. src: its first key. */
template <typename KEY, int ROWS>
static __device__ __forceinline__ void rank_by_cell(uint32_t (&ranked)[ROWS], const struct split_job &split, const KEY *src,
                                                    struct warp_items items, const struct splitter_desk<KEY> &s, uint32_t *s_count) {
    constexpr int TOGETHER = SPLITTER_TOGETHER;
    const struct key_order<KEY> order(split);
#pragma unroll
    for (int from = 0; from < ROWS; from += TOGETHER) {
        KEY images[TOGETHER];
        uint32_t cells[TOGETHER];
        if (from * 32 >= (int)items.n) break;
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) images[i] = items.has(from + i) ? src[(from + i) * 32] : (KEY)0;
        order.make_images(images);
        search_tree(cells, s.node, images, SPLITTER_LEVELS);
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
            const bool there = items.has(from + i);
            const uint32_t cell = cells[i], first = __shfl_sync(~0u, cell, 0);
            if (__all_sync(~0u, there && cell == first)) { /* as in nearly sorted input: at once, instead of one after the other */
                const uint32_t before = threadIdx.x % 32 == 0 ? atomicAdd(&s_count[cell], 32) : 0;
                ranked[from + i] = cell << 16 | (__shfl_sync(~0u, before, 0) + threadIdx.x % 32);
            } else if (there) {
                ranked[from + i] = cell << 16 | atomicAdd(&s_count[cell], 1);
            }
        }
    }
}

/* Waits until the totals of all cells add up to n; leaves them at the desk, with what tells how cells are put together. Returns where the
 * first of this thread's cells starts. */
template <typename KEY>
static __device__ __forceinline__ uint32_t await_cells(uint32_t (&mine)[SPLITTER_EACH], const struct split_job &split,
                                                       splitter_totals *totals, struct splitter_desk<KEY> &s) {
    const uint32_t t = threadIdx.x, lane = t % 32, warp = t / 32;
    uint32_t sum, of_lane;
    for (uint32_t round = 0;; round ^= 1) { /* as await_totals() */
        sum = 0;
        load_relaxed(mine, totals->of(s.turn, t * SPLITTER_EACH));
#pragma unroll
        for (uint32_t i = 0; i < SPLITTER_EACH; i++) sum += mine[i];
        const uint32_t warp_sum = sum_warp(sum);
        if (lane == 0) s.sums[round][warp] = warp_sum;
        __syncthreads(); /* the sums of this round */
        of_lane = s.sums[round][lane];
        if (sum_warp(of_lane) == split.n) break;
    }
#pragma unroll
    for (uint32_t i = 0; i < SPLITTER_EACH; i++) {
        const uint32_t cell = t * SPLITTER_EACH + i;
        const bool apart = mine[i] >= split.bucket_max / 4 && s.width_of(cell) == 1;
        s.total_of(cell) = mine[i] | (apart ? CELL_APART : s.jumps[cell / 32] >> cell % 32 & 1 ? CELL_HEAD : 0);
    }
    const uint32_t inclusive = sum_up_to_lane(sum);
    return inclusive - sum + sum_warp(lane < warp ? of_lane : 0);
}

/* Puts the cells of a stretch together, a thread a stretch, to buckets of at most so many keys; marks where they begin: in any case with
 * cells that have one of these marks. */
template <typename KEY> static __device__ __forceinline__ void mark_buckets(struct splitter_desk<KEY> &s, uint32_t most, uint32_t marks) {
    uint32_t sum = 0, cell = threadIdx.x * SPLITTER_STRETCH;
    bool begins = true;
#pragma unroll 1
    for (uint32_t word = 0; word < SPLITTER_STRETCH / 32; word++) {
        uint32_t heads = 0;
#pragma unroll 8
        for (uint32_t i = 0; i < 32; i++) {
            const uint32_t marked = s.total_of(cell + i), total = marked & ~(CELL_APART | CELL_HEAD);
            begins = begins || marked & marks || sum + total > most;
            if (total == 0) continue; /* then the next one begins a bucket, if this one would */
            sum = begins ? total : sum + total;
            heads |= (uint32_t)begins << i;
            begins = marked & CELL_APART;
        }
        s.heads[cell / 32] = heads;
        cell += 32;
    }
}

/* Which of this thread's cells begin a bucket, a bit each, and how many do before them; false if there are too many. When all heads are
 * marked, all threads call it; then they may be marked anew. */
template <typename KEY>
static __device__ __forceinline__ bool number_buckets(struct splitter_desk<KEY> &s, uint32_t *heads, uint32_t *number) {
    const uint32_t t = threadIdx.x, first = t * SPLITTER_EACH;
    *heads = s.heads[first / 32] >> first % 32 & ((1u << SPLITTER_EACH) - 1);
    const uint32_t mine = (uint32_t)__popc(*heads);
    *number = scan_threads(mine, s.sums[1]);
    if (t == FUSED_THREADS - 1) s.nbuckets = *number + mine;
    return !__syncthreads_or(*number + mine > SPLITTER_BUCKETS);
}

/* All CTAs alike: which cells make a bucket, where that starts, and where it begins in the tile; s_count: of each cell, its keys, then its
 * place in the tile. False if some bucket is too big, or there are too many. All threads call it; a barrier must follow. */
template <typename KEY>
static __device__ __forceinline__ bool plan_buckets(const struct split_job &split, const uint32_t (&mine)[SPLITTER_EACH], uint32_t start,
                                                    struct splitter_desk<KEY> &s, uint32_t *s_count) {
    const uint32_t t = threadIdx.x, first = t * SPLITTER_EACH;
    uint32_t nmoved = 0;
    const bool marks = t < SPLITTER_CELLS / SPLITTER_STRETCH;
    if (marks) mark_buckets(s, split.bucket_max / 3 * 2, CELL_APART | CELL_HEAD);
#pragma unroll
    for (uint32_t i = 0; i < SPLITTER_EACH; i++) nmoved += s.total_of(first + i) & CELL_APART ? 0 : s_count[first + i];
    uint32_t place = scan_threads(nmoved, s.sums[0]);
    if (t == FUSED_THREADS - 1) s.nmoved = place + nmoved;
    __syncthreads(); /* all heads; s.sums may be used again */
    uint32_t heads, number;
    if (!number_buckets(s, &heads, &number)) {
        if (marks) mark_buckets(s, split.bucket_max / 3 * 2, CELL_APART); /* so they reach across gaps */
        __syncthreads();                                                  /* all heads */
        if (!number_buckets(s, &heads, &number)) return false;
    }
    bool fits = true;
#pragma unroll
    for (uint32_t i = 0; i < SPLITTER_EACH; i++) {
        const bool apart = s.total_of(first + i) & CELL_APART;
        if (heads >> i & 1) {
            s.start[number] = start;
            s.begin[number] = (uint16_t)place;
            s.cell[number] = (uint16_t)(first + i);
            if (apart) s.done[atomicAdd(&s.ndone, 1)] = (uint16_t)number;
            number++;
        }
        fits = fits && (apart || mine[i] <= split.bucket_max);
        start += mine[i];
        const uint32_t here = s_count[first + i];
        s_count[first + i] = apart ? UINT32_MAX : place;
        place += apart ? 0 : here;
    }
    if (t == FUSED_THREADS - 1) {
        s.start[number] = split.n;
        s.begin[number] = (uint16_t)place;
    }
    return !__syncthreads_or(!fits); /* also: all buckets */
}

/* Takes room for the tile's keys in their buckets, and gives each run its place. All threads call it; a barrier must follow. */
template <typename KEY> static __device__ __forceinline__ void reserve_buckets(splitter_totals *totals, struct splitter_desk<KEY> &s) {
    constexpr uint32_t EACH = (SPLITTER_BUCKETS + FUSED_THREADS - 1) / FUSED_THREADS;
    const uint32_t t = threadIdx.x, nbuckets = s.nbuckets;
    uint32_t base[EACH], begin[EACH], nruns = 0;
    s.runs.heads[t] = 0;
#pragma unroll
    for (uint32_t i = 0; i < EACH; i++) {
        const uint32_t number = t * EACH + i;
        begin[i] = number < nbuckets ? s.begin[number] : 0;
        const uint32_t count = number < nbuckets ? s.begin[number + 1] - begin[i] : 0;
        base[i] = count ? atomicAdd(totals->of(s.turn, SPLITTER_CELLS + number), count) + s.start[number] - begin[i] : 0;
        begin[i] |= count ? 0 : 1u << 31;
        nruns += count > 0;
    }
    uint32_t run = scan_threads(nruns, s.sums[0]); /* also: zeroes before bits */
#pragma unroll
    for (uint32_t i = 0; i < EACH; i++) {
        if (begin[i] >> 31) continue;
        s.runs.base[run++] = base[i];
        atomicOr(&s.runs.heads[begin[i] / 32], 1u << begin[i] % 32);
    }
}

/* Brings the keys that are moved into runs. */
template <typename KEY, int ROWS>
static __device__ __forceinline__ void fill_tile(KEY *s_tile, const uint32_t (&ranked)[ROWS], const struct split_job &split, const KEY *src,
                                                 struct warp_items items, const uint32_t *s_place) {
    constexpr int TOGETHER = 8;
    const struct key_order<KEY> order(split);
#pragma unroll
    for (int from = 0; from < ROWS; from += TOGETHER) {
        KEY images[TOGETHER];
        uint32_t place[TOGETHER];
        if (from * 32 >= (int)items.n) break;
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) images[i] = items.has(from + i) ? src[(from + i) * 32] : (KEY)0;
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) place[i] = items.has(from + i) ? s_place[ranked[from + i] >> 16] : UINT32_MAX;
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
            if (place[i] != UINT32_MAX) s_tile[place[i] + (ranked[from + i] & 0xffff)] = order.image(images[i]);
        }
    }
}

/* Writes this CTA's share of the keys that are not moved: a warp a value, or, if there are few, a part of one. */
template <typename KEY>
static __device__ __forceinline__ void fill_values_apart(const struct split_job &split, const struct splitter_desk<KEY> &s) {
    constexpr uint32_t WARPS = FUSED_THREADS / 32;
    const struct key_order<KEY> order(split);
    const uint32_t ndone = s.ndone, nparts = ndone < WARPS ? WARPS / max(ndone, 1u) : 1, ntasks = ndone * nparts;
    for (uint32_t task = threadIdx.x / 32; task < ntasks; task += WARPS) {
        const uint32_t bucket = s.done[task % ndone], start = s.start[bucket], total = s.start[bucket + 1] - start;
        const uint32_t share = total / (gridDim.x * nparts) + 1, begin = (blockIdx.x * nparts + task / ndone) * share;
        const KEY key = order.key_of_image(s.low_of(s.cell[bucket]));
        KEY *out = (KEY *)split.out + start;
#pragma unroll 4
        for (uint32_t k = begin + threadIdx.x % 32; k < min(begin + share, total); k += 32) out[k] = key;
    }
}

/* One CTA calls it: tells the kernel behind which buckets there are. */
template <typename KEY>
static __device__ __forceinline__ void list_splitter_buckets(const struct split_job &split, struct splitter_desk<KEY> &s) {
    struct sampled_buckets *list = &split.header->sampled;
    for (uint32_t i = threadIdx.x; i < s.nbuckets; i += FUSED_THREADS) {
        list->start[i] = s.start[i];
        list->end[i] = s.start[i + 1];
    }
    __syncthreads();                                                                                           /* all ends */
    for (uint32_t i = threadIdx.x; i < s.ndone; i += FUSED_THREADS) list->end[s.done[i]] = s.start[s.done[i]]; /* nothing left to do */
    if (threadIdx.x == 0) {
        list->nbuckets = s.nbuckets;
        list->closed = false;
        split.header->outcome = ALL_FIT;
    }
}

/* False: nothing has been moved. */
template <typename KEY, int ROWS>
static __device__ __forceinline__ bool split_by_cells(const struct split_job &split, splitter_totals *totals, uint32_t count,
                                                      unsigned char *s_memory, uint32_t *s_count) {
    KEY *s_tile = (KEY *)s_memory;
    struct splitter_desk<KEY> &s = *(struct splitter_desk<KEY> *)(s_memory + split.tile_items * sizeof(KEY));
    const uint32_t t = threadIdx.x, warp = t / 32, rows = split.tile_items / FUSED_THREADS, tile = blockIdx.x * split.tile_items;
    if (SPLITTER_DRAWN / gridDim.x >= SPLITTER_OWN - 1) return false; /* too few CTAs to draw keys */
    const struct warp_items items = items_of_warp(warp, rows, count);
    const KEY *src = (const KEY *)split.in + tile + warp * 32 * rows + t % 32;
    if (t == 0) {
        s.turn = totals->turn;
        s.ndone = 0;
    }
    __syncthreads(); /* the turn */
    const KEY *sorted = sort_drawn(split, totals, s);
    make_splitters(s_tile, sorted, s);
#pragma unroll
    for (uint32_t k = 0; k < SPLITTER_EACH; k++) s_count[k * FUSED_THREADS + t] = 0;
    __syncthreads(); /* the tree, and zeroes before counts; nobody needs the sorted keys any more */
    uint32_t ranked[ROWS];
    rank_by_cell(ranked, split, src, items, s, s_count);
    __syncthreads(); /* all counts */
#pragma unroll
    for (uint32_t k = 0; k < SPLITTER_EACH; k++) {
        const uint32_t cell = k * FUSED_THREADS + t;
        if (s_count[cell]) atomicAdd(totals->of(s.turn, cell), s_count[cell]);
    }
    uint32_t mine[SPLITTER_EACH];
    const uint32_t start = await_cells(mine, split, totals, s);
    __syncthreads(); /* all totals are at the desk */
    const bool fits = plan_buckets(split, mine, start, s, s_count);
    if (announces()) totals->hand_over(s.turn);
    if (!fits) return false;
    if (announces()) list_splitter_buckets(split, s); /* after what it has announced in sort_fused.cuh */
    reserve_buckets(totals, s);
    fill_tile(s_tile, ranked, split, src, items, s_count);
    __syncthreads(); /* the tile is in runs, and each run has its place */
    s.runs.before[t] = scan_threads((uint32_t)__popc(s.runs.heads[t]), s.sums[1]);
    __syncthreads(); /* all bits are counted */
    KEY *dst = (KEY *)split.tmp;
#pragma unroll 4
    for (uint32_t i = t; i < s.nmoved; i += FUSED_THREADS) {
        const uint32_t run = s.runs.before[i / 32] + (uint32_t)__popc(s.runs.heads[i / 32] & ((2u << t % 32) - 1)) - 1;
        dst[s.runs.base[run] + i] = s_tile[i];
    }
    if (s.ndone && split.in == split.out) meet(totals->of(s.turn, SPLITTER_MEET + 16)); /* all have read their keys */
    fill_values_apart(split, s);
    return true;
}

/* Shared memory of a launch with ROWS rows, for a tile of so many keys. */
template <typename KEY, int ROWS> struct splitter_shape {
    typedef struct sample_shape<KEY, KEY, ROWS> SAMPLE;
    static_assert(sizeof(struct splitter_desk<KEY>) >= VALUE_SLOTS * sizeof(uint32_t), "where a sample is looked at");

    static __host__ __device__ __forceinline__ uint32_t desk_nbytes(uint32_t tile_items) {
        return tile_items * (uint32_t)sizeof(KEY) + (uint32_t)sizeof(struct splitter_desk<KEY>);
    }
    static __device__ __forceinline__ uint32_t *counts(unsigned char *s_memory, uint32_t tile_items) {
        return (uint32_t *)(s_memory + desk_nbytes(tile_items));
    }
    /* The counts of floats are elsewhere, and they have no gaps. */
    static __host__ __forceinline__ uint32_t shared_nbytes(uint32_t tile_items, bool floats) {
        if (floats) return desk_nbytes(tile_items);
        return max_u32(desk_nbytes(tile_items) + SPLITTER_CELLS * (uint32_t)sizeof(uint32_t), SAMPLE::shared_nbytes(tile_items));
    }
};

/* All threads of all CTAs call it, whose tile of `count` keys, if they may have gaps, lies in s_memory, in any order. s_counts
 * [SPLITTER_CELLS]. False if this does not help either: then nothing has been moved. A call of its own, so that what it needs does not
 * burden the kernel that it is rarely called by. */
template <typename KEY, int ROWS, bool GAPS>
static __device__ __noinline__ bool split_by_splitters(const struct split_job &split, struct skewed_totals *more, uint32_t count,
                                                       unsigned char *s_memory, uint32_t *s_counts) {
    constexpr int PER = splitter_shape<KEY, ROWS>::SAMPLE::PER;
    unsigned char *s_desk = s_memory + split.tile_items * sizeof(KEY);
    KEY sample[PER];
    draw_sample<KEY>(sample, split);
    if (split.most_values) {
        uint32_t *s_words = (uint32_t *)s_desk;
        for (uint32_t i = threadIdx.x; i < VALUE_SLOTS; i += FUSED_THREADS) s_words[i] = 0;
        __syncthreads(); /* zeroes before counts */
        int nonce, ntwice;
        count_sample(&nonce, &ntwice, sample[threadIdx.x % PER], s_words); /* from all over the input */
        if (are_fewer_values(nonce, ntwice)) return false;                 /* they are counted */
    }
    if constexpr (GAPS) {
        struct sample_desk<KEY> &s = *(struct sample_desk<KEY> *)s_desk;
        if (plan_gaps<PER, KEY>(split, sample, s)) {
            if (split_closed<KEY>(split, &more->closed, (const KEY *)s_memory, count, s, (uint16_t *)(&s + 1))) return true;
        }
        __syncthreads(); /* nobody needs the desk any more */
    }
    if constexpr (sizeof(KEY) == 8) {
        bool gaps;
        if (few_bits_vary<KEY>(&gaps, split, *(uint64_t(*)[32])s_desk) || (GAPS && gaps)) return false;
    }
    return split_by_cells<KEY, ROWS>(split, &more->drawn, count, s_memory, s_counts);
}

#endif
