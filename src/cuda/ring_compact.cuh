/* ring_compact.cuh: compaction and partition as policies of the ring pass.
 *
 *   a row of a chunk      x x x x | x x x x | ...      a lane's vector each; one bit an element: kept or not (ring_decide.cuh)
 *   counts a lane         2        1         ...       several rows packed into one register, scanned over the lanes by shuffles
 *   staged                kept elements side by side, in order, in the chunk's own place in shared memory; of a partition the rejected ones
 *                         behind them: the chunk is just as long as both together
 *   stored                whole 32-bit words, so that each store of a warp fills one 128-byte line of the output
 *
 * Aggregates are counts of kept elements; the carry has 64 bits. For indices, positions within the chunk (16 bits) are staged
 * instead of elements and become indices on their way out. Where the rejected ones of a partition begin depends on how many are kept in
 * all: count.cuh has found that before this kernel starts. Cost: every element once in, every kept one once out; a partition reads what
 * decides once more. */
#ifndef UPSWEEP_RING_COMPACT_CUH
#define UPSWEEP_RING_COMPACT_CUH

#include "ring_decide.cuh"

template <class D> struct RingCompactArgs {
    D decide;
    unsigned char *out;
    uint64_t *count;
    uint64_t base; /* index of the element at byte 0 of tile 0 */
};

/* Copies n elements from shared memory to dst by one warp: 32-bit words that are aligned in dst, odd bytes at both ends. Word j of a line
 * is written by lane j, so each store covers one line; the source is read shifted where the two are not aligned alike. */
template <class T> static __device__ __forceinline__ void store_run_by_warp(T *to, const T *s_from, unsigned n, int lane) {
    unsigned char *const dst = (unsigned char *)to;
    const unsigned char *const s_src = (const unsigned char *)s_from;
    const unsigned nbytes = n * (unsigned)sizeof(T), head = sizeof(T) < 4 ? min((unsigned)(-(uintptr_t)dst & 3), nbytes) : 0;
    const unsigned nwords = (nbytes - head) / 4, tail = head + 4 * nwords;
    if (sizeof(T) < 4) {
        if (lane < (int)head) dst[lane] = s_src[lane];
        if (lane < (int)(nbytes - tail)) dst[tail + lane] = s_src[tail + lane];
    }
    uint32_t *const words = (uint32_t *)(dst + head);
    const unsigned shift = sizeof(T) < 4 ? (unsigned)((uintptr_t)(s_src + head) & 3) : 0;
    const uint32_t *const source = (const uint32_t *)(s_src + head - shift);
    const int skew = (int)((uintptr_t)words / 4 % 32);
    for (int i = lane - skew; i < (int)nwords; i += 32) {
        if (i < 0) continue;
        const uint32_t word = shift == 0 ? source[i] : __funnelshift_r(source[i], source[i + 1], 8 * shift);
        __stcs(words + i, word);
    }
}

