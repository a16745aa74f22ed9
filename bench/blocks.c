/* blocks.c: host work on all cores: making inputs and checking results would else take longer than measuring.
 *
 * Threads draw blocks from a counter and end with the work; there are at most MAX_BLOCKS of them, so that a number for each fits an array.
 * A thread that cannot be started is done without: the caller draws too. */
#include <pthread.h>
#include <stdatomic.h>

#include "bench.h"

#define LEAST_ITEMS (UINT64_C(1) << 16) /* in less time than it takes to start a thread, one core does as many */

struct job {
    const struct blocks *blocks;
    void (*work)(void *arg, uint32_t block, uint64_t first, uint64_t last);
    void *arg;
    atomic_uint next;
};

struct blocks blocks_of(uint64_t n) {
    struct blocks blocks = {.n = n, .size = (n + MAX_BLOCKS - 1) / MAX_BLOCKS};
    if (blocks.size < LEAST_ITEMS) blocks.size = LEAST_ITEMS;
    blocks.count = (uint32_t)((n + blocks.size - 1) / blocks.size);
    return blocks;
}

static void *draw(void *arg) {
    struct job *job = arg;
    const struct blocks *blocks = job->blocks;
    for (uint32_t block; (block = atomic_fetch_add(&job->next, 1)) < blocks->count;) {
        const uint64_t first = block * blocks->size, rest = blocks->n - first;
        job->work(job->arg, block, first, first + (rest < blocks->size ? rest : blocks->size));
    }
    return NULL;
}

void blocks_run(const struct blocks *blocks, void (*work)(void *arg, uint32_t block, uint64_t first, uint64_t last), void *arg) {
    enum { MAX_HELPERS = 63 };
    struct job job = {.blocks = blocks, .work = work, .arg = arg};
    pthread_t helpers[MAX_HELPERS];
    const uint32_t nwanted = blocks->count < hardware_threads() ? blocks->count : hardware_threads();
    uint32_t nhelpers = 0;
    while (nhelpers + 1 < nwanted && nhelpers < MAX_HELPERS && pthread_create(&helpers[nhelpers], NULL, draw, &job) == 0) nhelpers++;
    draw(&job);
    for (uint32_t i = 0; i < nhelpers; i++) pthread_join(helpers[i], NULL);
}

uint64_t blocks_sum(const struct blocks *blocks, uint64_t values[MAX_BLOCKS]) {
    uint64_t sum = 0;
    for (uint32_t block = 0; block < blocks->count; block++) {
        const uint64_t value = values[block];
        values[block] = sum;
        sum += value;
    }
    return sum;
}
