/* ring_decide.cuh: what decides which elements a ring compaction keeps: the elements themselves, or an array of byte flags beside them.
 *
 *   flags     f0          f1          f2            a byte a record, brought along by the copy engine as the ring's side array
 *   units     u0 u1 u2    u3 u4 u5    u6 ...        a record of 48 bytes is moved as 3 units of 16, which share its flag
 *
 * So records of any size are a compaction of units: the same kernels, and only the place of a unit's flag has to be found. A flag is found
 * by multiplying by the reciprocal of the number of units, which is exact for the small numbers within a chunk. */
#ifndef UPSWEEP_RING_DECIDE_CUH
#define UPSWEEP_RING_DECIDE_CUH

#include "keep.cuh"
#include "ring.cuh"

/* By value. */
template <class T> struct DecideByValue {
    static constexpr bool FLAGS = false;
    static constexpr unsigned side_nbytes(unsigned) { return 0; }
    Keep<T> keep;

    __device__ __forceinline__ uint64_t records(uint64_t units) const { return units; }
    __device__ __forceinline__ uint64_t units(uint64_t records) const { return records; }

    struct Chunk {
        const Keep<T> &keep;
        const uint4 *s_chunk;
        __device__ __forceinline__ Chunk(const DecideByValue &d, const uint4 *chunk, RingPlace) : keep(d.keep), s_chunk(chunk) {}

        /* A bit for each element of vector i of the chunk: within the interval. */
        __device__ __forceinline__ uint32_t bits(unsigned i) const { return inside_bits<T>(keep, s_chunk[i]); }
        /* Said of many bits at once. */
        __device__ __forceinline__ uint32_t kept(uint32_t inside) const { return keep.negate ? ~inside : inside; }
    };
};

/* By a flag for each T. */
template <class T> struct DecideByFlag {
    static constexpr bool FLAGS = true;
    static constexpr unsigned VEC = 16 / sizeof(T);
    static constexpr unsigned side_nbytes(unsigned tile_nbytes) { return tile_nbytes / (unsigned)sizeof(T) + 16; }
    const unsigned char *flags, *end, *tile0; /* tile0: of the element at byte 0 of tile 0; flags too few before it do not exist */

    __device__ __forceinline__ uint64_t records(uint64_t units) const { return units; }
    __device__ __forceinline__ uint64_t units(uint64_t records) const { return records; }
    __device__ __forceinline__ uintptr_t flag_of(uint64_t byte) const { return (uintptr_t)tile0 + byte / sizeof(T); }

    struct Chunk {
        const unsigned char *s_flags; /* of the chunk's first element: aligned to nothing */
        __device__ __forceinline__ Chunk(const DecideByFlag &d, const uint4 *, RingPlace place)
            : s_flags(place.s_side + (d.flag_of(place.first) - place.side_base)) {}

        __device__ __forceinline__ uint32_t bits(unsigned i) const {
            uint32_t mask = 0;
            if constexpr (VEC < 4) {
#pragma unroll
                for (unsigned j = 0; j < VEC; j++) mask |= (s_flags[i * VEC + j] != 0 ? 1u : 0u) << j;
            } else {
                const uintptr_t skew = (uintptr_t)(s_flags + i * VEC) & 3;
                const uint32_t *const words = (const uint32_t *)(s_flags + i * VEC - skew);
#pragma unroll
                for (unsigned j = 0; j < VEC / 4; j++) {
                    const uint32_t four = skew == 0 ? words[j] : __funnelshift_r(words[j], words[j + 1], 8 * (unsigned)skew);
                    mask |= (gather_bytes(__vsetne4(four, 0)) & 0xf) << 4 * j;
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
    static constexpr unsigned MAX_UNITS = 1 << 15; /* up to which the reciprocal is exact for a chunk's units */
    static constexpr unsigned side_nbytes(unsigned tile_nbytes) { return tile_nbytes / (unsigned)sizeof(T) / 2 + 32; }
    const unsigned char *flags, *end;
    uint32_t nunits, reciprocal; /* of a record; ceil(2^32 / nunits) */
    uint32_t head;               /* bytes of tile 0 before the input */

    __device__ __forceinline__ uint64_t records(uint64_t units) const { return units / nunits; }
    __device__ __forceinline__ uint64_t units(uint64_t records) const { return records * nunits; }
    __device__ __forceinline__ uint64_t unit_of(uint64_t byte) const { return (byte < head ? 0 : byte - head) / sizeof(T); }
    __device__ __forceinline__ uintptr_t flag_of(uint64_t byte) const { return (uintptr_t)flags + unit_of(byte) / nunits; }

    struct Chunk {
        const DecideByRecord &d;
        const unsigned char *s_flags; /* of the record to which the chunk's first unit belongs */
        uint32_t done;                /* units of that record before it */
        __device__ __forceinline__ Chunk(const DecideByRecord &decide, const uint4 *, RingPlace place) : d(decide) {
            const uint64_t unit = d.unit_of(place.first), record = unit / d.nunits;
            s_flags = place.s_side + ((uintptr_t)d.flags + record - place.side_base);
            done = (uint32_t)(unit - record * d.nunits);
            if (place.first < d.head) done -= (d.head - (uint32_t)place.first) / (uint32_t)sizeof(T); /* wraps back when units are added */
        }

        __device__ __forceinline__ uint32_t bits(unsigned i) const {
            uint32_t mask = 0;
#pragma unroll
            for (unsigned j = 0; j < VEC; j++) {
                const uint32_t unit = done + i * VEC + j; /* below 2^16, or before the input */
                mask |= ((int32_t)unit >= 0 && s_flags[__umulhi(unit, d.reciprocal)] != 0 ? 1u : 0u) << j;
            }
            return mask;
        }
        __device__ __forceinline__ uint32_t kept(uint32_t set) const { return set; }
    };
};

#endif
