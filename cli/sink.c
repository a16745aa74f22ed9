/* sink.c: elements to a file, a pipe or standard output, in any of the three formats.
 *
 * The header of .npy states the number of elements, and a compaction does not know it before its end. In a file of our own the header
 * is written twice: first to hold the place, then with the true number (its length is always the same). A pipe cannot go back: there
 * the elements wait in a spool until the header can be written. */
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"
#include "io.h"

enum { COPY_NBYTES = 1 << 20 };

static bool write_header(struct sink *sink, uint64_t n) {
    unsigned char header[NPY_HEADER_NBYTES];
    npy_format(header, sink->type, n);
    return write_all(sink->file.fd, sink->file.name, header, sizeof header);
}

static bool begin_npy(struct sink *sink) {
    if (sink->n == N_UNKNOWN && !sink->file.temp) return spool_open(&sink->spool);
    return write_header(sink, sink->n == N_UNKNOWN ? 0 : sink->n);
}

bool sink_open(struct sink *sink, const char *path, enum format format, upsweep_type type, size_t elem_nbytes, uint64_t n) {
    *sink = (struct sink){.file.fd = -1, .spool.fd = -1, .format = format, .type = type, .elem_nbytes = elem_nbytes, .n = n};
    if (type == TYPE_NONE && format != FORMAT_RAW) {
        return complain(is_standard(path) ? "standard output" : path, "records of bytes can be written raw only");
    }
    if (!outfile_open(&sink->file, path)) return false;
    return format != FORMAT_NPY || begin_npy(sink);
}

bool sink_write(struct sink *sink, const void *items, uint64_t n) {
    const size_t nbytes = (size_t)n * sink->elem_nbytes;
    sink->n_written += n;
    if (sink->spool.fd >= 0) return spool_write(&sink->spool, items, nbytes);
    if (sink->format == FORMAT_TEXT) return text_write(sink->file.fd, sink->file.name, sink->type, items, n);
    return write_all(sink->file.fd, sink->file.name, items, nbytes);
}

static bool copy_spool(struct sink *sink) {
    char *buffer = malloc(COPY_NBYTES);
    if (!buffer) return complain(sink->file.name, "out of memory");
    size_t got = 0;
    bool good = spool_rewind(&sink->spool);
    do good = good && spool_read(&sink->spool, buffer, COPY_NBYTES, &got) && write_all(sink->file.fd, sink->file.name, buffer, got);
    while (good && got > 0);
    free(buffer);
    return good;
}

bool sink_settle(struct sink *sink) {
    if (sink->format == FORMAT_NPY && sink->n == N_UNKNOWN) {
        const bool spooled = sink->spool.fd >= 0;
        if (!spooled && lseek(sink->file.fd, 0, SEEK_SET) != 0) return complain_errno(sink->file.name);
        if (!write_header(sink, sink->n_written)) return false;
        if (spooled && !copy_spool(sink)) return false;
    }
    return outfile_settle(&sink->file);
}

bool sink_publish(struct sink *sink) { return outfile_publish(&sink->file); }

void sink_discard(struct sink *sink) {
    spool_close(&sink->spool);
    outfile_discard(&sink->file);
}
