/* utf8_avx2.c: the table of UTF-8 kernels for AVX2: those of utf8_avx512.c by other means.
 *
 *     short text   by rows of 32 bytes, as if it were well-formed; whether it is shows beside it (utf8_avx2_wrong.h). The last row ends
 *                  where the text does, and writes again what it has in common with the one before
 *     any text     by windows of 64 bytes in two registers, so that the masks and their rules are the same (utf8_rules.h); copies of
 *                  those where the text begins or ends, with zeros around. What is ill-formed is patched byte by byte
 *
 * Code points are put together as utf8_avx2_units.h says. Encoding is in utf8_avx2_encode.c, counting in utf8_avx2_measure.c. */
#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "utf8_kernels.h"

#include "target_avx2.h"

#include "utf8_avx2_units.h" /* for these instruction sets */

/* ---- short well-formed text -------------------------------------------------------------------------------------------------- */

/* Writes what ends at the bytes `mine` of a row of well-formed text, again at those of them that are `done`. In any other, *wrong gets
 * bits; what is then written, no more units than bytes, means nothing. Full vectors are stored, but no further than a unit for each byte
 * goes. */
ALWAYS_INLINE unsigned char *decode_row(unsigned char *end, struct row r, uint32_t mine, uint32_t done, upsweep_encoding to,
                                        __m256i *wrong) {
    const bool has_4 = _mm256_movemask_epi8(is_at_least(_mm256_max_epu8(r.b2, r.b3), 0xF0)) != 0;
    __m256i inside = _mm256_or_si256(is_at_least(r.b, 0xC0), is_at_least(r.b1, 0xE0)); /* but of four bytes the last two make a pair */
    struct planes planes;
    assemble_32(planes.low, planes.high, r);
    if (has_4 && to == UPSWEEP_UTF32) {
        assemble_top_32(planes.top, r);
        inside = _mm256_or_si256(inside, is_at_least(r.b2, 0xF0));
    } else if (has_4) {
        assemble_surrogates_32(planes.low, planes.high, r);
    }
    *wrong = _mm256_or_si256(*wrong, wrong_bytes(r));
    const uint32_t emit = ~(uint32_t)_mm256_movemask_epi8(inside) & mine;
    end -= encoding_nbytes(to) * (size_t)_mm_popcnt_u32(emit & done);
    if (has_4) return store_planes(end, &planes, ROW, emit, to == UPSWEEP_UTF32, to);
    return store_planes(end, &planes, ROW, emit, false, to);
}

/* A row that may be ASCII, of which the last n bytes are new. */
ALWAYS_INLINE unsigned char *decode_whole_row(unsigned char *end, struct row r, size_t n, upsweep_encoding to, __m256i *wrong) {
    if (_mm256_movemask_epi8(_mm256_or_si256(r.b, r.b3)) != 0) return decode_row(end, r, UINT32_MAX, ~last_bits(n), to, wrong);
    unsigned char *const start = end - (ROW - n) * encoding_nbytes(to);
    store_ascii_16(start, _mm256_castsi256_si128(r.b), to);
    store_ascii_16(start + 16 * encoding_nbytes(to), _mm256_extracti128_si256(r.b, 1), to);
    return start + ROW * encoding_nbytes(to);
}

/* A text of at most a row, which it ends; and so do its units if they are fewer than a vector. */
ALWAYS_INLINE unsigned char *decode_one(unsigned char *out, const uint8_t *in, size_t n, upsweep_encoding to, __m256i *wrong) {
    const struct row r = first_row(load_last_of_row(in, n));
    unsigned char few[8 * sizeof(uint32_t)];
    *wrong = begun_at_end(r.b);
    if (_mm256_movemask_epi8(r.b) == 0) return out + store_some_ascii(out, in, n, to) * encoding_nbytes(to);
    if (n >= 8) return decode_row(out, r, last_bits(n), 0, to, wrong);
    const size_t nbytes = (size_t)(decode_row(few, r, last_bits(n), 0, to, wrong) - few);
    copy_few(out, few, nbytes);
    return out + nbytes;
}

