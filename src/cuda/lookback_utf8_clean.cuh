/* lookback_utf8_clean.cuh: UTF-8 to well-formed UTF-8 as a policy of the look-back pass: a compaction in which each byte of a well-formed
 * sequence is kept, and an ill-formed one becomes three bytes, or none.
 *
 * As in lookback_utf8_decode.cuh, but that a byte is kept where it lies, not where its sequence ends: whether it is depends on up to three
 * bytes after it. So a lane owns 24 bytes of its window of 32, those from the fifth on, and 16 bytes after the tile are needed too. A row
 * without ill-formed sequences leaves as it came. Cost: every byte in once, out once. */
#ifndef UPSWEEP_CUDA_LOOKBACK_UTF8_CLEAN_CUH
#define UPSWEEP_CUDA_LOOKBACK_UTF8_CLEAN_CUH

#include "lookback_utf8_windows.cuh"

template <class Shape> struct LookbackUtf8Clean : LookbackUtf8Windows<LookbackUtf8Clean<Shape>, 24, Shape> {
    typedef LookbackUtf8Windows<LookbackUtf8Clean, 24, Shape> Windows;
    typedef Utf8Args Args;
    enum { THREADS = Windows::THREADS, ROWS = Windows::ROWS, OWNED = Windows::OWNED };
    enum { HALO_VECTORS = 2, MOST = 3 /* bytes that one can become */ };
    enum : uint32_t { OWNED_BITS = 0x0FFFFFF0 };
    struct Shared {
        alignas(16) unsigned char text[16 + Windows::TILE_ITEMS + 32]; /* the tile from 16 on */
        alignas(16) unsigned char stage[THREADS / 32][16 + MOST * Windows::ROW_ITEMS + 32];
        Utf8Found found;
    };

    uint32_t kept[ROWS], bad[ROWS]; /* bits of the window: bytes that are kept; ends of what becomes U+FFFD */
    uint32_t whole;                 /* a bit a row: all its bytes are kept */

    __device__ __forceinline__ void begin() { whole = 0; }

    __device__ __forceinline__ uint32_t reduce_row(const Args &args, const Shared &s, TextSpan span, uint64_t first, int r, int warp,
                                                   int lane, bool inner, bool &is_cut, Utf8Found &found) {
        find_kept(args, s, span, first, r, warp, lane, inner, is_cut, found);
        return (uint32_t)(__popc(kept[r]) + MOST * __popc(bad[r]));
    }

    /* Sets kept and bad of a row. */
    __device__ __forceinline__ void find_kept(const Args &args, const Shared &s, TextSpan span, uint64_t first, int r, int warp, int lane,
                                              bool inner, bool &is_cut, Utf8Found &found) {
        uint32_t word[UTF8_WINDOW_WORDS];
        Windows::load_window(word, s, warp, r, lane);
        const Utf8Classes classes = classes_of(planes_of(word));
        bad[r] = 0;
        kept[r] = OWNED_BITS;
        if (inner && !is_cut && __all_sync(ALL_LANES, is_good(classes))) {
            whole |= 1u << r;
            return;
        }
        const Utf8Ends ends = find_ends(classes);
        const int offset = Windows::offset_of(warp, r, lane);
        const uint32_t owned = Windows::owned_bits(first, offset, span, inner);
        const uint32_t four = ends.of_4 | ends.of_4 >> 1, three = ends.of_3 | ends.of_3 >> 1;
        const uint32_t ends_bad = ends.bad & owned;
        kept[r] = (~classes.high | ends.of_2 | ends.of_2 >> 1 | three | three >> 1 | four | four >> 2) & owned;
        if (args.replace) bad[r] = ends_bad;
        if (__any_sync(ALL_LANES, ends_bad != 0)) take_bad(found, ends, ends_bad, offset);
        if (args.strict) is_cut = cut_row(kept[r], ends_bad, is_cut, lane);
    }

    /* The bytes of row r to out [at .. at + nbytes). */
    __device__ __forceinline__ void write_row(const Args &args, Shared &s, uint64_t, int r, uint64_t at, uint32_t nbytes, int warp,
                                              int lane) const {
        const unsigned char *from = s.text + 16 + Windows::offset_of(warp, r, 0) + 4;
        if (!(whole >> r & 1)) {
            unsigned char *stage = s.stage[warp] + 16;
            stage_bytes(s, r, stage + this->units_before(r), warp, lane);
            from = stage;
            __syncwarp(); /* the bytes are there */
        }
        store_bytes(args.out + at, from, nbytes, lane);
        __syncwarp(); /* they have been read */
    }

    __device__ __forceinline__ void stage_bytes(const Shared &s, int r, unsigned char *to, int warp, int lane) const {
        uint32_t word[UTF8_WINDOW_WORDS];
        Windows::load_window(word, s, warp, r, lane);
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
