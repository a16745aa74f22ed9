/* sort_slots_look.cuh: will keys fit slots of one size (sort_slots.cuh)? Only a look at some of them tells before it is too late:
 *
 *     a sample of 1,024      by all CTAs that start first, while their own keys are on their way: is some bucket too big anyway?
 *     thousands of keys      by a CTA of their own, while the others are at work: do more share a bucket than chance has it?
 *     the same number        by another one, if keys have an index: are there equal ones?
 *     a whole tile           by each CTA that starts first, of pairs, and the sample as well: the same; is one value in all of it?
 *     all that is moved      by a CTA that watches the slots of the only partition become full: is one ahead of all others?
 *
 * None need see everything: what they miss shows when a slot is full. What they find, the other CTAs hear before they write their first
 * tile; and of the last, before their next. Cost: a multiprocessor, or two, for the time of a tile or three; and one that moves none. */
#ifndef UPSWEEP_CUDA_SORT_SLOTS_LOOK_CUH
#define UPSWEEP_CUDA_SORT_SLOTS_LOOK_CUH

#include "sort_gaps.cuh"
#include "sort_partition.cuh"

/* Does a CTA sort a bucket of what is behind slots though it is far too big? */
static __device__ __forceinline__ bool can_be_large(const struct split_job &job) { return job.large_max > 0; }

/* The attempt fails; of what is told of that, the later one of enum slots_state is what counts. The compiler has one thread of a warp tell
 * it for all. */
static __device__ __forceinline__ void give_up_slots(const struct split_job &job, enum slots_state state) {
    atomicMax(&job.header->slots_full, (uint32_t)state);
}

/* Keys by bucket, in counters of eight bits. What does not fit one goes to the next, which does no harm: by then keys are far from uniform.
 */
template <typename KEY> struct looked_counts {
    static constexpr uint32_t VECTORS = 1; /* loads of 16 bytes that are side by side */
    const struct key_order<KEY> order;
    const uint32_t number_bits;
    uint32_t *const s_words;
    uint32_t &most; /* that this thread has found in a counter, so far */

    __device__ __forceinline__ looked_counts(const struct split_job &job, uint32_t *s_words_, uint32_t &most_)
        : order(job), number_bits(job.slots.number_bits()), s_words(s_words_), most(most_) {}

    /* By all threads; a barrier must follow. */
    __device__ __forceinline__ void clear() const {
        for (uint32_t i = threadIdx.x; i < 1u << number_bits >> 2; i += blockDim.x) s_words[i] = 0;
    }
    __device__ __forceinline__ uint32_t number_of(KEY key) const { return (uint32_t)(order.image(key) >> (sizeof(KEY) * 8 - number_bits)); }
    /* Returns how many have been counted there before. */
    __device__ __forceinline__ uint32_t add(KEY key) const {
        const uint32_t number = number_of(key), at = number % 4 * 8;
        const uint32_t before = atomicAdd(&s_words[number / 4], 1u << at) >> at & 0xff;
        most = max(most, before);
        return before;
    }
    /* The same of some neighbours, which are no pairs, as sorted keys are welcome. */
    template <int N> __device__ __forceinline__ uint32_t add_neighbours(const KEY (&keys)[N]) const {
        uint32_t npairs = 0;
#pragma unroll
        for (int i = 0; i < N; i++) {
            npairs += add(keys[i]);
#pragma unroll
            for (int j = 0; j < i; j++) npairs -= number_of(keys[i]) == number_of(keys[j]);
        }
        return npairs;
    }
};

/* Keys by themselves, each at a place that it draws, until the next one comes there. */
struct looked_keys {
    static constexpr uint32_t VECTORS = 4, PLACE_BITS = 14;
    uint32_t *const s_keys;

    static __device__ __forceinline__ uint32_t place_of(uint32_t key) { return key * 0x9e3779b1u >> (32 - PLACE_BITS); }
    /* By all threads: keys that belong elsewhere. A barrier must follow. */
    __device__ __forceinline__ void clear() const {
        for (uint32_t i = threadIdx.x; i < 1u << PLACE_BITS; i += blockDim.x) s_keys[i] = place_of(0) == i;
    }
    __device__ __forceinline__ bool meets_itself(uint32_t key) const { return atomicExch(&s_keys[place_of(key)], key) == key; }
    /* The same once more for all keys, when the table has them already. */
    __device__ __forceinline__ bool meets_again(uint32_t key) const { return atomicExch(&s_keys[place_of(key)], ~key) == ~key; }
    /* Returns how many have met themselves. */
    template <int N> __device__ __forceinline__ uint32_t add_neighbours(const uint32_t (&keys)[N]) const {
        uint32_t nequal = 0;
#pragma unroll
        for (int i = 0; i < N; i++) nequal += meets_itself(keys[i]);
        return nequal;
    }
};
static_assert(0x9e3779b1u >> (32 - looked_keys::PLACE_BITS) != 0, "1 belongs elsewhere than 0");

