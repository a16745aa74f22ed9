/* sort_rows.cuh: items that threads take in rows, one a thread: which of them there are. */
#ifndef UPSWEEP_CUDA_SORT_ROWS_CUH
#define UPSWEEP_CUDA_SORT_ROWS_CUH

#include <stdint.h>

/* n items in rows of THREADS. */
template <int THREADS> struct item_rows {
    uint32_t n;
    int32_t left; /* from this thread's first on, so that no row's number need be added, and kept */

    __device__ __forceinline__ bool has(int row) const { return row * THREADS < left; }

    /* act(row, ask(row)) for each of ROWS rows that there is. Where TOGETHER rows are there for all threads, what they ask is under way
     * together: nothing need be asked for each row, and behind a branch it would wait for the answer to the one before. */
    template <int ROWS, int TOGETHER, typename ASK, typename ACT>
    __device__ __forceinline__ void for_each(const ASK &ask, const ACT &act) const {
#pragma unroll
        for (int first = 0; first < ROWS; first += TOGETHER) {
            if (TOGETHER > 1 && first + TOGETHER <= ROWS && (first + TOGETHER) * THREADS <= (int)n) {
                decltype(ask(first)) answer[TOGETHER];
#pragma unroll
                for (int i = 0; i < TOGETHER; i++) answer[i] = ask(first + i);
#pragma unroll
                for (int i = 0; i < TOGETHER; i++) act(first + i, answer[i]);
                continue;
            }
#pragma unroll
            for (int row = first; row < first + TOGETHER && row < ROWS; row++) {
                if (THREADS == 32 && row * 32 >= (int)n) return; /* of few keys, rows that no tile has would take most of the time */
                if (has(row)) act(row, ask(row));
            }
        }
    }
};

#endif
