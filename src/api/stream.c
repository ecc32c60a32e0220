/* Products of host matrices on a GPU, tile by tile. Two threads: the caller's brings tiles of A, B and C and enqueues
 * the kernels; another fetches tiles of D. Three streams: copies in, kernels, copies out. Each operand has two buffers,
 * so that the next tile arrives while one is multiplied and another leaves.
 *
 *     copies in    A0 B0 | A1    | A2    | ...          a tile of A or B that is there already is not brought again
 *     kernels            | D0    | D1    | D2  ...
 *     copies out                 | D0    | D1  ...
 *
 * Where D is C and C is read, what D's tiles overwrite is kept until the end, and put back if anything fails. */
#include "api/stream.h"

#include <stdio.h>
#include <string.h>

#include "api/stream_run.h"
#include "core/error.h"
#include "core/process.h"
#include "core/thread.h"

/* A tile of D within its problem. */
typedef struct tile {
    long long z, row, column, rows, columns;
} tile;

static long long smaller(long long a, long long b)
{
    return a < b ? a : b;
}

static tile tile_at(const tsr_tile_run *r, long long index)
{
    const tsr_problem *p = &r->plan->planned.problem;
    const tsr_tiles_of *t = &r->tiles;
    tile out = {.z = index / (t->down * t->across)};
    out.row = index % t->down * t->m;
    out.column = index / t->down % t->across * t->n;
    out.rows = smaller(t->m, p->m - out.row);
    out.columns = smaller(t->n, p->n - out.column);
    return out;
}

/* The part of an operand that spans `rows` and `columns` of op(A), op(B), C or D, and where it lies on the device. */
static tsr_block block_of(const tsr_tile_run *r, char which, const void *host, void *device, long long z, long long row,
                          long long column, long long rows, long long columns)
{
    const tsr_matrix *operand = tsr_problem_operand(&r->plan->planned.problem, which);
    const long long element = tsr_problem_element(&r->plan->planned.problem, which);
    const int flip = operand->trans == TSR_T;
    const long long stored_row = flip ? column : row, stored_column = flip ? row : column;
    const long long row_bytes = (flip ? rows : columns) * element;
    return (tsr_block){
        .host = (char *)host + (z * operand->batch_stride + stored_row * operand->ld + stored_column) * element,
        .device = device,
        .rows = flip ? columns : rows,
        .row_bytes = row_bytes,
        .host_pitch = operand->ld * element,
        .device_pitch = tsr_tile_pitch(row_bytes),
    };
}

/* ---- the thread that fetches D ---- */

static void fail(tsr_tile_run *r, tsr_status status)
{
    pthread_mutex_lock(&r->lock);
    if (r->status == TSR_OK) {
        r->status = status;
        snprintf(r->message, sizeof r->message, "%s", tsr_last_error());
    }
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&r->lock);
}

/* Waits until tile `index` is enqueued; 0 if it never will be. */
static int wait_enqueued(tsr_tile_run *r, long long index)
{
    pthread_mutex_lock(&r->lock);
    while (r->enqueued <= index && r->status == TSR_OK)
        pthread_cond_wait(&r->moved, &r->lock);
    const int go = r->status == TSR_OK;
    pthread_mutex_unlock(&r->lock);
    return go;
}

static char *kept_tile(const tsr_tile_run *r, const tile *t)
{
    const tsr_problem *p = &r->plan->planned.problem;
    return r->kept + (t->z * p->m * p->n + t->row * p->n + t->column) * (long long)tsr_dtype_bytes(p->op.d);
}

static void keep(tsr_tile_run *r, const tile *t, const tsr_block *block)
{
    const tsr_problem *p = &r->plan->planned.problem;
    const long long pitch = p->n * (long long)tsr_dtype_bytes(p->op.d);
    tsr_lane_copy(r->staging, &r->staging->down, kept_tile(r, t), pitch, block->host, block->host_pitch, block->rows,
                  block->row_bytes);
    r->kept_count++; /* read by the caller only after this thread has ended */
}

static void put_back(tsr_tile_run *r)
{
    const tsr_problem *p = &r->plan->planned.problem;
    const long long pitch = p->n * (long long)tsr_dtype_bytes(p->op.d);
    for (long long i = 0; i < r->kept_count; i++) {
        const tile t = tile_at(r, i);
        const tsr_block block = block_of(r, 'd', r->inputs->d, NULL, t.z, t.row, t.column, t.rows, t.columns);
        tsr_lane_copy(r->staging, &r->staging->down, block.host, block.host_pitch, kept_tile(r, &t), pitch, block.rows,
                      block.row_bytes);
    }
}

