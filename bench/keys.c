/* keys.c: keys to sort: key i of each distribution of axes.h, from i and two random numbers, so that blocks can be made in any order and
 * are the same on every machine: no function of the mathematical library is called, whose last bit may differ.
 *
 * What is scattered by random_mix() is so as different numbers remain different (of 64 bits). There are no NaNs and no infinities: only the
 * library and CUB have a place for NaNs. Cost: 4 to 16 ns a key on one core of a busy Zen 3 (November 23, 2026). */
#include "bench.h"

#include <string.h>

struct draw {
    const struct point *point;
    uint32_t width; /* bits of a key */
    bool is_float;
    uint64_t i, r, s; /* the key's index, and two random numbers */
};

/* A number of density x^-1.1, from 0.5 to 2^29, to the nearest whole one: 12 % are 1, 5 % are 2. x = 0.5 t^-10, where t is uniform. */
static uint64_t zipf_rank(uint64_t r) {
    const double last = 0.125; /* 2^29 = 0.5 last^-10 */
    const double t = 1 - (1 - last) * ((double)(r >> 11) * 0x1p-53), t2 = t * t, t4 = t2 * t2;
    return (uint64_t)(0.5 / (t4 * t4 * t2) + 0.5);
}

static uint64_t date_of(uint64_t r) {
    const uint64_t year = 1970 + r % 100, month = 1 + (r >> 20) % 12, day = 1 + (r >> 40) % 28;
    return 10000 * year + 100 * month + day;
}

/* Number i of n that rise by equal steps over the range of the type; of floats over that of a uint32_t. */
static uint64_t ramp(const struct draw *d, uint64_t i) {
    const double range = d->is_float ? 0x1p32 : d->width == 64 ? 9e18 : (double)(UINT64_C(1) << d->width);
    return (uint64_t)(range / (double)d->point->n * (double)i);
}

static uint64_t number_of(const struct draw *d) {
    switch (d->point->distribution) {
    case UNIFORM:
        return d->is_float ? d->r >> 32 : d->r;
    case SORTED:
        return ramp(d, d->i);
    case REVERSED:
        return ramp(d, d->point->n - 1 - d->i);
    case EQUAL:
        return 1234567;
    case FEW:
        return d->r % 50;
    case THOUSAND:
        return d->r % 1000;
    case BELOW_N:
        return d->r % d->point->n;
    case ZIPF:
        return zipf_rank(d->r);
    case DATES:
        return date_of(d->r);
    case TIMES:
        return d->width == 64 ? d->r % UINT64_C(86400000000) : d->r % (365 * 86400);
    case EVENTS:
        return 10 * d->i + d->r % 1000;
    case MULTIPLES:
        return d->r % 4294968 * 1000;
    case OUTLIERS:
        return d->s % 10000 == 0 ? d->r >> (64 - d->width) : d->r % 1000000;
    case CLUSTERS:
        return d->r % 1000000 + (d->s & 1 ? 1000000 : d->width == 64 ? UINT64_C(1000000000000000000) : UINT64_C(4000000000));
    default: /* NARROW */
        return (d->i % 4096 << 20) + d->r % 1000;
    }
}

/* ---- bits -------------------------------------------------------------------------------------------------------------------------- */

/* Letters, the first one on top, so that integers are in the order of the text. */
static uint64_t letters_of(uint64_t r, uint32_t width) {
    uint64_t text = 0;
    for (uint32_t bit = 0; bit < width; bit += 8, r /= 26) text = text << 8 | ('a' + r % 26);
    return text;
}

static uint64_t fields_of(uint64_t r, uint32_t width) {
    const uint32_t step = width / 4;
    return r % 5 << 3 * step | (r >> 16) % 20 << 2 * step | (r >> 32) % 100 << step | (r >> 48) % 200;
}

/* The float of random bits, but for NaNs and infinities, which lose the top bit of their exponent. */
static uint64_t finite_bits(uint64_t bits, uint32_t width) {
    const uint64_t infinity = width == 64 ? UINT64_C(0x7FF) << 52 : UINT64_C(0xFF) << 23;
    return (bits & infinity) == infinity ? bits ^ UINT64_C(1) << (width - 2) : bits;
}

/* Of all floats but NaNs and infinities, in their order, one in so many: the negative ones have falling bits. */
static uint64_t rising_float(const struct draw *d) {
    const uint64_t infinity = d->width == 64 ? UINT64_C(0x7FF) << 52 : UINT64_C(0xFF) << 23;
    const uint64_t rank = (uint64_t)(2 * (double)infinity / (double)d->point->n * (double)d->i);
    return rank < infinity ? UINT64_C(1) << (d->width - 1) | (infinity - 1 - rank) : rank - infinity;
}

/* The bits of a mask are random, the others those of a constant. */
static uint64_t random_in(uint64_t mask, uint64_t r) { return (r & mask) | (UINT64_C(0x5A3C965AC3695AA5) & ~mask); }

static uint64_t scattered_rank(const struct draw *d) {
    const uint64_t octave = UINT64_C(1) << d->s % 30;
    return random_mix(octave | (d->r & (octave - 1))) >> (64 - d->width);
}

static bool all_bits_random(const struct draw *d) {
    const uint64_t n = d->point->n;
    if (d->point->distribution == THIRD_BITS_SOME) return d->s % 1000 == 0;
    if (d->point->distribution == THIRD_BITS_ONE) return d->i == n / 3;
    return d->point->distribution == FOURTH_BITS_LAST && d->i + 3 >= n;
}

