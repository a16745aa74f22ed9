/* sort_tmpl.h: the kernels of the radix sort for one width of key and of value, included once for each pair by sort_kernels.c with
 *
 *   KEY       uint8_t ... uint64_t
 *   VALUE     uint32_t or uint64_t, or not defined: keys alone
 *   FN(name)  name with a suffix for the two
 *
 * Both ways of moving items, split (here) and leaf (sort_leaf_tmpl.h), are counting sorts: count the digits, sum the counts to where each
 * digit's bucket starts, move every item to its bucket. They differ in what keeps the open ends of the buckets in cache.
 *
 * split (any n): items of a tile are spread within L2 first, then every bucket's run is appended to its place in memory. Groups are whole
 * lines; what does not fill one is held back for the next tile, so that memory sees whole lines only.
 *
 *       tile of `from`     spread in L2             `to`
 *       2 0 1 2 1 0 ... -> [0 0 . .][1 1 . .][2 2 . .] -> ...0000|0000 ...1111|11.. (held: 11) ...2222|2222 */

typedef struct FN(item) {
    KEY key; /* its image */
#ifdef VALUE
    VALUE value;
#endif
} FN(item);

/* Items to a group: whole lines of the narrower array; 16 if that is of bytes, whose lines would take too much room. */
#ifdef VALUE
#define VALUE_NBYTES sizeof(VALUE)
#define AREA_NBYTES  sizeof(FN(item))
#define GROUP        (sizeof(KEY) == 8 && sizeof(VALUE) == 8 ? 8u : 16u)
#else
#define VALUE_NBYTES 0u
#define AREA_NBYTES  (4 * sizeof(KEY)) /* columns are half empty, or less so */
#define GROUP        (sizeof(KEY) >= 4 ? SORT_LINE_NBYTES / (uint32_t)sizeof(KEY) : 16u)
#endif
#define PAIR_NBYTES ((uint32_t)(sizeof(KEY) + VALUE_NBYTES))
#define TILE_ITEMS  (SORT_AREA_NBYTES / 2 / PAIR_NBYTES / 64 * 64)
/* Bits of a split: for each bucket one held group, and up to two more for the ends of its run. */
#define MAX_BUCKETS    (SORT_AREA_NBYTES / 2 / (3u * GROUP * PAIR_NBYTES))
#define SPLIT_MAX_BITS (MAX_BUCKETS >= 1024 ? 10u : MAX_BUCKETS >= 512 ? 9u : 8u)
_Static_assert(MAX_BUCKETS >= 1u << SORT_SPLIT_MIN_BITS, "the area must hold the open groups of the narrowest split");

/* ---- one item ---------------------------------------------------------------------------------------------------------------- */

static inline KEY FN(convert)(KEY raw, const struct sort_image *image) {
    const KEY negative = (KEY)(0u - (raw >> (sizeof(KEY) * 8 - 1)));
    return (KEY)(raw ^ (KEY)image->flip ^ (negative & (KEY)image->when_negative));
}

static inline KEY FN(unconvert)(KEY key, const struct sort_image *image) {
    const KEY flipped = (KEY)(key ^ (KEY)image->flip);
    const KEY negative = (KEY)(0u - (flipped >> (sizeof(KEY) * 8 - 1)));
    return (KEY)(flipped ^ (negative & (KEY)image->when_negative));
}

/* memcpy: the caller's keys may be floats, and values lie anywhere. */
static inline KEY FN(raw_at)(const struct sort_arrays *from, uint64_t i) {
    KEY raw;
    memcpy(&raw, from->keys + i * sizeof raw, sizeof raw);
    return raw;
}

static inline KEY FN(key_at)(const struct sort_arrays *from, const struct sort_image *image, uint64_t i) {
    return FN(convert)(FN(raw_at)(from, i), image);
}

#ifdef VALUE
static inline VALUE FN(value_at)(const struct sort_arrays *from, uint64_t i) {
    VALUE value = (VALUE)i;
    if (from->values) memcpy(&value, from->values + i * sizeof value, sizeof value);
    return value;
}
#endif

