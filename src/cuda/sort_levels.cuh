/* sort_levels.cuh: splits buckets too big for a CTA by one digit after the other, until what is left of them fits, all in one launch.
 *
 *     level 0   count    the next digit of every segment; whoever counts the last part of a segment plans it (sort_deep.cuh)
 *               move     its keys to its children
 *     level 1   count    children that are still too big
 *               ...
 *
 * Bits that all keys of a segment share are skipped: they are found while counting. And if the digit is the last one, nothing is moved: the
 * counts say what the output is, so it is filled in.
 *
 * CTAs draw tickets through the tasks of all phases. How many a phase has is known when the one before is done: then its last CTA makes it
 * known. Who waits for that has finished and reported its own tasks, and has a later ticket than all that it waits for; so they are
 * running, and the wait ends, whether all CTAs are resident or not. Cost: per level, the keys of its segments read twice and written once;
 * a uniform bucket costs nothing. Source: Stehle and Jacobsen, A memory bandwidth-efficient hybrid radix sort on GPUs, 2017. */
#ifndef UPSWEEP_CUDA_SORT_LEVELS_CUH
#define UPSWEEP_CUDA_SORT_LEVELS_CUH

#include "sort_fill.cuh"
#include "sort_lookback.cuh"
#include "sort_partition.cuh"

#define LEVELS_COPIES 8 /* of each counter, for lanes that would meet */
#define LEVELS_END    0xffffffffu

struct levels_desk {
    uint32_t phase, begin, end; /* the tickets of the phase at hand */
    uint32_t finished;          /* tasks that have not been reported yet */
    bool last;
    uint64_t varying;
    struct deep_task task;
    struct deep_segment segment;
    struct digit_partition<SORT_DIGITS> partition;
    struct deep_desk deep;
};

/* ---- tasks ------------------------------------------------------------------------------------------------------------------- */

/* One thread calls it: this CTA's finished tasks are done. Whoever finishes a phase so says how long the next one is. */
static __device__ __forceinline__ void report_tasks(const struct deep_lists &lists, struct levels_desk &s) {
    struct deep_control *control = lists.control;
    if (s.finished == 0) return;
    __threadfence(); /* what this CTA wrote before its tasks are counted as done */
    const uint32_t done = atomicAdd(&control->tasks_done, s.finished) + s.finished;
    s.finished = 0;
    uint32_t phase = s.phase;
    if (done != s.end) return;
    __threadfence(); /* having seen all tasks done, see what they wrote */
    if (phase % 2 == 0) {
        const uint32_t nmoves = __ldcg(&control->nmoves);
        store_release(&control->phase_end[++phase], done + nmoves);
        if (nmoves > 0) return;
    }
    const uint32_t level = phase / 2, list = level % 2, ncounts = __ldcg(&control->ncounts[1 - list]);
    control->nmoves = control->nsegments[list] = control->ncounts[list] = 0; /* for the level after the next */
    store_release(&control->phase_end[phase + 1], ncounts > 0 ? done + ncounts : LEVELS_END);
}

/* One thread calls it, after a barrier behind the task before: the task of a ticket, in s.task and s.segment, once all phases before its
 * own are done. Even phases count, odd ones move. */
static __device__ __forceinline__ void find_task(const struct deep_lists &lists, uint32_t ticket, struct levels_desk &s) {
    bool same_phase = true;
    if (ticket >= s.end) {
        report_tasks(lists, s);
        same_phase = false;
        while (ticket >= s.end) {
            s.begin = s.end;
            s.phase++;
            while ((s.end = load_acquire(&lists.control->phase_end[s.phase])) == 0) {
            }
        }
    }
    if (s.end == LEVELS_END) return;
    const uint32_t list = s.phase / 2 % 2, segment = s.task.segment;
    s.task = (s.phase % 2 ? lists.to_move : lists.to_count[list])[ticket - s.begin];
    if (!same_phase || s.task.segment != segment) s.segment = lists.segments[list][s.task.segment];
}

/* ---- counting ---------------------------------------------------------------------------------------------------------------- */

template <typename KEY> static __device__ __forceinline__ uint32_t next_digit_bits(uint32_t depth) {
    return min((uint32_t)sizeof(KEY) * 8 - depth, (uint32_t)SORT_DIGIT_BITS);
}

template <typename KEY>
static __device__ __forceinline__ const KEY *segment_keys(const struct split_job &job, const struct deep_segment &segment) {
    return (const KEY *)buffer_at(segment.place, job.in, job.out, job.tmp) + segment.start;
}

/* The order in which a segment's keys are read: only the input holds keys, the other buffers images. */
template <typename KEY> static __device__ __forceinline__ struct key_order<KEY> segment_order(const struct split_job &job, uint32_t place) {
    struct key_order<KEY> order(job);
    if (place != BUFFER_IN) order.flip = order.float_mask = 0;
    return order;
}

