/* plan.c: from the texts of a grid's axes to its points.
 *
 * An axis is a text, as one would give it on the command line, and an option on the command line replaces it in every grid: so the grids
 * and the options share one parser. Points are walked like the digits of a number. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an axis without a text stands for. Axes that filter subjects (source, algorithm, backend) have none: all pass. */
static const char *const defaults[AXIS_COUNT] = {
    [AXIS_PRIMITIVE] = "scan",
    [AXIS_TYPE] = "i32",
    [AXIS_SIZE] = "2^20",
    [AXIS_KEEP] = "50",
    [AXIS_DISTRIBUTION] = "uniform,mixed", /* one for elements, one for text */
    [AXIS_ENCODING] = "utf32",
    [AXIS_MODE] = "replace",
    [AXIS_BLOCK_SIZE] = "0",
    [AXIS_THREADS] = "0",
    [AXIS_NUM_BITS] = "0",
    [AXIS_VALUE_NBYTES] = "4",
    [AXIS_CACHE] = "hot",
};

/* ---- texts to numbers -------------------------------------------------------------------------------------------------------- */

enum { MAX_VALUES = 128 };
#define LARGEST_SIZE (UINT64_C(1) << 34)

struct values {
    uint32_t count;
    uint64_t value[MAX_VALUES];
};

static bool values_add(struct values *values, uint64_t value) {
    if (values->count == MAX_VALUES) return false;
    values->value[values->count++] = value;
    return true;
}

/* "1000", "2^20", "2^20-3": false if it is none of these; *end is what follows. */
static bool parse_size(const char *text, uint64_t *value, char **end) {
    if (*text < '0' || *text > '9') return false;
    *value = strtoull(text, end, 10);
    if (*value == 2 && **end == '^') {
        const unsigned long power = strtoul(*end + 1, end, 10);
        if (power > 35) return false;
        *value = UINT64_C(1) << power;
    }
    if (**end == '-') {
        const uint64_t less = strtoull(*end + 1, end, 10);
        if (less > *value) return false;
        *value -= less;
    }
    return true;
}

/* Sizes between, at equal ratios; neither powers of two nor multiples of anything. */
static bool add_steps(struct values *values, uint64_t low, uint64_t high, uint64_t nsteps) {
    bool ok = true;
    for (uint64_t i = 0; ok; i++) {
        const uint64_t value = (uint64_t)llround((double)low * exp2((double)i / (double)nsteps));
        if (value > high) break;
        const bool again = values->count > 0 && values->value[values->count - 1] == value; /* small sizes have few neighbours */
        ok = again || values_add(values, value);
    }
    return ok;
}

/* A size; or all powers of two between two of them, or so many steps for each doubling; an upper end of 0: the hardware's threads. */
static bool parse_range(struct values *values, const char *word) {
    uint64_t low = 0, high = 0, nsteps = 0;
    char *end = NULL;
    if (!parse_size(word, &low, &end)) return false;
    if (*end == '\0') return values_add(values, low);
    if (strncmp(end, "..", 2) != 0 || !parse_size(end + 2, &high, &end) || low == 0) return false;
    if (high == 0) high = hardware_threads();
    if (high < low) return false;
    if (*end == '/') return parse_size(end + 1, &nsteps, &end) && *end == '\0' && nsteps > 0 && add_steps(values, low, high, nsteps);
    bool ok = *end == '\0';
    for (; ok && low < high; low *= 2) ok = values_add(values, low);
    return ok && values_add(values, high);
}

static bool parse_name(struct values *values, const char *word, const char *(*name_of)(uint64_t value), uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        if (strcmp(word, name_of(i)) == 0) return values_add(values, i);
    }
    return false;
}

static const char *primitive_name_of(uint64_t value) { return primitive_name((enum primitive)value); }
static const char *distribution_name_of(uint64_t value) { return distribution_name((enum distribution)value); }
static const char *type_name_of(uint64_t value) { return upsweep_type_name((upsweep_type)value); }
static const char *cache_name_of(uint64_t value) { return value == HOT ? "hot" : "cold"; }
static const char *value_nbytes_name_of(uint64_t value) { return ((const char *[]){"4", "8", "16"})[value]; } /* of 4 << value */
static const char *encoding_name_of(uint64_t value) { return upsweep_encoding_name((upsweep_encoding)value); }
static const char *mode_name_of(uint64_t value) { return upsweep_on_error_name((upsweep_on_error)value); }

static bool parse_word(struct values *values, enum axis axis, const char *word) {
    if (axis == AXIS_PRIMITIVE) return parse_name(values, word, primitive_name_of, PRIMITIVE_COUNT);
    if (axis == AXIS_DISTRIBUTION) return parse_name(values, word, distribution_name_of, DISTRIBUTION_COUNT);
    if (axis == AXIS_TYPE) return parse_name(values, word, type_name_of, UPSWEEP_TYPE_COUNT);
    if (axis == AXIS_CACHE) return parse_name(values, word, cache_name_of, 2);
    if (axis == AXIS_VALUE_NBYTES) return parse_name(values, word, value_nbytes_name_of, 3);
    if (axis == AXIS_ENCODING) return parse_name(values, word, encoding_name_of, UPSWEEP_ENCODING_COUNT);
    if (axis == AXIS_MODE) return parse_name(values, word, mode_name_of, UPSWEEP_ON_ERROR_COUNT);
    if (!parse_range(values, word)) return false;
    const uint64_t last = values->value[values->count - 1];
    if (axis == AXIS_SIZE) return last >= 1 && last <= LARGEST_SIZE;
    return last <= (axis == AXIS_KEEP ? 100 : axis == AXIS_NUM_BITS ? 64 : 4096); /* threads, threads of a block */
}

