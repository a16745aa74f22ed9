/* vector.cuh: vectors of elements, up to 16 bytes that travel together: in registers, from global memory and back, whole or cut by the end
 * of an array. */
#ifndef UPSWEEP_CUDA_VECTOR_CUH
#define UPSWEEP_CUDA_VECTOR_CUH

#include <stdint.h>
#include <string.h>

/* N elements that travel together; N * sizeof(T) <= 16. Elements of 1 and 2 bytes stay packed in 32-bit registers until they are used. */
template <class T, int N> struct alignas(sizeof(T) * N) Vector { T item[N]; };

static __device__ __forceinline__ bool is_aligned(const void *p, unsigned nbytes) { return (uintptr_t)p % nbytes == 0; }

template <class T, int N> static __device__ __forceinline__ uint4 pack(const Vector<T, N> &v) {
    uint4 packed = {0, 0, 0, 0};
    memcpy(&packed, &v, sizeof v);
    return packed;
}

/* The compiler is kept from remembering the elements of an earlier unpack(): that would take a register each. */
template <class T, int N> static __device__ __forceinline__ Vector<T, N> unpack(uint4 packed) {
    if (sizeof(T) < 4) asm volatile("" : "+r"(packed.x), "+r"(packed.y), "+r"(packed.z), "+r"(packed.w));
    Vector<T, N> v;
    memcpy(&v, &packed, sizeof v);
    return v;
}

/* A vector of 16 bytes or less, aligned. Data is read once, so it need not stay in the caches. */
template <int NBYTES> static __device__ __forceinline__ uint4 load_once(const void *p) {
    static_assert(NBYTES == 2 || NBYTES == 4 || NBYTES == 8 || NBYTES == 16, "no such access");
    if constexpr (NBYTES == 16) {
        return __ldcs((const uint4 *)p);
    } else if constexpr (NBYTES == 8) {
        const uint2 v = __ldcs((const uint2 *)p);
        return {v.x, v.y, 0, 0};
    } else if constexpr (NBYTES == 4) {
        return {__ldcs((const uint32_t *)p), 0, 0, 0};
    } else {
        return {__ldcs((const uint16_t *)p), 0, 0, 0};
    }
}

template <class T, int N> static __device__ __forceinline__ uint4 load_elements(const T *in, uint64_t first, uint64_t n, T pad) {
    Vector<T, N> v;
#pragma unroll
    for (int i = 0; i < N; i++) v.item[i] = first + i < n ? in[first + i] : pad;
    return pack(v);
}

/* in [first .. first + N) where that is below n, `pad` from there on. One access where the vector is aligned and whole. */
template <class T, int N>
static __device__ __forceinline__ uint4 load_packed(const T *in, uint64_t first, uint64_t n, bool aligned, T pad) {
    return aligned && first + N <= n ? load_once<N * sizeof(T)>(in + first) : load_elements<T, N>(in, first, n, pad);
}

/* What is chosen by a number among registers is chosen word by word: as an array that is asked for element i it would lie in memory, and
 * every access would be a trip to the L1 cache. */
static __device__ __forceinline__ uint32_t word_of(uint4 v, uint32_t i) { return i < 2 ? (i == 0 ? v.x : v.y) : (i == 2 ? v.z : v.w); }

static __device__ __forceinline__ uint4 choose_vector(bool first, uint4 a, uint4 b) {
    return {first ? a.x : b.x, first ? a.y : b.y, first ? a.z : b.z, first ? a.w : b.w};
}

/* The first nbytes, fewer than 16, of a vector at p, which is aligned; `pad` behind them. By words: as elements, bytes would take sixteen
 * accesses, with a comparison each. */
