/* copy.c: the yardstick: how long does it take to copy as many bytes as a call must read and write? Measured when first asked for,
 * then remembered: so a row and its copy are of the same run and the same minute. */
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
    bool past_caches;
};

static bool run_copy(void *arg) {
    const struct copy *copy = arg;
    return copy->place->copy(copy->dst, copy->src, copy->nbytes, copy->nthreads, copy->past_caches);
}

static double time_copy(struct copy *copy, enum method method, enum cache cache) {
    static struct result result;
    const double limit_s = 0.02;
    struct watch watch = {.work = {run_copy, copy}, .method = method, .cache = cache};
    const bool ok = copy->place->watch_open(&watch) && take_samples(copy->place, &watch, limit_s, &result);
    copy->place->watch_close(&watch);
    return ok ? result.median_ms : 0;
}

/* The fastest way there is. On the CPU by all threads or by one (waking threads for a small copy would be no fair yardstick), through the
 * caches or past them. On the GPU by a graph or by itself: a copy in a graph may be left to a copy engine, which is slower for large ones.
 */
static double time_best_copy(struct copy *copy, const struct key *key) {
    const bool on_cpu = key->place->backend == LADDER_CPU;
    const int nways = on_cpu ? 4 : key->method == BY_GRAPH ? 2 : 1;
    double best_ms = 0;
    for (int way = 0; way < nways; way++) {
        copy->nthreads = way % 2 == 0 ? key->nthreads : 1;
        copy->past_caches = way >= 2;
        if (on_cpu && way % 2 == 1 && key->nthreads == 1) continue;
        const double ms = time_copy(copy, !on_cpu && way == 1 ? BY_EVENTS : key->method, key->cache);
        if (ms > 0 && (best_ms == 0 || ms < best_ms)) best_ms = ms;
    }
    return best_ms;
}

static double measure(const struct key *key) {
    struct copy copy = {.place = key->place, .nbytes = key->nbytes};
    copy.dst = key->place->alloc(key->nbytes);
    copy.src = key->place->alloc(key->nbytes);
    const bool ok = copy.dst != NULL && copy.src != NULL && key->place->poison(copy.src, key->nbytes);
    const double ms = ok ? time_best_copy(&copy, key) : 0;
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
