/* avx2_tmpl.h: what vector_scan_tmpl.h and vector_mask_tmpl.h need of one type, with AVX2. Included by each_type.h.
 * INTRINSIC(min) is _mm256_min_epi32 for i32, _mm256_min_ps for f32. */

typedef T NAME(vec) __attribute__((vector_size(32)));
typedef U NAME(uvec) __attribute__((vector_size(32)));

/* ---- operators --------------------------------------------------------------------------------------------------------------- */

/* For floats the processor's min and max return b if a and b are equal, as wanted, but also if a is a NaN. Those of 64-bit integers are
 * missing. */

static inline NAME(vec) NAME(vec_min)(NAME(vec) a, NAME(vec) b) {
#if FLOATING
    return INTRINSIC(blendv)(INTRINSIC(min)(a, b), a, INTRINSIC(cmp)(a, a, _CMP_UNORD_Q));
#elif NBYTES == 8
    return (NAME(vec))_mm256_blendv_epi8((__m256i)b, (__m256i)a, (__m256i)(a < b));
#else
    return (NAME(vec))INTRINSIC(min)((__m256i)a, (__m256i)b);
#endif
}

static inline NAME(vec) NAME(vec_max)(NAME(vec) a, NAME(vec) b) {
#if FLOATING
    return INTRINSIC(blendv)(INTRINSIC(max)(a, b), a, INTRINSIC(cmp)(a, a, _CMP_UNORD_Q));
#elif NBYTES == 8
    return (NAME(vec))_mm256_blendv_epi8((__m256i)b, (__m256i)a, (__m256i)(a > b));
#else
    return (NAME(vec))INTRINSIC(max)((__m256i)a, (__m256i)b);
#endif
}

ALWAYS_INLINE NAME(vec) NAME(vec_apply)(upsweep_op op, NAME(vec) a, NAME(vec) b) {
    switch (op) {
    case UPSWEEP_ADD:
        return (NAME(vec))((NAME(uvec))a + (NAME(uvec))b);
    case UPSWEEP_MUL:
        return (NAME(vec))((NAME(uvec))a * (NAME(uvec))b);
    case UPSWEEP_MIN:
        return NAME(vec_min)(a, b);
#if !FLOATING
    case UPSWEEP_AND:
        return a & b;
    case UPSWEEP_OR:
        return a | b;
    case UPSWEEP_XOR:
        return a ^ b;
#endif
    default:
        return NAME(vec_max)(a, b);
    }
}

/* ---- moves between items ----------------------------------------------------------------------------------------------------- */

static inline NAME(vec) NAME(vec_fill)(T x) {
#if NBYTES == 1
    return (NAME(vec))_mm256_set1_epi8((char)x);
#elif NBYTES == 2
    return (NAME(vec))_mm256_set1_epi16((short)x);
#elif FLOATING
    return INTRINSIC(set1)(x);
#elif NBYTES == 4
    return (NAME(vec))_mm256_set1_epi32((int)x);
#else
    return (NAME(vec))_mm256_set1_epi64x((long long)x);
#endif
}

/* The last item of either 128-bit lane, all over its lane. */
static inline __m256i NAME(last_of_lanes)(NAME(vec) x) {
#if NBYTES == 1
    return _mm256_shuffle_epi8((__m256i)x, _mm256_set1_epi8(15));
#elif NBYTES == 2
    return _mm256_shuffle_epi8((__m256i)x, _mm256_set1_epi16(0x0f0e));
#elif NBYTES == 4
    return _mm256_shuffle_epi32((__m256i)x, 0xff);
#else
    return _mm256_shuffle_epi32((__m256i)x, 0xee);
#endif
}

static inline NAME(vec) NAME(vec_last)(NAME(vec) x) {
#if NBYTES == 4
    return (NAME(vec))_mm256_permutevar8x32_epi32((__m256i)x, _mm256_set1_epi32(7));
#elif NBYTES == 8
    return (NAME(vec))_mm256_permute4x64_epi64((__m256i)x, 0xff);
#else
    return (NAME(vec))_mm256_permute4x64_epi64(NAME(last_of_lanes)(x), 0xff);
#endif
}

static inline NAME(vec) NAME(vec_push)(NAME(vec) first, NAME(vec) x) {
    const __m256i lanes_up = _mm256_permute2x128_si256((__m256i)first, (__m256i)x, 0x21);
    return (NAME(vec))_mm256_alignr_epi8((__m256i)x, lanes_up, 16 - NBYTES);
}

/* Each lane moved up by nbytes, with the neutral element behind it. */
#define LANES_UP(x, neutral, nbytes) _mm256_alignr_epi8((__m256i)(x), (__m256i)(neutral), 16 - (nbytes))

ALWAYS_INLINE NAME(vec) NAME(vec_prefix)(upsweep_op op, NAME(vec) x) {
    const NAME(vec) neutral = NAME(vec_fill)(NAME(neutral)(op));
    x = NAME(vec_apply)(op, (NAME(vec))LANES_UP(x, neutral, NBYTES), x);
#if NBYTES <= 4
    x = NAME(vec_apply)(op, (NAME(vec))LANES_UP(x, neutral, 2 * NBYTES), x);
#endif
#if NBYTES <= 2
    x = NAME(vec_apply)(op, (NAME(vec))LANES_UP(x, neutral, 4 * NBYTES), x);
#endif
#if NBYTES <= 1
    x = NAME(vec_apply)(op, (NAME(vec))LANES_UP(x, neutral, 8 * NBYTES), x);
#endif
    const __m256i lower_last_above = _mm256_permute2x128_si256((__m256i)neutral, NAME(last_of_lanes)(x), 0x20);
    return NAME(vec_apply)(op, (NAME(vec))lower_last_above, x);
}
#undef LANES_UP

/* ---- predicates -------------------------------------------------------------------------------------------------------------- */

/* The sign bits of the items. */
static inline uint64_t NAME(signs)(__m256i x) {
#if NBYTES == 1
    return (uint32_t)_mm256_movemask_epi8(x);
#elif NBYTES == 2
    const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return (uint32_t)_mm_movemask_epi8(bytes);
#elif NBYTES == 4
    return (uint32_t)_mm256_movemask_ps((__m256)x);
#else
    return (uint32_t)_mm256_movemask_pd((__m256d)x);
#endif
}

ALWAYS_INLINE uint64_t NAME(vec_keeps)(upsweep_cmp cmp, NAME(vec) x, NAME(vec) value) {
    switch (cmp) {
    case UPSWEEP_EQ:
        return NAME(signs)((__m256i)(x == value));
    case UPSWEEP_LT:
        return NAME(signs)((__m256i)(x < value));
    case UPSWEEP_LE:
        return NAME(signs)((__m256i)(x <= value));
    case UPSWEEP_GT:
        return NAME(signs)((__m256i)(x > value));
    case UPSWEEP_GE:
        return NAME(signs)((__m256i)(x >= value));
#if FLOATING
    case UPSWEEP_NOT_NAN:
        return NAME(signs)((__m256i)INTRINSIC(cmp)(x, x, _CMP_ORD_Q));
#endif
    default:
        return NAME(signs)((__m256i)(x != value));
    }
}

/* Those of in [n], less than a vector: the last items of one. */
ALWAYS_INLINE uint64_t NAME(few_keep)(upsweep_cmp cmp, const T *in, size_t n, NAME(vec) value) {
    const NAME(vec) x = (NAME(vec))load_last_of_row((const uint8_t *)in, n * NBYTES);
    return NAME(vec_keeps)(cmp, x, value) >> (VEC_NBYTES / NBYTES - n);
}
