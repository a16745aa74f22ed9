/* utf8_report.cuh: what the kernels of UTF-8 share: their arguments, where the text begins and ends, and who writes the report.
 *
 * Strict conversion. The aggregate of a tile is {cut 1, code units 47}: behind an ill-formed sequence nothing counts, and the prefix tells
 * a tile that one lies before it. So exactly one tile knows that it has the first error, or that it is the last and there was none: it
 * writes the report.
 *
 * Replacing and removing. Every tile adds what it has found to a tally in control memory and then arrives there; whoever arrives last
 * writes the report and clears the tally for the next launch. Sums, and a maximum for the place of the first error (counted from the end of
 * time, so that zero means none), do not depend on the order. */
#ifndef UPSWEEP_CUDA_UTF8_REPORT_CUH
#define UPSWEEP_CUDA_UTF8_REPORT_CUH

#include "launch.h"
#include "utf8_rules.cuh"
#include "warp.cuh"

#define UTF8_NOWHERE UINT64_MAX

/* In control memory, zero between calls. */
struct Utf8Tally {
    unsigned long long bad_sequences, bad_units;
    unsigned long long before_error;       /* UTF8_NOWHERE - where the first one begins */
    unsigned long long before_error_units; /* ring, strict: UTF8_NOWHERE - the code units before it */
    unsigned long long needed, arrived;
};

/* Positions count code units from `in`, which is aligned to 16 bytes: the text is [begin, n). */
struct Utf8Args {
    const unsigned char *in;
    uint64_t begin, n;
    unsigned char *out; /* NULL: only the report is wanted (utf8_measure.cuh) */
    uint64_t capacity;
    upsweep_utf8_report *report;
    uint64_t *map;
    uint64_t map_base; /* of `in` */
    Utf8Tally *tally;
    uint32_t ntiles; /* of the call */
    upsweep_encoding from;
    bool replace, strict, more, skip_bom;
    bool swap;       /* UTF-16 of the other byte order */
    bool of_4_twice; /* sequences of four bytes become two units */
    bool clean;      /* UTF-8 on both sides */
};

/* ---- where the text begins and ends ------------------------------------------------------------------------------------------ */

static __device__ __forceinline__ uint32_t utf16_unit(uint32_t unit, bool swap) { return swap ? __byte_perm(unit, 0, 0x4401) : unit; }

static __device__ inline uint32_t unit_at(const Utf8Args &args, uint64_t i) {
    if (args.from == UPSWEEP_UTF8) return args.in[i];
    if (args.from == UPSWEEP_UTF32) return ((const uint32_t *)args.in)[i];
    return utf16_unit(((const uint16_t *)args.in)[i], args.swap);
}

/* What is converted: without the byte order mark that is skipped, and what is held back. */
struct TextSpan {
    uint64_t first, end;
};

#define UTF8_EVERYWHERE (TextSpan{0, UINT64_MAX / 2}) /* for what lies within the text anyway */

static __device__ inline uint64_t skipped_units(const Utf8Args &args) {
    if (!args.skip_bom) return 0;
    if (args.from != UPSWEEP_UTF8) return args.n > args.begin && unit_at(args, args.begin) == 0xFEFF ? 1 : 0;
    const unsigned char *in = args.in + args.begin;
    return args.n - args.begin >= 3 && in[0] == 0xEF && in[1] == 0xBB && in[2] == 0xBF ? 3 : 0;
}

