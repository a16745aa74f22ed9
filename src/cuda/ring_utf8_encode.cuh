/* ring_utf8_encode.cuh: UTF-32 and UTF-16 to UTF-8 as a policy of the ring pass that converts.
 *
 *   count   a chunk of 2 KiB into the registers of a warp; its kind, by votes; how long each lane's runs become, and all together: the
 *           chunk's bytes are the aggregate (utf8_runs.cuh)
 *   put     with one scan, where runs go; their bytes into the warp's queue (ring_queue.cuh), from a multiple of 16 on, as nobody knows
 *           yet where they belong
 *   store   when that is known: in vectors of the output, each from two of the queue's (shift.cuh)
 *
 * Kinds: ASCII; up to two bytes a unit, surrogates in pairs among them, as each is two bytes of four; up to three; from UTF-32 four; some
 * removed. What is ill-formed becomes U+FFFD or nothing in registers, and what lies behind the text zeros, which are not stored. What is
 * left, a first chunk that does not begin with text, and strict ones with errors: any, unit by unit (ring_utf8_units.cuh).
 *
 * Strict: as in the look-back pass, what lies behind an ill-formed unit counts nothing. Cost: every unit in once, every byte out once. */
#ifndef UPSWEEP_CUDA_RING_UTF8_ENCODE_CUH
#define UPSWEEP_CUDA_RING_UTF8_ENCODE_CUH

#include "ring_queue.cuh"
#include "ring_utf8_units.cuh"
#include "shift.cuh"
#include "utf8_runs.cuh"

