/* sort_split.cuh: sorting keys alone, most significant bits first: into buckets that fit a CTA, then every bucket in one go.
 *
 * Keys with equal bits are the same key, so when nothing travels with them no order among them needs to be kept. That allows ranking by
 * plain shared-memory atomics, several times quicker than a stable ranking, and so another order of work:
 *
 *     1. histogram of the top 7 to 16 bits (this file)    every bucket's place in the output is known exactly (floats: sort_cells.cuh)
 *     2. one or two partitions (sort_partition.cuh)       keys go to their bucket, in no order within it
 *     3. buckets in shared memory (sort_bucket.cuh)       all remaining bits at once
 *
 * Of as many keys as fit the multiprocessors, steps 1 and 2 are one launch (sort_fused.cuh). Step 1 is left out of many uniform integers
 * (sort_slots.cuh), of floats (sort_value_slots.cuh, sort_cell_slots.cuh), and of other floats and skewed keys
 * (sort_sample_slots.cuh).
 *
 * A bucket too big for a CTA is seen in step 1, before anything has moved. A few of large inputs, of keys alone, are sorted by a CTA each
 * all the same (sort_bucket_large.cuh). Else all is left to the stable passes (sort_pass.cuh) that are queued behind, and the kernels of
 * steps 2 and 3 return at once; otherwise it is the passes that do. So are keys of few values, since these are only counted there
 * (sort_few.cuh). An argsort is left to them, too, if keys repeat, which shows in how uneven the buckets are: equal keys fill bins with
 * items that only their indices tell apart. Behind slots, keys alone are counted in twice as many buckets as they would need if they did
 * not repeat; if then two neighbours fit a CTA together, wherever they are, each two are one bucket.
 *
 * What is moved are *items*, made by the first partition and undone by step 3 (sort_item.cuh): keys as their images (sort_job.cuh); or, for
 * an argsort of 32-bit keys, 64 bits of which the upper half is the image and the lower the index. No two such items are equal, so sorting
 * them in any way is stable. Where steps 1 and 2 are one launch, pairs are sorted that way, too, whose values step 3 fetches by the
 * indices, and keys by some of their bits.
 * Cost: keys read 3 or 4 times and written 2 or 3 times, whatever their width. Stable passes: 5 and 4 times for 32 bits, 9 and 8 for 64.
 * Source: Stehle and Jacobsen, A memory bandwidth-efficient hybrid radix sort on GPUs, 2017, for splitting before sorting locally. */
#ifndef UPSWEEP_CUDA_SORT_SPLIT_CUH
#define UPSWEEP_CUDA_SORT_SPLIT_CUH

#include "sort_histogram.cuh"
#include "sort_split_job.cuh"

#define LARGE_DRAWN 16 /* keys that a thread draws, to see whether those of huge buckets repeat */

/* ---- counting ---------------------------------------------------------------------------------------------------------------- */

/* Two 16-bit counters a word, so that 2^16 of them fit. `stop` is not 0 when counting on would be in vain. */
template <typename KEY, typename DIGITS> struct bucket_counts {
    const struct split_job &job;
    const struct key_order<KEY> order;
    const DIGITS digits;
    uint32_t *const words;
    uint32_t *const stop;

    template <int N> __device__ __forceinline__ void add(KEY (&keys)[N]) const {
        uint32_t *mine = words + (threadIdx.x & (job.copies - 1));
        if (*(volatile uint32_t *)stop) return;
#pragma unroll
        for (int i = 0; i < N; i++) {
            const uint32_t bucket = digits.of(order.image(keys[i])), half = bucket % 2 * 16;
            const uint32_t old = atomicAdd(&mine[bucket / 2 * job.copies], 1u << half) >> half & 0xffff;
            if (old >= job.most_counted) *stop = job.header->counted_too_many = 1; /* one CTA alone has */
        }
    }
};

/* ---- the plan ---------------------------------------------------------------------------------------------------------------- */

/* Four neighbouring counters at once. */
static __device__ __forceinline__ uint32_t sum4(uint4 v) { return v.x + v.y + v.z + v.w; }
static __device__ __forceinline__ uint32_t max4(uint4 v) { return max(max(v.x, v.y), max(v.z, v.w)); }

/* Buckets that are too large for the shared memory of a CTA: the keys of all of them, and of the largest; and of those that are so large
 * that they must have frequent values (sort_bucket_large.cuh): how many, and all their keys. */
