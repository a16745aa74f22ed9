/* sort_exchange.cuh: what CTAs that sort together tell one another, all of them resident at the same time (sort_rounds.cuh).
 *
 * How many keys of each digit a CTA has: a row of counts. A count says by itself that it is there, so no fence is needed, nor a word to
 * wait for. Each CTA adds up the rows of its group of twelve; the last one of a group leaves their sum, and all add up the sums: each
 * reading all rows would take twice as long, as so many wait for the same lines of L2, unless digits or CTAs are few. There are two sets of
 * rows, which take turns: in each round all zero the set of the next one.
 *
 * That a CTA has written all its keys, and which bits vary among those that it has read: a flag, released, that the others acquire.
 * Cost: up to 12 rows and 22 sums, of 4 bytes a digit, and 4 bytes of each flag, read by every CTA. */
#ifndef UPSWEEP_CUDA_SORT_EXCHANGE_CUH
#define UPSWEEP_CUDA_SORT_EXCHANGE_CUH

#include "launch.h"
#include "sort_lookback.cuh"

enum {
    ROUNDS_CTAS = 256, /* at most: one a multiprocessor */
    ROUNDS_GROUP = 12, /* of CTAs */
    ROUNDS_GROUPS = (ROUNDS_CTAS + ROUNDS_GROUP - 1) / ROUNDS_GROUP,
    ROUNDS_ROW_LEAST = 16, /* digits of a row: of fewer, too many lanes would add to the same */
    ROUNDS_DIRECT = 8192   /* counts of all rows: so many are added up without groups */
};

/* How many keys have each digit, and one: 0 is not yet there. */
struct rounds_rows {
    uint32_t of_cta[ROUNDS_CTAS][SORT_DIGITS], of_group[ROUNDS_GROUPS][SORT_DIGITS];
};

/* In control memory, zeroed before the first launch. */
struct rounds_exchange {
    uint32_t turn; /* which set of rows the next launch begins with: all its words are 0 */
    uint32_t apart[31];
    uint32_t arrived[ROUNDS_CTAS]; /* how often a CTA has arrived in this launch */
    uint64_t varying[ROUNDS_CTAS]; /* bits in which images of a CTA differ from the first of all */
    struct rounds_rows rows[2];
};
static_assert(sizeof(struct rounds_exchange) <= CUDA_CONTROL_ROUNDS_NBYTES, "it has a place in control memory");

/* Thread d < 256 has the count of digit d. */
static __device__ __forceinline__ void store_row(uint32_t *row, uint32_t ndigits, uint32_t count) {
    if (threadIdx.x < max(ndigits, (uint32_t)ROUNDS_ROW_LEAST)) store_relaxed(&row[threadIdx.x], count + 1);
}

/* Adds to the totals what these rows have of each digit, and to the places what the first ones of them have, as soon as they are there. All
 * of the CTA's first nthreads call it. */
static __device__ __forceinline__ void add_rows(const uint32_t (*rows)[SORT_DIGITS], uint32_t nrows, uint32_t nbefore, uint32_t ndigits,
                                                uint32_t *s_total, uint32_t *s_before, uint32_t nthreads) {
    constexpr uint32_t LOADS = 12;
    const uint32_t nwords = max(ndigits, (uint32_t)ROUNDS_ROW_LEAST), at = threadIdx.x % nwords, step = nthreads / nwords;
    uint32_t total = 0, before = 0;
    for (uint32_t first = threadIdx.x / nwords; first < nrows; first += LOADS * step) {
        uint32_t counts[LOADS] = {};
        bool all = false;
        while (!all) { /* those that are not there yet are asked for together */
            all = true;
#pragma unroll
            for (uint32_t i = 0; i < LOADS; i++) {
                if (!counts[i]) counts[i] = first + i * step < nrows ? load_relaxed(&rows[first + i * step][at]) : 1;
            }
#pragma unroll
            for (uint32_t i = 0; i < LOADS; i++) all = all && counts[i];
        }
#pragma unroll
        for (uint32_t i = 0; i < LOADS; i++) {
            total += counts[i] - 1;
            before += first + i * step < nbefore ? counts[i] - 1 : 0;
        }
    }
    for (uint32_t distance = nwords; distance < 32; distance *= 2) {
        total += __shfl_xor_sync(~0u, total, distance);
        before += __shfl_xor_sync(~0u, before, distance);
    }
    if (threadIdx.x % 32 >= nwords) return;
    if (total) atomicAdd(&s_total[at], total);
    if (before) atomicAdd(&s_before[at], before);
}

/* Zeroes rows. The first nthreads of all CTAs call it, when all have read them. */
static __device__ __forceinline__ void clear_rows(struct rounds_rows *rows, uint32_t nthreads) {
    uint4 *words = (uint4 *)rows;
    for (uint32_t i = blockIdx.x * nthreads + threadIdx.x; i < sizeof *rows / sizeof *words; i += gridDim.x * nthreads)
        words[i] = make_uint4(0, 0, 0, 0);
}

/* What this CTA has written can be seen by those who see that it has arrived. All threads call it. */
static __device__ __forceinline__ void arrive(struct rounds_exchange *exchange, uint32_t times) {
    __syncthreads(); /* all has been written */
    if (threadIdx.x == 0) store_release(&exchange->arrived[blockIdx.x], times);
}

/* Waits until all CTAs have arrived so often, each thread for one of them. */
static __device__ __forceinline__ void await_others(const struct rounds_exchange *exchange, uint32_t times) {
    if (threadIdx.x >= gridDim.x) return;
    while (load_acquire(&exchange->arrived[threadIdx.x]) != times) {
    }
}

#endif
