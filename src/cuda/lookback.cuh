/* lookback.cuh: the look-back pass: one launch, one pass over the data, on every GPU.
 *
 *   tiles         0       1      2     ...    31   |   32      33    ...    63   |   64 ...        a CTA each, in ticket order
 *   tile words  [A 0 ] [A 1 ] [A 2 ]  ...  [A 31]     [A 32] [A 33] ...  [A 63]     [A 64]         A: the tile's aggregate
 *                 \_______ group 0 _________/           \_______ group 1 _______/
 *   group words        [G 0, then S 0]                       [G 1, then S 1]                       G: of the group, S: of all so far
 *
 * A CTA draws a tile, reduces it, publishes its aggregate, finds the prefix of all tiles before it, and finishes the tile. The prefix is S
 * of the group before, and the aggregates of its own group up to it. The last CTA of a group publishes G as soon as it has seen the whole
 * group, and S once it knows it. To know S, a CTA walks back over the group words to the nearest S and adds the G on the way: one round
 * trip to the L2 cache for 512 tiles. Every CTA waits only for tiles whose tickets were drawn before its own, so those CTAs run, and the
 * walk ends, whatever order the hardware starts CTAs in.
 *
 * Why groups. The CTAs all poll the same few lines of L2, and that is what limits a look-back: on an H200 a compaction became 1.14 times
 * faster by reading 32 tile words at a time instead of 128, and 1.28 times by doubling the tiles. With groups a poll is one line.
 *
 * Fixed order. S(g) = S(g - 1) op G(g), G a tree of fixed shape, and the prefix of a tile is S(g - 1) op a tree over its group: the same
 * expression wherever the walk stopped, so that floats have the same bits every time. (The usual look-back, where any tile may publish
 * its inclusive prefix and windows end anywhere, does not have this.)
 *
 * If all tiles are resident (a cooperative launch) and few, each reads the words of all others at once, with no groups: one round trip, and
 * the total is known too, which is what a partition needs before it can place a rejected element.
 *
 * In place. A tile may be overwritten by a later one's output (compaction) only once that one knows its prefix, which is computed from our
 * aggregate, which is computed from what we have read: reads come first. For the same reason the carry-in is folded into the aggregate of
 * tile 0 and read by nobody else, so the carry-out may replace it.
 *
 * The words and what is read of them: lookback_exchange.cuh. What a primitive supplies: lookback_policy.cuh.
 * Source: Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back, 2016; groups, fixed order and ring are our own.
 */
#ifndef UPSWEEP_CUDA_LOOKBACK_CUH
#define UPSWEEP_CUDA_LOOKBACK_CUH

#include "lookback_exchange.cuh"
#include "lookback_policy.cuh"
#include "overlap.cuh"
#include "tuning.h"

template <class P> struct LookbackShared {
    typename P::Value warp[P::THREADS / 32], before[P::THREADS / 32];
    typename P::Value prefix, aggregate, total;
    Ticket ticket;
};

/* By one warp: from the warps' aggregates to everybody's prefixes. */
template <class P, class F>
static __device__ __forceinline__ void scan_tile(const typename P::Args &args, LookbackLaunch launch, TileRing<P::WORD_NBYTES> *ring,
                                                 Ticket ticket, LookbackShared<P> &s, int lane, F meanwhile) {
    typedef typename P::Value V;
    constexpr int WARPS = P::THREADS / 32;
    const Lookback<P> lookback = {ring, lane};
    V x[1] = {lane < WARPS ? s.warp[lane] : lookback.neutral()};
    warp_scan_rows<typename P::Op, WARPS>(x, lane);
    const V left = (V)__shfl_up_sync(ALL_LANES, x[0], 1);
    V aggregate = (V)__shfl_sync(ALL_LANES, x[0], WARPS - 1);
    if (lane < WARPS) s.before[lane] = lane == 0 ? lookback.neutral() : left;
    if (lane == 0) s.aggregate = aggregate;
    V prefix = lookback.neutral(), total = lookback.neutral();
    if (ticket.tile == 0) {
        prefix = P::carry_in(args);
        aggregate = P::Op::apply(prefix, aggregate);
    }
    const V found = launch.wants_total ? lookback.exchange_all(ticket, launch.ntiles, aggregate, &total, meanwhile)
                                       : lookback.exchange(ticket, aggregate, meanwhile);
    if (ticket.tile != 0) prefix = found;
    if (lane == 0) s.prefix = prefix, s.total = total;
}

/* By all threads of a CTA: asks for bytes [from, to) of `in` to be brought to the L2 cache. A hint, and free of side effects. */
static __device__ __forceinline__ void prefetch_bytes(const void *in, uint64_t from, uint64_t to) {
    for (uint64_t i = from + threadIdx.x * 128; i < to; i += blockDim.x * 128)
        asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)in + i));
}