struct large_buckets {
    uint32_t nkeys, most, nhuge, nhuge_keys;
    uint32_t ndrawn, nrare; /* of a sample of these: how many keys, and how many of values that are not frequent */

    __device__ __forceinline__ void add(uint32_t n, uint32_t any) {
        atomicAdd(&nkeys, n);
        atomicMax(&most, n);
        if (n <= any) return;
        atomicAdd(&nhuge, 1);
        atomicAdd(&nhuge_keys, n);
    }
    __device__ __forceinline__ bool are_too_large(const struct split_job &job) const {
        return nkeys > 0 && (most > job.large_max || nkeys > job.n / LARGE_PART);
    }
};

/* What the sizes of the buckets tell of the keys. */
struct bucket_news {
    struct large_buckets large, large_twos; /* twos: of neighbours that may be put together */
    uint32_t nuneven;                       /* of nbuckets / 2 pairs of neighbours: how many differ by more than chance */
};

/* Are two neighbours two standard deviations apart? One pair in 22 is, if keys are drawn one by one, and nearly none if they are in steps.
 * If each value is drawn d times on average, the deviation is sqrt(d + 1) times as large: one pair in six is so at d = 1, one in four at
 * d = 2, two in three at d = 16. Neighbours, since a slope, or a range that keys leave empty, is no sign of repeats. */
static __device__ __forceinline__ uint32_t uneven2(uint32_t a, uint32_t b, uint32_t mean) {
    const uint64_t distance = a > b ? a - b : b - a;
    return distance * distance > 8 * (uint64_t)mean;
}

/* Turns the histogram into starts. Each warp owns a stretch of it and walks it twice: for its sum, then, knowing the sums of the warps
 * before, for the starts. nbuckets is a multiple of 128. news: zero before. */
static __device__ void scan_buckets(const struct split_job &job, uint32_t nbuckets, uint32_t *s_sums, struct bucket_news &news) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, nwarps = blockDim.x / 32;
    const uint32_t steps = (nbuckets / 128 + nwarps - 1) / nwarps; /* of 128 counters */
    const uint32_t begin = min(warp * steps * 128, nbuckets), end = min(begin + steps * 128, nbuckets);
    const uint32_t mean = job.n / nbuckets;
    uint32_t sum = 0, nuneven = 0;
    for (uint32_t i = begin + lane * 4; i < end; i += 128) {
        const uint4 counts = __ldcg((const uint4 *)&job.cursor[i]); /* from L2, where the other CTAs' atomics took place */
        sum += sum4(counts);
        const uint32_t sizes[] = {counts.x, counts.y, counts.z, counts.w};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (sizes[k] > job.bucket_max) news.large.add(sizes[k], job.large_any);
            if (k % 2 && sizes[k - 1] + sizes[k] > job.bucket_max) news.large_twos.add(sizes[k - 1] + sizes[k], job.large_any);
        }
        nuneven += uneven2(counts.x, counts.y, mean) + uneven2(counts.z, counts.w, mean);
    }
    if (nuneven) atomicAdd(&news.nuneven, nuneven);
    const uint32_t warp_sum = sum_warp(sum);
    uint32_t before = __shfl_sync(~0u, scan_threads(lane == 0 ? warp_sum : 0, s_sums), 0);
    for (uint32_t i = begin + lane * 4; i < end; i += 128) {
        const uint4 counts = __ldcg((const uint4 *)&job.cursor[i]);
        const uint32_t inclusive = sum_up_to_lane(sum4(counts));
        uint4 starts;
        starts.x = before + inclusive - sum4(counts);
        starts.y = starts.x + counts.x;
        starts.z = starts.y + counts.y;
        starts.w = starts.z + counts.z;
        *(uint4 *)&job.cursor[i] = starts;
        *(uint4 *)&job.start[i] = starts;
        before += __shfl_sync(~0u, inclusive, 31);
    }
    if (threadIdx.x == 0) job.start[nbuckets] = job.n;
}

/* Where each coarse bucket starts, and which tiles of the second partition are its own. */
static __device__ void plan_coarse(const struct split_job &job, uint32_t *s_sums) {
    const uint32_t ncoarse = 1u << job.coarse_bits, coarse = threadIdx.x;
    uint32_t start = 0, ntiles = 0;
    if (coarse < ncoarse) {
        start = job.start[coarse << job.fine_bits];
        ntiles = (job.start[(coarse + 1) << job.fine_bits] - start + job.tile_items - 1) / job.tile_items;
        job.header->coarse_cursor[coarse] = start;
    }
    const uint32_t before = scan_threads(ntiles, s_sums);
    if (coarse <= ncoarse) job.header->coarse_tile[coarse] = before;
}

