/* bench.h: the benchmark: what its files share. Every rung of the ladder, the library and its peers, measured side by side.
 *
 * The way of a run: plan.c turns the named grids of grids.c (and the command line, settings.c) into points, one for each combination of the
 * axes.h; subjects.c lists what can be measured; data.c, keys.c and text.c make the input of a point; measure.c runs a subject on it, has
 * check.c or check_text.c look at the result, and only then takes samples through one of two places (place_cpu.c, place_cuda.c); report.c
 * writes a row: a table for people, JSON lines and CSV for machines.
 *
 * What is measured: the call alone. Allocations, transfers and the growth of scratch come before; inputs are random, outputs poisoned.
 * Samples are taken until their median is steady or the time for a row is up. x_copy compares each row with the fastest copy, on the same
 * machine in the same run, of as many bytes as the call must read and write. */
#ifndef UPSWEEP_BENCH_H
#define UPSWEEP_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "axes.h"
#include "ladder.h"
#include "upsweep.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the plan (plan.c) ------------------------------------------------------------------------------------------------------- */

/* X(enumerator, option, help): options. Source, algorithm and backend select within a grid, the others replace its axis. */
#define AXIS_TABLE(X)                                                                                        \
    X(AXIS_PRIMITIVE, "primitive",                                                                           \
      "scan, compact, compact_flags, partition, partition_copy (to two arrays), sort, sort_pairs, "          \
      "argsort (indices of 32 bits; CUB sorts pairs with indices that lie ready), "                          \
      "utf8_decode, utf8_encode, utf8_validate, utf8_count")                                                 \
    X(AXIS_SOURCE, "source", "ladder: the rungs of the ladder; calls: the library and its peers, closer")    \
    X(AXIS_ALGORITHM, "algorithm", "only these, as upsweep, cub, naive, std::sort")                          \
    X(AXIS_BACKEND, "backend", "cpu, cuda")                                                                  \
    X(AXIS_TYPE, "type", "i32, u8, f64, ...")                                                                \
    X(AXIS_SIZE, "size",                                                                                     \
      "elements, or bytes of UTF-8: 1000, 2^20, 2^20-3; 2^3..2^28: all powers of two between; 2^3..2^28/4: " \
      "four sizes for each doubling")                                                                        \
    X(AXIS_KEEP, "keep", "percent of the elements that are kept")                                            \
    X(AXIS_DISTRIBUTION, "distribution", "what the input is like: see below")                                \
    X(AXIS_ENCODING, "encoding", "the other side of text: utf32, utf16le, utf16be, utf8 (decode: clean)")    \
    X(AXIS_MODE, "mode", "what becomes of ill-formed text: replace, remove, strict")                         \
    X(AXIS_BLOCK_SIZE, "block-size", "threads of a CUDA block, where one can choose")                        \
    X(AXIS_THREADS, "threads", "CPU threads; 0: as many as there are; 1..0: powers of two up to that")       \
    X(AXIS_NUM_BITS, "num-bits", "bits to sort by; 0: all")                                                  \
    X(AXIS_VALUE_NBYTES, "value-nbytes", "bytes of a value of pairs: 4, 8, 16")                              \
    X(AXIS_CACHE, "cache", "hot, cold")

#define BENCH_ENUMERATOR(e, ...) e,
enum axis { AXIS_TABLE(BENCH_ENUMERATOR) AXIS_COUNT };
#undef BENCH_ENUMERATOR

struct grid {
    const char *name;
    const char *what;
    const char *axis[AXIS_COUNT]; /* NULL: the default of the axis */
    const char *full_size;        /* sizes with --full; NULL: as without */
    const char *plan;             /* NULL: "figures" */
};

const struct grid *grid_at(size_t index); /* grids.c, the most important first; NULL past the last */

/* Calls visit(arg, point) for each point of the grid, those with the same input one after the other; stops and returns false when that
 * does. A text that does not parse: false, with a sentence in error. */
bool grid_walk(const struct grid *grid, bool (*visit)(void *arg, const struct point *point), void *arg, char error[256]);

bool list_has(const char *list, const char *word); /* NULL list: has everything */
bool list_next(const char **list, char word[64]);  /* takes a word off the front; false at the end */

