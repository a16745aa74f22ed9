/* context.c: contexts, their memory and their scratch, the list of devices, error text.
 *
 * A context is a backend (one vtable), the backend's state, scratch memory that grows on demand, and the last error's sentence. */
#include "backend.h"
#include "check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(void *) == sizeof(uint64_t), "the library is for pointers of 64 bits: with others nothing has been tested");

/* Best first: "auto" takes the first that has a device for which it has code. The CPU always has one. */
static const struct backend *const backends[] = {
#ifdef UPSWEEP_HAVE_CUDA
    &upsweep_cuda_backend,
#endif
    &upsweep_cpu_backend,
};
enum { NBACKENDS = sizeof backends / sizeof backends[0] };

/* The sentence of a failed open, which leaves no context to hold it. */
static _Thread_local char open_error[sizeof((upsweep_context *)0)->error];

/* ---- errors, host memory ----------------------------------------------------------------------------------------------------- */

upsweep_status context_fail(upsweep_context *ctx, upsweep_status status, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(ctx->error, sizeof ctx->error, format, values);
    va_end(values);
    return status;
}

static upsweep_status open_fail(upsweep_status status, const char *sentence) {
    snprintf(open_error, sizeof open_error, "%s", sentence);
    return status;
}

const char *upsweep_error(const upsweep_context *ctx) { return ctx != NULL ? ctx->error : open_error; }

void *context_host_alloc(const upsweep_options *options, size_t nbytes) {
    return options->host_alloc != NULL ? options->host_alloc(options->host_user, nbytes) : malloc(nbytes);
}

void context_host_free(const upsweep_options *options, void *ptr) {
    if (ptr == NULL) return;
    if (options->host_alloc != NULL)
        options->host_free(options->host_user, ptr);
    else
        free(ptr);
}

/* ---- versions and devices ---------------------------------------------------------------------------------------------------- */

#define STRING_OF(x)                      #x
#define VERSION_TEXT(major, minor, patch) STRING_OF(major) "." STRING_OF(minor) "." STRING_OF(patch)

uint32_t upsweep_version(void) { return UPSWEEP_VERSION_MAJOR * 10000u + UPSWEEP_VERSION_MINOR * 100u + UPSWEEP_VERSION_PATCH; }
const char *upsweep_version_text(void) { return VERSION_TEXT(UPSWEEP_VERSION_MAJOR, UPSWEEP_VERSION_MINOR, UPSWEEP_VERSION_PATCH); }

/* A caller built against an older header has a smaller struct: fill the part it has. One from a newer header gets zeros past ours. */
static void copy_device(upsweep_device *to, const upsweep_device *from) {
    const size_t size = to->size;
    memset(to, 0, size);
    memcpy(to, from, size < sizeof *from ? size : sizeof *from);
    to->size = size;
}

upsweep_status upsweep_device_at(size_t index, upsweep_device *device) {
    if (device == NULL) return UPSWEEP_ERR_NULL;
    if (device->size < sizeof device->size) return UPSWEEP_ERR_OPTIONS;
    for (size_t b = NBACKENDS; b-- > 0;) { /* last row first: the CPU heads the list */
        upsweep_device found = {.size = sizeof found};
        size_t k = 0;
        while (k <= index && backends[b]->device_at(k, &found)) k++;
        if (k > index) {
            copy_device(device, &found);
            return UPSWEEP_OK;
        }
        index -= k;
    }
    return UPSWEEP_ERR_BACKEND;
}

upsweep_status upsweep_context_device(upsweep_context *ctx, upsweep_device *device) {
    if (ctx == NULL) return UPSWEEP_ERR_NULL;
    if (device == NULL) return context_fail(ctx, UPSWEEP_ERR_NULL, "device is NULL");
    if (device->size < sizeof device->size)
        return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "device->size is %zu: set it first", device->size);
    upsweep_device found = {.size = sizeof found};
    ctx->backend->describe(ctx, &found);
    copy_device(device, &found);
    return UPSWEEP_OK;
}

/* ---- open and close ---------------------------------------------------------------------------------------------------------- */

/* Takes over the options of a caller whose header may be older (a shorter struct: the rest is zero) or newer (a longer one, which is
 * refused if it asks for anything that this library does not know). */
