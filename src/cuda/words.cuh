/* words.cuh: the words by which CTAs tell one another something: accesses with a memory order. */
#ifndef UPSWEEP_CUDA_WORDS_CUH
#define UPSWEEP_CUDA_WORDS_CUH

#include <stdint.h>
#include <string.h>

/* Relaxed accesses of one word, atomic at the scope of the GPU. 16-byte ones are single accesses too (PTX ISA 8.3, sm_70 and newer). */
static __device__ __forceinline__ void store_relaxed_8(void *p, uint64_t x) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory");
}

static __device__ __forceinline__ uint64_t load_relaxed_8(const void *p) {
    uint64_t x;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
    return x;
}

static __device__ __forceinline__ void store_relaxed_16(void *p, uint64_t low, uint64_t high) {
    asm volatile("{\n.reg .b128 q;\nmov.b128 q, {%1, %2};\nst.relaxed.gpu.global.b128 [%0], q;\n}" ::"l"(p), "l"(low), "l"(high)
                 : "memory");
}

static __device__ __forceinline__ void load_relaxed_16(const void *p, uint64_t *low, uint64_t *high) {
    asm volatile("{\n.reg .b128 q;\nld.relaxed.gpu.global.b128 q, [%2];\nmov.b128 {%0, %1}, q;\n}"
                 : "=l"(*low), "=l"(*high)
                 : "l"(p)
                 : "memory");
}

/* A value of at most 8 bytes as the bits of a word, and back. */
template <class V> static __device__ __forceinline__ uint64_t bits_of(V value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class V> static __device__ __forceinline__ V value_of(uint64_t bits) {
    V value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
