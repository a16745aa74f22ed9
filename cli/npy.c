/* npy.c: the header of NumPy's .npy files, versions 1, 2 and 3.
 *
 *     93 N U M P Y | major minor | length: u16, from version 2 on u32 | {'descr': '<i4', 'fortran_order': False, 'shape': (3,), } ... \n
 *
 * The dictionary is a Python literal. NumPy evaluates it; we read just the three keys that the format allows, with the values that make
 * sense here, and refuse the rest with a sentence: nothing in a header is ever run, and a pickle is never opened.
 *
 * Shapes: an array of any rank is taken flat, in C order, as NumPy's own cumsum and a[a > 0] take it, and the result is 1-D. Fortran
 * order with more than one axis has another flat order, and is refused.
 *
 * Source: the NumPy manual, numpy.lib.format ("Format Version 1.0", "2.0", "3.0"). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "npy.h"

static bool refuse(char why[NPY_WHY_NBYTES], const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(char why[NPY_WHY_NBYTES], const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(why, NPY_WHY_NBYTES, format, list);
    va_end(list);
    return false;
}

size_t npy_length_nbytes(const unsigned char magic[NPY_MAGIC_NBYTES], char why[NPY_WHY_NBYTES]) {
    if (memcmp(magic, "\x93NUMPY", 6) != 0) {
        refuse(why, "is not a .npy file");
        return 0;
    }
    const unsigned major = magic[6], minor = magic[7];
    if (major < 1 || major > 3 || minor != 0) {
        refuse(why, "has .npy version %u.%u; known are 1.0, 2.0 and 3.0", major, minor);
        return 0;
    }
    return major == 1 ? 2 : 4;
}

/* ---- reading the dictionary ---------------------------------------------------------------------------------------------------- */

struct cursor {
    const char *at, *end;
};

static void skip_blanks(struct cursor *c) {
    while (c->at < c->end && memchr(" \t\r\n", *c->at, 4)) c->at++;
}

