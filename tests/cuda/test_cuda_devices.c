/* test_cuda_devices.c: the errors that only a GPU has, on both paths; two devices in one process; a device that is lost.
 *
 * A lost device stays lost for its process, so that test runs in a child, forked before this process has touched CUDA. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"
#include "harness.h"
#include "paths.h"

static int path; /* of the tests that follow */

static void test_errors(void) {
    static uint32_t host[100];
    static uint64_t host_count;
    const upsweep_predicate keep = {UPSWEEP_NONZERO, {.u = 0}};
    upsweep_context *ctx = open_path(path, NULL), *none = NULL;
    if (!CHECK(ctx != NULL)) return;
    case_begin("errors");
    uint32_t *in = device_alloc(ctx, sizeof host), *out = device_alloc(ctx, sizeof host);
    uint64_t *count = device_alloc(ctx, 8);
    void *pinned = NULL, *huge = NULL;
    CUDA_OK(cudaMallocHost(&pinned, sizeof host));
    CHECK_OK(upsweep_upload(ctx, in, host, sizeof host));
    CHECK_STATUS(upsweep_scan(ctx, host, in, 100, UPSWEEP_U32, UPSWEEP_ADD, 0), UPSWEEP_ERR_HOST_POINTER);
    CHECK(strstr(upsweep_error(ctx), "out") != NULL);
    CHECK_STATUS(upsweep_scan(ctx, out, host, 100, UPSWEEP_U32, UPSWEEP_ADD, 0), UPSWEEP_ERR_HOST_POINTER);
    CHECK_STATUS(upsweep_scan(ctx, out, pinned, 100, UPSWEEP_U32, UPSWEEP_ADD, 0), UPSWEEP_ERR_HOST_POINTER);
    CHECK_STATUS(upsweep_scan_ex(ctx, out, in, 100, UPSWEEP_U32, UPSWEEP_ADD, 0, host, NULL), UPSWEEP_ERR_HOST_POINTER);
    CHECK_STATUS(upsweep_compact(ctx, out, &host_count, in, 100, UPSWEEP_U32, &keep), UPSWEEP_ERR_HOST_POINTER);
    CHECK_STATUS(upsweep_sort(ctx, host, in, 100, UPSWEEP_U32, NULL), UPSWEEP_ERR_HOST_POINTER);
    CHECK_STATUS(upsweep_upload(ctx, host, host, sizeof host), UPSWEEP_ERR_HOST_POINTER);
    CHECK_STATUS(upsweep_set_scratch(ctx, (void *)((uintptr_t)pinned + (256 - (uintptr_t)pinned % 256) % 256), 100),
                 UPSWEEP_ERR_HOST_POINTER);
    CHECK_STATUS(upsweep_alloc(ctx, &huge, (size_t)1 << 50), UPSWEEP_ERR_DEVICE_MEMORY);
    CHECK(huge == NULL);
    CHECK_STATUS(upsweep_reserve(ctx, (size_t)1 << 50), UPSWEEP_ERR_DEVICE_MEMORY);
    CHECK_STATUS(upsweep_open(&none, "cuda:999"), UPSWEEP_ERR_BACKEND);
    CHECK(none == NULL);
    CUDA_OK(cudaGetLastError()); /* what went wrong was ours to report, and is not left for the caller to find */
    CHECK_OK(upsweep_compact(ctx, out, count, in, 100, UPSWEEP_U32, &keep)); /* and the context still works */
    CHECK_OK(upsweep_read_count(ctx, &host_count, count));
    CHECK(host_count == 0);
    CUDA_OK(cudaFreeHost(pinned));
    upsweep_free(ctx, in);
    upsweep_free(ctx, out);
    upsweep_free(ctx, count);
    upsweep_close(ctx);
}

/* Both devices at the same work, in turns: a sort of what was scanned before; the same bits on both, in every round. */
static void check_same_work(upsweep_context *const ctx[2]) {
    enum { N = 100003, ROUNDS = 50 };
    static uint32_t host[N], got[2][N];
    uint32_t *in[2], *out[2];
    struct rng rng = {7};
    rng_fill(&rng, host, sizeof host);
    for (int d = 0; d < 2; d++) {
        in[d] = device_alloc(ctx[d], sizeof host);
        out[d] = device_alloc(ctx[d], sizeof host);
        CHECK_OK(upsweep_upload(ctx[d], in[d], host, sizeof host));
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int d = 0; d < 2; d++) {
            CHECK_OK(upsweep_scan(ctx[d], out[d], in[d], N, UPSWEEP_U32, UPSWEEP_ADD, UPSWEEP_INCLUSIVE));
            CHECK_OK(upsweep_sort(ctx[d], in[d], out[d], N, UPSWEEP_U32, NULL));
        }
    for (int d = 0; d < 2; d++) CHECK_OK(upsweep_download(ctx[d], got[d], out[d], sizeof host));
    CHECK(memcmp(got[0], got[1], sizeof host) == 0);
    CHECK(memcmp(got[0], host, sizeof host) != 0);
    for (int d = 0; d < 2; d++) {
        upsweep_free(ctx[d], in[d]);
        upsweep_free(ctx[d], out[d]);
    }
}

