/* block.cuh: what kernels are made of: warps that fold and scan in a fixed order, vectors of 16 bytes, and accesses with a memory order.
 *
 * Orders of combination are part of the contract: the same shape folds the same values in the same order every time, so that float results
 * do not change from run to run. An `Op` is a type of operator.cuh. */
#ifndef UPSWEEP_CUDA_BLOCK_CUH
#define UPSWEEP_CUDA_BLOCK_CUH

#include <type_traits>

#include "operator.cuh"
#include "sum_warp.cuh"

#define ALL_LANES 0xffffffffu

/* ---- warps ------------------------------------------------------------------------------------------------------------------- */

/* Is a op b the same as b op a, bit for bit? (A sum's bits depend on the grouping only, which is fixed.) */
template <class Op> struct AnyOrder { static constexpr bool value = false; };
template <class T> struct AnyOrder<Add<T>> { static constexpr bool value = true; };
template <class T> struct AnyOrder<Mul<T>> { static constexpr bool value = true; };
template <class T> struct AnyOrder<And<T>> { static constexpr bool value = true; };
template <class T> struct AnyOrder<Or<T>> { static constexpr bool value = true; };
template <class T> struct AnyOrder<Xor<T>> { static constexpr bool value = true; };
template <class T> struct AnyOrder<Min<T>> { static constexpr bool value = true; };
template <class T> struct AnyOrder<Max<T>> { static constexpr bool value = true; };
template <> struct AnyOrder<Min<float>> { static constexpr bool value = false; }; /* NaNs and zeros: op.h */
template <> struct AnyOrder<Max<float>> { static constexpr bool value = false; };
template <> struct AnyOrder<Min<double>> { static constexpr bool value = false; };
template <> struct AnyOrder<Max<double>> { static constexpr bool value = false; };

/* Of the others: operands may change places unless one of them is special, and are then combined by By. Of floats' minima and maxima, NaNs
 * and -0.0 are special. */
template <class Op> struct UnlessSpecial;
static __device__ __forceinline__ bool is_special(float x) { return x != x || __float_as_uint(x) == 1u << 31; }
static __device__ __forceinline__ bool is_special(double x) { return x != x || (uint64_t)__double_as_longlong(x) == 1ull << 63; }
template <class T> struct UnlessSpecial<Min<T>> {
    typedef Min<T> By;
    static __device__ __forceinline__ bool special(T x) { return is_special(x); }
};
template <class T> struct UnlessSpecial<Max<T>> {
    typedef Max<T> By;
    static __device__ __forceinline__ bool special(T x) { return is_special(x); }
};

/* Folds for which a warp has an instruction, of integers, which takes words of 32 bits (sm_80 and newer). */
template <class Op> struct HasInstruction { static constexpr bool value = false; };
template <class T> struct IsInteger { static constexpr bool value = (T)0.5 == (T)0; };
template <class T> struct HasInstruction<Add<T>> : IsInteger<T> {};
template <class T> struct HasInstruction<And<T>> : IsInteger<T> {};
template <class T> struct HasInstruction<Or<T>> : IsInteger<T> {};
template <class T> struct HasInstruction<Xor<T>> : IsInteger<T> {};
template <class T> struct HasInstruction<Min<T>> : IsInteger<T> {};
template <class T> struct HasInstruction<Max<T>> : IsInteger<T> {};

/* Those whose result is one of the operands. */
template <class Op> struct Chooses { static constexpr bool value = false; };
template <class T> struct Chooses<Min<T>> { static constexpr bool value = true; };
template <class T> struct Chooses<Max<T>> { static constexpr bool value = true; };

