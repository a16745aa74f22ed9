/* utf8_encode.cuh: rows of UTF-32 or UTF-16, 16 bytes a lane, to UTF-8.
 *
 * Most rows hold one kind of text, and votes of the warp find out which, from the bits that a row's code units have in common:
 *
 *   ASCII       a byte each: packed by permutes, stored as words
 *   UP_TO_2     below 800
 *   UP_TO_3     below 10000, and no surrogates
 *   UP_TO_4     UTF-32 up to 10FFFF
 *   PAIRS       UTF-16 with surrogates, all in pairs: each of them becomes two bytes
 *   ANY         ill-formed ones, and rows that are not all text: unit by unit, with a mask of those that count
 *
 * For those in the middle all bytes that a unit might have are stored, whether it has them or not, as the units after it overwrite what is
 * too much: a store costs less than the decision. Only a lane's last units must not write too much, for what follows is another lane's.
 * Cost, in operations a unit: 1 to 2, 11, 17, 25, 27, 50; and up to 12 to look at UTF-16, two units at a time, or 8 at UTF-32. */
#ifndef UPSWEEP_CUDA_UTF8_ENCODE_CUH
#define UPSWEEP_CUDA_UTF8_ENCODE_CUH

#include "async.cuh"
#include "utf8_report.cuh"
#include "vector.cuh"

enum : uint32_t { UTF8_ROW_ASCII, UTF8_ROW_UP_TO_2, UTF8_ROW_UP_TO_3, UTF8_ROW_UP_TO_4, UTF8_ROW_PAIRS, UTF8_ROW_ANY };
enum { UTF8_KIND_BITS = 3 };

/* ---- one unit ---------------------------------------------------------------------------------------------------------------- */

/* A continuation byte of the lowest six bits of x; only its lowest byte is right. tag: 80, in a register, so that this is one operation. */
static __device__ __forceinline__ uint32_t continuation_of(uint32_t x, uint32_t tag) {
    uint32_t byte;
    asm("lop3.b32 %0, %1, 0xC0, %2, 0xBA;" : "=r"(byte) : "r"(x), "r"(tag)); /* (x & ~C0) | tag */
    return byte;
}

/* 80, but the compiler does not know. */
static __device__ __forceinline__ uint32_t continuation_tag() { return opaque_one() * 0x80; }

/* Stores the lowest byte to shared memory. */
static __device__ __forceinline__ void store_byte(unsigned at, uint32_t byte) {
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(at), "r"(byte) : "memory");
}

/* One more, if. Left to itself, the compiler selects a one or a zero first. */
static __device__ __forceinline__ void step_if(unsigned &at, bool condition) {
    if (condition) asm volatile("add.u32 %0, %0, 1;" : "+r"(at));
}

/* Has a code point as many bytes, or more? */
struct EncodeLength {
    bool is_2, is_3, is_4;
};

/* A code point of up to MOST bytes, and no surrogate: unit i of a vector's VEC. at: where it begins, less i. Bytes past its own are written
 * too, as the next unit overwrites them, but for the last MOST - 1 units. Only the lowest bytes of `code` are stored: what lies above its
 * 8 + 6 * (MOST - 1) bits does no harm. */
template <int MOST, int VEC>
static __device__ __forceinline__ void put_unit(unsigned &at, int i, uint32_t code, EncodeLength length, uint32_t tag) {
    const bool is_2 = length.is_2, is_3 = MOST > 2 && length.is_3, is_4 = MOST > 3 && length.is_4;
    const uint32_t last = continuation_of(code, tag), third = continuation_of(code >> 6, tag), second = continuation_of(code >> 12, tag);
    const uint32_t first_of_2 = is_2 ? 0xC0 + (code >> 6) : code, first_of_3 = is_3 ? 0xE0 | code >> 12 : first_of_2;
    store_byte(at + i, is_4 ? 0xF0 | code >> 18 : first_of_3);
    if (i < VEC - 1 || is_2) store_byte(at + i + 1, is_4 ? second : is_3 ? third : last);
    if (MOST > 2 && (i < VEC - 2 || is_3)) store_byte(at + i + 2, is_4 ? third : last);
    if (MOST > 3 && (i < VEC - 3 || is_4)) store_byte(at + i + 3, last);
    step_if(at, is_2);
    if (MOST > 2) step_if(at, is_3);
    if (MOST > 3) step_if(at, is_4);
}

