/* target_avx2.h: functions from here to target_end.h are compiled for AVX2 and what comes with it, so no file needs flags of its own. What
 * a machine must have for them to be called: features.c. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif
