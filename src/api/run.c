/* Plans and runs behind the public functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "api/small.h"
#include "api/stream.h"
#include "api/validate.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/process.h"
#include "core/uncancelled.h"

size_t tsr_usable_targets(const tsr_context *context)
{
    return context->target_count > 1 && context->targets[0].device.kind == TSR_DEVICE_CPU &&
                   tsr_process() != context->process
               ? 1
               : context->target_count;
}

tsr_status tsr_plan_of(tsr_context *context, const tsr_problem *problem, tsr_plan **out)
{
    tsr_plan *plan = tsr_plan_cache_find(context->cache, problem);
    if (!plan) {
        plan = calloc(1, sizeof *plan);
        if (!plan)
            return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for a plan");
        plan->context = context;
        atomic_init(&plan->references, 1);
        const tsr_status status =
            tsr_plan_build(problem, context->targets, tsr_usable_targets(context), &plan->planned);
        if (status != TSR_OK) {
            free(plan);
            return status;
        }
        tsr_small_path_make(plan);
        if (!plan->planned.is_makeshift)
            plan = tsr_plan_cache_insert(context->cache, problem, plan);
    }
    *out = plan;
    return TSR_OK;
}

tsr_status tsr_plan_create(tsr_context *context, const tsr_gemm_desc *desc, tsr_plan **out)
{
    TSR_UNCANCELLED();
    if (!context || !out)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s = NULL", context ? "out" : "context");
    tsr_problem problem;
    const tsr_status status = tsr_validate_desc(desc, &problem);
    return status == TSR_OK ? tsr_plan_of(context, &problem, out) : status;
}

void tsr_plan_release(tsr_plan *plan)
{
    if (!plan || atomic_fetch_sub(&plan->references, 1) > 1)
        return;
    free(plan->small_path.small);
    free(plan);
}

const char *tsr_plan_kernel(const tsr_plan *plan)
{
    return plan ? tsr_plan_main(&plan->planned)->config->instance : "";
}

size_t tsr_plan_workspace_bytes(const tsr_plan *plan)
{
    return plan ? plan->planned.workspace_bytes : 0;
}

tsr_status tsr_plan_save(const tsr_plan *plan, const char *path)
{
    (void)plan;
    (void)path;
    return tsr_fail(TSR_UNSUPPORTED, "tsr_plan_save: not supported yet");
}

tsr_status tsr_plan_load(tsr_context *context, const char *path, tsr_plan **out)
{
    (void)context;
    (void)path;
    (void)out;
    return tsr_fail(TSR_UNSUPPORTED, "tsr_plan_load: not supported yet");
}

/* Prepared operands are the device's own: neither tiles nor another device can use them. */
static int has_prepared(const tsr_plan_inputs *inputs)
{
    return inputs->packed_a || inputs->packed_b;
}

/* Scales belong to rows, columns and blocks of the whole problem, and between two tiles along K a D of 8 bits would be
 * rounded. */
static int has_scaling(const tsr_plan *plan, const tsr_plan_inputs *inputs)
{
    const tsr_scaling *const s = &inputs->scaling;
    return s->a || s->b || s->c || s->zero_a || s->zero_b || tsr_dtype_is_fp8(plan->planned.problem.op.d);
}

static tsr_status run_checked(tsr_plan *plan, const tsr_plan_inputs *inputs)
{
    if (!has_prepared(inputs) && !has_scaling(plan, inputs) && tsr_run_wants_tiles(plan))
        return tsr_run_tiles(plan, inputs);
    return plan->planned.workspace_bytes && !inputs->workspace ? tsr_run_with_workspace(plan, inputs)
                                                               : tsr_run_inputs(plan, inputs);
}

/* 1 if nothing ties the product to the GPU: the context has a CPU that reaches all operands, and nobody asked for a
 * kernel by name. */
static int another_device_may(const tsr_plan *plan, const tsr_plan_inputs *inputs)
{
    const tsr_problem *p = &plan->planned.problem;
    if (plan->planned.target->device.kind != TSR_DEVICE_CUDA || plan->planned.named ||
        plan->context->targets[0].device.kind != TSR_DEVICE_CPU || has_prepared(inputs))
        return 0;
    for (const char *which = "abcd"; *which; which++)
        if (tsr_problem_operand(p, *which)->memory != TSR_HOST)
            return 0;
    return 1;
}

/* What the GPU failed to do; it left C as it was where D is C. */
static tsr_status run_on_cpu(const tsr_plan *plan, const tsr_plan_inputs *inputs, tsr_status why)
{
    tsr_context *context = plan->context;
    tsr_plan_inputs on_host = *inputs;
    tsr_planned planned;
    if (context->log) {
        char line[700];
        snprintf(line, sizeof line, "%s: %s; the product was computed on the CPU", tsr_status_text(why),
                 tsr_last_error());
        context->log(line, context->user);
    }
    const tsr_status status = tsr_plan_build(&plan->planned.problem, &context->targets[0], 1, &planned);
    on_host.workspace = NULL;
    return status == TSR_OK ? tsr_plan_execute(&planned, &on_host) : status;
}

/* On the GPU or, if that fails and not the caller, on the CPU. */
static tsr_status run_on_either(tsr_plan *plan, const tsr_plan_inputs *inputs)
{
    const tsr_error before = tsr_error_keep();
    tsr_status status = run_checked(plan, inputs);
    if (status != TSR_DRIVER_ERROR && status != TSR_OUT_OF_MEMORY)
        return status;
    status = run_on_cpu(plan, inputs, status);
    if (status == TSR_OK)
        tsr_error_put_back(&before);
    return status;
}

