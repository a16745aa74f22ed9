/* sort_shorts_fused.cuh: sort_shorts.cuh for up to a million keys or so, 8 a thread: no rows of counters, and one wait instead of two.
 *
 *     each CTA       counts its keys in shared memory; whoever counted the first of a value then adds its count to those of all CTAs, and
 * to the count of its top byte; these are added to totals waits          until the totals add up to n (sort_totals.cuh): then all counts
 * have been added each CTA       takes a stretch of the output; the totals say which top bytes it has, and the counts of these where each
 * value's run begins: the head of each run is marked, and a scan by maximum spreads it over the rest
 *
 * No counter can overflow, and whatever the keys are, the work is the same, but for additions to a counter that many keys share. Cost: keys
 * read once and written once; an addition in L2 for each value that a CTA has. */
#ifndef UPSWEEP_CUDA_SORT_SHORTS_FUSED_CUH
#define UPSWEEP_CUDA_SORT_SHORTS_FUSED_CUH

#include "sort_shorts.cuh"
#include "sort_totals.cuh"

enum {
    SHORT_BYTES = SHORT_VALUES >> 8,   /* top bytes */
    FUSED_SHORTS = SHORTS_THREADS * 8, /* keys of a CTA, and of the output */
    FUSED_SHORTS_NBYTES = SHORT_COUNTERS_NBYTES + FUSED_SHORTS * 2,
};

/* In control memory, zeroed before the first launch. counts: two sets, which take turns as the totals do. */
struct short_totals {
    struct two_sets_of_totals<SHORT_BYTES> of_bytes;
    uint32_t counts[2][SHORT_VALUES];
};
static_assert(sizeof(struct short_totals) <= CUDA_CONTROL_SHORTS_NBYTES, "the totals have a place in control memory");

struct fused_shorts_job {
    const uint16_t *in;
    uint16_t *out;
    uint32_t n;
    uint64_t flip, float_mask; /* of image() */
    uint32_t stretch;          /* of the output, for a CTA: a multiple of 8 */
    struct short_totals *totals;
};

struct fused_shorts_desk {
    uint32_t count[SHORT_BYTES], start[SHORT_BYTES], sums[2][32];
    uint32_t nlisted, turn;
    uint8_t listed[SHORT_BYTES]; /* the top bytes of the stretch, in no order */
};

/* A thread's keys: a whole, aligned vector, and in CTA 0 one of the few that are before and after those. */
struct fused_shorts_keys {
    uint16_t image[9];
    uint32_t has; /* a bit each; then only those whose value this thread was the first to count */
    bool equal;   /* the first eight */

    __device__ __forceinline__ fused_shorts_keys(const struct fused_shorts_job &job, const struct key_order<uint16_t> &order) : has(0) {
        const uint32_t head = min(job.n, (uint32_t)((16 - (uintptr_t)job.in % 16) % 16 / sizeof(uint16_t)));
        const uint32_t nvectors = (job.n - head) / 8, tail = head + nvectors * 8, share = (nvectors + gridDim.x - 1) / gridDim.x;
        const uint32_t vector = blockIdx.x * share + threadIdx.x, nodd = head + (job.n - tail);
        union short_vector got = {};
        uint16_t odd = 0;
        if (threadIdx.x < share && vector < nvectors) {
            got.word = ((const uint4 *)(job.in + head))[vector];
            has = 0xff;
        }
        if (blockIdx.x == 0 && threadIdx.x < nodd) {
            odd = job.in[threadIdx.x < head ? threadIdx.x : tail + threadIdx.x - head];
            has |= 1 << 8;
        }
        const uint32_t pair = got.word.x;
        equal = pair == got.word.y && pair == got.word.z && pair == got.word.w && pair >> 16 == (pair & 0xffff);
#pragma unroll
        for (int k = 0; k < 8; k++) image[k] = order.image(got.key[k]);
        image[8] = order.image(odd);
    }

    /* Counts a key; was it the first of its value? */
    static __device__ __forceinline__ bool count_one(uint32_t value, uint32_t times, uint32_t *s_counts) {
        const uint32_t half = value % 2 * 16;
        return (atomicAdd(&s_counts[value / 2], times << half) >> half & 0xffff) == 0;
    }

    __device__ __forceinline__ void count(uint32_t *s_counts) {
        uint32_t first = 0;
        if (equal && (has & 1)) {
            first = count_one(image[0], 8, s_counts);
            has &= ~0xffu;
        }
#pragma unroll
        for (int k = 0; k < 9; k++) {
            if (has >> k & 1) first |= (uint32_t)count_one(image[k], 1, s_counts) << k;
        }
        has = first;
    }

    /* Adds what the CTA has counted of the values that this thread was the first of. */
    __device__ __forceinline__ void add(const uint32_t *s_counts, uint32_t *s_bytes, uint32_t *counts) const {
#pragma unroll
        for (int k = 0; k < 9; k++) {
            if (!(has >> k & 1)) continue;
            const uint32_t value = image[k], count = s_counts[value / 2] >> value % 2 * 16 & 0xffff;
            atomicAdd(&counts[value], count);
            atomicAdd(&s_bytes[value / 256], count);
        }
    }
};

/* A warp marks in slots [begin, end) the heads of the runs of a top byte's values, of which the first one starts in slot `start`. What
 * covers the first slot has its head there. value, counts: of this lane's eight. */
