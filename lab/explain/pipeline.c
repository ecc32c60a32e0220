#include "lab/explain/pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/sparse24.h"
#include "lab/common/kernel_names.h"
#include "lab/explain/lesson_run.h"
#include "lab/explain/pipeline_run.h"

enum { MOST_ELEMENTS = 1 << 24, MOST_BLOCKS = 4096 };

/* ---- what is kept of a cluster ---------------------------------------------------------------------------------- */

void lab_pipe_reset(pipe_listener *l)
{
    for (int r = 0; r < l->out->cluster; r++) {
        pipe_cta *cta = &l->ctas[r];
        for (int i = 0; i < cta->barrier_count; i++)
            free(cta->barriers[i].done);
        free(cta->steps);
        free(cta->ends);
        free(cta->marks);
        free(cta->batches);
        memset(cta, 0, sizeof *cta);
    }
    for (int i = 0; i < l->out->cluster * l->out->threads; i++)
        l->threads[i] = (pipe_thread){.step = -1};
    l->cluster_meeting = (pipe_meeting){0};
}

/* Steps of one tile with rising K are one unit. A CTA without rows of its own brings parts of B alone, for others. */
static int continues(const lab_pipe_step *last, const lab_pipe_step *step)
{
    const int has_a = !lab_pipe_is_empty(&step->a), has_b = !lab_pipe_is_empty(&step->b);
    if (has_a == lab_pipe_is_empty(&last->a) || has_b == lab_pipe_is_empty(&last->b))
        return 0;
    if ((has_a && (last->a.row0 != step->a.row0 || step->a.column0 <= last->a.column0)) ||
        (has_b && (last->b.column0 != step->b.column0 || step->b.row0 <= last->b.row0)))
        return 0;
    return 1;
}

static void add_units(pipe_listener *l, pipe_cta *cta, int64_t number)
{
    lab_pipeline *out = l->out;
    for (size_t i = 0; i < cta->step_count; i++) {
        lab_pipe_step *step = &cta->steps[i];
        const pipe_end *end = &cta->ends[i];
        if (i == 0 || !cta->has_boxes || !continues(step - 1, step)) {
            void *grown = lab_pipe_grow(out->units, out->unit_count, &l->unit_capacity, sizeof *out->units);
            l->out_of_memory |= grown == NULL;
            if (!grown)
                return;
            out->units = grown;
            out->units[out->unit_count++] = (lab_pipe_unit){.cta = number,
                                                            .a = lab_pipe_nothing(),
                                                            .b = lab_pipe_nothing(),
                                                            .d = lab_pipe_nothing(),
                                                            .counter = -1};
        }
        lab_pipe_unit *unit = &out->units[out->unit_count - 1];
        step->unit = (int)out->unit_count - 1;
        lab_pipe_join(&unit->a, &step->a);
        lab_pipe_join(&unit->b, &step->b);
        lab_pipe_join(&unit->d, &end->d);
        unit->k_stride = unit->steps > 0 ? step->b.row0 - (step - 1)->b.row0 : 0;
        unit->k_count += step->b.row1 - step->b.row0 + 1; /* 0 of nothing */
        unit->steps += cta->has_boxes;
        unit->multiply_adds += end->multiply_adds;
        unit->left_bytes += end->left_bytes;
        unit->taken_bytes += end->taken_bytes;
        unit->counter = end->counter >= 0 ? end->counter : unit->counter;
    }
}

static const pipe_barrier *find_barrier(const pipe_cta *cta, int64_t at)
{
    for (int i = 0; i < cta->barrier_count; i++)
        if ((int64_t)cta->barriers[i].at == at)
            return &cta->barriers[i];
    return NULL;
}

/* Stages are numbered as they are filled first. */
static int number_stages(pipe_cta *cta)
{
    int stages = 0;
    for (size_t i = 0; i < cta->step_count; i++) {
        lab_pipe_step *step = &cta->steps[i];
        for (size_t j = i; j-- > 0 && step->stage < 0;)
            if (cta->steps[j].at == step->at) {
                step->stage = cta->steps[j].stage;
                step->turn = cta->steps[j].turn + 1;
            }
        if (step->stage < 0)
            step->stage = stages++;
    }
    return stages;
}

/* Some producers wait for `empty` from the second turn on alone: the mbarrier of a stage is that of its later steps.
 * What counts bytes is no `empty`. */
