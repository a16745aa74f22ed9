/* lookback.cuh: the look-back pass: one launch, one pass over the data, on every GPU.
 *
 *   tile      0       1       2      ...    31   |   32      33     ...    63   |   64 ...        a CTA each, in ticket order
 *   word   [A 0 ] [A 1 ] [A 2 ]  ...  [I 31]     [A 32] [A 33]  ...  [A 63]     [A 64]            what the tile has published
 *             \______ a group of 32 ______/         \_____ folded: G 1 _____/       \ folded
 *
 * A CTA draws a tile, reduces it, publishes the tile's aggregate A, finds the prefix of all tiles before it, and finishes the tile. For the
 * prefix it folds the aggregates of its own group before it, and walks back over whole groups, folding each, until it meets one whose last
 * word is inclusive (I: everything up to and with that group, published by the group's last tile when it knew it). Four groups are read
 * at a time, since each look costs a round trip to the L2 cache. Every CTA waits only for tiles whose tickets were drawn before its own,
 * so those CTAs run, and the walk ends, whatever order the hardware starts CTAs in.
 *
 * Fixed order. With S(g) = S(g - 1) op G(g), G a tree of fixed shape over the 32 aggregates, the prefix of tile t is S(g - 1) op a tree
 * over the aggregates of its group: the same expression wherever the walk stopped, so that floats have the same bits every time. (The usual
 * look-back, where any tile may publish its inclusive prefix and windows end anywhere, does not have this.)
 *
 * The words live in the context's control memory as a ring and are never cleared. All tiles of all launches are numbered in one
 * sequence; sequence number s uses word s % RING, and the word carries s / RING (mod 2^14) as its tag. What makes that safe:
 *   1. No number of the sequence is left out, so a word holds either what we want or what it held exactly one round before: the tag
 *      cannot be mistaken. (Launches are padded to whole groups; the padding is published too.)
 *   2. A launch covers at most RING / 2 numbers, and reads at most its own and the 4 groups before: nothing that it may still read is
 *      overwritten by it. A longer input takes several launches; each finds the prefix in the words of the one before.
 *   3. The counter is one 64-bit word {first number of this launch, tickets drawn}: one atomic add tells a CTA both. Whoever draws the last
 *      ticket sets it to {first number of the next launch, 0}: nobody else will touch it in this launch.
 * So there is nothing to reset on the host: n may change from call to call, a captured launch may be replayed, and contexts do not meet,
 * as each has its own control memory. (Launches of one context must not overlap: they are queued on one stream.)
 *
 * In place. A tile may be overwritten by a later one's output (compaction) only once that one knows its prefix, which is computed from our
 * aggregate, which is computed from what we have read: reads come first. For the same reason the carry-in is folded into the aggregate of
 * tile 0 and read by nobody else, so the carry-out may replace it.
 *
 * A primitive supplies a policy P:
 *   Args, Shared (shared memory), THREADS, CTAS, TILE_ITEMS
 *   Value, Op: an aggregate and how two combine; WORD_NBYTES: 8 for values (or counts) below 2^48, 16 for any 8-byte value
 *   carry_in(args); Value reduce(args, tile): loads its part and returns its warp's aggregate, in all lanes
 *   finish(args, tile, scanned, shared): with the prefix of the tile, what comes before the warp in the tile, and the tile's aggregate
 * Source: Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back, 2016; groups, fixed order and ring are our own.
 */
#ifndef UPSWEEP_CUDA_LOOKBACK_CUH
#define UPSWEEP_CUDA_LOOKBACK_CUH

#include "block.cuh"
#include "launch.h"
#include "tuning.h"

enum { GROUP_TILES = 32, WALK_GROUPS = 4, RING_TILES = 1 << 17, MAX_LAUNCH_TILES = RING_TILES / 2 };

/* ---- words ------------------------------------------------------------------------------------------------------------------- */

enum { TILE_NOTHING, TILE_AGGREGATE, TILE_INCLUSIVE };

/* {status 2, tag 14}: zeroed memory says TILE_NOTHING. */
static __device__ __forceinline__ uint32_t word_header(uint32_t status, uint32_t sequence) {
    return status << 14 | (sequence / RING_TILES & 0x3fff);
}

template <int NBYTES> struct TileWord;

template <> struct TileWord<8> { /* header above 48 bits of value */
    uint64_t bits;
    __device__ __forceinline__ void store(uint32_t header, uint64_t value) { store_relaxed_8(&bits, (uint64_t)header << 48 | value); }
    __device__ __forceinline__ void load(uint32_t *header, uint64_t *value) const {
        const uint64_t x = load_relaxed_8(&bits);
        *header = (uint32_t)(x >> 48);
        *value = x & ~0ull >> 16;
    }
};

template <> struct alignas(16) TileWord<16> {
    uint64_t bits[2];
    __device__ __forceinline__ void store(uint32_t header, uint64_t value) { store_relaxed_16(bits, value, header); }
    __device__ __forceinline__ void load(uint32_t *header, uint64_t *value) const {
        uint64_t high;
        load_relaxed_16(bits, value, &high);
        *header = (uint32_t)high;
    }
};

