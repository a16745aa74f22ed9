/* lookback_compact.cuh: compaction and partition as policies of the look-back pass.
 *
 *   a vector  x0 x1 x2 x3     one bit an element: kept or not              1 0 1 1
 *   counts of a lane          two rows packed into one register, scanned over the lanes by shuffles
 *   staged                    what is kept goes side by side, in order, to shared memory   x0 x2 x3 ...
 *   stored                    from there in aligned vectors, however the run lies in the output
 *
 * A sink says what is staged and how it leaves: the elements themselves; or their places in the tile (16 bits), which become indices, or
 * records of any size fetched and copied by all threads together. A partition stages the rejected behind the kept ones. If they go behind
 * those in the output too, their place depends on the number of all kept ones: the total, if all tiles are resident, or else count.cuh
 * finds it first. Cost: every element once in, every kept one once out; a large partition to one array reads what decides (elements or
 * flags) once more. */
#ifndef UPSWEEP_CUDA_LOOKBACK_COMPACT_CUH
#define UPSWEEP_CUDA_LOOKBACK_COMPACT_CUH

#include "count.cuh"
#include "lookback.cuh"

template <class T> struct CompactArgs {
    Keep<T> keep;
    const T *in; /* what decides: elements, or flags of records */
    uint64_t n;
    const unsigned char *flags; /* of elements */
    bool flags_aligned;         /* to a vector's worth of them */
    uint64_t *count;
    unsigned char *out;
    unsigned char *rejected; /* partition: the array they go to, which may be out, behind all kept ones; else NULL */
    bool counted;            /* *count is there already */
    bool in_aligned;         /* to 16 bytes */
    /* indices: */
    uint64_t base;
    bool wide; /* 64 bits */
    /* records: */
    const unsigned char *records;
    uint32_t record_nbytes, unit; /* of one access: divides the size and all addresses */

    __host__ __device__ bool goes_behind() const { return rejected != nullptr && rejected == out; }
};

/* A bit for each flag of a vector that is set. */
template <int VEC> static __device__ __forceinline__ uint32_t flag_bits(uint4 flags) {
    const uint32_t words[4] = {flags.x, flags.y, flags.z, flags.w};
    uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < (VEC + 3) / 4; i++) bits |= gather_bytes(nonzero_bytes(words[i])) << 4 * i;
    return bits;
}

/* What a sink gets of a tile. */
struct Run {
    uint64_t first;    /* the tile's first element */
    uint64_t at;       /* kept ones before the tile */
    uint64_t nkept;    /* of the whole input, if the rejected ones go behind them; otherwise 0 */
    uint32_t kept;     /* of this tile */
    uint32_t rejected; /* of this tile, in a partition; otherwise 0 */
    __device__ __forceinline__ uint64_t rejected_at() const { return nkept + (first - at); }
};

/* An address in shared memory, for good: the compiler would rather find it anew, in ten instructions, for each element that is staged. */
template <class T> static __device__ __forceinline__ T *in_register(T *s_p) {
    uint32_t address = (uint32_t)__cvta_generic_to_shared(s_p);
    asm volatile("" : "+r"(address));
    return (T *)__cvta_shared_to_generic(address);
}

/* ---- sink: elements ---------------------------------------------------------------------------------------------------------- */

/* By all threads of the CTA: nbytes from shared memory to dst; both lie alike to 16 bytes. Vectors inside, elements at both ends, each by a
 * thread of its own. */
template <class T, int THREADS>
static __device__ __forceinline__ void store_run(unsigned char *dst, const unsigned char *s_src, uint32_t nbytes) {
    const uint32_t head = min((uint32_t)(-(uintptr_t)dst & 15), nbytes), body = (nbytes - head) & ~15u, tail = head + body;
    for (uint32_t i = head + threadIdx.x * 16; i < tail; i += THREADS * 16) __stcs((uint4 *)(dst + i), *(const uint4 *)(s_src + i));
    const uint32_t at = threadIdx.x * (uint32_t)sizeof(T);
    if (at < head) *(T *)(dst + at) = *(const T *)(s_src + at);
    if (at < nbytes - tail) *(T *)(dst + tail + at) = *(const T *)(s_src + tail + at);
}

