/* sort_value_slots.cuh: sort_slots.cuh for floats whose values are spread evenly: a key's number is x * scale + shift, rounded down.
 *
 *     sample     the same keys in all CTAs: the range, and whether as many pairs share a 64th of it as chance has it; in one CTA, whether
 *                they share finer parts, and why; a CTA looks on at more, by their numbers, while keys are moved, as with integers
 *     numbers    0 ... around the range of the sample and a little more; a key that is beyond gives the attempt up
 *     scale      a power of two, if there are numbers enough: then no bucket but those next to zero reaches over the end of an octave,
 *                and its keys fill all bins of it (sort_bucket.cuh); those next to zero have bins by value (sort_by_value.cuh)
 *
 * Keys are moved as they are; a bucket makes them images, of which nearly all have keys of one sign. If the attempt is given up, the cells
 * (sort_cells.cuh) are next, or what the sample has said is better (enum value_state): a larger sample, or the passes. Cost: as
 * sort_value_tiles.cuh, and one launch for the sample.  Source: as sort_by_value.cuh, and sort_slots.cuh. */
#ifndef UPSWEEP_CUDA_SORT_VALUE_SLOTS_CUH
#define UPSWEEP_CUDA_SORT_VALUE_SLOTS_CUH

#include "sort_bucket_slow.cuh"
#include "sort_by_value.cuh"
#include "sort_value_tiles.cuh"

#define VALUE_SLOTS_LOAD       32         /* neighbouring bytes of keys that each thread samples */
#define VALUE_SLOTS_PARTS      64         /* of the range, in which they are counted; */
#define VALUE_SLOTS_ABOUT_EVEN 32         /* standard deviations more than chance: neighbours in ranges by turns are in the same part */
#define VALUE_SLOTS_FINE       5056       /* parts in which a CTA counts them, too; no power of two, as ranges may be so many; */
#define VALUE_SLOTS_FINEST     (1u << 20) /* and parts that share as many counters */
#define VALUE_SLOTS_FREQUENT   16         /* keys that make a value frequent: hardly ever do as many share a counter by chance */
#define VALUE_SLOTS_BEYOND     512        /* a part of the range on either side where there may be keys, too */

/* ---- the sample -------------------------------------------------------------------------------------------------------------- */

/* What it tells. Values: in descending order, those of the opposite sign. */
struct value_sample {
    double low, high, per_range; /* 1 / (high - low) */
    uint32_t nkeys, npairs;      /* in the same part */

    /* May chance have put as many pairs in the same one of so many parts, `deviations` aside? Neighbours are none. */
    __device__ __forceinline__ bool is_even(uint32_t nparts, uint32_t nneighbours, float deviations) const {
        const float pairs = chance(nparts, nneighbours);
        return (float)npairs <= pairs + deviations * sqrtf(pairs);
    }
    __device__ __forceinline__ float chance(uint32_t nparts, uint32_t nneighbours) const {
        return (float)nkeys * (float)(nkeys - nneighbours) / (float)(2 * nparts);
    }
    __device__ __forceinline__ uint32_t part_of(double value, uint32_t nparts) const {
        return min((uint32_t)((value - low) * (nparts * per_range)), nparts - 1);
    }
};

/* Shared memory. */
struct value_slots_desk {
    double low[32], high[32];
    uint32_t counts[VALUE_SLOTS_FINE], npairs, most;
    struct value_slots plan;
    bool even;
};

/* Counts keys in parts, N neighbouring ones of each thread, and adds up the pairs in the same one; neighbours are no pairs, as sorted keys
 * are welcome. All threads call it, when counts and pairs are zero; a barrier must follow. */
template <uint32_t N> static __device__ __forceinline__ void count_pairs(const uint32_t (&part)[N], struct value_slots_desk &s) {
    uint32_t npairs = 0;
#pragma unroll
    for (uint32_t i = 0; i < N; i++) {
        npairs += atomicAdd(&s.counts[part[i]], 1);
#pragma unroll
        for (uint32_t j = 0; j < i; j++) npairs -= part[i] == part[j];
    }
    npairs = sum_warp(npairs);
    if (threadIdx.x % 32 == 0) atomicAdd(&s.npairs, npairs);
}

/* The least and the greatest of a warp. */
template <typename T> static __device__ __forceinline__ void reach_of_warp(T &low, T &high) {
    for (uint32_t distance = 16; distance > 0; distance /= 2) {
        low = fmin(low, __shfl_xor_sync(~0u, low, distance));
        high = fmax(high, __shfl_xor_sync(~0u, high, distance));
    }
}

