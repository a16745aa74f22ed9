/* report.h: rows: what the benchmark writes, and reads again to compare. For main.c, report.c, compare.c and progress.c. */
#ifndef UPSWEEP_BENCH_REPORT_H
#define UPSWEEP_BENCH_REPORT_H

#include <stdio.h>

#include "bench.h"

/* X(field, kind): TEXT, COUNT (a whole number) or REAL; a number that does not apply is NaN, and null in JSON.
 * Of text: type is the encoding of the other side, n and items_per_s are of bytes of UTF-8, gb_per_s too (of those written, for encode);
 * of all else, gb_per_s is of the bytes that must be read and written. x_copy is of the latter for all. */
#define COLUMN_TABLE(X)    \
    X(group, TEXT)         \
    X(primitive, TEXT)     \
    X(algorithm, TEXT)     \
    X(backend, TEXT)       \
    X(device, TEXT)        \
    X(type, TEXT)          \
    X(value_nbytes, COUNT) \
    X(op, TEXT)            \
    X(n, COUNT)            \
    X(keep, COUNT)         \
    X(distribution, TEXT)  \
    X(mode, TEXT)          \
    X(block_size, COUNT)   \
    X(threads, COUNT)      \
    X(num_bits, COUNT)     \
    X(cache, TEXT)         \
    X(method, TEXT)        \
    X(samples, COUNT)      \
    X(ms, REAL)            \
    X(ms_min, REAL)        \
    X(ms_max, REAL)        \
    X(spread, REAL)        \
    X(map_ms, REAL)        \
    X(scan_ms, REAL)       \
    X(scatter_ms, REAL)    \
    X(items_per_s, REAL)   \
    X(gb_per_s, REAL)      \
    X(copy_ms, REAL)       \
    X(x_copy, REAL)        \
    X(peer_version, TEXT)  \
    X(version, TEXT)       \
    X(commit, TEXT)        \
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

FILE *report_fopen(const char *path, const char *mode); /* NULL: complained on stderr */

struct report;
struct report *report_open(const char *json_path, const char *csv_path, const char *old_path); /* NULL: complained on stderr */
bool report_row(struct report *report, const struct row *row);
bool report_close(struct report *report); /* false: something could not be written */
/* Around the rows of a group; the grid must live as long. */
void report_group(struct report *report, const struct grid *grid);
void report_group_end(struct report *report, double seconds);

/* Rows of an earlier run, to compare with. */
struct old_rows;
struct old_rows *old_rows_read(const char *path); /* NULL: complained on stderr */
void old_rows_free(struct old_rows *old);
/* The same row there: +1 this one is faster beyond the noise, -1 slower, 0 neither; *ratio is its time over the old one's, 0: not there. */
int old_rows_compare(const struct old_rows *old, const struct row *row, double *ratio);

void progress_show(uint64_t done, uint64_t total, const char *what);
void progress_clear(void);

#endif
