/* utf8_portable_window.h: windows of 64 bytes in plain C, without comparisons: the bits of the bytes themselves.
 *
 *     4 vectors of 16 bytes  ->  in each 8 bytes, bits and bytes change places  ->  bytes are dealt out  ->  8 planes of 64 bits
 *
 * Bit i of plane k is bit k of byte i. The classes of utf8_rules.h are then some logic on planes for 64 bytes at once. Vectors are those of
 * the compilers' C, 16 bytes as in every processor that has any (SSE2, NEON), and nothing that not all of these can do. */
#ifndef UPSWEEP_UTF8_PORTABLE_WINDOW_H
#define UPSWEEP_UTF8_PORTABLE_WINDOW_H

#include "utf8_edge.h"

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef int8_t signed16 __attribute__((vector_size(16)));
typedef uint16_t halves8 __attribute__((vector_size(16)));
typedef uint64_t words2 __attribute__((vector_size(16)));

ALWAYS_INLINE bytes16 load(const uint8_t *p) {
    bytes16 bytes;
    memcpy(&bytes, p, sizeof bytes);
    return bytes;
}

/* Bytes of a and b, which are 0 to 15 and 16 to 31. gcc knows clang's way since version 12. */
#ifdef __clang__
#define BYTES_OF(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define BYTES_OF(a, b, ...) __builtin_shuffle(a, b, (bytes16){__VA_ARGS__})
#endif

#define HIGH_BITS UINT64_C(0x8080808080808080)

ALWAYS_INLINE bool is_ascii_8(const uint8_t *p) {
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return (word & HIGH_BITS) == 0;
}

ALWAYS_INLINE bool is_ascii_64(const uint8_t *p) {
    const words2 any = (words2)(load(p) | load(p + 16) | load(p + 32) | load(p + 48));
    return ((any[0] | any[1]) & HIGH_BITS) == 0;
}

ALWAYS_INLINE bytes16 is_at_least(bytes16 b, uint8_t least) { return (bytes16)(b >= least); }
ALWAYS_INLINE bytes16 is_continuation(bytes16 b) { return (bytes16)((signed16)b < -64); }

/* ---- planes ------------------------------------------------------------------------------------------------------------------ */

/* Words whose lowest byte is the first one in memory. */
ALWAYS_INLINE bytes16 little_endian(bytes16 words) {
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) return words;
    return BYTES_OF(words, words, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
}

/* Bit k of byte i becomes bit i of byte k, in each 8 bytes; in three rounds of swaps, of 1, 2 and 4 bits at a time. */
ALWAYS_INLINE bytes16 transpose_bits(bytes16 bytes) {
    words2 x = (words2)little_endian(bytes), swap;
    swap = (x ^ x >> 7) & UINT64_C(0x00AA00AA00AA00AA);
    x ^= swap ^ swap << 7;
    swap = (x ^ x >> 14) & UINT64_C(0x0000CCCC0000CCCC);
    x ^= swap ^ swap << 14;
    swap = (x ^ x >> 28) & UINT64_C(0x00000000F0F0F0F0);
    x ^= swap ^ swap << 28;
    return little_endian((bytes16)x);
}

ALWAYS_INLINE bytes16 interleave_low(bytes16 a, bytes16 b) {
    return BYTES_OF(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
ALWAYS_INLINE bytes16 interleave_high(bytes16 a, bytes16 b) {
    return BYTES_OF(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/* The window of 64 bytes at p as planes. A round deals every second byte of the window to either half of it: after three, those that are
 * eight apart are side by side. */
ALWAYS_INLINE void load_planes(uint64_t planes[8], const uint8_t *p) {
    bytes16 v[4], dealt[4];
    for (size_t i = 0; i < 4; i++) v[i] = transpose_bits(load(p + 16 * i));
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 2; i++) {
            dealt[2 * i] = interleave_low(v[i], v[i + 2]);
            dealt[2 * i + 1] = interleave_high(v[i], v[i + 2]);
        }
        memcpy(v, dealt, sizeof v);
    }
    for (size_t i = 0; i < 4; i++) v[i] = little_endian(v[i]);
    memcpy(planes, v, sizeof v);
}

/* The window of 64 bytes at p. The byte behind it counts as one that is no continuation, which bit 63 of `second` shows. */
ALWAYS_INLINE struct utf8_classes classify(const uint8_t *p) {
    uint64_t b[8];
    load_planes(b, p);
    const uint64_t lead = b[7] & b[6], from_e0 = lead & b[5], from_f0 = from_e0 & b[4], of_3 = from_e0 & ~b[4];
    const uint64_t next_is_continuation = (b[7] & ~b[6]) >> 1, next_a0 = b[5] >> 1, next_90 = (b[5] | b[4]) >> 1;
    const uint64_t zero = ~(b[3] | b[2] | b[1] | b[0]), is_ed = of_3 & b[3] & b[2] & ~b[1] & b[0];
    const uint64_t is_f4 = from_f0 & ~b[3] & b[2] & ~b[1] & ~b[0];
    const uint64_t c2_or_more = (lead & ~b[5] & (b[4] | b[3] | b[2] | b[1])) | of_3 | (from_f0 & ~b[3] & ~b[2]) | is_f4;
    const uint64_t out_of_range = (of_3 & zero & ~next_a0) | (is_ed & next_a0) | (from_f0 & zero & ~next_90) | (is_f4 & next_90);
    return (struct utf8_classes){
        .high = b[7],
        .lead = lead,
        .from_e0 = from_e0,
        .from_f0 = from_f0,
        .second = c2_or_more & next_is_continuation & ~out_of_range,
    };
}

#endif
