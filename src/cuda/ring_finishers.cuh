/* ring_finishers.cuh: the roles of the ring pass (ring.cuh) that write the output. A policy has one of four kinds:
 *
 *   finish      reads its chunk, waits for the prefix, writes
 *   take        when reducers are done, takes along its chunk and what they have noted, gives the slot back, waits for the prefix, writes
 *   pack        counts its chunk as it comes, packs what is kept of it where it lies, and stores that some tiles later
 *   convert     counts its chunk as it comes, puts what becomes of it into a queue of its own, and stores the oldest when that is full */
#ifndef UPSWEEP_RING_FINISHERS_CUH
#define UPSWEEP_RING_FINISHERS_CUH

#include "ring_cta.cuh"

template <class P> struct RingFinisher : Ring<P> {
    typedef Ring<P> Base;
    static constexpr unsigned CHUNK_NBYTES = Base::CHUNK_NBYTES;
    using Base::args, Base::input, Base::exchange, Base::s, Base::lane, Base::way, Base::tile_of, Base::slot_of, Base::note_of,
        Base::parity_of, Base::place_of, Base::holds;

    /* Which of a tile's chunks is the c-th one taken. */
    __device__ unsigned part_of(unsigned c) const { return P::TURNS && way.backwards ? P::FINISHERS - 1 - c : c; }

    __device__ void count_rest(unsigned warp) {
        constexpr unsigned WARPS = P::TEAMS * P::FINISHERS;
        const unsigned thread = (blockIdx.x * WARPS + warp) * 32 + (unsigned)lane;
        unsigned long long n[1] = {P::count_rest(args, thread, gridDim.x * WARPS * 32)};
        warp_fold_rows<Add<unsigned long long>>(n);
        if (lane != 0) return;
        const unsigned long long before = atomicAdd(&s.rest, 1ull << 56 | n[0]);
        if (before >> 56 == WARPS - 1) exchange.publish_rest((before & ~0ull >> 8) + n[0]);
    }

    /* mine: what chunk c of tile j comes to, known by lane j % 32. */
    __device__ void store_packed(unsigned c, unsigned k, typename P::Value mine) {
        const unsigned i = k % P::STAGES, part = part_of(c);
        barrier_wait(&s.ready[i], parity_of(k));
        const typename P::Value sum = __shfl_sync(ALL_LANES, mine, (int)k);
        const typename P::Carry prefix = P::carry_add(s.prefix[i], s.chunk[i][c]), total = P::HOLDS && !way.turns ? s.total : 0;
        P::store(args, slot_of(k) + part * CHUNK_NBYTES, {place_of(k, part), way, sum, prefix, total}, lane);
        barrier_arrive(&s.empty[i]); /* this lane has read its part of the slot, its chunk sum and its prefix */
    }

    /* Counting comes first, because all CTAs wait for it; so a chunk stays in its slot for LAG tiles more, by when its prefix is there.
     * Where tiles are held until all is known, what is not held is counted when they have been packed: until then the memory is busy with
     * them. */
    __device__ void pack(unsigned warp) {
        static_assert(P::LAG % P::TEAMS == 0 && Base::SLOTS == P::STAGES, "some are under way");
        static_assert(P::LAG + P::TEAMS <= P::STAGES, "what waits to be stored leaves a slot for the next tile of its team");
        const unsigned team = warp / P::FINISHERS, c = warp % P::FINISHERS, part = part_of(c);
        typename P::Value mine = 0;
        unsigned k = team, stored = team;
        for (; tile_of(k) < input.ntiles; k += P::TEAMS) {
            const unsigned i = k % P::STAGES;
            unsigned char *const chunk = slot_of(k) + part * CHUNK_NBYTES;
            typename P::Local local;
            barrier_wait(&s.full[i], parity_of(k));
            const typename P::Value sum = P::count(args, (const uint4 *)chunk, place_of(k, part), local, lane);
            if (lane == 0) s.chunk[i][c] = sum;
            barrier_arrive(&s.counted[i]);
            if ((unsigned)lane == k % 32) mine = sum;
            P::put(chunk, local, sum, way, lane);
            fence_async_proxy(); /* what this lane has packed, before the engine fills the slot anew */
            const bool holds_next = holds(k + P::TEAMS);
            if constexpr (P::HOLDS)
                if (k < P::STAGES && !holds_next && !way.turns && P::has_rest(args)) count_rest(warp);
            if (!holds_next)
                for (; stored + P::LAG <= k; stored += P::TEAMS) store_packed(c, stored, mine);
        }
        for (; stored < k; stored += P::TEAMS) store_packed(c, stored, mine);
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
            while (!P::make_room(queue, local, sum, lane)) store_oldest(c, queue);
            P::put(args, chunk, place, local, queue, lane);
            if (P::needs_chunk(local)) barrier_arrive(&s.empty[i]); /* either way this lane has read its part of the slot */
        }
        while (!queue.is_empty()) store_oldest(c, queue);
    }

    /* The prefix of tile k is next written when tile k + STAGES has landed. There are fewer slots: this warp has given back that of a later
     * tile than k before, and so is done with tile k. */
    __device__ void take(unsigned c) {
        for (unsigned k = 0; tile_of(k) < input.ntiles; k++) {
            const unsigned i = k % P::STAGES;
            typename P::Local local;
            barrier_wait(&s.counted[i], parity_of(k));
            const RingPlace place = place_of(k, c);
            P::take(args, (const uint4 *)(slot_of(k) + c * CHUNK_NBYTES), place, note_of(k, c), local, lane);
            /* Nothing has been done yet with what was read, so that loads may still be waiting behind stores to global memory, which the
             * arrival passes; once in some thirty launches the engine had filled the slot anew before (UTF-32, 2^28 bytes, H200). */
            fence_async_proxy();
            barrier_arrive(&s.empty[i]); /* this lane has read its part of the slot, and its notes */
            barrier_wait(&s.ready[i], parity_of(k));
            P::finish(args, place, local, P::carry_add(s.prefix[i], s.chunk[i][c]), lane);
        }
    }

    __device__ void finish(unsigned c) {
        static_assert(P::KEEPS_SLOT || P::NOTE_WORDS == 0, "notes are those of the slot");
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
                fence_async_proxy();
            }
            barrier_arrive(&s.empty[i]); /* this lane has read its part of the slot, its chunk sums and its prefix */
            if (!P::KEEPS_SLOT) P::finish(args, chunk, place, note_of(k, c), local, prefix, lane);
        }
    }
};

#endif
