/* Which kernel would run, and why not the others; what is known of each kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "api/route.h"
#include "api/validate.h"
#include "core/device_code.h"
#include "core/error.h"

static void describe(const tsr_choice *choice, int chosen, tsr_candidate *out)
{
    static const char *const steps[] = {"", "after pad A", "after pad B", "after pad A,B"};
    memset(out, 0, sizeof *out);
    out->kernel = choice->row->instance;
    out->device = choice->target->device.id;
    out->applicable = choice->applicable;
    out->chosen = chosen;
    snprintf(out->reason, sizeof out->reason, "%s", !choice->applicable ? choice->reason : steps[choice->pads]);
    out->cost_ns = choice->cost.ns + choice->transfer_ns;
    out->bytes = choice->cost.bytes;
    out->limiter = !choice->applicable ? "" : choice->transfer_ns > choice->cost.ns ? "transfer" : choice->cost.limiter;
}

tsr_status tsr_route_on(tsr_target *targets, size_t target_count, const tsr_gemm_desc *desc, tsr_candidate *out,
                        size_t capacity, size_t *count)
{
    tsr_problem problem;
    const tsr_status status = tsr_validate_desc(desc, &problem);
    if (status != TSR_OK)
        return status;
    const size_t room = tsr_row_count() * TSR_MAX_TARGETS;
    tsr_choice *choices = malloc(room * sizeof *choices);
    if (!choices)
        return tsr_fail(TSR_OUT_OF_MEMORY, "no memory for %zu candidates", room);
    *count = tsr_select_all(&problem, targets, target_count, choices, room);
    for (size_t i = 0; i < *count && i < capacity; i++)
        describe(&choices[i], i == 0 && choices[i].applicable, &out[i]);
    free(choices);
    return TSR_OK;
}

tsr_status tsr_route(tsr_context *context, const tsr_gemm_desc *desc, tsr_candidate *out, size_t candidate_bytes,
                     size_t capacity, size_t *count)
{
    if (!context || !count || (capacity > 0 && !out))
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s = NULL", !context ? "context" : !count ? "count" : "out");
    if (capacity > 0 && candidate_bytes != sizeof *out)
        return tsr_fail(TSR_INVALID_ARGUMENT, "candidate_bytes = %zu: must be sizeof(tsr_candidate) = %zu",
                        candidate_bytes, sizeof *out);
    return tsr_route_on(context->targets, context->target_count, desc, out, capacity, count);
}

tsr_status tsr_kernel(size_t index, tsr_kernel_info *out)
{
    if (!out || out->struct_bytes < sizeof *out)
        return tsr_fail(TSR_INVALID_ARGUMENT, "out: must point to a tsr_kernel_info whose struct_bytes is its size");
    const tsr_row *row = tsr_row_at(index);
    if (!row)
        return tsr_fail(TSR_INVALID_ARGUMENT, "index = %zu: there are %zu kernels", index, tsr_row_count());
    const tsr_device_code *code = row->kind == TSR_ROW_CUDA ? tsr_find_device_code(row->instance) : NULL;
    *out = (tsr_kernel_info){
        .struct_bytes = out->struct_bytes,
        .name = row->name,
        .instance = row->instance,
        .summary = row->summary,
        .source = row->source,
        .constants = row->defines,
        .dtype_ab = row->dtype_ab,
        .dtype_cd = row->dtype_cd,
        .compute = row->compute,
        .is_cuda = row->kind == TSR_ROW_CUDA,
        .has_device_code = code != NULL,
        .registers = code ? code->registers : 0,
        .hash = code ? code->hash : "",
        .hardware = row->kind == TSR_ROW_CPU ? "" : tsr_stamp_text(tsr_stamps, code, tsr_nvcc_version),
    };
    return TSR_OK;
}
