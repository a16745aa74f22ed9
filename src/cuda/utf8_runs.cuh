/* utf8_runs.cuh: a chunk of 2 KiB of UTF-32 or UTF-16, in the registers of a warp, to UTF-8 in shared memory.
 *
 *     chunk    | lane 0: 32 bytes | lane 1 | ... | lane 31 |  lane 0 | lane 1 | ... | lane 31 |
 *                <------------- first run ------------>      <--------- second run --------->
 *
 * A lane has two runs of WORDS words of two units each; UTF-32 below 10000 is packed to such words. First all lengths are counted and added
 * up; that is all that others wait for. Then one scan tells each lane where its runs' bytes go, and they are appended (utf8_append.cuh).
 * Two runs a lane, as operations on one fill the gaps of the other, and as a lane's neighbours in memory are then so near that banks are
 * rarely in each other's way. */
#ifndef UPSWEEP_CUDA_UTF8_RUNS_CUH
#define UPSWEEP_CUDA_UTF8_RUNS_CUH

#include "utf8_pairs.cuh"

enum { UTF8_RUN_WORDS = 8 };

struct Utf8Runs {
    uint32_t word[2][UTF8_RUN_WORDS];  /* two units, or a code point of UTF-32 */
    uint32_t marks[2][UTF8_RUN_WORDS]; /* utf8_pairs.cuh */
    uint32_t lengths, in_first;        /* of this lane's runs, 16 bits each; of all lanes' first runs */
};

/* Two code points below 10000 to a word. */
static __device__ __forceinline__ void pack_runs(Utf8Runs &x) {
#pragma unroll
    for (int i = 0; i < 8; i++) x.word[i % 2][i / 2] = __byte_perm(x.word[i % 2][i / 2 * 2], x.word[i % 2][i / 2 * 2 + 1], 0x5410);
}

/* From marks: how long this lane's runs become, if each word has `each` bytes less them. */
template <int WORDS> static __device__ __forceinline__ void measure_runs(unsigned (&length)[2], const Utf8Runs &x, unsigned each) {
    length[0] = length[1] = each * WORDS;
#pragma unroll
    for (int i = 0; i < 2 * WORDS; i++) length[i % 2] = less_marks(x.marks[i % 2][i / 2], length[i % 2]);
}

/* From the lengths of this lane's runs, the chunk's. */
static __device__ __forceinline__ uint32_t add_runs(Utf8Runs &x, const unsigned (&length)[2]) {
    x.lengths = length[0] | length[1] << 16;
    const uint32_t all = __reduce_add_sync(ALL_LANES, x.lengths);
    x.in_first = all & 0xFFFF;
    return x.in_first + (all >> 16);
}

/* Where this lane's runs go. Only now, as nobody but this warp needs to know, and while shuffles are under way strings are put together. */
struct Utf8Places {
    unsigned first, second;
};
static __device__ __forceinline__ Utf8Places place_runs(unsigned stage, const Utf8Runs &x) {
    const uint32_t before = scan_lanes(x.lengths) - x.lengths;
    return {stage + (before & 0xFFFF), stage + x.in_first + (before >> 16)};
}

/* By all lanes: the words that two lanes share. */
template <bool SOME_EMPTY>
static __device__ __forceinline__ void close_runs(const Utf8Appender<SOME_EMPTY> &first, const Utf8Appender<SOME_EMPTY> &second, int lane) {
    const uint32_t tails[2] = {__shfl_sync(ALL_LANES, first.tail, lane + 31), __shfl_sync(ALL_LANES, second.tail, lane + 31)};
    __syncwarp();          /* what a lane has stored past its run, before the next one's head */
    first.close(tails[0]); /* the first lane's begins with a word: there is nothing before it */
    second.close(lane == 0 ? tails[0] : tails[1]);
    if (lane == 31) second.close_last();
}

/* ---- ASCII ------------------------------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t ascii_of(const Utf8Runs &x, int r, int j) {
    return __byte_perm(x.word[r][2 * j], x.word[r][2 * j + 1], 0x6420);
}

template <int WORDS> static __device__ __forceinline__ void put_ascii(unsigned char *stage, const Utf8Runs &x, int lane) {
#pragma unroll
    for (int r = 0; r < 2; r++) {
        if constexpr (WORDS == 8)
            ((uint4 *)stage)[32 * r + lane] = {ascii_of(x, r, 0), ascii_of(x, r, 1), ascii_of(x, r, 2), ascii_of(x, r, 3)};
        else
            ((uint2 *)stage)[32 * r + lane] = {ascii_of(x, r, 0), ascii_of(x, r, 1)};
    }
}

/* ---- units of one or two bytes, and surrogates' codes ------------------------------------------------------------------------ */

