/* sort_two_bytes.c: some thousand keys of two bytes, alone and whole: counted by counters of one byte, and written with AVX-512.
 *
 * The counters are 64 KiB, a quarter of those of sort_count.c, so that few increments wait for L2. One that overflows begins again at one,
 * and a second table, of which only what is needed is ever cleared, counts how often it has.
 *
 * Then the keys that occur, and how often, are brought together, as compaction does: of 64 counters, the numbers of those that are not
 * zero. Most keys occur a few times: each gets as many places as any of its 64 neighbours needs, two or four, and the bits of the places
 * that are taken say which to pick:
 *
 *     keys  5 7 8   counts  2 1 3      one and more  1 1 1      places  5 5 5 5 | 7 7 7 7 | 8 8 8 8
 *                                      two and more  1 0 1      taken   1 1 0 0 | 1 0 0 0 | 1 1 1 0   ->  5 5 7 8 8 8
 *                                      three         0 0 1
 *
 * Nothing branches on a single counter. Cost: two cycles a key; 7 for 64 counters; 10 for 32 different keys that occur twice at the most,
 * 16 four times, two more often. Source: distribution counting, as there; places: Elias, Efficient storage and retrieval by content and
 * address of static files, 1974 (numbers as runs of ones). */
#include "sort_narrow.h"

#include <string.h>

#if defined(__x86_64__)

#include <immintrin.h>

/* Counters at a time; counters of which the keys are brought together; keys in a register; the most for 64 keys in places. */
enum { KEYS = 1 << 16, GROUP = 64, STRETCH = 1 << 12, LANES = 32, ROOM = 4 * GROUP };

/* How often each key occurs. */
struct counts {
    uint8_t low[KEYS];             /* 0: not at all; else 1 to 255 */
    uint8_t carried[KEYS / GROUP]; /* has any of a group overflowed? */
    uint32_t high[KEYS];           /* if so, how often each has: 255 times as many more */
};

/* Keys in their order that all occur, and behind them GROUP counts of 0. */
struct present {
    uint16_t keys[STRETCH + GROUP];
    uint8_t counts[STRETCH + GROUP]; /* low ones */
    uint32_t n;
    bool carried;
};

/* ---- counting ---------------------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void carry(struct counts *counts, uint16_t key) {
    uint32_t *const group = counts->high + key / GROUP * GROUP;
    if (!counts->carried[key / GROUP]) memset(group, 0, GROUP * sizeof *group);
    counts->carried[key / GROUP] = 1;
    counts->high[key]++;
}

ALWAYS_INLINE void count_times(struct counts *counts, uint16_t key, uint32_t times) {
    const uint32_t sum = counts->low[key] + times;
    counts->low[key] = (uint8_t)(sum <= UINT8_MAX ? sum : sum - UINT8_MAX);
    if (__builtin_expect(sum > UINT8_MAX, 0)) carry(counts, key);
}

ALWAYS_INLINE void count_one(struct counts *counts, uint16_t key) {
    if (__builtin_expect(++counts->low[key] != 0, 1)) return;
    counts->low[key] = 1;
    carry(counts, key);
}

/* Runs of four equal keys at once: each would wait for the increment before. */
static void count_keys(struct counts *counts, const uint16_t *keys, uint64_t n) {
    uint64_t i = 0, four;
    memset(counts->low, 0, sizeof counts->low);
    memset(counts->carried, 0, sizeof counts->carried);
    for (; i + 4 <= n; i += 4) {
        memcpy(&four, keys + i, sizeof four);
        if (four == (four << 16 | four >> 48)) {
            count_times(counts, keys[i], 4);
            continue;
        }
        for (uint32_t k = 0; k < 4; k++) count_one(counts, keys[i + k]);
    }
    for (; i < n; i++) count_one(counts, keys[i]);
}

static uint64_t count_of(const struct counts *counts, uint16_t key) {
    return counts->low[key] + (counts->carried[key / GROUP] ? UINT64_C(255) * counts->high[key] : 0);
}

/* ---- writing ----------------------------------------------------------------------------------------------------------------- */

#include "target_avx512.h"

static const unsigned char numbers[GROUP] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                             22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
                                             44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

/* Keys whose images (key ^ flip) are from `begin` on. */
static void find_present(struct present *p, const struct counts *all, uint32_t begin, uint32_t flip) {
    const __m512i order = _mm512_xor_si512(_mm512_loadu_si512(numbers), _mm512_set1_epi8((char)(flip % GROUP)));
    uint32_t n = 0, carried = 0;
    for (uint32_t image = begin; image < begin + STRETCH; image += GROUP) {
        const uint32_t first = (image ^ flip) / GROUP * GROUP;
        const __m512i counts = _mm512_permutexvar_epi8(order, _mm512_loadu_si512(all->low + first));
        const uint64_t any = _mm512_test_epi8_mask(counts, counts);
        const uint32_t nany = (uint32_t)__builtin_popcountll(any);
        const __m512i which = _mm512_maskz_compress_epi8(any, order), base = _mm512_set1_epi16((short)first);
        const __m512i low = _mm512_or_si512(base, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(which)));
        const __m512i high = _mm512_or_si512(base, _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(which, 1)));
        _mm512_storeu_si512(p->counts + n, _mm512_maskz_compress_epi8(any, counts));
        _mm512_storeu_si512(p->keys + n, low);
        if (nany > LANES) _mm512_storeu_si512(p->keys + n + LANES, high);
        carried |= all->carried[first / GROUP];
        n += nany;
    }
    _mm512_storeu_si512(p->counts + n, _mm512_setzero_si512());
    p->n = n;
    p->carried = carried != 0;
}

