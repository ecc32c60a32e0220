/* The first call holds no lock while it opens the default context: below it somebody forks, as a driver may to run a
 * program, and another thread makes its own first call meanwhile. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tessera.h"

static int opens; /* of libraries, within the first call */
static int (*meanwhile)(void);
static int good;

/* Stands for the loader: what `meanwhile` does happens when the library looks for a driver. */
__attribute__((visibility("default"))) void *dlopen(const char *name, int flags)
{
    void *(*real)(const char *, int);
    void *const symbol = dlsym(RTLD_NEXT, "dlopen");
    memcpy(&real, &symbol, sizeof real);
    if (meanwhile && opens++ == 0)
        good = meanwhile();
    return real(name, flags);
}

/* Tiny products come before the default context is opened. */
static int product(void)
{
    enum { N = 50 };
    float a[N * N], c[N * N];
    for (int i = 0; i < N * N; i++)
        a[i] = 1;
    return tsr_sgemm(TSR_N, TSR_N, N, N, N, 1, a, N, a, N, 0, c, N) == TSR_OK && c[N * N - 1] == N;
}

static int fork_there(void)
{
    const pid_t child = fork();
    int status = -1;
    if (child == 0)
        _exit(0);
    return waitpid(child, &status, 0) == child && status == 0;
}

static void *multiply(void *out)
{
    *(int *)out = product();
    return NULL;
}

static int call_there(void)
{
    pthread_t thread;
    int right = 0;
    return pthread_create(&thread, NULL, multiply, &right) == 0 && pthread_join(thread, NULL) == 0 && right;
}

int main(void)
{
    static int (*const all[])(void) = {fork_there, call_there};
    static const char *const names[] = {"a fork", "another thread's call"};
    int wrong = 0;
    setenv("TESSERA_DEVICE", "auto", 1);
    for (int i = 0; i < 2; i++) {
        const pid_t child = fork();
        int status = -1;
        if (child == 0) {
            alarm(15);
            meanwhile = all[i];
            _exit(!(product() && opens > 0 && good));
        }
        waitpid(child, &status, 0);
        printf("%s within the first call: %s\n", names[i],
               status == 0           ? "ok"
               : WIFSIGNALED(status) ? "hangs"
                                     : "wrong");
        wrong += status != 0;
    }
    return wrong != 0;
}
