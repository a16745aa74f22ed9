/* values.c: the arguments of options, from text to what the library takes. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "number.h"

bool parse_type(const char *text, upsweep_type *type) {
    if (upsweep_type_from_name(text, type)) return true;
    return complain(NULL, "--type: '%s' is not one of i8 u8 i16 u16 i32 u32 i64 u64 f32 f64", text);
}

bool parse_index_type(const char *text, upsweep_type *type) {
    *type = UPSWEEP_U64;
    if (!text || strcmp(text, "u64") == 0) return true;
    *type = UPSWEEP_U32;
    if (strcmp(text, "u32") == 0) return true;
    return complain(NULL, "--index-type: '%s' is neither u32 nor u64", text);
}

bool parse_count(const char *option, const char *text, uint64_t lo, uint64_t hi, uint64_t *value) {
    union number number;
    if (number_parse(text, UPSWEEP_U64, &number) || number.u < lo || number.u > hi) {
        return complain(NULL, "--%s: '%s' is not a whole number between %llu and %llu", option, text, (unsigned long long)lo,
                        (unsigned long long)hi);
    }
    *value = number.u;
    return true;
}

bool parse_block_size(const char *text, uint32_t *block_size) {
    union number number;
    const bool good = !number_parse(text, UPSWEEP_U32, &number) && number.u >= 16 && number.u <= 1024 && (number.u & (number.u - 1)) == 0;
    *block_size = good ? (uint32_t)number.u : 0;
    return good || complain(NULL, "--block-size: '%s' is not a power of two between 16 and 1024", text);
}

bool parse_size(const char *option, const char *text, uint64_t *nbytes) {
    static const char suffixes[] = "KMGT";
    char digits[24];
    size_t length = strlen(text);
    unsigned shift = 0;
    const char *suffix = length > 0 ? strchr(suffixes, toupper((unsigned char)text[length - 1])) : NULL;
    if (suffix) {
        shift = 10 * (unsigned)(suffix - suffixes + 1);
        length--;
    }
    union number number;
    snprintf(digits, sizeof digits, "%.*s", (int)length, text);
    if (length >= sizeof digits || number_parse(digits, UPSWEEP_U64, &number)) {
        return complain(NULL, "--%s: '%s' is not a size such as 4096, 64K, 16M or 1G", option, text);
    }
    if (number.u == 0 || number.u > (uint64_t)PTRDIFF_MAX >> shift) return complain(NULL, "--%s: %s is out of range", option, text);
    *nbytes = number.u << shift;
    return true;
}

bool parse_bits(const char *text, upsweep_type type, upsweep_order *order) {
    const uint32_t bits = (uint32_t)upsweep_type_nbytes(type) * 8;
    unsigned lo, hi;
    int used = 0;
    const bool plain = strspn(text, "0123456789:") == strlen(text); /* sscanf would take blanks and signs */
    if (!plain || sscanf(text, "%3u:%3u%n", &lo, &hi, &used) != 2 || text[used] != '\0') {
        return complain(NULL, "--bits: '%s' is not LO:HI, as in 8:16", text);
    }
    if (lo >= hi || hi > bits) {
        return complain(NULL, "--bits: %s is not within the %u bits of %s, LO below HI", text, bits, upsweep_type_name(type));
    }
    order->lo_bit = lo;
    order->hi_bit = hi;
    return true;
}

/* ---- --where ------------------------------------------------------------------------------------------------------------------ */

/* Longer signs stand before those that begin them. */
static const struct {
    const char *sign;
    upsweep_cmp cmp;
    bool has_constant;
} conditions[] = {
    {"==", UPSWEEP_EQ, true},
    {"!=", UPSWEEP_NE, true},
    {"<=", UPSWEEP_LE, true},
    {">=", UPSWEEP_GE, true},
    {"<", UPSWEEP_LT, true},
    {">", UPSWEEP_GT, true},
    {"nonzero", UPSWEEP_NONZERO, false},
    {"not-nan", UPSWEEP_NOT_NAN, false},
};

static bool parse_constant(const char *text, upsweep_type type, upsweep_predicate *keep) {
    union number number;
    const char *wrong = number_parse(text, type, &number);
    if (wrong) return complain(NULL, "--where: '%s' %s", text, wrong);
    if (!type_is_float(type)) {
        keep->value.u = number.u; /* the bits of value.i, for signed types */
        return true;
    }
    if (isnan(number.f)) return complain(NULL, "--where: nothing compares with nan; to drop NaNs there is not-nan");
    keep->value.f = number.f;
    return true;
}

bool parse_where(const char *text, upsweep_type type, upsweep_predicate *keep) {
    text += strspn(text, " \t");
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        const size_t length = strlen(conditions[i].sign);
        if (strncmp(text, conditions[i].sign, length) != 0) continue;
        const char *rest = text + length + strspn(text + length, " \t");
        keep->cmp = conditions[i].cmp;
        keep->value.u = 0;
        if (!upsweep_type_has_cmp(type, keep->cmp)) {
            return complain(NULL, "--where: %s is for floats, and the elements are %s", text, upsweep_type_name(type));
        }
        if (conditions[i].has_constant) return parse_constant(rest, type, keep);
        if (*rest == '\0') return true;
    }
    return complain(NULL, "--where: '%s' is none of == X, != X, < X, <= X, > X, >= X, nonzero, not-nan", text);
}
