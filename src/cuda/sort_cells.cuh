/* sort_cells.cuh: numbers for the buckets of floats (sort_digits.cuh), from how the keys lie.
 *
 *     sample    the largest magnitude of 1,024 keys says where the cells are: 30 octaves from it down, two above; and if they have few
 *               values, repeat a lot, or crowd in what must be one bucket, that is all
 *     count     up to four million keys by their cells; for an argsort some CTAs look meanwhile whether keys repeat
 *     plan      the CTA that is done last: a cell of many keys gets as many numbers as it needs, small neighbours get one together; and
 *               there may be slots for them (sort_cell_slots.cuh)
 *
 * Where a bucket gets too many keys all the same, what is queued behind sees it, and slots by a sample or the stable passes do the work.
 * Cost: the counted keys read. The launch is that of sort_cell_slots.cuh. */
#ifndef UPSWEEP_CUDA_SORT_CELLS_CUH
#define UPSWEEP_CUDA_SORT_CELLS_CUH

#include "sort_sample_plan.cuh"
#include "sort_split.cuh"

#define CELL_LOOKED_BITS   13   /* of the number of keys that a CTA looks at for an argsort; */
#define CELL_EQUAL_ITEMS   13   /* keys of a value: beyond, passes do an argsort quicker; */
#define CELL_EQUAL_PART    32   /* a part of a bucket: beyond, slots by a sample are quicker */
#define CELL_MOST_PARTS    8192 /* of a cell that has all keys: as many buckets, or more */
#define CELL_CROWD_CHANCE  8    /* of a sample's keys, beyond what deviations allow: others that share a counter */
#define CELL_OCTAVES_ABOVE 2    /* those of the sample; so is the largest of a billion normal or exponential variates */

struct divided_cell {
    uint32_t number, nnumbers, cell;
};

/* Shared memory of a plan. */
struct cell_desk {
    uint32_t groups[CELLS], sums[32], ndivided, nnumbers;
    struct divided_cell divided[CELLS];
};

/* What a cell gets: its first number, and how many; none if it shares that with the cell before. */
struct cell_numbers {
    uint32_t first, count;
    __device__ __forceinline__ uint32_t entry() const { return first << 16 | max(count, 1u); }
};

/* The magnitude of the float that an image stands for, in cells; 0 if that is infinite or none. */
template <typename KEY> static __device__ __forceinline__ uint32_t magnitude_of(KEY image) {
    typedef struct float_cells<KEY> cells;
    const KEY magnitude = (KEY)(image >> (sizeof(KEY) * 8 - 1) ? image : ~image);
    const uint32_t at = (uint32_t)(magnitude >> cells::SHIFT) & (cells::HALF - 1);
    return at < cells::HALF - (1u << CELL_BITS) ? at : 0;
}

/* Where the cells begin, if this is the largest magnitude of a sample. */
static __device__ __forceinline__ int32_t lowest_cell_below(uint32_t largest) {
    return max((int32_t)(largest >> CELL_BITS) + 1 + CELL_OCTAVES_ABOVE - CELL_OCTAVES, 0) * (1 << CELL_BITS);
}

/* The same of a sample. */
template <typename KEY> static __device__ __forceinline__ int32_t lowest_cell(KEY sampled, uint32_t *s_largest) {
    uint32_t largest = magnitude_of(sampled);
    for (uint32_t distance = 16; distance > 0; distance /= 2) largest = max(largest, __shfl_xor_sync(~0u, largest, distance));
    if (threadIdx.x % 32 == 0) atomicMax(s_largest, largest);
    __syncthreads(); /* the largest of all */
    return lowest_cell_below(*s_largest);
}

/* Is some bucket by cells bound to have too many keys, as far as a sample can tell? image: of this thread's sampled_key(). Counted are
 * those of a cell that reaches far, and those of a part of another that is about a bucket, if there are so many numbers; a counter may be
 * of more parts than one. s_counts are zero before. All threads call it, and all CTAs agree. */
