/* utf8_avx512.c: the table of UTF-8 kernels for AVX-512 with byte permutation and compression (VBMI, VBMI2: Ice Lake, Zen 4 and newer).
 *
 * Decoding, 60 bytes at a time, whatever the lengths of the sequences; the branches are for ASCII, ill-formed text, and four-byte
 * sequences:
 *
 *     text        E2 82 AC | 41 | C3 A9            EUR sign, A, e acute
 *     ends         .  .  1    1    .  1            by masks in 64-bit registers (utf8_rules.h), also where a sequence is ill-formed
 *     low bytes    .  .  AC   41   .  E9           of the code point that ends here, if one does: this byte, and the one before
 *     high bytes   .  .  20   00   .  00           the one before and the one before that, loaded from one and two bytes further left
 *     compressed   AC 41 E9 | 20 00 00             vpcompressb, twice (thrice if there are four-byte sequences)
 *     woven        20AC 0041 00E9                  vpermt2b to 16 or 32 bits, in either byte order
 *
 * Assembling code points where they stand costs a few operations a window; to gather their bytes behind the compression, 16 at a time, took
 * seven operations for each 16. A surrogate pair is two code units that end one byte apart, so UTF-16 needs no second expansion.
 * Encoding is in utf8_avx512_encode.c.
 *
 * Source: Keiser and Lemire, Validating UTF-8 in less than one instruction per byte, 2021; Clausecker and Lemire, Transcoding Unicode
 * characters with AVX-512 instructions, 2023 (compression; here without a dependence from one window to the next). */
#if defined(__x86_64__)

#include <immintrin.h>

#include "utf8_kernels.h"

