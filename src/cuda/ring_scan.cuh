/* ring_scan.cuh: scan as a policy of the ring pass. A finisher scans a chunk by scan_rows.cuh.
 *
 * A float sum's carry is kept in double (a 2^30-element sum is a chain of some
 * thousand waves). Cost: every byte once in, once out. */
#ifndef UPSWEEP_RING_SCAN_CUH
#define UPSWEEP_RING_SCAN_CUH

#include "ring.cuh"
#include "scan_rows.cuh"

template <class T, class Op> struct CarryOf { typedef T type; };
template <> struct CarryOf<float, Add<float>> { typedef double type; };

template <class T> struct RingScanArgs {
    unsigned char *out; /* of the element at byte 0 of tile 0; lies to 16 bytes as `in` does, so vectors of both are aligned */
    const T *init;
    T *total;
    bool inclusive;
};

template <class T, class OP> struct RingScan : RingPlain, RingScanShape<sizeof(T)> {
    typedef RingScanShape<sizeof(T)> Shape;
    typedef RingScanArgs<T> Args;
    typedef T Value;
    typedef OP Op;
    typedef typename CarryOf<T, Op>::type Carry;
    enum { ROWS = Shape::ROWS, VEC = 16 / sizeof(T) };
    static constexpr bool KEEPS_SLOT = false;
    static constexpr bool AT_HAND = sizeof(T) != 4; /* 8 to 32 MiB of u32 take 2 to 4 % longer so, of u64 2 to 4 % less (H200) */
    typedef Vector<T, VEC> V;

    struct Local {
        uint4 data[ROWS];
        T before[ROWS]; /* what comes before the lane's vector in the chunk */
    };

    static __device__ Carry carry_in(const Args &args) { return args.init != nullptr ? (Carry)*args.init : (Carry)Op::identity(); }
    static __device__ Carry carry_add(Carry carry, T v) { return add(carry, v); }
    static __device__ T add(T carry, T v) { return Op::apply(carry, v); }
    static __device__ double add(double carry, float v) { return carry + (double)v; }
    static __device__ void end(const Args &args, Carry carry) {
        if (args.total != nullptr) *args.total = (T)carry;
    }

    /* By vectors where it can be: nearly a whole tile may be padding, and everybody waits for it. */
    static __device__ void pad(const Args &, unsigned char *slot, unsigned from, unsigned to, int lane) {
        const unsigned first = (from + 15) / 16, last = max(to / 16, first);
        V v;
#pragma unroll
        for (unsigned i = 0; i < VEC; i++) v.item[i] = Neutral<Op>::value();
        pad_elements(slot, from, min(to, 16 * first), lane);
        for (unsigned i = first + (unsigned)lane; i < last; i += 32) ((uint4 *)slot)[i] = pack(v);
        pad_elements(slot, max(from, 16 * last), to, lane);
    }
    static __device__ void pad_elements(unsigned char *slot, unsigned from, unsigned to, int lane) {
        for (unsigned i = from / sizeof(T) + (unsigned)lane; i < to / sizeof(T); i += 32) ((T *)slot)[i] = Neutral<Op>::value();
    }

    /* Every lane folds rows, then the warp folds lanes. A minimum or maximum of floats looks at the order of NaNs and zeros (op.h), so for
     * those a lane takes vectors that follow one another. Sums may be taken across: a row a time, which any number of rows does without
     * bank conflicts. */
    static __device__ __forceinline__ T reduce(const Args &, const uint4 *chunk, RingPlace, uint32_t *, int lane) {
        uint4 data[ROWS];
        T folds[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) data[r] = chunk[Op::ANY_ORDER ? 32 * r + lane : lane * ROWS + r];
        return fold_chunk<Op, T, VEC>(data, folds);
    }

    static __device__ __forceinline__ void prepare(const Args &, const uint4 *chunk, RingPlace, Local &local, int lane) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) local.data[r] = chunk[32 * r + lane];
        scan_rows<Op, T, VEC>(local.data, local.before, lane);
    }

    static __device__ __forceinline__ void finish(const Args &args, const uint4 *, RingPlace place, const uint32_t *, Local &local,
                                                  Carry prefix, int lane) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const V v = scan_vector<Op, T, VEC>(local.data[r], Op::apply((T)prefix, local.before[r]), args.inclusive);
            store(args, place, place.first + (uint64_t)(r * 512 + lane * 16), v);
        }
    }

    static __device__ __forceinline__ void store(const Args &args, RingPlace place, uint64_t byte, const V &v) {
        if (place.whole)
            __stcs((uint4 *)(args.out + byte), pack(v));
        else
            store_partial(args.out, place, byte, pack(v));
    }

    /* Out of line: it runs in the first and last chunk only. There every vector but one is outside, or whole. */
    static __device__ __noinline__ void store_partial(unsigned char *out, RingPlace place, uint64_t byte, uint4 packed) {
        if (byte >= place.input_first && byte + 16 <= place.input_end) {
            __stcs((uint4 *)(out + byte), packed);
            return;
        }
        if (byte + 16 <= place.input_first || byte >= place.input_end) return;
        const V v = unpack<T, VEC>(packed);
#pragma unroll
        for (int i = 0; i < VEC; i++, byte += sizeof(T))
            if (byte >= place.input_first && byte < place.input_end) *(T *)(out + byte) = v.item[i];
    }
};

/* ---- launch ------------------------------------------------------------------------------------------------------------------ */

/* Vectors of arrays that do not lie alike would be cut in two: the look-back pass takes those. */
static inline bool ring_scan_suits(const struct cuda_queue *queue, const struct scan_args *a, size_t elem_nbytes) {
    return should_run_ring(queue, a->n * elem_nbytes, ring_scan_min_nbytes(elem_nbytes)) && ring_head(a->in) == ring_head(a->out);
}

template <class T, class Op> static cudaError_t launch_ring_scan(const struct cuda_queue *queue, const struct scan_args *a) {
    const RingScanArgs<T> args = {(unsigned char *)a->out - ring_head(a->in), (const T *)a->init, (T *)a->total, a->inclusive};
    return launch_ring<RingScan<T, Op>>(queue, args, a->in, a->n * sizeof(T));
}

#endif