/* How many bytes has the sequence that begins with this lead byte? Its second byte decides whether it may be; 0: it may not. */
static __device__ inline uint32_t length_begun(uint32_t lead, uint32_t second, bool has_second) {
    if (lead < 0xC2 || lead > 0xF4) return 0;
    const uint32_t lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80, highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (has_second && (second < lowest || second > highest)) return 0;
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* Code units at the end that begin a well-formed sequence but do not end it. */
static __device__ inline uint64_t unfinished_units(const Utf8Args &args) {
    if (args.from == UPSWEEP_UTF32 || args.n == args.begin) return 0;
    if (args.from != UPSWEEP_UTF8) return is_high_surrogate(unit_at(args, args.n - 1)) ? 1 : 0;
    for (uint64_t back = 1; back <= 3 && back <= args.n - args.begin; back++) {
        const unsigned char *start = args.in + args.n - back;
        if (start[0] >> 6 == 2) continue;
        return length_begun(start[0], back > 1 ? start[1] : 0, back > 1) > back ? back : 0;
    }
    return 0;
}

static __device__ __noinline__ TextSpan whole_span(const Utf8Args &args) {
    return {args.begin + skipped_units(args), args.n - (args.more ? unfinished_units(args) : 0)};
}

/* The part of the text that a tile of `nitems` code units from `first` on sees: most tiles lie within it, and need not look. A margin of
 * 16 bytes covers what a tile looks at beyond its end, and what may be held back. */
static __device__ __forceinline__ bool is_inner_tile(const Utf8Args &args, uint64_t first, uint32_t nitems) {
    return first > 0 && first + nitems + 32 <= args.n;
}

/* ---- aggregates -------------------------------------------------------------------------------------------------------------- */

#define UTF8_CUT (1ull << 47)

struct UntilCut : AnyOperator {
    static __device__ __forceinline__ unsigned long long apply(unsigned long long a, unsigned long long b) {
        return a & UTF8_CUT ? a : a + b;
    }
    static __device__ __forceinline__ unsigned long long identity() { return 0; }
};

/* Strict: what a warp still counts of a row. `bad` are the ends of ill-formed sequences in this lane's part, `counted` the bits that
 * count. Returns whether the row has cut it off. */
static __device__ __forceinline__ bool cut_row(uint32_t &counted, uint32_t bad, bool cut_before, int lane) {
    const uint32_t lanes = __ballot_sync(ALL_LANES, bad != 0);
    const int first = lanes != 0 ? __ffs((int)lanes) - 1 : 32;
    if (cut_before || lane > first) counted = 0;
    if (lane == first) counted &= (bad & (0 - bad)) - 1;
    return cut_before || lanes != 0;
}

/* ---- findings ---------------------------------------------------------------------------------------------------------------- */

/* Of a tile, in shared memory; and of a lane, in registers. */
struct Utf8Found {
    uint32_t sequences, units;
    uint32_t first; /* the least place: UTF8_PLACE_ZERO + what lies between the tile's first code unit and the sequence */
};
enum { UTF8_PLACE_ZERO = 16 };

static __device__ __forceinline__ Utf8Found utf8_found_none() { return {0, 0, UINT32_MAX}; }

/* By all lanes of a warp: adds what each has found to what the tile has. */
static __device__ __forceinline__ void add_findings(Utf8Found &tile, Utf8Found mine, int lane) {
    if (!__any_sync(ALL_LANES, mine.sequences != 0)) return;
    uint32_t sums[2] = {mine.sequences, mine.units}, first[1] = {mine.first};
    warp_fold_rows<Add<uint32_t>>(sums);
    warp_fold_rows<Min<uint32_t>>(first);
    if (lane != 0) return;
    atomicAdd(&tile.sequences, sums[0]);
    atomicAdd(&tile.units, sums[1]);
    atomicMin(&tile.first, first[0]);
}

/* ---- the report -------------------------------------------------------------------------------------------------------------- */

static __device__ inline upsweep_text_error error_of(const Utf8Args &args, TextSpan span, uint64_t at) {
    const uint32_t lead = unit_at(args, at);
    if (args.from == UPSWEEP_UTF32) return lead > 0x10FFFF ? UPSWEEP_TEXT_TOO_LARGE : UPSWEEP_TEXT_SURROGATE;
    if (args.from != UPSWEEP_UTF8) return UPSWEEP_TEXT_SURROGATE;
    const uint32_t second = at + 1 < span.end ? unit_at(args, at + 1) : 0;
    if (lead < 0xC0) return UPSWEEP_TEXT_STRAY;
    if (lead >= 0xF5) return UPSWEEP_TEXT_TOO_LARGE;
    if (lead < 0xC2) return UPSWEEP_TEXT_OVERLONG;
    if (second >> 6 != 2 || length_begun(lead, second, true) != 0) return UPSWEEP_TEXT_TOO_SHORT;
    return lead == 0xED ? UPSWEEP_TEXT_SURROGATE : lead == 0xF4 ? UPSWEEP_TEXT_TOO_LARGE : UPSWEEP_TEXT_OVERLONG;
}

/* error_at: UTF8_NOWHERE if there is none. */
static __device__ __noinline__ void write_report(const Utf8Args &args, uint64_t needed, uint64_t bad_sequences, uint64_t bad_units,
                                                 uint64_t error_at) {
    const TextSpan span = whole_span(args);
    const bool is_bad = error_at != UTF8_NOWHERE, stopped = args.strict && is_bad;
    const bool fits = args.out == nullptr || needed <= args.capacity;
    upsweep_utf8_report *r = args.report;
    r->needed = needed;
    r->written = fits && args.out != nullptr ? needed : 0;
    r->consumed = !fits ? 0 : (stopped ? error_at : span.end) - args.begin;
    r->bad_sequences = args.strict ? 0 : bad_sequences;
    r->bad_units = args.strict ? 0 : bad_units;
    r->error_at = is_bad ? error_at - args.begin : UTF8_NOWHERE;
    r->error = is_bad ? error_of(args, span, error_at) : UPSWEEP_TEXT_GOOD;
    r->status = !fits ? UPSWEEP_ERR_CAPACITY : stopped ? UPSWEEP_ERR_ENCODING : UPSWEEP_OK;
}

/* By the one thread that arrived last: the report; then the tally is as the next call wants it. units: it says of which code unit of the
 * output an error is. */
static __device__ __forceinline__ void report_tally(const Utf8Args &args, bool units) {
    __threadfence(); /* what came before the other arrivals is seen from here on */
    volatile Utf8Tally *tally = args.tally;
    const uint64_t error_units = units ? UTF8_NOWHERE - tally->before_error_units : UTF8_NOWHERE;
    write_report(args, error_units != UTF8_NOWHERE ? error_units : tally->needed, tally->bad_sequences, tally->bad_units,
                 UTF8_NOWHERE - tally->before_error);
    tally->needed = 0;
    tally->bad_sequences = 0;
    tally->bad_units = 0;
    tally->before_error = 0;
    if (units) tally->before_error_units = 0;
    tally->arrived = 0;
}

/* By one thread of every tile, in two parts, so that it need not wait for the memory in between: hand_in() when the tile's prefix is known,
 * conclude() before the tile ends. first: of the tile; units: before it and, `with` it, behind it. */
static __device__ inline unsigned long long hand_in(const Utf8Args &args, uint64_t first, uint32_t tile, const Utf8Found &found,
                                                    unsigned long long units, unsigned long long with) {
    const bool last = tile == args.ntiles - 1, is_bad = found.sequences != 0;
    const uint64_t error_at = is_bad ? first + found.first - UTF8_PLACE_ZERO : UTF8_NOWHERE;
    if (args.strict) {
        if (!(units & UTF8_CUT) && (is_bad || last)) write_report(args, with & ~UTF8_CUT, 0, 0, error_at);
        return 0;
    }
    if (args.ntiles == 1) {
        write_report(args, with, found.sequences, found.units, error_at);
        return 0;
    }
    if (is_bad) {
        atomicAdd(&args.tally->bad_sequences, (unsigned long long)found.sequences);
        atomicAdd(&args.tally->bad_units, (unsigned long long)found.units);
        atomicMax(&args.tally->before_error, (unsigned long long)(UTF8_NOWHERE - error_at));
    }
    if (last) args.tally->needed = with;
    if (is_bad || last) __threadfence(); /* these must be there when the arrival is */
    return atomicAdd(&args.tally->arrived, 1ull) + 1;
}

static __device__ inline void conclude(const Utf8Args &args, unsigned long long arrived) {
    if (!args.strict && arrived == args.ntiles) report_tally(args, false);
}

#endif