#if defined(__clang__)
#pragma clang attribute push(                                                                                           \
    __attribute__((target("avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vbmi,avx512vbmi2"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vbmi,avx512vbmi2")
#endif

static inline __m512i load(const void *p) { return _mm512_loadu_si512(p); }
static inline __m512i bytes_of(int byte) { return _mm512_set1_epi8((char)byte); }
/* mask ? a : b, bit by bit */
static inline __m512i select_bits(__m512i mask, __m512i a, __m512i b) { return _mm512_ternarylogic_epi64(mask, a, b, 0xCA); }

/* ---- classes ----------------------------------------------------------------------------------------------------------------- */

/* Ranges of second bytes, a bit each: 80..8F, 90..9F, A0..BF. */
enum { LOW = 1, MIDDLE = 2, UPPER = 4, ANY = LOW | MIDDLE | UPPER };

/* By the lower six bits of C0..FF: the ranges that the second byte may be in. */
/* clang-format off */
#define FOUR(x) x, x, x, x
#define TWELVE(x) FOUR(x), FOUR(x), FOUR(x)
static const uint8_t second_ranges[64] __attribute__((aligned(64))) = {
    0, 0, ANY, ANY, TWELVE(ANY), TWELVE(ANY), FOUR(ANY),                   /* C0, C1 | C2..DF */
    UPPER, TWELVE(ANY), LOW | MIDDLE, ANY, ANY,                            /* E0 | E1..EC | ED | EE, EF */
    MIDDLE | UPPER, ANY, ANY, ANY, LOW, 0, 0, 0, FOUR(0), FOUR(0),         /* F0 | F1..F3 | F4 | F5..FF */
};
/* The ranges that it may *not* be in. */
static const uint8_t wrong_ranges[64] __attribute__((aligned(64))) = {
    ANY, ANY, 0, 0, TWELVE(0), TWELVE(0), FOUR(0),
    LOW | MIDDLE, TWELVE(0), UPPER, 0, 0,
    LOW, 0, 0, 0, MIDDLE | UPPER, ANY, ANY, ANY, FOUR(ANY), FOUR(ANY),
};
/* clang-format on */

/* The window of 64 bytes at p; byte p[64] is looked at too. */
ALWAYS_INLINE struct utf8_classes classify(const uint8_t *p, __m512i b, uint64_t high) {
    const __m512i ranges = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, LOW, MIDDLE, UPPER, UPPER, 0, 0, 0, 0));
    const uint64_t lead = _mm512_cmpge_epu8_mask(b, bytes_of(0xC0));
    const __m512i may = _mm512_maskz_permutexvar_epi8(lead, b, load(second_ranges));
    const __m512i next = _mm512_and_si512(_mm512_srli_epi16(load(p + 1), 4), bytes_of(0x0F));
    return (struct utf8_classes){
        .high = high,
        .lead = lead,
        .from_e0 = _mm512_cmpge_epu8_mask(b, bytes_of(0xE0)),
        .from_f0 = _mm512_cmpge_epu8_mask(b, bytes_of(0xF0)),
        .second = _mm512_test_epi8_mask(may, _mm512_shuffle_epi8(ranges, next)),
    };
}

/* ---- decode ------------------------------------------------------------------------------------------------------------------ */

/* Code units by byte: low, high, and for UTF-32 what is above 16 bits. */
struct planes {
    __m512i low, high, top;
};

/* The code point that ends at each byte of the window at p, wherever one does. */
ALWAYS_INLINE struct planes assemble(const uint8_t *p, __m512i b, const struct utf8_ends *ends, uint64_t high) {
    const __m512i b1 = _mm512_maskz_loadu_epi8(high, p - 1);
    const __m512i b2 = _mm512_maskz_loadu_epi8(ends->of_3 | ends->of_4, p - 2);
    const __m512i from_b1 = _mm512_and_si512(_mm512_slli_epi16(b1, 6), bytes_of(0xC0));
    return (struct planes){
        .low = _mm512_or_si512(_mm512_and_si512(b, bytes_of(0x7F)), from_b1),
        .high = select_bits(bytes_of(0x0F), _mm512_srli_epi16(b1, 2), _mm512_slli_epi16(b2, 4)),
        .top = _mm512_setzero_si512(),
    };
}

ALWAYS_INLINE __m512i assemble_top(const uint8_t *p, uint64_t of_4) {
    const __m512i b2 = _mm512_maskz_loadu_epi8(of_4, p - 2), b3 = _mm512_maskz_loadu_epi8(of_4, p - 3);
    const __m512i low = _mm512_and_si512(_mm512_srli_epi16(b2, 4), bytes_of(0x03));
    return _mm512_or_si512(low, _mm512_and_si512(_mm512_slli_epi16(b3, 2), bytes_of(0x1C)));
}

/* Makes surrogate pairs of the four-byte sequences: the low one where the sequence ends, the high one at the byte before.
 * high = D800 + (code >> 10) - 40, where code >> 10 is three bits of the first byte, six of the second, two of the third. */
ALWAYS_INLINE void assemble_surrogates(struct planes *planes, const uint8_t *p, __m512i b, uint64_t of_4) {
    const uint64_t third = of_4 >> 1;
    const __m512i b1 = load(p - 1), b2 = load(p - 2);
    const __m512i low_high = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi16(b1, 2), bytes_of(0x03)), bytes_of(0xDC));
    planes->high = _mm512_mask_mov_epi8(planes->high, of_4, low_high);

    const __m512i bits = select_bits(bytes_of(0x03), _mm512_srli_epi16(b, 4), _mm512_and_si512(_mm512_slli_epi16(b1, 2), bytes_of(0xFC)));
    const uint64_t borrow = _mm512_cmplt_epu8_mask(bits, bytes_of(0x40));
    const __m512i prefix = _mm512_add_epi8(_mm512_and_si512(b2, bytes_of(0x07)), bytes_of(0xD8));
    planes->low = _mm512_mask_sub_epi8(planes->low, third, bits, bytes_of(0x40));
    planes->high = _mm512_mask_mov_epi8(planes->high, third, _mm512_mask_sub_epi8(prefix, borrow, prefix, bytes_of(1)));
}

/* Weaves the first k bytes of compressed planes into code units. */

/* Indices for vpermt2b: byte i of the first operand is i, of the second 64 + i. */
#define PAIR_LE(i)    (char)(i), (char)(64 + (i))
#define PAIR_BE(i)    (char)(64 + (i)), (char)(i)
#define QUAD(i)       (char)(i), (char)(64 + (i)), (char)(i), 0
#define EIGHT(X, i)   X(i), X((i) + 1), X((i) + 2), X((i) + 3), X((i) + 4), X((i) + 5), X((i) + 6), X((i) + 7)
#define SIXTEEN(X, i) EIGHT(X, i), EIGHT(X, (i) + 8)

static const char weave_le[64] __attribute__((aligned(64))) = {SIXTEEN(PAIR_LE, 0), SIXTEEN(PAIR_LE, 16)};
static const char weave_be[64] __attribute__((aligned(64))) = {SIXTEEN(PAIR_BE, 0), SIXTEEN(PAIR_BE, 16)};
static const char weave_quads[64] __attribute__((aligned(64))) = {SIXTEEN(QUAD, 0)};

