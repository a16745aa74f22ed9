/* utf8_oracle.h: what a conversion must give: the decoder of the WHATWG Encoding Standard as the state machine that the standard spells
 * out, and the plainest encoders. Shared by test_utf8.c and fuzz_utf8.c. */
#ifndef UTF8_ORACLE_H
#define UTF8_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upsweep.h"

struct conversion {
    upsweep_encoding from, to;
    upsweep_utf8_options options; /* encoding and map are not looked at */
};

struct expected {
    unsigned char *out;         /* [report.needed] code units */
    uint64_t *map;              /* [report.needed], to UTF-32 */
    upsweep_utf8_report report; /* as for an output that has room */
};

/* in [n] code units. oracle_free() it. */
struct expected oracle_utf8(const void *in, uint64_t n, struct conversion c);
void oracle_free(const struct expected *expected);

/* Writes a code point, whatever it is, in an encoding; returns the number of code units. */
size_t oracle_put(void *out, uint32_t code, upsweep_encoding to);

#endif