/* What is staged for a kept element, and how a staged run leaves: the elements, ... */
template <class T> struct KeptElements {
    typedef T Stage;
    static __device__ __forceinline__ Stage stage(T x, unsigned) { return x; }
    static __device__ __forceinline__ void store(unsigned char *out, uint64_t at, const Stage *staged, unsigned n, uint64_t, int lane) {
        store_run_by_warp((T *)out + at, staged, n, lane);
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

/* D: of ring_decide.cuh. SPLIT: partition. */
template <class T, class Kept, class D, bool SPLIT> struct RingCompact : RingPlain, RingCompactShape<sizeof(T), D::FLAGS> {
    typedef RingCompactShape<sizeof(T), D::FLAGS> Shape;
    typedef RingCompactArgs<D> Args;
    typedef uint32_t Value; /* kept in a tile, or a wave */
    typedef Add<uint32_t> Op;
    typedef uint64_t Carry;
    typedef typename Kept::Stage Stage;
    static constexpr unsigned ROWS = Shape::ROWS, VEC = 16 / sizeof(T);
    static constexpr unsigned SIDE_NBYTES = D::side_nbytes(Shape::FINISHERS * ROWS * 512);
    static constexpr bool KEEPS_SLOT = true;
    static constexpr unsigned ROUNDS = sizeof(Stage) > sizeof(T) ? sizeof(Stage) / sizeof(T) : 1; /* what is staged must fit the chunk */
    static constexpr unsigned PACKED = VEC <= 4 ? 4 : 2, BITS = 32 / PACKED;                      /* counts of a row: at most 32 * VEC */
    static constexpr unsigned WORDS = (ROWS + PACKED - 1) / PACKED;
    static constexpr unsigned ROWS_A_NOTE = 32 / VEC, NOTE_WORDS = (ROWS + ROWS_A_NOTE - 1) / ROWS_A_NOTE; /* a bit an element of a lane */
    static_assert(ROWS % ROUNDS == 0 && (!SPLIT || ROUNDS == 1), "");

    struct Local {
        uint4 data[ROWS];
        uint64_t kept_in_all; /* of a partition */
    };

    static __device__ Carry carry_in(const Args &) { return 0; }
    static __device__ Carry carry_add(Carry carry, Value v) { return carry + v; }
    static __device__ void end(const Args &args, Carry carry) {
        if (!SPLIT) *args.count = args.decide.records(carry);
    }
    static __device__ void pad(const Args &, unsigned char *, unsigned, unsigned, int) {} /* reduce() looks at the place */
    static __device__ uintptr_t side_of(const Args &args, uint64_t byte) { return args.decide.flag_of(byte); }
    static __device__ uintptr_t side_first(const Args &args) { return (uintptr_t)args.decide.flags; }
    static __device__ uintptr_t side_end(const Args &args) { return (uintptr_t)args.decide.end; }

    /* Bits of the elements of a vector that lie within the input. */
    static __device__ __noinline__ uint32_t input_mask(RingPlace place, uint64_t byte) {
        uint32_t mask = 0;
        for (unsigned i = 0; i < VEC; i++, byte += sizeof(T)) mask |= (byte >= place.input_first && byte < place.input_end ? 1u : 0u) << i;
        return mask;
    }

    static __device__ __forceinline__ uint32_t input_mask_of_row(RingPlace place, unsigned r, int lane) {
        return place.whole ? (uint32_t)((1ull << VEC) - 1) : input_mask(place, place.first + r * 512 + (unsigned)lane * 16);
    }

    /* Decides every element once and leaves the decisions for the finisher. */
    static __device__ __forceinline__ Value reduce(const Args &args, const uint4 *chunk, RingPlace place, uint32_t *note, int lane) {
        const typename D::Chunk decide(args.decide, chunk, place);
        unsigned count = 0;
#pragma unroll
        for (unsigned j = 0; j < NOTE_WORDS; j++) {
            uint32_t set = 0, all = 0;
#pragma unroll
            for (unsigned r = j * ROWS_A_NOTE; r < min(ROWS, (j + 1) * ROWS_A_NOTE); r++) {
                set |= decide.bits(32 * r + (unsigned)lane) << ((r % ROWS_A_NOTE) * VEC);
                all |= input_mask_of_row(place, r, lane) << ((r % ROWS_A_NOTE) * VEC);
            }
            const uint32_t kept = decide.kept(set) & all;
            note[32 * j + lane] = kept;
            count += __popc(kept);
        }
        return __reduce_add_sync(ALL_LANES, count);
    }

    static __device__ __forceinline__ void prepare(const Args &args, const uint4 *chunk, RingPlace, Local &local, int lane) {
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) local.data[r] = chunk[32 * r + lane];
        if (SPLIT) local.kept_in_all = *args.count;
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
        if constexpr (SPLIT)
            store_both(args, staged, place, kept, inclusive, row_total, local, prefix, lane);
        else
            store_kept(args, staged, place, kept, inclusive, row_total, local, prefix, lane);
    }

    static __device__ __forceinline__ void store_kept(const Args &args, Stage *staged, RingPlace place, const uint32_t *kept,
                                                      const uint32_t (&inclusive)[WORDS], const uint32_t (&row_total)[WORDS],
                                                      const Local &local, Carry prefix, int lane) {
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

    /* A partition's finish: a rejected element's place in the chunk is its position less the kept ones before it. */
    static __device__ __forceinline__ void store_both(const Args &args, T *staged, RingPlace place, const uint32_t *kept,
                                                      const uint32_t (&inclusive)[WORDS], const uint32_t (&row_total)[WORDS],
                                                      const Local &local, Carry prefix, int lane) {
        unsigned nkept = 0, before = 0;
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) nkept += count_of(row_total, r);
        const uint64_t end = place.first + ROWS * 512, from = max(place.first, place.input_first), to = min(end, place.input_end);
        const unsigned skip = (unsigned)((from - place.first) / sizeof(T)); /* positions before the input */
        const unsigned ninput = from < to ? (unsigned)((to - from) / sizeof(T)) : 0;
        __syncwarp(); /* the chunk has been read, by all lanes */
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            const Vector<T, VEC> v = unpack<T, VEC>(local.data[r]);
            const uint32_t mine = kept_of(kept, r), all = input_mask_of_row(place, r, lane);
            const unsigned position = (r * 32 + (unsigned)lane) * VEC;
            unsigned rank = before + count_of(inclusive, r) - __popc(mine);
#pragma unroll
            for (unsigned i = 0; i < VEC; i++) {
                const unsigned is_kept = mine >> i & 1;
                if (all >> i & 1) staged[is_kept ? rank : nkept + position + i - skip - rank] = v.item[i];
                rank += is_kept;
            }
            before += count_of(row_total, r);
        }
        __syncwarp();
        const uint64_t rejected_before = (from - place.input_first) / sizeof(T) - prefix;
        Kept::store(args.out, prefix, staged, nkept, 0, lane);
        Kept::store(args.out, args.decide.units(local.kept_in_all) + rejected_before, staged + nkept, ninput - nkept, 0, lane);
    }
};