ALWAYS_INLINE void store_utf16(uint16_t *out, __m512i low, __m512i high, unsigned k, bool big_endian) {
    const __m512i first = load(big_endian ? weave_be : weave_le), second = _mm512_add_epi8(first, bytes_of(32));
    _mm512_storeu_si512(out, _mm512_permutex2var_epi8(low, first, high));
    if (k > 32) _mm512_storeu_si512(out + 32, _mm512_permutex2var_epi8(low, second, high));
}

ALWAYS_INLINE __m512i weave_utf32(struct planes planes, int quarter, bool has_top) {
    const __m512i at = _mm512_add_epi8(load(weave_quads), bytes_of(16 * quarter));
    const __m512i codes = _mm512_maskz_permutex2var_epi8(0x3333333333333333, planes.low, at, planes.high);
    return has_top ? _mm512_mask_permutexvar_epi8(codes, 0x4444444444444444, at, planes.top) : codes;
}

ALWAYS_INLINE void store_utf32(uint32_t *out, struct planes planes, unsigned k, bool has_top) {
    _mm512_storeu_si512(out, weave_utf32(planes, 0, has_top));
    _mm512_storeu_si512(out + 16, weave_utf32(planes, 1, has_top));
    if (k <= 27) return; /* 32 would do, but is what Russian comes to, now more, now less */
    _mm512_storeu_si512(out + 32, weave_utf32(planes, 2, has_top));
    _mm512_storeu_si512(out + 48, weave_utf32(planes, 3, has_top));
}

/* 64 bytes of ASCII. */
ALWAYS_INLINE void store_ascii(void *out, __m512i b, upsweep_encoding to) {
    const struct planes planes = {b, _mm512_setzero_si512(), _mm512_setzero_si512()};
    uint32_t *codes = out;
    if (to != UPSWEEP_UTF32) {
        store_utf16(out, planes.low, planes.high, 64, to == UPSWEEP_UTF16BE);
        return;
    }
    _mm512_storeu_si512(codes, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(b)));
    _mm512_storeu_si512(codes + 16, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(b, 1)));
    _mm512_storeu_si512(codes + 32, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(b, 2)));
    _mm512_storeu_si512(codes + 48, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(b, 3)));
}

/* The window at p, of which the bits `owned` count; returns the number of code units. *found_bad becomes true if there are any ill-formed
 * sequences; wary: that is expected. */
ALWAYS_INLINE size_t decode_window(void *out, const uint8_t *p, uint64_t owned, bool replace, struct utf8_bad *bad, size_t at,
                                   upsweep_encoding to, bool wary, bool *found_bad) {
    const __m512i b = load(p);
    const uint64_t high = _mm512_movepi8_mask(b);
    const struct utf8_ends ends = utf8_find_ends(classify(p, b, high), wary);
    struct planes planes = assemble(p, b, &ends, high);
    *found_bad = utf8_take_bad(bad, &ends, owned, at, wary);
    uint64_t emit = ends.ascii | ends.of_2 | ends.of_3 | ends.of_4;
    if (to == UPSWEEP_UTF32 && ends.of_4 != 0) planes.top = assemble_top(p, ends.of_4);
    if (to != UPSWEEP_UTF32 && ends.of_4 != 0) {
        assemble_surrogates(&planes, p, b, ends.of_4);
        emit |= ends.of_4 >> 1;
    }
    if (replace && (wary || ends.bad != 0)) {
        planes.low = _mm512_mask_mov_epi8(planes.low, ends.bad, bytes_of(0xFD));
        planes.high = _mm512_mask_mov_epi8(planes.high, ends.bad, bytes_of(0xFF));
        emit |= ends.bad;
    }
    emit &= owned;
    const unsigned k = (unsigned)_mm_popcnt_u64(emit);
    planes.low = _mm512_maskz_compress_epi8(emit, planes.low);
    planes.high = _mm512_maskz_compress_epi8(emit, planes.high);
    if (to != UPSWEEP_UTF32) {
        store_utf16(out, planes.low, planes.high, k, to == UPSWEEP_UTF16BE);
    } else if (ends.of_4 == 0) {
        store_utf32(out, planes, k, false);
    } else {
        planes.top = _mm512_maskz_compress_epi8(emit, planes.top);
        store_utf32(out, planes, k, true);
    }
    return k;
}

