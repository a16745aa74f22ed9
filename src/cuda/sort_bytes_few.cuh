/* sort_bytes_few.cuh: sort_bytes.cuh for up to some hundred thousand keys: some thousand are one CTA's, more those of a thread block
 * cluster, whose CTAs see each other's counts in shared memory.
 *
 *     each CTA    counts its share of the keys
 *                 sums the counts of all: now it knows the whole output
 *                 lists the values that occur, and where their runs begin
 *                 writes its share of the output: each thread a word at a time, whose first run it looks up
 *
 *     counts      a: 3   b: 0   c: 1   d: 0   e: 2
 *     runs        a from 0, c from 3, e from 4
 *     output      a a a c e e
 *
 * The keys may be equal: a warp's additions to one counter are one. Where each thread has many keys, each lane has counters of its own, as
 * it takes longer then to add to few than to sum up many. In place: who knows all counts knows that all keys have been read. Cost: keys
 * read once and written once; a latency of memory and one of the cluster. */
#ifndef UPSWEEP_CUDA_SORT_BYTES_FEW_CUH
#define UPSWEEP_CUDA_SORT_BYTES_FEW_CUH

#include "cluster.cuh"
#include "sort_bytes.cuh"

/* A run: its place, and its value below. While runs are numbered, a word has a number, and a place below. */
enum { RUN_VALUE_BITS = 8, RUN_PLACE_BITS = 20 };
static_assert(BYTE_VALUES == 1 << RUN_VALUE_BITS && CLUSTER_MAX_CTAS * BYTES_OF_FEW_CTA < 1 << RUN_PLACE_BITS, "a word has room for both");
#define NO_RUN UINT32_MAX

/* Shared memory. */
template <uint32_t COPIES> struct few_bytes_desk {
    uint32_t counts[BYTE_VALUES * COPIES], summed[COPIES > 1 ? BYTE_VALUES : 1];
    uint32_t run[BYTE_VALUES + 1]; /* those there are, and NO_RUN behind them */
    uint32_t sums[32];

    /* Of the CTA, by value. */
    __device__ __forceinline__ const uint32_t *totals() const { return COPIES > 1 ? summed : counts; }
};

/* The sum of a word in the shared memory of all CTAs of the cluster. */
static __device__ __forceinline__ uint32_t sum_over_cluster(const uint32_t *s_word) {
    uint32_t sum = 0;
#if __CUDA_ARCH__ >= 900
#pragma unroll
    for (uint32_t rank = 0; rank < CLUSTER_MAX_CTAS; rank++)
        if (rank < gridDim.x) sum += *cooperative_groups::this_cluster().map_shared_rank(s_word, rank);
#endif
    return sum;
}

/* Writes out[begin, end) by all threads of a CTA. WORD: what a thread writes at a time. */
template <typename WORD>
static __device__ __forceinline__ void write_runs(uint8_t *out, uint32_t begin, uint32_t end, const uint32_t *s_run,
                                                  const struct key_order<uint8_t> &order) {
    constexpr uint32_t NBYTES = sizeof(WORD), LAST = BYTE_VALUES - 1;
    const uint32_t skew = (uint32_t)((uintptr_t)(out + begin) % NBYTES); /* words are aligned: the first may begin before */
    for (uint32_t i = threadIdx.x * NBYTES; i < end - begin + skew; i += BYTES_THREADS * NBYTES) {
        const uint32_t from = begin + max(i, skew) - skew, to = min(begin + i + NBYTES - skew, end);
        uint32_t which = 0;
#pragma unroll
        for (uint32_t step = BYTE_VALUES / 2; step > 0; step /= 2)
            if (s_run[which + step] <= (from << RUN_VALUE_BITS | LAST)) which += step;
        uint32_t run = s_run[which], next = s_run[which + 1];
        union {
            WORD word;
            uint8_t key[NBYTES];
        } got;
#pragma unroll
        for (uint32_t k = 0; k < NBYTES; k++) {
            if (next <= ((from + k) << RUN_VALUE_BITS | LAST)) {
                run = next;
                next = s_run[++which + 1];
            }
            got.key[k] = order.key_of_image((uint8_t)(run & LAST));
        }
        if (to - from == NBYTES) {
            *(WORD *)(out + from) = got.word;
            continue;
        }
#pragma unroll
        for (uint32_t k = 0; k < NBYTES; k++)
            if (from + k < to) out[from + k] = got.key[k];
    }
}

