/* data.c: the points' inputs: random, the same for every subject and every run.
 *
 * Scans: small numbers, so that float sums are exact (for 2^30 numbers of -8 to 8 a sum strays by some 2^17, far below 2^24); integer sums
 * of 8 and 16 bits wrap. Selections: keep percent of the elements are not zero, or, for compact_flags, have a flag. Sorts: see keys.c.
 * Text: see text.c; what is to be encoded is a text of n bytes, converted. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

/* ---- what a point means ------------------------------------------------------------------------------------------------------ */

#define PRIMITIVE_NAME(e, name)          name,
#define DISTRIBUTION_NAME(e, name, what) name,
#define DISTRIBUTION_WHAT(e, name, what) what,
static const char *const primitive_names[] = {PRIMITIVE_TABLE(PRIMITIVE_NAME)};
static const char *const distribution_names[] = {DISTRIBUTION_TABLE(DISTRIBUTION_NAME)};
static const char *const distribution_whats[] = {DISTRIBUTION_TABLE(DISTRIBUTION_WHAT)};
#undef PRIMITIVE_NAME
#undef DISTRIBUTION_NAME
#undef DISTRIBUTION_WHAT

const char *primitive_name(enum primitive primitive) { return primitive_names[primitive]; }
const char *distribution_name(enum distribution distribution) { return distribution_names[distribution]; }
const char *distribution_what(enum distribution distribution) { return distribution_whats[distribution]; }
size_t point_item_nbytes(const struct point *point) { return upsweep_type_nbytes(point->type); }
size_t point_values_nbytes(const struct point *point) { return (size_t)point->n * point->value_nbytes; }

bool point_sorts(const struct point *point) { return point->primitive >= SORT && point->primitive <= ARGSORT; }
bool point_is_text(const struct point *point) { return point->primitive >= UTF8_DECODE; }
bool point_converts(const struct point *point) { return point->primitive == UTF8_DECODE || point->primitive == UTF8_ENCODE; }
bool point_selects(const struct point *point) { return point->primitive >= COMPACT && point->primitive <= PARTITION_COPY; }

static bool stops_at_errors(const struct point *point) {
    return point->primitive == UTF8_VALIDATE || (point_converts(point) && point->mode == UPSWEEP_STRICT);
}

bool point_makes_sense(const struct point *point) {
    const enum distribution d = point->distribution;
    if (point_is_text(point) != (d >= ASCII)) return false;
    if (d == RUNS && !point_selects(point)) return false;
    if (d >= SORTED && d < ASCII && !point_sorts(point)) return false;
    if (d >= EQUAL && d < ASCII && d != FEW && point_item_nbytes(point) < 4) return false;
    if ((d == BAD || d == RANDOM) && stops_at_errors(point)) return false;
    return point->encoding != UPSWEEP_UTF8 || point->primitive == UTF8_DECODE;
}

double necessary_nbytes(const struct data *data, const struct point *point, uint64_t count) {
    const double item = (double)point_item_nbytes(point), n = (double)point->n;
    switch (point->primitive) {
    case COMPACT:
        return item * (n + (double)count);
    case COMPACT_FLAGS:
        return n + 2 * item * (double)count;
    case SORT_PAIRS:
        return 2 * (item + point->value_nbytes) * n;
    case ARGSORT:
        return (item + point->value_nbytes) * n;
    case UTF8_DECODE:
        return (double)data->in_nbytes + (double)(count * upsweep_encoding_nbytes(point->encoding));
    case UTF8_ENCODE:
        return (double)data->in_nbytes + (double)count;
    case UTF8_VALIDATE:
    case UTF8_COUNT:
        return (double)data->in_nbytes;
    default:
        return 2 * item * n;
    }
}

/* ---- inputs ------------------------------------------------------------------------------------------------------------------ */

/* Stores a number as an element of the type; integers are cut to its width. */
static inline void store(void *items, uint64_t i, upsweep_type type, int64_t value) {
    if (type == UPSWEEP_F32) {
        ((float *)items)[i] = (float)value;
    } else if (type == UPSWEEP_F64) {
        ((double *)items)[i] = (double)value;
    } else {
        store_bits(items, i, upsweep_type_nbytes(type), (uint64_t)value);
    }
}

struct filling {
    struct data *data;
    uint64_t kept[MAX_BLOCKS];
};

static void fill_addends(void *arg, uint32_t block, uint64_t first, uint64_t last) {
    const struct data *data = ((struct filling *)arg)->data;
    (void)block;
    for (uint64_t i = first; i < last; i++) store(data->in, i, data->point.type, (int64_t)(random_at(data->point.n, i) % 17) - 8);
}

/* Elements from 1 to 100 where they are kept, else 0; by flags, all from 1 to 100. */
static void fill_selection(void *arg, uint32_t block, uint64_t first, uint64_t last) {
    struct filling *filling = arg;
    const struct data *data = filling->data;
    const struct point *point = &data->point;
    uint64_t run = 0, nkept = 0;
    bool kept = false;
    for (uint64_t i = first; i < last; i++) {
        const uint64_t r = random_at(point->n, i);
        if (run-- == 0) {
            kept = (r >> 40) % 100 < point->keep;
            run = point->distribution == RUNS ? (r >> 20) % 500 : 0;
        }
        const int64_t value = (int64_t)(r % 100) + 1;
        if (data->flags != NULL) data->flags[i] = kept;
        store(data->in, i, point->type, kept || data->flags != NULL ? value : 0);
        nkept += kept;
    }
    filling->kept[block] = nkept;
}

static void fill_keys(void *arg, uint32_t block, uint64_t first, uint64_t last) {
    const struct data *data = ((struct filling *)arg)->data;
    (void)block;
    keys_fill(data->in, &data->point, first, last);
}

