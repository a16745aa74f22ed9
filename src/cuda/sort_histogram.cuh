/* sort_histogram.cuh: one read of the keys gives the histograms of all digits, and with them the plan of the whole sort.
 *
 * Counts do not depend on the order of the keys, so all passes' histograms can be taken before the first. Each CTA counts in shared memory
 * and adds its counts to the global ones; the CTA that finishes last scans them, so that they say where each digit starts, and writes the
 * plan: a digit that all keys share needs no pass.
 *
 * The plan must also end in `out` however many passes are live. Buffers alternate, the last move writes `out`, the first reads `in`:
 *     one move      in -> out
 *     two moves     in -> tmp -> out
 *     three         in -> out -> tmp -> out
 * In place `in` is `out`, so the number of moves must be even: where it is not, one skipped pass copies instead. The launcher makes sure
 * that there is one, by adding a pass over no bits if the number of passes is odd.
 *
 * If all keys share some bits, and a pass can be saved by leaving them out, digits are cut out of what is left (sort_gaps.cuh). Keys that
 * something goes with are written as what is left of them, to the buffer that the first pass does not write, and that is where it reads
 * them; a last pass opens them.
 *
 * Of 64-bit keys a sample says whether the highest digits tell them apart; then passes by the others are left out (sort_mend.cuh).
 *
 * Many keys alone are counted by value instead, if there are few values (sort_few.cuh); then there is no pass, but for keys of others.
 * A split that knows from a sample that it is not for the keys does all this at once, unless more must be known of them (sort_split.cuh).
 * Cost: the keys read once.  Source: Adinets and Merrill, Onesweep, 2022, section 4.1 */
#ifndef UPSWEEP_CUDA_SORT_HISTOGRAM_CUH
#define UPSWEEP_CUDA_SORT_HISTOGRAM_CUH

#include "sort_few.cuh"
#include "sort_gaps.cuh"
#include "sort_mend.cuh"
#include "sort_rank.cuh"
#include "sort_strays.cuh"

/* ---- counting ---------------------------------------------------------------------------------------------------------------- */

/* Counts the digits of all passes; counts [passes][digits][copies] in shared memory. With 32 copies every lane has its own, in a bank of
 * its own, so that no two lanes ever wait for each other, whatever the keys. */
template <typename PLAN, typename ORDER> struct digit_counts {
    const struct sort_job &job;
    const PLAN &plan; /* what has the digits' shifts and masks */
    const ORDER order;
    uint32_t *const counts;

    template <typename KEY, int N> __device__ __forceinline__ void add(KEY (&keys)[N]) const {
        uint32_t *copy = counts + (threadIdx.x & (job.histogram_copies - 1));
        order.make_images(keys);
        for (uint32_t pass = 0; pass < job.npasses; pass++, copy += SORT_DIGITS * job.histogram_copies) {
            if (plan.mask[pass] == 0) continue;
#pragma unroll
            for (int i = 0; i < N; i++) atomicAdd(&copy[digit_of(keys[i], plan.shift[pass], plan.mask[pass]) * job.histogram_copies], 1);
        }
    }
};

/* Counts all keys, of which add() makes closed images, and writes the keys that have these images. */
template <typename KEY, typename COUNTS>
static __device__ __forceinline__ void close_keys(const struct sort_job &job, KEY *closed, const COUNTS &counts) {
    constexpr uint32_t LOADS = 8;
    const KEY *keys = (const KEY *)job.keys_in;
    const struct key_order<KEY> order(job);
    const uint64_t nthreads = (uint64_t)gridDim.x * blockDim.x;
    uint64_t at = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; at + (LOADS - 1) * nthreads < job.n; at += LOADS * nthreads) {
        KEY some[LOADS];
#pragma unroll
        for (uint32_t i = 0; i < LOADS; i++) some[i] = keys[at + i * nthreads];
        counts.add(some);
#pragma unroll
        for (uint32_t i = 0; i < LOADS; i++) closed[at + i * nthreads] = order.key_of_image(some[i]);
    }
    for (; at < job.n; at += nthreads) {
        KEY one[1] = {keys[at]};
        counts.add(one);
        closed[at] = order.key_of_image(one[0]);
    }
}

/* Counts the CTA's share of all keys, and adds its counts to those of all. A CTA's counters have 32 bits: its share of the keys is below
 * 2^32 while a multiprocessor comes with less than 4 GB of memory. closed: NULL, or where closed keys are wanted. All threads call it. */
