/* backend.c: the CUDA backend's vtable: devices, streams, device memory, errors. The kernels are behind launch.h.
 *
 * Every call makes the context's device current and puts the caller's back. A CUDA error becomes a status and a sentence with CUDA's own
 * name and text for it. Some errors (an illegal address, a failed launch, an uncorrectable memory error) leave the device unusable for this
 * process: the context remembers the first one and refuses all work from then on, and closing it ignores what the device still says. */
#include "launch.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_DRIVER_TO_OVERLAP = 12030 }; /* also in stream capture */

struct cuda_impl {
    struct cuda_queue queue;
    int device;
    bool owns_stream;
    cudaError_t lost; /* the error after which nothing works, or cudaSuccess */
    upsweep_device facts;
};

static struct cuda_impl *impl_of(const upsweep_context *ctx) { return ctx->impl; }
static cudaStream_t stream_of(const upsweep_context *ctx) { return impl_of(ctx)->queue.stream; }

/* ---- errors ------------------------------------------------------------------------------------------------------------------ */

/* After these every further call of this process on the device fails. */
static bool is_sticky(cudaError_t error) {
    switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorCudartUnloading:
    case cudaErrorUnknown:
        return true;
    default:
        return false;
    }
}

static upsweep_status fail_lost(upsweep_context *ctx, cudaError_t error) {
    return context_fail(ctx, UPSWEEP_ERR_DEVICE_LOST, "the GPU has failed (%s: %s): this context can only be closed",
                        cudaGetErrorName(error), cudaGetErrorString(error));
}

/* The status for what a CUDA call returned. `doing` completes the sentence "CUDA failed ...". */
static upsweep_status check_cuda(upsweep_context *ctx, cudaError_t error, const char *doing) {
    if (error == cudaSuccess) return UPSWEEP_OK;
    (void)cudaGetLastError(); /* or the caller's next check would find our error */
    if (is_sticky(error)) {
        if (impl_of(ctx) != NULL) impl_of(ctx)->lost = error;
        return fail_lost(ctx, error);
    }
    return context_fail(ctx, error == cudaErrorMemoryAllocation ? UPSWEEP_ERR_DEVICE_MEMORY : UPSWEEP_ERR_CUDA, "CUDA failed %s: %s: %s",
                        doing, cudaGetErrorName(error), cudaGetErrorString(error));
}

static upsweep_status healthy(upsweep_context *ctx) {
    const cudaError_t lost = impl_of(ctx)->lost;
    return lost == cudaSuccess ? UPSWEEP_OK : fail_lost(ctx, lost);
}

/* ---- the current device ------------------------------------------------------------------------------------------------------ */

/* What enter() changed and leave() puts back: the thread's device, and whether calls that a stream capture elsewhere in this thread would
 * forbid (they do not belong to the capture) are let through. */
struct scope {
    int device;
    enum cudaStreamCaptureMode mode;
};

static cudaError_t enter(int device, struct scope *before) {
    before->mode = cudaStreamCaptureModeRelaxed;
    (void)cudaThreadExchangeStreamCaptureMode(&before->mode);
    before->device = device;
    const cudaError_t error = cudaGetDevice(&before->device);
    return error != cudaSuccess || before->device == device ? error : cudaSetDevice(device);
}

static void leave(int device, struct scope *before) {
    if (before->device != device) (void)cudaSetDevice(before->device);
    (void)cudaThreadExchangeStreamCaptureMode(&before->mode);
}

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

static bool device_at(size_t index, upsweep_device *device) { return index < (size_t)count_devices() && fill_device((int)index, device); }

static void describe(upsweep_context *ctx, upsweep_device *device) {
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
    return check_cuda(ctx, counted, "to count the GPUs");
}

/* The device asked for; else that of the caller's stream; else the current one. */
static upsweep_status choose_device(upsweep_context *ctx, int64_t index, int *device) {
    const cudaStream_t stream = ctx->options.stream;
    const int ndevices = count_devices();
    const bool named = stream != NULL && stream != cudaStreamLegacy && stream != cudaStreamPerThread;
    if (index >= ndevices)
        return context_fail(ctx, UPSWEEP_ERR_BACKEND, "there is no device cuda:%" PRId64 "; this machine has %d", index, ndevices);
    int of_stream = -1;
    if (named) TRY(check_cuda(ctx, cudaStreamGetDevice(stream, &of_stream), "to find the device of the stream in the options"));
    if (index >= 0 && of_stream >= 0 && of_stream != index)
        return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "the stream in the options belongs to cuda:%d, not to cuda:%" PRId64, of_stream,
                            index);
    if (index >= 0)
        *device = (int)index;
    else if (of_stream >= 0)
        *device = of_stream;
    else
        return check_cuda(ctx, cudaGetDevice(device), "to find the current device");
    return UPSWEEP_OK;
}

