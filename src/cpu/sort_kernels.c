/* sort_kernels.c: the kernels of the radix sort for any processor, and the choice among them. */
#include "sort_kernels.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "sort_widths_tmpl.h"

const struct sort_kernel *sort_kernel_of(enum cpu_isa isa, size_t key_nbytes, size_t value_nbytes) {
#ifdef __x86_64__
    if (isa >= CPU_AVX2) return sort_kernel_of_avx2(key_nbytes, value_nbytes);
#endif
    (void)isa;
    return all_kernels[__builtin_ctzll(key_nbytes)][value_nbytes / 4];
}
