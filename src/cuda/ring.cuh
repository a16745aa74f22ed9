/* ring.cuh: the ring pass (sm_90 and sm_100): one launch, one pass over the data, at the speed of memory.
 *
 *             tiles of a wave:     CTA 0      CTA 1      CTA 2    ...   CTA G-1          tile t = wave * G + CTA
 *   wave k    global memory     [ tile   ] [ tile   ] [ tile   ]      [ tile   ]
 *                                    |  bulk copies, RING_LOADS of them at a time
 *   in each   producer               v
 *   CTA:      slots in shared   [k][k+1][k+2][k+3] ...                 a ring of STAGES slots
 *             reducers          reduce each chunk of a landed tile, publish the tile's aggregate ----> one word a CTA and wave
 *             prefix            read all G words of the wave; those before mine -> my prefix; all -> the carry into wave k + 1
 *             finishers         a chunk of the tile each: prepare while the prefix is under way, finish when it is there
 *             sender            where there is one: has the copy engine write out what finishers have left in the slot
 *
 * Where what becomes of a chunk is most of the work, finishers *convert*: they count a chunk as soon as it has landed, put what becomes of
 * it into a queue of their own, and store the oldest when there is no room for more: one warp looks at it once.
 *
 * Why: a look-back chain makes every tile wait for its predecessor's prefix. Here nothing chains: a CTA needs only the *aggregates* of its
 * wave, which reducers publish as soon as tiles land, several waves ahead of those who finish; the carry is replicated in every CTA. One
 * L2 round trip a wave, hidden behind STAGES tiles. The order of combination is fixed by (G, tile size), so floats are deterministic.
 *
 * All CTAs of the grid are resident (cooperative launch), so they may wait for one another. Within a CTA every lane arrives at a barrier
 * for itself: what it has read and written is then ordered by its own arrival, which tools can follow. One lane for a warp was no faster.
 *
 * The exchange words. Every CTA publishes in every wave (the identity, if it has no tile), so the words of wave w (counted over all
 * launches, in `next_wave`) are rewritten when wave w + WAVES is published. A CTA gets at most STAGES waves ahead of its own prefix
 * warp, and that one needs all others' words of each wave; so while anybody still reads wave w, nobody publishes wave w + 2 * STAGES, and
 * 2 * STAGES <= WAVES slots of words never mix. The grid is the same in all launches of a context (one CTA a multiprocessor). A word
 * carries its wave number as tag: a stale word in its slot is exactly WAVES waves old, so a 32-bit tag cannot repeat. Nothing is ever
 * cleared, and a graph replay finds the counter where the last launch left it.
 *
 * A primitive supplies a policy (ring_policy.cuh), of about 50 lines. Source: after Merrill and Garland 2016 (single pass, tile
 * aggregates); the wave exchange and the roles are our own. */
#ifndef UPSWEEP_RING_CUH
#define UPSWEEP_RING_CUH

#include "launch.h"
#include "ring_exchange.cuh"
#include "ring_load.cuh"
#include "ring_policy.cuh"
#include "tuning.h"

template <class P> struct RingShared {
    uint64_t full[P::STAGES];                         /* the slot's tile has landed */
    uint64_t counted[P::STAGES];                      /* finishers that convert know what their chunks come to */
    uint64_t ready[P::STAGES];                        /* the tile's prefix and what its reducers found are there */
    uint64_t staged[P::STAGES];                       /* what is to be sent lies in the slot */
    uint64_t empty[P::STAGES];                        /* the slot may be filled anew */
    typename P::Value chunk[P::STAGES][P::FINISHERS]; /* its aggregate; once `ready`: the fold of those before it in the tile */
    typename P::Carry prefix[P::STAGES];
    typename P::Value aggregate[P::STAGES]; /* of the tile */
    uintptr_t side_first[P::STAGES];        /* said by the producer: finding it may take a division */
    uint64_t first_wave;
    typename P::Carry carry_in, total;
    unsigned long long rest; /* {arrivals 8, sum 56} of finishers, if the policy HOLDS */
};

