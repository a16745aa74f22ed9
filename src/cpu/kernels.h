/* kernels.h: the table of inner loops: one thread, one block, no checks. A table exists for each instruction set; a context uses one.
 *
 * All tables give the same bits. For integers, min and max any order of combination does. Float sums and products ("rounded" scans) follow
 * one shape everywhere, laid out for 128-bit lanes because those are what shuffles are cheap in:
 *
 *     tile    64 bytes = 4 lanes of 128 bits (16 f32, 8 f64), counted from the first item of the block
 *     1       within each lane: Kogge-Stone (x[i-1] op x[i], then by 2)
 *     2       lanes 1 and 3 take the last item of lanes 0 and 2; then lanes 2 and 3 take the last item of lane 1
 *     out     = (T)(carry op local) op prefix, with carry (into the block) and local (of the tiles before, in the block) in double
 *     carry   into the next block = carry op local
 *
 * An incomplete tile is filled up with the neutral element. So a block's aggregate (its local) does not depend on the carry, and one thread
 * that knows the carry gets the bits of many that do not; and a long f32 sum loses nothing to a large carry. What is not promised is the
 * payload of a NaN that a rounded scan yields: compilers may swap the operands of + and *. */
#ifndef UPSWEEP_KERNELS_H
#define UPSWEEP_KERNELS_H

#include <string.h>

#include "cpu.h"

/* A running value in 64 bits: a double for rounded scans, else the element in the first bytes. */
typedef uint64_t scan_carry;

/* The carries of one type. */
struct carry_rules {
    scan_carry (*identity)(upsweep_op op);
    scan_carry (*load)(upsweep_op op, const void *item);
    scan_carry (*combine)(upsweep_op op, scan_carry a, scan_carry b);
    void (*store)(upsweep_op op, void *item, scan_carry carry);
};

/* Scans in [n] into out [n] from `carry`; returns the carry after it. out == in is allowed. stream: bypass the caches, if out's alignment
 * lets it (16 bytes). */
typedef scan_carry scan_kernel(upsweep_op op, bool inclusive, bool stream, void *out, const void *in, size_t n, scan_carry carry);
/* The aggregate of in [n], n > 0: what combine(carry, .) needs to give scan's result. */
typedef scan_carry reduce_kernel(upsweep_op op, const void *in, size_t n);

/* Bit i of bits [(n + 63) / 64] = in[i] satisfies the predicate; bits past n are 0. */
typedef void mask_kernel(const upsweep_predicate *keep, const void *in, size_t n, uint64_t *bits);

/* Copies the items of in [n] that satisfy the predicate to out [n] and returns their number; the rest as compact_kernel. The same as a mask
 * and then a compaction, without bits in between. */
typedef size_t filter_kernel(const upsweep_predicate *keep, void *out, const void *in, size_t n);
/* The same, and those that do not satisfy it to rest [n]. One of the two may lie before in or at it. */
typedef size_t split_kernel(const upsweep_predicate *keep, void *out, void *rest, const void *in, size_t n);

/* The same by byte flags, the others to rest [n] unless that is NULL; nothing overlaps. For few items: of those that are not in the caches
 * the bits are better computed first, some thousand at a time, by 10 to 15 % (1 to 4 bytes, Zen 4, 2026-11). */
typedef size_t flags_kernel(void *out, void *rest, const void *in, const uint8_t *flags, size_t n);

/* Copies the items of in [n] whose bit is set to out [room], which is as large as that takes, and returns their number. Writes within out
 * [room] only, but there also past the kept items: full vectors are what makes it fast. out may lie before in or at it: nothing is
 * overwritten before it is read. */
typedef size_t compact_kernel(void *out, size_t room, const void *in, const uint64_t *bits, size_t n);
/* The same with base + i for item i, and room for n. */
typedef size_t indices_kernel(void *out, uint64_t base, const uint64_t *bits, size_t n);

/* memcpy that bypasses the caches. */
typedef void copy_kernel(void *out, const void *in, size_t nbytes);

/* TYPE_i8 = UPSWEEP_I8 ...: the row of a template's type. */
#define TYPE_OF_NAME(e, v, name, ...) TYPE_##name = (e),
enum { UPSWEEP_TYPE_TABLE(TYPE_OF_NAME) };
#undef TYPE_OF_NAME

