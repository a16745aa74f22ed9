/* features.c: what this machine is: its instruction set, name, threads and memory. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "cpu.h"

static const char *const isa_names[] = {[CPU_PORTABLE] = "portable", [CPU_AVX2] = "avx2", [CPU_AVX512] = "avx512"};

/* AVX-512 means the set of Ice Lake and Zen 4 here: byte compression (VBMI2) is what the compactions are built on, and the processors that
 * have the first AVX-512 alone slow their clock for it. __builtin_cpu_supports also asks whether the operating system saves the registers.
 */
static enum cpu_isa isa_of_machine(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") ||
        !__builtin_cpu_supports("popcnt"))
        return CPU_PORTABLE;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("avx512vbmi2"))
        return CPU_AVX512;
    return CPU_AVX2;
#else
    return CPU_PORTABLE;
#endif
}

bool cpu_stores_wait(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_is("intel") != 0;
#else
    return false;
#endif
}

const char *cpu_isa_name(enum cpu_isa isa) { return isa_names[isa]; }

const char *cpu_isa_wanted(void) {
    const char *wanted = getenv("UPSWEEP_CPU");
    return wanted != NULL && wanted[0] != '\0' ? wanted : NULL;
}

bool cpu_isa_from_name(const char *name, enum cpu_isa *isa) {
    for (*isa = CPU_PORTABLE; *isa <= CPU_AVX512; ++*isa)
        if (strcmp(name, isa_names[*isa]) == 0) return true;
    return false;
}

enum cpu_isa cpu_isa_best(void) {
    const enum cpu_isa best = isa_of_machine();
    const char *wanted = cpu_isa_wanted();
    enum cpu_isa isa;
    return wanted != NULL && cpu_isa_from_name(wanted, &isa) && isa < best ? isa : best;
}

#if defined(__x86_64__)
/* The brand string: three leaves of 16 characters, padded with blanks on either side. */
static bool brand_of_machine(char brand[49]) {
    for (unsigned leaf = 0; leaf < 3; leaf++) {
        unsigned r[4];
        if (!__get_cpuid(0x80000002u + leaf, &r[0], &r[1], &r[2], &r[3])) return false;
        memcpy(brand + 16 * leaf, r, sizeof r);
    }
    brand[48] = '\0';
    for (size_t end = strlen(brand); end > 0 && brand[end - 1] == ' '; end--) brand[end - 1] = '\0';
    return brand[strspn(brand, " ")] != '\0';
}
#endif

void cpu_model_name(char *name, size_t nbytes) {
#if defined(__x86_64__)
    char brand[49];
    if (brand_of_machine(brand)) {
        snprintf(name, nbytes, "%s", brand + strspn(brand, " "));
        return;
    }
#endif
    struct utsname machine;
    snprintf(name, nbytes, "%s", uname(&machine) == 0 ? machine.machine : "CPU");
}

static uint32_t threads_of_affinity(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return (uint32_t)CPU_COUNT(&set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN); /* more than CPU_SETSIZE processors, or not Linux's usual kernel */
    return online > 0 ? (uint32_t)online : 1;
}

/* What a container's share of the processors' time comes to, rounded up; UINT64_MAX if there is no limit. With more threads than that,
 * those that others wait for are stopped for most of every tenth of a second. */
static uint64_t threads_of_quota(void) {
    unsigned long long quota, period;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re"); /* "150000 100000", microseconds; "max 100000" */
    if (file == NULL) return UINT64_MAX;
    const int nread = fscanf(file, "%llu %llu", &quota, &period);
    fclose(file);
    return nread == 2 && quota > 0 && period > 0 ? (quota - 1) / period + 1 : UINT64_MAX;
}

/* The threads that this process may use (taskset, containers), not all that exist. */
uint32_t cpu_hardware_threads(void) {
    const uint32_t affinity = threads_of_affinity();
    const uint64_t quota = threads_of_quota();
    return quota < affinity ? (uint32_t)quota : affinity;
}

uint64_t cpu_memory_nbytes(void) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}