static void find_empty(pipe_cta *cta)
{
    for (size_t i = 0; i < cta->step_count; i++)
        for (size_t j = 0; j < cta->step_count; j++)
            if (cta->steps[i].empty_at == cta->steps[j].full_at)
                cta->steps[i].empty_at = -1;
    for (size_t i = 0; i < cta->step_count; i++)
        for (size_t j = 0; j < cta->step_count && cta->steps[i].empty_at < 0; j++)
            if (cta->steps[j].stage == cta->steps[i].stage)
                cta->steps[i].empty_at = cta->steps[j].empty_at;
}

static void find_times(pipe_cta *cta, lab_pipeline *out)
{
    find_empty(cta);
    for (size_t i = 0; i < cta->step_count; i++) {
        lab_pipe_step *step = &cta->steps[i];
        const pipe_barrier *full = find_barrier(cta, step->full_at), *empty = find_barrier(cta, step->empty_at);
        if (full && step->full_phase >= 0 && step->full_phase < full->phases)
            step->full = full->done[step->full_phase];
        if (empty && step->turn < empty->phases)
            step->free = empty->done[step->turn];
        out->full_arrivals = full ? full->arrivals : out->full_arrivals;
        out->empty_arrivals = empty ? empty->arrivals : out->empty_arrivals;
    }
    for (size_t i = 0; i < cta->step_count; i++) {
        int in_flight = 0;
        for (size_t j = 0; j <= i; j++)
            in_flight += cta->steps[j].free < 0 || cta->steps[j].free > cta->steps[i].asked;
        out->most_in_flight = in_flight > out->most_in_flight ? in_flight : out->most_in_flight;
    }
}

/* What the lanes of a warp ever did. */
static pipe_thread warp_of(const pipe_thread *lanes)
{
    pipe_thread warp = {0};
    for (int i = 0; i < 32; i++) {
        warp.multiplies |= lanes[i].multiplies;
        warp.asks |= lanes[i].asks;
        warp.turns |= lanes[i].turns;
        warp.registers = lanes[i].registers;
    }
    return warp;
}

static lab_pipe_role_kind kind_of(const pipe_thread *warp)
{
    return warp->multiplies ? LAB_ROLE_CONSUMER
           : warp->asks     ? LAB_ROLE_PRODUCER
           : warp->turns    ? LAB_ROLE_TRANSPOSER
                            : LAB_ROLE_IDLE;
}

/* Neighbouring warps that do the same; of wgmma, four and four. */
static void find_roles(const pipe_listener *l, const pipe_thread *threads, lab_pipeline *out)
{
    int asked = 0; /* by the warp before */
    out->roles = calloc((size_t)l->warps, sizeof *out->roles);
    for (int w = 0; out->roles && w < l->warps; w++) {
        const pipe_thread warp = warp_of(threads + (ptrdiff_t)32 * w);
        const lab_pipe_role_kind kind = kind_of(&warp);
        lab_pipe_role *last = out->role_count ? &out->roles[out->role_count - 1] : NULL;
        const int is_group = out->has_wgmma && kind == LAB_ROLE_CONSUMER;
        if (last && last->kind == kind && !(is_group && w % 4 == 0) && asked == warp.asks && kind != LAB_ROLE_PRODUCER)
            last->warps++;
        else
            out->roles[out->role_count++] = (lab_pipe_role){kind, w, 1, warp.asks, warp.registers};
        asked = warp.asks;
    }
}

static int role_at(const lab_pipeline *out, int warp)
{
    for (size_t i = 0; i < out->role_count; i++)
        if (out->roles[i].first_warp == warp)
            return (int)i;
    return -1;
}