/* WORD: what a thread reads and writes at a time. */
template <typename WORD, uint32_t COPIES>
static __global__ void __launch_bounds__(BYTES_THREADS, 1) sort_few_bytes(const __grid_constant__ struct bytes_job job) {
    static_assert(COPIES == 1 || COPIES == BYTE_COPIES, "sum_of_copies() is for so many");
    __shared__ struct few_bytes_desk<COPIES> s;
    const uint32_t t = threadIdx.x, n = (uint32_t)job.n;
    const struct key_order<uint8_t> order(job);
    for (uint32_t i = t; i < BYTE_VALUES * COPIES; i += BYTES_THREADS) s.counts[i] = 0;
    if (t <= BYTE_VALUES) s.run[t] = NO_RUN;
    __syncthreads(); /* zeroes before counts */
    wait_for_predecessor();
    read_keys<WORD>(job.in, n, byte_counter<COPIES>{order, s.counts + t % COPIES});
    __syncthreads(); /* all counts of the CTA */
    if constexpr (COPIES > 1) {
        const uint32_t sum = sum_of_copies(s.counts);
        if (t % 4 == 0) s.summed[t / 4] = sum;
        __syncthreads(); /* all sums */
    }
    uint32_t count = t < BYTE_VALUES ? s.totals()[t] : 0;
    if (gridDim.x > 1) {
        cluster_meet(); /* all totals */
        if (t < BYTE_VALUES) count = sum_over_cluster(&s.totals()[t]);
    }
    const uint32_t place = scan_threads((count > 0) << RUN_PLACE_BITS | count, s.sums);
    if (count > 0) s.run[place >> RUN_PLACE_BITS] = (place & ((1u << RUN_PLACE_BITS) - 1)) << RUN_VALUE_BITS | t;
    __syncthreads(); /* all runs; and nobody here needs the totals of others any more */
    if (gridDim.x > 1) cluster_arrive();
    const uint32_t share = ((n + gridDim.x - 1) / gridDim.x + 15) / 16 * 16, begin = min(blockIdx.x * share, n);
    write_runs<WORD>(job.out, begin, min(begin + share, n), s.run, order);
    __syncwarp();                      /* a warp's lanes come from different turns of the loop */
    if (gridDim.x > 1) cluster_wait(); /* nobody anywhere needs ours */
}

/* ---- the host's part --------------------------------------------------------------------------------------------------------- */

/* CTAs for so many keys; 0: they are not for this. */
static uint32_t few_bytes_ctas(const struct cuda_queue *queue, uint64_t n) {
    if (n < BYTES_FEW_MIN) return 0;
    if (n <= BYTES_PER_CTA) return 1;
    if (!is_one_cluster(queue, 2) || n > (uint64_t)queue->cluster_ctas * BYTES_OF_FEW_CTA) return 0;
    const uint32_t wanted = (uint32_t)(n + BYTES_PER_CTA - 1) / BYTES_PER_CTA;
    return wanted < (uint32_t)queue->cluster_ctas ? wanted : (uint32_t)queue->cluster_ctas;
}

static cudaError_t launch_few_bytes(const struct cuda_queue *queue, const struct bytes_job *job, uint32_t nctas) {
    const bool by_words = job->n / nctas <= BYTES_BY_WORDS;
    const void *kernel = by_words ? (const void *)sort_few_bytes<uint32_t, 1> : (const void *)sort_few_bytes<uint4, BYTE_COPIES>;
    void *parameters[] = {(void *)job};
    if (nctas == 1) return launch_overlapping(queue, kernel, 1, BYTES_THREADS, 1, parameters);
    return launch_one_cluster(queue, kernel, nctas, BYTES_THREADS, parameters);
}

/* Any number of them. */
static cudaError_t launch_bytes(const struct cuda_queue *queue, const struct sort_job *sort) {
    struct bytes_job job = {};
    job.in = (const uint8_t *)sort->keys_in;
    job.out = (uint8_t *)sort->keys_out;
    job.n = sort->n;
    job.flip = sort->flip;
    const uint32_t nctas = few_bytes_ctas(queue, sort->n);
    return nctas > 0 ? launch_few_bytes(queue, &job, nctas) : launch_many_bytes(queue, &job);
}

#endif
