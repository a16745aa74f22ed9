/* avx512_tmpl.h: what vector_scan_tmpl.h needs of one type, and its mask kernel, with AVX-512. Included by each_type.h.
 * INTRINSIC(min) is _mm512_min_epi32 for i32, _mm512_min_ps for f32. */

typedef T NAME(vec) __attribute__((vector_size(64)));
typedef U NAME(uvec) __attribute__((vector_size(64)));

/* ---- operators --------------------------------------------------------------------------------------------------------------- */

/* For floats the processor's min and max return b if a and b are equal, as wanted, but also if a is a NaN. */

static inline NAME(vec) NAME(vec_min)(NAME(vec) a, NAME(vec) b) {
#if FLOATING
    return INTRINSIC(mask_mov)(INTRINSIC(min)(a, b), COMPARE_FLOATS(a, a, UNORD_Q), a);
#else
    return (NAME(vec))INTRINSIC(min)((__m512i)a, (__m512i)b);
#endif
}

static inline NAME(vec) NAME(vec_max)(NAME(vec) a, NAME(vec) b) {
#if FLOATING
    return INTRINSIC(mask_mov)(INTRINSIC(max)(a, b), COMPARE_FLOATS(a, a, UNORD_Q), a);
#else
    return (NAME(vec))INTRINSIC(max)((__m512i)a, (__m512i)b);
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
    return (NAME(vec))_mm512_set1_epi8((char)x);
#elif NBYTES == 2
    return (NAME(vec))_mm512_set1_epi16((short)x);
#elif FLOATING
    return INTRINSIC(set1)(x);
#elif NBYTES == 4
    return (NAME(vec))_mm512_set1_epi32((int)x);
#else
    return (NAME(vec))_mm512_set1_epi64((long long)x);
#endif
}

/* The last item of each 128-bit lane, all over its lane. */
static inline __m512i NAME(last_of_lanes)(NAME(vec) x) {
#if NBYTES == 1
    return _mm512_shuffle_epi8((__m512i)x, _mm512_set1_epi8(15));
#elif NBYTES == 2
    return _mm512_shuffle_epi8((__m512i)x, _mm512_set1_epi16(0x0f0e));
#elif NBYTES == 4
    return _mm512_shuffle_epi32((__m512i)x, _MM_PERM_DDDD);
#else
    return _mm512_shuffle_epi32((__m512i)x, _MM_PERM_DCDC);
#endif
}

static inline NAME(vec) NAME(vec_last)(NAME(vec) x) {
#if NBYTES == 4
    return (NAME(vec))_mm512_permutexvar_epi32(_mm512_set1_epi32(15), (__m512i)x);
#elif NBYTES == 8
    return (NAME(vec))_mm512_permutexvar_epi64(_mm512_set1_epi64(7), (__m512i)x);
#else
    const __m512i last = NAME(last_of_lanes)(x);
    return (NAME(vec))_mm512_shuffle_i32x4(last, last, 0xff);
#endif
}

static inline NAME(vec) NAME(vec_push)(NAME(vec) first, NAME(vec) x) {
#if NBYTES == 4
    return (NAME(vec))_mm512_alignr_epi32((__m512i)x, (__m512i)first, 15);
#elif NBYTES == 8
    return (NAME(vec))_mm512_alignr_epi64((__m512i)x, (__m512i)first, 7);
#else
    const __m512i lanes_up = _mm512_alignr_epi64((__m512i)x, (__m512i)first, 6);
    return (NAME(vec))_mm512_alignr_epi8((__m512i)x, lanes_up, 16 - NBYTES);
#endif
}

