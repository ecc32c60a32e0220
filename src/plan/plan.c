/* Building and running plans. */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "core/error.h"
#include "core/sparse24.h"
#include "core/tensor_spec.h"
#include "plan/pad.h"
#include "plan/split_reduce.h"

#define STAGED_ALIGN_BYTES 256 /* cuMemAlloc's alignment */

int tsr_operand_staged(const tsr_problem *problem, const tsr_device *device, char which)
{
    return device->kind == TSR_DEVICE_CUDA && tsr_problem_operand(problem, which)->memory == TSR_HOST;
}

#define MOST_ROW (1LL << 62)

/* A matrix of one row has any leading dimension, so that it can have an aligned one; one column without gaps lies in
 * memory as the one row of its transpose. */
static void view_as_row(const tsr_problem *problem, char which, tsr_matrix *operand)
{
    const long long unit = TSR_TENSOR_ALIGN_BYTES / tsr_problem_element(problem, which);
    long long rows, columns;
    tsr_stored_shape(problem, which, &rows, &columns);
    if (columns == 1 && rows > 1 && operand->ld == 1 && which <= 'b') {
        operand->trans = operand->trans == TSR_T ? TSR_N : TSR_T;
        columns = rows;
        rows = 1;
    }
    if (rows == 1 && columns <= MOST_ROW)
        operand->ld = (columns + unit - 1) / unit * unit;
}

/* Batch-invariant plans see no vector of A, C or D: with one row they would prefer other kernels than with more. */
static int may_be_viewed(const tsr_problem *problem, const tsr_device *device, char which)
{
    return device->kind != TSR_DEVICE_CPU && !(problem->op.sparse24 & tsr_sparse24_flag(which)) &&
           (which == 'b' || !(problem->flags & TSR_BATCH_INVARIANT));
}

tsr_problem tsr_device_problem(const tsr_problem *problem, const tsr_device *device)
{
    tsr_problem seen = *problem;
    tsr_matrix *operands[] = {&seen.a, &seen.b, &seen.c, &seen.d};
    for (int i = 0; i < 4; i++) {
        const char which = "abcd"[i];
        if (!tsr_operand_staged(problem, device, which)) {
            if (may_be_viewed(problem, device, which))
                view_as_row(problem, which, operands[i]);
            continue;
        }
        long long rows, columns;
        tsr_stored_shape(problem, "abcd"[i], &rows, &columns);
        operands[i]->memory = TSR_DEVICE;
        operands[i]->ld = columns;
        if (operands[i]->batch_stride)
            operands[i]->batch_stride = rows * columns;
        const int tight = problem->batch <= 1 || operands[i]->batch_stride == 0 ||
                          operands[i]->batch_stride * tsr_problem_element(problem, "abcd"[i]) % 16 == 0;
        operands[i]->align_bytes = tight ? STAGED_ALIGN_BYTES : (uint32_t)tsr_problem_element(problem, "abcd"[i]);
    }
    return seen;
}

/* How close a rejected config came: asked for by name, of the device's kind, of the right dtype. */
static int nearness(const tsr_plan_candidate *candidate, const tsr_problem *problem)
{
    const tsr_config *config = candidate->config;
    const int named = problem->kernel && (tsr_config_is_named(config, problem->kernel));
    const int right_kind = (config->kind == TSR_CONFIG_CPU) == (candidate->target->device.kind == TSR_DEVICE_CPU);
    return 4 * named + 2 * right_kind + ((config->op.a & TSR_TYPE_BIT(problem->op.a)) != 0);
}

static tsr_status nothing_applies(const tsr_problem *problem, const tsr_plan_candidate *candidates, size_t count)
{
    const tsr_plan_candidate *nearest = &candidates[0];
    if (problem->op.c != problem->op.d)
        return tsr_fail(TSR_UNSUPPORTED, "C.dtype = %s: no kernel takes a C of another dtype than D's, %s",
                        tsr_dtype_name(problem->op.c), tsr_dtype_name(problem->op.d));
    for (size_t i = 1; i < count; i++)
        if (nearness(&candidates[i], problem) > nearness(nearest, problem))
            nearest = &candidates[i];
    return tsr_fail(TSR_UNSUPPORTED, "%s%.60s%s %s x %s -> %s%s on %s; nearest: %s: %s",
                    problem->kernel ? "kernel \"" : "no kernel runs", problem->kernel ? problem->kernel : "",
                    problem->kernel ? "\" does not run" : "", tsr_dtype_name(problem->op.a),
                    tsr_dtype_name(problem->op.b), tsr_dtype_name(problem->op.d),
                    problem->op.compute == TSR_COMPUTE_TF32   ? " in tf32"
                    : problem->op.compute == TSR_COMPUTE_FAST ? " in fast"
                                                              : "",
                    nearest->target->device.id, nearest->config->instance, nearest->reason);
}

const tsr_step *tsr_plan_main(const tsr_planned *plan)
{
    const tsr_step *last = &plan->steps[plan->step_count - 1];
    return last->kind == TSR_STEP_MAIN ? last : last - 1;
}

static tsr_status add_step(tsr_planned *plan, tsr_step_kind kind, const tsr_config *config, tsr_launch_config launch)
{
    tsr_step *step = &plan->steps[plan->step_count++];
    step->kind = kind;
    step->config = config;
    step->launch = launch;
    return plan->target->backend->load(&plan->target->device, config, &step->loaded);
}

static tsr_problem padded_slice_at(const tsr_planned *plan, tsr_corner at)
{
    const tsr_problem slice = tsr_slice_of(&plan->device_problem, plan->slices, at);
    return tsr_padded_problem(&slice, plan->pads);
}

/* How slices of the plan are launched: those that have neither D's last rows, nor its last columns, nor the end of K,
 * and the others. */
static void find_slice_launches(const tsr_plan_candidate *candidate, tsr_planned *plan)
{
    const tsr_problem *const whole = &plan->device_problem;
    for (int i = 0; i < 8; i++) {
        const int has_last_rows = i / 4, has_last_columns = i / 2 % 2, has_end = i % 2;
        const tsr_corner at = {has_last_rows ? tsr_last_slice(whole->m, plan->slices.rows) : 0,
                               has_last_columns ? tsr_last_slice(whole->n, plan->slices.columns) : 0,
                               has_end ? tsr_last_slice(whole->k, plan->slices.depth) : 0};
        tsr_launch_config *const launch = &plan->slice_launch[has_last_rows][has_last_columns][has_end];
        *launch = candidate->launch;
        if (tsr_is_sliced(plan->slices)) {
            const tsr_problem padded = padded_slice_at(plan, at);
            tsr_price cost;
            (void)tsr_select_schedule(candidate->config, &padded, &plan->target->device, launch, &cost, NULL, 0);
        }
    }
}

static tsr_status build_with(const tsr_plan_candidate *candidate, const tsr_problem *problem, tsr_planned *out)
{
    const tsr_device *device = &candidate->target->device;
    tsr_status status = TSR_OK;
    memset(out, 0, sizeof *out);
    out->problem = *problem;
    out->named = problem->kernel != NULL;
    out->target = candidate->target;
    out->pads = candidate->pads;
    out->device_problem = tsr_device_problem(&out->problem, device);
    out->slices = candidate->slices;
    out->padded_problem = tsr_padded_problem(&out->device_problem, out->pads);
    find_slice_launches(candidate, out);
    const tsr_problem padded_slice = padded_slice_at(out, (tsr_corner){0, 0, 0});
    const tsr_launch_config launch = out->slice_launch[0][0][0];
    out->problem.kernel = out->device_problem.kernel = out->padded_problem.kernel = NULL;
    out->workspace = tsr_lay_out_workspace(&launch, &padded_slice, out->pads);
    out->workspace_bytes = out->workspace.total_bytes;
    const tsr_launch_config whole = {.schedule = {.split_k = 1, .cluster_k = 1}};
    if (tsr_copies_of(out->pads, 0))
        status = add_step(out, TSR_STEP_PAD, tsr_pad_config(problem->op.a), whole);
    if (status == TSR_OK && tsr_copies_of(out->pads, 1))
        status = add_step(out, TSR_STEP_TRANSPOSE, tsr_transpose_config(problem->op.a), whole);
    if (status == TSR_OK)
        status = add_step(out, TSR_STEP_MAIN, candidate->config, launch);
    if (status == TSR_OK && candidate->config->choose)
        out->steps[out->step_count - 1].algorithms =
            candidate->config->choose(candidate->config, device, &out->padded_problem);
    if (status == TSR_OK && launch.reduces)
        status = add_step(out, TSR_STEP_REDUCE, tsr_split_reduce_config(problem->op.d), whole);
    return status;
}

static tsr_plan_candidate *best_of(tsr_plan_candidate *candidates, size_t count)
{
    tsr_plan_candidate *best = candidates;
    for (size_t i = 1; i < count; i++)
        if (tsr_comes_before(&candidates[i], best))
            best = &candidates[i];
    return best;
}

