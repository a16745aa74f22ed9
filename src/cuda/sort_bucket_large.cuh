/* sort_bucket_large.cuh: a bucket of keys alone that is too large for the shared memory of a CTA, by one CTA all the same. Mostly it has a
 * frequent value or a few, whose keys need not be moved:
 *
 *     sample    a key a thread; values that are drawn several times are frequent
 *     part      keys of these are counted, the others go to the other buffer
 *     sort      these, by stable passes: in registers, if they fit; else from buffer to buffer
 *     write     them and the frequent values, each where it belongs
 *
 * Whatever the keys are, they come out in order; the histogram lets pass what that does not take too long for (sort_split.cuh).
 * Cost: keys read once and frequent ones written once, at a CTA's speed, some 1,700 million a second; others two to four times more, and
 * if they do not fit, twice more for each digit that varies. */
#ifndef UPSWEEP_CUDA_SORT_BUCKET_LARGE_CUH
#define UPSWEEP_CUDA_SORT_BUCKET_LARGE_CUH

#include "sort_bucket_slow.cuh"

#define FREQUENT_DRAWS 3 /* draws that make a value frequent: of 512, three have one in 170 most likely */
#define LARGE_TOGETHER 8 /* keys of a thread that are under way together */

/* Shared memory. */
template <typename KEY> struct large_desk {
    KEY frequent[FREQUENT_VALUES]; /* ascending; behind the last one, greatest ones */
    uint32_t count[FREQUENT_VALUES], place[FREQUENT_VALUES], before[FREQUENT_VALUES + 1];
    uint32_t nfrequent, nrest;
    uint64_t words[32];
    uint32_t counts[sizeof(KEY)][SORT_DIGITS]; /* of all others, by each digit */
    uint32_t here[SORT_DIGITS], base[SORT_DIGITS], sums[32];

    /* How many frequent values are less than an image? */
    __device__ __forceinline__ uint32_t count_below(KEY image) const {
        return count_less<FREQUENT_VALUES>([&](uint32_t i) { return frequent[i]; }, image);
    }
    __device__ __forceinline__ bool has(uint32_t i, KEY image) const { return i < nfrequent && frequent[i] == image; }
};

/* act(i, values[i], true) for each of n values, some of a thread's together. Where a thread of a warp has none, act(i, 0, false), so that
 * all act. All threads call it. */
template <int THREADS, typename T, typename ACT>
static __device__ __forceinline__ void for_each_value(const T *values, uint32_t n, const ACT &act) {
#pragma unroll 1
    for (uint32_t first = threadIdx.x; first < (n + 31) / 32 * 32; first += THREADS * LARGE_TOGETHER) {
        T some[LARGE_TOGETHER];
#pragma unroll
        for (int k = 0; k < LARGE_TOGETHER; k++) {
            const uint32_t i = first + k * THREADS;
            some[k] = i < n ? values[i] : (T)0;
        }
#pragma unroll
        for (int k = 0; k < LARGE_TOGETHER; k++) act(first + k * THREADS, some[k], first + k * THREADS < n);
    }
}

/* ---- frequent values --------------------------------------------------------------------------------------------------------- */

/* Which values are frequent? By a sample. s_sample [THREADS]. All threads call it; a barrier must follow. */
template <int THREADS, typename KEY>
static __device__ __forceinline__ void find_frequent(struct large_desk<KEY> &s, const KEY *src, uint32_t n, uint32_t seed, KEY *s_sample) {
    const uint32_t t = threadIdx.x;
    KEY drawn[1] = {src[draw_below(n, t, seed)]};
    sort_sample<THREADS, 1>(drawn, s_sample);
    if (t < FREQUENT_VALUES) {
        s.frequent[t] = (KEY) ~(KEY)0;
        s.count[t] = 0;
    }
    if (t == 0) s.nrest = 0;
    __syncthreads(); /* the sample is sorted */
    const uint32_t last = t + FREQUENT_DRAWS - 1;
    const KEY mine = s_sample[sample_at(t)];
    const bool first = t == 0 || s_sample[sample_at(t - 1)] != mine;
    const bool frequent = first && last < THREADS && s_sample[sample_at(min(last, (uint32_t)THREADS - 1))] == mine;
    const uint32_t number = scan_threads((uint32_t)frequent, s.sums);
    if (frequent && number < FREQUENT_VALUES) s.frequent[number] = mine;
    if (t == THREADS - 1) s.nfrequent = min(number + frequent, (uint32_t)FREQUENT_VALUES);
}

/* Counts keys of frequent values, and moves the others to dst. Returns in which bits these vary, or some more. A thread knows the frequent
 * value that it has met last, so that it need hardly ever look for one. All threads call it; a barrier must follow. */