/* ---- UTF-32 ------------------------------------------------------------------------------------------------------------------ */

template <int UNIT> struct EncodeRow;

template <> struct EncodeRow<4> {
    enum { VEC = 4 };

    static __device__ __forceinline__ uint32_t unit(uint4 v, int i) { return word_of(v, (uint32_t)i); }

    static __device__ __forceinline__ uint4 in_order(uint4 v, bool) { return v; }

    /* 1 if a unit below 80000000 is more than `most`, by the sign of a difference: two operations with the sum that it goes to. */
    static __device__ __forceinline__ uint32_t is_more(uint32_t unit, uint32_t most) { return (most - unit) >> 31; }

    static __device__ __forceinline__ uint32_t count_more(uint4 v, uint32_t most) {
        return is_more(v.x, most) + is_more(v.y, most) + is_more(v.z, most) + is_more(v.w, most);
    }

    static __device__ __forceinline__ bool is_odd(uint32_t unit) { return unit - 0xD800 < 0x800 || unit > 0x10FFFF; }

    /* By all lanes: the kind of a row, and the bytes that this lane's vector becomes unless that is ANY. */
    static __device__ __forceinline__ uint32_t look(uint32_t &nbytes, uint4 v, uint32_t, int) {
        const uint32_t most = max(max(v.x, v.y), max(v.z, v.w));
        nbytes = VEC;
        if (!__any_sync(ALL_LANES, most >= 0x80)) return UTF8_ROW_ASCII;
        nbytes += count_more(v, 0x7F);
        if (!__any_sync(ALL_LANES, most >= 0x800)) return UTF8_ROW_UP_TO_2;
        nbytes += count_more(v, 0x7FF);
        if (__any_sync(ALL_LANES, is_odd(v.x) || is_odd(v.y) || is_odd(v.z) || is_odd(v.w))) return UTF8_ROW_ANY;
        if (!__any_sync(ALL_LANES, most >= 0x10000)) return UTF8_ROW_UP_TO_3;
        nbytes += count_more(v, 0xFFFF);
        return UTF8_ROW_UP_TO_4;
    }

    /* ASCII, the same alignment in all lanes. */
    static __device__ __forceinline__ void put_ascii(unsigned char *to, uint4 v) {
        const uint32_t word = __byte_perm(__byte_perm(v.x, v.y, 0x0040), __byte_perm(v.z, v.w, 0x0040), 0x5410);
        if (is_aligned(to, 4)) {
            *(uint32_t *)to = word;
            return;
        }
#pragma unroll
        for (int i = 0; i < VEC; i++) to[i] = (unsigned char)(word >> 8 * i);
    }
};

/* ---- UTF-16 ------------------------------------------------------------------------------------------------------------------ */

