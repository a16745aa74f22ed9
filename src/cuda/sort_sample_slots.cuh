/* sort_sample_slots.cuh: moves keys of any distribution to slots, by splitters from a sample (sort_sample_plan.cuh).
 *
 *     partition       a key's bucket is found by a search among the least keys of all buckets
 *     buckets         sorted as any (sort_bucket.cuh), by what is above their least key
 *     frequent keys   only counted; written at the end
 *
 * It is the second attempt, where keys do not fit slots by their top bits, or by cells; or the third, of integers of 32 bits, which may fit
 * a split with a histogram, or be quicker by passes: whatever the keys are, buckets are about equally large. A slot that is full gives it
 * up; the input is still where it was, and the stable passes, queued behind, do the work.
 *
 * A search takes as long as all else that is done to a key. So it is done once: the bucket's number is kept beside the rank, and a tile in
 * runs needs no numbers, as a bit marks each place with which a run begins.
 * Cost: as sort_slots.cuh, and ten or eleven loads from shared memory for each key.  Source: as sort_sample.cuh. */
#ifndef UPSWEEP_CUDA_SORT_SAMPLE_SLOTS_CUH
#define UPSWEEP_CUDA_SORT_SAMPLE_SLOTS_CUH

#include "sort_launch.cuh"
#include "sort_partition.cuh"
#include "sort_sample_plan.cuh"

#define NOT_MOVED 0xffffu /* in place of a place in the tile */

/* ---- the partition ----------------------------------------------------------------------------------------------------------- */

template <typename KEY> struct sample_slots_shape {
    static constexpr int THREADS = SLOTS_THREADS, ROWS = sizeof(KEY) == 8 ? SAMPLE_SLOTS_ROWS_WIDE : SAMPLE_SLOTS_ROWS,
                         TOGETHER = sizeof(KEY) == 8 ? 4 : 3;
    static constexpr uint32_t ITEMS = THREADS * ROWS, PER_THREAD = SAMPLE_SLOTS_MAX / THREADS, WORDS = ITEMS / 32;
    static_assert(2 * THREADS == SAMPLE_SLOTS_MAX && WORDS <= THREADS && ROWS % TOGETHER == 0 && ITEMS < NOT_MOVED,
                  "a thread a word; places have 16 bits");
};

/* Shared memory, dynamic. A tile's items in runs; where a run begins, a bit is set; so an item finds its run by counting bits. */
template <typename KEY> struct sample_slots_desk {
    typedef struct sample_slots_shape<KEY> SHAPE;
    KEY tile[SHAPE::ITEMS];
    KEY node[1 << SAMPLE_SLOTS_LEVELS];
    __align__(8) uint32_t count[SAMPLE_SLOTS_MAX],
        base[SAMPLE_SLOTS_MAX]; /* of a bucket; of a run: where its items go, less their place in the tile */
    uint16_t place[SAMPLE_SLOTS_MAX];
    uint32_t heads[SHAPE::WORDS], before[SHAPE::WORDS]; /* bits; how many are in the words before */
    uint32_t sums[32], nmoved;
    bool last;
};

/* The buckets of a thread's keys, in the upper half, and their ranks in these. */
template <typename KEY, int ROWS>
static __device__ __forceinline__ void rank_by_search(uint32_t (&ranked)[ROWS], const KEY (&images)[ROWS], struct warp_items items,
                                                      uint32_t nslots, uint32_t levels, struct sample_slots_desk<KEY> &s) {
    constexpr int TOGETHER = sample_slots_shape<KEY>::TOGETHER;
    bool same = items.n >= 32;
#pragma unroll
    for (int first = 0; first < ROWS; first += TOGETHER) {
        if (first * 32 >= (int)items.n) break;
        KEY some[TOGETHER];
        uint32_t found[TOGETHER];
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) some[i] = images[first + i];
        search_tree(found, s.node, some, levels);
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) ranked[first + i] = min(found[i], nslots - 1) << 16;
    }
    const uint32_t one = __shfl_sync(~0u, ranked[0], 0);
#pragma unroll
    for (int row = 0; row < ROWS; row++) same = same && (!items.has(row) || ranked[row] == one);
    if (__all_sync(~0u, same)) { /* as in nearly sorted input: at once, instead of one after the other */
        uint32_t before = threadIdx.x % 32 == 0 ? atomicAdd(&s.count[one >> 16], items.n) : 0;
        before = __shfl_sync(~0u, before, 0) + threadIdx.x % 32;
#pragma unroll
        for (int row = 0; row < ROWS; row++) ranked[row] = one | (before + row * 32);
        return;
    }
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (items.has(row)) ranked[row] |= atomicAdd(&s.count[ranked[row] >> 16], 1);
    }
}

