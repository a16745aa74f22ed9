/* cmd_sort.c: `upsweep sort`: keys alone, keys with values, or the order of the keys (argsort).
 *
 * A sort needs all of its input at once. How many elements fit is worked out before anything is read, so that an input too large is
 * refused in a moment and not after an hour. Two outputs are both complete on the disk before either gets its name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

static const struct usage usage = {
    .command = "sort",
    .bit = IN_SORT,
    .operands = "[IN [OUT]]",
    .intro =
        "Sorts the elements of IN. Equal ones keep their order. Floats sort in total order: -NaN < -inf < ... < -0.0 < +0.0 < ... < +inf\n"
        "< +NaN. The input must fit in memory, about twice; with --low-memory, once (on the CPU).",
    .examples = "  upsweep sort --type u32 in.u32 out.u32\n"
                "  upsweep sort --descending --argsort scores.npy ranking.npy\n"
                "  upsweep sort --type u64 --values names.bin --value-size 32 --values-out names.sorted ids.u64 ids.sorted",
};

struct sort {
    struct job *job;
    upsweep_order order;
    bool argsort;
    upsweep_type out_type; /* of what goes to OUT: keys or indices */
    size_t out_nbytes;

    struct source values; /* fd is -1 if there are none */
    struct sink values_out;
    char *values_path; /* --values-out, or OUT.values */
    uint64_t n;
    void *d_keys, *d_values, *d_indices;
};

/* ---- options ------------------------------------------------------------------------------------------------------------------- */

static bool open_values(struct sort *sort) {
    const char *const *option = sort->job->args.option, *path = option[OPT_VALUES];
    if (!path) return true;
    if (is_standard(path) && is_standard(sort->job->args.in)) return complain(NULL, "--values: IN is standard input already");
    const enum format format = format_of_name(path) == FORMAT_NPY ? FORMAT_NPY : FORMAT_RAW;
    uint64_t nbytes = 0;
    if (option[OPT_VALUE_SIZE] && !parse_count("value-size", option[OPT_VALUE_SIZE], 1, 4096, &nbytes)) return false;
    if (format == FORMAT_RAW && !nbytes) return complain(path, "raw values need --value-size");
    if (!source_open(&sort->values, path, format, TYPE_NONE, format == FORMAT_RAW ? (size_t)nbytes : 0)) return false;
    if (!nbytes || nbytes == sort->values.elem_nbytes) return true;
    return complain(path, "holds elements of %zu bytes, not the %s of --value-size", sort->values.elem_nbytes, option[OPT_VALUE_SIZE]);
}

static bool name_values_out(struct sort *sort) {
    const char *path = sort->job->args.option[OPT_VALUES_OUT], *out = sort->job->args.out;
    const bool has_values = sort->job->args.option[OPT_VALUES] != NULL;
    if (path && !has_values) return complain(NULL, "--values-out: needs --values");
    if (!has_values) return true;
    if (!path && is_standard(out)) return complain(NULL, "--values: say --values-out FILE, or name OUT");
    if (path && is_standard(path) && is_standard(out)) return complain(NULL, "--values-out: OUT is standard output already");
    if (path ? !(sort->values_path = strdup(path)) : asprintf(&sort->values_path, "%s.values", out) < 0) {
        sort->values_path = NULL;
        return complain(NULL, "out of memory");
    }
    if (is_standard(out) || is_standard(sort->values_path) || !outfile_same(sort->values_path, out)) return true;
    return complain(NULL, "--values-out: is the same file as OUT");
}

static bool sort_options(struct sort *sort) {
    const char *const *option = sort->job->args.option;
    const struct source *in = &sort->job->in;
    sort->argsort = option[OPT_ARGSORT] != NULL;
    sort->order.descending = option[OPT_DESCENDING] != NULL;
    sort->order.low_memory = option[OPT_LOW_MEMORY] != NULL;
    sort->out_type = in->type;
    if (option[OPT_BITS] && !parse_bits(option[OPT_BITS], in->type, &sort->order)) return false;
    if (option[OPT_INDEX_TYPE] && !sort->argsort) return complain(NULL, "--index-type: needs --argsort");
    if (option[OPT_VALUE_SIZE] && !option[OPT_VALUES]) return complain(NULL, "--value-size: needs --values");
    if (option[OPT_LOW_MEMORY] && (sort->argsort || option[OPT_VALUES] || option[OPT_BITS]))
        return complain(NULL, "--low-memory: not with --argsort, --values or --bits");
    if (sort->argsort && option[OPT_VALUES]) return complain(NULL, "--argsort and --values: only one of them at a time");
    if (sort->argsort && !parse_index_type(option[OPT_INDEX_TYPE], &sort->out_type)) return false;
    sort->out_nbytes = upsweep_type_nbytes(sort->out_type);
    return name_values_out(sort) && open_values(sort);
}

/* ---- memory -------------------------------------------------------------------------------------------------------------------- */

/* Bytes that sorting n elements takes: keys, values or indices, scratch, and the chunks under way. */
static uint64_t needed_nbytes(struct sort *sort, uint64_t n) {
    const struct job *job = sort->job;
    const uint64_t key_nbytes = job->in.elem_nbytes, value_nbytes = sort->argsort ? sort->out_nbytes : sort->values.elem_nbytes;
    const upsweep_primitive primitive = sort->argsort            ? UPSWEEP_PRIM_ARGSORT
                                        : sort->order.low_memory ? UPSWEEP_PRIM_SORT_LOW_MEMORY
                                                                 : UPSWEEP_PRIM_SORT;
    uint64_t scratch, arrays, chunks, sum;
    if (upsweep_scratch_size(job->ctx, &scratch, primitive, n, key_nbytes, value_nbytes) != UPSWEEP_OK) return UINT64_MAX;
    if (__builtin_mul_overflow(n, key_nbytes + value_nbytes, &arrays)) return UINT64_MAX;
    if (__builtin_add_overflow(arrays, scratch, &sum)) return UINT64_MAX;
    /* At most four chunks: of keys and of values, on the way in and on the way out. */
    if (__builtin_mul_overflow(arrays < job->chunk_nbytes ? arrays : job->chunk_nbytes, 4u, &chunks)) return UINT64_MAX;
    if (__builtin_add_overflow(sum, chunks, &sum)) return UINT64_MAX;
    return sum;
}

