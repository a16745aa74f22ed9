/* sort_exchange.c: keys alone sorted without scratch, by halves: radix exchange, with a pivot for skewed keys.
 *
 *     below 4   5 1 7 0 3 6  ->  1 0 3 | 5 7 6      high keys change places with later low ones; the first time, on the way to the output
 *     2; 6                       1 0 | 3 | 5 | 7 6  and so on, until a part is small enough to be finished otherwise
 *
 * A part's keys lie between two bounds. It is divided in the middle between these: by its highest bit, which costs no look at the keys. If
 * that leaves one side almost empty, the next divider is the median of a few keys, and so are all below it; if that is no better (many
 * keys equal it), the middle again. Floats begin with the median: their highest bits are an exponent. So every second bad division halves
 * the distance of the bounds: depth is logarithmic, whatever the keys. Where nothing lies below the median of the sample it is the least
 * key, and those that equal it are divided off, done.
 *
 * On several threads: each divides a chunk, which leaves low and high keys by turns; then low keys beyond the place where the high ones
 * have to begin change places with high keys before it, as many of the one as of the other, a share a thread:
 *
 *     chunks    [l l l h][l h h h][l l h h]   ->  6 low keys: 2 high ones before, 2 low ones behind  ->  [l l l l l l][h h h h h h]
 *
 * until parts are small enough to be handed out, one thread each.
 *
 * Keys that agree change their order; they are sorted whole, so that nobody can tell. Cost: a read and a write of a key for each halving of
 * n down to what slots take of even keys (sort_slots_tmpl.h), to groups of 8 KiB of others (to leaves that fit L2 without vector code);
 * scratch: that of slots, else none on one thread and some KiB each on several. Sources: Hildebrandt and Isbitz, Radix exchange, 1959;
 * Hoare, Quicksort, 1962; Bramas, A novel hybrid quicksort algorithm vectorized using AVX-512, 2017. */
#include <stdatomic.h>
#include <string.h>

#include "sort_kernels.h"

enum { WORST_SHARE = 16, PARTS_MAX = 64, SAMPLE = 64 };

/* Dividing by all threads costs some 5 us beside the work: up to so many parts a task, each of so many keys (Zen 4, 2026-11). Of 2^18 to
 * 2^22 uneven keys 16 threads made twice the time of 8 (Xeon, 2026-11): more take part when each has so many keys. */
enum { PARTS_A_TASK = 4, PART_ITEMS = 1 << 16, DIVIDING_TASKS = 8, DIVIDING_ITEMS = 1 << 20 };

/* What will be keys [begin, begin + n) of the output, their images between two bounds. */
struct part {
    const unsigned char *keys; /* where they are: in the input until they have been divided */
    uint64_t begin, n;
    uint64_t least, greatest;
    bool by_sample;
    bool repeats; /* a median of a sample was in it twice */
};