/* Queues `ntasks` tasks that move the segment. All threads call it; desk word `first` is scratch. */
static __device__ __forceinline__ void
queue_moves(const struct deep_lists &lists, uint32_t segment, uint32_t ntasks, uint32_t *s_first) {
    if (threadIdx.x == 0) *s_first = atomicAdd(&lists.control->nmoves, ntasks);
    __syncthreads(); /* where the tasks begin */
    for (uint32_t part = threadIdx.x; part < ntasks; part += blockDim.x) lists.to_move[*s_first + part] = {segment, part};
}

/* All parts of s.segment have been counted: what becomes of it? The counts turn into places. */
template <typename KEY> static __device__ void plan_segment(const struct split_job &job, struct levels_desk &s) {
    const uint32_t list = s.phase / 2 % 2, bits = next_digit_bits<KEY>(s.segment.depth), W = sizeof(KEY) * 8;
    struct deep_segment *segment = &job.deep.segments[list][s.task.segment];
    uint32_t *counts = job.deep.counts[list] + s.task.segment * SORT_DIGITS;
    const uint32_t count = threadIdx.x < SORT_DIGITS ? __ldcg(&counts[threadIdx.x]) : 0;
    const uint32_t start = s.segment.start + scan_threads(count, s.partition.sums);
    if (threadIdx.x < SORT_DIGITS) s.deep.start[threadIdx.x] = counts[threadIdx.x] = start;
    if (threadIdx.x == 0) {
        s.deep.start[1u << bits] = s.segment.start + s.segment.n;
        s.deep.nadded = 0;
        s.varying = __ldcg(&segment->varying);
    }
    const bool shared = __syncthreads_or(count == s.segment.n); /* also: all starts */
    const uint32_t known = s.varying == 0 ? W : (uint32_t)__clzll((long long)s.varying) - (64 - W);
    if (shared && known < W) { /* nothing to move: on to the first bit that varies */
        if (threadIdx.x == 0) add_segment(job.deep, {s.segment.start, s.segment.n, known, s.segment.place}, 1 - list, s.deep);
        __syncthreads(); /* the segment is known to all */
    } else {
        const bool filled = shared || s.segment.depth + bits == W;
        if (filled && threadIdx.x == 0) {
            const KEY image = segment_order<KEY>(job, s.segment.place).image(segment_keys<KEY>(job, s.segment)[0]);
            segment->filled = 1;
            segment->prefix = image & ~((KEY)((1u << bits) - 1) << (W - s.segment.depth - bits));
        }
        if (!filled) {
            const uint32_t place = s.segment.place == BUFFER_TMP ? BUFFER_OUT : BUFFER_TMP;
            const struct deep_children of = {s.segment.depth, bits, place, 1 - list};
            plan_children(job.deep, of, 0, 1u << bits, s.deep);
        }
        queue_moves(job.deep, s.task.segment, ceil_div(s.segment.n, job.deep.chunk_items), s.deep.heads);
        __syncthreads(); /* the tasks are there */
    }
    write_tasks(job.deep, 1 - list, s.deep);
}

/* Counts a part of s.segment. s_counts [digits][copies]. */
template <typename KEY>
static __device__ __forceinline__ void count_part(const struct split_job &job, struct levels_desk &s, uint32_t *s_counts) {
    const uint32_t list = s.phase / 2 % 2, bits = next_digit_bits<KEY>(s.segment.depth), shift = sizeof(KEY) * 8 - s.segment.depth - bits;
    for (uint32_t i = threadIdx.x; i < SORT_DIGITS * LEVELS_COPIES; i += SPLIT_THREADS) s_counts[i] = 0;
    const struct key_order<KEY> order = segment_order<KEY>(job, s.segment.place);
    const KEY *keys = segment_keys<KEY>(job, s.segment), some_image = order.image(keys[0]);
    const uint32_t begin = s.task.part * job.deep.chunk_items, end = min(begin + job.deep.chunk_items, s.segment.n);
    uint32_t *copy = s_counts + threadIdx.x % LEVELS_COPIES;
    KEY varying = 0;
    constexpr uint32_t LOADS = 64 / sizeof(KEY); /* in flight */
    __syncthreads();                             /* zeroes before counts */
    for (uint32_t i = begin + threadIdx.x; i < end; i += LOADS * SPLIT_THREADS) {
        const KEY *src = keys + i;
        KEY got[LOADS];
#pragma unroll
        for (uint32_t k = 0; k < LOADS; k++) {
            if (i + k * SPLIT_THREADS < end) got[k] = src[k * SPLIT_THREADS];
        }
#pragma unroll
        for (uint32_t k = 0; k < LOADS; k++) {
            if (i + k * SPLIT_THREADS >= end) break;
            const KEY image = order.image(got[k]);
            varying |= image ^ some_image;
            atomicAdd(&copy[digit_of(image, shift, (1u << bits) - 1) * LEVELS_COPIES], 1);
        }
    }
#pragma unroll
    for (uint32_t distance = 16; distance > 0; distance /= 2) varying |= __shfl_xor_sync(~0u, varying, distance);
    struct deep_segment *segment = &job.deep.segments[list][s.task.segment];
    if (threadIdx.x % 32 == 0 && varying) atomicOr(&segment->varying, (unsigned long long)varying);
    __syncthreads(); /* all counts */
    if (threadIdx.x < SORT_DIGITS) {
        uint32_t sum = 0;
#pragma unroll
        for (uint32_t k = 0; k < LEVELS_COPIES; k++) sum += s_counts[threadIdx.x * LEVELS_COPIES + (k + threadIdx.x) % LEVELS_COPIES];
        if (sum) atomicAdd(&job.deep.counts[list][s.task.segment * SORT_DIGITS + threadIdx.x], sum);
    }
    __threadfence(); /* this thread's counts before the part is counted as done */
    __syncthreads();
    if (threadIdx.x == 0) s.last = atomicAdd(&segment->counted, 1) == ceil_div(s.segment.n, job.deep.chunk_items) - 1;
    __syncthreads(); /* s.last */
    if (!s.last) return;
    __threadfence(); /* having seen the others done, see their counts */
    plan_segment<KEY>(job, s);
}

