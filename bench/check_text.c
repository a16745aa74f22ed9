/* check_text.c: is a text converted right? Sequence by sequence, as the WHATWG Encoding Standard has it, on all cores.
 *
 * Blocks begin where a sequence begins for certain: at a byte that is no continuation, at a unit that is no low surrogate. First each block
 * counts what it becomes, then each knows where in the output to look. The same walk writes, for texts that are to be encoded. Nothing
 * is shared with the library, nor with its tests. Source: https://encoding.spec.whatwg.org/#utf-8-decoder. */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { REPLACEMENT = 0xFFFD, BAD_SEQUENCE = -1 };
enum job { COUNT_ONLY, WRITE, COMPARE };

struct walk {
    const void *in;
    uint64_t n;
    upsweep_encoding from, to;
    bool remove; /* ill-formed sequences; else they are replaced */
    enum job job;
    void *out;
    uint64_t places[MAX_BLOCKS]; /* code units of a block, then of those before it */
    uint64_t wrong[MAX_BLOCKS];  /* the first unit that is; UINT64_MAX: none */
};

/* ---- reading ----------------------------------------------------------------------------------------------------------------- */

static int32_t next_of_utf8(const uint8_t *in, uint64_t *i, uint64_t end) {
    const uint8_t lead = in[(*i)++];
    if (lead < 0x80) return lead;
    if (lead < 0xC2 || lead > 0xF4) return BAD_SEQUENCE;
    int needed = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    int32_t code = lead & (0x3F >> needed);
    uint8_t lower = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80, upper = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    for (; needed > 0; needed--) {
        if (*i == end || in[*i] < lower || in[*i] > upper) return BAD_SEQUENCE;
        code = code << 6 | (in[(*i)++] & 0x3F);
        lower = 0x80;
        upper = 0xBF;
    }
    return code;
}

static inline uint16_t swap_if(uint16_t unit, bool big_endian) { return big_endian ? __builtin_bswap16(unit) : unit; }

static int32_t next_of_utf16(const uint16_t *in, uint64_t *i, uint64_t end, bool big_endian) {
    const uint16_t unit = swap_if(in[(*i)++], big_endian);
    if (unit < 0xD800 || unit > 0xDFFF) return unit;
    if (unit > 0xDBFF || *i == end) return BAD_SEQUENCE;
    const uint16_t low = swap_if(in[*i], big_endian);
    if (low < 0xDC00 || low > 0xDFFF) return BAD_SEQUENCE;
    ++*i;
    return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

static int32_t next_of(const struct walk *w, uint64_t *i, uint64_t end) {
    if (w->from == UPSWEEP_UTF8) return next_of_utf8(w->in, i, end);
    if (w->from != UPSWEEP_UTF32) return next_of_utf16(w->in, i, end, w->from == UPSWEEP_UTF16BE);
    const uint32_t code = ((const uint32_t *)w->in)[(*i)++];
    return code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF) ? BAD_SEQUENCE : (int32_t)code;
}

/* Where the block that begins at i really begins. */
static uint64_t first_sequence(const struct walk *w, uint64_t i) {
    if (i == 0 || w->from == UPSWEEP_UTF32) return i;
    if (w->from == UPSWEEP_UTF8) {
        for (const uint8_t *in = w->in; i < w->n && in[i] >= 0x80 && in[i] <= 0xBF;) i++;
        return i;
    }
    for (const uint16_t *in = w->in; i < w->n && (swap_if(in[i], w->from == UPSWEEP_UTF16BE) & 0xFC00) == 0xDC00;) i++;
    return i;
}

/* ---- writing ----------------------------------------------------------------------------------------------------------------- */

/* The code units of a code point; returns their number. */
static uint32_t units_of(uint32_t code, upsweep_encoding to, uint32_t units[4]) {
    if (to == UPSWEEP_UTF8) {
        const uint32_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        static const uint32_t tags[] = {0, 0, 0xC0, 0xE0, 0xF0};
        for (uint32_t i = length - 1; i > 0; i--, code >>= 6) units[i] = 0x80 | (code & 0x3F);
        units[0] = tags[length] | code;
        return length;
    }
    units[0] = code;
    if (to == UPSWEEP_UTF32) return 1;
    const bool big_endian = to == UPSWEEP_UTF16BE, pair = code > 0xFFFF;
    units[1] = swap_if((uint16_t)(0xDC00 | (code & 0x3FF)), big_endian);
    units[0] = swap_if((uint16_t)(pair ? 0xD7C0 + (code >> 10) : code), big_endian);
    return pair ? 2 : 1;
}

