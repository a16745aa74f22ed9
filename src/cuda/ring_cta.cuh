/* ring_cta.cuh: what all roles of a CTA of the ring pass (ring.cuh) share: the slots and where things lie in them, the barriers by which
 * they wait for one another, and what is known of the tiles under way.
 *
 *   shared memory    | slot 0: halo, tile, tail | slot 1 | ... | sides | notes | work |       and RingShared
 *
 * Tile t = wave * G + CTA; wave k of a CTA uses the slot and the notes k % SLOTS, and its barriers and facts are at k % STAGES. */
#ifndef UPSWEEP_RING_CTA_CUH
#define UPSWEEP_RING_CTA_CUH

#include "async.cuh"
#include "ring_exchange.cuh"
#include "ring_policy.cuh"
#include "tuning.h"

template <class P> struct RingShared {
    uint64_t full[P::STAGES];                         /* the slot's tile has landed */
    uint64_t counted[P::STAGES];                      /* finishers that pack or convert, or reducers, know what chunks come to */
    uint64_t ready[P::STAGES];                        /* the tile's prefix and what its reducers found are there */
    uint64_t empty[P::STAGES];                        /* the slot may be filled anew */
    typename P::Value chunk[P::STAGES][P::FINISHERS]; /* its aggregate; once `ready`: the fold of those before it in the tile */
    typename P::Carry prefix[P::STAGES];
    uintptr_t side_first[P::STAGES]; /* said by the producer: finding it may take a division */
    uint64_t first_wave;
    typename P::Carry carry_in, total;
    unsigned long long rest; /* {arrivals 8, sum 56} of finishers, if the policy HOLDS */
};

template <class P> struct Ring {
    static constexpr unsigned HELPERS = 2; /* producer, prefix */
    static constexpr bool FINISHERS_COUNT = P::PACKS || P::CONVERTS;
    static constexpr unsigned WARPS = HELPERS + P::REDUCERS + P::FINISHERS * P::TEAMS;
    static constexpr unsigned THREADS = WARPS * 32;
    static constexpr unsigned CHUNK_NBYTES = P::ROWS * P::ROW_NBYTES;
    static constexpr unsigned TILE_NBYTES = P::FINISHERS * CHUNK_NBYTES;
    static constexpr unsigned LOAD_NBYTES = P::HALO_NBYTES + TILE_NBYTES + P::TAIL_NBYTES;
    static constexpr unsigned NOTE_NBYTES = P::NOTE_WORDS * 128;
    static constexpr unsigned SLOTS = P::SLOTS > 0 ? P::SLOTS : P::STAGES;
    static constexpr unsigned SIDES_AT = SLOTS * LOAD_NBYTES, NOTES_AT = SIDES_AT + P::STAGES * P::SIDE_NBYTES;
    static constexpr unsigned WORK_AT = NOTES_AT + SLOTS * P::FINISHERS * NOTE_NBYTES;
    static constexpr unsigned SHARED_NBYTES = WORK_AT + P::FINISHERS * P::WORK_NBYTES;
    static_assert(P::HALO_NBYTES % 16 == 0 && P::TAIL_NBYTES % 16 == 0 && P::SIDE_NBYTES % 16 == 0 &&
                      SHARED_NBYTES + sizeof(RingShared<P>) <= RING_SHARED_NBYTES,
                  "");
    static_assert(2 * P::STAGES < RING_WAVES, "words of two waves would share a slot");
    static_assert(P::FINISHERS % P::REDUCERS == 0 && P::FINISHERS <= 32 && THREADS <= 1024, "reducers take as many chunks, a warp sums");
    static_assert(!FINISHERS_COUNT || P::REDUCERS == 1, "that is all there is to do");
    static_assert(!P::CONVERTS || SLOTS + P::QUEUED < P::STAGES, "who stores a tile reads what is known of it");
    static_assert(!P::TAKES || SLOTS < P::STAGES, "so does who finishes one");

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
    __device__ unsigned char *slot_of(unsigned wave) const { return slots + wave % SLOTS * LOAD_NBYTES + P::HALO_NBYTES; }
    __device__ uint32_t *note_of(unsigned wave, unsigned chunk) const {
        return (uint32_t *)(slots + NOTES_AT + (wave % SLOTS * P::FINISHERS + chunk) * NOTE_NBYTES);
    }
    static __device__ unsigned parity_of(unsigned wave) { return wave / P::STAGES & 1; }

    __device__ unsigned char *side_slot_of(unsigned wave) const { return slots + SIDES_AT + wave % P::STAGES * P::SIDE_NBYTES; }
    __device__ uintptr_t address_of(uint64_t byte) const { return (uintptr_t)input.in - input.head + byte; }

    /* Address of what stands first in the side slot of a tile: on 16 bytes, maybe before the array. */
    static __device__ uintptr_t side_base_of(uintptr_t side_first) { return side_first & ~(uintptr_t)15; }

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

    /* The first waves may wait in their slots until all of them are known, and what the slots cannot hold. */
    __device__ bool holds(unsigned k) const {
        if constexpr (P::HOLDS) return k < P::STAGES && !way.turns && P::holds(args);
        return false;
    }

    /* What is counted first, and read again soon after those waves, is to be found in the L2 cache then: they, and as many after them, of
     * which nothing is read again, are not to take its place when they are loaded. (Nor when they are stored, would be worth 1 %; but
     * choosing that for each tile costs partitions that hold all their tiles 2 to 4 %.) */
    __device__ bool passes(unsigned k) const {
        if constexpr (P::HOLDS) return k < 2 * P::STAGES && !way.turns && P::has_rest(args);
        return false;
    }
};

#endif
