/* ring_utf8_encode.cuh: UTF-32 and UTF-16 to UTF-8 as a policy of the ring pass.
 *
 *   reducers   the kind of each row (utf8_encode.cuh) and the bytes that a lane's vector becomes: two small numbers, for the finisher;
 *              what is ill-formed goes to the tally in control memory
 *   finishers  the bytes side by side, in the chunk's own place in shared memory, half a chunk at a time, as it can grow by half;
 *              placed there as they will lie in the output, so that they leave in aligned vectors
 *   end        when the last wave's words have been read, all reducers have handed in what they found: the report is written
 *
 * Aggregates are as in the look-back pass, so strict conversion works alike: what lies behind an ill-formed unit counts nothing.
 * Cost: every unit in once, every byte out once. */
#ifndef UPSWEEP_CUDA_RING_UTF8_ENCODE_CUH
#define UPSWEEP_CUDA_RING_UTF8_ENCODE_CUH

#include "ring.cuh"
#include "utf8_encode.cuh"
#include "utf8_stage.cuh"

/* As UntilCut, in 32 bits: enough for the tiles of a wave. */
#define UTF8_CUT_32 (1u << 31)

struct UntilCut32 {
    static __device__ __forceinline__ uint32_t apply(uint32_t a, uint32_t b) { return a & UTF8_CUT_32 ? a : a + b; }
    static __device__ __forceinline__ uint32_t identity() { return 0; }
};

