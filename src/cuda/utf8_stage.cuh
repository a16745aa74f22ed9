/* utf8_stage.cuh: how text comes into shared memory and leaves it: 16 bytes at a time, whatever begins or ends where. */
#ifndef UPSWEEP_CUDA_UTF8_STAGE_CUH
#define UPSWEEP_CUDA_UTF8_STAGE_CUH

#include "utf8_report.cuh"
#include "vector.cuh"

/* ---- in ---------------------------------------------------------------------------------------------------------------------- */

/* Does all of the vector of 16 bytes at `at` lie in [begin, end)? Or only some of it? All in bytes; `at` is a multiple of 16. */
static __device__ __forceinline__ bool is_whole_vector(int64_t at, uint64_t begin, uint64_t end) {
    return at >= (int64_t)begin && at + 16 <= (int64_t)end;
}

static __device__ __forceinline__ bool is_cut_vector(int64_t at, uint64_t begin, uint64_t end) {
    return at + 16 > (int64_t)begin && at < (int64_t)end && !is_whole_vector(at, begin, end);
}

/* A vector that is cut, with zeros for what is not text. A call, because it is rare: at the beginning of a text and at its end. */
static __device__ __noinline__ uint4 load_cut_vector(const unsigned char *in, int64_t at, uint64_t begin, uint64_t end) {
    const int from = (int)max((int64_t)begin - at, (int64_t)0), to = (int)min((int64_t)end - at, (int64_t)16);
    Vector<uint8_t, 16> v;
#pragma unroll
    for (int i = 0; i < 16; i++) v.item[i] = i >= from && i < to ? in[at + i] : 0;
    return pack(v);
}

/* By all threads of a CTA: VECTORS times 16 bytes from `at` on, a multiple of 16. inner: all of it is text. The first and the last vector
 * of a text may be cut: they are fetched a byte a thread, with all others. */
template <int THREADS, int VECTORS>
static __device__ __forceinline__ void stage_text(unsigned char *text, const Utf8Args &args, int64_t at, uint64_t end, bool inner) {
    enum { ROUNDS = VECTORS / THREADS };
    uint4 *const to = (uint4 *)text;
    if (!inner) {
#pragma unroll
        for (int v = (int)threadIdx.x; v < VECTORS; v += THREADS) {
            const int64_t from = at + 16 * v;
            if (is_cut_vector(from, args.begin, end)) continue;
            to[v] = is_whole_vector(from, args.begin, end) ? __ldcs((const uint4 *)(args.in + from)) : uint4{0, 0, 0, 0};
        }
        const int64_t cut = threadIdx.x / 16 % 2 == 0 ? 0 : (int64_t)(end / 16 * 16), from = cut + threadIdx.x % 16;
        const bool other = threadIdx.x >= 16 && cut == 0; /* there is one, and others take it */
        if (threadIdx.x < 32 && !other && is_cut_vector(cut, args.begin, end) && cut >= at && cut < at + 16 * VECTORS)
            text[from - at] = from >= (int64_t)args.begin && from < (int64_t)end ? args.in[from] : 0;
        return;
    }
    const uint4 *const from = (const uint4 *)(args.in + at);
    uint4 data[ROUNDS + 1];
    const bool one_more = (int)threadIdx.x < VECTORS % THREADS;
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) data[i] = __ldcs(from + i * THREADS + threadIdx.x); /* all loads leave together */
    if (one_more) data[ROUNDS] = from[ROUNDS * THREADS + threadIdx.x];
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) to[i * THREADS + threadIdx.x] = data[i];
    if (one_more) to[ROUNDS * THREADS + threadIdx.x] = data[ROUNDS];
}

/* The bits of a window of 32 bytes at `at` that lie in the span. `at` may be a little less than zero. */
static __device__ __forceinline__ uint32_t window_bits(uint64_t at, TextSpan span) {
    const int64_t before = (int64_t)(span.first - at), until = (int64_t)(span.end - at);
    const uint32_t from = before <= 0 ? ~0u : before >= 32 ? 0 : ~0u << before;
    return until <= 0 ? 0 : until >= 32 ? from : from & ~(~0u << until);
}

