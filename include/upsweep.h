/* upsweep.h: scan, stream compaction, radix sort and UTF-8 on NVIDIA GPUs and on CPUs.
 *
 * The whole interface of the library. How to read it: types and operators are two tables, every call takes a context first and
 * returns a status, and each docstring says, in this order: what it does; shapes; aliasing; errors, without their UPSWEEP_ERR_; cost;
 * source.
 *
 * What holds for every call
 *   Memory     Data pointers name memory of the context: any host memory on the CPU backend, memory of its device, or managed memory, on
 *              the CUDA backend. upsweep_alloc() gives such memory on either. `in [n]` in a docstring means n elements of the element type.
 *   Streams    On the CPU a call has finished when it returns. On CUDA it is queued on the context's stream and may be captured in a
 *              CUDA graph; nothing waits for it but upsweep_upload(), upsweep_download(), upsweep_read_count(),
 *              upsweep_utf8_read_report(), upsweep_sync(), upsweep_free(), upsweep_close(), and scratch that is given up or must grow
 *              (upsweep_reserve() before the first call avoids that). A graph goes on using the context and the scratch of its capture:
 *              keep both for as long as it may be launched (scratch that has to grow is given up for a new one), and let nothing else of
 *              the context run at the same time.
 *   Results    The same call on the same device gives the same bits, floats included, whatever the number of threads.
 *   Errors     A call that rejects its arguments writes nothing but the sentence that upsweep_error() returns. Nothing is ever
 *              printed; nothing exits or aborts. n = 0 is valid everywhere; data pointers may then be NULL.
 *              Beside the errors that its docstring names, any call fails with NULL if ctx is NULL; one that needs scratch, for want of
 *              it, with MEMORY, DEVICE_MEMORY or SCRATCH; one on CUDA with CUDA, HOST_POINTER, WRONG_DEVICE or DEVICE_LOST.
 *   Alignment  Typed data is aligned to its element size; byte flags and records may lie anywhere.
 *   Overlap    An output overlaps no other array of its call, nor the caller's scratch, except as a docstring allows; equal pointers and
 *              partial overlap are checked for and rejected. Inputs may overlap one another.
 *   Threads    One context, one thread at a time; any number of contexts. A child of fork() may go on with a CPU context, on one thread.
 */
#ifndef UPSWEEP_H
#define UPSWEEP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UPSWEEP_VERSION_MAJOR 0
#define UPSWEEP_VERSION_MINOR 1
#define UPSWEEP_VERSION_PATCH 0

/* Attributes: exported from the shared library; result must be looked at. */
#if defined(__GNUC__) || defined(__clang__)
#define UPSWEEP_API      __attribute__((visibility("default")))
#define UPSWEEP_MUST_USE __attribute__((warn_unused_result))
#else
#define UPSWEEP_API
#define UPSWEEP_MUST_USE
#endif
#define UPSWEEP_CALL UPSWEEP_API UPSWEEP_MUST_USE upsweep_status

/* ---- tables ------------------------------------------------------------------------------------------------------------------ */

