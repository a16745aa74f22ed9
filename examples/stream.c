/* stream.c: the library among CUDA calls of your own: your stream, memory of cudaMalloc(), and a graph that is captured once and then
 * replayed for every batch of readings. A batch is sorted, largest first, and the readings of at least a half are kept. Nothing waits
 * for the GPU but cudaStreamSynchronize(): how many were kept stays in device memory until the host asks.
 * Build: cc stream.c -lupsweep -lcudart. Ends with status 77, skipped, where there is no GPU. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <upsweep.h>

#define CHECK(call)                                                 \
    do {                                                            \
        if ((call) != UPSWEEP_OK) {                                 \
            fprintf(stderr, "%s: %s\n", #call, upsweep_error(ctx)); \
            exit(1);                                                \
        }                                                           \
    } while (0)
#define CHECK_CUDA(call)                                                   \
    do {                                                                   \
        cudaError_t error = (call);                                        \
        if (error != cudaSuccess) {                                        \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

enum { N = 1000, BATCHES = 3 };

/* What a batch does on the GPU: both calls are queued on the stream of the context, or captured from it. */
static void keep_the_large(upsweep_context *ctx, float *kept, uint64_t *count, float *sorted, const float *readings) {
    CHECK(upsweep_sort(ctx, sorted, readings, N, UPSWEEP_F32, &(upsweep_order){.descending = 1}));
    CHECK(upsweep_compact(ctx, kept, count, sorted, N, UPSWEEP_F32, &(upsweep_predicate){UPSWEEP_GE, {.f = 0.5}}));
}

int main(void) {
    upsweep_context *ctx = NULL;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t batch_graph;
    float host[N], *readings, *sorted, *kept;
    uint64_t *count, nkept, sort_nbytes, compact_nbytes;
    int ngpus = 0, nwrong = 0;

    if (cudaGetDeviceCount(&ngpus) != cudaSuccess || ngpus == 0) return 77;
    CHECK_CUDA(cudaStreamCreate(&stream));
    CHECK_CUDA(cudaMalloc((void **)&readings, sizeof host));
    CHECK_CUDA(cudaMalloc((void **)&sorted, sizeof host));
    CHECK_CUDA(cudaMalloc((void **)&kept, sizeof host));
    CHECK_CUDA(cudaMalloc((void **)&count, sizeof *count));

    upsweep_options options = {.size = sizeof options};
    options.stream = stream;
    CHECK(upsweep_open_ex(&ctx, "cuda", &options));

    /* Scratch does not grow during a capture: reserve it before. */
    CHECK(upsweep_scratch_size(ctx, &sort_nbytes, UPSWEEP_PRIM_SORT, N, sizeof(float), 0));
    CHECK(upsweep_scratch_size(ctx, &compact_nbytes, UPSWEEP_PRIM_COMPACT, N, sizeof(float), 0));
    CHECK(upsweep_reserve(ctx, (size_t)(sort_nbytes > compact_nbytes ? sort_nbytes : compact_nbytes)));

    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    keep_the_large(ctx, kept, count, sorted, readings);
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&batch_graph, graph, 0));

    for (int batch = 0; batch < BATCHES; batch++) {
        for (int i = 0; i < N; i++) host[i] = (float)((i * 7919 + batch * 31) % N) / (float)N; /* i * 7919 % N is a permutation */
        CHECK_CUDA(cudaMemcpyAsync(readings, host, sizeof host, cudaMemcpyHostToDevice, stream));
        CHECK_CUDA(cudaGraphLaunch(batch_graph, stream));
        CHECK_CUDA(cudaMemcpyAsync(&nkept, count, sizeof nkept, cudaMemcpyDeviceToHost, stream));
        CHECK_CUDA(cudaMemcpyAsync(host, kept, sizeof host, cudaMemcpyDeviceToHost, stream));
        CHECK_CUDA(cudaStreamSynchronize(stream));
        printf("batch %d: %d of %d readings kept, from %.3f down to %.3f\n", batch, (int)nkept, N, (double)host[0],
               (double)host[nkept - 1]);
        nwrong += nkept != N / 2 || host[0] != 0.999F || host[nkept - 1] != 0.5F;
    }

    /* The graph uses the context and its scratch: it goes first. */
    CHECK_CUDA(cudaGraphExecDestroy(batch_graph));
    CHECK_CUDA(cudaGraphDestroy(graph));
    upsweep_close(ctx);
    CHECK_CUDA(cudaFree(count));
    CHECK_CUDA(cudaFree(kept));
    CHECK_CUDA(cudaFree(sorted));
    CHECK_CUDA(cudaFree(readings));
    CHECK_CUDA(cudaStreamDestroy(stream));
    return nwrong == 0 ? 0 : 1;
}