/* Two neighbouring buckets are one. */
static __device__ __forceinline__ void put_together(const struct split_job &job, uint32_t nbuckets) {
    for (uint32_t i = threadIdx.x; i < nbuckets; i += blockDim.x) job.cursor[i] = job.start[2 * i];
    if (threadIdx.x == 0) job.header->put_together = 1;
}

/* Can CTAs sort the large buckets, each of which is 2^two neighbours? Huge ones only if most of their keys are of frequent values: of some
 * that are drawn, one in as many as frequent values there may be shares a counter with such a key. large is in shared memory; s_counts
 * [VALUE_SLOTS]. All threads of a CTA call it, when all starts are known. */
template <typename KEY, typename DIGITS>
static __device__ __forceinline__ bool can_sort_large(const struct split_job &job, struct large_buckets &large, uint32_t two,
                                                      const key_order<KEY> &order, const DIGITS &digits, uint32_t *s_counts) {
    if (large.are_too_large(job)) return false;
    if (large.nhuge == 0) return true;
    KEY images[LARGE_DRAWN];
    uint32_t least[LARGE_DRAWN]; /* keys that make a value frequent, among those drawn of a huge bucket; else 0 */
#pragma unroll
    for (uint32_t k = 0; k < LARGE_DRAWN; k++)
        images[k] = ((const KEY *)job.in)[draw_below(job.n, k * SPLIT_HISTOGRAM_THREADS + threadIdx.x, job.seed)];
    order.make_images(images);
    for (uint32_t i = threadIdx.x; i < VALUE_SLOTS; i += SPLIT_HISTOGRAM_THREADS) s_counts[i] = 0;
    __syncthreads(); /* zeroes before counts */
#pragma unroll
    for (uint32_t k = 0; k < LARGE_DRAWN; k++) {
        const uint32_t bucket = digits.of(images[k]) >> two;
        const uint32_t size = job.start[(bucket + 1) << two] - job.start[bucket << two];
        const float drawn = (float)size * (float)(LARGE_DRAWN * SPLIT_HISTOGRAM_THREADS) / (float)job.n;
        least[k] = size > job.large_any ? max(2u, (uint32_t)(drawn / FREQUENT_VALUES)) : 0;
        if (least[k]) atomicAdd(&s_counts[value_slot(images[k])], 1);
    }
    __syncthreads(); /* all counts */
#pragma unroll
    for (uint32_t k = 0; k < LARGE_DRAWN; k++) {
        if (least[k]) atomicAdd(&large.ndrawn, 1);
        if (s_counts[value_slot(images[k])] < least[k]) atomicAdd(&large.nrare, 1);
    }
    __syncthreads(); /* both sums */
    const float nrare = (float)large.nhuge_keys * (float)large.nrare / (float)max(large.ndrawn, 1u);
    return nrare < (float)large.nhuge * (float)job.bucket_max + (float)(2 * job.large_any);
}

/* Must some bucket be too big? How many pairs of sampled keys share a bucket? All CTAs agree. The counters are zero, and will be again. All
 * threads call it. */
template <typename KEY, typename DIGITS>
static __device__ __forceinline__ bool sample_is_skewed(const struct split_job &job, const struct bucket_counts<KEY, DIGITS> &counts,
                                                        uint32_t *s_npairs) {
    const uint32_t bucket = counts.digits.of(counts.order.image(sampled_key((const KEY *)job.in, job))), half = bucket % 2 * 16;
    uint32_t *word = &counts.words[bucket / 2 * job.copies];
    const uint32_t npairs = sum_warp(atomicAdd(word, 1u << half) >> half & 0xffff);
    if (threadIdx.x % 32 == 0) atomicAdd(s_npairs, npairs);
    __syncthreads(); /* all pairs */
    atomicSub(word, 1u << half);
    return *s_npairs >= job.sample_limit;
}

/* Slots of one partition have become too small: is one of them, or are a few, so far ahead of all others that a histogram is in vain? Then
 * its keys are close together; but it may also be that hardly any have been moved, and those in order. *s_sum: 0, and will be again, behind
 * a barrier. All threads of all CTAs call it, and agree. */