/* X(enumerator, value, text) */
#define UPSWEEP_STATUS_TABLE(X)                                                           \
    X(UPSWEEP_OK, 0, "success")                                                           \
    X(UPSWEEP_ERR_NULL, 1, "a required pointer is NULL")                                  \
    X(UPSWEEP_ERR_TYPE, 2, "unknown or unsuitable element type")                          \
    X(UPSWEEP_ERR_OP, 3, "unknown operator, or one that the type does not have")          \
    X(UPSWEEP_ERR_PREDICATE, 4, "unknown predicate, or one that the type does not have")  \
    X(UPSWEEP_ERR_VALUE, 5, "a constant that the type cannot hold")                       \
    X(UPSWEEP_ERR_FLAGS, 6, "unknown flags")                                              \
    X(UPSWEEP_ERR_SIZE, 7, "a size is out of range or overflows")                         \
    X(UPSWEEP_ERR_ALIGN, 8, "a pointer is not aligned to its element type")               \
    X(UPSWEEP_ERR_ALIAS, 9, "arrays overlap")                                             \
    X(UPSWEEP_ERR_BITS, 10, "a bit range that is not within the key")                     \
    X(UPSWEEP_ERR_OPTIONS, 11, "invalid options")                                         \
    X(UPSWEEP_ERR_BACKEND, 12, "no such backend or device")                               \
    X(UPSWEEP_ERR_MEMORY, 13, "out of host memory")                                       \
    X(UPSWEEP_ERR_THREADS, 14, "a thread could not be started")                           \
    X(UPSWEEP_ERR_SCRATCH, 15, "the scratch memory is too small and may not grow")        \
    X(UPSWEEP_ERR_NO_DRIVER, 16, "no NVIDIA driver on this machine")                      \
    X(UPSWEEP_ERR_OLD_DRIVER, 17, "the NVIDIA driver is older than this library needs")   \
    X(UPSWEEP_ERR_DEVICE_MEMORY, 18, "out of device memory")                              \
    X(UPSWEEP_ERR_HOST_POINTER, 19, "host memory was given to a call that runs on a GPU") \
    X(UPSWEEP_ERR_WRONG_DEVICE, 20, "memory of another device was given")                 \
    X(UPSWEEP_ERR_DEVICE_LOST, 21, "the device has failed; only closing is possible")     \
    X(UPSWEEP_ERR_CUDA, 22, "a CUDA call failed")                                         \
    X(UPSWEEP_ERR_CAPACITY, 23, "the output has too little room")                         \
    X(UPSWEEP_ERR_ENCODING, 24, "ill-formed text")

/* X(enumerator, value, name, C type, class): class SIGNED, UNSIGNED or FLOAT */
#define UPSWEEP_TYPE_TABLE(X)                  \
    X(UPSWEEP_I8, 0, i8, int8_t, SIGNED)       \
    X(UPSWEEP_U8, 1, u8, uint8_t, UNSIGNED)    \
    X(UPSWEEP_I16, 2, i16, int16_t, SIGNED)    \
    X(UPSWEEP_U16, 3, u16, uint16_t, UNSIGNED) \
    X(UPSWEEP_I32, 4, i32, int32_t, SIGNED)    \
    X(UPSWEEP_U32, 5, u32, uint32_t, UNSIGNED) \
    X(UPSWEEP_I64, 6, i64, int64_t, SIGNED)    \
    X(UPSWEEP_U64, 7, u64, uint64_t, UNSIGNED) \
    X(UPSWEEP_F32, 8, f32, float, FLOAT)       \
    X(UPSWEEP_F64, 9, f64, double, FLOAT)

/* X(enumerator, value, name, kinds): ANY or INTEGER types. Integer add and mul wrap. min and max return one operand unchanged:
 * the later one if equal, and a NaN if either is one (the earlier, if both). */
#define UPSWEEP_OP_TABLE(X)         \
    X(UPSWEEP_ADD, 0, add, ANY)     \
    X(UPSWEEP_MUL, 1, mul, ANY)     \
    X(UPSWEEP_MIN, 2, min, ANY)     \
    X(UPSWEEP_MAX, 3, max, ANY)     \
    X(UPSWEEP_AND, 4, and, INTEGER) \
    X(UPSWEEP_OR, 5, or, INTEGER)   \
    X(UPSWEEP_XOR, 6, xor, INTEGER)

/* X(enumerator, value, name, kinds): what an element must satisfy to be kept. */
#define UPSWEEP_CMP_TABLE(X)            \
    X(UPSWEEP_NONZERO, 0, nonzero, ANY) \
    X(UPSWEEP_EQ, 1, eq, ANY)           \
    X(UPSWEEP_NE, 2, ne, ANY)           \
    X(UPSWEEP_LT, 3, lt, ANY)           \
    X(UPSWEEP_LE, 4, le, ANY)           \
    X(UPSWEEP_GT, 5, gt, ANY)           \
    X(UPSWEEP_GE, 6, ge, ANY)           \
    X(UPSWEEP_NOT_NAN, 7, not_nan, FLOATING)

/* X(enumerator, value, name, bytes of a code unit): encodings of text. UTF32 is in the byte order of the machine. */
#define UPSWEEP_ENCODING_TABLE(X)     \
    X(UPSWEEP_UTF32, 0, utf32, 4)     \
    X(UPSWEEP_UTF16LE, 1, utf16le, 2) \
    X(UPSWEEP_UTF16BE, 2, utf16be, 2) \
    X(UPSWEEP_UTF8, 3, utf8, 1)

