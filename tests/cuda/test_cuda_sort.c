/* test_cuda_sort.c: sorts on the GPU against the CPU backend, in random combinations: type, n, form, values, bits, direction, places.
 *
 * Which way a sort goes depends on n and on what the first kernel finds in the keys, so sizes are drawn around the borders of the plans
 * too, and many distributions leave the highest, the middle or the lowest bits to a few values. The CPU backend is tested by test_sort.c.
 */
#include <stdio.h>

#include "harness.h"
#include "oracle.h"
#include "paths.h"
#include "sort_draws.h"

enum { GUARD = 256, MAX_VALUE_NBYTES = 48 };

static upsweep_context *cpu, *cuda;
static uint64_t row; /* keys, if each thread of all multiprocessors takes one */

/* ---- a case ------------------------------------------------------------------------------------------------------------------ */

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

enum form { KEYS, PAIRS, ARGSORT32, ARGSORT64, FORMS };

struct sort_case {
    enum form form;
    upsweep_type type;
    uint64_t n;
    size_t key_nbytes, value_nbytes;
    upsweep_order order;
    bool keys_in_place, values_in_place;
    size_t shift; /* of the values, in bytes, behind an aligned address */
};

/* nbytes of context memory at a distance behind 256-byte alignment, between guards; all of it is filled, with host's bytes or with 0xA7. */
struct array {
    unsigned char *base, *at;
    size_t nbytes, before;
};

static struct array make_array(upsweep_context *ctx, const void *host, size_t nbytes, size_t shift) {
    struct array a = {.nbytes = nbytes, .before = GUARD + shift};
    const size_t total = nbytes + a.before + GUARD;
    unsigned char *filled = must_malloc(total);
    memset(filled, 0xA7, total);
    if (host) memcpy(filled + a.before, host, nbytes);
    void *p = NULL;
    CHECK_OK(upsweep_alloc(ctx, &p, total));
    CHECK_OK(upsweep_upload(ctx, p, filled, total));
    free(filled);
    a.base = p;
    a.at = a.base + a.before;
    return a;
}

/* The array's bytes, to be freed; the guards must be as they were. */
static unsigned char *read_array(upsweep_context *ctx, const struct array *a) {
    const size_t total = a->nbytes + a->before + GUARD;
    unsigned char *all = must_malloc(total);
    size_t dead = 0;
    CHECK_OK(upsweep_download(ctx, all, a->base, total));
    for (size_t i = 0; i < a->before; i++) dead += all[i] != 0xA7;
    for (size_t i = a->before + a->nbytes; i < total; i++) dead += all[i] != 0xA7;
    CHECK(dead == 0);
    memmove(all, all + a->before, a->nbytes);
    return all;
}

struct answer {
    unsigned char *keys, *values;
};

