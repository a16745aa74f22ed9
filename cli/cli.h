/* cli.h: what the files of the tool share: exit statuses, the subcommands, their options, and the way to complain.
 *
 * The way of a command: main.c finds it in the table of subcommands; options.c turns argv into `struct arguments`; job.c opens IN, the
 * backend and OUT; the command moves chunks from one to the other; job.c closes everything and gives the exit status. */
#ifndef UPSWEEP_CLI_H
#define UPSWEEP_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upsweep.h"

/* EXIT_NO: everything worked, and the answer is no (demo: an algorithm gave a wrong result). */
enum { EXIT_GOOD = 0, EXIT_NO = 1, EXIT_ERROR = 2 };

/* ---- subcommands ------------------------------------------------------------------------------------------------------------- */

/* argv[0] is the subcommand's name; returns an exit status. */
int cmd_demo(int argc, char **argv);
int cmd_profile(int argc, char **argv); /* bench/profile.c */
int cmd_scan(int argc, char **argv);
int cmd_compact(int argc, char **argv);
int cmd_partition(int argc, char **argv);
int cmd_sort(int argc, char **argv);
int cmd_utf8(int argc, char **argv);
int cmd_info(int argc, char **argv);

/* ---- complaints (complain.c) ------------------------------------------------------------------------------------------------- */

