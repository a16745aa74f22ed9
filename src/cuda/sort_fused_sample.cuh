/* sort_fused_sample.cuh: when the top bits of the keys make buckets too big for sort_fused.cuh: buckets by a sample, in the same launch.
 *
 *     each CTA       sorts a sample, the same in all, and counts its tile by the cells of that (sort_sample.cuh); adds to the totals
 *     waits          until they add up to n
 *     each CTA       divides cells of many keys into parts of equal width; counts its tile by part, adds these counts to other totals
 *                    brings the tile into runs in shared memory
 *     waits          until those add up to n, and copies its runs to where they belong
 *     one CTA        puts neighbouring parts together, to buckets for CTAs
 *
 * Many equal keys are a part by themselves, which is not moved: its place in the output is filled at once. So whatever the keys are, parts
 * are too big only if the sample has missed a frequent value, or if some cell's keys lie close together in it, at the scale of the cell.
 * Then nothing is moved, and the keys are sorted by rounds (sort_rounds.cuh), in the same launch, or by what is queued behind. So are those
 * of 64 bits that lie in many narrow ranges, since hardly any bins of a bucket would have keys, but these many. Items with an index are all
 * different, and what goes with skewed keys is moved by rounds as quickly: so this is for keys alone.
 * Cost: as sort_fused.cuh, and a sample sorted by each CTA, a search for each key and two waits: 17 to 23 us more for 2^16 keys of 32 bits,
 * 24 to 34 for 2^20. */
#ifndef UPSWEEP_CUDA_SORT_FUSED_SAMPLE_CUH
#define UPSWEEP_CUDA_SORT_FUSED_SAMPLE_CUH

#include "sort_fused_gaps.cuh"

#define PART_IS_DONE 0x8000u       /* beside a part's number: it is not moved */
#define PARTS_ASKED  (PARTS - 160) /* of cells of many keys: those of few, and frequent keys, get more */
#define LONG_FILL    256           /* keys that all threads write together */
#define RANGE_BITS   4             /* of images: those of a bucket hardly differ in more */
#define GAP_BITS     8             /* by which a cell with a gap is wider than one beside it: with 6, some keys have many buckets */

/* Do sorted keys, one a thread, at(i) is number i, look like few values? All threads call it. */
template <typename AT> static __device__ __forceinline__ bool sorted_are_few(const AT &at) {
    const uint32_t t = threadIdx.x;
    const auto key = at(t);
    const bool before = t > 0 && at(t - 1) == key, behind = t + 1 < FUSED_THREADS && at(t + 1) == key;
    const bool two_before = t > 1 && at(t - 2) == key, two_behind = t + 2 < FUSED_THREADS && at(t + 2) == key;
    const int nonce = __syncthreads_count(!before && !behind);
    const int ntwice = __syncthreads_count(before ? !behind && !two_before : behind && !two_behind);
    return are_few_values(nonce, ntwice);
}

/* Do many of a sorted sample lie far closer to the one before than those around them? Then so do all keys, in ranges of which each would be
 * a deep bin of its bucket. at(i): number i. All threads call it. */
template <uint32_t N, typename AT> static __device__ __forceinline__ bool are_in_narrow_ranges(const AT &at, uint32_t n) {
    uint32_t nnear = 0;
#pragma unroll
    for (uint32_t i = threadIdx.x; i < N; i += FUSED_THREADS) {
        const bool inner = i >= SAMPLED_AROUND && i + SAMPLED_AROUND < N;
        const auto reach = inner ? at(i + SAMPLED_AROUND) - at(i - SAMPLED_AROUND) : 0, distance = inner ? at(i) - at(i - 1) : 0;
        nnear += (uint32_t)__syncthreads_count(distance > 0 && distance < reach / SAMPLED_NEAR);
    }
    return (float)nnear * (float)n > (float)SAMPLED_DEEP * (float)N * (float)N;
}

