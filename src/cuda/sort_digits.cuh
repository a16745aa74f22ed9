/* sort_digits.cuh: the ways in which a split cuts the number of a bucket out of an image.
 *
 *     bit_digits     the top bits: even, if those are spread
 *     cell_digits    of floats, whose top bits never are: half of the numbers between 0 and 1 share nine
 *     value_digits   of floats, too, if their values are spread: sort_by_value.cuh; of many, summed_digits: sort_value_slots.cuh
 *
 * The magnitudes of 32 octaves, from the largest that matters down, are cut into cells of a 16th of an octave, 512 on either side of zero;
 * what is beyond belongs to the outermost, and what is around zero to 511. A table gives each cell its first number and how many it has;
 * small neighbours share one (sort_cells.cuh makes it). Within a cell keys are as good as uniform.
 *
 *     image     - large        - small | + small        + large         order kept
 *     cell      0 1 2 ...         511  | 512 ...           1023
 *     number    0 0 1 1 2 3 4 5 5 5        6 6 7 8..13 14..30           entry: first number, how many
 *
 * Cost: a load from shared memory and a dozen operations a key, where the top bits take two. */
#ifndef UPSWEEP_CUDA_SORT_DIGITS_CUH
#define UPSWEEP_CUDA_SORT_DIGITS_CUH

#include "sort_rank.cuh"

/* Device memory: words that all CTAs keep adding to begin a line of their own, and so does what all of them read meanwhile, since each line
 * is at one place of the L2 cache. */
#define OWN_LINE __align__(128)

enum {
    CELL_BITS = 4, /* of the mantissa */
    CELL_OCTAVES = 32,
    CELLS_A_SIDE = CELL_OCTAVES << CELL_BITS,
    CELLS = 2 * CELLS_A_SIDE
};

/* Device memory, zeroed before. */
struct cell_counts {
    uint32_t ticket, ndone; /* parts that are dealt out, and done; the plan is one more */
    uint32_t nequal;        /* keys that have met an equal one, of those that are looked at for an argsort */
    uint32_t count[CELLS];  /* keys seen */
};

/* A coarse bucket (sort_cell_slots.cuh): where its part of the output begins. If it is within one cell, into how many numbers that is
 * divided; else 0. How many of them are before it. */
struct coarse_bucket {
    uint32_t start, count, before;
};

/* The buckets that sort_by_value.cuh has made; 0: it has made none. */
struct value_buckets {
    uint32_t nbuckets, ndigits, first[FUSED_THREADS + 1]; /* digit of each bucket */
    double scale, shift;
};

/* How an attempt by value (sort_value_slots.cuh) goes. Of what two CTAs tell of the sample, the later one here is what counts. */
enum value_state {
    VALUES_NONE,      /* keys are not finite, or all equal, or too close together or too far apart */
    VALUES_OPEN,      /* they are even, as far as is known */
    VALUES_UNEVEN,    /* a closer look has found that they are not, or there is one that has no slot */
    VALUES_NO_PLAN,   /* they are not even, or there is no room */
    VALUES_FULL,      /* a slot is too small, most likely for a value that repeats, or some close together: so would one by cells be */
    VALUES_IN_RANGES, /* they lie in many narrow ranges */
    VALUES_FREQUENT,  /* one repeats so often that only the passes are for them */
};

/* Of slots of floats by value (sort_value_slots.cuh). Device memory, zeroed before. */
struct value_slots {
    uint32_t state;                 /* enum value_state */
    uint32_t nnumbers, items;       /* slots, and room in each */
    uint32_t ncoarse, coarse_tiles; /* of two partitions: coarse buckets; tiles of each, at most; */
    uint32_t coarse_items;          /* their part of the output, which all but the last have; */
    uint32_t aside_items, aside;    /* room beside it, and where in the area */
    float share;                    /* of all keys that have a number */
    double scale, shift;            /* the map */
};

/* Device memory. */
struct cell_plan {
    int32_t lowest;        /* the first cell above zero: this many cells' worth of magnitude */
    uint32_t entry[CELLS]; /* first number << 16 | how many */
    uint32_t nnumbers;     /* of slots (sort_cell_slots.cuh); */
    struct coarse_bucket coarse[SORT_DIGITS + 1];
    struct value_buckets by_value; /* instead of all that */
};

/* Device memory: slots by a sample (sort_sample_slots.cuh). */
struct sample_slots {
    OWN_LINE uint32_t size[SAMPLE_SLOTS_MAX]; /* of each slot's bucket */
    __align__(
        8) uint32_t slot[SAMPLE_SLOTS_MAX]; /* where it begins, or an odd one ends; in the lowest bit, whether keys are only counted */
    uint32_t nslots, ndone;
    uint16_t done[SAMPLE_SLOTS_MAX];             /* those that are only counted */
    __align__(8) uint64_t low[SAMPLE_SLOTS_MAX]; /* the least image that belongs there */
};

