/* gpu_3_working_threads.cu: rung 3 on the GPU: the tree of rung 2, with threads numbered by the work there is, and only those launched.
 *
 *     stride 1   3  [4]  7  [7]  4  [5]  6  [9]     threads      0       1       2       3
 *     stride 2   3   4   7 [11]  4   5   6 [14]     threads              0               1
 *     stride 4   3   4   7  11   4   5   6 [25]     thread                               0
 *
 * Thread k works on right = (k + 1) 2 stride - 1, so the working threads are 0 .. padded / (2 stride) - 1: full warps, without gaps. That
 * alone is the packed form: as many threads as in rung 2 are launched, and whole blocks leave at once. The working form launches the
 * working ones only: the number of blocks halves with each level up. Two rows of the table show the two switches one after the other.
 * Work 2 (n - 1), depth 2 log n, bytes as in rung 2: 36n used, about 84n moved; the neighbours of a warp are still 2 stride apart. What it
 * teaches: idle lanes and idle blocks cost; once they are gone, what remains is the memory, and the next rung is about that.
 * Source: Blelloch, Prefix Sums and Their Applications, section 1.2, 1990; the numbering of threads is that of Harris, Sengupta and Owens,
 * GPU Gems 3, section 39.2.2 (listing 39-2), 2007. */
#include "device.cuh"

static __global__ void up_sweep(int32_t *tree, uint64_t nworkers, uint64_t stride) {
    const uint64_t worker = thread_index();
    if (worker >= nworkers) return;
    const uint64_t right = (worker + 1) * 2 * stride - 1;
    tree[right] = wrap_add(tree[right - stride], tree[right]);
}

static __global__ void down_sweep(int32_t *tree, uint64_t nworkers, uint64_t stride) {
    const uint64_t worker = thread_index();
    if (worker >= nworkers) return;
    const uint64_t right = (worker + 1) * 2 * stride - 1;
    const int32_t left_sum = tree[right - stride];
    tree[right - stride] = tree[right];
    tree[right] = wrap_add(tree[right], left_sum);
}

static uint64_t out_items(uint64_t n) { return padded_size(n); }
static uint64_t scratch_items(uint64_t, uint32_t) { return 0; }

/* only_working: launch the working threads only; else one for every element, as rung 2 does. */
static cudaError_t scan_tree(int32_t *d_out, const int32_t *d_in, uint64_t n, uint32_t block_size, bool only_working) {
    const uint64_t padded = padded_size(n);
    CUDA_TRY(device_load_leaves(d_out, d_in, n));
    for (uint64_t stride = 1; stride < padded; stride *= 2) {
        const uint64_t nworkers = padded / (2 * stride);
        const uint32_t nblocks = blocks_for(only_working ? nworkers : padded, block_size);
        const struct device_work work = device_tree_work((uint64_t)nblocks * block_size, nworkers, stride, 1);
        up_sweep<<<nblocks, block_size>>>(d_out, nworkers, stride);
        CUDA_TRY(device_step(work, "up_sweep, stride %ju", (uintmax_t)stride));
    }
    CUDA_TRY(cudaMemsetAsync(d_out + padded - 1, 0, sizeof(int32_t), 0));
    CUDA_TRY(device_step({0, 0, sizeof(int32_t), 32}, "root = 0"));
    for (uint64_t stride = padded / 2; stride > 0; stride /= 2) {
        const uint64_t nworkers = padded / (2 * stride);
        const uint32_t nblocks = blocks_for(only_working ? nworkers : padded, block_size);
        const struct device_work work = device_tree_work((uint64_t)nblocks * block_size, nworkers, stride, 2);
        down_sweep<<<nblocks, block_size>>>(d_out, nworkers, stride);
        CUDA_TRY(device_step(work, "down_sweep, stride %ju", (uintmax_t)stride));
    }
    return cudaSuccess;
}

static cudaError_t launch_packed(int32_t *d_out, const int32_t *d_in, uint64_t n, int32_t *, uint32_t block_size) {
    return scan_tree(d_out, d_in, n, block_size, false);
}

static cudaError_t launch_working(int32_t *d_out, const int32_t *d_in, uint64_t n, int32_t *, uint32_t block_size) {
    return scan_tree(d_out, d_in, n, block_size, true);
}

const struct device_scan ladder_packed_threads_scan = {out_items, scratch_items, launch_packed};
const struct device_scan ladder_working_threads_scan = {out_items, scratch_items, launch_working};
