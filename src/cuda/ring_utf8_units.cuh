/* ring_utf8_units.cuh: chunks of UTF-32 and UTF-16 to UTF-8 unit by unit, with masks of those that count, where ring_utf8_encode.cuh knows
 * no faster way.
 *
 *     chunk    | lane 0: 32 bytes | lane 1 | ... | lane 31 |  lane 0 | lane 1 | ... | lane 31 |      2 KiB: two runs a lane (utf8_runs.cuh)
 *
 * Run after run, in loops that are not unrolled: this is rare, and the instruction cache is small. */
#ifndef UPSWEEP_CUDA_RING_UTF8_UNITS_CUH
#define UPSWEEP_CUDA_RING_UTF8_UNITS_CUH

#include "ring_utf8.cuh"
#include "utf8_encode.cuh"
#include "utf8_stage.cuh"

/* As UntilCut, in 32 bits: enough for the tiles of a wave. */
#define UTF8_CUT_32 (1u << 31)

struct UntilCut32 : AnyOperator {
    static __device__ __forceinline__ uint32_t apply(uint32_t a, uint32_t b) { return a & UTF8_CUT_32 ? a : a + b; }
    static __device__ __forceinline__ uint32_t identity() { return 0; }
};

template <> struct UnlessSpecial<UntilCut32> {
    typedef Add<uint32_t> By;
    static __device__ __forceinline__ bool special(uint32_t x) { return x & UTF8_CUT_32; }
};

/* UNIT: bytes of a code unit of the input. */
template <int UNIT> struct RingUtf8Units : RingUtf8 {
    typedef UntilCut32 Op;
    static constexpr unsigned ROWS = 4, CHUNK_NBYTES = ROWS * ROW_NBYTES, CHUNK_UNITS = CHUNK_NBYTES / UNIT;
    static constexpr unsigned RUN_UNITS = CHUNK_UNITS / 64, VEC = 16 / UNIT; /* of a lane, and of a vector */
    static_assert(RUN_UNITS == 2 * VEC, "a lane has two runs of two vectors");

    /* What a chunk's units that are ill-formed come to, for the report. least: the first one, if it may be that of all. */
    static __device__ __forceinline__ void hand_in_bad(uint32_t number, uint32_t least, uint64_t first, int lane) {
        RingUtf8Found &found = ring_utf8_found();
        const uint32_t sum = __reduce_add_sync(ALL_LANES, number), first_bad = __reduce_min_sync(ALL_LANES, least);
        if (lane != 0 || sum == 0) return;
        atomicAdd(&found.bad_sequences, sum);
        atomicAdd(&found.bad_units, sum);
        if (first_bad != UINT32_MAX) atomicMin(&found.error_at, (unsigned long long)(first + first_bad));
    }

    static __device__ __forceinline__ uint4 load(const Args &args, const uint4 *chunk, unsigned run, unsigned half, int lane) {
        return EncodeRow<UNIT>::in_order(chunk[64 * run + 2 * (unsigned)lane + half], args.swap);
    }

    /* The codes of one of the two vectors of a lane's run. */
    static __device__ __forceinline__ EncodeCodes<UNIT> codes_of(const Args &args, const uint4 *chunk, unsigned run, unsigned half,
                                                                 int lane) {
        const uint4 v = load(args, chunk, run, half, lane);
        if constexpr (UNIT == 4) {
            return codes_of_row(v);
        } else {
            const uint16_t *const units = (const uint16_t *)chunk + run * CHUNK_UNITS / 2 + (unsigned)lane * RUN_UNITS + half * VEC;
            return codes_of_row(v, {utf16_unit(units[-1], args.swap), utf16_unit(units[VEC], args.swap)});
        }
    }

    /* A lane's run. bad: a bit a unit. */
    struct AnyRun {
        EncodeCodes<UNIT> a, b;
        uint32_t bad, counted, of_a, of_b;
    };

    static __device__ __forceinline__ AnyRun look_at_any(const Args &args, const uint4 *chunk, uint64_t first, unsigned run, bool &is_cut,
                                                         int lane) {
        AnyRun x = {codes_of(args, chunk, run, 0, lane), codes_of(args, chunk, run, 1, lane), 0, 0, 0, 0};
        const uint64_t at = first + run * CHUNK_UNITS / 2 + (uint32_t)lane * RUN_UNITS;
        const uint32_t owned = window_bits(at, ring_utf8_found().span) & ((1u << RUN_UNITS) - 1);
        x.bad = (x.a.bad | x.b.bad << VEC) & owned;
        x.counted = owned & (args.replace ? ~0u : ~x.bad);
        if (args.strict) is_cut = cut_row(x.counted, x.bad, is_cut, lane);
        x.of_a = count_codes<UNIT>(x.a, x.counted);
        x.of_b = count_codes<UNIT>(x.b, x.counted >> VEC);
        return x;
    }

    static __device__ __forceinline__ Value count_any(const Args &args, const uint4 *chunk, uint64_t first, int lane) {
        uint32_t number = 0, least = UINT32_MAX, nbytes = 0;
        bool is_cut = false;
#pragma unroll 1
        for (unsigned run = 0; run < 2; run++) {
            const AnyRun x = look_at_any(args, chunk, first, run, is_cut, lane);
            number += (uint32_t)__popc(x.bad);
            if (x.bad != 0) least = min(least, run * CHUNK_UNITS / 2 + (uint32_t)lane * RUN_UNITS + (uint32_t)__ffs((int)x.bad) - 1);
            nbytes += x.of_a + x.of_b;
        }
        hand_in_bad(number, least, first, lane);
        return __reduce_add_sync(ALL_LANES, nbytes) | (is_cut ? UTF8_CUT_32 : 0);
    }

    static __device__ __forceinline__ void put_any(const Args &args, const uint4 *chunk, uint64_t first, unsigned char *stage, int lane) {
        bool is_cut = false;
#pragma unroll 1
        for (unsigned run = 0; run < 2; run++) {
            const AnyRun x = look_at_any(args, chunk, first, run, is_cut, lane);
            uint32_t before[1], row[1] = {x.of_a + x.of_b};
            const uint32_t nbytes = scan_packed_rows(before, row, lane);
            put_codes<UNIT>(stage + before[0], x.a, x.counted);
            put_codes<UNIT>(stage + before[0] + x.of_a, x.b, x.counted >> VEC);
            stage += nbytes;
        }
    }

    /* Where a chunk's first ill-formed unit is. */
    static __device__ __forceinline__ uint32_t first_bad(const Args &args, const uint4 *chunk, uint64_t first, int lane) {
        bool is_cut = false;
#pragma unroll 1
        for (unsigned run = 0; run < 2; run++) {
            const uint32_t bad = look_at_any(args, chunk, first, run, is_cut, lane).bad;
            const uint32_t least = run * CHUNK_UNITS / 2 + (uint32_t)lane * RUN_UNITS + (uint32_t)__ffs((int)bad) - 1;
            if (__any_sync(ALL_LANES, bad != 0)) return bad != 0 ? least : UINT32_MAX;
        }
        return UINT32_MAX;
    }
};

#endif
