/* sort_sample_plan.cuh: splitters from a sample, for keys of any distribution: where buckets begin, and how large slots for them must be.
 *
 *     draw        16,384 keys, in groups; each CTA sorts a group and counts how many keys of others are before each of it
 *     count       a million keys by the cells between these
 *     plan        neighbouring cells put together, to buckets for CTAs; the keys of a cell that is one frequent value only get counted
 *     slots       two share room for what their counts let expect, and some standard deviations more: one grows from its beginning,
 *                 the other from its end, as two together vary less than each does
 *
 * A value that is drawn twice or more is two splitters, itself and the next greater one: so it has a cell to itself, and nothing need be
 * told apart in a search but whether a splitter is above a key. Keys of few values, of few bits that vary, and in thousands of narrow
 * ranges, a few of which would take all bins of a bucket, and leave most empty, are left to the passes.
 * Of integers of 32 bits, a bucket also begins or ends where keys become much denser, or sparser: most of its bins would be empty.
 * Cost: two launches, and at 2^24 a read of memory at random for every 25 keys.  Source: as sort_sample.cuh. */
#ifndef UPSWEEP_CUDA_SORT_SAMPLE_PLAN_CUH
#define UPSWEEP_CUDA_SORT_SAMPLE_PLAN_CUH

#include "sort_few.cuh"
#include "sort_sample.cuh"
#include "sort_split.cuh"

#define DRAWN_THREADS         1024
#define DRAWN_CHUNK           2048 /* drawn keys that a CTA compares with those of a group */
#define DRAWN_CHUNKS          (DRAWN_CELLS / DRAWN_CHUNK)
#define DRAWN_CTAS            (DRAWN_CELLS / DRAWN_GROUP * DRAWN_CHUNKS)
#define DRAWN_FEW_BITS(nbits) ((nbits) / 2) /* of a key: if no more vary, passes over these are quicker */
#define DRAWN_GAPS            2             /* bits that do not vary between bits that do, in keys that buckets are good for */
#define DRAWN_COUNTED_BITS    20            /* keys that are counted by cells */
#define DRAWN_STRETCH         256           /* cells that one thread puts together */
#define DRAWN_APART           (1u << 31)    /* beside a count: the cell is one value, which is only counted */

/* Are they integers of 32 bits? */
template <typename KEY> static __device__ __forceinline__ bool is_narrow(const struct split_job &job) {
    return sizeof(KEY) == 4 && job.cell_keys == 0;
}

/* Where key number i of 2^bits is, one of each of as many stretches of the input. */
static __device__ __forceinline__ uint32_t drawn_at(const struct split_job &job, uint32_t i, uint32_t bits) {
    const uint32_t random = mixed(i + bits + job.seed);
    return (uint32_t)(((uint64_t)i * job.n + ((uint64_t)random * job.n >> 32)) >> bits);
}

/* Its image. */
template <typename KEY> static __device__ __forceinline__ KEY drawn_image(const struct split_job &job, uint32_t i, uint32_t bits) {
    return key_order<KEY>(job).image(((const KEY *)job.in)[drawn_at(job, i, bits)]);
}

/* The sorted keys, and how many keys each cell has, are where the slots will be. */
template <typename KEY> static __device__ __forceinline__ KEY *drawn_keys(const struct split_job &job) { return (KEY *)job.slots.area; }
template <typename KEY> static __device__ __forceinline__ uint32_t *counts_of_cells(const struct split_job &job) {
    return (uint32_t *)(drawn_keys<KEY>(job) + DRAWN_CELLS);
}

/* Behind them: of each group, a row for each chunk: how many keys of the chunk are before each key of the group. */
template <typename KEY> static __device__ __forceinline__ uint32_t *rows_of_group(const struct split_job &job, uint32_t group) {
    return counts_of_cells<KEY>(job) + DRAWN_CELLS + group * DRAWN_CHUNKS * DRAWN_GROUP;
}

/* ---- the sample -------------------------------------------------------------------------------------------------------------- */

/* Are there so few bits that vary, going by a sample, that passes over these are quicker? *gaps: between them are some that do not, which
 * passes can leave out, and which would leave most bins of a bucket empty. All threads of all CTAs call it, and agree. */
