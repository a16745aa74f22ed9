/* utf8_count.cuh: validate and count: what UTF-8 would come to, by warps that each stream a stretch of it through shared memory.
 *
 *   a warp      [ group 0 | group 1 | group 2 ... ]      3,584 bytes each: four rows of 32 windows, of which 28 bytes are owned; of short
 *                                                        texts 896: one row
 *   buffers     group k + 1 is on its way while group k is looked at; no warp waits for another
 *
 * A group of ASCII costs a vote, a well-formed one planes and a count of bits a row, and another vote (utf8_rules.cuh). Only a group with
 * something wrong in it is gone through again, row by row, and the one after it straight away so. Parts and report as in utf8_measure.cuh.
 * The copies are asynchronous on sm_80 and newer, so they take no registers. Cost: the text once. */
#ifndef UPSWEEP_CUDA_UTF8_COUNT_CUH
#define UPSWEEP_CUDA_UTF8_COUNT_CUH

#include "async.cuh"
#include "utf8_measure.cuh"
#include "utf8_stage.cuh"

/* ---- one warp ---------------------------------------------------------------------------------------------------------------- */

/* ROWS of a group. */
template <int N_ROWS> struct Utf8Counter {
    enum { ROWS = N_ROWS, OWNED = 28, ROW_NBYTES = 32 * OWNED, GROUP_NBYTES = ROWS * ROW_NBYTES, BUFFERS = 2, AHEAD = BUFFERS - 1 };
    enum { VECTORS = GROUP_NBYTES / 16 + 1 };
    enum : uint32_t { OWNED_BITS = 0x7FFFFFF8 };
    typedef unsigned char Buffer[16 + GROUP_NBYTES]; /* the group from 16 on */

    const Utf8Args &args;
    int lane;
    unsigned long long units;            /* of this lane */
    unsigned long long sequences, wrong; /* ill-formed ones and the bytes in them, of this lane */
    unsigned long long error_at;         /* of this lane: the first one it has seen, as it goes from left to right */
    bool is_cut, was_bad;                /* of all lanes; was_bad: there was something wrong in the group before */

    static __device__ __forceinline__ bool is_inner(const Utf8Args &args, uint64_t group) {
        return is_inner_tile(args, group * GROUP_NBYTES, GROUP_NBYTES);
    }

    /* Begins to bring a group. Where the text begins and ends, some of it is brought by hand. */
    __device__ __forceinline__ void fetch(unsigned char *buffer, uint64_t group) const {
        const int64_t at = (int64_t)(group * GROUP_NBYTES) - 16;
        if (!is_inner(args, group)) {
            fetch_end(args, buffer, at, lane);
            return;
        }
        const uint4 *from = (const uint4 *)(args.in + at);
#pragma unroll
        for (int v = 0; v < VECTORS / 32; v++) copy_async((uint4 *)buffer + 32 * v + lane, from + 32 * v + lane);
        if (lane < VECTORS % 32) copy_async((uint4 *)buffer + VECTORS / 32 * 32 + lane, from + VECTORS / 32 * 32 + lane);
    }

    static __device__ __noinline__ void fetch_end(const Utf8Args &args, unsigned char *buffer, int64_t at, int lane) {
        const uint64_t end = whole_span(args).end;
#pragma unroll 1
        for (int v = lane; v < VECTORS; v += 32) {
            const int64_t from = at + 16 * v;
            if (is_whole_vector(from, args.begin, end))
                copy_async((uint4 *)buffer + v, (const uint4 *)(args.in + from));
            else
                ((uint4 *)buffer)[v] =
                    is_cut_vector(from, args.begin, end) ? load_cut_vector(args.in, from, args.begin, end) : uint4{0, 0, 0, 0};
        }
    }

    __device__ __forceinline__ void load_window(uint32_t (&word)[UTF8_WINDOW_WORDS], const unsigned char *text, int r) const {
        const uint32_t *const from = (const uint32_t *)(text + r * ROW_NBYTES + lane * OWNED - 4);
#pragma unroll
        for (int i = 0; i < UTF8_WINDOW_WORDS; i++) word[i] = from[i];
    }

    /* Code units that ends of sequences become; cleaned text is counted otherwise. */
    __device__ __forceinline__ uint32_t units_at(uint32_t ends, uint32_t of_4) const {
        return (uint32_t)__popc(ends) + (args.of_4_twice ? (uint32_t)__popc(of_4) : 0);
    }

    /* All rows at once, so that one fills the gaps of another. Returns whether all is well; only then has it counted. */
    __device__ __forceinline__ bool count_good_group(const unsigned char *text) {
        uint32_t word[ROWS][UTF8_WINDOW_WORDS], any = 0, wrong_bits = 0, mine = 0;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            load_window(word[r], text, r);
#pragma unroll
            for (int i = 0; i < UTF8_WINDOW_WORDS; i++) any |= word[r][i];
        }
        if (!__any_sync(ALL_LANES, (any & 0x80808080) != 0)) {
            units += ROWS * OWNED;
            return true;
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const Utf8Classes classes = classes_of(planes_of(word[r]));
            const Utf8Ends good = find_good_ends(classes);
            wrong_bits |= what_is_wrong(classes);
            mine += units_at(good.all & OWNED_BITS, good.of_4 & OWNED_BITS);
        }
        if (__any_sync(ALL_LANES, wrong_bits != 0)) return false;
        units += mine;
        return true;
    }

    struct GroupSums {
        uint32_t units, sequences, wrong; /* wrong: bytes of ill-formed sequences after their first */
    };

    /* at: of the window. */
    __device__ __forceinline__ void count_row(GroupSums &sums, const Utf8Ends &ends, uint64_t at, const TextSpan &span, bool inner) {
        const uint32_t owned = inner ? OWNED_BITS : OWNED_BITS & window_bits(at, span), bad = ends.bad & owned;
        uint32_t counted = owned & ends.all & (args.replace ? ~0u : ~ends.bad);
        if (args.strict) is_cut = cut_row(counted, bad, is_cut, lane);
        sums.units += units_at(counted, counted & ends.of_4);
        sums.sequences += (uint32_t)__popc(bad);
        sums.wrong += (uint32_t)(__popc(bad & ends.bad_2) + __popc(bad & ends.bad_3));
        if (bad == 0 || error_at != UTF8_NOWHERE) return;
        Utf8Found found = utf8_found_none();
        take_bad(found, ends, bad, 0);
        error_at = at + found.first - UTF8_PLACE_ZERO;
    }

    /* A group that is not all well, or not all text. */
    __device__ __forceinline__ void count_any_group(const unsigned char *text, uint64_t group, bool inner) {
        const TextSpan span = inner ? UTF8_EVERYWHERE : whole_span(args);
        GroupSums sums = {0, 0, 0};
#pragma unroll 1
        for (int r = 0; r < ROWS && !is_cut; r++) {
            uint32_t word[UTF8_WINDOW_WORDS];
            load_window(word, text, r);
            const Utf8Ends ends = find_ends(classes_of(planes_of(word)));
            count_row(sums, ends, group * GROUP_NBYTES + (uint64_t)(int64_t)(r * ROW_NBYTES + lane * OWNED - 4), span, inner);
        }
        units += sums.units;
        sequences += sums.sequences;
        wrong += sums.sequences + sums.wrong;
        was_bad = __any_sync(ALL_LANES, sums.sequences != 0);
    }

    /* Groups [first, end). After a group with errors, the next one is not even hoped to be good. */
    __device__ __forceinline__ void count(Buffer *buffers, uint64_t first, uint64_t end) {
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            if (first + (uint64_t)i < end) fetch(buffers[i], first + (uint64_t)i);
            end_of_copies();
        }
