/* utf8_encode.cuh: a row of UTF-32 or UTF-16, 16 bytes a lane, to UTF-8.
 *
 * Most rows hold one kind of text, and a vote of the warp finds out which, from the bits that its code units have in common:
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
 * Cost, in operations a unit: 3, 12, 20, 50. */
#ifndef UPSWEEP_CUDA_UTF8_ENCODE_CUH
#define UPSWEEP_CUDA_UTF8_ENCODE_CUH

#include "utf8_report.cuh"

enum Utf8Kind : uint32_t { UTF8_ROW_ASCII, UTF8_ROW_UP_TO_2, UTF8_ROW_UP_TO_3, UTF8_ROW_UP_TO_4, UTF8_ROW_PAIRS, UTF8_ROW_ANY };
enum { UTF8_KIND_BITS = 3 };

/* A code point of up to MOST bytes, and no surrogate. Those past its own are written too, but for the last MOST - 1 units of a lane: the
 * last one, the last but one, ... are 0, 1, ... `from_end`. Returns their number. */
template <int MOST> static __device__ __forceinline__ uint32_t put_unit(unsigned char *to, uint32_t code, int from_end) {
    const bool is_2 = code >= 0x80, is_3 = MOST > 2 && code >= 0x800, is_4 = MOST > 3 && code >= 0x10000;
    const uint32_t last = 0x80 | (code & 0x3F), third = 0x80 | (code >> 6 & 0x3F), second = 0x80 | (code >> 12 & 0x3F);
    const uint32_t first_of_2 = is_2 ? 0xC0 | code >> 6 : code, first_of_3 = is_3 ? 0xE0 | code >> 12 : first_of_2;
    to[0] = (unsigned char)(is_4 ? 0xF0 | code >> 18 : first_of_3);
    if (from_end > 0 || is_2) to[1] = (unsigned char)(is_4 ? second : is_3 ? third : last);
    if (MOST > 2 && (from_end > 1 || is_3)) to[2] = (unsigned char)(is_4 ? third : last);
    if (MOST > 3 && (from_end > 2 || is_4)) to[3] = (unsigned char)last;
    return 1u + is_2 + is_3 + is_4;
}

/* ---- UTF-32 ------------------------------------------------------------------------------------------------------------------ */

template <int UNIT> struct EncodeRow;

