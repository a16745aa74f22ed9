/* launch.h: the bridge: C17 on one side (backend.c), CUDA on the other (*.cu); nothing else crosses.
 *
 * A launcher queues its kernels and returns; it never allocates, synchronises or touches a host global. It returns a cudaError_t as int
 * (0: queued), so that this header needs no CUDA header. */
#ifndef UPSWEEP_CUDA_LAUNCH_H
#define UPSWEEP_CUDA_LAUNCH_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where to launch: filled by backend.c once a context. */
struct cuda_queue {
    void *stream;      /* cudaStream_t */
    int nsms;          /* multiprocessors */
    int arch;          /* compute capability: 90 for 9.0 */
    int has_sm_90;     /* 1 if the kernels, too, are compiled for sm_90 or newer: bulk copies, clusters, early starts */
    int shared_nbytes; /* of shared memory that one CTA can have if it asks */
    int cooperative;   /* 1 if cooperative launches are to be had */
    int overlap;       /* 1 if a kernel may be set up while the one before it ends */
    int cluster_ctas;  /* of the largest thread block cluster to be had, or 0 */
    void *control;     /* CUDA_CONTROL_NBYTES of device memory, zero before the first launch: survives from call to call */
    int only_lookback; /* 1: the look-back pass at every size, and nothing else for which CTAs must be resident together */
    int only_ring;     /* 1: the ring pass at every size, if this GPU can run it */
    uint32_t seed;     /* of the samples that sorts draw: they say which way is quicker, and nothing of the result */
};

/* May a call take whatever is fastest for its size? Not if one of the two passes has been asked for by name. */
static inline bool may_choose(const struct cuda_queue *queue) { return !queue->only_lookback && !queue->only_ring; }

/* Where in the control memory each kind of exchange keeps its words (lookback.cuh, ring_exchange.cuh; by the bytes of a word or value). */
enum {
    CUDA_CONTROL_LOOKBACK_8 = 0,
    CUDA_CONTROL_LOOKBACK_16 = 2 << 20,
    CUDA_CONTROL_RING_4 = 5 << 20,
    CUDA_CONTROL_RING_8 = 6 << 20,
    CUDA_CONTROL_COUNT = 7 << 20,                              /* count.cuh */
    CUDA_CONTROL_UTF8 = CUDA_CONTROL_COUNT + 256,              /* utf8_report.cuh */
    CUDA_CONTROL_UTF8_PARTS = CUDA_CONTROL_UTF8 + 256,         /* utf8_measure.cuh */
    CUDA_CONTROL_BYTES = CUDA_CONTROL_UTF8_PARTS + (65 << 10), /* sort_bytes.cuh */
    CUDA_CONTROL_BYTES_NBYTES = 8 << 10,
    CUDA_CONTROL_FUSED = CUDA_CONTROL_BYTES + CUDA_CONTROL_BYTES_NBYTES, /* sort_fused.cuh */
    CUDA_CONTROL_FUSED_NBYTES = 17 << 10,
    CUDA_CONTROL_CELLS = CUDA_CONTROL_FUSED + CUDA_CONTROL_FUSED_NBYTES, /* sort_fused_cells.cuh */
    CUDA_CONTROL_CELLS_NBYTES = 65 << 10,
    CUDA_CONTROL_SKEWED = CUDA_CONTROL_CELLS + CUDA_CONTROL_CELLS_NBYTES, /* sort_totals.cuh */
    CUDA_CONTROL_SKEWED_NBYTES = 276 << 10,
    CUDA_CONTROL_SHORTS = CUDA_CONTROL_SKEWED + CUDA_CONTROL_SKEWED_NBYTES, /* sort_shorts_fused.cuh */
    CUDA_CONTROL_SHORTS_NBYTES = 521 << 10,
    CUDA_CONTROL_ROUNDS = CUDA_CONTROL_SHORTS + CUDA_CONTROL_SHORTS_NBYTES, /* sort_exchange.cuh */
    CUDA_CONTROL_ROUNDS_NBYTES = 560 << 10,
    CUDA_CONTROL_NBYTES = CUDA_CONTROL_ROUNDS + CUDA_CONTROL_ROUNDS_NBYTES
};

/* 0 if this library has kernels for the current device; then *arch is the architecture that they are compiled for: maybe an older one. */
int cuda_probe(int *arch);

/* For cluster_ctas. */
int cuda_largest_cluster(void);

int cuda_launch_scan(const struct cuda_queue *queue, const struct scan_args *args, void *scratch);
int cuda_launch_compact(const struct cuda_queue *queue, const struct compact_args *args, void *scratch);
int cuda_launch_sort(const struct cuda_queue *queue, const struct sort_args *args, void *scratch);
int cuda_launch_utf8(const struct cuda_queue *queue, const struct utf8_args *args, void *scratch);

/* Scratch bytes that a sort may need: a pure function, monotonic in n, saturating at UINT64_MAX. The others need none: their words live in
 * control memory, and they stage nothing in global memory. */
uint64_t cuda_sort_scratch(const struct cuda_queue *queue, uint64_t n, size_t key_nbytes, size_t value_nbytes, bool argsort);

#ifdef __cplusplus
}
#endif

#endif
