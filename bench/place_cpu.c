/* place_cpu.c: work on the CPU: host memory, the monotonic clock, and a copy by a team of threads as the yardstick.
 *
 * A sample is one call; of calls too short for the clock, as many as fill some 20 microseconds. Cold: before each sample, 256 MiB are
 * written, more than the caches hold. */
#include "bench.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define FLUSH_NBYTES (UINT64_C(1) << 28)
#define SAMPLE_MS    0.02 /* a thousand times the clock's resolution */
#define MAX_CALLS    1000

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

uint32_t hardware_threads(void) {
    upsweep_device cpu = {.size = sizeof cpu};
    return upsweep_device_at(0, &cpu) == UPSWEEP_OK ? cpu.units : 1;
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------ */

static const char *missing(void) { return NULL; }

static bool poison(void *p, size_t nbytes) {
    if (nbytes > 0) memset(p, 0xAB, nbytes);
    return true;
}

static void *alloc(size_t nbytes) {
    void *p = aligned_alloc(256, (nbytes + 256) / 256 * 256);
    if (p != NULL) poison(p, nbytes);
    return p;
}

static bool transfer(void *dst, const void *src, size_t nbytes) {
    if (nbytes > 0) memcpy(dst, src, nbytes);
    return true;
}

/* ---- the yardstick: a copy, in pieces that threads draw from a counter ----------------------------------------------------------------
 */

#define PIECE_NBYTES ((size_t)256 << 10) /* fits L2, and a slow thread holds nobody up */

/* A store through the caches first reads the line that it overwrites; past them it does not, which is faster when nothing stays in them. */
static void copy_past_caches(char *dst, const char *src, size_t nbytes) {
#ifdef __SSE2__
    const size_t nvectors = (uintptr_t)dst % 16 == 0 ? nbytes / 16 : 0;
    for (size_t i = 0; i < nvectors; i++) _mm_stream_si128((__m128i *)dst + i, _mm_loadu_si128((const __m128i *)src + i));
    _mm_sfence(); /* the stores are visible before the copy is reported as done */
    memcpy(dst + 16 * nvectors, src + 16 * nvectors, nbytes - 16 * nvectors);
#else
    memcpy(dst, src, nbytes);
#endif
}

static void copy_bytes(char *dst, const char *src, size_t nbytes, bool past_caches) {
    if (past_caches) {
        copy_past_caches(dst, src, nbytes);
    } else {
        memcpy(dst, src, nbytes);
    }
}

/* Threads that wait at a barrier for a copy to do, and at another for its end. Started anew when their number changes. */
static struct {
    pthread_t threads[256];
    uint32_t nthreads; /* the caller's included; 0: there is no team */
    pthread_barrier_t begin, end;
    char *dst;
    const char *src;
    size_t nbytes; /* SIZE_MAX: go home */
    bool past_caches;
    atomic_size_t next_piece;
} team;

static void copy_pieces(void) {
    size_t first;
    while ((first = PIECE_NBYTES * atomic_fetch_add(&team.next_piece, 1)) < team.nbytes) {
        const size_t rest = team.nbytes - first;
        copy_bytes(team.dst + first, team.src + first, rest < PIECE_NBYTES ? rest : PIECE_NBYTES, team.past_caches);
    }
}

static void *team_member(void *arg) {
    (void)arg;
    for (;;) {
        pthread_barrier_wait(&team.begin); /* the caller has said what to copy */
        if (team.nbytes == SIZE_MAX) return NULL;
        copy_pieces();
        pthread_barrier_wait(&team.end); /* all pieces are done */
    }
}

static void team_dismiss(void) {
    if (team.nthreads == 0) return;
    team.nbytes = SIZE_MAX;
    pthread_barrier_wait(&team.begin);
    for (uint32_t i = 1; i < team.nthreads; i++) pthread_join(team.threads[i], NULL);
    pthread_barrier_destroy(&team.begin);
    pthread_barrier_destroy(&team.end);
    team.nthreads = 0;
}

/* A thread that cannot be started ends the benchmark: its barrier would never open. */
static void team_hire(uint32_t nthreads) {
    team_dismiss();
    team.nthreads = nthreads;
    pthread_barrier_init(&team.begin, NULL, nthreads);
    pthread_barrier_init(&team.end, NULL, nthreads);
    for (uint32_t i = 1; i < nthreads; i++) {
        if (pthread_create(&team.threads[i], NULL, team_member, NULL) != 0) abort();
    }
}

static bool copy(void *dst, const void *src, size_t nbytes, uint32_t nthreads, bool past_caches) {
    if (nthreads > sizeof team.threads / sizeof team.threads[0]) nthreads = sizeof team.threads / sizeof team.threads[0];
    if (nthreads <= 1) {
        copy_bytes(dst, src, nbytes, past_caches);
        return true;
    }
    if (team.nthreads != nthreads) team_hire(nthreads);
    team.dst = dst;
    team.src = src;
    team.nbytes = nbytes;
    team.past_caches = past_caches;
    team.next_piece = 0;
    pthread_barrier_wait(&team.begin);
    copy_pieces();
    pthread_barrier_wait(&team.end);
    return true;
}

/* ---- samples ----------------------------------------------------------------------------------------------------------------- */

static void flush_caches(void) {
    static unsigned char *block, value;
    if (block == NULL) block = malloc(FLUSH_NBYTES);
    if (block != NULL) memset(block, ++value, FLUSH_NBYTES);
}

static bool run_calls(struct watch *watch, uint32_t ncalls, double *elapsed_ms) {
    bool ok = true;
    const double start = now_ms();
    for (uint32_t i = 0; ok && i < ncalls; i++) ok = watch->work.run(watch->work.arg);
    *elapsed_ms = now_ms() - start;
    return ok;
}

/* Warms up, and finds out how many calls make a sample. */
static bool watch_open(struct watch *watch) {
    double elapsed_ms = 0;
    watch->method = BY_CLOCK;
    watch->ncalls = 1;
    if (!run_calls(watch, 1, &elapsed_ms)) return false;
    if (watch->cache == COLD) return true;
    while (watch->ncalls < MAX_CALLS) {
        if (!run_calls(watch, watch->ncalls, &elapsed_ms)) return false;
        if (elapsed_ms >= SAMPLE_MS) break;
        watch->ncalls *= 2;
    }
    return true;
}

static bool watch_sample(struct watch *watch, double *ms) {
    if (watch->cache == COLD) flush_caches();
    const bool ok = run_calls(watch, watch->ncalls, ms);
    *ms /= watch->ncalls;
    return ok;
}

static void watch_close(struct watch *watch) { (void)watch; }

/* ---- the place --------------------------------------------------------------------------------------------------------------- */

static void *no_stream(void) { return NULL; }
static bool no_sync(void) { return true; }

static const struct place cpu_place = {
    .name = "cpu",
    .backend = LADDER_CPU,
    .missing = missing,
    .alloc = alloc,
    .free = free,
    .upload = transfer,
    .download = transfer,
    .poison = poison,
    .copy = copy,
    .stream = no_stream,
    .sync = no_sync,
    .watch_open = watch_open,
    .watch_sample = watch_sample,
    .watch_close = watch_close,
};

#ifdef UPSWEEP_HAVE_CUDA
extern const struct place upsweep_bench_cuda_place; /* place_cuda.c */
#endif

const struct place *place_of(enum ladder_backend backend) {
    if (backend == LADDER_CPU) return &cpu_place;
#ifdef UPSWEEP_HAVE_CUDA
    return &upsweep_bench_cuda_place;
#else
    return NULL;
#endif
}