/* Such a sample as the histogram would look at, the same in all CTAs: some of the keys each thread's. */
template <typename KEY, int THREADS> struct slots_sample {
    static constexpr int OF_THREAD = VALUE_SAMPLE / THREADS;
    static constexpr bool BITS = sizeof(KEY) == 4; /* those of 64 bits have no registers, and passes would not be quicker */
    KEY keys[OF_THREAD], first;

    __device__ __forceinline__ void load(const struct split_job &job) {
#pragma unroll
        for (int i = 0; i < OF_THREAD; i++) keys[i] = ((const KEY *)job.in)[sampled_at(job, threadIdx.x + i * THREADS)];
        if (BITS) first = *(const KEY *)job.in;
    }
    /* Must some bucket be too big, or bins deep? A crowded number says so, too: in one of some fifty thousand samples of uniform keys there
     * is one. s_sums: two words. All threads call it. */
    __device__ __forceinline__ bool is_skewed(const struct split_job &job, uint32_t *s_counts, uint32_t *s_sums) const {
        uint32_t most = 0;
        const struct looked_counts<KEY> counts(job, s_counts, most);
        counts.clear();
        if (threadIdx.x < 2) s_sums[threadIdx.x] = 0;
        __syncthreads(); /* zeroes before counts */
        const float mean = (float)VALUE_SAMPLE / (float)(1u << counts.number_bits);
        const uint32_t limit = can_be_large(job) ? ~0u : (uint32_t)(mean + 5 * sqrtf(mean)) + 4;
        uint32_t npairs = 0, varying = 0;
#pragma unroll
        for (int i = 0; i < OF_THREAD; i++) {
            npairs += counts.add(keys[i]);
            if (BITS) varying |= (uint32_t)(counts.order.image(keys[i]) ^ counts.order.image(first));
        }
        npairs = sum_warp(npairs);
        if (BITS) varying = or_of_warp(varying);
        if (threadIdx.x % 32 == 0) {
            atomicAdd(&s_sums[0], npairs);
            if (BITS) atomicOr(&s_sums[1], varying);
        }
        const bool crowded = __syncthreads_or(most >= limit); /* also: all pairs, and all bits */
        return crowded || s_sums[0] >= job.sample_limit || (BITS && are_bins_deep(job.n, s_sums[1], counts.number_bits));
    }
    /* A bucket needs about as many bins as it has keys, by the bits below those of its number: do too few of them vary? */
    static __device__ __forceinline__ bool are_bins_deep(uint32_t n, uint32_t varying, uint32_t number_bits) {
        const uint32_t of_bucket = n >> number_bits, below = varying << number_bits >> __clz((int)of_bucket);
        return of_bucket >> __popc(below) > SLOTS_DEEP;
    }
};

/* Pairs: do keys repeat too often, as some of the sample are equal, or equal to those before them? A histogram is in vain, too, if one
 * value has so many that no bucket has room for it. sampled: this thread's; s_value: a word. All threads call it; the table remains. */
static __device__ __forceinline__ enum slots_state sample_repeats(const struct split_job &job, uint32_t sampled,
                                                                  const struct looked_keys &looked, uint32_t *s_value) {
    const uint64_t at = sampled_at(job, threadIdx.x);
    const uint32_t before = ((const uint32_t *)job.in)[at > 0 ? at - 1 : 1];
    looked.clear();
    __syncthreads(); /* the table is clear; and nobody needs s_value any more */
    if (threadIdx.x == 0) *s_value = sampled;
    const bool again = looked.meets_itself(sampled);
    if (__syncthreads_count(again || sampled == before) <= PAIR_SLOTS_SAMPLE_REPEATS) return SLOTS_OPEN;
    if (again) atomicExch(s_value, sampled); /* any of those */
    __syncthreads();                         /* the value */
    const uint32_t nequal = (uint32_t)__syncthreads_count(sampled == *s_value);
    const bool in_vain = nequal >= PAIR_SLOTS_FREQUENT && (uint64_t)nequal * job.n > (uint64_t)job.bucket_max * VALUE_SAMPLE * 3 / 2;
    return in_vain ? SLOTS_IN_VAIN : SLOTS_FULL;
}

/* Is the attempt in vain? The same for the CTAs that look at many keys: if the sample says it, these are in a few buckets, and would all
 * wait for the counters of those. */
