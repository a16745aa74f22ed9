/* sort_ranks.cuh: some thousand keys, with or without values, in one launch in which nobody waits for anybody: a key's place is how many
 * keys belong before it.
 *
 *     each CTA       sorts a few keys of its own
 *                    looks at all n keys: before which of its own does each belong? counts these
 *                    sums the counts, and writes its own keys, and their values, where they belong
 *
 *     own            20 50 70 90               ranks among themselves   0   1   2   3
 *     others         .. 8 33 55 51 99 ..       belong before            1   1   2   0    summed: 1 2 4 4; places 1 3 6 7
 *
 * Equal keys belong in the order in which they come, so the sort is stable; what the keys are makes no difference. Cost: n keys read from
 * L2 by each multiprocessor, and a search among the own keys for each; two latencies of memory. In place, nobody may write before all have
 * read: then the CTAs wait for one another. Source: Muller and Preparata, Bounds to complexities of networks for sorting and for switching,
 * 1975.
 */
#ifndef UPSWEEP_CUDA_SORT_RANKS_CUH
#define UPSWEEP_CUDA_SORT_RANKS_CUH

#include <cooperative_groups.h>

#include "sort_scratch.cuh"
#include "sort_tile.cuh"

#define RANKS_VALUE_MAX 16 /* bytes; of larger values, the indices are sorted */

/* Shared memory. */
template <typename KEY> struct rank_desk {
    KEY key[RANKS_OWN_MAX], image[RANKS_OWN_MAX], sorted[RANKS_OWN_MAX]; /* as they are; as they are compared; and sorted */
    uint16_t number[RANKS_OWN_MAX];                                      /* of the sorted ones: which key it is */
    uint32_t before[RANKS_OWN_MAX];                                      /* others that belong just before this one */
    uint32_t sums[32];
    alignas(16) char values[RANKS_OWN_MAX * RANKS_VALUE_MAX];
};

/* All other keys: looks for each where it belongs among the NOWN own ones, and counts it there: behind those that are less; and behind
 * equal ones, too, if it comes later in the input, which are those that are less than the next greater image. */
template <uint32_t NOWN, typename KEY>
static __device__ __forceinline__ void count_before(const struct sort_job &job, const struct key_order<KEY> &order, KEY bits, KEY one,
                                                    struct rank_desk<KEY> &s) {
    constexpr uint32_t TOGETHER = 4, NBYTES = sizeof(KEY);
    const uint32_t n = (uint32_t)job.n, begin = blockIdx.x * NOWN;
    const char *sorted = (const char *)s.sorted;
#pragma unroll 1
    for (uint32_t first = threadIdx.x; first < n; first += blockDim.x * TOGETHER) {
        KEY images[TOGETHER];
        uint32_t at[TOGETHER]; /* in bytes, which saves an instruction a step */
        bool there[TOGETHER];
#pragma unroll
        for (uint32_t k = 0; k < TOGETHER; k++) {
            const uint32_t i = first + k * blockDim.x;
            there[k] = i < n && i - begin >= NOWN;
            images[k] = there[k] ? ((const KEY *)job.keys_in)[i] : (KEY)0;
        }
#pragma unroll
        for (uint32_t k = 0; k < TOGETHER; k++) {
            const bool later = first + k * blockDim.x >= begin;
            const KEY image = (KEY)(order.image(images[k]) & bits);
            images[k] = (KEY)(image + (later ? one : (KEY)0));
            there[k] = there[k] && (!later || image != bits); /* the greatest, if it comes later, is before none */
            at[k] = 0;
        }
#pragma unroll
        for (uint32_t step = NOWN / 2; step > 0; step /= 2) {
#pragma unroll
            for (uint32_t k = 0; k < TOGETHER; k++)
                if (*(const KEY *)(sorted + at[k] + (step - 1) * NBYTES) < images[k]) at[k] += step * NBYTES;
        }
#pragma unroll
        for (uint32_t k = 0; k < TOGETHER; k++) {
            const uint32_t place = at[k] / NBYTES + (*(const KEY *)(sorted + at[k]) < images[k]);
            if (there[k] && place < NOWN) atomicAdd(&s.before[place], 1);
        }
    }
}

