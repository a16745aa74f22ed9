/* rungs.h: what the files of the rungs share with each other and with the table, and nobody else sees. C17 and C++ include it alike. */
#ifndef UPSWEEP_LADDER_RUNGS_H
#define UPSWEEP_LADDER_RUNGS_H

#include "ladder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef bool ladder_function(const struct ladder_rung *rung, struct ladder_job *job);

/* ---- the CPU rungs ----------------------------------------------------------------------------------------------------------- */

ladder_function ladder_serial_scan;          /* cpu_1_serial_scan.c */
ladder_function ladder_threaded_scan;        /* cpu_2_threaded_scan.c */
ladder_function ladder_compact_without_scan; /* cpu_3_compact_without_scan.c */
ladder_function ladder_compact_with_scan;    /* cpu_4_compact_with_scan.c */
ladder_function ladder_qsort;                /* cpu_5_qsort.c */
ladder_function ladder_utf8_decode_steps;    /* cpu_7_utf8_steps.c */
ladder_function ladder_utf8_encode_steps;
ladder_function ladder_std_scan; /* cpu_6_std.cpp */
ladder_function ladder_std_sort;
ladder_function ladder_upsweep; /* upsweep_rungs.c: the library's own, on either backend */

const char *ladder_qsort_version(void);
const char *ladder_std_version(void);

/* The loop of rung 1: exclusive sum of in [n] into out [n]; out == in is fine. */
void ladder_scan_serially(int32_t *out, const int32_t *in, uint64_t n);

/* ---- the CUDA rungs ---------------------------------------------------------------------------------------------------------- */

ladder_function ladder_device_scan;                          /* gpu_scan.cu: with any scan of device.cuh */
ladder_function ladder_device_compact;                       /* gpu_compact.cu: likewise */
ladder_function ladder_device_split_sort;                    /* gpu_7_split_sort.cu: likewise */
ladder_function ladder_device_utf8;                          /* gpu_utf8_steps.cu: likewise */
extern const struct device_scan ladder_naive_scan;           /* gpu_1_naive.cu */
extern const struct device_scan ladder_work_efficient_scan;  /* gpu_2_work_efficient.cu */
extern const struct device_scan ladder_packed_threads_scan;  /* gpu_3_working_threads.cu */
extern const struct device_scan ladder_working_threads_scan; /* the same */
extern const struct device_scan ladder_shared_memory_scan;   /* gpu_4_shared_memory.cu */

ladder_function ladder_thrust_scan; /* gpu_5_peers.cu */
ladder_function ladder_thrust_compact;
ladder_function ladder_thrust_sort;
ladder_function ladder_cub_scan;
ladder_function ladder_cub_compact;
ladder_function ladder_cub_sort;

const char *ladder_thrust_version(void);
const char *ladder_cub_version(void);

/* device.cu: NULL if there is a device to run on, else why not. */
const char *ladder_device_missing(void);

/* device.cu: a clock that C files can use: it measures what is queued on the default stream between start and stop, by events. */
struct ladder_device_clock;
#ifdef UPSWEEP_HAVE_CUDA
struct ladder_device_clock *ladder_device_clock_open(void); /* NULL: failed */
void ladder_device_clock_close(struct ladder_device_clock *clock);
bool ladder_device_clock_start(struct ladder_device_clock *clock);
bool ladder_device_clock_stop(struct ladder_device_clock *clock, double *ms); /* waits for the device */
void *ladder_device_stream(void);                                             /* that stream, as upsweep_options wants it */
#else
/* Without CUDA there is none, and no row that would ask for it. */
static inline struct ladder_device_clock *ladder_device_clock_open(void) { return NULL; }
static inline void ladder_device_clock_close(struct ladder_device_clock *clock) { (void)clock; }
static inline bool ladder_device_clock_start(struct ladder_device_clock *clock) { return clock != NULL; }
static inline bool ladder_device_clock_stop(struct ladder_device_clock *clock, double *ms) { return clock != NULL && *ms >= 0; }
static inline void *ladder_device_stream(void) { return NULL; }
#endif

/* ---- references of text (reference_utf8.c) ------------------------------------------------------------------------------------ */

uint64_t ladder_reference_utf8_decode(const struct ladder_job *job, int32_t *expected);
uint64_t ladder_reference_utf8_encode(const struct ladder_job *job, int32_t *expected);

/* ---- helpers (ladder.c) ------------------------------------------------------------------------------------------------------ */

/* CLOCK_MONOTONIC, in milliseconds. */
double ladder_now_ms(void);

/* Takes the times of one more repeat into the job. */
void ladder_record(struct ladder_job *job, struct ladder_times times);

/* Puts a sentence into the job and returns false, so that `return ladder_fail(...)` is one statement. */
bool ladder_fail(struct ladder_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* n elements, every page touched, so that a timed part meets no page faults. NULL: out of memory, and the job says so. free() it. */
int32_t *ladder_alloc(struct ladder_job *job, uint64_t n);

/* Scans of flags count in 32 bits: false, and the job says so, if n is more than that. */
bool ladder_counts_fit(struct ladder_job *job);

#ifdef __cplusplus
}
#endif

/* a + b modulo 2^32: signed overflow would be undefined. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline int32_t
    wrap_add(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

#endif
