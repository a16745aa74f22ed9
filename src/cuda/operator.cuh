/* operator.cuh: the operators of op.h as types, so that kernels take one as a template parameter; and what is known of each. */
#ifndef UPSWEEP_OPERATOR_CUH
#define UPSWEEP_OPERATOR_CUH

#include "../op.h"

template <class T> struct IsInteger { static constexpr bool value = (T)0.5 == (T)0; };

/* Least and greatest value; infinities for floats. */
template <class T> struct Limits {
    static constexpr bool IS_SIGNED = (T)-1 < (T)1;
    static __device__ T lowest() { return IS_SIGNED ? (T)(1ull << (8 * sizeof(T) - 1)) : (T)0; }
    static __device__ T highest() { return (T)~lowest(); }
};
template <> struct Limits<float> {
    static __device__ float lowest() { return -__int_as_float(0x7f800000); }
    static __device__ float highest() { return __int_as_float(0x7f800000); }
};
template <> struct Limits<double> {
    static __device__ double lowest() { return -__longlong_as_double(0x7ff0000000000000); }
    static __device__ double highest() { return __longlong_as_double(0x7ff0000000000000); }
};

/* What kernels ask of an operator. These answers will do for any. */
struct AnyOperator {
    static constexpr bool ANY_ORDER = false;       /* is a op b the same as b op a, bit for bit? (A sum's grouping is fixed.) */
    static constexpr bool ROUNDS = false;          /* does grouping change the result? */
    static constexpr bool CHOOSES = false;         /* is the result one of the operands? */
    static constexpr bool HAS_INSTRUCTION = false; /* that folds words of 32 bits over a warp (sm_80 and newer) */
};

/* Of floats, order matters where one operand is chosen, because of NaNs and zeros (op.h); all others round. */
template <class T, bool CHOOSES_ONE, bool FOLDS> struct OperatorOf {
    static constexpr bool ANY_ORDER = IsInteger<T>::value || !CHOOSES_ONE, ROUNDS = !IsInteger<T>::value && !CHOOSES_ONE;
    static constexpr bool CHOOSES = CHOOSES_ONE, HAS_INSTRUCTION = IsInteger<T>::value && FOLDS;
};

#define DEFINE_OPERATOR(NAME, OP, CHOOSES_ONE, FOLDS)                                                                          \
    template <class T> struct NAME : OperatorOf<T, CHOOSES_ONE, FOLDS> {                                                       \
        static __device__ __forceinline__ T apply(T a, T b) { return APPLY_##OP(T, a, b); }                                    \
        static __device__ __forceinline__ T identity() { return IDENTITY_##OP(T, Limits<T>::lowest(), Limits<T>::highest()); } \
    };
DEFINE_OPERATOR(Add, ADD, false, true)
DEFINE_OPERATOR(Mul, MUL, false, false)
DEFINE_OPERATOR(Min, MIN, true, true)
DEFINE_OPERATOR(Max, MAX, true, true)
DEFINE_OPERATOR(And, AND, false, true)
DEFINE_OPERATOR(Or, OR, false, true)
DEFINE_OPERATOR(Xor, XOR, false, true)
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
