/* complain.c: the one way in which the tool says that something is wrong: `upsweep: FILE: sentence` on standard error. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

bool complain(const char *name, const char *format, ...) {
    progress_end(); /* the sentence starts on a line of its own */
    fputs("upsweep: ", stderr);
    if (name) fprintf(stderr, "%s: ", *name ? name : "''");
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    return false;
}

bool complain_errno(const char *name) { return complain(name, "%s", strerror(errno)); }

int close_stdout(int status) {
    const bool failed = ferror(stdout) != 0; /* errno of that write is long gone */
    if (fclose(stdout) != 0) {
        complain_errno("standard output");
        return EXIT_ERROR;
    }
    if (failed) {
        complain("standard output", "could not be written");
        return EXIT_ERROR;
    }
    return status;
}
