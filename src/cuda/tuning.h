/* tuning.h: the shapes of the scan and compaction kernels, in one place.
 *
 * ---- the look-back pass (NVIDIA H200, CUDA 13.0, 2026-11-21) ----
 *
 * A tile is THREADS * ROWS vectors of 16 bytes. More rows: fewer tiles, so less waiting for the exchange words, but more registers and so
 * fewer CTAs a multiprocessor to hide that wait behind. i32 scan and compaction (half kept) of 1 GiB, as parts of the speed of a copy, by
 * threads x rows x CTAs: 256x4x4 0.54, 0.45; 256x8x2 0.56, 0.46; 256x8x3 0.64, 0.53; 384x8x2 0.66, 0.47; 128x8x5 0.58, 0.48. */
#ifndef UPSWEEP_CUDA_TUNING_H
#define UPSWEEP_CUDA_TUNING_H

enum {
    SCAN_THREADS = 256,
    SCAN_ROWS = 8,
    SCAN_CTAS = 3, /* a multiprocessor: caps the registers of a thread at 80 */

    COMPACT_THREADS = 256,
    COMPACT_ROWS = 8,
    COMPACT_CTAS = 3,

    COUNT_THREADS = 256, /* with nothing to wait for: enough loads in flight, that is all */
    COUNT_ROWS = 4,
    COUNT_CTAS = 8,

    /* Tiles of records, by their size: elements a lane and row, and rows. A CTA should not have to move more than a few 100 KB. */
    RECORD_SMALL_NBYTES = 2,   /* 4 rows of 16 flags a lane */
    RECORD_MEDIUM_NBYTES = 32, /* 1 row of 16 */
                               /* above: 1 row of 2 */
};

/* UTF-8. Decoding needs little input for much output, so many small CTAs; THREADS * ROWS * 28 bytes a tile. */
enum {
    UTF8_DECODE_THREADS = 128,
    UTF8_DECODE_ROWS = 4,
    UTF8_DECODE_CTAS = 7,

    UTF8_ENCODE_THREADS = 256,
    UTF8_ENCODE_ROWS = 8, /* of UTF-32; half as many of UTF-16, whose vectors become up to 25 bytes, not 16 */
    UTF8_ENCODE_CTAS = 3,
};

/* ---- the ring pass (NVIDIA H200, CUDA 13.0, 2026-11-21) ----
 *
 * REDUCERS and FINISHERS are warps; a tile is FINISHERS * ROWS * 512 bytes, and STAGES tiles are in flight: what matters most is that
 * they fill the 227 KiB of shared memory. docs/ring.md has the shapes that were tried. */
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
    enum { REDUCERS = 4, FINISHERS = 8, ROWS = 6, STAGES = 8 };
};

/* With flags, each element brings a byte along. */
template <int ELEM_NBYTES, bool FLAGS> struct RingCompactShape {
    enum { REDUCERS = 8, FINISHERS = 16, ROWS = 4, STAGES = 6 };
};
template <> struct RingCompactShape<1, true> {
    enum { REDUCERS = 8, FINISHERS = 16, ROWS = 2, STAGES = 6 };
};
template <> struct RingCompactShape<2, true> {
    enum { REDUCERS = 8, FINISHERS = 8, ROWS = 4, STAGES = 7 };
};
template <> struct RingCompactShape<4, true> {
    enum { REDUCERS = 8, FINISHERS = 16, ROWS = 3, STAGES = 6 };
};
template <> struct RingCompactShape<8, true> {
    enum { REDUCERS = 4, FINISHERS = 8, ROWS = 6, STAGES = 7 };
};

/* Bytes of input (elements) from which on the ring pass is the faster one (graph replays, sizes from 2^3 to 2^26 elements of 1, 4 and 8
 * bytes; with flags: events, 2^20 to 2^28 elements of 1 to 48 bytes, 10, 50 and 90 % kept). */
enum { RING_SCAN_MIN_NBYTES = 8 << 20, RING_COMPACT_MIN_NBYTES = 8 << 20, RING_FLAGS_MIN_NBYTES = 2 << 20 };

#endif
