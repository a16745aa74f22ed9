/* bench.h: the benchmark: what its files share. Every rung of the ladder, the library and its peers, measured side by side.
 *
 * The way of a run: plan.c turns named grids (and the command line) into points, one for each combination of the axes; subjects.c lists
 * what can be measured; data.c makes the input of a point; measure.c runs a subject on it, has check.c look at the result, and only then
 * takes samples through one of two places (place_cpu.c, place_cuda.c); report.c writes a row: a table for people, JSON lines and CSV for
 * machines.
 *
 * What is measured: the call alone. Allocations, transfers and the growth of scratch come before; inputs are random, outputs poisoned.
 * Samples are taken until their median is steady or the time for a row is up. x_copy compares each row with the fastest copy, on the same
 * machine in the same run, of as many bytes as the call must read and write. */
#ifndef UPSWEEP_BENCH_H
#define UPSWEEP_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ladder.h"
#include "upsweep.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- axes -------------------------------------------------------------------------------------------------------------------- */

/* X(enumerator, name) */
#define PRIMITIVE_TABLE(X)            \
    X(SCAN, "scan")                   \
    X(COMPACT, "compact")             \
    X(COMPACT_FLAGS, "compact_flags") \
    X(PARTITION, "partition")         \
    X(SORT, "sort")                   \
    X(SORT_PAIRS, "sort_pairs")

/* few: fifty values; runs: kept and dropped elements in runs of a few hundred */
#define DISTRIBUTION_TABLE(X) \
    X(UNIFORM, "uniform")     \
    X(RUNS, "runs")           \
    X(SORTED, "sorted")       \
    X(REVERSED, "reversed")   \
    X(FEW, "few")

#define BENCH_ENUMERATOR(e, name) e,
enum primitive { PRIMITIVE_TABLE(BENCH_ENUMERATOR) PRIMITIVE_COUNT };
enum distribution { DISTRIBUTION_TABLE(BENCH_ENUMERATOR) DISTRIBUTION_COUNT };
#undef BENCH_ENUMERATOR

/* hot: the same arrays again and again; cold: before each sample, more memory than the caches hold is written */
enum cache { HOT, COLD };

/* clock: the monotonic clock around the call. events: CUDA events around it. graph: events around the replay of a CUDA graph of several
 * calls, which leaves out the time that the host needs to launch them. */
enum method { BY_CLOCK, BY_EVENTS, BY_GRAPH };

struct point {
    enum primitive primitive;
    upsweep_type type; /* of elements or keys; values of pairs are u32 */
    uint64_t n;
    uint32_t keep; /* percent; what does not select has 100 */
    enum distribution distribution;
    uint32_t block_size, nthreads, num_bits; /* 0: the default */
    enum cache cache;
};

const char *primitive_name(enum primitive primitive);
const char *distribution_name(enum distribution distribution);
size_t point_item_nbytes(const struct point *point);
bool point_selects(const struct point *point); /* compact, compact_flags, partition */
bool point_sorts(const struct point *point);   /* sort, sort_pairs */

/* The bytes that any algorithm has to move: what it must read once and what it must write once. */
double point_nbytes(const struct point *point, uint64_t kept);

/* ---- the plan (plan.c) ------------------------------------------------------------------------------------------------------- */

/* X(enumerator, option, argument, help): options. Source, algorithm and backend select within a grid, the others replace its axis. */
#define AXIS_TABLE(X)                                                                                             \
    X(AXIS_PRIMITIVE, "primitive", "LIST", "scan, compact, compact_flags, partition, sort, sort_pairs")           \
    X(AXIS_SOURCE, "source", "LIST", "ladder: the rungs of the ladder; calls: the library and its peers, closer") \
    X(AXIS_ALGORITHM, "algorithm", "LIST", "only these, as upsweep, cub, naive, std::sort")                       \
    X(AXIS_BACKEND, "backend", "LIST", "cpu, cuda")                                                               \
    X(AXIS_TYPE, "type", "LIST", "i32, u8, f64, ...")                                                             \
    X(AXIS_SIZE, "size", "LIST", "elements: 1000, 2^20, 2^20-3, and 2^3..2^28 for all powers of two between")     \
    X(AXIS_KEEP, "keep", "LIST", "percent of the elements that are kept")                                         \
    X(AXIS_DISTRIBUTION, "distribution", "LIST", "uniform, runs, sorted, reversed, few")                          \
    X(AXIS_BLOCK_SIZE, "block-size", "LIST", "threads of a CUDA block, where one can choose")                     \
    X(AXIS_THREADS, "threads", "LIST", "CPU threads; 0: as many as there are; 1..0: powers of two up to that")    \
    X(AXIS_NUM_BITS, "num-bits", "LIST", "bits to sort by; 0: all")                                               \
    X(AXIS_CACHE, "cache", "LIST", "hot, cold")

