/* machine.c: what ran where, built with what: the block that a file of results begins with. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "commit.h" /* made by commit.cmake at each build */

const char *build_commit(void) { return UPSWEEP_COMMIT; }

const char *device_name(enum ladder_backend backend) {
    static upsweep_device device = {.size = sizeof device};
    const char *wanted = backend == LADDER_CPU ? "cpu" : "cuda";
    for (size_t i = 0; upsweep_device_at(i, &device) == UPSWEEP_OK; i++) {
        if (strncmp(device.spec, wanted, strlen(wanted)) == 0) return device.name;
    }
    return "?";
}

static const char *detail(enum ladder_backend backend, uint32_t *units) {
    static upsweep_device device = {.size = sizeof device};
    const char *wanted = backend == LADDER_CPU ? "cpu" : "cuda";
    for (size_t i = 0; upsweep_device_at(i, &device) == UPSWEEP_OK; i++) {
        *units = device.units;
        if (strncmp(device.spec, wanted, strlen(wanted)) == 0) return device.detail;
    }
    return "?";
}

double free_memory_nbytes(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    unsigned long long kib = 0;
    while (file != NULL && kib == 0 && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemAvailable: %llu kB", &kib) != 1) kib = 0;
    }
    if (file != NULL) fclose(file);
    return kib > 0 ? 1024.0 * (double)kib : HUGE_VAL;
}

/* Names and versions of compilers and kernels hold no quotes. */
const char *machine_json(void) {
    static char text[2048];
    struct utsname name;
    uint32_t units = 0;
    if (uname(&name) != 0) return "{}";
    int length = snprintf(text, sizeof text, "{\"cpu\": \"%s\", ", device_name(LADDER_CPU));
    const char *instructions = detail(LADDER_CPU, &units);
    length += snprintf(text + length, sizeof text - (size_t)length,
                       "\"threads\": %u, \"instructions\": \"%s\", \"os\": \"%s %s\", \"compiler\": \"%s\", \"version\": \"%s\", "
                       "\"commit\": \"%s\"",
                       units, instructions, name.sysname, name.release, UPSWEEP_COMPILER, upsweep_version_text(), UPSWEEP_COMMIT);
#ifdef UPSWEEP_HAVE_CUDA
    if (place_of(LADDER_CUDA)->missing() == NULL && cuda_version_text() != NULL) {
        const char *capability = detail(LADDER_CUDA, &units);
        length += snprintf(text + length, sizeof text - (size_t)length,
                           ", \"gpu\": \"%s\", \"multiprocessors\": %u, \"capability\": \"%s\", \"cuda\": \"%s\"", device_name(LADDER_CUDA),
                           units, capability, cuda_version_text());
    }
#endif
    snprintf(text + length, sizeof text - (size_t)length, "}");
    return text;
}
