/* outfile.c: output files that appear whole or not at all.
 *
 *     open: .NAME.upsweep-PID-K beside the target -> write -> settle: fsync -> publish: rename over the target, fsync of the directory
 *
 * Until the rename the target is as it was, so IN and OUT may be the same file. A failure, or a signal that ends the program, removes the
 * temporary file. What is no regular file (a pipe, /dev/null) and standard output cannot be had whole or not at all: they are written as
 * they are, and closing them is checked.
 *
 * The names of temporary files lie in a fixed table that the signal handler reads. It runs in the main thread only (the others were
 * started with these signals held back), and whenever the table and the directory disagree the main thread holds them back as well; so
 * the handler never sees half a name, and unlink() is safe there. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "io.h"

enum { SLOT_COUNT = 2, NAME_TRIES = 100 }; /* no command has more outputs than two */

static char slots[SLOT_COUNT][PATH_MAX]; /* names of temporary files that exist; "" in a free slot */

static const int fatal_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNAL_COUNT = sizeof fatal_signals / sizeof *fatal_signals };

/* ---- signals ------------------------------------------------------------------------------------------------------------------- */

static void remove_temporary_files(int sig) {
    for (int i = 0; i < SLOT_COUNT; i++) {
        if (slots[i][0]) unlink(slots[i]);
    }
    raise(sig); /* SA_RESETHAND has restored the default: the program dies of the signal when this handler returns */
}

