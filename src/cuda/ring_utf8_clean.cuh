/* ring_utf8_clean.cuh: UTF-8 to well-formed UTF-8 as a policy of the ring pass.
 *
 *   row        896 bytes, of which each lane owns 28 (ring_utf8_windows.cuh); a sequence belongs to the lane that owns its last byte
 *   reducers   is all of a chunk well-formed? Then it is *whole*: it leaves as it came, and where its first sequence begins and its last
 *              one ends tells how long it is. If not, bits for each window: which bytes are kept, and where U+FFFD goes
 *   finishers  a whole chunk into memory of their own, so that the slot is free, and from there in vectors of the output
 *              (shift.cuh); of others the windows into registers, and then each row byte by byte into that memory
 *
 * Most texts have nothing to clean, so this is a copy that looks at what it copies. Strict conversion writes what replacement writes, but
 * not behind what a CTA knows to be an error. Cost: every byte in once, out once. */
#ifndef UPSWEEP_CUDA_RING_UTF8_CLEAN_CUH
#define UPSWEEP_CUDA_RING_UTF8_CLEAN_CUH

#include "ring_utf8_windows.cuh"
#include "shift.cuh"

struct RingUtf8Clean : RingUtf8Windows<RingUtf8CleanShape> {
    static constexpr unsigned FFFD_NBYTES = 3, MOST_NBYTES = FFFD_NBYTES * ROW_NBYTES + 1 /* of a row */;
    static constexpr unsigned WORK_NBYTES = 16 + (MOST_NBYTES + 15) / 16 * 16;
    static constexpr bool TAKES = true;
    static_assert(WORK_NBYTES >= 16 + CHUNK_NBYTES, "a whole chunk fits, too");
    static_assert(ROWS <= 2, "two counts in a register");

    /* What a finisher takes along when it gives the slot back: of a whole chunk only its note, or else all but that. */
    struct Local {
        uint32_t whole, window[ROWS][8], kept[ROWS], bad[ROWS];
    };

    /* The note of a whole chunk: its bytes, and how many of them come before those that it owns. */
    enum : uint32_t { WHOLE = 1u << 31, BEFORE_SHIFT = 16 };

    /* ---- reducers ---- */

    /* How many bytes before byte `bit` of a well-formed window belong to the same sequence. */
    static __device__ __forceinline__ uint32_t bytes_before(const Utf8Classes &c, int bit) {
        return (uint32_t)__clz((int)(~c.continuation << (31 - bit)));
    }

    /* before: bytes of its first sequence that lie before the chunk's own; behind: those of its last bytes whose sequence ends later. */
    static __device__ __forceinline__ Value note_whole(uint32_t *note, uint32_t before, uint32_t behind, int lane) {
        const uint32_t nbytes = CHUNK_NBYTES + before - behind;
        note[lane] = WHOLE | before << BEFORE_SHIFT | nbytes;
        return nbytes;
    }

    /* All bytes of the well-formed sequences whose last ones are owned. */
    static __device__ __forceinline__ uint32_t kept_bytes(const Utf8Ends &ends, uint32_t high, uint32_t owned) {
        const uint32_t good = ends.all & ~ends.bad & owned, of_2 = good & high, of_3 = good & (ends.of_3 | ends.of_4);
        return good | of_2 >> 1 | of_3 >> 2 | (good & ends.of_4) >> 3;
    }

    /* Strict: this CTA has found an error before the chunk, so nobody may look at what becomes of it. */
    static __device__ __forceinline__ bool is_behind_error(RingPlace place) {
        return __any_sync(ALL_LANES, *(volatile unsigned long long *)&ring_utf8_found().error_at < place.first);
    }

