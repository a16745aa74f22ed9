/* sort_shorts.cuh: keys of two bytes alone, in one launch: they are counted, and the output is written from the counts.
 *
 * As in sort_bytes.cuh, but a multiprocessor has no room for 32 copies of 2^16 counters, only for one copy of 16 bits each; and adding all
 * of these to common counters would take longer than everything else. So every CTA writes its counters to a row of the scratch, and after a
 * barrier the CTAs sum columns:
 *
 *            values  0 .. C-1    C .. 2C-1   ...
 *     CTA 0        [          |           |     ]
 *     CTA 1        [          |           |     ]       CTA c sums chunk c of all rows, scans it: starts within the chunk, and its total
 *     ...               sum        sum
 *
 * After one more barrier all know all chunks' totals, and write their share of the output (sort_fill.cuh).
 * A counter would overflow at 2^16 equal keys of one CTA. So a CTA with a share so large counts in rounds of 2^15 keys. In a round a
 * counter that is below 2^15 can reach it once: the thread that sees it moves 2^15 from it to a row of overflows, between two barriers.
 * Cost: keys read once and written once; for each CTA 2^16 counters written and read (L2). */
#ifndef UPSWEEP_CUDA_SORT_SHORTS_CUH
#define UPSWEEP_CUDA_SORT_SHORTS_CUH

#include <cooperative_groups.h>

#include "sort_fill.cuh"
#include "sort_split.cuh"

enum {
    SHORT_VALUES = 1 << 16,
    SHORT_COUNTERS_NBYTES = SHORT_VALUES * 2,
    SHORT_HALF = 1 << 15,                               /* of a counter's range */
    SHORT_LOADS = 4,                                    /* 16-byte vectors in flight a thread */
    SHORT_ROUND_VECTORS = SHORTS_THREADS * SHORT_LOADS, /* of 8 keys */
    SHORT_MIN_CTAS = SHORT_VALUES / 8 / SHORTS_THREADS, /* a thread scans 8 values of a chunk */
    SHORT_MAX_CTAS = 256,
    SHORT_MARK_ROWS = 8,                                /* of a warp: 256 keys each */
    SHORT_MARKS = SHORTS_THREADS * SHORT_MARK_ROWS * 8, /* one for each key of a stretch that is scanned; one vector more than */
};                                                      /* such a stretch has keys is needed */
static_assert(SHORT_ROUND_VECTORS * 8 <= SHORT_HALF, "a counter must not reach 2^15 twice in a round");

struct shorts_job {
    const uint16_t *in;
    uint16_t *out;
    uint32_t n;
    uint64_t flip, float_mask; /* of image() */
    uint32_t chunk_shift;      /* a chunk is 1 << chunk_shift values */
    uint32_t stretch;          /* keys written at a time */
    uint32_t *starts;          /* [SHORT_VALUES]: of each value, within its chunk */
    uint32_t *totals;          /* [chunks] */
    uint16_t *counts;          /* [CTAs][SHORT_VALUES] */
    uint16_t *overflows;       /* the same; NULL if no CTA's share is so large */
};

/* ---- counting ---------------------------------------------------------------------------------------------------------------- */

union short_vector {
    uint4 word;
    uint16_t key[8];
};

/* Adds to the counter of a key; has it reached 2^15? */
static __device__ __forceinline__ bool count_key(const struct key_order<uint16_t> &order, uint16_t key, uint32_t times,
                                                 uint32_t *s_counts) {
    const uint32_t value = order.image(key), half = value % 2 * 16;
    const uint32_t before = atomicAdd(&s_counts[value / 2], times << half) >> half & 0xffff;
    return before < SHORT_HALF && before + times >= SHORT_HALF;
}

/* Counts the keys of a vector; equal ones at once. Returns a bit for each whose counter has reached 2^15. */
static __device__ __forceinline__ uint32_t count_keys(const struct key_order<uint16_t> &order, const union short_vector &got,
                                                      uint32_t *s_counts) {
    const uint32_t pair = got.word.x;
    if (pair == got.word.y && pair == got.word.z && pair == got.word.w && pair >> 16 == (pair & 0xffff)) {
        return count_key(order, got.key[0], 8, s_counts);
    }
    uint32_t reached = 0;
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) reached |= (uint32_t)count_key(order, got.key[i], 1, s_counts) << i;
    return reached;
}

