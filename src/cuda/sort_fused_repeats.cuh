/* sort_fused_repeats.cuh: keys with something beside them that repeat too often for a bucket, where sort_fused_sample.cuh divides tiles:
 * they are not moved, but written where they belong at once, in the order in which they come.
 *
 *     each CTA       notes which places of its tile have a frequent key, and which one; each warp ranks those of its stretch
 *                    leaves its sums for the CTAs behind it, in a row of its own
 *     waits          until all have added what else they count
 *     each CTA       sums the rows before its own, and writes keys and values
 *
 * Cost: a rank by __match_any_sync() for each key, and an L2 round trip for the rows. */
#ifndef UPSWEEP_CUDA_SORT_FUSED_REPEATS_CUH
#define UPSWEEP_CUDA_SORT_FUSED_REPEATS_CUH

#include "sort_item.cuh"
#include "sort_sample.cuh"
#include "sort_values.cuh"

#define REPEATS_MAX   255 /* frequent keys; the number that stands for none */
#define REPEATS_APART 8   /* in a sorted sample: most keys are the same as the one so far behind, if they repeat often */

/* Do sorted keys, one a thread, at(i) is number i, look like few values? All threads call it. */
template <typename AT> static __device__ __forceinline__ bool sorted_are_few(const AT &at) {
    const uint32_t t = threadIdx.x;
    const auto key = at(t);
    const bool before = t > 0 && at(t - 1) == key, behind = t + 1 < FUSED_THREADS && at(t + 1) == key;
    const bool two_before = t > 1 && at(t - 2) == key, two_behind = t + 2 < FUSED_THREADS && at(t + 2) == key;
    const int nonce = __syncthreads_count(!before && !behind);
    const int ntwice = __syncthreads_count(before ? !behind && !two_before : behind && !two_behind);
    return are_few_values(nonce, ntwice);
}

/* What a sorted sample of items, one a thread, says of 32-bit keys with something beside them. All threads make one. */
struct sampled_keys {
    bool often; /* most keys repeat so often that they are not to be moved */
    bool pays;  /* to divide them: else stable passes are quicker */

    __device__ __forceinline__ sampled_keys(const struct split_job &split, const uint64_t *s_sample) : often(false), pays(true) {
        if (split.bits.sorted_by != ~0u) return;
        const uint32_t t = threadIdx.x, key = key_at(s_sample, t);
        const bool same = t + REPEATS_APART < FUSED_THREADS && key_at(s_sample, t + REPEATS_APART) == key;
        often = __syncthreads_count(same) >= FUSED_THREADS / 2;
        if (split.n <= PASSES_PAY_MIN) return;
        uint32_t ndigits = 0;
        for (uint32_t shift = 0; shift < 32; shift += SORT_DIGIT_BITS)
            ndigits += __syncthreads_or(digit_of(key ^ key_at(s_sample, 0), shift, SORT_DIGITS - 1) != 0) != 0;
        const bool few = sorted_are_few([&](uint32_t i) { return key_at(s_sample, i); });
        pays = ndigits == 0 || (ndigits > 2 && (often || !few));
    }

    static __device__ __forceinline__ uint32_t key_at(const uint64_t *s_sample, uint32_t i) {
        return (uint32_t)(s_sample[sample_at(i)] >> 32);
    }
};

/* Shared memory, and behind it a byte for each place of a tile: which frequent key it has. */
template <typename KEY> struct repeats_desk {
    uint32_t base[REPEATS_MAX + 1]; /* where each one's next key goes */
    KEY key[REPEATS_MAX + 1];
    uint32_t n;
    uint16_t part[REPEATS_MAX + 1];
    uint16_t before[FUSED_THREADS / 32][REPEATS_MAX + 1]; /* of each warp: its keys; then those of the warps before it */
    uint8_t of_cell[FUSED_THREADS];

    __device__ __forceinline__ uint8_t *at() { return (uint8_t *)(this + 1); }
};

/* The rows of all CTAs, one after the other: the stable passes' first states, which are not needed yet. */
static __device__ __forceinline__ uint32_t *row_of_repeats(const struct split_job &split, uint32_t cta) {
    return split.states[0] + cta * (REPEATS_MAX + 1);
}

