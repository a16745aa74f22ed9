/* utf8_portable.c: the table of UTF-8 kernels in plain C, for every machine that is not an x86-64 with AVX2.
 *
 *     well-formed   eight bytes at a time while they are ASCII, else sequence after sequence of the same length: text mostly goes on with
 *                   the one that it had
 *     ill-formed    from the first bad sequence on a KiB of windows of 64 bytes (utf8_portable_window.h), where nothing is guessed: code
 *                   units are put together at each byte, and copied from where the mask of ends has bits
 *
 * Windows alone would do, but take twice as long for text of few lengths; sequences alone are lost in garbage, where no guess is right.
 * Counting is in utf8_portable_measure.c, encoding in utf8_portable_encode.c. */
#include "utf8_portable_window.h"

enum { REPLACEMENT = 0xFFFD };

/* ---- one sequence ------------------------------------------------------------------------------------------------------------ */

/* Writes a code unit at out[k]. */
ALWAYS_INLINE void put_unit(void *out, size_t k, uint32_t unit, upsweep_encoding to) {
    if (to == UPSWEEP_UTF32)
        ((uint32_t *)out)[k] = unit;
    else
        ((uint16_t *)out)[k] = utf16_is_swapped(to) ? __builtin_bswap16((uint16_t)unit) : (uint16_t)unit;
}

