/* sort_sample.cuh: splitters from a sample, for a CTA: where to cut keys of which nothing is known into parts of about equal size.
 *
 *     sample       an item or a few a thread, from places drawn at random; each warp sorts rows of 32, then runs are merged by twos
 *     splitters    one for every two threads, the least and the greatest item among them; of items that repeat rather these
 *     cells        what is between two splitters, and what is equal to one
 *
 * The splitters lie in shared memory as a search tree, level after level, since the first levels of an array would all be in the same bank.
 * Cost: a load from shared memory a level and item. Source: Frazer and McKellar, Samplesort, 1970; Leischner, Osipov and Sanders, GPU
 * sample sort, 2010; Axtmann et al., In-place parallel super scalar samplesort, 2017, for cells of equal keys. */
#ifndef UPSWEEP_CUDA_SORT_SAMPLE_CUH
#define UPSWEEP_CUDA_SORT_SAMPLE_CUH

#include <stdint.h>

#include "sort_tuning.h"

/* ---- the sample -------------------------------------------------------------------------------------------------------------- */

/* Sorts rows of 32 items, one a lane, PER of them side by side: a bitonic network. */
template <int PER, typename T> static __device__ __forceinline__ void sort_rows_of_warp(T (&items)[PER]) {
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (uint32_t size = 2; size <= 32; size *= 2) {
#pragma unroll
        for (uint32_t apart = size / 2; apart > 0; apart /= 2) {
            const bool smaller = ((lane & apart) == 0) == ((lane & size) == 0);
#pragma unroll
            for (int k = 0; k < PER; k++) {
                const T other = __shfl_xor_sync(~0u, items[k], apart);
                items[k] = smaller ? min(items[k], other) : max(items[k], other);
            }
        }
    }
}

/* Where item i of a sample lies: a search in runs goes by powers of two, and these must not all be in the same bank. */
static __device__ __forceinline__ uint32_t sample_at(uint32_t i) { return i ^ (i >> 5 & 31); }

/* How many of N sorted values are less? at(i) is number i; N: a power of two. */
template <uint32_t N, typename AT, typename T> static __device__ __forceinline__ uint32_t count_less(const AT &at, T value) {
    static_assert((N & (N - 1)) == 0, "halves of halves");
    uint32_t place = 0;
#pragma unroll
    for (uint32_t step = N / 2; step > 0; step /= 2)
        if (at(place + step - 1) < value) place += step;
    return place + (at(place) < value);
}

/* Sorts PER items a thread of THREADS, by merging; s [THREADS * PER]: the sorted items, where sample_at() says, after a barrier. Each knows
 * its place in its run and looks for its place in the other one, behind equal items of the lower run. */
template <int THREADS, int PER, typename T> static __device__ __forceinline__ void sort_sample(T (&items)[PER], T *s) {
    uint32_t place[PER];
    sort_rows_of_warp(items);
#pragma unroll
    for (int k = 0; k < PER; k++) {
        place[k] = k * THREADS + threadIdx.x;
        s[sample_at(place[k])] = items[k];
    }
#pragma unroll 1
    for (uint32_t run = 32; run < THREADS * PER; run *= 2) {
        uint32_t other[PER];
        bool upper[PER];
        __syncthreads(); /* all runs */
#pragma unroll
        for (int k = 0; k < PER; k++) {
            upper[k] = place[k] & run;
            other[k] = (place[k] & ~(run - 1)) ^ run;
        }
#pragma unroll 1
        for (uint32_t step = run / 2; step > 0; step /= 2) {
#pragma unroll
            for (int k = 0; k < PER; k++) {
                const T value = s[sample_at(other[k] + step - 1)];
                if (value < items[k] || (upper[k] && value == items[k])) other[k] += step;
            }
        }
#pragma unroll
        for (int k = 0; k < PER; k++) {
            const T value = s[sample_at(other[k])];
            const uint32_t before = other[k] % run + (value < items[k] || (upper[k] && value == items[k]));
            place[k] = (place[k] & ~(2 * run - 1)) + place[k] % run + before;
        }
        __syncthreads(); /* all have looked */
#pragma unroll
        for (int k = 0; k < PER; k++) s[sample_at(place[k])] = items[k];
    }
}

