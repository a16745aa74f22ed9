/* ring_queue.cuh: strings of bytes that a warp has made and not yet stored, first in, first out, in shared memory of its own.
 *
 *     | second | third |          | first |    |        each with 16 bytes before it that may be read
 *                      ^tail      ^head
 *
 * As long as the memory has room, the warp goes on: it has as many strings waiting for where they belong as they are short. Which string
 * lies where is known to one lane each, in a register: asking it takes no longer than asking shared memory, and nobody waits for what is
 * told. */
#ifndef UPSWEEP_CUDA_RING_QUEUE_CUH
#define UPSWEEP_CUDA_RING_QUEUE_CUH

#include "warp.cuh"

enum { RING_QUEUE_BEFORE = 16 };

/* NBYTES: of memory, a multiple of 16, as its address is. MOST: strings at a time. */
template <unsigned NBYTES, unsigned MOST> struct RingQueue {
    static_assert(MOST <= 32 && NBYTES < 1 << 16, "");
    enum : uint32_t { NOTHING = NBYTES << 16 }; /* as if the first string began at the memory's end: all of it is free */

    /* A string: {where its room begins 16, its bytes 16}. */
    unsigned char *memory;
    uint32_t mine, first; /* a string whose number is this lane's, modulo 32; the oldest one */
    unsigned tail;        /* behind the newest one */
    unsigned newest_at;
    unsigned oldest, end; /* numbers, counted from the first on */

    __device__ __forceinline__ explicit RingQueue(unsigned char *s_memory)
        : memory(s_memory), mine(0), first(NOTHING), tail(0), newest_at(0), oldest(0), end(0) {}
    __device__ __forceinline__ bool is_empty() const { return oldest == end; }

    /* By all lanes: makes room for a string of so many bytes, if there is enough, and for so many behind it that do not count. */
    __device__ __forceinline__ bool push(unsigned nbytes, unsigned behind, int lane) {
        const unsigned need = (RING_QUEUE_BEFORE + nbytes + behind + 15) / 16 * 16, head = first >> 16;
        const bool is_split = tail <= head;
        unsigned at = tail;
        if (at + need > (is_split ? head : NBYTES)) {
            if (is_split || need > head) return false;
            at = 0;
        }
        if (end - oldest == MOST) return false;
        const uint32_t string = at << 16 | nbytes;
        if ((unsigned)lane == end % 32) mine = string;
        if (is_empty()) first = string;
        newest_at = at;
        tail = at + need;
        end++;
        return true;
    }

    /* Where strings begin, at a multiple of 16. */
    __device__ __forceinline__ unsigned char *newest() const { return memory + newest_at + RING_QUEUE_BEFORE; }
    __device__ __forceinline__ unsigned char *oldest_string() const { return memory + (first >> 16) + RING_QUEUE_BEFORE; }
    __device__ __forceinline__ unsigned oldest_nbytes() const { return first & 0xFFFF; }

    /* By all lanes, when they have read the oldest string. */
    __device__ __forceinline__ void pop() {
        oldest++;
        first = __shfl_sync(ALL_LANES, mine, (int)oldest); /* modulo 32 */
        if (is_empty()) first = NOTHING, tail = 0;
    }
};

#endif