/* X(enumerator, value, name): what becomes of ill-formed text. */
#define UPSWEEP_ON_ERROR_TABLE(X)  \
    X(UPSWEEP_REPLACE, 0, replace) \
    X(UPSWEEP_REMOVE, 1, remove)   \
    X(UPSWEEP_STRICT, 2, strict)

/* X(enumerator, value, text): what can be wrong with text. */
#define UPSWEEP_TEXT_ERROR_TABLE(X)                     \
    X(UPSWEEP_TEXT_GOOD, 0, "well-formed")              \
    X(UPSWEEP_TEXT_TOO_SHORT, 1, "sequence too short")  \
    X(UPSWEEP_TEXT_STRAY, 2, "stray continuation byte") \
    X(UPSWEEP_TEXT_OVERLONG, 3, "overlong sequence")    \
    X(UPSWEEP_TEXT_SURROGATE, 4, "surrogate")           \
    X(UPSWEEP_TEXT_TOO_LARGE, 5, "code point above U+10FFFF")

#define UPSWEEP_ENUMERATOR(e, v, ...) e = (v),
typedef enum upsweep_status { UPSWEEP_STATUS_TABLE(UPSWEEP_ENUMERATOR) UPSWEEP_STATUS_COUNT } upsweep_status;
typedef enum upsweep_type { UPSWEEP_TYPE_TABLE(UPSWEEP_ENUMERATOR) UPSWEEP_TYPE_COUNT } upsweep_type;
typedef enum upsweep_op { UPSWEEP_OP_TABLE(UPSWEEP_ENUMERATOR) UPSWEEP_OP_COUNT } upsweep_op;
typedef enum upsweep_cmp { UPSWEEP_CMP_TABLE(UPSWEEP_ENUMERATOR) UPSWEEP_CMP_COUNT } upsweep_cmp;
typedef enum upsweep_encoding { UPSWEEP_ENCODING_TABLE(UPSWEEP_ENUMERATOR) UPSWEEP_ENCODING_COUNT } upsweep_encoding;
typedef enum upsweep_on_error { UPSWEEP_ON_ERROR_TABLE(UPSWEEP_ENUMERATOR) UPSWEEP_ON_ERROR_COUNT } upsweep_on_error;
typedef enum upsweep_text_error { UPSWEEP_TEXT_ERROR_TABLE(UPSWEEP_ENUMERATOR) UPSWEEP_TEXT_ERROR_COUNT } upsweep_text_error;
#undef UPSWEEP_ENUMERATOR

/* Names as in the tables ("i32", "add", "ge"), NULL for a value outside the table; and back: 0 if there is no such name, else 1. */
UPSWEEP_API const char *upsweep_status_text(upsweep_status status);
UPSWEEP_API const char *upsweep_type_name(upsweep_type type);
UPSWEEP_API const char *upsweep_op_name(upsweep_op op);
UPSWEEP_API const char *upsweep_cmp_name(upsweep_cmp cmp);
UPSWEEP_API const char *upsweep_encoding_name(upsweep_encoding encoding);
UPSWEEP_API const char *upsweep_on_error_name(upsweep_on_error on_error);
UPSWEEP_API const char *upsweep_text_error_text(upsweep_text_error error);
UPSWEEP_API UPSWEEP_MUST_USE int upsweep_type_from_name(const char *name, upsweep_type *type);
UPSWEEP_API UPSWEEP_MUST_USE int upsweep_op_from_name(const char *name, upsweep_op *op);
UPSWEEP_API UPSWEEP_MUST_USE int upsweep_cmp_from_name(const char *name, upsweep_cmp *cmp);
UPSWEEP_API UPSWEEP_MUST_USE int upsweep_encoding_from_name(const char *name, upsweep_encoding *encoding);
UPSWEEP_API UPSWEEP_MUST_USE int upsweep_on_error_from_name(const char *name, upsweep_on_error *on_error);

/* Bytes of one element, of one code unit; 0 for a value outside the table. */
UPSWEEP_API size_t upsweep_type_nbytes(upsweep_type type);
UPSWEEP_API size_t upsweep_encoding_nbytes(upsweep_encoding encoding);

/* 1 if the type has the operator (and, or, xor are for integers), or the comparison (not_nan is for floats); else 0. */
UPSWEEP_API int upsweep_type_has_op(upsweep_type type, upsweep_op op);
UPSWEEP_API int upsweep_type_has_cmp(upsweep_type type, upsweep_cmp cmp);