/* Is a cell between two splitters so much wider than one beside it that most likely it has keys at its ends only? */
template <typename KEY> static __device__ __forceinline__ bool has_gap(const splitter_tree<KEY, FUSED_THREADS> &tree, uint32_t cell) {
    if (cell == 0 || cell >= 2 * tree.SPLITTERS) return false; /* beyond the sample */
    const KEY low = tree.low_of(cell), high = tree.high_of(cell), least = (KEY)(high - low) >> GAP_BITS;
    const KEY below = (KEY)(low - tree.low_of(cell - 2)), above = (KEY)(tree.high_of(cell + 2) - high);
    return (below > 1 && below < least) || (above > 1 && above < least);
}

/* How thread t's cell t is divided, given the keys of all cells in s.count; false if there are not parts enough. */
template <typename KEY>
static __device__ __forceinline__ bool divide_cell(const struct split_job &split, uint32_t total, struct sample_desk<KEY> &s) {
    const uint32_t cell = threadIdx.x, each = split.n / PARTS_ASKED + 1;
    const bool equal = cell % 2;
    const bool many = equal && total >= split.bucket_max / 4;
    const bool apart = many || (total > 0 && (!equal || s.count[cell - 1] == 0)); /* few equal keys go with those below them */
    const uint32_t fewest = !apart ? 0 : equal ? 1 : max((total + each / 2) / each, 1u);
    bool gap = apart && !equal && has_gap(s.tree, cell); /* then its upper parts are of another bucket, or most bins would be empty */
    uint32_t nparts = gap ? max(fewest, 2u) : fewest, first = scan_threads(nparts, s.sums[0]);
    if (__syncthreads_or(first + nparts > PARTS)) { /* so it may be one part */
        gap = false;
        nparts = fewest;
        first = scan_threads(nparts, s.sums[0]);
        if (__syncthreads_or(first + nparts > PARTS)) return false;
    }
    const KEY low = s.tree.low_of(cell), width = (KEY)(s.tree.high_of(cell) - low);
    s.cells[cell] = divide_width(width, apart ? first | (many ? PART_IS_DONE : 0) : first - 1, equal ? 1 : nparts);
    const uint32_t top = (uint32_t)((equal ? s.tree.splitter[cell / 2] : low) >> (sizeof(KEY) * 8 - 32));
    const uint32_t step = nparts > 1 ? (uint32_t)(width >> (sizeof(KEY) * 8 - 32)) / nparts : 0;
    const uint32_t nbits = 64 - (uint32_t)__clzll((long long)(width / (KEY)max(nparts, 1u)));
    for (uint32_t i = 0; i < nparts; i++)
        s.range[first + i] =
            (uint16_t)(range_of((top + step * i) >> (32 - RANGE_BITS), nbits) | (gap && i == nparts / 2 ? RANGE_BEGINS : 0));
    if (many) {
        const uint32_t i = atomicAdd(&s.ndone, 1);
        s.done_parts[i] = (uint16_t)first;
        s.done_cells[i] = (uint16_t)cell;
        s.done[first] = true;
    }
    return true;
}

/* Writes the keys of the parts that are not moved: where there are few, a warp a part. */
template <typename KEY> static __device__ __forceinline__ void fill_parts(const struct split_job &split, const struct sample_desk<KEY> &s) {
    const struct key_order<KEY> order(split);
    for (uint32_t i = 0; i < s.ndone; i++) {
        const uint32_t part = s.done_parts[i], count = s.count[part];
        const bool together = count >= LONG_FILL;
        if (!together && i % (FUSED_THREADS / 32) != threadIdx.x / 32) continue;
        KEY *out = (KEY *)split.out + s.base[part];
        const KEY key = order.key_of_image((KEY)s.tree.splitter[s.done_cells[i] / 2]);
        for (uint32_t k = together ? threadIdx.x : threadIdx.x % 32; k < count; k += together ? FUSED_THREADS : 32) out[k] = key;
    }
}