template <typename KEY, typename PLAN, typename ORDER>
static __device__ __forceinline__ void count_digits(const struct sort_job &job, const PLAN &plan, const ORDER &order, uint32_t *s_counts,
                                                    KEY *closed) {
    const uint32_t copies = job.histogram_copies, nwords = min(job.npasses, (uint32_t)sizeof(KEY)) * SORT_DIGITS * copies;
    for (uint32_t i = threadIdx.x; i < nwords; i += blockDim.x) s_counts[i] = 0;
    __syncthreads(); /* zeroes before counts */
    const struct digit_counts<PLAN, ORDER> counts = { job, plan, order, s_counts };
    if (closed)
        close_keys(job, closed, counts);
    else
        read_keys((const KEY *)job.keys_in, job.n, counts);
    __syncthreads(); /* all counts */
    const uint32_t nsums = nwords / copies;
    for (uint32_t k = threadIdx.x; k < nsums; k += blockDim.x) {
        const uint32_t i = (k + blockIdx.x * SORT_DIGITS) % nsums; /* CTAs begin in different places */
        uint32_t sum = 0;
        for (uint32_t copy = 0; copy < copies; copy++)
            sum += s_counts[i * copies + ((copy + threadIdx.x) & (copies - 1))]; /* each lane another bank */
        if (sum) atomicAdd((unsigned long long *)&job.header->base[0][i / SORT_DIGITS][i % SORT_DIGITS], (unsigned long long)sum);
    }
}

/* ---- the plan ---------------------------------------------------------------------------------------------------------------- */

/* Turns the histograms of SORT_HISTOGRAM_THREADS / SORT_DIGITS passes into starts, at once, since each waits for memory; ORs a bit into
 * *s_live for each pass in which more than one digit occurs. Returns how many keys have thread t's digit. All threads call it. s_sums
 * [warps]. */
static __device__ __forceinline__ uint64_t scan_histograms(const struct sort_job &job, uint32_t first_pass, uint64_t *s_sums,
                                                           uint32_t *s_live) {
    const uint32_t pass = first_pass + threadIdx.x / SORT_DIGITS;
    uint64_t *base = &job.header->base[0][pass][threadIdx.x % SORT_DIGITS];
    const uint64_t count = pass < job.npasses ? __ldcg(base) : 0; /* from L2, where the other CTAs' atomics took place */
    const uint64_t start = scan_threads(count, s_sums, threadIdx.x / SORT_DIGITS * (SORT_DIGITS / 32));
    if (pass < job.npasses) *base = start;
    if (count > 0 && count < job.n) atomicOr(s_live, 1u << pass);
    __syncthreads(); /* s_sums may be used again, and *s_live is known */
    return count;
}

/* How often keys are moved if so many passes sort. */
static __device__ uint32_t moves_of(const struct sort_job &job, uint32_t nlive) {
    const uint32_t moves = nlive + (job.in_place && nlive % 2);
    return moves > 0 || job.all_in_place ? moves : job.in_place ? 2 : 1;
}

/* What a move writes that so many follow. */
static __device__ uint32_t buffer_before(uint32_t moves) { return moves % 2 == 0 ? BUFFER_OUT : BUFFER_TMP; }

/* live: a bit for each pass that must sort. plan: what has their shifts and masks. varying: bits outside of which images agree. closed: the
 * keys have been written closed up. strays: as codes. mends: keys that no digit of these tells apart are to be put in order. All threads
 * may call it; each of the first writes a pass. */
