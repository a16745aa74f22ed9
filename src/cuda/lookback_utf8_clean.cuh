/* lookback_utf8_clean.cuh: UTF-8 to well-formed UTF-8 as a policy of the look-back pass: a compaction in which each byte of a well-formed
 * sequence is kept, and an ill-formed one becomes three bytes, or none.
 *
 * As in lookback_utf8_decode.cuh, but that a byte is kept where it lies, not where its sequence ends: whether it is depends on up to three
 * bytes after it. So a lane owns 24 bytes of its window of 32, those from the fifth on, and 16 bytes after the tile are needed too. A row
 * without ill-formed sequences leaves as it came. Cost: every byte in once, out once. */
#ifndef UPSWEEP_CUDA_LOOKBACK_UTF8_CLEAN_CUH
#define UPSWEEP_CUDA_LOOKBACK_UTF8_CLEAN_CUH

#include "lookback.cuh"
#include "utf8_stage.cuh"

struct LookbackUtf8Clean {
    typedef Utf8Args Args;
    typedef unsigned long long Value;
    typedef UntilCut Op;
    enum { THREADS = UTF8_DECODE_THREADS, CTAS = UTF8_DECODE_CTAS, ROWS = UTF8_DECODE_ROWS, WORD_NBYTES = 8, IN_NBYTES = 1 };
    enum {
        OWNED = 24,
        ROW_ITEMS = 32 * OWNED,
        WARP_ITEMS = ROWS * ROW_ITEMS,
        TILE_ITEMS = THREADS / 32 * WARP_ITEMS,
        PAIRS = (ROWS + 1) / 2,
        MOST = 3 /* bytes that one can become */
    };
    enum : uint32_t { OWNED_BITS = 0x0FFFFFF0 };
    struct Shared {
        alignas(16) unsigned char text[16 + TILE_ITEMS + 32]; /* the tile from 16 on */
        alignas(16) unsigned char stage[THREADS / 32][16 + MOST * ROW_ITEMS + 32];
        Utf8Found found;
    };

    uint32_t kept[ROWS], bad[ROWS]; /* bits of the window: bytes that are kept; ends of what becomes U+FFFD */
    uint32_t before[PAIRS];         /* bytes of output of the row before this window: rows 2i and 2i + 1 in 16 bits each */
    uint32_t row[PAIRS];            /* bytes of output of the row */
    uint32_t whole;                 /* a bit a row: all its bytes are kept */

    static __device__ __forceinline__ Value carry_in(const Args &) { return 0; }
    static __device__ __forceinline__ uint64_t first_of(uint32_t tile) { return (uint64_t)tile * TILE_ITEMS; }
    /* Where a window begins in a tile. */
    static __device__ __forceinline__ int offset_of(int warp, int r, int lane) {
        return warp * WARP_ITEMS + r * ROW_ITEMS + lane * OWNED - 4;
    }

    static __device__ __forceinline__ void load_window(uint32_t (&word)[UTF8_WINDOW_WORDS], const Shared &s, int warp, int r, int lane) {
        const uint32_t *from = (const uint32_t *)(s.text + 16 + offset_of(warp, r, lane));
#pragma unroll
        for (int i = 0; i < UTF8_WINDOW_WORDS; i++) word[i] = from[i];
    }

