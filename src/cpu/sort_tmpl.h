/* sort_tmpl.h: the kernels of the radix sort for one width of key and of value, included once for each pair by sort_kernels.c with
 *
 *   KEY       uint8_t ... uint64_t
 *   VALUE     uint32_t or uint64_t, or not defined: keys alone
 *   FN(name)  name with a suffix for the two
 *
 * Both ways of moving items, split (here) and leaf (sort_leaf_tmpl.h), put every item behind the last one of its digit. They differ in what
 * keeps the open ends of the buckets in cache.
 *
 * split (any n): each bucket has a block in L2. A block that is full is appended to the task's log, past the caches if the array is large;
 * nothing is counted beforehand, memory sees whole lines in one sequential stream, and `to` is not needed: so one pass serves sorts in
 * place.
 *
 *       from                blocks in L2          log
 *       2 0 1 2 1 0 ... -> [0 0 0 .][1 .][2 2] -> [2222][0000][2222][1111][0000] ...    0: 1 -> 4 -> ..., 1: 3 -> ..., 2: 0 -> 2 -> ... */

typedef struct FN(item) {
    KEY key; /* its image in the area, raw in a log */
#ifdef VALUE
    VALUE value;
#endif
} FN(item);

#ifdef VALUE
#define VALUE_NBYTES sizeof(VALUE)
#else
#define VALUE_NBYTES 0
#endif
/* The most that a leaf can take: the area full. */
#define LEAF_ITEMS (SORT_AREA_NBYTES / (uint32_t)sizeof(FN(item)))
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

static inline FN(item) FN(load_raw)(const struct sort_arrays *from, uint64_t i) {
    FN(item) item;
    item.key = FN(raw_at)(from, i);
#ifdef VALUE
    item.value = FN(value_at)(from, i);
#endif
    return item;
}

static inline FN(item) FN(load)(const struct sort_arrays *from, const struct sort_image *image, uint64_t i) {
    FN(item) item = FN(load_raw)(from, i);
    item.key = FN(convert)(item.key, image);
    return item;
}

/* Item i of a piece, its key raw. `in_log` is piece->in_log, where it is known to the compiler. */
static inline FN(item) FN(item_at)(const struct sort_piece *piece, uint32_t i, bool in_log) {
    if (!in_log) return FN(load_raw)(&piece->from, piece->begin + i);
    FN(item) item;
    memcpy(&item, piece->from.keys + i * sizeof item, sizeof item);
    return item;
}

static inline void FN(store_raw)(const struct sort_arrays *to, uint64_t i, FN(item) item) {
    memcpy(to->keys + i * sizeof item.key, &item.key, sizeof item.key);
#ifdef VALUE
    memcpy(to->values + i * sizeof item.value, &item.value, sizeof item.value);
#endif
}

static inline void FN(store)(const struct sort_arrays *to, const struct sort_image *image, uint64_t i, FN(item) item) {
    item.key = FN(unconvert)(item.key, image);
    FN(store_raw)(to, i, item);
}

static inline uint32_t FN(digit)(KEY key, uint32_t shift, uint32_t mask) { return (uint32_t)(key >> shift) & mask; }

/* ---- whole ranges ------------------------------------------------------------------------------------------------------------ */

static uint64_t FN(image_at)(const struct sort_arrays *from, const struct sort_image *image, uint64_t i) {
    return FN(key_at)(from, image, i);
}

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

/* Neighbours out of order in [begin, end): a stretch at a time, without a branch a key; random keys are found out in the first. Equal keys
 * may change places if that is all there is to them. */
static enum sort_order FN(order)(const struct sort_arrays *from, const struct sort_image *image, uint64_t begin, uint64_t end,
                                 uint64_t mask) {
    const bool alike = VALUE_NBYTES == 0 && (KEY)mask == (KEY)-1;
    KEY rises = 0, falls = 0, stays = 0; /* as wide as keys, so that vectors hold them */
    for (uint64_t i = begin; i + 1 < end;) {
        const uint64_t until = end - 1 - i < SORT_ORDER_SAMPLE ? end - 1 : i + SORT_ORDER_SAMPLE;
        for (; i < until; i++) {
            const KEY a = (KEY)(FN(key_at)(from, image, i) & mask), b = (KEY)(FN(key_at)(from, image, i + 1) & mask);
            rises = (KEY)(rises | (a < b));
            falls = (KEY)(falls | (a > b));
            stays = (KEY)(stays | (a == b));
        }
        if (falls && rises) return SORT_MIXED;
    }
    return !falls ? SORT_ASCENDING : stays && !alike ? SORT_DESCENDING_TIES : SORT_DESCENDING;
}

