/* sort_network.c: sorting networks in AVX-512 registers: the last step of a leaf, and whole sorts of a few keys.
 *
 * buckets: 16 rows of up to 16 keys are transposed, so that each lane of 16 registers has a bucket. 60 comparators, each a minimum and a
 * maximum of two registers, sort all lanes at once, with no shuffle; transposed back, rows are written one after the other.
 *
 *        rows  3 1      columns  3 7 5 ..      1 2 5 ..      rows  1 3
 *              7 2 4   ->        1 2 - ..  ->  3 4 - ..  ->        2 4 7      (a bucket is as long as its count says; - sorts last)
 *              5                 - 4 - ..      - 7 - ..            5
 *
 * group: up to 1 KiB of keys in 16 registers, fewer in fewer: the same columns, which are then merged where they stand, one run with the
 * other reversed. Of keys in the same register, two registers bring the lower ones to one and the upper ones to the other. Up to 8 KiB:
 * in pieces of 1 KiB, which are merged the same way (sort_merge_tmpl.h).
 *
 * part: keys below a divider are brought before the others by eights (sort_part_tmpl.h).
 *
 * few: keys of few different values are counted (sort_few_tmpl.h).
 *
 * pairs: the columns are tags, keys with their places, and say afterwards where keys and values go (sort_pairs_tmpl.h).
 *
 * No branch depends on a key. Cost of buckets: about 3 instructions a key of half-filled ones, where insertion has a misprediction a
 * key. Unstable, as every network; so for keys that are sorted by all their bits, of which equal ones are the same, and
 * for tags, of which no two are equal. Sources: Batcher,
 * Sorting networks and their applications, 1968; Knuth, TAOCP 3, 5.3.4; Bramas, A novel hybrid quicksort algorithm vectorized using
 * AVX-512, 2017. */
#include "sort_narrow.h"

#include <string.h>

#include "set_bits.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,bmi,bmi2,popcnt")))

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Pairs of a network for 16 keys (Green, 1969, in TAOCP 3, 5.3.4; in the order of the list kept by Dobbelaere), a layer a line. */
/* clang-format off */
#define SORT_COMPARATORS(X)                                               \
    X(0, 13) X(1, 12) X(2, 15) X(3, 14) X(4, 8) X(5, 6) X(7, 11) X(9, 10) \
    X(0, 5) X(1, 7) X(2, 9) X(3, 4) X(6, 13) X(8, 14) X(10, 15) X(11, 12) \
    X(0, 1) X(2, 3) X(4, 5) X(6, 8) X(7, 9) X(10, 11) X(12, 13) X(14, 15) \
    X(0, 2) X(1, 3) X(4, 10) X(5, 11) X(6, 7) X(8, 9) X(12, 14) X(13, 15) \
    X(1, 2) X(3, 12) X(4, 6) X(5, 7) X(8, 10) X(9, 11) X(13, 14)          \
    X(1, 4) X(2, 6) X(5, 8) X(7, 10) X(9, 13) X(11, 14)                   \
    X(2, 4) X(3, 6) X(9, 12) X(11, 13)                                    \
    X(3, 5) X(6, 8) X(7, 9) X(10, 12)                                     \
    X(3, 4) X(5, 6) X(7, 8) X(9, 10) X(11, 12)                            \
    X(6, 7) X(8, 9)
/* clang-format on */

/* The same for 4 keys and for 8. */
/* clang-format off */
#define SORT_COMPARATORS_4(X) X(0, 2) X(1, 3) X(0, 1) X(2, 3) X(1, 2)
#define SORT_COMPARATORS_8(X)                 \
    X(0, 2) X(1, 3) X(4, 6) X(5, 7)           \
    X(0, 4) X(1, 5) X(2, 6) X(3, 7)           \
    X(0, 1) X(2, 3) X(4, 5) X(6, 7)           \
    X(2, 4) X(3, 5)                           \
    X(1, 4) X(3, 6)                           \
    X(1, 2) X(3, 4) X(5, 6)
/* clang-format on */

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

/* Of each 128 bits: two words of a, two of b. */
#define SHUFFLE_WORDS(a, b, which) _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), which))

/* MERGED_n, ORDERED: where order_lanes() finds the keys of the first register, after a merge of columns in groups of n lanes, and after all
 * stages from half a register down. */

/* ---- two widths -------------------------------------------------------------------------------------------------------------- */

