/* many_gpus.c: a scan over an array that lies in pieces on all GPUs of a machine, with NCCL. Each GPU scans its piece for the total; all
 * gather the totals, and each scans these for what comes before its piece, which it then scans again, from there on. A GPU has a context
 * and a stream, which NCCL uses, too: the host waits for nothing before it reads the sums. With a process for each GPU, or many machines
 * (MPI), only the communicators are made in another way. Build: cc many_gpus.c -lupsweep -lcudart -lnccl. Ends with status 77, skipped,
 * where there is no GPU. */
#include <cuda_runtime_api.h>
#include <nccl.h>
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
#define CHECK_NCCL(call)                                                    \
    do {                                                                    \
        ncclResult_t result = (call);                                       \
        if (result != ncclSuccess) {                                        \
            fprintf(stderr, "%s: %s\n", #call, ncclGetErrorString(result)); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

enum { MOST_GPUS = 16, PIECE = 1000000 }; /* elements on each GPU */

struct gpu {
    cudaStream_t stream;
    ncclComm_t comm;
    upsweep_context *ctx;
    void *piece, *sums;             /* [PIECE] */
    void *total, *totals, *carries; /* of this piece; [GPUs] of all pieces; [GPUs] of those before each */
};

static void open_gpu(struct gpu *gpu, int number, int ngpus, const int64_t *host_piece) {
    upsweep_context *ctx = NULL;
    upsweep_options options = {.size = sizeof options};
    char backend[16];
    CHECK_CUDA(cudaSetDevice(number));
    CHECK_CUDA(cudaStreamCreate(&gpu->stream));
    options.stream = gpu->stream;
    snprintf(backend, sizeof backend, "cuda:%d", number);
    CHECK(upsweep_open_ex(&ctx, backend, &options));
    gpu->ctx = ctx;
    CHECK(upsweep_alloc(ctx, &gpu->piece, sizeof(int64_t[PIECE])));
    CHECK(upsweep_alloc(ctx, &gpu->sums, sizeof(int64_t[PIECE])));
    CHECK(upsweep_alloc(ctx, &gpu->total, sizeof(int64_t)));
    CHECK(upsweep_alloc(ctx, &gpu->totals, (size_t)ngpus * sizeof(int64_t)));
    CHECK(upsweep_alloc(ctx, &gpu->carries, (size_t)ngpus * sizeof(int64_t)));
    CHECK(upsweep_upload(ctx, gpu->piece, host_piece, sizeof(int64_t[PIECE])));
}

static void close_gpu(struct gpu *gpu) {
    CHECK_NCCL(ncclCommDestroy(gpu->comm));
    upsweep_free(gpu->ctx, gpu->carries);
    upsweep_free(gpu->ctx, gpu->totals);
    upsweep_free(gpu->ctx, gpu->total);
    upsweep_free(gpu->ctx, gpu->sums);
    upsweep_free(gpu->ctx, gpu->piece);
    upsweep_close(gpu->ctx);
    CHECK_CUDA(cudaStreamDestroy(gpu->stream));
}

/* The scan of a piece; with a total, but no carry-in yet, or the other way round. */
static void scan_piece(const struct gpu *gpu, const void *carry, void *total) {
    upsweep_context *ctx = gpu->ctx;
    CHECK(upsweep_scan_ex(ctx, gpu->sums, gpu->piece, PIECE, UPSWEEP_I64, UPSWEEP_ADD, UPSWEEP_INCLUSIVE, carry, total));
}

static void scan_pieces(struct gpu *gpus, int ngpus) {
    for (int g = 0; g < ngpus; g++) scan_piece(&gpus[g], NULL, gpus[g].total);
    CHECK_NCCL(ncclGroupStart());
    for (int g = 0; g < ngpus; g++) CHECK_NCCL(ncclAllGather(gpus[g].total, gpus[g].totals, 1, ncclInt64, gpus[g].comm, gpus[g].stream));
    CHECK_NCCL(ncclGroupEnd());
    for (int g = 0; g < ngpus; g++) {
        upsweep_context *ctx = gpus[g].ctx;
        CHECK(upsweep_scan(ctx, gpus[g].carries, gpus[g].totals, (uint64_t)ngpus, UPSWEEP_I64, UPSWEEP_ADD, UPSWEEP_EXCLUSIVE));
        scan_piece(&gpus[g], (const int64_t *)gpus[g].carries + g, NULL);
    }
}

int main(void) {
    static int64_t piece[PIECE];
    struct gpu gpus[MOST_GPUS] = {0};
    ncclComm_t comms[MOST_GPUS];
    int64_t sum = 0;
    int ngpus = 0, nwrong = 0;

    if (cudaGetDeviceCount(&ngpus) != cudaSuccess || ngpus == 0) return 77;
    if (ngpus > MOST_GPUS) ngpus = MOST_GPUS;
    CHECK_NCCL(ncclCommInitAll(comms, ngpus, NULL)); /* of GPUs 0, 1, ... */
    for (int g = 0; g < ngpus; g++) {
        for (int i = 0; i < PIECE; i++) piece[i] = (int64_t)(g + 1) * i % 1000 - 300;
        gpus[g].comm = comms[g];
        open_gpu(&gpus[g], g, ngpus, piece);
    }

    scan_pieces(gpus, ngpus);

    for (int g = 0; g < ngpus; g++) {
        upsweep_context *ctx = gpus[g].ctx;
        CHECK(upsweep_download(ctx, piece, gpus[g].sums, sizeof piece)); /* waits for the stream */
        for (int i = 0; i < PIECE; i++) {
            sum += (int64_t)(g + 1) * i % 1000 - 300;
            nwrong += piece[i] != sum;
        }
        printf("GPU %d: the sums go on to %lld\n", g, (long long)piece[PIECE - 1]);
    }
    for (int g = 0; g < ngpus; g++) close_gpu(&gpus[g]);
    return nwrong == 0 ? 0 : 1;
}
