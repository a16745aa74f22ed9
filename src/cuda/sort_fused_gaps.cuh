/* sort_fused_gaps.cuh: when buckets by the top bits of the keys are too big for sort_fused.cuh, since some of these bits do not vary:
 * buckets by the top ones of those that do, in the same launch.
 *
 *     each CTA       asks a sample, the same in all: which bits vary, and would buckets by the first of these fit?
 *                    closes its images up (sort_gaps.cuh), counts them by their top bits, adds to totals
 *     waits          until the totals add up to n: now it is known whether all buckets fit
 *     each CTA       copies its items to them, part by part, closed up
 *     each bucket    is sorted as if closed images were images, and then opened
 *
 * A stray is a key with another value of a bit that, says the sample, all share, or nearly all. It is counted with its neighbours, and the
 * items of its part are not closed up: so strays, if they are few, cost little. If some bucket is too big nothing is moved. The buckets are
 * announced as if a sample had made them: so what sorts buckets has nothing to ask where keys have no gaps. The tile is not moved, but put
 * in order by the items' numbers, and what is known of an item is found out anew each time: with more than a few registers the kernels
 * would need a stack, which makes them slower for all keys, though this is not run for most. Cost: 8 us more for 2^16 keys than for such
 * as fit at once, 15 to 21 for 2^20. */
#ifndef UPSWEEP_CUDA_SORT_FUSED_GAPS_CUH
#define UPSWEEP_CUDA_SORT_FUSED_GAPS_CUH

#include "sort_fused_parts.cuh"
#include "sort_item.cuh"

#define CLOSED_MORE_BITS 1          /* of even keys, than tell apart what fits a bucket: smaller parts make fuller buckets */
#define CLOSED_EVEN      1.25f      /* times as many pairs of a sample in a part as of even keys */
#define CLOSED_FULL      0.85f      /* of a bucket, for the mean: years of dates are in a part or two, and so larger than that */
#define STRAYS           (1u << 24) /* in a total: a CTA with strays */
static_assert(STRAYS > UINT32_MAX / STRAYS * FUSED_THREADS * fused_max_rows(4, 4) && FUSED_MAX_BITS + CLOSED_MORE_BITS <= PART_BITS,
              "they do not mix, and all parts have numbers");

/* Bits of an item below its image. */
template <typename KEY, typename ITEM> static constexpr __device__ uint32_t below_image() { return (sizeof(ITEM) - sizeof(KEY)) * 8; }

/* The top bits of closed images: a part. */
template <typename KEY> struct closed_parts {
    const struct bit_gaps &gaps;
    const uint32_t shift;

    __device__ __forceinline__ closed_parts(const struct bit_gaps &gaps_, uint32_t nbits)
        : gaps(gaps_), shift(count_bits(gaps_.varying) - min(count_bits(gaps_.varying), nbits)) {}

    /* A stray counts as the nearest image that is none and on the same side of all others. */
    __device__ __forceinline__ KEY close(KEY image) const {
        bool above;
        KEY closed[1] = {is_stray(gaps, image) ? next_to_stray(gaps, image, &above) : image};
        close_images(gaps, closed);
        return closed[0];
    }
    __device__ __forceinline__ uint32_t of(KEY image) const { return (uint32_t)(close(image) >> shift); }
};

/* Are there, going by the sample, no parts too big for a bucket? There are if a part is so in which a key is on average, which pairs of
 * sampled keys tell; or if one has too many keys: there are a thousand parts, and not to try costs more than to try in vain, so five
 * standard deviations are for chance. If keys are even, half a bucket is the mean of fewer parts, which take less time; else they are as
 * many as there can be, since keys may be in a few of them. The counters are zero, and will be again, behind a barrier. All threads of all
 * CTAs call it, and agree. */
template <int PER, typename KEY, typename ITEM>
static __device__ __forceinline__ bool parts_may_fit(const struct split_job &split, const ITEM (&sample)[PER],
                                                     struct sample_desk<ITEM> &s) {
    const struct closed_parts<KEY> parts(s.gaps, PART_BITS);
    const uint32_t t = threadIdx.x, lane = t % 32, warp = t / 32, nparts = 1u << min(count_bits(s.gaps.varying), (uint32_t)PART_BITS);
#pragma unroll
    for (int k = 0; k < PER; k++) atomicAdd(&s.count[parts.of((KEY)(sample[k] >> below_image<KEY, ITEM>()))], 1);
    __syncthreads(); /* all counts */
    constexpr float NDRAWN = FUSED_THREADS * PER;
    const float most = NDRAWN * (float)split.bucket_max / (float)split.n;
    const uint32_t count = s.count[t], of_warp = sum_warp(count * (count - 1));
    s.count[t] = 0;
    if (lane == 0) s.seen[0][warp] = of_warp;
    const bool one_is_too_big = __syncthreads_or((float)count > most + 5 * sqrtf(most)); /* also: the pairs of all warps */
    const float npairs = (float)sum_warp((uint32_t)s.seen[0][lane]);
    const bool even = npairs * (float)nparts < CLOSED_EVEN * NDRAWN * NDRAWN;
    if (t == 0) s.closed_bits = even ? split.fine_bits + CLOSED_MORE_BITS : PART_BITS;
    __syncthreads(); /* so many */
    return !one_is_too_big && (even || npairs <= NDRAWN * most * CLOSED_FULL);
}

