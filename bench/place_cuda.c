/* place_cuda.c: work on the GPU: device memory, CUDA events and graphs, and the driver's device-to-device copy as the yardstick.
 *
 * By graph: several calls are captured into one graph, and a sample is the time of one replay by events, divided by the calls. The host's
 * time to launch kernels is not in it, as it is not in a program that has enough queued. By events: one call between two events; behind a
 * flush of the L2 cache, which runs while the host is still launching. Cold: before each sample, 256 MiB are written. */
#include "bench.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#define FLUSH_NBYTES (UINT64_C(1) << 28)
#define REPLAY_MS    0.5 /* enough calls in a graph to last so long: a hundred times the gap between two replays */
#define MAX_IN_GRAPH 50u
#define STAGE_NBYTES ((size_t)32 << 20)

static struct {
    cudaStream_t stream;
    cudaEvent_t start, stop;
    void *flush;
    unsigned char flush_value;
    struct stage {
        void *p;           /* [STAGE_NBYTES], pinned */
        cudaEvent_t moved; /* its last transfer is over */
    } stages[2];
} gpu;

static bool good(cudaError_t error) {
    if (error == cudaSuccess) return true;
    cudaGetLastError(); /* forget it: the next check would find it */
    fprintf(stderr, "upsweep-bench: CUDA: %s\n", cudaGetErrorString(error));
    return false;
}

static bool make_stages(void) {
    bool ok = true;
    for (int i = 0; i < 2; i++) {
        ok = ok && good(cudaMallocHost(&gpu.stages[i].p, STAGE_NBYTES)) &&
             good(cudaEventCreateWithFlags(&gpu.stages[i].moved, cudaEventDisableTiming));
    }
    return ok;
}

/* Also creates what all else needs. */
static const char *missing(void) {
    if (gpu.stream != NULL) return NULL;
    const char *why = ladder_missing(LADDER_CUDA);
    if (why != NULL) return why;
    const bool ok = good(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking)) && good(cudaEventCreate(&gpu.start)) &&
                    good(cudaEventCreate(&gpu.stop)) && good(cudaMalloc(&gpu.flush, FLUSH_NBYTES)) && make_stages();
    return ok ? NULL : "the GPU cannot be used";
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------ */

static void *alloc(size_t nbytes) {
    void *p = NULL;
    return good(cudaMalloc(&p, nbytes + 1)) ? p : NULL;
}

static void release(void *p) { good(cudaFree(p)); }

static bool sync_stream(void) { return good(cudaStreamSynchronize(gpu.stream)); }

/* ---- transfers --------------------------------------------------------------------------------------------------------------- */

/* Through two pinned stages by turns: all cores fill or empty one while the other is on its way. The driver does the same for pageable
 * memory with one core: so a run of 2^28 pairs took 5 s, now 1.4, most of it transfers (H200, November 23, 2026). */
struct host_copy {
    char *dst;
    const char *src;
};

static void copy_block(void *arg, uint32_t block, uint64_t first, uint64_t last) {
    const struct host_copy *copy = arg;
    (void)block;
    memcpy(copy->dst + first, copy->src + first, (size_t)(last - first));
}

static void copy_on_host(void *dst, const void *src, size_t nbytes) {
    const struct blocks blocks = blocks_of(nbytes);
    blocks_run(&blocks, copy_block, &(struct host_copy){dst, src});
}

static size_t piece_nbytes(size_t nbytes, size_t at) { return nbytes - at < STAGE_NBYTES ? nbytes - at : STAGE_NBYTES; }

static bool upload(void *dst, const void *src, size_t nbytes) {
    bool ok = true;
    for (size_t at = 0, i = 0; ok && at < nbytes; at += STAGE_NBYTES, i ^= 1) {
        const struct stage *stage = &gpu.stages[i];
        const size_t piece = piece_nbytes(nbytes, at);
        ok = good(cudaEventSynchronize(stage->moved));
        if (ok) copy_on_host(stage->p, (const char *)src + at, piece);
        ok = ok && good(cudaMemcpyAsync((char *)dst + at, stage->p, piece, cudaMemcpyHostToDevice, gpu.stream)) &&
             good(cudaEventRecord(stage->moved, gpu.stream));
    }
    return ok && sync_stream();
}

static bool fill_stage(const struct stage *stage, const void *src, size_t nbytes) {
    return good(cudaMemcpyAsync(stage->p, src, nbytes, cudaMemcpyDeviceToHost, gpu.stream)) &&
           good(cudaEventRecord(stage->moved, gpu.stream));
}