/* ---- version and devices ----------------------------------------------------------------------------------------------------- */

/* Version of the library that is linked: major * 10000 + minor * 100 + patch; and as "0.1.0". */
UPSWEEP_API uint32_t upsweep_version(void);
UPSWEEP_API const char *upsweep_version_text(void);

typedef struct upsweep_device {
    size_t size;            /* sizeof(upsweep_device), set by the caller */
    char spec[16];          /* what upsweep_open() takes: "cpu", "cuda:0" */
    char name[128];         /* the maker's name for it */
    char detail[64];        /* instruction set in use, or compute capability: "avx512", "sm_90" */
    uint64_t memory_nbytes; /* its memory, all of it */
    uint32_t units;         /* hardware threads that the process may use, or multiprocessors */
} upsweep_device;

/* The devices of this machine, the CPU first: fills *device and returns OK, or ERR_BACKEND for an index past the last.
 * Never an error for want of a GPU or driver: such a machine has one device. Other errors: NULL, OPTIONS (device->size is not set). */
UPSWEEP_CALL upsweep_device_at(size_t index, upsweep_device *device);

/* ---- context ----------------------------------------------------------------------------------------------------------------- */

typedef struct upsweep_context upsweep_context;

/* Runs task(arg, i) once for every i in [0, ntasks) and returns when all have returned: on as many threads and in any order as it
 * likes, or one after the other. The tasks wait for one another only on tasks that have already begun. */
typedef void (*upsweep_parallel_for)(void *user, void (*task)(void *arg, uint32_t i), void *arg, uint32_t ntasks);

/* Everything beyond the defaults. Fill with zeros, set `size`, set what is wanted. */
typedef struct upsweep_options {
    size_t size;                                    /* sizeof(upsweep_options) */
    uint32_t nthreads;                              /* CPU: threads, the caller's included, at most 1024; 0: all that it may use */
    upsweep_parallel_for parallel_for;              /* CPU: the caller's executor instead of our threads, or NULL */
    void *parallel_for_user;                        /* its first argument */
    void *(*host_alloc)(void *user, size_t nbytes); /* host memory of the library, aligned to 16 bytes or more; NULL: malloc */
    void (*host_free)(void *user, void *ptr);       /* given if and only if host_alloc is; never called with NULL */
    void *host_user;                                /* their first argument */
    void *stream;                                   /* CUDA: a cudaStream_t of the device to queue on; NULL: the context makes its own.
                                                       For the default stream pass cudaStreamLegacy or cudaStreamPerThread. */
} upsweep_options;

/* Opens a context on a backend: "cpu", "cpu:N" (N threads), "cuda", "cuda:K" (device K), or "auto" (a GPU if there is one that this build
 * has code for, else the CPU).
 * On failure *ctx is NULL and upsweep_error(NULL) holds the sentence, for the calling thread.
 * Errors: NULL, BACKEND, OPTIONS (also if the environment variable UPSWEEP_CPU, UPSWEEP_CUDA or UPSWEEP_CUDA_SEED names what there is
 * not), MEMORY, THREADS; and on cuda NO_DRIVER, OLD_DRIVER, CUDA. */
UPSWEEP_CALL upsweep_open(upsweep_context **ctx, const char *backend);
UPSWEEP_CALL upsweep_open_ex(upsweep_context **ctx, const char *backend, const upsweep_options *options);

/* Waits for what the context has queued, then frees all it owns but the memory of upsweep_alloc(), which is the caller's to free first.
 * NULL is fine. Not while the stream is being captured: waiting for it would invalidate the capture. */
UPSWEEP_API void upsweep_close(upsweep_context *ctx);

/* The sentence of the last call on this context that failed ("" if none has), valid until the next call on it.
 * NULL: that of this thread's last upsweep_open() that failed. */
UPSWEEP_API const char *upsweep_error(const upsweep_context *ctx);

/* The device that a context runs on. device->size is set by the caller. Errors: NULL, OPTIONS. */
UPSWEEP_CALL upsweep_context_device(upsweep_context *ctx, upsweep_device *device);

/* ---- memory ------------------------------------------------------------------------------------------------------------------ */

