#include "core/limit.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "core/error.h"
#include "core/process.h"
#include "core/thread.h"

#define MOST_THREADS 4096

/* 0: no limit. */
static atomic_int process_limit;
static _Thread_local int thread_limit;

static tsr_status check(int threads)
{
    return threads >= 0 && threads <= MOST_THREADS
               ? TSR_OK
               : tsr_fail(TSR_INVALID_ARGUMENT, "threads = %d: must be 0 to %d", threads, MOST_THREADS);
}

tsr_status tsr_set_threads(int threads)
{
    const tsr_status status = check(threads);
    if (status == TSR_OK)
        atomic_store_explicit(&process_limit, threads, memory_order_relaxed);
    return status;
}

tsr_status tsr_set_threads_here(int threads)
{
    const tsr_status status = check(threads);
    if (status == TSR_OK)
        thread_limit = threads;
    return status;
}

int tsr_allowed_threads(int wanted)
{
    const int process = atomic_load_explicit(&process_limit, memory_order_relaxed), here = thread_limit;
    if (process > 0 && process < wanted)
        wanted = process;
    return here > 0 && here < wanted ? here : wanted;
}

/* ---- OpenMP ---- */

enum { MOST_RUNTIMES = 4 };
typedef int in_parallel_function(void);

/* Runtimes are looked for anew when libraries were loaded since. They are not unloaded: their threads run on. */
static _Atomic(in_parallel_function *) runtimes[MOST_RUNTIMES];
static atomic_ullong known_loads;

typedef struct search {
    unsigned long long loads;
    char paths[MOST_RUNTIMES][512];
    int count;
} search;

static int count_loads(struct dl_phdr_info *info, size_t bytes, void *loads)
{
    (void)bytes;
    *(unsigned long long *)loads = info->dlpi_adds;
    return 1; /* the first object tells it all */
}

/* GNU's, LLVM's and Intel's, wheels' copies with numbers in their names too. */
static int is_runtime(const char *path)
{
    static const char *const names[] = {"libgomp", "libomp", "libiomp5"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const size_t length = strlen(names[i]);
        if (strncmp(name, names[i], length) == 0 && (name[length] == '.' || name[length] == '-'))
            return 1;
    }
    return 0;
}

static int note_runtime(struct dl_phdr_info *info, size_t bytes, void *data)
{
    search *s = data;
    (void)bytes;
    if (info->dlpi_name && is_runtime(info->dlpi_name) && strlen(info->dlpi_name) < sizeof s->paths[0] &&
        s->count < MOST_RUNTIMES)
        strcpy(s->paths[s->count++], info->dlpi_name);
    return 0;
}

static void find_runtimes(void)
{
    search s = {.count = 0};
    dl_iterate_phdr(note_runtime, &s);
    for (int i = 0; i < s.count; i++) {
        void *const library = dlopen(s.paths[i], RTLD_LAZY | RTLD_NOLOAD); /* stays, as long as it may be called */
        void *const symbol = library ? dlsym(library, "omp_in_parallel") : NULL;
        in_parallel_function *function;
        memcpy(&function, &symbol, sizeof function);
        atomic_store(&runtimes[i], function);
    }
}

static void look_for_runtimes(void)
{
    unsigned long long loads = 0;
    dl_iterate_phdr(count_loads, &loads);
    if (atomic_load(&known_loads) == loads)
        return;
    find_runtimes();
    atomic_store(&known_loads, loads);
}

/* The process in which the loader has answered. The child of a fork knows what its parent knew; it may wait for ever
 * for the loader's lock, if another thread of its parent held that. So a thread that nobody waits for asks first. */
static atomic_int answered;

static void *ask_loader(void *unused)
{
    look_for_runtimes();
    atomic_store(&answered, tsr_process());
    return unused;
}

static void ask_in_thread(int process)
{
    static atomic_int asking; /* the process that does, or did */
    int before = atomic_load(&asking);
    pthread_t thread;
    if (before != process && atomic_compare_exchange_strong(&asking, &before, process) &&
        tsr_thread_start(&thread, ask_loader, NULL) == 0)
        pthread_detach(thread);
}

__attribute__((constructor)) static void know_runtimes(void)
{
    ask_loader(NULL);
    tsr_allowed_threads(1); /* whose thread-local variable the loader may have to find, for the first who asks */
}

int tsr_in_parallel_region(void)
{
    const int process = tsr_process();
    if (atomic_load(&answered) == process)
        look_for_runtimes();
    else
        ask_in_thread(process);
    for (int i = 0; i < MOST_RUNTIMES; i++) {
        in_parallel_function *const in_parallel = atomic_load(&runtimes[i]);
        if (in_parallel && in_parallel())
            return 1;
    }
    return 0;
}
