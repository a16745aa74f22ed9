/* cluster.cuh: inputs of a few tiles: one thread block cluster, whose CTAs exchange their aggregates through shared memory.
 *
 *   CTA 0         reduce ->  A0 -.   cells of:   A0 A1 A2 ... A7   -> prefix: nothing
 *   CTA 1         reduce ->  A1 --+->            A0 A1 A2 ... A7   -> prefix: A0
 *     ...                         |                ...
 *   CTA 7         reduce ->  A7 -'               A0 A1 A2 ... A7   -> prefix: A0 op ... op A6
 *
 * The CTAs of a cluster run at once, on neighbouring multiprocessors, and can write into one another's shared memory. Each aggregate is
 * sent into a cell of every CTA, by a store that also reports to a barrier there: when all have come, all is known. That takes one way,
 * about 0.15 us, where a store and then a barrier of the whole cluster take 0.35, and words in the L2 cache (lookback.cuh) 1.5. In CTAs of
 * a few warps each warp has a cell, so that they need not meet; with more there would be too many messages. The policies are those of the
 * look-back pass, a partition knows its total without further ado, and nothing outlives the launch: no control memory.
 *
 * In place: a word is computed from what its warps have read, so who has all words knows that all has been read. Only for what no word
 * depends on, a carry-in that is overwritten and elements that are chosen by flags, a fence is needed, of 0.2 us.
 *
 * Portable clusters have up to 8 CTAs; an H200 runs 16. Where there are fewer, or none (before sm_90), longer inputs go to the look-back
 * pass. Floats: prefixes are trees of a shape that depends on nothing but the number of CTAs, which depends on n. */
#ifndef UPSWEEP_CUDA_CLUSTER_CUH
#define UPSWEEP_CUDA_CLUSTER_CUH

#include "async.cuh"
#include "lookback_policy.cuh"
#include "overlap.cuh"
#include "warp.cuh"
#include "words.cuh"

enum { CLUSTER_MAX_CTAS = 16, CLUSTER_PORTABLE_CTAS = 8, CLUSTER_SENDING_WARPS = 4 };

static __device__ __forceinline__ void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
static __device__ __forceinline__ void cluster_wait() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/* All CTAs are here, and see what the others have written to shared memory. */
static __device__ __forceinline__ void cluster_meet() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/* A cell and a barrier in the shared memory of another CTA. */
struct RemoteCell {
    uint32_t cell, barrier;
};

/* Those that are ours in the CTA of that rank. */
static __device__ __forceinline__ RemoteCell cell_in_cta(uint64_t *s_cell, uint64_t *s_barrier, int rank) {
    RemoteCell to;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to.cell) : "r"(shared_address(s_cell)), "r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to.barrier) : "r"(shared_address(s_barrier)), "r"(rank));
    return to;
}

/* The cell = value, reported to the barrier. */
static __device__ __forceinline__ void send(RemoteCell to, uint64_t value) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(to.cell), "l"(value), "r"(to.barrier)
                 : "memory");
}

/* x, found out here and not again where it is needed, when others wait: of a shuffle's result the compiler does not know what it is. */
static __device__ __forceinline__ uint32_t known_early(uint32_t x, int lane) { return __shfl_sync(ALL_LANES, x, lane); }

template <class P> struct ClusterShared {
    static constexpr int WARPS = P::THREADS / 32, CELLS = WARPS <= CLUSTER_SENDING_WARPS ? WARPS : 1; /* of a CTA */
    uint64_t arrived;                                                                                 /* barrier: all words are here */
    alignas(16) uint64_t cell[CLUSTER_MAX_CTAS * CELLS];
    typename P::Part warp[WARPS];
    typename P::Shared policy;
};

static_assert(CLUSTER_MAX_CTAS * CLUSTER_SENDING_WARPS <= 64, "two cells a lane");
template <class Op, class Part> static __device__ __forceinline__ Part cell_within(const uint64_t *s_cell, int i, int from, int to) {
    return i >= from && i < to ? value_of<Part>(s_cell[i]) : (Part)Neutral<Op>::value();
}

/* By all lanes of a warp: x of all lanes, in their order, that of two of ncells cells in each. */
template <class Op, class Part> static __device__ __forceinline__ Part fold_pairs(Part x, int ncells) {
    Part pairs[1] = {x};
    if (!Op::ANY_ORDER && ncells <= 32)
        fold_rows_in_order<Op, 16>(pairs);
    else
        warp_fold_rows<Op>(pairs);
    return pairs[0];
}

/* The fold of cells [from, to). */
template <class Op, class Part>
static __device__ __forceinline__ Part fold_cells(const uint64_t *s_cell, int from, int to, int ncells, int lane) {
    const Part even = cell_within<Op, Part>(s_cell, 2 * lane, from, to), odd = cell_within<Op, Part>(s_cell, 2 * lane + 1, from, to);
    return fold_pairs<Op>(Op::apply(even, odd), ncells);
}

/* start op cells [0, to), to < ncells: start is taken for the cell before them. */
template <class Op, class Part>
static __device__ __forceinline__ Part fold_from(Part start, const uint64_t *s_cell, int to, int ncells, int lane) {
    const Part odd = cell_within<Op, Part>(s_cell, 2 * lane - 1, 0, to), even = cell_within<Op, Part>(s_cell, 2 * lane, 0, to);
    return fold_pairs<Op>(Op::apply(lane == 0 ? start : odd, even), ncells);
}

