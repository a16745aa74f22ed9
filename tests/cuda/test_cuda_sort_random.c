/* test_cuda_sort_random.c: sorts on the GPU against the CPU backend, in random combinations: type, n, form, values, bits, direction,
 * places, distribution; sizes around the borders of the plans too.
 */
#include "oracle.h"
#include "paths.h"
#include "sort_case.h"

/* Up to `most`, and every second time a few keys away from where buckets of 2^bits or more of them become too large for a plan. */
static uint64_t draw_size(uint64_t most) {
    static const uint64_t limits[] = {512, 1024, 2560, 4608, 8192, 9216, 16384, 18432};
    uint64_t n = rng_next(&rng) >> rng_below(&rng, 64) & (most - 1);
    if (rng_below(&rng, 2)) {
        const uint64_t limit = limits[rng_below(&rng, 8)], bits = rng_below(&rng, 17);
        n = rng_below(&rng, 2) ? limit - 2 + rng_below(&rng, 5) : (limit - rng_below(&rng, limit / 8)) << bits;
    }
    return n < 1 ? 1 : n > most ? 1 + n % most : n;
}

static struct sort_case draw_case(uint64_t most) {
    static const size_t value_sizes[] = {4, 8, 4, 8, 16, 1, 2, 3, 12, MAX_VALUE_NBYTES};
    struct sort_case c = {.form = (enum form)rng_below(&rng, FORMS), .type = (upsweep_type)rng_below(&rng, UPSWEEP_TYPE_COUNT)};
    c.n = draw_size(most);
    c.key_nbytes = elem_size(c.type);
    c.value_nbytes = c.form == PAIRS ? value_sizes[rng_below(&rng, 10)] : c.form == ARGSORT32 ? 4 : c.form == ARGSORT64 ? 8 : 0;
    c.order.descending = (uint32_t)rng_below(&rng, 2);
    if (rng_below(&rng, 4) == 0) {
        c.order.lo_bit = (uint32_t)rng_below(&rng, 8 * c.key_nbytes);
        c.order.hi_bit = c.order.lo_bit + 1 + (uint32_t)rng_below(&rng, 8 * c.key_nbytes - c.order.lo_bit);
    }
    c.keys_in_place = c.form <= PAIRS && rng_below(&rng, 3) == 0;
    c.values_in_place = c.form == PAIRS && rng_below(&rng, 3) == 0;
    c.shift = rng_below(&rng, 2) ? 0 : rng_below(&rng, 17);
    return c;
}

static void test_random_case(uint64_t most) {
    const struct sort_case c = draw_case(most);
    test_case(c, (enum distribution)rng_below(&rng, DISTRIBUTIONS));
}

/* The same, and every distribution, without anything for which CTAs must be resident together. */
static void test_without_waiting(void) {
    upsweep_context *usual = cuda;
    cuda = open_path(1, NULL);
    if (CHECK(cuda != NULL)) {
        test_every_distribution(UPSWEEP_U32, 70001, false);
        test_every_distribution(UPSWEEP_F32, 70001, true);
        test_every_distribution(UPSWEEP_I8, 70001, true);
        test_every_distribution(UPSWEEP_U16, 70001, true);
        for (uint64_t i = 0; i < 20; i++) /* runs to be mended that are too long, though no longer than a tile */
            test_case((struct sort_case){.form = PAIRS, .type = UPSWEEP_U64, .n = 99000 + i * 100, .key_nbytes = 8, .value_nbytes = 4},
                      LAGGARD);
        for (int i = 0; i < (quick() ? 100 : 1000); i++) test_random_case(1 << 16);
        for (int i = 0; i < (quick() ? 5 : 20); i++) test_random_case(1 << 22);
        upsweep_close(cuda);
    }
    cuda = usual;
}

/* Keys of one byte where there are no clusters. */
static void test_without_clusters(void) {
    upsweep_context *usual = cuda;
    cuda = open_path(2, NULL);
    if (CHECK(cuda != NULL)) {
        static const uint64_t sizes[] = {255, 256, 4096, 4097, 8192, 8193, 70001};
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) test_every_distribution(UPSWEEP_I8, sizes[s], true);
        upsweep_close(cuda);
    }
    cuda = usual;
}

int main(void) {
    upsweep_device device;
    if (begin_sorts(&device)) {
        for (int i = 0; i < (quick() ? 300 : 10000); i++) test_random_case(1 << 16);
        for (int i = 0; i < (quick() ? 20 : 100); i++) test_random_case(1 << 22);
        for (int i = 0; i < (quick() ? 0 : 6); i++) test_random_case(1 << 25);
        test_without_waiting();
        test_without_clusters();
    }
    return end_sorts();
}
