/* utf8_avx512_bytes.c: constants of the AVX-512 kernels for UTF-8 that no compiler is to know: what it knows gcc 12 makes anew wherever it
 * is used, in the innermost loops too, by way of an integer register. A window took a tenth longer (Zen 5, 2026-11). */
#include "utf8_avx512_bytes.h"

#define EACH(i)       (i) * UINT32_C(0x01010101)
#define FOUR(i)       EACH(i), EACH((i) + 1), EACH((i) + 2), EACH((i) + 3)
#define SIXTEEN(i)    FOUR(i), FOUR((i) + 4), FOUR((i) + 8), FOUR((i) + 12)
#define SIXTY_FOUR(i) SIXTEEN(i), SIXTEEN((i) + 16), SIXTEEN((i) + 32), SIXTEEN((i) + 48)

const uint32_t utf8_four_times[256] = {SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128), SIXTY_FOUR(192)};
const uint64_t utf8_lower_halves = 0x3333333333333333;
