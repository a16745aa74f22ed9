/* sort_job.cuh: what the kernels of one sort share: the job, the plan that the device makes, and how a key becomes a digit.
 *
 * A digit is cut from the key's *image*: an unsigned integer whose order is the wanted order. Signed keys have their sign bit flipped,
 * floats their sign bit if positive and every bit if negative, and descending order inverts all of it, which keeps equal keys in their
 * order. image() and key_of_image() are three instructions, so keys are read and written as they are and no pass over memory is spent on
 * it. Source: Terdiman, Radix sort revisited, 2000, for floats. */
#ifndef UPSWEEP_CUDA_SORT_JOB_CUH
#define UPSWEEP_CUDA_SORT_JOB_CUH

#include <stdint.h>

#include "sort_launch.cuh"
#include "sort_tuning.h"

/* ---- the plan ---------------------------------------------------------------------------------------------------------------- */

/* Buffers by number, for keys and for values alike. */
enum { BUFFER_IN, BUFFER_OUT, BUFFER_TMP };

/* What a pass does: sorts; copies, where data must change buffers so that the last one ends in `out`; opens keys where they are
 * (sort_gaps.cuh); puts strays in order (sort_strays.cuh); or mends what no digit of the passes before has told apart (sort_mend.cuh). */
enum pass_kind : uint8_t { PASS_SORTS, PASS_COPIES, PASS_OPENS, PASS_STRAYS, PASS_MENDS };

/* A pass that runs. One whose digit all keys share does not, unless it copies. */
struct pass_plan {
    uint32_t pass, shift, mask; /* which digit; */
    uint32_t low;               /* without so many bits at its end that do not vary */
    enum pass_kind kind;
    bool first, last;
    bool again; /* runs only if mending has failed */
    uint32_t src, dst, keys_src;
    uint32_t live; /* passes before this one that sort */
};

/* Of keys alone that are counted by value (sort_few.cuh): which there are, and how many keys of each; then, sorted, the keys and where
 * in the output they begin. */
enum { VALUE_SLOT_BITS = 13, VALUE_SLOTS = 1 << VALUE_SLOT_BITS };
struct __align__(16) value_table {
    uint64_t key[VALUE_SLOTS], count[VALUE_SLOTS];
    uint32_t incomplete; /* some keys are counted by their digits */
    uint32_t nvalues;    /* 0: the passes do the sort */
    uint32_t naside;     /* keys of rare values, which passes sort by themselves */
};

/* Digits cut out of images whose bits have been closed up (sort_gaps.cuh); ndigits 0: they are cut out of images as they are. */
struct bit_gaps {
    uint32_t ndigits;
    uint32_t shift[SORT_MAX_PASSES], mask[SORT_MAX_PASSES];
    uint64_t varying, shared; /* bits that not all images share; those that all do */
    uint64_t moved[6];        /* bits that go down by 1, 2, 4, ... */
    uint32_t code_shift;      /* 0, or images have become codes, of which these are the bits below (sort_strays.cuh) */
};

/* Device memory at the start of the scratch; zero when the histogram kernel starts, but for the values if keys are not counted by value. */
struct sort_header {
    struct value_table values;
    uint64_t base[2][SORT_MAX_PASSES][SORT_DIGITS]; /* [0]: histograms, then starts; [1]: starts of odd portions, or cursors */
    uint32_t histograms_done;                       /* CTAs */
    uint32_t nstrays;                               /* keys that have got a number (sort_strays.cuh) */
    uint32_t nruns[2];                              /* passes that run; and behind these, if keys are to be mended (sort_mend.cuh) */
    uint32_t ticket[2], tiles_done[2];              /* of all of either together, in their order */
    uint32_t unmended;                              /* not 0: keys are to be sorted by all digits after all (sort_mend.cuh) */
    struct pass_plan run[2 * SORT_MAX_PASSES + 1];
    __align__(16) struct bit_gaps gaps;
};

/* ---- the job ----------------------------------------------------------------------------------------------------------------- */

/* What becomes of a sort by buckets: all fit a CTA; nothing is moved to them, and stable passes do it, whose digits may have been counted,
 * or what these do if there are few values; or they are there already, and have not been counted before (sort_slots.cuh). */
enum split_outcome { ALL_FIT, NOT_SPLIT, PASSES_PLANNED, PERHAPS_FEW, IN_SLOTS };

/* The bits that vary in nearly all images, and those that nearly all have set; strays have others (sort_strays.cuh). */
struct often_bits {
    uint64_t varying, shared;
};

/* Device memory: the bits in which images differ from the first one, as seen by each CTA of a kernel that has left a sort to the passes;
 * and how many strays there are. */
struct seen_bits {
    uint32_t nctas; /* 0: none has looked */
    uint64_t of_cta[SORT_HISTOGRAM_THREADS];
    uint32_t nstrays[SORT_HISTOGRAM_THREADS];
    struct often_bits often;
};