template <> struct EncodeRow<2> {
    enum { VEC = 8 };

    static __device__ __forceinline__ uint32_t unit(uint4 v, int i) {
        return i % 2 != 0 ? word_of(v, i / 2) >> 16 : word_of(v, i / 2) & 0xFFFF;
    }

    static __device__ __forceinline__ uint4 in_order(uint4 v, bool swap) {
        const uint32_t order = swap ? 0x2301 : 0x3210;
        return {__byte_perm(v.x, 0, order), __byte_perm(v.y, 0, order), __byte_perm(v.z, 0, order), __byte_perm(v.w, 0, order)};
    }

    /* In each half: 0x8000 if that of the word has one of `bits`, which are its upper ones. */
    static __device__ __forceinline__ uint32_t halves_with(uint32_t word, uint32_t bits) {
        const uint32_t lower = bits & 0x7FFF7FFF;
        return (((word & lower) + lower) | word) & 0x80008000;
    }

    /* In each half: 0x8000 if it is D800..DFFF. */
    static __device__ __forceinline__ uint32_t surrogates(uint32_t word) {
        return ~(((word ^ 0xD800D800) & 0x78007800) + 0x78007800) & word & 0x80008000;
    }

    /* By all lanes: the kind of a row in order, and the bytes that this lane's vector becomes unless that is ANY. around: in lane 0 the
     * unit before the row, in lane 31 the one behind it, if they are halves of pairs. */
    static __device__ __forceinline__ uint32_t look(uint32_t &nbytes, uint4 v, uint32_t around, int lane) {
        const uint32_t any = v.x | v.y | v.z | v.w;
        uint32_t n = 0, paired = 0, kind = UTF8_ROW_ASCII;
        if (__any_sync(ALL_LANES, (any & 0xFF80FF80) != 0)) {
            kind = UTF8_ROW_UP_TO_2;
#pragma unroll
            for (int i = 0; i < 4; i++) n += halves_with(word_of(v, i), 0xFF80FF80) >> 15;
            if (__any_sync(ALL_LANES, (any & 0xF800F800) != 0)) {
                kind = UTF8_ROW_UP_TO_3;
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const uint32_t both = surrogates(word_of(v, i));
                    n += (halves_with(word_of(v, i), 0xF800F800) & ~both) >> 15; /* a surrogate of a pair has two bytes */
                    paired |= both;
                }
                if (__any_sync(ALL_LANES, paired != 0)) kind = pairs_up(v, around, lane) ? UTF8_ROW_PAIRS : UTF8_ROW_ANY;
            }
        }
        nbytes = VEC + (n & 0xFFFF) + (n >> 16);
        return kind;
    }

    /* Is every surrogate of the row part of a pair? */
    static __device__ __forceinline__ bool pairs_up(uint4 v, uint32_t around, int lane) {
        uint32_t odd = 0, low[4], high[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t both = surrogates(word_of(v, i)), is_low = word_of(v, i) << 5;
            low[i] = both & is_low;
            high[i] = both & ~is_low;
        }
        const bool open = high[3] >> 31 != 0; /* the vector ends with a high one */
        const uint32_t lanes = __ballot_sync(ALL_LANES, open);
        uint32_t before = (lane == 0 ? (is_high_surrogate(around) ? 1 : 0) : lanes >> (lane - 1)) << 31;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            odd |= low[i] ^ __funnelshift_l(before, high[i], 16);
            before = high[i];
        }
        return !__any_sync(ALL_LANES, odd != 0 || (lane == 31 && open && !is_low_surrogate(around)));
    }

    struct Around {
        uint32_t left, right;
    }; /* the units beside a lane's vector */

    /* By all lanes. before: in lane 0, the unit before the row; behind: in lane 31, the one behind it. */
    static __device__ __forceinline__ Around around(uint4 v, uint32_t before, uint32_t behind, int lane) {
        const uint32_t left = __shfl_up_sync(ALL_LANES, v.w >> 16, 1), right = __shfl_down_sync(ALL_LANES, v.x & 0xFFFF, 1);
        return {lane == 0 ? before : left, lane == 31 ? behind : right};
    }

    /* The first two bytes of a pair's four are the high surrogate's, the last two the low one's. Lowest byte first. */
    static __device__ __forceinline__ uint32_t of_high(uint32_t unit) {
        const uint32_t top = (unit & 0x3FF) + 0x40; /* the code point, without 10 bits */
        return 0x80F0 | top >> 8 | (top & 0xFC) << 6;
    }
    static __device__ __forceinline__ uint32_t of_low(uint32_t unit, uint32_t high) {
        return 0x8080 | (high & 3) << 4 | (unit >> 6 & 0xF) | (unit & 0x3F) << 8;
    }

    /* A row of pairs. What put_unit() makes of these codes for surrogates as of two bytes are just the bytes of of_high() and of_low().
     * left: the unit before the vector. */
    static __device__ __forceinline__ void put_pairs(unsigned char *to, uint4 v, uint32_t left) {
        const uint32_t tag = continuation_tag();
        unsigned at = shared_address(to);
#pragma unroll
        for (int i = 0; i < VEC; i++) {
            const uint32_t u = unit(v, i), previous = i == 0 ? left : unit(v, i - 1);
            const uint32_t past = u - 0xD800;
            const bool is_either = past < 0x800, is_low = is_either && past >= 0x400;
            uint32_t code = u;
            if (is_either) code = (past >> 2) + 0x40 / 4 + 0xC00;
            if (is_low) code = (previous << 10 & 0xC00) | (u ^ (0xDC00 ^ 0x3000));
            put_unit<3, VEC>(at, i, code, {u >= 0x80, u >= 0x800 && !is_either, false}, tag);
        }
    }

    static __device__ __forceinline__ void put_ascii(unsigned char *to, uint4 v) {
        const uint32_t first = __byte_perm(v.x, v.y, 0x6420), second = __byte_perm(v.z, v.w, 0x6420);
        if (is_aligned(to, 4)) {
            ((uint32_t *)to)[0] = first;
            ((uint32_t *)to)[1] = second;
            return;
        }
#pragma unroll
        for (int i = 0; i < VEC; i++) to[i] = (unsigned char)((i < 4 ? first : second) >> i % 4 * 8);
    }
};