/* Takes what a CTA did; marks and batches are those of the first warp of each role. */
static void keep(pipe_listener *l, pipe_cta *cta, int rank, int64_t number)
{
    lab_pipeline *out = l->out;
    const int first = rank * out->threads;
    out->cta = number;
    out->rank = rank;
    out->stages = cta->has_boxes ? number_stages(cta) : 0;
    find_times(cta, out);
    find_roles(l, l->threads + first, out);
    for (size_t i = 0; i < cta->mark_count; i++) {
        lab_pipe_mark mark = cta->marks[i];
        const int lane = mark.role % 32;
        mark.role = role_at(out, (mark.role - first) / 32);
        if (mark.role < 0 || (lane != 0 && mark.kind != LAB_MARK_ASK))
            continue;
        mark.unit = mark.step >= 0 ? cta->steps[mark.step].unit : mark.unit >= 0 ? cta->steps[mark.unit].unit : -1;
        out->ticks = mark.to > out->ticks ? mark.to : out->ticks;
        cta->marks[out->mark_count++] = mark;
    }
    for (size_t i = 0; i < cta->batch_count; i++) {
        lab_pipe_batch batch = cta->batches[i];
        batch.role = role_at(out, (batch.role - first) / 32);
        if (batch.role >= 0 && batch.products > 0)
            cta->batches[out->batch_count++] = batch;
    }
    out->marks = cta->marks;
    out->batches = cta->batches;
    out->steps = cta->steps;
    out->step_count = cta->step_count;
    out->cluster_reads = cta->cluster_reads;
    out->sent_bytes = cta->sent_bytes;
    out->box_a = cta->box_a;
    out->box_b = cta->box_b;
    cta->marks = NULL;
    cta->batches = NULL;
    cta->steps = NULL;
    l->is_kept = 1;
}

static int holds(const lab_pipe_extent *extent, int64_t row, int64_t column)
{
    return row >= extent->row0 && row <= extent->row1 && column >= extent->column0 && column <= extent->column1;
}

/* 1 if the unit stores the wanted element of D or, where no CTA stores D, has part of its sum. */
static int makes(const pipe_listener *l, const lab_pipe_unit *u)
{
    const lab_pipe_extent sums = {u->a.row0, u->a.row1, u->b.column0, u->b.column1};
    return holds(l->out->reduces ? &sums : &u->d, l->wanted_row, l->wanted_column);
}

void lab_pipe_keep(pipe_listener *l)
{
    for (int r = 0; r < l->out->cluster && !l->out_of_memory; r++) {
        pipe_cta *cta = &l->ctas[r];
        const int64_t number = l->cluster * l->out->cluster + r;
        const size_t first = l->out->unit_count;
        lab_pipe_end_threads(l, r);
        add_units(l, cta, number);
        int is_wanted = number == l->wanted_cta;
        for (size_t i = first; i < l->out->unit_count && l->wanted_cta < 0; i++)
            is_wanted |= makes(l, &l->out->units[i]);
        if (is_wanted && !l->is_kept)
            keep(l, cta, r, number);
    }
}

/* ---- the problem ------------------------------------------------------------------------------------------------ */

typedef struct pipe_run {
    tsr_context *context;
    tsr_plan *plan;
    void *a, *b, *d, *workspace;
    tsr_prepared *prepared_a; /* compressed; NULL: A is whole */
    int64_t lda, ldb, ldd;
} pipe_run;

/* "wgmma" of "wgmma@stream-k=3/4". */
static int is_named(const tsr_config *config, const char *kernel)
{
    const size_t length = strcspn(kernel, "@");
    return (strlen(config->name) == length && strncmp(config->name, kernel, length) == 0) ||
           (strlen(config->instance) == length && strncmp(config->instance, kernel, length) == 0);
}

tsr_dtype lab_pipeline_dtype(const char *kernel, tsr_compute compute)
{
    tsr_dtype found = TSR_DTYPE_NONE;
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const tsr_config *config = tsr_config_at(i);
        if (!is_named(config, kernel))
            continue;
        const tsr_op op = tsr_op_of(&config->op);
        if (compute == TSR_COMPUTE_FAST && op.compute == compute)
            return op.a;
        if (op.a == TSR_F32 && (compute == TSR_COMPUTE_TF32 || op.compute != TSR_COMPUTE_TF32))
            return TSR_F32;
        if (found == TSR_DTYPE_NONE || (found == TSR_F32 && op.compute != TSR_COMPUTE_TF32))
            found = op.a;
    }
    return found == TSR_DTYPE_NONE ? TSR_F32 : found;
}

/* The smallest instance is the easiest to follow, but that of kernels with a producer of their own in larger ones. */
static int is_small_better(const tsr_config *config)
{
    return config->family != TSR_FAMILY_MMA_TMA && config->family != TSR_FAMILY_WARP_SPECIALIZED;
}

