/* sort_network.c: sorting networks in AVX-512 registers: the last step of a leaf, and whole sorts of a few keys. For keys alone also in
 * AVX2 registers, by the same templates: sort_network_avx2.c.
 *
 * buckets: 16 rows of up to 16 keys are transposed, so that each lane of 16 registers has a bucket. 60 comparators, each a minimum and a
 * maximum of two registers, sort all lanes at once, with no shuffle; transposed back, rows are written one after the other.
 *
 *        rows  3 1      columns  3 7 5 ..      1 2 5 ..      rows  1 3
 *              7 2 4   ->        1 2 - ..  ->  3 4 - ..  ->        2 4 7      (a bucket is as long as its count says; - sorts last)
 *              5                 - 4 - ..      - 7 - ..            5
 *
 * group: up to 1 KiB of keys, of any width, in 16 registers, fewer in fewer: the same columns, which are then merged where they stand, one
 * run with the other reversed. Of keys in the same register, two registers bring the lower ones to one and the upper ones to the other. Up
 * to 8 KiB: in pieces of 1 KiB, which are merged the same way (sort_merge_tmpl.h).
 *
 * part: keys below a divider are brought before the others by eights (sort_part_tmpl.h).
 *
 * few: keys of few different values are counted (sort_few_tmpl.h).
 *
 * pairs: the columns are tags, keys with their places, and say afterwards where keys and values go (sort_pairs_tmpl.h). So do those of a
 * group, if there are few pairs (sort_tags.h).
 *
 * No branch depends on a key. Cost of buckets: about 3 instructions a key of half-filled ones, where insertion has a misprediction a key.
 * Unstable, as every network; so for keys that are sorted by all their bits, of which equal ones are the same, and for tags, of which no
 * two are equal. Sources: Batcher, Sorting networks and their applications, 1968; Knuth, TAOCP 3, 5.3.4; Bramas, A novel hybrid quicksort
 * algorithm vectorized using AVX-512, 2017. */
#include "sort_kernels.h"

#include <string.h>

#include "set_bits.h"
#include "sort_network.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt")))

/* ---- transposition ----------------------------------------------------------------------------------------------------------- */

/* Four registers of four 128-bit parts, transposed: to[stride * l] = part l of a, b, c, d. */
TARGET static inline void transpose_parts(__m512i *to, uint32_t stride, __m512i a, __m512i b, __m512i c, __m512i d) {
    const __m512i ab_even = _mm512_shuffle_i32x4(a, b, 0x88), ab_odd = _mm512_shuffle_i32x4(a, b, 0xdd);
    const __m512i cd_even = _mm512_shuffle_i32x4(c, d, 0x88), cd_odd = _mm512_shuffle_i32x4(c, d, 0xdd);
    to[0] = _mm512_shuffle_i32x4(ab_even, cd_even, 0x88);
    to[stride] = _mm512_shuffle_i32x4(ab_odd, cd_odd, 0x88);
    to[2 * stride] = _mm512_shuffle_i32x4(ab_even, cd_even, 0xdd);
    to[3 * stride] = _mm512_shuffle_i32x4(ab_odd, cd_odd, 0xdd);
}

/* Part l of to[c]: lane 4 * l + c of from[0] ... from[3]. */
TARGET static inline void transpose_within_parts(__m512i to[4], const __m512i from[4]) {
    const __m512i low01 = _mm512_unpacklo_epi32(from[0], from[1]), high01 = _mm512_unpackhi_epi32(from[0], from[1]);
    const __m512i low23 = _mm512_unpacklo_epi32(from[2], from[3]), high23 = _mm512_unpackhi_epi32(from[2], from[3]);
    to[0] = _mm512_unpacklo_epi64(low01, low23);
    to[1] = _mm512_unpackhi_epi64(low01, low23);
    to[2] = _mm512_unpacklo_epi64(high01, high23);
    to[3] = _mm512_unpackhi_epi64(high01, high23);
}

