/* lookback_utf8_encode.cuh: UTF-32 and UTF-16 to UTF-8 as a policy of the look-back pass: an expansion of each code unit to the bytes of
 * its code point, and a compaction of those that are not used.
 *
 *   vectors    16 bytes of code units a lane and row, in registers; the address of the text is rounded down to 16 bytes, so all is aligned
 *   bytes      1 to 4 for each code point (utf8_encode.cuh); they go side by side to shared memory, and from there out in aligned vectors
 *
 * Cost: every unit in once, every byte out once. */
#ifndef UPSWEEP_CUDA_LOOKBACK_UTF8_ENCODE_CUH
#define UPSWEEP_CUDA_LOOKBACK_UTF8_ENCODE_CUH

#include "lookback_utf8.cuh"
#include "utf8_encode.cuh"

/* Rows are gone through in loops that are not unrolled, as the code for one is long and the instruction cache small; but registers have no
 * indices. So a loop works on the first of an array and then rotates it: after all rows, all is where it was. */
template <class T, int N> static __device__ __forceinline__ void rotate(T (&x)[N]) {
    const T first = x[0];
#pragma unroll
    for (int i = 0; i + 1 < N; i++) x[i] = x[i + 1];
    x[N - 1] = first;
}

/* Numbers of 16 bits, two in a register: rotates them, and puts a new one in the last place. */
template <int N> static __device__ __forceinline__ void rotate_in(uint32_t (&x)[N], uint32_t last) {
#pragma unroll
    for (int i = 0; i + 1 < N; i++) x[i] = __funnelshift_r(x[i], x[i + 1], 16);
    x[N - 1] = x[N - 1] >> 16 | last << 16;
}