static upsweep_status read_options(const upsweep_options *from, upsweep_options *to) {
    *to = (upsweep_options){.size = sizeof *to};
    if (from == NULL) return UPSWEEP_OK;
    if (from->size < sizeof from->size) return open_fail(UPSWEEP_ERR_OPTIONS, "options: size must be sizeof(upsweep_options)");
    const unsigned char *bytes = (const unsigned char *)from;
    for (size_t i = sizeof *to; i < from->size; i++)
        if (bytes[i] != 0) return open_fail(UPSWEEP_ERR_OPTIONS, "options: a field is set that this version of the library does not know");
    memcpy(to, from, from->size < sizeof *to ? from->size : sizeof *to);
    to->size = sizeof *to;
    if ((to->host_alloc == NULL) != (to->host_free == NULL))
        return open_fail(UPSWEEP_ERR_OPTIONS, "options: host_alloc and host_free go together");
    return UPSWEEP_OK;
}

/* "cpu", "cuda:1" -> a backend and the number after the colon (-1 if none); NULL if there is none of that name. */
static const struct backend *parse_backend(const char *text, int64_t *index) {
    *index = -1;
    for (size_t b = 0; b < NBACKENDS; b++) {
        const size_t length = strlen(backends[b]->name);
        if (strncmp(text, backends[b]->name, length) != 0) continue;
        if (text[length] == '\0') return backends[b];
        const char *digits = text + length + 1;
        const size_t ndigits = strspn(digits, "0123456789");
        if (text[length] != ':' || ndigits == 0 || ndigits > 9 || digits[ndigits] != '\0') return NULL;
        *index = strtoll(digits, NULL, 10);
        return backends[b];
    }
    return NULL;
}

static upsweep_status open_on(upsweep_context **out, const struct backend *backend, int64_t index, const upsweep_options *options) {
    upsweep_context *ctx = context_host_alloc(options, sizeof *ctx);
    if (ctx == NULL) return open_fail(UPSWEEP_ERR_MEMORY, "out of memory for a context");
    *ctx = (upsweep_context){.backend = backend, .options = *options};
    const upsweep_status status = backend->open(ctx, index);
    if (status != UPSWEEP_OK) {
        open_fail(status, ctx->error);
        backend->close(ctx);
        context_host_free(options, ctx);
        return status;
    }
    *out = ctx;
    return UPSWEEP_OK;
}

/* A device that this build has no code for is no better than none. */
static upsweep_status open_best(upsweep_context **out, const upsweep_options *options) {
    upsweep_device device = {.size = sizeof device};
    upsweep_status status = UPSWEEP_ERR_BACKEND;
    for (size_t b = 0; b < NBACKENDS && status == UPSWEEP_ERR_BACKEND; b++)
        if (backends[b]->device_at(0, &device)) status = open_on(out, backends[b], -1, options);
    return status;
}

upsweep_status upsweep_open(upsweep_context **ctx, const char *backend) { return upsweep_open_ex(ctx, backend, NULL); }

upsweep_status upsweep_open_ex(upsweep_context **out, const char *name, const upsweep_options *options) {
    if (out == NULL) return open_fail(UPSWEEP_ERR_NULL, "ctx is NULL");
    *out = NULL;
    if (name == NULL) return open_fail(UPSWEEP_ERR_NULL, "backend is NULL");
    upsweep_options own;
    TRY(read_options(options, &own));
    if (strcmp(name, "auto") == 0) return open_best(out, &own);
    int64_t index;
    const struct backend *backend = parse_backend(name, &index);
    if (backend != NULL) return open_on(out, backend, index, &own);
    snprintf(open_error, sizeof open_error, "there is no backend \"%.64s\" in this build of the library", name);
    return UPSWEEP_ERR_BACKEND;
}

static void drop_scratch(upsweep_context *ctx) {
    if (!ctx->scratch_is_callers) ctx->backend->free(ctx, ctx->scratch);
    ctx->scratch = NULL;
    ctx->scratch_nbytes = 0;
    ctx->scratch_is_callers = false;
}