static void *fetch_tiles(void *data)
{
    tsr_tile_run *r = data;
    const tsr_async *async = r->target->backend->async;
    for (long long i = 0; i < r->tile_count && wait_enqueued(r, i); i++) {
        const tile t = tile_at(r, i);
        const tsr_block block =
            block_of(r, 'd', r->inputs->d, r->d[i % 2].memory, t.z, t.row, t.column, t.rows, t.columns);
        tsr_status status = async->follow(&r->target->device, r->staging->down.stream, r->computed[i % 2]);
        if (status == TSR_OK && r->kept)
            keep(r, &t, &block);
        if (status == TSR_OK)
            status = tsr_lane_download(r->staging, &r->staging->down, &block);
        if (status != TSR_OK) {
            fail(r, status);
            break;
        }
        pthread_mutex_lock(&r->lock);
        r->fetched = i + 1;
        pthread_cond_broadcast(&r->moved);
        pthread_mutex_unlock(&r->lock);
    }
    return NULL;
}

/* ---- the caller's thread ---- */

/* Brings a part of A or B, unless it was the last one brought or the one before. The buffer that has it. */
static tsr_status bring(tsr_tile_run *r, char which, const void *host, tsr_tile_buffer *buffers, int *last, long long z,
                        long long row, long long column, long long rows, long long columns)
{
    const tsr_async *async = r->target->backend->async;
    const tsr_matrix *operand = tsr_problem_operand(&r->plan->planned.problem, which);
    const long long key[3] = {operand->batch_stride ? z : 0, row, column};
    for (int i = 0; i < 2; i++)
        if (memcmp(buffers[i].key, key, sizeof key) == 0) {
            *last = i;
            return TSR_OK;
        }
    tsr_tile_buffer *to = &buffers[buffers[1].memory ? 1 - *last : 0];
    *last = (int)(to - buffers);
    to->key[1] = -1; /* what was there is gone, should this fail */
    tsr_status status = TSR_OK;
    if (to->used)
        status = async->follow(&r->target->device, r->staging->up.stream, to->idle);
    if (status != TSR_OK)
        return status;
    const tsr_block block = block_of(r, which, host, to->memory, z, row, column, rows, columns);
    status = tsr_lane_upload(r->staging, &r->staging->up, &block);
    memcpy(to->key, key, sizeof key);
    return status;
}

/* The workspace, grown if this tile's plan needs more. */
static tsr_status need_workspace(tsr_tile_run *r, size_t bytes)
{
    if (bytes <= r->workspace_bytes)
        return TSR_OK;
    const tsr_backend *backend = r->target->backend;
    tsr_status status = backend->synchronize(&r->target->device, r->kernels);
    if (r->workspace)
        backend->free(&r->target->device, r->workspace);
    r->workspace = NULL;
    r->workspace_bytes = 0;
    if (status == TSR_OK)
        status = backend->alloc(&r->target->device, bytes, &r->workspace);
    if (status == TSR_OK)
        status = tsr_zero_counters(r->target, r->workspace, bytes, r->kernels);
    if (status == TSR_OK)
        r->workspace_bytes = bytes;
    return status;
}

static void set_operand(tsr_problem *sub, char which, tsr_matrix *operand)
{
    long long rows, columns;
    tsr_stored_shape(sub, which, &rows, &columns);
    const long long element = tsr_problem_element(sub, which);
    operand->memory = TSR_DEVICE;
    operand->align_bytes = 256; /* cuMemAlloc's */
    operand->ld = tsr_tile_pitch(columns * element) / element;
    operand->batch_stride = 0;
}

/* The tile's columns of the bias, for the last step along K: before, there is no form. */
static const void *bias_of(const tsr_tile_run *r, const tile *t)
{
    const long long element = (long long)tsr_dtype_bytes(r->plan->planned.problem.op.d);
    return r->bias ? (const char *)r->bias + t->column * element : NULL;
}

/* Multiplies what lies in the buffers: one step along K of one tile. */
static tsr_status multiply(tsr_tile_run *r, const tile *t, long long index, long long k, int first, int last)
{
    const tsr_planned *whole = &r->plan->planned;
    tsr_problem sub = whole->problem;
    sub.m = t->rows;
    sub.n = t->columns;
    sub.k = k;
    sub.batch = 1;
    sub.op.epilogue = last ? sub.op.epilogue : TSR_EPILOGUE_NONE;
    sub.kernel = whole->named ? tsr_plan_main(whole)->config->instance : NULL;
    set_operand(&sub, 'a', &sub.a);
    set_operand(&sub, 'b', &sub.b);
    set_operand(&sub, 'c', &sub.c);
    set_operand(&sub, 'd', &sub.d);
    tsr_plan *plan = NULL;
    tsr_status status = tsr_plan_of(r->plan->context, &sub, &plan);
    if (status == TSR_OK)
        status = need_workspace(r, plan->planned.workspace_bytes);
    if (status == TSR_OK) {
        tsr_plan_inputs inputs = *r->inputs;
        inputs.a = r->a[r->last_a].memory;
        inputs.b = r->b[r->last_b].memory;
        inputs.c = inputs.d = r->d[index % 2].memory;
        inputs.bias = last ? bias_of(r, t) : NULL;
        inputs.workspace = r->workspace;
        inputs.beta = first ? r->inputs->beta : 1;
        inputs.stream = r->kernels;
        status = tsr_plan_execute(&plan->planned, &inputs);
    }
    tsr_plan_release(plan);
    return status;
}