template <typename PLAN>
static __device__ void write_plan(const struct sort_job &job, const PLAN &plan, uint32_t live, uint64_t varying, bool closed, bool strays,
                                  bool mends) {
    const uint32_t pass = threadIdx.x, nlive = (uint32_t)__popc(live), moves = moves_of(job, nlive), below = (1u << pass % 32) - 1;
    uint32_t runs = live;
    for (uint32_t copies = moves - nlive; copies > 0; copies--) runs |= ~runs & (runs + 1); /* the lowest that does not sort copies */
    const bool opens = closed && (!job.drop_keys || strays);
    struct pass_plan *run = job.header->run, *more = run + moves + opens + strays;
    if (pass < job.npasses && runs >> pass & 1) {
        const uint32_t moved = (uint32_t)__popc(runs & below), src = moved == 0 ? BUFFER_IN : buffer_before(moves - moved);
        struct pass_plan &mine = run[moved];
        mine.pass = pass;
        mine.low = live >> pass & 1 ? constant_below(varying >> plan.shift[pass] & plan.mask[pass]) : 0;
        mine.shift = plan.shift[pass] + mine.low;
        mine.mask = plan.mask[pass] >> mine.low;
        mine.kind = live >> pass & 1 ? PASS_SORTS : PASS_COPIES;
        mine.first = moved == 0;
        mine.last = moved == moves - 1 && !strays && !mends;
        mine.again = false;
        mine.src = src;
        mine.dst = buffer_before(moves - 1 - moved);
        mine.keys_src = closed && moved == 0 ? buffer_before(moves) : src;
        mine.live = (uint32_t)__popc(live & below);
    }
    if (pass < job.npasses && mends) {
        const uint32_t from = pass % 2 ? BUFFER_TMP : BUFFER_OUT, to = pass % 2 ? BUFFER_OUT : BUFFER_TMP;
        const bool last = pass == job.npasses - 1;
        const struct pass_plan again = {pass, plan.shift[pass], plan.mask[pass], 0, PASS_SORTS, false, last, true, from, to,
                                        from, nlive + pass};
        more[1 + pass] = again;
    }
    if (pass > 0) return;
    const uint32_t low = mends ? plan.shift[__ffs((int)live) - 1] : 0;
    if (opens) run[moves] = {0, 0, 0, 0, PASS_OPENS, false, !strays, false, BUFFER_OUT, BUFFER_OUT, BUFFER_OUT, nlive};
    if (strays) run[moves + 1] = {0, 0, 0, 0, PASS_STRAYS, false, false, false, BUFFER_OUT, BUFFER_OUT, BUFFER_OUT, nlive};
    if (mends) more[0] = {0, low, 0, 0, PASS_MENDS, false, false, false, BUFFER_OUT, BUFFER_OUT, BUFFER_OUT, nlive};
    job.header->nruns[0] = moves + opens + strays;
    job.header->nruns[1] = mends ? 1 + job.npasses : 0;
}

/* The passes of keys that were put aside when all others were counted by value (sort_few.cuh): they lie in keys_tmp, and come back there,
 * since there are as many digits as bytes. */
static __device__ void plan_aside(const struct sort_job &job) {
    const uint32_t pass = threadIdx.x, from = pass % 2 ? BUFFER_OUT : BUFFER_TMP, to = pass % 2 ? BUFFER_TMP : BUFFER_OUT;
    if (pass == 0) job.header->nruns[0] = job.npasses;
    if (pass >= job.npasses) return;
    const struct pass_plan run = {pass, job.shift[pass], job.mask[pass], 0, PASS_SORTS, false, false, false, from, to, from, pass};
    job.header->run[pass] = run;
}

/* Are there gaps to be closed up? Then each CTA knows how, and the first leaves it to the passes. All threads call it. */
template <typename KEY> static __device__ __forceinline__ bool find_gaps(const struct sort_job &job, struct bit_gaps &s_gaps) {
    __shared__ uint64_t s_seen[32];
    __shared__ uint32_t s_nstrays;
    if (!job.seen || job.seen->nctas == 0) return false;
    const bool seen = threadIdx.x < job.seen->nctas;
    const uint32_t nstrays = seen && job.most_strays ? job.seen->nstrays[threadIdx.x] : 0;
    if (threadIdx.x == 0) s_nstrays = 0;
    __syncthreads(); /* 0 before sums */
    if (nstrays) atomicAdd(&s_nstrays, nstrays);
    const uint64_t varying = or_of_threads(seen ? job.seen->of_cta[threadIdx.x] : 0, s_seen); /* its barrier: all sums */
    const struct often_bits often = job.seen->often;
    const bool codes = codes_are_best(job, s_nstrays, often, varying, job.least_saved);
    if (!codes && digits_saved(varying) < job.least_saved) return false;
    if (threadIdx.x == 0) {
        const uint32_t nbits = count_bits(codes ? often.varying : varying), below = codes ? (uint32_t)sizeof(KEY) * 8 - nbits - 2 : 0;
        plan_digits(s_gaps, codes ? nbits + 2 : nbits, below);
        plan_closing<KEY>(s_gaps, (KEY)(codes ? often.varying : varying),
                          codes ? (KEY)often.shared : key_order<KEY>(job).image(*(const KEY *)job.keys_in));
        s_gaps.code_shift = below;
        if (blockIdx.x == 0) job.header->gaps = s_gaps;
    }
    __syncthreads(); /* the plan */
    return true;
}

