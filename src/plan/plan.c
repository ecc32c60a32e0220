/* Building and running plans. */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "plan/pad.h"
#include "plan/sum.h"

#define STAGED_ALIGN_BYTES 256 /* cuMemAlloc's alignment */

int tsr_operand_staged(const tsr_problem *problem, const tsr_device *device, char which)
{
    return device->kind == TSR_DEVICE_CUDA && tsr_problem_operand(problem, which)->memory == TSR_HOST;
}

tsr_problem tsr_device_problem(const tsr_problem *problem, const tsr_device *device)
{
    tsr_problem seen = *problem;
    tsr_operand *operands[] = {&seen.a, &seen.b, &seen.c, &seen.d};
    for (int i = 0; i < 4; i++) {
        if (!tsr_operand_staged(problem, device, "abcd"[i]))
            continue;
        long long rows, columns;
        tsr_stored_shape(problem, "abcd"[i], &rows, &columns);
        operands[i]->memory = TSR_DEVICE;
        operands[i]->ld = columns;
        if (operands[i]->batch_stride)
            operands[i]->batch_stride = rows * columns;
        const int tight = problem->batch <= 1 || operands[i]->batch_stride == 0 ||
                          operands[i]->batch_stride * (long long)tsr_dtype_bytes(operands[i]->dtype) % 16 == 0;
        operands[i]->align_bytes = tight ? STAGED_ALIGN_BYTES : (uint32_t)tsr_dtype_bytes(operands[i]->dtype);
    }
    return seen;
}

/* How close a rejected row came: asked for by name, of the device's kind, of the right dtype. */
static int nearness(const tsr_choice *choice, const tsr_problem *problem)
{
    const tsr_row *row = choice->row;
    const int named = problem->kernel && (tsr_row_is_named(row, problem->kernel));
    const int right_kind = (row->kind == TSR_ROW_CPU) == (choice->target->device.kind == TSR_DEVICE_CPU);
    return 4 * named + 2 * right_kind + (row->dtype_ab == problem->a.dtype);
}

static tsr_status nothing_applies(const tsr_problem *problem, const tsr_choice *choices, size_t count)
{
    const tsr_choice *nearest = &choices[0];
    if (problem->c.dtype != problem->d.dtype)
        return tsr_fail(TSR_UNSUPPORTED, "C.dtype = %s: no kernel takes a C of another dtype than D's, %s",
                        tsr_dtype_name(problem->c.dtype), tsr_dtype_name(problem->d.dtype));
    for (size_t i = 1; i < count; i++)
        if (nearness(&choices[i], problem) > nearness(nearest, problem))
            nearest = &choices[i];
    return tsr_fail(TSR_UNSUPPORTED, "%s%.60s%s %s x %s -> %s%s on %s; nearest: %s: %s",
                    problem->kernel ? "kernel \"" : "no kernel runs", problem->kernel ? problem->kernel : "",
                    problem->kernel ? "\" does not run" : "", tsr_dtype_name(problem->a.dtype),
                    tsr_dtype_name(problem->b.dtype), tsr_dtype_name(problem->d.dtype),
                    problem->compute == TSR_COMPUTE_TF32 ? " in tf32" : "", nearest->target->device.id,
                    nearest->row->instance, nearest->reason);
}

const tsr_step *tsr_plan_main(const tsr_planned *plan)
{
    const tsr_step *last = &plan->steps[plan->step_count - 1];
    return last->kind == TSR_STEP_MAIN ? last : last - 1;
}

static tsr_status add_step(tsr_planned *plan, tsr_step_kind kind, const tsr_row *row, tsr_launch_config launch)
{
    tsr_step *step = &plan->steps[plan->step_count++];
    step->kind = kind;
    step->row = row;
    step->launch = launch;
    return plan->target->backend->load(&plan->target->device, row, &step->loaded);
}