/* to[i]: lane i of from[0], from[1], ... from[15]. */
TARGET static inline void transpose16(__m512i to[16], const __m512i from[16]) {
    __m512i u[16]; /* part l of u[4 * i + c]: lane 4 * l + c of from[4 * i] ... from[4 * i + 3] */
    UNROLL for (uint32_t i = 0; i < 16; i += 4) transpose_within_parts(u + i, from + i);
    UNROLL for (uint32_t c = 0; c < 4; c++) transpose_parts(to + c, 4, u[c], u[4 + c], u[8 + c], u[12 + c]);
}

/* to[to_stride * i]: lane i of from[0], from[stride], ... from[7 * stride]. */
TARGET static inline void transpose8(__m512i *to, uint32_t to_stride, const __m512i *from, uint32_t stride) {
    __m512i u[8]; /* part l of u[2 * i + c]: lane 2 * l + c of the two from 2 * i on */
    UNROLL for (uint32_t i = 0; i < 8; i += 2) {
        u[i] = _mm512_unpacklo_epi64(from[i * stride], from[(i + 1) * stride]);
        u[i + 1] = _mm512_unpackhi_epi64(from[i * stride], from[(i + 1) * stride]);
    }
    transpose_parts(to, 2 * to_stride, u[0], u[2], u[4], u[6]);
    transpose_parts(to + to_stride, 2 * to_stride, u[1], u[3], u[5], u[7]);
}

/* Row i has the keys of bucket i, in one register or, with 8 lanes, in two; column j has key j of every bucket. */
TARGET static inline void columns_u32(__m512i columns[16], const __m512i rows[16]) { transpose16(columns, rows); }
TARGET static inline void rows_u32(__m512i rows[16], const __m512i columns[16]) { transpose16(rows, columns); }
TARGET static inline void columns_u64(__m512i columns[16], const __m512i rows[16]) {
    transpose8(columns, 1, rows, 2);
    transpose8(columns + 8, 1, rows + 1, 2);
}
TARGET static inline void rows_u64(__m512i rows[16], const __m512i columns[16]) {
    transpose8(rows, 2, columns, 1);
    transpose8(rows + 1, 2, columns + 8, 1);
}

/* ---- keys of any width ------------------------------------------------------------------------------------------------------- */

#define VEC              __m512i
#define LOAD_ALL(at)     _mm512_loadu_si512(at)
#define STORE_ALL(at, v) _mm512_storeu_si512(at, v)
#define AND(a, b)        _mm512_and_si512(a, b)
#define XOR(a, b)        _mm512_xor_si512(a, b)
#define ALL_LANES        ((MASK)-1)
#define EITHER(a, b)     ((MASK)((a) | (b)))
#define NO_LANES(lanes)  ((lanes) == 0)

/* Of each 128 bits: two words of a, two of b. */
#define SHUFFLE_WORDS(a, b, which) _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), which))

/* Brings keys that lie nbytes apart in the same register, of two, to the same lane of both. */
TARGET ALWAYS_INLINE void pair_lanes(__m512i *a, __m512i *b, uint32_t nbytes) {
    const __m512i x = *a, y = *b;
    *a = nbytes == 32   ? _mm512_shuffle_i64x2(x, y, 0x44)
         : nbytes == 16 ? _mm512_shuffle_i64x2(x, y, 0x88)
         : nbytes == 8  ? _mm512_unpacklo_epi64(x, y)
         : nbytes == 4  ? SHUFFLE_WORDS(x, y, 0x88)
         : nbytes == 2  ? _mm512_mask_mov_epi16(x, 0xaaaaaaaa, y)
                        : _mm512_mask_mov_epi8(x, 0xaaaaaaaaaaaaaaaa, y);
    *b = nbytes == 32   ? _mm512_shuffle_i64x2(x, y, 0xee)
         : nbytes == 16 ? _mm512_shuffle_i64x2(x, y, 0xdd)
         : nbytes == 8  ? _mm512_unpackhi_epi64(x, y)
         : nbytes == 4  ? SHUFFLE_WORDS(x, y, 0xdd)
         : nbytes == 2  ? _mm512_shrdi_epi32(x, y, 16)
                        : _mm512_shrdi_epi16(x, y, 8);
}

