/* sort_network_avx2.c: what sort_network.c does for keys alone, in AVX2 registers, of half as many lanes: the same templates. What
 * AVX2 does not have: masks, so that whole registers are read and written, and the rest byte by byte; permutations of two registers, so
 * that keys of an order_lanes() go back by the shuffles that brought them; and minima of 64 bits, which are a comparison and a choice. */
#include "sort_kernels.h"

#include <string.h>

#include "set_bits.h"
#include "sort_network.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "target_avx2.h"

#include "avx2_few.h"

#define TARGET /* of the whole file */

/* ---- keys of any width ------------------------------------------------------------------------------------------------------- */

#define VEC              __m256i
#define LOAD_ALL(at)     _mm256_loadu_si256((const __m256i *)(const void *)(at))
#define STORE_ALL(at, v) _mm256_storeu_si256((__m256i *)(void *)(at), v)
#define AND(a, b)        _mm256_and_si256(a, b)
#define XOR(a, b)        _mm256_xor_si256(a, b)
#define ALL_LANES        _mm256_set1_epi32(-1)
#define EITHER(a, b)     _mm256_or_si256(a, b)
#define NO_LANES(lanes)  _mm256_testz_si256(lanes, lanes)

/* Of each 128 bits: two words of a, two of b. */
#define SHUFFLE_WORDS(a, b, which) _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), which))

/* Of every two times nbytes, the upper half from b, the other from a. */
TARGET ALWAYS_INLINE __m256i upper_from(__m256i a, __m256i b, uint32_t nbytes) {
    return nbytes == 16  ? _mm256_blend_epi32(a, b, 0xf0)
           : nbytes == 8 ? _mm256_blend_epi32(a, b, 0xcc)
           : nbytes == 4 ? _mm256_blend_epi32(a, b, 0xaa)
           : nbytes == 2 ? _mm256_blend_epi16(a, b, 0xaa)
                         : _mm256_blendv_epi8(a, b, _mm256_set1_epi16((short)0xff00));
}

/* Brings keys that lie nbytes apart in the same register, of two, to the same lane of both; and back. */
TARGET ALWAYS_INLINE void pair_lanes(__m256i *a, __m256i *b, uint32_t nbytes) {
    const __m256i x = *a, y = *b;
    *a = nbytes == 16  ? _mm256_permute2x128_si256(x, y, 0x20)
         : nbytes == 8 ? _mm256_unpacklo_epi64(x, y)
         : nbytes == 4 ? SHUFFLE_WORDS(x, y, 0x88)
         : nbytes == 2 ? upper_from(x, _mm256_slli_epi32(y, 16), 2)
                       : upper_from(x, _mm256_slli_epi16(y, 8), 1);
    *b = nbytes == 16  ? _mm256_permute2x128_si256(x, y, 0x31)
         : nbytes == 8 ? _mm256_unpackhi_epi64(x, y)
         : nbytes == 4 ? SHUFFLE_WORDS(x, y, 0xdd)
         : nbytes == 2 ? upper_from(_mm256_srli_epi32(x, 16), y, 2)
                       : upper_from(_mm256_srli_epi16(x, 8), y, 1);
}

TARGET ALWAYS_INLINE void unpair_lanes(__m256i *a, __m256i *b, uint32_t nbytes) {
    const __m256i x = *a, y = *b;
    if (nbytes != 4) {
        pair_lanes(a, b, nbytes);
        return;
    }
    *a = _mm256_unpacklo_epi32(x, y);
    *b = _mm256_unpackhi_epi32(x, y);
}

/* Each byte changes places with the one whose number is its own ^ nbytes, a constant. */
TARGET ALWAYS_INLINE __m256i exchange_bytes(__m256i v, uint32_t nbytes) {
    const __m256i w = nbytes & 16 ? _mm256_permute2x128_si256(v, v, 0x01) : v;
    const __m256i bytes = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    return nbytes & 15 ? _mm256_shuffle_epi8(w, _mm256_xor_si256(bytes, _mm256_set1_epi8((char)(nbytes & 15)))) : w;
}

