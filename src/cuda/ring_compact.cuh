/* ring_compact.cuh: compaction by predicate as a policy of the ring pass.
 *
 *   a row of a chunk      x x x x | x x x x | ...      a lane's vector each; one bit an element: kept or not
 *   counts a lane         2        1         ...       several rows packed into one register, scanned over the lanes by shuffles
 *   staged                kept elements side by side, in order, in the chunk's own place in shared memory
 *   stored                whole 32-bit words, so that each store of a warp fills one 128-byte line of the output
 *
 * Aggregates are counts of kept elements; the carry has 64 bits. For indices, positions within the chunk (16 bits) are staged
 * instead of elements and become indices on their way out. Cost: every element once in, every kept one once out. */
#ifndef UPSWEEP_RING_COMPACT_CUH
#define UPSWEEP_RING_COMPACT_CUH

#include "keep.cuh"
#include "ring.cuh"

template <class T> struct RingCompactArgs {
    Keep<T> keep;
    unsigned char *out;
    uint64_t *count;
    uint64_t base; /* index of the element at byte 0 of tile 0 */
};

/* Copies nbytes from shared memory (aligned to 16) to dst by one warp: 32-bit words that are aligned in dst, odd bytes at both ends. Word j
 * of a line is written by lane j, so each store covers one line; the source is read shifted where the two are not aligned alike. */
static __device__ __forceinline__ void store_run_by_warp(unsigned char *dst, const unsigned char *s_src, unsigned nbytes, int lane) {
    const unsigned head = min((unsigned)(-(uintptr_t)dst & 3), nbytes), nwords = (nbytes - head) / 4, tail = head + 4 * nwords;
    if (lane < (int)head) dst[lane] = s_src[lane];
    if (lane < (int)(nbytes - tail)) dst[tail + lane] = s_src[tail + lane];
    uint32_t *const words = (uint32_t *)(dst + head);
    const uint32_t *const source = (const uint32_t *)s_src;
    const int skew = (int)((uintptr_t)words / 4 % 32);
    for (int i = lane - skew; i < (int)nwords; i += 32) {
        if (i < 0) continue;
        const uint32_t word = head == 0 ? source[i] : __funnelshift_r(source[i], source[i + 1], 8 * head);
        __stcs(words + i, word);
    }
}

/* What is staged for a kept element, and how a staged run leaves: the elements, ... */
template <class T> struct KeptElements {
    typedef T Stage;
    static __device__ __forceinline__ Stage stage(T x, unsigned) { return x; }
    static __device__ __forceinline__ void store(unsigned char *out, uint64_t at, const Stage *staged, unsigned n, uint64_t, int lane) {
        store_run_by_warp(out + at * sizeof(T), (const unsigned char *)staged, n * (unsigned)sizeof(T), lane);
    }
};

/* ... or their indices. `first`: the index of the chunk's first element. */
template <class T, class Index> struct KeptIndices {
    typedef uint16_t Stage;
    static __device__ __forceinline__ Stage stage(T, unsigned position) { return (Stage)position; }
    static __device__ __forceinline__ void store(unsigned char *out, uint64_t at, const Stage *staged, unsigned n, uint64_t first,
                                                 int lane) {
        Index *const dst = (Index *)out + at;
        const int skew = (int)((uintptr_t)dst / sizeof(Index) % 32);
        for (int i = lane - skew; i < (int)n; i += 32)
            if (i >= 0) __stcs(dst + i, (Index)(first + staged[i]));
    }
};

