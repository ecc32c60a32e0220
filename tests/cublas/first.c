/* A library whose constructor calls cuBLAS while a thread that it started does the same: the constructor holds the
 * loader's lock, for which the thread waits. */
#include <pthread.h>
#include <time.h>

#include "cublas/abi.h"

tsr_cublas_status cublasCreate_v2(void **handle);
tsr_cublas_status cublasDestroy_v2(void *handle);

static pthread_t thread;
static int results[2] = {-1, -1};

static int call(void)
{
    void *handle;
    return cublasCreate_v2(&handle) || cublasDestroy_v2(handle);
}

static void *run(void *user)
{
    results[1] = call();
    return user;
}

__attribute__((constructor)) static void start(void)
{
    const struct timespec until_it_waits = {0, 200000000};
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        return;
    nanosleep(&until_it_waits, NULL);
    results[0] = call();
}

/* 0 if both calls succeeded. */
__attribute__((visibility("default"))) int first_calls(void);
int first_calls(void)
{
    return pthread_join(thread, NULL) || results[0] || results[1];
}