/* Lanes 1 and 3: the last item of lanes 0 and 2; lanes 0 and 2: the neutral element. */
static inline NAME(vec) NAME(lasts_of_pairs)(NAME(vec) neutral, NAME(vec) x) {
#if NBYTES == 4
    const __m512i from = _mm512_set_epi32(11, 11, 11, 11, 0, 0, 0, 0, 3, 3, 3, 3, 0, 0, 0, 0);
    return (NAME(vec))_mm512_mask_permutexvar_epi32((__m512i)neutral, 0xf0f0, from, (__m512i)x);
#elif NBYTES == 8
    const __m512i from = _mm512_set_epi64(5, 5, 0, 0, 1, 1, 0, 0);
    return (NAME(vec))_mm512_mask_permutexvar_epi64((__m512i)neutral, 0xcc, from, (__m512i)x);
#else
    const __m512i last = NAME(last_of_lanes)(x);
    return (NAME(vec))_mm512_mask_shuffle_i32x4((__m512i)neutral, 0xf0f0, last, last, 0xa0);
#endif
}

/* Lanes 2 and 3: the last item of lane 1; lanes 0 and 1: the neutral element. */
static inline NAME(vec) NAME(last_of_half)(NAME(vec) neutral, NAME(vec) x) {
#if NBYTES == 4
    return (NAME(vec))_mm512_mask_permutexvar_epi32((__m512i)neutral, 0xff00, _mm512_set1_epi32(7), (__m512i)x);
#elif NBYTES == 8
    return (NAME(vec))_mm512_mask_permutexvar_epi64((__m512i)neutral, 0xf0, _mm512_set1_epi64(3), (__m512i)x);
#else
    const __m512i last = NAME(last_of_lanes)(x);
    return (NAME(vec))_mm512_mask_shuffle_i32x4((__m512i)neutral, 0xff00, last, last, 0x55);
#endif
}

/* Each lane moved up by nbytes, with the neutral element behind it. */
#define LANES_UP(x, neutral, nbytes) _mm512_alignr_epi8((__m512i)(x), (__m512i)(neutral), 16 - (nbytes))

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
    x = NAME(vec_apply)(op, NAME(lasts_of_pairs)(neutral, x), x);
    return NAME(vec_apply)(op, NAME(last_of_half)(neutral, x), x);
}
#undef LANES_UP

/* ---- predicates -------------------------------------------------------------------------------------------------------------- */

ALWAYS_INLINE uint64_t NAME(vec_keeps)(upsweep_cmp cmp, NAME(vec) x, NAME(vec) value) {
    switch (cmp) {
#if FLOATING
    case UPSWEEP_EQ:
        return COMPARE_FLOATS(x, value, EQ_OQ);
    case UPSWEEP_LT:
        return COMPARE_FLOATS(x, value, LT_OQ);
    case UPSWEEP_LE:
        return COMPARE_FLOATS(x, value, LE_OQ);
    case UPSWEEP_GT:
        return COMPARE_FLOATS(x, value, GT_OQ);
    case UPSWEEP_GE:
        return COMPARE_FLOATS(x, value, GE_OQ);
    case UPSWEEP_NOT_NAN:
        return COMPARE_FLOATS(x, x, ORD_Q);
    default:
        return COMPARE_FLOATS(x, value, NEQ_UQ);
#else
    case UPSWEEP_EQ:
        return COMPARE_INTEGERS(x, value, EQ);
    case UPSWEEP_LT:
        return COMPARE_INTEGERS(x, value, LT);
    case UPSWEEP_LE:
        return COMPARE_INTEGERS(x, value, LE);
    case UPSWEEP_GT:
        return COMPARE_INTEGERS(x, value, NLE);
    case UPSWEEP_GE:
        return COMPARE_INTEGERS(x, value, NLT);
    default:
        return COMPARE_INTEGERS(x, value, NE);
#endif
    }
}

/* Those of in [n], less than a vector. */
ALWAYS_INLINE uint64_t NAME(few_keep)(upsweep_cmp cmp, const T *in, size_t n, NAME(vec) value) {
    const NAME(vec) x = (NAME(vec))load_first((__m512i)value, in, n * NBYTES);
    return NAME(vec_keeps)(cmp, x, value) & first_bytes(n);
}
