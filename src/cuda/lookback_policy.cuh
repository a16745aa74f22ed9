/* lookback_policy.cuh: what a primitive supplies to the passes that take a tile a CTA, a type P; and what it is told. By one CTA alone
 * (small.cuh), by one cluster (cluster.cuh), or by any number of CTAs (lookback.cuh), reduce and finish are the same:
 *
 *   Args (with in [n]), Shared (shared memory), THREADS, CTAS, TILE_ITEMS, IN_NBYTES (of an element)
 *   Value, Op: an aggregate and how two combine; WORD_NBYTES: 8 for values (or counts) below 2^48, 16 for any 8-byte value
 *   Part, PartOp: the same for the few tiles of small.cuh and cluster.cuh, if they are asked for; COUNTS: finish() wants the total, and
 *   what comes before the warp in the tile apart from the prefix; overwrites_aside(args): is anything overwritten that is read and that no
 *   aggregate depends on?
 *   carry_in(args); Value reduce(args, tile, shared, warp, lane): loads its part and returns its warp's aggregate, in all lanes
 *   rank(lane): what else can be found out without the prefix, while that is on its way
 *   finish(args, tile, scanned, shared, warp, lane): with the prefix of the tile, what comes before the warp in it, its aggregate, and the
 *   total of all tiles if that was asked for (launch_with_total) */
#ifndef UPSWEEP_CUDA_LOOKBACK_POLICY_CUH
#define UPSWEEP_CUDA_LOOKBACK_POLICY_CUH

#include <stdint.h>

/* What a warp knows when it finishes its part of a tile. */
template <class V> struct Scanned {
    V prefix;    /* of the tile */
    V before;    /* of the warp, in the tile */
    V aggregate; /* of the tile */
    V total;     /* of all tiles, if it is wanted */
};

template <class P> static uint64_t tiles_of(uint64_t n) { return n == 0 ? 1 : (n - 1) / P::TILE_ITEMS + 1; }

#endif
