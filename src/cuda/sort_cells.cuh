/* sort_cells.cuh: numbers for the buckets of floats (sort_digits.cuh), from how the keys lie.
 *
 *     sample    the largest magnitude of 1,024 keys says where the cells are: 30 octaves from it down, two above
 *     count     up to four million keys by their cells
 *     plan      the CTA that is done last: a cell of many keys gets as many numbers as it needs, small neighbours get one together
 *
 * Where a bucket gets too many keys all the same, the histogram behind sees it, and the stable passes, or a split digit by digit, do the
 * work. Cost: up to 16 MiB of keys read, one launch. */
#ifndef UPSWEEP_CUDA_SORT_CELLS_CUH
#define UPSWEEP_CUDA_SORT_CELLS_CUH

#include "sort_split.cuh"

#define CELL_OCTAVES_ABOVE 2 /* those of the sample; so is the largest of a billion normal or exponential variates */

struct divided_cell {
    uint32_t number, nnumbers, start;
};

/* Shared memory of a plan. */
struct cell_desk {
    uint32_t groups[CELLS], sums[32], ndivided;
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

/* Where the cells begin, the same in every CTA. */
template <typename KEY> static __device__ __forceinline__ int32_t lowest_cell(const struct split_job &job, uint32_t *s_largest) {
    const KEY key = ((const KEY *)job.in)[(uint64_t)threadIdx.x * job.n / CELL_THREADS];
    uint32_t largest = magnitude_of(key_order<KEY>(job).image(key));
    for (uint32_t distance = 16; distance > 0; distance /= 2) largest = max(largest, __shfl_xor_sync(~0u, largest, distance));
    if (threadIdx.x % 32 == 0) atomicMax(s_largest, largest);
    __syncthreads(); /* the largest of all */
    return max((int32_t)(*s_largest >> CELL_BITS) + 1 + CELL_OCTAVES_ABOVE - CELL_OCTAVES, 0) * (1 << CELL_BITS);
}

/* Counts this CTA's part of the keys, or of as many of them as are asked: rows of a key a thread, evenly spread over all of them. */
template <typename KEY>
static __device__ __forceinline__ void count_cells(const struct split_job &job, const struct float_cells<KEY> &cells, uint32_t *s_counts) {
    const struct key_order<KEY> order(job);
    const uint32_t nasked = min(job.n, CELL_SAMPLE), nrows = (nasked + CELL_THREADS - 1) / CELL_THREADS;
    constexpr uint32_t LOADS = 4;
    for (uint32_t first = blockIdx.x; first < nrows; first += LOADS * gridDim.x) {
        KEY keys[LOADS];
        bool valid[LOADS];
#pragma unroll
        for (uint32_t k = 0; k < LOADS; k++) {
            const uint64_t row = first + k * gridDim.x, start = nasked == job.n ? row * CELL_THREADS : row * job.n / nrows;
            valid[k] = row < nrows && start + threadIdx.x < job.n;
            keys[k] = valid[k] ? ((const KEY *)job.in)[start + threadIdx.x] : (KEY)0;
        }
#pragma unroll
        for (uint32_t k = 0; k < LOADS; k++) {
            if (valid[k]) atomicAdd(&s_counts[cells.cell_of(order.image(keys[k]))], 1);
        }
    }
}

/* The keys that a cell must be expected to have: as many as were counted, or six standard deviations more than the part of them that was.
 */
static __device__ __forceinline__ uint32_t expected_keys(uint32_t count, const struct split_job &job) {
    if (job.n <= CELL_SAMPLE) return count;
    const float scale = (float)job.n / (float)CELL_SAMPLE;
    return (uint32_t)(((float)count + 6.0f * sqrtf((float)count) + 4.0f) * scale);
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
static __device__ __forceinline__ void write_bounds(struct cell_plan *plan, const struct float_cells<KEY> &cells,
                                                    const struct cell_numbers &numbers, struct cell_desk &s) {
    constexpr uint32_t WIDTH_BITS = float_cells<KEY>::SHIFT - (sizeof(KEY) * 8 - 32); /* of a cell */
    if (numbers.count > 0) plan->bound[numbers.first] = cells.start_of(threadIdx.x);
    if (numbers.count > 1) s.divided[atomicAdd(&s.ndivided, 1)] = {numbers.first, numbers.count, cells.start_of(threadIdx.x)};
    if (threadIdx.x == CELLS - 1) plan->bound[numbers.first + 1] = ~0u; /* it reaches far, and so has one */
    __syncthreads();                                                    /* all cells with more than one number */
    for (uint32_t i = threadIdx.x / 32; i < s.ndivided; i += CELL_THREADS / 32) {
        const struct divided_cell cell = s.divided[i];
        for (uint32_t k = 1 + threadIdx.x % 32; k < cell.nnumbers; k += 32) {
            const double below = (double)((uint64_t)k << WIDTH_BITS) / (double)cell.nnumbers; /* whole numbers below 2^32: floor is exact */
            plan->bound[cell.number + k] = cell.start + (uint32_t)below;
        }
    }
}

/* Thread t plans cell t. Gives up if there are not numbers enough. */
template <typename KEY>
static __device__ void plan_cells(const struct split_job &job, const struct float_cells<KEY> &cells, struct cell_desk &s) {
    struct cell_plan *plan = &job.header->cells;
    const uint32_t expected =
        expected_keys(__ldcg(&job.header->cell_counts.count[threadIdx.x]), job); /* from L2, where the atomics took place */
    const uint32_t start = scan_threads(expected, s.sums);
    __syncthreads(); /* nobody needs the sums any more */
    const struct cell_numbers numbers = number_cell(expected, start, job.cell_keys, s);
    plan->entry[threadIdx.x] = numbers.entry();
    if (__syncthreads_or(numbers.first >= job.nnumbers)) {
        if (threadIdx.x == 0) job.header->too_big = NOT_SPLIT;
        return;
    }
    write_bounds(plan, cells, numbers, s);
}

static_assert(CELL_THREADS == CELLS, "a thread a cell");

template <typename KEY> __global__ void __launch_bounds__(CELL_THREADS, 1) split_cells(const __grid_constant__ struct split_job job) {
    __shared__ struct cell_desk s;
    __shared__ uint32_t s_counts[CELLS], s_largest;
    __shared__ bool s_last;
    wait_for_predecessor();
    s_counts[threadIdx.x] = 0;
    if (threadIdx.x == 0) s_largest = s.ndivided = 0;
    __syncthreads(); /* zeroes before counts */
    const int32_t lowest = lowest_cell<KEY>(job, &s_largest);
    const struct float_cells<KEY> cells(lowest);
    count_cells(job, cells, s_counts);
    __syncthreads(); /* all counts */
    struct cell_counts *all = &job.header->cell_counts;
    const uint32_t count = s_counts[threadIdx.x];
    if (count) atomicAdd(&all->count[threadIdx.x], count);
    __threadfence(); /* this thread's count before the CTA is counted as done */
    __syncthreads();
    if (threadIdx.x == 0) s_last = atomicAdd(&all->ctas_done, 1) == gridDim.x - 1;
    __syncthreads(); /* s_last */
    if (!s_last) return;
    __threadfence(); /* having seen the others done, see their counts */
    if (threadIdx.x == 0) job.header->cells.lowest = lowest;
    plan_cells(job, cells, s);
}

#endif
