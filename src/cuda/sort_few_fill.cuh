/* sort_few_fill.cuh: writes keys alone that have been counted by value (sort_few.cuh), and between their runs the keys of rare values,
 * which were put aside, and are sorted by now.
 *
 *     runs        3 3 3 3 7 7 7 7 7 9 9 9      from the counts
 *     aside       1 4 4 8
 *     output      1 3 3 3 3 4 4 7 7 7 7 7 8 9 9 9
 *
 * Each CTA counts how many of those aside are less than each value, and so knows where each run begins. It writes its stretch of the output
 * as if there were none, and then these over it.
 * Cost: the output written once, and for each value a search among the keys aside. */
#ifndef UPSWEEP_CUDA_SORT_FEW_FILL_CUH
#define UPSWEEP_CUDA_SORT_FEW_FILL_CUH

#include "sort_fill.cuh"

template <typename KEY> struct key_of_rank {
    const uint64_t *keys;

    __device__ __forceinline__ KEY operator()(uint32_t rank) const { return (KEY)keys[rank]; }
};

/* How many of so many sorted keys are less than each of some others? */
template <int N, typename KEY>
static __device__ __forceinline__ void count_less(uint32_t (&nless)[N], const KEY (&keys)[N], const KEY *sorted, uint32_t n,
                                                  const struct key_order<KEY> &order) {
#pragma unroll
    for (int k = 0; k < N; k++) nless[k] = 0;
    for (uint32_t step = n ? 1u << (31 - __clz((int)n)) : 0; step > 0; step /= 2) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            const uint32_t next = nless[k] + step;
            if (next <= n && order.image(sorted[next - 1]) < order.image(keys[k])) nless[k] = next;
        }
    }
}

/* The output, if some keys are put aside: these are sorted by now, s_before[v] of them less than value v. */
struct value_runs {
    const uint64_t *const starts; /* of keys that are not put aside */
    const uint32_t *const s_before;
    const uint32_t nvalues, naside;
    const uint64_t n;

    __device__ __forceinline__ uint64_t operator[](uint32_t value) const { return starts[value] + s_before[value]; }
    __device__ __forceinline__ uint64_t end_of(uint32_t value) const { return value + 1 < nvalues ? starts[value + 1] : n - naside; }

    /* How many of them come before a place? */
    __device__ __forceinline__ uint32_t aside_before(uint64_t place) const {
        const uint32_t value = find_value_between(*this, 0, nvalues - 1, place), before = s_before[value];
        if (place < (*this)[value]) return (uint32_t)place;
        return before + (uint32_t)(max(place, end_of(value) + before) - (end_of(value) + before));
    }
    /* Where is the i-th of them? */
    __device__ __forceinline__ uint64_t place_of(uint32_t i) const {
        return i < s_before[0] ? i : i + end_of(find_value_between(s_before, 0, nvalues - 1, i));
    }
};

/* The share of a CTA. */
struct fill_share {
    uint64_t begin, end;

    __device__ __forceinline__ explicit fill_share(uint64_t n) {
        const uint64_t each = (n + gridDim.x - 1) / gridDim.x;
        begin = min(blockIdx.x * each, n);
        end = min(begin + each, n);
    }
};

/* Each CTA of THREADS writes its share, if no keys are put aside. */
template <int THREADS, typename KEY> static __device__ __forceinline__ void fill_values(const struct sort_job &job, uint32_t nvalues) {
    const struct value_table *all = &job.header->values;
    const struct fill_share share(job.n);
    if (share.begin == share.end) return;
    const uint64_t *starts = all->count;
    fill_stretch<THREADS>((KEY *)job.keys_out, share.begin, share.end, starts, {0, nvalues - 1, false}, key_of_rank<KEY>{all->key});
}

/* The same, if some are. s_before [nvalues] */
template <int THREADS, typename KEY>
static __device__ __forceinline__ void fill_values_between(const struct sort_job &job, uint32_t nvalues, uint32_t naside,
                                                           uint32_t *s_before) {
    constexpr int SOME = 4;
    const struct value_table *all = &job.header->values;
    const KEY *aside = (const KEY *)job.keys_tmp;
    const struct value_runs runs = {all->count, s_before, nvalues, naside, job.n};
    for (uint32_t first = threadIdx.x; first < nvalues; first += SOME * THREADS) {
        KEY keys[SOME];
        uint32_t nless[SOME];
#pragma unroll
        for (int k = 0; k < SOME; k++) keys[k] = (KEY)all->key[min(first + k * THREADS, nvalues - 1)];
        count_less(nless, keys, aside, naside, key_order<KEY>(job));
#pragma unroll
        for (int k = 0; k < SOME; k++) {
            if (first + k * THREADS < nvalues) s_before[first + k * THREADS] = nless[k];
        }
    }
    __syncthreads(); /* all of s_before */
    const struct fill_share share(job.n);
    if (share.begin == share.end) return;
    KEY *out = (KEY *)job.keys_out;
    fill_stretch<THREADS>(out, share.begin, share.end, runs, {0, nvalues - 1, false}, key_of_rank<KEY>{all->key});
    __syncthreads(); /* runs before what is between them */
    const uint32_t last = runs.aside_before(share.end);
    for (uint32_t i = runs.aside_before(share.begin) + threadIdx.x; i < last; i += THREADS) out[runs.place_of(i)] = aside[i];
}

#endif
