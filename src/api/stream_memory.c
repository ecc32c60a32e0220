/* The memory of a run by tiles: buffers of the device, events, and what of C is kept. */
#include "api/stream_run.h"
#include "core/error.h"

/* If not so much memory is free, less is tried, down to this. */
#define LEAST_BUDGET (1 << 20)

static tsr_status allocate(tsr_tile_run *r, tsr_tile_buffer *buffer, long long rows, long long row_bytes)
{
    return r->target->backend->alloc(&r->target->device, (size_t)(rows * tsr_tile_pitch(row_bytes)), &buffer->memory);
}

/* Buffers for tiles of an operand that is stored `flip`ped or not. */
static tsr_status allocate_stored(tsr_tile_run *r, char which, tsr_tile_buffer *buffer, long long rows,
                                  long long columns)
{
    const tsr_matrix *operand = tsr_problem_operand(&r->plan->planned.problem, which);
    const long long element = tsr_problem_element(&r->plan->planned.problem, which);
    return operand->trans == TSR_T ? allocate(r, buffer, columns, rows * element)
                                   : allocate(r, buffer, rows, columns * element);
}

static tsr_status allocate_all(tsr_tile_run *r)
{
    const tsr_tiles_of *t = &r->tiles;
    const int b_changes = t->across > 1 || t->deep > 1 || r->plan->planned.problem.batch > 1;
    tsr_status status = TSR_OK;
    for (int i = 0; i < 2 && status == TSR_OK; i++) {
        if (i == 0 || r->tile_count > 1)
            status = allocate_stored(r, 'd', &r->d[i], t->m, t->n);
        if (status == TSR_OK && r->product && (i == 0 || r->tile_count > 1 || t->deep > 1))
            status = allocate_stored(r, 'a', &r->a[i], t->m, t->k);
        if (status == TSR_OK && r->product && (i == 0 || b_changes))
            status = allocate_stored(r, 'b', &r->b[i], t->k, t->n);
    }
    return status;
}

static void free_buffers(tsr_tile_run *r)
{
    tsr_tile_buffer *buffers[] = {&r->a[0], &r->a[1], &r->b[0], &r->b[1], &r->d[0], &r->d[1]};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        if (buffers[i]->memory)
            r->target->backend->free(&r->target->device, buffers[i]->memory);
        buffers[i]->memory = NULL;
    }
}

/* The largest tiles for which there is memory. */
static tsr_status make_room(tsr_tile_run *r)
{
    const tsr_problem *p = &r->plan->planned.problem;
    tsr_status status = TSR_OUT_OF_MEMORY;
    for (double budget = tsr_tiles_budget(&r->target->device); status == TSR_OUT_OF_MEMORY && budget >= LEAST_BUDGET;
         budget /= 2) {
        if (!tsr_tiles_choose(p, budget, &r->tiles))
            return tsr_fail(TSR_OUT_OF_MEMORY, "%s: no tile of the product fits in %.0f bytes", r->target->device.id,
                            budget);
        r->tile_count = r->tiles.down * r->tiles.across * p->batch;
        status = allocate_all(r);
        if (status != TSR_OK)
            free_buffers(r);
    }
    return status;
}

static tsr_status open_events(tsr_tile_run *r)
{
    const tsr_async *async = r->target->backend->async;
    void **events[] = {&r->arrived,   &r->computed[0], &r->computed[1], &r->a[0].idle,
                       &r->a[1].idle, &r->b[0].idle,   &r->b[1].idle};
    tsr_status status = async->open_stream(&r->target->device, &r->kernels);
    for (size_t i = 0; i < sizeof events / sizeof events[0] && status == TSR_OK; i++)
        status = async->open_event(&r->target->device, events[i]);
    return status;
}

static tsr_status bring_bias(tsr_tile_run *r)
{
    const tsr_backend *backend = r->target->backend;
    const size_t bytes = (size_t)tsr_bias_bytes(&r->plan->planned.problem);
    const tsr_status status = backend->alloc(&r->target->device, bytes, &r->bias);
    return status == TSR_OK ? backend->upload(&r->target->device, r->bias, r->inputs->bias, bytes, r->kernels) : status;
}

tsr_status tsr_tile_run_begin(tsr_tile_run *r)
{
    const tsr_problem *p = &r->plan->planned.problem;
    tsr_status status = tsr_staging_ready(r->staging, r->target);
    if (status == TSR_OK)
        status = make_room(r);
    if (status == TSR_OK)
        status = open_events(r);
    if (status == TSR_OK && r->inputs->bias)
        status = bring_bias(r);
    if (status == TSR_OK && r->inputs->beta != 0 && r->inputs->c == r->inputs->d) {
        const size_t bytes = (size_t)(p->batch * p->m * p->n) * tsr_dtype_bytes(p->op.d);
        r->kept = tsr_alloc(&r->plan->context->allocator, 4096, bytes);
        if (!r->kept)
            status = tsr_fail(TSR_OUT_OF_MEMORY, "no memory to keep %zu bytes of C while D overwrites it", bytes);
    }
    return status;
}

void tsr_tile_run_end(tsr_tile_run *r)
{
    const tsr_backend *backend = r->target->backend;
    tsr_device *device = &r->target->device;
    void *streams[] = {r->staging->up.stream, r->kernels, r->staging->down.stream};
    void *events[] = {r->arrived,   r->computed[0], r->computed[1], r->a[0].idle,
                      r->a[1].idle, r->b[0].idle,   r->b[1].idle};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++)
        if (streams[i])
            backend->synchronize(device, streams[i]); /* after a failure something may still be under way */
    free_buffers(r);
    if (r->workspace)
        backend->free(device, r->workspace);
    if (r->bias)
        backend->free(device, r->bias);
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        backend->async->close_event(device, events[i]);
    backend->async->close_stream(device, r->kernels);
    tsr_free(&r->plan->context->allocator, r->kept);
}
