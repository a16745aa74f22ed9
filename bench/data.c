/* data.c: the points' inputs: random, the same for every subject and every run.
 *
 * Scans: small numbers, so that float sums are exact (for 2^30 numbers of -8 to 8 a sum strays by some 2^17, far below 2^24); integer sums
 * of 8 and 16 bits wrap. Selections: keep percent of the elements are not zero, or, for compact_flags, have a flag. Sorts: all bits random,
 * or sorted, or reversed, or one of fifty values. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

/* ---- what a point means ------------------------------------------------------------------------------------------------------ */

#define NAME_ROW(e, name) name,
static const char *const primitive_names[] = {PRIMITIVE_TABLE(NAME_ROW)};
static const char *const distribution_names[] = {DISTRIBUTION_TABLE(NAME_ROW)};
#undef NAME_ROW

const char *primitive_name(enum primitive primitive) { return primitive_names[primitive]; }
const char *distribution_name(enum distribution distribution) { return distribution_names[distribution]; }
size_t point_item_nbytes(const struct point *point) { return upsweep_type_nbytes(point->type); }

bool point_sorts(const struct point *point) { return point->primitive == SORT || point->primitive == SORT_PAIRS; }
bool point_selects(const struct point *point) { return point->primitive != SCAN && !point_sorts(point); }

double point_nbytes(const struct point *point, uint64_t kept) {
    const double item = (double)point_item_nbytes(point), n = (double)point->n, nkept = (double)kept;
    switch (point->primitive) {
    case COMPACT:
        return item * (n + nkept);
    case COMPACT_FLAGS:
        return n + 2 * item * nkept;
    case SORT_PAIRS:
        return 2 * (item + sizeof(uint32_t)) * n;
    default:
        return 2 * item * n;
    }
}

/* ---- random numbers ---------------------------------------------------------------------------------------------------------- */

/* Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014. */
static inline uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Stores a number as an element of the type; integers are cut to its width. */
static inline void store(void *items, uint64_t i, upsweep_type type, int64_t value) {
    switch (upsweep_type_nbytes(type)) {
    case 1:
        ((uint8_t *)items)[i] = (uint8_t)value;
        return;
    case 2:
        ((uint16_t *)items)[i] = (uint16_t)value;
        return;
    case 4:
        if (type == UPSWEEP_F32) {
            ((float *)items)[i] = (float)value;
        } else {
            ((uint32_t *)items)[i] = (uint32_t)value;
        }
        return;
    default:
        if (type == UPSWEEP_F64) {
            ((double *)items)[i] = (double)value;
        } else {
            ((uint64_t *)items)[i] = (uint64_t)value;
        }
    }
}

/* ---- inputs ------------------------------------------------------------------------------------------------------------------ */

static void fill_addends(struct data *data, uint64_t *random) {
    for (uint64_t i = 0; i < data->point.n; i++) store(data->in, i, data->point.type, (int64_t)(next_random(random) % 17) - 8);
}

/* Elements from 1 to 100 where they are kept, else 0; by flags, all from 1 to 100. */
static void fill_selection(struct data *data, uint64_t *random) {
    const struct point *point = &data->point;
    uint64_t run = 0;
    bool kept = false;
    data->kept = 0;
    for (uint64_t i = 0; i < point->n; i++) {
        const uint64_t r = next_random(random);
        if (run-- == 0) {
            kept = (r >> 40) % 100 < point->keep;
            run = point->distribution == RUNS ? (r >> 20) % 500 : 0;
        }
        const int64_t value = (int64_t)(r % 100) + 1;
        if (data->flags != NULL) data->flags[i] = kept;
        store(data->in, i, point->type, kept || data->flags != NULL ? value : 0);
        data->kept += kept;
    }
}

/* Floats get whole numbers over the range of an int32_t; integers all their bits. Sorted: the top bits count up. */
static void fill_keys(struct data *data, uint64_t *random) {
    const struct point *point = &data->point;
    const uint32_t bits = (uint32_t)(8 * point_item_nbytes(point));
    const bool is_float = point->type == UPSWEEP_F32 || point->type == UPSWEEP_F64;
    const double step = (is_float ? 4294967296.0 : bits == 64 ? 9e18 : (double)(UINT64_C(1) << bits)) / (double)point->n;
    for (uint64_t i = 0; i < point->n; i++) {
        uint64_t key = next_random(random);
        if (is_float) key >>= 32;
        if (point->distribution == FEW) key %= 50;
        if (point->distribution == SORTED) key = (uint64_t)(step * (double)i);
        if (point->distribution == REVERSED) key = (uint64_t)(step * (double)(point->n - 1 - i));
        store(data->in, i, point->type, (int64_t)key);
    }
}

static void *allocate(uint64_t n, size_t item_nbytes) {
    void *items = malloc((size_t)n * item_nbytes + 1);
    if (items != NULL) memset(items, 0xAB, (size_t)n * item_nbytes);
    return items;
}

void data_free(struct data *data) {
    free(data->in);
    free(data->out);
    free(data->flags);
    free(data->values);
    free(data->values_out);
    *data = (struct data){0};
}

/* Do the two points have the same input? */
static bool same_input(const struct point *a, const struct point *b) {
    return a->primitive == b->primitive && a->type == b->type && a->n == b->n && a->keep == b->keep && a->distribution == b->distribution;
}

bool data_make(struct data *data, const struct point *point) {
    if (data->in != NULL && same_input(&data->point, point)) return true;
    data_free(data);
    data->point = *point;
    data->in = allocate(point->n, point_item_nbytes(point));
    data->out = allocate(point->n, point_item_nbytes(point));
    bool ok = data->in != NULL && data->out != NULL;
    if (point->primitive == COMPACT_FLAGS) ok = (data->flags = allocate(point->n, 1)) != NULL && ok;
    if (point->primitive == SORT_PAIRS) {
        data->values = allocate(point->n, sizeof *data->values);
        data->values_out = allocate(point->n, sizeof *data->values_out);
        ok = ok && data->values != NULL && data->values_out != NULL;
    }
    if (!ok) {
        data_free(data);
        return false;
    }
    uint64_t random = point->n;
    data->kept = point->n;
    if (point->primitive == SCAN) fill_addends(data, &random);
    if (point_selects(point)) fill_selection(data, &random);
    if (point_sorts(point)) fill_keys(data, &random);
    for (uint64_t i = 0; data->values != NULL && i < point->n; i++) data->values[i] = (uint32_t)i;
    return true;
}
