/* lookback_scan.cuh: scan as a policy of the look-back pass.
 *
 *   a warp's part of a tile    ROWS rows of 32 vectors of 16 bytes, one a lane: every access covers 512 bytes in a row
 *   a vector  x0 x1 x2 x3      folded in the lane; the folds of a row scanned over the lanes by shuffles, all rows at once
 *   then                       a second, serial fold through the vector, from its prefix, gives the results
 *
 * Cost: every byte once in, once out; no shared memory for data. Order of combination: vector, row, rows, warps, tiles (lookback.cuh). */
#ifndef UPSWEEP_CUDA_LOOKBACK_SCAN_CUH
#define UPSWEEP_CUDA_LOOKBACK_SCAN_CUH

#include "lookback.cuh"

template <class T> struct ScanArgs {
    T *out;
    const T *in;
    uint64_t n;
    const T *init;
    T *total;
    bool inclusive;
    bool in_aligned, out_aligned; /* to 16 bytes */
};

template <class T, class Operator> struct LookbackScan {
    typedef ScanArgs<T> Args;
    typedef T Value;
    typedef Operator Op;
    struct Shared {};
    enum { THREADS = SCAN_THREADS, CTAS = SCAN_CTAS, ROWS = SCAN_ROWS, VEC = 16 / sizeof(T), WORD_NBYTES = sizeof(T) == 8 ? 16 : 8 };
    enum { WARP_ITEMS = ROWS * 32 * VEC, TILE_ITEMS = THREADS / 32 * WARP_ITEMS };

    typedef Vector<T, VEC> Vec;
    uint4 data[ROWS];
    T before[ROWS]; /* of the vector, in the warp's part */

    static __device__ __forceinline__ T neutral() { return (T)Neutral<Op>::value(); }
    static __device__ __forceinline__ T carry_in(const Args &args) { return args.init != nullptr ? *args.init : Op::identity(); }

    static __device__ __forceinline__ uint64_t first_of(uint32_t tile, int warp, int row, int lane) {
        return (uint64_t)tile * TILE_ITEMS + (unsigned)(warp * WARP_ITEMS + (row * 32 + lane) * VEC);
    }

    __device__ __forceinline__ T reduce(const Args &args, uint32_t tile, int warp, int lane) {
        T x[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            data[r] = load_packed<T, VEC>(args.in, first_of(tile, warp, r, lane), args.n, args.in_aligned, neutral());
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const Vec v = unpack<T, VEC>(data[r]);
            x[r] = v.item[0];
#pragma unroll
            for (int i = 1; i < VEC; i++) x[r] = Op::apply(x[r], v.item[i]);
        }
        warp_scan_rows<Op>(x, lane);
        T run = neutral();
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const T left = (T)__shfl_up_sync(ALL_LANES, x[r], 1);
            before[r] = lane == 0 ? run : Op::apply(run, left);
            run = Op::apply(run, (T)__shfl_sync(ALL_LANES, x[r], 31));
        }
        return run;
    }

    __device__ __forceinline__ void finish(const Args &args, uint32_t tile, Scanned<T> scanned, Shared &, int warp, int lane) {
        const T start = Op::apply(scanned.prefix, scanned.before);
        if (args.n == 0) { /* nothing but a carry to hand on */
            if (threadIdx.x == 0 && args.total != nullptr) *args.total = scanned.prefix;
            return;
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const uint64_t first = first_of(tile, warp, r, lane);
            Vec v = unpack<T, VEC>(data[r]);
            T run = Op::apply(start, before[r]);
            if (args.n - 1 - first < VEC && args.total != nullptr) *args.total = fold_up_to((int)(args.n - 1 - first), run, v);
#pragma unroll
            for (int i = 0; i < VEC; i++) {
                const T next = Op::apply(run, v.item[i]);
                v.item[i] = args.inclusive ? next : run;
                run = next;
            }
            store_vector<T, VEC>(args.out, first, args.n, args.out_aligned, v);
        }
    }

    /* run op x0 op ... op x[last]: the same expression as an inclusive scan's last element. */
    static __device__ __forceinline__ T fold_up_to(int last, T run, const Vec &v) {
#pragma unroll
        for (int i = 0; i < VEC; i++)
            if (i <= last) run = Op::apply(run, v.item[i]);
        return run;
    }
};

#endif