#define BENCH_ENUMERATOR(e, ...) e,
enum axis { AXIS_TABLE(BENCH_ENUMERATOR) AXIS_COUNT };
#undef BENCH_ENUMERATOR

struct grid {
    const char *name;
    const char *what;
    const char *axis[AXIS_COUNT]; /* NULL: the default of the axis */
    const char *full_size;        /* sizes with --full; NULL: as without */
};

const struct grid *grid_at(size_t index); /* NULL past the last */

/* Calls visit(arg, point) for each point of the grid, those with the same input one after the other; stops and returns false when that
 * does. A text that does not parse: false, with a sentence in error. */
bool grid_walk(const struct grid *grid, bool (*visit)(void *arg, const struct point *point), void *arg, char error[256]);

bool list_has(const char *list, const char *word); /* NULL list: has everything */

/* ---- input and check (data.c, check.c) --------------------------------------------------------------------------------------- */

/* In host memory. Floats are small whole numbers, so that their sums are exact and results can be compared bit by bit. */
struct data {
    struct point point;
    void *in;         /* [n] */
    void *out;        /* [n]: results are fetched into it */
    uint8_t *flags;   /* [n]: for compact_flags, else NULL */
    uint32_t *values; /* [n]: 0, 1, 2, ...: for sort_pairs, else NULL */
    uint32_t *values_out;
    uint64_t kept;
};

/* Makes the input of the point, unless data holds that already. False: out of memory. */
bool data_make(struct data *data, const struct point *point);
void data_free(struct data *data);

/* Is data->out (with values_out and count) the right answer to data->in? If not, a sentence in error.
 * reversed_rest: a partition may leave the rejected elements in reverse order, as CUB does. */
bool check_result(const struct data *data, const struct point *point, uint64_t count, bool reversed_rest, char error[256]);

/* ---- places: where work runs and how it is timed (place_cpu.c, place_cuda.c) --------------------------------------------------- */

struct work {
    bool (*run)(void *arg); /* on CUDA: queues it on the stream of the place */
    void *arg;
};

struct watch {
    struct work work;
    enum method method;
    enum cache cache;
    uint32_t ncalls; /* of a sample */
    void *graph;     /* of place_cuda.c */
};

struct place {
    const char *name;
    enum ladder_backend backend;
    const char *(*missing)(void);  /* NULL if it can be used, else why not */
    void *(*alloc)(size_t nbytes); /* every page touched; NULL: no memory */
    void (*free)(void *p);
    bool (*upload)(void *dst, const void *src, size_t nbytes);
    bool (*download)(void *dst, const void *src, size_t nbytes);
    bool (*poison)(void *p, size_t nbytes);
    /* The yardstick: queues or does a copy. On the CPU by so many threads and, if past_caches, with stores that do not go through them. */
    bool (*copy)(void *dst, const void *src, size_t nbytes, uint32_t nthreads, bool past_caches);
    void *(*stream)(void); /* as upsweep_options wants it */
    bool (*sync)(void);
    /* Samples: open prepares (and captures, for graphs: false if the work cannot be captured), each sample is of one call, on average. */
    bool (*watch_open)(struct watch *watch);
    bool (*watch_sample)(struct watch *watch, double *ms);
    void (*watch_close)(struct watch *watch);
};

/* NULL if this build has no such place. */
const struct place *place_of(enum ladder_backend backend);
uint32_t hardware_threads(void);

/* ---- subjects ---------------------------------------------------------------------------------------------------------------- */

/* One call on arrays that lie in the place's memory. */
struct call {
    const struct subject *subject;
    const struct place *place;
    struct point point;
    void *in, *out;
    uint8_t *flags;
    uint32_t *values, *values_out;
    uint64_t *count;
    void *state; /* of the subject */
    char error[256];
};

/* What can be measured: either a rung of the ladder, which runs by itself, or a call that is opened once and run again and again. */
struct subject {
    const char *algorithm;
    enum primitive primitive;
    enum ladder_backend backend;
    uint32_t types;     /* bits 1 << upsweep_type */
    uint32_t params;    /* as of a rung: what it can be told */
    bool reversed_rest; /* a partition that leaves the rejected elements in reverse order */
    const char *(*peer)(void);
    bool (*open)(struct call *call);
    bool (*run)(struct call *call);
    void (*close)(struct call *call);
    const struct ladder_rung *rung;
};