/* In control memory, zero before the first launch. */
template <int NBYTES> struct TileRing {
    unsigned long long counter; /* {first sequence number of the launch, tickets drawn} */
    uint64_t apart[15];         /* nobody polls the counter's cache line */
    TileWord<NBYTES> word[RING_TILES];

    __device__ __forceinline__ TileWord<NBYTES> *at(uint32_t sequence) { return word + sequence % RING_TILES; }
};

/* ---- tickets ----------------------------------------------------------------------------------------------------------------- */

struct LookbackLaunch {
    uint32_t first_tile; /* a multiple of GROUP_TILES */
    uint32_t ntiles;     /* of this launch: one CTA each */
    bool alone;          /* the only tile of the call: nothing to exchange */
};

struct Ticket {
    uint32_t tile;     /* of the call */
    uint32_t sequence; /* of that tile */
};

/* By one thread. */
template <int NBYTES> static __device__ __forceinline__ Ticket draw_ticket(TileRing<NBYTES> *ring, LookbackLaunch launch) {
    const unsigned long long drawn = atomicAdd(&ring->counter, 1ull);
    const uint32_t base = (uint32_t)(drawn >> 32), place = (uint32_t)drawn;
    if (place == launch.ntiles - 1) {
        const uint32_t padded = (launch.ntiles + GROUP_TILES - 1) / GROUP_TILES * GROUP_TILES;
        store_relaxed_8(&ring->counter, (uint64_t)(base + padded) << 32);
        for (uint32_t i = launch.ntiles; i < padded; i++) ring->at(base + i)->store(word_header(TILE_AGGREGATE, base + i), 0);
    }
    return {launch.first_tile + place, base + place};
}

/* ---- the prefix of a tile ---------------------------------------------------------------------------------------------------- */

/* One warp's view of the ring. P: the policy. */
template <class P> struct Lookback {
    typedef typename P::Value V;
    typedef typename P::Op Op;

    TileRing<P::WORD_NBYTES> *ring;
    int lane;

    static __device__ __forceinline__ V neutral() { return (V)Neutral<Op>::value(); }

    /* A word of each lane; true where it is there. */
    __device__ __forceinline__ bool read(uint32_t sequence, uint32_t *status, V *value) const {
        uint32_t header;
        uint64_t bits;
        ring->at(sequence)->load(&header, &bits);
        *status = header >> 14;
        *value = value_of<V>(bits);
        return *status != TILE_NOTHING && ((header ^ sequence / RING_TILES) & 0x3fff) == 0;
    }

    __device__ __forceinline__ void publish(uint32_t sequence, uint32_t status, V value) const {
        ring->at(sequence)->store(word_header(status, sequence), bits_of(value));
    }

    /* S(group): walks back from it, to be called by the whole warp. `sequence` is that of the group's first tile. */
    __device__ V walk(int group, uint32_t sequence) const {
        V passed = neutral(); /* lane i: the fold of the i-th group passed on the way */
        int npassed = 0;
        V prefix = neutral(); /* before group 0 there is nothing */
        while (group >= 0) {
            uint32_t status[WALK_GROUPS];
            V value[WALK_GROUPS];
            bool here[WALK_GROUPS];
#pragma unroll
            for (int j = 0; j < WALK_GROUPS; j++)
                here[j] = group - j >= 0 && read(sequence - j * GROUP_TILES + lane, &status[j], &value[j]);
            bool stop = false;
            int ngood = 0;
#pragma unroll
            for (int j = 0; j < WALK_GROUPS; j++) {
                if (stop || group - j < 0) continue;
                const int inclusive = __shfl_sync(ALL_LANES, here[j] && status[j] == TILE_INCLUSIVE, GROUP_TILES - 1);
                if (inclusive) {
                    prefix = (V)__shfl_sync(ALL_LANES, value[j], GROUP_TILES - 1);
                    group = -1; /* found */
                    stop = true;
                } else if (!__all_sync(ALL_LANES, here[j]) || npassed == 32) {
                    stop = true; /* look again from here */
                } else {
                    const V fold = warp_fold<Op>(value[j]);
                    if (lane == npassed) passed = fold;
                    npassed++;
                    ngood++;
                }
            }
            group -= ngood;
            sequence -= ngood * GROUP_TILES;
        }
        while (npassed > 0) prefix = Op::apply(prefix, (V)__shfl_sync(ALL_LANES, passed, --npassed));
        return prefix;
    }

    /* Publishes the aggregate of the warp's tile and returns its prefix. */
    __device__ V exchange(Ticket ticket, V aggregate) const {
        const int place = (int)(ticket.tile % GROUP_TILES);
        const uint32_t group_sequence = ticket.sequence - (uint32_t)place;
        if (lane == 0) publish(ticket.sequence, TILE_AGGREGATE, aggregate);
        const V before = walk((int)(ticket.tile / GROUP_TILES) - 1, group_sequence - GROUP_TILES);
        V value = neutral();
        uint32_t status;
        while (!__all_sync(ALL_LANES, lane >= place || read(group_sequence + (uint32_t)lane, &status, &value))) {
        }
        if (place == GROUP_TILES - 1) {
            const V up_to = Op::apply(before, warp_fold<Op>(lane == place ? aggregate : value));
            if (lane == 0) publish(ticket.sequence, TILE_INCLUSIVE, up_to);
        }
        return Op::apply(before, warp_fold<Op>(lane < place ? value : neutral()));
    }
};

