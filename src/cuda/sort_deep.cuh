/* sort_deep.cuh: what is to be done with buckets too big for a CTA: the lists, and how they are made. What works them off: sort_levels.cuh.
 *
 * A *segment* is such a bucket: keys that share their top `depth` bits, somewhere in a buffer, in the place that they will have in the
 * output. It is counted by its next digit, and then split by it into children, of which
 *
 *     too big for a CTA          a segment of the next level
 *     more than half of that     a bucket for a CTA (sort_bucket.cuh)
 *     smaller                    together with neighbours, a bucket for a CTA
 *
 * Neighbours are put together by where they start: those in the same stretch of half a CTA's keys, so that each thread can decide for its
 * child alone. Work is handed out in tasks, some thousand keys of a segment each. Any keys fit the lists: a segment has more than
 * bucket_max keys, which bounds the number of segments of a level; every level uses up a digit. */
#ifndef UPSWEEP_CUDA_SORT_DEEP_CUH
#define UPSWEEP_CUDA_SORT_DEEP_CUH

#include "sort_rank.cuh"

#define DEEP_CHILDREN 1024           /* planned at once, a thread each */
#define DEEP_BITS     SPLIT_MIN_BITS /* that the keys of a bucket share at least */
#define DEEP_PHASES   20             /* counting and moving, for each level: of at most 8, since each takes 8 bits or the last ones */

struct deep_segment {
    uint32_t start, n;
    uint32_t depth;
    uint32_t place;             /* the buffer where it lies: of keys as they came if BUFFER_IN, else of images */
    uint32_t counted;           /* its tasks that have been counted */
    uint32_t filled;            /* not to be moved: its keys follow from the counts */
    unsigned long long varying; /* bits in which some image differs from the first */
    unsigned long long prefix;  /* of a segment to be filled: all images, but for the digit that was counted */
};

struct deep_bucket {
    uint32_t start, n, depth, place;
};

struct deep_task {
    uint32_t segment, part;
};

/* Device memory, zeroed before. Even levels use lists 0, odd ones lists 1. */
struct deep_control {
    uint32_t ticket, tasks_done;
    uint32_t phase_end[DEEP_PHASES]; /* tickets of this phase and those before; 0: not known yet */
    uint32_t nsegments[2], ncounts[2], nmoves, nbuckets;
};

struct deep_lists {
    struct deep_control *control;
    struct deep_segment *segments[2];
    uint32_t *counts[2]; /* of each segment's next digit; then where the next key of each child goes, or where each key's run starts */
    struct deep_task *to_count[2], *to_move;
    struct deep_bucket *buckets;
    uint32_t bucket_max;
    uint32_t chunk_items; /* of a task: some tiles */
};

/* What a CTA that plans has in shared memory. */
struct deep_desk {
    uint32_t start[DEEP_CHILDREN + 1];
    uint32_t heads[DEEP_CHILDREN / 32]; /* bits */
    uint32_t nadded;
    struct {
        uint32_t segment, first_task;
    } added[DEEP_CHILDREN];
};

/* Children of what shares its top `depth` bits, by the next digit_bits, in this buffer; big ones belong to the level of these lists. */
struct deep_children {
    uint32_t depth, digit_bits, place, list;
};

static __device__ __forceinline__ uint32_t ceil_div(uint32_t n, uint32_t by) { return (n + by - 1) / by; }

/* All threads call it. */
static __device__ __forceinline__ void start_deep_desk(struct deep_desk &s) {
    if (threadIdx.x == 0) s.nadded = 0;
    __syncthreads(); /* the desk is empty */
}

/* One thread calls it. */
static __device__ __forceinline__ void add_segment(const struct deep_lists &lists, const struct deep_segment &segment, uint32_t list,
                                                   struct deep_desk &s) {
    const uint32_t index = atomicAdd(&lists.control->nsegments[list], 1);
    lists.segments[list][index] = segment;
    s.added[atomicAdd(&s.nadded, 1)] = {index, atomicAdd(&lists.control->ncounts[list], ceil_div(segment.n, lists.chunk_items))};
}

/* Writes the tasks of the segments that have been added, and zeroes their counts. All threads call it, after a barrier. */
static __device__ void write_tasks(const struct deep_lists &lists, uint32_t list, struct deep_desk &s) {
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t i = threadIdx.x / 32; i < s.nadded; i += blockDim.x / 32) {
        const uint32_t segment = s.added[i].segment, ntasks = ceil_div(lists.segments[list][segment].n, lists.chunk_items);
        for (uint32_t part = lane; part < ntasks; part += 32) lists.to_count[list][s.added[i].first_task + part] = {segment, part};
        for (uint32_t digit = lane; digit < SORT_DIGITS; digit += 32) lists.counts[list][segment * SORT_DIGITS + digit] = 0;
    }
    __syncthreads(); /* nobody reads the desk any more */
    start_deep_desk(s);
}

/* Does child c (number `first` + c) begin a bucket or segment? */
static __device__ __forceinline__ bool begins(const struct deep_lists &lists, const struct deep_children &of, uint32_t first, uint32_t c,
                                              const struct deep_desk &s) {
    if (c == 0) return true;
    const uint32_t half = lists.bucket_max / 2, total_bits = of.depth + of.digit_bits;
    const bool alone = s.start[c + 1] - s.start[c] > half || s.start[c] - s.start[c - 1] > half;
    const uint32_t differ = (first + c) ^ (first + c - 1);
    return alone || s.start[c] / half != s.start[c - 1] / half || differ >> (total_bits - DEEP_BITS) != 0;
}

/* The first child behind c that begins something, or n. */
static __device__ __forceinline__ uint32_t next_head(const struct deep_desk &s, uint32_t c, uint32_t n) {
    uint32_t word = c / 32, heads = c % 32 == 31 ? 0 : s.heads[word] & ~0u << (c % 32 + 1);
    while (heads == 0) {
        if (++word >= (n + 31) / 32) return n;
        heads = s.heads[word];
    }
    return word * 32 + (uint32_t)__ffs((int)heads) - 1;
}

/* Plans n children, of which the first has number `first`: s.start [0..n] says where they lie. All threads call it, after a barrier; child
 * c is thread c's. */
static __device__ void plan_children(const struct deep_lists &lists, const struct deep_children &of, uint32_t first, uint32_t n,
                                     struct deep_desk &s) {
    const uint32_t c = threadIdx.x;
    const bool head = c < n && begins(lists, of, first, c, s);
    const uint32_t heads = __ballot_sync(~0u, head);
    if (c % 32 == 0) s.heads[c / 32] = heads;
    __syncthreads(); /* all heads */
    if (head) {
        const uint32_t next = next_head(s, c, n), start = s.start[c], count = s.start[next] - start;
        const uint32_t shared_bits = of.depth + of.digit_bits - (32 - (uint32_t)__clz((int)((first + c) ^ (first + next - 1))));
        if (count > lists.bucket_max)
            add_segment(lists, {start, count, shared_bits, of.place}, of.list, s);
        else if (count > 0)
            lists.buckets[atomicAdd(&lists.control->nbuckets, 1)] = {start, count, shared_bits, of.place};
    }
    __syncthreads(); /* what was added is known to all */
}

#endif