/* No other thread of the CTA sees the same counter reaching 2^15 in this round, and none is counting. */
static __device__ __forceinline__ void move_to_overflows(const struct key_order<uint16_t> &order, const uint16_t (&keys)[8],
                                                         uint32_t reached, uint32_t *s_counts, uint16_t *overflows) {
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) {
        if (!(reached >> i & 1)) continue;
        const uint32_t value = order.image(keys[i]);
        atomicSub(&s_counts[value / 2], (uint32_t)SHORT_HALF << value % 2 * 16);
        overflows[value]++;
    }
}

/* Vectors [begin, end) of the CTA, round by round; all threads call it. */
static __device__ __forceinline__ void count_vectors(const struct key_order<uint16_t> &order, const uint4 *vectors, uint32_t begin,
                                                     uint32_t end, uint32_t *s_counts, uint16_t *overflows) {
    for (uint32_t round = begin; round < end; round += SHORT_ROUND_VECTORS) {
        union short_vector got[SHORT_LOADS];
        uint32_t reached[SHORT_LOADS], any = 0;
#pragma unroll
        for (uint32_t i = 0; i < SHORT_LOADS; i++) {
            const uint32_t v = round + i * SHORTS_THREADS + threadIdx.x;
            got[i].word = v < end ? vectors[v] : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (uint32_t i = 0; i < SHORT_LOADS; i++) {
            reached[i] = round + i * SHORTS_THREADS + threadIdx.x < end ? count_keys(order, got[i], s_counts) : 0;
            any |= reached[i];
        }
        if (!overflows) continue;
        __syncthreads(); /* nobody counts */
        if (any) {
#pragma unroll
            for (uint32_t i = 0; i < SHORT_LOADS; i++) move_to_overflows(order, got[i].key, reached[i], s_counts, overflows);
        }
        __syncthreads(); /* all counters are below 2^15 */
    }
}

/* The CTA's share of all keys: of the whole, aligned vectors; and CTA 0 takes the keys before and after these, fewer than 16. */
static __device__ __forceinline__ void count_share(const struct shorts_job &job, const struct key_order<uint16_t> &order,
                                                   uint32_t *s_counts, uint16_t *overflows) {
    const uint32_t head = min(job.n, (uint32_t)((16 - (uintptr_t)job.in % 16) % 16 / sizeof(uint16_t)));
    const uint32_t nvectors = (job.n - head) / 8, tail = head + nvectors * 8, share = (nvectors + gridDim.x - 1) / gridDim.x;
    const uint32_t begin = min(blockIdx.x * share, nvectors);
    count_vectors(order, (const uint4 *)(job.in + head), begin, min(begin + share, nvectors), s_counts, overflows);
    if (blockIdx.x == 0 && threadIdx.x < head + (job.n - tail)) {
        const uint32_t value = order.image(job.in[threadIdx.x < head ? threadIdx.x : tail + threadIdx.x - head]);
        atomicAdd(&s_counts[value / 2], 1u << value % 2 * 16);
    }
}

/* ---- summing ----------------------------------------------------------------------------------------------------------------- */

/* Adds 8 counters of a row, `each` times, to sums. */
static __device__ __forceinline__ void add_counts(const uint16_t *row, uint32_t each, uint32_t (&sums)[8]) {
    union short_vector got;
    got.word = __ldcg((const uint4 *)row);
#pragma unroll
    for (int k = 0; k < 8; k++) sums[k] += got.key[k] * each;
}

/* Sums the chunk's columns over all rows, and writes where in the chunk each value starts, and the chunk's total. Groups of 8 values go to
 * threads; as many threads as there are share the rows of a group. s_columns [8][groups], s_sums [32]. */
static __device__ void scan_chunk(const struct shorts_job &job, uint32_t chunk, uint32_t *s_columns, uint32_t *s_sums) {
    const uint32_t ngroups = 1u << (job.chunk_shift - 3), group = threadIdx.x % ngroups, value = (chunk << job.chunk_shift) + group * 8;
    uint32_t sums[8] = {};
#pragma unroll 4
    for (uint32_t row = threadIdx.x / ngroups; row < gridDim.x; row += SHORTS_THREADS / ngroups) {
        add_counts(job.counts + (uint64_t)row * SHORT_VALUES + value, 1, sums);
        if (job.overflows) add_counts(job.overflows + (uint64_t)row * SHORT_VALUES + value, SHORT_HALF, sums);
    }
#pragma unroll
    for (int k = 0; k < 8; k++) atomicAdd(&s_columns[k * ngroups + group], sums[k]);
    __syncthreads(); /* all sums */
    uint32_t all = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        sums[k] = threadIdx.x < ngroups ? s_columns[k * ngroups + group] : 0;
        all += sums[k];
    }
    uint32_t start = scan_threads(all, s_sums);
    if (threadIdx.x == ngroups - 1) job.totals[chunk] = start + all;
    if (threadIdx.x >= ngroups) return;
    uint32_t starts[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        starts[k] = start;
        start += sums[k];
    }
    uint4 *dst = (uint4 *)(job.starts + value);
    dst[0] = make_uint4(starts[0], starts[1], starts[2], starts[3]);
    dst[1] = make_uint4(starts[4], starts[5], starts[6], starts[7]);
}

