/* Threads of the library's own. From its load on dlclose leaves the shared object that this code lies in where it is:
 * the library, or a plugin that was linked with it. */
#ifndef TSR_CORE_THREAD_H
#define TSR_CORE_THREAD_H

#include <pthread.h>

/* pthread_create. Signals that are sent to the process stay with the program's own threads; those that a thread raises
 * by what it does (SIGSEGV, SIGBUS, ...) find the program's handlers. The thread may use the main thread's processors,
 * whatever the caller's are, has no real-time priority, and a stack of a size of its own. */
int tsr_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

/* Moves the calling thread, one of the library's own, to another processor if it is on this one: a thread that is woken
 * often finds itself on the processor of the one that woke it, where it helps nobody. Not if somebody has pinned it,
 * and not under a filter of system calls (seccomp). */
void tsr_thread_leave_processor(int processor);

#endif
