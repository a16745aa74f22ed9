/* utf8_oracle.c: see utf8_oracle.h. Nothing here is fast, and nothing is shared with the library. */
#include "utf8_oracle.h"

#include <stdlib.h>
#include <string.h>

#include "harness.h"

/* ---- sequences of the input -------------------------------------------------------------------------------------------------- */

struct sequence {
    uint64_t at, length;
    uint32_t code; /* if good */
    upsweep_text_error error;
};

struct sequences {
    struct sequence *items;
    size_t n;
    uint64_t unfinished; /* code units at the end that the decoder was still waiting to complete */
};

static void append(struct sequences *s, uint64_t at, uint64_t length, uint32_t code, upsweep_text_error error) {
    s->items[s->n++] = (struct sequence){at, length, code, error};
}

/* What is wrong with what begins at in[at], by table 3-7 of the Unicode Standard read backwards. */
static upsweep_text_error kind_of(const uint8_t *in, uint64_t at, uint64_t n) {
    const uint8_t b = in[at], next = at + 1 < n ? in[at + 1] : 0;
    const bool has_next = next >= 0x80 && next <= 0xBF;
    if (b < 0xC0) return UPSWEEP_TEXT_STRAY;
    if (b == 0xC0 || b == 0xC1 || (b == 0xE0 && has_next && next < 0xA0) || (b == 0xF0 && has_next && next < 0x90))
        return UPSWEEP_TEXT_OVERLONG;
    if (b == 0xED && has_next && next > 0x9F) return UPSWEEP_TEXT_SURROGATE;
    if (b > 0xF4 || (b == 0xF4 && has_next && next > 0x8F)) return UPSWEEP_TEXT_TOO_LARGE;
    return UPSWEEP_TEXT_TOO_SHORT;
}

/* What a first byte of more than one asks for: how many bytes behind it, and in what range the next one is; 0: it is none. */
struct lead {
    uint32_t needed, code;
    uint8_t lower, upper;
};

static struct lead lead_of(uint8_t byte) {
    if (byte >= 0xC2 && byte <= 0xDF) return (struct lead){1, byte & 0x1F, 0x80, 0xBF};
    if (byte >= 0xE0 && byte <= 0xEF) return (struct lead){2, byte & 0xF, byte == 0xE0 ? 0xA0 : 0x80, byte == 0xED ? 0x9F : 0xBF};
    if (byte >= 0xF0 && byte <= 0xF4) return (struct lead){3, byte & 0x7, byte == 0xF0 ? 0x90 : 0x80, byte == 0xF4 ? 0x8F : 0xBF};
    return (struct lead){0, 0, 0x80, 0xBF};
}

/* https://encoding.spec.whatwg.org/#utf-8-decoder, with the names of the standard. */
static void sequences_of_utf8(struct sequences *s, const uint8_t *in, uint64_t n) {
    uint32_t code = 0, seen = 0, needed = 0;
    uint8_t lower = 0x80, upper = 0xBF;
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t byte = in[i];
        if (needed == 0) {
            const struct lead lead = lead_of(byte);
            needed = lead.needed;
            code = lead.code;
            lower = lead.lower;
            upper = lead.upper;
            if (needed == 0) append(s, i, 1, byte <= 0x7F ? byte : 0, byte <= 0x7F ? UPSWEEP_TEXT_GOOD : kind_of(in, i, n));
            continue;
        }
        const bool in_range = byte >= lower && byte <= upper;
        lower = 0x80;
        upper = 0xBF;
        if (!in_range) {
            append(s, i - seen - 1, seen + 1, 0, kind_of(in, i - seen - 1, n));
            code = needed = seen = 0;
            i--; /* "prepend byte to stream" */
            continue;
        }
        code = code << 6 | (byte & 0x3F);
        if (++seen != needed) continue;
        append(s, i - seen, seen + 1, code, UPSWEEP_TEXT_GOOD);
        code = needed = seen = 0;
    }
    if (needed == 0) return;
    s->unfinished = seen + 1;
    append(s, n - seen - 1, seen + 1, 0, UPSWEEP_TEXT_TOO_SHORT);
}

static uint32_t unit_of_utf16(const unsigned char *in, uint64_t i, upsweep_encoding from) {
    return from == UPSWEEP_UTF16LE ? in[2 * i] | (uint32_t)in[2 * i + 1] << 8 : in[2 * i + 1] | (uint32_t)in[2 * i] << 8;
}

