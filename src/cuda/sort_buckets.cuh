/* sort_buckets.cuh: the buckets of a split, each by a CTA (sort_bucket.cuh), wherever they lie: one for each number, in slots or not; by a
 * sample. What has deep bins of many distinct items, or does not fit shared memory, is left to a second kernel, which also writes what need
 * not be sorted.
 *
 * Cost: as sort_bucket.cuh. */
#ifndef UPSWEEP_CUDA_SORT_BUCKETS_CUH
#define UPSWEEP_CUDA_SORT_BUCKETS_CUH

#include "sort_bucket_large.cuh"
#include "sort_bucket_words.cuh"
#include "sort_value_slots.cuh"

#define MERGED_BITS 24 /* of a bucket by a sample: by more of them stable passes are slower than merging */

/* May buckets be by a sample (sort_sample_slots.cuh)? */
template <typename KEY, typename ITEM> static constexpr bool SAMPLES = sizeof(KEY) == sizeof(ITEM);
/* Are those with deep bins tried again without the bits that their keys share? Of 64 bits merging is quicker. */
template <typename KEY, typename ITEM> static constexpr bool CLOSES = SAMPLES<KEY, ITEM> && sizeof(KEY) == 4;

/* The buckets, one for each number. Numbers of those that are left for the slow way are where the cursors were. */
struct bucket_list {
    bool slots, sampled;

    __device__ __forceinline__ explicit bucket_list(const struct split_job &job)
        : slots(job.header->outcome == IN_SLOTS), sampled(slots && job.slots.sample_items && job.header->sample_state == SAMPLE_OPEN) {}

    template <typename KEY, typename ITEM> __device__ __forceinline__ uint32_t n(const struct split_job &job) const {
        if (SAMPLES<KEY, ITEM> && sampled) return job.header->sample_slots.nslots;
        if (SAMPLES<KEY, ITEM> && slots && job.cell_keys) return job.header->cells.nnumbers; /* others have no place */
        return slots ? 1u << job.slots.number_bits() : job.nnumbers >> job.header->put_together;
    }
    /* By a sample: one that is only counted has nothing to sort. */
    template <typename ITEM>
    static __device__ __forceinline__ struct found_bucket<ITEM> find_sampled(const struct split_job &job, uint32_t number) {
        const struct sample_slots &plan = job.header->sample_slots;
        const uint32_t slot = plan.slot[number] & ~1u, n = plan.slot[number] & 1 ? 0 : plan.size[number];
        const ITEM least = (ITEM)plan.low[number], most = number + 1 < plan.nslots ? (ITEM)plan.low[number + 1] - 1 : (ITEM) ~(ITEM)0;
        const uint32_t zeros = (uint32_t)__clzll((long long)(most - least)) - (64 - (uint32_t)sizeof(ITEM) * 8);
        return {(const ITEM *)job.slots.area,
                number & 1 ? slot - n : slot,
                n,
                job.start[number],
                false,
                min(zeros, (uint32_t)sizeof(ITEM) * 8 - 1),
                true,
                least};
    }
    /* nsorted: buckets that are sorted at the same time; 0: nothing is asked for ahead. */
    template <typename KEY, typename ITEM>
    __device__ __forceinline__ struct found_bucket<ITEM> find(const struct split_job &job, uint32_t number, uint32_t nsorted) const {
        if (SAMPLES<KEY, ITEM> && sampled) return find_sampled<ITEM>(job, number);
        const uint32_t two = job.header->put_together;
        const uint32_t bits = slots ? job.slots.number_bits() : job.coarse_bits + job.fine_bits - two;
        if (slots) {
            const uint32_t slot = job.cell_keys ? job.cell_slot[number] : number * job.slots.items, from = slot & ~31u;
            struct found_bucket<ITEM> found = {
                (const ITEM *)job.slots.area, from, job.slots.size[number], number, true, bits, false, 0
            };
            if (job.cell_keys && found.n > 0) bound_items(&found, job.bound + number, slot & 1);
            if (!job.cell_keys && number + nsorted < 1u << bits) found.ahead = nsorted * job.slots.items;
            return found;
        }
        const uint32_t start = job.start[number << two], n = job.start[(number + 1) << two] - start;
        const ITEM *src = (const ITEM *)(job.coarse_bits ? job.second : job.tmp);
        struct found_bucket<ITEM> found = {
            src, start, n, start, false, bits, false, 0
        };
        if (job.cell_keys && n > 0) bound_items(&found, job.bound + number, 0); /* those of empty buckets are not known */
        return found;
    }
};

