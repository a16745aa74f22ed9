/* sort_at_once.c: keys alone that are so few that they are sorted without scratch, and without a plan: by networks (sort_network.c), up to
 * 8 KiB of them, or without vector code by ranks (sort_ranks.c) or insertion. If six of them show that some are there very often, these are
 * counted (sort_few_tmpl.h, sort_heavy.c). */
#include "sort_narrow.h"

/* Keys of one byte are counted more quickly if there are more than so many, with AVX2 than so many bytes; fewer bytes of wide keys, and
 * fewer narrow keys, are sorted as quickly as the heavy ones are found and taken out. (Zen 4, Zen 3, 2026-11.) */
enum { NETWORK_KEYS = 4096, NETWORK_BYTES_AVX2 = 3072, HEAVY_LEAST_NBYTES = 2048, HEAVY_LEAST_NARROW = 512 };

/* By type: which bits make an image of a key, and all bits of one. */
#define ALL_OF(ctype)                    (UINT64_MAX >> (64 - 8 * sizeof(ctype)))
#define SIGN_OF(ctype)                   (ALL_OF(ctype) / 2 + 1)
#define FLIP_UNSIGNED(ctype)             0
#define FLIP_SIGNED(ctype)               SIGN_OF(ctype)
#define FLIP_FLOAT(ctype)                SIGN_OF(ctype)
#define NEGATIVE_UNSIGNED(ctype)         0
#define NEGATIVE_SIGNED(ctype)           0
#define NEGATIVE_FLOAT(ctype)            (ALL_OF(ctype) ^ SIGN_OF(ctype))
#define KEY_ROW(e, v, name, ctype, kind) [e] = {{FLIP_##kind(ctype), NEGATIVE_##kind(ctype)}, ALL_OF(ctype)},
static const struct {
    struct sort_image image;
    uint64_t all;
} keys_of[UPSWEEP_TYPE_COUNT] = {UPSWEEP_TYPE_TABLE(KEY_ROW)};

struct sort_image sort_image_of(upsweep_type type, bool descending) {
    struct sort_image image = keys_of[type].image;
    if (descending) image.flip ^= keys_of[type].all;
    return image;
}

void sort_by_insertion(enum cpu_isa isa, void *out, const void *in, uint32_t n, const struct sort_image *image, size_t key_nbytes,
                       uint32_t lo_bit, uint32_t hi_bit) {
    const struct sort_leaf leaf = {.source = {.arrays = {(unsigned char *)in, NULL}, .n = n}, .to = {out, NULL}, .image = *image};
    sort_kernel_of(isa, key_nbytes, 0)->leaf(&leaf, lo_bit, hi_bit);
}

/* If all keys are equal, or some are there very often; false if not. */
static bool sort_repeating(enum cpu_isa isa, void *out, const void *in, uint64_t n, const struct sort_image *image, size_t key_nbytes) {
    const struct sort_vector *vector = sort_vector_of(isa, key_nbytes);
    struct sort_heavy heavy;
    if (key_nbytes == 1) return false;
    const bool many = n > (key_nbytes == 2 ? HEAVY_LEAST_NARROW : HEAVY_LEAST_NBYTES / key_nbytes);
    if (many && !sort_seem_to_repeat(in, n, key_nbytes)) return false;
    if (vector != NULL && sort_seem_equal(in, n, key_nbytes) && vector->few(out, in, n, image)) return true;
    if (!many || !sort_take_heavy(isa, &heavy, out, in, n, key_nbytes)) return false;
    if (heavy.nrest > n / 2 || !sort_at_once(isa, out, out, heavy.nrest, image, key_nbytes))
        sort_group_of(isa, key_nbytes)(out, out, (uint32_t)heavy.nrest, image);
    sort_put_heavy(&heavy, out, n, image, key_nbytes);
    return true;
}

/* The most keys for a group. */
static uint64_t network_keys(enum cpu_isa isa, size_t key_nbytes) {
    const uint64_t most = key_nbytes == 1 && isa < CPU_AVX512 ? NETWORK_BYTES_AVX2 : NETWORK_KEYS;
    return min_u64(SORT_GROUP_NBYTES / key_nbytes, most);
}

bool sort_at_once(enum cpu_isa isa, void *out, const void *in, uint64_t n, const struct sort_image *image, size_t key_nbytes) {
    sort_group *const group = sort_group_of(isa, key_nbytes);
    if (group != NULL && n <= network_keys(isa, key_nbytes)) {
        if (n <= SORT_REGISTERS_NBYTES / sizeof(uint64_t) || !sort_repeating(isa, out, in, n, image, key_nbytes))
            group(out, in, (uint32_t)n, image);
        return true;
    }
    const struct sort_args whole = {.keys_out = out, .keys_in = in, .n = n, .hi_bit = 8 * (uint32_t)key_nbytes};
    if (!sort_needs_no_scratch(n, 0)) return false;
    if (!sort_by_ranks(&whole, image, key_nbytes)) sort_by_insertion(isa, out, in, (uint32_t)n, image, key_nbytes, 0, whole.hi_bit);
    return true;
}

bool cpu_sort_at_once(const upsweep_context *ctx, void *out, const void *in, uint64_t n, upsweep_type type, size_t key_nbytes,
                      bool descending) {
    const struct sort_image image = sort_image_of(type, descending);
    return sort_at_once(cpu_impl(ctx)->isa, out, in, n, &image, key_nbytes);
}

bool cpu_sort_values_at_once(const upsweep_context *ctx, const struct sort_args *args, size_t key_nbytes) {
    const struct sort_image image = sort_image_of(args->type, args->descending);
    return sort_by_tags(cpu_impl(ctx)->isa, args, &image, key_nbytes) || sort_by_ranks(args, &image, key_nbytes);
}