template <int UNIT, int MOST> static __device__ __forceinline__ void put_units(unsigned char *to, uint4 v) {
    typedef EncodeRow<UNIT> Row;
    const uint32_t tag = continuation_tag();
    unsigned at = shared_address(to);
#pragma unroll
    for (int i = 0; i < Row::VEC; i++) {
        const uint32_t code = Row::unit(v, i);
        put_unit<MOST, Row::VEC>(at, i, code, {code >= 0x80, code >= 0x800, code >= 0x10000}, tag);
    }
}

/* A row of one of the first four kinds. */
template <int UNIT> static __device__ __forceinline__ void put_row(unsigned char *to, uint4 v, uint32_t kind) {
    if (kind == UTF8_ROW_ASCII)
        EncodeRow<UNIT>::put_ascii(to, v);
    else if (kind == UTF8_ROW_UP_TO_2)
        put_units<UNIT, 2>(to, v);
    else if (UNIT == 2 || kind == UTF8_ROW_UP_TO_3)
        put_units<UNIT, 3>(to, v);
    else
        put_units<UNIT, 4>(to, v);
}

/* ---- any row ----------------------------------------------------------------------------------------------------------------- */

/* What each unit of a vector becomes: its bytes, the first one lowest, U+FFFD's if it is ill-formed; and a bit a unit if it is. A surrogate
 * of a pair becomes two bytes of the four, as in rows of pairs: a pair may lie in rows of two kinds. */
template <int UNIT> struct EncodeCodes {
    uint32_t bytes[16 / UNIT], length[16 / UNIT];
    uint32_t bad;

    __device__ __forceinline__ void set(int i, uint32_t code, bool good) {
        if (!good) code = 0xFFFD;
        bytes[i] = utf8_of(code);
        length[i] = utf8_length(code);
        bad |= (good ? 0u : 1u) << i;
    }
};

static __device__ __forceinline__ EncodeCodes<2> codes_of_row(uint4 v, EncodeRow<2>::Around beside) {
    uint32_t previous = beside.left, unit = EncodeRow<2>::unit(v, 0);
    EncodeCodes<2> c = {{}, {}, 0};
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const uint32_t next = i < 7 ? EncodeRow<2>::unit(v, i + 1) : beside.right;
        const bool ends_pair = is_low_surrogate(unit) && is_high_surrogate(previous);
        const bool begins_pair = is_high_surrogate(unit) && is_low_surrogate(next);
        c.set(i, unit, ends_pair || begins_pair || unit >> 11 != 0xD800 >> 11);
        if (begins_pair) c.bytes[i] = EncodeRow<2>::of_high(unit);
        if (ends_pair) c.bytes[i] = EncodeRow<2>::of_low(unit, previous);
        if (begins_pair || ends_pair) c.length[i] = 2;
        previous = unit;
        unit = next;
    }
    return c;
}

static __device__ __forceinline__ EncodeCodes<4> codes_of_row(uint4 v) {
    EncodeCodes<4> c = {{}, {}, 0};
#pragma unroll
    for (int i = 0; i < 4; i++) c.set(i, EncodeRow<4>::unit(v, i), is_scalar(EncodeRow<4>::unit(v, i)));
    return c;
}

template <int UNIT> static __device__ __forceinline__ uint32_t count_codes(const EncodeCodes<UNIT> &c, uint32_t counted) {
    uint32_t nbytes = 0;
#pragma unroll
    for (int i = 0; i < 16 / UNIT; i++) nbytes += counted >> i & 1 ? c.length[i] : 0;
    return nbytes;
}

template <int UNIT> static __device__ __forceinline__ void put_codes(unsigned char *to, const EncodeCodes<UNIT> &c, uint32_t counted) {
#pragma unroll
    for (int i = 0; i < 16 / UNIT; i++) {
        if (!(counted >> i & 1)) continue;
        to[0] = (unsigned char)c.bytes[i];
        if (c.length[i] > 1) to[1] = (unsigned char)(c.bytes[i] >> 8);
        if (c.length[i] > 2) to[2] = (unsigned char)(c.bytes[i] >> 16);
        if (UNIT == 4 && c.length[i] > 3) to[3] = (unsigned char)(c.bytes[i] >> 24);
        to += c.length[i];
    }
}

#endif