#if __CUDA_ARCH__ >= 800
static __device__ __forceinline__ uint32_t fold_words(Add<uint32_t>, uint32_t x) { return __reduce_add_sync(ALL_LANES, x); }
static __device__ __forceinline__ uint32_t fold_words(And<uint32_t>, uint32_t x) { return __reduce_and_sync(ALL_LANES, x); }
static __device__ __forceinline__ uint32_t fold_words(Or<uint32_t>, uint32_t x) { return __reduce_or_sync(ALL_LANES, x); }
static __device__ __forceinline__ uint32_t fold_words(Xor<uint32_t>, uint32_t x) { return __reduce_xor_sync(ALL_LANES, x); }
static __device__ __forceinline__ uint32_t fold_words(Min<uint32_t>, uint32_t x) { return __reduce_min_sync(ALL_LANES, x); }
static __device__ __forceinline__ uint32_t fold_words(Max<uint32_t>, uint32_t x) { return __reduce_max_sync(ALL_LANES, x); }
static __device__ __forceinline__ int32_t fold_words(Min<int32_t>, int32_t x) { return __reduce_min_sync(ALL_LANES, x); }
static __device__ __forceinline__ int32_t fold_words(Max<int32_t>, int32_t x) { return __reduce_max_sync(ALL_LANES, x); }
#endif

/* x of all lanes, by that instruction, in every lane. Of 64 bits: sums by three of them, else the upper halves, then the lower ones: for a
 * minimum those that come with the least upper half. */
template <template <class> class OP, class T, class V> static __device__ __forceinline__ V fold_by_instruction(OP<T>, V x) {
#if __CUDA_ARCH__ >= 800
    typedef std::conditional_t<((T)-1 < (T)0), int32_t, uint32_t> Word;
    if constexpr (sizeof(T) <= sizeof(Word)) {
        return (V)fold_words(OP<Word>(), (Word)x);
    } else if constexpr (std::is_same_v<OP<T>, Add<T>>) {
        return sum_warp(x);
    } else {
        const Word mine = (Word)(x >> 32), upper = fold_words(OP<Word>(), mine);
        const bool out = Chooses<OP<T>>::value && mine != upper;
        const uint32_t lower = fold_words(OP<uint32_t>(), out ? OP<uint32_t>::identity() : (uint32_t)x);
        return (V)((uint64_t)upper << 32 | lower);
    }
#else
    for (int o = 1; o < 32; o *= 2) x = OP<T>::apply(x, (V)__shfl_xor_sync(ALL_LANES, x, o));
    return x;
#endif
}

/* Every row: x0 op x1 op ..., LANES of them, where operands must not change places. Two steps at a time: three trips from lane to lane
 * after one another instead of five. Right for lane 0, which tells the others. */
template <class Op, int LANES = 32, int ROWS, class V> static __device__ __forceinline__ void fold_rows_in_order(V (&x)[ROWS]) {
#pragma unroll
    for (int o = 1; o < LANES; o *= 4) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const V a = (V)__shfl_down_sync(ALL_LANES, x[r], o);
            if (2 * o >= LANES) {
                x[r] = Op::apply(x[r], a);
                continue;
            }
            const V b = (V)__shfl_down_sync(ALL_LANES, x[r], 2 * o), c = (V)__shfl_down_sync(ALL_LANES, x[r], 3 * o);
            x[r] = Op::apply(Op::apply(x[r], a), Op::apply(b, c));
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) x[r] = (V)__shfl_sync(ALL_LANES, x[r], 0);
}

/* Every row: x0 op x1 op ... op x31, as a balanced tree, in every lane. Rows side by side, so that their shuffles overlap. */
template <class Op, int ROWS, class V> static __device__ __forceinline__ void warp_fold_rows(V (&x)[ROWS]) {
    if constexpr (HasInstruction<Op>::value) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) x[r] = fold_by_instruction(Op(), x[r]);
    } else if constexpr (AnyOrder<Op>::value) {
#pragma unroll
        for (int o = 1; o < 32; o *= 2) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) x[r] = Op::apply(x[r], (V)__shfl_xor_sync(ALL_LANES, x[r], o));
        }
    } else {
        fold_rows_in_order<Op>(x);
    }
}

/* Lane i of every row, i < LANES: x0 op ... op xi of that row. */
template <class Op, int LANES = 32, int ROWS, class V> static __device__ __forceinline__ void warp_scan_rows(V (&x)[ROWS], int lane) {
#pragma unroll
    for (int o = 1; o < LANES; o *= 2) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const V left = (V)__shfl_up_sync(ALL_LANES, x[r], o);
            if (lane >= o) x[r] = Op::apply(left, x[r]);
        }
    }
}

