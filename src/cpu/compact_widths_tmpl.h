/* compact_widths_tmpl.h: the compactions of a table of kernels, one for each size of item. A version defines before it includes this
 *
 * compact_words(nbytes, out, room, in, bits, n): as compact_kernel says, of items of nbytes; always inline, so that it is a constant */

static size_t compact_1(void *out, size_t room, const void *in, const uint64_t *bits, size_t n) {
    return compact_words(1, out, room, in, bits, n);
}
static size_t compact_2(void *out, size_t room, const void *in, const uint64_t *bits, size_t n) {
    return compact_words(2, out, room, in, bits, n);
}
static size_t compact_4(void *out, size_t room, const void *in, const uint64_t *bits, size_t n) {
    return compact_words(4, out, room, in, bits, n);
}
static size_t compact_8(void *out, size_t room, const void *in, const uint64_t *bits, size_t n) {
    return compact_words(8, out, room, in, bits, n);
}
static size_t compact_16(void *out, size_t room, const void *in, const uint64_t *bits, size_t n) {
    return compact_words(16, out, room, in, bits, n);
}