/* ---- the command line (settings.c) --------------------------------------------------------------------------------------------- */

struct limits {
    double row_s;   /* samples of a row take no longer than this, but for the first few */
    double call_ms; /* what would take longer is left out */
};

struct settings {
    const char *axis[AXIS_COUNT]; /* NULL: as the grid says */
    const char *groups;           /* NULL: those of the plan */
    const char *plan;
    const char *json_path, *csv_path, *old_path;
    bool full;
    double max_s; /* the whole run; 0: no limit */
    struct limits limits;
};

/* -1: go on; else the exit status. */
int settings_parse(struct settings *settings, int argc, char **argv);

/* The grid as this run wants it; false if not at all. */
bool settings_grid(const struct settings *settings, size_t index, struct grid *grid);

/* ---- blocks (blocks.c): host work on all cores ---------------------------------------------------------------------------------- */

enum { MAX_BLOCKS = 1024 };

/* [0, n) in blocks of one size, which depends on n only. */
struct blocks {
    uint64_t n, size;
    uint32_t count;
};

struct blocks blocks_of(uint64_t n);
/* Calls work(arg, block, first, last) once for each block, of the indices [first, last), on any thread. */
void blocks_run(const struct blocks *blocks, void (*work)(void *arg, uint32_t block, uint64_t first, uint64_t last), void *arg);
/* Turns a number for each block into the sum of those before it; returns that of all. */
uint64_t blocks_sum(const struct blocks *blocks, uint64_t values[MAX_BLOCKS]);

/* ---- input and check (data.c, keys.c, text.c, check.c, check_text.c) -------------------------------------------------------------------
 */

/* Memory that is kept from point to point: touching fresh pages would take longer than filling old ones. */
struct room {
    void *p;
    size_t nbytes;
};

/* In host memory. Floats are small whole numbers, so that their sums are exact and results can be compared bit by bit. */
struct data {
    struct point point;
    void *in;         /* [nitems] */
    void *out;        /* [out_nbytes]: results are fetched into it */
    uint8_t *flags;   /* [n]: for compact_flags, else NULL */
    uint32_t *values; /* [n][value_nbytes / 4]: value_word(0, 0), value_word(0, 1), ...; NULL: there are none */
    uint32_t *values_out;
    uint64_t nitems; /* n; for utf8_encode, the code units of the text */
    size_t in_nbytes;
    size_t out_nbytes; /* room: more than what is written, for text */
    uint64_t kept;     /* selections: how many elements are */
    uint64_t made;     /* a number for what is in `in`: another one when that is made anew */
    struct room rooms[5];
};

/* Makes the input of the point, unless data holds that already. False: out of memory. */
bool data_make(struct data *data, const struct point *point);
void data_free(struct data *data);

/* The bytes that any algorithm has to move: what it must read once and what it must write once. count: as of check_result(). */
double necessary_nbytes(const struct data *data, const struct point *point, uint64_t count);

/* Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014: the i-th number of the generator that begins at `seed`. */
static inline uint64_t random_mix(uint64_t z) {
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}
static inline uint64_t random_at(uint64_t seed, uint64_t i) { return random_mix(seed + (i + 1) * UINT64_C(0x9E3779B97F4A7C15)); }

static inline void store_bits(void *items, uint64_t i, size_t item_nbytes, uint64_t bits) {
    if (item_nbytes == 1) ((uint8_t *)items)[i] = (uint8_t)bits;
    if (item_nbytes == 2) ((uint16_t *)items)[i] = (uint16_t)bits;
    if (item_nbytes == 4) ((uint32_t *)items)[i] = (uint32_t)bits;
    if (item_nbytes == 8) ((uint64_t *)items)[i] = bits;
}

/* A word of value i: the first is i, so that those of 4 bytes are 0, 1, 2, ..., and words of different values make none. */
static inline uint32_t value_word(uint64_t i, size_t word) { return (uint32_t)i + (uint32_t)word * UINT32_C(0x9E3779B9); }