ALWAYS_INLINE unsigned char *decode_warily_to(unsigned char *end, const uint8_t *in, size_t *at, size_t n, bool replace,
                                              struct utf8_bad *bad, upsweep_encoding to) {
    size_t i = *at;
    bool is_bad;
    for (uint32_t recent = UTF8_WARY; recent != 0 && i < n; i += UTF8_OWNED) {
        const size_t k = decode_window(end, in + i - UTF8_BEFORE, utf8_owned(n - i), replace, bad, i, to, true, &is_bad);
        end += k * (to == UPSWEEP_UTF32 ? 4 : 2);
        recent = recent >> 1 | (is_bad ? UTF8_WARY : 0);
    }
    *at = i;
    return end;
}

/* Behind an ill-formed sequence at *at: without a branch on whether a window is good, until some in a row have been. Apart from decode(),
 * whose loop is a tenth slower with this in it. Returns where the output ends. */
static __attribute__((noinline)) unsigned char *decode_warily(unsigned char *end, const uint8_t *in, size_t *at, size_t n, bool replace,
                                                              struct utf8_bad *bad, upsweep_encoding to) {
    if (to == UPSWEEP_UTF16LE) return decode_warily_to(end, in, at, n, replace, bad, UPSWEEP_UTF16LE);
    if (to == UPSWEEP_UTF16BE) return decode_warily_to(end, in, at, n, replace, bad, UPSWEEP_UTF16BE);
    return decode_warily_to(end, in, at, n, replace, bad, UPSWEEP_UTF32);
}

ALWAYS_INLINE size_t decode(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad, upsweep_encoding to) {
    const size_t unit_nbytes = to == UPSWEEP_UTF32 ? 4 : 2;
    unsigned char *end = out;
    for (size_t i = 0; i < n;) {
        const __m512i b = load(in + i);
        if (n - i >= 64 && _mm512_movepi8_mask(b) == 0) { /* what began before i has ended there, and been written */
            store_ascii(end, b, to);
            end += 64 * unit_nbytes;
            i += 64;
            continue;
        }
        bool is_bad;
        end += unit_nbytes * decode_window(end, in + i - UTF8_BEFORE, utf8_owned(n - i), replace, bad, i, to, false, &is_bad);
        i += UTF8_OWNED;
        if (is_bad) end = decode_warily(end, in, &i, n, replace, bad, to);
    }
    return (size_t)(end - (unsigned char *)out) / unit_nbytes;
}

static size_t decode_utf32(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad) {
    return replace ? decode(out, in, n, true, bad, UPSWEEP_UTF32) : decode(out, in, n, false, bad, UPSWEEP_UTF32);
}
static size_t decode_utf16le(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad) {
    return replace ? decode(out, in, n, true, bad, UPSWEEP_UTF16LE) : decode(out, in, n, false, bad, UPSWEEP_UTF16LE);
}
static size_t decode_utf16be(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad) {
    return replace ? decode(out, in, n, true, bad, UPSWEEP_UTF16BE) : decode(out, in, n, false, bad, UPSWEEP_UTF16BE);
}

/* ---- measure ----------------------------------------------------------------------------------------------------------------- */

static inline bool is_ascii_256(const uint8_t *p) {
    const __m512i first = _mm512_or_si512(load(p), load(p + 64)), second = _mm512_or_si512(load(p + 128), load(p + 192));
    return _mm512_movepi8_mask(_mm512_or_si512(first, second)) == 0;
}

/* Counts the sequences that begin, and those of four bytes that end, in the 64 bytes at p, if these are well-formed as far as they go; else
 * returns false. Continuations are where the three bytes before want them, and nowhere else, and second bytes are in their range. */
