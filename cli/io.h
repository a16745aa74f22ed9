/* io.h: elements in, elements out: the files of the tool, whatever their format.
 *
 * A source gives elements of one type in chunks; a sink takes them. Both know three formats: raw (little-endian elements, nothing else),
 * NumPy's .npy, and text (one number a line). Every function that can fail complains itself, with the name of the file, and returns false.
 */
#ifndef UPSWEEP_CLI_IO_H
#define UPSWEEP_CLI_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "npy.h"
#include "upsweep.h"

enum format { FORMAT_UNKNOWN, FORMAT_RAW, FORMAT_NPY, FORMAT_TEXT };

#define N_UNKNOWN UINT64_MAX         /* a count that only the end of the input will tell */
#define TYPE_NONE UPSWEEP_TYPE_COUNT /* no type given, or records without a type */

/* Format by the end of a name: .npy, .txt; UNKNOWN for others and for NULL. */
enum format format_of_name(const char *path);
bool format_from_text(const char *text, enum format *format);
/* NULL and "-" name standard input and output. */
bool is_standard(const char *path);

/* ---- bytes (bytes.c): whole transfers over read and write ---------------------------------------------------------------------- */

/* Reads until nbytes are there or the input ends: *got says how many. */
bool read_all(int fd, const char *name, void *dst, size_t nbytes, size_t *got);
bool write_all(int fd, const char *name, const void *src, size_t nbytes);

/* ---- sources (source.c, text.c) ------------------------------------------------------------------------------------------------ */

/* The text reader's window on its input: buffer [begin..end) is read and not yet used. */
struct text_window {
    char *buffer;
    size_t begin, end;
    uint64_t line; /* number of the line last taken, from 1 */
    bool at_eof;
};

struct source {
    const char *name; /* as sentences call it */
    int fd;
    enum format format;
    upsweep_type type; /* TYPE_NONE: records */
    size_t elem_nbytes;
    uint64_t n;      /* elements in all, or N_UNKNOWN */
    uint64_t n_read; /* so far */
    struct text_window text;
};

/* Opens path. format UNKNOWN: by the name. type and elem_nbytes are what the user said: TYPE_NONE and 0 if nothing. */
bool source_open(struct source *source, const char *path, enum format format, upsweep_type type, size_t elem_nbytes);
/* Up to max elements into items; *n is 0 only at the end, and then the input was found to be whole. */
bool source_read(struct source *source, void *items, uint64_t max, uint64_t *n);
void source_close(struct source *source);

/* text.c */
bool text_open(struct source *source);
bool text_read(struct source *source, void *items, uint64_t max, uint64_t *n);
bool text_write(int fd, const char *name, upsweep_type type, const void *items, uint64_t n);

/* ---- output files (outfile.c): whole or not at all ----------------------------------------------------------------------------- */

struct outfile {
    const char *name;
    int fd;       /* -1: closed */
    char *target; /* where the temporary file goes in the end; NULL if there is none: standard output, devices, pipes */
    char *temp;   /* its name */
};

/* Makes SIGINT, SIGTERM and SIGHUP remove temporary files before they end the program. Once, before threads are started. */
void outfile_catch_signals(void);
/* Holds these signals back: around the start of threads (which inherit it, so that only the main thread takes them) and whenever
 * the list of temporary files and the directory disagree. */
void outfile_hold_signals(bool hold);

/* Do two names stand for one file, so that the second written would take the place of the first? */
bool outfile_same(const char *a, const char *b);
bool outfile_open(struct outfile *file, const char *path);
/* All that can go wrong with the contents: everything is on the disk afterwards. */
bool outfile_settle(struct outfile *file);
/* Gives the settled file its name. */
bool outfile_publish(struct outfile *file);
/* Undoes an open that was not published; fine after publish. */
void outfile_discard(struct outfile *file);

/* ---- spools (spool.c): elements kept in an unnamed temporary file until their turn ---------------------------------------------- */

struct spool {
    int fd; /* -1: not open */
};

bool spool_open(struct spool *spool);
bool spool_write(struct spool *spool, const void *src, size_t nbytes);
/* Reads from the beginning on; *got is 0 at the end. */
bool spool_rewind(struct spool *spool);
bool spool_read(struct spool *spool, void *dst, size_t nbytes, size_t *got);
void spool_close(struct spool *spool);

/* ---- sinks (sink.c) ------------------------------------------------------------------------------------------------------------ */

struct sink {
    struct outfile file;
    enum format format;
    upsweep_type type;
    size_t elem_nbytes;
    uint64_t n; /* elements that will come, or N_UNKNOWN */
    uint64_t n_written;
    struct spool spool; /* open while a count is awaited that must come before the elements */
};

bool sink_open(struct sink *sink, const char *path, enum format format, upsweep_type type, size_t elem_nbytes, uint64_t n);
bool sink_write(struct sink *sink, const void *items, uint64_t n);
bool sink_settle(struct sink *sink);
bool sink_publish(struct sink *sink);
void sink_discard(struct sink *sink);

#endif
