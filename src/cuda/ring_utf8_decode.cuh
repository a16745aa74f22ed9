/* ring_utf8_decode.cuh: UTF-8 to UTF-32 and UTF-16 as a policy of the ring pass.
 *
 *   row        896 bytes, of which each lane owns 28 (ring_utf8_windows.cuh)
 *   reducers   ends of sequences, a bit a byte (utf8_rules.cuh): their number is what is exchanged, the bits are left for the finisher
 *   finishers  windows into registers, so that the slot is free; quads at the ends, then units (utf8_quads.cuh); ASCII is put side by side
 *
 * Strict conversion writes what replacement writes. The report says how much of that is before the first error; what lies behind it nobody
 * may look at. Cost: every byte in once, every unit out once. */
#ifndef UPSWEEP_CUDA_RING_UTF8_DECODE_CUH
#define UPSWEEP_CUDA_RING_UTF8_DECODE_CUH

#include "ring_utf8_windows.cuh"
#include "utf8_quads.cuh"

/* U: the units of the output. */
template <class U> struct RingUtf8Decode : RingUtf8Windows<RingUtf8DecodeShape<sizeof(typename U::Unit)>> {
    typedef RingUtf8DecodeShape<sizeof(typename U::Unit)> Shape;
    typedef RingUtf8Windows<Shape> Windows;
    typedef typename U::Unit Unit;
    using typename Windows::Args, typename Windows::Value, typename Windows::Carry;
    using Windows::is_all_text, Windows::load_window, Windows::any_of, Windows::text_bits, Windows::window_at, Windows::find_bad;
    static constexpr unsigned ROWS = Shape::ROWS, ROW_NBYTES = Windows::ROW_NBYTES, CHUNK_NBYTES = Windows::CHUNK_NBYTES;
    static constexpr unsigned QUADS = Shape::QUADS, WORK_NBYTES = QUADS * 4;
    static constexpr unsigned LINE = 32; /* units: where a warp's stores are aligned to */
    static constexpr bool TAKES = true;
    static_assert(ROWS <= 2, "two counts in a register");
    static_assert(QUADS >= ROW_NBYTES + LINE && QUADS % 4 == 0, "a row of ASCII fits, wherever in a line it begins");
    static_assert(2 * QUADS >= CHUNK_NBYTES + LINE, "halves of quads always fit");
    static_assert(WORK_NBYTES >= 2 * LINE + CHUNK_NBYTES + 128, "and what is read of a chunk of it, in whole rows of words");

    /* What a finisher takes along when it gives the slot back: the windows, and what is noted of them. */
    struct Local {
        uint32_t window[ROWS][8], units[ROWS], bad[ROWS], flags;
        uint64_t prefix;
    };

    /* Where units go: a chunk's first one is line[begin], and there is no room from line[limit] on. Quads are staged alike, up to
     * quads[end]. */
    struct Lines {
        Unit *line;
        unsigned begin, end, limit;
    };

    /* In unowned bits of a note: what the finisher should know about the chunk. */
    enum : uint32_t { NOT_PLAIN = 1, HAS_3 = 2, HAS_4 = 4, HAS_BAD = 1u << 31 };

    /* ---- reducers ---- */

    /* The ends in all rows of a chunk, and what its finisher should know about them. */
    static __device__ __forceinline__ uint32_t find_chunk_ends(const uint32_t (&w)[ROWS][8], Utf8Ends (&ends)[ROWS]) {
        Utf8Classes classes[ROWS];
        uint32_t from_e0 = 0, of_4 = 0, flags = NOT_PLAIN;
        bool good = true;
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            classes[r] = classes_of(planes_of(w[r]));
            ends[r] = find_good_ends(classes[r]);
            from_e0 |= classes[r].from_e0;
            good &= is_good(classes[r]);
        }
        if (__any_sync(ALL_LANES, from_e0 != 0)) flags |= HAS_3;
        if (__any_sync(ALL_LANES, !good)) {
            flags |= HAS_BAD;
#pragma unroll
            for (unsigned r = 0; r < ROWS; r++) ends[r] = find_ends(classes[r]);
        }
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) of_4 |= ends[r].of_4;
        if (__any_sync(ALL_LANES, of_4 != 0)) flags |= HAS_4;
        return flags;
    }

    /* All rows at once: operations on one fill the gaps of the other. */
    static __device__ __forceinline__ Value reduce(const Args &args, const uint4 *chunk, RingPlace place, uint32_t *note, int lane) {
        const bool all_text = is_all_text(place);
        uint32_t w[ROWS][8], owned[ROWS], units[ROWS], any = 0, flags = all_text ? 0 : NOT_PLAIN;
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            load_window(w[r], (const unsigned char *)chunk, r, lane);
            units[r] = owned[r] = all_text ? WINDOW_OWNED_BITS : text_bits(window_at(place, r, lane));
            any |= any_of(w[r]);
        }
        if (__any_sync(ALL_LANES, (any & 0x80808080u) != 0)) {
            Utf8Ends ends[ROWS];
            flags = find_chunk_ends(w, ends);
            if (flags & HAS_BAD) {
                const bool keeps = args.replace || args.strict;
                uint32_t bad[ROWS];
#pragma unroll
                for (unsigned r = 0; r < ROWS; r++) {
                    bad[r] = ends[r].bad & owned[r];
                    note[32 * (ROWS + r) + (unsigned)lane] = bad[r];
                    if (!keeps) ends[r].all &= ~bad[r];
                }
                find_bad(ends, bad, place, lane);
                flags = keeps ? flags | HAS_3 : flags & ~HAS_BAD; /* U+FFFD has three bytes */
            }
#pragma unroll
            for (unsigned r = 0; r < ROWS; r++) units[r] = (sizeof(Unit) == 2 ? ends[r].all | ends[r].of_4 >> 1 : ends[r].all) & owned[r];
        }
        unsigned count = 0;
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            note[32 * r + (unsigned)lane] = units[r] | flags;
            count += (unsigned)__popc(units[r]);
        }
        return __reduce_add_sync(ALL_LANES, count);
    }

    /* ---- finishers ---- */

    static __device__ __forceinline__ void take(const Args &, const uint4 *chunk, RingPlace, const uint32_t *note, Local &local, int lane) {
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            load_window(local.window[r], (const unsigned char *)chunk, r, lane);
            local.units[r] = note[32 * r + (unsigned)lane];
        }
        local.flags = __shfl_sync(ALL_LANES, local.units[0], 0); /* all lanes have the same; now the compiler knows */
        if (local.flags & HAS_BAD) {
#pragma unroll
            for (unsigned r = 0; r < ROWS; r++) local.bad[r] = note[32 * (ROWS + r) + (unsigned)lane];
        }
    }

    static __device__ __forceinline__ Lines lines_from(const Args &args, uint64_t prefix) {
        Unit *const to = (Unit *)args.out + prefix;
        const uint64_t room = args.capacity > prefix ? args.capacity - prefix : 0;
        const unsigned begin = (unsigned)(uintptr_t)to / sizeof(Unit) % LINE;
        return {to - begin, begin, begin, begin + (room < CHUNK_NBYTES ? (unsigned)room : CHUNK_NBYTES)};
    }

    template <class Staged>
    static __device__ __forceinline__ void store(const Args &args, Lines lines, const typename Staged::Item *staged, int lane) {
        __syncwarp(); /* all is staged */
        store_units<U, Staged>(lines.line, staged, lines.begin, min(lines.end, lines.limit), args.swap, opaque_one(), lane);
        __syncwarp(); /* all has been read */
    }

    static __device__ __forceinline__ void store_quads(const Args &args, Lines lines, const uint32_t *quads, uint32_t flags, int lane) {
        if (flags & HAS_4)
            store<StagedQuads<U, QUADS_UP_TO_4>>(args, lines, quads, lane);
        else
            store<StagedQuads<U, QUADS_UP_TO_3>>(args, lines, quads, lane);
    }

    /* Strict: the unit that a row's first ill-formed sequence becomes. before: units before this lane's window. */
    static __device__ __forceinline__ void find_cut(uint32_t units, uint32_t bad, uint64_t before) {
        unsigned long long *const found = &ring_utf8_found().error_units;
        const uint64_t at = before + (uint64_t)__popc(units & WINDOW_OWNED_BITS & ((bad & (0 - bad)) - 1));
        if (bad != 0 && at < *(volatile unsigned long long *)found) atomicMin(found, at);
    }

    /* Row r: its quads behind those that are staged. Its counts are the lowest 16 bits. */
    template <bool ANY_BAD>
    static __device__ __forceinline__ void stage_row(const Args &args, Local &local, Lines &lines, uint32_t *quads, unsigned r,
                                                     uint32_t before, uint32_t rows) {
        const unsigned row = rows & 0xFFFF, rank = before & 0xFFFF;
        if (ANY_BAD && args.strict) find_cut(local.units[r], local.bad[r], local.prefix + rank);
        stage_quads<ANY_BAD>(quads + lines.end + rank, local.window[r], local.units[r], ANY_BAD ? local.bad[r] : 0);
        local.prefix += row;
        lines.end += row;
    }

    template <bool ANY_BAD>
    static __device__ __forceinline__ void stage_rows(const Args &args, Local &local, Lines &lines, uint32_t *quads, uint32_t before,
                                                      uint32_t rows) {
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) stage_row<ANY_BAD>(args, local, lines, quads, r, before >> 16 * r, rows >> 16 * r);
    }

    /* Straight on: with branches for what is rare in between, a mix takes 4 % longer. */
    static __device__ __forceinline__ void convert(const Args &args, Local &local, Lines lines, uint32_t *quads, uint32_t before,
                                                   uint32_t rows, int lane) {
        if (local.flags & HAS_BAD)
            stage_rows<true>(args, local, lines, quads, before, rows);
        else
            stage_rows<false>(args, local, lines, quads, before, rows);
        store_quads(args, lines, quads, local.flags, lane);
    }

    /* A chunk of sequences of up to two bytes: halves of quads always fit. */
    static __device__ __forceinline__ void convert_halves(const Args &args, const Local &local, Lines lines, uint16_t *halves,
                                                          uint32_t before, uint32_t rows, int lane) {
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            stage_halves(halves + lines.end + (before >> 16 * r & 0xFFFF), local.window[r], local.units[r]);
            lines.end += rows >> 16 * r & 0xFFFF;
        }
        store<StagedHalves<U>>(args, lines, halves, lane);
    }

    /* A chunk that has more units than fit, with less than about 1.9 bytes a unit: row by row. In a loop, as the instruction cache is
     * small, and registers have no indices: so the next row moves to where this one was. */
    static __device__ __forceinline__ void convert_in_goes(const Args &args, Local &local, Lines lines, uint32_t *quads, uint32_t before,
                                                           uint32_t rows, int lane) {
#pragma unroll 1
        for (unsigned r = 0;; r++, before >>= 16, rows >>= 16) {
            if (local.flags & HAS_BAD)
                stage_row<true>(args, local, lines, quads, 0, before, rows);
            else
                stage_row<false>(args, local, lines, quads, 0, before, rows);
            store_quads(args, lines, quads, local.flags, lane);
            if (r + 1 == ROWS) return;
            const unsigned done = lines.end / LINE * LINE;
            lines.line += done;
            lines.limit = lines.limit > done ? lines.limit - done : 0;
            lines.begin = lines.end = lines.end % LINE;
#pragma unroll
            for (int i = 0; i < 8; i++) local.window[0][i] = local.window[ROWS - 1][i];
            local.units[0] = local.units[ROWS - 1], local.bad[0] = local.bad[ROWS - 1];
        }
    }

    /* A chunk of ASCII: its windows side by side in shared memory again, but for what two of them have in common; from there the lanes take
     * words of the output. The first owned byte is the fourth. */
    static __device__ __forceinline__ void widen(const Args &args, const Local &local, Lines lines, unsigned char *s_work, int lane) {
        unsigned char *const text = s_work + LINE; /* what is before it may be read */
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            uint32_t *const to = (uint32_t *)(text + r * ROW_NBYTES + (unsigned)lane * WINDOW_OWNED);
#pragma unroll
            for (int i = 0; i < 7; i++) to[i] = local.window[r][i];
            if (lane == 31 && r + 1 == ROWS) to[7] = local.window[r][7];
        }
        __syncwarp(); /* all words are there */
        AsciiRun<CHUNK_NBYTES> ascii;
        ascii.load(text + WINDOW_BEFORE, lines.begin, lane);
        __syncwarp(); /* they have been read */
        ascii.template store<U>(lines.line, lines.begin, min(lines.begin + CHUNK_NBYTES, lines.limit), args.swap, lane);
    }

    static __device__ __forceinline__ void finish(const Args &args, RingPlace place, Local &local, Carry prefix, int lane) {
        const Lines lines = lines_from(args, prefix);
        uint32_t packed = 0; /* units of this lane's windows, 16 bits a row */
        local.prefix = prefix;
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) packed |= (uint32_t)__popc(local.units[r] & WINDOW_OWNED_BITS) << 16 * r;
        if (!(local.flags & NOT_PLAIN)) {
            widen(args, local, lines, place.s_work, lane);
            return;
        }
        const uint32_t through = scan_lanes(packed), rows = __shfl_sync(ALL_LANES, through, 31), before = through - packed;
        uint32_t *const quads = (uint32_t *)place.s_work;
        if (!(local.flags & HAS_3))
            convert_halves(args, local, lines, (uint16_t *)quads, before, rows, lane);
        else if (lines.end + (rows & 0xFFFF) + (rows >> 16) > QUADS)
            convert_in_goes(args, local, lines, quads, before, rows, lane);
        else
            convert(args, local, lines, quads, before, rows, lane);
    }
};

/* ---- launch ------------------------------------------------------------------------------------------------------------------ */

/* Cleaning too. A map, and measuring, are left to others. */
static inline bool ring_utf8_decode_suits(const struct cuda_queue *queue, const struct utf8_args *a) {
    return a->from == UPSWEEP_UTF8 && a->out != NULL && a->map == NULL && should_run_ring(queue, a->n, RING_UTF8_DECODE_MIN_NBYTES);
}

#endif
