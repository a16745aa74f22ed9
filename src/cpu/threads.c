/* threads.c: cpu_run: many tasks over a pool of threads, or over the caller's executor.
 *
 * A job is a task function and a counter; whoever is there draws task numbers from the counter until none is left. The calling thread
 * draws too, and never waits for a worker that has not begun: a worker that wakes late finds nothing to do. Workers spin for some
 * microseconds after a job, since calls often come in rows, and then sleep on a condition variable.
 * A forked child has no workers, and one of them may have held the mutex: there the calling thread does it all, and nothing is joined.
 *
 * Cost of a call that wakes nobody: a branch. Waking a sleeping thread takes 5 to 50 microseconds: callers choose ntasks accordingly. */
#include "cpu.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { SPINS = 2000 }; /* of a pause instruction: 20 to 60 us, about what waking from sleep costs */

struct cpu_pool {
    pthread_mutex_t mutex;
    pthread_cond_t wake; /* a job has begun, or quit */
    pthread_cond_t done; /* nactive has become 0 */
    const upsweep_options *options;
    pid_t process; /* that has the workers */
    uint32_t nworkers;

    /* The job. task, arg and ntasks are written under the mutex while no worker is active. */
    void (*task)(void *arg, uint32_t i);
    void *arg;
    uint32_t ntasks;
    atomic_uint next;    /* the next task to draw */
    atomic_uint wanted;  /* workers that may still join; changed under the mutex, read without it by those that spin */
    atomic_uint nactive; /* workers that have joined and not yet left; likewise */
    bool quit;           /* under the mutex */
    pthread_t threads[]; /* [nworkers] */
};

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* atomic_load(counter) has become (== 0) == zero, within a short while? */
static bool spin_until(atomic_uint *counter, bool zero) {
    for (int i = 0; i < SPINS; i++) {
        if ((atomic_load_explicit(counter, memory_order_relaxed) == 0) == zero) return true;
        relax();
    }
    return false;
}

static void draw_tasks(struct cpu_pool *pool) {
    for (;;) {
        const uint32_t i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (i >= pool->ntasks) return;
        pool->task(pool->arg, i);
    }
}

static void *worker(void *arg) {
    struct cpu_pool *pool = arg;
    pthread_mutex_lock(&pool->mutex);
    while (!pool->quit) {
        if (atomic_load(&pool->wanted) == 0) {
            pthread_cond_wait(&pool->wake, &pool->mutex);
            continue;
        }
        atomic_fetch_sub(&pool->wanted, 1);
        atomic_fetch_add(&pool->nactive, 1);
        pthread_mutex_unlock(&pool->mutex);
        draw_tasks(pool);
        pthread_mutex_lock(&pool->mutex); /* also makes what the tasks wrote visible to the thread that waits */
        if (atomic_fetch_sub(&pool->nactive, 1) == 1) pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->mutex);
        spin_until(&pool->wanted, false);
        pthread_mutex_lock(&pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

static bool has_workers(const struct cpu_pool *pool) { return pool != NULL && pool->process == getpid(); }

static void run_on_pool(struct cpu_pool *pool, void (*task)(void *arg, uint32_t i), void *arg, uint32_t ntasks) {
    const uint32_t helpers = ntasks - 1 < pool->nworkers ? ntasks - 1 : pool->nworkers;
    pthread_mutex_lock(&pool->mutex);
    pool->task = task;
    pool->arg = arg;
    pool->ntasks = ntasks;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->wanted, helpers);
    for (uint32_t i = 0; i < helpers; i++) pthread_cond_signal(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);

    draw_tasks(pool);

    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->wanted, 0); /* nothing left to join for */
    pthread_mutex_unlock(&pool->mutex);
    spin_until(&pool->nactive, true);
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load(&pool->nactive) > 0) pthread_cond_wait(&pool->done, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

void cpu_run(upsweep_context *ctx, void (*task)(void *arg, uint32_t i), void *arg, uint32_t ntasks) {
    const struct cpu_impl *impl = cpu_impl(ctx);
    if (ntasks > 1 && ctx->options.parallel_for != NULL) {
        ctx->options.parallel_for(ctx->options.parallel_for_user, task, arg, ntasks);
    } else if (ntasks > 1 && has_workers(impl->pool)) {
        run_on_pool(impl->pool, task, arg, ntasks);
    } else {
        for (uint32_t i = 0; i < ntasks; i++) task(arg, i);
    }
}

/* ---- open and close ---------------------------------------------------------------------------------------------------------- */

/* The program's signals are not ours to take: workers start with all of them blocked. */
static uint32_t start_workers(struct cpu_pool *pool, uint32_t nworkers) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    uint32_t started = 0;
    while (started < nworkers && pthread_create(&pool->threads[started], NULL, worker, pool) == 0) started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

struct cpu_pool *cpu_pool_open(const upsweep_options *options, uint32_t nthreads, upsweep_status *status) {
    const uint32_t nworkers = nthreads - 1;
    struct cpu_pool *pool = context_host_alloc(options, sizeof *pool + nworkers * sizeof pool->threads[0]);
    *status = UPSWEEP_ERR_MEMORY;
    if (pool == NULL) return NULL;
    *pool = (struct cpu_pool){.options = options, .process = getpid()};
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->nworkers = start_workers(pool, nworkers);
    *status = UPSWEEP_OK;
    if (pool->nworkers == nworkers) return pool;
    cpu_pool_close(pool);
    *status = UPSWEEP_ERR_THREADS;
    return NULL;
}

static void end_workers(struct cpu_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    pool->quit = true;
    atomic_store(&pool->wanted, 1); /* ends the spinning of those that spin */
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
    for (uint32_t i = 0; i < pool->nworkers; i++) pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
}

void cpu_pool_close(struct cpu_pool *pool) {
    if (pool == NULL) return;
    if (has_workers(pool)) end_workers(pool);
    context_host_free(pool->options, pool);
}
