/* tuning.h: the shapes of the scan and compaction kernels, in one place, and from which size on which of them runs.
 *
 * ---- short inputs and the look-back pass (NVIDIA H200, CUDA 13.0, 2026-11-21) ----
 *
 * A tile is THREADS * ROWS vectors of 16 bytes. More rows: fewer tiles, so less waiting for the exchange words, but more registers and so
 * fewer CTAs a multiprocessor to hide that wait behind; and short inputs fill fewer multiprocessors. docs/log/short.md has what was tried.
 */
#ifndef UPSWEEP_CUDA_TUNING_H
#define UPSWEEP_CUDA_TUNING_H

#include <stddef.h>
#include <stdint.h>

template <int N_THREADS, int N_ROWS, int N_CTAS> struct TileShape {
    enum { THREADS = N_THREADS, ROWS = N_ROWS, CTAS = N_CTAS /* a multiprocessor: caps the registers of a thread */ };
    enum { NBYTES = THREADS * ROWS * 16 };
};

typedef TileShape<256, 1, 1> TinyShape;  /* one CTA, up to 4 KiB */
typedef TileShape<512, 1, 1> ShortShape; /* one CTA, up to 8 KiB */
typedef TileShape<256, 4, 4> MidShape;   /* look-back, as long as all tiles run at once: on an H200 up to 8 MiB */
typedef TileShape<256, 8, 3> LargeShape; /* look-back, above: at once up to 12 MiB */
typedef TileShape<256, 6, 4> WideShape;  /* scans, where two a multiprocessor suffice, but not two of MidShape: 4.1 to 6.2 MiB */

/* Bytes are short of instructions, not of loads in flight: fewer of them a thread. */
typedef TileShape<256, 2, 6> ByteShape; /* instead of MidShape, in scans */

/* One thread block cluster of up to 16 CTAs, each warp or each CTA with a cell (cluster.cuh). */
typedef TileShape<128, 2, 1> ClusterShape;      /* up to 64 KiB */
typedef TileShape<256, 2, 1> ClusterMidShape;   /* up to 128 KiB */
typedef TileShape<256, 4, 1> ClusterLongShape;  /* up to 256 KiB */
typedef TileShape<512, 4, 1> ClusterLargeShape; /* up to 512 KiB: scans, and compactions that are not of bytes */

enum { MAX_STATIC_NBYTES = 46 << 10 }; /* shared memory that a kernel has without asking, less what a pass takes for itself */

/* Partitions whose tiles all run at once: with one CTA a multiprocessor the smallest tiles that suffice are the fastest (docs/ring.md). The
 * first two never have more, so they need not save registers. */
typedef TileShape<256, 1, 1> SplitByteShape;
typedef TileShape<256, 2, 1> SplitShape;
typedef TileShape<512, 4, 2> SplitLargeShape;

/* Are there so many multiprocessors that each has at most so many tiles? */
template <class Shape, int TILES = 1> static inline bool has_sm_each(uint64_t nbytes, int nsms) {
    return nbytes <= (uint64_t)nsms * TILES * Shape::NBYTES;
}

template <class Shape> static inline bool runs_at_once(uint64_t nbytes, int nsms) {
    return nbytes <= (uint64_t)nsms * Shape::CTAS * Shape::NBYTES;
}

enum {
    COUNT_THREADS = 256, /* with nothing to wait for: enough loads in flight, that is all */
    COUNT_ROWS = 4,
    COUNT_CTAS = 8,
    RING_COUNT_ROWS = 8, /* by the finishers of a ring, which are fewer */
};

/* UTF-8. Decoding needs little input for much output, so many small CTAs; THREADS * ROWS * 28 bytes a tile. Short texts: as many CTAs as
 * there can be, each with as few steps after one another as there can be: one row a warp. */
typedef TileShape<256, 1, 4> Utf8ShortShape; /* one CTA, one cluster, or look-back as long as all tiles run at once */
typedef TileShape<128, 4, 7> Utf8DecodeShape;
template <int UNIT> struct Utf8EncodeShape : TileShape<256, 2 * UNIT, 3> {}; /* vectors of UTF-16 become up to 25 bytes, not 16 */

/* Counting: words of a strand that a lane looks at. What is on its way waits in registers, so that few warps that have many of them are
 * faster than many: 2^28 bytes of Chinese, H200, words x warps x CTAs: 4x8x2 66 us, 2x8x3 67, 2x8x4 84, 4x4x5 85. */