template <typename KEY>
static __device__ __forceinline__ bool few_bits_vary(bool *gaps, const struct split_job &job, uint64_t (&s_seen)[32]) {
    const key_order<KEY> order(job);
    const KEY *keys = (const KEY *)job.in;
    const uint64_t varying = or_of_threads((KEY)(order.image(sampled_key(keys, job)) ^ order.image(keys[0])), s_seen);
    __syncthreads(); /* nobody needs the desk any more */
    const uint32_t span = 64 - (uint32_t)__clzll((long long)varying) - ((uint32_t)__ffsll((long long)varying) - 1);
    *gaps = span > count_bits(varying) + DRAWN_GAPS && digits_saved(varying) > 0;
    return count_bits(varying) <= DRAWN_FEW_BITS(sizeof(KEY) * 8);
}

/* Are stable passes quicker? Only a few digits vary; or there are gaps, which passes leave out. */
template <typename KEY> static __device__ __forceinline__ bool are_for_passes(const struct split_job &job, uint64_t (&s_seen)[32]) {
    bool gaps;
    const bool few = few_bits_vary<KEY>(&gaps, job, s_seen);
    return (job.seen && gaps && look_for_gaps<KEY>(job, s_seen)) || few;
}

/* Shared memory: keys of a group, sorted; keys of a chunk that are between them and the key before. */
template <typename KEY> struct drawn_group {
    KEY key[DRAWN_GROUP];
    uint32_t before[DRAWN_GROUP], sums[32];
    bool last;

    __device__ __forceinline__ uint32_t count_below(KEY image) const {
        return count_less<DRAWN_GROUP>([&](uint32_t i) { return key[sample_at(i)]; }, image);
    }
};

/* Sorts the drawn keys, to the slots' area, which is not needed yet: a CTA counts for each key of a group those of a chunk that are before
 * it. Dynamic shared memory: VALUE_SLOTS words. */
template <typename KEY> __global__ void __launch_bounds__(DRAWN_THREADS, 1) sort_drawn_keys(const __grid_constant__ struct split_job job) {
    constexpr uint32_t EACH = DRAWN_CHUNK / DRAWN_THREADS, BITS = DRAWN_CELL_BITS;
    static_assert(DRAWN_GROUP == DRAWN_THREADS && DRAWN_CHUNK % DRAWN_GROUP == 0, "a thread an own key; a row is of one group");
    extern __shared__ __align__(16) uint32_t s_words[];
    __shared__ struct drawn_group<KEY> s;
    __shared__ uint64_t s_seen[32];
    wait_for_predecessor();
    const uint32_t t = threadIdx.x, thread = blockIdx.x * DRAWN_THREADS + t;
    const uint32_t group = blockIdx.x / DRAWN_CHUNKS, chunk = blockIdx.x % DRAWN_CHUNKS;
    if (is_by_value(job) || job.header->slots_full == SLOTS_OPEN) {
        if (thread == 0) job.header->outcome = IN_SLOTS;
        return;
    }
    if (is_left_to_passes<KEY>(job)) return; /* the sample by value has said that these are not split */
    const bool narrow = is_narrow<KEY>(job);
    /* A histogram may have split them, or left them to the passes. The same for all threads, whatever is written below. */
    if (narrow && __syncthreads_or(job.header->outcome != NOT_SPLIT)) return;
    KEY own[1] = {drawn_image<KEY>(job, group * DRAWN_GROUP + t, BITS)}, images[EACH];
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) images[k] = drawn_image<KEY>(job, chunk * DRAWN_CHUNK + k * DRAWN_THREADS + t, BITS);
    for (uint32_t i = t; i < VALUE_SLOTS; i += DRAWN_THREADS) s_words[i] = 0;
    if (thread < DRAWN_CELLS) counts_of_cells<KEY>(job)[thread] = 0;
    s.before[t] = 0;
    __syncthreads(); /* zeroes before counts */
    const bool few = job.most_values && sample_has_few_values((const KEY *)job.in, job, s_words);
    if (thread == 0) job.header->outcome = few ? PERHAPS_FEW : NOT_SPLIT;
    if (few || (narrow ? !is_for_sample<KEY>(job, s_seen, s_words) : are_for_passes<KEY>(job, s_seen))) return;
    if (thread == 0) job.header->sample_state = SAMPLE_OPEN;
    sort_sample<DRAWN_THREADS, 1>(own, s.key);
    __syncthreads(); /* they are sorted */
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        const uint32_t its = chunk * (DRAWN_CHUNK / DRAWN_GROUP) + k;        /* group */
        const bool later = its > group;                                      /* then behind equal ones, */
        if (its == group || (later && images[k] == (KEY) ~(KEY)0)) continue; /* and maybe before none */
        const uint32_t place = s.count_below((KEY)(images[k] + later));
        if (place < DRAWN_GROUP) atomicAdd(&s.before[place], 1);
    }
    __syncthreads(); /* all others are counted */
    uint32_t *rows = rows_of_group<KEY>(job, group);
    const uint32_t before = s.before[t];
    rows[chunk * DRAWN_GROUP + t] = scan_threads(before, s.sums) + before;
    __threadfence(); /* the row before the CTA is counted as done */
    __syncthreads();
    if (t == 0) s.last = atomicAdd(&job.header->sample_drawn[group], 1) == DRAWN_CHUNKS - 1;
    __syncthreads(); /* s.last */
    if (!s.last) return;
    __threadfence(); /* having seen the others done, see their rows */
    uint32_t place = t;