#define MAX_WHERE(low, bit, a, b) upper_from(low, MAX(a, b), (bit) * (uint32_t)sizeof(KEY))
#define EXCHANGE(v, x)            exchange_bytes(v, (x) * (uint32_t)sizeof(KEY))
#define DEAL_LOW(a, b)            _mm256_permute2x128_si256(UNPACK_LOW(a, b), UNPACK_HIGH(a, b), 0x20)
#define DEAL_HIGH(a, b)           _mm256_permute2x128_si256(UNPACK_LOW(a, b), UNPACK_HIGH(a, b), 0x31)

/* ---- keys of 4 bytes --------------------------------------------------------------------------------------------------------- */

/* to[i]: lane i of from[0], from[stride], ... from[7 * stride]. */
TARGET static inline void transpose8(__m256i *to, uint32_t to_stride, const __m256i *from, uint32_t stride) {
    __m256i pairs[8], fours[8];
    UNROLL for (uint32_t i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_epi32(from[i * stride], from[(i + 1) * stride]);
        pairs[i + 1] = _mm256_unpackhi_epi32(from[i * stride], from[(i + 1) * stride]);
    }
    UNROLL for (uint32_t i = 0; i < 8; i += 4) {
        UNROLL for (uint32_t k = 0; k < 2; k++) {
            fours[i + 2 * k] = _mm256_unpacklo_epi64(pairs[i + k], pairs[i + 2 + k]);
            fours[i + 2 * k + 1] = _mm256_unpackhi_epi64(pairs[i + k], pairs[i + 2 + k]);
        }
    }
    UNROLL for (uint32_t i = 0; i < 4; i++) {
        to[i * to_stride] = _mm256_permute2x128_si256(fours[i], fours[4 + i], 0x20);
        to[(4 + i) * to_stride] = _mm256_permute2x128_si256(fours[i], fours[4 + i], 0x31);
    }
}

/* Row i has the keys of bucket i, in two registers; column j has key j of every bucket. */
TARGET static inline void columns_u32(__m256i columns[16], const __m256i rows[16]) {
    transpose8(columns, 1, rows, 2);
    transpose8(columns + 8, 1, rows + 1, 2);
}
TARGET static inline void rows_u32(__m256i rows[16], const __m256i columns[16]) {
    transpose8(rows, 2, columns, 1);
    transpose8(rows + 1, 2, columns + 8, 1);
}

TARGET static inline uint32_t bits_u32(__m256i lanes) { return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(lanes)); }

#define WIDE
#define KEY                     uint32_t
#define SIGN_BIT                UINT64_C(0)
#define FN(name)                name##_u32
#define MASK                    uint8_t
#define LANE_MASK               __m256i /* all bits of a lane, or none */
#define LANES                   8u
#define SPLAT(x)                _mm256_set1_epi32((int)(x))
#define LOAD(v, lanes, at)      _mm256_blendv_epi8(v, _mm256_maskload_epi32((const int *)(const void *)(at), lanes), lanes)
#define SELECT(a, lanes, b)     _mm256_blendv_epi8(a, b, lanes)
#define BITS(lanes)             bits_u32(lanes)
#define MIN(a, b)               _mm256_min_epu32(a, b)
#define MAX(a, b)               _mm256_max_epu32(a, b)
#define UNPACK_LOW(a, b)        _mm256_unpacklo_epi32(a, b)
#define UNPACK_HIGH(a, b)       _mm256_unpackhi_epi32(a, b)
#define SIGNS(v)                _mm256_srai_epi32(v, 31)
#define LANE_NUMBERS            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)
#define LANES_BELOW(n, first)   _mm256_cmpgt_epi32(SPLAT(n), _mm256_add_epi32(LANE_NUMBERS, SPLAT(first)))
#define LESS(a, b)              bits_u32(_mm256_cmpgt_epi32(b, a))
#define LOAD_U8(at)             _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(at)))
#define BELOW(a, b)             (MASK)(bits_u32(_mm256_cmpeq_epi32(MAX(a, b), a)) ^ 0xff)
#define UNEQUAL(lanes, a, b)    _mm256_andnot_si256(_mm256_cmpeq_epi32(a, b), lanes)
#define ADD_ONE(v, lanes)       _mm256_sub_epi32(v, lanes)
#define GROUP                   __m256i
#define GROUP_KEYS              8u
#define GROUP_OF(v, i)          (v)
#define STORE_GROUP(at, v)      STORE_ALL(at, v)
#define PERMUTE_GROUP(below, v) _mm256_permutevar8x32_epi32(v, LOAD_U8(&set_bits[below]))
#include "sort_network_tmpl.h"

