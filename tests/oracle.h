/* oracle.h: a second, simple implementation of every primitive, to compare the library with: serial, one element at a time.
 *
 * Elements travel as their bits in a uint64_t (zero-extended), so one function serves all types; nothing here includes or mirrors the
 * library's sources. All arrays are host memory. */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upsweep.h"

static inline bool is_float(upsweep_type type) { return type == UPSWEEP_F32 || type == UPSWEEP_F64; }
static inline bool is_signed(upsweep_type type) {
    return type == UPSWEEP_I8 || type == UPSWEEP_I16 || type == UPSWEEP_I32 || type == UPSWEEP_I64;
}

/* Bytes of an element, from this table and not from the library. */
size_t elem_size(upsweep_type type);
uint64_t elem_load(const void *array, uint64_t i, upsweep_type type);
void elem_store(void *array, uint64_t i, upsweep_type type, uint64_t bits);

/* The bits of `value` as an element of the type. */
uint64_t elem_of_float(upsweep_type type, double value);
/* The element as a number. */
double elem_to_double(upsweep_type type, uint64_t bits);

/* init: bits of the carry-in, NULL for the identity. Returns the total's bits. out [n], in [n]. */
uint64_t oracle_scan(void *out, const void *in, uint64_t n, upsweep_type type, upsweep_op op, uint32_t flags, const uint64_t *init);

/* kept [n]: 1 where the predicate holds, else 0. */
void oracle_flags(uint8_t *kept, const void *in, uint64_t n, upsweep_type type, const upsweep_predicate *keep);
/* Elements with a flag, in order, and with rejected_too those without after them; returns how many have one. */
uint64_t oracle_compact(void *out, const void *in, const uint8_t *flags, uint64_t n, size_t elem_nbytes, bool rejected_too);
uint64_t oracle_indices(void *out, const uint8_t *flags, uint64_t n, upsweep_type index_type, uint64_t base);

/* indices [n]: the stable order of keys [n]. order may be NULL. */
void oracle_argsort(uint64_t *indices, const void *keys, uint64_t n, upsweep_type type, const upsweep_order *order);
/* out[i] = in[indices[i]]. */
void oracle_gather(void *out, const void *in, const uint64_t *indices, uint64_t n, size_t elem_nbytes);

#endif
