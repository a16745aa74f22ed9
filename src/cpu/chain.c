/* chain.c: the chained pass of chain.h. */
#include <sched.h>
#include <stdatomic.h>

#include "chain.h"

#if defined(__x86_64__)
#define CPU_RELAX() __builtin_ia32_pause()
#else
#define CPU_RELAX() atomic_signal_fence(memory_order_seq_cst)
#endif

/* Pauses before a waiting thread offers its processor to others: a few us, about the time in which a predecessor that runs publishes. */
#define SPINS_BEFORE_YIELD 256

/* A ring of mailboxes, one cache line each, so that every waiting thread spins on a line of its own. Slot b % CHAIN_SLOTS holds the carry
 * into block b. Block b writes the slot of block b + 1, whose last reader, block b + 1 - CHAIN_SLOTS, has read it long before: carries are
 * published in order. Any ring of two or more slots is right; 16 keep neighbours apart. */
#define CHAIN_SLOTS 16

struct slot {
    _Alignas(64) _Atomic uint64_t block;
    uint64_t carry;
};

struct chain {
    const struct chain_policy *policy;
    const void *arg;
    uint64_t n, nblocks;
    size_t block_items;
    struct slot slots[CHAIN_SLOTS];
    _Alignas(64) _Atomic uint64_t next_block;
};

static size_t items_of_block(const struct chain *chain, uint64_t block) {
    const uint64_t left = chain->n - block * chain->block_items;
    return left < chain->block_items ? (size_t)left : chain->block_items;
}

static uint64_t wait_for_carry(struct slot *slot, uint64_t block) {
    /* acquire: the carry was written before the number that announces it */
    for (unsigned spins = 0; atomic_load_explicit(&slot->block, memory_order_acquire) != block; spins++) {
        if (spins < SPINS_BEFORE_YIELD)
            CPU_RELAX();
        else
            sched_yield();
    }
    return slot->carry;
}

static void publish_carry(struct slot *slot, uint64_t block, uint64_t carry) {
    slot->carry = carry;
    atomic_store_explicit(&slot->block, block, memory_order_release); /* announces the carry, which must be visible first */
}

static void run_task(void *arg, uint32_t task) {
    struct chain *chain = arg;
    const struct chain_policy *policy = chain->policy;
    for (;;) {
        const uint64_t block = atomic_fetch_add_explicit(&chain->next_block, 1, memory_order_relaxed);
        if (block >= chain->nblocks) return;
        const uint64_t first = block * chain->block_items;
        const size_t n = items_of_block(chain, block);
        const uint64_t aggregate = policy->reduce(chain->arg, task, first, n);
        const uint64_t carry = wait_for_carry(&chain->slots[block % CHAIN_SLOTS], block);
        publish_carry(&chain->slots[(block + 1) % CHAIN_SLOTS], block + 1, policy->combine(chain->arg, carry, aggregate));
        policy->finish(chain->arg, task, first, n, carry, aggregate);
    }
}

static uint64_t run_serially(const struct chain_policy *policy, const void *arg, uint64_t n, size_t block_items, uint64_t carry) {
    for (uint64_t first = 0; first < n; first += block_items)
        carry = policy->pass(arg, first, n - first < block_items ? (size_t)(n - first) : block_items, carry);
    return carry;
}

uint32_t chain_ntasks(const upsweep_context *ctx, uint64_t n, size_t item_nbytes) {
    const uint32_t nthreads = cpu_impl(ctx)->nthreads;
    uint64_t nbytes;
    if (nthreads == 1) return 1;
    if (__builtin_mul_overflow(n, item_nbytes, &nbytes)) return nthreads;
    if (nbytes <= CHAIN_THREADS_MIN_NBYTES) return 1; /* before the division */
    const uint32_t shared = CHAIN_THREADS_NBYTES / nthreads;
    const uint32_t least = shared > CHAIN_THREADS_MIN_NBYTES ? shared : CHAIN_THREADS_MIN_NBYTES;
    return nbytes <= least ? 1 : nthreads;
}

uint64_t chain_run(upsweep_context *ctx, const struct chain_policy *policy, const void *arg, uint64_t n, size_t block_items, uint64_t carry,
                   uint32_t ntasks) {
    if (ntasks <= 1) return run_serially(policy, arg, n, block_items, carry);
    struct chain chain = {.policy = policy, .arg = arg, .n = n, .nblocks = (n - 1) / block_items + 1, .block_items = block_items};
    for (uint64_t i = 1; i < CHAIN_SLOTS; i++) atomic_init(&chain.slots[i].block, UINT64_MAX);
    chain.slots[0].carry = carry; /* and .block = 0: the carry into block 0 is known */
    cpu_run(ctx, run_task, &chain, ntasks);
    return chain.slots[chain.nblocks % CHAIN_SLOTS].carry;
}
