/* backend.c: the CUDA backend's vtable, and its primitives, which are queued and not waited for. Every call makes the context's device
 * current and puts the caller's back. */
#include "impl.h"

/* Of a scan and of text. */
static uint64_t no_scratch(upsweep_context *ctx, uint64_t n, size_t item_nbytes) {
    (void)ctx, (void)n, (void)item_nbytes;
    return 0;
}

static uint64_t compact_scratch(upsweep_context *ctx, uint64_t n, size_t elem_nbytes, bool split) {
    (void)split;
    return no_scratch(ctx, n, elem_nbytes);
}

static uint64_t sort_scratch(upsweep_context *ctx, uint64_t n, size_t key_nbytes, size_t value_nbytes, bool argsort) {
    return cuda_sort_scratch(&impl_of(ctx)->queue, n, key_nbytes, value_nbytes, argsort);
}

/* One launcher with its device current. */
static upsweep_status run(upsweep_context *ctx, int (*launch)(const struct cuda_queue *, const void *, void *), const void *args,
                          const char *doing) {
    struct cuda_impl *impl = impl_of(ctx);
    struct cuda_scope before;
    upsweep_status status = cuda_enter_for(ctx, &before);
    if (status == UPSWEEP_OK) status = cuda_check(ctx, (cudaError_t)launch(&impl->queue, args, ctx->scratch), doing);
    cuda_leave(impl->device, &before);
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
    .device_at = cuda_device_at,
    .open = cuda_open,
    .close = cuda_close,
    .describe = cuda_describe,
    .healthy = cuda_healthy,
    .check_memory = cuda_check_memory,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .upload = cuda_upload,
    .download = cuda_download,
    .sync = cuda_sync,
    .may_grow = cuda_may_grow,
    .scan_scratch = no_scratch,
    .compact_scratch = compact_scratch,
    .sort_scratch = sort_scratch,
    .utf8_scratch = no_scratch,
    .scan = scan,
    .compact = compact,
    .sort = sort,
    .utf8 = utf8,
};
