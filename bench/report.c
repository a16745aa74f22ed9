/* report.c: rows: filled from a result, written as a table for people, as JSON lines and as CSV for machines, and read back.
 *
 * The table of columns in bench.h drives all of them: a column is added there, filled here, and nothing else changes. A file of JSON lines
 * begins with one object that describes the machine, {"machine": {...}}; every further line is a row. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report.h"

enum kind { TEXT, COUNT, REAL };

static const struct {
    const char *name;
    enum kind kind;
    size_t offset;
} columns[] = {
#define COLUMN_ROW(field, kind) {#field, kind, offsetof(struct row, field)},
    COLUMN_TABLE(COLUMN_ROW)
#undef COLUMN_ROW
};
enum { NCOLUMNS = sizeof columns / sizeof columns[0] };

/* ---- filling ----------------------------------------------------------------------------------------------------------------- */

static void set_text(char field[TEXT_LENGTH], const char *text) { snprintf(field, TEXT_LENGTH, "%s", text); }

/* What does not apply to a row is not a number. */
static double where(bool applies, uint32_t value) { return applies ? (double)value : (double)NAN; }

/* Of text, the other side. */
static const char *type_of(const struct point *point) {
    if (point_converts(point)) return upsweep_encoding_name(point->encoding);
    return point_is_text(point) ? "utf8" : upsweep_type_name(point->type);
}

static void fill_point(struct row *row, const struct subject *subject, const struct point *point) {
    static const char *const caches[] = {[HOT] = "hot", [COLD] = "cold"};
    const uint32_t params = subject->params, all_bits = (uint32_t)(8 * point_item_nbytes(point));
    const bool on_cpu = subject->backend == LADDER_CPU;
    set_text(row->primitive, primitive_name(point->primitive));
    set_text(row->algorithm, subject->algorithm);
    set_text(row->backend, on_cpu ? "cpu" : "cuda");
    set_text(row->device, device_name(subject->backend));
    set_text(row->type, type_of(point));
    set_text(row->op, point->primitive == SCAN ? "add" : "");
    set_text(row->distribution, distribution_name(point->distribution));
    set_text(row->mode, point_converts(point) ? upsweep_on_error_name(point->mode) : "");
    set_text(row->cache, caches[point->cache]);
    row->n = (double)point->n;
    row->keep = where(point_selects(point), point->keep);
    row->block_size = where(params & LADDER_BLOCK_SIZE, point->block_size != 0 ? point->block_size : 256);
    row->value_nbytes = where(point->primitive == SORT_PAIRS, point->value_nbytes);
    row->num_bits = where(point_sorts(point), point->num_bits != 0 ? point->num_bits : all_bits);
    row->threads = where(on_cpu, !(params & LADDER_THREADS) ? 1 : point->nthreads != 0 ? point->nthreads : hardware_threads());
}

static void fill_result(struct row *row, const struct subject *subject, const struct point *point, const struct result *result) {
    const double nbytes = point_is_text(point) ? result->text_nbytes : result->nbytes;
    static const char *const methods[] = {[BY_CLOCK] = "clock", [BY_EVENTS] = "events", [BY_GRAPH] = "graph"};
    const bool parts = (subject->params & LADDER_PARTS) != 0;
    set_text(row->method, methods[result->method]);
    row->samples = result->nsamples;
    row->ms = result->median_ms;
    row->ms_min = result->min_ms;
    row->ms_max = result->max_ms;
    row->spread = result->spread;
    row->map_ms = parts ? result->parts.map_ms : NAN;
    row->scan_ms = parts ? result->parts.scan_ms : NAN;
    row->scatter_ms = parts ? result->parts.scatter_ms : NAN;
    row->items_per_s = 1e3 * (double)point->n / result->median_ms;
    row->gb_per_s = 1e-6 * nbytes / result->median_ms;
    row->copy_ms = result->copy_ms > 0 ? result->copy_ms : NAN;
    row->x_copy = row->copy_ms / result->median_ms;
}

