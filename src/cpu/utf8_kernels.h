/* utf8_kernels.h: the inner loops of UTF-8: one thread, one piece of text, no checks. A table for each instruction set; all give the same.
 *
 * A piece begins and ends where a sequence does. Kernels read in [n] and nothing beside it, as texts may end where memory does, and write
 * within the most that n code units can become: while 64 units are left to read there is room for a full vector of output, so only the
 * first and the last window of a piece need care. */
#ifndef UPSWEEP_UTF8_KERNELS_H
#define UPSWEEP_UTF8_KERNELS_H

#include "kernels.h"
#include "utf8_rules.h"

/* Ill-formed sequences of a piece; kernels add to it. */
struct utf8_bad {
    uint64_t sequences, units;
    size_t first; /* where the first one begins in the piece; SIZE_MAX: there is none */
};

#define UTF8_NONE_BAD ((struct utf8_bad){.first = SIZE_MAX})

/* Well-formed sequences of a piece, all and those of four bytes. */
struct utf8_good {
    uint64_t sequences, of_4;
};

/* Writes in [n] to out in the kernel's encoding and returns the number of code units. replace: U+FFFD for ill-formed sequences. */
typedef size_t utf8_decode_kernel(void *out, const uint8_t *in, size_t n, bool replace, struct utf8_bad *bad);
/* Counts what is in in [n]. */
typedef struct utf8_good utf8_measure_kernel(const uint8_t *in, size_t n, struct utf8_bad *bad);
/* Writes code units in [n] of the kernel's encoding as UTF-8 and returns the number of bytes. */
typedef size_t utf8_encode_kernel(uint8_t *out, const void *in, size_t n, bool replace, struct utf8_bad *bad);

/* All of a call whose arguments short_cuts.c has found good, with room for n code units. Six arguments: a seventh would not come in a
 * register, and kernels that work with vectors keep a frame for it. */
typedef upsweep_status utf8_decode_call(upsweep_context *ctx, void *out, upsweep_utf8_report *report, const void *in, uint64_t n,
                                        const upsweep_utf8_options *options);

/* By encoding of the other side: UTF32, UTF16LE, UTF16BE. */
struct utf8_kernels {
    utf8_decode_kernel *decode[UPSWEEP_UTF8];
    utf8_measure_kernel *measure;
    utf8_encode_kernel *encode[UPSWEEP_UTF8];
    utf8_decode_call *decode_few[UPSWEEP_UTF8];
    utf8_measure_call *measure_few;
};

/* These calls by way of the kernels above (short_cuts.c). */
utf8_decode_call cpu_utf8_decode_few;
utf8_measure_call cpu_utf8_measure_few;

/* The report of well-formed text [n] that has become `units` code units. Member by member: gcc 12 clears a struct with an instruction that
 * takes 3 ns. */
ALWAYS_INLINE void utf8_report_good(upsweep_utf8_report *report, uint64_t units, uint64_t written, uint64_t n) {
    report->needed = units;
    report->written = written;
    report->consumed = n;
    report->bad_sequences = 0;
    report->bad_units = 0;
    report->error_at = UINT64_MAX;
    report->error = UPSWEEP_TEXT_GOOD;
    report->status = UPSWEEP_OK;
}

#define UTF8_NOT_WELL SIZE_MAX

/* The end of a whole call on a short text that has been decoded to k code units: or, if it is not well-formed, all of the call. */
ALWAYS_INLINE upsweep_status utf8_end_few(upsweep_context *ctx, void *out, upsweep_utf8_report *report, const void *in, uint64_t n,
                                          const upsweep_utf8_options *options, size_t k) {
    if (k == UTF8_NOT_WELL) return cpu_utf8_decode_few(ctx, out, report, in, n, options);
    utf8_report_good(report, k, k, n);
    return UPSWEEP_OK;
}

extern const struct utf8_kernels utf8_kernels_portable;
/* utf8_portable_encode.c, utf8_avx2_measure.c and so on */
utf8_measure_kernel utf8_measure_portable;
utf8_encode_kernel utf32_encode_portable, utf16le_encode_portable, utf16be_encode_portable;
#if defined(__x86_64__)
extern const struct utf8_kernels utf8_kernels_avx2, utf8_kernels_avx512;
utf8_measure_kernel utf8_measure_avx2, utf8_measure_avx512;
utf8_measure_call utf8_measure_few_avx512;
utf8_encode_kernel utf32_encode_avx2, utf16le_encode_avx2, utf16be_encode_avx2;
utf8_encode_kernel utf32_encode_avx512, utf16le_encode_avx512, utf16be_encode_avx512;
#endif

static inline const struct utf8_kernels *cpu_utf8_kernels(enum cpu_isa isa) {
#if defined(__x86_64__)
    if (isa == CPU_AVX512) return &utf8_kernels_avx512;
    if (isa == CPU_AVX2) return &utf8_kernels_avx2;
#endif
    (void)isa;
    return &utf8_kernels_portable;
}

/* What is wrong with the ill-formed sequence that begins at code unit `at` of in [n]? */
upsweep_text_error cpu_utf8_error(const unsigned char *in, uint64_t n, upsweep_encoding from, uint64_t at);

/* Does UTF-16 of this encoding have the other byte order than the machine? */
static inline bool utf16_is_swapped(upsweep_encoding encoding) {
    return encoding == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? UPSWEEP_UTF16BE : UPSWEEP_UTF16LE);
}

/* Takes one ill-formed sequence into *bad. */
static inline void utf8_take_one_bad(struct utf8_bad *bad, size_t at, size_t length) {
    if (bad->first == SIZE_MAX) bad->first = at;
    bad->sequences++;
    bad->units += length;
}

/* Takes the ill-formed sequences that end within a window into *bad. `owned` are the bits that count; bit UTF8_BEFORE is byte `at` of the
 * piece. Where the first one begins is looked for once. No branch on whether there are any: returns that. */
ALWAYS_INLINE bool utf8_take_any_bad(struct utf8_bad *bad, const struct utf8_ends *ends, uint64_t owned, size_t at) {
    const uint64_t found = ends->bad & owned, nfound = popcount_64(found);
    bad->sequences += nfound;
    bad->units += nfound + popcount_64(ends->bad_2 & owned) + popcount_64(ends->bad_3 & owned);
    if (bad->first == SIZE_MAX && found != 0) {
        const uint64_t end = found & (0 - found);
        bad->first = at + (size_t)__builtin_ctzll(end) - UTF8_BEFORE - ((end & ends->bad_2) != 0) - ((end & ends->bad_3) != 0);
    }
    return found != 0;
}

/* The same, where few windows have any. */
ALWAYS_INLINE bool utf8_take_bad(struct utf8_bad *bad, const struct utf8_ends *ends, uint64_t owned, size_t at) {
    return __builtin_expect((ends->bad & owned) != 0, 0) && utf8_take_any_bad(bad, ends, owned, at);
}

/* Ill-formed windows of late, a bit each; after one, the 16 behind it are looked at warily. */
#define UTF8_WARY (UINT32_C(1) << 15)

/* The bits of a window that belong to a piece of which `left` bytes are left. */
ALWAYS_INLINE uint64_t utf8_owned(size_t left) { return (left >= UTF8_OWNED ? UTF8_OWNED_BITS : ((uint64_t)1 << left) - 1) << UTF8_BEFORE; }

#endif