template <typename KEY>
static __device__ __forceinline__ bool is_crowded(const struct split_job &job, const struct float_cells<KEY> &cells, KEY image,
                                                  uint32_t nnumbers, uint32_t (&s_counts)[CELLS]) {
    const uint32_t cell = cells.cell_of(image), narrow = 31 - (uint32_t)__clz((int)nnumbers);
    const uint32_t part = (uint32_t)(image >> (cells.SHIFT - narrow)) * 0x9e3779b9u >> 22; /* Knuth's multiplicative hash */
    static_assert(CELLS == 1u << (32 - 22), "a counter a part");
    const uint32_t before = atomicAdd(&s_counts[reaches_far(cell) ? cell : part], 1);
    const float most = (float)job.bucket_max * CELL_THREADS / (float)job.n;
    return __syncthreads_or((float)before > most + 5 * sqrtf(most) + CELL_CROWD_CHANCE);
}

/* Does a key meet an equal one? It takes a place that it draws, until another one comes there. s_words: VALUE_SLOTS, zero before; so key 0
 * seems to be in every place that is free. */
template <typename KEY> static __device__ __forceinline__ bool meets_equal(KEY key, uint32_t *s_words) {
    const uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
    const uint32_t rest = (uint32_t)(hash >> (32 - VALUE_SLOT_BITS));
    return atomicExch(&s_words[hash >> (64 - VALUE_SLOT_BITS)], rest) == rest;
}

/* Do keys repeat so much that cells are not for them, if so many of 2^bits have met an equal one? By 2^more_bits CTAs, of which each knows
 * its own keys. If each value is drawn d times, on average, d 4^bits / 2n pairs of a CTA's keys are equal; a quarter of these do not meet
 * if there is a key to a place. A value that fills a bucket is too frequent, whatever comes next. */
static __device__ __forceinline__ bool keys_repeat(const struct split_job &job, uint32_t nequal, uint32_t bits, uint32_t more_bits) {
    const uint32_t most = job.values_out ? CELL_EQUAL_ITEMS : job.slots.sample_items ? job.bucket_max / CELL_EQUAL_PART : job.bucket_max;
    const uint64_t npairs = ((uint64_t)most << (2 * bits - 1 + more_bits)) / job.n, nmeet = job.values_out ? npairs * 3 / 4 : npairs;
    return nequal > min(nmeet, (uint64_t)3 << (bits - 3 + more_bits));
}

/* For an argsort: 2^how many CTAs look at keys? More of many keys, since there one pair in as many more is equal. */
static __device__ __forceinline__ uint32_t lookers_bits(const struct split_job &job) {
    const uint32_t wanted = job.n <= 1u << 23 ? 0 : job.n <= 1u << 26 ? 3 : 6;
    return min(wanted, 31 - (uint32_t)__clz((int)gridDim.x / 2));
}

/* And how many meet an equal one, of those that one CTA looks at? All threads call it; a call, so that the kernel has registers for what
 * else it does. */
template <typename KEY>
static __device__ __noinline__ void look_for_equal_keys(const struct split_job &job, uint32_t part, uint32_t *s_words) {
    static_assert(CELL_LOOKED_BITS == VALUE_SLOT_BITS, "a key to a place");
    constexpr uint32_t N = (1u << CELL_LOOKED_BITS) / CELL_THREADS;
    const uint32_t more_bits = lookers_bits(job);
    const KEY *in = (const KEY *)job.in;
    KEY keys[N];
#pragma unroll
    for (uint32_t k = 0; k < N; k++)
        keys[k] = in[drawn_at(job, (k * CELL_THREADS + threadIdx.x) << more_bits | part, CELL_LOOKED_BITS + more_bits)] ^ in[0];
    uint32_t nequal = 0;
#pragma unroll
    for (uint32_t k = 0; k < N; k++) nequal += meets_equal(keys[k], s_words);
    nequal = sum_warp(nequal);
    if (threadIdx.x % 32 == 0) atomicAdd(&job.header->cell_counts.nequal, nequal);
}

/* Counts a part of the keys, or of as many of them as are asked, in rows of a key a thread; of these, 32 keys here and 32 there,
 * evenly spread over all, as keys may be sorted. */