/* Where the last slice begins. */
static long long last_slice_at(const tsr_planned *plan)
{
    const long long extent = plan->slices.of_rows ? plan->device_problem.m : plan->device_problem.n;
    const long long width = plan->slices.width;
    return width > 0 ? (extent - 1) / width * width : 0;
}

static tsr_problem padded_slice_at(const tsr_planned *plan, long long at)
{
    const tsr_problem slice = tsr_slice_of(&plan->device_problem, plan->slices, at);
    return tsr_padded_problem(&slice, plan->pads);
}

/* How a slice of the plan is launched. */
static tsr_launch_config slice_launch(const tsr_planned *plan, const tsr_choice *choice, const tsr_problem *padded)
{
    tsr_launch_config launch = choice->launch;
    tsr_cost cost;
    (void)tsr_select_schedule(choice->row, padded, &plan->target->device, &launch, &cost, NULL, 0);
    return launch;
}

static tsr_status build_with(const tsr_choice *choice, const tsr_problem *problem, tsr_planned *out)
{
    const tsr_device *device = &choice->target->device;
    tsr_status status = TSR_OK;
    memset(out, 0, sizeof *out);
    out->problem = *problem;
    out->named = problem->kernel != NULL;
    out->target = choice->target;
    out->pads = choice->pads;
    out->device_problem = tsr_device_problem(&out->problem, device);
    out->slices = choice->slices;
    out->padded_problem = tsr_padded_problem(&out->device_problem, out->pads);
    tsr_problem padded_slice = out->padded_problem;
    tsr_launch_config launch = choice->launch;
    out->last_launch = launch;
    if (out->slices.width > 0) {
        padded_slice = padded_slice_at(out, 0);
        launch = slice_launch(out, choice, &padded_slice);
        const tsr_problem padded_last = padded_slice_at(out, last_slice_at(out));
        out->last_launch = slice_launch(out, choice, &padded_last);
    }
    out->problem.kernel = out->device_problem.kernel = out->padded_problem.kernel = NULL;
    out->workspace = tsr_lay_out_workspace(&launch, &padded_slice, out->pads);
    out->workspace_bytes = out->workspace.total_bytes;
    const tsr_launch_config whole = {.schedule = {.split_k = 1, .cluster_k = 1}};
    if (out->pads)
        status = add_step(out, TSR_STEP_PAD, tsr_pad_row(tsr_dtype_bytes(out->problem.a.dtype)), whole);
    if (status == TSR_OK)
        status = add_step(out, TSR_STEP_MAIN, choice->row, launch);
    if (status == TSR_OK && choice->row->choose)
        out->steps[out->step_count - 1].chosen = choice->row->choose(choice->row, device, &out->padded_problem);
    if (status == TSR_OK && launch.reduces)
        status = add_step(out, TSR_STEP_SUM, tsr_sum_row(out->problem.d.dtype), whole);
    return status;
}

static tsr_choice *best_of(tsr_choice *choices, size_t count)
{
    tsr_choice *best = choices;
    for (size_t i = 1; i < count; i++)
        if (tsr_comes_before(&choices[i], best))
            best = &choices[i];
    return best;
}

tsr_status tsr_plan_build(const tsr_problem *problem, tsr_target *targets, size_t target_count, tsr_planned *out)
{
    const size_t capacity = tsr_row_count() * TSR_MAX_TARGETS;
    tsr_choice *choices = malloc(capacity * sizeof *choices);
    if (!choices)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory to choose among %zu kernels", capacity);
    size_t left = tsr_select_applicable(problem, targets, target_count, choices, capacity);
    tsr_status status = TSR_INTERNAL;
    if (left == 0)
        status = nothing_applies(problem, choices, tsr_select_all(problem, targets, target_count, choices, capacity));
    /* Where code cannot be loaded (a GPU out of memory, or dead), the next best kernel takes its place, unless one was
     * asked for by name. */
    while (left > 0 && status != TSR_OK) {
        tsr_choice *const best = best_of(choices, left);
        status = build_with(best, problem, out);
        *best = choices[--left];
        left = problem->kernel ? 0 : left;
    }
    free(choices);
    return status;
}