template <int WORDS> static __device__ __forceinline__ void mark_up_to_2(Utf8Runs &x) {
    const uint32_t one = opaque_one();
#pragma unroll
    for (int i = 0; i < 2 * WORDS; i++) x.marks[i % 2][i / 2] = marks_up_to_2(x.word[i % 2][i / 2], one);
}

template <int WORDS> static __device__ __forceinline__ uint32_t count_up_to_2(Utf8Runs &x) {
    unsigned length[2];
    measure_runs<WORDS>(length, x, 0);
    return add_runs(x, length);
}

template <int WORDS> static __device__ __forceinline__ void put_up_to_2(unsigned stage, const Utf8Runs &x, int lane) {
    const Utf8Places at = place_runs(stage, x);
    Utf8Appender<false> to[2] = {Utf8Appender<false>(at.first), Utf8Appender<false>(at.second)};
    const uint32_t one = opaque_one();
#pragma unroll
    for (int j = 0; j < WORDS; j++) {
#pragma unroll
        for (int r = 0; r < 2; r++)
            to[r].append(string_up_to_2(x.word[r][j], x.marks[r][j]), nbits_up_to_2(x.marks[r][j]), 2 * j, BY_MASK, one);
    }
    close_runs(to[0], to[1], lane);
}

/* ---- units of up to FFFF, or surrogates' codes ------------------------------------------------------------------------------- */

template <int WORDS> static __device__ __forceinline__ uint32_t count_up_to_3(Utf8Runs &x) {
    unsigned length[2];
    measure_runs<WORDS>(length, x, 2);
    return add_runs(x, length);
}

/* Marks units as if there were no surrogates. Returns whether this lane has any. */
template <int WORDS> static __device__ __forceinline__ bool mark_up_to_3(Utf8Runs &x) {
    const uint32_t one = opaque_one();
    uint32_t least = 0xFFFFFFFF; /* less D800 */
#pragma unroll
    for (int i = 0; i < 2 * WORDS; i++) {
        const uint32_t word = x.word[i % 2][i / 2], unit = up_to_7fff(word);
        x.marks[i % 2][i / 2] = marks_up_to_3(at_least(unit, 0x80, one), at_least(unit, 0x800, one));
        least = __viaddmin_u16x2(word, 0x28002800, least);
    }
    return (least & 0xFFFF) < 0x800 || least >> 16 < 0x800;
}

template <int WORDS, bool SOME_EMPTY> static __device__ __forceinline__ void put_up_to_3(unsigned stage, const Utf8Runs &x, int lane) {
    typedef Utf8Appender<SOME_EMPTY> Appender;
    const Utf8Places at = place_runs(stage, x);
    Appender to[2] = {Appender(at.first), Appender(at.second)};
    const uint32_t one = opaque_one();
#pragma unroll
    for (int j = 0; j < WORDS; j++) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const Utf8Strings s = strings_up_to_3(x.word[r][j], x.marks[r][j]);
            to[r].append(s.a, nbits_of_a(x.marks[r][j]), 2 * j, BY_MASK, one);
            to[r].append(s.b, nbits_of_b(x.marks[r][j]), 2 * j + 1, BY_MULTIPLY_ADD, one);
        }
    }
    close_runs(to[0], to[1], lane);
}

/* ---- surrogates -------------------------------------------------------------------------------------------------------------- */

/* A word of the chunk, or one beside it. */
static __device__ __forceinline__ uint32_t chunk_word(const uint4 *chunk, int i, bool swap) {
    const uint32_t word = ((const uint32_t *)chunk)[i];
    return swap ? __byte_perm(word, 0, 0x2301) : word;
}

/* The words before a lane's runs. */
static __device__ __forceinline__ void words_before(uint32_t (&before)[2], const Utf8Runs &x, const uint4 *chunk, bool swap, int lane) {
    const uint32_t outside = chunk_word(chunk, -1, swap);
    const uint32_t left[2] = {__shfl_sync(ALL_LANES, x.word[0][7], lane + 31), __shfl_sync(ALL_LANES, x.word[1][7], lane + 31)};
    before[0] = lane == 0 ? outside : left[0];
    before[1] = lane == 0 ? left[0] : left[1];
}

