/* header_alone.c: the public header needs nothing before it, and may come twice. Compiled as C17 and as C++17, not linked: see
 * CMakeLists.txt. */
#include "upsweep.h"

upsweep_status uses_every_table(upsweep_context *ctx);

upsweep_status uses_every_table(upsweep_context *ctx) {
    const upsweep_type type = UPSWEEP_F64;
    const upsweep_op op = UPSWEEP_XOR;
    const upsweep_cmp cmp = UPSWEEP_NOT_NAN;
    return upsweep_type_has_op(type, op) || upsweep_type_has_cmp(type, cmp) ? UPSWEEP_OK : upsweep_sync(ctx);
}
