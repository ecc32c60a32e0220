/* Building and running plans. */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

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
    const int named =
        problem->kernel && (strcmp(row->name, problem->kernel) == 0 || strcmp(row->instance, problem->kernel) == 0);
    const int right_kind = (row->kind == TSR_ROW_CPU) == (choice->target->device.kind == TSR_DEVICE_CPU);
    return 4 * named + 2 * right_kind + (row->dtype_ab == problem->a.dtype);
}

static tsr_status nothing_applies(const tsr_problem *problem, const tsr_choice *choices, size_t count)
{
    const tsr_choice *nearest = &choices[0];
    for (size_t i = 1; i < count; i++)
        if (nearness(&choices[i], problem) > nearness(nearest, problem))
            nearest = &choices[i];
    return tsr_fail(TSR_UNSUPPORTED, "no kernel runs %s x %s -> %s on %s; nearest: %s: %s",
                    tsr_dtype_name(problem->a.dtype), tsr_dtype_name(problem->b.dtype),
                    tsr_dtype_name(problem->d.dtype), nearest->target->device.id, nearest->row->instance,
                    nearest->reason);
}

static tsr_status build_with(const tsr_choice *choice, const tsr_problem *problem, tsr_planned *out)
{
    memset(out, 0, sizeof *out);
    out->problem = *problem;
    out->problem.kernel = NULL;
    out->named = problem->kernel != NULL;
    out->target = choice->target;
    out->device_problem = tsr_device_problem(&out->problem, &out->target->device);
    out->steps[0].kind = TSR_STEP_MAIN;
    out->steps[0].row = choice->row;
    out->steps[0].work = tsr_row_work(choice->row, &out->device_problem, &out->target->device);
    out->step_count = 1;
    out->workspace_bytes = out->steps[0].work.workspace_bytes;
    return out->target->backend->load(&out->target->device, choice->row, &out->steps[0].loaded);
}

tsr_status tsr_plan_build(const tsr_problem *problem, tsr_target *targets, size_t target_count, tsr_planned *out)
{
    const size_t capacity = tsr_row_count() * TSR_MAX_TARGETS;
    tsr_choice *choices = malloc(capacity * sizeof *choices);
    if (!choices)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory to choose among %zu kernels", capacity);
    const size_t count = tsr_judge(problem, targets, target_count, choices, capacity);
    tsr_status status = count == 0 || !choices[0].applicable ? nothing_applies(problem, choices, count) : TSR_INTERNAL;
    /* Where code cannot be loaded (a GPU out of memory, or dead), the next best kernel takes its place, unless one was
     * asked for by name. */
    for (size_t i = 0; i < count && choices[i].applicable && status != TSR_OK && (i == 0 || !problem->kernel); i++)
        status = build_with(&choices[i], problem, out);
    free(choices);
    return status;
}

tsr_status tsr_plan_execute(const tsr_planned *plan, const tsr_plan_inputs *inputs)
{
    const tsr_problem *p = &plan->device_problem;
    tsr_gemm_args args = {
        .a = inputs->a,
        .b = inputs->b,
        .c = inputs->beta != 0 ? inputs->c : NULL,
        .d = inputs->d,
        .workspace = inputs->workspace,
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
    };
    for (int i = 0; i < plan->step_count; i++) {
        args.split = plan->steps[i].work.split;
        const tsr_launch launch = {
            .row = plan->steps[i].row,
            .loaded = plan->steps[i].loaded,
            .args = &args,
            .grid = plan->steps[i].work.grid,
            .workspace_bytes = plan->workspace_bytes,
            .problem = p,
            .packed_a = inputs->packed_a,
            .packed_b = inputs->packed_b,
            .threads = p->threads,
            .stream = inputs->stream,
        };
        const tsr_status status = plan->target->backend->launch(&plan->target->device, &launch);
        if (status != TSR_OK)
            return status;
    }
    return TSR_OK;
}
