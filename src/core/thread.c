#include "core/thread.h"

#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/error.h"

/* Of a thread, beside what it holds for thread-local variables; a sanitizer's frames are several times as large. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STACK_BYTES = 4 << 20 };
#else
enum { STACK_BYTES = 512 << 10 };
#endif
enum { PAGE_BYTES = 4096 };

/* ---- what the loader knows, asked while this code is loaded ----
 *
 * Not later: the child of a fork waits for ever for the loader's lock if another thread of its parent held it. */

static size_t tls_bytes; /* of all libraries: they lie on a thread's stack */

static int add_tls(struct dl_phdr_info *info, size_t bytes, void *sum)
{
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            *(size_t *)sum += info->dlpi_phdr[i].p_memsz + info->dlpi_phdr[i].p_align;
    return 0;
}

/* dlclose leaves this code where it is, since threads run it. The shared libraries are linked so; a plugin that holds
 * the static one is not. The first access to a thread-local variable may take the loader's lock as well. */
__attribute__((constructor)) static void know_loader(void)
{
    Dl_info place;
    struct link_map *map = NULL;
    static const char here;
    dl_iterate_phdr(add_tls, &tls_bytes);
    if (dladdr1(&here, &place, (void **)&map, RTLD_DL_LINKMAP) && map && map->l_name[0])
        dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE); /* the handle is for ever */
    tsr_last_error();
}

/* ---- threads ---- */

enum { MOST_PROCESSORS = 8192, MASK_WORDS = MOST_PROCESSORS / 8 / sizeof(unsigned long) };

typedef struct mask {
    unsigned long words[MASK_WORDS];
} mask;

static int read_mask(pid_t thread, mask *out)
{
    memset(out, 0, sizeof *out);
    return sched_getaffinity(thread, sizeof *out, (cpu_set_t *)(void *)out->words) == 0;
}

static int is_same(const mask *a, const mask *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Processors are the main thread's, as are those that are counted: the caller may be pinned to one. The mask is set
 * only where it differs, in a program that sets masks: others may be forbidden to. */
static void take_processors(pthread_attr_t *attributes)
{
    mask caller, process;
    if (read_mask(0, &caller) && read_mask(getpid(), &process) && !is_same(&caller, &process))
        pthread_attr_setaffinity_np(attributes, sizeof process, (const cpu_set_t *)(const void *)process.words);
}

/* Where a filter forbids system calls, one may end the process. */
static int may_set_mask(void)
{
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0;
}

static int set_mask(const mask *m)
{
    return sched_setaffinity(0, sizeof *m, (const cpu_set_t *)(const void *)m->words) == 0;
}

void tsr_thread_leave_processor(int processor)
{
    enum { TRIES = 3 };
    mask own, process, others;
    if (processor < 0 || processor >= MOST_PROCESSORS || sched_getcpu() != processor || !may_set_mask() ||
        !read_mask(0, &own) || !read_mask(getpid(), &process) || !is_same(&own, &process))
        return;
    others = process;
    CPU_CLR_S((size_t)processor, sizeof others, (cpu_set_t *)(void *)others.words);
    if (CPU_COUNT_S(sizeof others, (const cpu_set_t *)(const void *)others.words) == 0 || !set_mask(&others))
        return;
    /* It may go where it likes again, even if the process's mask was changed meanwhile, and then this thread's. */
    for (int i = 0; i < TRIES && read_mask(getpid(), &process) && set_mask(&process); i++)
        if (read_mask(getpid(), &own) && is_same(&own, &process))
            return;
}

/* A real-time caller's priority is its own. */
static void take_ordinary_priority(pthread_attr_t *attributes)
{
    const struct sched_param ordinary = {.sched_priority = 0};
    const int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    if (policy != SCHED_FIFO && policy != SCHED_RR)
        return;
    pthread_attr_setinheritsched(attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(attributes, SCHED_OTHER);
    pthread_attr_setschedparam(attributes, &ordinary);
}

/* As wanted; where the system refuses that, as it makes threads by itself. */
static int create(pthread_t *thread, void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    pthread_attr_setstacksize(&attributes, (STACK_BYTES + tls_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
    take_processors(&attributes);
    take_ordinary_priority(&attributes);
    error = pthread_create(thread, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
    return error ? pthread_create(thread, NULL, run, argument) : 0;
}

int tsr_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    /* Raised by what a thread does itself: blocked, they would end the process past its handlers. */
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t others, old;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(&others, own[i]);
    pthread_sigmask(SIG_SETMASK, &others, &old);
    const int error = create(thread, run, argument);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}
