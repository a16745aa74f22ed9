/* ring_exchange.cuh: the words through which the CTAs of a ring pass learn one another's aggregates (see ring.cuh for why they are safe).
 *
 * A word is one aggregate with the number of its wave, written and read in a single access, so that no fence is needed: 64 bits
 * {tag 32, value 32} for values of 4 bytes, 128 bits {tag 64, value 64} for values of 8 (PTX ISA 8.4 makes .b128 accesses atomic). */
#ifndef UPSWEEP_RING_EXCHANGE_CUH
#define UPSWEEP_RING_EXCHANGE_CUH

#include "block.cuh"

enum { RING_WAVES = 16, RING_MAX_CTAS = 256 };

template <bool WIDE> struct RingWord;

template <> struct RingWord<false> {
    uint64_t bits;
    __device__ __forceinline__ void store(uint64_t tag, uint64_t value) { store_relaxed_8(&bits, tag << 32 | value); }
    /* True if the word has this tag. */
    __device__ __forceinline__ bool load(uint64_t tag, uint64_t *value) const {
        const uint64_t x = load_relaxed_8(&bits);
        *value = (uint32_t)x;
        return (uint32_t)(x >> 32) == (uint32_t)tag;
    }
};

template <> struct alignas(16) RingWord<true> {
    uint64_t bits[2];
    __device__ __forceinline__ void store(uint64_t tag, uint64_t value) { store_relaxed_16(bits, value, tag); }
    __device__ __forceinline__ bool load(uint64_t tag, uint64_t *value) const {
        uint64_t found;
        load_relaxed_16(bits, value, &found);
        return found == tag;
    }
};

/* In the context's control memory, zero before the first launch. next_wave starts at 0 and tags at 1, so zeroed words match no wave. */
template <bool WIDE> struct RingWords {
    uint64_t next_wave;
    uint64_t apart[15]; /* nobody polls the counter's cache line */
    RingWord<WIDE> word[RING_WAVES * RING_MAX_CTAS];
};

/* One CTA's view of the words. P: the policy. */
template <class P> struct RingExchange {
    typedef typename P::Value V;
    static constexpr bool WIDE = sizeof(V) > 4;
    typedef RingWords<WIDE> Words;

    Words *words;
    uint64_t first_wave; /* of this launch, counted over all launches; a wave's tag is its number plus one */

    __device__ RingWord<WIDE> *wave(unsigned k) const { return words->word + (first_wave + k) % RING_WAVES * RING_MAX_CTAS; }

    __device__ void publish(unsigned k, V value) const { wave(k)[blockIdx.x].store(first_wave + k + 1, bits_of(value)); }

    /* Sets the first wave of the next launch. */
    __device__ void advance(unsigned nwaves) const { store_relaxed_8(&words->next_wave, first_wave + nwaves); }

    /* Waits for the whole wave. *before: the fold of the words of CTAs before this one; *all: of all of them; both in the order of the
     * CTAs, in every lane. Five loads a lane are in flight: 160 CTAs in one round trip. */
    __device__ void read_wave(unsigned k, int lane, V *before, V *all) const {
        enum { GROUPS = 5 };
        const RingWord<WIDE> *const w = wave(k);
        *before = *all = (V)Neutral<typename P::Op>::value();
        for (unsigned base = 0; base < gridDim.x; base += 32 * GROUPS) {
            V x[GROUPS];
            bool here;
            do {
                here = true;
#pragma unroll
                for (unsigned j = 0; j < GROUPS; j++) {
                    const unsigned cta = base + 32 * j + (unsigned)lane;
                    uint64_t bits;
                    x[j] = (V)Neutral<typename P::Op>::value();
                    if (cta >= gridDim.x) continue;
                    here &= w[cta].load(first_wave + k + 1, &bits);
                    x[j] = value_of<V>(bits);
                }
            } while (!here);
            __syncwarp();
            warp_scan_rows<typename P::Op>(x, lane);
#pragma unroll
            for (unsigned j = 0; j < GROUPS; j++) {
                const V left = (V)__shfl_sync(ALL_LANES, x[j], (int)(blockIdx.x - 1) & 31);
                if (base + 32 * j == blockIdx.x / 32 * 32) *before = blockIdx.x % 32 == 0 ? *all : P::Op::apply(*all, left);
                *all = P::Op::apply(*all, (V)__shfl_sync(ALL_LANES, x[j], 31));
            }
        }
    }
};

#endif
