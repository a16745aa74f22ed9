/* utf8_count.cuh: validate and count: what UTF-8 would come to, by warps that each stream a stretch of it through registers.
 *
 *   a warp      [ group 0 | group 1 | group 2 ... ]      eight strands (utf8_strands.cuh) of 512 bytes, 16 of them a lane's; of short texts
 *                                                        128 bytes, 4 a lane's
 *   registers   group k + 1 is on its way while group k is looked at; no warp waits for another
 *
 * A group of ASCII costs a vote, a well-formed one planes and a count of bits, and another vote. Only a group with something wrong in it is
 * gone through again, and the one after it straight away so. What is counted of a group are the sequences that end right before one of its
 * bytes. Parts and report as in utf8_measure.cuh. By way of shared memory (cp.async, 24 warps) the text came at 0.83 of the speed of
 * reading, so at 0.94 to 0.96. Cost: the text once. */
#ifndef UPSWEEP_CUDA_UTF8_COUNT_CUH
#define UPSWEEP_CUDA_UTF8_COUNT_CUH

#include "utf8_measure.cuh"
#include "utf8_stage.cuh"
#include "utf8_strands.cuh"

/* ---- one warp ---------------------------------------------------------------------------------------------------------------- */

template <class Shape> struct Utf8Counter {
    enum { WORDS = Shape::WORDS, LANE_NBYTES = 4 * WORDS };
    enum { STRAND_NBYTES = 32 * LANE_NBYTES, GROUP_NBYTES = UTF8_STRANDS * STRAND_NBYTES };
    typedef Vector<uint32_t, WORDS> Words;

    const Utf8Args &args;
    const int lane;
    uint32_t units;            /* of this lane, which sees less than 2^31 bytes */
    uint32_t sequences, wrong; /* ill-formed ones and the bytes in them, of this lane */
    uint64_t error_at;         /* of this lane: the first one it has seen, as it goes from left to right */
    bool is_cut, was_bad;      /* of all lanes; was_bad: there was something wrong in the group before */
    Utf8Carry before;          /* of lane 0: from the bytes before the group, at strand 0; of others nothing */

    /* A lane's bytes of a strand, which are aligned. */
    static __device__ __forceinline__ Words load_words(const unsigned char *from) {
        if constexpr (WORDS == 1) return {*(const uint32_t *)from};
        if constexpr (WORDS == 4) return ::unpack<uint32_t, 4>(*(const uint4 *)from);
    }

    /* Where the text begins and ends. Zeros stand for what is not text. */
    static __device__ __forceinline__ Words load_some(const Utf8Args &args, const TextSpan &span, int64_t at) {
        if (at >= (int64_t)span.first && at + LANE_NBYTES <= (int64_t)span.end) return load_words(args.in + at);
        const int64_t vector = at / 16 * 16;
        if (!is_cut_vector(vector, span.first, span.end)) return {};
        const Vector<uint32_t, 4> all = ::unpack<uint32_t, 4>(load_cut_vector(args.in, vector, span.first, span.end));
        if constexpr (WORDS == 4) return all;
        const int64_t i = (at - vector) / 4;
        return {i < 2 ? (i == 0 ? all.item[0] : all.item[1]) : (i == 2 ? all.item[2] : all.item[3])};
    }

    static __device__ __forceinline__ void load(Words (&text)[UTF8_STRANDS], const Utf8Args &args, uint64_t group, bool inner, int lane) {
        const int64_t at = (int64_t)(group * GROUP_NBYTES) + lane * LANE_NBYTES;
        if (inner) {
#pragma unroll
            for (int k = 0; k < UTF8_STRANDS; k++) text[k] = load_words(args.in + at + k * STRAND_NBYTES);
            return;
        }
        const TextSpan span = whole_span(args);
#pragma unroll
        for (int k = 0; k < UTF8_STRANDS; k++) text[k] = load_some(args, span, at + k * STRAND_NBYTES);
    }

    /* The four bytes before a group. */
    __device__ __forceinline__ uint32_t word_before(uint64_t group, bool inner) const {
        if (group == 0) return 0;
        const int64_t at = (int64_t)(group * GROUP_NBYTES);
        if (inner) return *(const uint32_t *)(args.in + at - 4);
        const TextSpan span = whole_span(args);
        if (at <= (int64_t)span.end) return *(const uint32_t *)(args.in + at - 4);
        return load_cut_vector(args.in, at - 16, span.first, span.end).w;
    }

    /* What they ask for, for lane 0. */
    static __device__ __forceinline__ Utf8Carry carry_after(uint32_t word, int lane) {
        if (lane != 0 || (word & 0x80808080) == 0) return {0, 0};
        BitPlanes x = {};
        x.plane[0] = word;
        transpose_bits(x);
        const Utf8StrandClasses c = strand_classes(x);
        const Utf8Carry carry = carry_of(c, look_at_any({}, c).open);
        return {carry.a & 0x01010101, carry.b & 0x01010101};
    }

    /* What the bytes before this lane's ask for, if its last bytes ask for `mine`: the lane before has them; of lane 0 they are the last
     * lane's, one strand back. */
    static __device__ __forceinline__ Utf8Carry hand_on(Utf8Carry &before, Utf8Carry mine, int lane) {
        const uint32_t edge = lane == 0 ? 0x01010101 : 0; /* strand 0 */
        const Utf8Carry from = {__shfl_sync(ALL_LANES, mine.a, (lane + 31) % 32), __shfl_sync(ALL_LANES, mine.b, (lane + 31) % 32)};
        const Utf8Carry mixed = {(from.a << (lane == 0) & ~edge) | before.a, (from.b << (lane == 0) & ~edge) | before.b};
        before = {from.a >> 7 & edge, from.b >> 7 & edge};
        return mixed;
    }

    static __device__ __forceinline__ Utf8StrandClasses classes(const Words (&text)[UTF8_STRANDS], int j) {
        BitPlanes x;
#pragma unroll
        for (int k = 0; k < UTF8_STRANDS; k++) x.plane[k] = text[k].item[j];
        transpose_bits(x);
        return strand_classes(x);
    }

    static __device__ __forceinline__ Utf8Before last_of(const Utf8StrandClasses &c, const Utf8Open &open) {
        return {c.lead, c.from_e0, c.from_f0, c.not_low, c.not_high, open};
    }

    __device__ __forceinline__ bool is_ascii(const Words (&text)[UTF8_STRANDS]) const {
        uint32_t any = 0;
#pragma unroll
        for (int k = 0; k < UTF8_STRANDS; k++)
#pragma unroll
            for (int j = 0; j < WORDS; j++) any |= text[k].item[j];
        return !__any_sync(ALL_LANES, ((any & 0x80808080) | before.a | before.b) != 0);
    }

    /* Returns whether all is well; only then has it counted. */
    __device__ __forceinline__ bool count_good(const Words (&text)[UTF8_STRANDS]) {
        const Utf8StrandClasses last = classes(text, WORDS - 1);
        const Utf8Carry was = before;
        Utf8Before previous = unpack(hand_on(before, carry_of_good(last), lane));
        uint32_t wrong_bits = 0, mine = 32 * WORDS;
#pragma unroll
        for (int j = 0; j < WORDS; j++) {
            const Utf8StrandClasses c = j == WORDS - 1 ? last : classes(text, j);
            const Utf8GoodWord w = look_at_good(previous, c);
            wrong_bits |= w.wrong;
            mine += (args.of_4_twice ? (uint32_t)__popc(w.fourth) : 0) - (uint32_t)__popc(w.continuations);
            previous = last_of(c, {});
        }
        if (__any_sync(ALL_LANES, wrong_bits != 0)) {
            before = was;
            return false;
        }
        units += mine;
        return true;
    }

    /* Where a bit of a lane's words j is in its group. */
    static __device__ __forceinline__ uint32_t place_of(int bit, int j, int lane) {
        return UTF8_PLACE_ZERO + (uint32_t)(bit % 8 * STRAND_NBYTES + 4 * (lane * WORDS + j) + bit / 8);
    }

    /* The bits of its words j that are at `last` or before. */
    static __device__ __forceinline__ uint32_t places_up_to(uint32_t last, int j, int lane) {
        uint32_t bits = 0;
#pragma unroll 1
        for (int i = 0; i < 32; i++) bits |= (uint32_t)(place_of(i, j, lane) <= last) << i;
        return bits;
    }

    /* UINT32_MAX: there is none. */
    static __device__ __forceinline__ uint32_t first_error(const Utf8AnyWord &w, int j, int lane) {
        const uint32_t bits = w.short_1_3 | w.short_2_3 | w.stray, halves = bits | bits >> 16;
        if (bits == 0) return UINT32_MAX;
        const int strand = __ffs((int)(halves | halves >> 8)) - 1, i = strand + __ffs((int)(bits >> strand & 0x01010101)) - 1;
        return place_of(i, j, lane) - (w.short_1_3 >> i & 1) - 2 * (w.short_2_3 >> i & 1);
    }

    /* What a lane has found in a group, and what its last bytes ask for. */
    struct Found {
        uint32_t units, sequences, wrong;
        uint32_t first; /* the place of its first error, if that is wanted */
        Utf8Carry before;
    };

    /* A group that is not all well. Of its sequences those are counted that end before `last`. */
    static __device__ __forceinline__ Found look(const Words (&text)[UTF8_STRANDS], Utf8Carry before, int lane, bool want_first,
                                                 bool of_4_twice, uint32_t last) {
        const Utf8StrandClasses end = classes(text, WORDS - 1);
        Utf8Before previous = unpack(hand_on(before, carry_of(end, look_at_any({}, end).open), lane));
        Found found = {0, 0, 0, UINT32_MAX, before};
#pragma unroll
        for (int j = 0; j < WORDS; j++) {
            const Utf8StrandClasses c = j == WORDS - 1 ? end : classes(text, j);
            const Utf8AnyWord w = look_at_any(previous, c);
            const uint32_t counted = last == UINT32_MAX ? ~0u : places_up_to(last, j, lane);
            found.units += (uint32_t)(__popc(w.starts & counted) + (of_4_twice ? __popc(w.fourth & counted) : 0));
            found.sequences += (uint32_t)(__popc(w.short_1_3 | w.short_2_3) + __popc(w.stray));
            found.wrong += (uint32_t)(__popc(w.short_1_3) + 2 * __popc(w.short_2_3) + __popc(w.stray));
            if (want_first) found.first = min(found.first, first_error(w, j, lane));
            previous = last_of(c, w.open);
        }
        return found;
    }

    __device__ __forceinline__ void count_any(const Words (&text)[UTF8_STRANDS], uint64_t group) {
        Found found;
        uint32_t last[1] = {UINT32_MAX};
#pragma unroll 1
        for (;;) {
            found = look(text, before, lane, error_at == UTF8_NOWHERE, args.of_4_twice, last[0]);
            was_bad = __any_sync(ALL_LANES, found.sequences != 0);
            if (!args.strict || !was_bad || is_cut) break;
            is_cut = true; /* once more, up to the first error */
            last[0] = found.first;
            warp_fold_rows<Min<uint32_t>>(last);
        }
        before = found.before;
        units += found.units - (args.replace || args.strict ? 0 : found.sequences);
        sequences += found.sequences;
        wrong += found.wrong;
        if (found.sequences != 0 && error_at == UTF8_NOWHERE) error_at = group * GROUP_NBYTES + found.first - UTF8_PLACE_ZERO;
    }

    /* Zeros in bytes [from, to) that are not text have been counted: each but the one right behind it ends a sequence. */
    __device__ __forceinline__ uint32_t not_text(int64_t from, int64_t to) const {
        const TextSpan span = whole_span(args);
        const int64_t before_it = (int64_t)span.first + 1 - from, behind_it = is_cut ? 0 : to - (int64_t)span.end - 1;
        return (uint32_t)(min(max(before_it, (int64_t)0), to - from) + min(max(behind_it, (int64_t)0), to - from));
    }

    /* After a group with errors, the next one is not even hoped to be good. */
    __device__ __forceinline__ void count_group(const Words (&text)[UTF8_STRANDS], uint64_t group) {
        if (is_ascii(text))
            units += 8 * LANE_NBYTES;
        else if (was_bad || !count_good(text))
            count_any(text, group);
    }

    /* `n` groups from `first` on. */
    __device__ __forceinline__ void count(uint64_t first, uint32_t n) {
        if (n == 0) return;
        const uint64_t ninner = (max(args.n, (uint64_t)32) - 32) / GROUP_NBYTES; /* of the text; with a margin for what is held back */
        const uint32_t inner_to = (uint32_t)min(max(ninner, first) - first, (uint64_t)n);
        const uint32_t word = word_before(first, inner_to != 0);
        Words next[UTF8_STRANDS];
        load(next, args, first, first != 0 && inner_to != 0, lane);
        before = carry_after(word, lane);
#pragma unroll 1
        for (uint32_t i = 0; i < n && !is_cut; i++) {
            Words text[UTF8_STRANDS];
#pragma unroll
            for (int k = 0; k < UTF8_STRANDS; k++) text[k] = next[k];
            if (i + 1 < n) load(next, args, first + i + 1, i + 1 < inner_to, lane);
            count_group(text, first + i);
        }
        if (lane == 0 && (first == 0 || inner_to < n))
            units -= not_text((int64_t)(first * GROUP_NBYTES), (int64_t)((first + n) * GROUP_NBYTES));
    }

    /* What the lanes have found together. */
    __device__ __forceinline__ Utf8Part part() const {
        unsigned long long sums[3] = {(unsigned long long)(int32_t)units, sequences, wrong}, least[1] = {error_at};
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
    typedef Utf8Counter<Shape> Counter;
    __shared__ Utf8Part s_part[WARPS];
    __shared__ Utf8Gathering s_gathering;
    if (parts == nullptr) begin_gathering(s_gathering);
    wait_for_previous(args, ngroups, each, parts);
    let_next_start();
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const uint64_t mine = (uint64_t)blockIdx.x * each, groups = mine < ngroups ? min(each, ngroups - mine) : 0;
    Counter counter = {args, lane, 0, 0, 0, UTF8_NOWHERE, false, false, {0, 0}};
    const uint64_t from = groups * (uint64_t)warp / WARPS, to = groups * (uint64_t)(warp + 1) / WARPS;
    counter.count(mine + from, (uint32_t)(to - from));
    const Utf8Part found = counter.part();
    if (lane == 0) s_part[warp] = found;
    __syncthreads(); /* the warps' parts are there */
    Utf8Part all = utf8_part_none();
    if (threadIdx.x == 0)
        for (int w = 0; w < WARPS; w++) all = append(all, s_part[w]);
    leave_part<WARPS * 32>(args, parts, s_gathering, all);
}

template <class Shape> static cudaError_t launch_groups(const struct cuda_queue *queue, const Utf8Args &args, uint64_t ngroups) {
    const uint64_t room = (uint64_t)queue->nsms * Shape::CTAS, most = room < UTF8_MAX_PARTS ? room : UTF8_MAX_PARTS;
    const uint64_t few = ngroups <= 2 * Shape::WARPS ? 2 * Shape::WARPS : Shape::WARPS, spread = (ngroups + most - 1) / most;
    const uint64_t each = spread > few ? spread : few;
    return launch_for_parts(queue, (const void *)utf8_count_kernel<Shape>, (uint32_t)((ngroups + each - 1) / each), Shape::WARPS * 32, args,
                            ngroups, each);
}

/* What ends with the text is counted at the place behind it: n + 1 places. */
template <class Shape> static uint64_t groups_of(const Utf8Args &args) { return args.n / Utf8Counter<Shape>::GROUP_NBYTES + 1; }

static cudaError_t launch_utf8_count(const struct cuda_queue *queue, const Utf8Args &args) {
    if (args.n < UTF8_COUNT_SHORT_NBYTES && may_choose(queue))
        return launch_groups<Utf8CountShortShape>(queue, args, groups_of<Utf8CountShortShape>(args));
    return launch_groups<Utf8CountLongShape>(queue, args, groups_of<Utf8CountLongShape>(args));
}

#endif
