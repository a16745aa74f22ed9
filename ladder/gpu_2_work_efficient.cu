/* gpu_2_work_efficient.cu: rung 2 on the GPU: the work-efficient scan: a balanced tree, swept up and then down, in global memory.
 *
 *     in         3   1   7   0   4   1   6   3      up_sweep: parents take the sums of their children
 *     stride 1   3  [4]  7  [7]  4  [5]  6  [9]
 *     stride 2   3   4   7 [11]  4   5   6 [14]
 *     stride 4   3   4   7  11   4   5   6 [25]
 *
 *     root       3   4   7  11   4   5   6  [0]     down_sweep: the root takes the sum of what is left of it: 0
 *     stride 4   3   4   7  [0]  4   5   6 [11]     left child: that of its parent; right child: the same plus the left child's sum
 *     stride 2   3  [0]  7  [4]  4 [11]  6 [16]
 *     stride 1  [0] [3] [4][11][11][15][16][22]
 *
 * Work 2 (n - 1) additions, depth 2 log n: asymptotically the best there is. Bytes used 36n: copy into the tree 8n, up 12n,
 * down 16n; bytes moved about 84n, as memory comes in sectors of 32 bytes and from stride 4 on a pair has one or two to itself. And every
 * level launches a thread for every element, though at stride 2^d only one in 2^(d+1) has work: the warps of the lower levels are mostly
 * idle lanes, those of the upper ones start only to end.
 * What it teaches: an algorithm that does less work is not one that does it faster. n is padded with zeros to a power of two.
 * Source: Blelloch, Prefix Sums and Their Applications, section 1.2, 1990; Harris, Sengupta and Owens, GPU Gems 3, section 39.2.2, 2007. */
#include "device.cuh"

static __global__ void up_sweep(int32_t *tree, uint64_t padded, uint64_t stride) {
    const uint64_t right = thread_index();
    if (right >= padded || ((right + 1) & (2 * stride - 1)) != 0) return; /* not a multiple of 2 * stride: nothing to do */
    tree[right] = wrap_add(tree[right - stride], tree[right]);
}

static __global__ void down_sweep(int32_t *tree, uint64_t padded, uint64_t stride) {
    const uint64_t right = thread_index();
    if (right >= padded || ((right + 1) & (2 * stride - 1)) != 0) return;
    const int32_t left_sum = tree[right - stride];
    tree[right - stride] = tree[right];
    tree[right] = wrap_add(tree[right], left_sum);
}

static uint64_t out_items(uint64_t n) { return padded_size(n); }
static uint64_t scratch_items(uint64_t, uint32_t) { return 0; }

static cudaError_t launch(int32_t *d_out, const int32_t *d_in, uint64_t n, int32_t *, uint32_t block_size) {
    const uint64_t padded = padded_size(n);
    const uint32_t nblocks = blocks_for(padded, block_size);
    const uint64_t nthreads = (uint64_t)nblocks * block_size;
    CUDA_TRY(device_load_leaves(d_out, d_in, n));
    for (uint64_t stride = 1; stride < padded; stride *= 2) {
        up_sweep<<<nblocks, block_size>>>(d_out, padded, stride);
        CUDA_TRY(device_step(device_tree_work(nthreads, padded / (2 * stride), stride, 1), "up_sweep, stride %ju", (uintmax_t)stride));
    }
    CUDA_TRY(cudaMemsetAsync(d_out + padded - 1, 0, sizeof(int32_t), 0));
    CUDA_TRY(device_step({0, 0, sizeof(int32_t), 32}, "root = 0"));
    for (uint64_t stride = padded / 2; stride > 0; stride /= 2) {
        down_sweep<<<nblocks, block_size>>>(d_out, padded, stride);
        CUDA_TRY(device_step(device_tree_work(nthreads, padded / (2 * stride), stride, 2), "down_sweep, stride %ju", (uintmax_t)stride));
    }
    return cudaSuccess;
}

const struct device_scan ladder_work_efficient_scan = {out_items, scratch_items, launch};