/* ---- launch ------------------------------------------------------------------------------------------------------------------ */

static inline bool ring_compact_suits(const struct cuda_queue *queue, const struct compact_args *a, size_t unit_nbytes) {
    return should_run_ring(queue, a->n * a->elem_nbytes, ring_compact_min_nbytes(unit_nbytes));
}

/* Records of odd sizes or addresses would be moved byte by byte, and of long ones the look-back pass fetches only those that are kept. */
static inline bool ring_flags_suit(const struct cuda_queue *queue, const struct compact_args *a, size_t unit_nbytes) {
    static_assert(RING_MAX_RECORD_NBYTES / 4 <= DecideByRecord<uint32_t>::MAX_UNITS, "");
    const bool fits = unit_nbytes >= 4 && a->elem_nbytes <= RING_MAX_RECORD_NBYTES;
    return (unit_nbytes == a->elem_nbytes || fits) && ring_compact_suits(queue, a, unit_nbytes);
}

template <class T, class Kept, bool SPLIT, class D>
static cudaError_t queue_ring_compact(const struct cuda_queue *queue, const struct compact_args *a, const D &decide) {
    const RingCompactArgs<D> args = {decide, (unsigned char *)a->out, a->count, a->base - ring_head(a->in) / sizeof(T)};
    return launch_ring<RingCompact<T, Kept, D, SPLIT>>(queue, args, a->in, a->n * a->elem_nbytes);
}

/* A partition: count has been queued before. */
template <class T, class D>
static cudaError_t launch_ring_elements(const struct cuda_queue *queue, const struct compact_args *a, const D &decide) {
    if (a->output == COMPACT_SPLIT) return queue_ring_compact<T, KeptElements<T>, true>(queue, a, decide);
    return queue_ring_compact<T, KeptElements<T>, false>(queue, a, decide);
}

template <class T> static cudaError_t launch_ring_where(const struct cuda_queue *queue, const struct compact_args *a, Keep<T> keep) {
    const DecideByValue<T> decide = {keep};
    if (a->output == COMPACT_INDICES32) return queue_ring_compact<T, KeptIndices<T, uint32_t>, false>(queue, a, decide);
    if (a->output == COMPACT_INDICES64) return queue_ring_compact<T, KeptIndices<T, uint64_t>, false>(queue, a, decide);
    return launch_ring_elements<T>(queue, a, decide);
}

/* A record is at least one T, and a multiple of it, as are both addresses. */
template <class T> static cudaError_t launch_ring_flagged(const struct cuda_queue *queue, const struct compact_args *a) {
    const uint64_t nunits = a->elem_nbytes / sizeof(T);
    const unsigned char *const flags = a->flags, *const end = flags + a->n;
    if (nunits == 1) {
        const DecideByFlag<T> decide = {flags, end, flags - ring_head(a->in) / sizeof(T)};
        return launch_ring_elements<T>(queue, a, decide);
    }
    if constexpr (sizeof(T) >= 4) {
        const uint32_t reciprocal = (uint32_t)((((uint64_t)1 << 32) + nunits - 1) / nunits);
        const DecideByRecord<T> decide = {flags, end, (uint32_t)nunits, reciprocal, ring_head(a->in)};
        return launch_ring_elements<T>(queue, a, decide);
    }
    return cudaErrorInvalidValue; /* ring_flags_suit() lets no such record through */
}

#endif
