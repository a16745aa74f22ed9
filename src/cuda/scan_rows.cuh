/* scan_rows.cuh: what both passes do within a warp's part of a tile when they scan.
 *
 *   a row     32 vectors of 16 bytes, one a lane: every access covers 512 bytes
 *   a vector  x0 x1 x2 x3      folded in the lane; the folds of a row scanned over the lanes by shuffles, all rows at once
 *   then                       a second, serial fold through the vector, from its prefix, gives the results
 *
 * Two operations an element and no shared memory. Order of combination: vector, row, rows. */
#ifndef UPSWEEP_CUDA_SCAN_ROWS_CUH
#define UPSWEEP_CUDA_SCAN_ROWS_CUH

#include "scan_bytes.cuh"
#include "vector.cuh"

template <class Op, class T, int VEC> static __device__ __forceinline__ T fold_vector(uint4 data) {
    const Vector<T, VEC> v = unpack<T, VEC>(data);
    T x = v.item[0];
#pragma unroll
    for (int i = 1; i < VEC; i++) x = Op::apply(x, v.item[i]);
    return x;
}

template <class Op, class T, int VEC, int ROWS>
static __device__ __forceinline__ void fold_vectors(const uint4 (&data)[ROWS], T (&folds)[ROWS]) {
    if constexpr (!Halves<Op>::EXIST) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) folds[r] = fold_vector<Op, T, VEC>(data[r]);
    }
}

/* All rows, over the whole warp, in every lane: a lane's part first. folds: for rank_rows(). */
template <class Op, class T, int VEC, int ROWS>
static __device__ __forceinline__ T fold_chunk(const uint4 (&data)[ROWS], T (&folds)[ROWS]) {
    T x[1] = {(T)Neutral<Op>::value()};
    if constexpr (Halves<Op>::EXIST) {
        x[0] = (T)(fold_bytes<Op>(data) >> 24);
    } else {
#pragma unroll
        for (int r = 0; r < ROWS; r++) x[0] = Op::apply(x[0], folds[r] = fold_vector<Op, T, VEC>(data[r]));
    }
    warp_fold_rows<Op>(x);
    return x[0];
}

/* before[r]: the fold of this lane's vector of row r, as fold_chunk() leaves it; becomes that of what comes before it in the part. Returns
 * that of the whole part, in every lane. */
template <class Op, class T, int ROWS>
static __device__ __forceinline__ T rank_rows(const uint4 (&data)[ROWS], T (&before)[ROWS], int lane) {
    if constexpr (Halves<Op>::EXIST) return scan_rows_of_bytes<Op>(data, before, lane);
    T run = (T)Neutral<Op>::value();
    warp_scan_rows<Op>(before, lane);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const T left = (T)__shfl_up_sync(ALL_LANES, before[r], 1), row = (T)__shfl_sync(ALL_LANES, before[r], 31);
        before[r] = lane == 0 ? run : Op::apply(run, left);
        run = Op::apply(run, row);
    }
    return run;
}

/* The same in two steps, if all of a short input waits for what is returned. The first leaves the fold up to each vector of a row. */
template <class Op, class T, int ROWS> static __device__ __forceinline__ T scan_folds_first(T (&x)[ROWS], int lane) {
    warp_scan_rows_by_fours<Op>(x, lane);
    T run = (T)__shfl_sync(ALL_LANES, x[0], 31);
#pragma unroll
    for (int r = 1; r < ROWS; r++) run = Op::apply(run, (T)__shfl_sync(ALL_LANES, x[r], 31));
    return run;
}

template <class Op, class T, int ROWS> static __device__ __forceinline__ void scan_folds_then(T (&x)[ROWS], int lane) {
    T run = (T)Neutral<Op>::value();
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const T left = (T)__shfl_up_sync(ALL_LANES, x[r], 1), row = (T)__shfl_sync(ALL_LANES, x[r], 31);
        x[r] = lane == 0 ? run : r == 0 ? left : Op::apply(run, left);
        run = r == 0 ? row : Op::apply(run, row);
    }
}

/* The same of rows that nothing is known of. */
template <class Op, class T, int VEC, int ROWS>
static __device__ __forceinline__ T scan_rows(const uint4 (&data)[ROWS], T (&before)[ROWS], int lane) {
    fold_vectors<Op, T, VEC>(data, before);
    return rank_rows<Op>(data, before, lane);
}

/* The results of one vector, given all that comes before it. */
template <class Op, class T, int VEC> static __device__ __forceinline__ Vector<T, VEC> scan_vector(uint4 data, T run, bool inclusive) {
    if constexpr (Halves<Op>::EXIST) {
        return unpack<T, VEC>(scan_bytes<Op>(data, (uint8_t)run, inclusive));
    } else {
        Vector<T, VEC> v = unpack<T, VEC>(data);
#pragma unroll
        for (int i = 0; i < VEC; i++) {
            const T next = Op::apply(run, v.item[i]);
            v.item[i] = inclusive ? next : run;
            run = next;
        }
        return v;
    }
}

#endif
