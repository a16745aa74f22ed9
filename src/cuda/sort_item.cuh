/* sort_item.cuh: what a split moves for a key (sort_split.cuh), and how that becomes the key again: its image; or, where equal keys must
 * keep their order, 64 bits of a 32-bit key's image and its index:
 *
 *     item     | the bits to sort by | index | zeroes | the image's other bits |
 *
 * The image is turned first, so that the bits to sort by are at its top; if these are all, nothing stands below the index. No two items are
 * equal, whatever the keys, so sorting them in any way is stable; and they are spread by their indices if few bits are to be sorted by. */
#ifndef UPSWEEP_CUDA_SORT_ITEM_CUH
#define UPSWEEP_CUDA_SORT_ITEM_CUH

#include "sort_split.cuh"

/* Of a key that is sorted by all its bits. The index is as far up as it goes, so that items of equal keys are spread. */
template <typename ITEM, typename KEY> static __device__ __forceinline__ ITEM make_item(KEY image, uint32_t index, uint32_t index_shift) {
    if constexpr (sizeof(ITEM) == sizeof(KEY))
        return image;
    else
        return (ITEM)image << 32 | index << index_shift;
}

/* Asks for n keys or items to be in L2 soon, but for what does not fill 16 bytes; before sm_90, for nothing. By one thread, while memory
 * would be idle. */
template <typename T> static __device__ __forceinline__ void prefetch_items(const T *from, uint32_t n) {
#if __CUDA_ARCH__ >= 900
    const uintptr_t aligned = (uintptr_t)from & ~(uintptr_t)15;
    const uint32_t nbytes = n * (uint32_t)sizeof(T) & ~15u;
    if (nbytes > 0) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(aligned), "r"(nbytes) : "memory");
#endif
}

/* Constants of one sort. */
template <typename KEY, typename ITEM> struct item_order {
    static constexpr bool INDEXED = sizeof(ITEM) > sizeof(KEY);
    struct key_order<KEY> order;
    struct item_bits bits;

    __device__ __forceinline__ explicit item_order(const struct split_job &job) : order(job), bits(job.bits) {}

    /* Makes images of rows of keys, of which every 32nd is a thread's, and the upper halves of their items, or the items. index: of the
     * first. Most sorts are by all bits, and go without the second loop. */
    template <int ROWS> __device__ __forceinline__ void make_heads(KEY (&heads)[ROWS], KEY (&keys)[ROWS], uint32_t index) const {
#pragma unroll
        for (int row = 0; row < ROWS; row++) heads[row] = keys[row] = order.image(keys[row]);
        if constexpr (INDEXED) {
            if (bits.sorted_by == ~0u) return;
#pragma unroll
            for (int row = 0; row < ROWS; row++) {
                keys[row] = __funnelshift_l(keys[row], keys[row], bits.turn);
                heads[row] = (keys[row] & bits.sorted_by) | (uint32_t)((ITEM)(index + row * 32) << bits.index_shift >> 32);
            }
        }
    }

    __device__ __forceinline__ ITEM item_of(KEY head, KEY image, uint32_t index) const {
        if constexpr (INDEXED)
            return (ITEM)head << 32 | (uint32_t)((ITEM)index << bits.index_shift) | (image & ~bits.sorted_by);
        else
            return head;
    }

    __device__ __forceinline__ KEY key_of(ITEM item) const {
        if constexpr (INDEXED) {
            const uint32_t image = ((uint32_t)(item >> 32) & bits.sorted_by) | ((uint32_t)item & ~bits.sorted_by);
            return order.key_of_image(__funnelshift_r(image, image, bits.turn));
        } else {
            return order.key_of_image(item);
        }
    }

    __device__ __forceinline__ uint32_t index_of(ITEM item) const { return (uint32_t)(item >> bits.index_shift) & bits.index_mask; }
};

/* Writes an item where a partition has it: whole, or perhaps in halves. */
template <bool HALVES, typename ITEM>
static __device__ __forceinline__ void put_item(const struct split_job &job, ITEM *dst, uint32_t place, ITEM item) {
    if (HALVES && sizeof(ITEM) == 8 && !dst) {
        job.high[place] = (uint32_t)((uint64_t)item >> 32);
        job.low[place] = (uint32_t)item;
    } else {
        dst[place] = item;
    }
}

/* An item, from where the last partition has put it. */
template <typename ITEM> static __device__ __forceinline__ ITEM get_item(const struct split_job &job, const ITEM *src, uint32_t place) {
    if (sizeof(ITEM) == 8 && !src) return (ITEM)((uint64_t)job.high[place] << 32 | job.low[place]);
    return src[place];
}

#endif