/* Of a kernel whose configs take B in one way each, one that takes it as the request has it, and for few rows, not few
 * columns; an instance is taken as it is. */
static int suits(const tsr_config *config, const lab_lesson_request *request)
{
    const size_t length = strlen(config->name);
    const int is_instance = strncmp(request->kernel, config->name, length) != 0 || request->kernel[length] == '_';
    return is_instance || config->family != TSR_FAMILY_THIN ||
           (config->bm <= config->bn && (config->b_layout == TSR_ONLY_T) == (request->trans_b != 0));
}

/* 1 if the config makes such products, in the arithmetic that is asked for, if any is. */
static int computes(const tsr_config *config, const lab_types *types)
{
    const lab_types all = lab_types_complete(types);
    return config->op.a & TSR_TYPE_BIT(all.a) && config->op.b & TSR_TYPE_BIT(all.b) &&
           (types->d == TSR_DTYPE_NONE || config->op.cd & TSR_TYPE_BIT(all.d)) &&
           (types->compute == TSR_COMPUTE_DEFAULT || config->op.computes & TSR_COMPUTE_BIT(types->compute));
}

/* Where no arithmetic is asked for, configs in that of the type come before others, then smaller ones. */
static int is_better(const tsr_config *config, const tsr_config *than, const lab_types *types)
{
    const unsigned usual = TSR_COMPUTE_BIT(tsr_dtype_compute(types->a));
    const int is_usual = (config->op.computes & usual) != 0, was_usual = (than->op.computes & usual) != 0;
    return is_usual != was_usual ? is_usual : is_small_better(config) && config->bm * config->bn < than->bm * than->bn;
}

static const tsr_config *first_config(const lab_lesson_request *request)
{
    const tsr_config *found = NULL;
    for (size_t i = 0; i < tsr_config_count(); i++) {
        const tsr_config *config = tsr_config_at(i);
        if (!is_named(config, request->kernel) || config->kind != TSR_CONFIG_CUDA || !suits(config, request) ||
            !computes(config, &request->types) || (request->tile != 0 && config->bm != request->tile))
            continue;
        if (!found || is_better(config, found, &request->types))
            found = config;
    }
    return found;
}

/* Sizes that were left out: enough to see the ring go round, and more tiles than SMs where a CTA takes several. The
 * time line is short enough to be shown whole (cli/explain_pipeline.c). */
static void fill_in_sizes(lab_lesson_request *request, const tsr_config *config)
{
    const int is_wgmma = config->family == TSR_FAMILY_WGMMA;
    const int has_m = request->m > 0, has_n = request->n > 0;
    if (!has_m)
        request->m = is_wgmma && !has_n ? 11 * config->bm : config->bm;
    if (!has_n)
        request->n = is_wgmma && !has_m ? 13 * config->bn : 2 * config->bn;
    if (!request->k)
        request->k = config->family == TSR_FAMILY_THIN ? 8 * config->bk : is_wgmma ? 6 * config->bk : 12 * config->bk;
}

static int64_t round_up(int64_t value, int64_t step)
{
    return (value + step - 1) / step * step;
}

static tsr_status make_plan(const lab_lesson_request *request, const char *kernel, pipe_run *run)
{
    tsr_gemm_desc desc = tsr_gemm_desc_make(request->types.a, request->m, request->n, request->k);
    const int64_t step = 16 / (int64_t)tsr_dtype_bytes(request->types.a);
    desc.a.align_bytes = desc.b.align_bytes = desc.c.align_bytes = desc.d.align_bytes = 256;
    desc.a.trans = request->trans_a ? TSR_T : TSR_N;
    desc.b.trans = request->trans_b ? TSR_T : TSR_N;
    run->lda = desc.a.ld = round_up(request->trans_a ? request->m : request->k, step);
    run->ldb = desc.b.ld = round_up(request->trans_b ? request->k : request->n, step);
    lab_types_put(&request->types, &desc);
    run->ldd = desc.c.ld = desc.d.ld = round_up(request->n, 16 / (int64_t)tsr_dtype_bytes(desc.d.dtype));
    desc.kernel = kernel;
    if (lab_kernel_is_sparse(kernel))
        desc.flags |= TSR_SPARSE24_A;
    return tsr_plan_create(run->context, &desc, &run->plan);
}