/* Splitter j of nsplitters, of a sorted sample in which EACH items come to each: the one that occurs most often among them. */
template <uint32_t EACH, typename T>
static __device__ __forceinline__ T choose_splitter(const T *s_sorted, uint32_t j, uint32_t nsplitters) {
    if (j == 0) return s_sorted[sample_at(0)];
    if (j == nsplitters - 1) return s_sorted[sample_at((nsplitters + 1) * EACH - 1)];
    T best = s_sorted[sample_at(j * EACH)], value = best;
    uint32_t longest = 1, run = 1;
#pragma unroll
    for (uint32_t k = 1; k < EACH; k++) {
        const T next = s_sorted[sample_at(j * EACH + k)];
        run = next == value ? run + 1 : 1;
        value = next;
        if (run > longest || (longest == 1 && k == EACH / 2)) {
            longest = run;
            best = value;
        }
    }
    return best;
}

/* ---- cells ------------------------------------------------------------------------------------------------------------------- */

/* Shared memory: THREADS / 2 - 1 splitters, so that there are as many cells as threads; the last one is none. */
template <typename T, uint32_t THREADS> struct splitter_tree {
    static constexpr uint32_t SPLITTERS = THREADS / 2 - 1, LEVELS = 9;
    static_assert(1u << LEVELS == SPLITTERS + 1, "a perfect tree");

    T node[SPLITTERS + 1]; /* from 1 on: the children of k are 2 * k and 2 * k + 1 */
    T splitter[SPLITTERS]; /* ascending */

    /* By thread j < SPLITTERS; a barrier must follow. */
    __device__ __forceinline__ void set(uint32_t j, T value) {
        const uint32_t height = (uint32_t)__ffs((int)(j + 1)) - 1, level = LEVELS - 1 - height;
        node[(1u << level) + ((j + 1) >> (height + 1))] = value;
        splitter[j] = value;
    }

    /* The cells of N items: twice the splitters that are not above it, one less if the last of these is equal. */
    template <int N> __device__ __forceinline__ void find_cells(uint32_t (&cells)[N], const T (&items)[N]) const {
        bool equal[N];
#pragma unroll
        for (int i = 0; i < N; i++) {
            cells[i] = 1;
            equal[i] = false;
        }
#pragma unroll
        for (uint32_t level = 0; level < LEVELS; level++) {
#pragma unroll
            for (int i = 0; i < N; i++) {
                const T value = node[cells[i]];
                equal[i] = equal[i] || value == items[i];
                cells[i] = 2 * cells[i] + (value <= items[i]);
            }
        }
#pragma unroll
        for (int i = 0; i < N; i++) cells[i] = 2 * (cells[i] - (SPLITTERS + 1)) - equal[i];
    }

    /* From where to where a cell between two splitters reaches. */
    __device__ __forceinline__ T low_of(uint32_t cell) const { return cell < 2 ? (T)0 : splitter[cell / 2 - 1]; }
    __device__ __forceinline__ T high_of(uint32_t cell) const { return cell / 2 < SPLITTERS ? splitter[cell / 2] : (T) ~(T)0; }
};

/* How a cell between two splitters is divided in parts of equal width: an item's distance from its start, without the top zeros that all
 * distances have, times scale. */
struct cell_parts {
    uint16_t first, shift;
    uint32_t scale;

    template <typename T> __device__ __forceinline__ uint32_t part_of(T distance) const {
        const uint32_t top = (uint32_t)((T)(distance << shift) >> (sizeof(T) * 8 - 32));
        return first + (__umulhi(top, scale) >> 8);
    }
};

/* A cell of this width in nparts parts, numbered from `first` on. */
template <typename T> static __device__ __forceinline__ struct cell_parts divide_width(T width, uint32_t first, uint32_t nparts) {
    struct cell_parts parts = {(uint16_t)first, 0, 0};
    if (nparts <= 1) return parts;
    if (width) parts.shift = (uint16_t)((uint32_t)__clzll((long long)width) - (64 - (uint32_t)sizeof(T) * 8));
    const uint32_t top = (uint32_t)((T)(width << parts.shift) >> (sizeof(T) * 8 - 32));
    parts.scale = (uint32_t)(__fdividef((float)nparts * 0x1p40f * (1 - 0x1p-20f), (float)top + 1)); /* a little too small is right */
    return parts;
}

#endif