void outfile_catch_signals(void) {
    struct sigaction act = {.sa_handler = remove_temporary_files, .sa_flags = (int)SA_RESETHAND};
    for (int i = 0; i < SIGNAL_COUNT; i++) sigaddset(&act.sa_mask, fatal_signals[i]);
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        struct sigaction old;
        const bool ignored = sigaction(fatal_signals[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN; /* by nohup: leave it so */
        if (!ignored) sigaction(fatal_signals[i], &act, NULL);
    }
}

void outfile_hold_signals(bool hold) {
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < SIGNAL_COUNT; i++) sigaddset(&set, fatal_signals[i]);
    sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* ---- names --------------------------------------------------------------------------------------------------------------------- */

/* "a/b" -> "a/", "b" -> "." */
static void directory_of(char dir[PATH_MAX], const char *path) {
    const char *slash = strrchr(path, '/');
    snprintf(dir, PATH_MAX, "%.*s", slash ? (int)(slash + 1 - path) : 1, slash ? path : ".");
}

/* Where a file written as path ends: an absolute path without symbolic links. False if there is no such directory. */
static bool resolve(char where[PATH_MAX], const char *path) {
    char dir[PATH_MAX];
    if (realpath(path, where)) return true; /* it exists */
    directory_of(dir, path);
    if (!realpath(dir, where)) return false;
    const char *slash = strrchr(path, '/');
    const size_t length = strlen(where), room = PATH_MAX - length;
    return snprintf(where + length, room, "/%s", slash ? slash + 1 : path) < (int)room;
}

bool outfile_same(const char *a, const char *b) {
    char where_a[PATH_MAX], where_b[PATH_MAX];
    return resolve(where_a, a) && resolve(where_b, b) && strcmp(where_a, where_b) == 0;
}

/* ---- opening ------------------------------------------------------------------------------------------------------------------- */

/* Writes ".NAME.upsweep-PID-K" in the directory of target. False if that is too long a path. */
static bool temporary_name(char name[PATH_MAX], const char *target, unsigned k) {
    const char *slash = strrchr(target, '/');
    const int dir_length = slash ? (int)(slash + 1 - target) : 0;
    const int length = snprintf(name, PATH_MAX, "%.*s.%.100s.upsweep-%ld-%u", dir_length, target, target + dir_length, (long)getpid(), k);
    return length < PATH_MAX;
}

/* Creates the temporary file, with the permissions that umask leaves, and enters its name into the table. */
static int create_temporary(char *slot, const char *target) {
    char name[PATH_MAX];
    int fd = -1;
    outfile_hold_signals(true);
    for (unsigned k = 0; k < NAME_TRIES && fd < 0; k++) {
        if (!temporary_name(name, target, k)) {
            errno = ENAMETOOLONG;
            break;
        }
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd >= 0) memcpy(slot, name, sizeof name);
    outfile_hold_signals(false);
    return fd;
}

/* What takes the place of a file is open to the same people, as far as that can be had: only root may keep another's file his, and some
 * file systems know no permissions. What the old group was allowed, no other group is. */
static void keep_permissions(int fd, const struct stat *old) {
    const bool grouped = fchown(fd, old->st_uid, old->st_gid) == 0 || fchown(fd, (uid_t)-1, old->st_gid) == 0;
    (void)fchmod(fd, old->st_mode & (grouped ? 0777 : 0707));
}

static bool open_beside(struct outfile *file, const char *path, const struct stat *old) {
    const bool exists = old != NULL;
    if (exists && access(path, W_OK) != 0) return complain_errno(file->name); /* rename() would not ask */
    file->target = exists ? realpath(path, NULL) : strdup(path);              /* through symbolic links, to what they name */
    if (!file->target) return complain_errno(file->name);
    for (int i = 0; i < SLOT_COUNT && !file->temp; i++) {
        if (!slots[i][0]) file->temp = slots[i];
    }
    file->fd = create_temporary(file->temp, file->target);
    if (file->fd < 0) return complain_errno(file->name);
    if (exists) keep_permissions(file->fd, old);
    return true;
}

bool outfile_open(struct outfile *file, const char *path) {
    *file = (struct outfile){.name = path, .fd = -1};
    if (is_standard(path)) {
        file->name = "standard output";
        file->fd = STDOUT_FILENO;
        return true;
    }
    struct stat st;
    const bool exists = stat(path, &st) == 0;
    if (!exists && lstat(path, &st) == 0) return complain(path, "is a symbolic link to nothing"); /* rename() would take its place */
    if (exists && !S_ISREG(st.st_mode)) {
        file->fd = open(path, O_WRONLY | O_CLOEXEC);
        return file->fd >= 0 || complain_errno(path);
    }
    return open_beside(file, path, exists ? &st : NULL);
}

/* ---- finishing ----------------------------------------------------------------------------------------------------------------- */

static bool close_checked(struct outfile *file) {
    const int fd = file->fd;
    file->fd = -1;
    return close(fd) == 0 || complain_errno(file->name);
}

bool outfile_settle(struct outfile *file) {
    if (file->temp && fsync(file->fd) != 0) return complain_errno(file->name);
    return close_checked(file);
}

/* Makes the new name survive a power failure. Some file systems cannot, and say EINVAL. */
static bool sync_directory(const char *target, const char *name) {
    char dir[PATH_MAX];
    directory_of(dir, target);
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return true; /* a directory that one may write to but not read */
    const bool good = fsync(fd) == 0 || errno == EINVAL;
    if (!good) complain_errno(name);
    close(fd);
    return good;
}

bool outfile_publish(struct outfile *file) {
    if (!file->temp) return true;
    outfile_hold_signals(true);
    const bool renamed = rename(file->temp, file->target) == 0;
    if (renamed) {
        file->temp[0] = '\0';
        file->temp = NULL;
    }
    outfile_hold_signals(false);
    if (!renamed) return complain_errno(file->name);
    return sync_directory(file->target, file->name);
}

void outfile_discard(struct outfile *file) {
    if (file->fd >= 0 && file->fd != STDOUT_FILENO) close(file->fd);
    if (file->temp) {
        outfile_hold_signals(true);
        if (file->temp[0]) unlink(file->temp);
        file->temp[0] = '\0';
        outfile_hold_signals(false);
    }
    free(file->target);
    *file = (struct outfile){.fd = -1};
}