template <> struct EncodeRow<4> {
    enum { VEC = 4 };

    static __device__ __forceinline__ uint32_t unit(uint4 v, int i, bool) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }

    static __device__ __forceinline__ uint32_t kind_of(uint4 v, bool) {
        const uint32_t any = v.x | v.y | v.z | v.w;
        if (!__any_sync(ALL_LANES, any >= 0x80)) return UTF8_ROW_ASCII;
        if (!__any_sync(ALL_LANES, any >= 0x800)) return UTF8_ROW_UP_TO_2;
        const bool odd = v.x - 0xD800 < 0x800 || v.y - 0xD800 < 0x800 || v.z - 0xD800 < 0x800 || v.w - 0xD800 < 0x800 || v.x > 0x10FFFF ||
                         v.y > 0x10FFFF || v.z > 0x10FFFF || v.w > 0x10FFFF;
        if (__any_sync(ALL_LANES, odd)) return UTF8_ROW_ANY;
        return __any_sync(ALL_LANES, any >= 0x10000) ? UTF8_ROW_UP_TO_4 : UTF8_ROW_UP_TO_3;
    }

    /* Bytes of a vector of a row that is not of any kind. */
    static __device__ __forceinline__ uint32_t count(uint4 v, uint32_t kind, bool) {
        uint32_t nbytes = VEC;
        if (kind == UTF8_ROW_ASCII) return nbytes;
        nbytes += (v.x >= 0x80) + (v.y >= 0x80) + (v.z >= 0x80) + (v.w >= 0x80);
        if (kind >= UTF8_ROW_UP_TO_3) nbytes += (v.x >= 0x800) + (v.y >= 0x800) + (v.z >= 0x800) + (v.w >= 0x800);
        if (kind == UTF8_ROW_UP_TO_4) nbytes += (v.x >= 0x10000) + (v.y >= 0x10000) + (v.z >= 0x10000) + (v.w >= 0x10000);
        return nbytes;
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

    static __device__ __forceinline__ uint32_t word(uint4 v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }
    static __device__ __forceinline__ uint32_t unit(uint4 v, int i, bool swap) {
        return __byte_perm(word(v, i / 2), 0, (swap ? 0x4401u : 0x4410u) + (i % 2 != 0 ? 0x22u : 0));
    }

    /* Is one of the halves of a word D800..DFFF? */
    static __device__ __forceinline__ bool has_surrogate(uint32_t word) {
        const uint32_t x = (word ^ 0xD800D800) & 0xF800F800;
        return ((x - 0x08000800) & ~x & 0x80008000) != 0;
    }

    static __device__ __forceinline__ uint4 in_order(uint4 v, bool swap) {
        if (!swap) return v;
        return {__byte_perm(v.x, 0, 0x2301), __byte_perm(v.y, 0, 0x2301), __byte_perm(v.z, 0, 0x2301), __byte_perm(v.w, 0, 0x2301)};
    }

    static __device__ __forceinline__ uint32_t kind_of(uint4 stored, bool swap) {
        const uint4 v = in_order(stored, swap);
        const uint32_t any = v.x | v.y | v.z | v.w;
        if (!__any_sync(ALL_LANES, (any & 0xFF80FF80) != 0)) return UTF8_ROW_ASCII;
        if (!__any_sync(ALL_LANES, (any & 0xF800F800) != 0)) return UTF8_ROW_UP_TO_2;
        const bool odd = has_surrogate(v.x) || has_surrogate(v.y) || has_surrogate(v.z) || has_surrogate(v.w);
        return __any_sync(ALL_LANES, odd) ? UTF8_ROW_ANY : UTF8_ROW_UP_TO_3;
    }

    /* In each half of the result: 1 if that of the word has one of `bits`, which are its upper ones. */
    static __device__ __forceinline__ uint32_t halves_with(uint32_t word, uint32_t bits) {
        const uint32_t lower = bits & 0x7FFF7FFF;
        return (((word & lower) + lower) | word) >> 15 & 0x00010001;
    }

    static __device__ __forceinline__ uint32_t count(uint4 stored, uint32_t kind, bool swap) {
        if (kind == UTF8_ROW_ASCII) return VEC;
        const uint4 v = in_order(stored, swap);
        uint32_t n =
            halves_with(v.x, 0xFF80FF80) + halves_with(v.y, 0xFF80FF80) + halves_with(v.z, 0xFF80FF80) + halves_with(v.w, 0xFF80FF80);
        if (kind >= UTF8_ROW_UP_TO_3)
            n += halves_with(v.x, 0xF800F800) + halves_with(v.y, 0xF800F800) + halves_with(v.z, 0xF800F800) + halves_with(v.w, 0xF800F800);
        if (kind == UTF8_ROW_PAIRS) {
#pragma unroll
            for (int i = 0; i < 4; i++) n -= (halves_from(word(v, i), 0xD800) | halves_from(word(v, i), 0xDC00)) >> 15;
        }
        return VEC + (n & 0xFFFF) + (n >> 16);
    }

    /* In each half: 0x8000 if the unit is one of 1024 from `first` on, a surrogate. */
    static __device__ __forceinline__ uint32_t halves_from(uint32_t word, uint32_t first) {
        const uint32_t x = (word ^ (first | first << 16)) & 0xFC00FC00;
        return ~(((x & 0x7FFF7FFF) + 0x7FFF7FFF) | x) & 0x80008000;
    }

    struct Around {
        uint32_t left, right;
    }; /* the units beside a lane's vector */

    /* By all lanes. before: in lane 0, the unit before the row; behind: in lane 31, the one behind it; as stored. */
    static __device__ __forceinline__ Around around(uint4 v, uint32_t before, uint32_t behind, bool swap, int lane) {
        const uint32_t left = __shfl_up_sync(ALL_LANES, v.w >> 16, 1), right = __shfl_down_sync(ALL_LANES, v.x & 0xFFFF, 1);
        return {utf16_unit(lane == 0 ? before : left, swap), utf16_unit(lane == 31 ? behind : right, swap)};
    }

    /* Is every surrogate of the row part of a pair? */
    static __device__ __forceinline__ bool pairs_up(uint4 stored, Around beside, bool swap) {
        const uint4 v = in_order(stored, swap);
        uint32_t high = is_high_surrogate(beside.left) ? 0x80000000 : 0, odd = 0;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t before = high; /* of the word before */
            high = halves_from(word(v, i), 0xD800);
            odd |= halves_from(word(v, i), 0xDC00) ^ __funnelshift_l(before, high, 16);
        }
        return !__any_sync(ALL_LANES, odd != 0 || (high >> 31 != 0 && !is_low_surrogate(beside.right)));
    }

    /* The first two bytes of a pair's four are the high surrogate's, the last two the low one's. Lowest byte first. */
    static __device__ __forceinline__ uint32_t of_high(uint32_t unit) {
        const uint32_t top = (unit & 0x3FF) + 0x40; /* the code point, without 10 bits */
        return 0x80F0 | top >> 8 | (top & 0xFC) << 6;
    }
    static __device__ __forceinline__ uint32_t of_low(uint32_t unit, uint32_t high) {
        return 0x8080 | (high & 3) << 4 | (unit >> 6 & 0xF) | (unit & 0x3F) << 8;
    }

    /* The bytes of a unit of a row of pairs, as put_unit() does it. */
    static __device__ __forceinline__ uint32_t put_of_pairs(unsigned char *to, uint32_t unit, uint32_t previous, int from_end) {
        const bool is_high = is_high_surrogate(unit), is_low = is_low_surrogate(unit), is_2 = unit >= 0x80;
        const bool is_3 = unit >= 0x800 && !is_high && !is_low;
        const uint32_t last = 0x80 | (unit & 0x3F), of_pair = is_high ? of_high(unit) : of_low(unit, previous);
        const uint32_t first_of_2 = is_high || is_low ? of_pair : is_2 ? 0xC0 | unit >> 6 : unit;
        to[0] = (unsigned char)(is_3 ? 0xE0 | unit >> 12 : first_of_2);
        if (from_end > 0 || is_2) to[1] = (unsigned char)(is_high ? of_pair >> 8 : is_3 ? 0x80 | (unit >> 6 & 0x3F) : last);
        if (from_end > 1 || is_3) to[2] = (unsigned char)last;
        return 1u + is_2 + is_3;
    }

    static __device__ __forceinline__ void put_pairs(unsigned char *to, uint4 v, Around beside, bool swap) {
        uint32_t previous = beside.left;
#pragma unroll
        for (int i = 0; i < VEC; i++) {
            const uint32_t u = unit(v, i, swap);
            to += put_of_pairs(to, u, previous, VEC - 1 - i);
            previous = u;
        }
    }

    static __device__ __forceinline__ void put_ascii(unsigned char *to, uint4 v, bool swap) {
        const uint32_t pick = swap ? 0x7531 : 0x6420, first = __byte_perm(v.x, v.y, pick), second = __byte_perm(v.z, v.w, pick);
        if (is_aligned(to, 4)) {
            ((uint32_t *)to)[0] = first;
            ((uint32_t *)to)[1] = second;
            return;
        }
#pragma unroll
        for (int i = 0; i < VEC; i++) to[i] = (unsigned char)((i < 4 ? first : second) >> i % 4 * 8);
    }
};