/* Takes room for the tile's keys in their slots, a thread two that share it, and gives each run its place. False: a slot is full. All
 * threads call it; a barrier must follow. */
template <typename KEY>
static __device__ __forceinline__ bool reserve_slots(const struct split_job &job, uint32_t nslots, struct sample_slots_desk<KEY> &s) {
    typedef struct sample_slots_shape<KEY> SHAPE;
    struct sample_slots &plan = job.header->sample_slots;
    const uint32_t t = threadIdx.x;
    const uint2 all = 2 * t < nslots ? ((const uint2 *)s.count)[t] : make_uint2(0, 0);
    uint32_t count[2] = {all.x, all.y}, base[2] = {}, sum = 0, used = 0; /* sum: keys, and above them runs */
    bool fits = true;
    if (all.x + all.y > 0) {
        const uint64_t taken = atomicAdd((unsigned long long *)plan.size + t, (uint64_t)all.y << 32 | all.x); /* both at once */
        const uint2 room = ((const uint2 *)plan.slot)[t];
        const uint32_t ends[2] = {room.x, room.y};
#pragma unroll
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t size = (uint32_t)(taken >> i * 32) + count[i];
            base[i] = i == 0 ? ends[0] + size - count[0] : ends[1] - size;
            if (ends[i] & 1) {
                s.place[2 * t + i] = NOT_MOVED;
                count[i] = 0;
                continue;
            }
            fits = fits && size <= job.bucket_max;
            used += size;
            sum += count[i] ? 1u << 16 | count[i] : 0;
        }
        fits = fits && used <= (room.y & ~1u) - (room.x & ~1u);
    }
    uint32_t place = scan_threads(sum, s.sums);
#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t at = place & 0xffff;
        if (count[i] == 0) continue;
        s.place[2 * t + i] = (uint16_t)at;
        s.base[place >> 16] = base[i] - at;
        atomicOr(&s.heads[at / 32], 1u << at % 32);
        place += 1u << 16 | count[i];
    }
    if (threadIdx.x == SHAPE::THREADS - 1) s.nmoved = place & 0xffff;
    return fits;
}

/* A tile. False: a slot is full. */
template <typename KEY>
static __device__ __forceinline__ bool move_sampled_tile(const struct split_job &job, uint32_t tile, uint32_t nslots, uint32_t levels,
                                                         struct sample_slots_desk<KEY> &s) {
    typedef struct sample_slots_shape<KEY> SHAPE;
    constexpr int ROWS = SHAPE::ROWS, THREADS = SHAPE::THREADS;
    const uint32_t tile_items = job.slots.tile_items, rows = tile_items / THREADS, first = tile * tile_items, t = threadIdx.x;
    const uint32_t warp = t / 32, start = warp * 32 * rows + t % 32;
    const struct warp_items items = items_of_warp(warp, rows, min(job.n - first, tile_items));
    const KEY *src = (const KEY *)job.in + first + start;
    KEY images[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++) images[row] = items.has(row) ? src[row * 32] : (KEY)0;
    for (uint32_t i = t; i < SAMPLE_SLOTS_MAX; i += THREADS) s.count[i] = 0;
    if (t < SHAPE::WORDS) s.heads[t] = 0;
    const bool given_up = has_turned(&job.header->sample_state, SAMPLE_OPEN); /* in the meantime */
    if (__syncthreads_or(given_up)) return false;                             /* else: zeroes before counts */
    key_order<KEY>(job).make_images(images);
    uint32_t ranked[ROWS] = {};
    rank_by_search(ranked, images, items, nslots, levels, s);
    __syncthreads(); /* all counts */
    const uint32_t next = first + gridDim.x * tile_items;
    if (t == 0 && next < job.n) prefetch_items((const KEY *)job.in + next, min(job.n - next, tile_items));
    const bool fits = reserve_slots(job, nslots, s);
    if (!fits) job.header->sample_state = SAMPLE_FULL;
    if (__syncthreads_or(!fits)) return false; /* else: all places */
    items.for_each<ROWS, SHAPE::TOGETHER>([&](int row) { return s.place[ranked[row] >> 16]; },
                                          [&](int row, uint32_t place) {
                                              if (place != NOT_MOVED) s.tile[place + (ranked[row] & 0xffff)] = images[row];
                                          });
    const uint32_t before = scan_threads(t < SHAPE::WORDS ? (uint32_t)__popc(s.heads[t]) : 0, s.sums);
    if (t < SHAPE::WORDS) s.before[t] = before;
    __syncthreads(); /* the tile is in runs, and each run has its place */
    const uint32_t nmoved = s.nmoved, up_to_me = (2u << t % 32) - 1;
    KEY *area = (KEY *)job.slots.area;
#pragma unroll 8
    for (uint32_t i = t; i < nmoved; i += THREADS) {
        const uint32_t run = s.before[i / 32] + (uint32_t)__popc(s.heads[i / 32] & up_to_me) - 1;
        area[s.base[run] + i] = s.tile[i];
    }
    return true;
}

