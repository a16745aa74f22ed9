/* ring_policy.cuh: what a primitive supplies to the ring pass (ring.cuh), a type P of constants and static functions; and what it is told.
 *
 *   Args, Value (an aggregate, at most 8 bytes) and Op (how two combine), Carry (of a whole input: may be wider)
 *   REDUCERS, FINISHERS (warps), ROWS (of ROW_NBYTES: a 16-byte vector a lane, unless it says otherwise), STAGES
 *   KEEPS_SLOT (finish() still uses the chunk in shared memory, and writes there)
 *   carry_in(args), carry_add(carry, value), end(args, carry)
 *   pad(slot, from, to): gives bytes of the slot outside the input a harmless value (nothing to do if the policy masks)
 *   SIDE_NBYTES: room in a slot for what the tile needs of a second array, a multiple of 16 (0: there is none). side_first(args) and
 *   side_end(args) are that array's bounds; side_of(args, byte) is the address in it that belongs to a byte of the input
 *   NOTE_WORDS: 32-bit words a lane that a chunk's reducer leaves for its finisher, word j at note[32 * j + lane]
 *   reduce(args, chunk, place, note) -> Value; Local; prepare(args, chunk, place, local) while the prefix is under way;
 *   finish(args, chunk, place, note, local, prefix)
 *   Or, if it TAKES: take(args, chunk, place, note, local, lane) when reducers are done, and finish(args, place, local, prefix, lane).
 *   Slots are given back in between, before the prefix is known, and there are SLOTS of them, fewer than STAGES
 *   Or, if it PACKS: finishers count(args, chunk, place, local, lane) -> Value a chunk, take it along in registers, and put(chunk, local,
 *   value, way, lane) what is kept of it in its own place; store(args, chunk, facts, lane) when LAG more tiles have been counted. TEAMS of
 *   finishers take tiles in turn. The one reducer only adds up
 *   If it HOLDS, and holds(args): the first STAGES waves are finished only when all of them are known; facts.total is then that of all
 *   tiles, total(args, rest, carry), and else 0. If it has_rest(args), finishers then call count_rest(args, thread, nthreads), of
 *   which rest is the sum
 *   Or, if it CONVERTS: finishers count(args, chunk, place, local, queue, lane) -> Value a chunk, too, and put(args, chunk, place, local,
 *   queue, lane) what becomes of it into a Queue in memory of their own, of up to QUEUED chunks; make_room(queue, local, value, lane) says
 *   whether there is room. store(args, queue, prefix, lane) takes the oldest out, when its prefix is known. The one reducer only adds up.
 *   Slots are given back after count() unless the chunk is needed, needs_chunk(local), in put(); so that SLOTS of them will do
 *   and, unless it takes them from RingPlain:
 *   HALO_NBYTES, TAIL_NBYTES, multiples of 16: of what comes before a tile and behind it, loaded with it; it lies beside the tile's chunks
 *   LATE_NBYTES: tiles go on until they hold as many bytes after the input, for what becomes of a byte later than where it stands
 *   WORK_NBYTES: shared memory of a finisher's own, at place.s_work
 *   TURNS: sync_and_choose(args, input), by all threads of a CTA, and of all CTAs with the same answer, says which way the launch goes. If
 *   that turns, it holds nothing; all threads call turn(args, input, exchange, total, way, slots) when the roles of their CTA are done,
 *   or will be: exchange.meet() waits for all roles of all CTAs
 *   AT_HAND: what roles ask for all the time stays in registers, at_hand()
 *   LEAVES: leave(args) is called by one thread of each CTA when all its roles are done */
#ifndef UPSWEEP_RING_POLICY_CUH
#define UPSWEEP_RING_POLICY_CUH

#include <stdint.h>

/* Input of a launch, in bytes. Tiles start at `in` rounded down to 16 bytes (copy engine, vectors): byte 0 of the input is byte `head` of
 * tile 0, and `end` is head + the input's bytes. */
struct RingInput {
    const unsigned char *in;
    unsigned head;
    uint64_t end;
    uint64_t ntiles;
    unsigned nwaves; /* ceil(ntiles / gridDim.x), at least 1 */
};

/* Bytes by which `in` lies past a 16-byte boundary: where its first byte stands in tile 0. */
static inline unsigned ring_head(const void *in) { return (unsigned)((uintptr_t)in % 16); }

/* Where a chunk lies: its first byte and its tile's, counted from byte 0 of tile 0; whether all of it is input; which bytes are. And its
 * tile's part of the side array, if there is one: what belongs to the tile's first byte has the address side_first, and lies at s_side. And
 * the finisher's own memory. */
struct RingPlace {
    uint64_t first, tile_first;
    bool whole;
    uint64_t input_first, input_end;
    const unsigned char *s_side;
    uintptr_t side_first;
    unsigned char *s_work;
};

/* How a launch goes about it, if the policy TURNS: whether something is left to do when all is written, for which nobody has to wait for
 * the total; and whether tiles are taken from the last to the first. */
struct RingWay {
    bool turns, backwards;
};

/* What is known of a chunk when it is stored. */
template <class Value, class Carry> struct RingFacts {
    RingPlace place;
    RingWay way;
    Value sum;    /* its own */
    Carry prefix; /* of all chunks taken before it */
    Carry total;  /* of all, if the policy HOLDS, and holds() */
};

/* What most policies have in common. */
struct RingPlain {
    static constexpr unsigned ROW_NBYTES = 512, HALO_NBYTES = 0, TAIL_NBYTES = 0, SIDE_NBYTES = 0, LATE_NBYTES = 0, WORK_NBYTES = 0;
    static constexpr unsigned SLOTS = 0 /* as many as STAGES */, NOTE_WORDS = 0, QUEUED = 0, TEAMS = 1;
    static constexpr bool AT_HAND = true, LEAVES = false, PACKS = false, HOLDS = false, CONVERTS = false, TAKES = false, TURNS = false;
    template <class Args> static __device__ RingWay sync_and_choose(const Args &, const RingInput &) {
        __syncthreads();
        return {false, false};
    }
};

#endif