/* Writes a code point at out[k] and returns the number of code units. */
ALWAYS_INLINE size_t put(void *out, size_t k, uint32_t code, upsweep_encoding to) {
    if (to == UPSWEEP_UTF32 || code < 0x10000) {
        put_unit(out, k, code, to);
        return 1;
    }
    put_unit(out, k, 0xD7C0 + (code >> 10), to); /* D800 + ((code - 10000) >> 10) */
    put_unit(out, k + 1, 0xDC00 + (code & 0x3FF), to);
    return 2;
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

/* ---- a window ---------------------------------------------------------------------------------------------------------------- */

/* What a window holds at each byte that ends a sequence: 16 bits of a code point, and those above. */
struct units {
    uint16_t unit[64];
    uint8_t top[64];
};

/* Bytes shifted, less the bits that come from their neighbours: few processors shift bytes. */
ALWAYS_INLINE bytes16 left(bytes16 b, int bits, uint8_t kept) { return (bytes16)((halves8)b << bits) & kept; }
ALWAYS_INLINE bytes16 right(bytes16 b, int bits, uint8_t kept) { return (bytes16)((halves8)b >> bits) & kept; }

/* The 16 units of these bytes. */
ALWAYS_INLINE void weave(uint16_t unit[16], bytes16 low, bytes16 high) {
    const bool low_first = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    const bytes16 first = low_first ? low : high, second = low_first ? high : low;
    const bytes16 units[2] = {interleave_low(first, second), interleave_high(first, second)};
    memcpy(unit, units, sizeof units);
}

/* Puts together the low 16 bits of the code point that ends at each byte at p, wherever one does. */
ALWAYS_INLINE void assemble(uint16_t unit[64], const uint8_t *p) {
    for (size_t i = 0; i < 64; i += 16) {
        const bytes16 b = load(p + i), high = (bytes16)((signed16)b < 0);
        const bytes16 b1 = load(p + i - 1) & high, b2 = load(p + i - 2) & is_continuation(b1);
        weave(unit + i, (b & 0x7F) | left(b1, 6, 0xC0), right(b1, 2, 0x0F) | left(b2, 4, 0xF0));
    }
}

/* What is above 16 bits. Three continuations in a row end a sequence of four, if they end a well-formed one at all. */
ALWAYS_INLINE void assemble_top(uint8_t top[64], const uint8_t *p) {
    for (size_t i = 0; i < 64; i += 16) {
        const bytes16 b2 = load(p + i - 2), b3 = load(p + i - 3);
        const bytes16 of_4 = is_continuation(load(p + i)) & is_continuation(load(p + i - 1)) & is_continuation(b2);
        const bytes16 bits = (right(b2, 4, 0x03) | left(b3, 2, 0x1C)) & of_4;
        memcpy(top + i, &bits, sizeof bits);
    }
}

/* Makes surrogate pairs of the four-byte sequences: the low one where the sequence ends, the high one at the byte before. */
static void patch_surrogates(uint16_t unit[64], const uint8_t *p, uint64_t of_4) {
    for (; of_4 != 0; of_4 &= of_4 - 1) {
        const size_t end = (size_t)__builtin_ctzll(of_4);
        if (end < UTF8_BEFORE) continue;
        const uint32_t code = utf8_code_point(p + end - 3, 4);
        unit[end] = (uint16_t)(0xDC00 | (code & 0x3FF));
        unit[end - 1] = (uint16_t)(0xD7C0 + (code >> 10));
    }
}

static void patch_bad(struct units *units, uint64_t bad) {
    for (; bad != 0; bad &= bad - 1) {
        const size_t end = (size_t)__builtin_ctzll(bad);
        units->unit[end] = 0xFFFD;
        units->top[end] = 0;
    }
}

/* Writes the units at the bits of `emit` and returns their number. In fours, so that where the loop ends is easier to guess: up to three
 * more are written. */
ALWAYS_INLINE size_t store_units(void *out, const struct units *units, uint64_t emit, upsweep_encoding to) {
    enum { AT_ONCE = 4 };
    const size_t nunits = popcount_64(emit);
    for (size_t k = 0; k < nunits; k += AT_ONCE)
        for (size_t j = 0; j < AT_ONCE; j++, emit &= emit - 1) {
            const size_t at = (size_t)__builtin_ctzll(emit | (uint64_t)1 << 63);
            put_unit(out, k + j, units->unit[at] | (to == UPSWEEP_UTF32 ? (uint32_t)units->top[at] << 16 : 0), to);
        }
    return nunits;
}

/* Writes what ends in the UTF8_OWNED bytes at in + at, and returns the number of code units. Looks at six bytes before and five behind. */
ALWAYS_INLINE size_t decode_window(void *out, const uint8_t *in, size_t at, bool replace, struct utf8_bad *bad, upsweep_encoding to) {
    const uint64_t owned = UTF8_OWNED_BITS << UTF8_BEFORE;
    const uint8_t *p = in + at - UTF8_BEFORE;
    const struct utf8_ends ends = utf8_find_any_ends(classify(p));
    struct units units;
    uint64_t emit = ends.ascii | ends.of_2 | ends.of_3 | ends.of_4;
    assemble(units.unit, p);
    if (to == UPSWEEP_UTF32) {
        assemble_top(units.top, p);
    } else {
        patch_surrogates(units.unit, p, ends.of_4);
        emit |= ends.of_4 >> 1;
    }
    utf8_take_any_bad(bad, &ends, owned, at);
    if (replace) {
        patch_bad(&units, ends.bad & owned);
        emit |= ends.bad;
    }
    return store_units(out, &units, emit & owned, to);
}

enum { WINDOWS = 16, BEFORE_WINDOW = 6, WINDOW_AND_BEHIND = 72 };

/* Windows from in + *i on; moves *i behind the last sequence that ends in them, and takes back the high surrogate of one that does not. */
ALWAYS_INLINE size_t decode_windows_to(unsigned char *out, const uint8_t *in, size_t n, size_t *i, bool replace, struct utf8_bad *bad,
                                       upsweep_encoding to) {
    size_t k = 0, at = *i;
    for (int window = 0; window < WINDOWS && n - at >= WINDOW_AND_BEHIND; window++, at += UTF8_OWNED)
        k += decode_window(out + k * encoding_nbytes(to), in, at, replace, bad, to);
    *i = utf8_cut(in, n, at);
    return to != UPSWEEP_UTF32 && at - *i == 3 ? k - 1 : k;
}

/* Not inline, for the registers of the loop that seldom comes here. */
NOT_INLINE size_t decode_windows(unsigned char *out, const uint8_t *in, size_t n, size_t *i, bool replace, struct utf8_bad *bad,
                                 upsweep_encoding to) {
    if (to == UPSWEEP_UTF32) return decode_windows_to(out, in, n, i, replace, bad, UPSWEEP_UTF32);
    if (to == UPSWEEP_UTF16LE) return decode_windows_to(out, in, n, i, replace, bad, UPSWEEP_UTF16LE);
    return decode_windows_to(out, in, n, i, replace, bad, UPSWEEP_UTF16BE);
}

/* ---- decode ------------------------------------------------------------------------------------------------------------------ */

ALWAYS_INLINE size_t decode(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad, upsweep_encoding to) {
    size_t k = 0;
    for (size_t i = 0; i < n;) {
        if (n - i >= 8 && is_ascii_8(in + i)) {
            for (size_t j = 0; j < 8; j++) put_unit(out, k + j, in[i + j], to);
            for (i += 8, k += 8; n - i >= 64 && is_ascii_64(in + i); i += 64, k += 64)
                for (size_t j = 0; j < 64; j++) put_unit(out, k + j, in[i + j], to);
            continue;
        }
        if (in[i] < 0x80) {
            put_unit(out, k++, in[i++], to);
            continue;
        }
        const size_t start = i;
        uint32_t code;
        for (; n - i >= 4 && (code = code_of_2(load_4(in + i))) != 0; i += 2) k += put(out, k, code, to);
        for (; n - i >= 4 && (code = code_of_3(load_4(in + i))) != 0; i += 3) k += put(out, k, code, to);
        for (; n - i >= 4 && (code = code_of_4(load_4(in + i))) != 0; i += 4) k += put(out, k, code, to);
        if (i > start) continue;
        bool good;
        const size_t length = utf8_sequence(in + i, n - i, &good);
        if (!good) utf8_take_one_bad(bad, i, length);
        if (good || replace) k += put(out, k, good ? utf8_code_point(in + i, length) : REPLACEMENT, to);
        i += length;
        if (good || i < BEFORE_WINDOW || n - i < WINDOW_AND_BEHIND) continue;
        size_t at = i;
        k += decode_windows((unsigned char *)out + k * encoding_nbytes(to), in, n, &at, replace, bad, to);
        i = at;
    }
    return k;
}

#include "utf8_decode_tmpl.h"

const struct utf8_kernels utf8_kernels_portable = {
    .decode = {decode_utf32, decode_utf16le, decode_utf16be},
    .measure = utf8_measure_portable,
    .encode = {utf32_encode_portable, utf16le_encode_portable, utf16be_encode_portable},
    .decode_few = {cpu_utf8_decode_few, cpu_utf8_decode_few, cpu_utf8_decode_few},
    .measure_few = cpu_utf8_measure_few,
};
