/* sort_mend.cuh: 64-bit keys are sorted by their highest digits only, if these nearly tell all keys apart; then what is out of order is
 * mended where it lies.
 *
 *     a sample             hardly any keys that differ agree in the digits that are kept: so the passes of the others are left out
 *     passes               by the digits kept, stable as ever
 *     mending              keys that agree in these lie side by side, in a *run*: where one is out of order, its keys find their places by
 *                          comparing each with each
 *
 * A tile's CTA mends the runs that begin in it. All it decides by are the keys as they were when it read them: nobody else moves keys of
 * its runs, and whoever moves other keys leaves the bits that tell runs apart as they were. Long runs take more than that
 * (sort_mend_long.cuh), so few runs of the sample may be such. If a run is too long even for that, all passes are done after all, from
 * where the keys are by then: equal keys are still in their order.
 * Cost: the keys read once, instead of read and written for each digit left out. */
#ifndef UPSWEEP_CUDA_SORT_MEND_CUH
#define UPSWEEP_CUDA_SORT_MEND_CUH

#include "sort_few.cuh"
#include "sort_mend_long.cuh"
#include "sort_tile.cuh"

/* Where in a table of a sample's keys one is, by the bits that are kept. */
static __device__ __forceinline__ uint32_t mend_slot(uint64_t kept) { return (uint32_t)(kept * 0x9e3779b97f4a7c15u >> 52); }
static_assert(MEND_SAMPLE == 1 << (64 - 52), "as many places");

/* ---- whether they may be -------------------------------------------------------------------------------------------------------- */

/* Dynamic shared memory that a tile is mended in: its keys, and those of a row that follow, and three bits for each. */
static uint32_t mend_nbytes(const struct sort_job *job) {
    return (job->rows * SORT_THREADS + MEND_MOST) / 32 * (32 * sizeof(uint64_t) + 3 * sizeof(uint32_t));
}

/* May passes by low digits be left out? Keys must not be taken in portions, and values be moved as they are; and some GPUs have too little
 * shared memory for a tile of keys alone. */
template <typename KEY> static bool may_mend(const struct cuda_queue *queue, const struct sort_args *args, const struct sort_job *job) {
    return sizeof(KEY) == 8 && !job->by_place && args->hi_bit - args->lo_bit == 64 && job->nportions == 1 &&
           args->n >= (job->has_values ? MEND_SAMPLE : MEND_ALONE_MIN) &&
           mend_nbytes(job) <= shared_nbytes_per_cta(queue->arch, SORT_CTAS_PER_SM);
}

/* ---- which digits are kept ------------------------------------------------------------------------------------------------------ */

/* Each CTA of those that count the digits draws its share of a sample; it is left where values would be, which are not counted then. All
 * threads of all CTAs call it. */
template <typename KEY> static __device__ __forceinline__ void draw_sample(const struct sort_job &job) {
    const struct key_order<KEY> order(job);
    const uint64_t part = job.n / MEND_SAMPLE;
    for (uint32_t i = blockIdx.x * 32 + threadIdx.x; threadIdx.x < 32 && i < MEND_SAMPLE; i += gridDim.x * 32) {
        job.header->values.key[i] = order.image(((const KEY *)job.keys_in)[i * part + draw_below((uint32_t)part, i, job.seed)]);
    }
}

/* How many bits must be kept, since some keys occur often? A run of them, and of a single other key, would be too long to be mended. For
 * each that the sample has three times there may be MEND_REPEATS; if it has many just twice, these may be all that keys have room for. No
 * other key is likely to agree with any of them. To keep more bits than needed costs two passes, to mend in vain all of them: so chance,
 * which has some just twice, is allowed two standard deviations. s_keys [MEND_SAMPLE]. */