template <class T> struct StageElements {
    /* Where the two runs begin: as their places in the output lie to 16 bytes. */
    template <int ITEMS> struct Shared { alignas(16) unsigned char stage[ITEMS * sizeof(T) + 48]; };
    static constexpr bool MOVES = true; /* elements of T, so it may be asked for both sides */
    T *s_kept, *s_rejected;

    __device__ __forceinline__ StageElements(unsigned char *stage, const CompactArgs<T> &args, const Run &run) {
        const uint32_t begin = skew(args.out, run.at), end = begin + run.kept * (uint32_t)sizeof(T);
        unsigned char *const s_stage = sizeof(T) < 8 ? in_register(stage) : stage; /* of 8 bytes there are few a lane */
        s_kept = (T *)(s_stage + begin);
        s_rejected = (T *)(s_stage + (end + 15) / 16 * 16 + skew(args.rejected, run.rejected_at()));
    }

    static __device__ __forceinline__ uint32_t skew(const unsigned char *array, uint64_t at) {
        return (uint32_t)((uintptr_t)(array + at * sizeof(T)) % 16);
    }

    __device__ __forceinline__ void put(bool kept, uint32_t rank, T x, uint32_t) const { (kept ? s_kept : s_rejected)[rank] = x; }

    template <int THREADS> __device__ __forceinline__ void store(const CompactArgs<T> &args, const Run &run) const {
        store_run<T, THREADS>(args.out + run.at * sizeof(T), (const unsigned char *)s_kept, run.kept * (uint32_t)sizeof(T));
        if (run.rejected > 0)
            store_run<T, THREADS>(args.rejected + run.rejected_at() * sizeof(T), (const unsigned char *)s_rejected,
                                  run.rejected * (uint32_t)sizeof(T));
    }
};

/* ---- sinks: places in the tile ----------------------------------------------------------------------------------------------- */

template <class T> struct StagePlaces {
    template <int ITEMS> struct Shared { uint16_t stage[ITEMS]; };
    static constexpr bool MOVES = false;
    uint16_t *s_kept, *s_rejected;

    __device__ __forceinline__ StagePlaces(uint16_t *stage, const CompactArgs<T> &, const Run &run)
        : s_kept(in_register(stage)), s_rejected(s_kept + run.kept) {}
    __device__ __forceinline__ void put(bool kept, uint32_t rank, T, uint32_t place) const {
        (kept ? s_kept : s_rejected)[rank] = (uint16_t)place;
    }
};

template <class T> struct StageIndices : StagePlaces<T> {
    using StagePlaces<T>::StagePlaces;

    template <int THREADS> __device__ __forceinline__ void store(const CompactArgs<T> &args, const Run &run) const {
        const uint64_t first = args.base + run.first;
        for (uint32_t i = threadIdx.x; i < run.kept; i += THREADS) {
            if (args.wide)
                __stcs((unsigned long long *)args.out + run.at + i, (unsigned long long)(first + this->s_kept[i]));
            else
                __stcs((uint32_t *)args.out + run.at + i, (uint32_t)first + this->s_kept[i]);
        }
    }
};

struct StageRecords : StagePlaces<uint8_t> {
    using StagePlaces<uint8_t>::StagePlaces;

    template <int THREADS> __device__ __forceinline__ void store(const CompactArgs<uint8_t> &args, const Run &run) const {
        switch (args.unit) {
        case 1:
            return copy<uint8_t, THREADS>(args, run);
        case 2:
            return copy<uint16_t, THREADS>(args, run);
        case 4:
            return copy<uint32_t, THREADS>(args, run);
        case 8:
            return copy<uint2, THREADS>(args, run);
        default:
            return copy<uint4, THREADS>(args, run);
        }
    }

    /* Unit j of all staged records, one after the other, is moved by thread j. */
    template <class Unit, int THREADS> __device__ __forceinline__ void copy(const CompactArgs<uint8_t> &args, const Run &run) const {
        const uint32_t units = args.record_nbytes / (uint32_t)sizeof(Unit), nunits = (run.kept + run.rejected) * units;
        Unit *const kept = (Unit *)args.out + run.at * units;
        Unit *const rejected = (Unit *)args.rejected + run.rejected_at() * units - (uint64_t)run.kept * units;
        const Unit *const in = (const Unit *)args.records + run.first * units;
#pragma unroll 4
        for (uint32_t j = threadIdx.x; j < nunits; j += THREADS) {
            const uint32_t record = units == 1 ? j : j / units, part = j - record * units;
            (record < run.kept ? kept : rejected)[j] = in[(uint64_t)s_kept[record] * units + part];
        }
    }
};

/* ---- the policy -------------------------------------------------------------------------------------------------------------- */