/* nbytes of context memory, aligned to 256 bytes, contents undefined; *ptr is NULL if nbytes is 0. Errors: NULL, MEMORY, DEVICE_MEMORY. */
UPSWEEP_CALL upsweep_alloc(upsweep_context *ctx, void **ptr, size_t nbytes);
/* Gives it back to the context that it is from; ptr NULL is fine. On CUDA it waits until the device has finished with it. */
UPSWEEP_API void upsweep_free(upsweep_context *ctx, void *ptr);

/* Copies nbytes from host memory into context memory, or back; both have finished with the host memory when they return.
 * Errors: NULL (with nbytes > 0). */
UPSWEEP_CALL upsweep_upload(upsweep_context *ctx, void *dst, const void *host_src, size_t nbytes);
UPSWEEP_CALL upsweep_download(upsweep_context *ctx, void *host_dst, const void *src, size_t nbytes);

/* Waits for all that is queued, then reads a count that a call has left in context memory. Errors: NULL. */
UPSWEEP_CALL upsweep_read_count(upsweep_context *ctx, uint64_t *host_count, const uint64_t *count);

/* Waits for all that is queued. Reports errors of calls that had been queued. */
UPSWEEP_CALL upsweep_sync(upsweep_context *ctx);

/* ---- scratch ----------------------------------------------------------------------------------------------------------------- */

typedef enum upsweep_primitive {
    UPSWEEP_PRIM_SCAN = 0,           /* item_nbytes: of an element */
    UPSWEEP_PRIM_COMPACT = 1,        /* compact, compact_flags, compact_indices; item_nbytes: of an element */
    UPSWEEP_PRIM_PARTITION = 2,      /* partition, partition_flags */
    UPSWEEP_PRIM_SORT = 3,           /* sort and, with value_nbytes > 0, sort_pairs; item_nbytes: of a key */
    UPSWEEP_PRIM_ARGSORT = 4,        /* item_nbytes: of a key; value_nbytes: of an index, 4 or 8 */
    UPSWEEP_PRIM_UTF8 = 5,           /* all calls on text; n, item_nbytes: code units of the input, bytes of one */
    UPSWEEP_PRIM_SORT_LOW_MEMORY = 6 /* sort with order->low_memory */
} upsweep_primitive;

/* Bytes of scratch that a call on this context may need: never less for a larger n; UINT64_MAX if they are more than can be counted.
 * Errors: NULL, OPTIONS, SIZE. */
UPSWEEP_CALL upsweep_scratch_size(upsweep_context *ctx, uint64_t *nbytes, upsweep_primitive primitive, uint64_t n, size_t item_nbytes,
                                  size_t value_nbytes);
/* Grows the context's scratch to at least nbytes now, so that later calls allocate nothing (needed before capturing a CUDA graph:
 * scratch never grows during a capture). Errors: MEMORY, DEVICE_MEMORY, SCRATCH. */
UPSWEEP_CALL upsweep_reserve(upsweep_context *ctx, size_t nbytes);
/* Uses the caller's memory (context memory, aligned to 256 bytes) as scratch from now on, and never allocates: a call that needs more
 * fails with ERR_SCRATCH. NULL, 0: back to scratch of the context's own. No array of a call may overlap it (ERR_ALIAS). The memory stays
 * the caller's to free, after the context has been given other scratch and what was queued before has finished, or after
 * upsweep_close(). Errors: NULL, ALIGN, SIZE. */
UPSWEEP_CALL upsweep_set_scratch(upsweep_context *ctx, void *scratch, size_t nbytes);

/* ---- scan -------------------------------------------------------------------------------------------------------------------- */

#define UPSWEEP_EXCLUSIVE 0u /* out[i] = init op in[0] op ... op in[i-1] */
#define UPSWEEP_INCLUSIVE 1u /* out[i] = init op in[0] op ... op in[i] */

/* Scan (prefix sum) of in [n] under `op` into out [n]; starts from the operator's identity.
 * Aliasing: out == in is allowed. flags: UPSWEEP_EXCLUSIVE or UPSWEEP_INCLUSIVE.
 * Integers wrap. Floats are combined in a fixed order: the bits do not depend on the number of threads or on the instruction set, and
 * errors grow like those of a pairwise sum rather than a running one.
 * Errors: NULL, TYPE, OP, FLAGS, SIZE, ALIGN, ALIAS. Cost: n elements read, n written; scratch O(threads) or O(tiles).
 * Source: Blelloch, Prefix sums and their applications, 1990; Merrill and Garland, Single-pass parallel prefix scan, 2016. */
