/* sort_split_job.cuh: what a split is told (struct split_job), and what it finds out and keeps in device memory (struct split_header). Its
 * steps: sort_split.cuh. */
#ifndef UPSWEEP_CUDA_SORT_SPLIT_JOB_CUH
#define UPSWEEP_CUDA_SORT_SPLIT_JOB_CUH

#include "sort_digits.cuh"

/* Device memory: the buckets that sort_fused_sample.cuh or sort_fused_splitters.cuh has made; 0: they have made none. */
#define BUCKET_IS_CLOSED (1u << 31) /* beside its end: its images are closed up (sort_fused_gaps.cuh), as `gaps` says */
struct sampled_buckets {
    uint32_t nbuckets;
    bool closed; /* they are by the bits that vary */
    uint32_t start[SPLITTER_BUCKETS], end[SPLITTER_BUCKETS];
    __align__(16) struct bit_gaps gaps;
};

/* Device memory. The first kernel of a split finds it zeroed, and so what has a word for each bucket, behind it. */
struct split_header {
    uint32_t outcome;                   /* enum split_outcome */
    uint32_t nleft;                     /* buckets for stable passes */
    __align__(8) struct seen_bits seen; /* of keys left to the passes */

    /* The histogram, and two partitions: */
    uint32_t ctas_done;
    uint32_t counted_too_many;                    /* 1: a CTA has, of a bucket */
    uint32_t ticket[2];                           /* next tile of the stable partitions */
    OWN_LINE uint32_t coarse_cursor[SORT_DIGITS]; /* where the next key of each coarse bucket goes */
    uint32_t coarse_tile[SORT_DIGITS + 1];        /* tiles of the second partition before each coarse bucket */
    uint32_t put_together;                        /* 1: two buckets are one, as the histogram has it; else 0 */

    /* Slots, and floats: */
    OWN_LINE uint32_t slots_full;               /* enum slots_state */
    OWN_LINE uint32_t slots_uneven;             /* 1: a tile has had many keys for one slot; else 0 */
    OWN_LINE uint32_t coarse_size[SORT_DIGITS]; /* of coarse buckets on their way to slots */
    uint32_t nties[PAIR_SLOTS_TILES];           /* of each tile of pairs in slots (sort_slots_pairs.cuh) */
    OWN_LINE struct value_slots by_value;
    struct cell_counts cell_counts;
    struct cell_plan cells;

    /* Buckets by a sample: */
    OWN_LINE uint32_t sample_state;                   /* enum sample_state */
    OWN_LINE uint32_t sample_done[2];                 /* CTAs that have counted, and moved, keys; */
    uint32_t sample_drawn[DRAWN_CELLS / DRAWN_GROUP]; /* that have compared drawn keys with those of a group */
    union {
        struct sampled_buckets sampled; /* of a split in one launch; else */
        struct sample_slots sample_slots;
    };
};

/* Is a word, which any CTA may write, no longer as it was? The first thread alone asks, and the others say no: if all warps of all CTAs
 * asked, they would wait for one place of the L2 cache. For __syncthreads_or(). */
static __device__ __forceinline__ bool has_turned(const uint32_t *word, uint32_t from) {
    return threadIdx.x == 0 && *(const volatile uint32_t *)word != from;
}

/* How an attempt by slots (sort_slots.cuh) goes; in vain: a histogram would be, too, since some bucket is far too big for a CTA, or keys
 * repeat, or bins of buckets would be deep; or floats are left to the passes. */
enum slots_state { SLOTS_OPEN, SLOTS_FULL, SLOTS_IN_VAIN };

