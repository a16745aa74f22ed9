/* load.c: a whole input in memory of the backend.
 *
 * If its length is known it goes there directly, a chunk at a time. A pipe does not tell its length, so its chunks are kept in a list,
 * and each is freed as soon as it has been uploaded: there is never more than the input and one chunk. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

typedef unsigned long long ull; /* for printf */

/* One number from the first line of a file that starts with key; UINT64_MAX if there is none. */
static uint64_t number_in_file(const char *path, const char *key) {
    char line[128];
    ull value = UINT64_MAX;
    FILE *file = fopen(path, "re");
    if (!file) return UINT64_MAX;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%llu", &value) == 1) break;
    }
    fclose(file);
    return value;
}

uint64_t job_available_nbytes(struct job *job) {
    upsweep_device device = {.size = sizeof device};
    if (upsweep_context_device(job->ctx, &device) != UPSWEEP_OK) return UINT64_MAX;
    uint64_t least = device.memory_nbytes;
    if (strncmp(device.spec, "cpu", 3) != 0) return least;
    const uint64_t free_kib = number_in_file("/proc/meminfo", "MemAvailable:");
    const uint64_t group = number_in_file("/sys/fs/cgroup/memory.max", ""); /* "max": no number, no limit */
    if (free_kib < least >> 10) least = free_kib << 10;
    return group < least ? group : least;
}

static bool too_many(const struct source *source, uint64_t max_n) {
    return complain(source->name, "does not fit in memory: there is room to sort %llu elements, and it has more", (ull)max_n);
}

/* ---- length known --------------------------------------------------------------------------------------------------------------- */

static bool load_known(struct job *job, struct source *source, void *d_items) {
    const uint64_t chunk_n = job_chunk_n(job, source->n, source->elem_nbytes);
    char *d_at = d_items;
    void *chunk = job_host(job, chunk_n, source->elem_nbytes);
    if (!chunk) return false;
    for (;;) {
        uint64_t n;
        if (!source_read(source, chunk, chunk_n, &n)) return false;
        if (n == 0) return true;
        const size_t nbytes = (size_t)n * source->elem_nbytes;
        if (!job_ok(job, upsweep_upload(job->ctx, d_at, chunk, nbytes))) return false;
        progress_advance(nbytes);
        d_at += nbytes;
    }
}

/* ---- length unknown ------------------------------------------------------------------------------------------------------------- */

struct piece {
    struct piece *next;
    uint64_t n;
    char items[];
};

static struct piece *free_first(struct piece *first) {
    struct piece *next = first->next;
    free(first);
    return next;
}

/* Reads to the end into a list, in order. */
static bool read_pieces(struct job *job, struct source *source, uint64_t max_n, struct piece **first) {
    const uint64_t chunk_n = job_chunk_n(job, N_UNKNOWN, source->elem_nbytes);
    const size_t nbytes = sizeof(struct piece) + (size_t)chunk_n * source->elem_nbytes;
    for (struct piece **last = first;; last = &(*last)->next) {
        *last = malloc(nbytes);
        if (!*last) return complain(source->name, "out of memory");
        **last = (struct piece){.next = NULL};
        if (!source_read(source, (*last)->items, chunk_n, &(*last)->n)) return false;
        if ((*last)->n == 0) return true;
        if (source->n_read > max_n) return too_many(source, max_n);
        progress_advance((*last)->n * source->elem_nbytes);
    }
}

static bool upload_pieces(struct job *job, struct piece **first, size_t elem_nbytes, void *d_items) {
    char *d_at = d_items;
    for (; *first; *first = free_first(*first)) {
        const size_t nbytes = (size_t)(*first)->n * elem_nbytes;
        if (!job_ok(job, upsweep_upload(job->ctx, d_at, (*first)->items, nbytes))) return false;
        d_at += nbytes;
    }
    return true;
}

static bool load_unknown(struct job *job, struct source *source, uint64_t max_n, void **d_items, uint64_t *n) {
    struct piece *first = NULL;
    bool good = read_pieces(job, source, max_n, &first);
    *n = source->n_read;
    if (good) *d_items = job_device(job, *n, source->elem_nbytes);
    good = good && *d_items && upload_pieces(job, &first, source->elem_nbytes, *d_items);
    while (first) first = free_first(first);
    return good;
}

bool load_source(struct job *job, struct source *source, uint64_t max_n, void **d_items, uint64_t *n) {
    if (source->n == N_UNKNOWN) return load_unknown(job, source, max_n, d_items, n);
    if (source->n > max_n) return too_many(source, max_n);
    *n = source->n;
    *d_items = job_device(job, *n, source->elem_nbytes);
    return *d_items && load_known(job, source, *d_items);
}