#pragma unroll
    for (uint32_t i = 0; i < DRAWN_CHUNKS; i++) place += __ldcg(&rows[i * DRAWN_GROUP + t]);
    drawn_keys<KEY>(job)[place] = s.key[sample_at(t)];
}

/* ---- the plan ---------------------------------------------------------------------------------------------------------------- */

/* A search tree of 2^levels - 1 splitters, the first of which has number 1: from node 1 on, the children of k are 2 k and 2 k + 1. */
static __device__ __forceinline__ uint32_t node_of(uint32_t j, uint32_t levels) {
    const uint32_t height = (uint32_t)__ffs((int)j) - 1;
    return (1u << (levels - 1 - height)) + (j >> (height + 1));
}

/* How many splitters are not above each of N images. */
template <int N, typename KEY>
static __device__ __forceinline__ void search_tree(uint32_t (&found)[N], const KEY *s_nodes, const KEY (&images)[N], uint32_t levels) {
#pragma unroll
    for (int i = 0; i < N; i++) found[i] = 1;
#pragma unroll 1
    for (uint32_t level = 0; level < levels; level++) {
#pragma unroll
        for (int i = 0; i < N; i++) found[i] = 2 * found[i] + (s_nodes[found[i]] <= images[i]);
    }
#pragma unroll
    for (int i = 0; i < N; i++) found[i] -= 1u << levels;
}

/* What there is about a splitter: the next one is so near that both are in one of many narrow ranges. Of integers of 32 bits: a bucket
 * begins with it; or it is of a value that is drawn twice or more, and the next one is not. */
struct splitter_news {
    bool crowded, jump, alone;
};

/* Splitter j of DRAWN_CELLS - 1, of the sorted sample. Of equal ones, the last is made the next greater: so that a value which is drawn
 * often has a cell to itself. A jump: the distance to one neighbour is several times that of some on the other side. Then it is as far off
 * as these reach, most likely behind the last of the dense keys, or before the first. */
template <typename KEY>
static __device__ __forceinline__ KEY drawn_splitter(const KEY *drawn, uint32_t j, bool narrow, struct splitter_news *news) {
    constexpr KEY MOST = (KEY) ~(KEY)0;
    const KEY value = drawn[j], before = drawn[j - 1], after = j + 1 < DRAWN_CELLS ? drawn[j + 1] : MOST;
    const bool repeats = value == before, last = value != after;
    const KEY below = value - (j >= DRAWN_NEAR ? drawn[j - DRAWN_NEAR] : (KEY)0);
    const KEY above = (j + DRAWN_NEAR < DRAWN_CELLS ? drawn[j + DRAWN_NEAR] : MOST) - value;
    *news = {last && (KEY)(after - value) < (KEY)(below + above) / DRAWN_CROWD, false, repeats && (KEY)(after - value) > 1};
    if (repeats || !last || !narrow) return j > 1 && repeats && last ? (KEY)(value + 1) : value;
    const bool up = (after - value) / DRAWN_JUMP > below, down = (value - (j > 1 ? before : (KEY)0)) / DRAWN_JUMP > above;
    news->jump = up || down;
    return up ? (KEY)(value + below) : down ? (KEY)(value - above) : value;
}