/* Which bits does a sample have set, and which not, often enough that those who have them are no strays? ones, zeros: of this thread's
 * images. Few strays are in as many warps; a bit that one key in two has is seen by all. Leaves words of 32 bits in s.sums, of ones in its
 * first half. All threads call it. */
template <typename KEY, typename ITEM>
static __device__ __forceinline__ void find_often_seen(KEY ones, KEY zeros, struct sample_desk<ITEM> &s) {
    constexpr uint32_t BITS = sizeof(KEY) * 8;
    const uint32_t t = threadIdx.x;
    const uint64_t set = or_of_warp(ones), clear = or_of_warp(zeros);
    if (t % 32 == 0) {
        s.seen[0][t / 32] = set;
        s.seen[1][t / 32] = clear;
    }
    __syncthreads(); /* what all warps have seen */
    if (t < 2 * BITS) {
        uint32_t nwarps = 0;
#pragma unroll 8
        for (uint32_t warp = 0; warp < 32; warp++) nwarps += (uint32_t)(s.seen[t / BITS][warp] >> t % BITS) & 1;
        const uint32_t often = __ballot_sync(~0u, nwarps > STRAY_PARTS);
        if (t % 32 == 0) s.sums[t / BITS][t % BITS / 32] = often;
    }
    __syncthreads(); /* the words */
}

template <typename KEY, typename ITEM> static __device__ __forceinline__ KEY often_seen(const struct sample_desk<ITEM> &s, uint32_t which) {
    return (KEY)(sizeof(KEY) == 8 ? (uint64_t)s.sums[which][1] << 32 | s.sums[which][0] : s.sums[which][0]);
}

/* May it help to leave out the bits that are the same in a sample? Then so many are that it changes the buckets, and by the first of the
 * others these are even. Then the plan is left at the desk, and counters that are zero. All threads of all CTAs call it, and agree. */
template <int PER, typename KEY, typename ITEM>
static __device__ __forceinline__ bool plan_gaps(const struct split_job &split, const ITEM (&sample)[PER], struct sample_desk<ITEM> &s) {
    if (split.cell_keys || gridDim.x > UINT32_MAX / STRAYS) return false; /* floats are spread otherwise */
    if (sizeof(ITEM) > sizeof(KEY) && split.bits.sorted_by != ~0u) return false;
    KEY ones = 0, zeros = 0;
#pragma unroll
    for (int k = 0; k < PER; k++) {
        const KEY image = (KEY)(sample[k] >> below_image<KEY, ITEM>());
        ones |= image;
        zeros |= ~image;
    }
    find_often_seen(ones, zeros, s);
    const KEY set = often_seen<KEY>(s, 0), varying = set & often_seen<KEY>(s, 1);
    const uint32_t nbits = count_bits(varying);
    if (nbits > sizeof(KEY) * 6 || nbits < split.fine_bits) return false;
    s.count[threadIdx.x] = 0;
    if (threadIdx.x == 0) plan_closing<KEY>(s.gaps, varying, set);
    __syncthreads(); /* the plan, and zeroes before counts; and nobody needs the sums any more */
    return parts_may_fit<PER, KEY>(split, sample, s);
}

/* Counts the tile by parts. A part with strays is marked. */
template <typename KEY, typename ITEM>
static __device__ __forceinline__ void count_closed(const struct closed_parts<KEY> &parts, const ITEM *s_tile, uint32_t count,
                                                    struct sample_desk<ITEM> &s) {
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < count; i += FUSED_THREADS) {
        const KEY image = (KEY)(s_tile[i] >> below_image<KEY, ITEM>());
        const uint32_t number = parts.of(image);
        if (is_stray(parts.gaps, image)) atomicOr(&s.heads[number / 32], 1u << number % 32);
        atomicAdd(&s.count[number], 1);
    }
}

/* Notes which items of the tile are the first part, which the second, and so on. */
template <typename KEY, typename ITEM>
static __device__ __forceinline__ void order_by_part(const struct closed_parts<KEY> &parts, const ITEM *s_tile, uint32_t count,
                                                     struct sample_desk<ITEM> &s, uint16_t *s_order) {
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < count; i += FUSED_THREADS)
        s_order[atomicAdd(&s.place[parts.of((KEY)(s_tile[i] >> below_image<KEY, ITEM>()))], 1)] = (uint16_t)i;
}

