/* utf8_decode_tmpl.h: the decoders of a table of kernels. A version defines before it includes this
 *
 * decode(out, in, n, replace, bad, to): as utf8_decode_kernel says, to any encoding; always inline, so that the compiler knows which */

static size_t decode_utf32(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad) {
    return decode(out, in, n, replace, bad, UPSWEEP_UTF32);
}
static size_t decode_utf16le(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad) {
    return decode(out, in, n, replace, bad, UPSWEEP_UTF16LE);
}
static size_t decode_utf16be(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad) {
    return decode(out, in, n, replace, bad, UPSWEEP_UTF16BE);
}
