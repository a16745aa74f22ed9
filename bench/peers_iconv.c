/* peers_iconv.c: iconv, what every Unix has for text, on one thread. It stops at the first error, as the library does with UPSWEEP_STRICT.
 * Of glibc; another's has another idea of errors, and no version to tell. */
#include <gnu/libc-version.h>
#include <iconv.h>
#include <stdio.h>

#include "bench.h"

static bool open_iconv(struct call *call) {
    static const char *const names[] = {
        [UPSWEEP_UTF32] = "UTF-32LE", [UPSWEEP_UTF16LE] = "UTF-16LE", [UPSWEEP_UTF16BE] = "UTF-16BE", [UPSWEEP_UTF8] = "UTF-8"};
    const char *other = names[call->point.encoding];
    const bool decodes = call->point.primitive == UTF8_DECODE;
    const iconv_t converter = iconv_open(decodes ? other : "UTF-8", decodes ? "UTF-8" : other);
    call->state = converter;
    if (converter != (iconv_t)-1) return true;
    snprintf(call->error, sizeof call->error, "iconv has no %s", other);
    return false;
}

static bool run_iconv(struct call *call) {
    const size_t unit_nbytes = upsweep_encoding_nbytes(call->point.encoding);
    const bool decodes = call->point.primitive == UTF8_DECODE;
    char *in = call->in, *out = call->out;
    size_t in_left = (size_t)call->nitems * (decodes ? 1 : unit_nbytes), out_left = call->out_nbytes;
    iconv(call->state, NULL, NULL, NULL, NULL); /* from the start */
    if (iconv(call->state, &in, &in_left, &out, &out_left) == (size_t)-1) {
        snprintf(call->error, sizeof call->error, "iconv stopped %zu bytes before the end", in_left);
        return false;
    }
    call->report->written = (call->out_nbytes - out_left) / (decodes ? unit_nbytes : 1);
    return true;
}

static void close_iconv(struct call *call) {
    if (call->state != (iconv_t)-1) iconv_close(call->state);
}

static const char *version(void) {
    static char text[32];
    snprintf(text, sizeof text, "glibc %s", gnu_get_libc_version());
    return text;
}

/* algorithm, primitive, backend, types, params, reversed_rest, peer, open, run, close, rung */
static const struct subject subjects[] = {
    {"iconv", UTF8_DECODE, LADDER_CPU, 1u << UPSWEEP_U8, 0, false, version, open_iconv, run_iconv, close_iconv, NULL},
    {"iconv", UTF8_ENCODE, LADDER_CPU, 1u << UPSWEEP_U8, 0, false, version, open_iconv, run_iconv, close_iconv, NULL},
};

const struct subject *iconv_peer_at(size_t index) { return index < sizeof subjects / sizeof subjects[0] ? &subjects[index] : NULL; }
