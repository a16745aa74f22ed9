/* sort_read.cuh: every key of an array once, 16 bytes at a time, or fewer, for whoever counts them in any order.
 *
 * The whole, aligned vectors are shared out over all threads of the grid, several loads in flight a thread; the keys before the first and
 * after the last vector, fewer than two vectors' worth, go one to a thread. */
#ifndef UPSWEEP_CUDA_SORT_READ_CUH
#define UPSWEEP_CUDA_SORT_READ_CUH

#include <stdint.h>

#include "sort_tuning.h"

/* MurmurHash3's last step (Appleby, 2016). */
static __device__ __forceinline__ uint32_t mixed(uint32_t x) {
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

/* A number below `most`: draw i of those by this seed. */
static __device__ __forceinline__ uint32_t draw_below(uint32_t most, uint32_t i, uint32_t seed) { return __umulhi(mixed(i + seed), most); }

/* Calls counter.add(keys) with arrays of various lengths until all n have been seen. The first nthreads of each CTA call it. */
template <typename VECTOR = uint4, typename KEY, typename COUNTER>
static __device__ __forceinline__ void read_keys(const KEY *keys, uint64_t n, const COUNTER &counter, uint32_t nthreads = blockDim.x) {
    constexpr uint32_t PER_VECTOR = sizeof(VECTOR) / sizeof(KEY), LOADS = SORT_HISTOGRAM_LOADS;
    const uint64_t thread = (uint64_t)blockIdx.x * nthreads + threadIdx.x, stride = (uint64_t)gridDim.x * nthreads;
    const uint64_t head = min(n, (uint64_t)((sizeof(VECTOR) - (uintptr_t)keys % sizeof(VECTOR)) % sizeof(VECTOR) / sizeof(KEY)));
    const uint64_t nvectors = (n - head) / PER_VECTOR, tail = head + nvectors * PER_VECTOR;
    const VECTOR *vectors = (const VECTOR *)(keys + head);

    uint64_t v = thread;
    for (; v + (LOADS - 1) * stride < nvectors; v += LOADS * stride) {
        union {
            VECTOR vector[LOADS];
            KEY key[LOADS * PER_VECTOR];
        } got;
#pragma unroll
        for (uint32_t i = 0; i < LOADS; i++) got.vector[i] = vectors[v + i * stride];
        counter.add(got.key);
    }
    for (; v < nvectors; v += stride) {
        union {
            VECTOR vector;
            KEY key[PER_VECTOR];
        } got;
        got.vector = vectors[v];
        counter.add(got.key);
    }
    if (thread < head + (n - tail)) {
        KEY key[1] = {keys[thread < head ? thread : tail + thread - head]};
        counter.add(key);
    }
}

#endif
