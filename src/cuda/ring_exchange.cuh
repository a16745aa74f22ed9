/* ring_exchange.cuh: the words through which the CTAs of a ring pass learn one another's aggregates (see ring.cuh for why they are safe).
 *
 * A word is one aggregate, tagged with the number of its wave. Of 64 bits the tag has 32, of 128, for aggregates of 8 bytes, 64. */
#ifndef UPSWEEP_RING_EXCHANGE_CUH
#define UPSWEEP_RING_EXCHANGE_CUH

#include "warp.cuh"
#include "words.cuh"

enum { RING_WAVES = 32, RING_MAX_CTAS = 160 };

/* In the context's control memory, zero before the first launch. next_wave starts at 0 and tags at 1, so zeroed words match no wave. */
template <bool WIDE> struct RingWords {
    uint64_t next_wave;
    uint64_t apart[15]; /* nobody polls the counter's cache line */
    TaggedWord<WIDE ? 64 : 32> word[RING_WAVES * RING_MAX_CTAS];
    TaggedWord<64> rest[RING_MAX_CTAS]; /* of a launch, whose first wave they name */
};

/* Of operators whose order matters: operands may change places unless one of them is special, and are then combined by By. Of floats'
 * minima and maxima, NaNs and -0.0 are special. */
template <class Op> struct UnlessSpecial;
static __device__ __forceinline__ bool is_special(float x) { return x != x || __float_as_uint(x) == 1u << 31; }
static __device__ __forceinline__ bool is_special(double x) { return x != x || (uint64_t)__double_as_longlong(x) == 1ull << 63; }
template <class T> struct UnlessSpecial<Min<T>> {
    typedef Min<T> By;
    static __device__ __forceinline__ bool special(T x) { return is_special(x); }
};
template <class T> struct UnlessSpecial<Max<T>> {
    typedef Max<T> By;
    static __device__ __forceinline__ bool special(T x) { return is_special(x); }
};