static upsweep_status read_attributes(upsweep_context *ctx) {
    struct cuda_impl *impl = impl_of(ctx);
    int major, minor, driver = 0, kernels_arch = 0;
    TRY(check_cuda(ctx, attribute(impl->device, cudaDevAttrComputeCapabilityMajor, &major), "to ask the GPU what it is"));
    TRY(check_cuda(ctx, attribute(impl->device, cudaDevAttrComputeCapabilityMinor, &minor), "to ask the GPU what it is"));
    TRY(check_cuda(ctx, attribute(impl->device, cudaDevAttrMultiProcessorCount, &impl->queue.nsms), "to count multiprocessors"));
    TRY(check_cuda(ctx, attribute(impl->device, cudaDevAttrCooperativeLaunch, &impl->queue.cooperative), "to ask the GPU what it can"));
    TRY(check_cuda(ctx, attribute(impl->device, cudaDevAttrMaxSharedMemoryPerBlockOptin, &impl->queue.shared_nbytes),
                   "to ask the GPU what it can"));
    TRY(check_cuda(ctx, cudaDriverGetVersion(&driver), "to ask the driver what it is"));
    impl->queue.arch = 10 * major + minor;
    if (!fill_device(impl->device, &impl->facts))
        return context_fail(ctx, UPSWEEP_ERR_CUDA, "CUDA failed to describe cuda:%d", impl->device);
    const cudaError_t probe = (cudaError_t)cuda_probe(&kernels_arch);
    if (probe == cudaErrorNoKernelImageForDevice || probe == cudaErrorInvalidDeviceFunction) {
        (void)cudaGetLastError();
        return context_fail(ctx, UPSWEEP_ERR_BACKEND, "this library was built without code for %s", impl->facts.detail);
    }
    TRY(check_cuda(ctx, probe, "to load the kernels"));
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
    TRY(check_cuda(ctx, cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), "to make a stream"));
    impl->queue.stream = own;
    impl->owns_stream = true;
    TRY(check_cuda(ctx, cudaMalloc(&impl->queue.control, CUDA_CONTROL_NBYTES), "to allocate memory for a context"));
    TRY(check_cuda(ctx, cudaMemsetAsync(impl->queue.control, 0, CUDA_CONTROL_NBYTES, own), "to clear memory"));
    TRY(check_cuda(ctx, cudaStreamSynchronize(own), "to clear memory"));
    if (ctx->options.stream == NULL) return UPSWEEP_OK;
    impl->owns_stream = false;
    impl->queue.stream = ctx->options.stream;
    return check_cuda(ctx, cudaStreamDestroy(own), "to give back a stream");
}

/* UPSWEEP_CUDA names one of the two passes, so that tests reach both at every size. */
static upsweep_status read_environment(upsweep_context *ctx, struct cuda_queue *queue) {
    const char *pass = getenv("UPSWEEP_CUDA");
    queue->only_lookback = pass != NULL && strcmp(pass, "lookback") == 0;
    queue->only_ring = pass != NULL && strcmp(pass, "ring") == 0;
    if (pass == NULL || pass[0] == '\0' || queue->only_lookback || queue->only_ring) return UPSWEEP_OK;
    return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "the environment variable UPSWEEP_CUDA is \"%.64s\"; it may be lookback or ring", pass);
}

static upsweep_status open_cuda(upsweep_context *ctx, int64_t index) {
    int device;
    struct cuda_queue queue = {0};
    TRY(read_environment(ctx, &queue));
    TRY(check_driver(ctx));
    TRY(choose_device(ctx, index, &device));
    struct cuda_impl *impl = context_host_alloc(&ctx->options, sizeof *impl);
    if (impl == NULL) return context_fail(ctx, UPSWEEP_ERR_MEMORY, "out of memory for a CUDA context");
    *impl = (struct cuda_impl){.queue = queue, .device = device};
    ctx->impl = impl;
    struct scope before;
    upsweep_status status = check_cuda(ctx, enter(device, &before), "to make the device current");
    if (status == UPSWEEP_OK) status = set_up(ctx);
    leave(device, &before);
    return status;
}

