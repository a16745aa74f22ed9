/* sort_case.c: one sort on the GPU against the same on the CPU backend; see sort_case.h. */
#include "sort_case.h"

#include "oracle.h"

enum { GUARD = 256 };

upsweep_context *cpu, *cuda;

bool begin_sorts(upsweep_device *device) {
    harness_begin(false);
    if (!backend_wanted("cuda")) {
        skip("cuda");
        return false;
    }
    const char *const seed = getenv("UPSWEEP_TEST_SEED");
    if (seed) rng.state = strtoull(seed, NULL, 10);
    setenv("UPSWEEP_CUDA_SEED", "0", 0);
    sample_seed = (uint32_t)strtoul(getenv("UPSWEEP_CUDA_SEED"), NULL, 10);
    *device = (upsweep_device){.size = sizeof *device};
    return CHECK_OK(upsweep_open(&cpu, "cpu")) && CHECK_OK(upsweep_open(&cuda, "cuda")) && CHECK_OK(upsweep_context_device(cuda, device));
}

int end_sorts(void) {
    upsweep_close(cuda);
    upsweep_close(cpu);
    return harness_end();
}

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

void test_case(const struct sort_case c, enum distribution distribution) {
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

void test_every_distribution(upsweep_type type, uint64_t n, bool keys_alone) {
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