/* Is the unit behind a chunk the second half of a pair? */
static __device__ __forceinline__ bool is_low_behind(const uint4 *chunk, bool swap) {
    return is_low_surrogate(chunk_word(chunk, 2 * 32 * UTF8_RUN_WORDS, swap) & 0xFFFF);
}

struct Utf8Surrogates {
    bool in_pairs; /* as far as this lane sees: that a high one at its end is so is for the next lane to see */
    bool beside_3; /* there are units of three bytes, too */
};

/* Marks units and puts codes in the place of surrogates, if all of them are in pairs. */
static __device__ __forceinline__ Utf8Surrogates encode_surrogates(Utf8Runs &x, const uint4 *chunk, bool swap, int lane) {
    const uint32_t one = opaque_one(), most = in_a_register(0x7FFF7FFF, one);
    uint32_t before[2], odd = 0, of_3 = 0;
    words_before(before, x, chunk, swap, lane);
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const uint32_t past = from_d800(before[r], most);
        before[r] = gifts_of(past, highs_of(past));
    }
#pragma unroll
    for (int i = 0; i < 16; i++) {
        uint32_t &word = x.word[i % 2][i / 2];
        const uint32_t unit = __vminu2(word, most), past = from_d800(word, most), highs = highs_of(past);
        const uint32_t neither = no_surrogates(past, one), is_3 = at_least(unit, 0x800, one) & neither;
        const uint32_t gifts = gifts_of(past, highs), given = of_units_before(before[i % 2], gifts);
        odd |= ~(highs | neither) ^ given * 0x1000; /* bits 15 and 31: low ones, and units behind high ones */
        of_3 |= is_3;
        x.marks[i % 2][i / 2] = marks_up_to_3(at_least(unit, 0x80, one), is_3);
        word = multiply_add(given, (uint32_t)-0x400, choose(highs, codes_of_highs(past), word));
        before[i % 2] = gifts;
    }
    const bool open_end = lane == 31 && before[1] >> 16 != 0 && !is_low_behind(chunk, swap);
    return {(odd & 0x80008000) == 0 && !open_end, (of_3 & 0x80008000) != 0};
}

/* Puts U+FFFD in the place of all surrogates, or, if they are to be removed, nothing, by their marks. Returns how many there are. low: of
 * each run, the second halves of pairs: bits 8 to 15 first units of its words, bits 24 to 31 second ones. before: the words before the
 * runs. */
static __device__ __forceinline__ uint32_t mend_all(Utf8Runs &x, uint32_t (&low)[2], const uint32_t (&before)[2], bool removes) {
    const uint32_t one = opaque_one(), most = in_a_register(0x7FFF7FFF, one), marks_of_bad = removes ? MARKS_OF_NONE : 0xFFFFFFFF;
    uint32_t no_high_before[2] = {no_highs(from_d800(before[0], most), one), no_highs(from_d800(before[1], most), one)};
    uint32_t number = 4 * UTF8_RUN_WORDS;
    low[0] = low[1] = 0;
#pragma unroll
    for (int i = 0; i < 16; i++) {
        uint32_t &word = x.word[i % 2][i / 2];
        const uint32_t past = from_d800(word, most), no_high = no_highs(past, one), neither = no_surrogates(past, one);
        const uint32_t good = spread(neither), behind_high = no_high & ~neither & ~of_units_before(no_high_before[i % 2], no_high);
        low[i % 2] = and_or(behind_high, 0x80008000, low[i % 2] >> 1);
        word = choose(good, word, 0xFFFDFFFD);
        const uint32_t unit = up_to_7fff(word);
        x.marks[i % 2][i / 2] = choose(good, marks_up_to_3(at_least(unit, 0x80, one), at_least(unit, 0x800, one)), marks_of_bad);
        number = (uint32_t)__dp4a((int)good, 0x00010001, (int)number);
        no_high_before[i % 2] = no_high;
    }
    return number;
}

/* And then codes in the place of those that are in pairs. words: this lane's in the chunk, as they were; behind: low, of the runs behind.
 * Returns how many there are. */
