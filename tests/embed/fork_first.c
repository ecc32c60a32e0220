/* fork_first LIBRARY: a program hears of its forks by a handler of its own, which was there before the library was
 * loaded and so runs before the library's. A product within it has the threads of the child, and the child's later
 * products have the same ones. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tessera.h"

enum { N = 400, THREADS = 3 };

static float a[N * N], d[N * N];
static tsr_status (*sgemm)(tsr_trans, tsr_trans, int64_t, int64_t, int64_t, float, const float *, int64_t,
                           const float *, int64_t, float, float *, int64_t);
static int is_right_in_handler;

static int product(void)
{
    d[N * N - 1] = 0;
    return sgemm(TSR_N, TSR_N, N, N, N, 1, a, N, a, N, 0, d, N) == TSR_OK && d[N * N - 1] == N;
}

static void in_child(void)
{
    is_right_in_handler = product();
}

static int threads_now(void)
{
    int count = 0;
    DIR *const tasks = opendir("/proc/self/task");
    while (tasks && readdir(tasks))
        count++;
    if (tasks)
        closedir(tasks);
    return count - 2; /* . and .. */
}

/* Without those that end by themselves: a child's first product starts one that asks the loader. */
static int threads(void)
{
    int now = threads_now();
    for (int waits = 0; now > THREADS && waits < 500; waits++, now = threads_now())
        usleep(10000);
    return now;
}

int main(int count, char **arguments)
{
    int status = -1;
    setenv("TESSERA_DEVICE", "cpu", 1);
    setenv("TESSERA_NUM_THREADS", "3", 1);
    if (count != 2 || pthread_atfork(NULL, NULL, in_child) != 0)
        return 2;
    void *const library = dlopen(arguments[1], RTLD_NOW);
    *(void **)&sgemm = library ? dlsym(library, "tsr_sgemm") : NULL;
    if (!sgemm)
        return 2;
    for (int i = 0; i < N * N; i++)
        a[i] = 1;
    if (!product()) {
        puts("the parent's product is wrong");
        return 2;
    }
    const pid_t child = fork();
    if (child == 0) {
        const int before = threads(), right = product(), after = threads();
        printf("threads in the child: %d after the handler's product, %d after another\n", before, after);
        fflush(stdout);
        _exit(!(is_right_in_handler && right && before <= THREADS && after <= THREADS));
    }
    waitpid(child, &status, 0);
    return status != 0;
}
