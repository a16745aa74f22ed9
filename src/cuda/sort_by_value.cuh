/* sort_by_value.cuh: digits of floats cut out of their values, where these are spread about evenly: one multiplication instead of a table.
 *
 *     digit = x * scale + shift, rounded to a whole number
 *
 * A fused multiplication and addition rounds once, and rounding never turns an order round. So whatever scale and shift are, digits are in
 * the order of the values, if all who ask compute them alike. `shift` has 2^23 in it (of 64 bits, 2^52), where the last bit of a float is
 * worth one: the sum's lowest bits are the digit.
 *
 *     key       - NaN  beyond | range of a sample, and a little more | beyond  + NaN        order kept
 *     digit        0     0    | 1  2  3  4  5  6 ...        n - 2    | n - 1   n - 1        equally wide in value
 *
 * A bucket is a digit, or some neighbouring ones, whose keys are put in bins in the same way, only finer. So it does not matter how many
 * octaves they are from: those next to zero are from all. The first digit and the last one are buckets of their own, which go by their
 * bits.
 *
 * Cost: six operations a key, where the top bits take two.  Source: Dobosiewicz, Sorting by distributive partitioning, 1978. */
#ifndef UPSWEEP_CUDA_SORT_BY_VALUE_CUH
#define UPSWEEP_CUDA_SORT_BY_VALUE_CUH

#include "sort_bucket.cuh"

#define VALUE_DIGITS      FUSED_THREADS /* at most: a thread each */
#define VALUE_COARSE      64            /* parts of the range in which a sample is counted */
#define SAMPLERS          256           /* threads that look at a sample, */
#define SAMPLER_KEYS      4             /* and neighbouring keys that each looks at */
#define VALUE_SPARE       1.2f          /* times as many keys as the sample says may be in a digit */
#define VALUE_BEYOND      8             /* of a sample: as many keys are the part of all that may be beyond the range, on either side */
#define VALUE_CROWD       12            /* lanes of a warp whose sampled keys are in one part */
#define VALUE_EDGE        8             /* times as many keys as in the digit beside it */
#define VALUE_SPARSE      32            /* where keys are sparse, this part of all digits makes a bucket */
#define VALUE_ROWS_NBYTES 64            /* a thread's keys, at most, where they are divided by value: of more, digits have too many */

/* The float that an image stands for. In descending order, that of the opposite sign: it has the same image as if ascending. */
static __device__ __forceinline__ float value_of(uint32_t image) { return __uint_as_float(image ^ (~sign_mask(image) | 1u << 31)); }
static __device__ __forceinline__ double value_of(uint64_t image) {
    return __longlong_as_double((long long)(image ^ (~sign_mask(image) | UINT64_C(1) << 63)));
}
static __device__ __forceinline__ uint32_t image_of(float value) {
    const uint32_t bits = __float_as_uint(value);
    return bits ^ (sign_mask(bits) | 1u << 31);
}
static __device__ __forceinline__ uint64_t image_of(double value) {
    const uint64_t bits = (uint64_t)__double_as_longlong(value);
    return bits ^ (sign_mask(bits) | UINT64_C(1) << 63);
}

/* What is added to a whole number so that it is in the lowest bits, and how it is taken from there. */
template <typename IMAGE> struct whole_bits;
template <> struct whole_bits<uint32_t> {
    typedef float value;
    static constexpr float ONE = 0x1p23f;
    static constexpr uint32_t BITS = 0x4b000000; /* of it */
    static __device__ __forceinline__ uint32_t raw(float sum) { return __float_as_uint(sum); }
};
template <> struct whole_bits<uint64_t> {
    typedef double value;
    static constexpr double ONE = 0x1p52;
    static constexpr uint32_t BITS = 0;
    static __device__ __forceinline__ uint32_t raw(double sum) { return (uint32_t)__double2loint(sum); }
};

