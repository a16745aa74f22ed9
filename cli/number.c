/* number.c: elements as text.
 *
 * Integers are decimal, or hexadecimal after 0x, with a sign if wanted; floats are what strtod() reads, inf and nan included. A value
 * that the type cannot hold is refused, never wrapped or clamped; a float too small for its type is rounded, as any other is. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

enum { SIGNED, UNSIGNED, FLOAT }; /* the classes of the type table */

#define CLASS_ROW(e, v, name, T, class) [e] = (class),
static const unsigned char class_of[] = {UPSWEEP_TYPE_TABLE(CLASS_ROW)};
#define MISFIT_ROW(e, v, name, T, class) [e] = "does not fit " #name,
static const char *const misfit[] = {UPSWEEP_TYPE_TABLE(MISFIT_ROW)};

bool type_is_float(upsweep_type type) { return class_of[type] == FLOAT; }

static bool type_is_signed(upsweep_type type) { return class_of[type] == SIGNED; }

/* The value of a digit in any base up to 16; 16 if it is none. */
static unsigned digit_value(char c) {
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f') return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return (unsigned)(c - 'A') + 10;
    return 16;
}

static const char *parse_integer(const char *text, upsweep_type type, union number *value) {
    const bool negative = *text == '-';
    if (*text == '-' || *text == '+') text++;
    const bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (hex) text += 2;
    const unsigned base = hex ? 16 : 10;

    uint64_t magnitude = 0;
    bool overflow = false;
    const char *at = text;
    for (unsigned digit; (digit = digit_value(*at)) < base; at++) {
        overflow |= __builtin_mul_overflow(magnitude, base, &magnitude);
        overflow |= __builtin_add_overflow(magnitude, digit, &magnitude);
    }
    if (at == text || *at != '\0') return "is not a whole number";

    const unsigned bits = (unsigned)upsweep_type_nbytes(type) * 8;
    uint64_t limit = UINT64_MAX >> (64 - bits);
    if (type_is_signed(type)) {
        limit = (limit >> 1) + negative;
    } else if (negative) {
        limit = 0;
    }
    if (overflow || magnitude > limit) return misfit[type];
    value->u = negative ? 0 - magnitude : magnitude; /* read back through .i for signed types */
    return NULL;
}

static const char *parse_float(const char *text, upsweep_type type, union number *value) {
    char *end;
    errno = 0;
    value->f = type == UPSWEEP_F32 ? (double)strtof(text, &end) : strtod(text, &end);
    if (end == text || *end != '\0') return "is not a number";
    if (errno == ERANGE && isinf(value->f)) return misfit[type];
    return NULL;
}

const char *number_parse(const char *text, upsweep_type type, union number *value) {
    return type_is_float(type) ? parse_float(text, type, value) : parse_integer(text, type, value);
}

void number_store(void *element, upsweep_type type, union number value) {
    switch (type) {
#define FIELD_SIGNED   value.i
#define FIELD_UNSIGNED value.u
#define FIELD_FLOAT    value.f
#define STORE(e, v, name, T, class)       \
    case e:                               \
        *(T *)element = (T)FIELD_##class; \
        break;
        UPSWEEP_TYPE_TABLE(STORE)
    default:
        break;
    }
}

static size_t format_unsigned(char *text, uint64_t value, bool negative) {
    char digits[20];
    size_t n = 0;
    do digits[n++] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    size_t length = 0;
    if (negative) text[length++] = '-';
    while (n > 0) text[length++] = digits[--n];
    return length;
}

static size_t format_float(char *text, double value, bool is_f32) {
    int length = 0;
    /* 6 and 15 digits always survive float and double; 9 and 17 always suffice. */
    for (int digits = is_f32 ? 6 : 15, most = is_f32 ? 9 : 17; digits <= most; digits++) {
        length = snprintf(text, NUMBER_TEXT_MAX, "%.*g", digits, value);
        if (is_f32 ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) break;
    }
    return (size_t)length;
}

size_t number_format(char text[NUMBER_TEXT_MAX], upsweep_type type, const void *element) {
    union number value = {0};
    switch (type) {
#define LOAD(e, v, name, T, class)           \
    case e:                                  \
        FIELD_##class = *(const T *)element; \
        break;
        UPSWEEP_TYPE_TABLE(LOAD)
    default:
        return 0;
    }
    if (type_is_float(type)) return format_float(text, value.f, type == UPSWEEP_F32);
    const bool negative = type_is_signed(type) && value.i < 0;
    return format_unsigned(text, negative ? 0 - value.u : value.u, negative);
}
