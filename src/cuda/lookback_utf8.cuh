/* lookback_utf8.cuh: what policies of the look-back pass over text have in common: how a tile is divided into rows, and the report.
 *
 *   tile       a row of ROW_ITEMS code units at a time for each warp, ROWS of them
 *   rank       units of output before each lane's part of each row
 *   REPORTER   one thread hands in what the tile has found: of the last warp, which has no text if there is little */
#ifndef UPSWEEP_CUDA_LOOKBACK_UTF8_CUH
#define UPSWEEP_CUDA_LOOKBACK_UTF8_CUH

#include "lookback.cuh"
#include "utf8_stage.cuh"

/* Shape: of tuning.h. */
template <int N_ROW_ITEMS, class Shape> struct LookbackUtf8 {
    typedef Utf8Args Args;
    typedef unsigned long long Value;
    typedef UntilCut Op;
    typedef Value Part;
    typedef Op PartOp;
    static constexpr bool COUNTS = true;
    enum { THREADS = Shape::THREADS, CTAS = Shape::CTAS, ROWS = Shape::ROWS, PAIRS = (ROWS + 1) / 2, WORD_NBYTES = sizeof(Value) };
    enum { ROW_ITEMS = N_ROW_ITEMS, WARP_ITEMS = ROWS * ROW_ITEMS, TILE_ITEMS = THREADS / 32 * WARP_ITEMS, REPORTER = THREADS - 32 };

    uint32_t before[PAIRS]; /* units of the row before this lane's: rows 2i and 2i + 1 in 16 bits each */
    uint32_t row[PAIRS];    /* units of the row */

    static __device__ __forceinline__ bool overwrites_aside(const Args &) { return false; }
    static __device__ __forceinline__ Value carry_in(const Args &) { return 0; }
    static __device__ __forceinline__ uint64_t first_of(uint32_t tile) { return (uint64_t)tile * TILE_ITEMS; }
    __device__ __forceinline__ void rank(int lane) { scan_packed_rows(before, row, lane); }

    /* By all threads: what conclude() wants at the end, of the reporter. */
    static __device__ __forceinline__ unsigned long long report(const Args &args, uint32_t tile, const Utf8Found &found,
                                                                const Scanned<Value> &scanned) {
        if (threadIdx.x != REPORTER) return 0;
        return hand_in(args, first_of(tile), tile, found, scanned.prefix, Op::apply(scanned.prefix, scanned.aggregate));
    }
};

#endif
