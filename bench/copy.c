/* copy.c: the yardstick: how long does it take to copy as many bytes as a call must read and write? Measured when first asked for, by the
 * method of the row that asks, then remembered: so a row and its copy are of the same run and the same minute. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

struct key {
    const struct place *place;
    size_t nbytes; /* read, and as many written */
    uint32_t nthreads;
    enum method method;
    enum cache cache;
};

struct copy {
    const struct place *place;
    void *dst, *src;
    size_t nbytes;
    uint32_t nthreads;
};

static bool run_copy(void *arg) {
    const struct copy *copy = arg;
    return copy->place->copy(copy->dst, copy->src, copy->nbytes, copy->nthreads);
}

static double time_copy(struct copy *copy, enum method method, enum cache cache) {
    static struct result result;
    const double limit_s = 0.1;
    struct watch watch = {.work = {run_copy, copy}, .method = method, .cache = cache};
    const bool ok = copy->place->watch_open(&watch) && take_samples(copy->place, &watch, limit_s, &result);
    copy->place->watch_close(&watch);
    return ok ? result.median_ms : 0;
}

/* Of several threads and one, the faster: waking threads for a small copy is no fair yardstick. */
static double measure(const struct key *key) {
    struct copy copy = {.place = key->place, .nbytes = key->nbytes, .nthreads = key->nthreads};
    copy.dst = key->place->alloc(key->nbytes);
    copy.src = key->place->alloc(key->nbytes);
    double ms = 0;
    if (copy.dst != NULL && copy.src != NULL && key->place->poison(copy.src, key->nbytes)) {
        ms = time_copy(&copy, key->method, key->cache);
        copy.nthreads = 1;
        const double alone_ms = key->nthreads > 1 ? time_copy(&copy, key->method, key->cache) : ms;
        if (alone_ms < ms) ms = alone_ms;
    }
    if (copy.dst != NULL) key->place->free(copy.dst);
    if (copy.src != NULL) key->place->free(copy.src);
    return ms;
}

/* Sizes are rounded to three significant digits, so that the counts of random selections share a copy. */
static size_t round_size(double nbytes) {
    double unit = 1;
    while (nbytes / unit >= 1000) unit *= 10;
    return (size_t)((double)(size_t)(nbytes / unit + 0.5) * unit);
}

double copy_ms(const struct place *place, double nbytes, uint32_t nthreads, enum method method, enum cache cache) {
    enum { MAX_KNOWN = 4096 };
    static struct {
        struct key key;
        double ms;
    } known[MAX_KNOWN];
    static size_t nknown;
    struct key key;
    memset(&key, 0, sizeof key); /* padding too: keys are compared as bytes */
    key.place = place;
    key.nbytes = round_size(nbytes / 2);
    key.nthreads = nthreads;
    key.method = method;
    key.cache = cache;
    for (size_t i = 0; i < nknown; i++) {
        if (memcmp(&known[i].key, &key, sizeof key) == 0) return known[i].ms;
    }
    if (key.nbytes == 0 || nknown == MAX_KNOWN) return 0;
    known[nknown].key = key;
    known[nknown].ms = measure(&key);
    return known[nknown++].ms;
}
