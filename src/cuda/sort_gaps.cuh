/* sort_gaps.cuh: bits that all keys share are left out of the digits of onesweep, wherever they are.
 *
 *     image        0 1 1 0 a 0 0 b 1 1 c 0 d      letters: bits in which keys differ
 *     closed       . . . . . . . . . a b c d      the same order
 *
 * Of 64-bit keys of which every third bit varies each of the eight digits has two or three bits that do, and takes a pass; closed up they
 * are three digits. Which bits vary must be known of all keys: when a split is found not to be for them, each CTA says which it has seen
 * (sort_fused.cuh, sort_sample_plan.cuh), or the counts of the digits tell; sort_histogram.cuh plans the digits, the first pass closes the
 * images, and the last one opens them. In passes that move values this would take registers that they need for all keys: so there keys are
 * closed while they are counted, and opened, unless it is an argsort, by one more pass. Up to 2^20, with values 2^19, are rather split by
 * closed images, sort_fused_gaps.cuh; and a sort in one launch, sort_rounds.cuh, leaves such bits out by itself.
 *
 * Bits are moved by powers of two: each step moves those down whose distance has that bit, from the lowest on; opening goes the other way.
 * Cost: a read of the keys, if the sample promises fewer passes; three operations a step and key to close, two to open; six steps at most.
 * Source: Warren, Hacker's Delight, second edition, 2013, sections 7-4 and 7-5. */
#ifndef UPSWEEP_CUDA_SORT_GAPS_CUH
#define UPSWEEP_CUDA_SORT_GAPS_CUH

#include "sort_few.cuh"

/* ---- which bits vary --------------------------------------------------------------------------------------------------------- */

/* Has an image other bits than nearly all? BITS: what says which these are. */
template <typename KEY, typename BITS> static __device__ __forceinline__ bool is_stray(const BITS &bits, KEY image) {
    return (image & ~(KEY)bits.varying) != (KEY)bits.shared;
}

/* The image next to a stray that is none: on the same side of all others. *above: the stray is above it. Bits that vary are as they should
 * be; the others are anything. */
template <typename KEY> static __device__ __forceinline__ KEY next_to_stray(const struct bit_gaps &gaps, KEY image, bool *above) {
    const uint64_t strange = (image ^ (KEY)gaps.shared) & ~(KEY)gaps.varying, below = ~0ull >> __clzll((long long)strange);
    *above = (image & strange) > below / 2;
    return *above ? image | (KEY)below : image & ~(KEY)below;
}

/* The bits that are set in any value of a warp's, in every lane. */
static __device__ __forceinline__ uint32_t or_of_warp(uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(~0u, value);
#else
    for (uint32_t distance = 16; distance > 0; distance /= 2) value |= __shfl_xor_sync(~0u, value, distance);
    return value;
#endif
}

static __device__ __forceinline__ uint64_t or_of_warp(uint64_t value) {
    return (uint64_t)or_of_warp((uint32_t)(value >> 32)) << 32 | or_of_warp((uint32_t)value);
}

/* The same of a CTA's first nwarps, which call it; s_words may be used again after a barrier. */
static __device__ __forceinline__ uint64_t or_of_threads(uint64_t value, uint64_t (&s_words)[32], uint32_t nwarps = blockDim.x / 32) {
    const uint64_t of_warp = or_of_warp(value);
    if (threadIdx.x % 32 == 0) s_words[threadIdx.x / 32] = of_warp;
    __syncthreads(); /* all words */
    return or_of_warp(threadIdx.x % 32 < nwarps ? s_words[threadIdx.x % 32] : 0);
}

/* The sum of all, for thread 0; s_words as above. */
static __device__ __forceinline__ uint32_t sum_of_threads(uint32_t value, uint64_t (&s_words)[32]) {
    const uint32_t of_warp = sum_warp(value);
    if (threadIdx.x % 32 == 0) s_words[threadIdx.x / 32] = of_warp;
    __syncthreads(); /* all sums */
    return sum_warp(threadIdx.x < blockDim.x / 32 ? (uint32_t)s_words[threadIdx.x] : 0);
}

static __device__ __forceinline__ uint32_t count_bits(uint64_t bits) { return (uint32_t)__popcll((long long)bits); }

/* Digits in which some bit varies. */
static __device__ __forceinline__ uint32_t varying_digits(uint64_t varying) {
    uint32_t ndigits = 0;
    for (uint64_t rest = varying; rest; rest >>= SORT_DIGIT_BITS) ndigits += (rest & (SORT_DIGITS - 1)) != 0;
    return ndigits;
}

/* Digits that closing up would leave; and how many fewer than there are now that is. */
static __device__ __forceinline__ uint32_t closed_digits(uint64_t varying) {
    return (count_bits(varying) + SORT_DIGIT_BITS - 1) / SORT_DIGIT_BITS;
}
static __device__ __forceinline__ uint32_t digits_saved(uint64_t varying) { return varying_digits(varying) - closed_digits(varying); }

