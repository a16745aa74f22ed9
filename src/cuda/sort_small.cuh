/* sort_small.cuh: a whole sort in one launch: what fits in one CTA is sorted there, digit by digit, and read and written once.
 *
 * The keys stay in registers, a row of 32 a warp and step; each digit ranks them (sort_rank.cuh) and exchanges them through shared memory.
 * What travels with a key is its place in the input, 16 bits; values, of any size, are fetched by it at the end. Digits that all keys share
 * cost the counting only. Values sorted in place are first read into shared memory. Cost: keys and values read once and written once.  Why:
 * below some thousand keys, launches are all that a sort costs. */
#ifndef UPSWEEP_CUDA_SORT_SMALL_CUH
#define UPSWEEP_CUDA_SORT_SMALL_CUH

#include "sort_cta.cuh"
#include "sort_tile.cuh"

template <typename KEY> struct small_shape {
    static constexpr int ROWS = sizeof(KEY) == 8 ? SORT_SMALL_ROWS_WIDE : SORT_SMALL_ROWS_NARROW;
    static constexpr int TEAMS = SORT_SMALL_THREADS / SORT_TEAM;
    static constexpr uint32_t ITEMS = SORT_SMALL_THREADS * ROWS;
    /* One area for the digit counters, the keys and the values, which are never there at once; one for the places. */
    static constexpr uint32_t COUNTERS_NBYTES = TEAMS * TEAM_WORDS * sizeof(uint32_t);
    static constexpr uint32_t AREA_NBYTES = COUNTERS_NBYTES > ITEMS * sizeof(KEY) ? COUNTERS_NBYTES : ITEMS * sizeof(KEY);
    static constexpr uint32_t SHARED_NBYTES = AREA_NBYTES + ITEMS * sizeof(uint16_t);
};

/* Writes all values, by the places of their keys. */
static __device__ void write_small_values(const struct sort_job &job, const uint16_t *s_places, char *s_area) {
    const char *src = (const char *)job.values_in;
    const uint32_t n = (uint32_t)job.n, nbytes = job.value_nbytes;
    if (job.values_in && job.values_in == job.values_out) {
        for (uint32_t i = threadIdx.x * job.value_unit; i < n * nbytes; i += SORT_SMALL_THREADS * job.value_unit) {
            copy_value(s_area + i, src + i, job.value_unit, job.value_unit);
        }
        src = s_area;
        __syncthreads(); /* all values are read before the first is written */
    }
    for (uint32_t i = threadIdx.x; i < n; i += SORT_SMALL_THREADS) {
        const uint32_t place = s_places[i];
        if (job.values_in) {
            copy_value((char *)job.values_out + (uint64_t)i * nbytes, src + (uint64_t)place * nbytes, nbytes, job.value_unit);
        } else if (nbytes == 4) {
            ((uint32_t *)job.values_out)[i] = place;
        } else {
            ((uint64_t *)job.values_out)[i] = place;
        }
    }
}

template <typename KEY> __global__ void __launch_bounds__(SORT_SMALL_THREADS, 1) sort_small(const __grid_constant__ struct sort_job job) {
    typedef small_shape<KEY> SHAPE;
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ uint32_t s_sums[32];
    wait_for_predecessor();
    uint16_t *s_places = (uint16_t *)(s_memory + SHAPE::AREA_NBYTES);
    const struct cta_memory<KEY> memory = { (uint32_t *)s_memory, s_sums, (KEY *)s_memory, s_places };

    const uint32_t n = (uint32_t)job.n, start = first_of_thread(job.rows);
    const struct team_items<false> items = items_of_team<false>(job.rows, n);
    const struct key_order<KEY> order(job);
    KEY images[SHAPE::ROWS];
    struct packed_ranks<SHAPE::ROWS> places = {};
#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) {
        images[row] = items.has(row) ? order.image(((const KEY *)job.keys_in)[start + row * SORT_TEAM]) : (KEY)0;
        places.set(row, start + row * SORT_TEAM);
    }

    for (uint32_t pass = 0; pass < job.npasses; pass++) {
        if (job.mask[pass] == 0) continue;
        reorder_by_digit<SHAPE::TEAMS>(images, places, items, start, n, memory, job.shift[pass], job.mask[pass]);
    }

#pragma unroll
    for (int row = 0; row < SHAPE::ROWS; row++) {
        if (!items.has(row)) continue;
        if (!job.drop_keys) ((KEY *)job.keys_out)[start + row * SORT_TEAM] = order.key_of_image(images[row]);
        s_places[start + row * SORT_TEAM] = (uint16_t)places.get(row);
    }
    __syncthreads(); /* all places, before values are fetched by them */
    if (job.has_values) write_small_values(job, s_places, (char *)s_memory);
}

#endif