static void sequences_of_utf16(struct sequences *s, const void *in, uint64_t n, upsweep_encoding from) {
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t unit = unit_of_utf16(in, i, from), next = i + 1 < n ? unit_of_utf16(in, i + 1, from) : 0;
        if (unit < 0xD800 || unit > 0xDFFF) {
            append(s, i, 1, unit, UPSWEEP_TEXT_GOOD);
        } else if (unit <= 0xDBFF && next >= 0xDC00 && next <= 0xDFFF) {
            append(s, i++, 2, 0x10000 + (unit - 0xD800) * 0x400 + (next - 0xDC00), UPSWEEP_TEXT_GOOD);
        } else {
            append(s, i, 1, 0, UPSWEEP_TEXT_SURROGATE);
            s->unfinished = unit <= 0xDBFF && i + 1 == n;
        }
    }
}

static void sequences_of_utf32(struct sequences *s, const uint32_t *in, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        upsweep_text_error error = UPSWEEP_TEXT_GOOD;
        if (in[i] >= 0xD800 && in[i] <= 0xDFFF) error = UPSWEEP_TEXT_SURROGATE;
        if (in[i] > 0x10FFFF) error = UPSWEEP_TEXT_TOO_LARGE;
        append(s, i, 1, in[i], error);
    }
}

/* ---- output ------------------------------------------------------------------------------------------------------------------ */

static size_t put_utf16(unsigned char *out, uint32_t unit, bool big_endian) {
    out[big_endian] = (unsigned char)unit;
    out[!big_endian] = (unsigned char)(unit >> 8);
    return 1;
}

static size_t put_utf8(unsigned char *out, uint32_t code) {
    const size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char tags[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
    for (size_t i = 0; i < length; i++)
        out[i] = (unsigned char)((i == 0 ? tags[length] : 0x80) | (code >> 6 * (length - 1 - i) & (i == 0 ? 0x7F : 0x3F)));
    return length;
}

size_t oracle_put(void *out, uint32_t code, upsweep_encoding to) {
    const bool big_endian = to == UPSWEEP_UTF16BE;
    if (to == UPSWEEP_UTF8) return put_utf8(out, code);
    if (to == UPSWEEP_UTF32) {
        memcpy(out, &code, sizeof code);
        return 1;
    }
    if (code < 0x10000) return put_utf16(out, code, big_endian);
    put_utf16(out, 0xD800 + (code - 0x10000) / 0x400, big_endian);
    return 1 + put_utf16((unsigned char *)out + 2, 0xDC00 + code % 0x400, big_endian);
}

static struct sequences sequences_of(const void *in, uint64_t n, upsweep_encoding from) {
    struct sequences s = {.items = must_malloc((size_t)(n + 1) * sizeof *s.items)};
    if (from == UPSWEEP_UTF8) {
        sequences_of_utf8(&s, in, n);
    } else if (from == UPSWEEP_UTF32) {
        sequences_of_utf32(&s, in, n);
    } else {
        sequences_of_utf16(&s, in, n, from);
    }
    return s;
}

static void write_sequence(struct expected *e, struct sequence q, struct conversion c) {
    upsweep_utf8_report *r = &e->report;
    const size_t out_nbytes = upsweep_encoding_nbytes(c.to);
    if (q.error != UPSWEEP_TEXT_GOOD) {
        if (r->error_at == UINT64_MAX) {
            r->error_at = q.at;
            r->error = (uint32_t)q.error;
        }
        r->bad_sequences++;
        r->bad_units += q.length;
        if (c.options.on_error == UPSWEEP_REMOVE) return;
        q.code = 0xFFFD;
    }
    if (c.to == UPSWEEP_UTF32) e->map[r->needed] = c.options.map_base + q.at;
    r->needed += oracle_put(e->out + r->needed * out_nbytes, q.code, c.to);
}

struct expected oracle_utf8(const void *in, uint64_t n, struct conversion c) {
    struct sequences s = sequences_of(in, n, c.from);
    struct expected e = {.out = must_malloc(4 * (size_t)(n + 1)),
                         .map = must_malloc(8 * (size_t)(n + 1)),
                         .report = {.consumed = n, .error_at = UINT64_MAX}};
    size_t first = 0;
    if (c.options.skip_bom && s.n > 0 && s.items[0].error == UPSWEEP_TEXT_GOOD && s.items[0].code == 0xFEFF) first = 1;
    if (c.options.more && s.unfinished > 0) {
        s.n--;
        e.report.consumed -= s.unfinished;
    }
    for (size_t i = first; i < s.n; i++) {
        if (c.options.on_error == UPSWEEP_STRICT && s.items[i].error != UPSWEEP_TEXT_GOOD) {
            e.report.error_at = e.report.consumed = s.items[i].at;
            e.report.error = (uint32_t)s.items[i].error;
            e.report.status = UPSWEEP_ERR_ENCODING;
            break;
        }
        write_sequence(&e, s.items[i], c);
    }
    e.report.written = e.report.needed;
    free(s.items);
    return e;
}

void oracle_free(const struct expected *expected) {
    free(expected->out);
    free(expected->map);
}