    static __device__ __forceinline__ Value reduce(const Args &args, const uint4 *chunk, RingPlace place, uint32_t *note, int lane) {
        if (args.strict && is_behind_error(place)) return note_whole(note, 0, CHUNK_NBYTES, lane);
        const bool all_text = is_all_text(place);
        uint32_t w[ROWS][8], any = 0;
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            load_window(w[r], (const unsigned char *)chunk, r, lane);
            any |= any_of(w[r]);
        }
        if (all_text && !__any_sync(ALL_LANES, (any & 0x80808080u) != 0)) return note_whole(note, 0, 0, lane);
        Utf8Classes classes[ROWS];
        bool good = all_text;
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            classes[r] = classes_of(planes_of(w[r]));
            good &= is_good(classes[r]);
        }
        if (__all_sync(ALL_LANES, good))
            return note_whole(note, __shfl_sync(ALL_LANES, bytes_before(classes[0], WINDOW_BEFORE), 0),
                              __shfl_sync(ALL_LANES, bytes_before(classes[ROWS - 1], 31), 31), lane);
        return reduce_bad(args, classes, all_text, place, note, lane);
    }

    static __device__ __forceinline__ Value reduce_bad(const Args &args, const Utf8Classes (&classes)[ROWS], bool all_text, RingPlace place,
                                                       uint32_t *note, int lane) {
        const bool keeps = args.replace || args.strict;
        Utf8Ends ends[ROWS];
        uint32_t bad[ROWS], nbytes = 0, any_bad = 0;
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            const uint32_t owned = all_text ? WINDOW_OWNED_BITS : text_bits(window_at(place, r, lane));
            ends[r] = find_ends(classes[r]);
            bad[r] = ends[r].bad & owned;
            const uint32_t kept = kept_bytes(ends[r], classes[r].high, owned), replaced = keeps ? bad[r] : 0;
            note[32 * r + (unsigned)lane] = kept;
            note[32 * (ROWS + r) + (unsigned)lane] = replaced;
            nbytes += (uint32_t)__popc(kept) + FFFD_NBYTES * (uint32_t)__popc(replaced);
            any_bad |= bad[r];
        }
        if (__any_sync(ALL_LANES, any_bad != 0)) find_bad(ends, bad, place, lane);
        return __reduce_add_sync(ALL_LANES, nbytes);
    }

    /* ---- finishers ---- */

    /* A whole chunk to where it waits for its place, and the 16 bytes before it. */
    static __device__ __forceinline__ void take_whole(const uint4 *chunk, uint4 *s_work, int lane) {
        constexpr unsigned VECTORS = CHUNK_NBYTES / 16 + 1;
#pragma unroll
        for (unsigned i = 0; i < VECTORS; i += 32)
            if (i + (unsigned)lane < VECTORS) s_work[i + (unsigned)lane] = chunk[(int)i + lane - 1];
    }

    static __device__ __forceinline__ void take(const Args &, const uint4 *chunk, RingPlace place, const uint32_t *note, Local &local,
                                                int lane) {
        local.whole = note[0]; /* all lanes' are the same as far as that goes */
        if (local.whole & WHOLE) {
            take_whole(chunk, (uint4 *)place.s_work, lane);
            return;
        }
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            load_window(local.window[r], (const unsigned char *)chunk, r, lane);
            local.kept[r] = note[32 * r + (unsigned)lane];
            local.bad[r] = note[32 * (ROWS + r) + (unsigned)lane];
        }
    }

    /* The bytes of a window, from `to` on: those that are kept, and then U+FFFD in the gaps that were left. */
    static __device__ __forceinline__ void stage_window(unsigned char *to, const uint32_t (&w)[8], uint32_t kept, uint32_t bad) {
        const uint32_t one = opaque_one();
        unsigned at = shared_address(to);
#pragma unroll
        for (int i = 0; i < WINDOW_BEFORE + WINDOW_OWNED; i++) {
            const uint32_t byte = w[i / 4] >> i % 4 * 8;
            if (kept & 1u << i) {
                asm volatile("st.shared.u8 [%0], %1;" ::"r"(at), "r"(byte) : "memory");
                at = multiply_add(1, one, at);
            }
            if (bad & 1u << i) at = multiply_add(FFFD_NBYTES, one, at);
        }
        for (uint32_t left = bad; left != 0; left &= left - 1) {
            const uint32_t below = (left & (0 - left)) - 1;
            unsigned char *const gap = to + __popc(kept & below) + (int)FFFD_NBYTES * __popc(bad & below);
            gap[0] = 0xEF;
            gap[1] = 0xBF;
            gap[2] = 0xBD;
        }
    }

    /* Bytes that a lane has of its windows, 16 bits a row. */
    static __device__ __forceinline__ uint32_t packed_counts(const Local &local) {
        uint32_t packed = 0;
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++)
            packed |= ((uint32_t)__popc(local.kept[r]) + FFFD_NBYTES * (uint32_t)__popc(local.bad[r])) << 16 * r;
        return packed;
    }

    /* In a loop, as the instruction cache is small, and registers have no indices: so the next row moves to where this one was. */
    static __device__ __forceinline__ void finish_rows(const Args &args, Local &local, unsigned char *s_work, uint64_t at, int lane) {
        const uint32_t packed = packed_counts(local), through = scan_lanes(packed);
        uint32_t rows = __shfl_sync(ALL_LANES, through, 31), before = through - packed;
        StagedRun staged(args, at, s_work);
#pragma unroll 1
        for (unsigned r = 0;; r++, before >>= 16, rows >>= 16) {
            if (staged.skew + staged.nbytes + (rows & 0xFFFF) > WORK_NBYTES) staged.leave(lane);
            stage_window(staged.end() + (before & 0xFFFF), local.window[0], local.kept[0], local.bad[0]);
            staged.nbytes += rows & 0xFFFF;
            if (r + 1 == ROWS) break;
#pragma unroll
            for (int i = 0; i < 8; i++) local.window[0][i] = local.window[ROWS - 1][i];
            local.kept[0] = local.kept[ROWS - 1], local.bad[0] = local.bad[ROWS - 1];
        }
        staged.leave(lane);
    }

    static __device__ __forceinline__ void finish(const Args &args, RingPlace place, Local &local, Carry prefix, int lane) {
        const uint32_t whole = local.whole;
        if (!(whole & WHOLE)) {
            finish_rows(args, local, place.s_work, prefix, lane);
            return;
        }
        const uint64_t room = args.capacity > prefix ? args.capacity - prefix : 0;
        __syncwarp(); /* all of the chunk is there */
        store_shifted(args.out + prefix, place.s_work, 15 - (whole >> BEFORE_SHIFT & 3), (uint32_t)min((uint64_t)(whole & 0xFFFF), room),
                      lane);
        __syncwarp(); /* it has been read */
    }

    /* What comes before the first error is as it was. */
    static __device__ void leave(const Args &args) {
        RingUtf8Found &found = ring_utf8_found();
        if (args.strict && found.bad_sequences != 0) found.error_units = found.error_at - found.span.first;
        RingUtf8::leave(args);
    }
};

#endif