template <typename KEY>
static __device__ __forceinline__ void count_cells(const struct split_job &job, const struct float_cells<KEY> &cells, uint32_t part,
                                                   uint32_t nparts, uint32_t *s_counts) {
    const struct key_order<KEY> order(job);
    const uint32_t nasked = min(job.n, CELL_SAMPLE), nrows = (nasked + CELL_THREADS - 1) / CELL_THREADS;
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    constexpr uint32_t LOADS = 8, WARPS = CELL_THREADS / 32;
    for (uint32_t first = part; first < nrows; first += LOADS * nparts) {
        KEY keys[LOADS];
        bool valid[LOADS];
#pragma unroll
        for (uint32_t k = 0; k < LOADS; k++) {
            const uint64_t row = first + k * nparts, at_row = row * WARPS + warp;
            const uint64_t at = nasked == job.n ? at_row * 32 : at_row * job.n / (CELL_SAMPLE / 32) / 32 * 32;
            valid[k] = row < nrows && at + lane < job.n;
            keys[k] = valid[k] ? ((const KEY *)job.in)[at + lane] : (KEY)0;
        }
#pragma unroll
        for (uint32_t k = 0; k < LOADS; k++) {
            if (valid[k]) atomicAdd(&s_counts[cells.cell_of(order.image(keys[k]))], 1);
        }
    }
}

/* The keys that a cell must be expected to have, of a sample: six standard deviations more than its part of it. */
static __device__ __forceinline__ float expected_of_sample(uint32_t count, const struct split_job &job) {
    return ((float)count + 6 * sqrtf((float)count) + 4) * ((float)job.n / (float)min(job.n, CELL_SAMPLE));
}

/* How many more keys of a sample a cell would have if it were as dense everywhere as where it is densest: halfway to its neighbours. But a
 * cell in which the keys end is as dense as the one within, as far as it goes. None if all of its keys may have one number. */
static __device__ __forceinline__ float excess_keys(const uint32_t *s_counts, const struct split_job &job) {
    const uint32_t cell = threadIdx.x, at = cell % (1 << CELL_BITS);
    const bool above = cell >= CELLS_A_SIDE; /* zero; there octaves get wider from cell to cell, and on the other side narrower */
    const float mine = (float)s_counts[cell];
    const float lower = (float)s_counts[max(cell, 1u) - 1] * (at > 0 ? 1.0f : above ? 2.0f : 0.5f);
    const float upper = (float)s_counts[min(cell + 1, CELLS - 1u)] * (at + 1 < 1 << CELL_BITS ? 1.0f : above ? 0.5f : 2.0f);
    if (expected_of_sample(s_counts[cell], job) <= (float)job.cell_keys) return 0.0f;
    return max(max(lower, upper) - mine, 0.0f) * (min(lower, upper) < mine / 4 ? 1.0f : 0.5f);
}

/* The same if it is counted in full, or were so dense. All threads have counted. */
static __device__ __forceinline__ uint32_t expected_keys(const uint32_t *s_counts, const struct split_job &job) {
    const uint32_t count = s_counts[threadIdx.x];
    if (job.n <= CELL_SAMPLE) return count + (uint32_t)excess_keys(s_counts, job);
    return (uint32_t)(expected_of_sample(count, job) + excess_keys(s_counts, job) * ((float)job.n / (float)CELL_SAMPLE));
}

/* Does a group of cells that share a number begin with thread t's? A cell of more than half a bucket is a group by itself, and so is one
 * that reaches far; a group is within two octaves, so that its keys are told apart by the bits that a bucket looks at. */
static __device__ __forceinline__ bool begins_number(uint32_t expected, uint32_t start, uint32_t half, uint32_t *s_groups) {
    const uint32_t cell = threadIdx.x;
    const uint32_t group = expected > half ? 1u << 31 | cell : start / half;
    s_groups[cell] = group;
    __syncthreads(); /* all groups */
    return cell % (2 << CELL_BITS) == 0 || reaches_far(cell) || reaches_far(cell - 1) || s_groups[cell - 1] != group;
}

/* The numbers of thread t's cell t, which has so many keys, and so many before it. */
static __device__ __forceinline__ struct cell_numbers number_cell(uint32_t nkeys, uint32_t before, uint32_t cell_keys,
                                                                  struct cell_desk &s) {
    const uint32_t nbuckets = reaches_far(threadIdx.x) ? 1 : max((nkeys + cell_keys - 1) / cell_keys, 1u);
    const bool begins = begins_number(nkeys, before, cell_keys / 2, s.groups);
    const uint32_t count = begins ? min(nbuckets, 0xffffu) : 0, first = scan_threads(count, s.sums);
    return {begins ? first : first - 1, count};
}

