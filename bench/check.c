/* check.c: is a result right? Each primitive is checked against its definition in one walk over input and output, with no expected array.
 *
 * Scan: a running sum. Selections: the input is walked and each kept element must be the next one of the output. Sorts: each key at least
 * the one before it, and, as a set, the same keys: the sums of a strong 64-bit mix of each element agree (two different sets pass with a
 * chance of 2^-64). Pairs: the same, with the mix of key and value, and values increasing among equal keys, which proves stability as they
 * begin with 0, 1, 2, ... Indices: as many as keys, whose keys, and among equal ones the indices, increase: so none is there twice.
 * Cost: O(n), about as long as making the input. The walk is done in blocks, on all cores: a first one over the input tells each block its
 * sum or its place. */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct checking {
    const struct data *data;
    const struct point *point;
    size_t nbytes; /* of an element */
    bool reversed_rest;
    union {
        uint64_t bits[MAX_BLOCKS];
        double real[MAX_BLOCKS];
    } before; /* of each block, then of those before it: the sum, the number of kept elements */
    uint64_t in_print[MAX_BLOCKS], out_print[MAX_BLOCKS];
    uint64_t wrong[MAX_BLOCKS]; /* the first index of out that is; UINT64_MAX: none */
};

static void note_wrong(struct checking *c, uint32_t block, uint64_t i) {
    if (i < c->wrong[block]) c->wrong[block] = i;
}

/* Runs the second walk, whose blocks note what is wrong. */
static bool find_wrong(struct checking *c, void (*work)(void *arg, uint32_t block, uint64_t first, uint64_t last), char error[256]) {
    const struct blocks blocks = blocks_of(c->point->n);
    uint64_t wrong = UINT64_MAX;
    memset(c->wrong, 0xFF, sizeof c->wrong);
    blocks_run(&blocks, work, c);
    for (uint32_t block = 0; block < blocks.count; block++) wrong = c->wrong[block] < wrong ? c->wrong[block] : wrong;
    if (wrong != UINT64_MAX) snprintf(error, 256, "wrong at index %" PRIu64, wrong);
    return wrong == UINT64_MAX;
}

/* The bits of an element. */
static inline uint64_t load(const void *items, uint64_t i, size_t item_nbytes) {
    switch (item_nbytes) {
    case 1:
        return ((const uint8_t *)items)[i];
    case 2:
        return ((const uint16_t *)items)[i];
    case 4:
        return ((const uint32_t *)items)[i];
    default:
        return ((const uint64_t *)items)[i];
    }
}

/* ---- scan -------------------------------------------------------------------------------------------------------------------- */

static inline double load_real(const void *items, uint64_t i, size_t item_nbytes) {
    return item_nbytes == 8 ? ((const double *)items)[i] : (double)((const float *)items)[i];
}

static void sum_reals(void *arg, uint32_t block, uint64_t first, uint64_t last) {
    struct checking *c = arg;
    double sum = 0; /* exact: see data.c */
    for (uint64_t i = first; i < last; i++) sum += load_real(c->data->in, i, c->nbytes);
    c->before.real[block] = sum;
}

static void check_reals(void *arg, uint32_t block, uint64_t first, uint64_t last) {
    struct checking *c = arg;
    double sum = c->before.real[block];
    for (uint64_t i = first; i < last; i++) {
        if (!(load_real(c->data->out, i, c->nbytes) == sum)) note_wrong(c, block, i);
        sum += load_real(c->data->in, i, c->nbytes);
    }
}

static bool check_float_scan(struct checking *c, char error[256]) {
    const struct blocks blocks = blocks_of(c->point->n);
    double sum = 0;
    blocks_run(&blocks, sum_reals, c);
    for (uint32_t block = 0; block < blocks.count; block++) {
        const double value = c->before.real[block];
        c->before.real[block] = sum;
        sum += value;
    }
    return find_wrong(c, check_reals, error);
}