template <int THREADS, typename KEY>
static __device__ __forceinline__ KEY part_frequent(struct large_desk<KEY> &s, KEY *dst, const KEY *src, uint32_t n) {
    const KEY some = src[0];
    KEY met = s.frequent[0], varying = 0;
    uint32_t value_met = 0, nmet = 0;
    for_each_value<THREADS>(src, n, [&](uint32_t, KEY image, bool valid) {
        const bool again = valid && image == met && s.nfrequent > 0;
        nmet += again;
        if (!__any_sync(~0u, valid && !again)) return;
        const uint32_t value = s.count_below(image);
        const bool frequent = valid && s.has(value, image);
        if (frequent && !again) {
            atomicAdd(&s.count[value_met], nmet);
            met = image;
            value_met = value;
            nmet = 1;
        }
        const uint32_t others = __ballot_sync(~0u, valid && !frequent), lane = threadIdx.x % 32;
        if (!others) return;
        const uint32_t first = __shfl_sync(~0u, lane == 0 ? atomicAdd(&s.nrest, (uint32_t)__popc(others)) : 0, 0);
        if (!(others >> lane & 1)) return;
        varying |= image ^ some;
        dst[first + (uint32_t)__popc(others & ((1u << lane) - 1))] = image;
    });
    if (nmet) atomicAdd(&s.count[value_met], nmet);
    return (KEY)or_of_threads(varying, s.words);
}

/* ---- the others -------------------------------------------------------------------------------------------------------------- */

/* A pass of n images by the digit from `shift` on, from buffer to buffer, a tile after the other. All threads call it. */
template <typename SHAPE, typename KEY>
static __device__ __forceinline__ void pass_in_cta(struct large_desk<KEY> &s, KEY *dst, const KEY *src, uint32_t n, uint32_t shift,
                                                   unsigned char *s_memory) {
    const uint32_t t = threadIdx.x;
    const struct cta_memory<KEY> memory = { (uint32_t *)s_memory, s.sums, (KEY *)s_memory };
    uint32_t next = scan_threads(t < SORT_DIGITS ? s.counts[shift / SORT_DIGIT_BITS][t] : 0, s.sums); /* place of digit t */
#pragma unroll 1
    for (uint32_t first = 0; first < n; first += SHAPE::ITEMS) {
        const uint32_t ntile = min(n - first, SHAPE::ITEMS), rows = (ntile + SHAPE::THREADS - 1) / SHAPE::THREADS;
        const uint32_t start = first_of_thread(rows);
        const struct team_items<false> which = items_of_team<false>(rows, ntile);
        KEY images[SHAPE::ROWS];
        if (t < SORT_DIGITS) s.here[t] = 0;
#pragma unroll
        for (int row = 0; row < SHAPE::ROWS; row++) images[row] = which.has(row) ? src[first + start + row * SORT_TEAM] : (KEY)0;
        __syncthreads(); /* zeroes before counts */
#pragma unroll
        for (int row = 0; row < SHAPE::ROWS; row++) {
            if (which.has(row)) atomicAdd(&s.here[digit_of(images[row], shift, SORT_DIGITS - 1)], 1);
        }
        __syncthreads(); /* all counts */
        const uint32_t here = t < SORT_DIGITS ? s.here[t] : 0, place = scan_threads(here, s.sums);
        if (t < SORT_DIGITS) s.base[t] = next - place;
        next += here;
        __syncthreads(); /* all bases; nobody needs the sums any more */
        reorder_by_digit<SHAPE::THREADS / SORT_TEAM>(images, which, start, ntile, memory, shift, SORT_DIGITS - 1);
#pragma unroll
        for (int row = 0; row < SHAPE::ROWS; row++) {
            const uint32_t digit = digit_of(images[row], shift, SORT_DIGITS - 1);
            if (which.has(row)) dst[s.base[digit] + start + row * SORT_TEAM] = images[row];
        }
    }
    __syncthreads(); /* all are there */
}

/* Sorts n images, which lie in the first of two buffers or in the second; they end in the first. varying: bits in which they may differ.
 * All threads call it, when nobody needs the shared memory. */
