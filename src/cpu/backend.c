/* backend.c: the CPU backend's vtable: host memory, a pool of threads, and the primitives of scan.c, compact.c, sort.c and
 * utf8.c. */
#define _DEFAULT_SOURCE /* madvise */
#include "kernels.h"
#include "utf8_kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_THREADS = 1024, ALIGN = 256, HUGE_PAGE = 2 << 20 };

/* ---- devices, open, close ---------------------------------------------------------------------------------------------------- */

static void fill_device(upsweep_device *device, enum cpu_isa isa, uint32_t nthreads) {
    snprintf(device->spec, sizeof device->spec, "cpu");
    cpu_model_name(device->name, sizeof device->name);
    snprintf(device->detail, sizeof device->detail, "%s", cpu_isa_name(isa));
    device->memory_nbytes = cpu_memory_nbytes();
    device->units = nthreads;
}

static bool device_at(size_t index, upsweep_device *device) {
    if (index > 0) return false;
    fill_device(device, cpu_isa_best(), cpu_hardware_threads());
    return true;
}

static void describe(upsweep_context *ctx, upsweep_device *device) { fill_device(device, cpu_impl(ctx)->isa, cpu_impl(ctx)->nthreads); }

static upsweep_status count_threads(upsweep_context *ctx, int64_t index, uint32_t *nthreads) {
    const uint32_t wanted = ctx->options.nthreads;
    if (index >= 0 && wanted != 0 && wanted != index)
        return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "the name asks for %" PRId64 " threads, the options for %" PRIu32, index, wanted);
    if (index == 0 || index > MAX_THREADS || wanted > MAX_THREADS)
        return context_fail(ctx, index >= 0 ? UPSWEEP_ERR_BACKEND : UPSWEEP_ERR_OPTIONS, "the number of threads must be 1 to %d",
                            MAX_THREADS);
    *nthreads = index > 0 ? (uint32_t)index : wanted;
    if (*nthreads == 0) *nthreads = cpu_hardware_threads();
    if (*nthreads > MAX_THREADS) *nthreads = MAX_THREADS;
    return UPSWEEP_OK;
}

/* A misspelt name would go unnoticed, and what is then measured or tested is something else than was meant. */
static upsweep_status check_environment(upsweep_context *ctx) {
    const char *wanted = cpu_isa_wanted();
    enum cpu_isa isa;
    if (wanted == NULL || cpu_isa_from_name(wanted, &isa)) return UPSWEEP_OK;
    return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "the environment variable UPSWEEP_CPU is \"%.64s\"; it may be portable, avx2 or avx512",
                        wanted);
}

static upsweep_status open_cpu(upsweep_context *ctx, int64_t index) {
    uint32_t nthreads = 0;
    TRY(check_environment(ctx));
    TRY(count_threads(ctx, index, &nthreads));
    struct cpu_impl *impl = context_host_alloc(&ctx->options, sizeof *impl);
    if (impl == NULL) return context_fail(ctx, UPSWEEP_ERR_MEMORY, "out of memory for a CPU context");
    const enum cpu_isa isa = cpu_isa_best();
    *impl = (struct cpu_impl){.isa = isa, .kernels = kernels_of(isa), .utf8 = cpu_utf8_kernels(isa), .nthreads = nthreads};
    ctx->impl = impl;
    if (nthreads == 1 || ctx->options.parallel_for != NULL) return UPSWEEP_OK;
    upsweep_status status;
    impl->pool = cpu_pool_open(&ctx->options, nthreads, &status);
    if (impl->pool == NULL) return context_fail(ctx, status, "%" PRIu32 " threads could not be started", nthreads);
    return UPSWEEP_OK;
}

static void close_cpu(upsweep_context *ctx) {
    struct cpu_impl *impl = ctx->impl;
    if (impl == NULL) return;
    cpu_pool_close(impl->pool);
    context_host_free(&ctx->options, impl);
    ctx->impl = NULL;
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------ */

/* Blocks of some size begin at a page of 2 MiB and ask for such pages: a sort writes to hundreds of places at once, more than the first
 * level of address translation knows pages of 4 KiB. Nothing is lost if the system has none. */
static void ask_for_huge_pages(void *p, size_t nbytes) {
#ifdef MADV_HUGEPAGE
    madvise(p, nbytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#else
    (void)p, (void)nbytes;
#endif
}

/* The caller's allocator promises 16 bytes only: over-allocate, and keep what it returned just below the aligned block. */
static upsweep_status alloc_aligned(upsweep_context *ctx, void **p, size_t nbytes) {
    const size_t align = nbytes < HUGE_PAGE ? ALIGN : HUGE_PAGE;
    unsigned char *base =
        nbytes > SIZE_MAX - align - sizeof(void *) ? NULL : context_host_alloc(&ctx->options, nbytes + align + sizeof(void *));
    if (base == NULL) return context_fail(ctx, UPSWEEP_ERR_MEMORY, "out of memory: %zu bytes", nbytes);
    const uintptr_t first = (uintptr_t)base + sizeof(void *);
    unsigned char *aligned = base + sizeof(void *) + (align - first % align) % align;
    memcpy(aligned - sizeof(void *), &base, sizeof(void *));
    if (align == HUGE_PAGE) ask_for_huge_pages(aligned, nbytes);
    *p = aligned;
    return UPSWEEP_OK;
}

static void free_aligned(upsweep_context *ctx, void *p) {
    if (p == NULL) return;
    void *base;
    memcpy(&base, (unsigned char *)p - sizeof(void *), sizeof(void *));
    context_host_free(&ctx->options, base);
}

static upsweep_status copy(upsweep_context *ctx, void *dst, const void *src, size_t nbytes) {
    (void)ctx;
    memmove(dst, src, nbytes);
    return UPSWEEP_OK;
}

/* ---- nothing is queued, nothing is lost, all memory is ours ------------------------------------------------------------------- */

static upsweep_status always(upsweep_context *ctx) {
    (void)ctx;
    return UPSWEEP_OK;
}

static upsweep_status any_memory(upsweep_context *ctx, const void *p, const char *what) {
    (void)ctx, (void)p, (void)what;
    return UPSWEEP_OK;
}

const struct backend upsweep_cpu_backend = {
    .name = "cpu",
    .device_at = device_at,
    .open = open_cpu,
    .close = close_cpu,
    .describe = describe,
    .healthy = always,
    .check_memory = any_memory,
    .alloc = alloc_aligned,
    .free = free_aligned,
    .upload = copy,
    .download = copy,
    .sync = always,
    .may_grow = always,
    .scan_scratch = cpu_scan_scratch,
    .compact_scratch = cpu_compact_scratch,
    .sort_scratch = cpu_sort_scratch,
    .sort_low_memory_scratch = cpu_sort_low_memory_scratch,
    .utf8_scratch = cpu_utf8_scratch,
    .short_cuts = &cpu_short_cuts,
    .scan = cpu_scan,
    .compact = cpu_compact,
    .sort = cpu_sort,
    .utf8 = cpu_utf8,
};
