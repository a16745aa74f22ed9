/* source.c: elements from a file, a pipe or standard input, raw or .npy; text.c does the text.
 *
 * The size is checked twice: before reading, where the file tells its size, so that a wrong one costs nothing; and against what was read,
 * because pipes tell nothing and files change. Whoever reads to the end (n = 0) knows that the input was whole. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "io.h"

typedef unsigned long long ull; /* for printf */

bool is_standard(const char *path) { return !path || strcmp(path, "-") == 0; }

enum format format_of_name(const char *path) {
    const char *dot = path ? strrchr(path, '.') : NULL;
    if (dot && strcmp(dot, ".npy") == 0) return FORMAT_NPY;
    if (dot && strcmp(dot, ".txt") == 0) return FORMAT_TEXT;
    return FORMAT_UNKNOWN;
}

bool format_from_text(const char *text, enum format *format) {
    static const char *const names[] = {[FORMAT_RAW] = "raw", [FORMAT_NPY] = "npy", [FORMAT_TEXT] = "text"};
    for (int f = FORMAT_RAW; f <= FORMAT_TEXT; f++) {
        *format = (enum format)f;
        if (strcmp(text, names[f]) == 0) return true;
    }
    return complain(NULL, "--format: '%s' is none of raw, npy, text", text);
}

/* ---- opening ------------------------------------------------------------------------------------------------------------------- */

/* Bytes from here to the end, or UINT64_MAX if there is no telling: pipes, and files of /proc, which claim to be empty. */
static uint64_t remaining_nbytes(int fd) {
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) return UINT64_MAX;
    const off_t at = lseek(fd, 0, SEEK_CUR);
    return at < 0 || at > st.st_size ? 0 : (uint64_t)(st.st_size - at);
}

static bool open_raw(struct source *source) {
    if (!source->elem_nbytes) return complain(source->name, "raw data need --type (or --format npy, --format text)");
    const uint64_t nbytes = remaining_nbytes(source->fd);
    if (nbytes == UINT64_MAX) return true;
    if (nbytes % source->elem_nbytes) {
        return complain(source->name, "%llu bytes are not a whole number of elements of %zu bytes", (ull)nbytes, source->elem_nbytes);
    }
    source->n = nbytes / source->elem_nbytes;
    return true;
}

/* Reads a piece of the header, all of it. */
static bool read_header(struct source *source, void *dst, size_t nbytes) {
    size_t got;
    if (!read_all(source->fd, source->name, dst, nbytes, &got)) return false;
    return got == nbytes || complain(source->name, "ends within its .npy header");
}

static bool check_npy(const struct source *source, const struct npy *npy) {
    if (source->elem_nbytes && source->type != npy->type) {
        if (source->type == TYPE_NONE) return complain(source->name, "is a .npy file, and --record-size is for raw data");
        return complain(source->name, "holds %s, not the %s of --type", upsweep_type_name(npy->type), upsweep_type_name(source->type));
    }
    const uint64_t there = remaining_nbytes(source->fd), wanted = npy->n * upsweep_type_nbytes(npy->type);
    if (there == UINT64_MAX || there == wanted) return true;
    return complain(source->name, "has %llu bytes of data where its header says %llu", (ull)there, (ull)wanted);
}

static bool open_npy(struct source *source) {
    unsigned char magic[NPY_MAGIC_NBYTES], field[4] = {0};
    char dict[NPY_DICT_MAX], why[NPY_WHY_NBYTES];
    if (!read_header(source, magic, sizeof magic)) return false;
    const size_t field_nbytes = npy_length_nbytes(magic, why);
    if (!field_nbytes) return complain(source->name, "%s", why);
    if (!read_header(source, field, field_nbytes)) return false;
    const uint32_t length = (uint32_t)field[0] | (uint32_t)field[1] << 8 | (uint32_t)field[2] << 16 | (uint32_t)field[3] << 24;
    if (length > NPY_DICT_MAX) return complain(source->name, "has a .npy header of %u bytes; the most is %d", length, NPY_DICT_MAX);
    if (!read_header(source, dict, length)) return false;

    struct npy npy;
    if (!npy_parse(&npy, dict, length, why)) return complain(source->name, "%s", why);
    if (!check_npy(source, &npy)) return false;
    source->type = npy.type;
    source->elem_nbytes = upsweep_type_nbytes(npy.type);
    source->n = npy.n;
    return true;
}

bool source_open(struct source *source, const char *path, enum format format, upsweep_type type, size_t elem_nbytes) {
    *source = (struct source){.name = path, .fd = -1, .type = type, .elem_nbytes = elem_nbytes, .n = N_UNKNOWN};
    source->format = format ? format : format_of_name(path) ? format_of_name(path) : FORMAT_RAW;
    if (is_standard(path)) {
        source->name = "standard input";
        source->fd = STDIN_FILENO;
    } else {
        source->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (source->fd < 0) return complain_errno(path);
    }
    switch (source->format) {
    case FORMAT_NPY:
        return open_npy(source);
    case FORMAT_TEXT:
        return text_open(source);
    default:
        return open_raw(source);
    }
}

void source_close(struct source *source) {
    if (source->fd > STDIN_FILENO) close(source->fd);
    free(source->text.buffer);
    *source = (struct source){.fd = -1};
}

/* ---- reading ------------------------------------------------------------------------------------------------------------------- */

/* With all the elements read that there should be: is it the end? */
static bool at_end(const struct source *source) {
    char beyond;
    size_t got;
    if (!read_all(source->fd, source->name, &beyond, 1, &got)) return false;
    return got == 0 || complain(source->name, "goes on after its %llu elements", (ull)source->n);
}

bool source_read(struct source *source, void *items, uint64_t max, uint64_t *n) {
    *n = 0;
    if (source->format == FORMAT_TEXT) return text_read(source, items, max, n);
    const uint64_t left = source->n - source->n_read; /* many, if n is unknown */
    if (left == 0) return at_end(source);

    const size_t wanted = (size_t)(max < left ? max : left) * source->elem_nbytes;
    size_t got;
    if (!read_all(source->fd, source->name, items, wanted, &got)) return false;
    *n = got / source->elem_nbytes;
    source->n_read += *n;
    if (got % source->elem_nbytes) {
        return complain(source->name, "ends within element %llu, of %zu bytes", (ull)source->n_read, source->elem_nbytes);
    }
    if (got < wanted && source->n != N_UNKNOWN) {
        return complain(source->name, "ends after %llu elements of %llu", (ull)source->n_read, (ull)source->n);
    }
    return true;
}