/* Where each value's run begins: before[] says how many keys are in the chunks before one. */
struct chunked_starts {
    const uint32_t *const starts, *const before;
    const uint32_t shift;

    __device__ __forceinline__ uint32_t operator[](uint32_t value) const { return starts[value] + before[value >> shift]; }

    /* Of four values, the first a multiple of four. */
    __device__ __forceinline__ void get4(uint32_t value, uint32_t *four) const {
        const uint4 got = *(const uint4 *)(starts + value);
        const uint32_t more = before[value >> shift];
        four[0] = got.x + more;
        four[1] = got.y + more;
        four[2] = got.z + more;
        four[3] = got.w + more;
    }
};

/* ---- writing many short runs ------------------------------------------------------------------------------------------------- */

/* The greatest of 16-bit numbers so far, two in a word: a word's halves from the low one up. */
static __device__ __forceinline__ uint32_t max_pair(uint32_t word, uint32_t before) {
    const uint32_t low = max(word & 0xffff, before), high = max(word >> 16, low);
    return high << 16 | low;
}

/* A row of a warp, 8 numbers a lane: each becomes the greatest so far, also of those before, whose greatest is *most. */
static __device__ __forceinline__ uint4 scan_row(uint4 v, uint32_t *most) {
    const uint32_t lane = threadIdx.x % 32;
    v.x = max_pair(v.x, 0);
    v.y = max_pair(v.y, v.x >> 16);
    v.z = max_pair(v.z, v.y >> 16);
    v.w = max_pair(v.w, v.z >> 16);
    uint32_t inclusive = v.w >> 16;
#pragma unroll
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
        const uint32_t other = __shfl_up_sync(~0u, inclusive, distance);
        if (lane >= distance) inclusive = max(inclusive, other);
    }
    const uint32_t left = __shfl_up_sync(~0u, inclusive, 1), before = max(*most, lane > 0 ? left : 0);
    *most = max(*most, __shfl_sync(~0u, inclusive, 31));
    return make_uint4(max_pair(v.x, before), max_pair(v.y, before), max_pair(v.z, before), max_pair(v.w, before));
}

/* What a warp's part starts with: the greatest of the other warps' before it. s_most [32]: each warp's. */
static __device__ __forceinline__ uint32_t greatest_before(const uint32_t *s_most) {
    const uint32_t lane = threadIdx.x % 32;
    uint32_t start = lane < threadIdx.x / 32 ? s_most[lane] : 0;
#pragma unroll
    for (uint32_t distance = 16; distance > 0; distance /= 2) start = max(start, __shfl_xor_sync(~0u, start, distance));
    return start;
}

/* Writes 8 keys from slot `slot` on, whole if all of them are in [first, end); out: of slot 0, aligned to 16 bytes. */
static __device__ __forceinline__ void put_shorts(uint16_t *out, uint32_t slot, uint32_t first, uint32_t end, union short_vector v) {
    if (slot >= first && slot + 8 <= end) {
        *(uint4 *)(out + slot) = v.word;
        return;
    }
#pragma unroll
    for (uint32_t k = 0; k < 8; k++) {
        if (slot + k >= first && slot + k < end) out[slot + k] = v.key[k];
    }
}