UPSWEEP_CALL upsweep_scan(upsweep_context *ctx, void *out, const void *in, uint64_t n, upsweep_type type, upsweep_op op, uint32_t flags);

/* The same with a carry-in and a carry-out, so that chunks of a longer input are scanned one after the other:
 * init [1] is combined before in[0] (NULL: the identity); total [1] receives init op in[0] op ... op in[n-1] (NULL: not wanted).
 * Both lie in context memory; total == init is allowed; neither may overlap in or out. n = 0: *total is *init, or the identity.
 * Errors and cost: as upsweep_scan(). */
UPSWEEP_CALL upsweep_scan_ex(upsweep_context *ctx, void *out, const void *in, uint64_t n, upsweep_type type, upsweep_op op, uint32_t flags,
                             const void *init, void *total);

/* ---- stream compaction ------------------------------------------------------------------------------------------------------- */

/* Keeps x if `x cmp value` holds. value: .i for signed types, .u for unsigned, .f for floats (rounded to f32 for f32); not looked at
 * for nonzero and not_nan. A NaN is kept by ne and nonzero, not by eq, lt, le, gt, ge. */
typedef struct upsweep_predicate {
    upsweep_cmp cmp;
    union {
        int64_t i;
        uint64_t u;
        double f;
    } value;
} upsweep_predicate;

/* Copies the elements of in [n] that satisfy `keep` to out, in their order, and their number to count [1].
 * out has room for n elements; those past the kept ones are left as they are or overwritten with nothing in particular.
 * Aliasing: out == in is allowed. Errors: NULL, TYPE, PREDICATE, VALUE (an integer constant that the type cannot hold), SIZE, ALIGN, ALIAS.
 * Cost: n elements read, count written. Source: Billeter, Olsson, Assarsson, Efficient stream compaction, 2009. */
UPSWEEP_CALL upsweep_compact(upsweep_context *ctx, void *out, uint64_t *count, const void *in, uint64_t n, upsweep_type type,
                             const upsweep_predicate *keep);

/* The same for elements of any kind of elem_nbytes bytes (1 to 4096): in[i] is kept if flags[i] (one byte each) is not zero.
 * Aliasing: none. Errors: NULL, SIZE, ALIGN (count), ALIAS.
 * Cost: n flags read, the kept elements read and written (all elements, when small). */
UPSWEEP_CALL upsweep_compact_flags(upsweep_context *ctx, void *out, uint64_t *count, const void *in, const uint8_t *flags, uint64_t n,
                                   size_t elem_nbytes);

/* Writes base + i for every kept in[i] to out [n], as index_type (UPSWEEP_U32 or UPSWEEP_U64), in increasing order.
 * For byte flags, give them as `in` with type UPSWEEP_U8. Aliasing: none.
 * Errors: as upsweep_compact(); TYPE for another index_type; SIZE if base + n - 1 does not fit it. Cost: n elements read, count written. */
UPSWEEP_CALL upsweep_compact_indices(upsweep_context *ctx, void *out, uint64_t *count, const void *in, uint64_t n, upsweep_type type,
                                     const upsweep_predicate *keep, upsweep_type index_type, uint64_t base);

/* Splits in [n] in two, each side in its old order: copies the elements that satisfy `keep`, or have a flag, to out, the others to rest,
 * and the number of the first to count [1]. rest NULL: the others go behind the first in out [n]. Else both out and rest have room for n
 * elements; those past their side are left as they are or overwritten with nothing in particular.
 * Aliasing: none; but upsweep_partition() with a rest allows one of out == in and rest == in.
 * Errors: as upsweep_compact(), or upsweep_compact_flags(). Source: likewise.
 * Cost: with a rest, n elements read and written. Without, where the others begin is not known before the end, so n elements (or flags) are
 * read to count them first; a GPU reads once what its multiprocessors can hold, and may turn the shorter side round in the end instead. */
UPSWEEP_CALL upsweep_partition(upsweep_context *ctx, void *out, void *rest, uint64_t *count, const void *in, uint64_t n, upsweep_type type,
                               const upsweep_predicate *keep);
