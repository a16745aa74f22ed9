/* sort_keys.c: keys to sort, by type and distribution. They are made as bits, so that one function serves integers and floats: what is
 * random in all bits has NaNs of all kinds in it. */
#include "sort_keys.h"

#include <math.h>

#include "harness.h"
#include "oracle.h"

const char *const distribution_names[DISTRIBUTIONS] = {"random",        "sorted",  "reversed",         "all equal",   "few distinct",
                                                       "shared digits", "special", "skewed",           "one outlier", "even",
                                                       "even, one NaN", "repeats", "falling, repeats", "heavy"};

/* Extremes; for floats NaNs of both signs, infinities, zeros of both signs. */
static uint64_t special_key(upsweep_type type, uint64_t pick) {
    const uint64_t sign = UINT64_C(1) << (8 * elem_size(type) - 1);
    if (!is_float(type)) return (const uint64_t[]){0, 1, sign - 1, sign, sign + 1, sign | (sign - 1), 2, sign | (sign - 2)}[pick];
    const uint64_t inf = elem_of_float(type, (double)INFINITY);
    return (const uint64_t[]){0, sign, inf, inf | sign, inf | 5, inf | sign | 5, sign - 1, 1}[pick];
}

static uint64_t make_key(struct rng *rng, upsweep_type type, enum distribution distribution, uint64_t i, uint64_t n) {
    const uint64_t range = elem_size(type) == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * elem_size(type)) - 1;
    const uint64_t sign = range / 2 + 1, ramp = range / (n ? n : 1) * i;
    switch (distribution) {
    case SORTED:
        return is_signed(type) ? ramp ^ sign : is_float(type) ? (ramp & sign ? ramp ^ sign : ~ramp) : ramp;
    case REVERSED:
        return make_key(rng, type, SORTED, n - 1 - i, n);
    case ALL_EQUAL:
        return 0x4142434445464748u;
    case FEW_DISTINCT:
        return UINT64_C(0x9e3779b97f4a7c15) * rng_below(rng, 5);
    case SHARED_DIGITS:
        return UINT64_C(0x4112340078560000) | rng_below(rng, 256) << 8 | rng_below(rng, 3) << 40;
    case SPECIAL:
        return special_key(type, rng_below(rng, 8));
    case SKEWED:
        return rng_next(rng) >> rng_below(rng, 64);
    case OUTLIER: /* one key differs from all others in its top bit, and in all bits below it is the least */
        return i == n / 3 + 1 ? sign / 2 : rng_next(rng) % (range / 1024 + 3);
    case EVEN: /* floats between -1 and 1 */
        return is_float(type) ? elem_of_float(type, (double)(int64_t)rng_next(rng) * 0x1p-63) : rng_next(rng);
    case EVEN_WITH_NAN:
        return i == n / 3 + 1 ? special_key(type, 5) : make_key(rng, type, EVEN, i, n);
    case REPEATS: /* three or so of each */
        return UINT64_C(0x9e3779b97f4a7c15) * rng_below(rng, n / 3 + 1);
    case FALLING_REPEATS:
        return make_key(rng, type, SORTED, (n - 1 - i) / 3 * 3, n);
    case HEAVY: /* some keys that are there often, the least and the greatest of all among them, and others between */
        return rng_below(rng, 2) ? rng_next(rng)
                                 : UINT64_C(0x9e3779b97f4a7c15) * rng_below(rng, 100) | (rng_below(rng, 40) ? 0 : UINT64_MAX);
    default:
        return rng_next(rng);
    }
}

void *make_keys(upsweep_type type, enum distribution distribution, uint64_t n) {
    struct rng rng = {n + (uint64_t)distribution};
    void *keys = must_malloc(n * elem_size(type));
    for (uint64_t i = 0; i < n; i++) elem_store(keys, i, type, make_key(&rng, type, distribution, i, n));
    return keys;
}
