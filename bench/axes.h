/* axes.h: what a measurement is of: primitives, distributions and the point that they make with types and sizes. */
#ifndef UPSWEEP_BENCH_AXES_H
#define UPSWEEP_BENCH_AXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upsweep.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(enumerator, name) */
#define PRIMITIVE_TABLE(X)              \
    X(SCAN, "scan")                     \
    X(COMPACT, "compact")               \
    X(COMPACT_FLAGS, "compact_flags")   \
    X(PARTITION, "partition")           \
    X(PARTITION_COPY, "partition_copy") \
    X(SORT, "sort")                     \
    X(SORT_PAIRS, "sort_pairs")         \
    X(ARGSORT, "argsort")               \
    X(UTF8_DECODE, "utf8_decode")       \
    X(UTF8_ENCODE, "utf8_encode")       \
    X(UTF8_VALIDATE, "utf8_validate")   \
    X(UTF8_COUNT, "utf8_count")

/* X(enumerator, name, what). Of elements, first; from SORTED on of keys, which keys.c makes: from EQUAL on whole numbers, from ADDRESSES on
 * bits, but for SENTINEL to ROW, which are as the type is, from UNIT on floats; all from EQUAL on but FEW of 32 and 64 bits only. Of text,
 * from ASCII on, the script (text.c). */
#define DISTRIBUTION_TABLE(X)                                                                                                 \
    X(UNIFORM, "uniform", "random elements; as keys, integers of all bits, and whole floats below 2^32")                      \
    X(RUNS, "runs", "what is kept comes in runs of a few hundred elements, and what is dropped, too")                         \
    X(SORTED, "sorted", "rising by equal steps over the whole range")                                                         \
    X(REVERSED, "reversed", "falling by equal steps")                                                                         \
    X(EQUAL, "equal", "one value")                                                                                            \
    X(FEW, "few", "whole numbers below 50")                                                                                   \
    X(THOUSAND, "thousand", "whole numbers below 1000")                                                                       \
    X(BELOW_N, "below-n", "whole numbers below n")                                                                            \
    X(ZIPF, "zipf", "ranks up to 2^29 by Zipf's law with exponent 1.1")                                                       \
    X(DATES, "dates", "days of the years 1970 to 2069 as yyyymmdd")                                                           \
    X(TIMES, "times", "microseconds of a day; keys of 32 bits: seconds of a year")                                            \
    X(EVENTS, "events", "microseconds of events, ten between two of them, out of order by up to a thousand")                  \
    X(MULTIPLES, "multiples", "multiples of 1000 below 2^32")                                                                 \
    X(OUTLIERS, "outliers", "whole numbers below 10^6, but one in 10000 anywhere")                                            \
    X(CLUSTERS, "clusters", "two ranges of 10^6 whole numbers, from 10^6 and from 10^18 (keys of 32 bits: from 4 * 10^9) on") \
    X(NARROW, "narrow", "4096 ranges of 1000 whole numbers, 2^20 apart, by turns")                                            \
    X(ADDRESSES, "addresses", "multiples of 16 in a range of 2^30")                                                           \
    X(FIELDS, "fields", "four fields of as many bits with 5, 20, 100 and 200 values")                                         \
    X(LETTERS, "letters", "text of random lower-case letters")                                                                \
    X(MILLION, "million", "2^20 different values, anywhere")                                                                  \
    X(LOG_UNIFORM, "log-uniform", "ranks of which each octave up to 2^30 has as many as the next, each put anywhere")         \
    X(SECOND_BITS, "bits-2", "every second bit random")                                                                       \
    X(THIRD_BITS, "bits-3", "every third bit random")                                                                         \
    X(FOURTH_BITS, "bits-4", "every fourth bit random")                                                                       \
    X(THIRD_BITS_SOME, "bits-3-some", "every third bit random, but of one key in 1000 all")                                   \
    X(THIRD_BITS_ONE, "bits-3-one", "every third bit random, but of one key all")                                             \
    X(FOURTH_BITS_LAST, "bits-4-last", "every fourth bit random, but of the last three keys all")                             \
    X(LOW_TWO_THIRDS, "low-two-thirds", "the top third of the bits shared, the others random")                                \
    X(LOW_HALF, "low-half", "the upper half of the bits shared")                                                              \
    X(HIGH_HALF, "high-half", "the lower half of the bits shared")                                                            \
    X(OUTER_HALF, "outer-half", "the middle half of the bits shared")                                                         \
    X(GAP, "gap", "the four bits beneath the top byte zero")                                                                  \
    X(SHIFTED, "shifted", "random bits shifted right by 0 to all but one of them")                                            \
    X(TOP_BYTE, "top-byte", "random, but nine in ten share their top byte")                                                   \
    X(SIXTEENTH, "sixteenth", "random, but every sixteenth key is the same")                                                  \
    X(SENTINEL, "sentinel", "random, or floats in [0, 1), but one in 300 is the greatest integer, or -999")                   \
    X(KNOTS, "knots", "the same, but one in 1600 each is one of three values")                                                \
    X(ROW, "row", "the same, but one in 1200 has its place in a row without gaps")                                            \
    X(ROW_MIXED, "row-mixed", "the same, but the row is in no order")                                                         \
    X(BITS, "bits", "floats of random bits")                                                                                  \
    X(BITS_SORTED, "bits-sorted", "floats whose bits rise by equal steps")                                                    \
    X(UNIT, "unit", "floats in [0, 1); of integers, the bits of such floats, as with the next three")                         \
    X(NORMAL, "normal", "floats of a normal distribution")                                                                    \
    X(HALVES, "halves", "multiples of 0.5, of both signs, below 2^19")                                                        \
    X(HUNDREDTHS, "hundredths", "floats below 10^4 with two decimals")                                                        \
    X(ASCII, "ascii", "ASCII text")                                                                                           \
    X(FRENCH, "french", "French text")                                                                                        \
    X(RUSSIAN, "russian", "Russian text")                                                                                     \
    X(CHINESE, "chinese", "Chinese text")                                                                                     \
    X(EMOJI, "emoji", "emoji")                                                                                                \
    X(MIXED, "mixed", "text of all these scripts by turns")                                                                   \
    X(BAD, "bad", "Chinese text with one unit in a hundred overwritten")                                                      \
    X(RANDOM, "random", "random bytes or units")

