/* Processes may share the log's file: lines are appended whole. `tessera bench --replay` reads them; docs/BLAS.md and
 * docs/CUBLAS.md say what they hold. */
#include "blas/call_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tessera.h"

/* A file that was opened as the log. A program may close descriptors that it does not know, as daemons do, and the
 * number is then another file's: what it is of is asked before each line. */
typedef struct log_file {
    int fd; /* above 2: those that a program lacks would be this one */
    dev_t device;
    ino_t inode;
    const struct log_file *before; /* that it took the place of; other threads may still look at it */
} log_file;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char log_path[PATH_MAX]; /* absolute; "" where lines go to stderr */
static _Atomic(const log_file *) log_now;
atomic_int tsr_call_log_state;

/* ABSENT: the process began without standard error. What has its number later is a file of the program's. */
enum { NOT_ASKED, PRESENT, ABSENT };
static atomic_int standard_error;

/* Asked by the constructor below, or before it by a call from another library's. */
int tsr_call_log_has_stderr(void)
{
    int known = atomic_load(&standard_error), none = NOT_ASKED;
    if (known == NOT_ASKED) {
        known = fcntl(STDERR_FILENO, F_GETFD) >= 0 ? PRESENT : ABSENT;
        if (!atomic_compare_exchange_strong(&standard_error, &none, known))
            known = none;
    }
    return known == PRESENT;
}

__attribute__((constructor)) static void look_for_stderr(void)
{
    tsr_call_log_has_stderr();
}

static void tell(const char *text)
{
    int cancel; /* a call is no cancellation point */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    if (tsr_call_log_has_stderr())
        fprintf(stderr, "%s: %s (said once)\n", tsr_call_log_library, text);
    pthread_setcancelstate(cancel, NULL);
}

/* `word` among the words of `list`, which commas separate. */
static int has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; at && *at;) {
        const size_t here = strcspn(at, ",");
        if (here == length && strncmp(at, word, length) == 0)
            return 1;
        at += here + (at[here] == ',');
    }
    return 0;
}

static void tell_line(const char *line, void *user)
{
    (void)user;
    tell(line);
}

/* A pipe must not make a product wait, neither for a reader nor for a slow one. NULL with errno. */
static const log_file *open_file(const char *path, const log_file *before)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    const int own = fd >= 0 && fd <= STDERR_FILENO ? fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : fd;
    struct stat file;
    log_file *const made = own >= 0 && fstat(own, &file) == 0 ? malloc(sizeof *made) : NULL;
    const int error = errno;
    if (own != fd)
        close(fd);
    if (made)
        *made = (log_file){own, file.st_dev, file.st_ino, before};
    else if (own >= 0)
        close(own);
    errno = error;
    return made;
}

static int is_still(const log_file *log)
{
    struct stat file;
    return fstat(log->fd, &file) == 0 && file.st_dev == log->device && file.st_ino == log->inode;
}

static void open_log(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    int is_on = 0;
    tsr_check_environment(tell_line, NULL);
    if (has_word(getenv("TESSERA_LOG"), "calls")) {
        const char *path = secure_getenv("TESSERA_LOG_FILE"); /* a set-uid program writes to no file of its caller's */
        const log_file *const log = path && *path ? open_file(path, NULL) : NULL;
        const int error = errno;
        const int is_file = path && *path;
        is_on = is_file
                    ? log != NULL
                    : tsr_call_log_has_stderr() && fcntl(STDERR_FILENO, F_GETFD) >= 0; /* else a file may become it */
        if (is_file && !is_on)
            tsr_call_log_tell(&told, "TESSERA_LOG_FILE = %s %s; calls are not logged", path,
                              error == ENXIO ? "is a pipe that nobody reads" : "cannot be written");
        if (log && !realpath(path, log_path))
            snprintf(log_path, sizeof log_path, "/dev/null"); /* it cannot be opened again */
        atomic_store_explicit(&log_now, log, memory_order_release);
    }
    atomic_store_explicit(&tsr_call_log_state, is_on ? TSR_CALL_LOG_ON : TSR_CALL_LOG_OFF, memory_order_release);
}

