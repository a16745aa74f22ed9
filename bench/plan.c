/* plan.c: what is measured: named grids, each a combination of axes, and the walk over their points.
 *
 * An axis is a text, as one would give it on the command line, and an option on the command line replaces it in every grid: so the table
 * below and the options share one parser. A grid exists because a figure or a table of docs/performance.md is drawn from it. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALL_KEEPS  "10,50,90"
#define LARGE_ONES "2^16,2^20,2^24,2^28"

static const struct grid grids[] = {
    {"scan-size",
     "every scan against the size of the array, powers of two and others",
     {[AXIS_PRIMITIVE] = "scan", [AXIS_SOURCE] = "ladder", [AXIS_SIZE] = "2^3..2^22,2^10-3,2^16-3,2^20-3"},
     "2^3..2^28,2^4-3,2^6-3,2^8-3,2^10-3,2^12-3,2^14-3,2^16-3,2^18-3,2^20-3,2^22-3,2^24-3,2^26-3,2^28-3"},
    {"block-size",
     "GPU scans against the block size",
     {[AXIS_PRIMITIVE] = "scan",
      [AXIS_SOURCE] = "ladder",
      [AXIS_BACKEND] = "cuda",
      [AXIS_SIZE] = "2^16,2^20",
      [AXIS_BLOCK_SIZE] = "32,64,128,256,512,1024"},
     NULL},
    {"compact-size",
     "every compaction against the size of the array",
     {[AXIS_PRIMITIVE] = "compact", [AXIS_SOURCE] = "ladder", [AXIS_SIZE] = "2^3..2^22"},
     "2^3..2^28"},
    {"sort-size",
     "every sort against the size of the array",
     {[AXIS_PRIMITIVE] = "sort", [AXIS_SOURCE] = "ladder", [AXIS_SIZE] = "2^3..2^20"},
     "2^3..2^28"},
    {"sort-bits",
     "sorts against the number of bits that are sorted by",
     {[AXIS_PRIMITIVE] = "sort", [AXIS_SOURCE] = "ladder", [AXIS_SIZE] = "2^20", [AXIS_NUM_BITS] = "1,2,4,6,8,12,16,20,24,28,32"},
     NULL},
    {"scan-calls",
     "the library's scan and its peers, closer",
     {[AXIS_PRIMITIVE] = "scan", [AXIS_SOURCE] = "calls", [AXIS_SIZE] = "2^3..2^22"},
     "2^3..2^28,2^20-3,2^24-3,2^28-3"},
    {"compact-calls",
     "the library's compaction and its peers, by the share that is kept",
     {[AXIS_PRIMITIVE] = "compact", [AXIS_SOURCE] = "calls", [AXIS_SIZE] = "2^3..2^22", [AXIS_KEEP] = ALL_KEEPS},
     "2^3..2^28"},
    {"large",
     "more than the largest of the figures, on the GPU",
     {[AXIS_PRIMITIVE] = "scan,compact", [AXIS_SOURCE] = "calls", [AXIS_BACKEND] = "cuda", [AXIS_SIZE] = "2^24"},
     "2^30"},
    {"sort-calls",
     "the library's sort and its peers",
     {[AXIS_PRIMITIVE] = "sort", [AXIS_SOURCE] = "calls", [AXIS_TYPE] = "u32", [AXIS_SIZE] = "2^3..2^20"},
     "2^3..2^28"},
    {"scan-types",
     "scans of other types",
     {[AXIS_PRIMITIVE] = "scan", [AXIS_SOURCE] = "calls", [AXIS_TYPE] = "i8,i16,i64,f32,f64", [AXIS_SIZE] = "2^16,2^20"},
     LARGE_ONES},
    {"select-kinds",
     "compaction by flags, and partition",
     {[AXIS_PRIMITIVE] = "compact_flags,partition", [AXIS_SOURCE] = "calls", [AXIS_SIZE] = "2^16,2^20", [AXIS_KEEP] = ALL_KEEPS},
     LARGE_ONES},
    {"select-runs",
     "compaction of what is kept in runs",
     {[AXIS_PRIMITIVE] = "compact", [AXIS_SOURCE] = "calls", [AXIS_SIZE] = "2^20", [AXIS_DISTRIBUTION] = "runs"},
     "2^20,2^24,2^28"},
    {"sort-types",
     "sorts of other keys, and of pairs",
     {[AXIS_PRIMITIVE] = "sort,sort_pairs", [AXIS_SOURCE] = "calls", [AXIS_TYPE] = "u8,u16,u32,u64,f32", [AXIS_SIZE] = "2^16,2^20"},
     LARGE_ONES},
    {"sort-inputs",
     "sorts of keys that are not random",
     {[AXIS_PRIMITIVE] = "sort",
      [AXIS_SOURCE] = "calls",
      [AXIS_TYPE] = "u32",
      [AXIS_SIZE] = "2^20",
      [AXIS_DISTRIBUTION] = "sorted,reversed,few"},
     "2^20,2^24,2^28"},
    {"cold",
     "with cold caches",
     {[AXIS_PRIMITIVE] = "scan,compact", [AXIS_SOURCE] = "calls", [AXIS_SIZE] = "2^16,2^20", [AXIS_CACHE] = "cold"},
     "2^16,2^18,2^20,2^22,2^24"},
    {"threads",
     "the CPU against the number of threads",
     {[AXIS_PRIMITIVE] = "scan,compact,sort",
      [AXIS_SOURCE] = "calls",
      [AXIS_BACKEND] = "cpu",
      [AXIS_ALGORITHM] = "upsweep",
      [AXIS_SIZE] = "2^22",
      [AXIS_THREADS] = "1..0"},
     "2^26"},
};

const struct grid *grid_at(size_t index) { return index < sizeof grids / sizeof grids[0] ? &grids[index] : NULL; }

/* What an axis without a text stands for. Axes that filter subjects (source, algorithm, backend) have none: all pass. */
static const char *const defaults[AXIS_COUNT] = {
    [AXIS_PRIMITIVE] = "scan", [AXIS_TYPE] = "i32",  [AXIS_SIZE] = "2^20",  [AXIS_KEEP] = "50",   [AXIS_DISTRIBUTION] = "uniform",
    [AXIS_BLOCK_SIZE] = "0",   [AXIS_THREADS] = "0", [AXIS_NUM_BITS] = "0", [AXIS_CACHE] = "hot",
};