/* By all threads: keys from anywhere in as many stretches of the input as there are threads, the first and the last among them; at random,
 * as keys may lie in ranges by turns. False if some are not finite, or all equal, or too close together or too far apart; else all know the
 * sample, and their own keys' values. */
template <typename KEY, uint32_t N>
static __device__ __forceinline__ bool sample_values(struct value_sample *sample, double (&x)[N], const struct split_job &job,
                                                     struct value_slots_desk &s) {
    typedef typename summed<KEY>::value value;
    const uint32_t skipped = (16 - (uint32_t)(uintptr_t)job.in % 16) % 16 / (uint32_t)sizeof(KEY);
    const uint32_t nvectors = (job.n - skipped) / (16 / (uint32_t)sizeof(KEY)), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t stretch = (nvectors - 1) / VALUE_SAMPLE, random = draw_below(stretch, threadIdx.x, job.seed);
    const uint32_t at = threadIdx.x + 1 < VALUE_SAMPLE ? threadIdx.x * stretch + (threadIdx.x > 0 ? random : 0) : nvectors - 2;
    const uint4 *vectors = (const uint4 *)((const KEY *)job.in + skipped) + at;
    union {
        uint4 vector[2];
        KEY key[N];
    } got;
    got.vector[0] = vectors[0];
    got.vector[1] = vectors[1];
    if (threadIdx.x < VALUE_SLOTS_PARTS) s.counts[threadIdx.x] = 0;
    if (threadIdx.x == 0) s.npairs = 0;
    const bool descending = !((KEY)job.flip >> (sizeof(KEY) * 8 - 1));
    value low = INFINITY, high = -INFINITY;
    bool finite = true;
#pragma unroll
    for (uint32_t i = 0; i < N; i++) {
        const value mine = summed<KEY>::key_value(got.key[i]) * (descending ? -1 : 1);
        low = fmin(low, mine);
        high = fmax(high, mine);
        finite = finite && isfinite(mine);
        x[i] = (double)mine;
    }
    reach_of_warp(low, high);
    if (lane == 0) {
        s.low[warp] = (double)low;
        s.high[warp] = (double)high;
    }
    if (!__syncthreads_and(finite)) return false; /* else: zeroes before counts, and the reach of all warps */
    low = (value)s.low[lane];
    high = (value)s.high[lane];
    reach_of_warp(low, high);
    *sample = {(double)low, (double)high, 1 / ((double)high - (double)low), VALUE_SAMPLE * N, 0};
    uint32_t part[N];
#pragma unroll
    for (uint32_t i = 0; i < N; i++) part[i] = sample->part_of(x[i], VALUE_SLOTS_PARTS);
    count_pairs(part, s);
    __syncthreads(); /* all pairs */
    sample->npairs = s.npairs;
    /* Else all are equal, or too close, or too far apart. */
    return sample->per_range > 0 && isfinite(VALUE_SLOTS_FINEST * sample->per_range);
}

/* How many pairs of keys share a counter? By a CTA; the counts remain. */
template <uint32_t N, typename COUNTER>
static __device__ __forceinline__ uint32_t pairs_by(const COUNTER &counter_of, const double (&x)[N], struct value_slots_desk &s) {
    uint32_t part[N];
#pragma unroll
    for (uint32_t i = 0; i < N; i++) part[i] = counter_of(x[i]);
    __syncthreads(); /* nobody needs the counters any more */
    for (uint32_t i = threadIdx.x; i < VALUE_SLOTS_FINE; i += VALUE_SAMPLE) s.counts[i] = 0;
    if (threadIdx.x == 0) s.npairs = s.most = 0;
    __syncthreads(); /* zeroes before counts */
    count_pairs(part, s);
    __syncthreads(); /* all pairs */
    return s.npairs;
}

/* Numbers draw counters. */
static __device__ __forceinline__ uint32_t counter_of(uint32_t number) { return __umulhi(mixed(number), VALUE_SLOTS_FINE); }

/* If so many keys of a sample of nkeys have one value, are passes alone for it? */
static __device__ __forceinline__ bool is_too_frequent(const struct split_job &job, uint32_t nkeys, uint32_t nequal) {
    return !job.slots.sample_items && (float)job.n * ((float)nequal / (float)nkeys) > (float)max(job.large_max, job.bucket_max);
}

