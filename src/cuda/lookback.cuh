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
 * The words live in the context's control memory as a ring and are never cleared. All tiles of all launches are numbered in one
 * sequence; sequence number s uses word s % RING, and the word carries s / RING (mod 2^14) as its tag. What makes that safe:
 *   1. No number of the sequence is left out, so a word holds either what we want or what it held exactly one round before: the tag
 *      cannot be mistaken. (Launches are padded to whole groups; the padding is published too.)
 *   2. A launch covers at most RING / 2 numbers, and reads at most its own and the 16 groups before: nothing that it may still read is
 *      overwritten by it. A longer input takes several launches; each finds the prefix in the words of the one before.
 *   3. The counter is one 64-bit word {first number of this launch, tickets drawn}: one atomic add tells a CTA both. Whoever draws the last
 *      ticket sets it to {first number of the next launch, 0}: nobody else will touch it in this launch.
 * So there is nothing to reset on the host: n may change from call to call, a captured launch may be replayed, and contexts do not meet,
 * as each has its own control memory. (Launches of one context must not overlap: they are queued on one stream.)
 *
 * If all tiles are resident (a cooperative launch) and few, each reads the words of all others at once, with no groups: one round trip, and
 * the total is known too, which is what a partition needs before it can place a rejected element.
 *
 * In place. A tile may be overwritten by a later one's output (compaction) only once that one knows its prefix, which is computed from our
 * aggregate, which is computed from what we have read: reads come first. For the same reason the carry-in is folded into the aggregate of
 * tile 0 and read by nobody else, so the carry-out may replace it.
 *
 * A primitive supplies a policy P:
 *   Args (with in [n]), Shared (shared memory), THREADS, CTAS, TILE_ITEMS, IN_NBYTES (of an element)
 *   Value, Op: an aggregate and how two combine; WORD_NBYTES: 8 for values (or counts) below 2^48, 16 for any 8-byte value
 *   Part, PartOp: the same for the few tiles of small.cuh and cluster.cuh, if they are asked for; COUNTS: finish() wants the total, and
 *   what comes before the warp in the tile apart from the prefix; overwrites_aside(args): is anything overwritten that is read and that no
 *   aggregate depends on?
 *   carry_in(args); Value reduce(args, tile, shared, warp, lane): loads its part and returns its warp's aggregate, in all lanes
 *   rank(lane): what else can be found out without the prefix, while that is on its way
 *   finish(args, tile, scanned, shared, warp, lane): with the prefix of the tile, what comes before the warp in it, its aggregate, and the
 *   total of all tiles if that was asked for (launch_with_total)
 * Source: Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back, 2016; groups, fixed order and ring are our own.
 */
#ifndef UPSWEEP_CUDA_LOOKBACK_CUH
#define UPSWEEP_CUDA_LOOKBACK_CUH

#include "block.cuh"
#include "overlap.cuh"
#include "tuning.h"

enum { GROUP_TILES = 32, WALK_GROUPS = 16, RING_TILES = 1 << 17, MAX_LAUNCH_TILES = RING_TILES / 2 };

/* ---- words ------------------------------------------------------------------------------------------------------------------- */

enum { WORD_NOTHING, WORD_AGGREGATE, WORD_INCLUSIVE };

/* {status 2, tag 14}: zeroed memory says WORD_NOTHING. */
static __device__ __forceinline__ uint32_t word_header(uint32_t status, uint32_t sequence) {
    return status << 14 | (sequence / RING_TILES & 0x3fff);
}

template <int NBYTES> struct ExchangeWord;

template <> struct ExchangeWord<8> { /* header above 48 bits of value */
    uint64_t bits;
    __device__ __forceinline__ void store(uint32_t header, uint64_t value) { store_relaxed_8(&bits, (uint64_t)header << 48 | value); }
    __device__ __forceinline__ void load(uint32_t *header, uint64_t *value) const {
        const uint64_t x = load_relaxed_8(&bits);
        *header = (uint32_t)(x >> 48);
        *value = x & ~0ull >> 16;
    }
};

template <> struct alignas(16) ExchangeWord<16> {
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
    ExchangeWord<NBYTES> tile[RING_TILES];
    ExchangeWord<NBYTES> group[RING_TILES / GROUP_TILES];

    __device__ __forceinline__ ExchangeWord<NBYTES> *tile_at(uint32_t sequence) { return tile + sequence % RING_TILES; }
    __device__ __forceinline__ ExchangeWord<NBYTES> *group_at(uint32_t sequence) { return group + sequence % RING_TILES / GROUP_TILES; }
};

/* ---- tickets ----------------------------------------------------------------------------------------------------------------- */

struct LookbackLaunch {
    uint32_t first_tile; /* a multiple of GROUP_TILES */
    uint32_t ntiles;     /* of this launch: one CTA each */
    bool wants_total;    /* the only launch of its call, and all its CTAs are resident: they may wait for the last one */
};

struct Ticket {
    uint32_t tile;     /* of the call */
    uint32_t sequence; /* of that tile */
};

