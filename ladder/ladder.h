/* ladder.h: the teaching ladder: one table of rungs, each a way to scan, to compact, to sort or to convert text, from the plainest to the
 * library's own.
 *
 * The ladder shows, side by side and timed, how one gets from a serial loop to a scan that keeps a GPU busy. It is never linked into the
 * library. The demo, the tests and the benchmarks all go through this header: they walk the table and run every row in the same way, so
 * that a new rung is one file and one row in ladder.c. The README in this folder tells the story. */
#ifndef UPSWEEP_LADDER_H
#define UPSWEEP_LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a rung computes. All elements are int32_t; sums wrap.
 * scan:     out[i] = in[0] + ... + in[i-1]
 * compact:  the elements of in that are not zero, in their order
 * sort:     in, ascending (by its lowest num_bits bits if those are fewer than 32: as unsigned numbers, and stable)
 * decode:   the first n bytes of in as UTF-8: their code points, U+FFFD for each ill-formed sequence
 * encode:   in as code points, U+FFFD for those that are none: their UTF-8, four bytes in an element, filled up with zeros */
enum ladder_primitive { LADDER_SCAN, LADDER_COMPACT, LADDER_SORT, LADDER_UTF8_DECODE, LADDER_UTF8_ENCODE };

enum ladder_backend { LADDER_CPU, LADDER_CUDA };

/* What a rung takes and gives beyond the arrays: bits of ladder_rung.params. */
enum ladder_param {
    LADDER_BLOCK_SIZE = 1, /* uses job.block_size */
    LADDER_THREADS = 2,    /* uses job.nthreads */
    LADDER_NUM_BITS = 4,   /* uses job.num_bits */
    LADDER_PARTS = 8       /* times map, scan and scatter apart */
};

struct ladder_times {
    double total_ms;
    double map_ms, scan_ms, scatter_ms; /* with LADDER_PARTS, else 0 */
};

/* For `upsweep profile`: one thing that a CUDA rung queues: a kernel, a copy, a fill. The bytes are counted from the algorithm, the time is
 * measured by events. */
struct ladder_step {
    char name[40];
    uint64_t nthreads, nactive;         /* launched, and with work to do; 0: a copy or a fill, whose threads are not ours */
    uint64_t used_nbytes, moved_nbytes; /* that it reads and writes, and that memory moves for it, as it comes in sectors of 32 bytes */
    double ms;
};

/* One piece of work for a rung. Fill with zeros, set the first three, and whatever of the next group is wanted. */
struct ladder_job {
    const int32_t *in; /* [n], in host memory; stays as it is */
    int32_t *out;      /* [n], in host memory, apart from in */
    uint64_t n;

    uint32_t block_size; /* threads of a CUDA block: a power of two, 16 to 1024 (16: half of each warp idles); 0: 256 */
    uint32_t nthreads;   /* threads of the CPU; 0: as many as there are */
    uint32_t num_bits;   /* 1 to 32; 0: 32 */
    uint32_t repeats;    /* how often the timed part is done; 0: once */
    double *samples_ms;  /* [repeats]: receives the total of each; or NULL */

    struct ladder_step *steps; /* [max_steps]: receives those of the last repeat, if the rung tells them; or NULL */
    uint32_t max_steps;

    uint64_t count;            /* elements of out that mean something: n, or fewer after a compaction or conversion */
    struct ladder_times times; /* of the fastest repeat: neither allocations nor transfers are part of it */
    uint32_t nsamples;         /* repeats done */
    uint32_t nsteps;           /* known, though no more than max_steps are kept */
    char error[256];           /* why ladder_run() failed */
};

struct device_scan; /* device.cuh */

struct ladder_rung {
    const char *name; /* unique */
    enum ladder_primitive primitive;
    enum ladder_backend backend;
    uint32_t params;           /* ladder_param bits */
    const char *(*peer)(void); /* somebody else's work, for comparison: its name and version; NULL: ours */
    bool (*run)(const struct ladder_rung *rung, struct ladder_job *job);
    const struct device_scan *scan; /* CUDA: the scan that `run` is to use, if it is one that can use several */
};

/* The rungs of this build, in the order in which they are taught; NULL past the last. */
const struct ladder_rung *ladder_at(size_t index);

/* NULL if rungs of the backend can run on this machine, else a sentence that says why not. */
const char *ladder_missing(enum ladder_backend backend);

/* Runs a rung on a job: checks the parameters, fills in the defaults, then leaves the answer in job->out, job->count and job->times.
 * false: it did not run, and job->error says why. n = 0 is fine. */
bool ladder_run(const struct ladder_rung *rung, struct ladder_job *job);

/* The answer that every rung must give, computed in yet another and straightforward way: expected [n]; returns the job's count.
 * Reads only in, n and num_bits of the job (0: 32). UINT64_MAX: out of memory. */
uint64_t ladder_reference(enum ladder_primitive primitive, const struct ladder_job *job, int32_t *expected);

#ifdef __cplusplus
}
#endif

#endif
