/* cmd_info.c: `upsweep info`: what this build is, and what it can run on here. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const struct usage usage = {
    .command = "info",
    .bit = IN_INFO,
    .operands = "",
    .intro = "Says what this build of Upsweep is and which devices it can run on here.",
    .examples = "  upsweep info\n"
                "  upsweep info --json",
};

static const char licence[] = "MIT";

/* "cpu" of "cpu", "cuda" of "cuda:0" */
static int backend_length(const upsweep_device *device) { return (int)strcspn(device->spec, ":"); }

static void print_text(void) {
    upsweep_device device = {.size = sizeof device};
    printf("upsweep %s: scan, stream compaction, radix sort and UTF-8 on GPUs and CPUs\n", upsweep_version_text());
    printf("licence: %s\n", licence);
    for (size_t i = 0; upsweep_device_at(i, &device) == UPSWEEP_OK; i++) {
        printf("%s: %s\n", device.spec, device.name);
        printf("    backend %.*s, %s, %u %s, %.1f GiB\n", backend_length(&device), device.spec, device.detail, device.units,
               i == 0 ? "hardware threads" : "multiprocessors", (double)device.memory_nbytes / 1073741824.0);
    }
}

/* As a JSON string; bytes from 0x80 on are UTF-8 already. */
static void print_quoted(const char *text) {
    putchar('"');
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < ' ') {
            printf("\\u%04x", c);
        } else {
            printf("%s%c", c == '"' || c == '\\' ? "\\" : "", c);
        }
    }
    putchar('"');
}

static void print_json(void) {
    upsweep_device device = {.size = sizeof device};
    printf("{\"version\": \"%s\", \"licence\": \"%s\", \"devices\": [", upsweep_version_text(), licence);
    for (size_t i = 0; upsweep_device_at(i, &device) == UPSWEEP_OK; i++) {
        printf("%s\n  {\"spec\": \"%s\", \"backend\": \"%.*s\", \"name\": ", i ? "," : "", device.spec, backend_length(&device),
               device.spec);
        print_quoted(device.name);
        printf(", \"detail\": ");
        print_quoted(device.detail);
        printf(", \"units\": %u, \"memory_nbytes\": %llu}", device.units, (unsigned long long)device.memory_nbytes);
    }
    puts("\n]}");
}

int cmd_info(int argc, char **argv) {
    struct arguments args;
    int status;
    if (!arguments_parse(&args, &usage, argc, argv, &status)) return status;
    if (args.option[OPT_JSON]) {
        print_json();
    } else {
        print_text();
    }
    return close_stdout(EXIT_GOOD);
}
