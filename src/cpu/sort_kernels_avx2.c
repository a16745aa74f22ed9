/* sort_kernels_avx2.c: the kernels of the radix sort for processors with BMI2 and AVX2. */
#include "sort_kernels.h"

#include <string.h>

#ifdef __x86_64__

#include <immintrin.h>

#include "target_avx2.h"

#include "sort_widths_tmpl.h"

const struct sort_kernel *sort_kernel_of_avx2(size_t key_nbytes, size_t value_nbytes) {
    return all_kernels[__builtin_ctzll(key_nbytes)][value_nbytes / 4];
}

#include "target_end.h"

#endif