#define KEY                     uint32_t
#define FN(name)                name##_u32
#define MASK                    __mmask16
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
#define ALTERNATE               _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define LANE_NUMBERS            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define SIGNS(v)                _mm512_srai_epi32(v, 31)
#define LESS(a, b)              _mm512_cmplt_epi32_mask(a, b)
#define LOAD_U8(at)             _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(at)))
#define BELOW(a, b)             _mm512_cmplt_epu32_mask(a, b)
#define UNEQUAL(mask, a, b)     _mm512_mask_cmpneq_epu32_mask(mask, a, b)
#define ADD_ONE(v, mask)        _mm512_mask_sub_epi32(v, mask, v, SPLAT(-1))
#define GROUP                   __m256i
#define GROUP_OF(v, i)          ((i) == 0 ? _mm512_castsi512_si256(v) : _mm512_extracti64x4_epi64(v, 1))
#define STORE_GROUP(at, v)      _mm256_storeu_si256((__m256i *)(void *)(at), v)
#define PERMUTE_GROUP(row, v)   _mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(row))))
#define MERGED_2                _mm512_setr_epi32(0, 17, 2, 19, 4, 21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31)
#define MERGED_4                _mm512_setr_epi32(0, 16, 3, 19, 4, 20, 7, 23, 8, 24, 11, 27, 12, 28, 15, 31)
#define MERGED_8                _mm512_setr_epi32(0, 16, 2, 18, 5, 21, 7, 23, 8, 24, 10, 26, 13, 29, 15, 31)
#define MERGED_16               _mm512_setr_epi32(0, 16, 2, 18, 1, 17, 3, 19, 12, 28, 14, 30, 13, 29, 15, 31)
#define ORDERED                 _mm512_setr_epi32(0, 16, 2, 18, 1, 17, 3, 19, 8, 24, 10, 26, 9, 25, 11, 27)
#include "sort_network_tmpl.h"

#define KEY                     uint64_t
#define FN(name)                name##_u64
#define MASK                    __mmask8
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
#define ALTERNATE               _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11)
#define LANE_NUMBERS            _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7)
#define SIGNS(v)                _mm512_srai_epi64(v, 63)
#define LESS(a, b)              _mm512_cmplt_epi64_mask(a, b)
#define LOAD_U8(at)             _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(at)))
#define BELOW(a, b)             _mm512_cmplt_epu64_mask(a, b)
#define UNEQUAL(mask, a, b)     _mm512_mask_cmpneq_epu64_mask(mask, a, b)
#define ADD_ONE(v, mask)        _mm512_mask_sub_epi64(v, mask, v, SPLAT(-1))
#define GROUP                   __m512i
#define GROUP_OF(v, i)          (v)
#define STORE_GROUP(at, v)      _mm512_storeu_si512(at, v)
#define PERMUTE_GROUP(row, v)   PERMUTE(LOAD_U8(row), v)
#define MERGED_2                _mm512_setr_epi64(0, 9, 2, 11, 4, 13, 6, 15)
#define MERGED_4                _mm512_setr_epi64(0, 8, 3, 11, 4, 12, 7, 15)
#define MERGED_8                _mm512_setr_epi64(0, 8, 1, 9, 6, 14, 7, 15)
#define MERGED_16               _mm512_setzero_si512()
#define ORDERED                 _mm512_setr_epi64(0, 8, 1, 9, 4, 12, 5, 13)
#include "sort_network_tmpl.h"

/* ---- narrow keys ------------------------------------------------------------------------------------------------------------- */

/* Widened in the register that they are sorted in. */
__attribute__((target("avx512f,avx512bw,avx512vl,bmi,bmi2,popcnt"))) void
sort_row_narrow(void *to, const void *from, uint32_t n, const struct sort_image *image, size_t key_nbytes) {
    const __mmask16 there = (__mmask16)((1u << n) - 1);
    const __m512i flips = _mm512_set1_epi32((int)image->flip);
    const __m512i raw = key_nbytes == 1 ? _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(there, from))
                                        : _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(there, from));
    const __m512i images = _mm512_mask_xor_epi32(_mm512_set1_epi32(-1), there, raw, flips);
    const __m512i sorted = _mm512_xor_si512(sort1_u32(images, n), flips);
    if (key_nbytes == 1)
        _mm_mask_storeu_epi8(to, there, _mm512_cvtepi32_epi8(sorted));
    else
        _mm256_mask_storeu_epi16(to, there, _mm512_cvtepi32_epi16(sorted));
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

const struct sort_vector *sort_vector_of(enum cpu_isa isa, size_t key_nbytes) {
    if (isa < CPU_AVX512) return NULL;
    return key_nbytes == 4 ? &vector_u32 : key_nbytes == 8 ? &vector_u64 : NULL;
}

#else

void sort_row_narrow(void *to, const void *from, uint32_t n, const struct sort_image *image, size_t key_nbytes) {
    (void)to, (void)from, (void)n, (void)image, (void)key_nbytes; /* no vectors, no call */
}

const struct sort_vector *sort_vector_of(enum cpu_isa isa, size_t key_nbytes) {
    (void)isa, (void)key_nbytes;
    return NULL;
}

sort_pair_buckets *sort_pair_buckets_of(enum cpu_isa isa, size_t key_nbytes, size_t value_nbytes) {
    (void)isa, (void)key_nbytes, (void)value_nbytes;
    return NULL;
}

#endif