static __device__ __forceinline__ bool are_few_slots_ahead(const struct split_job &job, uint32_t *s_sum) {
    const struct slots_plan &slots = job.slots;
    const uint32_t nslots = 1u << slots.fine_bits;
    if (slots.coarse_bits || slots.vain_alone == 0 || slots.vain_alone >= job.n) return false;
    uint32_t sum = 0;
    for (uint32_t i = threadIdx.x; i < nslots; i += SPLIT_HISTOGRAM_THREADS) sum += slots.size[i];
    sum = sum_warp(sum);
    if (threadIdx.x % 32 == 0) atomicAdd(s_sum, sum);
    __syncthreads(); /* all moved keys */
    const uint32_t moved = *s_sum;
    const struct slots_so_far so_far(slots, job.n, moved);
    bool uneven = false, in_vain = false;
    for (uint32_t i = threadIdx.x; i < nslots; i += SPLIT_HISTOGRAM_THREADS) {
        uneven = uneven || so_far.is_uneven(slots.size[i]);
        in_vain = in_vain || so_far.is_in_vain(slots.size[i]);
    }
    const bool few = __syncthreads_count(uneven) <= SLOTS_FEW_AHEAD; /* also: the sum has been read */
    if (threadIdx.x == 0) *s_sum = 0;
    return __syncthreads_or(in_vain) && few && moved >= job.n / SLOTS_MOVED_PART;
}

#define NOT_ALONE (1u << 31) /* beside the count of a value: the next greater or smaller one occurs, too */

/* Are integers of 32 bits, which do not fit buckets by their top bits, for slots by a sample, behind the histogram? Not if fewer than four
 * digits are left of the bits that vary, as passes are quicker; nor if values repeat that stand alone: then buckets are as wide as if they
 * did not, and their bins deep. By a sample; s_counts [VALUE_SLOTS]: zero. All threads of all CTAs call it, and agree. */
template <typename KEY>
static __device__ __forceinline__ bool is_for_sample(const struct split_job &job, uint64_t (&s_seen)[32], uint32_t *s_counts) {
    if (closed_digits(varying_in_sample<KEY>(job, s_seen)) < sizeof(KEY)) return false;
    const KEY image = key_order<KEY>(job).image(sampled_key((const KEY *)job.in, job));
    const uint32_t nbefore = atomicAdd(&s_counts[value_slot(image)], 1);
    __syncthreads(); /* all counts */
    const bool alone = s_counts[value_slot((KEY)(image - 1))] == 0 && s_counts[value_slot((KEY)(image + 1))] == 0;
    __syncthreads();                                               /* all have looked */
    if (!alone) atomicOr(&s_counts[value_slot(image)], NOT_ALONE); /* of the counter, for keys of more values may have come in any order */
    __syncthreads();                                               /* all marks */
    return __syncthreads_count(nbefore + 1 == ALONE_KEYS && !(s_counts[value_slot(image)] & NOT_ALONE)) < ALONE_VALUES;
}

/* ---- the kernel -------------------------------------------------------------------------------------------------------------- */

/* passes: whose digits are counted at once if the sample leaves keys to them; without a header: not here. Dynamic shared memory: counters
 * for these, half a word a bucket and copy, and VALUE_SLOTS words at least. */