/* Writes where numbers begin. Thread t the first of cell t; the others, if there are any, a warp a cell. ndivided is zero before. */
template <typename KEY>
static __device__ __forceinline__ void write_bounds(uint32_t *bound, const struct float_cells<KEY> &cells,
                                                    const struct cell_numbers &numbers, struct cell_desk &s) {
    constexpr uint32_t WIDTH_BITS = float_cells<KEY>::SHIFT - (sizeof(KEY) * 8 - 32); /* of a cell */
    if (numbers.count > 0) bound[numbers.first] = cells.start_of(threadIdx.x);
    if (numbers.count > 1) s.divided[atomicAdd(&s.ndivided, 1)] = {numbers.first, numbers.count, threadIdx.x};
    if (threadIdx.x == CELLS - 1) { /* it reaches far, and so has one */
        s.nnumbers = numbers.first + 1;
        bound[s.nnumbers] = ~0u;
    }
    __syncthreads(); /* all cells with more than one number */
    for (uint32_t i = threadIdx.x / 32; i < s.ndivided; i += CELL_THREADS / 32) {
        const struct divided_cell cell = s.divided[i];
        for (uint32_t k = 1 + threadIdx.x % 32; k < cell.nnumbers; k += 32) {
            const double below = (double)((uint64_t)k << WIDTH_BITS) / (double)cell.nnumbers; /* whole numbers below 2^32: floor is exact */
            bound[cell.number + k] = cells.start_of(cell.cell) + (uint32_t)below;
        }
    }
}

/* ---- slots (sort_cell_slots.cuh) --------------------------------------------------------------------------------------------- */

/* Shared memory: of each cell, the room for each of its numbers, where that begins, and where the keys would if they were just as many as
 * is to be expected. */
struct cell_slots {
    uint32_t room[CELLS], start[CELLS], keys[CELLS], before[CELLS];
};

/* Number k of a cell: where its slot begins, and, in the lowest bit, whether its bounds are those of whole images; if a coarse bucket
 * begins there, that, too. */
static __device__ __forceinline__ void write_slot(const struct split_job &job, uint32_t cell, const struct cell_numbers &numbers,
                                                  uint32_t k, const struct cell_slots &s) {
    struct cell_plan *plan = &job.header->cells;
    const uint32_t number = numbers.first + k, last = (1u << job.slots.fine_bits) - 1;
    job.cell_slot[number] = (s.start[cell] + k * s.room[cell]) | ((numbers.count & (numbers.count - 1)) == 0);
    if (number & last) return;
    const uint32_t before = s.before[cell] + (uint32_t)((uint64_t)s.keys[cell] * k / numbers.count);
    plan->coarse[number >> job.slots.fine_bits] = {before & ~31u, k + last < numbers.count ? numbers.count : 0, k};
}

/* Where slots begin, and coarse buckets. A slot has room for the keys to be expected where they are densest, and for nearly five
 * standard deviations more, of the sample's part and of theirs; and for some if the sample has none. Gives them up if they need too much
 * room, or if coarse buckets would be uneven. The bounds have been written. */
