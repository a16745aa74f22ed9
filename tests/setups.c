/* setups.c: the contexts that every test runs on: instruction sets x thread counts x executors on the CPU, and on CUDA the
 * kernels that sizes call for, and both passes at every size.
 *
 * The instruction set is chosen by the environment variable UPSWEEP_CPU, the pass by UPSWEEP_CUDA; the library reads them at each open. A
 * set that this machine does not have is skipped, and said so: the context reports which one it uses. */
#include "harness.h"

#include <pthread.h>
#include <stdio.h>

/* One after the other, from the last to the first. */
static void executor_reversed(void *user, void (*task)(void *arg, uint32_t i), void *arg, uint32_t ntasks) {
    (void)user;
    for (uint32_t i = ntasks; i-- > 0;) task(arg, i);
}

struct one_task {
    void (*task)(void *arg, uint32_t i);
    void *arg;
    uint32_t i;
    pthread_t thread;
    bool started;
};

static void *run_one_task(void *arg) {
    const struct one_task *one = arg;
    one->task(one->arg, one->i);
    return NULL;
}

void executor_threads(void *user, void (*task)(void *arg, uint32_t i), void *arg, uint32_t ntasks) {
    (void)user;
    struct one_task *tasks = must_malloc(ntasks * sizeof *tasks);
    for (uint32_t i = 0; i < ntasks; i++) {
        tasks[i] = (struct one_task){.task = task, .arg = arg, .i = i};
        tasks[i].started = pthread_create(&tasks[i].thread, NULL, run_one_task, &tasks[i]) == 0;
        if (!tasks[i].started) task(arg, i);
    }
    for (uint32_t i = 0; i < ntasks; i++) {
        if (tasks[i].started) pthread_join(tasks[i].thread, NULL);
    }
    free(tasks);
}

/* ---- the list ---------------------------------------------------------------------------------------------------------------- */

static const struct spec {
    const char *backend, *path; /* path: instruction set or pass */
    uint32_t nthreads;
    upsweep_parallel_for executor;
    const char *executor_name;
    bool in_quick;
} specs[] = {
    {"cpu", "portable", 1, NULL, "", true},
    {"cpu", "portable", 2, NULL, "", false},
    {"cpu", "portable", 3, NULL, "", true},
    {"cpu", "portable", 8, NULL, "", false},
    {"cpu", "avx2", 1, NULL, "", true},
    {"cpu", "avx2", 2, NULL, "", true},
    {"cpu", "avx2", 3, NULL, "", false},
    {"cpu", "avx2", 8, NULL, "", false},
    {"cpu", "avx512", 1, NULL, "", true},
    {"cpu", "avx512", 2, NULL, "", false},
    {"cpu", "avx512", 3, NULL, "", false},
    {"cpu", "avx512", 8, NULL, "", true},
    {"cpu", "avx512", 4, executor_reversed, ", reversed executor", true},
    {"cpu", "avx2", 5, executor_threads, ", threads as executor", true},
    {"cuda", "by size", 0, NULL, "", true},
    {"cuda", "lookback", 0, NULL, "", true},
    {"cuda", "ring", 0, NULL, "", true},
};
enum { SPECS = sizeof specs / sizeof *specs };

struct setup setups[SPECS];
size_t nsetups;
static struct memory *host_memory; /* one for all CPU setups */

/* Races take two threads: a tool that looks for those alone is slow enough without the setups that have one. */
static bool is_wanted(const struct spec *spec) {
    if (!backend_wanted(spec->backend)) return false;
    if (scale_is("threads")) return spec->in_quick && spec->nthreads > 1 && spec->executor != executor_reversed;
    return spec->in_quick || !quick();
}

static upsweep_status open_spec(const struct spec *spec, upsweep_context **ctx) {
    upsweep_options options = {.size = sizeof options, .nthreads = spec->nthreads, .parallel_for = spec->executor};
    const char *variable = strcmp(spec->backend, "cpu") == 0 ? "UPSWEEP_CPU" : "UPSWEEP_CUDA";
    setenv(variable, strcmp(spec->path, "by size") == 0 ? "" : spec->path, 1); /* empty: as if there were no such variable */
    const upsweep_status status = upsweep_open_ex(ctx, spec->backend, &options);
    unsetenv(variable);
    return status;
}

/* Is what runs the set that was asked for? A lesser one only if that is all this machine has; then the setup is skipped. */
static bool runs_isa(const char *got, const char *wanted) {
    static const char *const isas[] = {"portable", "avx2", "avx512"};
    size_t g = 0, w = 0;
    while (g < 3 && strcmp(isas[g], got) != 0) g++;
    while (w < 3 && strcmp(isas[w], wanted) != 0) w++;
    CHECK(g <= w);
    return g == w;
}

static void add_setup(const struct spec *spec) {
    struct setup *s = &setups[nsetups];
    s->host = strcmp(spec->backend, "cpu") == 0;
    if (s->host) {
        snprintf(s->name, sizeof s->name, "%s %s %u threads%s", spec->backend, spec->path, spec->nthreads, spec->executor_name);
    } else {
        snprintf(s->name, sizeof s->name, "%s %s", spec->backend, spec->path);
    }
    setup_enter(s);
    if (!CHECK_OK(open_spec(spec, &s->ctx))) {
        printf("    %s\n", upsweep_error(NULL));
        return;
    }
    upsweep_device device = {.size = sizeof device};
    CHECK_OK(upsweep_context_device(s->ctx, &device));
    if (s->host && !runs_isa(device.detail, spec->path)) {
        skip(s->name);
        upsweep_close(s->ctx);
        return;
    }
    if (s->host && !host_memory) host_memory = memory_open(true, s->ctx);
    s->memory = s->host ? host_memory : memory_open(false, s->ctx);
    nsetups++;
}

void setups_open(void) {
    for (size_t i = 0; i < SPECS; i++) {
        if (is_wanted(&specs[i])) add_setup(&specs[i]);
    }
    CHECK(nsetups > 0);
}

void setups_close(void) {
    memory_close(host_memory);
    host_memory = NULL;
    for (size_t i = 0; i < nsetups; i++) {
        if (!setups[i].host) memory_close(setups[i].memory);
        upsweep_close(setups[i].ctx);
    }
    nsetups = 0;
}