template <class P> struct Ring {
    static constexpr unsigned HELPERS = P::SENDS ? 3 : 2; /* producer, prefix, sender */
    static constexpr unsigned WARPS = HELPERS + P::REDUCERS + P::FINISHERS;
    static constexpr unsigned THREADS = WARPS * 32;
    static constexpr unsigned CHUNK_NBYTES = P::ROWS * P::ROW_NBYTES;
    static constexpr unsigned TILE_NBYTES = P::FINISHERS * CHUNK_NBYTES;
    static constexpr unsigned LOAD_NBYTES = P::HALO_NBYTES + TILE_NBYTES, SLOT_NBYTES = LOAD_NBYTES + P::ROOM_NBYTES;
    static constexpr unsigned NOTE_NBYTES = P::NOTE_WORDS * 128;
    static constexpr unsigned SLOTS = P::SLOTS > 0 ? P::SLOTS : P::STAGES;
    static constexpr unsigned SIDES_AT = SLOTS * SLOT_NBYTES, NOTES_AT = SIDES_AT + P::STAGES * P::SIDE_NBYTES;
    static constexpr unsigned WORK_AT = NOTES_AT + P::STAGES * P::FINISHERS * NOTE_NBYTES;
    static constexpr unsigned SHARED_NBYTES = WORK_AT + P::FINISHERS * P::WORK_NBYTES;
    static_assert(P::HALO_NBYTES % 16 == 0 && P::SIDE_NBYTES % 16 == 0 && SHARED_NBYTES + sizeof(RingShared<P>) <= RING_SHARED_NBYTES, "");
    static_assert(2 * P::STAGES <= RING_WAVES, "words of two waves would share a slot");
    static_assert(P::FINISHERS % P::REDUCERS == 0 && P::FINISHERS <= 32 && THREADS <= 1024, "reducers take as many chunks, a warp sums");
    static_assert(!P::CONVERTS || (P::REDUCERS == 1 && SLOTS + P::QUEUED < P::STAGES), "who stores a tile reads what is known of it");

    const typename P::Args &args;
    const RingInput &input;
    RingExchange<P> exchange;
    RingShared<P> &s;
    unsigned char *slots;
    int lane;
    RingWay way;

    typedef typename P::Op Op;
    static __device__ typename P::Value neutral() { return (typename P::Value)Neutral<Op>::value(); }
    __device__ uint64_t tile_of(unsigned wave) const { return (uint64_t)wave * gridDim.x + blockIdx.x; }
    __device__ uint64_t first_of(unsigned wave) const {
        return (P::TURNS && way.backwards ? input.ntiles - 1 - tile_of(wave) : tile_of(wave)) * TILE_NBYTES;
    }
    /* Where the tile lies; its halo is before that. */
    __device__ unsigned char *slot_of(unsigned wave) const { return slots + wave % SLOTS * SLOT_NBYTES + P::HALO_NBYTES; }
    __device__ uint32_t *note_of(unsigned wave, unsigned chunk) const {
        return (uint32_t *)(slots + NOTES_AT + (wave % P::STAGES * P::FINISHERS + chunk) * NOTE_NBYTES);
    }
    static __device__ unsigned parity_of(unsigned wave) { return wave / P::STAGES & 1; }

    /* ---- producer: one warp ---- */

    __device__ unsigned char *side_slot_of(unsigned wave) const { return slots + SIDES_AT + wave % P::STAGES * P::SIDE_NBYTES; }
    __device__ uintptr_t address_of(uint64_t byte) const { return (uintptr_t)input.in - input.head + byte; }

    /* Address of what stands first in the side slot of a tile: on 16 bytes, maybe before the array. */
    static __device__ uintptr_t side_base_of(uintptr_t side_first) { return side_first & ~(uintptr_t)15; }

    __device__ RingSpan side_span_of(uint64_t byte, uintptr_t first) const {
        return RingSpan::of(first, P::side_of(args, byte + TILE_NBYTES - 1) + 1, P::side_first(args), P::side_end(args));
    }

    /* The first and the last tile: what the copy engine cannot fetch, and what is not input. base: address of what stands first in the
     * slot, the halo's first byte. */
    __device__ void load_ends(unsigned k, uintptr_t base, RingSpan span, uintptr_t side_first, RingSpan side) const {
        unsigned char *const slot = slot_of(k) - P::HALO_NBYTES;
        span.load_by_hand(slot, base, lane);
        if constexpr (P::SIDE_NBYTES > 0) side.load_by_hand(side_slot_of(k), side_base_of(side_first), lane);
        P::pad(args, slot, 0, (unsigned)(span.from - base), lane);
        P::pad(args, slot, (unsigned)(span.to - base), LOAD_NBYTES, lane);
        fence_async_proxy(); /* the bytes by hand, before the engine fills this slot for a later tile */
    }

    /* Should loads wait for earlier ones? RING_LOADS tiles a CTA keep the memory busy. With more on their way, they come in whatever order
     * the memory likes, and every CTA waits for the one whose tile of the wave comes last. Not if there is a slot for every tile. */
    __device__ bool paced() const { return input.nwaves > SLOTS; }

    __device__ void produce() {
        for (unsigned k = 0; tile_of(k) < input.ntiles; k++) {
            uint64_t *full = &s.full[k % P::STAGES];
            const uint64_t first = first_of(k);
            const uintptr_t base = address_of(first) - P::HALO_NBYTES;
            const RingSpan span = RingSpan::of(base, base + LOAD_NBYTES, address_of(input.head), address_of(input.end));
            uintptr_t side_first = 0;
            RingSpan side = {0, 0, 0, 0};
            if constexpr (P::SIDE_NBYTES > 0) side_first = P::side_of(args, first), side = side_span_of(first, side_first);
            if (k >= SLOTS) barrier_wait(&s.empty[(k - SLOTS) % P::STAGES], parity_of(k - SLOTS));
            if (paced() && k >= RING_LOADS) barrier_wait(&s.full[(k - RING_LOADS) % P::STAGES], parity_of(k - RING_LOADS));
            if (span.engine_nbytes() != LOAD_NBYTES || side.needs_hands()) load_ends(k, base, span, side_first, side);
            if (lane != 0) {
                barrier_arrive(full);
                continue;
            }
            if constexpr (P::SIDE_NBYTES > 0) s.side_first[k % P::STAGES] = side_first;
            barrier_arrive_expect(full, span.engine_nbytes() + side.engine_nbytes());
            span.start(slot_of(k) - P::HALO_NBYTES, base, full);
            if constexpr (P::SIDE_NBYTES > 0) side.start(side_slot_of(k), side_base_of(side_first), full);
        }
    }

    /* ---- prefix: one warp ---- */

    __device__ void find_prefixes() {
        typename P::Carry carry = s.carry_in;
        typename RingExchange<P>::Seen seen;
        exchange.ask(0, lane, seen);
        for (unsigned k = 0; k < input.nwaves; k++) {
            typename P::Value before, all;
            exchange.read_wave(k, lane, k + 1 < input.nwaves, seen, &before, &all);
            /* All CTAs have published in this launch, so all have read next_wave: the next launch's first wave may be set. */
            if (k == 0 && blockIdx.x == 0 && lane == 0) exchange.advance(input.nwaves);
            if (tile_of(k) < input.ntiles && lane == 0) {
                /* The old prefix has been read. Those who convert have read it if they are here. */
                if (!P::CONVERTS && k >= P::STAGES) barrier_wait(&s.empty[k % P::STAGES], parity_of(k - P::STAGES));
                s.prefix[k % P::STAGES] = P::carry_add(carry, before);
                if (!holds(k)) barrier_arrive(&s.ready[k % P::STAGES]);
            }
            __syncwarp();
            carry = P::carry_add(carry, all);
            if constexpr (P::HOLDS) {
                if (holds(k) && (k == P::STAGES - 1 || k == input.nwaves - 1)) release(k, carry);
            }
        }
        if (blockIdx.x == 0 && lane == 0) P::end(args, carry);
        if (P::TURNS && way.turns && lane == 0) s.total = carry;
    }

    /* The first waves may wait in their slots until all of them are known, and what the slots cannot hold. */
    __device__ bool holds(unsigned k) const {
        if constexpr (P::HOLDS) return k < P::STAGES && !way.turns && P::holds(args);
        return false;
    }

    __device__ void release(unsigned last, typename P::Carry carry) {
        const uint64_t rest = P::has_rest(args) ? exchange.sum_rest(lane) : 0;
        if (lane != 0) return;
        s.total = P::total(args, rest, carry);
        for (unsigned k = 0; k <= last && tile_of(k) < input.ntiles; k++) barrier_arrive(&s.ready[k]);
    }

    /* ---- reducers ---- */

    __device__ RingPlace place_of(unsigned k, unsigned chunk) const {
        const uint64_t tile_first = first_of(k), first = tile_first + chunk * CHUNK_NBYTES;
        RingPlace place = {first, tile_first, first >= input.head && first + CHUNK_NBYTES <= input.end, input.head, input.end, nullptr,
                           0,     nullptr};
        if constexpr (P::SIDE_NBYTES > 0) {
            place.side_first = s.side_first[k % P::STAGES]; /* there, once the slot is full */
            place.s_side = side_slot_of(k) + (place.side_first - side_base_of(place.side_first));
        }
        if constexpr (P::WORK_NBYTES > 0) place.s_work = slots + WORK_AT + chunk * P::WORK_NBYTES;
        return place;
    }

    /* By one warp: the tile's aggregate, and in the place of each chunk's aggregate the fold of those before it. */
    __device__ typename P::Value fold_chunks(typename P::Value *chunks) const {
        typename P::Value x[1] = {lane < P::FINISHERS ? chunks[lane] : neutral()};
        warp_scan_rows<Op>(x, lane);
        const typename P::Value before = (typename P::Value)__shfl_up_sync(ALL_LANES, x[0], 1);
        if (lane < P::FINISHERS) chunks[lane] = lane == 0 ? neutral() : before;
        return (typename P::Value)__shfl_sync(ALL_LANES, x[0], 31);
    }

    __device__ void reduce_chunks(unsigned k, unsigned reducer) {
        constexpr unsigned EACH = P::FINISHERS / P::REDUCERS;
        barrier_wait(&s.full[k % P::STAGES], parity_of(k));
#pragma unroll
        for (unsigned c = reducer * EACH; c < (reducer + 1) * EACH; c++) {
            const uint4 *chunk = (const uint4 *)(slot_of(k) + c * CHUNK_NBYTES);
            const typename P::Value sum = P::reduce(args, chunk, place_of(k, c), note_of(k, c), lane);
            if (lane == 0) s.chunk[k % P::STAGES][c] = sum;
        }
        asm volatile("bar.sync 1, %0;" ::"n"(P::REDUCERS * 32) : "memory"); /* all chunk sums are in shared memory */
    }

    __device__ void reduce(unsigned reducer) {
        for (unsigned k = 0; k < input.nwaves; k++) {
            typename P::Value aggregate = neutral();
            if (tile_of(k) < input.ntiles) {
                if constexpr (P::CONVERTS)
                    barrier_wait(&s.counted[k % P::STAGES], parity_of(k));
                else
                    reduce_chunks(k, reducer);
                if (reducer == 0) aggregate = fold_chunks(s.chunk[k % P::STAGES]);
                if (P::SENDS && reducer == 0 && lane == 0) s.aggregate[k % P::STAGES] = aggregate;
                barrier_arrive(&s.ready[k % P::STAGES]); /* this lane has read its part of the chunks and written its notes */
            }
            if (reducer == 0 && lane == 0) exchange.publish(k, aggregate);
        }
    }

    /* ---- finishers ---- */

    __device__ RingTile<P> tile_at(unsigned k) const {
        const unsigned i = k % P::STAGES;
        return {first_of(k), s.prefix[i], s.aggregate[i], s.total, s.chunk[i], way};
    }

    __device__ void count_rest(unsigned c) {
        const unsigned thread = (blockIdx.x * P::FINISHERS + c) * 32 + (unsigned)lane;
        unsigned long long n[1] = {P::count_rest(args, thread, gridDim.x * P::FINISHERS * 32)};
        warp_fold_rows<Add<unsigned long long>>(n);
        if (lane != 0) return;
        const unsigned long long before = atomicAdd(&s.rest, 1ull << 56 | n[0]);
        if (before >> 56 == P::FINISHERS - 1) exchange.publish_rest((before & ~0ull >> 8) + n[0]);
    }

    /* For a sender. What a finisher leaves may lie in any chunk's place, so all must have been read: `ready` waits for finishers too. */
    __device__ void stage(unsigned c) {
        if constexpr (P::HOLDS)
            if (!way.turns && P::has_rest(args)) count_rest(c);
        for (unsigned k = 0; tile_of(k) < input.ntiles; k++) {
            const unsigned i = k % P::STAGES;
            typename P::Local local;
            barrier_wait(&s.full[i], parity_of(k));
            const RingPlace place = place_of(k, c);
            P::prepare(args, (const uint4 *)(slot_of(k) + c * CHUNK_NBYTES), place, local, lane);
            barrier_arrive(&s.ready[i]); /* this lane has read its part of the chunk */
            barrier_wait(&s.ready[i], parity_of(k));
            P::stage(args, slot_of(k), tile_at(k), place, note_of(k, c), local, s.chunk[i][c], lane);
            fence_async_proxy(); /* what this lane has staged, before the engine reads it */
            barrier_arrive(&s.staged[i]);
        }
    }

    __device__ void send() {
        for (unsigned k = 0; tile_of(k) < input.ntiles; k++) {
            barrier_wait(&s.ready[k % P::STAGES], parity_of(k));
            barrier_wait(&s.staged[k % P::STAGES], parity_of(k));
            P::send(args, slot_of(k), tile_at(k), input.head, input.end, lane);
            barrier_arrive(&s.empty[k % P::STAGES]); /* this lane, or the engine for it, has read its part of the slot */
        }
        if (lane == 0) bulk_wait_written();
    }

    template <class Queue> __device__ void store_oldest(unsigned c, Queue &queue) {
        const unsigned k = queue.oldest;
        barrier_wait(&s.ready[k % P::STAGES], parity_of(k));
        P::store(args, queue, P::carry_add(s.prefix[k % P::STAGES], s.chunk[k % P::STAGES][c]), lane);
    }

    /* What is known of tile k is next written by who counts tile k + STAGES. Its slot was given back by all who have counted the tile SLOTS
     * before that one; they hold up to QUEUED tiles before it, and k is none of them. */
    __device__ void convert(unsigned c) {
        typename P::Queue queue(place_of(0, c).s_work);
        for (unsigned k = 0; tile_of(k) < input.ntiles; k++) {
            const unsigned i = k % P::STAGES;
            const uint4 *const chunk = (const uint4 *)(slot_of(k) + c * CHUNK_NBYTES);
            typename P::Local local;
            barrier_wait(&s.full[i], parity_of(k));
            const RingPlace place = place_of(k, c);
            const typename P::Value sum = P::count(args, chunk, place, local, queue, lane);
            if (lane == 0) s.chunk[i][c] = sum;
            barrier_arrive(&s.counted[i]);
            if (!P::needs_chunk(local)) barrier_arrive(&s.empty[i]);
            while (!P::make_room(queue, sum, lane)) store_oldest(c, queue);
            P::put(args, chunk, place, local, queue, lane);
            if (P::needs_chunk(local)) barrier_arrive(&s.empty[i]); /* either way this lane has read its part of the slot */
        }
        while (!queue.is_empty()) store_oldest(c, queue);
    }

    __device__ void finish(unsigned c) {
        for (unsigned k = 0; tile_of(k) < input.ntiles; k++) {
            const unsigned i = k % P::STAGES;
            uint4 *chunk = (uint4 *)(slot_of(k) + c * CHUNK_NBYTES);
            typename P::Local local;
            barrier_wait(&s.full[i], parity_of(k));
            const RingPlace place = place_of(k, c);
            P::prepare(args, chunk, place, local, lane);
            barrier_wait(&s.ready[i], parity_of(k));
            const typename P::Carry prefix = P::carry_add(s.prefix[i], s.chunk[i][c]);
            if (P::KEEPS_SLOT) {
                P::finish(args, chunk, place, note_of(k, c), local, prefix, lane);
                if (P::WRITES_SLOT) fence_async_proxy();
            }
            barrier_arrive(&s.empty[i]); /* this lane has read its part of the slot, its chunk sums and its prefix */
            if (!P::KEEPS_SLOT) P::finish(args, chunk, place, note_of(k, c), local, prefix, lane);
            if constexpr (P::HAS_REST) P::rest(args, place, local, lane);
        }
    }
};