template <typename KEY, uint32_t EACH>
static __device__ __forceinline__ uint32_t bits_that_part(const struct sort_job &job, const KEY (&images)[EACH], KEY *s_keys) {
    unsigned long long *places = (unsigned long long *)s_keys;
    bool met[EACH]; /* an equal one, where it had been put */
    int nrepeat = 0, nfrequent = 0;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) s_keys[k * SORT_HISTOGRAM_THREADS + threadIdx.x] = 0;
    __syncthreads(); /* nothing is there */
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) met[k] = atomicExch(&places[mend_slot(images[k])], images[k]) == images[k];
    __syncthreads(); /* all have met whom they meet */
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) s_keys[k * SORT_HISTOGRAM_THREADS + threadIdx.x] = 0;
    __syncthreads(); /* zeroes before counts */
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        const uint64_t before = met[k] ? atomicAdd(&places[mend_slot(images[k])], 1) : MEND_SAMPLE;
        nrepeat += __syncthreads_count(before == 0);
        nfrequent += __syncthreads_count(before == 1);
    }
    const float once = (float)MEND_TWICE / (float)job.n;                                      /* but some are there three times: */
    const float likely = once * expf(-(float)(MEND_SAMPLE * (MEND_MOST / 2)) / (float)job.n); /* these are frequent */
    const float least = fmaxf(likely - 2 * sqrtf(likely), 1);
    const uint64_t twice = (float)(nrepeat - nfrequent) > least ? job.n / (2 * MEND_MOST) : 0;
    const uint64_t most = MEND_REPEATS * (uint64_t)nfrequent + twice; /* frequent keys */
    return most ? 64 - (uint32_t)__clzll((long long)(2 * most * job.n - 1)) : 0;
}

/* All of these but the lowest. */
static __device__ __forceinline__ uint32_t without_lowest(uint32_t passes, int n) {
    for (int i = 0; i < n; i++) passes &= passes - 1;
    return passes;
}

/* Some keys of the sample agree with one that differs in the bits below `low` only. Are these of so few runs that not all keys can be in
 * runs that long, and few of each, so that none is too long? s_keys as above. */
template <typename KEY, uint32_t EACH>
static __device__ __forceinline__ bool are_few_runs(const KEY (&images)[EACH], const bool (&alike)[EACH], uint32_t low, KEY *s_keys) {
    unsigned long long *places = (unsigned long long *)s_keys;
    int nruns = 0;
    bool many = false;
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) s_keys[k * SORT_HISTOGRAM_THREADS + threadIdx.x] = 0;
    __syncthreads(); /* zeroes before counts */
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        const uint64_t before = alike[k] ? atomicAdd(&places[mend_slot(images[k] >> low)], 1) : MEND_SAMPLE;
        many = many || (before >= MEND_ALIKE && before < MEND_SAMPLE);
        nruns += __syncthreads_count(before == 0);
    }
    return !__syncthreads_or(many) && nruns <= MEND_ALIKE_RUNS;
}

/* live: a bit for each pass in which keys differ. Returns those that are worth while: the highest, as few as tell all keys of the sample
 * apart; else as few as tell nearly all apart; else all passes. s_keys [MEND_SAMPLE]. All threads of the CTA that is done last call it. */
