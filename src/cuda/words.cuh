/* words.cuh: the words by which CTAs tell one another something: accesses with a memory order. */
#ifndef UPSWEEP_CUDA_WORDS_CUH
#define UPSWEEP_CUDA_WORDS_CUH

#include <stdint.h>
#include <string.h>

/* Accesses of one word, atomic at the scope of the GPU. */
static __device__ __forceinline__ uint32_t load_relaxed(const uint32_t *p) {
    uint32_t value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    return value;
}

/* Four neighbours, each by itself. */
static __device__ __forceinline__ void load_relaxed(uint32_t (&values)[4], const uint32_t *p) {
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
                 : "l"(p)
                 : "memory");
}

static __device__ __forceinline__ void store_relaxed(uint32_t *p, uint32_t value) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
}

static __device__ __forceinline__ uint32_t load_acquire(const uint32_t *p) {
    uint32_t value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    return value;
}

static __device__ __forceinline__ void store_release(uint32_t *p, uint32_t value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
}

static __device__ __forceinline__ void store_relaxed_8(void *p, uint64_t x) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory");
}

static __device__ __forceinline__ uint64_t load_relaxed_8(const void *p) {
    uint64_t x;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
    return x;
}

/* Single accesses too (PTX ISA 8.3, sm_70 and newer). */
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

/* A value with a tag, written and read in a single access, so that no fence is needed. Of 64 bits the upper TAG_BITS, at most
 * 32, are the tag. */
template <int TAG_BITS> struct TaggedWord {
    uint64_t bits;
    __device__ __forceinline__ void store(uint64_t tag, uint64_t value) { store_relaxed_8(&bits, tag << (64 - TAG_BITS) | value); }
    __device__ __forceinline__ TaggedWord load() const { return {load_relaxed_8(&bits)}; }
    __device__ __forceinline__ uint64_t tag() const { return bits >> (64 - TAG_BITS); }
    __device__ __forceinline__ bool has(uint64_t tag) const { return (uint32_t)this->tag() == ((uint32_t)tag & ~0u >> (32 - TAG_BITS)); }
    __device__ __forceinline__ uint64_t value() const { return bits & ~0ull >> TAG_BITS; }
};

/* 64 bits of each (PTX ISA 8.4 makes .b128 accesses atomic). */
template <> struct alignas(16) TaggedWord<64> {
    uint64_t bits[2];
    __device__ __forceinline__ void store(uint64_t tag, uint64_t value) { store_relaxed_16(bits, value, tag); }
    __device__ __forceinline__ TaggedWord load() const {
        TaggedWord word;
        load_relaxed_16(bits, &word.bits[0], &word.bits[1]);
        return word;
    }
    __device__ __forceinline__ uint64_t tag() const { return bits[1]; }
    __device__ __forceinline__ bool has(uint64_t tag) const { return bits[1] == tag; }
    __device__ __forceinline__ uint64_t value() const { return bits[0]; }
};

#endif
