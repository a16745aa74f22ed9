/* shift.cuh: a warp's bytes from shared memory to wherever they belong, in vectors of the output.
 *
 *     stage, aligned     | 0 1 2 3 ...   15 | 16 ...           |
 *     output        | . . . . 0 1 2 ... 11 | 12 13 ...            |      each of its vectors has bytes of two of the stage's
 *
 * How the one lies to the other is the same for the whole run: which words are wanted is decided once, by a branch that the warp takes
 * together, and then a vector costs two loads, four funnel shifts and a store. */
#ifndef UPSWEEP_CUDA_SHIFT_CUH
#define UPSWEEP_CUDA_SHIFT_CUH

#include <stdint.h>

/* Words FIRST.. of two vectors, and from there on bits `shift`... */
template <int FIRST> static __device__ __forceinline__ uint4 shifted(uint4 a, uint4 b, unsigned shift) {
    const uint32_t x[9] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, 0};
    return {__funnelshift_r(x[FIRST], x[FIRST + 1], shift), __funnelshift_r(x[FIRST + 1], x[FIRST + 2], shift),
            __funnelshift_r(x[FIRST + 2], x[FIRST + 3], shift), __funnelshift_r(x[FIRST + 3], x[FIRST + 4], shift)};
}

/* How a vector is stored: as what is not read again soon. */
struct StoreStreaming {
    __device__ __forceinline__ void operator()(uint4 *to, uint4 x) const { __stcs(to, x); }
};

/* Vectors [first, last) of `line`, of which vector i begins in vector i - 1 of the stage. */
template <int FIRST, class Store>
static __device__ __forceinline__ void store_shifted_vectors(uint4 *line, const uint4 *s_stage, uint32_t first, uint32_t last,
                                                             unsigned shift, const Store &store) {
    const uint4 *from = s_stage + first;
    uint4 *to = line + first;
#pragma unroll 1
    for (int left = (int)last - (int)first; left > 0; left -= 32, from += 32, to += 32) store(to, shifted<FIRST>(from[-1], from[0], shift));
}

/* By all lanes: nbytes to dst from a stage, aligned to 16, of which the first s_skew bytes, less than 16, are left out. Only vectors of the
 * stage are read that have some of these bytes. */
template <class Store = StoreStreaming>
static __device__ __forceinline__ void store_shifted(unsigned char *dst, const unsigned char *s_stage, uint32_t s_skew, uint32_t nbytes,
                                                     int lane, const Store &store = {}) {
    const uint32_t skew = (uint32_t)((uintptr_t)dst % 16), end = skew + nbytes;
    unsigned char *const line = dst - skew;
    const uint32_t first = (skew + 15) / 16, last = max(end / 16, first), mine = first + (uint32_t)lane;
    /* Vector i of the output begins so many bytes, 1 to 16, after the one before from[i]. */
    const uint32_t past = s_skew > skew ? s_skew - skew : 16 + s_skew - skew;
    const uint4 *const from = (const uint4 *)s_stage + (s_skew > skew ? 1 : 0);
    const unsigned shift = past % 4 * 8;
    switch (past / 4) {
    case 4:
        store_shifted_vectors<4>((uint4 *)line, from, mine, last, 0, store);
        break;
    case 3:
        store_shifted_vectors<3>((uint4 *)line, from, mine, last, shift, store);
        break;
    case 2:
        store_shifted_vectors<2>((uint4 *)line, from, mine, last, shift, store);
        break;
    case 1:
        store_shifted_vectors<1>((uint4 *)line, from, mine, last, shift, store);
        break;
    default:
        store_shifted_vectors<0>((uint4 *)line, from, mine, last, shift, store);
    }
    /* What is no whole vector, at either end. */
    const uint32_t odd = lane < 16 ? (uint32_t)lane : last * 16 + (uint32_t)lane - 16;
    if (odd >= skew && odd < end && (lane >= 16 || odd < first * 16)) line[odd] = s_stage[(int)(odd + s_skew) - (int)skew];
}

#endif
