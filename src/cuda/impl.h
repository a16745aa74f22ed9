/* impl.h: what the files of the CUDA backend's host side share: the context's own data, how errors become statuses, and whose device is
 * current.
 *
 *   backend.c   the vtable, and the primitives       open.c     which devices there are; a context from open to close
 *   memory.c    device memory and copies             errors.c   what a CUDA call returned
 *
 * The kernels are behind launch.h. */
#ifndef UPSWEEP_CUDA_IMPL_H
#define UPSWEEP_CUDA_IMPL_H

#include "launch.h"

#include <cuda_runtime_api.h>

struct cuda_impl {
    struct cuda_queue queue;
    int device;
    bool owns_stream;
    cudaError_t lost; /* the error after which nothing works, or cudaSuccess */
    upsweep_device facts;
};

static inline struct cuda_impl *impl_of(const upsweep_context *ctx) { return ctx->impl; }
static inline cudaStream_t stream_of(const upsweep_context *ctx) { return impl_of(ctx)->queue.stream; }

/* The status for what a CUDA call returned. `doing` completes the sentence "CUDA failed ...". */
upsweep_status cuda_check(upsweep_context *ctx, cudaError_t error, const char *doing);
upsweep_status cuda_healthy(upsweep_context *ctx);

/* What cuda_enter() changed and cuda_leave() puts back: the thread's device, and whether calls that a stream capture elsewhere in this
 * thread would forbid (they do not belong to the capture) are let through. */
struct cuda_scope {
    int device;
    enum cudaStreamCaptureMode mode;
};

cudaError_t cuda_enter(int device, struct cuda_scope *before);
upsweep_status cuda_enter_for(upsweep_context *ctx, struct cuda_scope *before); /* the context's device */
void cuda_leave(int device, struct cuda_scope *before);

bool cuda_device_at(size_t index, upsweep_device *device);
void cuda_describe(upsweep_context *ctx, upsweep_device *device);
upsweep_status cuda_open(upsweep_context *ctx, int64_t index);
void cuda_close(upsweep_context *ctx);

upsweep_status cuda_check_memory(upsweep_context *ctx, const void *p, const char *what);
upsweep_status cuda_may_grow(upsweep_context *ctx);
upsweep_status cuda_alloc(upsweep_context *ctx, void **p, size_t nbytes);
void cuda_free(upsweep_context *ctx, void *p);
upsweep_status cuda_sync(upsweep_context *ctx);
upsweep_status cuda_upload(upsweep_context *ctx, void *dst, const void *host_src, size_t nbytes);
upsweep_status cuda_download(upsweep_context *ctx, void *host_dst, const void *src, size_t nbytes);

#endif
