/* operator.cuh: the operators of op.h as types, so that kernels take one as a template parameter. */
#ifndef UPSWEEP_OPERATOR_CUH
#define UPSWEEP_OPERATOR_CUH

#include "../op.h"

template <class T> struct Limits; /* least and greatest value; infinities for floats */
template <> struct Limits<uint8_t> {
    static __device__ uint8_t lowest() { return 0; }
    static __device__ uint8_t highest() { return 0xff; }
};
template <> struct Limits<uint16_t> {
    static __device__ uint16_t lowest() { return 0; }
    static __device__ uint16_t highest() { return 0xffff; }
};
template <> struct Limits<uint32_t> {
    static __device__ uint32_t lowest() { return 0; }
    static __device__ uint32_t highest() { return ~0u; }
};
template <> struct Limits<uint64_t> {
    static __device__ uint64_t lowest() { return 0; }
    static __device__ uint64_t highest() { return ~0ull; }
};
template <> struct Limits<int8_t> {
    static __device__ int8_t lowest() { return -128; }
    static __device__ int8_t highest() { return 127; }
};
template <> struct Limits<int16_t> {
    static __device__ int16_t lowest() { return -32768; }
    static __device__ int16_t highest() { return 32767; }
};
template <> struct Limits<int32_t> {
    static __device__ int32_t lowest() { return (int32_t)0x80000000; }
    static __device__ int32_t highest() { return 0x7fffffff; }
};
template <> struct Limits<int64_t> {
    static __device__ int64_t lowest() { return (int64_t)(1ull << 63); }
    static __device__ int64_t highest() { return ~(int64_t)(1ull << 63); }
};
template <> struct Limits<float> {
    static __device__ float lowest() { return -__int_as_float(0x7f800000); }
    static __device__ float highest() { return __int_as_float(0x7f800000); }
};
template <> struct Limits<double> {
    static __device__ double lowest() { return -__longlong_as_double(0x7ff0000000000000); }
    static __device__ double highest() { return __longlong_as_double(0x7ff0000000000000); }
};

#define DEFINE_OPERATOR(NAME, OP)                                                                                              \
    template <class T> struct NAME {                                                                                           \
        static __device__ __forceinline__ T apply(T a, T b) { return APPLY_##OP(T, a, b); }                                    \
        static __device__ __forceinline__ T identity() { return IDENTITY_##OP(T, Limits<T>::lowest(), Limits<T>::highest()); } \
    };
DEFINE_OPERATOR(Add, ADD)
DEFINE_OPERATOR(Mul, MUL)
DEFINE_OPERATOR(Min, MIN)
DEFINE_OPERATOR(Max, MAX)
DEFINE_OPERATOR(And, AND)
DEFINE_OPERATOR(Or, OR)
DEFINE_OPERATOR(Xor, XOR)
#undef DEFINE_OPERATOR

/* What leaves the other operand as it is, bit for bit: the identity, but for a sum of floats -0.0, because 0.0 + -0.0 is 0.0. Padding is
 * made of it, so that an init of -0.0 comes out as it went in. */
template <class Op> struct Neutral {
    static __device__ auto value() { return Op::identity(); }
};
template <> struct Neutral<Add<float>> {
    static __device__ float value() { return -0.0f; }
};
template <> struct Neutral<Add<double>> {
    static __device__ double value() { return -0.0; }
};

#endif
