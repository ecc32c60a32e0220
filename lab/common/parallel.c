#include "lab/common/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define THREADS_MAX 256

typedef struct shared_work {
    _Atomic int64_t next;
    int64_t count;
    void (*work)(void *user, int64_t index);
    void *user;
} shared_work;

static void *take_turns(void *argument)
{
    shared_work *shared = argument;
    for (;;) {
        int64_t index = atomic_fetch_add(&shared->next, 1);
        if (index >= shared->count)
            return NULL;
        shared->work(shared->user, index);
    }
}

int lab_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1; /* more processors than the set holds */
    return CPU_COUNT(&set);
}

void lab_parallel(int64_t count, int threads, void (*work)(void *user, int64_t index), void *user)
{
    shared_work shared = {.next = 0, .count = count, .work = work, .user = user};
    pthread_t helpers[THREADS_MAX];
    int started = 0;
    if (threads <= 0)
        threads = count > 1 ? lab_processors() : 1;
    if (threads > count)
        threads = (int)count;
    for (; started < threads - 1 && started < THREADS_MAX; started++)
        if (pthread_create(&helpers[started], NULL, take_turns, &shared) != 0)
            break;
    take_turns(&shared);
    for (int i = 0; i < started; i++)
        pthread_join(helpers[i], NULL);
}
