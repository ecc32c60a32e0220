/* A CUDA driver for tests: libcuda.so.1 without a GPU behind it. It keeps a record of what it is asked, has device
 * memory that is host memory, checks that calls come with the right context current, and fails where it is told to.
 * Kernels do not run, unless the test brings a function for them. */
#ifndef TESTS_FAKE_CUDA_H
#define TESTS_FAKE_CUDA_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/gemm_args.h"
#include "core/microbench_args.h"
#include "cuda/driver.h"

enum { FAKE_ATTRIBUTES = 2 };

typedef struct fake_launch {
    tsr_cu_function function;
    unsigned grid[3], block[3], smem_bytes;
    tsr_cu_stream stream;
    tsr_gemm_args args;
    tsr_microbench_args microbench; /* instead, of such a kernel */
    tsr_cu_launch_attribute attributes[FAKE_ATTRIBUTES];
    unsigned attribute_count;
} fake_launch;

typedef struct fake_cuda {
    /* What the driver is. */
    int version, device_count; /* $FAKE_CUDA_DEVICES, or 1 */
    int attributes[160];
    const char *name, *bus_id;
    size_t memory_bytes;
    int function_most_threads;
    int clusters;                              /* of any kernel, at the same time */
    void (*kernel)(const tsr_gemm_args *args); /* what launches do; NULL: nothing */
    /* Modules have every function, which $FAKE_CUDA_ANY_FUNCTION sets for programs that do not know the fake driver;
     * otherwise the image is the name of the only one. */
    int any_function;
    /* Between two events 1.5 ms pass, or with $FAKE_CUDA_HOST_TIME what passed on the host between the last two that
     * were recorded: then a round has as many calls as fit it, not the most that there may be. */
    int has_host_time;
    double recorded_ms[2];
    /* What goes wrong: `fail_call` returns fail_result from its call number fail_from on (0: the first). */
    const char *fail_call;
    unsigned fail_result;
    int fail_from;
    const char *missing_call; /* cuGetProcAddress does not know it */
    const char *compiler_log; /* written when a module fails to load */
    /* What happened. */
    int retained, modules, streams, events, allocations, pinned, graphs; /* alive; graphs with their executables */
    int capturing, graph_launches;
    int module_loads, launches, maps, synchronizes, function_loads;
    int context_errors; /* calls without the right context, or unbalanced pops */
    int proc_errors;    /* cuGetProcAddress with unexpected flags or version */
    int seen_failing;
    int raised_smem_bytes; /* by cuFuncSetAttribute; 0: never */
    size_t last_alloc_bytes;
    tsr_cu_launch_config clusters_asked_of; /* by the last cuOccupancyMaxActiveClusters */
    fake_launch launch;                     /* the last */
} fake_cuda;

/* Of the loaded library. reset brings back an H200's figures and no failures; `foreign` is a context that the test may
 * make current as the caller's own, `primary` the device's; `depth` and `current` look at this thread's stack of
 * contexts. */
typedef struct fake_cuda_access {
    fake_cuda *state;
    void (*reset)(void);
    tsr_cu_context foreign, primary;
    void (*push)(tsr_cu_context context);
    void (*pop)(void);
    tsr_cu_context (*current)(void);
    int (*depth)(void);
} fake_cuda_access;

#ifndef FAKE_CUDA_LIBRARY
/* Starts the test program again with `folder` before all others that hold libraries, unless that was done. */
static inline void fake_cuda_start(char **argv, const char *folder)
{
    const char *path = getenv("LD_LIBRARY_PATH");
    if (path && strncmp(path, folder, strlen(folder)) == 0)
        return;
    setenv("LD_LIBRARY_PATH", folder, 1);
    execv("/proc/self/exe", argv);
    perror("cannot start again");
    exit(1);
}

static inline fake_cuda_access fake_cuda_find(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NODELETE);
    const fake_cuda_access *access = library ? dlsym(library, "fake_cuda_access_points") : NULL;
    if (!access) {
        fprintf(stderr, "libcuda.so.1 is not the fake driver\n");
        exit(1);
    }
    return *access;
}
#endif

#endif
