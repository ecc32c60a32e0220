/* Calls from within a parallel region: each of its threads works for itself, and no other thread is started. Outside of
 * it a call has threads of its own. */
#include <dirent.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "tessera.h"

enum { N = 400, TEAM = 2, THREADS = 6 };

static float a[N * N], b[N * N], c[TEAM][N * N];

static int tasks(void)
{
    int count = -2; /* "." and ".." */
    DIR *folder = opendir("/proc/self/task");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

static int multiply(int slot)
{
    return tsr_sgemm(TSR_N, TSR_N, N, N, N, 1, a, N, b, N, 0, c[slot], N) == TSR_OK && c[slot][N * N - 1] == N;
}

/* Products that threads would share only if they were awake. */
static int multiply_small(int slot)
{
    enum { SMALL = 110 };
    int right = 1;
    for (int i = 0; i < 500; i++)
        right = tsr_sgemm(TSR_N, TSR_N, SMALL, SMALL, SMALL, 1, a, N, b, N, 0, c[slot], N) == TSR_OK && right;
    return right && c[slot][0] == SMALL;
}

int main(void)
{
    int right = 1;
    setenv("TESSERA_NUM_THREADS", "6", 1);
    setenv("TESSERA_DEVICE", "cpu", 1);
    for (int i = 0; i < N * N; i++)
        a[i] = b[i] = 1;
#pragma omp parallel num_threads(TEAM) reduction(&& : right)
    for (int round = 0; round < 5; round++)
        right = multiply(omp_get_thread_num()) && multiply_small(omp_get_thread_num()) && right;
    const int within = tasks();
    right = right && multiply(0);
    const int after = tasks();
    printf("%d threads after the region, %d after a call outside\n", within, after);
    return !(right && within == TEAM && after == TEAM + THREADS - 1);
}
