/* ring_utf8.cuh: what ring passes over text have in common: what they have found, and who writes the report.
 *
 * Each CTA keeps it in shared memory while it lasts. When all its roles are done, one thread adds it to the tally in control memory and
 * then arrives there; whoever arrives last writes the report. That one thread has both the additions and the arrival, with a fence
 * between: what other threads of the CTA have done comes before by the barrier that they leave through. */
#ifndef UPSWEEP_CUDA_RING_UTF8_CUH
#define UPSWEEP_CUDA_RING_UTF8_CUH

#include "ring.cuh"
#include "utf8_report.cuh"

struct RingUtf8Found {
    TextSpan span;
    uint32_t bad_sequences, bad_units;
    unsigned long long error_at;    /* where the first ill-formed sequence begins; UTF8_NOWHERE */
    unsigned long long error_units; /* strict decoding: what it becomes is this code unit of the output; UTF8_NOWHERE */
};

static __device__ __forceinline__ RingUtf8Found &ring_utf8_found() {
    __shared__ RingUtf8Found s_found;
    return s_found;
}

/* What their policies have in common. Carry: a number of code units, maybe with UTF8_CUT. */
struct RingUtf8 : RingPlain {
    typedef Utf8Args Args;
    typedef uint32_t Value; /* of a tile, or a wave */
    typedef unsigned long long Carry;
    static constexpr bool LEAVES = true;

    /* By one thread, before the others look at what is found. */
    static __device__ Carry carry_in(const Args &args) {
        ring_utf8_found() = {whole_span(args), 0, 0, UTF8_NOWHERE, UTF8_NOWHERE};
        return 0;
    }

    /* What is not text reads as zeros. */
    static __device__ void pad(const Args &, unsigned char *slot, unsigned from, unsigned to, int lane) {
        for (unsigned i = from + (unsigned)lane; i < to; i += 32) slot[i] = 0;
    }

    /* By one thread, when all others of its CTA are done. CTA 0 has stored what is needed. */
    static __device__ void leave(const Args &args) {
        const RingUtf8Found &found = ring_utf8_found();
        Utf8Tally *const tally = args.tally;
        if (found.bad_sequences != 0) {
            atomicAdd(&tally->bad_sequences, (unsigned long long)found.bad_sequences);
            atomicAdd(&tally->bad_units, (unsigned long long)found.bad_units);
            atomicMax(&tally->before_error, (unsigned long long)(UTF8_NOWHERE - found.error_at));
            atomicMax(&tally->before_error_units, (unsigned long long)(UTF8_NOWHERE - found.error_units));
        }
        __threadfence(); /* the tally, and in CTA 0 what is needed, must be there when the arrival is */
        if (atomicAdd(&tally->arrived, 1ull) + 1 == gridDim.x) report_tally(args, true);
    }
};

#endif
