/* sort_places.h: moves what goes with a few keys, once their order is known: from the place that each key had, or to the one that it gets.
 *
 *     keys  7 3 9 3    from  1 3 0 2    to  2 0 3 1    out  3 3 7 9 */
#ifndef UPSWEEP_SORT_PLACES_H
#define UPSWEEP_SORT_PLACES_H

#include <string.h>

#include "sort_kernels.h"

/* The most items, which with all that is kept beside them take 40 KiB of stack; values that are larger are gathered, not moved. */
enum { SORT_PLACES = 1024, SORT_PLACED_VALUE_NBYTES = 16 };

enum sort_direction { SORT_FROM, SORT_TO };

ALWAYS_INLINE void sort_place_items(unsigned char *out, const unsigned char *in, const uint16_t *places, uint32_t n, size_t nbytes,
                                    enum sort_direction direction) {
    UNROLLED for (size_t i = 0; i < n; i++) {
        const size_t to = direction == SORT_TO ? places[i] : i, from = direction == SORT_TO ? i : places[i];
        memcpy(out + to * nbytes, in + from * nbytes, nbytes);
    }
}

/* nbytes is a constant where it may be: as a number it makes each move a call. */
ALWAYS_INLINE void sort_place(void *out, const void *in, const uint16_t *places, uint32_t n, size_t nbytes, enum sort_direction direction) {
    unsigned char copy[SORT_PLACES * SORT_PLACED_VALUE_NBYTES];
    if (out == in) in = memcpy(copy, in, n * nbytes);
    if (nbytes == 1)
        sort_place_items(out, in, places, n, 1, direction);
    else if (nbytes == 2)
        sort_place_items(out, in, places, n, 2, direction);
    else if (nbytes == 4)
        sort_place_items(out, in, places, n, 4, direction);
    else if (nbytes == 8)
        sort_place_items(out, in, places, n, 8, direction);
    else if (nbytes == 12)
        sort_place_items(out, in, places, n, 12, direction);
    else if (nbytes == 16)
        sort_place_items(out, in, places, n, 16, direction);
    else
        sort_place_items(out, in, places, n, nbytes, direction);
}

/* Indices of 4 or 8 bytes. */
ALWAYS_INLINE void sort_place_numbers(void *out, const uint16_t *places, uint32_t n, size_t nbytes, enum sort_direction direction) {
    uint32_t *const narrow = out;
    uint64_t *const wide = out;
    const bool to = direction == SORT_TO;
    for (uint32_t i = 0; i < n && nbytes == sizeof *narrow; i++) narrow[to ? places[i] : i] = to ? i : places[i];
    for (uint32_t i = 0; i < n && nbytes == sizeof *wide; i++) wide[to ? places[i] : i] = to ? i : places[i];
}

/* Keys, pairs, or keys whose indices are asked for, with the keys or without. */
ALWAYS_INLINE void sort_place_pairs(const struct sort_args *args, const uint16_t *places, uint32_t n, size_t key_nbytes,
                                    enum sort_direction direction) {
    if (args->keys_out != NULL) sort_place(args->keys_out, args->keys_in, places, n, key_nbytes, direction);
    if (args->values_in != NULL)
        sort_place(args->values_out, args->values_in, places, n, args->value_nbytes, direction);
    else
        sort_place_numbers(args->values_out, places, n, args->value_nbytes, direction);
}

#endif