/* The larger of a and b in lanes whose number has `bit`, else low. Each lane ^ x of a register. Every other lane of two, of their lower or
 * upper halves. */
#define MAX_WHERE(low, bit, a, b) MASK_MAX(low, (MASK)(UINT64_MAX / ((UINT64_C(1) << (bit)) + 1) << (bit)), a, b)
#define EXCHANGE(v, x)            PERMUTE(XOR(LANE_NUMBERS, SPLAT(x)), v)
#define DEAL_LOW(a, b)            PERMUTE2(a, ALTERNATE, b)
#define DEAL_HIGH(a, b)           PERMUTE2(a, _mm512_add_epi32(ALTERNATE, SPLAT(LANES / 2)), b)

/* A vector of numbers for PERMUTE: that of lane i is x ^ (a for bit 0 of i) ^ (b for bit 1) ... */
#define BITS_2(x, a, b)             x, (x) ^ (a), (x) ^ (b), (x) ^ (a) ^ (b)
#define BITS_3(x, a, b, c)          BITS_2(x, a, b), BITS_2((x) ^ (c), a, b)
#define BITS_4(x, a, b, c, d)       BITS_3(x, a, b, c), BITS_3((x) ^ (d), a, b, c)
#define BITS_5(x, a, b, c, d, e)    BITS_4(x, a, b, c, d), BITS_4((x) ^ (e), a, b, c, d)
#define BITS_6(x, a, b, c, d, e, f) BITS_5(x, a, b, c, d, e), BITS_5((x) ^ (f), a, b, c, d, e)
typedef uint8_t vector_of_u8 __attribute__((vector_size(64)));
typedef uint16_t vector_of_u16 __attribute__((vector_size(64)));
typedef uint32_t vector_of_u32 __attribute__((vector_size(64)));
typedef uint64_t vector_of_u64 __attribute__((vector_size(64)));

/* ALTERNATE: lanes of two registers in turn. MERGED, ORDERED: where order_lanes() finds the keys of the first register, after a merge of
 * columns in groups of so many lanes, and after all stages from half a register down. */

/* ---- wide keys --------------------------------------------------------------------------------------------------------------- */

#define WIDE
#define KEY                     uint32_t
#define FN(name)                name##_u32
#define MASK                    __mmask16
#define LANE_MASK               MASK
#define BITS(lanes)             (lanes)
#define SIGN_BIT                UINT64_C(0)
#define LANES                   16u
#define SPLAT(x)                _mm512_set1_epi32((int)(x))
#define LOAD(v, mask, at)       _mm512_mask_loadu_epi32(v, mask, at)
#define STORE(at, mask, v)      _mm512_mask_storeu_epi32(at, mask, v)
#define SELECT(a, mask, b)      _mm512_mask_mov_epi32(a, mask, b)
#define MIN(a, b)               _mm512_min_epu32(a, b)
#define MASK_MAX(v, mask, a, b) _mm512_mask_max_epu32(v, mask, a, b)
#define MAX(a, b)               _mm512_max_epu32(a, b)
#define PERMUTE(lanes, v)       _mm512_permutexvar_epi32(lanes, v)
#define PERMUTE2(a, lanes, b)   _mm512_permutex2var_epi32(a, lanes, b)
#define SIGNS(v)                _mm512_srai_epi32(v, 31)
#define LANES_BELOW(n, first)   LESS(_mm512_add_epi32(LANE_NUMBERS, SPLAT(first)), SPLAT(n))
#define LESS(a, b)              _mm512_cmplt_epi32_mask(a, b)
#define LOAD_U8(at)             _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(at)))
#define BELOW(a, b)             _mm512_cmplt_epu32_mask(a, b)
#define UNEQUAL(mask, a, b)     _mm512_mask_cmpneq_epu32_mask(mask, a, b)
#define ADD_ONE(v, mask)        _mm512_mask_sub_epi32(v, mask, v, SPLAT(-1))
#define GROUP                   __m256i
#define GROUP_KEYS              8u
#define GROUP_OF(v, i)          ((i) == 0 ? _mm512_castsi512_si256(v) : _mm512_extracti64x4_epi64(v, 1))
#define STORE_GROUP(at, v)      _mm256_storeu_si256((__m256i *)(void *)(at), v)
#define PERMUTE_GROUP(below, v) \
    _mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)&set_bits[below])))
