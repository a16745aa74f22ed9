/* bytes.c: whole transfers. read() and write() may move less than asked, may be interrupted, and on a descriptor that somebody has made
 * non-blocking may refuse for a while; callers want all of it or a sentence. */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "cli.h"
#include "io.h"

enum { TRANSFER_MAX = 1 << 30 }; /* Linux moves at most 2 GiB a call */

/* After a call that failed: is it worth trying again? Waits until it is. */
static bool may_retry(int fd, short events) {
    if (errno == EINTR) return true;
    if (errno != EAGAIN) return false;
    struct pollfd wait = {.fd = fd, .events = events};
    return poll(&wait, 1, -1) >= 0 || errno == EINTR;
}

bool read_all(int fd, const char *name, void *dst, size_t nbytes, size_t *got) {
    *got = 0;
    while (*got < nbytes) {
        const size_t wanted = nbytes - *got < TRANSFER_MAX ? nbytes - *got : TRANSFER_MAX;
        const ssize_t n = read(fd, (char *)dst + *got, wanted);
        if (n == 0) break;
        if (n > 0) {
            *got += (size_t)n;
        } else if (!may_retry(fd, POLLIN)) {
            return complain_errno(name);
        }
    }
    return true;
}

bool write_all(int fd, const char *name, const void *src, size_t nbytes) {
    const char *at = src;
    while (nbytes > 0) {
        const ssize_t n = write(fd, at, nbytes < TRANSFER_MAX ? nbytes : TRANSFER_MAX);
        if (n >= 0) {
            at += n;
            nbytes -= (size_t)n;
        } else if (!may_retry(fd, POLLOUT)) {
            return complain_errno(name);
        }
    }
    return true;
}