template <typename KEY>
static __device__ __forceinline__ uint32_t passes_that_tell(const struct sort_job &job, uint32_t live, KEY *s_keys) {
    constexpr uint32_t EACH = MEND_SAMPLE / SORT_HISTOGRAM_THREADS;
    const uint32_t more = 32 - (uint32_t)__clz((int)((job.n - 1) / MEND_SURE)); /* bits that must not be needed */
    KEY images[EACH];
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) images[k] = __ldcg(&job.header->values.key[k * SORT_HISTOGRAM_THREADS + threadIdx.x]);
    const uint32_t least_low = job.shift[__ffs((int)without_lowest(live, MEND_LEAST_SAVED)) - 1] + more;
    bool none = false; /* not even these tell a warp's first key from its others */
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        const KEY other = __shfl_sync(~0u, images[k], 0) ^ images[k];
        none = none || (other != 0 && other >> least_low == 0);
    }
    if (__syncthreads_or(none)) return live;
    const uint32_t least_bits = bits_that_part(job, images, s_keys);
    uint32_t nearly = live; /* those that tell nearly all apart */
    for (int left_out = __popc(live) - MEND_LEAST_PASSES; left_out >= MEND_LEAST_SAVED; left_out--) {
        const uint32_t kept = without_lowest(live, left_out);
        if ((uint32_t)__popc(kept) * SORT_DIGIT_BITS < least_bits) continue;
        const uint32_t low = job.shift[__ffs((int)kept) - 1] + more;
        __syncthreads(); /* nobody needs the shared memory any more */
#pragma unroll
        for (uint32_t k = 0; k < EACH; k++) atomicExch((unsigned long long *)&s_keys[mend_slot(images[k] >> low)], images[k]);
        __syncthreads();               /* of keys that agree in what is kept, one is there */
        bool alike[EACH], any = false; /* with a key that differs */
#pragma unroll
        for (uint32_t k = 0; k < EACH; k++) {
            const KEY other = s_keys[mend_slot(images[k] >> low)] ^ images[k];
            alike[k] = other != 0 && other >> low == 0;
            any = any || alike[k];
        }
        if (!__syncthreads_or(any)) return kept;
        if (nearly == live && left_out >= MEND_LONG_SAVED && are_few_runs(images, alike, low, s_keys)) nearly = kept;
    }
    return nearly;
}

/* ---- mending a tile ---------------------------------------------------------------------------------------------------------- */

/* The keys of a tile, and some that follow, in shared memory; and for each a bit: is it of a run with the next one; is it greater than
 * that, too; is it of a run that is to be mended? */
template <typename KEY> struct mend_desk {
    KEY *images;
    uint32_t *joined, *greater, *marked;

    /* By whole warps. */
    __device__ __forceinline__ void set_bits(uint32_t i, bool joins, bool is_greater) const {
        const uint32_t joined_bits = __ballot_sync(~0u, joins), greater_bits = __ballot_sync(~0u, joins && is_greater);
        if (i % 32 > 0) return;
        joined[i / 32] = joined_bits;
        greater[i / 32] = greater_bits;
        marked[i / 32] = 0;
    }
    /* The first of the run that key i is of. */
    __device__ __forceinline__ uint32_t first_of_run(uint32_t i) const {
        uint32_t word = i / 32, apart = ~joined[word] & ((1u << i % 32) - 1);
        while (apart == 0 && word > 0) apart = ~joined[--word];
        return apart ? word * 32 + 32 - (uint32_t)__clz((int)apart) : 0;
    }
    /* The last one. */
    __device__ __forceinline__ uint32_t last_of_run(uint32_t i) const {
        uint32_t word = i / 32, apart = ~joined[word] & (~0u << i % 32);
        while (apart == 0) apart = ~joined[++word];
        return word * 32 + (uint32_t)__ffs((int)apart) - 1;
    }
    __device__ __forceinline__ void mark(uint32_t first, uint32_t last) const {
        for (uint32_t word = first / 32; word <= last / 32; word++) {
            const uint32_t from = word == first / 32 ? ~0u << first % 32 : ~0u, to = word == last / 32 ? ~0u >> (31 - last % 32) : ~0u;
            atomicOr(&marked[word], from & to);
        }
    }
    /* Where key i belongs, of the run from first to last. */
    __device__ __forceinline__ uint32_t place_of(uint32_t i, uint32_t first, uint32_t last) const {
        const KEY image = images[i];
        uint32_t place = first;
        for (uint32_t k = first; k <= last; k++) place += images[k] < image || (images[k] == image && k < i);
        return place;
    }
};

/* Brings the keys of marked runs to their places. */
template <typename KEY>
static __device__ __forceinline__ void mend_keys(const struct mend_desk<KEY> &s, KEY *keys, uint32_t all,
                                                 const struct key_order<KEY> &order) {
    for (uint32_t i = threadIdx.x; i < all; i += SORT_THREADS) {
        if (!(s.marked[i / 32] >> i % 32 & 1)) continue;
        keys[s.place_of(i, s.first_of_run(i), s.last_of_run(i))] = order.key_of_image(s.images[i]);
    }
}