/* Prints "upsweep: NAME: sentence" (NULL: no name) on standard error. Always false, so that `return complain(...)` is one statement. */
bool complain(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* complain(name, strerror(errno)). */
bool complain_errno(const char *name);

/* Flushes and closes standard output after printing on it: a full disk or a closed pipe is an error like any other. */
int close_stdout(int status);

/* ---- options (options.c) ----------------------------------------------------------------------------------------------------- */

/* Which commands have an option. */
enum {
    IN_SCAN = 1,
    IN_COMPACT = 2,
    IN_PARTITION = 4,
    IN_SORT = 8,
    IN_INFO = 16,
    IN_UTF8_DECODE = 32,
    IN_UTF8_ENCODE = 64,
    IN_UTF8_LOOK = 128,
    IN_DEMO = 256,
    IN_PROFILE = 512
};
enum {
    IN_SELECT = IN_COMPACT | IN_PARTITION,
    IN_DATA = IN_SCAN | IN_SELECT | IN_SORT,
    IN_UTF8_CONVERT = IN_UTF8_DECODE | IN_UTF8_ENCODE,
    IN_UTF8 = IN_UTF8_CONVERT | IN_UTF8_LOOK,
    IN_CHUNKS = IN_DATA | IN_UTF8,
    IN_LADDER = IN_DEMO | IN_PROFILE
};

/* X(id, name, letter or 0, argument or NULL, commands, help): every option of every command, in the order of the help texts. A command
 * has a name and a letter once; two rows of one name are for commands that mean two things by it. */
#define OPTION_TABLE(X)                                                                                                                  \
    X(OP, "op", 'o', "OP", IN_SCAN, "operator: add (the default), mul, min, max; for integers also and, or, xor")                        \
    X(INCLUSIVE, "inclusive", 'i', NULL, IN_SCAN, "element i of the result takes in element i of the input")                             \
    X(INIT, "init", 0, "X", IN_SCAN, "start from X rather than from the operator's identity")                                            \
    X(WHERE, "where", 'w', "COND", IN_SELECT, "keep x if x COND: '== X' '!= X' '< X' '<= X' '> X' '>= X' nonzero (the default) not-nan") \
    X(FLAGS, "flags", 0, "FILE", IN_SELECT, "keep element i if byte i of FILE is not zero (raw bytes, .npy of bytes or booleans, .txt)") \
    X(RECORD_SIZE, "record-size", 0, "N", IN_SELECT, "with --flags: elements are records of N bytes, 1 to 4096, whatever they hold")     \
    X(INDICES, "indices", 0, NULL, IN_COMPACT, "write the positions of the kept elements, from 0, instead of the elements")              \
    X(COUNT, "count", 'c', NULL, IN_COMPACT, "print the number of kept elements, and nothing else")                                      \
    X(COUNT_FIRST, "count", 'c', NULL, IN_PARTITION, "print the number of those that satisfy the condition; needs OUT")                  \
    X(REST, "rest", 0, "FILE", IN_PARTITION, "write those that do not satisfy the condition to FILE, instead of behind the others")      \
    X(DESCENDING, "descending", 'r', NULL, IN_SORT, "largest first")                                                                     \
    X(BITS, "bits", 0, "LO:HI", IN_SORT, "compare bits LO to HI - 1 of the keys only; bit 0 is the least significant")                   \
    X(LOW_MEMORY, "low-memory", 0, NULL, IN_SORT, "on a CPU, keys alone: sort where they lie, without as much scratch again; slower")    \
    X(VALUES, "values", 0, "FILE", IN_SORT, "reorder the elements of FILE along with the keys")                                          \
    X(VALUES_OUT, "values-out", 0, "FILE", IN_SORT, "write them to FILE (default: OUT.values)")                                          \
    X(VALUE_SIZE, "value-size", 0, "N", IN_SORT, "bytes of a value in a raw file, 1 to 4096; a .npy file says it itself")                \
    X(ARGSORT, "argsort", 0, NULL, IN_SORT, "write the positions that sort the keys, from 0, instead of the keys")                       \
    X(INDEX_TYPE, "index-type", 0, "T", IN_COMPACT | IN_SORT, "type of positions: u64 (the default) or u32")                             \
    X(TO, "to", 0, "E", IN_UTF8_DECODE, "encoding of OUT: utf32le (the default), utf16le, utf16be, utf8")                                \
    X(FROM, "from", 0, "E", IN_UTF8_ENCODE, "encoding of IN: utf32le (the default), utf16le, utf16be")                                   \
    X(ON_ERROR, "on-error", 'e', "MODE", IN_UTF8_CONVERT, "what becomes of ill-formed text: replace (the default), remove, strict")      \
    X(SKIP_BOM, "skip-bom", 0, NULL, IN_UTF8, "leave out a byte order mark at the start of IN")                                          \
    X(REPORT, "report", 0, NULL, IN_UTF8, "say on standard error what was read, written and ill-formed")                                 \
    X(REPORT_JSON, "json", 0, NULL, IN_UTF8, "the same as one line of JSON, for programs")                                               \
    X(JSON, "json", 0, NULL, IN_INFO, "print JSON, for programs")                                                                        \
    X(TYPE, "type", 't', "T", IN_DATA, "element type: i8 u8 i16 u16 i32 u32 i64 u64 f32 f64; text is i64 by default")                    \
    X(FORMAT, "format", 'f', "F", IN_DATA, "format of IN: raw, npy or text (default: npy for .npy, text for .txt, else raw)")            \
    X(OUT_FORMAT, "out-format", 0, "F", IN_DATA, "format of OUT (default: by its name likewise, else as IN)")                            \
    X(BACKEND, "backend", 'b', "B", IN_CHUNKS, "where to run: auto (the default), cpu, cpu:N (N threads), cuda, cuda:K (device K)")      \
    X(THREADS, "threads", 0, "N", IN_CHUNKS, "CPU threads (default: as many as the process may use: affinity, quota of a container)")    \
    X(CHUNK, "chunk", 0, "SIZE", IN_CHUNKS, "bytes of input to hold at once, as 4096, 64K, 16M, 1G (default: 4M)")                       \
    X(SIZE, "size", 'n', "N", IN_LADDER, "elements, 1 to 2^32 - 1 (by default demo takes 65536, profile 2^24)")                          \
    X(SEED, "seed", 's', "S", IN_DEMO, "start of the random numbers (default 1); the same seed gives the same input")                    \
    X(RUNGS_OF, "backend", 'b', "B", IN_DEMO, "auto (the default): all that this machine can run; cpu; cuda; all: both, or an error")    \
    X(BLOCK_SIZE, "block-size", 0, "B", IN_LADDER, "threads of a CUDA block where a rung lets one choose: 16 to 1024 (default 256)")     \
    X(HELP, "help", 'h', NULL, IN_CHUNKS | IN_INFO | IN_LADDER, "print this text")

#define OPTION_ENUMERATOR(id, ...) OPT_##id,
enum option_id { OPTION_TABLE(OPTION_ENUMERATOR) OPTION_COUNT };
#undef OPTION_ENUMERATOR

/* How a command presents itself in its help text. */
struct usage {
    const char *command;
    int bit;              /* IN_SCAN, ... */
    const char *operands; /* "[IN [OUT]]", "[IN]", "[RUNG]" or "" */
    const char *intro;    /* what it does */
    const char *no;       /* what its exit status 1 says; NULL: it gives no such answer */
    const char *examples;
};

struct arguments {
    const char *option[OPTION_COUNT]; /* its argument ("" if it takes none), or NULL if it was not given */
    const char *in, *out;             /* the operands. Of files, NULL: standard input, standard output */
};

/* Reads argv. False if the command ends here, with *status: help was asked for, or something was wrong. */
bool arguments_parse(struct arguments *args, const struct usage *usage, int argc, char **argv, int *status);

/* ---- arguments of options (values.c); each complains and returns false if the text will not do --------------------------------- */

bool parse_type(const char *text, upsweep_type *type);
/* u32 or u64; NULL text: u64. */
bool parse_index_type(const char *text, upsweep_type *type);
/* A whole number in [lo, hi]; option names it in the sentence. */
bool parse_count(const char *option, const char *text, uint64_t lo, uint64_t hi, uint64_t *value);
/* The same with a suffix K, M, G or T (powers of 1024). */
bool parse_size(const char *option, const char *text, uint64_t *nbytes);
/* A power of two between 16 and 1024. */
bool parse_block_size(const char *text, uint32_t *block_size);
/* "LO:HI" */
bool parse_bits(const char *text, upsweep_type type, upsweep_order *order);
/* The condition of --where for elements of a type. */
bool parse_where(const char *text, upsweep_type type, upsweep_predicate *keep);

/* ---- progress (progress.c): on standard error, only on a terminal and after one second ----------------------------------------- */

void progress_begin(uint64_t total_nbytes); /* 0: not known */
void progress_advance(uint64_t nbytes);
void progress_end(void);

#endif