/* ---- the kernel -------------------------------------------------------------------------------------------------------------- */

/* What a warp knows when it finishes its part of a tile. */
template <class V> struct Scanned {
    V prefix;    /* of the tile */
    V before;    /* of the warp, in the tile */
    V aggregate; /* of the tile */
};

template <class P> struct LookbackShared {
    typename P::Value warp[P::THREADS / 32], before[P::THREADS / 32];
    typename P::Value prefix, aggregate;
    Ticket ticket;
};

/* By one warp: from the warps' aggregates to everybody's prefixes. */
template <class P>
static __device__ __forceinline__ void scan_tile(const typename P::Args &args, TileRing<P::WORD_NBYTES> *ring, bool alone, Ticket ticket,
                                                 LookbackShared<P> &s, int lane) {
    typedef typename P::Value V;
    constexpr int WARPS = P::THREADS / 32;
    const Lookback<P> lookback = {ring, lane};
    V x[1] = {lane < WARPS ? s.warp[lane] : lookback.neutral()};
    warp_scan_rows<typename P::Op>(x, lane);
    const V left = (V)__shfl_up_sync(ALL_LANES, x[0], 1);
    V aggregate = (V)__shfl_sync(ALL_LANES, x[0], WARPS - 1);
    if (lane < WARPS) s.before[lane] = lane == 0 ? lookback.neutral() : left;
    if (lane == 0) s.aggregate = aggregate;
    V prefix = lookback.neutral();
    if (ticket.tile == 0) {
        prefix = P::carry_in(args);
        aggregate = P::Op::apply(prefix, aggregate);
    }
    if (!alone) {
        const V found = lookback.exchange(ticket, aggregate);
        if (ticket.tile != 0) prefix = found;
    }
    if (lane == 0) s.prefix = prefix;
}

template <class P>
static __global__ void __launch_bounds__(P::THREADS, P::CTAS)
    lookback_kernel(const __grid_constant__ typename P::Args args, const __grid_constant__ LookbackLaunch launch,
                    TileRing<P::WORD_NBYTES> *ring) {
    __shared__ LookbackShared<P> s;
    __shared__ typename P::Shared s_policy;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    Ticket ticket = {0, 0};
    if (!launch.alone) {
        if (threadIdx.x == 0) s.ticket = draw_ticket(ring, launch);
        __syncthreads(); /* the ticket is there */
        ticket = s.ticket;
    }
    P policy;
    const typename P::Value mine = policy.reduce(args, ticket.tile, warp, lane);
    if (lane == 0) s.warp[warp] = mine;
    __syncthreads(); /* the warps' aggregates are there; and all of them have read their elements */
    if (warp == 0) scan_tile<P>(args, ring, launch.alone, ticket, s, lane);
    __syncthreads(); /* the prefixes are there */
    policy.finish(args, ticket.tile, {s.prefix, s.before[warp], s.aggregate}, s_policy, warp, lane);
}

static_assert(CUDA_CONTROL_LOOKBACK_8 + sizeof(TileRing<8>) <= CUDA_CONTROL_LOOKBACK_16, "rings overlap");
static_assert(CUDA_CONTROL_LOOKBACK_16 + sizeof(TileRing<16>) <= CUDA_CONTROL_RING_4, "rings overlap");

static inline size_t control_offset(int word_nbytes) { return word_nbytes == 8 ? CUDA_CONTROL_LOOKBACK_8 : CUDA_CONTROL_LOOKBACK_16; }

/* Queues the launches of one call over n items. */
template <class P> static cudaError_t launch_lookback(const struct cuda_queue *queue, const typename P::Args &args, uint64_t n) {
    const uint64_t all_tiles = n == 0 ? 1 : (n - 1) / P::TILE_ITEMS + 1;
    if (all_tiles > INT32_MAX) return cudaErrorInvalidValue;
    TileRing<P::WORD_NBYTES> *ring = (TileRing<P::WORD_NBYTES> *)((char *)queue->control + control_offset(P::WORD_NBYTES));
    for (uint64_t first = 0; first < all_tiles; first += MAX_LAUNCH_TILES) {
        const uint64_t left = all_tiles - first, ntiles = left < MAX_LAUNCH_TILES ? left : MAX_LAUNCH_TILES;
        const LookbackLaunch launch = {(uint32_t)first, (uint32_t)ntiles, all_tiles == 1};
        void *parameters[] = {(void *)&args, (void *)&launch, (void *)&ring};
        const cudaError_t error = cudaLaunchKernel((const void *)lookback_kernel<P>, dim3((unsigned)ntiles), dim3(P::THREADS), parameters,
                                                   0, (cudaStream_t)queue->stream);
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

#endif