/* nown: keys of a CTA, a power of two. bits: of an image, that keys are sorted by. */
template <typename KEY>
__global__ void __launch_bounds__(RANKS_THREADS, 1)
    sort_by_ranks(const __grid_constant__ struct sort_job job, const uint64_t bits, const uint32_t nown) {
    __shared__ struct rank_desk<KEY> s;
    wait_for_predecessor();
    const KEY *keys = (const KEY *)job.keys_in;
    const struct key_order<KEY> order(job);
    const KEY mask = (KEY)bits, one = (KEY)(mask & (0 - mask)); /* one: what to add for the next greater image */
    const uint32_t t = threadIdx.x, n = (uint32_t)job.n, begin = blockIdx.x * nown, nbytes = job.value_nbytes;
    if (t < nown) {
        const bool has = begin + t < n;
        const KEY key = has ? keys[begin + t] : (KEY)0;
        s.key[t] = key;
        s.image[t] = has ? (KEY)(order.image(key) & mask) : (KEY) ~(KEY)0;
        s.before[t] = 0;
        if (has && job.values_in)
            copy_value(s.values + t * nbytes, (const char *)job.values_in + (uint64_t)(begin + t) * nbytes, nbytes, job.value_unit);
    }
    __syncthreads(); /* all own keys */
    if (t < nown) {
        const KEY mine = s.image[t];
        uint32_t place = 0;
#pragma unroll 8
        for (uint32_t i = 0; i < nown; i++) place += s.image[i] < mine || (s.image[i] == mine && i < t);
        s.sorted[place] = mine;
        s.number[place] = (uint16_t)t;
    }
    __syncthreads(); /* they are sorted */
    switch (nown) {
    case 16:
        count_before<16>(job, order, mask, one, s);
        break;
    case 32:
        count_before<32>(job, order, mask, one, s);
        break;
    case 64:
        count_before<64>(job, order, mask, one, s);
        break;
    default:
        count_before<128>(job, order, mask, one, s);
    }
    __syncthreads(); /* all others are counted */
    const uint32_t before = t < nown ? s.before[t] : 0;
    const uint64_t place = scan_threads(before, s.sums) + before + t;
    if (job.in_place && gridDim.x > 1) cooperative_groups::this_grid().sync(); /* all have read what is now overwritten */
    if (t >= nown || begin + s.number[t] >= n) return;
    const uint32_t number = s.number[t];
    char *value = (char *)job.values_out + place * nbytes;
    if (!job.drop_keys) ((KEY *)job.keys_out)[place] = s.key[number];
    if (!job.has_values) return;
    if (job.values_in)
        copy_value(value, s.values + number * nbytes, nbytes, job.value_unit);
    else if (nbytes == 4)
        *(uint32_t *)value = begin + number;
    else
        *(uint64_t *)value = begin + number;
}

static_assert(RANKS_OWN_MIN == 16 && RANKS_OWN_MAX == 128, "all numbers of own keys have their code");

/* ---- the host's part --------------------------------------------------------------------------------------------------------- */

/* Keys of a CTA, so that there is one for each multiprocessor. */
static uint32_t own_keys(const struct cuda_queue *queue, uint64_t n) {
    uint32_t nown = RANKS_OWN_MIN;
    while (nown <= RANKS_OWN_MAX && n > (uint64_t)nown * (uint32_t)queue->nsms) nown *= 2;
    return nown;
}

/* Is it for this sort? */
static bool is_ranked(const struct cuda_queue *queue, const struct sort_args *args) {
    const uint64_t most = ranks_max(upsweep_type_nbytes(args->type), !args->values_out);
    if (args->n > most || own_keys(queue, args->n) > RANKS_OWN_MAX) return false;
    return !is_in_place(args, args->value_nbytes > RANKS_VALUE_MAX) || args->n <= RANKS_OWN_MIN ||
           (queue->cooperative && !queue->only_lookback);
}

template <typename KEY>
static cudaError_t launch_ranks(const struct sort_job *job, const struct cuda_queue *queue, const struct sort_args *args) {
    const uint32_t nown = own_keys(queue, job->n), nctas = ((uint32_t)job->n + nown - 1) / nown, nbits = args->hi_bit - args->lo_bit;
    const uint64_t bits = nbits == 0 ? 0 : ~UINT64_C(0) >> (64 - nbits) << args->lo_bit;
    const uint32_t nthreads = job->n <= RANKS_FEW ? RANKS_THREADS / 2 : RANKS_THREADS;
    if (job->in_place && nctas > 1) return launch_resident(queue, sort_by_ranks<KEY>, nctas, nthreads, 0, *job, bits, nown);
    return launch_next(queue, sort_by_ranks<KEY>, nctas, nthreads, 0, *job, bits, nown);
}

#endif
