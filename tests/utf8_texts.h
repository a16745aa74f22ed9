/* utf8_texts.h: random text, good and damaged, for test_utf8.c. */
#ifndef UTF8_TEXTS_H
#define UTF8_TEXTS_H

#include "harness.h"

/* Fills n code units of an encoding with text of a kind (0 to 3: of sequences of 1 to 4 bytes; 4: all of them; 5: long runs of ASCII; 6:
 * random bits), of which about one in `damage` is then overwritten at random (0: none). */
void make_text(struct rng *rng, unsigned char *in, uint64_t n, upsweep_encoding encoding, unsigned kind, uint64_t damage);

#endif
