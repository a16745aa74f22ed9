/* oracle.c: the second implementation; see oracle.h. Written to be obviously right: one switch, one loop, a merge sort. */
#include "oracle.h"

#include <stdlib.h>
#include <string.h>

#include "harness.h"

/* ---- elements as bits -------------------------------------------------------------------------------------------------------- */

size_t elem_size(upsweep_type type) {
    switch (type) {
    case UPSWEEP_I8:
    case UPSWEEP_U8:
        return 1;
    case UPSWEEP_I16:
    case UPSWEEP_U16:
        return 2;
    case UPSWEEP_I32:
    case UPSWEEP_U32:
    case UPSWEEP_F32:
        return 4;
    default:
        return 8;
    }
}

static uint64_t low_bits(uint64_t x, size_t nbits) { return nbits >= 64 ? x : x & ((UINT64_C(1) << nbits) - 1); }

/* Where in a uint64_t the low bytes lie that an element is made of. */
static unsigned char *low_bytes(uint64_t *bits, size_t nbytes) {
    const uint16_t one = 1;
    const bool little_endian = *(const unsigned char *)&one == 1;
    return (unsigned char *)bits + (little_endian ? 0 : sizeof *bits - nbytes);
}

uint64_t elem_load(const void *array, uint64_t i, upsweep_type type) {
    const size_t nbytes = elem_size(type);
    uint64_t bits = 0;
    memcpy(low_bytes(&bits, nbytes), (const unsigned char *)array + i * nbytes, nbytes);
    return bits;
}

void elem_store(void *array, uint64_t i, upsweep_type type, uint64_t bits) {
    const size_t nbytes = elem_size(type);
    memcpy((unsigned char *)array + i * nbytes, low_bytes(&bits, nbytes), nbytes);
}

static float as_f32(uint64_t bits) {
    float x;
    memcpy(&x, &(uint32_t){(uint32_t)bits}, sizeof x);
    return x;
}

static double as_f64(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t of_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t of_f64(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static int64_t as_signed(upsweep_type type, uint64_t bits) {
    const uint64_t sign = UINT64_C(1) << (8 * elem_size(type) - 1);
    return bits & sign ? -(int64_t)(sign - (bits - sign) - 1) - 1 : (int64_t)bits;
}

uint64_t elem_of_float(upsweep_type type, double value) { return type == UPSWEEP_F32 ? of_f32((float)value) : of_f64(value); }

double elem_to_double(upsweep_type type, uint64_t bits) {
    if (type == UPSWEEP_F32) return (double)as_f32(bits);
    if (type == UPSWEEP_F64) return as_f64(bits);
    return is_signed(type) ? (double)as_signed(type, bits) : (double)bits;
}

/* NaN: all exponent bits set and some fraction bit. */
static bool is_nan(upsweep_type type, uint64_t bits) {
    if (type == UPSWEEP_F32) return (bits & 0x7fffffff) > 0x7f800000;
    if (type == UPSWEEP_F64) return (bits & INT64_MAX) > UINT64_C(0x7ff0000000000000);
    return false;
}

static bool less(upsweep_type type, uint64_t a, uint64_t b) {
    if (type == UPSWEEP_F32) return as_f32(a) < as_f32(b);
    if (type == UPSWEEP_F64) return as_f64(a) < as_f64(b);
    if (is_signed(type)) return as_signed(type, a) < as_signed(type, b);
    return a < b;
}

/* ---- scan -------------------------------------------------------------------------------------------------------------------- */

static uint64_t add(upsweep_type type, uint64_t a, uint64_t b) {
    if (type == UPSWEEP_F32) return of_f32(as_f32(a) + as_f32(b));
    if (type == UPSWEEP_F64) return of_f64(as_f64(a) + as_f64(b));
    return low_bits(a + b, 8 * elem_size(type));
}

static uint64_t multiply(upsweep_type type, uint64_t a, uint64_t b) {
    if (type == UPSWEEP_F32) return of_f32(as_f32(a) * as_f32(b));
    if (type == UPSWEEP_F64) return of_f64(as_f64(a) * as_f64(b));
    return low_bits(a * b, 8 * elem_size(type));
}

/* min, max: the first NaN wins; of equals, the later operand. */
static uint64_t minimum(upsweep_type type, uint64_t a, uint64_t b) {
    if (is_nan(type, a)) return a;
    if (is_nan(type, b)) return b;
    return less(type, a, b) ? a : b;
}

static uint64_t maximum(upsweep_type type, uint64_t a, uint64_t b) {
    if (is_nan(type, a)) return a;
    if (is_nan(type, b)) return b;
    return less(type, b, a) ? a : b;
}

static uint64_t apply(upsweep_type type, upsweep_op op, uint64_t a, uint64_t b) {
    switch (op) {
    case UPSWEEP_ADD:
        return add(type, a, b);
    case UPSWEEP_MUL:
        return multiply(type, a, b);
    case UPSWEEP_MIN:
        return minimum(type, a, b);
    case UPSWEEP_MAX:
        return maximum(type, a, b);
    case UPSWEEP_AND:
        return a & b;
    case UPSWEEP_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* Greatest value of a type, and least. */
static uint64_t highest(upsweep_type type) {
    if (type == UPSWEEP_F32) return 0x7f800000;
    if (type == UPSWEEP_F64) return UINT64_C(0x7ff0000000000000);
    return low_bits(UINT64_MAX, 8 * elem_size(type) - (is_signed(type) ? 1 : 0));
}

static uint64_t lowest(upsweep_type type) {
    if (type == UPSWEEP_F32) return 0xff800000;
    if (type == UPSWEEP_F64) return UINT64_C(0xfff0000000000000);
    return is_signed(type) ? UINT64_C(1) << (8 * elem_size(type) - 1) : 0;
}

static uint64_t identity(upsweep_type type, upsweep_op op) {
    switch (op) {
    case UPSWEEP_MUL:
        return is_float(type) ? elem_of_float(type, 1.0) : 1;
    case UPSWEEP_MIN:
        return highest(type);
    case UPSWEEP_MAX:
        return lowest(type);
    case UPSWEEP_AND:
        return low_bits(UINT64_MAX, 8 * elem_size(type));
    default:
        return 0;
    }
}

uint64_t oracle_scan(void *out, const void *in, uint64_t n, upsweep_type type, upsweep_op op, uint32_t flags, const uint64_t *init) {
    uint64_t sum = init ? *init : identity(type, op);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t before = sum;
        sum = apply(type, op, sum, elem_load(in, i, type));
        elem_store(out, i, type, flags == UPSWEEP_INCLUSIVE ? sum : before);
    }
    return sum;
}

/* ---- compaction -------------------------------------------------------------------------------------------------------------- */

static uint64_t constant_bits(upsweep_type type, const upsweep_predicate *keep) {
    if (is_float(type)) return elem_of_float(type, keep->value.f);
    return low_bits(is_signed(type) ? (uint64_t)keep->value.i : keep->value.u, 8 * elem_size(type));
}

static bool keeps(upsweep_type type, const upsweep_predicate *keep, uint64_t x) {
    const uint64_t c = keep->cmp == UPSWEEP_NONZERO || keep->cmp == UPSWEEP_NOT_NAN ? 0 : constant_bits(type, keep);
    const bool unordered = is_nan(type, x) || is_nan(type, c);
    const bool below = less(type, x, c), above = less(type, c, x);
    switch (keep->cmp) {
    case UPSWEEP_NONZERO:
        return unordered || below || above; /* zero of either sign is the only value that is not */
    case UPSWEEP_EQ:
        return !unordered && !below && !above;
    case UPSWEEP_NE:
        return unordered || below || above;
    case UPSWEEP_LT:
        return below;
    case UPSWEEP_LE:
        return !unordered && !above;
    case UPSWEEP_GT:
        return above;
    case UPSWEEP_GE:
        return !unordered && !below;
    default:
        return !is_nan(type, x);
    }
}

void oracle_flags(uint8_t *kept, const void *in, uint64_t n, upsweep_type type, const upsweep_predicate *keep) {
    for (uint64_t i = 0; i < n; i++) kept[i] = keeps(type, keep, elem_load(in, i, type));
}

uint64_t oracle_compact(void *out, const void *in, const uint8_t *flags, uint64_t n, size_t elem_nbytes, bool rejected_too) {
    unsigned char *to = out;
    const unsigned char *from = in;
    uint64_t count = 0, written = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (flags[i]) memcpy(to + elem_nbytes * count++, from + elem_nbytes * i, elem_nbytes);
    }
    written = count;
    for (uint64_t i = 0; rejected_too && i < n; i++) {
        if (!flags[i]) memcpy(to + elem_nbytes * written++, from + elem_nbytes * i, elem_nbytes);
    }
    return count;
}

uint64_t oracle_indices(void *out, const uint8_t *flags, uint64_t n, upsweep_type index_type, uint64_t base) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (flags[i]) elem_store(out, count++, index_type, base + i);
    }
    return count;
}

