/* text.c: numbers as text, one a line, blanks around it allowed. What is no number of the type is an error that names the line; an empty
 * line is one too, for skipping it would shift the positions of all that follow. The last line may lack its newline.
 *
 * The reader has a window of 64 KiB on its input and parses lines in place; a longer line is no number. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "io.h"
#include "number.h"

enum { WINDOW_NBYTES = 1 << 16 };

bool text_open(struct source *source) {
    if (source->type == TYPE_NONE) {
        if (source->elem_nbytes) return complain(source->name, "is text, and records of bytes are raw");
        source->type = UPSWEEP_I64;
    }
    source->elem_nbytes = upsweep_type_nbytes(source->type);
    source->text.buffer = malloc(WINDOW_NBYTES + 1); /* and a NUL after the last line */
    return source->text.buffer || complain(source->name, "out of memory");
}

/* Moves the unused rest to the front of the window and fills what is free. */
static bool refill(struct source *source) {
    struct text_window *w = &source->text;
    memmove(w->buffer, w->buffer + w->begin, w->end - w->begin);
    w->end -= w->begin;
    w->begin = 0;
    size_t got;
    if (!read_all(source->fd, source->name, w->buffer + w->end, WINDOW_NBYTES - w->end, &got)) return false;
    w->at_eof = got < WINDOW_NBYTES - w->end;
    w->end += got;
    return true;
}

/* The next line, ended by a NUL instead of its newline, and its length; *line is NULL at the end. */
static bool next_line(struct source *source, char **line, size_t *length) {
    struct text_window *w = &source->text;
    char *newline = memchr(w->buffer + w->begin, '\n', w->end - w->begin);
    if (!newline && !w->at_eof) {
        if (!refill(source)) return false;
        newline = memchr(w->buffer, '\n', w->end);
        if (!newline && !w->at_eof) return complain(source->name, "line %llu: is too long", (unsigned long long)w->line + 1);
    }
    *line = w->buffer + w->begin;
    *length = newline ? (size_t)(newline - *line) : w->end - w->begin;
    if (!newline && *length == 0) {
        *line = NULL;
        return true;
    }
    (*line)[*length] = '\0';
    w->begin += *length + (newline != NULL);
    w->line++;
    return true;
}

/* Cuts blanks off both ends, and the carriage return of a foreign newline. */
static char *trim(char *line, size_t *length) {
    while (*length > 0 && memchr(" \t\r", line[*length - 1], 3)) line[--*length] = '\0';
    const size_t leading = strspn(line, " \t");
    *length -= leading;
    return line + leading;
}

static bool bad_line(const struct source *source, const char *text, const char *wrong) {
    char shown[41];
    size_t i = 0;
    for (; text[i] && i < sizeof shown - 1; i++) shown[i] = text[i] < ' ' || text[i] > '~' ? '?' : text[i];
    shown[i] = '\0';
    union number number; /* who gives no type may not know that there is one */
    const bool is_fraction = source->type == UPSWEEP_I64 && strpbrk(text, ".eE") && !number_parse(text, UPSWEEP_F64, &number);
    return complain(source->name, "line %llu: '%s'%s %s%s", (unsigned long long)source->text.line, shown, text[i] ? "..." : "", wrong,
                    is_fraction ? " (for floats: --type f64)" : "");
}

bool text_read(struct source *source, void *items, uint64_t max, uint64_t *n) {
    for (*n = 0; *n < max; ++*n) {
        char *line = NULL;
        size_t length = 0;
        if (!next_line(source, &line, &length)) return false;
        if (!line) break;
        line = trim(line, &length);
        union number number;
        const char *wrong = strlen(line) < length ? "has a NUL byte in it" : number_parse(line, source->type, &number);
        if (wrong) return bad_line(source, line, wrong);
        number_store((char *)items + *n * source->elem_nbytes, source->type, number);
    }
    source->n_read += *n;
    return true;
}

bool text_write(int fd, const char *name, upsweep_type type, const void *items, uint64_t n) {
    char buffer[WINDOW_NBYTES];
    const size_t elem_nbytes = upsweep_type_nbytes(type);
    size_t length = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (sizeof buffer - length <= NUMBER_TEXT_MAX) {
            if (!write_all(fd, name, buffer, length)) return false;
            length = 0;
        }
        length += number_format(buffer + length, type, (const char *)items + i * elem_nbytes);
        buffer[length++] = '\n';
    }
    return write_all(fd, name, buffer, length);
}
