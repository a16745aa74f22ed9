/* test_sort_large.c: sorts on the CPU of so many keys that they are split twice (split_bits() in src/cpu/sort_run.c): more than 151 million
 * u32, more than 101 million pairs.
 *
 * The keys are multiples of one step, in the order of a walk round them in strides, so the host can tell every output without a second
 * array: key number i is i steps. In place, to halve the memory. */
#include <inttypes.h>
#include <stdio.h>

#include "harness.h"

enum { GIB = 1 << 30 };
static const uint64_t N_KEYS = 152000011, N_PAIRS = 102000019, STRIDE = 60000011;

/* What the system says that new programs may take; 0: it does not say. */
static uint64_t available_nbytes(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    uint64_t kib = 0;
    char line[128];
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1) break;
    if (file != NULL) fclose(file);
    return kib << 10;
}

/* keys [n]: 0, STRIDE, 2 * STRIDE ... modulo n, times the step; values [n], unless NULL: the places. */
static void fill(uint32_t *keys, uint32_t *values, uint64_t n, uint32_t step) {
    uint64_t at = 0;
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = (uint32_t)at * step;
        if (values != NULL) values[i] = (uint32_t)i;
        at = at + STRIDE < n ? at + STRIDE : at + STRIDE - n;
    }
}

static uint64_t count_wrong(const uint32_t *keys, const uint32_t *values, uint64_t n, uint32_t step) {
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < n; i++) {
        wrong += keys[i] != (uint32_t)i * step;
        if (values != NULL) wrong += values[i] * STRIDE % n != i;
    }
    return wrong;
}

static void test_large(upsweep_context *ctx, uint64_t n, bool pairs) {
    const uint32_t step = (uint32_t)(UINT32_MAX / n);
    void *keys = NULL, *values = NULL;
    case_begin("%" PRIu64 " %s u32", n, pairs ? "pairs" : "keys");
    if (CHECK_OK(upsweep_alloc(ctx, &keys, n * sizeof(uint32_t))) &&
        (!pairs || CHECK_OK(upsweep_alloc(ctx, &values, n * sizeof(uint32_t))))) {
        fill(keys, values, n, step);
        if (pairs)
            CHECK_OK(upsweep_sort_pairs(ctx, keys, keys, values, values, n, UPSWEEP_U32, sizeof(uint32_t), NULL));
        else
            CHECK_OK(upsweep_sort(ctx, keys, keys, n, UPSWEEP_U32, NULL));
        CHECK(count_wrong(keys, values, n, step) == 0);
    }
    upsweep_free(ctx, keys);
    upsweep_free(ctx, values);
}

int main(void) {
    upsweep_context *ctx = NULL;
    harness_begin(false);
    if (!backend_wanted("cpu") || quick()) {
        skip("large sorts on cpu: not at this scale");
    } else if (available_nbytes() < UINT64_C(3) * GIB) {
        skip("large sorts on cpu: less than 3 GiB of memory are available");
    } else if (CHECK_OK(upsweep_open(&ctx, "cpu"))) {
        test_large(ctx, N_KEYS, false);
        test_large(ctx, N_PAIRS, true);
    }
    upsweep_close(ctx);
    return harness_end();
}
