/* test_context.c: version, devices, tables of names, a context's memory, contexts at once on several threads, and no context at
 * all. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "oracle.h"

/* ---- version, devices, names ------------------------------------------------------------------------------------------------- */

static void test_version(void) {
    case_begin("version");
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", UPSWEEP_VERSION_MAJOR, UPSWEEP_VERSION_MINOR, UPSWEEP_VERSION_PATCH);
    CHECK(strcmp(upsweep_version_text(), text) == 0);
    CHECK(upsweep_version() == UPSWEEP_VERSION_MAJOR * 10000 + UPSWEEP_VERSION_MINOR * 100 + UPSWEEP_VERSION_PATCH);
}

static void test_devices(void) {
    case_begin("devices");
    upsweep_device device = {.size = sizeof device};
    size_t count = 0;
    while (upsweep_device_at(count, &device) == UPSWEEP_OK) {
        const char *family = count == 0 ? "cpu" : "cuda:";
        CHECK(strncmp(device.spec, family, strlen(family)) == 0);
        CHECK(device.name[0] && device.detail[0] && device.memory_nbytes > 1u << 20 && device.units > 0);
        CHECK(device.size == sizeof device);
        count++;
    }
    CHECK(count >= 1);
    CHECK_STATUS(upsweep_device_at(count, &device), UPSWEEP_ERR_BACKEND);
    CHECK_STATUS(upsweep_device_at(SIZE_MAX, &device), UPSWEEP_ERR_BACKEND);
    CHECK_STATUS(upsweep_device_at(0, NULL), UPSWEEP_ERR_NULL);
    CHECK_STATUS(upsweep_device_at(0, &(upsweep_device){.size = 0}), UPSWEEP_ERR_OPTIONS);

    /* A caller with an older, shorter struct: the part it has is filled, and no more is written. */
    upsweep_device old;
    memset(&old, 0x55, sizeof old);
    old.size = offsetof(upsweep_device, name);
    CHECK_OK(upsweep_device_at(0, &old));
    CHECK(strcmp(old.spec, "cpu") == 0 && old.name[0] == 0x55 && old.units == 0x55555555);
    CHECK(old.size == offsetof(upsweep_device, name));

    /* One with a newer, longer struct: what we do not know is zero. */
    struct {
        upsweep_device known;
        uint64_t unknown;
    } newer = {.known = {.size = sizeof newer}, .unknown = 1};
    CHECK_OK(upsweep_device_at(0, &newer.known));
    CHECK(strcmp(newer.known.spec, "cpu") == 0 && newer.known.size == sizeof newer && newer.unknown == 0);
}

