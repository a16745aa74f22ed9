/* flags_widths_tmpl.h: the kernels that go by byte flags, one for each size of item. A version defines before it includes this
 *
 * sift_flagged(nbytes, out, rest, in, flags, n): as flags_kernel says, of items of nbytes; always inline, so that it is a constant, and
 * that rest is NULL, too */

static size_t flags_1(void *out, void *rest, const void *in, const uint8_t *flags, size_t n) {
    return rest == NULL ? sift_flagged(1, out, NULL, in, flags, n) : sift_flagged(1, out, rest, in, flags, n);
}
static size_t flags_2(void *out, void *rest, const void *in, const uint8_t *flags, size_t n) {
    return rest == NULL ? sift_flagged(2, out, NULL, in, flags, n) : sift_flagged(2, out, rest, in, flags, n);
}
static size_t flags_4(void *out, void *rest, const void *in, const uint8_t *flags, size_t n) {
    return rest == NULL ? sift_flagged(4, out, NULL, in, flags, n) : sift_flagged(4, out, rest, in, flags, n);
}
static size_t flags_8(void *out, void *rest, const void *in, const uint8_t *flags, size_t n) {
    return rest == NULL ? sift_flagged(8, out, NULL, in, flags, n) : sift_flagged(8, out, rest, in, flags, n);
}
static size_t flags_16(void *out, void *rest, const void *in, const uint8_t *flags, size_t n) {
    return rest == NULL ? sift_flagged(16, out, NULL, in, flags, n) : sift_flagged(16, out, rest, in, flags, n);
}
