/* each_type.h: instantiates a template once for every element type.
 *
 *     #define EACH_TYPE "cpu/portable_tmpl.h"   (a path that the including file can open)
 *     #include "each_type.h"
 *
 * includes that file ten times, with S the type's short name (i8 ... f64) and the macros below, which all derive from S. Templates are
 * included files and not macros with bodies, so that compilers and debuggers see their lines. */
#ifndef UPSWEEP_EACH_TYPE_FACTS
#define UPSWEEP_EACH_TYPE_FACTS

#include <math.h>
#include <stdint.h>

#include "upsweep.h"

_Static_assert(UPSWEEP_TYPE_COUNT == 10, "a type was added: give it a stanza below, and a line at the end of this file");

#define EACH_TYPE_PASTE_(a, b) a##b
#define EACH_TYPE_PASTE(a, b)  EACH_TYPE_PASTE_(a, b)
#define EACH_TYPE_NAME_(x, s)  x##_##s
#define EACH_TYPE_NAME2(x, s)  EACH_TYPE_NAME_(x, s)

#define NAME(x)  EACH_TYPE_NAME2(x, S)         /* scan -> scan_i8 */
#define T        EACH_TYPE_PASTE(T_, S)        /* the element */
#define U        EACH_TYPE_PASTE(U_, S)        /* what its sums run on: unsigned of the same width, or the float itself */
#define NBYTES   EACH_TYPE_PASTE(NBYTES_, S)   /* 1, 2, 4, 8 */
#define FLOATING EACH_TYPE_PASTE(FLOATING_, S) /* 0, 1 */
#define VALUE    EACH_TYPE_PASTE(VALUE_, S)    /* its member of upsweep_predicate.value */
#define LOWEST   EACH_TYPE_PASTE(LOWEST_, S)
#define HIGHEST  EACH_TYPE_PASTE(HIGHEST_, S)
#define X86      EACH_TYPE_PASTE(X86_, S) /* the suffix of its vector intrinsics */

#define T_i8        int8_t
#define U_i8        uint8_t
#define NBYTES_i8   1
#define FLOATING_i8 0
#define VALUE_i8    i
#define LOWEST_i8   INT8_MIN
#define HIGHEST_i8  INT8_MAX
#define X86_i8      epi8

#define T_u8        uint8_t
#define U_u8        uint8_t
#define NBYTES_u8   1
#define FLOATING_u8 0
#define VALUE_u8    u
#define LOWEST_u8   0
#define HIGHEST_u8  UINT8_MAX
#define X86_u8      epu8

#define T_i16        int16_t
#define U_i16        uint16_t
#define NBYTES_i16   2
#define FLOATING_i16 0
#define VALUE_i16    i
#define LOWEST_i16   INT16_MIN
#define HIGHEST_i16  INT16_MAX
#define X86_i16      epi16

#define T_u16        uint16_t
#define U_u16        uint16_t
#define NBYTES_u16   2
#define FLOATING_u16 0
#define VALUE_u16    u
#define LOWEST_u16   0
#define HIGHEST_u16  UINT16_MAX
#define X86_u16      epu16

#define T_i32        int32_t
#define U_i32        uint32_t
#define NBYTES_i32   4
#define FLOATING_i32 0
#define VALUE_i32    i
#define LOWEST_i32   INT32_MIN
#define HIGHEST_i32  INT32_MAX
#define X86_i32      epi32

#define T_u32        uint32_t
#define U_u32        uint32_t
#define NBYTES_u32   4
#define FLOATING_u32 0
#define VALUE_u32    u
#define LOWEST_u32   0
#define HIGHEST_u32  UINT32_MAX
#define X86_u32      epu32

#define T_i64        int64_t
#define U_i64        uint64_t
#define NBYTES_i64   8
#define FLOATING_i64 0
#define VALUE_i64    i
#define LOWEST_i64   INT64_MIN
#define HIGHEST_i64  INT64_MAX
#define X86_i64      epi64

#define T_u64        uint64_t
#define U_u64        uint64_t
#define NBYTES_u64   8
#define FLOATING_u64 0
#define VALUE_u64    u
#define LOWEST_u64   0
#define HIGHEST_u64  UINT64_MAX
#define X86_u64      epu64

#define T_f32        float
#define U_f32        float
#define NBYTES_f32   4
#define FLOATING_f32 1
#define VALUE_f32    f
#define LOWEST_f32   (-INFINITY)
#define HIGHEST_f32  INFINITY
#define X86_f32      ps

#define T_f64        double
#define U_f64        double
#define NBYTES_f64   8
#define FLOATING_f64 1
#define VALUE_f64    f
#define LOWEST_f64   (-INFINITY)
#define HIGHEST_f64  INFINITY
#define X86_f64      pd

#endif

#define S i8
#include EACH_TYPE
#undef S
#define S u8
#include EACH_TYPE
#undef S
#define S i16
#include EACH_TYPE
#undef S
#define S u16
#include EACH_TYPE
#undef S
#define S i32
#include EACH_TYPE
#undef S
#define S u32
#include EACH_TYPE
#undef S
#define S i64
#include EACH_TYPE
#undef S
#define S u64
#include EACH_TYPE
#undef S
#define S f32
#include EACH_TYPE
#undef S
#define S f64
#include EACH_TYPE
#undef S
#undef EACH_TYPE
