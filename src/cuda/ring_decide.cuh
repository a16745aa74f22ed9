/* ring_decide.cuh: what decides which elements a ring compaction keeps: the elements themselves, or an array of byte flags beside them.
 *
 *   flags     f0          f1          f2            a byte a record, brought along by the copy engine as the ring's side array
 *   units     u0 u1 u2    u3 u4 u5    u6 ...        a record of 48 bytes is moved as 3 units of 16, which share its flag
 *
 * So records of any size are a compaction of units: the same kernels, and only the place of a unit's flag has to be found. A flag is found
 * by multiplying by the reciprocal of the number of units: of 32 bits for the small numbers within a tile, where it is exact, and of 64
 * bits for where the tile begins, which its producer finds. A division takes a few hundred cycles, and every role did some of them a tile.
 */
#ifndef UPSWEEP_RING_DECIDE_CUH
#define UPSWEEP_RING_DECIDE_CUH

#include "keep.cuh"
#include "ring.cuh"

/* By value. */
template <class T> struct DecideByValue {
    static constexpr bool FLAGS = false;
    static constexpr unsigned side_nbytes(unsigned) { return 0; }
    Keep<T> keep;

    typedef T Counted; /* what says how many are kept, without any place */
    __device__ __forceinline__ Keep<T> counted() const { return keep; }

    __device__ __forceinline__ uint64_t records(uint64_t units) const { return units; }
    __device__ __forceinline__ uint64_t units(uint64_t records) const { return records; }
    __device__ __forceinline__ bool keeps(const T *in, uint64_t i) const { return keep.inside(in[i]) != keep.negate; }

    struct Chunk {
        const DecideByValue &d;
        const uint4 *s_chunk;
        __device__ __forceinline__ Chunk(const DecideByValue &decide, const uint4 *chunk, RingPlace) : d(decide), s_chunk(chunk) {}

        /* What all vectors of the chunk have in common: bits() is compiled for either. */
        __device__ __forceinline__ bool common() const { return is_set(d.keep); }
        /* A bit for each element of vector i of the chunk. */
        template <bool SET> __device__ __forceinline__ uint32_t bits(unsigned i) const { return keep_bits_if<SET>(d.keep, s_chunk[i]); }
        /* Which are kept: said of many bits at once. */
        __device__ __forceinline__ uint32_t kept(uint32_t bits) const { return flips(d.keep) ? ~bits : bits; }
    };
};

/* By a flag for each T. */
template <class T> struct DecideByFlag {
    static constexpr bool FLAGS = true;
    static constexpr unsigned VEC = 16 / sizeof(T);
    static constexpr unsigned side_nbytes(unsigned tile_nbytes) { return tile_nbytes / (unsigned)sizeof(T) + 16; }
    const unsigned char *flags, *end, *tile0; /* tile0: of the element at byte 0 of tile 0; flags too few before it do not exist */

    typedef uint8_t Counted;
    static __device__ __forceinline__ Keep<uint8_t> counted() { return {0, 0, true}; }

    __device__ __forceinline__ uint64_t records(uint64_t units) const { return units; }
    __device__ __forceinline__ uint64_t units(uint64_t records) const { return records; }
    __device__ __forceinline__ uintptr_t flag_of(uint64_t byte) const { return (uintptr_t)tile0 + byte / sizeof(T); }
    __device__ __forceinline__ bool keeps(const T *, uint64_t i) const { return flags[i] != 0; }

    struct Chunk {
        const unsigned char *s_flags; /* of the chunk's first element: aligned to nothing */
        __device__ __forceinline__ Chunk(const DecideByFlag &d, const uint4 *, RingPlace place)
            : s_flags(place.s_side + (d.flag_of(place.first) - place.side_first)) {}

        /* Flags of bytes lie as those do: most often, so that one access fetches a vector of them. */
        __device__ __forceinline__ bool common() const { return VEC == 16 && is_aligned(s_flags, 16); }
        template <bool ALIGNED> __device__ __forceinline__ uint32_t bits(unsigned i) const {
            uint32_t mask = 0;
            if constexpr (ALIGNED && VEC == 16) {
                const uint4 v = ((const uint4 *)s_flags)[i];
                const uint32_t words[4] = {nonzero_bytes(v.x), nonzero_bytes(v.y), nonzero_bytes(v.z), nonzero_bytes(v.w)};
                mask = gather_bytes(words);
            } else if constexpr (VEC < 4) {
#pragma unroll
                for (unsigned j = 0; j < VEC; j++) mask |= (s_flags[i * VEC + j] != 0 ? 1u : 0u) << j;
            } else {
                const uintptr_t skew = (uintptr_t)(s_flags + i * VEC) & 3;
                const uint32_t *const words = (const uint32_t *)(s_flags + i * VEC - skew);
#pragma unroll
                for (unsigned j = 0; j < VEC / 4; j++) {
                    const uint32_t four = skew == 0 ? words[j] : __funnelshift_r(words[j], words[j + 1], 8 * (unsigned)skew);
                    mask |= gather_bytes(nonzero_bytes(four)) << 4 * j;
                }
            }
            return mask;
        }
        __device__ __forceinline__ uint32_t kept(uint32_t set) const { return set; }
    };
};

