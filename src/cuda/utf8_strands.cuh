/* utf8_strands.cuh: is this well-formed UTF-8, and how many sequences are in it? In eight places of a text at a time, its strands.
 *
 *     strand 0    E2 82 AC 41   20 ...       the words of eight strands make eight planes (utf8_rules.cuh): bit 8 * c + k of a plane is of
 *     strand 1    D0 BC D0 B8   D1 ...       byte c of strand k's word. So the bytes before these are eight bits lower, and those before a
 *     ...                                    word are the highest bits of the word before it
 *     strand 7    41 42 43 44   45 ...
 *
 * Nothing is moved to where a plane wants it, as in windows of 32 neighbours, and nothing is looked at twice, as where windows overlap.
 * What comes before the first word of a strand is handed over by the lane that has it, as bits (Utf8Carry). Everything is asked of a byte
 * and the three before it: if it does not go on with a sequence, it ends the one before it and begins another. Cost: 48 operations for the
 * planes of 32 bytes, some 25 to see that all is well, and 20 more if it is not. */
#ifndef UPSWEEP_CUDA_UTF8_STRANDS_CUH
#define UPSWEEP_CUDA_UTF8_STRANDS_CUH

#include "utf8_rules.cuh"

enum { UTF8_STRANDS = 8 };

/* Four bytes of each strand. */
struct Utf8StrandClasses {
    uint32_t plane_4, plane_5;
    uint32_t continuation;
    uint32_t lead, from_e0, from_f0; /* C0..FF, E0..FF, F0..FF */
    uint32_t not_low, not_high;      /* leads that must not go on with a byte below A0 (E0) or 90 (F0), or not with another one (ED, F4);
                                      * with none: C0, C1, F5.. */
};

/* Sequences that want another byte: those of three or four, of four, that have a good second one; those of four that have a third. */
struct Utf8Open {
    uint32_t second_34, second_4, third_4;
};

static __device__ __forceinline__ Utf8StrandClasses strand_classes(const BitPlanes &x) {
    const uint32_t p0 = x.plane[0], p1 = x.plane[1], p2 = x.plane[2], p3 = x.plane[3], p4 = x.plane[4], p5 = x.plane[5];
    Utf8StrandClasses c;
    c.plane_4 = p4;
    c.plane_5 = p5;
    c.continuation = x.plane[7] & ~x.plane[6];
    c.lead = x.plane[7] & x.plane[6];
    c.from_e0 = c.lead & p5;
    c.from_f0 = c.from_e0 & p4;
    const uint32_t low_123 = p3 | p2 | p1; /* one of these bits is set */
    const uint32_t never = (c.from_f0 & (p3 | (p2 & (p1 | p0)))) | (c.lead & ~(p5 | p4 | low_123));
    c.not_low = (c.from_e0 & ~(low_123 | p0)) | never;
    c.not_high = (c.from_e0 & p2 & ~p1 & (p0 ^ p4) & (p3 ^ p4)) | never; /* ED: D is 1101; F4 */
    return c;
}

/* ---- what comes before ------------------------------------------------------------------------------------------------------- */

/* Bytes: what the last byte of each strand, or the last three, ask of the next ones. All zero: nothing. */
struct Utf8Carry {
    uint32_t a; /* third_4, second_4, from_f0, lead */
    uint32_t b; /* second_34, from_e0, not_low, not_high */
};

/* The same in the highest bytes of words, where the next word's bytes look for them. */
struct Utf8Before {
    uint32_t lead, from_e0, from_f0, not_low, not_high;
    Utf8Open open;
};

static __device__ __forceinline__ Utf8Before unpack(Utf8Carry c) {
    return {c.a, c.b << 16, c.a << 8, c.b << 8, c.b, {c.b << 24, c.a << 16, c.a << 24}};
}

static __device__ __forceinline__ Utf8Carry carry_of(const Utf8StrandClasses &c, const Utf8Open &open) {
    return {__byte_perm(__byte_perm(open.third_4, open.second_4, 0x73), __byte_perm(c.from_f0, c.lead, 0x73), 0x5410),
            __byte_perm(__byte_perm(open.second_34, c.from_e0, 0x73), __byte_perm(c.not_low, c.not_high, 0x73), 0x5410)};
}

/* If all is well, then two bytes behind F0.. there is a third one, and so on. */
static __device__ __forceinline__ Utf8Carry carry_of_good(const Utf8StrandClasses &c) {
    return {__byte_perm(c.from_f0, c.lead, 0x7321), __byte_perm(__byte_perm(c.from_e0, c.not_low, 0x732), c.not_high, 0x7210)};
}

/* The bytes before those of `word`; `before` are the last ones of the word before. */
static __device__ __forceinline__ uint32_t previous(uint32_t before, uint32_t word, int nbytes = 1) {
    return __funnelshift_l(before, word, 8 * (uint32_t)nbytes);
}

/* ---- a word of each strand --------------------------------------------------------------------------------------------------- */

/* Bits at the bytes behind leads: those that do not suit them. Only for continuation bytes. */
static __device__ __forceinline__ uint32_t second_unfit(const Utf8Before &before, const Utf8StrandClasses &c) {
    const uint32_t is_high = c.plane_5 | (c.plane_4 & previous(before.from_f0, c.from_f0));
    return (is_high & previous(before.not_high, c.not_high)) | (~is_high & previous(before.not_low, c.not_low));
}

/* If all is well. continuations: where leads want some; fourth: the last bytes of sequences of four. */
struct Utf8GoodWord {
    uint32_t continuations, fourth, wrong;
};

static __device__ __forceinline__ Utf8GoodWord look_at_good(const Utf8Before &before, const Utf8StrandClasses &c) {
    Utf8GoodWord w;
    w.fourth = previous(before.from_f0, c.from_f0, 3);
    w.continuations = previous(before.lead, c.lead) | previous(before.from_e0, c.from_e0, 2) | w.fourth;
    w.wrong = (w.continuations ^ c.continuation) | second_unfit(before, c);
    return w;
}

/* In any case. A sequence that is cut short is noted at the byte that does not go on with it, a byte of none where it is. */
struct Utf8AnyWord {
    uint32_t starts, fourth;
    uint32_t short_1_3, short_2_3; /* what ends before these bytes has one or three, two or three bytes, and is too short */
    uint32_t stray;
    Utf8Open open;
};

static __device__ __forceinline__ Utf8AnyWord look_at_any(const Utf8Before &before, const Utf8StrandClasses &c) {
    const uint32_t first = previous(before.lead, c.lead), second = c.continuation & first & ~second_unfit(before, c);
    Utf8AnyWord w;
    w.open.second_34 = second & previous(before.from_e0, c.from_e0);
    w.open.second_4 = second & previous(before.from_f0, c.from_f0);
    const uint32_t want_3 = previous(before.open.second_34, w.open.second_34);
    w.open.third_4 = c.continuation & previous(before.open.second_4, w.open.second_4);
    const uint32_t want_4 = previous(before.open.third_4, w.open.third_4);
    w.fourth = c.continuation & want_4;
    w.starts = ~(second | (c.continuation & (want_3 | want_4)));
    w.short_1_3 = w.starts & (first | want_4);
    w.short_2_3 = w.starts & (want_3 | want_4);
    w.stray = w.starts & c.continuation;
    return w;
}

#endif