template <typename KEY, int THREADS, bool PAIRS>
static __device__ __forceinline__ bool sample_says_in_vain(const struct split_job &job, uint32_t *s_counts, uint32_t *s_npairs) {
    struct slots_sample<KEY, THREADS> sample;
    sample.load(job);
    const bool skewed = sample.is_skewed(job, s_counts, s_npairs);
    __syncthreads(); /* all know; the counters may be used again */
    if constexpr (PAIRS) return skewed || sample_repeats(job, sample.keys[0], looked_keys{s_counts}, s_npairs) != SLOTS_OPEN;
    return skewed;
}

/* Loads of a thread that are under way together, of 16 bytes. */
#define LOOKED_TOGETHER 8

/* Keys to be looked at, of so many: a power of two, but no fewer than all threads ask for at once, or some would be looked at twice. So of
 * 32 bits there must be 2^8 slots, of 64 2^7, or uniform keys would not fit counters of eight bits. */
template <typename KEY> static __device__ __forceinline__ uint32_t looked_keys_of(uint32_t nkeys) {
    return max(min(nkeys, (uint32_t)SLOTS_LOOKED), 16 / (uint32_t)sizeof(KEY) * LOOKED_TOGETHER * blockDim.x);
}

/* Looks at many keys, until there are more pairs among them than `limit`: true for those warps that see it first. 16 bytes of neighbours at
 * a time. nkeys: as looked_keys_of() has it. All threads call it. */
template <typename KEY, typename COUNTS>
static __device__ __forceinline__ bool look_at_keys(const struct split_job &job, uint32_t nkeys, const COUNTS &counts, uint32_t limit,
                                                    uint32_t *s_npairs) {
    constexpr uint32_t N = 16 / sizeof(KEY), TOGETHER = LOOKED_TOGETHER;
    counts.clear();
    if (threadIdx.x == 0) *s_npairs = 0;
    __syncthreads(); /* zeroes before counts */
    const uint32_t nloads = nkeys / N;
    const uint32_t skipped = (16 - (uint32_t)(uintptr_t)job.in % 16) % 16 / (uint32_t)sizeof(KEY), nvectors = (job.n - skipped) / N;
    const uint32_t ngroups_log = 31 - (uint32_t)__clz((int)(nloads / COUNTS::VECTORS)); /* of as many stretches of the input */
    const uint32_t inset = draw_below((nvectors >> ngroups_log) - COUNTS::VECTORS + 1, 0, job.seed);
    const uint4 *vectors = (const uint4 *)((const KEY *)job.in + skipped) + inset;
    for (uint32_t first = threadIdx.x; first < nloads; first += TOGETHER * blockDim.x) {
        if (__any_sync(~0u, *(volatile uint32_t *)&job.header->slots_full != SLOTS_OPEN)) return false; /* others have found out */
        union {
            uint4 vector[TOGETHER];
            KEY key[TOGETHER][N];
        } got;
#pragma unroll
        for (uint32_t k = 0; k < TOGETHER; k++) {
            const uint32_t i = (first + k * blockDim.x) % nloads, group = i / COUNTS::VECTORS;
            got.vector[k] = vectors[((uint64_t)group * nvectors >> ngroups_log) + i % COUNTS::VECTORS];
        }
        uint32_t npairs = 0;
#pragma unroll
        for (uint32_t k = 0; k < TOGETHER; k++) npairs += counts.add_neighbours(got.key[k]);
        npairs = sum_warp(npairs);
        const uint32_t sum = __shfl_sync(~0u, threadIdx.x % 32 == 0 ? atomicAdd(s_npairs, npairs) + npairs : 0, 0);
        if (sum > limit) return true;
    }
    return false;
}

/* One CTA, while the others are at work: will some bucket become too big? If more pairs of keys share a bucket than chance has it; so equal
 * keys show, too. And is one so much too big that a histogram is in vain? It takes fewer keys for that if no others share a bucket, since
 * then they lie close together; but more than chance has: of 2^27 keys and more few are looked at for each bucket. That counts though
 * others have found out first that slots are too small. */
template <typename KEY>
static __device__ __forceinline__ void look_for_skew(const struct split_job &job, uint32_t *s_counts, uint32_t *s_npairs) {
    uint32_t most = 0;
    const struct looked_counts<KEY> counts(job, s_counts, most);
    const uint32_t nkeys = looked_keys_of<KEY>((uint32_t)SLOTS_LOOKED_PER_BUCKET << counts.number_bits);
    const float mean = (float)nkeys / (float)(1u << counts.number_bits), chance = (float)nkeys * mean / 2;
    const bool uneven = look_at_keys<KEY>(job, nkeys, counts, (uint32_t)(chance + 4 * sqrtf(chance)), s_npairs);
    if (uneven) give_up_slots(job, SLOTS_FULL);
    const float vain = (float)(__syncthreads_or(uneven) ? job.slots.vain_items : job.slots.vain_alone);
    const bool in_vain = (float)most > fmaxf(vain * ((float)nkeys / (float)job.n), mean + 6 * sqrtf(mean) + 4);
    if (__syncthreads_or(in_vain) && threadIdx.x == 0) give_up_slots(job, SLOTS_IN_VAIN);
}