/* UNIT: bytes of a code unit of the input. */
template <int UNIT> struct RingUtf8Encode : RingPlain {
    typedef Utf8Args Args;
    typedef uint32_t Value; /* of a tile, or a wave */
    typedef UntilCut32 Op;
    typedef unsigned long long Carry;
    static constexpr unsigned REDUCERS = RING_UTF8_ENCODE_REDUCERS, FINISHERS = RING_UTF8_ENCODE_FINISHERS;
    static constexpr unsigned ROWS = RING_UTF8_ENCODE_ROWS, STAGES = RING_UTF8_ENCODE_STAGES, VEC = 16 / UNIT, ROW_UNITS = 32 * VEC;
    static constexpr unsigned TILE_UNITS = FINISHERS * ROWS * ROW_UNITS, PAIRS = ROWS / 2;
    static constexpr unsigned SIDE_NBYTES = 0,
                              NOTE_WORDS = UNIT == 2 ? 2 : 1; /* {kind 3, bytes 5} for each row; UTF-16: the units around the chunk */
    static constexpr int UNROLLED = UNIT == 4 ? ROWS : 1;     /* the code for a row of UTF-16 is long */
    static constexpr bool KEEPS_SLOT = true;
    static_assert(ROWS == 4, "a note has room for four rows, and a register for two");

    struct Local {
        uint4 data[ROWS];
    };

    static __device__ Carry carry_in(const Args &) { return 0; }
    static __device__ Carry carry_add(Carry carry, Value v) {
        return UntilCut::apply(carry, (v & ~UTF8_CUT_32) | (v & UTF8_CUT_32 ? UTF8_CUT : 0));
    }

    /* What is not text reads as zeros. */
    static __device__ void pad(const Args &, unsigned char *slot, unsigned from, unsigned to, int lane) {
        for (unsigned i = from + (unsigned)lane; i < to; i += 32) slot[i] = 0;
    }

    static __device__ void end(const Args &args, Carry carry) {
        __threadfence(); /* what reducers did before they published is seen from here on */
        volatile Utf8Tally *tally = args.tally;
        write_report(args, carry & ~UTF8_CUT, tally->bad_sequences, tally->bad_units, UTF8_NOWHERE - tally->before_error);
        tally->bad_sequences = 0;
        tally->bad_units = 0;
        tally->before_error = 0;
    }

    /* ---- both sides ---- */

    /* All of a chunk, and what may be held back, is text. */
    static __device__ __forceinline__ bool is_inner(const Args &args, RingPlace place) {
        return place.first > 0 && place.first + ROWS * 512 + 16 <= args.n * UNIT;
    }

    static __device__ __forceinline__ uint32_t owned_bits(uint64_t at, TextSpan span) { return window_bits(at, span) & ((1u << VEC) - 1); }

    /* The units beside this lane's vector of row r, when it has become the first of `data`. around: in lanes 0 and 31, those beside the
     * chunk. */
    static __device__ __forceinline__ EncodeRow<2>::Around beside_row(const uint4 (&data)[ROWS], unsigned r, uint32_t around, bool swap,
                                                                      int lane) {
        const uint32_t above = __shfl_sync(ALL_LANES, data[ROWS - 1].w >> 16, 31), below = __shfl_sync(ALL_LANES, data[1].x & 0xFFFF, 0);
        return EncodeRow<2>::around(data[0], r > 0 ? above : around, r + 1 < ROWS ? below : around, swap, lane);
    }

    static __device__ __forceinline__ uint32_t kind_of_row(const uint4 (&data)[ROWS], unsigned r, uint32_t around, bool swap, int lane) {
        const uint32_t kind = EncodeRow<UNIT>::kind_of(data[0], swap);
        if constexpr (UNIT == 2)
            if (kind == UTF8_ROW_ANY && EncodeRow<2>::pairs_up(data[0], beside_row(data, r, around, swap, lane), swap))
                return UTF8_ROW_PAIRS;
        return kind;
    }

    /* Row r, of any kind, when it has become the first of `data`: its code points, and the units that count. Returns what is ill-formed. */
    static __device__ __forceinline__ uint32_t look_at_row(const Args &args, const uint4 (&data)[ROWS], unsigned r, uint32_t around,
                                                           TextSpan span, uint64_t at, bool &is_cut, EncodeCodes<UNIT> &codes,
                                                           uint32_t &counted, int lane) {
        if constexpr (UNIT == 4)
            codes = codes_of_row(data[0]);
        else
            codes = codes_of_row(data[0], beside_row(data, r, around, args.swap, lane), args.swap);
        const uint32_t owned = owned_bits(at, span), bad = codes.bad & owned;
        counted = owned & (args.replace ? ~0u : ~bad);
        if (args.strict) is_cut = cut_row(counted, bad, is_cut, lane);
        return bad;
    }

    /* ---- reducers ---- */

    /* In lane 0 the unit before a chunk, in lane 31 the one behind it: from its neighbour in the slot, or from global memory. */
    static __device__ __forceinline__ uint32_t units_around(const Args &args, const uint4 *chunk, uint64_t first, TextSpan span, int lane) {
        const uint64_t at = lane == 0 ? first - 1 : first + ROWS * ROW_UNITS; /* wraps around before the first unit */
        if ((lane != 0 && lane != 31) || at < span.first || at >= span.end) return 0;
        if (at / TILE_UNITS != first / TILE_UNITS) return ((const uint16_t *)args.in)[at];
        return ((const uint16_t *)chunk)[lane == 0 ? -1 : (int)(ROWS * ROW_UNITS)];
    }

    static __device__ __noinline__ void hand_in_bad(const Args &args, Utf8Found mine, uint64_t first, int lane) {
        uint32_t sums[1] = {mine.sequences}, least[1] = {mine.first};
        warp_fold_rows<Add<uint32_t>>(sums);
        warp_fold_rows<Min<uint32_t>>(least);
        if (lane != 0) return;
        atomicAdd(&args.tally->bad_sequences, (unsigned long long)sums[0]);
        atomicAdd(&args.tally->bad_units, (unsigned long long)sums[0]);
        atomicMax(&args.tally->before_error, (unsigned long long)(UTF8_NOWHERE - (first + least[0])));
        __threadfence(); /* they must be there when the aggregate is */
    }

    static __device__ __forceinline__ Value reduce(const Args &args, const uint4 *chunk, RingPlace place, uint32_t *note, int lane) {
        const bool inner = is_inner(args, place);
        const TextSpan span = inner ? UTF8_EVERYWHERE : whole_span(args);
        const uint64_t first = place.first / UNIT;
        Utf8Found found = utf8_found_none();
        uint32_t around = 0, notes = 0, total = 0;
        uint4 data[ROWS];
        bool is_cut = false;
        if constexpr (UNIT == 2) note[32 + lane] = around = units_around(args, chunk, first, span, lane);
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) data[r] = chunk[32 * r + lane];
#pragma unroll UNROLLED
        for (unsigned r = 0; r < ROWS; r++) {
            const uint32_t kind = inner && !is_cut ? kind_of_row(data, r, around, args.swap, lane) : UTF8_ROW_ANY;
            uint32_t nbytes = 0;
            if (kind != UTF8_ROW_ANY) {
                nbytes = EncodeRow<UNIT>::count(data[0], kind, args.swap);
            } else {
                const uint32_t place_in_chunk = r * ROW_UNITS + (uint32_t)lane * VEC;
                EncodeCodes<UNIT> codes;
                uint32_t counted;
                const uint32_t bad = look_at_row(args, data, r, around, span, first + place_in_chunk, is_cut, codes, counted, lane);
                found.sequences += (uint32_t)__popc(bad);
                if (bad != 0) found.first = min(found.first, place_in_chunk + (uint32_t)__ffs((int)bad) - 1);
                nbytes = count_codes<UNIT>(codes, counted);
            }
            notes |= (kind << 5 | nbytes) << 8 * r;
            total += nbytes;
            rotate(data);
        }
        note[lane] = notes;
        if (__any_sync(ALL_LANES, found.sequences != 0)) hand_in_bad(args, found, first, lane);
        return __reduce_add_sync(ALL_LANES, total) | (is_cut ? UTF8_CUT_32 : 0);
    }

    /* ---- finishers ---- */

    static __device__ __forceinline__ void prepare(const Args &, const uint4 *chunk, RingPlace, Local &local, int lane) {
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) local.data[r] = chunk[32 * r + lane];
    }

    static __device__ __forceinline__ void finish(const Args &args, uint4 *chunk, RingPlace place, const uint32_t *note, Local &local,
                                                  Carry prefix, int lane) {
        const uint32_t around = UNIT == 2 ? note[(NOTE_WORDS - 1) * 32 + lane] : 0;
        uint32_t notes = note[lane], before[PAIRS];
        uint32_t row[PAIRS] = {(notes & 0x1F) | (notes >> 8 & 0x1F) << 16, (notes >> 16 & 0x1F) | (notes >> 24 & 0x1F) << 16};
        scan_packed_rows(before, row, lane);
        const uint32_t total = (row[0] & 0xFFFF) + (row[0] >> 16) + (row[1] & 0xFFFF) + (row[1] >> 16);
        const bool in_one = total + 3 <= ROWS * 512; /* what they become fits the chunk's place, however it lies to words */
        unsigned char *stage = (unsigned char *)chunk + (uintptr_t)(args.out + prefix) % 4;
        uint64_t at = prefix;
        uint32_t nbytes = 0;
        bool is_cut = false;
        if (at & UTF8_CUT) return;
        __syncwarp(); /* the chunk has been read, by all lanes */
#pragma unroll UNROLLED
        for (unsigned r = 0; r < ROWS; r++) {
            unsigned char *const to = stage + nbytes + (before[0] & 0xFFFF);
            const uint32_t kind = notes >> 5 & 7;
            if (UNIT == 2 && kind == UTF8_ROW_PAIRS)
                EncodeRow<2>::put_pairs(to, local.data[0], beside_row(local.data, r, around, args.swap, lane), args.swap);
            else if (kind != UTF8_ROW_ANY)
                put_row<UNIT>(to, local.data[0], kind, args.swap);
            else
                put_any(args, local, place, r, around, is_cut, to, lane);
            nbytes += row[0] & 0xFFFF;
            notes >>= 8;
            rotate_in(before, 0);
            rotate_in(row, 0);
            rotate(local.data);
            if (r != ROWS - 1 && (r != ROWS / 2 - 1 || in_one)) continue;
            __syncwarp(); /* the bytes are there */
            if (at < args.capacity) store_staged(args.out + at, stage, (uint32_t)min((uint64_t)nbytes, args.capacity - at), lane);
            __syncwarp(); /* they have been read */
            at += nbytes;
            stage = (unsigned char *)chunk + (uintptr_t)(args.out + at) % 4;
            nbytes = 0;
        }
    }

    static __device__ __forceinline__ void put_any(const Args &args, const Local &local, RingPlace place, unsigned r, uint32_t around,
                                                   bool &is_cut, unsigned char *to, int lane) {
        const TextSpan span = is_inner(args, place) ? UTF8_EVERYWHERE : whole_span(args);
        EncodeCodes<UNIT> codes;
        uint32_t counted;
        look_at_row(args, local.data, r, around, span, place.first / UNIT + r * ROW_UNITS + (uint32_t)lane * VEC, is_cut, codes, counted,
                    lane);
        put_codes<UNIT>(to, codes, counted);
    }
};

static inline bool ring_utf8_encode_suits(const struct cuda_queue *queue, const struct utf8_args *a) {
    const uint64_t nbytes = a->n * (a->from == UPSWEEP_UTF32 ? 4 : 2);
    return a->out != NULL && a->n > 0 && should_run_ring(queue, nbytes, RING_UTF8_MIN_NBYTES);
}

template <int UNIT>
static cudaError_t launch_ring_utf8_encode(const struct cuda_queue *queue, const Utf8Args &args, const struct utf8_args *a) {
    return launch_ring<RingUtf8Encode<UNIT>>(queue, args, a->in, a->n * UNIT);
}

#endif