/* Loops that take an operator as a constant argument and must be copied for it. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* What is set up and saved for them, their callers' other ways need not wait for. */
#define NOT_INLINE static __attribute__((noinline))

/* Set bits of a word. Compilers know these steps, and take the instruction where there is one; where there is none, gcc turns its own
 * __builtin_popcountll() into a call. */
ALWAYS_INLINE uint64_t popcount_64(uint64_t x) {
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return x * UINT64_C(0x0101010101010101) >> 56;
}

/* Before a loop: several turns of it at once, where its own instructions cost as much as the work; or never. */
#ifdef __clang__
#define UNROLLED     _Pragma("unroll 4")
#define NOT_UNROLLED _Pragma("nounroll")
#else
#define UNROLLED     _Pragma("GCC unroll 4")
#define NOT_UNROLLED _Pragma("GCC unroll 1")
#endif

enum { COMPACT_WIDTHS = 5 }; /* items of 1, 2, 4, 8, 16 bytes, by log2 */

struct kernels {
    scan_kernel *scan[UPSWEEP_TYPE_COUNT];
    reduce_kernel *reduce[UPSWEEP_TYPE_COUNT];
    mask_kernel *mask[UPSWEEP_TYPE_COUNT];
    filter_kernel *filter[UPSWEEP_TYPE_COUNT];
    split_kernel *split[UPSWEEP_TYPE_COUNT];
    flags_kernel *flags[COMPACT_WIDTHS];
    compact_kernel *compact[COMPACT_WIDTHS];
    indices_kernel *indices32, *indices64;
    copy_kernel *stream_copy;
};

extern const struct carry_rules carry_rules[UPSWEEP_TYPE_COUNT];

extern const struct kernels kernels_portable;
#if defined(__x86_64__)
extern const struct kernels kernels_avx2;
extern const struct kernels kernels_avx512;
#endif

static inline const struct kernels *kernels_of(enum cpu_isa isa) {
#if defined(__x86_64__)
    if (isa == CPU_AVX512) return &kernels_avx512;
    if (isa == CPU_AVX2) return &kernels_avx2;
#endif
    (void)isa;
    return &kernels_portable;
}

/* Words of bits of n whose items cannot run past the room, however many of them are kept. */
ALWAYS_INLINE size_t words_with_room(size_t n, size_t room) { return (n < room ? n : room) / 64; }

/* Copies the items of in [n] from number i on whose bit is set to *end, which moves on behind them: one by one, and writes nothing else. */
ALWAYS_INLINE void compact_one_by_one(size_t nbytes, unsigned char **end, const unsigned char *in, const uint64_t *bits, size_t i,
                                      size_t n) {
    for (size_t first = i / 64 * 64; first < n; first += 64) {
        uint64_t word = bits[first / 64];
        if (first < i) word = word >> i % 64 << i % 64;
        for (; word != 0; word &= word - 1, *end += nbytes) {
            unsigned char copy[16]; /* memcpy may not overlap, and in place the two can be one */
            memcpy(copy, in + (first + (size_t)__builtin_ctzll(word)) * nbytes, nbytes);
            memcpy(*end, copy, nbytes);
        }
    }
}

/* Items of any size: writes exactly the kept ones. out does not overlap in. */
size_t compact_records(void *out, const void *in, const uint64_t *bits, size_t n, size_t item_nbytes);

static inline bool is_vector_width(size_t nbytes) { return nbytes <= 16 && (nbytes & (nbytes - 1)) == 0; }

/* By the one or the other. */
static inline size_t compact_items(const struct kernels *kernels, size_t nbytes, void *out, size_t room, const void *in,
                                   const uint64_t *bits, size_t n) {
    if (!is_vector_width(nbytes)) return compact_records(out, in, bits, n, nbytes);
    return kernels->compact[__builtin_ctzll(nbytes)](out, room, in, bits, n);
}

static inline void invert_bits(uint64_t *bits, size_t n) {
    for (size_t w = 0; w < n / 64; w++) bits[w] = ~bits[w];
    if (n % 64 != 0) bits[n / 64] ^= ((uint64_t)1 << n % 64) - 1;
}

#endif