template <int N_WORDS, int N_WARPS, int N_CTAS> struct Utf8CountShape {
    enum { WORDS = N_WORDS, WARPS = N_WARPS, CTAS = N_CTAS };
};
typedef Utf8CountShape<1, 8, 2> Utf8CountShortShape;
typedef Utf8CountShape<4, 8, 2> Utf8CountLongShape;

enum { UTF8_COUNT_SHORT_NBYTES = 4 << 20 }; /* 2^20 bytes of Chinese, H200: 6.5 us for 7.4; 2^22 7.4 for 7.6; 2^26 24.8 for 22.3 */

/* Flagged records that are no elements: a tile is counted in flags, 16 a lane for records of up to RECORD_MEDIUM_NBYTES, or else 2. A CTA
 * should not have to move more than a few 100 KB, and all multiprocessors should have some: with fewer than so many tiles of 2 a lane,
 * those. */
typedef TileShape<256, 1, 3> RecordShape;
enum { RECORD_MEDIUM_NBYTES = 32, RECORD_SPREAD_TILES = 512, RECORDS_SMALL_NBYTES = 16 << 10 /* all of them, by one CTA */ };

/* ---- the ring pass (NVIDIA H200, CUDA 13.0, 2026-11-21) ----
 *
 * REDUCERS and FINISHERS are warps; a tile is FINISHERS * ROWS * 512 bytes, and STAGES tiles are in flight: what matters most is that
 * they fill the 227 KiB of shared memory. docs/log/ring.md has the shapes that were tried. */
enum { RING_SHARED_NBYTES = 227 << 10 }; /* what a CTA can have on sm_90 and sm_100 */

/* Tiles of a CTA that are on their way at a time. Compaction of 64 MiB of u32, half kept: all slots 37.8 us, 4 36.3, 3 36.1, 2 33.9. */
enum { RING_LOADS = 2 };

template <int ELEM_NBYTES> struct RingScanShape {
    enum { REDUCERS = 4, FINISHERS = 8, ROWS = 8, STAGES = 6 };
};
template <> struct RingScanShape<1> {
    enum { REDUCERS = 4, FINISHERS = 16, ROWS = 4, STAGES = 6 };
}; /* more warps: it is short of issue slots */
template <> struct RingScanShape<4> {
    enum { REDUCERS = 4, FINISHERS = 8, ROWS = 9, STAGES = 6 };
};
template <> struct RingScanShape<8> {
    enum { REDUCERS = 4, FINISHERS = 8, ROWS = 7, STAGES = 8 };
};

/* Finishers pack, two teams of them in turn. A tile waits LAG tiles for its prefix in its slot, each team has one in hand, and two are
 * under way; with less left for these, up to 15 % more time. ROWS are odd here (ring_kept.cuh). With flags, each element brings a byte
 * along. */
template <int N_FINISHERS, int N_ROWS> struct RingPackShape {
    static constexpr unsigned REDUCERS = 1, FINISHERS = N_FINISHERS, ROWS = N_ROWS, STAGES = 8, TEAMS = 2, LAG = STAGES - TEAMS - 2;
};
template <int ELEM_NBYTES, bool FLAGS> struct RingCompactShape : RingPackShape<8, 7> {};
template <> struct RingCompactShape<1, true> : RingPackShape<9, 3> {};
template <> struct RingCompactShape<2, true> : RingPackShape<7, 5> {};
template <> struct RingCompactShape<4, true> : RingPackShape<8, 5> {};
template <> struct RingCompactShape<8, true> : RingPackShape<10, 5> {};
template <> struct RingCompactShape<16, true> : RingPackShape<10, 5> {};

/* As many reducers as chunks: what they count is waited for by all CTAs. */
template <int ELEM_NBYTES> struct RingIndicesShape {
    enum { REDUCERS = 12, FINISHERS = 12, ROWS = 4, STAGES = 8 };
};
template <> struct RingIndicesShape<2> {
    enum { REDUCERS = 14, FINISHERS = 14, ROWS = 4, STAGES = 7 };
};

/* A partition to one array turns its shorter side round if that is at most so many eighths of all (2^27 u64: 30 % of them 742 us, 40 % 794;
 * counting first takes 782). */
