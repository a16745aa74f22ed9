/* utf8_portable.c: the table of UTF-8 kernels in plain C: eight code units at a time while they are ASCII, else sequence after sequence.
 *
 * It is what machines without vectors run, and the plainest statement of what the others must do. */
#include <string.h>

#include "utf8_kernels.h"

enum { REPLACEMENT = 0xFFFD };

static inline bool is_ascii_8(const uint8_t *p) {
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return (word & UINT64_C(0x8080808080808080)) == 0;
}

static inline void take_bad(struct utf8_bad *bad, size_t at, size_t length) {
    if (bad->first == SIZE_MAX) bad->first = at;
    bad->sequences++;
    bad->units += length;
}

/* Four bytes, the first one on top. */
static inline uint32_t load_4(const uint8_t *p) { return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]; }

/* If four bytes begin with a sequence of two, three or four, its code point; 0 if they do not or it is not well-formed. */
static inline uint32_t code_of_2(uint32_t bytes) {
    const uint32_t code = (bytes >> 18 & 0x7C0) | (bytes >> 16 & 0x3F);
    return (bytes & 0xE0C00000) == 0xC0800000 && code >= 0x80 ? code : 0;
}
static inline uint32_t code_of_3(uint32_t bytes) {
    const uint32_t code = (bytes >> 12 & 0xF000) | (bytes >> 10 & 0xFC0) | (bytes >> 8 & 0x3F);
    return (bytes & 0xF0C0C000) == 0xE0808000 && code >= 0x800 && code - 0xD800 >= 0x800 ? code : 0;
}
static inline uint32_t code_of_4(uint32_t bytes) {
    const uint32_t code = (bytes >> 6 & 0x1C0000) | (bytes >> 4 & 0x3F000) | (bytes >> 2 & 0xFC0) | (bytes & 0x3F);
    return (bytes & 0xF8C0C0C0) == 0xF0808080 && code - 0x10000 < 0x100000 ? code : 0;
}

/* ---- decode ------------------------------------------------------------------------------------------------------------------ */

static inline uint16_t swap_16(uint16_t unit, bool swap) { return swap ? __builtin_bswap16(unit) : unit; }

/* Writes a code point at out[k] in an encoding and returns the number of code units. */
ALWAYS_INLINE size_t put(void *out, size_t k, uint32_t code, upsweep_encoding to) {
    const bool swap = utf16_is_swapped(to);
    if (to == UPSWEEP_UTF32) {
        ((uint32_t *)out)[k] = code;
        return 1;
    }
    if (code < 0x10000) {
        ((uint16_t *)out)[k] = swap_16((uint16_t)code, swap);
        return 1;
    }
    ((uint16_t *)out)[k] = swap_16((uint16_t)(0xD7C0 + (code >> 10)), swap); /* D800 + ((code - 10000) >> 10) */
    ((uint16_t *)out)[k + 1] = swap_16((uint16_t)(0xDC00 + (code & 0x3FF)), swap);
    return 2;
}

ALWAYS_INLINE size_t decode(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad, upsweep_encoding to) {
    size_t k = 0;
    for (size_t i = 0; i < n;) {
        if (n - i >= 8 && is_ascii_8(in + i)) {
            for (size_t j = 0; j < 8; j++) put(out, k + j, in[i + j], to);
            i += 8;
            k += 8;
            continue;
        }
        if (in[i] < 0x80) {
            k += put(out, k, in[i++], to);
            continue;
        }
        const size_t start = i;
        uint32_t code; /* text mostly goes on with the length that it had */
        for (; n - i >= 4 && (code = code_of_2(load_4(in + i))) != 0; i += 2) k += put(out, k, code, to);
        for (; n - i >= 4 && (code = code_of_3(load_4(in + i))) != 0; i += 3) k += put(out, k, code, to);
        for (; n - i >= 4 && (code = code_of_4(load_4(in + i))) != 0; i += 4) k += put(out, k, code, to);
        if (i > start) continue;
        bool good;
        const size_t length = utf8_sequence(in + i, n - i, &good);
        if (!good) take_bad(bad, i, length);
        if (good || replace) k += put(out, k, good ? utf8_code_point(in + i, length) : REPLACEMENT, to);
        i += length;
    }
    return k;
}

