/* small.cuh: inputs of a single tile: one CTA, nothing to exchange.
 *
 * The policies are those of the look-back pass, in shapes of their own: a row or two a warp and many warps, so that all is loaded at once.
 * One barrier: behind it every warp scans the warps' aggregates for itself. What is left is what any kernel costs: its
 * start, one load and one store. */
#ifndef UPSWEEP_CUDA_SMALL_CUH
#define UPSWEEP_CUDA_SMALL_CUH

#include "lookback.cuh"

template <class P> static __global__ void __launch_bounds__(P::THREADS) small_kernel(const __grid_constant__ typename P::Args args) {
    typedef typename P::Value V;
    constexpr int WARPS = P::THREADS / 32;
    __shared__ V s_warp[WARPS];
    __shared__ typename P::Shared s_policy;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const V start = P::carry_in(args);
    P policy;
    const V mine = policy.reduce(args, 0, s_policy, warp, lane);
    if (lane == 0) s_warp[warp] = mine;
    __syncthreads(); /* the warps' aggregates are there; and all of them have read their elements */
    V x[1] = {lane < WARPS ? s_warp[lane] : (V)Neutral<typename P::Op>::value()};
    warp_scan_rows<typename P::Op, WARPS>(x, lane);
    const V before = warp == 0 ? (V)Neutral<typename P::Op>::value() : (V)__shfl_sync(ALL_LANES, x[0], warp == 0 ? 0 : warp - 1);
    const V all = (V)__shfl_sync(ALL_LANES, x[0], WARPS - 1);
    policy.finish(args, 0, {start, before, all, P::Op::apply(start, all)}, s_policy, warp, lane);
}

/* Unless a pass has been asked for by name. */
static inline bool should_run_small(const struct cuda_queue *queue, uint64_t nbytes, uint64_t most_nbytes) {
    return nbytes <= most_nbytes && !queue->only_lookback && !queue->only_ring;
}

/* Queues the kernel of one call over at most P::TILE_ITEMS items. */
template <class P> static cudaError_t launch_small(const struct cuda_queue *queue, const typename P::Args &args) {
    void *parameters[] = {(void *)&args};
    return cudaLaunchKernel((const void *)small_kernel<P>, dim3(1), dim3(P::THREADS), parameters, 0, (cudaStream_t)queue->stream);
}

#endif
