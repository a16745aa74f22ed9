/* gpu_4_shared_memory.cu: rung 4 on the GPU: the tree in shared memory: each block scans a piece, then the sums of the pieces are scanned
 * in the same way, then each piece gets the sum of those before it.
 *
 *     in             3   1   7   0 | 4   1   6   3      a block scans 2 elements a thread (here: 2 threads)
 *     pieces         0   3   4  11 | 0   4   5  11      and leaves its sum:  11  14
 *     sums scanned                                                            0  11     by the same launcher: recursion
 *     offsets added  0   3   4  11 |11  15  16  22
 *
 * Global memory is touched in order and whole lines only; the strides of the tree happen in shared memory, where they cost bank conflicts
 * instead: at stride 16 all 32 lanes would ask the same one of the 32 banks. One unused word after every 32 moves them apart.
 *
 *     index   0 .. 31  32 .. 63  64 ..      slot = index + index / 32
 *     bank    0 .. 31   1 ..  0   2 ..
 *
 * Any n: the last block reads zeros past the end, and the recursion has log n / log(2 block_size) levels. Work O(n), depth O(log n), bytes
 * 16n and a little: each element read and written twice. The second pass over the data is what the single-pass rungs above save.
 * Source: Harris, Sengupta and Owens, GPU Gems 3, sections 39.2.3 and 39.2.4, 2007. */
#include "device.cuh"

static __host__ __device__ inline uint32_t slot(uint32_t index) { return index + index / 32; }

/* Scans items = 2 * blockDim.x elements of shared memory, and returns their sum to thread 0. */
static __device__ int32_t scan_tree(int32_t *s_tree, uint32_t items) {
    int32_t sum = 0;
    for (uint32_t stride = 1; stride < items; stride *= 2) {
        __syncthreads(); /* the level below is complete */
        if (threadIdx.x < items / (2 * stride)) {
            const uint32_t right = (threadIdx.x + 1) * 2 * stride - 1;
            s_tree[slot(right)] = wrap_add(s_tree[slot(right - stride)], s_tree[slot(right)]);
        }
    }
    if (threadIdx.x == 0) { /* who has just written the root, so no barrier */
        sum = s_tree[slot(items - 1)];
        s_tree[slot(items - 1)] = 0;
    }
    for (uint32_t stride = items / 2; stride > 0; stride /= 2) {
        __syncthreads(); /* the level above is complete */
        if (threadIdx.x < items / (2 * stride)) {
            const uint32_t right = (threadIdx.x + 1) * 2 * stride - 1;
            const int32_t left_sum = s_tree[slot(right - stride)];
            s_tree[slot(right - stride)] = s_tree[slot(right)];
            s_tree[slot(right)] = wrap_add(s_tree[slot(right)], left_sum);
        }
    }
    __syncthreads(); /* the leaves are complete */
    return sum;
}

/* Each block scans its piece of in [n] into out [n] (out == in is fine) and leaves its sum in sums [gridDim.x], if that is not NULL. */
static __global__ void scan_pieces(int32_t *out, const int32_t *in, uint64_t n, int32_t *sums) {
    extern __shared__ int32_t s_tree[];
    const uint64_t begin = (uint64_t)blockIdx.x * 2 * blockDim.x;
    const uint32_t near = threadIdx.x, far = threadIdx.x + blockDim.x; /* apart by a block, so that warps read whole lines */

    s_tree[slot(near)] = begin + near < n ? in[begin + near] : 0;
    s_tree[slot(far)] = begin + far < n ? in[begin + far] : 0;
    const int32_t sum = scan_tree(s_tree, 2 * blockDim.x);
    if (begin + near < n) out[begin + near] = s_tree[slot(near)];
    if (begin + far < n) out[begin + far] = s_tree[slot(far)];
    if (threadIdx.x == 0 && sums != NULL) sums[blockIdx.x] = sum;
}

/* Adds to each piece, of 2 * blockDim.x elements, its offset. */
static __global__ void add_offsets(int32_t *out, uint64_t n, const int32_t *offsets) {
    const int32_t offset = offsets[blockIdx.x];
    const uint64_t near = (uint64_t)blockIdx.x * 2 * blockDim.x + threadIdx.x, far = near + blockDim.x;
    if (near < n) out[near] = wrap_add(out[near], offset);
    if (far < n) out[far] = wrap_add(out[far], offset);
}

static uint64_t out_items(uint64_t n) { return n; }

/* The sums of all levels, one after the other. */
static uint64_t scratch_items(uint64_t n, uint32_t block_size) {
    const uint64_t npieces = blocks_for(n, 2 * block_size);
    return npieces <= 1 ? 0 : npieces + scratch_items(npieces, block_size);
}

static cudaError_t launch(int32_t *d_out, const int32_t *d_in, uint64_t n, int32_t *d_scratch, uint32_t block_size) {
    const uint32_t npieces = blocks_for(n, 2 * block_size);
    const size_t shared_nbytes = (slot(2 * block_size - 1) + 1) * sizeof(int32_t);
    int32_t *d_sums = npieces > 1 ? d_scratch : NULL;

    const uint64_t nbytes = 2 * n * sizeof(int32_t);
    const struct device_work work = {(uint64_t)npieces * block_size, (n + 1) / 2, nbytes, nbytes};
    scan_pieces<<<npieces, block_size, shared_nbytes>>>(d_out, d_in, n, d_sums);
    CUDA_TRY(device_step(work, "scan_pieces, %ju elements", (uintmax_t)n));
    if (npieces == 1) return cudaSuccess;
    CUDA_TRY(launch(d_sums, d_sums, npieces, d_scratch + npieces, block_size));
    add_offsets<<<npieces, block_size>>>(d_out, n, d_sums);
    return device_step(work, "add_offsets, %ju elements", (uintmax_t)n);
}

const struct device_scan ladder_shared_memory_scan = {out_items, scratch_items, launch};
