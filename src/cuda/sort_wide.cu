/* sort_wide.cu: sorts of keys of 64 bits. A file of its own, since it takes minutes to compile. */
#include "sort_keys.cuh"

cudaError_t sort_wide_keys(const struct cuda_queue *queue, const struct sort_args *args, void *scratch) {
    return sort_keys<uint64_t>(queue, args, scratch);
}
