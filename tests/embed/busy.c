/* A machine with more to do than processors: a context is closed at once, whatever its workers were about to do, and a
 * real-time thread that waits for an ordinary one leaves it a processor. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tessera.h"

enum { OTHERS = 12, SKIPPED = 77 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int take_one_processor(void)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return 0;
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

static int start_others(pid_t *others)
{
    for (int i = 0; i < OTHERS; i++) {
        others[i] = fork();
        if (others[i] < 0)
            return 0;
        for (volatile long turns = 0; others[i] == 0; turns = turns + 1)
            ;
    }
    return 1;
}

/* ---- closing ---- */

/* Seconds of closing a context whose workers were just at work. */
static double close_context(void)
{
    enum { N = 300 };
    static float a[N * N], d[N * N];
    const tsr_context_options options = {.struct_bytes = sizeof options, .threads = 3};
    const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, N, N, N);
    const tsr_run_args args = tsr_run_args_make(a, a, d);
    tsr_context *context = NULL;
    if (tsr_context_create("cpu", &options, &context) != TSR_OK || tsr_gemm(context, &desc, &args) != TSR_OK)
        return 1e9;
    const double start_s = now_s();
    tsr_context_destroy(context);
    return now_s() - start_s;
}

/* ---- a real-time thread ---- */

static double own_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The first one of a process measures the machine. */
static void *route(void *context)
{
    size_t count = 0;
    const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 500, 500, 500);
    tsr_route(context, &desc, NULL, 0, 0, &count);
    return NULL;
}

/* Seconds of processor time that it takes a real-time thread to wait for an ordinary one on its processor; negative: it
 * cannot be tried here. */
static double wait_in_real_time(void)
{
    const struct sched_param least = {.sched_priority = sched_get_priority_min(SCHED_FIFO)}, none = {0};
    const struct timespec moment = {0, 3000000};
    tsr_context *context = NULL;
    pthread_t thread;
    if (tsr_context_create("cpu", NULL, &context) != TSR_OK || pthread_create(&thread, NULL, route, context) != 0)
        return 1e9;
    nanosleep(&moment, NULL);
    if (sched_setscheduler(0, SCHED_FIFO, &least) != 0) {
        pthread_join(thread, NULL);
        return -1;
    }
    const double start_s = own_s();
    route(context);
    const double s = own_s() - start_s;
    sched_setscheduler(0, SCHED_OTHER, &none);
    pthread_join(thread, NULL);
    tsr_context_destroy(context);
    return s;
}

int main(void)
{
    pid_t others[OTHERS];
    if (!take_one_processor()) {
        printf("busy skipped: the process may not choose a processor\n");
        return SKIPPED;
    }
    const double waited_s = wait_in_real_time();
    if (waited_s < 0)
        printf("a real-time thread cannot be tried here\n");
    else
        printf("a real-time thread waits for an ordinary one: %.3f s of its processor\n", waited_s);
    if (!start_others(others)) {
        printf("busy skipped: it takes %d processes\n", OTHERS);
        return SKIPPED;
    }
    const double s = close_context();
    for (int i = 0; i < OTHERS; i++) {
        kill(others[i], SIGKILL);
        waitpid(others[i], NULL, 0);
    }
    printf("closing a context beside %d busy processes: %.2f s\n", OTHERS, s);
    return s > 2 || waited_s > 0.3;
}