/* Shared memory, dynamic. */
template <typename KEY> struct drawn_desk {
    KEY node[DRAWN_CELLS];
    uint32_t count[DRAWN_CELLS + DRAWN_CELLS / 32 + DRAWN_CELLS / DRAWN_STRETCH]; /* of a cell; some are left out, for the banks' sake */
    uint32_t heads[DRAWN_CELLS / 32]; /* a bit for each cell with which a bucket begins; before they are put together, for each jump */
    uint16_t first[SAMPLE_SLOTS_MAX]; /* of a bucket: its first cell; counted keys before it */
    uint32_t before[SAMPLE_SLOTS_MAX + 1];
    uint32_t sums[32], ndone, ncrowded; /* splitters: first, which are jumps, or alone; crowded ones */
    bool last;

    __device__ __forceinline__ uint32_t &count_of(uint32_t cell) { return count[cell + cell / 32 + cell / DRAWN_STRETCH]; }
    __device__ __forceinline__ KEY low_of(uint32_t cell) const { return cell == 0 ? (KEY)0 : node[node_of(cell, DRAWN_CELL_BITS)]; }
    __device__ __forceinline__ bool is_one_value(uint32_t cell) const {
        const KEY low = low_of(cell);
        return cell == DRAWN_CELLS - 1 ? low == (KEY) ~(KEY)0 : (KEY)(low_of(cell + 1) - low) == 1;
    }
};

/* Puts the cells of a stretch together, a thread a stretch, to buckets of as many counted keys at most; marks where they begin, which is
 * marked already for jumps. */
template <typename KEY> static __device__ __forceinline__ void mark_heads(struct drawn_desk<KEY> &s, uint32_t most) {
    uint32_t sum = most, cell = threadIdx.x * DRAWN_STRETCH;
    bool apart = true;
#pragma unroll 1
    for (uint32_t word = 0; word < DRAWN_STRETCH / 32; word++) {
        const uint32_t *counts = &s.count_of(cell), jumps = s.heads[cell / 32]; /* none is left out before the next word */
        uint32_t heads = 0;
#pragma unroll
        for (uint32_t i = 0; i < 32; i++) {
            const uint32_t marked = counts[i], count = marked & ~DRAWN_APART;
            const bool head = apart || marked & DRAWN_APART || sum + count > most || jumps >> i & 1;
            apart = marked & DRAWN_APART;
            sum = head ? count : sum + count;
            heads |= (uint32_t)head << i;
        }
        s.heads[cell / 32] = heads;
        cell += 32;
    }
}

/* Room of two slots, in lines of 32 keys. */
static __device__ __forceinline__ uint32_t lines_of_slots(uint32_t counted, float scale) {
    return ((uint32_t)(((float)counted + DRAWN_DEVIATIONS * sqrtf((float)counted) + 8) * scale) + 31) / 32;
}

/* Counted keys, at most, of a bucket that most likely fits. */
static __device__ __forceinline__ uint32_t most_counted(float scale, uint32_t bucket_max) {
    const float items = (float)(bucket_max - 32) / scale - 8;
    const float root = (sqrtf(DRAWN_DEVIATIONS * DRAWN_DEVIATIONS + 4 * items) - DRAWN_DEVIATIONS) / 2;
    return (uint32_t)(root * root);
}