struct slots_plan {
    uint32_t items;                  /* of a slot; of floats: as the plan has it (sort_cells.cuh) */
    uint32_t float_items;            /* of all slots of floats, and what is aside, together, at most */
    uint32_t sample_items;           /* of all slots by a sample, at most; 0: that is not tried */
    uint32_t coarse_bits, fine_bits; /* of integers alone one fewer than the split's, else as many together */
    uint32_t coarse_items;           /* of a coarse bucket, in the output, */
    uint32_t aside_items;            /* and beside it */
    uint32_t coarse_tiles;           /* of a coarse bucket, at most */
    uint32_t tile_items;             /* of floats, in the step at hand */
    uint32_t nfirst;                 /* CTAs that look at a sample before they begin */
    uint32_t nmovers;                /* CTAs that move tiles */
    uint32_t tile_ties;              /* of pairs (sort_slots_pairs.cuh): room for ties of a tile; */
    uint32_t most_ties, vain_ties;   /* repeats in a tile that are too many; and, beyond these, for a histogram, too */
    uint32_t vain_items, vain_alone; /* so many are for a histogram, too, if all around is as dense; or if no other slot is full */
    void *area;                      /* NULL: there are none */
    void *aside;
    uint32_t *size; /* of each bucket; zeroed before */

    /* Slots of integers. */
    __host__ __device__ uint32_t number_bits() const { return coarse_bits + fine_bits; }
};

/* What the sizes of the slots of the only partition tell when so many keys have been moved to them. */
struct slots_so_far {
    float mean, by_chance, vain;

    __device__ __forceinline__ slots_so_far(const struct slots_plan &slots, uint32_t n, uint32_t moved) {
        const float nslots = (float)(1u << slots.fine_bits);
        mean = (float)moved / nslots;
        by_chance = 6 * sqrtf(mean) + 4;
        vain = fmaxf(((float)slots.vain_alone - (float)n / nslots) * ((float)moved / (float)n), by_chance);
    }
    __device__ __forceinline__ float lead(uint32_t size) const { return (float)size - mean; }
    __device__ __forceinline__ bool is_uneven(uint32_t size) const { return fabsf(lead(size)) > by_chance; }
    /* If it goes on like that, and no other slot does, a histogram is in vain. */
    __device__ __forceinline__ bool is_in_vain(uint32_t size) const { return lead(size) > vain; }
};

/* How an item is made of a key and its index (sort_item.cuh). */
struct item_bits {
    uint32_t turn;      /* of an image to the left, so that the bits to sort by are at its top: */
    uint32_t sorted_by; /* these */
    uint32_t index_shift, index_mask;
};

struct split_job {
    const void *in;
    void *out;    /* of the keys; NULL: these are not wanted */
    void *tmp;    /* after the first partition: whole items; or NULL: their halves */
    void *second; /* after the second: the same */
    uint32_t n;
    uint32_t seed;             /* of samples */
    uint32_t nsms;             /* multiprocessors */
    uint64_t flip, float_mask; /* of image() */

    /* Of items that have an index: */
    uint32_t *high, *low; /* the halves */
    struct item_bits bits;
    void *values_out;   /* NULL: only the keys are wanted */
    const void *values; /* NULL: the indices are wanted */
    const void *copied; /* NULL, or what `values`, which are in the scratch, is first to be copied from */
    uint32_t value_nbytes, value_unit;

    /* Buckets: */
    uint32_t coarse_bits; /* of the first of two partitions; 0 if there is only one */
    uint32_t fine_bits;   /* of the last partition */
    uint32_t bucket_max;  /* keys that fit a CTA */
    uint32_t nnumbers;    /* of buckets, at most */
    uint32_t nctas;       /* that sort buckets, of a split in one launch */
    uint32_t first_items; /* of a tile of the first partition of keys alone, or of an argsort */
    uint32_t tile_items;  /* of a tile of any other */
    uint32_t cell_keys;   /* of floats: keys that a bucket may have on average; 0: a bucket is told by the top bits */
    uint32_t value_keys;  /* of floats by value: as cell_keys; 0: they are not */
    bool may_be_two;      /* there are twice as many as needed for keys that do not repeat */

    /* Slots: */
    struct slots_plan slots;
    bool by_value; /* slots by value are tried first (sort_value_slots.cuh) */

