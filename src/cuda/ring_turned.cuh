/* ring_turned.cuh: partition of a large input to one array, both sides in their order, by the ring pass.
 *
 *   mostly kept        in   ----------------->    out   [ kept, from the start -->          | <-- rejected, from the end ]   then
 *                                                       [ kept                              | rejected, turned round     ]
 *   mostly rejected    in   <-----------------    out   [ kept, from the start --> | <-- rejected, from the end          ]   then
 *                                                       [ kept, turned round       | rejected                            ]
 *
 * Where the rejected ones begin depends on all elements, but where they end does not: from there back they can be written at once, in
 * reverse. Read backwards, it is the kept ones that come out in reverse. Whoever comes out so is turned round when all is written, and a
 * look at 256 elements, the same ones in all CTAs, says of which side there is less. A wrong guess costs time, nothing else.
 *
 * Cost: 2 bytes moved for each byte of the input, and 2 more for those of the shorter side: 2.2 at 10 or 90 % kept, 3 at half, which is
 * what counting first always takes. Why not less: docs/compact.md. */
#ifndef UPSWEEP_RING_TURNED_CUH
#define UPSWEEP_RING_TURNED_CUH

#include "ring_compact.cuh"

/* Turns a [n] round. A warp swaps a piece with the one that mirrors it, and has the next two under way meanwhile, by the copy engine: for
 * loads the slots leave so little of a multiprocessor's memory that too few would be under way. */
template <class T> struct RingTurn {
    static constexpr unsigned ROWS = 48 / sizeof(T), ITEMS = 32 * ROWS, ROOM = ITEMS * sizeof(T) + 32;
    struct Room {
        uint64_t full[2];
        alignas(16) unsigned char low[2][ROOM], high[2][ROOM];
    };
    T *a;
    uint64_t n;
    uintptr_t first, end; /* of the array of which a is a part */
    Room &s;
    int lane;

    __device__ unsigned items_of(uint64_t piece) const { return (unsigned)min((uint64_t)ITEMS, n / 2 - piece * ITEMS); }
    __device__ T *low_of(uint64_t piece) const { return a + piece * ITEMS; }
    __device__ T *high_of(uint64_t piece) const { return a + n - piece * ITEMS - items_of(piece); }
    static __device__ uintptr_t base_of(const T *p) { return (uintptr_t)p & ~(uintptr_t)15; }

    __device__ RingSpan load_ends(unsigned char *s_base, const T *from, unsigned items) const {
        const RingSpan span = RingSpan::of((uintptr_t)from, (uintptr_t)(from + items), first, end);
        if (span.needs_hands()) {
            span.load_by_hand(s_base, base_of(from), lane);
            fence_async_proxy(); /* the bytes by hand, before the engine fills this room anew */
        }
        return span;
    }

    __device__ void start(uint64_t piece, unsigned b) const {
        const T *const low = low_of(piece), *const high = high_of(piece);
        const RingSpan from_low = load_ends(s.low[b], low, items_of(piece)), from_high = load_ends(s.high[b], high, items_of(piece));
        if (lane != 0) return barrier_arrive(&s.full[b]);
        barrier_arrive_expect(&s.full[b], from_low.engine_nbytes() + from_high.engine_nbytes());
        from_low.start(s.low[b], base_of(low), &s.full[b]);
        from_high.start(s.high[b], base_of(high), &s.full[b]);
    }

    __device__ void swap(uint64_t piece, unsigned b) const {
        T *const low = low_of(piece), *const high = high_of(piece);
        const T *const s_low = (const T *)(s.low[b] + (uintptr_t)low % 16), *const s_high = (const T *)(s.high[b] + (uintptr_t)high % 16);
        const unsigned m = items_of(piece);
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            const unsigned i = 32 * r + (unsigned)lane;
            if (i < m) low[i] = s_high[m - 1 - i], high[m - 1 - i] = s_low[i];
        }
    }

    __device__ void run(uint64_t warp, uint64_t nwarps) const {
        const uint64_t pieces = (n / 2 + ITEMS - 1) / ITEMS;
        if (lane == 0) {
            barrier_init(&s.full[0], 32), barrier_init(&s.full[1], 32);
            barrier_init_fence();
        }
        __syncwarp(); /* the barriers are set up */
        if (warp < pieces) start(warp, 0);
        for (unsigned k = 0; warp < pieces; warp += nwarps, k++) {
            if (warp + nwarps < pieces) start(warp + nwarps, (k + 1) % 2);
            barrier_wait(&s.full[k % 2], k / 2 & 1);
            swap(warp, k % 2);
            __syncwarp(); /* all lanes have read this room */
        }
    }
};