#define BENCH_ENUMERATOR(e, ...) e,
enum primitive { PRIMITIVE_TABLE(BENCH_ENUMERATOR) PRIMITIVE_COUNT };
enum distribution { DISTRIBUTION_TABLE(BENCH_ENUMERATOR) DISTRIBUTION_COUNT };
#undef BENCH_ENUMERATOR

/* hot: the same arrays again and again; cold: before each sample, more memory than the caches hold is written */
enum cache { HOT, COLD };

/* clock: the monotonic clock around the call. events: CUDA events around it. graph: events around the replay of a CUDA graph of several
 * calls, which leaves out the time that the host needs to launch them. */
enum method { BY_CLOCK, BY_EVENTS, BY_GRAPH };

/* What does not apply to a primitive is 0; keep is 100 then. */
struct point {
    enum primitive primitive;
    upsweep_type type; /* of elements or keys; text is u8 */
    uint64_t n;        /* elements; of text, bytes of UTF-8 */
    uint32_t keep;     /* percent; what does not select has 100 */
    enum distribution distribution;
    uint32_t block_size, nthreads, num_bits; /* 0: the default */
    uint32_t value_nbytes;                   /* of a value of pairs: 4, 8 or 16; of an index: 4 */
    enum cache cache;
    upsweep_encoding encoding; /* of text, the other side */
    upsweep_on_error mode;
};

const char *primitive_name(enum primitive primitive);
const char *distribution_name(enum distribution distribution);
const char *distribution_what(enum distribution distribution);
size_t point_item_nbytes(const struct point *point);
size_t point_values_nbytes(const struct point *point); /* of all values, or indices; 0: there are none */
bool point_selects(const struct point *point);         /* compact, compact_flags, partition, partition_copy */
bool point_sorts(const struct point *point);           /* sort, sort_pairs, argsort */
bool point_is_text(const struct point *point);         /* utf8_* */
bool point_converts(const struct point *point);        /* utf8_decode, utf8_encode */

/* Is there such a point? Scripts are for text, most distributions for sorts; and what stops at the first error is measured on good text. */
bool point_makes_sense(const struct point *point);

#ifdef __cplusplus
}
#endif

#endif
