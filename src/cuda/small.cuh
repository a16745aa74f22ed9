/* small.cuh: inputs of a single tile: one CTA, nothing to exchange (cluster.cuh: a few tiles).
 *
 * The policies are those of the look-back pass, in shapes of their own: a row or two a warp and many warps, so that all is loaded at once.
 * One barrier: behind it every warp scans the warps' aggregates for itself. What is left is what any kernel costs: its
 * start, one load and one store. */
#ifndef UPSWEEP_CUDA_SMALL_CUH
#define UPSWEEP_CUDA_SMALL_CUH

#include "lookback_policy.cuh"
#include "overlap.cuh"
#include "warp.cuh"

template <class P> static __global__ void __launch_bounds__(P::THREADS) small_kernel(const __grid_constant__ typename P::Args args) {
    typedef typename P::Value V;
    typedef typename P::PartOp Op;
    typedef typename P::Part Part;
    constexpr int WARPS = P::THREADS / 32;
    __shared__ Part s_warp[WARPS];
    __shared__ typename P::Shared s_policy;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    wait_for_previous(args);
    let_next_start();
    const V start = P::carry_in(args);
    P policy;
    const V mine = policy.reduce(args, 0, s_policy, warp, lane);
    if (lane == 0) s_warp[warp] = (Part)mine;
    policy.rank(lane);
    __syncthreads(); /* the warps' aggregates are there; and all of them have read their elements */
    const Parts<Part> parts = fold_parts<Op, WARPS>(lane < WARPS ? s_warp[lane] : (Part)Neutral<Op>::value(), warp, lane);
    policy.finish(args, 0, {start, (V)parts.before, (V)parts.all, P::Op::apply(start, (V)parts.all)}, s_policy, warp, lane);
}

/* Is this an input of one tile? */
template <class P> static inline bool should_run_small(const struct cuda_queue *queue, uint64_t n) {
    return n <= P::TILE_ITEMS && may_choose(queue);
}

/* Queues the kernel of one call over at most P::TILE_ITEMS items. */
template <class P> static cudaError_t launch_small(const struct cuda_queue *queue, const typename P::Args &args) {
    void *parameters[] = {(void *)&args};
    return launch_overlapping(queue, (const void *)small_kernel<P>, 1, P::THREADS, 1, parameters);
}

#endif