static size_t decode_utf32(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad) {
    return decode(out, in, n, replace, bad, UPSWEEP_UTF32);
}
static size_t decode_utf16le(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad) {
    return decode(out, in, n, replace, bad, UPSWEEP_UTF16LE);
}
static size_t decode_utf16be(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad) {
    return decode(out, in, n, replace, bad, UPSWEEP_UTF16BE);
}

static struct utf8_good measure(const uint8_t *in, size_t n, struct utf8_bad *bad) {
    struct utf8_good found = {0, 0};
    for (size_t i = 0; i < n;) {
        if (n - i >= 8 && is_ascii_8(in + i)) {
            found.sequences += 8;
            i += 8;
            continue;
        }
        if (in[i] < 0x80) {
            found.sequences++;
            i++;
            continue;
        }
        const size_t start = i;
        for (; n - i >= 4 && code_of_2(load_4(in + i)) != 0; i += 2) found.sequences++;
        for (; n - i >= 4 && code_of_3(load_4(in + i)) != 0; i += 3) found.sequences++;
        for (; n - i >= 4 && code_of_4(load_4(in + i)) != 0; i += 4) found.sequences++, found.of_4++;
        if (i > start) continue;
        bool good;
        const size_t length = utf8_sequence(in + i, n - i, &good);
        if (!good) take_bad(bad, i, length);
        found.sequences += good;
        found.of_4 += good && length == 4;
        i += length;
    }
    return found;
}

/* ---- encode ------------------------------------------------------------------------------------------------------------------ */

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

static size_t encode_utf32(uint8_t *out, const void *units, size_t n, bool replace, struct utf8_bad *bad) {
    const uint32_t *in = units;
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (n - i >= 8 && in[i] < 0x80) {
            uint32_t any = 0;
            for (size_t j = 0; j < 8; j++) any |= in[i + j];
            if (any < 0x80) {
                for (size_t j = 0; j < 8; j++) out[k + j] = (uint8_t)in[i + j];
                k += 8;
                i += 7;
                continue;
            }
        }
        const bool good = in[i] <= 0x10FFFF && in[i] - 0xD800 >= 0x800;
        if (!good) take_bad(bad, i, 1);
        if (good || replace) k += put_utf8(out + k, good ? in[i] : REPLACEMENT);
    }
    return k;
}

static inline bool is_high(uint32_t unit) { return unit >> 10 == 0xD800 >> 10; }
static inline bool is_low(uint32_t unit) { return unit >> 10 == 0xDC00 >> 10; }

ALWAYS_INLINE size_t encode_utf16(uint8_t *out, const uint16_t *in, size_t n, bool replace, struct utf8_bad *bad, bool swap) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t unit = swap_16(in[i], swap);
        if (n - i >= 8 && unit < 0x80) {
            uint16_t any = 0;
            for (size_t j = 0; j < 8; j++) any |= in[i + j];
            if (swap_16(any, swap) < 0x80) {
                for (size_t j = 0; j < 8; j++) out[k + j] = (uint8_t)swap_16(in[i + j], swap);
                k += 8;
                i += 7;
                continue;
            }
        }
        if (is_high(unit) && i + 1 < n && is_low(swap_16(in[i + 1], swap))) {
            k += put_utf8(out + k, 0x10000 + ((unit & 0x3FF) << 10 | (swap_16(in[++i], swap) & 0x3FFu)));
            continue;
        }
        const bool good = unit >> 11 != 0xD800 >> 11;
        if (!good) take_bad(bad, i, 1);
        if (good || replace) k += put_utf8(out + k, good ? unit : REPLACEMENT);
    }
    return k;
}

static size_t encode_utf16le(uint8_t *out, const void *in, size_t n, bool replace, struct utf8_bad *bad) {
    return encode_utf16(out, in, n, replace, bad, utf16_is_swapped(UPSWEEP_UTF16LE));
}
static size_t encode_utf16be(uint8_t *out, const void *in, size_t n, bool replace, struct utf8_bad *bad) {
    return encode_utf16(out, in, n, replace, bad, utf16_is_swapped(UPSWEEP_UTF16BE));
}

const struct utf8_kernels utf8_kernels_portable = {
    .decode = {decode_utf32, decode_utf16le, decode_utf16be},
    .measure = measure,
    .encode = {encode_utf32, encode_utf16le, encode_utf16be},
};