#pragma unroll 1
        for (uint64_t group = first; group < end && !is_cut; group++) {
            if (group + AHEAD < end) fetch(buffers[(group + AHEAD - first) % BUFFERS], group + AHEAD);
            end_of_copies();
            wait_for_groups<AHEAD>();
            __syncwarp(); /* the group is there, brought by all lanes */
            const bool inner = is_inner(args, group);
            const unsigned char *const text = buffers[(group - first) % BUFFERS] + 16;
            if (!inner || was_bad || !count_good_group(text)) count_any_group(text, group, inner);
            __syncwarp(); /* it has been looked at */
        }
    }

    /* What the lanes have found together; cut off lanes have counted nothing since. */
    __device__ __forceinline__ Utf8Part part() const {
        unsigned long long sums[3] = {units, sequences, wrong}, least[1] = {error_at};
        warp_fold_rows<Add<unsigned long long>>(sums);
        warp_fold_rows<Min<uint64_t>>(least);
        return {sums[0] | (is_cut ? UTF8_CUT : 0), sums[1], sums[2], least[0]};
    }
};

/* A CTA has `each` of the groups, and its warps share them out in order. parts: NULL in a cluster. */
template <class Shape>
static __global__ void __launch_bounds__(Shape::WARPS * 32, Shape::CTAS)
    utf8_count_kernel(const __grid_constant__ Utf8Args args, uint64_t ngroups, uint64_t each, Utf8Parts *parts) {
    enum { WARPS = Shape::WARPS };
    typedef Utf8Counter<Shape::ROWS> Counter;
    __shared__ alignas(16) typename Counter::Buffer s_text[WARPS][Counter::BUFFERS];
    __shared__ Utf8Part s_part[WARPS];
    __shared__ Utf8Gathering s_gathering;
    if (parts == nullptr) begin_gathering(s_gathering);
    wait_for_previous();
    let_next_start();
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const uint64_t mine = (uint64_t)blockIdx.x * each, groups = mine < ngroups ? min(each, ngroups - mine) : 0;
    Counter counter = {args, lane, 0, 0, 0, UTF8_NOWHERE, false, false};
    counter.count(s_text[warp], mine + groups * (uint64_t)warp / WARPS, mine + groups * (uint64_t)(warp + 1) / WARPS);
    const Utf8Part found = counter.part();
    if (lane == 0) s_part[warp] = found;
    __syncthreads(); /* the warps' parts are there */
    Utf8Part all = utf8_part_none();
    if (threadIdx.x == 0)
        for (int w = 0; w < WARPS; w++) all = append(all, s_part[w]);
    leave_part<WARPS * 32>(args, parts, s_gathering, all);
}

