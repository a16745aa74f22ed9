/* utf8_measure_edge_tmpl.h: of what utf8_measure_tmpl.h wants, the two that read nothing beside the text, for kernels that cannot load a
 * part of a vector: where the text begins or ends they look at a copy. A version defines before it includes this
 *
 * measure_well(p, nbytes, good): as utf8_measure_tmpl.h says
 *
 * ends_at(p): what ends in the UTF8_OWNED bytes behind the first UTF8_BEFORE of the window at p */
#include "utf8_edge.h"

static bool measure_well_within(const uint8_t *in, size_t i, size_t n, struct utf8_good *good) {
    const struct edge edge = edge_at(in, i, n);
    const size_t there = n - i < 64 ? n - i : 64;
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