static tsr_status launch_pad(const tsr_planned *plan, const tsr_problem *given, const tsr_problem *padded,
                             unsigned pads, const void *a, const void *b, void *to_a, void *to_b, void *stream)
{
    const tsr_step *step = &plan->steps[0];
    const tsr_gemm_args args = tsr_pad_args(given, padded, pads, a, b, to_a, to_b);
    const tsr_launch launch = {
        .row = step->row,
        .loaded = step->loaded,
        .args = &args,
        .grid = tsr_pad_grid(step->row, given, pads, plan->target->device.cuda.sm_count),
        .problem = padded,
        .threads = given->threads,
        .stream = stream,
    };
    return launch.grid.x > 0 ? plan->target->backend->launch(&plan->target->device, &launch) : TSR_OK;
}

size_t tsr_plan_prepared_bytes(const tsr_planned *plan, char which)
{
    return plan->pads & (which == 'a' ? TSR_PAD_A : TSR_PAD_B) ? tsr_padded_bytes(&plan->padded_problem, which) : 0;
}

tsr_status tsr_plan_prepare(const tsr_planned *plan, char which, const void *data, void *prepared, void *stream)
{
    const int is_a = which == 'a';
    return launch_pad(plan, &plan->device_problem, &plan->padded_problem, is_a ? TSR_PAD_A : TSR_PAD_B,
                      is_a ? data : NULL, is_a ? NULL : data, is_a ? prepared : NULL, is_a ? NULL : prepared, stream);
}

static tsr_gemm_args main_args(const tsr_planned *plan, const tsr_problem *p, const tsr_plan_inputs *inputs,
                               const tsr_launch_config *config)
{
    return (tsr_gemm_args){
        .a = inputs->a,
        .b = inputs->b,
        .c = inputs->beta != 0 ? inputs->c : NULL,
        .d = inputs->d,
        .workspace = plan->workspace.main_bytes ? inputs->workspace : NULL,
        .m = p->m,
        .n = p->n,
        .k = inputs->alpha != 0 ? p->k : 0,
        .lda = p->a.ld,
        .ldb = p->b.ld,
        .ldc = p->c.ld,
        .ldd = p->d.ld,
        .batch_a = p->a.batch_stride,
        .batch_b = p->b.batch_stride,
        .batch_c = p->c.batch_stride,
        .batch_d = p->d.batch_stride,
        .batch = p->batch,
        .alpha = inputs->alpha,
        .beta = inputs->beta,
        .trans_a = p->a.trans == TSR_T,
        .trans_b = p->b.trans == TSR_T,
        .schedule = config->schedule,
    };
}

static const void *element(const void *base, const tsr_operand *operand, long long index)
{
    return base ? (const char *)base + index * (long long)tsr_dtype_bytes(operand->dtype) : NULL;
}

/* Elements from an operand's first to the first that the slice beginning at `at` uses. */
static long long slice_offset(const tsr_planned *plan, char which, const tsr_operand *operand, long long at)
{
    const int of_rows = plan->slices.of_rows;
    if (which == (of_rows ? 'b' : 'a'))
        return 0;
    if (which == 'a')
        return operand->trans == TSR_T ? at : at * operand->ld;
    if (which == 'b')
        return operand->trans == TSR_T ? at * operand->ld : at;
    return of_rows ? at * operand->ld : at;
}

/* One operand for the main step of a slice: where it lies, and how. *pads loses those that need no copy. */
static const void *place(const tsr_planned *plan, int which, long long at, const void *given, const void *packed,
                         void *workspace, tsr_operand *layout, unsigned *pads)
{
    const char name = "ab"[which];
    const tsr_operand *original = tsr_problem_operand(&plan->device_problem, name);
    const int is_whole = name == (plan->slices.of_rows ? 'b' : 'a');
    if (packed && plan->target->device.kind != TSR_DEVICE_CPU) { /* the whole operand's copy, needed or not */
        const tsr_problem padded = tsr_padded_problem(&plan->device_problem, 1u << which);
        *pads &= ~(1u << which);
        *layout = *tsr_problem_operand(&padded, name);
        return element(packed, layout, slice_offset(plan, name, layout, at));
    }
    if (!(plan->pads >> which & 1))
        return element(given, original, slice_offset(plan, name, original, at));
    if (is_whole && at > 0) /* the first slice has copied it */
        *pads &= ~(1u << which);
    return (char *)workspace + plan->workspace.copy_at[which];
}

