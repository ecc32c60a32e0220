#include "core/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "core/float_control.h"
#include "core/limit.h"
#include "core/process.h"
#include "core/thread.h"
#include "core/uncancelled.h"

enum {
    MAX_WORKERS = 1023,
    LOOKS = 1000,           /* of a thread that expects news, before it sleeps: 100 to 200 us */
    ASKED = 8,              /* so many questions about short products are one look at the clock */
    BURST_NS = 1600000,     /* in which they come where calls follow each other */
    ROUSE_NS = 100000,      /* between two attempts to wake workers for what follows; */
    MOST_ROUSE_NS = 4000000 /* twice as long after each that came to nothing, up to this */
};

typedef struct job {
    tsr_task *task;
    void *data;
    int64_t count;
    _Atomic int64_t next;
    tsr_float_control control; /* the caller's, for workers: all threads round alike */
} job;

struct tsr_crew {
    int process;         /* whose threads these are (core/process.h) */
    tsr_crew *inherited; /* the parent's crew: its threads do not exist here, and its locks may be held for ever */
    atomic_int callers;  /* in tsr_pool_run, with the crew or without */
    atomic_int busy;     /* a caller's job is on */
    atomic_int wanted;   /* workers that may still join the job; the one that takes it from n to n - 1 gets slot n */
    _Atomic(job *) job;  /* valid for those that joined */
    atomic_int working;  /* workers in the job, or about to find out that they are too late for it */
    atomic_int awaited;  /* the caller sleeps until there are none */
    atomic_int sleeping; /* workers that need a signal */
    atomic_int awake;    /* workers that look for a job rather than sleep */
    atomic_uint posted;  /* jobs so far */
    atomic_int workers;  /* threads started */
    atomic_int caller;   /* processor of the last caller; -1: not known */
    /* tsr_pool_is_ready: how often it was asked, when it looked at the clock, when it woke workers, or let them be
     * woken, and how long it does not do so again */
    atomic_uint asked;
    _Atomic int64_t asked_ns, roused_ns, pause_ns;

    pthread_mutex_t lock; /* for going to sleep and being woken, and for what follows */
    pthread_cond_t wake, done;
    atomic_int stop; /* the crew is dismissed */
    pthread_t threads[MAX_WORKERS];
};

static void work(job *j, int slot)
{
    int64_t index;
    while ((index = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed)) < j->count)
        j->task(j->data, index, slot);
}

/* Each that is woken wakes two more: the caller need not spend a system call on each. */
static void wake(tsr_crew *crew)
{
    const int wanted = atomic_load(&crew->wanted);
    if (wanted == 0 || atomic_load(&crew->sleeping) == 0)
        return;
    pthread_mutex_lock(&crew->lock);
    for (int i = 0; i < 2 && i < wanted; i++)
        pthread_cond_signal(&crew->wake);
    pthread_mutex_unlock(&crew->lock);
}

static void leave(tsr_crew *crew)
{
    if (atomic_fetch_sub(&crew->working, 1) > 1 || !atomic_load(&crew->awaited))
        return;
    pthread_mutex_lock(&crew->lock);
    pthread_cond_signal(&crew->done);
    pthread_mutex_unlock(&crew->lock);
}

/* A slot in the job that is on, 0 if there is none. A worker counts as working before it asks: the caller that has
 * ended its job, by setting `wanted` to 0, and then sees nobody working, knows that none will join. No lock: with many
 * workers each would wait for all others. */
static int join(tsr_crew *crew)
{
    if (atomic_load(&crew->wanted) == 0)
        return 0;
    atomic_fetch_add(&crew->working, 1);
    int slot = atomic_load(&crew->wanted);
    while (slot > 0 && !atomic_compare_exchange_weak(&crew->wanted, &slot, slot - 1))
        ;
    if (slot == 0)
        leave(crew);
    return slot;
}

/* Waits a little for a job without sleeping, which takes longer to end than a small product; whoever else wants the
 * processor gets it at each look, and on a loaded machine keeps it for milliseconds. 1 if one was posted, which others
 * may have taken. */