tsr_status tsr_plan_build(const tsr_problem *problem, tsr_target *targets, size_t target_count, tsr_planned *out)
{
    const size_t capacity = tsr_config_count() * TSR_MAX_TARGETS;
    tsr_plan_candidate *candidates = malloc(capacity * sizeof *candidates);
    if (!candidates)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory to choose among %zu kernels", capacity);
    size_t left = tsr_select_applicable(problem, targets, target_count, candidates, capacity);
    tsr_status status = TSR_INTERNAL;
    int lacks_memory = 0;
    if (left == 0)
        status =
            nothing_applies(problem, candidates, tsr_select_all(problem, targets, target_count, candidates, capacity));
    /* Where code cannot be loaded (a GPU out of memory, or dead), the next best kernel takes its place, unless one was
     * asked for by name. */
    while (left > 0 && status != TSR_OK) {
        tsr_plan_candidate *const best = best_of(candidates, left);
        status = build_with(best, problem, out);
        out->is_makeshift = lacks_memory;
        lacks_memory |= status == TSR_OUT_OF_MEMORY; /* a GPU that is dead will not be back */
        *best = candidates[--left];
        left = problem->kernel ? 0 : left;
    }
    free(candidates);
    return status;
}

/* Copies the operands of `pads` by one step. */
static tsr_status launch_copies(const tsr_planned *plan, const tsr_step *step, const tsr_problem *given,
                                const tsr_problem *padded, unsigned pads, const void *const from[2], void *const to[2],
                                void *stream)
{
    const tsr_copy_args copy = tsr_pad_args(given, padded, pads, from[0], from[1], to[0], to[1]);
    const tsr_launch launch = {
        .config = step->config,
        .loaded = step->loaded,
        .copy = &copy,
        .grid = tsr_pad_grid(step->config, given, pads, plan->target->device.cuda.sm_count),
        .problem = given,
        .threads = given->threads,
        .stream = stream,
    };
    return launch.grid.x > 0 ? plan->target->backend->launch(&plan->target->device, &launch) : TSR_OK;
}

/* The copies of `pads`, a part of the plan's, by the steps that come before the main one. */
static tsr_status launch_pads(const tsr_planned *plan, const tsr_problem *given, const tsr_problem *padded,
                              unsigned pads, const void *const from[2], void *const to[2], void *stream)
{
    tsr_status status = TSR_OK;
    for (const tsr_step *step = plan->steps; step->kind != TSR_STEP_MAIN && status == TSR_OK; step++) {
        const unsigned copies = tsr_copies_of(pads, step->kind == TSR_STEP_TRANSPOSE);
        if (copies)
            status = launch_copies(plan, step, given, padded, copies, from, to, stream);
    }
    return status;
}

size_t tsr_plan_prepared_bytes(const tsr_planned *plan, char which)
{
    return plan->pads & (which == 'a' ? TSR_PAD_A : TSR_PAD_B) ? tsr_padded_bytes(&plan->padded_problem, which) : 0;
}

tsr_status tsr_plan_prepare(const tsr_planned *plan, char which, const void *data, void *prepared, void *stream)
{
    const int is_a = which == 'a';
    const void *const from[2] = {is_a ? data : NULL, is_a ? NULL : data};
    void *const to[2] = {is_a ? prepared : NULL, is_a ? NULL : prepared};
    return launch_pads(plan, &plan->device_problem, &plan->padded_problem, tsr_copy_bits(plan->pads, which), from, to,
                       stream);
}

static tsr_schedule schedule_of(const tsr_planned *plan, const tsr_problem *p, const tsr_launch_config *launch_config)
{
    tsr_schedule schedule = launch_config->schedule;
    schedule.swap_ab |= tsr_config_lies_across(tsr_plan_main(plan)->config, &p->op, p->a.trans == TSR_T);
    return schedule;
}

static tsr_gemm_args main_args(const tsr_planned *plan, const tsr_problem *p, const tsr_plan_inputs *inputs,
                               const tsr_launch_config *launch_config)
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
        .schedule = schedule_of(plan, p, launch_config),
        .type_a = (int)p->op.a,
        .type_b = (int)p->op.b,
        .type_d = (int)p->op.d,
        .scale_a = inputs->scale_a,
        .scale_b = inputs->scale_b,
        .bias = inputs->bias,
        .epilogue = (int)p->op.epilogue,
    };
}

