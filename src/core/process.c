#include "core/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

enum { PID_BITS = 22, MOST_FORKS = 1 << (31 - PID_BITS) }; /* Linux has no more than 2^22 process ids */

/* Forks from the process that loaded this code down to this one, above the id of the process that they were counted in.
 * Both in one word: whoever sees a new id counts the fork, once. */
static _Atomic uint64_t state;
static atomic_int is_noticed; /* since the last fork: it was counted by its new id, before the handler heard of it */

static uint64_t counted(uint64_t before, uint64_t pid)
{
    return ((before >> 32) + 1) << 32 | pid;
}

static void before_fork(void)
{
    atomic_store_explicit(&is_noticed, 0, memory_order_relaxed);
}

static void count_fork(void)
{
    const uint64_t before = atomic_load_explicit(&state, memory_order_relaxed), pid = (uint32_t)getpid();
    if ((uint32_t)before != pid || !atomic_load_explicit(&is_noticed, memory_order_relaxed))
        atomic_store_explicit(&state, counted(before, pid), memory_order_relaxed);
}

/* The system call alone, without glibc's fork, runs no handler; there the id tells, as it does in handlers of programs
 * that run before this one. Before the library's other constructors, which ask. */
__attribute__((constructor(101))) static void hear_of_forks(void)
{
    atomic_store_explicit(&state, (uint32_t)getpid(), memory_order_relaxed);
    pthread_atfork(before_fork, NULL, count_fork);
}

int tsr_process(void)
{
    const uint64_t pid = (uint32_t)getpid();
    uint64_t now = atomic_load_explicit(&state, memory_order_relaxed);
    while ((uint32_t)now != pid) {
        if (atomic_compare_exchange_weak_explicit(&state, &now, counted(now, pid), memory_order_relaxed,
                                                  memory_order_relaxed)) {
            atomic_store_explicit(&is_noticed, 1, memory_order_relaxed);
            now = counted(now, pid);
        }
    }
    return (int)((uint32_t)(now >> 32) % MOST_FORKS << PID_BITS | (uint32_t)pid);
}
