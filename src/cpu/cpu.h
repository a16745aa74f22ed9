/* cpu.h: what the files of the CPU backend share: its state in a context, its threads, and its primitives. */
#ifndef UPSWEEP_CPU_H
#define UPSWEEP_CPU_H

#include "../backend.h"

/* Instruction sets that have kernels of their own, best last; each includes those before it. */
enum cpu_isa { CPU_PORTABLE, CPU_AVX2, CPU_AVX512 };

/* features.c: the best set of this machine, or a lesser one that the environment variable UPSWEEP_CPU names; what that says, or NULL; and
 * whether it is the name of one. */
enum cpu_isa cpu_isa_best(void);
const char *cpu_isa_wanted(void);
bool cpu_isa_from_name(const char *name, enum cpu_isa *isa);
const char *cpu_isa_name(enum cpu_isa isa);
bool cpu_stores_wait(void); /* do stores that miss L1 hold up later ones? (an Intel) */
void cpu_model_name(char *name, size_t nbytes);
uint32_t cpu_hardware_threads(void);
uint64_t cpu_memory_nbytes(void);

/* threads.c: a pool of nthreads - 1 sleeping workers; the calling thread is the last one. */
struct cpu_pool;
struct cpu_pool *cpu_pool_open(const upsweep_options *options, uint32_t nthreads, upsweep_status *status);
void cpu_pool_close(struct cpu_pool *pool);

struct cpu_impl {
    enum cpu_isa isa;
    const struct kernels *kernels;   /* of that set (kernels.h) */
    const struct utf8_kernels *utf8; /* (utf8_kernels.h) */
    uint32_t nthreads;
    struct cpu_pool *pool; /* NULL with one thread or with the caller's executor */
};

static inline struct cpu_impl *cpu_impl(const upsweep_context *ctx) { return ctx->impl; }
static inline const struct kernels *cpu_kernels(const upsweep_context *ctx) { return cpu_impl(ctx)->kernels; }

/* Runs task(arg, i) for every i in [0, ntasks) on the pool or on the caller's executor, and returns when all have returned. Which thread
 * runs what, and how many run at once, is open: tasks may wait only on work that another task has already begun (take block numbers from
 * an atomic counter and wait for lower ones only). With ntasks <= 1 no other thread is woken. */
void cpu_run(upsweep_context *ctx, void (*task)(void *arg, uint32_t i), void *arg, uint32_t ntasks);

/* The primitives, and the scratch bytes each may need (scan.c, compact.c, sort.c, utf8.c). */
upsweep_status cpu_scan(upsweep_context *ctx, const struct scan_args *args);
upsweep_status cpu_compact(upsweep_context *ctx, const struct compact_args *args);
upsweep_status cpu_sort(upsweep_context *ctx, const struct sort_args *args);
upsweep_status cpu_utf8(upsweep_context *ctx, const struct utf8_args *args);
uint64_t cpu_scan_scratch(upsweep_context *ctx, uint64_t n, size_t elem_nbytes);
uint64_t cpu_compact_scratch(upsweep_context *ctx, uint64_t n, size_t elem_nbytes, bool split);
uint64_t cpu_sort_scratch(upsweep_context *ctx, uint64_t n, size_t key_nbytes, size_t value_nbytes, bool argsort);
uint64_t cpu_sort_low_memory_scratch(upsweep_context *ctx, uint64_t n, size_t key_nbytes);
uint64_t cpu_utf8_scratch(upsweep_context *ctx, uint64_t n, size_t unit_nbytes);

/* short_cuts.c: calls on few elements. Of sorts, those that need neither scratch nor threads (sort_at_once.c): the arguments have been
 * checked; false: there are too many elements, and nothing has been done. */
extern const struct short_cuts cpu_short_cuts;
bool cpu_sort_values_at_once(const upsweep_context *ctx, const struct sort_args *args, size_t key_nbytes);
bool cpu_sort_at_once(const upsweep_context *ctx, void *out, const void *in, uint64_t n, upsweep_type type, size_t key_nbytes,
                      bool descending);

#endif
