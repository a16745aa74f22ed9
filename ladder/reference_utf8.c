/* reference_utf8.c: what the rungs on text are compared with: the decoder of the WHATWG Encoding Standard, a state machine that takes one
 * byte after the other and shares no idea with rungs that look around each byte; and an encoder that writes byte by byte.
 *
 * Source: https://encoding.spec.whatwg.org/#utf-8-decoder. */
#include "rungs.h"

enum { REPLACEMENT = 0xFFFD };

struct decoder {
    int32_t code;
    int needed;           /* continuation bytes that are still to come */
    uint8_t lower, upper; /* what the next one may be */
};

/* Begins a sequence; false: none begins so. */
static bool begin(struct decoder *d, uint8_t byte) {
    *d = (struct decoder){.lower = 0x80, .upper = 0xBF};
    if (byte >= 0xC2 && byte <= 0xDF) {
        d->needed = 1;
        d->code = byte & 0x1F;
    } else if (byte >= 0xE0 && byte <= 0xEF) {
        d->needed = 2;
        d->code = byte & 0x0F;
        if (byte == 0xE0) d->lower = 0xA0;
        if (byte == 0xED) d->upper = 0x9F;
    } else if (byte >= 0xF0 && byte <= 0xF4) {
        d->needed = 3;
        d->code = byte & 0x07;
        if (byte == 0xF0) d->lower = 0x90;
        if (byte == 0xF4) d->upper = 0x8F;
    }
    return d->needed > 0;
}

uint64_t ladder_reference_utf8_decode(const struct ladder_job *job, int32_t *expected) {
    const uint8_t *in = (const uint8_t *)job->in;
    struct decoder d = {0};
    uint64_t count = 0;
    for (uint64_t i = 0; i < job->n; i++) {
        if (d.needed > 0 && in[i] >= d.lower && in[i] <= d.upper) {
            d.code = d.code << 6 | (in[i] & 0x3F);
            d.lower = 0x80;
            d.upper = 0xBF;
            if (--d.needed == 0) expected[count++] = d.code;
            continue;
        }
        if (d.needed > 0) expected[count++] = REPLACEMENT; /* what was begun ends here; the byte is looked at anew */
        d.needed = 0;
        if (in[i] < 0x80) {
            expected[count++] = in[i];
        } else if (!begin(&d, in[i])) {
            expected[count++] = REPLACEMENT;
        }
    }
    if (d.needed > 0) expected[count++] = REPLACEMENT;
    return count;
}

uint64_t ladder_reference_utf8_encode(const struct ladder_job *job, int32_t *expected) {
    uint8_t *out = (uint8_t *)expected;
    uint64_t k = 0;
    for (uint64_t i = 0; i < job->n; i++) {
        uint32_t code = (uint32_t)job->in[i];
        if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) code = REPLACEMENT;
        if (code >= 0x10000) {
            out[k++] = (uint8_t)(0xF0 | code >> 18);
            out[k++] = (uint8_t)(0x80 | (code >> 12 & 0x3F));
        } else if (code >= 0x800) {
            out[k++] = (uint8_t)(0xE0 | code >> 12);
        }
        if (code >= 0x800) out[k++] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        if (code >= 0x80 && code < 0x800) out[k++] = (uint8_t)(0xC0 | code >> 6);
        out[k++] = (uint8_t)(code < 0x80 ? code : 0x80 | (code & 0x3F));
    }
    while (k % 4 != 0) out[k++] = 0;
    return k / 4;
}