/* The same results, two steps at a time: three trips from lane to lane after one another instead of five, but seven shuffles. */
template <class Op, int ROWS, class V> static __device__ __forceinline__ void warp_scan_rows_by_fours(V (&x)[ROWS], int lane) {
    const V none = (V)Neutral<Op>::value();
#pragma unroll
    for (int o = 1; o < 16; o *= 4) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const V a = (V)__shfl_up_sync(ALL_LANES, x[r], 3 * o), b = (V)__shfl_up_sync(ALL_LANES, x[r], 2 * o);
            const V c = (V)__shfl_up_sync(ALL_LANES, x[r], o);
            x[r] = Op::apply(Op::apply(lane >= 3 * o ? a : none, lane >= 2 * o ? b : none), Op::apply(lane >= o ? c : none, x[r]));
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const V left = (V)__shfl_up_sync(ALL_LANES, x[r], 16);
        if (lane >= 16) x[r] = Op::apply(left, x[r]);
    }
}

/* Of up to LANES parts, one a lane (and from there on neutral ones): those before part i, i < LANES, and all. In every lane. */
template <class V> struct Parts { V before, all; };

template <class Op, int LANES = 32, class V> static __device__ __forceinline__ Parts<V> fold_parts(V part, int i, int lane) {
    if constexpr (HasInstruction<Op>::value) {
        V fold[2] = {lane < i ? part : (V)Neutral<Op>::value(), part};
        warp_fold_rows<Op>(fold);
        return {fold[0], fold[1]};
    } else {
        V x[1] = {part};
        warp_scan_rows<Op, LANES>(x, lane);
        const V before = (V)__shfl_sync(ALL_LANES, x[0], i == 0 ? 0 : i - 1);
        return {i == 0 ? (V)Neutral<Op>::value() : before, (V)__shfl_sync(ALL_LANES, x[0], LANES - 1)};
    }
}

/* Counts of 16 bits, rows 2i and 2i + 1 in one register: the sum over all rows and lanes. */
template <int PAIRS> static __device__ __forceinline__ uint32_t sum_packed_rows(const uint32_t (&row)[PAIRS]) {
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < PAIRS; i++) sum += (row[i] & 0xFFFF) + (row[i] >> 16);
    return sum_warp(sum);
}

/* row: this lane's counts of all rows; becomes those of the whole rows, and `before` those of the lanes before this one. Returns the sum
 * over all rows. */
template <int PAIRS>
static __device__ __forceinline__ uint32_t scan_packed_rows(uint32_t (&before)[PAIRS], uint32_t (&row)[PAIRS], int lane) {
    uint32_t total = 0;
#pragma unroll
    for (int i = 0; i < PAIRS; i++) before[i] = row[i];
    warp_scan_rows<Add<uint32_t>>(row, lane);
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        before[i] = row[i] - before[i];
        row[i] = __shfl_sync(ALL_LANES, row[i], 31);
        total += (row[i] & 0xFFFF) + (row[i] >> 16);
    }
    return total;
}

/* Sums up to and with each lane. The shuffle itself tells the lanes that have nobody to add. */
static __device__ __forceinline__ uint32_t scan_lanes(uint32_t x) {
#pragma unroll
    for (int o = 1; o < 32; o *= 2)
        asm volatile("{\n.reg .pred p;\n.reg .u32 left;\n"
                     "shfl.sync.up.b32 left|p, %0, %1, 0, -1;\n"
                     "@p add.u32 %0, %0, left;\n}"
                     : "+r"(x)
                     : "r"(o));
    return x;
}

/* ---- vectors ----------------------------------------------------------------------------------------------------------------- */

/* N elements that travel together; N * sizeof(T) <= 16. Elements of 1 and 2 bytes stay packed in 32-bit registers until they are used. */
template <class T, int N> struct alignas(sizeof(T) * N) Vector { T item[N]; };

static __device__ __forceinline__ bool is_aligned(const void *p, unsigned nbytes) { return (uintptr_t)p % nbytes == 0; }

template <class T, int N> static __device__ __forceinline__ uint4 pack(const Vector<T, N> &v) {
    uint4 packed = {0, 0, 0, 0};
    memcpy(&packed, &v, sizeof v);
    return packed;
}

