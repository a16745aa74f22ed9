/* sort_stable.cuh: sorting keys with values, most significant bits first: the stable counterpart of sort_split.cuh.
 *
 * Values give equal keys an identity, so here every step keeps their order:
 *
 *     1. histogram of the top bits (sort_split.cuh)       every bucket's place in the output is known exactly
 *     2. two stable partitions (sort_tile.cuh)            the second within each coarse bucket, with a look-back of its own
 *     3. buckets in shared memory (sort_placed.cuh)       all remaining bits at once
 *
 * A bucket too big for a CTA is seen in step 1, and then the passes of onesweep, queued behind, do the work instead.
 * Values of 16 bytes are moved by the first partition only. From there on indices go with the keys, and a gather follows
 * (sort_gather.cuh), which finds what it wants near by, since a coarse bucket fits L2.
 * Cost: keys read four times, values three times, both written three times, whatever the width of the keys: onesweep
 * moves both four times for 32 bits and eight times for 64. */
#ifndef UPSWEEP_CUDA_SORT_STABLE_CUH
#define UPSWEEP_CUDA_SORT_STABLE_CUH

#include "sort_partition.cuh"
#include "sort_placed.cuh"

/* ---- partitions -------------------------------------------------------------------------------------------------------------- */

/* Where a tile's keys of a digit go: digit d, of ndigits that there are, belongs to buckets first + d * stride and following. */
struct bucket_starts {
    static constexpr bool ALONE = false;
    const uint32_t *start;
    uint32_t first, stride, ndigits;

    __device__ __forceinline__ uint64_t of(uint32_t digit, uint32_t before, uint32_t) const {
        return digit < ndigits ? (uint64_t)start[first + digit * stride] + before : 0;
    }
};

/* What one thread of a CTA finds out for all: in shared memory, because registers are short. */
template <typename KEY> struct partition_desk {
    struct sort_tile<KEY> tile;
    struct tile_place at;
    struct bucket_starts starts;
    bool done;
};

/* One thread calls it: takes the next tile of the first (second: of the second) partition. */
template <typename KEY>
static __device__ __forceinline__ void next_tile(const struct sort_job &job, const struct split_job &split, bool second,
                                                 struct partition_desk<KEY> &desk) {
    const uint32_t ticket = atomicAdd(&split.header->ticket[second], 1), tile_items = job.rows * SORT_THREADS;
    const uint32_t bits = second ? split.fine_bits : split.coarse_bits;
    const uint32_t ntiles = second ? split.header->coarse_tile[1u << split.coarse_bits] : job.ntiles;
    desk.done = ticket >= ntiles;
    if (desk.done) return;
    uint32_t begin = ticket * tile_items, end = split.n;
    desk.at = {bucket_shift<KEY>(split), (1u << bits) - 1, job.states[second], ticket};
    desk.starts = {split.start, 0, 1, 1u << bits};
    if (second) {
        const uint32_t coarse = coarse_of_tile(split, ticket), coarse_tile = split.header->coarse_tile[coarse];
        desk.at.states += (uint64_t)coarse_tile * SORT_DIGITS;
        desk.at.tile = ticket - coarse_tile;
        desk.starts.first = coarse << split.fine_bits;
        begin = split.start[desk.starts.first] + desk.at.tile * tile_items;
        end = split.start[(coarse + 1) << split.fine_bits];
    } else {
        desk.at.shift += split.fine_bits;
        desk.starts.stride = 1u << split.fine_bits;
    }
    desk.tile.keys_src = (const KEY *)(second ? job.keys_tmp : job.keys_in) + begin;
    desk.tile.keys_dst = (KEY *)(second ? job.keys_out : job.keys_tmp);
    desk.tile.values_src = (const char *)(second ? job.values_tmp : job.values_in) + (uint64_t)begin * job.value_nbytes;
    desk.tile.values_dst = (char *)(second ? job.values_out : job.values_tmp);
    desk.tile.first = begin;
    desk.tile.count = min(end - begin, tile_items);
    const bool indices = !(second ? job.values_tmp : job.values_in);
    desk.tile.numbered = indices || job.by_place;
    desk.tile.number = indices ? begin : 0;
}

/* One CTA a tile; or, SOME, as many as run at once: where most often all return at once, as CTAs take time to do that, too; but what is
 * kept from tile to tile spills registers. */
template <typename KEY, int VALUE_NBYTES, bool SOME>
__global__ void __launch_bounds__(SORT_THREADS, SORT_CTAS_PER_SM)
    stable_partition(const __grid_constant__ struct sort_job job, const __grid_constant__ struct split_job split, const bool second) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct digit_sums s_sums;
    __shared__ struct partition_desk<KEY> s_desk;
    wait_for_predecessor();
    if (split.header->outcome != ALL_FIT) return;
    do {
        if (threadIdx.x == 0) next_tile(job, split, second, s_desk);
        __syncthreads(); /* the tile is known */
        if (s_desk.done) return;
        sort_one_tile<KEY, VALUE_NBYTES, sort_rows(sizeof(KEY), VALUE_NBYTES)>(job, s_desk.tile, s_desk.at, s_desk.starts, s_memory, s_sums,
                                                                               key_order<KEY>(job));
        __syncthreads(); /* nobody needs the shared memory any more */
    } while (SOME);
}

/* ---- buckets ----------------------------------------------------------------------------------------------------------------- */

/* All threads call it. */
template <typename KEY, typename SHAPE>
static __device__ __forceinline__ void sort_stable_bucket(const struct sort_job &job, const struct split_job &split, uint32_t number,
                                                          unsigned char *s_memory, uint32_t *s_sums) {
    const uint32_t start = split.start[number], n = split.start[number + 1] - start;
    if (n == 0) return;
    const uint64_t values_start = (uint64_t)start * job.value_nbytes;
    KEY *keys_out = (KEY *)job.keys_out + start;
    char *values_out = (char *)job.values_out + values_start;
    const struct placed_bucket<KEY> bucket = { keys_out, values_out, n, keys_out, values_out };
    KEY keys[SHAPE::ROWS];
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) {
        const uint32_t place = row * SHAPE::THREADS + threadIdx.x;
        keys[row] = place < n ? bucket.keys[place] : (KEY)0;
    }
    const struct placed_items<KEY, KEY> placed(job, (KEY)((KEY)number << bucket_shift<KEY>(split)), split.coarse_bits + split.fine_bits,
                                               place_bits(SHAPE::ITEMS));
    sort_placed<SHAPE>(job, bucket, placed, keys, s_memory, s_sums);
}

/* One CTA a bucket; or, SOME, as many as run at once, which are fewer, as what is kept from bucket to bucket would spill registers. Dynamic
 * shared memory: the shape's, then the values. */
template <typename KEY, typename SHAPE, bool SOME>
__global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::CTAS_PER_SM - SOME)
    stable_buckets(const __grid_constant__ struct sort_job job, const __grid_constant__ struct split_job split) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ uint32_t s_sums[32];
    wait_for_predecessor();
    if (split.header->outcome != ALL_FIT) return;
    for (uint32_t number = blockIdx.x; number < 1u << (split.coarse_bits + split.fine_bits); number += gridDim.x) {
        sort_stable_bucket<KEY, SHAPE>(job, split, number, s_memory, s_sums);
        if (!SOME) return;
        __syncthreads(); /* nobody needs the shared memory any more */
    }
}

#endif
