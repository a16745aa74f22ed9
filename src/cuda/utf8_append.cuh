/* utf8_append.cuh: bytes that the lanes of a warp make, side by side in shared memory, a word at a time.
 *
 *     word     | . . . . | . . . . | . . . . |            a lane's run of bytes begins and ends anywhere
 *     bytes      A A A B   B B B B   B C C C              lane B owns the words that begin in its run, but leaves the bytes
 *                      ^head                              of its first, partial one, its head, to a second step
 *
 * A lane appends strings of up to four bytes. `tail` is the last four bytes of its run, so that one funnel shift of the tail and the new
 * string gives the word that they meet in, and another one the next tail. The word is stored each time, full or not: the next string
 * that lies in it too stores it anew. What a string has beyond its length does no harm for the same reason. The word in which a run begins
 * is kept back; in the end lanes hand their tails to the next lane, which stores it.
 *
 * Every lane's run has at least four bytes, so that no word belongs to three of them. Cost: 7 operations a string. */
#ifndef UPSWEEP_CUDA_UTF8_APPEND_CUH
#define UPSWEEP_CUDA_UTF8_APPEND_CUH

#include "async.cuh"
#include "block.cuh"

static __device__ __forceinline__ void store_shared(unsigned at, uint32_t word) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(word) : "memory");
}

struct Utf8Appender {
    unsigned at;    /* address in shared memory of the next byte */
    unsigned start; /* of the first one */
    uint32_t tail;  /* the last four bytes, the last one highest */
    uint32_t head;  /* the word that the first one lies in, without what is before it */

    __device__ __forceinline__ explicit Utf8Appender(unsigned address) : at(address), start(address), tail(0), head(0) {}

    /* The word that holds byte `at`, if the tail is followed by `next`. */
    __device__ __forceinline__ uint32_t joined(uint32_t next) const { return __funnelshift_l(tail, next, at * 8); }

    /* before: the run has at least so many bytes by now, a constant after unrolling. */
    __device__ __forceinline__ void put(uint32_t word, int before) {
        const unsigned place = at & ~3u;
        if (before >= 4 || (before > 0 && place > start))
            store_shared(place, word);
        else
            head = word;
    }

    /* A string of up to four bytes, the first one lowest. */
    __device__ __forceinline__ void append(uint32_t string, unsigned nbytes, int before) {
        put(joined(string), before);
        tail = __funnelshift_rc(tail, string, nbytes * 8);
        at += nbytes;
    }

    /* One of two to six. near_end: less than four bytes may come after it. Before that, a word more is stored than it may reach: there will
     * be bytes for it, and then that word is the next lane's head at most. */
    __device__ __forceinline__ void append_long(uint32_t string, uint32_t more, unsigned nbytes, int before, bool near_end) {
        const unsigned next = (at & ~3u) + 4;
        put(joined(string), before);
        if (!near_end || at + nbytes > next) store_shared(next, __funnelshift_l(string, more, at * 8));
        const uint32_t short_tail = __funnelshift_rc(tail, string, nbytes * 8);
        tail = nbytes > 4 ? __funnelshift_r(string, more, nbytes * 8) : short_tail;
        at += nbytes;
    }

    /* By all lanes, when all have appended: before: the tail of the lane before this one. */
    __device__ __forceinline__ void close(uint32_t before) const {
        store_shared(start & ~3u, head | __funnelshift_l(before, 0, start * 8));
    }

    /* By the last lane: what nobody comes behind. */
    __device__ __forceinline__ void close_last() const {
        if (at % 4 != 0) store_shared(at & ~3u, __funnelshift_l(tail, 0, at * 8));
    }
};

#endif