/* Is a sample even in fine parts, too? Else some value is frequent, or keys have few values; or they lie in narrow ranges, if many are in
 * one of still finer parts, but few of them equal: these parts, and values, share counters at random. Neighbours are sampled together: so
 * values of sorted keys look more frequent than they are, and if they repeat at all, passes are as quick for them. By a CTA. */
template <uint32_t N>
static __device__ __forceinline__ enum value_state look_closely(const struct split_job &job, const struct value_sample &sample,
                                                                const double (&x)[N], struct value_slots_desk &s) {
    const auto fine = [&](double value) { return sample.part_of(value, VALUE_SLOTS_FINE); };
    const auto finest = [&](double value) { return counter_of(sample.part_of(value, VALUE_SLOTS_FINEST)); };
    const auto itself = [](double value) { return counter_of((uint32_t)__double2loint(value) * 31 + (uint32_t)__double2hiint(value)); };
    if (value_sample{0, 0, 0, sample.nkeys, pairs_by(fine, x, s)}.is_even(VALUE_SLOTS_FINE, N, 5)) return VALUES_OPEN;
    const float equal = (float)pairs_by(itself, x, s);
    for (uint32_t i = threadIdx.x; i < VALUE_SLOTS_FINE; i += VALUE_SAMPLE)
        if (s.counts[i] >= VALUE_SLOTS_FREQUENT) atomicMax(&s.most, s.counts[i]);
    __syncthreads(); /* the most */
    if (s.most > 0) return is_too_frequent(job, sample.nkeys, s.most) ? VALUES_FREQUENT : VALUES_FULL;
    const float chance = sample.chance(VALUE_SLOTS_FINE, N);
    if (!sample.is_even(VALUE_SLOTS_PARTS, N, VALUE_SLOTS_ABOUT_EVEN))
        return equal > chance + 6 * sqrtf(chance) ? VALUES_FULL : VALUES_NO_PLAN;
    const float near = (float)pairs_by(finest, x, s);
    return near - equal > 8 * sqrtf(chance) && 2 * (near - equal) > near - chance ? VALUES_IN_RANGES : VALUES_FULL;
}

/* ---- the plan ---------------------------------------------------------------------------------------------------------------- */

/* The greatest power of two that is no greater; 0 if that is none with all its bits. */
static __device__ __forceinline__ double power_below(double x) { return __hiloint2double(__double2hiint(x) & 0x7ff00000, 0); }

/* By one thread, for which all others wait: so divisions and roots are few. All but the state. False if keys are not even, or there is no
 * room. */
template <typename KEY>
static __device__ bool plan_value_slots(struct value_slots *plan, const struct split_job &job, const struct value_sample &sample) {
    typedef typename summed<KEY>::value value;
    constexpr uint32_t TILE_ITEMS = value_slots_shape<KEY, SLOTS_FINE>::ITEMS, N = VALUE_SLOTS_LOAD / sizeof(KEY);
    if (!sample.is_even(VALUE_SLOTS_PARTS, N, 4)) return false;

    const double n = job.n, seen = sample.high - sample.low, range = seen * (1 + 2.0 / (VALUE_SAMPLE * N));
    const double beyond = seen / VALUE_SLOTS_BEYOND, most = range * job.value_keys / n, per_even = 1 / power_below(most); /* widths */
    const double per_width = (range + 2 * beyond) * per_even + 3 <= job.nnumbers ? per_even : 1 / most;
    if ((range + 2 * beyond) * per_width + 3 > job.nnumbers) return false;
    const value scale = (value)per_width;
    const value shift = summed<KEY>::above(summed<KEY>::ONE - floor((sample.low - beyond) * (double)scale));
    const double before = (double)shift - summed<KEY>::ONE;
    const double nnumbers = floor((sample.high + beyond) * (double)scale + before) + 1;
    if (!(scale > 0 && isfinite(scale) && nnumbers > 0 && nnumbers <= job.nnumbers)) return false;

    const double share = 1 / (range * (double)scale), mean = n * share;
    plan->nnumbers = (uint32_t)nnumbers;
    plan->ncoarse = plan->coarse_tiles = plan->coarse_items = plan->aside_items = 0;
    if (job.slots.coarse_bits) {
        const double coarse = mean * (1u << job.slots.fine_bits);
        plan->ncoarse = ((plan->nnumbers - 1) >> job.slots.fine_bits) + 1;
        plan->coarse_items = (uint32_t)(coarse * 255 / 256) / 32 * 32; /* so that the last one begins within the output */
        plan->aside_items = (uint32_t)(coarse / 128 + 8 * sqrt(coarse) + 128) / 32 * 32;
        plan->coarse_tiles = (plan->coarse_items + plan->aside_items + TILE_ITEMS - 1) / TILE_ITEMS;
        if (plan->ncoarse * plan->coarse_tiles > job.slots.coarse_tiles) return false;
        if ((plan->ncoarse - 1) * (double)plan->coarse_items >= n) return false;
    }
    const uint32_t aside = plan->ncoarse * plan->aside_items;
    if (aside > job.slots.float_items) return false;
    plan->items = (min((job.slots.float_items - aside) / plan->nnumbers, job.bucket_max) / 32 - 1 | 1) * 32; /* odd: not all in one bank */
    plan->aside = plan->nnumbers * plan->items;
    plan->share = (float)share;
    plan->scale = (KEY)job.flip >> (sizeof(KEY) * 8 - 1) ? (double)scale : -(double)scale;
    plan->shift = (double)shift;
    const double spare = plan->items - mean - 8;
    return spare >= 0 && spare * spare >= 49 * mean; /* seven standard deviations */
}