/* ---- texts to numbers -------------------------------------------------------------------------------------------------------- */

enum { MAX_VALUES = 128 };

struct values {
    const char *option; /* for complaints */
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
    if (**end == '-') *value -= strtoull(*end + 1, end, 10);
    return true;
}

/* A size, or all powers of two between two of them; an upper end of 0 stands for the hardware's threads. */
static bool parse_range(struct values *values, const char *word) {
    uint64_t low = 0, high = 0;
    char *end = NULL;
    if (!parse_size(word, &low, &end)) return false;
    if (*end == '\0') return values_add(values, low);
    if (strncmp(end, "..", 2) != 0 || !parse_size(end + 2, &high, &end) || *end != '\0' || low == 0) return false;
    if (high == 0) high = hardware_threads();
    bool ok = true;
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

static bool parse_word(struct values *values, enum axis axis, const char *word) {
    if (axis == AXIS_PRIMITIVE) return parse_name(values, word, primitive_name_of, PRIMITIVE_COUNT);
    if (axis == AXIS_DISTRIBUTION) return parse_name(values, word, distribution_name_of, DISTRIBUTION_COUNT);
    if (axis == AXIS_TYPE) return parse_name(values, word, type_name_of, UPSWEEP_TYPE_COUNT);
    if (axis == AXIS_CACHE) return parse_name(values, word, cache_name_of, 2);
    if (axis == AXIS_SIZE && word[0] == '0') return false; /* there is nothing to measure */
    return parse_range(values, word);
}

/* Copies the next word of a list; false at its end. */
static bool next_word(const char **list, char word[64]) {
    if (**list == '\0') return false;
    const size_t length = strcspn(*list, ",");
    snprintf(word, 64, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

bool list_has(const char *list, const char *word) {
    char each[64];
    if (list == NULL) return true;
    while (next_word(&list, each)) {
        if (strcmp(each, word) == 0) return true;
    }
    return false;
}

static bool parse_axis(struct values *values, enum axis axis, const char *text, char error[256]) {
    char word[64];
    *values = (struct values){0};
    for (const char *rest = text; next_word(&rest, word);) {
        if (parse_word(values, axis, word)) continue;
        snprintf(error, 256, "'%s' in '%s' will not do", word, text);
        return false;
    }
    return true;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------------------- */

/* The axes of a point, the slowest first, so that points with the same input are neighbours. */
static const enum axis order[] = {AXIS_PRIMITIVE, AXIS_TYPE,    AXIS_DISTRIBUTION, AXIS_KEEP,      AXIS_SIZE,
                                  AXIS_CACHE,     AXIS_THREADS, AXIS_NUM_BITS,     AXIS_BLOCK_SIZE};
enum { NORDER = sizeof order / sizeof order[0] };

static void set_axis(struct point *point, enum axis axis, uint64_t value) {
    if (axis == AXIS_PRIMITIVE) point->primitive = (enum primitive)value;
    if (axis == AXIS_TYPE) point->type = (upsweep_type)value;
    if (axis == AXIS_DISTRIBUTION) point->distribution = (enum distribution)value;
    if (axis == AXIS_KEEP) point->keep = (uint32_t)value;
    if (axis == AXIS_SIZE) point->n = value;
    if (axis == AXIS_CACHE) point->cache = (enum cache)value;
    if (axis == AXIS_THREADS) point->nthreads = (uint32_t)value;
    if (axis == AXIS_NUM_BITS) point->num_bits = (uint32_t)value;
    if (axis == AXIS_BLOCK_SIZE) point->block_size = (uint32_t)value;
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
        struct point point = {0};
        for (int i = 0; i < NORDER; i++) set_axis(&point, order[i], values[i].value[digit[i]]);
        if (!point_selects(&point)) point.keep = 100;
        if (!visit(arg, &point)) return false;
        for (place = NORDER - 1; place >= 0 && ++digit[place] == values[place].count; place--) digit[place] = 0;
    }
    return true;
}