static tsr_status allocate(pipe_run *run, pipe_region *region, void **at, int64_t rows, int64_t columns, int64_t ld,
                           tsr_dtype dtype, int is_transposed)
{
    const int bytes = (int)tsr_dtype_bytes(dtype);
    *region = (pipe_region){.bytes = (size_t)(rows * ld * bytes),
                            .rows = rows,
                            .columns = columns,
                            .ld = ld,
                            .elem_bytes = bytes,
                            .is_transposed = is_transposed};
    const tsr_status status = tsr_device_alloc(run->context, region->bytes + 16, at);
    region->at = (uintptr_t)*at;
    if (status == TSR_OK)
        memset(*at, 0, region->bytes + 16);
    return status;
}

static void describe(const lab_lesson_request *request, const tsr_step *main, lab_pipeline *out)
{
    const tsr_config *config = main->config;
    out->kernel = config->name;
    out->instance = config->instance;
    out->summary = config->summary;
    out->source = config->source;
    out->types = lab_types_complete(&request->types);
    out->m = request->m;
    out->n = request->n;
    out->k = request->k;
    out->trans_a = request->trans_a;
    out->trans_b = request->trans_b;
    out->is_sparse_a = lab_config_is_sparse(config);
    tsr_config_tile(config, request->m, request->n, &out->bm, &out->bn);
    if (config->swaps_ab) {
        const int swap_ab = main->launch.schedule.swap_ab;
        const tsr_gemm_args args = {.m = request->m,
                                    .n = request->n,
                                    .trans_a = request->trans_a,
                                    .trans_b = request->trans_b,
                                    .schedule = main->launch.schedule};
        const int columns = tsr_config_short_tile(config, &args);
        out->bm = swap_ab ? columns : config->bn;
        out->bn = swap_ab ? config->bn : columns;
    }
    out->bk = config->bk;
    out->threads = config->threads_x * config->threads_y;
    out->smem_bytes = config->smem_bytes;
    out->elem_bytes = (int)tsr_dtype_bytes(request->types.a);
    out->reduces = main->launch.reduces;
}

/* A's zeros as the kernel reads them: of each line the values that are kept; metadata is no part of it. */
static tsr_status compress(const lab_lesson_request *request, pipe_run *run, pipe_region *region)
{
    const tsr_form24 form = tsr_form24_of(request->types.a, request->m, request->k);
    const void *at = NULL;
    tsr_status status = tsr_compress24(run->plan, 'a', run->a, &run->prepared_a);
    if (status == TSR_OK)
        status = tsr_prepared_form(run->prepared_a, run->plan, &at);
    *region = (pipe_region){.at = (uintptr_t)at,
                            .bytes = (size_t)form.values_bytes,
                            .rows = request->m,
                            .columns = tsr_kept24(request->k),
                            .ld = form.k / 2,
                            .elem_bytes = region->elem_bytes};
    return status;
}