/* The least image with this number or a higher one. */
template <typename KEY> static __device__ __forceinline__ KEY least_image(const struct value_slots &plan, uint32_t number) {
    typedef typename summed<KEY>::value value;
    const value scale = (value)fabs(plan.scale), shift = (value)plan.shift, from = (value)(summed<KEY>::ONE + number);
    const KEY image = image_of((value)(((double)number - (plan.shift - summed<KEY>::ONE)) / fabs(plan.scale)));
    KEY least = image + 1; /* of it and its neighbours, since it has been rounded */
#pragma unroll
    for (KEY i = 0; i < 2; i++)
        if (summed<KEY>::multiply_add(value_of((KEY)(image - i)), scale, shift) >= from) least = image - i;
    return least;
}

/* Every CTA but the first: its part of the bounds, and the sizes of slots. */
template <typename KEY>
static __device__ __forceinline__ void write_value_slots(const struct split_job &job, const struct value_slots &plan) {
    const uint32_t first = (blockIdx.x - 1) * VALUE_SAMPLE + threadIdx.x, step = (gridDim.x - 1) * VALUE_SAMPLE;
    for (uint32_t i = first; i <= plan.nnumbers; i += step) {
        const KEY least = least_image<KEY>(plan, i);
        job.bound[i] = (uint32_t)(least >> (sizeof(KEY) * 8 - 32));
        if (sizeof(KEY) == 8) job.start[i] = (uint32_t)least;
    }
    for (uint32_t i = first; i < value_numbers<KEY>(job.slots); i += step) job.slots.size[i] = i < plan.nnumbers ? 0 : VALUE_SLOTS_NOWHERE;
    for (uint32_t i = plan.ncoarse + first; i < SORT_DIGITS; i += step) job.header->coarse_size[i] = VALUE_SLOTS_NOWHERE;
}

/* Writes the plan, but for the state. All threads call it. */
static __device__ __forceinline__ void write_value_plan(const struct split_job &job, const struct value_slots &plan) {
    static_assert(offsetof(struct value_slots, state) == 0, "the first word");
    for (uint32_t i = 1 + threadIdx.x; i < sizeof plan / sizeof(uint32_t); i += VALUE_SAMPLE)
        ((uint32_t *)&job.header->by_value)[i] = ((const uint32_t *)&plan)[i];
}

/* ---- the kernels -------------------------------------------------------------------------------------------------------------- */

/* By as many CTAs as there are multiprocessors, two or more, of VALUE_SAMPLE threads. The first looks closely while the others make the
 * plan, those that have a part of it to write. Memory is idle meanwhile: so all ask for the first tiles. */
