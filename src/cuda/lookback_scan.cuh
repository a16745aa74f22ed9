/* lookback_scan.cuh: scan as a policy of the look-back pass. A warp scans its part of a tile by scan_rows.cuh, and keeps it in registers
 * while the prefix of the tile is found. Cost: every byte once in, once out; no shared memory for data. */
#ifndef UPSWEEP_CUDA_LOOKBACK_SCAN_CUH
#define UPSWEEP_CUDA_LOOKBACK_SCAN_CUH

#include "lookback.cuh"
#include "scan_rows.cuh"

template <class T> struct ScanArgs {
    T *out;
    const T *in;
    uint64_t n;
    const T *init;
    T *total;
    bool inclusive;
    bool in_aligned, out_aligned; /* to 16 bytes */
};

/* Shape: of tuning.h. */
template <class T, class Operator, class Shape> struct LookbackScan {
    typedef ScanArgs<T> Args;
    typedef T Value;
    typedef Operator Op;
    typedef T Part;
    typedef Operator PartOp;
    static constexpr bool COUNTS = false;
    struct Shared {};
    enum { THREADS = Shape::THREADS, CTAS = Shape::CTAS, ROWS = Shape::ROWS, VEC = 16 / sizeof(T), WORD_NBYTES = sizeof(T) == 8 ? 16 : 8 };
    enum { WARP_ITEMS = ROWS * 32 * VEC, TILE_ITEMS = THREADS / 32 * WARP_ITEMS, IN_NBYTES = sizeof(T) };

    /* A fold that takes an instruction or three is there long before the scan: others need not wait for that. */
    static constexpr bool RANKS_LATER = Op::HAS_INSTRUCTION;

    /* Or else, few warps wait for the scan of each: with more, shuffles would wait for one another. */
    static constexpr bool FOLDS_FIRST = !RANKS_LATER && ROWS == 2 && THREADS <= 128;

    typedef Vector<T, VEC> Vec;
    uint4 data[ROWS];
    T before[ROWS]; /* of the vector, in the warp's part; until rank(), what that needs */

    static __device__ __forceinline__ bool overwrites_aside(const Args &args) { return args.init != nullptr && args.init == args.total; }
    static __device__ __forceinline__ T carry_in(const Args &args) { return args.init != nullptr ? *args.init : Op::identity(); }

    static __device__ __forceinline__ uint64_t first_of(uint32_t tile, int warp, int row, int lane) {
        return (uint64_t)tile * TILE_ITEMS + (unsigned)(warp * WARP_ITEMS + (row * 32 + lane) * VEC);
    }

    __device__ __forceinline__ T reduce(const Args &args, uint32_t tile, Shared &, int warp, int lane) {
        put_cut(data, load_rows<T, VEC>(data, args.in, first_of(tile, warp, 0, lane), args.n, args.in_aligned, (T)Neutral<Op>::value()));
        if constexpr (RANKS_LATER) {
            return fold_chunk<Op, T, VEC>(data, before);
        } else if constexpr (FOLDS_FIRST) {
            fold_vectors<Op, T, VEC>(data, before);
            return scan_folds_first<Op>(before, lane);
        } else {
            return scan_rows<Op, T, VEC>(data, before, lane);
        }
    }

    __device__ __forceinline__ void rank(int lane) {
        if constexpr (RANKS_LATER) rank_rows<Op>(data, before, lane);
        if constexpr (FOLDS_FIRST) scan_folds_then<Op>(before, lane);
    }

    /* All of the tile is output, and aligned: with many rows, so decided once a tile. With a few, one way for all is less code. */
    static __device__ __forceinline__ bool is_whole(const Args &args, uint32_t tile) {
        return ROWS > 2 && args.out_aligned && (tile + (uint64_t)1) * TILE_ITEMS <= args.n;
    }

    __device__ __forceinline__ void finish(const Args &args, uint32_t tile, Scanned<T> scanned, Shared &, int warp, int lane) {
        finish_from(args, tile, Op::apply(scanned.prefix, scanned.before), warp, lane);
    }

    /* start: what comes before this warp's part. */
    __device__ __forceinline__ void finish_from(const Args &args, uint32_t tile, T start, int warp, int lane) {
        if (is_whole(args, tile)) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) __stcs((uint4 *)(args.out + first_of(tile, warp, r, lane)), result(r, start, args.inclusive));
        } else if (CUT_COMES_LAST && args.out_aligned) {
            store_cut_last(args, tile, start, warp, lane);
        } else {
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                store_vector<T, VEC>(args.out, first_of(tile, warp, r, lane), args.n, args.out_aligned, result(r, start, args.inclusive));
        }
        if (args.total != nullptr && (tile + (uint64_t)1) * TILE_ITEMS >= args.n) store_total(args, tile, start, warp, lane);
    }

    /* What stores a vector that the end cuts may have to be fetched, and no other row is to wait for that. (Smaller elements do not gain by
     * it, and sums of u32 would take 2 % longer.) */
    static constexpr bool CUT_COMES_LAST = ROWS > 1 && sizeof(T) == 8;

    __device__ __forceinline__ void store_cut_last(const Args &args, uint32_t tile, T start, int warp, int lane) {
        uint4 cut = {0, 0, 0, 0};
        bool has_cut = false;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const uint64_t at = first_of(tile, warp, r, lane);
            const uint4 v = result(r, start, args.inclusive);
            if (at + VEC <= args.n)
                __stcs((uint4 *)(args.out + at), v);
            else if (at < args.n)
                cut = v, has_cut = true;
        }
        const uint32_t last = (uint32_t)(args.n % VEC);
        if (has_cut) store_head(args.out + (args.n - last), last * (uint32_t)sizeof(T), cut);
    }

    __device__ __forceinline__ uint4 result(int r, T start, bool inclusive) const {
        return pack(scan_vector<Op, T, VEC>(data[r], Op::apply(start, before[r]), inclusive));
    }

    /* In the last tile: the inclusive result of the last element, by the same expression. */
    __device__ __forceinline__ void store_total(const Args &args, uint32_t tile, T start, int warp, int lane) {
        if (args.n == 0 && threadIdx.x == 0) *args.total = start;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const uint64_t last = args.n - 1 - first_of(tile, warp, r, lane); /* wraps around for vectors past it */
            if (last >= VEC) continue;
            const Vec v = unpack<T, VEC>(result(r, start, true));
            T total = v.item[0];
#pragma unroll
            for (int i = 1; i < VEC; i++) total = i <= (int)last ? v.item[i] : total;
            *args.total = total;
        }
    }
};

#endif