/* A context of device 1 on the default stream, while device 0 is current: what it waits for is the default stream of its own. */
static void test_default_stream_of_another_device(void) {
    enum { N = 1 << 26 };
    case_begin("the default stream of another device");
    const upsweep_options options = {.size = sizeof options, .stream = cudaStreamLegacy};
    upsweep_context *ctx = NULL;
    if (!CHECK_OK(upsweep_open_ex(&ctx, "cuda:1", &options))) return;
    uint32_t *in = device_alloc(ctx, 4 * (size_t)N);
    for (int i = 0; i < 20; i++) CHECK_OK(upsweep_scan(ctx, in, in, N, UPSWEEP_U32, UPSWEEP_ADD, UPSWEEP_INCLUSIVE));
    CHECK_OK(upsweep_sync(ctx));
    CUDA_OK(cudaSetDevice(1));
    CUDA_OK(cudaStreamQuery(cudaStreamLegacy));
    CUDA_OK(cudaSetDevice(0));
    upsweep_free(ctx, in);
    upsweep_close(ctx);
}

/* Memory of device 1 given to device 0; and both at work at the same time. */
static void test_two_devices(void) {
    int ndevices = 0, now = -1;
    if (cudaGetDeviceCount(&ndevices) != cudaSuccess || ndevices < 2) {
        skip("memory of another device: there is one");
        return;
    }
    case_begin("two devices");
    upsweep_context *a = NULL, *b = NULL;
    if (!CHECK_OK(upsweep_open(&a, "cuda:0")) || !CHECK_OK(upsweep_open(&b, "cuda:1"))) return;
    uint32_t *of_a = device_alloc(a, 400), *of_b = device_alloc(b, 400);
    CHECK_STATUS(upsweep_scan(a, of_a, of_b, 100, UPSWEEP_U32, UPSWEEP_ADD, 0), UPSWEEP_ERR_WRONG_DEVICE);
    CHECK_OK(upsweep_scan(b, of_b, of_b, 100, UPSWEEP_U32, UPSWEEP_ADD, 0));
    CUDA_OK(cudaGetDevice(&now));
    CHECK(now == 0);
    check_same_work((upsweep_context *[2]){a, b});
    CUDA_OK(cudaGetDevice(&now));
    CHECK(now == 0);
    upsweep_free(a, of_a);
    upsweep_free(b, of_b);
    upsweep_close(a);
    upsweep_close(b);
    test_default_stream_of_another_device();
}

/* In a child: a kernel runs into memory that is not there. Returns 0 if all that follows is refused and closing works. */
static int lose_the_device(void) {
    upsweep_context *ctx = open_path(path, NULL), *other = open_path(path, NULL);
    void *p = NULL;
    if (!ctx || !other || upsweep_alloc(ctx, &p, 4096) != UPSWEEP_OK) return 1;
    if (upsweep_scan(ctx, p, p, (uint64_t)1 << 36, UPSWEEP_U32, UPSWEEP_ADD, 0) != UPSWEEP_OK) return 2;
    if (upsweep_sync(ctx) != UPSWEEP_ERR_DEVICE_LOST) return 3;
    if (upsweep_scan(ctx, p, p, 10, UPSWEEP_U32, UPSWEEP_ADD, 0) != UPSWEEP_ERR_DEVICE_LOST) return 4;
    if (strstr(upsweep_error(ctx), "cudaError") == NULL) return 5;
    if (upsweep_sync(other) != UPSWEEP_ERR_DEVICE_LOST) return 6;
    upsweep_free(ctx, p);
    upsweep_close(ctx);
    upsweep_close(other);
    return 0;
}

static void test_lost_device(void) {
    case_begin("a lost device");
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(lose_the_device());
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0)) printf("    child: status 0x%x\n", (unsigned)status);
}

int main(void) {
    harness_begin(false);
    if (!backend_wanted("cuda")) {
        skip("cuda");
        return harness_end();
    }
    for (path = 0; path < PATHS; path++) test_lost_device();
    for (path = 0; path < PATHS; path++) test_errors();
    test_two_devices();
    return harness_end();
}