/* ---- keys of 8 bytes --------------------------------------------------------------------------------------------------------- */

/* Register k has keys 4 * r to 4 * r + 3 of bucket i, for k = 4 * i + r; turned round, key j of every bucket, for k = j. */
TARGET static inline void transpose4(__m256i *to, uint32_t to_stride, const __m256i *from, uint32_t stride) {
    const __m256i even01 = _mm256_unpacklo_epi64(from[0], from[stride]), odd01 = _mm256_unpackhi_epi64(from[0], from[stride]);
    const __m256i even23 = _mm256_unpacklo_epi64(from[2 * stride], from[3 * stride]);
    const __m256i odd23 = _mm256_unpackhi_epi64(from[2 * stride], from[3 * stride]);
    to[0] = _mm256_permute2x128_si256(even01, even23, 0x20);
    to[to_stride] = _mm256_permute2x128_si256(odd01, odd23, 0x20);
    to[2 * to_stride] = _mm256_permute2x128_si256(even01, even23, 0x31);
    to[3 * to_stride] = _mm256_permute2x128_si256(odd01, odd23, 0x31);
}
TARGET static inline void columns_u64(__m256i columns[16], const __m256i rows[16]) {
    UNROLL for (uint32_t r = 0; r < 4; r++) transpose4(columns + 4 * r, 1, rows + r, 4);
}
TARGET static inline void rows_u64(__m256i rows[16], const __m256i columns[16]) {
    UNROLL for (uint32_t r = 0; r < 4; r++) transpose4(rows + r, 4, columns + 4 * r, 1);
}

TARGET static inline uint32_t bits_u64(__m256i lanes) { return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(lanes)); }

/* Not by _mm_loadu_si32(), which gcc 11.1 and 11.2 get wrong. */
TARGET static inline __m256i load_4_u8(const uint8_t *at) {
    int32_t bytes;
    memcpy(&bytes, at, sizeof bytes);
    return _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(bytes));
}

/* set_bits of four, each a pair of words. */
static const uint64_t set_pairs[16] = {0x0706050403020100, 0x0706050403020100, 0x0706050401000302, 0x0706050403020100,
                                       0x0706030201000504, 0x0706030205040100, 0x0706010005040302, 0x0706050403020100,
                                       0x0504030201000706, 0x0504030207060100, 0x0504010007060302, 0x0504070603020100,
                                       0x0302010007060504, 0x0302070605040100, 0x0100070605040302, 0x0706050403020100};

