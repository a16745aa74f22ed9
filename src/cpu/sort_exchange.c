/* sort_exchange.c: keys alone sorted where they lie, without scratch, by halves: radix exchange, with a pivot for skewed keys.
 *
 *     below 4   5 1 7 0 3 6  ->  1 0 3 | 5 7 6      high keys change places with later low ones
 *     2; 6                       1 0 | 3 | 5 | 7 6  and so on, until a part is small enough to be finished otherwise
 *
 * A part's keys lie between two bounds. It is divided in the middle between these: by its highest bit, which costs no look at the keys. If
 * that leaves one side almost empty, the next divider is the median of a few keys, and so are all below it; if that is no better (many
 * keys equal it), the middle again. So every second bad division halves the distance of the bounds: depth is logarithmic, whatever the
 * keys. Where nothing lies below the median of the sample it is the least key, and those that equal it are divided off, done.
 *
 * On several threads: each divides a chunk, which leaves low and high keys by turns; then low keys beyond the place where the high ones
 * have to begin change places with high keys before it, as many of the one as of the other, a share a thread:
 *
 *     chunks    [l l l h][l h h h][l l h h]   ->  6 low keys: 2 high ones before, 2 low ones behind  ->  [l l l l l l][h h h h h h]
 *
 * until parts are small enough to be handed out, one thread each.
 *
 * Keys that agree change their order; they are sorted whole, so that nobody can tell. Cost: a read and a write of a key for each halving of
 * n down to groups of 8 KiB (of 24 keys without vector code); scratch: none on one thread, else some KiB a thread. Sources: Hildebrandt and
 * Isbitz, Radix exchange, 1959; Hoare, Quicksort, 1962; Bramas, A novel hybrid quicksort algorithm vectorized using AVX-512, 2017. */
#include <stdatomic.h>
#include <string.h>

#include "sort_kernels.h"

enum { SAMPLE = 15, SAMPLE_FEW = 10, WORST_SHARE = 16, PARTS_A_TASK = 8, PARTS_MAX = 64 };
enum { LARGE_SAMPLE = 128, LINE_RUN = 12 };

/* Keys [begin, begin + n) of the output, whose images are between two bounds. */
struct part {
    uint64_t begin, n;
    uint64_t least, greatest;
    bool by_sample;
    bool repeats; /* a median of a sample was in it twice */
};

/* All threads at work on one part. */
struct together {
    const struct sorter *s;
    uint64_t begin, n, chunk, divider;
    uint64_t nlow, nmisplaced;
    uint64_t large; /* what is larger is divided by all */
    uint32_t nparts;
    atomic_uint next;
    struct part *parts; /* [PARTS_MAX * ntasks] for one thread each */
    uint64_t *nlow_of;  /* [ntasks] of each chunk */
};

uint64_t sort_exchange_scratch(uint32_t ntasks) { return ntasks == 1 ? 0 : ntasks * (PARTS_MAX * sizeof(struct part) + sizeof(uint64_t)); }

/* ---- keys on either side of a divider ----------------------------------------------------------------------------------------- */

static unsigned char *keys_of(const struct sorter *s, uint64_t i) { return s->out.keys + i * s->kernel->item_nbytes; }

/* Images below the divider go before the others: how many they are. */
static uint64_t exchange(const struct sorter *s, uint64_t begin, uint64_t n, uint64_t divider) {
    const bool vector = s->vector != NULL && n > SORT_REGISTERS_NBYTES / s->kernel->item_nbytes;
    return (vector ? s->vector->part : s->kernel->part)(keys_of(s, begin), n, &s->image, divider);
}

static uint64_t chunk_begin(const struct together *t, uint32_t i) { return min_u64(t->n, i * t->chunk); }

static void exchange_task(void *arg, uint32_t i) {
    struct together *t = arg;
    const uint64_t begin = chunk_begin(t, i), n = chunk_begin(t, i + 1) - begin;
    t->nlow_of[i] = n > 0 ? exchange(t->s, t->begin + begin, n, t->divider) : 0;
}

/* Of chunk i, the high keys before nlow, or the low ones behind it. They lie together, from *begin on: how many they are. */
static uint64_t misplaced(const struct together *t, uint32_t i, bool high, uint64_t *begin) {
    const uint64_t start = chunk_begin(t, i), middle = start + t->nlow_of[i], end = chunk_begin(t, i + 1);
    *begin = high ? middle : max_u64(start, t->nlow);
    const uint64_t until = high ? min_u64(end, t->nlow) : middle;
    return until > *begin ? until - *begin : 0;
}