static inline FN(item) FN(load)(const struct sort_arrays *from, const struct sort_image *image, uint64_t i) {
    FN(item) item;
    item.key = FN(key_at)(from, image, i);
#ifdef VALUE
    item.value = FN(value_at)(from, i);
#endif
    return item;
}

static inline void FN(store)(const struct sort_arrays *to, const struct sort_image *image, uint64_t i, FN(item) item) {
    const KEY raw = FN(unconvert)(item.key, image);
    memcpy(to->keys + i * sizeof raw, &raw, sizeof raw);
#ifdef VALUE
    memcpy(to->values + i * sizeof item.value, &item.value, sizeof item.value);
#endif
}

static inline uint32_t FN(digit)(KEY key, uint32_t shift, uint32_t mask) { return (uint32_t)(key >> shift) & mask; }

/* ---- whole ranges ------------------------------------------------------------------------------------------------------------ */

static uint64_t FN(varying)(const struct sort_arrays *from, const struct sort_image *image, uint64_t begin, uint64_t end, uint64_t step) {
    const KEY first = FN(key_at)(from, image, begin);
    KEY varying = 0;
    if (step == 1) {
        for (uint64_t i = begin; i < end; i++) varying = (KEY)(varying | (FN(key_at)(from, image, i) ^ first));
    } else {
        for (uint64_t i = begin; i < end; i += step) varying = (KEY)(varying | (FN(key_at)(from, image, i) ^ first));
    }
    return varying;
}

static void FN(copy)(const struct sort_arrays *to, const struct sort_arrays *from, uint64_t begin, uint64_t end) {
    const size_t n = (size_t)(end - begin);
    if (to->keys != from->keys) memcpy(to->keys + begin * sizeof(KEY), from->keys + begin * sizeof(KEY), n * sizeof(KEY));
#ifdef VALUE
    if (to->values == from->values) return;
    for (uint64_t i = begin; i < end; i++) {
        const VALUE value = FN(value_at)(from, i);
        memcpy(to->values + i * sizeof value, &value, sizeof value);
    }
#endif
}

/* ---- split ------------------------------------------------------------------------------------------------------------------- */

/* Two tables by turns: sorted keys would wait for the increment before, of the same counter. */
static KEY FN(count_tile)(const struct sort_split *s, uint64_t begin, uint64_t end, uint32_t *counts) {
    const uint32_t nbuckets = 1u << s->bits, mask = nbuckets - 1, shift = s->shift;
    const struct sort_arrays from = s->from; /* copies, which no store to counts can change */
    const struct sort_image image = s->image;
    uint32_t odd[1u << SPLIT_MAX_BITS];
    memset(counts, 0, nbuckets * sizeof *counts);
    memset(odd, 0, nbuckets * sizeof *odd);
    const KEY first = FN(key_at)(&from, &image, begin);
    KEY varying = 0;
    uint64_t i = begin;
    for (; i + 2 <= end; i += 2) {
        const KEY a = FN(key_at)(&from, &image, i), b = FN(key_at)(&from, &image, i + 1);
        varying = (KEY)(varying | (a ^ first) | (b ^ first));
        counts[FN(digit)(a, shift, mask)]++;
        odd[FN(digit)(b, shift, mask)]++;
    }
    if (i < end) {
        const KEY a = FN(key_at)(&from, &image, i);
        varying = (KEY)(varying | (a ^ first));
        counts[FN(digit)(a, shift, mask)]++;
    }
    for (uint32_t d = 0; d < nbuckets; d++) counts[d] += odd[d];
    return varying;
}

static uint64_t FN(count)(const struct sort_split *s, uint64_t begin, uint64_t end, uint64_t *counts) {
    uint32_t tile_counts[1u << SPLIT_MAX_BITS];
    const KEY first = FN(key_at)(&s->from, &s->image, begin);
    KEY varying = 0;
    for (uint64_t tile = begin; tile < end; tile += TILE_ITEMS) {
        const uint64_t tile_end = end - tile < TILE_ITEMS ? end : tile + TILE_ITEMS;
        const KEY tile_first = FN(key_at)(&s->from, &s->image, tile);
        varying = (KEY)(varying | FN(count_tile)(s, tile, tile_end, tile_counts) | (tile_first ^ first));
        for (uint32_t d = 0; d < 1u << s->bits; d++) counts[d] += tile_counts[d];
    }
    return varying;
}