static __device__ __forceinline__ uint4 load_head(const void *p, uint32_t nbytes, uint4 pad) {
    const uint32_t *const words = (const uint32_t *)p, whole = nbytes / 4;
    const unsigned char *const end = (const unsigned char *)p + nbytes;
    const uint32_t half = nbytes & 2 ? *(const uint16_t *)(end - (nbytes & 3)) : 0, byte = nbytes & 1 ? end[-1] : 0;
    uint4 v = pad;
    if (whole > 0) v.x = words[0];
    if (whole > 1) v.y = words[1];
    if (whole > 2) v.z = words[2];
    const uint32_t known = (1u << 8 * (nbytes & 3)) - 1, last = half | byte << 8 * (nbytes & 2) | (word_of(pad, whole) & ~known);
    return {whole == 0 ? last : v.x, whole == 1 ? last : v.y, whole == 2 ? last : v.z, whole == 3 ? last : v.w};
}

/* And to p. */
static __device__ __forceinline__ void store_head(void *p, uint32_t nbytes, uint4 v) {
    uint32_t *const words = (uint32_t *)p, whole = nbytes / 4, last = word_of(v, whole);
    unsigned char *const end = (unsigned char *)p + nbytes;
    if (whole > 0) words[0] = v.x;
    if (whole > 1) words[1] = v.y;
    if (whole > 2) words[2] = v.z;
    if (nbytes & 2) *(uint16_t *)(end - (nbytes & 3)) = (uint16_t)last;
    if (nbytes & 1) end[-1] = (unsigned char)(last >> 8 * (nbytes & 2));
}

/* A vector that the end of an array cuts, and the row that it belongs to. */
struct CutVector {
    uint4 data;
    uint32_t row; /* ~0: there is none */
};

/* The same for the rows of a warp, of which this lane's vectors begin at first, first + 32 * N, ... First all that take one access, so
 * that these leave together, and before any branch: what lies behind one may have to be fetched. A vector that is cut is left to
 * put_cut(), for when all else has been asked for: `data` cannot be written before what is on its way there has come. */
template <class T, int N, int ROWS>
static __device__ __forceinline__ CutVector load_rows(uint4 (&data)[ROWS], const T *in, uint64_t first, uint64_t n, bool aligned, T pad) {
    constexpr uint32_t ROW = 32 * N;
    CutVector cut = {{0, 0, 0, 0}, ~0u};
    Vector<T, N> padding;
#pragma unroll
    for (int i = 0; i < N; i++) padding.item[i] = pad;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const uint64_t at = first + r * ROW;
        data[r] = pack(padding);
        if (aligned && at + N <= n) data[r] = load_once<N * sizeof(T)>(in + at);
    }
    if ((aligned && first + (ROWS - 1) * ROW + N <= n) || first >= n) return cut;
    if (!aligned) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) data[r] = load_elements<T, N>(in, first + r * ROW, n, pad);
        return cut;
    }
    const uint32_t left = (uint32_t)(n - first), last = left % ROW; /* elements from `first` on; in their last row */
    if (last > 0 && last < N) cut = {load_head(in + n - last, last * (uint32_t)sizeof(T), pack(padding)), left / ROW};
    return cut;
}

template <int ROWS> static __device__ __forceinline__ void put_cut(uint4 (&data)[ROWS], const CutVector &cut) {
    if (cut.row == ~0u) return;
#pragma unroll
    for (int r = 0; r < ROWS; r++) data[r] = choose_vector(cut.row == (uint32_t)r, cut.data, data[r]);
}

template <class T, int N>
static __device__ __forceinline__ void store_vector(T *out, uint64_t first, uint64_t n, bool aligned, uint4 packed) {
    static_assert(N * sizeof(T) == 16, "");
    if (aligned && first + N <= n) {
        __stcs((uint4 *)(out + first), packed);
        return;
    }
    if (first >= n) return;
    if (aligned) {
        store_head(out + first, (uint32_t)(n - first) * (uint32_t)sizeof(T), packed);
        return;
    }
    const Vector<T, N> v = unpack<T, N>(packed);
#pragma unroll
    for (int i = 0; i < N; i++)
        if (first + i < n) out[first + i] = v.item[i];
}

#endif
