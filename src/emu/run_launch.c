#include "emu/run_launch.h"

#include <pthread.h>

#include "core/thread.h"
#include "emu/emulated_machine.h"

/* CTAs that the GPU holds at once, by threads and shared memory. */
static long long occupancy(const tsr_emu_job *job, unsigned n_threads)
{
    long long per_sm = TSR_EMU_SM_THREADS / ((n_threads + 31) / 32 * 32);
    const long long by_shared = TSR_EMU_SM_SHARED / (long long)(job->shared_bytes + TSR_EMU_CTA_RESERVED);
    per_sm = per_sm < by_shared ? per_sm : by_shared;
    per_sm = per_sm < TSR_EMU_SM_CTAS ? per_sm : TSR_EMU_SM_CTAS;
    return TSR_EMU_SMS * (per_sm > 1 ? per_sm : 1);
}

/* Runs the workers, the last of them on this thread, and reports the fault of the lowest CTA. */
static tsr_status run_workers(emu_launch *launch, emu_worker *workers, int n_workers)
{
    pthread_t threads[EMU_MAX_WORKERS];
    int started = 0;
    while (started < n_workers - 1 && tsr_thread_start(&threads[started], tsr_emu_worker_main, &workers[started]) == 0)
        started++;
    for (int i = started; i < n_workers - 1; i++)
        atomic_store(&workers[i].idle_at, INT64_MAX); /* it never runs, so nobody must wait for it */
    tsr_emu_worker_main(&workers[n_workers - 1]);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);

    const emu_fault *first = NULL;
    for (int i = 0; i < n_workers; i++)
        if (workers[i].fault.kind != EMU_NO_FAULT && (!first || workers[i].fault.cta < first->cta))
            first = &workers[i].fault;
    const tsr_emu_job *job = launch->job;
    if (!first)
        return TSR_OK;
    /* From slots to CTAs. */
    emu_fault named = *first;
    named.cta = first->cta * launch->shape.cluster + first->thread / launch->shape.cta_threads;
    named.thread = first->thread % launch->shape.cta_threads;
    named.other_cta = first->other_cta * launch->shape.cluster + first->other_thread / launch->shape.cta_threads;
    named.other_thread = first->other_thread % launch->shape.cta_threads;
    return tsr_emu_report(&named, job->name, job->threads_x, job->grid.x, job->grid.y);
}

tsr_status tsr_emu_run(const tsr_emu_job *job)
{
    enum { WINDOW_GAP = 64 << 10 }; /* what misses a CTA's shared memory by little is in nobody's */
    const unsigned cluster = job->cluster > 1 ? (unsigned)job->cluster : 1, threads = job->threads_x * job->threads_y;
    emu_launch launch = {.job = job,
                         .shape = {.cluster = cluster,
                                   .cta_threads = threads,
                                   .n_threads = threads * cluster,
                                   .threads_x = job->threads_x,
                                   .shared_bytes = job->shared_bytes,
                                   .window_stride = (job->shared_bytes + 1023) / 1024 * 1024 + WINDOW_GAP,
                                   .is_hopper = job->maps || cluster > 1 || job->arch >= 90 || job->is_dependent,
                                   .allocator = job->allocator},
                         .n_ctas = job->grid.x / cluster * job->grid.y * job->grid.z};
    if (cluster > EMU_MAX_CLUSTER || (cluster > 1 && (job->grid.x % cluster || threads % 32)))
        return tsr_fail(TSR_INTERNAL, "%s: %lld CTAs of %u threads do not form clusters of %u", job->name, job->grid.x,
                        threads, cluster);
    if (threads < 1 || threads > TSR_EMU_MAX_THREADS)
        return tsr_fail(TSR_INTERNAL, "%s: a CTA of %u threads, must be 1 to %d", job->name, threads,
                        TSR_EMU_MAX_THREADS);
    if (launch.shape.n_threads > TSR_EMU_MAX_SLOT_THREADS)
        return tsr_fail(TSR_UNSUPPORTED, "%s: the emulator runs clusters of at most %d threads, this has %u", job->name,
                        TSR_EMU_MAX_SLOT_THREADS, launch.shape.n_threads);
    if (launch.n_ctas <= 0)
        return TSR_OK;
    const tsr_emu_trace *trace = job->trace;
    const int is_alone = trace && trace->alone && trace->cta / cluster < launch.n_ctas;
    if (is_alone)
        launch.n_ctas = trace->cta / cluster + 1;
    atomic_init(&launch.next_cta, is_alone ? trace->cta / cluster : 0);
    atomic_init(&launch.stop_at, launch.n_ctas);
    atomic_init(&launch.n_resident, 0);
    launch.max_resident = occupancy(job, launch.shape.n_threads);
    atomic_init(&launch.progress, 0);

    int n_workers = job->workers < 1 ? 1 : job->workers > EMU_MAX_WORKERS ? EMU_MAX_WORKERS : job->workers;
    if (job->listener)
        n_workers = 1;
    if (n_workers > launch.n_ctas)
        n_workers = (int)launch.n_ctas;
    emu_worker *workers = tsr_alloc(job->allocator, 64, (size_t)n_workers * sizeof *workers);
    if (!workers)
        return tsr_fail(TSR_OUT_OF_MEMORY, "%s: no memory for the emulator's workers", job->name);
    for (int i = 0; i < n_workers; i++) {
        workers[i] = (emu_worker){.launch = &launch};
        atomic_init(&workers[i].idle_at, -1);
        tsr_emu_global_make(&workers[i].global, job);
    }
    launch.workers = workers;
    launch.n_workers = n_workers;
    tsr_emu_atomics_make(&launch.atomics);
    const tsr_status status = tsr_emu_claims_make(&launch.claims, &workers[0].global, job->pool, n_workers)
                                  ? run_workers(&launch, workers, n_workers)
                                  : tsr_fail(TSR_OUT_OF_MEMORY, "%s: no memory to follow who writes D", job->name);
    tsr_emu_claims_free(&launch.claims);
    tsr_emu_atomics_free(&launch.atomics, job->allocator);
    for (int i = 0; i < n_workers; i++)
        tsr_emu_worker_free(&workers[i]);
    tsr_free(job->allocator, workers);
    return status;
}
