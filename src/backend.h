/* backend.h: what a backend is: one vtable, and the argument structs that travel unchanged from api.c to the kernels.
 *
 * api.c has checked everything that can be checked on the host (null, type, operator, sizes, alignment, overlap) before a backend is
 * called; a backend checks only what it alone can know (is this memory of my device?) and what can fail. n = 0 reaches scan only if a
 * total is wanted, compact and utf8 always (a count, a report must be written), sort never; data pointers may then be NULL. */
#ifndef UPSWEEP_BACKEND_H
#define UPSWEEP_BACKEND_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upsweep.h"

/* ---- arguments, one struct a primitive --------------------------------------------------------------------------------------- */

struct scan_args {
    void *out;
    const void *in;
    uint64_t n;
    upsweep_type type;
    upsweep_op op;
    bool inclusive;
    const void *init; /* one element in context memory, or NULL: the identity */
    void *total;      /* one element in context memory, or NULL */
};

/* What a compaction writes. */
enum compact_output {
    COMPACT_KEPT,      /* the kept elements */
    COMPACT_SPLIT,     /* the kept elements, and the rejected ones to `rest` or behind them (partition) */
    COMPACT_INDICES32, /* base + i of the kept elements, as u32 */
    COMPACT_INDICES64
};

/* Either `flags` decides (byte flags; type is not looked at) or `keep` does (flags is NULL; elem_nbytes is the type's). */
struct compact_args {
    void *out;
    void *rest; /* COMPACT_SPLIT: NULL: behind the kept ones in out; else out and rest have room for n elements each */
    uint64_t *count;
    const void *in;
    const uint8_t *flags;
    uint64_t n;
    size_t elem_nbytes;
    enum compact_output output;
    upsweep_type type;
    upsweep_predicate keep; /* value already known to fit the type; for f32, already rounded to it */
    uint64_t base;
};

/* keys only: values_out is NULL. pairs: both. argsort: keys_out and values_in are NULL, values_out receives indices of value_nbytes. */
struct sort_args {
    void *keys_out;
    const void *keys_in;
    void *values_out;
    const void *values_in;
    uint64_t n;
    upsweep_type type;
    size_t value_nbytes;
    bool descending;
    uint32_t lo_bit, hi_bit; /* 0 <= lo_bit <= hi_bit <= bits of the key */
    bool low_memory;         /* keys only, all their bits: the scratch is that of sort_low_memory_scratch, if the backend has it */
};

/* upsweep_encoding_nbytes() of an encoding in the table, without a call: a few bytes of text take less time than six of those. */
static inline size_t encoding_nbytes(upsweep_encoding encoding) {
    return encoding == UPSWEEP_UTF8 ? sizeof(uint8_t) : encoding == UPSWEEP_UTF32 ? sizeof(uint32_t) : sizeof(uint16_t);
}

/* One of from and to is UPSWEEP_UTF8, or both (cleaning). out NULL: only the report is wanted; then capacity is 0 and map NULL. */
struct utf8_args {
    void *out;
    uint64_t capacity;
    upsweep_utf8_report *report;
    const void *in;
    uint64_t n;
    upsweep_encoding from, to;
    upsweep_on_error on_error;
    bool more, skip_bom;
    uint64_t *map; /* [capacity], from UTF-8 to UTF-32 only; or NULL */
    uint64_t map_base;
};

/* ---- the vtable -------------------------------------------------------------------------------------------------------------- */

/* Calls on few elements, whose time is checks and dispatch: each looks at all of its arguments at once, and if all is plainly well, does
 * the whole call; if not, it goes the long way, which finds out what is wrong, by a jump, as both have the arguments of the call: to keep
 * seven for it over a call takes as long as to check them. (What a short cut may have written to `out` and the report, the long way writes
 * again.) Each is called as the public function of its name, and so is its long way, call_any (api.c). */
#define SHORT_CUT(call) __typeof__(upsweep_##call) *call;
#define LONG_WAY(call)  __typeof__(upsweep_##call) call##_any;
#define CALLS_WITH_SHORT_CUTS(X) \
    X(scan)                      \
    X(compact)                   \
    X(compact_flags)             \
    X(compact_indices)           \
    X(partition)                 \
    X(partition_flags)           \
    X(sort)                      \
    X(utf8_decode)               \
    X(utf8_encode)

typedef upsweep_status utf8_measure_call(upsweep_context *ctx, upsweep_utf8_report *report, const void *in, uint64_t n,
                                         upsweep_on_error on_error);

