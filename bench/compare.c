/* compare.c: what got faster or slower since an earlier run, beyond the noise of both.
 *
 * Two rows are the same if all that was chosen is the same: what ran, where, on what. They differ if the medians are further apart than
 * three times the larger spread (between quartiles) and than 5 %, which is what two runs of one binary differ by on a quiet machine. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

struct old_rows {
    struct row *rows;
    size_t count, room;
};

static bool append(struct old_rows *old, const struct row *row) {
    if (old->count == old->room) {
        const size_t room = old->room == 0 ? 256 : 2 * old->room;
        struct row *rows = realloc(old->rows, room * sizeof *rows);
        if (rows == NULL) return false;
        old->rows = rows;
        old->room = room;
    }
    old->rows[old->count++] = *row;
    return true;
}

struct old_rows *old_rows_read(const char *path) {
    FILE *file = report_fopen(path, "r");
    struct old_rows *old = calloc(1, sizeof *old);
    char *line = NULL;
    size_t room = 0;
    struct row row;
    bool ok = file != NULL && old != NULL;
    while (ok && getline(&line, &room, file) >= 0) ok = !row_parse(&row, line) || append(old, &row);
    free(line);
    if (file != NULL) fclose(file);
    if (ok) return old;
    old_rows_free(old);
    return NULL;
}

void old_rows_free(struct old_rows *old) {
    if (old != NULL) free(old->rows);
    free(old);
}

static bool same_number(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static bool same_row(const struct row *a, const struct row *b) {
    return strcmp(a->group, b->group) == 0 && strcmp(a->primitive, b->primitive) == 0 && strcmp(a->algorithm, b->algorithm) == 0 &&
           strcmp(a->backend, b->backend) == 0 && strcmp(a->type, b->type) == 0 && strcmp(a->distribution, b->distribution) == 0 &&
           strcmp(a->cache, b->cache) == 0 && strcmp(a->mode, b->mode) == 0 && strcmp(a->method, b->method) == 0 &&
           same_number(a->n, b->n) && same_number(a->keep, b->keep) && same_number(a->block_size, b->block_size) &&
           same_number(a->threads, b->threads) && same_number(a->num_bits, b->num_bits) && same_number(a->value_nbytes, b->value_nbytes);
}

int old_rows_compare(const struct old_rows *old, const struct row *row, double *ratio) {
    *ratio = 0;
    for (size_t i = 0; i < old->count; i++) {
        const struct row *before = &old->rows[i];
        if (!same_row(before, row)) continue;
        const double noise = 3 * fmax(before->spread, row->spread), least = 0.05;
        *ratio = row->ms / before->ms;
        if (fabs(*ratio - 1) <= fmax(noise, least)) return 0;
        return *ratio < 1 ? 1 : -1;
    }
    return 0;
}
