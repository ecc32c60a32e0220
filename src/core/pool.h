/* Worker threads, of a CPU device or of copies to a GPU. A job is a number of independent tasks; the caller works too.
 * Workers sleep between jobs. Which thread runs which task is left to chance, so tasks must not depend on it.
 *
 * Any thread may run a job at any time. Callers count as threads: a job gets as many helpers fewer as there are other
 * callers, and if the workers are busy with one of theirs, it gets none. So a program that calls from as many threads
 * as there are processors is not slowed down by workers. The child of a fork may run jobs too; it makes workers of its
 * own. */
#ifndef TSR_CORE_POOL_H
#define TSR_CORE_POOL_H

#include <stdatomic.h>
#include <stdint.h>

/* Task `index` of a job, run in slot `slot`: no two tasks run in one slot at once; the caller's slot is 0. */
typedef void tsr_task(void *job, int64_t index, int slot);

typedef struct tsr_crew tsr_crew;

typedef struct tsr_pool {
    _Atomic(tsr_crew *) crew; /* made by the first job that needs it, in each process */
} tsr_pool;

void tsr_pool_init(tsr_pool *pool);
/* No job may be running. */
void tsr_pool_destroy(tsr_pool *pool);

/* Runs tasks 0 .. count - 1 in up to `slots` threads, the caller's among them, and returns when all are done. */
void tsr_pool_run(tsr_pool *pool, int slots, int64_t count, tsr_task *task, void *data);

/* For short jobs: 1 if tsr_pool_run is worth while for up to `slots` threads: some worker is awake or, where calls
 * follow each other closely, the job takes so `long_enough`, some 100 us, that one that is woken for it still finds
 * work. Those that lately came too late are not woken for a while. If not, but calls follow each other closely, wakes
 * them for the next one. */
int tsr_pool_is_ready(tsr_pool *pool, int slots, int long_enough);

/* For jobs that are run by threads anyway: 1 if some worker is awake, so that smaller tasks are worth a thread. */
int tsr_pool_is_awake(tsr_pool *pool);

#endif
