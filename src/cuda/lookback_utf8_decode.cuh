/* lookback_utf8_decode.cuh: UTF-8 to UTF-32 and UTF-16 as a policy of the look-back pass: a compaction of bytes in which each end of a
 * sequence is kept, and becomes a code unit on its way out.
 *
 *   window     32 bytes, of which 28 are owned (lookback_utf8_windows.cuh)
 *   ends       one bit a byte (utf8_rules.cuh); a sequence of four also gives UTF-16 its high surrogate, where its third byte is
 *   quads      at each end, the four bytes up to it go side by side to shared memory, U+FFFD's for ill-formed sequences (utf8_quads.cuh)
 *   units      from there four at a time, decoded and stored in aligned vectors. ASCII goes straight from the tile to here.
 *
 * A window's owned bytes begin 3 bytes after it does, and it begins at a multiple of 4: so a tile owns the bytes from one before its first
 * to the one before its last, and needs none that come after it. Cost: every byte in once, every unit out once. */
#ifndef UPSWEEP_CUDA_LOOKBACK_UTF8_DECODE_CUH
#define UPSWEEP_CUDA_LOOKBACK_UTF8_DECODE_CUH

#include "lookback_utf8_windows.cuh"
#include "utf8_quads.cuh"

/* U: the units of the output. */
template <class U, class Shape> struct LookbackUtf8Decode : LookbackUtf8Windows<LookbackUtf8Decode<U, Shape>, WINDOW_OWNED, Shape> {
    typedef LookbackUtf8Windows<LookbackUtf8Decode, WINDOW_OWNED, Shape> Windows;
    typedef Utf8Args Args;
    typedef typename U::Unit Unit;
    enum { THREADS = Windows::THREADS, ROWS = Windows::ROWS, ROW_ITEMS = Windows::ROW_ITEMS, HALO_VECTORS = 1 };
    enum : uint32_t { OWNED_BITS = WINDOW_OWNED_BITS };
    struct Shared {
        alignas(16) unsigned char text[16 + Windows::TILE_ITEMS + 144]; /* the tile from 16 on; what is behind it is read, and not used */
        alignas(16) uint32_t quads[THREADS / 32][ROW_ITEMS + 8];
        Utf8Found found;
    };

    uint32_t emit[ROWS], bad[ROWS]; /* bits of the window: where units go out; where those are U+FFFD */
    uint32_t ascii;                 /* a bit a row: all of it is ASCII, and text */

    __device__ __forceinline__ void begin() { ascii = 0; }

    __device__ __forceinline__ uint32_t reduce_row(const Args &args, const Shared &s, TextSpan span, uint64_t first, int r, int warp,
                                                   int lane, bool inner, bool &is_cut, Utf8Found &found) {
        find_emit(args, s, span, first, r, warp, lane, inner, is_cut, found);
        return (uint32_t)__popc(emit[r]);
    }

    /* Sets emit and bad of a row. */
    __device__ __forceinline__ void find_emit(const Args &args, const Shared &s, TextSpan span, uint64_t first, int r, int warp, int lane,
                                              bool inner, bool &is_cut, Utf8Found &found) {
        uint32_t word[UTF8_WINDOW_WORDS];
        Windows::load_window(word, s, warp, r, lane);
        bad[r] = 0;
        emit[r] = is_cut ? 0 : OWNED_BITS;
        const uint32_t any = word[0] | word[1] | word[2] | word[3] | word[4] | word[5] | word[6] | word[7];
        if (inner && !__any_sync(ALL_LANES, (any & 0x80808080) != 0)) {
            ascii |= (is_cut ? 0u : 1u) << r;
            return;
        }
        const Utf8Classes classes = classes_of(planes_of(word));
        if (inner && !is_cut && __all_sync(ALL_LANES, is_good(classes))) {
            const Utf8Ends good = find_good_ends(classes);
            emit[r] = (good.all | (sizeof(Unit) == 2 ? good.of_4 >> 1 : 0)) & OWNED_BITS;
            return;
        }
        const Utf8Ends ends = find_ends(classes);
        const int offset = Windows::offset_of(warp, r, lane);
        const uint32_t owned = Windows::owned_bits(first, offset, span, inner);
        const uint32_t ends_bad = ends.bad & owned;
        emit[r] = (ends.all & (args.replace ? ~0u : ~ends.bad) | (sizeof(Unit) == 2 ? ends.of_4 >> 1 : 0)) & owned;
        if (args.replace) bad[r] = ends_bad;
        if (__any_sync(ALL_LANES, ends_bad != 0)) take_bad(found, ends, ends_bad, offset);
        if (args.strict) is_cut = cut_row(emit[r], ends_bad, is_cut, lane);
    }

    /* Units of row r to out [at .. at + nunits). */
    __device__ __forceinline__ void write_row(const Args &args, Shared &s, uint64_t first, int r, uint64_t at, uint32_t nunits, int warp,
                                              int lane) const {
        Unit *const to = (Unit *)args.out + at;
        const unsigned begin = (unsigned)((uintptr_t)to % 16 / sizeof(Unit)), end = begin + nunits;
        if (ascii >> r & 1) {
            AsciiRun<ROW_ITEMS> run;
            run.load(s.text + 16 + Windows::offset_of(warp, r, 0) + WINDOW_BEFORE, begin, lane);
            run.template store<U>(to - begin, begin, end, args.swap, lane);
        } else {
            stage_row(s, r, s.quads[warp] + begin, warp, lane);
            __syncwarp(); /* the quads are there */
            store_units<U, StagedQuads<U, QUADS_UP_TO_4>>(to - begin, s.quads[warp], begin, end, args.swap, opaque_one(), lane);
        }
        __syncwarp(); /* they have been read */
        if (sizeof(Unit) == 4 && args.map != nullptr) write_map(args, s, first, r, at, warp, lane);
    }

    __device__ __forceinline__ void stage_row(const Shared &s, int r, uint32_t *quads, int warp, int lane) const {
        uint32_t word[UTF8_WINDOW_WORDS];
        Windows::load_window(word, s, warp, r, lane);
        if (__any_sync(ALL_LANES, bad[r] != 0))
            stage_quads<true>(quads + this->units_before(r), word, emit[r], bad[r]);
        else
            stage_quads<false>(quads + this->units_before(r), word, emit[r], 0);
    }

    /* Where each code point of row r begins in the text. */
    __device__ void write_map(const Args &args, const Shared &s, uint64_t first, int r, uint64_t at, int warp, int lane) const {
        uint32_t word[UTF8_WINDOW_WORDS];
        Windows::load_window(word, s, warp, r, lane);
        const Utf8Ends ends = find_ends(classes_of(planes_of(word)));
        const uint32_t two = ends.of_2 | ends.of_3 | ends.of_4 | ends.bad_2, three = ends.of_3 | ends.of_4 | ends.bad_3; /* or more bytes */
        const uint64_t window = args.map_base + first + (uint64_t)(int64_t)Windows::offset_of(warp, r, lane);
        at += this->units_before(r);
        for (uint32_t left = emit[r]; left != 0 && at < args.capacity; left &= left - 1, at++) {
            const int end = __ffs((int)left) - 1;
            args.map[at] = window + (uint32_t)end - (two >> end & 1) - (three >> end & 1) - (ends.of_4 >> end & 1);
        }
    }
};

#endif
