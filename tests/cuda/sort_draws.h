/* sort_draws.h: keys to be sorted, of distributions that a split by the highest bits likes and dislikes; drawn from one generator. */
#ifndef SORT_DRAWS_H
#define SORT_DRAWS_H

#include "harness.h"

extern struct rng rng;
extern uint32_t sample_seed; /* of the contexts on the GPU */

enum distribution {
    RANDOM,
    SORTED,
    REVERSED,
    EQUAL,
    FEW,
    SMALL,
    SKEWED,
    HOT,
    HIGH_SHARED,
    MIDDLE_SHARED,
    LOW_SHARED,
    OUTLIER,
    REPEATED, /* a thousand values */
    TWINS,    /* each value some thirty times: more than a bin should have, but few values */
    LUMP,     /* one value in every sixteenth key */
    HUMP,     /* one key in 64 shares the upper half of its bits: a bucket too big, among others */
    HALVED,   /* four bits below the top eight are zero, so that buckets are 16 times what is expected */
    SPARSE,   /* every third bit */
    MISFIT,   /* the same, but for one key */
    MISFITS,  /* or for one in 500 */
    /* Bits of floats; of keys of one or two bytes, the lowest of them. */
    PROPORTION, /* in [0, 1) */
    BELL,       /* nearly normal, of both signs */
    CLOSE,      /* a thousandth above 1 at most */
    ZEROES,     /* a bell in which every fourth is a zero, of either sign */
    STRAYS,     /* in [0, 1), but for one in 500: any bits, infinities and NaNs among them */
    DISTRIBUTIONS,
    /* Where they are asked for: floats alone by value. */
    SPREAD = DISTRIBUTIONS, /* evenly in [-5, 5) */
    TILTED,                 /* nearly so, in [1, 1.23) */
    LONE,                   /* in [0, 1), but for one NaN */
    WHOLE,                  /* a thousand whole numbers */
    PEAK,                   /* in [0, 1), but for one in 1,000, which is a half */
    TURNS,                  /* 4,096 narrow ranges of whole numbers, 2^20 apart, by turns */
    BANKS,                  /* two ranges of a million whole numbers, far from each other */
    HEAP,                   /* a bell, but for one in eight, which is a half */
    SETTLED,                /* as SPREAD, but what is next to zero has settled on fifty values on either side */
    PRICED,                 /* exponential, rounded to four digits behind the point, so that all values repeat; */
    RISING_PRICES,          /* in their order */
    /* Integers. */
    SUNK,      /* four bits below the top twelve are zero, so that bins are 16 times what is expected */
    ECHO,      /* one in 2,000 occurs once more, 1,000 keys later; */
    LATE_ECHO, /* each that does not come in the first three quarters */
    FLOCK,     /* every third bit, the others shared, but for one in 1,000, half of which have ten values */
    NIBBLE,    /* four bits of every eight */
    SCATTER,   /* as many keys of one value as of two others, of four more, and so on, all of them far from each other */
    TUFTS,     /* in 1,500 ranges of 4,096, far from each other */
    RIVALS,    /* frequent values, of which two share a counter of a sample, and one has a neighbour */
    BLOCKS,    /* as TURNS */
    TIERS,     /* in fields of as many bits, with 5, 20, 100 and 200 values */
    DATES,     /* days of a hundred years, as yyyymmdd: most numbers of a year are none; */
    RECORDS,   /* or as years, months and days of a byte each, one in 2,000 with a bit that no other has */
    GROUND,    /* the bits of floats in [0, 1), and one zero far below all others */
    DEPTHS,    /* or one in 300 is a zero */
    SHORES,    /* one half whole numbers below a million, the others of 4,000 values far above these */
    WAVES,     /* five sorted runs, one after the other */
    HEDGE,     /* one in 100 has a place in a row without gaps: a bucket that is far too big */
    /* With a bucket or three that are too large, as they have frequent values, or a row, in bits; and then of floats. */
    KNOTS, /* three values of one key in 1,600 each */
    KNOT,  /* one in 300 keys is one value; of integers the greatest, and none is near it, */
    PLAIT, /* or one in 1,500 is one of a hundred values next to one another, */
    CLOT,  /* or one in 1,200 has a place in a row without gaps */
    FLOAT_KNOTS,
    FLOAT_KNOT,
    FLOAT_PLAIT,
    FLOAT_CLOT,
    BURIED, /* one value, but for those that a sample of one launch is drawn from, and their neighbours: no split is for them */
    /* Of 64 bits. */
    NESTS,    /* as HOT, but one in 1,000 is of a nest of a hundred that differ in their lowest 20 bits only, */
    CROWD,    /* or one in 5,000 of the only one; */
    HERD,     /* or that differ in their lowest 16 bits, one in 1,000, */
    PACKS,    /* or, of each 100 keys one, of packs of 512 and 513, four at most, */
    SWARM,    /* or one in 50, but none that a sample of 4,096 has; and the first half of them are in order, and below the others */
    LAGGARD,  /* in the lower 48 bits; one in 100 is one value, and the last key the one below that; */
    STRAGGLER /* or as HOT, and one in 300 */
};

/* Key i of n, as bits. */
uint64_t make_key(enum distribution distribution, unsigned nbits, uint64_t i, uint64_t n);

#endif
