/* ring_queue.cuh: strings of bytes that a warp has made and not yet stored, first in, first out, in shared memory of its own.
 *
 *     | 0..7: places | second | third |          | first |    |        each with 16 bytes before it that may be read
 *                                     ^tail        ^head
 *
 * As long as the memory has room, the warp goes on: it has as many strings waiting for where they belong as they are short. */
#ifndef UPSWEEP_CUDA_RING_QUEUE_CUH
#define UPSWEEP_CUDA_RING_QUEUE_CUH

#include "block.cuh"

enum { RING_QUEUE_ENTRIES = 8, RING_QUEUE_BEFORE = 16, RING_QUEUE_FIRST = 4 * RING_QUEUE_ENTRIES };

/* NBYTES: of memory, a multiple of 16, as its address is. MOST: strings at a time. */
template <unsigned NBYTES, unsigned MOST> struct RingQueue {
    static_assert(MOST <= RING_QUEUE_ENTRIES, "");
    unsigned char *memory;
    unsigned head, tail;  /* of the oldest string, and behind the newest one */
    unsigned oldest, end; /* numbers, counted from the first on */

    __device__ __forceinline__ explicit RingQueue(unsigned char *s_memory) : memory(s_memory), head(0), tail(0), oldest(0), end(0) {}
    __device__ __forceinline__ bool is_empty() const { return oldest == end; }

    /* What a string, which begins at a multiple of 16, is: {place 16, bytes 16}. */
    __device__ __forceinline__ uint32_t &entry(unsigned number) const { return ((uint32_t *)memory)[number % RING_QUEUE_ENTRIES]; }

    /* By all lanes: makes room for a string of so many bytes, if there is enough. */
    __device__ __forceinline__ bool push(unsigned nbytes, int lane) {
        const unsigned need = (RING_QUEUE_BEFORE + nbytes + 15) / 16 * 16;
        unsigned at = tail;
        if (is_empty())
            at = head = RING_QUEUE_FIRST;
        else if (tail > head)
            at = tail + need <= NBYTES ? tail : RING_QUEUE_FIRST;
        if (end - oldest == MOST || at + need > (is_empty() || at > head ? NBYTES : head)) return false;
        if (lane == 0) entry(end) = (at + RING_QUEUE_BEFORE) << 16 | nbytes;
        tail = at + need;
        end++;
        return true;
    }

    /* Where the newest one goes. */
    __device__ __forceinline__ unsigned char *newest() const { return memory + (entry(end - 1) >> 16); }

    /* By all lanes, when they have read the oldest string. */
    __device__ __forceinline__ void pop() {
        oldest++;
        if (!is_empty()) head = (entry(oldest) >> 16) - RING_QUEUE_BEFORE;
    }
};

#endif