/* The last CTA of the only partition watches the slots become full. Is one of them, or are a few, so far ahead of all others that they will
 * be too small, even if whatever is still to come is even? Then a histogram is in vain, too, if they get ahead further as they have till
 * now. What it reads is not of one instant, nor must the keys be in no order: so all but a few slots must be as full as chance has it, and
 * what is found be found twice; and nothing is told if a tile has had many keys of one slot, as if keys are sorted. It goes away when too
 * little is left to be moved, or the attempt has been given up; or if, against all experience, it runs before those it watches. s_sums: 32
 * words. All threads call it. */
template <uint32_t MOST_SLOTS> static __device__ __forceinline__ void watch_slots(const struct split_job &job, uint32_t *s_sums) {
    constexpr uint32_t EACH = MOST_SLOTS / SLOTS_THREADS;
    static_assert(EACH <= 2 && PAIR_SLOTS_TILE / RUN_MOST > 2 * SLOTS_FEW_AHEAD, "a tile that tells nothing has keys for more slots");
    const uint32_t nslots = 1u << job.slots.fine_bits;
    const float mean = (float)job.n / (float)nslots, room = (float)job.slots.items - mean + 3 * sqrtf(mean);
    bool found = false;
    for (uint32_t k = 0; k < SLOTS_POLLS; k++) {
        uint32_t size[EACH], sum = 0;
#pragma unroll
        for (uint32_t i = 0; i < EACH; i++) {
            const uint32_t slot = threadIdx.x + i * SLOTS_THREADS;
            sum += size[i] = slot < nslots ? __ldcg(&job.slots.size[slot]) : 0;
        }
        const bool ends = has_turned(&job.header->slots_full, SLOTS_OPEN) || has_turned(&job.header->slots_uneven, 0);
        sum = sum_warp(sum);
        if (threadIdx.x % 32 == 0) s_sums[threadIdx.x / 32] = sum;
        if (__syncthreads_or(ends)) return; /* else: all sums */
        const uint32_t moved = sum_warp(s_sums[threadIdx.x % 32]);
        if (moved > job.n - job.n / 4) return;
        const struct slots_so_far so_far(job.slots, job.n, moved);
        bool uneven = false, ahead = false, in_vain = false;
#pragma unroll
        for (uint32_t i = 0; i < EACH; i++) {
            const bool there = threadIdx.x + i * SLOTS_THREADS < nslots,
                       its = there && so_far.lead(size[i]) > fmaxf(room, so_far.by_chance);
            uneven = uneven || (there && so_far.is_uneven(size[i]));
            ahead = ahead || its;
            in_vain = in_vain || (its && so_far.is_in_vain(size[i]));
        }
        const bool few = __syncthreads_count(uneven) <= SLOTS_FEW_AHEAD, again = found; /* also: all have read the sums */
        found = __syncthreads_or(ahead) && few;
        if (!found || !again) continue;
        if (ahead) give_up_slots(job, in_vain ? SLOTS_IN_VAIN : SLOTS_FULL);
        return;
    }
}

/* Another one, if items have an index: will equal keys fill a bucket's bins? If values are drawn d times each, on average, then d nkeys^2
 * / 2n pairs are equal. Of these, as a place keeps its key until another one takes it, 22 % meet, and 38 % of half as many keys; so d may
 * be one. A histogram of such keys would tell nothing new. */
template <typename KEY>
static __device__ __forceinline__ void look_for_repeats(const struct split_job &job, uint32_t *s_keys, uint32_t *s_npairs) {
    const bool only = job.slots.coarse_bits == 0; /* then it must be found out sooner */
    const uint32_t nkeys = looked_keys_of<KEY>(!only ? SLOTS_LOOKED : job.n > SLOTS_LOOKED_MANY ? SLOTS_LOOKED / 2 : SLOTS_LOOKED / 4);
    const uint32_t part = only ? 5 : 8;
    const uint32_t limit = max((uint32_t)((uint64_t)nkeys * nkeys / job.n / part), 8u);
    if (look_at_keys<KEY>(job, nkeys, looked_keys{s_keys}, limit, s_npairs)) give_up_slots(job, SLOTS_IN_VAIN);
}

#endif