/* A place among all misplaced keys of a side, and how many of its chunk are left from there. */
struct place {
    uint32_t chunk;
    uint64_t begin, left;
};

static struct place place_of(const struct together *t, bool high, uint64_t k) {
    struct place p = {0};
    for (; k >= (p.left = misplaced(t, p.chunk, high, &p.begin)); p.chunk++) k -= p.left;
    p.begin += k;
    p.left -= k;
    return p;
}

static void swap_bytes(unsigned char *restrict a, unsigned char *restrict b, uint64_t nbytes) {
    for (uint64_t i = 0; i < nbytes; i++) {
        const unsigned char byte = a[i];
        a[i] = b[i];
        b[i] = byte;
    }
}

/* The i-th share of the misplaced keys, high for low. */
static void swap_task(void *arg, uint32_t i) {
    const struct together *t = arg;
    const uint64_t share = (t->nmisplaced + t->s->ntasks - 1) / t->s->ntasks, end = min_u64(t->nmisplaced, (i + 1) * share);
    uint64_t n;
    for (uint64_t k = i * share; k < end; k += n) {
        const struct place high = place_of(t, true, k), low = place_of(t, false, k);
        n = min_u64(end - k, min_u64(high.left, low.left));
        swap_bytes(keys_of(t->s, t->begin + high.begin), keys_of(t->s, t->begin + low.begin), n * t->s->kernel->item_nbytes);
    }
}

static uint64_t exchange_together(struct together *t, uint64_t begin, uint64_t n, uint64_t divider) {
    const uint32_t ntasks = t->s->ntasks;
    t->begin = begin;
    t->n = n;
    t->chunk = (n + ntasks - 1) / ntasks;
    t->divider = divider;
    cpu_run(t->s->ctx, exchange_task, t, ntasks);
    t->nlow = t->nmisplaced = 0;
    for (uint32_t i = 0; i < ntasks; i++) t->nlow += t->nlow_of[i];
    for (uint32_t i = 0; i < ntasks; i++) {
        uint64_t first;
        t->nmisplaced += misplaced(t, i, true, &first);
    }
    if (t->nmisplaced > 0) cpu_run(t->s->ctx, swap_task, t, ntasks);
    return t->nlow;
}

/* ---- parts ------------------------------------------------------------------------------------------------------------------- */

/* bench: for more than a group; NULL if there are no benches. */
static void sort_leaf(const struct sorter *s, const struct sort_arrays *keys, uint64_t begin, uint64_t n, struct sort_bench *bench) {
    const struct sort_leaf leaf = {.source = {.arrays = *keys, .begin = begin, .n = (uint32_t)n},
                                   .to = *keys,
                                   .begin = begin,
                                   .image = s->image,
                                   .bench = bench,
                                   .area = bench != NULL ? bench->area : NULL,
                                   .vector = s->vector};
    s->kernel->leaf(&leaf, 0, 8 * s->kernel->item_nbytes);
}

/* nkeys of nbytes, a constant where it may be: as a number it makes each key a call. */
ALWAYS_INLINE void copy_keys_apart(unsigned char *to, const unsigned char *from, uint64_t apart, uint32_t nkeys, uint32_t nbytes) {
    for (uint32_t i = 0; i < nkeys; i++) memcpy(to + i * nbytes, from + apart * i * nbytes, nbytes);
}

/* Some of n keys, in order. */
static void take_sample(const struct sorter *s, const struct sort_arrays *sample, const unsigned char *keys, uint64_t n,
                        uint32_t nsamples) {
    const uint32_t nbytes = s->kernel->item_nbytes;
    if (nbytes == sizeof(uint32_t))
        copy_keys_apart(sample->keys, keys, n / nsamples, nsamples, sizeof(uint32_t));
    else if (nbytes == sizeof(uint64_t))
        copy_keys_apart(sample->keys, keys, n / nsamples, nsamples, sizeof(uint64_t));
    else
        copy_keys_apart(sample->keys, keys, n / nsamples, nsamples, nbytes);
    sort_leaf(s, sample, 0, nsamples, NULL);
}

/* Of a few keys among n. */
struct small_sample {
    uint64_t median;
    bool repeats; /* the median has a neighbour that is the same */
    bool few;     /* there seem to be so few values that they can be counted */
};