/* Runs the case on a context, and reads what it has written. */
static struct answer run_case(upsweep_context *ctx, const struct sort_case *c, const void *keys, const void *values) {
    const size_t keys_nbytes = c->n * c->key_nbytes, values_nbytes = c->n * c->value_nbytes;
    struct array in = make_array(ctx, keys, keys_nbytes, c->key_nbytes * (c->shift % 5)), out = in;
    struct array values_in = make_array(ctx, values, values_nbytes, c->form == PAIRS ? c->shift : 0), values_out = values_in;
    if (!c->keys_in_place) out = make_array(ctx, NULL, keys_nbytes, c->key_nbytes * (c->shift % 3));
    if (!c->values_in_place) values_out = make_array(ctx, NULL, values_nbytes, c->form == PAIRS ? c->shift : 0);
    if (c->form == KEYS)
        CHECK_OK(upsweep_sort(ctx, out.at, in.at, c->n, c->type, &c->order));
    else if (c->form == PAIRS)
        CHECK_OK(upsweep_sort_pairs(ctx, out.at, in.at, values_out.at, values_in.at, c->n, c->type, c->value_nbytes, &c->order));
    else
        CHECK_OK(upsweep_argsort(ctx, values_out.at, in.at, c->n, c->type, c->form == ARGSORT32 ? UPSWEEP_U32 : UPSWEEP_U64, &c->order));
    const struct answer answer = {read_array(ctx, &out), read_array(ctx, &values_out)};
    upsweep_free(ctx, in.base);
    upsweep_free(ctx, values_in.base);
    if (!c->keys_in_place) upsweep_free(ctx, out.base);
    if (!c->values_in_place) upsweep_free(ctx, values_out.base);
    return answer;
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

static void test_case(const struct sort_case c, enum distribution distribution) {
    case_begin("form %d, %s, n %llu, values of %zu bytes, bits %u to %u, descending %u, in place %d %d, shift %zu, distribution %d",
               (int)c.form, upsweep_type_name(c.type), (unsigned long long)c.n, c.value_nbytes, c.order.lo_bit, c.order.hi_bit,
               c.order.descending, (int)c.keys_in_place, (int)c.values_in_place, c.shift, (int)distribution);
    unsigned char *keys = must_malloc(c.n * c.key_nbytes), *values = must_malloc(c.n * c.value_nbytes);
    for (uint64_t i = 0; i < c.n; i++) elem_store(keys, i, c.type, make_key(distribution, (unsigned)(8 * c.key_nbytes), i, c.n));
    rng_fill(&rng, values, c.n * c.value_nbytes);
    const struct answer want = run_case(cpu, &c, keys, values), got = run_case(cuda, &c, keys, values);
    if (c.form <= PAIRS) CHECK_SAME(got.keys, want.keys, c.n, c.key_nbytes);
    if (c.form != KEYS) CHECK_SAME(got.values, want.values, c.n, c.value_nbytes);
    free(keys);
    free(values);
    free(want.keys);
    free(want.values);
    free(got.keys);
    free(got.values);
}

static void test_random_case(uint64_t most) {
    const struct sort_case c = draw_case(most);
    test_case(c, (enum distribution)rng_below(&rng, DISTRIBUTIONS));
}

/* Every distribution by every way that a sort can go: by ranks; one partition; with any values; two partitions, of keys alone. */
static void test_every_distribution(upsweep_type type, uint64_t n, bool keys_alone) {
    const size_t key_nbytes = elem_size(type);
    const bool with_floats = n < (1 << 20) || type == UPSWEEP_F32 || type == UPSWEEP_F64; /* bits of floats are nothing new to integers */
    for (int distribution = 0; distribution < (with_floats ? DISTRIBUTIONS : PROPORTION); distribution++) {
        for (int in_place = 0; in_place < 2; in_place++) {
            struct sort_case c = {.form = KEYS, .type = type, .n = n, .key_nbytes = key_nbytes, .keys_in_place = in_place};
            c.order.descending = (uint32_t)distribution % 2;
            test_case(c, (enum distribution)distribution);
        }
        if (keys_alone) continue;
        test_case((struct sort_case){.form = PAIRS, .type = type, .n = n, .key_nbytes = key_nbytes, .value_nbytes = 4},
                  (enum distribution)distribution);
        test_case((struct sort_case){.form = ARGSORT32, .type = type, .n = n, .key_nbytes = key_nbytes, .value_nbytes = 4},
                  (enum distribution)distribution);
    }
}

/* Keys of 1 and 2 bytes: from the first size that is counted on; and with more equal keys to a CTA than a counter of 16 bits can count. */
static void test_counting(upsweep_type type, uint64_t min_n) {
    static const enum distribution distributions[] = {EQUAL, RANDOM};
    test_every_distribution(type, min_n, true);
    test_every_distribution(type, 70001, true);
    for (int i = 0; i < (quick() ? 0 : 2); i++) {
        const struct sort_case c = {.form = KEYS, .type = type, .n = (9 << 20) + 3, .key_nbytes = elem_size(type), .shift = 5};
        test_case(c, distributions[i]);
    }
}

/* Floats are split by value, or by cells: sizes of one partition and of two, of a sample and of more; distributions that take the one, the
 * other, or neither. */
static void test_floats(upsweep_type type) {
    static const enum distribution distributions[] = {PROPORTION, BELL, STRAYS, CLOSE, ZEROES, RANDOM, SKEWED};
    static const uint64_t sizes[] = {16500,         33000,         200000,        (1 << 19) + 1, (1 << 20) + 7,
                                     (1 << 21) - 5, (1 << 22) + 1, (1 << 23) - 3, (9 << 21) + 3};
    for (size_t s = 0; s < (quick() ? 5 : sizeof sizes / sizeof *sizes); s++) {
        for (size_t d = 0; d < sizeof distributions / sizeof *distributions; d++) {
            struct sort_case c = {.form = KEYS, .type = type, .n = sizes[s], .key_nbytes = elem_size(type), .keys_in_place = d % 2};
            c.order.descending = (uint32_t)(s + d) % 2;
            test_case(c, distributions[d]);
            if (type == UPSWEEP_F32) {
                c = (struct sort_case){
                    .form = ARGSORT32, .type = type, .n = sizes[s], .key_nbytes = 4, .value_nbytes = 4, .order = c.order};
                test_case(c, distributions[d]);
            }
        }
    }
}

/* Sizes around those from which on a row more is needed if each multiprocessor takes a tile, up to where that way ends; keys that are
 * spread take it, skewed ones are found not to. */
static void test_rows(void) {
    static const uint64_t rows[] = {1, 4, 8, 12, 16, 24, 32};
    static const upsweep_type types[] = {UPSWEEP_I32, UPSWEEP_U64};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (uint64_t past = 0; past < 2; past++) {
            const uint64_t n = rows[i] * row + past;
            struct sort_case c = {.form = KEYS, .type = types[past], .n = n, .key_nbytes = elem_size(types[past]), .keys_in_place = i % 2};
            test_case(c, RANDOM);
            test_case(c, i % 2 ? HOT : SKEWED);
            c = (struct sort_case){.form = ARGSORT32, .type = UPSWEEP_U32, .n = n, .key_nbytes = 4, .value_nbytes = 4};
            test_case(c, RANDOM);
        }
    }
}

