/* warp.cuh: folds and scans over the lanes of a warp, in a fixed order.
 *
 * Orders of combination are part of the contract: the same shape folds the same values in the same order every time, so that float results
 * do not change from run to run. An `Op` is a type of operator.cuh, or another one that says as much about itself. */
#ifndef UPSWEEP_CUDA_WARP_CUH
#define UPSWEEP_CUDA_WARP_CUH

#include <type_traits>

#include "operator.cuh"
#include "sum_warp.cuh"

#define ALL_LANES 0xffffffffu

#if __CUDA_ARCH__ >= 800
static __device__ __forceinline__ uint32_t fold_words(Add<uint32_t>, uint32_t x) { return __reduce_add_sync(ALL_LANES, x); }
static __device__ __forceinline__ uint32_t fold_words(And<uint32_t>, uint32_t x) { return __reduce_and_sync(ALL_LANES, x); }
static __device__ __forceinline__ uint32_t fold_words(Or<uint32_t>, uint32_t x) { return __reduce_or_sync(ALL_LANES, x); }
static __device__ __forceinline__ uint32_t fold_words(Xor<uint32_t>, uint32_t x) { return __reduce_xor_sync(ALL_LANES, x); }
static __device__ __forceinline__ uint32_t fold_words(Min<uint32_t>, uint32_t x) { return __reduce_min_sync(ALL_LANES, x); }
static __device__ __forceinline__ uint32_t fold_words(Max<uint32_t>, uint32_t x) { return __reduce_max_sync(ALL_LANES, x); }
static __device__ __forceinline__ int32_t fold_words(Min<int32_t>, int32_t x) { return __reduce_min_sync(ALL_LANES, x); }
static __device__ __forceinline__ int32_t fold_words(Max<int32_t>, int32_t x) { return __reduce_max_sync(ALL_LANES, x); }
#endif

/* x of all lanes, by that instruction, in every lane. Of 64 bits: sums by three of them, else the upper halves, then the lower ones: for a
 * minimum those that come with the least upper half. */
template <template <class> class OP, class T, class V> static __device__ __forceinline__ V fold_by_instruction(OP<T>, V x) {
#if __CUDA_ARCH__ >= 800
    typedef std::conditional_t<((T)-1 < (T)0), int32_t, uint32_t> Word;
    if constexpr (sizeof(T) <= sizeof(Word)) {
        return (V)fold_words(OP<Word>(), (Word)x);
    } else if constexpr (std::is_same_v<OP<T>, Add<T>>) {
        return sum_warp(x);
    } else {
        const Word mine = (Word)(x >> 32), upper = fold_words(OP<Word>(), mine);
        const bool out = OP<T>::CHOOSES && mine != upper;
        const uint32_t lower = fold_words(OP<uint32_t>(), out ? OP<uint32_t>::identity() : (uint32_t)x);
        return (V)((uint64_t)upper << 32 | lower);
    }
#else
    for (int o = 1; o < 32; o *= 2) x = OP<T>::apply(x, (V)__shfl_xor_sync(ALL_LANES, x, o));
    return x;
#endif
}

/* Every row: x0 op x1 op ..., LANES of them, where operands must not change places. Two steps at a time: three trips from lane to lane
 * after one another instead of five. Right for lane 0, which tells the others. */
template <class Op, int LANES = 32, int ROWS, class V> static __device__ __forceinline__ void fold_rows_in_order(V (&x)[ROWS]) {
#pragma unroll
    for (int o = 1; o < LANES; o *= 4) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const V a = (V)__shfl_down_sync(ALL_LANES, x[r], o);
            if (2 * o >= LANES) {
                x[r] = Op::apply(x[r], a);
                continue;
            }
            const V b = (V)__shfl_down_sync(ALL_LANES, x[r], 2 * o), c = (V)__shfl_down_sync(ALL_LANES, x[r], 3 * o);
            x[r] = Op::apply(Op::apply(x[r], a), Op::apply(b, c));
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) x[r] = (V)__shfl_sync(ALL_LANES, x[r], 0);
}

/* Every row: x0 op x1 op ... op x31, as a balanced tree, in every lane. Rows side by side, so that their shuffles overlap. */
template <class Op, int ROWS, class V> static __device__ __forceinline__ void warp_fold_rows(V (&x)[ROWS]) {
    if constexpr (Op::HAS_INSTRUCTION) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) x[r] = fold_by_instruction(Op(), x[r]);
    } else if constexpr (Op::ANY_ORDER) {
#pragma unroll
        for (int o = 1; o < 32; o *= 2) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) x[r] = Op::apply(x[r], (V)__shfl_xor_sync(ALL_LANES, x[r], o));
        }
    } else {
        fold_rows_in_order<Op>(x);
    }
}

