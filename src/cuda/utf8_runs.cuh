/* utf8_runs.cuh: a chunk of 2 KiB of UTF-32 or UTF-16, in the registers of a warp, to UTF-8 in shared memory.
 *
 *     chunk    | lane 0: 32 bytes | lane 1 | ... | lane 31 |  lane 0 | lane 1 | ... | lane 31 |
 *                <------------- first run ------------>      <--------- second run --------->
 *
 * A lane has two runs of WORDS words of two units each; UTF-32 below 10000 is packed to such words. First all lengths are counted, and one
 * scan tells each lane where its runs' bytes go; that is all that others wait for. Then the bytes are appended (utf8_append.cuh). Two runs
 * a lane, as operations on one fill the gaps of the other, and as a lane's neighbours in memory are then so near that banks are rarely in
 * each other's way. */
#ifndef UPSWEEP_CUDA_UTF8_RUNS_CUH
#define UPSWEEP_CUDA_UTF8_RUNS_CUH

#include "utf8_pairs.cuh"

enum { UTF8_RUN_WORDS = 8 };

struct Utf8Runs {
    uint32_t word[2][UTF8_RUN_WORDS];  /* two units, or a code point of UTF-32 */
    uint32_t marks[2][UTF8_RUN_WORDS]; /* utf8_pairs.cuh; or by how much the code point is longer than a byte */
    uint32_t first, second;            /* where the runs' bytes go */
};

/* From the lengths of this lane's runs: where they go. Returns the chunk's. */
static __device__ __forceinline__ uint32_t place_runs(Utf8Runs &x, const unsigned (&length)[2], int lane) {
    uint32_t before[1], row[1] = {length[0] | length[1] << 16};
    const uint32_t nbytes = scan_packed_rows(before, row, lane);
    x.first = before[0] & 0xFFFF;
    x.second = (row[0] & 0xFFFF) + (before[0] >> 16);
    return nbytes;
}

/* By all lanes: the words that two lanes share. */
static __device__ __forceinline__ void close_runs(const Utf8Appender &first, const Utf8Appender &second, int lane) {
    const uint32_t tails[2] = {__shfl_sync(ALL_LANES, first.tail, (lane + 31) % 32), __shfl_sync(ALL_LANES, second.tail, (lane + 31) % 32)};
    __syncwarp();          /* what a lane has stored past its run, before the next one's head */
    first.close(tails[0]); /* the first lane's begins with a word: there is nothing before it */
    second.close(lane == 0 ? tails[0] : tails[1]);
    if (lane == 31) second.close_last();
}

/* ---- units of one or two bytes, and surrogates' codes
 * --------------------------------------------------------------------------------------------------------- */

template <int WORDS> static __device__ __forceinline__ void mark_up_to_2(Utf8Runs &x) {
#pragma unroll
    for (int i = 0; i < 2 * WORDS; i++) x.marks[i % 2][i / 2] = marks_up_to_2(x.word[i % 2][i / 2]);
}

template <int WORDS> static __device__ __forceinline__ uint32_t count_up_to_2(Utf8Runs &x, int lane) {
    unsigned length[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < 2 * WORDS; i++) length[i % 2] = length_up_to_2(x.marks[i % 2][i / 2], length[i % 2]);
    return place_runs(x, length, lane);
}

template <int WORDS> static __device__ __forceinline__ void put_up_to_2(unsigned stage, const Utf8Runs &x, int lane) {
    Utf8Appender to[2] = {Utf8Appender(stage + x.first), Utf8Appender(stage + x.second)};
#pragma unroll
    for (int j = 0; j < WORDS; j++) {
#pragma unroll
        for (int r = 0; r < 2; r++) to[r].append(string_up_to_2(x.word[r][j], x.marks[r][j]), length_up_to_2(x.marks[r][j], 0), 2 * j);
    }
    close_runs(to[0], to[1], lane);
}

/* ---- units of up to FFFF, or surrogates' codes ------------------------------------------------------------------------------- */

