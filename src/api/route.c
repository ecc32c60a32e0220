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

tsr_status tsr_route_on(tsr_target *targets, size_t target_count, const tsr_gemm_desc *desc, void *out,
                        size_t candidate_bytes, size_t capacity, size_t *count)
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
    for (size_t i = 0; i < *count && i < capacity; i++) {
        tsr_candidate candidate;
        describe(&choices[i], i == 0 && choices[i].applicable, &candidate);
        tsr_give_struct((char *)out + i * candidate_bytes, candidate_bytes, &candidate, sizeof candidate);
    }
    free(choices);
    return TSR_OK;
}

tsr_status tsr_route(tsr_context *context, const tsr_gemm_desc *desc, tsr_candidate *out, size_t candidate_bytes,
                     size_t capacity, size_t *count)
{
    if (!context || !count || (capacity > 0 && !out))
        return tsr_fail(TSR_INVALID_ARGUMENT, "%s = NULL", !context ? "context" : !count ? "count" : "out");
    const tsr_status status =
        capacity > 0 ? tsr_check_struct("tsr_candidate", "candidate_bytes", candidate_bytes, TSR_FIRST_CANDIDATE_BYTES)
                     : TSR_OK;
    return status == TSR_OK
               ? tsr_route_on(context->targets, context->target_count, desc, out, candidate_bytes, capacity, count)
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
    const tsr_row *row = tsr_row_at(index);
    if (!row)
        return tsr_fail(TSR_INVALID_ARGUMENT, "index = %zu: there are %zu kernels", index, tsr_row_count());
    const tsr_device_code *code = row->kind == TSR_ROW_CUDA ? tsr_find_device_code(row->instance) : NULL;
    const tsr_kernel_info info = {
        .struct_bytes = bytes,
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
    tsr_give_struct(out, bytes, &info, sizeof info);
    return TSR_OK;
}
