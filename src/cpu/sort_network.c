/* sort_network.c: groups of up to 256 bytes of keys sorted within four AVX-512 registers: the last step of a leaf of keys alone.
 *
 * A bitonic network. Each stage compares every lane with the lane whose number differs by the bits of x, the lower one keeping the
 * smaller key; no branch depends on a key. Two sorted registers a, b are merged by comparing a with b reversed: the smaller halves and the
 * larger halves are bitonic, and stages of x = 8, 4, 2, 1 sort each.
 *
 *      lanes   3 1 0 2          x = 1 within pairs: 1 3 0 2      x = 3 within fours: 1 0 3 2... compares 1:2, 3:0      x = 1: 0 1 2 3
 *
 * Cost: u32 takes 3 instructions a stage and 16 keys, about 2.7 a key for 32 keys and 3.6 for 64, where insertion has a misprediction a
 * key. Unstable, as every network; so for keys that are sorted by all their bits, of which equal ones are the same.
 * Source: Batcher, Sorting networks and their applications, 1968; Bramas, A novel hybrid quicksort algorithm vectorized using AVX-512,
 * 2017. */
#include "sort_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define TARGET __attribute__((target("avx512f")))

#define KEY                     uint32_t
#define FN(name)                name##_u32
#define MASK                    __mmask16
#define LANES                   16u
#define SPLAT(x)                _mm512_set1_epi32((int)(x))
#define LOAD(mask, at)          _mm512_maskz_loadu_epi32(mask, at)
#define STORE(at, mask, v)      _mm512_mask_storeu_epi32(at, mask, v)
#define SELECT(a, mask, b)      _mm512_mask_mov_epi32(a, mask, b)
#define MIN(a, b)               _mm512_min_epu32(a, b)
#define MASK_MAX(v, mask, a, b) _mm512_mask_max_epu32(v, mask, a, b)
#define MAX(a, b)               _mm512_max_epu32(a, b)
#define PERMUTE(lanes, v)       _mm512_permutexvar_epi32(lanes, v)
#define LANE_NUMBERS            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define SIGNS(v)                _mm512_srai_epi32(v, 31)
#include "sort_network_tmpl.h"

#define KEY                     uint64_t
#define FN(name)                name##_u64
#define MASK                    __mmask8
#define LANES                   8u
#define SPLAT(x)                _mm512_set1_epi64((long long)(x))
#define LOAD(mask, at)          _mm512_maskz_loadu_epi64(mask, at)
#define STORE(at, mask, v)      _mm512_mask_storeu_epi64(at, mask, v)
#define SELECT(a, mask, b)      _mm512_mask_mov_epi64(a, mask, b)
#define MIN(a, b)               _mm512_min_epu64(a, b)
#define MASK_MAX(v, mask, a, b) _mm512_mask_max_epu64(v, mask, a, b)
#define MAX(a, b)               _mm512_max_epu64(a, b)
#define PERMUTE(lanes, v)       _mm512_permutexvar_epi64(lanes, v)
#define LANE_NUMBERS            _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7)
#define SIGNS(v)                _mm512_srai_epi64(v, 63)
#include "sort_network_tmpl.h"

sort_network *sort_network_of(enum cpu_isa isa, size_t key_nbytes) {
    if (isa < CPU_AVX512) return NULL;
    return key_nbytes == 4 ? sort_groups_u32 : key_nbytes == 8 ? sort_groups_u64 : NULL;
}

#else

sort_network *sort_network_of(enum cpu_isa isa, size_t key_nbytes) {
    (void)isa, (void)key_nbytes;
    return NULL;
}

#endif
