/* lookback_utf8_windows.cuh: what decoding and cleaning of UTF-8 by the look-back pass have in common.
 *
 *   tile       its bytes, and 16 before it, lie in shared memory; the text's address is rounded down to 16 bytes: all is aligned
 *   row        32 windows: each lane looks at 32 bytes and owns N_OWNED of them; the next lane's window begins that much further on, so no
 *              lane asks another
 *   reduce     what becomes of the bytes of each window, as bits that the policy keeps; how many units that is, and what is ill-formed
 *   finish     the units of each row to the output, and the report
 *
 * A policy P derives from this and supplies
 *   OWNED_BITS of a window; HALO_VECTORS: of 16 bytes, before and behind a tile together; Shared, with text (the tile from 16 on) and found
 *   begin(), before its rows; reduce_row(): looks at a row, and returns the units of this lane's window
 *   write_row(): the units of a row to the output, as far as there is room
 * Positions before or behind the text read as zero: ASCII that nobody owns. */
#ifndef UPSWEEP_CUDA_LOOKBACK_UTF8_WINDOWS_CUH
#define UPSWEEP_CUDA_LOOKBACK_UTF8_WINDOWS_CUH

#include "lookback_utf8.cuh"

/* Notes the ill-formed sequences of a window that begins `offset` bytes after its tile. */
static __device__ __forceinline__ void take_bad(Utf8Found &found, const Utf8Ends &ends, uint32_t bad, int offset) {
    if (bad == 0) return;
    const uint32_t first = bad & (0 - bad);
    const int at = __ffs((int)bad) - 1 - ((first & ends.bad_2) != 0) - ((first & ends.bad_3) != 0);
    found.sequences += (uint32_t)__popc(bad);
    found.units += (uint32_t)(__popc(bad) + __popc(bad & ends.bad_2) + __popc(bad & ends.bad_3));
    found.first = min(found.first, (uint32_t)(UTF8_PLACE_ZERO + offset + at));
}

/* Shape: of tuning.h; ROWS of 32 windows a warp. */
template <class P, int N_OWNED, class Shape> struct LookbackUtf8Windows : LookbackUtf8<32 * N_OWNED, Shape> {
    typedef LookbackUtf8<32 * N_OWNED, Shape> Base;
    using Base::THREADS, Base::ROWS, Base::PAIRS, Base::ROW_ITEMS, Base::WARP_ITEMS, Base::TILE_ITEMS, Base::before, Base::row,
        Base::first_of;
    using typename Base::Args, typename Base::Value, typename Base::Op;
    enum { OWNED = N_OWNED, IN_NBYTES = 1 };

    /* Where a window begins in a tile. */
    static __device__ __forceinline__ int offset_of(int warp, int r, int lane) {
        return warp * WARP_ITEMS + r * ROW_ITEMS + lane * OWNED - 4;
    }
    __device__ __forceinline__ uint32_t units_before(int r) const { return before[r / 2] >> r % 2 * 16 & 0xFFFF; }
    __device__ __forceinline__ uint32_t units_of(int r) const { return row[r / 2] >> r % 2 * 16 & 0xFFFF; }
    __device__ __forceinline__ P &policy() { return *static_cast<P *>(this); }

    template <class S>
    static __device__ __forceinline__ void load_window(uint32_t (&word)[UTF8_WINDOW_WORDS], const S &s, int warp, int r, int lane) {
        const uint32_t *from = (const uint32_t *)(s.text + 16 + offset_of(warp, r, lane));
#pragma unroll
        for (int i = 0; i < UTF8_WINDOW_WORDS; i++) word[i] = from[i];
    }

    /* Does all that a row looks at lie in the text? */
    static __device__ __forceinline__ bool is_inner_row(uint64_t first, int warp, int r, const TextSpan &span, bool inner) {
        const int64_t at = (int64_t)first + offset_of(warp, r, 0);
        return inner || (at >= (int64_t)span.first && at + ROW_ITEMS + UTF8_WINDOW_NBYTES <= (int64_t)span.end);
    }

    /* The owned bits of a window that lie in the text. */
    static __device__ __forceinline__ uint32_t owned_bits(uint64_t first, int offset, const TextSpan &span, bool inner) {
        return inner ? P::OWNED_BITS : P::OWNED_BITS & window_bits(first + (uint64_t)(int64_t)offset, span);
    }

    template <class S> __device__ __forceinline__ Value reduce(const Args &args, uint32_t tile, S &s, int warp, int lane) {
        const bool inner = is_inner_tile(args, first_of(tile), TILE_ITEMS);
        const TextSpan span = inner ? UTF8_EVERYWHERE : whole_span(args);
        stage_text<THREADS, TILE_ITEMS / 16 + P::HALO_VECTORS>(s.text, args, (int64_t)first_of(tile) - 16, span.end, inner);
        if (threadIdx.x == 0) s.found = utf8_found_none();
        __syncthreads(); /* the text is there */
        Utf8Found found = utf8_found_none();
        bool is_cut = false;
        policy().begin();
#pragma unroll
        for (int i = 0; i < PAIRS; i++) row[i] = 0;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const bool inner_row = is_inner_row(first_of(tile), warp, r, span, inner);
            row[r / 2] += policy().reduce_row(args, s, span, first_of(tile), r, warp, lane, inner_row, is_cut, found) << r % 2 * 16;
        }
        add_findings(s.found, found, lane);
        return sum_packed_rows(row) | (is_cut ? UTF8_CUT : 0);
    }

    template <class S>
    __device__ __forceinline__ void finish(const Args &args, uint32_t tile, Scanned<Value> scanned, S &s, int warp, int lane) {
        const unsigned long long arrived = Base::report(args, tile, s.found, scanned);
        uint64_t at = Op::apply(scanned.prefix, scanned.before);
        if (args.out != nullptr && !(at & UTF8_CUT)) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const uint32_t nunits = units_of(r), room = at < args.capacity ? (uint32_t)min((uint64_t)nunits, args.capacity - at) : 0;
                policy().write_row(args, s, first_of(tile), r, at, room, warp, lane);
                at += nunits;
            }
        }
        if (threadIdx.x == Base::REPORTER) conclude(args, arrived);
    }
};

#endif
