/* utf8_measure.cuh: what a conversion would come to, without output. From UTF-8, utf8_count.cuh does it faster.
 *
 * Where nothing is written nobody needs to know where its output begins, so no tile waits for another: every CTA reduces its own stretch of
 * the text, tile after tile, with the reduce of the conversion's look-back policy, and leaves what it has found. One CTA writes the report
 * itself. In a cluster all send their parts to the first CTA; it takes half a microsecond. More CTAs leave theirs in control memory, and
 * whoever is done last combines them in their order, which takes two. A strict stretch ends at its first ill-formed sequence.
 * Cost: the text once, at the speed of memory or of the integer units, whichever is less. */
#ifndef UPSWEEP_CUDA_UTF8_MEASURE_CUH
#define UPSWEEP_CUDA_UTF8_MEASURE_CUH

#include "cluster.cuh"
#include "utf8_report.cuh"

enum { UTF8_MAX_PARTS = 2048 };

/* What a CTA has found. */
struct Utf8Part {
    unsigned long long units; /* with UTF8_CUT */
    unsigned long long bad_sequences, bad_units, error_at;
};

/* In control memory. */
struct Utf8Parts {
    unsigned long long arrived; /* zero between calls */
    unsigned long long apart[15];
    Utf8Part part[UTF8_MAX_PARTS];
};

static __device__ __forceinline__ Utf8Part utf8_part_none() { return {0, 0, 0, UTF8_NOWHERE}; }

/* b follows a. */
static __device__ __forceinline__ Utf8Part append(Utf8Part a, Utf8Part b) {
    return {UntilCut::apply(a.units, b.units), a.bad_sequences + b.bad_sequences, a.bad_units + b.bad_units, min(a.error_at, b.error_at)};
}

/* Bytes of cleaned text: what is not ill-formed, and three for each sequence that is. */
static __device__ inline uint64_t cleaned_length(const Utf8Args &args, const Utf8Part &all) {
    const TextSpan span = whole_span(args);
    if (args.strict) return (all.error_at != UTF8_NOWHERE ? all.error_at : span.end) - span.first;
    return span.end - span.first - all.bad_units + (args.replace ? 3 * all.bad_sequences : 0);
}

/* By one thread: all parts together. */
static __device__ __forceinline__ void report_all(const Utf8Args &args, const Utf8Part &all) {
    write_report(args, args.clean ? cleaned_length(args, all) : all.units & ~UTF8_CUT, all.bad_sequences, all.bad_units, all.error_at);
}

/* By all threads of the CTA that is done last. */
template <int THREADS> static __device__ void combine_parts(const Utf8Args &args, const Utf8Parts *parts) {
    __shared__ Utf8Part s_warp[THREADS / 32];
    const uint32_t each = (gridDim.x + THREADS - 1) / THREADS;
    Utf8Part mine = utf8_part_none();
    /* All lanes take as many turns: where some leave early, what follows is gone through twice (2 us). */
#pragma unroll 4 /* loads leave together */
    for (uint32_t k = 0; k < each; k++) {
        const uint32_t i = threadIdx.x * each + k;
        const ulonglong2 *const from = (const ulonglong2 *)&parts->part[min(i, gridDim.x - 1)];
        const ulonglong2 a = __ldcg(from), b = __ldcg(from + 1);
        if (i < gridDim.x) mine = append(mine, {a.x, a.y, b.x, b.y});
    }
    unsigned long long units[1] = {mine.units}, sums[2] = {mine.bad_sequences, mine.bad_units}, error_at[1] = {mine.error_at};
    warp_fold_rows<UntilCut>(units);
    warp_fold_rows<Add<unsigned long long>>(sums);
    warp_fold_rows<Min<uint64_t>>(error_at);
    if (threadIdx.x % 32 == 0) s_warp[threadIdx.x / 32] = {units[0], sums[0], sums[1], error_at[0]};
    __syncthreads(); /* what the warps have combined is there */
    if (threadIdx.x != 0) return;
    Utf8Part all = utf8_part_none();
    for (int w = 0; w < THREADS / 32; w++) all = append(all, s_warp[w]);
    report_all(args, all);
}

/* By all threads of a CTA, of which thread 0 knows what it has found. */
template <int THREADS> static __device__ void hand_in_part(const Utf8Args &args, Utf8Parts *parts, Utf8Part mine) {
    __shared__ bool s_last;
    if (gridDim.x == 1) {
        if (threadIdx.x == 0) report_all(args, mine);
        return;
    }
    if (threadIdx.x == 0) {
        parts->part[blockIdx.x] = mine;
        __threadfence(); /* the part must be there when the arrival is */
        s_last = atomicAdd(&parts->arrived, 1ull) == gridDim.x - 1;
        __threadfence(); /* and the other parts, seen from here on */
    }
    __syncthreads(); /* it is known who was last */
    if (!s_last) return;
    combine_parts<THREADS>(args, parts);
    if (threadIdx.x == 0) parts->arrived = 0;
}

/* ---- one cluster ------------------------------------------------------------------------------------------------------------- */

