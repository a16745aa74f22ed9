/* ring_staged.cuh: compactions and partitions whose finishers put elements side by side in the tile's slot, from where the copy engine
 * writes them in one piece: what is the same whether they are moved one by one (ring_compact.cuh) or by words (ring_compact_bytes.cuh).
 *
 *   slot      | ... k k k k k k k k | ... r r r r |      kept ones where they lie to a line of 128 bytes as they will in the output; the
 *             line                  line                 rejected ones of a partition behind them, from a new line on
 *
 * If the rejected ones go behind all kept ones, where they begin depends on how many these are: the first tiles wait in their slots until
 * that is known, and what the slots cannot hold is counted first (count.cuh). */
#ifndef UPSWEEP_RING_STAGED_CUH
#define UPSWEEP_RING_STAGED_CUH

#include "count.cuh"
#include "ring_kept.cuh"

/* By one warp: nbytes of a slot to dst by the copy engine; both lie alike to 16 bytes. What the engine cannot write, at most 15 bytes at
 * either end, goes by hand. Returns when all has been read. */
template <class T>
static __device__ __forceinline__ void send_run(unsigned char *dst, const unsigned char *s_src, unsigned nbytes, int lane, Evict when) {
    const unsigned head = min((unsigned)(-(uintptr_t)dst & 15), nbytes), body = (nbytes - head) & ~15u, tail = head + body;
    if (lane == 0 && body > 0) bulk_store(dst + head, s_src + head, body, when);
    const unsigned at = (unsigned)lane * (unsigned)sizeof(T);
    if (at < head) *(T *)(dst + at) = *(const T *)(s_src + at);
    if (at < nbytes - tail) *(T *)(dst + tail + at) = *(const T *)(s_src + tail + at);
}

/* SPLIT: partition. */
template <class T, class D, bool SPLIT, class S, bool BY_LANE> struct RingStaged : RingKept<T, D, S, BY_LANE> {
    typedef RingKept<T, D, S, BY_LANE> Base;
    typedef typename Base::Args Args;
    static constexpr unsigned ROWS = Base::ROWS, CHUNK_NBYTES = ROWS * 512, TILE_NBYTES = S::FINISHERS * CHUNK_NBYTES;
    static constexpr unsigned LINE = 128;
    static constexpr unsigned LEAD_NBYTES = SPLIT ? 3 * LINE : LINE; /* runs begin anywhere in a line, the second in a new one */
    static constexpr bool SENDS = true, HOLDS = SPLIT;

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
    };

    static __device__ __forceinline__ void prepare(const Args &, const uint4 *chunk, RingPlace, Local &local, int lane) {
        Base::read_chunk(local.data, chunk, lane);
    }

    /* Where a tile's runs go, and where they lie in its slot. What a tile has outside the input counts as rejected; it comes before and
     * behind those that are, into places that nothing else needs, and is not sent. */
    struct Runs {
        unsigned char *kept, *rejected;
        unsigned kept_at, rejected_at, nkept_bytes;
        unsigned head; /* bytes of the tile before the input */

        template <class Tile>
        __device__ __forceinline__ Runs(const Args &args, const Tile &tile, uint64_t input_first)
            : kept(args.out + tile.prefix * sizeof(T)), rejected(nullptr), kept_at((unsigned)((uintptr_t)kept % LINE)), rejected_at(0),
              nkept_bytes(tile.aggregate * (unsigned)sizeof(T)), head(0) {
            if (!SPLIT) return;
            const uint64_t first = max(tile.first, input_first);
            head = (unsigned)(first - tile.first);
            rejected = args.rejected + (tile.total + (first - input_first) / sizeof(T) - tile.prefix) * sizeof(T);
            rejected_at = (kept_at + nkept_bytes + head + LINE - 1) / LINE * LINE + (unsigned)((uintptr_t)rejected % LINE);
        }

        /* Where those of the tile's elements from `element` on are put that are rejected, if `before` of those before it are kept. */
        __device__ __forceinline__ unsigned rejected_from(unsigned element, unsigned before) const {
            return rejected_at - head + (element - before) * (unsigned)sizeof(T);
        }
    };

    template <class Tile>
    static __device__ __forceinline__ void send_runs(const Runs &runs, const unsigned char *slot, const Tile &tile, uint64_t input_end,
                                                     int lane) {
        /* The side that is turned round in the end is read again. */
        const Evict kept = tile.way.turns && tile.way.backwards ? Evict::LAST : Evict::AS_ALWAYS;
        send_run<T>(runs.kept, slot + runs.kept_at, runs.nkept_bytes, lane, kept);
        if constexpr (SPLIT) {
            const unsigned end = (unsigned)min((uint64_t)TILE_NBYTES, input_end - tile.first);
            const Evict rejected = tile.way.turns && !tile.way.backwards ? Evict::LAST : Evict::AS_ALWAYS;
            send_run<T>(runs.rejected, slot + runs.rejected_at, end - runs.head - runs.nkept_bytes, lane, rejected);
        }
        if (lane == 0) bulk_wait_read();
    }
};

#endif