static struct small_sample small_sample_of(const struct sorter *s, const unsigned char *keys, uint64_t n) {
    unsigned char room[SAMPLE * sizeof(uint64_t)];
    const struct sort_arrays sample = {room, NULL};
    take_sample(s, &sample, keys, n, SAMPLE);
    uint64_t images[SAMPLE];
    for (uint32_t i = 0; i < SAMPLE; i++) images[i] = s->kernel->image_at(&sample, &s->image, i);
    uint32_t nvalues = 1;
    for (uint32_t i = 1; i < SAMPLE; i++) nvalues += images[i] != images[i - 1];
    const uint64_t median = images[SAMPLE / 2];
    return (struct small_sample){median, images[SAMPLE / 2 - 1] == median || images[SAMPLE / 2 + 1] == median, nvalues <= SAMPLE_FEW};
}

bool sort_if_few(const struct sorter *s, uint64_t n) {
    if (s->vector == NULL || !small_sample_of(s, s->in.keys, n).few) return false;
    return s->vector->few(s->out.keys, s->in.keys, n, &s->image);
}

/* The images of keys of 4 or 8 bytes; as sort_kernel's image_at(), which is a call for each. */
static void images_of(uint64_t *images, const unsigned char *keys, uint32_t nkeys, uint32_t nbytes, const struct sort_image *image) {
    for (uint32_t i = 0; i < nkeys; i++) {
        uint32_t half;
        uint64_t raw;
        memcpy(&half, keys + i * sizeof half, sizeof half);
        if (nbytes == sizeof raw)
            memcpy(&raw, keys + i * sizeof raw, sizeof raw);
        else
            raw = half;
        images[i] = raw ^ image->flip ^ (image->when_negative & (0 - (raw >> (8 * nbytes - 1))));
    }
}

/* Keys are skewed if one of 2^bits buckets has `run` of the sample; and there are few if the sample has less than so many different ones.
 */
struct limits {
    uint32_t bits, run, different;
};

/* Floats with some twenty exponents wait for one another in a split by eight bits; and if any two keys of the sample are equal (of 8000
 * different keys two would be), halves are quicker. Pairs cannot go by halves, but only by two digits: 256 different keys leave some 100.
 */
static const struct limits alone = {8, 6, LARGE_SAMPLE}, with_values = {10, 12, 100};

/* Of images, in order. */
ALWAYS_INLINE enum sort_spread digit_spread(const uint64_t images[LARGE_SAMPLE], const struct limits *limits) {
    const uint64_t differ = images[0] ^ images[LARGE_SAMPLE - 1];
    const uint32_t top = differ == 0 ? 0 : sort_bit_top(differ), shift = top > limits->bits ? top - limits->bits : 0;
    uint32_t nruns = 0, ndifferent = 1;
    for (uint32_t i = 1; i < LARGE_SAMPLE; i++) {
        ndifferent += images[i] != images[i - 1];
        nruns += i >= limits->run && images[i] >> shift == images[i - limits->run] >> shift;
    }
    if (ndifferent < limits->different) return SORT_FEW;
    if (nruns > 0) return SORT_SKEWED;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = LARGE_SAMPLE / 2; i < LARGE_SAMPLE; i++) least = min_u64(least, images[i] - images[i - LARGE_SAMPLE / 2]);
    return least < sort_low_bits(top) / 16 * SORT_EVEN_HALF ? SORT_UNEVEN : SORT_EVEN;
}

/* Returns the sample's keys in order, in room, and their images. */
ALWAYS_INLINE struct sort_arrays large_sample(const struct sorter *s, const struct sort_arrays *from, uint64_t begin, uint64_t n,
                                              unsigned char room[LARGE_SAMPLE * sizeof(uint64_t)], uint64_t images[LARGE_SAMPLE]) {
    const struct sort_arrays sample = {room, NULL};
    take_sample(s, &sample, from->keys + begin * s->kernel->item_nbytes, n, LARGE_SAMPLE);
    images_of(images, sample.keys, LARGE_SAMPLE, s->kernel->item_nbytes, &s->image);
    return sample;
}

struct sort_spreads sort_spreads_of(const struct sorter *s, const struct sort_arrays *from, uint64_t begin, uint64_t n) {
    unsigned char room[LARGE_SAMPLE * sizeof(uint64_t)];
    uint64_t images[LARGE_SAMPLE];
    const struct sort_arrays sample = large_sample(s, from, begin, n, room, images);
    const bool floats = s->kernel->line_spread != NULL && s->image.when_negative != 0;
    return (struct sort_spreads){digit_spread(images, &alone),
                                 floats ? s->kernel->line_spread(&sample, LARGE_SAMPLE, LINE_RUN) : SORT_SKEWED};
}

bool sort_pairs_are_skewed(const struct sorter *s, const struct sort_arrays *from, uint64_t n) {
    unsigned char room[LARGE_SAMPLE * sizeof(uint64_t)];
    uint64_t images[LARGE_SAMPLE];
    large_sample(s, from, 0, n, room, images);
    return digit_spread(images, &with_values) <= SORT_SKEWED;
}

