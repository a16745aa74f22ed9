/* target_avx512.h: functions from here to target_end.h are compiled for AVX-512 as Ice Lake and Zen 4 have it. What a machine must have for
 * them to be called: features.c. */
#if defined(__clang__)
#pragma clang attribute push(                                                                                           \
    __attribute__((target("avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vbmi,avx512vbmi2"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vbmi,avx512vbmi2")
#endif