/* Of the slice whose first row and column these are. */
static tsr_scaling scaling_of(const tsr_problem *whole, const tsr_plan_inputs *inputs, long long row, long long column)
{
    tsr_scaling s = inputs->scaling;
    s.type_bias = (int)tsr_dtype_bias(whole->op.d);
    s.is_used = s.c || s.d || s.amax || tsr_dtype_is_fp8(whole->op.d);
    if (!s.is_used && !s.a && !s.b && !s.zero_a && !s.zero_b)
        return s;
    s.mode_a = (int)whole->op.scale_a;
    s.mode_b = (int)whole->op.scale_b;
    s.is_used |= (s.a && s.mode_a == TSR_SCALING_VECTOR) || (s.b && s.mode_b == TSR_SCALING_VECTOR);
    s.stride_a = tsr_scale_stride(whole, 'a');
    s.stride_b = tsr_scale_stride(whole, 'b');
    s.batch_a = s.mode_a && whole->a.batch_stride ? tsr_scale_count_of_one(whole, 'a') : 0;
    s.batch_b = s.mode_b && whole->b.batch_stride ? tsr_scale_count_of_one(whole, 'b') : 0;
    s.first_m = row;
    s.first_n = column;
    s.overflows = (whole->flags & TSR_OVERFLOW_SPECIAL) != 0;
    return s;
}

static int has_block_scales(const tsr_scaling *s)
{
    return (s->a && s->mode_a >= TSR_SCALING_1X128) || (s->b && s->mode_b >= TSR_SCALING_1X128);
}

static const void *element(const void *base, tsr_dtype dtype, long long index)
{
    return base ? (const char *)base + index * (long long)tsr_dtype_bytes(dtype) : NULL;
}

/* Elements from an operand's first to the first that the slice uses. */
static long long slice_offset(char which, const tsr_matrix *operand, tsr_corner at)
{
    if (which == 'a')
        return operand->trans == TSR_T ? at.row + at.k * operand->ld : at.row * operand->ld + at.k;
    if (which == 'b')
        return operand->trans == TSR_T ? at.column * operand->ld + at.k : at.column + at.k * operand->ld;
    return at.row * operand->ld + at.column;
}

/* One operand for the main step of a slice: where it lies, and how. *pads loses a copy that is not made. */
static const void *place(const tsr_planned *plan, int which, tsr_corner at, const tsr_plan_inputs *inputs,
                         tsr_matrix *layout, unsigned *pads)
{
    const char name = "ab"[which];
    const void *const given = which == 0 ? inputs->a : inputs->b, *const packed =
                                                                      which == 0 ? inputs->packed_a : inputs->packed_b;
    const tsr_dtype dtype = tsr_op_dtype(&plan->problem.op, name);
    const tsr_matrix *original = tsr_problem_operand(&plan->device_problem, name);
    if (plan->problem.op.sparse24 & tsr_sparse24_flag(name)) { /* never copied, and no slice cuts it */
        const tsr_lines24 lines = tsr_lines24_of(&plan->problem, name);
        const long long bytes = lines.matrices > 1 ? tsr_device24_bytes(&lines) : 0;
        layout->batch_stride = bytes / (long long)tsr_dtype_bytes(lines.dtype);
        return packed;
    }
    if (packed && plan->target->device.kind != TSR_DEVICE_CPU) { /* the whole operand's copy, needed or not */
        const unsigned transposed = inputs->packed_transposed & (TSR_TRANSPOSE_A << which);
        const tsr_problem padded = tsr_padded_problem(&plan->device_problem, 1u << which | transposed);
        *pads &= ~(1u << which);
        *layout = *tsr_problem_operand(&padded, name);
        return element(packed, dtype, slice_offset(name, layout, at));
    }
    if (!(plan->pads >> which & 1))
        return element(given, dtype, slice_offset(name, original, at));
    return (char *)inputs->workspace + plan->workspace.copy_at[which];
}

/* After the main step: its launch once more, by the step that adds what it left. */
static tsr_status launch_reduce(const tsr_planned *plan, const tsr_launch *main)
{
    const tsr_step *step = tsr_plan_main(plan) + 1;
    const tsr_reduce_args reduce = tsr_split_reduce_args(main->config, main->args);
    tsr_launch launch = *main;
    launch.config = step->config;
    launch.loaded = step->loaded;
    launch.args = NULL;
    launch.reduce = &reduce;
    launch.scaling = NULL;
    launch.grid = tsr_split_reduce_grid(step->config, &reduce);
    launch.cluster = 0;
    return plan->target->backend->launch(&plan->target->device, &launch);
}

