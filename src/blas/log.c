/* The call log: TESSERA_LOG=calls writes one line for each call to the file TESSERA_LOG_FILE, or to stderr. Processes
 * may share the file: lines are appended whole. `tessera bench --replay` reads them; docs/BLAS.md says what they hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "blas/blas.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int log_fd = -1;
atomic_int tsr_blas_log_state;

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
    fprintf(stderr, "libtessera_blas: %s (said once)\n", line);
}

/* A pipe must not make a product wait, neither for a reader nor for a slow one. */
static void open_log(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
    tsr_check_environment(tell_line, NULL);
    if (has_word(getenv("TESSERA_LOG"), "calls")) {
        const char *path = getenv("TESSERA_LOG_FILE");
        log_fd = path && *path ? open(path, flags, 0666) : STDERR_FILENO;
        if (log_fd < 0)
            tsr_blas_tell(&told, "TESSERA_LOG_FILE = %s %s; calls are not logged", path,
                          errno == ENXIO ? "is a pipe that nobody reads" : "cannot be written");
    }
    atomic_store_explicit(&tsr_blas_log_state, log_fd >= 0 ? TSR_BLAS_LOGGED : TSR_BLAS_NOT_LOGGED,
                          memory_order_release);
}

int tsr_blas_log_calls(void)
{
    const int state = atomic_load_explicit(&tsr_blas_log_state, memory_order_acquire);
    if (state == TSR_BLAS_LOG_UNKNOWN) {
        pthread_once(&once, open_log);
        return tsr_blas_log_calls();
    }
    return state == TSR_BLAS_LOGGED;
}

/* write() of a whole line without SIGPIPE, which would end the program where the reader has left: the signal is blocked
 * in this thread and taken back. -1 with errno. */
static ssize_t write_unsignalled(const char *line, size_t bytes)
{
    const struct timespec at_once = {0, 0};
    sigset_t pipe_signal, before, pending;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigemptyset(&pending);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    const ssize_t count = write(log_fd, line, bytes);
    const int error = errno;
    if (count < 0 && error == EPIPE && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_signal, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return count;
}

/* A lost line is not worth a failed product; it is told once. */
static void write_line(const char *line, int length)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (length > 0 && write_unsignalled(line, (size_t)length) < 0 && log_fd != STDERR_FILENO)
        tsr_blas_tell(&told, "TESSERA_LOG_FILE: %s; lines are lost", strerror(errno));
}

/* Where the library sends this problem, or each of this batch, and what it expects of that. */
static void choice_of(const tsr_blas_call *call, tsr_candidate *best)
{
    tsr_context *context = NULL;
    size_t count = 0;
    tsr_blas_call asked = *call;
    if (!tsr_blas_is_one_call(call))
        asked.batch = 1;
    const tsr_gemm_desc desc = tsr_blas_describe(&asked);
    memset(best, 0, sizeof *best);
    if (tsr_default_context(&context) == TSR_OK && tsr_route(context, &desc, best, sizeof *best, 1, &count) == TSR_OK)
        best->cost_ns *= (double)call->batch / (double)(asked.batch > 0 ? asked.batch : 1);
}

void tsr_blas_log_call(const tsr_blas_call *call, const char *how, double ns)
{
    static const char *const layouts[] = {"nn", "nt", "tn", "tt"};
    char line[600];
    tsr_candidate best;
    choice_of(call, &best);
    const int length =
        snprintf(line, sizeof line,
                 "tessera-call %s dtype=%s layout=%s m=%lld n=%lld k=%lld lda=%lld ldb=%lld ldc=%lld alpha=%.17g "
                 "beta=%.17g batch=%lld stride_a=%lld stride_b=%lld stride_c=%lld kernel=%s device=%s limiter=%s "
                 "expected_ns=%.0f ns=%.0f pid=%ld\n",
                 call->name, tsr_dtype_name(call->dtype), layouts[2 * call->trans_a + call->trans_b],
                 (long long)call->m, (long long)call->n, (long long)call->k, (long long)call->lda, (long long)call->ldb,
                 (long long)call->ldc, call->alpha, call->beta, (long long)call->batch, (long long)call->stride_a,
                 (long long)call->stride_b, (long long)call->stride_c,
                 *how          ? how
                 : best.chosen ? best.kernel
                               : "none",
                 *how || !best.chosen ? "-" : best.device, *how || !best.chosen ? "-" : best.limiter, best.cost_ns, ns,
                 (long)getpid());
    write_line(line, length);
}

void tsr_blas_log_wrong(const char *name, int info)
{
    char line[200];
    if (tsr_blas_log_calls())
        write_line(line, snprintf(line, sizeof line, "tessera-call %s info=%d pid=%ld\n", name, info, (long)getpid()));
}

void tsr_blas_tell(atomic_flag *told, const char *format, ...)
{
    char text[700];
    va_list list;
    if (atomic_flag_test_and_set(told))
        return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "libtessera_blas: %s (said once)\n", text);
}
