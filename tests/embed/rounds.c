/* rounds LIBRARY FUNCTION: opens the library, multiplies with two threads and closes it, 1,000 times over. Nothing may
 * crash, then or after, and no thread, file descriptor or mapping may be left for each round. FUNCTION is tsr_sgemm,
 * cblas_sgemm, or that of tests/embed/plugin.c, which has the library within itself. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { ROUNDS = 50 }; /* slow ones */
#else
enum { ROUNDS = 1000 };
#endif
enum { N = 400, WARM = 3 };

typedef int tsr_function(int, int, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t,
                         float, float *, int64_t);
typedef void cblas_function(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                            int);
typedef int plugin_function(int n, const float *a, const float *b, float *c);

static float a[N * N], b[N * N], c[N * N];

static int call(const char *name, void *symbol)
{
    enum { ROW_MAJOR = 101, NO_TRANS = 111 };
    int failed = 0;
    memset(c, 0, sizeof c);
    if (strcmp(name, "tsr_sgemm") == 0) {
        tsr_function *function;
        memcpy(&function, &symbol, sizeof function);
        failed = function(0, 0, N, N, N, 1, a, N, b, N, 0, c, N);
    } else if (strcmp(name, "cblas_sgemm") == 0) {
        cblas_function *function;
        memcpy(&function, &symbol, sizeof function);
        function(ROW_MAJOR, NO_TRANS, NO_TRANS, N, N, N, 1, a, N, b, N, 0, c, N);
    } else {
        plugin_function *function;
        memcpy(&function, &symbol, sizeof function);
        failed = function(N, a, b, c);
    }
    return !failed && c[0] == N && c[N * N - 1] == N;
}

static int entries(const char *folder)
{
    int count = 0;
    DIR *opened = opendir(folder);
    while (opened && readdir(opened))
        count++;
    if (opened)
        closedir(opened);
    return count;
}

static int lines(const char *path)
{
    int count = 0, letter;
    FILE *file = fopen(path, "r");
    while (file && (letter = fgetc(file)) != EOF)
        count += letter == '\n';
    if (file)
        fclose(file);
    return count;
}

static int one_round(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW);
    void *symbol = handle ? dlsym(handle, name) : NULL;
    if (!symbol) {
        printf("%s\n", dlerror());
        return 0;
    }
    return call(name, symbol) && dlclose(handle) == 0;
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    setenv("TESSERA_NUM_THREADS", "2", 1);
    setenv("TESSERA_DEVICE", "cpu", 1);
    for (int i = 0; i < N * N; i++)
        a[i] = b[i] = 1;
    int threads = 0, files = 0, maps = 0;
    const struct timespec moment = {0, 1000000};
    for (int round = 0; round < ROUNDS; round++) {
        if (!one_round(arguments[1], arguments[2])) {
            printf("round %d failed\n", round);
            return 1;
        }
        if (round % 50 == 0) /* what unmapped code would run on */
            nanosleep(&moment, NULL);
        if (round == WARM) {
            threads = entries("/proc/self/task");
            files = entries("/proc/self/fd");
            maps = lines("/proc/self/maps");
        }
    }
    const int more_threads = entries("/proc/self/task") - threads, more_files = entries("/proc/self/fd") - files;
    const int more_maps = lines("/proc/self/maps") - maps;
    printf("after %d rounds: %d threads more, %d files, %d mappings\n", ROUNDS, more_threads, more_files, more_maps);
    return more_threads > 0 || more_files > 0 || more_maps > 20; /* the heap may have grown here and there */
}