/* From images to digits. */
template <typename IMAGE> struct value_digits {
    typedef IMAGE image_type;
    typedef typename whole_bits<IMAGE>::value value;
    IMAGE least, most; /* as what is beyond counts */
    value scale, shift;

    __device__ __forceinline__ value sum_of(IMAGE image) const { return fma(value_of(min(max(image, least), most)), scale, shift); }
    __device__ __forceinline__ uint32_t of(IMAGE image) const { return whole_bits<IMAGE>::raw(sum_of(image)) - whole_bits<IMAGE>::BITS; }

    /* Do keys that are beyond have the first and the last of so many digits? */
    __device__ __forceinline__ bool is_good(uint32_t ndigits) const {
        const value first = sum_of(least) - whole_bits<IMAGE>::ONE, last = sum_of(most) - whole_bits<IMAGE>::ONE;
        return first == 0 && last == ndigits - 1; /* false of what is not a number */
    }
};

/* About 1 / x; 0 or infinite if that is small or large. It need not be exact, if all compute it alike: an exact division of 64 bits takes
 * sixty instructions. */
static __device__ __forceinline__ float about_inverse(float x) {
    asm("rcp.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}
static __device__ __forceinline__ double about_inverse(double x) {
    asm("rcp.approx.ftz.f64 %0, %0;" : "+d"(x));
    return x;
}

/* The range of a sample, and a little more. */
template <typename IMAGE> struct value_range {
    typedef typename whole_bits<IMAGE>::value value;
    value from, to, inverse; /* of its width */

    __device__ __forceinline__ void set(IMAGE least, IMAGE most, uint32_t nsampled) {
        const value low = value_of(least), high = value_of(most), beyond = (high - low) * ((value)VALUE_BEYOND / (value)nsampled);
        from = low - beyond;
        to = high + beyond;
        inverse = about_inverse(to - from);
    }
    /* The part of the range that a sampled key is in; of NaN, the first. */
    __device__ __forceinline__ uint32_t part_of(IMAGE image) const {
        return min((uint32_t)((value_of(image) - from) * inverse * VALUE_COARSE), VALUE_COARSE - 1u);
    }
    __device__ __forceinline__ struct value_digits<IMAGE> digits(uint32_t ndigits) const {
        typedef whole_bits<IMAGE> whole;
        const value scale = (value)(ndigits - 3) * inverse, width = (to - from) * (value)(1.0f / (float)(ndigits - 3));
        const value shift = fma(-from, scale, whole::ONE + 1), first = fma(from, scale, shift - whole::ONE); /* about 1 */
        const value last = fma(to, scale, shift - whole::ONE), beyond = (value)(ndigits - 1.25);
        return {image_of(from - (first - (value)0.25) * width), image_of(to + (beyond - last) * width), scale, shift};
    }
};

/* ---- a bucket ---------------------------------------------------------------------------------------------------------------- */

/* Bins of a bucket, equally wide in value. No key is beyond their range. */
template <typename IMAGE> struct value_bins {
    typedef typename whole_bits<IMAGE>::value value;
    value low, scale;

    __device__ __forceinline__ value_bins(value low_, value width, uint32_t nbins) : low(low_), scale((value)(nbins - 1) / width) {}
    /* Of digits `first` to `end` of others: those, only finer. */
    __device__ __forceinline__ value_bins(const struct value_digits<IMAGE> &digits, uint32_t first, uint32_t end, uint32_t nbins) {
        const value before = digits.shift - whole_bits<IMAGE>::ONE; /* of the value 0 */
        low = ((value)first - (value)0.5 - before) / digits.scale;
        scale = digits.scale * ((value)(nbins - 1) / (value)(end - first));
    }
    __device__ __forceinline__ uint32_t of(IMAGE image, uint32_t nbins) const {
        const value sum = fma(value_of(image) - low, scale, whole_bits<IMAGE>::ONE);
        return (uint32_t)add_clamped((int32_t)whole_bits<IMAGE>::raw(sum), -(int32_t)whole_bits<IMAGE>::BITS, (int32_t)nbins - 1);
    }
};

/* As sort_bucket(), of keys alone, by the bins that get_bins() makes. False: these are not for it; it lies as it was, and nothing is
 * written. KEYS: of any sign. All threads call it. */
template <typename KEY, typename SHAPE, bool KEYS = false, typename BINS>
static __device__ __forceinline__ bool sort_bucket_by_value(const struct split_job &job, const struct found_bucket<KEY> &found,
                                                            const BINS &get_bins, unsigned char *s_memory, struct bucket_desk<KEY> &s) {
    constexpr int THREADS = SHAPE::THREADS, ROWS = SHAPE::ROWS;
    const uint32_t n = found.n;
    uint32_t *s_bins = (uint32_t *)s_memory;
    struct packed_ranks<ROWS> bin_of = {}; /* each key */
    KEY *s_slots = (KEY *)(s_memory + SHAPE::BINS_NBYTES), images[ROWS];
    const struct bucket_rows<SHAPE> rows(n);
    get_items(images, rows, job, found.src, found.from);
    const struct value_bins<KEY> bins = get_bins(); /* while the keys are on their way */
    if constexpr (KEYS) {
        const struct key_order<KEY> order(job);
#pragma unroll
        for (int row = 0; row < ROWS; row++) images[row] = order.image(images[row]);
        s.add_before(items_before(job, found));
    }
    for (uint32_t i = threadIdx.x; i < SHAPE::BINS / 4; i += THREADS) ((uint4 *)s_bins)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads(); /* zeroes before counts; and all keys are in registers, so that the bucket may be overwritten */
    constexpr int COUNTED = ROWS > 18 ? 1 : SHAPE::TOGETHER; /* of more there are no registers for that */
    rows.template for_each<COUNTED>([&](int row) { return bins.of(images[row], SHAPE::BINS); },
                                    [&](int row, uint32_t bin) {
                                        bin_of.set(row, bin);
                                        atomicAdd(&s_bins[bin], 1);
                                    });
    __syncthreads(); /* all counts */

    const bool deep = __syncthreads_or(scan_bins<SHAPE::BINS, SHAPE::WARPS>(s_bins, s.sums) > WINDOW_HALO); /* also: all ends */

    KEY *out = (KEY *)job.out + (KEYS ? s.start(SHAPE::WARPS) : found.start);
    const uint32_t skew = (uint32_t)((uintptr_t)out / sizeof(KEY)) % WINDOW_LANE_KEYS, first = WINDOW_HALO + skew;
    const uint32_t nwindows = (skew + n + WINDOW_STEP - 1) / WINDOW_STEP;
    fill_around<THREADS>(s_slots, first, n, nwindows);
    rows.for_each([&](int row) { return first + last_place(&s_bins[bin_of.get(row)]); },
                  [&](int row, uint32_t slot) { s_slots[slot_at<KEY>(slot)] = images[row]; });
    __syncthreads(); /* all are in their bins */
    if (deep) {
        const bool right = sort_each_deep_bin<SHAPE, true>(s_slots, first, n, s_bins);
        if (__syncthreads_or(!right)) return false; /* else: all deep bins are in order */
    }

    const struct key_order<KEY> order(job);
    for (uint32_t window = threadIdx.x / 32; window < nwindows; window += SHAPE::WARPS) {
        KEY sorted[WINDOW_LANE_KEYS];
        get_window(sorted, s_slots, window * WINDOW_STEP);
        sort_window(sorted);
#pragma unroll
        for (int i = 0; i < WINDOW_LANE_KEYS; i++) sorted[i] = order.key_of_image(sorted[i]);
        put_window(out - first, {first, first + n}, window * WINDOW_STEP, sorted);
    }
    return true;
}

#endif
