/* utf8_measure_edge_tmpl.h: of what utf8_measure_tmpl.h wants, the two that read nothing beside the text, for kernels that cannot load a
 * part of a vector: where the text begins or ends they look at a copy. A version defines before it includes this
 *
 * measure_well(p, nbytes, good): as utf8_measure_tmpl.h says
 *
 * ends_at(p): what ends in the UTF8_OWNED bytes behind the first UTF8_BEFORE of the window at p */
#include "utf8_edge.h"

/* Where a window is a copy, which takes longer. */
static inline bool is_ascii(const uint8_t *p, size_t n) {
    uint64_t any = 0, word;
    size_t i = 0;
    for (; n - i >= sizeof word; i += sizeof word) {
        memcpy(&word, p + i, sizeof word);
        any |= word;
    }
    for (; i < n; i++) any |= p[i];
    return (any & UINT64_C(0x8080808080808080)) == 0;
}

static bool measure_well_within(const uint8_t *in, size_t i, size_t n, struct utf8_good *good) {
    const size_t there = n - i < 64 ? n - i : 64;
    if ((i == 0 || in[i - 1] < 0x80) && is_ascii(in + i, there)) {
        good->sequences += there;
        return true;
    }
    const struct edge edge = edge_at(in, i, n);
    struct utf8_good found = *good;
    if (!measure_well(edge.bytes + EDGE_BEFORE, 64, &found)) return false;
    *good = found;
    good->sequences -= 64 - there;
    return true;
}

static struct utf8_ends window_ends(const uint8_t *in, size_t i, size_t n) {
    const bool inside = i >= EDGE_BEFORE && n - i >= EDGE_BEHIND;
    const struct edge edge = inside ? (struct edge){{0}} : edge_at(in, i, n);
    return ends_at((inside ? in + i : edge.bytes + EDGE_BEFORE) - UTF8_BEFORE);
}
