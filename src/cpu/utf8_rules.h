/* utf8_rules.h: what is well-formed UTF-8, once as a function of one sequence and once as masks of 64 bytes.
 *
 *     00..7F | C2..DF 80..BF | E0 A0..BF 80..BF | E1..EC 80..BF x2 | ED 80..9F 80..BF | EE..EF 80..BF x2
 *     F0 90..BF 80..BF x2 | F1..F3 80..BF x3 | F4 80..8F 80..BF x2                          (Unicode Standard, table 3-7)
 *
 * Text is a row of sequences: well-formed ones, and of what is left the longest beginnings of well-formed ones ("maximal subparts") or else
 * single bytes. Where the sequences are cut depends on three bytes before a place and one after it, never on how the text began:
 *
 *     - a lead byte always begins a sequence; a continuation byte does not if it is *covered*: it follows a lead byte that takes it as its
 *       second byte, or a lead of three or four and a good second byte, or a lead of four, a good second and a continuation;
 *     - a sequence ends where the next byte is not covered, and is well-formed if it is as long as its lead byte says.
 *
 * So the text can be cut at any byte and worked on in any order, 64 bytes at a time. A character is written where its sequence ends. */
#ifndef UPSWEEP_UTF8_RULES_H
#define UPSWEEP_UTF8_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- one sequence ------------------------------------------------------------------------------------------------------------ */

static inline bool utf8_is_continuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

/* Bytes that a sequence with this first byte should have; 0: no sequence begins with it. */
static inline size_t utf8_length_of_lead(uint8_t byte) {
    if (byte < 0x80) return 1;
    if (byte < 0xC2 || byte > 0xF4) return 0;
    return byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/* May `second` follow `lead`, which is one of C2..F4? E0 and F0 shut out overlong forms, ED surrogates, F4 what is above 10FFFF. */
static inline bool utf8_is_second(uint8_t lead, uint8_t second) {
    const uint8_t lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80, highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    return second >= lowest && second <= highest;
}

/* The length of the sequence that begins at p, of which avail > 0 bytes are there; *good: it is well-formed. */
static inline size_t utf8_sequence(const uint8_t *p, size_t avail, bool *good) {
    const size_t wanted = utf8_length_of_lead(p[0]);
    *good = wanted == 1;
    if (wanted < 2 || avail < 2 || !utf8_is_second(p[0], p[1])) return 1;
    size_t length = 2;
    while (length < wanted && length < avail && utf8_is_continuation(p[length])) length++;
    *good = length == wanted;
    return length;
}

/* The code point of a well-formed sequence. */
static inline uint32_t utf8_code_point(const uint8_t *p, size_t length) {
    if (length == 1) return p[0];
    uint32_t code = p[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) code = code << 6 | (p[i] & 0x3Fu);
    return code;
}

/* The last place at or before in[at], at < n, where a sequence begins. */
static inline size_t utf8_cut(const uint8_t *in, size_t n, size_t at) {
    for (size_t back = 1; utf8_is_continuation(in[at]) && back <= 3 && back <= at; back++) {
        const size_t start = at - back;
        if (utf8_is_continuation(in[start])) continue;
        bool good;
        return utf8_sequence(in + start, n - start < 4 ? n - start : 4, &good) > back ? start : at;
    }
    return at;
}

/* The bytes before in[i] that begin a sequence without ending it, if all is well there. */
static inline size_t utf8_open(const uint8_t *in, size_t i) {
    if (i == 0 || in[i - 1] < 0x80) return 0;
    return in[i - 1] >= 0xC0 ? 1 : i > 1 && in[i - 2] >= 0xE0 ? 2 : i > 2 && in[i - 3] >= 0xF0 ? 3 : 0;
}

/* ---- 64 bytes at a time ------------------------------------------------------------------------------------------------------ */

/* Bit i says something about byte i of a window. Of the results, bits 3 to 62 are right: byte 3 is the first with three before it, 62 the
 * last with one after it. So a window is good for 60 bytes. */
enum { UTF8_BEFORE = 3, UTF8_OWNED = 60 };
#define UTF8_OWNED_BITS (((uint64_t)1 << UTF8_OWNED) - 1)

/* What a kernel compares for. */
struct utf8_classes {
    uint64_t high;                   /* 80..FF */
    uint64_t lead, from_e0, from_f0; /* C0..FF, E0..FF, F0..FF */
    uint64_t second;                 /* C2..F4 with a good second byte behind it */
};

/* Ends of sequences. */
struct utf8_ends {
    uint64_t ascii, of_2, of_3, of_4; /* well-formed ones */
    uint64_t bad;                     /* ill-formed ones */
    uint64_t bad_2, bad_3;            /* those of two or three bytes, of three */
};

/* Is all of a window well-formed, as far as can be seen? Every lead byte has its second, and continuations are where lead bytes want them
 * and nowhere else, from byte 3 on. Asks about byte 63 too: whether byte 62 ends its sequence depends on it. */
static inline __attribute__((always_inline)) bool utf8_is_good(struct utf8_classes c) {
    const uint64_t wanted = c.lead << 1 | c.from_e0 << 2 | c.from_f0 << 3, there = c.high & ~c.lead;
    return ((c.lead & ~c.second) | (wanted & ~there) | (there & ~wanted) >> UTF8_BEFORE) == 0;
}

/* Whatever the window holds. */
static inline __attribute__((always_inline)) struct utf8_ends utf8_find_any_ends(struct utf8_classes c) {
    const uint64_t continuation = c.high & ~c.lead, next = continuation >> 1;
    const uint64_t long_lead = c.second & c.from_e0, longest_lead = c.second & c.from_f0;
    const uint64_t covered_2 = c.second << 1;
    const uint64_t covered_3 = continuation & long_lead << 2;
    const uint64_t third_of_4 = continuation & longest_lead << 2;
    const uint64_t covered_4 = continuation & third_of_4 << 1;
    const uint64_t bad_2 = long_lead << 1 & ~next, bad_3 = third_of_4 & ~next;
    return (struct utf8_ends){
        .ascii = ~c.high,
        .of_2 = (c.second & ~c.from_e0) << 1,
        .of_3 = covered_3 & ~third_of_4,
        .of_4 = covered_4,
        .bad = (c.lead & ~c.second) | bad_2 | bad_3 | (continuation & ~(covered_2 | covered_3 | covered_4)),
        .bad_2 = bad_2 | bad_3,
        .bad_3 = bad_3,
    };
}

/* The same, with half of the work if all is good. Where that changes from window to window, the branch costs more than all of the work. */
static inline __attribute__((always_inline)) struct utf8_ends utf8_find_ends(struct utf8_classes c) {
    if (!__builtin_expect(utf8_is_good(c), 1)) return utf8_find_any_ends(c);
    const uint64_t of_4 = c.from_f0 << 3;
    return (struct utf8_ends){.ascii = ~c.high, .of_2 = (c.lead & ~c.from_e0) << 1, .of_3 = (c.from_e0 & ~c.from_f0) << 2, .of_4 = of_4};
}

#endif
