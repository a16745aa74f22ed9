/* utf8_portable_measure.c: what is in UTF-8, in plain C: utf8_avx2_measure.c with comparisons instead of lookups, as few processors have
 * those; well-formed text takes some two operations a byte. */
#include "utf8_portable_window.h"

/* ---- well-formed text -------------------------------------------------------------------------------------------------------- */

/* Not zero where something is wrong with the 16 bytes at p, given the three before it. */
ALWAYS_INLINE bytes16 wrong_bytes(const uint8_t *p) {
    const bytes16 b = load(p), b1 = load(p - 1), b2 = load(p - 2), b3 = load(p - 3);
    const bytes16 wanted = is_at_least(b1, 0xC0) | is_at_least(b2, 0xE0) | is_at_least(b3, 0xF0);
    const bytes16 below_a0 = (bytes16)((signed16)b < (int8_t)0xA0), below_90 = (bytes16)((signed16)b < (int8_t)0x90);
    const bytes16 overlong = (bytes16)(b1 == 0xE0) & below_a0, surrogate = (bytes16)(b1 == 0xED) & ~below_a0;
    const bytes16 overlong_4 = (bytes16)(b1 == 0xF0) & below_90, too_large = (bytes16)(b1 == 0xF4) & ~below_90;
    const bytes16 never = (bytes16)((b & 0xFE) == 0xC0) | is_at_least(b, 0xF5);
    return (wanted ^ is_continuation(b)) | overlong | surrogate | overlong_4 | too_large | never;
}

/* The sum of 16 counts. */
static inline uint64_t sum_of(bytes16 counts) {
    const halves8 pairs = ((halves8)counts & 0xFF) + ((halves8)counts >> 8);
    const words2 words = (words2)pairs;
    return ((words[0] + words[1]) * UINT64_C(0x0001000100010001)) >> 48;
}

/* As utf8_measure_tmpl.h says. */
ALWAYS_INLINE bool measure_well(const uint8_t *p, size_t nbytes, struct utf8_good *good) {
    bytes16 wrong = {0}, continuations = {0}, of_4 = {0};
    for (size_t i = 0; i < nbytes; i += 16) {
        wrong |= wrong_bytes(p + i);
        continuations -= is_continuation(load(p + i));
        of_4 -= is_at_least(load(p + i - 3), 0xF0);
    }
    const words2 any = (words2)wrong;
    if ((any[0] | any[1]) != 0) return false;
    good->sequences += nbytes - sum_of(continuations);
    good->of_4 += sum_of(of_4);
    return true;
}

static inline bool is_ascii_256(const uint8_t *p) {
    bytes16 any = load(p);
    for (size_t i = 16; i < 256; i += 16) any |= load(p + i);
    const words2 words = (words2)any;
    return ((words[0] | words[1]) & HIGH_BITS) == 0;
}

/* ---- all text ---------------------------------------------------------------------------------------------------------------- */

static inline struct utf8_ends ends_at(const uint8_t *p) { return utf8_find_any_ends(classify(p)); }

#include "utf8_measure_edge_tmpl.h"

#include "utf8_measure_tmpl.h"

struct utf8_good utf8_measure_portable(const uint8_t *in, size_t n, struct utf8_bad *bad) {
    return measure(in, n, bad);
}