/* The log's file, opened again where the program has closed it; NULL with errno. */
static const log_file *current_log(void)
{
    const log_file *log = atomic_load_explicit(&log_now, memory_order_acquire);
    if (is_still(log))
        return log;
    const log_file *const made = open_file(log_path, log);
    if (!made || atomic_compare_exchange_strong(&log_now, &log, made))
        return made;
    close(made->fd); /* another thread was first */
    free((void *)(uintptr_t)made);
    return log;
}

int tsr_call_log_is_on(void)
{
    const int state = atomic_load_explicit(&tsr_call_log_state, memory_order_acquire);
    if (state == TSR_CALL_LOG_UNKNOWN) {
        int cancel;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* a call is no cancellation point */
        pthread_once(&once, open_log);
        pthread_setcancelstate(cancel, NULL);
        return tsr_call_log_is_on();
    }
    return state == TSR_CALL_LOG_ON;
}

/* A number as %.17g gives it where the program has set no locale: others have other decimal points, of several bytes
 * even. */
const char *tsr_call_log_number(double value, char text[TSR_CALL_LOG_NUMBER])
{
    size_t to = 0;
    snprintf(text, TSR_CALL_LOG_NUMBER, "%.17g", value);
    for (size_t from = 0; text[from]; from++) {
        const char c = text[from];
        const int is_kept = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+';
        if (is_kept || to == 0 || text[to - 1] != '.')
            text[to++] = is_kept ? c : '.';
    }
    text[to] = '\0';
    return text;
}

/* The part of a line that a file still took, unless somebody has written behind it. */
static void take_back(int fd, ssize_t count)
{
    struct stat file;
    const off_t end = lseek(fd, 0, SEEK_CUR);
    if (end >= count && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size == end &&
        ftruncate(fd, end - count) != 0)
        return; /* it stays */
}

/* write() of a whole line without the signals that would end the program where a pipe's reader has left (SIGPIPE) or a
 * file would be longer than RLIMIT_FSIZE (SIGXFSZ): they are blocked in this thread and taken back. -1 with errno. */
static ssize_t write_unsignalled(int fd, const char *line, size_t bytes)
{
    const struct timespec at_once = {0, 0};
    sigset_t own, raised, before, pending;
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    sigemptyset(&own);
    sigaddset(&own, SIGPIPE);
    sigaddset(&own, SIGXFSZ);
    sigemptyset(&pending);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &own, &before);
    ssize_t count = write(fd, line, bytes);
    if (count > 0 && (size_t)count < bytes) { /* the disk is full, or the limit reached */
        take_back(fd, count);
        errno = ENOSPC;
        count = -1;
    }
    const int error = errno;
    const int signal = count >= 0 ? 0 : error == EPIPE ? SIGPIPE : error == EFBIG ? SIGXFSZ : 0;
    if (signal && !sigismember(&pending, signal)) {
        sigemptyset(&raised);
        sigaddset(&raised, signal);
        sigtimedwait(&raised, NULL, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_setcancelstate(cancel, NULL);
    errno = error;
    return count;
}

/* A lost line is not worth a failed product; it is told once. */
void tsr_call_log_line(const char *line, int length)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (length <= 0)
        return;
    if (!log_path[0]) {
        write_unsignalled(STDERR_FILENO, line, (size_t)length);
        return;
    }
    const log_file *const log = current_log();
    if (!log || write_unsignalled(log->fd, line, (size_t)length) < 0)
        tsr_call_log_tell(&told, "TESSERA_LOG_FILE: %s; lines are lost", strerror(errno));
}

void tsr_call_log_tell(atomic_flag *told, const char *format, ...)
{
    char text[700];
    va_list list;
    if (atomic_flag_test_and_set(told))
        return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    tell(text);
}
