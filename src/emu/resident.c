/* A worker's CTAs. Most kernels need one at a time. Where CTAs wait for each other, more become resident: whenever all
 * that are wait, one more is started, up to what the GPU would hold. */
#include <sched.h>

#include "emu/emulated_machine.h"

/* Memory for one more resident CTA, NULL when there is not enough. */
static emu_cta *slot_make(emu_worker *worker)
{
    emu_cta *cta = worker->free;
    if (cta)
        worker->free = cta->next;
    else
        cta = tsr_emu_slot_make(&worker->launch->shape, worker->launch->job->pool);
    if (!cta)
        return NULL;
    cta->worker = worker;
    if (worker->launch->job->watcher && !cta->watch && !tsr_emu_watch_make(cta)) {
        tsr_emu_slot_free(cta);
        return NULL;
    }
    return cta;
}

void tsr_emu_worker_free(emu_worker *worker)
{
    /* A fault leaves a slot's threads where they were; only slots of CTAs that ended are good for the next launch. */
    tsr_emu_pool *pool = worker->fault.kind == EMU_NO_FAULT ? worker->launch->job->pool : NULL;
    for (emu_cta *cta = worker->resident, *next; cta; cta = next) {
        next = cta->next;
        tsr_emu_slot_free(cta);
    }
    for (emu_cta *cta = worker->free, *next; cta; cta = next) {
        next = cta->next;
        tsr_emu_slot_keep(cta, pool);
    }
}

/* Starts the next CTA of the grid. 0 if there is none left, or no room on the GPU. */
static int admit(emu_worker *worker)
{
    emu_launch *launch = worker->launch;
    if (atomic_fetch_add(&launch->n_resident, 1) >= launch->max_resident) {
        atomic_fetch_sub(&launch->n_resident, 1);
        return 0;
    }
    const tsr_emu_watcher *watcher = launch->job->watcher;
    long long number;
    do
        number = atomic_fetch_add(&launch->next_cta, 1);
    while (watcher && watcher->select && number < launch->n_ctas &&
           !watcher->select(watcher->user, number * launch->shape.cluster));
    if (number >= atomic_load(&launch->stop_at)) {
        atomic_fetch_sub(&launch->n_resident, 1);
        return 0;
    }
    if (launch->job->backwards)
        number = launch->n_ctas - 1 - number;
    emu_cta *cta = slot_make(worker);
    if (cta && cta->watch && !tsr_emu_watch_begin(cta, number)) {
        cta->next = worker->free;
        worker->free = cta;
        cta = NULL;
    }
    if (!cta) {
        worker->fault = (emu_fault){.kind = EMU_NO_MEMORY, .cta = number};
        return 0;
    }
    tsr_emu_start_cta(cta, number);
    atomic_fetch_add(&launch->progress, 1);
    cta->next = worker->resident;
    worker->resident = cta;
    return 1;
}

/* Runs each resident CTA once. 1 if one of them ended. */
static int run_resident(emu_worker *worker)
{
    int ended = 0;
    for (emu_cta **link = &worker->resident; *link && worker->fault.kind == EMU_NO_FAULT;) {
        emu_cta *cta = *link;
        tsr_emu_run_cta(cta);
        if (cta->live > 0) {
            link = &cta->next;
            continue;
        }
        tsr_emu_trace_end(cta);
        if (cta->watch)
            tsr_emu_watch_end(cta);
        *link = cta->next;
        cta->next = worker->free;
        worker->free = cta;
        atomic_fetch_sub(&worker->launch->n_resident, 1);
        atomic_fetch_add(&worker->launch->progress, 1);
        ended = 1;
    }
    return ended;
}

/* All resident CTAs were found waiting while the launch's progress stood at `progress`. 1 if that is so for every
 * worker: then nothing can happen any more. */
static int is_stuck(emu_worker *worker, long long progress)
{
    emu_launch *launch = worker->launch;
    atomic_store(&worker->idle_at, progress);
    for (int i = 0; i < launch->n_workers; i++)
        if (atomic_load(&launch->workers[i].idle_at) < progress)
            return 0;
    return atomic_load(&launch->progress) == progress;
}

/* Works until nothing is left to do for this worker, or a fault. CTAs start in their order, and none that comes after a
 * failed one: so the fault that is reported is that of the lowest CTA, however the workers were timed. */
static void work(emu_worker *worker)
{
    emu_launch *launch = worker->launch;
    while (worker->fault.kind == EMU_NO_FAULT) {
        const long long progress = atomic_load(&launch->progress);
        if (run_resident(worker) || worker->fault.kind != EMU_NO_FAULT)
            continue;
        if (admit(worker) || worker->fault.kind != EMU_NO_FAULT)
            continue;
        const int others_failed = atomic_load(&launch->stop_at) < launch->n_ctas;
        if (!worker->resident && (others_failed || atomic_load(&launch->next_cta) >= launch->n_ctas))
            return;
        if (others_failed)
            return; /* what we wait for may never come */
        if (is_stuck(worker, progress) && worker->resident) {
            tsr_emu_describe_deadlock(worker->resident, &worker->fault);
            return;
        }
        sched_yield();
    }
}

void *tsr_emu_worker_main(void *data)
{
    emu_worker *worker = data;
    emu_launch *launch = worker->launch;
    tsr_emu_find_current();
    tsr_fiber_adopt(&worker->scheduler);
    work(worker);
    if (worker->fault.kind != EMU_NO_FAULT) {
        long long stop_at = atomic_load(&launch->stop_at);
        while (worker->fault.cta < stop_at &&
               !atomic_compare_exchange_weak(&launch->stop_at, &stop_at, worker->fault.cta))
            continue;
    }
    atomic_store(&worker->idle_at, INT64_MAX);
    return NULL;
}