/* Finds the bits in which keys differ from the first one, and counts strays. */
template <typename KEY> struct varying_bits {
    const struct key_order<KEY> order;
    const KEY first;
    const struct often_bits often;
    KEY &varying; /* of this thread's keys; */
    uint32_t &nstrays;

    template <int N> __device__ __forceinline__ void add(const KEY (&keys)[N]) const {
#pragma unroll
        for (int i = 0; i < N; i++) {
            const KEY image = order.image(keys[i]);
            varying |= image ^ first;
            nstrays += is_stray(often, image);
        }
    }
};

/* In which bits do keys of a sample differ from the first one? All threads call it. JOB: a split_job. */
template <typename KEY, typename JOB> static __device__ __forceinline__ uint64_t varying_in_sample(const JOB &job, uint64_t (&s_seen)[32]) {
    const struct key_order<KEY> order(job);
    const KEY *keys = (const KEY *)job.in;
    return or_of_threads((KEY)(order.image(sampled_key(keys, job)) ^ order.image(keys[0])), s_seen);
}

/* Does a sample say that a pass can be saved, or two where keys are opened by one more, and that there are not so few values that they are
 * counted? If something goes with the keys, these can be sorted by one digit as well as by the ranks of their values. All threads call it.
 */
template <typename KEY, typename JOB> static __device__ __forceinline__ bool sample_has_gaps(const JOB &job, uint64_t (&s_seen)[32]) {
    const uint64_t varying = varying_in_sample<KEY>(job, s_seen);
    const bool few = job.most_values > SORT_DIGITS && count_bits(varying) < 32 && 1u << count_bits(varying) <= job.most_values;
    return !few && digits_saved(varying) >= job.least_saved;
}

/* And those of which both values are seen in more than STRAY_PARTS of its 32 parts: so not those of few keys. All threads call it; s_words
 * may be used again after a barrier. */
template <typename KEY, typename JOB>
static __device__ __forceinline__ struct often_bits often_in_sample(const JOB &job, uint64_t (&s_words)[2][32]) {
    constexpr uint32_t HALVES = sizeof(KEY) / sizeof(uint32_t);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const KEY image = key_order<KEY>(job).image(sampled_key((const KEY *)job.in, job));
    const uint64_t set = or_of_warp(image), clear = or_of_warp((KEY)~image);
    if (lane == 0) s_words[0][warp] = set;
    if (lane == 0) s_words[1][warp] = clear;
    __syncthreads(); /* what all parts have */
    const uint64_t part_set = s_words[0][lane], part_clear = s_words[1][lane];
    uint32_t often = 0; /* is bit number `warp` of each half set in many parts; and is it clear? */
#pragma unroll
    for (uint32_t half = 0; half < HALVES; half++) {
        const uint32_t bit = half * 32 + warp;
        const int nset = __popc(__ballot_sync(~0u, part_set >> bit & 1)), nclear = __popc(__ballot_sync(~0u, part_clear >> bit & 1));
        often |= (uint32_t)(nset > STRAY_PARTS) << half * 2 | (uint32_t)(nclear > STRAY_PARTS) << (half * 2 + 1);
    }
    __syncthreads(); /* nobody needs the words any more */
    if (lane == 0) s_words[0][warp] = often;
    __syncthreads(); /* all bits */
    const uint32_t bits = (uint32_t)s_words[0][lane];
    uint64_t often_set = 0, often_clear = 0;
#pragma unroll
    for (uint32_t half = 0; half < HALVES; half++) {
        often_set |= (uint64_t)__ballot_sync(~0u, bits >> half * 2 & 1) << half * 32;
        often_clear |= (uint64_t)__ballot_sync(~0u, bits >> (half * 2 + 1) & 1) << half * 32;
    }
    return {often_set & often_clear, often_set & ~often_clear};
}

/* If only these vary, for how many digits do strays leave codes of two bits more (sort_strays.cuh)? And are so few digits worth while? */
static __device__ __forceinline__ uint32_t code_digits(uint64_t varying) {
    return (count_bits(varying) + 2 + SORT_DIGIT_BITS - 1) / SORT_DIGIT_BITS;
}
static __device__ __forceinline__ bool codes_save(uint64_t varying, uint32_t ndigits) {
    return varying && code_digits(varying) + STRAYS_SAVED <= ndigits;
}

/* Which bits vary, of keys that are left to the passes? Nobody looks if the sample says that it would not pay. All threads of all CTAs call
 * it. */
template <typename KEY, typename JOB> static __device__ __forceinline__ bool look_for_gaps(const JOB &job, uint64_t (&s_seen)[32]) {
    const struct key_order<KEY> order(job);
    const KEY *keys = (const KEY *)job.in;
    bool pays = sample_has_gaps<KEY>(job, s_seen);
    struct often_bits often = {~UINT64_C(0), 0};
    if (job.most_strays) {
        __shared__ uint64_t s_words[2][32];
        often = often_in_sample<KEY>(job, s_words);
        pays = pays || codes_save(often.varying, sizeof(KEY));
    }
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        job.seen->nctas = pays ? gridDim.x : 0;
        job.seen->often = often;
    }
    if (!pays) return false;
    __syncthreads(); /* all know what the sample has seen */
    KEY varying = 0;
    uint32_t nstrays = 0;
    read_keys(keys, job.n, varying_bits<KEY>{order, order.image(keys[0]), often, varying, nstrays});
    const uint64_t seen = or_of_threads(varying, s_seen);
    __syncthreads(); /* s_seen may be used again */
    const uint32_t of_cta = sum_of_threads(nstrays, s_seen);
    if (threadIdx.x == 0) {
        job.seen->of_cta[blockIdx.x] = seen;
        job.seen->nstrays[blockIdx.x] = of_cta;
    }
    return true;
}