/* By one thread, which has drawn the counter's old value. Where the total is wanted all CTAs run at once, and any tile will do: its own
 * number, which it knows before it has drawn. */
template <int NBYTES>
static __device__ __forceinline__ Ticket take_ticket(TileRing<NBYTES> *ring, LookbackLaunch launch, unsigned long long drawn) {
    const uint32_t base = (uint32_t)(drawn >> 32), place = (uint32_t)drawn, own = launch.wants_total ? blockIdx.x : place;
    const uint32_t end = base + (launch.ntiles + GROUP_TILES - 1) / GROUP_TILES * GROUP_TILES;
    if (place == launch.ntiles - 1) {
        store_relaxed_8(&ring->counter, (uint64_t)end << 32);
        for (uint32_t i = base + launch.ntiles; i != end; i++) ring->tile_at(i)->store(word_header(WORD_AGGREGATE, i), 0);
        const uint32_t spoken_for = launch.wants_total ? 0 : launch.ntiles / GROUP_TILES; /* groups whose last tile publishes for them */
        for (uint32_t i = base + spoken_for * GROUP_TILES; i != end; i += GROUP_TILES)
            ring->group_at(i)->store(word_header(WORD_AGGREGATE, i), 0);
    }
    return {launch.first_tile + own, base + own};
}

/* Asks for the words of the next launch, if it has as many tiles. The ring is some MiB, and in between other kernels fill the L2 cache:
 * those who wait for a word would wait for it to be fetched from memory, half a microsecond. By one thread of each CTA. */
template <int NBYTES>
static __device__ __forceinline__ void prefetch_next_words(TileRing<NBYTES> *ring, LookbackLaunch launch, Ticket ticket) {
    const uint32_t next = ticket.sequence + (launch.ntiles + GROUP_TILES - 1) / GROUP_TILES * GROUP_TILES;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(ring->tile_at(next)));
    if (ticket.tile % GROUP_TILES == 0) asm volatile("prefetch.global.L2 [%0];" ::"l"(ring->group_at(next)));
}

/* Grouping changes the result. */
template <class Op> struct Rounds { static constexpr bool value = false; };
template <> struct Rounds<Add<float>> { static constexpr bool value = true; };
template <> struct Rounds<Add<double>> { static constexpr bool value = true; };
template <> struct Rounds<Mul<float>> { static constexpr bool value = true; };
template <> struct Rounds<Mul<double>> { static constexpr bool value = true; };

/* ---- the prefix of a tile ---------------------------------------------------------------------------------------------------- */

