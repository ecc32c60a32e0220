/* Which kernel would run, and why not the others; what is known of each kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "api/route.h"
#include "api/validate.h"
#include "core/device_code.h"
#include "core/error.h"
#include "core/uncancelled.h"
#include "plan/pad.h"
#include "plan/schedules.h"

_Static_assert(sizeof((tsr_candidate){0}.schedule) >= TSR_SCHEDULE_TEXT_BYTES, "a schedule fits");

/* What the plan does before the kernel, and in how many slices along M and N, or along K. */
static void describe_steps(const tsr_plan_candidate *candidate, const tsr_problem *problem, char *out, size_t out_bytes)
{
    static const char *const operands[] = {"", " A", " B", " A,B"};
    const unsigned pads = candidate->pads, padded = tsr_copies_of(pads, 0), transposed = tsr_copies_of(pads, 1);
    char slices[64] = "";
    if (tsr_is_sliced(candidate->slices)) {
        const long long rows = tsr_slice_step(problem->m, candidate->slices.rows),
                        columns = tsr_slice_step(problem->n, candidate->slices.columns);
        const long long depth = tsr_slice_step(problem->k, candidate->slices.depth);
        if (candidate->slices.depth > 0)
            snprintf(slices, sizeof slices, " in %lld slices of K", (problem->k + depth - 1) / depth);
        else
            snprintf(slices, sizeof slices, " in %lld x %lld slices", (problem->m + rows - 1) / rows,
                     (problem->n + columns - 1) / columns);
    }
    snprintf(out, out_bytes, "%s%s%s%s%s%s%s", pads ? "after" : "", padded ? " pad" : "", operands[padded],
             padded && transposed ? "," : "", transposed ? " transpose" : "", operands[transposed], slices);
}

/* What a CPU config does with K. */
static void describe_parts(const tsr_plan_candidate *candidate, const tsr_problem *problem, char *out, size_t out_bytes)
{
    const tsr_config *const config = candidate->config;
    if (!config->choose)
        return;
    const int parts = config->choose(config, &candidate->target->device, problem).k_parts;
    if (parts > 1)
        snprintf(out, out_bytes, "by %d parts of K", parts);
}

static void describe(const tsr_plan_candidate *candidate, const tsr_problem *problem, int chosen, tsr_candidate *out)
{
    memset(out, 0, sizeof *out);
    out->kernel = candidate->config->instance;
    out->device = candidate->target->device.id;
    out->applicable = candidate->applicable;
    out->chosen = chosen;
    if (candidate->applicable)
        describe_steps(candidate, problem, out->reason, sizeof out->reason);
    else
        snprintf(out->reason, sizeof out->reason, "%s", candidate->reason);
    if (candidate->applicable && !out->reason[0])
        describe_parts(candidate, problem, out->reason, sizeof out->reason);
    if (candidate->applicable && tsr_config_partitions_k(candidate->config) && !tsr_is_sliced(candidate->slices))
        tsr_schedule_text(candidate->config, problem, &candidate->launch.schedule, out->schedule);
    out->cost_ns = candidate->cost.ns + candidate->transfer_ns;
    out->bytes = candidate->cost.bytes;
    out->limiter = !candidate->applicable                        ? ""
                   : candidate->transfer_ns > candidate->cost.ns ? "transfer"
                                                                 : candidate->cost.limiter;
}

tsr_status tsr_route_on(tsr_target *targets, size_t target_count, const tsr_gemm_desc *desc, void *out,
                        size_t candidate_bytes, size_t capacity, size_t *count)
{
    tsr_problem problem;
    const tsr_status status = tsr_validate_desc(desc, &problem);
    if (status != TSR_OK)
        return status;
    const size_t room = tsr_config_count() * TSR_MAX_TARGETS;
    tsr_plan_candidate *candidates = malloc(room * sizeof *candidates);
    if (!candidates)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu candidates", room);
    *count = tsr_select_all(&problem, targets, target_count, candidates, room);
    for (size_t i = 0; i < *count && i < capacity; i++) {
        tsr_candidate candidate;
        describe(&candidates[i], &problem, i == 0 && candidates[i].applicable, &candidate);
        tsr_give_struct((char *)out + i * candidate_bytes, candidate_bytes, &candidate, sizeof candidate);
    }
    free(candidates);
    return TSR_OK;
}

tsr_status tsr_route(tsr_context *context, const tsr_gemm_desc *desc, tsr_candidate *out, size_t candidate_bytes,
                     size_t capacity, size_t *count)
{
    TSR_UNCANCELLED();
    if (!context || !count || (capacity > 0 && !out))
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s = NULL", !context ? "context" : !count ? "count" : "out");
    const tsr_status status =
        capacity > 0 ? tsr_check_struct("tsr_candidate", "candidate_bytes", candidate_bytes, TSR_FIRST_CANDIDATE_BYTES)
                     : TSR_OK;
    return status == TSR_OK ? tsr_route_on(context->targets, tsr_usable_targets(context), desc, out, candidate_bytes,
                                           capacity, count)
                            : status;
}

tsr_status tsr_kernel(size_t index, tsr_kernel_info *out)
{
    if (!out)
        return tsr_fail(TSR_INVALID_ARGUMENT, "out = NULL: must point to a tsr_kernel_info");
    const size_t bytes = out->struct_bytes;
    const tsr_status status =
        tsr_check_struct("tsr_kernel_info", "tsr_kernel_info.struct_bytes", bytes, TSR_FIRST_KERNEL_BYTES);
    if (status != TSR_OK)
        return status;
    const tsr_config *config = tsr_config_at(index);
    if (!config)
        return tsr_fail(TSR_INVALID_ARGUMENT, "index = %zu: there are %zu kernels", index, tsr_config_count());
    const tsr_device_code *code = config->kind == TSR_CONFIG_CUDA ? tsr_find_device_code(config->instance) : NULL;
    const tsr_op op = tsr_op_of(&config->op);
    const tsr_kernel_info info = {
        .struct_bytes = bytes,
        .name = config->name,
        .instance = config->instance,
        .summary = config->summary,
        .source = config->source,
        .constants = config->defines,
        .dtype_ab = op.a,
        .dtype_cd = op.d,
        .compute = op.compute,
        .is_cuda = config->kind == TSR_CONFIG_CUDA,
        .has_device_code = code != NULL,
        .registers = code ? code->registers : 0,
        .hash = code ? code->hash : "",
        .hardware = config->kind == TSR_CONFIG_CPU ? "" : tsr_stamp_text(tsr_stamps, code, tsr_nvcc_version),
    };
    tsr_give_struct(out, bytes, &info, sizeof info);
    return TSR_OK;
}
