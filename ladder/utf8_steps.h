/* utf8_steps.h: what the steps of UTF-8 do to one byte, one sequence, one code point: for cpu_7_utf8_steps.c and gpu_utf8_steps.cu alike.
 *
 * Nothing here looks further than the three bytes before a byte: that is why every step can be done for all bytes at once. */
#ifndef UPSWEEP_LADDER_UTF8_STEPS_H
#define UPSWEEP_LADDER_UTF8_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define STEP_FUNCTION static __device__ inline
#else
#define STEP_FUNCTION static inline
#endif

enum { REPLACEMENT = 0xFFFD };

STEP_FUNCTION bool is_continuation(uint8_t byte) { return byte >= 0x80 && byte <= 0xBF; }

/* Bytes that a sequence should have; 0: none begins so. */
STEP_FUNCTION int length_of(uint8_t lead) {
    if (lead < 0x80) return 1;
    if (lead < 0xC2 || lead > 0xF4) return 0;
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* No overlong forms, no surrogates, nothing above 10FFFF: all that is decided by the second byte. */
STEP_FUNCTION bool is_second(uint8_t lead, uint8_t byte) {
    if (lead == 0xE0 && byte < 0xA0) return false;
    if (lead == 0xED && byte > 0x9F) return false;
    if (lead == 0xF0 && byte < 0x90) return false;
    if (lead == 0xF4 && byte > 0x8F) return false;
    return length_of(lead) >= 2 && is_continuation(byte);
}

/* Where byte i stands in its sequence, which the three bytes before it tell: a byte that continues nothing begins one. */
STEP_FUNCTION int32_t offset_of(const uint8_t *in, uint64_t i) {
    if (!is_continuation(in[i])) return 0;
    if (i >= 1 && is_second(in[i - 1], in[i])) return 1;
    if (i >= 2 && length_of(in[i - 2]) >= 3 && is_second(in[i - 2], in[i - 1])) return 2;
    if (i >= 3 && length_of(in[i - 3]) == 4 && is_second(in[i - 3], in[i - 2]) && is_continuation(in[i - 1])) return 3;
    return 0;
}

/* A sequence and zeros up to four bytes: a zero continues nothing, so it shows where the sequence was cut off. */
STEP_FUNCTION int32_t decode_group(const uint8_t group[4]) {
    const uint8_t payload[5] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    const int length = length_of(group[0]);
    if (length == 0 || (length > 1 && !is_continuation(group[length - 1]))) return REPLACEMENT;
    int32_t code = group[0] & payload[length];
    for (int i = 1; i < length; i++) code = code << 6 | (group[i] & 0x3F);
    return code;
}

/* The bytes of a code point, and zeros up to four; returns how many are used. */
STEP_FUNCTION int encode_group(uint8_t group[4], uint32_t code) {
    const uint8_t tags[5] = {0, 0x00, 0xC0, 0xE0, 0xF0};
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) code = REPLACEMENT;
    const int length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = 0; i < 4; i++) group[i] = 0;
    for (int i = length - 1; i > 0; i--, code >>= 6) group[i] = (uint8_t)(0x80 | (code & 0x3F));
    group[0] = (uint8_t)(tags[length] | code);
    return length;
}

#endif
