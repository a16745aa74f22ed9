/* memory.c: memory of the CUDA backend's device, and copies to and from the host, which wait for what was queued before.
 *
 * All of it has the context's device current, even where it only asks of its stream: the default streams (cudaStreamLegacy,
 * cudaStreamPerThread) are those of the current device. */
#include "impl.h"

/* Asks the driver, which keeps its list of allocations on the host: a few hundred nanoseconds, and allowed while a stream captures. */
upsweep_status cuda_check_memory(upsweep_context *ctx, const void *p, const char *what) {
    struct cudaPointerAttributes found;
    TRY(cuda_check(ctx, cudaPointerGetAttributes(&found, p), "to look up a pointer"));
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
    TRY(cuda_check(ctx, cudaStreamIsCapturing(stream_of(ctx), &capture), "to ask whether the stream is being captured"));
    return capture == cudaStreamCaptureStatusNone ? UPSWEEP_OK : context_fail(ctx, refusal, "%s", sentence);
}

upsweep_status cuda_may_grow(upsweep_context *ctx) {
    struct cuda_scope before;
    upsweep_status status = cuda_enter_for(ctx, &before);
    if (status == UPSWEEP_OK)
        status =
            check_not_capturing(ctx, UPSWEEP_ERR_SCRATCH, "scratch cannot grow during a stream capture: call upsweep_reserve() before it");
    cuda_leave(impl_of(ctx)->device, &before);
    return status;
}

upsweep_status cuda_alloc(upsweep_context *ctx, void **p, size_t nbytes) {
    struct cuda_scope before;
    void *got = NULL;
    upsweep_status status = cuda_enter_for(ctx, &before);
    if (status == UPSWEEP_OK) {
        const cudaError_t error = cudaMalloc(&got, nbytes);
        if (error == cudaErrorMemoryAllocation)
            (void)cudaGetLastError(), status = context_fail(ctx, UPSWEEP_ERR_DEVICE_MEMORY, "out of device memory: %zu bytes on cuda:%d",
                                                            nbytes, impl_of(ctx)->device);
        else
            status = cuda_check(ctx, error, "to allocate memory");
    }
    cuda_leave(impl_of(ctx)->device, &before);
    if (status == UPSWEEP_OK) *p = got;
    return status;
}

/* cudaFree() waits until the device has finished with all that is queued. */
void cuda_free(upsweep_context *ctx, void *p) {
    if (p == NULL) return;
    struct cuda_scope before;
    (void)cuda_enter(impl_of(ctx)->device, &before);
    (void)cudaFree(p);
    (void)cudaGetLastError();
    cuda_leave(impl_of(ctx)->device, &before);
}

upsweep_status cuda_sync(upsweep_context *ctx) {
    struct cuda_scope before;
    upsweep_status status = cuda_enter_for(ctx, &before);
    if (status == UPSWEEP_OK)
        status = check_not_capturing(ctx, UPSWEEP_ERR_CUDA, "the stream is being captured: nothing runs that could be waited for");
    if (status == UPSWEEP_OK) status = cuda_check(ctx, cudaStreamSynchronize(stream_of(ctx)), "in work that was queued");
    cuda_leave(impl_of(ctx)->device, &before);
    return status;
}

/* The wait also covers pinned host memory, which the device may read or write after the call has returned. */
static upsweep_status copy(upsweep_context *ctx, void *dst, const void *src, size_t nbytes, enum cudaMemcpyKind kind) {
    struct cuda_scope before;
    upsweep_status status = cuda_enter_for(ctx, &before);
    if (status == UPSWEEP_OK)
        status =
            check_not_capturing(ctx, UPSWEEP_ERR_CUDA, "the stream is being captured: copies to or from the host must wait until it ends");
    if (status == UPSWEEP_OK) status = cuda_check(ctx, cudaMemcpyAsync(dst, src, nbytes, kind, stream_of(ctx)), "to copy");
    if (status == UPSWEEP_OK) status = cuda_check(ctx, cudaStreamSynchronize(stream_of(ctx)), "to copy, or in work queued before");
    cuda_leave(impl_of(ctx)->device, &before);
    return status;
}

upsweep_status cuda_upload(upsweep_context *ctx, void *dst, const void *host_src, size_t nbytes) {
    return copy(ctx, dst, host_src, nbytes, cudaMemcpyHostToDevice);
}

upsweep_status cuda_download(upsweep_context *ctx, void *host_dst, const void *src, size_t nbytes) {
    return copy(ctx, host_dst, src, nbytes, cudaMemcpyDeviceToHost);
}