static void fill_values(void *arg, uint32_t block, uint64_t first, uint64_t last) {
    const struct data *data = ((struct filling *)arg)->data;
    const size_t nwords = data->point.value_nbytes / sizeof *data->values;
    (void)block;
    for (uint64_t i = first; i < last; i++) {
        for (size_t word = 0; word < nwords; word++) data->values[i * nwords + word] = value_word(i, word);
    }
}

/* has_keys: they are there already. */
static void fill_elements(struct data *data, bool has_keys) {
    static struct filling filling;
    const struct blocks blocks = blocks_of(data->point.n);
    filling.data = data;
    data->kept = data->point.n;
    if (data->point.primitive == SCAN) blocks_run(&blocks, fill_addends, &filling);
    if (point_sorts(&data->point) && !has_keys) blocks_run(&blocks, fill_keys, &filling);
    if (data->values != NULL) blocks_run(&blocks, fill_values, &filling);
    if (!point_selects(&data->point)) return;
    blocks_run(&blocks, fill_selection, &filling);
    data->kept = blocks_sum(&blocks, filling.kept);
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------ */

enum { IN, OUT, FLAGS, VALUES, VALUES_OUT };

/* The memory of one of the arrays, at least nbytes; NULL: there is none. What was in it may be gone. */
static void *have_room(struct data *data, int array, size_t nbytes) {
    struct room *room = &data->rooms[array];
    if (room->p != NULL && room->nbytes >= nbytes) return room->p;
    free(room->p);
    room->p = malloc(nbytes + 1);
    room->nbytes = room->p != NULL ? nbytes : 0;
    return room->p;
}

void data_free(struct data *data) {
    for (size_t i = 0; i < sizeof data->rooms / sizeof data->rooms[0]; i++) free(data->rooms[i].p);
    *data = (struct data){0};
}

static bool make_elements(struct data *data, bool has_keys) {
    const struct point *point = &data->point;
    const size_t n = (size_t)point->n, nbytes = n * point_item_nbytes(point);
    data->nitems = point->n;
    data->in_nbytes = nbytes;
    data->out_nbytes = point->primitive == PARTITION_COPY ? 2 * nbytes : nbytes; /* one array behind the other */
    data->in = have_room(data, IN, nbytes);
    data->out = have_room(data, OUT, data->out_nbytes);
    if (data->in == NULL || data->out == NULL) return false;
    if (point->primitive == COMPACT_FLAGS && (data->flags = have_room(data, FLAGS, n)) == NULL) return false;
    if (point->value_nbytes != 0) {
        data->values = have_room(data, VALUES, point_values_nbytes(point));
        data->values_out = have_room(data, VALUES_OUT, point_values_nbytes(point));
        if (data->values == NULL || data->values_out == NULL) return false;
    }
    fill_elements(data, has_keys);
    return true;
}

static bool make_text(struct data *data) {
    const struct point *point = &data->point;
    const size_t n = (size_t)point->n, unit_nbytes = upsweep_encoding_nbytes(point->encoding);
    const size_t most = point->encoding == UPSWEEP_UTF8 ? 3 : unit_nbytes; /* bytes that a byte of text may become */
    data->nitems = point->n;
    data->in_nbytes = n;
    data->out_nbytes = point->primitive == UTF8_DECODE ? n * most : 0;
    data->in = have_room(data, IN, data->in_nbytes);
    data->out = have_room(data, OUT, data->out_nbytes);
    if (data->in != NULL) text_fill(data->in, point->n, point->distribution);
    return data->in != NULL && data->out != NULL;
}

/* The text is made where the output will be. */
static bool make_units(struct data *data) {
    const struct point *point = &data->point;
    const size_t unit_nbytes = upsweep_encoding_nbytes(point->encoding), most = unit_nbytes == 2 ? 3 : 4; /* bytes of a unit in UTF-8 */
    const enum distribution script = point->distribution == BAD || point->distribution == RANDOM ? CHINESE : point->distribution;
    uint8_t *text = have_room(data, OUT, (size_t)point->n);
    if (text == NULL) return false;
    text_fill(text, point->n, script);
    data->nitems = text_convert(NULL, point->encoding, text, point->n);
    data->in_nbytes = (size_t)data->nitems * unit_nbytes;
    data->out_nbytes = (size_t)data->nitems * most;
    data->in = have_room(data, IN, data->in_nbytes);
    if (data->in == NULL) return false;
    text_convert(data->in, point->encoding, text, point->n);
    text_spoil(data->in, data->nitems, point->encoding, point->distribution);
    data->out = have_room(data, OUT, data->out_nbytes);
    return data->out != NULL;
}

/* Do the two points have the same elements, and do they have the same input? */
static bool same_elements(const struct point *a, const struct point *b) {
    return a->type == b->type && a->n == b->n && a->keep == b->keep && a->distribution == b->distribution && a->encoding == b->encoding;
}

static bool same_input(const struct point *a, const struct point *b) {
    return same_elements(a, b) && a->primitive == b->primitive && a->value_nbytes == b->value_nbytes;
}

bool data_make(struct data *data, const struct point *point) {
    static uint64_t nmade;
    const bool has_keys = data->in != NULL && point_sorts(&data->point) && point_sorts(point) && same_elements(&data->point, point);
    if (data->in != NULL && same_input(&data->point, point)) return true;
    struct data new = {.point = *point, .made = has_keys ? data->made : ++nmade};
    memcpy(new.rooms, data->rooms, sizeof new.rooms);
    *data = new;
    const bool ok = point->primitive == UTF8_ENCODE ? make_units(data)
                    : point_is_text(point)          ? make_text(data)
                                                    : make_elements(data, has_keys);
    if (!ok) data_free(data);
    return ok;
}