template <class P>
static __global__ void __launch_bounds__(P::THREADS, P::CTAS)
    lookback_kernel(const __grid_constant__ typename P::Args args, const __grid_constant__ LookbackLaunch launch,
                    TileRing<P::WORD_NBYTES> *ring) {
    __shared__ LookbackShared<P> s;
    __shared__ typename P::Shared s_policy;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    if (!launch.wants_total) wait_for_previous(args, launch, ring); /* or else the launch is cooperative, and never set up early */
    let_next_start();
    /* CTAs mostly start in the order of their numbers, so the tile with ours will be wanted soon, by us or by a neighbour: drawing a
     * ticket takes as long as fetching a tile from memory. */
    const uint64_t first = (launch.first_tile + blockIdx.x) * (uint64_t)P::TILE_ITEMS;
    prefetch_bytes(args.in, first * P::IN_NBYTES, min(first + P::TILE_ITEMS, args.n) * P::IN_NBYTES);
    unsigned long long drawn = 0;
    uint32_t tile = blockIdx.x;
    if (threadIdx.x == 0) drawn = atomicAdd(&ring->counter, 1ull);
    if (!launch.wants_total) {
        if (threadIdx.x == 0) s.ticket = take_ticket(ring, launch, drawn);
        __syncthreads(); /* the ticket is there */
        tile = s.ticket.tile;
    }
    P policy;
    const typename P::Value mine = policy.reduce(args, tile, s_policy, warp, lane);
    if (lane == 0) s.warp[warp] = mine;
    if (threadIdx.x == 0 && launch.wants_total) s.ticket = take_ticket(ring, launch, drawn);
    __syncthreads(); /* the warps' aggregates and the ticket are there; and all of them have read their elements */
    const Ticket ticket = s.ticket;
    const auto rank = [&] { policy.rank(lane); };
    if (warp == 0)
        scan_tile<P>(args, launch, ring, ticket, s, lane, rank);
    else
        rank();
    /* By a warp that has to wait anyway. */
    if (threadIdx.x == 32) prefetch_next_words(ring, launch, ticket);
    __syncthreads(); /* the prefixes are there */
    policy.finish(args, tile, {s.prefix, s.before[warp], s.aggregate, s.total}, s_policy, warp, lane);
}

static_assert(CUDA_CONTROL_LOOKBACK_8 + sizeof(TileRing<8>) <= CUDA_CONTROL_LOOKBACK_16, "rings overlap");
static_assert(CUDA_CONTROL_LOOKBACK_16 + sizeof(TileRing<16>) <= CUDA_CONTROL_RING_4, "rings overlap");

static inline size_t control_offset(int word_nbytes) { return word_nbytes == 8 ? CUDA_CONTROL_LOOKBACK_8 : CUDA_CONTROL_LOOKBACK_16; }

template <class P> static cudaError_t launch_tiles(const struct cuda_queue *queue, const typename P::Args &args, LookbackLaunch launch) {
    TileRing<P::WORD_NBYTES> *ring = (TileRing<P::WORD_NBYTES> *)((char *)queue->control + control_offset(P::WORD_NBYTES));
    void *parameters[] = {(void *)&args, (void *)&launch, (void *)&ring};
    const void *kernel = (const void *)lookback_kernel<P>;
    if (!launch.wants_total) return launch_overlapping(queue, kernel, launch.ntiles, P::THREADS, 1, parameters);
    return cudaLaunchCooperativeKernel(kernel, dim3(launch.ntiles), dim3(P::THREADS), parameters, 0, (cudaStream_t)queue->stream);
}

/* Queues the launches of one call over n items. */
template <class P> static cudaError_t launch_lookback(const struct cuda_queue *queue, const typename P::Args &args, uint64_t n) {
    const uint64_t all_tiles = tiles_of<P>(n);
    if (all_tiles > INT32_MAX) return cudaErrorInvalidValue;
    for (uint64_t first = 0; first < all_tiles; first += MAX_LAUNCH_TILES) {
        const uint64_t left = all_tiles - first, ntiles = left < MAX_LAUNCH_TILES ? left : MAX_LAUNCH_TILES;
        const cudaError_t error = launch_tiles<P>(queue, args, {(uint32_t)first, (uint32_t)ntiles, false});
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

/* Can all tiles of n items be resident, so that each may know the total before it finishes? */
template <class P> static bool can_know_total(const struct cuda_queue *queue, uint64_t n) {
    int ctas = 0;
    if (!queue->cooperative || tiles_of<P>(n) > (uint64_t)queue->nsms * P::CTAS) return false;
    if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, (const void *)lookback_kernel<P>, P::THREADS, 0) != cudaSuccess) return false;
    return tiles_of<P>(n) <= (uint64_t)queue->nsms * (unsigned)ctas;
}

template <class P> static cudaError_t launch_with_total(const struct cuda_queue *queue, const typename P::Args &args, uint64_t n) {
    return launch_tiles<P>(queue, args, {0, (uint32_t)tiles_of<P>(n), true});
}

#endif
