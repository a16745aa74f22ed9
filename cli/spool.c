/* spool.c: elements kept in a temporary file without a name until their turn comes: the rejected side of a partition, and the elements of
 * a .npy array that goes to a pipe before anyone knows their number, which the header in front of them states.
 *
 * The file lies in $TMPDIR (else /tmp) and has lost its name before anything is written, so it goes away with the program, whatever ends
 * it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"
#include "io.h"

static const char *spool_dir(void) {
    const char *dir = getenv("TMPDIR");
    return dir && *dir ? dir : "/tmp";
}

/* For file systems without O_TMPFILE. */
static int open_and_unlink(const char *dir) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s/upsweep-XXXXXX", dir) >= (int)sizeof path) return -1;
    outfile_hold_signals(true); /* it has a name for a moment */
    const int fd = mkstemp(path);
    if (fd >= 0) unlink(path);
    outfile_hold_signals(false);
    return fd;
}

bool spool_open(struct spool *spool) {
    const char *dir = spool_dir();
    spool->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (spool->fd < 0) spool->fd = open_and_unlink(dir);
    return spool->fd >= 0 || complain_errno(dir);
}

bool spool_write(struct spool *spool, const void *src, size_t nbytes) {
    return write_all(spool->fd, "temporary file (TMPDIR says where)", src, nbytes);
}

bool spool_rewind(struct spool *spool) { return lseek(spool->fd, 0, SEEK_SET) == 0 || complain_errno("temporary file"); }

bool spool_read(struct spool *spool, void *dst, size_t nbytes, size_t *got) {
    return read_all(spool->fd, "temporary file", dst, nbytes, got);
}

void spool_close(struct spool *spool) {
    if (spool->fd >= 0) close(spool->fd);
    spool->fd = -1;
}
