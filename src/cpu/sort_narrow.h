/* sort_narrow.h: keys of one and two bytes, alone and by all their bits: the ways to sort these. */
#ifndef UPSWEEP_SORT_NARROW_H
#define UPSWEEP_SORT_NARROW_H

#include "sort_kernels.h"

/* Counting sort of whole 1- and 2-byte keys without values (sort_count.c), and the scratch it needs. */
void sort_by_counting(upsweep_context *ctx, const struct sort_args *args, const struct sort_image *image, size_t key_nbytes);
uint64_t sort_by_counting_scratch(upsweep_context *ctx, uint64_t n, size_t key_nbytes);
bool sort_by_counting_pays(uint64_t n, size_t key_nbytes);

/* The same of some thousand keys of two bytes, with vector code (sort_two_bytes.c): the most for which that pays, 0 without. */
void sort_two_bytes(uint16_t *to, const uint16_t *from, uint64_t n, const struct sort_image *image, void *scratch);
uint64_t sort_two_bytes_scratch(void);
uint64_t sort_two_bytes_most(enum cpu_isa isa);

#endif