static tsr_status listen(const lab_lesson_request *request, int64_t cta, pipe_run *run, pipe_listener *l)
{
    lab_pipeline *out = l->out;
    const size_t workspace = tsr_plan_workspace_bytes(run->plan);
    tsr_status status = allocate(run, &l->a, &run->a, request->trans_a ? out->k : out->m,
                                 request->trans_a ? out->m : out->k, run->lda, request->types.a, request->trans_a);
    if (status == TSR_OK && out->is_sparse_a)
        status = compress(request, run, &l->a);
    if (status == TSR_OK)
        status = allocate(run, &l->b, &run->b, request->trans_b ? out->n : out->k, request->trans_b ? out->k : out->n,
                          run->ldb, out->types.b, request->trans_b);
    if (status == TSR_OK)
        status = allocate(run, &l->d, &run->d, out->m, out->n, run->ldd, out->types.d, 0);
    if (status == TSR_OK && workspace > 0)
        status = allocate(run, &l->workspace, &run->workspace, 1, (int64_t)workspace, (int64_t)workspace, TSR_U8, 0);
    l->ctas = calloc((size_t)out->cluster, sizeof *l->ctas);
    l->threads = calloc((size_t)out->cluster * (size_t)out->threads, sizeof *l->threads);
    l->warps = (out->threads + 31) / 32;
    if (status != TSR_OK || !l->ctas || !l->threads)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the operands");
    if (l->warps * out->cluster > PIPE_WARPS)
        return tsr_fail(TSR_UNSUPPORTED, "%s: a cluster of %d warps is too large to be followed", out->instance,
                        l->warps * out->cluster);
    l->cluster = -1;
    l->wanted_cta = cta;
    l->wanted_row = request->block_y * out->bm;
    l->wanted_column = request->block_x * out->bn;
    tsr_run_args args = tsr_run_args_make(run->prepared_a ? NULL : run->a, run->b, run->d);
    args.prepared_a = run->prepared_a;
    args.workspace = run->workspace;
    args.workspace_bytes = workspace;
    const tsr_emu_listener listener = {l, lab_pipe_event};
    tsr_device *device = &run->context->home->device;
    tsr_emu_listen(device, &listener);
    status = tsr_plan_run(run->plan, &args);
    tsr_emu_listen(device, NULL);
    if (status == TSR_OK && l->cluster >= 0)
        lab_pipe_keep(l);
    if (status == TSR_OK && l->out_of_memory)
        status = tsr_fail(TSR_OUT_OF_MEMORY, "no memory for what the kernel does");
    if (status == TSR_OK && !l->is_kept && cta >= 0)
        status = tsr_fail(TSR_INVALID_ARGUMENT, "%s runs on %" PRId64 " CTAs, 0 to %" PRId64, out->instance, out->ctas,
                          out->ctas - 1);
    if (status == TSR_OK && !l->is_kept)
        status = tsr_fail(TSR_INTERNAL, "%s: no CTA stores block %" PRId64 ",%" PRId64, out->instance, request->block_x,
                          request->block_y);
    return status;
}

static tsr_status check(const lab_lesson_request *request, const lab_pipeline *out)
{
    const double a = (double)request->m * (double)request->k, b = (double)request->k * (double)request->n;
    if (a + b >= MOST_ELEMENTS || (double)request->m * (double)request->n >= MOST_ELEMENTS)
        return tsr_fail(TSR_INVALID_ARGUMENT,
                        "%" PRId64 " x %" PRId64 " x %" PRId64 " is too large: A and B may have 2^24 elements together",
                        request->m, request->n, request->k);
    const int64_t x = (out->n + out->bn - 1) / out->bn, y = (out->m + out->bm - 1) / out->bm;
    if (request->block_x >= x || request->block_y >= y)
        return tsr_fail(TSR_INVALID_ARGUMENT,
                        "block %" PRId64 ",%" PRId64 ": %s makes C from %" PRId64 " x %" PRId64
                        " blocks (x up to %" PRId64 ", y up to %" PRId64 ")",
                        request->block_x, request->block_y, out->instance, x, y, x - 1, y - 1);
    return TSR_OK;
}

/* A kernel that a lesson follows: one block for each tile, and threads that do everything. */
static int is_simple(const tsr_step *main, size_t workspace_bytes)
{
    const tsr_schedule *s = &main->launch.schedule;
    return !main->config->tma && !main->config->persistent && workspace_bytes == 0 && s->cluster_k <= 1 &&
           s->stream_k_units == 0 && main->config->family != TSR_FAMILY_THIN;
}

/* Of kernels that cut K, by sizes that nobody gave: a cut that shows how. */
static void name_schedule(const lab_lesson_request *request, const tsr_config *config, int sizes_given, char out[160])
{
    const char *kernel = request->kernel, *cut = "";
    if (!strchr(kernel, '@') && !sizes_given)
        cut = config->family == TSR_FAMILY_STREAM_K       ? "@stream-k=2/3"
              : config->family == TSR_FAMILY_CLUSTER_K    ? "@cluster-k=3"
              : config->family == TSR_FAMILY_THIN         ? "@split-k=3"
              : config->family == TSR_FAMILY_WGMMA_SKINNY ? "@cluster-k=2"
              : config->family == TSR_FAMILY_MMA_F64      ? "@whole" /* its lesson is the fragments */
                                                          : "";
    const int is_bare = strcmp(kernel, config->name) == 0;
    snprintf(out, 160, "%s%s", is_bare && (!sizes_given || request->tile) ? config->instance : kernel, cut);
}