/* Writes keys [first, last) of the point's distribution. */
void keys_fill(void *keys, const struct point *point, uint64_t first, uint64_t last);
/* Writes n bytes of UTF-8 in a script, or what is none of it. */
void text_fill(uint8_t *out, uint64_t n, enum distribution script);
/* Overwrites one in a hundred of the code units with a surrogate (BAD), or all with random bits (RANDOM). */
void text_spoil(void *units, uint64_t nunits, upsweep_encoding encoding, enum distribution script);
/* Code units that the text becomes; and writes them, if out is not NULL. */
uint64_t text_convert(void *out, upsweep_encoding encoding, const uint8_t *text, uint64_t n);

/* Is data->out (with values_out and count) the right answer to data->in? If not, a sentence in error.
 * count: elements kept; code units written, code points counted, or 1 for good text; else n.
 * reversed_rest: a partition may leave the rejected elements in one array with the kept ones, in reverse order, as CUB does. */
bool check_result(const struct data *data, const struct point *point, uint64_t count, bool reversed_rest, char error[256]);
bool check_text(const struct data *data, const struct point *point, uint64_t count, char error[256]);

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
uint32_t hardware_threads(void); /* that this process may use: what the library takes by default */

/* ---- subjects ---------------------------------------------------------------------------------------------------------------- */

/* One call on arrays that lie in the place's memory. */
struct call {
    const struct subject *subject;
    const struct place *place;
    struct point point;
    uint64_t nitems;
    void *in, *out;
    size_t out_nbytes;
    uint8_t *flags;
    uint32_t *values, *values_out;
    uint64_t *count;
    upsweep_utf8_report *report; /* peers set written, and needed for utf8_count, error_at for utf8_validate */
    void *state;                 /* of the subject */
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

const struct subject *subject_at(size_t index);      /* subjects.c: all of them; NULL past the last */
const struct subject *library_at(size_t index);      /* library.c */
const struct subject *std_peer_at(size_t index);     /* peers_std.cpp */
const struct subject *hwy_peer_at(size_t index);     /* peers_hwy.cpp */
const struct subject *cuda_peer_at(size_t index);    /* peers_cub.cu */
const struct subject *simdutf_peer_at(size_t index); /* peers_simdutf.cpp */
const struct subject *iconv_peer_at(size_t index);   /* peers_iconv.c */
bool subject_takes(const struct subject *subject, const struct point *point);

/* ---- measuring (measure.c, copy.c) ------------------------------------------------------------------------------------------- */

enum { MAX_SAMPLES = 1000 };

struct result {
    double samples_ms[MAX_SAMPLES];
    uint32_t nsamples;
    double median_ms, min_ms, max_ms;
    double spread; /* (third quartile - first) / median */
    enum method method;
    uint64_t count;            /* as of check_result() */
    double nbytes;             /* that the call must move */
    double text_nbytes;        /* of text: its UTF-8 */
    struct ladder_times parts; /* of rungs that time their parts */
    double copy_ms;            /* of a copy of as many bytes as the call must move */
    char error[256];
};

/* Samples of a watch, until their median is steady or the time is up; and what they say. */
bool take_samples(const struct place *place, struct watch *watch, double limit_s, struct result *result);

bool measure_call(const struct subject *subject, struct data *data, const struct point *point, const struct limits *limits,
                  struct result *result);
bool measure_rung(const struct subject *subject, struct data *data, const struct point *point, const struct limits *limits,
                  struct result *result);
void release_arrays(void); /* what measure_call() keeps between calls */

/* The time of a copy that reads and writes nbytes in all; remembered. 0: failed. */
double copy_ms(const struct place *place, double nbytes, uint32_t nthreads, enum method method, enum cache cache);

/* ---- the machine (machine.c) --------------------------------------------------------------------------------------------------- */

const char *machine_json(void);                       /* a JSON object: what runs where, built with what */
const char *device_name(enum ladder_backend backend); /* "NVIDIA H200", "AMD EPYC ..." */
double free_memory_nbytes(void);                      /* what can be had without driving anything out; infinite if unknown */
const char *build_commit(void);
const char *cuda_version_text(void); /* place_cuda.c: of driver and runtime; NULL without CUDA */

#ifdef __cplusplus
}
#endif

#endif