/* Numbers the frequent keys: thread t says whether its cell is one; in order, so that all CTAs number alike. Returns whether there was room
 * for it. All threads call it. */
template <typename KEY> static __device__ __forceinline__ bool number_repeat(struct repeats_desk<KEY> &s, bool frequent, uint32_t *s_sums) {
    const uint32_t number = scan_threads(frequent, s_sums);
    const bool room = frequent && number < REPEATS_MAX;
    s.of_cell[threadIdx.x] = (uint8_t)(room ? number : REPEATS_MAX);
    const uint32_t all = (uint32_t)__syncthreads_count(room); /* also: s_sums may be used again */
    if (threadIdx.x == 0) s.n = all;
    return room;
}

/* Ranks the keys of each warp's stretch among those that are equal to them, by rows. A barrier must be before, and after. */
template <int ROWS, typename KEY>
static __device__ __forceinline__ void rank_repeats(struct packed_ranks<ROWS> &ranks, struct repeats_desk<KEY> &s, uint32_t rows) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint16_t *counts = s.before[warp];
    for (uint32_t i = lane; i <= REPEATS_MAX; i += 32) counts[i] = 0;
    __syncwarp(); /* zeroes before counts */
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (row >= (int)rows) break;
        const uint32_t which = s.at()[(warp * rows + row) * 32 + lane], peers = __match_any_sync(~0u, which);
        const uint32_t before = counts[which], rank = __popc(peers & ((1u << lane) - 1));
        __syncwarp(); /* all have looked before one changes it */
        if (rank == 0) counts[which] = (uint16_t)(before + __popc(peers));
        __syncwarp(); /* the change before the next row */
        ranks.set(row, before + rank);
    }
}

/* Adds up the warps, and tells the other CTAs; s_count: of the parts. A fence of this thread, and a barrier, must follow. */
template <typename KEY>
static __device__ __forceinline__ void sum_repeats(const struct split_job &split, struct repeats_desk<KEY> &s, uint32_t *s_count) {
    const uint32_t i = threadIdx.x;
    if (i >= s.n) return;
    uint32_t sum = 0;
    for (uint32_t warp = 0; warp < FUSED_THREADS / 32; warp++) {
        const uint32_t count = s.before[warp][i];
        s.before[warp][i] = (uint16_t)sum;
        sum += count;
    }
    s_count[s.part[i]] = sum;
    row_of_repeats(split, blockIdx.x)[i] = sum;
}

/* Adds to base[] what the CTAs before this one have. All threads call it, having seen that all CTAs have left their rows; barriers must be
 * before, and after. */
template <typename KEY> static __device__ __forceinline__ void add_rows(const struct split_job &split, struct repeats_desk<KEY> &s) {
    uint32_t columns = 1;
    while (columns < s.n) columns *= 2;
    const uint32_t i = threadIdx.x % columns;
    uint32_t sum = 0;
#pragma unroll 4
    for (uint32_t cta = threadIdx.x / columns; cta < blockIdx.x; cta += FUSED_THREADS / columns)
        sum += i < s.n ? __ldcg(row_of_repeats(split, cta) + i) : 0; /* from L2, where the other CTAs' stores went */
    if (sum) atomicAdd(&s.base[i], sum);
}

static __device__ __noinline__ void put_repeat_value(const struct split_job &split, uint64_t place, uint32_t index) {
    put_value_at(split, (char *)split.values_out + place * split.value_nbytes, (const char *)split.values, index);
}

/* Writes them. first: the index of the tile's first key. */
template <int ROWS, typename KEY>
static __device__ __forceinline__ void put_repeats(const struct split_job &split, const struct packed_ranks<ROWS> &ranks,
                                                   struct repeats_desk<KEY> &s, uint32_t rows, uint32_t first) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (row >= (int)rows) break;
        const uint32_t at = (warp * rows + row) * 32 + lane, which = s.at()[at];
        if (which == REPEATS_MAX) continue;
        const uint32_t place = s.base[which] + s.before[warp][which] + ranks.get(row);
        if (split.out) ((KEY *)split.out)[place] = s.key[which];
        if (split.values_out) put_repeat_value(split, place, first + at);
    }
}

#endif