static tsr_status run_slice(const tsr_planned *plan, const tsr_plan_inputs *inputs, tsr_corner at)
{
    const tsr_step *step = tsr_plan_main(plan);
    const tsr_problem *whole = &plan->device_problem;
    const tsr_problem given = tsr_slice_of(whole, plan->slices, at);
    tsr_problem padded = tsr_padded_problem(&given, plan->pads);
    unsigned pads = inputs->alpha != 0 && given.k > 0 ? tsr_slice_copies(plan->slices, plan->pads, at)
                                                      : 0; /* without a product nobody reads A and B */
    tsr_plan_inputs seen = *inputs;
    seen.a = place(plan, 0, at, inputs, &padded.a, &pads);
    seen.b = place(plan, 1, at, inputs, &padded.b, &pads);
    seen.c = element(inputs->c, whole->op.c, slice_offset('c', &whole->c, at));
    seen.d = (void *)element(inputs->d, whole->op.d, slice_offset('d', &whole->d, at));
    if (at.k > 0 && inputs->alpha != 0) {
        seen.c = seen.d;
        seen.beta = 1;
        padded.c = padded.d;
    }
    if (inputs->bias)
        seen.bias = (const char *)inputs->bias + at.column * (long long)tsr_dtype_bytes(tsr_dtype_bias(whole->op.d));
    if (pads & (TSR_PAD_A | TSR_PAD_B)) {
        const void *const from[2] = {element(inputs->a, whole->op.a, slice_offset('a', &whole->a, at)),
                                     element(inputs->b, whole->op.b, slice_offset('b', &whole->b, at))};
        void *const to[2] = {(void *)seen.a, (void *)seen.b};
        const tsr_status status = launch_pads(plan, &given, &padded, pads, from, to, inputs->stream);
        if (status != TSR_OK)
            return status;
    }
    const int has_last_rows = at.row == tsr_last_slice(whole->m, plan->slices.rows);
    const int has_last_columns = at.column == tsr_last_slice(whole->n, plan->slices.columns);
    const int has_end = at.k == tsr_last_slice(whole->k, plan->slices.depth);
    const tsr_launch_config *launch_config = &plan->slice_launch[has_last_rows][has_last_columns][has_end];
    const tsr_scaling scaling = scaling_of(whole, inputs, at.row, at.column);
    tsr_gemm_args args = main_args(plan, &padded, &seen, launch_config);
    args.block_scales = has_block_scales(&scaling);
    const tsr_launch launch = {
        .config = step->config,
        .loaded = step->loaded,
        .args = &args,
        .scaling = &scaling,
        .grid = launch_config->grid,
        .cluster = launch_config->cluster,
        .workspace_bytes = plan->workspace.main_bytes,
        .problem = &padded,
        .packed_a = inputs->packed_a,
        .packed_b = inputs->packed_b,
        .threads = padded.threads,
        .algorithm = seen.beta != 0 ? step->algorithms.with_c : step->algorithms.without_c,
        .stream = inputs->stream,
    };
    const tsr_status status = plan->target->backend->launch(&plan->target->device, &launch);
    return status == TSR_OK && launch_config->reduces ? launch_reduce(plan, &launch) : status;
}

tsr_status tsr_plan_execute(const tsr_planned *plan, const tsr_plan_inputs *inputs)
{
    const tsr_problem *const whole = &plan->device_problem;
    const long long rows = tsr_slice_step(whole->m, plan->slices.rows);
    const long long columns = tsr_slice_step(whole->n, plan->slices.columns);
    tsr_status status = TSR_OK;
    /* Kernels raise it; a CPU writes it when all is done. */
    if (inputs->scaling.amax && plan->target->device.kind != TSR_DEVICE_CPU)
        status =
            plan->target->backend->zero(&plan->target->device, inputs->scaling.amax, sizeof(float), inputs->stream);
    /* Without a product one slice of K is all there is to do: the last one, which has the epilogue. */
    const long long last_k = tsr_last_slice(whole->k, plan->slices.depth),
                    ks = tsr_slice_step(whole->k, plan->slices.depth);
    const int is_product = inputs->alpha != 0;
    for (tsr_corner at = {0, 0, 0}; at.row < whole->m && status == TSR_OK; at.row += rows)
        for (at.column = 0; at.column < whole->n && status == TSR_OK; at.column += columns)
            for (at.k = is_product ? 0 : last_k; at.k <= last_k && status == TSR_OK; at.k += ks)
                status = run_slice(plan, inputs, at);
    return status;
}
