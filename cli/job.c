/* job.c: opens and closes what the commands on data have in common.
 *
 * Elements go through memory of the context, so that the same commands run on a GPU. On the CPU that costs a copy of each chunk within
 * the caches, which is little beside reading and writing it. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job.h"

/* Small enough that the copies of a chunk stay in the caches: scanning a cached file of 1 GiB took 0.24 s with chunks of 1 and 4 MiB,
 * 0.6 s with 16 and 64 (Zen 4, 2 cores, 2026-11). Large enough that the start of a kernel is nothing beside a transfer to a GPU. */
static const uint64_t default_chunk_nbytes = UINT64_C(4) << 20;

static bool open_in(struct job *job) {
    const char *const *option = job->args.option;
    enum format format = FORMAT_UNKNOWN;
    upsweep_type type = TYPE_NONE;
    uint64_t record_nbytes = 0;
    if (option[OPT_FORMAT] && !format_from_text(option[OPT_FORMAT], &format)) return false;
    if (option[OPT_TYPE] && !parse_type(option[OPT_TYPE], &type)) return false;
    if (option[OPT_RECORD_SIZE]) {
        if (option[OPT_TYPE]) return complain(NULL, "--record-size: records have no --type");
        if (!option[OPT_FLAGS]) return complain(NULL, "--record-size: needs --flags, for records have no values to compare");
        if (!parse_count("record-size", option[OPT_RECORD_SIZE], 1, 4096, &record_nbytes)) return false;
    }
    const size_t elem_nbytes = type == TYPE_NONE ? (size_t)record_nbytes : upsweep_type_nbytes(type);
    return source_open(&job->in, job->args.in, format, type, elem_nbytes);
}

uint64_t job_chunk_n(const struct job *job, uint64_t n, size_t elem_nbytes) {
    const uint64_t fit = job->chunk_nbytes / elem_nbytes, least = fit < n ? fit : n;
    return least ? least : 1;
}

static bool set_chunk(struct job *job) {
    const char *text = job->args.option[OPT_CHUNK];
    job->chunk_nbytes = default_chunk_nbytes;
    if (text && !parse_size("chunk", text, &job->chunk_nbytes)) return false;
    job->chunk_n = job_chunk_n(job, job->in.n, job->in.elem_nbytes);
    return true;
}

static bool open_context(struct job *job) {
    upsweep_options options = {.size = sizeof options};
    const char *backend = job->args.option[OPT_BACKEND], *threads = job->args.option[OPT_THREADS];
    uint64_t nthreads = 0;
    if (threads && !parse_count("threads", threads, 1, 1024, &nthreads)) return false;
    options.nthreads = (uint32_t)nthreads;
    outfile_hold_signals(true); /* the threads that start here inherit this */
    const upsweep_status status = upsweep_open_ex(&job->ctx, backend ? backend : "auto", &options);
    outfile_hold_signals(false);
    return status == UPSWEEP_OK || complain(NULL, "%s", upsweep_error(NULL));
}

/* With IN open: everything else but OUT. */
static bool open_rest(struct job *job) {
    if (!set_chunk(job) || !open_context(job)) return false;
    progress_begin(job->in.n == N_UNKNOWN ? 0 : job->in.n * job->in.elem_nbytes);
    return true;
}

void job_init(struct job *job) { *job = (struct job){.in.fd = -1, .out.file.fd = -1, .out.spool.fd = -1}; }

bool job_open(struct job *job, const struct usage *usage, int argc, char **argv, int *status) {
    job_init(job);
    if (!arguments_parse(&job->args, usage, argc, argv, status)) return false;
    *status = EXIT_ERROR;
    return open_in(job) && open_rest(job);
}

bool job_open_raw(struct job *job, upsweep_type type) {
    return source_open(&job->in, job->args.in, FORMAT_RAW, type, upsweep_type_nbytes(type)) && open_rest(job);
}

/* `upsweep scan FILE > FILE` has emptied FILE before we start, and `>> FILE` would never end. */
static bool same_file(int a, int b) {
    struct stat st_a, st_b;
    if (fstat(a, &st_a) != 0 || fstat(b, &st_b) != 0 || !S_ISREG(st_a.st_mode)) return false;
    return st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino;
}

static bool may_write(struct job *job, const char *path) {
    if (!is_standard(path) || !same_file(job->in.fd, STDOUT_FILENO)) return true;
    return complain(job->in.name, "is both input and standard output; name it as OUT instead");
}

bool job_open_raw_out(struct job *job, upsweep_type type) {
    const char *out = job->args.out;
    return may_write(job, out) && sink_open(&job->out, out, FORMAT_RAW, type, upsweep_type_nbytes(type), N_UNKNOWN);
}

bool job_open_sink(struct job *job, struct sink *sink, const char *path, upsweep_type type, size_t elem_nbytes, uint64_t n) {
    const char *text = job->args.option[OPT_OUT_FORMAT];
    enum format format = format_of_name(path);
    if (format == FORMAT_UNKNOWN) format = job->in.format;
    if (text && !format_from_text(text, &format)) return false;
    return may_write(job, path) && sink_open(sink, path, format, type, elem_nbytes, n);
}

bool job_open_out(struct job *job, upsweep_type type, size_t elem_nbytes, uint64_t n) {
    return job_open_sink(job, &job->out, job->args.out, type, elem_nbytes, n);
}

bool job_read(struct job *job, void *items, uint64_t *n) {
    if (!source_read(&job->in, items, job->chunk_n, n)) return false;
    progress_advance(*n * job->in.elem_nbytes);
    return true;
}

bool job_deliver(struct job *job) { return sink_settle(&job->out) && sink_publish(&job->out); }

int job_close(struct job *job, bool good) {
    progress_end();
    for (int i = 0; i < JOB_BUFFERS; i++) {
        free(job->host[i]);
        if (job->ctx) upsweep_free(job->ctx, job->device[i]);
    }
    upsweep_close(job->ctx);
    source_close(&job->in);
    sink_discard(&job->out);
    return good ? EXIT_GOOD : EXIT_ERROR;
}

/* ---- memory -------------------------------------------------------------------------------------------------------------------- */

static void **free_slot(void *slots[JOB_BUFFERS]) {
    while (*slots) slots++; /* no command needs more than there are */
    return slots;
}

/* nbytes of n elements, one at least, so that even an empty input has buffers. */
static bool buffer_nbytes(uint64_t n, size_t elem_nbytes, size_t *nbytes) {
    if (__builtin_mul_overflow(n ? n : 1, elem_nbytes, nbytes)) return complain(NULL, "out of memory");
    return true;
}

void *job_host(struct job *job, uint64_t n, size_t elem_nbytes) {
    size_t nbytes;
    if (!buffer_nbytes(n, elem_nbytes, &nbytes)) return NULL;
    void **slot = free_slot(job->host);
    *slot = malloc(nbytes);
    if (!*slot) complain(NULL, "out of memory");
    return *slot;
}

void *job_device(struct job *job, uint64_t n, size_t elem_nbytes) {
    size_t nbytes;
    if (!buffer_nbytes(n, elem_nbytes, &nbytes)) return NULL;
    void **slot = free_slot(job->device);
    return job_ok(job, upsweep_alloc(job->ctx, slot, nbytes)) ? *slot : NULL;
}

bool job_ok(struct job *job, upsweep_status status) { return status == UPSWEEP_OK || complain(NULL, "%s", upsweep_error(job->ctx)); }
