/* tuning.h: the shapes of the look-back kernels, in one place.
 *
 * A tile is THREADS * ROWS vectors of 16 bytes. More rows: fewer tiles, so less traffic through the exchange words, but more registers and
 * fewer CTAs a multiprocessor to hide the wait for the prefix behind. */
#ifndef UPSWEEP_CUDA_TUNING_H
#define UPSWEEP_CUDA_TUNING_H

enum {
    SCAN_THREADS = 256,
    SCAN_ROWS = 4,
    SCAN_CTAS = 4, /* a multiprocessor: caps the registers of a thread at 64 */

    COMPACT_THREADS = 256,
    COMPACT_ROWS = 4,
    COMPACT_CTAS = 4,

    /* Tiles of records, by their size: elements a lane and row, and rows. A CTA should not have to move more than a few 100 KB. */
    RECORD_SMALL_NBYTES = 2,   /* 4 rows of 16 flags a lane */
    RECORD_MEDIUM_NBYTES = 32, /* 1 row of 16 */
                               /* above: 1 row of 2 */
};

#endif