static __device__ __forceinline__ void plan_slots(const struct split_job &job, const struct cell_numbers &numbers, const uint32_t *s_counts,
                                                  struct cell_desk &desk, struct cell_slots &s) {
    struct cell_plan *plan = &job.header->cells;
    const uint32_t cell = threadIdx.x, nnumbers = max(numbers.count, 1u);
    const uint32_t nasked = min(job.n, CELL_SAMPLE);
    const float scale = (float)job.n / (float)nasked, weight = scale / (float)nnumbers; /* of a counted key */
    const float mean = (float)s_counts[cell] * weight, excess = nnumbers > 1 ? excess_keys(s_counts, job) * weight : 0.0f;
    const float items =
        min(mean + excess, (float)s_counts[cell] * scale) + CELL_SLOTS_DEVIATIONS * sqrtf(mean * (1 + weight)) + 18 * weight;
    const uint32_t room = min(((uint32_t)items + 32) / 32, job.bucket_max / 32) * 32;
    const bool uneven = nnumbers > 1u << job.slots.fine_bits && excess > mean * 2 / CELL_SLOTS_ASIDE_PART;
    s.room[cell] = room;
    s.keys[cell] = (uint32_t)((uint64_t)s_counts[cell] * job.n / nasked); /* so that all together are not more than n */
    s.start[cell] = scan_threads(room * nnumbers, desk.sums);
    if (__syncthreads_or(uneven) && threadIdx.x == 0) job.header->slots_full = SLOTS_FULL; /* also: nobody needs the sums any more */
    s.before[cell] = scan_threads(s.keys[cell], desk.sums);
    __syncthreads(); /* all cells */
    if (numbers.count > 0) write_slot(job, cell, numbers, 0, s);
    for (uint32_t i = threadIdx.x / 32; i < desk.ndivided; i += CELL_THREADS / 32) {
        const struct divided_cell divided = desk.divided[i];
        for (uint32_t k = 1 + threadIdx.x % 32; k < divided.nnumbers; k += 32)
            write_slot(job, divided.cell, {divided.number, divided.nnumbers}, k, s);
    }
    const uint32_t used = desk.nnumbers, total = s.start[CELLS - 1] + s.room[CELLS - 1];
    const uint32_t first_empty = ((used - 1) >> job.slots.fine_bits) + 1;
    if (job.slots.coarse_bits && threadIdx.x >= first_empty && threadIdx.x <= SORT_DIGITS) plan->coarse[threadIdx.x] = {job.n, 0, 0};
    if (threadIdx.x > 0) return;
    plan->nnumbers = used;
    job.cell_slot[used] = total;
    const uint32_t most = total + (job.slots.coarse_bits ? total / CELL_SLOTS_ASIDE_PART : 0);
    if (most > job.slots.float_items || are_slots_too_small(job)) job.header->slots_full = SLOTS_FULL;
}

/* ---- the step -------------------------------------------------------------------------------------------------------------- */

/* Nothing is to be moved. */
static __device__ __forceinline__ void give_cells_up(const struct split_job &job) {
    if (threadIdx.x > 0) return;
    job.header->outcome = NOT_SPLIT;
    job.header->slots_full = SLOTS_IN_VAIN;
}

/* Must this cell's buckets be too big? Some cells have one only. */
static __device__ __forceinline__ bool is_too_big(uint32_t count, uint32_t nnumbers, const struct split_job &job) {
    const float scale = (float)job.n / (float)min(job.n, CELL_SAMPLE);
    return ((float)count - 6 * sqrtf((float)count)) * scale > (float)job.bucket_max * (float)nnumbers;
}

/* Thread t plans cell t. Gives up if there are not numbers enough. */
template <typename KEY>
static __device__ void plan_cells(const struct split_job &job, const struct float_cells<KEY> &cells, uint32_t *s_counts,
                                  struct cell_desk &s, struct cell_slots &s_slots) {
    struct cell_plan *plan = &job.header->cells;
    const uint32_t count = __ldcg(&job.header->cell_counts.count[threadIdx.x]); /* from L2, where the atomics took place */
    s_counts[threadIdx.x] = count;
    __syncthreads(); /* all counts */
    const uint32_t expected = expected_keys(s_counts, job);
    const uint32_t start = scan_threads(expected, s.sums);
    __syncthreads(); /* nobody needs the sums any more */
    const struct cell_numbers numbers = number_cell(expected, start, job.cell_keys, s);
    plan->entry[threadIdx.x] = numbers.entry();
    if (__syncthreads_or(numbers.first >= job.nnumbers || is_too_big(count, max(numbers.count, 1u), job))) return give_cells_up(job);
    write_bounds(job.bound, cells, numbers, s);
    if (job.slots.area) plan_slots(job, numbers, s_counts, s, s_slots);
}

static_assert(CELL_THREADS == CELLS && CELL_THREADS == VALUE_SAMPLE, "a thread a cell");

/* Shared memory. */
struct cells_memory {
    uint32_t words[VALUE_SLOTS], counts[CELLS], largest, part;
    bool last;
    struct cell_desk desk;
    struct cell_slots slots;
};

