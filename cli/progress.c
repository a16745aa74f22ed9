/* progress.c: a line on standard error that says how far a long job has come.
 *
 * Only on a terminal, only after one second, and at most five times a second: a short job and a script never see it. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

static const double first_after_s = 1.0, again_after_s = 0.2;

static struct {
    bool on, shown;
    uint64_t done, total;
    double next_s;
} state;

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void progress_begin(uint64_t total_nbytes) {
    state.on = isatty(STDERR_FILENO) == 1;
    state.done = 0;
    state.total = total_nbytes;
    state.next_s = now_s() + first_after_s;
}

void progress_advance(uint64_t nbytes) {
    state.done += nbytes;
    if (!state.on) return;
    const double now = now_s();
    if (now < state.next_s) return;
    const double mib = (double)state.done / 1048576.0;
    if (state.total) {
        fprintf(stderr, "\rupsweep: %.0f MiB, %.0f %%  ", mib, 100.0 * (double)state.done / (double)state.total);
    } else {
        fprintf(stderr, "\rupsweep: %.0f MiB  ", mib);
    }
    state.shown = true;
    state.next_s = now + again_after_s;
}

void progress_end(void) {
    if (state.shown) fputs("\r\033[K", stderr); /* erases the line */
    state.on = state.shown = false;
}
