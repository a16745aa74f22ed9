/* async.cuh: copies to shared memory that take no registers on their way, and barriers, one PTX instruction a function.
 *
 * cp.async, of sm_80 and newer, moves 4, 8 or 16 bytes for each thread, which waits for its own copies when it needs them; before sm_80
 * these functions are a load and a store. A bulk copy, of sm_90 and newer (the tensor memory accelerator without a tensor map), moves
 * 16-byte-aligned bytes and reports to an mbarrier: one thread keeps 192 KiB in flight. An mbarrier has a phase; it flips when all expected
 * arrivals and all announced bytes have come in. Waiters name the parity of the phase whose end they wait for.
 * Source: PTX ISA 8.0, "Asynchronous copy" and "mbarrier", 2022. */
#ifndef UPSWEEP_ASYNC_CUH
#define UPSWEEP_ASYNC_CUH

#include <stdint.h>

static __device__ __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

/* ---- cp.async, each thread for itself ---------------------------------------------------------------------------------------- */

/* T: of 4 or 8 bytes, which are probably read again; or of 16, which are not. */
template <typename T> static __device__ __forceinline__ void copy_async(T *s_dst, const T *src) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "sizes that cp.async has");
#if __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(s_dst)), "l"(src) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(s_dst)), "l"(src), "n"(sizeof(T)) : "memory");
#else
    *s_dst = *src;
#endif
}

/* Waits for this thread's copies. What others have copied is there after the next barrier. */
static __device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* ---- mbarriers and bulk copies ----------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ void barrier_init(uint64_t *barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

/* The barriers just initialised become visible to the copy engine; a __syncthreads() must follow. */
static __device__ __forceinline__ void barrier_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/* Arrives once, and announces nbytes that a bulk copy will deliver. */
static __device__ __forceinline__ void barrier_arrive_expect(uint64_t *barrier, unsigned nbytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(nbytes) : "memory");
}

static __device__ __forceinline__ void barrier_arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

/* Waits until the phase of this parity has ended (acquire). try_wait sleeps in hardware for a while before it answers no. */
static __device__ __forceinline__ void barrier_wait(uint64_t *barrier, unsigned parity) {
    unsigned done;
    do {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(parity)
                     : "memory");
    } while (!done);
}

/* When the L2 cache is to give up what a copy brings there: as always, or first, or last of all. */
enum class Evict { AS_ALWAYS, FIRST, LAST };

static __device__ __forceinline__ uint64_t cache_policy(Evict when) {
    uint64_t first, last;
    asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(first));
    asm("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(last));
    return when == Evict::FIRST ? first : last;
}

/* An ordinary store that says so, too. */
static __device__ __forceinline__ void store_hinted(uint4 *to, uint4 x, uint64_t policy) {
    asm volatile("st.global.L2::cache_hint.v4.b32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w),
                 "l"(policy)
                 : "memory");
}

/* Starts copying nbytes (a multiple of 16, both ends aligned to 16) to shared memory; reports to the barrier. */
static __device__ __forceinline__ void bulk_load(void *s_dst, const void *src, unsigned nbytes, uint64_t *barrier, Evict when) {
    if (when == Evict::AS_ALWAYS)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(s_dst)),
                     "l"(src), "r"(nbytes), "r"(shared_address(barrier))
                     : "memory");
    else
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(
                         shared_address(s_dst)),
                     "l"(src), "r"(nbytes), "r"(shared_address(barrier)), "l"(cache_policy(when))
                     : "memory");
}

/* Orders this thread's ordinary accesses to shared memory before later ones of the copy engine: needed before a buffer is handed back to
 * it that was written with ordinary stores, or was read into registers that nothing has used yet. */
static __device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* And accesses to global memory that this thread knows of, before later ones of the copy engine. */
static __device__ __forceinline__ void fence_async_proxy_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }

#endif
