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
 *
 * Where what becomes of a chunk is most of the work, finishers look at it once: they count it as soon as it has landed, and *pack* what is
 * kept of it in its place, or *convert* it into a queue of their own; and store that some tiles later, when the prefix is there.
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
 * warp, and that one needs all others' words of each wave; so while anybody still reads wave w, nobody publishes wave w + 2 * STAGES; but
 * in the last wave, a CTA without a tile waits for no slot, and so may be one wave further. 2 * STAGES < WAVES slots of words never mix.
 * (Where slots are given back before the prefix is known, there are fewer than STAGES of them, and who gives back that of the next wave has
 * this wave's prefix.) The grid is the same in all launches of a context (one CTA a multiprocessor). A word carries its wave number as tag:
 * a stale word in its slot is exactly WAVES waves old, so a 32-bit tag cannot repeat. Nothing is ever cleared, and a graph replay finds the
 * counter where the last launch left it.
 *
 * A primitive supplies a policy (ring_policy.cuh), of about 50 lines. Source: after Merrill and Garland 2016 (single pass, tile
 * aggregates); the wave exchange and the roles are our own. */
#ifndef UPSWEEP_RING_CUH
#define UPSWEEP_RING_CUH

#include "launch.h"
#include "ring_finishers.cuh"
#include "ring_producer.cuh"

template <class P> struct RingPrefix : Ring<P> {
    typedef Ring<P> Base;
    static constexpr unsigned SLOTS = Base::SLOTS;
    using Base::args, Base::input, Base::exchange, Base::s, Base::lane, Base::way, Base::tile_of, Base::parity_of, Base::holds;

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
                /* The old prefix has been read: before that slot was given back. Finishers that count have read it when they have counted
                 * this tile, of which the exchange has told already; waiting for it costs nothing, and tools can follow. */
                if (Base::FINISHERS_COUNT)
                    barrier_wait(&s.counted[k % P::STAGES], parity_of(k));
                else if (k >= SLOTS)
                    barrier_wait(&s.empty[(k - SLOTS) % P::STAGES], parity_of(k - SLOTS));
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

    __device__ void release(unsigned last, typename P::Carry carry) {
        const uint64_t rest = P::has_rest(args) ? exchange.sum_rest(lane) : 0;
        if (lane != 0) return;
        s.total = P::total(args, rest, carry);
        for (unsigned k = 0; k <= last && tile_of(k) < input.ntiles; k++) barrier_arrive(&s.ready[k]);
    }
};

template <class P> struct RingReducer : Ring<P> {
    typedef Ring<P> Base;
    typedef typename P::Op Op;
    static constexpr unsigned CHUNK_NBYTES = Base::CHUNK_NBYTES;
    using Base::args, Base::input, Base::exchange, Base::s, Base::lane, Base::neutral, Base::tile_of, Base::slot_of, Base::note_of,
        Base::parity_of, Base::place_of;

    /* By one warp: the tile's aggregate, and in the place of each chunk's aggregate the fold of those before it. */
    __device__ typename P::Value fold_chunks(typename P::Value *chunks) const {
        typename P::Value x[1] = {lane < P::FINISHERS ? chunks[lane] : neutral()};
        warp_scan_rows<Op>(x, lane);
        const typename P::Value before = (typename P::Value)__shfl_up_sync(ALL_LANES, x[0], 1);
        if (lane < P::FINISHERS) chunks[lane] = lane == 0 ? neutral() : before;
        return (typename P::Value)__shfl_sync(ALL_LANES, x[0], 31);
    }

    /* What each finisher's chunk comes to. */
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
                if constexpr (Base::FINISHERS_COUNT)
                    barrier_wait(&s.counted[k % P::STAGES], parity_of(k));
                else
                    reduce_chunks(k, reducer);
                if (reducer == 0) aggregate = fold_chunks(s.chunk[k % P::STAGES]);
                /* This lane has read its part of the chunks and written its notes. */
                barrier_arrive(P::TAKES ? &s.counted[k % P::STAGES] : &s.ready[k % P::STAGES]);
            }
            if (reducer == 0 && lane == 0) exchange.publish(k, aggregate);
        }
    }
};

/* In a register: otherwise the compiler finds it out anew each time, from a special register that answers late (indices of 2^28 bytes, a
 * tenth kept, H200: 150 us for 145; from UTF-16, French, 2^28 bytes: 263 for 251). */
template <class P, class T> static __device__ __forceinline__ T at_hand(T x) {
    if (P::AT_HAND) asm volatile("" : "+r"(x)); /* now it may be anything */
    return x;
}

/* The same of where something lies in shared memory. */
template <class P, class T> static __device__ __forceinline__ T &shared_at_hand(T &x) {
    return P::AT_HAND ? *(T *)__cvta_shared_to_generic(at_hand<P>(shared_address(&x))) : x;
}

template <class P>
static __global__ void __launch_bounds__(Ring<P>::THREADS, 1)
    ring_kernel(const __grid_constant__ typename P::Args args, const __grid_constant__ RingInput input,
                typename RingExchange<P>::Words *words) {
#if __CUDA_ARCH__ >= 900 /* can_run_ring() asks for this code */
    extern __shared__ __align__(128) unsigned char s_slots[];
    __shared__ RingShared<P> s;
    /* Of a shuffle's result the compiler knows that all lanes have the same. */
    const unsigned warp = P::AT_HAND ? __shfl_sync(ALL_LANES, threadIdx.x / 32, 0) : threadIdx.x / 32;
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < P::STAGES; i++) {
            barrier_init(&s.full[i], 32);
            barrier_init(&s.ready[i], 1 /* the prefix warp's lane 0 */ + (P::TAKES ? 0 : 32 * P::REDUCERS));
            barrier_init(&s.counted[i], 32 * (P::TAKES ? P::REDUCERS : P::FINISHERS));
            barrier_init(&s.empty[i], 32 * P::FINISHERS);
        }
        barrier_init_fence();
        s.first_wave = load_relaxed_8(&words->next_wave);
        s.carry_in = P::carry_in(args);
        s.rest = 0;
        if constexpr (P::HOLDS) s.total = 0;
    }
    /* Barriers are set up; and this CTA has read the wave counter and the carry-in before it publishes anything. */
    const RingWay way = P::sync_and_choose(args, input);
    const Ring<P> cta = {
        args, input, {words, s.first_wave}, shared_at_hand<P>(s), &shared_at_hand<P>(*s_slots), at_hand<P>((int)threadIdx.x % 32), way};
    const unsigned first_reducer = Ring<P>::HELPERS, first_finisher = first_reducer + P::REDUCERS;
    if (warp == 0)
        RingProducer<P>{cta}.produce();
    else if (warp == 1)
        RingPrefix<P>{cta}.find_prefixes();
    else if (warp < first_finisher)
        RingReducer<P>{cta}.reduce(warp - first_reducer);
    else if constexpr (P::CONVERTS)
        RingFinisher<P>{cta}.convert(warp - first_finisher);
    else if constexpr (P::PACKS)
        RingFinisher<P>{cta}.pack(warp - first_finisher);
    else if constexpr (P::TAKES)
        RingFinisher<P>{cta}.take(warp - first_finisher);
    else
        RingFinisher<P>{cta}.finish(warp - first_finisher);
    if constexpr (P::TURNS) P::turn(args, input, cta.exchange, s.total, way, s_slots);
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
