/* utf8.cu: chooses the kernel of a conversion of text by the encodings of both sides. Modes, byte order and what the report needs are
 * arguments of the kernels: they cost next to nothing, and would multiply the number of kernels by 16. */
#include "cluster.cuh"
#include "launch.h"
#include "lookback_utf8_clean.cuh"
#include "lookback_utf8_decode.cuh"
#include "lookback_utf8_encode.cuh"
#include "ring_utf8_clean.cuh"
#include "ring_utf8_decode.cuh"
#include "ring_utf8_encode.cuh"
#include "small.cuh"
#include "utf8_count.cuh"

static_assert(CUDA_CONTROL_UTF8 + sizeof(Utf8Tally) <= CUDA_CONTROL_UTF8_PARTS, "control memory of the tally");
static_assert(CUDA_CONTROL_UTF8_PARTS + sizeof(Utf8Parts) <= CUDA_CONTROL_NBYTES, "control memory of the parts");

/* The kernels count from the last address before the text that is a multiple of 16. */
static Utf8Args kernel_args(const struct cuda_queue *queue, const struct utf8_args *a) {
    const size_t unit_nbytes = encoding_nbytes(a->from), skew = (uintptr_t)a->in % 16;
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

/* Only conversions to UTF-8 are measured by P: from it, utf8_count.cuh does that. nitems: the places that tiles share out. */
template <class P> static cudaError_t run_lookback(const struct cuda_queue *queue, Utf8Args args, uint64_t nitems) {
    args.ntiles = (uint32_t)tiles_of<P>(nitems);
    if constexpr (P::IN_NBYTES > 1)
        if (args.out == NULL) return launch_utf8_measure<P>(queue, args);
    return launch_lookback<P>(queue, args, nitems);
}

/* As long as all tiles run at once, the smallest ones are the fastest. */
template <class P> static bool is_short(const struct cuda_queue *queue, uint64_t nitems) {
    return tiles_of<P>(nitems) <= (uint64_t)queue->nsms * P::CTAS && may_choose(queue);
}

template <class P> static cudaError_t run_short(const struct cuda_queue *queue, Utf8Args args, uint64_t nitems) {
    args.ntiles = (uint32_t)tiles_of<P>(nitems);
    if (args.out != NULL && should_run_small<P>(queue, nitems)) return launch_small<P>(queue, args);
    if (args.out != NULL && should_run_cluster<P>(queue, nitems)) return launch_cluster<P>(queue, args, nitems);
    return run_lookback<P>(queue, args, nitems);
}

template <int UNIT> static cudaError_t run_encode(const struct cuda_queue *queue, const Utf8Args &args, const struct utf8_args *a) {
    typedef LookbackUtf8Encode<UNIT, Utf8ShortShape> Short;
    typedef LookbackUtf8Encode<UNIT, Utf8EncodeShape<UNIT>> Long;
    if (is_short<Short>(queue, args.n)) return run_short<Short>(queue, args, args.n);
    if (ring_utf8_encode_suits(queue, a)) return launch_ring_utf8_encode<UNIT>(queue, args, a);
    return run_lookback<Long>(queue, args, args.n);
}

template <class U> static cudaError_t run_decode(const struct cuda_queue *queue, const Utf8Args &args, const struct utf8_args *a) {
    typedef LookbackUtf8Decode<U, Utf8ShortShape> Short;
    typedef LookbackUtf8Decode<U, Utf8DecodeShape> Long;
    const uint64_t nitems = args.n + 1; /* tiles begin one byte early */
    if (is_short<Short>(queue, nitems)) return run_short<Short>(queue, args, nitems);
    if (ring_utf8_decode_suits(queue, a)) return launch_ring<RingUtf8Decode<U>>(queue, args, a->in, a->n);
    return run_lookback<Long>(queue, args, nitems);
}

static cudaError_t run_clean(const struct cuda_queue *queue, const Utf8Args &args, const struct utf8_args *a) {
    typedef LookbackUtf8Clean<Utf8ShortShape> Short;
    typedef LookbackUtf8Clean<Utf8DecodeShape> Long;
    if (is_short<Short>(queue, args.n)) return run_short<Short>(queue, args, args.n);
    if (ring_utf8_decode_suits(queue, a)) return launch_ring<RingUtf8Clean>(queue, args, a->in, a->n);
    return run_lookback<Long>(queue, args, args.n);
}

extern "C" int cuda_launch_utf8(const struct cuda_queue *queue, const struct utf8_args *a, void *) {
    const Utf8Args args = kernel_args(queue, a);
    if (a->from == UPSWEEP_UTF32) return run_encode<4>(queue, args, a);
    if (a->from != UPSWEEP_UTF8) return run_encode<2>(queue, args, a);
    if (a->out == NULL) return launch_utf8_count(queue, args);
    if (a->to == UPSWEEP_UTF8) return run_clean(queue, args, a);
    return a->to == UPSWEEP_UTF32 ? run_decode<Utf32Units>(queue, args, a) : run_decode<Utf16Units>(queue, args, a);
}
