/* sort_gather.c: values that do not move with their keys: once the keys are sorted, each is fetched by its index.
 *
 * Values of 4 and 8 bytes move, for two stores in cache cost less than a read from anywhere in memory. Others are read at random once,
 * which is a line of memory each if they are small, instead of being moved twice. */
#include <string.h>

#include "sort_kernels.h"

static uint64_t index_at(const struct sort_gather *g, uint64_t i) {
    return g->index_nbytes == 4 ? ((const uint32_t *)(const void *)g->indices)[i] : ((const uint64_t *)(const void *)g->indices)[i];
}

/* Inlined with a constant size, memcpy is a load and a store. */
static inline void gather_range(const struct sort_gather *g, uint64_t begin, uint64_t end, size_t nbytes) {
    for (uint64_t i = begin; i < end; i++) memcpy(g->to + i * nbytes, g->from + index_at(g, i) * nbytes, nbytes);
}

static void gather_task(void *arg, uint32_t i) {
    const struct sort_gather *g = arg;
    const uint64_t begin = i * g->chunk < g->n ? i * g->chunk : g->n, end = g->n - begin < g->chunk ? g->n : begin + g->chunk;
    switch (g->value_nbytes) {
    case 1:
        gather_range(g, begin, end, 1);
        break;
    case 2:
        gather_range(g, begin, end, 2);
        break;
    case 16:
        gather_range(g, begin, end, 16);
        break;
    default:
        gather_range(g, begin, end, g->value_nbytes);
    }
}

void sort_gather_values(upsweep_context *ctx, struct sort_gather *gather, uint32_t ntasks) {
    gather->chunk = (gather->n + ntasks - 1) / ntasks;
    cpu_run(ctx, gather_task, gather, ntasks);
}