struct short_cuts {
    CALLS_WITH_SHORT_CUTS(SHORT_CUT)
    utf8_measure_call *utf8_measure; /* code points */
    /* Two calls, whose arguments are in a struct already, but for the order, which is as the caller has it. false: nothing has
     * been done. */
    bool (*sort_values)(upsweep_context *ctx, struct sort_args *args, const upsweep_order *order);
};

CALLS_WITH_SHORT_CUTS(LONG_WAY)
utf8_measure_call utf8_measure_any;

struct backend {
    const char *name; /* what upsweep_open() calls it */

    /* Devices of this backend, for the list; false past the last. Never fails. */
    bool (*device_at)(size_t index, upsweep_device *device);

    /* index: the number after the colon, -1 if none. Sets ctx->impl. close undoes a whole or partial open. */
    upsweep_status (*open)(upsweep_context *ctx, int64_t index);
    void (*close)(upsweep_context *ctx);
    void (*describe)(upsweep_context *ctx, upsweep_device *device);

    /* OK, or the sticky error that makes the context refuse all work; asked before every call that has any. */
    upsweep_status (*healthy)(upsweep_context *ctx);
    /* Is p (not NULL) memory that this context's kernels may touch? `what` names it in the sentence. */
    upsweep_status (*check_memory)(upsweep_context *ctx, const void *p, const char *what);

    upsweep_status (*alloc)(upsweep_context *ctx, void **p, size_t nbytes);
    void (*free)(upsweep_context *ctx, void *p);
    upsweep_status (*upload)(upsweep_context *ctx, void *dst, const void *host_src, size_t nbytes);
    upsweep_status (*download)(upsweep_context *ctx, void *host_dst, const void *src, size_t nbytes);
    upsweep_status (*sync)(upsweep_context *ctx);
    /* May the scratch grow now? (Not while the stream is being captured.) Explains in the context if not. */
    upsweep_status (*may_grow)(upsweep_context *ctx);

    /* Scratch bytes that a call may need: monotonic in n, saturating at UINT64_MAX. */
    uint64_t (*scan_scratch)(upsweep_context *ctx, uint64_t n, size_t elem_nbytes);
    uint64_t (*compact_scratch)(upsweep_context *ctx, uint64_t n, size_t elem_nbytes, bool split);
    uint64_t (*sort_scratch)(upsweep_context *ctx, uint64_t n, size_t key_nbytes, size_t value_nbytes, bool argsort);
    uint64_t (*sort_low_memory_scratch)(upsweep_context *ctx, uint64_t n, size_t key_nbytes); /* NULL: it sorts as ever */
    uint64_t (*utf8_scratch)(upsweep_context *ctx, uint64_t n, size_t unit_nbytes);

    const struct short_cuts *short_cuts; /* NULL: none */

    /* The work. They may assume scratch of the size above at ctx->scratch. */
    upsweep_status (*scan)(upsweep_context *ctx, const struct scan_args *args);
    upsweep_status (*compact)(upsweep_context *ctx, const struct compact_args *args);
    upsweep_status (*sort)(upsweep_context *ctx, const struct sort_args *args);
    upsweep_status (*utf8)(upsweep_context *ctx, const struct utf8_args *args);
};

extern const struct backend upsweep_cpu_backend;
#ifdef UPSWEEP_HAVE_CUDA
extern const struct backend upsweep_cuda_backend;
#endif

/* ---- the context ------------------------------------------------------------------------------------------------------------- */

struct upsweep_context {
    const struct backend *backend;
    void *impl; /* the backend's own state */
    upsweep_options options;

    void *scratch; /* 256-byte aligned context memory */
    size_t scratch_nbytes;
    bool scratch_is_callers;

    char error[256];
};

/* Puts a sentence into the context and returns the status, so that `return context_fail(...)` is one statement. */
upsweep_status context_fail(upsweep_context *ctx, upsweep_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Makes the scratch at least nbytes; on failure there may be none left. */
upsweep_status context_need_scratch(upsweep_context *ctx, uint64_t nbytes);

/* Host memory through the caller's hooks, or malloc: NULL on failure. */
void *context_host_alloc(const upsweep_options *options, size_t nbytes);
void context_host_free(const upsweep_options *options, void *ptr);

/* Returns from the calling function if a status is not OK. */
#define TRY(call)                                        \
    do {                                                 \
        const upsweep_status try_status = (call);        \
        if (try_status != UPSWEEP_OK) return try_status; \
    } while (0)

#endif