/* In the shared memory of the first CTA of a cluster: the parts of all, and a barrier that counts them in. */
struct Utf8Gathering {
    uint64_t arrived;
    alignas(16) Utf8Part part[CLUSTER_MAX_CTAS];
};

/* By all threads, before anything else. */
static __device__ __forceinline__ void begin_gathering(Utf8Gathering &s) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0) {
        barrier_init(&s.arrived, 1);
        barrier_init_fence();
        barrier_arrive_expect(&s.arrived, gridDim.x * (unsigned)sizeof s.part[0]);
    }
    cluster_arrive(); /* our barrier is set up */
#endif
}

/* By all threads: instead of hand_in_part(). */
static __device__ __forceinline__ void hand_in_to_first(const Utf8Args &args, Utf8Gathering &s, Utf8Part mine) {
#if __CUDA_ARCH__ >= 900
    cluster_wait(); /* that of the first CTA is */
    if (threadIdx.x != 0) return;
    const unsigned long long word[4] = {mine.units, mine.bad_sequences, mine.bad_units, mine.error_at};
#pragma unroll
    for (int i = 0; i < 4; i++) send(cell_in_cta((uint64_t *)&s.part[blockIdx.x] + i, &s.arrived, 0), word[i]);
    if (blockIdx.x != 0) return;
    barrier_wait(&s.arrived, 0);
    Utf8Part all = utf8_part_none();
    for (uint32_t i = 0; i < gridDim.x; i++) all = append(all, s.part[i]);
    report_all(args, all);
#endif
}

/* By all threads of a CTA, of which thread 0 knows what it has found. parts: NULL in a cluster. */
template <int THREADS>
static __device__ __forceinline__ void leave_part(const Utf8Args &args, Utf8Parts *parts, Utf8Gathering &gathering, Utf8Part mine) {
    if (parts == nullptr)
        hand_in_to_first(args, gathering, mine);
    else
        hand_in_part<THREADS>(args, parts, mine);
}

/* Queues a kernel by so many CTAs, each of which has `each` of all tiles or groups: one cluster, if it is as few. */
template <class Count>
static cudaError_t launch_for_parts(const struct cuda_queue *queue, const void *kernel, uint32_t nctas, uint32_t nthreads,
                                    const Utf8Args &args, Count all, Count each) {
    Utf8Parts *parts = (Utf8Parts *)((char *)queue->control + CUDA_CONTROL_UTF8_PARTS);
    void *parameters[] = {(void *)&args, &all, &each, &parts};
    if (nctas == 1 || !is_one_cluster(queue, nctas)) return launch_overlapping(queue, kernel, nctas, nthreads, 1, parameters);
    parts = NULL;
    return launch_one_cluster(queue, kernel, nctas, nthreads, parameters);
}

/* ---- the kernel -------------------------------------------------------------------------------------------------------------- */

/* P: a policy of the look-back pass. A CTA has `each` tiles. */
template <class P>
static __global__ void __launch_bounds__(P::THREADS, P::CTAS)
    utf8_measure_kernel(const __grid_constant__ Utf8Args args, uint32_t ntiles, uint32_t each, Utf8Parts *parts) {
    enum { WARPS = P::THREADS / 32 };
    __shared__ typename P::Shared s_policy;
    __shared__ Utf8Gathering s_gathering;
    __shared__ unsigned long long s_units[WARPS];
    __shared__ bool s_stop;
    if (parts == nullptr) begin_gathering(s_gathering);
    wait_for_previous(args, ntiles, each, parts);
    let_next_start();
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    Utf8Part mine = utf8_part_none(); /* of thread 0 */
    for (uint32_t tile = blockIdx.x * each; tile < min((blockIdx.x + 1) * each, ntiles); tile++) {
        P policy;
        const unsigned long long units = policy.reduce(args, tile, s_policy, warp, lane);
        if (lane == 0) s_units[warp] = units;
        __syncthreads(); /* the warps' counts and findings are there */
        if (threadIdx.x == 0) {
            const Utf8Found &found = s_policy.found;
            const uint64_t error_at = found.sequences == 0 ? UTF8_NOWHERE : P::first_of(tile) + found.first - UTF8_PLACE_ZERO;
            mine = append(mine, {0, found.sequences, found.units, error_at});
            for (int w = 0; w < WARPS; w++) mine.units = UntilCut::apply(mine.units, s_units[w]);
            s_stop = (mine.units & UTF8_CUT) != 0;
        }
        __syncthreads(); /* they have been read, and so has the text */
        if (s_stop) break;
    }
    leave_part<P::THREADS>(args, parts, s_gathering, mine);
}

template <class P> static cudaError_t launch_utf8_measure(const struct cuda_queue *queue, const Utf8Args &args) {
    const uint32_t room = (uint32_t)queue->nsms * P::CTAS, most = room < UTF8_MAX_PARTS ? room : UTF8_MAX_PARTS;
    const uint32_t each = (args.ntiles + most - 1) / most, nctas = (args.ntiles + each - 1) / each;
    return launch_for_parts(queue, (const void *)utf8_measure_kernel<P>, nctas, P::THREADS, args, args.ntiles, each);
}

#endif