struct sort_job {
    const void *keys_in;
    void *keys_out, *keys_tmp;
    const void *values_in; /* NULL: values are the indices of the keys */
    void *values_out, *values_tmp;
    uint64_t n;
    uint32_t seed; /* of samples */

    uint64_t flip, float_mask; /* of image() */
    uint32_t npasses;
    uint32_t shift[SORT_MAX_PASSES], mask[SORT_MAX_PASSES]; /* mask 0: a pass that only ever copies */

    uint32_t value_nbytes;
    uint32_t value_unit;       /* the widest access that every value buffer is aligned to */
    bool has_values, by_place; /* by_place: values are copied from buffer to buffer by their place in the tile, not through registers */
    bool drop_keys;            /* argsort: the last pass writes no keys */
    bool in_place;             /* keys or values: the first pass must not write to `out` */
    bool all_in_place;         /* with no live pass there is nothing to move */
    bool may_mend;             /* passes by low digits may be left out (sort_mend.cuh) */
    bool unordered;            /* the first pass that sorts need not be stable (sort_unordered.cuh) */
    uint32_t most_values;      /* if there are so few, keys alone are counted by value, and not moved; others are sorted by its rank */

    const void *values_moved;     /* NULL, or if only_if says ALL_FIT, what the indices of values that are gathered are of */
    const uint32_t *only_if;      /* NULL, or an enum split_outcome */
    const struct seen_bits *seen; /* NULL, or if that is NOT_SPLIT, which bits vary */
    uint32_t least_saved;         /* passes, if bits that do not vary are left out */
    uint32_t most_strays;         /* keys that may have other bits all the same */
    uint32_t histogram_copies;    /* of each counter, in the histogram kernel: a power of two, at most 32 */
    struct sort_header *header;
    uint32_t *states[2]; /* [state_rows][SORT_DIGITS] each, of tiles; while keys are mended, claims (sort_mend_long.cuh) */
    uint32_t state_rows; /* tiles of the largest portion */
    uint32_t ntiles;
    uint32_t portion_tiles; /* tiles of every portion but the last */
    uint32_t nportions;
    uint32_t rows; /* of a tile: SORT_THREADS keys each */
};

/* How many bits at the end of a digit do not vary: of keys that agree in them, a digit's values would be a power of two apart, and so in a
 * few banks of shared memory. 32: none does. */
static __device__ __forceinline__ uint32_t constant_below(uint64_t varying) {
    return (uint32_t)varying ? (uint32_t)__ffs((int)(uint32_t)varying) - 1 : 32;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }
static inline uint32_t min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Are stable passes to do it? */
static __device__ __forceinline__ bool is_for_passes(const struct sort_job &job) {
    return !job.only_if || (*job.only_if >= NOT_SPLIT && *job.only_if <= PERHAPS_FEW);
}

static __device__ __forceinline__ const void *buffer_at(uint32_t which, const void *in, const void *out, const void *tmp) {
    return which == BUFFER_IN ? in : which == BUFFER_OUT ? out : tmp;
}

/* ---- keys and digits --------------------------------------------------------------------------------------------------------- */

/* -1 in the width of the key if its top bit is set, else 0. */
template <typename KEY> static __device__ __forceinline__ KEY sign_mask(KEY key) { return (KEY)(0 - (KEY)(key >> (sizeof(KEY) * 8 - 1))); }

/* Constants of one sort, in the width of the key. Undoing is almost the same: float_mask leaves the sign bit alone. */
template <typename KEY> struct key_order {
    KEY flip, float_mask;

    /* JOB: anything that has a flip and a float_mask. */
    template <typename JOB>
    __device__ __forceinline__ explicit key_order(const JOB &job) : flip((KEY)job.flip), float_mask((KEY)job.float_mask) {}

    __device__ __forceinline__ KEY image(KEY key) const { return (KEY)(key ^ (sign_mask(key) & float_mask) ^ flip); }

    template <int N> __device__ __forceinline__ void make_images(KEY (&keys)[N]) const {
#pragma unroll
        for (int i = 0; i < N; i++) keys[i] = image(keys[i]);
    }

    /* The same for keys of one sign, that of this image's. */
    __device__ __forceinline__ struct key_order of_sign(KEY some_image) const {
        struct key_order order = *this;
        order.flip = (KEY)(some_image ^ key_of_image(some_image));
        order.float_mask = 0;
        return order;
    }

    __device__ __forceinline__ KEY key_of_image(KEY image) const {
        const KEY key = (KEY)(image ^ flip);
        return (KEY)(key ^ (sign_mask(key) & float_mask));
    }
};

template <typename KEY> static __device__ __forceinline__ uint32_t digit_of(KEY image, uint32_t shift, uint32_t mask) {
    return (uint32_t)(image >> shift) & mask;
}

#endif
