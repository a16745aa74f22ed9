/* sort_items.c: indices of keys of 4 bytes by items of 8: an image, and below it a place. No two items are equal, so that the vector code
 * for keys alone, which is not stable, sorts them stably; sorted, they say where each key comes from.
 *
 *     keys  7 3 9 3    items  7.0 3.1 9.2 3.3  ->  3.1 3.3 7.0 9.2    indices  1 3 0 2
 *
 * Cost: items made, sorted as keys of 8 bytes, and their lower halves written. */
#include <string.h>

#include "sort_kernels.h"

enum { SAMPLE = 256 };

struct items_job {
    const struct sort_args *args;
    struct sort_image image;
    uint64_t *items;
    uint64_t chunk;
};

static uint64_t end_of(const struct items_job *job, uint64_t begin) {
    const uint64_t n = job->args->n;
    return n - begin < job->chunk ? n : begin + job->chunk;
}

static void make_items(void *arg, uint32_t task) {
    const struct items_job job = *(const struct items_job *)arg;
    const unsigned char *const keys = job.args->keys_in;
    const uint32_t flip = (uint32_t)job.image.flip, when_negative = (uint32_t)job.image.when_negative;
    const uint64_t begin = task * job.chunk, end = end_of(&job, begin);
    for (uint64_t i = begin; i < end; i++) {
        uint32_t raw;
        memcpy(&raw, keys + i * sizeof raw, sizeof raw);
        job.items[i] = (uint64_t)(raw ^ flip ^ (when_negative & (0u - (raw >> 31)))) << 32 | i;
    }
}

static void put_indices(void *arg, uint32_t task) {
    const struct items_job job = *(const struct items_job *)arg;
    uint32_t *const indices = job.args->values_out;
    const uint64_t begin = task * job.chunk, end = end_of(&job, begin);
    for (uint64_t i = begin; i < end; i++) indices[i] = (uint32_t)job.items[i];
}

bool sort_pays_as_items(enum cpu_isa isa, uint64_t n, size_t key_nbytes, size_t index_nbytes) {
    return isa == CPU_AVX2 && n >= SORT_ITEMS_LEAST && key_nbytes == sizeof(uint32_t) && index_nbytes == sizeof(uint32_t);
}

/* Are keys even, and in no order? If they fit a leaf, do they differ in more bits than two digits take? By samples. */
static bool are_for_items(const struct sorter *s, uint64_t n, uint64_t leaf_items) {
    const uint64_t varying = s->kernel->varying(&s->in, &s->image, 0, n, n / SAMPLE);
    const uint32_t nbits = varying == 0 ? 0 : sort_bit_top(varying) - sort_bit_low(varying);
    if (nbits <= (n <= leaf_items ? sort_leaf_bits(n) : SORT_SPLIT_BEST_BITS)) return false;
    if (sort_spreads_of(s, &s->in, 0, n).by_digit != SORT_EVEN) return false;
    return s->kernel->order(&s->in, &s->image, 0, SORT_ORDER_SAMPLE, UINT32_MAX) == SORT_MIXED;
}

bool sort_by_items(upsweep_context *ctx, const struct sort_args *args, const struct sorter *s, uint64_t *items) {
    const uint64_t leaf_items = sort_kernel_of(cpu_impl(ctx)->isa, sizeof(uint32_t), sizeof(uint32_t))->leaf_items;
    if (args->lo_bit > 0 || args->hi_bit < 32 || !are_for_items(s, args->n, leaf_items)) return false;
    struct items_job job = {args, s->image, items, (args->n + s->ntasks - 1) / s->ntasks};
    const struct sort_args alone = {.keys_out = items, .keys_in = items, .n = args->n, .type = UPSWEEP_U64, .hi_bit = 64};
    cpu_run(ctx, make_items, &job, s->ntasks);
    cpu_sort(ctx, &alone);
    cpu_run(ctx, put_indices, &job, s->ntasks);
    return true;
}