/* Skewed keys of sizes from which and up to which they are split by a sample, and of one more; and equal keys that the sample sees too
 * seldom. Keys of two bytes: up to where all are counted at once. */
static void test_samples(void) {
    static const enum distribution distributions[] = {EQUAL, FEW, SKEWED, HOT, OUTLIER, REPEATED, LUMP, SPARSE, PROPORTION};
    static const uint64_t sizes[] = {8193, 16385, 33000, 1 << 18, (1 << 20) - 1, 1 << 20};
    for (size_t s = 0; s < (quick() ? 3 : sizeof sizes / sizeof *sizes); s++) {
        for (size_t d = 0; d < sizeof distributions / sizeof *distributions; d++) {
            for (uint64_t past = 0; past < 2; past++) {
                const upsweep_type types[] = {d % 2 ? UPSWEEP_I32 : UPSWEEP_U32, UPSWEEP_U64, UPSWEEP_U16};
                for (int i = 0; i < 3; i++) {
                    struct sort_case c = {.form = KEYS, .type = types[i], .n = sizes[s] + past, .key_nbytes = elem_size(types[i])};
                    c.order.descending = (uint32_t)(s + d) % 2;
                    c.keys_in_place = d % 2;
                    test_case(c, distributions[d]);
                }
                const struct sort_case c = {
                    .form = ARGSORT32, .type = UPSWEEP_U32, .n = sizes[s] + past, .key_nbytes = 4, .value_nbytes = 4};
                test_case(c, distributions[d]);
            }
        }
    }
}

/* Keys of which some bits do not vary: what fits the multiprocessors and what does not, and more than that; and if a sample misses a bit.
 */
static void test_gaps(void) {
    static const enum distribution distributions[] = {SPARSE, MISFIT, HIGH_SHARED, MIDDLE_SHARED, HALVED};
    static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_I64, UPSWEEP_I32, UPSWEEP_F64, UPSWEEP_U64, UPSWEEP_F32};
    static const uint64_t sizes[] = {16385, 70001, (1 << 20) + 1, (1 << 21) + 77, (1 << 22) + 9, 9 << 20};
    for (unsigned i = 0; i < (quick() ? 2 : 6) * 5 * 3; i++) {
        for (unsigned t = i % 2; t < 6; t += 2) {
            struct sort_case c = {.form = (enum form)(i % 3), .type = types[t], .n = sizes[i / 15], .key_nbytes = elem_size(types[t])};
            c.value_nbytes = c.form == KEYS ? 0 : 4;
            c.order.descending = i / 3 % 2;
            c.keys_in_place = c.form <= PAIRS && (i + t) % 3 == 0;
            c.values_in_place = c.form == PAIRS && (i + t) % 4 == 0;
            c.shift = i % 5;
            test_case(c, distributions[i / 3 % 5]);
        }
    }
}

