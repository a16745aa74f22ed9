/* scan_bytes.cuh: minimum and maximum of bytes, a vector of 16 at a time, in the 16-bit halves of 32-bit words.
 *
 *   a word            b3 b2 b1 b0        as two halves, each ranked by its upper byte; the lower one is whatever it is
 *   odd bytes         [b3 b2] [b1 b0]    the word as it is
 *   even bytes        [b2 b1] [b0  0]    the word, shifted by a byte
 *
 * So the greater of two halves has the greater upper byte, and one instruction (sm_90 has it) compares two bytes, with none taken out of
 * its word or put back. Cost: two instructions a byte, where one at a time took five. */
#ifndef UPSWEEP_CUDA_SCAN_BYTES_CUH
#define UPSWEEP_CUDA_SCAN_BYTES_CUH

#include "warp.cuh"

/* The operators of which this file knows, on two halves. */
template <class Op> struct Halves { static constexpr bool EXIST = false; };
template <> struct Halves<Max<uint8_t>> {
    static constexpr bool EXIST = true;
    static __device__ __forceinline__ uint32_t apply(uint32_t a, uint32_t b) { return __vmaxu2(a, b); }
};
template <> struct Halves<Max<int8_t>> {
    static constexpr bool EXIST = true;
    static __device__ __forceinline__ uint32_t apply(uint32_t a, uint32_t b) { return __vmaxs2(a, b); }
};
template <> struct Halves<Min<uint8_t>> {
    static constexpr bool EXIST = true;
    static __device__ __forceinline__ uint32_t apply(uint32_t a, uint32_t b) { return __vminu2(a, b); }
};
template <> struct Halves<Min<int8_t>> {
    static constexpr bool EXIST = true;
    static __device__ __forceinline__ uint32_t apply(uint32_t a, uint32_t b) { return __vmins2(a, b); }
};

/* Vectors folded into one word, of whose four bytes the uppermost is the result: odd bytes and even ones apart until the end. */
template <class Op, int ROWS> static __device__ __forceinline__ uint32_t fold_bytes(const uint4 (&v)[ROWS]) {
    typedef Halves<Op> H;
    uint32_t odd = v[0].x, even = v[0].x << 8;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        odd = H::apply(odd, H::apply(H::apply(v[r].x, v[r].y), H::apply(v[r].z, v[r].w)));
        even = H::apply(even, H::apply(H::apply(v[r].x << 8, v[r].y << 8), H::apply(v[r].z << 8, v[r].w << 8)));
    }
    const uint32_t both = H::apply(odd, even);
    return H::apply(both, both << 16);
}

/* As scan_rows(), with two rows in a word. */
template <class Op, class T, int ROWS>
static __device__ __forceinline__ T scan_rows_of_bytes(const uint4 (&data)[ROWS], T (&before)[ROWS], int lane) {
    typedef Halves<Op> H;
    enum { PAIRS = (ROWS + 1) / 2 };
    uint32_t x[PAIRS];
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        const uint4 first[1] = {data[2 * i]}, second[1] = {data[min(2 * i + 1, ROWS - 1)]};
        x[i] = __byte_perm(fold_bytes<Op>(first), fold_bytes<Op>(second), 0x7632);
    }
    warp_scan_rows<H>(x, lane);
    uint32_t run = __byte_perm((uint8_t)Op::identity(), 0, 0);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const uint32_t half = r % 2 == 0 ? 0x1010 : 0x3232; /* this row's, to both halves */
        const uint32_t left = __byte_perm(__shfl_up_sync(ALL_LANES, x[r / 2], 1), 0, half);
        before[r] = (T)((lane == 0 ? run : H::apply(run, left)) >> 24);
        run = H::apply(run, __byte_perm(__shfl_sync(ALL_LANES, x[r / 2], 31), 0, half));
    }
    return (T)(run >> 24);
}

/* Four bytes' results. run: what comes before them, in the upper byte of each half; becomes what comes before the next four. */
template <class Op> static __device__ __forceinline__ uint32_t scan_word(uint32_t odd, uint32_t *run, bool inclusive) {
    typedef Halves<Op> H;
    const uint32_t even = odd << 8, pairs = H::apply(even, odd);
    const uint32_t before = H::apply(*run, __byte_perm(*run, pairs, 0x5410)); /* the upper pair has the lower one before it */
    const uint32_t first = H::apply(before, even), second = H::apply(first, odd);
    *run = __byte_perm(second, 0, 0x3333);
    return __byte_perm(inclusive ? first : before, inclusive ? second : first, 0x7351);
}

template <class Op> static __device__ __forceinline__ uint4 scan_bytes(uint4 v, uint8_t before, bool inclusive) {
    uint32_t run = __byte_perm(before, 0, 0);
    uint4 out;
    out.x = scan_word<Op>(v.x, &run, inclusive);
    out.y = scan_word<Op>(v.y, &run, inclusive);
    out.z = scan_word<Op>(v.z, &run, inclusive);
    out.w = scan_word<Op>(v.w, &run, inclusive);
    return out;
}

#endif
