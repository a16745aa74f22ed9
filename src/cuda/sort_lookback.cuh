/* sort_lookback.cuh: how many keys of a digit lie in all tiles before this one: decoupled look-back, one word a tile and digit.
 *
 * A tile announces its own count of each digit as soon as it has counted (state OWN), and the count up to and including itself once it
 * knows it (state UPTO). To know it, it walks back over its predecessors, adding OWN counts, until the first UPTO. Thread d does this for
 * digit d, so that a row of words is read at once, and loads several rows at a time, because each costs a round trip to the L2 cache. State
 * and count share one 32-bit word, so relaxed loads and stores are enough: there is no other data that a flag would have to announce. Tiles
 * are numbered by the order in which they began (a ticket), so every tile waited for is running, and the walk ends. Source: Merrill and
 * Garland, Single-pass parallel prefix scan with decoupled look-back, 2016; Adinets and Merrill, Onesweep, 2022. */
#ifndef UPSWEEP_CUDA_SORT_LOOKBACK_CUH
#define UPSWEEP_CUDA_SORT_LOOKBACK_CUH

#include <stdint.h>

#include "sort_tuning.h"
#include "words.cuh"

#define TILE_OWN        (1u << 30)
#define TILE_UPTO       (2u << 30)
#define TILE_COUNT_MASK (TILE_OWN - 1)

static_assert(SORT_PORTION_ITEMS <= TILE_COUNT_MASK, "a count must fit beside the state");

/* states [tiles][SORT_DIGITS]. Returns the keys of `digit` in tiles 0 .. tile - 1; tile 0 always has UPTO, so tile >= 1 never runs past it.
 */
static __device__ __forceinline__ uint32_t look_back(const uint32_t *states, uint32_t tile, uint32_t digit) {
    const uint32_t *next = states + (uint64_t)tile * SORT_DIGITS + digit; /* one past the state to look at next */
    uint32_t sum = 0, left = tile;
    while (left > 0) {
        uint32_t seen[SORT_LOOK_AT];
#pragma unroll
        for (uint32_t i = 0; i < SORT_LOOK_AT; i++) seen[i] = i < left ? load_relaxed(next - (i + 1) * SORT_DIGITS) : TILE_UPTO;
        uint32_t used = 0;
        bool done = false;
#pragma unroll
        for (uint32_t i = 0; i < SORT_LOOK_AT; i++) {
            if (done || used != i || seen[i] < TILE_OWN) continue; /* stop at the first that is not there yet */
            sum += seen[i] & TILE_COUNT_MASK;
            done = seen[i] >= TILE_UPTO;
            used++;
        }
        if (done) return sum;
        next -= used * SORT_DIGITS;
        left -= used;
    }
    return sum;
}

#endif