static void FN(copy)(const struct sort_arrays *to, const struct sort_arrays *from, uint64_t begin, uint64_t end) {
    const size_t n = (size_t)(end - begin);
    if (to->keys != from->keys) memcpy(to->keys + begin * sizeof(KEY), from->keys + begin * sizeof(KEY), n * sizeof(KEY));
#ifdef VALUE
    if (to->values == from->values) return;
    if (from->values != NULL) memcpy(to->values + begin * sizeof(VALUE), from->values + begin * sizeof(VALUE), n * sizeof(VALUE));
    for (uint64_t i = from->values == NULL ? begin : end; i < end; i++) {
        const VALUE value = (VALUE)i;
        memcpy(to->values + i * sizeof value, &value, sizeof value);
    }
#endif
}

static void FN(reverse)(const struct sort_arrays *to, const struct sort_arrays *from, uint64_t n, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; i++) {
        const FN(item) a = FN(load_raw)(from, i), b = FN(load_raw)(from, n - 1 - i);
        FN(store_raw)(to, i, b);
        FN(store_raw)(to, n - 1 - i, a);
    }
}

static void FN(turn_round)(const struct sort_arrays *to, uint64_t begin, uint64_t end) {
    for (; begin + 1 < end; begin++, end--) {
        const FN(item) first = FN(load_raw)(to, begin), last = FN(load_raw)(to, end - 1);
        FN(store_raw)(to, begin, last);
        FN(store_raw)(to, end - 1, first);
    }
}

static bool FN(ties)(const struct sort_arrays *to, const struct sort_image *image, uint64_t i, uint64_t mask) {
    return ((FN(key_at)(to, image, i) ^ FN(key_at)(to, image, i - 1)) & (KEY)mask) == 0;
}

/* A stretch at a time, too, of which vectors say that it has none. */
static void FN(reverse_ties)(const struct sort_arrays *to, const struct sort_image *image, uint64_t n, uint64_t mask) {
    uint64_t run = 0; /* begins here, and ends before i */
    for (uint64_t i = 1; i < n;) {
        const uint64_t until = n - i < SORT_ORDER_SAMPLE ? n : i + SORT_ORDER_SAMPLE;
        KEY any = 0;
        for (uint64_t k = i; k < until; k++) any = (KEY)(any | FN(ties)(to, image, k, mask));
        for (; any && i < until; i++) {
            if (FN(ties)(to, image, i, mask)) continue;
            FN(turn_round)(to, run, i);
            run = i;
        }
        if (any) continue;
        FN(turn_round)(to, run, i);
        i = until;
        run = i - 1;
    }
    FN(turn_round)(to, run, n);
}

#ifndef VALUE
/* Each key changes places with the first of the high ones before it; if it is high itself, no harm is done. No branch. */
static uint64_t FN(part)(void *to, const void *from, uint64_t n, const struct sort_image *image, uint64_t divider) {
    const struct sort_arrays in = {(unsigned char *)from, NULL}, out = {to, NULL};
    const struct sort_image copy = *image; /* which no store to the keys can change */
    uint64_t nlow = 0;
    for (uint64_t i = 0; i < n; i++) {
        const FN(item) key = FN(load_raw)(&in, i);
        if (nlow < i) FN(store_raw)(&out, i, FN(load_raw)(&out, nlow));
        FN(store_raw)(&out, nlow, key);
        nlow += FN(convert)(key.key, &copy) < divider;
    }
    return nlow;
}
#endif

/* ---- split ------------------------------------------------------------------------------------------------------------------- */

