#include "cli/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/interrupt.h"

enum { NAME_TRIES = 100, LINKS_MAX = 40 };

/* The target's directory, "." if it names none; from malloc. */
static char *directory_of(const char *target)
{
    const char *slash = strrchr(target, '/');
    if (!slash)
        return strdup(".");
    return strndup(target, slash == target ? 1 : (size_t)(slash - target));
}

/* A fresh name beside the target, from malloc: hidden, and short enough for any target name. */
static char *temp_name(const char *target, int attempt)
{
    struct timespec time;
    char *name = NULL;
    const char *slash = strrchr(target, '/');
    int prefix = slash ? (int)(slash - target) + 1 : 0;
    clock_gettime(CLOCK_REALTIME, &time);
    if (asprintf(&name, "%.*s.tessera-%ld-%lx-%d.tmp", prefix, target, (long)getpid(), (unsigned long)time.tv_nsec,
                 attempt) < 0)
        return NULL;
    return name;
}

static int fail_errno(cli_message *error, const char *what)
{
    return cli_reject(error, "%s: %s", what, strerror(errno));
}

/* Where `path` leads, from malloc: symbolic links are followed, even to a file that does not exist yet. NULL with
 * errno. */
static char *resolve(const char *path)
{
    char *now = realpath(path, NULL);
    if (now)
        return now;
    now = strdup(path);
    for (int hops = 0; now; hops++) {
        char link[PATH_MAX], *next = NULL;
        const ssize_t length = readlink(now, link, sizeof link - 1);
        if (length < 0)
            return now; /* no link, or nothing there */
        link[length] = '\0';
        const char *slash = link[0] == '/' ? NULL : strrchr(now, '/');
        if (hops == LINKS_MAX || asprintf(&next, "%.*s%s", slash ? (int)(slash - now) + 1 : 0, now, link) < 0) {
            errno = hops == LINKS_MAX ? ELOOP : ENOMEM;
            next = NULL;
        }
        free(now);
        now = next;
    }
    return NULL;
}

/* What stands at the target and may be replaced: a regular file that one may write to, with no other name. */
static int check_old(const char *target, const struct stat *old, cli_message *error)
{
    if (S_ISDIR(old->st_mode))
        return cli_reject(error, "cannot be written: it is a directory");
    if (!S_ISREG(old->st_mode))
        return cli_reject(error, "cannot be written: it is a device or pipe; the output has to be a regular file");
    /* Root may write to anything; a file without any write bit is somebody's wish all the same. */
    if ((old->st_mode & 0222) == 0 || faccessat(AT_FDCWD, target, W_OK, AT_EACCESS) != 0)
        return cli_reject(error, "cannot be written: it is read-only (mode %04o)", (unsigned)old->st_mode & 07777u);
    if (old->st_nlink > 1)
        return cli_reject(error,
                          "cannot be written: it has %lu hard links, and a new file would part them; remove it first, "
                          "or choose another name",
                          (unsigned long)old->st_nlink);
    return 1;
}

static int check_target(const char *path, cli_atomic_file *file, cli_message *error)
{
    struct stat old;
    file->target = resolve(path);
    if (!file->target)
        return fail_errno(error, "cannot be written");
    if (stat(file->target, &old) != 0)
        return errno == ENOENT ? 1 : fail_errno(error, "cannot be written");
    file->replaces = 1;
    file->mode = old.st_mode & 07777;
    file->uid = old.st_uid;
    file->gid = old.st_gid;
    return check_old(file->target, &old, error);
}

/* The new file gets the old one's owner and mode, before anything is written to it. */
static int take_over(const cli_atomic_file *file, cli_message *error)
{
    struct stat now;
    if (!file->replaces)
        return 1;
    if (fstat(file->fd, &now) != 0)
        return fail_errno(error, "cannot be written");
    if ((now.st_uid != file->uid || now.st_gid != file->gid) && fchown(file->fd, file->uid, file->gid) != 0)
        return cli_reject(error, "cannot be written: it belongs to another user or group, and a new file would not");
    return fchmod(file->fd, file->mode) == 0 ? 1 : fail_errno(error, "cannot be written");
}

static int open_named(cli_atomic_file *file, cli_message *error)
{
    for (int attempt = 0; attempt < NAME_TRIES; attempt++) {
        free(file->temp);
        file->temp = temp_name(file->target, attempt);
        if (!file->temp)
            return cli_reject(error, "cannot be written: out of memory");
        cli_interrupt_remove(file->temp);
        file->fd = open(file->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, file->replaces ? 0600 : 0666);
        file->named = file->fd >= 0;
        if (file->named)
            return 1;
        cli_interrupt_remove(NULL);
        if (errno != EEXIST)
            break;
    }
    return fail_errno(error, "cannot be written");
}

int cli_atomic_open(const char *path, int named, cli_atomic_file *out, cli_message *error)
{
    cli_atomic_file file = {.fd = -1};
    *out = file;
    if (!check_target(path, &file, error)) {
        cli_atomic_abandon(&file);
        return 0;
    }
    if (!named) {
        char *directory = directory_of(file.target);
        if (directory)
            file.fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, file.replaces ? 0600 : 0666);
        free(directory);
    }
    if ((file.fd < 0 && !open_named(&file, error)) || !take_over(&file, error)) {
        cli_atomic_abandon(&file);
        return 0;
    }
    *out = file;
    return 1;
}

/* Gives the nameless file a name beside the target: a link cannot replace a file, a rename can. */
static int give_name(cli_atomic_file *file)
{
    char self[40];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
    for (int attempt = 0; attempt < NAME_TRIES; attempt++) {
        free(file->temp);
        file->temp = temp_name(file->target, attempt);
        if (!file->temp) {
            errno = ENOMEM;
            return 0;
        }
        cli_interrupt_remove(file->temp);
        file->named = linkat(AT_FDCWD, self, AT_FDCWD, file->temp, AT_SYMLINK_FOLLOW) == 0;
        if (file->named || errno != EEXIST)
            return file->named;
    }
    return 0;
}

/* The rename itself must survive a power cut too; a file system that cannot sync a directory is left at that. */
static void sync_directory(const char *target)
{
    char *directory = directory_of(target);
    int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(directory);
}

int cli_atomic_commit(cli_atomic_file *file, cli_message *error)
{
    int good = fsync(file->fd) == 0 && (file->named || give_name(file)) && rename(file->temp, file->target) == 0;
    if (good) {
        file->named = 0;
        sync_directory(file->target);
    } else {
        fail_errno(error, "cannot be written");
    }
    cli_atomic_abandon(file);
    return good;
}

void cli_atomic_abandon(cli_atomic_file *file)
{
    if (file->named)
        unlink(file->temp);
    cli_interrupt_remove(NULL);
    if (file->fd >= 0)
        close(file->fd);
    free(file->temp);
    free(file->target);
    *file = (cli_atomic_file){.fd = -1};
}
