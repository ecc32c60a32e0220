#include "emu/run.h"

#include <pthread.h>
#include <sys/mman.h>

#include "emu/machine.h"

static void worker_free(emu_worker *worker, const emu_launch *launch)
{
    const tsr_allocator *allocator = launch->job->allocator;
    emu_cta *cta = &worker->cta;
    if (cta->stacks)
        munmap(cta->stacks, (size_t)launch->n_threads * EMU_STACK_STRIDE);
    for (unsigned i = 0; cta->threads && i < launch->n_threads; i++) {
        tsr_emu_copies_free(&cta->threads[i].copies, allocator);
        tsr_emu_seen_drop(&cta->shared.time, cta->threads[i].clock.seen);
    }
    tsr_free(allocator, cta->threads);
    tsr_free(allocator, cta->ready);
    tsr_emu_shared_free(&cta->shared, allocator);
}

/* Memory for one resident CTA. 0 when there is not enough; then worker_free still is right. */
static int worker_make(emu_worker *worker, emu_launch *launch)
{
    const tsr_emu_job *job = launch->job;
    *worker = (emu_worker){.launch = launch};
    emu_cta *cta = &worker->cta;
    cta->worker = worker;
    tsr_emu_global_make(&worker->global, job);
    if (!tsr_emu_shared_make(&cta->shared, job->shared_bytes, launch->n_threads, job->allocator))
        return 0;
    cta->ready = tsr_alloc(job->allocator, 64, launch->n_threads * sizeof *cta->ready);
    cta->threads = tsr_alloc(job->allocator, 64, launch->n_threads * sizeof *cta->threads);
    if (!cta->ready || !cta->threads)
        return 0;
    for (unsigned i = 0; i < launch->n_threads; i++)
        cta->threads[i] =
            (emu_thread){.cta = cta, .id = i, .idx = {i % job->threads_x, i / job->threads_x, 0}, .state = EMU_ENDED};
    void *stacks = mmap(NULL, (size_t)launch->n_threads * EMU_STACK_STRIDE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED)
        return 0;
    cta->stacks = stacks;
    return 1;
}

/* Takes CTAs in their order until there are none left, or an earlier one failed: so the fault that is reported is that
 * of the lowest CTA, however the workers were timed. */
static void *worker_main(void *data)
{
    emu_worker *worker = data;
    emu_launch *launch = worker->launch;
    tsr_fiber_adopt(&worker->scheduler);
    for (;;) {
        const long long cta = atomic_fetch_add(&launch->next_cta, 1);
        if (cta >= atomic_load(&launch->stop_at))
            return NULL;
        tsr_emu_run_cta(worker, cta);
        if (worker->fault.kind == EMU_NO_FAULT)
            continue;
        long long stop_at = atomic_load(&launch->stop_at);
        while (cta < stop_at && !atomic_compare_exchange_weak(&launch->stop_at, &stop_at, cta))
            continue;
        return NULL;
    }
}

/* Runs the workers, the last of them on this thread, and reports the fault of the lowest CTA. */
static tsr_status run_workers(emu_launch *launch, emu_worker *workers, int n_workers)
{
    pthread_t threads[EMU_MAX_WORKERS];
    int started = 0;
    while (started < n_workers - 1 && pthread_create(&threads[started], NULL, worker_main, &workers[started]) == 0)
        started++;
    worker_main(&workers[n_workers - 1]);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);

    const emu_fault *first = NULL;
    for (int i = 0; i < n_workers; i++)
        if (workers[i].fault.kind != EMU_NO_FAULT && (!first || workers[i].fault.cta < first->cta))
            first = &workers[i].fault;
    const tsr_emu_job *job = launch->job;
    return first ? tsr_emu_report(first, job->name, job->threads_x, job->grid.x, job->grid.y) : TSR_OK;
}

tsr_status tsr_emu_run(const tsr_emu_job *job)
{
    emu_launch launch = {
        .job = job, .n_threads = job->threads_x * job->threads_y, .n_ctas = job->grid.x * job->grid.y * job->grid.z};
    if (launch.n_threads < 1 || launch.n_threads > TSR_EMU_MAX_THREADS)
        return tsr_fail(TSR_INTERNAL, "%s: a CTA of %u threads, must be 1 to %d", job->name, launch.n_threads,
                        TSR_EMU_MAX_THREADS);
    if (launch.n_ctas <= 0)
        return TSR_OK;
    atomic_init(&launch.next_cta, 0);
    atomic_init(&launch.stop_at, launch.n_ctas);

    int n_workers = job->workers < 1 ? 1 : job->workers > EMU_MAX_WORKERS ? EMU_MAX_WORKERS : job->workers;
    if (n_workers > launch.n_ctas)
        n_workers = (int)launch.n_ctas;
    emu_worker *workers = tsr_alloc(job->allocator, 64, (size_t)n_workers * sizeof *workers);
    if (!workers)
        return tsr_fail(TSR_OUT_OF_MEMORY, "%s: no memory for the emulator's workers", job->name);
    int made = 0, enough = 1;
    while (made < n_workers && enough)
        enough = worker_make(&workers[made++], &launch);
    enough = enough && tsr_emu_claims_make(&launch.claims, &workers[0].global);
    const tsr_status status =
        enough
            ? run_workers(&launch, workers, n_workers)
            : tsr_fail(TSR_OUT_OF_MEMORY, "%s: no memory to emulate a CTA of %u threads and %zu bytes of shared memory",
                       job->name, launch.n_threads, job->shared_bytes);
    tsr_emu_claims_free(&launch.claims);
    for (int i = 0; i < made; i++)
        worker_free(&workers[i], &launch);
    tsr_free(job->allocator, workers);
    return status;
}