static void sum_integers(void *arg, uint32_t block, uint64_t first, uint64_t last) {
    struct checking *c = arg;
    uint64_t sum = 0;
    for (uint64_t i = first; i < last; i++) sum += load(c->data->in, i, c->nbytes);
    c->before.bits[block] = sum;
}

static void check_integers(void *arg, uint32_t block, uint64_t first, uint64_t last) {
    struct checking *c = arg;
    const uint64_t mask = c->nbytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * c->nbytes) - 1;
    uint64_t sum = c->before.bits[block];
    for (uint64_t i = first; i < last; i++) {
        if (load(c->data->out, i, c->nbytes) != (sum & mask)) note_wrong(c, block, i);
        sum += load(c->data->in, i, c->nbytes);
    }
}

static bool check_scan(struct checking *c, char error[256]) {
    const struct blocks blocks = blocks_of(c->point->n);
    if (c->point->type == UPSWEEP_F32 || c->point->type == UPSWEEP_F64) return check_float_scan(c, error);
    blocks_run(&blocks, sum_integers, c);
    blocks_sum(&blocks, c->before.bits);
    return find_wrong(c, check_integers, error);
}

/* ---- selections -------------------------------------------------------------------------------------------------------------- */

static inline bool is_kept(const struct checking *c, uint64_t i) {
    return c->data->flags != NULL ? c->data->flags[i] != 0 : load(c->data->in, i, c->nbytes) != 0;
}

static void count_kept(void *arg, uint32_t block, uint64_t first, uint64_t last) {
    struct checking *c = arg;
    uint64_t count = 0;
    for (uint64_t i = first; i < last; i++) count += is_kept(c, i);
    c->before.bits[block] = count;
}

static void check_places(void *arg, uint32_t block, uint64_t first, uint64_t last) {
    struct checking *c = arg;
    const bool two = c->point->primitive == PARTITION_COPY, both = two || c->point->primitive == PARTITION;
    const uint64_t n = c->point->n, rest_at = two ? n : c->data->kept;
    uint64_t next_kept = c->before.bits[block];
    for (uint64_t i = first; i < last; i++) {
        const bool kept = is_kept(c, i);
        if (!kept && !both) continue;
        const uint64_t rejected = i - next_kept;
        const uint64_t rest = c->reversed_rest ? n - 1 - rejected : rest_at + rejected;
        const uint64_t place = kept ? next_kept : rest;
        if (load(c->data->out, place, c->nbytes) != load(c->data->in, i, c->nbytes)) note_wrong(c, block, place);
        next_kept += kept;
    }
}

static bool check_selection(struct checking *c, uint64_t count, char error[256]) {
    const struct blocks blocks = blocks_of(c->point->n);
    if (count != c->data->kept) {
        snprintf(error, 256, "%" PRIu64 " elements kept instead of %" PRIu64, count, c->data->kept);
        return false;
    }
    blocks_run(&blocks, count_kept, c);
    blocks_sum(&blocks, c->before.bits);
    return find_wrong(c, check_places, error);
}

/* ---- sorts ------------------------------------------------------------------------------------------------------------------- */

static inline uint64_t print_of(const void *keys, const uint32_t *values, uint64_t i, size_t nbytes, size_t nwords) {
    const uint64_t value = nwords > 0 ? random_mix(values[i * nwords]) : 0;
    return random_mix(load(keys, i, nbytes) * UINT64_C(0x9E3779B97F4A7C15) + value + 1);
}

/* Is value i one of those that data.c has made? Then its first word tells which. */
static inline bool is_value(const uint32_t *values, uint64_t i, size_t nwords) {
    bool is = true;
    for (size_t word = 1; word < nwords; word++) is = is && values[i * nwords + word] == value_word(values[i * nwords], word);
    return is;
}