template <class Shape> static cudaError_t launch_count(const struct cuda_queue *queue, const Utf8Args &args, uint64_t ngroups) {
    const uint64_t room = (uint64_t)queue->nsms * Shape::CTAS, most = room < UTF8_MAX_PARTS ? room : UTF8_MAX_PARTS;
    const uint64_t few = ngroups <= 2 * Shape::WARPS ? 2 * Shape::WARPS : Shape::WARPS, spread = (ngroups + most - 1) / most;
    const uint64_t each = spread > few ? spread : few;
    return launch_for_parts(queue, (const void *)utf8_count_kernel<Shape>, (uint32_t)((ngroups + each - 1) / each), Shape::WARPS * 32, args,
                            ngroups, each);
}

/* A group begins one byte early: n + 1 places. */
template <class Shape> static uint64_t groups_of(const Utf8Args &args) { return args.n / Utf8Counter<Shape::ROWS>::GROUP_NBYTES + 1; }

static cudaError_t launch_utf8_count(const struct cuda_queue *queue, const Utf8Args &args) {
    if (args.n < UTF8_COUNT_SHORT_NBYTES) return launch_count<Utf8CountShortShape>(queue, args, groups_of<Utf8CountShortShape>(args));
    return launch_count<Utf8CountLongShape>(queue, args, groups_of<Utf8CountLongShape>(args));
}

#endif