/* By the CTA that is done last. Gives up if some bucket is too big, or slots need too much room. */
template <typename KEY> static __device__ __forceinline__ void plan_sample_slots(const struct split_job &job, struct drawn_desk<KEY> &s) {
    constexpr uint32_t CELLS_EACH = DRAWN_CELLS / DRAWN_THREADS;
    static_assert(SAMPLE_SLOTS_MAX == 2 * DRAWN_THREADS, "a thread two slots, which share room");
    struct sample_slots &plan = job.header->sample_slots;
    const uint32_t t = threadIdx.x;
    const float scale = (float)job.n / (float)(1u << DRAWN_COUNTED_BITS);
    const uint32_t most = most_counted(scale, job.bucket_max);
    uint32_t counts[CELLS_EACH], sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < CELLS_EACH; i++)
        counts[i] = __ldcg(&counts_of_cells<KEY>(job)[i * DRAWN_THREADS + t]); /* where atomics took place */
#pragma unroll
    for (uint32_t i = 0; i < CELLS_EACH; i++) {
        const uint32_t cell = i * DRAWN_THREADS + t, count = counts[i];
        s.count_of(cell) = count > most / 4 && s.is_one_value(cell) ? count | DRAWN_APART : count;
    }
    __syncthreads(); /* all counts */
    if (t < DRAWN_CELLS / DRAWN_STRETCH) mark_heads(s, most);
#pragma unroll
    for (uint32_t i = 0; i < CELLS_EACH; i++) sum += s.count_of(t * CELLS_EACH + i) & ~DRAWN_APART;
    uint32_t before = scan_threads(sum, s.sums);
    __syncthreads(); /* all heads; s.sums may be used again */
    const uint32_t heads = s.heads[t * CELLS_EACH / 32] >> t * CELLS_EACH % 32 & ((1u << CELLS_EACH) - 1);
    uint32_t number = scan_threads((uint32_t)__popc(heads), s.sums);
    if (t == DRAWN_THREADS - 1) plan.nslots = s.ndone = number + (uint32_t)__popc(heads);
    __syncthreads(); /* their number */
    const uint32_t nslots = s.ndone;
    bool fits = nslots <= SAMPLE_SLOTS_MAX;
    if (fits) {
#pragma unroll
        for (uint32_t i = 0; i < CELLS_EACH; i++) {
            const uint32_t cell = t * CELLS_EACH + i;
            if (heads >> i & 1) {
                s.first[number] = (uint16_t)cell;
                s.before[number++] = before;
            }
            before += s.count_of(cell) & ~DRAWN_APART;
        }
        if (t == DRAWN_THREADS - 1) s.before[nslots] = before;
    }
    __syncthreads(); /* all buckets */
    uint32_t counted = 0, nmoved = 0;
    const uint32_t first = 2 * t, end = fits ? min(first + 2, nslots) : 0;
    for (uint32_t slot = first; slot < end; slot++) {
        if (s.count_of(s.first[slot]) & DRAWN_APART) continue;
        const uint32_t all = s.before[slot + 1] - s.before[slot];
        fits = fits && all <= most;
        counted += all;
        nmoved++;
    }
    const uint32_t lines = nmoved ? lines_of_slots(counted, scale) : 0;
    if (t == 0) s.ndone = 0;
    const uint32_t line = scan_threads(lines, s.sums);
    fits = fits && line + lines <= job.slots.sample_items / 32;
    if (!__syncthreads_and(fits)) {
        if (t == 0) job.header->sample_state = SAMPLE_FULL;
        return;
    }
    for (uint32_t slot = first; slot < end; slot++) {
        const uint32_t cell = s.first[slot];
        const bool apart = s.count_of(cell) & DRAWN_APART;
        plan.low[slot] = s.low_of(cell);
        plan.slot[slot] = (line + (slot & 1 ? lines : 0)) * 32 | apart;
        if (apart) plan.done[atomicAdd(&s.ndone, 1)] = (uint16_t)slot;
    }
    if (first + 1 == nslots) plan.slot[nslots] = (line + lines) * 32;
    __syncthreads(); /* all are listed */
    if (t == 0) plan.ndone = s.ndone;
}

