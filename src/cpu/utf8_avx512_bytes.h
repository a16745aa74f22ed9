/* utf8_avx512_bytes.h: see utf8_avx512_bytes.c. */
#ifndef UPSWEEP_UTF8_AVX512_BYTES_H
#define UPSWEEP_UTF8_AVX512_BYTES_H

#include <stdint.h>

#define IN_THE_LIBRARY __attribute__((visibility("hidden"))) /* found without a table of addresses */

extern const uint32_t utf8_four_times[256] IN_THE_LIBRARY; /* each byte */
extern const uint64_t utf8_lower_halves IN_THE_LIBRARY;    /* the first two of every four bits */

#endif