/* Does the stretch have so many values that looking each up would take longer than scanning? */
static __device__ __forceinline__ bool is_dense(uint32_t nkeys, struct stretch_values values) {
    return values.varied && nkeys + 8 <= SHORT_MARKS && values.last - values.first >= nkeys / 64;
}

/* Marks the head of each run in out[begin, end) but the first: s_marks[place - begin + skew] becomes the value less the first one; all
 * others 0. Four values a thread and step. */
static __device__ __forceinline__ void mark_heads(const struct shorts_job &job, const struct chunked_starts &starts, uint32_t begin,
                                                  uint32_t end, uint32_t skew, struct stretch_values values, uint16_t *s_marks) {
    for (uint32_t i = threadIdx.x; i < SHORT_MARKS / 8; i += SHORTS_THREADS) ((uint4 *)s_marks)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads(); /* zeroes before marks */
#pragma unroll 2
    for (uint32_t value = values.first / 4 * 4 + threadIdx.x * 4; value <= values.last; value += SHORTS_THREADS * 4) {
        uint32_t start[5];
        starts.get4(value, start);
        start[4] = value + 4 < SHORT_VALUES ? starts[value + 4] : job.n;
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            if (start[k] >= start[k + 1] || start[k] <= begin || start[k] >= end) continue;
            s_marks[start[k] - begin + skew] = (uint16_t)(value + k - values.first);
        }
    }
    __syncthreads(); /* all marks */
}

/* Writes out[begin, end): marks the heads of runs, and a scan by maximum brings every head's value to the rest of its run. A warp scans
 * its part row by row, a row being 16 bytes a lane, and learns from the others' totals with what it starts. */
static __device__ void scan_stretch(const struct shorts_job &job, const struct key_order<uint16_t> &order,
                                    const struct chunked_starts &starts, uint32_t begin, uint32_t end, struct stretch_values values,
                                    uint16_t *s_marks, uint32_t *s_sums) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, skew = (uint32_t)((uintptr_t)(job.out + begin) % 16 / 2);
    mark_heads(job, starts, begin, end, skew, values, s_marks);
    uint4 rows[SHORT_MARK_ROWS];
    uint32_t most = 0; /* so far, in the warp's part */
#pragma unroll
    for (uint32_t row = 0; row < SHORT_MARK_ROWS; row++) {
        rows[row] = scan_row(((const uint4 *)s_marks)[(warp * SHORT_MARK_ROWS + row) * 32 + lane], &most);
    }
    if (lane == 0) s_sums[warp] = most;
    __syncthreads(); /* all warps' totals */
    const uint32_t start = greatest_before(s_sums);
#pragma unroll
    for (uint32_t row = 0; row < SHORT_MARK_ROWS; row++) {
        union short_vector v;
        v.word = rows[row];
        const uint32_t slot = ((warp * SHORT_MARK_ROWS + row) * 32 + lane) * 8;
#pragma unroll
        for (uint32_t k = 0; k < 8; k++) v.key[k] = order.key_of_image((uint16_t)(values.first + max((uint32_t)v.key[k], start)));
        put_shorts(job.out + begin - skew, slot, skew, end - begin + skew, v);
    }
    __syncthreads(); /* nobody needs the marks any more */
}