/* Counts a part of the keys; for an argsort, the first parts are looks at some. */
template <typename KEY>
static __device__ __forceinline__ void count_part_of_cells(const struct split_job &job, uint32_t part, struct cells_memory &s) {
    if (part == 0 && threadIdx.x < SORT_DIGITS) job.header->coarse_size[threadIdx.x] = 0; /* of an attempt before */
    s.counts[threadIdx.x] = 0;
    for (uint32_t i = threadIdx.x; i < VALUE_SLOTS; i += CELL_THREADS) s.words[i] = 0;
    if (threadIdx.x == 0) s.largest = s.desk.ndivided = 0;
    __syncthreads(); /* zeroes before counts */
    const KEY *in = (const KEY *)job.in;
    if (job.most_values && sample_has_few_values(in, job, s.words)) return give_cells_up(job); /* as all CTAs do */
    const uint32_t nlookers = job.values_out ? 1u << lookers_bits(job) : 0;
    const KEY drawn = sampled_key(in, job);
    if (!nlookers && keys_repeat(job, (uint32_t)__syncthreads_count(meets_equal((KEY)(drawn ^ in[0]), s.words)), 10, 0))
        return give_cells_up(job); /* as most CTAs do: the others count in vain */
    const KEY image = key_order<KEY>(job).image(drawn);
    const struct float_cells<KEY> cells(lowest_cell(image, &s.largest));
    if (is_crowded(job, cells, image, CELL_MOST_PARTS, s.counts)) return give_cells_up(job); /* as all CTAs do */
    s.counts[threadIdx.x] = 0;
    __syncthreads(); /* zeroes before counts */
    if (part < nlookers) return look_for_equal_keys<KEY>(job, part, s.words);
    count_cells(job, cells, part - nlookers, gridDim.x - nlookers, s.counts);
    __syncthreads(); /* all counts */
    const uint32_t count = s.counts[threadIdx.x];
    if (count) atomicAdd(&job.header->cell_counts.count[threadIdx.x], count);
}

/* Counts keys by cells, and makes the plan. Parts are dealt out to the CTAs that run; who finds none any more may wait for the plan
 * (wait_for_cells()), since all of them are with CTAs that have begun. All threads call it. */
template <typename KEY> static __device__ __forceinline__ void number_cells(const struct split_job &job, struct cells_memory &s) {
    struct cell_counts *all = &job.header->cell_counts;
    if (threadIdx.x == 0) s.part = atomicAdd(&all->ticket, 1);
    for (;;) {
        __syncthreads(); /* the part is known, and nobody needs the shared memory any more */
        const uint32_t part = s.part;
        if (part >= gridDim.x) return;
        count_part_of_cells<KEY>(job, part, s);
        __threadfence(); /* this thread's counts before the part is counted as done */
        __syncthreads();
        if (threadIdx.x == 0) {
            s.last = atomicAdd(&all->ndone, 1) == gridDim.x - 1;
            s.part = atomicAdd(&all->ticket, 1);
        }
        __syncthreads(); /* s.last, and the next part */
        if (!s.last) continue;
        __threadfence(); /* having seen the others done, see their counts */
        const int32_t lowest = lowest_cell_below(s.largest);
        if (threadIdx.x == 0) job.header->cells.lowest = lowest;
        if (job.values_out && keys_repeat(job, __ldcg(&all->nequal), CELL_LOOKED_BITS, lookers_bits(job)))
            give_cells_up(job);
        else if (*(volatile uint32_t *)&job.header->slots_full == SLOTS_OPEN)
            plan_cells(job, float_cells<KEY>(lowest), s.counts, s.desk, s.slots);
        __threadfence(); /* the plan before it is counted as done */
        __syncthreads();
        if (threadIdx.x == 0) atomicAdd(&all->ndone, 1);
        return;
    }
}

/* All threads call it. */
static __device__ __forceinline__ void wait_for_cells(const struct split_job &job) {
    if (threadIdx.x == 0) {
        while (*(const volatile uint32_t *)&job.header->cell_counts.ndone <= gridDim.x) {
        }
    }
    __syncthreads(); /* the plan is made */
    __threadfence(); /* having seen that, see the plan */
}

#endif