/* Lane i of every row, i < LANES: x0 op ... op xi of that row. */
template <class Op, int LANES = 32, int ROWS, class V> static __device__ __forceinline__ void warp_scan_rows(V (&x)[ROWS], int lane) {
#pragma unroll
    for (int o = 1; o < LANES; o *= 2) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const V left = (V)__shfl_up_sync(ALL_LANES, x[r], o);
            if (lane >= o) x[r] = Op::apply(left, x[r]);
        }
    }
}

/* The same results, two steps at a time: three trips from lane to lane after one another instead of five, but seven shuffles. */
template <class Op, int ROWS, class V> static __device__ __forceinline__ void warp_scan_rows_by_fours(V (&x)[ROWS], int lane) {
    const V none = (V)Neutral<Op>::value();
#pragma unroll
    for (int o = 1; o < 16; o *= 4) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const V a = (V)__shfl_up_sync(ALL_LANES, x[r], 3 * o), b = (V)__shfl_up_sync(ALL_LANES, x[r], 2 * o);
            const V c = (V)__shfl_up_sync(ALL_LANES, x[r], o);
            x[r] = Op::apply(Op::apply(lane >= 3 * o ? a : none, lane >= 2 * o ? b : none), Op::apply(lane >= o ? c : none, x[r]));
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const V left = (V)__shfl_up_sync(ALL_LANES, x[r], 16);
        if (lane >= 16) x[r] = Op::apply(left, x[r]);
    }
}

/* Of up to LANES parts, one a lane (and from there on neutral ones): those before part i, i < LANES, and all. In every lane. */
template <class V> struct Parts { V before, all; };

template <class Op, int LANES = 32, class V> static __device__ __forceinline__ Parts<V> fold_parts(V part, int i, int lane) {
    if constexpr (Op::HAS_INSTRUCTION) {
        V fold[2] = {lane < i ? part : (V)Neutral<Op>::value(), part};
        warp_fold_rows<Op>(fold);
        return {fold[0], fold[1]};
    } else {
        V x[1] = {part};
        warp_scan_rows<Op, LANES>(x, lane);
        const V before = (V)__shfl_sync(ALL_LANES, x[0], i == 0 ? 0 : i - 1);
        return {i == 0 ? (V)Neutral<Op>::value() : before, (V)__shfl_sync(ALL_LANES, x[0], LANES - 1)};
    }
}

/* Counts of 16 bits, rows 2i and 2i + 1 in one register: the sum over all rows and lanes. */
template <int PAIRS> static __device__ __forceinline__ uint32_t sum_packed_rows(const uint32_t (&row)[PAIRS]) {
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < PAIRS; i++) sum += (row[i] & 0xFFFF) + (row[i] >> 16);
    return sum_warp(sum);
}

/* row: this lane's counts of all rows; becomes those of the whole rows, and `before` those of the lanes before this one. Returns the sum
 * over all rows. */
template <int PAIRS>
static __device__ __forceinline__ uint32_t scan_packed_rows(uint32_t (&before)[PAIRS], uint32_t (&row)[PAIRS], int lane) {
    uint32_t total = 0;
#pragma unroll
    for (int i = 0; i < PAIRS; i++) before[i] = row[i];
    warp_scan_rows<Add<uint32_t>>(row, lane);
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        before[i] = row[i] - before[i];
        row[i] = __shfl_sync(ALL_LANES, row[i], 31);
        total += (row[i] & 0xFFFF) + (row[i] >> 16);
    }
    return total;
}

/* Sums up to and with each lane. The shuffle itself tells the lanes that have nobody to add. */
static __device__ __forceinline__ uint32_t scan_lanes(uint32_t x) {
#pragma unroll
    for (int o = 1; o < 32; o *= 2)
        asm volatile("{\n.reg .pred p;\n.reg .u32 left;\n"
                     "shfl.sync.up.b32 left|p, %0, %1, 0, -1;\n"
                     "@p add.u32 %0, %0, left;\n}"
                     : "+r"(x)
                     : "r"(o));
    return x;
}

#endif
