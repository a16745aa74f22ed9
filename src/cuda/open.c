/* open.c: which devices there are, and a context of the CUDA backend from open to close: its device, its stream, its control memory. */
#include "impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIRST_DRIVER_TO_OVERLAP = 12030 }; /* also in stream capture */

/* ---- devices ----------------------------------------------------------------------------------------------------------------- */

static cudaError_t attribute(int device, enum cudaDeviceAttr which, int *value) { return cudaDeviceGetAttribute(value, which, device); }

static bool fill_device(int index, upsweep_device *device) {
    struct cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    snprintf(device->spec, sizeof device->spec, "cuda:%d", index);
    snprintf(device->name, sizeof device->name, "%.*s", (int)sizeof device->name - 1, properties.name);
    snprintf(device->detail, sizeof device->detail, "sm_%d%d", properties.major, properties.minor);
    device->memory_nbytes = properties.totalGlobalMem;
    device->units = (uint32_t)properties.multiProcessorCount;
    return true;
}

static int count_devices(void) {
    int n = 0;
    if (cudaGetDeviceCount(&n) == cudaSuccess) return n;
    (void)cudaGetLastError();
    return 0;
}

bool cuda_device_at(size_t index, upsweep_device *device) { return index < (size_t)count_devices() && fill_device((int)index, device); }

void cuda_describe(upsweep_context *ctx, upsweep_device *device) {
    const size_t size = device->size;
    *device = impl_of(ctx)->facts;
    device->size = size;
}

/* ---- open and close ---------------------------------------------------------------------------------------------------------- */

static upsweep_status check_driver(upsweep_context *ctx) {
    int driver = 0, ndevices = 0;
    const cudaError_t error = cudaDriverGetVersion(&driver);
    if (error != cudaSuccess || driver == 0) {
        (void)cudaGetLastError();
        return context_fail(ctx, UPSWEEP_ERR_NO_DRIVER, "no NVIDIA driver was found on this machine");
    }
    const cudaError_t counted = cudaGetDeviceCount(&ndevices);
    if (counted == cudaErrorInsufficientDriver) {
        (void)cudaGetLastError();
        return context_fail(ctx, UPSWEEP_ERR_OLD_DRIVER, "the NVIDIA driver is for CUDA %d.%d; this library needs CUDA %d.%d or newer",
                            driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    }
    if (counted == cudaErrorNoDevice || (counted == cudaSuccess && ndevices == 0)) {
        (void)cudaGetLastError();
        return context_fail(ctx, UPSWEEP_ERR_BACKEND, "there is an NVIDIA driver on this machine, but no GPU that it can use");
    }
    return cuda_check(ctx, counted, "to count the GPUs");
}

/* The device asked for; else that of the caller's stream; else the current one. */
static upsweep_status choose_device(upsweep_context *ctx, int64_t index, int *device) {
    const cudaStream_t stream = ctx->options.stream;
    const int ndevices = count_devices();
    const bool named = stream != NULL && stream != cudaStreamLegacy && stream != cudaStreamPerThread;
    if (index >= ndevices)
        return context_fail(ctx, UPSWEEP_ERR_BACKEND, "there is no device cuda:%" PRId64 "; this machine has %d", index, ndevices);
    int of_stream = -1;
    if (named) TRY(cuda_check(ctx, cudaStreamGetDevice(stream, &of_stream), "to find the device of the stream in the options"));
    if (index >= 0 && of_stream >= 0 && of_stream != index)
        return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "the stream in the options belongs to cuda:%d, not to cuda:%" PRId64, of_stream,
                            index);
    if (index >= 0)
        *device = (int)index;
    else if (of_stream >= 0)
        *device = of_stream;
    else
        return cuda_check(ctx, cudaGetDevice(device), "to find the current device");
    return UPSWEEP_OK;
}

static upsweep_status read_attributes(upsweep_context *ctx) {
    struct cuda_impl *impl = impl_of(ctx);
    int major, minor, driver = 0, kernels_arch = 0;
    TRY(cuda_check(ctx, attribute(impl->device, cudaDevAttrComputeCapabilityMajor, &major), "to ask the GPU what it is"));
    TRY(cuda_check(ctx, attribute(impl->device, cudaDevAttrComputeCapabilityMinor, &minor), "to ask the GPU what it is"));
    TRY(cuda_check(ctx, attribute(impl->device, cudaDevAttrMultiProcessorCount, &impl->queue.nsms), "to count multiprocessors"));
    TRY(cuda_check(ctx, attribute(impl->device, cudaDevAttrCooperativeLaunch, &impl->queue.cooperative), "to ask the GPU what it can"));
    TRY(cuda_check(ctx, attribute(impl->device, cudaDevAttrMaxSharedMemoryPerBlockOptin, &impl->queue.shared_nbytes),
                   "to ask the GPU what it can"));
    TRY(cuda_check(ctx, cudaDriverGetVersion(&driver), "to ask the driver what it is"));
    impl->queue.arch = 10 * major + minor;
    if (!fill_device(impl->device, &impl->facts))
        return context_fail(ctx, UPSWEEP_ERR_CUDA, "CUDA failed to describe cuda:%d", impl->device);
    const cudaError_t probe = (cudaError_t)cuda_probe(&kernels_arch);
    if (probe == cudaErrorNoKernelImageForDevice || probe == cudaErrorInvalidDeviceFunction) {
        (void)cudaGetLastError();
        return context_fail(ctx, UPSWEEP_ERR_BACKEND, "this library was built without code for %s", impl->facts.detail);
    }
    TRY(cuda_check(ctx, probe, "to load the kernels"));
    impl->queue.has_sm_90 = impl->queue.arch >= 90 && kernels_arch >= 90;
    impl->queue.overlap = impl->queue.has_sm_90 && driver >= FIRST_DRIVER_TO_OVERLAP;
    impl->queue.cluster_ctas = impl->queue.has_sm_90 ? cuda_largest_cluster() : 0;
    return UPSWEEP_OK;
}