template <int WORDS> static __device__ __forceinline__ uint32_t count_up_to_3(Utf8Runs &x, int lane) {
    unsigned length[2] = {2 * WORDS, 2 * WORDS};
#pragma unroll
    for (int i = 0; i < 2 * WORDS; i++) length[i % 2] = length_up_to_3(x.marks[i % 2][i / 2], length[i % 2]);
    return place_runs(x, length, lane);
}

/* Marks units as if there were no surrogates. Returns whether this lane has any. */
template <int WORDS> static __device__ __forceinline__ bool mark_up_to_3(Utf8Runs &x) {
    uint32_t surrogates = 0;
#pragma unroll
    for (int i = 0; i < 2 * WORDS; i++) {
        const uint32_t half = halved(x.word[i % 2][i / 2]);
        x.marks[i % 2][i / 2] = marks_up_to_3(at_least(half, 0x40), at_least(half, 0x400));
        surrogates |= surrogates_of(half);
    }
    return (surrogates & 0x80008000) != 0;
}

template <int WORDS> static __device__ __forceinline__ void put_up_to_3(unsigned stage, const Utf8Runs &x, int lane) {
    Utf8Appender to[2] = {Utf8Appender(stage + x.first), Utf8Appender(stage + x.second)};
#pragma unroll
    for (int j = 0; j < WORDS; j++) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const Utf8Strings s = string_up_to_3(x.word[r][j], x.marks[r][j]);
            to[r].append_long(s.first, s.second, length_up_to_3(x.marks[r][j], 2), 2 * j, j >= WORDS - 2);
        }
    }
    close_runs(to[0], to[1], lane);
}

/* ---- surrogates -------------------------------------------------------------------------------------------------------------- */

struct Utf8Surrogates {
    bool in_pairs; /* as far as this lane sees: that a high one at its end is so is for the next lane to see */
    bool beside_3; /* there are units of three bytes, too */
};

/* Marks units and puts codes in the place of surrogates. around: in lane 0 the unit before the chunk, in lane 31 the one behind it, if they
 * may be halves of pairs. */
static __device__ __forceinline__ Utf8Surrogates encode_surrogates(Utf8Runs &x, uint32_t around, int lane) {
    const uint32_t left[2] = {__shfl_sync(ALL_LANES, x.word[0][7], (lane + 31) % 32),
                              __shfl_sync(ALL_LANES, x.word[1][7], (lane + 31) % 32)};
    uint32_t before[2] = {lane == 0 ? around << 16 : left[0], lane == 0 ? left[0] : left[1]}; /* the word before; and its highs */
    uint32_t open[2], odd = 0, of_3 = 0;
#pragma unroll
    for (int r = 0; r < 2; r++) open[r] = highs_of(before[r], surrogates_of(halved(before[r])));
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const uint32_t word = x.word[i % 2][i / 2], half = halved(word), either = surrogates_of(half), highs = highs_of(word, either);
        const uint32_t lows = shifted_by_a_unit(open[i % 2], highs);
        odd |= either ^ highs ^ lows;
        const uint32_t is_3 = at_least(half, 0x400) & ~either;
        of_3 |= is_3;
        x.marks[i % 2][i / 2] = marks_up_to_3(at_least(half, 0x40), is_3);
        x.word[i % 2][i / 2] = codes_of_surrogates(before[i % 2], word, highs, lows);
        before[i % 2] = word;
        open[i % 2] = highs;
    }
    const bool open_end = lane == 31 && open[1] >> 31 != 0 && around >> 10 != 0xDC00 >> 10;
    return {(odd & 0x80008000) == 0 && !open_end, (of_3 & 0x80008000) != 0};
}

/* Bits 15 and 31: of high surrogates; 14 and 30: of low ones. */
static __device__ __forceinline__ uint32_t surrogate_flags(uint32_t word) {
    const uint32_t either = surrogates_of(halved(word)), highs = highs_of(word, either);
    return (highs & 0x80008000) | (either & ~highs & 0x80008000) >> 1;
}

