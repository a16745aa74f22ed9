/* gpu_1_naive.cu: rung 1 on the GPU: the naive scan: log n launches, one thread an element, two buffers.
 *
 *     in          3   1   7   0   4   1   6   3
 *     shifted     0   3   1   7   0   4   1   6      so that the sums come out exclusive
 *     distance 1  0   3   4   8   7   4   5   7      x[i] = x[i-1] + x[i]
 *     distance 2  0   3   4  11  11  12  12  11      x[i] = x[i-2] + x[i]
 *     distance 4  0   3   4  11  11  15  16  22      x[i] = x[i-4] + x[i]
 *
 * Blocks of one launch run in any order, so a round may not overwrite what another block has yet to read: hence two buffers. And blocks
 * cannot wait for each other inside a launch, so a round is a launch: its end is the barrier.
 * Work n log n, depth log n, bytes 8n (log n + 1) at least: 28 times the necessary traffic at n = 2^27. But every access is
 * coalesced and no thread idles, so do not be surprised if it keeps up with a "work-efficient" rung that wastes both. What it teaches:
 * count the bytes, not the steps.
 * Source: Hillis and Steele, Data Parallel Algorithms, 1986; Harris, Sengupta and Owens, GPU Gems 3, section 39.2.1, 2007. */
#include "device.cuh"

static __global__ void shift_right(int32_t *to, const int32_t *from, uint64_t n) {
    const uint64_t i = thread_index();
    if (i < n) to[i] = i == 0 ? 0 : from[i - 1];
}

static __global__ void add_from_distance(int32_t *to, const int32_t *from, uint64_t n, uint64_t distance) {
    const uint64_t i = thread_index();
    if (i < n) to[i] = i < distance ? from[i] : wrap_add(from[i - distance], from[i]);
}

static uint64_t out_items(uint64_t n) { return n; }
static uint64_t scratch_items(uint64_t n, uint32_t) { return n; }

static cudaError_t launch(int32_t *d_out, const int32_t *d_in, uint64_t n, int32_t *d_scratch, uint32_t block_size) {
    const uint32_t nblocks = blocks_for(n, block_size);
    uint32_t nrounds = 0;
    while (UINT64_C(1) << nrounds < n) nrounds++;

    int32_t *d_from = nrounds % 2 == 0 ? d_out : d_scratch; /* so that the last round ends in d_out */
    int32_t *d_to = nrounds % 2 == 0 ? d_scratch : d_out;
    const struct device_work round_work = {(uint64_t)nblocks * block_size, n, 2 * n * sizeof(int32_t), 2 * n * sizeof(int32_t)};
    shift_right<<<nblocks, block_size>>>(d_from, d_in, n);
    CUDA_TRY(device_step(round_work, "shift_right"));
    for (uint32_t round = 0; round < nrounds; round++) {
        add_from_distance<<<nblocks, block_size>>>(d_to, d_from, n, UINT64_C(1) << round);
        CUDA_TRY(device_step(round_work, "add_from_distance, distance 2^%u", (unsigned)round));
        int32_t *d_swap = d_from;
        d_from = d_to;
        d_to = d_swap;
    }
    return cudaSuccess;
}

const struct device_scan ladder_naive_scan = {out_items, scratch_items, launch};
