/* place_cuda.c: work on the GPU: device memory, CUDA events and graphs, and the driver's device-to-device copy as the yardstick.
 *
 * By graph: several calls are captured into one graph, and a sample is the time of one replay by events, divided by the calls. The host's
 * time to launch kernels is not in it, as it is not in a program that has enough queued. By events: one call between two events; behind a
 * flush of the L2 cache, which runs while the host is still launching. Cold: before each sample, 256 MiB are written. */
#include "bench.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

#define FLUSH_NBYTES (UINT64_C(1) << 28)
#define REPLAY_MS    0.5 /* enough calls in a graph to last so long: a hundred times the gap between two replays */
#define MAX_IN_GRAPH 50u

static struct {
    cudaStream_t stream;
    cudaEvent_t start, stop;
    void *flush;
    unsigned char flush_value;
} gpu;

static bool good(cudaError_t error) {
    if (error == cudaSuccess) return true;
    cudaGetLastError(); /* forget it: the next check would find it */
    fprintf(stderr, "upsweep-bench: CUDA: %s\n", cudaGetErrorString(error));
    return false;
}

/* Also creates what all else needs. */
static const char *missing(void) {
    if (gpu.stream != NULL) return NULL;
    const char *why = ladder_missing(LADDER_CUDA);
    if (why != NULL) return why;
    const bool ok = good(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking)) && good(cudaEventCreate(&gpu.start)) &&
                    good(cudaEventCreate(&gpu.stop)) && good(cudaMalloc(&gpu.flush, FLUSH_NBYTES));
    return ok ? NULL : "the GPU cannot be used";
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------ */

static void *alloc(size_t nbytes) {
    void *p = NULL;
    return good(cudaMalloc(&p, nbytes + 1)) ? p : NULL;
}

static void release(void *p) { good(cudaFree(p)); }

static bool sync_stream(void) { return good(cudaStreamSynchronize(gpu.stream)); }

/* On the stream: a plain cudaMemcpy from pageable memory may return before the device has all of it, and our stream would not wait. */
static bool transfer(void *dst, const void *src, size_t nbytes) {
    return (nbytes == 0 || good(cudaMemcpyAsync(dst, src, nbytes, cudaMemcpyDefault, gpu.stream))) && sync_stream();
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
    .upload = transfer,
    .download = transfer,
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
