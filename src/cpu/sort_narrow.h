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

/* Keys of one and two bytes, alone and whole, as images in the highest bits of keys of four (sort_widen.c): the most for which that pays;
 * those that are sorted at once; the way there and back. */
uint64_t sort_widened_most(enum cpu_isa isa, size_t key_nbytes);
uint64_t sort_few_widened_most(enum cpu_isa isa, size_t key_nbytes);
void sort_few_widened(enum cpu_isa isa, void *out, const void *in, uint32_t n, const struct sort_image *image, size_t key_nbytes);
void sort_widen(uint32_t *to, const void *keys, uint64_t n, const struct sort_image *image, size_t key_nbytes);
void sort_narrow(void *keys, const uint32_t *from, uint64_t n, const struct sort_image *image, size_t key_nbytes);

/* n <= SORT_NETWORK_KEYS of them, widened in the register in which they are sorted (sort_network.c). */
void sort_row_narrow(void *to, const void *from, uint32_t n, const struct sort_image *image, size_t key_nbytes);

#endif