/* After the main step: its launch once more, by the step that adds what it left. */
static tsr_status launch_sum(const tsr_planned *plan, const tsr_launch *main)
{
    const tsr_step *step = tsr_plan_main(plan) + 1;
    const tsr_gemm_args args = tsr_sum_args(main->row, main->args);
    tsr_launch launch = *main;
    launch.row = step->row;
    launch.loaded = step->loaded;
    launch.args = &args;
    launch.grid = tsr_sum_grid(step->row, &args);
    launch.cluster = 0;
    return plan->target->backend->launch(&plan->target->device, &launch);
}

static tsr_status run_slice(const tsr_planned *plan, const tsr_plan_inputs *inputs, long long at)
{
    const tsr_step *step = tsr_plan_main(plan);
    const tsr_problem *whole = &plan->device_problem;
    const tsr_problem given = tsr_slice_of(whole, plan->slices, at);
    tsr_problem padded = tsr_padded_problem(&given, plan->pads);
    unsigned pads = inputs->alpha != 0 && given.k > 0 ? plan->pads : 0; /* without a product nobody reads A and B */
    tsr_plan_inputs seen = *inputs;
    seen.a = place(plan, 0, at, inputs->a, inputs->packed_a, inputs->workspace, &padded.a, &pads);
    seen.b = place(plan, 1, at, inputs->b, inputs->packed_b, inputs->workspace, &padded.b, &pads);
    seen.c = element(inputs->c, &whole->c, slice_offset(plan, 'c', &whole->c, at));
    seen.d = (void *)element(inputs->d, &whole->d, slice_offset(plan, 'd', &whole->d, at));
    if (pads) {
        const tsr_status status = launch_pad(plan, &given, &padded, pads,
                                             element(inputs->a, &whole->a, slice_offset(plan, 'a', &whole->a, at)),
                                             element(inputs->b, &whole->b, slice_offset(plan, 'b', &whole->b, at)),
                                             (void *)seen.a, (void *)seen.b, inputs->stream);
        if (status != TSR_OK)
            return status;
    }
    const tsr_launch_config *config = at == last_slice_at(plan) ? &plan->last_launch : &step->launch;
    const tsr_gemm_args args = main_args(plan, &padded, &seen, config);
    const tsr_launch launch = {
        .row = step->row,
        .loaded = step->loaded,
        .args = &args,
        .grid = config->grid,
        .cluster = config->cluster,
        .workspace_bytes = plan->workspace.main_bytes,
        .problem = &padded,
        .packed_a = inputs->packed_a,
        .packed_b = inputs->packed_b,
        .threads = padded.threads,
        .chosen = inputs->packed_a || inputs->packed_b ? 0
                  : inputs->beta != 0                  ? step->chosen.with_c
                                                       : step->chosen.without_c,
        .stream = inputs->stream,
    };
    const tsr_status status = plan->target->backend->launch(&plan->target->device, &launch);
    return status == TSR_OK && config->reduces ? launch_sum(plan, &launch) : status;
}

tsr_status tsr_plan_execute(const tsr_planned *plan, const tsr_plan_inputs *inputs)
{
    const long long extent = plan->slices.of_rows ? plan->device_problem.m : plan->device_problem.n;
    const long long width = plan->slices.width > 0 ? plan->slices.width : extent;
    tsr_status status = TSR_OK;
    for (long long at = 0; at < extent && status == TSR_OK; at += width)
        status = run_slice(plan, inputs, at);
    return status;
}
