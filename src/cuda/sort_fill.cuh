/* sort_fill.cuh: writing sorted keys from their counts: how often each value occurs says all about the output, and no key is moved.
 *
 * A CTA writes a stretch of the output, whose first and last value it finds first, all threads together. Each warp takes a part, and a lane
 * 16 aligned bytes at a time, looking a value up only where another one begins. Cost: the stretch written once. */
#ifndef UPSWEEP_CUDA_SORT_FILL_CUH
#define UPSWEEP_CUDA_SORT_FILL_CUH

#include "sort_job.cuh"

/* STARTS: starts[v] is the place, of type PLACE, where the run of value v begins, and those of greater values after it. */

/* Of a stretch of the output; varied: a third of the way and two thirds there are others than these. */
struct stretch_values {
    uint32_t first, last;
    bool varied;
};

/* The values at begin and at end - 1, and whether they vary between; nvalues is 256 or its square. For each of four places, 256 threads try
 * a step each: 1024 threads call it. */
template <typename PLACE, typename STARTS>
static __device__ __forceinline__ struct stretch_values find_values(const STARTS &starts, uint32_t nvalues, PLACE begin, PLACE end) {
    const uint32_t part = threadIdx.x / 256;
    const PLACE place = part < 3 ? begin + (end - begin) / 3 * part : end - 1;
    uint32_t low[4] = {};
    for (uint32_t step = nvalues / 256; step > 0; step /= 256) {
        uint32_t mine = low[0];
#pragma unroll
        for (uint32_t i = 1; i < 4; i++) mine = part == i ? low[i] : mine;
        const bool before = starts[mine + threadIdx.x % 256 * step] <= place;
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) low[i] += (uint32_t)(__syncthreads_count(before && part == i) - 1) * step;
    }
    return {low[0], low[3], low[0] < low[1] && low[1] < low[2] && low[2] < low[3]};
}

/* The value at a place, the last whose run starts there or before, by one thread, knowing that it is in [low, high]. */
template <typename PLACE, typename STARTS>
static __device__ __forceinline__ uint32_t find_value_between(const STARTS &starts, uint32_t low, uint32_t high, PLACE place) {
    while (low < high) {
        const uint32_t middle = (low + high + 1) / 2;
        if (starts[middle] <= place)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* A lane's walk through the output: the value at a place, and where the next one's run begins. */
template <typename PLACE, typename STARTS> struct value_walk {
    const STARTS &starts;
    const uint32_t last;
    const PLACE end;
    uint32_t value;
    PLACE next;

    /* Looks at values 1, 2, 4 ... ahead first, for the next run is rarely far away. */
    __device__ __forceinline__ void go_to(PLACE place) {
        if (place < next) return;
        uint32_t step = 1;
        for (; value + step <= last && starts[value + step] <= place; step *= 2) value += step;
        value = find_value_between(starts, value, min(value + step - 1, last), place);
        next = value < last ? starts[value + 1] : end;
    }
};

/* The keys of values that are images. */
template <typename KEY> struct key_of_value {
    const struct key_order<KEY> &order;

    __device__ __forceinline__ KEY operator()(uint32_t value) const { return order.key_of_image((KEY)value); }
};

/* Writes out[begin, end), whose values are known, by all THREADS threads of a CTA: key_of(v), from starts[v] on. */
template <int THREADS, typename PLACE, typename KEY, typename STARTS, typename KEY_OF>
static __device__ __forceinline__ void fill_stretch(KEY *out, PLACE begin, PLACE end, const STARTS &starts, struct stretch_values values,
                                                    const KEY_OF &key_of) {
    constexpr uint32_t PER_VECTOR = 16 / sizeof(KEY);
    const PLACE skew = (PLACE)((uintptr_t)(out + begin) % 16 / sizeof(KEY)); /* vectors are aligned: the first may begin before */
    const PLACE nvectors = (end - begin + skew + PER_VECTOR - 1) / PER_VECTOR, share = (nvectors + THREADS / 32 - 1) / (THREADS / 32);
    const PLACE stop = min((threadIdx.x / 32 + 1) * share, nvectors);
    struct value_walk<PLACE, STARTS> walk = {
        starts, values.last, end, values.first, 0
    };
    for (PLACE v = threadIdx.x / 32 * share + threadIdx.x % 32; v < stop; v += 32) {
        const PLACE from = begin + (v == 0 ? 0 : v * PER_VECTOR - skew), to = min(begin + (v + 1) * PER_VECTOR - skew, end);
        union {
            uint4 word;
            KEY key[PER_VECTOR];
        } vector;
        walk.go_to(from);
        const bool whole = to - from == PER_VECTOR, plain = whole && to <= walk.next; /* plain: one value */
        const KEY key = key_of(walk.value);
#pragma unroll
        for (uint32_t k = 0; k < PER_VECTOR; k++) vector.key[k] = key;
        if (!plain) {
#pragma unroll
            for (uint32_t k = 1; k < PER_VECTOR; k++) {
                if (from + k < to) walk.go_to(from + k);
                vector.key[k] = key_of(walk.value);
            }
        }
        if (whole) {
            *(uint4 *)(out + from) = vector.word;
            continue;
        }
#pragma unroll
        for (uint32_t k = 0; k < PER_VECTOR; k++) {
            if (from + k < to) out[from + k] = vector.key[k];
        }
    }
}

#endif