static void test_names(void) {
    case_begin("names");
    static const char *const types[] = {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"};
    static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
    static const char *const ops[] = {"add", "mul", "min", "max", "and", "or", "xor"};
    static const char *const cmps[] = {"nonzero", "eq", "ne", "lt", "le", "gt", "ge", "not_nan"};
    CHECK(UPSWEEP_TYPE_COUNT == 10 && UPSWEEP_OP_COUNT == 7 && UPSWEEP_CMP_COUNT == 8);
    for (int i = 0; i < 10; i++) {
        upsweep_type type = UPSWEEP_TYPE_COUNT;
        CHECK(strcmp(upsweep_type_name((upsweep_type)i), types[i]) == 0);
        CHECK(upsweep_type_from_name(types[i], &type) == 1 && type == (upsweep_type)i);
        CHECK(upsweep_type_nbytes((upsweep_type)i) == sizes[i]);
        for (int op = 0; op < 7; op++) CHECK(upsweep_type_has_op((upsweep_type)i, (upsweep_op)op) == (i < 8 || op < 4));
        for (int cmp = 0; cmp < 8; cmp++) CHECK(upsweep_type_has_cmp((upsweep_type)i, (upsweep_cmp)cmp) == (cmp < 7 || i >= 8));
    }
    for (int i = 0; i < 7; i++) {
        upsweep_op op = UPSWEEP_OP_COUNT;
        CHECK(strcmp(upsweep_op_name((upsweep_op)i), ops[i]) == 0);
        CHECK(upsweep_op_from_name(ops[i], &op) == 1 && op == (upsweep_op)i);
    }
    for (int i = 0; i < 8; i++) {
        upsweep_cmp cmp = UPSWEEP_CMP_COUNT;
        CHECK(strcmp(upsweep_cmp_name((upsweep_cmp)i), cmps[i]) == 0);
        CHECK(upsweep_cmp_from_name(cmps[i], &cmp) == 1 && cmp == (upsweep_cmp)i);
    }
}

static void test_values_outside_the_tables(void) {
    case_begin("values outside the tables");
    static const int outside[] = {-1, 100, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        const int x = outside[i];
        CHECK(upsweep_type_name((upsweep_type)x) == NULL && upsweep_op_name((upsweep_op)x) == NULL);
        CHECK(upsweep_cmp_name((upsweep_cmp)x) == NULL && upsweep_status_text((upsweep_status)x) == NULL);
        CHECK(upsweep_type_nbytes((upsweep_type)x) == 0);
        CHECK(upsweep_type_has_op((upsweep_type)x, UPSWEEP_ADD) == 0 && upsweep_type_has_op(UPSWEEP_I32, (upsweep_op)x) == 0);
        CHECK(upsweep_type_has_cmp((upsweep_type)x, UPSWEEP_EQ) == 0 && upsweep_type_has_cmp(UPSWEEP_F32, (upsweep_cmp)x) == 0);
    }
    for (int i = 0; i < UPSWEEP_STATUS_COUNT; i++) CHECK(strlen(upsweep_status_text((upsweep_status)i)) > 5);
    upsweep_type type = UPSWEEP_F32;
    upsweep_op op = UPSWEEP_MAX;
    upsweep_cmp cmp = UPSWEEP_GE;
    static const char *const no_names[] = {"", "i", "i322", "I32", "i32 ", "plus"};
    for (size_t i = 0; i < sizeof no_names / sizeof *no_names; i++) {
        CHECK(upsweep_type_from_name(no_names[i], &type) == 0 && upsweep_op_from_name(no_names[i], &op) == 0);
        CHECK(upsweep_cmp_from_name(no_names[i], &cmp) == 0);
    }
    CHECK(upsweep_type_from_name(NULL, &type) == 0 && upsweep_op_from_name(NULL, &op) == 0 && upsweep_cmp_from_name(NULL, &cmp) == 0);
    CHECK(type == UPSWEEP_F32 && op == UPSWEEP_MAX && cmp == UPSWEEP_GE);
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------ */

static void test_memory(struct setup *s) {
    static const size_t sizes[] = {1, 7, 256, 4097, 1000003};
    case_begin("memory");
    setup_enter(s);
    struct rng rng = {3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t nbytes = sizes[i];
        unsigned char *there = must_malloc(nbytes), *back = must_malloc(nbytes);
        rng_fill(&rng, there, nbytes);
        void *p = NULL, *q = NULL;
        CHECK_OK(upsweep_alloc(s->ctx, &p, nbytes));
        CHECK_OK(upsweep_alloc(s->ctx, &q, nbytes));
        CHECK(p && q && p != q && (uintptr_t)p % 256 == 0 && (uintptr_t)q % 256 == 0);
        CHECK_OK(upsweep_upload(s->ctx, p, there, nbytes));
        CHECK_OK(upsweep_download(s->ctx, back, p, nbytes));
        CHECK_SAME(back, there, nbytes, 1);
        upsweep_free(s->ctx, p);
        upsweep_free(s->ctx, q);
        free(there);
        free(back);
    }
    void *none = &none;
    CHECK_OK(upsweep_alloc(s->ctx, &none, 0));
    CHECK(none == NULL);
    CHECK_OK(upsweep_upload(s->ctx, NULL, NULL, 0));
    CHECK_OK(upsweep_download(s->ctx, NULL, NULL, 0));
    CHECK_OK(upsweep_sync(s->ctx));

    const uint64_t count = UINT64_C(0x123456789abcdef0);
    uint64_t *d_count = put(s, SLOT_COUNT, (struct place){AT_END, 0}, &count, sizeof count), back = 0;
    CHECK_OK(upsweep_read_count(s->ctx, &back, d_count));
    CHECK(back == count);
}

static void test_device_of_context(struct setup *s) {
    case_begin("device of a context");
    setup_enter(s);
    upsweep_device device = {.size = sizeof device};
    CHECK_OK(upsweep_context_device(s->ctx, &device));
    CHECK(strncmp(device.spec, s->name, s->host ? 3 : 4) == 0 && device.detail[0] && device.name[0]);
    CHECK(strcmp(upsweep_error(s->ctx), "") == 0); /* nothing has failed so far */
}

/* ---- threads: the caller's executor, many contexts, errors of opening -------------------------------------------------------- */

struct executor_seen {
    atomic_uint calls;
};

static void counting_executor(void *user, void (*task)(void *arg, uint32_t i), void *arg, uint32_t ntasks) {
    struct executor_seen *seen = user;
    atomic_fetch_add(&seen->calls, 1);
    executor_threads(NULL, task, arg, ntasks);
}

static void test_executor_is_used(void) {
    case_begin("the caller's executor");
    struct executor_seen seen = {0};
    const upsweep_options options = {.size = sizeof options, .nthreads = 4, .parallel_for = counting_executor, .parallel_for_user = &seen};
    upsweep_context *ctx = NULL;
    enum { N = 3000000 };
    uint32_t *x = must_malloc(N * sizeof *x);
    for (uint32_t i = 0; i < N; i++) x[i] = i * 2654435761u;
    CHECK_OK(upsweep_open_ex(&ctx, "cpu", &options));
    CHECK_OK(upsweep_scan(ctx, x, x, N, UPSWEEP_U32, UPSWEEP_XOR, UPSWEEP_INCLUSIVE));
    CHECK(atomic_load(&seen.calls) > 0);
    CHECK_OK(upsweep_sort(ctx, x, x, N, UPSWEEP_U32, NULL));
    CHECK(atomic_load(&seen.calls) > 1);
    bool sorted = true;
    for (uint32_t i = 1; i < N; i++) sorted &= x[i - 1] <= x[i];
    CHECK(sorted);
    upsweep_close(ctx);
    free(x);
}

struct user_thread {
    pthread_t thread;
    uint64_t seed;
    bool good;
};

static bool sorts_and_scans(upsweep_context *ctx, uint64_t seed) {
    enum { N = (1 << 19) + 5, ROUNDS = 2 }; /* more than one thread does alone */
    struct rng rng = {seed};
    uint32_t *x = must_malloc(N * sizeof *x), *y = must_malloc(N * sizeof *y);
    bool good = true;
    for (int round = 0; round < ROUNDS && good; round++) {
        rng_fill(&rng, x, N * sizeof *x);
        uint32_t sum = 0;
        good = upsweep_scan(ctx, y, x, N, UPSWEEP_U32, UPSWEEP_ADD, UPSWEEP_INCLUSIVE) == UPSWEEP_OK;
        for (int i = 0; i < N; i++) good &= y[i] == (sum += x[i]);
        good &= upsweep_sort(ctx, y, x, N, UPSWEEP_U32, NULL) == UPSWEEP_OK;
        for (int i = 1; i < N; i++) good &= y[i - 1] <= y[i];
    }
    free(x);
    free(y);
    return good;
}

/* Opens contexts while others do, uses two in turn, and keeps to itself the sentence of an open that fails. */
static void *use_contexts(void *arg) {
    struct user_thread *user = arg;
    upsweep_context *one = NULL, *two = NULL, *none = NULL;
    bool good = upsweep_error(NULL)[0] == 0;
    good &= upsweep_open(&one, "cpu:4") == UPSWEEP_OK && upsweep_open(&two, "cpu:5") == UPSWEEP_OK;
    char name[32];
    snprintf(name, sizeof name, "backend-%" PRIu64, user->seed);
    good &= upsweep_open(&none, name) == UPSWEEP_ERR_BACKEND;
    good = good && sorts_and_scans(one, user->seed) && sorts_and_scans(two, user->seed + 100);
    good &= strstr(upsweep_error(NULL), name) != NULL;
    upsweep_close(one);
    upsweep_close(two);
    user->good = good;
    return NULL;
}

static void test_contexts_at_once(void) {
    case_begin("contexts at once");
    enum { USERS = 4 };
    struct user_thread users[USERS] = {0};
    for (int i = 0; i < USERS; i++) {
        users[i].seed = 1000 + (uint64_t)i;
        CHECK(pthread_create(&users[i].thread, NULL, use_contexts, &users[i]) == 0);
    }
    for (int i = 0; i < USERS; i++) {
        pthread_join(users[i].thread, NULL);
        CHECK(users[i].good);
    }
}

/* A child has the memory of its parent, but not the threads, one of which may have held the lock. */
static void test_forked_child(void) {
    case_begin("a forked child");
    enum { CHILDREN = 3 };
    upsweep_context *ctx = NULL;
    CHECK_OK(upsweep_open(&ctx, "cpu:4"));
    for (uint64_t i = 0; i < CHILDREN; i++) {
        CHECK(sorts_and_scans(ctx, i)); /* the workers are still awake */
        const pid_t child = fork();
        if (child == 0) {
            alarm(60); /* a deadlock is a failure, too */
            const bool good = sorts_and_scans(ctx, i + 100);
            upsweep_close(ctx);
            _exit(good ? EXIT_SUCCESS : EXIT_FAILURE);
        }
        int status = -1;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    upsweep_close(ctx);
}

/* ---- no context ---------------------------------------------------------------------------------------------------------------- */

/* Every call without a context, and the two that take NULL in their stride. */
static void test_no_context(void) {
    case_begin("no context");
    uint64_t x = 1, y = 2;
    void *p = NULL;
    const upsweep_predicate keep = {UPSWEEP_NONZERO, {0}};
    const uint8_t flag = 1;
    const upsweep_status null = UPSWEEP_ERR_NULL;
    CHECK_STATUS(upsweep_scan(NULL, &y, &x, 1, UPSWEEP_U64, UPSWEEP_ADD, 0), null);
    CHECK_STATUS(upsweep_scan_ex(NULL, &y, &x, 1, UPSWEEP_U64, UPSWEEP_ADD, 0, NULL, NULL), null);
    CHECK_STATUS(upsweep_compact(NULL, &y, &x, &x, 0, UPSWEEP_U64, &keep), null);
    CHECK_STATUS(upsweep_compact_flags(NULL, &y, &x, &x, &flag, 0, 8), null);
    CHECK_STATUS(upsweep_compact_indices(NULL, &y, &x, &x, 0, UPSWEEP_U64, &keep, UPSWEEP_U64, 0), null);
    CHECK_STATUS(upsweep_partition(NULL, &y, NULL, &x, &x, 0, UPSWEEP_U64, &keep), null);
    CHECK_STATUS(upsweep_partition_flags(NULL, &y, NULL, &x, &x, &flag, 0, 8), null);
    CHECK_STATUS(upsweep_sort(NULL, &y, &x, 1, UPSWEEP_U64, NULL), null);
    CHECK_STATUS(upsweep_sort_pairs(NULL, &y, &x, &y, &x, 0, UPSWEEP_U64, 8, NULL), null);
    CHECK_STATUS(upsweep_argsort(NULL, &y, &x, 1, UPSWEEP_U64, UPSWEEP_U64, NULL), null);
    upsweep_utf8_report report;
    CHECK_STATUS(upsweep_utf8_decode(NULL, &y, 1, &report, &x, 1, NULL), null);
    CHECK_STATUS(upsweep_utf8_encode(NULL, &y, 8, &report, &x, 1, NULL), null);
    CHECK_STATUS(upsweep_utf8_validate(NULL, &report, &x, 1), null);
    CHECK_STATUS(upsweep_utf8_count(NULL, &report, &x, 1), null);
    CHECK_STATUS(upsweep_utf8_read_report(NULL, &report, &report), null);
    CHECK_STATUS(upsweep_alloc(NULL, &p, 1), null);
    CHECK_STATUS(upsweep_upload(NULL, &y, &x, 8), null);
    CHECK_STATUS(upsweep_download(NULL, &y, &x, 8), null);
    CHECK_STATUS(upsweep_read_count(NULL, &y, &x), null);
    CHECK_STATUS(upsweep_sync(NULL), null);
    CHECK_STATUS(upsweep_reserve(NULL, 1), null);
    CHECK_STATUS(upsweep_set_scratch(NULL, NULL, 0), null);
    CHECK_STATUS(upsweep_scratch_size(NULL, &y, UPSWEEP_PRIM_SCAN, 1, 1, 0), null);
    CHECK_STATUS(upsweep_context_device(NULL, &(upsweep_device){.size = sizeof(upsweep_device)}), null);
    CHECK(x == 1 && y == 2 && p == NULL);
    upsweep_close(NULL);
    upsweep_free(NULL, NULL);
    FOR_EACH_SETUP(s) upsweep_free(s->ctx, NULL);
}

int main(void) {
    harness_begin(true);
    test_version();
    test_devices();
    test_names();
    test_values_outside_the_tables();
    test_no_context();
    FOR_EACH_SETUP(s) {
        test_device_of_context(s);
        test_memory(s);
    }
    if (backend_wanted("cpu")) {
        test_executor_is_used();
        test_contexts_at_once();
        test_forked_child();
    }
    return harness_end();
}
