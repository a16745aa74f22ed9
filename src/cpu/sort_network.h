/* sort_network.h: what the networks of sort_network.c and sort_network_avx2.c have in common beside their templates. */
#ifndef UPSWEEP_SORT_NETWORK_H
#define UPSWEEP_SORT_NETWORK_H

#include "sort_kernels.h"

sort_group *sort_group_of_avx2(size_t key_nbytes);
const struct sort_vector *sort_vector_of_avx2(size_t key_nbytes);
bool sort_by_tags_avx2(const struct sort_args *args, const struct sort_image *image, size_t key_nbytes); /* sort_tags_avx2.c */

#ifdef __clang__
#define UNROLL   _Pragma("unroll")
#define UNROLL_8 _Pragma("unroll 8")
#else
#define UNROLL   _Pragma("GCC unroll 16")
#define UNROLL_8 _Pragma("GCC unroll 8")
#endif

/* Pairs of a network for 16 keys (Green, 1969, in TAOCP 3, 5.3.4; in the order of the list kept by Dobbelaere), a layer a line. */
/* clang-format off */
#define SORT_COMPARATORS(X)                                               \
    X(0, 13) X(1, 12) X(2, 15) X(3, 14) X(4, 8) X(5, 6) X(7, 11) X(9, 10) \
    X(0, 5) X(1, 7) X(2, 9) X(3, 4) X(6, 13) X(8, 14) X(10, 15) X(11, 12) \
    X(0, 1) X(2, 3) X(4, 5) X(6, 8) X(7, 9) X(10, 11) X(12, 13) X(14, 15) \
    X(0, 2) X(1, 3) X(4, 10) X(5, 11) X(6, 7) X(8, 9) X(12, 14) X(13, 15) \
    X(1, 2) X(3, 12) X(4, 6) X(5, 7) X(8, 10) X(9, 11) X(13, 14)          \
    X(1, 4) X(2, 6) X(5, 8) X(7, 10) X(9, 13) X(11, 14)                   \
    X(2, 4) X(3, 6) X(9, 12) X(11, 13)                                    \
    X(3, 5) X(6, 8) X(7, 9) X(10, 12)                                     \
    X(3, 4) X(5, 6) X(7, 8) X(9, 10) X(11, 12)                            \
    X(6, 7) X(8, 9)
/* clang-format on */

/* The same for 4 keys and for 8. */
/* clang-format off */
#define SORT_COMPARATORS_4(X) X(0, 2) X(1, 3) X(0, 1) X(2, 3) X(1, 2)
#define SORT_COMPARATORS_8(X)                 \
    X(0, 2) X(1, 3) X(4, 6) X(5, 7)           \
    X(0, 4) X(1, 5) X(2, 6) X(3, 7)           \
    X(0, 1) X(2, 3) X(4, 5) X(6, 7)           \
    X(2, 4) X(3, 5)                           \
    X(1, 4) X(3, 6)                           \
    X(1, 2) X(3, 4) X(5, 6)
/* clang-format on */

#endif
