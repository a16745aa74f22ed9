/* utf8.cu: chooses the kernel of a conversion of text by the encodings of both sides. Modes, byte order and what the report needs are
 * arguments of the kernels: they cost next to nothing, and would multiply the number of kernels by 16. */
#include "launch.h"
#include "lookback_utf8_clean.cuh"
#include "lookback_utf8_decode.cuh"
#include "lookback_utf8_encode.cuh"
#include "ring_utf8_decode.cuh"
#include "ring_utf8_encode.cuh"
#include "utf8_count.cuh"

static_assert(CUDA_CONTROL_UTF8 + sizeof(Utf8Tally) <= CUDA_CONTROL_UTF8_PARTS, "control memory of the tally");
static_assert(CUDA_CONTROL_UTF8_PARTS + sizeof(Utf8Parts) <= CUDA_CONTROL_NBYTES, "control memory of the parts");

/* The kernels count from the last address before the text that is a multiple of 16. */
static Utf8Args kernel_args(const struct cuda_queue *queue, const struct utf8_args *a) {
    const size_t unit_nbytes = a->from == UPSWEEP_UTF8 ? 1 : a->from == UPSWEEP_UTF32 ? 4 : 2, skew = (uintptr_t)a->in % 16;
    Utf8Args args = {};
    args.in = (const unsigned char *)a->in - skew;
    args.begin = skew / unit_nbytes;
    args.n = args.begin + a->n;
    args.out = (unsigned char *)a->out;
    args.capacity = a->capacity;
    args.report = a->report;
    args.map = a->map;
    args.map_base = a->map_base - args.begin;
    args.tally = (Utf8Tally *)((char *)queue->control + CUDA_CONTROL_UTF8);
    args.from = a->from;
    args.replace = a->on_error == UPSWEEP_REPLACE;
    args.strict = a->on_error == UPSWEEP_STRICT;
    args.more = a->more;
    args.skip_bom = a->skip_bom;
    args.swap = a->from == UPSWEEP_UTF16BE || a->to == UPSWEEP_UTF16BE;
    args.of_4_twice = a->to == UPSWEEP_UTF16LE || a->to == UPSWEEP_UTF16BE;
    args.clean = a->from == a->to;
    return args;
}

/* nitems: the places that tiles share out. */
template <class P> static cudaError_t run(const struct cuda_queue *queue, Utf8Args args, uint64_t nitems) {
    args.ntiles = (uint32_t)(nitems == 0 ? 1 : (nitems - 1) / P::TILE_ITEMS + 1);
    return launch_lookback<P>(queue, args, nitems);
}

template <class P> static cudaError_t run_encode(const struct cuda_queue *queue, Utf8Args args) {
    args.ntiles = (uint32_t)(args.n == 0 ? 1 : (args.n - 1) / P::TILE_ITEMS + 1);
    return args.out == NULL ? launch_utf8_measure<P>(queue, args) : launch_lookback<P>(queue, args, args.n);
}

static cudaError_t launch_utf8(const struct cuda_queue *queue, const struct utf8_args *a) {
    const Utf8Args args = kernel_args(queue, a);
    if (a->from == UPSWEEP_UTF8 && a->out == NULL) return launch_utf8_count(queue, args);
    if (ring_utf8_decode_suits(queue, a)) return launch_ring_utf8_decode(queue, args, a);
    if (a->from != UPSWEEP_UTF8 && ring_utf8_encode_suits(queue, a))
        return a->from == UPSWEEP_UTF32 ? launch_ring_utf8_encode<4>(queue, args, a) : launch_ring_utf8_encode<2>(queue, args, a);
    if (a->from == UPSWEEP_UTF32) return run_encode<LookbackUtf8Encode<4>>(queue, args);
    if (a->from != UPSWEEP_UTF8) return run_encode<LookbackUtf8Encode<2>>(queue, args);
    if (a->to == UPSWEEP_UTF8) return run<LookbackUtf8Clean>(queue, args, args.n);
    if (a->to == UPSWEEP_UTF32) return run<LookbackUtf8Decode<4>>(queue, args, args.n + 1); /* tiles begin one byte early */
    return run<LookbackUtf8Decode<2>>(queue, args, args.n + 1);
}

extern "C" int cuda_launch_utf8(const struct cuda_queue *queue, const struct utf8_args *args, void *scratch) {
    (void)scratch;
    return launch_utf8(queue, args);
}

/* Nothing is staged in global memory. */
extern "C" uint64_t cuda_utf8_scratch(const struct cuda_queue *queue, uint64_t n, size_t unit_nbytes) {
    (void)queue, (void)n, (void)unit_nbytes;
    return 0;
}