/* The same with values, ROWS a thread at most. All threads call it. */
template <int ROWS, typename KEY, typename WORD>
static __device__ __forceinline__ void mend_pairs(const struct mend_desk<KEY> &s, KEY *keys, WORD *values, uint32_t all,
                                                  const struct key_order<KEY> &order) {
    struct packed_ranks<ROWS> places;
    WORD moved[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t i = row * SORT_THREADS + threadIdx.x;
        uint32_t place = i;
        if (i < all && s.marked[i / 32] >> i % 32 & 1) place = s.place_of(i, s.first_of_run(i), s.last_of_run(i));
        places.set(row, place);
        if (place != i) moved[row] = values[i];
    }
    __syncthreads(); /* all values have been read */
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t i = row * SORT_THREADS + threadIdx.x, place = places.get(row);
        if (place == i) continue;
        keys[place] = order.key_of_image(s.images[i]);
        values[place] = moved[row];
    }
}

/* A tile whose keys, and values, lie where they are wanted, but for runs that are out of order: of these, long ones are only seen. low:
 * bits that tell no runs apart. Dynamic shared memory: mend_nbytes(). */
template <typename KEY, int VALUE_NBYTES>
static __device__ __forceinline__ void mend_tile(const struct sort_job &job, const struct sort_tile<KEY> &tile, uint32_t low,
                                                 unsigned char *s_memory, struct long_runs &s_long) {
    typedef typename value_word<VALUE_NBYTES>::type WORD;
    static_assert(MEND_MOST == SORT_THREADS, "a row of keys that follow");
    constexpr int LOADS = 4;
    const uint32_t most = job.rows * SORT_THREADS + MEND_MOST; /* that there can be, with those that follow */
    uint32_t *words = (uint32_t *)((KEY *)s_memory + most);
    const struct mend_desk<KEY> s = { (KEY *)s_memory, words, words + most / 32, words + most / 16 };
    const struct key_order<KEY> order(job);
    KEY *keys = tile.keys_dst + tile.first;
    const uint32_t count = tile.count, all = (uint32_t)min((uint64_t)(count + MEND_MOST), job.n - tile.first);
    if (threadIdx.x == 0) s_long.seen = 0;
#pragma unroll 1
    for (uint32_t first = threadIdx.x; first < all; first += LOADS * SORT_THREADS) {
        KEY some[LOADS];
#pragma unroll
        for (uint32_t k = 0; k < LOADS; k++) some[k] = first + k * SORT_THREADS < all ? keys[first + k * SORT_THREADS] : (KEY)0;
#pragma unroll
        for (uint32_t k = 0; k < LOADS; k++) {
            if (first + k * SORT_THREADS < all) s.images[first + k * SORT_THREADS] = order.image(some[k]);
        }
    }
    const bool goes_on = tile.first > 0 && (order.image(keys[-1]) ^ order.image(keys[0])) >> low == 0; /* a run of the tile before */
    __syncthreads();                                                                                   /* all images */
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i / 32 * 32 < all; i += SORT_THREADS) {
        const KEY image = i < all ? s.images[i] : (KEY)0, next = i + 1 < all ? s.images[i + 1] : (KEY)~image;
        s.set_bits(i, (image ^ next) >> low == 0, image > next);
    }
    __syncthreads(); /* all bits */
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < all; i += SORT_THREADS) {
        if (!(s.greater[i / 32] >> i % 32 & 1)) continue;
        const uint32_t first = s.first_of_run(i), last = s.last_of_run(i);
        if (first >= count) continue;  /* the CTA of the next tile sees it, too */
        if (last - first >= MEND_MOST) /* as in any run of which not all is seen here */
            s_long.see(first);
        else if (!(first == 0 && goes_on)) /* else that of the tile before sees all that is out of order in it */
            s.mark(first, last);
    }
    __syncthreads(); /* all marks, and all that is seen */
    if constexpr (VALUE_NBYTES == 0)
        mend_keys(s, keys, all, order);
    else
        mend_pairs<sort_rows(sizeof(KEY), VALUE_NBYTES) + 1>(s, keys, (WORD *)tile.values_dst + tile.first, all, order);
}

#endif
