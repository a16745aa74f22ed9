/* harness.c: counting and reporting checks, random numbers, and a handler that names the case in which a program crashed. */
#include "harness.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { REPORTS_MAX = 20 }; /* failures shown in full; the rest are only counted */

static struct {
    uint64_t passed, failed, skipped;
    char now[256];  /* the case */
    char setup[64]; /* the setup, "" outside of any */
    bool fail_fast;
} state;

/* ---- checks ------------------------------------------------------------------------------------------------------------------ */

static void report(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void report(const char *file, int line, const char *format, ...) {
    state.failed++;
    if (state.failed <= REPORTS_MAX) {
        va_list args;
        va_start(args, format);
        printf("%s:%d: ", file, line);
        vprintf(format, args);
        printf("\n    in: %s%s%s\n", state.now, state.setup[0] ? ", on " : "", state.setup);
        va_end(args);
        fflush(stdout);
    }
    if (state.fail_fast) {
        printf("%" PRIu64 " passed, %" PRIu64 " failed\n", state.passed, state.failed);
        exit(1);
    }
}

bool check(bool good, const char *text, const char *file, int line) {
    if (good)
        state.passed++;
    else
        report(file, line, "not so: %s", text);
    return good;
}

bool check_status(upsweep_status got, upsweep_status want, const char *text, const char *file, int line) {
    if (got == want)
        state.passed++;
    else
        report(file, line, "%s: status %d (%s), expected %d", text, (int)got, upsweep_status_text(got), (int)want);
    return got == want;
}

static void hex(char *text, size_t room, const unsigned char *bytes, size_t nbytes) {
    if (nbytes > 16) nbytes = 16;
    text[0] = 0;
    for (size_t i = nbytes; i-- > 0;) snprintf(text + 2 * (nbytes - 1 - i), room - 2 * (nbytes - 1 - i), "%02x", bytes[i]);
}

bool check_same(const void *got, const void *want, uint64_t n, size_t elem_nbytes, const char *text, const char *file, int line) {
    if (n == 0 || memcmp(got, want, n * elem_nbytes) == 0) {
        state.passed++;
        return true;
    }
    const unsigned char *g = got, *w = want;
    uint64_t i = 0;
    while (memcmp(g + i * elem_nbytes, w + i * elem_nbytes, elem_nbytes) == 0) i++;
    char g_text[40], w_text[40];
    hex(g_text, sizeof g_text, g + i * elem_nbytes, elem_nbytes);
    hex(w_text, sizeof w_text, w + i * elem_nbytes, elem_nbytes);
    report(file, line, "%s[%" PRIu64 "] of %" PRIu64 " is 0x%s, expected 0x%s", text, i, n, g_text, w_text);
    return false;
}

bool names(const char *sentence, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = strstr(sentence, word); at; at = strstr(at + 1, word)) {
        const char before = at == sentence ? ' ' : at[-1], after = at[length];
        const char *const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
        if (!strchr(letters, before) && (after == 0 || !strchr(letters, after))) return true;
    }
    return false;
}

void case_begin(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(state.now, sizeof state.now, format, args);
    va_end(args);
    state.setup[0] = 0;
}

bool setup_enter(struct setup *s) {
    memcpy(state.setup, s->name, sizeof state.setup);
    return true;
}

void skip(const char *what) {
    printf("skipped: %s\n", what);
    state.skipped++;
}

/* ---- begin and end ----------------------------------------------------------------------------------------------------------- */

static struct sigaction previous_action[32];

/* A touched guard page ends the program; say in which case, then let it crash as it would have without us (a sanitizer reports then). */
static void on_crash(int sig) {
    const char *const parts[] = {"crashed in: ", state.now, ", on ", state.setup, "\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (write(STDOUT_FILENO, parts[i], strlen(parts[i])) < 0) break;
    }
    sigaction(sig, &previous_action[sig], NULL);
}

void harness_begin(bool with_setups) {
    const char *fail_fast = getenv("UPSWEEP_TEST_FAIL_FAST");
    state.fail_fast = fail_fast && strcmp(fail_fast, "1") == 0;
    struct sigaction action = {.sa_handler = on_crash};
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) sigaction(crashes[i], &action, &previous_action[crashes[i]]);
    case_begin("opening the setups");
    if (with_setups) setups_open();
}

int harness_end(void) {
    case_begin("closing the setups");
    setups_close();
    printf("%" PRIu64 " passed, %" PRIu64 " failed", state.passed, state.failed);
    if (state.skipped) printf(", %" PRIu64 " skipped", state.skipped);
    printf("\n");
    if (state.failed == 0 && state.passed == 0 && state.skipped > 0) return ALL_SKIPPED;
    return state.failed == 0 && state.passed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

bool scale_is(const char *name) {
    const char *scale = getenv("UPSWEEP_TEST_SCALE");
    return scale && strcmp(scale, name) == 0;
}

bool quick(void) { return scale_is("quick") || scale_is("threads"); }

bool backend_wanted(const char *name) {
    const char *list = getenv("UPSWEEP_TEST_BACKENDS");
    return strstr(list && *list ? list : "cpu", name) != NULL;
}

void *must_malloc(size_t nbytes) {
    void *p = malloc(nbytes ? nbytes : 1);
    if (!p) {
        printf("the test itself is out of memory: %zu bytes\n", nbytes);
        exit(EXIT_FAILURE);
    }
    return p;
}

/* ---- random numbers ---------------------------------------------------------------------------------------------------------- */

/* SplitMix64: Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014. */
uint64_t rng_next(struct rng *rng) {
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t rng_below(struct rng *rng, uint64_t bound) { return rng_next(rng) % bound; }

void rng_fill(struct rng *rng, void *bytes, size_t nbytes) {
    unsigned char *p = bytes;
    for (; nbytes >= 8; nbytes -= 8, p += 8) memcpy(p, &(uint64_t){rng_next(rng)}, 8);
    memcpy(p, &(uint64_t){rng_next(rng)}, nbytes);
}