/* The most elements that fit, by halving: needed_nbytes() grows with n. */
static uint64_t most_that_fit(struct sort *sort) {
    const uint64_t available = job_available_nbytes(sort->job);
    uint64_t fits = 0, too_many = available / sort->job->in.elem_nbytes + 1;
    while (too_many - fits > 1) {
        const uint64_t n = fits + (too_many - fits) / 2;
        if (needed_nbytes(sort, n) <= available) {
            fits = n;
        } else {
            too_many = n;
        }
    }
    return fits;
}

/* ---- the sort ------------------------------------------------------------------------------------------------------------------ */

/* Bytes to be read in all; 0 if some input does not tell its length. */
static uint64_t input_nbytes(const struct sort *sort) {
    const struct source *keys = &sort->job->in, *values = &sort->values;
    if (keys->n == N_UNKNOWN || (values->fd >= 0 && values->n == N_UNKNOWN)) return 0;
    return keys->n * keys->elem_nbytes + (values->fd >= 0 ? values->n * values->elem_nbytes : 0);
}

static bool load(struct sort *sort) {
    struct job *job = sort->job;
    const uint64_t most = most_that_fit(sort);
    uint64_t n_values;
    progress_begin(input_nbytes(sort));
    if (!load_source(job, &job->in, most, &sort->d_keys, &sort->n)) return false;
    if (sort->argsort && !(sort->d_indices = job_device(job, sort->n, sort->out_nbytes))) return false;
    if (sort->values.fd < 0) return true;
    if (sort->values.n == N_UNKNOWN || sort->values.n == sort->n) { /* else it need not be read */
        if (!load_source(job, &sort->values, most, &sort->d_values, &n_values)) return false;
    } else {
        n_values = sort->values.n;
    }
    if (n_values == sort->n) return true;
    return complain(sort->values.name, "has %llu values for %llu keys", (unsigned long long)n_values, (unsigned long long)sort->n);
}

static bool run(struct sort *s) {
    upsweep_context *ctx = s->job->ctx;
    const upsweep_type type = s->job->in.type;
    if (s->argsort) return job_ok(s->job, upsweep_argsort(ctx, s->d_indices, s->d_keys, s->n, type, s->out_type, &s->order));
    if (!s->d_values) return job_ok(s->job, upsweep_sort(ctx, s->d_keys, s->d_keys, s->n, type, &s->order));
    return job_ok(s->job,
                  upsweep_sort_pairs(ctx, s->d_keys, s->d_keys, s->d_values, s->d_values, s->n, type, s->values.elem_nbytes, &s->order));
}

/* Downloads and writes an array, a chunk at a time. */
static bool write_array(struct job *job, struct sink *sink, const void *d_items, uint64_t n) {
    const uint64_t chunk_n = job_chunk_n(job, n, sink->elem_nbytes);
    const char *d_at = d_items;
    void *chunk = job_host(job, chunk_n, sink->elem_nbytes);
    if (!chunk) return false;
    for (uint64_t done = 0; done < n;) {
        const uint64_t now = n - done < chunk_n ? n - done : chunk_n;
        const size_t nbytes = (size_t)now * sink->elem_nbytes;
        if (!job_ok(job, upsweep_download(job->ctx, chunk, d_at, nbytes)) || !sink_write(sink, chunk, now)) return false;
        d_at += nbytes;
        done += now;
    }
    return true;
}

static bool write_values(struct sort *sort) {
    if (!sort->d_values) return true;
    const enum format by_name = format_of_name(sort->values_path);
    const enum format format = by_name == FORMAT_UNKNOWN ? sort->values.format : by_name;
    return sink_open(&sort->values_out, sort->values_path, format, sort->values.type, sort->values.elem_nbytes, sort->n) &&
           write_array(sort->job, &sort->values_out, sort->d_values, sort->n) && sink_settle(&sort->values_out);
}

static bool write_out(struct sort *sort) {
    struct job *job = sort->job;
    return job_open_out(job, sort->out_type, sort->out_nbytes, sort->n) &&
           write_array(job, &job->out, sort->argsort ? sort->d_indices : sort->d_keys, sort->n) && sink_settle(&job->out);
}

static bool sort_all(struct sort *sort) {
    if (!sort_options(sort) || !load(sort) || !run(sort) || !write_values(sort) || !write_out(sort)) return false;
    return (!sort->d_values || sink_publish(&sort->values_out)) && sink_publish(&sort->job->out);
}

int cmd_sort(int argc, char **argv) {
    struct job job;
    struct sort sort = {.job = &job, .values.fd = -1, .values_out.file.fd = -1, .values_out.spool.fd = -1};
    int status;
    if (!job_open(&job, &usage, argc, argv, &status)) {
        job_close(&job, false);
        return status;
    }
    const bool good = sort_all(&sort);
    source_close(&sort.values);
    sink_discard(&sort.values_out);
    free(sort.values_path);
    return job_close(&job, good);
}
