/* peers_simdutf.cpp: simdutf, the fastest library for text on CPUs, on one thread. Its conversions check the text and stop at the first
 * error, which is what the library does with UPSWEEP_STRICT. Built only where it is found. https://github.com/simdutf/simdutf */
#include <simdutf.h>

#include "bench.h"

static size_t decode(const struct call *call) {
    const char *in = static_cast<const char *>(call->in);
    const size_t n = static_cast<size_t>(call->nitems);
    switch (call->point.encoding) {
    case UPSWEEP_UTF32:
        return simdutf::convert_utf8_to_utf32(in, n, static_cast<char32_t *>(call->out));
    case UPSWEEP_UTF16LE:
        return simdutf::convert_utf8_to_utf16le(in, n, static_cast<char16_t *>(call->out));
    case UPSWEEP_UTF16BE:
        return simdutf::convert_utf8_to_utf16be(in, n, static_cast<char16_t *>(call->out));
    default:
        return 0;
    }
}

static size_t encode(const struct call *call) {
    char *out = static_cast<char *>(call->out);
    const size_t n = static_cast<size_t>(call->nitems);
    switch (call->point.encoding) {
    case UPSWEEP_UTF32:
        return simdutf::convert_utf32_to_utf8(static_cast<const char32_t *>(call->in), n, out);
    case UPSWEEP_UTF16LE:
        return simdutf::convert_utf16le_to_utf8(static_cast<const char16_t *>(call->in), n, out);
    case UPSWEEP_UTF16BE:
        return simdutf::convert_utf16be_to_utf8(static_cast<const char16_t *>(call->in), n, out);
    default:
        return 0;
    }
}

static bool run_decode(struct call *call) { return (call->report->written = decode(call)) > 0; }
static bool run_encode(struct call *call) { return (call->report->written = encode(call)) > 0; }

static bool run_validate(struct call *call) {
    const bool good = simdutf::validate_utf8(static_cast<const char *>(call->in), static_cast<size_t>(call->nitems));
    call->report->error_at = good ? UINT64_MAX : 0;
    return true;
}

/* The library's count says how many code points a conversion gives, whatever the text is; count_utf8() alone counts all bytes that are no
 * continuations. */
static bool run_count(struct call *call) {
    const char *in = static_cast<const char *>(call->in);
    const size_t n = static_cast<size_t>(call->nitems);
    if (!simdutf::validate_utf8(in, n)) return false;
    call->report->needed = simdutf::count_utf8(in, n);
    return true;
}

static bool open_nothing(struct call *) { return true; }
static void close_nothing(struct call *) {}
static const char *version(void) { return "simdutf " SIMDUTF_VERSION; }

/* algorithm, primitive, backend, types, params, reversed_rest, peer, open, run, close, rung */
static const struct subject subjects[] = {
    {"simdutf", UTF8_DECODE, LADDER_CPU, 1u << UPSWEEP_U8, 0, false, version, open_nothing, run_decode, close_nothing, nullptr},
    {"simdutf", UTF8_ENCODE, LADDER_CPU, 1u << UPSWEEP_U8, 0, false, version, open_nothing, run_encode, close_nothing, nullptr},
    {"simdutf", UTF8_VALIDATE, LADDER_CPU, 1u << UPSWEEP_U8, 0, false, version, open_nothing, run_validate, close_nothing, nullptr},
    {"simdutf", UTF8_COUNT, LADDER_CPU, 1u << UPSWEEP_U8, 0, false, version, open_nothing, run_count, close_nothing, nullptr},
};

const struct subject *simdutf_peer_at(size_t index) { return index < sizeof subjects / sizeof subjects[0] ? &subjects[index] : nullptr; }
