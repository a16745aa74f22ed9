/* sort_strays.cuh: bits that nearly all keys share are left out of the digits of onesweep, too, if something goes with the keys.
 *
 *     image    0 1 1 0 a 0 0 b 1 1 c 0 d      of nearly all
 *     code     a b c d 1 | 0
 *     code     a b c d 0 | number             of a stray, a key that has other bits there: a b c d of the next image above it
 *
 * Codes are sorted in place of keys. A stray comes between the images between which it belongs, and its number says where in a table it is.
 * Strays that belong between the same two have the same code but for that, and are left in the order in which they came. So the pass that
 * opens the keys notes where strays are, and with which values; and a last one moves each, beyond those after it that are less, and before
 * those before it that are greater: it compares each with all others.
 * How many strays there are is known before: who leaves the sort to the passes counts them, by a sample's bits (sort_gaps.cuh).
 * Cost: two bits more to sort by, and as many comparisons as strays, squared. */
#ifndef UPSWEEP_CUDA_SORT_STRAYS_CUH
#define UPSWEEP_CUDA_SORT_STRAYS_CUH

#include "sort_gaps.cuh"
#include "sort_tile.cuh"

/* Are codes for so many strays better than to sort by all bits that vary, or by these closed up? */
static __device__ __forceinline__ bool codes_are_best(const struct sort_job &job, uint32_t nstrays, const struct often_bits &often,
                                                      uint64_t varying, uint32_t least_saved) {
    const uint32_t ndigits = digits_saved(varying) >= least_saved ? closed_digits(varying) : varying_digits(varying);
    return nstrays > 0 && nstrays <= job.most_strays && codes_save(often.varying, ndigits);
}

/* In place of a key_order, where digits are counted: counts strays, too. */
template <typename KEY> struct stray_counter {
    const struct key_order<KEY> order;
    const struct often_bits often;
    uint32_t &nstrays;

    template <int N> __device__ __forceinline__ void make_images(KEY (&keys)[N]) const {
        order.make_images(keys);
#pragma unroll
        for (int i = 0; i < N; i++) nstrays += is_stray(often, keys[i]);
    }
};

/* The same, where keys are closed up, or made codes: strays get their numbers, and are entered. */
template <typename KEY> struct closing_order {
    const struct key_order<KEY> order;
    const struct bit_gaps &s_gaps;
    struct sort_header *const header;

    template <int N> __device__ __forceinline__ void make_images(KEY (&keys)[N]) const {
        order.make_images(keys);
        if (s_gaps.code_shift == 0) return close_images(s_gaps, keys);
        uint32_t strays = 0, above = 0; /* a bit for each key */
#pragma unroll
        for (int i = 0; i < N; i++) strays |= (uint32_t)is_stray(s_gaps, keys[i]) << i;
        const uint32_t number = strays ? atomicAdd(&header->nstrays, __popc(strays)) : 0;
        if (strays) {
#pragma unroll
            for (int i = 0; i < N; i++) {
                if (!(strays >> i & 1)) continue;
                bool is_above;
                header->values.key[number + __popc(strays & ((1u << i) - 1))] = keys[i];
                keys[i] = next_to_stray(s_gaps, keys[i], &is_above);
                above |= (uint32_t)is_above << i;
            }
        }
        close_images(s_gaps, keys);
#pragma unroll
        for (int i = 0; i < N; i++) {
            const KEY code = (KEY)(keys[i] << 1 | (KEY)1) << s_gaps.code_shift;
            keys[i] = code;
            if (!(strays >> i & 1)) continue;
            const KEY of_stray = (KEY)((code >> s_gaps.code_shift) - 1 + 2 * (above >> i & 1)) << s_gaps.code_shift;
            keys[i] = of_stray | (KEY)(number + __popc(strays & ((1u << i) - 1)));
        }
    }
};

/* Opens the keys of a tile, where they are: the last pass over closed ones, or the last but one, over codes. Of an argsort only strays
 * matter. */
template <typename KEY, int VALUE_NBYTES>
static __device__ __forceinline__ void open_tile(const struct sort_job &job, const struct sort_tile<KEY> &tile) {
    typedef typename value_word<VALUE_NBYTES>::type WORD;
    constexpr int LOADS = 4;
    const struct bit_gaps gaps = job.header->gaps;
    const struct key_order<KEY> order(job);
    KEY *keys = tile.keys_dst + tile.first;
    for (uint32_t first = threadIdx.x; first < tile.count; first += LOADS * SORT_THREADS) {
        KEY some[LOADS]; /* all read before one is written: the compiler would not know that these differ */
#pragma unroll
        for (int i = 0; i < LOADS; i++) some[i] = first + i * SORT_THREADS < tile.count ? keys[first + i * SORT_THREADS] : (KEY)0;
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            const uint32_t at = first + i * SORT_THREADS;
            if (at >= tile.count) continue;
            KEY image = order.image(some[i]);
            if (gaps.code_shift) {
                const KEY code = image >> gaps.code_shift;
                if ((code & 1) == 0) {
                    const uint32_t number = (uint32_t)(image & (((KEY)1 << gaps.code_shift) - 1));
                    job.states[0][number] = (uint32_t)tile.first + at; /* no pass needs them any more */
                    job.header->values.count[number] = ((const WORD *)tile.values_dst)[tile.first + at];
                    continue;
                }
                image = code >> 1;
            }
            if (!job.drop_keys) keys[at] = order.key_of_image(open_image(gaps, image));
        }
    }
}

/* Brings strays to their places, each by a warp; number: of the tile. s_memory: that a tile is sorted in, which has room for some. */
template <typename KEY, int VALUE_NBYTES>
static __device__ __forceinline__ void put_strays(const struct sort_job &job, const struct sort_tile<KEY> &tile, uint32_t number,
                                                  unsigned char *s_memory) {
    typedef typename value_word<VALUE_NBYTES>::type WORD;
    constexpr uint32_t WARPS = SORT_THREADS / 32, SOME = 2048;
    static_assert(SOME * 12 <= SORT_THREADS / SORT_TEAM * TEAM_WORDS * sizeof(uint32_t), "no less than a tile's counters");
    uint64_t *s_images = (uint64_t *)s_memory;
    uint32_t *s_places = (uint32_t *)(s_images + SOME);
    const struct value_table &table = job.header->values;
    const uint32_t nstrays = job.header->nstrays, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (uint32_t first = number * WARPS; first < nstrays; first += job.ntiles * WARPS) {
        const uint32_t i = min(first + warp, nstrays - 1), place = job.states[0][i];
        const uint64_t image = table.key[i];
        uint32_t moved = 0;
        for (uint32_t begin = 0; begin < nstrays; begin += SOME) {
            const uint32_t n = min(nstrays - begin, SOME);
            for (uint32_t k = threadIdx.x; k < n; k += SORT_THREADS) {
                s_images[k] = table.key[begin + k];
                s_places[k] = job.states[0][begin + k];
            }
            __syncthreads(); /* some of all */
#pragma unroll 4
            for (uint32_t k = lane; k < n; k += 32) {
                moved += s_places[k] > place && s_images[k] < image;
                moved -= s_places[k] < place && s_images[k] > image;
            }
            __syncthreads(); /* nobody needs these any more */
        }
        const uint32_t to = place + sum_warp(moved);
        if (lane > 0 || first + warp >= nstrays) continue;
        if (!job.drop_keys) tile.keys_dst[to] = key_order<KEY>(job).key_of_image((KEY)image);
        ((WORD *)tile.values_dst)[to] = (WORD)table.count[i];
    }
}

#endif
