/* sort_tuning.h: the shapes of the radix sort's kernels. Every figure here was measured: NVIDIA H200, CUDA 13.0, November 2026. */
#ifndef UPSWEEP_CUDA_SORT_TUNING_H
#define UPSWEEP_CUDA_SORT_TUNING_H

#define SORT_DIGIT_BITS 8
#define SORT_DIGITS     256 /* 1 << SORT_DIGIT_BITS */
#define SORT_MAX_PASSES 8   /* 64-bit keys */

/* A pass: threads a CTA; CTAs a multiprocessor and rows (keys a thread) by the bytes of a key and of the word that stands for its value.
 * Registers bound the rows: a row costs a key and half a word for its rank. The launcher takes fewer rows where shared memory (older GPUs)
 * or parallelism (small n) calls for it. */
#define SORT_THREADS 512
static constexpr __host__ __device__ int sort_ctas_per_sm(int key_nbytes, int word_nbytes) {
    return key_nbytes < 8 && word_nbytes > 0 ? 3 : 2;
}
static constexpr __host__ __device__ int sort_rows(int key_nbytes, int word_nbytes) {
    return key_nbytes == 8 ? 16 : word_nbytes > 0 ? 12 : 24;
}
#define SORT_MIN_ROWS     2
#define SORT_TILES_PER_SM 2 /* below this many full tiles a multiprocessor, tiles shrink */

/* Tile states are 32-bit words of which two bits are the state: a look-back never spans more keys than this. */
#define SORT_PORTION_ITEMS (1u << 29)
/* A digit that more lanes of a warp than this share in a row is ranked by ballot in the rows that follow. */
#define SORT_CROWD 8
/* States loaded at once when looking back. */
#define SORT_LOOK_AT 8

/* One CTA sorts up to this many keys in shared memory. */
#define SORT_SMALL_THREADS     512
#define SORT_SMALL_ROWS_NARROW 16
#define SORT_SMALL_ROWS_WIDE   8

/* The histogram kernel: threads a CTA, one a multiprocessor; 16-byte loads in flight a thread. A counter has as many copies as shared
 * memory has room for, but no more than pay: this many keys of a CTA to a counter. */
#define SORT_HISTOGRAM_THREADS     1024
#define SORT_HISTOGRAM_LOADS       4
#define SORT_HISTOGRAM_MIN_COPIES  2
#define SORT_HISTOGRAM_MAX_COPIES  32
#define SORT_HISTOGRAM_COUNTER_PAY 4

#define SORT_GATHER_THREADS 256

/* Splitting keys (sort_split.cuh): bits of one partition alone, and of two together. */
#define SPLIT_MIN_BITS          7
#define SPLIT_SINGLE_BITS       10
#define SPLIT_MAX_BITS          16
#define SPLIT_HISTOGRAM_THREADS 1024

/* Keys of 1 and 2 bytes are counted and written anew (sort_fill.cuh), from this many on; 16-byte vectors that a thread writes. */
#define COUNTING_MIN_BYTES 8192
#define COUNTING_MIN_PAIRS (1u << 22)
#define FILL_THREADS       512
#define FILL_VECTORS       8

/* A partition: threads a CTA, CTAs a multiprocessor, keys a thread. */
#define SPLIT_THREADS     512
#define SPLIT_CTAS_PER_SM 2
#define SPLIT_ROWS_NARROW 24
#define SPLIT_ROWS_WIDE   16

#endif
