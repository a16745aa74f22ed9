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
 * Every lane's run has at least four bytes, so that no word belongs to three of them. Cost: 6 operations a string, three or four of which
 * are the integer unit's. */
#ifndef UPSWEEP_CUDA_UTF8_APPEND_CUH
#define UPSWEEP_CUDA_UTF8_APPEND_CUH

#include "async.cuh"
#include "utf8_rules.cuh"

static __device__ __forceinline__ void store_shared(unsigned at, uint32_t word) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(word) : "memory");
}

/* How a word's address is found: by the integer unit alone, or with help of the multiply-add unit, whichever has less to do. */
enum Utf8PlaceBy { BY_MASK, BY_MULTIPLY_ADD };

/* SOME_EMPTY: strings may be empty. Places are counted in bits, as funnel shifts want them. */
template <bool SOME_EMPTY> struct Utf8Appender {
    unsigned at;    /* 8 times the address in shared memory of the next byte */
    unsigned start; /* of the first one: not 8 times */
    uint32_t tail;  /* the last four bytes, the last one highest */
    uint32_t head;  /* the word that the first one lies in, without what is before it */

    __device__ __forceinline__ explicit Utf8Appender(unsigned address) : at(address * 8), start(address), tail(0), head(0) {}

    /* A string of up to 32 bits, whole bytes, the first one lowest. before: if no string is empty, at least so many bytes are before it; 0
     * for the first one. A constant after unrolling. */
    __device__ __forceinline__ void append(uint32_t string, unsigned nbits, int before, Utf8PlaceBy by, uint32_t one) {
        const unsigned place = by == BY_MASK ? (at >> 3) & ~3u : multiply_add(at >> 5, 4 * one, 0);
        const uint32_t word = __funnelshift_l(tail, string, at); /* what lies there, if the tail is followed by the string */
        const bool is_head = before == 0 || ((SOME_EMPTY || before < 4) && place <= start);
        if (is_head)
            head = word;
        else if (!SOME_EMPTY || nbits > 0) /* there may be nothing of this run there, and nothing to come */
            store_shared(place, word);
        tail = __funnelshift_rc(tail, string, nbits);
        at = multiply_add(nbits, one, at);
    }

    /* By all lanes, when all have appended: before: the tail of the lane before this one. */
    __device__ __forceinline__ void close(uint32_t before) const {
        store_shared(start & ~3u, head | __funnelshift_l(before, 0, start * 8));
    }

    /* By the last lane: what nobody comes behind. */
    __device__ __forceinline__ void close_last() const {
        if (at % 32 != 0) store_shared((at >> 3) & ~3u, __funnelshift_l(tail, 0, at));
    }
};

#endif
