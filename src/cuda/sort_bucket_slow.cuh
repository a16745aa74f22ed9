/* sort_bucket_slow.cuh: what sorts a bucket whose bins are not for sort_bucket.cuh, whatever its items are: stable passes of eight bits, or
 * merging, in shared memory.
 *
 * Cost: items read once, results written once, and far longer chains of dependent steps than by bins. */
#ifndef UPSWEEP_CUDA_SORT_BUCKET_SLOW_CUH
#define UPSWEEP_CUDA_SORT_BUCKET_SLOW_CUH

#include "sort_bucket.cuh"
#include "sort_merge.cuh"

/* Writes the value, or the index, of one item: a call, since all sizes of values in every row would be most of the kernel. */
static __device__ __noinline__ void put_value_of(const struct split_job &job, uint64_t place, uint32_t index) {
    put_value_at(job, (char *)job.values_out + place * job.value_nbytes, (const char *)job.values, index);
}

/* Writes what an item stands for. */
template <typename KEY, typename ITEM>
static __device__ __forceinline__ void put_result(const struct split_job &job, const struct item_order<KEY, ITEM> &order, uint64_t place,
                                                  ITEM item) {
    if (order.INDEXED && job.values_out) put_value_of(job, place, order.index_of(item));
    if (!order.INDEXED || job.out) ((KEY *)job.out)[place] = order.key_of(item);
}

/* An item of a bucket. */
template <typename KEY, typename ITEM>
static __device__ __forceinline__ ITEM get_image(const struct split_job &job, const struct found_bucket<ITEM> &found, uint32_t place) {
    const ITEM item = get_item(job, found.src, found.from + place);
    if constexpr (sizeof(ITEM) == sizeof(KEY)) return found.keys ? key_order<KEY>(job).image(item) : item;
    return item;
}

/* A bucket of n keys alone from src on, whose bins are deep, without the bits that its keys share; false if these are not what makes bins
 * deep, which an item of each thread most often tells. start: where they go in the output. A call, as it is rarely needed. All threads call
 * it. */
template <typename KEY, typename SHAPE>
static __device__ __noinline__ bool sort_closed_bucket(const struct split_job &job, const KEY *src, uint32_t n, uint32_t start,
                                                       unsigned char *s_memory, struct bucket_desk<KEY> &s) {
    const uint64_t varying = or_of_threads((KEY)(src[min(threadIdx.x, n - 1)] ^ src[0]), *(uint64_t(*)[32])s_memory);
    __syncthreads(); /* nobody needs the shared memory any more */
    if (count_bits(varying) > SHAPE::BIN_BITS + BUCKET_MORE_BITS) return false;
    const struct found_bucket<KEY> found = { src, 0, n, start };
    return sort_bucket<KEY, KEY, SHAPE, false, false, true>(job, found, s_memory, s);
}

/* Stable passes over those digits from lo_bit to hi_bit that have some of these bits, of n items in registers (sort_cta.cuh). All threads
 * call it, when nobody needs the memory. */
template <typename SHAPE, typename T>
static __device__ __forceinline__ void reorder_by_digits(T (&items)[SHAPE::ROWS], struct team_items<false> which, uint32_t start,
                                                         uint32_t n, const struct cta_memory<T> &memory, T bits, uint32_t lo_bit,
                                                         uint32_t hi_bit) {
#pragma unroll 1
    for (uint32_t shift = lo_bit; shift < hi_bit; shift += SORT_DIGIT_BITS) {
        if (bits >> shift & (SORT_DIGITS - 1))
            reorder_by_digit<SHAPE::THREADS / SORT_TEAM>(items, which, start, n, memory, shift, SORT_DIGITS - 1);
    }
}

/* Any bucket: stable passes over the bits that its items do not share. All threads call it. */
template <typename KEY, typename ITEM, typename SHAPE>
static __device__ __noinline__ void sort_bucket_stably(const struct split_job &job, const struct found_bucket<ITEM> &found,
                                                       unsigned char *s_memory, struct bucket_desk<ITEM> &s) {
    const uint32_t n = found.n, rows = (n + SHAPE::THREADS - 1) / SHAPE::THREADS, start = first_of_thread(rows);
    const struct team_items<false> which = items_of_team<false>(rows, n);
    const struct cta_memory<ITEM> memory = { (uint32_t *)s_memory, s.sums, (ITEM *)s_memory };
    const ITEM least = found.bounded ? found.least : (ITEM)0;
    ITEM items[SHAPE::ROWS];
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++)
        items[row] = which.has(row) ? (ITEM)(get_image<KEY>(job, found, start + row * SORT_TEAM) - least) : (ITEM)0;
    s.add_before(items_before(job, found));
    __syncthreads();                              /* all items are in registers, so that the bucket may be overwritten */
    const uint32_t lo_bit = job.bits.index_shift; /* what is below an index is not looked at */
    reorder_by_digits<SHAPE>(items, which, start, n, memory, (ITEM) ~(ITEM)0, lo_bit, (uint32_t)sizeof(ITEM) * 8 - found.bits);
    const struct item_order<KEY, ITEM> order(job);
    const uint64_t first = (uint64_t)s.start(SHAPE::WARPS) + start;
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) {
        if (which.has(row)) put_result(job, order, first + row * SORT_TEAM, (ITEM)(items[row] + least));
    }
}

/* n items in shared memory that has room for one more, by merging (sort_merge.cuh). start: where they go in the output. All threads call
 * it.
 */
template <typename KEY, typename ITEM, typename SHAPE>
static __device__ __forceinline__ void merge_items(const struct split_job &job, const ITEM *src, uint32_t from, uint32_t n,
                                                   uint32_t start) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    ITEM *s_items = (ITEM *)s_memory;
    const uint32_t mine = threadIdx.x * SHAPE::ROWS;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < n; i += SHAPE::THREADS) s_items[i] = get_item(job, src, from + i);
    __syncthreads(); /* all items */
    ITEM items[SHAPE::ROWS];
#pragma unroll
    for (int k = 0; k < SHAPE::ROWS; k++) items[k] = mine + k < n ? s_items[mine + k] : (ITEM) ~(ITEM)0;
    __syncthreads(); /* all are in registers */
    merge_sort(items, s_items, n);
#pragma unroll
    for (int k = 0; k < SHAPE::ROWS; k++) {
        if (mine + k < n) s_items[mine + k] = items[k];
    }
    __syncthreads(); /* all is in order */
    const struct item_order<KEY, ITEM> order(job);
    for (uint32_t i = threadIdx.x; i < n; i += SHAPE::THREADS) put_result(job, order, (uint64_t)start + i, s_items[i]);
}

/* A bucket of a split in one launch: quicker so where it is few items, or many digits. It goes to the same places of the output. */
template <typename KEY, typename ITEM, typename SHAPE>
static __device__ __noinline__ void merge_bucket(const struct split_job &job, uint32_t start, uint32_t n) {
    merge_items<KEY, ITEM, SHAPE>(job, (const ITEM *)job.tmp, start, n, start);
}

/* Any other that is not in a slot told by its number. */
template <typename KEY, typename ITEM, typename SHAPE>
static __device__ __noinline__ void merge_bucket(const struct split_job &job, const struct found_bucket<ITEM> &found) {
    merge_items<KEY, ITEM, SHAPE>(job, found.src, found.from, found.n, found.start);
}

#endif
