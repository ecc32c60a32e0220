/* What is told of a cluster's CTAs becomes steps, marks and batches, with ticks. */
#include <stdlib.h>
#include <string.h>

#include "lab/explain/pipeline_run.h"

enum { COPY_TICKS = 2, STEP_TICKS = 2 /* of products */, LOOK_BACK = 64 /* steps among which one is looked for */ };

/* ---- extents ---------------------------------------------------------------------------------------------------- */

lab_pipe_extent lab_pipe_nothing(void)
{
    return (lab_pipe_extent){0, -1, 0, -1};
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void lab_pipe_join(lab_pipe_extent *to, const lab_pipe_extent *more)
{
    if (lab_pipe_is_empty(more))
        return;
    if (lab_pipe_is_empty(to)) {
        *to = *more;
        return;
    }
    *to = (lab_pipe_extent){least(to->row0, more->row0), most(to->row1, more->row1), least(to->column0, more->column0),
                            most(to->column1, more->column1)};
}

static int is_inside(const pipe_region *region, uintptr_t at)
{
    return at - region->at < region->bytes;
}

/* Of what is stored from (row, column) on: the part that the operand has, as op(X). */
static lab_pipe_extent extent_of(const pipe_region *r, int64_t row, int64_t column, int64_t rows, int64_t columns)
{
    const int64_t row1 = least(row + rows, r->rows) - 1, column1 = least(column + columns, r->columns) - 1;
    if (row1 < row || column1 < column || row < 0 || column < 0)
        return lab_pipe_nothing();
    return r->is_transposed ? (lab_pipe_extent){column, column1, row, row1}
                            : (lab_pipe_extent){row, row1, column, column1};
}

static lab_pipe_extent extent_at(const pipe_region *r, uintptr_t at, size_t bytes)
{
    const int64_t first = (int64_t)(at - r->at) / r->elem_bytes, count = (int64_t)bytes / r->elem_bytes;
    return extent_of(r, first / r->ld, first % r->ld, 1, count);
}

/* Dimension 0 lies along a row; of the others one goes from row to row, others along a row, or over a batch. */
static lab_pipe_box box_of(const pipe_region *r, char operand, const tsr_event *event)
{
    const tsr_tensor_spec *spec = event->box;
    lab_pipe_box box = {.operand = operand,
                        .column = event->box_at[0],
                        .columns = spec->box[0],
                        .rows = 1,
                        .at = (int64_t)event->at,
                        .swizzle_bytes = spec->swizzle_bytes,
                        .row_bytes = spec->box[0] * r->elem_bytes};
    for (int i = 1; i < spec->rank; i++) {
        const int64_t stride = (int64_t)spec->strides_bytes[i - 1] / r->elem_bytes;
        if (i == 1) {
            box.row = event->box_at[i];
            box.rows = spec->box[i];
        } else if (stride < r->ld) {
            box.column += event->box_at[i] * stride;
            box.columns *= spec->box[i];
        }
    }
    return box;
}

/* ---- growing ---------------------------------------------------------------------------------------------------- */

void *lab_pipe_grow(void *items, size_t count, size_t *capacity, size_t bytes)
{
    if (count < *capacity)
        return items;
    const size_t wanted = *capacity ? 2 * *capacity : 64;
    void *grown = realloc(items, wanted * bytes);
    if (grown)
        *capacity = wanted;
    return grown;
}

#define GROW(listener, array, count, capacity)                                        \
    do {                                                                              \
        void *grown_ = lab_pipe_grow((array), (count), &(capacity), sizeof *(array)); \
        if (!grown_) {                                                                \
            (listener)->out_of_memory = 1;                                            \
            return 0;                                                                 \
        }                                                                             \
        (array) = grown_;                                                             \
    } while (0)

pipe_barrier *lab_pipe_barrier(pipe_cta *cta, uintptr_t at)
{
    for (int i = 0; i < cta->barrier_count; i++)
        if (cta->barriers[i].at == at)
            return &cta->barriers[i];
    if (cta->barrier_count == PIPE_BARRIERS)
        return NULL;
    pipe_barrier *bar = &cta->barriers[cta->barrier_count++];
    *bar = (pipe_barrier){.at = at};
    return bar;
}

static int add_phase(pipe_listener *l, pipe_barrier *bar)
{
    size_t capacity = (size_t)bar->capacity;
    GROW(l, bar->done, (size_t)bar->phases, capacity);
    bar->capacity = (int)capacity;
    bar->done[bar->phases++] = bar->pending;
    bar->pending = 0;
    return 1;
}

static int add_mark(pipe_listener *l, pipe_cta *cta, lab_pipe_mark mark)
{
    GROW(l, cta->marks, cta->mark_count, cta->mark_capacity);
    cta->marks[cta->mark_count++] = mark;
    return 1;
}

static int add_step(pipe_listener *l, pipe_cta *cta)
{
    size_t capacity = cta->step_capacity;
    GROW(l, cta->steps, cta->step_count, capacity);
    GROW(l, cta->ends, cta->step_count, cta->step_capacity);
    cta->steps[cta->step_count] = (lab_pipe_step){.stage = -1,
                                                  .a = lab_pipe_nothing(),
                                                  .b = lab_pipe_nothing(),
                                                  .at = -1,
                                                  .full_at = -1,
                                                  .empty_at = -1,
                                                  .asked = -1,
                                                  .landed = -1,
                                                  .full = -1,
                                                  .read_from = -1,
                                                  .read_to = -1,
                                                  .free = -1};
    cta->ends[cta->step_count] = (pipe_end){.d = lab_pipe_nothing(), .counter = -1};
    return (int)cta->step_count++ + 1;
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static int find_step(const pipe_cta *cta, uint64_t key)
{
    const int count = (int)cta->step_count;
    for (int i = count - 1; i >= 0 && i >= count - LOOK_BACK; i--)
        for (int j = 0; j < PIPE_KEYS; j++)
            if (key && cta->ends[i].keys[j] == key)
                return i;
    return -1;
}

/* The latest step in whose part of shared memory this place lies. */
static int find_step_at(const pipe_cta *cta, int64_t at)
{
    const int count = (int)cta->step_count;
    for (int i = count - 1; i >= 0 && i >= count - LOOK_BACK; i--) {
        const lab_pipe_step *step = &cta->steps[i];
        /* What is asked for early has not come, and is not what is read. */
        if (step->landed >= 0 && step->at >= 0 && at >= step->at && at < step->at + step->bytes && step->boxes > 0)
            return i;
    }
    return -1;
}

/* The step of a box of operand A (`which` 0) or B (1), which may be a new one. A's boxes and B's of a step may count at
 * different mbarriers: then they begin at the same place of K. */
static int step_of_box(pipe_listener *l, pipe_cta *cta, int which, uint64_t key, const lab_pipe_extent *extent)
{
    const int found = find_step(cta, key);
    if (found >= 0) {
        cta->ends[found].keys[which] = key;
        return found;
    }
    if (cta->step_count > 0) {
        const lab_pipe_step *last = &cta->steps[cta->step_count - 1];
        pipe_end *end = &cta->ends[cta->step_count - 1];
        const int64_t k = which == 0 ? last->b.row0 : last->a.column0;
        const int has_other = !lab_pipe_is_empty(which == 0 ? &last->b : &last->a);
        if (end->keys[which] == 0 && has_other && k == (which == 0 ? extent->column0 : extent->row0)) {
            end->keys[which] = key;
            return (int)cta->step_count - 1;
        }
    }
    if (!add_step(l, cta))
        return -1;
    cta->ends[cta->step_count - 1].keys[which] = key;
    return (int)cta->step_count - 1;
}

static char operand_at(const pipe_listener *l, uintptr_t at)
{
    return is_inside(&l->a, at) ? 'A' : is_inside(&l->b, at) ? 'B' : is_inside(&l->d, at) ? 'D' : 0;
}

/* To one CTA, by `asks` of the cluster. */
static void box_to(pipe_listener *l, pipe_cta *cta, const tsr_event *event, pipe_thread *asks, int is_own,
                   double landed)
{
    const char operand = operand_at(l, (uintptr_t)event->box->base);
    pipe_barrier *bar = lab_pipe_barrier(cta, event->mbarrier);
    if ((operand != 'A' && operand != 'B') || !bar)
        return;
    const pipe_region *region = operand == 'A' ? &l->a : &l->b;
    const lab_pipe_box box = box_of(region, operand, event);
    const lab_pipe_extent extent = extent_of(region, box.row, box.column, box.rows, box.columns);
    const int index = step_of_box(l, cta, operand == 'B', lab_pipe_key(bar->at, bar->phases), &extent);
    if (index < 0)
        return;
    lab_pipe_step *step = &cta->steps[index];
    lab_pipe_join(operand == 'A' ? &step->a : &step->b, &extent);
    cta->has_boxes = 1;
    step->at = step->at < 0 ? (int64_t)event->at : least(step->at, (int64_t)event->at);
    step->full_at = (int64_t)bar->at;
    step->full_phase = bar->phases;
    step->landed = landed > step->landed ? landed : step->landed;
    bar->pending = landed > bar->pending ? landed : bar->pending;
    lab_pipe_box *first = operand == 'A' ? &cta->box_a : &cta->box_b;
    if (!first->operand)
        *first = box;
    if (!is_own)
        return;
    step->boxes++;
    step->multicast += event->multicast != 0;
    step->empty_at = asks->passed ? (int64_t)(asks->passed >> 32) : -1;
    cta->ends[index].keys[2] = asks->arrived[0];
    cta->ends[index].keys[3] = asks->arrived[1];
}

/* Asking for the boxes of a step takes until the copy engine has begun the step before. */
static void take_box(pipe_listener *l, pipe_cta *cta, pipe_thread *thread, int index_of_thread, const tsr_event *event)
{
    const pipe_barrier *bar = lab_pipe_barrier(cta, event->mbarrier);
    const int known = bar ? find_step(cta, lab_pipe_key(bar->at, bar->phases)) : -1;
    double begin = thread->now > cta->engine ? thread->now : cta->engine;
    if (known >= 0 && cta->steps[known].asked >= 0)
        begin = cta->steps[known].asked;
    thread->asks = 1;
    for (int r = 0; r < l->out->cluster; r++) {
        const int is_own = &l->ctas[r] == cta;
        if (event->multicast ? (event->multicast >> r & 1) != 0 : is_own)
            box_to(l, &l->ctas[r], event, thread, is_own, begin + COPY_TICKS);
    }
    const int step = bar ? find_step(cta, lab_pipe_key(bar->at, bar->phases)) : -1;
    if (step < 0 || cta->steps[step].asked >= 0)
        return;
    cta->steps[step].asked = begin;
    cta->engine = begin + 1;
    thread->now = begin;
    add_mark(
        l, cta,
        (lab_pipe_mark){.kind = LAB_MARK_ASK, .role = index_of_thread, .step = step, .from = begin, .to = begin + 1});
}

static void take_landing(pipe_cta *cta, const tsr_event *event)
{
    const int index = find_step(cta, lab_pipe_key(event->mbarrier, (int)event->number));
    if (index >= 0 && event->box)
        cta->steps[index].bytes += (int64_t)event->bytes;
}

/* ---- time passes ------------------------------------------------------------------------------------------------ */

static void note_read(lab_pipe_step *step, double from, double to, int reader)
{
    step->read_from = step->read_from < 0 || from < step->read_from ? from : step->read_from;
    step->read_to = to > step->read_to ? to : step->read_to;
    step->readers |= 1 << (reader < 31 ? reader : 31);
}

/* The step whose mbarrier the thread passed last. */
static int passed_step(const pipe_cta *cta, const pipe_thread *thread)
{
    return find_step(cta, thread->passed);
}

/* The thread synchronises: what it did since takes a tick. */
static void spend(pipe_listener *l, pipe_cta *cta, pipe_thread *thread, int index_of_thread)
{
    const int step = passed_step(cta, thread);
    lab_pipe_mark mark = {
        .role = index_of_thread, .step = step, .kind = LAB_MARK_END, .from = thread->now, .to = thread->now + 1};
    if (thread->has_multiplied && step >= 0 && step != thread->step) {
        mark.kind = LAB_MARK_MULTIPLY;
        mark.to = mark.from + STEP_TICKS;
        thread->step = step;
        note_read(&cta->steps[step], mark.from, mark.to, 0);
        cta->steps[step].full_at = (int64_t)(thread->passed >> 32);
        cta->steps[step].full_phase = (int)(uint32_t)thread->passed - 1;
    } else if (thread->has_written && !thread->multiplies && thread->has_read && step >= 0) {
        mark.kind = LAB_MARK_TURN;
        thread->turns = 1;
    } else if (thread->has_written && thread->multiplies) {
        mark.step = -1;
        mark.unit = thread->step;
    } else {
        mark.role = -1;
    }
    thread->has_multiplied = thread->has_written = thread->has_read = 0;
    if (mark.role < 0)
        return;
    thread->now = mark.to;
    add_mark(l, cta, mark);
}

static void take_commit(pipe_listener *l, pipe_cta *cta, int index_of_thread, int local)
{
    const int group = local / 128;
    const double now = l->threads[index_of_thread].now;
    const double from = now > cta->tensor_free[group] ? now : cta->tensor_free[group];
    const double to = from + (cta->open_products[group] > 0 ? STEP_TICKS : 0);
    const int step = cta->open_step[group];
    void *grown = lab_pipe_grow(cta->batches, cta->batch_count, &cta->batch_capacity, sizeof *cta->batches);
    l->out_of_memory |= grown == NULL;
    if (!grown)
        return;
    cta->batches = grown;
    cta->batches[cta->batch_count++] = (lab_pipe_batch){.role = index_of_thread,
                                                        .number = cta->committed[group]++,
                                                        .step = step,
                                                        .products = cta->open_products[group],
                                                        .issued = now,
                                                        .done = to,
                                                        .waited = -1};
    int in_flight = 0;
    for (size_t i = 0; i < cta->batch_count; i++)
        in_flight += cta->batches[i].role == index_of_thread && cta->batches[i].waited < 0;
    l->out->most_batches = in_flight > l->out->most_batches ? in_flight : l->out->most_batches;
    cta->tensor_free[group] = to;
    if (step >= 0 && cta->open_products[group] > 0) {
        note_read(&cta->steps[step], from, to, group);
        add_mark(
            l, cta,
            (lab_pipe_mark){.kind = LAB_MARK_MULTIPLY, .role = index_of_thread, .step = step, .from = from, .to = to});
    }
    cta->open_products[group] = 0;
}

/* The thread has waited for its group's first `count` batches. */
static void take_finish(pipe_listener *l, pipe_cta *cta, int index_of_thread, int local, int count)
{
    const int leader = index_of_thread - local % 128;
    double *now = &l->threads[index_of_thread].now;
    for (size_t i = 0; i < cta->batch_count; i++)
        if (cta->batches[i].role == leader && cta->batches[i].number < count && cta->batches[i].done > *now)
            *now = cta->batches[i].done;
    for (size_t i = 0; i < cta->batch_count && leader == index_of_thread; i++)
        if (cta->batches[i].role == leader && cta->batches[i].number < count && cta->batches[i].waited < 0)
            cta->batches[i].waited = *now;
}

static void take_product(pipe_listener *l, pipe_cta *cta, int index_of_thread, int local, const tsr_event *event)
{
    const tsr_event_product *product = event->product;
    const int step = find_step_at(cta, (int64_t)product->b_at);
    lab_pipeline *out = l->out;
    if (local % 128 != 0 || local + 128 > out->threads)
        return; /* no first thread of a warp group */
    cta->open_products[local / 128]++;
    cta->open_step[local / 128] = step;
    for (int i = 0; i < 128; i++) {
        l->threads[index_of_thread + i].multiplies = 1;
        l->threads[index_of_thread + i].step = step;
    }
    if (step >= 0)
        cta->ends[step].multiply_adds += 64.0 * product->n * product->k;
    out->has_wgmma = 1;
    out->wgmma_n = product->n;
    out->wgmma_k = product->k;
    out->mn_major_a = product->mn_major_a;
    out->mn_major_b = product->mn_major_b;
}

/* ---- what becomes of sums --------------------------------------------------------------------------------------- */

/* Where what the thread does with sums is noted; NULL: nowhere. Without boxes the steps of a CTA are its work units. */
static pipe_end *end_of(pipe_cta *cta, const pipe_thread *thread)
{
    if (!cta->has_boxes)
        return (size_t)thread->unit < cta->step_count ? &cta->ends[thread->unit] : NULL;
    const int passed = thread->step >= 0 ? thread->step : passed_step(cta, thread);
    return passed < 0 ? NULL : &cta->ends[passed];
}

/* An element of A or B goes to a register or to shared memory, by a thread: behind its stores begins its next unit. */
static void take_load(pipe_listener *l, pipe_cta *cta, pipe_thread *thread, uintptr_t at, size_t bytes)
{
    const char operand = operand_at(l, at);
    if ((operand != 'A' && operand != 'B') || cta->has_boxes || bytes == 0)
        return;
    thread->unit += thread->has_stored;
    thread->has_stored = 0;
    if ((size_t)thread->unit >= cta->step_count && !add_step(l, cta))
        return;
    lab_pipe_step *step = &cta->steps[thread->unit];
    const lab_pipe_extent extent = extent_at(operand == 'A' ? &l->a : &l->b, at, bytes);
    lab_pipe_join(operand == 'A' ? &step->a : &step->b, &extent);
    step->bytes += (int64_t)bytes;
}

static void take_memory(pipe_listener *l, pipe_cta *cta, pipe_thread *thread, const tsr_event *event)
{
    const int is_write = event->kind == TSR_EVENT_WRITE;
    thread->has_written |= is_write;
    thread->has_read |= !is_write && event->is_shared;
    if (event->is_shared)
        return;
    pipe_end *end = end_of(cta, thread);
    if (is_inside(&l->workspace, event->at) && end) {
        *(is_write ? &end->left_bytes : &end->taken_bytes) += (double)event->bytes;
        thread->has_stored |= is_write;
    } else if (is_inside(&l->d, event->at) && end && is_write) {
        const lab_pipe_extent extent = extent_at(&l->d, event->at, event->bytes);
        lab_pipe_join(&end->d, &extent);
        thread->has_stored = 1;
    } else if (!is_write) {
        take_load(l, cta, thread, event->at, event->bytes);
    }
}

static void take_store(pipe_listener *l, pipe_cta *cta, pipe_thread *thread, const tsr_event *event)
{
    pipe_end *end = end_of(cta, thread);
    thread->has_written = 1;
    if (!end)
        return;
    thread->has_stored = 1;
    const uintptr_t base = (uintptr_t)event->box->base;
    if (is_inside(&l->d, base) && event->box->rank > 1) {
        const lab_pipe_box box = box_of(&l->d, 'D', event);
        const lab_pipe_extent extent = extent_of(&l->d, box.row, box.column, box.rows, box.columns);
        lab_pipe_join(&end->d, &extent);
    } else if (is_inside(&l->d, base)) {
        const lab_pipe_extent extent = extent_at(&l->d, base, event->bytes);
        lab_pipe_join(&end->d, &extent);
    } else if (is_inside(&l->workspace, base)) {
        end->left_bytes += (double)event->bytes;
    }
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

static void meet(pipe_meeting *meeting, unsigned expected, double now)
{
    meeting->latest = now > meeting->latest ? now : meeting->latest;
    if (++meeting->come < expected)
        return;
    meeting->done = meeting->latest;
    meeting->come = 0;
    meeting->latest = 0;
}

static void take_arrival(pipe_listener *l, const tsr_event *event, pipe_thread *thread)
{
    const int64_t rank = event->other - l->cluster * l->out->cluster;
    pipe_barrier *bar = lab_pipe_barrier(&l->ctas[rank], event->mbarrier);
    if (!bar)
        return;
    bar->pending = thread->now > bar->pending ? thread->now : bar->pending;
    if (event->cta == event->other) {
        thread->arrived[1] = thread->arrived[0];
        thread->arrived[0] = lab_pipe_key(bar->at, bar->phases);
    }
}

static void take_pass(pipe_cta *cta, pipe_thread *thread, const tsr_event *event)
{
    const pipe_barrier *bar = lab_pipe_barrier(cta, event->mbarrier);
    const int phase = (int)event->number;
    thread->passed = lab_pipe_key(event->mbarrier, phase);
    thread->arrived[0] = thread->arrived[1] = 0;
    if (bar && phase >= 0 && phase < bar->phases && bar->done[phase] > thread->now)
        thread->now = bar->done[phase];
}

static int synchronises(tsr_event_kind kind)
{
    return kind == TSR_EVENT_SYNC || kind == TSR_EVENT_ARRIVE || kind == TSR_EVENT_WAIT || kind == TSR_EVENT_NAMED ||
           kind == TSR_EVENT_CLUSTER || kind == TSR_EVENT_STORED;
}

static void start_cluster(pipe_listener *l, int64_t cluster)
{
    if (l->cluster >= 0)
        lab_pipe_keep(l);
    lab_pipe_reset(l);
    l->cluster = cluster;
}

void lab_pipe_end_threads(pipe_listener *l, int rank)
{
    for (int i = rank * l->out->threads; i < (rank + 1) * l->out->threads; i++)
        spend(l, &l->ctas[rank], &l->threads[i], i);
}

void lab_pipe_event(void *listener, const tsr_event *event)
{
    pipe_listener *l = listener;
    lab_pipeline *out = l->out;
    if (l->out_of_memory)
        return;
    if (event->cta / out->cluster != l->cluster)
        start_cluster(l, event->cta / out->cluster);
    const int rank = (int)(event->cta % out->cluster), local = (int)event->thread, index = rank * out->threads + local;
    out->ctas = event->cta >= out->ctas ? event->cta + 1 : out->ctas;
    pipe_cta *cta = &l->ctas[rank];
    pipe_thread *thread = &l->threads[index];
    pipe_barrier *bar = NULL;
    pipe_end *end;
    if (synchronises(event->kind))
        spend(l, cta, thread, index);
    switch (event->kind) {
    case TSR_EVENT_READ:
    case TSR_EVENT_WRITE:
        take_memory(l, cta, thread, event);
        break;
    case TSR_EVENT_COPY:
        take_load(l, cta, thread, event->from, event->bytes);
        break;
    case TSR_EVENT_FMA:
    case TSR_EVENT_MMA:
        thread->has_multiplied = thread->multiplies = 1;
        out->has_mma |= event->kind == TSR_EVENT_MMA;
        end = cta->has_boxes && passed_step(cta, thread) >= 0 ? &cta->ends[passed_step(cta, thread)]
                                                              : end_of(cta, thread);
        if (end && (event->kind == TSR_EVENT_FMA || event->thread % 32 == 0))
            end->multiply_adds += event->kind == TSR_EVENT_FMA ? 1 : (double)event->bytes / 2;
        break;
    case TSR_EVENT_SYNC:
        meet(&cta->sync, (unsigned)out->threads, thread->now);
        for (int i = 0; i < out->threads && cta->sync.come == 0; i++)
            l->threads[rank * out->threads + i].now = cta->sync.done;
        break;
    case TSR_EVENT_ATOMIC:
        end = end_of(cta, thread);
        if (end && event->bytes > 0)
            end->counter = (int)event->number;
        break;
    case TSR_EVENT_REMOTE:
        end = end_of(cta, thread);
        cta->cluster_reads += event->number == 0 ? (double)event->bytes : 0;
        if (end && event->other != event->cta)
            *(event->number ? &end->left_bytes : &end->taken_bytes) += (double)event->bytes;
        break;
    case TSR_EVENT_BOX:
        if (event->box->rank > 1)
            take_box(l, cta, thread, index, event);
        break;
    case TSR_EVENT_LAND:
        take_landing(cta, event);
        break;
    case TSR_EVENT_SEND:
        end = end_of(cta, thread);
        cta->sent_bytes += (double)event->bytes;
        if (end && event->other != event->cta)
            end->left_bytes += (double)event->bytes;
        bar = lab_pipe_barrier(&l->ctas[event->other % out->cluster], event->mbarrier);
        if (bar && thread->now + COPY_TICKS > bar->pending)
            bar->pending = thread->now + COPY_TICKS;
        break;
    case TSR_EVENT_STORE:
        take_store(l, cta, thread, event);
        break;
    case TSR_EVENT_INIT:
        bar = lab_pipe_barrier(cta, event->mbarrier);
        if (bar)
            bar->arrivals = (int)event->number;
        break;
    case TSR_EVENT_ARRIVE:
        take_arrival(l, event, thread);
        break;
    case TSR_EVENT_COMPLETE:
        bar = lab_pipe_barrier(cta, event->mbarrier);
        if (bar)
            add_phase(l, bar);
        break;
    case TSR_EVENT_PASS:
        take_pass(cta, thread, event);
        break;
    case TSR_EVENT_PRODUCT:
        take_product(l, cta, index, local, event);
        break;
    case TSR_EVENT_COMMIT:
        take_commit(l, cta, index, local);
        break;
    case TSR_EVENT_FINISH:
        take_finish(l, cta, index, local, (int)event->number);
        break;
    case TSR_EVENT_NAMED:
        meet(&cta->named[event->number % PIPE_NAMED], (unsigned)event->at, thread->now);
        break;
    case TSR_EVENT_NAMED_PASS:
        if (cta->named[event->number % PIPE_NAMED].done > thread->now)
            thread->now = cta->named[event->number % PIPE_NAMED].done;
        break;
    case TSR_EVENT_CLUSTER:
        meet(&l->cluster_meeting, (unsigned)(out->threads * out->cluster), thread->now);
        break;
    case TSR_EVENT_CLUSTER_PASS:
        if (l->cluster_meeting.done > thread->now)
            thread->now = l->cluster_meeting.done;
        break;
    case TSR_EVENT_REGISTERS:
        thread->registers = (int)event->number;
        break;
    case TSR_EVENT_WAIT:
    case TSR_EVENT_STORED:
    case TSR_EVENT_FRAGMENTS:
        break;
    }
}