template <class P>
static __global__ void __launch_bounds__(Ring<P>::THREADS, 1)
    ring_kernel(const __grid_constant__ typename P::Args args, const __grid_constant__ RingInput input,
                typename RingExchange<P>::Words *words) {
#if __CUDA_ARCH__ >= 900 /* can_run_ring() asks for this code */
    extern __shared__ __align__(128) unsigned char s_slots[];
    __shared__ RingShared<P> s;
    const unsigned warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < P::STAGES; i++) {
            barrier_init(&s.full[i], 32);
            barrier_init(&s.ready[i], 32 * P::REDUCERS + 1 + (P::SENDS ? 32 * P::FINISHERS : 0)); /* 1: the prefix warp's lane 0 */
            barrier_init(&s.counted[i], 32 * P::FINISHERS), barrier_init(&s.staged[i], 32 * P::FINISHERS);
            barrier_init(&s.empty[i], P::SENDS ? 32 : 32 * P::FINISHERS);
        }
        barrier_init_fence();
        s.first_wave = load_relaxed_8(&words->next_wave);
        s.carry_in = P::carry_in(args);
        s.rest = 0;
        if constexpr (P::HOLDS) s.total = 0;
    }
    /* Barriers are set up; and this CTA has read the wave counter and the carry-in before it publishes anything. */
    const RingWay way = P::sync_and_choose(args, input);
    Ring<P> ring = {args, input, {words, s.first_wave}, s, s_slots, (int)threadIdx.x % 32, way};
    if (warp == 0)
        ring.produce();
    else if (warp == 1)
        ring.find_prefixes();
    else if (P::SENDS && warp == 2) {
        if constexpr (P::SENDS) ring.send();
    } else if (warp < Ring<P>::HELPERS + P::REDUCERS)
        ring.reduce(warp - Ring<P>::HELPERS);
    else if constexpr (P::CONVERTS)
        ring.convert(warp - Ring<P>::HELPERS - P::REDUCERS);
    else if constexpr (P::SENDS)
        ring.stage(warp - Ring<P>::HELPERS - P::REDUCERS);
    else
        ring.finish(warp - Ring<P>::HELPERS - P::REDUCERS);
    if constexpr (P::TURNS) P::turn(args, input, ring.exchange, s.total, way, s_slots);
    if constexpr (P::LEAVES) {
        __syncthreads(); /* all roles are done */
        if (threadIdx.x == 0) P::leave(args);
    }