UPSWEEP_CALL upsweep_partition_flags(upsweep_context *ctx, void *out, void *rest, uint64_t *count, const void *in, const uint8_t *flags,
                                     uint64_t n, size_t elem_nbytes);

/* ---- sort -------------------------------------------------------------------------------------------------------------------- */

/* How to sort; NULL or zeros: ascending, by the whole key. Bits are counted from the least significant one of the key's unsigned image:
 * an unsigned integer as it is, a signed one with its sign bit flipped, a float with its sign bit flipped if positive and all bits
 * inverted if negative. That image orders floats totally: -NaN < -inf < ... < -0.0 < +0.0 < ... < +inf < +NaN. */
typedef struct upsweep_order {
    uint32_t descending; /* 0: smallest first; 1: largest first. Equal keys keep their order either way. */
    uint32_t lo_bit;     /* only bits [lo_bit, hi_bit) are compared; lo_bit <= hi_bit <= bits of the key */
    uint32_t hi_bit;     /* 0: all bits of the key from lo_bit up */
    uint32_t low_memory; /* 1: takes less scratch, and more time, where it can: a CPU sorts keys where they lie, with less than a MiB a
                            thread; CUDA sorts as ever. Only for upsweep_sort(), by all bits */
} upsweep_order;

/* Radix sort of in [n] into out [n], stable. Aliasing: out == in is allowed.
 * Errors: NULL, TYPE, BITS, OPTIONS (a field neither 0 nor 1, or low_memory for what it is not for), SIZE, ALIGN, ALIAS; MEMORY,
 * DEVICE_MEMORY or SCRATCH for scratch.
 * Cost: if the highest bits of the keys are spread, three or four reads and two or three writes, whatever their width; else one read, then
 * one read and one write for each digit of eight bits that not all keys share. Scratch: n keys and some MiB (CPU: a thread), on CUDA up
 * to 15 % more; with low_memory on a CPU, a little. Source: Stehle and Jacobsen, A memory bandwidth-efficient hybrid radix sort on GPUs,
 * 2017; Adinets and Merrill, Onesweep, 2022; Hildebrandt and Isbitz, Radix exchange, 1959 (low_memory). */
UPSWEEP_CALL upsweep_sort(upsweep_context *ctx, void *out, const void *in, uint64_t n, upsweep_type type, const upsweep_order *order);

/* The same for pairs: values [n] of value_nbytes bytes each (1 to 4096), of any kind and alignment, move with their keys. Each output may
 * be its own input. Errors: as upsweep_sort(); SIZE for another value_nbytes. Scratch: n keys, n values and some MiB, on CUDA up to a tenth
 * more. */
UPSWEEP_CALL upsweep_sort_pairs(upsweep_context *ctx, void *keys_out, const void *keys_in, void *values_out, const void *values_in,
                                uint64_t n, upsweep_type type, size_t value_nbytes, const upsweep_order *order);

/* The order that sorts keys [n], which stay as they are: indices [n] as index_type (UPSWEEP_U32 or UPSWEEP_U64) such that
 * keys[indices[0]], keys[indices[1]], ... is sorted, equal keys by increasing index. Aliasing: none. Errors: as upsweep_sort(); TYPE for
 * another index_type; SIZE if n - 1 does not fit it. Scratch: at most twice n keys, n indices, and a tenth more; on a CPU also some MiB. */
UPSWEEP_CALL upsweep_argsort(upsweep_context *ctx, void *indices, const void *keys, uint64_t n, upsweep_type type, upsweep_type index_type,
                             const upsweep_order *order);

/* ---- UTF-8 ------------------------------------------------------------------------------------------------------------------- */

/* How to convert text; NULL or zeros: to or from UTF-32, with replacement, the whole text at once.
 *
 * Ill-formed text is cut into sequences as the Unicode Standard recommends (3.9, "maximal subparts") and the WHATWG Encoding Standard
 * requires: the longest beginning of a well-formed sequence, or else one code unit. Lone surrogates in UTF-16, surrogates and values above
 * 10FFFF in UTF-32 are one each. Noncharacters are text like any other.
 *
 * REPLACE  each ill-formed sequence becomes U+FFFD.
 * REMOVE   each is left out. Unsafe for markup and for what has been checked before: what stood apart may now form something active.
 * STRICT   conversion ends before the first one, and upsweep_utf8_read_report() gives ERR_ENCODING. */