const struct subject *subject_at(size_t index);   /* subjects.c: all of them; NULL past the last */
const struct subject *library_at(size_t index);   /* library.c */
const struct subject *std_peer_at(size_t index);  /* peers_std.cpp */
const struct subject *cuda_peer_at(size_t index); /* peers_cub.cu */
bool subject_takes(const struct subject *subject, const struct point *point);

/* ---- measuring (measure.c, copy.c) ------------------------------------------------------------------------------------------- */

enum { MAX_SAMPLES = 1000 };

struct result {
    double samples_ms[MAX_SAMPLES];
    uint32_t nsamples;
    double median_ms, min_ms, max_ms;
    double spread; /* (third quartile - first) / median */
    enum method method;
    uint64_t kept;
    struct ladder_times parts; /* of rungs that time their parts */
    double copy_ms;            /* of a copy of as many bytes as the call must move */
    char error[256];
};

struct limits {
    double row_s;   /* samples of a row take no longer than this, but for the first few */
    double call_ms; /* what would take longer is left out */
};

/* Samples of a watch, until their median is steady or the time is up; and what they say. */
bool take_samples(const struct place *place, struct watch *watch, double limit_s, struct result *result);
void summarise(struct result *result);

bool measure_call(const struct subject *subject, struct data *data, const struct point *point, const struct limits *limits,
                  struct result *result);
bool measure_rung(const struct subject *subject, struct data *data, const struct point *point, const struct limits *limits,
                  struct result *result);
void release_arrays(void); /* what measure_call() keeps between calls */

/* The time of a copy that reads and writes nbytes in all; remembered. 0: failed. */
double copy_ms(const struct place *place, double nbytes, uint32_t nthreads, enum method method, enum cache cache);

/* ---- rows (report.c, compare.c, machine.c, progress.c) ----------------------------------------------------------------------- */

/* X(field, kind): TEXT, COUNT (a whole number) or REAL; a number that does not apply is NaN, and null in JSON. */
#define COLUMN_TABLE(X)   \
    X(group, TEXT)        \
    X(primitive, TEXT)    \
    X(algorithm, TEXT)    \
    X(backend, TEXT)      \
    X(device, TEXT)       \
    X(type, TEXT)         \
    X(op, TEXT)           \
    X(n, COUNT)           \
    X(keep, COUNT)        \
    X(distribution, TEXT) \
    X(block_size, COUNT)  \
    X(threads, COUNT)     \
    X(num_bits, COUNT)    \
    X(cache, TEXT)        \
    X(method, TEXT)       \
    X(samples, COUNT)     \
    X(ms, REAL)           \
    X(ms_min, REAL)       \
    X(ms_max, REAL)       \
    X(spread, REAL)       \
    X(map_ms, REAL)       \
    X(scan_ms, REAL)      \
    X(scatter_ms, REAL)   \
    X(items_per_s, REAL)  \
    X(gb_per_s, REAL)     \
    X(copy_ms, REAL)      \
    X(x_copy, REAL)       \
    X(peer_version, TEXT) \
    X(version, TEXT)      \
    X(commit, TEXT)       \
    X(date, TEXT)

enum { TEXT_LENGTH = 96 };
typedef char row_TEXT[TEXT_LENGTH];
typedef double row_COUNT;
typedef double row_REAL;

struct row {
#define COLUMN_FIELD(field, kind) row_##kind field;
    COLUMN_TABLE(COLUMN_FIELD)
#undef COLUMN_FIELD
};

void row_fill(struct row *row, const char *group, const struct subject *subject, const struct point *point, const struct result *result);
bool row_parse(struct row *row, const char *line); /* a line of JSON as row_write_json() makes it; false if it is no row */

struct report;
struct report *report_open(const char *json_path, const char *csv_path, const char *old_path); /* NULL: complained on stderr */
bool report_row(struct report *report, const struct row *row);
bool report_close(struct report *report); /* false: something could not be written */
void report_group(struct report *report, const struct grid *grid);

/* Rows of an earlier run, to compare with. */
struct old_rows;
struct old_rows *old_rows_read(const char *path); /* NULL: complained on stderr */
void old_rows_free(struct old_rows *old);
/* The time of the same row there over this one, beyond the noise: +1 faster, -1 slower, 0 the same or not there; *ratio is new over old. */
int old_rows_compare(const struct old_rows *old, const struct row *row, double *ratio);

const char *machine_json(void);                       /* a JSON object: what runs where, built with what */
const char *device_name(enum ladder_backend backend); /* "NVIDIA H200", "AMD EPYC ..." */
const char *build_commit(void);
const char *cuda_version_text(void); /* place_cuda.c: of driver and runtime; NULL without CUDA */

void progress_show(uint64_t done, uint64_t total, const char *what);
void progress_clear(void);

#ifdef __cplusplus
}
#endif

#endif