#endif
}

/* ---- launch ------------------------------------------------------------------------------------------------------------------ */

/* Can this queue's device run a ring pass? All CTAs must be resident, or those that wait would keep out those that are waited for, and it
 * wants more shared memory than a CTA of sm_120 has. And should it: short inputs are done sooner by the look-back pass. */
static inline bool can_run_ring(const struct cuda_queue *queue) {
    return queue->has_sm_90 && queue->shared_nbytes >= RING_SHARED_NBYTES && queue->cooperative && !queue->only_lookback &&
           queue->nsms <= RING_MAX_CTAS;
}

static inline bool should_run_ring(const struct cuda_queue *queue, uint64_t nbytes, uint64_t min_nbytes) {
    return can_run_ring(queue) && (queue->only_ring || nbytes >= min_nbytes);
}

template <class P>
static cudaError_t launch_ring(const struct cuda_queue *queue, const typename P::Args &args, const void *in, uint64_t nbytes) {
    typedef Ring<P> R;
    RingInput input = {(const unsigned char *)in, ring_head(in), ring_head(in) + nbytes, 0, 1};
    if (nbytes > 0) input.ntiles = (input.end - 1 + P::LATE_NBYTES) / R::TILE_NBYTES + 1;
    if (nbytes > 0) input.nwaves = (unsigned)((input.ntiles - 1) / (unsigned)queue->nsms + 1);
    void *words = (char *)queue->control + (RingExchange<P>::WIDE ? CUDA_CONTROL_RING_8 : CUDA_CONTROL_RING_4);
    const cudaError_t error = cudaFuncSetAttribute(ring_kernel<P>, cudaFuncAttributeMaxDynamicSharedMemorySize, R::SHARED_NBYTES);
    if (error != cudaSuccess) return error;
    void *parameters[] = {(void *)&args, &input, &words};
    return cudaLaunchCooperativeKernel((const void *)ring_kernel<P>, dim3((unsigned)queue->nsms), dim3(R::THREADS), parameters,
                                       R::SHARED_NBYTES, (cudaStream_t)queue->stream);
}

#endif
