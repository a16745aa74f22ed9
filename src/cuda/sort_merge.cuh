/* sort_merge.cuh: sorts any items in the shared memory of one CTA by merging, as quickly whatever they are: what the bins of
 * sort_window.cuh are not for.
 *
 *     each thread      sorts PER items of its own, in registers
 *     level by level   runs are merged by twos; each thread finds by a binary search which PER items of the merged run are its own, from
 * where on they lie in either run, and merges these
 *
 *     run a   1 3 4 | 8 9        a cut through both runs before each PER'th item of the merged one:
 *     run b   2 5 | 6 7 8        what is before it is nowhere greater than what is behind it
 *
 * Cost: log2 (n / PER) levels, each a chain of log2 (run) + PER loads from shared memory and two barriers: no more instructions than it
 * takes, but hardly anything to hide them behind. Source: Green, McColl and Bader, GPU merge path, 2012. */
#ifndef UPSWEEP_CUDA_SORT_MERGE_CUH
#define UPSWEEP_CUDA_SORT_MERGE_CUH

#include <stdint.h>

/* Sorts N items of a thread: RUN items each are in order, and parts of 2 * APART of a merge. Source: Batcher, Sorting networks and their
 * applications, 1968: odd-even merges, for any N. */
template <int RUN = 1, int APART = 1, int N, typename T> static __device__ __forceinline__ void sort_in_registers(T (&items)[N]) {
#pragma unroll
    for (int i = APART % RUN; i + APART < N; i++) {
        if ((i - APART % RUN) / APART % 2 == 1 || i / (2 * RUN) != (i + APART) / (2 * RUN)) continue;
        const T smaller = min(items[i], items[i + APART]), larger = max(items[i], items[i + APART]);
        items[i] = smaller;
        items[i + APART] = larger;
    }
    if constexpr (APART > 1)
        sort_in_registers<RUN, APART / 2>(items);
    else if constexpr (2 * RUN < N)
        sort_in_registers<2 * RUN, 2 * RUN>(items);
}

/* Two neighbouring runs in shared memory. */
template <typename T> struct two_runs {
    const T *a, *b;
    uint32_t na, nb;

    /* How many of the first `count` items of the merged run come from a; of equal ones those come first. */
    __device__ __forceinline__ uint32_t cut(uint32_t count) const {
        uint32_t low = count > nb ? count - nb : 0, high = min(count, na);
        while (low < high) {
            const uint32_t middle = (low + high) / 2;
            if (b[count - 1 - middle] < a[middle])
                high = middle;
            else
                low = middle + 1;
        }
        return low;
    }

    /* Items `count` and following of the merged run. What is read behind a run's end is not used. */
    template <int PER> __device__ __forceinline__ void merge(T (&items)[PER], uint32_t count) const {
        uint32_t next_a = cut(count), next_b = count - next_a;
        T item_a = a[next_a], item_b = b[next_b];
#pragma unroll
        for (int k = 0; k < PER; k++) {
            const bool take_b = next_a >= na || (next_b < nb && item_b < item_a);
            items[k] = take_b ? item_b : item_a;
            next_b += take_b;
            next_a += !take_b;
            const T next = *(take_b ? b + next_b : a + next_a);
            item_b = take_b ? next : item_b;
            item_a = take_b ? item_a : next;
        }
    }
};

/* Sorts n items, of which thread t has t * PER and following; behind the last one there are greatest ones up to a multiple of PER.
 * s: room for so many and one more. All threads of the CTA call it, when nobody needs s. */
template <int PER, typename T> static __device__ __forceinline__ void merge_sort(T (&items)[PER], T *s, uint32_t n) {
    const uint32_t first = threadIdx.x * PER, end = (n + PER - 1) / PER * PER;
    sort_in_registers(items);
#pragma unroll 1
    for (uint32_t run = PER; run < end; run *= 2) {
        const uint32_t start = threadIdx.x & ~(2 * run / PER - 1);
        if (first < end) {
#pragma unroll
            for (int k = 0; k < PER; k++) s[first + k] = items[k];
        }
        __syncthreads(); /* all runs */
        if (first < end) {
            const uint32_t left = end - start * PER, na = min(run, left), nb = min(run, left - na);
            const struct two_runs<T> runs = { s + start *PER, s + start *PER + na, na, nb };
            runs.merge(items, first - start * PER);
        }
        __syncthreads(); /* all have read them */
    }
}

#endif