#define VECTOR(...)  ((__m512i)(vector_of_u32){BITS_4(0, __VA_ARGS__)})
#define LANE_NUMBERS VECTOR(1, 2, 4, 8)
#define ALTERNATE    VECTOR(16, 1, 2, 4)
#define MERGED(lanes) \
    ((lanes) == 2 ? VECTOR(17, 2, 4, 8) : (lanes) == 4 ? VECTOR(16, 3, 4, 8) : (lanes) == 8 ? VECTOR(16, 2, 5, 8) : VECTOR(16, 2, 1, 12))
#define ORDERED VECTOR(16, 2, 1, 8)
#include "sort_network_tmpl.h"

#define WIDE
#define KEY                     uint64_t
#define FN(name)                name##_u64
#define MASK                    __mmask8
#define LANE_MASK               MASK
#define BITS(lanes)             (lanes)
#define SIGN_BIT                UINT64_C(0)
#define LANES                   8u
#define SPLAT(x)                _mm512_set1_epi64((long long)(x))
#define LOAD(v, mask, at)       _mm512_mask_loadu_epi64(v, mask, at)
#define STORE(at, mask, v)      _mm512_mask_storeu_epi64(at, mask, v)
#define SELECT(a, mask, b)      _mm512_mask_mov_epi64(a, mask, b)
#define MIN(a, b)               _mm512_min_epu64(a, b)
#define MASK_MAX(v, mask, a, b) _mm512_mask_max_epu64(v, mask, a, b)
#define MAX(a, b)               _mm512_max_epu64(a, b)
#define PERMUTE(lanes, v)       _mm512_permutexvar_epi64(lanes, v)
#define PERMUTE2(a, lanes, b)   _mm512_permutex2var_epi64(a, lanes, b)
#define SIGNS(v)                _mm512_srai_epi64(v, 63)
#define LANES_BELOW(n, first)   LESS(_mm512_add_epi64(LANE_NUMBERS, SPLAT(first)), SPLAT(n))
#define LESS(a, b)              _mm512_cmplt_epi64_mask(a, b)
#define LOAD_U8(at)             _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(at)))
#define BELOW(a, b)             _mm512_cmplt_epu64_mask(a, b)
#define UNEQUAL(mask, a, b)     _mm512_mask_cmpneq_epu64_mask(mask, a, b)
#define ADD_ONE(v, mask)        _mm512_mask_sub_epi64(v, mask, v, SPLAT(-1))
#define GROUP                   __m512i
#define GROUP_KEYS              8u
#define GROUP_OF(v, i)          (v)
#define STORE_GROUP(at, v)      _mm512_storeu_si512(at, v)
#define PERMUTE_GROUP(below, v) PERMUTE(LOAD_U8(&set_bits[below]), v)
#define VECTOR(...)             ((__m512i)(vector_of_u64){BITS_3(0, __VA_ARGS__)})
#define LANE_NUMBERS            VECTOR(1, 2, 4)
#define ALTERNATE               VECTOR(8, 1, 2)
#define MERGED(lanes)           ((lanes) == 2 ? VECTOR(9, 2, 4) : (lanes) == 4 ? VECTOR(8, 3, 4) : VECTOR(8, 1, 6))
#define ORDERED                 VECTOR(8, 1, 4)
#include "sort_network_tmpl.h"