/* The blocks that are open, in the area, each a line further from the next than it is long: buckets that fill evenly would else meet in the
 * same sets of L1. */
typedef struct FN(blocks) {
    FN(item) * items;
    uint32_t stride;
    bool stream;
    struct sort_log *log;
    uint64_t place[1u << SORT_SPLIT_MAX_BITS]; /* of a bucket's next item: its index in the area, less 2^32 times the room in the block */
} FN(blocks);

static inline uint64_t FN(empty_block)(const FN(blocks) * b, uint32_t d) { return d * b->stride - ((uint64_t)b->log->block_items << 32); }

#define NEXT_PLACE ((UINT64_C(1) << 32) + 1) /* one on, one less room: it overflows when there is none */

static void FN(open_blocks)(FN(blocks) * b, const struct sort_split *s, struct sort_bench *bench) {
    b->items = (FN(item) *)(void *)bench->area;
    b->log = &bench->log;
    b->stride = b->log->block_items + SORT_LINE_NBYTES / (uint32_t)sizeof(FN(item));
    b->stream = s->stream;
    for (uint32_t d = 0; d < 1u << s->bits; d++) {
        b->place[d] = FN(empty_block)(b, d);
        b->log->counts[d] = 0;
    }
}

/* Appends the block of bucket d to the log: `nitems` of it count. */
static __attribute__((noinline)) void FN(close_block)(FN(blocks) * b, uint32_t d, uint32_t nitems) {
    struct sort_log *log = b->log;
    const uint32_t block = log->nblocks++;
    const size_t nbytes = log->block_items * sizeof(FN(item));
    sort_write_block(log->blocks + block * (uint64_t)nbytes, &b->items[d * b->stride], nbytes, b->stream);
    if (log->counts[d] == 0)
        log->first[d] = block;
    else
        log->next[log->last[d]] = block;
    log->last[d] = block;
    log->counts[d] += nitems;
    b->place[d] = FN(empty_block)(b, d);
}

enum { FN(stretch) = 256 }; /* items whose digits are computed together, in vectors */

/* Items [begin, begin + n), whose digits are given. */
static void FN(fill_blocks)(FN(blocks) * b, const struct sort_arrays *arrays, uint64_t begin, uint32_t n, const int32_t *digits) {
    const struct sort_arrays from = *arrays; /* copies, which no store to the blocks can change */
    FN(item) *const items = b->items;
    UNROLLED for (uint32_t i = 0; i < n; i++) {
        const uint32_t d = (uint32_t)digits[i];
        const uint64_t place = b->place[d];
        items[(uint32_t)place] = FN(load_raw)(&from, begin + i);
        if (__builtin_add_overflow(place, NEXT_PLACE, &b->place[d])) FN(close_block)(b, d, b->log->block_items);
    }
}

/* The stretch of items after the next one: input from memory is late otherwise, as no hardware looks beyond a page. */
static inline void FN(prefetch)(const struct sort_arrays *from, uint64_t at, uint64_t end) {
    const uint64_t next = at + 2 * FN(stretch);
    if (end - at < 3 * FN(stretch)) return;
    for (uint32_t i = 0; i < FN(stretch); i += SORT_LINE_NBYTES / sizeof(KEY)) __builtin_prefetch(from->keys + (next + i) * sizeof(KEY));
#ifdef VALUE
    if (from->values == NULL) return;
    for (uint32_t i = 0; i < FN(stretch); i += SORT_LINE_NBYTES / sizeof(VALUE))
        __builtin_prefetch(from->values + (next + i) * sizeof(VALUE));
#endif
}

/* Of items [begin, begin + n). Returns the bits in which an image differs from `first`. */
ALWAYS_INLINE KEY FN(find_digits)(int32_t digits[FN(stretch)], const struct sort_arrays *from, struct sort_image image, uint64_t begin,
                                  uint32_t n, KEY first, uint32_t shift, uint32_t mask) {
    KEY varying = 0;
    for (uint32_t i = 0; i < n; i++) {
        const KEY key = FN(key_at)(from, &image, begin + i);
        varying = (KEY)(varying | (key ^ first));
        digits[i] = (int32_t)FN(digit)(key, shift, mask);
    }
    return varying;
}