/* The keys in the places that are taken; 2^bits places side by side are for the same key. exact: no more may be written. */
ALWAYS_INLINE uint16_t *put(uint16_t *to, __m512i keys, uint64_t taken, int bits, bool exact) {
    const __m512i shifted = _mm512_srl_epi16(_mm512_loadu_si512(numbers), _mm_cvtsi32_si128(bits));
    const __m512i places = _mm512_and_si512(shifted, _mm512_set1_epi8((char)((GROUP - 1) >> bits)));
    const __m512i which = _mm512_maskz_compress_epi8(taken, places);
    const __m512i low = _mm512_permutexvar_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(which)), keys);
    const __m512i high = _mm512_permutexvar_epi16(_mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(which, 1)), keys);
    const uint32_t n = (uint32_t)__builtin_popcountll(taken);
    if (exact) {
        _mm512_mask_storeu_epi16(to, (__mmask32)_bzhi_u64(UINT32_MAX, n), low);
        _mm512_mask_storeu_epi16(to + LANES, (__mmask32)(_bzhi_u64(UINT64_MAX, n) >> LANES), high);
    } else {
        _mm512_storeu_si512(to, low);
        _mm512_storeu_si512(to + LANES, high);
    }
    return to + n;
}

/* GROUP keys, each of which occurs four times or less. */
ALWAYS_INLINE uint16_t *put_group(uint16_t *to, const uint16_t *keys, __m512i counts, bool exact) {
    const uint64_t one = _mm512_test_epi8_mask(counts, counts), two = _mm512_cmpgt_epu8_mask(counts, _mm512_set1_epi8(1));
    const uint64_t three = _mm512_cmpgt_epu8_mask(counts, _mm512_set1_epi8(2)), four = _mm512_cmpgt_epu8_mask(counts, _mm512_set1_epi8(3));
    if (three == 0) {
        for (uint32_t i = 0; i < GROUP; i += LANES) {
            const uint64_t taken = _pdep_u64(one >> i, 0x5555555555555555) | _pdep_u64(two >> i, 0xaaaaaaaaaaaaaaaa);
            to = put(to, _mm512_loadu_si512(keys + i), taken, 1, exact);
        }
        return to;
    }
    for (uint32_t i = 0; i < GROUP; i += LANES / 2) {
        const uint64_t taken = _pdep_u64(one >> i, 0x1111111111111111) | _pdep_u64(two >> i, 0x2222222222222222) |
                               _pdep_u64(three >> i, 0x4444444444444444) | _pdep_u64(four >> i, 0x8888888888888888);
        to = put(to, _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)(keys + i))), taken, 2, exact);
    }
    return to;
}

/* In wholes of 16, as long as there is room before end. */
ALWAYS_INLINE uint16_t *put_copies(uint16_t *to, const uint16_t *end, uint16_t key, uint64_t n) {
    enum { COPIES = LANES / 2 };
    const __m256i copies = _mm256_set1_epi16((short)key);
    uint16_t *const until = to + n;
    for (; to < until && end - to >= COPIES; to += COPIES) _mm256_storeu_si256((__m256i *)(void *)to, copies);
    for (; to < until; to++) *to = key;
    return until;
}

static uint16_t *put_present(uint16_t *to, const uint16_t *end, const struct present *p, const struct counts *all) {
    for (uint32_t i = 0; i < p->n; i += GROUP) {
        const __m512i counts = _mm512_loadu_si512(p->counts + i);
        const uint32_t last = i + GROUP < p->n ? i + GROUP : p->n;
        if (p->carried)
            for (uint32_t k = i; k < last; k++) to = put_copies(to, end, p->keys[k], count_of(all, p->keys[k]));
        else if (_mm512_cmpgt_epu8_mask(counts, _mm512_set1_epi8(4)) != 0)
            for (uint32_t k = i; k < last; k++) to = put_copies(to, end, p->keys[k], p->counts[k]);
        else if (end - to >= ROOM)
            to = put_group(to, p->keys + i, counts, false);
        else
            to = put_group(to, p->keys + i, counts, true);
    }
    return to;
}

#include "target_end.h"

/* ---- both -------------------------------------------------------------------------------------------------------------------- */

void sort_two_bytes(uint16_t *to, const uint16_t *from, uint64_t n, const struct sort_image *image, void *scratch) {
    struct counts *const counts = scratch;
    struct present present;
    uint16_t *at = to;
    count_keys(counts, from, n);
    for (uint32_t begin = 0; at < to + n; begin += STRETCH) {
        find_present(&present, counts, begin, (uint32_t)image->flip);
        at = put_present(at, to + n, &present, counts);
    }
}

uint64_t sort_two_bytes_scratch(void) { return sizeof(struct counts); }

#else

void sort_two_bytes(uint16_t *to, const uint16_t *from, uint64_t n, const struct sort_image *image, void *scratch) {
    (void)to, (void)from, (void)n, (void)image, (void)scratch; /* no vectors, no call */
}

uint64_t sort_two_bytes_scratch(void) { return 0; }

#endif

/* More cost less with counters that cannot overflow, which are then filled. (Zen 4, 2026-11.) */
uint64_t sort_two_bytes_most(enum cpu_isa isa) { return isa < CPU_AVX512 ? 0 : UINT64_C(1) << 17; }
