/* ring_compact_bytes.cuh: compaction and partition of elements of one byte by the ring pass.
 *
 *   a lane's bytes       a b c d | e f g h | ...       ROWS vectors side by side, word after word
 *   notes                1 0 1 1   0 0 1 0             four bits name a case: which bytes of a word, and how many, a shuffle away
 *   the word packed      a c d     g
 *   the lane's stream    . . a c | d g . .             written to the slot a whole word at a time
 *
 * Byte by byte, each one kept costs an address and a store of its own, and instructions are what bounds this kernel: four a byte. Here a
 * word costs ten: its case, two shifts of the stream by the place in a word and by what is added, and a store if a word has become full. In
 * a partition those left out are a second stream, of the opposite cases.
 *
 * A word of the slot may hold bytes of several lanes. It is written by the lane that fills it, with anything in the places of those before;
 * then they put their last bytes, at most three each, in their places. A chunk's last word is filled by the warp of a later chunk, so what
 * it holds of this chunk waits beside the tile until all warps are done, and the sender puts it in place. */
#ifndef UPSWEEP_RING_COMPACT_BYTES_CUH
#define UPSWEEP_RING_COMPACT_BYTES_CUH

#include "ring_staged.cuh"

/* D: of ring_decide.cuh. SPLIT: partition: a stream for either side. */
template <class D, bool SPLIT, class S = RingBytesShape<D::FLAGS, SPLIT>> struct RingBytes : RingStaged<uint8_t, D, SPLIT, S, true> {
    typedef RingStaged<uint8_t, D, SPLIT, S, true> Base;
    typedef typename Base::Args Args;
    typedef typename Base::Runs Runs;
    typedef typename Base::Local Local;
    typedef RingTile<RingBytes> Tile;
    using Base::ROWS, Base::NOTE_WORDS, Base::ROWS_A_NOTE, Base::CHUNK_NBYTES, Base::LINE;
    static constexpr bool AT_HAND = D::FLAGS || SPLIT; /* by value, half kept, 2^28: 107 us, so 109 (H200) */
    static constexpr unsigned SIDES = SPLIT ? 2 : 1;
    static constexpr unsigned BESIDE_AT = Base::TILE_NBYTES + Base::LEAD_NBYTES, ROOM_NBYTES = Base::LEAD_NBYTES + LINE;
    static_assert(SIDES * S::FINISHERS * 4 <= LINE, "a word for each chunk and side");

    /* The last note has 16 bits to spare: for the number of kept ones before this lane, which the finisher would need some time to find. */
    static __device__ __forceinline__ uint32_t reduce(const Args &args, const uint4 *chunk, RingPlace place, uint32_t *note, int lane) {
        static_assert(ROWS % ROWS_A_NOTE == 1 && CHUNK_NBYTES < 1 << 16, "");
        uint32_t kept[NOTE_WORDS];
        const unsigned n = Base::decide(kept, args, chunk, place, lane);
        uint32_t after[1] = {n};
        warp_scan_rows<Add<uint32_t>>(after, lane);
        kept[NOTE_WORDS - 1] |= (after[0] - n) << 16;
#pragma unroll
        for (unsigned j = 0; j < NOTE_WORDS; j++) note[32 * j + lane] = kept[j];
        return __shfl_sync(ALL_LANES, after[0], 31);
    }

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

    /* The kept bytes of a lane on their way to the slot. In PTX: in C++ the selector is masked once more, and the address copied. */
    struct Stream {
        unsigned s_word; /* where the next one goes: the word, */
        unsigned at;     /* and the bit in it, plus a multiple of 32 */
        uint32_t last;   /* the last four, the latest one highest */

        __device__ __forceinline__ Stream(const unsigned char *slot, unsigned begin)
            : s_word(shared_address(slot) + (begin & ~3u)), at(begin * 8), last(0) {}

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
    };

    /* before: kept ones of the tile before this chunk. */
    static __device__ __forceinline__ void stage(const Args &args, unsigned char *slot, const Tile &tile, RingPlace place,
                                                 const uint32_t *note, const Local &local, unsigned before, int lane) {
        uint32_t kept[NOTE_WORDS];
#pragma unroll
        for (unsigned j = 0; j < NOTE_WORDS; j++) kept[j] = note[32 * j + lane];
        const Runs runs(args, tile, place.input_first);
        const unsigned nbefore = before + (kept[NOTE_WORDS - 1] >> 16), first = (unsigned)(place.first - tile.first);
        const unsigned begin = runs.kept_at + nbefore;
        const unsigned begin_rejected = SPLIT ? runs.rejected_from(first + (unsigned)lane * (ROWS * 16), nbefore) : 0;
        const uint32_t how = word_case((unsigned)lane % 16), how_rejected = word_case(~(unsigned)lane % 16);
        Stream stream(slot, begin), rejected(slot, begin_rejected);
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            const uint32_t words[4] = {local.data[r].x, local.data[r].y, local.data[r].z, local.data[r].w};
#pragma unroll
            for (unsigned w = 0; w < 4; w++) {
                const int bits = (int)(kept[r / ROWS_A_NOTE] >> (r % ROWS_A_NOTE * 16 + w * 4)); /* the shuffles look at four of them */
                const uint32_t mine = __shfl_sync(ALL_LANES, how, bits, 16), nbits = mine >> 16;
                stream.add(words[w], mine, nbits);
                if (SPLIT) rejected.add(words[w], __shfl_sync(ALL_LANES, how_rejected, bits, 16), 32 - nbits);
            }
        }
        __syncwarp(); /* all words are written that this warp fills: now the bytes that other lanes have in them */
        const unsigned chunk = first / CHUNK_NBYTES;
        finish_stream(slot, stream, begin, slot + BESIDE_AT + 4 * chunk);
        if (SPLIT) finish_stream(slot, rejected, begin_rejected, slot + BESIDE_AT + 4 * (S::FINISHERS + chunk));
    }

    /* What a lane's stream has left of a word that others fill; that of the chunk's last word to `beside`. */
    static __device__ __forceinline__ void finish_stream(unsigned char *slot, const Stream &stream, unsigned begin, unsigned char *beside) {
        const unsigned end = stream.at / 8, chunk_end = __shfl_sync(ALL_LANES, end, 31);
        unsigned char *const word = end / 4 == chunk_end / 4 ? beside : slot + (end & ~3u);
        put_last(word, stream.last, min(end - begin, end & 3), end & 3);
    }

    /* The n last bytes of a stream, n <= 3, to word[end - n .. end - 1]. */
    static __device__ __forceinline__ void put_last(unsigned char *word, uint32_t last, unsigned n, unsigned end) {
#pragma unroll
        for (unsigned i = 1; i <= 3; i++)
            if (i <= n) word[end - i] = (unsigned char)(last >> (32 - 8 * i));
    }

    /* By lane `chunk`: the chunk has bytes [begin, end) of the slot, and those of its last word lie beside the tile. */
    static __device__ __forceinline__ void put_beside(unsigned char *slot, unsigned begin, unsigned end, unsigned beside) {
        const unsigned n = min(end - begin, end & 3), first = (end & 3) - n;
        for (unsigned i = 0; i < n; i++) slot[end - n + i] = slot[BESIDE_AT + 4 * beside + first + i];
    }

    static __device__ __forceinline__ void send(const Args &args, unsigned char *slot, const Tile &tile, uint64_t input_first,
                                                uint64_t input_end, int lane) {
        const Runs runs(args, tile, input_first);
        const unsigned chunk = (unsigned)lane;
        if (chunk < S::FINISHERS) {
            const unsigned kept_before = tile.chunk[chunk], kept = chunk + 1 < S::FINISHERS ? tile.chunk[chunk + 1] : tile.aggregate;
            put_beside(slot, runs.kept_at + kept_before, runs.kept_at + kept, chunk);
            if (SPLIT)
                put_beside(slot, runs.rejected_from(chunk * CHUNK_NBYTES, kept_before),
                           runs.rejected_from((chunk + 1) * CHUNK_NBYTES, kept), S::FINISHERS + chunk);
        }
        fence_async_proxy(); /* these bytes, before the engine reads them */
        __syncwarp();
        Base::send_runs(runs, slot, tile, input_end, lane);
    }
};

#endif