/* image: s->image, of which the compiler may know that there are no floats. Returns the bits in which the images differ. */
ALWAYS_INLINE KEY FN(fill_blocks_by_digit)(FN(blocks) * b, const struct sort_split *s, struct sort_image image, uint64_t begin,
                                           uint64_t end) {
    const KEY first = begin < end ? FN(key_at)(&s->from, &image, begin) : 0;
    int32_t digits[FN(stretch)];
    KEY varying = 0;
    for (uint64_t at = begin; at < end; at += FN(stretch)) {
        const uint32_t n = end - at < FN(stretch) ? (uint32_t)(end - at) : FN(stretch);
        FN(prefetch)(&s->from, at, end);
        varying = (KEY)(varying | FN(find_digits)(digits, &s->from, image, at, n, first, s->shift, (1u << s->bits) - 1));
        FN(fill_blocks)(b, &s->from, at, n, digits);
    }
    return varying;
}

/* The same between splitters, which know better in which bits the images of a bucket differ. */
static KEY FN(fill_blocks_by_splitters)(FN(blocks) * b, const struct sort_split *s, uint64_t begin, uint64_t end) {
    int32_t buckets[FN(stretch)];
    for (uint64_t at = begin; at < end; at += FN(stretch)) {
        const uint32_t n = end - at < FN(stretch) ? (uint32_t)(end - at) : FN(stretch);
        FN(prefetch)(&s->from, at, end);
        s->splitters->find(buckets, s->from.keys + at * sizeof(KEY), n, &s->image, s->splitters);
        FN(fill_blocks)(b, &s->from, at, n, buckets);
    }
    return 0;
}

#ifdef REAL
#include "sort_line_tmpl.h"
#endif

static uint64_t FN(split)(const struct sort_split *s, uint64_t begin, uint64_t end, struct sort_bench *bench) {
    const struct sort_image no_float = {s->image.flip, 0};
    FN(blocks) b;
    FN(open_blocks)(&b, s, bench);
    KEY varying;
    if (s->splitters != NULL) varying = FN(fill_blocks_by_splitters)(&b, s, begin, end);
#ifdef REAL
    else if (s->by_line)
        varying = FN(fill_blocks_by_line)(&b, s, begin, end);
#endif
    else
        varying = s->image.when_negative == 0 ? FN(fill_blocks_by_digit)(&b, s, no_float, begin, end)
                                              : FN(fill_blocks_by_digit)(&b, s, s->image, begin, end);
    for (uint32_t d = 0; d < 1u << s->bits; d++) {
        const uint32_t nitems = b.log->block_items + (uint32_t)(b.place[d] >> 32);
        if (nitems > 0) FN(close_block)(&b, d, nitems);
    }
    sort_write_fence();
    return varying;
}

static void FN(unload)(const struct sort_arrays *arrays, uint64_t begin, const struct sort_source *source) {
    const struct sort_arrays to = *arrays; /* a copy, which no store can change */
    struct sort_reader reader = {.source = source};
    struct sort_piece piece;
    while (sort_next_piece(&reader, sizeof(FN(item)), &piece)) {
        for (uint32_t i = 0; i < piece.n; i++) FN(store_raw)(&to, begin + i, FN(item_at)(&piece, i, true));
        begin += piece.n;
    }
}

#include "sort_leaf_tmpl.h"

static const struct sort_kernel FN(kernel) = {
    .leaf_items = LEAF_ITEMS,
    .item_nbytes = sizeof(FN(item)),
    .varying = FN(varying),
    .image_at = FN(image_at),
    .order = FN(order),
#ifdef REAL
    .line = FN(line),
    .line_spread = FN(line_spread),
#endif
    .split = FN(split),
    .unload = FN(unload),
    .copy = FN(copy),
    .reverse = FN(reverse),
    .reverse_ties = FN(reverse_ties),
#ifndef VALUE
    .part = FN(part),
#endif
    .leaf = FN(leaf),
};

#undef VALUE_NBYTES
#undef NEXT_PLACE
#undef LEAF_ITEMS