static bool download(void *dst, const void *src, size_t nbytes) {
    bool ok = nbytes == 0 || fill_stage(&gpu.stages[0], src, piece_nbytes(nbytes, 0));
    for (size_t at = 0, i = 0; ok && at < nbytes; at += STAGE_NBYTES, i ^= 1) {
        const size_t next = at + STAGE_NBYTES;
        ok = next >= nbytes || fill_stage(&gpu.stages[i ^ 1], (const char *)src + next, piece_nbytes(nbytes, next));
        ok = ok && good(cudaEventSynchronize(gpu.stages[i].moved));
        if (ok) copy_on_host((char *)dst + at, gpu.stages[i].p, piece_nbytes(nbytes, at));
    }
    return ok;
}

static bool poison(void *p, size_t nbytes) { return good(cudaMemsetAsync(p, 0xAB, nbytes, gpu.stream)); }

static bool copy(void *dst, const void *src, size_t nbytes, uint32_t nthreads, bool past_caches) {
    (void)nthreads;
    (void)past_caches;
    return good(cudaMemcpyAsync(dst, src, nbytes, cudaMemcpyDeviceToDevice, gpu.stream));
}

static void *stream(void) { return gpu.stream; }

/* ---- samples ----------------------------------------------------------------------------------------------------------------- */

static bool elapsed(double *ms) {
    float f = 0;
    const bool ok = good(cudaEventRecord(gpu.stop, gpu.stream)) && good(cudaEventSynchronize(gpu.stop)) &&
                    good(cudaEventElapsedTime(&f, gpu.start, gpu.stop));
    *ms = f;
    return ok;
}

static bool sample_by_events(struct watch *watch, double *ms) {
    if (watch->cache == COLD && !good(cudaMemsetAsync(gpu.flush, ++gpu.flush_value, FLUSH_NBYTES, gpu.stream))) return false;
    return good(cudaEventRecord(gpu.start, gpu.stream)) && watch->work.run(watch->work.arg) && elapsed(ms);
}

static bool sample_by_graph(struct watch *watch, double *ms) {
    const bool ok =
        good(cudaEventRecord(gpu.start, gpu.stream)) && good(cudaGraphLaunch((cudaGraphExec_t)watch->graph, gpu.stream)) && elapsed(ms);
    *ms /= watch->ncalls;
    return ok;
}

static bool capture(struct watch *watch) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    bool ok = good(cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeThreadLocal));
    for (uint32_t i = 0; ok && i < watch->ncalls; i++) ok = watch->work.run(watch->work.arg);
    ok = good(cudaStreamEndCapture(gpu.stream, &graph)) && ok; /* also after a failure: the stream must leave the capture */
    ok = ok && good(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    if (graph != NULL) cudaGraphDestroy(graph);
    watch->graph = exec;
    return ok;
}

static bool watch_open(struct watch *watch) {
    double ms = 0;
    watch->ncalls = 1;
    watch->graph = NULL;
    for (int i = 0; i < 2; i++) { /* warms up, loads the code, lets scratch grow; the second time counts */
        if (!sample_by_events(watch, &ms)) return false;
    }
    if (watch->method != BY_GRAPH) return true;
    const double ncalls = REPLAY_MS / (ms + 1e-6) + 1;
    watch->ncalls = ncalls < MAX_IN_GRAPH ? (uint32_t)ncalls : MAX_IN_GRAPH;
    return capture(watch) && sample_by_graph(watch, &ms); /* the first replay uploads the graph */
}

static bool watch_sample(struct watch *watch, double *ms) {
    return watch->method == BY_GRAPH ? sample_by_graph(watch, ms) : sample_by_events(watch, ms);
}

static void watch_close(struct watch *watch) {
    if (watch->graph != NULL) cudaGraphExecDestroy((cudaGraphExec_t)watch->graph);
    watch->graph = NULL;
}

/* ---- the place --------------------------------------------------------------------------------------------------------------- */

extern const struct place upsweep_bench_cuda_place;
const struct place upsweep_bench_cuda_place = {
    .name = "cuda",
    .backend = LADDER_CUDA,
    .missing = missing,
    .alloc = alloc,
    .free = release,
    .upload = upload,
    .download = download,
    .poison = poison,
    .copy = copy,
    .stream = stream,
    .sync = sync_stream,
    .watch_open = watch_open,
    .watch_sample = watch_sample,
    .watch_close = watch_close,
};

const char *cuda_version_text(void) {
    static char text[64];
    int driver = 0, runtime = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || cudaRuntimeGetVersion(&runtime) != cudaSuccess) return NULL;
    snprintf(text, sizeof text, "driver for CUDA %d.%d, runtime %d.%d", driver / 1000, driver % 1000 / 10, runtime / 1000,
             runtime % 1000 / 10);
    return text;
}