template <class T, class Kept> struct RingCompact {
    typedef RingCompactArgs<T> Args;
    typedef uint32_t Value; /* kept in a tile, or a wave */
    typedef Add<uint32_t> Op;
    typedef uint64_t Carry;
    typedef typename Kept::Stage Stage;
    static constexpr unsigned REDUCERS = RING_COMPACT_REDUCERS, FINISHERS = RING_COMPACT_FINISHERS, ROWS = RING_COMPACT_ROWS;
    static constexpr unsigned STAGES = RING_COMPACT_STAGES, VEC = 16 / sizeof(T);
    static constexpr bool KEEPS_SLOT = true;
    static constexpr unsigned ROUNDS = sizeof(Stage) > sizeof(T) ? sizeof(Stage) / sizeof(T) : 1; /* what is staged must fit the chunk */
    static constexpr unsigned PACKED = VEC <= 4 ? 4 : 2, BITS = 32 / PACKED;                      /* counts of a row: at most 32 * VEC */
    static constexpr unsigned WORDS = (ROWS + PACKED - 1) / PACKED;
    static constexpr unsigned ROWS_A_NOTE = 32 / VEC, NOTE_WORDS = (ROWS + ROWS_A_NOTE - 1) / ROWS_A_NOTE; /* a bit an element of a lane */
    static_assert(ROWS % ROUNDS == 0, "");

    struct Local {
        uint4 data[ROWS];
    };

    static __device__ Carry carry_in(const Args &) { return 0; }
    static __device__ Carry carry_add(Carry carry, Value v) { return carry + v; }
    static __device__ void end(const Args &args, Carry carry) { *args.count = carry; }
    static __device__ void pad(const Args &, unsigned char *, unsigned, unsigned, int) {} /* reduce() looks at the place */

    /* Bits of the elements of v that lie within the input. */
    static __device__ __noinline__ uint32_t input_mask(RingPlace place, uint64_t byte) {
        uint32_t mask = 0;
        for (unsigned i = 0; i < VEC; i++, byte += sizeof(T)) mask |= (byte >= place.input_first && byte < place.input_end ? 1u : 0u) << i;
        return mask;
    }

    /* Bits of the elements of v that lie within the interval. */
    static __device__ __forceinline__ uint32_t inside_mask(const Keep<T> &keep, const Vector<T, VEC> &v) {
        uint32_t mask = 0;
#pragma unroll
        for (unsigned i = 0; i < VEC; i++) mask |= (uint32_t)keep.inside(v.item[i]) << i;
        return mask;
    }

    /* Decides every element once and leaves the decisions for the finisher. */
    static __device__ __forceinline__ Value reduce(const Args &args, const uint4 *chunk, RingPlace place, uint32_t *note, int lane) {
        unsigned count = 0;
#pragma unroll
        for (unsigned j = 0; j < NOTE_WORDS; j++) {
            uint32_t kept = 0, all = 0;
#pragma unroll
            for (unsigned r = j * ROWS_A_NOTE; r < min(ROWS, (j + 1) * ROWS_A_NOTE); r++) {
                kept |= inside_mask(args.keep, unpack<T, VEC>(chunk[32 * r + lane])) << ((r % ROWS_A_NOTE) * VEC);
                const uint32_t in =
                    place.whole ? (uint32_t)((1ull << VEC) - 1) : input_mask(place, place.first + r * 512 + (unsigned)lane * 16);
                all |= in << ((r % ROWS_A_NOTE) * VEC);
            }
            if (args.keep.negate) kept = ~kept;
            kept &= all;
            note[32 * j + lane] = kept;
            count += __popc(kept);
        }
        return __reduce_add_sync(ALL_LANES, count);
    }

    static __device__ __forceinline__ void prepare(const Args &, const uint4 *chunk, RingPlace, Local &local, int lane) {
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) local.data[r] = chunk[32 * r + lane];
    }

    static __device__ __forceinline__ uint32_t kept_of(const uint32_t *kept, unsigned r) {
        return kept[r / ROWS_A_NOTE] >> (r % ROWS_A_NOTE * VEC) & (uint32_t)((1ull << VEC) - 1);
    }

    static __device__ __forceinline__ unsigned count_of(const uint32_t *packed, unsigned r) {
        return packed[r / PACKED] >> (BITS * (r % PACKED)) & ((1u << BITS) - 1);
    }

    /* Packed counts: kept in each row up to and with this lane. */
    static __device__ __forceinline__ void scan_counts(const uint32_t *kept, uint32_t (&inclusive)[WORDS], int lane) {
#pragma unroll
        for (unsigned j = 0; j < WORDS; j++) inclusive[j] = 0;
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) inclusive[r / PACKED] |= (uint32_t)__popc(kept_of(kept, r)) << (BITS * (r % PACKED));
        warp_scan_rows<Op>(inclusive, lane);
    }

    static __device__ __forceinline__ void finish(const Args &args, uint4 *chunk, RingPlace place, const uint32_t *note, Local &local,
                                                  Carry prefix, int lane) {
        Stage *const staged = (Stage *)chunk;
        uint32_t kept[NOTE_WORDS], inclusive[WORDS], row_total[WORDS];
#pragma unroll
        for (unsigned j = 0; j < NOTE_WORDS; j++) kept[j] = note[32 * j + lane];
        scan_counts(kept, inclusive, lane);
#pragma unroll
        for (unsigned j = 0; j < WORDS; j++) row_total[j] = __shfl_sync(ALL_LANES, inclusive[j], 31);
#pragma unroll
        for (unsigned q = 0; q < ROUNDS; q++) {
            unsigned run = 0;
            __syncwarp(); /* the chunk has been read, by all lanes */
#pragma unroll
            for (unsigned r = q * (ROWS / ROUNDS); r < (q + 1) * (ROWS / ROUNDS); r++) {
                const Vector<T, VEC> v = unpack<T, VEC>(local.data[r]);
                const uint32_t mine = kept_of(kept, r);
                unsigned rank = run + count_of(inclusive, r) - __popc(mine);
#pragma unroll
                for (unsigned i = 0; i < VEC; i++)
                    if (mine >> i & 1) staged[rank++] = Kept::stage(v.item[i], (r * 32 + (unsigned)lane) * VEC + i);
                run += count_of(row_total, r);
            }
            __syncwarp();
            Kept::store(args.out, prefix, staged, run, args.base + place.first / sizeof(T), lane);
            prefix += run;
        }
    }
};

/* ---- launch ------------------------------------------------------------------------------------------------------------------ */

static inline bool ring_compact_suits(const struct cuda_queue *queue, const struct compact_args *a) {
    return should_run_ring(queue, a->n, RING_COMPACT_MIN_NBYTES / a->elem_nbytes) && a->output != COMPACT_SPLIT;
}

template <class T> static cudaError_t launch_ring_compact(const struct cuda_queue *queue, const struct compact_args *a, Keep<T> keep) {
    const RingCompactArgs<T> args = {keep, (unsigned char *)a->out, a->count, a->base - ring_head(a->in) / sizeof(T)};
    const uint64_t nbytes = a->n * sizeof(T);
    if (a->output == COMPACT_INDICES32) return launch_ring<RingCompact<T, KeptIndices<T, uint32_t>>>(queue, args, a->in, nbytes);
    if (a->output == COMPACT_INDICES64) return launch_ring<RingCompact<T, KeptIndices<T, uint64_t>>>(queue, args, a->in, nbytes);
    return launch_ring<RingCompact<T, KeptElements<T>>>(queue, args, a->in, nbytes);
}

#endif