/* A text of more than a row and what is before a row, until something is wrong. The last row ends where the text does. */
ALWAYS_INLINE unsigned char *decode_rows(unsigned char *end, const uint8_t *in, size_t n, upsweep_encoding to, __m256i *wrong) {
    size_t i = ROW;
    *wrong = begun_at_end(load(in + n - ROW));
    end = decode_whole_row(end, first_row(load(in)), ROW, to, wrong);
    for (; n - i > ROW && _mm256_testz_si256(*wrong, *wrong); i += ROW) end = decode_whole_row(end, row_at(in + i), ROW, to, wrong);
    return n - i > ROW ? end : decode_whole_row(end, row_at(in + n - ROW), n - i, to, wrong);
}

enum { SHORT_NBYTES = 512 };

/* The number of code units, or UTF8_NOT_WELL if the text is not well-formed, or not short. */
ALWAYS_INLINE size_t decode_short(void *out, const uint8_t *in, size_t n, upsweep_encoding to) {
    if ((n > ROW && n <= ROW + UTF8_BEFORE) || n > SHORT_NBYTES) return UTF8_NOT_WELL;
    __m256i wrong;
    const unsigned char *const end = n <= ROW ? decode_one(out, in, n, to, &wrong) : decode_rows(out, in, n, to, &wrong);
    return _mm256_testz_si256(wrong, wrong) ? (size_t)(end - (unsigned char *)out) / encoding_nbytes(to) : UTF8_NOT_WELL;
}

/* ---- whatever text ----------------------------------------------------------------------------------------------------------- */

static void patch_bad(struct planes *planes, uint64_t bad) {
    for (; bad != 0; bad &= bad - 1) {
        const size_t end = (size_t)__builtin_ctzll(bad);
        planes->low[end] = 0xFD;
        planes->high[end] = 0xFF;
        planes->top[end] = 0;
    }
}

/* Ends of sequences of three bytes and nothing else, from the first one that a window may own. */
#define ALL_OF_3 UINT64_C(0x1249249249249248)

/* Four sequences of three bytes, as bits 0 to 23 of 32, the last byte lowest; put together. */
ALWAYS_INLINE __m256i join_threes(__m256i x) {
    const __m256i last = _mm256_and_si256(x, _mm256_set1_epi32(0x3F)),
                  middle = _mm256_and_si256(_mm256_srli_epi32(x, 2), _mm256_set1_epi32(0xFC0)),
                  first = _mm256_and_si256(_mm256_srli_epi32(x, 4), _mm256_set1_epi32(0xF000));
    return _mm256_or_si256(_mm256_or_si256(last, middle), first);
}

/* The 20 sequences of three bytes from p on, of 64 bytes that may be read. */
ALWAYS_INLINE size_t store_threes(unsigned char *out, const uint8_t *p, upsweep_encoding to) {
    const __m256i turned = _mm256_broadcastsi128_si256(_mm_setr_epi8(2, 1, 0, -1, 5, 4, 3, -1, 8, 7, 6, -1, 11, 10, 9, -1));
    for (size_t i = 0; i < 60; i += 24) {
        const __m128i first = _mm_loadu_si128((const __m128i *)(p + i));
        const __m128i second = i < 48 ? _mm_loadu_si128((const __m128i *)(p + i + 12)) : first; /* there are four in the last step */
        const __m256i codes = join_threes(_mm256_shuffle_epi8(_mm256_set_m128i(second, first), turned));
        if (to == UPSWEEP_UTF32) {
            _mm256_storeu_si256((__m256i *)(out + 4 * (i / 3)), codes);
        } else {
            const __m128i units = _mm_packus_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1));
            const __m128i swapped = _mm_or_si128(_mm_slli_epi16(units, 8), _mm_srli_epi16(units, 8));
            _mm_storeu_si128((__m128i *)(out + 2 * (i / 3)), to == UPSWEEP_UTF16BE ? swapped : units);
        }
    }
    return 20;
}

/* The window at p, of which the bits `owned` count; whole: that is all of them, and the bytes up to p[75] may be read. Returns the number
 * of code units. */