/* ---- the kernel -------------------------------------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(SHORTS_THREADS, 1) sort_shorts(const __grid_constant__ struct shorts_job job) {
    extern __shared__ __align__(16) uint32_t s_counts[]; /* SHORT_COUNTERS_NBYTES */
    __shared__ uint32_t s_before[SHORT_MAX_CTAS], s_sums[32];
    const struct key_order<uint16_t> order(job);
    uint16_t *const overflows = job.overflows ? job.overflows + (uint64_t)blockIdx.x * SHORT_VALUES : NULL;
    uint4 *row = (uint4 *)(job.counts + (uint64_t)blockIdx.x * SHORT_VALUES), *counts = (uint4 *)s_counts;
    for (uint32_t i = threadIdx.x; i < SHORT_COUNTERS_NBYTES / 16; i += SHORTS_THREADS) {
        counts[i] = make_uint4(0, 0, 0, 0);
        if (overflows) ((uint4 *)overflows)[i] = make_uint4(0, 0, 0, 0);
    }
    __syncthreads(); /* zeroes before counts */
    count_share(job, order, s_counts, overflows);
    __syncthreads(); /* all counts of the CTA */
    for (uint32_t i = threadIdx.x; i < SHORT_COUNTERS_NBYTES / 16; i += SHORTS_THREADS) {
        row[i] = counts[i];
        counts[i] = make_uint4(0, 0, 0, 0); /* for the sums of a chunk */
    }
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    grid.sync(); /* all rows; and all keys have been read, should they be overwritten */
    const uint32_t nchunks = SHORT_VALUES >> job.chunk_shift;
    if (blockIdx.x < nchunks) scan_chunk(job, blockIdx.x, s_counts, s_sums);
    grid.sync(); /* all chunks */
    const uint32_t before = scan_threads(threadIdx.x < nchunks ? __ldcg(&job.totals[threadIdx.x]) : 0, s_sums);
    if (threadIdx.x < nchunks) s_before[threadIdx.x] = before;
    __syncthreads(); /* s_before */
    const struct chunked_starts starts = {job.starts, s_before, job.chunk_shift};
    for (uint64_t at = (uint64_t)blockIdx.x * job.stretch; at < job.n; at += (uint64_t)gridDim.x * job.stretch) {
        const uint32_t begin = (uint32_t)at, end = (uint32_t)min(at + job.stretch, (uint64_t)job.n);
        const struct stretch_values values = find_values(starts, SHORT_VALUES, begin, end);
        if (is_dense(end - begin, values))
            scan_stretch(job, order, starts, begin, end, values, (uint16_t *)s_counts, s_sums);
        else
            fill_stretch<SHORTS_THREADS>(job.out, begin, end, starts, values, key_of_value<uint16_t>{order});
    }
}

/* ---- the host's part --------------------------------------------------------------------------------------------------------- */

/* How the scratch is cut up. It is that of other sorts of as many keys, or a little more, so small arrays get few CTAs. */
struct shorts_scratch {
    uint32_t nctas;
    bool overflows; /* are there rows for them? */
    uint64_t starts, totals, counts, total;
};

static struct shorts_scratch layout_shorts(const struct cuda_queue *queue, uint64_t n) {
    struct shorts_scratch s = {};
    const uint64_t room = min_u64(n, UINT32_MAX) * sizeof(uint16_t) + SHORTS_SCRATCH_NBYTES;
    const uint64_t most = min_u64((uint64_t)queue->nsms, SHORT_MAX_CTAS);
    for (uint32_t nrows = 1; nrows <= 2; nrows++) {
        s.nctas = max_u32((uint32_t)min_u64(room / (nrows * SHORT_COUNTERS_NBYTES), most), SHORT_MIN_CTAS);
        s.overflows = nrows == 2;
        if (n / s.nctas + 32 < 2 * SHORT_HALF) break;
    }
    s.totals = SHORT_VALUES * sizeof(uint32_t);
    s.counts = s.totals + SHORT_MAX_CTAS * sizeof(uint32_t);
    s.total = s.counts + (uint64_t)s.nctas * (s.overflows ? 2 : 1) * SHORT_COUNTERS_NBYTES;
    return s;
}

static cudaError_t launch_shorts(const struct cuda_queue *queue, const struct sort_job *sort, char *scratch) {
    const struct shorts_scratch layout = layout_shorts(queue, sort->n);
    struct shorts_job job = {};
    job.in = (const uint16_t *)sort->keys_in;
    job.out = (uint16_t *)sort->keys_out;
    job.n = (uint32_t)sort->n;
    job.flip = sort->flip;
    job.chunk_shift = 16;
    while ((uint32_t)SHORT_VALUES >> (job.chunk_shift - 1) <= layout.nctas) job.chunk_shift--;
    job.stretch = (uint32_t)min_u64((sort->n / layout.nctas / 1024 + 1) * 1024, SHORTS_STRETCH);
    job.starts = (uint32_t *)(scratch + layout.starts);
    job.totals = (uint32_t *)(scratch + layout.totals);
    job.counts = (uint16_t *)(scratch + layout.counts);
    if (layout.overflows) job.overflows = job.counts + (uint64_t)layout.nctas * SHORT_VALUES;
    return launch_resident(queue, sort_shorts, layout.nctas, SHORTS_THREADS, SHORT_COUNTERS_NBYTES, job);
}

#endif
