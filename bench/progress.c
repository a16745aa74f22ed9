/* progress.c: a bar on standard error, on a terminal only, that says how far a run has come and what it is at. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "report.h"

static bool shown;

void progress_show(uint64_t done, uint64_t total, const char *what) {
    enum { WIDTH = 30 };
    if (isatty(STDERR_FILENO) != 1 || total == 0) return;
    const int filled = (int)(done * WIDTH / total);
    fprintf(stderr, "\r\033[K[%.*s%*s] %" PRIu64 "/%" PRIu64 " %s", filled, "##############################", WIDTH - filled, "", done,
            total, what);
    shown = true;
}

void progress_clear(void) {
    if (shown) fputs("\r\033[K", stderr);
    shown = false;
}