/* How that goes. */
enum sample_state { SAMPLE_NONE, SAMPLE_OPEN, SAMPLE_FULL };

/* min(max(value + more, 0), most), which Hopper does in one. */
static __device__ __forceinline__ int32_t add_clamped(int32_t value, int32_t more, int32_t most) {
#if __CUDA_ARCH__ >= 900
    return __viaddmin_s32_relu(value, more, most);
#else
    return min(max(value + more, 0), most);
#endif
}

/* Cells that may hold keys from far off, which their bits do not tell apart. */
static __device__ __forceinline__ bool reaches_far(uint32_t cell) { return cell == 0 || cell == CELLS_A_SIDE - 1 || cell == CELLS - 1; }

/* The cells of floats, whose image is IMAGE. */
template <typename IMAGE> struct float_cells {
    static constexpr uint32_t MANTISSA_BITS = sizeof(IMAGE) == 4 ? 23 : 52, SHIFT = MANTISSA_BITS - CELL_BITS;
    static constexpr uint32_t HALF = 1u << (sizeof(IMAGE) * 8 - SHIFT - 1); /* images from here on, in cells, are those of one sign */

    int32_t below, above; /* to be added: then the lower side has cells 0 to 511, and the upper one 1 to 512 */

    __device__ __forceinline__ explicit float_cells(int32_t lowest)
        : below(CELLS_A_SIDE + lowest - (int32_t)HALF), above(1 - lowest - (int32_t)HALF) {}

    /* Each side's cells seen from the other side are all below, or all above; from zero, those of the lower one are below. */
    __device__ __forceinline__ uint32_t cell_of(IMAGE image) const {
        const int32_t at = (int32_t)(image >> SHIFT);
        return (uint32_t)(add_clamped(at, below, CELLS_A_SIDE - 1) + add_clamped(at, above, CELLS_A_SIDE));
    }

    /* The top 32 bits of a cell's least image. */
    __device__ __forceinline__ uint32_t start_of(uint32_t cell) const {
        if (cell == 0) return 0;
        const int32_t at = cell < CELLS_A_SIDE ? (int32_t)cell - below : (int32_t)(cell - CELLS_A_SIDE + 1) - above;
        return (uint32_t)at << (SHIFT - (sizeof(IMAGE) * 8 - 32));
    }

    /* Where in its cell, as a fraction of 2^32. */
    static __device__ __forceinline__ uint32_t within(IMAGE image) {
        if constexpr (SHIFT > 32)
            return (uint32_t)(image >> (SHIFT - 32));
        else
            return (uint32_t)image << (32 - SHIFT);
    }
};

/* ITEM: an image, perhaps with an index below. */
struct bit_digits {
    static constexpr bool BY_CELLS = false;
    uint32_t shift, mask;

    template <typename ITEM> __device__ __forceinline__ uint32_t of(ITEM item) const { return digit_of(item, shift, mask); }
};

/* Its digits are cut out of the number. */
template <typename IMAGE> struct cell_digits {
    static constexpr bool BY_CELLS = true;
    typedef IMAGE image_type;
    const uint32_t *s_entries;
    struct float_cells<IMAGE> cells;
    uint32_t shift, mask;

    template <typename ITEM> __device__ __forceinline__ uint32_t of(ITEM item) const {
        const IMAGE image = (IMAGE)(item >> (sizeof(ITEM) - sizeof(IMAGE)) * 8);
        const uint32_t entry = s_entries[cells.cell_of(image)];
        return ((entry >> 16) + __umulhi(float_cells<IMAGE>::within(image), entry & 0xffff)) >> shift & mask;
    }
};

/* Those of keys in a part of a cell: how many numbers it is divided into, and how many of them are before the part. */
template <typename IMAGE> struct linear_digits {
    uint32_t count, before;

    __device__ __forceinline__ uint32_t of(IMAGE image) const { return __umulhi(float_cells<IMAGE>::within(image), count) - before; }
};

/* Do all of a warp's items have this digit? */
template <int ROWS, typename ITEM, typename DIGITS, typename ITEMS>
static __device__ __forceinline__ bool all_have(const DIGITS &digits, uint32_t digit, const ITEM (&items)[ROWS], const ITEMS &which) {
    bool have = true;
#pragma unroll
    for (int row = 0; row < ROWS; row++) have = have && (!which.has(row) || digits.of(items[row]) == digit);
    return __all_sync(~0u, have);
}
template <int ROWS, typename ITEM, typename ITEMS>
static __device__ __forceinline__ bool all_have(const bit_digits &digits, uint32_t, const ITEM (&items)[ROWS], const ITEMS &which) {
    return all_have_digit(items, which, digits.shift, digits.mask);
}

#endif
