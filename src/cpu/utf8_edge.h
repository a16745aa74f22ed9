/* utf8_edge.h: windows where the text begins or ends, for kernels that read beyond a window: copies with zeros around them. */
#ifndef UPSWEEP_UTF8_EDGE_H
#define UPSWEEP_UTF8_EDGE_H

#include <string.h>

#include "utf8_kernels.h"

/* in [i - 8, i + 72), zeros where in [n] has none; byte i is bytes[EDGE_BEFORE]. */
enum { EDGE_BEFORE = 8, EDGE_BEHIND = 72 };

struct edge {
    uint8_t bytes[EDGE_BEFORE + EDGE_BEHIND];
};

static inline struct edge edge_at(const uint8_t *in, size_t i, size_t n) {
    struct edge edge = {{0}};
    const size_t before = i < EDGE_BEFORE ? i : EDGE_BEFORE, behind = n - i < EDGE_BEHIND ? n - i : EDGE_BEHIND;
    memcpy(edge.bytes + EDGE_BEFORE - before, in + i - before, before + behind);
    return edge;
}

#endif