/* Copies the next word of a list; false at its end. */
bool list_next(const char **list, char word[64]) {
    if (**list == '\0') return false;
    const size_t length = strcspn(*list, ",");
    snprintf(word, 64, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

bool list_has(const char *list, const char *word) {
    char each[64];
    if (list == NULL) return true;
    while (list_next(&list, each)) {
        if (strcmp(each, word) == 0) return true;
    }
    return false;
}

#define OPTION_NAME(e, option, help) [e] = option,
static const char *const options[] = {AXIS_TABLE(OPTION_NAME)};
#undef OPTION_NAME

static bool parse_axis(struct values *values, enum axis axis, const char *text, char error[256]) {
    char word[64];
    *values = (struct values){0};
    for (const char *rest = text; list_next(&rest, word);) {
        if (parse_word(values, axis, word)) continue;
        snprintf(error, 256, "--%s: '%s' will not do (see --help)", options[axis], word);
        return false;
    }
    return true;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------------------- */

/* The axes of a point, the slowest first, so that points with the same input are neighbours. */
static const enum axis order[] = {AXIS_TYPE,      AXIS_VALUE_NBYTES, AXIS_ENCODING, AXIS_DISTRIBUTION, AXIS_KEEP, AXIS_SIZE,
                                  AXIS_PRIMITIVE, AXIS_CACHE,        AXIS_THREADS,  AXIS_NUM_BITS,     AXIS_MODE, AXIS_BLOCK_SIZE};
enum { NORDER = sizeof order / sizeof order[0] };

/* Does the axis mean something to the primitive? */
static bool applies(enum axis axis, const struct point *point) {
    if (axis == AXIS_TYPE) return !point_is_text(point);
    if (axis == AXIS_KEEP) return point_selects(point);
    if (axis == AXIS_NUM_BITS) return point_sorts(point);
    if (axis == AXIS_VALUE_NBYTES) return point->primitive == SORT_PAIRS;
    return (axis != AXIS_ENCODING && axis != AXIS_MODE) || point_converts(point);
}

/* What an axis that does not apply is set to. */
static void set_plain(struct point *point) {
    if (!applies(AXIS_TYPE, point)) point->type = UPSWEEP_U8;
    if (!applies(AXIS_KEEP, point)) point->keep = 100;
    if (!applies(AXIS_NUM_BITS, point)) point->num_bits = 0;
    if (!applies(AXIS_VALUE_NBYTES, point)) point->value_nbytes = point->primitive == ARGSORT ? sizeof(uint32_t) : 0;
    if (applies(AXIS_MODE, point)) return;
    point->encoding = UPSWEEP_UTF32;
    point->mode = UPSWEEP_REPLACE;
}

static void set_axis(struct point *point, enum axis axis, uint64_t value) {
    if (axis == AXIS_PRIMITIVE) point->primitive = (enum primitive)value;
    if (axis == AXIS_TYPE) point->type = (upsweep_type)value;
    if (axis == AXIS_DISTRIBUTION) point->distribution = (enum distribution)value;
    if (axis == AXIS_KEEP) point->keep = (uint32_t)value;
    if (axis == AXIS_SIZE) point->n = value;
    if (axis == AXIS_CACHE) point->cache = (enum cache)value;
    if (axis == AXIS_ENCODING) point->encoding = (upsweep_encoding)value;
    if (axis == AXIS_MODE) point->mode = (upsweep_on_error)value;
    if (axis == AXIS_THREADS) point->nthreads = (uint32_t)value;
    if (axis == AXIS_NUM_BITS) point->num_bits = (uint32_t)value;
    if (axis == AXIS_VALUE_NBYTES) point->value_nbytes = 4u << value;
    if (axis == AXIS_BLOCK_SIZE) point->block_size = (uint32_t)value;
}

/* The point of the digits; false if it makes no sense, or is another one again: an axis that does not apply counts with its first value. */
static bool point_of(const struct values values[NORDER], const uint32_t digit[NORDER], struct point *point) {
    memset(point, 0, sizeof *point); /* padding too: points are compared as bytes */
    for (int i = 0; i < NORDER; i++) set_axis(point, order[i], values[i].value[digit[i]]);
    for (int i = 0; i < NORDER; i++) {
        if (digit[i] > 0 && !applies(order[i], point)) return false;
    }
    set_plain(point);
    return point_makes_sense(point);
}

bool grid_walk(const struct grid *grid, bool (*visit)(void *arg, const struct point *point), void *arg, char error[256]) {
    static struct values values[NORDER];
    uint32_t digit[NORDER] = {0};
    error[0] = '\0';
    for (int i = 0; i < NORDER; i++) {
        const char *text = grid->axis[order[i]];
        if (!parse_axis(&values[i], order[i], text != NULL ? text : defaults[order[i]], error)) return false;
        if (values[i].count == 0) return true;
    }
    for (int place = 0; place >= 0;) { /* counts with digit[], the last one the fastest */
        struct point point;
        if (point_of(values, digit, &point) && !visit(arg, &point)) return false;
        for (place = NORDER - 1; place >= 0 && ++digit[place] == values[place].count; place--) digit[place] = 0;
    }
    return true;
}
