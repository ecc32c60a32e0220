#include "cpu/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_WORKERS = 1023 };

typedef struct job {
    tsr_task *task;
    void *data;
    int64_t count;
    _Atomic int64_t next;
} job;

struct tsr_crew {
    pid_t pid;           /* the process whose threads these are */
    tsr_crew *inherited; /* the parent's crew: its threads do not exist here, and its locks may be held for ever */
    atomic_int busy;     /* a caller's job is on */

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t wake, done;
    int workers; /* threads started */
    int wanted;  /* workers that may still join the job */
    int joined;  /* slots given out in this job, the caller's among them */
    int working; /* workers in the job now */
    int stop;
    job *job;
    pthread_t threads[MAX_WORKERS];
};

static void work(job *j, int slot)
{
    int64_t index;
    while ((index = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed)) < j->count)
        j->task(j->data, index, slot);
}

/* Each that is woken wakes two more: the caller need not spend a system call on each. Called with the lock held. */
static void wake(tsr_crew *crew)
{
    for (int i = 0; i < 2 && i < crew->wanted; i++)
        pthread_cond_signal(&crew->wake);
}

static void *worker(void *argument)
{
    tsr_crew *crew = argument;
    pthread_mutex_lock(&crew->lock);
    for (;;) {
        while (!crew->stop && crew->wanted == 0)
            pthread_cond_wait(&crew->wake, &crew->lock);
        if (crew->stop)
            break;
        job *const j = crew->job;
        const int slot = crew->joined++;
        crew->wanted--;
        crew->working++;
        wake(crew);
        pthread_mutex_unlock(&crew->lock);
        work(j, slot);
        pthread_mutex_lock(&crew->lock);
        if (--crew->working == 0)
            pthread_cond_signal(&crew->done);
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* This process's crew; NULL when there is no memory for one. */
static tsr_crew *own_crew(tsr_pool *pool)
{
    const pid_t pid = getpid();
    tsr_crew *crew = atomic_load(&pool->crew);
    if (crew && crew->pid == pid)
        return crew;
    tsr_crew *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->pid = pid;
    made->inherited = crew;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->wake, NULL);
    pthread_cond_init(&made->done, NULL);
    if (atomic_compare_exchange_strong(&pool->crew, &crew, made))
        return made;
    free(made); /* another thread was first */
    return crew;
}

/* Starts workers until there are `count`, as far as the system lets us; signals stay with the program's own threads.
 * Called with the lock held. */
static void hire(tsr_crew *crew, int count)
{
    sigset_t all, old;
    if (crew->workers >= count)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (crew->workers < count && crew->workers < MAX_WORKERS &&
           pthread_create(&crew->threads[crew->workers], NULL, worker, crew) == 0)
        crew->workers++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void tsr_pool_init(tsr_pool *pool)
{
    atomic_init(&pool->crew, NULL);
}

void tsr_pool_destroy(tsr_pool *pool)
{
    tsr_crew *crew = atomic_load(&pool->crew);
    if (crew && crew->pid == getpid()) {
        pthread_mutex_lock(&crew->lock);
        crew->stop = 1;
        pthread_cond_broadcast(&crew->wake);
        pthread_mutex_unlock(&crew->lock);
        for (int i = 0; i < crew->workers; i++)
            pthread_join(crew->threads[i], NULL);
        pthread_mutex_destroy(&crew->lock);
        pthread_cond_destroy(&crew->wake);
        pthread_cond_destroy(&crew->done);
    }
    while (crew) {
        tsr_crew *const inherited = crew->inherited;
        free(crew);
        crew = inherited;
    }
}

/* A worker that wakes too late for the job finds `wanted` at 0 and sleeps on: the caller waits only for tasks that were
 * begun, never for a thread to be scheduled. */
void tsr_pool_run(tsr_pool *pool, int slots, int64_t count, tsr_task *task, void *data)
{
    job j = {.task = task, .data = data, .count = count};
    int helpers = slots - 1;
    if (count <= helpers)
        helpers = (int)count - 1;
    tsr_crew *crew = helpers > 0 ? own_crew(pool) : NULL;
    if (!crew || atomic_exchange(&crew->busy, 1)) {
        work(&j, 0);
        return;
    }
    pthread_mutex_lock(&crew->lock);
    hire(crew, helpers);
    crew->job = &j;
    crew->joined = 1;
    crew->wanted = helpers < crew->workers ? helpers : crew->workers;
    wake(crew);
    pthread_mutex_unlock(&crew->lock);

    work(&j, 0);

    pthread_mutex_lock(&crew->lock);
    crew->wanted = 0;
    while (crew->working > 0)
        pthread_cond_wait(&crew->done, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
    atomic_store(&crew->busy, 0);
}