static int look_for_job(tsr_crew *crew)
{
    const unsigned seen = atomic_load(&crew->posted);
    int looks = 0;
    atomic_fetch_add(&crew->awake, 1);
    tsr_thread_leave_processor(atomic_load(&crew->caller));
    while (looks < LOOKS && atomic_load(&crew->wanted) == 0 && atomic_load(&crew->posted) == seen &&
           !atomic_load(&crew->stop)) {
        sched_yield();
        looks++;
    }
    atomic_fetch_sub(&crew->awake, 1);
    return looks < LOOKS && !atomic_load(&crew->stop);
}

/* 0 if the crew is dismissed. */
static int sleep_until_woken(tsr_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    atomic_fetch_add(&crew->sleeping, 1);
    if (!atomic_load(&crew->stop) && atomic_load(&crew->wanted) == 0)
        pthread_cond_wait(&crew->wake, &crew->lock);
    atomic_fetch_sub(&crew->sleeping, 1);
    const int stop = atomic_load(&crew->stop);
    pthread_mutex_unlock(&crew->lock);
    if (stop)
        return 0;
    tsr_thread_leave_processor(atomic_load(&crew->caller));
    return 1;
}

static void *worker(void *argument)
{
    tsr_crew *crew = argument;
    for (;;) {
        const int slot = join(crew);
        if (slot > 0) {
            wake(crew);
            job *const j = atomic_load(&crew->job);
            tsr_set_float_control(j->control);
            work(j, slot);
            leave(crew);
        } else if (!look_for_job(crew) && !sleep_until_woken(crew)) {
            return NULL;
        }
    }
}

/* This process's crew; NULL when there is no memory for one. */
static tsr_crew *own_crew(tsr_pool *pool)
{
    const int process = tsr_process();
    tsr_crew *crew = atomic_load(&pool->crew);
    if (crew && crew->process == process)
        return crew;
    tsr_crew *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->process = process;
    made->inherited = crew;
    atomic_init(&made->pause_ns, ROUSE_NS);
    atomic_init(&made->caller, -1);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->wake, NULL);
    pthread_cond_init(&made->done, NULL);
    if (atomic_compare_exchange_strong(&pool->crew, &crew, made))
        return made;
    free(made); /* another thread was first */
    return crew;
}

/* Starts workers until there are `count`, as far as the system lets us. Called with the lock held. */
static void hire(tsr_crew *crew, int count)
{
    for (int started = atomic_load(&crew->workers); started < count && started < MAX_WORKERS; started++) {
        if (tsr_thread_start(&crew->threads[started], worker, crew) != 0)
            break;
        atomic_store(&crew->workers, started + 1);
    }
}

void tsr_pool_init(tsr_pool *pool)
{
    atomic_init(&pool->crew, NULL);
}