/* Puts U+FFFD in the place of surrogates that are in no pairs. Returns how many, and where in the chunk the first one is. */
struct Utf8Replaced {
    uint32_t number, least;
};
static __device__ __forceinline__ Utf8Replaced replace_unpaired(Utf8Runs &x, uint32_t around, int lane) {
    Utf8Replaced found = {0, UINT32_MAX};
#pragma unroll
    for (int i = 0; i < 16; i++) x.marks[i % 2][i / 2] = surrogate_flags(x.word[i % 2][i / 2]);
    const uint32_t beside = lane == 0 ? surrogate_flags(around << 16) : surrogate_flags(around);
    const uint32_t left[2] = {__shfl_sync(ALL_LANES, x.marks[0][7], (lane + 31) % 32),
                              __shfl_sync(ALL_LANES, x.marks[1][7], (lane + 31) % 32)};
    const uint32_t right[2] = {__shfl_sync(ALL_LANES, x.marks[0][0], (lane + 1) % 32),
                               __shfl_sync(ALL_LANES, x.marks[1][0], (lane + 1) % 32)};
    const uint32_t before[2] = {lane == 0 ? beside : left[0], lane == 0 ? left[0] : left[1]};
    const uint32_t behind[2] = {lane == 31 ? right[1] : right[0], lane == 31 ? beside : right[1]};
#pragma unroll
    for (int i = 15; i >= 0; i--) {
        const int r = i % 2, j = i / 2;
        const uint32_t flags = x.marks[r][j], highs_before = __funnelshift_l(j > 0 ? x.marks[r][j > 0 ? j - 1 : 0] : before[r], flags, 16);
        const uint32_t lows_behind = __funnelshift_r(flags, j < 7 ? x.marks[r][j < 7 ? j + 1 : 7] : behind[r], 16);
        const uint32_t bad = (flags & ~(lows_behind << 1) & 0x80008000) | (flags << 1 & ~highs_before & 0x80008000);
        x.word[r][j] = choose(permute(bad, bad, 0xBB99), 0xFFFDFFFD, x.word[r][j]);
        found.number += (uint32_t)__popc(bad);
        if (bad != 0) found.least = min(found.least, (uint32_t)(512 * r + 16 * lane + 2 * j) + (bad & 0x8000 ? 0 : 1));
    }
    return found;
}

/* ---- code points of up to 10FFFF --------------------------------------------------------------------------------------------- */

/* By how much a code point is longer than a byte. */
static __device__ __forceinline__ uint32_t bytes_beyond_1(uint32_t code) {
    return ((0x7F - code) >> 31) + ((0x7FF - code) >> 31) + ((0xFFFF - code) >> 31);
}

/* A code point of n + 1 bytes, the first one lowest; what is beyond the last one means nothing. */
static __device__ __forceinline__ uint32_t string_up_to_4(uint32_t code, uint32_t n) {
    const uint32_t fields = and_or(code << 24, 0x3F000000, and_or(code << 10, 0x003F0000, and_or(code >> 4, 0x00003F00, code >> 18)));
    const uint32_t tags = __byte_perm(0xF0E0C000, 0x80, 0x4440 + n);
    return n == 0 ? code : fields >> (24 - 8 * n) | tags;
}

static __device__ __forceinline__ uint32_t count_up_to_4(Utf8Runs &x, int lane) {
    unsigned length[2] = {8, 8};
#pragma unroll
    for (int i = 0; i < 16; i++) length[i % 2] += x.marks[i % 2][i / 2] = bytes_beyond_1(x.word[i % 2][i / 2]);
    return place_runs(x, length, lane);
}

static __device__ __forceinline__ void put_up_to_4(unsigned stage, const Utf8Runs &x, int lane) {
    Utf8Appender to[2] = {Utf8Appender(stage + x.first), Utf8Appender(stage + x.second)};
#pragma unroll
    for (int j = 0; j < 8; j++) {
#pragma unroll
        for (int r = 0; r < 2; r++) to[r].append(string_up_to_4(x.word[r][j], x.marks[r][j]), x.marks[r][j] + 1, j);
    }
    close_runs(to[0], to[1], lane);
}

#endif
