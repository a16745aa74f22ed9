/* sort_mend_long.cuh: a run of keys that the highest digits do not tell apart (sort_mend.cuh), too long for its keys to be compared each
 * with each, is sorted by one CTA: that of the tile in which it is first seen to be out of order.
 *
 *     where it begins and ends     all threads look at places of equal distance, then between two of these, and so on
 *     which bits vary in it
 *     passes by these bits         stable, over the run alone, from the output to the second buffer and back: so their number is even
 *
 * That CTA *claims* the run before, since others may see it, too; they mend their tiles meanwhile. So a run must not have too great a
 * part of all keys: of one that has, whoever sees that it is out of order says so, and then all keys are sorted by all digits.
 * Cost: of runs that are in order, nothing; of others, the keys read twice and written once for each digit. */
#ifndef UPSWEEP_CUDA_SORT_MEND_LONG_CUH
#define UPSWEEP_CUDA_SORT_MEND_LONG_CUH

#include "sort_gaps.cuh"
#include "sort_tile.cuh"

/* The long runs that are out of order in a tile, by where they begin there: each has more than MEND_MOST keys from there on, so there is
 * one at most for each so many places. */
struct long_runs {
    uint32_t seen; /* a bit for each */
    uint32_t first[MEND_LONG_RUNS];

    __device__ __forceinline__ void see(uint32_t run) {
        const uint32_t i = run / MEND_MOST;
        if (*(volatile uint32_t *)&seen >> i & 1) return;
        first[i] = run; /* who else does this writes the same */
        atomicOr(&seen, 1u << i);
    }
};
static_assert(1u << MEND_LONG_RUNS <= TILE_OWN, "claims are no state");
static_assert(MEND_LONG_RUNS * MEND_MOST >= sort_rows(8, 0) * SORT_THREADS, "of keys alone there are most");

/* is_below(i) holds for the first of the places from lo to hi: for which is it the first time that it does not? All threads call it. */
template <typename BELOW> static __device__ __forceinline__ uint64_t first_not_below(uint64_t lo, uint64_t hi, const BELOW &is_below) {
    while (lo < hi) {
        const uint64_t step = (hi - lo + SORT_THREADS - 1) / SORT_THREADS, at = lo + (threadIdx.x + 1) * step - 1;
        const uint64_t nsteps = (uint64_t)__syncthreads_count(at < hi && is_below(at));
        lo += nsteps * step;
        hi = min(hi, lo + step - 1);
    }
    return lo;
}

/* Where the keys of a digit go, tile by tile: thread d < 256 knows it of digit d. */
struct run_starts {
    static constexpr bool ALONE = true;
    uint64_t &next;
    __device__ __forceinline__ uint64_t of(uint32_t, uint32_t, uint32_t count) const {
        const uint64_t start = next;
        next += count;
        return start;
    }
};

/* One pass over the keys from start to end. s_memory: the counters, then a tile. All threads call it. */
template <typename KEY, int VALUE_NBYTES>
static __device__ __forceinline__ void pass_over_run(const struct sort_job &job, const struct sort_tile<KEY> &buffers,
                                                     const struct tile_place &at, uint64_t start, uint64_t end, unsigned char *s_memory,
                                                     struct digit_sums &s_sums) {
    const struct key_order<KEY> order(job);
    const uint32_t tile_items = job.rows * SORT_THREADS;
    uint32_t *s_counts = (uint32_t *)s_memory;
    if (threadIdx.x < SORT_DIGITS) s_counts[threadIdx.x] = 0;
    __syncthreads(); /* zeroes before counts */
#pragma unroll 4
    for (uint64_t i = start + threadIdx.x; i < end; i += SORT_THREADS)
        atomicAdd(&s_counts[digit_of(order.image(buffers.keys_src[i]), at.shift, at.mask)], 1);
    __syncthreads(); /* all counts */
    uint64_t next = start + scan_threads(threadIdx.x < SORT_DIGITS ? s_counts[threadIdx.x] : 0, s_sums.sums);
    for (uint64_t first = start; first < end; first += tile_items) {
        struct sort_tile<KEY> tile = buffers;
        tile.first = first;
        tile.count = (uint32_t)min((uint64_t)tile_items, end - first);
        tile.keys_src += first;
        tile.values_src += first * job.value_nbytes;
        sort_rows_of_tile<false, KEY, VALUE_NBYTES, sort_rows(sizeof(KEY), VALUE_NBYTES)>(job, tile, at, run_starts{next}, s_memory, s_sums,
                                                                                          order);
        __syncthreads(); /* the tile is written; and nobody needs the shared memory any more */
    }
}