static tsr_status mark_idle(tsr_tile_run *r, tsr_tile_buffer *buffer)
{
    buffer->used = 1;
    return r->target->backend->async->record(&r->target->device, buffer->idle, r->kernels);
}

/* All of one tile, up to its last kernel. */
static tsr_status enqueue_tile(tsr_tile_run *r, long long index)
{
    const tsr_problem *p = &r->plan->planned.problem;
    const tsr_async *async = r->target->backend->async;
    tsr_device *device = &r->target->device;
    void *up = r->staging->up.stream;
    const tile t = tile_at(r, index);
    tsr_status status = TSR_OK;
    if (r->inputs->beta != 0) {
        const tsr_block c =
            block_of(r, 'c', r->inputs->c, r->d[index % 2].memory, t.z, t.row, t.column, t.rows, t.columns);
        status = tsr_lane_upload(r->staging, &r->staging->up, &c);
    }
    for (long long step = 0; step < r->tiles.deep && status == TSR_OK; step++) {
        const long long at = step * r->tiles.k, k = r->product ? smaller(r->tiles.k, p->k - at) : 0;
        if (r->product) {
            status = bring(r, 'b', r->inputs->b, r->b, &r->last_b, t.z, at, t.column, k, t.columns);
            if (status == TSR_OK)
                status = bring(r, 'a', r->inputs->a, r->a, &r->last_a, t.z, t.row, at, t.rows, k);
        }
        if (status == TSR_OK && (status = async->record(device, r->arrived, up)) == TSR_OK &&
            (status = async->follow(device, r->kernels, r->arrived)) == TSR_OK &&
            (status = multiply(r, &t, index, k, step == 0, !r->product || step == r->tiles.deep - 1)) == TSR_OK &&
            r->product && (status = mark_idle(r, &r->a[r->last_a])) == TSR_OK)
            status = mark_idle(r, &r->b[r->last_b]);
        if (!r->product)
            break;
    }
    return status == TSR_OK ? async->record(device, r->computed[index % 2], r->kernels) : status;
}

static void enqueue_tiles(tsr_tile_run *r)
{
    for (long long i = 0; i < r->tile_count; i++) {
        pthread_mutex_lock(&r->lock);
        while (r->fetched < i - 1 && r->status == TSR_OK) /* D's buffer is that of the tile before the last */
            pthread_cond_wait(&r->moved, &r->lock);
        const int go = r->status == TSR_OK;
        pthread_mutex_unlock(&r->lock);
        if (!go)
            return;
        const tsr_status status = enqueue_tile(r, i);
        if (status != TSR_OK) {
            fail(r, status);
            return;
        }
        pthread_mutex_lock(&r->lock);
        r->enqueued = i + 1;
        pthread_cond_broadcast(&r->moved);
        pthread_mutex_unlock(&r->lock);
    }
}

/* ---- both ---- */

static void run_threads(tsr_tile_run *r)
{
    pthread_t fetcher;
    if (tsr_thread_start(&fetcher, fetch_tiles, r) != 0) {
        r->status = TSR_OUT_OF_MEMORY;
        snprintf(r->message, sizeof r->message, "no thread to fetch results with");
        return;
    }
    enqueue_tiles(r);
    pthread_join(fetcher, NULL);
    if (r->status != TSR_OK && r->kept)
        put_back(r);
}

int tsr_run_wants_tiles(const tsr_plan *plan)
{
    return plan->planned.target->backend->async &&
           tsr_tiles_wanted(&plan->planned.problem, &plan->planned.target->device);
}

tsr_status tsr_run_tiles(tsr_plan *plan, const tsr_plan_inputs *inputs)
{
    /* Nor may its lock be waited for, which a thread of the parent may have held. */
    if (tsr_process() != plan->context->process)
        return tsr_fail(TSR_DRIVER_ERROR, "%s: was opened before this process was forked, which cannot use it",
                        plan->planned.target->device.id);
    tsr_staging *staging = &plan->context->staging;
    tsr_tile_run r = {.plan = plan, .inputs = inputs, .staging = staging, .target = plan->planned.target};
    for (int i = 0; i < 2; i++)
        r.a[i].key[1] = r.b[i].key[1] = -1; /* nothing is there yet */
    r.product = inputs->alpha != 0 && plan->planned.problem.k > 0;
    pthread_mutex_init(&r.lock, NULL); /* default ones: cannot fail on Linux */
    pthread_cond_init(&r.moved, NULL);
    pthread_mutex_lock(&staging->lock);
    tsr_status status = tsr_tile_run_begin(&r);
    if (status == TSR_OK)
        run_threads(&r);
    tsr_tile_run_end(&r);
    pthread_mutex_unlock(&staging->lock);
    pthread_cond_destroy(&r.moved);
    pthread_mutex_destroy(&r.lock);
    return status != TSR_OK ? status : r.status == TSR_OK ? TSR_OK : tsr_fail(r.status, "%s", r.message);
}