template <typename SHAPE, typename KEY>
static __device__ __forceinline__ void sort_between(struct large_desk<KEY> &s, KEY *first, KEY *second, bool in_first, uint32_t n,
                                                    KEY varying, unsigned char *s_memory) {
    for (uint32_t i = threadIdx.x; i < sizeof s.counts / sizeof s.counts[0][0]; i += SHAPE::THREADS) s.counts[0][i] = 0;
    __syncthreads(); /* zeroes before counts */
    for_each_value<SHAPE::THREADS>(in_first ? first : second, n, [&](uint32_t, KEY image, bool valid) {
#pragma unroll
        for (uint32_t digit = 0; digit < sizeof(KEY); digit++) {
            if (valid && varying >> digit * SORT_DIGIT_BITS & (SORT_DIGITS - 1))
                atomicAdd(&s.counts[digit][digit_of(image, digit * SORT_DIGIT_BITS, SORT_DIGITS - 1)], 1);
        }
    });
    __syncthreads(); /* all counts */
#pragma unroll 1
    for (uint32_t shift = 0; shift < sizeof(KEY) * 8; shift += SORT_DIGIT_BITS) {
        if (!(varying >> shift & (SORT_DIGITS - 1))) continue;
        pass_in_cta<SHAPE>(s, in_first ? second : first, in_first ? first : second, n, shift, s_memory);
        in_first = !in_first;
    }
    if (in_first) return;
    for_each_value<SHAPE::THREADS>(second, n, [&](uint32_t i, KEY image, bool valid) {
        if (valid) first[i] = image;
    });
}

/* The same of images that fit the registers, from anywhere. */
template <typename SHAPE, typename KEY>
static __device__ __forceinline__ void sort_registers(struct large_desk<KEY> &s, KEY *dst, const KEY *src, uint32_t n, KEY varying,
                                                      unsigned char *s_memory) {
    const uint32_t rows = (n + SHAPE::THREADS - 1) / SHAPE::THREADS, start = first_of_thread(rows);
    const struct team_items<false> which = items_of_team<false>(rows, n);
    const struct cta_memory<KEY> memory = { (uint32_t *)s_memory, s.sums, (KEY *)s_memory };
    KEY images[SHAPE::ROWS];
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) images[row] = which.has(row) ? src[start + row * SORT_TEAM] : (KEY)0;
    reorder_by_digits<SHAPE>(images, which, start, n, memory, varying, 0, sizeof(KEY) * 8);
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) {
        if (which.has(row)) dst[start + row * SORT_TEAM] = images[row];
    }
}

/* ---- the bucket -------------------------------------------------------------------------------------------------------------- */

/* Writes n sorted images, and the frequent values between them. All threads call it, when all are there. */
template <int THREADS, typename KEY>
static __device__ __forceinline__ void write_large(const struct split_job &job, struct large_desk<KEY> &s, KEY *out, const KEY *sorted,
                                                   uint32_t n) {
    const uint32_t t = threadIdx.x;
    const struct key_order<KEY> order(job);
    const uint32_t before = scan_threads(t < FREQUENT_VALUES ? s.count[t] : 0, s.sums);
    if (t <= FREQUENT_VALUES) s.before[t] = before;
    if (t < s.nfrequent) {
        uint32_t low = 0, high = n;
        while (low < high) {
            const uint32_t middle = (low + high) / 2;
            if (sorted[middle] < s.frequent[t])
                low = middle + 1;
            else
                high = middle;
        }
        s.place[t] = low + before;
    }
    __syncthreads(); /* all places */
    for_each_value<THREADS>(sorted, n, [&](uint32_t i, KEY image, bool valid) {
        if (valid) out[i + s.before[s.count_below(image)]] = order.key_of_image(image);
    });
    for (uint32_t value = 0; value < s.nfrequent; value++) {
        const KEY key = order.key_of_image(s.frequent[value]);
        KEY *run = out + s.place[value];
        for (uint32_t i = t; i < s.count[value]; i += THREADS) run[i] = key;
    }
}

/* Any bucket of keys alone that a histogram has found, of more than SHAPE::ITEMS. Its place in the other buffer is free, too. Dynamic
 * shared memory: as sort_bucket_stably(). A call, as it is rarely needed. All threads call it. */
template <typename KEY, typename SHAPE>
static __device__ __noinline__ void sort_large_bucket(const struct split_job &job, const struct found_bucket<KEY> &found,
                                                      unsigned char *s_memory) {
    __shared__ struct large_desk<KEY> s;
    const bool in_out = found.src == (const KEY *)job.out;
    KEY *tmp = (KEY *)job.tmp + found.start, *out = (KEY *)job.out + found.start, *rest = in_out ? tmp : out;
    const KEY *src = in_out ? out : tmp;
    find_frequent<SHAPE::THREADS>(s, src, found.n, job.seed, (KEY *)s_memory);
    __syncthreads(); /* the frequent values */
    const KEY varying = part_frequent<SHAPE::THREADS>(s, rest, src, found.n);
    __syncthreads(); /* all counts, and the others are in their buffer */
    const uint32_t nrest = s.nrest;
    if (nrest > SHAPE::ITEMS)
        sort_between<SHAPE>(s, tmp, out, in_out, nrest, varying, s_memory);
    else if (nrest > 0)
        sort_registers<SHAPE>(s, tmp, rest, nrest, varying, s_memory);
    __syncthreads(); /* the others are in order */
    write_large<SHAPE::THREADS>(job, s, out, tmp, nrest);
}

#endif
