/* job.h: what the commands on data have in common: IN, OUT, a backend, and the memory between them. */
#ifndef UPSWEEP_CLI_JOB_H
#define UPSWEEP_CLI_JOB_H

#include "cli.h"
#include "io.h"

enum { JOB_BUFFERS = 6 };

struct job {
    struct arguments args;
    struct source in;
    struct sink out;
    upsweep_context *ctx;
    uint64_t chunk_nbytes; /* --chunk */
    uint64_t chunk_n;      /* elements of IN that fit it: at least 1, at most n if that is known */
    void *host[JOB_BUFFERS], *device[JOB_BUFFERS];
};

/* Reads the options, opens IN and the backend. False if the command ends here, with *status. job_close() is due either way. */
bool job_open(struct job *job, const struct usage *usage, int argc, char **argv, int *status);
/* How many elements of a size fit a chunk, 1 at least; of n in all (or N_UNKNOWN). */
uint64_t job_chunk_n(const struct job *job, uint64_t n, size_t elem_nbytes);
/* The same for text: job_init(), arguments_parse(&job->args), then this; IN is raw, whatever its name. */
void job_init(struct job *job);
bool job_open_raw(struct job *job, upsweep_type type);
/* Opens OUT likewise. */
bool job_open_raw_out(struct job *job, upsweep_type type);
/* Opens OUT; n is the number of elements that will come, or N_UNKNOWN. */
bool job_open_out(struct job *job, upsweep_type type, size_t elem_nbytes, uint64_t n);
/* The same for a second output, at path. */
bool job_open_sink(struct job *job, struct sink *sink, const char *path, upsweep_type type, size_t elem_nbytes, uint64_t n);
/* The next chunk of IN, at most chunk_n elements; n is 0 at the end. Keeps the progress line. */
bool job_read(struct job *job, void *items, uint64_t *n);
/* OUT is complete: puts it in its place. */
bool job_deliver(struct job *job);
/* Frees everything; removes what was not delivered. Returns the exit status. */
int job_close(struct job *job, bool good);

/* n elements of elem_nbytes in host memory, or in memory of the backend; the job frees them. NULL after a complaint. */
void *job_host(struct job *job, uint64_t n, size_t elem_nbytes);
void *job_device(struct job *job, uint64_t n, size_t elem_nbytes);

/* Complains if a call of the library failed. */
bool job_ok(struct job *job, upsweep_status status);

/* ---- whole inputs in memory (load.c), for sort --------------------------------------------------------------------------------- */

/* Bytes of memory that this job's backend can hope for. */
uint64_t job_available_nbytes(struct job *job);
/* Reads a whole source of at most max_n elements into memory of the backend: *n of them. what: "keys". */
bool load_source(struct job *job, struct source *source, uint64_t max_n, void **d_items, uint64_t *n);

#endif
