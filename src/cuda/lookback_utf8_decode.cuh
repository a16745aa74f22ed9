/* lookback_utf8_decode.cuh: UTF-8 to UTF-32 and UTF-16 as a policy of the look-back pass: a compaction of bytes in which each end of a
 * sequence is kept, and becomes a code unit on its way out.
 *
 *   tile       16 bytes before it, and its own, lie in shared memory; the text's address is rounded down to 16 bytes: all is aligned
 *   window     each lane looks at 32 bytes and owns 28 of them, the next lane's window begins 28 bytes further: no lane asks another
 *   ends       one bit a byte (utf8_rules.cuh); a sequence of four also gives UTF-16 its high surrogate, where its third byte is
 *   tails      at each end, the four bytes up to it go side by side to shared memory, U+FFFD's for ill-formed sequences
 *   units      from there 16 bytes at a time, decoded and stored in aligned vectors. ASCII goes straight from the tile to here.
 *
 * A window's owned bytes begin 3 bytes after it does, and it begins at a multiple of 4: so a tile owns the bytes from one before its first
 * to the one before its last, and needs none that come after it. Positions before or behind the text read as zero: ASCII that nobody owns.
 * Cost: every byte in once, every unit out once. */
#ifndef UPSWEEP_CUDA_LOOKBACK_UTF8_DECODE_CUH
#define UPSWEEP_CUDA_LOOKBACK_UTF8_DECODE_CUH

#include "lookback.cuh"
#include "utf8_stage.cuh"