/* The area during a split. `first` [d] is the index in `to` of the first item of bucket d that is still here, next [d] that of the item to
 * come. Both are counted from the line that holds item 0 (`skew` items before it), so that a multiple of GROUP is the start of a line. */
typedef struct FN(tile) {
    KEY *held_keys; /* [buckets][GROUP]: the open group of each bucket between tiles */
    KEY *keys;      /* the runs of a tile, each from the start of a group */
#ifdef VALUE
    VALUE *held_values, *values;
#endif
    uint64_t *next;
    uint64_t first[1u << SPLIT_MAX_BITS];
    uint32_t place[1u << SPLIT_MAX_BITS]; /* where in the runs the next item of a bucket goes */
    uint64_t skew;
    bool stream_keys, stream_values;
} FN(tile);

static inline uint32_t FN(round_up)(uint32_t nitems) { return (nitems + GROUP - 1) & ~(GROUP - 1); }

static void FN(open_tile)(FN(tile) * t, const struct sort_split *s, struct sort_bench *bench) {
    const uint32_t nbuckets = 1u << s->bits;
    unsigned char *area = bench->area;
    t->held_keys = (KEY *)(void *)area;
    area += nbuckets * GROUP * sizeof(KEY);
#ifdef VALUE
    t->held_values = (VALUE *)(void *)area;
    area += nbuckets * GROUP * sizeof(VALUE);
    t->values = (VALUE *)(void *)area;
    area += (TILE_ITEMS + 2 * nbuckets * GROUP) * sizeof(VALUE);
#endif
    t->keys = (KEY *)(void *)area;
    t->skew = (uintptr_t)s->to.keys / sizeof(KEY) % GROUP;
    t->stream_keys = s->stream && GROUP * sizeof(KEY) % SORT_LINE_NBYTES == 0;
    t->stream_values = s->stream && ((uintptr_t)s->to.values - t->skew * VALUE_NBYTES) % SORT_LINE_NBYTES == 0;
    t->next = bench->next;
    for (uint32_t d = 0; d < nbuckets; d++) t->first[d] = t->next[d] += t->skew;
}

/* Gives each bucket room for its items of the tile after what it holds. */
static void FN(lay_out_runs)(FN(tile) * t, const uint32_t *counts, uint32_t nbuckets) {
    uint32_t start = 0;
    for (uint32_t d = 0; d < nbuckets; d++) {
        memcpy(t->keys + start, t->held_keys + d * GROUP, GROUP * sizeof(KEY));
#ifdef VALUE
        memcpy(t->values + start, t->held_values + d * GROUP, GROUP * sizeof(VALUE));
#endif
        t->place[d] = start + (uint32_t)(t->next[d] - t->first[d] / GROUP * GROUP);
        start += FN(round_up)(t->place[d] - start + counts[d]);
    }
}

static void FN(spread_tile)(FN(tile) * t, const struct sort_split *s, uint64_t begin, uint64_t end) {
    const uint32_t mask = (1u << s->bits) - 1, shift = s->shift;
    const struct sort_arrays from = s->from;
    const struct sort_image image = s->image;
    uint32_t *place = t->place;
    KEY *keys = t->keys;
#ifdef VALUE
    VALUE *values = t->values;
#endif
    for (uint64_t i = begin; i < end; i++) {
        const KEY raw = FN(raw_at)(&from, i);
        const uint32_t p = place[FN(digit)(FN(convert)(raw, &image), shift, mask)]++;
        keys[p] = raw;
#ifdef VALUE
        values[p] = FN(value_at)(&from, i);
#endif
    }
}