/* One warp's view of the ring. P: the policy. */
template <class P> struct Lookback {
    typedef typename P::Value V;
    typedef typename P::Op Op;

    TileRing<P::WORD_NBYTES> *ring;
    int lane;

    static __device__ __forceinline__ V neutral() { return (V)Neutral<Op>::value(); }

    struct Word {
        uint32_t header, sequence;
        V value;
        __device__ __forceinline__ bool is_there() const {
            return header >> 14 != WORD_NOTHING && ((header ^ sequence / RING_TILES) & 0x3fff) == 0;
        }
        __device__ __forceinline__ bool is_inclusive() const { return is_there() && header >> 14 == WORD_INCLUSIVE; }
    };

    /* Only starts the load: nothing is looked at, so several are under way at once. */
    static __device__ __forceinline__ Word read(const ExchangeWord<P::WORD_NBYTES> *from, uint32_t sequence) {
        Word word;
        uint64_t bits;
        from->load(&word.header, &bits);
        word.sequence = sequence;
        word.value = value_of<V>(bits);
        return word;
    }

    static __device__ __forceinline__ void publish(ExchangeWord<P::WORD_NBYTES> *to, uint32_t sequence, uint32_t status, V value) {
        to->store(word_header(status, sequence), bits_of(value));
    }

    /* x of lane k op ... op x of lane 1 op x of lane 0: lane 0 holds the latest group. */
    __device__ __forceinline__ V fold_back(V x, int k) const {
        if (lane > k) x = neutral();
        if constexpr (Rounds<Op>::value) { /* strictly S, then one group after the other: the same however far we looked */
            V prefix = neutral();
            for (int i = k | 3; i >= 0; i -= 4) { /* shuffles four at a time, while operations wait for one another */
                V next[4];
#pragma unroll
                for (int j = 0; j < 4; j++) next[j] = (V)__shfl_sync(ALL_LANES, x, i - j);
#pragma unroll
                for (int j = 0; j < 4; j++) prefix = Op::apply(prefix, next[j]);
            }
            return prefix;
        } else if constexpr (AnyOrder<Op>::value) {
            V fold[1] = {x};
            warp_fold_rows<Op>(fold);
            return fold[0];
        } else {
#pragma unroll
            for (int o = 1; o < 32; o *= 2) x = Op::apply((V)__shfl_down_sync(ALL_LANES, x, o), x);
            return (V)__shfl_sync(ALL_LANES, x, 0);
        }
    }

    /* S(group). `sequence` is that of the group's first tile; `word` holds what each lane has read of group - lane. */
    __device__ V walk(int group, uint32_t sequence, Word word) const {
        for (;;) {
            const bool before_all = lane > group; /* S of what is before group 0: nothing */
            const uint32_t starts = __ballot_sync(ALL_LANES, before_all || word.is_inclusive());
            const uint32_t missing = __ballot_sync(ALL_LANES, !before_all && !word.is_there());
            const int k = __ffs((int)starts) - 1;
            if (starts != 0 && (missing & ((1u << k) - 1)) == 0) return fold_back(before_all ? neutral() : word.value, k);
            word = read_group(sequence);
        }
    }

    /* The word of the group that is `lane` groups before that of `sequence`, as far as a CTA ever has to look. */
    __device__ __forceinline__ Word read_group(uint32_t sequence) const {
        return lane < WALK_GROUPS ? read(ring->group_at(sequence - (uint32_t)lane * GROUP_TILES), sequence - (uint32_t)lane * GROUP_TILES)
                                  : Word{0, 0, neutral()};
    }

    /* Publishes the aggregate of the warp's tile and returns its prefix. What is to be done meanwhile is done when the first words are on
     * their way. */
    template <class F> __device__ __forceinline__ V exchange(Ticket ticket, V aggregate, F meanwhile) const {
        const int place = (int)(ticket.tile % GROUP_TILES), group = (int)(ticket.tile / GROUP_TILES);
        const uint32_t first = ticket.sequence - (uint32_t)place, mine = first + (uint32_t)(lane < place ? lane : 0);
        if (lane == 0) publish(ring->tile_at(ticket.sequence), ticket.sequence, WORD_AGGREGATE, aggregate);
        Word own = read(ring->tile_at(mine), mine); /* of my group, before me */
        const Word back = read_group(first - GROUP_TILES);
        meanwhile();
        while (!__all_sync(ALL_LANES, lane >= place || own.is_there())) own = read(ring->tile_at(mine), mine);
        V fold[2] = {lane < place ? own.value : neutral(), lane < place ? own.value : aggregate};
        warp_fold_rows<Op>(fold);
        const bool last = place == GROUP_TILES - 1 && lane == 0; /* speaks for the group */
        if (last) publish(ring->group_at(first), first, WORD_AGGREGATE, fold[1]);
        const V before = walk(group - 1, first - GROUP_TILES, back);
        if (last) publish(ring->group_at(first), first, WORD_INCLUSIVE, Op::apply(before, fold[1]));
        return Op::apply(before, fold[0]);
    }

    /* Publishes the aggregate of the warp's tile and reads those of all tiles, in one round trip. The aggregates are counts: any order will
     * do. Returns the prefix. */
    template <class F> __device__ __forceinline__ V exchange_all(Ticket ticket, uint32_t ntiles, V aggregate, V *total, F meanwhile) const {
        enum { LOADS = 4 };
        const uint32_t first = ticket.sequence - ticket.tile;
        V fold[2] = {neutral(), neutral()}; /* of the tiles before this one; of all */
        if (lane == 0) publish(ring->tile_at(ticket.sequence), ticket.sequence, WORD_AGGREGATE, aggregate);
        meanwhile();
        for (uint32_t base = (uint32_t)lane; base < ntiles; base += 32 * LOADS) {
            Word word[LOADS];
            bool here;
            do {
                here = true;
#pragma unroll
                for (uint32_t i = 0; i < LOADS; i++)
                    word[i] = read(ring->tile_at(first + min(base + 32 * i, ntiles - 1)), first + min(base + 32 * i, ntiles - 1));
#pragma unroll
                for (uint32_t i = 0; i < LOADS; i++) here &= word[i].is_there();
            } while (!here);
#pragma unroll
            for (uint32_t i = 0; i < LOADS; i++) {
                const uint32_t tile = base + 32 * i;
                if (tile < ticket.tile) fold[0] = Op::apply(fold[0], word[i].value);
                if (tile < ntiles) fold[1] = Op::apply(fold[1], word[i].value);
            }
        }
        __syncwarp();
        warp_fold_rows<Op>(fold);
        *total = fold[1];
        return fold[0];
    }
};

/* ---- the kernel -------------------------------------------------------------------------------------------------------------- */

/* What a warp knows when it finishes its part of a tile. */
template <class V> struct Scanned {
    V prefix;    /* of the tile */
    V before;    /* of the warp, in the tile */
    V aggregate; /* of the tile */
    V total;     /* of all tiles, if it is wanted */
};

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

template <class P>
static __global__ void __launch_bounds__(P::THREADS, P::CTAS)
    lookback_kernel(const __grid_constant__ typename P::Args args, const __grid_constant__ LookbackLaunch launch,
                    TileRing<P::WORD_NBYTES> *ring) {
    __shared__ LookbackShared<P> s;
    __shared__ typename P::Shared s_policy;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    wait_for_previous();
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

template <class P> static uint64_t tiles_of(uint64_t n) { return n == 0 ? 1 : (n - 1) / P::TILE_ITEMS + 1; }

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
