/* test_cuda_sort_small.c: the kernels of sorts that fewer keys than test_cuda_small's do not reach, on hardly more keys than each of them
 * takes, so that compute-sanitizer comes to an end; against the CPU backend. */
#include "oracle.h"
#include "sort_case.h"

static const struct {
    enum form form;
    upsweep_type type;
    uint64_t n;
    enum distribution distribution;
} cases[] = {
    /* Fused: uniform, skewed by a sample, left to itself by its gaps, with indices, by halves of one and two bytes. */
    {KEYS, UPSWEEP_U32, 140000, RANDOM},
    {KEYS, UPSWEEP_U32, 140000, SKEWED},
    {KEYS, UPSWEEP_U32, 800000, RANDOM}, /* CTAs draw numbers */
    {KEYS, UPSWEEP_U32, 800000, SKEWED},
    {KEYS, UPSWEEP_U64, 140000, SPARSE},
    {KEYS, UPSWEEP_U32, 140000, DATES},
    {ARGSORT32, UPSWEEP_U32, 300000, RECORDS},
    {KEYS, UPSWEEP_F64, 300000, BELL},
    {KEYS, UPSWEEP_F32, 600000, HEAP},
    {KEYS, UPSWEEP_F32, 300000, BANKS},
    {KEYS, UPSWEEP_F32, 300000, TURNS},
    {KEYS, UPSWEEP_U32, 800000, BLOCKS},
    /* What that split is not for: by rounds beneath it. */
    {KEYS, UPSWEEP_U32, 40000, BURIED},
    {KEYS, UPSWEEP_U64, 300000, BURIED},
    {KEYS, UPSWEEP_F32, 300000, BURIED},
    {ARGSORT32, UPSWEEP_F32, 140000, BELL},
    {ARGSORT32, UPSWEEP_F32, 600000, HEAP},
    {PAIRS, UPSWEEP_U32, 140000, RANDOM},
    {KEYS, UPSWEEP_U16, 140000, RANDOM},
    {KEYS, UPSWEEP_U8, 600000, RANDOM},
    {KEYS, UPSWEEP_U8, 140000, RANDOM}, /* of a cluster, and of one CTA */
    {KEYS, UPSWEEP_U8, 20001, RANDOM},
    {KEYS, UPSWEEP_U8, 4001, HOT},
    /* A sample of more keys, and counted values. */
    {KEYS, UPSWEEP_U32, 1200000, SKEWED},
    {KEYS, UPSWEEP_U32, 1200000, REPEATED},
    {KEYS, UPSWEEP_U32, 1200000, MISFITS},
    /* Histogram, partition, buckets; stable ones; digits, and what is out of order behind them. */
    {KEYS, UPSWEEP_U32, 2200000, HUMP},
    {PAIRS, UPSWEEP_U32, 2200000, RANDOM},
    {PAIRS, UPSWEEP_U64, 1200000, HOT},
    {PAIRS, UPSWEEP_U64, 1200000, NESTS},
    {PAIRS, UPSWEEP_U64, 1200000, HERD},
    {PAIRS, UPSWEEP_U64, 1200000, PACKS},
    {PAIRS, UPSWEEP_U64, 1200000, SWARM},
    /* Slots: by bits, with indices and values, by a sample, by value, by cells. */
    {KEYS, UPSWEEP_U32, (28 << 20) / 4, RANDOM},
    {KEYS, UPSWEEP_U64, (17 << 20) / 8, RANDOM},
    {KEYS, UPSWEEP_U64, (17 << 20) / 8, SKEWED},
    {KEYS, UPSWEEP_U32, (28 << 20) / 4, HALVED},
    {KEYS, UPSWEEP_U32, (28 << 20) / 4, HUMP},
    {KEYS, UPSWEEP_U32, (28 << 20) / 4, TUFTS},
    {KEYS, UPSWEEP_U32, (28 << 20) / 4, RIVALS},
    {ARGSORT32, UPSWEEP_U32, (28 << 20) / 8, RANDOM},
    {PAIRS, UPSWEEP_U32, (20 << 20) / 8, ECHO},
    {KEYS, UPSWEEP_F32, (28 << 20) / 4, PROPORTION},
    {KEYS, UPSWEEP_F32, (28 << 20) / 4, BELL},
    {KEYS, UPSWEEP_F32, (28 << 20) / 4, RANDOM},
    {KEYS, UPSWEEP_F32, (28 << 20) / 4, TURNS},
    {KEYS, UPSWEEP_F64, (28 << 20) / 8, BELL},
    {KEYS, UPSWEEP_F64, (28 << 20) / 8, TURNS},
};

/* Arguments K and N: each Nth case from the Kth on, so that some programs can run side by side. */
int main(int argc, char **argv) {
    upsweep_device device;
    const size_t first = argc == 3 ? strtoul(argv[1], NULL, 10) : 0, step = argc == 3 ? strtoul(argv[2], NULL, 10) : 1;
    if (begin_sorts(&device)) {
        for (size_t i = first; i < sizeof cases / sizeof *cases && step > 0; i += step) {
            struct sort_case c = {.form = cases[i].form, .type = cases[i].type, .n = cases[i].n, .key_nbytes = elem_size(cases[i].type)};
            c.value_nbytes = c.form == KEYS ? 0 : 4;
            test_case(c, cases[i].distribution);
        }
    }
    return end_sorts();
}