/* Sorts the keys from start to end. All threads call it. */
template <typename KEY, int VALUE_NBYTES>
static __device__ __forceinline__ void sort_run(const struct sort_job &job, uint64_t start, uint64_t end, unsigned char *s_memory,
                                                struct digit_sums &s_sums) {
    const struct key_order<KEY> order(job);
    const KEY *keys = (const KEY *)job.keys_out, first = order.image(keys[start]);
    KEY varying = 0;
#pragma unroll 4
    for (uint64_t i = start + threadIdx.x; i < end; i += SORT_THREADS) varying |= order.image(keys[i]) ^ first;
    varying = (KEY)or_of_threads(varying, *(uint64_t(*)[32])s_sums.base);
    const uint32_t nbits = 64 - (uint32_t)__clzll((long long)varying);
    const uint32_t npasses = (nbits + 2 * SORT_DIGIT_BITS - 1) / (2 * SORT_DIGIT_BITS) * 2;
    for (uint32_t pass = 0; pass < npasses; pass++) {
        const uint32_t lo = nbits * pass / npasses, hi = nbits * (pass + 1) / npasses;
        const bool back = pass % 2;
        struct sort_tile<KEY> buffers = {};
        buffers.keys_src = (const KEY *)(back ? job.keys_tmp : job.keys_out);
        buffers.keys_dst = (KEY *)(back ? job.keys_out : job.keys_tmp);
        buffers.values_src = (const char *)(back ? job.values_tmp : job.values_out);
        buffers.values_dst = (char *)(back ? job.values_out : job.values_tmp);
        pass_over_run<KEY, VALUE_NBYTES>(job, buffers, {lo, (1u << (hi - lo)) - 1, NULL, 0}, start, end, s_memory, s_sums);
    }
}

/* All long runs of a tile that are out of order. low: bits that tell no runs apart. claims: tile states that are clear; of each tile the
 * first word has the claims of the runs that begin there, which a pass takes for no state. All threads call it. A function of its own, as
 * it is hardly ever called: mending needs the registers. */
template <typename KEY, int VALUE_NBYTES>
static __device__ __noinline__ void mend_long_runs(const struct sort_job &job, const struct long_runs &s_long, uint64_t tile_first,
                                                   uint32_t low, uint32_t *claims, unsigned char *s_memory, struct digit_sums &s_sums) {
    const struct key_order<KEY> order(job);
    const KEY *keys = (const KEY *)job.keys_out;
    const uint64_t most = job.n / MEND_LONG_PART;
    const uint32_t tile_items = job.rows * SORT_THREADS;
    for (uint32_t seen = s_long.seen; seen; seen &= seen - 1) {
        if (__syncthreads_or(threadIdx.x == 0 && load_relaxed(&job.header->unmended))) return;
        uint64_t start = tile_first + s_long.first[__ffs((int)seen) - 1];
        const KEY image = order.image(keys[start]);
        const auto is_of_run = [&](uint64_t i) { return (order.image(keys[i]) ^ image) >> low == 0; };
        if (start == tile_first) { /* or before that */
            start = first_not_below(start > most ? start - most : 0, start, [&](uint64_t i) { return !is_of_run(i); });
        }
        const uint64_t end = first_not_below(start + 1, min(job.n, start + most + 1), is_of_run);
        const bool too_long = end - start > most;
        bool mine = false;
        if (threadIdx.x == 0) {
            const uint32_t bit = 1u << start % tile_items / MEND_MOST;
            if (too_long)
                job.header->unmended = 1;
            else
                mine = !(atomicOr(&claims[start / tile_items * SORT_DIGITS], bit) & bit);
        }
        if (__syncthreads_or(mine)) sort_run<KEY, VALUE_NBYTES>(job, start, end, s_memory, s_sums);
    }
}

#endif