/* ---- narrow keys ------------------------------------------------------------------------------------------------------------- */

#define KEY                     uint16_t
#define FN(name)                name##_u16
#define MASK                    __mmask32
#define LANE_MASK               MASK
#define BITS(lanes)             (lanes)
#define SIGN_BIT                UINT64_C(0)
#define LANES                   32u
#define SPLAT(x)                _mm512_set1_epi16((short)(x))
#define LOAD(v, mask, at)       _mm512_mask_loadu_epi16(v, mask, at)
#define STORE(at, mask, v)      _mm512_mask_storeu_epi16(at, mask, v)
#define SELECT(a, mask, b)      _mm512_mask_mov_epi16(a, mask, b)
#define MIN(a, b)               _mm512_min_epu16(a, b)
#define MASK_MAX(v, mask, a, b) _mm512_mask_max_epu16(v, mask, a, b)
#define MAX(a, b)               _mm512_max_epu16(a, b)
#define PERMUTE(lanes, v)       _mm512_permutexvar_epi16(lanes, v)
#define PERMUTE2(a, lanes, b)   _mm512_permutex2var_epi16(a, lanes, b)
#define SIGNS(v)                _mm512_setzero_si512() /* no floats */
#define LANES_BELOW(n, first)   _mm512_cmplt_epi16_mask(_mm512_add_epi16(LANE_NUMBERS, SPLAT(first)), SPLAT(n))
#define VECTOR(...)             ((__m512i)(vector_of_u16){BITS_5(0, __VA_ARGS__)})
#define LANE_NUMBERS            VECTOR(1, 2, 4, 8, 16)
#define ALTERNATE               VECTOR(32, 1, 2, 4, 8)
#define MERGED(lanes)                           \
    ((lanes) == 2    ? VECTOR(33, 2, 4, 8, 16)  \
     : (lanes) == 4  ? VECTOR(32, 3, 4, 8, 16)  \
     : (lanes) == 8  ? VECTOR(32, 1, 6, 8, 16)  \
     : (lanes) == 16 ? VECTOR(32, 1, 4, 10, 16) \
                     : VECTOR(32, 1, 4, 2, 24))
#define ORDERED VECTOR(32, 1, 4, 2, 16)
#include "sort_network_tmpl.h"

TARGET static inline __mmask64 bytes_below(uint32_t n, uint32_t first) {
    return n <= first ? 0 : _bzhi_u64(UINT64_MAX, n - first < 64 ? n - first : 64);
}

#define KEY                     uint8_t
#define FN(name)                name##_u8
#define MASK                    __mmask64
#define LANE_MASK               MASK
#define BITS(lanes)             (lanes)
#define SIGN_BIT                UINT64_C(0)
#define LANES                   64u
#define SPLAT(x)                _mm512_set1_epi8((char)(x))
#define LOAD(v, mask, at)       _mm512_mask_loadu_epi8(v, mask, at)
#define STORE(at, mask, v)      _mm512_mask_storeu_epi8(at, mask, v)
#define SELECT(a, mask, b)      _mm512_mask_mov_epi8(a, mask, b)
#define MIN(a, b)               _mm512_min_epu8(a, b)
#define MASK_MAX(v, mask, a, b) _mm512_mask_max_epu8(v, mask, a, b)
#define MAX(a, b)               _mm512_max_epu8(a, b)
#define PERMUTE(lanes, v)       _mm512_permutexvar_epi8(lanes, v)
#define PERMUTE2(a, lanes, b)   _mm512_permutex2var_epi8(a, lanes, b)
#define SIGNS(v)                _mm512_setzero_si512() /* no floats */
#define LANES_BELOW(n, first)   bytes_below(n, first)
#define VECTOR(...)             ((__m512i)(vector_of_u8){BITS_6(0, __VA_ARGS__)})
#define LANE_NUMBERS            VECTOR(1, 2, 4, 8, 16, 32)
#define ALTERNATE               VECTOR(64, 1, 2, 4, 8, 16)
#define MERGED(lanes)                               \
    ((lanes) == 2    ? VECTOR(65, 2, 4, 8, 16, 32)  \
     : (lanes) == 4  ? VECTOR(64, 3, 4, 8, 16, 32)  \
     : (lanes) == 8  ? VECTOR(64, 1, 6, 8, 16, 32)  \
     : (lanes) == 16 ? VECTOR(64, 1, 2, 12, 16, 32) \
     : (lanes) == 32 ? VECTOR(64, 1, 2, 8, 20, 32)  \
                     : VECTOR(64, 1, 2, 8, 4, 48))