static __device__ __forceinline__ uint32_t put_pairs_back(Utf8Runs &x, const uint32_t *words, bool swap, const uint32_t (&low)[2],
                                                          const uint32_t (&before)[2], const uint32_t (&behind)[2]) {
    const uint32_t one = opaque_one(), most = in_a_register(0x7FFF7FFF, one), order = swap ? 0x2301 : 0x3210;
    uint32_t both[2];
#pragma unroll
    for (int r = 0; r < 2; r++) both[r] = low[r] | low[r] >> 16 | (low[r] & 0xFE00) << 15 | (behind[r] & 0x100) << 23;
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const int r = i % 2, j = i / 2;
        if ((both[r] & 0x01000100u << j) == 0) continue;
        const uint32_t *const word = words + 32 * UTF8_RUN_WORDS * r + j;
        const uint32_t past = from_d800(__byte_perm(word[0], 0, order), most);
        const uint32_t past_before = from_d800(j > 0 ? __byte_perm(word[-1], 0, order) : before[r], most);
        const uint32_t lows = codes_of_lows(past, of_units_before(past_before, past), one), mask = spread(both[r] << (7 - j));
        x.word[r][j] = choose(mask, choose(spread(low[r] << (7 - j)), lows, codes_of_highs(past)), x.word[r][j]);
        x.marks[r][j] = choose(mask, MARKS_OF_SURROGATES, x.marks[r][j]);
    }
    return (uint32_t)(__popc(both[0]) + __popc(both[1]));
}

/* Replaces or removes surrogates that are in no pairs, and puts codes in the place of the others. Where some are in no pairs most are, so
 * first all are taken for such. Returns how many are. */
static __device__ __forceinline__ uint32_t mend_surrogates(Utf8Runs &x, const uint4 *chunk, bool swap, bool removes, int lane) {
    const bool open_end = lane == 31 && is_high_surrogate(x.word[1][7] >> 16) && is_low_behind(chunk, swap);
    uint32_t before[2], low[2];
    words_before(before, x, chunk, swap, lane);
    const uint32_t number = mend_all(x, low, before, removes);
    if (!__any_sync(ALL_LANES, (low[0] | low[1]) != 0 || open_end)) return number;
    const uint32_t right[2] = {__shfl_sync(ALL_LANES, low[0], lane + 1), __shfl_sync(ALL_LANES, low[1], lane + 1)};
    const uint32_t behind[2] = {lane == 31 ? right[1] : right[0], lane == 31 ? open_end * 0x100u : right[1]};
    return number - put_pairs_back(x, (const uint32_t *)chunk + UTF8_RUN_WORDS * lane, swap, low, before, behind);
}

/* ---- code points of up to 10FFFF --------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ void mark_up_to_4(Utf8Runs &x) {
    const uint32_t one = opaque_one();
#pragma unroll
    for (int i = 0; i < 16; i++) x.marks[i % 2][i / 2] = marks_up_to_4(x.word[i % 2][i / 2], one);
}

/* What is there instead of a code point that is left out. */
#define UTF8_NOTHING UINT32_MAX

/* Puts U+FFFD, or UTF8_NOTHING, in the place of what is no code point. Returns how many there are. most: of what is then there. */
static __device__ __forceinline__ uint32_t mend_codes(Utf8Runs &x, uint32_t &most, uint32_t by) {
    uint32_t number = 0;
    most = 0;
#pragma unroll
    for (int i = 0; i < 16; i++) {
        uint32_t &code = x.word[i / 8][i % 8];
        const bool odd = !is_scalar(code);
        if (odd) code = by;
        if (odd) number++;
        most = max(most, code);
    }
    return number;
}

static __device__ __forceinline__ void leave_out_nothings(Utf8Runs &x) {
#pragma unroll
    for (int i = 0; i < 16; i++)
        if (x.word[i % 2][i / 2] == UTF8_NOTHING) x.marks[i % 2][i / 2] = MARKS_OF_NONE_UP_TO_4;
}

static __device__ __forceinline__ void measure_up_to_4(unsigned (&length)[2], const Utf8Runs &x) {
    length[0] = length[1] = 8;
#pragma unroll
    for (int i = 0; i < 16; i++) length[i % 2] = length_up_to_4(x.marks[i % 2][i / 2], length[i % 2]);
}

template <bool SOME_EMPTY> static __device__ __forceinline__ void put_up_to_4(unsigned stage, const Utf8Runs &x, int lane) {
    typedef Utf8Appender<SOME_EMPTY> Appender;
    const Utf8Places at = place_runs(stage, x);
    Appender to[2] = {Appender(at.first), Appender(at.second)};
    const uint32_t one = opaque_one();
#pragma unroll
    for (int j = 0; j < 8; j++) {
#pragma unroll
        for (int r = 0; r < 2; r++)
            to[r].append(string_up_to_4(x.word[r][j], x.marks[r][j]), nbits_up_to_4(x.marks[r][j]), j, BY_MULTIPLY_ADD, one);
    }
    close_runs(to[0], to[1], lane);
}

#endif