ALWAYS_INLINE size_t decode_window(unsigned char *out, const uint8_t *p, uint64_t owned, bool whole, bool replace, struct utf8_bad *bad,
                                   size_t at, upsweep_encoding to) {
    const struct utf8_ends ends = utf8_find_ends(classify(p));
    const bool has_top = to == UPSWEEP_UTF32 && ends.of_4 != 0;
    uint64_t emit = ends.ascii | ends.of_2 | ends.of_3 | ends.of_4;
    const uint64_t threes = ends.of_3 & owned, phase = threes != 0 ? (uint64_t)__builtin_ctzll(threes) - UTF8_BEFORE : 0;
    if (whole && threes == ALL_OF_3 << phase && threes == ((emit | ends.bad) & owned))
        return store_threes(out, p + UTF8_BEFORE + phase - 2, to);
    struct planes planes;
    for (size_t i = 0; i < 64; i += 32) assemble_32(planes.low + i, planes.high + i, row_at(p + i));
    if (has_top)
        for (size_t i = 0; i < 64; i += 32) assemble_top_32(planes.top + i, row_at(p + i));
    if (to != UPSWEEP_UTF32 && ends.of_4 != 0) {
        for (size_t i = 0; i < 64; i += 32) assemble_surrogates_32(planes.low + i, planes.high + i, row_at(p + i));
        emit |= ends.of_4 >> 1;
    }
    utf8_take_bad(bad, &ends, owned, at);
    if (replace) {
        patch_bad(&planes, ends.bad & owned);
        emit |= ends.bad;
    }
    emit &= owned;
    unsigned char *const end = has_top ? store_planes(out, &planes, 64, emit, true, to) : store_planes(out, &planes, 64, emit, false, to);
    return (size_t)(end - out) / encoding_nbytes(to);
}

/* The window at i, which may reach beyond either end of in [n]. */
static size_t decode_edge(unsigned char *out, const uint8_t *in, size_t i, size_t n, bool replace, struct utf8_bad *bad,
                          upsweep_encoding to) {
    const struct edge edge = edge_at(in, i, n);
    unsigned char staged[(64 + 8) * 4];
    const size_t k = decode_window(staged, edge.bytes + EDGE_BEFORE - UTF8_BEFORE, utf8_owned(n - i), false, replace, bad, i, to);
    memcpy(out, staged, k * (to == UPSWEEP_UTF32 ? 4 : 2));
    return k;
}

ALWAYS_INLINE size_t decode(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad, upsweep_encoding to) {
    const size_t unit_nbytes = to == UPSWEEP_UTF32 ? 4 : 2;
    unsigned char *end = out;
    for (size_t i = 0; i < n;) {
        for (; n - i >= 64 && is_ascii_64(in + i); i += 64, end += 64 * unit_nbytes)
            store_ascii(end, in + i, to); /* what began before i has ended there, and been written */
        if (n - i < 64) {
            const size_t nascii = store_some_ascii(end, in + i, n - i, to);
            end += nascii * unit_nbytes;
            i += nascii;
        }
        if (i == n) break;
        const size_t k = n - i >= 72 && i > 0
                             ? decode_window(end, in + i - UTF8_BEFORE, UTF8_OWNED_BITS << UTF8_BEFORE, true, replace, bad, i, to)
                             : decode_edge(end, in, i, n, replace, bad, to);
        end += unit_nbytes * k;
        i += UTF8_OWNED;
    }
    return (size_t)(end - (unsigned char *)out) / unit_nbytes;
}

#include "utf8_decode_tmpl.h"

/* Whole calls. */
#define SHORT_TO(NAME, ENCODING)                                                                                                    \
    static upsweep_status short_to_##NAME(upsweep_context *ctx, void *out, upsweep_utf8_report *report, const void *in, uint64_t n, \
                                          const upsweep_utf8_options *options) {                                                    \
        return utf8_end_few(ctx, out, report, in, n, options, decode_short(out, in, (size_t)n, ENCODING));                          \
    }

SHORT_TO(utf32, UPSWEEP_UTF32)
SHORT_TO(utf16le, UPSWEEP_UTF16LE)
SHORT_TO(utf16be, UPSWEEP_UTF16BE)

const struct utf8_kernels utf8_kernels_avx2 = {
    .decode = {decode_utf32, decode_utf16le, decode_utf16be},
    .measure = utf8_measure_avx2,
    .encode = {utf32_encode_avx2, utf16le_encode_avx2, utf16be_encode_avx2},
    .decode_few = {short_to_utf32, short_to_utf16le, short_to_utf16be},
    .measure_few = cpu_utf8_measure_few,
};

#include "target_end.h"

#else
typedef int utf8_avx2_is_for_x86; /* ISO C wants a declaration in every file */
#endif