static tsr_status make(lab_lesson_request *request, int64_t cta, int *simple, pipe_run *run, pipe_listener *l)
{
    const tsr_config *config = first_config(request);
    *simple = !config;
    if (!config)
        return TSR_OK; /* a lesson says what is wrong */
    const int reads_along_k = config->a_layout == TSR_ONLY_N && config->b_layout == TSR_ONLY_T &&
                              config->copies_transposed && !lab_config_is_sparse(config);
    if (reads_along_k)
        request->trans_b = 1;
    if (reads_along_k && request->trans_a)
        return tsr_fail(TSR_UNSUPPORTED, "%s reads A along K: take --layout nt", config->name);
    if (!(config->op.computes & TSR_COMPUTE_BIT(tsr_dtype_compute(request->types.a))))
        request->types.compute = tsr_op_of(&config->op).compute;
    const int sizes_given = request->m > 0 || request->n > 0 || request->k > 0;
    fill_in_sizes(request, config);
    char kernel[160];
    name_schedule(request, config, sizes_given, kernel);
    tsr_status status = tsr_context_create("emu", NULL, &run->context);
    if (status == TSR_OK)
        status = make_plan(request, kernel, run);
    if (status != TSR_OK)
        return status;
    const tsr_step *main = tsr_plan_main(&run->plan->planned);
    *simple = (lab_config_is_sparse(main->config) && !main->config->tma) ||
              is_simple(main, tsr_plan_workspace_bytes(run->plan));
    if (*simple)
        return TSR_OK;
    lab_pipeline *out = l->out;
    describe(request, main, out);
    const tsr_problem *problem = &run->plan->planned.padded_problem;
    tsr_schedule_text(main->config, problem, &main->launch.schedule, out->schedule);
    const int cluster = main->launch.cluster > 0 ? main->launch.cluster : tsr_config_cluster(main->config);
    out->cluster = cluster > 1 ? cluster : 1;
    status = check(request, out);
    return status == TSR_OK ? listen(request, cta, run, l) : status;
}

tsr_status lab_pipeline_make(const lab_lesson_request *asked, int64_t cta, int *simple, lab_pipeline *out)
{
    lab_lesson_request request = *asked;
    pipe_run run = {0};
    memset(out, 0, sizeof *out);
    out->cluster = 1;
    pipe_listener *l = calloc(1, sizeof *l);
    if (!l)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for the pipeline");
    l->out = out;
    *simple = 0;
    const tsr_status status = make(&request, cta, simple, &run, l);
    if (l->ctas && l->threads)
        lab_pipe_reset(l);
    free(l->ctas);
    free(l->threads);
    free(l);
    tsr_prepared_release(run.prepared_a);
    tsr_plan_release(run.plan);
    if (run.context) {
        tsr_device_free(run.context, run.a);
        tsr_device_free(run.context, run.b);
        tsr_device_free(run.context, run.d);
        tsr_device_free(run.context, run.workspace);
    }
    tsr_context_destroy(run.context);
    if (status != TSR_OK)
        lab_pipeline_free(out);
    return status;
}

void lab_pipeline_free(lab_pipeline *p)
{
    free(p->roles);
    free(p->steps);
    free(p->marks);
    free(p->batches);
    free(p->units);
    memset(p, 0, sizeof *p);
}

/* ---- structure -------------------------------------------------------------------------------------------------- */

void lab_wgmma_place(int thread, int index, int *row, int *column)
{
    unsigned r, c;
    tsr_emu_fragment_place((unsigned)thread, (unsigned)index, &r, &c);
    *row = (int)r;
    *column = (int)c;
}

/* PTX ISA, "Matrix fragments for mma.m16n8k16"; the emulator's twin reads registers by the same rule (ptx/mma.h). */
lab_mma_place lab_mma_place_of(char operand, int lane, int index)
{
    const int g = lane / 4, t = lane % 4;
    if (operand == 'A')
        return (lab_mma_place){g + index % 2 * 8, 2 * t + index / 2 * 8};
    if (operand == 'B')
        return (lab_mma_place){2 * t + index * 8, g};
    return (lab_mma_place){g + index / 2 * 8, 2 * t + index % 2};
}

int lab_box_chunk(const lab_pipe_box *box, int row, int chunk)
{
    const size_t at = (size_t)box->at, line = (size_t)row * (size_t)box->row_bytes;
    const size_t lies = tsr_emu_swizzled(at, line + (size_t)chunk * 16, (unsigned)box->swizzle_bytes);
    return (int)((lies - at - line) / 16);
}