void upsweep_close(upsweep_context *ctx) {
    if (ctx == NULL) return;
    drop_scratch(ctx);
    ctx->backend->close(ctx);
    const upsweep_options options = ctx->options;
    context_host_free(&options, ctx);
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------ */

upsweep_status upsweep_alloc(upsweep_context *ctx, void **ptr, size_t nbytes) {
    if (ctx == NULL) return UPSWEEP_ERR_NULL;
    if (ptr == NULL) return context_fail(ctx, UPSWEEP_ERR_NULL, "ptr is NULL");
    *ptr = NULL;
    TRY(ctx->backend->healthy(ctx));
    return nbytes == 0 ? UPSWEEP_OK : ctx->backend->alloc(ctx, ptr, nbytes);
}

void upsweep_free(upsweep_context *ctx, void *ptr) {
    if (ctx != NULL && ptr != NULL) ctx->backend->free(ctx, ptr);
}

upsweep_status upsweep_upload(upsweep_context *ctx, void *dst, const void *host_src, size_t nbytes) {
    if (ctx == NULL) return UPSWEEP_ERR_NULL;
    TRY(ctx->backend->healthy(ctx));
    if (nbytes == 0) return UPSWEEP_OK;
    if (dst == NULL || host_src == NULL) return context_fail(ctx, UPSWEEP_ERR_NULL, "%s is NULL", dst == NULL ? "dst" : "host_src");
    TRY(ctx->backend->check_memory(ctx, dst, "dst"));
    return ctx->backend->upload(ctx, dst, host_src, nbytes);
}

upsweep_status upsweep_download(upsweep_context *ctx, void *host_dst, const void *src, size_t nbytes) {
    if (ctx == NULL) return UPSWEEP_ERR_NULL;
    TRY(ctx->backend->healthy(ctx));
    if (nbytes == 0) return UPSWEEP_OK;
    if (host_dst == NULL || src == NULL) return context_fail(ctx, UPSWEEP_ERR_NULL, "%s is NULL", src == NULL ? "src" : "host_dst");
    TRY(ctx->backend->check_memory(ctx, src, "src"));
    return ctx->backend->download(ctx, host_dst, src, nbytes);
}

upsweep_status upsweep_read_count(upsweep_context *ctx, uint64_t *host_count, const uint64_t *count) {
    if (ctx == NULL) return UPSWEEP_ERR_NULL;
    if (host_count == NULL || count == NULL)
        return context_fail(ctx, UPSWEEP_ERR_NULL, "%s is NULL", count == NULL ? "count" : "host_count");
    return upsweep_download(ctx, host_count, count, sizeof *count);
}

upsweep_status upsweep_sync(upsweep_context *ctx) {
    if (ctx == NULL) return UPSWEEP_ERR_NULL;
    TRY(ctx->backend->healthy(ctx));
    return ctx->backend->sync(ctx);
}

/* ---- scratch ----------------------------------------------------------------------------------------------------------------- */

enum { SCRATCH_ALIGN = 256 };

upsweep_status context_need_scratch(upsweep_context *ctx, uint64_t nbytes) {
    if (nbytes <= ctx->scratch_nbytes) return UPSWEEP_OK;
    if (ctx->scratch_is_callers)
        return context_fail(ctx, UPSWEEP_ERR_SCRATCH, "the scratch given holds %zu bytes; this call needs %" PRIu64, ctx->scratch_nbytes,
                            nbytes);
    if (nbytes > SIZE_MAX) return context_fail(ctx, UPSWEEP_ERR_SIZE, "the call needs more scratch than memory can address");
    TRY(ctx->backend->may_grow(ctx));
    drop_scratch(ctx); /* before the new one is had: the two together may not fit */
    TRY(ctx->backend->alloc(ctx, &ctx->scratch, (size_t)nbytes));
    ctx->scratch_nbytes = (size_t)nbytes;
    return UPSWEEP_OK;
}

upsweep_status upsweep_reserve(upsweep_context *ctx, size_t nbytes) {
    if (ctx == NULL) return UPSWEEP_ERR_NULL;
    TRY(ctx->backend->healthy(ctx));
    return context_need_scratch(ctx, nbytes);
}

upsweep_status upsweep_set_scratch(upsweep_context *ctx, void *scratch, size_t nbytes) {
    if (ctx == NULL) return UPSWEEP_ERR_NULL;
    TRY(ctx->backend->healthy(ctx));
    if (scratch == NULL && nbytes > 0) return context_fail(ctx, UPSWEEP_ERR_NULL, "scratch is NULL, but nbytes is %zu", nbytes);
    if ((uintptr_t)scratch % SCRATCH_ALIGN != 0)
        return context_fail(ctx, UPSWEEP_ERR_ALIGN, "scratch is not aligned to %d bytes", SCRATCH_ALIGN);
    if (nbytes > PTRDIFF_MAX || (uintptr_t)scratch > UINTPTR_MAX - nbytes) /* or what overlaps it would not be seen */
        return context_fail(ctx, UPSWEEP_ERR_SIZE, "scratch: %zu bytes are more than memory can address", nbytes);
    if (scratch != NULL) TRY(ctx->backend->check_memory(ctx, scratch, "scratch"));
    drop_scratch(ctx);
    if (scratch == NULL) return UPSWEEP_OK;
    ctx->scratch = scratch;
    ctx->scratch_nbytes = nbytes;
    ctx->scratch_is_callers = true;
    return UPSWEEP_OK;
}

upsweep_status upsweep_scratch_size(upsweep_context *ctx, uint64_t *nbytes, upsweep_primitive primitive, uint64_t n, size_t item_nbytes,
                                    size_t value_nbytes) {
    if (ctx == NULL) return UPSWEEP_ERR_NULL;
    if (nbytes == NULL) return context_fail(ctx, UPSWEEP_ERR_NULL, "nbytes is NULL");
    TRY(check_elem_nbytes(ctx, item_nbytes, "item_nbytes"));
    if (value_nbytes != 0) TRY(check_elem_nbytes(ctx, value_nbytes, "value_nbytes"));
    if (primitive == UPSWEEP_PRIM_ARGSORT && value_nbytes != sizeof(uint32_t) && value_nbytes != sizeof(uint64_t))
        return context_fail(ctx, UPSWEEP_ERR_SIZE, "value_nbytes is %zu; an index has 4 or 8", value_nbytes);
    const bool of_keys = primitive == UPSWEEP_PRIM_SORT || primitive == UPSWEEP_PRIM_ARGSORT || primitive == UPSWEEP_PRIM_SORT_LOW_MEMORY;
    if (of_keys && (item_nbytes > 8 || (item_nbytes & (item_nbytes - 1)) != 0))
        return context_fail(ctx, UPSWEEP_ERR_SIZE, "item_nbytes is %zu; a key has 1, 2, 4 or 8", item_nbytes);
    const struct backend *b = ctx->backend;
    switch (primitive) {
    case UPSWEEP_PRIM_SCAN:
        *nbytes = b->scan_scratch(ctx, n, item_nbytes);
        return UPSWEEP_OK;
    case UPSWEEP_PRIM_COMPACT:
        *nbytes = b->compact_scratch(ctx, n, item_nbytes, false);
        return UPSWEEP_OK;
    case UPSWEEP_PRIM_PARTITION:
        *nbytes = b->compact_scratch(ctx, n, item_nbytes, true);
        return UPSWEEP_OK;
    case UPSWEEP_PRIM_SORT:
        *nbytes = b->sort_scratch(ctx, n, item_nbytes, value_nbytes, false);
        return UPSWEEP_OK;
    case UPSWEEP_PRIM_ARGSORT:
        *nbytes = b->sort_scratch(ctx, n, item_nbytes, value_nbytes, true);
        return UPSWEEP_OK;
    case UPSWEEP_PRIM_SORT_LOW_MEMORY:
        *nbytes = b->sort_low_memory_scratch != NULL ? b->sort_low_memory_scratch(ctx, n, item_nbytes)
                                                     : b->sort_scratch(ctx, n, item_nbytes, 0, false);
        return UPSWEEP_OK;
    case UPSWEEP_PRIM_UTF8:
        *nbytes = b->utf8_scratch(ctx, n, item_nbytes);
        return UPSWEEP_OK;
    }
    return context_fail(ctx, UPSWEEP_ERR_OPTIONS, "primitive %d is not known", (int)primitive);
}