#define ORDERED VECTOR(64, 1, 2, 8, 4, 32)
#include "sort_network_tmpl.h"

sort_group *sort_group_of(enum cpu_isa isa, size_t key_nbytes) {
    static sort_group *const all[] = {sort_group_u8, sort_group_u16, sort_group_u32, sort_group_u64};
    return isa == CPU_PORTABLE ? NULL : isa < CPU_AVX512 ? sort_group_of_avx2(key_nbytes) : all[__builtin_ctzll(key_nbytes)];
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------------- */

/* The lower halves of the lanes of two registers. */
TARGET static inline __m512i narrowed(__m512i low, __m512i high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(low)), _mm512_cvtepi64_epi32(high), 1);
}

#define KEY          uint32_t
#define VALUE        uint32_t
#define LANES        16u
#define FN(name)     name##_k4v4
#define OF_KEY(name) name##_u32
#include "sort_pairs_tmpl.h"

#define KEY          uint32_t
#define VALUE        uint64_t
#define LANES        16u
#define FN(name)     name##_k4v8
#define OF_KEY(name) name##_u32
#include "sort_pairs_tmpl.h"

#define KEY          uint64_t
#define VALUE        uint32_t
#define LANES        8u
#define FN(name)     name##_k8v4
#define OF_KEY(name) name##_u64
#include "sort_pairs_tmpl.h"

#define KEY          uint64_t
#define VALUE        uint64_t
#define LANES        8u
#define FN(name)     name##_k8v8
#define OF_KEY(name) name##_u64
#include "sort_pairs_tmpl.h"

sort_pair_buckets *sort_pair_buckets_of(enum cpu_isa isa, size_t key_nbytes, size_t value_nbytes) {
    if (isa < CPU_AVX512 || key_nbytes < 4 || value_nbytes == 0) return NULL;
    static sort_pair_buckets *const all[2][2] = {{sort_buckets_k4v4, sort_buckets_k4v8}, {sort_buckets_k8v4, sort_buckets_k8v8}};
    return all[key_nbytes / 8][value_nbytes / 8];
}

#include "sort_tags.h"

const struct sort_vector *sort_vector_of(enum cpu_isa isa, size_t key_nbytes) {
    if (isa < CPU_AVX512) return isa == CPU_PORTABLE ? NULL : sort_vector_of_avx2(key_nbytes);
    return key_nbytes == 4 ? &vector_u32 : key_nbytes == 8 ? &vector_u64 : NULL;
}

#else

sort_group *sort_group_of(enum cpu_isa isa, size_t key_nbytes) {
    (void)isa, (void)key_nbytes;
    return NULL;
}

const struct sort_vector *sort_vector_of(enum cpu_isa isa, size_t key_nbytes) {
    (void)isa, (void)key_nbytes;
    return NULL;
}

sort_pair_buckets *sort_pair_buckets_of(enum cpu_isa isa, size_t key_nbytes, size_t value_nbytes) {
    (void)isa, (void)key_nbytes, (void)value_nbytes;
    return NULL;
}

bool sort_by_tags(enum cpu_isa isa, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes) {
    (void)isa, (void)args, (void)image, (void)key_nbytes;
    return false;
}

#endif