    __device__ __forceinline__ Value reduce(const Args &args, uint32_t tile, Shared &s, int warp, int lane) {
        const bool inner = is_inner_tile(args, first_of(tile), TILE_ITEMS);
        const TextSpan span = inner ? UTF8_EVERYWHERE : whole_span(args);
        stage_text<THREADS, TILE_ITEMS / 16 + 2>(s.text, args, (int64_t)first_of(tile) - 16, span.end, inner);
        if (threadIdx.x == 0) s.found = utf8_found_none();
        __syncthreads(); /* the text is there */
        Utf8Found found = utf8_found_none();
        bool is_cut = false;
        whole = 0;
#pragma unroll
        for (int i = 0; i < PAIRS; i++) row[i] = 0;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            reduce_row(args, s, span, first_of(tile), r, warp, lane, inner, is_cut, found);
            row[r / 2] += (uint32_t)(__popc(kept[r]) + MOST * __popc(bad[r])) << r % 2 * 16;
        }
        add_findings(s.found, found, lane);
        return scan_packed_rows(before, row, lane) | (is_cut ? UTF8_CUT : 0);
    }

    /* Sets kept and bad of a row. */
    __device__ __forceinline__ void reduce_row(const Args &args, const Shared &s, TextSpan span, uint64_t first, int r, int warp, int lane,
                                               bool inner, bool &is_cut, Utf8Found &found) {
        uint32_t word[UTF8_WINDOW_WORDS];
        load_window(word, s, warp, r, lane);
        const Utf8Classes classes = classes_of(planes_of(word));
        bad[r] = 0;
        kept[r] = OWNED_BITS;
        if (inner && !is_cut && __all_sync(ALL_LANES, is_good(classes))) {
            whole |= 1u << r;
            return;
        }
        const Utf8Ends ends = find_ends(classes);
        const int offset = offset_of(warp, r, lane);
        const uint32_t owned = inner ? OWNED_BITS : OWNED_BITS & window_bits(first + (uint64_t)(int64_t)offset, span);
        const uint32_t four = ends.of_4 | ends.of_4 >> 1, three = ends.of_3 | ends.of_3 >> 1;
        const uint32_t ends_bad = ends.bad & owned;
        kept[r] = (~classes.high | ends.of_2 | ends.of_2 >> 1 | three | three >> 1 | four | four >> 2) & owned;
        if (args.replace) bad[r] = ends_bad;
        if (__any_sync(ALL_LANES, ends_bad != 0)) take_bad(found, ends, ends_bad, offset);
        if (args.strict) is_cut = cut_row(kept[r], ends_bad, is_cut, lane);
    }

    __device__ __forceinline__ void finish(const Args &args, uint32_t tile, Scanned<Value> scanned, Shared &s, int warp, int lane) {
        unsigned long long arrived = 0;
        if (threadIdx.x == 0)
            arrived = hand_in(args, first_of(tile), tile, s.found, scanned.prefix, Op::apply(scanned.prefix, scanned.aggregate));
        uint64_t at = Op::apply(scanned.prefix, scanned.before);
        if (args.out != nullptr && !(at & UTF8_CUT)) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const uint32_t nbytes = row[r / 2] >> r % 2 * 16 & 0xFFFF;
                write_row(args, s, r, at, at < args.capacity ? (uint32_t)min((uint64_t)nbytes, args.capacity - at) : 0, warp, lane);
                at += nbytes;
            }
        }
        if (threadIdx.x == 0) conclude(args, arrived);
    }

    /* The bytes of row r to out [at .. at + nbytes). */
    __device__ __forceinline__ void write_row(const Args &args, Shared &s, int r, uint64_t at, uint32_t nbytes, int warp, int lane) const {
        const unsigned char *from = s.text + 16 + offset_of(warp, r, 0) + 4;
        if (!(whole >> r & 1)) {
            unsigned char *stage = s.stage[warp] + 16;
            stage_bytes(s, r, stage + (before[r / 2] >> r % 2 * 16 & 0xFFFF), warp, lane);
            from = stage;
            __syncwarp(); /* the bytes are there */
        }
        store_bytes(args.out + at, from, nbytes, lane);
        __syncwarp(); /* they have been read */
    }

    __device__ __forceinline__ void stage_bytes(const Shared &s, int r, unsigned char *to, int warp, int lane) const {
        uint32_t word[UTF8_WINDOW_WORDS];
        load_window(word, s, warp, r, lane);
#pragma unroll
        for (int i = 4; i < 4 + OWNED; i++) {
            if (kept[r] >> i & 1) *to++ = (unsigned char)(word[i / 4] >> i % 4 * 8);
            if (bad[r] >> i & 1) {
                to[0] = 0xEF;
                to[1] = 0xBF;
                to[2] = 0xBD;
                to += MOST;
            }
        }
    }
};

#endif