/* A stream and zeroed control memory. The memory is cleared on a stream of our own, as the caller's may be capturing. */
static upsweep_status set_up(upsweep_context *ctx) {
    struct cuda_impl *impl = impl_of(ctx);
    cudaStream_t own;
    TRY(read_attributes(ctx));
    TRY(cuda_check(ctx, cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), "to make a stream"));
    impl->queue.stream = own;
    impl->owns_stream = true;
    TRY(cuda_check(ctx, cudaMalloc(&impl->queue.control, CUDA_CONTROL_NBYTES), "to allocate memory for a context"));
    TRY(cuda_check(ctx, cudaMemsetAsync(impl->queue.control, 0, CUDA_CONTROL_NBYTES, own), "to clear memory"));
    TRY(cuda_check(ctx, cudaStreamSynchronize(own), "to clear memory"));
    if (ctx->options.stream == NULL) return UPSWEEP_OK;
    impl->owns_stream = false;
    impl->queue.stream = ctx->options.stream;
    return cuda_check(ctx, cudaStreamDestroy(own), "to give back a stream");
}

/* UPSWEEP_CUDA names one of the two passes, so that tests reach both at every size. */
static upsweep_status read_pass(upsweep_context *ctx, struct cuda_queue *queue) {
    const char *pass = getenv("UPSWEEP_CUDA");
    queue->only_lookback = pass != NULL && strcmp(pass, "lookback") == 0;
    queue->only_ring = pass != NULL && strcmp(pass, "ring") == 0;
    if (pass == NULL || pass[0] == '\0' || queue->only_lookback || queue->only_ring) return UPSWEEP_OK;
    return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "the environment variable UPSWEEP_CUDA is \"%.64s\"; it may be lookback or ring", pass);
}

/* Which keys a sample has must not be known to whoever makes the keys: else some could be hidden from it, and take the slowest way. So the
 * seed is drawn from the clock and an address; or UPSWEEP_CUDA_SEED names it, so that a run can be had again. */
static upsweep_status choose_seed(upsweep_context *ctx, struct cuda_queue *queue) {
    const char *seed = getenv("UPSWEEP_CUDA_SEED");
    if (seed == NULL || seed[0] == '\0') {
        struct timespec now = {0};
        (void)timespec_get(&now, TIME_UTC);
        const uint64_t drawn = ((uint64_t)now.tv_sec ^ (uint64_t)now.tv_nsec << 32 ^ (uintptr_t)ctx) * UINT64_C(0x9e3779b97f4a7c15);
        queue->seed = (uint32_t)(drawn >> 32); /* Knuth's multiplicative hash */
        return UPSWEEP_OK;
    }
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(seed, &end, 10);
    if (seed[0] < '0' || seed[0] > '9' || *end != '\0' || errno != 0 || number > UINT32_MAX)
        return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "the environment variable UPSWEEP_CUDA_SEED is \"%.64s\"; it may be 0 to %" PRIu32,
                            seed, UINT32_MAX);
    queue->seed = (uint32_t)number;
    return UPSWEEP_OK;
}

upsweep_status cuda_open(upsweep_context *ctx, int64_t index) {
    int device;
    struct cuda_queue queue = {0};
    TRY(read_pass(ctx, &queue));
    TRY(choose_seed(ctx, &queue));
    TRY(check_driver(ctx));
    TRY(choose_device(ctx, index, &device));
    struct cuda_impl *impl = context_host_alloc(&ctx->options, sizeof *impl);
    if (impl == NULL) return context_fail(ctx, UPSWEEP_ERR_MEMORY, "out of memory for a CUDA context");
    *impl = (struct cuda_impl){.queue = queue, .device = device};
    ctx->impl = impl;
    struct cuda_scope before;
    upsweep_status status = cuda_enter_for(ctx, &before);
    if (status == UPSWEEP_OK) status = set_up(ctx);
    cuda_leave(device, &before);
    return status;
}

void cuda_close(upsweep_context *ctx) {
    struct cuda_impl *impl = impl_of(ctx);
    if (impl == NULL) return;
    struct cuda_scope before;
    (void)cuda_enter(impl->device, &before);
    if (impl->queue.stream != NULL) (void)cudaStreamSynchronize(impl->queue.stream);
    (void)cudaFree(impl->queue.control);
    if (impl->owns_stream) (void)cudaStreamDestroy(impl->queue.stream);
    (void)cudaGetLastError(); /* a lost device has answered all of these with its error */
    cuda_leave(impl->device, &before);
    context_host_free(&ctx->options, impl);
    ctx->impl = NULL;
}