/* ---- the kernels -------------------------------------------------------------------------------------------------------------- */

/* The first live pass looks at states[0]; every other launch's are cleared by the one before it. */
static __device__ __forceinline__ void clear_first_states(const struct sort_job &job) {
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < (uint64_t)job.state_rows * SORT_DIGITS;
         i += (uint64_t)gridDim.x * blockDim.x) {
        job.states[0][i] = 0;
    }
}

/* Is this the CTA that is done last? Then it sees what the others have counted. ndone: of CTAs. All threads of all CTAs call it. */
static __device__ __forceinline__ bool is_done_last(uint32_t *ndone) {
    __shared__ bool s_last;
    __threadfence(); /* this thread's counts before the CTA is counted as done */
    __syncthreads();
    if (threadIdx.x == 0) s_last = atomicAdd(ndone, 1) == gridDim.x - 1;
    __syncthreads();             /* s_last */
    if (s_last) __threadfence(); /* having seen the others done, see their counts */
    return s_last;
}

/* Which passes must sort: a bit for each. *varying: the bits in which digits that occur to this thread differ from those of the first key.
 * All threads call it. */
template <typename KEY>
static __device__ __forceinline__ uint32_t scan_all_histograms(const struct sort_job &job, uint64_t *s_sums, uint64_t *varying) {
    __shared__ uint32_t s_live;
    const KEY first = key_order<KEY>(job).image(*(const KEY *)job.keys_in);
    *varying = 0;
    if (threadIdx.x == 0) s_live = 0;
    __syncthreads(); /* zero before bits */
    for (uint32_t at = 0; at < job.npasses; at += SORT_HISTOGRAM_THREADS / SORT_DIGITS) {
        const uint64_t count = scan_histograms(job, at, s_sums, &s_live);
        const uint32_t pass = at + threadIdx.x / SORT_DIGITS, digit = threadIdx.x % SORT_DIGITS;
        if (count) *varying |= (uint64_t)(digit ^ digit_of(first, job.shift[pass], job.mask[pass])) << job.shift[pass];
    }
    return s_live;
}

/* Counts the digits of keys that are not closed up. sampled: some may be left out. All threads of all CTAs call it. */
template <typename KEY, typename ORDER>
static __device__ __forceinline__ void count_all_digits(const struct sort_job &job, const ORDER &order, uint32_t *s_counts, bool sampled) {
    if constexpr (sizeof(KEY) == 8) {
        if (sampled) draw_sample<KEY>(job);
    }
    count_digits(job, job, order, s_counts, (KEY *)NULL);
}

/* The plan of these, by the CTA that is done last. All threads call it. */
template <typename KEY>
static __device__ __forceinline__ void plan_passes(const struct sort_job &job, uint32_t live, uint64_t varying, uint32_t *s_words,
                                                   bool sampled) {
    uint32_t kept = live;
    if constexpr (sizeof(KEY) == 8) {
        if (sampled && __popc(live) >= MEND_LEAST_PASSES + MEND_LEAST_SAVED) kept = passes_that_tell(job, live, (KEY *)s_words);
    }
    write_plan(job, job, kept, varying, false, false, kept != live);
}

/* Leaves everything to the kernel below, as bits that do not vary are to be left out: so nothing has been counted yet. All threads call it.
 */
static __device__ __forceinline__ void plan_anew(const struct sort_job &job, uint64_t varying, uint32_t nstrays,
                                                 const struct often_bits &often, struct seen_bits *seen) {
    const uint32_t digit = threadIdx.x % SORT_DIGITS;
    for (uint32_t pass = threadIdx.x / SORT_DIGITS; pass < job.npasses; pass += SORT_HISTOGRAM_THREADS / SORT_DIGITS)
        job.header->base[0][pass][digit] = 0;
    if (threadIdx.x > 0) return;
    job.header->histograms_done = job.header->nstrays = 0;
    seen->of_cta[0] = varying;
    seen->nstrays[0] = nstrays;
    seen->often = often;
    seen->nctas = 1;
}

