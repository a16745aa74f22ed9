/* ring_utf8_encode.cuh: UTF-32 and UTF-16 to UTF-8 as a policy of the ring pass.
 *
 *   reducers   the kind of each chunk (utf8_encode.cuh), and the bytes that a lane's vectors become, for the finisher; and what is
 *              ill-formed (ring_utf8_found.cuh)
 *   finishers  take their units into registers and give the slot back; put the bytes side by side in shared memory of their own, as
 *              they will lie in the output, so that they leave in aligned vectors; half a chunk at a time if there are many
 *
 * Aggregates are as in the look-back pass, so strict conversion works alike: what lies behind an ill-formed unit counts nothing.
 * Cost: every unit in once, every byte out once. */
#ifndef UPSWEEP_CUDA_RING_UTF8_ENCODE_CUH
#define UPSWEEP_CUDA_RING_UTF8_ENCODE_CUH

#include "ring.cuh"
#include "ring_utf8_found.cuh"
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
    typedef EncodeRow<UNIT> Row;
    static constexpr unsigned REDUCERS = RING_UTF8_ENCODE_REDUCERS, FINISHERS = RING_UTF8_ENCODE_FINISHERS;
    static constexpr unsigned ROWS = RING_UTF8_ENCODE_ROWS, STAGES = RING_UTF8_ENCODE_STAGES, VEC = 16 / UNIT, ROW_UNITS = 32 * VEC;
    static constexpr unsigned TILE_UNITS = FINISHERS * ROWS * ROW_UNITS, PAIRS = ROWS / 2;
    static constexpr unsigned SIDE_NBYTES = 0, NOTE_WORDS = UNIT == 2 ? 2 : 1; /* UTF-16: the units around the chunk, too */
    static constexpr unsigned COUNT_BITS = 5, KIND_AT = ROWS * COUNT_BITS;     /* of a note: bytes a row, and the chunk's kind */
    static constexpr unsigned STAGE_NBYTES = 2048, WORK_NBYTES = STAGE_NBYTES + 32;
    static constexpr int UNROLLED = UNIT == 4 ? ROWS / 2 : 1; /* the code for rows of UTF-16 is long */
    static constexpr bool KEEPS_SLOT = true, WRITES_SLOT = false, HAS_REST = true, LEAVES = true;
    static_assert(ROWS == 4, "two counts in a register, and two rows always fit the stage");

    struct Local {
        uint4 data[ROWS];
        uint32_t note, around;
        Carry prefix;
    };

    static __device__ Carry carry_in(const Args &args) {
        ring_utf8_begin(args);
        return 0;
    }
    static __device__ Carry carry_add(Carry carry, Value v) {
        return UntilCut::apply(carry, (v & ~UTF8_CUT_32) | (v & UTF8_CUT_32 ? UTF8_CUT : 0));
    }

    /* What is not text reads as zeros. */
    static __device__ void pad(const Args &, unsigned char *slot, unsigned from, unsigned to, int lane) {
        for (unsigned i = from + (unsigned)lane; i < to; i += 32) slot[i] = 0;
    }

    static __device__ void end(const Args &args, Carry carry) { args.tally->needed = carry & ~UTF8_CUT; }
    static __device__ void leave(const Args &args) { ring_utf8_leave(args); }

    /* ---- both sides ---- */

    static __device__ __forceinline__ void load(uint4 (&data)[ROWS], const Args &args, const uint4 *chunk, int lane) {
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) data[r] = Row::in_order(chunk[32 * r + lane], args.swap);
    }

    /* All of a chunk, and what may be held back, is text. */
    static __device__ __forceinline__ bool is_inner(const Args &args, RingPlace place) {
        return place.first > 0 && place.first + ROWS * 512 + 16 <= args.n * UNIT;
    }

    static __device__ __forceinline__ uint32_t owned_bits(uint64_t at, TextSpan span) { return window_bits(at, span) & ((1u << VEC) - 1); }

    /* The units beside this lane's vector of row r, if it has become the first of `data`. around: in lanes 0 and 31, those beside the
     * chunk. */
    static __device__ __forceinline__ EncodeRow<2>::Around beside_row(const uint4 (&data)[ROWS], unsigned r, uint32_t around, int lane) {
        const uint32_t above = __shfl_sync(ALL_LANES, data[ROWS - 1].w >> 16, 31), below = __shfl_sync(ALL_LANES, data[1].x & 0xFFFF, 0);
        return EncodeRow<2>::around(data[0], r > 0 ? above : around, r + 1 < ROWS ? below : around, lane);
    }

    /* A row of any kind. bad: a bit a unit. */
    struct AnyRow {
        EncodeCodes<UNIT> codes;
        uint32_t bad, counted;
        bool is_cut;
    };

    /* at: place of the vector in the text; is_cut: it lies behind the end of strict conversion. */
    static __device__ __forceinline__ AnyRow look_at_any(const Args &args, uint4 v, EncodeRow<2>::Around beside, uint64_t at, bool is_cut,
                                                         int lane) {
        AnyRow row = {{}, 0, 0, is_cut};
        if constexpr (UNIT == 4)
            row.codes = codes_of_row(v);
        else
            row.codes = codes_of_row(v, beside);
        const uint32_t owned = owned_bits(at, ring_utf8_found().span);
        row.bad = row.codes.bad & owned;
        row.counted = owned & (args.replace ? ~0u : ~row.bad);
        if (args.strict) row.is_cut = cut_row(row.counted, row.bad, is_cut, lane);
        return row;
    }

    /* ---- reducers ---- */

    /* In lane 0 the unit before a chunk, in lane 31 the one behind it, if they may be the other halves of pairs: from its neighbour in the
     * slot, or from global memory, which takes a while. */
    static __device__ __forceinline__ uint32_t units_around(const Args &args, const uint4 *chunk, const uint4 (&data)[ROWS],
                                                            RingPlace place, int lane) {
        const bool is_open = lane == 31 && is_high_surrogate(data[ROWS - 1].w >> 16);
        if (!is_open && (lane != 0 || !is_low_surrogate(data[0].x & 0xFFFF))) return 0;
        const uint64_t first = place.first / UNIT, at = lane == 0 ? first - 1 : first + ROWS * ROW_UNITS; /* first - 1 may wrap around */
        const TextSpan &span = ring_utf8_found().span;
        if (at < span.first || at >= span.end) return 0;
        const bool outside = at / TILE_UNITS != first / TILE_UNITS;
        return utf16_unit(outside ? ((const uint16_t *)args.in)[at] : ((const uint16_t *)chunk)[lane == 0 ? -1 : (int)(ROWS * ROW_UNITS)],
                          args.swap);
    }

    /* What a chunk's units that are ill-formed come to, for the report. */
    static __device__ __noinline__ void hand_in_bad(uint32_t number, uint32_t least, uint64_t first, int lane) {
        RingUtf8Found &found = ring_utf8_found();
        uint32_t sums[1] = {number}, first_bad[1] = {least};
        warp_fold_rows<Add<uint32_t>>(sums);
        warp_fold_rows<Min<uint32_t>>(first_bad);
        if (lane != 0 || sums[0] == 0) return;
        atomicAdd(&found.bad_sequences, sums[0]);
        atomicAdd(&found.bad_units, sums[0]);
        atomicMin(&found.error_at, (unsigned long long)(first + first_bad[0]));
    }

    struct Counted {
        uint32_t number, least, nbytes;
        bool is_cut;
    };

    /* Adds a row of any kind to what has been counted of its chunk. */
    static __device__ __noinline__ Counted count_any(const Args &args, uint4 v, EncodeRow<2>::Around beside, uint64_t first, uint32_t place,
                                                     Counted c, int lane) {
        const AnyRow row = look_at_any(args, v, beside, first + place, c.is_cut, lane);
        c.number += (uint32_t)__popc(row.bad);
        if (row.bad != 0) c.least = min(c.least, place + (uint32_t)__ffs((int)row.bad) - 1);
        c.nbytes = count_codes<UNIT>(row.codes, row.counted);
        c.is_cut = row.is_cut;
        return c;
    }

    static __device__ __forceinline__ Value reduce(const Args &args, const uint4 *chunk, RingPlace place, uint32_t *note, int lane) {
        uint32_t around = 0, nbytes[ROWS], notes = 0, total = 0;
        uint4 data[ROWS];
        Counted any = {0, UINT32_MAX, 0, false};
        load(data, args, chunk, lane);
        if constexpr (UNIT == 2) note[32 + lane] = around = units_around(args, chunk, data, place, lane);
        const uint32_t kind = is_inner(args, place) ? Row::look(nbytes, data, around, lane) : UTF8_ROW_ANY;
        if (kind == UTF8_ROW_ANY) {
            const uint64_t first = place.first / UNIT;
            for (unsigned r = 0; r < ROWS; r++) {
                any = count_any(args, data[0], beside_row(data, r, around, lane), first, r * ROW_UNITS + (uint32_t)lane * VEC, any, lane);
                nbytes[0] = any.nbytes;
                rotate(data);
                rotate(nbytes);
            }
            hand_in_bad(any.number, any.least, first, lane);
        }
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            notes |= nbytes[r] << COUNT_BITS * r;
            total += nbytes[r];
        }
        note[lane] = notes | kind << KIND_AT;
        return __reduce_add_sync(ALL_LANES, total) | (any.is_cut ? UTF8_CUT_32 : 0);
    }

    /* ---- finishers ---- */

    static __device__ __forceinline__ void prepare(const Args &args, const uint4 *chunk, RingPlace, Local &local, int lane) {
        load(local.data, args, chunk, lane);
    }

    /* Takes along what is in the slot. */
    static __device__ __forceinline__ void finish(const Args &, const uint4 *, RingPlace, const uint32_t *note, Local &local, Carry prefix,
                                                  int lane) {
        local.note = note[lane];
        local.around = UNIT == 2 ? note[32 + lane] : 0;
        local.prefix = prefix;
    }

    static __device__ __noinline__ bool put_any(const Args &args, uint4 v, EncodeRow<2>::Around beside, uint64_t at, bool is_cut,
                                                unsigned char *to, int lane) {
        const AnyRow row = look_at_any(args, v, beside, at, is_cut, lane);
        put_codes<UNIT>(to, row.codes, row.counted);
        return row.is_cut;
    }

    /* The bytes of row r and the next, which have become the first two of local.data, to the stage, where the first one's begin; before:
     * those of the lanes before this one. */
    static __device__ __forceinline__ void stage_rows(const Args &args, Local &local, RingPlace place, unsigned r, unsigned char *to,
                                                      uint32_t row, uint32_t before, bool &is_cut, int lane) {
        const uint32_t kind = local.note >> KIND_AT;
        unsigned char *const from[2] = {to + (before & 0xFFFF), to + (row & 0xFFFF) + (before >> 16)};
        if (kind < UTF8_ROW_PAIRS) {
            put_rows<UNIT>(from, {local.data[0], local.data[1]}, kind);
            rotate(local.data);
            rotate(local.data);
            return;
        }
#pragma unroll
        for (unsigned i = 0; i < 2; i++) {
            const EncodeRow<2>::Around beside = beside_row(local.data, r + i, local.around, lane);
            if (UNIT == 2 && kind == UTF8_ROW_PAIRS)
                EncodeRow<2>::put_pairs(from[i], local.data[0], beside.left);
            else
                is_cut = put_any(args, local.data[0], beside, place.first / UNIT + (r + i) * ROW_UNITS + (uint32_t)lane * VEC, is_cut,
                                 from[i], lane);
            rotate(local.data);
        }
    }

    static __device__ __forceinline__ void rest(const Args &args, RingPlace place, Local &local, int lane) {
        if (local.prefix & UTF8_CUT) return;
        uint32_t before[PAIRS], row[PAIRS];
#pragma unroll
        for (unsigned i = 0; i < PAIRS; i++) {
            const uint32_t counts = local.note >> 2 * i * COUNT_BITS, mask = (1u << COUNT_BITS) - 1;
            row[i] = (counts & mask) | (counts >> COUNT_BITS & mask) << 16;
        }
        const bool in_one = scan_packed_rows(before, row, lane) <= STAGE_NBYTES - 16;
        StagedRun run(args, local.prefix, place.s_work);
        bool is_cut = false;
#pragma unroll UNROLLED
        for (unsigned r = 0; r < ROWS; r += 2) {
            stage_rows(args, local, place, r, run.end(), row[0], before[0], is_cut, lane);
            run.nbytes += (row[0] & 0xFFFF) + (row[0] >> 16);
            if (r > 0 || !in_one) run.leave(lane);
            rotate(row);
            rotate(before);
        }
    }
};

static inline bool ring_utf8_encode_suits(const struct cuda_queue *queue, const struct utf8_args *a) {
    const size_t unit_nbytes = a->from == UPSWEEP_UTF32 ? 4 : 2;
    return a->out != NULL && a->n > 0 && should_run_ring(queue, a->n * unit_nbytes, ring_utf8_encode_min_nbytes(unit_nbytes));
}

template <int UNIT>
static cudaError_t launch_ring_utf8_encode(const struct cuda_queue *queue, const Utf8Args &args, const struct utf8_args *a) {
    return launch_ring<RingUtf8Encode<UNIT>>(queue, args, a->in, a->n * UNIT);
}

#endif
