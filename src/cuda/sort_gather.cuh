/* sort_gather.cuh: values_out[i] = values_in[index[i]] for values of any size: the last step for values too big to move with their keys.
 *
 * A group of 1 to 32 lanes copies a value, in units as wide as alignment allows, so that a wide value is read and written in whole lines.
 * Cost: indices and values read once (at random), values written once. */
#ifndef UPSWEEP_CUDA_SORT_GATHER_CUH
#define UPSWEEP_CUDA_SORT_GATHER_CUH

#include <stdint.h>

#include "sort_launch.cuh"
#include "sort_tuning.h"

/* units: of a value; lanes: of a group, a power of two. */
template <typename UNIT, typename INDEX>
__global__ void __launch_bounds__(SORT_GATHER_THREADS)
    sort_gather(UNIT *out, const UNIT *in, const INDEX *indices, const uint64_t n, const uint32_t units, const uint32_t lanes) {
    wait_for_predecessor();
    const uint64_t thread = (uint64_t)blockIdx.x * SORT_GATHER_THREADS + threadIdx.x;
    const uint64_t ngroups = (uint64_t)gridDim.x * SORT_GATHER_THREADS / lanes;
    for (uint64_t i = thread / lanes; i < n; i += ngroups) {
        const UNIT *src = in + (uint64_t)indices[i] * units;
        for (uint32_t unit = threadIdx.x % lanes; unit < units; unit += lanes) out[i * units + unit] = src[unit];
    }
}

#endif