static void close_cuda(upsweep_context *ctx) {
    struct cuda_impl *impl = impl_of(ctx);
    if (impl == NULL) return;
    struct scope before;
    (void)enter(impl->device, &before);
    if (impl->queue.stream != NULL) (void)cudaStreamSynchronize(impl->queue.stream);
    (void)cudaFree(impl->queue.control);
    if (impl->owns_stream) (void)cudaStreamDestroy(impl->queue.stream);
    (void)cudaGetLastError(); /* a lost device has answered all of these with its error */
    leave(impl->device, &before);
    context_host_free(&ctx->options, impl);
    ctx->impl = NULL;
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------ */

/* Asks the driver, which keeps its list of allocations on the host: a few hundred nanoseconds, and allowed while a stream captures. */
static upsweep_status check_memory(upsweep_context *ctx, const void *p, const char *what) {
    struct cudaPointerAttributes found;
    TRY(check_cuda(ctx, cudaPointerGetAttributes(&found, p), "to look up a pointer"));
    if (found.type == cudaMemoryTypeManaged) return UPSWEEP_OK;
    if (found.type != cudaMemoryTypeDevice)
        return context_fail(ctx, UPSWEEP_ERR_HOST_POINTER, "%s is host memory, but %s computes on memory of its own", what,
                            impl_of(ctx)->facts.spec);
    if (found.device != impl_of(ctx)->device)
        return context_fail(ctx, UPSWEEP_ERR_WRONG_DEVICE, "%s is memory of cuda:%d, but the context is on cuda:%d", what, found.device,
                            impl_of(ctx)->device);
    return UPSWEEP_OK;
}

/* Refuses what would invalidate a capture that is under way on our stream. */
static upsweep_status check_not_capturing(upsweep_context *ctx, upsweep_status refusal, const char *sentence) {
    enum cudaStreamCaptureStatus capture;
    TRY(check_cuda(ctx, cudaStreamIsCapturing(stream_of(ctx), &capture), "to ask whether the stream is being captured"));
    return capture == cudaStreamCaptureStatusNone ? UPSWEEP_OK : context_fail(ctx, refusal, "%s", sentence);
}

static upsweep_status may_grow(upsweep_context *ctx) {
    return check_not_capturing(ctx, UPSWEEP_ERR_SCRATCH, "scratch cannot grow during a stream capture: call upsweep_reserve() before it");
}

static upsweep_status alloc_device(upsweep_context *ctx, void **p, size_t nbytes) {
    struct scope before;
    void *got = NULL;
    upsweep_status status = check_cuda(ctx, enter(impl_of(ctx)->device, &before), "to make the device current");
    if (status == UPSWEEP_OK) {
        const cudaError_t error = cudaMalloc(&got, nbytes);
        if (error == cudaErrorMemoryAllocation)
            (void)cudaGetLastError(), status = context_fail(ctx, UPSWEEP_ERR_DEVICE_MEMORY, "out of device memory: %zu bytes on cuda:%d",
                                                            nbytes, impl_of(ctx)->device);
        else
            status = check_cuda(ctx, error, "to allocate memory");
    }
    leave(impl_of(ctx)->device, &before);
    if (status == UPSWEEP_OK) *p = got;
    return status;
}

/* cudaFree() waits until the device has finished with all that is queued. */
static void free_device(upsweep_context *ctx, void *p) {
    if (p == NULL) return;
    struct scope before;
    (void)enter(impl_of(ctx)->device, &before);
    (void)cudaFree(p);
    (void)cudaGetLastError();
    leave(impl_of(ctx)->device, &before);
}

static upsweep_status sync_cuda(upsweep_context *ctx) {
    TRY(check_not_capturing(ctx, UPSWEEP_ERR_CUDA, "the stream is being captured: nothing runs that could be waited for"));
    return check_cuda(ctx, cudaStreamSynchronize(stream_of(ctx)), "in work that was queued");
}

/* The wait also covers pinned host memory, which the device may read or write after the call has returned. */
static upsweep_status copy(upsweep_context *ctx, void *dst, const void *src, size_t nbytes, enum cudaMemcpyKind kind) {
    struct scope before;
    TRY(check_not_capturing(ctx, UPSWEEP_ERR_CUDA, "the stream is being captured: copies to or from the host must wait until it ends"));
    upsweep_status status = check_cuda(ctx, enter(impl_of(ctx)->device, &before), "to make the device current");
    if (status == UPSWEEP_OK) status = check_cuda(ctx, cudaMemcpyAsync(dst, src, nbytes, kind, stream_of(ctx)), "to copy");
    if (status == UPSWEEP_OK) status = check_cuda(ctx, cudaStreamSynchronize(stream_of(ctx)), "to copy, or in work queued before");
    leave(impl_of(ctx)->device, &before);
    return status;
}

static upsweep_status upload(upsweep_context *ctx, void *dst, const void *host_src, size_t nbytes) {
    return copy(ctx, dst, host_src, nbytes, cudaMemcpyHostToDevice);
}

static upsweep_status download(upsweep_context *ctx, void *host_dst, const void *src, size_t nbytes) {
    return copy(ctx, host_dst, src, nbytes, cudaMemcpyDeviceToHost);
}

/* ---- the primitives ---------------------------------------------------------------------------------------------------------- */

static uint64_t scan_scratch(upsweep_context *ctx, uint64_t n, size_t elem_nbytes) {
    return cuda_scan_scratch(&impl_of(ctx)->queue, n, elem_nbytes);
}

static uint64_t compact_scratch(upsweep_context *ctx, uint64_t n, size_t elem_nbytes, bool split) {
    return cuda_compact_scratch(&impl_of(ctx)->queue, n, elem_nbytes, split);
}

static uint64_t sort_scratch(upsweep_context *ctx, uint64_t n, size_t key_nbytes, size_t value_nbytes, bool argsort) {
    return cuda_sort_scratch(&impl_of(ctx)->queue, n, key_nbytes, value_nbytes, argsort);
}

static uint64_t utf8_scratch(upsweep_context *ctx, uint64_t n, size_t unit_nbytes) {
    return cuda_utf8_scratch(&impl_of(ctx)->queue, n, unit_nbytes);
}

/* One launcher with its device current. */
static upsweep_status run(upsweep_context *ctx, int (*launch)(const struct cuda_queue *, const void *, void *), const void *args,
                          const char *doing) {
    struct cuda_impl *impl = impl_of(ctx);
    struct scope before;
    upsweep_status status = check_cuda(ctx, enter(impl->device, &before), "to make the device current");
    if (status == UPSWEEP_OK) status = check_cuda(ctx, (cudaError_t)launch(&impl->queue, args, ctx->scratch), doing);
    leave(impl->device, &before);
    return status;
}

static int launch_scan(const struct cuda_queue *queue, const void *args, void *scratch) { return cuda_launch_scan(queue, args, scratch); }
static int launch_compact(const struct cuda_queue *queue, const void *args, void *scratch) {
    return cuda_launch_compact(queue, args, scratch);
}
static int launch_sort(const struct cuda_queue *queue, const void *args, void *scratch) { return cuda_launch_sort(queue, args, scratch); }

static int launch_utf8(const struct cuda_queue *queue, const void *args, void *scratch) { return cuda_launch_utf8(queue, args, scratch); }

static upsweep_status scan(upsweep_context *ctx, const struct scan_args *args) { return run(ctx, launch_scan, args, "to start a scan"); }
static upsweep_status compact(upsweep_context *ctx, const struct compact_args *args) {
    return run(ctx, launch_compact, args, "to start a compaction");
}
static upsweep_status sort(upsweep_context *ctx, const struct sort_args *args) { return run(ctx, launch_sort, args, "to start a sort"); }
static upsweep_status utf8(upsweep_context *ctx, const struct utf8_args *args) {
    return run(ctx, launch_utf8, args, "to start a conversion of text");
}

const struct backend upsweep_cuda_backend = {
    .name = "cuda",
    .device_at = device_at,
    .open = open_cuda,
    .close = close_cuda,
    .describe = describe,
    .healthy = healthy,
    .check_memory = check_memory,
    .alloc = alloc_device,
    .free = free_device,
    .upload = upload,
    .download = download,
    .sync = sync_cuda,
    .may_grow = may_grow,
    .scan_scratch = scan_scratch,
    .compact_scratch = compact_scratch,
    .sort_scratch = sort_scratch,
    .utf8_scratch = utf8_scratch,
    .scan = scan,
    .compact = compact,
    .sort = sort,
    .utf8 = utf8,
};