/* ---- out --------------------------------------------------------------------------------------------------------------------- */

/* Four bytes of shared memory from any address on. */
static __device__ __forceinline__ uint32_t bytes_at(const unsigned char *p) {
    const uint32_t *word = (const uint32_t *)((uintptr_t)p & ~(uintptr_t)3);
    return __funnelshift_r(word[0], word[1], (uint32_t)((uintptr_t)p % 4) * 8);
}

/* Stores those bytes of the vector at place i that lie in [begin, end); `to` is aligned. */
static __device__ __forceinline__ void store_inside(unsigned char *to, uint4 bytes, uint32_t i, uint32_t begin, uint32_t end) {
    if (i >= begin && i + 16 <= end) {
        __stcs((uint4 *)to, bytes);
        return;
    }
    const uint32_t word[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
#pragma unroll
    for (uint32_t k = 0; k < 16; k++)
        if (i + k >= begin && i + k < end) to[k] = (uint8_t)(word[k / 4] >> k % 4 * 8);
}

/* By all lanes of a warp: nbytes from shared memory, wherever they lie in it, to dst. Reads up to 15 bytes before and 20 behind them. */
static __device__ __forceinline__ void store_bytes(unsigned char *dst, const unsigned char *s_src, uint32_t nbytes, int lane) {
    const uint32_t skew = (uint32_t)((uintptr_t)dst % 16), end = skew + nbytes;
    dst -= skew;
    s_src -= skew;
    for (uint32_t i = (uint32_t)lane * 16; i < end; i += 512) {
        const unsigned char *p = s_src + i;
        store_inside(dst + i, {bytes_at(p), bytes_at(p + 4), bytes_at(p + 8), bytes_at(p + 12)}, i, skew, end);
    }
}

/* By all lanes of a warp: bytes [begin, end) of a stage to the same places of `line`; both are aligned to 16. Vectors, and a byte a lane at
 * either end. */
static __device__ __forceinline__ void store_staged(unsigned char *line, const unsigned char *s_stage, uint32_t begin, uint32_t end,
                                                    int lane) {
    const uint32_t first = (begin + 15) / 16, last = max(end / 16, first), at_end = last * 16 + (uint32_t)lane - 16;
    const uint32_t odd = lane < 16 ? begin / 16 * 16 + (uint32_t)lane : at_end;
    for (uint32_t i = first + (uint32_t)lane; i < last; i += 32) __stcs((uint4 *)line + i, ((const uint4 *)s_stage)[i]);
    if (odd >= begin && odd < end && (lane >= 16 || odd < first * 16)) line[odd] = s_stage[odd];
}

/* Bytes of output that a warp has staged, `skew` bytes into its stage, so that stage and output are aligned alike. */
struct StagedRun {
    unsigned char *line, *s_stage; /* aligned to 16 */
    uint64_t room;                 /* of the output, from the first byte on */
    uint32_t skew, nbytes;

    /* at: where in the output the first byte goes. */
    __device__ __forceinline__ StagedRun(const Utf8Args &args, uint64_t at, unsigned char *stage)
        : line(args.out + at), s_stage(stage), room(args.capacity > at ? args.capacity - at : 0), skew((uint32_t)((uintptr_t)line % 16)),
          nbytes(0) {
        line -= skew;
    }
    __device__ __forceinline__ unsigned char *end() const { return s_stage + skew + nbytes; }

    /* By all lanes: stores what there is room for; what is staged next follows it. */
    __device__ __forceinline__ void leave(int lane) {
        __syncwarp(); /* the bytes are there */
        store_staged(line, s_stage, skew, skew + (uint32_t)min((uint64_t)nbytes, room), lane);
        __syncwarp(); /* they have been read */
        room -= min((uint64_t)nbytes, room);
        line += (skew + nbytes) / 16 * 16;
        skew = (skew + nbytes) % 16;
        nbytes = 0;
    }
};

#endif
