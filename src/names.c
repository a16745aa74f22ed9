/* names.c: the tables of upsweep.h as text and back. Cost: a comparison a row. */
#include <string.h>

#include "upsweep.h"

enum { UNSIGNED = 1, SIGNED = 2, FLOAT = 4, INTEGER = UNSIGNED | SIGNED, FLOATING = FLOAT, ANY = INTEGER | FLOAT };

#define TEXT_ROW(e, v, text)                   [e] = (text),
#define NAME_ROW(e, v, name, ...)              [e] = #name,
#define ONLY_NAME_ROW(e, v, name)              [e] = #name,
#define SIZE_ROW(e, v, name, ctype, kind)      [e] = sizeof(ctype),
#define TYPE_KIND_ROW(e, v, name, ctype, kind) [e] = (kind),
#define KINDS_ROW(e, v, name, kinds)           [e] = (kinds),

static const char *const status_texts[] = {UPSWEEP_STATUS_TABLE(TEXT_ROW)};
static const char *const type_names[] = {UPSWEEP_TYPE_TABLE(NAME_ROW)};
static const char *const op_names[] = {UPSWEEP_OP_TABLE(NAME_ROW)};
static const char *const cmp_names[] = {UPSWEEP_CMP_TABLE(NAME_ROW)};
static const char *const encoding_names[] = {UPSWEEP_ENCODING_TABLE(NAME_ROW)};
static const char *const on_error_names[] = {UPSWEEP_ON_ERROR_TABLE(ONLY_NAME_ROW)};
static const char *const text_error_texts[] = {UPSWEEP_TEXT_ERROR_TABLE(TEXT_ROW)};
static const size_t type_sizes[] = {UPSWEEP_TYPE_TABLE(SIZE_ROW)};
static const size_t encoding_sizes[] = {UPSWEEP_ENCODING_TABLE(KINDS_ROW)};
static const unsigned type_kinds[] = {UPSWEEP_TYPE_TABLE(TYPE_KIND_ROW)};
static const unsigned op_kinds[] = {UPSWEEP_OP_TABLE(KINDS_ROW)};
static const unsigned cmp_kinds[] = {UPSWEEP_CMP_TABLE(KINDS_ROW)};

/* Enums arrive from other languages as any int, so a range check needs both ends, whatever signedness the compiler gave the enum. */
static int in_table(int64_t value, int64_t count) { return value >= 0 && value < count; }

static int find_name(const char *name, const char *const *names, int count) {
    if (name == NULL) return -1;
    for (int i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0) return i;
    return -1;
}

const char *upsweep_status_text(upsweep_status status) { return in_table(status, UPSWEEP_STATUS_COUNT) ? status_texts[status] : NULL; }
const char *upsweep_type_name(upsweep_type type) { return in_table(type, UPSWEEP_TYPE_COUNT) ? type_names[type] : NULL; }
const char *upsweep_op_name(upsweep_op op) { return in_table(op, UPSWEEP_OP_COUNT) ? op_names[op] : NULL; }
const char *upsweep_cmp_name(upsweep_cmp cmp) { return in_table(cmp, UPSWEEP_CMP_COUNT) ? cmp_names[cmp] : NULL; }
const char *upsweep_encoding_name(upsweep_encoding encoding) {
    return in_table(encoding, UPSWEEP_ENCODING_COUNT) ? encoding_names[encoding] : NULL;
}
const char *upsweep_on_error_name(upsweep_on_error on_error) {
    return in_table(on_error, UPSWEEP_ON_ERROR_COUNT) ? on_error_names[on_error] : NULL;
}
const char *upsweep_text_error_text(upsweep_text_error error) {
    return in_table(error, UPSWEEP_TEXT_ERROR_COUNT) ? text_error_texts[error] : NULL;
}
size_t upsweep_type_nbytes(upsweep_type type) { return in_table(type, UPSWEEP_TYPE_COUNT) ? type_sizes[type] : 0; }
size_t upsweep_encoding_nbytes(upsweep_encoding encoding) {
    return in_table(encoding, UPSWEEP_ENCODING_COUNT) ? encoding_sizes[encoding] : 0;
}

int upsweep_type_from_name(const char *name, upsweep_type *type) {
    const int i = find_name(name, type_names, UPSWEEP_TYPE_COUNT);
    if (i < 0 || type == NULL) return 0;
    *type = (upsweep_type)i;
    return 1;
}

int upsweep_op_from_name(const char *name, upsweep_op *op) {
    const int i = find_name(name, op_names, UPSWEEP_OP_COUNT);
    if (i < 0 || op == NULL) return 0;
    *op = (upsweep_op)i;
    return 1;
}

int upsweep_cmp_from_name(const char *name, upsweep_cmp *cmp) {
    const int i = find_name(name, cmp_names, UPSWEEP_CMP_COUNT);
    if (i < 0 || cmp == NULL) return 0;
    *cmp = (upsweep_cmp)i;
    return 1;
}

int upsweep_encoding_from_name(const char *name, upsweep_encoding *encoding) {
    const int i = find_name(name, encoding_names, UPSWEEP_ENCODING_COUNT);
    if (i < 0 || encoding == NULL) return 0;
    *encoding = (upsweep_encoding)i;
    return 1;
}

int upsweep_on_error_from_name(const char *name, upsweep_on_error *on_error) {
    const int i = find_name(name, on_error_names, UPSWEEP_ON_ERROR_COUNT);
    if (i < 0 || on_error == NULL) return 0;
    *on_error = (upsweep_on_error)i;
    return 1;
}

int upsweep_type_has_op(upsweep_type type, upsweep_op op) {
    return in_table(type, UPSWEEP_TYPE_COUNT) && in_table(op, UPSWEEP_OP_COUNT) && (type_kinds[type] & op_kinds[op]) != 0;
}

int upsweep_type_has_cmp(upsweep_type type, upsweep_cmp cmp) {
    return in_table(type, UPSWEEP_TYPE_COUNT) && in_table(cmp, UPSWEEP_CMP_COUNT) && (type_kinds[type] & cmp_kinds[cmp]) != 0;
}