/* Takes the character if it comes next, after blanks. */
static bool take(struct cursor *c, char wanted) {
    skip_blanks(c);
    if (c->at == c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

static bool take_word(struct cursor *c, const char *word) {
    skip_blanks(c);
    const size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return false;
    c->at += length;
    return true;
}

/* A string in either kind of quotes, without escapes: neither a key nor a type has any. */
static bool take_string(struct cursor *c, char *text, size_t room) {
    const char quote = take(c, '\'') ? '\'' : take(c, '"') ? '"' : '\0';
    if (!quote) return false;
    const char *end = memchr(c->at, quote, (size_t)(c->end - c->at));
    if (!end || (size_t)(end - c->at) >= room) return false;
    const size_t length = (size_t)(end - c->at);
    memcpy(text, c->at, length);
    text[length] = '\0';
    c->at = end + 1;
    return strlen(text) == length;
}

static bool take_dimension(struct cursor *c, uint64_t *dimension) {
    skip_blanks(c);
    const char *start = c->at;
    *dimension = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (__builtin_mul_overflow(*dimension, 10u, dimension)) return false;
        if (__builtin_add_overflow(*dimension, (unsigned)(*c->at - '0'), dimension)) return false;
    }
    const bool any = c->at > start;
    take(c, 'L'); /* a long integer of Python 2 */
    return any;
}

/* ---- the three keys ------------------------------------------------------------------------------------------------------------ */

static bool read_descr(struct cursor *c, upsweep_type *type, char why[NPY_WHY_NBYTES]) {
    char descr[32];
    if (take(c, '[')) return refuse(why, "holds records of several fields; only plain numbers are taken");
    if (!take_string(c, descr, sizeof descr)) return refuse(why, "has a header without a readable type");
    const char order = descr[0], *kind = descr + 1;
    if (strchr(descr, 'O')) return refuse(why, "holds Python objects (type '%s'); these are never opened", descr);
    if (strcmp(kind, "b1") == 0) kind = "u1"; /* booleans are bytes 0 and 1 */
    for (int t = 0; t < UPSWEEP_TYPE_COUNT; t++) {
        char plain[8]; /* "i4": NumPy counts bytes where we count bits */
        const size_t nbytes = upsweep_type_nbytes((upsweep_type)t);
        snprintf(plain, sizeof plain, "%c%zu", upsweep_type_name((upsweep_type)t)[0], nbytes);
        if (strcmp(kind, plain) != 0 || !memchr("<>|", order, 3)) continue;
        if (order == '>' && nbytes > 1) return refuse(why, "is big-endian (type '%s'); convert it to '<%s'", descr, plain);
        if (order == '|' && nbytes > 1) break;
        *type = (upsweep_type)t;
        return true;
    }
    return refuse(why, "holds elements of type '%s'; taken are integers of 8 to 64 bits and floats of 32 and 64", descr);
}

/* The product of the dimensions. */
static bool read_shape(struct cursor *c, uint64_t *n, int *rank, char why[NPY_WHY_NBYTES]) {
    bool overflow = false, empty = false, comma = true;
    *n = 1;
    *rank = 0;
    if (!take(c, '(')) return refuse(why, "has a header whose shape is not a tuple");
    while (!take(c, ')')) {
        uint64_t dimension;
        if (!comma || !take_dimension(c, &dimension)) return refuse(why, "has a header whose shape is not a tuple of whole numbers");
        comma = take(c, ',');
        empty |= dimension == 0;
        if (dimension > 0) overflow |= __builtin_mul_overflow(*n, dimension, n);
        (*rank)++;
    }
    if (*rank == 1 && !comma) return refuse(why, "has a header whose shape is not a tuple"); /* (3) is a number in brackets */
    if (overflow && !empty) return refuse(why, "has a header whose shape is too large");
    if (empty) *n = 0;
    return true;
}

bool npy_parse(struct npy *npy, const char *dict, size_t length, char why[NPY_WHY_NBYTES]) {
    struct cursor c = {dict, dict + length};
    bool has_descr = false, has_order = false, has_shape = false, fortran = false, comma = true;
    int rank = 0;
    if (!take(&c, '{')) return refuse(why, "has a header that is not a dictionary");
    while (!take(&c, '}')) {
        char key[16];
        if (!comma || !take_string(&c, key, sizeof key) || !take(&c, ':')) return refuse(why, "has a header that cannot be read");
        if (strcmp(key, "descr") == 0 && !has_descr) {
            has_descr = true;
            if (!read_descr(&c, &npy->type, why)) return false;
        } else if (strcmp(key, "fortran_order") == 0 && !has_order) {
            has_order = true;
            fortran = take_word(&c, "True");
            if (!fortran && !take_word(&c, "False")) return refuse(why, "has a header whose fortran_order is neither True nor False");
        } else if (strcmp(key, "shape") == 0 && !has_shape) {
            has_shape = true;
            if (!read_shape(&c, &npy->n, &rank, why)) return false;
        } else {
            return refuse(why, "has a header with a key that does not belong there: '%s'", key);
        }
        comma = take(&c, ',');
    }
    skip_blanks(&c);
    if (c.at != c.end) return refuse(why, "has a header with something after its dictionary");
    if (!has_descr || !has_order || !has_shape) return refuse(why, "has a header without descr, fortran_order or shape");
    if (fortran && rank > 1) return refuse(why, "is in Fortran order with %d axes; save it in C order", rank);
    if (npy->n > INT64_MAX / upsweep_type_nbytes(npy->type)) return refuse(why, "has a header whose shape is too large");
    return true;
}

/* ---- writing ------------------------------------------------------------------------------------------------------------------- */

void npy_format(unsigned char header[NPY_HEADER_NBYTES], upsweep_type type, uint64_t n) {
    enum { PREFIX_NBYTES = NPY_MAGIC_NBYTES + 2, DICT_NBYTES = NPY_HEADER_NBYTES - PREFIX_NBYTES };
    _Static_assert(NPY_HEADER_NBYTES % 64 == 0, "the data of a .npy file start at a multiple of 64");
    const size_t nbytes = upsweep_type_nbytes(type);
    char dict[DICT_NBYTES + 1]; /* 79 characters with the largest n */
    const int length = snprintf(dict, sizeof dict, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (%llu,), }",
                                nbytes > 1 ? '<' : '|', upsweep_type_name(type)[0], nbytes, (unsigned long long)n);
    memset(header, ' ', NPY_HEADER_NBYTES);
    memcpy(header, "\x93NUMPY\x01\x00", NPY_MAGIC_NBYTES);
    header[NPY_MAGIC_NBYTES] = DICT_NBYTES & 0xff;
    header[NPY_MAGIC_NBYTES + 1] = DICT_NBYTES >> 8;
    memcpy(header + PREFIX_NBYTES, dict, (size_t)length);
    header[NPY_HEADER_NBYTES - 1] = '\n';
}