/* By the CTA that is done last: where the buckets begin. */
template <typename KEY>
static __device__ __forceinline__ void start_sampled_buckets(const struct split_job &job, uint32_t nslots,
                                                             struct sample_slots_desk<KEY> &s) {
    constexpr uint32_t PER_THREAD = sample_slots_shape<KEY>::PER_THREAD;
    const uint32_t first = threadIdx.x * PER_THREAD;
    uint32_t size[PER_THREAD], sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < PER_THREAD; i++) {
        size[i] = first + i < nslots ? __ldcg(&job.header->sample_slots.size[first + i]) : 0;
        sum += size[i];
    }
    uint32_t start = scan_threads(sum, s.sums);
#pragma unroll
    for (uint32_t i = 0; i < PER_THREAD; i++) {
        if (first + i <= nslots) job.start[first + i] = start;
        start += size[i];
    }
    if (threadIdx.x == 0) {
        job.start[nslots] = job.n;
        job.header->outcome = IN_SLOTS;
    }
}

/* As many CTAs as run at once, each taking one tile after the other. Dynamic shared memory: a desk. */
template <typename KEY>
__global__ void __launch_bounds__(SLOTS_THREADS, 1) split_by_splitters(const __grid_constant__ struct split_job job) {
    typedef struct sample_slots_shape<KEY> SHAPE;
    extern __shared__ __align__(16) unsigned char s_memory[];
    struct sample_slots_desk<KEY> &s = *hold_address((struct sample_slots_desk<KEY> *)s_memory);
    wait_for_predecessor();
    if (__syncthreads_or(job.header->sample_state != SAMPLE_OPEN)) return; /* the same for all, whatever others say since */
    struct sample_slots &plan = job.header->sample_slots;
    const uint32_t nslots = plan.nslots, levels = max(32 - (uint32_t)__clz((int)(nslots - 1)), 1u);
    for (uint32_t j = 1 + threadIdx.x; j < 1u << levels; j += SHAPE::THREADS)
        s.node[node_of(j, levels)] = j < nslots ? (KEY)plan.low[j] : (KEY) ~(KEY)0;
    __syncthreads(); /* the tree */
    const uint32_t ntiles = (job.n + job.slots.tile_items - 1) / job.slots.tile_items;
    for (uint32_t tile = blockIdx.x; tile < ntiles && move_sampled_tile(job, tile, nslots, levels, s); tile += gridDim.x)
        __syncthreads(); /* nobody needs the shared memory any more */
    __threadfence();     /* what this thread has added to the sizes before the CTA is counted as done */
    __syncthreads();
    if (threadIdx.x == 0) s.last = atomicAdd(&job.header->sample_done[1], 1) == gridDim.x - 1;
    __syncthreads(); /* s.last */
    if (!s.last) return;
    __threadfence(); /* having seen the others done, see their sizes */
    if (__syncthreads_or(has_turned(&job.header->sample_state, SAMPLE_OPEN))) return;
    start_sampled_buckets(job, nslots, s);
}

/* ---- the host's part --------------------------------------------------------------------------------------------------------- */

/* Tiles of as many keys as can be, or of fewer, so that the last ones of all CTAs end together. */
template <typename KEY> static cudaError_t launch_sample_slots(const struct split_job *job, const struct cuda_queue *queue) {
    typedef sample_slots_shape<KEY> SHAPE;
    const uint32_t nsms = (uint32_t)queue->nsms, rows = (job->n + nsms * SHAPE::THREADS - 1) / (nsms * SHAPE::THREADS);
    const uint32_t ntiles = (rows + SHAPE::ROWS - 1) / SHAPE::ROWS, tile_rows = (rows + ntiles - 1) / ntiles; /* of a CTA */
    struct split_job moved = *job;
    moved.slots.tile_items = SHAPE::THREADS * ((tile_rows + SHAPE::TOGETHER - 1) / SHAPE::TOGETHER * SHAPE::TOGETHER);
    cudaError_t error = launch_next(queue, sort_drawn_keys<KEY>, DRAWN_CTAS, DRAWN_THREADS, VALUE_SLOTS * sizeof(uint32_t), *job);
    if (error == cudaSuccess) error = launch_next(queue, count_drawn_cells<KEY>, nsms, DRAWN_THREADS, sizeof(struct drawn_desk<KEY>), *job);
    if (error != cudaSuccess) return error;
    return launch_next(queue, split_by_splitters<KEY>, nsms, SLOTS_THREADS, sizeof(struct sample_slots_desk<KEY>), moved);
}

#endif
