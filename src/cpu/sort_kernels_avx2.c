/* sort_kernels_avx2.c: the kernels of the radix sort for processors with BMI2 and AVX2. */
#include "sort_kernels.h"

#include <string.h>

#ifdef __x86_64__

#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2")
#endif

#include "sort_widths_tmpl.h"

const struct sort_kernel *sort_kernel_of_avx2(size_t key_nbytes, size_t value_nbytes) {
    return all_kernels[__builtin_ctzll(key_nbytes)][value_nbytes / 4];
}

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
