/* sort_bucket_words.cuh: the last step of an argsort of 32-bit keys in slots: a bucket of items of 64 bits, sorted as words of 32.
 *
 *     item     | key, less what all share                    | index |
 *     word     | its highest bits      | place in the bucket |         sorted as in sort_window.cuh
 *     rest     | its other bits | index |                              waits in shared memory, at the item's place
 *
 * Items whose words differ in their places only are a *tie*, and their rests say which comes first. Of uniform keys one in eight is tied at
 * most. To exchange words takes a third of the instructions that items take.
 * Cost: items read once, indices written once. */
#ifndef UPSWEEP_CUDA_SORT_BUCKET_WORDS_CUH
#define UPSWEEP_CUDA_SORT_BUCKET_WORDS_CUH

#include "sort_bucket.cuh"
#include "sort_placed.cuh"

/* A window's words, and what belongs to them, eight consecutive ones a lane: brings ties in order by odd-even exchanges of their rests. */
static __device__ __forceinline__ void order_ties(uint32_t (&rests)[WINDOW_LANE_KEYS], const uint32_t (&words)[WINDOW_LANE_KEYS],
                                                  uint32_t place_mask) {
    constexpr int LAST = WINDOW_LANE_KEYS - 1;
    const uint32_t lane = threadIdx.x % 32, next_word = __shfl_down_sync(~0u, words[0], 1);
    bool tied[WINDOW_LANE_KEYS], three = false; /* each with the next one; that with its next, too */
#pragma unroll
    for (int i = 0; i < LAST; i++) tied[i] = (words[i] ^ words[i + 1]) <= place_mask;
    tied[LAST] = lane < 31 && (words[LAST] ^ next_word) <= place_mask;
    const bool first_tied = __shfl_up_sync(~0u, (int)tied[LAST], 1) && lane > 0;
#pragma unroll
    for (int i = 0; i < LAST; i++) three = three || (tied[i] && tied[i + 1]);
    three = three || (first_tied && tied[0]);
    bool again;
    do {
        bool moved = false;
        const auto exchange_tied = [&](int i) {
            const bool swap = tied[i] && rests[i] > rests[i + 1];
            const uint32_t rest = rests[i];
            rests[i] = swap ? rests[i + 1] : rest;
            rests[i + 1] = swap ? rest : rests[i + 1];
            moved = moved || swap;
        };
#pragma unroll
        for (int i = 0; i < LAST; i += 2) exchange_tied(i);
        const uint32_t next = __shfl_down_sync(~0u, rests[0], 1), last = __shfl_up_sync(~0u, rests[LAST], 1);
#pragma unroll
        for (int i = 1; i < LAST; i += 2) exchange_tied(i);
        const bool down = tied[LAST] && rests[LAST] > next, up = first_tied && rests[0] < last;
        rests[LAST] = down ? next : rests[LAST];
        rests[0] = up ? last : rests[0];
        again = __any_sync(~0u, three && (moved || down || up));
    } while (again);
}

/* False: some bin is too deep, and nothing has been written. All threads call it. */
template <typename SHAPE>
static __device__ __forceinline__ bool sort_bucket_by_words(const struct split_job &job, const struct found_bucket<uint64_t> &found,
                                                            unsigned char *s_memory, struct bucket_desk<uint64_t> &s) {
    constexpr int THREADS = SHAPE::THREADS, ROWS = SHAPE::ROWS;
    constexpr uint32_t PLACE_BITS = place_bits(SHAPE::ITEMS), PLACE_MASK = (1u << PLACE_BITS) - 1, BIN_SHIFT = 32 - SHAPE::BIN_BITS;
    constexpr uint32_t NSLOTS = (SHAPE::SLOTS_NBYTES / sizeof(uint64_t) + 3) / 4 * 4;
    static_assert(NSLOTS + SHAPE::ITEMS <= SHAPE::SLOTS_NBYTES / sizeof(uint32_t), "room for words and rests where items would be");
    const uint32_t n = found.n, below = PLACE_BITS - min(PLACE_BITS, found.bits); /* bits of a key that are in the rest */
    uint32_t *s_bins = (uint32_t *)s_memory, *s_slots = s_bins + SHAPE::BINS, *s_rests = s_slots + NSLOTS;
    const struct bucket_rows<SHAPE> rows(n);
    uint64_t items[ROWS];
    get_items(items, rows, job, found.src, found.from);
    s.add_before(items_before(job, found)); /* after the items have been asked for */
#pragma unroll
    for (uint32_t i = 0; i < SHAPE::BINS / 4; i += THREADS) ((uint4 *)s_bins)[i + threadIdx.x] = make_uint4(0, 0, 0, 0);
    __syncthreads(); /* zeroes before counts */
    uint32_t words[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t place = row * THREADS + threadIdx.x;
        s_rests[place] = (uint32_t)(items[row] >> below);
        words[row] = ((uint32_t)(items[row] >> 32) << found.bits & ~PLACE_MASK) | place;
    }
    count_in_bins(words, rows, s_bins, BIN_SHIFT);
    __syncthreads(); /* all counts */
    if (threadIdx.x == 0 && found.ahead > 0) prefetch_items(found.src + found.from + found.ahead, n);
    const uint32_t deepest = scan_bins<SHAPE::BINS, SHAPE::WARPS>(s_bins, s.sums);
    if (__syncthreads_or(deepest > WINDOW_HALO)) return false; /* else: all ends */

    /* As in sort_bucket(). */
    uint32_t *out = (uint32_t *)job.values_out + s.start(SHAPE::WARPS);
    const uint32_t skew = (uint32_t)((uintptr_t)out / sizeof(uint32_t)) % WINDOW_LANE_KEYS, first_slot = WINDOW_HALO + skew;
    const struct bucket_slots slots = {first_slot, first_slot + n};
    const uint32_t nwindows = (skew + n + WINDOW_STEP - 1) / WINDOW_STEP;
    fill_around<THREADS>(s_slots, first_slot, n, nwindows);
    put_in_bins(s_slots, words, rows, first_slot, s_bins, BIN_SHIFT);
    __syncthreads(); /* all words are in their bins, and all rests are there */

    out -= first_slot;
    for (uint32_t window = threadIdx.x / 32; window < nwindows; window += SHAPE::WARPS) {
        const uint32_t window_slot = window * WINDOW_STEP, slot = window_slot + threadIdx.x % 32 * WINDOW_LANE_KEYS;
        uint32_t sorted[WINDOW_LANE_KEYS], rests[WINDOW_LANE_KEYS];
        get_window(sorted, s_slots, window_slot);
        sort_window(sorted);
#pragma unroll
        for (int i = 0; i < WINDOW_LANE_KEYS; i++) rests[i] = s_rests[min(sorted[i] & PLACE_MASK, SHAPE::ITEMS - 1)];
        if (window_slot < slots.first || window_slot + WINDOW_KEYS > slots.end) { /* what stands around the words stays there */
#pragma unroll
            for (int i = 0; i < WINDOW_LANE_KEYS; i++) rests[i] = slot + i < slots.first ? 0 : slot + i < slots.end ? rests[i] : ~0u;
        }
        order_ties(rests, sorted, PLACE_MASK);
#pragma unroll
        for (int i = 0; i < WINDOW_LANE_KEYS; i++) rests[i] = rests[i] << below >> job.bits.index_shift;
        put_window(out, slots, window_slot, rests);
    }
    return true;
}

#endif
