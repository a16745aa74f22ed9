/* harness.h: what every test program shares: checks that count, setups to run on, and memory with guard pages.
 *
 * A setup is one open context: a backend, a number of threads, an executor and an instruction set. A test makes its input and, with
 * oracle.h, the answer once, and then runs every setup on them:
 *
 *     case_begin("scan %s n %llu", ...);           names what is tested, for the report
 *     FOR_EACH_SETUP(s) {
 *         void *in = put(s, SLOT_IN, at, host, nbytes);
 *         ...the call, on s->ctx...
 *         CHECK(take(s, SLOT_IN, back));           false if anything next to the data was written
 *         CHECK_SAME(back, want, n, elem_nbytes);
 *     }
 *
 * Environment: UPSWEEP_TEST_BACKENDS "cpu" (default), "cuda" or "cpu,cuda"; UPSWEEP_TEST_SCALE=quick for fewer sizes and setups, threads
 * for those of them that have several threads (what ThreadSanitizer can find is there), or sanitizer for what test_cuda_small need not
 * repeat under a slow tool; UPSWEEP_TEST_SEED, a number, to draw all keys of the sorts on a GPU anew; UPSWEEP_TEST_FAIL_FAST=1 to stop at
 * the first failure. A program ends with the line `N passed, N failed, N skipped`; the last part
 * is left out when nothing was skipped. */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "upsweep.h"

/* ---- checks ------------------------------------------------------------------------------------------------------------------ */

#define CHECK(condition)      check((condition), #condition, __FILE__, __LINE__)
#define CHECK_OK(call)        check_status((call), UPSWEEP_OK, #call, __FILE__, __LINE__)
#define CHECK_STATUS(call, w) check_status((call), (w), #call, __FILE__, __LINE__)
/* Two arrays of n elements are the same, byte for byte; if not, the first element that differs is shown. */
#define CHECK_SAME(got, want, n, elem_nbytes) check_same((got), (want), (n), (elem_nbytes), #got, __FILE__, __LINE__)

bool check(bool good, const char *text, const char *file, int line);
bool check_status(upsweep_status got, upsweep_status want, const char *text, const char *file, int line);
bool check_same(const void *got, const void *want, uint64_t n, size_t elem_nbytes, const char *text, const char *file, int line);

/* Does the sentence have the word, between characters that are not part of a name? */
bool names(const char *sentence, const char *word);

/* The sentence that failures show from now on, printf-like. */
void case_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Something that this machine or backend cannot run. */
void skip(const char *what);

/* Opens all setups, or none of them for programs that open their own contexts. */
void harness_begin(bool with_setups);
/* Closes them, prints the last line and returns the exit status of the program: ALL_SKIPPED if there was nothing that could be run here,
 * which CTest shows as such; a failure if nothing was run for no reason. */
enum { ALL_SKIPPED = 77 };
int harness_end(void);

bool scale_is(const char *name);       /* is it UPSWEEP_TEST_SCALE? */
bool quick(void);                      /* is that quick or threads? */
bool backend_wanted(const char *name); /* is it in UPSWEEP_TEST_BACKENDS? */
void *must_malloc(size_t nbytes);      /* never NULL, not even for 0 */

/* ---- random numbers: the same on every machine ------------------------------------------------------------------------------- */

struct rng {
    uint64_t state;
};
uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t bound);
void rng_fill(struct rng *rng, void *bytes, size_t nbytes);

/* ---- setups ------------------------------------------------------------------------------------------------------------------ */

struct setup {
    char name[64]; /* "cpu avx2 3 threads" */
    bool host;     /* context memory is host memory */
    upsweep_context *ctx;
    struct memory *memory;
};

extern struct setup setups[];
extern size_t nsetups;
#define FOR_EACH_SETUP(s)                                     \
    for (struct setup *s = setups; s < setups + nsetups; s++) \
        if (setup_enter(s))

void setups_open(void);
void setups_close(void);
bool setup_enter(struct setup *s); /* failures name this setup from now on; always true */

/* An executor to give to a context: a fresh thread for each task. */
void executor_threads(void *user, void (*task)(void *arg, uint32_t i), void *arg, uint32_t ntasks);

/* ---- context memory with guards ---------------------------------------------------------------------------------------------- */

/* Each setup has one piece of memory a slot, reused by every case. */
enum slot {
    SLOT_IN,
    SLOT_OUT,
    SLOT_REST,
    SLOT_FLAGS,
    SLOT_VALUES_IN,
    SLOT_VALUES_OUT,
    SLOT_INIT,
    SLOT_TOTAL,
    SLOT_COUNT,
    SLOT_SCRATCH,
    SLOTS
};

/* Where in its slot an array lies: its last byte (or its first) is `shift` bytes away from a page that must not be touched. */
enum side { AT_END, AT_START };
struct place {
    enum side side;
    size_t shift;
};

/* Lays an array of nbytes into a slot, surrounds it with canaries, and fills it: with the bytes of host, or for NULL with a pattern. */
void *put(struct setup *s, enum slot slot, struct place place, const void *host, size_t nbytes);
/* Copies the array back; false if a canary next to it has died. host may be NULL. */
bool take(struct setup *s, enum slot slot, void *host);
/* The same, and the array is still as put() left it. */
bool untouched(struct setup *s, enum slot slot);

struct memory *memory_open(bool host, upsweep_context *ctx);
void memory_close(struct memory *memory);

#endif
