/* async.cuh: mbarriers and bulk copies of sm_90 and newer, one PTX instruction a function.
 *
 * A bulk copy (the tensor memory accelerator without a tensor map) moves 16-byte-aligned bytes from global to shared memory and reports to
 * an mbarrier there: no thread holds the data in registers on its way, so one thread keeps 192 KiB in flight. An mbarrier has a phase; it
 * flips when all expected arrivals and all announced bytes have come in. Waiters name the parity of the phase whose end they wait for.
 * Source: PTX ISA 8.0, "Asynchronous copy" and "mbarrier", 2022. */
#ifndef UPSWEEP_ASYNC_CUH
#define UPSWEEP_ASYNC_CUH

static __device__ __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

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

/* Starts copying nbytes (a multiple of 16, both ends aligned to 16) to shared memory; reports to the barrier. */
static __device__ __forceinline__ void bulk_load(void *s_dst, const void *src, unsigned nbytes, uint64_t *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(s_dst)),
                 "l"(src), "r"(nbytes), "r"(shared_address(barrier))
                 : "memory");
}

/* Starts copying nbytes (as above) from shared memory to global memory. */
static __device__ __forceinline__ void bulk_store(void *dst, const void *s_src, unsigned nbytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(dst), "r"(shared_address(s_src)), "r"(nbytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* Waits until all that this thread has started with bulk_store() has been read, and the buffers may be used anew; or has been written. */
static __device__ __forceinline__ void bulk_wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
static __device__ __forceinline__ void bulk_wait_written() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

/* Orders this thread's ordinary accesses to shared memory before later ones of the copy engine: needed before a buffer that was written
 * with ordinary stores is handed back to it. */
static __device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

#endif