/* Keys that are ranked: sizes around those from which on a multiprocessor takes twice as many, and up to which it is done; all forms, some
 * of the bits or none, and in place, for which all wait. */
static void test_ranks(void) {
    static const uint64_t own[] = {1, 16, 32, 64, 128};
    for (uint64_t i = 0; i < 7 * 3 * FORMS; i++) {
        const uint64_t which = i / 3 % 7, n = (which < 5 ? own[which] * (row / 1024) : UINT64_C(1) << (which + 8)) - 1 + i % 3;
        for (int t = 0; t < UPSWEEP_TYPE_COUNT; t += quick() ? 3 : 1) {
            const upsweep_type type = (upsweep_type)(((uint64_t)t + i) % UPSWEEP_TYPE_COUNT);
            struct sort_case c = {.form = (enum form)(i / 21), .type = type, .n = n, .key_nbytes = elem_size(type), .shift = i % 2 * 4};
            c.value_nbytes = c.form == PAIRS ? (i % 2 ? 16 : 4) : c.form == KEYS ? 0 : c.form == ARGSORT32 ? 4 : 8;
            c.order.descending = (uint32_t)(i / 2 % 2);
            if (t % 2) c.order.hi_bit = (uint32_t)(1 + rng_below(&rng, 8 * c.key_nbytes));
            c.keys_in_place = c.form <= PAIRS && i % 4 == 1;
            c.values_in_place = c.form == PAIRS && i % 4 == 3;
            test_case(c, (enum distribution)rng_below(&rng, DISTRIBUTIONS));
        }
    }
}

/* Keys of 32 bits that go with their indices: pairs, and by some of their bits, down to one, of which most of a bucket's number is then the
 * index. Sizes around the first and the last that do, and beyond powers of two by little and by much. */
static void test_indexed(void) {
    static const uint32_t bits[][2] = {{0, 0}, {0, 1}, {31, 32}, {3, 11}, {5, 14}, {0, 31}, {16, 32}};
    static const size_t value_sizes[] = {4, 8, 1, 16, 3, MAX_VALUE_NBYTES};
    const uint64_t last = 16 * row, sizes[] = {16385, 33000, 70001, 110000, 150000, (1 << 18) + 1, last, last + 1};
    for (unsigned i = 0; i < (quick() ? 5 : 8) * 7 * 7 * 3; i++) {
        const upsweep_type type = i / 3 % 3 == 0 ? UPSWEEP_U32 : i / 3 % 3 == 1 ? UPSWEEP_I32 : UPSWEEP_F32;
        struct sort_case c = {.form = (enum form)(i % 3), .type = type, .n = sizes[i / 147], .key_nbytes = 4, .shift = i % 5};
        c.value_nbytes = c.form == PAIRS ? value_sizes[i / 3 % (c.n < 200000 ? 6 : 2)] : c.form == ARGSORT32 ? 4 : 0;
        c.order = (upsweep_order){i / 2 % 2, bits[i / 7 % 7][0], bits[i / 7 % 7][1], 0};
        c.keys_in_place = c.form <= PAIRS && i / 6 % 2;
        c.values_in_place = c.form == PAIRS && i / 12 % 2;
        test_case(c, (enum distribution)(i % 7 * 3));
    }
}

/* Keys that go to slots without being counted, if they are uniform: two partitions, and one from the first size on up to where one is
 * enough. What is not uniform is seen at once, or when a slot is full, in the first partition or the second. Shifts: alignments of the
 * input. */