template <typename KEY, typename DIGITS>
__global__ void __launch_bounds__(SPLIT_HISTOGRAM_THREADS, 1)
    split_histogram(const __grid_constant__ struct split_job job, const __grid_constant__ struct sort_job passes) {
    extern __shared__ __align__(16) uint32_t s_words[];
    __shared__ uint32_t s_sums[32], s_stop, s_npairs;
    __shared__ uint64_t s_seen[32], s_often[2][32];
    __shared__ struct bucket_news s_news;
    __shared__ struct digit_table<DIGITS> s_table;
    wait_for_predecessor();
    if (is_by_value(job) || (job.slots.area && job.header->slots_full == SLOTS_OPEN)) {
        if (blockIdx.x == 0 && threadIdx.x == 0) job.header->outcome = IN_SLOTS;
        return;
    }
    const uint32_t number_bits = job.coarse_bits + job.fine_bits, nbuckets = 1u << number_bits;
    load_entries(s_table, job);
    for (uint32_t i = threadIdx.x; i < max(nbuckets / 2 * job.copies, (uint32_t)VALUE_SLOTS); i += blockDim.x) s_words[i] = 0;
    for (int partition = 0; partition < 2; partition++) {
        for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < job.state_words[partition]; i += gridDim.x * blockDim.x) {
            job.states[partition][i] = 0;
        }
    }
    if (threadIdx.x == 0) {
        s_stop = s_npairs = 0;
        s_news = {};
    }
    __syncthreads(); /* zeroes before counts */
    const struct bucket_counts<KEY, DIGITS> counts = {
        job, key_order<KEY>(job), cut_number<DIGITS, KEY>(job, 0, number_bits, s_table.entries), s_words, &s_stop
    };
    bool few = job.most_values && sample_has_few_values((const KEY *)job.in, job, s_words), two_digits = false;
    if (passes.header && passes.has_values) {
        const uint64_t varying = varying_in_sample<KEY>(job, s_seen);
        few = few && closed_digits(varying) > 1;   /* else passes by that digit are as quick, and need not know the values */
        two_digits = varying_digits(varying) <= 2; /* what goes with such keys is moved twice by passes, too, and then it is in order */
    }
    __syncthreads(); /* s_seen may be used again */
    const uint32_t slots_state = job.slots.area ? job.header->slots_full : SLOTS_OPEN;
    const bool in_vain =
        few || two_digits || slots_state == SLOTS_IN_VAIN || (slots_state == SLOTS_FULL && are_few_slots_ahead(job, &s_npairs));
    /* All CTAs agree: nothing that they decide by is written before the last one is done. */
    const bool skewed =
        in_vain || (DIGITS::BY_CELLS && job.header->outcome == NOT_SPLIT) || (job.sample_limit && sample_is_skewed(job, counts, &s_npairs));
    if (skewed && !few && job.slots.sample_items && is_for_sample<KEY>(job, s_seen, s_words)) {
        if (blockIdx.x == 0 && threadIdx.x == 0) job.header->outcome = NOT_SPLIT;
        return;
    }
    if (skewed && !few && passes.header) {
        struct often_bits often = {~UINT64_C(0), 0};
        if (job.seen && job.most_strays) often = often_in_sample<KEY>(job, s_often);
        const uint32_t how = count_and_plan<KEY>(passes, s_words, job.seen, job.least_saved, often);
        if (how && threadIdx.x == 0) job.header->outcome = how;
        return;
    }
    if (!skewed) read_keys((const KEY *)job.in, job.n, counts);
    __syncthreads(); /* all counts */
    for (uint32_t k = threadIdx.x; k < nbuckets / 2; k += blockDim.x) {
        const uint32_t i = (k + blockIdx.x * (nbuckets / 2 / gridDim.x)) & (nbuckets / 2 - 1); /* CTAs begin in different places */
        uint32_t low = 0, high = 0;
        for (uint32_t copy = 0; copy < job.copies; copy++) {
            const uint32_t word = s_words[i * job.copies + ((copy + threadIdx.x) & (job.copies - 1))]; /* each lane another bank */
            low += word & 0xffff;
            high += word >> 16;
        }
        if (low | high) atomicAdd((unsigned long long *)&job.cursor[2 * i], (uint64_t)high << 32 | low); /* both at once */
    }
    if (!is_done_last(&job.header->ctas_done)) return;
    enum split_outcome outcome = few ? PERHAPS_FEW : NOT_SPLIT;
    bool together = false;
    if (!skewed && !__ldcg(&job.header->counted_too_many)) {
        scan_buckets(job, nbuckets, s_sums, s_news);
        __syncthreads(); /* all starts, and all news; s_sums may be used again */
        if (job.coarse_bits) plan_coarse(job, s_sums);
        const bool singly = s_news.large_twos.are_too_large(job) || (s_news.large_twos.nkeys > 0 && s_news.large.nkeys == 0);
        together = job.may_be_two && !singly;
        struct large_buckets &large = together ? s_news.large_twos : s_news.large;
        const bool fits = can_sort_large(job, large, together, counts.order, counts.digits, s_words);
        if (fits) outcome = s_news.nuneven > job.uneven_limit ? NOT_SPLIT : ALL_FIT;
    }
    if (threadIdx.x == 0) job.header->outcome = outcome;
    if (outcome == ALL_FIT && together) put_together(job, nbuckets / 2);
}

#endif
