/* lookback_exchange.cuh: how a tile of the look-back pass (lookback.cuh) gets its number, and learns the prefix of all tiles before it.
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
 * as each has its own control memory. (Launches of one context must not overlap: they are queued on one stream.) */
#ifndef UPSWEEP_CUDA_LOOKBACK_EXCHANGE_CUH
#define UPSWEEP_CUDA_LOOKBACK_EXCHANGE_CUH

#include "launch.h"
#include "warp.cuh"
#include "words.cuh"

enum { GROUP_TILES = 32, WALK_GROUPS = 16, RING_TILES = 1 << 17, MAX_LAUNCH_TILES = RING_TILES / 2 };

/* ---- words ------------------------------------------------------------------------------------------------------------------- */

enum { WORD_NOTHING, WORD_AGGREGATE, WORD_INCLUSIVE };

/* {status 2, tag 14}: zeroed memory says WORD_NOTHING. */
static __device__ __forceinline__ uint32_t word_header(uint32_t status, uint32_t sequence) {
    return status << 14 | (sequence / RING_TILES & 0x3fff);
}

/* With 48 bits of value, or 64. */
template <int NBYTES> using ExchangeWord = TaggedWord<NBYTES == 8 ? 16 : 64>;

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
        const auto word = from->load();
        return {(uint32_t)word.tag(), sequence, value_of<V>(word.value())};
    }

    static __device__ __forceinline__ void publish(ExchangeWord<P::WORD_NBYTES> *to, uint32_t sequence, uint32_t status, V value) {
        to->store(word_header(status, sequence), bits_of(value));
    }

    /* x of lane k op ... op x of lane 1 op x of lane 0: lane 0 holds the latest group. */
    __device__ __forceinline__ V fold_back(V x, int k) const {
        if (lane > k) x = neutral();
        if constexpr (Op::ROUNDS) { /* strictly S, then one group after the other: the same however far we looked */
            V prefix = neutral();
            for (int i = k | 3; i >= 0; i -= 4) { /* shuffles four at a time, while operations wait for one another */
                V next[4];
#pragma unroll
                for (int j = 0; j < 4; j++) next[j] = (V)__shfl_sync(ALL_LANES, x, i - j);
#pragma unroll
                for (int j = 0; j < 4; j++) prefix = Op::apply(prefix, next[j]);
            }
            return prefix;
        } else if constexpr (Op::ANY_ORDER) {
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

#endif
