/* lookback_utf8_decode.cuh: UTF-8 to UTF-32 and UTF-16 as a policy of the look-back pass: a compaction of bytes in which each end of a
 * sequence is kept, and becomes a code unit on its way out.
 *
 *   window     32 bytes, of which 28 are owned (lookback_utf8_windows.cuh)
 *   ends       one bit a byte (utf8_rules.cuh); a sequence of four also gives UTF-16 its high surrogate, where its third byte is
 *   tails      at each end, the four bytes up to it go side by side to shared memory, U+FFFD's for ill-formed sequences
 *   units      from there 16 bytes at a time, decoded and stored in aligned vectors. ASCII goes straight from the tile to here.
 *
 * A window's owned bytes begin 3 bytes after it does, and it begins at a multiple of 4: so a tile owns the bytes from one before its first
 * to the one before its last, and needs none that come after it. Cost: every byte in once, every unit out once. */
#ifndef UPSWEEP_CUDA_LOOKBACK_UTF8_DECODE_CUH
#define UPSWEEP_CUDA_LOOKBACK_UTF8_DECODE_CUH

#include "lookback_utf8_windows.cuh"

/* ---- units ---------------------------------------------------------------------------------------------------------------------- */

/* A tail: the four bytes of a text that end with a given one, that one lowest. Where a well-formed sequence ends, its tail is all that is
 * needed; U+FFFD has this one. */
enum { UTF8_TAIL_FFFD = 0x00EFBFBD };

/* The tail of byte 3 + i of a window; i is a constant after unrolling. */
static __device__ __forceinline__ uint32_t tail_of(const uint32_t (&word)[UTF8_WINDOW_WORDS], int i) {
    const int k = i / 4, o = i % 4;
    return __byte_perm(word[k], o != 0 ? word[k + 1] : 0, (unsigned)((o + 3) | (o + 2) << 4 | (o + 1) << 8 | o << 12));
}

static __device__ __forceinline__ uint32_t utf32_of_tail(uint32_t tail) {
    if ((tail & 0x80) == 0) return tail & 0x7F;
    const uint32_t code = (tail & 0x3F) | (tail >> 2 & 0xFC0) | (tail >> 4 & 0x3F000) | (tail >> 6 & 0x1C0000);
    const bool of_2 = (tail & 0x4000) != 0, of_3 = (tail & 0x400000) != 0; /* is the byte before, the one before that, a lead? */
    return code & (of_2 ? 0x7FFu : of_3 ? 0xFFFFu : 0x1FFFFFu);
}

/* A sequence of four makes two units: the high one where its third byte is, the low one at its end. */
static __device__ __forceinline__ uint32_t utf16_of_tail(uint32_t tail) {
    if ((tail & 0x80) == 0) return tail & 0x7F;
    const uint32_t code = (tail & 0x3F) | (tail >> 2 & 0xFC0) | (tail >> 4 & 0xF000);
    if (tail & 0x4000) return code & 0x7FF;
    if ((tail & 0x400000) == 0) return 0xDC00 | (code & 0x3FF);
    if ((tail & 0x100000) == 0) return code;
    return 0xD7C0 + ((tail >> 4 & 3) | (tail >> 6 & 0xFC) | (tail >> 8 & 0x700)); /* D800 + ((code - 10000) >> 10) */
}

static __device__ __forceinline__ uint32_t swap_units(uint32_t two, bool swap) { return swap ? __byte_perm(two, 0, 0x2301) : two; }

/* 16 bytes of code units from as many bytes of ASCII. */
template <int UNIT> static __device__ __forceinline__ uint4 widen(const unsigned char *text, bool swap) {
    const uint32_t a = bytes_at(text);
    if constexpr (UNIT == 4)
        return {a & 0xFF, __byte_perm(a, 0, 0x4441), __byte_perm(a, 0, 0x4442), a >> 24};
    else {
        const uint32_t b = bytes_at(text + 4), low = swap ? 0x1404 : 0x4140, high = swap ? 0x3424 : 0x4342;
        return {__byte_perm(a, 0, low), __byte_perm(a, 0, high), __byte_perm(b, 0, low), __byte_perm(b, 0, high)};
    }
}

