/* A thread that is cancelled in the middle of a call leaves nothing behind at which other threads hang: while it opens
 * the default context, while it reads the system's files, and while it waits for a worker. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tessera.h"

static _Thread_local int armed;

/* Cancels the calling thread when the library opens a file about caches: stands for a cancel that comes right then. */
__attribute__((visibility("default"))) FILE *fopen(const char *restrict path, const char *restrict mode)
{
    FILE *(*real)(const char *, const char *);
    void *const symbol = dlsym(RTLD_NEXT, "fopen");
    memcpy(&real, &symbol, sizeof real);
    if (armed && strstr(path, "/cache/")) {
        armed = 0;
        pthread_cancel(pthread_self());
    }
    return real(path, mode);
}

static int join_cancelled(pthread_t thread)
{
    void *result = NULL;
    return pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED;
}

/* Not a tiny one, which comes before the default context is opened. */
static int product(void)
{
    enum { SIDE = 50 };
    static const float zeros[SIDE * SIDE];
    float c[SIDE * SIDE];
    return tsr_sgemm(TSR_N, TSR_N, SIDE, SIDE, SIDE, 1, zeros, SIDE, zeros, SIDE, 0, c, SIDE) == TSR_OK && c[3] == 0;
}

/* ---- the first call ---- */

static void *first_call(void *unused)
{
    (void)unused;
    pthread_cancel(pthread_self());
    product();
    pthread_testcancel();
    return NULL;
}

static int in_first_call(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, first_call, NULL) != 0 || !join_cancelled(thread) || !product())
        return 0;
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    return waitpid(child, NULL, 0) == child;
}

/* ---- files that are read once in a process ---- */

static void *open_context(void *unused)
{
    tsr_context *context = NULL;
    (void)unused;
    armed = 1;
    if (tsr_context_create("cpu", NULL, &context) == TSR_OK)
        tsr_context_destroy(context);
    if (armed) /* no such files here */
        pthread_cancel(pthread_self());
    pthread_testcancel();
    return NULL;
}

static int in_files(void)
{
    pthread_t thread;
    tsr_context *context = NULL;
    return pthread_create(&thread, NULL, open_context, NULL) == 0 && join_cancelled(thread) &&
           tsr_context_create("cpu", NULL, &context) == TSR_OK;
}

/* ---- a worker that is slow ---- */

enum { N = 1024, BYTES = N * N * (int)sizeof(float) };
static float *a, *b, *d;
static tsr_context *two_threads;
static _Thread_local volatile sig_atomic_t is_caller;
static volatile sig_atomic_t slow;

/* A page of A takes a worker a second, as one from a slow disc would. */
static void arrive_late(int number)
{
    (void)number;
    if (!is_caller) {
        slow = 1;
        sleep(1);
    }
    mprotect(a, BYTES, PROT_READ | PROT_WRITE);
}

static void *multiply(void *unused)
{
    const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, N, N, N);
    const tsr_run_args args = tsr_run_args_make(a, b, d);
    (void)unused;
    is_caller = 1;
    tsr_gemm(two_threads, &desc, &args);
    pthread_testcancel();
    return NULL;
}

static int in_wait(void)
{
    const tsr_context_options options = {.struct_bytes = sizeof options, .threads = 2};
    const struct timespec moment = {0, 1000000};
    a = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    b = calloc(N * N, sizeof *b);
    d = calloc(N * N, sizeof *d);
    if (a == MAP_FAILED || !b || !d || tsr_context_create("cpu", &options, &two_threads) != TSR_OK)
        return 0;
    const struct sigaction late = {.sa_handler = arrive_late};
    sigaction(SIGSEGV, &late, NULL);
    multiply(NULL); /* makes the worker */
    for (int attempt = 0; attempt < 20 && !slow; attempt++) {
        pthread_t thread;
        mprotect(a, BYTES, PROT_NONE);
        if (pthread_create(&thread, NULL, multiply, NULL) != 0)
            return 0;
        for (int waited = 0; waited < 300 && !slow; waited++)
            nanosleep(&moment, NULL);
        if (slow) {
            for (int i = 0; i < 300; i++) /* until it waits, too */
                nanosleep(&moment, NULL);
            pthread_cancel(thread);
            join_cancelled(thread);
            break;
        }
        pthread_join(thread, NULL);
    }
    tsr_context_destroy(two_threads); /* waits for the worker, and so for the job that it is in */
    return 1;
}

int main(void)
{
    static int (*const parts[])(void) = {in_first_call, in_files, in_wait};
    static const char *const names[] = {"the first call", "files", "a wait"};
    int wrong = 0;
    setenv("TESSERA_DEVICE", "cpu", 1);
    for (int i = 0; i < 3; i++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(15);
            _exit(!parts[i]());
        }
        int status = -1;
        waitpid(child, &status, 0);
        printf("cancelled in %s: %s\n", names[i], status == 0 ? "ok" : WIFSIGNALED(status) ? "hangs" : "wrong");
        wrong += status != 0;
    }
    return wrong != 0;
}
