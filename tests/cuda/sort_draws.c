/* sort_draws.c: keys to be sorted; see sort_draws.h. */
#include "sort_draws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rng rng = {7};
uint32_t sample_seed;

static uint64_t float_bits(double x, unsigned nbits) {
    const float narrow = (float)x;
    uint32_t narrow_bits;
    uint64_t bits;
    memcpy(&narrow_bits, &narrow, sizeof narrow);
    memcpy(&bits, &x, sizeof bits);
    return nbits == 64 ? bits : narrow_bits;
}

/* Of number i, spread at random. */
static uint64_t spread_number(uint64_t i, unsigned nbits) {
    i = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    i = (i ^ i >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (i ^ i >> 32) >> (64 - nbits);
}

/* As in sort_read.cuh. */
static uint32_t mixed(uint32_t x) {
    x = (x ^ x >> 16) * UINT32_C(0x85ebca6b);
    x = (x ^ x >> 13) * UINT32_C(0xc2b2ae35);
    return x ^ x >> 16;
}

/* Is number i of n drawn, or beside one that is, if one is drawn from each of so many parts as draw_sample() does (sort_fused_parts.cuh)?
 */
static bool is_drawn(uint64_t i, uint64_t n, uint32_t nparts) {
    const float part = (float)n / (float)nparts;
    const int64_t near = (int64_t)((double)i / (double)part);
    for (int64_t k = near - 1; k <= near + 1; k++) {
        const float random = (float)(mixed((uint32_t)k + sample_seed) >> 8) * 0x1p-24f;
        if (k >= 0 && k < nparts && llabs((int64_t)(((float)k + random) * part) - (int64_t)i) <= 1) return true;
    }
    return false;
}

/* Or from each of 4,096, as it does in sort_mend.cuh? */
static bool is_drawn_to_mend(uint64_t i, uint64_t n) {
    const uint64_t part = n / 4096, k = i / part;
    return k < 4096 && i - k * part == (uint64_t)mixed((uint32_t)k + sample_seed) * part >> 32;
}

/* In [0, 1). */
static double draw_proportion(void) { return (double)(rng_next(&rng) >> 11) * 0x1p-53; }

static double draw_bell(void) {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += draw_proportion();
    return sum;
}

/* Bits of which some are those of all keys. */
static uint64_t masked_key(enum distribution distribution, uint64_t x, unsigned nbits) {
    const uint64_t all = UINT64_MAX >> (64 - nbits), some = UINT64_C(0x9e3779b97f4a7c15) & all;
    const uint64_t middle = all >> nbits / 4 & ~(all >> (nbits - nbits / 4));
    switch (distribution) {
    case HIGH_SHARED:
        return x >> nbits / 3 | (some & ~(all >> nbits / 3));
    case MIDDLE_SHARED:
        return (x & ~middle) | (some & middle);
    case LOW_SHARED:
        return (x & ~(all >> nbits / 2)) | (some & all >> nbits / 2);
    case HUMP:
        return rng_below(&rng, 64) ? x : x >> nbits / 2 | (some & ~(all >> nbits / 2));
    case HALVED:
        return nbits > 12 ? x & ~(UINT64_C(15) << (nbits - 12)) : x;
    case SPARSE:
        return x & UINT64_C(0x9249249249249249);
    default:
        return x;
    }
}

/* Of which a part, of all, is smaller. */
static double price_at(double part) { return floor(-log1p(-part) * 1e4) / 1e4; }

static uint64_t float_key(enum distribution distribution, unsigned nbits, uint64_t i, uint64_t n) {
    switch (distribution) {
    case PROPORTION:
        return float_bits(draw_proportion(), nbits);
    case BELL:
        return float_bits(draw_bell(), nbits);
    case CLOSE:
        return float_bits(1 + draw_proportion() / 1000, nbits);
    case STRAYS:
        if (rng_below(&rng, 500)) return float_bits(draw_proportion(), nbits);
        return rng_below(&rng, 8) ? rng_next(&rng) : float_bits(rng_below(&rng, 2) ? INFINITY : -INFINITY, nbits);
    case SPREAD:
        return float_bits(10 * draw_proportion() - 5, nbits);
    case TILTED:
        return float_bits(sqrt(1 + 0.5 * draw_proportion()), nbits);
    case LONE:
        return float_bits(i == 1234567 ? (double)NAN : draw_proportion(), nbits);
    case WHOLE:
        return float_bits((double)rng_below(&rng, 1000), nbits);
    case SETTLED: {
        const double x = 10 * draw_proportion() - 5;
        return float_bits(fabs(x) < 1e-3 ? copysign(1e-15 * (double)rng_below(&rng, 50), x) : x, nbits);
    }
    case TURNS:
        return float_bits((double)((i % 4096 << 20) + rng_below(&rng, 1000)), nbits);
    case BANKS:
        return float_bits((double)(rng_below(&rng, 1000000) + (rng_below(&rng, 2) ? 1000000 : UINT64_C(4000000000))), nbits);
    case HEAP:
        return float_bits(rng_below(&rng, 8) ? draw_bell() : 0.5, nbits);
    case PRICED:
        return float_bits(price_at(draw_proportion()), nbits);
    case RISING_PRICES:
        return float_bits(price_at((double)i / (double)n), nbits);
    case PEAK:
        return float_bits(rng_below(&rng, 1000) ? draw_proportion() : 0.5, nbits);
    default:
        return float_bits(i % 4 ? draw_bell() : i % 8 ? 0.0 : -0.0, nbits);
    }
}

/* x, or a key of those that are frequent, from `some` on. */
static uint64_t knotted_key(enum distribution distribution, uint64_t x, uint64_t some, unsigned nbits, uint64_t i) {
    switch (distribution) {
    case KNOTS:
        return rng_below(&rng, 533) ? x : some + (rng_below(&rng, 3) << (nbits == 64 ? 49 : 20));
    case KNOT:
        return rng_below(&rng, 300) ? x : some;
    case PLAIT:
        return rng_below(&rng, 1500) ? x : some + rng_below(&rng, 100);
    default: /* CLOT */
        return i % 1200 ? x : some + i / 1200;
    }
}

uint64_t make_key(enum distribution distribution, unsigned nbits, uint64_t i, uint64_t n) {
    const uint64_t all = UINT64_MAX >> (64 - nbits), x = rng_next(&rng) & all, some = UINT64_C(0x9e3779b97f4a7c15) & all;
    switch (distribution) {
    case SORTED:
        return all / n * i;
    case REVERSED:
        return all / n * (n - 1 - i);
    case EQUAL:
        return some;
    case FEW:
        return some * rng_below(&rng, 5);
    case SMALL:
        return x % 50;
    case SKEWED:
        return x >> rng_below(&rng, nbits);
    case HOT:
        return rng_below(&rng, 10) ? x >> 8 | some << (nbits - 8) : x;
    case OUTLIER:
        return i == n / 3 ? x : some;
    case REPEATED:
        return some * (x % 1000) & all;
    case TWINS:
        return spread_number(rng_below(&rng, n / 32 + 1), nbits);
    case LUMP:
        return rng_below(&rng, 16) ? x : some;
    case MISFIT:
        return i == n / 3 ? x : masked_key(SPARSE, x, nbits);
    case MISFITS:
        return rng_below(&rng, 500) ? masked_key(SPARSE, x, nbits) : x;
    case SUNK:
        return x & ~(UINT64_C(15) << (nbits - 16));
    case ECHO:
        return spread_number(i % 2000 == 1000 ? i - 1000 : i, nbits);
    case FLOCK:
        if (rng_below(&rng, 1000)) return masked_key(SPARSE, x, nbits) | (some & ~masked_key(SPARSE, all, nbits));
        return rng_below(&rng, 2) ? x : spread_number(rng_below(&rng, 10), nbits);
    case NIBBLE:
        return x & UINT64_C(0xf0f0f0f0f0f0f0f0);
    case SCATTER:
        return spread_number((UINT64_C(1) << i % 30) | (x & ((UINT64_C(1) << i % 30) - 1)), nbits);
    case TUFTS:
        return (spread_number(rng_below(&rng, 1500), nbits) & ~UINT64_C(4095)) | (x & 4095);
    case RIVALS: {
        static const uint32_t values[] = {0x2265b1f5, 0x2265b1f5, 0x17afc016, 0x17afc016, 0x17afc017, 0xefa47744, 0xefa47744,
                                          0x15549379, 0x15549379, 0x9b59f7bd, 0x9b59f7bd, 0x12d99089, 0xc96d115d};
        const uint64_t drawn = rng_below(&rng, 20);
        return drawn < sizeof values / sizeof *values ? values[drawn] : x;
    }
    case BLOCKS:
        return (i % 4096 << 20) + x % 1000;
    case WAVES:
        return all / (n / 5 + 1) * (i % (n / 5 + 1));
    case TIERS:
        return x % 5 << nbits / 4 * 3 | (x >> 16) % 20 << nbits / 2 | rng_below(&rng, 100) << nbits / 4 | rng_below(&rng, 200);
    case DATES:
        return (1970 + (x >> 16) % 100) * 10000 + (1 + rng_below(&rng, 12)) * 100 + 1 + rng_below(&rng, 28);
    case RECORDS:
        return (x >> 16) % 100 << 16 | (1 + rng_below(&rng, 12)) << 8 | (1 + rng_below(&rng, 28)) | (x % 2000 ? 0 : 0x80);
    case GROUND:
        return i == n / 3 ? 0 : float_bits(draw_proportion(), nbits);
    case DEPTHS:
        return i % 300 ? float_bits(draw_proportion(), nbits) : 0;
    case SHORES:
        return x & 1 ? x >> 8 & 0xfffff : (UINT64_C(15) << (nbits - 4)) + rng_below(&rng, 4000);
    case HEDGE:
        return i % 100 ? x : (some + i / 100) & all;
    case KNOTS:
    case KNOT:
    case PLAIT:
    case CLOT:
        if (distribution == KNOT) return x >> (nbits - 16) == 0xffff ? all : knotted_key(KNOT, x, all, nbits, i);
        return knotted_key(distribution, x, some, nbits, i) & all;
    case FLOAT_KNOTS:
    case FLOAT_KNOT:
    case FLOAT_PLAIT:
    case FLOAT_CLOT:
        return knotted_key(distribution - FLOAT_KNOTS + KNOTS, float_bits(draw_proportion(), nbits), float_bits(0.3, nbits), nbits, i);
    case BURIED:
        return is_drawn(i, n, 1024) || is_drawn(i, n, 2048) ? x : some;
    case LATE_ECHO:
        return spread_number(i % 2000 >= 1000 && i > n / 4 * 3 ? i - 1000 : i, nbits);
    case NESTS:
    case CROWD:
        if (i % (distribution == NESTS ? 1000 : 5000)) return make_key(HOT, nbits, i, n);
        return (x & 0xfffff) | (spread_number(distribution == NESTS ? i / 100000 : 0, nbits) & ~UINT64_C(0xfffff));
    case HERD:
        return i % 1000 ? make_key(HOT, nbits, i, n) : (x & 0xffff) | (spread_number(0, nbits) & ~UINT64_C(0xffff));
    case PACKS:
        if (i % 100 || i >= 2 * 1025 * 100) return make_key(HOT, nbits, i, n);
        return (x & 0xffff) | ((spread_number(0, nbits) & ~UINT64_C(0xffff)) + ((i / 102500 * 2 + (i / 100 % 1025 >= 512)) << 32));
    case SWARM:
        if (i % 50 || is_drawn_to_mend(i, n)) return make_key(HOT, nbits, i, n);
        return (i < n / 2 ? i / 50 : (x & 0x7ffff) | 0x80000) | (spread_number(0, nbits) & ~UINT64_C(0xfffff));
    case LAGGARD:
        return i == n - 1 ? some >> 16 : i % 100 ? x >> 16 : (some >> 16) + 1;
    case STRAGGLER:
        return i == n - 1 ? some : i % 300 ? make_key(HOT, nbits, i, n) : some + 1;
    default:
        return distribution >= PROPORTION ? float_key(distribution, nbits, i, n) & all : masked_key(distribution, x, nbits);
    }
}
