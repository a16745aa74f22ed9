/* sort_gather.cuh: values_out[i] = values_in[index[i]] for values of any size: the last step for values too big to move with their keys.
 *
 * A group of 1 to 32 lanes copies a value, in units as wide as alignment allows, so that a wide value is read and written in whole lines.
 * CTAs take neighbouring stretches of the output, each one: then what runs at the same time wants what is near by, if indices are places
 * within a coarse bucket (sort_stable.cuh), and finds it in L2.
 * Cost: indices and values read once (at random), values written once. */
#ifndef UPSWEEP_CUDA_SORT_GATHER_CUH
#define UPSWEEP_CUDA_SORT_GATHER_CUH

#include <stdint.h>

#include "sort_job.cuh"

/* units: of a value; lanes: of a group, a power of two. moved: NULL, or what to read instead of `given` if *outcome says ALL_FIT. */
template <typename UNIT, typename INDEX>
__global__ void __launch_bounds__(SORT_GATHER_THREADS)
    sort_gather(UNIT *out, const UNIT *given, const UNIT *moved, const uint32_t *outcome, const INDEX *indices, const uint64_t n,
                const uint32_t units, const uint32_t lanes) {
    wait_for_predecessor();
    const UNIT *in = moved && *outcome == ALL_FIT ? moved : given;
    constexpr uint32_t ROWS = sort_gather_rows(sizeof(UNIT));
    const uint32_t ngroups = SORT_GATHER_THREADS / lanes;
    const uint64_t first = (uint64_t)blockIdx.x * ROWS * ngroups + threadIdx.x / lanes;
    uint64_t src[ROWS];
#pragma unroll
    for (uint32_t row = 0; row < ROWS; row++) {
        const uint64_t i = first + row * ngroups;
        src[row] = i < n ? (uint64_t)indices[i] * units : 0;
    }
    for (uint32_t unit = threadIdx.x % lanes; unit < units; unit += lanes) {
        UNIT words[ROWS];
#pragma unroll
        for (uint32_t row = 0; row < ROWS; row++) words[row] = in[src[row] + unit];
#pragma unroll
        for (uint32_t row = 0; row < ROWS; row++) {
            const uint64_t i = first + row * ngroups;
            if (i < n) out[i * units + unit] = words[row];
        }
    }
}

/* The widest power of two, at most 16, that divides all of them. */
static uint32_t common_unit(const void *a, const void *b, size_t nbytes) {
    const uint64_t bits = (uintptr_t)a | (uintptr_t)b | nbytes | 16;
    return (uint32_t)(bits & (0 - bits));
}

template <typename UNIT, typename INDEX>
static cudaError_t launch_gather_as(void *out, const void *in, const void *indices, const struct sort_job *job, uint32_t nbytes,
                                    const struct cuda_queue *queue) {
    const uint32_t units = nbytes / (uint32_t)sizeof(UNIT);
    uint32_t lanes = 1;
    while (lanes < 32 && lanes < units) lanes *= 2;
    const uint64_t per_cta = sort_gather_rows(sizeof(UNIT)) * SORT_GATHER_THREADS / lanes; /* no memory holds values for 2^31 CTAs */
    const uint32_t grid = (uint32_t)((job->n + per_cta - 1) / per_cta);
    return launch_next(queue, sort_gather<UNIT, INDEX>, grid, SORT_GATHER_THREADS, 0, out, in, job->values_moved, job->only_if, indices,
                       job->n, units, lanes);
}

template <typename INDEX>
static cudaError_t launch_gather_by(void *out, const void *in, const void *indices, const struct sort_job *job, uint32_t nbytes,
                                    const struct cuda_queue *queue) {
    switch (common_unit(out, in, nbytes)) {
    case 16:
        return launch_gather_as<uint4, INDEX>(out, in, indices, job, nbytes, queue);
    case 8:
        return launch_gather_as<uint64_t, INDEX>(out, in, indices, job, nbytes, queue);
    case 4:
        return launch_gather_as<uint32_t, INDEX>(out, in, indices, job, nbytes, queue);
    case 2:
        return launch_gather_as<uint16_t, INDEX>(out, in, indices, job, nbytes, queue);
    default:
        return launch_gather_as<uint8_t, INDEX>(out, in, indices, job, nbytes, queue);
    }
}

#endif
