#include "core/thread.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>

int tsr_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    /* Raised by what a thread does itself: blocked, they would end the process past its handlers. */
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t others, old;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(&others, own[i]);
    pthread_sigmask(SIG_SETMASK, &others, &old);
    const int error = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

/* The shared libraries are linked to be never unloaded; a plugin that holds the static one is not. */
void tsr_stay_loaded(void)
{
    Dl_info place;
    struct link_map *map = NULL;
    static const char here;
    if (dladdr1(&here, &place, (void **)&map, RTLD_DL_LINKMAP) && map && map->l_name[0])
        dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE); /* the handle is for ever */
}