template <class P>
static __global__ void __launch_bounds__(P::THREADS) cluster_kernel(const __grid_constant__ typename P::Args args, uint32_t ntiles) {
#if __CUDA_ARCH__ >= 900
    typedef typename P::Value V;
    typedef typename P::PartOp Op; /* counts of a few tiles need fewer bits than those of all */
    typedef typename P::Part Part;
    typedef ClusterShared<P> Shared;
    constexpr int CELLS = Shared::CELLS;
    __shared__ Shared s;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, rank = (int)blockIdx.x, nctas = (int)gridDim.x;
    if (threadIdx.x == 0) {
        barrier_init(&s.arrived, 1);
        barrier_init_fence();
    }
    __syncwarp(); /* racecheck wants it where the compiler makes predicates of these two branches */
    if (threadIdx.x == 0) barrier_arrive_expect(&s.arrived, (unsigned)(nctas * CELLS * 8));
    cluster_arrive(); /* we have started: our shared memory is ours, and the barrier is set up */
    const int first = rank * CELLS, cell = CELLS == 1 ? first : first + warp, ncells = nctas * CELLS;
    const RemoteCell ours = cell_in_cta(&s.cell[cell], &s.arrived, lane < nctas ? lane : rank),
                     to = {known_early(ours.cell, lane), known_early(ours.barrier, lane)};
    const bool sends = known_early(lane < nctas && (CELLS > 1 || warp == 0), lane), fences = known_early(P::overwrites_aside(args), lane);
    cluster_wait(); /* all CTAs have started: theirs may be written to */
    wait_for_previous(args, ntiles);
    let_next_start();
    const V start = P::carry_in(args);
    P policy;
    const bool has_tile = (uint32_t)rank < ntiles;
    const Part mine = (Part)(has_tile ? policy.reduce(args, (uint32_t)rank, s.policy, warp, lane) : (V)Neutral<typename P::Op>::value());
    Parts<Part> in_tile = {mine, mine};
    if (fences) asm volatile("fence.acq_rel.cluster;" ::: "memory"); /* read, before anybody hears of us */
    if constexpr (CELLS == 1) {
        if (lane == 0) s.warp[warp] = mine;
        __syncthreads(); /* the warps' aggregates are there */
        in_tile = fold_parts<Op, Shared::WARPS>(lane < Shared::WARPS ? s.warp[lane] : (Part)Neutral<Op>::value(), warp, lane);
    }
    __syncwarp(); /* all lanes have read their elements */
    if (sends) send(to, bits_of(in_tile.all));
    if (has_tile) policy.rank(lane);
    barrier_wait(&s.arrived, 0);
    if (!has_tile) return;
    if constexpr (!P::COUNTS) {
        const V prefix = fold_from<Op>(start, s.cell, cell, ncells, lane);
        policy.finish_from(args, (uint32_t)rank, CELLS == 1 ? P::Op::apply(prefix, in_tile.before) : prefix, warp, lane);
    } else {
        if constexpr (CELLS > 1)
            in_tile = {fold_cells<Op, Part>(s.cell, first, cell, ncells, lane),
                       fold_cells<Op, Part>(s.cell, first, first + CELLS, ncells, lane)};
        const V prefix = P::Op::apply(start, (V)fold_cells<Op, Part>(s.cell, 0, first, ncells, lane));
        const V total = P::Op::apply(start, (V)fold_cells<Op, Part>(s.cell, 0, ncells, ncells, lane));
        policy.finish(args, (uint32_t)rank, {prefix, (V)in_tile.before, (V)in_tile.all, total}, s.policy, warp, lane);
    }
#endif
}

/* Is so much one cluster's? */
static inline bool is_one_cluster(const struct cuda_queue *queue, uint64_t nctas) {
    return nctas <= (uint64_t)queue->cluster_ctas && may_choose(queue);
}

/* Is this an input of one cluster of P's shape? */
template <class P> static inline bool should_run_cluster(const struct cuda_queue *queue, uint64_t n) {
    return is_one_cluster(queue, tiles_of<P>(n));
}

/* Queues a kernel as one cluster of at least so many CTAs. */
static inline cudaError_t launch_one_cluster(const struct cuda_queue *queue, const void *kernel, uint32_t least, uint32_t nthreads,
                                             void **parameters) {
    uint32_t nctas = 2;
    while (nctas < least) nctas *= 2;
    if (nctas > CLUSTER_PORTABLE_CTAS) {
        const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
        if (error != cudaSuccess) return error;
    }
    return launch_overlapping(queue, kernel, nctas, nthreads, nctas, parameters);
}

/* Queues the kernel of one call over n items. */
template <class P> static cudaError_t launch_cluster(const struct cuda_queue *queue, const typename P::Args &args, uint64_t n) {
    uint32_t ntiles = (uint32_t)tiles_of<P>(n);
    void *parameters[] = {(void *)&args, (void *)&ntiles};
    return launch_one_cluster(queue, (const void *)cluster_kernel<P>, ntiles, P::THREADS, parameters);
}

/* CTAs of the largest cluster of such a kernel that the device runs: 16, 8 or none. */
static inline int largest_cluster(const void *kernel, uint32_t nthreads) {
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(nthreads);
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