/* Sorts a part of few different values; false if there are more. */
static bool count_part(const struct sorter *s, const struct part *p) {
    return s->vector != NULL && s->vector->few(keys_of(s, p->begin), keys_of(s, p->begin), p->n, &s->image);
}

static uint64_t divide(const struct sorter *s, const struct part *p, uint64_t divider, struct together *t) {
    return t != NULL ? exchange_together(t, p->begin, p->n, divider) : exchange(s, p->begin, p->n, divider);
}

/* Divides a part in two: returns the lower one; the other becomes *p. Either may be empty, and both are if the part is sorted already. */
static struct part halve(const struct sorter *s, struct part *p, struct together *t) {
    uint64_t divider = p->least + (p->greatest - p->least) / 2 + 1;
    if (p->by_sample) {
        const struct small_sample sample = small_sample_of(s, keys_of(s, p->begin), p->n);
        if (sample.few && t == NULL && count_part(s, p)) return (struct part){.n = p->n = 0};
        p->repeats |= sample.repeats;
        divider = sample.median;
    }
    uint64_t nlow = divider == p->least ? 0 : divide(s, p, divider, t);
    if (p->by_sample && nlow == 0) { /* the median is the least key */
        p->least = divider;
        if (divider == p->greatest) return (struct part){0};
        nlow = divide(s, p, ++divider, t);
    }
    if (min_u64(nlow, p->n - nlow) < p->n / WORST_SHARE) p->by_sample = !p->by_sample;
    const struct part low = {p->begin, nlow, p->least, divider - 1, p->by_sample, p->repeats};
    p->begin += nlow;
    p->n -= nlow;
    p->least = divider;
    return low;
}

static struct sort_bench *bench_of(const struct sorter *s, uint32_t task) {
    return s->benches != NULL ? (void *)(s->benches + task * s->bench_nbytes) : NULL;
}

/* Parts up to this size are finished otherwise. Keys that repeat are divided further: a part of equal ones is done. */
static uint64_t leaf_items_of(const struct sorter *s, const struct part *p, const struct together *t) {
    if (t != NULL) return t->large;
    return p->repeats && s->vector != NULL ? SORT_REGISTERS_NBYTES / s->kernel->item_nbytes : s->leaf_items;
}

/* With t: divides the part by all threads until what is left is small enough for one, and puts that on the list. */
static void sort_part(const struct sorter *s, struct part p, struct together *t, uint32_t task) {
    while (p.n > leaf_items_of(s, &p, t) && p.least < p.greatest) {
        const struct part low = halve(s, &p, t);
        sort_part(s, low, t, task);
    }
    if (p.n <= 1 || p.least == p.greatest) return;
    if (t == NULL)
        sort_leaf(s, &s->out, p.begin, p.n, bench_of(s, task));
    else if (t->nparts < PARTS_MAX * s->ntasks)
        t->parts[t->nparts++] = p;
    else
        sort_part(s, p, NULL, task);
}

static void parts_task(void *arg, uint32_t task) {
    struct together *t = arg;
    for (;;) {
        const uint32_t i = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed); /* cpu_run orders the rest */
        if (i >= t->nparts) return;
        sort_part(t->s, t->parts[i], NULL, task);
    }
}

static struct sorter exchanger(const struct sorter *s) {
    struct sorter own = *s;
    own.leaf_items = s->vector != NULL ? SORT_GROUP_NBYTES / s->kernel->item_nbytes : s->kernel->leaf_items;
    return own;
}

void sort_exchange(const struct sorter *s, uint64_t begin, uint64_t n, bool by_sample) {
    const struct sorter own = exchanger(s);
    sort_part(&own, (struct part){begin, n, 0, sort_low_bits(8 * s->kernel->item_nbytes), by_sample, false}, NULL, 0);
}

void sort_exchange_together(const struct sorter *s, uint64_t begin, uint64_t n, bool by_sample, void *scratch) {
    const struct sorter own = exchanger(s);
    struct together t = {.s = &own, .parts = scratch, .large = max_u64(n / (PARTS_A_TASK * (uint64_t)s->ntasks), own.leaf_items)};
    t.nlow_of = (uint64_t *)(void *)(t.parts + PARTS_MAX * s->ntasks);
    sort_part(&own, (struct part){begin, n, 0, sort_low_bits(8 * s->kernel->item_nbytes), by_sample, false}, &t, 0);
    cpu_run(s->ctx, parts_task, &t, s->ntasks);
}