enum { RING_TURN_EIGHTHS = 3, RING_TURN_MIN_NBYTES = 36 << 20 /* shorter ones are read from the L2 cache the second time */ };

/* Encoding, by the bytes of a code unit: chunks of 2 KiB, which become up to 3 and 2. As many finishers for each of the four schedulers of
 * a multiprocessor: with one more, the others wait for the one that has it (mix from UTF-16, 2^28 bytes, H200: 16 267 us, 17 283). */
template <int UNIT> struct RingUtf8EncodeShape { static constexpr unsigned FINISHERS = 20, SLOTS = 2, WORK_NBYTES = 7456; };
template <> struct RingUtf8EncodeShape<2> { static constexpr unsigned FINISHERS = 16, SLOTS = 2, WORK_NBYTES = 10320; };

/* By the bytes of a code unit of the output: rows of 896 bytes, and QUADS: room for the characters of a chunk; more are stored in two goes.
 * Finishers give slots back early, so there is one less than STAGES.
 * UTF-32 writes up to four bytes for a byte read, and wants tiles in flight, and a reducer for each finisher: text with errors keeps them
 * busy longest (2^28 bytes, 1 % bad, H200: 7 reducers and 14 finishers 238 us, 14 and 14 223, 15 and 15 213). UTF-16 is short of issue
 * slots, and wants finishers. */
template <int UNIT_NBYTES> struct RingUtf8DecodeShape {
    static constexpr unsigned REDUCERS = 15, FINISHERS = 15, ROWS = 2, STAGES = 6, SLOTS = 5, QUADS = 968;
};
template <> struct RingUtf8DecodeShape<2> {
    static constexpr unsigned REDUCERS = 8, FINISHERS = 16, ROWS = 2, STAGES = 5, SLOTS = 4, QUADS = 1216;
};

/* Cleaning: rows of 896 bytes, too. What counts is how many bytes are under way: in slots, and in finishers' own memory (2^28 bytes of
 * ASCII, H200: 4 slots 163 us, 5 149). */
struct RingUtf8CleanShape {
    static constexpr unsigned REDUCERS = 8, FINISHERS = 16, ROWS = 2, STAGES = 6, SLOTS = 5;
};

/* Bytes of input from which on the ring pass is the faster one, by the size of an element (graph replays; three sizes between powers of
 * two). */
static inline uint64_t ring_scan_min_nbytes(size_t elem_nbytes) {
    /* As long as all tiles of MidShape, or ByteShape, run at once on an H200. From there on, sums of bytes take 0.9 to 1.05 of the time of
     * the look-back pass, minima and logic half of it. */
    if (elem_nbytes == 8) return 33ull << 18;
    return elem_nbytes == 1 ? 25ull << 18 : 8ull << 20;
}

/* unit: what elements or records are moved by. Short records are no elements: the look-back pass would fetch them singly. */
static inline uint64_t ring_compact_min_nbytes(size_t unit_nbytes, size_t elem_nbytes, bool flagged, bool indices) {
    if (unit_nbytes > 8) return 32ull << 20;
    if (unit_nbytes != elem_nbytes) return (unit_nbytes == 4 ? 2ull : 1ull) << 20;
    if (unit_nbytes <= 2 && flagged) return 5ull << 18;
    if (unit_nbytes == 8 || indices) return 33ull << 17;
    return unit_nbytes == 1 ? 3ull << 19 : 5ull << 19;
}
/* Partitions. waits: the second side goes behind the first. 2.1 MiB: up to there a multiprocessor of an H200 has one tile of MidShape; 4.1
 * and 8.3: one or two of SplitLargeShape. */
static inline uint64_t ring_split_min_nbytes(size_t unit_nbytes, bool flagged, bool waits) {
    if (unit_nbytes == 1) return 33ull << 16;
    return unit_nbytes == 8 && flagged && waits ? 33ull << 18 : 33ull << 17;
}
enum { RING_MAX_RECORD_NBYTES = 128 }; /* of longer ones, fetching only those that are kept saves more than streaming gains */
/* Text: unless tiles of Utf8ShortShape run at once, on an H200 up to 3.6 MiB to decode, 3 to clean, 2 to encode. */
enum { RING_UTF8_DECODE_MIN_NBYTES = 2 << 20 };
static inline uint64_t ring_utf8_encode_min_nbytes(size_t unit_nbytes) { return (unit_nbytes == 4 ? 1ull : 4ull) << 19; }

#endif
