/* ring_compact_bytes.cuh: elements of one byte packed by words.
 *
 *   a lane's bytes       a b c d | e f g h | ...       vectors side by side, word after word
 *   kept                 1 0 1 1   0 0 1 0             four bits name a case: which bytes of a word, and how many, a shuffle away
 *   the word packed      a c d     g
 *   the lane's stream    . . a c | d g . .             written a whole word at a time
 *
 * Byte by byte, each one kept costs an address and a store of its own, and instructions are what bounds this kernel: four a byte. Here a
 * word costs ten: its case, two shifts of the stream by the place in a word and by what is added, and a store if a word has become full. In
 * a partition those left out are a second stream, of the opposite cases.
 *
 * A word may hold bytes of several lanes. It is written by the lane that fills it, with anything in the places of those before; then they
 * put their last bytes, at most three each, in their places. */
#ifndef UPSWEEP_RING_COMPACT_BYTES_CUH
#define UPSWEEP_RING_COMPACT_BYTES_CUH

#include "async.cuh"
#include "warp.cuh"

/* What is to be done with a word of which `bits` names the bytes that are kept: a selector of bytes for prmt, which takes 16 bits, and
 * above it 8 times their number. */
static __device__ __forceinline__ uint32_t word_case(unsigned bits) {
    uint32_t selector = 0;
    unsigned n = 0;
#pragma unroll
    for (unsigned i = 0; i < 4; i++)
        if (bits >> i & 1) selector |= i << 4 * n++;
    return 8 * n << 16 | selector;
}

/* The kept bytes of a lane on their way to its place. In PTX: in C++ the selector is masked once more, and the address copied. */
struct RingByteStream {
    unsigned s_word; /* where the next one goes: the word, */
    unsigned at;     /* and the bit in it, plus a multiple of 32 */
    uint32_t last;   /* the last four, the latest one highest */

    __device__ __forceinline__ RingByteStream(const unsigned char *chunk, unsigned begin)
        : s_word(shared_address(chunk) + (begin & ~3u)), at(begin * 8), last(0) {}

    __device__ __forceinline__ void add(uint32_t word, uint32_t how, uint32_t nbits) {
        const uint32_t next = at + nbits;
        uint32_t packed;
        asm("prmt.b32 %0, %1, 0, %2;" : "=r"(packed) : "r"(word), "r"(how));
        const uint32_t full = __funnelshift_l(last, packed, at); /* the word, if it has become full: (at ^ next) & 32 */
        asm volatile("{\n"
                     ".reg .pred p, no;\n"
                     ".reg .u32 fills;\n"
                     "setp.ne.u32 no, 0, 0;\n"
                     "lop3.or.b32 fills|p, %2, %3, 32, 0x28, no;\n"
                     "@p st.shared.u32 [%0], %1;\n"
                     "@p add.u32 %0, %0, 4;\n"
                     "}"
                     : "+r"(s_word)
                     : "r"(full), "r"(at), "r"(next)
                     : "memory");
        last = __funnelshift_rc(last, packed, nbits);
        at = next;
    }

    /* When all lanes have filled their words: the bytes in words that others have filled, or nobody. At most as many as there are from
     * byte `begin` on. */
    __device__ __forceinline__ void put_last(unsigned char *chunk, unsigned begin) const {
        const unsigned end = at / 8, n = min(end - begin, end & 3);
#pragma unroll
        for (unsigned i = 1; i <= 3; i++)
            if (i <= n) chunk[end - i] = (unsigned char)(last >> (32 - 8 * i));
    }
};

/* By a warp: a bit of `kept` a byte of `data`, ROWS_A_WORD vectors of it a word. Kept ones go to bytes kept_at.. of the chunk, and if SPLIT
 * the others to rejected_at.. */
template <bool SPLIT, unsigned ROWS, unsigned KEPT_WORDS>
static __device__ __forceinline__ void pack_bytes(unsigned char *chunk, const uint4 (&data)[ROWS], const uint32_t (&kept)[KEPT_WORDS],
                                                  unsigned kept_at, unsigned rejected_at, int lane) {
    const uint32_t how = word_case((unsigned)lane % 16), how_rejected = word_case(~(unsigned)lane % 16);
    RingByteStream stream(chunk, kept_at), rejected(chunk, rejected_at);
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++) {
        const uint32_t words[4] = {data[r].x, data[r].y, data[r].z, data[r].w};
#pragma unroll
        for (unsigned w = 0; w < 4; w++) {
            const int bits = (int)(kept[r / 2] >> (r % 2 * 16 + w * 4)); /* the shuffles look at four of them */
            const uint32_t mine = __shfl_sync(ALL_LANES, how, bits, 16), nbits = mine >> 16;
            stream.add(words[w], mine, nbits);
            if (SPLIT) rejected.add(words[w], __shfl_sync(ALL_LANES, how_rejected, bits, 16), 32 - nbits);
        }
    }
    __syncwarp(); /* all words are written: now the bytes that other lanes have in them */
    stream.put_last(chunk, kept_at);
    if (SPLIT) rejected.put_last(chunk, rejected_at);
}

#endif
