/* cpu_2_threaded_scan.c: rung 2 on the CPU: the naive parallel scan, on threads: log n rounds over the whole array.
 *
 *     in          3   1   7   0   4   1   6   3
 *     shifted     0   3   1   7   0   4   1   6      so that the sums come out exclusive
 *     distance 1  0   3   4   8   7   4   5   7      x[i] = x[i-1] + x[i]
 *     distance 2  0   3   4  11  11  12  12  11      x[i] = x[i-2] + x[i]
 *     distance 4  0   3   4  11  11  15  16  22      x[i] = x[i-4] + x[i]
 *
 * A round reads what its neighbours write, so there are two buffers and a barrier between rounds; each thread owns one slice.
 * Work n log n, depth log n, bytes 8n (log n + 1). With P threads that is n log n / P steps: below log n threads it loses to the serial
 * loop, and above it the memory has long been saturated. What it teaches: few steps are not enough, the work counts too.
 * Source: Hillis and Steele, Data Parallel Algorithms, 1986, "Computing All Partial Sums". */
#include "rungs.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_THREADS 256

struct team {
    const int32_t *in;
    int32_t *first, *second; /* the rounds go from first to second, then back, and so on */
    uint64_t n;
    pthread_mutex_t gate; /* held while threads are started: until then nobody knows how many there will be */
    uint32_t nthreads;
    pthread_barrier_t barrier;
};

struct member {
    struct team *team;
    uint32_t index;
    pthread_t thread;
};

static uint32_t count_rounds(uint64_t n) {
    uint32_t rounds = 0;
    for (uint64_t distance = 1; distance < n; distance *= 2) rounds++;
    return rounds;
}

/* Where the slice of thread `index` begins; that of the next one is where it ends. */
static uint64_t slice_begin(const struct team *team, uint32_t index) {
    const uint64_t each = team->n / team->nthreads, rest = team->n % team->nthreads;
    return each * index + (index < rest ? index : rest);
}

static void scan_slice(struct team *team, uint32_t index) {
    const uint64_t begin = slice_begin(team, index), end = slice_begin(team, index + 1);
    int32_t *from = team->first, *to = team->second;

    for (uint64_t i = begin; i < end; i++) from[i] = i == 0 ? 0 : team->in[i - 1];
    for (uint64_t distance = 1; distance < team->n; distance *= 2) {
        pthread_barrier_wait(&team->barrier); /* `from` is complete, and nobody reads `to` any more */
        for (uint64_t i = begin; i < end; i++) to[i] = i < distance ? from[i] : wrap_add(from[i - distance], from[i]);
        int32_t *swap = from;
        from = to;
        to = swap;
    }
    pthread_barrier_wait(&team->barrier); /* all are done: the clock may stop */
}

static void *member_main(void *arg) {
    struct member *member = arg;
    struct team *team = member->team;
    pthread_mutex_lock(&team->gate); /* opens when the size of the team is known */
    pthread_mutex_unlock(&team->gate);
    pthread_barrier_wait(&team->barrier); /* all are here: the clock may start */
    scan_slice(team, member->index);
    return NULL;
}

/* Scans with up to nthreads threads, the caller's included (fewer, if no more can be started), and returns the time it took. */
static double scan_with_team(struct team *team, uint32_t nthreads) {
    struct member members[MAX_THREADS];
    pthread_mutex_init(&team->gate, NULL);
    pthread_mutex_lock(&team->gate);
    for (team->nthreads = 1; team->nthreads < nthreads; team->nthreads++) {
        struct member *member = &members[team->nthreads];
        *member = (struct member){.team = team, .index = team->nthreads};
        if (pthread_create(&member->thread, NULL, member_main, member) != 0) break;
    }
    pthread_barrier_init(&team->barrier, NULL, team->nthreads);
    pthread_mutex_unlock(&team->gate);

    pthread_barrier_wait(&team->barrier);
    const double start = ladder_now_ms();
    scan_slice(team, 0);
    const double elapsed = ladder_now_ms() - start;

    for (uint32_t i = 1; i < team->nthreads; i++) pthread_join(members[i].thread, NULL);
    pthread_barrier_destroy(&team->barrier);
    pthread_mutex_destroy(&team->gate);
    return elapsed;
}

static uint32_t choose_threads(const struct ladder_job *job) {
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t nthreads = job->nthreads > 0 ? job->nthreads : online > 0 ? (uint64_t)online : 1;
    if (nthreads > job->n) nthreads = job->n;
    return nthreads < MAX_THREADS ? (uint32_t)nthreads : MAX_THREADS;
}

bool ladder_threaded_scan(const struct ladder_rung *rung, struct ladder_job *job) {
    (void)rung;
    int32_t *scratch = ladder_alloc(job, job->n);
    if (scratch == NULL) return false;

    const bool even = count_rounds(job->n) % 2 == 0; /* then the last round ends where the first began */
    struct team team = {.in = job->in, .first = even ? job->out : scratch, .second = even ? scratch : job->out, .n = job->n};
    for (uint32_t repeat = 0; repeat < job->repeats; repeat++) {
        ladder_record(job, (struct ladder_times){.total_ms = scan_with_team(&team, choose_threads(job))});
    }
    free(scratch);
    return true;
}