/* Its tree. A barrier must follow. */
template <int PER, typename KEY> static __device__ __forceinline__ void make_tree(struct sample_desk<KEY> &s, const KEY *s_sample) {
    constexpr uint32_t SPLITTERS = splitter_tree<KEY, FUSED_THREADS>::SPLITTERS;
    if (threadIdx.x < SPLITTERS) s.tree.set(threadIdx.x, choose_splitter<2 * PER>(s_sample, threadIdx.x, SPLITTERS));
}

/* Counts the tile by cells, and notes each item's. */
template <typename KEY>
static __device__ __forceinline__ void count_by_cell(const KEY *s_tile, uint32_t count, struct sample_desk<KEY> &s, uint16_t *s_numbers) {
    constexpr int TOGETHER = sizeof(KEY) == 8 ? 2 : 4;
#pragma unroll 1
    for (uint32_t first = threadIdx.x; first < count; first += TOGETHER * FUSED_THREADS) {
        KEY images[TOGETHER];
        uint32_t cells[TOGETHER];
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) images[k] = s_tile[min(first + k * FUSED_THREADS, count - 1)];
        s.tree.find_cells(cells, images);
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            if (first + k * FUSED_THREADS >= count) continue;
            s_numbers[first + k * FUSED_THREADS] = (uint16_t)cells[k];
            atomicAdd(&s.count[cells[k]], 1);
        }
    }
}

/* Counts the tile by parts, and notes each item's in place of its cell; a rank is how many of its part were counted before it. */
template <int ROWS, typename KEY>
static __device__ __forceinline__ void count_by_part(struct packed_ranks<ROWS> &ranks, const KEY *s_tile, uint32_t count,
                                                     struct sample_desk<KEY> &s, uint16_t *s_numbers) {
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t i = row * FUSED_THREADS + threadIdx.x;
        if (i >= count) continue;
        const uint32_t cell = s_numbers[i];
        const uint32_t number = s.cells[cell].part_of((KEY)(s_tile[i] - s.tree.low_of(cell))), part = number & ~PART_IS_DONE;
        s_numbers[i] = (uint16_t)number;
        if (number & PART_IS_DONE)
            atomicAdd(&s.count[part], 1);
        else
            ranks.set(row, atomicAdd(&s.count[part], 1));
    }
}

/* Brings the items that are moved into runs, and their numbers with them. */
template <int ROWS, typename ITEM>
static __device__ __forceinline__ void bring_into_runs(struct packed_ranks<ROWS> &ranks, ITEM *s_tile, uint32_t count,
                                                       const struct sample_desk<ITEM> &s, uint16_t *s_numbers) {
    uint32_t moved = 0; /* rows, a bit each */
    ITEM items[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t i = row * FUSED_THREADS + threadIdx.x, number = i < count ? s_numbers[i] : PART_IS_DONE;
        if (number & PART_IS_DONE) continue;
        moved |= 1u << row;
        items[row] = s_tile[i];
        ranks.add(row, s.place[number]);
    }
    __syncthreads(); /* all items are in registers */
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (moved >> row & 1) s_tile[ranks.get(row)] = items[row];
    }
    struct packed_ranks<ROWS> numbers = {};
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (moved >> row & 1) numbers.set(row, s_numbers[row * FUSED_THREADS + threadIdx.x]);
    }
    __syncthreads(); /* all numbers are in registers */
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (moved >> row & 1) s_numbers[ranks.get(row)] = (uint16_t)numbers.get(row);
    }
}

/* All threads of all CTAs call it, whose tile of `count` images lies in s_memory, in any order. False if this does not help either: then
 * nothing has been moved. */