/* All that is to be done for keys that are not counted by value: by the kernel that finds out that they are left to the passes, and has as
 * many threads as the one below. What is counted tells which bits vary, too: if leaving the others out saves so many passes (seen: NULL,
 * or where that is told), or those that vary in strays only, the kernel below counts anew. All threads of all CTAs call it. Returns how it
 * went to the CTA that is done last, 0 to others. s_counts: the counters. */
template <typename KEY>
static __device__ __forceinline__ uint32_t count_and_plan(const struct sort_job &job, uint32_t *s_counts, struct seen_bits *seen,
                                                          uint32_t least_saved, const struct often_bits &often) {
    __shared__ uint64_t s_sums[SORT_HISTOGRAM_THREADS / 32];
    clear_first_states(job);
    __syncthreads(); /* nobody needs the shared memory any more */
    uint32_t nstrays = 0;
    count_all_digits<KEY>(job, stray_counter<KEY>{key_order<KEY>(job), often, nstrays}, s_counts, job.may_mend);
    nstrays = sum_warp(nstrays);
    if (threadIdx.x % 32 == 0 && nstrays) atomicAdd(&job.header->nstrays, nstrays);
    if (!is_done_last(&job.header->histograms_done)) return 0;
    uint64_t varying;
    const uint32_t live = scan_all_histograms<KEY>(job, s_sums, &varying);
    varying = or_of_threads(varying, s_sums);
    nstrays = __ldcg(&job.header->nstrays);
    if (seen && (digits_saved(varying) >= least_saved || codes_are_best(job, nstrays, often, varying, least_saved))) {
        __syncthreads(); /* all know how many */
        plan_anew(job, varying, nstrays, often, seen);
        return NOT_SPLIT;
    }
    plan_passes<KEY>(job, live, varying, s_counts, job.may_mend);
    return PASSES_PLANNED;
}

/* Dynamic shared memory: the counters; or a table of values. */
template <typename KEY>
__global__ void __launch_bounds__(SORT_HISTOGRAM_THREADS) sort_histogram(const __grid_constant__ struct sort_job job) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ uint64_t s_sums[SORT_HISTOGRAM_THREADS / 32];
    __shared__ struct value_desk s_values;
    wait_for_predecessor();
    if (!is_for_passes(job) || (job.only_if && *job.only_if == PASSES_PLANNED)) return;
    const bool perhaps_few = job.most_values && (!job.only_if || *job.only_if == PERHAPS_FEW);
    const bool sampled = job.may_mend && !perhaps_few; /* the sample lies where values would */
    clear_first_states(job);
    bool counted = false, tried = false, closed = false;
    KEY *closed_keys = NULL;
    __shared__ struct bit_gaps s_gaps;
    if constexpr (sizeof(KEY) >= 4) {
        closed = find_gaps<KEY>(job, s_gaps);
        counted = !closed && perhaps_few && count_by_value<KEY>(job, s_memory, s_values, &tried);
        if (closed && job.has_values)
            closed_keys = (KEY *)buffer_at(buffer_before(moves_of(job, s_gaps.ndigits)), NULL, job.keys_out, job.keys_tmp);
        const struct closing_order<KEY> order = { key_order<KEY>(job), s_gaps, job.header };
        if (closed) count_digits(job, s_gaps, order, (uint32_t *)s_memory, closed_keys);
    }
    if (!counted && !closed) count_all_digits<KEY>(job, key_order<KEY>(job), (uint32_t *)s_memory, sampled);
    if (!is_done_last(&job.header->histograms_done)) return;
    if constexpr (sizeof(KEY) >= 4) {
        counted = tried && plan_values<KEY>(job, s_memory, s_values, s_sums); /* all CTAs have tried, or none has */
        if (counted && s_values.naside == 0) return;
    }
    uint64_t varying;
    const uint32_t live = scan_all_histograms<KEY>(job, s_sums, &varying);
    if (counted) return plan_aside(job);
    varying = or_of_threads(varying, s_sums);
    if (!closed)
        plan_passes<KEY>(job, live, varying, (uint32_t *)s_memory, sampled);
    else
        write_plan(job, s_gaps, live, ~UINT64_C(0), closed_keys != NULL, s_gaps.code_shift > 0, false);
}

#endif