/* UNIT: bytes of a code unit of the input. */
template <int UNIT> struct RingUtf8Encode : RingUtf8Units<UNIT> {
    typedef RingUtf8Units<UNIT> Base;
    typedef RingUtf8EncodeShape<UNIT> Shape;
    using Base::CHUNK_NBYTES, Base::CHUNK_UNITS, Base::RUN_UNITS, Base::hand_in_bad, Base::first_bad, Base::count_any, Base::put_any;
    using typename Base::Args, typename Base::Value, typename Base::Carry;
    static constexpr unsigned REDUCERS = 1, FINISHERS = Shape::FINISHERS, STAGES = 8, SLOTS = Shape::SLOTS;
    /* The units beside a chunk may be the other halves of pairs; a line leaves all lines where they are. */
    static constexpr unsigned HALO_NBYTES = UNIT == 2 ? 128 : 0, TAIL_NBYTES = UNIT == 2 ? 128 : 0;
    static constexpr unsigned MOST_NBYTES = CHUNK_UNITS * (UNIT == 2 ? 3 : 4), WORK_NBYTES = Shape::WORK_NBYTES,
                              QUEUED = STAGES - SLOTS - 1;
    struct Queue : RingQueue<WORK_NBYTES, QUEUED> {
        unsigned expecting = 0, patience = 0, mending = 0; /* count_utf16() */
        using RingQueue<WORK_NBYTES, QUEUED>::RingQueue;
    };
    static constexpr bool CONVERTS = true;
    static_assert(WORK_NBYTES >= RING_QUEUE_BEFORE + MOST_NBYTES, "any chunk fits, and what lies behind the text is no longer");

    enum { PATIENT = 15, EXPECTED = 8 };
    enum Kind { OF_ASCII, UP_TO_2, UP_TO_3, UP_TO_4, SOME_REMOVED, ANY };
    struct Local {
        Utf8Runs x;
        Kind kind;
        unsigned behind; /* units that lie behind the text: zeros, of a byte each, which are put but not stored */
    };

    static __device__ Carry carry_add(Carry carry, Value v) {
        return UntilCut::apply(carry, (v & ~UTF8_CUT_32) | (v & UTF8_CUT_32 ? UTF8_CUT : 0));
    }
    static __device__ void end(const Args &args, Carry carry) { args.tally->needed = carry & ~UTF8_CUT; }

    /* ---- counting ---- */

    /* All of a chunk, and what may be held back, is text. */
    static __device__ __forceinline__ bool is_inner(const Args &args, RingPlace place) {
        const uint64_t nbytes = args.n * UNIT, behind = CHUNK_NBYTES + 16;
        return nbytes > behind && place.first - 1 < nbytes - behind; /* neither the first one */
    }

    static __device__ __forceinline__ void load_runs(const Args &args, const uint4 *chunk, Utf8Runs &x, int lane) {
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            const uint4 v = chunk[64 * (i / 2) + 2 * (unsigned)lane + i % 2];
            uint32_t *const to = &x.word[i / 2][i % 2 * 4];
            to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
        }
        if (UNIT == 2 && args.swap) {
#pragma unroll
            for (int i = 0; i < 16; i++) x.word[i / 8][i % 8] = __byte_perm(x.word[i / 8][i % 8], 0, 0x2301);
        }
    }

    /* Puts zeros in the place of what lies behind the text, or is held back; if there is something before the text, returns false. Unit by
     * unit the first and the last chunk would take some 8 us, for which everybody waits. */
    static __device__ __forceinline__ bool blank_behind(RingPlace place, Local &local, int lane) {
        const TextSpan span = ring_utf8_found().span;
        const uint64_t first = place.first / UNIT;
        if (first < span.first) return false;
        const int left = first >= span.end ? 0 : (int)min(span.end - first, (uint64_t)CHUNK_UNITS);
        local.behind = CHUNK_UNITS - (unsigned)left;
#pragma unroll
        for (int i = 0; i < 16; i++) {
            /* From this word on. */
            const int own = left - i / 8 * (int)(CHUNK_UNITS / 2) - (int)RUN_UNITS * lane - i % 8 * (4 / UNIT);
            if (own <= 0)
                local.x.word[i / 8][i % 8] = 0;
            else if (UNIT == 2 && own == 1)
                local.x.word[i / 8][i % 8] &= 0xFFFF;
        }
        return true;
    }

    /* Returns false if the chunk is to be gone through unit by unit. */
    static __device__ __forceinline__ bool load_text(const Args &args, const uint4 *chunk, RingPlace place, Local &local, int lane) {
        load_runs(args, chunk, local.x, lane);
        local.behind = 0;
        return is_inner(args, place) || blank_behind(place, local, lane);
    }

    /* Ill-formed units that have been replaced or removed in registers. Where the first one is is asked only if it may be that of all. */
    static __device__ __forceinline__ void hand_in_mended(const Args &args, const uint4 *chunk, RingPlace place, uint32_t number,
                                                          int lane) {
        const uint64_t first = place.first / UNIT;
        const bool asks = __any_sync(ALL_LANES, *(volatile unsigned long long *)&ring_utf8_found().error_at > first);
        hand_in_bad(number, asks ? first_bad(args, chunk, first, lane) : UINT32_MAX, first, lane);
    }

    /* If units have been removed: does each run have the bytes that it needs? */
    static __device__ __forceinline__ bool is_long_enough(const unsigned (&length)[2]) {
        return !__any_sync(ALL_LANES, min(length[0], length[1]) < 4);
    }

    static __device__ __forceinline__ Value count_with_surrogates(Local &local, Utf8Surrogates found) {
        Utf8Runs &x = local.x;
        local.kind = UP_TO_3;
        if (__any_sync(ALL_LANES, found.beside_3)) return count_up_to_3<8>(x);
        local.kind = UP_TO_2;
#pragma unroll
        for (int i = 0; i < 16; i++) x.marks[i % 2][i / 2] = marks_without_3(x.marks[i % 2][i / 2]);
        return count_up_to_2<8>(x);
    }

    /* With surrogates that may be in no pairs. */
    static __device__ __forceinline__ Value count_mended(const Args &args, const uint4 *chunk, RingPlace place, Local &local, Queue &queue,
                                                         int lane) {
        const uint32_t number = mend_surrogates(local.x, chunk, args.swap, !args.replace, lane);
        const bool some = __any_sync(ALL_LANES, number != 0);
        unsigned length[2];
        queue.mending = some ? EXPECTED : queue.mending - 1;
        measure_runs<8>(length, local.x, 2);
        local.kind = args.replace || !some ? UP_TO_3 : SOME_REMOVED;
        if (local.kind == SOME_REMOVED && !is_long_enough(length)) return local.kind = ANY, 0;
        if (some) hand_in_mended(args, chunk, place, number, lane);
        return add_runs(local.x, length);
    }

    /* From UTF-16. For so many chunks more it is not asked, as one has shown: expecting: whether there are surrogates, which is taken for
     * granted longer each time; mending: whether all are in pairs. */
    static __device__ __forceinline__ Value count_utf16(const Args &args, const uint4 *chunk, RingPlace place, Local &local, Queue &queue,
                                                        int lane) {
        Utf8Runs &x = local.x;
        const bool inner = load_text(args, chunk, place, local, lane);
        if (queue.expecting != 0) {
            queue.expecting--;
        } else if (inner) {
            uint32_t any = 0;
#pragma unroll
            for (int i = 0; i < 16; i++) any |= x.word[i / 8][i % 8];
            if (!__any_sync(ALL_LANES, (any & 0xFF80FF80) != 0)) return local.kind = OF_ASCII, queue.patience = 0, CHUNK_UNITS;
            if (!__any_sync(ALL_LANES, (any & 0xF800F800) != 0)) {
                local.kind = UP_TO_2;
                queue.patience = 0;
                mark_up_to_2<8>(x);
                return count_up_to_2<8>(x);
            }
            local.kind = UP_TO_3;
            const bool some = __any_sync(ALL_LANES, mark_up_to_3<8>(x));
            queue.expecting = queue.patience = some ? min(2 * queue.patience + 1, (unsigned)PATIENT) : 0;
            if (!some) return count_up_to_3<8>(x);
        }
        if (inner && queue.mending == 0) {
            const Utf8Surrogates found = encode_surrogates(x, chunk, args.swap, lane);
            if (__all_sync(ALL_LANES, found.in_pairs)) return count_with_surrogates(local, found);
            load_text(args, chunk, place, local, lane);
        }
        if (inner && !args.strict) return count_mended(args, chunk, place, local, queue, lane);
        return local.kind = ANY, 0;
    }

    static __device__ __forceinline__ Value count_up_to_4(Local &local) {
        unsigned length[2];
        mark_up_to_4(local.x);
        if (local.kind == SOME_REMOVED) leave_out_nothings(local.x);
        measure_up_to_4(length, local.x);
        if (local.kind == SOME_REMOVED && !is_long_enough(length)) return local.kind = ANY, 0;
        return add_runs(local.x, length);
    }

    static __device__ __forceinline__ Value count_utf32(const Args &args, const uint4 *chunk, RingPlace place, Local &local, int lane) {
        Utf8Runs &x = local.x;
        const bool inner = load_text(args, chunk, place, local, lane);
        uint32_t most = 0, past = UINT32_MAX; /* past: by how much the first one is past D800 */
#pragma unroll
        for (int i = 0; i < 16; i++) most = max(most, x.word[i / 8][i % 8]);
        if (inner) {
            local.kind = OF_ASCII;
            if (!__any_sync(ALL_LANES, most >= 0x80)) return pack_runs(x), CHUNK_UNITS;
            local.kind = UP_TO_2;
            if (!__any_sync(ALL_LANES, most >= 0x800)) return pack_runs(x), mark_up_to_2<4>(x), count_up_to_2<4>(x);
#pragma unroll
            for (int i = 0; i < 16; i++) past = min(past, x.word[i / 8][i % 8] - 0xD800);
            const bool odd = __any_sync(ALL_LANES, past < 0x800 || most > 0x10FFFF);
            if (!odd || !args.strict) {
                uint32_t number = 0;
                if (odd) number = mend_codes(x, most, args.replace ? 0xFFFD : UTF8_NOTHING);
                local.kind = odd && !args.replace ? SOME_REMOVED : __any_sync(ALL_LANES, most >= 0x10000) ? UP_TO_4 : UP_TO_3;
                const Value nbytes = local.kind == UP_TO_3 ? (pack_runs(x), mark_up_to_3<4>(x), count_up_to_3<4>(x)) : count_up_to_4(local);
                if (odd && local.kind != ANY) hand_in_mended(args, chunk, place, number, lane);
                return nbytes;
            }
        }
        return local.kind = ANY, 0;
    }

    /* What is left, of the kind ANY, unit by unit. Inlined, and so in one place: for a call the compiler would make sure of all lanes
     * before every vote and shuffle around it, as they might come back one by one, and a mix would take 3 % longer. */
    static __device__ __forceinline__ Value count(const Args &args, const uint4 *chunk, RingPlace place, Local &local, Queue &queue,
                                                  int lane) {
        Value nbytes;
        if constexpr (UNIT == 2)
            nbytes = count_utf16(args, chunk, place, local, queue, lane);
        else
            nbytes = count_utf32(args, chunk, place, local, lane);
        if (local.kind != ANY) return nbytes - local.behind;
        local.behind = 0;
        return count_any(args, chunk, place.first / UNIT, lane);
    }

    /* ---- putting ---- */

    static __device__ __forceinline__ bool needs_chunk(const Local &local) { return local.kind == ANY; }
    static __device__ __forceinline__ bool make_room(Queue &queue, const Local &local, Value sum, int lane) {
        return queue.push(sum & ~UTF8_CUT_32, local.behind, lane);
    }

    static __device__ __forceinline__ void put(const Args &args, const uint4 *chunk, RingPlace place, const Local &local,
                                               const Queue &queue, int lane) {
        enum { WORDS = UNIT == 2 ? 8 : 4 };
        unsigned char *const stage = queue.newest();
        const unsigned to = shared_address(stage);
        if (local.kind == OF_ASCII)
            put_ascii<WORDS>(stage, local.x, lane);
        else if (local.kind == UP_TO_2)
            put_up_to_2<WORDS>(to, local.x, lane);
        else if (local.kind == UP_TO_3)
            put_up_to_3<WORDS, false>(to, local.x, lane);
        else if (UNIT == 2 && local.kind == SOME_REMOVED)
            put_up_to_3<WORDS, true>(to, local.x, lane);
        else if (UNIT == 4 && local.kind == SOME_REMOVED)
            put_up_to_4<true>(to, local.x, lane);
        else if (UNIT == 4 && local.kind == UP_TO_4)
            put_up_to_4<false>(to, local.x, lane);
        else
            put_any(args, chunk, place.first / UNIT, stage, lane);
        __syncwarp(); /* the bytes are there */
    }

    static __device__ __forceinline__ void store(const Args &args, Queue &queue, Carry prefix, int lane) {
        if (!(prefix & UTF8_CUT) && prefix < args.capacity)
            store_shifted(args.out + prefix, queue.oldest_string(), 0,
                          min((uint64_t)queue.oldest_nbytes(), args.capacity - (uint64_t)prefix), lane);
        queue.pop();
        __syncwarp(); /* the bytes have been read */
    }
};

static inline bool ring_utf8_encode_suits(const struct cuda_queue *queue, const struct utf8_args *a) {
    const size_t unit_nbytes = encoding_nbytes(a->from);
    return a->out != NULL && a->n > 0 && should_run_ring(queue, a->n * unit_nbytes, ring_utf8_encode_min_nbytes(unit_nbytes));
}

template <int UNIT>
static cudaError_t launch_ring_utf8_encode(const struct cuda_queue *queue, const Utf8Args &args, const struct utf8_args *a) {
    return launch_ring<RingUtf8Encode<UNIT>>(queue, args, a->in, a->n * UNIT);
}

#endif