template <typename KEY> __global__ void __launch_bounds__(VALUE_SAMPLE, 1) split_values(const __grid_constant__ struct split_job job) {
    __shared__ struct value_slots_desk s;
    wait_for_predecessor();
    constexpr uint32_t N = VALUE_SLOTS_LOAD / sizeof(KEY), TILE_ITEMS = value_slots_shape<KEY, SLOTS_ONLY>::ITEMS;
    const uint32_t t = threadIdx.x;
    uint32_t *state = &job.header->by_value.state;
    struct value_sample sample;
    double x[N];
    if (!sample_values<KEY>(&sample, x, job, s)) return; /* as all CTAs do */
    prefetch_slots_tile<KEY>(job, blockIdx.x * TILE_ITEMS, TILE_ITEMS);
    if (blockIdx.x == 0) {
        const enum value_state closely = look_closely(job, sample, x, s);
        if (t == 0) atomicMax(state, (uint32_t)closely);
        return;
    }
    if ((blockIdx.x - 1) * VALUE_SAMPLE >= max(value_numbers<KEY>(job.slots), (uint32_t)SORT_DIGITS) + 1) return;
    if (t == 0) s.even = plan_value_slots<KEY>(&s.plan, job, sample);
    __syncthreads(); /* the plan */
    if (s.even) write_value_slots<KEY>(job, s.plan);
    if (blockIdx.x > 1) return;
    if (s.even) write_value_plan(job, s.plan);
    if (!s.even && t == 0) atomicMax(state, (uint32_t)VALUES_NO_PLAN);
}

/* The least image in a bucket. */
template <typename KEY> static __device__ __forceinline__ KEY bound_of(const struct split_job &job, uint32_t number) {
    const uint32_t top = job.bound[number];
    if constexpr (sizeof(KEY) == 8)
        return (KEY)top << 32 | job.start[number];
    else
        return top;
}

/* nsorted: as in bucket_list::find(). */
template <typename KEY>
static __device__ __forceinline__ struct found_bucket<KEY> find_value_bucket(const struct split_job &job, uint32_t number,
                                                                             uint32_t nsorted) {
    const KEY least = bound_of<KEY>(job, number), most = bound_of<KEY>(job, number + 1) - 1;
    const uint32_t bits = (uint32_t)(sizeof(KEY) == 8 ? __clzll((long long)(most - least)) : __clz((int)(most - least)));
    const bool signs = (least ^ most) >> (sizeof(KEY) * 8 - 1); /* of both, and so far */
    struct found_bucket<KEY> found = {
        (const KEY *)job.slots.area, number *job.header->by_value.items, job.slots.size[number], number
    };
    found.in_slot = found.bounded = found.keys = true;
    found.bits = signs ? 0 : min(bits, (uint32_t)sizeof(KEY) * 8 - 1);
    found.least = least;
    if (number + nsorted < job.header->by_value.nnumbers) found.ahead = nsorted * job.header->by_value.items;
    return found;
}

/* Does a bucket reach over more than two octaves, as those next to zero do? Then bins by bits would be deep. */
template <typename KEY>
static __device__ __forceinline__ bool is_far(const struct found_bucket<KEY> &found) {
    return found.bits < (sizeof(KEY) == 8 ? 11 : 8);
}

/* Sorts such a bucket: by value, as keys are spread evenly in it, too. False: its bins are not for this. It is called, or it would have its
 * registers from the other buckets. */
template <typename KEY, typename SHAPE>
static __device__ __noinline__ bool sort_far_bucket(const struct split_job &job, uint32_t number, unsigned char *s_memory,
                                                    struct bucket_desk<KEY> &s) {
    const struct found_bucket<KEY> found = find_value_bucket<KEY>(job, number, 0);
    typedef typename whole_bits<KEY>::value value;
    const auto get_bins = [&] {
        return value_bins<KEY>(value_of(found.least), (value)(1 / fabs(job.header->by_value.scale)), SHAPE::BINS);
    };
    return sort_bucket_by_value<KEY, SHAPE, true>(job, found, get_bins, s_memory, s);
}

/* The buckets. What they leave is for the kernel that all buckets leave it for (sort_buckets.cuh). */
template <typename KEY, typename SHAPE>
__global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::CTAS_PER_SM) sort_value_buckets(const __grid_constant__ struct split_job job) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct bucket_desk<KEY> s_desk;
    wait_for_predecessor();
    if (job.header->by_value.state != VALUES_OPEN) return;
    const uint32_t nnumbers = job.header->by_value.nnumbers;
    for (uint32_t number = blockIdx.x; number < nnumbers; number += gridDim.x) {
        const struct found_bucket<KEY> found = find_value_bucket<KEY>(job, number, job.nsms * SHAPE::CTAS_PER_SM);
        const bool sorted = found.n == 0 || (is_far(found) ? sort_far_bucket<KEY, SHAPE>(job, number, s_memory, s_desk)
                                                           : sort_bucket<KEY, KEY, SHAPE, true>(job, found, s_memory, s_desk));
        if (!sorted && threadIdx.x == 0) job.cursor[atomicAdd(&job.header->nleft, 1)] = number;
        __syncthreads(); /* nobody needs the shared memory any more */
    }
}

#endif