/* ---- sort -------------------------------------------------------------------------------------------------------------------- */

/* The unsigned number whose order is the key's order. */
static uint64_t image(upsweep_type type, uint64_t bits) {
    const size_t nbits = 8 * elem_size(type);
    const uint64_t sign = UINT64_C(1) << (nbits - 1);
    if (is_float(type)) return bits & sign ? low_bits(~bits, nbits) : bits + sign;
    return is_signed(type) ? bits ^ sign : bits;
}

struct item {
    uint64_t key, index;
};

/* Stable merge sort of items [n]; room [n] is for the merging. */
static void merge_sort(struct item *items, struct item *room, uint64_t n, bool descending) {
    if (n < 2) return;
    const uint64_t half = n / 2;
    merge_sort(items, room, half, descending);
    merge_sort(items + half, room, n - half, descending);
    memcpy(room, items, half * sizeof *room);
    uint64_t a = 0, b = half;
    for (uint64_t i = 0; i < n; i++) {
        const bool second_first = b < n && (a == half || (descending ? items[b].key > room[a].key : items[b].key < room[a].key));
        items[i] = second_first ? items[b++] : room[a++];
    }
}

void oracle_argsort(uint64_t *indices, const void *keys, uint64_t n, upsweep_type type, const upsweep_order *order) {
    static const upsweep_order whole_key;
    if (!order) order = &whole_key;
    const size_t hi = order->hi_bit ? order->hi_bit : 8 * elem_size(type);
    struct item *items = must_malloc(n * sizeof *items), *room = must_malloc(n * sizeof *room);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t part = low_bits(image(type, elem_load(keys, i, type)), hi);
        items[i] = (struct item){.key = order->lo_bit >= 64 ? 0 : part >> order->lo_bit, .index = i};
    }
    merge_sort(items, room, n, order->descending == 1);
    for (uint64_t i = 0; i < n; i++) indices[i] = items[i].index;
    free(items);
    free(room);
}

void oracle_gather(void *out, const void *in, const uint64_t *indices, uint64_t n, size_t elem_nbytes) {
    for (uint64_t i = 0; i < n; i++) memcpy((char *)out + i * elem_nbytes, (const char *)in + indices[i] * elem_nbytes, elem_nbytes);
}
