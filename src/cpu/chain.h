/* chain.h: the one pass that scan, compaction and partition are: over blocks that fit in L2, each of which needs the carry of all before
 * it.
 *
 *     block      0             1             2             3
 *     thread A   reduce|finish               reduce ..wait|finish
 *     thread B                 reduce|wait|finish           reduce ...
 *     carry      init -------> c1 ---------> c2 ---------> c3 ------->
 *
 * A thread takes the next block number from an atomic counter, reduces the block (which brings it into its L2), waits until the block
 * before has published its carry, publishes its own, and only then finishes the block, out of L2. So memory is read once, and no thread
 * ever waits for another's finish. The two-pass form (reduce everything, then scan everything) reads memory twice and lost by that much.
 * Numbers are handed out in order, so a block waits only for blocks that have begun: any executor makes progress, a serial one too.
 * With one task there is no reduce and there are no atomics: each block runs through with the carry in hand.
 *
 * State: 1 KiB on the caller's stack. A carry is 64 bits that only the policy understands.
 * Source: Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back, 2016 (chained scan, section 4.1). */
#ifndef UPSWEEP_CHAIN_H
#define UPSWEEP_CHAIN_H

#include "cpu.h"

/* Bytes of a block: half of the smallest L2 in use (256 KiB), and enough work (several us) to make a hand-over cheap. Results of float
 * scans depend on it, so it is the same on every machine and for every thread count. */
#define CHAIN_BLOCK_NBYTES (128u << 10)

/* A call stays on its thread below CHAIN_THREADS_NBYTES / nthreads bytes of input, or the minimum if that is more: within the caches one
 * thread is fast, the others must be woken, and each block is read twice. (Two threads, busy Zen 5, 2026-11: a loss below 4 MiB.) */
#define CHAIN_THREADS_NBYTES     (8u << 20)
#define CHAIN_THREADS_MIN_NBYTES (1u << 20)

struct chain_policy {
    /* The aggregate of items [first, first + n); runs at once on any number of tasks, in any order. */
    uint64_t (*reduce)(const void *arg, uint32_t task, uint64_t first, size_t n);
    /* The carry after a block, from the carry before it and its aggregate. */
    uint64_t (*combine)(const void *arg, uint64_t carry, uint64_t aggregate);
    /* Completes a block that the same task has just reduced. */
    void (*finish)(const void *arg, uint32_t task, uint64_t first, size_t n, uint64_t carry, uint64_t aggregate);
    /* All three at once, when the carry is known beforehand: returns the carry after the block, the same bits as combine's.
     * NULL if the policy is never run with one task. */
    uint64_t (*pass)(const void *arg, uint64_t first, size_t n, uint64_t carry);
};

/* The tasks that a call on n items of item_nbytes each is cut into; never fewer for a larger n. */
uint32_t chain_ntasks(const upsweep_context *ctx, uint64_t n, size_t item_nbytes);

/* Runs the policy over n items in blocks of block_items and returns the carry after the last one. */
uint64_t chain_run(upsweep_context *ctx, const struct chain_policy *policy, const void *arg, uint64_t n, size_t block_items, uint64_t carry,
                   uint32_t ntasks);

#endif