static bool same_unit(const void *out, uint64_t at, upsweep_encoding to, uint32_t unit) {
    if (to == UPSWEEP_UTF8) return ((const uint8_t *)out)[at] == unit;
    return to == UPSWEEP_UTF32 ? ((const uint32_t *)out)[at] == unit : ((const uint16_t *)out)[at] == unit;
}

static void write_unit(void *out, uint64_t at, upsweep_encoding to, uint32_t unit) {
    if (to == UPSWEEP_UTF8) ((uint8_t *)out)[at] = (uint8_t)unit;
    if (to == UPSWEEP_UTF32) ((uint32_t *)out)[at] = unit;
    if (to == UPSWEEP_UTF16LE || to == UPSWEEP_UTF16BE) ((uint16_t *)out)[at] = (uint16_t)unit;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------------------- */

static void walk_block(void *arg, uint32_t block, uint64_t first, uint64_t last) {
    struct walk *w = arg;
    const uint64_t end = first_sequence(w, last);
    uint64_t at = w->job == COUNT_ONLY ? 0 : w->places[block];
    w->wrong[block] = UINT64_MAX;
    for (uint64_t i = first_sequence(w, first); i < end;) {
        const int32_t code = next_of(w, &i, end);
        if (code == BAD_SEQUENCE && w->remove) continue;
        uint32_t units[4];
        const uint32_t nunits = units_of(code == BAD_SEQUENCE ? REPLACEMENT : (uint32_t)code, w->to, units);
        for (uint32_t k = 0; k < nunits && w->job != COUNT_ONLY; k++) {
            if (w->job == WRITE) write_unit(w->out, at + k, w->to, units[k]);
            if (w->job == COMPARE && w->wrong[block] == UINT64_MAX && !same_unit(w->out, at + k, w->to, units[k])) w->wrong[block] = at + k;
        }
        at += nunits;
    }
    if (w->job == COUNT_ONLY) w->places[block] = at;
}

/* Counts into the places; then, with another job than that, does it. */
static uint64_t walk(struct walk *w, enum job job) {
    const struct blocks blocks = blocks_of(w->n);
    w->job = COUNT_ONLY;
    blocks_run(&blocks, walk_block, w);
    const uint64_t nunits = blocks_sum(&blocks, w->places);
    w->job = job;
    if (job != COUNT_ONLY) blocks_run(&blocks, walk_block, w);
    return nunits;
}

uint64_t text_convert(void *out, upsweep_encoding encoding, const uint8_t *text, uint64_t n) {
    static struct walk w;
    w = (struct walk){.in = text, .n = n, .from = UPSWEEP_UTF8, .to = encoding, .out = out};
    return walk(&w, out != NULL ? WRITE : COUNT_ONLY);
}

/* ---- the check --------------------------------------------------------------------------------------------------------------- */

bool check_text(const struct data *data, const struct point *point, uint64_t count, char error[256]) {
    static struct walk w;
    const bool decodes = point->primitive != UTF8_ENCODE;
    w = (struct walk){.in = data->in, .n = data->nitems, .out = data->out, .remove = point->mode == UPSWEEP_REMOVE};
    w.from = decodes ? UPSWEEP_UTF8 : point->encoding;
    w.to = !decodes ? UPSWEEP_UTF8 : point_converts(point) ? point->encoding : UPSWEEP_UTF32;
    /* the points of validate are all good text; the room of out suffices even if less has been written than should be */
    const enum job job = point_converts(point) ? COMPARE : COUNT_ONLY;
    const uint64_t wanted = point->primitive == UTF8_VALIDATE ? 1 : walk(&w, job);
    if (count != wanted) {
        snprintf(error, 256, "%" PRIu64 " instead of %" PRIu64, count, wanted);
        return false;
    }
    for (uint32_t block = 0; job == COMPARE && block < blocks_of(w.n).count; block++) {
        if (w.wrong[block] == UINT64_MAX) continue;
        snprintf(error, 256, "wrong at code unit %" PRIu64, w.wrong[block]);
        return false;
    }
    return true;
}
