/* number.h: elements as text: what `text` files, --init and --where read and write. */
#ifndef UPSWEEP_CLI_NUMBER_H
#define UPSWEEP_CLI_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

#include "upsweep.h"

/* A value of any type, widened within its class. */
union number {
    int64_t i;
    uint64_t u;
    double f;
};

enum { NUMBER_TEXT_MAX = 40 }; /* room for any element as text */

bool type_is_float(upsweep_type type);

/* Reads the whole of text as a value of the type. NULL if it is one, else what is wrong with it: "is not a whole number". */
const char *number_parse(const char *text, upsweep_type type, union number *value);

/* Stores a number as an element of the type. */
void number_store(void *element, upsweep_type type, union number value);

/* Writes an element as text, in the fewest digits that read back as the same value, and returns the length. No NUL. */
size_t number_format(char text[NUMBER_TEXT_MAX], upsweep_type type, const void *element);

#endif
