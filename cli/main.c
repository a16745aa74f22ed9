/* main.c: the table of subcommands, and what must be right before any of them starts. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "io.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the tool reads and writes its files as they lie in memory, which must be little-endian"
#endif

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"scan", cmd_scan, "prefix sums: add, mul, min, max, and, or, xor"},
    {"compact", cmd_compact, "keep the elements that satisfy a condition, in order"},
    {"partition", cmd_partition, "those that satisfy a condition first, then the others"},
    {"sort", cmd_sort, "radix sort of keys, of keys with values, or of positions"},
    {"utf8", cmd_utf8, "decode, encode, clean, validate and count text"},
    {"demo", cmd_demo, "every algorithm of the ladder, run, checked and timed"},
    {"profile", cmd_profile, "one algorithm of the ladder, kernel by kernel"},
    {"info", cmd_info, "version and devices"},
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static int print_help(void) {
    puts("Usage: upsweep COMMAND [options] [IN [OUT]]\n\nScan, stream compaction, radix sort and UTF-8 on NVIDIA GPUs and on "
         "CPUs.\n\nCommands:");
    for (int i = 0; i < COMMAND_COUNT; i++) printf("  %-10s  %s\n", commands[i].name, commands[i].summary);
    puts("\nFiles are raw little-endian arrays (--type says of what), NumPy's .npy, or text with a number a line (.txt).\n"
         "upsweep COMMAND --help tells more; upsweep --version prints the version.");
    return close_stdout(EXIT_GOOD);
}

/* With a standard stream closed, the next file to be opened would take its number, and what was meant for one would go to the other.
 * Opened the wrong way round, so that using it is an error. */
static void guard_standard_streams(void) {
    static const int wrong_way[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", wrong_way[fd]) < 0) _exit(EXIT_ERROR);
    }
}

int main(int argc, char **argv) {
    guard_standard_streams();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write(), with a sentence; */
    signal(SIGXFSZ, SIG_IGN); /* so is a file larger than ulimit -f allows */
    outfile_catch_signals();

    const char *name = argc > 1 ? argv[1] : "";
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(name, commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) return print_help();
    if (strcmp(name, "--version") == 0) {
        printf("upsweep %s\n", upsweep_version_text());
        return close_stdout(EXIT_GOOD);
    }
    complain(NULL, *name ? "unknown command '%s' (see upsweep --help)" : "a command is missing%s (see upsweep --help)", name);
    return EXIT_ERROR;
}