/* Writes `nitems` items, the first of them at run[from % GROUP], to item `from` (counted with the skew) of `to`. */
static inline void FN(write_run)(const FN(tile) * t, const struct sort_split *s, uint32_t start, uint64_t from, uint64_t nitems) {
    const uint64_t skip = from % GROUP, at = from - t->skew;
    sort_write(s->to.keys + at * sizeof(KEY), t->keys + start + skip, nitems * sizeof(KEY), t->stream_keys);
#ifdef VALUE
    sort_write(s->to.values + at * sizeof(VALUE), t->values + start + skip, nitems * sizeof(VALUE), t->stream_values);
#endif
}

/* Appends the whole groups of each run to its bucket and holds back the open one; all of it after the last tile. */
static void FN(write_runs)(FN(tile) * t, const struct sort_split *s, bool last) {
    uint32_t start = 0;
    for (uint32_t d = 0; d < 1u << s->bits; d++) {
        const uint64_t base = t->first[d] / GROUP * GROUP;
        const uint32_t nfilled = t->place[d] - start, nwhole = nfilled & ~(GROUP - 1);
        const uint64_t until = base + (last ? nfilled : nwhole);
        if (until > t->first[d]) {
            FN(write_run)(t, s, start, t->first[d], until - t->first[d]);
            t->first[d] = until;
        }
        memcpy(t->held_keys + d * GROUP, t->keys + start + nwhole, GROUP * sizeof(KEY));
#ifdef VALUE
        memcpy(t->held_values + d * GROUP, t->values + start + nwhole, GROUP * sizeof(VALUE));
#endif
        t->next[d] = base + nfilled;
        start += FN(round_up)(nfilled);
    }
}

/* Within the caches every item goes straight to its place. */
static void FN(scatter_directly)(const struct sort_split *s, uint64_t begin, uint64_t end, uint64_t *next) {
    const uint32_t mask = (1u << s->bits) - 1, shift = s->shift;
    const struct sort_arrays from = s->from, to = s->to;
    const struct sort_image image = s->image;
    for (uint64_t i = begin; i < end; i++) {
        const KEY raw = FN(raw_at)(&from, i);
        const uint64_t at = next[FN(digit)(FN(convert)(raw, &image), shift, mask)]++;
        memcpy(to.keys + at * sizeof raw, &raw, sizeof raw);
#ifdef VALUE
        const VALUE value = FN(value_at)(&from, i);
        memcpy(to.values + at * sizeof value, &value, sizeof value);
#endif
    }
}

static void FN(scatter)(const struct sort_split *s, uint64_t begin, uint64_t end, struct sort_bench *bench) {
    if (!s->stream) {
        FN(scatter_directly)(s, begin, end, bench->next);
        return;
    }
    FN(tile) t;
    uint32_t counts[1u << SPLIT_MAX_BITS];
    FN(open_tile)(&t, s, bench);
    for (uint64_t tile = begin; tile < end; tile += TILE_ITEMS) {
        const bool last = end - tile <= TILE_ITEMS;
        const uint64_t tile_end = last ? end : tile + TILE_ITEMS;
        FN(count_tile)(s, tile, tile_end, counts);
        FN(lay_out_runs)(&t, counts, 1u << s->bits);
        FN(spread_tile)(&t, s, tile, tile_end);
        FN(write_runs)(&t, s, last);
    }
    sort_write_fence();
}

#include "sort_leaf_tmpl.h"

static const struct sort_kernel FN(kernel) = {
    .leaf_items = sizeof(FN(item)) > 8 ? SORT_AREA_NBYTES / sizeof(FN(item)) : SORT_AREA_NBYTES / 8,
    .item_nbytes = sizeof(FN(item)),
    .area_nbytes = AREA_NBYTES,
    .split_max_bits = SPLIT_MAX_BITS,
    .varying = FN(varying),
    .count = FN(count),
    .scatter = FN(scatter),
    .copy = FN(copy),
    .leaf = FN(leaf),
};

#undef VALUE_NBYTES
#undef AREA_NBYTES
#undef GROUP
#undef PAIR_NBYTES
#undef TILE_ITEMS
#undef MAX_BUCKETS
#undef SPLIT_MAX_BITS
