/* A worker's CTAs. Most kernels need one at a time. Where CTAs wait for each other, more become resident: whenever all
 * that are wait, one more is started, up to what the GPU would hold. */
#include <sched.h>
#include <sys/mman.h>

#include "emu/machine.h"

static void slot_free(emu_cta *cta, const emu_launch *launch)
{
    const tsr_allocator *allocator = launch->job->allocator;
    if (cta->stacks)
        munmap(cta->stacks, (size_t)launch->n_threads * EMU_STACK_STRIDE);
    tsr_emu_reset_named(cta);
    for (unsigned i = 0; cta->threads && i < launch->n_threads; i++) {
        tsr_emu_copies_free(&cta->threads[i].copies, allocator);
        tsr_emu_seen_drop(&cta->shared.time, cta->threads[i].clock.seen);
    }
    tsr_emu_hopper_free(cta);
    tsr_emu_watch_free(cta);
    tsr_free(allocator, cta->threads);
    tsr_free(allocator, cta->ready);
    tsr_emu_far_free(&cta->far, allocator);
    tsr_emu_shared_free(&cta->shared, allocator);
    tsr_free(allocator, cta);
}

static int slot_fill(emu_cta *cta, emu_worker *worker)
{
    const emu_launch *launch = worker->launch;
    const tsr_emu_job *job = launch->job;
    *cta = (emu_cta){.worker = worker, .window_bytes = job->shared_bytes};
    if (!tsr_emu_shared_make(&cta->shared, launch->window_stride * (launch->cluster - 1) + job->shared_bytes,
                             launch->n_threads, job->allocator))
        return 0;
    cta->ready = tsr_alloc(job->allocator, 64, launch->n_threads * sizeof *cta->ready);
    cta->threads = tsr_alloc(job->allocator, 64, launch->n_threads * sizeof *cta->threads);
    for (unsigned i = 0; cta->threads && i < launch->n_threads; i++)
        cta->threads[i] =
            (emu_thread){.cta = cta,
                         .id = i,
                         .rank = i / launch->cta_threads,
                         .window = i / launch->cta_threads * launch->window_stride,
                         .idx = {i % launch->cta_threads % job->threads_x, i % launch->cta_threads / job->threads_x, 0},
                         .state = EMU_ENDED};
    void *stacks = mmap(NULL, (size_t)launch->n_threads * EMU_STACK_STRIDE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cta->stacks = stacks == MAP_FAILED ? NULL : stacks;
    return cta->ready && cta->threads && cta->stacks && (!launch->is_hopper || tsr_emu_hopper_make(cta)) &&
           (!job->watcher || tsr_emu_watch_make(cta));
}

/* Memory for one more resident CTA, NULL when there is not enough. */
static emu_cta *slot_make(emu_worker *worker)
{
    emu_cta *cta = worker->free;
    if (cta) {
        worker->free = cta->next;
        return cta;
    }
    cta = tsr_alloc(worker->launch->job->allocator, 64, sizeof *cta);
    if (cta && !slot_fill(cta, worker)) {
        slot_free(cta, worker->launch);
        return NULL;
    }
    return cta;
}

void tsr_emu_worker_free(emu_worker *worker)
{
    emu_cta *lists[] = {worker->resident, worker->free};
    for (int i = 0; i < 2; i++)
        for (emu_cta *cta = lists[i], *next; cta; cta = next) {
            next = cta->next;
            slot_free(cta, worker->launch);
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
           !watcher->select(watcher->user, number * launch->cluster));
    if (number >= atomic_load(&launch->stop_at)) {
        atomic_fetch_sub(&launch->n_resident, 1);
        return 0;
    }
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
