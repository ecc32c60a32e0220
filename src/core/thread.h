/* Threads of the library's own. */
#ifndef TSR_CORE_THREAD_H
#define TSR_CORE_THREAD_H

#include <pthread.h>

/* pthread_create. Signals that are sent to the process stay with the program's own threads; those that a thread raises
 * by what it does (SIGSEGV, SIGBUS, ...) find the program's handlers. */
int tsr_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

/* From now on dlclose leaves the shared object that this code lies in where it is: the library, or a plugin that was
 * linked with it. To be called before the first thread is started, with no lock held: the loader has one of its own. */
void tsr_stay_loaded(void);

#endif