/* AVX2 compares keys of 8 bytes with their signs only, so the image has the sign bit flipped; it has no minima of them. */
#define WIDE
#define KEY                   uint64_t
#define SIGN_BIT              (UINT64_C(1) << 63)
#define FN(name)              name##_u64
#define MASK                  uint8_t
#define LANE_MASK             __m256i
#define LANES                 4u
#define SPLAT(x)              _mm256_set1_epi64x((long long)(x))
#define LOAD(v, lanes, at)    _mm256_blendv_epi8(v, _mm256_maskload_epi64((const long long *)(const void *)(at), lanes), lanes)
#define SELECT(a, lanes, b)   _mm256_blendv_epi8(a, b, lanes)
#define BITS(lanes)           bits_u64(lanes)
#define MIN(a, b)             _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b))
#define MAX(a, b)             _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b))
#define UNPACK_LOW(a, b)      _mm256_unpacklo_epi64(a, b)
#define UNPACK_HIGH(a, b)     _mm256_unpackhi_epi64(a, b)
#define SIGNS(v)              _mm256_cmpgt_epi64(_mm256_setzero_si256(), v)
#define LANE_NUMBERS          _mm256_setr_epi64x(0, 1, 2, 3)
#define LANES_BELOW(n, first) _mm256_cmpgt_epi64(SPLAT(n), _mm256_add_epi64(LANE_NUMBERS, SPLAT(first)))
#define LESS(a, b)            bits_u64(_mm256_cmpgt_epi64(b, a))
#define LOAD_U8(at)           load_4_u8(at)
#define BELOW(a, b)           (MASK) bits_u64(_mm256_cmpgt_epi64(b, a))
#define UNEQUAL(lanes, a, b)  _mm256_andnot_si256(_mm256_cmpeq_epi64(a, b), lanes)
#define ADD_ONE(v, lanes)     _mm256_sub_epi64(v, lanes)
#define GROUP                 __m256i
#define GROUP_KEYS            4u
#define GROUP_OF(v, i)        (v)
#define STORE_GROUP(at, v)    STORE_ALL(at, v)
#define PERMUTE_GROUP(below, v) \
    _mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)&set_pairs[below])))
#include "sort_network_tmpl.h"

/* ---- narrow keys ------------------------------------------------------------------------------------------------------------- */

#define KEY                   uint16_t
#define SIGN_BIT              UINT64_C(0)
#define FN(name)              name##_u16
#define LANE_MASK             __m256i
#define LANES                 16u
#define SPLAT(x)              _mm256_set1_epi16((short)(x))
#define SELECT(a, lanes, b)   _mm256_blendv_epi8(a, b, lanes)
#define MIN(a, b)             _mm256_min_epu16(a, b)
#define MAX(a, b)             _mm256_max_epu16(a, b)
#define UNPACK_LOW(a, b)      _mm256_unpacklo_epi16(a, b)
#define UNPACK_HIGH(a, b)     _mm256_unpackhi_epi16(a, b)
#define SIGNS(v)              _mm256_setzero_si256() /* no floats */
#define LANE_NUMBERS          _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define LANES_BELOW(n, first) _mm256_cmpgt_epi16(SPLAT(n), _mm256_add_epi16(LANE_NUMBERS, SPLAT(first)))
#include "sort_network_tmpl.h"

TARGET static inline __m256i bytes_below(uint32_t n, uint32_t first) {
    const int32_t most = n <= first ? 0 : n - first < 32 ? (int32_t)(n - first) : 32;
    const __m256i bytes = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
                                           27, 28, 29, 30, 31);
    return _mm256_cmpgt_epi8(_mm256_set1_epi8((char)most), bytes);
}

#define KEY                   uint8_t
#define SIGN_BIT              UINT64_C(0)
#define FN(name)              name##_u8
#define LANE_MASK             __m256i
#define LANES                 32u
#define SPLAT(x)              _mm256_set1_epi8((char)(x))
#define SELECT(a, lanes, b)   _mm256_blendv_epi8(a, b, lanes)
#define MIN(a, b)             _mm256_min_epu8(a, b)
#define MAX(a, b)             _mm256_max_epu8(a, b)
#define UNPACK_LOW(a, b)      _mm256_unpacklo_epi8(a, b)
#define UNPACK_HIGH(a, b)     _mm256_unpackhi_epi8(a, b)
#define SIGNS(v)              _mm256_setzero_si256()
#define LANES_BELOW(n, first) bytes_below(n, first)
#include "sort_network_tmpl.h"

sort_group *sort_group_of_avx2(size_t key_nbytes) {
    static sort_group *const all[] = {sort_group_u8, sort_group_u16, sort_group_u32, sort_group_u64};
    return all[__builtin_ctzll(key_nbytes)];
}

const struct sort_vector *sort_vector_of_avx2(size_t key_nbytes) {
    return key_nbytes == 4 ? &vector_u32 : key_nbytes == 8 ? &vector_u64 : NULL;
}

#include "target_end.h"

#endif