/* A vector that the L2 cache is told something about. */
struct StoreHinted {
    uint64_t policy;
    __device__ __forceinline__ void operator()(uint4 *to, uint4 x) const { store_hinted(to, x, policy); }
};

/* If the sides are about as long, it does what RingCompact does, which counts first. */
template <class T, class D> struct RingTurned : RingCompact<T, D, true> {
    typedef RingCompact<T, D, true> Base;
    typedef typename Base::Args Args;
    typedef typename Base::Value Value;
    typedef typename Base::Facts Facts;
    typedef typename Base::Local Local;
    typedef RingTurn<T> Turn;
    static constexpr bool TURNS = true;
    static constexpr unsigned NBYTES = sizeof(T), LOOKS = 256;
    using Base::CHUNK_NBYTES;

    /* By elements that some threads look at, the same ones in all CTAs. */
    static __device__ RingWay sync_and_choose(const Args &args, const RingInput &input) {
        const uint64_t n = (input.end - input.head) / NBYTES;
        const bool kept = threadIdx.x < LOOKS && args.decide.keeps((const T *)input.in, n / LOOKS * threadIdx.x);
        const unsigned nkept = (unsigned)__syncthreads_count(kept), shorter = min(nkept, LOOKS - nkept);
        const bool turns = shorter * 8 <= LOOKS * RING_TURN_EIGHTHS;
        return {turns, turns && 2 * nkept < LOOKS};
    }

    template <class Exchange>
    static __device__ void turn(const Args &args, const RingInput &input, const Exchange &exchange, const uint64_t &total, RingWay way,
                                unsigned char *slots) {
        static_assert(sizeof(typename Turn::Room) * Ring<RingTurned>::WARPS <= Ring<RingTurned>::SHARED_NBYTES, "");
        const uint64_t n = (input.end - input.head) / NBYTES;
        const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
        if (!way.turns) return;
        exchange.meet();
        fence_async_proxy_global(); /* what has been written, before the engine reads it */
        T *const out = (T *)args.out;
        const Turn t = {way.backwards ? out : out + total,
                        way.backwards ? total : n - total,
                        (uintptr_t)out,
                        (uintptr_t)(out + n),
                        ((typename Turn::Room *)slots)[warp],
                        (int)threadIdx.x % 32};
        t.run((uint64_t)blockIdx.x * warps + warp, (uint64_t)gridDim.x * warps);
    }

    /* What comes out in reverse is packed so. */
    static __device__ __forceinline__ void put(unsigned char *chunk, const Local &local, Value sum, RingWay way, int lane) {
        const unsigned rejected = Base::rejected_before(local, lane);
        if (!way.turns)
            Base::put(chunk, local, sum, way, lane);
        else if (way.backwards)
            Base::template put_at<~0u, 1>(chunk, local, sum - 1 - local.before, sum + rejected, lane);
        else
            Base::template put_at<1, ~0u>(chunk, local, local.before, CHUNK_NBYTES / NBYTES - 1 - rejected, lane);
    }

    /* The rejected ones of chunks taken earlier lie at the end of the output. What a chunk has outside the input lies at either end of its
     * rejected ones. The side that is turned round in the end is read again. */
    static __device__ __forceinline__ void store(const Args &args, const unsigned char *chunk, const Facts &facts, int lane) {
        if (!facts.way.turns) return Base::store(args, chunk, facts, lane);
        const bool backwards = facts.way.backwards;
        const RingPlace &place = facts.place;
        const typename Base::Span span(place);
        const unsigned kept_nbytes = facts.sum * NBYTES, nbytes = span.nbytes() - kept_nbytes;
        const unsigned at = kept_nbytes + (unsigned)(backwards ? span.first - place.first : place.first + CHUNK_NBYTES - span.end);
        const uint64_t taken = backwards ? place.input_end - span.end : span.first - place.input_first;
        unsigned char *const end = args.out + (place.input_end - place.input_first) - (taken - facts.prefix * NBYTES);
        const StoreHinted read_again = {cache_policy(Evict::LAST)}, not_again = {cache_policy(Evict::FIRST)};
        store_shifted(args.out + facts.prefix * NBYTES, chunk, 0, kept_nbytes, lane, backwards ? read_again : not_again);
        store_shifted(end - nbytes, chunk + at / 16 * 16, at % 16, nbytes, lane, backwards ? not_again : read_again);
    }
};

#endif
