/* paths.h: the ways through the GPU code: the one that the library would choose, and each of its two passes, by UPSWEEP_CUDA. */
#ifndef PATHS_H
#define PATHS_H

#include <stdio.h>
#include <stdlib.h>

#include "upsweep.h"

enum { PATHS = 3 };
static const char *const path_names[PATHS] = {"", "lookback", "ring"};

/* A CUDA context that takes the path; NULL if there is none to be had. */
static inline upsweep_context *open_path(int path, const upsweep_options *options) {
    upsweep_context *ctx = NULL;
    setenv("UPSWEEP_CUDA", path_names[path], 1);
    const upsweep_status status = upsweep_open_ex(&ctx, "cuda", options);
    unsetenv("UPSWEEP_CUDA");
    if (status != UPSWEEP_OK) printf("no CUDA context: %s\n", upsweep_error(NULL));
    return ctx;
}

#endif