/* UNIT: bytes of a code unit of the output. */
template <int UNIT> struct LookbackUtf8Decode {
    typedef Utf8Args Args;
    typedef unsigned long long Value;
    typedef UntilCut Op;
    enum { THREADS = UTF8_DECODE_THREADS, CTAS = UTF8_DECODE_CTAS, ROWS = UTF8_DECODE_ROWS, WORD_NBYTES = 8, IN_NBYTES = 1 };
    enum {
        OWNED = 28,
        ROW_ITEMS = 32 * OWNED,
        WARP_ITEMS = ROWS * ROW_ITEMS,
        TILE_ITEMS = THREADS / 32 * WARP_ITEMS,
        PAIRS = (ROWS + 1) / 2,
        VEC = 16 / UNIT
    };
    enum : uint32_t { OWNED_BITS = 0x7FFFFFF8 };
    struct Shared {
        alignas(16) unsigned char text[16 + TILE_ITEMS + 16]; /* the tile from 16 on; what is behind it is read, and not used */
        alignas(16) uint32_t tails[THREADS / 32][ROW_ITEMS + 8];
        Utf8Found found;
    };

    uint32_t emit[ROWS], bad[ROWS]; /* bits of the window: where units go out; where those are U+FFFD */
    uint32_t before[PAIRS];         /* units of the row before this window: rows 2i and 2i + 1 in 16 bits each */
    uint32_t row[PAIRS];            /* units of the row */
    uint32_t ascii;                 /* a bit a row: all of it is ASCII, and text */

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
        stage_text<THREADS, TILE_ITEMS / 16 + 1>(s.text, args, (int64_t)first_of(tile) - 16, span.end, inner);
        if (threadIdx.x == 0) s.found = utf8_found_none();
        __syncthreads(); /* the text is there */
        Utf8Found found = utf8_found_none();
        bool is_cut = false;
        ascii = 0;
#pragma unroll
        for (int i = 0; i < PAIRS; i++) row[i] = 0;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            reduce_row(args, s, span, first_of(tile), r, warp, lane, inner, is_cut, found);
            row[r / 2] += (uint32_t)__popc(emit[r]) << r % 2 * 16;
        }
        add_findings(s.found, found, lane);
        return scan_packed_rows(before, row, lane) | (is_cut ? UTF8_CUT : 0);
    }

    /* Sets emit and bad of a row. */
    __device__ __forceinline__ void reduce_row(const Args &args, const Shared &s, TextSpan span, uint64_t first, int r, int warp, int lane,
                                               bool inner, bool &is_cut, Utf8Found &found) {
        uint32_t word[UTF8_WINDOW_WORDS];
        load_window(word, s, warp, r, lane);
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
            emit[r] = (good.all | (UNIT == 2 ? good.of_4 >> 1 : 0)) & OWNED_BITS;
            return;
        }
        const Utf8Ends ends = find_ends(classes);
        const int offset = offset_of(warp, r, lane);
        const uint32_t owned = inner ? OWNED_BITS : OWNED_BITS & window_bits(first + (uint64_t)(int64_t)offset, span);
        const uint32_t ends_bad = ends.bad & owned;
        emit[r] = (ends.all & (args.replace ? ~0u : ~ends.bad) | (UNIT == 2 ? ends.of_4 >> 1 : 0)) & owned;
        if (args.replace) bad[r] = ends_bad;
        if (__any_sync(ALL_LANES, ends_bad != 0)) take_bad(found, ends, ends_bad, offset);
        if (args.strict) is_cut = cut_row(emit[r], ends_bad, is_cut, lane);
    }

    __device__ __forceinline__ void finish(const Args &args, uint32_t tile, Scanned<Value> scanned, Shared &s, int warp, int lane) {
        unsigned long long arrived = 0;
        if (threadIdx.x == 0)
            arrived = hand_in(args, first_of(tile), tile, s.found, scanned.prefix, Op::apply(scanned.prefix, scanned.aggregate));
        uint64_t at = Op::apply(scanned.prefix, scanned.before);
        if (args.out != nullptr && !(at & UTF8_CUT)) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const uint32_t nunits = row[r / 2] >> r % 2 * 16 & 0xFFFF;
                write_row(args, s, r, at, at < args.capacity ? (uint32_t)min((uint64_t)nunits, args.capacity - at) : 0, warp, lane);
                if (UNIT == 4 && args.map != nullptr) write_map(args, s, first_of(tile), r, at, warp, lane);
                at += nunits;
            }
        }
        if (threadIdx.x == 0) conclude(args, arrived);
    }

    /* Units of row r to out [at .. at + nunits). */
    __device__ __forceinline__ void write_row(const Args &args, Shared &s, int r, uint64_t at, uint32_t nunits, int warp, int lane) const {
        unsigned char *out = args.out + at * UNIT;
        const uint32_t skew = (uint32_t)((uintptr_t)out % 16) / UNIT, end = skew + nunits;
        out -= skew * UNIT;
        const bool straight = ascii >> r & 1;
        const unsigned char *text = s.text + 16 + offset_of(warp, r, 0) + 3 - skew;
        uint32_t *tails = s.tails[warp];
        if (!straight) {
            stage_tails(s, r, tails + skew, warp, lane);
            __syncwarp(); /* the tails are there */
        }
        for (uint32_t i = (uint32_t)lane * VEC; i < end; i += 32 * VEC) {
            const uint4 units = straight ? widen<UNIT>(text + i, args.swap) : decode<UNIT>(tails + i, args.swap);
            store_inside<UNIT>(out + i * UNIT, units, i, skew, end);
        }
        __syncwarp(); /* the tails have been read */
    }

    __device__ __forceinline__ void stage_tails(const Shared &s, int r, uint32_t *tails, int warp, int lane) const {
        uint32_t word[UTF8_WINDOW_WORDS];
        load_window(word, s, warp, r, lane);
        uint32_t *const mine = tails + (before[r / 2] >> r % 2 * 16 & 0xFFFF), *to = mine;
#pragma unroll
        for (int i = 0; i < OWNED; i++)
            if (emit[r] >> (i + 3) & 1) *to++ = tail_of(word, i);
        for (uint32_t left = bad[r]; left != 0; left &= left - 1) mine[__popc(emit[r] & ((left & (0 - left)) - 1))] = UTF8_TAIL_FFFD;
    }

    /* Where each code point of row r begins in the text. */
    __device__ void write_map(const Args &args, const Shared &s, uint64_t first, int r, uint64_t at, int warp, int lane) const {
        uint32_t word[UTF8_WINDOW_WORDS];
        load_window(word, s, warp, r, lane);
        const Utf8Ends ends = find_ends(classes_of(planes_of(word)));
        const uint32_t two = ends.of_2 | ends.of_3 | ends.of_4 | ends.bad_2, three = ends.of_3 | ends.of_4 | ends.bad_3; /* or more bytes */
        const uint64_t window = args.map_base + first + (uint64_t)(int64_t)offset_of(warp, r, lane);
        at += before[r / 2] >> r % 2 * 16 & 0xFFFF;
        for (uint32_t left = emit[r]; left != 0 && at < args.capacity; left &= left - 1, at++) {
            const int end = __ffs((int)left) - 1;
            args.map[at] = window + (uint32_t)end - (two >> end & 1) - (three >> end & 1) - (ends.of_4 >> end & 1);
        }
    }
};

#endif
