/* lookback_utf8_encode.cuh: UTF-32 and UTF-16 to UTF-8 as a policy of the look-back pass: an expansion of each code unit to the bytes of
 * its code point, and a compaction of those that are not used.
 *
 *   vectors    16 bytes of code units a lane and row, in registers; the address of the text is rounded down to 16 bytes, so all is aligned
 *   codes      a low surrogate behind a high one stands for both, the high one for nothing: one unit before and one after tell
 *   bytes      1 to 4 for each code point that counts; they go side by side to shared memory, and from there out in aligned vectors
 *
 * Cost: every unit in once, every byte out once. */
#ifndef UPSWEEP_CUDA_LOOKBACK_UTF8_ENCODE_CUH
#define UPSWEEP_CUDA_LOOKBACK_UTF8_ENCODE_CUH

#include "lookback.cuh"
#include "utf8_stage.cuh"

/* UNIT: bytes of a code unit of the input. */
template <int UNIT> struct LookbackUtf8Encode {
    typedef Utf8Args Args;
    typedef unsigned long long Value;
    typedef UntilCut Op;
    enum { THREADS = UTF8_ENCODE_THREADS, CTAS = UTF8_ENCODE_CTAS, ROWS = UTF8_ENCODE_ROWS * UNIT / 4, WORD_NBYTES = 8, IN_NBYTES = UNIT };
    enum {
        VEC = 16 / UNIT,
        ROW_ITEMS = 32 * VEC,
        WARP_ITEMS = ROWS * ROW_ITEMS,
        TILE_ITEMS = THREADS / 32 * WARP_ITEMS,
        PAIRS = (ROWS + 1) / 2,
        MOST = UNIT == 4 ? 4 : 3 /* bytes that a unit can become: a pair, four */
    };
    struct Shared {
        alignas(16) unsigned char stage[THREADS / 32][16 + MOST * WARP_ITEMS + 32];
        Utf8Found found;
    };
    struct Codes {
        uint32_t code[VEC];
    };

    uint4 data[ROWS];
    uint32_t around[ROWS];  /* UTF-16: the unit before the row in lane 0, the one behind it in lane 31 */
    uint32_t counted[ROWS]; /* a bit a unit: becomes bytes */
    uint32_t before[PAIRS]; /* bytes of the row before this vector: rows 2i and 2i + 1 in 16 bits each */
    uint32_t row[PAIRS];    /* bytes of the row */

    static __device__ __forceinline__ Value carry_in(const Args &) { return 0; }
    static __device__ __forceinline__ uint64_t first_of(uint32_t tile) { return (uint64_t)tile * TILE_ITEMS; }
    static __device__ __forceinline__ uint32_t place_of(int warp, int r, int lane) {
        return (uint32_t)(warp * WARP_ITEMS + r * ROW_ITEMS + lane * VEC);
    }

    /* ---- in ---- */

    __device__ __forceinline__ void load(const Args &args, TextSpan span, uint64_t first, int warp, int lane, bool inner) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const uint64_t at = first + place_of(warp, r, lane);
            data[r] = inner ? __ldcs((const uint4 *)(args.in + at * UNIT)) : load_some_bytes(args, (int64_t)(at * UNIT), span.end * UNIT);
        }
        if constexpr (UNIT == 2) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const uint64_t at = lane == 0 ? first + place_of(warp, r, 0) - 1 : first + place_of(warp, r + 1, 0);
                around[r] = (lane == 0 || lane == 31) && at >= args.begin && at < span.end ? ((const uint16_t *)args.in)[at] : 0;
            }
        }
    }

    /* The code points of a row, and bits for units that are ill-formed and for those that stand for nothing. */
    __device__ __forceinline__ Codes codes_of(int r, bool swap, int lane, uint32_t &bad, uint32_t &silent) const {
        const uint32_t word[4] = {data[r].x, data[r].y, data[r].z, data[r].w};
        Codes c;
        bad = silent = 0;
        if constexpr (UNIT == 4) {
#pragma unroll
            for (int i = 0; i < VEC; i++) {
                const bool good = is_scalar(word[i]);
                c.code[i] = good ? word[i] : 0xFFFD;
                bad |= (good ? 0u : 1u) << i;
            }
            return c;
        }
        const uint32_t left = __shfl_up_sync(ALL_LANES, word[3] >> 16, 1), right = __shfl_down_sync(ALL_LANES, word[0] & 0xFFFF, 1);
        uint32_t previous = utf16_unit(lane == 0 ? around[r] : left, swap), unit = utf16_unit(word[0] & 0xFFFF, swap);
#pragma unroll
        for (int i = 0; i < VEC; i++) {
            const uint32_t behind = i + 1 == VEC ? (lane == 31 ? around[r] : right) : word[(i + 1) / 2 % 4] >> (i + 1) % 2 * 16 & 0xFFFF;
            const uint32_t next = utf16_unit(behind, swap);
            const bool ends_pair = is_low_surrogate(unit) && is_high_surrogate(previous);
            const bool begins_pair = is_high_surrogate(unit) && is_low_surrogate(next);
            const bool good = ends_pair || begins_pair || unit >> 11 != 0xD800 >> 11;
            c.code[i] = ends_pair ? 0x10000 + ((previous & 0x3FF) << 10 | (unit & 0x3FF)) : good ? unit : 0xFFFD;
            bad |= (good ? 0u : 1u) << i;
            silent |= (begins_pair ? 1u : 0u) << i;
            previous = unit;
            unit = next;
        }
        return c;
    }

    __device__ __forceinline__ Value reduce(const Args &args, uint32_t tile, Shared &s, int warp, int lane) {
        const uint64_t first = first_of(tile);
        const bool inner = is_inner_tile(args, first, TILE_ITEMS);
        const TextSpan span = inner ? TextSpan{0, UINT64_MAX} : whole_span(args);
        load(args, span, first, warp, lane, inner);
        if (threadIdx.x == 0) s.found = utf8_found_none();
        __syncthreads(); /* nothing is found yet */
        Utf8Found found = utf8_found_none();
        bool is_cut = false;
#pragma unroll
        for (int i = 0; i < PAIRS; i++) row[i] = 0;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const uint32_t place = place_of(warp, r, lane), owned = inner ? (1u << VEC) - 1 : vector_bits(first + place, span);
            uint32_t bad, silent;
            const Codes c = codes_of(r, args.swap, lane, bad, silent);
            bad &= owned;
            counted[r] = owned & ~silent & (args.replace ? ~0u : ~bad);
            if (bad != 0) {
                found.sequences += (uint32_t)__popc(bad);
                found.first = min(found.first, UTF8_PLACE_ZERO + place + (uint32_t)__ffs((int)bad) - 1);
            }
            if (args.strict) is_cut = cut_row(counted[r], bad, is_cut, lane);
            uint32_t nbytes = 0;
#pragma unroll
            for (int i = 0; i < VEC; i++) nbytes += counted[r] >> i & 1 ? utf8_length(c.code[i]) : 0;
            row[r / 2] += nbytes << r % 2 * 16;
        }
        found.units = found.sequences;
        add_findings(s.found, found, lane);
        return scan_packed_rows<ROWS>(before, row, lane) | (is_cut ? UTF8_CUT : 0);
    }

    /* The units of the vector at `at` that lie in the span. */
    static __device__ __forceinline__ uint32_t vector_bits(uint64_t at, TextSpan span) { return window_bits(at, span) & ((1u << VEC) - 1); }

    /* ---- out ---- */

    __device__ __forceinline__ void finish(const Args &args, uint32_t tile, Scanned<Value> scanned, Shared &s, int warp, int lane) {
        unsigned long long arrived = 0;
        if (threadIdx.x == 0)
            arrived = hand_in(args, first_of(tile), tile, s.found, scanned.prefix, Op::apply(scanned.prefix, scanned.aggregate));
        const uint64_t at = Op::apply(scanned.prefix, scanned.before);
        if (args.out != nullptr && !(at & UTF8_CUT) && at < args.capacity) {
            unsigned char *const stage = s.stage[warp] + 16 + (uintptr_t)(args.out + at) % 16;
            uint32_t nbytes = 0;
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                stage_row(r, args.swap, stage + nbytes + (before[r / 2] >> r % 2 * 16 & 0xFFFF), lane);
                nbytes += row[r / 2] >> r % 2 * 16 & 0xFFFF;
            }
            __syncwarp(); /* the bytes are there */
            store_bytes(args.out + at, stage, (uint32_t)min((uint64_t)nbytes, args.capacity - at), lane);
        }
        if (threadIdx.x == 0) conclude(args, arrived);
    }

    __device__ __forceinline__ void stage_row(int r, bool swap, unsigned char *to, int lane) const {
        uint32_t bad, silent;
        const Codes c = codes_of(r, swap, lane, bad, silent);
#pragma unroll
        for (int i = 0; i < VEC; i++) {
            if (!(counted[r] >> i & 1)) continue;
            const uint32_t bytes = utf8_of(c.code[i]), nbytes = utf8_length(c.code[i]);
            to[0] = (unsigned char)bytes;
            if (nbytes > 1) to[1] = (unsigned char)(bytes >> 8);
            if (nbytes > 2) to[2] = (unsigned char)(bytes >> 16);
            if (nbytes > 3) to[3] = (unsigned char)(bytes >> 24);
            to += nbytes;
        }
    }
};

#endif