/* One CTA's view of the words. P: the policy. */
template <class P> struct RingExchange {
    typedef typename P::Value V;
    typedef typename P::Op Op;
    static constexpr bool WIDE = sizeof(V) > 4;
    typedef RingWords<WIDE> Words;
    typedef TaggedWord<WIDE ? 64 : 32> Word;
    enum { GROUPS = RING_MAX_CTAS / 32 };
    /* Words as they were when they were read, that of CTA 32 * j + lane at [j]. */
    struct Seen {
        Word word[GROUPS];
    };

    Words *words;
    uint64_t first_wave; /* of this launch, counted over all launches; a wave's tag is its number plus one */

    __device__ Word *wave(unsigned k) const { return words->word + (first_wave + k) % RING_WAVES * RING_MAX_CTAS; }

    __device__ void publish(unsigned k, V value) const { wave(k)[blockIdx.x].store(first_wave + k + 1, bits_of(value)); }

    /* A number of each CTA, once a launch, or never; and the sum of them all, in every lane, as soon as all are there. */
    __device__ void publish_rest(uint64_t n) const { words->rest[blockIdx.x].store(first_wave + 1, n); }
    __device__ uint64_t sum_rest(int lane) const {
        unsigned long long sum[1] = {0};
        for (unsigned i = (unsigned)lane; i < gridDim.x; i += 32) {
            TaggedWord<64> word;
            do word = words->rest[i].load();
            while (!word.has(first_wave + 1));
            sum[0] += word.value();
        }
        __syncwarp();
        warp_fold_rows<Add<unsigned long long>>(sum);
        return sum[0];
    }

    /* By all threads: goes on when all CTAs have come here, and sees what they have written. Instead of the number of above. */
    __device__ void meet() const {
        __syncthreads(); /* all roles of this CTA are done */
        if (threadIdx.x == 0) {
            __threadfence(); /* what they have written, before the word that says so */
            publish_rest(0);
        }
        if (threadIdx.x < 32) {
            sum_rest((int)threadIdx.x);
            __threadfence(); /* those words, before what was written before them is read */
        }
        __syncthreads();
    }

    /* Sets the first wave of the next launch. */
    __device__ void advance(unsigned nwaves) const { store_relaxed_8(&words->next_wave, first_wave + nwaves); }

    static __device__ __forceinline__ bool exists(unsigned j, int lane) { return 32 * j + (unsigned)lane < gridDim.x; }

    /* Only starts the loads, all of them in one round trip. */
    __device__ __forceinline__ void ask(unsigned k, int lane, Seen &seen) const {
        const Word *const w = wave(k);
#pragma unroll
        for (unsigned j = 0; j < GROUPS; j++)
            if (exists(j, lane)) seen.word[j] = w[32 * j + (unsigned)lane].load();
    }

    __device__ __forceinline__ bool has_wave(unsigned k, int lane, const Seen &seen) const {
        bool here = true;
#pragma unroll
        for (unsigned j = 0; j < GROUPS; j++) here &= !exists(j, lane) || seen.word[j].has(first_wave + k + 1);
        return __all_sync(ALL_LANES, here);
    }

    /* Waits for the whole wave, for which ask() has been called. *before: the fold of the words of CTAs before this one; *all: of all of
     * them; both in every lane, and in the order of the CTAs where that matters. Asks for the next wave's words, if there are `more`, as
     * soon as it has these: what the prefix warp of a CTA needs for a wave bounds the speed of all, and this is most of it. */
    __device__ void read_wave(unsigned k, int lane, bool more, Seen &seen, V *before, V *all) const {
        V x[GROUPS];
        while (!has_wave(k, lane, seen)) ask(k, lane, seen);
#pragma unroll
        for (unsigned j = 0; j < GROUPS; j++) x[j] = exists(j, lane) ? value_of<V>(seen.word[j].value()) : (V)Neutral<Op>::value();
        if (more) ask(k + 1, lane, seen);
        *before = *all = (V)Neutral<Op>::value();
        if constexpr (Op::ANY_ORDER)
            fold_lanes<Op>(x, lane, before, all);
        else
            fold_unless_special(x, lane, before, all);
    }

    static __device__ __forceinline__ void fold_unless_special(V (&x)[GROUPS], int lane, V *before, V *all) {
        bool any = false;
#pragma unroll
        for (unsigned j = 0; j < GROUPS; j++) any |= UnlessSpecial<Op>::special(x[j]);
        if (__any_sync(ALL_LANES, any))
            fold(x, lane, before, all);
        else
            fold_lanes<typename UnlessSpecial<Op>::By>(x, lane, before, all);
    }

    /* First those of a lane, then the lanes: an instruction of the warp, or a third of the shuffles of fold(), and nothing waits for the
     * group before. By: any order will do. */
    template <class By> static __device__ __forceinline__ void fold_lanes(const V (&x)[GROUPS], int lane, V *before, V *all) {
        V folds[2] = {(V)Neutral<By>::value(), (V)Neutral<By>::value()};
#pragma unroll
        for (unsigned j = 0; j < GROUPS; j++) {
            folds[1] = By::apply(folds[1], x[j]);
            if (32 * j + (unsigned)lane < blockIdx.x) folds[0] = By::apply(folds[0], x[j]);
        }
        warp_fold_rows<By>(folds);
        *before = folds[0], *all = folds[1];
    }

    static __device__ __forceinline__ void fold(V (&x)[GROUPS], int lane, V *before, V *all) {
        warp_scan_rows<Op>(x, lane);
#pragma unroll
        for (unsigned j = 0; j < GROUPS; j++) {
            const V left = (V)__shfl_sync(ALL_LANES, x[j], (int)(blockIdx.x - 1) & 31);
            if (j == blockIdx.x / 32) *before = blockIdx.x % 32 == 0 ? *all : Op::apply(*all, left);
            *all = Op::apply(*all, (V)__shfl_sync(ALL_LANES, x[j], 31));
        }
    }
};

#endif