void row_fill(struct row *row, const char *group, const struct subject *subject, const struct point *point, const struct result *result) {
    const time_t now = time(NULL);
    memset(row, 0, sizeof *row);
    set_text(row->group, group);
    fill_point(row, subject, point);
    fill_result(row, subject, point, result);
    set_text(row->peer_version, subject->peer != NULL ? subject->peer() : "");
    set_text(row->version, upsweep_version_text());
    set_text(row->commit, build_commit());
    strftime(row->date, sizeof row->date, "%Y-%m-%d", gmtime(&now));
}

/* ---- writing and reading ----------------------------------------------------------------------------------------------------- */

static const char *text_at(const struct row *row, int column) { return (const char *)row + columns[column].offset; }

static double number_at(const struct row *row, int column) {
    double number;
    memcpy(&number, (const char *)row + columns[column].offset, sizeof number);
    return number;
}

/* Texts are ours or names of devices and compilers: quotes and backslashes are all that needs care. */
static void write_quoted(FILE *file, const char *text) {
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static void write_value(FILE *file, const struct row *row, int column, const char *nothing) {
    if (columns[column].kind == TEXT) {
        if (*text_at(row, column) != '\0') {
            write_quoted(file, text_at(row, column));
        } else {
            fputs(nothing, file);
        }
        return;
    }
    const double number = number_at(row, column);
    if (isnan(number)) {
        fputs(nothing, file);
    } else {
        fprintf(file, columns[column].kind == COUNT ? "%.0f" : "%.6g", number);
    }
}

static void write_json(FILE *file, const struct row *row) {
    for (int i = 0; i < NCOLUMNS; i++) {
        fprintf(file, "%s\"%s\": ", i == 0 ? "{" : ", ", columns[i].name);
        write_value(file, row, i, "null");
    }
    fputs("}\n", file);
}

static void write_csv(FILE *file, const struct row *row) {
    for (int i = 0; i < NCOLUMNS; i++) {
        if (i > 0) fputc(',', file);
        write_value(file, row, i, "");
    }
    fputc('\n', file);
}

static void read_text(char field[TEXT_LENGTH], const char *quoted) {
    size_t length = 0;
    for (const char *c = quoted + 1; *c != '\0' && *c != '"' && length + 1 < TEXT_LENGTH; c++) {
        if (*c == '\\' && c[1] != '\0') c++;
        field[length++] = *c;
    }
    field[length] = '\0';
}

bool row_parse(struct row *row, const char *line) {
    memset(row, 0, sizeof *row);
    for (int i = 0; i < NCOLUMNS; i++) {
        char key[64];
        snprintf(key, sizeof key, "\"%s\": ", columns[i].name);
        const char *found = strstr(line, key), *value = found != NULL ? found + strlen(key) : "null";
        char *field = (char *)row + columns[i].offset;
        const double number = strncmp(value, "null", 4) == 0 ? NAN : strtod(value, NULL);
        if (columns[i].kind != TEXT) memcpy(field, &number, sizeof number);
        if (columns[i].kind == TEXT && *value == '"') read_text(field, value);
    }
    return row->primitive[0] != '\0' && row->ms > 0;
}

/* ---- the report -------------------------------------------------------------------------------------------------------------- */

struct report {
    FILE *json, *csv; /* NULL: not wanted */
    struct old_rows *old;
    uint32_t nfound, nfaster, nslower; /* of the rows of the earlier run */
    const struct grid *group;          /* not yet announced; NULL: it is, or there is none */
};

FILE *report_fopen(const char *path, const char *mode) {
    FILE *file = fopen(path, mode);
    if (file == NULL) fprintf(stderr, "upsweep-bench: %s: %s\n", path, strerror(errno));
    return file;
}

static bool open_file(FILE **file, const char *path) { return path == NULL || (*file = report_fopen(path, "w")) != NULL; }

struct report *report_open(const char *json_path, const char *csv_path, const char *old_path) {
    struct report *report = calloc(1, sizeof *report);
    if (report == NULL) return NULL;
    bool ok = old_path == NULL || (report->old = old_rows_read(old_path)) != NULL;
    ok = ok && open_file(&report->json, json_path) && open_file(&report->csv, csv_path);
    if (!ok) {
        report_close(report);
        return NULL;
    }
    if (report->json != NULL) fprintf(report->json, "{\"machine\": %s}\n", machine_json());
    for (int i = 0; i < NCOLUMNS && report->csv != NULL; i++) fprintf(report->csv, "%s%s", columns[i].name, i + 1 < NCOLUMNS ? "," : "\n");
    return report;
}

void report_group(struct report *report, const struct grid *grid) { report->group = grid; }

/* With its first row: a group may have none. */
static void announce_group(struct report *report) {
    const struct grid *grid = report->group;
    if (grid == NULL) return;
    printf("\n%s: %s\n%-22s %-4s %-13s %-7s %12s %4s %15s %12s %7s %9s %9s %7s\n", grid->name, grid->what, "algorithm", "on", "primitive",
           "type", "n", "keep", "", "ms", "spread", "M items/s", "GB/s", "x_copy");
    report->group = NULL;
}

void report_group_end(struct report *report, double seconds) {
    progress_clear();
    if (report->group == NULL) printf("%.1f s\n", seconds);
    report->group = NULL;
}

/* What else tells the rows of a group apart, in a word. */
static void describe(const struct row *row, char out[32]) {
    out[0] = '\0';
    if (!isnan(row->block_size)) snprintf(out, 32, "b%.0f", row->block_size);
    if (!isnan(row->num_bits)) snprintf(out, 32, "%.0fbit", row->num_bits);
    if (row->threads > 1) snprintf(out, 32, "t%.0f", row->threads);
    if (strcmp(row->distribution, "uniform") == 0) return;
    if (row->mode[0] == '\0') {
        snprintf(out, 32, "%.15s", row->distribution);
    } else {
        snprintf(out, 32, "%.7s %.7s", row->distribution, row->mode);
    }
}

static void print_row(struct report *report, const struct row *row) {
    char keep[16] = "", with[16] = "", type[24], what[32], verdict[48] = "";
    double ratio = 0;
    describe(row, what);
    if (!isnan(row->value_nbytes)) snprintf(with, sizeof with, "+%.0f", row->value_nbytes);
    snprintf(type, sizeof type, "%.15s%.7s", row->type, with);
    if (!isnan(row->keep)) snprintf(keep, sizeof keep, "%.0f%%", row->keep);
    const int change = report->old != NULL ? old_rows_compare(report->old, row, &ratio) : 0;
    if (change != 0) snprintf(verdict, sizeof verdict, "  %s: %.2f of the time", change > 0 ? "FASTER" : "SLOWER", ratio);
    report->nfound += ratio > 0;
    report->nfaster += change > 0;
    report->nslower += change < 0;
    printf("%-22s %-4s %-13s %-7s %12.0f %4s %15s %12.5f %6.1f%% %9.0f %9.1f %7.3f%s\n", row->algorithm, row->backend, row->primitive, type,
           row->n, keep, what, row->ms, 100 * row->spread, 1e-6 * row->items_per_s, row->gb_per_s, row->x_copy, verdict);
}

bool report_row(struct report *report, const struct row *row) {
    progress_clear();
    announce_group(report);
    print_row(report, row);
    fflush(stdout);
    if (report->json != NULL) write_json(report->json, row);
    if (report->csv != NULL) write_csv(report->csv, row);
    return (report->json == NULL || fflush(report->json) == 0) && (report->csv == NULL || fflush(report->csv) == 0);
}

bool report_close(struct report *report) {
    if (report == NULL) return true;
    if (report->old != NULL)
        printf("\n%" PRIu32 " faster, %" PRIu32 " slower than before, beyond the noise, of %" PRIu32 " rows that both runs have\n",
               report->nfaster, report->nslower, report->nfound);
    bool ok = fflush(stdout) == 0;
    if (report->json != NULL) ok = fclose(report->json) == 0 && ok;
    if (report->csv != NULL) ok = fclose(report->csv) == 0 && ok;
    old_rows_free(report->old);
    free(report);
    return ok;
}