/* VEC elements a lane and row. Shape: of tuning.h. FLAGGED: flags beside the elements decide. */
template <class T, class Sink, class Shape, int N_VEC, bool FLAGGED = false> struct LookbackCompact {
    typedef CompactArgs<T> Args;
    typedef unsigned long long Value;
    typedef Add<unsigned long long> Op;
    typedef uint32_t Part;
    typedef Add<uint32_t> PartOp;
    static constexpr bool COUNTS = true;
    enum { THREADS = Shape::THREADS, CTAS = Shape::CTAS, ROWS = Shape::ROWS, VEC = N_VEC, WORD_NBYTES = 8 };
    enum {
        ROW_ITEMS = 32 * VEC,
        WARP_ITEMS = ROWS * ROW_ITEMS,
        TILE_ITEMS = THREADS / 32 * WARP_ITEMS,
        PAIRS = (ROWS + 1) / 2,
        IN_NBYTES = sizeof(T)
    };
    typedef typename Sink::template Shared<TILE_ITEMS> Shared;
    static_assert(TILE_ITEMS <= 1 << 16 && VEC <= 16 && ROW_ITEMS < 1 << 15, "places, masks and packed counts must fit 16 bits");

    uint4 data[ROWS];
    uint32_t mask[ROWS];    /* a bit an element: kept */
    uint32_t before[PAIRS]; /* kept ones of the row before this vector: rows 2i and 2i + 1 in 16 bits each */
    uint32_t row[PAIRS];    /* kept ones of the row */

    static __device__ __forceinline__ bool overwrites_aside(const Args &args) {
        return FLAGGED && (args.out == (const unsigned char *)args.in || args.rejected == (const unsigned char *)args.in);
    }
    static __device__ __forceinline__ Value carry_in(const Args &) { return 0; }

    static __device__ __forceinline__ uint32_t place_of(int warp, int r, int lane) {
        return (uint32_t)(warp * WARP_ITEMS + r * ROW_ITEMS + lane * VEC);
    }
    static __device__ __forceinline__ uint64_t first_of(uint32_t tile) { return (uint64_t)tile * TILE_ITEMS; }

    __device__ __forceinline__ Value reduce(const Args &args, uint32_t tile, Shared &, int warp, int lane) {
        const uint64_t mine = first_of(tile) + place_of(warp, 0, lane);
        const CutVector cut = load_rows<T, VEC>(data, args.in, mine, args.n, args.in_aligned, T());
        uint4 flags[ROWS];
        if constexpr (FLAGGED) put_cut(flags, load_rows<uint8_t, VEC>(flags, args.flags, mine, args.n, args.flags_aligned, (uint8_t)0));
        put_cut(data, cut);
#pragma unroll
        for (int i = 0; i < PAIRS; i++) row[i] = 0;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const uint64_t first = first_of(tile) + place_of(warp, r, lane);
            if constexpr (FLAGGED)
                mask[r] = flag_bits<VEC>(flags[r]);
            else
                mask[r] = kept_bits<T, VEC>(args.keep, data[r]) & input_bits<VEC>(first, args.n);
            row[r / 2] += (uint32_t)__popc(mask[r]) << r % 2 * 16;
        }
        return sum_packed_rows(row);
    }

    __device__ __forceinline__ void rank(int lane) { scan_packed_rows(before, row, lane); }

    __device__ __forceinline__ void finish(const Args &args, uint32_t tile, Scanned<Value> scanned, Shared &s, int warp, int lane) {
        const uint64_t first = first_of(tile), left = args.n - first;
        const uint32_t here = left < TILE_ITEMS ? (uint32_t)left : TILE_ITEMS, kept = (uint32_t)scanned.aggregate;
        const bool both = args.rejected != nullptr;
        if (!args.counted && left <= TILE_ITEMS && threadIdx.x == 0) *args.count = scanned.prefix + kept;
        const uint64_t nkept = !args.goes_behind() ? 0 : args.counted ? *args.count : scanned.total;
        const Run run = {first, scanned.prefix, nkept, kept, both ? here - kept : 0};
        const Sink sink(s.stage, args, run);
        uint32_t rank = (uint32_t)scanned.before;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const Vector<T, VEC> v = unpack<T, VEC>(data[r]);
            const uint32_t place = place_of(warp, r, lane), rank_here = rank + (before[r / 2] >> r % 2 * 16 & 0xffff);
            stage(sink, v, mask[r], true, place, rank_here);
            if (both) stage(sink, v, ~mask[r] & input_bits<VEC>(first + place, args.n), false, place, place - rank_here);
            rank += row[r / 2] >> r % 2 * 16 & 0xffff;
        }
        __syncthreads(); /* all is staged */
        sink.template store<THREADS>(args, run);
    }

    /* The elements of a vector that `chosen` names, from rank on. */
    static __device__ __forceinline__ void stage(const Sink &sink, const Vector<T, VEC> &v, uint32_t chosen, bool kept, uint32_t place,
                                                 uint32_t rank) {
#pragma unroll
        for (int i = 0; i < VEC; i++) {
            if (chosen >> i & 1) sink.put(kept, rank, v.item[i], place + i);
            rank += chosen >> i & 1;
        }
    }
};

#endif