ALWAYS_INLINE bool measure_good_64(const uint8_t *p, struct utf8_good *good) {
    const __m512i ranges = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, LOW, MIDDLE, UPPER, UPPER, 0, 0, 0, 0));
    const __m512i b = load(p), b1 = load(p - 1);
    const __mmask64 lead = _mm512_cmpge_epu8_mask(b1, bytes_of(0xC0)), of_4 = _mm512_cmpge_epu8_mask(load(p - 3), bytes_of(0xF0));
    const __mmask64 wanted = lead | _mm512_cmpge_epu8_mask(load(p - 2), bytes_of(0xE0)) | of_4;
    const __mmask64 there = _mm512_cmplt_epi8_mask(b, bytes_of(0xC0));
    const __m512i wrong = _mm512_maskz_permutexvar_epi8(lead, b1, load(wrong_ranges));
    const __m512i range = _mm512_shuffle_epi8(ranges, _mm512_and_si512(_mm512_srli_epi16(b, 4), bytes_of(0x0F)));
    if (((there ^ wanted) | _mm512_test_epi8_mask(wrong, range)) != 0) return false;
    good->sequences += 64 - (uint64_t)_mm_popcnt_u64(there);
    good->of_4 += (uint64_t)_mm_popcnt_u64(of_4);
    return true;
}

/* The bytes before in[i] that begin a sequence without ending it, if all is well there. */
static inline size_t open_bytes(const uint8_t *in, size_t i) {
    return in[i - 1] >= 0xC0 ? 1 : in[i - 2] >= 0xE0 ? 2 : in[i - 3] >= 0xF0 ? 3 : 0;
}

/* Bytes of a well-formed sequence before p, which is one of its continuation bytes; 0 if it is none. At least four bytes from p on are
 * there. */
static inline size_t bytes_begun(const uint8_t *p) {
    const size_t back = !utf8_is_continuation(p[-1]) ? 1 : !utf8_is_continuation(p[-2]) ? 2 : 3;
    bool good;
    return utf8_sequence(p - back, 4, &good) > back && good ? back : 0;
}

/* Counts what is in in [i, n), sequences where they end, until something is ill-formed or fewer than 64 bytes are left. Returns where that
 * is: at the beginning of a sequence, if it came any further than i. Begins where a sequence does, maybe before i: measure_good_64() looks
 * no further back than for what the bytes before it want, and ill-formed ones may want what is none of theirs; but not if a continuation
 * byte that they want is missing. */
static size_t measure_good(const uint8_t *in, const size_t i, size_t n, struct utf8_good *good) {
    const size_t begun = utf8_is_continuation(in[i]) ? bytes_begun(in + i) : 0;
    if (utf8_is_continuation(in[i]) && begun == 0) return i;
    if (i < begun + UTF8_BEFORE && begun > 0) return i; /* too little is there before it */
    const size_t start = i - begun;
    size_t end = start;
    for (;;) {
        if (n - end >= 256 && (in + end)[-1] < 0x80 && is_ascii_256(in + end)) {
            good->sequences += 256;
            end += 256;
        } else if (n - end >= 64 && measure_good_64(in + end, good)) {
            end += 64;
        } else {
            break;
        }
    }
    if (end == start) return i;
    const size_t nopen = open_bytes(in, end);
    good->sequences -= nopen > 0;
    return end - nopen;
}

static size_t measure_window(const uint8_t *in, size_t i, size_t n, struct utf8_good *good, struct utf8_bad *bad) {
    const uint8_t *p = in + i - UTF8_BEFORE;
    const __m512i b = load(p);
    const uint64_t owned = utf8_owned(n - i);
    const struct utf8_ends ends = utf8_find_ends(classify(p, b, _mm512_movepi8_mask(b)), true);
    good->sequences += (uint64_t)_mm_popcnt_u64((ends.ascii | ends.of_2 | ends.of_3 | ends.of_4) & owned);
    good->of_4 += (uint64_t)_mm_popcnt_u64(ends.of_4 & owned);
    utf8_take_bad(bad, &ends, owned, i, true);
    return i + UTF8_OWNED;
}

/* Well-formed text in long strides; where that fails, four windows of the slower kind, so that garbage is not looked at twice. */
static struct utf8_good measure(const uint8_t *in, size_t n, struct utf8_bad *bad) {
    struct utf8_good good = {0, 0};
    for (size_t i = 0; i < n;) {
        if (n - i >= 64) i = measure_good(in, i, n, &good);
        for (int window = 0; window < 4 && i < n; window++) i = measure_window(in, i, n, &good, bad);
    }
    return good;
}

const struct utf8_kernels utf8_kernels_avx512 = {
    .decode = {decode_utf32, decode_utf16le, decode_utf16be},
    .measure = measure,
    .encode = utf8_encode_avx512,
    .widen = utf16_widen_avx512,
};

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#else
typedef int utf8_avx512_is_for_x86; /* ISO C wants a declaration in every file */
#endif
