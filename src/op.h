/* op.h: the operators: how each combines two values, and the value it starts from. Freestanding: C17 and CUDA include it alike.
 *
 * APPLY_*(T, a, b) is `a op b` for a type T, a on the left (operators need be associative, not commutative).
 * IDENTITY_*(T) is expressed through LOWEST_T and HIGHEST_T, which whoever includes this supplies as the two trailing arguments.
 *
 * Integers: signed add, mul and the bit operators run on the unsigned type of the same width, so overflow wraps and is never undefined;
 * `1u *` keeps 16-bit products out of (signed) int, where 65535 * 65535 would overflow, and changes nothing for floats.
 * min, max: the later operand if equal, and a NaN if either is one (the earlier, if both). Both rules are needed for associativity: with
 * `a < b ? a : b` alone a NaN would be lost or kept depending on how a scan is cut into blocks. IS_NAN folds away for integers. */
#ifndef UPSWEEP_OP_H
#define UPSWEEP_OP_H

#define IS_NAN(x) ((x) != (x))

#define APPLY_ADD(T, a, b) ((T)((a) + (b)))
#define APPLY_MUL(T, a, b) ((T)(1u * (a) * (b)))
#define APPLY_MIN(T, a, b) ((T)((a) < (b) || IS_NAN(a) ? (a) : (b)))
#define APPLY_MAX(T, a, b) ((T)((a) > (b) || IS_NAN(a) ? (a) : (b)))
#define APPLY_AND(T, a, b) ((T)((a) & (b)))
#define APPLY_OR(T, a, b)  ((T)((a) | (b)))
#define APPLY_XOR(T, a, b) ((T)((a) ^ (b)))

/* lowest, highest: the least and the greatest value of T, infinities for floats. */
#define IDENTITY_ADD(T, lowest, highest) ((T)0)
#define IDENTITY_MUL(T, lowest, highest) ((T)1)
#define IDENTITY_MIN(T, lowest, highest) (highest)
#define IDENTITY_MAX(T, lowest, highest) (lowest)
#define IDENTITY_AND(T, lowest, highest) (highest) /* unsigned: all ones */
#define IDENTITY_OR(T, lowest, highest)  ((T)0)
#define IDENTITY_XOR(T, lowest, highest) ((T)0)

#endif