/* Kernels read scales that they can reach. In host memory of a GPU's product, that of a whole operand becomes a part of
 * alpha; others are copied with the operand. */
static void take_scale(const tsr_plan *plan, char which, const float *scale, tsr_plan_inputs *inputs)
{
    const tsr_problem *p = &plan->planned.problem;
    if ((which == 'a' ? p->op.scale_a : p->op.scale_b) != TSR_SCALE_TENSOR)
        *(which == 'a' ? &inputs->scaling.a : &inputs->scaling.b) = scale;
    else if (!tsr_operand_staged(&plan->planned.problem, &plan->planned.target->device, which))
        *(which == 'a' ? &inputs->scale_a : &inputs->scale_b) = scale;
    else if (scale && inputs->alpha != 0)
        inputs->alpha = (float)inputs->alpha * *scale;
}

/* What amax_d gets where D has no elements. */
static tsr_status amax_of_nothing(const tsr_plan *plan, const tsr_run_args *args)
{
    tsr_target *const target = plan->planned.target;
    const float zero = 0;
    if (!tsr_operand_staged(&plan->planned.problem, &target->device, 'd'))
        return target->backend->zero(&target->device, args->amax_d, sizeof zero, args->stream);
    memcpy(args->amax_d, &zero, sizeof zero);
    return TSR_OK;
}

/* With all checks. Not part of tsr_plan_run, which would save and restore for it what the short way does not need. */
static __attribute__((noinline)) tsr_status run_with_checks(tsr_plan *plan, const tsr_run_args *args)
{
    TSR_UNCANCELLED();
    if (!plan || !args)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s = NULL", plan ? "args" : "plan");
    tsr_run_args taken;
    tsr_status status = tsr_take_struct(&taken, sizeof taken, TSR_FIRST_ARGS_BYTES, args, "tsr_run_args");
    if (status == TSR_OK)
        status = tsr_validate_run(plan, &taken);
    if (status != TSR_OK)
        return status;
    const tsr_problem *problem = &plan->planned.problem;
    if (problem->m == 0 || problem->n == 0 || problem->batch == 0)
        return taken.amax_d ? amax_of_nothing(plan, &taken) : TSR_OK;
    tsr_plan_inputs inputs = {
        .a = taken.a,
        .b = taken.b,
        .c = taken.c,
        .d = taken.d,
        .bias = taken.bias,
        .workspace = taken.workspace,
        .alpha = taken.alpha.value,
        .beta = taken.beta.value,
        .scaling = {.c = taken.scale_c,
                    .d = taken.scale_d,
                    .amax = taken.amax_d,
                    .zero_a = taken.zero_a,
                    .zero_b = taken.zero_b},
        .stream = taken.stream,
    };
    take_scale(plan, 'a', taken.scale_a, &inputs);
    take_scale(plan, 'b', taken.scale_b, &inputs);
    if (taken.prepared_a)
        status = tsr_prepared_form((tsr_prepared *)taken.prepared_a, plan, &inputs.packed_a);
    if (status == TSR_OK && taken.prepared_b)
        status = tsr_prepared_form((tsr_prepared *)taken.prepared_b, plan, &inputs.packed_b);
    inputs.packed_transposed = tsr_prepared_bits(taken.prepared_a, plan) | tsr_prepared_bits(taken.prepared_b, plan);
    if (status != TSR_OK)
        return status;
    return another_device_may(plan, &inputs) ? run_on_either(plan, &inputs) : run_checked(plan, &inputs);
}

tsr_status tsr_plan_run(tsr_plan *plan, const tsr_run_args *args)
{
    return plan && args && plan->small_path.small && tsr_small_path_run(plan, args) ? TSR_OK
                                                                                    : run_with_checks(plan, args);
}

tsr_status tsr_gemm(tsr_context *context, const tsr_gemm_desc *desc, const tsr_run_args *args)
{
    return context && desc && args && tsr_desc_small(context, desc, args) ? TSR_OK
                                                                          : tsr_gemm_checked(context, desc, args);
}

tsr_status tsr_gemm_checked(tsr_context *context, const tsr_gemm_desc *desc, const tsr_run_args *args)
{
    TSR_UNCANCELLED();
    if (!context || !args)
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s = NULL", context ? "args" : "context");
    tsr_run_args taken;
    tsr_status status = tsr_take_struct(&taken, sizeof taken, TSR_FIRST_ARGS_BYTES, args, "tsr_run_args");
    tsr_problem problem;
    if (status == TSR_OK)
        status = tsr_validate_desc(desc, &problem);
    if (status != TSR_OK)
        return status;
    /* The plan of the descriptor, which is the one that operands are prepared for, unless it needs more workspace than
     * there is. */
    const size_t given_bytes = taken.workspace ? taken.workspace_bytes : 0;
    tsr_plan *plan = NULL;
    status = tsr_plan_of(context, &problem, &plan);
    if (status == TSR_OK && !tsr_any_operand_on_host(&problem) && plan->planned.workspace_bytes > given_bytes) {
        tsr_plan_release(plan);
        problem.workspace_limit_bytes = given_bytes;
        status = tsr_plan_of(context, &problem, &plan);
    }
    if (status != TSR_OK)
        return status;
    status = tsr_plan_run(plan, &taken);
    tsr_plan_release(plan);
    return status;
}