/* An unsigned number in the order of the keys; when fewer bits are sorted by, those bits. */
static inline uint64_t rank_of(uint64_t key, upsweep_type type, size_t nbytes, uint32_t num_bits) {
    const uint64_t sign = UINT64_C(1) << (8 * nbytes - 1), mask = sign | (sign - 1);
    if (num_bits != 0 && num_bits < 8 * nbytes) return key & ((UINT64_C(1) << num_bits) - 1);
    if (type == UPSWEEP_F32 || type == UPSWEEP_F64) return key & sign ? ~key & mask : key | sign;
    const bool is_signed = type == UPSWEEP_I8 || type == UPSWEEP_I16 || type == UPSWEEP_I32 || type == UPSWEEP_I64;
    return is_signed ? key ^ sign : key;
}

static void check_order(void *arg, uint32_t block, uint64_t first, uint64_t last) {
    struct checking *c = arg;
    const struct data *d = c->data;
    const struct point *p = c->point;
    const size_t nwords = p->value_nbytes / sizeof *d->values;
    uint64_t before = first > 0 ? rank_of(load(d->out, first - 1, c->nbytes), p->type, c->nbytes, p->num_bits) : 0;
    uint64_t in_print = 0, out_print = 0;
    for (uint64_t i = first; i < last; i++) {
        const uint64_t rank = rank_of(load(d->out, i, c->nbytes), p->type, c->nbytes, p->num_bits);
        const bool unstable = i > 0 && rank == before && nwords > 0 && d->values_out[i * nwords] <= d->values_out[(i - 1) * nwords];
        if (rank < before || unstable || !is_value(d->values_out, i, nwords)) note_wrong(c, block, i);
        before = rank;
        in_print += print_of(d->in, d->values, i, c->nbytes, nwords);
        out_print += print_of(d->out, d->values_out, i, c->nbytes, nwords);
    }
    c->in_print[block] = in_print;
    c->out_print[block] = out_print;
}

/* Keys are looked up at random: they are asked for some places ahead. */
static void check_indices(void *arg, uint32_t block, uint64_t first, uint64_t last) {
    enum { AHEAD = 32 };
    struct checking *c = arg;
    const struct point *p = c->point;
    const uint32_t *indices = c->data->values_out;
    const uint64_t n = p->n, begin = first > 0 ? first - 1 : 0;
    uint64_t before = 0;
    for (uint64_t i = begin; i < last; i++) {
        if (i + AHEAD < last && indices[i + AHEAD] < n) __builtin_prefetch((const char *)c->data->in + indices[i + AHEAD] * c->nbytes);
        const uint64_t rank = indices[i] < n ? rank_of(load(c->data->in, indices[i], c->nbytes), p->type, c->nbytes, p->num_bits) : 0;
        const bool in_order = i == begin || rank > before || (rank == before && indices[i] > indices[i - 1]);
        if (i >= first && (indices[i] >= n || !in_order)) note_wrong(c, block, i);
        before = rank;
    }
}

static bool check_sorted(struct checking *c, char error[256]) {
    const struct blocks blocks = blocks_of(c->point->n);
    if (c->point->primitive == ARGSORT) return find_wrong(c, check_indices, error);
    if (!find_wrong(c, check_order, error)) return false;
    if (blocks_sum(&blocks, c->in_print) == blocks_sum(&blocks, c->out_print)) return true;
    snprintf(error, 256, "in order, but not the elements of the input");
    return false;
}

bool check_result(const struct data *data, const struct point *point, uint64_t count, bool reversed_rest, char error[256]) {
    static struct checking c;
    c.data = data;
    c.point = point;
    c.nbytes = point_item_nbytes(point);
    c.reversed_rest = reversed_rest;
    if (point_is_text(point)) return check_text(data, point, count, error);
    if (point->primitive == SCAN) return check_scan(&c, error);
    return point_sorts(point) ? check_sorted(&c, error) : check_selection(&c, count, error);
}