/* Keys that are counted: number `first`, and every so many. Four that lie side by side cost hardly more than one. */
template <int N, typename KEY>
static __device__ __forceinline__ void load_counted(KEY (&images)[N], const struct split_job &job, uint32_t first, uint32_t step) {
    const KEY *keys = (const KEY *)job.in;
#pragma unroll
    for (uint32_t k = 0; k < N; k++) {
        const uint32_t i = min(first + k * step, (1u << DRAWN_COUNTED_BITS) - 1);
        images[k] = keys[min(drawn_at(job, i / 4, DRAWN_COUNTED_BITS - 2), job.n - 4) + i % 4];
    }
    key_order<KEY>(job).make_images(images);
}

/* Counts keys by the cells of the sample; the last CTA makes the plan. Dynamic shared memory: a drawn_desk. */
template <typename KEY>
__global__ void __launch_bounds__(DRAWN_THREADS, 1) count_drawn_cells(const __grid_constant__ struct split_job job) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    struct drawn_desk<KEY> &s = *(struct drawn_desk<KEY> *)s_memory;
    constexpr uint32_t TOGETHER = 8;
    wait_for_predecessor();
    if (threadIdx.x == 0) s.ndone = s.ncrowded = 0;
    if (__syncthreads_or(job.header->sample_state != SAMPLE_OPEN)) return; /* the same for all, whatever others say; else: 0 before sums */
    const uint32_t t = threadIdx.x, thread = blockIdx.x * DRAWN_THREADS + t, nthreads = gridDim.x * DRAWN_THREADS;
    const KEY *drawn = drawn_keys<KEY>(job);
    const bool narrow = is_narrow<KEY>(job);
    KEY images[TOGETHER]; /* on their way while the tree is made */
    load_counted(images, job, thread, nthreads);
#pragma unroll 8
    for (uint32_t j = t; j < DRAWN_CELLS; j += DRAWN_THREADS) {
        struct splitter_news news;
        s.node[node_of(max(j, 1u), DRAWN_CELL_BITS)] = drawn_splitter(drawn, max(j, 1u), narrow, &news);
        const uint32_t jumps = __ballot_sync(~0u, news.jump), odd = jumps | __ballot_sync(~0u, news.alone);
        const uint32_t crowded = __ballot_sync(~0u, news.crowded);
        if (t % 32 == 0) s.heads[j / 32] = jumps;
        if (t % 32 == 0 && odd) atomicAdd(&s.ndone, (uint32_t)__popc(odd));
        if (t % 32 == 0 && crowded) atomicAdd(&s.ncrowded, (uint32_t)__popc(crowded));
    }
    for (uint32_t j = t; j < DRAWN_CELLS; j += DRAWN_THREADS) s.count_of(j) = 0;
    __syncthreads(); /* the tree, the sums, and zeroes before counts */
    if (s.ncrowded > DRAWN_MOST_CROWDED || (narrow && s.ndone > DRAWN_MOST_ODD)) {
        if (thread == 0) job.header->sample_state = SAMPLE_FULL;
        return;
    }
#pragma unroll 1
    for (uint32_t first = thread; first < 1u << DRAWN_COUNTED_BITS; first += TOGETHER * nthreads) {
        uint32_t cells[TOGETHER];
        if (first > thread) load_counted(images, job, first, nthreads);
        search_tree(cells, s.node, images, DRAWN_CELL_BITS);
#pragma unroll
        for (uint32_t k = 0; k < TOGETHER; k++) {
            if (first + k * nthreads < 1u << DRAWN_COUNTED_BITS) atomicAdd(&s.count_of(cells[k]), 1);
        }
    }
    __syncthreads(); /* all counts */
    for (uint32_t k = t; k < DRAWN_CELLS; k += DRAWN_THREADS) {
        const uint32_t cell = (k + blockIdx.x * (DRAWN_CELLS / gridDim.x)) % DRAWN_CELLS,
                       count = s.count_of(cell); /* begin in different places */
        if (count) atomicAdd(&counts_of_cells<KEY>(job)[cell], count);
    }
    __threadfence(); /* this thread's counts before the CTA is counted as done */
    __syncthreads();
    if (t == 0) s.last = atomicAdd(&job.header->sample_done[0], 1) == gridDim.x - 1;
    __syncthreads(); /* s.last */
    if (!s.last) return;
    __threadfence(); /* having seen the others done, see their counts */
    plan_sample_slots(job, s);
}

#endif
