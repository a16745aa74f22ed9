/* utf8_portable_encode.c: UTF-32 and UTF-16 to UTF-8 in plain C: four code points at a time, side by side in a word of 64 bits.
 *
 *     all ASCII                              their bytes; eight at a time, if so many are
 *     all below 800                          both bytes at once, in lanes of 16 bits; then each lane is stored and the next one goes behind
 *                                            its first or its second byte, without a branch that would be guessed wrong at every word's end
 *     all from 800 to FFFF, no surrogates    three bytes each
 *     anything else                          one by one */
#include <string.h>

#include "utf8_kernels.h"

enum { REPLACEMENT = 0xFFFD, AT_ONCE = 4, ONE_BY_ONE = 16 /* so many, once there are others */ };

/* x in each of four lanes */
#define LANES(x) ((x)*UINT64_C(0x0001000100010001))

/* ---- one code point ---------------------------------------------------------------------------------------------------------- */

static inline size_t put_utf8(uint8_t *out, uint32_t code) {
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (uint8_t)(0xC0 | code >> 6);
        out[1] = (uint8_t)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xE0 | code >> 12);
        out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | code >> 18);
    out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (code & 0x3F));
    return 4;
}

/* ---- four code points below 10000 -------------------------------------------------------------------------------------------- */

/* Stores a word of which only the first bytes, the lowest, are used: the next store overwrites the others. */
ALWAYS_INLINE void store_2(uint8_t *out, uint16_t word) {
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) word = __builtin_bswap16(word);
    memcpy(out, &word, sizeof word);
}
ALWAYS_INLINE void store_4(uint8_t *out, uint32_t word) {
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) word = __builtin_bswap32(word);
    memcpy(out, &word, sizeof word);
}

ALWAYS_INLINE bool are_ascii(uint64_t lanes) { return (lanes & LANES(0xFF80)) == 0; }
ALWAYS_INLINE bool are_short(uint64_t lanes) { return (lanes & LANES(0xF800)) == 0; }

ALWAYS_INLINE bool has_zero_lane(uint64_t lanes) { return ((lanes - LANES(1)) & ~lanes & LANES(0x8000)) != 0; }

/* Are all of them 800 or more, and none a surrogate? */
ALWAYS_INLINE bool are_long(uint64_t lanes) {
    const uint64_t rows = lanes & LANES(0xF800);
    return !has_zero_lane(rows) && !has_zero_lane(rows ^ LANES(0xD800));
}

ALWAYS_INLINE uint8_t *put_ascii(uint8_t *out, uint64_t lanes) {
    const uint64_t pairs = (lanes | lanes >> 8) & UINT64_C(0x0000FFFF0000FFFF);
    store_4(out, (uint32_t)(pairs | pairs >> 16));
    return out + AT_ONCE;
}

ALWAYS_INLINE uint8_t *put_short(uint8_t *out, uint64_t lanes) {
    const uint64_t of_2 = (lanes + LANES(0x7F80)) >> 15 & LANES(1); /* from 80 on they reach the highest bit of a lane */
    const uint64_t both = (lanes >> 6 & LANES(0x1F)) | (lanes << 8 & LANES(0x3F00)) | LANES(0x80C0);
    uint64_t bytes = lanes ^ ((lanes ^ both) & of_2 * 0xFFFF);
    for (int j = 0; j < AT_ONCE; j++, bytes >>= 16) {
        store_2(out, (uint16_t)bytes);
        out += 1 + (of_2 >> 16 * j & 1);
    }
    return out;
}

ALWAYS_INLINE uint8_t *put_long(uint8_t *out, uint64_t lanes) {
    for (int j = 0; j < AT_ONCE; j++, out += 3) {
        const uint32_t code = (uint16_t)(lanes >> 16 * j);
        store_4(out, 0x8080E0 | code >> 12 | (code << 2 & 0x3F00) | (code << 16 & 0x3F0000));
    }
    return out;
}

/* Writes four that are all ASCII, all below 800 or all of three bytes; returns false if they are none of these. */
ALWAYS_INLINE bool put_alike(uint8_t **out, uint64_t lanes) {
    if (are_ascii(lanes))
        *out = put_ascii(*out, lanes);
    else if (are_short(lanes))
        *out = put_short(*out, lanes);
    else if (are_long(lanes))
        *out = put_long(*out, lanes);
    else
        return false;
    return true;
}

/* ---- from UTF-32 ------------------------------------------------------------------------------------------------------------- */