template <typename KEY, typename ITEM, typename SHAPE>
__global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::CTAS_PER_SM) split_buckets(const __grid_constant__ struct split_job job) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct bucket_desk<ITEM> s_desk;
    wait_for_predecessor();
    const struct bucket_list list(job);
    if (is_by_value(job) || (!list.slots && job.header->outcome != ALL_FIT)) return;
    const uint32_t nbuckets = list.n<KEY, ITEM>(job);
    for (uint32_t number = blockIdx.x; number < nbuckets; number += gridDim.x) {
        const struct found_bucket<ITEM> found = list.find<KEY, ITEM>(job, number, job.nsms * SHAPE::CTAS_PER_SM);
        bool sorted = found.n == 0;
        if constexpr (sizeof(ITEM) > sizeof(KEY))
            sorted = sorted || (list.slots && job.value_nbytes == 4 && job.value_unit == 4 &&
                                sort_bucket_by_words<SHAPE>(job, found, s_memory, s_desk));
        const bool fits = !SAMPLES<KEY, ITEM> || found.n <= SHAPE::ITEMS;
        sorted = sorted || (fits && sort_bucket<KEY, ITEM, SHAPE>(job, found, s_memory, s_desk));
        if (!sorted && threadIdx.x == 0) job.cursor[atomicAdd(&job.header->nleft, 1)] = number;
        if (number + gridDim.x >= nbuckets) return;
        __syncthreads(); /* nobody needs the shared memory any more */
    }
}

/* Shared memory: keys that are written without having been moved, and where. */
template <typename KEY, int THREADS> struct counted_keys {
    KEY key[THREADS];
    uint32_t start[THREADS], end[THREADS];
};

/* Writes the keys that a sample has told to be frequent (sort_sample_slots.cuh), each by all CTAs. */
template <typename KEY, int THREADS>
static __device__ __forceinline__ void fill_counted(const struct split_job &job, unsigned char *s_memory) {
    struct counted_keys<KEY, THREADS> &s = *(struct counted_keys<KEY, THREADS> *)s_memory;
    const struct sample_slots &plan = job.header->sample_slots;
    const struct key_order<KEY> order(job);
    for (uint32_t first = 0; first < plan.ndone; first += THREADS) {
        const uint32_t n = min(plan.ndone - first, (uint32_t)THREADS);
        if (threadIdx.x < n) {
            const uint32_t number = plan.done[first + threadIdx.x];
            s.key[threadIdx.x] = order.key_of_image((KEY)plan.low[number]);
            s.start[threadIdx.x] = job.start[number];
            s.end[threadIdx.x] = job.start[number + 1];
        }
        __syncthreads(); /* they are there */
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t k = s.start[i] + blockIdx.x * THREADS + threadIdx.x; k < s.end[i]; k += gridDim.x * THREADS)
                ((KEY *)job.out)[k] = s.key[i];
        }
        __syncthreads(); /* nobody needs them any more */
    }
}

/* What they have left, by a kernel of its own: with this code in the one above, that had no registers for its own. by_value: the job of
 * slots by value (sort_value_slots.cuh), whose buckets are for them to leave, if it went well. */
template <typename KEY, typename ITEM, typename SHAPE>
__global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::STABLE_CTAS_PER_SM)
    split_buckets_left(const __grid_constant__ struct split_job job, const __grid_constant__ struct split_job by_value) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct bucket_desk<ITEM> s_desk;
    wait_for_predecessor();
    const uint32_t nleft = job.header->nleft;
    if constexpr (sizeof(KEY) == sizeof(ITEM)) {
        if (is_by_value(job)) {
            for (uint32_t i = blockIdx.x; i < nleft; i += gridDim.x) {
                sort_bucket_stably<KEY, ITEM, SHAPE>(by_value, find_value_bucket<KEY>(by_value, job.cursor[i], 0), s_memory, s_desk);
                __syncthreads(); /* nobody needs the shared memory any more */
            }
            return;
        }
    }
    const struct bucket_list list(job);
    if (SAMPLES<KEY, ITEM> && list.sampled) fill_counted<KEY, SHAPE::THREADS>(job, s_memory);
    for (uint32_t i = blockIdx.x; i < nleft; i += gridDim.x) {
        const struct found_bucket<ITEM> found = list.find<KEY, ITEM>(job, job.cursor[i], 0);
        if constexpr (SAMPLES<KEY, ITEM>) {
            if (found.n > SHAPE::ITEMS) {
                sort_large_bucket<KEY, SHAPE>(job, found, s_memory);
                __syncthreads(); /* nobody needs the shared memory any more */
                continue;
            }
        }
        if constexpr (CLOSES<KEY, ITEM>) {
            if (list.sampled && sort_closed_bucket<KEY, SHAPE>(job, found.src + found.from, found.n, found.start, s_memory, s_desk)) {
                __syncthreads(); /* nobody needs the shared memory any more */
                continue;
            }
        }
        if (SAMPLES<KEY, ITEM> && sizeof(KEY) == 8 && list.sampled && sizeof(ITEM) * 8 - found.bits > MERGED_BITS)
            merge_bucket<KEY, ITEM, SHAPE>(job, found);
        else
            sort_bucket_stably<KEY, ITEM, SHAPE>(job, found, s_memory, s_desk);
        __syncthreads(); /* nobody needs the shared memory any more */
    }
}

#endif
