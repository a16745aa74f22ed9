/* kernels_portable.c: the table of kernels in plain C, for every machine; and the carries, which all tables share.
 *
 * What is written here for one type lies in portable_tmpl.h. Compactions move items of w bytes whatever their type: copy every item to the
 * next free place and step on only if it is kept, so that there is no branch to mispredict. */
#include <string.h>

#include "../op.h"
#include "kernels.h"

static inline uint64_t load_le64(const unsigned char *p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

#define EACH_TYPE "cpu/apply_tmpl.h"
#include "../each_type.h"

#define EACH_TYPE "cpu/portable_tmpl.h"
#include "../each_type.h"

#define EACH_TYPE "cpu/scan_switch_tmpl.h"
#include "../each_type.h"

#define EACH_TYPE "cpu/keep_switch_tmpl.h"
#include "../each_type.h"

/* ---- compaction -------------------------------------------------------------------------------------------------------------- */

/* Whole words of bits while there is room for all items, and the rest one by one. */
ALWAYS_INLINE size_t compact_words(size_t nbytes, void *out, size_t room, const void *in, const uint64_t *bits, size_t n) {
    const unsigned char *item = in;
    unsigned char *free_place = out;
    const size_t sure = 64 * words_with_room(n, room);
    for (size_t i = 0; i < sure; i++, item += nbytes) {
        unsigned char copy[16]; /* as in compact_one_by_one() */
        memcpy(copy, item, nbytes);
        memcpy(free_place, copy, nbytes);
        free_place += nbytes * (bits[i / 64] >> (i % 64) & 1);
    }
    compact_one_by_one(nbytes, &free_place, in, bits, sure, n);
    return (size_t)(free_place - (unsigned char *)out) / nbytes;
}

#include "compact_widths_tmpl.h"

ALWAYS_INLINE size_t sift_flagged(size_t nbytes, void *out, void *rest, const void *in, const uint8_t *flags, size_t n) {
    unsigned char *kept = out, *rejected = rest;
    for (size_t i = 0; i < n; i++) {
        const unsigned char *item = (const unsigned char *)in + i * nbytes;
        const size_t step = flags[i] != 0 ? nbytes : 0;
        memcpy(kept, item, nbytes);
        if (rest != NULL) memcpy(rejected, item, nbytes);
        kept += step;
        if (rest != NULL) rejected += nbytes - step;
    }
    return (size_t)(kept - (unsigned char *)out) / nbytes;
}

#include "flags_widths_tmpl.h"

static size_t indices32_portable(void *out, uint64_t base, const uint64_t *bits, size_t n) {
    uint32_t *index = out;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        index[kept] = (uint32_t)(base + i);
        kept += bits[i / 64] >> (i % 64) & 1;
    }
    return kept;
}

static size_t indices64_portable(void *out, uint64_t base, const uint64_t *bits, size_t n) {
    uint64_t *index = out;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        index[kept] = base + i;
        kept += bits[i / 64] >> (i % 64) & 1;
    }
    return kept;
}

/* Large items: find the runs of set bits, copy each run at once. */
size_t compact_records(void *out, const void *in, const uint64_t *bits, size_t n, size_t item_nbytes) {
    const unsigned char *items = in;
    unsigned char *free_place = out;
    for (size_t first = 0; first < n; first += 64) {
        uint64_t word = bits[first / 64];
        while (word != 0) {
            const int skipped = __builtin_ctzll(word);
            const uint64_t ended = ~(word >> skipped); /* 0: the run goes on to the last bit */
            const int length = ended == 0 ? 64 : __builtin_ctzll(ended);
            const size_t nbytes = (size_t)length * item_nbytes;
            memcpy(free_place, items + (first + (size_t)skipped) * item_nbytes, nbytes);
            free_place += nbytes;
            word = skipped + length >= 64 ? 0 : word >> (skipped + length) << (skipped + length);
        }
    }
    return (size_t)(free_place - (unsigned char *)out) / item_nbytes;
}

static void copy_portable(void *out, const void *in, size_t nbytes) { memcpy(out, in, nbytes); }

/* ---- tables ------------------------------------------------------------------------------------------------------------------ */

#define CARRY_ROW(e, v, name, ...) [e] = {carry_identity_##name, carry_load_##name, carry_combine_##name, carry_store_##name},
const struct carry_rules carry_rules[UPSWEEP_TYPE_COUNT] = {UPSWEEP_TYPE_TABLE(CARRY_ROW)};

#define SCAN_ROW(e, v, name, ...)   [e] = scan_##name,
#define REDUCE_ROW(e, v, name, ...) [e] = reduce_##name,
#define MASK_ROW(e, v, name, ...)   [e] = mask_##name,
#define FILTER_ROW(e, v, name, ...) [e] = filter_##name,
#define SPLIT_ROW(e, v, name, ...)  [e] = split_##name,
const struct kernels kernels_portable = {
    .scan = {UPSWEEP_TYPE_TABLE(SCAN_ROW)},
    .reduce = {UPSWEEP_TYPE_TABLE(REDUCE_ROW)},
    .mask = {UPSWEEP_TYPE_TABLE(MASK_ROW)},
    .filter = {UPSWEEP_TYPE_TABLE(FILTER_ROW)},
    .split = {UPSWEEP_TYPE_TABLE(SPLIT_ROW)},
    .flags = {flags_1, flags_2, flags_4, flags_8, flags_16},
    .compact = {compact_1, compact_2, compact_4, compact_8, compact_16},
    .indices32 = indices32_portable,
    .indices64 = indices64_portable,
    .stream_copy = copy_portable,
};