typedef struct upsweep_utf8_options {
    upsweep_encoding encoding; /* the other side. decode: of out; UPSWEEP_UTF8 cleans the text. encode: of in; not UPSWEEP_UTF8 */
    upsweep_on_error on_error;
    uint32_t more;     /* 1: more text follows: an incomplete sequence at the end of `in` is not an error but left out of `consumed` (at
                          most 3 code units, only if it is the beginning of a well-formed one): put it before the next chunk */
    uint32_t skip_bom; /* 1: a byte order mark (U+FEFF) at the start of `in` is not written; 0: it is text like any other */
    uint64_t *map;     /* decode to UTF-32: map [capacity] receives map_base + the position in `in` of each out[i]; else NULL */
    uint64_t map_base;
} upsweep_utf8_options;

/* What a conversion found and did, in context memory. Positions and numbers are in code units: bytes for UTF-8. */
typedef struct upsweep_utf8_report {
    uint64_t needed;        /* the length of the whole output */
    uint64_t written;       /* that, or 0 if it is more than capacity */
    uint64_t consumed;      /* of in: n, less what is held back; strict: error_at; 0 if the output is longer than capacity */
    uint64_t bad_sequences; /* ill-formed sequences, replaced or removed; strict: 0 */
    uint64_t bad_units;     /* of in that these were made of; strict: 0 */
    uint64_t error_at;      /* where the first ill-formed sequence begins in `in`; UINT64_MAX if there is none */
    uint32_t error;         /* what is wrong with it: an upsweep_text_error */
    uint32_t status;        /* what upsweep_utf8_read_report() will return: an upsweep_status */
} upsweep_utf8_report;

/* Decodes UTF-8 in [n] to out [capacity] in options->encoding, and writes report [1].
 * out NULL, capacity 0: nothing is written but the report, whose `needed` is the exact length, consumed that of a conversion, status never
 * CAPACITY.
 * Room that always suffices: n code units of UTF-16 or UTF-32; 3n bytes of UTF-8 with REPLACE, else n. If the room does not suffice, out
 * [capacity] (and the map) hold nothing in particular, and nothing lies past them. Code units of out past `written` are undefined.
 * A chunk of a longer text: set `more`, then call again with what follows `consumed`; no state but these bytes is carried.
 * Aliasing: none. Errors: NULL, OPTIONS, SIZE, ALIGN (out to its code units), ALIAS; MEMORY, SCRATCH.
 * What the text itself brings (CAPACITY, ENCODING) is in the report, as the call may be queued. Cost: n bytes read, the output written.
 * Source: Unicode Standard, table 3-7 and 3.9; Lemire and Keiser, Validating UTF-8 in less than one instruction per byte, 2021. */
UPSWEEP_CALL upsweep_utf8_decode(upsweep_context *ctx, void *out, uint64_t capacity, upsweep_utf8_report *report, const void *in,
                                 uint64_t n, const upsweep_utf8_options *options);

/* The same the other way: in [n] in options->encoding to UTF-8 in out [capacity]. Room that always suffices: 3n bytes from UTF-16, 4n from
 * UTF-32. `in` is aligned to its code units. */
UPSWEEP_CALL upsweep_utf8_encode(upsweep_context *ctx, void *out, uint64_t capacity, upsweep_utf8_report *report, const void *in,
                                 uint64_t n, const upsweep_utf8_options *options);

/* Is in [n] well-formed UTF-8? report: as of a strict decode to UTF-32 without output: status OK or ENCODING. */
UPSWEEP_CALL upsweep_utf8_validate(upsweep_context *ctx, upsweep_utf8_report *report, const void *in, uint64_t n);

/* How many code points is in [n]? report->needed: as many as a decode with replacement would write. */
UPSWEEP_CALL upsweep_utf8_count(upsweep_context *ctx, upsweep_utf8_report *report, const void *in, uint64_t n);

/* Waits for all that is queued, reads a report, and returns its status: OK; CAPACITY, with a sentence that says how much is needed; or
 * ENCODING, with one that says what is wrong where. Errors: NULL. */
UPSWEEP_CALL upsweep_utf8_read_report(upsweep_context *ctx, upsweep_utf8_report *host_report, const upsweep_utf8_report *report);

#ifdef __cplusplus
}
#endif

#endif