/* The compiler is kept from remembering the elements of an earlier unpack(): that would take a register each. */
template <class T, int N> static __device__ __forceinline__ Vector<T, N> unpack(uint4 packed) {
    if (sizeof(T) < 4) asm volatile("" : "+r"(packed.x), "+r"(packed.y), "+r"(packed.z), "+r"(packed.w));
    Vector<T, N> v;
    memcpy(&v, &packed, sizeof v);
    return v;
}

/* By all threads of a CTA: asks for bytes [from, to) of `in` to be brought to the L2 cache. A hint, and free of side effects. */
static __device__ __forceinline__ void prefetch_bytes(const void *in, uint64_t from, uint64_t to) {
    for (uint64_t i = from + threadIdx.x * 128; i < to; i += blockDim.x * 128)
        asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)in + i));
}

/* A vector of 16 bytes or less, aligned. Data is read once, so it need not stay in the caches. */
template <int NBYTES> static __device__ __forceinline__ uint4 load_once(const void *p) {
    static_assert(NBYTES == 2 || NBYTES == 4 || NBYTES == 8 || NBYTES == 16, "no such access");
    if constexpr (NBYTES == 16) {
        return __ldcs((const uint4 *)p);
    } else if constexpr (NBYTES == 8) {
        const uint2 v = __ldcs((const uint2 *)p);
        return {v.x, v.y, 0, 0};
    } else if constexpr (NBYTES == 4) {
        return {__ldcs((const uint32_t *)p), 0, 0, 0};
    } else {
        return {__ldcs((const uint16_t *)p), 0, 0, 0};
    }
}

template <class T, int N> static __device__ __forceinline__ uint4 load_elements(const T *in, uint64_t first, uint64_t n, T pad) {
    Vector<T, N> v;
#pragma unroll
    for (int i = 0; i < N; i++) v.item[i] = first + i < n ? in[first + i] : pad;
    return pack(v);
}

/* in [first .. first + N) where that is below n, `pad` from there on. One access where the vector is aligned and whole. */
template <class T, int N>
static __device__ __forceinline__ uint4 load_packed(const T *in, uint64_t first, uint64_t n, bool aligned, T pad) {
    return aligned && first + N <= n ? load_once<N * sizeof(T)>(in + first) : load_elements<T, N>(in, first, n, pad);
}

/* What is chosen by a number among registers is chosen word by word: as an array that is asked for element i it would lie in memory, and
 * every access would be a trip to the L1 cache. */
static __device__ __forceinline__ uint32_t word_of(uint4 v, uint32_t i) { return i < 2 ? (i == 0 ? v.x : v.y) : (i == 2 ? v.z : v.w); }

static __device__ __forceinline__ uint4 choose_vector(bool first, uint4 a, uint4 b) {
    return {first ? a.x : b.x, first ? a.y : b.y, first ? a.z : b.z, first ? a.w : b.w};
}

/* The first nbytes, fewer than 16, of a vector at p, which is aligned; `pad` behind them. By words: as elements, bytes would take sixteen
 * accesses, with a comparison each. */
static __device__ __forceinline__ uint4 load_head(const void *p, uint32_t nbytes, uint4 pad) {
    const uint32_t *const words = (const uint32_t *)p, whole = nbytes / 4;
    const unsigned char *const end = (const unsigned char *)p + nbytes;
    const uint32_t half = nbytes & 2 ? *(const uint16_t *)(end - (nbytes & 3)) : 0, byte = nbytes & 1 ? end[-1] : 0;
    uint4 v = pad;
    if (whole > 0) v.x = words[0];
    if (whole > 1) v.y = words[1];
    if (whole > 2) v.z = words[2];
    const uint32_t known = (1u << 8 * (nbytes & 3)) - 1, last = half | byte << 8 * (nbytes & 2) | (word_of(pad, whole) & ~known);
    return {whole == 0 ? last : v.x, whole == 1 ? last : v.y, whole == 2 ? last : v.z, whole == 3 ? last : v.w};
}

/* And to p. */
static __device__ __forceinline__ void store_head(void *p, uint32_t nbytes, uint4 v) {
    uint32_t *const words = (uint32_t *)p, whole = nbytes / 4, last = word_of(v, whole);
    unsigned char *const end = (unsigned char *)p + nbytes;
    if (whole > 0) words[0] = v.x;
    if (whole > 1) words[1] = v.y;
    if (whole > 2) words[2] = v.z;
    if (nbytes & 2) *(uint16_t *)(end - (nbytes & 3)) = (uint16_t)last;
    if (nbytes & 1) end[-1] = (unsigned char)(last >> 8 * (nbytes & 2));
}