/* By a flag for each record of several T. */
template <class T> struct DecideByRecord {
    static constexpr bool FLAGS = true;
    static constexpr unsigned VEC = 16 / sizeof(T);
    static constexpr int AHEAD = 2;                /* records: at least as many units as tile 0 may have before the input */
    static constexpr unsigned MAX_UNITS = 1 << 15; /* up to which the reciprocal is exact for a chunk's units */
    static constexpr unsigned side_nbytes(unsigned tile_nbytes) { return tile_nbytes / (unsigned)sizeof(T) / 2 + 32; }
    const unsigned char *flags, *end;
    uint32_t nunits, reciprocal; /* of a record; ceil(2^32 / nunits) */
    uint64_t long_reciprocal;    /* floor((2^64 - 1) / nunits) */
    uint32_t head;               /* bytes of tile 0 before the input */

    typedef uint8_t Counted;
    static __device__ __forceinline__ Keep<uint8_t> counted() { return {0, 0, true}; }

    /* units below 2^63, so the product is too small by less than 2^64: by one at most after the shift. */
    __device__ __forceinline__ uint64_t records(uint64_t units) const {
        const uint64_t about = __umul64hi(units, long_reciprocal);
        return units - about * nunits >= nunits ? about + 1 : about;
    }
    __device__ __forceinline__ uint64_t units(uint64_t records) const { return records * nunits; }
    __device__ __forceinline__ uint64_t unit_of(uint64_t byte) const { return (byte < head ? 0 : byte - head) / sizeof(T); }
    __device__ __forceinline__ uintptr_t flag_of(uint64_t byte) const { return (uintptr_t)flags + records(unit_of(byte)); }

    struct Chunk {
        const DecideByRecord &d;
        const unsigned char *s_flags; /* of the tile's first record */
        int first_record;             /* of the chunk, from there; below 0 before the input */
        uint32_t done;                /* units of that record before the chunk */
        __device__ __forceinline__ Chunk(const DecideByRecord &decide, const uint4 *, RingPlace place) : d(decide) {
            const uint32_t record = (uint32_t)(place.side_first - (uintptr_t)d.flags);      /* of the tile's first unit, modulo 2^32 */
            const uint32_t own = (uint32_t)d.unit_of(place.tile_first) - record * d.nunits; /* units of that record before the tile */
            const uint32_t before = (uint32_t)(place.first - place.tile_first) / (uint32_t)sizeof(T);
            const uint32_t outside = place.tile_first < d.head ? (d.head - (uint32_t)place.tile_first) / (uint32_t)sizeof(T) : 0;
            const uint32_t unit = own + before + (uint32_t)AHEAD * d.nunits - outside, chunk_record = __umulhi(unit, d.reciprocal);
            done = unit - chunk_record * d.nunits;
            first_record = (int)chunk_record - AHEAD;
            s_flags = place.s_side;
        }

        /* A vector's units belong to one record, and maybe those that follow: the first `own` units, `own + nunits`, and the rest. */
        static __device__ __forceinline__ bool common() { return true; }
        template <bool> __device__ __forceinline__ uint32_t bits(unsigned i) const {
            const uint32_t unit = done + i * VEC, record = __umulhi(unit, d.reciprocal); /* unit is below 2^16 */
            const uint32_t own = (record + 1) * d.nunits - unit;
            uint32_t mask = flag(record) ? below(own) : 0;
            if (VEC > 1 && flag(record + 1)) mask |= below(own + d.nunits) & ~below(own);
            if (VEC > 2 && d.nunits < 3 && flag(record + 2)) mask |= ~below(own + d.nunits);
            return mask & ((1u << VEC) - 1);
        }
        __device__ __forceinline__ bool flag(uint32_t record) const { return s_flags[max(first_record + (int)record, 0)] != 0; }
        static __device__ __forceinline__ uint32_t below(uint32_t unit) { return (1u << min(unit, VEC)) - 1; }
        __device__ __forceinline__ uint32_t kept(uint32_t set) const { return set; }
    };
};

#endif