    /* The histogram, and who leaves keys to the passes: */
    uint32_t copies;        /* of each counter of the histogram kernel */
    uint32_t sample_limit;  /* of pairs of sampled keys that may share a bucket; 0: no sample is taken */
    uint32_t large_max;     /* keys of a bucket that a CTA may sort though they do not fit its shared memory; 0: none */
    uint32_t large_any;     /* the same if they do not repeat */
    uint32_t most_counted;  /* keys of one that a CTA may count: beyond, it is too large */
    uint32_t uneven_limit;  /* of pairs of neighbouring buckets further apart than chance has it: beyond, stable passes do it */
    struct seen_bits *seen; /* NULL, or who leaves keys to the passes says which of their bits vary */
    uint32_t most_values;   /* if there are so few, the stable passes' kernels count them (sort_few.cuh) */
    uint32_t least_saved;   /* passes, if bits that do not vary are left out (sort_gaps.cuh), */
    uint32_t most_strays;   /* and keys that may have other bits all the same (sort_strays.cuh) */
    uint32_t *states[2];    /* of the tiles of stable partitions; NULL: there are none */
    uint32_t state_words[2];

    /* Device memory: */
    struct split_header *header;
    uint32_t *cursor;    /* the histogram; then where each bucket's next key goes; behind these: sizes in slots */
    uint32_t *start;     /* of each bucket */
    uint32_t *bound;     /* of floats, by number: the top 32 bits of the least image; behind the last one, of the most */
    uint32_t *cell_slot; /* the same: where the slot begins (sort_cell_slots.cuh); behind the last one, where that ends */
    uint32_t *ties;      /* of pairs in slots: where they are in the output; by then there are no starts, or no more */
};

/* The number is the top coarse_bits + fine_bits of the image, and so of the item, */
template <typename KEY> static __device__ __forceinline__ uint32_t bucket_shift(const struct split_job &job) {
    return (uint32_t)sizeof(KEY) * 8 - job.coarse_bits - job.fine_bits;
}

/* or is looked up. A digit of a bucket's number, which has coarse_bits + fine_bits: nbits of it, `shift` of them below. s_entries: the
 * table, if there is one (load_entries()). */
template <typename DIGITS, typename ITEM>
static __device__ __forceinline__ DIGITS cut_number(const struct split_job &job, uint32_t shift, uint32_t nbits,
                                                    const uint32_t *s_entries) {
    const uint32_t mask = (1u << nbits) - 1;
    if constexpr (DIGITS::BY_CELLS)
        return {s_entries, float_cells<typename DIGITS::image_type>(job.header->cells.lowest), shift, mask};
    else
        return {bucket_shift<ITEM>(job) + shift, mask};
}

/* The table of a CTA. */
template <typename DIGITS> struct digit_table { uint32_t entries[DIGITS::BY_CELLS ? CELLS : 1]; };

/* By all threads; a barrier must follow. */
template <typename DIGITS> static __device__ __forceinline__ void load_entries(struct digit_table<DIGITS> &s, const struct split_job &job) {
    if constexpr (DIGITS::BY_CELLS) {
        for (uint32_t i = threadIdx.x; i < CELLS; i += blockDim.x) s.entries[i] = job.header->cells.entry[i];
    }
}

/* Are keys in slots by value? */
static __device__ __forceinline__ bool is_by_value(const struct split_job &job) {
    return job.by_value && job.header->by_value.state == VALUES_OPEN;
}

/* Are floats left to the passes at once, as one repeats too often, or as they lie in so many narrow ranges? In these, many of 64 bits are
 * quicker split by cells. */
template <typename KEY> static __device__ __forceinline__ bool is_left_to_passes(const struct split_job &job) {
    if (!job.by_value) return false;
    const uint32_t state = job.header->by_value.state;
    return state == VALUES_FREQUENT || (state == VALUES_IN_RANGES && (sizeof(KEY) == 4 || job.slots.sample_items));
}

/* Would slots by cells be too small, as those by value are? */
static __device__ __forceinline__ bool are_slots_too_small(const struct split_job &job) {
    return job.by_value && job.header->by_value.state == VALUES_FULL;
}

/* Are cells not tried, as floats are left to the passes, or as they repeat and a sample is to divide them? */
template <typename KEY> static __device__ __forceinline__ bool is_not_for_cells(const struct split_job &job) {
    return is_left_to_passes<KEY>(job) || (job.slots.sample_items && are_slots_too_small(job));
}

#endif