static void test_slots(void) {
    static const enum distribution distributions[] = {RANDOM, TWINS, HALVED, SORTED, SKEWED, LUMP, LOW_SHARED, EQUAL};
    static const uint64_t sizes[] = {35000001, (7 << 20) + 1, 7 << 20, (7 << 20) - 1, (1 << 23) + 7, 34700000};
    for (size_t s = 0; s < (quick() ? 2 : sizeof sizes / sizeof *sizes); s++) {
        for (size_t d = 0; d < (quick() && s == 0 ? 3 : sizeof distributions / sizeof *distributions); d++) {
            struct sort_case c = {.form = KEYS, .type = UPSWEEP_U32, .n = sizes[s], .key_nbytes = 4, .shift = s + d};
            c.order.descending = (uint32_t)(s + d) % 2;
            test_case(c, distributions[d]);
            c = (struct sort_case){.form = KEYS, .type = UPSWEEP_I64, .n = sizes[s] / 2, .key_nbytes = 8, .order = c.order, .shift = d};
            if (s > 0 || !quick()) test_case(c, distributions[d]);
            c = (struct sort_case){.form = KEYS, .type = UPSWEEP_I32, .n = sizes[s], .key_nbytes = 4, .keys_in_place = true};
            if (d == 0) test_case(c, distributions[d]);
        }
    }
}

/* The same of floats, whose slots are of many sizes: two partitions, and one. */
static void test_float_slots(upsweep_type type) {
    static const enum distribution distributions[] = {PROPORTION, BELL, ZEROES, CLOSE, REPEATED, RANDOM, EQUAL};
    static const uint64_t nbytes[] = {140000004, (28 << 20) + 8, (32 << 20) - 16, 64 << 20, (64 << 20) + 8, 320000008};
    for (size_t s = 0; s < (quick() ? 2 : sizeof nbytes / sizeof *nbytes); s++) {
        for (size_t d = 0; d < (quick() ? 3 : sizeof distributions / sizeof *distributions); d++) {
            const size_t size = elem_size(type);
            struct sort_case c = {.form = KEYS, .type = type, .n = nbytes[s] / size, .key_nbytes = size, .shift = s + d};
            c.order.descending = (uint32_t)(s + d) % 2;
            c.keys_in_place = d == 1;
            test_case(c, distributions[d]);
        }
    }
}

/* The same without anything for which CTAs must be resident together. */
static void test_without_waiting(void) {
    upsweep_context *usual = cuda;
    cuda = open_path(1, NULL);
    if (CHECK(cuda != NULL)) {
        test_every_distribution(UPSWEEP_U32, 70001, false);
        test_every_distribution(UPSWEEP_F32, 70001, true);
        test_every_distribution(UPSWEEP_I8, 70001, true);
        test_every_distribution(UPSWEEP_U16, 70001, true);
        for (int i = 0; i < (quick() ? 100 : 1000); i++) test_random_case(1 << 16);
        for (int i = 0; i < (quick() ? 5 : 20); i++) test_random_case(1 << 22);
        upsweep_close(cuda);
    }
    cuda = usual;
}

int main(void) {
    harness_begin(false);
    if (!backend_wanted("cuda")) {
        skip("cuda");
        return harness_end();
    }
    CHECK_OK(upsweep_open(&cpu, "cpu"));
    upsweep_device device = {.size = sizeof device};
    if (CHECK_OK(upsweep_open(&cuda, "cuda")) && CHECK_OK(upsweep_context_device(cuda, &device))) {
        row = device.units * UINT64_C(1024);
        static const upsweep_type types[] = {UPSWEEP_U32, UPSWEEP_I64, UPSWEEP_F32};
        for (int i = 0; i < 3; i++) {
            test_every_distribution(types[i], 4000, false);
            test_every_distribution(types[i], 70001, false);
            if (!quick()) test_every_distribution(types[i], (1 << 21) + 5, false);
            if (!quick() && i < 2) test_every_distribution(types[i], (9 << 21) + 3, true);
        }
        test_counting(UPSWEEP_I8, 8193);
        test_counting(UPSWEEP_U16, 8193);
        for (int i = 0; i < (quick() ? 300 : 10000); i++) test_random_case(1 << 16);
        for (int i = 0; i < (quick() ? 20 : 100); i++) test_random_case(1 << 22);
        for (int i = 0; i < (quick() ? 0 : 6); i++) test_random_case(1 << 25);
        test_floats(UPSWEEP_F32);
        test_floats(UPSWEEP_F64);
        test_ranks();
        test_samples();
        test_gaps();
        test_rows();
        test_indexed();
        test_slots();
        test_float_slots(UPSWEEP_F32);
        test_float_slots(UPSWEEP_F64);
        test_without_waiting();
    }
    upsweep_close(cuda);
    upsweep_close(cpu);
    return harness_end();
}