/* Copies the items to where their parts are, closed up but for parts with strays, which are marked. */
template <typename KEY, typename ITEM>
static __device__ __forceinline__ void copy_closed(const struct split_job &split, const struct closed_parts<KEY> &parts, const ITEM *s_tile,
                                                   uint32_t count, const struct sample_desk<ITEM> &s, const uint16_t *s_order) {
    constexpr uint32_t BELOW = below_image<KEY, ITEM>();
    ITEM *dst = (ITEM *)split.tmp;
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < count; i += FUSED_THREADS) {
        const ITEM item = s_tile[s_order[i]];
        const KEY closed = parts.close((KEY)(item >> BELOW));
        const uint32_t number = (uint32_t)(closed >> parts.shift);
        const ITEM moved = s.range[number] ? item : (ITEM)((ITEM)closed << BELOW | (item & (((ITEM)1 << BELOW) - 1)));
        put_item<(BELOW > 0)>(split, dst, s.base[number] + i, moved);
    }
}

/* All threads of all CTAs call it, whose tile of `count` items is in any order, behind plan_gaps(). False if this does not help: then
 * nothing has been moved. A total is of keys, and above these of CTAs that have strays among them. */
template <typename KEY, typename ITEM, typename TOTALS>
static __device__ __forceinline__ bool split_closed(const struct split_job &split, TOTALS *totals, const ITEM *s_tile, uint32_t count,
                                                    struct sample_desk<ITEM> &s, uint16_t *s_order) {
    const struct closed_parts<KEY> parts(s.gaps, s.closed_bits);
    const uint32_t t = threadIdx.x;
    s.done[t] = false;
    if (t < PARTS / 32) s.heads[t] = 0; /* a bit for each part with strays */
    if (t == 0) s.turn = totals->turn;
    __syncthreads(); /* zeroes before marks; and whoever adds to the totals has read the turn */
    count_closed(parts, s_tile, count, s);
    __syncthreads(); /* all counts */
    const uint32_t here = s.count[t], marked = s.heads[t / 32] >> t % 32 & 1 ? here + STRAYS : here;
    const uint32_t before = here ? atomicAdd(totals->of(s.turn, t), marked) % STRAYS : 0, place = scan_threads(here, s.sums[0]);
    s.place[t] = place;
    s.base[t] = before - place;
    __syncthreads(); /* all places; s.sums may be used again */
    order_by_part(parts, s_tile, count, s, s_order);
    uint32_t total;
    s.base[t] += await_totals(&total, totals->of(s.turn, t), true, split.n, s.sums, STRAYS - 1);
    const uint32_t start = s.base[t] - before + place;
    s.range[t] = range_of(total >= STRAYS, 0);
    total %= STRAYS;
    const bool fits = !__syncthreads_or(total > split.bucket_max); /* also: the tile is in order, and each part has its place */
    if (announces()) totals->hand_over(s.turn);
    if (!fits) return false;
    if (announces()) list_buckets(split, start, total, s, &s.gaps); /* after what it has announced in sort_fused.cuh */
    copy_closed(split, parts, s_tile, count, s, s_order);
    return true;
}

/* The same for items with an index, for which a sample is drawn, as split_by_sample() does. A call, too. */
template <typename KEY, typename ITEM, int ROWS>
static __device__ __noinline__ bool split_by_gaps(const struct split_job &split, struct skewed_totals *more, uint32_t count,
                                                  unsigned char *s_memory) {
    typedef struct sample_shape<KEY, ITEM, ROWS> SHAPE;
    struct sample_desk<ITEM> &s = *(struct sample_desk<ITEM> *)(s_memory + SHAPE::tile_nbytes(split.tile_items));
    ITEM sample[SHAPE::PER];
    if (split.values && split.n > GAPS_ROUNDS_MIN) return false; /* rounds are as quick, or quicker */
    draw_sample<KEY>(sample, split);
    if (!plan_gaps<SHAPE::PER, KEY>(split, sample, s)) return false;
    return split_closed<KEY>(split, &more->closed, (const ITEM *)s_memory, count, s, (uint16_t *)(&s + 1));
}

/* Opens the keys of bucket `number`, which was closed up; it has been sorted as if its closed images were images. All threads call it. A
 * call, so the code for other buckets is as if there were none. */
template <typename KEY> static __device__ __noinline__ void open_bucket(const struct split_job &job, uint32_t number) {
    const struct sampled_buckets &sampled = job.header->sampled;
    const struct bit_gaps gaps = sampled.gaps;
    const struct key_order<KEY> order(job);
    const uint32_t end = sampled.end[number] & ~BUCKET_IS_CLOSED;
    KEY *keys = (KEY *)job.out;
    if (!keys) return; /* only the indices are wanted */
    __syncthreads();   /* all keys are written */
#pragma unroll 4
    for (uint32_t i = sampled.start[number] + threadIdx.x; i < end; i += blockDim.x)
        keys[i] = order.key_of_image(open_image<KEY>(gaps, order.image(keys[i])));
}

#endif
