/* test_cuda_sort_large.c: sorts on the GPU of more keys than fit its multiprocessors, against the CPU backend: every distribution,
 * and values that are gathered. Keys in slots: test_cuda_sort_slots.c. */
#include "oracle.h"
#include "sort_case.h"

/* Values of 16 bytes, which move once, and by indices from there on, if they are aligned and not in place; and if keys are not split. */
static void test_moved_values(void) {
    static const enum distribution distributions[] = {RANDOM, SKEWED, SORTED};
    static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_I64, UPSWEEP_F32};
    static const uint64_t sizes[] = {70001, (1 << 22) + 9, (9 << 20) + 1};
    for (size_t i = 0; i < (quick() ? 18 : 27); i++) {
        struct sort_case c = {.form = PAIRS, .type = types[i % 3], .n = sizes[i / 9], .key_nbytes = elem_size(types[i % 3])};
        c.value_nbytes = 16;
        c.order.descending = (uint32_t)i % 2;
        for (int way = 0; way < 4; way++) {
            c.keys_in_place = way == 1;
            c.values_in_place = way == 2;
            c.shift = way == 3 ? 8 : 0;
            test_case(c, distributions[i / 3 % 3]);
        }
    }
}

/* 64-bit keys that are sorted by their highest digits, and then mended: which keys are not in order then, and how far they are from their
 * places, depends on the digits kept; of a herd some thousand are, side by side, which of stragglers only the last tile can see; and of a
 * swarm too many, so that all digits are sorted by in the end. */
static const enum distribution mended[] = {HOT, NESTS, CROWD, LUMP, HERD, PACKS, SWARM, STRAGGLER};

/* Pairs and argsorts. */
static void test_mended(void) {
    static const upsweep_type types[] = {UPSWEEP_U64, UPSWEEP_I64, UPSWEEP_F64};
    static const uint64_t sizes[] = {(3 << 20) + 77, (1 << 22) - 1, (9 << 20) + 1};
    static const size_t widths[] = {4, 8, 4, 16, 1};
    for (size_t i = 0; i < (quick() ? 32 : 96); i++) {
        struct sort_case c = {.form = i % 3 == 1 ? ARGSORT32 : i % 3 == 2 ? ARGSORT64 : PAIRS, .type = types[i / 4 % 3], .key_nbytes = 8};
        c.n = sizes[i / 32];
        c.value_nbytes = c.form == ARGSORT32 ? 4 : c.form == ARGSORT64 ? 8 : widths[i % 5];
        c.order.descending = (uint32_t)i / 2 % 2;
        c.keys_in_place = c.form == PAIRS && i / 5 % 2;
        c.values_in_place = c.form == PAIRS && i / 6 % 2;
        test_case(c, mended[i % 8]);
    }
}

/* Keys alone, of which there must be too many for slots by a sample. */
static void test_mended_alone(void) {
    static const upsweep_type types[] = {UPSWEEP_U64, UPSWEEP_I64};
    for (size_t i = 0; i < (quick() ? 8 : 16); i++) {
        struct sort_case c = {.form = KEYS, .type = types[i / 2 % 2], .n = (9 << 21) + 3 + i, .key_nbytes = 8};
        c.order.descending = (uint32_t)i % 2;
        c.keys_in_place = i % 3 == 1;
        test_case(c, mended[i % 8]);
    }
}

/* Keys alone that repeat, and so do not fit slots: behind these two neighbouring buckets are put together, or not, if a block has no room.
 */
static void test_twins(void) {
    static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_I32, UPSWEEP_U64};
    static const uint64_t sizes[] = {(9 << 20) + 1, 1 << 24, (9 << 21) + 3};
    for (size_t i = 0; i < (quick() ? 3 : 9); i++) {
        const upsweep_type type = types[(i + i / 3) % 3];
        struct sort_case c = {.form = KEYS, .type = type, .n = sizes[i % 3], .key_nbytes = elem_size(type)};
        c.order.descending = (uint32_t)i / 2 % 2;
        c.keys_in_place = i % 2;
        test_case(c, TWINS);
    }
}

/* Keys alone of which some buckets do not fit shared memory, as values repeat, or lie in a row: each of these by one CTA, if there are not
 * too many; or all by passes. */
static void test_knots(void) {
    enum { MANY = 1 << 25, FEWER = 11 << 21 };
    static const struct {
        upsweep_type type;
        enum distribution distribution;
        size_t n;
    } cases[] = {
        {UPSWEEP_U32, KNOTS, MANY},       {UPSWEEP_F32, FLOAT_KNOT, FEWER},  {UPSWEEP_F32, FLOAT_PLAIT, MANY},
        {UPSWEEP_U64, KNOTS, MANY},       {UPSWEEP_F64, FLOAT_KNOT, MANY},   {UPSWEEP_I32, CLOT, FEWER},
        {UPSWEEP_F32, FLOAT_KNOTS, MANY}, {UPSWEEP_F64, FLOAT_CLOT, FEWER},  {UPSWEEP_I64, KNOT, FEWER},
        {UPSWEEP_I64, PLAIT, MANY},       {UPSWEEP_F32, FLOAT_KNOT, MANY},   {UPSWEEP_F64, FLOAT_PLAIT, MANY},
        {UPSWEEP_I32, KNOT, MANY},        {UPSWEEP_F64, FLOAT_KNOTS, FEWER}, {UPSWEEP_U32, PLAIT, FEWER},
        {UPSWEEP_U64, CLOT, FEWER},
    };
    for (size_t i = 0; i < (quick() ? 8 : sizeof cases / sizeof *cases); i++) {
        struct sort_case c = {.form = KEYS, .type = cases[i].type, .n = cases[i].n + i, .key_nbytes = elem_size(cases[i].type)};
        c.order.descending = (uint32_t)i / 2 % 2;
        c.keys_in_place = i % 5 == 3;
        test_case(c, cases[i].distribution);
    }
}

/* So many keys of 32 bits that two partitions make large buckets, in slots or by a histogram behind them. Sorted keys have tiles of a few
 * long runs. */
static void test_large_buckets(void) {
    static const struct {
        upsweep_type type;
        enum distribution distribution;
    } cases[] = {{UPSWEEP_U32, RANDOM}, {UPSWEEP_I32, SORTED}, {UPSWEEP_F32, PROPORTION}, {UPSWEEP_U32, TWINS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sort_case c = {.form = KEYS, .type = cases[i].type, .n = (1 << 27) + 1 + i, .key_nbytes = 4, .shift = i};
        c.order.descending = (uint32_t)i % 2;
        test_case(c, cases[i].distribution);
    }
}

int main(void) {
    upsweep_device device;
    if (begin_sorts(&device)) {
        if (!quick()) test_every_distribution(UPSWEEP_U32, (9 << 21) + 3, true);
        if (!quick()) test_every_distribution(UPSWEEP_I64, (9 << 21) + 3, true);
        test_moved_values();
        test_mended();
        test_mended_alone();
        test_twins();
        test_knots();
        if (!quick()) test_large_buckets();
    }
    return end_sorts();
}