/* ---- the plan ---------------------------------------------------------------------------------------------------------------- */

/* One thread calls it: which digits so many bits have, with so many below that are not sorted by. */
static __device__ void plan_digits(struct bit_gaps &gaps, uint32_t nbits, uint32_t below) {
    gaps.ndigits = (nbits + SORT_DIGIT_BITS - 1) / SORT_DIGIT_BITS;
    for (uint32_t digit = 0; digit < SORT_MAX_PASSES; digit++) {
        const uint32_t lo = digit < gaps.ndigits ? nbits * digit / gaps.ndigits : 0;
        const uint32_t hi = digit < gaps.ndigits ? nbits * (digit + 1) / gaps.ndigits : 0;
        gaps.shift[digit] = below + lo;
        gaps.mask[digit] = (1u << (hi - lo)) - 1;
    }
}

/* One thread calls it: how images are closed up in which these bits vary; image: of any key. */
template <typename KEY> static __device__ void plan_closing(struct bit_gaps &gaps, KEY varying, KEY image) {
    gaps.varying = varying;
    gaps.shared = image & ~varying;
    gaps.code_shift = 0;
    KEY left = varying, gap = (KEY)(~varying << 1); /* bits where they are by now; below which there is a gap, of those not moved yet */
    for (uint32_t step = 0; 1u << step < sizeof(KEY) * 8; step++) {
        KEY odd = gap; /* bits with an odd number of those below, themselves included */
        for (uint32_t distance = 1; distance < sizeof(KEY) * 8; distance *= 2) odd ^= (KEY)(odd << distance);
        const KEY moved = odd & left;
        gaps.moved[step] = moved;
        left = (left ^ moved) | moved >> (1u << step);
        gap &= ~odd;
    }
}

/* ---- images ------------------------------------------------------------------------------------------------------------------ */

static constexpr __device__ int closing_steps(size_t key_nbytes) { return key_nbytes == 8 ? 6 : 5; }

template <int N, typename KEY> static __device__ __forceinline__ void close_images(const struct bit_gaps &gaps, KEY (&images)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) images[i] &= (KEY)gaps.varying;
#pragma unroll
    for (int step = 0; step < closing_steps(sizeof(KEY)); step++) {
        const KEY which = (KEY)gaps.moved[step];
#pragma unroll
        for (int i = 0; i < N; i++) {
            const KEY moved = images[i] & which;
            images[i] = (images[i] ^ moved) | moved >> (1u << step);
        }
    }
}

/* The image that a closed one is of. */
template <typename KEY> static __device__ __forceinline__ KEY open_image(const struct bit_gaps &gaps, KEY image) {
#pragma unroll
    for (int step = closing_steps(sizeof(KEY)) - 1; step >= 0; step--) {
        const KEY which = (KEY)gaps.moved[step];
        image = (image & ~which) | ((KEY)(image << (1u << step)) & which);
    }
    return (image & (KEY)gaps.varying) | (KEY)gaps.shared;
}

/* The order of the keys that a pass reads and writes, if it may be one by closed images: the first such pass closes them, the last one
 * opens them. In place of a key_order. */
template <typename KEY> struct closed_order {
    const struct key_order<KEY> order;
    const struct bit_gaps &s_gaps;
    const bool reads_closed, closes, opens, writes_closed;

    /* live: passes before this one. */
    __device__ __forceinline__ closed_order(const struct key_order<KEY> &order_, const struct bit_gaps &gaps, bool closed, uint32_t live)
        : order(order_), s_gaps(gaps), reads_closed(closed && live > 0), closes(closed && live == 0),
          opens(closed && live == gaps.ndigits - 1), writes_closed(closed && live < gaps.ndigits - 1) {}

    template <int N> __device__ __forceinline__ void make_images(KEY (&keys)[N]) const {
        if (reads_closed) return;
        order.make_images(keys);
        if (closes) close_images(s_gaps, keys);
    }
    __device__ __forceinline__ KEY key_of_image(KEY image) const { return order.key_of_image(open_image(s_gaps, image)); }
};

/* What is asked for each key would be asked before each is read: so there are two loops. */
template <typename KEY, typename PUT>
static __device__ __forceinline__ void undo_order(const struct closed_order<KEY> &order, const PUT &put) {
    if (order.opens) return put(order);
    struct key_order<KEY> plain = order.order;
    if (order.writes_closed) plain.flip = plain.float_mask = 0;
    put(plain);
}

#endif