/* Writes them. */
template <int UNIT> static __device__ __forceinline__ void put_row(unsigned char *to, uint4 v, uint32_t kind, bool swap) {
    typedef EncodeRow<UNIT> Row;
    enum { VEC = Row::VEC };
    if (kind == UTF8_ROW_ASCII) {
        if constexpr (UNIT == 4) Row::put_ascii(to, v);
        if constexpr (UNIT == 2) Row::put_ascii(to, v, swap);
    } else if (kind == UTF8_ROW_UP_TO_2) {
#pragma unroll
        for (int i = 0; i < VEC; i++) to += put_unit<2>(to, Row::unit(v, i, swap), VEC - 1 - i);
    } else if (UNIT == 2 || kind == UTF8_ROW_UP_TO_3) {
#pragma unroll
        for (int i = 0; i < VEC; i++) to += put_unit<3>(to, Row::unit(v, i, swap), VEC - 1 - i);
    } else {
#pragma unroll
        for (int i = 0; i < VEC; i++) to += put_unit<4>(to, Row::unit(v, i, swap), VEC - 1 - i);
    }
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

static __device__ __forceinline__ EncodeCodes<2> codes_of_row(uint4 v, EncodeRow<2>::Around beside, bool swap) {
    uint32_t previous = beside.left, unit = EncodeRow<2>::unit(v, 0, swap);
    EncodeCodes<2> c = {{}, {}, 0};
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const uint32_t next = i < 7 ? EncodeRow<2>::unit(v, i + 1, swap) : beside.right;
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
    for (int i = 0; i < 4; i++) c.set(i, EncodeRow<4>::unit(v, i, false), is_scalar(EncodeRow<4>::unit(v, i, false)));
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
