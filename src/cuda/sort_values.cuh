/* sort_values.cuh: writes the values of a sorted window (sort_window.cuh), each from the place that its item names: in shared memory, where
 * a bucket's values wait, or in the input, as random reads. Or the places themselves, if these are wanted.
 *
 * Cost: values read once, and written once in whole sectors if they have 4 or 8 bytes and lie as the keys do. */
#ifndef UPSWEEP_CUDA_SORT_VALUES_CUH
#define UPSWEEP_CUDA_SORT_VALUES_CUH

#include "sort_tile.cuh"
#include "sort_window.cuh"

/* Is what this lane has written, or only looked at? */
static __device__ __forceinline__ bool lane_is_written() {
    const uint32_t lane = threadIdx.x % 32;
    return lane >= WINDOW_HALO / WINDOW_LANE_KEYS && lane < 32 - WINDOW_HALO / WINDOW_LANE_KEYS;
}

/* out: of slot 0, aligned to 16 bytes; limit: no place is beyond it, not even of what stands around the bucket and is not written. */
template <typename T>
static __device__ __forceinline__ void put_words(void *out, struct bucket_slots slots, uint32_t window_slot,
                                                 const uint32_t (&places)[WINDOW_LANE_KEYS], const void *values, uint32_t limit) {
    T words[WINDOW_LANE_KEYS];
    if (values) {
        if (!lane_is_written()) limit = 0;
#pragma unroll
        for (int i = 0; i < WINDOW_LANE_KEYS; i++) words[i] = ((const T *)values)[min(places[i], limit)];
    } else {
#pragma unroll
        for (int i = 0; i < WINDOW_LANE_KEYS; i++) words[i] = places[i];
    }
    put_window((T *)out, slots, window_slot, words);
}

/* The value of any size and alignment that stands at a place. */
template <typename JOB> static __device__ __forceinline__ void put_value_at(const JOB &job, char *dst, const char *values, uint32_t place) {
    const uint32_t nbytes = job.value_nbytes;
    if (values)
        copy_value(dst, values + (uint64_t)place * nbytes, nbytes, job.value_unit);
    else if (nbytes == 4)
        *(uint32_t *)dst = place;
    else
        *(uint64_t *)dst = place;
}

/* JOB: anything that has a value_nbytes and a value_unit. values: NULL: the places themselves are wanted. */
template <typename JOB>
static __device__ __forceinline__ void put_values(const JOB &job, char *out, struct bucket_slots slots, uint32_t window_slot,
                                                  const uint32_t (&places)[WINDOW_LANE_KEYS], const char *values, uint32_t limit) {
    const uint32_t nbytes = job.value_nbytes;
    const bool aligned = (uintptr_t)out % 16 == 0 && job.value_unit == nbytes;
    if (nbytes == 4 && aligned) return put_words<uint32_t>(out, slots, window_slot, places, values, limit);
    if (nbytes == 8 && aligned) return put_words<uint64_t>(out, slots, window_slot, places, values, limit);
    const uint32_t slot = window_slot + threadIdx.x % 32 * WINDOW_LANE_KEYS;
    if (!lane_is_written()) return;
    uint32_t copies[WINDOW_LANE_KEYS]; /* indexed by a variable, and so in memory: unrolled, this would be most of the kernel */
#pragma unroll
    for (uint32_t i = 0; i < WINDOW_LANE_KEYS; i++) copies[i] = places[i];
#pragma unroll 1
    for (uint32_t i = 0; i < WINDOW_LANE_KEYS; i++) {
        if (slot + i >= slots.first && slot + i < slots.end) put_value_at(job, out + (uint64_t)(slot + i) * nbytes, values, copies[i]);
    }
}

#endif
