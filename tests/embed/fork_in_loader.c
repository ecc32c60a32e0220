/* The child of a fork multiplies with several threads, whatever another thread of its parent had of the loader at the
 * time: a lock that glibc gives back in no child stands for the moments of dlopen and dlclose in which it is held. */
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tessera.h"

enum { N = 400 };
static float a[N * N], b[N * N], d[N * N];

static int product(void)
{
    memset(d, 0, sizeof d);
    return tsr_sgemm(TSR_N, TSR_N, N, N, N, 1, a, N, b, N, 0, d, N) == TSR_OK && d[0] == N && d[N * N - 1] == N;
}

enum { STAYS_MS = 1500 };
static int ends[2];

static int stay(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)info;
    (void)bytes;
    (void)unused;
    if (write(ends[1], "!", 1) == 1)
        poll(NULL, 0, STAYS_MS);
    return 1;
}

static void *be_in_loader(void *unused)
{
    dl_iterate_phdr(stay, NULL);
    return unused;
}

/* In a process of its own, whose parent called before the fork or did not. */
static int fork_meanwhile(int called_before)
{
    int status = -1;
    char byte;
    pthread_t thread;
    if ((called_before && !product()) || pipe(ends) != 0 || pthread_create(&thread, NULL, be_in_loader, NULL) != 0 ||
        read(ends[0], &byte, 1) != 1)
        return 0;
    const pid_t child = fork();
    if (child == 0) {
        alarm(STAYS_MS / 1000 + 2);
        int right = 1;
        for (int i = 0; i < 20; i++)
            right = product() && right;
        _exit(!right);
    }
    waitpid(child, &status, 0);
    pthread_join(thread, NULL);
    return status == 0 && product();
}

int main(void)
{
    int wrong = 0;
    for (int i = 0; i < N * N; i++)
        a[i] = b[i] = 1;
    setenv("TESSERA_NUM_THREADS", "2", 1);
    setenv("TESSERA_DEVICE", "cpu", 1);
    for (int called_before = 0; called_before < 2; called_before++) {
        int status = -1;
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0)
            _exit(!fork_meanwhile(called_before));
        waitpid(child, &status, 0);
        printf("a fork while another thread is in the loader, %s: %s\n",
               called_before ? "after a call" : "before the first call", status == 0 ? "ok" : "hangs or wrong");
        wrong += status != 0;
    }
    return wrong != 0;
}