template <typename KEY, int ROWS>
static __device__ __forceinline__ bool split_by_sample(const struct split_job &split, struct skewed_totals *more, uint32_t count,
                                                       unsigned char *s_memory) {
    typedef struct sample_shape<KEY, KEY, ROWS> SHAPE;
    KEY *s_tile = (KEY *)s_memory;
    struct sample_desk<KEY> &s = *(struct sample_desk<KEY> *)(s_memory + SHAPE::tile_nbytes(split.tile_items));
    uint16_t *s_numbers = (uint16_t *)(&s + 1); /* each item's cell, then its part: where the sample was */
    const uint32_t t = threadIdx.x;
    KEY sample[SHAPE::PER];
    draw_sample<KEY>(sample, split);
    if (plan_gaps<SHAPE::PER, KEY>(split, sample, s)) {
        if (split_closed<KEY>(split, &more->closed, s_tile, count, s, s_numbers)) return true;
        draw_sample<KEY>(sample, split); /* rather than keep it all the while */
        __syncthreads();                 /* nobody needs the desk any more */
    }
    cell_totals *totals = &more->sampled;
    s.count[t] = 0;
    s.done[t] = false;
    s.range[t] = 0;
    if (t == 0) {
        s.turn = totals->turn;
        s.ndone = 0;
    }
    KEY *s_sample = (KEY *)(&s + 1);
    sort_sample<FUSED_THREADS>(sample, s_sample);
    __syncthreads(); /* the sample is sorted */
    if (split.most_values && sorted_are_few([&](uint32_t i) { return s_sample[sample_at(i * SHAPE::PER)]; }))
        return false; /* they are counted by value */
    if constexpr (sizeof(KEY) == 8) {
        if (are_in_narrow_ranges<FUSED_THREADS * SHAPE::PER>([&](uint32_t i) { return s_sample[sample_at(i)]; }, split.n)) return false;
    }
    make_tree<SHAPE::PER>(s, s_sample);
    __syncthreads(); /* the tree, and zeroes before counts; whoever adds to the totals has read the turn; nobody needs the sample */
    count_by_cell(s_tile, count, s, s_numbers);
    __syncthreads(); /* all counts by cells */
    uint32_t *my_total = totals->of(s.turn, t), total;
    if (s.count[t]) atomicAdd(my_total, s.count[t]);
    await_totals(&total, my_total, true, split.n, s.sums);
    s.count[t] = total;
    __syncthreads(); /* all totals; s.sums may be used again */
    const bool enough = divide_cell(split, total, s);
    __syncthreads(); /* all cells are divided */
    s.count[t] = 0;
    if (!enough) {
        if (announces()) totals->hand_over(s.turn);
        return false;
    }
    __syncthreads(); /* zeroes before counts */

    struct packed_ranks<ROWS> ranks = {};
    count_by_part(ranks, s_tile, count, s, s_numbers);
    __syncthreads(); /* all counts by parts */
    my_total = totals->of(s.turn, FUSED_THREADS + t);
    const uint32_t here = s.count[t], before = here ? atomicAdd(my_total, here) : 0, nmoved = s.done[t] ? 0 : here;
    const uint32_t place = scan_threads(nmoved, s.sums[0]);
    s.place[t] = place;
    if (t == FUSED_THREADS - 1) s.nmoved = place + nmoved;
    __syncthreads(); /* all places */
    bring_into_runs(ranks, s_tile, count, s, s_numbers);
    const uint32_t start = await_totals(&total, my_total, true, split.n, s.sums);
    s.base[t] = start + before - (s.done[t] ? 0 : place);
    const bool fits = !__syncthreads_or(total > split.bucket_max && !s.done[t]); /* also: the tile is in runs, and each has its place */
    if (announces()) totals->hand_over(s.turn);
    if (!fits) return false;
    if (announces()) list_buckets(split, start, total, s, NULL); /* after what it has announced in sort_fused.cuh */
    KEY *dst = (KEY *)split.tmp;
#pragma unroll 4
    for (uint32_t i = t; i < s.nmoved; i += FUSED_THREADS) put_item<false>(split, dst, s.base[s_numbers[i]] + i, s_tile[i]);
    fill_parts(split, s);
    return true;
}

#endif