static __device__ __forceinline__ uint32_t two_units(uint32_t first_tail, uint32_t second_tail, bool swap) {
    return swap_units(utf16_of_tail(first_tail) | utf16_of_tail(second_tail) << 16, swap);
}

/* 16 bytes of code units from as many tails. */
template <int UNIT> static __device__ __forceinline__ uint4 decode(const uint32_t *tails, bool swap) {
    const uint4 a = ((const uint4 *)tails)[0];
    if constexpr (UNIT == 4)
        return {utf32_of_tail(a.x), utf32_of_tail(a.y), utf32_of_tail(a.z), utf32_of_tail(a.w)};
    else {
        const uint4 b = ((const uint4 *)tails)[1];
        return {two_units(a.x, a.y, swap), two_units(a.z, a.w, swap), two_units(b.x, b.y, swap), two_units(b.z, b.w, swap)};
    }
}

/* ---- the policy -------------------------------------------------------------------------------------------------------------- */

/* UNIT: bytes of a code unit of the output. */
template <int UNIT, class Shape> struct LookbackUtf8Decode : LookbackUtf8Windows<LookbackUtf8Decode<UNIT, Shape>, 28, Shape> {
    typedef LookbackUtf8Windows<LookbackUtf8Decode, 28, Shape> Windows;
    typedef Utf8Args Args;
    enum { THREADS = Windows::THREADS, ROWS = Windows::ROWS, OWNED = Windows::OWNED, VEC = 16 / UNIT, HALO_VECTORS = 1 };
    enum : uint32_t { OWNED_BITS = 0x7FFFFFF8 };
    struct Shared {
        alignas(16) unsigned char text[16 + Windows::TILE_ITEMS + 16]; /* the tile from 16 on; what is behind it is read, and not used */
        alignas(16) uint32_t tails[THREADS / 32][Windows::ROW_ITEMS + 8];
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
            emit[r] = (good.all | (UNIT == 2 ? good.of_4 >> 1 : 0)) & OWNED_BITS;
            return;
        }
        const Utf8Ends ends = find_ends(classes);
        const int offset = Windows::offset_of(warp, r, lane);
        const uint32_t owned = Windows::owned_bits(first, offset, span, inner);
        const uint32_t ends_bad = ends.bad & owned;
        emit[r] = (ends.all & (args.replace ? ~0u : ~ends.bad) | (UNIT == 2 ? ends.of_4 >> 1 : 0)) & owned;
        if (args.replace) bad[r] = ends_bad;
        if (__any_sync(ALL_LANES, ends_bad != 0)) take_bad(found, ends, ends_bad, offset);
        if (args.strict) is_cut = cut_row(emit[r], ends_bad, is_cut, lane);
    }

    /* Units of row r to out [at .. at + nunits). */
    __device__ __forceinline__ void write_row(const Args &args, Shared &s, uint64_t first, int r, uint64_t at, uint32_t nunits, int warp,
                                              int lane) const {
        unsigned char *out = args.out + at * UNIT;
        const uint32_t skew = (uint32_t)((uintptr_t)out % 16) / UNIT, end = skew + nunits;
        out -= skew * UNIT;
        const bool straight = ascii >> r & 1;
        const unsigned char *text = s.text + 16 + Windows::offset_of(warp, r, 0) + 3 - skew;
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
        if (UNIT == 4 && args.map != nullptr) write_map(args, s, first, r, at, warp, lane);
    }

    __device__ __forceinline__ void stage_tails(const Shared &s, int r, uint32_t *tails, int warp, int lane) const {
        uint32_t word[UTF8_WINDOW_WORDS];
        Windows::load_window(word, s, warp, r, lane);
        uint32_t *const mine = tails + this->units_before(r), *to = mine;
#pragma unroll
        for (int i = 0; i < OWNED; i++)
            if (emit[r] >> (i + 3) & 1) *to++ = tail_of(word, i);
        for (uint32_t left = bad[r]; left != 0; left &= left - 1) mine[__popc(emit[r] & ((left & (0 - left)) - 1))] = UTF8_TAIL_FFFD;
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
