/* check.c: is a result right? Each primitive is checked against its definition in one walk over input and output, with no expected array.
 *
 * Scan: a running sum. Selections: the input is walked and each kept element must be the next one of the output. Sorts: each key at least
 * the one before it, and, as a set, the same keys: the sums of a strong 64-bit mix of each element agree (two different sets pass with a
 * chance of 2^-64). Pairs: the same, with the mix of key and value, and values increasing among equal keys, which proves stability as the
 * values are 0, 1, 2, ... Cost: O(n), about as long as making the input. */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool fail_at(uint64_t i, char error[256]) {
    snprintf(error, 256, "wrong at index %" PRIu64, i);
    return false;
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

static bool check_float_scan(const struct data *data, char error[256]) {
    const bool is_double = data->point.type == UPSWEEP_F64;
    double sum = 0; /* exact: see data.c */
    for (uint64_t i = 0; i < data->point.n; i++) {
        const double got = is_double ? ((const double *)data->out)[i] : (double)((const float *)data->out)[i];
        if (!(got == sum)) return fail_at(i, error);
        sum += is_double ? ((const double *)data->in)[i] : (double)((const float *)data->in)[i];
    }
    return true;
}

static bool check_scan(const struct data *data, char error[256]) {
    const size_t nbytes = point_item_nbytes(&data->point);
    if (data->point.type == UPSWEEP_F32 || data->point.type == UPSWEEP_F64) return check_float_scan(data, error);
    const uint64_t mask = nbytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * nbytes) - 1;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < data->point.n; i++) {
        if (load(data->out, i, nbytes) != (sum & mask)) return fail_at(i, error);
        sum += load(data->in, i, nbytes);
    }
    return true;
}

/* ---- selections -------------------------------------------------------------------------------------------------------------- */

static bool check_selection(const struct data *data, uint64_t count, bool reversed_rest, char error[256]) {
    const size_t nbytes = point_item_nbytes(&data->point);
    const bool both = data->point.primitive == PARTITION;
    uint64_t next_kept = 0, rejected = 0;
    if (count != data->kept) {
        snprintf(error, 256, "%" PRIu64 " elements kept instead of %" PRIu64, count, data->kept);
        return false;
    }
    for (uint64_t i = 0; i < data->point.n; i++) {
        const uint64_t x = load(data->in, i, nbytes);
        const bool kept = data->flags != NULL ? data->flags[i] != 0 : x != 0;
        if (!kept && !both) continue;
        const uint64_t rest = reversed_rest ? data->point.n - 1 - rejected : data->kept + rejected;
        if (load(data->out, kept ? next_kept : rest, nbytes) != x) return fail_at(kept ? next_kept : rest, error);
        next_kept += kept;
        rejected += !kept;
    }
    return true;
}

/* ---- sorts ------------------------------------------------------------------------------------------------------------------- */

/* A finalizer in which every bit of the input reaches every bit of the output; from the generator named in data.c. */
static inline uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static uint64_t fingerprint(const void *keys, const uint32_t *values, uint64_t n, size_t nbytes) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t value = values != NULL ? mix(values[i]) : 0;
        sum += mix(load(keys, i, nbytes) * UINT64_C(0x9E3779B97F4A7C15) + value + 1);
    }
    return sum;
}

/* An unsigned number in the order of the keys; when fewer bits are sorted by, those bits. */
static inline uint64_t rank_of(uint64_t key, upsweep_type type, size_t nbytes, uint32_t num_bits) {
    const uint64_t sign = UINT64_C(1) << (8 * nbytes - 1), mask = sign | (sign - 1);
    if (num_bits != 0 && num_bits < 8 * nbytes) return key & ((UINT64_C(1) << num_bits) - 1);
    if (type == UPSWEEP_F32 || type == UPSWEEP_F64) return key & sign ? ~key & mask : key | sign;
    const bool is_signed = type == UPSWEEP_I8 || type == UPSWEEP_I16 || type == UPSWEEP_I32 || type == UPSWEEP_I64;
    return is_signed ? key ^ sign : key;
}

static bool check_sorted(const struct data *data, const struct point *point, char error[256]) {
    const size_t nbytes = point_item_nbytes(point);
    uint64_t last = 0;
    for (uint64_t i = 0; i < point->n; i++) {
        const uint64_t rank = rank_of(load(data->out, i, nbytes), point->type, nbytes, point->num_bits);
        if (rank < last) return fail_at(i, error);
        if (i > 0 && rank == last && data->values != NULL && data->values_out[i] <= data->values_out[i - 1]) return fail_at(i, error);
        last = rank;
    }
    if (fingerprint(data->in, data->values, point->n, nbytes) == fingerprint(data->out, data->values_out, point->n, nbytes)) return true;
    snprintf(error, 256, "in order, but not the elements of the input");
    return false;
}

bool check_result(const struct data *data, const struct point *point, uint64_t count, bool reversed_rest, char error[256]) {
    if (point->primitive == SCAN) return check_scan(data, error);
    if (point_sorts(point)) return check_sorted(data, point, error);
    return check_selection(data, count, reversed_rest, error);
}