/* All threads at work on one part. */
struct together {
    const struct sorter *s;
    const unsigned char *keys; /* [n], which go to [begin, begin + n) of the output */
    uint64_t begin, n, chunk, divider;
    struct sort_image image;
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

/* Images below the divider go before the others: how many they are. image: of such keys. */
static uint64_t exchange(const struct sorter *s, const struct sort_image *image, const unsigned char *keys, uint64_t begin, uint64_t n,
                         uint64_t divider) {
    const bool vector = s->vector != NULL && n > SORT_REGISTERS_NBYTES / s->kernel->item_nbytes;
    return (vector ? s->vector->part : s->kernel->part)(keys_of(s, begin), keys, n, image, divider);
}

/* The image of keys between two images: floats of one sign are flipped in the same bits, as integers are. */
static struct sort_image image_between(const struct sorter *s, uint64_t least, uint64_t greatest) {
    const uint64_t sign = UINT64_C(1) << (8 * s->kernel->item_nbytes - 1);
    if (((least ^ greatest) & sign) != 0) return s->image;
    const bool negative = ((least ^ s->image.flip) & sign) != 0;
    return (struct sort_image){s->image.flip ^ (negative ? s->image.when_negative : 0), 0};
}

static uint64_t chunk_begin(const struct together *t, uint32_t i) { return min_u64(t->n, i * t->chunk); }

static void exchange_task(void *arg, uint32_t i) {
    struct together *t = arg;
    const uint64_t begin = chunk_begin(t, i), n = chunk_begin(t, i + 1) - begin;
    const unsigned char *const keys = t->keys + begin * t->s->kernel->item_nbytes;
    t->nlow_of[i] = n > 0 ? exchange(t->s, &t->image, keys, t->begin + begin, n, t->divider) : 0;
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

static uint64_t exchange_together(struct together *t, const struct part *p, uint64_t divider) {
    const uint32_t ntasks = t->s->ntasks;
    t->keys = p->keys;
    t->begin = p->begin;
    t->n = p->n;
    t->chunk = (p->n + ntasks - 1) / ntasks;
    t->divider = divider;
    t->image = image_between(t->s, p->least, p->greatest);
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

/* To [n] from keys, which may be `to`: at once, in slots or, without vector code, by digits. */
static void sort_leaf(const struct sorter *s, unsigned char *to, const unsigned char *keys, uint64_t n, uint32_t task) {
    struct sort_bench *const bench = s->benches != NULL ? (void *)(s->benches + task * s->bench_nbytes) : NULL;
    struct sorter halves = *s; /* if slots do not do */
    halves.out.keys = to;
    halves.slots_items = 0;
    const struct sort_leaf leaf = {.source = {.arrays = {(unsigned char *)keys, NULL}, .n = (uint32_t)n},
                                   .to = {to, NULL},
                                   .image = s->image,
                                   .bench = bench,
                                   .area = bench != NULL ? bench->area : NULL,
                                   .area_nbytes = bench != NULL ? s->bench_nbytes - sizeof *bench : 0,
                                   .table = bench != NULL ? (uint32_t *)(void *)(s->tables + task * s->table_nbytes) : NULL,
                                   .table_items = s->table_nbytes / sizeof(uint32_t),
                                   .by_line = s->by_line,
                                   .vector = s->vector,
                                   .sorter = &halves};
    s->kernel->leaf(&leaf, 0, 8 * s->kernel->item_nbytes);
}

bool sort_if_few(const struct sorter *s, uint64_t n, bool *heavy) {
    *heavy = false;
    return s->vector != NULL && sort_seem_few(s, s->in.keys, n, heavy) && s->vector->few(s->out.keys, s->in.keys, n, &s->image);
}

/* Sorts a part of few different values; false if there are more. */
static bool count_part(const struct sorter *s, const struct part *p) {
    return s->vector != NULL && s->vector->few(keys_of(s, p->begin), p->keys, p->n, &s->image);
}

static uint64_t divide(const struct sorter *s, struct part *p, uint64_t divider, struct together *t) {
    const struct sort_image image = image_between(s, p->least, p->greatest);
    const uint64_t nlow = t != NULL ? exchange_together(t, p, divider) : exchange(s, &image, p->keys, p->begin, p->n, divider);
    p->keys = keys_of(s, p->begin);
    return nlow;
}

/* Divides a part in two: returns the lower one; the other becomes *p. Either may be empty, and both are if the part is sorted already. */
static struct part halve(const struct sorter *s, struct part *p, struct together *t) {
    uint64_t divider = p->least + (p->greatest - p->least) / 2 + 1;
    if (p->by_sample) {
        const struct sort_median sample = sort_median_of(s, p->keys, p->n);
        if (sample.few && t == NULL && count_part(s, p)) return (struct part){.n = p->n = 0};
        p->repeats |= sample.repeats;
        divider = sample.image;
    }
    uint64_t nlow = divider == p->least ? 0 : divide(s, p, divider, t);
    if (p->by_sample && nlow == 0) { /* the median is the least key */
        p->least = divider;
        if (divider == p->greatest) return (struct part){0};
        nlow = divide(s, p, ++divider, t);
    }
    if (min_u64(nlow, p->n - nlow) < p->n / WORST_SHARE) p->by_sample = !p->by_sample;
    const struct part low = {p->keys, p->begin, nlow, p->least, divider - 1, p->by_sample, p->repeats};
    p->keys += nlow * s->kernel->item_nbytes;
    p->begin += nlow;
    p->n -= nlow;
    p->least = divider;
    return low;
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
    if (p.n == 0) return;
    unsigned char *const to = keys_of(s, p.begin);
    if (p.n == 1 || p.least == p.greatest) {
        if (p.keys != to) memcpy(to, p.keys, p.n * s->kernel->item_nbytes);
    } else if (t == NULL)
        sort_leaf(s, to, p.keys, p.n, task);
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
    own.leaf_items = s->slots_items > 0  ? s->slots_items
                     : s->vector != NULL ? SORT_GROUP_NBYTES / s->kernel->item_nbytes
                                         : s->kernel->leaf_items;
    return own;
}

static struct part part_of(const struct sorter *s, const struct sort_arrays *from, uint64_t begin, uint64_t n, bool by_sample) {
    const uint64_t greatest = sort_low_bits(8 * s->kernel->item_nbytes);
    const bool uneven = by_sample || s->image.when_negative != 0; /* the highest bits of floats are an exponent */
    return (struct part){from->keys + begin * s->kernel->item_nbytes, begin, n, 0, greatest, uneven, false};
}

/* The highest bits are left out if no two images differ in them, which a sample says first: the middle is then that of the others. (Signed
 * keys around 0 differ in all.) */
static void narrow_bounds(const struct sorter *s, struct part *p, const struct sort_arrays *from) {
    const uint64_t end = p->begin + p->n;
    for (uint64_t step = p->n / SAMPLE + 1;; step = 1) {
        const uint64_t varying = s->kernel->varying(from, &s->image, p->begin, end, step),
                       below = varying ? sort_low_bits(sort_bit_top(varying)) : 0;
        if (below == p->greatest) return;
        if (step > 1) continue;
        p->least = s->kernel->image_at(from, &s->image, p->begin) & ~below;
        p->greatest = p->least | below;
        return;
    }
}

void sort_exchange(const struct sorter *s, const struct sort_arrays *from, uint64_t begin, uint64_t n, bool by_sample) {
    const struct sorter own = exchanger(s);
    struct part all = part_of(s, from, begin, n, by_sample);
    if (!all.by_sample) narrow_bounds(s, &all, from);
    sort_part(&own, all, NULL, 0);
}

void sort_exchange_together(const struct sorter *s, const struct sort_arrays *from, uint64_t begin, uint64_t n, bool by_sample,
                            void *scratch) {
    struct sorter own = exchanger(s);
    own.ntasks = (uint32_t)min_u64(s->ntasks, max_u64(DIVIDING_TASKS, n / DIVIDING_ITEMS));
    const uint64_t nparts = own.ntasks * max_u64(1, min_u64(PARTS_A_TASK, n / own.ntasks / PART_ITEMS));
    struct together t = {.s = &own, .parts = scratch, .large = sort_share_items(n, nparts)};
    t.nlow_of = (uint64_t *)(void *)(t.parts + PARTS_MAX * own.ntasks);
    sort_part(&own, part_of(s, from, begin, n, by_sample), &t, 0);
    cpu_run(s->ctx, parts_task, &t, own.ntasks);
}
