/* ring_compact.cuh: compaction and partition as policies of the ring pass.
 *
 *   a chunk, in its slot     x x x x | x x x x | ...     a run of vectors each lane; one bit an element: kept or not (ring_decide.cuh)
 *   packed, where it was     k k k k k r r r r r         the kept ones, and in a partition the rejected ones behind them
 *   stored                   when what comes before it is known, in vectors of the output (shift.cuh)
 *
 * Packing before the prefix is known leaves little to do after it, which is what short inputs wait for; and as chunks are stored each by
 * itself, no warp waits for another. Cost: every element once in, every kept one once out. If the rejected ones go behind all kept ones,
 * where they begin depends on how many these are: the first tiles wait in their slots until that is known, and what the slots cannot hold
 * is counted first (count.cuh), so that what decides is read once more. */
#ifndef UPSWEEP_RING_COMPACT_CUH
#define UPSWEEP_RING_COMPACT_CUH

#include "count.cuh"
#include "ring_compact_bytes.cuh"
#include "ring_kept.cuh"
#include "shift.cuh"

/* SPLIT: partition. */
template <class T, class D, bool SPLIT> struct RingCompact : RingKept<T, D, RingCompactShape<sizeof(T), D::FLAGS>, true> {
    typedef RingKept<T, D, RingCompactShape<sizeof(T), D::FLAGS>, true> Base;
    typedef typename Base::Args Args;
    typedef typename Base::Value Value;
    typedef typename Base::Carry Carry;
    typedef RingFacts<Value, Carry> Facts;
    static constexpr bool PACKS = true, HOLDS = SPLIT;
    static constexpr unsigned TEAMS = Base::Shape::TEAMS, CHUNK_NBYTES = Base::ROWS * 512, LANE_ITEMS = Base::ROWS * Base::VEC;
    using Base::ROWS, Base::VEC, Base::ROWS_A_WORD, Base::KEPT_WORDS;

    static __device__ bool holds(const Args &args) { return args.rejected == args.out; }
    static __device__ bool has_rest(const Args &args) { return args.nrest > 0; }
    static __device__ uint64_t count_rest(const Args &args, uint64_t thread, uint64_t nthreads) {
        typedef typename D::Counted C;
        const bool aligned = (uintptr_t)args.rest % 16 == 0;
        return count_share<RING_COUNT_ROWS>(args.decide.counted(), (const C *)args.rest, args.nrest, args.nagain, aligned, thread,
                                            nthreads);
    }
    static __device__ uint64_t total(const Args &args, uint64_t rest, uint64_t held) {
        return args.decide.units(rest) + (args.rest_is_all ? 0 : held);
    }

    struct Local {
        uint4 data[ROWS];
        uint32_t kept[KEPT_WORDS];
        unsigned before; /* kept ones of the lanes before this one */
    };

    static __device__ __forceinline__ Value count(const Args &args, const uint4 *chunk, RingPlace place, Local &local, int lane) {
        Base::read_chunk(local.data, chunk, lane);
        const uint32_t n = Base::decide(local.kept, args, chunk, place, lane);
        uint32_t after[1] = {n};
        warp_scan_rows<Add<uint32_t>>(after, lane);
        local.before = after[0] - n;
        return __shfl_sync(ALL_LANES, after[0], 31);
    }

    static __device__ __forceinline__ void put(unsigned char *chunk, const Local &local, Value sum, RingWay, int lane) {
        put_at<1, 1>(chunk, local, local.before, sum + rejected_before(local, lane), lane);
    }

    /* Rejected ones of the lanes before this one, and among them what the chunk has outside the input. */
    static __device__ __forceinline__ unsigned rejected_before(const Local &local, int lane) {
        return (unsigned)lane * LANE_ITEMS - local.before;
    }

    /* From the places of this lane's first kept and first rejected element on; a STEP is 1, or ~0: back from there. */
    template <unsigned KEPT_STEP, unsigned REJECTED_STEP>
    static __device__ __forceinline__ void put_at(unsigned char *chunk, const Local &local, unsigned kept, unsigned rejected, int lane) {
        __syncwarp(); /* all lanes have read the chunk */
        if constexpr (sizeof(T) == 1) {
            pack_bytes<SPLIT>(chunk, local.data, local.kept, kept, rejected, lane);
        } else {
#pragma unroll
            for (unsigned r = 0; r < ROWS; r++) {
                const Vector<T, VEC> v = unpack<T, VEC>(local.data[r]);
                const uint32_t bits = local.kept[r / ROWS_A_WORD] >> (r % ROWS_A_WORD * VEC);
                if constexpr (SPLIT)
                    put_both<KEPT_STEP, REJECTED_STEP>((T *)chunk, kept, rejected, v, bits);
                else
                    put_kept((T *)chunk, kept, v, bits);
            }
        }
        __syncwarp(); /* all is packed */
    }

    static __device__ __forceinline__ void put_kept(T *s_chunk, unsigned &kept, const Vector<T, VEC> &v, uint32_t bits) {
#pragma unroll
        for (unsigned i = 0; i < VEC; i++)
            if (bits >> i & 1) s_chunk[kept++] = v.item[i];
    }

    template <unsigned KEPT_STEP, unsigned REJECTED_STEP>
    static __device__ __forceinline__ void put_both(T *s_chunk, unsigned &kept, unsigned &rejected, const Vector<T, VEC> &v,
                                                    uint32_t bits) {
#pragma unroll
        for (unsigned i = 0; i < VEC; i++) {
            const unsigned is_kept = bits >> i & 1;
            s_chunk[is_kept ? kept : rejected] = v.item[i];
            kept += KEPT_STEP * is_kept;
            rejected += REJECTED_STEP * (1 - is_kept);
        }
    }

    /* Which part of a chunk is input, in bytes from byte 0 of tile 0; maybe none. */
    struct Span {
        uint64_t first, end;
        __device__ __forceinline__ explicit Span(RingPlace place)
            : first(max(place.first, place.input_first)), end(max(first, min(place.first + CHUNK_NBYTES, place.input_end))) {}
        __device__ __forceinline__ unsigned nbytes() const { return (unsigned)(end - first); }
    };

    static __device__ __forceinline__ void store(const Args &args, const unsigned char *chunk, const Facts &facts, int lane) {
        const unsigned kept_nbytes = facts.sum * (unsigned)sizeof(T);
        store_shifted(args.out + facts.prefix * sizeof(T), chunk, 0, kept_nbytes, lane);
        if constexpr (SPLIT) {
            const Span span(facts.place);
            const unsigned at = kept_nbytes + (unsigned)(span.first - facts.place.first);
            const uint64_t before = facts.total + (span.first - facts.place.input_first) / sizeof(T) - facts.prefix;
            store_shifted(args.rejected + before * sizeof(T), chunk + at / 16 * 16, at % 16, span.nbytes() - kept_nbytes, lane);
        }
    }
};

#endif
