/* count.cuh: how many elements satisfy a predicate: what a partition must know before it can place the first rejected element.
 *
 * No CTA waits for another: each counts its share and adds it to one 64-bit word in control memory, {arrivals 16, count 48}. The CTA that
 * arrives last reads the sum off its own atomic add, stores it, and clears the word for the next launch.
 * Cost: n elements read, at the speed of memory; with the exchange of a look-back pass it took twice as long. */
#ifndef UPSWEEP_CUDA_COUNT_CUH
#define UPSWEEP_CUDA_COUNT_CUH

#include "keep.cuh"
#include "launch.h"
#include "tuning.h"
#include "warp.cuh"

/* A bit for each element of the vector at `first` that lies before n. */
template <int VEC> static __device__ __forceinline__ uint32_t input_bits(uint64_t first, uint64_t n) {
    const uint32_t all = (1u << VEC) - 1;
    return first + VEC <= n ? all : first < n ? all >> (VEC - (uint32_t)(n - first)) : 0;
}

/* How many of in [n] this thread, one of `step`, counts as kept: its warp takes ROWS rows side by side, and goes on as many as all warps
 * take. From the end to the start: the pass that follows begins at the start, and finds there what has been read last, [nagain], still in
 * the L2 cache. */
template <int ROWS, class T>
static __device__ __forceinline__ unsigned long long count_share(const Keep<T> &keep, const T *in, uint64_t n, uint64_t nagain,
                                                                 bool aligned, uint64_t thread, uint64_t step) {
    constexpr unsigned VEC = 16 / sizeof(T), ROW_ITEMS = 32 * VEC, CHUNK_ITEMS = ROWS * ROW_ITEMS;
    const uint64_t nchunks = (n + CHUNK_ITEMS - 1) / CHUNK_ITEMS;
    unsigned long long kept = 0;
    for (uint64_t c = thread / 32; c < nchunks; c += step / 32) {
        const uint64_t chunk = (nchunks - 1 - c) * CHUNK_ITEMS, first = chunk + thread % 32 * VEC;
        const bool whole = chunk + CHUNK_ITEMS <= n;
        uint4 data[ROWS];
        if (aligned && whole) { /* all loads leave together */
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const uint4 *const p = (const uint4 *)(in + first + r * ROW_ITEMS);
                data[r] = chunk < nagain ? __ldg(p) : __ldcs(p);
            }
        } else {
#pragma unroll
            for (int r = 0; r < ROWS; r++) data[r] = load_packed<T, VEC>(in, first + r * ROW_ITEMS, n, aligned, T(0));
        }
        unsigned here = 0;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const uint32_t bits = kept_bits<T, VEC>(keep, data[r]);
            here += (unsigned)__popc(whole ? bits : bits & input_bits<VEC>(first + r * ROW_ITEMS, n));
        }
        kept += here;
    }
    return kept;
}

template <class T>
static __global__ void __launch_bounds__(COUNT_THREADS)
    count_kernel(const __grid_constant__ Keep<T> keep, const T *in, uint64_t n, bool aligned, unsigned long long *word, uint64_t *count) {
    __shared__ unsigned long long s_warp[COUNT_THREADS / 32];
    const uint64_t thread = (uint64_t)blockIdx.x * COUNT_THREADS + threadIdx.x, step = (uint64_t)gridDim.x * COUNT_THREADS;
    unsigned long long kept = count_share<COUNT_ROWS>(keep, in, n, n, aligned, thread, step);
    unsigned long long sum[1] = {kept};
    warp_fold_rows<Add<unsigned long long>>(sum);
    if (threadIdx.x % 32 == 0) s_warp[threadIdx.x / 32] = sum[0];
    __syncthreads(); /* the warps' counts are there */
    if (threadIdx.x != 0) return;
    kept = 0;
    for (int w = 0; w < COUNT_THREADS / 32; w++) kept += s_warp[w];
    const unsigned long long before = atomicAdd(word, 1ull << 48 | kept);
    if (before >> 48 != gridDim.x - 1) return;
    *count = (before & ~0ull >> 16) + kept;
    *word = 0;
}

/* Queues a count of in [n] into count [1]. */
template <class T>
static cudaError_t launch_count(const struct cuda_queue *queue, Keep<T> keep, const T *in, uint64_t n, bool aligned, uint64_t *count) {
    const uint64_t tiles = n * sizeof(T) / (COUNT_THREADS * COUNT_ROWS * 16) + 1, most = (uint64_t)queue->nsms * COUNT_CTAS;
    const unsigned ctas = (unsigned)(tiles < most ? tiles : most);
    void *word = (char *)queue->control + CUDA_CONTROL_COUNT;
    void *parameters[] = {&keep, &in, &n, &aligned, &word, &count};
    return cudaLaunchKernel((const void *)count_kernel<T>, dim3(ctas), dim3(COUNT_THREADS), parameters, 0, (cudaStream_t)queue->stream);
}

#endif
