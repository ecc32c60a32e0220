/* A process and the child of its fork that have one process id: the first process of a pid namespace forks the first
 * one of another, while a thread of its own is at what others wait for. The child is not to wait for that thread. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tessera.h"

enum { SKIPPED = 77 };

/* The first plan of a process measures the machine, for some 20 milliseconds, whoever comes meanwhile waits. */
static int route(tsr_context *context)
{
    size_t count = 0;
    const tsr_gemm_desc desc = tsr_gemm_desc_make(TSR_F32, 500, 500, 500);
    return tsr_route(context, &desc, NULL, 0, 0, &count) == TSR_OK && count > 0;
}

static void *measure(void *context)
{
    route(context);
    return NULL;
}

static int in_child(tsr_context *context)
{
    if (getpid() != 1)
        return SKIPPED;
    alarm(10);
    signal(SIGALRM, _exit); /* the first process of a namespace has no default actions */
    return !route(context);
}

/* As the first process of a namespace. */
static int in_parent(void)
{
    const struct timespec moment = {0, 3000000};
    tsr_context *context = NULL;
    pthread_t thread;
    if (tsr_context_create("cpu", NULL, &context) != TSR_OK || pthread_create(&thread, NULL, measure, context) != 0)
        return 1;
    nanosleep(&moment, NULL);
    if (unshare(CLONE_NEWPID) != 0)
        return SKIPPED;
    const pid_t child = fork();
    int status = -1;
    if (child == 0)
        _exit(in_child(context));
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(void)
{
    for (int i = 0; i < 10; i++) { /* one may be too late */
        int status = -1;
        const pid_t parent = (pid_t)syscall(SYS_clone, SIGCHLD | CLONE_NEWPID, 0, 0, 0, 0);
        if (parent == 0)
            _exit(in_parent());
        if (parent < 0 || (waitpid(parent, &status, 0) == parent && status == SKIPPED << 8)) {
            printf("processes skipped: pid namespaces cannot be made here\n");
            return SKIPPED;
        }
        if (status != 0) {
            printf("a child with its parent's process id hangs or fails, status %x\n", (unsigned)status);
            return 1;
        }
    }
    printf("children with their parents' process id: ok\n");
    return 0;
}