static __device__ __forceinline__ void mark_byte(uint16_t *s_marks, uint32_t begin, uint32_t end, uint32_t value, uint32_t start,
                                                 const uint32_t *counts) {
    const uint4 low = __ldcg((const uint4 *)counts), high = __ldcg((const uint4 *)counts + 1);
    const uint32_t mine[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    uint32_t sum = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) sum += mine[k];
    const uint32_t inclusive = sum_up_to_lane(sum);
    uint32_t at = start + inclusive - sum;
#pragma unroll
    for (uint32_t k = 0; k < 8; k++) {
        const uint32_t next = at + mine[k];
        if (mine[k] && at < end && next > begin) s_marks[max(at, begin) - begin] = (uint16_t)(value + k);
        at = next;
    }
}

static __global__ void __launch_bounds__(SHORTS_THREADS, 1) sort_shorts_fused(const __grid_constant__ struct fused_shorts_job job) {
    extern __shared__ __align__(16) uint32_t s_counts[]; /* FUSED_SHORTS_NBYTES */
    __shared__ struct fused_shorts_desk s;
    uint16_t *s_marks = (uint16_t *)s_counts + SHORT_VALUES;
    wait_for_predecessor();
    const uint32_t t = threadIdx.x;
    const struct key_order<uint16_t> order(job);
    struct fused_shorts_keys keys(job, order);
    for (uint32_t i = t; i < FUSED_SHORTS_NBYTES / 16; i += SHORTS_THREADS) ((uint4 *)s_counts)[i] = make_uint4(0, 0, 0, 0);
    if (t < SHORT_BYTES) s.count[t] = 0;
    if (t == 0) {
        s.nlisted = 0;
        s.turn = job.totals->of_bytes.turn;
    }
    __syncthreads(); /* zeroes before counts; and whoever adds to the totals has read the turn */
    keys.count(s_counts);
    __syncthreads(); /* all counts of the CTA */
    uint32_t *const counts = job.totals->counts[s.turn];
    keys.add(s_counts, s.count, counts);
    __syncthreads(); /* all counts of top bytes */

    uint32_t total = t < SHORT_BYTES ? s.count[t] : 0, *my_total = job.totals->of_bytes.of(s.turn, t % SHORT_BYTES);
    __threadfence(); /* what the CTA has added to the counts must be visible before the totals say so */
    if (total) atomicAdd(my_total, total);
    uint4 *next = (uint4 *)job.totals->counts[1 - s.turn];
    for (uint32_t i = blockIdx.x * SHORTS_THREADS + t; i < SHORT_VALUES / 4; i += gridDim.x * SHORTS_THREADS)
        next[i] = make_uint4(0, 0, 0, 0);
    uint32_t start = await_totals(&total, my_total, t < SHORT_BYTES, job.n, s.sums);
    __threadfence(); /* counts are read after the totals */
    if (blockIdx.x == 0) job.totals->of_bytes.hand_over(s.turn);

    /* Slots are places behind as many as make slot 0 of the output aligned. */
    const uint32_t skew = (uint32_t)((uintptr_t)job.out % 16 / sizeof(uint16_t)), begin = blockIdx.x * job.stretch,
                   end = begin + job.stretch;
    start += skew;
    if (total && start < end && start + total > begin) s.listed[atomicAdd(&s.nlisted, 1)] = (uint8_t)t;
    if (t < SHORT_BYTES) s.start[t] = start;
    __syncthreads(); /* the list */
    for (uint32_t i = t / 32; i < s.nlisted; i += SHORTS_THREADS / 32) {
        const uint32_t byte = s.listed[i], value = byte * 256 + t % 32 * 8;
        mark_byte(s_marks, begin, end, value, s.start[byte], counts + value);
    }
    __syncthreads(); /* all marks */
    uint32_t most = 0;
    union short_vector v;
    v.word = scan_row(((const uint4 *)s_marks)[t], &most);
    if (t % 32 == 0) s.sums[1][t / 32] = most;
    __syncthreads(); /* all warps' greatest values */
    const uint32_t before = greatest_before(s.sums[1]);
#pragma unroll
    for (int k = 0; k < 8; k++) v.key[k] = order.key_of_image((uint16_t)max((uint32_t)v.key[k], before));
    if (t * 8 < job.stretch) put_shorts(job.out - skew, begin + t * 8, skew, job.n + skew, v);
}

/* ---- the host's part --------------------------------------------------------------------------------------------------------- */

/* How many keys it takes, and needs: an output that is not aligned takes up to 7 places more. */
static uint64_t fused_shorts_max(const struct cuda_queue *queue) {
    if (queue->shared_nbytes < FUSED_SHORTS_NBYTES + (int)sizeof(struct fused_shorts_desk)) return 0;
    return min_u64((uint64_t)queue->nsms * FUSED_SHORTS - 8, SHORTS_FUSED_MAX);
}

static cudaError_t launch_fused_shorts(const struct cuda_queue *queue, const struct sort_job *sort) {
    struct fused_shorts_job job = {};
    job.in = (const uint16_t *)sort->keys_in;
    job.out = (uint16_t *)sort->keys_out;
    job.n = (uint32_t)sort->n;
    job.flip = sort->flip;
    job.totals = (struct short_totals *)((char *)queue->control + CUDA_CONTROL_SHORTS);
    const uint32_t nctas = (uint32_t)min_u64((job.n + SHORTS_FUSED_LEAST - 1) / SHORTS_FUSED_LEAST, (uint64_t)queue->nsms);
    job.stretch = ((job.n + 7 + nctas - 1) / nctas + 7) / 8 * 8;
    return launch_resident(queue, sort_shorts_fused, nctas, SHORTS_THREADS, FUSED_SHORTS_NBYTES, job);
}

#endif