/* Of so many bits; those above may be anything. */
static uint64_t bits_of(const struct draw *d) {
    const uint32_t width = d->width;
    const uint64_t all = UINT64_MAX >> (64 - width), low_half = all >> width / 2, r = d->r;
    if (all_bits_random(d)) return r;
    switch (d->point->distribution) {
    case ADDRESSES:
        return (width == 64 ? UINT64_C(0x7F3A40000000) : UINT64_C(0x40000000)) + (r & UINT64_C(0x3FFFFFF0));
    case FIELDS:
        return fields_of(r, width);
    case LETTERS:
        return letters_of(r, width);
    case MILLION:
        return random_mix(r % (1 << 20)) >> (64 - width);
    case LOG_UNIFORM:
        return scattered_rank(d);
    case SECOND_BITS:
        return r & UINT64_C(0x5555555555555555);
    case THIRD_BITS:
    case THIRD_BITS_SOME:
    case THIRD_BITS_ONE:
        return r & UINT64_C(0x9249249249249249);
    case FOURTH_BITS:
    case FOURTH_BITS_LAST:
        return r & UINT64_C(0x1111111111111111);
    case LOW_TWO_THIRDS:
        return random_in(all >> width / 3, r);
    case LOW_HALF:
        return random_in(low_half, r);
    case HIGH_HALF:
        return random_in(~low_half, r);
    case OUTER_HALF:
        return random_in(~(low_half << width / 4), r);
    case GAP:
        return r & ~(UINT64_C(15) << (width - 12));
    case SHIFTED:
        return (r & all) >> d->s % width;
    case TOP_BYTE:
        return d->s % 10 == 0 ? r : random_in(all >> 8, r);
    case SIXTEENTH:
        return d->i % 16 == 0 ? random_in(0, r) : r;
    case BITS_SORTED:
        return rising_float(d);
    default: /* BITS */
        return r;
    }
}

/* ---- floats ------------------------------------------------------------------------------------------------------------------------ */

/* How many of 64 bits are set, spread by two uniform numbers: the density is the binomial one with straight lines between its points. */
static double normal_of(const struct draw *d) {
    const double spread = (double)(d->s >> 32) * 0x1p-32 + (double)(uint32_t)d->s * 0x1p-32;
    return 0.25 * (__builtin_popcountll(d->r) - 33 + spread);
}

static double unit_of(const struct draw *d) { return d->width == 64 ? (double)(d->r >> 11) * 0x1p-53 : (double)(d->r >> 40) * 0x1p-24; }

static double float_of(const struct draw *d) {
    switch (d->point->distribution) {
    case NORMAL:
        return normal_of(d);
    case HALVES:
        return 0.5 * ((double)(d->r % (1 << 21)) - 0x1p20);
    case HUNDREDTHS:
        return (double)(d->r % 1000000) / 100;
    default: /* UNIT */
        return unit_of(d);
    }
}

static uint64_t bits_of_float(double value, uint32_t width) {
    const float narrow = (float)value;
    uint64_t bits = 0;
    uint32_t narrow_bits;
    memcpy(&bits, &value, sizeof bits);
    memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
    return width == 64 ? bits : narrow_bits;
}

/* ---- all of them ------------------------------------------------------------------------------------------------------------------- */

/* Spread evenly, but some keys are alike, or nearly so. */
static uint64_t partly_alike(const struct draw *d) {
    const uint32_t width = d->width;
    const uint64_t all = UINT64_MAX >> (64 - width), most = d->is_float ? bits_of_float(-999, width) : all;
    const uint64_t some = d->is_float ? bits_of_float(0.3, width) : random_mix(1) & all;
    const uint64_t usual = d->is_float ? bits_of_float(unit_of(d), width) : d->r;
    switch (d->point->distribution) {
    case SENTINEL:
        return d->s % 300 == 0 ? most : usual;
    case KNOTS:
        return d->s % 1600 < 3 ? some + (d->s % 1600 << (width == 64 ? 49 : 20)) : usual;
    case ROW:
        return d->i % 1200 == 0 ? some + d->i / 1200 : usual;
    default: /* ROW_MIXED */
        return d->i % 1200 == 0 ? some + d->s % (d->point->n / 1200 + 1) : usual;
    }
}

static inline uint64_t key_of(const struct draw *d) {
    const enum distribution kind = d->point->distribution;
    if (kind >= UNIT) return bits_of_float(float_of(d), d->width);
    if (kind >= SENTINEL && kind <= ROW_MIXED) return partly_alike(d);
    if (kind >= ADDRESSES) return d->is_float ? finite_bits(bits_of(d) & UINT64_MAX >> (64 - d->width), d->width) : bits_of(d);
    const uint64_t number = number_of(d);
    return d->is_float ? bits_of_float((double)(int64_t)number, d->width) : number;
}

void keys_fill(void *keys, const struct point *point, uint64_t first, uint64_t last) {
    const bool is_float = point->type == UPSWEEP_F32 || point->type == UPSWEEP_F64;
    struct draw d = {.point = point, .width = (uint32_t)(8 * point_item_nbytes(point)), .is_float = is_float};
    for (uint64_t i = first; i < last; i++) {
        d.i = i;
        d.r = random_at(point->n, i);
        d.s = random_mix(d.r + 1);
        store_bits(keys, i, d.width / 8, key_of(&d));
    }
}