/* A vector that the end of an array cuts, and the row that it belongs to. */
struct CutVector {
    uint4 data;
    uint32_t row; /* ~0: there is none */
};

/* The same for the rows of a warp, of which this lane's vectors begin at first, first + 32 * N, ... First all that take one access, so
 * that these leave together, and before any branch: what lies behind one may have to be fetched. A vector that is cut is left to
 * put_cut(), for when all else has been asked for: `data` cannot be written before what is on its way there has come. */
template <class T, int N, int ROWS>
static __device__ __forceinline__ CutVector load_rows(uint4 (&data)[ROWS], const T *in, uint64_t first, uint64_t n, bool aligned, T pad) {
    constexpr uint32_t ROW = 32 * N;
    CutVector cut = {{0, 0, 0, 0}, ~0u};
    Vector<T, N> padding;
#pragma unroll
    for (int i = 0; i < N; i++) padding.item[i] = pad;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const uint64_t at = first + r * ROW;
        data[r] = pack(padding);
        if (aligned && at + N <= n) data[r] = load_once<N * sizeof(T)>(in + at);
    }
    if ((aligned && first + (ROWS - 1) * ROW + N <= n) || first >= n) return cut;
    if (!aligned) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) data[r] = load_elements<T, N>(in, first + r * ROW, n, pad);
        return cut;
    }
    const uint32_t left = (uint32_t)(n - first), last = left % ROW; /* elements from `first` on; in their last row */
    if (last > 0 && last < N) cut = {load_head(in + n - last, last * (uint32_t)sizeof(T), pack(padding)), left / ROW};
    return cut;
}

template <int ROWS> static __device__ __forceinline__ void put_cut(uint4 (&data)[ROWS], const CutVector &cut) {
    if (cut.row == ~0u) return;
#pragma unroll
    for (int r = 0; r < ROWS; r++) data[r] = choose_vector(cut.row == (uint32_t)r, cut.data, data[r]);
}

template <class T, int N>
static __device__ __forceinline__ void store_vector(T *out, uint64_t first, uint64_t n, bool aligned, uint4 packed) {
    static_assert(N * sizeof(T) == 16, "");
    if (aligned && first + N <= n) {
        __stcs((uint4 *)(out + first), packed);
        return;
    }
    if (first >= n) return;
    if (aligned) {
        store_head(out + first, (uint32_t)(n - first) * (uint32_t)sizeof(T), packed);
        return;
    }
    const Vector<T, N> v = unpack<T, N>(packed);
#pragma unroll
    for (int i = 0; i < N; i++)
        if (first + i < n) out[first + i] = v.item[i];
}

/* ---- memory order ------------------------------------------------------------------------------------------------------------ */

/* Relaxed accesses of one word, atomic at the scope of the GPU. 16-byte ones are single accesses too (PTX ISA 8.3, sm_70 and newer). */
static __device__ __forceinline__ void store_relaxed_8(void *p, uint64_t x) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory");
}

static __device__ __forceinline__ uint64_t load_relaxed_8(const void *p) {
    uint64_t x;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
    return x;
}

static __device__ __forceinline__ void store_relaxed_16(void *p, uint64_t low, uint64_t high) {
    asm volatile("{\n.reg .b128 q;\nmov.b128 q, {%1, %2};\nst.relaxed.gpu.global.b128 [%0], q;\n}" ::"l"(p), "l"(low), "l"(high)
                 : "memory");
}

static __device__ __forceinline__ void load_relaxed_16(const void *p, uint64_t *low, uint64_t *high) {
    asm volatile("{\n.reg .b128 q;\nld.relaxed.gpu.global.b128 q, [%2];\nmov.b128 {%0, %1}, q;\n}"
                 : "=l"(*low), "=l"(*high)
                 : "l"(p)
                 : "memory");
}

/* A value of at most 8 bytes as the bits of a word, and back. */
template <class V> static __device__ __forceinline__ uint64_t bits_of(V value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class V> static __device__ __forceinline__ V value_of(uint64_t bits) {
    V value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