/* UNIT: bytes of a code unit of the input. Shape: of tuning.h; ROWS of 32 vectors a warp. */
template <int UNIT, class Shape> struct LookbackUtf8Encode : LookbackUtf8<32 * 16 / UNIT, Shape> {
    typedef LookbackUtf8<32 * 16 / UNIT, Shape> Base;
    using Base::THREADS, Base::ROWS, Base::PAIRS, Base::ROW_ITEMS, Base::WARP_ITEMS, Base::TILE_ITEMS, Base::before, Base::row,
        Base::first_of;
    using typename Base::Args, typename Base::Value, typename Base::Op;
    enum { VEC = 16 / UNIT, IN_NBYTES = UNIT, MOST = UNIT == 4 ? 4 : 3 /* bytes that a unit can become */ };
    struct Shared {
        alignas(16) unsigned char stage[THREADS / 32][16 + MOST * WARP_ITEMS];
        Utf8Found found;
    };

    uint4 data[ROWS];
    uint32_t around[ROWS];  /* UTF-16: the unit before the row in lane 0, the one behind it in lane 31 */
    uint32_t kinds;         /* UTF8_KIND_BITS a row, those of the first row lowest */
    uint32_t counted[ROWS]; /* rows of any kind: a bit a unit, if it becomes bytes */

    static __device__ __forceinline__ uint32_t place_of(int warp, int r, int lane) {
        return (uint32_t)(warp * WARP_ITEMS + r * ROW_ITEMS + lane * VEC);
    }

    /* ---- in ---- */

    __device__ __forceinline__ void load(const Args &args, TextSpan span, uint64_t first, int warp, int lane, bool inner) {
        const uint64_t begin = args.begin * UNIT, end = span.end * UNIT;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int64_t at = (int64_t)(first + place_of(warp, r, lane)) * UNIT;
            data[r] = inner || is_whole_vector(at, begin, end) ? __ldcs((const uint4 *)(args.in + at)) : uint4{0, 0, 0, 0};
        }
        if constexpr (UNIT == 2) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const uint64_t at = lane == 0 ? first + place_of(warp, r, 0) - 1 : first + place_of(warp, r + 1, 0);
                const bool wanted = (lane == 0 || lane == 31) && at >= args.begin && at < span.end;
                around[r] = wanted ? utf16_unit(((const uint16_t *)args.in)[at], args.swap) : 0;
            }
        }
        if (!inner) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const int64_t at = (int64_t)(first + place_of(warp, r, lane)) * UNIT;
                if (is_cut_vector(at, begin, end)) data[r] = load_cut_vector(args.in, at, begin, end);
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) data[r] = EncodeRow<UNIT>::in_order(data[r], args.swap);
    }

    /* Does all of the row at `at` lie in the text? */
    static __device__ __forceinline__ bool is_inner_row(uint64_t at, const TextSpan &span, bool inner) {
        return inner || (at >= span.first && at + ROW_ITEMS <= span.end);
    }

    /* Of the first row. */
    __device__ __forceinline__ EncodeCodes<UNIT> first_codes(int lane) const {
        if constexpr (UNIT == 4)
            return codes_of_row(data[0]);
        else
            return codes_of_row(data[0], EncodeRow<2>::around(data[0], around[0], around[0], lane));
    }

    __device__ __forceinline__ uint32_t first_kind() const { return kinds & ((1u << UTF8_KIND_BITS) - 1); }

    /* The next row becomes the first. */
    __device__ __forceinline__ void next_row() {
        rotate(data);
        rotate(counted);
        if constexpr (UNIT == 2) rotate(around);
        kinds = kinds >> UTF8_KIND_BITS | first_kind() << UTF8_KIND_BITS * (ROWS - 1);
    }

    __device__ __forceinline__ Value reduce(const Args &args, uint32_t tile, Shared &s, int warp, int lane) {
        const uint64_t first = first_of(tile);
        const bool inner = is_inner_tile(args, first, TILE_ITEMS);
        const TextSpan span = inner ? UTF8_EVERYWHERE : whole_span(args);
        load(args, span, first, warp, lane, inner);
        if (threadIdx.x == 0) s.found = utf8_found_none();
        __syncthreads(); /* nothing is found yet */
        Utf8Found found = utf8_found_none();
        bool is_cut = false;
        kinds = 0;
#pragma unroll
        for (int i = 0; i < PAIRS; i++) row[i] = 0;
#pragma unroll 2
        for (int r = 0; r < ROWS; r++) {
            uint32_t nbytes, kind = UTF8_ROW_ANY;
            if (!is_cut && is_inner_row(first + place_of(warp, r, 0), span, inner))
                kind = EncodeRow<UNIT>::look(nbytes, data[0], UNIT == 2 ? around[0] : 0, lane);
            if (kind == UTF8_ROW_ANY) nbytes = reduce_any(args, span, first, place_of(warp, r, lane), lane, inner, is_cut, found);
            kinds |= kind;
            rotate_in(row, nbytes);
            next_row();
        }
        if (ROWS % 2 != 0) rotate_in(row, 0); /* the first row is to be the lower half of its pair */
        found.units = found.sequences;
        add_findings(s.found, found, lane);
        return sum_packed_rows(row) | (is_cut ? UTF8_CUT : 0);
    }

    /* Sets `counted` of the first row, of any kind, and returns its bytes in this lane. */
    __device__ __forceinline__ uint32_t reduce_any(const Args &args, TextSpan span, uint64_t first, uint32_t place, int lane, bool inner,
                                                   bool &is_cut, Utf8Found &found) {
        const uint32_t owned = inner ? (1u << VEC) - 1 : vector_bits(first + place, span);
        const EncodeCodes<UNIT> c = first_codes(lane);
        const uint32_t bad = c.bad & owned;
        counted[0] = owned & (args.replace ? ~0u : ~bad);
        if (bad != 0) {
            found.sequences += (uint32_t)__popc(bad);
            found.first = min(found.first, UTF8_PLACE_ZERO + place + (uint32_t)__ffs((int)bad) - 1);
        }
        if (args.strict) is_cut = cut_row(counted[0], bad, is_cut, lane);
        return count_codes<UNIT>(c, counted[0]);
    }

    /* The units of the vector at `at` that lie in the span. */
    static __device__ __forceinline__ uint32_t vector_bits(uint64_t at, TextSpan span) { return window_bits(at, span) & ((1u << VEC) - 1); }

    /* ---- out ---- */

    __device__ __forceinline__ void finish(const Args &args, uint32_t tile, Scanned<Value> scanned, Shared &s, int warp, int lane) {
        const unsigned long long arrived = Base::report(args, tile, s.found, scanned);
        const uint64_t at = Op::apply(scanned.prefix, scanned.before);
        if (args.out != nullptr && !(at & UTF8_CUT) && at < args.capacity) {
            StagedRun run(args, at, s.stage[warp]);
#pragma unroll 2
            for (int r = 0; r < ROWS; r++) {
                stage_row(run.end() + (before[0] & 0xFFFF), lane);
                run.nbytes += row[0] & 0xFFFF;
                rotate_in(before, 0);
                rotate_in(row, 0);
                next_row();
            }
            run.leave(lane);
        }
        if (threadIdx.x == Base::REPORTER) conclude(args, arrived);
    }

    __device__ __forceinline__ void stage_row(unsigned char *to, int lane) const {
        const uint32_t kind = first_kind();
        if constexpr (UNIT == 2)
            if (kind == UTF8_ROW_PAIRS) {
                EncodeRow<2>::put_pairs(to, data[0], EncodeRow<2>::around(data[0], around[0], around[0], lane).left);
                return;
            }
        if (kind != UTF8_ROW_ANY)
            put_row<UNIT>(to, data[0], kind);
        else
            put_codes<UNIT>(to, first_codes(lane), counted[0]);
    }
};

#endif