void tsr_pool_destroy(tsr_pool *pool)
{
    tsr_crew *crew = atomic_load(&pool->crew);
    if (crew && crew->process == tsr_process()) {
        pthread_mutex_lock(&crew->lock);
        atomic_store(&crew->stop, 1);
        pthread_cond_broadcast(&crew->wake);
        pthread_mutex_unlock(&crew->lock);
        for (int i = 0; i < atomic_load(&crew->workers); i++)
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
static void wait_for_workers(tsr_crew *crew)
{
    for (int looks = 0; looks < LOOKS && atomic_load(&crew->working) > 0; looks++)
        sched_yield();
    if (atomic_load(&crew->working) == 0)
        return;
    pthread_mutex_lock(&crew->lock);
    /* An exchange: qemu-user lets a store fall behind the load that follows, though AArch64's own order does not, and
     * the worker that is last would see nobody wait. */
    atomic_exchange(&crew->awaited, 1);
    while (atomic_load(&crew->working) > 0)
        pthread_cond_wait(&crew->done, &crew->lock);
    atomic_store(&crew->awaited, 0);
    pthread_mutex_unlock(&crew->lock);
}

/* The next attempt to wake workers is not made so soon, after one that came to nothing. */
static void pause_longer(tsr_crew *crew)
{
    const int64_t twice = 2 * atomic_load(&crew->pause_ns);
    atomic_store(&crew->pause_ns, twice < MOST_ROUSE_NS ? twice : MOST_ROUSE_NS);
}

static void work_together(tsr_crew *crew, job *j, int helpers)
{
    TSR_UNCANCELLED();
    atomic_store(&crew->caller, sched_getcpu());
    if (atomic_load(&crew->workers) < helpers) {
        pthread_mutex_lock(&crew->lock);
        hire(crew, helpers);
        pthread_mutex_unlock(&crew->lock);
    }
    const int workers = atomic_load(&crew->workers);
    const int wanted = helpers < workers ? helpers : workers;
    j->control = tsr_get_float_control();
    atomic_store(&crew->job, j);
    atomic_store(&crew->wanted, wanted);
    atomic_fetch_add(&crew->posted, 1);
    wake(crew);

    work(j, 0);

    if (atomic_exchange(&crew->wanted, 0) < wanted)
        atomic_store(&crew->pause_ns, ROUSE_NS);
    else
        pause_longer(crew);
    wait_for_workers(crew);
}

void tsr_pool_run(tsr_pool *pool, int slots, int64_t count, tsr_task *task, void *data)
{
    job j = {.task = task, .data = data, .count = count};
    int helpers = tsr_allowed_threads(slots) - 1;
    if (count <= helpers)
        helpers = (int)count - 1;
    tsr_crew *crew = helpers > 0 && !tsr_in_parallel_region() ? own_crew(pool) : NULL;
    if (!crew) {
        work(&j, 0);
        return;
    }
    /* The other callers' threads work as well. */
    const int callers = atomic_fetch_add(&crew->callers, 1) + 1;
    if (helpers > slots - callers)
        helpers = slots - callers;
    if (helpers > 0 && !atomic_exchange(&crew->busy, 1)) {
        work_together(crew, &j, helpers);
        atomic_store(&crew->busy, 0);
    } else {
        work(&j, 0);
    }
    atomic_fetch_sub(&crew->callers, 1);
}

static int64_t now_in_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int tsr_pool_is_awake(tsr_pool *pool)
{
    tsr_crew *crew = atomic_load(&pool->crew);
    return crew && atomic_load(&crew->awake) > 0;
}

int tsr_pool_is_ready(tsr_pool *pool, int slots, int long_enough)
{
    slots = tsr_allowed_threads(slots);
    tsr_crew *crew = slots > 1 ? atomic_load(&pool->crew) : NULL;
    /* Asking the system for the process or the time takes longer than a short product may wait: not each time. */
    if (slots < 2 ||
        (!long_enough && crew && atomic_load(&crew->awake) == 0 && atomic_fetch_add(&crew->asked, 1) % ASKED != 0))
        return 0;
    crew = tsr_in_parallel_region() ? NULL : own_crew(pool); /* where the job would be run by one thread */
    if (!crew)
        return 0;
    if (atomic_load(&crew->awake) > 0) {
        if (atomic_load(&crew->pause_ns) != ROUSE_NS)
            atomic_store(&crew->pause_ns, ROUSE_NS);
        return 1;
    }
    const int64_t now_ns = now_in_ns();
    const int64_t since_ns = now_ns - atomic_exchange(&crew->asked_ns, now_ns);
    if (since_ns > BURST_NS || atomic_load(&crew->busy) ||
        now_ns - atomic_load(&crew->roused_ns) < atomic_load(&crew->pause_ns))
        return 0;
    atomic_store(&crew->roused_ns, now_ns);
    if (long_enough)
        return 1;
    atomic_store(&crew->caller, sched_getcpu());
    pause_longer(crew);
    pthread_mutex_lock(&crew->lock);
    hire(crew, slots - 1);
    pthread_cond_broadcast(&crew->wake); /* they find no job and look for the next */
    pthread_mutex_unlock(&crew->lock);
    return 0;
}
