/* options.c: argv to `struct arguments`, and the help text of a command, both from the one table of options in cli.h. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const struct {
    const char *name;
    char letter;
    const char *argument;
    int commands;
    const char *help;
} rows[] = {
#define OPTION_ROW(id, name, letter, argument, commands, help) {name, letter, argument, commands, help},
    OPTION_TABLE(OPTION_ROW)
#undef OPTION_ROW
};

enum { LONG_BASE = 256 }; /* getopt_long() returns LONG_BASE + row, which is no letter */

static void print_help(const struct usage *usage) {
    printf("Usage: upsweep %s [options]%s%s\n\n%s\n\nOptions:\n", usage->command, *usage->operands ? " " : "", usage->operands,
           usage->intro);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (!(rows[i].commands & usage->bit)) continue;
        char left[40];
        const char letter[] = {'-', rows[i].letter, ',', ' ', '\0'};
        snprintf(left, sizeof left, "%s--%s%s%s", rows[i].letter ? letter : "    ", rows[i].name, rows[i].argument ? " " : "",
                 rows[i].argument ? rows[i].argument : "");
        printf("  %-24s  %s\n", left, rows[i].help);
    }
    if (strstr(usage->operands, "OUT")) {
        puts("\nIN and OUT: - or nothing is standard input or output; they may be the same file. A file appears whole or not at all.");
    } else if (strstr(usage->operands, "IN")) {
        puts("\nIN: - or nothing is standard input.");
    } else {
        puts("");
    }
    printf("Exit status: 0 good%s%s, 2 an error.\n", usage->no ? ", 1 " : "", usage->no ? usage->no : "");
    if (*usage->examples) printf("\nExamples:\n%s\n", usage->examples);
}

/* The two lists that getopt_long() wants, for the options of one command. */
static void list_options(int command, char letters[3 * OPTION_COUNT], struct option longs[OPTION_COUNT + 1]) {
    *letters++ = ':'; /* tells a missing argument from an unknown option */
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (!(rows[i].commands & command)) continue;
        const int has = rows[i].argument ? required_argument : no_argument;
        *longs++ = (struct option){.name = rows[i].name, .has_arg = has, .val = LONG_BASE + i};
        if (!rows[i].letter) continue;
        *letters++ = rows[i].letter;
        if (rows[i].argument) *letters++ = ':';
    }
    *letters = '\0';
    *longs = (struct option){0};
}

static int row_of(int code, int command) {
    if (code >= LONG_BASE) return code - LONG_BASE;
    for (int i = 0; i < OPTION_COUNT; i++) {
        if ((rows[i].commands & command) && rows[i].letter && rows[i].letter == code) return i;
    }
    return -1;
}

/* Says what getopt_long() found wrong. */
static bool explain(const struct usage *usage, int code, char **argv) {
    const int row = row_of(optopt, usage->bit);
    const char *see = usage->command;
    if (code == ':')
        return complain(see, "option --%s needs an argument, %s (see upsweep %s --help)", rows[row].name, rows[row].argument, see);
    if (optopt >= LONG_BASE) return complain(see, "option --%s takes no argument (see upsweep %s --help)", rows[row].name, see);
    if (optopt) return complain(see, "unknown option -%c (see upsweep %s --help)", optopt, see);
    return complain(see, "unknown option %s (see upsweep %s --help)", argv[optind - 1], see);
}

static bool take_operands(struct arguments *args, const struct usage *usage, int n, char **operands) {
    const int most = strstr(usage->operands, "OUT") ? 2 : *usage->operands ? 1 : 0;
    if (n > most) return complain(usage->command, "one argument too many: %s (see upsweep %s --help)", operands[most], usage->command);
    if (n > 0) args->in = operands[0];
    if (n > 1) args->out = operands[1];
    return true;
}

bool arguments_parse(struct arguments *args, const struct usage *usage, int argc, char **argv, int *status) {
    char letters[3 * OPTION_COUNT];
    struct option longs[OPTION_COUNT + 1];
    list_options(usage->bit, letters, longs);
    *args = (struct arguments){0};
    *status = EXIT_ERROR;
    opterr = 0; /* the sentences are ours */
    for (int code; (code = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        if (code == '?' || code == ':') return explain(usage, code, argv);
        args->option[row_of(code, usage->bit)] = optarg ? optarg : "";
    }
    if (args->option[OPT_HELP]) {
        print_help(usage);
        *status = close_stdout(EXIT_GOOD);
        return false;
    }
    return take_operands(args, usage, argc - optind, argv + optind);
}