/* ---- moving ------------------------------------------------------------------------------------------------------------------ */

/* Moves a part of s.segment to its children, tile by tile; or fills it in. */
template <typename KEY>
static __device__ __forceinline__ void move_part(const struct split_job &job, struct levels_desk &s, unsigned char *s_memory) {
    const uint32_t list = s.phase / 2 % 2, bits = next_digit_bits<KEY>(s.segment.depth), shift = sizeof(KEY) * 8 - s.segment.depth - bits;
    const uint32_t begin = s.task.part * job.deep.chunk_items, end = min(begin + job.deep.chunk_items, s.segment.n);
    uint32_t *places = job.deep.counts[list] + s.task.segment * SORT_DIGITS;
    if (s.segment.filled) {
        const uint32_t *starts = places;
        const struct key_order<KEY> order(job);
        fill_stretch<SPLIT_THREADS>((KEY *)job.out, s.segment.start + begin, s.segment.start + end, starts, {0, (1u << bits) - 1, true},
                                    key_of_digit<KEY>{order, (KEY)s.segment.prefix, shift});
        return;
    }
    KEY *dst = (KEY *)(s.segment.place == BUFFER_TMP ? job.out : job.tmp);
    for (uint32_t first = begin; first < end; first += job.tile_items) {
        const struct tile_of_partition<KEY> tile = {
            segment_keys<KEY>(job, s.segment) + first, first, min(end - first, job.tile_items), job.tile_items / SPLIT_THREADS, places
        };
        const struct bit_digits digits = {shift, (1u << bits) - 1};
        partition_tile<KEY, KEY, false, true, partition_shape<KEY, false>::ROWS>(
            job, tile, digits, segment_order<KEY>(job, s.segment.place), dst, s_memory, s.partition);
        __syncthreads(); /* nobody needs the shared memory any more */
    }
}

/* ---- the kernel -------------------------------------------------------------------------------------------------------------- */

/* Dynamic shared memory: a tile, or the counters. */
template <typename KEY>
__global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_CTAS_PER_SM) split_levels(const __grid_constant__ struct split_job job) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct levels_desk s_desk;
    wait_for_predecessor();
    if (job.header->too_big != SOME_TOO_BIG && job.header->too_big != ALL_TOO_BIG) return;
    uint32_t ticket = 0; /* of thread 0 */
    if (threadIdx.x == 0) {
        s_desk.phase = s_desk.begin = s_desk.finished = 0;
        s_desk.end = job.deep.control->phase_end[0];
        s_desk.task.segment = LEVELS_END;
        ticket = atomicAdd(&job.deep.control->ticket, 1);
    }
    for (;;) {
        if (threadIdx.x == 0) find_task(job.deep, ticket, s_desk);
        __syncthreads(); /* the task is known */
        if (s_desk.end == LEVELS_END) return;
        if (threadIdx.x == 0) ticket = atomicAdd(&job.deep.control->ticket, 1); /* early, since it takes its time */
        if (s_desk.phase % 2 == 0)
            count_part<KEY>(job, s_desk, (uint32_t *)s_memory);
        else
            move_part<KEY>(job, s_desk, s_memory);
        __syncthreads(); /* the task is done, and nobody needs the shared memory any more */
        if (threadIdx.x == 0) s_desk.finished++;
    }
}

#endif
