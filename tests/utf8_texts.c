/* utf8_texts.c: see utf8_texts.h. Characters are drawn by the length of their UTF-8, and put one behind the other. */
#include "utf8_texts.h"

#include "utf8_oracle.h"

static uint32_t random_code(struct rng *rng, unsigned kind) {
    const uint32_t r = (uint32_t)rng_next(rng);
    switch (kind) {
    case 0:
        return r % 0x80;
    case 1:
        return 0x80 + r % 0x780;
    case 2:
        return r % 0xF800 < 0x800 ? 0x800 : r % 0xF800 < 0xD800 ? r % 0xF800 : r % 0xF800 + 0x800;
    default:
        return 0x10000 + r % 0x100000;
    }
}

void make_text(struct rng *rng, unsigned char *in, uint64_t n, upsweep_encoding encoding, unsigned kind, uint64_t damage) {
    const size_t nbytes = upsweep_encoding_nbytes(encoding);
    rng_fill(rng, in, (size_t)n * nbytes);
    unsigned char one[8];
    for (uint64_t k = 0; kind < 6 && k < n;) {
        const unsigned which = kind < 4 ? kind : kind == 4 ? (unsigned)rng_below(rng, 4) : rng_below(rng, 200) == 0 ? 3 : 0;
        const size_t length = oracle_put(one, random_code(rng, which), encoding);
        const size_t fits = k + length <= n ? length : (size_t)(n - k);
        memcpy(in + k * nbytes, one, fits * nbytes);
        k += fits;
    }
    for (uint64_t hits = damage == 0 ? 0 : 1 + n / damage; n > 0 && hits > 0; hits--)
        rng_fill(rng, in + rng_below(rng, n) * nbytes, nbytes);
}
