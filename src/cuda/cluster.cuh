/* cluster.cuh: inputs of a few tiles: one thread block cluster, whose CTAs exchange their aggregates through shared memory.
 *
 *   CTA 0         reduce ->  A0  _   cell of:   A0 A1 A2 ... A7   -> prefix: nothing
 *   CTA 1         reduce ->  A1   \_            A0 A1 A2 ... A7   -> prefix: A0
 *     ...                          / barrier       ...
 *   CTA 7         reduce ->  A7  _/             A0 A1 A2 ... A7   -> prefix: A0 op ... op A6
 *
 * The CTAs of a cluster run at once, on neighbouring multiprocessors, and can write into one another's shared memory. Each stores its
 * aggregate into a cell of every other; one barrier of the cluster later all have all. That costs about 0.4 us, where words in the L2 cache
 * (lookback.cuh) cost 1.5: no ticket, no polling. The policies are those of the look-back pass, a partition knows its total without
 * further ado, and nothing outlives the launch: no control memory.
 *
 * Portable clusters have up to 8 CTAs; an H200 runs 16. Where there are fewer, or none (before sm_90), longer inputs go to the look-back
 * pass. Floats: prefixes are trees of a shape that depends on nothing but the number of CTAs, which depends on n. */
#ifndef UPSWEEP_CUDA_CLUSTER_CUH
#define UPSWEEP_CUDA_CLUSTER_CUH

#include "lookback.cuh"
#include "overlap.cuh"

enum { CLUSTER_MAX_CTAS = 16, CLUSTER_PORTABLE_CTAS = 8 };

static __device__ __forceinline__ void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
static __device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
static __device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/* *s_cell = value in the CTA of that rank. */
static __device__ __forceinline__ void store_in_cta(uint64_t *s_cell, int rank, uint64_t value) {
    asm volatile("{\n.reg .u32 at;\nmapa.shared::cluster.u32 at, %0, %1;\nst.shared::cluster.u64 [at], %2;\n}" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(s_cell)),
                 "r"(rank), "l"(value)
                 : "memory");
}

template <class P> static __global__ void __launch_bounds__(P::THREADS) cluster_kernel(const __grid_constant__ typename P::Args args) {
#if __CUDA_ARCH__ >= 900
    typedef typename P::Value V;
    typedef typename P::PartOp Op; /* counts of a few tiles need fewer bits than those of all */
    typedef typename P::Part Part;
    constexpr int WARPS = P::THREADS / 32;
    __shared__ Part s_warp[WARPS];
    __shared__ uint64_t s_cell[CLUSTER_MAX_CTAS]; /* the CTAs' aggregates */
    __shared__ typename P::Shared s_policy;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, rank = (int)blockIdx.x, nctas = (int)gridDim.x;
    cluster_arrive_relaxed(); /* we have started, so our shared memory is ours */
    wait_for_previous();
    let_next_start();
    const V start = P::carry_in(args);
    P policy;
    const bool has_tile = (uint64_t)rank * P::TILE_ITEMS < args.n;
    const V mine = has_tile ? policy.reduce(args, (uint32_t)rank, s_policy, warp, lane) : (V)Neutral<typename P::Op>::value();
    if (lane == 0) s_warp[warp] = (Part)mine;
    cluster_wait();  /* all CTAs have started: theirs may be written to */
    __syncthreads(); /* the warps' aggregates are there */
    const Parts<Part> in_tile = fold_parts<Op>(lane < WARPS ? s_warp[lane] : (Part)Neutral<Op>::value(), warp, lane);
    if (warp == 0 && lane < nctas) store_in_cta(&s_cell[rank], lane, bits_of(in_tile.all));
    cluster_arrive();
    cluster_wait(); /* the CTAs' aggregates are there; and all of them have read their elements and the carry-in */
    if (!has_tile) return;
    const Parts<Part> tiles = fold_parts<Op>(lane < nctas ? value_of<Part>(s_cell[lane]) : (Part)Neutral<Op>::value(), rank, lane);
    policy.finish(args, (uint32_t)rank,
                  {P::Op::apply(start, (V)tiles.before), (V)in_tile.before, (V)in_tile.all, P::Op::apply(start, (V)tiles.all)}, s_policy,
                  warp, lane);
#endif
}

/* Is this an input of one cluster of P's shape? Unless a pass has been asked for by name. */
template <class P> static inline bool should_run_cluster(const struct cuda_queue *queue, uint64_t n) {
    return tiles_of<P>(n) <= (uint64_t)queue->cluster_ctas && !queue->only_lookback && !queue->only_ring;
}

/* Queues the kernel of one call over n items. */
template <class P> static cudaError_t launch_cluster(const struct cuda_queue *queue, const typename P::Args &args) {
    uint32_t nctas = 2;
    while (nctas < tiles_of<P>(args.n)) nctas *= 2;
    void *parameters[] = {(void *)&args};
    const void *kernel = (const void *)cluster_kernel<P>;
    if (nctas > CLUSTER_PORTABLE_CTAS) {
        const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
        if (error != cudaSuccess) return error;
    }
    return launch_overlapping(queue, kernel, nctas, P::THREADS, nctas, parameters);
}

/* CTAs of the largest cluster that the device runs: 16, 8 or none. Every P needs less than one multiprocessor a CTA, so any P may ask. */
template <class P> static int largest_cluster() {
    const void *kernel = (const void *)cluster_kernel<P>;
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(P::THREADS);
    config.attrs = &attribute;
    config.numAttrs = 1;
    attribute.id = cudaLaunchAttributeClusterDimension;
    for (unsigned nctas = CLUSTER_MAX_CTAS; nctas >= CLUSTER_PORTABLE_CTAS; nctas /= 2) {
        int nclusters = 0;
        config.gridDim = dim3(nctas);
        attribute.val.clusterDim = {nctas, 1, 1};
        if (cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) == cudaSuccess &&
            cudaOccupancyMaxActiveClusters(&nclusters, kernel, &config) == cudaSuccess && nclusters > 0)
            return (int)nctas;
        (void)cudaGetLastError();
    }
    return 0;
}

#endif