/* Not inline, for the registers of the loop that seldom comes here. */
NOT_INLINE uint8_t *put_codes(uint8_t *out, const uint32_t *in, size_t first, size_t end, bool replace, struct utf8_bad *bad) {
    for (size_t i = first; i < end; i++) {
        const bool good = in[i] <= 0x10FFFF && in[i] - 0xD800 >= 0x800;
        if (!good) utf8_take_one_bad(bad, i, 1);
        if (good || replace) out += put_utf8(out, good ? in[i] : REPLACEMENT);
    }
    return out;
}

ALWAYS_INLINE uint64_t lanes_of(const uint32_t codes[AT_ONCE]) {
    return codes[0] | (uint64_t)codes[1] << 16 | (uint64_t)codes[2] << 32 | (uint64_t)codes[3] << 48;
}

size_t utf32_encode_portable(uint8_t *out, const void *units, size_t n, bool replace, struct utf8_bad *bad) {
    const uint32_t *in = units;
    uint8_t *end = out;
    size_t i = 0;
    while (n - i >= ONE_BY_ONE) {
        const uint32_t any = in[i] | in[i + 1] | in[i + 2] | in[i + 3];
        if (any < 0x80) {
            store_4(end, in[i] | in[i + 1] << 8 | in[i + 2] << 16 | in[i + 3] << 24);
            end += AT_ONCE;
            i += AT_ONCE;
        } else if (any < 0x10000 && put_alike(&end, lanes_of(in + i))) {
            i += AT_ONCE;
        } else {
            end = put_codes(end, in, i, i + ONE_BY_ONE, replace, bad);
            i += ONE_BY_ONE;
        }
    }
    return (size_t)(put_codes(end, in, i, n, replace, bad) - out);
}

/* ---- from UTF-16 ------------------------------------------------------------------------------------------------------------- */

static inline uint32_t in_order(uint16_t unit, bool swap) { return swap ? __builtin_bswap16(unit) : unit; }
static inline bool is_high(uint32_t unit) { return unit >> 10 == 0xD800 >> 10; }
static inline bool is_low(uint32_t unit) { return unit >> 10 == 0xDC00 >> 10; }

/* The units from in[i] to in[until], and the one behind if that ends a pair. Returns the number of units. */
NOT_INLINE size_t put_units(uint8_t **end, const uint16_t *in, size_t n, size_t i, size_t until, bool replace, struct utf8_bad *bad,
                            bool swap) {
    const size_t first = i;
    uint8_t *out = *end;
    for (; i < until; i++) {
        const uint32_t unit = in_order(in[i], swap);
        if (is_high(unit) && i + 1 < n && is_low(in_order(in[i + 1], swap))) {
            out += put_utf8(out, 0x10000 + ((unit & 0x3FF) << 10 | (in_order(in[++i], swap) & 0x3FF)));
            continue;
        }
        const bool good = unit >> 11 != 0xD800 >> 11;
        if (!good) utf8_take_one_bad(bad, i, 1);
        if (good || replace) out += put_utf8(out, good ? unit : REPLACEMENT);
    }
    *end = out;
    return i - first;
}

/* Four units, the first one lowest. */
ALWAYS_INLINE uint64_t load_lanes(const uint16_t *in, bool big_endian) {
    uint64_t lanes;
    memcpy(&lanes, in, sizeof lanes);
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) lanes = __builtin_bswap64(lanes);
    return big_endian ? (lanes & LANES(0xFF)) << 8 | (lanes >> 8 & LANES(0xFF)) : lanes;
}

ALWAYS_INLINE size_t encode_utf16(uint8_t *out, const uint16_t *in, size_t n, bool replace, struct utf8_bad *bad, upsweep_encoding from) {
    const bool swap = utf16_is_swapped(from), big_endian = from == UPSWEEP_UTF16BE;
    uint8_t *end = out;
    size_t i = 0;
    while (n - i >= ONE_BY_ONE) {
        if (put_alike(&end, load_lanes(in + i, big_endian)))
            i += AT_ONCE;
        else
            i += put_units(&end, in, n, i, i + ONE_BY_ONE, replace, bad, swap);
    }
    put_units(&end, in, n, i, n, replace, bad, swap);
    return (size_t)(end - out);
}

size_t utf16le_encode_portable(uint8_t *out, const void *in, size_t n, bool replace, struct utf8_bad *bad) {
    return encode_utf16(out, in, n, replace, bad, UPSWEEP_UTF16LE);
}

size_t utf16be_encode_portable(uint8_t *out, const void *in, size_t n, bool replace, struct utf8_bad *bad) {
    return encode_utf16(out, in, n, replace, bad, UPSWEEP_UTF16BE);
}
